// The order of collectives between ranks: all members of a communicator issue the same ones in the same order, and nobody
// else does. The ranks of a communicator are those that differ along its axes only.
#include "program.h"

// The axes of the mesh along which the ranks differ that a change of layout is among: messages are among all. 0: no change that
// communicates.
static uint32_t axes_of(const Program *p, const Step *step) {
  uint32_t all = 0;
  if (step->kind != STEP_COLLECTIVE || reshard_how(step->collective.kind) == RESHARD_LOCAL) return 0;
  if (reshard_how(step->collective.kind) == RESHARD_COLLECTIVE) return step->collective.axes;
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
  return arena_printf(p->arena, "%s of %s (%s:%d)", reshard_name(step->collective.kind),
                      p->tensors.at[step->collective.tensor].name,
                      step->loc.file != NULL ? step->loc.file : p->model->source, step->loc.line);
}

// The next collective over these axes that the rank issues from step *i on, or NULL.
static const Step *next_collective(const Program *p, const Procedure *procedure, int rank, uint32_t axes, int *i) {
  while (*i < procedure->steps.len) {
    const Step *step = procedure->steps.at[(*i)++];
    if (axes_of(p, step) == axes && runs_on(p, step, rank)) return step;
  }
  return NULL;
}

static const char *compare_ranks(const Program *p, ProcedureKind kind, uint32_t axes, int rank, int first) {
  const Procedure *procedure = &p->procedure[kind];
  for (int i = 0, k = 0;;) {
    const Step *own = next_collective(p, procedure, rank, axes, &i),
               *other = next_collective(p, procedure, first, axes, &k);
    if (own == NULL && other == NULL) return NULL;
    if (own == NULL || other == NULL || !same_collective(&own->collective, &other->collective))
      return arena_printf(p->arena, "in %s, rank %d comes to %s where rank %d comes to %s", procedure_name(kind), rank,
                          collective_text(p, own), first, collective_text(p, other));
  }
}

const char *program_find_mismatch(const Program *p) {
  for (int k = 0; k < PROCEDURES; k++) {
    bool seen[1 << MESH_MAX_AXES] = {false};
    for (int i = 0; i < p->procedure[k].steps.len; i++) {
      const uint32_t axes = axes_of(p, p->procedure[k].steps.at[i]);
      if (axes == 0 || seen[axes]) continue;
      seen[axes] = true;
      for (int rank = 0; rank < mesh_ranks(&p->mesh); rank++) {
        const char *fault = compare_ranks(p, k, axes, rank, first_member(p, rank, axes));
        if (fault != NULL) return fault;
      }
    }
  }
  return NULL;
}
