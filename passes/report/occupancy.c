#include "occupancy.h"

#include <stdlib.h>

enum { LARGEST = 8 };

static double aligned(int64_t bytes) { return (double)((bytes + BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN); }

// A buffer that lives for ever is of a parameter, a state or an input, and of what takes its place.
static void add_persistent(Occupancy *o, const Program *p, int tensor, const int *next_tensor, const Buffer *buffer) {
  while (p->tensors.at[tensor].role == ROLE_VALUE && next_tensor[tensor] >= 0) tensor = next_tensor[tensor];
  const Role role = p->tensors.at[tensor].role;
  *(role == ROLE_PARAM ? &o->parameters : role == ROLE_STATE ? &o->states : &o->inputs) += aligned(buffer->bytes);
}

static void add_passing(Occupancy *o, const Buffer *buffer) {
  for (int i = buffer->first; i <= buffer->last; i++)
    if (i >= o->from && i < o->from + o->n) o->passing[i - o->from] += aligned(buffer->bytes);
}

static int larger_first(const void *a, const void *b) {
  const OccupancyTensor *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  return strcmp(x->name, y->name);
}

static void list_largest(Arena *arena, Occupancy *o, const Program *p, const int *tensor_in) {
  const int at = o->from + o->most;
  for (int b = 0; b < p->buffers.len; b++) {
    const Buffer *buffer = &p->buffers.at[b];
    if (buffer->persistent || tensor_in[b] < 0 || buffer->first > at || buffer->last < at || buffer->bytes == 0) continue;
    vec_push(arena, &o->largest, (OccupancyTensor){p->tensors.at[tensor_in[b]].name, (double)buffer->bytes});
  }
  if (o->largest.len == 0) return;
  qsort(o->largest.at, (size_t)o->largest.len, sizeof *o->largest.at, larger_first);
  if (o->largest.len > LARGEST) o->largest.len = LARGEST;
}

Occupancy occupancy_of_program(Arena *arena, const Program *p) {
  Occupancy o = {.from = p->starts[procedure_runs(p, PROC_BEGIN) ? PROC_BEGIN : PROC_FORWARD]};
  o.n = p->starts[PROC_EVALUATE] - o.from;
  o.passing = NEW_ARRAY(arena, double, o.n);
  int *tensor_in = NEW_ARRAY(arena, int, p->buffers.len), *next_tensor = NEW_ARRAY(arena, int, p->tensors.len);
  program_list_tensors(p, tensor_in, next_tensor);
  for (int k = 0; k < PROCEDURES; k++)
    o.starts[k] = k >= PROC_BEGIN && k < PROC_EVALUATE && procedure_runs(p, k) ? p->starts[k] - o.from : -1;
  for (int b = 0; b < p->buffers.len; b++) {
    const Buffer *buffer = &p->buffers.at[b];
    if (buffer->first < 0 || buffer->bytes == 0 || tensor_in[b] < 0) continue;
    if (buffer->persistent) add_persistent(&o, p, tensor_in[b], next_tensor, buffer);
    else add_passing(&o, buffer);
  }
  for (int i = 0; i < o.n; i++)
    if (o.passing[i] > o.passing[o.most]) o.most = i;
  list_largest(arena, &o, p, tensor_in);
  return o;
}
