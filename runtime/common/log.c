// The log: one JSON object a line. A line is written whole or, where the disk is full, the run ends with an error.
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "report.h"

static FILE *file;
static const char *file_path;
static char *line;
static size_t line_size;

void log_open(const char *path, Fault *fault) {
  const size_t bytes_a_scalar = 64;
  line_size = 512;
  for (int i = 0; i < run.model->n_scalars; i++) line_size += 6 * strlen(run.model->scalars[i]) + bytes_a_scalar;
  line = malloc(line_size);
  file = fopen(path, run.options.load != NULL ? "a" : "w");
  file_path = path;
  if (line == NULL || file == NULL) fault_set(fault, FAIL_RUN, "cannot write %s: %s", path, strerror(errno));
}

// Appends to the line, which log_open made long enough.
static __attribute__((format(printf, 2, 3))) void put(size_t *at, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int n = vsnprintf(line + *at, line_size - *at, format, args);
  va_end(args);
  if (n < 0 || (size_t)n >= line_size - *at) fail_alone(FAIL_INTERNAL, "a log line is too long");
  *at += (size_t)n;
}

static void put_string(size_t *at, const char *string) {
  put(at, "\"");
  for (const char *c = string; *c != '\0'; c++)
    if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ') put(at, "\\u%04x", (unsigned)*c);
    else put(at, "%c", *c);
  put(at, "\"");
}

static void put_number(size_t *at, double value) {
  if (isfinite(value)) put(at, "%.17g", value);
  else put(at, "null"); // JSON has no such numbers
}

static void put_scalars(size_t *at, const double *scalars) {
  for (int i = 1; i < run.model->n_scalars; i++) {
    put(at, ", ");
    put_string(at, run.model->scalars[i]);
    put(at, ": ");
    put_number(at, scalars[i]);
  }
}

// A line is written whole or not at all.
static void write_line(size_t length) {
  const off_t before = ftello(file);
  if (fwrite(line, 1, length, file) == length && fflush(file) == 0) return;
  const int reason = errno;
  if (before >= 0 && ftruncate(fileno(file), before) != 0) fprintf(stderr, "%s: %s: its last line is not whole\n", run.model->name, file_path);
  fail_alone(FAIL_RUN, "cannot write %s: %s", file_path, strerror(reason));
}

void log_step(const StepReport *report) {
  size_t at = 0;
  if (file == NULL) return;
  put(&at, "{\"step\": %ld, \"loss\": ", report->step + 1);
  put_number(&at, report->scalars[0]);
  put(&at, ", \"learning_rate\": ");
  put_number(&at, report->lr);
  if (report->norm != NULL) {
    put(&at, ", \"gradient_norm\": ");
    put_number(&at, *report->norm);
  }
  put(&at, ", \"ms\": %.3f, \"samples_per_second\": %.1f", report->seconds * 1e3,
      (double)run.model->batch / fmax(report->seconds, 1e-9)); // a nanosecond is what clocks tell apart
  if (report->sent > 0) put(&at, ", \"sent_bytes\": %llu", (unsigned long long)report->sent);
  if (report->all) put_scalars(&at, report->scalars);
  put(&at, "}\n");
  write_line(at);
}

void log_eval(const double *means, long samples) {
  size_t at = 0;
  if (file == NULL) return;
  put(&at, "{\"eval\": true, \"samples\": %ld, \"loss\": ", samples);
  put_number(&at, means[0]);
  put_scalars(&at, means);
  if (data_samples(SPLIT_TEST) > samples) put(&at, ", \"left_out\": %ld", data_samples(SPLIT_TEST) - samples);
  put(&at, "}\n");
  write_line(at);
}

void log_close(void) {
  if (file != NULL && fclose(file) != 0) fail_alone(FAIL_RUN, "cannot write %s: %s", file_path, strerror(errno));
  file = NULL;
  free(line);
}
