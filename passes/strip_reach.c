// How far an interval of a strip reaches: behind the end of its own rows, a mask may leave nothing of a dimension,
//   s[t, u] = select(u > t, -inf, ...)
// so that an interval of t needs u only up to its own end.
#include <math.h>

#include "strip_finder.h"

typedef struct Behind { // what is known of tensors where dimension `far` is greater than dimension `near` of the strip
  const Finder *f;
  int op, near, far;
} Behind;

static bool value_behind(const Behind *b, const Expr *e, double *value);

static bool is_dim(const Behind *b, const Expr *e, int loop) {
  return e->kind == EXPR_INDEX && index_plain_dim(e->index) >= 0 &&
         index_plain_dim(e->index) == strip_dim_of_loop(b->f, b->op, loop);
}

static bool is_true_behind(const Behind *b, const Expr *e) {
  if (e->kind != EXPR_CALL) return false;
  const Expr *x = e->call.arg[0], *y = e->call.arg[1];
  return (e->call.fn == FN_gt && is_dim(b, x, b->far) && is_dim(b, y, b->near)) ||
         (e->call.fn == FN_lt && is_dim(b, x, b->near) && is_dim(b, y, b->far));
}

// A product with 0 is 0, an infinity takes all that is added: what is not known is a number.
static bool call_behind(const Behind *b, const Expr *e, double *value) {
  double v[3] = {0, 0, 0};
  bool known[3] = {true, true, true}, all = true;
  if (e->call.fn == FN_select && is_true_behind(b, e->call.arg[0])) return value_behind(b, e->call.arg[1], value);
  for (int i = 0; i < fn_arity(e->call.fn); i++) all &= known[i] = value_behind(b, e->call.arg[i], &v[i]);
  *value = 0;
  if (e->call.fn == FN_mul && ((known[0] && v[0] == 0) || (known[1] && v[1] == 0))) return true;
  if (e->call.fn == FN_div && known[0] && v[0] == 0) return true;
  *value = v[0];
  if ((e->call.fn == FN_sub || e->call.fn == FN_add) && known[0] && isinf(v[0])) return true;
  if (e->call.fn == FN_select && known[1] && known[2] && v[1] == v[2]) {
    *value = v[1];
    return true;
  }
  *value = all ? fn_eval(e->call.fn, v[0], v[1], v[2]) : 0;
  return all;
}

static bool value_behind(const Behind *b, const Expr *e, double *value) {
  *value = e->kind == EXPR_CONST ? e->value : 0;
  if (e->kind == EXPR_CALL) return call_behind(b, e, value);
  if (e->kind != EXPR_ACCESS) return e->kind == EXPR_CONST;
  *value = b->f->value[e->access.tensor];
  return b->f->known[e->access.tensor];
}

// Leaving out what lies behind changes nothing: sums and maxima over it have no use for it, results with it are inside or added to.
static bool leaves_nothing(Finder *f, const Strip *s, int near, int far) {
  Behind b = {f, -1, near, far};
  for (int i = 0; i < s->groups.len; i++)
    for (int k = 0; k < group_at(f, s->groups.at[i])->ops.len; k++) {
      b.op = group_at(f, s->groups.at[i])->ops.at[k];
      const Op *op = op_at(f, b.op);
      const int d = strip_dim_of_loop(f, b.op, far);
      double value;
      const bool known = value_behind(&b, op->body, &value);
      if (d < 0) { // without the dimension, or with two of them
        for (int n = 0; n < op->n_dims; n++)
          if (f->loop_of[f->g->group_of[b.op]][strip_class_of(f, b.op, n)] == far) return false;
        continue;
      }
      if (lowering_dim_extent(f->l, op, d).block >= 0) return false;
      if (d >= op->n_out) {
        if (op->reduce == REDUCE_ARGMAX || !known || value != reduce_identity(op->reduce)) return false;
        continue;
      }
      bool inside = false, summed = false;
      for (int n = 0; n < s->inside.len; n++) inside |= s->inside.at[n] == op->out;
      for (int n = 0; n < s->summed.len; n++) summed |= s->summed.at[n] == op->out;
      if (!(inside ? strip_flows_along(f, s, b.op, far, false) : summed && known && value == 0)) return false;
      f->known[op->out] = op->reduce == REDUCE_NONE && known;
      f->value[op->out] = value;
    }
  return true;
}

static bool may_leave_out(Finder *f, const Strip *s, int near, int far) {
  const bool may = leaves_nothing(f, s, near, far);
  for (int i = 0; i < s->groups.len; i++)
    for (int k = 0; k < group_at(f, s->groups.at[i])->ops.len; k++) f->known[op_at(f, group_at(f, s->groups.at[i])->ops.at[k])->out] = false;
  return may;
}

// The dimension of the largest intermediate that intervals of a loop need only up to where they end themselves; -1: none.
int strip_find_reach(Finder *f, const Strip *s, const int *loop, int largest, int *of) {
  const Tensor *t = graph_tensor(f->graph, largest);
  for (*of = 0; *of < s->n_loops; (*of)++)
    for (int far = 0; far < t->rank; far++) {
      bool looped = f->refused >> far & 1;
      for (int k = 0; k < s->n_loops; k++) looped |= loop[k] == far;
      if (!looped && t->extent[far] == t->extent[loop[*of]] && may_leave_out(f, s, loop[*of], far)) return far;
    }
  return -1;
}
