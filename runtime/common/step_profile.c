// --profile-steps: what the operators of a training step take, beside what was predicted of them.
//
// What is measured is what runs from one AT to the next, on all ranks. What is behind one AT is often several operators, which share a
// kernel or not: each has the share of the time that it was predicted to have.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"
#include "run.h"
#include "spans.h"

typedef struct {
  const char *op, *where;
  bool comm;
  double predicted;     // seconds
  Measured time;
} Place;

typedef struct { // of the places of one name
  const char *name, *where;
  double predicted, measured; // seconds
  int n;
} Row;

static const ParccPredicted *predicted;
static const int *predicted_at;
static int n_numbers;

void parcc_predicted(const ParccPredicted *operators, const int *places, int n) {
  predicted = operators;
  predicted_at = places;
  n_numbers = n;
}

static void *allocate(long n, size_t size) {
  void *memory = calloc((size_t)n + 1, size);
  if (memory == NULL) fail_alone(FAIL_RUN, "out of memory");
  return memory;
}

// ---- measured

// The spans of one step that are operators', from spans[*at] on, which then is behind it.
static void next_step(const Span *spans, int n, int *at, Place *places, int n_places, double *seconds, int stride) {
  const long step = spans[*at].step;
  int place = 0;
  for (; *at < n && spans[*at].step == step; (*at)++) {
    const Span *span = &spans[*at];
    if (span->where == NULL) continue;
    if (place < n_places) {
      places[place] = (Place){.op = span->op, .where = span->where, .comm = span->comm};
      seconds[place * stride] = span->end - span->begin;
    }
    place++;
  }
  if (place != n_places) fail_alone(FAIL_INTERNAL, "the program tells of %d places of a step, which has %d", n_places, place);
}

// What passes between operators where a batch is loaded between them: it is the data's, not the plan's.
static double loading(const Span *spans, int n) {
  double seconds = 0, free_since = spans[0].begin;
  for (int i = 0; i < n; i++) {
    if (spans[i].where == NULL) continue;
    if (i > 0 && spans[i - 1].where == NULL) seconds += fmax(spans[i].begin - free_since, 0);
    free_since = spans[i].end;
  }
  return seconds;
}

// From the beginning of the first span of a step to the end of the last, without what is loaded.
static double step_seconds(const Span *spans, int n) {
  double end = spans[0].begin;
  for (int i = 0; i < n; i++) end = fmax(end, spans[i].end);
  return end - spans[0].begin - loading(spans, n);
}

// Of every step the slowest rank counts; but in a collective the others wait for the one that comes last, which takes least.
static void join_ranks(const Place *places, double *seconds, int n, int steps) {
  const long count = (long)n * steps;
  double *all = allocate(count * parcc.ranks, sizeof *all);
  world_all_gather(seconds, all, (size_t)count * sizeof *seconds);
  for (int r = 0; r < parcc.ranks; r++)
    for (long i = 0; i < count; i++) {
      const double theirs = all[r * count + i];
      seconds[i] = places[i / steps].comm ? fmin(seconds[i], theirs) : fmax(seconds[i], theirs);
    }
  free(all);
}

// places: n_places, and the whole step behind them.
static void measure(const Span *spans, int n, Place *places, int n_places, int steps) {
  double *seconds = allocate((long)(n_places + 1) * steps, sizeof *seconds);
  for (int at = 0, step = 0; step < steps && at < n; step++) {
    const int first = at;
    next_step(spans, n, &at, places, n_places, seconds + step, steps);
    seconds[n_places * steps + step] = step_seconds(spans + first, at - first);
  }
  join_ranks(places, seconds, n_places + 1, steps);
  for (int p = 0; p <= n_places; p++) places[p].time = profile_measured(seconds + (long)p * steps, steps);
  free(seconds);
}

static void predict_places(Place *places) {
  for (int i = 0, p = 0; i < n_numbers; i++)
    if (predicted_at[i] < 0) p++;
    else places[p].predicted += predicted[predicted_at[i]].us * 1e-6;
}

static void print_profile(const Place *places, int n_places, int steps) {
  Measured *times = allocate(n_places, sizeof *times);
  for (int p = 0; p < n_places; p++) times[p] = places[p].time;
  profile_begin(steps);
  profile_operators(predicted, predicted_at, n_numbers, times);
  profile_end();
  free(times);
}

// ---- the table

static int same_name(const Row *row, const Place *place) { return strcmp(row->name, place->op) == 0 && strcmp(row->where, place->where) == 0; }

static int longest_first(const void *a, const void *b) {
  const Row *x = a, *y = b;
  return (x->measured < y->measured) - (x->measured > y->measured);
}

static int make_rows(const Place *places, int n_places, Row *rows) {
  int n = 0;
  for (int p = 0; p < n_places; p++) {
    int i = 0;
    while (i < n && !same_name(&rows[i], &places[p])) i++;
    if (i == n) rows[n++] = (Row){.name = places[p].op, .where = places[p].where};
    rows[i].predicted += places[p].predicted;
    rows[i].measured += places[p].time.mean;
    rows[i].n++;
  }
  qsort(rows, (size_t)n, sizeof *rows, longest_first);
  return n;
}

static void print_row(const Row *row) {
  fprintf(stderr, "%12.1f us %12.1f us %6.2f  %s (%s)", row->predicted * 1e6, row->measured * 1e6,
          row->measured > 0 ? row->predicted / row->measured : 0, row->name, row->where);
  if (row->n > 1) fprintf(stderr, ", %d places", row->n);
  fprintf(stderr, "\n");
}

static void print_table(const Place *places, int n_places, int steps) {
  enum { LINES = 40 };
  Row *rows = allocate(n_places, sizeof *rows), all = {0};
  const int n = make_rows(places, n_places, rows);
  double errors = 0;
  fprintf(stderr, "   predicted        measured   ratio\n");
  for (int i = 0; i < n; i++) {
    all.predicted += rows[i].predicted;
    all.measured += rows[i].measured;
    errors += fabs(rows[i].predicted - rows[i].measured);
    if (i < LINES) print_row(&rows[i]);
  }
  if (n > LINES) fprintf(stderr, "and %d more that take less\n", n - LINES);
  fprintf(stderr, "%s: operators: %.4g ms predicted, %.4g ms measured, mean absolute error %.3g %% of what they take\n", run.model->name,
          all.predicted * 1e3, all.measured * 1e3, all.measured > 0 ? errors / all.measured * 100 : 0);
  const Measured step = places[n_places].time;
  fprintf(stderr, "%s: a step: %.4g ms, the mean of %d; the fastest: %.4g ms\n", run.model->name, step.mean * 1e3, steps, step.least * 1e3);
  free(rows);
}

void step_profile_check(void) {
  if (run.options.profile_steps > 0 && predicted == NULL)
    fail_together(FAIL_MISUSE, "--profile-steps: nothing is predicted of the operators: the program was written without parcc --machine");
}

void step_profile_write(void) {
  long first, end;
  int n;
  if (run.options.profile_steps < 0 || !spans_steps(&first, &end)) return;
  const Span *spans = spans_read(&n);
  const int n_places = profile_places(predicted_at, n_numbers), steps = (int)(end - first);
  Place *places = allocate(n_places + 1, sizeof *places);
  measure(spans, n, places, n_places, steps);
  predict_places(places);
  if (parcc.rank == 0) {
    print_profile(places, n_places, steps);
    print_table(places, n_places, steps);
  }
  free(places);
}
