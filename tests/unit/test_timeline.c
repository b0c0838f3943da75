// Simulation: times are what the rules say, and those after changes are those of a full simulation, bit for bit.
//
//   test_timeline         some thousand random changes of random networks of tasks
//   test_timeline LONG    100,000 changes (by hand: a minute or two)
#include "../../passes/sim/timeline.h"
#include "check.h"

#include <stdlib.h>

static uint64_t state;
static int below(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)n);
}

static const int64_t nothing_known = 0; // of what follows a task

// ---- random networks of tasks, as the test knows them ----

// level: no edge leads to a task of a lower one.
typedef struct Known { int number, level; TimelineTask task; } Known;
typedef struct KnownEdge { int from, to; } KnownEdge; // numbers

typedef struct Network {
  Arena *arena;
  Timeline *timeline;
  VEC(Known) tasks;
  VEC(KnownEdge) edges;
  int n_resources, n_levels, longest;
  uint64_t keys;
} Network;

static void add_edge(Network *n, int from, int to) {
  timeline_order(n->timeline, from, to);
  vec_push(n->arena, &n->edges, (KnownEdge){from, to});
}

// Before and behind some of the others; what is on no resource is before something.
static void add_task(Network *n) {
  const int others = n->tasks.len;
  Known known = {.level = 1 + below(n->n_levels)};
  const bool free = below(8) == 0 && others > 0;
  known.task = (TimelineTask){1 + below(n->longest), (uint64_t)below(1000) << 32 | n->keys++, free ? TIMELINE_NO_RESOURCE : below(n->n_resources), 0};
  int end = -1;
  for (int i = 0; i < others && free; i++)
    if (n->tasks.at[i].task.resource != TIMELINE_NO_RESOURCE) end = i;
  if (free && end < 0) known.task.resource = 0;
  if (free && end >= 0) known.level = n->tasks.at[end].level - 1;
  known.number = timeline_add(n->timeline, known.task);
  if (free && end >= 0) add_edge(n, known.number, n->tasks.at[end].number);
  for (int i = below(6); i > 0 && others > 0; i--) {
    const Known *other = &n->tasks.at[below(others)];
    if (other->level < known.level) add_edge(n, other->number, known.number);
    if (other->level > known.level) add_edge(n, known.number, other->number);
  }
  vec_push(n->arena, &n->tasks, known);
}

static bool is_end_of_free(const Network *n, int number) {
  for (int e = 0; e < n->edges.len; e++)
    for (int i = 0; i < n->tasks.len && n->edges.at[e].to == number; i++)
      if (n->tasks.at[i].number == n->edges.at[e].from && n->tasks.at[i].task.resource == TIMELINE_NO_RESOURCE) return true;
  return false;
}

static void remove_task(Network *n, int i) {
  const int number = n->tasks.at[i].number;
  int left = 0;
  timeline_remove(n->timeline, number);
  for (int e = 0; e < n->edges.len; e++)
    if (n->edges.at[e].from != number && n->edges.at[e].to != number) n->edges.at[left++] = n->edges.at[e];
  n->edges.len = left;
  n->tasks.at[i] = n->tasks.at[--n->tasks.len];
}

static Network network_new(int kind) {
  Network n = {.arena = arena_new(), .n_resources = 1 + below(12), .n_levels = 2 + below(30)};
  n.longest = kind % 3 == 0 ? 3 : kind % 3 == 1 ? 50 : 100000; // short ones make many ties
  n.timeline = timeline_new(n.arena, n.n_resources);
  for (int i = 20 + below(150); i > 0; i--) add_task(&n);
  timeline_run(n.timeline);
  return n;
}

// As many new ones as are removed, more or less.
static void change(Network *n) {
  const int most = 1 + below(8), added = below(most) + (n->tasks.len < 20 ? most : 0), removed = n->tasks.len > 200 ? most : below(most);
  const int old = n->tasks.len;
  for (int i = 0, at = below(old); i < removed && at < n->tasks.len - 1; i++)
    if (!is_end_of_free(n, n->tasks.at[at].number)) remove_task(n, at);
  for (int i = 0; i < added; i++) add_task(n);
}

// ---- what the rules say ----

static const Timeline *compared;
static int by_turn(const void *a, const void *b) {
  const Known *x = a, *y = b;
  const int64_t rx = timeline_span(compared, x->number).ready, ry = timeline_span(compared, y->number).ready;
  if (x->task.resource != y->task.resource) return x->task.resource < y->task.resource ? -1 : 1;
  if (rx != ry) return rx < ry ? -1 : 1;
  return x->task.key < y->task.key ? -1 : 1;
}

// Each task is ready when those before it end, and starts when the one before it on its resource ends: there is one such set of times.
static bool obeys(const Network *n, int64_t end) {
  int most = 0;
  for (int i = 0; i < n->tasks.len; i++) most = n->tasks.at[i].number >= most ? n->tasks.at[i].number + 1 : most;
  int64_t *ready = NEW_ARRAY(n->arena, int64_t, most), last = 0;
  for (int e = 0; e < n->edges.len; e++)
    ready[n->edges.at[e].to] = max_i64(ready[n->edges.at[e].to], timeline_span(n->timeline, n->edges.at[e].from).end);
  compared = n->timeline;
  qsort(n->tasks.at, (size_t)n->tasks.len, sizeof *n->tasks.at, by_turn);
  for (int i = 0; i < n->tasks.len; i++) {
    const Known *at = &n->tasks.at[i], *before = i > 0 ? &n->tasks.at[i - 1] : NULL;
    const TimelineSpan span = timeline_span(n->timeline, at->number);
    int64_t start = span.ready;
    if (before != NULL && before->task.resource == at->task.resource && at->task.resource != TIMELINE_NO_RESOURCE)
      start = max_i64(start, timeline_span(n->timeline, before->number).end);
    if (span.ready != ready[at->number] || span.start != start || span.end != start + at->task.duration) return false;
    last = max_i64(last, span.end);
  }
  return last == end && timeline_tasks(n->timeline) == n->tasks.len;
}

// Changes that are kept: after each the times are right, and now and then those of a full simulation.
static void check_kept(Network *n) {
  change(n);
  const int64_t end = timeline_update(n->timeline, INT64_MAX, &nothing_known);
  if (!CHECK(obeys(n, end))) exit(1);
  timeline_keep(n->timeline);
  if (below(10) == 0) CHECK(timeline_run(n->timeline) == end && obeys(n, end));
}

// Changes that are taken back, some of which have been found to end too late.
static void check_undone(Network *n, int64_t end) {
  const int n_tasks = n->tasks.len, n_edges = n->edges.len;
  const Known *tasks = arena_copy(n->arena, n->tasks.at, sizeof *n->tasks.at * (size_t)n_tasks);
  const KnownEdge *edges = arena_copy(n->arena, n->edges.at, sizeof *n->edges.at * (size_t)n_edges);
  change(n);
  const int64_t limit = below(2) == 0 ? end : INT64_MAX, now = timeline_update(n->timeline, limit, &nothing_known);
  if (now != INT64_MAX) CHECK(obeys(n, now) && now <= limit);
  timeline_undo(n->timeline);
  memcpy(n->tasks.at, tasks, sizeof *tasks * (size_t)n_tasks);
  if (n_edges > 0) memcpy(n->edges.at, edges, sizeof *edges * (size_t)n_edges);
  n->tasks.len = n_tasks;
  n->edges.len = n_edges;
  if (!CHECK(obeys(n, end))) exit(1);
}

static int n_changes = 400;

static void test_changes(void) {
  for (int kind = 0; kind < 10; kind++) {
    state = (uint64_t)kind;
    Network n = network_new(kind);
    for (int i = 0; i < n_changes; i++) {
      if (below(3) > 0) check_kept(&n);
      else check_undone(&n, timeline_run(n.timeline));
    }
    arena_free(n.arena);
  }
}

// What is said to end too late does: of the same changes once with a limit and once without.
static void test_limit(void) {
  int late = 0;
  for (int i = 0; i < 500; i++) {
    int64_t found[2], before = 0;
    for (int limited = 0; limited < 2; limited++) {
      state = (uint64_t)i;
      Network n = network_new(i);
      before = timeline_run(n.timeline);
      change(&n);
      found[limited] = timeline_update(n.timeline, limited ? before : INT64_MAX, &nothing_known);
      arena_free(n.arena);
    }
    CHECK_INT(found[1], found[0] <= before ? found[0] : INT64_MAX);
    late += found[0] > before;
  }
  CHECK(late > 50 && late < 450);
}

// Two tasks that are ready at once run in the order of their keys; what is ready earlier is first, whatever its key.
static void test_turns(void) {
  Arena *arena = arena_new();
  Timeline *t = timeline_new(arena, 2);
  const int a = timeline_add(t, (TimelineTask){5, 9, 0, 0}), b = timeline_add(t, (TimelineTask){7, 3, 0, 0}), c = timeline_add(t, (TimelineTask){2, 1, 1, 0});
  const int d = timeline_add(t, (TimelineTask){4, 0, 0, 0}); // ready when c ends
  timeline_order(t, c, d);
  CHECK_INT(timeline_run(t), 16);
  CHECK_INT(timeline_span(t, b).start, 0);
  CHECK_INT(timeline_span(t, a).start, 7);
  CHECK_INT(timeline_span(t, d).start, 12);
  timeline_remove(t, b);
  CHECK_INT(timeline_update(t, INT64_MAX, &nothing_known), 9);
  CHECK_INT(timeline_span(t, d).start, 5);
  timeline_undo(t);
  CHECK_INT(timeline_span(t, d).start, 12);
  arena_free(arena);
}

// A chain whose first part is made anew and takes a good deal less, or more: what is behind it is moved at once, past where stretches began.
static void test_chain(void) {
  enum { ALL = 200, NEW = 50, SHORT = 10, LONG = 10000, OTHER = 1000 };
  for (int sooner = 0; sooner < 2; sooner++) {
    Arena *arena = arena_new();
    Timeline *t = timeline_new(arena, 1);
    const int first = sooner ? LONG : OTHER, then = sooner ? OTHER : LONG;
    int task[ALL];
    for (int i = 0; i < ALL; i++) {
      task[i] = timeline_add(t, (TimelineTask){i == 0 ? first : SHORT, (uint64_t)i, 0, 0});
      if (i > 0) timeline_order(t, task[i - 1], task[i]);
    }
    CHECK_INT(timeline_run(t), first + (ALL - 1) * SHORT);
    for (int kept = 0; kept < 2; kept++) {
      int last = -1;
      for (int i = 0; i < NEW; i++) timeline_remove(t, task[i]);
      for (int i = 0; i < NEW; i++) {
        const int number = timeline_add(t, (TimelineTask){i == 0 ? then : SHORT, (uint64_t)(ALL + i), 0, 0});
        if (i > 0) timeline_order(t, last, number);
        last = number;
      }
      timeline_order(t, last, task[NEW]);
      CHECK_INT(timeline_update(t, INT64_MAX, &nothing_known), then + (ALL - 1) * SHORT);
      if (kept) timeline_keep(t);
      else timeline_undo(t);
      for (int i = NEW; i < ALL; i++) CHECK_INT(timeline_span(t, task[i]).start, (kept ? then : first) + (i - 1) * SHORT);
    }
    CHECK_INT(timeline_run(t), then + (ALL - 1) * SHORT);
    arena_free(arena);
  }
}

int main(int argc, char **argv) {
  if (argc > 1 && str_eq(argv[1], "LONG")) n_changes = 10000;
  const CheckTest tests[] = {TEST(test_turns), TEST(test_chain), TEST(test_limit), TEST(test_changes)};
  return check_run(tests, (int)(sizeof tests / sizeof tests[0]));
}
