// auto: of all assignments of candidates to groups (problem.h) the one whose step costs least, by exact elimination (cfn.h), among
// those that fit (fit.h); or the plan of another planner, if that is cheaper: some do what is no candidate.
#include <math.h>

#include "contest.h"
#include "fit.h"
#include "search.h"

enum { BUDGET = 50 * 1000 * 1000 }; // entries of tables: some seconds

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
  return arena_printf(c->arena, "along %s all ranks do the same: %d %s would do", text_str(&text), ranks, ranks == 1 ? "device" : "devices");
}

static const char *how(const Compilation *c, const Contest *contest, double searched) {
  const char *idle = idle_axes(c, &contest->plan);
  if (contest->name == NULL) return idle;
  const char *than = searched < INFINITY ? arena_printf(c->arena, ": what was searched takes %.4g ms", searched * 1e3) : "";
  return arena_printf(c->arena, "the plan is '%s'%s%s%s", contest->name, than, idle != NULL ? "; " : "", idle != NULL ? idle : "");
}

Plan search_auto(Compilation *c) {
  const ProblemSpace all = {SEARCH_SECONDS, false, problem_all_candidates, NULL};
  SearchProblem *problem = problem_new(c->arena, c->model, &c->mesh, c->machine, &all);
  const CfnSolution solution = cfn_solve(&problem->cfn, BUDGET, NULL);
  if (!solution.feasible) fatal("plan: every operator can be on every rank, but no plan was found");
  Contest contest = {.c = c};
  const Plan plan = problem_plan(problem, solution.value);
  const bool fits = contest_offer(&contest, &plan, NULL) == 0;
  const double bound = fits ? solution.bound : fit_search(&contest, problem, solution.value, BUDGET);
  const double searched = contest.fits ? contest.cost : INFINITY;
  contest_offer_planners(&contest, PLAN_AUTO);
  c->search = (Search){.done = true,
                       .cost = contest.fits ? contest.cost : INFINITY,
                       .bound = contest.fits && !contest_is_less(bound, contest.cost) ? contest.cost : bound,
                       .of_fitting = !fits,
                       .approximate = problem->n_approximate,
                       .problem = &problem->cfn,
                       .how = how(c, &contest, searched)};
  return contest.plan;
}
