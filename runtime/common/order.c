// A Feistel network is a permutation of the numbers of 2 * half bits. Applying it until the result is below n ("cycle
// walking", Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002) makes it one of [0, n). As 4^half < 4 n, that
// takes fewer than 4 rounds on average.
#include "order.h"

#include <stdint.h>

enum { ROUNDS = 6 };

// The finaliser of SplitMix64: every bit of the result depends on every bit of x.
static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

long order_sample(unsigned long long seed, long epoch, long n, long position) {
  int half = 0;
  while (half < 31 && (uint64_t)1 << 2 * half < (uint64_t)n) half++;
  const uint64_t mask = ((uint64_t)1 << half) - 1;
  const uint64_t key = mix(mix(seed + 0x9E3779B97F4A7C15u) + (uint64_t)epoch);
  uint64_t index = (uint64_t)position;
  do {
    uint64_t left = index >> half, right = index & mask;
    for (uint64_t round = 0; round < ROUNDS; round++) {
      const uint64_t next = left ^ (mix(key + (round << 32 | right) * 0x9E3779B97F4A7C15u) & mask);
      left = right;
      right = next;
    }
    index = left << half | right;
  } while (index >= (uint64_t)n);
  return (long)index;
}
