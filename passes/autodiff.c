// autodiff: gradients of index expressions, as operators of the same kind.
//
// Requires: the forward operators of a training graph, its losses (their sum is derived), and a declared ROLE_GRADIENT tensor for every
//           parameter that an optimizer reads.
// Guarantees: every ROLE_GRADIENT tensor has an operator, in PHASE_BACKWARD; operators are sorted by phase.
//
//   forward   y[n, co] = sum(ci) (x[n, ci] * w[co, ci])
// becomes, for the adjoint y.grad of y,
//   backward  w.grad[co, ci] = sum(n)  (y.grad[n, co] * x[n, ci])
//   backward  x.grad[n, ci]  = sum(co) (y.grad[n, co] * w[co, ci])
//
// An access x[e0, e1, ...] turns into a gradient of x by solving x_i = e_i for iteration dimensions; what stays unsolved
// is summed over. A window (p*stride - pad + r) solves to p = (h + pad - r) / stride, an index with a divisor: where it
// is not whole or lies outside, the adjoint reads as 0. So gradients gather; nothing is scattered.
#include <math.h>

#include "passes.h"
#include "rewrite.h"

typedef VEC(int) Ids;

typedef struct Autodiff {
  Graph *graph;
  bool *wanted;   // by tensor (of the forward graph): its adjoint is needed
  Ids *adjoint;   // by tensor: contributions to its adjoint
  int n_tensors;  // tensors of the forward graph
} Autodiff;

// ---- which adjoints are needed -----------------------------------------------------------------------------------

typedef struct WantedReads {
  const Autodiff *ad;
  bool any;
} WantedReads;

static void note_wanted(void *ctx, int tensor) {
  WantedReads *w = ctx;
  w->any |= w->ad->wanted[tensor];
}

static void mark_wanted(Autodiff *ad) {
  Graph *graph = ad->graph;
  for (int t = 0; t < ad->n_tensors; t++) ad->wanted[t] = graph_tensor(graph, t)->role == ROLE_PARAM;
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    if (op->phase != PHASE_FORWARD) continue;
    WantedReads w = {ad, false};
    op_visit_reads(op, note_wanted, &w);
    for (int r = 0; r < op_results(op); r++)
      ad->wanted[op_result(op, r)] |= w.any && graph_tensor(graph, op_result(op, r))->type == TYPE_REAL;
  }
}

// ---- derivatives of scalar functions -----------------------------------------------------------------------------

typedef struct Contribution {
  const Expr *access;
  const Expr *bar; // derivative of the loss by this access, over the operator's iteration space
} Contribution;

typedef struct Derivation {
  Autodiff *ad;
  Arena *arena;
  VEC(Contribution) list;
} Derivation;

#define CALL1(fn, a) expr_call(d->arena, FN_##fn, (a), NULL, NULL)
#define CALL2(fn, a, b) expr_call(d->arena, FN_##fn, (a), (b), NULL)
#define CALL3(fn, a, b, c) expr_call(d->arena, FN_##fn, (a), (b), (c))
#define REAL(value) expr_real(d->arena, (value))

static bool depends(const Derivation *d, const Expr *e) {
  if (e->kind == EXPR_ACCESS) return d->ad->wanted[e->access.tensor];
  if (e->kind != EXPR_CALL || e->call.fn == FN_stop) return false;
  for (int i = 0; i < fn_arity(e->call.fn); i++)
    if (depends(d, e->call.arg[i])) return true;
  return false;
}

// bar times the derivative of the call y by its argument number `arg`; NULL where it is zero everywhere.
static const Expr *chain(const Derivation *d, const Expr *y, int arg, const Expr *bar) {
  const Expr *a = y->call.arg[0], *b = y->call.arg[1];
  const Expr *zero = REAL(0);
  switch (y->call.fn) {
  case FN_add: return bar;
  case FN_sub: return arg == 0 ? bar : CALL1(neg, bar);
  case FN_mul: return CALL2(mul, bar, arg == 0 ? b : a);
  case FN_div: return arg == 0 ? CALL2(div, bar, b) : CALL1(neg, CALL2(div, CALL2(mul, bar, y), b));
  case FN_neg: return CALL1(neg, bar);
  case FN_abs: return CALL3(select, CALL2(gt, a, zero), bar, CALL3(select, CALL2(lt, a, zero), CALL1(neg, bar), zero));
  case FN_max: return arg == 0 ? CALL3(select, CALL2(gt, y, b), bar, zero) : CALL3(select, CALL2(gt, y, b), zero, bar);
  case FN_min: return arg == 0 ? CALL3(select, CALL2(lt, y, b), bar, zero) : CALL3(select, CALL2(lt, y, b), zero, bar);
  case FN_pow:
    return arg == 0 ? CALL2(mul, bar, CALL2(mul, b, CALL2(pow, a, CALL2(sub, b, REAL(1)))))
                    : CALL2(mul, bar, CALL2(mul, y, CALL1(log, a)));
  case FN_exp: return CALL2(mul, bar, y);
  case FN_log: return CALL2(div, bar, a);
  case FN_sqrt: return CALL2(div, CALL2(mul, REAL(0.5), bar), y);
  case FN_sin: return CALL2(mul, bar, CALL1(cos, a));
  case FN_cos: return CALL1(neg, CALL2(mul, bar, CALL1(sin, a)));
  case FN_tanh: return CALL2(mul, bar, CALL2(sub, REAL(1), CALL2(mul, y, y)));
  case FN_erf: return CALL2(mul, REAL(2 / sqrt(acos(-1.0))), CALL2(mul, bar, CALL1(exp, CALL1(neg, CALL2(mul, a, a)))));
  case FN_select:
    if (arg == 0) return NULL;
    return arg == 1 ? CALL3(select, a, bar, zero) : CALL3(select, a, zero, bar);
  default: return NULL;
  }
}

static void derive(Derivation *d, const Expr *e, const Expr *bar) {
  if (!depends(d, e)) return;
  if (e->kind == EXPR_ACCESS) {
    for (int i = 0; i < d->list.len; i++) {
      Contribution *c = &d->list.at[i];
      if (!expr_equal(c->access, e)) continue;
      c->bar = CALL2(add, c->bar, bar);
      return;
    }
    vec_push(d->arena, &d->list, (Contribution){e, bar});
    return;
  }
  for (int i = 0; i < fn_arity(e->call.fn); i++) {
    if (!depends(d, e->call.arg[i])) continue;
    const Expr *inner = chain(d, e, i, bar);
    if (inner != NULL) derive(d, e->call.arg[i], inner);
  }
}

// `e` with every occurrence of `what` replaced by `by`: the operator's own result instead of computing it again.
static const Expr *replace(Arena *arena, const Expr *e, const Expr *what, const Expr *by) {
  if (e->kind != EXPR_CALL) return e;
  if (expr_equal(e, what)) return by;
  const Expr *arg[3] = {NULL, NULL, NULL};
  bool same = true;
  for (int i = 0; i < fn_arity(e->call.fn); i++) {
    arg[i] = replace(arena, e->call.arg[i], what, by);
    same = same && arg[i] == e->call.arg[i];
  }
  return same ? e : expr_call(arena, e->call.fn, arg[0], arg[1], arg[2]);
}

// In the sum that a gradient is, an access outside reads 0 where it read an infinity in the forward maximum.
static const Expr *zero_outside(void *ctx, const Expr *e) {
  Arena *arena = ctx;
  if (e->kind != EXPR_ACCESS || !isinf(e->access.outside)) return e;
  return expr_access(arena, e->access.tensor, e->type, e->access.rank, e->access.index, 0);
}

// ---- from the derivative at an access to the gradient of its tensor ----------------------------------------------

static Op backward_op(const Op *op) {
  return (Op){.kind = OP_COMPUTE, .phase = PHASE_BACKWARD, .name = op->name, .layer = op->layer, .shard = op->shard, .origin = op->origin, .loc = op->loc};
}

static const char *grad_name(const Graph *graph, int tensor) {
  return arena_printf(graph->arena, "%s.grad", graph_tensor(graph, tensor)->name);
}

// Zero wherever the adjoint reads 0 outside, and never inf or nan there: products of accesses with the adjoint in them.
static bool vanishes_outside(const Expr *e, int adjoint, bool *safe) {
  switch (e->kind) {
  case EXPR_ACCESS: *safe = true; return e->access.tensor == adjoint;
  case EXPR_CONST: *safe = isfinite(e->value); return e->value == 0;
  case EXPR_INDEX: *safe = true; return false;
  case EXPR_CALL: break;
  default: *safe = true; return false;
  }
  bool safe_a = false, safe_b = false, safe_c = false;
  const Expr *const *arg = e->call.arg;
  switch (e->call.fn) {
  case FN_mul: {
    const bool a = vanishes_outside(arg[0], adjoint, &safe_a), b = vanishes_outside(arg[1], adjoint, &safe_b);
    *safe = safe_a && safe_b;
    return a || b;
  }
  case FN_neg: return vanishes_outside(arg[0], adjoint, safe);
  case FN_add:
  case FN_sub: {
    const bool a = vanishes_outside(arg[0], adjoint, &safe_a), b = vanishes_outside(arg[1], adjoint, &safe_b);
    *safe = safe_a && safe_b;
    return a && b;
  }
  case FN_select: {
    vanishes_outside(arg[0], adjoint, &safe_a);
    const bool b = vanishes_outside(arg[1], adjoint, &safe_b), c = vanishes_outside(arg[2], adjoint, &safe_c);
    *safe = safe_b && safe_c;
    return b && c;
  }
  case FN_eq:
  case FN_ne:
  case FN_lt:
  case FN_le:
  case FN_gt:
  case FN_ge: *safe = true; return false;
  default: *safe = false; return false;
  }
}

// For each index of the access chooses the iteration dimension to solve for: solved[d] = index position, else -1.
static void choose_solved(const Op *op, const Expr *access, bool outputs_first, int *solved) {
  for (int d = 0; d < IR_MAX_DIMS; d++) solved[d] = -1;
  for (int i = 0; i < access->access.rank; i++) {
    const Index *index = &access->access.index[i];
    int best = -1;
    for (int d = 0; d < op->n_dims; d++) {
      if (!index_uses(index, d) || solved[d] >= 0) continue;
      bool better = best < 0 || op->dims[d].extent > op->dims[best].extent;
      if (best >= 0 && outputs_first && (d < op->n_out) != (best < op->n_out)) better = d < op->n_out;
      if (better) best = d;
    }
    if (best >= 0) solved[best] = i;
  }
}

// Gives dims[at] a name that no other of the dimensions has.
static void name_dim(Arena *arena, Dim *dims, int n, int at, const char *name) {
  dims[at].name = name;
  for (int d = 0, number = 2; d < n; d++)
    if (d != at && str_eq(dims[d].name, dims[at].name)) {
      dims[at].name = arena_printf(arena, "%s%d", name, number++);
      d = -1;
    }
}

// Adds a dimension under a name of its own.
static void add_dim(Arena *arena, Op *op, Dim dim) {
  op->dims[op->n_dims++] = dim;
  name_dim(arena, op->dims, op->n_dims, op->n_dims - 1, dim.name);
}

// The dimensions of the gradient of x: one that the access reads plainly keeps its name in the operator, so that the
// gradient speaks of the same iteration space.
static void gradient_dims(Arena *arena, const Tensor *x, const Op *op, const Expr *access, const int *solved, Op *grad) {
  bool plain[IR_MAX_RANK] = {false};
  dims_of_tensor(x, grad->dims);
  grad->n_dims = grad->n_out = x->rank;
  for (int k = 0; k < op->n_dims; k++) {
    if (solved[k] < 0 || index_plain_dim(&access->access.index[solved[k]]) != k) continue;
    grad->dims[solved[k]].name = op->dims[k].name;
    plain[solved[k]] = true;
  }
  for (int i = 0; i < x->rank; i++)
    if (!plain[i]) name_dim(arena, grad->dims, x->rank, i, grad->dims[i].name);
}

// How many indices in front are numbers: the access reads one piece of x.
static int fixed_in_front(const Tensor *x, const Expr *access) {
  int n = 0;
  while (n < access->access.rank && index_is_const(&access->access.index[n]) && access->access.index[n].base >= 0 &&
         access->access.index[n].base < x->extent[n])
    n++;
  return n;
}

// The gradient of a piece x[3, ...], as a part of that of x: x.grad[t, ...] = part[t - 3, ...], 0 elsewhere. The gradients of all
// pieces are then pieces of their sum.
static int gather_piece(Derivation *d, const Tensor *x, const Expr *access, int n_fixed, const Op *whole) {
  Graph *graph = d->ad->graph;
  Op part = *whole, grad = backward_op(whole);
  Index by[IR_MAX_DIMS], index[IR_MAX_RANK];
  Dim dims[IR_MAX_RANK];
  for (int k = 0; k < whole->n_dims; k++) by[k] = k < n_fixed ? index_const(0) : index_dim(k - n_fixed);
  part.n_dims -= n_fixed;
  part.n_out -= n_fixed;
  memmove(part.dims, part.dims + n_fixed, sizeof *part.dims * (size_t)part.n_dims);
  part.body = expr_substitute(d->arena, part.body, by, whole->n_dims);
  const char *name = grad_name(graph, access->access.tensor);
  int tensor = -1;
  if (part.body->kind == EXPR_ACCESS && part.n_dims == part.n_out && part.n_out == part.body->access.rank) {
    tensor = part.body->access.tensor;
    for (int i = 0; i < part.n_out; i++)
      if (access_full_dim(graph, &part, part.body, i) != i) tensor = -1;
  }
  if (tensor < 0) tensor = graph_add_compute(graph, part, arena_printf(d->arena, "%s.part", name));
  for (int i = 0; i < x->rank; i++) {
    dims[i] = whole->dims[i];
    if (i < n_fixed) dims[i].extent = 1;
    index[i] = index_add(index_dim(i), index_const(i < n_fixed ? -access->access.index[i].base : 0));
  }
  const int block = graph_add_view(graph, tensor, x->rank, dims, backward_op(whole), arena_printf(d->arena, "%s.block", name));
  memcpy(grad.dims, whole->dims, sizeof *grad.dims * (size_t)x->rank);
  grad.n_dims = grad.n_out = x->rank;
  grad.body = expr_access(d->arena, block, TYPE_REAL, x->rank, index, 0);
  return graph_add_compute(graph, grad, name);
}

// x.grad[x0, ...] = sum(unsolved dims) bar, with every solved dimension replaced by its solution.
static int gather(Derivation *d, const Op *op, const Expr *access, const Expr *bar, const int *solved) {
  Graph *graph = d->ad->graph;
  const Tensor x = *graph_tensor(graph, access->access.tensor);
  Op grad = backward_op(op);
  gradient_dims(graph->arena, &x, op, access, solved, &grad);
  Index by[IR_MAX_DIMS];
  for (int k = 0; k < op->n_dims; k++) {
    if (solved[k] >= 0 || !expr_uses_dim(bar, k)) {
      by[k] = index_const(0); // solved below; or a dimension that neither the access nor the bar uses
      if (solved[k] >= 0) continue;
      bool in_access = false;
      for (int i = 0; i < access->access.rank; i++) in_access |= index_uses(&access->access.index[i], k);
      if (!in_access) {
        bar = CALL2(mul, REAL((double)op->dims[k].extent), bar);
        continue;
      }
    }
    by[k] = index_dim(grad.n_dims);
    add_dim(graph->arena, &grad, op->dims[k]);
  }
  const Expr *guard = expr_const(d->arena, 1, TYPE_BOOL); // over the gradient's dims
  const int n_fixed = fixed_in_front(&x, access);
  for (int i = n_fixed; i < x.rank; i++) {
    int k = 0;
    while (k < op->n_dims && solved[k] != i) k++;
    Index rest = access->access.index[i];
    if (k == op->n_dims) { // nothing to solve for: the index must be this one
      const Index value = index_substitute(&rest, by, op->n_dims);
      guard = CALL2(and, guard, CALL2(eq, expr_index(d->arena, index_dim(i)), expr_index(d->arena, value)));
      continue;
    }
    const int64_t coef = rest.coef[k];
    rest.coef[k] = 0;
    Index solution = index_add(index_dim(i), index_scale(index_substitute(&rest, by, op->n_dims), -1));
    if (coef < 0) solution = index_scale(solution, -1);
    solution.div = coef < 0 ? -coef : coef;
    by[k] = solution;
  }
  grad.reduce = grad.n_dims > grad.n_out ? REDUCE_SUM : REDUCE_NONE;
  grad.body = CALL3(select, guard, expr_substitute(d->arena, bar, by, op->n_dims), REAL(0));
  if (n_fixed > 0) return gather_piece(d, &x, access, n_fixed, &grad);
  return graph_add_compute(graph, grad, grad_name(graph, access->access.tensor));
}

// True if every index is one whole iteration dimension of its own.
static bool is_plain(const Graph *graph, const Op *op, const Expr *access) {
  bool taken[IR_MAX_DIMS] = {false};
  for (int i = 0; i < access->access.rank; i++) {
    const int d = access_full_dim(graph, op, access, i);
    if (d < 0 || taken[d]) return false;
    taken[d] = true;
  }
  return true;
}

// Sums the bar over the dimensions that the access does not use, into a tensor over those it uses; the access to that.
static const Expr *spread(Derivation *d, Op *op, const Expr **access, const Expr *bar, int *solved) {
  Graph *graph = d->ad->graph;
  int used[IR_MAX_DIMS];
  bool outer[IR_MAX_DIMS];
  for (int k = 0; k < op->n_dims; k++) outer[k] = solved[k] >= 0;
  const int n_used = access_packing_order(graph, op, *access, outer, used);
  if (n_used > IR_MAX_RANK) fatal("autodiff: the windows of %s have more than %d dimensions", op->name, IR_MAX_RANK);
  Op sum = backward_op(op);
  Index by[IR_MAX_DIMS];
  for (int k = 0; k < op->n_dims; k++) by[k] = index_const(-1);
  for (int j = 0; j < n_used; j++) {
    by[used[j]] = index_dim(j);
    sum.dims[sum.n_dims++] = op->dims[used[j]];
  }
  sum.n_out = n_used;
  for (int k = 0; k < op->n_dims; k++) {
    if (by[k].base != -1) continue;
    by[k] = index_dim(sum.n_dims);
    sum.dims[sum.n_dims++] = op->dims[k];
  }
  sum.reduce = sum.n_dims > sum.n_out ? REDUCE_SUM : REDUCE_NONE;
  sum.body = expr_substitute(d->arena, bar, by, op->n_dims);
  const int tensor = graph_add_compute(
      graph, sum, arena_printf(d->arena, "%s.grad.spread", graph_tensor(graph, (*access)->access.tensor)->name));
  *access = expr_substitute(d->arena, *access, by, op->n_dims);
  memcpy(op->dims, sum.dims, sizeof sum.dims);
  op->n_dims = op->n_out = n_used;
  choose_solved(op, *access, false, solved);
  return access_plain(graph, tensor, 0);
}

static void contribute(Derivation *d, const Op *forward, const Contribution *c, int adjoint) {
  Graph *graph = d->ad->graph;
  Op op = *forward;
  const Expr *access = c->access, *bar = c->bar;
  int solved[IR_MAX_DIMS];
  if (is_plain(graph, &op, access)) {
    choose_solved(&op, access, true, solved);
  } else {
    bool unused = false, reduced = false, safe = false;
    choose_solved(&op, access, true, solved);
    for (int k = 0; k < op.n_dims; k++) {
      bool in_access = false;
      for (int i = 0; i < access->access.rank; i++) in_access |= index_uses(&access->access.index[i], k);
      unused |= !in_access && op.dims[k].extent > 1;
      reduced |= solved[k] >= 0 && k >= op.n_out;
    }
    if (unused || reduced || !vanishes_outside(bar, adjoint, &safe) || !safe) {
      choose_solved(&op, access, false, solved);
      bar = spread(d, &op, &access, bar, solved);
    }
  }
  const int grad = gather(d, &op, access, bar, solved);
  vec_push(d->arena, &d->ad->adjoint[access->access.tensor], grad);
}

// ---- one operator ------------------------------------------------------------------------------------------------

// For a maximum (minimum): 1 at its first place, as a condition; the place is an operator of the forward phase.
static const Expr *selected(Derivation *d, const Op *op) {
  Graph *graph = d->ad->graph;
  Op arg = *op;
  arg.reduce = REDUCE_ARGMAX;
  if (op->reduce == REDUCE_MIN) arg.body = CALL1(neg, op->body);
  const int place =
      graph_add_compute(graph, arg, arena_printf(d->arena, "%s.place", graph_tensor(graph, op->out)->name));
  Index index[IR_MAX_RANK];
  for (int i = 0; i < op->n_out; i++) index[i] = index_dim(i);
  const Expr *access = expr_access(d->arena, place, TYPE_INT, op->n_out, index, -1);
  return CALL2(eq, access, expr_index(d->arena, op_reduced_position(op)));
}

// For a product: the product of all other factors, an operator over the whole iteration space.
static const Expr *other_factors(Derivation *d, const Op *op) {
  Graph *graph = d->ad->graph;
  Op others = backward_op(op);
  Index by[IR_MAX_DIMS];
  const int n_reduced = op->n_dims - op->n_out;
  if (op->n_dims + n_reduced > IR_MAX_DIMS) fatal("the gradient of a product needs too many dimensions");
  memcpy(others.dims, op->dims, sizeof op->dims);
  others.n_out = op->n_dims;
  others.n_dims = op->n_dims + n_reduced;
  const Expr *here = expr_const(d->arena, 1, TYPE_BOOL);
  for (int k = 0; k < op->n_dims; k++) by[k] = index_dim(k < op->n_out ? k : k + n_reduced);
  for (int k = op->n_out; k < op->n_dims; k++) {
    others.dims[k + n_reduced] = op->dims[k];
    name_dim(graph->arena, others.dims, k + n_reduced + 1, k + n_reduced, op->dims[k].name);
    here = CALL2(and, here, CALL2(eq, expr_index(d->arena, index_dim(k)), expr_index(d->arena, by[k])));
  }
  others.reduce = REDUCE_PROD;
  others.body = CALL3(select, here, REAL(1), expr_substitute(d->arena, op->body, by, op->n_dims));
  const int tensor =
      graph_add_compute(graph, others, arena_printf(d->arena, "%s.others", graph_tensor(graph, op->out)->name));
  return access_plain(graph, tensor, 0);
}

// A contribution as a term of the sum: what is one tensor at some places and 0 elsewhere needs no tensor of its own.
static const Expr *term(const Graph *graph, int tensor) {
  const int producer = graph_tensor(graph, tensor)->producer;
  const Op *op = producer >= 0 ? &graph->ops.at[producer] : NULL;
  if (op != NULL && op->kind == OP_COMPUTE && op->reduce == REDUCE_NONE && op->body->kind == EXPR_CALL &&
      op->body->call.fn == FN_select && op->body->call.arg[1]->kind == EXPR_ACCESS && expr_is_const(op->body->call.arg[2], 0))
    return op->body;
  return access_plain(graph, tensor, 0);
}

// All contributions to the adjoint of a tensor, summed into one tensor. -1: none.
static int sum_adjoint(Autodiff *ad, int tensor, const Op *near) {
  Graph *graph = ad->graph;
  const Ids *list = &ad->adjoint[tensor];
  if (list->len == 0) return -1;
  if (list->len == 1) return list->at[0];
  Op sum = backward_op(near);
  dims_of_tensor(graph_tensor(graph, tensor), sum.dims);
  sum.n_dims = sum.n_out = graph_tensor(graph, tensor)->rank;
  sum.body = term(graph, list->at[0]);
  for (int i = 1; i < list->len; i++)
    sum.body = expr_call(graph->arena, FN_add, sum.body, term(graph, list->at[i]), NULL);
  return graph_add_compute(graph, sum, grad_name(graph, tensor));
}

// ---- opaque operators --------------------------------------------------------------------------------------------

// The adjoint of a result of an opaque operator; zeros where no loss depends on it.
static int adjoint_or_zero(Autodiff *ad, int tensor, const Op *op) {
  const int adjoint = sum_adjoint(ad, tensor, op);
  if (adjoint >= 0) return adjoint;
  Op zero = backward_op(op);
  dims_of_tensor(graph_tensor(ad->graph, tensor), zero.dims);
  zero.n_dims = zero.n_out = graph_tensor(ad->graph, tensor)->rank;
  zero.body = expr_real(ad->graph->arena, 0);
  return graph_add_compute(ad->graph, zero, grad_name(ad->graph, tensor));
}

// The tensor for the gradient of an operand, if it is wanted.
static int operand_grad(Autodiff *ad, int operand, const Op *op) {
  if (!ad->wanted[operand]) return -1;
  Tensor t = *graph_tensor(ad->graph, operand);
  t.name = grad_name(ad->graph, operand);
  t.role = ROLE_VALUE;
  t.producer = t.of = -1;
  t.loc = op->loc;
  return graph_add_tensor(ad->graph, t);
}

// y = f(x) becomes x.grad = f_grad(x, y, y.grad): all operands, all results, the adjoints of real results; the gradients
// of real operands.
static void differentiate_opaque(Autodiff *ad, const Op *op) {
  Graph *graph = ad->graph;
  const Opaque *f = op->opaque;
  bool reached = false, wanted = false;
  for (int a = 0; a < f->n_args; a++) {
    reached |= f->args[a].written && ad->adjoint[f->args[a].tensor].len > 0;
    wanted |= !f->args[a].written && ad->wanted[f->args[a].tensor];
  }
  if (!reached || !wanted || f->gradient == NULL) return; // without a function: elaboration saw that no gradient passes
  Opaque *call = NEW(graph->arena, Opaque);
  *call = *f;
  call->function = f->gradient;
  call->gradient = NULL;
  call->n_args = 0;
  call->args = NEW_ARRAY(graph->arena, OpaqueArg, 2 * f->n_args);
  for (int a = 0; a < f->n_args; a++) {
    call->args[call->n_args] = f->args[a];
    call->args[call->n_args++].written = false;
  }
  for (int written = 1; written >= 0; written--) // adjoints, then gradients
    for (int a = 0; a < f->n_args; a++) {
      if (f->args[a].type != TYPE_REAL || f->args[a].written != (written == 1)) continue;
      OpaqueArg *arg = &call->args[call->n_args++];
      *arg = f->args[a];
      arg->name = arena_printf(graph->arena, "%s_grad", arg->name);
      arg->tensor = written ? adjoint_or_zero(ad, arg->tensor, op) : operand_grad(ad, arg->tensor, op);
      arg->written = !written;
      arg->sized = false;
      if (!written && arg->tensor >= 0) vec_push(graph->arena, &ad->adjoint[f->args[a].tensor], arg->tensor);
    }
  Op grad = *op;
  grad.phase = PHASE_BACKWARD;
  grad.opaque = call;
  grad.out = op_result(&grad, 0);
  graph_add_op(graph, grad);
}

static void differentiate(Autodiff *ad, int op_id) {
  Graph *graph = ad->graph;
  const Op op = graph->ops.at[op_id];
  if (op.kind == OP_OPAQUE && op.phase == PHASE_FORWARD) differentiate_opaque(ad, &op);
  if (op.kind == OP_OPAQUE) return;
  if (op.phase != PHASE_FORWARD || !ad->wanted[op.out] || ad->adjoint[op.out].len == 0) return;
  const int adjoint = sum_adjoint(ad, op.out, &op);
  if (op.kind == OP_VIEW) {
    if (!ad->wanted[op.in]) return;
    Dim dims[IR_MAX_RANK];
    dims_of_tensor(graph_tensor(graph, op.in), dims);
    const int back =
        graph_add_view(graph, adjoint, graph_tensor(graph, op.in)->rank, dims, backward_op(&op), grad_name(graph, op.in));
    vec_push(graph->arena, &ad->adjoint[op.in], back);
    return;
  }
  if (op.reduce == REDUCE_ARGMAX) return;
  Derivation derivation = {.ad = ad, .arena = graph->arena}, *d = &derivation;
  const Expr *bar = access_plain(graph, adjoint, 0);
  if (op.reduce == REDUCE_MAX || op.reduce == REDUCE_MIN) bar = CALL3(select, selected(d, &op), bar, REAL(0));
  if (op.reduce == REDUCE_PROD) bar = CALL2(mul, bar, other_factors(d, &op));
  derive(d, op.body, bar);
  for (int i = 0; i < d->list.len; i++) {
    Contribution *c = &d->list.at[i];
    if (op.reduce == REDUCE_NONE && op.body->kind == EXPR_CALL)
      c->bar = replace(graph->arena, c->bar, op.body, access_plain(graph, op.out, 0));
    c->bar = expr_map(graph->arena, c->bar, zero_outside, graph->arena);
    contribute(d, &op, c, adjoint);
  }
}

// Gives the declared gradient tensor its operator: the one that computes the parameter's adjoint.
static void finish_gradient(Autodiff *ad, int gradient) {
  Graph *graph = ad->graph;
  const int param = graph_tensor(graph, gradient)->of;
  const Op near = {.layer = "", .name = "gradient", .loc = graph_tensor(graph, param)->loc};
  Op grad = backward_op(&near);
  dims_of_tensor(graph_tensor(graph, param), grad.dims);
  grad.n_dims = grad.n_out = graph_tensor(graph, param)->rank;
  grad.out = gradient;
  const int adjoint = sum_adjoint(ad, param, &near);
  const int producer = adjoint >= 0 ? graph_tensor(graph, adjoint)->producer : -1;
  if (producer >= 0 && ad->adjoint[param].len >= 1 && adjoint >= ad->n_tensors) {
    op_replace_result(graph->arena, &graph->ops.at[producer], adjoint, gradient); // nobody else reads a parameter's adjoint
    graph_tensor(graph, gradient)->producer = producer;
    graph_tensor(graph, adjoint)->producer = -1;
    return;
  }
  grad.body = adjoint >= 0 ? access_plain(graph, adjoint, 0) : expr_real(graph->arena, 0);
  graph_add_op(graph, grad);
}

void graph_add_total_loss(Graph *graph) {
  if (graph->losses.len < 2) return;
  Scalar *list = NEW_ARRAY(graph->arena, Scalar, graph->losses.len + 1);
  Op total = {.phase = PHASE_FORWARD, .name = "loss", .layer = "", .loc = graph_tensor(graph, graph->losses.at[0].tensor)->loc};
  total.body = expr_real(graph->arena, 0);
  for (int i = 0; i < graph->losses.len; i++) {
    list[i + 1] = graph->losses.at[i];
    if (str_eq(list[i + 1].name, "loss")) list[i + 1].name = "main";
    const Expr *part = access_plain(graph, graph->losses.at[i].tensor, 0);
    total.body = expr_call(graph->arena, FN_add, total.body, part, NULL);
  }
  list[0] = (Scalar){"loss", graph_add_compute(graph, total, "loss")};
  graph->losses.at = list;
  graph->losses.len++;
  graph->losses.cap = graph->losses.len;
  graph_sort_by_phase(graph);
}

void pass_autodiff(Graph *graph) {
  graph_add_total_loss(graph);
  const int n = graph->tensors.len, n_ops = graph->ops.len;
  Autodiff ad = {.graph = graph, .n_tensors = n};
  ad.wanted = NEW_ARRAY(graph->arena, bool, n);
  ad.adjoint = NEW_ARRAY(graph->arena, Ids, n);
  mark_wanted(&ad);
  for (int i = 0; i < n_ops; i++) graph->ops.at[i].origin = graph->ops.at[i].phase == PHASE_FORWARD ? i + 1 : 0;
  if (graph->losses.len > 0) {
    const int loss = graph->losses.at[0].tensor;
    Op seed = {.phase = PHASE_BACKWARD, .name = "loss", .layer = "", .body = expr_real(graph->arena, 1),
               .loc = graph_tensor(graph, loss)->loc};
    vec_push(graph->arena, &ad.adjoint[loss], graph_add_compute(graph, seed, grad_name(graph, loss)));
  }
  for (int i = n_ops - 1; i >= 0; i--) differentiate(&ad, i);
  for (int t = 0; t < n; t++)
    if (graph_tensor(graph, t)->role == ROLE_GRADIENT) finish_gradient(&ad, t);
  graph_sort_by_phase(graph);
}
