// What the files of the engine share: tasks, their order, the queue of each resource, stretches of time, and the list of what was changed.
//
// The time line is cut into stretches, by when tasks are ready: a task is in the last stretch that begins no later. The times of its
// tasks are those that they hold and the offset of the stretch, so that all from one of them on are moved at once (timeline_shift.c).
#ifndef PARCC_PASSES_SIM_TIMELINE_STATE_H
#define PARCC_PASSES_SIM_TIMELINE_STATE_H

#include "timeline.h"

enum { NONE = -1 };

// One task is before another. In two lists: what is behind the first, and what is before the second.
typedef struct Edge {
  int from, to;
  int next_out, prev_out, next_in, prev_in;
} Edge;

// Times in the stretch, without its offset.
typedef struct When {
  int64_t ready, end;
  int stretch; // the first, whose offset is 0, for one that is not placed
} When;

typedef struct Node {
  TimelineTask task;
  When when;
  int64_t queued; // the time of its event that counts; NONE: there is none
  int64_t was;    // its end when changes were last kept, if `round` is that of the changes at hand; NEVER: there was no such task
  int round;
  int next, prev; // in the queue of its resource
  int out, in;    // edges; of a number that is free: out is the next free one
  int missing;    // tasks before it whose times are not known
  bool alive;
  bool placed;    // its times are known, and it is in the queue of its resource
} Node;

#define NEVER INT64_MIN

typedef struct Queue {
  int first, last;
  int near; // a task about where the next one will be put in; NONE: before the first
} Queue;

typedef struct Stretch {
  int64_t begin, offset;
  int64_t moved; // how much of the offset is of the changes at hand
} Stretch;

typedef struct Event {
  int64_t time;
  uint64_t key;
  int task;
} Event;

// What is undone: in the reverse order.
typedef enum ChangeKind {
  TASK_ADDED,
  TASK_REMOVED,
  EDGE_ADDED,
  TASK_TAKEN,
  TASK_PUT,
  TASK_ENDS, // at another time
  TASK_LACKS,
  REST_SHIFTED,
  STRETCH_BEGINS,
} ChangeKind;
typedef struct Change {
  ChangeKind kind;
  int item;     // a task, an edge or a stretch
  int prev;     // TASK_TAKEN: behind which task it was
  When when;    // TASK_TAKEN, TASK_ENDS: as it was
  int64_t time; // REST_SHIFTED: by how much; STRETCH_BEGINS: when it did
} Change;

struct Timeline {
  Arena *arena;
  VEC(Node) nodes;
  VEC(Edge) edges;
  Queue *queues; // of the resources; then one of what waits for no other task
  int n_queues;
  int free_node, free_edge; // lists of numbers; NONE: empty
  int n_alive;
  int64_t longest_free;     // of all that wait for no other task
  VEC(Stretch) stretches;
  int *first, most_stretches; // [queues][most_stretches]: the first task of the queue in the stretch or a later one
  VEC(Event) events;   // a heap
  VEC(int) touched;    // tasks to be looked at by the next update
  VEC(Change) changes; // since the last that were kept
  int round;           // counts times that changes were kept or undone
  int64_t changed;     // length of changes that were kept since all were simulated
  // of the update at hand
  int64_t clock;       // the time of the last event
  int stretch;         // in which it was
  int64_t moved;       // by how much what is behind was moved
  int64_t likely;      // by how much most tasks were lately, and by how many they are more than the others
  int votes;
  int patience;        // events until the next attempt to move the rest
  VEC(int) crossing, late;
  int64_t effort;
};

static inline int queue_of(const Timeline *t, const Node *node) { return node->task.resource == TIMELINE_NO_RESOURCE ? t->n_queues : node->task.resource; }
static inline int64_t offset_of(const Timeline *t, const Node *node) { return t->stretches.at[node->when.stretch].offset; }
static inline int64_t ready_of(const Timeline *t, const Node *node) { return node->when.ready + offset_of(t, node); }
static inline int64_t end_of(const Timeline *t, const Node *node) { return node->when.end + offset_of(t, node); }
static inline int64_t stretch_begin(const Timeline *t, int stretch) { return t->stretches.at[stretch].begin + t->stretches.at[stretch].offset; }
// Of a task that was placed when changes were last kept.
static inline int64_t end_was(const Timeline *t, const Node *node) {
  return node->round == t->round ? node->was : end_of(t, node) - t->stretches.at[node->when.stretch].moved;
}

void timeline_log(Timeline *t, Change change);
// The queue of a task's resource: takes it out; puts it where it belongs; puts it behind a task.
void queue_take(Timeline *t, int task);
void queue_put(Timeline *t, int task);
void queue_put_behind(Timeline *t, int task, int prev);
// The heap of events.
void events_push(Timeline *t, int64_t time, int task);
Event events_pop(Timeline *t);
void events_order(Timeline *t); // after they were changed
int64_t timeline_end(const Timeline *t); // of all

// The steps of delta simulation that moving the rest takes, too.
// Gives a task an event at the time at which it is to be looked at.
void timeline_plan_event(Timeline *t, int task);
// Takes a task out until its own time comes: all behind it lack its end.
void timeline_withdraw(Timeline *t, int task);

// Whether a task ends when it does by its own ready time and the one before it on its resource.
bool timeline_is_settled(const Timeline *t, int task);

// Before the next event: moves the rest of the time line where most of it is moved, and finds the stretch of the event. False: there is
// no event any more.
bool timeline_follow(Timeline *t);
// A task that is looked at is moved by so much.
void timeline_vote(Timeline *t, int64_t moved);
// All from a stretch on, by so much.
void timeline_shift(Timeline *t, int stretch, int64_t by);

#endif
