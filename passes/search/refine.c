#include "refine.h"

#include <math.h>

#include "../sim/streams.h"
#include "refine_moves.h"

// Plans whose estimate is no more than this many times what the best one takes are lowered, at most so many.
static const double CLOSE = 1.05;
enum { MOST_LOWERED = 6 };
// A walk of flexflow is so many times as short as usual, on training graphs of at most so many operators, and of at most so many operators
// times pairs of devices, which is what its tasks grow with, however short it is: some tenths of a second at most.
enum { WALK_PARTS = 64, WALK_MOST_OPS = 2000, WALK_MOST_PAIRS = WALK_MOST_OPS * 32 * 32 };
// Operators of the plans that moves lead to, all together, and how many of these are lowered: a tenth of a second.
enum { MOVES_EFFORT = 20000, MOST_MOVES_LOWERED = 4 };

// ---- optima of which a part counts less ----------------------------------------------------------------------------

// Which share counts of what changes of layout of gradients, or also of their parameters, take; but for a part of the parameters, the first
// ones: all of theirs does. Their gradients come last, when there is little left to compute.
typedef struct Discount {
  double share, first;
  bool of_gradients;
} Discount;
static const Discount DISCOUNTS[] = {{0.1, 0.25, true}, {0.1, 0, false}, {0.5, 0, true}, {0.5, 0, false}, {0.1, 0.5, true}, {0.1, 0.5, false}};
enum { N_DISCOUNTS = sizeof DISCOUNTS / sizeof *DISCOUNTS };
// Operations of the solver, for all of them together: as many as the problem itself took, or these, some hundredths of a second.
enum { LEAST_OPERATIONS = 3 * 1000 * 1000 };

static bool is_parameter(const SearchProblem *p, int variable) {
  return variable < p->groups.list.len && p->groups.list.at[variable].kind == GROUP_PARAM;
}

// The variable of a parameter that a function is of, or -1.
static int parameter_of(const SearchProblem *p, const CfnFunction *f) {
  for (int i = 0; i < f->arity; i++)
    if (is_parameter(p, f->var[i])) return f->var[i];
  return -1;
}

// The variable behind the first so many parameters.
static int behind_first(const SearchProblem *p, double part) {
  int n = 0, seen = 0, variable = 0;
  for (int g = 0; g < p->groups.list.len; g++) n += is_parameter(p, g);
  for (; variable < p->groups.list.len && seen < part * n; variable++) seen += is_parameter(p, variable);
  return variable;
}

static const double *scaled(Arena *arena, const double *cost, int64_t n, double share) {
  double *less = NEW_ARRAY(arena, double, n);
  for (int64_t i = 0; i < n; i++) less[i] = cost[i] * share;
  return less;
}

// Functions that are alike still share tables.
static Cfn with_discount(Arena *arena, const SearchProblem *p, const Discount *discount) {
  const int behind = behind_first(p, discount->first);
  Cfn cfn = p->cfn;
  Numbers known = {.arena = arena};
  VEC(const double *) tables = {0};
  cfn.arena = arena;
  vec_own(arena, &cfn.functions);
  for (int i = 0; i < cfn.functions.len; i++) {
    CfnFunction *f = &cfn.functions.at[i];
    if (parameter_of(p, f) < behind || (discount->of_gradients && f->tag != ROLE_GRADIENT)) continue;
    const int number = numbers_of(&known, &f->cost, sizeof f->cost);
    if (number == tables.len) vec_push(arena, &tables, scaled(arena, f->cost, cfn_function_size(f), discount->share));
    f->cost = tables.at[number];
  }
  return cfn;
}

// Whether an assignment was not there before.
static bool note_new(Numbers *known, const int *value, int n) {
  const int before = known->len;
  return numbers_of(known, value, sizeof *value * (size_t)n) == before;
}

void refine_add_optima(Refinement *r, const SearchProblem *p, const CfnSolution *found) {
  Arena *arena = r->contest->c->arena, *scratch = arena_new();
  Numbers known = {.arena = p->arena};
  int64_t budget = max_i64(found->operations, LEAST_OPERATIONS);
  for (int i = 0; i < N_DISCOUNTS && budget > 0 && !contest_is_over(r->contest); i++) {
    const Cfn cfn = with_discount(scratch, p, &DISCOUNTS[i]);
    const CfnSolution solution = cfn_solve(&cfn, budget, found->value);
    budget -= solution.operations;
    if (solution.feasible && note_new(&known, solution.value, p->groups.list.len)) vec_push(arena, &r->starts, ((Rival){.plan = problem_plan(arena, p, solution.value)}));
    arena_reset(scratch);
  }
  arena_free(scratch);
}

// ---- which plans are lowered ---------------------------------------------------------------------------------------

static bool is_known(const Refinement *r, int start) {
  const Plan *plan = &r->starts.at[start].plan;
  for (int i = 0; i < start; i++)
    if (contest_is_same(&r->starts.at[i].plan, plan)) return true;
  return contest_is_same(&r->contest->plan, plan);
}

// The plan of a short walk of flexflow, which knows what the others do not: layers beside each other on different devices.
static void add_walk(Refinement *r) {
  Compilation c = *r->contest->c;
  Rival rival = {.name = plan_source_name(PLAN_FLEXFLOW)};
  Search search;
  const double ops = c.model->train->ops.len, devices = mesh_ranks(&c.mesh);
  if (ops > WALK_MOST_OPS || ops * devices * devices > WALK_MOST_PAIRS) return;
  c.effort_parts = WALK_PARTS;
  if (evaluate_planner_on(&c, contest_model(r->contest), (PlanSource){.kind = PLAN_FLEXFLOW}, &rival.plan, &search) == NULL) vec_push(c.arena, &r->starts, rival);
}

static bool has_pins(const Plan *plan) {
  for (int i = 0; i < plan->lines.len; i++)
    for (int a = 0; a < plan->mesh.n_axes; a++)
      if (plan->lines.at[i].axis[a].kind == CHOICE_PIN) return true;
  return false;
}

// About what its program takes, if that may be less than the best one takes; 0: it may not. Of what runs beside each other nothing is known.
static double estimate(Contest *contest, const Plan *plan, double best) {
  return has_pins(plan) ? best : contest_price(contest, plan, best).overlapped;
}

// Adds the plans of others, takes away what is there twice or takes too long, and sorts the rest by what it is estimated to take.
static void choose(Refinement *r, double best) {
  Contest *contest = r->contest;
  int n = 0;
  for (int i = 0; i < r->starts.len; i++) r->starts.at[i].price.overlapped = estimate(contest, &r->starts.at[i].plan, best);
  for (int i = 0; i < contest->rivals.len; i++) vec_push(contest->c->arena, &r->starts, contest->rivals.at[i]);
  for (int i = 0; i < r->starts.len; i++) {
    const Rival rival = r->starts.at[i];
    if (rival.price.overlapped == 0 || rival.price.overlapped > best * CLOSE || is_known(r, i)) continue;
    int to = n++;
    for (; to > 0 && contest_is_less(rival.price.overlapped, r->starts.at[to - 1].price.overlapped); to--) r->starts.at[to] = r->starts.at[to - 1];
    r->starts.at[to] = rival;
  }
  r->starts.len = n;
}

// ---- lowering them -------------------------------------------------------------------------------------------------

// What a step of the best plan takes, whose program is kept if that is wanted; NAN: too many devices do different things.
static double time_of_best(Contest *contest) {
  if (contest->lowered == NULL) {
    const Evaluation e = evaluate_program(contest->c, &contest->plan, &contest->lowered);
    contest_keep(contest, contest->lowered);
    return e.overlapped;
  }
  return streams_seconds(contest->lowered->program);
}

// Whether its program takes less than the best one, and fits: then it is the best.
static bool offer(Contest *contest, const Rival *rival, double *best) {
  Compilation *lowered;
  if (rival->too_large) return false;
  const Evaluation e = evaluate_program(contest->c, &rival->plan, &lowered);
  const bool fits = e.refused == NULL && (double)e.arena_bytes <= contest->c->machine->device.memory;
  if (!fits || !contest_is_less(e.overlapped, *best)) {
    if (lowered != NULL) arena_free(lowered->arena);
    return false;
  }
  *best = e.overlapped;
  contest->plan = rival->plan;
  contest->name = rival->name;
  contest->need = e.arena_bytes;
  contest_keep(contest, lowered);
  return true;
}

// ---- moves ---------------------------------------------------------------------------------------------------------

typedef struct Steps { // from the best plan so far
  Contest *contest;
  int64_t effort;
  int lowered;
  double now; // estimate of the best plan, which the contest's model is laid by; 0: not known yet
} Steps;

static bool goes_on(const Steps *s) {
  return s->effort < MOVES_EFFORT && s->lowered < MOST_MOVES_LOWERED && !contest_is_over(s->contest);
}

// The first move of the best plan that makes its program take less; false: there is none, or no effort is left.
static bool move(Steps *s, double *best) {
  Contest *contest = s->contest;
  Arena *arena = arena_new();
  Rival rival = {.name = contest->name};
  if (s->now == 0) s->now = contest_price(contest, &contest->plan, INFINITY).overlapped;
  PlanMoves *moves = plan_moves_new(arena, contest_model(contest), &contest->plan);
  bool moved = false;
  while (!moved && goes_on(s) && plan_moves_next(moves, &rival.plan)) {
    s->effort += contest->c->model->train->ops.len;
    const Price price = contest_price(contest, &rival.plan, s->now);
    if (price.overlapped == 0 || !contest_is_less(price.overlapped, s->now)) continue;
    s->lowered++;
    moved = offer(contest, &rival, best);
    if (moved) s->now = price.overlapped;
  }
  if (moved) vec_own(contest->c->arena, &contest->plan.lines);
  plan_moves_free(moves);
  arena_free(arena);
  return moved;
}

void refine(Refinement *r, Search *search) {
  Contest *contest = r->contest;
  double best = time_of_best(contest);
  if (isnan(best)) return;
  search->unrefined = best;
  if (!contest_is_over(contest)) add_walk(r);
  choose(r, best);
  for (int i = 0; i < r->starts.len && i < MOST_LOWERED && !contest_is_over(contest); i++)
    search->refined |= offer(contest, &r->starts.at[i], &best);
  if (contest->plan.microbatches > 1 || contest->plan.recompute.len > 0) return; // which are other graphs
  Steps steps = {.contest = contest};
  while (goes_on(&steps) && move(&steps, &best)) search->refined = true;
}
