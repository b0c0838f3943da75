#include "kernel.h"

#include "../ir/pin.h"
#include "collapse.h"
#include "kernel_shape.h"
#include "parts.h"
#include "rewrite.h"

enum { RECOMPUTE_FLOPS = 64 }; // a value this cheap is computed again rather than stored between stages

typedef struct Builder {
  Lowering *l;
  const Grouping *g;
  const Group *group;
  Kernel kernel;
  int dim_of[IR_MAX_DIMS]; // class -> kernel dim
  int *stage_of;           // by position in group->ops
  int keep;                // kernel dim that stays, though it is one of extent 1; -1: none
} Builder;

static const Op *op_at(const Builder *b, int i) { return &b->g->graph->ops.at[b->group->ops.at[i]]; }

static int position_of_tensor(const Builder *b, int tensor) {
  const int producer = graph_tensor(b->g->graph, tensor)->producer;
  for (int i = 0; i < b->group->ops.len; i++)
    if (b->group->ops.at[i] == producer) return i;
  return -1;
}

static double space(const Op *op) {
  double n = 1;
  for (int d = 0; d < op->n_dims; d++) n *= (double)op->dims[d].extent;
  return n;
}

// ---- dims --------------------------------------------------------------------------------------------------------

static void add_dims_of(Builder *b, int i, bool rows) {
  const Op *op = op_at(b, i);
  const int *class_of = b->g->class_of[b->group->ops.at[i]];
  for (int d = 0; d < op->n_dims; d++) {
    const int class = class_of[d];
    if (b->dim_of[class] >= 0 || (b->group->rows >> class & 1) != rows) continue;
    b->dim_of[class] = b->kernel.n_dims;
    b->kernel.dims[b->kernel.n_dims++] =
        (LoopDim){op->dims[d].name, lowering_dim_extent(b->l, op, d), op->dims[d].extent};
  }
}

// Rows first, then inner dims, each in the order of the largest operator that has them.
static void choose_dims(Builder *b) {
  for (int c = 0; c < IR_MAX_DIMS; c++) b->dim_of[c] = -1;
  for (int rows = 1; rows >= 0; rows--) {
    bool *done = NEW_ARRAY(b->l->building, bool, b->group->ops.len);
    for (int round = 0; round < b->group->ops.len; round++) {
      int largest = -1;
      for (int i = 0; i < b->group->ops.len; i++)
        if (!done[i] && (largest < 0 || space(op_at(b, i)) > space(op_at(b, largest)))) largest = i;
      done[largest] = true;
      add_dims_of(b, largest, rows);
    }
    if (rows) b->kernel.n_grid = b->kernel.n_dims;
  }
}

// ---- stages ------------------------------------------------------------------------------------------------------

static int inner_dims(const Builder *b, int i, int *inner) {
  const Op *op = op_at(b, i);
  bool used[IR_MAX_DIMS] = {false};
  for (int d = 0; d < op->n_dims; d++) used[b->dim_of[b->g->class_of[b->group->ops.at[i]][d]]] = true;
  int n = 0;
  for (int d = b->kernel.n_grid; d < b->kernel.n_dims; d++)
    if (used[d]) inner[n++] = d;
  return n;
}

static bool same_inner(const Stage *stage, const int *inner, int n) {
  return stage->n_inner == n && memcmp(stage->inner, inner, sizeof *inner * (size_t)n) == 0;
}

// An expression over the operator's dims as one over the kernel's.
static const Expr *in_kernel_dims(const Builder *b, int i, const Expr *e) {
  const Op *op = op_at(b, i);
  Index by[IR_MAX_DIMS];
  for (int d = 0; d < op->n_dims; d++) by[d] = index_dim(b->dim_of[b->g->class_of[b->group->ops.at[i]][d]]);
  return expr_substitute(b->l->building, e, by, op->n_dims);
}

typedef struct ReadCount {
  int tensor, count;
} ReadCount;

static void count_reads(void *ctx, int tensor) {
  ReadCount *r = ctx;
  r->count += tensor == r->tensor;
}

// The result is read by another step, or when the procedure has ended.
static bool needed_outside(const Builder *b, int tensor) {
  ReadCount inside = {tensor, 0};
  for (int i = 0; i < b->group->ops.len; i++) op_visit_reads(op_at(b, i), count_reads, &inside);
  return b->g->leaves[tensor] || b->g->readers[tensor] > inside.count;
}

static Statement *find_statement(Builder *b, int stage, int tensor) {
  Stage *s = &b->kernel.stages.at[stage];
  for (int i = 0; i < s->statements.len; i++)
    if (s->statements.at[i].out == tensor) return &s->statements.at[i];
  return NULL;
}

static Statement statement_of(const Builder *b, int i) {
  const Op *op = op_at(b, i);
  Statement s = {.name = op->name, .out = op->out, .reduce = op->reduce, .out_rank = op->n_out};
  s.body = in_kernel_dims(b, i, op->body);
  if (op->reduce == REDUCE_ARGMAX) s.place = in_kernel_dims(b, i, expr_index(b->l->building, op_reduced_position(op)));
  for (int d = 0; d < op->n_out; d++) s.out_dim[d] = b->dim_of[b->g->class_of[b->group->ops.at[i]][d]];
  s.store = needed_outside(b, op->out);
  s.accumulate = lowering_adds_up(b->l, op);
  return s;
}

typedef struct Demand { // what an operator reads of the group's own results
  Builder *b;
  int op;       // position
  int stage;    // where it will stand
  bool cloning; // make point values available in that stage
  int earliest; // first stage in which it can stand
} Demand;

// Every index is the dimension the value was computed for.
static bool reads_own_point(const Builder *b, int reader, const Expr *access, int producer) {
  const Op *r = op_at(b, reader);
  const int *reader_class = b->g->class_of[b->group->ops.at[reader]];
  const int *producer_class = b->g->class_of[b->group->ops.at[producer]];
  for (int i = 0; i < access->access.rank; i++) {
    const int d = access_full_dim(b->g->graph, r, access, i);
    if (access_is_at_unit(b->g->graph, r, access, i)) continue;
    if (d < 0 || reader_class[d] != producer_class[i]) return false;
  }
  return true;
}

static void demand_access(void *ctx, const Expr *e) {
  Demand *d = ctx;
  Builder *b = d->b;
  if (e->kind != EXPR_ACCESS) return;
  const int producer = position_of_tensor(b, e->access.tensor);
  if (producer < 0) return;
  const int stage = b->stage_of[producer];
  int inner[IR_MAX_DIMS];
  const int n = inner_dims(b, producer, inner);
  const bool point = n > 0 && op_at(b, producer)->reduce == REDUCE_NONE;
  if (!d->cloning) {
    const int earliest = point && reads_own_point(b, d->op, e, producer) ? stage : stage + (n > 0);
    if (earliest > d->earliest) d->earliest = earliest;
    return;
  }
  if (!point || find_statement(b, d->stage, e->access.tensor) != NULL) return;
  Statement *made = find_statement(b, stage, e->access.tensor);
  const bool own = reads_own_point(b, d->op, e, producer) && same_inner(&b->kernel.stages.at[d->stage], inner, n);
  if (!own || expr_flops(made->body) > RECOMPUTE_FLOPS) {
    made->store = true;
    b->kernel.stages.at[d->stage].sync_before |= !own;
  }
  if (made->store) return;
  Demand inputs = {b, producer, d->stage, true, 0};
  expr_visit(op_at(b, producer)->body, demand_access, &inputs);
  Statement again = statement_of(b, producer);
  again.store = false;
  vec_push(b->l->building, &b->kernel.stages.at[d->stage].statements, again);
}

static void place_statement(Builder *b, int i) {
  int inner[IR_MAX_DIMS];
  const int n = inner_dims(b, i, inner);
  Demand demand = {b, i, -1, false, 0};
  expr_visit(op_at(b, i)->body, demand_access, &demand);
  int stage = demand.earliest;
  while (stage < b->kernel.stages.len && !same_inner(&b->kernel.stages.at[stage], inner, n)) stage++;
  if (stage == b->kernel.stages.len) {
    Stage fresh = {.n_inner = n};
    memcpy(fresh.inner, inner, sizeof *inner * (size_t)n);
    vec_push(b->l->building, &b->kernel.stages, fresh);
  }
  b->stage_of[i] = stage;
  demand.stage = stage;
  demand.cloning = true;
  expr_visit(op_at(b, i)->body, demand_access, &demand);
  vec_push(b->l->building, &b->kernel.stages.at[stage].statements, statement_of(b, i));
}

// A clone may leave the value it was made from without a reader: drops statements that nothing reads or stores.
typedef struct Wanted {
  Arena *arena;
  VEC(int) tensors; // of the graph
} Wanted;

static bool is_wanted(const Wanted *w, int tensor) {
  for (int i = 0; i < w->tensors.len; i++)
    if (w->tensors.at[i] == tensor) return true;
  return false;
}

static void want(Wanted *w, const Expr *e) {
  if (e->kind == EXPR_ACCESS && !is_wanted(w, e->access.tensor)) vec_push(w->arena, &w->tensors, e->access.tensor);
  if (e->kind != EXPR_CALL || e->call.fn == FN_one) return; // one(x) is 1, whatever x
  for (int i = 0; i < fn_arity(e->call.fn); i++) want(w, e->call.arg[i]);
}

static void drop_dead_statements(Builder *b) {
  Wanted rows = {.arena = b->l->building};   // wanted by later stages
  Wanted points = {.arena = b->l->building}; // wanted in the stage at hand
  for (int s = b->kernel.stages.len - 1; s >= 0; s--) {
    Stage *stage = &b->kernel.stages.at[s];
    points.tensors.len = 0;
    int first = stage->statements.len;
    for (int i = stage->statements.len - 1; i >= 0; i--) {
      const Statement statement = stage->statements.at[i];
      const bool point = stage->n_inner > 0 && statement.reduce == REDUCE_NONE;
      if (!statement.store && !is_wanted(&points, statement.out) && (point || !is_wanted(&rows, statement.out)))
        continue;
      want(&points, statement.body);
      want(&rows, statement.body);
      stage->statements.at[--first] = statement;
    }
    stage->statements.at += first;
    stage->statements.len -= first;
    stage->statements.cap -= first;
  }
  int n = 0;
  for (int s = 0; s < b->kernel.stages.len; s++)
    if (b->kernel.stages.at[s].statements.len > 0) b->kernel.stages.at[n++] = b->kernel.stages.at[s];
  b->kernel.stages.len = n;
}

// ---- tensors -----------------------------------------------------------------------------------------------------

static void add_kernel_tensor(Builder *b, int tensor) {
  if (kernel_find_tensor(&b->kernel, tensor) < 0)
    vec_push(b->l->building, &b->kernel.tensors, kernel_tensor(b->l, b->l->building, b->g->graph, tensor));
}

static void add_access_tensor(void *ctx, const Expr *e) {
  if (e->kind == EXPR_ACCESS) add_kernel_tensor(ctx, e->access.tensor);
}

static void collect_tensors(Builder *b) {
  enum { USUAL = 6 };
  vec_renew(b->l->building, &b->kernel.tensors, USUAL);
  for (int s = 0; s < b->kernel.stages.len; s++)
    for (int i = 0; i < b->kernel.stages.at[s].statements.len; i++) {
      const Statement *statement = &b->kernel.stages.at[s].statements.at[i];
      add_kernel_tensor(b, statement->out);
      expr_visit(statement->body, add_access_tensor, b);
    }
}

// ---- names and renumbering ---------------------------------------------------------------------------------------

typedef struct Rename {
  Lowering *l;
  const Kernel *kernel;
  int *to; // by tensor of the kernel
} Rename;

static const Expr *rename_leaf(void *ctx, const Expr *e) {
  const Rename *r = ctx;
  if (e->kind != EXPR_ACCESS) return e;
  return expr_access_of(r->l->building, e, r->to[kernel_find_tensor(r->kernel, e->access.tensor)]);
}

// From the graph's tensors to the program's.
static void rename_tensors(Lowering *l, Kernel *k) {
  Rename r = {l, k, NEW_ARRAY(l->building, int, k->tensors.len)};
  for (int t = 0; t < k->tensors.len; t++) {
    const KernelTensor *seen = &k->tensors.at[t];
    r.to[t] = l->tensor_of[seen->tensor];
    if (seen->is_piece) r.to[t] = lowering_part(l, r.to[t], seen->start);
  }
  for (int s = 0; s < k->stages.len; s++) {
    Stage *stage = &k->stages.at[s];
    for (int i = 0; i < stage->n_inner; i++)
      if (stage->at[i] != NULL) stage->at[i] = expr_map(l->building, stage->at[i], rename_leaf, &r);
    for (int i = 0; i < stage->statements.len; i++) {
      Statement *statement = &stage->statements.at[i];
      statement->body = expr_map(l->building, statement->body, rename_leaf, &r);
      statement->out = r.to[kernel_find_tensor(k, statement->out)];
    }
  }
  for (int t = 0; t < k->tensors.len; t++) k->tensors.at[t].tensor = r.to[t];
}

// Which tensors the kernel uses in memory: those that it reads only, and those that it stores.
static void note_uses(Kernel *k) {
  for (int t = 0; t < k->tensors.len; t++) {
    KernelTensor *tensor = &k->tensors.at[t];
    bool stored = false;
    for (int s = 0; s < k->stages.len; s++)
      for (int i = 0; i < k->stages.at[s].statements.len; i++) {
        const Statement *statement = &k->stages.at[s].statements.at[i];
        tensor->written |= statement->out == tensor->tensor;
        stored |= statement->out == tensor->tensor && statement->store;
      }
    tensor->used = !tensor->written || stored;
  }
}

// The operators' names, in order and without repetition: "bias_relu".
static const char *kernel_name(const Builder *b) {
  Text name = {.arena = b->l->building};
  const char *last = "";
  int shown = 0;
  for (int i = 0; i < b->group->ops.len && shown < 3; i++) {
    const Op *op = op_at(b, i);
    if (str_eq(op->name, last)) continue;
    text_printf(&name, "%s%s", name.len > 0 ? "_" : "", op->name);
    last = op->name;
    shown++;
  }
  if (b->group->phase == PHASE_BACKWARD) text_printf(&name, "_grad");
  return text_str(&name);
}

static Kernel *finish(Builder *b, const char *name) {
  b->kernel.name = name;
  kernel_collapse(b->l->building, b->l->program, &b->kernel, b->keep, false);
  kernel_find_pins(&b->kernel);
  kernel_choose_kind(b->l->building, &b->kernel);
  kernel_settle_pins(b->l->building, &b->kernel);
  if (b->kernel.scatters) kernel_check_scatter(&b->kernel);
  rename_tensors(b->l, &b->kernel);
  note_uses(&b->kernel);
  Kernel *kernel = kernel_copy(b->l->arena, &b->kernel);
  arena_reset(b->l->building);
  return kernel;
}

// ---- kernels of several operators ---------------------------------------------------------------------------------

static void begin(Builder *b, Lowering *l, const Grouping *g, const Group *group) {
  *b = (Builder){.l = l, .g = g, .group = group, .keep = -1};
  b->kernel.dims = NEW_ARRAY(l->building, LoopDim, IR_MAX_DIMS);
  b->stage_of = NEW_ARRAY(l->building, int, group->ops.len);
}

Kernel *kernel_of_group(Lowering *l, const Grouping *g, const Group *group) {
  Builder b;
  begin(&b, l, g, group);
  choose_dims(&b);
  for (int i = 0; i < group->ops.len; i++) place_statement(&b, i);
  drop_dead_statements(&b);
  collect_tensors(&b);
  kernel_take_pieces(l, &b.kernel);
  return finish(&b, kernel_name(&b));
}

// Drops the kernel's first dim, which is the loop around it: operands that use it advance by loop strides.
static void slice_kernel(Lowering *l, Kernel *k, int sliced_out) {
  Statement *s = &k->stages.at[0].statements.at[0];
  for (int t = 0; t < k->tensors.len; t++) {
    KernelTensor *tensor = &k->tensors.at[t];
    Extent stride = extent_fixed(1);
    for (int i = 1; i < tensor->rank; i++) stride = extent_mul(stride, tensor->extent[i]);
    // A slice of its own (a packed or unfolded buffer) stays where it is.
    tensor->loop_stride = tensor->tensor == sliced_out ? extent_fixed(0) : stride;
    for (int i = 1; i < tensor->rank; i++) {
      tensor->extent[i - 1] = tensor->extent[i];
      tensor->global[i - 1] = tensor->global[i];
      tensor->dim[i - 1] = tensor->dim[i];
    }
    tensor->rank--;
  }
  Index by[IR_MAX_DIMS], index[IR_MAX_RANK];
  for (int d = 0; d < k->n_dims; d++) by[d] = d == 0 ? index_const(0) : index_dim(d - 1);
  const Expr *access = expr_substitute(l->building, s->body, by, k->n_dims);
  for (int i = 1; i < access->access.rank; i++) index[i - 1] = access->access.index[i];
  s->body = expr_access(l->building, access->access.tensor, access->type, access->access.rank - 1, index,
                        access->access.outside);
  for (int i = 1; i < s->out_rank; i++) s->out_dim[i - 1] = s->out_dim[i] - 1;
  s->out_rank--;
  Stage *stage = &k->stages.at[0];
  for (int i = 0; i < stage->n_inner; i++) stage->inner[i]--;
  for (int d = 1; d < k->n_dims; d++) k->dims[d - 1] = k->dims[d];
  k->n_dims--;
  k->n_grid--;
}

// A kernel of one operator, its dimensions each a class of its own.
static void begin_alone(Builder *b, Lowering *l, const Grouping *g, int op_id, uint32_t rows) {
  const Op *op = &g->graph->ops.at[op_id];
  Group *alone = NEW(l->building, Group);
  *alone = (Group){.kind = GROUP_KERNEL, .phase = op->phase, .rows = rows};
  vec_push(l->building, &alone->ops, op_id);
  for (int d = 0; d < op->n_dims; d++) g->class_of[op_id][d] = d;
  begin(b, l, g, alone);
}

Kernel *kernel_of_op(Lowering *l, const Grouping *g, int op_id, bool sliced) {
  const Op *op = &g->graph->ops.at[op_id];
  Builder b;
  begin_alone(&b, l, g, op_id, (1u << op->n_out) - 1);
  choose_dims(&b);
  place_statement(&b, 0);
  b.kernel.stages.at[0].statements.at[0].store = true;
  collect_tensors(&b);
  if (!sliced) kernel_take_pieces(l, &b.kernel);
  // Of the two tensors of a sliced operator one is a buffer of a single slice: a packing's result, a folding's operand.
  const bool packing = op->reduce == REDUCE_NONE && str_eq(op->name, "pack");
  if (sliced) slice_kernel(l, &b.kernel, packing ? op->out : op->body->access.tensor);
  return finish(&b, !sliced ? kernel_name(&b) : packing ? "pack" : "fold");
}

// ---- scattering --------------------------------------------------------------------------------------------------

typedef struct Reach {
  const Graph *graph;
  const Op *op;
  bool in_range;
} Reach;

static void check_reach(void *ctx, const Expr *e) {
  Reach *r = ctx;
  if (e->kind == EXPR_ACCESS) r->in_range &= access_in_range(r->graph, r->op, e);
}

// The dimensions of the result that are pinned, as bits.
static uint32_t pinned_outputs(const Graph *graph, const Op *op) {
  Pin pin[IR_MAX_DIMS];
  uint32_t pinned = 0;
  for (int i = op_pins(op, pin) - 1; i >= 0; i--) {
    Reach reach = {graph, op, true};
    expr_visit(pin[i].at, check_reach, &reach);
    if (pin[i].dim < op->n_out && reach.in_range) pinned |= 1u << pin[i].dim;
  }
  return pinned;
}

// Something is left for threads to go along.
static bool has_rows(const Op *op, uint32_t pinned) {
  for (int d = 0; d < op->n_out; d++)
    if (!(pinned >> d & 1) && op->dims[d].extent > 1) return true;
  return false;
}

bool kernel_scatters(const Graph *graph, const Op *op) {
  enum { FEW_PLACES = 32 }; // as threads of a GPU that find what is added to their places
  const uint32_t pinned = pinned_outputs(graph, op);
  int64_t places = 1;
  for (int d = 0; d < op->n_out; d++)
    if (pinned >> d & 1) places *= op->dims[d].extent;
  return pinned != 0 && (has_rows(op, pinned) || places > FEW_PLACES);
}

// Where all of a result is pinned, its threads go along a dimension that is none.
static void add_single_row(Builder *b) {
  b->keep = b->kernel.n_dims;
  b->kernel.dims[b->kernel.n_dims++] = (LoopDim){"one", extent_fixed(1), 1};
}

Kernel *kernel_of_scatter(Lowering *l, const Grouping *g, int op_id) {
  const Op *op = &g->graph->ops.at[op_id];
  Builder b;
  const uint32_t pinned = pinned_outputs(g->graph, op);
  begin_alone(&b, l, g, op_id, ((1u << op->n_out) - 1) & ~pinned);
  if (!has_rows(op, pinned)) add_single_row(&b);
  choose_dims(&b);
  place_statement(&b, 0);
  collect_tensors(&b);
  b.kernel.scatters = true;
  return finish(&b, kernel_name(&b));
}
