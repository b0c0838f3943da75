// The plan of a compilation, from the shardings that operators and stored tensors have.
//
// An axis is mentioned only where an operator does something else than following would do. The evaluation graph shares the
// lines of the training graph wherever they say the same of its operators.
#include "plan_write.h"

typedef struct Writer {
  Planner planner; // with no lines
  Plan plan;
  Names bare; // operators of the graphs so far: the line that speaks for them in all graphs, or -1
  VEC(int) bare_lines;
} Writer;

PlanChoice plan_explicit_choice(const OpSharding *s, const Space *space, int axis) {
  if (s->pending[axis]) return (PlanChoice){.kind = CHOICE_PENDING};
  if (s->pin[axis] >= 0) return (PlanChoice){.kind = CHOICE_PIN, .pin = s->pin[axis]};
  if (s->dim[axis] < 0) return (PlanChoice){.kind = CHOICE_REPLICATE};
  return (PlanChoice){.kind = CHOICE_SPLIT, .dim = space->dims[s->dim[axis]].name, .unit = s->unit[axis]};
}

typedef OpSharding ResolveFn(const Writer *w, const Graph *graph, int id, const PlanChoice *chosen);

static OpSharding resolve_op(const Writer *w, const Graph *graph, int id, const PlanChoice *chosen) {
  return plan_resolve_op(&w->planner, graph, &graph->ops.at[id], chosen, true);
}

// Without asking the readers.
static OpSharding resolve_leader(const Writer *w, const Graph *graph, int id, const PlanChoice *chosen) {
  return plan_resolve_op(&w->planner, graph, &graph->ops.at[id], chosen, false);
}

static OpSharding resolve_tensor(const Writer *w, const Graph *graph, int id, const PlanChoice *chosen) {
  (void)graph;
  return plan_resolve_tensor(&w->planner, id, chosen);
}

static bool gives(const Writer *w, ResolveFn *resolve, const Graph *graph, int id, const PlanChoice *chosen,
                  const OpSharding *is) {
  const OpSharding found = resolve(w, graph, id, chosen);
  return plan_same(&found, is, &w->planner.mesh);
}

// The choices that give the sharding `is` by `resolve` and by `other`, as few as do; true if there are any.
static bool choose(const Writer *w, ResolveFn *resolve, ResolveFn *other, const Graph *graph, int id, const Space *space,
                   const OpSharding *is, PlanChoice *chosen) {
  memset(chosen, 0, sizeof(PlanChoice) * MESH_MAX_AXES);
  if (gives(w, resolve, graph, id, chosen, is) && gives(w, other, graph, id, chosen, is)) return false;
  for (int a = 0; a < w->plan.mesh.n_axes; a++) chosen[a] = plan_explicit_choice(is, space, a);
  if (!gives(w, resolve, graph, id, chosen, is))
    fatal("plan: a sharding in graph %s cannot be written down", graph->name);
  for (int a = 0; a < w->plan.mesh.n_axes; a++) {
    const PlanChoice kept = chosen[a];
    chosen[a] = (PlanChoice){.kind = CHOICE_FOLLOW};
    if (!gives(w, resolve, graph, id, chosen, is) || !gives(w, other, graph, id, chosen, is)) chosen[a] = kept;
  }
  return true;
}

// ---- stored tensors ------------------------------------------------------------------------------------------------

static void write_tensors(Writer *w, Role role) {
  const Graph *graph = w->planner.model->train;
  for (int t = 0; t < graph->tensors.len; t++) {
    const Tensor *tensor = graph_tensor(graph, t);
    if (tensor->role != role) continue;
    const Space space = plan_space_of_tensor(tensor);
    const OpSharding is = plan_stored(&w->planner, tensor->name);
    PlanLine line = {.subject = role == ROLE_INPUT ? PLAN_INPUT : PLAN_STORE, .name = tensor->name};
    if (choose(w, resolve_tensor, resolve_tensor, graph, t, &space, &is, line.axis)) vec_push(w->planner.arena, &w->plan.lines, line);
  }
}

// ---- operators -----------------------------------------------------------------------------------------------------

// Whether the line that speaks for the operator's name in all graphs says what the operator does. Fills what it chooses.
static bool line_fits(const Writer *w, const Graph *graph, int id, int line, PlanChoice *chosen) {
  const Space space = plan_space_of_op(&graph->ops.at[id]);
  memcpy(chosen, w->plan.lines.at[line].axis, sizeof *chosen * MESH_MAX_AXES);
  for (int a = 0; a < w->plan.mesh.n_axes; a++)
    if (plan_refuses(w->planner.arena, &space, &chosen[a]) != NULL) chosen[a] = (PlanChoice){.kind = CHOICE_FOLLOW};
  return gives(w, resolve_op, graph, id, chosen, &graph->ops.at[id].sharding);
}

// What follows the operator when the plan is read again does not know yet what it does for its readers.
static void expect_of_choices(Writer *w, Graph *graph, int id, const PlanChoice *chosen) {
  Op op = graph->ops.at[id];
  op.sharding = plan_resolve_op(&w->planner, graph, &graph->ops.at[id], chosen, false);
  plan_expect_results(&w->planner, graph, &op);
}

static bool follows_rightly(const Writer *w, const Graph *graph, int id) {
  const PlanChoice follow[MESH_MAX_AXES] = {{.kind = CHOICE_FOLLOW}};
  const OpSharding found = plan_resolve_op(&w->planner, graph, &graph->ops.at[id], follow, false);
  return plan_same(&found, &graph->ops.at[id].sharding, &w->planner.mesh);
}

// True for an operator that could follow its readers, of which some could follow it: it has the line then.
static bool leads(Writer *w, Graph *graph, int id) {
  const PlanChoice follow[MESH_MAX_AXES] = {{.kind = CHOICE_FOLLOW}};
  const int out = graph->ops.at[id].out;
  const Uses *uses = plan_uses(&w->planner, graph, out);
  const Layout *settled = graph_tensor(graph, out)->layout;
  bool leads = false;
  if (follows_rightly(w, graph, id)) return false;
  for (int i = 0; i < uses->ops.len && !leads; i++) {
    const int reader = uses->ops.at[i];
    if (!plan_has_choice(graph, &graph->ops.at[reader]) || !follows_rightly(w, graph, reader)) continue;
    expect_of_choices(w, graph, id, follow);
    leads = !follows_rightly(w, graph, reader);
    graph_tensor(graph, out)->layout = settled;
  }
  return leads;
}

static void write_op(Writer *w, Graph *graph, int id) {
  const Op *op = &graph->ops.at[id];
  const Space space = plan_space_of_op(op);
  const char *name = graph_tensor(graph, op->out)->name;
  PlanLine line = {.subject = plan_is_word(name) ? PLAN_OP : PLAN_NAME, .name = name};
  const int known = names_get(&w->bare, line.name), bare = known >= 0 ? w->bare_lines.at[known] : -1;
  if (bare >= 0 && line_fits(w, graph, id, bare, line.axis)) {
    expect_of_choices(w, graph, id, line.axis);
    return;
  }
  ResolveFn *other = leads(w, graph, id) ? resolve_leader : resolve_op;
  const bool needed = choose(w, resolve_op, other, graph, id, &space, &op->sharding, line.axis) || bare >= 0;
  expect_of_choices(w, graph, id, line.axis);
  if (known < 0) {
    names_set(&w->bare, line.name, w->bare_lines.len);
    vec_push(w->planner.arena, &w->bare_lines, needed ? w->plan.lines.len : -1);
  } else {
    line.graph = graph->name;
  }
  if (needed) vec_push(w->planner.arena, &w->plan.lines, line);
}

// The layouts of the graph's tensors are meanwhile those that operators follow.
static void write_ops(Writer *w, Graph *graph) {
  const Layout **settled = NEW_ARRAY(w->planner.arena, const Layout *, graph->tensors.len);
  for (int t = 0; t < graph->tensors.len; t++) settled[t] = graph_tensor(graph, t)->layout;
  for (int i = 0; i < graph->ops.len; i++) {
    if (plan_has_choice(graph, &graph->ops.at[i])) write_op(w, graph, i);
    else if (graph->ops.at[i].kind == OP_VIEW) plan_expect_results(&w->planner, graph, &graph->ops.at[i]);
  }
  for (int t = 0; t < graph->tensors.len; t++) graph_tensor(graph, t)->layout = settled[t];
}

Plan plan_write(const Compilation *c) {
  const Plan nothing = {.model = c->model->name};
  Planner planned = planner_new(c->arena, c->model, &c->plan, &c->mesh);
  plan_resolve_stored(&planned);
  Writer w = {.planner = planner_new(c->arena, c->model, &nothing, &c->mesh)};
  w.planner.stored = planned.stored;
  w.planner.stored_list = planned.stored_list;
  w.bare.arena = c->arena;
  w.plan.model = c->model->name;
  w.plan.mesh = c->mesh;
  w.plan.microbatches = c->plan.microbatches;
  w.plan.recompute.at = c->plan.recompute.at, w.plan.recompute.len = c->plan.recompute.len;
  w.plan.mesh.n_axes--; // the batch
  write_tensors(&w, ROLE_INPUT);
  write_tensors(&w, ROLE_PARAM);
  write_tensors(&w, ROLE_STATE);
  write_ops(&w, c->model->train);
  write_ops(&w, c->model->eval);
  write_ops(&w, c->model->init);
  return w.plan;
}

// ---- whole plans ---------------------------------------------------------------------------------------------------

static int add_line(Arena *arena, Plan *plan, PlanLine line, const OpSharding *s, const Space *space) {
  for (int a = 0; a < plan->mesh.n_axes; a++) line.axis[a] = plan_explicit_choice(s, space, a);
  vec_push(arena, &plan->lines, line);
  return plan->lines.len - 1;
}

WholePlan plan_write_whole(const Compilation *c) {
  const Graph *graph = c->model->train;
  Planner planner = planner_new(c->arena, c->model, &c->plan, &c->mesh);
  WholePlan w = {.plan = {.model = c->model->name, .mesh = c->mesh, .microbatches = c->plan.microbatches}};
  w.plan.recompute.at = c->plan.recompute.at, w.plan.recompute.len = c->plan.recompute.len;
  w.plan.mesh.n_axes--; // the batch
  w.line_of_op = NEW_ARRAY(c->arena, int, graph->ops.len);
  w.line_of_tensor = NEW_ARRAY(c->arena, int, graph->tensors.len);
  plan_resolve_stored(&planner);
  for (int t = 0; t < graph->tensors.len; t++) {
    const Tensor *tensor = graph_tensor(graph, t);
    w.line_of_tensor[t] = -1;
    if (tensor->role != ROLE_INPUT && !plan_is_stored(tensor)) continue;
    const Space space = plan_space_of_tensor(tensor);
    const OpSharding is = plan_stored(&planner, tensor->name);
    const PlanLine line = {.subject = tensor->role == ROLE_INPUT ? PLAN_INPUT : PLAN_STORE, .name = tensor->name};
    w.line_of_tensor[t] = add_line(c->arena, &w.plan, line, &is, &space);
  }
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    const Space space = plan_space_of_op(op);
    const PlanLine line = {.subject = PLAN_OP, .graph = graph->name, .name = graph_tensor(graph, op->out)->name};
    w.line_of_op[i] = plan_has_choice(graph, op) ? add_line(c->arena, &w.plan, line, &op->sharding, &space) : -1;
  }
  return w;
}
