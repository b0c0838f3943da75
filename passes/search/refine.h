// From the plan whose sum is least to one whose step takes least as the streams of its program overlap (sim/streams.h).
//
// The sum is proved to be least; the program takes less, as far as devices compute while they send: above all while gradients are added
// up. So plans are looked at that cost little more by the sum:
//
// - optima of the same problem where a share of what changes of layout of gradients and parameters take counts only
// - the plans of the other planners, which are at hand, and one of a short walk of flexflow: layers beside each other on different devices
// - then those that differ from the best in what one group, or all that are like it, do along one axis (refine_moves.h)
//
// What they take is estimated first (sim/overlap.h), by a full simulation of the two streams; those that may be better are lowered. One
// becomes the best only where its program takes less time, and fits. All of it is counted, in plans and operators, so that it ends the same way
// every time. So what auto gives never takes longer as streams overlap than the plan with the least sum. What is
// proved is a matter of sums, and of that plan.
#ifndef PARCC_PASSES_SEARCH_REFINE_H
#define PARCC_PASSES_SEARCH_REFINE_H

#include "contest.h"
#include "problem.h"

typedef struct Refinement {
  Contest *contest;
  VEC(Rival) starts; // plans that are looked at
} Refinement;

// Adds optima of a problem that is about to be closed. found: as problem_solve gave it.
void refine_add_optima(Refinement *r, const SearchProblem *problem, const CfnSolution *found);
// Requires a contest that has ended, with a plan that fits. Leaves the best plan there, and says what became of it (refined, unrefined).
void refine(Refinement *r, Search *search);

#endif
