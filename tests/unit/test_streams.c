// When steps run: streams, events, and ranks that wait for each other.
#include <string.h>

#include "../../passes/sim/streams.h"
#include "check.h"

typedef struct Fixture {
  Arena *arena;
  Program program;
} Fixture;

static Fixture *new_program(int ranks) {
  Arena *arena = arena_new();
  Fixture *f = NEW(arena, Fixture);
  f->arena = arena;
  f->program = (Program){.arena = arena, .mesh = {.n_axes = 2, .axis = {{"gpu", ranks}, {"batch", 1}}}, .n_events = 2, .microbatches = 1};
  return f;
}

static Step *add(Fixture *f, ProcedureKind procedure, StepKind kind, double seconds) {
  Step *step = NEW(f->arena, Step);
  *step = (Step){.kind = kind, .layer = "", .name = "step"};
  memset(step->pin, -1, sizeof step->pin);
  if (seconds > 0) vec_push(f->arena, &step->parts, (StepPart){.seconds = seconds});
  vec_push(f->arena, &f->program.procedure[procedure].steps, step);
  return step;
}

static void add_sync(Fixture *f, ProcedureKind procedure, StepKind kind, int event, Stream stream) {
  Step *step = add(f, procedure, kind, 0);
  step->sync.event = event;
  step->sync.stream = stream;
}

static void add_reduction(Fixture *f, double seconds) {
  add_sync(f, PROC_FORWARD, STEP_RECORD, 0, STREAM_COMPUTE);
  add_sync(f, PROC_FORWARD, STEP_WAIT, 0, STREAM_COMM);
  add(f, PROC_FORWARD, STEP_COLLECTIVE, seconds)->collective = arena_copy(f->arena, &(Collective){.kind = RESHARD_all_reduce, .axes = 1}, sizeof(Collective));
  add_sync(f, PROC_FORWARD, STEP_RECORD, 1, STREAM_COMM);
}

static void streams_overlap_up_to_events(void) {
  Fixture *f = new_program(4);
  add(f, PROC_FORWARD, STEP_COPY, 3);
  add_reduction(f, 5);
  add(f, PROC_BACKWARD, STEP_COPY, 4);  // beside the reduction
  add(f, PROC_REPORT, STEP_COPY, 100);  // not in every step
  add_sync(f, PROC_UPDATE, STEP_WAIT, 1, STREAM_COMPUTE);
  add(f, PROC_UPDATE, STEP_COPY, 1);
  const Streams streams = streams_of_program(f->arena, &f->program);
  CHECK_INT(streams.ranks.len, 1); // all do the same
  const StreamSpans *compute = &streams.ranks.at[0].spans[STREAM_COMPUTE], *comm = &streams.ranks.at[0].spans[STREAM_COMM];
  CHECK_INT(compute->len, 3);
  CHECK_INT(comm->len, 1);
  CHECK(comm->at[0].start == 3);
  CHECK(compute->at[1].start == 3);
  CHECK(compute->at[2].start == 8 && compute->at[2].procedure == PROC_UPDATE);
  CHECK(streams.seconds == 9);
  arena_free(f->arena);
}

static void ranks_wait_for_each_other(void) {
  Fixture *f = new_program(3);
  add(f, PROC_FORWARD, STEP_COPY, 1);
  add(f, PROC_FORWARD, STEP_COPY, 6)->pin[0] = 2;
  add_reduction(f, 5);
  add(f, PROC_FORWARD, STEP_COPY, 2);
  const Streams streams = streams_of_program(f->arena, &f->program);
  CHECK_INT(streams.ranks.len, 3);
  for (int i = 0; i < 3; i++) {
    const RankStreams *rank = &streams.ranks.at[i];
    CHECK_INT(rank->rank, i);
    CHECK_INT(rank->spans[STREAM_COMPUTE].len, i == 2 ? 3 : 2);
    CHECK(rank->spans[STREAM_COMM].at[0].start == 7); // when the last one is there
    CHECK(rank->spans[STREAM_COMPUTE].at[rank->spans[STREAM_COMPUTE].len - 1].start == (i == 2 ? 7 : 1));
  }
  CHECK(streams.seconds == 12);
  arena_free(f->arena);
}

static void too_many_ranks_are_left_out(void) {
  Fixture *f = new_program(STREAMS_MAX_RANKS + 1);
  add(f, PROC_FORWARD, STEP_COPY, 1)->pin[0] = 0;
  CHECK_INT(streams_of_program(f->arena, &f->program).ranks.len, 0);
  arena_free(f->arena);
}

CHECKS(TEST(streams_overlap_up_to_events), TEST(ranks_wait_for_each_other), TEST(too_many_ranks_are_left_out))
