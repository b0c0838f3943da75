// decompose: a contraction that reads through windows becomes a packing and a plain contraction.
//
// Requires: autodiff has run. Guarantees: every sum of a product of two large tensors reads them at plain dimensions, so
// that it is a matrix product for a library; large scalar reductions are done in two steps, so that they fill a GPU.
//
//   y[n, co, p, q] = sum(ci, r, s) (x[n, ci, p + r, q + s] * f[co, ci, r, s])
// becomes
//   x.pack[n, ci, r, s, p, q] = x[n, ci, p + r, q + s]
//   y[n, co, p, q] = sum(ci, r, s) (x.pack[n, ci, r, s, p, q] * f[co, ci, r, s])
//
// Where an operand has rows, or what is summed over, in another order than the result, or the other operand, a copy of it has them
// in that order: one product of large matrices then takes the place of many of small ones.
//   y[b, t, u] = sum(c) (x[t, b, c] * w[u, c])
// becomes
//   x.arranged[b, t, c] = x[t, b, c]
//   y[b, t, u] = sum(c) (x.arranged[b, t, c] * w[u, c])
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
  Op packing = {.kind = OP_COMPUTE, .phase = op->phase, .name = "pack", .layer = op->layer, .shard = op->shard, .origin = op->origin, .loc = op->loc};
  packing.n_dims = packing.n_out = access_packing_order(graph, op, access, outer, dims);
  double elements = 1;
  for (int j = 0; j < packing.n_out; j++) elements *= (double)op->dims[dims[j]].extent;
  if (packing.n_out > IR_MAX_RANK || elements > (double)GRAPH_MAX_ELEMENTS) return access;
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

// ---- order of dimensions -----------------------------------------------------------------------------------------

typedef struct Dims {
  int at[IR_MAX_DIMS], len;
  double points, largest;
} Dims;

static bool uses(const Expr *access, int dim) {
  for (int i = 0; i < access->access.rank; i++)
    if (index_uses(&access->access.index[i], dim)) return true;
  return false;
}

typedef enum DimKind { SHARED, ROWS, SUMMED } DimKind; // in both operands and the result; in one of them and the result; in both

// The dimensions of a kind that an access has, in its order; those of extent 1 are none.
static Dims dims_of_kind(const Op *op, const Expr *access, const Expr *other, DimKind kind) {
  Dims dims = {.points = 1};
  for (int i = 0; i < access->access.rank; i++) {
    const int d = index_plain_dim(&access->access.index[i]);
    if (d < 0 || op->dims[d].extent == 1) continue;
    if ((d >= op->n_out ? SUMMED : uses(other, d) ? SHARED : ROWS) != kind) continue;
    const double extent = (double)op->dims[d].extent;
    dims.at[dims.len++] = d;
    dims.points *= extent;
    dims.largest = extent > dims.largest ? extent : dims.largest;
  }
  return dims;
}

static bool ascend(const Dims *dims) {
  for (int i = 1; i < dims->len; i++)
    if (dims->at[i] < dims->at[i - 1]) return false;
  return true;
}

static bool same_order(const Dims *a, const Dims *b) {
  return a->len == b->len && memcmp(a->at, b->at, sizeof *a->at * (size_t)a->len) == 0;
}

static void sort(Dims *dims) {
  for (int i = 1; i < dims->len; i++)
    for (int k = i; k > 0 && dims->at[k - 1] > dims->at[k]; k--) {
      const int swap = dims->at[k];
      dims->at[k] = dims->at[k - 1];
      dims->at[k - 1] = swap;
    }
}

static bool ends_with(const Expr *access, const Dims *dims) {
  for (int i = access->access.rank - 1; i >= 0; i--) {
    const int d = index_plain_dim(&access->access.index[i]);
    for (int k = 0; d >= 0 && k < dims->len; k++)
      if (dims->at[k] == d) return true;
    if (d >= 0) return false;
  }
  return false;
}

// A copy of an operand with its rows in the order of the result, and what is summed over in that of the other operand.
static const Expr *arrange(Graph *graph, const Op *op, const Expr *access, const Expr *other) {
  Dims order[3] = {dims_of_kind(op, access, other, SHARED), dims_of_kind(op, access, other, ROWS),
                   dims_of_kind(op, other, access, SUMMED)};
  Op copy = {.kind = OP_COMPUTE, .phase = op->phase, .name = "arrange", .layer = op->layer, .shard = op->shard, .origin = op->origin, .loc = op->loc};
  Index by[IR_MAX_DIMS], index[IR_MAX_RANK];
  sort(&order[1]);
  if (!ends_with(access, &order[2])) { // neighbours in memory stay neighbours
    const Dims rows = order[1];
    order[1] = order[2];
    order[2] = rows;
  }
  for (int d = 0; d < op->n_dims; d++) by[d] = index_const(0);
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < order[k].len; i++) {
      by[order[k].at[i]] = index_dim(copy.n_out);
      index[copy.n_out] = index_dim(order[k].at[i]);
      copy.dims[copy.n_out++] = op->dims[order[k].at[i]];
    }
  copy.n_dims = copy.n_out;
  copy.body = expr_substitute(graph->arena, access, by, op->n_dims);
  const int tensor = graph_add_compute(
      graph, copy, arena_printf(graph->arena, "%s.arranged", graph_tensor(graph, access->access.tensor)->name));
  return expr_access(graph->arena, tensor, access->type, copy.n_out, index, 0);
}

// Is a copy cheaper than products of parts? A product of few rows reads all of the other matrix for them, one that sums over
// little reads and writes all of the result.
static void arrange_operands(Graph *graph, const Op *op, const Expr **operand) {
  for (int i = 0; i < 2; i++) {
    const Dims rows = dims_of_kind(op, operand[i], operand[1 - i], ROWS), cols = dims_of_kind(op, operand[1 - i], operand[i], ROWS);
    if (!ascend(&rows) && rows.largest < cols.points) operand[i] = arrange(graph, op, operand[i], operand[1 - i]);
  }
  const Dims a = dims_of_kind(op, operand[0], operand[1], SUMMED), b = dims_of_kind(op, operand[1], operand[0], SUMMED);
  if (same_order(&a, &b)) return;
  const double rows = dims_of_kind(op, operand[0], operand[1], ROWS).points, cols = dims_of_kind(op, operand[1], operand[0], ROWS).points;
  const int smaller = rows <= cols ? 0 : 1;
  if (a.largest < (smaller == 0 ? cols : rows)) operand[smaller] = arrange(graph, op, operand[smaller], operand[1 - smaller]);
}

static void decompose_contraction(Graph *graph, Op *op) {
  Contraction c;
  if (!contraction_match(graph, op, &c) || !contraction_is_large(op, &c)) return;
  const Expr *operand[2] = {c.a, c.b};
  if (access_is_plain(graph, op, c.a) && access_is_plain(graph, op, c.b)) arrange_operands(graph, op, operand);
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
  const int n = graph->ops.len;
  const Op *old = graph_renew_ops(graph, n + n / 4 + 8);
  for (int i = 0; i < n; i++) {
    Op op = old[i];
    if (op.kind == OP_COMPUTE && op.reduce != REDUCE_NONE) {
      decompose_contraction(graph, &op);
      split_scalar_reduction(graph, &op);
    }
    graph_add_op(graph, op);
  }
}
