// From the terms of a statement to operators: every reduction inside of another expression becomes one of its own,
// over the dimensions around it that it uses.
//
//     y[i, c] = e[i, c] / sum(c) e[i, c]     becomes     y.sum[i] = sum(c) e[i, c];  y[i, c] = e[i, c] / y.sum[i]
#include <math.h>

#include "elab.h"

#define MAX_POINTS ((int64_t)1 << 62) // of an iteration space

// ---- names

const char *elab_op_name(Elab *e, const char *otherwise) {
  const AstDefKind kind = e->frame->def->ast->kind;
  return kind == AST_OP || kind == AST_OPAQUE || kind == AST_OPTIMIZER ? e->frame->def->ast->name : otherwise;
}

// Without printf, since every operator has such a name.
const char *elab_path(Elab *e, const char *path, const char *name) {
  const size_t len = strlen(path), name_len = strlen(name);
  if (len == 0) return name;
  char *text = arena_alloc(e->arena, len + name_len + 2);
  memcpy(text, path, len);
  text[len] = '.';
  memcpy(text + len + 1, name, name_len);
  return text;
}

const char *elab_stmt_name(Elab *e, const char *otherwise) {
  return e->frame->def->ast->kind == AST_LAYER ? e->frame->def->ast->name : elab_op_name(e, otherwise);
}

// In an op: PATH.OP for its result and PATH.OP.TARGET for the rest; elsewhere PATH.TARGET.
const char *elab_tensor_name(Elab *e, const char *target) {
  const AstDef *def = e->frame->def->ast;
  if (def->kind != AST_OP && def->kind != AST_OPAQUE) return elab_path(e, e->frame->prefix, target);
  const char *op = elab_path(e, e->frame->prefix, def->name);
  return def->results.len == 1 && str_eq(def->results.at[0].name, target) ? op : elab_path(e, op, target);
}

// Names that are taken get a number, so that no two dimensions of an operator are called the same.
void dims_make_unique(Elab *e, Dim *dims, int n) {
  for (int d = 0; d < n; d++) {
    const char *name = dims[d].name != NULL ? dims[d].name : arena_printf(e->arena, "d%d", d);
    dims[d].name = name;
    for (int number = 2, i = 0; i < d;) {
      if (!str_eq(dims[i].name, dims[d].name)) {
        i++;
        continue;
      }
      dims[d].name = arena_printf(e->arena, "%s%d", name, number++);
      i = 0;
    }
  }
}

// ---- checks

bool elab_can_add_op(Elab *e, Loc loc) {
  if (e->stopped) return false;
  if (e->graph->ops.len < MAX_OPS) return true;
  elab_error(e, loc, "the model is too large: more than %d operators", MAX_OPS);
  e->stopped = true;
  return false;
}

bool elab_check_dims(Elab *e, Loc loc, const Dim *dims, int n, const char *what) {
  int64_t points = 1;
  for (int d = 0; d < n; d++) {
    if (!__builtin_mul_overflow(points, dims[d].extent, &points) && points < MAX_POINTS) continue;
    elab_error(e, loc, "%s %s is too large: more than 2^62 elements", what, dims_text(e, dims, n));
    return false;
  }
  return true;
}

// ---- random streams

// A number for the random numbers of one place of the text on one path of calls, the same in every graph.
int elab_stream(Elab *e, Loc loc) {
  Text key = {.arena = e->arena};
  text_printf(&key, "%d:%s %s:%d:%d", e->of, e->frame->layer, loc.file != NULL ? loc.file : "", loc.line, loc.col);
  for (const Frame *frame = e->frame; frame != NULL; frame = frame->up)
    text_printf(&key, "/%d:%d", frame->call.line, frame->call.col);
  int visit = names_get(&e->visits, text_str(&key));
  if (visit < 0) {
    visit = e->visit_counts.len;
    names_set(&e->visits, text_str(&key), visit);
    vec_push(e->arena, &e->visit_counts, 0);
  }
  text_printf(&key, "#%d", e->visit_counts.at[visit]++);
  int stream = names_get(&e->streams, text_str(&key));
  if (stream < 0) names_set(&e->streams, text_str(&key), stream = e->n_streams++);
  return stream;
}

// ---- operators

static const Expr *resolve(Stmt *s, const Expr *body);

static Op op_proto(const Stmt *s) {
  const Elab *e = s->e;
  return (Op){
      .kind = OP_COMPUTE, .phase = e->phase, .name = s->op_name, .layer = e->frame->layer, .shard = e->frame->shard,
      .loc = elab_site(e, s->loc)};
}

// Values of integers that are known to lie in [0, range).
static int64_t value_range(const Elab *e, const Op *op) {
  if (op->reduce == REDUCE_ARGMAX) {
    int64_t range = 1;
    for (int d = op->n_out; d < op->n_dims; d++) range *= op->dims[d].extent;
    return range;
  }
  if (op->reduce != REDUCE_NONE || op->body->type == TYPE_REAL) return 0;
  if (op->body->kind == EXPR_ACCESS) return graph_tensor(e->graph, op->body->access.tensor)->range;
  const int plain = op->body->kind == EXPR_INDEX ? index_plain_dim(op->body->index) : -1;
  return plain >= 0 ? op->dims[plain].extent : 0;
}

// Adds the operator; `out` is its tensor or -1 for a new one of the given type. Returns the tensor, -1 after an error.
static int add_op(Stmt *s, Op op, ScalarType type, int out, const char *tensor_name) {
  Elab *e = s->e;
  if (!elab_can_add_op(e, s->loc)) return -1;
  if (op.n_out > IR_MAX_RANK) {
    elab_error(e, s->loc, "a tensor has at most %d dimensions, found %s", IR_MAX_RANK, dims_text(e, op.dims, op.n_out));
    return -1;
  }
  if (!elab_check_dims(e, s->loc, op.dims, op.n_dims, "the iteration space")) return -1;
  dims_make_unique(e, op.dims, op.n_dims);
  const int64_t range = value_range(e, &op);
  if (out >= 0) {
    op.out = out;
    graph_add_op(e->graph, op);
    return out;
  }
  out = graph_add_compute(e->graph, op, tensor_name);
  Tensor *t = graph_tensor(e->graph, out);
  t->type = type;
  t->range = type == TYPE_INT ? range : 0;
  return out;
}

// The operator of a nested reduction, made when it is first read; its result has the dims around that it uses.
static int emit_reduction(Stmt *s, int id) {
  Reduction *r = s->reductions.at[id];
  if (r->tensor >= 0) return r->tensor;
  const Expr *body = resolve(s, r->body);
  if (body == NULL) return -1;
  Op op = op_proto(s);
  Index by[IR_MAX_DIMS];
  op.reduce = r->reduce;
  for (int slot = 0; slot < r->first + r->n; slot++) {
    by[slot] = index_const(0); // not used
    if (slot < r->first && (r->free >> slot & 1) == 0) continue;
    by[slot] = index_dim(op.n_dims);
    op.dims[op.n_dims++] = r->slot[slot];
    op.n_out += slot < r->first;
  }
  op.body = expr_substitute(s->e->arena, body, by, r->first + r->n);
  const ScalarType type = op.reduce == REDUCE_ARGMAX ? TYPE_INT : op.body->type;
  const char *name = elab_path(s->e, s->tensor_name, reduce_name(r->reduce));
  return r->tensor = add_op(s, op, type, -1, name);
}

typedef struct Resolve {
  Stmt *s;
  bool failed;
} Resolve;

static const Expr *resolve_leaf(void *ctx, const Expr *leaf) {
  Resolve *x = ctx;
  if (leaf->kind != EXPR_ACCESS || leaf->access.tensor > REDUCTION_BASE) return leaf;
  const int id = REDUCTION_BASE - leaf->access.tensor;
  const int tensor = emit_reduction(x->s, id);
  if (tensor < 0) {
    x->failed = true;
    return leaf;
  }
  Index index[IR_MAX_DIMS];
  int rank = 0;
  for (int slot = 0; slot < IR_MAX_DIMS; slot++)
    if (x->s->reductions.at[id]->free >> slot & 1) index[rank++] = index_dim(slot);
  return expr_access(x->s->e->arena, tensor, leaf->type, rank, index, 0);
}

// The expression with its reductions replaced by reads of their results; NULL after an error.
static const Expr *resolve(Stmt *s, const Expr *body) {
  Resolve x = {.s = s};
  const Expr *result = expr_map(s->e->arena, body, resolve_leaf, &x);
  return x.failed ? NULL : result;
}

// Whether the value of an int expression comes from indices, int tensors or int(...) rather than from constants only.
static bool has_int_source(const Expr *body) {
  if (body->kind == EXPR_ACCESS || body->kind == EXPR_INDEX) return true;
  if (body->kind != EXPR_CALL || body->type == TYPE_BOOL) return false;
  if (body->call.fn == FN_int) return true;
  for (int i = body->call.fn == FN_select; i < fn_arity(body->call.fn); i++)
    if (has_int_source(body->call.arg[i])) return true;
  return false;
}

// Of a tensor that is not declared: zeros[i = 5] = 0 is real, position[i = 5] = i is int.
static ScalarType natural_type(const Expr *body) {
  return body->type == TYPE_INT && has_int_source(body) ? TYPE_INT : TYPE_REAL;
}

Value stmt_emit(Stmt *s, Term value, bool as_declared, ScalarType type, int out) {
  Elab *e = s->e;
  const Expr *body = term_expr(s, value, s->loc);
  if (body == NULL || !elab_work(e, s->loc, 4 * (int64_t)value.size)) return value_error();
  const bool is_truth = body->type == TYPE_BOOL;
  if (!as_declared) type = natural_type(body);
  if (type == TYPE_INT && body->type == TYPE_REAL) {
    elab_error(e, s->loc, "the result is declared int, but its value is real");
    return value_error();
  }
  if (is_truth)
    body = type == TYPE_INT ? expr_call(e->arena, FN_select, body, expr_int(e->arena, 1), expr_int(e->arena, 0))
                            : expr_call(e->arena, FN_select, body, expr_real(e->arena, 1), expr_real(e->arena, 0));
  if (type == TYPE_REAL && body->kind == EXPR_CONST) body = expr_real(e->arena, body->value);
  Op op = op_proto(s);
  op.n_dims = op.n_out = s->n_out;
  memcpy(op.dims, s->slot, sizeof(Dim) * (size_t)s->n_out);
  const bool whole = body->kind == EXPR_ACCESS && body->access.tensor <= REDUCTION_BASE;
  const Reduction *r = whole ? s->reductions.at[REDUCTION_BASE - body->access.tensor] : NULL;
  if (r != NULL && r->first == s->n_out) { // the statement is the reduction
    op.reduce = r->reduce;
    op.n_dims = r->first + r->n;
    memcpy(op.dims + r->first, r->slot + r->first, sizeof(Dim) * (size_t)r->n);
    body = r->body;
  }
  op.body = resolve(s, body);
  if (op.body == NULL) return value_error();
  const int tensor = add_op(s, op, type, out, s->tensor_name);
  return tensor < 0 ? value_error() : value_tensor(tensor);
}
