// Where a step looks rows of a table up by integers.
#ifndef PARCC_IR_LOOKUP_H
#define PARCC_IR_LOOKUP_H

#include "graph.h"

typedef struct Lookup {
  int out;                 // tensor: the rows that are looked up
  int table;               // a parameter of the graph: integers choose from its first dimension
  int input;               // whose values these are, as they are; -1: they are computed
  int64_t at[IR_MAX_RANK]; // with an input: the one place along each of its dimensions that they stand at; -1: all
  double places;           // integers of a step
} Lookup;
typedef VEC(Lookup) Lookups;

#endif
