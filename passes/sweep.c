#include "sweep.h"

#include "../ir/table.h"

typedef struct Scaling {
  double samples;    // a second
  double speed_up;   // of samples, beside the first value that there is a plan of
  double efficiency; // the same of each device
} Scaling;

static const Outcome *outcome_at(const SweepResult *s, int value, int planner) { return &s->outcome[value * s->n_planners + planner]; }

static Scaling scaling_of(const SweepResult *s, int value, int planner) {
  const Outcome *o = outcome_at(s, value, planner);
  int i = 0;
  while (outcome_at(s, i, planner)->reason != NULL) i++;
  const Outcome *first = outcome_at(s, i, planner);
  Scaling scaling = {.samples = (double)o->batch / o->cost.step};
  scaling.speed_up = scaling.samples * first->cost.step / (double)first->batch;
  scaling.efficiency = scaling.speed_up * (double)s->value[i] / (double)s->value[value];
  return scaling;
}

// ---- for people ----------------------------------------------------------------------------------------------------

static const char *samples_cell(Arena *arena, double samples) { return arena_printf(arena, samples < 1000 ? "%.3g" : "%.0f", samples); }

static void add_row(Table *t, const SweepResult *s, int value, int planner) {
  Arena *arena = t->arena;
  const Outcome *o = outcome_at(s, value, planner);
  const bool plan = o->reason == NULL;
  const Scaling scaling = plan ? scaling_of(s, value, planner) : (Scaling){0};
  TableRow row = {{o->planner, arena_printf(arena, "%lld", (long long)s->value[value]), outcome_ms(arena, o, o->cost.step)}};
  int n = 3;
  row.cell[n++] = plan ? samples_cell(arena, scaling.samples) : "-";
  row.cell[n++] = plan ? arena_printf(arena, "%.2f", scaling.speed_up) : "-";
  if (s->of_devices) row.cell[n++] = plan ? arena_printf(arena, "%.0f", 100 * scaling.efficiency) : "-";
  row.cell[n++] = outcome_gib(arena, o);
  row.cell[n++] = plan ? "yes" : "no";
  row.cell[n++] = outcome_seconds(arena, o);
  row.cell[n++] = outcome_gap(arena, o);
  if (s->machine->profile != NULL) row.cell[n++] = outcome_measured(arena, o);
  row.cell[n++] = o->reason;
  vec_push(arena, &t->rows, row);
}

static const char *print_table(Arena *arena, const SweepResult *s) {
  Text text = {.arena = arena};
  Table t = {.arena = arena};
  text_printf(&text, "%s on %s: predicted\n", s->model, s->machine->name);
  table_add_column(&t, "planner", false);
  table_add_column(&t, s->parameter, true);
  table_add_column(&t, "step ms", true);
  table_add_column(&t, "samples/s", true);
  table_add_column(&t, "speed-up", true);
  if (s->of_devices) table_add_column(&t, "efficiency %", true);
  table_add_column(&t, "GiB", true);
  table_add_column(&t, "fits", false);
  table_add_column(&t, "search", true);
  table_add_column(&t, "gap %", true);
  if (s->machine->profile != NULL) table_add_column(&t, "measured", true);
  table_add_column(&t, "", false);
  for (int p = 0; p < s->n_planners; p++)
    for (int v = 0; v < s->n_values; v++) add_row(&t, s, v, p);
  table_print(&t, &text);
  return text_str(&text);
}

// ---- as JSON -------------------------------------------------------------------------------------------------------

static void json_point(Json *json, const SweepResult *s, int value, int planner) {
  const Outcome *o = outcome_at(s, value, planner);
  json_open_object(json, NULL);
  json_count(json, "value", (double)s->value[value]);
  json_outcome(json, o, s->machine);
  if (o->reason == NULL) {
    const Scaling scaling = scaling_of(s, value, planner);
    json_real(json, "samples_per_second", scaling.samples);
    json_real(json, "speedup", scaling.speed_up);
    if (s->of_devices) json_real(json, "efficiency", scaling.efficiency);
  }
  json_close_object(json);
}

static const char *print_json(Arena *arena, const SweepResult *s) {
  Json json = json_new(arena);
  json_open_object(&json, NULL);
  json_string(&json, "model", s->model);
  json_string(&json, "machine", s->machine->name);
  json_string(&json, "parameter", s->parameter);
  json_open_array(&json, "points");
  for (int p = 0; p < s->n_planners; p++)
    for (int v = 0; v < s->n_values; v++) json_point(&json, s, v, p);
  json_close_array(&json);
  json_close_object(&json);
  return json_end(&json);
}

const char *sweep_print(Arena *arena, const SweepResult *s, bool json) {
  return json ? print_json(arena, s) : print_table(arena, s);
}
