#include "traffic.h"

typedef struct Traffic {
  const Mesh *mesh;
  int ranks, element; // bytes
  int times;          // that the step at hand runs in a training step
  double *bytes;
} Traffic;

static void add(Traffic *t, int sender, int receiver, double bytes) {
  if (sender != receiver) t->bytes[sender * t->ranks + receiver] += t->times * bytes;
}

// ---- rings ---------------------------------------------------------------------------------------------------------

// The rank at a place among those along the axes, whose other coordinates are those of `of`.
static int neighbour(const Traffic *t, const Collective *c, int of, int place) {
  const int own = mesh_rank_at(t->mesh, c->axes, mesh_coordinate(t->mesh, of, c->axes));
  return of - own + mesh_rank_at(t->mesh, c->axes, place);
}

// What is reduced to one rank, or comes from one, does not go all around: a chain ends, or begins, at the root.
static void add_ring(Traffic *t, const Collective *c) {
  const int n = mesh_parts(t->mesh, c->axes);
  for (int rank = 0; rank < t->ranks; rank++) {
    const int place = mesh_coordinate(t->mesh, rank, c->axes), next = (place + 1) % n;
    const bool open = (c->kind == RESHARD_reduce && place == c->root) || (c->kind == RESHARD_broadcast && next == c->root);
    if (!open) add(t, rank, neighbour(t, c, rank, next), c->bytes);
  }
}

// ---- messages ------------------------------------------------------------------------------------------------------

static Block held(const Traffic *t, const Collective *c, const Layout *layout, int rank, int dim) {
  return cut_block(t->mesh, rank, layout_axes_of(layout, t->mesh->n_axes, dim), &layout->cut[dim], c->extent[dim]);
}

static double common(const Traffic *t, const Collective *c, int sender, int receiver) {
  double elements = 1;
  for (int d = 0; d < c->rank; d++) {
    const Block a = held(t, c, c->from, sender, d), b = held(t, c, c->to, receiver, d);
    elements *= (double)max_i64(0, min_i64(a.lo + a.len, b.lo + b.len) - max_i64(a.lo, b.lo));
  }
  return reshard_moves_rows(c->kind) ? elements / mesh_parts(t->mesh, c->axes) : elements; // each owner has as much
}

// Along an axis where several ranks hold the same, each gives to those at its own place.
static bool gives(const Traffic *t, const Collective *c, int sender, int receiver) {
  for (int a = 0; a < t->mesh->n_axes; a++) {
    const AxisLayout *from = &c->from->axis[a], *to = &c->to->axis[a];
    const int at = mesh_coordinate(t->mesh, sender, 1u << a), by = mesh_coordinate(t->mesh, receiver, 1u << a);
    if (to->kind == LAYOUT_PINNED && to->pin != by) return false;
    if (from->kind == LAYOUT_PINNED ? from->pin != at : from->kind != LAYOUT_SHARD && from->kind != LAYOUT_OWNED && at != by) return false;
  }
  return true;
}

static void add_messages(Traffic *t, const Collective *c) {
  for (int sender = 0; sender < t->ranks; sender++)
    for (int receiver = 0; receiver < t->ranks; receiver++)
      if (sender != receiver && gives(t, c, sender, receiver)) add(t, sender, receiver, common(t, c, sender, receiver) * t->element);
}

// ---- all steps -----------------------------------------------------------------------------------------------------

static void add_step(Traffic *t, const Program *program, const Step *step) {
  if (step->kind == STEP_LOOP)
    for (int i = 0; i < step->loop.body.len; i++) add_step(t, program, step->loop.body.at[i]);
  if (step->kind != STEP_COLLECTIVE) return;
  const Collective *c = step->collective;
  t->element = program->tensors.at[c->tensor].type == TYPE_REAL && program->model->f64 ? 8 : 4;
  if (reshard_how(c->kind) == RESHARD_COLLECTIVE) add_ring(t, c);
  else if (reshard_how(c->kind) == RESHARD_MESSAGES) add_messages(t, c);
}

double *traffic_of_program(Arena *arena, const Program *program) {
  Traffic t = {.mesh = &program->mesh, .ranks = mesh_ranks(&program->mesh)};
  if (t.ranks > TRAFFIC_MAX_RANKS) return NULL;
  t.bytes = NEW_ARRAY(arena, double, t.ranks * t.ranks);
  for (int k = PROC_BEGIN; k <= PROC_UPDATE; k++) {
    if (k == PROC_REPORT) continue;
    t.times = procedure_times(program, k);
    for (int i = 0; i < program->procedure[k].steps.len; i++) add_step(&t, program, program->procedure[k].steps.at[i]);
  }
  return t.bytes;
}
