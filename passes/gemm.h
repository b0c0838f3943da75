// Contractions as matrix products of a library.
#ifndef PARCC_PASSES_GEMM_H
#define PARCC_PASSES_GEMM_H

#include "fuse.h"
#include "lowering.h"

typedef struct GemmPlan {
  Gemm gemm;
  bool looped;        // one dimension is left over: a loop around the product
  Extent loop_extent;
  bool loop_reduces;  // the loop sums: clear the result first
  bool adds;          // to what is there
  int joined;         // products that it is one of
  int *whole_of;      // by operator of a looped group: the program tensor that its slices stand for
} GemmPlan;

// Maps a plain contraction onto a (batched) matrix product. loop_dim: the dimension of the operator that must be the
// loop around it, or -1. Returns false if the layout of an operand does not allow it.
bool gemm_of_op(Lowering *l, const Op *op, int loop_dim, GemmPlan *plan);

#endif
