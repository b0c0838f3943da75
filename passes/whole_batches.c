// Which evaluation graphs can do with a batch that is not full.
//
// The last batch of an evaluation has as many samples as are left. That is right where every operator goes along the batch
// with a dimension of its own, which then ends with the last sample:
//   y[n, co] = sum(ci) x[n, ci] * w[co, ci]        n samples, however many they are
// An operator that reads other samples for one, or a fixed number of them, needs a whole batch:
//   s[i, j] = sum(k) a[i, k] * c[j, k]             i ends with the batch, j does not
//   d[n] = x[n, 0] - x[n - 1, 0]
#include "passes.h"
#include "rewrite.h"

typedef struct Reader {
  const Graph *graph;
  const Op *op;
  int axis;   // of the batch
  bool whole; // reads more than it goes along with
} Reader;

// The dimension of a tensor that is the batch, or -1.
static int batch_dim(const Graph *graph, int tensor, int axis) {
  const AxisLayout *layout = &graph_tensor(graph, tensor)->layout->axis[axis];
  return layout->kind == LAYOUT_SHARD ? layout->dim : -1;
}

static void check_access(void *ctx, const Expr *e) {
  Reader *r = ctx;
  if (e->kind != EXPR_ACCESS) return;
  const int i = batch_dim(r->graph, e->access.tensor, r->axis);
  if (i < 0) return;
  const int dim = access_full_dim(r->graph, r->op, e, i);
  r->whole |= dim < 0 || dim != r->op->sharding.dim[r->axis];
}

static bool call_reads_whole(const Reader *r) {
  for (int a = 0; a < r->op->opaque->n_args; a++) {
    const OpaqueArg *arg = &r->op->opaque->args[a];
    const int i = arg->tensor >= 0 && !arg->written ? batch_dim(r->graph, arg->tensor, r->axis) : -1;
    if (i >= 0 && (arg->dim[i] < 0 || arg->dim[i] != r->op->sharding.dim[r->axis])) return true;
  }
  return false;
}

static bool needs_whole_batch(const Graph *graph, const Op *op, int axis) {
  Reader r = {graph, op, axis, false};
  if (op->kind == OP_OPAQUE) return call_reads_whole(&r);
  if (op->kind == OP_VIEW) return batch_dim(graph, op->in, axis) >= 0 && batch_dim(graph, op->out, axis) < 0;
  expr_visit(op->body, check_access, &r);
  return r.whole;
}

const char *plan_op_place(const Model *model, const Op *op) {
  return arena_printf(model->train->arena, "%s%s%s (%s:%d)", op->layer, op->layer[0] != '\0' ? " " : "", op->name,
                      op->loc.file != NULL ? op->loc.file : model->source, op->loc.line);
}

const char *plan_whole_batches(const Model *model, const Mesh *mesh) {
  const Graph *graph = model->eval;
  for (int i = 0; i < graph->ops.len && model->batch > 1; i++) {
    const Op *op = &graph->ops.at[i];
    if (!needs_whole_batch(graph, op, mesh->n_axes - 1)) continue;
    return plan_op_place(model, op);
  }
  return NULL;
}
