// The plan of a compilation, to be written down.
#ifndef PARCC_PASSES_PLAN_WRITE_H
#define PARCC_PASSES_PLAN_WRITE_H

#include "pipeline.h"

// The shortest plan (line by line) that gives every operator and every stored tensor the sharding it has: what following
// gives has no line. Between the passes "plan" and "apply-plan".
Plan plan_write(const Compilation *c);

#endif
