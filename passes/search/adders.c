#include "adders.h"

enum { MOST_READERS = 4 };

typedef struct Sum {
  const Groups *groups;
  int64_t elements; // of its terms
  bool only;        // it is nothing but a sum of tensors that nobody else reads
} Sum;

static void look_at(void *ctx, const Expr *e) {
  Sum *s = ctx;
  if (e->kind != EXPR_ACCESS) {
    s->only &= e->kind == EXPR_CALL && (e->call.fn == FN_add || e->call.fn == FN_sub || e->call.fn == FN_neg);
    return;
  }
  s->only &= e->type == TYPE_REAL && e->access.outside == 0 && plan_is_term(s->groups->planner, s->groups->graph, e->access.tensor);
  s->elements += tensor_elements(graph_tensor(s->groups->graph, e->access.tensor));
}

// Of a tensor that many read the problem counts changes of layout for each reader alone (tables.h). What is left pending is reduced
// once for all of them, which that is far below: nothing would be proved.
static bool few_read(const Groups *groups, int tensor) { return plan_uses(groups->planner, groups->graph, tensor)->ops.len <= MOST_READERS; }

static bool adds_up(const Groups *groups, const Op *op) {
  Sum sum = {groups, 0, op->kind == OP_COMPUTE && (op->reduce == REDUCE_NONE || op->reduce == REDUCE_SUM)};
  if (sum.only) expr_visit(op->body, look_at, &sum);
  return sum.only && sum.elements > tensor_elements(graph_tensor(groups->graph, op->out)) && few_read(groups, op->out);
}

void adders_find(Groups *g) {
  for (int i = 0; i < g->graph->ops.len; i++) {
    if (g->of_op[i] < 0 || g->list.at[g->of_op[i]].tensor >= 0 || !adds_up(g, &g->graph->ops.at[i])) continue;
    vec_push(g->planner->arena, &g->list.at[g->of_op[i]].adders, i);
  }
}
