// What a step takes where changes of layout go on beside what is computed, of a training graph that is laid but not lowered: two streams,
// as the passes apply-plan and schedule would have them. About what streams_of_program (streams.h) says of the program; how kernels
// are made and buckets end, what is made again, and that devices may do different things is not looked at.
#ifndef PARCC_PASSES_SIM_OVERLAP_H
#define PARCC_PASSES_SIM_OVERLAP_H

#include "../demands.h"

// makings: by operator, of those of a step (cost_of_makings).
double overlap_of_graph(Arena *scratch, const CostModel *model, const Demands *demands, const double *makings);

#endif
