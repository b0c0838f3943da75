#include "profile.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "run.h"
#include "version.h"

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

Measured profile_measured(double *seconds, int n) {
  qsort(seconds, (size_t)n, sizeof *seconds, ascending);
  return n > 0 ? (Measured){seconds[0], seconds[n / 2]} : (Measured){0, 0};
}

static void print_date(void) {
  char date[32] = "";
  const time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc) != NULL) strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
  printf("# date     %s\n", date);
}

void profile_begin(long steps) {
  struct cudaDeviceProp device;
  int number, khz;
  CHECK_CUDA(cudaGetDevice(&number));
  CHECK_CUDA(cudaGetDeviceProperties(&device, number));
  CHECK_CUDA(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, number));
  printf("profile 1 # of %s, measured: the fastest of %ld steps; + how much longer half of them took\n", run.model->source, steps);
  printf("# device   %s", device.name);
  if (khz > 0) printf(", %.0f MHz", (double)khz * 1e-3);
  printf("\n");
  print_date();
  printf("# runtime  parcc %s\n", PARCC_VERSION);
}

void profile_line(double seconds, double spread, const char *what) {
  const double shortest = 1e-9; // what is below it is the noise of the clock
  printf("%.4g us  %s # +%.0f %%\n", fmax(seconds, shortest) * 1e6, what, spread * 100);
}

void profile_end(void) {
  if (fflush(stdout) != 0) fail_alone(FAIL_RUN, "cannot write the profile to standard output");
}
