// What a group costs is read from the graph that is lowered: the plan is applied to a copy of the compilation. So is every other way
// to divide the group, by a plan that says of everything else what it does already.
#include "explaining.h"

#include <math.h>
#include <stdlib.h>

#include "evaluate.h"
#include "search/problem.h"

// ---- choices in words ----------------------------------------------------------------------------------------------

static const char *choices_text(Arena *arena, const PlanChoice *axis, const Mesh *mesh) {
  Text text = {.arena = arena};
  plan_print_choices(axis, mesh, &text);
  return text_str(&text);
}

// part 0: what a parameter or input is stored as, or what operators do; 1: what the update of a parameter does.
static const char *part_text(const Explainer *e, const Group *group, const Candidate *candidate, int part) {
  PlanChoice axis[MESH_MAX_AXES] = {{0}};
  for (int a = 0; a < e->c->mesh.n_axes; a++) {
    const int choice = candidate->choice[a];
    axis[a] = (PlanChoice){.kind = CHOICE_REPLICATE};
    if (choice == CANDIDATE_PENDING) axis[a].kind = CHOICE_PENDING;
    if (choice < 0 || (part == 0 && choice >= group->dims.len)) continue;
    const GroupDim *dim = &group->dims.at[choice % group->dims.len];
    axis[a] = (PlanChoice){.kind = CHOICE_SPLIT, .dim = dim->name, .unit = dim->members.at[0].unit};
  }
  return choices_text(e->arena, axis, &e->c->mesh);
}

const char *explain_candidate_text(const Explainer *e, int number, const Candidate *candidate) {
  const Group *group = &e->groups.list.at[number];
  const char *first = part_text(e, group, candidate, 0);
  if (group->kind != GROUP_PARAM) return first;
  const char *update = part_text(e, group, candidate, 1);
  return str_eq(first, update) ? first : arena_printf(e->arena, "store %s, update %s", first, update);
}

static const char *axes_text(const Explainer *e, uint32_t axes) { return mesh_axes_text(e->arena, &e->c->mesh, axes); }

static const char *dims_text(const Explainer *e, const Group *group) {
  Text text = {.arena = e->arena};
  for (int d = 0; d < group->dims.len; d++)
    text_printf(&text, "%s%s=%lld", d > 0 ? " " : "", group->dims.at[d].name, (long long)group->dims.at[d].extent);
  return text_str(&text);
}

// ---- what is no candidate ------------------------------------------------------------------------------------------

static void exclude(const Explainer *e, ExplainedGroup *g, const char *why) {
  for (int i = 0; i < g->excluded.len; i++)
    if (str_eq(g->excluded.at[i], why)) return;
  vec_push(e->arena, &g->excluded, why);
}

// Dimensions that are never split.
static void exclude_dims(const Explainer *e, const Op *op, ExplainedGroup *g) {
  const Space space = plan_space_of_op(op);
  for (int d = 0; d < space.n_dims; d++) {
    if (space.fixed[d] != NULL) exclude(e, g, arena_printf(e->arena, "%s: %s", space.dims[d].name, space.fixed[d]));
    else if (space.dims[d].extent <= 1) exclude(e, g, arena_printf(e->arena, "%s: has one element", space.dims[d].name));
  }
}

// Axes over which a dimension has too few units, unless some of these axes are too many already.
static void exclude_axes(const Explainer *e, const GroupDim *dim, ExplainedGroup *g) {
  const Mesh *mesh = &e->c->mesh;
  for (uint32_t axes = 1; axes < 1u << mesh->n_axes; axes++) {
    bool least = !group_dim_allows(dim, mesh, axes);
    for (int a = 0; a < mesh->n_axes && least; a++)
      if (axes >> a & 1) least = mesh->axis[a].size > 1 && group_dim_allows(dim, mesh, axes & ~(1u << a));
    if (least)
      exclude(e, g, arena_printf(e->arena, "%s/%s: has %lld units for %d parts", dim->name, axes_text(e, axes), (long long)dim->extent,
                                 mesh_parts(mesh, axes)));
  }
}

static void list_excluded(const Explainer *e, const Group *group, ExplainedGroup *g) {
  for (int i = 0; i < group->ops.len; i++) {
    const Op *op = &e->groups.graph->ops.at[group->ops.at[i]];
    if (op->kind != OP_VIEW) exclude_dims(e, op, g);
    if (op->kind == OP_OPAQUE) exclude(e, g, arena_printf(e->arena, "what '%s' does not name: nothing is known of its inside", op->name));
  }
  for (int d = 0; d < group->dims.len; d++) exclude_axes(e, &group->dims.at[d], g);
  exclude(e, g, "pin: what is placed at one coordinate of an axis is not searched");
}

// ---- what the group does and costs ---------------------------------------------------------------------------------

static int group_of_op(const Explainer *e, const Op *op) {
  return op->kind != OP_RESHARD && op->out < e->groups.graph->tensors.len ? e->groups.of_tensor[op->out] : -1;
}

// Seconds of the operators of a group in a graph that is lowered.
static double own_seconds(const Explainer *e, const Compilation *applied, int group) {
  const Graph *graph = applied->model->train;
  double seconds = 0;
  for (int i = 0; i < graph->ops.len; i++)
    if (group_of_op(e, &graph->ops.at[i]) == group) seconds += cost_of_makings(applied->cost, graph, &graph->ops.at[i]);
  return seconds;
}

static void add_op(const Explainer *e, ExplainedGroup *g, const char *kind, const char *name, int line, double seconds) {
  const char *choice = choices_text(e->arena, e->whole.plan.lines.at[line].axis, &e->c->mesh);
  vec_push(e->arena, &g->ops, (ExplainedOp){kind, name, choice, seconds});
}

static void list_ops(const Explainer *e, int number, ExplainedGroup *g) {
  const Group *group = &e->groups.list.at[number];
  const Graph *before = e->groups.graph, *graph = e->applied->model->train;
  if (group->tensor >= 0)
    add_op(e, g, group->kind == GROUP_INPUT ? "input" : "store", graph_tensor(before, group->tensor)->name,
           e->whole.line_of_tensor[group->tensor], 0);
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    const int was = op->out < before->tensors.len ? graph_tensor(before, op->out)->producer : -1;
    if (group_of_op(e, op) != number || was < 0 || e->whole.line_of_op[was] < 0) continue;
    add_op(e, g, phase_name(op->phase), graph_tensor(graph, op->out)->name, e->whole.line_of_op[was],
           cost_of_makings(e->applied->cost, graph, op));
  }
}

// ---- changes of layout ---------------------------------------------------------------------------------------------

typedef struct Touched {
  const Explainer *e;
  bool *op; // by operator of the graph that is lowered
} Touched;

// The steps that lead to what is read.
static void touch_read(void *ctx, int tensor) {
  const Touched *touched = ctx;
  const Graph *graph = touched->e->applied->model->train;
  for (int op = graph_tensor(graph, tensor)->producer; op >= 0 && graph->ops.at[op].kind == OP_RESHARD;
       op = graph_tensor(graph, graph->ops.at[op].in)->producer)
    touched->op[op] = true;
}

static int root_of(const Graph *graph, int op) {
  int tensor = graph->ops.at[op].in;
  for (int by = graph_tensor(graph, tensor)->producer; by >= 0 && graph->ops.at[by].kind == OP_RESHARD; by = graph_tensor(graph, tensor)->producer)
    tensor = graph->ops.at[by].in;
  return tensor;
}

static void list_changes(const Explainer *e, int number, ExplainedGroup *g) {
  const Graph *graph = e->applied->model->train;
  Touched touched = {e, NEW_ARRAY(e->arena, bool, graph->ops.len)};
  for (int i = 0; i < graph->ops.len; i++)
    if (group_of_op(e, &graph->ops.at[i]) == number) op_visit_reads(&graph->ops.at[i], touch_read, &touched);
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    if (op->kind != OP_RESHARD || op->phase == PHASE_REPORT) continue;
    const int root = root_of(graph, i);
    if (!touched.op[i] && e->groups.of_tensor[root] != number) continue;
    Reshard step;
    const StepCost cost = cost_of_change(e->applied->cost, graph, op, &step);
    const char *level = cost.level < MACHINE_MAX_LEVELS ? e->c->machine->level[cost.level].name : "local";
    vec_push(e->arena, &g->changes, (ExplainedChange){graph_tensor(graph, root)->name, reshard_name(step.kind), axes_text(e, step.axes),
                                                      level, cost.seconds, cost.bytes});
    g->changes_seconds += cost.seconds;
  }
}

void explain_group(const Explainer *e, int number, ExplainedGroup *g) {
  const Group *group = &e->groups.list.at[number];
  g->name = group->name;
  g->dims = dims_text(e, group);
  g->own = own_seconds(e, e->applied, number);
  list_ops(e, number, g);
  list_changes(e, number, g);
  list_excluded(e, group, g);
}

// ---- what else it could do -----------------------------------------------------------------------------------------

// What a stored tensor or input does, as one operator over its dimensions would.
static bool lies_so(const Explainer *e, int tensor, const OpSharding *s) {
  const Tensor *t = graph_tensor(e->planned->model->train, tensor);
  const Layout layout = plan_layout(s, t, &e->c->mesh);
  return reshard_axes(&e->c->mesh, &layout, t->layout) == 0;
}

bool explain_is_chosen(const Explainer *e, int number, const Candidate *candidate) {
  const Group *group = &e->groups.list.at[number];
  const Graph *graph = e->planned->model->train;
  const Mesh *mesh = &e->c->mesh;
  const OpSharding of_tensor = candidate_sharding(group, candidate, -1, mesh);
  if (group->tensor >= 0 && !lies_so(e, group->tensor, &of_tensor)) return false;
  for (int i = 0; i < group->ops.len; i++) {
    const Op *op = &graph->ops.at[group->ops.at[i]];
    const OpSharding s = candidate_sharding(group, candidate, group->ops.at[i], mesh);
    if (plan_has_choice(graph, op) && !plan_same(&s, &op->sharding, mesh)) return false;
  }
  return true;
}

static void say(const Explainer *e, const OpSharding *s, const Space *space, PlanLine *line) {
  for (int a = 0; a < e->c->mesh.n_axes; a++) line->axis[a] = plan_explicit_choice(s, space, a);
}

static void say_of_tensor(const Explainer *e, const Group *group, const Candidate *candidate, int op, int tensor, Plan *plan) {
  const OpSharding s = candidate_sharding(group, candidate, op, &e->c->mesh);
  const Space space = plan_space_of_tensor(graph_tensor(e->groups.graph, tensor));
  say(e, &s, &space, &plan->lines.at[e->whole.line_of_tensor[tensor]]);
}

// The plan in which the group is divided so, and everything else as it is. The optimizer's states lie as the update is divided.
static Plan plan_with(const Explainer *e, const Group *group, const Candidate *candidate, Arena *arena) {
  const Graph *graph = e->groups.graph;
  Plan plan = e->whole.plan;
  vec_own(arena, &plan.lines);
  for (int i = 0; i < group->ops.len; i++) {
    const int op = group->ops.at[i], line = e->whole.line_of_op[op];
    const OpSharding s = candidate_sharding(group, candidate, op, &e->c->mesh);
    const Space space = plan_space_of_op(&graph->ops.at[op]);
    if (line >= 0) say(e, &s, &space, &plan.lines.at[line]);
  }
  if (group->tensor < 0) return plan;
  say_of_tensor(e, group, candidate, -1, group->tensor, &plan);
  const Tensors *kept = &e->planner.kept[group->tensor];
  const int update = group_update(&e->groups, group);
  for (int i = 0; i < kept->len && update >= 0; i++) {
    const int state = kept->at[i];
    if (state != group->tensor && plan_same_shape(graph_tensor(graph, state), graph_tensor(graph, group->tensor)))
      say_of_tensor(e, group, candidate, update, state, &plan);
  }
  return plan;
}

// The training graph alone, which is all that costs.
static Compilation *apply(const Compilation *c, const Plan *plan, Arena *arena) {
  Compilation *copy = evaluate_copy(c, plan, arena);
  copy->model->init = graph_new(arena, c->model->init->name);
  copy->model->eval = graph_new(arena, c->model->eval->name);
  for (int pass = pipeline_find("plan"); pass <= pipeline_find("apply-plan") && copy->problems.list.len == 0; pass++) pipeline[pass].run(copy);
  return copy;
}

static int by_step(const void *a, const void *b) {
  const ExplainedCandidate *x = a, *y = b;
  return x->step != y->step ? (x->step > y->step) - (x->step < y->step) : x->order - y->order;
}

void explain_candidates(const Explainer *e, int number, const double *least, ExplainedGroup *g) {
  const Group *group = &e->groups.list.at[number];
  const Candidates candidates = problem_all_candidates(NULL, e->arena, &e->groups, number, &e->c->mesh);
  for (int i = 0; i < candidates.n; i++) {
    const Candidate *candidate = &candidates.list[i];
    Arena *arena = arena_new();
    const Plan plan = plan_with(e, group, candidate, arena);
    const Compilation *applied = apply(e->c, &plan, arena);
    ExplainedCandidate found = {.choice = explain_candidate_text(e, number, candidate), .chosen = explain_is_chosen(e, number, candidate), .step = INFINITY, .order = i};
    found.least = least != NULL ? least[i] : INFINITY;
    if (applied->problems.list.len == 0) found.step = applied->predicted.step, found.own = own_seconds(e, applied, number);
    vec_push(e->arena, &g->candidates, found);
    arena_free(arena);
  }
  qsort(g->candidates.at, (size_t)g->candidates.len, sizeof *g->candidates.at, by_step);
  for (int i = g->candidates.len - 1; i >= 0; i--)
    if (!g->candidates.at[i].chosen && g->candidates.at[i].step < INFINITY) g->next = &g->candidates.at[i];
}
