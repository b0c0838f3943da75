// Where no plan fits: plans of less memory and more time.
//
// The batch comes in microbatches, and of the layers that repeat (block1, block2, ...) the first few make their values again for the
// backward pass: with every number of microbatches as few as will do. Each such plan is offered, and the cheapest that fits is kept. Where the
// leanest of them does not fit, none of the others is tried.
#include "lean.h"

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

// Offers the plan in so many microbatches, of which the first `again` of the layers are made again; whether it fits.
static bool offer(const Lean *l, int microbatches, int again) {
  Arena *arena = l->contest->c->arena;
  Plan plan = l->base;
  plan.microbatches = microbatches;
  for (int i = 0; i < again; i++) vec_push(arena, &plan.recompute, ((PlanAgain){.name = l->layers.at[i]}));
  return contest_offer(l->contest, &plan, NULL) == 0 && l->contest->fits;
}

// The fewest layers with which it fits, where it does with all of them and not without.
static void offer_fewest(const Lean *l, int microbatches) {
  int low = 0, high = l->layers.len;
  while (high - low > 1 && goes_on(l)) {
    const int middle = (low + high) / 2;
    if (offer(l, microbatches, middle)) high = middle;
    else low = middle;
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
  return (most > 1 && offer(l, most, l->layers.len)) || (l->layers.len > 0 && goes_on(l) && offer(l, 1, l->layers.len));
}

// Numbers of microbatches are tried until one fits by itself.
void lean_offer(Contest *contest) {
  if (contest->fits || !contest->any) return;
  Arena *arena = contest->c->arena;
  const Lean lean = {contest, contest->plan, repeated_layers(arena, contest->c->model->train)}, *l = &lean;
  const Counts numbers = numbers_of_microbatches(arena, contest->c->model->batch);
  if (!may_fit(l, numbers.len > 0 ? numbers.at[numbers.len - 1] : 1)) return;
  for (int i = 0; i < numbers.len && goes_on(l); i++) {
    const int m = numbers.at[i];
    if (m > 1 && offer(l, m, 0)) return;
    if (l->layers.len > 0 && goes_on(l) && offer(l, m, l->layers.len)) offer_fewest(l, m);
  }
}

const char *lean_how(const Compilation *c, const Plan *plan) {
  const int again = plan->recompute.len;
  if (plan->microbatches <= 1 && again == 0) return NULL;
  const char *parts = plan->microbatches > 1 ? arena_printf(c->arena, "the batch comes in %d microbatches", plan->microbatches) : "";
  const char *layers = again > 0 ? arena_printf(c->arena, "%d layer%s made again for the backward pass", again, again == 1 ? " is" : "s are") : "";
  return arena_printf(c->arena, "so that it fits, %s%s%s", parts, parts[0] != '\0' && again > 0 ? ", and " : "", layers);
}
