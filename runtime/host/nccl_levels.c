// Two levels of a communicator by TCP: the ranks of one host, and the hosts. What goes between hosts is then what a host has to know of
// the others, once: of n bytes that are reduced over h hosts with m ranks each, 2 n (h - 1)/h leave a host, and 2 n (h m - 1)/(h m) where
// all ranks are one ring (Thakur, Rabenseifner and Gropp 2005, Optimization of collective communication operations in MPICH).
#include "nccl_comm.h"

#include <stdlib.h>

#include "hash.h"
#include "world.h"

static int ranks_on(const MeshGroup *group, int host) {
  int n = 0;
  for (int i = 0; i < group->ranks; i++) n += world_host(group->rank[i]) == host;
  return n;
}

// How many ranks each host has, where there are several hosts and that is one number, more than 1; else 0.
static int ranks_on_each(const MeshGroup *group) {
  const int each = ranks_on(group, world_host(group->rank[0]));
  for (int i = 0; i < group->ranks; i++)
    if (ranks_on(group, world_host(group->rank[i])) != each) return 0;
  return each > 1 && each < group->ranks ? each : 0;
}

// Hosts in the order of their first ranks.
static void place_by_hosts(const MeshGroup *group, int *place) {
  int n = 0;
  for (int i = 0; i < group->ranks; i++) {
    const int host = world_host(group->rank[i]);
    int first = 0;
    while (world_host(group->rank[first]) != host) first++;
    for (int k = i; first == i && k < group->ranks; k++)
      if (world_host(group->rank[k]) == host) place[n++] = k;
  }
}

// `ranks` of the places, so many apart, as a group of its own.
static MeshGroup part_of(const MeshGroup *group, const int *place, int stride, int ranks, int *members, int level) {
  MeshGroup part = {members, ranks, 0, 0};
  for (int i = 0; i < ranks; i++) {
    members[i] = group->rank[place[i * stride]];
    if (place[i * stride] == group->own) part.own = i;
  }
  const uint32_t name[] = {group->tag, (uint32_t)level};
  part.tag = (uint32_t)hash_bytes(0, name, sizeof name);
  return part;
}

bool nccl_levels_open(const MeshGroup *group, NcclLevels *levels) {
  const int each = group->ranks > 0 ? ranks_on_each(group) : 0;
  *levels = (NcclLevels){.place = NULL};
  if (each == 0) return true;
  const int hosts = group->ranks / each;
  int *memory = malloc(sizeof *memory * (size_t)(group->ranks + each + hosts)), own = 0;
  if (memory == NULL) return false;
  int *const place = memory, *const inner = place + group->ranks, *const outer = inner + each;
  place_by_hosts(group, place);
  while (place[own] != group->own) own++;
  levels->place = place;
  levels->inner = part_of(group, place + own / each * each, 1, each, inner, 1);
  levels->outer = part_of(group, place + own % each, each, hosts, outer, 2);
  return true;
}

void nccl_levels_close(NcclLevels *levels) {
  free(levels->place);
  levels->place = NULL;
}

// Where the block of a host's rank is.
static char *block_at(const NcclLevels *levels, char *data, size_t bytes, int host, int rank) {
  return data + (size_t)levels->place[host * levels->inner.ranks + rank] * bytes;
}

// The blocks of ranks that have one place on their hosts go round these, then those of all hosts round the ranks of each.
bool nccl_levels_all_gather(const NcclLevels *levels, void *data, size_t bytes) {
  const MeshGroup *inner = &levels->inner, *outer = &levels->outer;
  const int m = inner->ranks, h = outer->ranks;
  MeshTransfer *transfers = malloc(2 * (size_t)h * sizeof *transfers);
  if (transfers == NULL) return false;
  for (int step = 0; step < h - 1; step++) {
    transfers[0] = mesh_send(outer, (outer->own + 1) % h, block_at(levels, data, bytes, (outer->own + h - step) % h, inner->own), bytes);
    transfers[1] = mesh_receive(outer, (outer->own + h - 1) % h, block_at(levels, data, bytes, (outer->own + 2 * h - step - 1) % h, inner->own), bytes);
    mesh_exchange(transfers, 2);
  }
  for (int step = 0; step < m - 1; step++) {
    for (int host = 0; host < h; host++) {
      transfers[2 * host] = mesh_send(inner, (inner->own + 1) % m, block_at(levels, data, bytes, host, (inner->own + m - step) % m), bytes);
      transfers[2 * host + 1] =
          mesh_receive(inner, (inner->own + m - 1) % m, block_at(levels, data, bytes, host, (inner->own + 2 * m - step - 1) % m), bytes);
    }
    mesh_exchange(transfers, 2 * (size_t)h);
  }
  free(transfers);
  return true;
}
