// What parts of a step take: a program of `parcc profile` prints it as a profile.
#include <math.h>
#include <stdlib.h>

#include "fail.h"
#include "links.h"
#include "profile.h"
#include "report.h"
#include "run.h"

enum { WARM_UP = 2 }; // steps that do not count, where there are more: memory is touched for the first time

typedef struct {
  double *seconds;
  int n, capacity;
} Laps;

static Laps *parts; // by part
static int n_parts;
static double last, empty = INFINITY; // when the last part ended; the shortest part without work

static void add_part(int part) {
  const int n = 2 * part + 16;
  parts = realloc(parts, (size_t)n * sizeof *parts);
  if (parts == NULL) fail_alone(FAIL_RUN, "out of memory");
  while (n_parts < n) parts[n_parts++] = (Laps){NULL, 0, 0};
}

static void note(int part, double seconds) {
  if (part >= n_parts) add_part(part);
  Laps *laps = &parts[part];
  if (laps->n == laps->capacity) {
    laps->capacity = 2 * laps->capacity + 32;
    laps->seconds = realloc(laps->seconds, (size_t)laps->capacity * sizeof *laps->seconds);
    if (laps->seconds == NULL) fail_alone(FAIL_RUN, "out of memory");
  }
  laps->seconds[laps->n++] = seconds;
}

// Where a step begins all ranks do: what shares a memory is measured as it is used.
static void begin_step(void) {
  const char here = 0;
  char *all = malloc((size_t)parcc.ranks);
  if (all == NULL) fail_alone(FAIL_RUN, "out of memory");
  world_all_gather(&here, all, sizeof here);
  free(all);
  if (parcc.rank == 0) progress_measured("step", (int)parcc.step + 1, (int)parcc.steps);
}

void parcc_lap(int part) {
  CHECK_CUDA(cudaStreamSynchronize(parcc.compute));
  const double now = clock_seconds();
  if (part >= 0) note(part, now - last);
  else if (part == PARCC_LAP_EMPTY) empty = fmin(empty, now - last);
  else begin_step();
  last = clock_seconds();
}

// In every step all ranks do the same, and the slowest counts. all: for the times of all ranks.
static Measured time_of(const Laps *laps, double *all) {
  const int first = laps->n > WARM_UP ? WARM_UP : 0, n = laps->n - first;
  double *seconds = laps->seconds + first;
  world_all_gather(seconds, all, (size_t)n * sizeof *all);
  for (int i = 0; i < n * parcc.ranks; i++) seconds[i % n] = fmax(seconds[i % n], all[i]);
  const Measured time = profile_measured(seconds, n);
  const double least = fmax(time.least - empty, 1e-9); // what is below it is the noise of the clock
  return (Measured){least, fmax(time.mean - empty, least)};
}

void parcc_laps(const ParccPredicted *operators, const int *places, int n) {
  const int n_places = profile_places(places, n);
  int most = 1;
  for (int i = 0; i < n_parts; i++) most = parts[i].n > most ? parts[i].n : most;
  double *all = calloc((size_t)parcc.ranks * (size_t)most, sizeof *all);
  Measured *times = calloc((size_t)n_places + 1, sizeof *times);
  if (all == NULL || times == NULL) fail_alone(FAIL_RUN, "out of memory");
  for (int i = 0; i < n_places && i < n_parts; i++)
    if (parts[i].n > 0) times[i] = time_of(&parts[i], all);
  if (parcc.rank == 0) {
    progress_end();
    profile_begin(parcc.steps > WARM_UP ? parcc.steps - WARM_UP : parcc.steps);
    profile_operators(operators, places, n, times);
  }
  links_measure();
  if (parcc.rank == 0) profile_end();
  free(times);
  free(all);
  for (int i = 0; i < n_parts; i++) free(parts[i].seconds);
  free(parts);
}
