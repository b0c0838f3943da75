#include "spans.h"

#include <stdlib.h>

#include "clocks.h"
#include "fail.h"
#include "run.h"

// Before the first step that counts: WARM_UP steps, of which the last is recorded, too, so that all events are there by then.
enum { WARM_UP = 3, TRACED = 2 };

typedef struct {
  cudaEvent_t begin, end;
} Events;

bool spans_on;
static Span *spans;
static Events *events; // of each; those of spans[n] and behind are to be used again
static int n, n_events, capacity;
static bool open;
static cudaEvent_t base; // what times are counted from
static double base_at, base_error;

static long wanted(void) {
  const long profiled = run.options.profile_steps, traced = run.options.trace != NULL ? TRACED : 0;
  return profiled > traced ? profiled : traced;
}

bool spans_steps(long *first, long *end) {
  const long begin = run.resumed.from.step, count = wanted();
  *first = begin + WARM_UP;
  if (*first > parcc.steps - count) *first = parcc.steps - count;
  if (*first < begin) *first = begin;
  *end = *first + count < parcc.steps ? *first + count : parcc.steps;
  return *first < *end;
}

long spans_run(void) { return WARM_UP + wanted(); }

// ---- the base

// An event that is done at once, on a device that has nothing to do. The first ones take longer.
static void make_base(void) {
  enum { TRIES = 4 };
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_CUDA(cudaEventCreateWithFlags(&base, cudaEventDefault));
  for (int i = 0; i < TRIES; i++) {
    const double before = clock_seconds();
    CHECK_CUDA(cudaEventRecord(base, parcc.compute));
    CHECK_CUDA(cudaEventSynchronize(base));
    const double after = clock_seconds();
    base_at = (before + after) / 2;
    base_error = (after - before) / 2;
  }
}

double spans_error(void) { return base_error; }

void spans_begin_step(void) {
  long first, end;
  if (!spans_steps(&first, &end)) return;
  spans_on = parcc.step + 1 >= first && parcc.step < end;
  if (parcc.step != first) return;
  n = 0;
  clocks_align();
  make_base();
}

void spans_end_step(void) {
  spans_close();
  spans_on = false;
}

// ---- spans

static void grow(void) {
  capacity = 2 * capacity + 256;
  spans = realloc(spans, (size_t)capacity * sizeof *spans);
  events = realloc(events, (size_t)capacity * sizeof *events);
  if (spans == NULL || events == NULL) fail_alone(FAIL_RUN, "out of memory");
}

static void add_events(void) {
  CHECK_CUDA(cudaEventCreateWithFlags(&events[n_events].begin, cudaEventDefault));
  CHECK_CUDA(cudaEventCreateWithFlags(&events[n_events].end, cudaEventDefault));
  n_events++;
}

static cudaStream_t stream_of(const Span *span) { return span->comm ? parcc.comm : parcc.compute; }

void spans_close(void) {
  if (!open) return;
  open = false;
  CHECK_CUDA(cudaEventRecord(events[n - 1].end, stream_of(&spans[n - 1])));
}

void spans_open(const char *op, const char *where, cudaStream_t stream) {
  if (!spans_on) return;
  spans_close();
  if (n == capacity) grow();
  if (n == n_events) add_events();
  spans[n] = (Span){.op = op, .where = where, .step = parcc.step, .comm = stream == parcc.comm};
  CHECK_CUDA(cudaEventRecord(events[n].begin, stream));
  n++;
  open = true;
}

void parcc_pause(cudaStream_t stream) {
  if (open && stream_of(&spans[n - 1]) == stream) spans_close();
}

static double time_of(cudaEvent_t event) {
  float ms;
  CHECK_CUDA(cudaEventSynchronize(event));
  CHECK_CUDA(cudaEventElapsedTime(&ms, base, event));
  return base_at + (double)ms * 1e-3;
}

const Span *spans_read(int *count) {
  for (int i = 0; i < n; i++) {
    spans[i].begin = time_of(events[i].begin);
    spans[i].end = time_of(events[i].end);
  }
  *count = n;
  return spans;
}

void spans_finish(void) {
  if (base != NULL) CHECK_CUDA(cudaEventDestroy(base));
  for (int i = 0; i < n_events; i++) {
    CHECK_CUDA(cudaEventDestroy(events[i].begin));
    CHECK_CUDA(cudaEventDestroy(events[i].end));
  }
  free(spans);
  free(events);
}
