// An order of the dimensions of all groups, the same for those that are one: that index one dimension of a tensor.
#ifndef PARCC_PASSES_SEARCH_DIM_ORDER_H
#define PARCC_PASSES_SEARCH_DIM_ORDER_H

#include "groups.h"

typedef struct DimOrder {
  int **place; // by group, by dimension: DIM_SAMPLES, or a number of its own that is larger
} DimOrder;

// First samples (the first dimension of inputs), then what no parameter has (rows and columns of images), then what parameters have
// (channels).
enum { DIM_SAMPLES };
DimOrder dim_order(Arena *arena, const Groups *groups);

#endif
