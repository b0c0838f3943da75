// sums: y = y0 + a0 b0 + a1 b1 + ...
//
//   g[k, u] = sum(b) ((d0[b, k] * h0[b, u]) + (d1[b, k] * h1[b, u]))
// becomes
//   gemm g = d0' h0;  gemm g += d1' h1
// and, where d0, d1 and h0, h1 lie behind each other, one product over twice as many b:
//   gemm g = d' h
// To a value that nobody else needs a product is added in its place:
//   p[b, u] = sum(c) (x[b, c] * w[u, c]);  y[b, u] = z[3, b, u] + p[b, u]
// becomes
//   gemm y += x w'         y begins where z[3] does
// and so is a scatter to a stored tensor, which then has its new value without a pass over it:
//   change[v, c] = sum(row) ((rows[row] == v) * sums[row, c]);  w.next[v, c] = w[v, c] + change[v, c]
// becomes
//   kernel w += ...        at the rows alone
#include "sums.h"

#include "contraction.h"
#include "parts.h"
#include "rewrite.h"
#include "row_update.h"

typedef struct Summer {
  Lowering *l;
  bool *leaf; // by tensor: read by something other than operators
} Summer;

// ---- a value in whose place the sum can be -----------------------------------------------------------------------

typedef struct Overlap {
  const Expr *piece;
  int n_fixed;
  bool any;
} Overlap;

// Does an access read what the piece x[3, ...] reads? Not if a number in front is another one.
static void check_overlap(void *ctx, const Expr *e) {
  Overlap *o = ctx;
  if (e->kind != EXPR_ACCESS || e->access.tensor != o->piece->access.tensor) return;
  for (int i = 0; i < o->n_fixed; i++)
    if (index_is_const(&e->access.index[i]) && e->access.index[i].base != o->piece->access.index[i].base) return;
  o->any = true;
}

// Nothing but the sum reads what it reads there.
static bool is_last_reader(const Summer *s, const Op *sum, const Expr *piece, int n_fixed) {
  const IdList readers = readers_of(&s->l->reads, piece->access.tensor);
  for (int i = 0; i < readers.len; i++) {
    const Op *op = &s->l->graph->ops.at[readers.at[i]];
    Overlap overlap = {piece, n_fixed, false};
    if (op == sum) continue;
    if (op->kind != OP_COMPUTE) return false;
    expr_visit(op->body, check_overlap, &overlap);
    if (overlap.any) return false;
  }
  return true;
}

// How many numbers are in front of the access, behind which it reads all dimensions as they are; -1: it is no such piece.
static int piece_of(const Graph *graph, const Op *sum, const Expr *access) {
  const Tensor *x = graph_tensor(graph, access->access.tensor);
  const int n_fixed = access->access.rank - sum->n_out;
  if (n_fixed < 0) return -1;
  for (int i = 0; i < n_fixed; i++) {
    const Index *index = &access->access.index[i];
    if (!index_is_const(index) || index->base < 0 || index->base >= x->extent[i]) return -1;
  }
  for (int i = 0; i < sum->n_out; i++)
    if (access_full_dim(graph, sum, access, n_fixed + i) != i) return -1;
  return n_fixed;
}

// This rank's part of the sum lies in its part of x as one block.
static bool lies_alike(Lowering *l, const Tensor *x, const Tensor *sum, int n_fixed) {
  for (int a = 0; a < l->program->mesh.n_axes; a++) {
    const AxisLayout *p = &x->layout->axis[a], *q = &sum->layout->axis[a];
    if (p->kind != q->kind || (p->kind == LAYOUT_PINNED && p->pin != q->pin) || axis_is_sum(p)) return false;
    if (p->kind == LAYOUT_SHARD && p->dim != q->dim + n_fixed) return false;
  }
  for (int i = 0; i < n_fixed; i++)
    if (lowering_tensor_extent(l, x, i).block >= 0) return false;
  for (int i = 0; i < sum->rank; i++)
    if (!extent_equal(lowering_tensor_extent(l, x, n_fixed + i), lowering_tensor_extent(l, sum, i))) return false;
  return true;
}

typedef struct Packed {
  const Graph *graph;
  bool any;
} Packed;

static void note_packed(void *ctx, int tensor) {
  Packed *p = ctx;
  const int producer = graph_tensor(p->graph, tensor)->producer;
  p->any |= producer >= 0 && str_eq(p->graph->ops.at[producer].name, "pack");
}

// A packing may run slice by slice beside its product.
static bool is_packed(const Graph *graph, const Op *op) {
  Packed p = {graph, false};
  op_visit_reads(op, note_packed, &p);
  return p.any;
}

// Products for the library that only the sum reads, in the sum's own shape and division.
static bool is_product(const Summer *s, const Op *sum, const Expr *access) {
  const Graph *graph = s->l->graph;
  const int tensor = access->access.tensor, producer = graph_tensor(graph, tensor)->producer;
  GemmPlan *plans;
  if (producer < 0 || readers_of(&s->l->reads, tensor).len != 1 || s->leaf[tensor]) return false;
  const Op *op = &graph->ops.at[producer];
  if (op->phase != sum->phase || !products_are_for_library(graph, op)) return false;
  if (piece_of(graph, sum, access) != 0 || memcmp(op->sharding.pin, sum->sharding.pin, sizeof op->sharding.pin) != 0)
    return false;
  if (!lies_alike(s->l, graph_tensor(graph, tensor), graph_tensor(graph, sum->out), 0)) return false;
  return !is_packed(graph, op) && sums_plan(s->l, producer, &plans) > 0;
}

// Puts the sum in the place of the value that the product is added to.
static bool take_place(const Summer *s, const Op *sum, const Expr *product, const Expr *piece) {
  const Graph *graph = s->l->graph;
  const Tensor *x = graph_tensor(graph, piece->access.tensor), *y = graph_tensor(graph, sum->out);
  const int n_fixed = piece_of(graph, sum, piece);
  if (n_fixed < 0 || s->leaf[sum->out] || s->leaf[piece->access.tensor]) return false;
  if (x->role != ROLE_VALUE || y->role != ROLE_VALUE || x->producer < 0) return false;
  if (x->producer > graph_tensor(graph, product->access.tensor)->producer) return false;
  const Op *producer = &graph->ops.at[x->producer];
  if (producer->kind != OP_COMPUTE || producer->phase != sum->phase) return false;
  if (!is_last_reader(s, sum, piece, n_fixed) || !lies_alike(s->l, x, y, n_fixed)) return false;
  const IdList readers = readers_of(&s->l->reads, sum->out);
  for (int i = 0; i < readers.len; i++) // a change of layout would be made in its place
    if (graph->ops.at[readers.at[i]].kind == OP_RESHARD) return false;
  Extent start = extent_fixed(0);
  for (int i = 0; i < n_fixed; i++) {
    Extent step = extent_fixed(piece->access.index[i].base);
    for (int j = i + 1; j < x->rank; j++) step = extent_mul(step, lowering_tensor_extent(s->l, x, j));
    if (!extent_add(start, step, &start)) return false;
  }
  return parts_put(s->l, s->l->tensor_of[sum->out], s->l->tensor_of[piece->access.tensor], start);
}

// A scatter into the stored tensor that it is added to, if all of it is on the rank that stores it.
static void scatter_into(Lowering *l, int id) {
  const Graph *graph = l->graph;
  const Op *sum = &graph->ops.at[id];
  RowUpdate update;
  if (!row_update_match(graph, sum, &update)) return;
  const int stored = update.stored->access.tensor, scattered = update.scatter->access.tensor;
  const int scatter = graph_tensor(graph, scattered)->producer;
  if (memcmp(graph->ops.at[scatter].sharding.pin, sum->sharding.pin, sizeof sum->sharding.pin) != 0) return;
  if (!lies_alike(l, graph_tensor(graph, stored), graph_tensor(graph, scattered), 0)) return;
  if (!lies_alike(l, graph_tensor(graph, stored), graph_tensor(graph, sum->out), 0)) return;
  l->fate[id].is_sum = l->fate[scatter].adds_in_place = true;
  l->tensor_of[sum->out] = l->tensor_of[scattered] = l->tensor_of[stored];
}

void sums_find(Lowering *l) {
  const Summer summer = {l, graph_leaves(l->graph, l->scratch)}, *s = &summer;
  const Graph *graph = l->graph;
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *sum = &graph->ops.at[i];
    scatter_into(l, i);
    if (sum->kind != OP_COMPUTE || sum->reduce != REDUCE_NONE || sum->body->kind != EXPR_CALL ||
        sum->body->call.fn != FN_add)
      continue;
    const Expr *const *arg = sum->body->call.arg;
    if (arg[0]->kind != EXPR_ACCESS || arg[1]->kind != EXPR_ACCESS) continue;
    for (int k = 0; k < 2; k++) {
      if (!is_product(s, sum, arg[k]) || !take_place(s, sum, arg[k], arg[1 - k])) continue;
      const int product = graph_tensor(graph, arg[k]->access.tensor)->producer;
      l->fate[i].is_sum = true;
      l->fate[product].adds_to = graph_tensor(graph, arg[1 - k]->access.tensor)->producer + 1;
      l->tensor_of[graph->ops.at[product].out] = l->tensor_of[sum->out];
      break;
    }
  }
}

// ---- products of pieces behind each other ------------------------------------------------------------------------

// Elements from one piece to the next: rows of a whole piece.
static bool is_next(const Program *p, int from, int to, Extent rows, Extent row) {
  const ProgTensor *a = &p->tensors.at[from], *b = &p->tensors.at[to];
  Extent next;
  if (!a->is_part || !b->is_part || a->whole != b->whole) return false;
  return extent_add(a->start, extent_mul(rows, row), &next) && extent_equal(next, b->start);
}

// Sums over rows, which lie behind each other in both operands: the product of one set of rows, then of the next one.
static bool follows(const Program *p, const Gemm *x, const Gemm *y) {
  return is_next(p, x->a, y->a, x->k, x->lda) && is_next(p, x->b, y->b, x->k, x->ldb);
}

static bool is_over_rows(const GemmPlan *plan) {
  return !plan->looped && plan->gemm.batch.block < 0 && plan->gemm.batch.fixed == 1 && plan->gemm.a_transposed &&
         !plan->gemm.b_transposed;
}

static bool same_sizes(const Gemm *x, const Gemm *y) {
  return extent_equal(x->m, y->m) && extent_equal(x->n, y->n) && extent_equal(x->lda, y->lda) &&
         extent_equal(x->ldb, y->ldb) && x->alpha == y->alpha;
}

// Joins y to x, which may be of several pieces already.
static bool join(const Program *p, GemmPlan *x, const GemmPlan *y) {
  if (!is_over_rows(x) || !is_over_rows(y) || !same_sizes(&x->gemm, &y->gemm)) return false;
  Extent k;
  if (!extent_add(x->gemm.k, y->gemm.k, &k)) return false;
  const bool before = follows(p, &y->gemm, &x->gemm);
  if (!before && !follows(p, &x->gemm, &y->gemm)) return false;
  if (before) {
    x->gemm.a = y->gemm.a;
    x->gemm.b = y->gemm.b;
  }
  x->gemm.k = k;
  x->joined++;
  return true;
}

int sums_plan(Lowering *l, int op_id, GemmPlan **plans) {
  const Op *op = &l->graph->ops.at[op_id];
  const Expr *const *terms;
  const int n = products_match(l->graph, op, l->scratch, &terms);
  int n_plans = 0;
  *plans = NEW_ARRAY(l->scratch, GemmPlan, n);
  for (int i = 0; i < n; i++) {
    Op term = *op;
    GemmPlan plan;
    term.body = terms[i];
    if (!gemm_of_op(l, &term, -1, &plan)) return 0;
    if (n_plans > 0 && join(l->program, &(*plans)[n_plans - 1], &plan)) continue;
    plan.joined = 1;
    plan.adds = n_plans > 0 || l->fate[op_id].adds_to > 0;
    (*plans)[n_plans++] = plan;
  }
  for (int i = 0; i < n_plans; i++) {
    Gemm *gemm = &(*plans)[i].gemm;
    if ((*plans)[i].joined > 1)
      gemm->text = arena_printf(l->arena, "%s ...: %d products in one", gemm->text, (*plans)[i].joined);
  }
  return n_plans;
}
