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
// Several buffers are ended together, where an operator or another buffer begins or an event is recorded: layers that do the
// same end theirs at the same steps, wherever these lie.
#include "passes.h"

typedef VEC(int) Ids;

typedef struct Ender {
  Program *program;
  Arena *scratch;
  Ids *dying;  // by position: the buffers whose last use is there
  int *named;  // by buffer: the tensor to tell it by
  Ids waiting; // tensors whose buffers are used no more and not yet ended
  Ids joined;  // the same of buffers that hold tensors of several layers
  bool *holds_several; // by buffer
  VEC(Step *) out;
} Ender;

static Buffer *buffer_of(const Ender *e, int tensor) {
  return &e->program->buffers.at[e->program->tensors.at[tensor].buffer];
}

static void end_all(Ender *e, Ids *ids, const char *scope) {
  if (ids->len == 0) return;
  Step *step = NEW(e->program->arena, Step);
  *step = (Step){.kind = STEP_END, .name = "end", .layer = scope, .scope = scope};
  memset(step->pin, -1, sizeof step->pin);
  for (int i = 0; i < ids->len; i++) vec_push(e->program->arena, &step->ended, ids->at[i]);
  vec_push_own(e->program->arena, &e->out, step);
  ids->len = 0;
}

typedef struct Birth {
  const Ender *ender;
  int position;
  bool any;    // a buffer begins at the step
  bool may_be; // or one that holds tensors of several layers, of which any may be the first
} Birth;

static void note_birth(void *ctx, int tensor, bool written) {
  Birth *birth = ctx;
  (void)written;
  birth->any |= buffer_of(birth->ender, tensor)->first == birth->position;
  birth->may_be |= birth->ender->holds_several[birth->ender->program->tensors.at[tensor].buffer];
}

// Must what waits be ended before the step? A buffer that is new may take a place. An event that is recorded tells the other
// stream that places are free.
static bool ends_before(const Ender *e, const Step *step, int position, const Step *before) {
  if (step->kind == STEP_RECORD) return step->sync.stream == STREAM_COMPUTE;
  if (step->kind == STEP_WAIT) return before != NULL && !str_eq(step->scope, before->scope);
  if (before != NULL &&
      (step->loc.line != before->loc.line || !str_eq(step->layer, before->layer) || !str_eq(step->name, before->name)))
    return true;
  Birth birth = {e, position, false, false};
  step_visit_tensors(step, note_birth, &birth);
  return birth.any || birth.may_be;
}

// What holds tensors of several layers is ended between layers, unless a place may be taken before.
static bool ends_joined_before(const Ender *e, const Step *step, int position, const Step *before) {
  if (before == NULL || !layer_same_outer(step->scope, before->scope)) return true;
  if (step->kind == STEP_RECORD) return step->sync.stream == STREAM_COMPUTE;
  Birth birth = {e, position, false, false};
  if (step_works(step)) step_visit_tensors(step, note_birth, &birth);
  return birth.any;
}

static void end_in_procedure(Ender *e, ProcedureKind kind) {
  Procedure *procedure = &e->program->procedure[kind];
  const Step *before = NULL;
  e->out.at = NULL;
  e->out.len = e->out.cap = 0;
  for (int i = 0; i < procedure->steps.len; i++) {
    Step *step = procedure->steps.at[i];
    const int position = e->program->starts[kind] + 1 + i;
    if (ends_before(e, step, position, before)) end_all(e, &e->waiting, before != NULL ? before->scope : "");
    if (ends_joined_before(e, step, position, before)) end_all(e, &e->joined, "");
    if (step_works(step)) before = step;
    vec_push_own(e->program->arena, &e->out, step);
    for (int i = 0; i < e->dying[position].len; i++) {
      const int buffer = e->dying[position].at[i];
      vec_push(e->scratch, e->holds_several[buffer] ? &e->joined : &e->waiting, e->named[buffer]);
    }
  }
  end_all(e, &e->waiting, before != NULL ? before->scope : "");
  end_all(e, &e->joined, "");
  procedure->steps.at = e->out.at;
  procedure->steps.len = e->out.len;
  procedure->steps.cap = e->out.cap;
}

void pass_end_lifetimes(Compilation *c) {
  Program *p = c->program;
  Arena *scratch = arena_new();
  Ender ender = {.program = p, .scratch = scratch, .named = NEW_ARRAY(scratch, int, p->buffers.len)}, *e = &ender;
  int last = 0;
  for (int b = 0; b < p->buffers.len; b++) last = p->buffers.at[b].last > last ? p->buffers.at[b].last : last;
  e->dying = NEW_ARRAY(scratch, Ids, last + 1);
  e->holds_several = NEW_ARRAY(scratch, bool, p->buffers.len);
  for (int k = 0; k < PROCEDURES; k++)
    for (int i = 0; i < p->procedure[k].steps.len; i++) {
      const Step *step = p->procedure[k].steps.at[i];
      if (step->kind == STEP_COLLECTIVE && step->collective->members.len > 0 && step->scope[0] == '\0')
        e->holds_several[p->tensors.at[step->collective->tensor].buffer] = true;
    }
  for (int t = 0; t < p->tensors.len; t++)
    if (p->tensors.at[t].steps > 0 && p->tensors.at[t].offset == 0) e->named[p->tensors.at[t].buffer] = t;
  for (int b = 0; b < p->buffers.len; b++) {
    const Buffer *buffer = &p->buffers.at[b];
    if (!buffer->persistent && buffer->first >= 0 && buffer->bytes > 0) vec_push(scratch, &e->dying[buffer->last], b);
  }
  for (int k = 0; k < PROCEDURES; k++) end_in_procedure(e, k);
  arena_free(scratch);
}
