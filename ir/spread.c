#include "spread.h"

#include <math.h>

typedef VEC(SpreadClass) SpreadClasses;

static Spread spread_of(const SpreadClasses *classes) { return (Spread){classes->at, classes->len}; }

Spread spread_uniform(Arena *arena, double rows) {
  SpreadClasses classes = {0};
  vec_push(arena, &classes, ((SpreadClass){rows, 1}));
  return spread_of(&classes);
}

// The integral of x^-exponent from a to b.
static double power_between(double a, double b, double exponent) {
  const double power = 1 - exponent;
  return fabs(power) < 1e-12 ? log(b / a) : (pow(b, power) - pow(a, power)) / power;
}

// The first rows are classes of their own; from then on a class has an eighth of the rows before it, over which the power law is all but
// straight, so that the integral between the middles is its sum.
Spread spread_power(Arena *arena, double rows, double exponent) {
  enum { SINGLE = 32 };
  SpreadClasses classes = {0};
  double all = 0;
  for (double first = 1; first <= rows;) {
    const double n = fmin(first < SINGLE ? 1 : floor(first / 8), rows - first + 1);
    const double weight = n == 1 ? pow(first, -exponent) : power_between(first - 0.5, first + n - 0.5, exponent);
    vec_push(arena, &classes, ((SpreadClass){n, weight}));
    all += weight;
    first += n;
  }
  for (int i = 0; i < classes.len; i++) classes.at[i].share /= all;
  return spread_of(&classes);
}

static bool spread_equal(const Spread *a, const Spread *b) {
  bool same = a->n == b->n;
  for (int i = 0; i < a->n && same; i++) same = a->classes[i].rows == b->classes[i].rows && a->classes[i].share == b->classes[i].share;
  return same;
}

Spread spread_mix(Arena *arena, const Spread *a, double part, const Spread *b) {
  SpreadClasses classes = {0};
  if (spread_equal(a, b)) return *a;
  for (int i = 0; i < a->n; i++) vec_push(arena, &classes, ((SpreadClass){a->classes[i].rows, a->classes[i].share * part}));
  for (int i = 0; i < b->n; i++) vec_push(arena, &classes, ((SpreadClass){b->classes[i].rows, b->classes[i].share * (1 - part)}));
  return spread_of(&classes);
}

double spread_distinct(const Spread *spread, double rows, double places) {
  double distinct = 0, known = 0;
  for (int i = 0; spread != NULL && i < spread->n; i++) {
    const SpreadClass *c = &spread->classes[i];
    const double each = fmin(c->share / c->rows, 1); // (1 - each)^places, exact for what is small, too
    distinct += each < 1 ? c->rows * -expm1(places * log1p(-each)) : c->rows * fmin(places, 1);
    known += c->share;
  }
  return fmin(distinct + fmax(1 - known, 0) * places, fmin(rows, places));
}
