// sparse: the gradient of a table as rows.
//
// Requires: a training graph with its gradients, not planned yet. Guarantees: the same losses, norm and updates. A parameter has a
// sparse gradient where that is a sum of scatters to its first dimension (ir/pin.h), as of a table that is read by indices only; where
// what is summed over all of it is 0, and the update leaves the parameter and the optimizer's states of it as they are, wherever the
// gradient is 0; and where that takes less (sparse_choice.c). It is then never there as a whole:
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
// gradient. What an update reads of states it reads where it adds, so that it needs nothing but what is there:
//   update   table.change[v, c] = sum(row) ((rows[row] == v) * -(lr * sums[row, c] / sqrt(squares[v, c])))
// Whatever others read is changed behind these; where updates read each other's old values, the rows of one are read before:
//   update   velocity.rows[row, c] = sum(v) ((rows[row] == v) * velocity[v, c])
// How rows get to where they are added is left to plans: gathered for every rank's own copy of the table, for ranks that
// store a part of its rows each, or exchanged for ranks that store columns.
#include "passes.h"
#include "rewrite.h"
#include "sparse.h"

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
  const bool is_there = op.body->kind == EXPR_ACCESS && access_is_leading(graph, &op, op.body, op.n_out);
  const int tensor = is_there ? op.body->access.tensor : graph_add_compute(graph, op, name);
  if (op.body->kind == EXPR_ACCESS) graph_tensor(graph, tensor)->range = graph_tensor(graph, op.body->access.tensor)->range;
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

static const Expr *rows_leaf(void *ctx, const Expr *e) {
  const Replacing *r = ctx;
  const Sparse *s = r->s;
  if (e->kind != EXPR_ACCESS) return e;
  for (int i = 0; i < s->updates.len; i++) {
    const Update *update = &s->updates.at[i];
    if (update->stored != e->access.tensor) continue;
    return update->rows < 0 ? at(s->graph, update->stored, 0) : expr_access_of(s->graph->arena, e, update->rows);
  }
  return e->access.tensor == s->gradient ? expr_access_of(s->graph->arena, e, r->sums) : e;
}

// The same of the sums of rows and of what is stored, as it is or its rows.
static const Expr *of_rows(const Sparse *s, const Expr *value, int sums) {
  Replacing r = {s, sums};
  return expr_copy(s->graph->arena, expr_map(s->graph->arena, value, rows_leaf, &r));
}

// The rows of what is stored.
static int rows_of_stored(const Sparse *s, const Update *update, int rows) {
  Graph *graph = s->graph;
  Op op = graph->ops.at[update->op];
  op.n_out = row_dims(s, s->rows, op.dims);
  op.n_dims = op.n_out + 1;
  const Tensor *stored = graph_tensor(graph, update->stored);
  op.dims[op.n_out] = (Dim){free_name(graph->arena, op.dims, op.n_out, stored->dim[0]), stored->extent[0]};
  op.reduce = REDUCE_SUM;
  Index index[IR_MAX_RANK];
  for (int d = 0; d < op.n_out; d++) index[d] = index_dim(d == 0 ? op.n_out : d);
  op.body = expr_call(graph->arena, FN_mul, equal(graph->arena, at(graph, rows, 0), expr_index(graph->arena, index_dim(op.n_out))),
                      expr_access(graph->arena, update->stored, TYPE_REAL, op.n_out, index, 0), NULL);
  return graph_add_compute(graph, op, arena_printf(graph->arena, "%s.rows", stored->name));
}

// The change of what is stored, at its rows. Of rows that are the same all but one have no sum, and change nothing, whatever is there.
static int change_rows(const Sparse *s, const Update *update, int rows, int sums) {
  Graph *graph = s->graph;
  Arena *arena = graph->arena;
  Op op = graph->ops.at[update->op];
  const int rank = op.n_out;
  Index by[IR_MAX_DIMS];
  for (int d = 0; d < rank; d++) by[d] = index_dim(d == 0 ? rank : d);
  op.n_dims = rank + 1;
  op.dims[rank] = (Dim){free_name(arena, op.dims, rank, "row"), s->rows};
  op.reduce = REDUCE_SUM;
  op.body = expr_call(arena, FN_mul, equal(arena, at(graph, rows, rank), expr_index(arena, index_dim(0))),
                      of_rows(s, expr_substitute(arena, update->change, by, rank), sums), NULL);
  const int change = graph_add_compute(graph, op, arena_printf(arena, "%s.change", graph_tensor(graph, update->stored)->name));
  graph_tensor(graph, change)->spread = graph_tensor(graph, update->stored)->spread = graph_tensor(graph, s->param)->spread;
  return change;
}

// What is stored and its change take the place of the update.
static void add_change(const Sparse *s, const Update *update, int change) {
  Graph *graph = s->graph;
  Op next = graph->ops.at[update->op];
  next.body = expr_call(graph->arena, FN_add, at(graph, update->stored, 0), at(graph, change, 0), NULL);
  graph_add_op(graph, next);
}

// Whether another update that is still to be made reads what this one changes.
static bool is_awaited(const Sparse *s, const Update *update) {
  for (int i = 0; i < s->updates.len; i++) {
    const Update *other = &s->updates.at[i];
    if (other != update && !s->replaced[other->op] && expr_reads(other->change, update->stored)) return true;
  }
  return false;
}

// The first one that nobody awaits, or where they await each other the first; NULL: all are made.
static Update *next_update(const Sparse *s) {
  Update *first = NULL;
  for (int i = 0; i < s->updates.len; i++) {
    Update *update = &s->updates.at[i];
    if (s->replaced[update->op]) continue;
    if (!is_awaited(s, update)) return update;
    if (first == NULL) first = update;
  }
  return first;
}

static void update_rows(const Sparse *s, int rows, int sums) {
  for (Update *update = next_update(s); update != NULL; update = next_update(s)) {
    if (is_awaited(s, update)) update->rows = rows_of_stored(s, update, rows);
    add_change(s, update, change_rows(s, update, rows, sums));
    s->replaced[update->op] = true;
  }
}

static void make_rows(Sparse *s) {
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
    total->body = of_rows(s, sparse_expand(s, total->body), sums);
    row_dims(s, s->rows, total->dims);
  }
  update_rows(s, row, sums);
}

static void drop_replaced(const Sparse *s) {
  bool *keep = NEW_ARRAY(s->scratch, bool, s->graph->ops.len);
  for (int i = 0; i < s->graph->ops.len; i++) keep[i] = i >= s->n_ops || !s->replaced[i];
  graph_keep_ops(s->graph, keep);
}

void sparse_make(Graph *graph, const bool *chosen) {
  Sparse sparse = sparse_new(graph, arena_new()), *s = &sparse;
  for (int t = 0; t < s->n_tensors; t++)
    if (chosen[t] && sparse_analyse(s, t)) make_rows(s);
  drop_replaced(s);
  graph_sort_by_phase(graph);
  graph_drop_dead(graph);
  arena_free(s->scratch);
}

// ---- the pass ------------------------------------------------------------------------------------------------------

void pass_sparse(Compilation *c) {
  Model *model = c->model;
  Arena *scratch = arena_new();
  const bool *chosen = sparse_choose(c, scratch);
  bool any = false;
  for (int t = 0; t < model->train->tensors.len; t++) any |= chosen[t];
  if (any) {
    model->dense = graph_copy(model->train->arena, model->train);
    sparse_make(model->train, chosen);
  }
  arena_free(scratch);
}
