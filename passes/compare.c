#include "compare.h"

#include <math.h>

#include "../ir/table.h"

double compare_speed_up(const Comparison *c, const Outcome *o) {
  if (c->data.reason != NULL || o->reason != NULL) return NAN;
  return c->compilation->by_sum ? c->data.cost.step / o->cost.step : c->data.overlapped / o->overlapped;
}

// ---- the table -----------------------------------------------------------------------------------------------------

static void add_head(Table *t, const Machine *machine) {
  table_add_column(t, "planner", false);
  table_add_column(t, "step", true);
  table_add_column(t, "overlapped", true);
  table_add_column(t, "compute", true);
  table_add_column(t, "update", true);
  for (int l = 0; l < machine->n_levels; l++) table_add_column(t, machine->level[l].name, true);
  table_add_column(t, "local", true);
  table_add_column(t, "MB", true);
  table_add_column(t, "GiB", true);
  table_add_column(t, "search", true);
  table_add_column(t, "gap %", true);
  if (machine->profile != NULL) table_add_column(t, "measured", true);
  table_add_column(t, "x data", true);
  table_add_column(t, "", false);
}

static const char *remark(Arena *arena, const Comparison *c, const Outcome *o) {
  const int used = mesh_ranks(&o->mesh), of = mesh_ranks(&c->compilation->mesh);
  if (o->reason != NULL) return o->reason;
  const char *mesh = mesh_text(arena, &o->mesh);
  Text text = {.arena = arena};
  if (used < of) text_printf(&text, "uses %d of the devices", used);
  if (!str_eq(mesh, mesh_text(arena, &c->compilation->mesh))) text_printf(&text, "%smesh %s", text.len > 0 ? "; " : "", mesh);
  if (o->search.refined) text_printf(&text, "%srefined: what has the least sum, %.4g, takes %.4g as streams overlap", text.len > 0 ? "; " : "", o->search.cost * 1e3, o->search.unrefined * 1e3);
  if (o->search.how != NULL) text_printf(&text, "%s%s", text.len > 0 ? "; " : "", o->search.how);
  return text.len > 0 ? text_str(&text) : "";
}

static void add_row(Table *t, const Comparison *c, const Outcome *o) {
  Arena *arena = t->arena;
  TableRow row = {{o->planner}};
  int n = 1;
  const double times = compare_speed_up(c, o);
  row.cell[n++] = outcome_ms(arena, o, o->cost.step);
  row.cell[n++] = outcome_ms(arena, o, o->overlapped);
  row.cell[n++] = outcome_ms(arena, o, o->cost.compute);
  row.cell[n++] = outcome_ms(arena, o, o->cost.update);
  for (int l = 0; l < c->compilation->machine->n_levels; l++) row.cell[n++] = outcome_ms(arena, o, o->cost.communication[l]);
  row.cell[n++] = outcome_ms(arena, o, o->cost.communication[MACHINE_MAX_LEVELS]);
  row.cell[n++] = o->reason == NULL ? arena_printf(arena, "%.4g", o->cost.bytes * 1e-6) : "-";
  row.cell[n++] = outcome_gib(arena, o);
  row.cell[n++] = outcome_seconds(arena, o);
  row.cell[n++] = outcome_gap(arena, o);
  if (c->compilation->machine->profile != NULL) row.cell[n++] = outcome_measured(arena, o);
  row.cell[n++] = isnan(times) ? "-" : arena_printf(arena, "%.2f", times);
  row.cell[n++] = remark(arena, c, o);
  vec_push(arena, &t->rows, row);
}

static const char *print_table(const Comparison *c) {
  const Compilation *of = c->compilation;
  Text text = {.arena = of->arena};
  Table table = {.arena = of->arena};
  text_printf(&text, "%s on %s, mesh %s, batch %lld: predicted, times in ms; x data by %s\n", of->model->name,
              machine_devices_text(of->arena, of->machine, mesh_ranks(&of->mesh)), mesh_text(of->arena, &of->mesh), (long long)of->model->batch,
              of->by_sum ? "the step's sum" : "what is overlapped");
  add_head(&table, of->machine);
  for (int i = 0; i < c->outcomes.len; i++) add_row(&table, c, &c->outcomes.at[i]);
  table_print(&table, &text);
  return text_str(&text);
}

static const char *print_json(const Comparison *c) {
  const Compilation *of = c->compilation;
  Json json = json_new(of->arena);
  json_open_object(&json, NULL);
  json_string(&json, "model", of->model->name);
  json_string(&json, "machine", of->machine->name);
  json_open_array(&json, "planners");
  for (int i = 0; i < c->outcomes.len; i++) {
    json_open_object(&json, NULL);
    json_outcome(&json, &c->outcomes.at[i], of->machine);
    json_real(&json, "speedup_over_data", compare_speed_up(c, &c->outcomes.at[i]));
    json_close_object(&json);
  }
  json_close_array(&json);
  json_close_object(&json);
  return json_end(&json);
}

const char *compare_print(const Comparison *c, bool json) { return json ? print_json(c) : print_table(c); }
