// Tensors that lie within others: what an operator only puts behind each other is made where it is needed.
#ifndef PARCC_PASSES_PARTS_H
#define PARCC_PASSES_PARTS_H

#include "lowering.h"

typedef struct Piece {
  int tensor;
  int64_t from; // where its first dimension begins in that of the whole
} Piece;
typedef VEC(Piece) Pieces;

// y[r, ...] = a[r, ...] + b[r - 3, ...]: every operand at a place of its own along the first dimension, and nothing left over.
// The operands in the order of their places.
bool pieces_match(const Graph *graph, const Op *op, Arena *arena, Pieces *pieces);

// Notes in lowering->fate which operators of the graph at hand put pieces behind each other; every piece that can be made in
// place is a part of the whole from now on. Requires: program tensors for all tensors of the graph.
void parts_place(Lowering *lowering);
// A program tensor, and all that lies in its memory, lies in another one from now on. False: it cannot.
bool parts_put(Lowering *lowering, int tensor, int whole, Extent start);
// The copies of the other pieces of such an operator, as pairs of program tensors.
void parts_left(Lowering *lowering, const Op *op, void (*copy)(void *ctx, int dst, int src), void *ctx);

// The part of a program tensor that begins `start` elements behind its first one.
int lowering_part(Lowering *lowering, int whole, Extent start);

#endif
