// An event engine: tasks on resources, first come first served, and when each of them runs. (Jia, Zaharia, Aiken: Beyond Data and
// Model Parallelism for Deep Neural Networks, MLSys 2019, section 5.)
//
// A task is ready when all tasks before it have ended, at 0 where there are none. A resource runs one task at a time, in the order
// of the times at which they are ready; of tasks that are ready at the same time the one with the smaller key is first. Times are
// whole numbers (picoseconds, say), so that the same tasks run at the same times in whatever order they are looked at.
//
//   timeline_run      full simulation: of all tasks
//   timeline_update   delta simulation: of those whose times change with what was added and removed; bit for bit the same
#ifndef PARCC_PASSES_SIM_TIMELINE_H
#define PARCC_PASSES_SIM_TIMELINE_H

#include "../../ir/base.h"

typedef struct Timeline Timeline;

// NO_RESOURCE: of a task that waits for no other one, as where several meet. Some task is behind it.
enum { TIMELINE_NO_RESOURCE = -1 };

typedef struct TimelineTask {
  int64_t duration; // at least 1
  uint64_t key;     // no two tasks have the same
  int resource;
  int kind;         // of the caller's: see timeline_update
} TimelineTask;

typedef struct TimelineSpan { int64_t ready, start, end; } TimelineSpan;

Timeline *timeline_new(Arena *arena, int n_resources);

// Changes. Tasks are called by the number that timeline_add gives; that of one that was removed may be given again once this
// is kept.
int timeline_add(Timeline *timeline, TimelineTask task);
void timeline_order(Timeline *timeline, int before, int after); // no task is before itself, over others neither
void timeline_remove(Timeline *timeline, int task);             // with its place before and after others; not of one that is new

// Each gives the time at which all have ended. Where that is above `limit` timeline_update gives INT64_MAX, and times that mean nothing
// until timeline_undo. after: by kind of task, what it takes at least from the end of one of them until all have ended: so that it is
// seen early that it will be too late.
int64_t timeline_run(Timeline *timeline); // and keeps all changes
int64_t timeline_update(Timeline *timeline, int64_t limit, const int64_t *after);
void timeline_keep(Timeline *timeline);
// Takes back all changes since the last that were kept, and the update, if there was one.
void timeline_undo(Timeline *timeline);

// Of a task, after one of the runs.
TimelineSpan timeline_span(const Timeline *timeline, int task);
int timeline_tasks(const Timeline *timeline); // how many there are
// How many times of tasks were looked at by all runs: their effort, the same every time.
int64_t timeline_effort(const Timeline *timeline);

#endif
