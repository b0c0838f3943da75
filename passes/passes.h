// Every pass on graphs, in the order of the pipeline. Each file states what it requires and guarantees.
#ifndef PARCC_PASSES_PASSES_H
#define PARCC_PASSES_PASSES_H

#include "pipeline.h"

void pass_autodiff(Graph *train);
// Of several losses: puts their sum first in the list, as "loss"; a part of that name becomes "main".
void graph_add_total_loss(Graph *graph);
// Constant folding, trivial operators, common subexpressions, dead code. Counts are folded unless `partial_batches`:
// the evaluation graph, whose last batch may be smaller.
void pass_simplify(Graph *graph, bool partial_batches);
// Of the training graph: gradients of which few rows are not 0 become rows, where that takes less.
void pass_sparse(Compilation *c);
void pass_decompose(Graph *graph);
// Sums of contractions over the same dimensions become one operator.
void pass_merge_products(Graph *graph);
// Gives every operator its sharding, inputs and stored tensors their layouts. Adds the batch to the mesh as its last axis.
void pass_plan(Compilation *c);
// What an operator is called and where it stands: "relu s (model.dnn:6)".
const char *plan_op_place(const Model *model, const Op *op);
// Of a planned model: the first operator of the evaluation that needs all samples of a batch, "s (model.dnn:6)"; NULL: the
// last batch may be smaller.
const char *plan_whole_batches(const Model *model, const Mesh *mesh);
// Puts in every change of layout that the plan asks for, as an operator: what moves fewest bytes, or where a machine is known (else
// NULL) takes least time.
void pass_apply_plan(Graph *graph, const Mesh *mesh, const CostModel *model);
// Of the training graph: what layers that the plan names make within themselves is not kept for the backward pass.
void pass_recompute(Graph *train, const Plan *plan);
// Of the training graph: large results that are cheap to make again are not kept for the backward pass. Which ones that may be is marked
// before a plan is made, so that whoever plans knows what it takes: those of which there are more than `least_bytes` on a rank.
void rematerialise_mark(Graph *train, int64_t least_bytes);
int64_t rematerialise_least(int64_t strip_bytes); // least_bytes of a compilation: what is small beside a strip is kept
// Whether so much of a tensor that is marked is on a rank, where it lies so.
bool rematerialise_chooses(const Tensor *tensor, const Layout *layout, const Mesh *mesh, bool f64);
// With shardings of all operators, changes of layout being operators or not: sets Tensor.again.
void rematerialise_settle(Graph *train, const Mesh *mesh, bool f64);
void pass_rematerialise(Graph *train);
// By tensor of a training graph that is not sharded yet: whether it is much larger than what it is made from, so that, however it
// lies, it may be made again, or never be there as a whole (strips.h).
const bool *rematerialise_bulges(Graph *train, Arena *arena);
// From the sharded graphs of the model to c->program: steps without order between streams and without places.
void pass_lower(Compilation *c);
// Reductions over the same ranks become one, of at most so many bytes. Large enough that starting a message takes no time beside sending
// it, small enough that the first buckets of a large model are on their way while most of the backward pass is still to come.
enum { BUCKET_BYTES = 25 << 20 };
void pass_bucket(Compilation *c);
// Stored tensors are brought together before their layer begins.
void pass_fetch_ahead(Compilation *c);
// Collectives get their stream; events make every order between streams explicit.
void pass_schedule(Compilation *c);
// Every buffer gets its place in the arena.
void pass_plan_memory(Compilation *c);
// Buffers are ended behind their last use.
void pass_end_lifetimes(Compilation *c);
// Steps tell what their operators are predicted to take: in seconds, and what a profile calls them. One of a copy that may not be
// written needs no names yet.
void pass_predict(Compilation *c);
void predict_seconds(Compilation *c);
void predict_names(Compilation *c);

#endif
