#include "explain.h"

#include "evaluate.h"
#include "explaining.h"
#include "search/factors.h"
#include "search/fit.h"

#include <math.h>

enum { BUDGET = 50 * 1000 * 1000 }; // entries of tables of the search for a runner-up

// ---- what is meant -------------------------------------------------------------------------------------------------

static void mean(bool *meant, int group) {
  if (group >= 0) meant[group] = true;
}

// The tensor of the loss or metric of this name, or -1.
static int find_scalar(const Graph *train, const char *name) {
  int found = -1;
  for (int i = 0; i < train->losses.len; i++)
    if (str_eq(train->losses.at[i].name, name)) found = train->losses.at[i].tensor;
  for (int i = 0; i < train->metrics.len; i++)
    if (str_eq(train->metrics.at[i].name, name)) found = train->metrics.at[i].tensor;
  return found;
}

// Says what is wrong with a name that nothing has: that it is another name of an operator's result, or the same as of a line of a plan.
static void refuse(const Explainer *e, const char *name, Problems *problems) {
  const int scalar = find_scalar(e->c->model->train, name);
  const char *maker = scalar >= 0 ? graph_tensor(e->c->model->train, scalar)->name : name;
  if (!str_eq(maker, name)) {
    problem_add(problems, (Loc){0}, "'%s' is no operator or layer; the operator that makes it is '%s'%s", name, maker,
                e->groups.of_tensor[scalar] >= 0 ? "" : ", which follows what it reads: nothing is chosen for it");
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

// ---- what else it could do, the rest along ---------------------------------------------------------------------------

typedef struct Others { // plans in which a group does something else
  Arena *arena;
  SearchProblem *problem; // of plans on the mesh of the plan; NULL: it is too large
} Others;

// On factors of the machine's mesh the plans that auto looks at there.
static Others others_new(const Explainer *e) {
  Others o = {arena_new(), NULL};
  ProblemSpace space = {.unit = SEARCH_SECONDS, .parts = GROUPS_BY_DIMS, .candidates = problem_all_candidates};
  const Mesh *mesh = &e->c->mesh;
  Mesh machine;
  int nearest[2];
  Factors factors;
  const Compilation *copy = evaluate_copy(e->c, &e->whole.plan, o.arena);
  cost_mark_inlined(copy->model->train);
  if (machine_mesh(e->c->machine, mesh_ranks(mesh), &machine, nearest) && mesh->n_axes > machine.n_axes && !e->c->mesh_given) {
    factors = factors_on(o.arena, &machine, mesh);
    space.candidates = factors_candidates;
    space.ctx = &factors;
  }
  o.problem = problem_new(o.arena, copy->model, mesh, e->c->machine, &space);
  return o;
}

// By candidate of a group, what a step of no plan with it takes less than, in seconds; INFINITY: very long. NULL: not known.
static const double *least_of_candidates(const Explainer *e, const Others *o, int number) {
  static const double VERY_LONG = 16; // times the step of the plan
  if (o->problem == NULL) return NULL;
  double *least = NEW_ARRAY(o->arena, double, o->problem->of[number].n);
  return cfn_least(&o->problem->cfn, number, VERY_LONG * e->applied->predicted.step, least) ? least : NULL;
}

// The cost of the candidates that the plan has not chosen; NULL: there is no other.
static const double *cost_of_others(const Explainer *e, const Others *o, int number) {
  const Candidates *all = &o->problem->of[number];
  double *cost = NEW_ARRAY(o->arena, double, all->n);
  bool any = false;
  for (int i = 0; i < all->n; i++) {
    const bool chosen = explain_is_chosen(e, number, &all->list[i]);
    cost[i] = chosen ? INFINITY : o->problem->cfn.variables.at[number].cost[i];
    any |= !chosen;
  }
  return any ? cost : NULL;
}

// What a group does in another plan.
static const char *choice_in(const Explainer *e, const Others *o, const Plan *plan, int number) {
  Explainer other = *e;
  Compilation *planned = evaluate_copy(e->c, plan, o->arena);
  pipeline[pipeline_find("plan")].run(planned);
  other.planned = planned;
  for (int i = 0; i < o->problem->of[number].n; i++)
    if (explain_is_chosen(&other, number, &o->problem->of[number].list[i])) return explain_candidate_text(e, number, &o->problem->of[number].list[i]);
  fatal("explain: a plan that is no assignment of candidates");
}

// The cheapest plan that fits in which the group does something else.
static void search_runner_up(const Explainer *e, const Others *o, int number, ExplainedGroup *g) {
  SearchProblem *p = o->problem;
  CfnVariable *variable = &p->cfn.variables.at[number];
  const double *cost = variable->cost, *of_others = cost_of_others(e, o, number);
  if (of_others == NULL) return;
  variable->cost = of_others;
  Contest contest = contest_new(e->c);
  const CfnSolution solution = problem_solve(p, BUDGET, 5);
  if (!solution.feasible) fatal("explain: every operator can be on every rank, but no plan was found");
  const Plan plan = problem_plan(p->arena, p, solution.value);
  const bool fits = contest_offer(&contest, &plan, NULL) == 0;
  if (!fits) fit_search(&contest, p, footprint_new(p, NULL, e->c->strip_bytes), solution.value, BUDGET);
  variable->cost = cost;
  p->cfn.n_limits = 0;
  g->none_fits = !contest.fits;
  if (!contest.fits) return;
  g->runner_up = contest.cost;
  g->runner_up_choice = fits ? explain_candidate_text(e, number, &p->of[number].list[solution.value[number]]) : choice_in(e, o, &contest.plan, number);
}

// ---- all of it -----------------------------------------------------------------------------------------------------

static Explainer explainer_new(const Compilation *c, const Plan *plan) {
  Arena *arena = c->arena;
  Explainer e = {.arena = arena};
  Compilation *own = NEW(arena, Compilation), *planned = evaluate_copy(c, plan, arena);
  Plan *nothing = NEW(arena, Plan);
  *nothing = (Plan){.model = c->model->name};
  pipeline[pipeline_find("plan")].run(planned);
  e.planned = planned;
  if (planned->problems.list.len > 0) return e;
  *own = planned->plan.microbatches > 1 ? *evaluate_in_microbatches(c, planned->plan.microbatches, arena) : *c;
  own->mesh = plan->mesh;
  e.c = own;
  e.planner = planner_new(arena, own->model, nothing, &own->mesh);
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
  const Others others = searched ? others_new(&e) : (Others){0};
  for (int g = 0; g < e.groups.list.len; g++) {
    ExplainedGroup explained = {0};
    if (!meant[g]) continue;
    explain_group(&e, g, &explained);
    if (candidates || others.problem == NULL) explain_candidates(&e, g, least_of_candidates(&e, &others, g), &explained);
    if (others.problem != NULL) search_runner_up(&e, &others, g, &explained);
    vec_push(c->arena, &explanation.groups, explained);
  }
  if (others.arena != NULL) arena_free(others.arena);
  if (explanation.groups.len == 0) refuse(&e, name, problems);
  return explanation;
}
