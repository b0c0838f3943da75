// Expressions outside of index statements: compile-time values and whole tensors.
#include "elab.h"

int fn_of_op(AstOp op) {
  switch (op) {
  case AST_ADD: return FN_add;
  case AST_SUB: return FN_sub;
  case AST_MUL: return FN_mul;
  case AST_DIV: return FN_div;
  case AST_NEG: return FN_neg;
  case AST_NOT: return FN_not;
  case AST_EQ: return FN_eq;
  case AST_NE: return FN_ne;
  case AST_LT: return FN_lt;
  case AST_LE: return FN_le;
  case AST_GT: return FN_gt;
  case AST_GE: return FN_ge;
  case AST_AND: return FN_and;
  case AST_OR: return FN_or;
  case AST_FLOORDIV:
  case AST_MOD: return -1;
  }
  return -1;
}

const char *op_symbol(AstOp op) {
  static const char *const symbol[] = {"+",  "-",  "*", "/",  "//", "%",  "-",   "not",
                                       "==", "!=", "<", "<=", ">",  ">=", "and", "or"};
  return symbol[op];
}

// Functions with an operator of their own are called by it.
int elab_scalar_fn(Elab *e, const char *name) {
  if (e->scalar_fns.len == 0)
    for (int fn = 0; fn < FN_COUNT; fn++) names_set(&e->scalar_fns, fn_name((Fn)fn), fn);
  const int fn = names_get(&e->scalar_fns, name);
  switch (fn) {
  case FN_add:
  case FN_sub:
  case FN_mul:
  case FN_div:
  case FN_neg:
  case FN_eq:
  case FN_ne:
  case FN_lt:
  case FN_le:
  case FN_gt:
  case FN_ge:
  case FN_and:
  case FN_or:
  case FN_not: return -1;
  default: return fn;
  }
}

bool elab_condition(Elab *e, const AstExpr *expr, bool *out) {
  const Value v = elab_expr(e, expr);
  if (v.kind == VALUE_BOOL) {
    *out = v.truth;
    return true;
  }
  if (v.kind == VALUE_TENSOR)
    elab_error(e, expr->loc,
               "a condition must be known at compile time, found %s: to choose by element use select(...)",
               value_describe(e, v));
  else if (!is_error(v)) elab_error(e, expr->loc, "a condition must be true or false, found %s", value_describe(e, v));
  return false;
}

static Value list_expr(Elab *e, const AstExpr *expr) {
  Value *at = NEW_ARRAY(e->arena, Value, expr->args.len);
  bool failed = false;
  for (int i = 0; i < expr->args.len; i++) {
    at[i] = elab_expr(e, expr->args.at[i].value);
    failed |= is_error(at[i]);
  }
  return failed ? value_error() : (Value){.kind = VALUE_LIST, .list = {at, expr->args.len}};
}

static Value range_expr(Elab *e, const AstExpr *expr) {
  const Value lo = elab_expr(e, expr->lhs), hi = elab_expr(e, expr->rhs);
  Value range = {.kind = VALUE_RANGE};
  const int64_t least = -(int64_t)MAX_INTEGER;
  if (!value_whole(e, expr->lhs->loc, lo, "the start of a range", NULL, least, &range.range.lo)) return value_error();
  if (!value_whole(e, expr->rhs->loc, hi, "the end of a range", NULL, least, &range.range.hi)) return value_error();
  return range;
}

static Value logical_expr(Elab *e, const AstExpr *expr, Value lhs) {
  if (lhs.kind == VALUE_BOOL && lhs.truth == (expr->op == AST_OR)) return lhs; // the right-hand side does not matter
  const Value rhs = elab_expr(e, expr->rhs);
  if (is_error(lhs) || is_error(rhs)) return value_error();
  if (lhs.kind == VALUE_TENSOR || rhs.kind == VALUE_TENSOR) return tensor_binary(e, expr->loc, expr->op, lhs, rhs);
  if (lhs.kind == VALUE_BOOL && rhs.kind == VALUE_BOOL) return rhs;
  if (lhs.kind == VALUE_RUN || rhs.kind == VALUE_RUN) return value_binary(e, expr->loc, expr->op, lhs, rhs);
  const bool left = lhs.kind != VALUE_BOOL;
  elab_error(e, left ? expr->lhs->loc : expr->rhs->loc, "'%s' takes true or false, found %s", op_symbol(expr->op),
             value_describe(e, left ? lhs : rhs));
  return value_error();
}

static Value binary_expr(Elab *e, const AstExpr *expr) {
  const Value lhs = elab_expr(e, expr->lhs);
  if (expr->op == AST_AND || expr->op == AST_OR) return logical_expr(e, expr, lhs);
  const Value rhs = elab_expr(e, expr->rhs);
  if (is_error(lhs) || is_error(rhs)) return value_error();
  if (lhs.kind == VALUE_TENSOR || rhs.kind == VALUE_TENSOR) return tensor_binary(e, expr->loc, expr->op, lhs, rhs);
  return value_binary(e, expr->loc, expr->op, lhs, rhs);
}

static Value unary_expr(Elab *e, const AstExpr *expr) {
  const Value v = elab_expr(e, expr->lhs);
  if (v.kind == VALUE_TENSOR) return tensor_unary(e, expr->loc, expr->op, v);
  return value_unary(e, expr->loc, expr->op, v);
}

static Value index_expr(Elab *e, const AstExpr *expr) {
  const Value base = elab_expr(e, expr->lhs);
  if (is_error(base)) return base;
  if (base.kind == VALUE_TENSOR) return tensor_slice(e, expr, base.tensor);
  const int len = value_len(base);
  int64_t i;
  if (len < 0) {
    elab_error(e, expr->lhs->loc, "only tensors and lists have elements, found %s", value_describe(e, base));
    return value_error();
  }
  if (expr->args.len != 1) {
    elab_error(e, expr->loc, "a list takes one index, found %d", expr->args.len);
    return value_error();
  }
  const AstExpr *at = expr->args.at[0].value;
  const int64_t least = -(int64_t)MAX_INTEGER;
  if (!value_whole(e, at->loc, elab_expr(e, at), "the index of a list", NULL, least, &i)) return value_error();
  if (i >= 0 && i < len) return value_item(base, (int)i);
  elab_error(e, at->loc, "index %lld is out of range: the list has %d element%s, counted from 0", (long long)i, len,
             len == 1 ? "" : "s");
  return value_error();
}

static Value field_expr(Elab *e, const AstExpr *expr) {
  if (!str_eq(expr->text, "extent")) {
    elab_error(e, expr->loc, "unknown field '.%s': a dimension has '.extent', and nothing else has fields", expr->text);
    return value_error();
  }
  const DimVar *dim = expr->lhs->kind == AST_NAME ? elab_find_dim(e->frame, expr->lhs->text, false) : NULL;
  if (dim != NULL) return value_int(dim->dim[0].extent);
  elab_error(e, expr->lhs->loc, "'.extent' is of a dimension, which this is not");
  return value_error();
}

Value elab_expr(Elab *e, const AstExpr *expr) {
  if (!elab_work(e, expr->loc, 1)) return value_error();
  switch (expr->kind) {
  case AST_NUMBER: return (Value){.kind = VALUE_NUMBER, .is_int = expr->is_int, .number = expr->number};
  case AST_STRING: return value_string(expr->text);
  case AST_NAME: return elab_name(e, expr->text, expr->loc);
  case AST_LIST: return list_expr(e, expr);
  case AST_RANGE: return range_expr(e, expr);
  case AST_UNARY: return unary_expr(e, expr);
  case AST_BINARY: return binary_expr(e, expr);
  case AST_CALL: return elab_call(e, expr);
  case AST_INDEX: return index_expr(e, expr);
  case AST_FIELD: return field_expr(e, expr);
  case AST_REDUCE: return elab_reduce_expr(e, expr);
  case AST_PACK:
    elab_error(e, expr->loc,
               "'%s..' stands for several dimensions, which is possible only in brackets and in reductions",
               expr->text);
    return value_error();
  case AST_ERROR: return value_error();
  }
  return value_error();
}
