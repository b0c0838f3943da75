// simplify: constant folding, trivial operators, common subexpressions, dead code.
//
// Requires: operators sorted by phase. Guarantees: the same, no operator without a reader, no two equal operators, no
// operator that only copies, transposes, broadcasts or slices, unless it is stored, reported, viewed or handed to a
// function of the user's.
//
//   t[n, c] = 2;  u[c, n] = x[n, c];  y[n, c] = (t[n, c] * u[c, n]);  z[n, c] = (2 * x[n, c])
// becomes
//   y[n, c] = (2 * x[n, c])      and z is y
#include "passes.h"
#include "rewrite.h"

typedef struct Simplifier {
  Graph *graph;
  bool partial_batches;
  int *alias;      // by tensor: the tensor to read instead (itself if none)
  bool *pinned;    // by tensor: kept under its own id: stores, losses, metrics, gradients
  int *bucket;     // hash table of operators, chained
  int *next;
  int n_buckets;
  const Op *op;    // the operator being rewritten
} Simplifier;

static void pin(Simplifier *s, int tensor) {
  if (tensor >= 0) s->pinned[tensor] = true;
}

static void pin_results(Simplifier *s) {
  const Graph *graph = s->graph;
  for (int i = 0; i < graph->stores.len; i++) pin(s, graph->stores.at[i].value);
  for (int i = 0; i < graph->losses.len; i++) pin(s, graph->losses.at[i].tensor);
  for (int i = 0; i < graph->metrics.len; i++) pin(s, graph->metrics.at[i].tensor);
  pin(s, graph->sampled);
  pin(s, graph->gradient_norm);
  for (int t = 0; t < graph->tensors.len; t++)
    if (graph_tensor(graph, t)->role != ROLE_VALUE) s->pinned[t] = true;
}

// ---- bodies ------------------------------------------------------------------------------------------------------

static bool is_trivial(const Expr *e) {
  if (e->kind == EXPR_CONST || e->kind == EXPR_ACCESS || e->kind == EXPR_RUN) return true;
  if (e->kind != EXPR_CALL) return false;
  if (e->call.fn == FN_neg) return is_trivial(e->call.arg[0]);
  return e->call.fn == FN_mul && e->call.arg[0]->kind == EXPR_CONST && is_trivial(e->call.arg[1]);
}

static const Expr *rewrite_leaf(void *ctx, const Expr *e) {
  Simplifier *s = ctx;
  Graph *graph = s->graph;
  if (e->kind != EXPR_ACCESS) return e;
  const int tensor = s->alias[e->access.tensor];
  if (tensor != e->access.tensor)
    e = expr_access_of(graph->arena, e, tensor);
  const int producer = graph_tensor(graph, tensor)->producer;
  if (producer < 0) return e;
  const Op *source = &graph->ops.at[producer];
  if (source->kind != OP_COMPUTE || source->reduce != REDUCE_NONE || !is_trivial(source->body)) return e;
  if (source->body->type != e->type || !access_in_range(graph, s->op, e)) return e;
  Index by[IR_MAX_DIMS];
  for (int i = 0; i < e->access.rank; i++) by[i] = e->access.index[i];
  return expr_substitute(graph->arena, source->body, by, e->access.rank);
}

// one(x) is 1 where no batch can be partial; stop has done its work once gradients are derived.
static const Expr *fold_markers(Simplifier *s, const Expr *e) {
  if (e->kind != EXPR_CALL) return e;
  if (e->call.fn == FN_one && !s->partial_batches) return expr_real(s->graph->arena, 1);
  if (e->call.fn == FN_stop) return fold_markers(s, e->call.arg[0]);
  const Expr *arg[3] = {NULL, NULL, NULL};
  bool same = true;
  for (int i = 0; i < fn_arity(e->call.fn); i++) {
    arg[i] = fold_markers(s, e->call.arg[i]);
    same = same && arg[i] == e->call.arg[i];
  }
  return same ? e : expr_call(s->graph->arena, e->call.fn, arg[0], arg[1], arg[2]);
}

// A reduction of the same constant at every point is a constant.
static void fold_reduction(Simplifier *s, Op *op) {
  if (op->body->kind != EXPR_CONST || op->reduce == REDUCE_NONE || op->reduce == REDUCE_ARGMAX) return;
  double points = 1, value = op->body->value;
  for (int d = op->n_out; d < op->n_dims; d++) points *= (double)op->dims[d].extent;
  if (op->reduce == REDUCE_SUM) value *= points;
  if (op->reduce == REDUCE_PROD) value = fn_eval(FN_pow, value, points, 0);
  op->body = expr_const(s->graph->arena, value, op->body->type);
  op->reduce = REDUCE_NONE;
  op->n_dims = op->n_out;
}

// ---- equal operators ---------------------------------------------------------------------------------------------

// Equal calls give equal results: functions of the user's have no state.
static bool opaque_equal(const Opaque *a, const Opaque *b) {
  if (!str_eq(a->function, b->function) || a->n_args != b->n_args || a->n_attrs != b->n_attrs) return false;
  for (int i = 0; i < a->n_args; i++) {
    const OpaqueArg *x = &a->args[i], *y = &b->args[i];
    if (x->written != y->written || x->rank != y->rank) return false;
    if (x->written ? (x->tensor < 0) != (y->tensor < 0) : x->tensor != y->tensor) return false;
    if (memcmp(x->dim, y->dim, sizeof *x->dim * (size_t)x->rank) != 0) return false;
  }
  for (int i = 0; i < a->n_attrs; i++)
    if (a->attrs[i].value != b->attrs[i].value) return false;
  return true;
}

static bool same_shapes(const Graph *graph, const Op *a, const Op *b) {
  for (int r = 0; r < op_results(a); r++) {
    const Tensor *x = graph_tensor(graph, op_result(a, r)), *y = graph_tensor(graph, op_result(b, r));
    if (x->rank != y->rank || memcmp(x->extent, y->extent, sizeof *x->extent * (size_t)x->rank) != 0) return false;
  }
  return true;
}

static uint64_t op_hash(const Op *op) {
  if (op->kind == OP_OPAQUE) return (uint64_t)op->opaque->args[0].tensor * 31 + 11;
  if (op->kind != OP_COMPUTE) return (uint64_t)op->in * 31 + 7;
  uint64_t hash = expr_hash(op->body) * 31 + (uint64_t)op->reduce;
  for (int d = 0; d < op->n_dims; d++) hash = hash * 31 + (uint64_t)op->dims[d].extent;
  return hash;
}

static bool op_equal(const Graph *graph, const Op *a, const Op *b) {
  if (a->kind != b->kind || a->shard != b->shard) return false;
  if (a->kind == OP_OPAQUE) return opaque_equal(a->opaque, b->opaque) && same_shapes(graph, a, b);
  if (a->kind != OP_COMPUTE) {
    const Tensor *x = graph_tensor(graph, a->out), *y = graph_tensor(graph, b->out);
    if (a->in != b->in || x->rank != y->rank) return false;
    return memcmp(x->extent, y->extent, sizeof *x->extent * (size_t)x->rank) == 0;
  }
  if (a->reduce != b->reduce || a->n_dims != b->n_dims || a->n_out != b->n_out) return false;
  for (int d = 0; d < a->n_dims; d++)
    if (a->dims[d].extent != b->dims[d].extent) return false;
  return expr_equal(a->body, b->body) && graph_tensor(graph, a->out)->type == graph_tensor(graph, b->out)->type;
}

// An earlier operator that computes the same, or -1; enters this one if there is none.
static int find_equal(Simplifier *s, int op_id) {
  const Op *op = &s->graph->ops.at[op_id];
  const int b = (int)(op_hash(op) % (uint64_t)s->n_buckets);
  for (int i = s->bucket[b]; i >= 0; i = s->next[i]) {
    const Op *other = &s->graph->ops.at[i];
    // Reports are computed only in some steps: what trains may not lean on them.
    if (other->phase == PHASE_REPORT && op->phase != PHASE_REPORT) continue;
    if (op_equal(s->graph, op, other)) return i;
  }
  s->next[op_id] = s->bucket[b];
  s->bucket[b] = op_id;
  return -1;
}

// ---- views -------------------------------------------------------------------------------------------------------

// The operator that makes the tensor, if it only copies: permutes, slices, repeats.
static const Op *copying(const Graph *graph, int tensor) {
  const int producer = graph_tensor(graph, tensor)->producer;
  if (producer < 0) return NULL;
  const Op *op = &graph->ops.at[producer];
  const bool copies = op->kind == OP_COMPUTE && op->reduce == REDUCE_NONE && op->body->kind == EXPR_ACCESS;
  return copies && op->body->type == graph_tensor(graph, tensor)->type ? op : NULL;
}

static bool copies_as_it_is(const Graph *graph, const Op *op) {
  if (op->body->access.rank != op->n_out) return false;
  for (int i = 0; i < op->n_out; i++)
    if (access_full_dim(graph, op, op->body, i) != i) return false;
  return true;
}

// A view of a copy that differs from it in dimensions of extent 1 only is that copy itself; others read through it.
static bool view_copies(Simplifier *s, Op *op) {
  Graph *graph = s->graph;
  const Op *copy = copying(graph, op->in);
  const Tensor *in = graph_tensor(graph, op->in), *out = graph_tensor(graph, op->out);
  if (copy == NULL || copies_as_it_is(graph, copy)) return false;
  Index by[IR_MAX_DIMS];
  int o = 0;
  for (int i = 0; i < in->rank; i++) {
    by[i] = index_const(0);
    if (in->extent[i] == 1) continue;
    while (o < out->rank && out->extent[o] == 1) o++;
    if (o == out->rank || out->extent[o] != in->extent[i]) return false;
    by[i] = index_dim(o++);
  }
  op->kind = OP_COMPUTE;
  op->reduce = REDUCE_NONE;
  op->body = expr_substitute(graph->arena, copy->body, by, in->rank);
  dims_of_tensor(out, op->dims);
  op->n_dims = op->n_out = out->rank;
  return true;
}

// A view of a view or a copy is a view of what is below; a view that changes nothing is what it views.
static void simplify_view(Simplifier *s, Op *op) {
  Graph *graph = s->graph;
  const int producer = graph_tensor(graph, op->in)->producer;
  if (producer >= 0 && graph->ops.at[producer].kind == OP_VIEW) op->in = graph->ops.at[producer].in;
  const Op *copy = copying(graph, op->in);
  if (copy != NULL && copies_as_it_is(graph, copy)) op->in = copy->body->access.tensor;
  const Tensor *in = graph_tensor(graph, op->in), *out = graph_tensor(graph, op->out);
  if (s->pinned[op->out] || in->rank != out->rank) return;
  if (memcmp(in->extent, out->extent, sizeof *in->extent * (size_t)in->rank) == 0) s->alias[op->out] = op->in;
}

static int aliased(void *ctx, const OpaqueArg *arg) { return ((Simplifier *)ctx)->alias[arg->tensor]; }

static void rewrite_op(Simplifier *s, int op_id) {
  Op *op = &s->graph->ops.at[op_id];
  if (op->kind == OP_VIEW) op->in = s->alias[op->in];
  if (op->kind == OP_VIEW && !view_copies(s, op)) {
    simplify_view(s, op);
  } else if (op->kind == OP_OPAQUE) {
    op->opaque = opaque_map_operands(s->graph->arena, op->opaque, aliased, s);
  } else {
    op_drop_unit_dims(s->graph, op);
    op->body = fold_markers(s, op->body);
    for (int round = 0; round < 4; round++) { // a trivial operator may read another one
      s->op = op;
      const Expr *before = op->body;
      op->body = expr_map(s->graph->arena, op->body, rewrite_leaf, s);
      if (op->body == before) break;
    }
    fold_reduction(s, op);
  }
  if (op_any_result(op, s->pinned)) return;
  const int equal = find_equal(s, op_id);
  for (int r = 0; equal >= 0 && r < op_results(op); r++)
    s->alias[op_result(op, r)] = op_result(&s->graph->ops.at[equal], r);
}

void pass_simplify(Graph *graph, bool partial_batches) {
  Simplifier s = {.graph = graph, .partial_batches = partial_batches, .n_buckets = graph->ops.len * 2 + 1};
  s.alias = NEW_ARRAY(graph->arena, int, graph->tensors.len);
  s.pinned = NEW_ARRAY(graph->arena, bool, graph->tensors.len);
  s.bucket = NEW_ARRAY(graph->arena, int, s.n_buckets);
  s.next = NEW_ARRAY(graph->arena, int, graph->ops.len);
  for (int t = 0; t < graph->tensors.len; t++) s.alias[t] = t;
  for (int b = 0; b < s.n_buckets; b++) s.bucket[b] = -1;
  pin_results(&s);
  for (int i = 0; i < graph->ops.len; i++) rewrite_op(&s, i);
  graph_drop_dead(graph);
}
