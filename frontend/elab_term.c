// From the syntax of an index expression to its terms: compile-time values, affine indices, and expressions.
#include <math.h>

#include "elab.h"

#define MAX_COEFFICIENT ((int64_t)1 << 40) // of an affine index

Term term_failed(void) { return (Term){.failed = true}; }
Term term_known(Value v) {
  return (Term){.known = true, .failed = is_error(v), .value = v, .size = v.kind == VALUE_RUN ? v.run.size : 1};
}
Term term_of(const Expr *expr, int size) { return (Term){.expr = expr, .size = size}; }
Term term_index(Index index) { return (Term){.affine = true, .index = index, .size = 1}; }

const Expr *term_expr(Stmt *s, Term t, Loc loc) {
  if (t.failed) return NULL;
  if (t.affine) return expr_index(s->e->arena, t.index);
  if (!t.known) return t.expr;
  if (is_scalar(t.value)) return value_expr(s->e, t.value);
  elab_error(s->e, loc, "expected a number, found %s", value_describe(s->e, t.value));
  return NULL;
}

// fn of terms that are not all known.
static Term call(Stmt *s, Loc loc, Fn fn, const Term *args) {
  const Expr *arg[3] = {NULL, NULL, NULL};
  int size = 1;
  for (int i = 0; i < fn_arity(fn); i++) {
    arg[i] = term_expr(s, args[i], loc);
    if (arg[i] == NULL) return term_failed();
    size += args[i].size;
  }
  if (size > MAX_EXPR_SIZE) {
    elab_error(s->e, loc, "the expression has become too large: more than %d operations", MAX_EXPR_SIZE);
    return term_failed();
  }
  return term_of(expr_call(s->e->arena, fn, arg[0], arg[1], arg[2]), size);
}

Term term_call(Stmt *s, Loc loc, Fn fn, const Term *args) {
  bool known = true;
  Value value[3];
  for (int i = 0; i < fn_arity(fn); i++) {
    if (args[i].failed) return term_failed();
    known = known && args[i].known;
    value[i] = args[i].value;
  }
  if (known) return term_known(value_call(s->e, loc, fn, value));
  if (fn == FN_select && args[0].known && args[0].value.kind == VALUE_BOOL) return args[args[0].value.truth ? 1 : 2];
  return call(s, loc, fn, args);
}

// ---- affine arithmetic

static bool as_index(Term t, Index *out) {
  if (t.affine) *out = t.index;
  else if (t.known && t.value.kind == VALUE_NUMBER && t.value.is_int) *out = index_const((int64_t)t.value.number);
  else return false;
  return true;
}

static bool small(const Index *index) {
  bool is_small = index->base <= MAX_COEFFICIENT && index->base >= -MAX_COEFFICIENT;
  for (int d = 0; d < IR_MAX_DIMS; d++)
    is_small = is_small && index->coef[d] <= MAX_COEFFICIENT && index->coef[d] >= -MAX_COEFFICIENT;
  return is_small;
}

static bool scale_is_small(const Index *index, int64_t factor) {
  const double limit = (double)MAX_COEFFICIENT, f = fabs((double)factor);
  bool is_small = fabs((double)index->base) * f <= limit;
  for (int d = 0; d < IR_MAX_DIMS; d++) is_small = is_small && fabs((double)index->coef[d]) * f <= limit;
  return is_small;
}

static Term index_too_large(Stmt *s, Loc loc) {
  elab_error(s->e, loc, "the index is too large: its factors go up to 2^40");
  return term_failed();
}

// The sum, difference or product of indices; false if it is not affine.
static bool affine_binary(Stmt *s, Loc loc, AstOp op, Term a, Term b, Term *out) {
  Index x, y;
  if ((!a.affine && !b.affine) || !as_index(a, &x) || !as_index(b, &y)) return false;
  if (!small(&x) || !small(&y)) {
    *out = index_too_large(s, loc);
    return true;
  }
  if (op == AST_ADD || op == AST_SUB) {
    const Index sum = index_add(x, op == AST_SUB ? index_scale(y, -1) : y);
    *out = small(&sum) ? term_index(sum) : index_too_large(s, loc);
    return true;
  }
  if (op != AST_MUL || (a.affine && b.affine && !index_is_const(&x) && !index_is_const(&y))) return false;
  const bool right = index_is_const(&y);
  const Index of = right ? x : y;
  const int64_t factor = right ? y.base : x.base;
  *out = scale_is_small(&of, factor) ? term_index(index_scale(of, factor)) : index_too_large(s, loc);
  return true;
}

Term term_unary(Stmt *s, Loc loc, AstOp op, Term a) {
  if (a.failed) return a;
  if (a.known) return term_known(value_unary(s->e, loc, op, a.value));
  if (op == AST_NEG && a.affine) return term_index(index_scale(a.index, -1));
  return call(s, loc, (Fn)fn_of_op(op), &a);
}

Term term_binary(Stmt *s, Loc loc, AstOp op, Term a, Term b) {
  Term affine;
  if (a.failed || b.failed) return term_failed();
  if (a.known && b.known) return term_known(value_binary(s->e, loc, op, a.value, b.value));
  if (affine_binary(s, loc, op, a, b, &affine)) return affine;
  if (op == AST_FLOORDIV || op == AST_MOD) {
    const Term quotient = call(s, loc, FN_div, (const Term[]){a, b});
    if (quotient.failed) return quotient;
    const Term floored = call(s, loc, FN_floor, &quotient);
    if (op == AST_FLOORDIV || floored.failed) return floored;
    return term_binary(s, loc, AST_SUB, a, term_binary(s, loc, AST_MUL, floored, b));
  }
  return call(s, loc, (Fn)fn_of_op(op), (const Term[]){a, b});
}

// ---- random numbers

// The position of the element in the iteration space at this place: the same number whatever the plan.
static bool element_index(Stmt *s, Loc loc, Index *out) {
  int64_t stride = 1;
  *out = index_const(0);
  for (int d = s->n_slots - 1; d >= 0; d--) {
    out->coef[d] = stride;
    if (!__builtin_mul_overflow(stride, s->slot[d].extent, &stride) && stride < (int64_t)1 << 62) continue;
    elab_error(s->e, loc, "too many random numbers: %s", dims_text(s->e, s->slot, s->n_slots));
    return false;
  }
  return true;
}

// uniform(), uniform(lo, hi), normal(), normal(deviation), normal(mean, deviation)
static Term random_term(Stmt *s, const AstExpr *expr, bool normal) {
  Elab *e = s->e;
  const int n = expr->args.len;
  for (int i = 0; i < n; i++)
    if (expr->args.at[i].name != NULL) {
      elab_error(e, expr->args.at[i].loc, "'%s' has no argument named '%s'", expr->text, expr->args.at[i].name);
      return term_failed();
    }
  if (normal ? n > 2 : n != 0 && n != 2) {
    elab_error(e, expr->loc,
               normal ? "'%s' takes (), (deviation) or (mean, deviation), found %d arguments"
                      : "'%s' takes () or (from, to), found %d argument(s)",
               expr->text, n);
    return term_failed();
  }
  Index element;
  if (!element_index(s, expr->loc, &element)) return term_failed();
  Term number = term_of(expr_random(e->arena, normal, elab_stream(e, expr->loc), element), 1);
  if (n == 0) return number;
  const Term last = term_convert(s, expr->args.at[n - 1].value);
  if (n == 1) return term_binary(s, expr->loc, AST_MUL, last, number);
  const Term from = term_convert(s, expr->args.at[0].value);
  const Term width = normal ? last : term_binary(s, expr->loc, AST_SUB, last, from);
  return term_binary(s, expr->loc, AST_ADD, from, term_binary(s, expr->loc, AST_MUL, width, number));
}

// ---- calls

static Term value_term(Stmt *s, Value v, Loc loc) {
  if (v.kind == VALUE_TERM) return *v.term;
  if (v.kind != VALUE_TENSOR) return term_known(v);
  const Tensor *t = graph_tensor(s->e->graph, v.tensor);
  if (t->rank == 0) return term_read(s, v.tensor, NULL);
  elab_error(s->e, loc, "a tensor %s stands in an index expression without indices: expected %d in brackets",
             shape_text(s->e, v.tensor), t->rank);
  return term_failed();
}

static Term macro_call(Stmt *s, const AstExpr *expr, Def *def) {
  Elab *e = s->e;
  const int n = expr->args.len;
  Arg *args = NEW_ARRAY(e->arena, Arg, n);
  Term *terms = NEW_ARRAY(e->arena, Term, n);
  bool failed = false;
  for (int i = 0; i < n; i++) {
    terms[i] = term_convert(s, expr->args.at[i].value);
    failed |= terms[i].failed;
    const Value value = terms[i].known ? terms[i].value : (Value){.kind = VALUE_TERM, .term = &terms[i]};
    args[i] = (Arg){expr->args.at[i].name, value, expr->args.at[i].loc};
  }
  if (failed || !elab_enter_fn(e, def, args, n, expr->loc)) return term_failed();
  e->frame->binders = s->binders.len;
  const Term result = term_convert(s, def->ast->value);
  elab_pop(e);
  return result;
}

static Term function_call(Stmt *s, const AstExpr *expr, Fn fn) {
  Term args[3] = {0};
  bool failed = false;
  if (expr->args.len != fn_arity(fn)) {
    elab_error(s->e, expr->loc, "'%s' takes %d argument%s, found %d", expr->text, fn_arity(fn),
               fn_arity(fn) == 1 ? "" : "s", expr->args.len);
    return term_failed();
  }
  for (int i = 0; i < fn_arity(fn); i++) {
    if (expr->args.at[i].name != NULL) {
      elab_error(s->e, expr->args.at[i].loc, "'%s' has no argument named '%s'", expr->text, expr->args.at[i].name);
      return term_failed();
    }
    args[i] = term_convert(s, expr->args.at[i].value);
    failed |= args[i].failed;
    if (fn == FN_select && i == 0 && args[0].known && args[0].value.kind == VALUE_BOOL) // only the chosen side counts
      return term_convert(s, expr->args.at[args[0].value.truth ? 1 : 2].value);
  }
  return failed ? term_failed() : term_call(s, expr->loc, fn, args);
}

// Whether an expression has an element of a tensor at an iteration dimension, as g[n, c] is.
static bool has_element(const Stmt *s, const AstExpr *expr) {
  switch (expr->kind) {
  case AST_UNARY: return has_element(s, expr->lhs);
  case AST_BINARY: return has_element(s, expr->lhs) || has_element(s, expr->rhs);
  case AST_INDEX:
    for (int i = 0; i < expr->args.len; i++) {
      const AstExpr *at = expr->args.at[i].value;
      if (at->kind == AST_NAME && stmt_binder(s, at->text, false) != NULL) return true;
      if (at->kind == AST_PACK && stmt_binder(s, at->text, true) != NULL) return true;
    }
    return false;
  default: return false;
  }
}

// An operator or a layer takes tensors: its arguments are no index expressions.
static bool takes_elements(Stmt *s, const AstExpr *call) {
  for (int i = 0; i < call->args.len; i++) {
    const AstExpr *arg = call->args.at[i].value;
    if (!has_element(s, arg)) continue;
    elab_error(s->e, arg->loc,
               "'%s' takes whole tensors, not elements: the indices stand behind the call, as in %s(x)[i, j]",
               call->text, call->text);
    return true;
  }
  return false;
}

static Term call_term(Stmt *s, const AstExpr *expr) {
  Def *def = elab_find_def(s->e, expr->text);
  const bool scalar = (def != NULL && def->ast->kind == AST_FN) || elab_scalar_fn(s->e, expr->text) >= 0;
  if (scalar) elab_no_shard(s->e, expr);
  if (def != NULL && def->ast->kind == AST_FN) return macro_call(s, expr, def);
  if (str_eq(expr->text, "uniform") || str_eq(expr->text, "normal"))
    return random_term(s, expr, str_eq(expr->text, "normal"));
  const int fn = elab_scalar_fn(s->e, expr->text);
  if (fn >= 0) return function_call(s, expr, (Fn)fn);
  if (def != NULL && takes_elements(s, expr)) return term_failed();
  return value_term(s, elab_call(s->e, expr), expr->loc);
}

// ---- all expressions

static Term name_term(Stmt *s, const AstExpr *expr) {
  const Binder *binder = stmt_binder(s, expr->text, false);
  if (binder != NULL) return term_index(index_dim(binder->first));
  if (stmt_binder(s, expr->text, true) != NULL) {
    elab_error(s->e, expr->loc, "'%s' stands for several dimensions and has no value: it is used as x[%s..]",
               expr->text, expr->text);
    return term_failed();
  }
  return value_term(s, elab_name(s->e, expr->text, expr->loc), expr->loc);
}

static Term field_term(Stmt *s, const AstExpr *expr) {
  const Binder *binder = expr->lhs->kind == AST_NAME ? stmt_binder(s, expr->lhs->text, false) : NULL;
  if (binder == NULL || !str_eq(expr->text, "extent")) return value_term(s, elab_expr(s->e, expr), expr->loc);
  return term_known(value_int(s->slot[binder->first].extent));
}

static Term binary_term(Stmt *s, const AstExpr *expr) {
  const Term lhs = term_convert(s, expr->lhs);
  const bool decides = (expr->op == AST_AND || expr->op == AST_OR) && lhs.known && lhs.value.kind == VALUE_BOOL;
  if (decides && lhs.value.truth == (expr->op == AST_OR)) return lhs;
  const Term rhs = term_convert(s, expr->rhs);
  if (decides) return rhs;
  return term_binary(s, expr->loc, expr->op, lhs, rhs);
}

Term term_convert(Stmt *s, const AstExpr *expr) {
  if (!elab_work(s->e, expr->loc, 2)) return term_failed();
  switch (expr->kind) {
  case AST_NAME: return name_term(s, expr);
  case AST_UNARY: return term_unary(s, expr->loc, expr->op, term_convert(s, expr->lhs));
  case AST_BINARY: return binary_term(s, expr);
  case AST_CALL: return call_term(s, expr);
  case AST_INDEX: return term_access(s, expr);
  case AST_FIELD: return field_term(s, expr);
  case AST_REDUCE: return term_reduce(s, expr);
  default: return term_known(elab_expr(s->e, expr));
  }
}
