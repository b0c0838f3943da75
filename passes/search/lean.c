// Where no plan fits: plans of less memory and more time.
//
// The batch comes in microbatches, and of the layers that repeat (block1, block2, ...) the first few make their values again for the
// backward pass: with every number of microbatches as few as will do. Each such plan is offered, and the cheapest that fits is kept. Where the
// leanest of them does not fit, none of the others is tried.
#include "lean.h"

#include <math.h>

#include "../../ir/model.h"

typedef VEC(const char *) Layers;
typedef VEC(int) Counts;

// The outermost layer of an operator without the number at its end, or NULL: it is in none that is counted.
static const char *kind_of(Arena *arena, const char *layer, const char **name) {
  *name = arena_strndup(arena, layer, strcspn(layer, "."));
  size_t len = strlen(*name);
  while (len > 0 && (*name)[len - 1] >= '0' && (*name)[len - 1] <= '9') len--;
  return len > 0 && (*name)[len] != '\0' ? arena_strndup(arena, *name, len) : NULL;
}

// The outermost layers of which there are several of a kind, in their order.
static Layers repeated_layers(Arena *arena, const Graph *train) {
  Names seen = {.arena = arena}, count = {.arena = arena};
  Layers all = {0}, repeated = {0};
  const char *name;
  for (int i = 0; i < train->ops.len; i++) {
    const char *kind = train->ops.at[i].phase == PHASE_FORWARD ? kind_of(arena, train->ops.at[i].layer, &name) : NULL;
    if (kind == NULL || names_get(&seen, name) >= 0) continue;
    names_set(&seen, name, i);
    vec_push(arena, &all, name);
    const int before = names_get(&count, kind);
    names_set(&count, kind, before < 0 ? 1 : before + 1);
  }
  for (int i = 0; i < all.len; i++)
    if (names_get(&count, kind_of(arena, all.at[i], &name)) > 1) vec_push(arena, &repeated, all.at[i]);
  return repeated;
}

typedef struct Lean {
  Contest *contest;
  Plan base;
  Layers layers;
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
  const Lean lean = {contest, contest->plan, repeated_layers(arena, contest->c->model->train)}, *l = &lean;
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

const char *lean_how(const Compilation *c, const Plan *plan) {
  const int again = plan->recompute.len;
  if (plan->microbatches <= 1 && again == 0) return NULL;
  const char *parts = plan->microbatches > 1 ? arena_printf(c->arena, "the batch comes in %d microbatches", plan->microbatches) : "";
  const char *layers = again > 0 ? arena_printf(c->arena, "%d layer%s made again for the backward pass", again, again == 1 ? " is" : "s are") : "";
  return arena_printf(c->arena, "so that it fits, %s%s%s", parts, parts[0] != '\0' && again > 0 ? ", and " : "", layers);
}
