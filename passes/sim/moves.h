// Which device sends what of a tensor to which, where one layer makes it in parts and another one needs it in others.
// (FlexFlow, section 5.1: a communication task for each pair of tasks that share a part of a tensor and are on different devices.)
#ifndef PARCC_PASSES_SIM_MOVES_H
#define PARCC_PASSES_SIM_MOVES_H

#include "../search/access.h"

// What of a tensor each rank has, or needs.
typedef struct Holding {
  Arena *arena;
  const Mesh *mesh;
  int rank;         // dimensions of the tensor
  const bool *has;  // by rank of the mesh
  const Block *block; // [ranks][dimensions]
  const Configuration *by;
  uint32_t cut;     // axes that divide the tensor
} Holding;

Holding holding_of(Arena *arena, const Mesh *mesh, const Tensor *tensor, const Access *access, const Configuration *configuration);

// Elements that a rank gets from another one, or has itself.
typedef void MoveFn(void *ctx, int from, int to, double elements);
// All that is wanted, of what is held. What several ranks hold comes from the one with the same coordinates as the rank that gets it
// on the axes that make no difference: from itself, where it can. sums: each part of the layer that holds it has a term of a sum, as of
// a gradient, and they all are wanted, but for those of devices that do the same.
void moves_visit(const Holding *held, const Holding *wanted, bool sums, MoveFn *visit, void *ctx);

#endif
