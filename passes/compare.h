// The planners side by side, on one model and machine.
#ifndef PARCC_PASSES_COMPARE_H
#define PARCC_PASSES_COMPARE_H

#include "outcome.h"

typedef struct Comparison {
  const Compilation *compilation;
  Outcome data; // of data parallelism: what the others are compared with
  VEC(Outcome) outcomes;
} Comparison;

// How many times as fast as data parallelism, by what auto makes small: as streams overlap, or by the sum. NAN where one of both is no plan,
// or is not known.
double compare_speed_up(const Comparison *comparison, const Outcome *outcome);
// A row for each, in their order: predicted times (what layouts cost by the level that is crossed), bytes of the busiest rank,
// memory, the time of planning, the gap that is proved, and how many times as fast it is as data parallelism.
const char *compare_print(const Comparison *comparison, bool json);

#endif
