// Measures the cores of this machine as devices, on as many ranks as it is started with, all busy at once, and prints a
// machine file: rates of matrix products, memory, the least time of a call, and the exchange between neighbours in a ring.
#include <cblas.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
  PRODUCT = 768,         // rows and columns of the matrices
  STREAM = 8 << 20,      // doubles in each of two arrays, larger than caches
  MESSAGE = 8 << 20,     // bytes
  FEW = 8, MANY = 20000, // repetitions of what takes long and of what does not
};

static int rank, ranks;

static void *allocate(size_t size) {
  void *at = malloc(size);
  if (at == NULL) {
    fprintf(stderr, "measure_host: no memory for %zu bytes\n", size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (size_t i = 0; i < size / sizeof(double); i++) ((double *)at)[i] = 0;
  return at;
}

// The best of FEW seconds that the slowest rank took.
#define SECONDS(best, statement)                                                                                        \
  do {                                                                                                                 \
    (best) = 1e30;                                                                                                     \
    for (int repetition = 0; repetition < FEW; repetition++) {                                                         \
      MPI_Barrier(MPI_COMM_WORLD);                                                                                     \
      const double start = MPI_Wtime();                                                                                \
      statement;                                                                                                       \
      double elapsed = MPI_Wtime() - start;                                                                            \
      MPI_Allreduce(MPI_IN_PLACE, &elapsed, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);                                   \
      if (elapsed < (best)) (best) = elapsed;                                                                          \
    }                                                                                                                  \
  } while (0)

static double operations_f32(void) {
  const int n = PRODUCT;
  const size_t size = sizeof(float) * PRODUCT * PRODUCT;
  float *a = allocate(size), *b = allocate(size), *c = allocate(size);
  double seconds;
  SECONDS(seconds, cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n));
  free(a), free(b), free(c);
  return 2.0 * n * n * n / seconds;
}

static double operations_f64(void) {
  const int n = PRODUCT;
  const size_t size = sizeof(double) * PRODUCT * PRODUCT;
  double *a = allocate(size), *b = allocate(size), *c = allocate(size);
  double seconds;
  SECONDS(seconds, cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n));
  free(a), free(b), free(c);
  return 2.0 * n * n * n / seconds;
}

static void add(double *restrict y, const double *restrict x) {
  for (size_t i = 0; i < STREAM; i++) y[i] += x[i];
}

// Bytes read and written.
static double memory_bandwidth(void) {
  double *x = allocate(sizeof(double) * STREAM), *y = allocate(sizeof(double) * STREAM);
  double seconds;
  SECONDS(seconds, add(y, x));
  if (y[STREAM - 1] != 0) abort(); // the sums are used
  free(x), free(y);
  return 3.0 * sizeof(double) * STREAM / seconds;
}

static void call_many(double *x) {
  for (int i = 0; i < MANY; i++) cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 1, x, 1, x + 1, 1, 0, x + 2, 1);
}

// Of the smallest call of the library.
static double least_time(void) {
  double x[3] = {0}, seconds;
  SECONDS(seconds, call_many(x));
  return seconds / MANY;
}

static void exchange(char *out, char *in, int bytes, int times) {
  for (int i = 0; i < times; i++)
    MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + 1) % ranks, 0, in, bytes, MPI_CHAR, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void print_level(void) {
  char *out = allocate(MESSAGE), *in = allocate(MESSAGE);
  double large, small;
  SECONDS(large, exchange(out, in, MESSAGE, 1));
  SECONDS(small, exchange(out, in, 8, 1000));
  free(out), free(in);
  if (rank > 0) return;
  printf("  level host = %d core {\n    link = memory;\n", ranks);
  printf("    bandwidth = %.0f MB/s;  # measured: %d bytes, each way, every core to the next\n", MESSAGE / large / 1e6, MESSAGE);
  printf("    latency = %.4g us;  # measured: 8 bytes\n  }\n", small / 1000 * 1e6);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double f32 = operations_f32(), f64 = operations_f64(), bandwidth = memory_bandwidth(), least = least_time();
  const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / ranks;
  if (rank == 0) {
    printf("# The cores of this machine, measured by scripts/measure-host.sh, all busy at once\n");
    printf("machine host {\n  device core {\n");
    printf("    f32 = %.4g GFLOP/s;  # measured: products of %d rows and columns\n", f32 / 1e9, PRODUCT);
    printf("    f64 = %.4g GFLOP/s;  # measured\n", f64 / 1e9);
    printf("    memory = %.0f MB;  # all of it, by the number of cores\n", memory / 1e6);
    printf("    bandwidth = %.0f MB/s;  # measured: sums of two arrays\n", bandwidth / 1e6);
    printf("    launch = %.4g ns;  # measured: the smallest product\n  }\n", least * 1e9);
  }
  if (ranks > 1) print_level();
  if (rank == 0) printf("}\n");
  MPI_Finalize();
  return 0;
}
