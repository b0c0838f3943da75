// The order of steps on two streams, proved with vector clocks: the steps of a run are walked in the order in which they
// are issued, and of every piece of memory is remembered who wrote it, for which tensor, and who read it last. Of two steps
// of different streams that use the same memory, one of them to write, the earlier must be done when the later begins; what
// a tensor is read for must still be there.
//
// A run: initial values; steps, of which some report and others do not, of two microbatches where there are several; two batches
// of the test split.
#include <stdlib.h>

#include "program.h"

enum { STREAMS = 2, NOBODY = -1 };

typedef struct Clock {
  int at[STREAMS];
} Clock; // of each stream: how many of its steps are done for certain

typedef struct Use {
  const Step *step; // NULL: none
  int tensor, time; // time: how many steps its stream had begun; none: 0
} Use;

// Memory that every tensor has all of or nothing of.
typedef struct Piece {
  int64_t from;
  int content; // the buffer whose values it holds, or NOBODY
  int stream;  // of the writer
  Use writer, reader[STREAMS];
} Piece;

typedef struct Range {
  int begin, end;
} Range;

typedef struct Walk {
  const Program *program;
  Arena *arena; // of the walk
  Clock clock[STREAMS];
  Clock *event;
  Piece *pieces;
  int n_pieces;
  int64_t *offset;  // of a buffer
  Range *of_buffer, *of_tensor; // the pieces of each
  const Step *step; // at hand
  int stream;
  bool writing;      // what the step writes is looked at after all that it reads
  const char *fault; // the first
} Walk;

Stream step_stream(const Step *step) {
  const bool communicates = step->kind == STEP_COLLECTIVE && reshard_how(step->collective->kind) != RESHARD_LOCAL;
  return communicates ? STREAM_COMM : STREAM_COMPUTE;
}

// ---- memory ------------------------------------------------------------------------------------------------------

static int by_offset(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static bool has_place(const Program *p, int buffer) {
  const Buffer *b = &p->buffers.at[buffer];
  return b->bytes > 0 && (p->arena_bytes == 0 || b->first >= 0);
}

// Before buffers have places each has memory of its own.
static void divide_memory(Walk *w) {
  const Program *p = w->program;
  int64_t next = 0, *cuts = NEW_ARRAY(w->arena, int64_t, 2 * p->buffers.len + p->tensors.len);
  int n = 0;
  w->offset = NEW_ARRAY(w->arena, int64_t, p->buffers.len);
  for (int b = 0; b < p->buffers.len; b++) {
    const Buffer *buffer = &p->buffers.at[b];
    w->offset[b] = p->arena_bytes > 0 ? buffer->offset : next;
    next += buffer->bytes;
    if (!has_place(p, b)) continue;
    cuts[n++] = w->offset[b];
    cuts[n++] = w->offset[b] + buffer->bytes;
  }
  for (int t = 0; t < p->tensors.len; t++) {
    const ProgTensor *tensor = &p->tensors.at[t];
    if (tensor->buffer >= 0 && tensor->offset > 0 && has_place(p, tensor->buffer))
      cuts[n++] = w->offset[tensor->buffer] + tensor->offset;
  }
  qsort(cuts, (size_t)n, sizeof *cuts, by_offset);
  w->pieces = NEW_ARRAY(w->arena, Piece, n);
  for (int i = 0; i < n; i++)
    if (i == 0 || cuts[i] != cuts[i - 1]) w->pieces[w->n_pieces++] = (Piece){.from = cuts[i], .content = NOBODY};
}

// The first piece that does not begin before the offset.
static int first_piece(const Walk *w, int64_t offset) {
  int low = 0, high = w->n_pieces;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (w->pieces[middle].from < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

static Range pieces_of(const Walk *w, int64_t offset, int64_t bytes) {
  return (Range){first_piece(w, offset), first_piece(w, offset + bytes)};
}

static void find_pieces(Walk *w) {
  const Program *p = w->program;
  w->of_buffer = NEW_ARRAY(w->arena, Range, p->buffers.len);
  w->of_tensor = NEW_ARRAY(w->arena, Range, p->tensors.len);
  for (int b = 0; b < p->buffers.len; b++)
    if (has_place(p, b)) w->of_buffer[b] = pieces_of(w, w->offset[b], p->buffers.at[b].bytes);
  for (int t = 0; t < p->tensors.len; t++) {
    const ProgTensor *tensor = &p->tensors.at[t];
    if (tensor->buffer >= 0 && has_place(p, tensor->buffer))
      w->of_tensor[t] = pieces_of(w, w->offset[tensor->buffer] + tensor->offset, tensor->bytes);
  }
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

// Of the stream at hand all that was used before is done.
static void read_piece(Walk *w, Piece *piece, Use use, int buffer) {
  if (piece->writer.time > w->clock[w->stream].at[piece->stream])
    fault_race(w, &piece->writer, piece->stream, true, use.tensor, false);
  if (piece->content != buffer) fault_content(w, piece, use.tensor);
  piece->reader[w->stream] = use;
}

static void write_piece(Walk *w, Piece *piece, Use use, int content) {
  const Clock *done = &w->clock[w->stream];
  if (piece->writer.time > done->at[piece->stream]) fault_race(w, &piece->writer, piece->stream, true, use.tensor, true);
  for (int s = 0; s < STREAMS; s++)
    if (piece->reader[s].time > done->at[s]) fault_race(w, &piece->reader[s], s, false, use.tensor, true);
  piece->writer = use;
  piece->stream = w->stream;
  piece->content = content;
}

static void use_tensor(void *ctx, int tensor, bool written) {
  Walk *w = ctx;
  if (written != w->writing) return;
  const int buffer = w->program->tensors.at[tensor].buffer;
  const bool ends = w->step->kind == STEP_END; // a buffer is ended with all that lies in it
  const Range range = ends ? w->of_buffer[buffer] : w->of_tensor[tensor];
  const Use use = {w->step, tensor, w->clock[w->stream].at[w->stream]};
  for (int i = range.begin; i < range.end; i++) {
    if (written) write_piece(w, &w->pieces[i], use, ends ? NOBODY : buffer);
    else read_piece(w, &w->pieces[i], use, buffer);
  }
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

// What a microbatch leaves behind is nothing for the next one, but for what lives since before the first one.
static void forget_micro(Walk *w) {
  const int first = w->program->starts[PROC_FORWARD];
  for (int i = 0; i < w->n_pieces; i++) {
    const int content = w->pieces[i].content;
    if (content >= 0 && !w->program->buffers.at[content].persistent && w->program->buffers.at[content].first >= first)
      w->pieces[i].content = NOBODY;
  }
}

static void load_batch(Walk *w, bool train) {
  static const Step load = {.layer = "", .name = "the next batch"};
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

static void load_whole_batch(Walk *w) {
  static const Step load = {.layer = "", .name = "the next batch"};
  for (int i = 0; i < w->program->inputs.len; i++) touch(w, &load, w->program->inputs.at[i].whole, true);
}

static void walk_training_step(Walk *w, bool reports) {
  forget(w);
  load_whole_batch(w);
  walk_procedure(w, PROC_BEGIN);
  for (int micro = 0; micro < w->program->microbatches && micro < 2; micro++) {
    if (micro > 0 && w->program->arena_bytes > 0) forget_micro(w);
    load_batch(w, true);
    walk_procedure(w, PROC_FORWARD);
    walk_procedure(w, PROC_BACKWARD);
  }
  walk_procedure(w, PROC_COMBINE);
  if (reports) walk_procedure(w, PROC_REPORT);
  walk_procedure(w, PROC_UPDATE);
  read_results(w, true, reports);
}

const char *program_find_disorder(const Program *program) {
  Walk walk = {.program = program, .arena = arena_new()}, *w = &walk;
  w->event = NEW_ARRAY(w->arena, Clock, program->n_events);
  divide_memory(w);
  find_pieces(w);
  walk_procedure(w, PROC_INIT);
  for (int i = 0; i < 3; i++) walk_training_step(w, i != 1);
  for (int i = 0; i < 2; i++) {
    forget(w);
    load_batch(w, false);
    walk_procedure(w, PROC_EVALUATE);
    read_results(w, false, true);
  }
  arena_free(w->arena);
  return w->fault;
}
