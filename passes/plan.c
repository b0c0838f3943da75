// plan: a sharding for every operator.
//
// Requires: decomposed graphs. Guarantees: every operator has a sharding, every input and stored tensor a layout; the same
// stored tensor has the same one in all graphs.
//
// An operator that the plan says nothing about follows its operands: it splits the dimension through which it reads a cut
// one, so that a sum over it gives partial results, and is replicated where it reads none. In the plan "data" the batch,
// the first dimension of every input, is cut over each axis, and everything follows:
//   y[n, co] = sum(ci) x[n, ci] * w[co, ci]             n/data
//   w.grad[co, ci] = sum(n) y.grad[n, co] * x[n, ci]    n/data, a partial sum
//
// The last axis of the mesh is the batch itself, of size 1: what is cut along it has the true length of the batch, which
// for the last one of an evaluation is not known when the program is written.
#include "passes.h"
#include "rewrite.h"
#include "sharding.h"

// ---- following -----------------------------------------------------------------------------------------------------

typedef struct Vote {
  const Graph *graph;
  const Op *op;
  const Mesh *mesh;
  int axis;
  int dim;
  int64_t unit;
} Vote;

static void vote(void *ctx, int tensor) {
  Vote *v = ctx;
  const Tensor *t = graph_tensor(v->graph, tensor);
  const AxisLayout layout = t->layout.axis[v->axis];
  if (v->dim >= 0 || layout.kind != LAYOUT_SHARD || !cut_is_plain(&t->layout.cut[layout.dim], t->extent[layout.dim])) return;
  const int dim = sharding_dim_of(v->graph, v->op, tensor, layout.dim);
  const bool parts = v->mesh->axis[v->axis].size > 1;
  if (dim < 0 || (parts && dim >= v->op->n_out && v->op->reduce == REDUCE_ARGMAX)) return;
  v->dim = dim;
  v->unit = t->layout.cut[layout.dim].scale;
}

// Splits a dimension along an axis, in units that suit every axis that splits it.
static void split(Op *op, int axis, int dim, int64_t unit, const Mesh *mesh) {
  for (int a = 0; a < mesh->n_axes; a++) {
    if (op->sharding.dim[a] != dim || op->sharding.unit[a] == unit) continue;
    const int64_t other = op->sharding.unit[a];
    if (other % unit == 0) unit = other;
    else if (unit % other != 0) return;
    for (int b = 0; b < mesh->n_axes; b++)
      if (op->sharding.dim[b] == dim) op->sharding.unit[b] = unit;
  }
  op->sharding.dim[axis] = dim;
  op->sharding.unit[axis] = unit;
}

static void follow(const Graph *graph, Op *op, int axis, const Mesh *mesh) {
  Vote v = {graph, op, mesh, axis, -1, 1};
  op_visit_reads(op, vote, &v);
  if (v.dim >= 0) split(op, axis, v.dim, v.unit, mesh);
}

// ---- drawing at random ---------------------------------------------------------------------------------------------

// The same number for the same seed, name and axis, whatever graph asks.
static uint64_t draw(const Plan *plan, const char *name, int axis, uint64_t options) {
  uint64_t hash = (plan->seed + 1) * 0x9E3779B97F4A7C15u + (uint64_t)axis * 0xD1B54A32D192ED03u;
  for (; *name != '\0'; name++) hash = (hash ^ (unsigned char)*name) * 0x100000001B3u;
  hash ^= hash >> 32;
  hash *= 0xD6E8FEB86659FD93u;
  hash ^= hash >> 32;
  return hash % options;
}

// Replicate, or one of the dimensions that may be split, or a pin: uniformly.
static Choice draw_choice(const Plan *plan, const char *name, int axis, const int64_t *extent, int n_dims, const Mesh *mesh) {
  int dims[IR_MAX_DIMS], n = 0;
  for (int d = 0; d < n_dims; d++)
    if (extent[d] > 1) dims[n++] = d;
  const int pins = mesh->axis[axis].size > 1 ? mesh->axis[axis].size : 0;
  const int k = (int)draw(plan, name, axis, (uint64_t)(1 + n + pins));
  if (k == 0) return (Choice){.kind = CHOICE_REPLICATE};
  if (k <= n) return (Choice){.kind = CHOICE_SPLIT, .dim = dims[k - 1], .unit = 1};
  return (Choice){.kind = CHOICE_PIN, .pin = k - 1 - n};
}

// ---- inputs and stored tensors -------------------------------------------------------------------------------------

static bool is_stored(const Tensor *t) { return t->role == ROLE_PARAM || t->role == ROLE_STATE; }

static void lay_out(Tensor *t, int axis, Choice choice) {
  if (choice.kind == CHOICE_PIN) t->layout.axis[axis] = (AxisLayout){.kind = LAYOUT_PINNED, .pin = choice.pin};
  if (choice.kind != CHOICE_SPLIT) return;
  t->layout.axis[axis] = (AxisLayout){.kind = LAYOUT_SHARD, .dim = choice.dim};
  t->layout.cut[choice.dim] = cut_plain(t->extent[choice.dim], choice.unit);
}

static void lay_out_source(Tensor *t, const Plan *plan, const Mesh *mesh) {
  const int batch_axis = mesh->n_axes - 1;
  t->layout = layout_replicated();
  for (int a = 0; a < batch_axis; a++) {
    Choice choice = {.kind = CHOICE_REPLICATE};
    if (plan->kind == PLAN_RANDOM) choice = draw_choice(plan, t->name, a, t->extent, t->rank, mesh);
    else if (t->role == ROLE_INPUT) choice = (Choice){.kind = CHOICE_SPLIT, .dim = 0, .unit = 1};
    lay_out(t, a, choice);
  }
  if (t->role == ROLE_INPUT) lay_out(t, batch_axis, (Choice){.kind = CHOICE_SPLIT, .dim = 0, .unit = 1});
}

// ---- operators -----------------------------------------------------------------------------------------------------

// An operator that makes a stored tensor (its initial value) makes it as it lies.
static void plan_as_result(Op *op, const Tensor *out, const Mesh *mesh) {
  for (int a = 0; a < mesh->n_axes; a++) {
    if (out->layout.axis[a].kind == LAYOUT_PINNED) op->sharding.pin[a] = out->layout.axis[a].pin;
    if (out->layout.axis[a].kind == LAYOUT_SHARD) split(op, a, out->layout.axis[a].dim, 1, mesh);
  }
}

static void plan_op(Graph *graph, Op *op, const Plan *plan, const Mesh *mesh) {
  Tensor *out = graph_tensor(graph, op->out);
  op->sharding = sharding_replicate();
  if (is_stored(out)) {
    plan_as_result(op, out, mesh);
    return;
  }
  int64_t extent[IR_MAX_DIMS];
  const int n_dims = op->reduce == REDUCE_ARGMAX ? op->n_out : op->n_dims;
  for (int d = 0; d < op->n_dims; d++) extent[d] = op->dims[d].extent;
  for (int a = 0; a < mesh->n_axes && (op->kind == OP_COMPUTE || op->kind == OP_OPAQUE); a++) {
    Choice choice = {.kind = CHOICE_FOLLOW};
    if (plan->kind == PLAN_RANDOM && a < mesh->n_axes - 1) choice = draw_choice(plan, out->name, a, extent, n_dims, mesh);
    if (choice.kind == CHOICE_FOLLOW) follow(graph, op, a, mesh);
    if (choice.kind == CHOICE_SPLIT) split(op, a, choice.dim, choice.unit, mesh);
    if (choice.kind == CHOICE_PIN) op->sharding.pin[a] = choice.pin;
  }
  // What comes out partial is reduced before anybody reads it.
  for (int r = 0; r < op_results(op); r++) {
    Layout layout = sharding_result(graph, op, r, mesh);
    for (int a = 0; a < mesh->n_axes; a++)
      if (layout.axis[a].kind == LAYOUT_PARTIAL) layout.axis[a].kind = LAYOUT_REPLICATED;
    graph_tensor(graph, op_result(op, r))->layout = layout;
  }
}

void pass_plan(Graph *graph, const Plan *plan, const Mesh *mesh) {
  for (int t = 0; t < graph->tensors.len; t++) {
    Tensor *tensor = graph_tensor(graph, t);
    tensor->layout = layout_replicated();
    if (tensor->role == ROLE_INPUT || is_stored(tensor)) lay_out_source(tensor, plan, mesh);
  }
  for (int i = 0; i < graph->ops.len; i++) plan_op(graph, &graph->ops.at[i], plan, mesh);
}
