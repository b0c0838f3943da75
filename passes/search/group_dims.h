// Which dimensions of the operators of a group are one: those that index a tensor at the same place, have one name in what comes of one
// operator, or are the same at every time step; no operator has two of them in one.
#ifndef PARCC_PASSES_SEARCH_GROUP_DIMS_H
#define PARCC_PASSES_SEARCH_GROUP_DIMS_H

#include "groups.h"

// Gives groups that have their operators the dimensions. place: by operator, the first one in its place at another time step, or
// itself; -1: none.
void groups_find_dims(Groups *groups, Arena *arena, const int *place);

#endif
