#include "synthetic.h"

#include <stdint.h>
#include <string.h>

#include "vector_math.h"

// Elements are made in whole chunks at fixed places, always by the same instructions: a vectorised loop rounds otherwise
// than its remainder, and a value must not depend on which part of a sample a rank asks for.
enum { CHUNK = 64, BLOCKS = CHUNK / 4 };

static void make_words(unsigned long long seed, unsigned stream, long sample, size_t chunk, uint32_t word[4][BLOCKS]) {
  for (int i = 0; i < BLOCKS; i++) {
    const ParccRandom r = parcc_random(seed, stream, (unsigned long long)sample, chunk * BLOCKS + (size_t)i);
    word[0][i] = r.word[0];
    word[1][i] = r.word[1];
    word[2][i] = r.word[2];
    word[3][i] = r.word[3];
  }
}

// Box and Muller on pairs of words. One loop for each function, since a sine and a cosine in one would not vectorise.
static __attribute__((noinline)) void make_reals(unsigned long long seed, unsigned stream, long sample, size_t chunk,
                                                 float value[CHUNK]) {
  uint32_t word[4][BLOCKS];
  float radius[2 * BLOCKS], angle[2 * BLOCKS];
  make_words(seed, stream, sample, chunk, word);
  for (int half = 0; half < 2; half++)
    for (int i = 0; i < BLOCKS; i++) {
      radius[half * BLOCKS + i] = (float)(int32_t)((word[2 * half][i] >> 8) + 1) * 0x1p-24f;
      angle[half * BLOCKS + i] = (float)(int32_t)(word[2 * half + 1][i] >> 8) * (6.2831853f * 0x1p-24f);
    }
  for (int i = 0; i < 2 * BLOCKS; i++) radius[i] = sqrtf(-2.f * logf(radius[i]));
  for (int i = 0; i < 2 * BLOCKS; i++) value[i] = radius[i] * cosf(angle[i]);
  for (int i = 0; i < 2 * BLOCKS; i++) value[2 * BLOCKS + i] = radius[i] * sinf(angle[i]);
}

static void make_integers(unsigned long long seed, unsigned stream, long sample, size_t chunk, uint64_t range,
                          int32_t value[CHUNK]) {
  uint32_t word[4][BLOCKS];
  make_words(seed, stream, sample, chunk, word);
  for (int w = 0; w < 4; w++)
    for (int i = 0; i < BLOCKS; i++) value[w * BLOCKS + i] = (int32_t)(word[w][i] * range >> 32);
}

void synthetic_copy(unsigned long long seed, unsigned stream, long sample, size_t first, size_t count, ParccType type,
                    long range, void *dst) {
  const uint64_t values = range > 0 ? (uint64_t)range : (uint64_t)1 << 31;
  union {
    float real[CHUNK];
    int32_t integer[CHUNK];
  } chunk;
  for (size_t done = 0; done < count;) {
    const size_t skip = (first + done) % CHUNK, number = (first + done) / CHUNK;
    const size_t take = count - done < CHUNK - skip ? count - done : CHUNK - skip;
    if (type == PARCC_INT) {
      make_integers(seed, stream, sample, number, values, chunk.integer);
      memcpy((int32_t *)dst + done, chunk.integer + skip, take * sizeof(int32_t));
    } else {
      make_reals(seed, stream, sample, number, chunk.real);
      for (size_t i = 0; i < take; i++)
        if (type == PARCC_FLOAT) ((float *)dst)[done + i] = chunk.real[skip + i];
        else ((double *)dst)[done + i] = (double)chunk.real[skip + i];
    }
    done += take;
  }
}
