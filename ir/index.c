// Affine indices.
#include "expr.h"

Index index_const(int64_t value) { return (Index){.base = value, .div = 1}; }

Index index_dim(int dim) {
  Index index = {.div = 1};
  index.coef[dim] = 1;
  return index;
}

Index index_add(Index a, Index b) {
  a.base += b.base;
  for (int d = 0; d < IR_MAX_DIMS; d++) a.coef[d] += b.coef[d];
  return a;
}

Index index_scale(Index a, int64_t factor) {
  a.base *= factor;
  for (int d = 0; d < IR_MAX_DIMS; d++) a.coef[d] *= factor;
  return a;
}

bool index_equal(const Index *a, const Index *b) { return memcmp(a, b, sizeof *a) == 0; }

bool index_is_const(const Index *a) {
  for (int d = 0; d < IR_MAX_DIMS; d++)
    if (a->coef[d] != 0) return false;
  return true;
}

int index_plain_dim(const Index *a) {
  int plain = -1;
  if (a->base != 0 || a->div != 1) return -1;
  for (int d = 0; d < IR_MAX_DIMS; d++) {
    if (a->coef[d] == 0) continue;
    if (a->coef[d] != 1 || plain >= 0) return -1;
    plain = d;
  }
  return plain;
}

bool index_uses(const Index *a, int dim) { return a->coef[dim] != 0; }

void index_range(const Index *a, const int64_t *extent, int n_dims, int64_t *lo, int64_t *hi) {
  *lo = *hi = a->base;
  for (int d = 0; d < n_dims; d++) {
    const int64_t far = a->coef[d] * (extent[d] - 1);
    *(far < 0 ? lo : hi) += far;
  }
}

Index index_substitute(const Index *a, const Index *by, int n_dims) {
  int64_t div = 1; // the common divisor of all substitutes
  for (int d = 0; d < n_dims; d++)
    if (a->coef[d] != 0) div = div / gcd_i64(div, by[d].div) * by[d].div;
  Index result = index_const(a->base * div);
  for (int d = 0; d < n_dims; d++) {
    if (a->coef[d] == 0) continue;
    Index numerator = by[d];
    numerator.div = 1;
    result = index_add(result, index_scale(numerator, a->coef[d] * (div / by[d].div)));
  }
  result.div = a->div * div;
  return result;
}
