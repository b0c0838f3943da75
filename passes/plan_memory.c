// plan-memory: a place in one arena for every buffer, by lifetime.
//
// Requires: a scheduled program. Guarantees: buffers whose lifetimes overlap do not overlap in the arena; offsets are
// multiples of BUFFER_ALIGN; arena_bytes is the peak and lower_bound the largest sum of buffers that live at one step.
//
// A result takes the buffer of an operand that dies with it, where the kernel allows that. Then buffers are placed one
// after the other, each at the lowest offset that is free during its whole life, in several orders; the best is kept.
#include <stdlib.h>

#include "collapse.h"
#include "inplace.h"
#include "occupancy.h"
#include "passes.h"

enum { SMALL = 16384 }; // bytes not worth sharing a place and a name

typedef struct Planner {
  Program *program;
  Arena *scratch;
  int position; // of the step at hand, over all procedures
  int *first_in_loop, *last_in_loop; // by buffer: of the loop at hand; -1: not used there
  int *tensor_in, *next_tensor;      // see program_list_tensors
} Planner;

static int64_t aligned(int64_t bytes) { return (bytes + BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN; }

// ---- lifetimes ---------------------------------------------------------------------------------------------------

static void touch(Planner *pl, int tensor) {
  ProgTensor *t = &pl->program->tensors.at[tensor];
  if (t->is_part) t = &pl->program->tensors.at[t->whole];
  Buffer *b = &pl->program->buffers.at[t->buffer];
  t->steps++;
  if (b->first < 0 || b->first > pl->position) b->first = pl->position;
  if (b->last < pl->position) b->last = pl->position;
}

static void touch_visited(void *ctx, int tensor, bool written) {
  (void)written;
  touch(ctx, tensor);
}

static void touch_if(Planner *pl, int tensor) {
  if (tensor >= 0) touch(pl, tensor);
}

// Inputs are filled before forward (begin, evaluate) and results read after update (evaluate). What lives since before the first
// microbatch is there for all of them.
static void compute_lifetimes(Planner *pl) {
  Program *p = pl->program;
  for (int b = 0; b < p->buffers.len; b++) p->buffers.at[b].first = p->buffers.at[b].last = -1;
  for (int t = 0; t < p->tensors.len; t++) p->tensors.at[t].steps = 0;
  pl->position = 0;
  for (int k = 0; k < PROCEDURES; k++) {
    if (!procedure_runs(p, k)) continue;
    p->starts[k] = ++pl->position;
    for (int i = 0; i < p->inputs.len; i++) {
      if (k == PROC_BEGIN) touch_if(pl, p->inputs.at[i].whole);
      if (k == PROC_FORWARD) touch_if(pl, p->inputs.at[i].train);
      if (k == PROC_EVALUATE) touch_if(pl, p->inputs.at[i].eval);
    }
    for (int i = 0; i < p->procedure[k].steps.len; i++) {
      pl->position++;
      step_visit_tensors(p->procedure[k].steps.at[i], touch_visited, pl);
    }
    pl->position++;
    for (int i = 0; i < p->scalars.len; i++) {
      if (k == PROC_UPDATE) touch_if(pl, p->scalars.at[i].train);
      if (k == PROC_EVALUATE) touch_if(pl, p->scalars.at[i].eval);
    }
    if (k == PROC_UPDATE) touch_if(pl, p->gradient_norm);
    if (k == PROC_EVALUATE) touch_if(pl, p->sampled);
  }
  for (int b = 0; b < p->buffers.len; b++) {
    Buffer *buffer = &p->buffers.at[b];
    const bool every_micro = p->microbatches > 1 && buffer->first >= 0 && buffer->first < p->starts[PROC_FORWARD] &&
                             buffer->last >= p->starts[PROC_FORWARD];
    if (every_micro && buffer->last < p->starts[PROC_COMBINE] - 1) buffer->last = p->starts[PROC_COMBINE] - 1;
    if (!buffer->persistent) continue;
    buffer->first = 0;
    buffer->last = pl->position;
  }
}

// ---- results in the place of operands ----------------------------------------------------------------------------

static void take_place(Planner *pl, int in, int out) {
  Program *p = pl->program;
  const int from = p->tensors.at[out].buffer, to = p->tensors.at[in].buffer;
  for (int t = pl->tensor_in[from], next; t >= 0; t = next) {
    next = pl->next_tensor[t];
    p->tensors.at[t].buffer = to;
    pl->next_tensor[t] = pl->tensor_in[to];
    pl->tensor_in[to] = t;
  }
  pl->tensor_in[from] = -1;
  p->buffers.at[to].last = p->buffers.at[from].last;
  p->buffers.at[from] = (Buffer){.first = -1, .last = -1};
}

typedef struct Lives { // of buffers, in positions of a list of steps
  const Program *program;
  int *first, *last; // by buffer; first -1: not used there
  int position;
} Lives;

// Lets results of a kernel take the place of operands that are read for the last time.
static void reuse_in_kernel(Planner *pl, Lives *lives, const Kernel *k, int position) {
  Program *p = pl->program;
  for (int o = 0; o < k->tensors.len; o++) {
    const int out = k->tensors.at[o].tensor;
    if (p->tensors.at[out].is_part) continue;
    for (int i = 0; i < k->tensors.len; i++) {
      const int in = k->tensors.at[i].tensor;
      const int from = p->tensors.at[out].buffer, to = p->tensors.at[in].buffer;
      if (i == o || from == to || p->tensors.at[in].is_part || p->buffers.at[from].bytes < SMALL || p->buffers.at[from].bytes != p->buffers.at[to].bytes) continue;
      if (p->buffers.at[from].persistent || lives->first[from] != position) continue;
      if (p->buffers.at[to].persistent || lives->last[to] != position || lives->first[to] == position) continue;
      if (!inplace_in_kernel(p, k, in, out)) continue;
      lives->last[to] = lives->last[from];
      take_place(pl, in, out);
      break;
    }
  }
}

static void note_life(void *ctx, int tensor, bool written) {
  Lives *lives = ctx;
  const int buffer = lives->program->tensors.at[tensor].buffer;
  (void)written;
  if (lives->first[buffer] < 0) lives->first[buffer] = lives->position;
  lives->last[buffer] = lives->position;
}

// Those that are used outside of the loop, too, are not reused in it.
static void forget_outer(void *ctx, int tensor, bool written) {
  Lives *lives = ctx;
  const int buffer = lives->program->tensors.at[tensor].buffer;
  const Buffer *b = &lives->program->buffers.at[buffer];
  (void)written;
  if (b->first != lives->position || b->last != lives->position) lives->first[buffer] = lives->last[buffer] = -1;
}

static void forget_life(void *ctx, int tensor, bool written) {
  Lives *lives = ctx;
  const int buffer = lives->program->tensors.at[tensor].buffer;
  (void)written;
  lives->first[buffer] = lives->last[buffer] = -1;
}

typedef VEC(const Step *) Leaves;

static void collect_leaves(Arena *arena, const Step *loop, Leaves *leaves) {
  for (int i = 0; i < loop->loop.body.len; i++) {
    const Step *step = loop->loop.body.at[i];
    if (step->kind == STEP_LOOP) collect_leaves(arena, step, leaves);
    else vec_push(arena, leaves, step);
  }
}

// The same among buffers that are used in one loop only: every iteration begins without them.
static void reuse_in_loop(Planner *pl, const Step *loop) {
  Program *p = pl->program;
  Leaves leaves = {NULL, 0, 0};
  collect_leaves(pl->scratch, loop, &leaves);
  Lives lives = {p, pl->first_in_loop, pl->last_in_loop, 0};
  for (; lives.position < leaves.len; lives.position++) step_visit_tensors(leaves.at[lives.position], note_life, &lives);
  lives.position = pl->position;
  step_visit_tensors(loop, forget_outer, &lives);
  for (int i = 0; i < leaves.len; i++)
    if (leaves.at[i]->kind == STEP_KERNEL) reuse_in_kernel(pl, &lives, leaves.at[i]->kernel, i);
  step_visit_tensors(loop, forget_life, &lives);
}

static void reuse_in_step(Planner *pl, Lives *lives, const Step *step) {
  if (step->kind == STEP_LOOP) reuse_in_loop(pl, step);
  if (step->kind == STEP_KERNEL) reuse_in_kernel(pl, lives, step->kernel, pl->position);
}

static void reuse_places(Planner *pl) {
  Program *p = pl->program;
  Lives lives = {p, NEW_ARRAY(pl->scratch, int, p->buffers.len), NEW_ARRAY(pl->scratch, int, p->buffers.len), 0};
  for (int b = 0; b < p->buffers.len; b++) {
    lives.first[b] = p->buffers.at[b].first;
    lives.last[b] = p->buffers.at[b].last;
  }
  pl->position = 0;
  for (int k = 0; k < PROCEDURES; k++) {
    if (!procedure_runs(p, k)) continue;
    pl->position++;
    for (int i = 0; i < p->procedure[k].steps.len; i++) {
      pl->position++;
      reuse_in_step(pl, &lives, p->procedure[k].steps.at[i]);
    }
    pl->position++;
  }
}

// ---- places ------------------------------------------------------------------------------------------------------

// Parameters come first, in the order of the model; ties are broken by the order of the buffers.
static int compare(const Buffer *x, const Buffer *y, double of_x, double of_y) {
  if (x->persistent != y->persistent) return x->persistent ? -1 : 1;
  if (x->persistent || of_x == of_y) return x < y ? -1 : x > y;
  return of_x > of_y ? -1 : 1;
}

static double life(const Buffer *b) { return (double)(b->last - b->first + 1); }

static int larger_first(const void *a, const void *b) {
  const Buffer *x = *(Buffer *const *)a, *y = *(Buffer *const *)b;
  return compare(x, y, (double)x->bytes, (double)y->bytes);
}

static int longer_first(const void *a, const void *b) {
  const Buffer *x = *(Buffer *const *)a, *y = *(Buffer *const *)b;
  return compare(x, y, life(x), life(y));
}

static int larger_for_longer_first(const void *a, const void *b) {
  const Buffer *x = *(Buffer *const *)a, *y = *(Buffer *const *)b;
  return compare(x, y, (double)x->bytes * life(x), (double)y->bytes * life(y));
}

static int older_first(const void *a, const void *b) {
  const Buffer *x = *(Buffer *const *)a, *y = *(Buffer *const *)b;
  return compare(x, y, (double)-x->first, (double)-y->first);
}

static int64_t largest_live_sum(const Planner *pl) {
  const Program *p = pl->program;
  int64_t *change = NEW_ARRAY(pl->scratch, int64_t, pl->position + 2), live = 0, largest = 0;
  for (int b = 0; b < p->buffers.len; b++) {
    const Buffer *buffer = &p->buffers.at[b];
    if (buffer->first < 0 || buffer->bytes == 0) continue;
    change[buffer->first] += aligned(buffer->bytes);
    change[buffer->last + 1] -= aligned(buffer->bytes);
  }
  for (int i = 0; i <= pl->position; i++) {
    live += change[i];
    largest = max_i64(largest, live);
  }
  return largest;
}

// Places all buffers in an order and returns how much memory that takes; gives up once it is not less than `most`. Those that
// live for ever come first, side by side.
static int64_t place_buffers(Buffer **buffers, Occupancy *taken, int n, int (*order)(const void *, const void *), int64_t most) {
  int64_t base = 0;
  int i = 0;
  occupancy_clear(taken);
  qsort(buffers, (size_t)n, sizeof *buffers, order);
  for (; i < n && buffers[i]->persistent; i++) {
    buffers[i]->offset = base;
    base += aligned(buffers[i]->bytes);
  }
  int64_t peak = base;
  for (; i < n && peak < most; i++) {
    Buffer *b = buffers[i];
    b->offset = occupancy_lowest_gap(taken, b->first, b->last, aligned(b->bytes), base);
    occupancy_take(taken, b->first, b->last, b->offset, aligned(b->bytes));
    peak = max_i64(peak, b->offset + aligned(b->bytes));
  }
  return peak;
}

static void find_places(Arena *scratch, Program *p, int positions) {
  static int (*const orders[])(const void *, const void *) = {larger_first, larger_for_longer_first, longer_first,
                                                              older_first};
  enum { ORDERS = sizeof orders / sizeof *orders };
  Buffer **buffers = NEW_ARRAY(scratch, Buffer *, p->buffers.len);
  Occupancy *taken = occupancy_new(scratch, positions);
  int64_t *offset = NEW_ARRAY(scratch, int64_t, p->buffers.len); // of the best order
  int n = 0;
  for (int b = 0; b < p->buffers.len; b++)
    if (p->buffers.at[b].first >= 0 && p->buffers.at[b].bytes > 0) buffers[n++] = &p->buffers.at[b];
  p->arena_bytes = INT64_MAX;
  for (int o = 0; o < ORDERS && p->arena_bytes > p->lower_bound; o++) {
    const int64_t peak = place_buffers(buffers, taken, n, orders[o], p->arena_bytes);
    if (peak >= p->arena_bytes) continue;
    p->arena_bytes = peak;
    for (int b = 0; b < p->buffers.len; b++) offset[b] = p->buffers.at[b].offset;
  }
  for (int b = 0; b < p->buffers.len; b++) p->buffers.at[b].offset = offset[b];
}

void pass_plan_memory(Compilation *c) {
  Program *p = c->program;
  Arena *scratch = arena_new();
  Planner planner = {.program = p, .scratch = scratch}, *pl = &planner;
  pl->first_in_loop = NEW_ARRAY(scratch, int, p->buffers.len);
  pl->last_in_loop = NEW_ARRAY(scratch, int, p->buffers.len);
  for (int b = 0; b < p->buffers.len; b++) pl->first_in_loop[b] = pl->last_in_loop[b] = -1;
  pl->tensor_in = NEW_ARRAY(scratch, int, p->buffers.len);
  pl->next_tensor = NEW_ARRAY(scratch, int, p->tensors.len);
  program_list_tensors(p, pl->tensor_in, pl->next_tensor);
  compute_lifetimes(pl);
  reuse_places(pl);
  compute_lifetimes(pl);
  p->lower_bound = largest_live_sum(pl);
  find_places(scratch, p, pl->position + 1);
  for (int t = 0; t < p->tensors.len; t++) p->tensors.at[t].shown = p->tensors.at[t].steps > 0;
  arena_free(scratch);
}
