// What the files of the engine share: tasks, their order, the queue of each resource, and the list of what was changed.
#ifndef PARCC_PASSES_SIM_TIMELINE_STATE_H
#define PARCC_PASSES_SIM_TIMELINE_STATE_H

#include "timeline.h"

enum { NONE = -1 };

// One task is before another. In two lists: what is behind the first, and what is before the second.
typedef struct Edge {
  int from, to;
  int next_out, prev_out, next_in, prev_in;
} Edge;

typedef struct Node {
  TimelineTask task;
  TimelineSpan span;
  int64_t queued; // the time of its event that counts; NONE: there is none
  int next, prev; // in the queue of its resource
  int out, in;    // edges; of a number that is free: out is the next free one
  int missing;    // tasks before it whose times are not known
  bool alive;
  bool placed;    // its times are known, and it is in the queue of its resource
} Node;

typedef struct Queue {
  int first, last;
  int near; // a task about where the next one will be put in; NONE: before the first
} Queue;

typedef struct Event {
  int64_t time;
  uint64_t key;
  int task;
} Event;

// What is undone: in the reverse order.
typedef enum ChangeKind { TASK_ADDED, TASK_REMOVED, EDGE_ADDED, TASK_TAKEN, TASK_PUT, SPAN_CHANGED, TASK_LACKS } ChangeKind;
typedef struct Change {
  ChangeKind kind;
  int item;          // a task or an edge
  int prev;          // TASK_TAKEN: behind which task it was
  TimelineSpan span; // TASK_TAKEN, SPAN_CHANGED: as it was
} Change;

struct Timeline {
  Arena *arena;
  VEC(Node) nodes;
  VEC(Edge) edges;
  Queue *queues;
  int n_queues;
  int free_node, free_edge; // lists of numbers; NONE: empty
  int n_alive;
  VEC(Event) events;   // a heap
  VEC(int) touched;    // tasks to be looked at by the next update
  VEC(Change) changes; // since the last that were kept
  int64_t effort;
};

void timeline_log(Timeline *t, Change change);
// The queue of a task's resource: takes it out; puts it where it belongs; puts it behind a task.
void queue_take(Timeline *t, int task);
void queue_put(Timeline *t, int task);
void queue_put_behind(Timeline *t, int task, int prev);
// The heap of events.
void events_push(Timeline *t, int64_t time, int task);
Event events_pop(Timeline *t);
int64_t timeline_end(const Timeline *t); // of all

#endif
