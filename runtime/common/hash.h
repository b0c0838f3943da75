// A 64-bit hash to tell things apart that differ by accident, not by intent.
#ifndef PARCC_HASH_H
#define PARCC_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_word(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size) {
  const char *at = bytes;
  for (; size >= 8; size -= 8, at += 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    hash = hash_word(hash, word);
  }
  uint64_t rest = 0;
  if (size > 0) memcpy(&rest, at, size);
  return hash_word(hash, rest ^ (uint64_t)size << 56);
}

#endif
