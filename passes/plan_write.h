// The plan of a compilation, to be written down.
#ifndef PARCC_PASSES_PLAN_WRITE_H
#define PARCC_PASSES_PLAN_WRITE_H

#include "planning.h"

// The shortest plan (line by line) that gives every operator and every stored tensor the sharding it has: what following
// gives has no line. Between the passes "plan" and "apply-plan".
Plan plan_write(const Compilation *c);

// What a sharding does along an axis, in the words of plans. space: of the operator or tensor whose it is.
PlanChoice plan_explicit_choice(const OpSharding *s, const Space *space, int axis);

// The plan with a line for all operators of the training graph that have a choice, all inputs and all that is stored, so that a line
// can be changed and the others stay: what follows only follows where it has sums pending.
typedef struct WholePlan {
  Plan plan;
  int *line_of_op, *line_of_tensor; // of the training graph; -1: none
} WholePlan;
WholePlan plan_write_whole(const Compilation *c);

#endif
