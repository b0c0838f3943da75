// A plan: how every operator and every stored tensor lies on the mesh.
#ifndef PARCC_IR_PLAN_H
#define PARCC_IR_PLAN_H

#include "graph.h"

typedef enum ChoiceKind {
  CHOICE_FOLLOW,    // split the dimension through which a cut operand is read, else replicate
  CHOICE_REPLICATE,
  CHOICE_SPLIT,     // split dimension `dim`
  CHOICE_PIN,       // only the ranks with coordinate `pin`
} ChoiceKind;

typedef struct Choice { // along one axis
  ChoiceKind kind;
  int dim;
  int64_t unit;
  int pin;
} Choice;

typedef enum PlanKind {
  PLAN_DATA,   // inputs are cut along the batch, operators follow, stored tensors are replicated
  PLAN_RANDOM, // every operator, input and stored tensor draws uniformly among what it could do
} PlanKind;

typedef struct Plan {
  PlanKind kind;
  uint64_t seed;
} Plan;

#endif
