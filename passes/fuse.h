// Grouping the operators of a sharded graph: each group becomes one kernel, one matrix product, one change of layout.
#ifndef PARCC_PASSES_FUSE_H
#define PARCC_PASSES_FUSE_H

#include "lowering.h"

typedef enum GroupKind {
  GROUP_KERNEL,  // operators fused into one generated kernel
  GROUP_GEMM,    // a contraction, with the packings before it and the folding after it
  GROUP_VIEW,    // nothing to run
  GROUP_PIECES,  // tensors behind each other, of which most were made in place
  GROUP_RESHARD, // a collective
  GROUP_SCATTER, // an operator that adds to places of its result
  GROUP_OPAQUE,  // a call of a function of the user's
} GroupKind;

// The tensors that a group touches at whole plain dimensions, and the loop class of each of their dimensions.
typedef struct GroupTensor {
  int tensor;
  int class[IR_MAX_RANK]; // -1: not plain
  bool made;              // by an operator of the group
} GroupTensor;

typedef struct LoopClass { // dimensions of operators of a group that run together
  Dim dim;
  int64_t unit;
  uint32_t axes; // of the mesh, that split it
} LoopClass;

typedef struct Group {
  GroupKind kind;
  Phase phase;
  VEC(int) ops;         // in order
  VEC(int) deps;        // groups it reads from
  VEC(GroupTensor) tensors;
  VEC(LoopClass) classes;
  uint32_t rows;        // classes over which operators of the group run independently
  int min_op, max_op;   // first and last operator
  int contraction;      // GROUP_GEMM: the operator among ops
  bool late;            // of the forward pass, but comes after what runs in strips with the backward pass
  bool looped;          // GROUP_GEMM: packings and folding run slice by slice along their first dimension
} Group;

typedef struct Grouping {
  const Graph *graph;
  VEC(Group) groups;
  int *group_of;            // by operator
  int (*class_of)[IR_MAX_DIMS]; // by operator: loop class of each of its dimensions, within its group
  int *readers;             // by tensor: number of operators that read it
  bool *leaves;             // by tensor: read by something other than operators: stored, reported
  int *order;               // groups in an order in which each comes after what it reads
  int *cut;                 // by place before an operator: a place at or before it; itself: no group lies around it
} Grouping;

// fate: by operator.
Grouping *fuse_graph(Arena *arena, const Graph *graph, const Fate *fate);

// The last place at or before an operator that nothing lies around: groups before it read from groups before it only.
int grouping_cut(Grouping *g, int op);

// The operators from the first to the last run as one: no place between them is a cut.
void grouping_join(Grouping *g, int first, int last);

#endif
