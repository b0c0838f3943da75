// Layers with costs of their own, and edges with costs that both ends choose: the best choice for each by node and edge elimination.
// (Jia, Lin, Qi, Aiken: Exploring Hidden Dimensions in Parallelizing Convolutional Neural Networks, ICML 2018, section 5, algorithm 1.)
//
//   a -> b -> c     b has one edge in and one out: an edge a -> c that costs the least over all choices of b (node elimination)
//   a => c          two edges with the same ends: one that costs their sum (edge elimination)
//
// until neither is left to be done; all choices of the nodes left are tried; then the eliminated ones choose, in reverse order.
#ifndef PARCC_PASSES_SEARCH_ELIMINATE_H
#define PARCC_PASSES_SEARCH_ELIMINATE_H

#include "../../ir/base.h"

typedef struct EliminationNode {
  int n_values;       // at least 1
  const double *cost; // [n_values]
} EliminationNode;

typedef struct EliminationEdge {
  int from, to;       // from < to
  const double *cost; // [values of from][values of to]. Edges that are alike share tables: pointers are equal
} EliminationEdge;

typedef struct EliminationGraph {
  Arena *arena;
  VEC(EliminationNode) nodes;
  VEC(EliminationEdge) edges;
} EliminationGraph;

typedef struct Elimination {
  int *value;   // by node
  double cost;  // elimination_cost of it
  double bound; // nothing costs less; the cost itself where it is proved to be the least
  int kept;     // nodes that were left, K
  int node_eliminations, edge_eliminations;
} Elimination;

// Sum of what nodes and edges cost, in the order in which they stand.
double elimination_cost(const EliminationGraph *graph, const int *value);
// By eliminations. Of choices that cost the same the same one is always given. budget: how many partial choices of the nodes that
// are left may be looked at; when they are spent the best one found is returned, changed where a change of one node makes it better.
Elimination eliminate(const EliminationGraph *graph, int64_t budget);
// The same without any elimination, the paper's baseline: depth first, no further where a bound shows that nothing better follows.
Elimination eliminate_nothing(const EliminationGraph *graph, int64_t budget);

#endif
