#include "row_update.h"

#include "kernel.h"
#include "rewrite.h"

typedef struct Counting {
  int stored, scatter, result; // tensors
  int others;                  // that read one of them where they should not
  bool behind;                 // the reader is behind the scatter
} Counting;

static void count_other(void *ctx, int tensor) {
  Counting *c = ctx;
  c->others += tensor == c->scatter || tensor == c->result || (tensor == c->stored && c->behind);
}

static bool is_read_by_others(const Graph *graph, const Op *update, const RowUpdate *of) {
  Counting c = {of->stored->access.tensor, of->scatter->access.tensor, update->out, 0, false};
  const int scatter = graph_tensor(graph, c.scatter)->producer;
  for (int i = 0; i < graph->ops.len; i++) {
    c.behind = i > scatter;
    if (&graph->ops.at[i] != update) op_visit_reads(&graph->ops.at[i], count_other, &c);
  }
  return c.others > 0;
}

bool row_update_match(const Graph *graph, const Op *op, RowUpdate *update) {
  if (op->kind != OP_COMPUTE || op->phase != PHASE_UPDATE || op->reduce != REDUCE_NONE) return false;
  if (op->body->kind != EXPR_CALL || op->body->call.fn != FN_add) return false;
  *update = (RowUpdate){op->body->call.arg[0], op->body->call.arg[1]};
  if (update->stored->kind != EXPR_ACCESS || update->scatter->kind != EXPR_ACCESS) return false;
  if (!access_is_leading(graph, op, update->stored, op->n_out) || !access_is_leading(graph, op, update->scatter, op->n_out)) return false;
  const int producer = graph_tensor(graph, update->scatter->access.tensor)->producer;
  if (producer < 0 || graph->ops.at[producer].phase != PHASE_UPDATE || !kernel_scatters(graph, &graph->ops.at[producer])) return false;
  return graph_stored_from(graph, op->out) == update->stored->access.tensor && !is_read_by_others(graph, op, update);
}
