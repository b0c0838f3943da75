// Plans of less memory, where none fits: microbatches, and layers that are made again.
#ifndef PARCC_PASSES_SEARCH_LEAN_H
#define PARCC_PASSES_SEARCH_LEAN_H

#include "contest.h"
#include "problem.h"

// Offers such plans, made of the one that needs least so far, where none that fits has been found.
void lean_offer(Contest *contest);
// Offers the cheapest of such plans, and of those as they are, whose estimate fits. Of these, and of more microbatches, proved:
// none costs less than the bound that it gives. One that fits is known. Adds to the network of p, which is in one microbatch.
double lean_search(Contest *contest, SearchProblem *p, int64_t budget);
// What is to be said of a plan that needs less so; NULL: nothing.
const char *lean_how(const Compilation *c, const Plan *plan);

#endif
