#include "streams.h"

#include <math.h>

// Ranks do different things only along axes that some step is pinned on: one rank stands for all that differ along others.
typedef struct Clock {
  int rank;
  double now[2];  // by Stream
  double *event;  // by event: when it is recorded
} Clock;

typedef struct Run {
  Arena *arena;
  const Program *program;
  Streams *streams; // gets what runs; NULL: only the time is asked for
  int n;
  Clock *clock;  // by rank of streams
  double *start; // of the step at hand
} Run;

static uint32_t pinned_axes(const Program *p) {
  uint32_t axes = 0;
  for (int k = PROC_BEGIN; k <= PROC_UPDATE; k++)
    for (int i = 0; i < p->procedure[k].steps.len; i++)
      for (int a = 0; a < p->mesh.n_axes; a++)
        if (p->procedure[k].steps.at[i]->pin[a] >= 0) axes |= 1u << a;
  return axes;
}

static bool runs(const Run *run, const Step *step, int rank) {
  const Mesh *mesh = &run->program->mesh;
  for (int a = 0; a < mesh->n_axes; a++)
    if (step->pin[a] >= 0 && step->pin[a] != mesh_coordinate(mesh, rank, 1u << a)) return false;
  return true;
}

static double seconds_of(const Step *step) {
  double seconds = 0;
  for (int i = 0; i < step->parts.len; i++) seconds += step->parts.at[i].seconds;
  return seconds;
}

// Of a step that runs on a rank: when all that take part are there.
static double begin(const Run *run, const Step *step, int rank) {
  const Stream stream = step_stream(step);
  const Mesh *mesh = &run->program->mesh;
  double latest = 0;
  const uint32_t others = step->kind == STEP_COLLECTIVE ? ~step->collective->axes & ((1u << mesh->n_axes) - 1) : 0;
  for (int i = 0; i < run->n; i++) {
    const Clock *clock = &run->clock[i];
    const bool together = step->kind == STEP_COLLECTIVE ? mesh_coordinate(mesh, clock->rank, others) == mesh_coordinate(mesh, rank, others) : clock->rank == rank;
    if (together && runs(run, step, clock->rank)) latest = fmax(latest, clock->now[stream]);
  }
  return latest;
}

static void run_work(Run *run, const Step *step, ProcedureKind procedure) {
  const Stream stream = step_stream(step);
  const double seconds = seconds_of(step);
  for (int i = 0; i < run->n; i++) run->start[i] = begin(run, step, run->clock[i].rank);
  for (int i = 0; i < run->n; i++) {
    if (!runs(run, step, run->clock[i].rank)) continue;
    run->clock[i].now[stream] = run->start[i] + seconds;
    if (seconds > 0 && run->streams != NULL)
      vec_push(run->arena, &run->streams->ranks.at[i].spans[stream], ((StreamSpan){step, procedure, run->start[i], seconds}));
  }
}

static void run_step(Run *run, const Step *step, ProcedureKind procedure) {
  if (step_works(step)) run_work(run, step, procedure);
  for (int i = 0; i < run->n; i++) {
    Clock *clock = &run->clock[i];
    if (step->kind == STEP_RECORD) clock->event[step->sync.event] = clock->now[step->sync.stream];
    if (step->kind == STEP_WAIT) clock->now[step->sync.stream] = fmax(clock->now[step->sync.stream], clock->event[step->sync.event]);
  }
}

static void run_procedure(Run *run, ProcedureKind kind) {
  const Procedure *procedure = &run->program->procedure[kind];
  for (int i = 0; i < procedure->steps.len; i++) run_step(run, procedure->steps.at[i], kind);
}

static Run run_new(Arena *arena, const Program *p, Streams *streams) {
  const uint32_t axes = pinned_axes(p);
  Run run = {.arena = arena, .program = p, .streams = streams, .n = mesh_parts(&p->mesh, axes)};
  if (run.n > STREAMS_MAX_RANKS) return run;
  run.clock = NEW_ARRAY(arena, Clock, run.n);
  run.start = NEW_ARRAY(arena, double, run.n);
  for (int i = 0; i < run.n; i++) run.clock[i] = (Clock){.rank = mesh_rank_at(&p->mesh, axes, i), .event = NEW_ARRAY(arena, double, p->n_events)};
  return run;
}

// Returns when all have ended.
static double run_all(Run *run) {
  double end = 0;
  run_procedure(run, PROC_BEGIN);
  for (int micro = 0; micro < run->program->microbatches; micro++) {
    run_procedure(run, PROC_FORWARD);
    run_procedure(run, PROC_BACKWARD);
  }
  run_procedure(run, PROC_COMBINE);
  run_procedure(run, PROC_UPDATE);
  for (int i = 0; i < run->n; i++) end = fmax(end, fmax(run->clock[i].now[STREAM_COMPUTE], run->clock[i].now[STREAM_COMM]));
  return end;
}

Streams streams_of_program(Arena *arena, const Program *p) {
  Streams streams = {0};
  Run run = run_new(arena, p, &streams);
  if (run.n > STREAMS_MAX_RANKS) return streams;
  for (int i = 0; i < run.n; i++) vec_push(arena, &streams.ranks, (RankStreams){.rank = run.clock[i].rank});
  streams.seconds = run_all(&run);
  return streams;
}

double streams_seconds(const Program *p) {
  Arena *arena = arena_new();
  Run run = run_new(arena, p, NULL);
  const double seconds = run.n > STREAMS_MAX_RANKS ? NAN : run_all(&run);
  arena_free(arena);
  return seconds;
}
