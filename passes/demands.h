// In which layouts each tensor is needed, and which of them is made from which, so that as little as possible moves.
#ifndef PARCC_PASSES_DEMANDS_H
#define PARCC_PASSES_DEMANDS_H

#include "route.h"

// A tensor in one layout. Version 0 is the tensor as its operator makes it.
typedef struct Version {
  const Layout *layout;
  int number;    // of the layout, in the routes at hand, which hold it
  int parent;    // version that this one is made from; -1: version 0
  bool early;    // made as soon as its parent is: the first reduction of partial results
  uint32_t read; // phases that it, or what is made from it, is read in (bits)
  int tensor;    // once it is made, else -1
} Version;

typedef VEC(Version) Versions;

typedef struct DemandOfRead { int tensor, number; } DemandOfRead; // in the layout of that number

typedef struct Demands {
  const Graph *graph;
  const Mesh *mesh;
  Routes *routes; // of all its layouts
  Arena *arena;
  Versions *of; // by tensor
  VEC(DemandOfRead) reads; // of all operators, in the order of op_visit_reads
  int *first_read;         // by operator, and one more
} Demands;

// Settles the layouts of all results, and what every operator and everything that leaves the graph needs. Of a tensor that is
// partial one version is made, which reduces it, and the others from that.
Demands demands_of_graph(Arena *arena, Graph *graph, const Mesh *mesh, const CostModel *model);
// What all changes take that make, of a tensor as it lies by `made`, what is wanted of it: n layouts, some of which may be the same
// or `made` itself, by their numbers, of which no two are of the same layout (reshard_axes). By the choice that demands_of_graph
// makes where it meets them in this order. In what ways are compared by.
double demands_cost(Arena *scratch, const Mesh *mesh, Routes *routes, int shape, int made, const int *want, int n);
// What all changes take that make them, in what ways are compared by, without those for reports alone.
double demands_amount(const Demands *d);
// The version of `tensor` in the layout `want`, which was among the demands.
int demands_find(const Demands *d, int tensor, const Layout *want);
int demands_find_read(const Demands *d, const DemandOfRead *read);
// The layout in which an operator reads a tensor, as it lies along the batch; arg: which argument of an opaque call, else NULL.
Layout demands_want(const Graph *graph, const Op *op, int tensor, const OpaqueArg *arg, const Mesh *mesh);
// The layout in which what leaves the graph is wanted.
Layout demands_leaving(const Graph *graph, int tensor, const Layout *layout, const Mesh *mesh);
// A layout, whole along some axes (bits).
Layout demands_whole(const Mesh *mesh, const Layout *layout, uint32_t axes);
// The phase in which a version is made: not where only reports are made, unless nobody else needs it, and not in every microbatch,
// where the tensor is there before the first one.
Phase demands_phase(const Demands *d, int tensor, const Version *version);

#endif
