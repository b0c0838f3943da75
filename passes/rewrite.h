// What several passes on graphs need: rebuilding the list of operators, solving and inlining accesses.
#ifndef PARCC_PASSES_REWRITE_H
#define PARCC_PASSES_REWRITE_H

#include "../ir/graph.h"

// Sorts the operators by phase, keeping the order within a phase, and renumbers producers.
void graph_sort_by_phase(Graph *graph);
// Keeps the operators with keep[op] and renumbers producers; tensors keep their ids.
void graph_keep_ops(Graph *graph, const bool *keep);
// Keeps the operators whose results are needed, and those that make parameters and states.
void graph_drop_dead(Graph *graph);
// By tensor: something other than operators reads it: it is stored, reported, or the gradients' norm.
bool *graph_leaves(const Graph *graph, Arena *arena);
// The stored tensor that takes a value; -1: none, or several.
int graph_stored_from(const Graph *graph, int value);
// An access to the whole tensor at the dimensions first, first + 1, ...: tensor[d_first, d_first+1, ...].
const Expr *access_plain(const Graph *graph, int tensor, int first_dim);
// Whether an access of an operator is that at its first dimensions, `rank` of them.
bool access_is_leading(const Graph *graph, const Op *op, const Expr *access, int rank);
// True if all indices lie inside of the tensor for every point of the op's iteration space.
bool access_in_range(const Graph *graph, const Op *op, const Expr *access);
// True if index i of the access is exactly one dimension whose extent is the tensor's.
int access_full_dim(const Graph *graph, const Op *op, const Expr *access, int i);
// The access is always at the one place of dimension i, which has extent 1: it never reads beside the tensor.
bool access_is_at_unit(const Graph *graph, const Op *op, const Expr *access, int i);
// The iteration dimensions an access uses, in the order in which a packed copy lies best: those of whole dimensions before
// the first window, then the inner dimensions of windows, then the outer ones, each in the tensor's order:
// x[n, ci, p + r, q + s] gives n, ci, r, s, p, q. Returns their number.
int access_packing_order(const Graph *graph, const Op *op, const Expr *access, const bool *outer, int *dims);
// A dimension of extent 1 always has index 0: drops its coefficients everywhere, and drops it where it is reduced.
void op_drop_unit_dims(Graph *graph, Op *op);
// The row-major position in the reduced dimensions, as an index.
Index op_reduced_position(const Op *op);
// The dims of a tensor as iteration dimensions.
void dims_of_tensor(const Tensor *tensor, Dim *dims);

#endif
