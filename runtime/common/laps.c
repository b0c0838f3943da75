// What parts of a step take: a program of `parcc profile` prints it as a profile.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fail.h"
#include "run.h"

static double *best;     // seconds, by part; 0: not yet
static int n_parts;
static double last, empty = INFINITY; // when the last part ended; the shortest part without work

static void note(int part, double seconds) {
  if (part >= n_parts) {
    const int n = 2 * part + 16;
    double *more = realloc(best, (size_t)n * sizeof *best);
    if (more == NULL) fail_alone(FAIL_RUN, "out of memory");
    for (best = more; n_parts < n; n_parts++) best[n_parts] = 0;
  }
  if (best[part] == 0 || seconds < best[part]) best[part] = seconds;
}

void parcc_lap(int part) {
  CHECK_CUDA(cudaStreamSynchronize(parcc.compute));
  const double now = clock_seconds();
  if (part >= 0) note(part, now - last);
  else if (part == PARCC_LAP_EMPTY) empty = fmin(empty, now - last);
  last = clock_seconds();
}

void parcc_laps(const char *const *what, int n) {
  const double shortest = 1e-9;
  printf("profile 1 # measured, the fastest of %ld steps\n", parcc.steps);
  for (int i = 0; i < n && i < n_parts; i++)
    if (best[i] > 0) printf("%.4g us  %s\n", fmax(best[i] - empty, shortest) * 1e6, what[i]);
  if (fflush(stdout) != 0) fail_alone(FAIL_RUN, "cannot write the profile to standard output");
  free(best);
}
