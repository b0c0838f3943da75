#include "pin.h"

typedef struct Pins {
  Pin *at;
  int n;
} Pins;

static bool is_free(const Pins *pins, int dim, const Expr *at) {
  if (expr_uses_dim(at, dim)) return false;
  for (int i = 0; i < pins->n; i++)
    if (pins->at[i].dim == dim || expr_uses_dim(at, pins->at[i].dim) || expr_uses_dim(pins->at[i].at, dim)) return false;
  return true;
}

static bool add_pin(Pins *pins, const Expr *equal, const Expr *index, const Expr *at) {
  if (index->kind != EXPR_INDEX || at->type != TYPE_INT) return false;
  const int dim = index_plain_dim(index->index);
  if (dim < 0 || !is_free(pins, dim, at)) return false;
  pins->at[pins->n++] = (Pin){dim, at, equal};
  return true;
}

static void collect(Pins *pins, const Expr *e) {
  if (e->kind != EXPR_CALL) return;
  const Expr *a = e->call.arg[0], *b = e->call.arg[1];
  switch (e->call.fn) {
  case FN_mul:
  case FN_and: collect(pins, a), collect(pins, b); return;
  case FN_neg:
  case FN_div: collect(pins, a); return;
  case FN_eq:
    if (!add_pin(pins, e, a, b)) add_pin(pins, e, b, a);
    return;
  default: return;
  }
}

int expr_pins(const Expr *body, Pin pin[IR_MAX_DIMS]) {
  Pins pins = {pin, 0};
  collect(&pins, body);
  return pins.n;
}

const Expr *expr_without_pin(Arena *arena, const Expr *body, const Pin *pin) {
  if (body == pin->equal) return expr_const(arena, 1, TYPE_BOOL);
  if (body->kind != EXPR_CALL) return body;
  const Expr *a = body->call.arg[0], *b = body->call.arg[1];
  switch (body->call.fn) {
  case FN_mul:
  case FN_and:
    return expr_call(arena, body->call.fn, expr_without_pin(arena, a, pin), expr_without_pin(arena, b, pin), NULL);
  case FN_neg: return expr_call(arena, FN_neg, expr_without_pin(arena, a, pin), NULL, NULL);
  case FN_div: return expr_call(arena, FN_div, expr_without_pin(arena, a, pin), b, NULL);
  default: return body;
  }
}

int op_pins(const Op *op, Pin pin[IR_MAX_DIMS]) {
  return op->kind == OP_COMPUTE && op->reduce == REDUCE_SUM ? expr_pins(op->body, pin) : 0;
}
