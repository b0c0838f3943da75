#include "contest.h"

#include <math.h>

Contest contest_new(const Compilation *c) {
  return (Contest){.c = c, .plan = {.model = c->model->name, .mesh = c->mesh}, .until = c->time_limit > 0 ? steady_seconds() + c->time_limit : 0};
}

bool contest_is_over(Contest *contest) {
  contest->late = contest->late || (contest->until > 0 && steady_seconds() >= contest->until);
  return contest->late;
}

bool contest_is_less(double cost, double than) { return cost < than * (1 - 1e-9); }

static bool is_better(const Contest *contest, double cost, int64_t need, bool fits) {
  if (!contest->any || fits != contest->fits) return !contest->any || fits;
  return fits ? contest_is_less(cost, contest->cost) : need < contest->need;
}

static Pricing *pricing_in(Contest *contest) {
  if (contest->pricing == NULL) contest->pricing = pricing_new(contest->c);
  return contest->pricing;
}

Model *contest_model(Contest *contest) { return pricing_model(pricing_in(contest)); }

Price contest_price(Contest *contest, const Plan *plan, double enough) { return pricing_of(pricing_in(contest), plan, enough); }

void contest_keep(Contest *contest, Compilation *lowered) {
  Compilation *before = contest->lowered == lowered ? NULL : contest->lowered;
  contest->lowered = lowered;
  if (before != NULL) arena_free(before->arena);
  if (lowered == NULL || contest->c->keeps_lowered) return;
  arena_free(lowered->arena);
  contest->lowered = NULL;
}

// A plan that its price does not rule out.
static int64_t evaluate_offer(Contest *contest, const Plan *plan, const char *name, const TensorBytes *tensors) {
  const double memory = contest->c->machine->device.memory;
  if (tensors->stored > memory && contest->any && (contest->fits || tensors->stored >= (double)contest->need)) return (int64_t)(tensors->stored - memory);
  Compilation *lowered = NULL;
  const Evaluation e = evaluate_fit(contest->c, plan, contest->c->keeps_lowered ? &lowered : NULL);
  if (e.refused != NULL) return 0;
  const bool fits = (double)e.arena_bytes <= memory;
  if (is_better(contest, e.cost.step, e.arena_bytes, fits)) {
    Compilation *before = contest->lowered;
    contest->lowered = lowered;
    lowered = before;
    contest->any = true;
    contest->fits = fits;
    contest->plan = *plan;
    vec_own(contest->c->arena, &contest->plan.lines);
    contest->cost = e.cost.step;
    contest->need = e.arena_bytes;
    contest->name = name;
  }
  if (lowered != NULL) arena_free(lowered->arena);
  return fits ? 0 : e.arena_bytes - (int64_t)memory;
}

// Whether a plan of this price can still be the best.
static bool is_worth(const Contest *contest, const Price *price) { return !contest->fits || contest_is_less(price->seconds, contest->cost); }

int64_t contest_offer(Contest *contest, const Plan *plan, const char *name) {
  const TensorBytes unknown = {0, 0};
  if (!contest->any) return evaluate_offer(contest, plan, name, &unknown);
  const Price price = contest_price(contest, plan, contest->fits ? contest->cost : 0);
  return is_worth(contest, &price) ? evaluate_offer(contest, plan, name, &price.tensors) : 0;
}

typedef struct Entrant {
  PlanSourceKind kind;
  Plan plan;
  Price price;
} Entrant;

// All but one, priced, and but flexflow, which takes long to find what is short where things overlap. Returns how many there are.
static int list_entrants(Contest *contest, PlanSourceKind but, Entrant *entrants) {
  const double enough = contest->fits ? contest->cost : INFINITY;
  Model *model = pricing_model(pricing_in(contest));
  int n = 0;
  for (int kind = 0; kind < PLAN_NAMED; kind++) {
    Entrant *e = &entrants[n];
    Search search;
    e->kind = (PlanSourceKind)kind;
    if (e->kind == but || e->kind == PLAN_FLEXFLOW || (plan_source_searched(e->kind) && contest_is_over(contest))) continue;
    if (evaluate_planner_on(contest->c, model, (PlanSource){.kind = e->kind}, &e->plan, &search) != NULL) continue;
    e->price = contest_price(contest, &e->plan, enough);
    vec_push(contest->c->arena, &contest->rivals, ((Rival){plan_source_name(e->kind), e->plan, e->price}));
    n++;
  }
  return n;
}

// The cheapest first: once it fits none of the others is lowered.
void contest_offer_planners(Contest *contest, PlanSourceKind but) {
  Entrant entrants[PLAN_NAMED];
  if (contest->entered) return;
  contest->entered = true;
  for (int n = list_entrants(contest, but, entrants); n > 0; n--) {
    int first = 0;
    for (int i = 1; i < n; i++)
      if (contest_is_less(entrants[i].price.seconds, entrants[first].price.seconds)) first = i;
    const Entrant e = entrants[first];
    memmove(&entrants[first], &entrants[first + 1], sizeof *entrants * (size_t)(n - 1 - first));
    if (!is_worth(contest, &e.price) || (contest->fits && contest->c->any_plan)) return;
    evaluate_offer(contest, &e.plan, plan_source_name(e.kind), &e.price.tensors);
  }
}
