// Full and delta simulation.
//
// Both go through events, in the order of their times: that of a task is when it is ready. A task ends later than it is ready, so
// what is before an event is settled when it comes, and each event needs to be looked at once.
//
// Delta simulation has events only for tasks whose times may change. At the time at which such a task was ready it is looked at: it
// stays, or it is taken out of the queue of its resource, and what is behind it in its order lacks its end from then on, and is
// looked at when its own time comes. At the time at which it is ready now it is put in again. So a task that changes is looked at
// twice, whatever comes in between; in FlexFlow's algorithm (section 5.3) it is as often as times before it change. What all moves by the
// same time is not looked at (timeline_shift.c).
#include "timeline_state.h"

// ---- the heap of events --------------------------------------------------------------------------------------------

static bool comes_before(const Event *a, const Event *b) { return a->time != b->time ? a->time < b->time : a->key < b->key; }

// An earlier event of the task is enough: it leads to a later one where it comes too early.
void events_push(Timeline *t, int64_t time, int task) {
  Node *node = &t->nodes.at[task];
  if (node->queued != NONE && node->queued <= time) return;
  node->queued = time;
  const Event event = {time, node->task.key, task};
  vec_push(t->arena, &t->events, event);
  int i = t->events.len - 1;
  for (int up; i > 0 && comes_before(&event, &t->events.at[up = (i - 1) / 2]); i = up) t->events.at[i] = t->events.at[up];
  t->events.at[i] = event;
}

// Puts an event where it belongs, from a place on that is free.
static void sift_down(Timeline *t, int i, Event event) {
  Event *heap = t->events.at;
  const int n = t->events.len;
  for (int down; (down = 2 * i + 1) < n; i = down) {
    if (down + 1 < n && comes_before(&heap[down + 1], &heap[down])) down++;
    if (!comes_before(&heap[down], &event)) break;
    heap[i] = heap[down];
  }
  heap[i] = event;
}

Event events_pop(Timeline *t) {
  const Event top = t->events.at[0], last = t->events.at[--t->events.len];
  if (t->events.len > 0) sift_down(t, 0, last);
  return top;
}

void events_order(Timeline *t) {
  for (int i = t->events.len / 2 - 1; i >= 0; i--) sift_down(t, i, t->events.at[i]);
}

// ---- what both do --------------------------------------------------------------------------------------------------

static int64_t ready_time(Timeline *t, const Node *node) {
  int64_t ready = 0;
  for (int e = node->in; e != NONE; e = t->edges.at[e].next_in) ready = max_i64(ready, end_of(t, &t->nodes.at[t->edges.at[e].from])), t->effort++;
  return ready;
}

// When a task that is in its place ends.
static int64_t end_time(const Timeline *t, const Node *node) {
  int64_t start = ready_of(t, node);
  if (node->prev != NONE && node->task.resource != TIMELINE_NO_RESOURCE) start = max_i64(start, end_of(t, &t->nodes.at[node->prev]));
  return start + node->task.duration;
}

static void find_end(const Timeline *t, Node *node) { node->when.end = end_time(t, node) - offset_of(t, node); }

// ---- full ----------------------------------------------------------------------------------------------------------

// Stretches of about as many tasks.
enum { MOST_STRETCHES = 128, LEAST_TASKS = 16 };

static void forget_times(Timeline *t) {
  const int most = t->n_alive / LEAST_TASKS + 1 < MOST_STRETCHES ? t->n_alive / LEAST_TASKS + 1 : MOST_STRETCHES;
  if (most > t->most_stretches) t->first = NEW_ARRAY(t->arena, int, (t->n_queues + 1) * most), t->most_stretches = most;
  for (int i = 0; i < (t->n_queues + 1) * t->most_stretches; i++) t->first[i] = NONE;
  for (int i = 0; i <= t->n_queues; i++) t->queues[i] = (Queue){NONE, NONE, NONE};
  t->stretches.len = t->touched.len = t->events.len = 0;
  for (int i = 0; i < t->nodes.len; i++) {
    Node *node = &t->nodes.at[i];
    if (!node->alive) continue;
    node->missing = 0;
    node->queued = NONE;
    node->when = (When){0, 0, 0};
    for (int e = node->in; e != NONE; e = t->edges.at[e].next_in) node->missing++;
    if (node->missing == 0) events_push(t, 0, i);
  }
}

// That of the next task: a new one where the last has enough, and the time is another one.
static int next_stretch(Timeline *t, int64_t ready, int *tasks) {
  if (t->stretches.len == 0 || (*tasks >= t->n_alive / t->most_stretches && ready > t->clock && t->stretches.len < t->most_stretches)) {
    vec_push(t->arena, &t->stretches, (Stretch){ready, 0, 0});
    *tasks = 0;
  }
  ++*tasks;
  t->clock = ready;
  return t->stretches.len - 1;
}

int64_t timeline_run(Timeline *t) {
  int tasks = 0;
  timeline_keep(t);
  t->changed = 0;
  forget_times(t);
  while (t->events.len > 0) {
    const int task = events_pop(t).task;
    Node *node = &t->nodes.at[task];
    node->queued = NONE;
    node->when.stretch = next_stretch(t, node->when.ready, &tasks);
    queue_put_behind(t, task, t->queues[queue_of(t, node)].last);
    find_end(t, node);
    for (int e = node->out; e != NONE; e = t->edges.at[e].next_out) {
      Node *next = &t->nodes.at[t->edges.at[e].to];
      next->when.ready = max_i64(next->when.ready, node->when.end);
      if (--next->missing == 0) events_push(t, next->when.ready, t->edges.at[e].to);
      t->effort++;
    }
  }
  return timeline_end(t);
}

// ---- delta ---------------------------------------------------------------------------------------------------------

// The event at which a task is looked at: when it was ready or, where it is ready earlier now, then.
void timeline_plan_event(Timeline *t, int task) {
  Node *node = &t->nodes.at[task];
  int64_t at = node->missing > 0 ? INT64_MAX : ready_time(t, node);
  if (node->placed) at = min_i64(at, ready_of(t, node));
  else node->when.ready = at;
  if (at < INT64_MAX) events_push(t, at, task);
}

// A task before this one, which has its times, ends at another time.
static void end_moved(Timeline *t, int task, int64_t from, int64_t to) {
  Node *node = &t->nodes.at[task];
  const int64_t ready = ready_of(t, node), seen = node->queued == NONE ? ready : min_i64(ready, node->queued);
  t->effort++;
  if (to > from && to > ready) {
    if (node->placed) events_push(t, ready, task);
    else node->when.ready = to;
  }
  if (to < from && from >= seen && node->missing == 0) timeline_plan_event(t, task);
}

bool timeline_is_settled(const Timeline *t, int task) {
  const Node *node = &t->nodes.at[task];
  return end_time(t, node) == end_of(t, node);
}

static void next_is_looked_at(Timeline *t, const Node *node) {
  if (node->next != NONE && !timeline_is_settled(t, node->next)) events_push(t, ready_of(t, &t->nodes.at[node->next]), node->next);
}

static void remember_end(const Timeline *t, Node *node) {
  node->was = end_was(t, node);
  node->round = t->round;
}

static void vote(Timeline *t, const Node *node) {
  const int64_t was = end_was(t, node);
  if (was != NEVER) timeline_vote(t, end_of(t, node) - was);
}

// A task in its place ends when it does now. was: its end as others know it.
static void settle(Timeline *t, Node *node, int64_t was) {
  find_end(t, node);
  const int64_t end = end_of(t, node);
  next_is_looked_at(t, node);
  if (end == was) return;
  vote(t, node);
  for (int e = node->out; e != NONE; e = t->edges.at[e].next_out) end_moved(t, t->edges.at[e].to, was, end);
}

static void take_out(Timeline *t, int task) {
  Node *node = &t->nodes.at[task];
  timeline_log(t, (Change){.kind = TASK_TAKEN, .item = task, .prev = node->prev, .when = node->when});
  remember_end(t, node);
  queue_take(t, task);
  next_is_looked_at(t, node);
  node->when.stretch = 0;
}

static void put_in(Timeline *t, int task, int64_t ready) {
  Node *node = &t->nodes.at[task];
  node->when.stretch = t->stretch;
  node->when.ready = ready - offset_of(t, node);
  queue_put(t, task);
  timeline_log(t, (Change){.kind = TASK_PUT, .item = task});
}

void timeline_withdraw(Timeline *t, int task) {
  const Node *node = &t->nodes.at[task];
  const int64_t was = ready_of(t, node) - t->stretches.at[node->when.stretch].moved;
  take_out(t, task);
  for (int e = node->out; e != NONE; e = t->edges.at[e].next_out) {
    const int behind = t->edges.at[e].to;
    Node *next = &t->nodes.at[behind];
    if (next->missing++ == 0) timeline_log(t, (Change){.kind = TASK_LACKS, .item = behind});
    if (next->placed) events_push(t, ready_of(t, next), behind);
    t->effort++;
  }
  timeline_plan_event(t, task);
  if (node->when.ready < INT64_MAX) timeline_vote(t, node->when.ready - was);
}

static void enter(Timeline *t, int task, int64_t ready) {
  put_in(t, task, ready);
  Node *node = &t->nodes.at[task];
  find_end(t, node);
  next_is_looked_at(t, node);
  vote(t, node);
  for (int e = node->out; e != NONE; e = t->edges.at[e].next_out) {
    t->effort++;
    if (--t->nodes.at[t->edges.at[e].to].missing == 0) timeline_plan_event(t, t->edges.at[e].to);
  }
}

static void move_forward(Timeline *t, int task, int64_t ready) {
  const int64_t was = end_of(t, &t->nodes.at[task]);
  take_out(t, task);
  put_in(t, task, ready);
  settle(t, &t->nodes.at[task], was);
}

static void stay(Timeline *t, int task) {
  Node *node = &t->nodes.at[task];
  const When was = node->when;
  const int64_t end = end_of(t, node);
  remember_end(t, node);
  settle(t, node, end);
  if (end_of(t, node) != end) timeline_log(t, (Change){.kind = TASK_ENDS, .item = task, .when = was});
}

// One that is not placed knows when it is ready, as soon as it lacks nothing.
static void look_at_waiting(Timeline *t, int task, int64_t time) {
  const Node *node = &t->nodes.at[task];
  if (node->missing > 0) return;
  if (node->when.ready == time) enter(t, task, time);
  else events_push(t, node->when.ready, task);
}

static void look_at_placed(Timeline *t, int task, int64_t time) {
  const Node *node = &t->nodes.at[task];
  const int64_t ready = node->missing > 0 ? INT64_MAX : ready_time(t, node), was = ready_of(t, node);
  if (ready < was && ready == time) move_forward(t, task, ready);
  else if (time < was) events_push(t, min_i64(ready, was), task); // what is before it ends later than it seemed
  else if (ready > time) timeline_withdraw(t, task);
  else stay(t, task);
}

int64_t timeline_update(Timeline *t, int64_t limit, const int64_t *after) {
  t->clock = NONE;
  t->stretch = t->votes = t->patience = 0;
  t->moved = t->likely = 0;
  for (int i = 0; i < t->touched.len; i++)
    if (t->nodes.at[t->touched.at[i]].alive) timeline_plan_event(t, t->touched.at[i]);
  t->touched.len = 0;
  while (timeline_follow(t)) {
    const Event event = events_pop(t);
    if (t->nodes.at[event.task].queued != event.time) continue; // there was an earlier one
    t->nodes.at[event.task].queued = NONE;
    t->clock = event.time;
    t->effort++;
    const Node *node = &t->nodes.at[event.task];
    if (node->placed) look_at_placed(t, event.task, event.time);
    else look_at_waiting(t, event.task, event.time);
    if (node->placed && ready_of(t, node) == event.time && end_of(t, node) > limit - after[node->task.kind]) return INT64_MAX;
  }
  const int64_t end = timeline_end(t);
  return end > limit ? INT64_MAX : end;
}
