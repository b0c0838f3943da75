// What the readers deliver. Input x: 12 reals a sample, id: an integer in [0, 1000). SPLIT: the dimension of x that is
// divided over the ranks. IDX, GZ: the files are such, else .npy. The loss of a step is a sum over the batch of x, each element with its own weight, and 1000 id.
#include "test.h"

#ifndef SPLIT
#define SPLIT 0
#endif
#if defined(GZ)
#define KIND "idx"
#define EXT ".idx.gz"
#elif defined(IDX)
#define KIND "idx"
#define EXT ".idx"
#else
#define KIND "npy"
#define EXT ".npy"
#endif
enum { BATCH = 4, A = 3, B = 1, C = 4 };

static const ParccInput inputs[] = {
    {"x", PARCC_DOUBLE, 4, {BATCH, A, B, C}, 0, {KIND, "x" EXT, "x_test" EXT, 0.5, 1., NULL, NULL}},
    {"id", PARCC_INT, 1, {BATCH}, 1000, {KIND, "id" EXT, "id_test" EXT, 1., 0., NULL, NULL}},
};
static const char *const scalars[] = {"loss", "ids"};
static const ParccModel model = {.name = "reader",
                                 .source = "reader.dnn",
                                 .ranks = RANKS,
                                 .batch = BATCH,
                                 .real = PARCC_DOUBLE,
                                 .inputs = inputs,
                                 .n_inputs = 2,
                                 .scalars = scalars,
                                 .n_scalars = 2,
                                 .steps = 0,
                                 .epochs = 1,
                                 .learning_rate = test_rate,
                                 .whole_batches = NULL,
                                 .sampled = -1,
                                 .measures = false};

static Interval n, a, c;
static double *x, *sums;
static int *id;

__global__ void k_sum(double *__restrict__ s, const double *__restrict__ x, const int *__restrict__ id, Interval n,
                      Interval a, Interval c, double share) {
  GRID(r, 1) {
    double sum = 0, ids = 0;
    BLOCK3(i, n.len, j, a.len, k, c.len)
      sum += x[(i * a.len + j) * c.len + k] * (double)(1 + (a.lo + j) * C + c.lo + k);
    BLOCK(i, n.len) ids += id[i] * share;
    sum = BLOCK_SUM(sum);
    ids = BLOCK_SUM(ids);
    s[2 * r] = sum + 1000 * ids;
    s[1] = ids;
  }
}

static void load_and_sum(ncclComm_t all) {
  LOAD_BATCH(0, x, n, a, {0, B}, c);
  LOAD_BATCH(1, id, n);
  LAUNCH_ROWS(k_sum, 1, sums, x, id, n, a, c, SPLIT == 0 ? 1. : 1. / RANKS);
  CHECK_NCCL(ncclAllReduce(sums, sums, 2, ncclDouble, ncclSum, all, parcc.compute));
}

static void divide(long rows) {
  n.lo = a.lo = c.lo = 0;
  n.len = rows;
  a.len = A;
  c.len = C;
  if (SPLIT == 0) n = parcc_block(rows, RANKS, parcc.rank);
  if (SPLIT == 1) a = parcc_block(A, RANKS, parcc.rank);
  if (SPLIT == 3) c = parcc_block(C, RANKS, parcc.rank);
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &model);
  const ncclComm_t all = parcc_axis(1, RANKS);
  x = (double *)parcc_arena(BATCH * (A * B * C * 8 + 4) + 16);
  sums = x + BATCH * A * B * C;
  id = (int *)(sums + 2);
  divide(BATCH);
  while (parcc_next_step()) {
    load_and_sum(all);
    END_STEP(NULL, sums, sums + 1);
  }
  for (long count; (count = parcc_next_eval()) > 0;) {
    divide(count);
    load_and_sum(all);
    END_EVAL(count, sums, sums + 1);
  }
  FINISH();
}
