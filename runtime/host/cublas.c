// cuBLAS on CBLAS. The two element types share their code, which cublas_type.h holds, once for each.
#include "cublas_v2.h"

#include "check.h"

#include <cblas.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct cublasContext {
  cudaStream_t stream;
};

const char *cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
  case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
  case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
  case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
  case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "unknown cuBLAS status";
}

cublasStatus_t cublasCreate(cublasHandle_t *handle) {
  *handle = calloc(1, sizeof **handle);
  if (*handle == NULL) return CUBLAS_STATUS_ALLOC_FAILED;
  if (getenv("OPENBLAS_NUM_THREADS") == NULL) openblas_set_num_threads(1);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  if (handle == NULL) return CUBLAS_STATUS_NOT_INITIALIZED;
  free(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  if (handle == NULL) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t *stream) {
  if (handle == NULL) return CUBLAS_STATUS_NOT_INITIALIZED;
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  if (handle == NULL) return CUBLAS_STATUS_NOT_INITIALIZED;
  return mode == CUBLAS_POINTER_MODE_HOST ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t *mode) {
  if (handle == NULL) return CUBLAS_STATUS_NOT_INITIALIZED;
  *mode = CUBLAS_POINTER_MODE_HOST;
  return CUBLAS_STATUS_SUCCESS;
}

static bool is_operation(cublasOperation_t trans) { return trans == CUBLAS_OP_N || trans == CUBLAS_OP_T; }

static CBLAS_TRANSPOSE transpose(cublasOperation_t trans) { return trans == CUBLAS_OP_N ? CblasNoTrans : CblasTrans; }

static int at_least_1(int n) { return n > 1 ? n : 1; }

// Whether a matrix of so many rows before transposition can have leading dimension ld.
static bool fits(int rows, int ld) { return ld >= at_least_1(rows); }

#define NAME(function) NAME_OF(function)
#define NAME_OF(function) #function

#define REAL float
#define GEMV cublasSgemv
#define GEMM cublasSgemm
#define GEMM_BATCHED cublasSgemmStridedBatched
#define BLAS(name) cblas_s##name
#define LOCAL(name) name##_float
#include "cublas_type.h"

#define REAL double
#define GEMV cublasDgemv
#define GEMM cublasDgemm
#define GEMM_BATCHED cublasDgemmStridedBatched
#define BLAS(name) cblas_d##name
#define LOCAL(name) name##_double
#include "cublas_type.h"
