// plan: the plan "data".
//
// Requires: decomposed graphs. Guarantees: every operator has a sharding, every input a layout.
//
// The batch, the first dimension of every input, is cut over each axis; an operator splits the dimension through which it
// reads the batch, so that a sum over it gives partial results. What reads no batch is replicated:
//   y[n, co] = sum(ci) x[n, ci] * w[co, ci]             n/data
//   w.grad[co, ci] = sum(n) y.grad[n, co] * x[n, ci]    n/data, a partial sum
#include "passes.h"
#include "sharding.h"

typedef struct Vote {
  const Graph *graph;
  const Op *op;
  int axis;
  int dim;
  int64_t unit;
} Vote;

static void vote(void *ctx, int tensor) {
  Vote *v = ctx;
  const AxisLayout layout = graph_tensor(v->graph, tensor)->layout.axis[v->axis];
  if (v->dim >= 0 || layout.kind != LAYOUT_SHARD) return;
  const int dim = sharding_dim_of(v->graph, v->op, tensor, layout.dim);
  if (dim < 0 || (dim >= v->op->n_out && v->op->reduce == REDUCE_ARGMAX)) return;
  v->dim = dim;
  v->unit = layout.unit;
}

static void plan_op(Graph *graph, Op *op, const Mesh *mesh) {
  op->sharding = sharding_replicate();
  for (int a = 0; a < mesh->n_axes && (op->kind == OP_COMPUTE || op->kind == OP_OPAQUE); a++) {
    Vote v = {graph, op, a, -1, 1};
    op_visit_reads(op, vote, &v);
    op->sharding.dim[a] = v.dim;
    op->sharding.unit[a] = v.unit;
  }
  // What comes out partial is reduced before anybody reads it.
  for (int r = 0; r < op_results(op); r++) {
    Layout layout = sharding_result(graph, op, r, mesh);
    for (int a = 0; a < mesh->n_axes; a++)
      if (layout.axis[a].kind == LAYOUT_PARTIAL) layout.axis[a].kind = LAYOUT_REPLICATED;
    graph_tensor(graph, op_result(op, r))->layout = layout;
  }
}

void pass_plan_data(Graph *graph, const Mesh *mesh) {
  for (int t = 0; t < graph->tensors.len; t++) {
    Tensor *tensor = graph_tensor(graph, t);
    tensor->layout = layout_replicated();
    if (tensor->role != ROLE_INPUT || tensor->rank == 0) continue;
    for (int a = 0; a < mesh->n_axes; a++) tensor->layout.axis[a] = (AxisLayout){LAYOUT_SHARD, 0, 1, 0};
  }
  for (int i = 0; i < graph->ops.len; i++) plan_op(graph, &graph->ops.at[i], mesh);
}
