// Layers whose values may be made again for the backward pass (../recompute.c) in a search problem.
#ifndef PARCC_PASSES_SEARCH_AGAIN_H
#define PARCC_PASSES_SEARCH_AGAIN_H

#include "problem.h"

typedef VEC(const char *) LayerNames;

// The outermost layers of which there are several of a kind (block1, block2, ...), in their order.
LayerNames again_candidates(Arena *arena, const Graph *train);

// What the operators of a group take that are made again with a layer, by value of the group.
typedef struct AgainSeconds {
  int layer;
  const double *of_value;
} AgainSeconds;

// The first `made` of them are made again.
typedef struct AgainLayers {
  LayerNames names;
  int made;
  int *of_tensor; // by tensor: the layer with which it is made again; -1: it is kept
  struct { VEC(AgainSeconds) list; const double *cost; } *of_group; // and what its values cost where no layer is made again
} AgainLayers;

AgainLayers *again_layers(SearchProblem *p);
// Lets so many be made again: the costs of the groups' values are with what that takes, from below.
void again_make(SearchProblem *p, AgainLayers *layers, int made);
static inline bool again_makes(const AgainLayers *layers, int tensor) { return layers->of_tensor[tensor] >= 0 && layers->of_tensor[tensor] < layers->made; }

#endif
