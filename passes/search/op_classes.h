// What operators cost that are alike (likeness.h): found once for all that are divided alike.
#ifndef PARCC_PASSES_SEARCH_OP_CLASSES_H
#define PARCC_PASSES_SEARCH_OP_CLASSES_H

#include "../cost.h"
#include "groups.h"

typedef struct KnownCost { signed char dim[MESH_MAX_AXES]; double seconds; } KnownCost; // of an operator that is divided so, in units of 1
typedef VEC(KnownCost) KnownCosts;

typedef struct OpClasses {
  Arena *arena;
  Graph *graph;
  const CostModel *cost;
  int *of;           // by operator; -1: it is in no group
  KnownCosts *costs; // by class
} OpClasses;

OpClasses op_classes_new(Arena *arena, Graph *graph, const Groups *groups, const CostModel *cost);
// cost_of_op. The sharding of the operator may be overwritten.
double op_classes_seconds(OpClasses *classes, int op, const OpSharding *sharding);

#endif
