// Microbatches: a step that goes over its batch in parts.
#ifndef PARCC_PASSES_MICROBATCH_H
#define PARCC_PASSES_MICROBATCH_H

#include "../ir/model.h"

// Splits the training graph, which is not planned yet, into so many microbatches (more than 1, a divisor of the batch). Returns
// NULL, or why it cannot be: then it is as it was.
const char *microbatch_split(Model *model, int number);

// A leaf of an expression of one microbatch as it is in the first: without the number of the microbatch at hand.
const Expr *microbatch_first_leaf(Arena *arena, const Expr *leaf);

#endif
