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

// How many bytes a plan that can still be the best stores at most: it fits, or as long as none does needs less.
static double most_stored(const Contest *contest) {
  if (!contest->any) return INFINITY;
  return contest->fits ? contest->c->machine->device.memory : (double)(contest->need - 1);
}

static int64_t lacks(const Contest *contest, double need) { return (int64_t)(need - contest->c->machine->device.memory); }

// The plan, if it is taken, stays where it is.
static int64_t evaluate_offer(Contest *contest, const Plan *plan, const char *name) {
  const double most = most_stored(contest), enough = contest->fits ? contest->cost : INFINITY;
  contest->offers++;
  Compilation *lowered = NULL;
  const Evaluation e = evaluate_fit(contest->c, plan, most, enough, contest->c->keeps_lowered ? &lowered : NULL);
  if (e.refused != NULL) return 0;
  if (e.tensors.stored > most) return lacks(contest, e.tensors.stored);
  const bool fits = (double)e.arena_bytes <= contest->c->machine->device.memory;
  if (is_better(contest, e.cost.step, e.arena_bytes, fits)) {
    Compilation *before = contest->lowered;
    contest->lowered = lowered;
    lowered = before;
    contest->any = true;
    contest->fits = fits;
    contest->plan = *plan;
    contest->cost = e.cost.step;
    contest->need = e.arena_bytes;
    contest->name = name;
  }
  if (lowered != NULL) arena_free(lowered->arena);
  return fits ? 0 : lacks(contest, (double)e.arena_bytes);
}

// Whether a plan of this price can still be the best.
static bool is_worth(const Contest *contest, const Price *price) { return !contest->fits || contest_is_less(price->seconds, contest->cost); }

// What its price rules out is not evaluated.
static int64_t offer_priced(Contest *contest, const Plan *plan, const char *name, const Price *price) {
  if (!is_worth(contest, price)) return 0;
  return price->tensors.stored > most_stored(contest) ? lacks(contest, price->tensors.stored) : evaluate_offer(contest, plan, name);
}

static int64_t offer(Contest *contest, const Plan *plan, const char *name) {
  if (!contest->any || !pricing_is_cheap(pricing_in(contest), plan)) return evaluate_offer(contest, plan, name);
  const Price price = contest_price(contest, plan, contest->fits ? contest->cost : 0);
  return offer_priced(contest, plan, name, &price);
}

int64_t contest_offer(Contest *contest, const Plan *plan, const char *name) {
  const PlanLine *before = contest->plan.lines.at;
  const int64_t beyond = offer(contest, plan, name);
  if (contest->plan.lines.at != before) vec_own(contest->c->arena, &contest->plan.lines);
  return beyond;
}

static bool is_same_line(const PlanLine *a, const PlanLine *b, int n_axes) {
  if (a->subject != b->subject || !str_eq(a->name, b->name)) return false;
  for (int i = 0; i < n_axes; i++) {
    const PlanChoice *x = &a->axis[i], *y = &b->axis[i];
    if (x->kind != y->kind || x->unit != y->unit || x->pin != y->pin || (x->kind == CHOICE_SPLIT && !str_eq(x->dim, y->dim))) return false;
  }
  return true;
}

bool contest_is_same(const Plan *a, const Plan *b) {
  if (a->lines.len != b->lines.len || a->mesh.n_axes != b->mesh.n_axes) return false;
  for (int i = 0; i < a->lines.len; i++)
    if (!is_same_line(&a->lines.at[i], &b->lines.at[i], a->mesh.n_axes)) return false;
  return true;
}

// Whether another planner has made the same plan.
static bool is_rival(const Contest *contest, const Plan *plan) {
  for (int i = 0; i < contest->rivals.len; i++)
    if (contest_is_same(&contest->rivals.at[i].plan, plan)) return true;
  return false;
}

// All but one, priced, each plan once, and but flexflow, which takes long to find what is short where things overlap.
static void list_rivals(Contest *contest, PlanSourceKind but) {
  const double enough = contest->fits ? contest->cost : INFINITY;
  Model *model = contest_model(contest);
  for (int i = 0; i < PLAN_NAMED; i++) {
    const PlanSource source = {.kind = (PlanSourceKind)i};
    Rival rival = {.name = plan_source_name(source.kind)};
    Search search;
    if (source.kind == but || source.kind == PLAN_FLEXFLOW || (plan_source_searched(source.kind) && contest_is_over(contest))) continue;
    if (evaluate_planner_on(contest->c, model, source, &rival.plan, &search) != NULL) continue;
    if (is_rival(contest, &rival.plan)) continue;
    rival.price = contest_price(contest, &rival.plan, enough);
    vec_push(contest->c->arena, &contest->rivals, rival);
  }
}

// The cheapest that has not been offered; NULL: all have been.
static Rival *next_rival(const Contest *contest) {
  Rival *first = NULL;
  for (int i = 0; i < contest->rivals.len; i++) {
    Rival *rival = &contest->rivals.at[i];
    if (!rival->offered && (first == NULL || contest_is_less(rival->price.seconds, first->price.seconds))) first = rival;
  }
  return first;
}

// The cheapest first: once it fits none of the others is lowered.
void contest_offer_planners(Contest *contest, PlanSourceKind but) {
  if (contest->entered) return;
  contest->entered = true;
  list_rivals(contest, but);
  for (Rival *rival = next_rival(contest); rival != NULL; rival = next_rival(contest)) {
    if (!is_worth(contest, &rival->price) || (contest->fits && contest->c->any_plan)) return;
    rival->offered = true;
    rival->too_large = offer_priced(contest, &rival->plan, rival->name, &rival->price) > 0;
  }
}
