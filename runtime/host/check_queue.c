// Streams as queues, and the order in which their items run.
//
// Order is kept in vector clocks: an item may run once, of every stream, the last item that its clock names is done.
// Recording an event copies the clock of a stream, waiting for it joins that clock to another's; so neither is queued.
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "parcc.h"
#include "watch.h"

enum { REMEMBERED = 1 << 18 }; // items; conflicts with older ones are no longer seen

static struct {
  bool used, blocking; // blocking: ordered against the default stream
  Item *first, *last;
  Clock clock; // what precedes the next item
  unsigned priority;
} streams[CHECK_STREAMS] = {[CHECK_DEFAULT_STREAM] = {.used = true, .blocking = true}};

static Work works[REMEMBERED];
static uint32_t issued, turns, turns_done;
static Clock host;
static const Item *running;

// ---- clocks

static void join(Clock *into, const Clock *other) {
  for (int s = 0; s < CHECK_STREAMS; s++)
    if (into->at[s] < other->at[s]) into->at[s] = other->at[s];
}

bool check_is_before(const Work *work, const Clock *clock) { return work->id <= clock->at[work->stream]; }

Clock check_stream_clock(int stream) {
  Clock clock = streams[stream].clock;
  join(&clock, &host);
  return clock;
}

void check_stream_wait(int stream, const Clock *clock) { join(&streams[stream].clock, clock); }

void check_host_wait(const Clock *clock) { join(&host, clock); }

const Work *check_running(void) { return running == NULL ? NULL : &running->work; }

const Clock *check_running_clock(void) { return running == NULL ? &host : &running->before; }

const Work *check_find_work(uint32_t id) {
  const Work *work = &works[id % REMEMBERED];
  return id != 0 && work->id == id ? work : NULL;
}

// ---- streams

int check_add_stream(unsigned flags) {
  for (int s = 1; s < CHECK_STREAMS; s++)
    if (!streams[s].used) {
      const Clock clock = streams[s].clock; // its number may have been that of another stream
      memset(&streams[s], 0, sizeof streams[s]);
      streams[s].used = true;
      streams[s].blocking = (flags & cudaStreamNonBlocking) == 0;
      streams[s].clock = clock;
      return s;
    }
  return -1;
}

void check_remove_stream(int stream) {
  check_drain();
  streams[stream].used = false;
}

// The default stream waits for all blocking streams and they for it, as in CUDA.
static void order_default_stream(int stream) {
  if (!streams[stream].blocking) return;
  if (stream != CHECK_DEFAULT_STREAM) join(&streams[stream].clock, &streams[CHECK_DEFAULT_STREAM].clock);
  else
    for (int s = 1; s < CHECK_STREAMS; s++)
      if (streams[s].used && streams[s].blocking) join(&streams[stream].clock, &streams[s].clock);
}

// ---- items

static void *must(void *memory) {
  if (memory == NULL) fail_alone(FAIL_RUN, "out of memory");
  return memory;
}

Item *check_queue(cudaStream_t stream, const char *what, void (*run)(void *args), const void *args, size_t bytes) {
  const int s = check_stream_number(stream);
  Item *item = must(calloc(1, sizeof *item));
  order_default_stream(s);
  join(&streams[s].clock, &host);
  if (++issued == 0) fail_alone(FAIL_RUN, "checking mode: more work than can be numbered");
  item->before = streams[s].clock;
  item->work = (Work){issued, s, what, parcc_place.op, parcc_place.where};
  works[issued % REMEMBERED] = item->work;
  streams[s].clock.at[s] = issued;
  item->run = run;
  if (bytes > 0) item->args = memcpy(must(malloc(bytes)), args, bytes);
  if (streams[s].first == NULL) streams[s].first = item;
  else streams[s].last->next = item;
  streams[s].last = item;
  return item;
}

void check_access(Item *item, bool written, const void *at, size_t width, size_t stride, size_t count) {
  if (width == 0 || count == 0) return;
  const size_t bytes = (count - 1) * stride + width;
  const Allocation *a = check_find(at);
  if (a == NULL) fail_alone(FAIL_RUN, "%s: %p is not device memory", check_text(&item->work), at);
  if (!check_inside(a, at, bytes))
    fail_alone(FAIL_RUN, "%s: %s %zu bytes at %s, of which only %zu are allocated", check_text(&item->work),
               written ? "writes" : "reads", bytes, check_name(at),
               check_inside(a, at, 0) ? a->bytes - (size_t)((const char *)at - a->base) : 0);
  // Grows at powers of two.
  const size_t n = item->n_accesses;
  if ((n & (n - 1)) == 0) item->accesses = must(realloc(item->accesses, (n == 0 ? 1 : 2 * n) * sizeof *item->accesses));
  item->accesses[item->n_accesses++] = (Access){at, width, stride, count, written, item->hands_on};
}

void check_take_turn(Item *item) { item->turn = ++turns; }

static void run_item(int stream) {
  Item *item = streams[stream].first;
  streams[stream].first = item->next;
  running = item;
  check_item_before(item);
  item->run(item->args);
  check_guards(&item->work, false);
  running = NULL;
  watch_moved(); // it may take long, and nobody is to think that this rank is stuck
  if (item->turn != 0) turns_done = item->turn;
  free(item->accesses);
  free(item->args);
  free(item);
}

// ---- the order

static bool is_ready(int stream) {
  const Item *item = streams[stream].first;
  if (item == NULL) return false;
  // The ranks of a communicator come to their collectives in the same order, or they would wait for each other.
  if (item->turn != 0 && item->turn != turns_done + 1) return false;
  for (int s = 0; s < CHECK_STREAMS; s++) {
    const uint32_t due = item->before.at[s], next = streams[s].first == NULL ? 0 : streams[s].first->work.id;
    if (s != stream && next != 0 && next <= due) return false;
  }
  return true;
}

// Priorities change now and then: so a stream may be far ahead of the others, far behind, or in between.
static void draw_priorities(void) {
  for (int s = 0; s < CHECK_STREAMS; s++) streams[s].priority = check_random();
}

// The item that was issued first is always ready.
void check_drain(void) {
  enum { KEPT = 8 };
  const Work *last = NULL;
  static Work copy;
  draw_priorities();
  for (;;) {
    int best = -1;
    for (int s = 0; s < CHECK_STREAMS; s++)
      if (is_ready(s) && (best < 0 || streams[s].priority > streams[best].priority)) best = s;
    if (best < 0) break;
    copy = streams[best].first->work;
    last = &copy;
    run_item(best);
    if (check_random() % KEPT == 0) draw_priorities();
  }
  check_guards(last, true);
}
