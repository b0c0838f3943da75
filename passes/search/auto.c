// auto: of all assignments of candidates to groups (problem.h) the one whose step costs least, by exact elimination (cfn.h).
#include "problem.h"
#include "search.h"

enum { BUDGET = 50 * 1000 * 1000 }; // entries of tables: some seconds

Plan search_auto(Compilation *c) {
  const ProblemSpace all = {SEARCH_SECONDS, problem_all_candidates, NULL};
  SearchProblem *problem = problem_new(c->arena, c->model, &c->mesh, c->machine, &all);
  const CfnSolution solution = cfn_solve(&problem->cfn, BUDGET, NULL);
  if (!solution.feasible) fatal("plan: every operator can be on every rank, but no plan was found");
  c->search = (Search){.done = true, .cost = solution.cost, .bound = solution.bound, .approximate = problem->n_approximate, .problem = &problem->cfn};
  return problem_plan(problem, solution.value);
}
