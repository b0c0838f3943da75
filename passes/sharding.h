// What the sharding of an operator means for the layouts of its operands and of its result: derived from the index
// expressions alone.
#ifndef PARCC_PASSES_SHARDING_H
#define PARCC_PASSES_SHARDING_H

#include "../ir/graph.h"

// The layout in which the operator reads `tensor` under op->sharding.
// Not for opaque calls, which may read one tensor in two layouts: see sharding_argument.
Layout sharding_operand(const Graph *graph, const Op *op, int tensor, const Mesh *mesh);
// The layout in which an opaque call reads or makes an argument: partial where it makes one without a dimension that is split.
Layout sharding_argument(const Op *op, const OpaqueArg *arg, const Mesh *mesh);
// The layout of result number `result`. A view passes on what it can of the layout of its operand.
Layout sharding_result(const Graph *graph, const Op *op, int result, const Mesh *mesh);
// The dimension of an operator that follows a tensor's shard (dimension i of the tensor): the one that reads it whole and
// plainly in every access; -1 if there is none. Of an opaque call: that of its first argument that follows.
int sharding_dim_of(const Graph *graph, const Op *op, int tensor, int i);

#endif
