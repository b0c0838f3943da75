// Tensors divided over the ranks, saved and loaded. SPLIT: the dimension of a that is divided; b is divided by rows and the
// scalar s is on every rank. Filled by global index, so that every division saves the same file. -DMOVING: every step
// changes them, in a millisecond or more, by what step it is.
#include "test.h"

#include <unistd.h>

#ifndef SPLIT
#define SPLIT 0
#endif
#ifdef LONG_ROWS // longer than a piece of a file, so that a piece is a part of a row
enum { A0 = 2, A1 = 1, A2 = 4500001, B0 = 2 };
#elif defined(LARGE) // a piece is some of the rows of one index of the first dimension
enum { A0 = 2, A1 = 9001, A2 = 503, B0 = 2 };
#else
enum { A0 = 5, A1 = 3, A2 = 7, B0 = 2 };
#endif

static Interval block[3], rows;
static float *a, *loss;
static double *b;
static int *s;

__global__ void k_fill(float *__restrict__ a, Interval i0, Interval i1, Interval i2, unsigned long long seed) {
  GRID3(i, i0.len, j, i1.len, k, i2.len) BLOCK(one, 1)
    a[(i * i1.len + j) * i2.len + k] = parcc_normalf(
        seed, 0, 0, (unsigned long long)(((i0.lo + i) * A1 + i1.lo + j) * A2 + i2.lo + k + one));
}

__global__ void k_fill_rest(double *__restrict__ b, Interval rows, int *__restrict__ s, unsigned long long seed) {
  GRID(one, 1) {
    BLOCK(i, rows.len) b[i] = parcc_normal(seed, 1, 0, (unsigned long long)(rows.lo + i));
    BLOCK(i, 1) s[i] = (int)(seed % 1000000 + (unsigned long long)one);
  }
}

#ifdef MOVING
__global__ void k_move(float *__restrict__ a, long na, double *__restrict__ b, long nb, int *__restrict__ s, double rate,
                       long step) {
  GRID(one, 1) {
    BLOCK(i, na) a[i] = a[i] * 0.99f + (float)rate * (float)(step % 7);
    BLOCK(i, nb) b[i] = b[i] * 0.99 + rate;
    BLOCK(i, 1) s[i] += (int)(step + one);
  }
}
#endif

// By the step alone: however many steps a run is to have, the first of them are the same.
static double rate_of(double step, double steps) { return steps < 0 ? 0 : 1 / (1 + step); }

static const char *const scalars[] = {"loss"};
static const ParccModel model = {.name = "stored",
                                 .source = "stored.dnn",
                                 .ranks = RANKS,
                                 .batch = 1,
                                 .real = PARCC_FLOAT,
                                 .inputs = NULL,
                                 .n_inputs = 0,
                                 .scalars = scalars,
                                 .n_scalars = 1,
                                 .steps = 4,
                                 .epochs = 0,
                                 .learning_rate = rate_of,
                                 .whole_batches = NULL,
                                 .sampled = -1,
                                 .measures = false};

int main(int argc, char **argv) {
  parcc_start(argc, argv, &model);
  char *arena = parcc_arena(4096 + sizeof(float) * A0 * A1 * A2);
  b = (double *)arena;
  s = (int *)(arena + 1024);
  loss = (float *)(arena + 2048);
  a = (float *)(arena + 4096);
  block[0].len = A0;
  block[1].len = A1;
  block[2].len = A2;
  block[SPLIT] = parcc_block(SPLIT == 0 ? A0 : SPLIT == 1 ? A1 : A2, RANKS, parcc.rank);
  rows = parcc_block(B0, RANKS, parcc.rank); // empty on some ranks
  const ParccTensor stored[] = {
      {"a", PARCC_FLOAT, 3, {A0, A1, A2}, {block[0], block[1], block[2]}, a, PARCC_PARAM},
      {"b", PARCC_DOUBLE, 1, {B0}, {rows}, b, PARCC_STATE},
      {"s", PARCC_INT, 0, {0}, {{0, 0}}, s, PARCC_STATE},
  };
  parcc_stored(stored, 3);
  LAUNCH_ROWS(k_fill, 1, a, block[0], block[1], block[2], parcc.seed);
  LAUNCH_ROWS(k_fill_rest, 1, b, rows, s, parcc.seed);
  parcc_load();
  CHECK_CUDA(cudaMemsetAsync(loss, 0, sizeof *loss, parcc.compute));
  while (parcc_next_step()) {
#ifdef MOVING
    LAUNCH_ROWS(k_move, 1, a, block[0].len * block[1].len * block[2].len, b, rows.len, s, parcc.lr, parcc.step);
    usleep(500);
#endif
    END_STEP(NULL, loss);
  }
  FINISH();
}
