#include "fit.h"

#include <math.h>

#include "footprint.h"

enum { CAPS = 12 };      // that are tried
enum { TRIES = 8, LEAN_TRIES = 3 }; // of a limit, under one cap; where layers may be made again
enum { NARROWINGS = 4 }; // between limits that gave a plan that fits, or none, and one that did not fit
enum { FEW = 512 };      // assignments, which are all tried
enum { SOLUTIONS = 16 }; // the budget is for so many

static const double CLOSER = 0.75; // a cap to what operators work on in the last plan

typedef struct Fitter {
  Contest *contest;
  SearchProblem *p;
  Footprint *footprint;
  double memory;
  const double **cost; // by group: of its values, without a cap
  int64_t budget, spent;
  int oldest; // limit whose moment gives way to the next one
  CfnSolution first; // assignment: within the memory, without a cap
  const int *last;   // the last one
  const int *start;  // one that fits, or NULL
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

static double least_of(const double *at, int n) {
  double least = INFINITY;
  for (int i = 0; i < n; i++) least = fmin(least, at[i]);
  return least;
}

// No operator is to work on more than `cap` bytes, where its group can do with less.
static void cap_work(Fitter *f, double cap) {
  for (int g = 0; g < f->p->groups.list.len; g++) {
    CfnVariable *variable = &f->p->cfn.variables.at[g];
    const double *work = footprint_work(f->footprint, g), least = least_of(work, variable->n_values);
    double *cost = NEW_ARRAY(f->p->arena, double, variable->n_values);
    for (int v = 0; v < variable->n_values; v++) cost[v] = work[v] <= fmax(cap, least) ? f->cost[g][v] : INFINITY;
    variable->cost = cost;
  }
}

// The most that operators work on in a plan whose groups could do with less; 0: none of them could.
static double avoidable_work(const Fitter *f, const int *value) {
  double most = 0;
  for (int g = 0; g < f->p->groups.list.len; g++) {
    const double *work = footprint_work(f->footprint, g), of_group = work[value[g]];
    if (of_group > most && of_group > least_of(work, f->p->of[g].n)) most = of_group;
  }
  return most;
}

// What no assignment weighs less than, by the heaviest limit.
static double least_weight(const Cfn *cfn) {
  double most = 0;
  for (int l = 0; l < cfn->n_limits; l++) {
    double sum = 0;
    for (int g = 0; g < cfn->variables.len; g++) sum += least_of(cfn->variables.at[g].weight[l], cfn->variables.at[g].n_values);
    most = fmax(most, sum);
  }
  return most;
}

static CfnSolution solve(Fitter *f, double limit) {
  Cfn *cfn = &f->p->cfn;
  if (limit < least_weight(cfn) * (1 - 1e-12)) return (CfnSolution){.cost = INFINITY, .bound = INFINITY};
  for (int l = 0; l < cfn->n_limits; l++) cfn->limit[l] = limit;
  const CfnSolution solution = cfn_solve(cfn, f->budget / SOLUTIONS, f->start);
  f->spent += solution.operations;
  if (solution.feasible) f->last = solution.value;
  return solution;
}

static bool goes_on(const Fitter *f) {
  return f->spent < f->budget && !contest_is_over(f->contest) && !(f->contest->fits && f->contest->c->any_plan);
}

static bool can_be_better(const Fitter *f, double cost) { return !f->contest->fits || contest_is_less(cost, f->contest->cost); }

// Offers the plan of an assignment. Gives by how many bytes it does not fit.
static int64_t offer_assignment(const Fitter *f, const int *value) {
  Arena *arena = f->contest->c->arena, *scratch = arena_new();
  Plan plan = problem_plan(scratch, f->p, value);
  const int microbatches = f->p->groups.graph->microbatches;
  if (microbatches > 1) plan.microbatches = microbatches;
  const AgainLayers *layers = footprint_layers(f->footprint);
  for (int i = 0; layers != NULL && i < layers->made; i++) vec_push(arena, &plan.recompute, ((PlanAgain){.name = arena_strdup(arena, layers->names.at[i])}));
  const int64_t beyond = contest_offer(f->contest, &plan, NULL);
  arena_free(scratch);
  return beyond;
}

// Offers the plan of a solution. Gives its estimate; INFINITY: there is none, or none that can be better than the best. beyond: by
// how many bytes it does not fit.
static double offer(Fitter *f, const CfnSolution *solution, int64_t *beyond) {
  int moment;
  if (!solution->feasible || !can_be_better(f, solution->cost)) return INFINITY;
  *beyond = offer_assignment(f, solution->value);
  if (*beyond == 0) f->start = solution->value;
  return footprint_peak(f->footprint, solution->value, &moment);
}

// The same of the cheapest plan whose estimate is within the limit.
static double try_limit(Fitter *f, double limit, int64_t *beyond) {
  while (goes_on(f)) {
    const CfnSolution solution = solve(f, limit);
    int moment;
    if (!solution.feasible || footprint_peak(f->footprint, solution.value, &moment) <= limit * (1 + 1e-12))
      return offer(f, &solution, beyond);
    add_moment(f, moment);
  }
  return INFINITY;
}

// Goes on from a plan, of this estimate, that does not fit by so much. What a plan needs beyond its estimate is taken off the
// limit, until one fits or there is none; then limits in between are tried.
static void fit_from(Fitter *f, double peak, int64_t beyond) {
  const double least = least_weight(&f->p->cfn);
  double low = f->memory, high = INFINITY;
  const int tries = footprint_layers(f->footprint) != NULL ? LEAN_TRIES : TRIES;
  for (int i = 0; i < tries && beyond > 0 && peak < INFINITY; i++) {
    high = fmin(peak, low);
    low = fmax(high - (double)beyond, least);
    peak = low < high ? try_limit(f, low, &beyond) : INFINITY;
  }
  for (int i = 0; i < NARROWINGS && low < high && high < INFINITY; i++) {
    const double middle = (low + high) / 2;
    peak = try_limit(f, middle, &beyond);
    if (peak < INFINITY && beyond > 0) high = fmin(peak, middle);
    else low = middle;
  }
}

// The moments at which the cheapest plans within the limits need more bring the bound up.
static double bound_of_fitting(Fitter *f) {
  enum { ROUNDS = 4 };
  double bound = 0;
  for (int i = 0; i < ROUNDS && goes_on(f); i++) {
    f->first = solve(f, f->memory);
    bound = fmax(bound, f->first.bound);
    int moment;
    if (!f->first.feasible || footprint_peak(f->footprint, f->first.value, &moment) <= f->memory * (1 + 1e-12)) break;
    add_moment(f, moment);
  }
  return bound;
}

// Nothing fits: the cheapest of what is estimated to need little more than the least.
static void offer_lean(Fitter *f) {
  static const double more[] = {1.02, 1.1, 1.3};
  const double least = least_weight(&f->p->cfn);
  int64_t beyond;
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) try_limit(f, least * more[i], &beyond);
}

// Where there are few assignments the plans of all of them. False: there are many, or the time is up.
static bool offer_all(Fitter *f) {
  const Cfn *cfn = &f->p->cfn;
  const int n = cfn->variables.len;
  int64_t assignments = 1;
  for (int g = 0; g < n && assignments <= FEW; g++) assignments *= cfn->variables.at[g].n_values;
  if (assignments > FEW) return false;
  int *value = NEW_ARRAY(f->p->arena, int, n);
  for (int g = 0; g < n;) {
    if (contest_is_over(f->contest)) return false;
    if (cfn_cost(cfn, value) < INFINITY) offer_assignment(f, value);
    for (g = 0; g < n && ++value[g] == cfn->variables.at[g].n_values; g++) value[g] = 0;
  }
  return true;
}

double fit_search(Contest *contest, SearchProblem *p, Footprint *footprint, const int *value, int64_t budget) {
  Fitter fitter = {.contest = contest, .p = p, .footprint = footprint, .memory = contest->c->machine->device.memory, .budget = budget}, *f = &fitter;
  int moment;
  const bool lean = footprint_layers(footprint) != NULL;
  f->cost = NEW_ARRAY(p->arena, const double *, p->groups.list.len);
  for (int g = 0; g < p->groups.list.len; g++) f->cost[g] = p->cfn.variables.at[g].cost;
  footprint_peak(f->footprint, value, &moment);
  add_moment(f, moment);
  const double bound = bound_of_fitting(f);
  int64_t beyond = 0;
  double peak = offer(f, &f->first, &beyond);
  fit_from(f, peak, beyond);
  for (int i = 0; i < CAPS && !lean && bound < INFINITY && can_be_better(f, bound) && goes_on(f); i++) {
    const double work = avoidable_work(f, f->last);
    if (work == 0) break;
    cap_work(f, work * CLOSER);
    beyond = 0;
    peak = try_limit(f, f->memory, &beyond);
    if (peak == INFINITY) break; // nor can be any under a smaller cap
    fit_from(f, peak, beyond);
  }
  if (!contest->fits && !lean) offer_lean(f);
  cap_work(f, INFINITY);
  for (int l = 0; l < p->cfn.n_limits; l++) p->cfn.limit[l] = f->memory;
  if (bound == INFINITY || !offer_all(f)) return bound;
  return contest->fits ? fmax(bound, contest->cost) : INFINITY;
}

bool fit_is_too_much(const Compilation *c, SearchProblem *p, const int *value) {
  int moment;
  return footprint_peak(footprint_new(p, NULL, c->strip_bytes), value, &moment) > c->machine->device.memory;
}

bool fit_may_fit(const Compilation *c, SearchProblem *p, Footprint *footprint, const int *value) {
  int moment;
  footprint_peak(footprint, value, &moment);
  footprint_weigh(footprint, 0, moment);
  p->cfn.n_limits = 1;
  const bool possible = least_weight(&p->cfn) <= c->machine->device.memory;
  p->cfn.n_limits = 0;
  return possible;
}

bool fit_is_possible(const Compilation *c, SearchProblem *p) {
  const int *everywhere = NEW_ARRAY(p->arena, int, p->groups.list.len);
  return fit_may_fit(c, p, footprint_new(p, NULL, c->strip_bytes), everywhere);
}
