// Sums of matrix products: each product is added to what is there, instead of being kept until all are there.
#ifndef PARCC_PASSES_SUMS_H
#define PARCC_PASSES_SUMS_H

#include "gemm.h"

// Finds the operators of the graph at hand that only add products to a value which nobody needs afterwards, and notes it in
// lowering->fate. Requires: program tensors for all tensors of the graph.
void sums_find(Lowering *lowering);
// The library calls of an operator that is a sum of products, in their order; 0: the library cannot do all of them. Products of
// pieces that lie behind each other are one product over all of them.
int sums_plan(Lowering *lowering, int op, GemmPlan **plans);

#endif
