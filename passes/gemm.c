#include "gemm.h"

#include "../ir/print.h"
#include "collapse.h"
#include "contraction.h"

typedef struct Operand {
  const KernelTensor *tensor;
  int dim[IR_MAX_RANK]; // kernel dim at each position; -1: a dimension of extent 1
} Operand;

typedef struct Roles { // the collapsed contraction
  Kernel kernel;
  Operand a, b, c;
  double alpha;
} Roles;

static bool has_dim(const Operand *o, int dim) {
  for (int i = 0; i < o->tensor->rank; i++)
    if (o->dim[i] == dim) return true;
  return false;
}

// Elements between neighbours along a kernel dim; 0 if the operand does not have it.
static Extent stride_of(const Operand *o, int dim) {
  Extent stride = extent_fixed(1);
  for (int i = o->tensor->rank - 1; i >= 0; i--) {
    if (o->dim[i] == dim) return stride;
    stride = extent_mul(stride, o->tensor->extent[i]);
  }
  return extent_fixed(0);
}

static bool is_unit(Extent e) { return e.fixed == 1 && e.block < 0; }

static Operand operand_of_access(const Kernel *k, const Expr *access) {
  Operand o = {.tensor = &k->tensors.at[kernel_find_tensor(k, access->access.tensor)]};
  for (int i = 0; i < access->access.rank; i++) o.dim[i] = index_plain_dim(&access->access.index[i]);
  return o;
}

static void add_tensor(Lowering *l, Kernel *k, const Graph *graph, int tensor) {
  if (kernel_find_tensor(k, tensor) < 0) vec_push(l->scratch, &k->tensors, kernel_tensor(l, l->scratch, graph, tensor));
}

static bool is_divided(const Program *p, Extent e) { return e.block >= 0 && mesh_parts(&p->mesh, p->blocks.at[e.block].axes) > 1; }

static bool is_strip(const Program *p, Extent e) { return e.block >= 0 && p->blocks.at[e.block].strip; }

// An interval of one: there is nothing to loop over.
static bool is_single(const Program *p, Extent e) {
  return is_strip(p, e) && e.n_more == 0 && e.fixed == 1 && p->blocks.at[e.block].extent == 1;
}

// Where the intervals of strips begin in an operand that is there as a whole.
static Shifts shifts_of(Program *p, const Roles *r, const Operand *o) {
  Shifts shifts = {0};
  for (int i = 0; i < o->tensor->rank; i++) {
    const Extent own = o->tensor->extent[i], loop = o->dim[i] >= 0 ? r->kernel.dims[o->dim[i]].extent : extent_fixed(1);
    if (!is_strip(p, loop) || p->blocks.at[loop.block].reach >= 0 || extent_equal(own, loop)) continue;
    const Shift shift = {loop.block, loop.fixed, own, stride_of(o, o->dim[i])};
    vec_push(p->arena, &shifts, shift);
  }
  return shifts;
}

// A dimension of extent 1 has no place in a product of matrices; one that is divided is empty on most ranks.
static bool has_empty_dim(const Program *p, const Kernel *k) {
  for (int d = 0; d < k->n_dims; d++)
    if (k->dims[d].global == 1 && is_divided(p, k->dims[d].extent)) return true;
  return false;
}

// Every dimension of the operand is divided as the loop over it, or not divided at all.
static bool starts_together(const Program *p, const Kernel *k, const Operand *o) {
  for (int i = 0; i < o->tensor->rank; i++) {
    const Extent own = o->tensor->extent[i], loop = o->dim[i] >= 0 ? k->dims[o->dim[i]].extent : extent_fixed(1);
    if (extent_equal(own, loop) || is_strip(p, loop)) continue; // where a strip begins is added
    if (is_divided(p, own) || is_divided(p, loop)) return false;
  }
  return true;
}

// The contraction as a kernel of one statement, its dims merged as far as the operands allow.
static bool collapse_contraction(Lowering *l, const Graph *graph, const Op *op, int *loop_dim, Roles *r) {
  Kernel *k = &r->kernel;
  *r = (Roles){.kernel = {.n_dims = op->n_dims, .n_grid = op->n_out, .dims = NEW_ARRAY(l->scratch, LoopDim, op->n_dims)}};
  Statement s = {.name = op->name, .out = op->out, .reduce = op->reduce, .body = op->body, .out_rank = op->n_out};
  Stage stage = {.n_inner = op->n_dims - op->n_out};
  for (int d = 0; d < op->n_dims; d++) {
    k->dims[d] = (LoopDim){op->dims[d].name, lowering_dim_extent(l, op, d), op->dims[d].extent};
    if (d < op->n_out) s.out_dim[d] = d;
    else stage.inner[d - op->n_out] = d;
  }
  Contraction c;
  if (!contraction_match(graph, op, &c)) return false;
  add_tensor(l, k, graph, op->out);
  add_tensor(l, k, graph, c.a->access.tensor);
  add_tensor(l, k, graph, c.b->access.tensor);
  vec_push(l->scratch, &stage.statements, s);
  vec_push(l->scratch, &k->stages, stage);
  *loop_dim = kernel_collapse(l->scratch, l->program, k, *loop_dim, true);
  const Statement *merged = &k->stages.at[0].statements.at[0];
  Op mini = *op;
  mini.n_dims = k->n_dims;
  mini.n_out = k->n_grid;
  mini.body = merged->body;
  if (!contraction_match(graph, &mini, &c)) return false;
  r->alpha = c.alpha;
  r->a = operand_of_access(k, c.a);
  r->b = operand_of_access(k, c.b);
  if (!starts_together(l->program, k, &r->a) || !starts_together(l->program, k, &r->b)) return false;
  r->c.tensor = &k->tensors.at[kernel_find_tensor(k, op->out)];
  for (int i = 0; i < merged->out_rank; i++) r->c.dim[i] = merged->out_dim[i];
  return true;
}

// The largest dim in x and y but not in z (and not `except`); -1 if there is none.
static int largest_common(const Roles *r, const Operand *x, const Operand *y, const Operand *z, int except) {
  int best = -1;
  for (int d = 0; d < r->kernel.n_dims; d++) {
    if (d == except || !has_dim(x, d) || !has_dim(y, d) || has_dim(z, d)) continue;
    if (best < 0 || r->kernel.dims[d].global > r->kernel.dims[best].global) best = d;
  }
  return best;
}

static Extent dim_extent(const Roles *r, int dim) { return dim < 0 ? extent_fixed(1) : r->kernel.dims[dim].extent; }

// An operand as a row-major matrix [rows, cols]: one of the two must be contiguous.
static bool matrix_of(const Roles *r, const Operand *o, int rows, int cols, bool *transposed, Extent *ld) {
  const Extent row_stride = rows < 0 ? dim_extent(r, cols) : stride_of(o, rows);
  const Extent col_stride = cols < 0 ? dim_extent(r, rows) : stride_of(o, cols);
  if (cols < 0 ? !is_unit(row_stride) : is_unit(col_stride)) {
    *transposed = false;
    *ld = row_stride;
    return true;
  }
  if (rows >= 0 && is_unit(row_stride)) {
    *transposed = true;
    *ld = col_stride;
    return true;
  }
  if (rows < 0) { // a column [1, cols] with a stride: as the transposed of [cols, 1]
    *transposed = true;
    *ld = col_stride;
    return true;
  }
  return false;
}

static const char *gemm_text(Lowering *l, const Graph *graph, const Op *op) {
  Text text = {.arena = l->arena};
  text_printf(&text, "%s[", graph_tensor(graph, op->out)->name);
  print_dims(op->dims, op->n_out, false, &text);
  text_printf(&text, "] = sum(");
  print_dims(op->dims + op->n_out, op->n_dims - op->n_out, false, &text);
  text_printf(&text, ") ");
  print_expr(graph, op->body, op->dims, &text);
  return text_str(&text);
}

// The library counts in ints.
static bool fits_library(const Program *p, const Gemm *g) {
  const Extent sizes[] = {g->m, g->n, g->k, g->lda, g->ldb, g->ldc, g->batch};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (extent_max(p, sizes[i]) > INT32_MAX) return false;
  return true;
}

bool gemm_of_op(Lowering *l, const Op *op, int loop_dim, GemmPlan *plan) {
  Roles roles, *r = &roles;
  *plan = (GemmPlan){.loop_extent = extent_fixed(1)};
  if (!collapse_contraction(l, l->graph, op, &loop_dim, r) || has_empty_dim(l->program, &r->kernel)) return false;
  // n runs along memory in the result.
  int last = r->c.tensor->rank - 1;
  while (last > 0 && r->c.tensor->global[last] == 1) last--;
  if (r->c.tensor->rank == 0) return false;
  int n = r->c.dim[last];
  if (n == loop_dim) return false;
  if (has_dim(&r->a, n) && has_dim(&r->b, n)) return false;
  if (has_dim(&r->a, n)) {
    const Operand swap = r->a;
    r->a = r->b;
    r->b = swap;
  }
  const int m = largest_common(r, &r->c, &r->a, &r->b, loop_dim), k = largest_common(r, &r->a, &r->b, &r->c, loop_dim);
  if (m < 0 && r->kernel.dims[n].global == 1) return false;
  Gemm *gemm = &plan->gemm;
  *gemm = (Gemm){.a = l->tensor_of[r->a.tensor->tensor], .b = l->tensor_of[r->b.tensor->tensor],
                 .c = l->tensor_of[op->out], .alpha = r->alpha, .m = dim_extent(r, m), .n = dim_extent(r, n),
                 .k = dim_extent(r, k), .batch = extent_fixed(1), .text = gemm_text(l, l->graph, op)};
  if (!matrix_of(r, &r->a, m, k, &gemm->a_transposed, &gemm->lda)) return false;
  if (!matrix_of(r, &r->b, k, n, &gemm->b_transposed, &gemm->ldb)) return false;
  gemm->ldc = m < 0 ? gemm->n : stride_of(&r->c, m);
  // Of the dims left over, one may be the batch and one the loop around.
  int batch = -1;
  for (int d = 0; d < r->kernel.n_dims; d++) {
    if (d == m || d == n || d == k || d == loop_dim || r->kernel.dims[d].global == 1) continue;
    if (is_single(l->program, r->kernel.dims[d].extent)) continue;
    const bool reduced = !has_dim(&r->c, d);
    if (!reduced && batch < 0) batch = d;
    else if (loop_dim < 0) loop_dim = d;
    else return false;
  }
  if (batch >= 0) {
    gemm->batch = dim_extent(r, batch);
    gemm->batch_a = stride_of(&r->a, batch);
    gemm->batch_b = stride_of(&r->b, batch);
    gemm->batch_c = stride_of(&r->c, batch);
  }
  if (!fits_library(l->program, gemm)) return false;
  gemm->shift_a = shifts_of(l->program, r, &r->a);
  gemm->shift_b = shifts_of(l->program, r, &r->b);
  gemm->shift_c = shifts_of(l->program, r, &r->c);
  gemm->accumulate = lowering_adds_up(l, op);
  if (loop_dim < 0) return true;
  plan->looped = true;
  plan->loop_extent = dim_extent(r, loop_dim);
  plan->loop_reduces = !has_dim(&r->c, loop_dim);
  gemm->accumulate |= plan->loop_reduces;
  gemm->loop_a = stride_of(&r->a, loop_dim);
  gemm->loop_b = stride_of(&r->b, loop_dim);
  gemm->loop_c = stride_of(&r->c, loop_dim);
  return true;
}
