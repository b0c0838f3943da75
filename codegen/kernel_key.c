#include "kernel_key.h"

typedef struct KeyWriter {
  Arena *arena;
  const Kernel *k;
  KernelKey words;
} KeyWriter;

static void put(KeyWriter *w, int64_t word) { vec_push(w->arena, &w->words, word); }

static void put_real(KeyWriter *w, double value) {
  int64_t word;
  memcpy(&word, &value, sizeof word);
  put(w, word);
}

static void put_extent(KeyWriter *w, const Extent *e) {
  put(w, e->fixed);
  put(w, e->block);
  put(w, e->n_more);
  for (int i = 0; i < e->n_more; i++) put(w, e->more[i]);
}

static void put_index(KeyWriter *w, const Index *index) {
  put(w, index->base);
  put(w, index->div);
  for (int d = 0; d < w->k->n_dims; d++) put(w, index->coef[d]);
}

static void put_expr(KeyWriter *w, const Expr *e) {
  put(w, e->kind);
  put(w, e->type);
  switch (e->kind) {
  case EXPR_CONST: put_real(w, e->value); return;
  case EXPR_INDEX: put_index(w, e->index); return;
  case EXPR_ACCESS:
    put(w, kernel_find_tensor(w->k, e->access.tensor));
    for (int i = 0; i < e->access.rank; i++) put_index(w, &e->access.index[i]);
    put_real(w, e->access.outside);
    return;
  case EXPR_CALL:
    put(w, e->call.fn);
    for (int i = 0; i < fn_arity(e->call.fn); i++) put_expr(w, e->call.arg[i]);
    return;
  case EXPR_RANDOM:
    put(w, e->random.normal);
    put(w, e->random.stream);
    put_index(w, e->random.element);
    put(w, e->random.apart);
    return;
  case EXPR_RUN: put(w, e->run); return;
  }
}

static void put_optional(KeyWriter *w, const Expr *e) {
  put(w, e != NULL);
  if (e != NULL) put_expr(w, e);
}

// Tensors of one buffer are one pointer.
static void put_tensor(KeyWriter *w, const Program *p, int t) {
  const KernelTensor *tensor = &w->k->tensors.at[t];
  put(w, p->tensors.at[tensor->tensor].type);
  put(w, tensor->rank);
  for (int i = 0; i < tensor->rank; i++) {
    put_extent(w, &tensor->extent[i]);
    put(w, tensor->global[i]);
  }
  for (int u = 0; u < t; u++)
    put(w, prog_tensors_share(&p->tensors.at[w->k->tensors.at[u].tensor], &p->tensors.at[tensor->tensor]));
}

static void put_statement(KeyWriter *w, const Statement *s) {
  put(w, kernel_find_tensor(w->k, s->out));
  put(w, s->reduce);
  put(w, s->accumulate);
  put(w, s->store);
  put(w, s->out_rank);
  for (int i = 0; i < s->out_rank; i++) put(w, s->out_dim[i]);
  put_expr(w, s->body);
  put_optional(w, s->place);
}

static void put_stage(KeyWriter *w, const Stage *stage) {
  put(w, stage->sync_before);
  put(w, stage->n_inner);
  for (int i = 0; i < stage->n_inner; i++) {
    put(w, stage->inner[i]);
    put_optional(w, stage->at[i]);
  }
  put(w, stage->statements.len);
  for (int i = 0; i < stage->statements.len; i++) put_statement(w, &stage->statements.at[i]);
}

KernelKey kernel_key(Arena *arena, const Program *p, const Kernel *k) {
  enum { USUAL = 256 };
  KeyWriter writer = {.arena = arena, .k = k}, *w = &writer;
  vec_renew(arena, &w->words, USUAL);
  put(w, k->kind);
  put(w, k->scatters);
  put(w, k->n_grid);
  put(w, k->n_dims);
  for (int d = 0; d < k->n_dims; d++) {
    put_extent(w, &k->dims[d].extent);
    put(w, k->dims[d].global);
  }
  put(w, k->tensors.len);
  for (int t = 0; t < k->tensors.len; t++) put_tensor(w, p, t);
  for (int s = 0; s < k->stages.len; s++) put_stage(w, &k->stages.at[s]);
  return w->words;
}
