// A direct evaluation of graphs in f64: the oracle that tests hold derived gradients and emitted programs against.
// Slow and plain on purpose.
#ifndef PARCC_IR_INTERP_H
#define PARCC_IR_INTERP_H

#include "graph.h"

typedef struct Interp {
  const Graph *graph;
  double **data;      // by tensor id: row-major elements; NULL until set or computed. Integers are held as doubles.
  double run[RUN_SCALARS];
  uint64_t seed;      // of random numbers (the step is run[RUN_STEP])
} Interp;

Interp *interp_new(Arena *arena, const Graph *graph);
// Evaluates every operator of the graph in order (inputs, parameters and states must have been set).
void interp_run(Interp *interp);
// Applies the stores: states and parameters take their new values.
void interp_store(Interp *interp);
// value of a rank-0 tensor
double interp_scalar(const Interp *interp, int tensor);

#endif
