// Tensors of which a kernel reads one piece: what is at a fixed place of a dimension becomes a tensor without it, that begins further on.
#include "kernel_shape.h"

typedef struct FixedIndex {
  const Kernel *kernel;
  int tensor, position;
  int64_t value; // -1: not seen
  bool fixed;
} FixedIndex;

static void check_fixed(void *ctx, const Expr *e) {
  FixedIndex *f = ctx;
  if (e->kind != EXPR_ACCESS || e->access.tensor != f->tensor) return;
  const Index *index = &e->access.index[f->position];
  f->fixed = f->fixed && index_is_const(index) && index->div == 1 && (f->value < 0 || index->base == f->value);
  f->value = index->base;
  f->fixed = f->fixed && f->value >= 0;
}

// The number that is the index at a position in all accesses to a tensor that is only read; -1 if there is none.
static int64_t fixed_index(const Kernel *k, const KernelTensor *t, int position) {
  FixedIndex f = {k, t->tensor, position, -1, true};
  for (int s = 0; s < k->stages.len; s++)
    for (int i = 0; i < k->stages.at[s].statements.len; i++) {
      const Statement *statement = &k->stages.at[s].statements.at[i];
      if (statement->out == t->tensor) return -1;
      expr_visit(statement->body, check_fixed, &f);
    }
  return f.fixed && f.value < t->global[position] ? f.value : -1;
}

typedef struct Dropped {
  Arena *arena;
  int tensor, position;
} Dropped;

static const Expr *without_index(void *ctx, const Expr *e) {
  const Dropped *d = ctx;
  if (e->kind != EXPR_ACCESS || e->access.tensor != d->tensor) return e;
  Index index[IR_MAX_RANK];
  int n = 0;
  for (int i = 0; i < e->access.rank; i++)
    if (i != d->position) index[n++] = e->access.index[i];
  return expr_access(d->arena, e->access.tensor, e->type, n, index, e->access.outside);
}

// x[4, b, u] is the piece of x that begins 4 steps behind its first element, x[b, 4, u] one with rows as far apart as those of x:
// kernels that differ in such numbers only are one.
static void take_piece(Arena *arena, Kernel *k, KernelTensor *t, int position, Extent start) {
  Dropped d = {arena, t->tensor, position};
  for (int s = 0; s < k->stages.len; s++)
    for (int i = 0; i < k->stages.at[s].statements.len; i++) {
      Statement *statement = &k->stages.at[s].statements.at[i];
      statement->body = expr_map(arena, statement->body, without_index, &d);
    }
  if (position > 0) {
    t->extent[position + 1] = extent_mul(t->extent[position + 1], t->extent[position]);
    t->global[position + 1] *= t->global[position];
  }
  for (int i = position; i + 1 < t->rank; i++) {
    t->extent[i] = t->extent[i + 1];
    t->global[i] = t->global[i + 1];
    t->dim[i] = t->dim[i + 1];
  }
  t->rank--;
  t->is_piece = true;
  t->start = start;
}

void kernel_take_pieces(Lowering *l, Kernel *kernel) {
  for (int k = 0; k < kernel->tensors.len; k++) {
    KernelTensor *t = &kernel->tensors.at[k];
    const ProgTensor *tensor = &l->program->tensors.at[l->tensor_of[t->tensor]];
    for (int i = 0; i + 1 < t->rank; i++) {
      if (t->global[i] == 1 || t->extent[i].block >= 0 || (i > 0 && t->extent[i + 1].block >= 0)) continue;
      const int64_t value = fixed_index(kernel, t, i);
      Extent start = extent_fixed(value), total = extent_fixed(0);
      if (value < 0) continue;
      for (int j = i + 1; j < t->rank; j++) start = extent_mul(start, t->extent[j]);
      if (t->is_piece && !extent_add(start, t->start, &start)) continue;
      if (tensor->is_part && !extent_add(start, tensor->start, &total)) continue;
      take_piece(l->building, kernel, t, i--, start);
    }
  }
}
