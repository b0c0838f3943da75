// toulbar2's CFN format, as its versions from 1.1.1 on read it: JSON but for its strings, which know no escapes.
//
//   {"problem": {"name": "lenet", "mustbe": "<1234.50"},
//   "variables": {"x0.conv1.y": 3, "x1.dense1.w": 5, "y2": 2},
//   "functions": {
//   "constant": {"scope": [], "costs": [1.00]},
//   "x0": {"scope": [0], "costs": [1.50,0.25,0.00]},
//   "y2": {"scope": [1,2], "defaultcost": 1234.50, "costs": [0,0,0,1,0,0,2,1,0,3,1,0,4,1,0]},
//   "f0": {"scope": [0,2], "costs": [1.50,0.25,0.00,1234.50,1.00,1.00]}}}
//
// What costs as much as the upper bound is forbidden. A view is bound to its variable by a function that allows each value with its
// class only. A limit is a knapsack, which the version above reads over variables of two values: of the weights w1 < w2 < ... of a
// variable's values each wi with i > 1 has one, which is 1 for the values that weigh wi or more, and counts wi - w(i-1). The least cost
// of a function stands in the constant: of functions of more than three variables that version counts it twice.
#include <math.h>
#include <stdlib.h>

#include "cfn_views.h"

typedef struct Step {
  int var, limit;
  double weight, more; // of the values that weigh so much, and than the next lighter ones
} Step;

typedef struct Writer {
  FILE *out;
  Arena *arena;
  const CfnViews *views;
  VEC(Step) steps; // of the limits, by limit
  double scale, forbidden; // what is forbidden costs that, in the file
  int decimals;
} Writer;

// ---- limits as steps -----------------------------------------------------------------------------------------------

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void add_steps(Writer *w, int limit, int x) {
  const CfnVariable *variable = &w->views->cfn->variables.at[x];
  if (variable->weight[limit] == NULL) return;
  double *weight = NEW_ARRAY(w->arena, double, variable->n_values);
  memcpy(weight, variable->weight[limit], sizeof *weight * (size_t)variable->n_values);
  qsort(weight, (size_t)variable->n_values, sizeof *weight, by_size);
  for (int k = 1; k < variable->n_values; k++)
    if (weight[k] > weight[k - 1]) vec_push(w->arena, &w->steps, (Step){x, limit, weight[k], weight[k] - weight[k - 1]});
}

static double least_weight(const Cfn *cfn, int limit) {
  double sum = 0;
  for (int x = 0; x < cfn->variables.len; x++) {
    const double *weight = cfn->variables.at[x].weight[limit];
    double least = weight != NULL ? weight[0] : 0;
    for (int k = 1; weight != NULL && k < cfn->variables.at[x].n_values; k++) least = fmin(least, weight[k]);
    sum += least;
  }
  return sum;
}

// ---- variables -----------------------------------------------------------------------------------------------------

static void write_variables(Writer *w) {
  const CfnViews *views = w->views;
  fputs("\"variables\": {", w->out);
  for (int v = 0; v < views->list.len; v++) {
    fprintf(w->out, "%s\"%c%d", v > 0 ? ", " : "", views->list.at[v].class_of == NULL ? 'x' : 'y', v);
    if (views->list.at[v].class_of == NULL) {
      fputc('.', w->out);
      cfn_write_name(w->out, views->cfn->variables.at[v].name);
    }
    fprintf(w->out, "\": %d", views->list.at[v].n);
  }
  for (int s = 0; s < w->steps.len; s++) fprintf(w->out, ", \"s%d\": 2", s);
  fputs("},\n", w->out);
}

// ---- functions -----------------------------------------------------------------------------------------------------

static void put_cost(Writer *w, double cost) {
  fprintf(w->out, "%.*f", w->decimals, cost < INFINITY ? cost * w->scale : w->forbidden);
}

static double cost_at(const CfnViews *views, int function, int64_t entry) {
  int value[CFN_MAX_ARITY];
  cfn_views_values(views, function, entry, value);
  return cfn_views_cost(views, function, value);
}

// Of what is written.
static double least_cost(const CfnViews *views, int function) {
  const int64_t size = cfn_views_size(views, function);
  double least = INFINITY;
  for (int64_t entry = 0; entry < size; entry++) least = fmin(least, cost_at(views, function, entry));
  return least < INFINITY ? least : 0;
}

static void write_constant(Writer *w) {
  const Cfn *cfn = w->views->cfn;
  double constant = cfn->constant;
  for (int i = 0; i < cfn->functions.len; i++) constant += least_cost(w->views, i);
  for (int l = 0; l < cfn->n_limits; l++)
    if (least_weight(cfn, l) > cfn->limit[l]) constant = INFINITY;
  fputs("\"constant\": {\"scope\": [], \"costs\": [", w->out);
  put_cost(w, constant);
  fputs("]}", w->out);
}

static void write_own_costs(Writer *w, int x) {
  const CfnVariable *variable = &w->views->cfn->variables.at[x];
  fprintf(w->out, ",\n\"x%d\": {\"scope\": [%d], \"costs\": [", x, x);
  for (int k = 0; k < variable->n_values; k++) {
    if (k > 0) fputc(',', w->out);
    put_cost(w, variable->cost[k]);
  }
  fputs("]}", w->out);
}

// What allows variable `bound` of the file the value 'value[k]' only where x is k.
static void write_binding(Writer *w, const char *kind, int number, int x, int bound, const int *value) {
  fprintf(w->out, ",\n\"%s%d\": {\"scope\": [%d,%d], \"defaultcost\": %.*f, \"costs\": [", kind, number, x, bound, w->decimals, w->forbidden);
  for (int k = 0; k < w->views->list.at[x].n; k++) fprintf(w->out, "%s%d,%d,0", k > 0 ? "," : "", k, value[k]);
  fputs("]}", w->out);
}

static void write_step(Writer *w, int number) {
  const Step *step = &w->steps.at[number];
  const CfnVariable *variable = &w->views->cfn->variables.at[step->var];
  int *value = NEW_ARRAY(w->arena, int, variable->n_values);
  for (int k = 0; k < variable->n_values; k++) value[k] = variable->weight[step->limit][k] >= step->weight;
  write_binding(w, "s", number, step->var, w->views->list.len + number, value);
}

static void write_function(Writer *w, int function) {
  const CfnFunction *f = &w->views->cfn->functions.at[function];
  const int64_t size = cfn_views_size(w->views, function);
  const double least = least_cost(w->views, function);
  fprintf(w->out, ",\n\"f%d\": {\"scope\": [", function);
  for (int i = 0; i < f->arity; i++) fprintf(w->out, "%s%d", i > 0 ? "," : "", w->views->of.at[function][i]);
  fputs("], \"costs\": [", w->out);
  for (int64_t entry = 0; entry < size; entry++) {
    if (entry > 0) fputc(',', w->out);
    put_cost(w, cost_at(w->views, function, entry) - least);
  }
  fputs("]}", w->out);
}

// As at least: all steps that are taken, with their signs turned.
static void write_limit(Writer *w, int limit) {
  const Cfn *cfn = w->views->cfn;
  Text scope = {.arena = w->arena}, weights = {.arena = w->arena};
  for (int s = 0; s < w->steps.len; s++) {
    if (w->steps.at[s].limit != limit) continue;
    text_printf(&scope, "%s%d", scope.len > 0 ? "," : "", w->views->list.len + s);
    text_printf(&weights, "%s-%.0f", weights.len > 0 ? "," : "", w->steps.at[s].more);
  }
  const double room = floor(cfn->limit[limit]) - least_weight(cfn, limit);
  if (scope.len == 0 || room < 0) return;
  fprintf(w->out, ",\n\"limit%d\": {\"scope\": [%s], \"type\": \"knapsack\", \"params\": {\"capacity\": -%.0f, \"weights\": [%s]}}", limit,
          text_str(&scope), room, text_str(&weights));
}

// So many decimals that the bound has 15 digits, and what is more than any cost that is allowed.
static void choose_digits(Writer *w) {
  const Cfn *cfn = w->views->cfn;
  const double bound = fmax((fabs(cfn->constant) + cfn_upper_bound(cfn, NULL)) * w->scale, 1e-9);
  w->decimals = (int)fmax(0, 14 - ceil(log10(bound)));
  w->forbidden = bound * (1 + 1e-9);
}

void cfn_write_toulbar2(FILE *out, const CfnViews *views, const char *name, double scale) {
  const Cfn *cfn = views->cfn;
  Writer w = {.out = out, .arena = arena_new(), .views = views, .scale = scale};
  choose_digits(&w);
  for (int l = 0; l < cfn->n_limits; l++)
    for (int x = 0; x < cfn->variables.len; x++) add_steps(&w, l, x);
  fputs("{\"problem\": {\"name\": \"", out);
  cfn_write_name(out, name);
  fprintf(out, "\", \"mustbe\": \"<%.*f\"},\n", w.decimals, w.forbidden);
  write_variables(&w);
  fputs("\"functions\": {\n", out);
  write_constant(&w);
  for (int x = 0; x < cfn->variables.len; x++) write_own_costs(&w, x);
  for (int v = cfn->variables.len; v < views->list.len; v++) write_binding(&w, "y", v, views->list.at[v].var, v, views->list.at[v].class_of);
  for (int s = 0; s < w.steps.len; s++) write_step(&w, s);
  for (int i = 0; i < cfn->functions.len; i++) write_function(&w, i);
  for (int l = 0; l < cfn->n_limits; l++) write_limit(&w, l);
  fputs("}}\n", out);
  arena_free(w.arena);
}
