#include "trace.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clocks.h"
#include "run.h"
#include "spans.h"

static FILE *file;
static const char *partial; // what is written, until it is whole; NULL: what is no regular file is written as it is
static double accuracy;     // seconds: how far the time of a rank may be off

// ---- what a rank did

static void put_string(FILE *out, const char *string) {
  fputc('"', out);
  for (const char *c = string; *c != '\0'; c++)
    if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ') fprintf(out, "\\u%04x", (unsigned)(unsigned char)*c);
    else fputc(*c, out);
  fputc('"', out);
}

// Whole nanoseconds, so that the end of an event is not behind the beginning of the next one.
static void put_time(FILE *out, const char *name, long long ns) {
  fprintf(out, ", \"%s\": %lld.%03lld", name, ns / 1000, ns % 1000);
}

static void put_span(FILE *out, const Span *span, double zero) {
  const long long begin = llround((span->begin - zero) * 1e9), end = llround((span->end - zero) * 1e9);
  fprintf(out, ",\n{\"ph\": \"X\", \"pid\": %d, \"tid\": %d, \"name\": ", parcc.rank, span->comm);
  put_string(out, span->op);
  fprintf(out, ", \"cat\": \"%s\"", span->comm ? "comm" : "compute");
  put_time(out, "ts", begin > 0 ? begin : 0);
  put_time(out, "dur", end > begin ? end - begin : 0);
  fprintf(out, ", \"args\": {\"step\": %ld", span->step + 1);
  if (span->where != NULL) fprintf(out, ", \"where\": "), put_string(out, span->where);
  fprintf(out, "}}");
}

static void put_row(FILE *out, int tid, const char *name) {
  fprintf(out, ",\n{\"ph\": \"M\", \"pid\": %d, \"tid\": %d, \"name\": \"thread_name\", \"args\": {\"name\": \"%s\"}}", parcc.rank, tid, name);
}

// zero: of the clock of this rank. The text is the caller's.
static char *rank_text(const Span *spans, int n, double zero, size_t *size) {
  char *text = NULL;
  FILE *out = open_memstream(&text, size);
  if (out == NULL) fail_alone(FAIL_RUN, "out of memory");
  fprintf(out, ",\n{\"ph\": \"M\", \"pid\": %d, \"name\": \"process_name\", \"args\": {\"name\": \"rank %d\"}}", parcc.rank, parcc.rank);
  put_row(out, 0, "compute");
  put_row(out, 1, "comm");
  for (int i = 0; i < n; i++) put_span(out, &spans[i], zero);
  if (fclose(out) != 0) fail_alone(FAIL_RUN, "out of memory");
  return text;
}

// ---- the file

static _Noreturn void fail_write(void) {
  const int error = errno;
  if (partial != NULL) unlink(partial);
  fail_alone(FAIL_RUN, "cannot write %s: %s", run.options.trace, strerror(error));
}

static void open_file(void) {
  static char path[4096];
  struct stat info;
  if (stat(run.options.trace, &info) != 0 || S_ISREG(info.st_mode)) {
    if (snprintf(path, sizeof path, "%s.partial", run.options.trace) >= (int)sizeof path)
      fail_alone(FAIL_RUN, "cannot write %s: %s", run.options.trace, strerror(ENAMETOOLONG));
    partial = path;
  }
  file = fopen(partial != NULL ? partial : run.options.trace, "we");
  if (file == NULL) fail_write();
}

static void close_file(void) {
  const bool failed = ferror(file) != 0;
  if (fclose(file) != 0 || failed) fail_write();
  if (partial != NULL && rename(partial, run.options.trace) != 0) fail_write();
}

static void write_text(const char *text, size_t size) {
  if (fwrite(text, 1, size, file) != size) fail_write();
}

// What ranks have written of themselves, one after the other.
static void collect(char *text, size_t size) {
  if (parcc.rank != 0) {
    world_send(&size, sizeof size, 0);
    world_send(text, size, 0);
    return;
  }
  write_text(text, size);
  for (int r = 1; r < parcc.ranks; r++) {
    world_recv(&size, sizeof size, r);
    char *theirs = malloc(size);
    if (theirs == NULL) fail_alone(FAIL_RUN, "out of memory");
    world_recv(theirs, size, r);
    write_text(theirs, size);
    free(theirs);
  }
}

static double largest(double mine) {
  double *all = malloc((size_t)parcc.ranks * sizeof *all);
  if (all == NULL) fail_alone(FAIL_RUN, "out of memory");
  world_all_gather(&mine, all, sizeof mine);
  for (int r = 0; r < parcc.ranks; r++) mine = fmax(mine, all[r]);
  free(all);
  return mine;
}

static void write_head(void) {
  fprintf(file, "{\"displayTimeUnit\": \"ms\", \"otherData\": {\"program\": ");
  put_string(file, run.model->name);
  fprintf(file, ", \"ranks\": %d, \"clock_error_us\": %.3f}, \"traceEvents\": [\n", parcc.ranks, accuracy * 1e6);
  fprintf(file, "{\"ph\": \"M\", \"pid\": 0, \"name\": \"process_sort_index\", \"args\": {\"sort_index\": 0}}");
}

void trace_write(void) {
  if (run.options.trace == NULL) return;
  int n;
  const Span *spans = spans_read(&n);
  // The first thing that any rank did, on the clock of rank 0.
  const double zero = -largest(n > 0 ? -(spans[0].begin - clocks_offset()) : -INFINITY);
  accuracy = largest(clocks_error() + spans_error());
  size_t size;
  char *text = rank_text(spans, n, zero + clocks_offset(), &size);
  if (parcc.rank == 0) {
    open_file();
    write_head();
  }
  collect(text, size);
  free(text);
  if (parcc.rank != 0) return;
  fprintf(file, "\n]}\n");
  close_file();
}

void trace_tell(FILE *out) {
  long first, end;
  if (run.options.trace == NULL) return;
  if (!spans_steps(&first, &end)) fprintf(out, "%s: %s: no step was traced\n", run.model->name, run.options.trace);
  else
    fprintf(out, "%s: %s: a trace of step%s %ld to %ld, the times of ranks within %.2g us\n", run.model->name, run.options.trace,
           end - first > 1 ? "s" : "", first + 1, end, accuracy * 1e6);
}
