// Which results stay in registers: those that one kernel makes and reads, whatever the plan.
//
//   a[n, c] = x[n, c] + b[c]
//   y[n, c] = max(a[n, c], 0)       reads nothing else of a, and nobody else does: a is inlined
// So is a scatter that is added to a table in its place: it is made there.
#include "contraction.h"
#include "cost.h"
#include "rewrite.h"
#include "row_update.h"

typedef struct Readers {
  int *op;    // by tensor: the last operator that reads it
  int *count; // accesses
  int at;
} Readers;

static void note_read(void *ctx, int tensor) {
  Readers *readers = ctx;
  readers->op[tensor] = readers->at;
  readers->count[tensor]++;
}

typedef struct Plain {
  const Graph *graph;
  const Op *op;
  int tensor;
  bool plain;
} Plain;

static void check_plain(void *ctx, const Expr *e) {
  Plain *p = ctx;
  if (e->kind != EXPR_ACCESS || e->access.tensor != p->tensor) return;
  for (int i = 0; i < e->access.rank; i++)
    if (access_full_dim(p->graph, p->op, e, i) < 0) p->plain = false;
}

static double points(const Op *op) {
  double n = 1;
  for (int d = 0; d < op->n_dims; d++) n *= (double)op->dims[d].extent;
  return n;
}

static bool is_inlined(const Graph *graph, const Op *maker, const Op *reader) {
  RowUpdate update;
  if (maker->kind == OP_COMPUTE && maker->reduce == REDUCE_SUM)
    return row_update_match(graph, reader, &update) && update.scatter->access.tensor == maker->out;
  if (maker->kind != OP_COMPUTE || maker->reduce != REDUCE_NONE || reader->kind != OP_COMPUTE) return false;
  if (maker->phase != reader->phase || points(maker) != points(reader) || products_are_for_library(graph, reader))
    return false;
  Plain p = {graph, reader, maker->out, true};
  expr_visit(reader->body, check_plain, &p);
  return p.plain;
}

void cost_mark_inlined(Graph *train) {
  Arena *scratch = arena_new();
  const int n = train->tensors.len;
  Readers readers = {NEW_ARRAY(scratch, int, n), NEW_ARRAY(scratch, int, n), 0};
  const bool *leaves = graph_leaves(train, scratch);
  for (readers.at = 0; readers.at < train->ops.len; readers.at++)
    op_visit_reads(&train->ops.at[readers.at], note_read, &readers);
  for (int t = 0; t < n; t++) {
    Tensor *tensor = graph_tensor(train, t);
    tensor->inlined = tensor->producer >= 0 && readers.count[t] == 1 && !leaves[t] &&
                      is_inlined(train, &train->ops.at[tensor->producer], &train->ops.at[readers.op[t]]);
  }
  arena_free(scratch);
}
