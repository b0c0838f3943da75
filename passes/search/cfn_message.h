// What elimination (cfn_eliminate.c) sends in place of the functions with a variable: the cheapest choice of the variable for each of its
// neighbours' classes.
#ifndef PARCC_PASSES_SEARCH_CFN_MESSAGE_H
#define PARCC_PASSES_SEARCH_CFN_MESSAGE_H

#include "cfn_net.h"

typedef struct Joint {        // what is looked at together to eliminate x
  int m;                      // neighbours, in the order in which the functions name them
  int *var;                   // [m]
  const NetClasses **classes; // [m]
  const NetClasses *own;
  double size;
} Joint;

typedef struct Made { // a message as it is remembered: its variables are numbers of neighbours
  int arity;
  const int *local;
  const NetMap **map;
  const NetTable *table; // NULL: no variable is left
  double least;
} Made;

// What messages are made of. All but what is remembered is in the scratch arena of the network.
typedef struct Maker {
  Net *net;
  const Elimination *of; // whose functions are meant by their numbers
  double worst;          // more is not allowed
  int *local;            // scratch, by variable, all 0: its number among the neighbours + 1
} Maker;

Joint joint_of(const Maker *maker, int x, const int *fns, int n_fns);
// The message of these functions with x and of what its values cost, remembered if there was one like it.
const Made *message_of(const Maker *maker, const Joint *joint, int x, const NetTable *cost, const int *fns, int n_fns);

// ---- cfn_rows.c

// out: over the neighbours' classes, the last innermost: the minimum over x's classes of cost[class] and the functions.
void rows_fill(const Maker *maker, const Joint *joint, int x, const int *fns, int n_fns, const double *cost, double *out);

#endif
