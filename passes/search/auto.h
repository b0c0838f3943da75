// The planner "auto": the cheapest plan on a machine.
#ifndef PARCC_PASSES_SEARCH_AUTO_H
#define PARCC_PASSES_SEARCH_AUTO_H

#include "../pipeline.h"

// Requires graphs as for the pass "plan", a machine, and the mesh without the batch. Fills c->search.
Plan plan_make_auto(Compilation *c);

#endif
