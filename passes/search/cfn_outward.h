// One part of a bucket as the outward pass sees it (cfn_marginals.c): the functions of a variable, what values of it cost, and what lies
// outside of them.
#ifndef PARCC_PASSES_SEARCH_CFN_OUTWARD_H
#define PARCC_PASSES_SEARCH_CFN_OUTWARD_H

#include "cfn_net.h"

typedef struct Joined { // the variables of a part, its own first
  int n;
  int *var;
  const NetClasses **classes;
  double size;
} Joined;

typedef struct Part {
  int n;
  const NetFn *const *fns; // [n] with the variable
  const bool *message;     // [n] whether one came from an eliminated variable
  const NetFn *outside;    // of other variables alone; NULL: there is none
  const NetTable *cost;    // of the variable's values; NULL: they cost nothing
} Part;

typedef struct Outward {
  const double *marginal; // by class of the variable, 0 for the best
  const NetClasses *own;
  const NetTable **out;   // [n] of messages, what is outside of them: 0 for the best; else NULL
} Outward;

// slack: what costs so much more than the best is as good as not allowed. In the arena of the network, but for
// what it leaves in the scratch arena.
const Outward *outward_of(Net *net, const Part *part, const Joined *joined, double slack);

#endif
