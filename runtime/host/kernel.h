// Kernels on the host. A launch is a grid of one block of one thread, so every kernel loop is a plain loop, which the
// compiler vectorises, and every reduction over a block is the value itself.
#ifndef PARCC_HOST_KERNEL_H
#define PARCC_HOST_KERNEL_H

#include <math.h>
#include <stdint.h>

// Not inlined: __restrict__ means most on parameters, and profilers show kernels by name.
#if defined(PARCC_CHECK) && !defined(__clang__) // called in one way or the other, a kernel is to give the same bits
#define __global__ static __attribute__((noinline, noclone))
#else
#define __global__ static __attribute__((noinline))
#endif
#define __device__ static inline __attribute__((unused))
#define __forceinline__

// ---- loops ---------------------------------------------------------------------------------------------------------

#define PARCC_FOR(i, n) for (long i = 0, i##_end_ = (n); i < i##_end_; i++)

#define GRID(i, ni) PARCC_FOR(i, ni)
#define GRID2(i, ni, j, nj) PARCC_FOR(i, ni) PARCC_FOR(j, nj)
#define GRID3(i, ni, j, nj, k, nk) PARCC_FOR(i, ni) PARCC_FOR(j, nj) PARCC_FOR(k, nk)
#define GRID4(i, ni, j, nj, k, nk, l, nl) PARCC_FOR(i, ni) PARCC_FOR(j, nj) PARCC_FOR(k, nk) PARCC_FOR(l, nl)

#define BLOCK(i, ni) PARCC_FOR(i, ni)
#define BLOCK2(i, ni, j, nj) GRID2(i, ni, j, nj)
#define BLOCK3(i, ni, j, nj, k, nk) GRID3(i, ni, j, nj, k, nk)
#define BLOCK4(i, ni, j, nj, k, nk, l, nl) GRID4(i, ni, j, nj, k, nk, l, nl)

#define FLAT(i, n) PARCC_FOR(i, n)

// Columns c0 .. c0 + lanes - 1 belong to this iteration: the inner loop over rows then walks along memory.
enum { LANES = 64 };
#define GRID_LANES(c0, lanes, n)                                                                                       \
  for (long c0 = 0, lanes, c0##_end_ = (n);                                                                            \
       c0 < c0##_end_ && (lanes = c0##_end_ - c0 < LANES ? c0##_end_ - c0 : LANES, 1); c0 += LANES)
#define GRID2_LANES(i, ni, c0, lanes, n) GRID(i, ni) GRID_LANES(c0, lanes, n)
#define GRID3_LANES(i, ni, j, nj, c0, lanes, n) GRID2(i, ni, j, nj) GRID_LANES(c0, lanes, n)
#define GRID4_LANES(i, ni, j, nj, k, nk, c0, lanes, n) GRID3(i, ni, j, nj, k, nk) GRID_LANES(c0, lanes, n)
#define LANE(l, lanes) for (long l = 0; l < (lanes); l++)

// One place of a dimension, if it is one.
#define PLACE(i, place, n)                                                                                             \
  for (long i = (place), i##_once_ = i >= 0 && i < (n); i##_once_; i##_once_ = 0)
// The same for the places of one part of the grid alone: what is added to a place is added by one thread, in order.
enum { PARTS = 1 };
#define PLACE_OF_PART(i, place, n, part) PLACE(i, place, n)

// ---- reductions over a block ---------------------------------------------------------------------------------------

#define BLOCK_SUM(v) (v)
#define BLOCK_PROD(v) (v)
#define BLOCK_MAX(v) (v)
#define BLOCK_MIN(v) (v)
#define BLOCK_ARGMAX(v, i) ((void)(v), (void)(i))
#define BLOCK_SYNC() ((void)0)
// The statement that follows is executed by one thread of the block.
#define ONCE

// A real as an integer of the same order, and back. Compilers vectorise the maximum of integers, but not that of reals
// unless they may assume that there are no NaNs. A NaN with its sign bit clear compares above infinity.
static inline __attribute__((always_inline)) int32_t parcc_keyf(float x) {
  union {
    float real;
    int32_t bits;
  } u = {x};
  return u.bits ^ ((u.bits >> 31) & INT32_MAX);
}
static inline __attribute__((always_inline)) float parcc_unkeyf(int32_t key) {
  union {
    int32_t bits;
    float real;
  } u = {key ^ ((key >> 31) & INT32_MAX)};
  return u.real;
}
static inline __attribute__((always_inline)) int64_t parcc_keyd(double x) {
  union {
    double real;
    int64_t bits;
  } u = {x};
  return u.bits ^ ((u.bits >> 63) & INT64_MAX);
}
static inline __attribute__((always_inline)) double parcc_unkeyd(int64_t key) {
  union {
    int64_t bits;
    double real;
  } u = {key ^ ((key >> 63) & INT64_MAX)};
  return u.real;
}
#define PARCC_KEY(x) _Generic((x), float : parcc_keyf, double : parcc_keyd)(x)
#define PARCC_UNKEY(k) _Generic((k), int32_t : parcc_unkeyf, int64_t : parcc_unkeyd)(k)

#define PARCC_EXTREME(best, i, n, expression, better)                                                                  \
  do {                                                                                                                 \
    __typeof__(PARCC_KEY(best)) best_ = PARCC_KEY(best);                                                               \
    PARCC_FOR(i, n) {                                                                                                  \
      const __typeof__(best_) key_ = PARCC_KEY((__typeof__(best))(expression));                                        \
      best_ = key_ better best_ ? key_ : best_;                                                                        \
    }                                                                                                                  \
    best = PARCC_UNKEY(best_);                                                                                         \
  } while (0)

// best = the larger (smaller) of best and expression over all i in [0, n) of this thread.
#define BLOCK_MAX_OF(best, i, n, expression) PARCC_EXTREME(best, i, n, expression, >)
#define BLOCK_MIN_OF(best, i, n, expression) PARCC_EXTREME(best, i, n, expression, <)

// ---- launches ------------------------------------------------------------------------------------------------------

#ifndef PARCC_CHECK
// The one place where a kernel starts.
#define PARCC_LAUNCH_ON(stream, kernel, work, ...)                                                                     \
  do {                                                                                                                 \
    if ((work) > 0) kernel(__VA_ARGS__);                                                                               \
  } while (0)
#else
#include "check_launch.h"
#endif
#define PARCC_LAUNCH(kernel, work, ...) PARCC_LAUNCH_ON(parcc.compute, kernel, work, __VA_ARGS__)
#define LAUNCH_ROWS(kernel, rows, ...) PARCC_LAUNCH(kernel, rows, __VA_ARGS__)
#define LAUNCH_MAP(kernel, rows, cols, ...) PARCC_LAUNCH(kernel, rows, __VA_ARGS__)
#define LAUNCH_MAP_ON(stream, kernel, rows, cols, ...) PARCC_LAUNCH_ON(stream, kernel, rows, __VA_ARGS__)
#define LAUNCH_FLAT(kernel, count, ...) PARCC_LAUNCH(kernel, count, __VA_ARGS__)
#define LAUNCH_LANES(kernel, cols, ...) PARCC_LAUNCH(kernel, cols, __VA_ARGS__)

#define STATIC_KERNEL __global__
#include "../common/rows.h"
#include "../common/vector_math.h"

#endif
