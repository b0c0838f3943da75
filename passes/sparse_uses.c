// Which gradients are sparse: the scatters that one is the sum of, and what is made of it.
#include "kernel.h"
#include "rewrite.h"
#include "sparse.h"

// ---- terms ---------------------------------------------------------------------------------------------------------

typedef struct Reader {
  Sparse *s;
  int op;
} Reader;

static void note_reader(void *ctx, int tensor) {
  const Reader *r = ctx;
  vec_push(r->s->scratch, &r->s->readers[tensor], r->op);
}

Sparse sparse_new(Graph *graph, Arena *scratch) {
  const int n = graph->tensors.len;
  Sparse s = {.graph = graph, .scratch = scratch, .n_tensors = n, .n_ops = graph->ops.len};
  s.readers = NEW_ARRAY(scratch, OpIds, n);
  s.leaf = graph_leaves(graph, scratch);
  s.of_gradient = NEW_ARRAY(scratch, const Expr *, n);
  s.replaced = NEW_ARRAY(scratch, bool, s.n_ops);
  for (int i = 0; i < s.n_ops; i++) {
    Reader reader = {&s, i};
    op_visit_reads(&graph->ops.at[i], note_reader, &reader);
  }
  return s;
}

static bool uses_outputs(const Op *op, const Expr *e) {
  for (int d = 0; d < op->n_out; d++)
    if (expr_uses_dim(e, d)) return true;
  return false;
}

// A scatter to rows of its result: the row depends on what is summed over alone, and nothing else depends on the row.
static bool is_scatter(const Graph *graph, const Op *op, Arena *arena, Pin *found) {
  Pin pin[IR_MAX_DIMS];
  if (op->kind != OP_COMPUTE || op->accumulates || op->shard != 0 || !kernel_scatters(graph, op)) return false;
  for (int i = op_pins(op, pin) - 1; i >= 0; i--) {
    if (pin[i].dim != 0) continue;
    *found = pin[i];
    return !uses_outputs(op, pin[i].at) && !expr_uses_dim(expr_without_pin(arena, op->body, &pin[i]), 0);
  }
  return false;
}

static bool collect_terms(Sparse *s, int tensor);

// A sum of tensors that nobody else reads.
static bool collect_sum(Sparse *s, const Op *op, const Expr *e) {
  if (e->kind == EXPR_CALL && e->call.fn == FN_add)
    return collect_sum(s, op, e->call.arg[0]) && collect_sum(s, op, e->call.arg[1]);
  if (e->kind != EXPR_ACCESS || !access_is_leading(s->graph, op, e, op->n_out)) return false;
  const int tensor = e->access.tensor;
  return s->readers[tensor].len == 1 && !s->leaf[tensor] && collect_terms(s, tensor);
}

static bool collect_terms(Sparse *s, int tensor) {
  const int producer = graph_tensor(s->graph, tensor)->producer;
  if (producer < 0) return false;
  const Op *op = &s->graph->ops.at[producer];
  Scatter term = {.op = producer};
  if (!is_scatter(s->graph, op, s->scratch, &term.pin))
    return op->kind == OP_COMPUTE && op->reduce == REDUCE_NONE && collect_sum(s, op, op->body);
  int64_t rows = 1;
  for (int d = op->n_out; d < op->n_dims; d++) rows *= op->dims[d].extent;
  s->rows += rows;
  vec_push(s->scratch, &s->terms, term);
  return true;
}

// ---- what is made of the gradient ----------------------------------------------------------------------------------

// NULL, too, of what was made in place of another gradient.
static const Expr *made_of(const Sparse *s, int tensor) { return tensor < s->n_tensors ? s->of_gradient[tensor] : NULL; }

// The parameter, or a state of its optimizer that has an element for each of its elements.
static bool is_stored(const Sparse *s, int tensor) {
  const Tensor *t = graph_tensor(s->graph, tensor), *param = graph_tensor(s->graph, s->param);
  bool same = tensor == s->param || (t->role == ROLE_STATE && t->of == s->param && t->rank == param->rank);
  for (int d = 0; d < param->rank && same; d++) same = t->extent[d] == param->extent[d];
  return same;
}

typedef struct Reading {
  const Sparse *s;
  const Op *op;
  bool gradient, stored, other; // reads something of the gradient; what is stored; anything else that has elements
} Reading;

static void note_access(void *ctx, const Expr *e) {
  Reading *r = ctx;
  if (e->kind != EXPR_ACCESS || e->access.rank == 0) return;
  const int tensor = e->access.tensor;
  const bool same = access_is_leading(r->s->graph, r->op, e, graph_tensor(r->s->graph, r->s->param)->rank);
  if (same && made_of(r->s, tensor) != NULL) r->gradient = true;
  else if (same && is_stored(r->s, tensor)) r->stored = true;
  else r->other = true;
}

static Reading reading_of(const Sparse *s, const Op *op) {
  Reading r = {.s = s, .op = op};
  expr_visit(op->body, note_access, &r);
  return r;
}

static const Expr *expand_leaf(void *ctx, const Expr *e) {
  const Sparse *s = ctx;
  return e->kind == EXPR_ACCESS && made_of(s, e->access.tensor) != NULL ? made_of(s, e->access.tensor) : e;
}

const Expr *sparse_expand(Sparse *s, const Expr *e) { return expr_map(s->scratch, e, expand_leaf, s); }

static const Expr *zero_leaf(void *ctx, const Expr *e) {
  const Sparse *s = ctx;
  return e->kind == EXPR_ACCESS && e->access.tensor == s->gradient ? expr_real(s->scratch, 0) : e;
}

// What it is where the gradient is 0.
static const Expr *elsewhere(Sparse *s, const Expr *value) { return expr_map(s->scratch, value, zero_leaf, s); }

// A new value less the old one of what is stored: w - lr * g gives -(lr * g), without w.
static const Expr *change_of(Sparse *s, const Expr *value, const Expr *old) {
  const int tensor = old->access.tensor;
  if (expr_equal(value, old)) return expr_real(s->scratch, 0);
  const Expr *const *arg = value->call.arg;
  if (value->kind == EXPR_CALL && value->call.fn == FN_sub && !expr_reads(arg[1], tensor))
    return expr_call(s->scratch, FN_sub, change_of(s, arg[0], old), arg[1], NULL);
  for (int i = 0; i < 2 && value->kind == EXPR_CALL && value->call.fn == FN_add; i++)
    if (!expr_reads(arg[i], tensor)) return expr_call(s->scratch, FN_add, change_of(s, arg[1 - i], old), arg[i], NULL);
  if (value->kind == EXPR_CALL && value->call.fn == FN_select)
    return expr_call(s->scratch, FN_select, arg[0], change_of(s, arg[1], old), change_of(s, arg[2], old));
  return expr_call(s->scratch, FN_sub, value, old, NULL);
}

// A new value that is the old one wherever the gradient is 0; false: it is not.
static bool note_update(Sparse *s, int id, const Expr *value) {
  const int stored = graph_stored_from(s->graph, s->graph->ops.at[id].out);
  if (stored < 0 || !is_stored(s, stored)) return false;
  const Expr *old = access_plain(s->graph, stored, 0);
  vec_push(s->scratch, &s->updates, (Update){stored, id, change_of(s, value, old), -1});
  return expr_equal(elsewhere(s, value), old);
}

// Notes what an operator makes of the gradient; false: something for which all of it is needed.
static bool note_use(Sparse *s, int id) {
  const Op *op = &s->graph->ops.at[id];
  if (op->kind != OP_COMPUTE) return false;
  const Reading r = reading_of(s, op);
  if (!r.gradient || r.other) return false;
  const Expr *value = sparse_expand(s, op->body);
  if (op->reduce == REDUCE_SUM && op->n_out == 0 && op->n_dims == graph_tensor(s->graph, s->param)->rank) {
    vec_push(s->scratch, &s->totals, id);
    return !r.stored && expr_is_const(elsewhere(s, value), 0);
  }
  if (op->reduce != REDUCE_NONE || op->phase != PHASE_UPDATE) return false;
  s->of_gradient[op->out] = value;
  return !s->leaf[op->out] || note_update(s, id, value);
}

static bool is_updated(const Sparse *s, int stored) {
  for (int i = 0; i < s->updates.len; i++)
    if (s->updates.at[i].stored == stored) return true;
  return false;
}

// Nobody but the updates reads what is stored once the update begins: its new value is in its place.
static bool is_read_before(const Sparse *s) {
  for (int u = 0; u < s->updates.len; u++) {
    const OpIds *readers = &s->readers[s->updates.at[u].stored];
    for (int i = 0; i < readers->len; i++) {
      const Op *op = &s->graph->ops.at[readers->at[i]];
      if (op->phase == PHASE_UPDATE && made_of(s, op->out) == NULL) return false;
    }
  }
  return is_updated(s, s->param);
}

static void note_gradient(void *ctx, int tensor) {
  Reading *r = ctx;
  r->gradient |= made_of(r->s, tensor) != NULL;
}

static bool collect_uses(Sparse *s) {
  for (int i = graph_tensor(s->graph, s->gradient)->producer + 1; i < s->graph->ops.len; i++) {
    Reading r = {.s = s};
    op_visit_reads(&s->graph->ops.at[i], note_gradient, &r);
    if (r.gradient && !note_use(s, i)) return false;
  }
  return is_read_before(s);
}

bool sparse_analyse(Sparse *s, int gradient) {
  const Graph *graph = s->graph;
  s->gradient = gradient;
  s->param = graph_tensor(graph, gradient)->of;
  s->rows = s->terms.len = s->totals.len = s->updates.len = 0;
  if (!collect_terms(s, gradient) || s->rows > graph_tensor(graph, s->param)->extent[0] / 2) return false;
  memset(s->of_gradient, 0, sizeof *s->of_gradient * (size_t)s->n_tensors);
  s->of_gradient[gradient] = access_plain(graph, gradient, 0);
  return collect_uses(s);
}
