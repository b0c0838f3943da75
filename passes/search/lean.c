// Where no plan fits: plans of less memory and more time.
//
// The batch comes in microbatches, and of the layers that repeat (block1, block2, ...) the first few make their values again for the
// backward pass. At first such plans are made of one that is known: with every number of microbatches as few as will do. Each is offered, and
// the cheapest that fits is kept. Where the leanest of them does not fit, none of the others is tried.
//
// Then for every number of microbatches and of layers that are made again the assignment that costs least, of those whose estimate fits.
// The least of what is proved of each is the bound. A number that costs no less than what is known, whatever it needs, ends that, as
// greater ones cost more: layers that are made again add their operators, and microbatches are the same work in smaller pieces.
#include "lean.h"

#include <math.h>

#include "../../ir/model.h"
#include "fit.h"

typedef VEC(int) Counts;

typedef struct Lean {
  Contest *contest;
  Plan base;
  LayerNames layers;
} Lean;

static bool goes_on(const Lean *l) { return !contest_is_over(l->contest) && !(l->contest->fits && l->contest->c->any_plan); }

typedef struct Offered {
  bool fits; // or costs too much to matter
  int64_t lacks; // bytes of a device; less than 0: so many are left; 0: not known
} Offered;

static int64_t lacks(const Lean *l) { return l->contest->need - (int64_t)l->contest->c->machine->device.memory; }

// Offers the plan in so many microbatches, of which the first `again` of the layers are made again.
static Offered offer(const Lean *l, int microbatches, int again) {
  Contest *contest = l->contest;
  Plan plan = l->base;
  plan.microbatches = microbatches;
  for (int i = 0; i < again; i++) vec_push(contest->c->arena, &plan.recompute, ((PlanAgain){.name = l->layers.at[i]}));
  const int64_t beyond = contest_offer(contest, &plan, NULL);
  const bool fits = beyond == 0 && contest->fits, taken = fits && contest->plan.microbatches == microbatches && contest->plan.recompute.len == again;
  return (Offered){fits, taken ? lacks(l) : beyond};
}

// About how many layers are to be made again, if each needs as much less as the others; in between where that is not known.
static int guess_fewest(int low, const Offered *at_low, int high, const Offered *at_high) {
  if (at_low->lacks <= 0 || at_high->lacks >= 0) return (low + high) / 2;
  const double share = (double)at_low->lacks / ((double)at_low->lacks - (double)at_high->lacks);
  const int guess = low + (int)ceil(share * (high - low));
  return guess <= low ? low + 1 : guess >= high ? high - 1 : guess;
}

// The fewest layers with which it fits, where it does with all of them and not without. Where a guess leaves more than half of the numbers,
// the next one is in the middle.
static void offer_fewest(const Lean *l, int microbatches, Offered none, Offered all) {
  int low = 0, high = l->layers.len;
  for (bool guesses = true; high - low > 1 && goes_on(l);) {
    const int before = high - low, again = guesses ? guess_fewest(low, &none, high, &all) : (low + high) / 2;
    const Offered offered = offer(l, microbatches, again);
    if (offered.fits) high = again, all = offered;
    else low = again, none = offered;
    guesses = 2 * (high - low) <= before + 1;
  }
}

// Numbers of microbatches that divide the batch, each at least twice the one before.
static Counts numbers_of_microbatches(Arena *arena, int64_t batch) {
  Counts numbers = {0};
  for (int64_t m = 1, least = 1; m <= batch && m <= PLAN_MAX_MICROBATCHES; m++) {
    if (batch % m != 0 || m < least) continue;
    least = 2 * m;
    vec_push(arena, &numbers, (int)m);
  }
  return numbers;
}

// Whether what needs least may fit: all layers made again, in the most microbatches, or in one, which adds up no gradients.
static bool may_fit(const Lean *l, int most) {
  return (most > 1 && offer(l, most, l->layers.len).fits) || (l->layers.len > 0 && goes_on(l) && offer(l, 1, l->layers.len).fits);
}

// Numbers of microbatches are tried until one fits by itself.
void lean_offer(Contest *contest) {
  if (contest->fits || !contest->any) return;
  Arena *arena = contest->c->arena;
  const Lean lean = {contest, contest->plan, again_candidates(arena, contest->c->model->train)}, *l = &lean;
  const Counts numbers = numbers_of_microbatches(arena, contest->c->model->batch);
  const Offered base = {false, lacks(l)};
  if (!may_fit(l, numbers.len > 0 ? numbers.at[numbers.len - 1] : 1)) return;
  for (int i = 0; i < numbers.len && goes_on(l); i++) {
    const int m = numbers.at[i];
    const Offered none = m > 1 ? offer(l, m, 0) : base;
    if (none.fits) return;
    if (l->layers.len == 0 || !goes_on(l)) continue;
    const Offered all = offer(l, m, l->layers.len);
    if (all.fits) offer_fewest(l, m, none, all);
  }
}

// ---- proved --------------------------------------------------------------------------------------------------------

enum { PROBLEMS = 8, OFFERS = 16 }; // that are solved, and plans that are evaluated: then no more is asked than what is free of memory

typedef struct Prover {
  Contest *contest;
  int64_t budget;
  int problems, offers; // that are left; the contest's, at most
  double least;         // what plans in as many microbatches as the last ones take at least, whatever they need
} Prover;

static bool is_spent(const Prover *prover) { return prover->problems <= 0 || prover->contest->offers > prover->offers; }

// The fewest layers, at least so many, that are to be made again so that plans may fit at the moment at which most lies there under an
// assignment: with fewer all need more. More than there are: with none they may.
static int fewest_that_may_fit(const Prover *prover, SearchProblem *p, AgainLayers *layers, Footprint *footprint, const int *value, int least) {
  int low = least - 1, high = layers->names.len + 1;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    again_make(p, layers, middle);
    if (fit_may_fit(prover->contest->c, p, footprint, value)) high = middle;
    else low = middle;
  }
  return high;
}

// Of the plans of a problem, with any number of layers made again. More of them take no less.
static double search_layers(Prover *prover, SearchProblem *p) {
  Contest *contest = prover->contest;
  AgainLayers *layers = again_layers(p);
  Footprint *footprint = footprint_new(p, layers, contest->c->strip_bytes);
  double bound = INFINITY;
  for (int made = 0; made <= layers->names.len;) {
    again_make(p, layers, made);
    p->cfn.n_limits = 0;
    const CfnSolution first = cfn_solve(&p->cfn, prover->budget, NULL);
    if (made == 0) prover->least = first.bound;
    if (!first.feasible || !contest_is_less(first.bound, contest->cost) || is_spent(prover)) return fmin(bound, first.bound);
    const int fewest = fewest_that_may_fit(prover, p, layers, footprint, first.value, made);
    if (fewest == made) {
      prover->problems--;
      again_make(p, layers, made);
      bound = fmin(bound, fit_search(contest, p, footprint, first.value, prover->budget));
      p->cfn.n_limits = 0;
    }
    made = fewest == made ? made + 1 : fewest;
  }
  return bound;
}

// In so many microbatches; INFINITY: the model cannot have them. 0: nothing is known.
static double search_microbatches(Prover *prover, int number) {
  const Compilation *c = prover->contest->c, *split = evaluate_in_microbatches(c, number, c->arena);
  const ProblemSpace space = {.unit = SEARCH_SECONDS, .parts = GROUPS_BY_DIMS, .candidates = problem_all_candidates, .until = prover->contest->until};
  prover->least = split == NULL ? INFINITY : 0;
  if (split == NULL) return INFINITY;
  Arena *arena = arena_new();
  SearchProblem *p = problem_new(arena, split->model, &c->mesh, c->machine, &space);
  const double bound = p == NULL ? 0 : search_layers(prover, p);
  arena_free(arena);
  return bound;
}

double lean_search(Contest *contest, SearchProblem *p, int64_t budget) {
  const Counts numbers = numbers_of_microbatches(contest->c->arena, contest->c->model->batch);
  Prover prover = {contest, budget, PROBLEMS, contest->offers + OFFERS, 0};
  double bound = search_layers(&prover, p);
  for (int i = 1; i < numbers.len && contest_is_less(prover.least, contest->cost) && bound > 0; i++) {
    if (contest_is_over(contest)) return 0;
    bound = fmin(bound, is_spent(&prover) ? prover.least : search_microbatches(&prover, numbers.at[i]));
  }
  return bound;
}

const char *lean_how(const Compilation *c, const Plan *plan) {
  const int again = plan->recompute.len;
  if (plan->microbatches <= 1 && again == 0) return NULL;
  const char *parts = plan->microbatches > 1 ? arena_printf(c->arena, "the batch comes in %d microbatches", plan->microbatches) : "";
  const char *layers = again > 0 ? arena_printf(c->arena, "%d layer%s made again for the backward pass", again, again == 1 ? " is" : "s are") : "";
  return arena_printf(c->arena, "so that it fits, %s%s%s", parts, parts[0] != '\0' && again > 0 ? ", and " : "", layers);
}
