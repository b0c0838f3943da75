// auto: of all assignments of candidates to groups (problem.h) the one whose step costs least, by exact elimination (cfn.h), among
// those that fit (fit.h), or that can be made to (lean.h); with fewer devices where more are slower (fewer.h); or the plan of another planner, if that is cheaper: some
// do what is no candidate. From there it goes to one that takes less as streams overlap (refine.h).
#include <math.h>

#include "contest.h"
#include "factors.h"
#include "fewer.h"
#include "fit.h"
#include "lean.h"
#include "refine.h"
#include "search.h"

// What takes so many times a cost takes more than it, rounding aside.
static const double MORE = 1 + 1e-6;

// Entries of tables: some seconds, unless a time is given.
static const int64_t BUDGET = 100 * 1000 * 1000, UNLIMITED = (int64_t)1 << 55;

// So many times the budget where not all is exact at first: on the machine's own mesh, on others.
enum { TIMES = 20, TIMES_ELSEWHERE = 5 };

// The axes along which all ranks do the same.
static const char *idle_axes(const Compilation *c, const Plan *plan) {
  bool used[MESH_MAX_AXES] = {false};
  Text text = {.arena = c->arena};
  int ranks = 1;
  for (int i = 0; i < plan->lines.len; i++)
    for (int a = 0; a < plan->mesh.n_axes; a++) {
      const ChoiceKind kind = plan->lines.at[i].axis[a].kind;
      used[a] |= kind == CHOICE_SPLIT || kind == CHOICE_PIN;
    }
  for (int a = 0; a < plan->mesh.n_axes; a++) {
    if (used[a]) ranks *= plan->mesh.axis[a].size;
    else if (plan->mesh.axis[a].size > 1) text_printf(&text, "%s%s", text.len > 0 ? ", " : "", plan->mesh.axis[a].name);
  }
  if (text.len == 0) return NULL;
  return arena_printf(c->arena, "along %s all ranks do the same: --devices=%d would do", text_str(&text), ranks);
}

// Of the plan that is taken. found: the sum of what was found, where that says something beside the plan's; INFINITY: it does not.
// finer: what is known of finer meshes, or NULL.
static const char *how(const Compilation *c, const Contest *contest, double found, const char *finer, bool too_large) {
  const char *idle = idle_axes(c, &contest->plan), *lean = lean_how(c, &contest->plan);
  Text text = {.arena = c->arena};
  if (contest->late) text_printf(&text, "the time limit ended it");
  if (too_large) text_printf(&text, "%sthere are too many plans to search all", text.len > 0 ? "; " : "");
  if (finer != NULL) text_printf(&text, "%s%s", text.len > 0 ? "; " : "", finer);
  if (contest->name != NULL) text_printf(&text, "%sthe plan is '%s'", text.len > 0 ? "; " : "", contest->name);
  if (contest->name != NULL && contest_is_less(c->search.bound, found) && found < INFINITY)
    text_printf(&text, ": what was found takes %.4g ms", found * 1e3);
  if (lean != NULL) text_printf(&text, "%s%s", text.len > 0 ? "; " : "", lean);
  if (idle != NULL) text_printf(&text, "%s%s", text.len > 0 ? "; " : "", idle);
  return text.len > 0 ? text_str(&text) : NULL;
}

// Problems are large, and are solved one after the other in the same memory.
static SearchProblem *open_problem(Compilation *c, const Contest *contest, const Mesh *mesh, const ProblemSpace *space) {
  ProblemSpace until = *space;
  until.until = contest->until;
  Arena *arena = c->keeps_problem ? c->arena : arena_new();
  SearchProblem *problem = problem_new(arena, c->model, mesh, c->machine, &until);
  if (problem == NULL && !c->keeps_problem) arena_free(arena);
  return problem;
}

static void close_problem(const Compilation *c, SearchProblem *problem) {
  if (problem != NULL && !c->keeps_problem) arena_free(problem->arena);
}

// What was solved last counts.
static void note_problem(Compilation *c, const Cfn *solved) {
  if (c->keeps_problem) c->search.problem = solved;
}

static CfnSolution solve(SearchProblem *problem, int64_t budget, int times) {
  const CfnSolution solution = problem_solve(problem, budget, times);
  if (!solution.feasible) fatal("plan: every operator can be on every rank, but no plan was found");
  return solution;
}

// The assignment that costs least, and if it does not fit what does: then the plans of the other planners say first what that may cost.
// Leaves in c->search what is proved of it.
static void search_all(Compilation *c, Contest *contest, Refinement *refinement, SearchProblem *problem, int64_t budget) {
  const CfnSolution solution = solve(problem, budget, TIMES);
  const Plan plan = problem_plan(problem->arena, problem, solution.value);
  const bool too_much = fit_is_too_much(c, problem, solution.value), fits = !too_much && contest_offer(contest, &plan, NULL) == 0;
  if (!fits) contest_offer_planners(contest, PLAN_AUTO);
  c->search.bound = fits ? solution.bound : fit_search(contest, problem, footprint_new(problem, NULL, c->strip_bytes), solution.value, budget / 2);
  if (too_much && !contest->fits) contest_offer(contest, &plan, NULL); // it may be what needs least
  c->search.of_fitting = !fits;
  if (fits && !c->by_sum) refine_add_optima(refinement, problem, &solution);
  note_problem(c, fits ? problem->solved : &problem->cfn); // with its limits
}

// The same with the devices of each level in factors, if the machine's mesh is done with and that is not too much. What is proved of
// the machine's mesh stays where the factors' is not. Gives what is to be said then, or NULL.
static const char *search_factors(Compilation *c, Contest *contest, Refinement *refinement, int64_t budget) {
  Factors factors;
  if (c->mesh_given || contest_is_less(c->search.bound, contest->cost) || !factors_of_mesh(c->arena, &c->mesh, &factors)) return NULL;
  const ProblemSpace space = {.unit = SEARCH_SECONDS, .parts = GROUPS_BY_DIMS, .candidates = factors_candidates, .ctx = &factors, .most = FACTORS_MOST};
  SearchProblem *problem = open_problem(c, contest, &factors.mesh, &space);
  if (problem == NULL) return NULL;
  const CfnSolution solution = solve(problem, budget, TIMES_ELSEWHERE);
  const Plan plan = problem_plan(problem->arena, problem, solution.value), merged = factors_merge(c->arena, &factors, &c->mesh, &plan);
  contest_offer(contest, &merged, NULL);
  contest_offer(contest, &plan, NULL); // unequal blocks are others on fewer axes
  const bool proved = !contest_is_less(solution.bound, solution.cost);
  if (!c->by_sum) refine_add_optima(refinement, problem, &solution);
  if (proved) note_problem(c, problem->solved);
  close_problem(c, problem);
  if (!proved)
    return arena_printf(c->arena, "on %s%s none takes less than %.4g ms", mesh_text(c->arena, &factors.mesh),
                        factors.most > 0 ? arena_printf(c->arena, ", at most %d ways an operator,", factors.most) : "", solution.bound * 1e3);
  c->search.bound = fmin(c->search.bound, solution.bound);
  c->search.mesh = factors.mesh;
  c->search.ways = factors.most;
  return NULL;
}

// Where plans that fit as they are may take more than with microbatches, or layers made again.
static void search_lean(Compilation *c, Contest *contest, SearchProblem *problem, int64_t budget) {
  const bool proved = c->search.bound < INFINITY && !contest_is_less(c->search.bound, contest->cost);
  if (!contest->fits || proved || contest_is_over(contest)) return;
  c->search.bound = lean_search(contest, problem, budget);
  c->search.of_lean = true;
}

// Whether anything fits: what takes least time to find out first.
static void search_any(Compilation *c, Contest *contest, Refinement *refinement, SearchProblem *problem, int64_t budget) {
  if (problem != NULL && !fit_is_possible(c, problem)) return;
  contest_offer_planners(contest, PLAN_AUTO);
  if (!contest->fits && problem != NULL) search_all(c, contest, refinement, problem, budget);
  lean_offer(contest);
}

// The same with `used` of the ranks along an axis only. False where even what was best with all of them takes longer so.
static bool search_used(Compilation *c, Contest *contest, const Plan *best, double cost, int axis, int used, int64_t budget) {
  const Mesh mesh = fewer_mesh(c->arena, &c->mesh, axis, used);
  const ProblemSpace fewer = {.unit = SEARCH_SECONDS, .parts = GROUPS_BY_DIMS, .candidates = fewer_candidates, .ctx = &axis};
  const Plan same = fewer_plan(c->arena, best, &mesh, axis);
  if (contest_is_less(cost, contest_price(contest, &same, cost * MORE).seconds)) return false;
  SearchProblem *problem = open_problem(c, contest, &mesh, &fewer);
  if (problem == NULL) return false;
  const CfnSolution solution = solve(problem, budget, TIMES_ELSEWHERE);
  const Plan plan = problem_plan(problem->arena, problem, solution.value);
  const double before = contest->cost;
  contest_offer(contest, &plan, NULL);
  if (contest->cost < before) note_problem(c, problem->solved);
  close_problem(c, problem);
  c->search.bound = fmin(c->search.bound, solution.bound);
  return true;
}

static void search_fewer(Compilation *c, Contest *contest, int64_t budget) {
  const Plan best = contest->plan;
  const double cost = contest->cost;
  if (c->mesh_given || c->mesh.n_axes + 1 >= MESH_MAX_AXES) return;
  for (int a = 0; a < c->mesh.n_axes; a++) {
    const int size = c->mesh.axis[a].size;
    for (int used = fewer_ranks(size, size); used > 1 && !contest_is_over(contest); used = fewer_ranks(size, used))
      if (!search_used(c, contest, &best, cost, a, used, budget)) break;
  }
}

// The best plan, and what was lowered of it.
static Plan end_contest(Compilation *c, const Contest *contest) {
  if (contest->lowered != NULL) arena_own(c->arena, contest->lowered->arena);
  c->lowered = contest->lowered;
  return contest->plan;
}

Plan search_auto(Compilation *c) {
  const ProblemSpace all = {.unit = SEARCH_SECONDS, .parts = GROUPS_BY_DIMS, .candidates = problem_all_candidates};
  const int64_t budget = c->time_limit > 0 ? UNLIMITED : BUDGET;
  Contest contest = contest_new(c);
  Refinement refinement = {.contest = &contest};
  SearchProblem *problem = open_problem(c, &contest, &c->mesh, &all);
  const bool searched = problem != NULL, too_large = !searched && !contest_is_over(&contest);
  c->search = (Search){.done = true, .cost = INFINITY, .bound = INFINITY, .of_step = true, .mesh = c->mesh};
  if (c->any_plan) {
    search_any(c, &contest, &refinement, problem, budget / 16);
    if (contest.fits) c->search.cost = contest.cost;
    close_problem(c, problem);
    return end_contest(c, &contest);
  }
  if (searched) search_all(c, &contest, &refinement, problem, budget);
  else c->search.bound = 0;
  if (!c->search.of_fitting) close_problem(c, problem);
  const char *finer = NULL;
  if (contest.fits && !c->search.of_fitting) { // fewer devices have less memory
    search_fewer(c, &contest, budget);
    if (searched) finer = search_factors(c, &contest, &refinement, budget);
  }
  const double found = contest.fits && contest.name == NULL ? contest.cost : INFINITY;
  contest_offer_planners(&contest, PLAN_AUTO);
  lean_offer(&contest);
  if (c->search.of_fitting) {
    search_lean(c, &contest, problem, budget);
    close_problem(c, problem);
  }
  if (contest.fits) c->search.cost = contest.cost;
  // Costs are sums of the same in another order. A plan of which that is not so is none of those of which something is proved.
  if (contest.fits && !contest_is_less(c->search.bound, contest.cost) && !contest_is_less(contest.cost, c->search.bound)) c->search.bound = contest.cost;
  if (contest.fits && !c->by_sum) refine(&refinement, &c->search);
  c->search.how = how(c, &contest, c->search.refined ? INFINITY : found, finer, too_large);
  return end_contest(c, &contest);
}
