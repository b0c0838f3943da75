// A plan as a table for people.
#ifndef PARCC_PASSES_PLAN_SHOW_H
#define PARCC_PASSES_PLAN_SHOW_H

#include "pipeline.h"

// Inputs, stored tensors and operators with their dimensions, what is done along every axis, and the largest block of what is
// split; of the evaluation graph what differs from the training graph. Between the passes "plan" and "apply-plan".
const char *plan_show(const Compilation *c);

#endif
