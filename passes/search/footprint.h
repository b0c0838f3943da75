// What a plan needs of the memory of a device, estimated as sums over groups: weights of the search problem.
//
// Counted is what lies there for long, in bytes of the rank that has most: parameters and states all the time, what the backward
// pass reads of the forward pass, and gradients of parameters, from the operator that makes them to the last one that reads them,
// as the first group lays them that reads them backward or to update. What may be made again or only in strips is not counted.
// Where layers may be made again (again.h) what they make so is counted while the backward pass reads it only; and counted is, too, what is
// gathered of parameters for those that read them, by variables of the network (copies.h).
// So it is an estimate from below, at every moment of a step (an operator of the training graph). What operators work on beside
// that is told apart, and to the byte is known what a plan needs when it is lowered (evaluate.h).
#ifndef PARCC_PASSES_SEARCH_FOOTPRINT_H
#define PARCC_PASSES_SEARCH_FOOTPRINT_H

#include "again.h"

typedef struct Footprint Footprint;

// In the arena of the problem. layers: which are made again, at any time; NULL: none are. strip_bytes: of the compilation.
Footprint *footprint_new(SearchProblem *p, const AgainLayers *layers, int64_t strip_bytes);
const AgainLayers *footprint_layers(const Footprint *f);
// The largest sum of an assignment, and its moment.
double footprint_peak(Footprint *f, const int *value, int *moment);
// The weights by which a limit of the network is what lies there at a moment.
void footprint_weigh(Footprint *f, int limit, int moment);
// Of every value of a group: bytes of what the operator of it that needs most reads and makes.
const double *footprint_work(const Footprint *f, int group);

#endif
