// Where a list repeats itself: in a b c a b c a b c d the part a b c stands three times.
#ifndef PARCC_CODEGEN_REPEATS_H
#define PARCC_CODEGEN_REPEATS_H

#include "../ir/base.h"

typedef struct Repeat {
  int start, period, times; // times 0: there is none
} Repeat;

// The repeat in keys[from..to) that saves most when it is there once: by the weights of the parts that go, at least `worth`;
// among equals the first, and the shortest period. Periods are at most REPEAT_LONGEST. Where `calls` is true a part is short
// already: such parts of one key in a row are no repeat.
enum { REPEAT_LONGEST = 512 };
Repeat repeats_find(Arena *arena, const int *keys, const int *weights, const bool *calls, int from, int to, long worth);

#endif
