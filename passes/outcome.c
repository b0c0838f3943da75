#include "outcome.h"

#include <math.h>

#include "evaluate.h"
#include "sim/streams.h"

Outcome outcome_of(const Compilation *c, PlanSourceKind planner, const Plan *plan, const char *refused, const Search *search,
                   double seconds) {
  Outcome o = {.planner = plan_source_name(planner), .mesh = c->mesh, .batch = c->model->batch, .reason = refused, .search = *search,
               .seconds = seconds};
  if (plan == NULL) return o;
  const Evaluation found = evaluate_plan(c, plan);
  o.mesh = plan->mesh;
  o.reason = found.refused;
  o.cost = found.cost;
  o.overlapped = found.overlapped;
  o.profile = found.profile;
  o.memory = (double)found.arena_bytes;
  if (o.memory > c->machine->device.memory) o.reason = machine_lacks_text(c->arena, c->machine, o.memory);
  return o;
}

Outcome outcome_of_compiled(const Compilation *c, ProfileUse profile, double seconds) {
  Outcome o = {.planner = plan_source_text(c->arena, &c->plan_source), .mesh = c->plan.mesh, .batch = c->model->batch, .cost = c->predicted,
               .profile = profile, .search = c->search, .seconds = seconds};
  o.overlapped = streams_seconds(c->program);
  o.memory = (double)c->program->arena_bytes;
  if (o.memory > c->machine->device.memory) o.reason = machine_lacks_text(c->arena, c->machine, o.memory);
  return o;
}

// ---- for people ----------------------------------------------------------------------------------------------------

const char *outcome_ms(Arena *arena, const Outcome *o, double seconds) {
  return o->reason == NULL && !isnan(seconds) ? arena_printf(arena, "%.4g", seconds * 1e3) : "-";
}

const char *outcome_seconds(Arena *arena, const Outcome *o) {
  return o->mesh.n_axes > 0 ? arena_printf(arena, "%.3fs", o->seconds) : "-";
}

const char *outcome_gib(Arena *arena, const Outcome *o) {
  return o->reason == NULL ? arena_printf(arena, "%.3g", o->memory / GIB) : "-";
}

const char *outcome_gap(Arena *arena, const Outcome *o) {
  const bool proved = o->search.done && o->search.of_step && search_proves(&o->search);
  return o->reason == NULL && proved ? arena_printf(arena, "%.2g", 100 * search_gap(&o->search)) : "-";
}

const char *outcome_measured(Arena *arena, const Outcome *o) {
  return o->reason == NULL ? arena_printf(arena, "%d/%d", o->profile.measured, o->profile.of) : "-";
}

// ---- as JSON -------------------------------------------------------------------------------------------------------

void json_cost(Json *json, const Cost *cost, const Machine *machine) {
  json_real(json, "step_seconds", cost->step);
  json_real(json, "compute_seconds", cost->compute);
  json_real(json, "update_seconds", cost->update);
  json_count(json, "communication_bytes", cost->bytes);
  json_open_object(json, "communication_seconds");
  for (int l = 0; l < machine->n_levels; l++) json_real(json, machine->level[l].name, cost->communication[l]);
  json_real(json, "local", cost->communication[MACHINE_MAX_LEVELS]);
  json_close_object(json);
}

static void json_progress(Json *json, const Search *search) {
  json_open_array(json, "search_progress");
  for (int i = 0; i < search->progress.len; i++) {
    json_open_array(json, NULL);
    json_count(json, NULL, search->progress.at[i].tried);
    json_real(json, NULL, search->progress.at[i].seconds);
    json_close_array(json);
  }
  json_close_array(json);
}

static void json_search(Json *json, const Search *search) {
  static const char *const unit[] = {[SEARCH_SECONDS] = "seconds", [SEARCH_BYTES] = "bytes"};
  json_string(json, "search_minimises", unit[search->unit]);
  json_bool(json, "search_of_step", search->of_step);
  if (search->of_step) json_string(json, "search_mesh", mesh_text(json->text.arena, &search->mesh));
  json_real(json, "search_cost", search->cost);
  json_real(json, "search_bound", search->bound);
  json_real(json, "search_gap", search_gap(search));
  if (search->unrefined > 0) json_real(json, "search_overlapped_seconds", search->unrefined);
  json_bool(json, "search_refined", search->refined);
  if (search->how != NULL) json_string(json, "search_said", search->how);
  if (search->progress.len > 0) json_progress(json, search);
}

void json_outcome(Json *json, const Outcome *o, const Machine *machine) {
  json_string(json, "planner", o->planner);
  if (o->mesh.n_axes > 0) {
    json_count(json, "devices", mesh_ranks(&o->mesh));
    json_string(json, "mesh", mesh_text(json->text.arena, &o->mesh));
    json_count(json, "batch", (double)o->batch);
  }
  json_bool(json, "fits", o->reason == NULL);
  if (o->reason != NULL) json_string(json, "reason", o->reason);
  if (o->memory > 0) json_count(json, "peak_bytes", o->memory);
  if (o->reason == NULL) json_cost(json, &o->cost, machine);
  if (o->reason == NULL) json_real(json, "overlapped_seconds", o->overlapped);
  if (o->reason == NULL && machine->profile != NULL) {
    json_count(json, "measured_operators", o->profile.measured);
    json_count(json, "measurable_operators", o->profile.of);
  }
  json_real(json, "search_seconds", o->seconds);
  if (o->search.done) json_search(json, &o->search);
}
