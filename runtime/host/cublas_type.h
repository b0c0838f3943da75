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

// ---- what the checking mode queues

typedef struct {
  cublasOperation_t transa, transb;
  int m, n, k, lda, ldb, ldc, batches;
  REAL alpha, beta;
  const REAL *a, *b;
  REAL *c;
  long long stride_a, stride_b, stride_c;
} LOCAL(Product);

static void LOCAL(run_product)(void *args) {
  const LOCAL(Product) *p = args;
  for (long i = 0; i < p->batches; i++) LOCAL(multiply)
  (p->transa, p->transb, p->m, p->n, p->k, p->alpha, p->a + i * p->stride_a, p->lda, p->b + i * p->stride_b, p->ldb,
   p->beta, p->c + i * p->stride_c, p->ldc);
}

static void LOCAL(access_matrix)(Item *item, bool written, const REAL *at, int rows, int cols, int ld) {
  check_access(item, written, at, (size_t)rows * sizeof *at, (size_t)ld * sizeof *at, (size_t)cols);
}

static void LOCAL(queue_product)(const LOCAL(Product) * p, cudaStream_t stream, const char *name) {
  if (p->m == 0 || p->n == 0 || p->batches == 0) return;
  Item *item = check_queue(stream, name, LOCAL(run_product), p, sizeof *p);
  for (long i = 0; i < p->batches; i++) {
    const bool an = p->transa == CUBLAS_OP_N, bn = p->transb == CUBLAS_OP_N;
    if (p->alpha != 0 && p->k > 0 && (i == 0 || p->stride_a != 0))
      LOCAL(access_matrix)(item, false, p->a + i * p->stride_a, an ? p->m : p->k, an ? p->k : p->m, p->lda);
    if (p->alpha != 0 && p->k > 0 && (i == 0 || p->stride_b != 0))
      LOCAL(access_matrix)(item, false, p->b + i * p->stride_b, bn ? p->k : p->n, bn ? p->n : p->k, p->ldb);
    if (p->beta != 0) LOCAL(access_matrix)(item, false, p->c + i * p->stride_c, p->m, p->n, p->ldc);
    LOCAL(access_matrix)(item, true, p->c + i * p->stride_c, p->m, p->n, p->ldc);
  }
}

typedef struct {
  cublasOperation_t trans;
  int m, n, lda, incx, incy;
  REAL alpha, beta;
  const REAL *a, *x;
  REAL *y;
} LOCAL(VectorProduct);

static void LOCAL(run_vector_product)(void *args) {
  const LOCAL(VectorProduct) *p = args;
  LOCAL(multiply_vector)(p->trans, p->m, p->n, p->alpha, p->a, p->lda, p->x, p->incx, p->beta, p->y, p->incy);
}

static void LOCAL(access_vector)(Item *item, bool written, const REAL *at, int length, int inc) {
  const size_t stride = (size_t)(inc < 0 ? -inc : inc) * sizeof *at;
  check_access(item, written, at, sizeof *at, stride, (size_t)length);
}

static void LOCAL(queue_vector_product)(const LOCAL(VectorProduct) * p, cudaStream_t stream, const char *name) {
  const bool plain = p->trans == CUBLAS_OP_N;
  Item *item = check_queue(stream, name, LOCAL(run_vector_product), p, sizeof *p);
  LOCAL(access_matrix)(item, false, p->a, p->m, p->n, p->lda);
  LOCAL(access_vector)(item, false, p->x, plain ? p->n : p->m, p->incx);
  if (p->beta != 0) LOCAL(access_vector)(item, false, p->y, plain ? p->m : p->n, p->incy);
  LOCAL(access_vector)(item, true, p->y, plain ? p->m : p->n, p->incy);
}

// ---- the functions of cuBLAS

cublasStatus_t GEMV(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const REAL *alpha, const REAL *a,
                    int lda, const REAL *x, int incx, const REAL *beta, REAL *y, int incy) {
  if (handle == NULL) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!is_operation(trans) || m < 0 || n < 0 || !fits(m, lda) || incx == 0 || incy == 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  LOCAL(VectorProduct) p = {trans, m, n, lda, incx, incy, *alpha, *beta, a, x, y};
  if (parcc_checking) LOCAL(queue_vector_product)(&p, handle->stream, NAME(GEMV));
  else LOCAL(run_vector_product)(&p);
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
  LOCAL(Product)
  p = {transa, transb, m, n, k, lda, ldb, ldc, batches, *alpha, *beta, a, b, c, stride_a, stride_b, stride_c};
  if (parcc_checking) LOCAL(queue_product)(&p, handle->stream, batches == 1 ? NAME(GEMM) : NAME(GEMM_BATCHED));
  else LOCAL(run_product)(&p);
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
