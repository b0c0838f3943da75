// The graph: tensors and the operators that compute them, in an order in which every operator comes after what it reads.
//
// The same structure holds the model graph, the training graph and the sharded graph; see graph_verify for the rules.
#ifndef PARCC_IR_GRAPH_H
#define PARCC_IR_GRAPH_H

#include "expr.h"
#include "layout.h"
#include "spread.h"

typedef enum Role {
  ROLE_VALUE,    // computed by an operator
  ROLE_INPUT,    // a batch of data
  ROLE_PARAM,    // trained
  ROLE_STATE,    // kept between steps, not trained: running statistics, optimizer state
  ROLE_GRADIENT, // declared by the frontend as "the gradient of a parameter"; autodiff gives it its operator
} Role;

typedef struct Tensor {
  const char *name; // unique in the graph, e.g. "conv1.w"
  Role role;
  ScalarType type;
  int rank;
  int64_t extent[IR_MAX_RANK];
  const char *dim[IR_MAX_RANK]; // dimension names
  int64_t range;                // integers: values lie in [0, range); 0: unknown
  const Spread *looked_up;      // of rows of a table that stand in it (LAYOUT_OWNED): how they spread; NULL: unknown
  const Spread *spread;         // of an input of integers: how its values spread over [0, range); of a table, and of what is as long: how the
                                // places of a step that choose its rows do. NULL: unknown
  int producer;                 // operator that computes it, or -1
  int of;                       // ROLE_GRADIENT: the parameter; STATE of an optimizer: the parameter it belongs to; VALUE: the one whose
                                // gradient it has as rows; INPUT: the one of which it is the whole batch, where that comes in
                                // microbatches; else -1
  bool inlined;                 // made and read within one kernel, whatever the plan: see passes/cost_inline.c
  int64_t again_above;          // the backward pass may make it again where a rank has more bytes of it; 0: it does not
  int again_by;                 // with that: if the operator that makes this tensor reads it as it is made
  bool again;                   // it does, as the graph is sharded: see passes/rematerialise.c
  int shard;                    // of inputs and stored tensors: number of the @shard(...) that speaks for it, or 0
  const Layout *layout;         // in the sharded graph; see graph_set_layout
  Loc loc;
} Tensor;

typedef enum Reduce { REDUCE_NONE, REDUCE_SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_ARGMAX } Reduce;
const char *reduce_name(Reduce reduce);
double reduce_identity(Reduce reduce); // 0, -inf, +inf, 1; -inf for argmax

typedef enum OpKind {
  OP_COMPUTE, // an index expression
  OP_VIEW,    // the same elements in row-major order under other dimensions: splits and merges dimensions, moves nothing
  OP_RESHARD, // a change of layout, put in by apply-plan
  OP_OPAQUE,  // a call of a C function of the user's: nothing is known of its inside
} OpKind;

typedef enum Phase {
  PHASE_INIT,
  PHASE_BEGIN,   // what is known of the whole batch, before its first microbatch
  PHASE_FORWARD, // of every microbatch
  PHASE_BACKWARD,
  PHASE_COMBINE, // what is made of sums over the whole batch, behind its last microbatch
  PHASE_REPORT,
  PHASE_UPDATE
} Phase;
const char *phase_name(Phase phase);

typedef struct Dim {
  const char *name;
  int64_t extent;
} Dim;

// One pointer that an opaque call hands to its function.
typedef struct OpaqueArg {
  const char *name; // in the function's prototype
  int tensor;       // -1: a null pointer, for a gradient that nobody needs
  bool written, sized; // sized: its extents follow it
  ScalarType type;
  int rank;
  int dim[IR_MAX_RANK]; // the operator's dimension that each of the tensor's is; -1: one that is never divided
} OpaqueArg;

typedef struct OpaqueAttr { const char *name; double value; } OpaqueAttr;

// What OP_OPAQUE calls. Never changed in place: operators that are copied share it.
typedef struct Opaque {
  const char *function;
  const char *gradient; // the function that computes the gradients, or NULL
  int n_args, n_attrs;
  OpaqueArg *args; // operands, then results
  OpaqueAttr *attrs;
} Opaque;

// Of a change of layout from owners of rows (LAYOUT_OWNED): which row of a table of so many stands at each place, an integer tensor over the
// first `dims` dimensions.
typedef struct RowOwners {
  int index, dims;
  int64_t rows;
} RowOwners;

typedef struct Op {
  OpKind kind;
  Phase phase;
  const char *name;  // what the text calls it: "relu", "conv2d", "conv2d.grad"
  const char *layer; // where it stands: "conv1", "block3.conv2"; "" at the top
  int out;           // tensor it computes; OP_OPAQUE: the first of them (see op_results)
  // OP_COMPUTE: the iteration space; dims[0 .. n_out) index the output in order, the rest is reduced. ARGMAX gives the
  // row-major position in the reduced dimensions of the first largest element.
  // OP_OPAQUE: the dimensions along which it can be divided, n_out == n_dims. A result without one of them, which only
  // gradients have, is then a partial sum.
  int n_dims, n_out;
  Dim dims[IR_MAX_DIMS];
  Reduce reduce;
  const Expr *body;
  bool accumulates; // the sum goes over all microbatches: each adds to it
  int in;       // OP_VIEW, OP_RESHARD: the tensor read
  const RowOwners *owners; // OP_RESHARD: those of rows, or NULL
  const Opaque *opaque; // OP_OPAQUE
  int shard; // number of the innermost @shard(...) of the model that speaks for it, or 0
  int origin; // training graph: number of the forward operator that it is, or is part of the gradient of; 0: of none
  OpSharding sharding;
  Loc loc;
} Op;

typedef struct Store { int state, value; } Store; // at the end of a step `state` takes the value of the tensor `value`

typedef struct Scalar { const char *name; int tensor; } Scalar;

typedef struct Graph {
  Arena *arena;
  const char *name; // "train", "eval", "init"
  VEC(Tensor) tensors;
  VEC(Op) ops;
  VEC(Store) stores;
  VEC(Scalar) losses;  // scalars (rank 0); their sum is what is trained; after autodiff the sum is the first of them
  VEC(Scalar) metrics; // scalars reported with it
  int sampled;         // eval: the tensor [batch, time, vocabulary] that Model.sampled_input is drawn from, or -1
  int gradient_norm;   // scalar tensor of the global norm of all gradients before clipping, or -1
  int microbatches;    // that a batch comes in, one after the other
  Names tensor_names;
  Numbers layouts;     // of tensors, each once
  Op *old_ops;         // the list of operators before graph_renew_ops
  int old_cap;
} Graph;

Graph *graph_new(Arena *arena, const char *name);
// A graph of its own that can be changed as the first one could; what never changes, expressions and names, is shared.
Graph *graph_copy(Arena *arena, const Graph *graph);
// Begins the list of operators anew, with room for n. The old one, which is returned, can be read until this is called again.
const Op *graph_renew_ops(Graph *graph, int n);
void graph_forget_old_ops(Graph *graph); // gives it up sooner
void graph_forget_ops(Graph *graph); // and all operators, where only the tensors are asked about from now on
// Adds a tensor; makes `name` unique by a suffix if need be. Returns its id.
int graph_add_tensor(Graph *graph, Tensor tensor);
// Adds an OP_COMPUTE operator and its output tensor (ROLE_VALUE, name `name`) whose dims are op.dims[0 .. op.n_out). Returns the tensor.
int graph_add_compute(Graph *graph, Op op, const char *tensor_name);
// Adds a view of `in` with the given dimensions (same number of elements). Returns the tensor.
int graph_add_view(Graph *graph, int in, int rank, const Dim *dims, Op proto, const char *tensor_name);
// Appends an operator whose output tensors exist already.
int graph_add_op(Graph *graph, Op op);
void graph_set_layout(Graph *graph, int tensor, const Layout *layout);
int64_t tensor_elements(const Tensor *tensor);
#define GRAPH_MAX_ELEMENTS ((int64_t)1 << 56) // of all tensors of a model's graph: bytes of it, of several types, fit into an int64_t
static inline Tensor *graph_tensor(const Graph *graph, int id) { return &graph->tensors.at[id]; }

// The tensors an operator computes: one, but for opaque calls.
int op_results(const Op *op);
int op_result(const Op *op, int i);
bool op_any_result(const Op *op, const bool *marked); // marked: by tensor
// Lets the operator compute `to` in place of its result `from`.
void op_replace_result(Arena *arena, Op *op, int from, int to);
// The tensors of an opaque call renamed: each operand t becomes by(ctx, argument), results stay.
typedef int OpaqueOperandFn(void *ctx, const OpaqueArg *arg);
const Opaque *opaque_map_operands(Arena *arena, const Opaque *opaque, OpaqueOperandFn *by, void *ctx);
// Calls visit for every tensor an operator reads (an id may come several times).
void op_visit_reads(const Op *op, void (*visit)(void *ctx, int tensor), void *ctx);
// The phase in which the result of an operator is there, of the whole batch.
Phase op_complete(const Op *op);
// How often what is of a phase runs in a step: in every microbatch, or once.
int phase_times(const Graph *graph, Phase phase);
// Whether what is of a phase counts in the time of a step: not what runs once, nor what only reports.
bool phase_is_of_step(Phase phase);
// floating-point operations of the operator on whole tensors
double op_flops(const Op *op);

void graph_print(const Graph *graph, Text *out);
// Checks the rules of the graph; on a violation ends with an internal error that names `pass`, the rule and the operator.
void graph_verify(const Graph *graph, const char *pass);

#endif
