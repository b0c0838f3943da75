// The least that changes of layout can take which make several layouts of a tensor: trees over layouts.
#ifndef PARCC_PASSES_SEARCH_TREES_H
#define PARCC_PASSES_SEARCH_TREES_H

#include "../route.h"

// Ways between layouts of one shape, whatever lies between them. None of the layouts is partial.
typedef struct Trees {
  Arena *arena;
  Routes *routes;
  int shape;
  VEC(int) nodes; // layouts
  double *way;    // [node][node], in what ways are compared by
} Trees;

Trees trees_new(Arena *arena, Routes *routes, int shape);
void trees_add(Trees *trees, int layout); // once each, before any tree
void trees_connect(Trees *trees);         // all of them are there
// From a layout, one of the nodes or a partial one, to a node.
double trees_way(const Trees *trees, int from, int to);
// least[set * nodes + node]: of trees from the node to a set of targets (bits), each of which is one of the layouts. Branches are at
// any layouts.
double *trees_least(const Trees *trees, const int *target, int n_targets);
// From a layout: one of the nodes, or a partial one, which is reduced once, to whatever is best.
double trees_from(const Trees *trees, const double *least, int root, int set);

#endif
