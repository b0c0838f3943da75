// Cost function networks: what an assignment costs and weighs, what none need cost more than, and whether a network is well formed.
#include "cfn.h"

#include <math.h>

int64_t cfn_function_size(const CfnFunction *f) {
  int64_t size = 1;
  for (int i = 0; i < f->arity; i++) size *= f->n_classes[i];
  return size;
}

double cfn_function_cost(const CfnFunction *f, const int *value) {
  int64_t at = 0;
  for (int i = 0; i < f->arity; i++) at = at * f->n_classes[i] + f->class_of[i][value[f->var[i]]];
  return f->cost[at];
}

double cfn_cost(const Cfn *cfn, const int *value) {
  double sum = cfn->constant;
  for (int x = 0; x < cfn->variables.len; x++) sum += cfn->variables.at[x].cost[value[x]];
  for (int i = 0; i < cfn->functions.len; i++) sum += cfn_function_cost(&cfn->functions.at[i], value);
  return sum;
}

double cfn_weight(const Cfn *cfn, int limit, const int *value) {
  double sum = 0;
  for (int x = 0; x < cfn->variables.len; x++) {
    const double *weight = cfn->variables.at[x].weight[limit];
    if (weight != NULL) sum += weight[value[x]];
  }
  return sum;
}

bool cfn_allows(const Cfn *cfn, const int *value) {
  for (int l = 0; l < cfn->n_limits; l++)
    if (cfn_weight(cfn, l, value) > cfn->limit[l]) return false;
  return cfn_cost(cfn, value) < INFINITY;
}

static double greatest(const double *at, int64_t n) {
  double most = 0;
  for (int64_t i = 0; i < n; i++)
    if (at[i] < INFINITY && at[i] > most) most = at[i];
  return most;
}

double cfn_upper_bound(const Cfn *cfn, const int *start) {
  int *value = NEW_ARRAY(cfn->arena, int, cfn->variables.len);
  double sum = 0;
  for (int x = 0; x < cfn->variables.len; x++) {
    const CfnVariable *v = &cfn->variables.at[x];
    for (int k = 1; k < v->n_values; k++)
      if (v->cost[k] < v->cost[value[x]]) value[x] = k;
    sum += greatest(v->cost, v->n_values);
  }
  const double mine = cfn_allows(cfn, value) ? cfn_cost(cfn, value) - cfn->constant : INFINITY;
  const double given = start != NULL && cfn_allows(cfn, start) ? cfn_cost(cfn, start) - cfn->constant : INFINITY;
  if (fmin(mine, given) < INFINITY) return fmax(fmin(mine, given), 0);
  for (int i = 0; i < cfn->functions.len; i++)
    sum += greatest(cfn->functions.at[i].cost, cfn_function_size(&cfn->functions.at[i]));
  return sum;
}

static void check_variable(const Cfn *cfn, int x) {
  const CfnVariable *variable = &cfn->variables.at[x];
  if (variable->n_values < 1) fatal("variable %d of a cost function network has no value", x);
  for (int v = 0; v < variable->n_values; v++) {
    if (!(variable->cost[v] >= 0)) fatal("a value of variable %d costs %g", x, variable->cost[v]);
    for (int l = 0; l < cfn->n_limits; l++)
      if (variable->weight[l] != NULL && !(variable->weight[l][v] >= 0 && variable->weight[l][v] < INFINITY))
        fatal("a value of variable %d weighs %g", x, variable->weight[l][v]);
  }
}

static void check_function(const Cfn *cfn, int index) {
  const CfnFunction *f = &cfn->functions.at[index];
  if (f->arity < 0 || f->arity > CFN_MAX_ARITY) fatal("cost function %d has %d variables", index, f->arity);
  for (int i = 0; i < f->arity; i++) {
    const int x = f->var[i];
    if (x < 0 || x >= cfn->variables.len) fatal("cost function %d knows no variable %d", index, x);
    for (int j = 0; j < i; j++)
      if (f->var[j] == x) fatal("cost function %d names variable %d twice", index, x);
    for (int v = 0; v < cfn->variables.at[x].n_values; v++)
      if (f->class_of[i][v] < 0 || f->class_of[i][v] >= f->n_classes[i])
        fatal("cost function %d: value %d of variable %d is of no class", index, v, x);
  }
  const int64_t size = cfn_function_size(f);
  for (int64_t at = 0; at < size; at++)
    if (!(f->cost[at] >= 0)) fatal("cost function %d has a cost of %g", index, f->cost[at]);
}

void cfn_check(const Cfn *cfn) {
  if (!(cfn->constant > -INFINITY && cfn->constant < INFINITY))
    fatal("a cost function network begins at %g", cfn->constant);
  for (int x = 0; x < cfn->variables.len; x++) check_variable(cfn, x);
  for (int i = 0; i < cfn->functions.len; i++) check_function(cfn, i);
}
