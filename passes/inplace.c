#include "inplace.h"

#include "collapse.h"

typedef struct SamePoint {
  int in;
  const Statement *out;
  bool same;
} SamePoint;

static void check_point(void *ctx, const Expr *e) {
  SamePoint *p = ctx;
  if (e->kind != EXPR_ACCESS || e->access.tensor != p->in) return;
  p->same &= e->access.rank == p->out->out_rank;
  for (int i = 0; i < e->access.rank && p->same; i++)
    p->same = index_plain_dim(&e->access.index[i]) == p->out->out_dim[i];
}

// Threads of a block compute the values of a row each for itself, and one of them stores: another may read after that.
// Harmless where only the storing statement reads `in`, and nothing reads its result.
static bool row_value_races(const Kernel *k, const Stage *stage, const Statement *store, int in) {
  if (k->kind != KERNEL_GRID || stage->n_inner > 0) return false;
  for (int s = 0; s < k->stages.len; s++)
    for (int i = 0; i < k->stages.at[s].statements.len; i++) {
      const Statement *statement = &k->stages.at[s].statements.at[i];
      if (expr_reads(statement->body, store->out) || (statement != store && expr_reads(statement->body, in))) return true;
    }
  return false;
}

bool inplace_in_kernel(const Program *program, const Kernel *k, int in, int out) {
  const ProgTensor *a = &program->tensors.at[in], *b = &program->tensors.at[out];
  if ((a->type == TYPE_REAL) != (b->type == TYPE_REAL)) return false;
  const int in_seen = kernel_find_tensor(k, in), out_seen = kernel_find_tensor(k, out);
  if (in_seen < 0 || out_seen < 0) return false;
  if (k->scatters) return false; // the result is 0 before
  const KernelTensor *x = &k->tensors.at[in_seen], *y = &k->tensors.at[out_seen];
  if (x->rank != y->rank || !extent_equal(x->loop_stride, y->loop_stride)) return false;
  for (int i = 0; i < x->rank; i++)
    if (!extent_equal(x->extent[i], y->extent[i])) return false;
  const Statement *store = NULL;
  int store_stage = -1;
  for (int s = 0; s < k->stages.len; s++)
    for (int i = 0; i < k->stages.at[s].statements.len; i++)
      if (k->stages.at[s].statements.at[i].out == out && k->stages.at[s].statements.at[i].store) {
        store = &k->stages.at[s].statements.at[i];
        store_stage = s;
      }
  if (store == NULL || row_value_races(k, &k->stages.at[store_stage], store, in)) return false;
  SamePoint p = {in, store, true};
  for (int s = 0; s < k->stages.len; s++)
    for (int i = 0; i < k->stages.at[s].n_inner; i++)
      if (k->stages.at[s].at[i] != NULL && expr_reads(k->stages.at[s].at[i], in)) return false; // for all of a row
  for (int s = 0; s < k->stages.len; s++)
    for (int i = 0; i < k->stages.at[s].statements.len; i++) {
      const Statement *statement = &k->stages.at[s].statements.at[i];
      if (statement->out == in) return false; // made here
      if (!expr_reads(statement->body, in)) continue;
      if (s > store_stage) return false;
      // Reads of a reduction's stage come before its result is stored; others must be of the very point.
      if (store->reduce != REDUCE_NONE && k->stages.at[store_stage].n_inner > 0) return false;
      expr_visit(statement->body, check_point, &p);
    }
  return p.same;
}

static void note_use(void *ctx, int tensor, bool written) {
  StoreFacts *f = ctx;
  const int buffer = f->program->tensors.at[tensor].buffer;
  if (f->first_use[buffer] == 0) f->first_use[buffer] = f->number;
  f->last_use[buffer] = f->number;
  if (written) f->writer[tensor] = f->step;
}

StoreFacts inplace_store_facts(Program *program) {
  StoreFacts f = {.program = program};
  f.first_use = NEW_ARRAY(program->arena, int, program->buffers.len);
  f.last_use = NEW_ARRAY(program->arena, int, program->buffers.len);
  f.writer = NEW_ARRAY(program->arena, const Step *, program->tensors.len);
  f.sharers = NEW_ARRAY(program->arena, int, program->buffers.len);
  for (int t = 0; t < program->tensors.len; t++)
    if (program->tensors.at[t].buffer >= 0) f.sharers[program->tensors.at[t].buffer]++;
  for (int k = PROC_BEGIN; k <= PROC_UPDATE; k++) {
    for (int i = 0; i < program->procedure[k].steps.len; i++) {
      f.step = program->procedure[k].steps.at[i];
      f.number++;
      step_visit_tensors(f.step, note_use, &f);
    }
    if (procedure_times(program, k) > 1) f.looped = f.number;
  }
  return f;
}

bool inplace_store(StoreFacts *f, int state, int value) {
  Program *program = f->program;
  ProgTensor *new_value = &program->tensors.at[value], *old = &program->tensors.at[state];
  if (f->sharers[new_value->buffer] > 1 || program->buffers.at[new_value->buffer].persistent) return false;
  const Step *writer = f->writer[value];
  const int made = f->first_use[new_value->buffer], left = f->last_use[old->buffer];
  if (writer == NULL || left > made || made <= f->looped) return false;
  if (left == made && (writer->kind != STEP_KERNEL || !inplace_in_kernel(program, writer->kernel, state, value))) return false;
  program->buffers.at[new_value->buffer].bytes = 0;
  new_value->buffer = old->buffer;
  return true;
}
