// Compile-time values: descriptions for messages, arithmetic, comparison.
#include <math.h>

#include "elab.h"

// ---- descriptions

const char *dims_text(Elab *e, const Dim *dims, int n) {
  Text text = {.arena = e->arena};
  text_printf(&text, "[");
  for (int d = 0; d < n; d++) text_printf(&text, "%s%lld", d > 0 ? ", " : "", (long long)dims[d].extent);
  text_printf(&text, "]");
  return text_str(&text);
}

const char *shape_text(Elab *e, int tensor) {
  const Tensor *t = graph_tensor(e->graph, tensor);
  Dim dims[IR_MAX_RANK];
  for (int d = 0; d < t->rank; d++) dims[d] = (Dim){t->dim[d], t->extent[d]};
  return dims_text(e, dims, t->rank);
}

static const char *number_text(Elab *e, Value v) {
  if (v.is_int) return arena_printf(e->arena, "%.0f", v.number);
  if (isinf(v.number)) return v.number < 0 ? "-inf" : "inf";
  const char *text = arena_printf(e->arena, "%.10g", v.number);
  return strpbrk(text, ".en") != NULL ? text : arena_printf(e->arena, "%s.0", text);
}

const char *value_text(Elab *e, Value v) {
  switch (v.kind) {
  case VALUE_NUMBER: return number_text(e, v);
  case VALUE_BOOL: return v.truth ? "true" : "false";
  case VALUE_STRING: return v.string;
  default: return value_describe(e, v);
  }
}

const char *value_describe(Elab *e, Value v) {
  switch (v.kind) {
  case VALUE_ERROR: return "an error";
  case VALUE_NUMBER: return arena_printf(e->arena, "the number %s", number_text(e, v));
  case VALUE_BOOL: return v.truth ? "true" : "false";
  case VALUE_STRING:
    return arena_printf(e->arena, "the string '%.40s%s'", v.string, strlen(v.string) > 40 ? "..." : "");
  case VALUE_LIST:
    if (v.is_tuple) return arena_printf(e->arena, "%d results", v.list.len);
    return arena_printf(e->arena, "a list of %d element%s", v.list.len, v.list.len == 1 ? "" : "s");
  case VALUE_RANGE: return arena_printf(e->arena, "the range %lld..%lld", (long long)v.range.lo, (long long)v.range.hi);
  case VALUE_TENSOR: {
    const Tensor *t = graph_tensor(e->graph, v.tensor);
    return arena_printf(e->arena, "a%s tensor %s", t->type == TYPE_INT ? "n int" : "", shape_text(e, v.tensor));
  }
  case VALUE_RUN: return "a number known only at run time";
  case VALUE_TERM: return "a value that varies by element";
  case VALUE_SOURCE: return "a data source";
  }
  return "?";
}

// ---- lists

int value_len(Value v) {
  if (v.kind == VALUE_LIST) return v.list.len;
  if (v.kind != VALUE_RANGE) return -1;
  const int64_t len = v.range.hi - v.range.lo;
  return len < 0 ? 0 : len > INT32_MAX ? INT32_MAX : (int)len;
}

Value value_item(Value v, int i) { return v.kind == VALUE_LIST ? v.list.at[i] : value_int(v.range.lo + i); }

static Value list_join(Elab *e, Loc loc, Value a, Value b) {
  const int64_t na = value_len(a), nb = value_len(b);
  if (!elab_work(e, loc, na + nb)) return value_error();
  Value *at = NEW_ARRAY(e->arena, Value, na + nb);
  for (int i = 0; i < na; i++) at[i] = value_item(a, i);
  for (int i = 0; i < nb; i++) at[na + i] = value_item(b, i);
  return (Value){.kind = VALUE_LIST, .list = {at, (int)(na + nb)}};
}

static bool values_equal(Value a, Value b) {
  if (value_len(a) >= 0 && value_len(b) >= 0) {
    if (value_len(a) != value_len(b)) return false;
    for (int i = 0; i < value_len(a); i++)
      if (!values_equal(value_item(a, i), value_item(b, i))) return false;
    return true;
  }
  if (a.kind != b.kind) return false;
  switch (a.kind) {
  case VALUE_NUMBER: return a.number == b.number;
  case VALUE_BOOL: return a.truth == b.truth;
  case VALUE_STRING: return str_eq(a.string, b.string);
  case VALUE_TENSOR: return a.tensor == b.tensor;
  default: return false;
  }
}

// ---- numbers

static double as_number(Value v) { return v.kind == VALUE_BOOL ? v.truth : v.number; }
static bool is_whole_kind(Value v) { return v.kind == VALUE_BOOL || v.is_int; }

// A number from the result of an operation; integers must be exact.
static Value number(Elab *e, Loc loc, double x, bool is_int) {
  if (isnan(x)) {
    elab_error(e, loc, "the result is not a number");
    return value_error();
  }
  if (is_int && fabs(x) > MAX_INTEGER) {
    elab_error(e, loc, "the result %.6g is too large: integers go up to 2^53", x);
    return value_error();
  }
  return (Value){.kind = VALUE_NUMBER, .is_int = is_int, .number = x + 0.0}; // no negative zero
}

const Expr *value_expr(Elab *e, Value v) {
  if (v.kind == VALUE_RUN) return v.run.expr;
  if (v.kind == VALUE_BOOL) return expr_const(e->arena, v.truth, TYPE_BOOL);
  return expr_const(e->arena, v.number, v.is_int ? TYPE_INT : TYPE_REAL);
}

static Value run_value(Elab *e, Loc loc, Fn fn, const Value *args) {
  const Expr *arg[3] = {NULL, NULL, NULL};
  int size = 1;
  for (int i = 0; i < fn_arity(fn); i++) {
    arg[i] = value_expr(e, args[i]);
    size += args[i].kind == VALUE_RUN ? args[i].run.size : 1;
  }
  if (size > MAX_EXPR_SIZE) {
    elab_error(e, loc, "the expression has become too large: more than %d operations", MAX_EXPR_SIZE);
    return value_error();
  }
  return (Value){.kind = VALUE_RUN, .run = {expr_call(e->arena, fn, arg[0], arg[1], arg[2]), size}};
}

static bool returns_int(Fn fn, const Value *args) {
  switch (fn) {
  case FN_floor:
  case FN_int: return true;
  case FN_add:
  case FN_sub:
  case FN_mul:
  case FN_max:
  case FN_min: return is_whole_kind(args[0]) && is_whole_kind(args[1]);
  case FN_neg:
  case FN_abs:
  case FN_stop: return is_whole_kind(args[0]);
  default: return false;
  }
}

Value value_call(Elab *e, Loc loc, Fn fn, const Value *args) {
  double x[3] = {0, 0, 0};
  for (int i = 0; i < fn_arity(fn); i++) {
    if (is_error(args[i])) return value_error();
    if (!is_scalar(args[i])) {
      elab_error(e, loc, "'%s' takes numbers and tensors, found %s", fn_name(fn), value_describe(e, args[i]));
      return value_error();
    }
  }
  if (fn == FN_select && args[0].kind != VALUE_RUN) return as_number(args[0]) != 0 ? args[1] : args[2];
  for (int i = 0; i < fn_arity(fn); i++)
    if (args[i].kind == VALUE_RUN) return run_value(e, loc, fn, args);
  for (int i = 0; i < fn_arity(fn); i++) x[i] = as_number(args[i]);
  const double result = fn_eval(fn, x[0], x[1], x[2]);
  const bool is_test = (fn >= FN_eq && fn <= FN_not);
  return is_test ? value_bool(result != 0) : number(e, loc, result, returns_int(fn, args));
}

static Value divide(Elab *e, Loc loc, AstOp op, Value a, Value b) {
  const double x = as_number(a), y = as_number(b);
  if (y == 0) {
    elab_error(e, loc, "division by zero: %s %s %s", number_text(e, a), op_symbol(op), number_text(e, b));
    return value_error();
  }
  const bool is_int = is_whole_kind(a) && is_whole_kind(b);
  if (op == AST_DIV) return number(e, loc, x / y, false);
  if (is_int) {
    const int64_t n = (int64_t)x, m = (int64_t)y;
    const int64_t floored = n / m - ((n % m != 0) && ((n < 0) != (m < 0)));
    return number(e, loc, op == AST_FLOORDIV ? (double)floored : (double)(n - floored * m), true);
  }
  const double floored = floor(x / y);
  return number(e, loc, op == AST_FLOORDIV ? floored : x - floored * y, false);
}

static Value mismatch(Elab *e, Loc loc, AstOp op, Value a, Value b) {
  elab_error(e, loc, "'%s' does not work between %s and %s", op_symbol(op), value_describe(e, a), value_describe(e, b));
  return value_error();
}

Value value_binary(Elab *e, Loc loc, AstOp op, Value a, Value b) {
  if (is_error(a) || is_error(b)) return value_error();
  if (a.kind == VALUE_SOURCE || b.kind == VALUE_SOURCE) return elab_source_binary(e, loc, op, a, b);
  const bool run = a.kind == VALUE_RUN || b.kind == VALUE_RUN;
  if ((op == AST_EQ || op == AST_NE) && !run) return value_bool(values_equal(a, b) == (op == AST_EQ));
  if (op == AST_ADD && a.kind == VALUE_STRING && b.kind == VALUE_STRING) {
    if (!elab_work(e, loc, (int64_t)(strlen(a.string) + strlen(b.string)))) return value_error();
    return value_string(arena_printf(e->arena, "%s%s", a.string, b.string));
  }
  if (op == AST_ADD && value_len(a) >= 0 && value_len(b) >= 0) return list_join(e, loc, a, b);
  if (!is_scalar(a) || !is_scalar(b)) return mismatch(e, loc, op, a, b);
  if ((op == AST_FLOORDIV || op == AST_MOD) && run) {
    const Value pair[2] = {a, b};
    const Value floored = run_value(e, loc, FN_floor, (Value[]){run_value(e, loc, FN_div, pair)});
    if (op == AST_FLOORDIV || is_error(floored)) return floored;
    return value_binary(e, loc, AST_SUB, a, value_binary(e, loc, AST_MUL, floored, b));
  }
  if (!run && (op == AST_DIV || op == AST_FLOORDIV || op == AST_MOD)) return divide(e, loc, op, a, b);
  return value_call(e, loc, (Fn)fn_of_op(op), (const Value[]){a, b});
}

Value value_unary(Elab *e, Loc loc, AstOp op, Value a) {
  if (is_error(a)) return a;
  if (!is_scalar(a)) {
    elab_error(e, loc, "'%s' does not work on %s", op_symbol(op), value_describe(e, a));
    return value_error();
  }
  return value_call(e, loc, (Fn)fn_of_op(op), &a);
}

bool value_whole(Elab *e, Loc loc, Value v, const char *what, const char *name, int64_t least, int64_t *out) {
  if (is_error(v)) return false;
  const bool is_whole = v.kind == VALUE_NUMBER && v.number == floor(v.number) && fabs(v.number) <= MAX_INTEGER;
  if (is_whole && v.number >= (double)least) {
    *out = (int64_t)v.number;
    return true;
  }
  const char *of = name != NULL ? arena_printf(e->arena, " '%s'", name) : "";
  const char *found = v.kind == VALUE_NUMBER ? number_text(e, v) : value_describe(e, v);
  if (!is_whole) elab_error(e, loc, "%s%s must be a whole number, found %s", what, of, found);
  else elab_error(e, loc, "%s%s must be at least %lld, found %s", what, of, (long long)least, found);
  return false;
}
