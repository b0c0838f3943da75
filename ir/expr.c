// Building, folding and walking index expressions.
#include "expr.h"

#include <math.h>

typedef enum FnType { SAME, REAL, INT, BOOL, SECOND } FnType;

static const struct FnInfo {
  const char *name;
  int arity;
  FnType type;
  double flops;
} fn_table[FN_COUNT] = {
#define FN(name, arity, spelling, type, flops) [FN_##name] = {#name, arity, type, flops},
#include "functions.def"
#undef FN
};

const char *fn_name(Fn fn) { return fn_table[fn].name; }
int fn_arity(Fn fn) { return fn_table[fn].arity; }
double fn_flops(Fn fn) { return fn_table[fn].flops; }

int fn_find(const char *name) {
  for (int fn = 0; fn < FN_COUNT; fn++)
    if (str_eq(fn_table[fn].name, name)) return fn;
  return -1;
}

const char *run_scalar_name(RunScalar scalar) {
  static const char *const name[RUN_SCALARS] = {[RUN_LR] = "lr", [RUN_STEP] = "step", [RUN_STEPS] = "steps", [RUN_MICRO] = "micro"};
  return name[scalar];
}

double fn_eval(Fn fn, double a, double b, double c) {
  switch (fn) {
  case FN_add: return a + b;
  case FN_sub: return a - b;
  case FN_mul: return a * b;
  case FN_div: return a / b;
  case FN_neg: return -a;
  case FN_abs: return fabs(a);
  case FN_max: return a > b ? a : b;
  case FN_min: return a < b ? a : b;
  case FN_pow: return pow(a, b);
  case FN_exp: return exp(a);
  case FN_log: return log(a);
  case FN_sqrt: return sqrt(a);
  case FN_sin: return sin(a);
  case FN_cos: return cos(a);
  case FN_tanh: return tanh(a);
  case FN_erf: return erf(a);
  case FN_floor:
  case FN_int: return floor(a);
  case FN_eq: return a == b;
  case FN_ne: return a != b;
  case FN_lt: return a < b;
  case FN_le: return a <= b;
  case FN_gt: return a > b;
  case FN_ge: return a >= b;
  case FN_and: return a != 0 && b != 0;
  case FN_or: return a != 0 || b != 0;
  case FN_not: return a == 0;
  case FN_select: return a != 0 ? b : c;
  case FN_stop: return a;
  case FN_one: return 1;
  case FN_COUNT: break;
  }
  fatal("fn_eval: unknown function %d", (int)fn);
}

static Expr *expr_new(Arena *arena, ExprKind kind, ScalarType type) {
  Expr *e = NEW(arena, Expr);
  e->kind = kind;
  e->type = type;
  return e;
}

const Expr *expr_const(Arena *arena, double value, ScalarType type) {
  Expr *e = expr_new(arena, EXPR_CONST, type);
  e->value = value;
  return e;
}

const Expr *expr_real(Arena *arena, double value) { return expr_const(arena, value, TYPE_REAL); }
const Expr *expr_int(Arena *arena, int64_t value) { return expr_const(arena, (double)value, TYPE_INT); }

const Expr *expr_index(Arena *arena, Index index) {
  if (index_is_const(&index)) return expr_int(arena, index.base);
  Expr *e = expr_new(arena, EXPR_INDEX, TYPE_INT);
  e->index = arena_copy(arena, &index, sizeof index);
  return e;
}

// Most accesses are at dimensions in their order: these share one list. NULL: others.
static const Index *run_of_dims(int rank, const Index *index) {
#define DIM(d) {.div = 1, .coef = {[d] = 1}}
  static const Index dims[IR_MAX_DIMS] = {DIM(0), DIM(1), DIM(2), DIM(3),  DIM(4),  DIM(5),  DIM(6),
                                          DIM(7), DIM(8), DIM(9), DIM(10), DIM(11), DIM(12), DIM(13)};
#undef DIM
  if (rank == 0) return dims;
  const int first = index_plain_dim(index);
  if (first < 0 || first + rank > IR_MAX_DIMS || memcmp(dims + first, index, sizeof *index * (size_t)rank) != 0) return NULL;
  return dims + first;
}

const Expr *expr_access(Arena *arena, int tensor, ScalarType type, int rank, const Index *index, double outside) {
  Expr *e = expr_new(arena, EXPR_ACCESS, type);
  e->access.tensor = tensor;
  e->access.rank = rank;
  e->access.index = run_of_dims(rank, index);
  if (e->access.index == NULL) e->access.index = arena_copy(arena, index, sizeof *index * (size_t)rank);
  e->access.outside = outside;
  return e;
}

const Expr *expr_access_of(Arena *arena, const Expr *access, int tensor) {
  Expr *e = NEW(arena, Expr);
  *e = *access;
  e->access.tensor = tensor;
  return e;
}

const Expr *expr_random(Arena *arena, bool normal, int stream, Index element) {
  Expr *e = expr_new(arena, EXPR_RANDOM, TYPE_REAL);
  e->random.normal = normal;
  e->random.stream = stream;
  e->random.element = arena_copy(arena, &element, sizeof element);
  return e;
}

const Expr *expr_random_of(Arena *arena, const Expr *random, Index element, int64_t apart) {
  Expr *e = NEW(arena, Expr);
  *e = *random;
  e->random.element = arena_copy(arena, &element, sizeof element);
  e->random.apart = apart;
  return e;
}

const Expr *expr_run(Arena *arena, RunScalar scalar) {
  Expr *e = expr_new(arena, EXPR_RUN, scalar == RUN_MICRO ? TYPE_INT : TYPE_REAL);
  e->run = scalar;
  return e;
}

bool expr_is_const(const Expr *e, double value) { return e->kind == EXPR_CONST && e->value == value; }

static ScalarType wider(ScalarType a, ScalarType b) {
  if (a == TYPE_REAL || b == TYPE_REAL) return TYPE_REAL;
  return a == TYPE_INT || b == TYPE_INT ? TYPE_INT : TYPE_BOOL;
}

static ScalarType call_type(Fn fn, const Expr *a, const Expr *b, const Expr *c) {
  switch (fn_table[fn].type) {
  case REAL: return TYPE_REAL;
  case INT: return TYPE_INT;
  case BOOL: return TYPE_BOOL;
  case SECOND: return wider(b->type, c->type);
  case SAME: break;
  }
  const ScalarType type = b != NULL ? wider(a->type, b->type) : a->type;
  return type == TYPE_BOOL && fn != FN_stop ? TYPE_INT : type;
}

static const Expr *as_real(Arena *arena, const Expr *e) {
  return e->kind == EXPR_CONST && e->type != TYPE_REAL ? expr_real(arena, e->value) : e;
}

// A simpler expression equal to fn(a, b, c), or NULL. Neutral elements only where the type stays the same.
static const Expr *fold(Arena *arena, Fn fn, ScalarType type, const Expr *a, const Expr *b, const Expr *c) {
#define KEEPS(e) ((e)->type == type)
  switch (fn) {
  case FN_add:
    if (expr_is_const(a, 0) && KEEPS(b)) return b;
    if (expr_is_const(b, 0) && KEEPS(a)) return a;
    if (b->kind == EXPR_CALL && b->call.fn == FN_neg) return expr_call(arena, FN_sub, a, b->call.arg[0], NULL);
    return NULL;
  case FN_sub:
    if (expr_is_const(b, 0) && KEEPS(a)) return a;
    if (expr_is_const(a, 0) && KEEPS(b)) return expr_call(arena, FN_neg, b, NULL, NULL);
    if (b->kind == EXPR_CALL && b->call.fn == FN_neg) return expr_call(arena, FN_add, a, b->call.arg[0], NULL);
    return NULL;
  case FN_mul:
    if (expr_is_const(a, 0) || expr_is_const(b, 0)) return expr_const(arena, 0, type);
    if (expr_is_const(a, 1) && KEEPS(b)) return b;
    if (expr_is_const(b, 1) && KEEPS(a)) return a;
    if (expr_is_const(a, -1) && KEEPS(b)) return expr_call(arena, FN_neg, b, NULL, NULL);
    if (expr_is_const(b, -1) && KEEPS(a)) return expr_call(arena, FN_neg, a, NULL, NULL);
    if (a->kind == EXPR_CONST && b->kind == EXPR_CALL && b->call.fn == FN_mul && b->call.arg[0]->kind == EXPR_CONST &&
        type == TYPE_REAL)
      return expr_call(arena, FN_mul, expr_real(arena, a->value * b->call.arg[0]->value), b->call.arg[1], NULL);
    if (b->kind == EXPR_CONST && a->kind != EXPR_CONST) return expr_call(arena, FN_mul, b, a, NULL);
    return NULL;
  case FN_div:
    if (expr_is_const(a, 0)) return expr_real(arena, 0);
    if (expr_is_const(b, 1) && KEEPS(a)) return a;
    return NULL;
  case FN_neg:
    if (a->kind == EXPR_CALL && a->call.fn == FN_neg) return a->call.arg[0];
    return NULL;
  case FN_pow:
    if (expr_is_const(b, 1) && KEEPS(a)) return a;
    if (expr_is_const(b, 2)) return expr_call(arena, FN_mul, a, a, NULL);
    if (expr_is_const(b, 0.5)) return expr_call(arena, FN_sqrt, a, NULL, NULL);
    return NULL;
  case FN_and:
    if (expr_is_const(a, 0) || expr_is_const(b, 0)) return expr_const(arena, 0, TYPE_BOOL);
    if (a->kind == EXPR_CONST && KEEPS(b)) return b;
    if (b->kind == EXPR_CONST && KEEPS(a)) return a;
    return NULL;
  case FN_or:
    if (expr_is_const(a, 0) && KEEPS(b)) return b;
    if (expr_is_const(b, 0) && KEEPS(a)) return a;
    return NULL;
  case FN_select:
    if (a->kind == EXPR_CONST && KEEPS(b) && KEEPS(c)) return a->value != 0 ? b : c;
    if (expr_equal(b, c) && KEEPS(b)) return b;
    return NULL;
  default: return NULL;
  }
#undef KEEPS
}

const Expr *expr_call(Arena *arena, Fn fn, const Expr *a, const Expr *b, const Expr *c) {
  const ScalarType type = call_type(fn, a, b, c);
  const bool all_const =
      a->kind == EXPR_CONST && (b == NULL || b->kind == EXPR_CONST) && (c == NULL || c->kind == EXPR_CONST);
  if (all_const)
    return expr_const(arena, fn_eval(fn, a->value, b != NULL ? b->value : 0, c != NULL ? c->value : 0), type);
  if (type == TYPE_REAL && fn != FN_select) {
    a = as_real(arena, a);
    if (b != NULL) b = as_real(arena, b);
  }
  if (type == TYPE_REAL && fn == FN_select) {
    b = as_real(arena, b);
    c = as_real(arena, c);
  }
  const Expr *simpler = fold(arena, fn, type, a, b, c);
  if (simpler != NULL) return simpler;
  Expr *e = expr_new(arena, EXPR_CALL, type);
  e->call.fn = fn;
  e->call.arg[0] = a;
  e->call.arg[1] = b;
  e->call.arg[2] = c;
  return e;
}

bool expr_equal(const Expr *a, const Expr *b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->type != b->type) return false;
  switch (a->kind) {
  case EXPR_CONST: return a->value == b->value || (isnan(a->value) && isnan(b->value));
  case EXPR_INDEX: return index_equal(a->index, b->index);
  case EXPR_RUN: return a->run == b->run;
  case EXPR_RANDOM:
    return a->random.normal == b->random.normal && a->random.stream == b->random.stream &&
           a->random.apart == b->random.apart && index_equal(a->random.element, b->random.element);
  case EXPR_ACCESS:
    if (a->access.tensor != b->access.tensor || a->access.outside != b->access.outside) return false;
    for (int i = 0; i < a->access.rank; i++)
      if (!index_equal(&a->access.index[i], &b->access.index[i])) return false;
    return true;
  case EXPR_CALL:
    if (a->call.fn != b->call.fn) return false;
    for (int i = 0; i < fn_arity(a->call.fn); i++)
      if (!expr_equal(a->call.arg[i], b->call.arg[i])) return false;
    return true;
  }
  return false;
}

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

static uint64_t index_hash(uint64_t hash, const Index *index) {
  hash = mix(mix(hash, (uint64_t)index->base), (uint64_t)index->div);
  for (int d = 0; d < IR_MAX_DIMS; d++) hash = mix(hash, (uint64_t)index->coef[d]);
  return hash;
}

uint64_t expr_hash(const Expr *e) {
  uint64_t hash = mix((uint64_t)e->kind + 1, (uint64_t)e->type);
  switch (e->kind) {
  case EXPR_CONST: {
    uint64_t bits;
    memcpy(&bits, &e->value, sizeof bits);
    return mix(hash, bits);
  }
  case EXPR_INDEX: return index_hash(hash, e->index);
  case EXPR_RUN: return mix(hash, (uint64_t)e->run);
  case EXPR_RANDOM: return index_hash(mix(hash, (uint64_t)e->random.stream), e->random.element);
  case EXPR_ACCESS:
    hash = mix(hash, (uint64_t)e->access.tensor);
    for (int i = 0; i < e->access.rank; i++) hash = index_hash(hash, &e->access.index[i]);
    return hash;
  case EXPR_CALL:
    hash = mix(hash, (uint64_t)e->call.fn);
    for (int i = 0; i < fn_arity(e->call.fn); i++) hash = mix(hash, expr_hash(e->call.arg[i]));
    return hash;
  }
  return hash;
}

const Expr *expr_map(Arena *arena, const Expr *e, ExprLeafFn *leaf, void *ctx) {
  if (e->kind != EXPR_CALL) return leaf(ctx, e);
  const Expr *arg[3] = {NULL, NULL, NULL};
  bool same = true;
  for (int i = 0; i < fn_arity(e->call.fn); i++) {
    arg[i] = expr_map(arena, e->call.arg[i], leaf, ctx);
    same = same && arg[i] == e->call.arg[i];
  }
  return same ? e : expr_call(arena, e->call.fn, arg[0], arg[1], arg[2]);
}

void expr_visit(const Expr *e, ExprVisitFn *visit, void *ctx) {
  visit(ctx, e);
  if (e->kind != EXPR_CALL) return;
  for (int i = 0; i < fn_arity(e->call.fn); i++) expr_visit(e->call.arg[i], visit, ctx);
}

void expr_visit_accesses(const Expr *e, ExprVisitFn *visit, void *ctx) {
  if (e->kind == EXPR_ACCESS) visit(ctx, e);
  for (int i = 0; e->kind == EXPR_CALL && i < 3 && e->call.arg[i] != NULL; i++) expr_visit_accesses(e->call.arg[i], visit, ctx);
}

const Expr *expr_copy(Arena *arena, const Expr *e) {
  switch (e->kind) {
  case EXPR_INDEX: return expr_index(arena, *e->index);
  case EXPR_ACCESS: return expr_access(arena, e->access.tensor, e->type, e->access.rank, e->access.index, e->access.outside);
  case EXPR_RANDOM: return expr_random_of(arena, e, *e->random.element, e->random.apart);
  default: break;
  }
  Expr *copy = arena_copy(arena, e, sizeof *e);
  for (int i = 0; e->kind == EXPR_CALL && i < fn_arity(e->call.fn); i++) copy->call.arg[i] = expr_copy(arena, e->call.arg[i]);
  return copy;
}

typedef struct Substitution {
  Arena *arena;
  const Index *by;
  int n_dims;
} Substitution;

static const Expr *substitute_leaf(void *ctx, const Expr *e) {
  const Substitution *s = ctx;
  switch (e->kind) {
  case EXPR_INDEX: return expr_index(s->arena, index_substitute(e->index, s->by, s->n_dims));
  case EXPR_RANDOM:
    return expr_random_of(s->arena, e, index_substitute(e->random.element, s->by, s->n_dims), e->random.apart);
  case EXPR_ACCESS: {
    Index index[IR_MAX_RANK];
    for (int i = 0; i < e->access.rank; i++) index[i] = index_substitute(&e->access.index[i], s->by, s->n_dims);
    return expr_access(s->arena, e->access.tensor, e->type, e->access.rank, index, e->access.outside);
  }
  default: return e;
  }
}

static bool stays(const Index *by, int n_dims) {
  for (int d = 0; d < n_dims; d++)
    if (index_plain_dim(&by[d]) != d) return false;
  return true;
}

const Expr *expr_substitute(Arena *arena, const Expr *e, const Index *by, int n_dims) {
  if (stays(by, n_dims)) return e;
  Substitution s = {arena, by, n_dims};
  return expr_map(arena, e, substitute_leaf, &s);
}

typedef struct DimUse {
  int dim;
  bool used;
} DimUse;

static void note_dim(void *ctx, const Expr *e) {
  DimUse *use = ctx;
  if (e->kind == EXPR_INDEX) use->used |= index_uses(e->index, use->dim);
  if (e->kind == EXPR_RANDOM) use->used |= index_uses(e->random.element, use->dim);
  if (e->kind == EXPR_ACCESS)
    for (int i = 0; i < e->access.rank; i++) use->used |= index_uses(&e->access.index[i], use->dim);
}

bool expr_uses_dim(const Expr *e, int dim) {
  DimUse use = {dim, false};
  expr_visit(e, note_dim, &use);
  return use.used;
}

typedef struct TensorUse {
  int tensor;
  bool read;
} TensorUse;

static void note_tensor(void *ctx, const Expr *e) {
  TensorUse *use = ctx;
  use->read |= e->kind == EXPR_ACCESS && e->access.tensor == use->tensor;
}

bool expr_reads(const Expr *e, int tensor) {
  TensorUse use = {tensor, false};
  expr_visit(e, note_tensor, &use);
  return use.read;
}

static void add_flops(void *ctx, const Expr *e) {
  double *flops = ctx;
  if (e->kind == EXPR_CALL) *flops += fn_flops(e->call.fn);
  if (e->kind == EXPR_RANDOM) *flops += 40;
}

double expr_flops(const Expr *e) {
  double flops = 0;
  expr_visit(e, add_flops, &flops);
  return flops;
}
