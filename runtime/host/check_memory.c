// Allocations of the checking mode: poisoned at first, between guard zones, and known by the names that launches give.
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

enum {
  MAX_ALLOCATIONS = 1024,
  GUARD = 1 << 14,
  NEAR = 1 << 10
}; // bytes: a guard zone, the part checked after each item

static Allocation *allocations;
static size_t n_allocations;
static char *lowest, *highest; // all allocations and guards lie between

// ---- poison

static uint32_t word_at(const char *at) {
  uint32_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

// The pattern depends on the address alone, so that ranges of any length can be filled and compared.
static unsigned char poison_byte(const void *at) {
  const unsigned char bytes[4] = {CHECK_POISON & 0xFF, CHECK_POISON >> 8 & 0xFF, CHECK_POISON >> 16 & 0xFF,
                                  CHECK_POISON >> 24 & 0xFF};
  return bytes[(uintptr_t)at % 4];
}

void check_poison(void *at, size_t bytes) {
  char *p = at, *end = p + bytes;
  const uint32_t word = CHECK_POISON;
  for (; p < end && (uintptr_t)p % 4 != 0; p++) *p = (char)poison_byte(p);
  for (; end - p >= 4; p += 4) memcpy(p, &word, 4);
  for (; p < end; p++) *p = (char)poison_byte(p);
}

const char *check_find_poison(const char *at, size_t bytes) {
  const char *end = at + bytes;
  for (const char *p = at + (4 - (uintptr_t)at % 4) % 4; end - p >= 4; p += 4)
    if (word_at(p) == CHECK_POISON) return p;
  return NULL;
}

// ---- allocations

static void find_bounds(void) {
  lowest = highest = NULL;
  for (size_t i = 0; i < n_allocations; i++) {
    char *begin = allocations[i].base - GUARD, *end = allocations[i].base + allocations[i].bytes + GUARD;
    if (lowest == NULL || begin < lowest) lowest = begin;
    if (end > highest) highest = end;
  }
}

Allocation *check_find(const void *at) {
  static size_t last;
  const char *p = at;
  if (p < lowest || p >= highest) return NULL;
  for (size_t k = 0; k < n_allocations; k++) {
    const size_t i = (last + k) % n_allocations;
    if (p < allocations[i].base - GUARD || p >= allocations[i].base + allocations[i].bytes + GUARD) continue;
    last = i;
    return &allocations[i];
  }
  return NULL;
}

void *check_allocate(size_t bytes, bool device) {
  if (n_allocations == MAX_ALLOCATIONS)
    fail_alone(FAIL_RUN, "checking mode: more than %d allocations", MAX_ALLOCATIONS);
  if (allocations == NULL && (allocations = calloc(MAX_ALLOCATIONS, sizeof *allocations)) == NULL) return NULL;
  const size_t rounded = (bytes + CHECK_ALIGNMENT - 1) / CHECK_ALIGNMENT * CHECK_ALIGNMENT;
  char *block =
      rounded < bytes || rounded > SIZE_MAX - 2 * GUARD ? NULL : aligned_alloc(CHECK_ALIGNMENT, rounded + 2 * GUARD);
  if (block == NULL) return NULL;
  uint32_t *writer = calloc(bytes / CHECK_GRAIN + 1, sizeof *writer);
  if (writer == NULL) {
    free(block);
    return NULL;
  }
  check_poison(block, rounded + 2 * GUARD);
  allocations[n_allocations++] =
      (Allocation){.base = block + GUARD, .bytes = bytes, .device = device, .writer = writer};
  find_bounds();
  return block + GUARD;
}

bool check_free(void *pointer) {
  for (size_t i = 0; i < n_allocations; i++) {
    Allocation *a = &allocations[i];
    if (a->base != pointer) continue;
    free(a->base - GUARD);
    free(a->writer);
    for (int s = 0; s < CHECK_STREAMS; s++) free(a->reader[s]);
    *a = allocations[--n_allocations];
    find_bounds();
    return true;
  }
  return false;
}

// ---- guards

static void check_zone(const Allocation *a, const char *from, size_t bytes, const Work *last, bool surely) {
  for (size_t i = 0; i < bytes; i++) {
    if ((unsigned char)from[i] == poison_byte(from + i)) continue;
    const char *at = from + i;
    const bool below = at < a->base;
    const size_t distance = below ? (size_t)(a->base - at) : (size_t)(at - a->base) - a->bytes;
    fail_alone(FAIL_RUN, "%s: out of bounds: %s wrote %zu bytes %s the %s memory of %zu bytes",
               last == NULL ? "the host" : check_text(last), surely ? "it" : "it, or work before it,", distance,
               below ? "before" : "behind", a->device ? "device" : "pinned", a->bytes);
  }
}

void check_guards(const Work *last, bool whole) {
  const size_t length = whole ? GUARD : NEAR;
  for (size_t i = 0; i < n_allocations; i++) {
    const Allocation *a = &allocations[i];
    check_zone(a, a->base - length, length, last, !whole);
    check_zone(a, a->base + a->bytes, length, last, !whole);
  }
}

// ---- names

enum { NAMES = 1 << 13, PROBES = 8 };
static struct {
  const char *at, *text;
  size_t length;
} names[NAMES];

// A table that forgets where it is crowded.
void check_learn_name(const void *at, const char *text, size_t length) {
  const size_t hash = (uintptr_t)at * 0x9E3779B97F4A7C15u >> 40;
  size_t place = hash % NAMES;
  for (size_t i = 0; i < PROBES; i++) {
    const size_t p = (hash + i) % NAMES;
    if (names[p].at != NULL && names[p].at != at) continue;
    place = p;
    break;
  }
  names[place].at = at;
  names[place].text = text;
  names[place].length = length;
}

const char *check_name(const void *at) {
  static char texts[4][200];
  static int next;
  char *text = texts[next++ % 4];
  const Allocation *a = check_find(at);
  if (a == NULL) {
    snprintf(text, sizeof texts[0], "%p", at);
    return text;
  }
  int best = -1;
  for (int i = 0; i < NAMES; i++)
    if (names[i].at >= a->base && names[i].at <= (const char *)at && (best < 0 || names[i].at > names[best].at))
      best = i;
  const long offset = (const char *)at - a->base;
  const char *kind = a->device ? "device" : "pinned";
  if (best < 0) {
    snprintf(text, sizeof texts[0], "byte %ld of %s memory", offset, kind);
    return text;
  }
  char behind[40] = "";
  if (names[best].at != at) snprintf(behind, sizeof behind, " + %ld bytes", (long)((const char *)at - names[best].at));
  snprintf(text, sizeof texts[0], "%.*s%s (byte %ld of %s memory)",
           (int)(names[best].length < 100 ? names[best].length : 100), names[best].text, behind, offset, kind);
  return text;
}
