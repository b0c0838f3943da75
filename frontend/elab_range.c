// Labels and indices that have more values than what they choose from.
//
//     picked[i] = sum(c) (label[i] == c) * z[i, c]
// takes the element at `label`, and nothing where label lies beyond dimension c. Where the range of the label is known that
// can be told beforehand. A value beyond that the model itself compares the label with, as in label[i] == ignore, says that
// it is meant.
#include <math.h>

#include "elab.h"

typedef struct Choice {
  Elab *e;
  const Graph *graph;
  const Op *op;
} Choice;

// The tensor of integers that an expression reads, plus a constant; -1: it is another one.
static int chosen_by(const Expr *e, double *plus) {
  if (e->kind == EXPR_ACCESS && e->type == TYPE_INT) return e->access.tensor;
  if (e->kind != EXPR_CALL || (e->call.fn != FN_add && e->call.fn != FN_sub)) return -1;
  const Expr *a = e->call.arg[0], *b = e->call.arg[1];
  if (b->kind != EXPR_CONST) return -1;
  *plus += e->call.fn == FN_add ? b->value : -b->value;
  return chosen_by(a, plus);
}

typedef struct Beyond {
  int tensor;
  double most;
  bool named;
} Beyond;

static void note_named(void *ctx, const Expr *e) {
  Beyond *b = ctx;
  if (e->kind != EXPR_CALL || (e->call.fn != FN_eq && e->call.fn != FN_ne)) return;
  for (int side = 0; side < 2; side++) {
    const Expr *read = e->call.arg[side], *value = e->call.arg[1 - side];
    b->named |= read->kind == EXPR_ACCESS && read->access.tensor == b->tensor && value->kind == EXPR_CONST &&
                value->value > b->most;
  }
}

// Whether the graph compares the tensor with a value greater than `most`.
static bool is_named(const Graph *graph, int tensor, double most) {
  Beyond b = {tensor, most, false};
  for (int i = 0; i < graph->ops.len; i++)
    if (graph->ops.at[i].kind == OP_COMPUTE) expr_visit(graph->ops.at[i].body, note_named, &b);
  return b.named;
}

// (label == c) over a dimension that is summed up.
static void check_choice(const Choice *c, const Expr *chooser, const Expr *place) {
  const Op *op = c->op;
  const int dim = place->kind == EXPR_INDEX ? index_plain_dim(place->index) : -1;
  double plus = 0;
  const int tensor = dim >= op->n_out ? chosen_by(chooser, &plus) : -1;
  if (tensor < 0) return;
  const Tensor *t = graph_tensor(c->graph, tensor);
  const double most = (double)t->range - 1 + plus, last = (double)op->dims[dim].extent - 1;
  if (t->range == 0 || most <= last || is_named(c->graph, tensor, last - plus)) return;
  const char *added = plus != 0 ? arena_printf(c->e->arena, " %c %.0f", plus > 0 ? '+' : '-', fabs(plus)) : "";
  elab_error(c->e, op->loc, "%s: '%s'%s has values up to %.0f, but chooses from dimension '%s' of extent %lld",
             op->name, t->name, added, most, op->dims[dim].name, (long long)op->dims[dim].extent);
  diag_note(t->loc, "the values of '%s' are below %lld", t->name, (long long)t->range);
}

// The factors of a term.
static void check_factors(const Choice *c, const Expr *e) {
  if (e->kind != EXPR_CALL) return;
  if (e->call.fn == FN_mul) {
    check_factors(c, e->call.arg[0]);
    check_factors(c, e->call.arg[1]);
  } else if (e->call.fn == FN_eq) {
    check_choice(c, e->call.arg[0], e->call.arg[1]);
    check_choice(c, e->call.arg[1], e->call.arg[0]);
  } else if (e->call.fn == FN_select && expr_is_const(e->call.arg[2], 0)) {
    check_factors(c, e->call.arg[0]);
  }
}

void elab_check_ranges(Elab *e, const Graph *graph) {
  for (int i = 0; i < graph->ops.len; i++) {
    const Choice c = {e, graph, &graph->ops.at[i]};
    if (c.op->kind == OP_COMPUTE && c.op->reduce == REDUCE_SUM) check_factors(&c, c.op->body);
  }
}
