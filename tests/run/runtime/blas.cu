// The BLAS subset against plain loops: all transpositions, degenerate sizes, NaN under beta 0, batches, errors.
#include "test.h"

static unsigned long long drawn;

#define TEST_TYPE(real, suffix, tolerance)                                                                             \
  static void fill_##suffix(real *x, long n) {                                                                         \
    for (long i = 0; i < n; i++) x[i] = (real)parcc_uniform(1, 0, 0, drawn++) - (real)0.5;                             \
  }                                                                                                                    \
  static void check_gemm_##suffix(int m, int n, int k, int ta, int tb, real alpha, real beta) {                        \
    enum { SIZE = 40 * 40 };                                                                                           \
    static real a[2 * SIZE], b[2 * SIZE], c[2 * SIZE], before[2 * SIZE];                                               \
    const int lda = (ta ? k : m) + 2, ldb = (tb ? n : k) + 1, ldc = m + 3;                                             \
    fill_##suffix(a, 2 * SIZE);                                                                                        \
    fill_##suffix(b, 2 * SIZE);                                                                                        \
    fill_##suffix(c, 2 * SIZE);                                                                                        \
    for (long i = 0; beta == 0 && i < 2 * SIZE; i++) c[i] = NAN;                                                       \
    memcpy(before, c, sizeof c);                                                                                       \
    CHECK_CUBLAS(cublas##suffix##gemmStridedBatched(                                                                   \
        parcc.cublas, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, k, &alpha, a, lda, SIZE,   \
        b, ldb, SIZE, &beta, c, ldc, SIZE, 2));                                                                        \
    CHECK_CUDA(cudaDeviceSynchronize());                                                                               \
    for (long t = 0; t < 2; t++)                                                                                       \
      for (long j = 0; j < n; j++)                                                                                     \
        for (long i = 0; i < m; i++) {                                                                                 \
          double sum = 0;                                                                                              \
          for (long l = 0; l < k; l++)                                                                                 \
            sum += (double)a[t * SIZE + (ta ? i * lda + l : l * lda + i)] *                                            \
                   (double)b[t * SIZE + (tb ? l * ldb + j : j * ldb + l)];                                             \
          const double old = beta == 0 ? 0 : (double)beta * (double)before[t * SIZE + j * ldc + i];                    \
          EXPECT(fabs((double)c[t * SIZE + j * ldc + i] - (double)alpha * sum - old) < tolerance);                     \
        }                                                                                                              \
  }                                                                                                                    \
  static void check_gemv_##suffix(int m, int n, int t, int incx, int incy, real beta) {                                \
    enum { SIZE = 40 * 40 };                                                                                           \
    static real a[SIZE], x[SIZE], y[SIZE], before[SIZE];                                                               \
    const real alpha = 2;                                                                                              \
    const int lda = m + 1;                                                                                             \
    fill_##suffix(a, SIZE);                                                                                            \
    fill_##suffix(x, SIZE);                                                                                            \
    fill_##suffix(y, SIZE);                                                                                            \
    for (long i = 0; beta == 0 && i < SIZE; i++) y[i] = NAN;                                                           \
    memcpy(before, y, sizeof y);                                                                                       \
    CHECK_CUBLAS(cublas##suffix##gemv(parcc.cublas, t ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, &alpha, a, lda, x, incx,      \
                                      &beta, y, incy));                                                                \
    CHECK_CUDA(cudaDeviceSynchronize());                                                                               \
    for (long i = 0; i < (t ? n : m); i++) {                                                                           \
      double sum = 0;                                                                                                  \
      for (long j = 0; j < (t ? m : n); j++) sum += (double)a[t ? i * lda + j : j * lda + i] * (double)x[j * incx];    \
      const double old = beta == 0 ? 0 : (double)beta * (double)before[i * incy];                                      \
      EXPECT(fabs((double)y[i * incy] - 2 * sum - old) < tolerance);                                                   \
    }                                                                                                                  \
  }                                                                                                                    \
  static void check_##suffix(void) {                                                                                   \
    static const int sizes[] = {0, 1, 2, 17, 33};                                                                      \
    for (int i = 0; i < 5 * 5 * 5; i++)                                                                                \
      for (int way = 0; way < 8; way++)                                                                                \
        check_gemm_##suffix(sizes[i / 25], sizes[i / 5 % 5], sizes[i % 5], way & 1, way >> 1 & 1, (real)1.5,           \
                            way & 4 ? (real)0.5 : (real)0);                                                            \
    check_gemm_##suffix(3, 4, 5, 0, 0, 0, 0);                                                                          \
    for (int way = 0; way < 16; way++)                                                                                 \
      check_gemv_##suffix(7, 12, way & 1, way & 2 ? 3 : 1, way & 4 ? 2 : 1, way & 8 ? (real)0.5 : (real)0);            \
  }

TEST_TYPE(float, S, 2e-5)
TEST_TYPE(double, D, 1e-13)

int main(int argc, char **argv) {
  parcc_start(argc, argv, &test_model);
  check_S();
  check_D();
  const float one = 1, x = 1;
  float y = 0;
  EXPECT(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 1, 1, &one, &x, 3, &x, 1, &one, &y, 4) ==
         CUBLAS_STATUS_INVALID_VALUE);
  EXPECT(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, -1, &one, &x, 1, &x, 1, &one, &y, 1) ==
         CUBLAS_STATUS_INVALID_VALUE);
  FINISH();
}
