// decompose: a contraction that reads through windows becomes a packing and a plain contraction.
//
// Requires: autodiff has run. Guarantees: every sum of a product of two large tensors reads them at plain dimensions, so
// that it is a matrix product for a library; large scalar reductions are done in two steps, so that they fill a GPU.
//
//   y[n, co, p, q] = sum(ci, r, s) (x[n, ci, p + r, q + s] * f[co, ci, r, s])
// becomes
//   x.pack[n, ci, r, s, p, q] = x[n, ci, p + r, q + s]
//   y[n, co, p, q] = sum(ci, r, s) (x.pack[n, ci, r, s, p, q] * f[co, ci, r, s])
#include "contraction.h"
#include "passes.h"
#include "rewrite.h"

// Dimensions of the output, and those that the access reads whole and plainly, lie outside of a window.
static void outer_dims(const Graph *graph, const Op *op, const Expr *access, bool *outer) {
  for (int d = 0; d < op->n_dims; d++) outer[d] = d < op->n_out;
  for (int i = 0; i < access->access.rank; i++) {
    const int d = access_full_dim(graph, op, access, i);
    if (d >= 0) outer[d] = true;
  }
}

static const Expr *pack(Graph *graph, Op *op, const Expr *access) {
  int dims[IR_MAX_DIMS];
  bool outer[IR_MAX_DIMS];
  outer_dims(graph, op, access, outer);
  Op packing = {.kind = OP_COMPUTE, .phase = op->phase, .name = "pack", .layer = op->layer, .shard = op->shard, .loc = op->loc};
  packing.n_dims = packing.n_out = access_packing_order(graph, op, access, outer, dims);
  if (packing.n_out > IR_MAX_RANK) return access;
  Index by[IR_MAX_DIMS], index[IR_MAX_RANK];
  for (int d = 0; d < op->n_dims; d++) by[d] = index_const(0);
  for (int j = 0; j < packing.n_out; j++) {
    by[dims[j]] = index_dim(j);
    packing.dims[j] = op->dims[dims[j]];
    index[j] = index_dim(dims[j]);
  }
  packing.body = expr_substitute(graph->arena, access, by, op->n_dims);
  const int tensor = graph_add_compute(
      graph, packing, arena_printf(graph->arena, "%s.pack", graph_tensor(graph, access->access.tensor)->name));
  return expr_access(graph->arena, tensor, access->type, packing.n_out, index, 0);
}

static void decompose_contraction(Graph *graph, Op *op) {
  Contraction c;
  if (!contraction_match(graph, op, &c) || !contraction_is_large(op, &c)) return;
  const Expr *operand[2] = {c.a, c.b};
  for (int i = 0; i < 2; i++)
    if (!access_is_plain(graph, op, operand[i])) operand[i] = pack(graph, op, operand[i]);
  if (operand[0] == c.a && operand[1] == c.b) return;
  op->body = expr_call(graph->arena, FN_mul, operand[0], operand[1], NULL);
  if (c.alpha != 1) op->body = expr_call(graph->arena, FN_mul, expr_real(graph->arena, c.alpha), op->body, NULL);
}

// sum(i, j) of many elements into a scalar: first over j, then over i.
static void split_scalar_reduction(Graph *graph, Op *op) {
  double points = 1;
  for (int d = 0; d < op->n_dims; d++) points *= (double)op->dims[d].extent;
  if (op->n_out > 0 || op->n_dims < 2 || points < 4096 || op->reduce == REDUCE_ARGMAX) return;
  Op inner = *op;
  inner.n_out = 1;
  const int tensor = graph_add_compute(
      graph, inner, arena_printf(graph->arena, "%s.rows", graph_tensor(graph, op->out)->name));
  op->n_dims = 1;
  op->body = access_plain(graph, tensor, 0);
}

void pass_decompose(Graph *graph) {
  const Op *old = graph->ops.at;
  const int n = graph->ops.len;
  graph->ops.at = NULL;
  graph->ops.len = graph->ops.cap = 0;
  for (int i = 0; i < n; i++) {
    Op op = old[i];
    if (op.kind == OP_COMPUTE && op.reduce != REDUCE_NONE) {
      decompose_contraction(graph, &op);
      split_scalar_reduction(graph, &op);
    }
    graph_add_op(graph, op);
  }
}
