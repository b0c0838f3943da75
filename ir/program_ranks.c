// The order of collectives between ranks: all members of a communicator issue the same ones in the same order, and nobody
// else does. The ranks of a communicator are those that differ along its axes only.
#include "program.h"

// The axes of the mesh along which the ranks differ that a change of layout is among: messages are among all. 0: no change that
// communicates.
static uint32_t axes_of(const Program *p, const Step *step) {
  uint32_t all = 0;
  if (step->kind != STEP_COLLECTIVE || reshard_how(step->collective->kind) == RESHARD_LOCAL) return 0;
  if (reshard_how(step->collective->kind) == RESHARD_COLLECTIVE) return step->collective->axes;
  for (int a = 0; a < p->mesh.n_axes; a++)
    if (p->mesh.axis[a].size > 1) all |= 1u << a;
  return all;
}

static bool runs_on(const Program *p, const Step *step, int rank) {
  for (int a = 0; a < p->mesh.n_axes; a++)
    if (step->pin[a] >= 0 && step->pin[a] != mesh_coordinate(&p->mesh, rank, 1u << a)) return false;
  return true;
}

// The member of the rank's communicator that comes first on all axes.
static int first_member(const Program *p, int rank, uint32_t axes) {
  for (int a = 0; a < p->mesh.n_axes; a++)
    if (axes >> a & 1) rank -= mesh_coordinate(&p->mesh, rank, 1u << a) * mesh_stride(&p->mesh, a);
  return rank;
}

static bool same_collective(const Collective *a, const Collective *b) {
  return a->kind == b->kind && a->tensor == b->tensor && a->dst == b->dst && a->reduce == b->reduce && a->root == b->root;
}

static const char *collective_text(const Program *p, const Step *step) {
  if (step == NULL) return "nothing";
  return arena_printf(p->arena, "%s of %s (%s:%d)", reshard_name(step->collective->kind),
                      p->tensors.at[step->collective->tensor].name,
                      step->loc.file != NULL ? step->loc.file : p->model->source, step->loc.line);
}

typedef VEC(const Step *) Steps;

// The next one that the rank issues, from *i on, or NULL.
static const Step *next_collective(const Program *p, const Steps *steps, int rank, int *i) {
  while (*i < steps->len) {
    const Step *step = steps->at[(*i)++];
    if (runs_on(p, step, rank)) return step;
  }
  return NULL;
}

// steps: those of a procedure that are collectives over the axes of a communicator.
static const char *compare_ranks(const Program *p, ProcedureKind kind, const Steps *steps, int rank, int first) {
  for (int i = 0, k = 0;;) {
    const Step *own = next_collective(p, steps, rank, &i), *other = next_collective(p, steps, first, &k);
    if (own == NULL && other == NULL) return NULL;
    if (own == NULL || other == NULL || !same_collective(own->collective, other->collective))
      return arena_printf(p->arena, "in %s, rank %d comes to %s where rank %d comes to %s", procedure_name(kind), rank,
                          collective_text(p, own), first, collective_text(p, other));
  }
}

// The axes along which some of the steps are pinned: ranks that do not differ along these run the same.
static uint32_t axes_of_pins(const Program *p, const Steps *steps) {
  uint32_t axes = 0;
  for (int i = 0; i < steps->len; i++)
    for (int a = 0; a < p->mesh.n_axes; a++)
      if (steps->at[i]->pin[a] >= 0) axes |= 1u << a;
  return axes;
}

static const char *find_mismatch(const Program *p, Arena *scratch) {
  for (int k = 0; k < PROCEDURES; k++) {
    Steps over[1 << MESH_MAX_AXES] = {0}; // by axes
    for (int i = 0; i < p->procedure[k].steps.len; i++) {
      const Step *step = p->procedure[k].steps.at[i];
      const uint32_t axes = axes_of(p, step);
      if (axes != 0) vec_push(scratch, &over[axes], step);
    }
    for (uint32_t axes = 1; axes < 1u << p->mesh.n_axes; axes++) {
      if ((axes_of_pins(p, &over[axes]) & axes) == 0) continue;
      for (int rank = 0; rank < mesh_ranks(&p->mesh); rank++) {
        const char *fault = compare_ranks(p, k, &over[axes], rank, first_member(p, rank, axes));
        if (fault != NULL) return fault;
      }
    }
  }
  return NULL;
}

const char *program_find_mismatch(const Program *p) {
  Arena *scratch = arena_new();
  const char *fault = find_mismatch(p, scratch);
  arena_free(scratch);
  return fault;
}
