// What layers cost in each configuration, and what is between them: the terms of OptCNN's objective (Jia et al., ICML 2018, section 4,
// equation 1), a sum in which nothing overlaps.
//
// - t_C, to compute a layer forward and backward, is what its operators cost (cost.h), where the paper measures.
// - t_S, to bring its parameters together, is that of a parameter server whose parts are spread over the devices that share a parameter:
//   each of them sends the others their parts of its gradient and gets the new parameters back. Updates take no time.
// - t_X, to move a tensor between layers (transfer.h), is paid once more for its gradient, which goes the same way back. What a layer
//   moves between its own operators it pays itself; what it reduces between them, as a normalisation does, is not counted.
#ifndef PARCC_PASSES_SEARCH_LAYER_COSTS_H
#define PARCC_PASSES_SEARCH_LAYER_COSTS_H

#include "access.h"
#include "eliminate.h"
#include "layer_pattern.h"
#include "op_classes.h"

typedef struct LayerCosts {
  Arena *arena, *scratch;
  Graph *graph;
  const CostModel *cost;  // with all links
  const Layers *layers;
  OpClasses ops;
  LayerPattern *pattern;
  Configurations *of; // by layer
  const double **own; // by layer: what it costs in each configuration
  bool *gradient;     // by layer: what it makes has a gradient
  Ints *inner;        // by layer: edges from it to itself
  Names tables;       // of edges that are alike -> number in ...
  VEC(const double *) table_list;
} LayerCosts;

// A parameter as a layer reads it.
typedef struct LayerWeight {
  int tensor;
  Access access;
} LayerWeight;
typedef VEC(LayerWeight) LayerWeights;

// Shardings of the graph's operators are overwritten.
LayerCosts layer_costs_new(Arena *arena, Arena *scratch, Graph *graph, const Layers *layers, const CostModel *cost);
// A node for each layer, whose values are its configurations, and an edge for each tensor between two layers.
EliminationGraph layer_costs_graph(LayerCosts *costs);
// What an edge's layers make, and read, of its tensor as it is made; the parameters that a layer reads.
Access layer_access_made(const LayerCosts *costs, const LayerEdge *edge);
Access layer_access_read(const LayerCosts *costs, const LayerEdge *edge);
LayerWeights layer_weights(const LayerCosts *costs, int layer);
// The axes that divide a tensor of so many dimensions.
uint32_t region_axes(const Region *region, int rank);

#endif
