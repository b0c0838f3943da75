// plan-memory: a place in one arena for every buffer, by lifetime.
//
// Requires: a scheduled program. Guarantees: buffers whose lifetimes overlap do not overlap in the arena; offsets are
// multiples of 256 bytes; arena_bytes is the peak and lower_bound the largest sum of buffers that live at one step.
//
// A result takes the buffer of an operand that dies with it, where the kernel allows that. Then buffers are placed one
// after the other, each at the lowest offset that is free during its whole life, in several orders; the best is kept.
#include <stdlib.h>

#include "collapse.h"
#include "inplace.h"
#include "passes.h"

enum { ALIGN = 256 };
enum { SMALL = 16384 }; // bytes not worth sharing a place and a name

typedef struct Planner {
  Program *program;
  int position; // of the step at hand, over all procedures
  int *first_in_loop, *last_in_loop; // by buffer: of the loop at hand
} Planner;

static int64_t aligned(int64_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

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

// Inputs are filled before forward (evaluate) and results read after update (evaluate).
static void compute_lifetimes(Planner *pl) {
  Program *p = pl->program;
  for (int b = 0; b < p->buffers.len; b++) p->buffers.at[b].first = p->buffers.at[b].last = -1;
  for (int t = 0; t < p->tensors.len; t++) p->tensors.at[t].steps = 0;
  pl->position = 0;
  for (int k = 0; k < PROCEDURES; k++) {
    p->starts[k] = ++pl->position;
    for (int i = 0; i < p->inputs.len; i++) {
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
    if (!buffer->persistent) continue;
    buffer->first = 0;
    buffer->last = pl->position;
  }
}

// ---- results in the place of operands ----------------------------------------------------------------------------

static void take_place(Program *p, int in, int out) {
  const int from = p->tensors.at[out].buffer, to = p->tensors.at[in].buffer;
  for (int t = 0; t < p->tensors.len; t++)
    if (p->tensors.at[t].buffer == from) p->tensors.at[t].buffer = to;
  p->buffers.at[to].last = p->buffers.at[from].last;
  p->buffers.at[from] = (Buffer){.first = -1, .last = -1};
}

typedef struct Lives { // of buffers, in positions of a list of steps
  const Program *program;
  int *first, *last; // by buffer; first -1: not used there
  int position;
} Lives;

// Lets results of a kernel take the place of operands that are read for the last time.
static void reuse_in_kernel(Program *p, Lives *lives, const Kernel *k, int position) {
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
      take_place(p, in, out);
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

typedef VEC(const Step *) Leaves;

static void collect_leaves(Program *p, const Step *loop, Leaves *leaves) {
  for (int i = 0; i < loop->loop.body.len; i++) {
    const Step *step = loop->loop.body.at[i];
    if (step->kind == STEP_LOOP) collect_leaves(p, step, leaves);
    else vec_push(p->arena, leaves, step);
  }
}

// The same among buffers that are used in one loop only: every iteration begins without them.
static void reuse_in_loop(Planner *pl, const Step *loop) {
  Program *p = pl->program;
  Leaves leaves = {NULL, 0, 0};
  collect_leaves(p, loop, &leaves);
  Lives lives = {p, pl->first_in_loop, pl->last_in_loop, 0};
  memset(lives.first, -1, sizeof *lives.first * (size_t)p->buffers.len);
  memset(lives.last, 0, sizeof *lives.last * (size_t)p->buffers.len);
  for (; lives.position < leaves.len; lives.position++) step_visit_tensors(leaves.at[lives.position], note_life, &lives);
  for (int b = 0; b < p->buffers.len; b++)
    if (p->buffers.at[b].first != pl->position || p->buffers.at[b].last != pl->position) lives.first[b] = lives.last[b] = -1;
  for (int i = 0; i < leaves.len; i++)
    if (leaves.at[i]->kind == STEP_KERNEL) reuse_in_kernel(p, &lives, &leaves.at[i]->kernel, i);
}

static void reuse_in_step(Planner *pl, Lives *lives, const Step *step) {
  if (step->kind == STEP_LOOP) reuse_in_loop(pl, step);
  if (step->kind == STEP_KERNEL) reuse_in_kernel(pl->program, lives, &step->kernel, pl->position);
}

static void reuse_places(Planner *pl) {
  Program *p = pl->program;
  Lives lives = {p, NEW_ARRAY(p->arena, int, p->buffers.len), NEW_ARRAY(p->arena, int, p->buffers.len), 0};
  for (int b = 0; b < p->buffers.len; b++) {
    lives.first[b] = p->buffers.at[b].first;
    lives.last[b] = p->buffers.at[b].last;
  }
  pl->position = 0;
  for (int k = 0; k < PROCEDURES; k++) {
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

static bool lives_with(const Buffer *a, const Buffer *b) { return a->first <= b->last && b->first <= a->last; }

// The placed buffers from `offset` on, by offset, so that the lowest gap is found in one walk.
static void place_buffer(Buffer **placed, int *n, Buffer *b, int64_t offset) {
  for (int i = 0; i < *n; i++) {
    if (!lives_with(placed[i], b)) continue;
    if (placed[i]->offset >= offset + aligned(b->bytes)) break;
    offset = max_i64(offset, placed[i]->offset + aligned(placed[i]->bytes));
  }
  b->offset = offset;
  int at = (*n)++;
  for (; at > 0 && placed[at - 1]->offset > offset; at--) placed[at] = placed[at - 1];
  placed[at] = b;
}

static int64_t largest_live_sum(const Planner *pl) {
  const Program *p = pl->program;
  int64_t *change = NEW_ARRAY(p->arena, int64_t, pl->position + 2), live = 0, largest = 0;
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

// Places all buffers in an order and returns how much memory that takes. Those that live for ever come first, side by side.
static int64_t place_buffers(Buffer **buffers, Buffer **placed, int n, int (*order)(const void *, const void *)) {
  int64_t base = 0;
  int n_placed = 0, i = 0;
  qsort(buffers, (size_t)n, sizeof *buffers, order);
  for (; i < n && buffers[i]->persistent; i++) {
    buffers[i]->offset = base;
    base += aligned(buffers[i]->bytes);
  }
  int64_t peak = base;
  for (; i < n; i++) {
    place_buffer(placed, &n_placed, buffers[i], base);
    peak = max_i64(peak, buffers[i]->offset + aligned(buffers[i]->bytes));
  }
  return peak;
}

static void find_places(Program *p) {
  static int (*const orders[])(const void *, const void *) = {larger_first, larger_for_longer_first, longer_first,
                                                              older_first};
  enum { ORDERS = sizeof orders / sizeof *orders };
  Buffer **buffers = NEW_ARRAY(p->arena, Buffer *, p->buffers.len),
         **placed = NEW_ARRAY(p->arena, Buffer *, p->buffers.len);
  int n = 0, last = 0, best = 0;
  for (int b = 0; b < p->buffers.len; b++)
    if (p->buffers.at[b].first >= 0 && p->buffers.at[b].bytes > 0) buffers[n++] = &p->buffers.at[b];
  p->arena_bytes = INT64_MAX;
  for (int o = 0; o < ORDERS && p->arena_bytes > p->lower_bound; o++) {
    const int64_t peak = place_buffers(buffers, placed, n, orders[o]);
    last = o;
    if (peak >= p->arena_bytes) continue;
    p->arena_bytes = peak;
    best = o;
  }
  if (best != last) place_buffers(buffers, placed, n, orders[best]);
}

void pass_plan_memory(Compilation *c) {
  Program *p = c->program;
  Planner planner = {.program = p}, *pl = &planner;
  pl->first_in_loop = NEW_ARRAY(p->arena, int, p->buffers.len);
  pl->last_in_loop = NEW_ARRAY(p->arena, int, p->buffers.len);
  compute_lifetimes(pl);
  reuse_places(pl);
  compute_lifetimes(pl);
  p->lower_bound = largest_live_sum(pl);
  find_places(p);
  for (int t = 0; t < p->tensors.len; t++) p->tensors.at[t].shown = p->tensors.at[t].steps > 0;
}
