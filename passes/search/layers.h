// The training graph as OptCNN sees it: layers, each divided along the dimensions of what it makes, and tensors between them.
// (Jia et al., ICML 2018, section 4.)
//
// A layer is a group of operators (groups.h) with all that is element-wise or normalises behind it and reads nothing but it; groups that
// feed each other, as the time steps of a recurrent layer do, are one layer. What is light and made of inputs alone (a mask of
// what is no padding, say) is of no layer: it is made where it is read.
//
//   conv2d, channel_bias, relu                one layer, with the dimensions n, co, p, q
//   maxpool2d                                 the next
//   dense, cross_entropy                      one with n, co
#ifndef PARCC_PASSES_SEARCH_LAYERS_H
#define PARCC_PASSES_SEARCH_LAYERS_H

#include "groups.h"

// A dimension of what the layer makes.
typedef struct LayerDim {
  int64_t extent; // what divides it divides all that is cut with it into equal blocks
  VEC(GroupMember) members; // dimensions of operators: at most one of each
} LayerDim;

typedef VEC(int) Ints;

// The paper has five dimensions at most: those of a convolution in space. Of a layer with more results those of the first are taken.
enum { LAYER_MAX_DIMS = 5 };

typedef struct Layer {
  Ints groups;
  Ints ops; // of the groups, in the order of the graph
  VEC(LayerDim) dims;
} Layer;

// A tensor that one layer makes and another reads forward: as it is made, and as it is read, which may be a view of it.
typedef struct LayerEdge { int from, to, made, read; } LayerEdge;

// Which of an operator's dimensions is part of each of its layer's, in units of `unit`; -1: none.
typedef struct OpDims {
  int dim[LAYER_MAX_DIMS];
  int64_t unit[LAYER_MAX_DIMS];
} OpDims;

typedef struct Layers {
  const Groups *groups;
  VEC(Layer) list; // no edge leads to an earlier one
  int *of_group;   // -1: the group is of no layer: a parameter, an input, what is made of inputs
  VEC(LayerEdge) edges;  // in the order of the layers that they lead to; also those from a layer to itself
  OpDims *of_op;         // by operator
} Layers;

Layers layers_of_groups(Arena *arena, const Groups *groups);
// The tensor of which another one is a view of a view of a ...
int layers_root(const Graph *graph, int tensor);

#endif
