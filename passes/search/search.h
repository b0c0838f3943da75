// The planners that search: each is a row of the table in search.c and a file of its own.
#ifndef PARCC_PASSES_SEARCH_SEARCH_H
#define PARCC_PASSES_SEARCH_SEARCH_H

#include "../pipeline.h"

// Each requires graphs as for the pass "plan", a machine, and the mesh without the batch; that of the plan may be another one of as many ranks. Fills
// c->search. What is wrong with the model or the machine is added to c->problems.
typedef Plan SearchMake(Compilation *c);

SearchMake search_auto, search_optcnn, search_soybean, search_tofu, search_flexflow, search_parallax;

Plan search_plan(Compilation *c); // by the planner of c->plan_source

#endif
