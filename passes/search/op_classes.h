// Operators that are alike: they differ only in which tensors they read and make, and cost the same when they are divided alike.
#ifndef PARCC_PASSES_SEARCH_OP_CLASSES_H
#define PARCC_PASSES_SEARCH_OP_CLASSES_H

#include "../cost.h"

typedef struct KnownCost { signed char dim[MESH_MAX_AXES]; double seconds; } KnownCost; // of an operator that is divided so, in units of 1

typedef struct OpClass {
  uint64_t hash;
  int op; // the first of the class
  VEC(KnownCost) costs;
} OpClass;

typedef struct OpClasses {
  Arena *arena;
  const Graph *graph;
  const CostModel *cost;
  VEC(OpClass) list;
  int *of; // by operator; -1: not asked yet
} OpClasses;

OpClasses op_classes_new(Arena *arena, const Graph *graph, const CostModel *cost);
int op_class(OpClasses *classes, int op);
// cost_of_op, found once for all of a class that are divided alike.
double op_class_seconds(OpClasses *classes, int op, const OpSharding *sharding);

#endif
