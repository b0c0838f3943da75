// The order of steps on two streams, proved with vector clocks: the steps of a run are walked in the order in which they
// are issued, and of every piece of memory is remembered who wrote it, for which tensor, and who read it last. Of two steps
// of different streams that use the same memory, one of them to write, the earlier must be done when the later begins; what
// a tensor is read for must still be there.
//
// A run: initial values; steps, of which some report and others do not; two batches of the test split.
#include <stdlib.h>

#include "program.h"

enum { STREAMS = 2, NOBODY = -1 };

typedef struct Clock {
  int at[STREAMS];
} Clock; // of each stream: how many of its steps are done for certain

typedef struct Use {
  const Step *step; // NULL: none
  int tensor, time;
} Use;

// Memory that every tensor has all of or nothing of.
typedef struct Piece {
  int64_t from;
  int content; // the buffer whose values it holds, or NOBODY
  int stream;  // of the writer
  Use writer, reader[STREAMS];
} Piece;

typedef struct Walk {
  const Program *program;
  Clock clock[STREAMS];
  Clock *event;
  Piece *pieces;
  int n_pieces;
  int64_t *offset;  // of a buffer
  const Step *step; // at hand
  int stream;
  bool writing;      // what the step writes is looked at after all that it reads
  const char *fault; // the first
} Walk;

Stream step_stream(const Step *step) {
  const bool communicates = step->kind == STEP_COLLECTIVE && reshard_how(step->collective.kind) != RESHARD_LOCAL;
  return communicates ? STREAM_COMM : STREAM_COMPUTE;
}

// ---- memory ------------------------------------------------------------------------------------------------------

static int by_offset(const void *a, const void *b) {
  const int64_t x = ((const Piece *)a)->from, y = ((const Piece *)b)->from;
  return (x > y) - (x < y);
}

static bool has_place(const Program *p, int buffer) {
  const Buffer *b = &p->buffers.at[buffer];
  return b->bytes > 0 && (p->arena_bytes == 0 || b->first >= 0);
}

// Before buffers have places each has memory of its own.
static void divide_memory(Walk *w) {
  const Program *p = w->program;
  int64_t next = 0;
  w->offset = NEW_ARRAY(p->arena, int64_t, p->buffers.len);
  w->pieces = NEW_ARRAY(p->arena, Piece, 2 * p->buffers.len + p->tensors.len);
  for (int b = 0; b < p->buffers.len; b++) {
    const Buffer *buffer = &p->buffers.at[b];
    w->offset[b] = p->arena_bytes > 0 ? buffer->offset : next;
    next += buffer->bytes;
    if (!has_place(p, b)) continue;
    w->pieces[w->n_pieces++].from = w->offset[b];
    w->pieces[w->n_pieces++].from = w->offset[b] + buffer->bytes;
  }
  for (int t = 0; t < p->tensors.len; t++) {
    const ProgTensor *tensor = &p->tensors.at[t];
    if (tensor->buffer >= 0 && tensor->offset > 0 && has_place(p, tensor->buffer))
      w->pieces[w->n_pieces++].from = w->offset[tensor->buffer] + tensor->offset;
  }
  qsort(w->pieces, (size_t)w->n_pieces, sizeof *w->pieces, by_offset);
  int n = 0;
  for (int i = 0; i < w->n_pieces; i++)
    if (i == 0 || w->pieces[i].from != w->pieces[n - 1].from) w->pieces[n++].from = w->pieces[i].from;
  w->n_pieces = n;
  for (int i = 0; i < n; i++) w->pieces[i].content = NOBODY;
}

static int first_piece(const Walk *w, int64_t offset) {
  int low = 0, high = w->n_pieces;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (w->pieces[middle].from < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

// ---- faults ------------------------------------------------------------------------------------------------------

static const char *step_text(const Walk *w, const Step *step, int stream) {
  return arena_printf(w->program->arena, "%s%s%s (%s:%d) on %s", step->layer, step->layer[0] != '\0' ? " " : "",
                      step->name, step->loc.file != NULL ? step->loc.file : w->program->model->source, step->loc.line,
                      stream == STREAM_COMM ? "comm" : "compute");
}

static const char *tensor_name(const Walk *w, int tensor) { return w->program->tensors.at[tensor].name; }

static void fault_race(Walk *w, const Use *earlier, int stream, bool wrote, int tensor, bool written) {
  if (w->fault == NULL)
    w->fault =
        arena_printf(w->program->arena, "%s %s %s, %s %s %s in the same place, and no event orders the two",
                     step_text(w, earlier->step, stream), wrote ? "writes" : "reads", tensor_name(w, earlier->tensor),
                     step_text(w, w->step, w->stream), written ? "writes" : "reads", tensor_name(w, tensor));
}

static void fault_content(Walk *w, const Piece *piece, int tensor) {
  if (w->fault != NULL) return;
  const char *reader = step_text(w, w->step, w->stream), *name = tensor_name(w, tensor);
  if (piece->writer.step == NULL)
    w->fault = arena_printf(w->program->arena, "%s reads %s, which nothing has written", reader, name);
  else
    w->fault = arena_printf(w->program->arena, "%s reads %s, over which %s has put %s", reader, name,
                            step_text(w, piece->writer.step, piece->stream), tensor_name(w, piece->writer.tensor));
}

// ---- uses --------------------------------------------------------------------------------------------------------

static bool is_done(const Walk *w, const Use *use, int stream) {
  return use->step == NULL || stream == w->stream || use->time <= w->clock[w->stream].at[stream];
}

static void use_piece(Walk *w, Piece *piece, int tensor) {
  const Use use = {w->step, tensor, w->clock[w->stream].at[w->stream]};
  if (!is_done(w, &piece->writer, piece->stream))
    fault_race(w, &piece->writer, piece->stream, true, tensor, w->writing);
  if (!w->writing) {
    if (piece->content != w->program->tensors.at[tensor].buffer) fault_content(w, piece, tensor);
    piece->reader[w->stream] = use;
    return;
  }
  for (int s = 0; s < STREAMS; s++)
    if (!is_done(w, &piece->reader[s], s)) fault_race(w, &piece->reader[s], s, false, tensor, true);
  piece->writer = use;
  piece->stream = w->stream;
  piece->content = w->step->kind == STEP_END ? NOBODY : w->program->tensors.at[tensor].buffer;
}

static void use_tensor(void *ctx, int tensor, bool written) {
  Walk *w = ctx;
  if (written != w->writing) return;
  const int buffer = w->program->tensors.at[tensor].buffer;
  if (!has_place(w->program, buffer)) return;
  const ProgTensor *t = &w->program->tensors.at[tensor];
  const bool whole = w->step->kind == STEP_END; // a buffer is ended with all that lies in it
  const int64_t from = w->offset[buffer] + (whole ? 0 : t->offset);
  const int64_t end = from + (whole ? w->program->buffers.at[buffer].bytes : t->bytes);
  for (int i = first_piece(w, from); i < w->n_pieces && w->pieces[i].from < end; i++)
    use_piece(w, &w->pieces[i], tensor);
}

static void begin_step(Walk *w, const Step *step, int stream) {
  w->step = step;
  w->stream = stream;
  w->clock[stream].at[stream]++;
}

static void walk_step(Walk *w, const Step *step) {
  if (step->kind == STEP_LOOP) {
    for (int i = 0; i < step->loop.body.len; i++) walk_step(w, step->loop.body.at[i]);
    return;
  }
  if (step->kind == STEP_RECORD) {
    w->event[step->sync.event] = w->clock[step->sync.stream];
    return;
  }
  if (step->kind == STEP_WAIT) {
    Clock *clock = &w->clock[step->sync.stream];
    for (int s = 0; s < STREAMS; s++)
      if (clock->at[s] < w->event[step->sync.event].at[s]) clock->at[s] = w->event[step->sync.event].at[s];
    return;
  }
  begin_step(w, step, (int)step_stream(step));
  for (int writing = 0; writing < 2; writing++) {
    w->writing = writing == 1;
    step_visit_tensors(step, use_tensor, w);
  }
}

// ---- the run -----------------------------------------------------------------------------------------------------

static void walk_procedure(Walk *w, ProcedureKind kind) {
  for (int i = 0; i < w->program->procedure[kind].steps.len; i++) walk_step(w, w->program->procedure[kind].steps.at[i]);
}

static void touch(Walk *w, const Step *step, int tensor, bool written) {
  if (tensor < 0) return;
  begin_step(w, step, STREAM_COMPUTE);
  w->writing = written;
  use_tensor(w, tensor, written);
}

// What a batch leaves behind is nothing for the next one.
static void forget(Walk *w) {
  for (int i = 0; i < w->n_pieces; i++)
    if (w->pieces[i].content >= 0 && !w->program->buffers.at[w->pieces[i].content].persistent)
      w->pieces[i].content = NOBODY;
}

static void load_batch(Walk *w, bool train) {
  static const Step load = {.layer = "", .name = "the next batch"};
  forget(w);
  for (int i = 0; i < w->program->inputs.len; i++) {
    const ProgInput *input = &w->program->inputs.at[i];
    touch(w, &load, train ? input->train : input->eval, true);
  }
}

static void read_results(Walk *w, bool train, bool all) {
  static const Step read = {.layer = "", .name = "what is reported"};
  for (int i = 0; i < (all ? w->program->scalars.len : 1) && i < w->program->scalars.len; i++)
    touch(w, &read, train ? w->program->scalars.at[i].train : w->program->scalars.at[i].eval, false);
  if (train && all) touch(w, &read, w->program->gradient_norm, false);
  if (!train) touch(w, &read, w->program->sampled, false);
}

static void walk_training_step(Walk *w, bool reports) {
  load_batch(w, true);
  walk_procedure(w, PROC_FORWARD);
  walk_procedure(w, PROC_BACKWARD);
  if (reports) walk_procedure(w, PROC_REPORT);
  walk_procedure(w, PROC_UPDATE);
  read_results(w, true, reports);
}

const char *program_find_disorder(const Program *program) {
  Walk walk = {.program = program, .event = NEW_ARRAY(program->arena, Clock, program->n_events)}, *w = &walk;
  divide_memory(w);
  walk_procedure(w, PROC_INIT);
  for (int i = 0; i < 3; i++) walk_training_step(w, i != 1);
  for (int i = 0; i < 2; i++) {
    load_batch(w, false);
    walk_procedure(w, PROC_EVALUATE);
    read_results(w, false, true);
  }
  return w->fault;
}
