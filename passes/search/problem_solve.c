// Where not all tensors have tables (tables.h) the network of a problem says too little of some, and its optimum is a bound only. Nothing that
// costs no more than a target lies in values of which the network says that they cost more (cfn_floors). Among the others fewer tensors are
// too large for a table, and of those that are what assignments lie in is told apart, until the target is met:
//
//   bound ---- target ------------- best     nothing costs less than the target: it is the bound, and the next one is twice as far
//   bound ---- best                          the cheapest costs no more than the target, and all that it costs is counted: it is the best
//
// A target near the bound leaves little to look at, and what is found on the way brings the best down, which is the last target.
#include <math.h>

#include "problem.h"
#include "tables.h"

enum { FIRST_TARGET = 8 };                      // as large a part of what lies between the bound and the best
enum { ROUNDS = 24, OF_ROUND = 5 };             // for a target; budgets that one may spend
static const double ROUNDED = 1 + 1e-9;         // more than what rounding changes

typedef struct Solving {
  SearchProblem *p;
  CfnSolution first, best; // of the network as it is; by what it really costs
  double **floor; // of values in the network as it is, if that is exact for all targets; or NULL
  int64_t budget, spent, most; // of a network at first; of all targets: as far, and until none is begun
} Solving;

// Takes an assignment if it is cheaper than the best, by what it really costs.
static void take_better(Solving *s, const CfnSolution *found) {
  const double cost = found->feasible ? tables_cost(s->p->tables, found->value) : INFINITY;
  if (cost >= s->best.cost) return;
  s->best.value = found->value;
  s->best.cost = cost;
}

// Sums of the same in another order.
static bool is_proved(const CfnSolution *best) { return best->bound >= best->cost * (1 - 1e-12); }

// Of the values of groups; of variables that are no groups NULL.
static double **room_for_floors(const SearchProblem *p) {
  double **floor = NEW_ARRAY(p->arena, double *, p->groups.list.len + p->n_approximate);
  for (int g = 0; g < p->groups.list.len; g++) floor[g] = NEW_ARRAY(p->arena, double, p->of[g].n);
  return floor;
}

// All targets cost no more than the best does now.
static double **floors_of_all(Solving *s) {
  double **floor = room_for_floors(s->p);
  return cfn_floors(&s->p->cfn, s->best.cost, floor, &s->spent) ? floor : NULL;
}

static bool **all_needed(const SearchProblem *p) {
  bool **needed = NEW_ARRAY(p->arena, bool *, p->groups.list.len);
  for (int g = 0; g < p->groups.list.len; g++) {
    needed[g] = NEW_ARRAY(p->arena, bool, p->of[g].n);
    memset(needed[g], true, (size_t)p->of[g].n);
  }
  return needed;
}

// Takes the marks off values that are in nothing that costs no more. Whether there were any.
static bool prune(const SearchProblem *p, double *const *floor, double above, bool *const *needed) {
  bool any = false;
  for (int g = 0; g < p->groups.list.len; g++)
    for (int v = 0; v < p->of[g].n; v++) {
      const bool left = floor[g][v] <= above * ROUNDED;
      any |= needed[g][v] && !left;
      needed[g][v] &= left;
    }
  return any;
}

// Whether every group has a value left.
static bool any_left(const SearchProblem *p, bool *const *needed) {
  for (int g = 0; g < p->groups.list.len; g++)
    if (memchr(needed[g], true, (size_t)p->of[g].n) == NULL) return false;
  return true;
}

// Gives what nothing costs less than: `target`, unless it is less that is known, or can be found.
static double bound_below(Solving *s, double target) {
  SearchProblem *p = s->p;
  bool **needed = all_needed(p), news = true;
  double **floor = s->floor, bound = s->best.bound;
  for (int round = 0, left = 1; round < ROUNDS && left > 0 && news && s->spent <= s->most; round++) {
    const double most = fmin(target, s->best.cost);
    if (round > 0 || floor == NULL) {
      if (floor == s->floor) floor = room_for_floors(p);
      cfn_floors(round > 0 ? p->solved : &p->cfn, most, floor, &s->spent);
    }
    news = prune(p, floor, most, needed);
    if (!any_left(p, needed)) return target;
    Cfn *cfn = NEW(p->arena, Cfn);
    *cfn = tables_refine(p->tables, needed, &left);
    cfn->most = most;
    const CfnSolution found = cfn_solve(cfn, OF_ROUND * s->budget, NULL);
    s->spent += found.operations;
    p->solved = cfn;
    take_better(s, &found);
    bound = fmax(bound, fmin(target, found.bound));
    if (!found.feasible || bound >= fmin(target, s->best.cost)) break;
    news = tables_see(p->tables, cfn, found.value) || news;
  }
  return bound;
}

CfnSolution problem_solve(SearchProblem *p, int64_t budget, int times) {
  Solving s = {.p = p, .first = cfn_solve(&p->cfn, budget, NULL), .budget = budget, .most = times * budget};
  p->solved = &p->cfn;
  if (p->n_approximate == 0 || !s.first.feasible) return s.first;
  p->scratch = arena_new();
  s.best = s.first;
  s.best.cost = tables_cost(p->tables, s.first.value);
  tables_see(p->tables, p->solved, s.first.value);
  if (!is_proved(&s.best)) s.floor = floors_of_all(&s);
  double step = (s.best.cost - s.best.bound) / FIRST_TARGET;
  for (bool met = true; met && !is_proved(&s.best); step *= 2) {
    const double target = s.best.bound + 2 * step < s.best.cost ? s.best.bound + step : s.best.cost, bound = bound_below(&s, target);
    met = bound >= target;
    s.best.bound = fmin(fmax(s.best.bound, bound), s.best.cost);
  }
  if (is_proved(&s.best)) s.best.bound = s.best.cost;
  arena_free(p->scratch);
  routes_forget(p->routes);
  return s.best;
}
