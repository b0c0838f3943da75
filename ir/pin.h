// Equalities that pin a dimension. Of the terms of
//     y[b, d] = sum(v) (id[b] == v) * table[v, d]
// all are 0 but the one at v = id[b], if there is such a v. A sum over pinned dimensions is no loop: it reads one element. A
// result that is indexed by one, as in sum(b) (id[b] == v) * y[b, d] over v and d, is 0 except where something is added.
#ifndef PARCC_IR_PIN_H
#define PARCC_IR_PIN_H

#include "graph.h"

typedef struct Pin { // body is a product with the factor (at == dim)
  int dim;
  const Expr *at;    // an integer that depends on no pinned dimension
  const Expr *equal; // the factor
} Pin;

// The pins of a body, at most one for each dimension. Returns their number.
int expr_pins(const Expr *body, Pin pin[IR_MAX_DIMS]);
// The body without the factor.
const Expr *expr_without_pin(Arena *arena, const Expr *body, const Pin *pin);
// The pins of a sum; of another operator none.
int op_pins(const Op *op, Pin pin[IR_MAX_DIMS]);

#endif
