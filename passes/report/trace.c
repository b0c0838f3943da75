#include "trace.h"

#include "../../ir/json.h"
#include "../sim/streams.h"
#include "occupancy.h"

#include <math.h>

// In whole nanoseconds: a span ends no later than the next one begins.
static double micros(double seconds) { return round(seconds * 1e9) / 1e3; }

static void open_event(Json *json, const char *phase, int rank, const char *name) {
  json_open_object(json, NULL);
  json_string(json, "ph", phase);
  json_count(json, "pid", rank);
  json_string(json, "name", name);
}

// The name of a process or, tid at least 0, of a thread.
static void put_name(Json *json, int rank, int tid, const char *name) {
  open_event(json, "M", rank, tid < 0 ? "process_name" : "thread_name");
  if (tid >= 0) json_count(json, "tid", tid);
  json_open_object(json, "args");
  json_string(json, "name", name);
  json_close_object(json);
  json_close_object(json);
}

static void put_span(Json *json, int rank, const StreamSpan *span) {
  const Step *step = span->step;
  const Stream stream = step_stream(step);
  const char *name = step->layer[0] != '\0' ? arena_printf(json->text.arena, "%s %s", step->layer, step->name) : step->name;
  open_event(json, "X", rank, name);
  json_count(json, "tid", stream);
  json_string(json, "cat", stream == STREAM_COMM ? "comm" : "compute");
  json_fixed(json, "ts", micros(span->start));
  json_fixed(json, "dur", micros(span->start + span->seconds) - micros(span->start));
  json_open_object(json, "args");
  json_string(json, "phase", procedure_name(span->procedure));
  if (step->loc.line > 0) json_string(json, "where", arena_printf(json->text.arena, "%s:%d", step->loc.file, step->loc.line));
  json_close_object(json);
  json_close_object(json);
}

// What lives once the compute stream comes to each of its steps, which are in the order of the program.
static void put_memory(Json *json, const Program *program, const Occupancy *o, const RankStreams *rank) {
  const double always = o->parameters + o->states + o->inputs;
  int procedure = -1, i = 0;
  for (int s = 0; s < rank->spans[STREAM_COMPUTE].len; s++) {
    const StreamSpan *span = &rank->spans[STREAM_COMPUTE].at[s];
    if ((int)span->procedure != procedure) procedure = (int)span->procedure, i = 0;
    while (program->procedure[procedure].steps.at[i] != span->step) i++;
    open_event(json, "C", rank->rank, "memory");
    json_fixed(json, "ts", micros(span->start));
    json_open_object(json, "args");
    json_count(json, "bytes", always + o->passing[o->starts[procedure] + i]);
    json_close_object(json);
    json_close_object(json);
  }
}

static void put_rank(Json *json, const Program *program, const Occupancy *o, const RankStreams *rank, bool for_others) {
  put_name(json, rank->rank, -1, arena_printf(json->text.arena, "rank %d%s", rank->rank, for_others ? ", as others" : ""));
  put_name(json, rank->rank, STREAM_COMPUTE, "compute");
  put_name(json, rank->rank, STREAM_COMM, "comm");
  for (int stream = 0; stream < 2; stream++)
    for (int s = 0; s < rank->spans[stream].len; s++) put_span(json, rank->rank, &rank->spans[stream].at[s]);
  put_memory(json, program, o, rank);
}

const char *trace_json(Arena *arena, const Program *program) {
  const Streams streams = streams_of_program(arena, program);
  const Occupancy occupancy = occupancy_of_program(arena, program);
  const int ranks = mesh_ranks(&program->mesh);
  if (streams.ranks.len == 0) return NULL;
  Json json = json_new(arena);
  json_open_object(&json, NULL);
  json_string(&json, "displayTimeUnit", "ms");
  json_open_object(&json, "otherData");
  json_string(&json, "program", program->model->name);
  json_count(&json, "ranks", ranks);
  json_bool(&json, "predicted", true);
  json_close_object(&json);
  json_open_array(&json, "traceEvents");
  for (int i = 0; i < streams.ranks.len; i++) put_rank(&json, program, &occupancy, &streams.ranks.at[i], streams.ranks.len < ranks);
  json_close_array(&json);
  json_close_object(&json);
  return json_end(&json);
}
