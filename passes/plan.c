// plan: a sharding for every operator.
//
// Requires: decomposed graphs; a plan that was read from a file, or none. Guarantees: every operator has a sharding, every
// input and stored tensor a layout; the same stored tensor has the same one in all graphs. Where the plan does not fit the
// model, the problems of the compilation say so.
//
// An operator that the plan says nothing about follows its operands: it splits the dimension through which it reads a cut
// one, so that a sum over it gives partial results; it is pinned with what it reads. Where they say nothing it does what all
// its readers want, and else it is replicated (plan_follow.c). In the plan "data"
// the batch, the first dimension of every input, is cut over each axis, and everything follows:
//   y[n, co] = sum(ci) x[n, ci] * w[co, ci]             n/data
//   w.grad[co, ci] = sum(n) y.grad[n, co] * x[n, ci]    n/data, a partial sum
//
// What the model says itself, by @shard(...), holds against any plan.
//
// The last axis of the mesh is the batch itself, of size 1: what is cut along it has the true length of the batch, which
// for the last one of an evaluation is not known when the program is written.
#include "microbatch.h"
#include "passes.h"
#include "planning.h"
#include "search/search.h"
#include "sharding.h"

// ---- shardings -----------------------------------------------------------------------------------------------------

void plan_split(OpSharding *s, int axis, int dim, int64_t unit, const Mesh *mesh) {
  for (int a = 0; a < mesh->n_axes; a++) {
    if (s->dim[a] != dim || s->unit[a] == unit) continue;
    if (axis == mesh->n_axes - 1) { // the batch is cut by samples, of which the last one may have any number
      s->unit[a] = unit;
      continue;
    }
    const int64_t other = s->unit[a];
    if (other % unit == 0) unit = other;
    else if (unit % other != 0) return;
    for (int b = 0; b < mesh->n_axes; b++)
      if (s->dim[b] == dim) s->unit[b] = unit;
  }
  s->dim[axis] = dim;
  s->unit[axis] = unit;
}

static void take(OpSharding *s, int axis, const Space *space, const PlanChoice *choice, const Mesh *mesh) {
  if (mesh->axis[axis].size == 1 && choice->kind == CHOICE_PIN) return; // there is but one coordinate
  if (choice->kind == CHOICE_SPLIT) plan_split(s, axis, plan_dim(space, choice->dim), choice->unit, mesh);
  if (choice->kind == CHOICE_PIN) s->pin[axis] = choice->pin;
}

bool plan_same(const OpSharding *a, const OpSharding *b, const Mesh *mesh) {
  for (int i = 0; i < mesh->n_axes; i++) {
    if (a->dim[i] != b->dim[i] || a->pin[i] != b->pin[i] || a->pending[i] != b->pending[i]) return false;
    if (a->dim[i] >= 0 && a->unit[i] != b->unit[i]) return false;
  }
  return true;
}

Layout plan_layout(const OpSharding *s, const Tensor *t, const Mesh *mesh) {
  Layout layout = layout_replicated;
  for (int a = 0; a < mesh->n_axes; a++) {
    const int dim = s->dim[a];
    if (s->pin[a] >= 0) layout.axis[a] = (AxisLayout){.kind = LAYOUT_PINNED, .pin = s->pin[a]};
    if (dim < 0) continue;
    layout.axis[a] = (AxisLayout){.kind = LAYOUT_SHARD, .dim = dim};
    layout.cut[dim] = cut_plain(t->extent[dim], s->unit[a]);
  }
  return layout;
}

// ---- operators -----------------------------------------------------------------------------------------------------

OpSharding plan_resolve_op(const Planner *p, const Graph *graph, const Op *op, const PlanChoice *chosen, bool settled) {
  OpSharding s = sharding_replicate();
  const Space space = plan_space_of_op(op);
  const int batch_axis = p->mesh.n_axes - 1;
  for (int a = 0; a < p->mesh.n_axes; a++) {
    const ShardItem *said = a != batch_axis ? plan_shard_item(p, op->shard, &space, a) : NULL;
    const PlanChoice *choice = said != NULL ? &said->choice : &chosen[a];
    if (a != batch_axis && choice->kind == CHOICE_PENDING) s.pending[a] = plan_may_leave_pending(p, graph, op, a);
    else if (a != batch_axis && choice->kind != CHOICE_FOLLOW) take(&s, a, &space, choice, &p->mesh);
    else if (settled && a != batch_axis && plan_copies_whole(p, graph, op, a)) continue;
    else if (!plan_follow_operands(&s, p, graph, op, a) && settled && a != batch_axis) plan_follow_others(&s, p, graph, op, a);
  }
  return s;
}

// Lets a tensor that is whole along an axis lie as something stored does.
static void lie_as(Layout *layout, const OpSharding *stored, const Tensor *t, int axis) {
  const int dim = stored->dim[axis];
  if (stored->pin[axis] >= 0) layout->axis[axis] = (AxisLayout){.kind = LAYOUT_PINNED, .pin = stored->pin[axis]};
  if (dim < 0) return;
  const Cut cut = cut_plain(t->extent[dim], stored->unit[axis]);
  if (layout->cut[dim].units != 0 && memcmp(&layout->cut[dim], &cut, sizeof cut) != 0) return;
  layout->axis[axis] = (AxisLayout){.kind = LAYOUT_SHARD, .dim = dim};
  layout->cut[dim] = cut;
}

// What comes out partial is reduced before anybody reads it: the gradient of a parameter to where the parameter or a state
// of its optimizer is, which the update follows; anything else to all ranks.
static void expect_reduced(const Planner *p, const Graph *graph, const Tensor *t, Layout *layout, int axis) {
  layout->axis[axis] = (AxisLayout){.kind = LAYOUT_REPLICATED};
  if (t->role != ROLE_GRADIENT || t->of < 0) return;
  for (int i = 0; i < p->kept[t->of].len && layout->axis[axis].kind == LAYOUT_REPLICATED; i++) {
    const Tensor *stored = graph_tensor(graph, p->kept[t->of].at[i]);
    if (!plan_same_shape(stored, t)) continue;
    const OpSharding s = plan_stored(p, stored->name);
    lie_as(layout, &s, t, axis);
  }
}

void plan_expect_results(const Planner *p, Graph *graph, const Op *op) {
  for (int r = 0; r < op_results(op); r++) {
    Layout layout = sharding_result(graph, op, r, &p->mesh);
    for (int a = 0; a < p->mesh.n_axes; a++)
      if (axis_is_sum(&layout.axis[a])) expect_reduced(p, graph, graph_tensor(graph, op_result(op, r)), &layout, a);
    graph_set_layout(graph, op_result(op, r), &layout);
  }
}

static void plan_op(const Planner *p, Graph *graph, Op *op, bool settled) {
  const Tensor *out = graph_tensor(graph, op->out);
  op->sharding = sharding_replicate();
  if (plan_is_stored(out)) { // its first value is made as it lies
    op->sharding = plan_stored(p, out->name);
    return;
  }
  if (plan_has_choice(graph, op)) {
    PlanChoice chosen[MESH_MAX_AXES];
    plan_choices_of_op(p, graph, op, chosen);
    op->sharding = plan_resolve_op(p, graph, op, chosen, settled);
  } else {
    for (int a = 0; a < p->mesh.n_axes; a++) plan_follow_operands(&op->sharding, p, graph, op, a);
  }
  plan_expect_results(p, graph, op);
}

// ---- inputs and stored tensors -------------------------------------------------------------------------------------

// The state of an optimizer lies as its parameter; anything else is on every rank.
static void follow_parameter(OpSharding *s, const Planner *p, const Tensor *t, int axis) {
  const Tensor *param = t->of >= 0 ? graph_tensor(p->model->train, t->of) : NULL;
  if (param == NULL || !plan_same_shape(param, t)) return;
  const OpSharding of = plan_stored(p, param->name);
  if (of.dim[axis] >= 0) plan_split(s, axis, of.dim[axis], of.unit[axis], &p->mesh);
  s->pin[axis] = of.pin[axis];
}

OpSharding plan_resolve_tensor(const Planner *p, int tensor, const PlanChoice *chosen) {
  OpSharding s = sharding_replicate();
  const Tensor *t = graph_tensor(p->model->train, tensor);
  const Space space = plan_space_of_tensor(t);
  const int batch_axis = p->mesh.n_axes - 1;
  for (int a = 0; a < batch_axis; a++) {
    const ShardItem *said = plan_shard_item(p, t->shard, &space, a);
    const PlanChoice *choice = said != NULL ? &said->choice : &chosen[a];
    if (choice->kind == CHOICE_FOLLOW) follow_parameter(&s, p, t, a);
    else take(&s, a, &space, choice, &p->mesh);
  }
  if (t->role == ROLE_INPUT) plan_split(&s, batch_axis, 0, 1, &p->mesh);
  return s;
}

OpSharding plan_stored(const Planner *p, const char *name) {
  const int stored = names_get(&p->stored, name);
  if (stored < 0) fatal("plan: '%s' is not in the training graph", name);
  return p->stored_list.at[stored];
}

// Parameters before the states that follow them.
void plan_resolve_stored(Planner *p) {
  const Graph *graph = p->model->train;
  for (int states = 0; states < 2; states++)
    for (int t = 0; t < graph->tensors.len; t++) {
      const Tensor *tensor = graph_tensor(graph, t);
      if ((tensor->role == ROLE_STATE) != (states == 1)) continue;
      if (tensor->role != ROLE_INPUT && !plan_is_stored(tensor)) continue;
      PlanChoice chosen[MESH_MAX_AXES];
      plan_choices_of_tensor(p, t, chosen);
      names_set(&p->stored, tensor->name, p->stored_list.len);
      vec_push(p->arena, &p->stored_list, plan_resolve_tensor(p, t, chosen));
    }
}

// ---- the pass ------------------------------------------------------------------------------------------------------

// Nothing has been found for it along some axis, or something better may be.
static bool is_open(const Planner *p, const Graph *graph, const Op *op) {
  if (plan_is_copy(graph, op)) return true;
  for (int a = 0; a < p->mesh.n_axes - 1; a++)
    if (p->mesh.axis[a].size > 1 && op->sharding.dim[a] < 0 && op->sharding.pin[a] < 0 && !op->sharding.pending[a]) return true;
  return false;
}

void plan_settle(const Planner *p, Graph *graph) {
  for (int t = 0; t < graph->tensors.len; t++) {
    Tensor *tensor = graph_tensor(graph, t);
    tensor->layout = &layout_replicated;
    if (tensor->role != ROLE_INPUT && !plan_is_stored(tensor)) continue;
    const OpSharding stored = plan_stored(p, tensor->name);
    const Layout layout = plan_layout(&stored, tensor, &p->mesh);
    graph_set_layout(graph, t, &layout);
  }
  for (int i = 0; i < graph->ops.len; i++) plan_op(p, graph, &graph->ops.at[i], false);
  for (int i = graph->ops.len - 1; i >= 0; i--)
    if (is_open(p, graph, &graph->ops.at[i])) plan_op(p, graph, &graph->ops.at[i], true);
  for (int i = 0; i < graph->ops.len; i++)
    if (graph->ops.at[i].kind == OP_VIEW) plan_expect_results(p, graph, &graph->ops.at[i]);
}

static void check_unit(const PlanChoice *chosen, const OpSharding *is, int n_axes, Problems *problems) {
  for (int a = 0; a < n_axes - 1; a++) {
    const bool of_batch = is->dim[a] >= 0 && is->dim[a] == is->dim[n_axes - 1];
    if (chosen[a].kind != CHOICE_SPLIT || !of_batch || chosen[a].unit == is->unit[a] || chosen[a].unit == 1) continue;
    if (problems_are_many(problems)) return;
    problem_add(problems, chosen[a].loc, "'%s' is the batch here, which is cut by samples: its unit is %lld", chosen[a].dim,
                (long long)is->unit[a]);
    return;
  }
}

// A unit that was asked for and cannot be had.
static void check_units(const Planner *p, const Graph *graph, Problems *problems) {
  PlanChoice chosen[MESH_MAX_AXES];
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    if (!plan_has_choice(graph, op)) continue;
    plan_choices_of_op(p, graph, op, chosen);
    check_unit(chosen, &op->sharding, p->mesh.n_axes, problems);
  }
  for (int t = 0; t < graph->tensors.len && graph == p->model->train; t++) {
    if (graph_tensor(graph, t)->role != ROLE_INPUT) continue;
    const OpSharding is = plan_stored(p, graph_tensor(graph, t)->name);
    plan_choices_of_tensor(p, t, chosen);
    check_unit(chosen, &is, p->mesh.n_axes, problems);
  }
}

Plan plan_of_source(Compilation *c) {
  if (!plan_source_searched(c->plan_source.kind)) return plan_make(c->arena, c->model, &c->plan_source, &c->mesh, &c->problems);
  const Plan plan = search_plan(c);
  c->mesh = plan.mesh;
  return plan;
}

static bool names_nothing(const Model *model, const PlanLine *line) {
  const Graph *graphs[] = {model->init, model->train, model->eval};
  for (int g = 0; g < 3; g++)
    if ((line->graph == NULL || str_eq(line->graph, graphs[g]->name)) && plan_find_op(graphs[g], line->name) != NULL) return false;
  return line->subject == PLAN_OP;
}

// A plan that was made before the graph was split speaks of gradients as rows, too, which are whole in microbatches.
static void forget_rows(Compilation *c) {
  const Plan made = c->plan;
  c->plan.lines.at = NULL; // others may have the list
  c->plan.lines.len = c->plan.lines.cap = 0;
  for (int i = 0; i < made.lines.len; i++)
    if (!names_nothing(c->model, &made.lines.at[i])) vec_push(c->arena, &c->plan.lines, made.lines.at[i]);
}

// The parts of a batch that the plan asks for, where the graph does not have them yet.
static void split_batch(Compilation *c) {
  const int64_t batch = c->model->batch, number = c->plan.microbatches, is = c->model->train->microbatches;
  if (is > 1) c->plan.microbatches = (int)is;
  if (is > 1 || number <= 1) return;
  if (batch == 0) {
    problem_add(&c->problems, c->plan.microbatches_loc, "a model without inputs has no batch");
  } else if (number > batch || batch % number != 0) {
    problem_add(&c->problems, c->plan.microbatches_loc, "a batch of %lld sample%s does not come in %lld equal microbatches",
                (long long)batch, batch == 1 ? "" : "s", (long long)number);
  } else {
    const bool has_rows = c->model->dense != NULL;
    const char *refusal = microbatch_split(c->model, (int)number);
    if (refusal == NULL && has_rows && c->plan_source.kind != PLAN_FILE) forget_rows(c);
    if (refusal != NULL && c->plan_source.kind == PLAN_RANDOM) c->plan.microbatches = 1;
    else if (refusal != NULL) problem_add(&c->problems, c->plan.microbatches_loc, "the batch cannot come in microbatches: %s", refusal);
  }
}

void pass_plan(Compilation *c) {
  c->problems.arena = c->arena;
  if (c->plan_source.kind < PLAN_FILE) c->plan = plan_of_source(c);
  split_batch(c);
  c->mesh.axis[c->mesh.n_axes++] = (MeshAxis){"batch", 1};
  Arena *scratch = arena_new();
  Planner p = planner_new(scratch, c->model, &c->plan, &c->mesh);
  plan_check(&p, &c->problems);
  plan_resolve_stored(&p);
  plan_settle(&p, c->model->init);
  plan_settle(&p, c->model->train);
  plan_settle(&p, c->model->eval);
  if (c->plan_source.kind == PLAN_FILE) {
    check_units(&p, c->model->train, &c->problems);
    check_units(&p, c->model->eval, &c->problems);
  }
  arena_free(scratch);
}
