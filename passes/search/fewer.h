// Plans that use fewer devices than there are, where more are slower: an axis of the mesh as two, along the first of which all ranks do
// the same. (Along a whole axis they may by any candidate.)
//
//   gpu=8    ->    gpu1=2,gpu2=4: four devices, next to each other, and four that do the same
#ifndef PARCC_PASSES_SEARCH_FEWER_H
#define PARCC_PASSES_SEARCH_FEWER_H

#include "problem.h"

// The mesh with an axis as two, of which the second one has `used` ranks.
Mesh fewer_mesh(Arena *arena, const Mesh *mesh, int axis, int used);
// The next number below `used` that divides the ranks of an axis; at most 1: there is none but 1.
int fewer_ranks(int size, int used);
// A plan that does along the second one what it did along the axis.
Plan fewer_plan(Arena *arena, const Plan *plan, const Mesh *mesh, int axis);
// All candidates but those that divide something along the axis *(int *)ctx.
ProblemCandidates fewer_candidates;

#endif
