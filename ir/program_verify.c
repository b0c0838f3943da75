// The rules of a program.
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
  rule(v, reshard_find(&mesh, &shape, &c->from, &c->to, &step) && step.kind == c->kind && step.axes == c->axes,
       "a change of layout is a row of the table");
  rule(v, c->kind != RESHARD_drop, "what costs nothing is no step");
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
    if (v->step->kind == STEP_KERNEL) check_kernel(v, &v->step->kernel);
    if (v->step->kind == STEP_COLLECTIVE) check_collective(v, &v->step->collective);
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

// Buffers that live at the same time lie apart.
static void check_places(const Program *p, const char *pass) {
  if (p->arena_bytes == 0) return;
  for (int a = 0; a < p->buffers.len; a++)
    for (int b = a + 1; b < p->buffers.len; b++) {
      const Buffer *x = &p->buffers.at[a], *y = &p->buffers.at[b];
      if (x->first < 0 || y->first < 0 || x->bytes == 0 || y->bytes == 0) continue;
      const bool together = x->first <= y->last && y->first <= x->last;
      const bool overlap = x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
      if (together && overlap)
        fatal("after pass %s: %s and %s live at the same time in the same place", pass, buffer_name(p, a), buffer_name(p, b));
    }
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
