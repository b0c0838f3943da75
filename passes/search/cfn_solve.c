// The exact minimum of a cost function network, in steps of growing effort:
//
//   1. elimination with little room for tables. Most networks of layers end here.
//   2. values that others make needless are removed (cfn_reduce.c), then elimination with more and more room; between the
//      rounds, an assignment from the bounds, improved one variable at a time, and where that comes near the bound, values that are in
//      none as cheap are removed (cfn_marginals.c).
//   3. what still does not fit is searched (cfn_search.c), as long as the budget lasts.
//
// With limits the same is done without them first: if its optimum keeps them it is the optimum. Otherwise cfn_limits.c.
#include "cfn_net.h"

#include <stdlib.h>

enum { NEAR = 32 };  // a bound that is less than 1/32 below what is known is worth asking which values are needed
enum { COARSE = 8 }; // an incumbent that costs less than 2^-8 of the first upper bound: once more, with a finer unit

static const double ROOM[] = {1 << 16, 1 << 18, 1 << 20, 1 << 23, 1 << 25};
enum { ROOMS = sizeof ROOM / sizeof ROOM[0] };

// Tries what the bounds of a split elimination suggest.
static void suggest(Net *net, const Elimination *done, Incumbent *best) {
  int *first = NEW_ARRAY(net->arena, int, net->n_vars);
  if (net_search(net, done, NULL, best, 0, first) == INFINITY) return;
  net_offer(net, best, first);
  net_descend(net, first);
  net_offer(net, best, first);
  if (best->units < net->worst) net->worst = best->units;
}

// Whether there were any: what is left is another network.
static bool narrow(Net *net, const Elimination *done, const Incumbent *best) {
  return net->worst - done->bound <= net->worst / NEAR && net_narrow(net, done, NULL, best) > 0;
}

// Leaves the last elimination, of the network as it is left, in *last. Gives the bound in units.
static double solve(Net *net, Incumbent *best, Elimination **last) {
  double bound = net->constant;
  for (int i = 0;; i += i < ROOMS - 1) {
    Elimination *done = net_eliminate(net, net->arena, NULL, net->worst, ROOM[i], -1);
    *last = done;
    if (done->bound > bound) bound = done->bound;
    if (done->split == 0 || done->bound == INFINITY) break;
    suggest(net, done, best);
    if (net_spent(net)) break;
    if (!narrow(net, done, best) && i == ROOMS - 1) break;
    if (i == 0) net_reduce(net);
  }
  const double searched = net_search(net, *last, NULL, best, -1, NULL);
  return searched > bound ? searched : fmin(bound, best->units);
}

static bool offer_start(const Net *net, const int *start, Incumbent *best) {
  int *at = NEW_ARRAY(net->arena, int, net->n_vars);
  for (int x = 0; x < net->n_vars; x++) {
    while (at[x] < net->vars[x].n && net->vars[x].value[at[x]] < start[x]) at[x]++;
    if (at[x] == net->vars[x].n || net->vars[x].value[at[x]] != start[x]) return false;
  }
  return net_offer(net, best, at);
}

typedef struct Result {
  CfnSolution solution; // its values in the solver's arena
  double units, bound;  // in units
  double unit;
} Result;

static Net *open_net(const Cfn *cfn, Arena *arena, Arena *scratch, double worst, bool limits, int64_t budget,
                     int64_t spent, const int *start, Incumbent *best) {
  Net *net = net_new(cfn, arena, worst, limits);
  net->scratch = scratch;
  net->budget = budget;
  net->operations = spent;
  if (start != NULL && cfn_allows(cfn, start)) offer_start(net, start, best);
  return net;
}

static Result solve_at(const Cfn *cfn, Arena *arena, Arena *scratch, double worst, int64_t budget, int64_t spent,
                       const int *start) {
  Incumbent best = {NULL, INFINITY};
  Net *net = open_net(cfn, arena, scratch, worst, false, budget, spent, start, &best);
  Elimination *done = NULL;
  double bound = solve(net, &best, &done);
  CfnSolution solution = {.eliminated = done == NULL ? 0 : done->eliminated, .pruned = net->pruned};
  if (cfn->n_limits > 0 && best.value != NULL && !cfn_allows(cfn, best.value)) {
    best = (Incumbent){NULL, INFINITY};
    spent = net->operations;
    net = open_net(cfn, arena, scratch, worst, true, budget, spent, start, &best);
    bound = fmax(fmin(bound, best.units), net_solve_limits(net, &best));
    solution.pruned = net->pruned;
  }
  solution.kept = net->n_vars - solution.eliminated;
  solution.operations = net->operations;
  solution.value = best.value;
  return (Result){solution, best.units, bound, net->unit};
}

CfnSolution cfn_solve(const Cfn *cfn, int64_t budget, const int *start) {
  cfn_check(cfn);
  Arena *arena = arena_new(), *scratch = arena_new();
  double worst = cfn_upper_bound(cfn, start);
  if (cfn->most > 0) worst = fmax(fmin(worst, cfn->most - cfn->constant), 0);
  Result result = solve_at(cfn, arena, scratch, worst, budget, 0, start);
  while (result.solution.value != NULL) { // the unit was that of a much dearer assignment
    const double better = fmax(cfn_cost(cfn, result.solution.value) - cfn->constant, 0);
    if (better == 0 || better * (1 << COARSE) >= worst) break;
    worst = better;
    result = solve_at(cfn, arena, scratch, worst, budget, result.solution.operations, result.solution.value);
  }
  CfnSolution solution = result.solution;
  solution.feasible = solution.value != NULL;
  solution.cost = solution.bound = INFINITY;
  if (solution.feasible) {
    int *value = NEW_ARRAY(cfn->arena, int, cfn->variables.len);
    memcpy(value, solution.value, sizeof *value * (size_t)cfn->variables.len);
    solution.value = value;
    solution.cost = cfn_cost(cfn, value);
  }
  if (solution.feasible && result.bound >= result.units) solution.bound = solution.cost;
  else if (result.bound < INFINITY) solution.bound = fmin(cfn->constant + result.bound * result.unit, solution.cost);
  if (cfn->most > 0 && solution.feasible) solution.bound = fmin(solution.bound, fmax(cfn->most, cfn->constant));
  arena_free(arena);
  arena_free(scratch);
  return solution;
}
