// Who sends how much to whom in a training step.
#ifndef PARCC_PASSES_REPORT_TRAFFIC_H
#define PARCC_PASSES_REPORT_TRAFFIC_H

#include "../../ir/program.h"

enum { TRAFFIC_MAX_RANKS = 128 }; // that are told one by one

// bytes[sender * ranks + receiver], of the forward pass, the backward pass and the update. Messages are the parts that ranks hold and
// need; other collectives are taken to go around a ring of the ranks in order, as the cost model's bytes are (ir/reshard.def).
// NULL where there are too many ranks.
double *traffic_of_program(Arena *arena, const Program *program);

#endif
