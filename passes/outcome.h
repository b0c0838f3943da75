// What a planner comes to for a model on a machine: what the reports about several planners (compare.h, sweep.h) show.
#ifndef PARCC_PASSES_OUTCOME_H
#define PARCC_PASSES_OUTCOME_H

#include "../ir/json.h"
#include "profile.h"

typedef struct Outcome {
  const char *planner;
  Mesh mesh;          // that its plan uses
  int64_t batch;
  const char *reason; // why there is no plan, or none that fits; NULL: there is one
  Cost cost;          // of a training step
  double overlapped;  // what it takes as the streams of the program overlap; NAN: not known
  ProfileUse profile; // of the machine: how many of its operators were measured
  double memory;      // bytes that are planned for a device; 0: there is no plan
  Search search;
  double seconds;     // that planning took
} Outcome;

// Of a compilation before the pass "plan": of a plan that was made for it, what it costs and needs; of none, why.
Outcome outcome_of(const Compilation *c, PlanSourceKind planner, const Plan *plan, const char *refused, const Search *search,
                   double seconds);

// The same of a compilation after the last pass, whose plan is its own.
Outcome outcome_of_compiled(const Compilation *c, ProfileUse profile, double seconds);

// Cells of tables: "-" where there is nothing to tell.
const char *outcome_ms(Arena *arena, const Outcome *o, double seconds); // NAN: nothing
const char *outcome_seconds(Arena *arena, const Outcome *o); // that planning took
const char *outcome_measured(Arena *arena, const Outcome *o); // "12/30" operators: the times of the others are formulas
const char *outcome_gib(Arena *arena, const Outcome *o);
const char *outcome_gap(Arena *arena, const Outcome *o); // of the step, to what no plan on the mesh that was searched is below

// Members of a JSON object.
void json_cost(Json *json, const Cost *cost, const Machine *machine);
void json_outcome(Json *json, const Outcome *o, const Machine *machine);

#endif
