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
// Who owns the places of a sum that is split along one of the dimensions that it reduces, if each place is of one rank alone: where an index
// over the first dimensions of the result says which part of that dimension counts there (ir/pin.h).
bool sharding_owners(const Graph *graph, const Op *op, int dim, RowOwners *owners);
// The layout of result number `result`. A view passes on what it can of the layout of its operand.
Layout sharding_result(const Graph *graph, const Op *op, int result, const Mesh *mesh);
// The dimension of an operator that follows a tensor's shard (dimension i of the tensor): the one that reads it whole and
// plainly in every access; -1 if there is none. Of an opaque call: that of its first argument that follows.
int sharding_dim_of(const Graph *graph, const Op *op, int tensor, int i);
// Dimension `dim` of `in`, cut in units of `unit`, as a dimension of `out`, which has the same elements under other
// dimensions: its position and unit there; -1 if a view cannot pass the cut on.
int sharding_through_view(const Tensor *in, const Tensor *out, int dim, int64_t unit, int64_t *out_unit);
// Whether a tensor is made as partial sums along an axis, whatever its layout says that its readers expect.
bool sharding_makes_sums(const Graph *graph, int tensor, int axis, const Mesh *mesh);
// Whether the result of an operator is a sum of multiples of what it reads of such tensors, and of terms free of them, so that
// partial sums of them give partial sums of it. Factors and terms are the same on all ranks along the axis.
bool sharding_adds_sums(const Graph *graph, const Op *op, int axis, const Mesh *mesh);
// Whether the result can be left in parts: it is such a sum, or real and free of partial sums, so that each rank makes its share.
bool sharding_can_share(const Graph *graph, const Op *op, int axis, const Mesh *mesh);
// The body of an operator that does so along the axes that are pending, in which each rank has its share of the terms that are
// free of them.
const Expr *sharding_share(const Graph *graph, const Expr *body, const bool *pending, const Mesh *mesh);

#endif
