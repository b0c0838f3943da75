// Products with weights and the lines that divide them. Everything is found in index expressions: a dense layer, a convolution
// whose windows are packed, the projections of attention and an LSTM's recurrent product are all sums of products in which one
// tensor is a parameter.
#include "plan_weights.h"

#include "../ir/pin.h"
#include "contraction.h"
#include "rewrite.h"
#include "sharding.h"

// ---- graphs --------------------------------------------------------------------------------------------------------

typedef struct NoteReaders {
  Dividing *d;
  int op;
} NoteReaders;

static void note_reader(void *ctx, int tensor) {
  NoteReaders *n = ctx;
  Ids *readers = &n->d->readers[tensor];
  if (readers->len == 0 || readers->at[readers->len - 1] != n->op) vec_push(n->d->arena, readers, n->op);
}

Dividing dividing_new(Arena *arena, const Model *model, const Graph *graph, Plan *plan, uint32_t axes) {
  Dividing d = {.arena = arena, .model = model, .graph = graph, .plan = plan, .axes = axes};
  d.readers = NEW_ARRAY(arena, Ids, graph->tensors.len);
  d.seen = NEW_ARRAY(arena, int, graph->tensors.len);
  d.dim = NEW_ARRAY(arena, int, graph->ops.len);
  d.unit = NEW_ARRAY(arena, int64_t, graph->ops.len);
  NoteReaders notes = {&d, 0};
  for (; notes.op < graph->ops.len; notes.op++) {
    d.dim[notes.op] = -1;
    d.unit[notes.op] = 1;
    if (graph->ops.at[notes.op].phase == PHASE_FORWARD) op_visit_reads(&graph->ops.at[notes.op], note_reader, &notes);
  }
  return d;
}

int dividing_parts(const Dividing *d) { return mesh_parts(&d->plan->mesh, d->axes); }

static bool is_copy(const Op *op) {
  return op->kind == OP_COMPUTE && op->reduce == REDUCE_NONE && op->body->kind == EXPR_ACCESS;
}

bool is_weight(const Graph *graph, int tensor) {
  for (;;) {
    const Tensor *t = graph_tensor(graph, tensor);
    if (t->role == ROLE_PARAM) return true;
    if (t->producer < 0) return false;
    const Op *op = &graph->ops.at[t->producer];
    if (op->kind == OP_VIEW) tensor = op->in;
    else if (is_copy(op)) tensor = op->body->access.tensor;
    else return false;
  }
}

bool product_with_weight(const Graph *graph, const Op *op, const Expr **weight, const Expr **data) {
  Contraction c;
  if (op->phase != PHASE_FORWARD || !contraction_match(graph, op, &c)) return false;
  const bool a = is_weight(graph, c.a->access.tensor), b = is_weight(graph, c.b->access.tensor);
  *weight = a ? c.a : c.b;
  *data = a ? c.b : c.a;
  return a != b;
}

static int dim_of_access(const Graph *graph, const Op *op, const Expr *access, int dim) {
  for (int i = 0; i < access->access.rank; i++)
    if (access_full_dim(graph, op, access, i) == dim) return i;
  return -1;
}

int product_outputs(const Graph *graph, const Op *op, const Expr *weight, int dims[IR_MAX_DIMS]) {
  int n = 0;
  for (int d = 0; d < op->n_out; d++)
    if (op->dims[d].extent > 1 && dim_of_access(graph, op, weight, d) >= 0) dims[n++] = d;
  return n;
}

bool is_pinned_by_input(const Graph *graph, const Op *op, int dim) {
  Pin pin[IR_MAX_DIMS];
  const int n = op_pins(op, pin);
  for (int i = 0; i < n; i++)
    if (pin[i].dim == dim && pin[i].at->kind == EXPR_ACCESS &&
        graph_tensor(graph, pin[i].at->access.tensor)->role == ROLE_INPUT)
      return true;
  return false;
}

typedef struct TableSearch {
  const Graph *graph;
  const Op *op;
  int dim, table;
} TableSearch;

static void search_table(void *ctx, const Expr *e) {
  TableSearch *s = ctx;
  if (e->kind == EXPR_ACCESS && is_weight(s->graph, e->access.tensor) && dim_of_access(s->graph, s->op, e, s->dim) >= 0)
    s->table = e->access.tensor;
}

int lookup_rows(const Graph *graph, const Op *op, int *table) {
  if (op->kind != OP_COMPUTE || op->phase != PHASE_FORWARD || op->reduce != REDUCE_SUM) return -1;
  for (int d = op->n_out; d < op->n_dims; d++) {
    TableSearch search = {graph, op, d, -1};
    if (!is_pinned_by_input(graph, op, d)) continue;
    expr_visit(op->body, search_table, &search);
    *table = search.table;
    if (search.table >= 0) return d;
  }
  return -1;
}

// ---- where a dimension leads ---------------------------------------------------------------------------------------

typedef struct Reached { int tensor, dim; } Reached;

static int result_dim(const Graph *graph, const Op *op, int tensor, int dim, int *op_dim) {
  int64_t unit;
  *op_dim = -1;
  if (op->kind == OP_VIEW)
    return *op_dim = sharding_through_view(graph_tensor(graph, tensor), graph_tensor(graph, op->out), dim, 1, &unit);
  *op_dim = sharding_dim_of(graph, op, tensor, dim);
  return op->kind == OP_COMPUTE && *op_dim < op->n_out ? *op_dim : -1;
}

void dividing_walk(Dividing *d, int tensor, int dim, DimVisitFn *visit, void *ctx) {
  VEC(Reached) queue = {0};
  d->walks++;
  d->seen[tensor] = d->walks;
  vec_push(d->arena, &queue, (Reached){tensor, dim});
  for (int q = 0; q < queue.len; q++) {
    const Reached at = queue.at[q];
    const Ids *readers = &d->readers[at.tensor];
    for (int i = 0; i < readers->len; i++) {
      const Op *op = &d->graph->ops.at[readers->at[i]];
      int op_dim;
      const int next = result_dim(d->graph, op, at.tensor, at.dim, &op_dim);
      if (!visit(ctx, readers->at[i], op_dim) || next < 0 || d->seen[op->out] == d->walks) continue;
      d->seen[op->out] = d->walks;
      vec_push(d->arena, &queue, (Reached){op->out, next});
    }
  }
}

// ---- lines ---------------------------------------------------------------------------------------------------------

uint32_t plan_all_axes(const Mesh *mesh) { return (1u << mesh->n_axes) - 1; }

void plan_choose(PlanLine *line, const Mesh *mesh, uint32_t axes, PlanChoice choice) {
  for (int a = 0; a < mesh->n_axes; a++)
    if (axes >> a & 1) line->axis[a] = choice;
}

void plan_add_batch(Arena *arena, Plan *plan, const Tensor *input, uint32_t axes) {
  PlanLine line = {.subject = PLAN_INPUT, .name = input->name};
  plan_choose(&line, &plan->mesh, axes, (PlanChoice){.kind = CHOICE_SPLIT, .dim = input->dim[0], .unit = 1});
  vec_push_own(arena, &plan->lines, line);
}

void dividing_add(Dividing *d, int id, int dim, int64_t unit) {
  const Op *op = &d->graph->ops.at[id];
  PlanLine line = {.subject = PLAN_OP, .graph = d->graph->name, .name = graph_tensor(d->graph, op->out)->name};
  PlanChoice choice = {.kind = CHOICE_REPLICATE};
  if (dim >= 0) choice = (PlanChoice){.kind = CHOICE_SPLIT, .dim = op->dims[dim].name, .unit = unit};
  plan_choose(&line, &d->plan->mesh, d->axes, choice);
  vec_push_own(d->arena, &d->plan->lines, line);
  d->dim[id] = dim;
  d->unit[id] = unit;
}

// ---- parameters as they are read -----------------------------------------------------------------------------------

typedef struct Cutting {
  Dividing *d;
  int *cut;      // by tensor: its dimension that is cut, or -1
  int64_t *unit; // by tensor
  bool *stored;  // by tensor: it has a line
  const Op *op;
  int dim; // of the operator: the one that is divided, or -1
  int64_t op_unit;
} Cutting;

// The first operand that is cut says what an operator does that has no line.
static void ask_operand(void *ctx, int tensor) {
  Cutting *c = ctx;
  if (c->dim >= 0 || c->cut[tensor] < 0) return;
  c->dim = sharding_dim_of(c->d->graph, c->op, tensor, c->cut[tensor]);
  c->op_unit = c->unit[tensor];
}

// Adds the line of the parameter that a weight is a view or copy of, if its dimension is one of the parameter's.
static void store_weight(Cutting *c, int tensor, int dim, int64_t unit) {
  const Graph *graph = c->d->graph;
  while (dim >= 0 && graph_tensor(graph, tensor)->role != ROLE_PARAM) {
    const Op *op = &graph->ops.at[graph_tensor(graph, tensor)->producer];
    const int from = op->kind == OP_VIEW ? op->in : op->body->access.tensor;
    dim = op->kind == OP_VIEW ? sharding_through_view(graph_tensor(graph, tensor), graph_tensor(graph, from), dim, unit, &unit)
                              : dim_of_access(graph, op, op->body, dim);
    tensor = from;
  }
  const Tensor *t = graph_tensor(graph, tensor);
  if (dim < 0 || c->stored[tensor] || t->extent[dim] % unit != 0) return;
  PlanLine line = {.subject = PLAN_STORE, .name = t->name};
  plan_choose(&line, &c->d->plan->mesh, c->d->axes, (PlanChoice){.kind = CHOICE_SPLIT, .dim = t->dim[dim], .unit = unit});
  vec_push_own(c->d->arena, &c->d->plan->lines, line);
  c->stored[tensor] = true;
}

static void store_operand(void *ctx, int tensor) {
  Cutting *c = ctx;
  const Graph *graph = c->d->graph;
  if (!is_weight(graph, tensor)) return;
  for (int i = 0; i < graph_tensor(graph, tensor)->rank; i++)
    if (sharding_dim_of(graph, c->op, tensor, i) == c->dim) store_weight(c, tensor, i, c->op_unit);
}

// A copy of a parameter is made as the parameter lies.
static void cut_op(Cutting *c, int id) {
  const Graph *graph = c->d->graph;
  const Op *op = c->op = &graph->ops.at[id];
  c->dim = c->d->dim[id];
  c->op_unit = c->d->unit[id];
  if (op->kind == OP_VIEW && c->cut[op->in] >= 0)
    c->cut[op->out] = sharding_through_view(graph_tensor(graph, op->in), graph_tensor(graph, op->out), c->cut[op->in],
                                            c->unit[op->in], &c->unit[op->out]);
  if (op->kind != OP_COMPUTE || is_weight(graph, op->out)) return;
  if (c->dim < 0) op_visit_reads(op, ask_operand, c);
  if (c->dim < 0) return;
  op_visit_reads(op, store_operand, c);
  if (c->dim >= op->n_out) return;
  c->cut[op->out] = c->dim;
  c->unit[op->out] = c->op_unit;
}

void dividing_store(Dividing *d) {
  const int n = d->graph->tensors.len;
  Cutting c = {.d = d, .cut = NEW_ARRAY(d->arena, int, n), .unit = NEW_ARRAY(d->arena, int64_t, n)};
  c.stored = NEW_ARRAY(d->arena, bool, n);
  for (int t = 0; t < n; t++) c.cut[t] = -1;
  for (int i = 0; i < d->graph->ops.len; i++)
    if (d->graph->ops.at[i].phase == PHASE_FORWARD) cut_op(&c, i);
}
