// What plans cost and need: a copy of a compilation is taken through the passes, and the compilation stays as it is.
#ifndef PARCC_PASSES_EVALUATE_H
#define PARCC_PASSES_EVALUATE_H

#include "pricing.h"
#include "profile.h"

typedef struct Evaluation {
  const char *refused; // why it is no plan of this model, in the arena of the compilation; NULL: it is one
  Cost cost;           // of a training step
  TensorBytes tensors;
  int64_t arena_bytes; // that a device needs; 0: not asked for
  double overlapped;   // what a step takes as its streams overlap (sim/streams.h), where the bytes are known; NAN: too many devices do different things
  ProfileUse profile;  // of the machine, where it has one and all is asked for
} Evaluation;

// All of these require a compilation as it is before the pass "plan", or while that makes the plan, with a machine.

// A copy in an arena of the caller's, the plan of which the next pass, "plan", takes.
Compilation *evaluate_copy(const Compilation *c, const Plan *plan, Arena *arena);

// A copy whose training graph comes in so many microbatches, for plans that do. NULL: the model cannot have so many.
Compilation *evaluate_in_microbatches(const Compilation *c, int number, Arena *arena);

// All passes from "plan" on: the figures are those that the compiler prints for the plan. The mesh is the plan's.
Evaluation evaluate_plan(const Compilation *c, const Plan *plan);
// The same. *lowered: the copy, in an arena of its own that is the caller's then; NULL: it is no plan of this model.
Evaluation evaluate_program(const Compilation *c, const Plan *plan, Compilation **lowered);
// The cost alone, which is known much earlier.
Evaluation evaluate_cost(const Compilation *c, const Plan *plan);
// All that says whether it fits the device of the machine: the bytes are not asked for where it certainly does, more than `most_stored` are
// stored, or a step takes `enough` seconds. *lowered (or NULL): the copy, in an arena of its own that is the caller's then, if they were;
// else NULL.
Evaluation evaluate_fit(const Compilation *c, const Plan *plan, double most_stored, double enough, Compilation **lowered);
// What a step takes, in seconds; INFINITY: the plan does not fit; 0: it is no plan of this model.
double evaluate_step(const Compilation *c, const Plan *plan);

// The plan that a planner makes (a source below PLAN_FILE), in the arena of the compilation, for its mesh; search: what the
// planner says of it. Returns NULL, or why there is none.
const char *evaluate_planner(const Compilation *c, PlanSource source, Plan *plan, Search *search);
// The same on a model whose training graph may be laid in any way, and is like that of the compilation but for inlined results, which
// are marked.
const char *evaluate_planner_on(const Compilation *c, Model *model, PlanSource source, Plan *plan, Search *search);

#endif
