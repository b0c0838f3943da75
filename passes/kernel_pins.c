// Dimensions that an equality pins (ir/pin.h): a stage goes to the one place instead of looping.
#include "../ir/pin.h"
#include "kernel_shape.h"

typedef struct InRange {
  const Kernel *kernel;
  bool all;
} InRange;

static void check_in_range(void *ctx, const Expr *e) {
  InRange *r = ctx;
  if (e->kind != EXPR_ACCESS) return;
  const KernelTensor *t = &r->kernel->tensors.at[kernel_find_tensor(r->kernel, e->access.tensor)];
  int64_t extent[IR_MAX_DIMS], lo, hi;
  for (int d = 0; d < r->kernel->n_dims; d++) extent[d] = r->kernel->dims[d].global;
  for (int i = 0; i < e->access.rank; i++) {
    index_range(&e->access.index[i], extent, r->kernel->n_dims, &lo, &hi);
    r->all &= lo >= 0 && hi < t->global[i] && e->access.index[i].div == 1;
  }
}

// The pin of a kernel's dimension in a statement; `at` NULL if there is none, or if it would have to be read with care.
static Pin pin_of_dim(const Kernel *k, const Statement *s, int dim) {
  Pin pin[IR_MAX_DIMS];
  const int n = s->reduce == REDUCE_SUM ? expr_pins(s->body, pin) : 0;
  for (int i = 0; i < n; i++) {
    InRange in_range = {k, true};
    if (pin[i].dim != dim) continue;
    expr_visit(pin[i].at, check_in_range, &in_range);
    if (in_range.all) return pin[i];
  }
  return (Pin){dim, NULL, NULL};
}

// Where all sums of a stage count the same place of a dimension alone.
static const Expr *place_of_dim(const Kernel *k, const Stage *stage, int dim) {
  const Expr *at = NULL;
  for (int i = 0; i < stage->statements.len; i++) {
    const Statement *s = &stage->statements.at[i];
    if (s->reduce == REDUCE_NONE && !s->store) continue;
    const Pin pin = pin_of_dim(k, s, dim);
    if (pin.at == NULL || (at != NULL && !expr_equal(at, pin.at))) return NULL;
    at = pin.at;
  }
  for (int i = 0; i < stage->statements.len && at != NULL; i++)
    if (expr_reads(at, stage->statements.at[i].out)) return NULL; // it must be at hand before the stage
  return at;
}

void kernel_find_pins(Kernel *k) {
  for (int s = 0; s < k->stages.len; s++) {
    Stage *stage = &k->stages.at[s];
    for (int i = 0; i < stage->n_inner; i++) stage->at[i] = place_of_dim(k, stage, stage->inner[i]);
  }
}

// Sums go to the pinned places and no longer ask whether they are there.
void kernel_settle_pins(Arena *arena, Kernel *k) {
  for (int s = 0; s < k->stages.len; s++) {
    Stage *stage = &k->stages.at[s];
    for (int i = 0; i < stage->n_inner; i++) {
      if (stage->at[i] == NULL) continue;
      for (int j = 0; j < stage->statements.len; j++) {
        Statement *statement = &stage->statements.at[j];
        const Pin pin = pin_of_dim(k, statement, stage->inner[i]);
        if (pin.at != NULL) statement->body = expr_without_pin(arena, statement->body, &pin);
      }
    }
  }
}

// The pinned dimensions of the result, where they have an extent other than 1, are inner dimensions.
void kernel_check_scatter(Kernel *k) {
  const Stage *stage = &k->stages.at[0];
  const Statement *s = &stage->statements.at[0];
  int n = 0;
  for (int i = 0; i < stage->n_inner; i++)
    for (int o = 0; o < s->out_rank; o++) {
      if (s->out_dim[o] != stage->inner[i]) continue;
      if (stage->at[i] == NULL) fatal("lower: %s scatters to no certain place", s->name);
      n++;
    }
  k->scatters = n > 0;
}
