// end-lifetimes: the program tells where a buffer is used for the last time.
//
// Requires: lifetimes and places of all buffers. Guarantees: a buffer that does not live all the time is ended once, on the
// compute stream, behind its last use and before anything is put in its place. What is read between procedures (inputs
// before, results after) is not ended.
//
//   gemm reads a, makes b;  kernel reads b, c
// becomes
//   gemm reads a, makes b;  kernel reads b, c;  end a b c
//
// Several buffers are ended together, where an operator begins, an event is recorded or one of their places is taken.
#include "passes.h"

typedef VEC(int) Ids;

typedef struct Ender {
  Program *program;
  Ids *dying;  // by position: the buffers whose last use is there
  int *named;  // by buffer: the tensor to tell it by
  Ids waiting; // tensors whose buffers are used no more and not yet ended
  VEC(Step *) out;
} Ender;

static bool overlap(const Buffer *a, const Buffer *b) {
  return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static Buffer *buffer_of(const Ender *e, int tensor) {
  return &e->program->buffers.at[e->program->tensors.at[tensor].buffer];
}

static void end_waiting(Ender *e) {
  if (e->waiting.len == 0) return;
  Step *step = NEW(e->program->arena, Step);
  *step = (Step){.kind = STEP_END, .layer = "", .name = "end"};
  memset(step->pin, -1, sizeof step->pin);
  for (int i = 0; i < e->waiting.len; i++) vec_push(e->program->arena, &step->ended, e->waiting.at[i]);
  vec_push(e->program->arena, &e->out, step);
  e->waiting.len = 0;
}

typedef struct Taken {
  const Ender *ender;
  bool any;
} Taken;

static void note_taken(void *ctx, int tensor, bool written) {
  Taken *taken = ctx;
  (void)written;
  for (int i = 0; i < taken->ender->waiting.len; i++)
    taken->any |= overlap(buffer_of(taken->ender, tensor), buffer_of(taken->ender, taken->ender->waiting.at[i]));
}

// Must what waits be ended before the step? An event that is recorded tells the other stream that places are free.
static bool ends_before(const Ender *e, const Step *step, const Step *before) {
  if (step->kind == STEP_RECORD) return step->sync.stream == STREAM_COMPUTE;
  if (step->kind == STEP_WAIT) return false;
  if (before != NULL &&
      (step->loc.line != before->loc.line || !str_eq(step->layer, before->layer) || !str_eq(step->name, before->name)))
    return true;
  Taken taken = {e, false};
  step_visit_tensors(step, note_taken, &taken);
  return taken.any;
}

static void end_in_procedure(Ender *e, ProcedureKind kind) {
  Procedure *procedure = &e->program->procedure[kind];
  const Step *before = NULL;
  e->out.at = NULL;
  e->out.len = e->out.cap = 0;
  for (int i = 0; i < procedure->steps.len; i++) {
    Step *step = procedure->steps.at[i];
    if (ends_before(e, step, before)) end_waiting(e);
    if (step_works(step)) before = step;
    vec_push(e->program->arena, &e->out, step);
    const int position = e->program->starts[kind] + 1 + i;
    for (int b = 0; b < e->dying[position].len; b++)
      vec_push(e->program->arena, &e->waiting, e->named[e->dying[position].at[b]]);
  }
  end_waiting(e);
  procedure->steps.at = e->out.at;
  procedure->steps.len = e->out.len;
  procedure->steps.cap = e->out.cap;
}

void pass_end_lifetimes(Compilation *c) {
  Program *p = c->program;
  Ender ender = {.program = p, .named = NEW_ARRAY(p->arena, int, p->buffers.len)}, *e = &ender;
  int last = 0;
  for (int b = 0; b < p->buffers.len; b++) last = p->buffers.at[b].last > last ? p->buffers.at[b].last : last;
  e->dying = NEW_ARRAY(p->arena, Ids, last + 1);
  for (int t = 0; t < p->tensors.len; t++)
    if (p->tensors.at[t].steps > 0 && p->tensors.at[t].offset == 0) e->named[p->tensors.at[t].buffer] = t;
  for (int b = 0; b < p->buffers.len; b++) {
    const Buffer *buffer = &p->buffers.at[b];
    if (!buffer->persistent && buffer->first >= 0 && buffer->bytes > 0) vec_push(p->arena, &e->dying[buffer->last], b);
  }
  for (int k = 0; k < PROCEDURES; k++) end_in_procedure(e, k);
}
