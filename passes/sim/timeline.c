// Tasks, their order and the queues of resources: what changes, and how it is undone.
#include "timeline_state.h"

Timeline *timeline_new(Arena *arena, int n_resources) {
  Timeline *t = NEW(arena, Timeline);
  *t = (Timeline){.arena = arena, .n_queues = n_resources, .free_node = NONE, .free_edge = NONE, .round = 1};
  t->queues = NEW_ARRAY(arena, Queue, n_resources + 1);
  return t;
}

TimelineSpan timeline_span(const Timeline *t, int task) {
  const Node *node = &t->nodes.at[task];
  const int64_t end = end_of(t, node);
  return (TimelineSpan){ready_of(t, node), end - node->task.duration, end};
}
int timeline_tasks(const Timeline *t) { return t->n_alive; }
int64_t timeline_effort(const Timeline *t) { return t->effort; }

void timeline_log(Timeline *t, Change change) { vec_push(t->arena, &t->changes, change); }

int64_t timeline_end(const Timeline *t) {
  int64_t end = 0;
  for (int i = 0; i < t->n_queues; i++)
    if (t->queues[i].last != NONE) end = max_i64(end, end_of(t, &t->nodes.at[t->queues[i].last]));
  return end;
}

// ---- the queue of a resource ---------------------------------------------------------------------------------------

static bool is_before(const Timeline *t, int task, int64_t ready, uint64_t key) {
  const Node *node = &t->nodes.at[task];
  const int64_t its = ready_of(t, node);
  return its != ready ? its < ready : node->task.key < key;
}

// The stretches up to that of a task, back to that of the one before it in its queue, have this as their first one there.
static void note_first(Timeline *t, int q, const Node *node, int first) {
  int *of = &t->first[q * t->most_stretches];
  for (int i = node->prev == NONE ? 0 : t->nodes.at[node->prev].when.stretch + 1; i <= node->when.stretch; i++) of[i] = first;
}

void queue_take(Timeline *t, int task) {
  Node *node = &t->nodes.at[task];
  const int index = queue_of(t, node);
  Queue *q = &t->queues[index];
  note_first(t, index, node, node->next);
  *(node->prev == NONE ? &q->first : &t->nodes.at[node->prev].next) = node->next;
  *(node->next == NONE ? &q->last : &t->nodes.at[node->next].prev) = node->prev;
  q->near = node->prev;
  node->placed = false;
}

void queue_put_behind(Timeline *t, int task, int prev) {
  Node *node = &t->nodes.at[task];
  const int index = queue_of(t, node);
  Queue *q = &t->queues[index];
  int *link = prev == NONE ? &q->first : &t->nodes.at[prev].next;
  node->prev = prev;
  node->next = *link;
  *link = task;
  *(node->next == NONE ? &q->last : &t->nodes.at[node->next].prev) = task;
  q->near = task;
  node->placed = true;
  note_first(t, index, node, task);
}

// Tasks come in the order of their times, most of them: the next place is near the last one.
void queue_put(Timeline *t, int task) {
  const Node *nodes = t->nodes.at, *node = &nodes[task];
  const Queue *q = &t->queues[queue_of(t, node)];
  const int64_t ready = ready_of(t, node);
  const uint64_t key = node->task.key;
  int prev = q->near;
  while (prev != NONE && !is_before(t, prev, ready, key)) prev = nodes[prev].prev;
  for (int next = prev == NONE ? q->first : nodes[prev].next; next != NONE && is_before(t, next, ready, key); next = nodes[next].next) prev = next;
  queue_put_behind(t, task, prev);
}

// ---- edges ---------------------------------------------------------------------------------------------------------

static void edge_link_out(Timeline *t, int e) {
  Edge *edge = &t->edges.at[e];
  *(edge->prev_out == NONE ? &t->nodes.at[edge->from].out : &t->edges.at[edge->prev_out].next_out) = e;
  if (edge->next_out != NONE) t->edges.at[edge->next_out].prev_out = e;
}

static void edge_link_in(Timeline *t, int e) {
  Edge *edge = &t->edges.at[e];
  *(edge->prev_in == NONE ? &t->nodes.at[edge->to].in : &t->edges.at[edge->prev_in].next_in) = e;
  if (edge->next_in != NONE) t->edges.at[edge->next_in].prev_in = e;
}

// What is taken out keeps its neighbours, so that it finds its place again where all that was changed later is undone.
static void edge_unlink_out(Timeline *t, int e) {
  const Edge *edge = &t->edges.at[e];
  *(edge->prev_out == NONE ? &t->nodes.at[edge->from].out : &t->edges.at[edge->prev_out].next_out) = edge->next_out;
  if (edge->next_out != NONE) t->edges.at[edge->next_out].prev_out = edge->prev_out;
}

static void edge_unlink_in(Timeline *t, int e) {
  const Edge *edge = &t->edges.at[e];
  *(edge->prev_in == NONE ? &t->nodes.at[edge->to].in : &t->edges.at[edge->prev_in].next_in) = edge->next_in;
  if (edge->next_in != NONE) t->edges.at[edge->next_in].prev_in = edge->prev_in;
}

static int take_number(int *free, int next) {
  const int number = *free;
  *free = next;
  return number;
}

static void edge_free(Timeline *t, int e) {
  t->edges.at[e].next_out = t->free_edge;
  t->free_edge = e;
}

static void node_free(Timeline *t, int task) {
  t->nodes.at[task].out = t->free_node;
  t->free_node = task;
}

// ---- changes -------------------------------------------------------------------------------------------------------

static void touch(Timeline *t, int task) { vec_push(t->arena, &t->touched, task); }

int timeline_add(Timeline *t, TimelineTask task) {
  int number = t->nodes.len;
  if (task.duration < 1) fatal("timeline: a task that takes no time");
  if (t->free_node == NONE) vec_push(t->arena, &t->nodes, (Node){0});
  else number = take_number(&t->free_node, t->nodes.at[t->free_node].out);
  t->nodes.at[number] = (Node){.task = task, .queued = NONE, .next = NONE, .prev = NONE, .out = NONE, .in = NONE, .alive = true, .was = NEVER, .round = t->round};
  if (task.resource == TIMELINE_NO_RESOURCE) t->longest_free = max_i64(t->longest_free, task.duration);
  t->n_alive++;
  touch(t, number);
  timeline_log(t, (Change){.kind = TASK_ADDED, .item = number});
  return number;
}

void timeline_order(Timeline *t, int before, int after) {
  int e = t->edges.len;
  if (t->free_edge == NONE) vec_push(t->arena, &t->edges, (Edge){0});
  else e = take_number(&t->free_edge, t->edges.at[t->free_edge].next_out);
  Node *from = &t->nodes.at[before], *to = &t->nodes.at[after];
  t->edges.at[e] = (Edge){before, after, from->out, NONE, to->in, NONE};
  edge_link_out(t, e);
  edge_link_in(t, e);
  if (!from->placed && to->missing++ == 0) timeline_log(t, (Change){.kind = TASK_LACKS, .item = after});
  if (to->placed) touch(t, after);
  timeline_log(t, (Change){.kind = EDGE_ADDED, .item = e});
}

void timeline_remove(Timeline *t, int task) {
  Node *node = &t->nodes.at[task];
  if (!node->placed) fatal("timeline: what is removed has not been run");
  for (int e = node->in; e != NONE; e = t->edges.at[e].next_in) edge_unlink_out(t, e);
  for (int e = node->out; e != NONE; e = t->edges.at[e].next_out) {
    edge_unlink_in(t, e);
    touch(t, t->edges.at[e].to);
  }
  if (node->next != NONE && node->task.resource != TIMELINE_NO_RESOURCE) touch(t, node->next);
  timeline_log(t, (Change){.kind = TASK_TAKEN, .item = task, .prev = node->prev, .when = node->when});
  queue_take(t, task);
  node->alive = false;
  t->n_alive--;
  timeline_log(t, (Change){.kind = TASK_REMOVED, .item = task});
}

static void end_round(Timeline *t) {
  t->changes.len = 0;
  t->round++;
}

// Where much was changed, tasks are spread over stretches anew: the times are the same.
void timeline_keep(Timeline *t) {
  enum { ENOUGH = 32 };
  for (int i = 0; i < t->changes.len; i++) {
    const int task = t->changes.at[i].item;
    if (t->changes.at[i].kind != TASK_REMOVED) continue;
    // An edge between two that were removed is in the lists of the first of them only, which unlinked it from those of the other.
    for (int e = t->nodes.at[task].in, next; e != NONE; e = next) next = t->edges.at[e].next_in, edge_free(t, e);
    for (int e = t->nodes.at[task].out, next; e != NONE; e = next) next = t->edges.at[e].next_out, edge_free(t, e);
    node_free(t, task);
  }
  for (int i = 0; i < t->stretches.len; i++) t->stretches.at[i].moved = 0;
  t->changed += t->changes.len;
  end_round(t);
  if (t->changed <= ENOUGH * t->n_alive) return;
  t->changed = 0;
  timeline_run(t);
}

static void undo_removal(Timeline *t, int task) {
  Node *node = &t->nodes.at[task];
  int last_in = node->in, last_out = node->out;
  while (last_in != NONE && t->edges.at[last_in].next_in != NONE) last_in = t->edges.at[last_in].next_in;
  while (last_out != NONE && t->edges.at[last_out].next_out != NONE) last_out = t->edges.at[last_out].next_out;
  for (int e = last_out; e != NONE; e = t->edges.at[e].prev_out) edge_link_in(t, e);
  for (int e = last_in; e != NONE; e = t->edges.at[e].prev_in) edge_link_out(t, e);
  node->alive = true;
  t->n_alive++;
}

static void undo_edge(Timeline *t, int e) {
  edge_unlink_in(t, e);
  edge_unlink_out(t, e);
  edge_free(t, e);
}

void timeline_undo(Timeline *t) {
  for (int i = 0; i < t->events.len; i++) t->nodes.at[t->events.at[i].task].queued = NONE;
  t->events.len = t->touched.len = 0;
  for (int i = t->changes.len - 1; i >= 0; i--) {
    const Change *c = &t->changes.at[i];
    switch (c->kind) {
    case TASK_ADDED: node_free(t, c->item), t->nodes.at[c->item].alive = false, t->n_alive--; break;
    case TASK_REMOVED: undo_removal(t, c->item); break;
    case EDGE_ADDED: undo_edge(t, c->item); break;
    case TASK_TAKEN: t->nodes.at[c->item].when = c->when, queue_put_behind(t, c->item, c->prev); break;
    case TASK_PUT: queue_take(t, c->item); break;
    case TASK_ENDS: t->nodes.at[c->item].when = c->when; break;
    case TASK_LACKS: t->nodes.at[c->item].missing = 0; break;
    case REST_SHIFTED: timeline_shift(t, c->item, -c->time); break;
    case STRETCH_BEGINS: t->stretches.at[c->item].begin = c->time; break;
    }
  }
  end_round(t);
}
