// Groups that are alike: the same operators over the same dimensions of tensors of the same shapes, but for their names, and the
// same candidates. Layers that repeat are. What one of them costs and wants, all of them do.
#ifndef PARCC_PASSES_SEARCH_LIKENESS_H
#define PARCC_PASSES_SEARCH_LIKENESS_H

#include "candidate.h"

// By group: the first one that it is like, or itself. of: by group.
int *groups_alike(Arena *arena, const Groups *groups, const Candidates *of);

// By operator: a number, the same for operators that are alike: all that their layouts and costs depend on is the same but for the names
// of tensors. -1: it is in no group. n: how many numbers there are.
int *operators_alike(Arena *arena, const Groups *groups, int *n);

#endif
