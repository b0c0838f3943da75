// State of the lowering from sharded graphs to the program, shared by its files.
#ifndef PARCC_PASSES_LOWERING_H
#define PARCC_PASSES_LOWERING_H

#include "../ir/program.h"
#include "reads.h"

// How an operator of the graph at hand is made, where it is not made by itself. Operators are counted from 1 here; 0: none.
typedef struct Fate {
  bool is_pieces;   // it puts tensors behind each other: they are made in place, or copied
  bool is_sum;      // of a product and a value in whose place it is: the product is added there
  bool adds_in_place; // a scatter: what it is added to is there
  int adds_to;      // a product: the operator that makes what it is added to
} Fate;

typedef struct Strips Strips;

typedef struct Lowering {
  Arena *arena;
  Arena *scratch;  // of what is known of the graph at hand, forgotten when it is lowered
  Arena *building; // of the kernel at hand, forgotten when it is finished
  Program *program;
  const Graph *graph; // at hand
  GraphReads reads;   // of it
  int *tensor_of;     // graph tensor -> program tensor
  Fate *fate;         // by operator
  Names c_names;      // of emitted tensors, to keep them unique
  Names functions;    // of the user's: blocks are called otherwise
  int64_t strip_bytes; // 0: no strips
  Step *loop;         // that steps go into; NULL: into their procedure
  const Strips *strips; // of the graph at hand; NULL: none, or not yet
  Names stored_names; // parameters and states: name -> program tensor
} Lowering;

// Local extent of dimension d of an operator's iteration space, or i of a tensor.
Extent lowering_dim_extent(Lowering *l, const Op *op, int d);
Extent lowering_tensor_extent(Lowering *l, const Tensor *tensor, int i);
// A name for a block that nothing else has.
const char *lowering_block_name(const Lowering *l, const char *name);
// Whether every microbatch adds to the operator's result, or every interval of a strip: a loop of the strip is over a dimension that
// it sums over.
bool lowering_adds_up(const Lowering *l, const Op *op);
// A new program tensor for this rank's part; slices leave out the first dimension.
int lowering_new_tensor(Lowering *l, const Tensor *tensor, bool slice);
// Whether a change of layout leaves its result in the buffer of what it changes.
bool lowering_reshard_in_place(Lowering *l, const Op *op);
// The step of a change of layout; false: there is nothing to do.
bool lowering_reshard(Lowering *l, const Op *op, Collective *collective);

#endif
