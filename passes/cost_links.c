// What joins the ranks along a set of axes of a mesh: the levels of the machine that they cross, and who shares a link.
//
// A group is the ranks that differ in their coordinates on these axes only, in order. Within each unit of a level (a device, a
// node, ...) it has a run of ranks. A walk through all of them leaves every unit once, so that the link of a unit carries what one
// rank carries, once for each group that has ranks there and elsewhere. Where every device has its own link out of its unit, a
// group has as many as it has ranks there.
#include "../ir/profile.h"
#include "cost.h"

#include <stdlib.h>

typedef struct Runs { // of all groups, in units of one size
  int most, fewest;   // ranks of a group in a unit
  int units;          // of a group, at most
  int groups;         // that leave one unit, at most
} Runs;

static Runs runs_in(const Mesh *mesh, uint32_t axes, int unit) {
  const uint32_t others = ((1u << mesh->n_axes) - 1) & ~axes;
  const int n = mesh_parts(mesh, axes), n_groups = mesh_parts(mesh, others), ranks = n * n_groups;
  Runs runs = {0, n, 0, 0};
  int *leaving = calloc((size_t)ranks, sizeof *leaving);
  if (leaving == NULL) fatal("out of memory");
  int *offset = malloc(sizeof *offset * (size_t)n);
  if (offset == NULL) fatal("out of memory");
  for (int i = 0; i < n; i++) offset[i] = mesh_rank_at(mesh, axes, i);
  for (int g = 0; g < n_groups; g++) {
    const int first = mesh_rank_at(mesh, others, g);
    int units = 0;
    for (int i = 0, end; i < n; i = end, units++) {
      const int at = (first + offset[i]) / unit;
      for (end = i + 1; end < n && (first + offset[end]) / unit == at; end++) {}
      if (end - i > runs.most) runs.most = end - i;
      if (end - i < runs.fewest) runs.fewest = end - i;
      if (end - i < n && ++leaving[at] > runs.groups) runs.groups = leaving[at];
    }
    if (units > runs.units) runs.units = units;
  }
  free(leaving);
  free(offset);
  return runs;
}

// The ranks of a group as a profile tells them apart. part 0: they are not all as far from the next one.
static LinkRanks regular_ranks(const Mesh *mesh, uint32_t axes) {
  const int n = mesh_parts(mesh, axes), first = mesh_rank_at(mesh, axes, 0);
  if (n < 2) return (LinkRanks){0, 0, 0};
  const int stride = mesh_rank_at(mesh, axes, 1) - first;
  for (int i = 2; i < n; i++)
    if (mesh_rank_at(mesh, axes, i) - first != i * stride) return (LinkRanks){0, 0, 0};
  return (LinkRanks){n, mesh_ranks(mesh), stride};
}

static int log2_up(int n) {
  int log = 0;
  while (1 << log < n) log++;
  return log;
}

AxisLinks cost_links(const Machine *machine, const Mesh *mesh, uint32_t axes) {
  AxisLinks links = {.ranks = mesh_parts(mesh, axes)};
  links.regular = regular_ranks(mesh, axes);
  for (ReshardKind kind = 0; kind < RESHARD_KINDS && machine->profile != NULL; kind++)
    links.measured[kind] = profile_links_find(&machine->profile->links, kind, links.regular);
  Runs inner = runs_in(mesh, axes, 1);
  for (int l = 0; l < machine->n_levels; l++) {
    const MachineLevel *level = &machine->level[l];
    const bool last = l == machine->n_levels - 1; // all that is left goes over the last one
    const Runs outer = runs_in(mesh, axes, last ? MESH_MAX_RANKS : machine_unit(machine, l));
    LevelLinks *at = &links.level[l];
    // What leaves a node goes over no link between the devices of a node.
    at->used = l == 0 ? outer.most > 1 : inner.units > 1;
    at->hops = inner.units - outer.units;
    at->depth = log2_up((inner.units + outer.units - 1) / outer.units);
    at->most = inner.most;
    at->ring = level->shared ? inner.groups / level->bandwidth : 1 / (inner.fewest * level->bandwidth);
    at->own = level->shared ? at->ring : 1 / level->bandwidth;
    // Of what a rank sends to all others, so much goes out, from each of the ranks of its group.
    const double out = links.ranks > 1 ? (double)(links.ranks - inner.most) / (links.ranks - 1) : 0;
    at->all = out * at->own * (level->shared ? inner.most : 1);
    inner = outer;
  }
  return links;
}
