// Kernel loops, reductions and launches compute what plain loops do; the vectorised functions are accurate.
#include "test.h"

#define COUNT 1000

// Kernels that apply a function, in a loop that vectorises, in double and in float.
#define SWEEP(name)                                                                                                    \
  __global__ void k_##name(double *__restrict__ y, const double *__restrict__ x, long n) {                             \
    FLAT(i, n) y[i] = name(x[i]);                                                                                      \
  }                                                                                                                    \
  __global__ void k_##name##f(float *__restrict__ y, const float *__restrict__ x, long n) {                            \
    FLAT(i, n) y[i] = name##f(x[i]);                                                                                   \
  }
SWEEP(exp)
SWEEP(log)
SWEEP(tanh)
SWEEP(sin)
SWEEP(cos)
SWEEP(erf)
SWEEP(sqrt)

__global__ void k_loops(long *__restrict__ seen, long a, long b, long c, long d) {
  GRID4(i, a, j, b, k, c, l, d) BLOCK(one, 1) seen[((i * b + j) * c + k) * d + l] += one + 1;
  GRID3(i, a, j, b, k, c) BLOCK(l, d) seen[((i * b + j) * c + k) * d + l] += 1;
  GRID2(i, a, j, b) BLOCK2(k, c, l, d) seen[((i * b + j) * c + k) * d + l] += 1;
  GRID(i, a) BLOCK3(j, b, k, c, l, d) seen[((i * b + j) * c + k) * d + l] += 1;
  GRID(one, 1) BLOCK4(i, a, j, b, k, c, l, d) seen[((i * b + j) * c + k) * d + l] += one + 1;
  FLAT(i, a * b * c * d) seen[i] += 1;
}

__global__ void k_columns(double *__restrict__ sum, const double *__restrict__ x, long cols, long rows) {
  GRID_LANES(c0, lanes, cols) {
    double acc[LANES];
    LANE(l, lanes) acc[l] = 0;
    for (long r = 0; r < rows; r++) LANE(l, lanes) acc[l] += x[r * cols + c0 + l];
    LANE(l, lanes) sum[c0 + l] = acc[l];
  }
}

__global__ void k_softmax(float *__restrict__ y, const float *__restrict__ x, long rows, long cols) {
  GRID(r, rows) {
    float top = -INFINITY;
    BLOCK_MAX_OF(top, c, cols, x[r * cols + c]);
    top = BLOCK_MAX(top);
    float sum = 0;
    BLOCK(c, cols) sum += expf(x[r * cols + c] - top);
    sum = BLOCK_SUM(sum);
    BLOCK(c, cols) y[r * cols + c] = expf(x[r * cols + c] - top) / sum;
    BLOCK_SYNC();
  }
}

__global__ void k_extremes(double *__restrict__ out, const double *__restrict__ x, long count) {
  GRID(r, 1) {
    double most = -INFINITY, least = INFINITY, product = 1, best = -INFINITY;
    long at = 0;
    BLOCK_MAX_OF(most, i, count, x[i]);
    BLOCK_MIN_OF(least, i, count, x[i]);
    BLOCK(i, count) product *= 1 + x[i] * 1e-3;
    BLOCK(i, count) {
      if (x[i] > best) {
        best = x[i];
        at = i;
      }
    }
    BLOCK_ARGMAX(best, at);
    most = BLOCK_MAX(most);
    least = BLOCK_MIN(least);
    product = BLOCK_PROD(product);
    BLOCK(one, 1) {
      out[4 * r] = most;
      out[1] = least;
      out[2] = product;
      out[3] = (double)(at + one);
    }
  }
}

static double *reals;
static float *floats;

#define CHECK_SWEEP(name, lo, hi)                                                                                      \
  do {                                                                                                                 \
    for (long i = 0; i < COUNT; i++) {                                                                                 \
      reals[i] = (lo) + ((hi) - (lo)) * (double)i / COUNT;                                                             \
      floats[i] = (float)reals[i];                                                                                     \
    }                                                                                                                  \
    LAUNCH_FLAT(k_##name, COUNT, reals + COUNT, reals, COUNT);                                                         \
    LAUNCH_FLAT(k_##name##f, COUNT, floats + COUNT, floats, COUNT);                                                    \
    CHECK_CUDA(cudaDeviceSynchronize());                                                                               \
    for (long i = 0; i < COUNT; i++) {                                                                                 \
      const double right = name(reals[i]), of_float = name((double)floats[i]);                                         \
      EXPECT(fabs(reals[COUNT + i] - right) <= 5 * 1.2e-16 * fmax(fabs(right), 1e-2));                                 \
      EXPECT(fabs((double)floats[COUNT + i] - of_float) <= 5 * 6e-8 * fmax(fabs(of_float), 1e-2));                     \
    }                                                                                                                  \
  } while (0)

static void check_loops(void) {
  enum { A = 2, B = 3, C = 5, D = 7 };
  static long seen[A * B * C * D];
  memset(seen, 0, sizeof seen);
  LAUNCH_ROWS(k_loops, 1, seen, A, B, C, D);
  for (long i = 0; i < A * B * C * D; i++) EXPECT(seen[i] == 6);
  LAUNCH_ROWS(k_loops, 0, NULL, 1, 1, 1, 1); // no work: no launch
}

static void check_columns(long rows, long cols) {
  static double x[70 * 200], sum[200];
  for (long i = 0; i < rows * cols; i++) x[i] = (double)(i % 17) - 3;
  LAUNCH_LANES(k_columns, cols, sum, x, cols, rows);
  for (long c = 0; c < cols; c++) {
    double right = 0;
    for (long r = 0; r < rows; r++) right += x[r * cols + c];
    EXPECT(sum[c] == right);
  }
}

static void check_softmax(void) {
  enum { N = 37 };
  static float x[N], y[N];
  for (int special = 0; special < 4; special++) {
    for (int i = 0; i < N; i++) x[i] = sinf((float)i);
    if (special == 1) x[20] = NAN;
    if (special == 2) x[20] = -NAN;
    if (special == 3) x[20] = INFINITY;
    LAUNCH_ROWS(k_softmax, 1, y, x, 1, N);
    double sum = 0;
    for (int i = 0; i < N; i++) sum += (double)y[i];
    EXPECT(special == 0 ? fabs(sum - 1) < 1e-6 : isnan(sum));
  }
}

static void check_extremes(void) {
  enum { N = 101 };
  static double x[N], out[4];
  double product = 1;
  for (int i = 0; i < N; i++) x[i] = i == 17 || i == 50 ? 9. : i == 60 ? -7.25 : cos(i);
  for (int i = 0; i < N; i++) product *= 1 + x[i] * 1e-3;
  LAUNCH_ROWS(k_extremes, 1, out, x, N);
  EXPECT(out[0] == 9.);
  EXPECT(out[1] == -7.25);
  EXPECT(fabs(out[2] - product) < 1e-13);
  EXPECT(out[3] == 17.);
}

static void check_sweeps(void) {
  CHECK_SWEEP(exp, -20, 20);
  CHECK_SWEEP(log, 0.001, 50);
  CHECK_SWEEP(tanh, -9, 9);
  CHECK_SWEEP(sin, -9, 9);
  CHECK_SWEEP(cos, -9, 9);
  CHECK_SWEEP(erf, -3, 3);
  CHECK_SWEEP(sqrt, 0, 9);
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &test_model);
  char *arena = parcc_arena(2 * COUNT * (sizeof *reals + sizeof *floats));
  reals = (double *)arena;
  floats = (float *)(arena + 2 * COUNT * sizeof *reals);
  check_loops();
  check_columns(70, 200);
  check_columns(3, 1);
  check_columns(1, 65);
  check_softmax();
  check_extremes();
  check_sweeps();
  for (long extent = 0; extent < 9; extent++)
    for (long parts = 1; parts < 5; parts++)
      for (long i = 0, at = 0; i < parts; i++) {
        const Interval block = parcc_block(extent, parts, i);
        EXPECT(block.lo == at && block.len >= extent / parts && block.len <= extent / parts + 1);
        at += block.len;
        EXPECT(i + 1 < parts || at == extent);
      }
  FINISH();
}
