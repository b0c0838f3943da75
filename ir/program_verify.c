// The rules of a program.
#include <stdlib.h>

#include "program.h"

typedef struct ProgramVerifier {
  const Program *program;
  const char *pass;
  ProcedureKind procedure;
  const Step *step;
} ProgramVerifier;

static void rule(const ProgramVerifier *v, bool holds, const char *text) {
  if (!holds)
    fatal("after pass %s: rule \"%s\" is broken by %s%s%s (%s:%d)", v->pass, text, v->step->layer,
          v->step->layer[0] != '\0' ? " " : "", v->step->name, v->step->loc.file != NULL ? v->step->loc.file : "?",
          v->step->loc.line);
}

static void check_tensor(void *ctx, int tensor, bool written) {
  const ProgramVerifier *v = ctx;
  (void)written;
  rule(v, tensor >= 0 && tensor < v->program->tensors.len, "a step uses tensors of the program");
  const int buffer = v->program->tensors.at[tensor].buffer;
  rule(v, buffer >= 0 && buffer < v->program->buffers.len, "a tensor lies in a buffer");
  if (v->program->arena_bytes == 0) return;
  const Buffer *b = &v->program->buffers.at[buffer];
  const ProgTensor *t = &v->program->tensors.at[tensor];
  rule(v, t->offset >= 0 && t->offset + t->bytes <= b->bytes, "a tensor lies within its buffer");
  rule(v, b->bytes > 0 && b->offset >= 0 && b->offset + b->bytes <= v->program->arena_bytes, "a buffer lies in the arena");
}

static void check_kernel(const ProgramVerifier *v, const Kernel *k) {
  rule(v, k->n_grid <= k->n_dims && k->n_dims <= IR_MAX_DIMS, "rows are dimensions of the kernel");
  rule(v, k->kind != KERNEL_LANES || k->n_grid > 0, "a kernel of lanes has a row dimension");
  rule(v, k->kind != KERNEL_FLAT || k->n_dims <= 1, "a flat kernel has one dimension");
  for (int s = 0; s < k->stages.len; s++)
    for (int i = 0; i < k->stages.at[s].n_inner; i++)
      rule(v, k->stages.at[s].inner[i] >= k->n_grid && k->stages.at[s].inner[i] < k->n_dims,
           "inner dimensions of a stage come after the rows");
}

static void check_collective(const ProgramVerifier *v, const Collective *c) {
  Mesh mesh = v->program->mesh;
  mesh.partial_batches = v->procedure == PROC_EVALUATE;
  Shape shape = {.rank = c->rank};
  memcpy(shape.extent, c->extent, sizeof *c->extent * (size_t)c->rank);
  Reshard step;
  rule(v, reshard_find(&mesh, &shape, c->from, c->to, &step) && step.kind == c->kind && step.axes == c->axes,
       "a change of layout is a row of the table");
  rule(v, reshard_how(c->kind) != RESHARD_NOTHING, "what costs nothing is no step");
  rule(v, c->root >= 0 && c->root < mesh_parts(&v->program->mesh, c->axes), "a root is among the ranks of its collective");
}

static bool has_collective(const Step *loop) {
  for (int i = 0; i < loop->loop.body.len; i++) {
    const Step *step = loop->loop.body.at[i];
    if (step->kind == STEP_COLLECTIVE || (step->kind == STEP_LOOP && has_collective(step))) return true;
  }
  return false;
}

static void check_steps(ProgramVerifier *v, Step *const *steps, int n) {
  for (int i = 0; i < n; i++) {
    v->step = steps[i];
    step_visit_tensors(v->step, check_tensor, v);
    if (v->step->kind == STEP_KERNEL) check_kernel(v, v->step->kernel);
    if (v->step->kind == STEP_COLLECTIVE) check_collective(v, v->step->collective);
    if (v->step->kind == STEP_RECORD || v->step->kind == STEP_WAIT)
      rule(v, v->step->sync.event >= 0 && v->step->sync.event < v->program->n_events, "an event is declared");
    rule(v, v->step->kind != STEP_LOOP || !has_collective(v->step), "no loop holds a change of layout");
    if (v->step->kind == STEP_LOOP) check_steps(v, v->step->loop.body.at, v->step->loop.body.len);
  }
}

static const char *buffer_name(const Program *p, int buffer) {
  for (int t = 0; t < p->tensors.len; t++)
    if (p->tensors.at[t].buffer == buffer && p->tensors.at[t].steps > 0) return p->tensors.at[t].name;
  return "a buffer without tensors";
}

static int older_first(const void *a, const void *b) {
  const Buffer *x = *(const Buffer *const *)a, *y = *(const Buffer *const *)b;
  return x->first != y->first ? (x->first < y->first ? -1 : 1) : x < y ? -1 : x > y;
}

typedef struct Living { // by offset; some of them may have ended
  const Buffer **at;
  int n;
} Living;

static void remove_at(Living *living, int i) {
  memmove(living->at + i, living->at + i + 1, sizeof *living->at * (size_t)(living->n - i - 1));
  living->n--;
}

// Where it goes into the list; what has ended and stood beside that place is gone then.
static int find_place(Living *living, const Buffer *b) {
  int low = 0, high = living->n;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (living->at[middle]->offset < b->offset) low = middle + 1;
    else high = middle;
  }
  while (low > 0 && living->at[low - 1]->last < b->first) remove_at(living, --low);
  while (low < living->n && living->at[low]->last < b->first) remove_at(living, low);
  return low;
}

static void check_apart(const Program *p, const char *pass, const Buffer *x, const Buffer *y) {
  if (x->offset >= y->offset + y->bytes || y->offset >= x->offset + x->bytes) return;
  const int a = (int)(x - p->buffers.at), b = (int)(y - p->buffers.at);
  fatal("after pass %s: %s and %s live at the same time in the same place", pass, buffer_name(p, a < b ? a : b),
        buffer_name(p, a < b ? b : a));
}

// Buffers that live at the same time lie apart. They come by the beginning of their lives, so that each has to be held only
// against its neighbours among those that live then, which lie apart already.
static void check_places(const Program *p, const char *pass) {
  if (p->arena_bytes == 0) return;
  const size_t room = sizeof(Buffer *) * (size_t)p->buffers.len + 1;
  const Buffer **buffers = malloc(room);
  Living living = {malloc(room), 0};
  if (buffers == NULL || living.at == NULL) fatal("out of memory");
  int n = 0;
  for (int b = 0; b < p->buffers.len; b++)
    if (p->buffers.at[b].first >= 0 && p->buffers.at[b].bytes > 0) buffers[n++] = &p->buffers.at[b];
  qsort(buffers, (size_t)n, sizeof *buffers, older_first);
  for (int i = 0; i < n; i++) {
    const int place = find_place(&living, buffers[i]);
    if (place > 0) check_apart(p, pass, living.at[place - 1], buffers[i]);
    if (place < living.n) check_apart(p, pass, buffers[i], living.at[place]);
    memmove(living.at + place + 1, living.at + place, sizeof *living.at * (size_t)(living.n - place));
    living.at[place] = buffers[i];
    living.n++;
  }
  free(buffers);
  free(living.at);
}

static void check_order(const Program *p, const char *pass) {
  const char *fault = program_find_mismatch(p);
  if (fault != NULL) fatal("after pass %s: collectives differ between ranks: %s", pass, fault);
  if (p->n_events == 0 && p->arena_bytes == 0) return; // not scheduled yet
  fault = program_find_disorder(p);
  if (fault != NULL) fatal("after pass %s: %s", pass, fault);
}

void program_verify(const Program *program, const char *pass) {
  ProgramVerifier v = {.program = program, .pass = pass};
  for (int k = 0; k < PROCEDURES; k++) {
    v.procedure = k;
    check_steps(&v, program->procedure[k].steps.at, program->procedure[k].steps.len);
  }
  check_places(program, pass);
  check_order(program, pass);
}
