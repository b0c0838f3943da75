// The rest of the time line as one: what makes delta simulation look at few tasks.
//
// A change early in a step moves nearly all that comes later, and nearly all of it by the same time. So what is to come is not looked at
// task by task, but moved at once, in time that does not depend on how much there is: by the offsets of its stretches. Tasks that do not
// move with it are then those that changed, and are looked at as any others.
//
// Moving the rest from a stretch on leaves times between the tasks that move as they are, and so with those that do not. What has to be
// looked at is where the two meet: a task that stays and ends no sooner than the rest begins is before one that moves, or just before it
// on its resource. If it is moved by as much itself, nothing has changed for what is behind it. It is never wrong to move the rest, by
// whatever time; it helps where few tasks stay.
#include "timeline_state.h"

enum {
  MOST_VOTES = 16,  // that count
  ENOUGH_VOTES = 4, // to move the rest
};

void timeline_shift(Timeline *t, int stretch, int64_t by) {
  for (int i = stretch; i < t->stretches.len; i++) {
    t->stretches.at[i].offset += by;
    t->stretches.at[i].moved += by;
  }
}

// By how much most of the tasks are moved that were looked at lately. (Boyer, Moore: MJRTY, a fast majority vote algorithm, 1981; only the
// last some count.)
void timeline_vote(Timeline *t, int64_t moved) {
  if (t->votes == 0) t->likely = moved;
  if (moved != t->likely) t->votes--;
  else if (t->votes < MOST_VOTES) t->votes++;
}

// The tasks before a stretch that end no sooner than it begins when it is moved; and those that are ready no sooner.
static void find_crossing(Timeline *t, int stretch, int64_t by) {
  const int64_t low = stretch_begin(t, stretch) + min_i64(by, 0);
  t->crossing.len = t->late.len = 0;
  for (int q = 0; q <= t->n_queues; q++) {
    const int first = t->first[q * t->most_stretches + stretch];
    for (int i = first == NONE ? t->queues[q].last : t->nodes.at[first].prev; i != NONE; i = t->nodes.at[i].prev) {
      const Node *node = &t->nodes.at[i];
      if (ready_of(t, node) >= low) vec_push(t->arena, &t->late, i);
      else if (end_of(t, node) >= low) vec_push(t->arena, &t->crossing, i);
      else if (q < t->n_queues || ready_of(t, node) + t->longest_free < low) break;
    }
  }
  t->effort += t->n_queues + t->crossing.len + t->late.len;
}

static bool moves_by(const Timeline *t, const Node *node, int64_t moved) {
  const int64_t was = end_was(t, node);
  return was != NEVER && end_of(t, node) - was == moved;
}

static bool is_worth_it(const Timeline *t, int64_t by) {
  int stay = t->late.len, move = 0;
  for (int i = 0; i < t->crossing.len; i++)
    if (moves_by(t, &t->nodes.at[t->crossing.at[i]], t->moved + by)) move++;
    else stay++;
  return stay <= move;
}

static void touch_behind(Timeline *t, int task, int stretch) {
  for (int e = t->nodes.at[task].out; e != NONE; e = t->edges.at[e].next_out) {
    const int behind = t->edges.at[e].to;
    if (t->nodes.at[behind].placed && t->nodes.at[behind].when.stretch >= stretch) vec_push(t->arena, &t->touched, behind);
    t->effort++;
  }
}

// The first of the rest on each resource, where it does not start when it can.
static void touch_first(Timeline *t, int stretch) {
  for (int q = 0; q < t->n_queues; q++) {
    const int first = t->first[q * t->most_stretches + stretch];
    if (first != NONE && !timeline_is_settled(t, first)) vec_push(t->arena, &t->touched, first);
  }
}

// Events of tasks that move are planned anew; so are those of tasks that wait for them.
static void take_events(Timeline *t, int stretch) {
  const int64_t begin = stretch_begin(t, stretch);
  int kept = 0;
  for (int i = 0; i < t->events.len; i++) {
    const Event event = t->events.at[i];
    Node *node = &t->nodes.at[event.task];
    if (node->queued != event.time) continue;
    if (node->placed ? node->when.stretch < stretch : node->missing == 0 && node->when.ready < begin) {
      t->events.at[kept++] = event;
    } else {
      node->queued = NONE;
      vec_push(t->arena, &t->touched, event.task);
    }
  }
  t->events.len = kept;
  events_order(t);
}

static void move_rest(Timeline *t, int stretch, int64_t by) {
  const int64_t begin = stretch_begin(t, stretch) + by;
  for (int i = 0; i < t->late.len; i++) timeline_withdraw(t, t->late.at[i]);
  for (int i = stretch - 1; stretch_begin(t, i) > begin; i--) { // those that are empty now
    timeline_log(t, (Change){.kind = STRETCH_BEGINS, .item = i, .time = t->stretches.at[i].begin});
    t->stretches.at[i].begin = begin - t->stretches.at[i].offset;
  }
  take_events(t, stretch);
  for (int i = 0; i < t->crossing.len; i++)
    if (!moves_by(t, &t->nodes.at[t->crossing.at[i]], t->moved + by)) touch_behind(t, t->crossing.at[i], stretch);
  timeline_shift(t, stretch, by);
  timeline_log(t, (Change){.kind = REST_SHIFTED, .item = stretch, .time = by});
  t->moved += by;
  touch_first(t, stretch);
  for (int i = 0; i < t->touched.len; i++) timeline_plan_event(t, t->touched.at[i]);
  t->touched.len = 0;
}

// The first stretch all of whose tasks are to come, moved or not, if its time has come.
static int stretch_at_hand(const Timeline *t, int64_t by) {
  int i = t->stretch + 1;
  while (i < t->stretches.len && stretch_begin(t, i) + min_i64(by, 0) <= t->clock) i++;
  return i < t->stretches.len && t->events.at[0].time >= stretch_begin(t, i) + min_i64(by, 0) ? i : NONE;
}

// The next attempt waits until as many tasks have been looked at as this one took.
static void try_to_move(Timeline *t, int stretch, int64_t by) {
  find_crossing(t, stretch, by);
  if (is_worth_it(t, by)) move_rest(t, stretch, by);
  else t->patience = t->n_queues + t->crossing.len;
}

bool timeline_follow(Timeline *t) {
  const int64_t by = t->likely - t->moved;
  if (t->patience > 0) t->patience--;
  if (by != 0 && t->votes >= ENOUGH_VOTES && t->patience == 0 && t->events.len > 0) {
    const int stretch = stretch_at_hand(t, by);
    if (stretch != NONE) try_to_move(t, stretch, by);
  }
  if (t->events.len == 0) return false;
  while (t->stretch + 1 < t->stretches.len && t->events.at[0].time >= stretch_begin(t, t->stretch + 1)) t->stretch++;
  return true;
}
