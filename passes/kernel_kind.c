// How the threads of a kernel share its work.
#include "kernel_shape.h"

enum { MAX_GRID = 4 };          // dimensions that one loop over the grid takes
enum { MAX_SERIAL_INNER = 32 }; // a reduction this small is done by one thread

typedef struct Widest {
  const Kernel *kernel;
  int64_t elements;
  int last_dim; // plain dim at the last position of the largest access, or -1
} Widest;

static void widen(Widest *w, int tensor, const Index *index, int rank) {
  const KernelTensor *t = &w->kernel->tensors.at[kernel_find_tensor(w->kernel, tensor)];
  int64_t elements = 1;
  for (int i = 0; i < t->rank; i++) elements *= t->global[i];
  if (rank == 0 || elements <= w->elements) return;
  int last = rank - 1;
  while (last > 0 && t->global[last] == 1) last--;
  w->elements = elements;
  w->last_dim = -1;
  for (int d = 0; d < w->kernel->n_dims; d++)
    if (index[last].coef[d] != 0 &&
        (w->last_dim < 0 || w->kernel->dims[d].global > w->kernel->dims[w->last_dim].global))
      w->last_dim = d;
}

static void widen_access(void *ctx, const Expr *e) {
  if (e->kind == EXPR_ACCESS) widen(ctx, e->access.tensor, e->access.index, e->access.rank);
}

static int64_t largest_inner(const Kernel *k) {
  int64_t largest = 0;
  for (int s = 0; s < k->stages.len; s++) {
    int64_t n = k->stages.at[s].n_inner > 0;
    for (int i = 0; i < k->stages.at[s].n_inner; i++)
      if (k->stages.at[s].at[i] == NULL) n *= k->dims[k->stages.at[s].inner[i]].global;
    if (n > largest) largest = n;
  }
  return largest;
}

// Stages whose inner dims had one element each, and are gone, become one, so that values are handed on in one loop.
static void merge_stages(Arena *arena, Kernel *k) {
  for (int s = 1; s < k->stages.len; s++)
    for (int i = 0; i < k->stages.at[s].statements.len; i++)
      vec_push(arena, &k->stages.at[0].statements, k->stages.at[s].statements.at[i]);
  k->stages.len = 1;
}

// No reductions and no inner dims: the threads of a block go along the last dim, whatever its extent, so that maps over other
// sizes are the same kernel.
static void split_map(Arena *arena, Kernel *k) {
  if (k->n_dims <= 1) {
    k->kind = KERNEL_FLAT;
    return;
  }
  k->kind = KERNEL_GRID;
  merge_stages(arena, k);
  k->n_grid = k->n_dims - 1 < MAX_GRID ? k->n_dims - 1 : MAX_GRID;
  for (int s = 0; s < k->stages.len; s++) {
    Stage *stage = &k->stages.at[s];
    for (int d = k->n_grid; d < k->n_dims; d++) stage->inner[stage->n_inner++] = d;
  }
}

void kernel_choose_kind(Arena *arena, Kernel *k) {
  if (k->scatters) {
    k->kind = KERNEL_LANES;
    return;
  }
  const int64_t inner = largest_inner(k);
  if (inner == 0) {
    split_map(arena, k);
    return;
  }
  Widest w = {k, 0, -1};
  for (int s = 0; s < k->stages.len; s++)
    for (int i = 0; i < k->stages.at[s].statements.len; i++) {
      const Statement *statement = &k->stages.at[s].statements.at[i];
      Index index[IR_MAX_RANK];
      for (int d = 0; d < statement->out_rank; d++) index[d] = index_dim(statement->out_dim[d]);
      widen(&w, statement->out, index, statement->out_rank);
      expr_visit(statement->body, widen_access, &w);
    }
  const bool row_last = w.last_dim >= 0 && w.last_dim < k->n_grid;
  const bool small = inner <= MAX_SERIAL_INNER && k->n_grid > 0;
  k->kind = k->n_grid > 0 && (row_last || small) ? KERNEL_LANES : KERNEL_GRID;
}
