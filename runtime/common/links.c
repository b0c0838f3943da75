#include "links.h"

#include <stdio.h>

#include "profile.h"
#include "report.h"
#include "run.h"

enum { SMALLEST = 1 << 10, LARGEST = 1 << 25, FACTOR = 2, ROW = 1 << 10, OTHER = 1 << 23 }; // bytes
enum { REPEATS = 13, LARGE = 1 << 22, REPEATS_OF_LARGE = 5 }; // from so many bytes on a call takes long

typedef struct {
  ncclComm_t over;
  int part, stride, place; // ranks of the set, how far from each other, which of them this one is
  char *from, *to, *other;
  size_t count; // reals of the tensor as all of the set hold it together
} Group;

// ---- collectives, as programs call them ----------------------------------------------------------------------------

static void all_reduce(const Group *g) { CHECK_NCCL(ncclAllReduce(g->from, g->from, g->count, ncclFloat, ncclSum, g->over, parcc.comm)); }

static void reduce_scatter(const Group *g) {
  CHECK_NCCL(ncclReduceScatter(g->from, g->to, g->count / (size_t)g->part, ncclFloat, ncclSum, g->over, parcc.comm));
}

static void reduce(const Group *g) { CHECK_NCCL(ncclReduce(g->from, g->to, g->count, ncclFloat, ncclSum, 0, g->over, parcc.comm)); }

static void all_gather(const Group *g) { CHECK_NCCL(ncclAllGather(g->from, g->to, g->count / (size_t)g->part, ncclFloat, g->over, parcc.comm)); }

static void broadcast(const Group *g) { CHECK_NCCL(ncclBroadcast(g->from, g->to, g->count, ncclFloat, 0, g->over, parcc.comm)); }

// Each rank has a part, of which every rank gets a part.
static void all_to_all(const Group *g) {
  const size_t count = g->count / (size_t)g->part / (size_t)g->part;
  CHECK_NCCL(ncclGroupStart());
  for (int q = 0; q < g->part; q++) {
    if (q == g->place) continue;
    CHECK_NCCL(ncclSend(g->from + (size_t)q * count * sizeof(float), count, ncclFloat, q, g->over, parcc.comm));
    CHECK_NCCL(ncclRecv(g->to + (size_t)q * count * sizeof(float), count, ncclFloat, q, g->over, parcc.comm));
  }
  CHECK_NCCL(ncclGroupEnd());
}

// Each rank copies its part of every row, which is also how blocks are packed that do not lie in one run.
static void slice(const Group *g) {
  const size_t bytes = g->count * sizeof(float) / (size_t)g->part, row = bytes < ROW ? bytes : ROW;
  CHECK_CUDA(cudaMemcpy2DAsync(g->to, row, g->from, (size_t)g->part * row, row, bytes / row, cudaMemcpyDeviceToDevice, parcc.comm));
}

static void move(const Group *g) {
  if (g->place > 1) return;
  CHECK_NCCL(ncclGroupStart());
  if (g->place == 0) CHECK_NCCL(ncclSend(g->from, g->count, ncclFloat, 1, g->over, parcc.comm));
  else CHECK_NCCL(ncclRecv(g->to, g->count, ncclFloat, 0, g->over, parcc.comm));
  CHECK_NCCL(ncclGroupEnd());
}

// By the names that the compiler has for changes of layout.
static const struct {
  const char *name;
  void (*issue)(const Group *group);
} collectives[] = {
    {"all_reduce", all_reduce}, {"reduce_scatter", reduce_scatter}, {"reduce", reduce}, {"all_gather", all_gather},
    {"broadcast", broadcast},   {"all_to_all", all_to_all},         {"move", move},     {"slice", slice},
};

// ---- times ---------------------------------------------------------------------------------------------------------

// As in a program: what is sent has just been written, so that it is in the caches of the rank that made it, and what is received
// takes a place that was used before other memory was.
static void prepare(const Group *g) {
  CHECK_CUDA(cudaMemsetAsync(g->other, 0, OTHER, parcc.comm));
  CHECK_CUDA(cudaMemsetAsync(g->from, 0, g->count * sizeof(float), parcc.comm));
  CHECK_CUDA(cudaStreamSynchronize(parcc.comm));
}

// All ranks begin when the last one has told its time of the call before.
static Measured time_collective(const Group *g, void (*issue)(const Group *group)) {
  double seconds[REPEATS];
  const int n = g->count * sizeof(float) < LARGE ? REPEATS : REPEATS_OF_LARGE;
  for (int i = -1; i < n; i++) { // the first does not count
    prepare(g);
    world_most(0);
    const double before = clock_seconds();
    issue(g);
    CHECK_CUDA(cudaStreamSynchronize(parcc.comm));
    const double time = world_most(clock_seconds() - before);
    if (i >= 0) seconds[i] = time;
  }
  return profile_measured(seconds, n);
}

// done: of so many groups before.
static void measure_group(Group *g, int done, int all) {
  const int n = sizeof collectives / sizeof *collectives;
  for (int c = 0; c < n; c++)
    for (size_t bytes = SMALLEST; bytes <= LARGEST; bytes *= FACTOR) {
      char what[96];
      g->count = bytes / sizeof(float);
      if (parcc.rank == 0) progress_measured("collective", n * done + c + 1, n * all);
      const Measured time = time_collective(g, collectives[c].issue);
      snprintf(what, sizeof what, "%s [%d of %d by %d] %zu bytes", collectives[c].name, g->part, parcc.ranks, g->stride, bytes);
      if (parcc.rank != 0) continue;
      progress_end();
      profile_line(time.mean, profile_spread(time), what);
    }
}

// The next group of so many ranks, so far from each other; at first both are 0. False: there is none.
static bool next_group(Group *g) {
  do {
    if (g->part == 0 || ++g->stride * g->part > parcc.ranks) {
      g->part = g->part == 0 ? 2 : g->part + 1;
      g->stride = 1;
    }
    if (g->part > parcc.ranks) return false;
  } while (parcc.ranks % (g->part * g->stride) != 0);
  return true;
}

void links_measure(void) {
  int done = 0, all = 0;
  if (parcc.ranks == 1) return;
  for (Group g = {.over = NULL}; next_group(&g);) all++;
  Group g = {.over = NULL};
  void *from, *to, *other;
  CHECK_CUDA(cudaMalloc(&from, LARGEST));
  CHECK_CUDA(cudaMalloc(&to, LARGEST));
  CHECK_CUDA(cudaMalloc(&other, OTHER));
  g.from = from;
  g.to = to;
  g.other = other;
  while (next_group(&g)) {
    AT("links", NULL);
    g.over = parcc_axis(g.stride, g.part);
    g.place = parcc.rank / g.stride % g.part;
    measure_group(&g, done++, all);
  }
  CHECK_CUDA(cudaFree(from));
  CHECK_CUDA(cudaFree(to));
  CHECK_CUDA(cudaFree(other));
}
