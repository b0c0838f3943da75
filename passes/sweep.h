// One model on growing numbers of devices, or with growing sizes of a parameter such as its batch.
#ifndef PARCC_PASSES_SWEEP_H
#define PARCC_PASSES_SWEEP_H

#include "outcome.h"

typedef struct SweepResult {
  const char *model;
  const char *parameter; // as the model calls it, or "devices"
  bool of_devices;
  const Machine *machine;
  int n_values, n_planners;
  const int64_t *value;
  Outcome *outcome; // [n_values][n_planners]
} SweepResult;

// A row for each value and planner: the predicted step, samples a second, how many times as many as with the first value that there
// is a plan of, of devices the same of each of them, memory, and whether it fits.
const char *sweep_print(Arena *arena, const SweepResult *sweep, bool json);

#endif
