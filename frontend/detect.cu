// Measures the devices that it is started on, and the links between them, and prints them as a machine file for parcc --machine.
// Written by parcc detect.
//
//   parcc-cc THIS.cu -o detect && mpiexec -n 8 ./detect >my.machine

#include "parcc.h"

static const char *const scalars[] = {"loss"};

static double learning_rate(double step, double steps) {
  (void)step;
  (void)steps;
  return 0;
}

static const ParccModel model = {
    .name = "detect",
    .source = "parcc detect",
    .ranks = 1,
    .batch = 1,
    .real = PARCC_FLOAT,
    .inputs = NULL,
    .n_inputs = 0,
    .scalars = scalars,
    .n_scalars = 1,
    .steps = 1,
    .epochs = 0,
    .learning_rate = learning_rate,
    .whole_batches = NULL,
    .sampled = -1,
    .measures = true,
};

int main(int argc, char **argv) {
  parcc_start(argc, argv, &model);
  parcc_detect();
  return parcc_finish();
}
