// Plans of less memory, where none fits: microbatches, and layers that are made again.
#ifndef PARCC_PASSES_SEARCH_LEAN_H
#define PARCC_PASSES_SEARCH_LEAN_H

#include "contest.h"

// Offers such plans, made of the one that needs least so far, where none that fits has been found.
void lean_offer(Contest *contest);
// What is to be said of a plan that needs less so; NULL: nothing.
const char *lean_how(const Compilation *c, const Plan *plan);

#endif
