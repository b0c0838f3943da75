// schedule: streams and events.
//
// Requires: a lowered program. Guarantees: a collective starts on the communication stream once its operand is computed,
// and whatever uses its result on the compute stream waits for it; all ranks issue their collectives in one order.
//
//   kernel makes w.grad;  all_reduce w.grad;  kernel reads w.grad
// becomes
//   kernel makes w.grad;  record 0 on compute;  wait 0 on comm;  all_reduce w.grad;  record 1 on comm
//   wait 1 on compute;  kernel reads w.grad
#include "passes.h"

typedef struct Scheduler {
  Program *program;
  Arena *scratch;
  int *pending;  // by buffer: event of the collective that works on it, or -1
  const Step **running; // by event: the collective whose end it tells
  VEC(int) free; // events that nobody waits for any more
  VEC(Step *) out;
  bool ready;    // the communication stream waits for all that the compute stream has been given
  bool conditional; // the procedure at hand does not run in every step: what it waits for has to be waited for again
} Scheduler;

enum { READY = 0 }; // the event that tells the communication stream that an operand is there

static Step *sync_step(Scheduler *s, StepKind kind, int event, Stream stream, const Step *near) {
  Step *step = NEW(s->program->arena, Step);
  memset(step->pin, -1, sizeof step->pin);
  step->kind = kind;
  step->layer = near != NULL ? near->layer : "";
  step->scope = near != NULL ? near->scope : "";
  step->name = kind == STEP_RECORD ? "record" : "wait";
  if (near != NULL) step->loc = near->loc;
  step->sync.event = event;
  step->sync.stream = stream;
  vec_push_own(s->program->arena, &s->out, step);
  return step;
}

// The wait that was issued last goes before the layer it is in: it is for something of several layers, and layers of one kind
// stay the same steps.
static void leave_layer(Scheduler *s) {
  int i = s->out.len - 1;
  Step *wait = s->out.at[i];
  for (; i > 0; i--) {
    Step *before = s->out.at[i - 1];
    if (!layer_same_outer(before->scope, wait->scope)) break;
    if (before->kind == STEP_RECORD && before->sync.event == wait->sync.event) break;
    s->out.at[i] = before;
    s->out.at[i - 1] = wait;
  }
  wait->scope = wait->layer = "";
}

typedef struct StepUse {
  Scheduler *s;
  const Step *step;
  int event;
} StepUse;

static void mark_ended(void *ctx, int tensor, bool written) {
  const StepUse *use = ctx;
  int *pending = &use->s->pending[use->s->program->tensors.at[tensor].buffer];
  (void)written;
  if (*pending == use->event) *pending = -1;
}

static void wait_for_buffer(Scheduler *s, int buffer, const Step *near) {
  const int event = s->pending[buffer];
  if (event < 0) return;
  s->ready = false;
  sync_step(s, STEP_WAIT, event, STREAM_COMPUTE, near)->sync.collective = s->running[event];
  if (s->running[event]->collective->members.len > 0 && s->running[event]->scope[0] == '\0') leave_layer(s);
  StepUse ended = {s, s->running[event], event};
  step_visit_tensors(s->running[event], mark_ended, &ended);
  if (!s->conditional) vec_push(s->scratch, &s->free, event);
}

static void wait_for_tensor(void *ctx, int tensor, bool written) {
  const StepUse *use = ctx;
  (void)written;
  wait_for_buffer(use->s, use->s->program->tensors.at[tensor].buffer, use->step);
}

static void mark_pending(void *ctx, int tensor, bool written) {
  const StepUse *use = ctx;
  (void)written;
  use->s->pending[use->s->program->tensors.at[tensor].buffer] = use->event;
}

static int new_event(Scheduler *s) {
  if (s->free.len > 0) return s->free.at[--s->free.len];
  return s->program->n_events++;
}

static bool communicates(const Step *step) { return step_stream(step) == STREAM_COMM; }

// join: nothing may be in flight when the procedure ends.
static void schedule_procedure(Scheduler *s, Procedure *procedure, bool join) {
  int *before = NEW_ARRAY(s->scratch, int, s->program->buffers.len);
  if (s->program->buffers.len > 0) memcpy(before, s->pending, sizeof *before * (size_t)s->program->buffers.len);
  s->out.at = NULL;
  s->out.len = s->out.cap = 0;
  s->ready = false;
  for (int i = 0; i < procedure->steps.len; i++) {
    Step *step = procedure->steps.at[i];
    StepUse use = {s, step, -1};
    step_visit_tensors(step, wait_for_tensor, &use);
    if (communicates(step) && !s->ready) {
      sync_step(s, STEP_RECORD, READY, STREAM_COMPUTE, step);
      sync_step(s, STEP_WAIT, READY, STREAM_COMM, step);
    }
    s->ready = communicates(step);
    vec_push_own(s->program->arena, &s->out, step);
    if (!communicates(step)) continue;
    const int event = new_event(s);
    sync_step(s, STEP_RECORD, event, STREAM_COMM, step);
    s->running[event] = step;
    StepUse started = {s, step, event};
    step_visit_tensors(step, mark_pending, &started);
  }
  for (int b = 0; b < s->program->buffers.len; b++)
    if (join || (s->conditional && s->pending[b] != before[b])) wait_for_buffer(s, b, NULL);
  if (s->conditional) memcpy(s->pending, before, sizeof *before * (size_t)s->program->buffers.len);
  procedure->steps.at = s->out.at;
  procedure->steps.len = s->out.len;
  procedure->steps.cap = s->out.cap;
}

void pass_schedule(Compilation *c) {
  Program *p = c->program;
  Arena *scratch = arena_new();
  Scheduler s = {.program = p, .scratch = scratch, .pending = NEW_ARRAY(scratch, int, p->buffers.len)};
  for (int b = 0; b < p->buffers.len; b++) s.pending[b] = -1;
  int n_collectives = 1;
  for (int k = 0; k < PROCEDURES; k++) n_collectives += p->procedure[k].steps.len;
  s.running = NEW_ARRAY(scratch, const Step *, n_collectives + 1);
  p->n_events = 1; // READY
  for (int k = 0; k < PROCEDURES; k++) { // what is in flight may cross from backward into the update, but not beyond a loop or a step
    const bool around = p->microbatches > 1 && (k == PROC_BEGIN || k == PROC_BACKWARD);
    s.conditional = k == PROC_REPORT;
    schedule_procedure(&s, &p->procedure[k], around || k == PROC_INIT || k == PROC_UPDATE || k == PROC_EVALUATE);
  }
  if (p->n_events == 1) p->n_events = 0;
  arena_free(scratch);
}
