// Kernels on the GPU. Every loop is over a stride of the grid or of the block, so that any launch computes the same.
//
// A loop variable is a long, declared by the macro. The loops over several variables run through a linear index and take
// it apart; `break` leaves only the innermost part of such a loop.
#ifndef PARCC_CUDA_KERNEL_H
#define PARCC_CUDA_KERNEL_H

#include <cuda_runtime.h>

enum { PARCC_THREADS = 256, PARCC_WARP = 32, PARCC_MAX_BLOCKS = 65535 };

// ---- loops ---------------------------------------------------------------------------------------------------------

#define PARCC_STRIDE(i, n, first, stride) for (long i = (first), i##_end_ = (n); i < i##_end_; i += (stride))
// Declares i for one round of the body.
#define PARCC_LET(i, value) for (long i = (value), i##_once_ = 1; i##_once_; i##_once_ = 0)

// Most numbers are small, and the division of those is several times faster.
static __device__ __forceinline__ long parcc_quotient(long a, long b) {
  return ((a | b) >> 32) == 0 ? (long)((unsigned)a / (unsigned)b) : a / b;
}
static __device__ __forceinline__ long parcc_remainder(long a, long b) {
  return ((a | b) >> 32) == 0 ? (long)((unsigned)a % (unsigned)b) : a % b;
}

#define PARCC_STRIDE2(i, ni, j, nj, first, stride)                                                                     \
  PARCC_STRIDE(i##j##_, (long)(ni) * (nj), first, stride)                                                              \
  PARCC_LET(i, parcc_quotient(i##j##_, nj)) PARCC_LET(j, parcc_remainder(i##j##_, nj))
#define PARCC_STRIDE3(i, ni, j, nj, k, nk, first, stride)                                                              \
  PARCC_STRIDE2(i##j##_, (long)(ni) * (nj), k, nk, first, stride)                                                      \
  PARCC_LET(i, parcc_quotient(i##j##_, nj)) PARCC_LET(j, parcc_remainder(i##j##_, nj))
#define PARCC_STRIDE4(i, ni, j, nj, k, nk, l, nl, first, stride)                                                       \
  PARCC_STRIDE3(i##j##_, (long)(ni) * (nj), k, nk, l, nl, first, stride)                                               \
  PARCC_LET(i, parcc_quotient(i##j##_, nj)) PARCC_LET(j, parcc_remainder(i##j##_, nj))

// Rows of a map share a block of threads.
#define PARCC_ROW ((long)blockIdx.x * blockDim.y + threadIdx.y)
#define PARCC_ROWS_ALL ((long)gridDim.x * blockDim.y)
#define GRID(i, ni) PARCC_STRIDE(i, ni, PARCC_ROW, PARCC_ROWS_ALL)
#define GRID2(i, ni, j, nj) PARCC_STRIDE2(i, ni, j, nj, PARCC_ROW, PARCC_ROWS_ALL)
#define GRID3(i, ni, j, nj, k, nk) PARCC_STRIDE3(i, ni, j, nj, k, nk, PARCC_ROW, PARCC_ROWS_ALL)
#define GRID4(i, ni, j, nj, k, nk, l, nl) PARCC_STRIDE4(i, ni, j, nj, k, nk, l, nl, PARCC_ROW, PARCC_ROWS_ALL)

#define BLOCK(i, ni) PARCC_STRIDE(i, ni, (long)threadIdx.x, (long)blockDim.x)
#define BLOCK2(i, ni, j, nj) PARCC_STRIDE2(i, ni, j, nj, (long)threadIdx.x, (long)blockDim.x)
#define BLOCK3(i, ni, j, nj, k, nk) PARCC_STRIDE3(i, ni, j, nj, k, nk, (long)threadIdx.x, (long)blockDim.x)
#define BLOCK4(i, ni, j, nj, k, nk, l, nl)                                                                             \
  PARCC_STRIDE4(i, ni, j, nj, k, nk, l, nl, (long)threadIdx.x, (long)blockDim.x)

#define PARCC_FIRST ((long)blockIdx.x * blockDim.x + threadIdx.x)
#define PARCC_THREADS_ALL ((long)gridDim.x * blockDim.x)
#define FLAT(i, n) PARCC_STRIDE(i, n, PARCC_FIRST, PARCC_THREADS_ALL)

// A thread owns one column.
enum { LANES = 1 };
#define GRID_LANES(c0, lanes, n) FLAT(c0, n) PARCC_LET(lanes, LANES)
#define GRID2_LANES(i, ni, c0, lanes, n)                                                                               \
  PARCC_STRIDE2(i, ni, c0, n, PARCC_FIRST, PARCC_THREADS_ALL) PARCC_LET(lanes, LANES)
#define GRID3_LANES(i, ni, j, nj, c0, lanes, n)                                                                        \
  PARCC_STRIDE3(i, ni, j, nj, c0, n, PARCC_FIRST, PARCC_THREADS_ALL) PARCC_LET(lanes, LANES)
#define GRID4_LANES(i, ni, j, nj, k, nk, c0, lanes, n)                                                                 \
  PARCC_STRIDE4(i, ni, j, nj, k, nk, c0, n, PARCC_FIRST, PARCC_THREADS_ALL) PARCC_LET(lanes, LANES)
#define LANE(l, lanes) for (long l = 0; l < (lanes); l++)

// One place of a dimension, if it is one.
#define PLACE(i, place, n) for (long i = (place), i##_once_ = i >= 0 && i < (n); i##_once_; i##_once_ = 0)
// The same for the places of one part of the grid alone: what is added to a place is added by one thread, in order.
enum { PARTS = 32 };
#define PLACE_OF_PART(i, place, n, part)                                                                               \
  for (long i = (place), i##_once_ = i >= 0 && i < (n) && i % PARTS == (part); i##_once_; i##_once_ = 0)

// ---- reductions over a block ---------------------------------------------------------------------------------------
// Called by all threads of the block, whose number is a multiple of 32. The result is the same in all of them, and does
// not depend on timing.

#define BLOCK_SYNC() __syncthreads()
// The statement that follows is executed by one thread of the block.
#define ONCE if (threadIdx.x == 0)

struct ParccSum {
  template <class T> static __device__ T join(T a, T b) { return a + b; }
  template <class T> static __device__ T none() { return 0; }
};
struct ParccProd {
  template <class T> static __device__ T join(T a, T b) { return a * b; }
  template <class T> static __device__ T none() { return 1; }
};
struct ParccMax {
  template <class T> static __device__ T join(T a, T b) { return a > b || a != a ? a : b; }
  template <class T> static __device__ T none() { return -(T)INFINITY; }
};
struct ParccMin {
  template <class T> static __device__ T join(T a, T b) { return a < b || a != a ? a : b; }
  template <class T> static __device__ T none() { return (T)INFINITY; }
};

template <class Op, class T> static __device__ __forceinline__ T parcc_warp_reduce(T value) {
#pragma unroll
  for (int distance = PARCC_WARP / 2; distance > 0; distance /= 2)
    value = Op::join(value, __shfl_xor_sync(0xffffffffu, value, distance));
  return value;
}

template <class Op, class T> static __device__ T parcc_block_reduce(T value) {
  __shared__ T of_warp[PARCC_WARP];
  const unsigned lane = threadIdx.x % PARCC_WARP, warp = threadIdx.x / PARCC_WARP;
  value = parcc_warp_reduce<Op>(value);
  __syncthreads(); // of_warp may still be read by the reduction before
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  // Every warp joins all partial results, in the same order.
  return parcc_warp_reduce<Op>(lane < blockDim.x / PARCC_WARP ? of_warp[lane] : Op::template none<T>());
}

// The larger value, and of equal ones the smaller index. A NaN wins.
template <class T> static __device__ __forceinline__ void parcc_join_argmax(T &value, long &index, T v, long i) {
  const bool nan = value != value, other_nan = v != v;
  if (other_nan ? !nan || i < index : !nan && (v > value || (v == value && i < index))) {
    value = v;
    index = i;
  }
}

template <class T> static __device__ void parcc_block_argmax(T &value, long &index) {
  __shared__ T values[PARCC_WARP];
  __shared__ long indices[PARCC_WARP];
  const unsigned lane = threadIdx.x % PARCC_WARP, warp = threadIdx.x / PARCC_WARP;
  for (int distance = PARCC_WARP / 2; distance > 0; distance /= 2) {
    const T v = __shfl_xor_sync(0xffffffffu, value, distance);
    const long i = __shfl_xor_sync(0xffffffffu, index, distance);
    parcc_join_argmax(value, index, v, i);
  }
  __syncthreads();
  if (lane == 0) {
    values[warp] = value;
    indices[warp] = index;
  }
  __syncthreads();
  value = values[0];
  index = indices[0];
  for (unsigned w = 1; w < blockDim.x / PARCC_WARP; w++) parcc_join_argmax(value, index, values[w], indices[w]);
}

#define BLOCK_SUM(v) parcc_block_reduce<ParccSum>(v)
#define BLOCK_PROD(v) parcc_block_reduce<ParccProd>(v)
#define BLOCK_MAX(v) parcc_block_reduce<ParccMax>(v)
#define BLOCK_MIN(v) parcc_block_reduce<ParccMin>(v)
#define BLOCK_ARGMAX(v, i) parcc_block_argmax(v, i)

// best = the larger (smaller) of best and expression over all i in [0, n) of this thread.
#define BLOCK_MAX_OF(best, i, n, expression)                                                                           \
  do {                                                                                                                 \
    BLOCK(i, n) best = ParccMax::join(best, static_cast<decltype(best)>(expression));                                  \
  } while (0)
#define BLOCK_MIN_OF(best, i, n, expression)                                                                           \
  do {                                                                                                                 \
    BLOCK(i, n) best = ParccMin::join(best, static_cast<decltype(best)>(expression));                                  \
  } while (0)

// ---- launches ------------------------------------------------------------------------------------------------------

static inline unsigned parcc_blocks(long work, long work_a_block) {
  const long blocks = (work + work_a_block - 1) / work_a_block;
  return blocks < PARCC_MAX_BLOCKS ? (unsigned)blocks : (unsigned)PARCC_MAX_BLOCKS;
}

// The one place where a kernel starts.
#define PARCC_LAUNCH_BLOCKS(stream, kernel, work, work_a_block, threads, ...)                                          \
  do {                                                                                                                 \
    const long parcc_work_ = (work);                                                                                   \
    if (parcc_work_ > 0) {                                                                                             \
      kernel<<<parcc_blocks(parcc_work_, work_a_block), threads, 0, stream>>>(__VA_ARGS__);                            \
      CHECK_CUDA(cudaGetLastError());                                                                                  \
    }                                                                                                                  \
  } while (0)
#define PARCC_LAUNCH(kernel, work, work_a_block, ...)                                                                  \
  PARCC_LAUNCH_BLOCKS(parcc.compute, kernel, work, work_a_block, PARCC_THREADS, __VA_ARGS__)

// The threads along a row of a map: a power of two, enough for the row where that fits.
static inline unsigned parcc_row_threads(long cols) {
  unsigned threads = 1;
  while (threads < cols && threads < PARCC_THREADS) threads *= 2;
  return threads;
}

#define LAUNCH_ROWS(kernel, rows, ...) PARCC_LAUNCH(kernel, rows, 1, __VA_ARGS__)
#define LAUNCH_MAP_ON(stream, kernel, rows, cols, ...)                                                                 \
  do {                                                                                                                 \
    const unsigned parcc_x_ = parcc_row_threads(cols), parcc_y_ = PARCC_THREADS / parcc_x_;                            \
    PARCC_LAUNCH_BLOCKS(stream, kernel, rows, (long)parcc_y_, dim3(parcc_x_, parcc_y_), __VA_ARGS__);                  \
  } while (0)
#define LAUNCH_MAP(kernel, rows, cols, ...) LAUNCH_MAP_ON(parcc.compute, kernel, rows, cols, __VA_ARGS__)
#define LAUNCH_FLAT(kernel, count, ...) PARCC_LAUNCH(kernel, count, PARCC_THREADS, __VA_ARGS__)
#define LAUNCH_LANES(kernel, cols, ...) PARCC_LAUNCH(kernel, cols, PARCC_THREADS, __VA_ARGS__)

#define STATIC_KERNEL static __global__ // of headers: several files of a program may include them
#include "../common/rows.h"

#endif
