// Random numbers by counter: a pure function of (seed, stream, step, index), the same bits on host and device, in any
// order, on any rank. Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011):
//
//   key     = seed, low word, high word
//   counter = index, low word, high word; stream; step      step < 2^32
//
// Streams from 0x80000000 on belong to the runtime (sample order, synthetic data).
#ifndef PARCC_RANDOM_H
#define PARCC_RANDOM_H

#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define PARCC_PURE static __host__ __device__ __forceinline__
#else
#define PARCC_PURE static inline __attribute__((always_inline, unused))
#endif

typedef struct {
  uint32_t word[4];
} ParccRandom;

PARCC_PURE ParccRandom parcc_random(unsigned long long seed, unsigned stream, unsigned long long step,
                                    unsigned long long index) {
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32), c2 = (uint32_t)stream, c3 = (uint32_t)step;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  ParccRandom r;
  r.word[0] = c0;
  r.word[1] = c1;
  r.word[2] = c2;
  r.word[3] = c3;
  return r;
}

// 53 bits of two words, in [0, 1). The conversion is from a signed integer: that one vectorises.
PARCC_PURE double parcc_unit(uint32_t low, uint32_t high) {
  return (double)(int64_t)(((uint64_t)high << 32 | low) >> 11) * 0x1p-53;
}

// Uniform in [0, 1): multiples of 2^-53.
PARCC_PURE double parcc_uniform(unsigned long long seed, unsigned stream, unsigned long long step,
                                unsigned long long index) {
  const ParccRandom r = parcc_random(seed, stream, step, index);
  return parcc_unit(r.word[0], r.word[1]);
}

// The same number, cut to a multiple of 2^-24, so that it is never rounded up to 1.
PARCC_PURE float parcc_uniformf(unsigned long long seed, unsigned stream, unsigned long long step,
                                unsigned long long index) {
  const ParccRandom r = parcc_random(seed, stream, step, index);
  return (float)(int32_t)(r.word[1] >> 8) * 0x1p-24f;
}

// Standard normal, by Box and Muller; the logarithm is of a number in (0, 1].
PARCC_PURE double parcc_normal(unsigned long long seed, unsigned stream, unsigned long long step,
                               unsigned long long index) {
  const ParccRandom r = parcc_random(seed, stream, step, index);
  const double radius = sqrt(-2. * log(1. - parcc_unit(r.word[0], r.word[1])));
  return radius * cos(6.283185307179586 * parcc_unit(r.word[2], r.word[3]));
}

// The same number, rounded: programs in float and in double start from the same parameters.
PARCC_PURE float parcc_normalf(unsigned long long seed, unsigned stream, unsigned long long step,
                               unsigned long long index) {
  return (float)parcc_normal(seed, stream, step, index);
}

#endif
