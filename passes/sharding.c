#include "sharding.h"

#include "rewrite.h"

static const AxisLayout replicated = {LAYOUT_REPLICATED, 0, 1, 0};

typedef struct DimSearch {
  const Graph *graph;
  const Op *op;
  int tensor, position; // which dimension of which tensor
  int dim;              // iteration dimension found: -2 none seen yet, -1 none fits
} DimSearch;

static void search_dim(void *ctx, const Expr *e) {
  DimSearch *s = ctx;
  if (e->kind != EXPR_ACCESS || e->access.tensor != s->tensor) return;
  const int dim = access_full_dim(s->graph, s->op, e, s->position);
  s->dim = s->dim == -2 || s->dim == dim ? dim : -1;
}

int sharding_dim_of(const Graph *graph, const Op *op, int tensor, int i) {
  if (op->kind == OP_OPAQUE) {
    for (int a = 0; a < op->opaque->n_args; a++)
      if (op->opaque->args[a].tensor == tensor && op->opaque->args[a].dim[i] >= 0) return op->opaque->args[a].dim[i];
    return -1;
  }
  DimSearch s = {graph, op, tensor, i, -2};
  expr_visit(op->body, search_dim, &s);
  return s.dim;
}

// True if the tensor is read through dimension `dim` anywhere.
static bool reads_through(const Op *op, const Expr *e, int tensor, int dim) {
  if (e->kind == EXPR_ACCESS && e->access.tensor == tensor)
    for (int i = 0; i < e->access.rank; i++)
      if (index_uses(&e->access.index[i], dim)) return true;
  if (e->kind != EXPR_CALL) return false;
  for (int i = 0; i < fn_arity(e->call.fn); i++)
    if (reads_through(op, e->call.arg[i], tensor, dim)) return true;
  return false;
}

static AxisLayout operand_on_axis(const Graph *graph, const Op *op, int tensor, int dim, int64_t unit) {
  const Tensor *t = graph_tensor(graph, tensor);
  if (dim < 0 || !reads_through(op, op->body, tensor, dim)) return replicated;
  for (int i = 0; i < t->rank; i++)
    if (sharding_dim_of(graph, op, tensor, i) == dim) return (AxisLayout){LAYOUT_SHARD, i, unit, 0};
  return replicated;
}

Layout sharding_operand(const Graph *graph, const Op *op, int tensor, const Mesh *mesh) {
  Layout layout = layout_replicated();
  if (op->kind != OP_COMPUTE) {
    // A view reads its operand as it lies, if the result can lie so too.
    const Tensor *in = graph_tensor(graph, tensor), *out = graph_tensor(graph, op->out);
    for (int a = 0; a < mesh->n_axes; a++)
      if (sharding_through_view(in, out, in->layout.axis[a]).kind == LAYOUT_SHARD) layout.axis[a] = in->layout.axis[a];
    return layout;
  }
  for (int a = 0; a < mesh->n_axes; a++)
    layout.axis[a] = operand_on_axis(graph, op, tensor, op->sharding.dim[a], op->sharding.unit[a]);
  return layout;
}

Layout sharding_argument(const Op *op, const OpaqueArg *arg, const Mesh *mesh) {
  Layout layout = layout_replicated();
  for (int a = 0; a < mesh->n_axes; a++) {
    const int dim = op->sharding.dim[a];
    if (dim < 0) continue;
    if (arg->written) layout.axis[a] = (AxisLayout){LAYOUT_PARTIAL, 0, 1, REDUCE_SUM};
    for (int i = 0; i < arg->rank; i++)
      if (arg->dim[i] == dim) layout.axis[a] = (AxisLayout){LAYOUT_SHARD, i, op->sharding.unit[a], 0};
  }
  return layout;
}

static Layout opaque_result(const Op *op, int result, const Mesh *mesh) {
  int a = 0;
  while (op->opaque->args[a].tensor != op_result(op, result) || !op->opaque->args[a].written) a++;
  return sharding_argument(op, &op->opaque->args[a], mesh);
}

Layout sharding_result(const Graph *graph, const Op *op, int result, const Mesh *mesh) {
  if (op->kind == OP_OPAQUE) return opaque_result(op, result, mesh);
  Layout layout = layout_replicated();
  for (int a = 0; a < mesh->n_axes; a++) {
    if (op->kind != OP_COMPUTE) {
      const Tensor *in = graph_tensor(graph, op->in);
      layout.axis[a] = sharding_through_view(in, graph_tensor(graph, op->out), in->layout.axis[a]);
      continue;
    }
    const int dim = op->sharding.dim[a];
    if (dim >= op->n_out) layout.axis[a] = (AxisLayout){LAYOUT_PARTIAL, 0, 1, op->reduce};
    else if (dim >= 0) layout.axis[a] = (AxisLayout){LAYOUT_SHARD, dim, op->sharding.unit[a], 0};
  }
  return layout;
}

// Elements of the dimensions after d up to the end of its group.
static int64_t inner_elements(const Tensor *t, int d, int end) {
  int64_t elements = 1;
  for (int i = d + 1; i < end; i++) elements *= t->extent[i];
  return elements;
}

AxisLayout sharding_through_view(const Tensor *in, const Tensor *out, AxisLayout layout) {
  if (layout.kind != LAYOUT_SHARD) return replicated;
  // Walk both shapes in groups of equal products: [n, t | c] and [n*t | c].
  for (int i = 0, o = 0; i < in->rank && o < out->rank;) {
    int in_end = i + 1, out_end = o + 1;
    int64_t in_size = in->extent[i], out_size = out->extent[o];
    while (in_size != out_size) {
      if (in_size < out_size && in_end < in->rank) in_size *= in->extent[in_end++];
      else if (out_size < in_size && out_end < out->rank) out_size *= out->extent[out_end++];
      else return replicated;
    }
    if (layout.dim >= i && layout.dim < in_end) {
      int first = i; // dimensions of extent 1 before it do not matter
      while (first < layout.dim && in->extent[first] == 1) first++;
      if (first != layout.dim) return replicated;
      while (o + 1 < out_end && out->extent[o] == 1) o++;
      const int64_t unit = layout.unit * inner_elements(in, layout.dim, in_end), inner = inner_elements(out, o, out_end);
      if (unit % inner != 0) return replicated;
      return (AxisLayout){LAYOUT_SHARD, o, unit / inner, 0};
    }
    i = in_end;
    o = out_end;
  }
  return replicated;
}
