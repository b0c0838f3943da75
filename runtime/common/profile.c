#include "profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run.h"
#include "version.h"

Measured profile_measured(const double *seconds, int n) {
  Measured time = {n > 0 ? INFINITY : 0, 0};
  for (int i = 0; i < n; i++) {
    time.least = fmin(time.least, seconds[i]);
    time.mean += seconds[i] / n;
  }
  return time;
}

static void print_date(void) {
  char date[32] = "";
  const time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc) != NULL) strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
  printf("# date     %s\n", date);
}

void profile_begin(long steps) {
  const struct cudaDeviceProp device = device_properties();
  int number, khz;
  CHECK_CUDA(cudaGetDevice(&number));
  CHECK_CUDA(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, number));
  printf("profile 1 # of %s, measured: the mean of %ld steps; + how much longer that is than the fastest\n", run.model->source, steps);
  printf("# device   %s", device.name);
  if (khz > 0) printf(", %.0f MHz", (double)khz * 1e-3);
  printf("\n");
  print_date();
  printf("# runtime  parcc %s\n", PARCC_VERSION);
}

double profile_spread(Measured time) { return time.least > 0 ? (time.mean - time.least) / time.least : 0; }

void profile_line(double seconds, double spread, const char *what) {
  const double shortest = 1e-9; // what is below it is the noise of the clock
  printf("%.4g us  %s # +%.0f %%\n", fmax(seconds, shortest) * 1e6, what, spread * 100);
}

// ---- shares

typedef struct {
  double seconds, spread; // sums
  int n;
} Share; // of an operator

int profile_places(const int *places, int n) {
  int ends = 0;
  for (int i = 0; i < n; i++) ends += places[i] < 0;
  return ends;
}

static void add_shares(const ParccPredicted *operators, const int *place, Measured time, Share *shares) {
  double all = 0;
  for (const int *o = place; *o >= 0; o++) all += operators[*o].us;
  for (const int *o = place; *o >= 0 && all > 0; o++) {
    shares[*o].seconds += time.mean * operators[*o].us / all;
    shares[*o].spread += profile_spread(time);
    shares[*o].n++;
  }
}

// Operators of one name, which were predicted to take different times: those that share a kernel read less.
static void join_shares(const ParccPredicted *operators, int n, Share *shares) {
  for (int i = 0; i < n; i++)
    for (int before = 0; before < i && operators[i].what != NULL; before++) {
      if (operators[before].what == NULL || strcmp(operators[before].what, operators[i].what) != 0) continue;
      shares[before].seconds += shares[i].seconds;
      shares[before].spread += shares[i].spread;
      shares[before].n += shares[i].n;
      shares[i].n = 0;
      break;
    }
}

void profile_operators(const ParccPredicted *operators, const int *places, int n, const Measured *times) {
  int count = 0;
  for (int i = 0; i < n; i++) count = places[i] >= count ? places[i] + 1 : count;
  Share *shares = calloc((size_t)count + 1, sizeof *shares);
  if (shares == NULL) fail_alone(FAIL_RUN, "out of memory");
  for (int i = 0, place = 0; i < n; i++) {
    add_shares(operators, places + i, times[place++], shares);
    while (places[i] >= 0) i++;
  }
  join_shares(operators, count, shares);
  for (int i = 0; i < count; i++)
    if (shares[i].n > 0 && shares[i].seconds > 0 && operators[i].what != NULL)
      profile_line(shares[i].seconds / shares[i].n, shares[i].spread / shares[i].n, operators[i].what);
  free(shares);
}

void profile_end(void) {
  if (fflush(stdout) != 0) fail_alone(FAIL_RUN, "cannot write the profile to standard output");
}
