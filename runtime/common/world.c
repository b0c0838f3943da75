// The processes of a run: which way they reach each other, and on which hosts they are.
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "launcher.h"
#include "world_way.h"

enum { HOST = 64, NAME = 88 };

static const WorldWay *way; // NULL: this process is alone
static int n_ranks = 1;
static char (*names)[NAME]; // of the ranks
static char (*hosts)[HOST]; // of the ranks
static int *numbers;        // of the ranks' hosts

bool world_has_mpi(void) { return &world_mpi != NULL; }

const char *world_launcher(void) { return world_has_mpi() ? "mpiexec -n " : "torchrun --no_python --nproc_per_node="; }

static const WorldWay *choose(int wanted_ranks) {
  Launch launch;
  if (world_has_mpi() && launcher_is_mpi()) return &world_mpi;
  if (launcher_read(&launch)) return launch.ranks > 1 ? &world_tcp : NULL;
  return world_has_mpi() && wanted_ranks > 1 ? &world_mpi : NULL; // a launcher that we do not know, or none
}

// Names the ranks, and counts those of this host where nobody told how many they are.
static void find_hosts(World *world) {
  char mine[HOST] = "";
  names = calloc((size_t)world->ranks, sizeof *names);
  hosts = calloc((size_t)world->ranks, sizeof *hosts);
  numbers = calloc((size_t)world->ranks, sizeof *numbers);
  if (hosts == NULL || names == NULL || numbers == NULL) fail_alone(FAIL_RUN, "out of memory");
  if (gethostname(mine, sizeof mine - 1) != 0) strcpy(mine, "?");
  world_all_gather(mine, hosts, HOST);
  int n_hosts = 0, before = 0, here = 0;
  for (int r = 0; r < world->ranks; r++) {
    hosts[r][HOST - 1] = '\0';
    int first = 0; // rank there
    while (strcmp(hosts[first], hosts[r]) != 0) first++;
    numbers[r] = first < r ? numbers[first] : n_hosts++;
    here += strcmp(hosts[r], mine) == 0;
    before += strcmp(hosts[r], mine) == 0 && r < world->rank;
  }
  for (int r = 0; r < world->ranks; r++) snprintf(names[r], sizeof names[r], n_hosts > 1 ? "rank %d on %s" : "rank %d", r, hosts[r]);
  if (world->local_rank < 0) world->local_rank = before;
  if (world->local_ranks == 0) world->local_ranks = here;
}

World world_start(int *argc, char ***argv, const char *program, int wanted_ranks) {
  World world = {0, 1, 0, 1};
  const WorldWay *chosen = choose(wanted_ranks);
  if (chosen == NULL) return world;
  way = chosen;
  world = way->start(argc, argv, program);
  n_ranks = world.ranks;
  find_hosts(&world);
  return world;
}

const char *world_name(int rank) {
  static char plain[NAME];
  if (names != NULL) return names[rank];
  snprintf(plain, sizeof plain, "rank %d", rank);
  return plain;
}

int world_host(int rank) { return numbers != NULL ? numbers[rank] : 0; }

int world_hosts(void) {
  int n = 0;
  for (int r = 0; r < n_ranks; r++)
    if (world_host(r) >= n) n = world_host(r) + 1;
  return n;
}

int world_ranks_on(int host) {
  int n = 0;
  for (int r = 0; r < n_ranks; r++) n += world_host(r) == host;
  return n;
}

const char *world_host_name(int host) {
  static char own[HOST];
  int r = 0;
  while (numbers != NULL && numbers[r] != host) r++;
  if (hosts != NULL) return hosts[r];
  return gethostname(own, sizeof own - 1) == 0 ? own : "?";
}

bool world_is_tcp(void) { return way == &world_tcp; }

void world_broadcast(void *data, size_t bytes, int root) {
  if (way != NULL) way->broadcast(data, bytes, root);
}

void world_all_gather(const void *send, void *recv, size_t bytes) {
  if (way != NULL) way->all_gather(send, recv, bytes);
  else if (send != recv) memcpy(recv, send, bytes);
}

double world_most(double value) {
  if (way == NULL) return value;
  double *all = malloc((size_t)n_ranks * sizeof *all);
  if (all == NULL) fail_alone(FAIL_RUN, "out of memory");
  world_all_gather(&value, all, sizeof value);
  for (int r = 0; r < n_ranks; r++) value = all[r] > value ? all[r] : value;
  free(all);
  return value;
}

void world_send(const void *data, size_t bytes, int dst) {
  if (way == NULL) fail_alone(FAIL_INTERNAL, "message to rank %d of a run of one rank", dst);
  way->send(data, bytes, dst);
}

void world_recv(void *data, size_t bytes, int src) {
  if (way == NULL) fail_alone(FAIL_INTERNAL, "message from rank %d of a run of one rank", src);
  way->recv(data, bytes, src);
}

void world_finish(void) {
  if (way != NULL) way->finish();
}

bool world_told(void) { return way != NULL && way->told(); }

_Noreturn void world_abort(int code) {
  if (way != NULL) way->abort(code);
  _exit(code);
}
