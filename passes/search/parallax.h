// What --search=parallax chooses from.
#ifndef PARCC_PASSES_SEARCH_PARALLAX_H
#define PARCC_PASSES_SEARCH_PARALLAX_H

#include "../pipeline.h"

enum { PARALLAX_MOST_SAMPLES = 10 }; // plans that it tries at most

// The plan in which each table with a sparse gradient has so many owners, in the arena of the compilation, which is as for a planner
// (search.h). False: no axes of the mesh have so many ranks together.
bool parallax_plan(const Compilation *c, int parts, Plan *plan);

#endif
