#include "fit.h"

#include <math.h>

#include "footprint.h"

enum { CAPS = 7 };       // that are tried, each half of the one before
enum { TRIES = 8 };      // of a limit, under one cap
enum { NARROWINGS = 3 }; // between a limit that gave a plan that fits and one that did not
enum { SOLUTIONS = 16 }; // the budget is for so many

typedef struct Fitter {
  Contest *contest;
  SearchProblem *p;
  Footprint *footprint;
  double memory;
  const double **cost; // by group: of its values, without a cap
  int64_t budget, spent;
  int oldest; // limit whose moment gives way to the next one
} Fitter;

// One more moment at which what lies there is limited, or another one.
static void add_moment(Fitter *f, int moment) {
  Cfn *cfn = &f->p->cfn;
  if (cfn->n_limits < CFN_MAX_LIMITS) {
    footprint_weigh(f->footprint, cfn->n_limits++, moment);
    return;
  }
  footprint_weigh(f->footprint, f->oldest, moment);
  f->oldest = (f->oldest + 1) % CFN_MAX_LIMITS;
}

// No operator is to work on more than `cap` bytes, where its group can do with less.
static void cap_work(Fitter *f, double cap) {
  for (int g = 0; g < f->p->groups.list.len; g++) {
    CfnVariable *variable = &f->p->cfn.variables.at[g];
    const double *work = footprint_work(f->footprint, g);
    double *cost = NEW_ARRAY(f->p->arena, double, variable->n_values), least = INFINITY;
    for (int v = 0; v < variable->n_values; v++) least = fmin(least, work[v]);
    for (int v = 0; v < variable->n_values; v++) cost[v] = work[v] <= fmax(cap, least) ? f->cost[g][v] : INFINITY;
    variable->cost = cost;
  }
}

static CfnSolution solve(Fitter *f, double limit) {
  Cfn *cfn = &f->p->cfn;
  for (int l = 0; l < cfn->n_limits; l++) cfn->limit[l] = limit;
  const CfnSolution solution = cfn_solve(cfn, f->budget / SOLUTIONS, NULL);
  f->spent += solution.operations;
  return solution;
}

static bool goes_on(const Fitter *f) { return f->spent < f->budget && !contest_is_over(f->contest); }

static bool can_be_better(const Fitter *f, double cost) { return !f->contest->fits || contest_is_less(cost, f->contest->cost); }

// Offers the cheapest plan whose estimate is within the limit. Gives its estimate; INFINITY: there is none, or none that can be
// better than the best. beyond: by how many bytes it does not fit.
static double try_limit(Fitter *f, double limit, int64_t *beyond) {
  while (goes_on(f)) {
    const CfnSolution solution = solve(f, limit);
    if (!solution.feasible || !can_be_better(f, solution.cost)) return INFINITY;
    int moment;
    const double peak = footprint_peak(f->footprint, solution.value, &moment);
    if (peak <= limit * (1 + 1e-12)) {
      const Plan plan = problem_plan(f->p, solution.value);
      *beyond = contest_offer(f->contest, &plan, NULL);
      return peak;
    }
    add_moment(f, moment);
  }
  return INFINITY;
}

// What a plan needs beyond its estimate is taken off the limit, until one fits; then limits in between are tried.
static void fit_under_cap(Fitter *f) {
  double limit = f->memory, unfit = INFINITY;
  int64_t beyond = 1;
  for (int i = 0; i < TRIES && beyond > 0; i++) {
    const double peak = try_limit(f, limit, &beyond);
    if (peak == INFINITY) return;
    if (beyond > 0) limit = (unfit = peak) - (double)beyond;
  }
  for (int i = 0; i < NARROWINGS && beyond == 0 && unfit < INFINITY; i++) {
    const double between = (limit + unfit) / 2, peak = try_limit(f, between, &beyond);
    if (peak == INFINITY || beyond == 0) limit = between;
    else unfit = fmin(peak, between);
    beyond = 0;
  }
}

// The moments at which the cheapest plans within the limits need more bring the bound up.
static double bound_of_fitting(Fitter *f) {
  enum { ROUNDS = 4 };
  double bound = 0;
  for (int i = 0; i < ROUNDS && goes_on(f); i++) {
    const CfnSolution solution = solve(f, f->memory);
    bound = fmax(bound, solution.bound);
    int moment;
    if (!solution.feasible || footprint_peak(f->footprint, solution.value, &moment) <= f->memory * (1 + 1e-12)) break;
    add_moment(f, moment);
  }
  return bound;
}

// Nothing fits: the cheapest of what is estimated to need little more than the least.
static void offer_lean(Fitter *f) {
  static const double more[] = {1.02, 1.1, 1.3};
  const Cfn *cfn = &f->p->cfn;
  double sum = 0;
  for (int l = 0; l < cfn->n_limits; l++) {
    double of_limit = 0;
    for (int g = 0; g < cfn->variables.len; g++) {
      double least = INFINITY;
      for (int v = 0; v < cfn->variables.at[g].n_values; v++) least = fmin(least, cfn->variables.at[g].weight[l][v]);
      of_limit += least;
    }
    sum = fmax(sum, of_limit);
  }
  int64_t beyond;
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) try_limit(f, sum * more[i], &beyond);
}

double fit_search(Contest *contest, SearchProblem *p, const int *value, int64_t budget) {
  Fitter fitter = {.contest = contest, .p = p, .memory = contest->c->machine->device.memory, .budget = budget}, *f = &fitter;
  int moment;
  f->footprint = footprint_new(p, contest->c->strip_bytes);
  f->cost = NEW_ARRAY(p->arena, const double *, p->groups.list.len);
  for (int g = 0; g < p->groups.list.len; g++) f->cost[g] = p->cfn.variables.at[g].cost;
  footprint_peak(f->footprint, value, &moment);
  add_moment(f, moment);
  const double bound = bound_of_fitting(f);
  double cap = INFINITY;
  for (int i = 0; i < CAPS && bound < INFINITY && can_be_better(f, bound) && goes_on(f); i++) {
    cap_work(f, cap);
    fit_under_cap(f);
    cap = fmin(cap, f->memory) / 2;
  }
  if (!contest->fits) offer_lean(f);
  cap_work(f, INFINITY);
  for (int l = 0; l < p->cfn.n_limits; l++) p->cfn.limit[l] = f->memory;
  return bound;
}
