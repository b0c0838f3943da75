// The solver of cost function networks: against exhaustive enumeration on random networks, and its work on long chains.
#include "../../passes/search/cfn_net.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

// ---- random networks ----

static uint64_t state;
static int below(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)n);
}

typedef struct Style {
  int costs;     // that differ: few make ties
  int forbidden; // percent of the entries
  bool fractions;
} Style;

static double random_cost(Style style) {
  if (below(100) < style.forbidden) return INFINITY;
  const int units = below(style.costs);
  return style.fractions ? units * 1.1e-4 + 1e-9 * below(1000) : units;
}

static double *random_costs(Cfn *cfn, int64_t n, Style style) {
  double *at = NEW_ARRAY(cfn->arena, double, n);
  for (int64_t i = 0; i < n; i++) at[i] = random_cost(style);
  return at;
}

static void add_variable(Cfn *cfn, int n_values, Style style) {
  CfnVariable v = {"v", n_values, random_costs(cfn, n_values, style), {NULL}};
  for (int l = 0; l < cfn->n_limits; l++) {
    double *weight = NEW_ARRAY(cfn->arena, double, n_values);
    for (int k = 0; k < n_values; k++) weight[k] = below(20);
    v.weight[l] = weight;
  }
  vec_push(cfn->arena, &cfn->variables, v);
}

// table: of another function with the same numbers of classes, or NULL.
static void add_function(Cfn *cfn, int arity, const int *var, int classes, const double *table, Style style) {
  CfnFunction f = {.arity = arity};
  int64_t size = 1;
  for (int i = 0; i < arity; i++) {
    const int n = cfn->variables.at[var[i]].n_values;
    int *of = NEW_ARRAY(cfn->arena, int, n);
    for (int v = 0; v < n; v++) of[v] = below(classes);
    f.var[i] = var[i];
    f.n_classes[i] = classes;
    f.class_of[i] = of;
    size *= classes;
  }
  f.cost = table != NULL ? table : random_costs(cfn, size, style);
  vec_push(cfn->arena, &cfn->functions, f);
}

static void pair(Cfn *cfn, int x, int y, Style style) {
  add_function(cfn, 2, (int[]){x, y}, 1 + below(4), NULL, style);
}

enum { CHAIN, FORK_JOIN, SKIPS, GRID, WIDE, SHARED, KINDS };

static void random_network(Cfn *cfn, int kind, Style style) {
  const int n = 4 + below(3);
  for (int x = 0; x < n; x++) add_variable(cfn, 1 + below(5), style);
  for (int x = 1; x < n; x++) {
    if (kind == FORK_JOIN) {
      if (x < n - 1) pair(cfn, 0, x, style), pair(cfn, x, n - 1, style);
    } else if (kind != GRID) pair(cfn, x - 1, x, style);
    if (kind == SKIPS && x > 1) pair(cfn, below(x - 1), x, style);
    if (kind == GRID && x % 2 == 1) pair(cfn, x - 1, x, style);
    if (kind == GRID && x > 1) pair(cfn, x - 2, x, style);
  }
  const double *table = random_costs(cfn, 81, style);
  for (int i = 0; (kind == WIDE || kind == SHARED) && i + 3 < n; i++)
    add_function(cfn, 4, (int[]){i + 3, i, i + 1, i + 2}, 3, kind == SHARED ? table : NULL, style);
}

// ---- exhaustive enumeration ----

static double cheapest(const Cfn *cfn, int *value, int x) {
  if (x == cfn->variables.len) return cfn_allows(cfn, value) ? cfn_cost(cfn, value) : INFINITY;
  double least = INFINITY;
  for (value[x] = 0; value[x] < cfn->variables.at[x].n_values; value[x]++)
    least = fmin(least, cheapest(cfn, value, x + 1));
  return least;
}

static void check_solution(const Cfn *cfn, double optimum, int64_t budget, const int *start, int number) {
  const CfnSolution s = cfn_solve(cfn, budget, start);
  const bool right = s.feasible == (optimum < INFINITY) &&
                     (s.feasible ? cfn_allows(cfn, s.value) && s.cost == cfn_cost(cfn, s.value) && s.bound == s.cost &&
                                       fabs(s.cost - optimum) <= 1e-11 * fmax(1, fabs(optimum))
                                 : s.bound == INFINITY);
  CHECK(right);
  if (!right) check_fail("network %d: optimum %.17g, found %.17g, bound %.17g", number, optimum, s.cost, s.bound);
}

static int feasible, infeasible, limited;

static void check_random(int number, int n_limits) {
  static const Style styles[] = {{3, 0, false}, {50, 0, false}, {1000, 10, true}, {4, 30, false}, {200, 60, false}};
  Cfn cfn = {.arena = arena_new(), .n_limits = n_limits, .constant = number % 3};
  state = (uint64_t)number * 7919 + 1;
  const Style style = styles[number / KINDS % (int)(sizeof styles / sizeof styles[0])];
  random_network(&cfn, number % KINDS, style);
  int *value = NEW_ARRAY(cfn.arena, int, cfn.variables.len);
  Cfn free = cfn;
  free.n_limits = 0;
  for (int l = 0; l < n_limits; l++) cfn.limit[l] = (2 + below(10)) * cfn.variables.len;
  const double optimum = cheapest(&cfn, value, 0);
  *(optimum < INFINITY ? &feasible : &infeasible) += 1;
  limited += n_limits > 0 && optimum < INFINITY && optimum > cheapest(&free, value, 0);
  check_solution(&cfn, optimum, 0, NULL, number);
  for (int x = 0; x < cfn.variables.len; x++) value[x] = below(cfn.variables.at[x].n_values);
  check_solution(&cfn, optimum, 0, value, number);
  arena_free(cfn.arena);
}

static void test_random(void) {
  feasible = infeasible = limited = 0;
  for (int i = 0; i < 300; i++) check_random(i, 0);
  CHECK(feasible > 100 && infeasible > 10);
}

static void test_limits(void) {
  feasible = infeasible = limited = 0;
  for (int i = 0; i < 200; i++) check_random(i, 1 + i % 2);
  CHECK(feasible > 60 && infeasible > 10 && limited > 20);
}

// ---- values that are needed ----

// The cheapest assignment with every value.
static void cheapest_with(const Cfn *cfn, int *value, int x, double **least) {
  if (x == cfn->variables.len) {
    const double cost = cfn_cost(cfn, value);
    for (int y = 0; y < x; y++) least[y][value[y]] = fmin(least[y][value[y]], cost);
    return;
  }
  for (value[x] = 0; value[x] < cfn->variables.at[x].n_values; value[x]++) cheapest_with(cfn, value, x + 1, least);
}

static bool least_is(const Cfn *cfn, int x, const double *least, double above) {
  double *found = NEW_ARRAY(cfn->arena, double, cfn->variables.at[x].n_values);
  bool right = cfn_least(cfn, x, above, found);
  for (int v = 0; v < cfn->variables.at[x].n_values; v++)
    right &= found[v] < INFINITY ? fabs(found[v] - least[v]) <= 1e-9 * least[v] : least[v] > above * (1 - 1e-9);
  return right;
}

// What costs no more than a limit is found, and where nothing does that is proved.
static void check_most(Cfn *cfn, double optimum) {
  if (optimum == INFINITY || optimum == 0) return;
  cfn->most = optimum * (1 + 0.1 * below(3));
  const CfnSolution within = cfn_solve(cfn, 0, NULL);
  CHECK(within.feasible && fabs(within.cost - optimum) <= 1e-9 * optimum && within.bound >= within.cost * (1 - 1e-9));
  cfn->most = optimum * 0.9;
  const CfnSolution under = cfn_solve(cfn, 0, NULL);
  CHECK(under.feasible ? under.bound >= cfn->most * (1 - 1e-9) && under.bound <= optimum : under.bound == INFINITY);
}

static int unneeded, spared;

static void check_needed(int number) {
  Cfn cfn = {.arena = arena_new(), .constant = number % 3};
  state = (uint64_t)number * 104729 + 3;
  random_network(&cfn, number % KINDS, (Style){number % 2 == 0 ? 20 : 1000, number % 4 == 0 ? 20 : 0, number % 3 == 0});
  const int n = cfn.variables.len;
  int *value = NEW_ARRAY(cfn.arena, int, n);
  double **least = NEW_ARRAY(cfn.arena, double *, n);
  double **floor = NEW_ARRAY(cfn.arena, double *, n);
  bool right = true;
  for (int x = 0; x < n; x++) {
    least[x] = NEW_ARRAY(cfn.arena, double, cfn.variables.at[x].n_values);
    floor[x] = NEW_ARRAY(cfn.arena, double, cfn.variables.at[x].n_values);
    for (int v = 0; v < cfn.variables.at[x].n_values; v++) least[x][v] = INFINITY;
  }
  cheapest_with(&cfn, value, 0, least);
  const double optimum = cheapest(&cfn, value, 0), above = optimum * (1 + 0.05 * below(4));
  if (optimum < INFINITY) {
    int64_t operations = 0;
    const bool exact = cfn_floors(&cfn, above, floor, &operations);
    for (int x = 0; x < n; x++) right &= least_is(&cfn, x, least[x], above) && least_is(&cfn, x, least[x], 3 * optimum);
    for (int x = 0; x < n; x++)
      for (int v = 0; v < cfn.variables.at[x].n_values; v++) {
        const bool needed = floor[x][v] < INFINITY;
        right &= needed ? floor[x][v] <= least[x][v] * (1 + 1e-9) : least[x][v] > above;
        right &= !exact || !needed || floor[x][v] >= least[x][v] * (1 - 1e-9) || least[x][v] > above;
        unneeded += !needed;
        spared += needed && least[x][v] > above * (1 + 1e-9);
      }
  }
  CHECK(right);
  check_most(&cfn, optimum);
  arena_free(cfn.arena);
}

static void test_needed(void) {
  unneeded = spared = 0;
  for (int i = 0; i < 300; i++) check_needed(i);
  CHECK(unneeded > 500 && spared < unneeded / 100);
}

// ---- what split buckets say of values ----

static int split_networks, split_removed;

static void check_split(int number) {
  Cfn cfn = {.arena = arena_new(), .constant = number % 3};
  state = (uint64_t)number * 15485863 + 11;
  random_network(&cfn, number % KINDS, (Style){number % 2 == 0 ? 20 : 1000, number % 4 == 0 ? 20 : 0, number % 3 == 0});
  const int n = cfn.variables.len;
  int *value = NEW_ARRAY(cfn.arena, int, n);
  double **least = NEW_ARRAY(cfn.arena, double *, n), **said = NEW_ARRAY(cfn.arena, double *, n);
  for (int x = 0; x < n; x++) {
    least[x] = NEW_ARRAY(cfn.arena, double, cfn.variables.at[x].n_values);
    for (int v = 0; v < cfn.variables.at[x].n_values; v++) least[x][v] = INFINITY;
  }
  cheapest_with(&cfn, value, 0, least);
  const double optimum = cheapest(&cfn, value, 0);
  Net *net = net_new(&cfn, cfn.arena, cfn_upper_bound(&cfn, NULL), false);
  net->scratch = arena_new();
  const Elimination *done = net_eliminate(net, cfn.arena, NULL, net->worst, 6, -1);
  for (int x = 0; x < n; x++) said[x] = NEW_ARRAY(cfn.arena, double, net->vars[x].n);
  const double above = number % 2 == 0 ? net->worst : (optimum - cfn.constant) / net->unit + n + cfn.functions.len; // what rounding may add
  if (optimum < INFINITY && done->split > 0 && net_marginals(net, done, above, said)) {
    bool right = true;
    split_networks++;
    for (int x = 0; x < n; x++)
      for (int k = 0; k < net->vars[x].n; k++) {
        const double bound = cfn.constant + said[x][k] * net->unit;
        const double exact = least[x][net->vars[x].value[k]];
        right &= bound <= exact + 1e-9 * (1 + optimum) || exact > cfn.constant + above * net->unit;
        split_removed += bound > optimum * (1 + 1e-9);
      }
    CHECK(right);
  }
  arena_free(net->scratch);
  arena_free(cfn.arena);
}

static void test_split(void) {
  split_networks = split_removed = 0;
  for (int i = 0; i < 300; i++) check_split(i);
  CHECK(split_networks > 100 && split_removed > 500);
}

// ---- chains against the recurrence over all values ----

static Cfn chain(int layers, int period, int values, int classes) {
  Cfn cfn = {.arena = arena_new()};
  const Style style = {1000, 0, true};
  for (int x = 0; x < layers; x++) {
    if (x < period) add_variable(&cfn, values, style);
    else vec_push(cfn.arena, &cfn.variables, cfn.variables.at[x - period]);
    if (x == 0) continue;
    if (x <= period) add_function(&cfn, 2, (int[]){x - 1, x}, classes, NULL, style);
    else {
      CfnFunction f = cfn.functions.at[x - 1 - period];
      f.var[0] = x - 1, f.var[1] = x;
      if (x % period == 0) f.class_of[1] = cfn.functions.at[period - 1].class_of[1];
      vec_push(cfn.arena, &cfn.functions, f);
    }
  }
  return cfn;
}

static double chain_optimum(const Cfn *cfn) {
  double *before = calloc(1000, sizeof *before), *after = calloc(1000, sizeof *after), least = INFINITY;
  for (int x = 0; x < cfn->variables.len; x++) {
    const CfnVariable *v = &cfn->variables.at[x];
    const CfnFunction *f = &cfn->functions.at[x > 0 ? x - 1 : 0];
    for (int k = 0; k < v->n_values; k++) {
      after[k] = x == 0 ? 0 : INFINITY;
      for (int j = 0; x > 0 && j < cfn->variables.at[x - 1].n_values; j++)
        after[k] = fmin(after[k], before[j] + f->cost[f->class_of[0][j] * f->n_classes[1] + f->class_of[1][k]]);
      after[k] += v->cost[k];
    }
    memcpy(before, after, sizeof *before * (size_t)v->n_values);
    if (x == cfn->variables.len - 1)
      for (int k = 0; k < v->n_values; k++) least = fmin(least, before[k]);
  }
  free(before);
  free(after);
  return least;
}

static int64_t work_of(int layers, int period, int values, int classes) {
  state = 12345;
  Cfn cfn = chain(layers, period, values, classes);
  const double optimum = chain_optimum(&cfn);
  const CfnSolution s = cfn_solve(&cfn, 0, NULL);
  CHECK(s.feasible && s.cost == s.bound && s.eliminated == layers && s.kept == 0);
  CHECK_NEAR(s.cost, optimum, 1e-11);
  const int64_t operations = s.operations;
  arena_free(cfn.arena);
  return operations;
}

static void test_classes(void) { work_of(40, 40, 700, 9); }

static void test_equal_layers(void) {
  const int64_t few = work_of(20, 1, 60, 60), many = work_of(1000, 1, 60, 60);
  CHECK(few > 0 && many <= 2 * few);
}

static void test_periods(void) {
  const int64_t few = work_of(60, 3, 60, 40), many = work_of(3000, 3, 60, 40);
  CHECK(few > 0 && many <= 2 * few);
}

// ---- budgets ----

static void test_budget(void) {
  const Style style = {100, 0, false};
  state = 99;
  Cfn cfn = {.arena = arena_new()};
  for (int x = 0; x < 100; x++) add_variable(&cfn, 8, style);
  for (int x = 0; x < 100; x++) {
    if (x % 10 != 9) add_function(&cfn, 2, (int[]){x, x + 1}, 8, NULL, style);
    if (x < 90) add_function(&cfn, 2, (int[]){x, x + 10}, 8, NULL, style);
  }
  const CfnSolution a = cfn_solve(&cfn, 3000000, NULL), b = cfn_solve(&cfn, 3000000, NULL);
  CHECK(a.feasible && a.bound > 0 && a.bound < a.cost && a.cost == cfn_cost(&cfn, a.value));
  CHECK(a.cost == b.cost && a.bound == b.bound && a.operations == b.operations && a.operations < 6000000);
  CHECK(memcmp(a.value, b.value, sizeof *a.value * 100) == 0);
  CHECK(cfn_solve(&cfn, 1, a.value).cost <= a.cost);
  arena_free(cfn.arena);
}

CHECKS(TEST(test_random), TEST(test_limits), TEST(test_needed), TEST(test_split), TEST(test_classes), TEST(test_equal_layers), TEST(test_periods),
       TEST(test_budget))
