// Included by cublas.c for each element type: REAL and the names GEMV, GEMM, GEMM_BATCHED, BLAS, LOCAL.

// c = beta * c for a column-major matrix. beta 0 overwrites, whatever was there.
static void LOCAL(scale)(int m, int n, REAL beta, REAL *c, int ldc) {
  for (long j = 0; j < n; j++)
    for (long i = 0; i < m; i++) c[j * ldc + i] = beta == 0 ? 0 : beta * c[j * ldc + i];
}

// y = alpha * op(a) * x + beta * y, a of m by n before transposition.
static void LOCAL(multiply_vector)(cublasOperation_t trans, int m, int n, REAL alpha, const REAL *a, int lda,
                                   const REAL *x, int incx, REAL beta, REAL *y, int incy) {
  const int length = trans == CUBLAS_OP_N ? m : n;
  if (beta == 0) // BLAS libraries differ in whether 0 * NaN is 0 here
    for (long i = 0; i < length; i++) y[incy > 0 ? i * incy : (i - length + 1) * incy] = 0;
  BLAS(gemv)(CblasColMajor, transpose(trans), m, n, alpha, a, lda, x, incx, beta == 0 ? 1 : beta, y, incy);
}

// The product of a matrix and a vector goes to gemv, which is faster than gemm.
static void LOCAL(multiply)(cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, REAL alpha,
                            const REAL *a, int lda, const REAL *b, int ldb, REAL beta, REAL *c, int ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0 || alpha == 0) LOCAL(scale)(m, n, beta, c, ldc);
  else if (n == 1 && transa == CUBLAS_OP_N)
    LOCAL(multiply_vector)(CUBLAS_OP_N, m, k, alpha, a, lda, b, transb == CUBLAS_OP_N ? 1 : ldb, beta, c, 1);
  else if (n == 1)
    LOCAL(multiply_vector)(CUBLAS_OP_T, k, m, alpha, a, lda, b, transb == CUBLAS_OP_N ? 1 : ldb, beta, c, 1);
  else if (m == 1 && transb == CUBLAS_OP_N)
    LOCAL(multiply_vector)(CUBLAS_OP_T, k, n, alpha, b, ldb, a, transa == CUBLAS_OP_N ? lda : 1, beta, c, ldc);
  else if (m == 1)
    LOCAL(multiply_vector)(CUBLAS_OP_N, n, k, alpha, b, ldb, a, transa == CUBLAS_OP_N ? lda : 1, beta, c, ldc);
  else BLAS(gemm)(CblasColMajor, transpose(transa), transpose(transb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

cublasStatus_t GEMV(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const REAL *alpha, const REAL *a,
                    int lda, const REAL *x, int incx, const REAL *beta, REAL *y, int incy) {
  if (handle == NULL) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!is_operation(trans) || m < 0 || n < 0 || !fits(m, lda) || incx == 0 || incy == 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (m > 0 && n > 0) LOCAL(multiply_vector)(trans, m, n, *alpha, a, lda, x, incx, *beta, y, incy);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t GEMM_BATCHED(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                            int k, const REAL *alpha, const REAL *a, int lda, long long stride_a, const REAL *b,
                            int ldb, long long stride_b, const REAL *beta, REAL *c, int ldc, long long stride_c,
                            int batches) {
  if (handle == NULL) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!is_operation(transa) || !is_operation(transb) || m < 0 || n < 0 || k < 0 || batches < 0 ||
      !fits(transa == CUBLAS_OP_N ? m : k, lda) || !fits(transb == CUBLAS_OP_N ? k : n, ldb) || !fits(m, ldc))
    return CUBLAS_STATUS_INVALID_VALUE;
  for (long i = 0; i < batches; i++)
    LOCAL(multiply)
    (transa, transb, m, n, k, *alpha, a + i * stride_a, lda, b + i * stride_b, ldb, *beta, c + i * stride_c, ldc);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t GEMM(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
                    const REAL *alpha, const REAL *a, int lda, const REAL *b, int ldb, const REAL *beta, REAL *c,
                    int ldc) {
  return GEMM_BATCHED(handle, transa, transb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}

#undef REAL
#undef GEMV
#undef GEMM
#undef GEMM_BATCHED
#undef BLAS
#undef LOCAL
