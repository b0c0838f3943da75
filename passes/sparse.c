// sparse: the gradient of a table as rows.
//
// Requires: a training graph with its gradients, not planned yet. Guarantees: the same losses, norm and updates. A parameter has a
// sparse gradient where that is a sum of scatters to its first dimension (ir/pin.h), as of a table that is read by indices only; where
// everything that is made of it is 0, and the update leaves the parameter as it is, wherever the gradient is 0; and where few rows of
// it are not (is_sparse). It is then never there as a whole:
//
//   backward table.grad[v=50000, c=512] = sum(b=64, t=20) ((word[b, t] == v) * x.grad[b, t, c])
//   update   table.next[v, c] = table[v, c] - lr * table.grad[v, c]
// becomes
//   backward table.grad.rows[row=1280] = view word;  table.grad.values[row=1280, c] = view x.grad
//   backward table.grad.first[row] = argmax(other=1280) select(rows[other] == rows[row], 1, 0)
//   backward table.grad.sums[row, c] = sum(other=1280) ((first[other] == row) * values[other, c])
//   update   table.change[v, c] = sum(row=1280) ((rows[row] == v) * -(lr * sums[row, c]))
//   update   table.next[v, c] = table[v, c] + table.change[v, c]          in the table's own place: sums.c
// What stands in several rows is summed in the first of them, the others are 0, so that the sum of squares over all rows is that of the
// gradient. How rows get to where they are added is left to plans: gathered for every rank's own copy of the table, for ranks that
// store a part of its rows each, or exchanged for ranks that store columns.
#include "../ir/pin.h"
#include "kernel.h"
#include "passes.h"
#include "rewrite.h"
#include "sparse.h"

typedef VEC(int) Ids;

typedef struct Scatter { // a term of the gradient
  int op;
  Pin pin; // of its first dimension
} Scatter;

typedef struct Sparse {
  Graph *graph;
  Arena *scratch;
  Ids *readers;           // by tensor: operators
  bool *leaf;             // by tensor: read by something other than operators
  int reader;             // the operator at hand, when readers are noted
  int param, gradient;    // at hand
  VEC(Scatter) terms;     // of the gradient
  int64_t rows;           // of all of them
  const Expr **of_gradient; // by tensor: what it is of the gradient, element by element; NULL: it is not made of it
  int n_tensors;          // of the graph as it was
  Ids totals;             // operators that sum something over the whole gradient
  int update;             // operator
  const Expr *change;     // of the gradient: what the update adds
} Sparse;

// ---- terms ---------------------------------------------------------------------------------------------------------

static void note_reader(void *ctx, int tensor) {
  Sparse *s = ctx;
  vec_push(s->scratch, &s->readers[tensor], s->reader);
}

// Every index is the operator's dimension at that place.
static bool is_same_element(const Graph *graph, const Op *op, const Expr *access) {
  if (access->access.rank != op->n_out) return false;
  for (int i = 0; i < op->n_out; i++)
    if (access_full_dim(graph, op, access, i) != i) return false;
  return true;
}

static bool uses_outputs(const Op *op, const Expr *e, int from) {
  for (int d = from; d < op->n_out; d++)
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
    return !uses_outputs(op, pin[i].at, 0) && !expr_uses_dim(expr_without_pin(arena, op->body, &pin[i]), 0);
  }
  return false;
}

static bool collect_terms(Sparse *s, int tensor);

// A sum of tensors that nobody else reads.
static bool collect_sum(Sparse *s, const Op *op, const Expr *e) {
  if (e->kind == EXPR_CALL && e->call.fn == FN_add)
    return collect_sum(s, op, e->call.arg[0]) && collect_sum(s, op, e->call.arg[1]);
  if (e->kind != EXPR_ACCESS || !is_same_element(s->graph, op, e)) return false;
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

// Few rows against those of the table; and to find those that are the same, each is held against each, which is to take less than a
// pass over the table: of one of its elements that reads the gradient and reads and writes the parameter.
static bool is_sparse(const Tensor *table, int64_t rows) {
  enum { COMPARISONS = 8 }; // of two numbers in the cache, in the time of that
  return rows <= table->extent[0] / 2 && rows <= COMPARISONS * tensor_elements(table) / rows;
}

// ---- what is made of the gradient ----------------------------------------------------------------------------------

// NULL, too, of what was made in place of another gradient.
static const Expr *made_of(const Sparse *s, int tensor) { return tensor < s->n_tensors ? s->of_gradient[tensor] : NULL; }

typedef struct Reading {
  const Sparse *s;
  const Op *op;
  bool gradient, param, other; // reads something of the gradient; the parameter; elements of anything else
} Reading;

static void note_access(void *ctx, const Expr *e) {
  Reading *r = ctx;
  if (e->kind != EXPR_ACCESS || e->access.rank == 0) return;
  const int tensor = e->access.tensor;
  bool same = e->access.rank == graph_tensor(r->s->graph, r->s->param)->rank;
  for (int i = 0; i < e->access.rank && same; i++) same = access_full_dim(r->s->graph, r->op, e, i) == i;
  if (same && made_of(r->s, tensor) != NULL) r->gradient = true;
  else if (same && tensor == r->s->param) r->param = true;
  else r->other = true;
}

static Reading reading_of(const Sparse *s, const Op *op, const Expr *e) {
  Reading r = {.s = s, .op = op};
  expr_visit(e, note_access, &r);
  return r;
}

static const Expr *expand_leaf(void *ctx, const Expr *e) {
  const Sparse *s = ctx;
  return e->kind == EXPR_ACCESS && made_of(s, e->access.tensor) != NULL ? made_of(s, e->access.tensor) : e;
}

static const Expr *zero_leaf(void *ctx, const Expr *e) {
  const Sparse *s = ctx;
  return e->kind == EXPR_ACCESS && e->access.tensor == s->gradient ? expr_real(s->scratch, 0) : e;
}

// Of the gradient and numbers alone, and 0 where that is 0.
static const Expr *sparse_value(Sparse *s, const Op *op, const Expr *e) {
  const Reading r = reading_of(s, op, e);
  if (!r.gradient || r.param || r.other) return NULL;
  const Expr *value = expr_map(s->scratch, e, expand_leaf, s);
  return expr_is_const(expr_map(s->scratch, value, zero_leaf, s), 0) ? value : NULL;
}

// What an update adds to the parameter; NULL: it is nothing of the kind.
static const Expr *change_of(Sparse *s, const Op *op) {
  if (op->body->kind != EXPR_CALL || (op->body->call.fn != FN_add && op->body->call.fn != FN_sub)) return NULL;
  const Expr *w = op->body->call.arg[0], *h = op->body->call.arg[1];
  if (op->body->call.fn == FN_add && !reading_of(s, op, w).param) w = op->body->call.arg[1], h = op->body->call.arg[0];
  if (w->kind != EXPR_ACCESS || !reading_of(s, op, w).param) return NULL;
  const Expr *change = sparse_value(s, op, h);
  return change == NULL || op->body->call.fn == FN_add ? change : expr_call(s->scratch, FN_neg, change, NULL, NULL);
}

static bool is_stored_to(const Graph *graph, int value, int state) {
  for (int i = 0; i < graph->stores.len; i++)
    if (graph->stores.at[i].value == value) return graph->stores.at[i].state == state;
  return false;
}

// Notes what an operator makes of the gradient; false: something for which all of it is needed.
static bool note_use(Sparse *s, int id) {
  const Op *op = &s->graph->ops.at[id];
  if (op->kind != OP_COMPUTE) return false;
  if (op->reduce == REDUCE_SUM && op->n_out == 0 && op->n_dims == graph_tensor(s->graph, s->param)->rank) {
    vec_push(s->scratch, &s->totals, id);
    return sparse_value(s, op, op->body) != NULL;
  }
  if (op->reduce != REDUCE_NONE || op->phase != PHASE_UPDATE) return false;
  if (!s->leaf[op->out]) return (s->of_gradient[op->out] = sparse_value(s, op, op->body)) != NULL;
  if (s->update >= 0 || !is_stored_to(s->graph, op->out, s->param) || s->readers[op->out].len > 0) return false;
  s->update = id;
  return (s->change = change_of(s, op)) != NULL;
}

// Nobody reads the parameter behind its update, which is then in its place.
static bool is_read_before(const Sparse *s) {
  for (int i = 0; i < s->readers[s->param].len; i++) {
    const int reader = s->readers[s->param].at[i];
    if (reader != s->update && s->graph->ops.at[reader].phase == PHASE_UPDATE) return false;
  }
  return true;
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
  return s->update >= 0 && is_read_before(s);
}

static bool analyse(Sparse *s, int gradient) {
  const Graph *graph = s->graph;
  s->gradient = gradient;
  s->param = graph_tensor(graph, gradient)->of;
  s->update = -1;
  s->rows = s->terms.len = s->totals.len = 0;
  memset(s->of_gradient, 0, sizeof *s->of_gradient * (size_t)s->n_tensors);
  s->of_gradient[gradient] = access_plain(graph, gradient, 0);
  return collect_terms(s, gradient) && is_sparse(graph_tensor(graph, s->param), s->rows) && collect_uses(s);
}

// ---- rows and values -----------------------------------------------------------------------------------------------

static const char *name_of(const Sparse *s, const char *what) {
  return arena_printf(s->graph->arena, "%s.%s", graph_tensor(s->graph, s->gradient)->name, what);
}

// A name that none of the dimensions has.
static const char *free_name(Arena *arena, const Dim *dims, int n, const char *name) {
  const char *unique = name;
  for (int d = 0, number = 2; d < n; d++)
    if (str_eq(dims[d].name, unique)) {
      unique = arena_printf(arena, "%s%d", name, number++);
      d = -1;
    }
  return unique;
}

static Op backward_op(const Op *of) {
  return (Op){.kind = OP_COMPUTE, .phase = PHASE_BACKWARD, .name = of->name, .layer = of->layer, .origin = of->origin, .loc = of->loc};
}

// The row, then the other dimensions of the table; returns their number.
static int row_dims(const Sparse *s, int64_t rows, Dim *dims) {
  const Tensor *table = graph_tensor(s->graph, s->param);
  dims_of_tensor(table, dims);
  dims[0] = (Dim){free_name(s->graph->arena, dims + 1, table->rank - 1, "row"), rows};
  return table->rank;
}

// An expression of a term over what it sums over, then the dimensions of the table but the first (or without them), as a tensor in
// which the former are one, the row.
static int flat(Sparse *s, const Op *term, const Expr *e, bool values, const char *name) {
  Graph *graph = s->graph;
  const int n_sum = term->n_dims - term->n_out;
  Op op = backward_op(term);
  Index by[IR_MAX_DIMS];
  Dim dims[IR_MAX_RANK];
  int64_t rows = 1;
  for (int d = 0; d < IR_MAX_DIMS; d++) by[d] = index_const(0);
  for (int d = term->n_out; d < term->n_dims; d++) {
    by[d] = index_dim(op.n_dims);
    op.dims[op.n_dims++] = term->dims[d];
    rows *= term->dims[d].extent;
  }
  for (int d = 1; d < term->n_out && values; d++) {
    by[d] = index_dim(op.n_dims);
    op.dims[op.n_dims++] = term->dims[d];
  }
  op.n_out = op.n_dims;
  op.body = expr_substitute(graph->arena, e, by, term->n_dims);
  const bool is_there = op.body->kind == EXPR_ACCESS && is_same_element(graph, &op, op.body);
  const int tensor = is_there ? op.body->access.tensor : graph_add_compute(graph, op, name);
  const int rank = row_dims(s, rows, dims);
  return n_sum == 1 ? tensor : graph_add_view(graph, tensor, values ? rank : 1, dims, backward_op(term), name);
}

// Tensors behind each other, along their first dimension.
static int concatenated(const Sparse *s, const Op *near, const int *tensor, int n, const char *name) {
  Graph *graph = s->graph;
  if (n == 1) return tensor[0];
  const int rank = graph_tensor(graph, tensor[0])->rank;
  Op op = backward_op(near);
  op.origin = 0;
  op.n_dims = op.n_out = rank;
  row_dims(s, s->rows, op.dims);
  int64_t from = 0, range = 0;
  bool ranged = true;
  for (int i = 0; i < n; i++) {
    const Tensor *t = graph_tensor(graph, tensor[i]);
    Index index[IR_MAX_RANK];
    for (int d = 0; d < rank; d++) index[d] = index_dim(d);
    index[0].base = -from;
    const Expr *piece = expr_access(graph->arena, tensor[i], t->type, rank, index, 0);
    op.body = i == 0 ? piece : expr_call(graph->arena, FN_add, op.body, piece, NULL);
    from += t->extent[0];
    ranged &= t->range > 0;
    range = max_i64(range, t->range);
  }
  const int all = graph_add_compute(graph, op, name);
  graph_tensor(graph, all)->range = ranged ? range : 0;
  return all;
}

static const Expr *equal(Arena *arena, const Expr *a, const Expr *b) { return expr_call(arena, FN_eq, a, b, NULL); }

static const Expr *at(const Graph *graph, int tensor, int dim) { return access_plain(graph, tensor, dim); }

// The place at which each row stands first.
static int first_places(const Sparse *s, const Op *near, int rows) {
  Graph *graph = s->graph;
  Op op = backward_op(near);
  op.origin = 0;
  op.n_dims = 2;
  op.n_out = 1;
  row_dims(s, s->rows, op.dims);
  op.dims[1] = (Dim){free_name(graph->arena, op.dims, 1, "other"), s->rows};
  op.reduce = REDUCE_ARGMAX;
  op.body = expr_call(graph->arena, FN_select, equal(graph->arena, at(graph, rows, 1), at(graph, rows, 0)),
                      expr_real(graph->arena, 1), expr_real(graph->arena, 0));
  return graph_add_compute(graph, op, name_of(s, "first"));
}

// What is no row of the table counts nothing.
static const Expr *in_table(const Sparse *s, int rows, int dim, const Expr *value) {
  Arena *arena = s->graph->arena;
  const int64_t extent = graph_tensor(s->graph, s->param)->extent[0], range = graph_tensor(s->graph, rows)->range;
  if (range > 0 && range <= extent) return value;
  const Expr *row = at(s->graph, rows, dim);
  const Expr *in = expr_call(arena, FN_and, expr_call(arena, FN_ge, row, expr_int(arena, 0), NULL),
                             expr_call(arena, FN_lt, row, expr_int(arena, extent), NULL), NULL);
  return expr_call(arena, FN_select, in, value, expr_real(arena, 0));
}

// Of each row the sum of its values, at its first place; elsewhere 0.
static int sums_of_rows(const Sparse *s, const Op *near, int rows, int values) {
  Graph *graph = s->graph;
  Arena *arena = graph->arena;
  const int first = first_places(s, near, rows);
  Op op = backward_op(near);
  op.origin = 0;
  op.n_out = row_dims(s, s->rows, op.dims);
  op.n_dims = op.n_out + 1;
  op.dims[op.n_out] = (Dim){free_name(arena, op.dims, op.n_out, "other"), s->rows};
  op.reduce = REDUCE_SUM;
  Index index[IR_MAX_RANK];
  for (int d = 0; d < op.n_out; d++) index[d] = index_dim(d == 0 ? op.n_out : d);
  const Expr *value = expr_access(arena, values, TYPE_REAL, op.n_out, index, 0);
  op.body = expr_call(arena, FN_mul, equal(arena, at(graph, first, op.n_out), expr_index(arena, index_dim(0))),
                      in_table(s, rows, op.n_out, value), NULL);
  const int sums = graph_add_compute(graph, op, name_of(s, "sums"));
  graph_tensor(graph, sums)->of = s->param;
  return sums;
}

// ---- the graph -----------------------------------------------------------------------------------------------------

typedef struct Replacing {
  const Sparse *s;
  int sums;
} Replacing;

static const Expr *sums_leaf(void *ctx, const Expr *e) {
  const Replacing *r = ctx;
  return e->kind == EXPR_ACCESS && e->access.tensor == r->s->gradient ? expr_access_of(r->s->graph->arena, e, r->sums) : e;
}

// The same of the sums of rows: over the row in place of the first dimension.
static const Expr *of_sums(const Sparse *s, const Expr *value, int sums) {
  Replacing r = {s, sums};
  return expr_copy(s->graph->arena, expr_map(s->graph->arena, value, sums_leaf, &r));
}

// The operator of the update becomes the change of the table, another one behind it adds that.
static void update_rows(const Sparse *s, int rows, int sums) {
  Graph *graph = s->graph;
  Arena *arena = graph->arena;
  Op next = graph->ops.at[s->update], change = next;
  const int rank = next.n_out;
  Index by[IR_MAX_DIMS];
  for (int d = 0; d < rank; d++) by[d] = index_dim(d == 0 ? rank : d);
  change.n_dims = rank + 1;
  change.dims[rank] = (Dim){free_name(arena, change.dims, rank, "row"), s->rows};
  change.reduce = REDUCE_SUM;
  change.body = expr_call(arena, FN_mul, equal(arena, at(graph, rows, rank), expr_index(arena, index_dim(0))),
                          expr_substitute(arena, of_sums(s, s->change, sums), by, rank), NULL);
  const Tensor table = *graph_tensor(graph, s->param);
  Tensor out = *graph_tensor(graph, next.out);
  out.name = arena_printf(arena, "%s.change", table.name);
  out.producer = -1;
  change.out = graph_add_tensor(graph, out);
  graph->ops.at[s->update] = change;
  next.body = expr_call(arena, FN_add, at(graph, s->param, 0), at(graph, change.out, 0), NULL);
  graph_add_op(graph, next);
}

static void make_sparse(Sparse *s) {
  Graph *graph = s->graph;
  int *rows = NEW_ARRAY(s->scratch, int, s->terms.len), *values = NEW_ARRAY(s->scratch, int, s->terms.len);
  const Op near = graph->ops.at[s->terms.at[0].op];
  for (int i = 0; i < s->terms.len; i++) {
    const Op term = graph->ops.at[s->terms.at[i].op];
    const Pin *pin = &s->terms.at[i].pin;
    rows[i] = flat(s, &term, pin->at, false, name_of(s, "rows"));
    values[i] = flat(s, &term, expr_without_pin(graph->arena, term.body, pin), true, name_of(s, "values"));
  }
  const int row = concatenated(s, &near, rows, s->terms.len, name_of(s, "rows"));
  const int sums = sums_of_rows(s, &near, row, concatenated(s, &near, values, s->terms.len, name_of(s, "values")));
  for (int i = 0; i < s->totals.len; i++) {
    Op *total = &graph->ops.at[s->totals.at[i]];
    total->body = of_sums(s, expr_map(s->scratch, total->body, expand_leaf, s), sums);
    row_dims(s, s->rows, total->dims);
  }
  update_rows(s, row, sums);
}

// ---- afterwards ----------------------------------------------------------------------------------------------------

typedef struct Counting {
  int stored, scatter, result; // tensors
  int others;                  // that read one of them where they should not
  bool update;                 // the reader is of the update
} Counting;

static void count_other(void *ctx, int tensor) {
  Counting *c = ctx;
  c->others += tensor == c->scatter || tensor == c->result || (tensor == c->stored && c->update);
}

static bool is_read_by_others(const Graph *graph, const Op *update, const RowUpdate *of) {
  Counting c = {of->stored->access.tensor, of->scatter->access.tensor, update->out, 0, false};
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    c.update = op->phase == PHASE_UPDATE;
    if (op != update) op_visit_reads(op, count_other, &c);
  }
  return c.others > 0;
}

bool sparse_row_update(const Graph *graph, const Op *op, RowUpdate *update) {
  if (op->kind != OP_COMPUTE || op->phase != PHASE_UPDATE || op->reduce != REDUCE_NONE) return false;
  if (op->body->kind != EXPR_CALL || op->body->call.fn != FN_add) return false;
  *update = (RowUpdate){op->body->call.arg[0], op->body->call.arg[1]};
  if (update->stored->kind != EXPR_ACCESS || update->scatter->kind != EXPR_ACCESS) return false;
  if (!is_same_element(graph, op, update->stored) || !is_same_element(graph, op, update->scatter)) return false;
  const int producer = graph_tensor(graph, update->scatter->access.tensor)->producer;
  if (producer < 0 || graph->ops.at[producer].phase != PHASE_UPDATE || !kernel_scatters(graph, &graph->ops.at[producer])) return false;
  return is_stored_to(graph, op->out, update->stored->access.tensor) && !is_read_by_others(graph, op, update);
}

// ---- the pass ------------------------------------------------------------------------------------------------------

void pass_sparse(Model *model) {
  Graph *graph = model->train;
  Sparse sparse = {.graph = graph, .scratch = arena_new()}, *s = &sparse;
  const int n = s->n_tensors = graph->tensors.len;
  s->readers = NEW_ARRAY(s->scratch, Ids, n);
  s->leaf = graph_leaves(graph, s->scratch);
  s->of_gradient = NEW_ARRAY(s->scratch, const Expr *, n);
  for (s->reader = 0; s->reader < graph->ops.len; s->reader++) op_visit_reads(&graph->ops.at[s->reader], note_reader, s);
  for (int t = 0; t < n; t++) {
    if (graph_tensor(graph, t)->role != ROLE_GRADIENT || !analyse(s, t)) continue;
    if (model->dense == NULL) model->dense = graph_copy(graph->arena, graph);
    make_sparse(s);
  }
  arena_free(s->scratch);
  if (model->dense == NULL) return;
  graph_sort_by_phase(graph);
  graph_drop_dead(graph);
}
