// microbatch: a step goes over its batch in equal parts, one after the other, and updates once.
//
// Requires: a training graph with its gradients, not yet planned. Guarantees: the same losses, gradients and updates. Everything that
// goes along the batch goes along a microbatch; sums over the batch are added to by each of them (Op.accumulates); what reads such a
// sum comes behind the last one, in PHASE_COMBINE. A sum that operators along the batch need (the number of labels that count) is
// made of the whole batch before the first one, in PHASE_BEGIN: it may depend on inputs, but not on what is trained. Random numbers
// and positions count samples of the whole batch. Where that cannot be, the graph stays as it is and a problem says why.
//
//   forward  each[n=64] = select(label[n] == -1, 0, ...)
//   forward  total = sum(n=64) each[n]
//   forward  count = sum(n=64) select(label[n] != -1, 1, 0)
//   forward  loss = total / count
//   backward w.grad[co=8, ci=9] = sum(n=64) y.grad[n, co] * x[n, ci]        and y.grad reads count
// becomes, in 4 microbatches,
//   begin    count = sum(n=64) select(label.batch[n] != -1, 1, 0)
//   forward  each[n=16] = select(label[n] == -1, 0, ...)
//   forward  total += sum(n=16) each[n]
//   backward w.grad[co=8, ci=9] += sum(n=16) y.grad[n, co] * x[n, ci]
//   combine  loss = total / count
#include "microbatch.h"

#include "passes.h"
#include "planning.h"
#include "rewrite.h"
#include "sharding.h"

// What an operator is to the batch.
typedef enum Part {
  FREE,  // has nothing to do with it
  ALONG, // goes along it: its result has a row for each sample
  SUM,   // sums over it
  AFTER, // is made of such sums
} Part;

typedef struct Splitter {
  const Model *model;
  Graph *graph;
  Arena *arena; // of what is known while the graph is split
  int number;    // of microbatches
  int n_tensors; // of the graph as it was
  int *parent;   // dimensions of tensors, then of operators, that are one: a forest
  bool *is_batch; // by root
  Part *part;     // by operator
  bool *after;    // by tensor: a SUM, or made of one
  bool *begins;   // by operator: needed of the whole batch, before the first microbatch
  Phase *loop;    // by operator: the phase it has if it runs in every microbatch
  int *whole;     // by tensor with the batch: the same of the whole batch; else -1
  const char *refusal;
  const Op *op; // at hand
} Splitter;

static void refuse(Splitter *s, const Op *op, const char *why) {
  if (s->refusal == NULL) s->refusal = arena_printf(s->graph->arena, "%s %s", plan_op_place(s->model, op), why);
}

// ---- which dimensions are the batch --------------------------------------------------------------------------------

static int node_of_tensor(int tensor, int dim) { return tensor * IR_MAX_RANK + dim; }

static int node_of_op(const Splitter *s, int op, int dim) {
  return s->n_tensors * IR_MAX_RANK + op * IR_MAX_DIMS + dim;
}

static int root(const Splitter *s, int node) {
  while (s->parent[node] != node) node = s->parent[node] = s->parent[s->parent[node]];
  return node;
}

static void unify(const Splitter *s, int a, int b) { s->parent[root(s, a)] = root(s, b); }

static int id_of(const Splitter *s, const Op *op) { return (int)(op - s->graph->ops.at); }

static void unify_access(void *ctx, const Expr *e) {
  const Splitter *s = ctx;
  for (int i = 0; e->kind == EXPR_ACCESS && i < e->access.rank; i++) {
    const int d = access_full_dim(s->graph, s->op, e, i);
    if (d >= 0) unify(s, node_of_tensor(e->access.tensor, i), node_of_op(s, id_of(s, s->op), d));
  }
}

// Of a view, the dimensions that begin together: [n t, c] and [n, t, c], where n is the batch.
static void unify_view(const Splitter *s, const Op *op) {
  const Tensor *in = graph_tensor(s->graph, op->in), *out = graph_tensor(s->graph, op->out);
  for (int i = 0; i < in->rank; i++) {
    if (in->extent[i] % s->model->batch != 0) continue;
    int64_t unit;
    const int o = sharding_through_view(in, out, i, in->extent[i] / s->model->batch, &unit);
    if (o >= 0 && out->extent[o] == unit * s->model->batch) unify(s, node_of_tensor(op->in, i), node_of_tensor(op->out, o));
  }
}

static void find_batch(Splitter *s) {
  const Graph *graph = s->graph;
  const int nodes = node_of_op(s, graph->ops.len, 0);
  s->parent = NEW_ARRAY(s->arena, int, nodes);
  s->is_batch = NEW_ARRAY(s->arena, bool, nodes);
  for (int i = 0; i < nodes; i++) s->parent[i] = i;
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = s->op = &graph->ops.at[i];
    if (op->kind == OP_VIEW) unify_view(s, op);
    if (op->kind != OP_COMPUTE) continue;
    for (int d = 0; d < op->n_out; d++) unify(s, node_of_tensor(op->out, d), node_of_op(s, i, d));
    expr_visit(op->body, unify_access, s);
  }
  for (int t = 0; t < graph->tensors.len; t++)
    if (graph_tensor(graph, t)->role == ROLE_INPUT) s->is_batch[root(s, node_of_tensor(t, 0))] = true;
}

static int batch_of_tensor(const Splitter *s, int tensor) { // its dimension, or -1
  for (int i = 0; i < graph_tensor(s->graph, tensor)->rank; i++)
    if (s->is_batch[root(s, node_of_tensor(tensor, i))]) return i;
  return -1;
}

static int batch_of_op(const Splitter *s, int op) {
  for (int d = 0; d < s->graph->ops.at[op].n_dims; d++)
    if (s->is_batch[root(s, node_of_op(s, op, d))]) return d;
  return -1;
}

// ---- what operators are to it --------------------------------------------------------------------------------------

static void check_access(void *ctx, const Expr *e) {
  Splitter *s = ctx;
  const int batch = e->kind == EXPR_ACCESS ? batch_of_tensor(s, e->access.tensor) : -1, along = batch_of_op(s, id_of(s, s->op));
  if (batch >= 0 && (along < 0 || access_full_dim(s->graph, s->op, e, batch) != along))
    refuse(s, s->op, "reads other samples of the batch for one");
  if (e->kind == EXPR_INDEX && along >= 0 && index_uses(e->index, along) && e->index->div != 1)
    refuse(s, s->op, "computes with the number of a sample");
}

typedef struct Reads {
  const Splitter *s;
  bool batch, after; // something that has the batch; something that is known only behind it
  Phase loop;        // the latest of what is read
} Reads;

static void note_read(void *ctx, int tensor) {
  Reads *r = ctx;
  const int producer = graph_tensor(r->s->graph, tensor)->producer;
  r->batch |= batch_of_tensor(r->s, tensor) >= 0;
  r->after |= r->s->after[tensor];
  if (producer >= 0 && r->s->loop[producer] > r->loop) r->loop = r->s->loop[producer];
}

static int count_batch_dims(const Splitter *s, int op) {
  int n = 0;
  for (int d = 0; d < s->graph->ops.at[op].n_dims; d++) n += s->is_batch[root(s, node_of_op(s, op, d))];
  return n;
}

static void check_op(Splitter *s, int id, const Reads *reads) {
  const Op *op = s->op = &s->graph->ops.at[id];
  if (op->kind == OP_OPAQUE && reads->batch) refuse(s, op, "calls a function that is made for the whole batch");
  if (op->kind == OP_VIEW && reads->batch && batch_of_tensor(s, op->out) < 0) refuse(s, op, "puts samples of the batch in another order");
  if (op->kind != OP_COMPUTE) return;
  if (count_batch_dims(s, id) > 1) refuse(s, op, "goes through pairs of samples of the batch");
  else expr_visit(op->body, check_access, s);
}

static void classify(Splitter *s, int id) {
  const Op *op = &s->graph->ops.at[id];
  Reads reads = {.s = s, .loop = op->phase == PHASE_BACKWARD ? PHASE_BACKWARD : PHASE_FORWARD};
  op_visit_reads(op, note_read, &reads);
  check_op(s, id, &reads);
  const int batch = op->kind == OP_COMPUTE ? batch_of_op(s, id) : -1;
  const bool sums = batch >= op->n_out;
  if (batch >= 0 || reads.batch) s->part[id] = sums ? SUM : ALONG;
  else s->part[id] = reads.after ? AFTER : FREE;
  s->loop[id] = reads.loop;
  if (sums && op->reduce != REDUCE_SUM) refuse(s, op, "takes the largest, smallest or a product over the whole batch");
  if ((batch >= 0 || reads.batch) && op->phase == PHASE_UPDATE) refuse(s, op, "updates with samples of the batch");
  for (int r = 0; r < op_results(op); r++) s->after[op_result(op, r)] = s->part[id] == SUM || s->part[id] == AFTER;
}

// ---- what must be known before -------------------------------------------------------------------------------------

static void need_before(void *ctx, int tensor) {
  Splitter *s = ctx;
  const Tensor *t = graph_tensor(s->graph, tensor);
  if (t->role == ROLE_PARAM || t->role == ROLE_STATE) {
    refuse(s, s->op, "needs a sum over the whole batch, which depends on what is trained, before it comes to one sample");
    return;
  }
  if (t->producer < 0 || s->begins[t->producer]) return;
  s->begins[t->producer] = true;
  op_visit_reads(&s->graph->ops.at[t->producer], need_before, s);
}

static void need_sum_before(void *ctx, int tensor) {
  Splitter *s = ctx;
  if (s->after[tensor]) need_before(s, tensor);
}

static void find_begin(Splitter *s) {
  for (int i = 0; i < s->graph->ops.len; i++) {
    s->op = &s->graph->ops.at[i];
    if (s->part[i] == ALONG || s->part[i] == SUM) op_visit_reads(s->op, need_sum_before, s);
  }
}

// ---- the whole batch -----------------------------------------------------------------------------------------------

// The tensor that an operator of PHASE_BEGIN reads.
static int whole_of(Splitter *s, int tensor) {
  if (batch_of_tensor(s, tensor) < 0) return tensor;
  if (s->whole[tensor] >= 0) return s->whole[tensor];
  Tensor whole = *graph_tensor(s->graph, tensor);
  whole.name = arena_printf(s->graph->arena, "%s.batch", whole.name);
  whole.of = whole.role == ROLE_INPUT ? tensor : -1;
  whole.producer = -1;
  return s->whole[tensor] = graph_add_tensor(s->graph, whole);
}

static const Expr *whole_leaf(void *ctx, const Expr *e) {
  Splitter *s = ctx;
  return e->kind == EXPR_ACCESS ? expr_access_of(s->graph->arena, e, whole_of(s, e->access.tensor)) : e;
}

static Op op_of_whole(Splitter *s, int id) {
  Op op = s->graph->ops.at[id];
  op.phase = PHASE_BEGIN;
  if (op.kind == OP_VIEW) op.in = whole_of(s, op.in);
  else op.body = expr_map(s->graph->arena, op.body, whole_leaf, s);
  op.out = whole_of(s, op.out);
  return op;
}

// ---- one microbatch ------------------------------------------------------------------------------------------------

static const Expr *micro_leaf(void *ctx, const Expr *e) {
  const Splitter *s = ctx;
  Arena *arena = s->graph->arena;
  const int d = batch_of_op(s, id_of(s, s->op));
  const int64_t length = s->op->dims[d].extent / s->number;
  if (e->kind == EXPR_RANDOM && index_uses(e->random.element, d))
    return expr_random_of(arena, e, *e->random.element, e->random.element->coef[d] * length);
  if (e->kind != EXPR_INDEX || !index_uses(e->index, d)) return e;
  const Expr *before = expr_call(arena, FN_mul, expr_run(arena, RUN_MICRO), expr_int(arena, e->index->coef[d] * length), NULL);
  return expr_call(arena, FN_add, e, before, NULL);
}

const Expr *microbatch_first_leaf(Arena *arena, const Expr *e) {
  if (e->kind == EXPR_RANDOM && e->random.apart != 0) return expr_random_of(arena, e, *e->random.element, 0);
  return e->kind == EXPR_RUN && e->run == RUN_MICRO ? expr_int(arena, 0) : e;
}

static Op op_of_micro(Splitter *s, int id) {
  Op op = s->graph->ops.at[id];
  const int d = op.kind == OP_COMPUTE ? batch_of_op(s, id) : -1;
  op.phase = s->loop[id];
  op.accumulates = s->part[id] == SUM;
  if (d < 0) return op;
  s->op = &s->graph->ops.at[id];
  op.body = expr_map(s->graph->arena, op.body, micro_leaf, s);
  op.dims[d].extent /= s->number;
  return op;
}

// ---- the graph -----------------------------------------------------------------------------------------------------

static void note_needed(void *ctx, int tensor) { ((bool *)ctx)[tensor] = true; }

// Phases of what has nothing to do with the batch: in every microbatch only where that needs it.
static void place_free(Splitter *s, Phase *phase) {
  bool *in_loop = NEW_ARRAY(s->arena, bool, s->graph->tensors.len); // by tensor: read there
  for (int i = s->graph->ops.len - 1; i >= 0; i--) {
    const Op *op = &s->graph->ops.at[i];
    const bool early = op->phase <= PHASE_BACKWARD, along = s->part[i] == ALONG || s->part[i] == SUM;
    phase[i] = s->begins[i] && !along ? PHASE_BEGIN : early ? PHASE_COMBINE : op->phase;
    if (along || (s->part[i] == FREE && !s->begins[i] && op_any_result(op, in_loop))) {
      phase[i] = s->loop[i];
      op_visit_reads(op, note_needed, in_loop);
    }
  }
}

static void split(Splitter *s) {
  Graph *graph = s->graph;
  const int n = graph->ops.len;
  Phase *phase = NEW_ARRAY(s->arena, Phase, n);
  VEC(Op) ops = {0};
  s->whole = NEW_ARRAY(s->arena, int, s->n_tensors);
  for (int t = 0; t < s->n_tensors; t++) s->whole[t] = -1;
  place_free(s, phase);
  for (int i = 0; i < n; i++) {
    const bool along = s->part[i] == ALONG || s->part[i] == SUM, whole_sum = s->begins[i] && s->part[i] == SUM;
    Op op = graph->ops.at[i];
    op.phase = phase[i];
    if (s->begins[i]) vec_push(s->arena, &ops, op_of_whole(s, i));
    if (!s->begins[i] && !along) vec_push(s->arena, &ops, op);
    if (along && !whole_sum) vec_push(s->arena, &ops, op_of_micro(s, i));
  }
  for (int t = 0; t < s->n_tensors; t++) {
    const int batch = batch_of_tensor(s, t);
    if (batch >= 0) graph_tensor(graph, t)->extent[batch] /= s->number;
  }
  graph_renew_ops(graph, ops.len);
  for (int i = 0; i < ops.len; i++) graph_add_op(graph, ops.at[i]);
  graph->microbatches = s->number;
  graph_sort_by_phase(graph);
  graph_drop_dead(graph);
  cost_mark_inlined(graph);
}

// Of the gradients that are rows, each microbatch would have others: they are added up as whole tensors.
static Graph *graph_to_split(const Model *model) {
  return model->dense != NULL ? graph_copy(model->train->arena, model->dense) : model->train;
}

const char *microbatch_split(Model *model, int number) {
  Graph *graph = graph_to_split(model);
  Splitter splitter = {.model = model, .graph = graph, .arena = arena_new(), .number = number, .n_tensors = graph->tensors.len}, *s = &splitter;
  find_batch(s);
  s->part = NEW_ARRAY(s->arena, Part, graph->ops.len);
  s->loop = NEW_ARRAY(s->arena, Phase, graph->ops.len);
  s->begins = NEW_ARRAY(s->arena, bool, graph->ops.len);
  s->after = NEW_ARRAY(s->arena, bool, graph->tensors.len);
  for (int t = 0; t < graph->tensors.len && s->refusal == NULL; t++) {
    const Tensor *tensor = graph_tensor(graph, t);
    if (plan_is_stored(tensor) && batch_of_tensor(s, t) >= 0)
      s->refusal = arena_printf(graph->arena, "%s has a part for every sample of the batch", tensor->name);
  }
  for (int i = 0; i < graph->ops.len; i++) classify(s, i);
  if (s->refusal == NULL) find_begin(s);
  if (s->refusal == NULL) {
    split(s);
    model->train = graph;
    model->dense = NULL;
  }
  arena_free(s->arena);
  return s->refusal;
}
