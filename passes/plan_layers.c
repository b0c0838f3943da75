// Plans that divide layers along the outputs of their weights, over all axes.
//
// model: every layer with weights, so that no rank keeps more than its share of them; activations are gathered where the next
// layer reads all of them (Jia et al. 2018 compare with it):
//   y[n, co] = sum(ci) x[n, ci] * w[co, ci]            co/gpu, w, b and what follows with it
// owt: one weird trick (Krizhevsky 2014): so are the dense layers, while the batch is divided up to them. A convolution is a product
// whose result has a dimension of windows; where the batch does not come to a layer, as with labels, it is whole.
//
// Of several outputs of a weight, [h, d, c] or [k, u, v], the one is divided that is kept longest by what follows: the heads, which
// go through the whole attention, the hidden units, which the gates keep.
#include "plan_weights.h"
#include "rewrite.h"

// ---- which output --------------------------------------------------------------------------------------------------

typedef struct Kept {
  const Graph *graph;
  int ops;
} Kept;

static bool count_kept(void *ctx, int op, int op_dim) {
  Kept *kept = ctx;
  const bool keeps = op_dim >= 0 && (kept->graph->ops.at[op].kind == OP_VIEW || op_dim < kept->graph->ops.at[op].n_out);
  kept->ops += keeps;
  return keeps;
}

// The first of the best: it goes into as many parts as there are, and is kept longest.
static int choose_output(Dividing *d, const Op *op, const Expr *weight) {
  int dims[IR_MAX_DIMS], best = -1, best_kept = 0;
  const int n = product_outputs(d->graph, op, weight, dims), parts = dividing_parts(d);
  for (int i = 0; i < n; i++) {
    Kept kept = {d->graph, 0};
    const bool fits = op->dims[dims[i]].extent >= parts, fitted = best >= 0 && op->dims[best].extent >= parts;
    if (n > 1) dividing_walk(d, op->out, dims[i], count_kept, &kept);
    if (best >= 0 && (fits != fitted ? fitted : kept.ops <= best_kept)) continue;
    best = dims[i];
    best_kept = kept.ops;
  }
  return best;
}

// The first column of a table, as a dimension of the operator that looks up its rows; -1: it has none.
static int choose_column(const Op *op, const Expr *table) {
  for (int i = 0; i < table->access.rank; i++) {
    const int d = index_plain_dim(&table->access.index[i]);
    if (d >= 0 && d < op->n_out) return d;
  }
  return -1;
}

// ---- windows -------------------------------------------------------------------------------------------------------

typedef struct Windows {
  const Graph *graph;
  const Op *op;
  uint32_t *dims; // by tensor: its dimensions that windows run along
  uint32_t found; // dimensions of the operator
} Windows;

static void find_windows(void *ctx, const Expr *e) {
  Windows *w = ctx;
  if (e->kind != EXPR_ACCESS) return;
  for (int i = 0; i < e->access.rank; i++) {
    const Index *index = &e->access.index[i];
    int used = 0;
    bool strided = index->div != 1;
    for (int d = 0; d < w->op->n_dims; d++) {
      used += index->coef[d] != 0;
      strided |= index->coef[d] > 1 || index->coef[d] < -1;
    }
    const bool window = used > 1 || (used == 1 && strided) || (w->dims[e->access.tensor] >> i & 1);
    for (int d = 0; d < w->op->n_dims && window; d++)
      if (index->coef[d] != 0) w->found |= 1u << d;
  }
}

// By tensor: its dimensions that windows run along. They end where a view merges them with others.
static uint32_t *windows_of_tensors(const Dividing *d) {
  Windows w = {.graph = d->graph, .dims = NEW_ARRAY(d->arena, uint32_t, d->graph->tensors.len)};
  for (int i = 0; i < d->graph->ops.len; i++) {
    const Op *op = w.op = &d->graph->ops.at[i];
    w.found = 0;
    if (op->kind != OP_COMPUTE || op->phase != PHASE_FORWARD) continue;
    expr_visit(op->body, find_windows, &w);
    w.dims[op->out] = w.found & ((1u << op->n_out) - 1);
  }
  return w.dims;
}

// ---- model ---------------------------------------------------------------------------------------------------------

// Packings of windows are larger than what they read, which is gathered instead.
static bool is_packing(const Graph *graph, const Op *op) {
  return op->kind == OP_COMPUTE && op->reduce == REDUCE_NONE && op->body->kind == EXPR_ACCESS && !is_weight(graph, op->out) &&
         op->phase != PHASE_UPDATE &&
         tensor_elements(graph_tensor(graph, op->out)) > tensor_elements(graph_tensor(graph, op->body->access.tensor));
}

static const Expr *access_to(const Expr *e, int tensor) {
  if (e->kind == EXPR_ACCESS) return e->access.tensor == tensor ? e : NULL;
  const Expr *found = NULL;
  for (int i = 0; e->kind == EXPR_CALL && i < fn_arity(e->call.fn) && found == NULL; i++) found = access_to(e->call.arg[i], tensor);
  return found;
}

// A table that only lookups read is divided along its columns.
static void divide_lookup(Dividing *d, int id, const bool *multiplied) {
  const Op *op = &d->graph->ops.at[id];
  int table;
  if (lookup_rows(d->graph, op, &table) < 0 || multiplied[table]) return;
  const int column = choose_column(op, access_to(op->body, table));
  if (column >= 0) dividing_add(d, id, column, 1);
}

static void divide_all(Arena *arena, const Model *model, const Graph *graph, Plan *plan) {
  Dividing d = dividing_new(arena, model, graph, plan, plan_all_axes(&plan->mesh));
  const Expr *weight, *data;
  bool *multiplied = NEW_ARRAY(arena, bool, graph->tensors.len);
  for (int i = 0; i < graph->ops.len; i++)
    if (product_with_weight(graph, &graph->ops.at[i], &weight, &data)) multiplied[weight->access.tensor] = true;
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    const int dim = product_with_weight(graph, op, &weight, &data) ? choose_output(&d, op, weight) : -1;
    if (dim >= 0) dividing_add(&d, i, dim, 1);
    else if (is_packing(graph, op)) dividing_add(&d, i, -1, 1);
    else divide_lookup(&d, i, multiplied);
  }
  if (graph == model->train) dividing_store(&d);
}

void plan_make_model(Arena *arena, const Model *model, Plan *plan) {
  divide_all(arena, model, model->train, plan);
  divide_all(arena, model, model->eval, plan);
}

// ---- one weird trick -----------------------------------------------------------------------------------------------

typedef struct Needed {
  bool *by; // by tensor
} Needed;

static void need(void *ctx, int tensor) { ((Needed *)ctx)->by[tensor] = true; }

// Inputs that come to a layer with weights.
static void add_inputs(Arena *arena, const Graph *graph, Plan *plan) {
  Needed needed = {NEW_ARRAY(arena, bool, graph->tensors.len)};
  const Expr *weight, *data;
  int table;
  for (int i = graph->ops.len - 1; i >= 0; i--) {
    const Op *op = &graph->ops.at[i];
    const bool layer = product_with_weight(graph, op, &weight, &data) || lookup_rows(graph, op, &table) >= 0;
    if (op->phase == PHASE_FORWARD && (layer || needed.by[op->out])) op_visit_reads(op, need, &needed);
  }
  for (int t = 0; t < graph->tensors.len; t++)
    if (graph_tensor(graph, t)->role == ROLE_INPUT && needed.by[t])
      plan_add_batch(arena, plan, graph_tensor(graph, t), plan_all_axes(&plan->mesh));
}

static void divide_dense(Arena *arena, const Model *model, const Graph *graph, Plan *plan) {
  Dividing d = dividing_new(arena, model, graph, plan, plan_all_axes(&plan->mesh));
  const uint32_t *windows = windows_of_tensors(&d);
  const Expr *weight, *data;
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    const bool dense = product_with_weight(graph, op, &weight, &data) && windows[op->out] == 0;
    const int dim = dense ? choose_output(&d, op, weight) : -1;
    if (dim >= 0) dividing_add(&d, i, dim, 1);
  }
  if (graph == model->train) dividing_store(&d);
}

void plan_make_owt(Arena *arena, const Model *model, Plan *plan) {
  add_inputs(arena, model->train, plan);
  divide_dense(arena, model, model->train, plan);
  divide_dense(arena, model, model->eval, plan);
}
