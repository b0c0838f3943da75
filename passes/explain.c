#include "explain.h"

#include "evaluate.h"
#include "explaining.h"
#include "search/problem.h"

enum { BUDGET = 50 * 1000 * 1000 }; // entries of tables of the search for a runner-up

// ---- what is meant -------------------------------------------------------------------------------------------------

static void mean(bool *meant, int group) {
  if (group >= 0) meant[group] = true;
}

// The tensor of the loss or metric of this name, or NULL.
static const char *find_scalar(const Graph *train, const char *name) {
  const Scalar *found = NULL;
  for (int i = 0; i < train->losses.len; i++)
    if (str_eq(train->losses.at[i].name, name)) found = &train->losses.at[i];
  for (int i = 0; i < train->metrics.len; i++)
    if (str_eq(train->metrics.at[i].name, name)) found = &train->metrics.at[i];
  return found != NULL ? graph_tensor(train, found->tensor)->name : NULL;
}

// Says what is wrong with a name that nothing has: that it is another name of an operator's result, or the same as of a line of a plan.
static void refuse(const Explainer *e, const char *name, Problems *problems) {
  const char *result = find_scalar(e->c->model->train, name);
  if (result != NULL && !str_eq(result, name)) {
    problem_add(problems, (Loc){0}, "'%s' is no operator or layer; the operator that makes it is '%s'", name, result);
    return;
  }
  Plan line = {.model = e->c->model->name, .mesh = e->c->mesh};
  Mesh mesh = e->c->mesh;
  mesh.axis[mesh.n_axes++] = (MeshAxis){"batch", 1};
  vec_push(e->arena, &line.lines, (PlanLine){.subject = PLAN_NAME, .name = name});
  const Planner p = planner_new(e->arena, e->c->model, &line, &mesh);
  plan_check(&p, problems);
  if (problems->list.len == 0) problem_add(problems, (Loc){0}, "'%s' follows what it reads: nothing is chosen for it", name);
}

// By group: whether the name means it.
static const bool *find_meant(const Explainer *e, const char *name) {
  const Graph *train = e->c->model->train;
  bool *meant = NEW_ARRAY(e->arena, bool, e->groups.list.len + 1);
  const int tensor = names_get(&train->tensor_names, name), layer = names_get(&e->planner.layers, name);
  if (tensor >= 0) mean(meant, e->groups.of_tensor[tensor]);
  if (tensor >= 0 || layer < 0) return meant;
  const PlanLayer *of = &e->planner.layer_list.at[layer];
  for (int i = 0; i < of->ops.len; i++)
    if (of->ops.at[i].graph == train) mean(meant, e->groups.of_op[of->ops.at[i].op]);
  for (int i = 0; i < of->stored.len; i++) mean(meant, e->groups.of_tensor[of->stored.at[i]]);
  return meant;
}

// ---- the runner-up -------------------------------------------------------------------------------------------------

typedef struct Other {
  const Explainer *e;
  int group;
} Other;

static Candidates all_others(const void *ctx, Arena *arena, const Groups *groups, int number, const Mesh *mesh) {
  const Other *other = ctx;
  Candidates all = problem_all_candidates(NULL, arena, groups, number, mesh), others = {0, NULL};
  if (number != other->group) return all;
  others.list = NEW_ARRAY(arena, Candidate, all.n);
  for (int i = 0; i < all.n; i++)
    if (!explain_is_chosen(other->e, number, &all.list[i])) others.list[others.n++] = all.list[i];
  return others;
}

// The best plan in which the group does something else.
static void search_runner_up(const Explainer *e, int number, ExplainedGroup *g) {
  Arena *arena = arena_new();
  const Other other = {e, number};
  const ProblemSpace space = {.unit = SEARCH_SECONDS, .parts = GROUPS_BY_DIMS, .candidates = all_others, .ctx = &other};
  const Compilation *copy = evaluate_copy(e->c, &e->whole.plan, arena);
  const bool others = all_others(&other, arena, &e->groups, number, &e->c->mesh).n > 0;
  cost_mark_inlined(copy->model->train);
  const SearchProblem *problem = others ? problem_new(arena, copy->model, &e->c->mesh, e->c->machine, &space) : NULL;
  if (problem != NULL) {
    const CfnSolution solution = cfn_solve(&problem->cfn, BUDGET, NULL);
    if (!solution.feasible) fatal("explain: every operator can be on every rank, but no plan was found");
    const Plan plan = problem_plan(problem, solution.value);
    const Search search = {.done = true, .cost = solution.cost, .bound = solution.bound, .of_step = true, .mesh = e->c->mesh};
    g->runner_up = outcome_of(e->c, PLAN_AUTO, &plan, NULL, &search, 0);
    g->runner_up_choice = explain_candidate_text(e, number, &problem->of[number].list[solution.value[number]]);
  }
  arena_free(arena);
}

// ---- all of it -----------------------------------------------------------------------------------------------------

static Explainer explainer_new(const Compilation *c, const Plan *plan) {
  Arena *arena = c->arena;
  Explainer e = {.arena = arena};
  Compilation *own = NEW(arena, Compilation), *planned = evaluate_copy(c, plan, arena);
  Plan *nothing = NEW(arena, Plan);
  *own = *c;
  own->mesh = plan->mesh;
  *nothing = (Plan){.model = c->model->name};
  e.c = own;
  e.planner = planner_new(arena, c->model, nothing, &own->mesh);
  pipeline[pipeline_find("plan")].run(planned);
  e.planned = planned;
  if (planned->problems.list.len > 0) return e;
  e.whole = plan_write_whole(planned);
  Compilation *applied = evaluate_copy(own, &e.whole.plan, arena);
  pipeline[pipeline_find("plan")].run(applied);
  pipeline[pipeline_find("apply-plan")].run(applied);
  e.applied = applied;
  return e;
}

Explanation explain_plan(const Compilation *c, const Plan *plan, const char *name, bool candidates,
                         Problems *problems) {
  Explanation explanation = {.compilation = c, .planner = plan_source_text(c->arena, &c->plan_source)};
  const bool searched = c->plan_source.kind == PLAN_AUTO;
  Explainer e = explainer_new(c, plan);
  if (e.applied == NULL) {
    *problems = e.planned->problems;
    return explanation;
  }
  const Groups whole = groups_of_graph(&e.planner);
  e.groups = groups_in_parts(&whole, GROUPS_BY_DIMS);
  explanation.step = e.applied->predicted.step;
  if (c->machine->profile != NULL) explanation.profile = profile_use(e.applied);
  const bool *meant = find_meant(&e, name);
  for (int g = 0; g < e.groups.list.len; g++) {
    ExplainedGroup explained = {0};
    if (!meant[g]) continue;
    explain_group(&e, g, &explained);
    if (candidates || !searched) explain_candidates(&e, g, &explained);
    if (searched) search_runner_up(&e, g, &explained);
    vec_push(c->arena, &explanation.groups, explained);
  }
  if (explanation.groups.len == 0) refuse(&e, name, problems);
  return explanation;
}
