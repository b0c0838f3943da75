// Affine indices, and index expressions: folding, comparison, substitution.
#include <math.h>

#include "../../ir/expr.h"
#include "check.h"

static Arena *arena;

static void indices_are_affine(void) {
  // 3*d0 - 2*d1 + 5
  Index a = index_add(index_add(index_scale(index_dim(0), 3), index_scale(index_dim(1), -2)), index_const(5));
  CHECK_INT(a.base, 5);
  CHECK_INT(a.coef[0], 3);
  CHECK_INT(a.coef[1], -2);
  CHECK(index_uses(&a, 1) && !index_uses(&a, 2));
  int64_t lo, hi;
  index_range(&a, (const int64_t[]){4, 3}, 2, &lo, &hi);
  CHECK_INT(lo, 1);
  CHECK_INT(hi, 14);

  const Index by[] = {index_add(index_dim(2), index_const(1)), index_dim(0)}; // d0 -> d2 + 1, d1 -> d0
  const Index b = index_substitute(&a, by, 2);
  CHECK_INT(b.base, 8);
  CHECK_INT(b.coef[0], -2);
  CHECK_INT(b.coef[1], 0);
  CHECK_INT(b.coef[2], 3);
}

static void plain_indices_are_recognised(void) {
  const Index plain = index_dim(3), scaled = index_scale(index_dim(3), 2),
              moved = index_add(index_dim(3), index_const(1));
  const Index two = index_add(index_dim(3), index_dim(4)), constant = index_const(3);
  Index divided = index_dim(3);
  divided.div = 2;
  CHECK_INT(index_plain_dim(&plain), 3);
  CHECK_INT(index_plain_dim(&scaled), -1);
  CHECK_INT(index_plain_dim(&moved), -1);
  CHECK_INT(index_plain_dim(&two), -1);
  CHECK_INT(index_plain_dim(&constant), -1);
  CHECK_INT(index_plain_dim(&divided), -1);
  CHECK(index_is_const(&constant) && !index_is_const(&plain));
  CHECK(index_equal(&plain, &(Index){.div = 1, .coef = {0, 0, 0, 1}}) && !index_equal(&plain, &divided));
}

static const Expr *x(int dim) {
  const Index index = index_dim(dim);
  return expr_access(arena, 0, TYPE_REAL, 1, &index, 0);
}
static const Expr *call(Fn fn, const Expr *a, const Expr *b) { return expr_call(arena, fn, a, b, NULL); }

static void constants_fold(void) {
  for (int fn = 0; fn < FN_COUNT; fn++) {
    const double a = 0.75, b = 1.25, c = -2;
    const Expr *arg[3] = {expr_real(arena, a), expr_real(arena, b), expr_real(arena, c)};
    const int arity = fn_arity((Fn)fn);
    const Expr *e = expr_call(arena, (Fn)fn, arg[0], arity > 1 ? arg[1] : NULL, arity > 2 ? arg[2] : NULL);
    CHECK_INT((int)e->kind, EXPR_CONST);
    CHECK_NEAR(e->value, fn_eval((Fn)fn, a, b, c), 0);
    CHECK_INT(fn_find(fn_name((Fn)fn)), fn);
  }
  CHECK_INT(fn_find("no such function"), -1);
}

static void functions_have_their_values(void) {
  const struct {
    Fn fn;
    double a, b, value;
  } table[] = {{FN_add, 2, 3, 5},
               {FN_sub, 2, 3, -1},
               {FN_mul, 2, 3, 6},
               {FN_div, 3, 2, 1.5},
               {FN_neg, 2, 0, -2},
               {FN_abs, -2, 0, 2},
               {FN_max, 2, 3, 3},
               {FN_min, 2, 3, 2},
               {FN_pow, 2, 3, 8},
               {FN_exp, 1, 0, 2.718281828459045},
               {FN_log, 8, 0, 2.0794415416798357},
               {FN_sqrt, 9, 0, 3},
               {FN_sin, 1, 0, 0.8414709848078965},
               {FN_cos, 1, 0, 0.5403023058681398},
               {FN_tanh, 1, 0, 0.7615941559557649},
               {FN_erf, 1, 0, 0.8427007929497149},
               {FN_floor, -1.5, 0, -2}, {FN_int, -1.5, 0, -2},
               {FN_eq, 2, 2, 1},
               {FN_ne, 2, 2, 0},
               {FN_lt, 2, 3, 1},
               {FN_le, 3, 3, 1},
               {FN_gt, 2, 3, 0},
               {FN_ge, 3, 3, 1},
               {FN_and, 2, 0, 0},
               {FN_or, 2, 0, 1},
               {FN_not, 2, 0, 0},
               {FN_select, 1, 4, 4},
               {FN_stop, 5, 0, 5},
               {FN_one, 5, 0, 1}};
  CHECK_INT((int)(sizeof table / sizeof table[0]), FN_COUNT);
  for (int i = 0; i < (int)(sizeof table / sizeof table[0]); i++)
    CHECK_NEAR(fn_eval(table[i].fn, table[i].a, table[i].b, -7), table[i].value, 1e-15);
  CHECK_NEAR(fn_eval(FN_select, 0, 4, -7), -7, 0);
}

static void neutral_elements_vanish(void) {
  const Expr *a = x(0), *zero = expr_real(arena, 0), *one = expr_real(arena, 1);
  CHECK(call(FN_add, a, zero) == a && call(FN_add, zero, a) == a);
  CHECK(call(FN_sub, a, zero) == a);
  CHECK(call(FN_mul, a, one) == a && call(FN_mul, one, a) == a);
  CHECK(expr_is_const(call(FN_mul, a, zero), 0));
  CHECK(call(FN_div, a, one) == a);
  CHECK(call(FN_pow, a, one) == a);
  CHECK(call(FN_neg, call(FN_neg, a, NULL), NULL) == a);
  CHECK(expr_call(arena, FN_select, expr_const(arena, 1, TYPE_BOOL), a, zero) == a);
  CHECK(call(FN_pow, a, expr_real(arena, 0.5))->call.fn == FN_sqrt);
  // An integer zero added to an index stays an integer; 1 * integer as a real must not change type.
  const Expr *i = expr_index(arena, index_dim(0));
  CHECK_INT((int)call(FN_add, i, expr_int(arena, 0))->type, TYPE_INT);
  CHECK_INT((int)call(FN_mul, i, one)->type, TYPE_REAL);
}

static void types_follow_c(void) {
  const Expr *i = expr_index(arena, index_dim(0)), *a = x(0);
  CHECK_INT((int)call(FN_add, i, i)->type, TYPE_INT);
  CHECK_INT((int)call(FN_add, i, a)->type, TYPE_REAL);
  CHECK_INT((int)call(FN_div, i, i)->type, TYPE_REAL);
  CHECK_INT((int)call(FN_lt, i, a)->type, TYPE_BOOL);
  CHECK_INT((int)call(FN_mul, call(FN_lt, i, a), call(FN_lt, a, i))->type, TYPE_INT);
  CHECK_INT((int)expr_index(arena, index_const(3))->kind, EXPR_CONST);
}

static void equal_expressions_hash_alike(void) {
  const Expr *a = call(FN_mul, x(0), call(FN_exp, x(1), NULL)), *b = call(FN_mul, x(0), call(FN_exp, x(1), NULL));
  const Expr *c = call(FN_mul, x(1), call(FN_exp, x(0), NULL));
  CHECK(expr_equal(a, b) && expr_hash(a) == expr_hash(b));
  CHECK(!expr_equal(a, c) && expr_hash(a) != expr_hash(c));
  const Index zero = index_const(0);
  CHECK(!expr_equal(expr_access(arena, 0, TYPE_REAL, 1, &zero, 0),
                    expr_access(arena, 0, TYPE_REAL, 1, &zero, -INFINITY)));
  CHECK(!expr_equal(expr_random(arena, true, 1, zero), expr_random(arena, true, 2, zero)));
}

static void substitution_renames_dims(void) {
  const Expr *e = call(FN_add, x(0), call(FN_mul, x(1), expr_index(arena, index_dim(1))));
  const Index by[] = {index_dim(2), index_const(4)};
  const Expr *s = expr_substitute(arena, e, by, 2);
  const Index four = index_const(4);
  const Expr *expected =
      call(FN_add, x(2), call(FN_mul, expr_access(arena, 0, TYPE_REAL, 1, &four, 0), expr_int(arena, 4)));
  CHECK(expr_equal(s, expected));
  CHECK(expr_uses_dim(e, 0) && expr_uses_dim(e, 1) && !expr_uses_dim(e, 2));
  CHECK(expr_uses_dim(s, 2) && !expr_uses_dim(s, 0) && !expr_uses_dim(s, 1));
  CHECK_NEAR(expr_flops(e), 2, 0);
}

int main(void) {
  arena = arena_new();
  const CheckTest tests[] = {
      TEST(indices_are_affine),           TEST(plain_indices_are_recognised), TEST(constants_fold),
      TEST(functions_have_their_values),  TEST(neutral_elements_vanish),      TEST(types_follow_c),
      TEST(equal_expressions_hash_alike), TEST(substitution_renames_dims)};
  const int code = check_run(tests, (int)(sizeof tests / sizeof tests[0]));
  arena_free(arena);
  return code;
}
