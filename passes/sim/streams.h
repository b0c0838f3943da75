// When each step of the program runs, as far as can be said beforehand: a step takes what its operators are predicted to take
// (Step.parts), on its stream, once the streams and events of the schedule let it begin; a collective once all ranks that take part
// are there. So what the schedule lets overlap does.
#ifndef PARCC_PASSES_SIM_STREAMS_H
#define PARCC_PASSES_SIM_STREAMS_H

#include "../../ir/program.h"

typedef struct StreamSpan {
  const Step *step;
  ProcedureKind procedure;
  double start, seconds;
} StreamSpan;

typedef VEC(StreamSpan) StreamSpans;

typedef struct RankStreams {
  int rank;             // the first of those that do the same at the same time
  StreamSpans spans[2]; // by Stream, in order
} RankStreams;

typedef struct Streams {
  VEC(RankStreams) ranks;
  double seconds; // until all have ended
} Streams;

enum { STREAMS_MAX_RANKS = 64 }; // that do different things

// Of a training step without a report: forward, backward and update. For a program that was made for a machine. Without ranks where
// there are too many.
Streams streams_of_program(Arena *arena, const Program *program);
// How long it takes, alone; NAN where there are too many ranks.
double streams_seconds(const Program *program);

#endif
