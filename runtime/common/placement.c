// Whether the hosts that the ranks were started on are the nodes of the machine that the program was written for. A program runs on any; but
// what it was predicted to take, and that its plan is a good one, hold where they are. What differs rank 0 tells, once.
#include <stdio.h>
#include <stdlib.h>

#include "run.h"

enum { SHOWN = 6 }; // hosts in a message

// "4 ranks on host1, 4 on host2"
static void print_hosts(int hosts) {
  for (int h = 0; h < hosts && h < SHOWN; h++)
    fprintf(stderr, "%s%d%s on %s", h > 0 ? ", " : "", world_ranks_on(h), h > 0 ? "" : world_ranks_on(h) == 1 ? " rank" : " ranks", world_host_name(h));
  if (hosts > SHOWN) fprintf(stderr, " and so on");
}

// The first rank that is not on the host of the first rank of its node; the number of ranks: all are.
static int first_elsewhere(int on_node) {
  int r = 0;
  while (r < parcc.ranks && world_host(r) == world_host(r / on_node * on_node)) r++;
  return r;
}

static void tell_nodes(const char *machine, int on_node) {
  const int hosts = world_hosts(), nodes = parcc.ranks / on_node, elsewhere = first_elsewhere(on_node);
  if (hosts == nodes && elsewhere == parcc.ranks) return;
  fprintf(stderr, "%s: written for %d node%s of %s, %d rank%s on each, but there are ", run.model->name, nodes, nodes == 1 ? "" : "s", machine, on_node,
          on_node == 1 ? "" : "s");
  print_hosts(hosts);
  if (elsewhere < parcc.ranks) {
    const int first = elsewhere / on_node * on_node;
    fprintf(stderr, "; ranks %d and %d, planned for one node, are on %s and %s", first, elsewhere, world_host_name(world_host(first)),
            world_host_name(world_host(elsewhere)));
    if (hosts == nodes && world_ranks_on(0) == on_node) fprintf(stderr, ": start the ranks host by host (mpiexec --map-by slot)");
  }
  fprintf(stderr, "\n");
}

// The first rank that has less than the program needs.
static void tell_memory(double need, const double *has) {
  int r = 0;
  while (r < parcc.ranks && has[r] >= need) r++;
  if (r < parcc.ranks)
    fprintf(stderr, "%s: each rank needs %.1f MB of device memory, but %s may use %.1f MB\n", run.model->name, need * 1e-6, world_name(r), has[r] * 1e-6);
}

void parcc_machine(const char *machine, int on_node, long long memory) {
  const double mine = device_memory();
  double *has = calloc((size_t)parcc.ranks, sizeof *has);
  if (has == NULL) fail_alone(FAIL_RUN, "out of memory");
  world_all_gather(&mine, has, sizeof mine);
  if (parcc.rank == 0 && !run.options.quiet) {
    tell_nodes(machine, on_node);
    tell_memory((double)memory, has);
  }
  free(has);
}
