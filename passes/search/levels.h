// The best assignment of a cost function network by dynamic programming over breadth-first levels.
//
// From the first variable on, and from the next one that it does not lead to, variables are taken level by level: those of one
// level are as many functions away. A function then joins variables of one level or of two neighbouring ones, and when a level
// has its values, all that matters of them for the rest are the classes in which functions see them that reach into the next one. A
// state is what these are; of the assignments that lead to the same state the cheapest is kept. Within a level variables are taken
// one after the other in the same way, so that the work grows with the states and not with all assignments of a level.
//
//     level 0    x           f(x, a) and g(x, b) are open: a state is a class of x in f and one in g
//     level 1    a  b        behind a: (class of x in g, class of a in h); behind b: (class of a and that of b in h)
//     level 2    y           h(a, b, y): the end, one state
#ifndef PARCC_PASSES_SEARCH_LEVELS_H
#define PARCC_PASSES_SEARCH_LEVELS_H

#include "cfn.h"

// The network has no limits. Gives up, with a solution that is not feasible, where there are more than max_states states. Of equally
// cheap ways to a state the first one is kept.
CfnSolution levels_solve(Arena *arena, const Cfn *cfn, int max_states);

#endif
