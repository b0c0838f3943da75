// Full and delta simulation.
//
// Both go through events, in the order of their times: that of a task is when it is ready. A task ends later than it is ready, so
// what is before an event is settled when it comes, and each event needs to be looked at once.
//
// Delta simulation has events only for tasks whose times may change. At the time at which such a task was ready it is looked at: it
// stays, or it is taken out of the queue of its resource, and what is behind it in its order lacks its end from then on, and is
// looked at when its own time comes. At the time at which it is ready now it is put in again. So a task that changes is looked at
// twice, whatever comes in between; in FlexFlow's algorithm (section 5.3) it is as often as times before it change.
#include "timeline_state.h"

// ---- the heap of events --------------------------------------------------------------------------------------------

static bool comes_before(const Event *a, const Event *b) { return a->time != b->time ? a->time < b->time : a->key < b->key; }

void events_push(Timeline *t, int64_t time, int task) {
  Node *node = &t->nodes.at[task];
  if (node->queued == time) return;
  node->queued = time;
  const Event event = {time, node->task.key, task};
  vec_push(t->arena, &t->events, event);
  int i = t->events.len - 1;
  for (int up; i > 0 && comes_before(&event, &t->events.at[up = (i - 1) / 2]); i = up) t->events.at[i] = t->events.at[up];
  t->events.at[i] = event;
}

Event events_pop(Timeline *t) {
  Event *heap = t->events.at;
  const Event top = heap[0], last = heap[--t->events.len];
  const int n = t->events.len;
  int i = 0;
  for (int down; (down = 2 * i + 1) < n; i = down) {
    if (down + 1 < n && comes_before(&heap[down + 1], &heap[down])) down++;
    if (!comes_before(&heap[down], &last)) break;
    heap[i] = heap[down];
  }
  heap[i] = last;
  if (t->nodes.at[top.task].queued == top.time) t->nodes.at[top.task].queued = NONE;
  return top;
}

// ---- what both do --------------------------------------------------------------------------------------------------

static int64_t ready_time(Timeline *t, const Node *node) {
  int64_t ready = 0;
  for (int e = node->in; e != NONE; e = t->edges.at[e].next_in) ready = max_i64(ready, t->nodes.at[t->edges.at[e].from].span.end), t->effort++;
  return ready;
}

static int64_t start_time(const Timeline *t, const Node *node) {
  return node->prev == NONE ? node->span.ready : max_i64(node->span.ready, t->nodes.at[node->prev].span.end);
}

// ---- full ----------------------------------------------------------------------------------------------------------

int64_t timeline_run(Timeline *t) {
  timeline_keep(t);
  for (int i = 0; i < t->n_queues; i++) t->queues[i] = (Queue){NONE, NONE, NONE};
  t->touched.len = t->events.len = 0;
  for (int i = 0; i < t->nodes.len; i++) {
    Node *node = &t->nodes.at[i];
    if (!node->alive) continue;
    node->missing = 0;
    node->queued = NONE;
    node->span = (TimelineSpan){0, 0, 0};
    for (int e = node->in; e != NONE; e = t->edges.at[e].next_in) node->missing++;
    if (node->missing == 0) events_push(t, 0, i);
  }
  while (t->events.len > 0) {
    const int task = events_pop(t).task;
    Node *node = &t->nodes.at[task];
    const int resource = node->task.resource;
    queue_put_behind(t, task, resource == TIMELINE_NO_RESOURCE ? NONE : t->queues[resource].last);
    node->span.start = start_time(t, node);
    node->span.end = node->span.start + node->task.duration;
    for (int e = node->out; e != NONE; e = t->edges.at[e].next_out) {
      Node *next = &t->nodes.at[t->edges.at[e].to];
      next->span.ready = max_i64(next->span.ready, node->span.end);
      if (--next->missing == 0) events_push(t, next->span.ready, t->edges.at[e].to);
      t->effort++;
    }
  }
  return timeline_end(t);
}

// ---- delta ---------------------------------------------------------------------------------------------------------

// The event at which a task is looked at: when it was ready or, where it is ready earlier now, then.
static void plan_event(Timeline *t, int task) {
  Node *node = &t->nodes.at[task];
  int64_t at = node->missing > 0 ? INT64_MAX : ready_time(t, node);
  if (node->placed) at = min_i64(at, node->span.ready);
  else node->span.ready = at;
  if (at < INT64_MAX) events_push(t, at, task);
}

// A task before this one, which has its times, ends at another time. What is not placed yet finds out when its own time comes that it
// is too early.
static void end_moved(Timeline *t, int task, int64_t from, int64_t to) {
  const Node *node = &t->nodes.at[task];
  t->effort++;
  if (to > from && node->placed && to > node->span.ready) events_push(t, node->span.ready, task);
  if (to < from && from >= node->span.ready && node->missing == 0) plan_event(t, task);
}

static void next_is_looked_at(Timeline *t, const Node *node) {
  if (node->next != NONE) events_push(t, t->nodes.at[node->next].span.ready, node->next);
}

// Finds when a task that is in its place starts and ends. was: its end as others know it.
static void settle(Timeline *t, Node *node, int64_t was) {
  node->span.start = start_time(t, node);
  node->span.end = node->span.start + node->task.duration;
  if (node->span.end == was) return;
  for (int e = node->out; e != NONE; e = t->edges.at[e].next_out) end_moved(t, t->edges.at[e].to, was, node->span.end);
  next_is_looked_at(t, node);
}

static void take_out(Timeline *t, int task) {
  Node *node = &t->nodes.at[task];
  timeline_log(t, (Change){.kind = TASK_TAKEN, .item = task, .prev = node->prev, .span = node->span});
  next_is_looked_at(t, node);
  queue_take(t, task);
}

static void put_in(Timeline *t, int task, int64_t ready) {
  Node *node = &t->nodes.at[task];
  node->span.ready = ready;
  queue_put(t, task);
  timeline_log(t, (Change){.kind = TASK_PUT, .item = task});
  next_is_looked_at(t, node);
}

// A task is ready later than it was, at a time that is known or not: until then all behind it lack its end.
static void withdraw(Timeline *t, int task) {
  take_out(t, task);
  const Node *node = &t->nodes.at[task];
  for (int e = node->out; e != NONE; e = t->edges.at[e].next_out) {
    const int behind = t->edges.at[e].to;
    Node *next = &t->nodes.at[behind];
    if (next->missing++ == 0) timeline_log(t, (Change){.kind = TASK_LACKS, .item = behind});
    if (next->placed) events_push(t, next->span.ready, behind);
    t->effort++;
  }
  plan_event(t, task);
}

static void enter(Timeline *t, int task, int64_t ready) {
  put_in(t, task, ready);
  Node *node = &t->nodes.at[task];
  node->span.start = start_time(t, node);
  node->span.end = node->span.start + node->task.duration;
  for (int e = node->out; e != NONE; e = t->edges.at[e].next_out) {
    t->effort++;
    if (--t->nodes.at[t->edges.at[e].to].missing == 0) plan_event(t, t->edges.at[e].to);
  }
}

static void move_forward(Timeline *t, int task, int64_t ready) {
  const int64_t was = t->nodes.at[task].span.end;
  take_out(t, task);
  put_in(t, task, ready);
  settle(t, &t->nodes.at[task], was);
}

static void look_at(Timeline *t, int task, int64_t time) {
  Node *node = &t->nodes.at[task];
  const int64_t ready = node->missing > 0 ? INT64_MAX : ready_time(t, node);
  if (!node->placed || ready < node->span.ready) {
    if (ready != time) plan_event(t, task); // what is before it ends later than it seemed
    else if (node->placed) move_forward(t, task, ready);
    else enter(t, task, ready);
  } else if (time == node->span.ready) {
    if (ready > time) {
      withdraw(t, task);
    } else {
      const TimelineSpan was = node->span;
      settle(t, node, was.end);
      if (node->span.start != was.start) timeline_log(t, (Change){.kind = SPAN_CHANGED, .item = task, .span = was});
    }
  }
}

int64_t timeline_update(Timeline *t, int64_t limit, const int64_t *after) {
  for (int i = 0; i < t->touched.len; i++)
    if (t->nodes.at[t->touched.at[i]].alive) plan_event(t, t->touched.at[i]);
  t->touched.len = 0;
  while (t->events.len > 0) {
    const Event event = events_pop(t);
    t->effort++;
    look_at(t, event.task, event.time);
    const Node *node = &t->nodes.at[event.task];
    if (node->placed && node->span.ready == event.time && node->span.end > limit - after[node->task.kind]) return INT64_MAX;
  }
  const int64_t end = timeline_end(t);
  return end > limit ? INT64_MAX : end;
}
