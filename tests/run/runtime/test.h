// What the small test programs share: a model without data, checks that count, and an exit code.
#ifndef TEST_H
#define TEST_H

#include "parcc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef RANKS
#define RANKS 1
#endif

static int failures;
#define EXPECT(condition)                                                                                              \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "rank %d: %s:%d: not so: %s\n", parcc.rank, __FILE__, __LINE__, #condition);                     \
      failures++;                                                                                                      \
    }                                                                                                                  \
  } while (0)

static double test_rate(double step, double steps) { return 1 - step / (steps + 1); }
static const char *const test_scalars[] = {"loss"};
static const ParccModel test_model = {.name = "test",
                                      .source = "test.dnn",
                                      .ranks = RANKS,
                                      .batch = 1,
                                      .real = PARCC_DOUBLE,
                                      .inputs = NULL,
                                      .n_inputs = 0,
                                      .scalars = test_scalars,
                                      .n_scalars = 1,
                                      .steps = 4,
                                      .epochs = 0,
                                      .learning_rate = test_rate,
                                      .whole_batches = NULL,
                                      .sampled = -1,
                                      .measures = false};

#define FINISH()                                                                                                       \
  do {                                                                                                                 \
    const int code_ = parcc_finish();                                                                                  \
    return failures > 0 ? 1 : code_;                                                                                   \
  } while (0)

#endif
