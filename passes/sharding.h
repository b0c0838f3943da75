// What the sharding of an operator means for the layouts of its operands and of its result: derived from the index
// expressions alone.
#ifndef PARCC_PASSES_SHARDING_H
#define PARCC_PASSES_SHARDING_H

#include "../ir/graph.h"

// The layout in which the operator reads `tensor` under op->sharding.
Layout sharding_operand(const Graph *graph, const Op *op, int tensor, const Mesh *mesh);
// The layout of the result. A view passes on what it can of the layout of its operand.
Layout sharding_result(const Graph *graph, const Op *op, const Mesh *mesh);
// The dimension of an operator that follows a tensor's shard (dimension i of the tensor): the one that reads it whole and
// plainly in every access; -1 if there is none.
int sharding_dim_of(const Graph *graph, const Op *op, int tensor, int i);

#endif
