// The program of one rank: what codegen prints and nothing more. Local extents, kernels, library calls, collectives,
// streams, events, buffers with their places.
#ifndef PARCC_IR_PROGRAM_H
#define PARCC_IR_PROGRAM_H

#include "model.h"
#include "reshard.h"

// A length known when the program starts: fixed, times the lengths of a rank's blocks. That of one dimension has one block
// at most; products of dimensions (counts, strides) may have more, in ascending order.
enum { EXTENT_MAX_MORE = 5 };
typedef struct Extent {
  int64_t fixed;
  int block; // or -1
  int n_more;
  int more[EXTENT_MAX_MORE];
} Extent;

// A part of a split dimension: what a rank holds of it, by its combined coordinate on a set of axes (see Cut). A plain block
// counts units (scale 1); what a window needs counts elements. Or the interval of a loop over strips: elements, at most `extent`
// of them at a time, walking through all of `of`.
typedef struct RankBlock {
  const char *name;   // "n"
  const char *c_name; // in emitted programs
  uint32_t axes;
  Cut cut;
  int64_t extent;
  bool strip;
  int reach; // a strip's block: this one begins at 0 and ends where that interval does; else -1
  Extent of;
  const char *base; // the name that was wished for
  int64_t least, most; // that a rank holds
} RankBlock;

enum { BUFFER_ALIGN = 256 }; // bytes: in the arena a buffer begins at a multiple of it

typedef struct Buffer {
  int64_t bytes;     // of the largest rank
  bool persistent;   // parameters, states, inputs: live all the time
  int first, last;   // first and last step that use it, in the program's order
  int64_t offset;    // place in the arena
} Buffer;

// A tensor as this rank holds it. Views and in-place results share the buffer of another tensor; tensors that are reduced
// together have parts of one.
typedef struct ProgTensor {
  const char *name;   // as in the graph
  const char *c_name; // member of the emitted struct
  Role role;
  bool of_optimizer;  // a state that belongs to a parameter
  ScalarType type;
  int rank;
  Extent *extent;     // [rank]
  int64_t *global;    // [rank]
  const char **dim;   // [rank]
  int buffer;
  int64_t offset, bytes; // in the buffer; of the largest rank
  bool is_part;          // lies within the tensor `whole`, `start` elements behind its first one; has no name of its own
  int whole;
  Extent start;
  int pin[MESH_MAX_AXES]; // only ranks with this coordinate hold it; -1: all
  bool shown; // has a member of its own in the emitted struct
  int steps;  // how many steps use it
} ProgTensor;

typedef struct LoopDim { // a dimension of a kernel's loops
  const char *name;
  Extent extent;
  int64_t global;
} LoopDim;

// One statement of a kernel: out[dims] = body, or a reduction into it over the stage's inner dimensions.
typedef struct Statement {
  const char *name;  // of the operator
  int out;           // tensor
  Reduce reduce;
  const Expr *body;  // over the kernel's dims; accesses in the kernel's merged shapes
  bool accumulate;   // a sum is added to what is there
  const Expr *place; // argmax: the row-major position in the reduced dims, an EXPR_INDEX; else NULL
  int out_rank;
  int out_dim[IR_MAX_RANK]; // kernel dims that index the output
  bool store;        // the result is needed outside of the kernel or by another stage
} Statement;

typedef struct Stage { // one nest of loops over inner dims; statements run point by point, in order
  int n_inner;
  int inner[IR_MAX_DIMS];
  const Expr *at[IR_MAX_DIMS]; // the one place of inner[i] that counts, if there is such a place; NULL: a loop
  VEC(Statement) statements;
  bool sync_before;    // reads what an earlier stage stored
} Stage;

typedef struct KernelTensor { // a tensor in the merged shape a kernel sees
  int tensor;
  int rank;
  Extent *extent;     // [rank]
  int64_t *global;    // [rank]
  const char **dim;   // [rank]
  bool used, written; // in memory; a value that no statement stores is not
  bool is_piece;      // every access is within one piece, which begins `start` elements behind the tensor's first
  Extent start;
  Extent loop_stride; // elements to advance per iteration of the loop around the step; fixed 0: none
} KernelTensor;

typedef enum KernelKind {
  KERNEL_FLAT,  // one loop over all elements
  KERNEL_GRID,  // grid dims over blocks; inner dims, or the last one if there are none, over threads
  KERNEL_LANES, // neighbouring elements of the last grid dim to one thread each, inner dims in sequence
} KernelKind;

typedef struct Kernel {
  KernelKind kind;
  const char *name;
  int n_dims, n_grid; // dims[0 .. n_grid) are the rows
  bool scatters;      // adds to a result that is 0 before, at pinned places of it: its one statement's inner dims index it, too
  LoopDim *dims;      // [n_dims]; while it is built, room for IR_MAX_DIMS
  VEC(Stage) stages;
  VEC(KernelTensor) tensors;
} Kernel;

// Where an interval of a strip begins in a tensor that is there as a whole: (scale * strip.lo - start) * stride elements, start
// being where this rank's part of the tensor begins.
typedef struct Shift {
  int strip; // block
  int64_t scale;
  Extent part, stride; // of the tensor, in this dimension
} Shift;

typedef VEC(Shift) Shifts;

typedef struct Gemm { // row-major c[m, n] (+)= alpha * a[m, k] * b[k, n]; transposed operands lie as a[k, m], b[n, k]
  int a, b, c;
  bool a_transposed, b_transposed, accumulate;
  Extent m, n, k, lda, ldb, ldc;
  Extent batch, batch_a, batch_b, batch_c; // batch.fixed 1, block -1: a single one; strides in elements
  Extent loop_a, loop_b, loop_c;           // elements to advance per iteration of the loop around
  Shifts shift_a, shift_b, shift_c;        // to where the intervals of the strips around begin
  double alpha;
  const char *text; // "y[n, co] = x[n, ci] * w[co, ci]" for the comment
} Gemm;

typedef struct Collective { // a change of layout that is not nothing: a row of reshard.def
  ReshardKind kind;
  uint32_t axes;    // along which the ranks that take part differ
  int tensor, dst;  // the same: in place
  Reduce reduce;    // of partial results
  int root;         // reduce, broadcast: the place of that rank among them, counted along the axes, slowest first
  Extent count;     // elements: of the dst of reductions and of a broadcast, of the tensor that is gathered
  bool direct;      // reduce_scatter, all_gather: all blocks of `count` elements, and in order
  const Layout *from, *to; // of a tensor of these extents
  int rank;
  int64_t extent[IR_MAX_RANK];
  int stage;        // tensor for parts that are not contiguous, or -1
  RowOwners owners;    // of rows that move one by one (reshard_moves_rows)
  double bytes;     // that the busiest rank sends or receives
  VEC(int) members; // all-reduce of several tensors, side by side from `tensor` on; empty: of that alone
  const char *purpose; // of several: one line for people, else NULL
} Collective;

typedef struct CallArg { // a pointer handed to a function of the user's
  const char *name;
  int tensor; // -1: null
  bool written, sized; // sized: the extents of this rank's part follow
  ScalarType type;
} CallArg;

// function(stream, pointers and extents, starts, attributes)
typedef struct Call {
  const char *function;
  VEC(CallArg) args;
  VEC(Extent) starts; // of this rank's part in each dimension that can be divided: fixed * block.lo; 0 without a block
  VEC(OpaqueAttr) attrs;
} Call;

typedef enum StepKind {
  STEP_KERNEL,
  STEP_GEMM,
  STEP_LOOP,
  STEP_COLLECTIVE,
  STEP_CALL,
  STEP_ZERO,
  STEP_COPY,
  STEP_RECORD,
  STEP_WAIT,
  STEP_END
} StepKind;
typedef enum Stream { STREAM_COMPUTE, STREAM_COMM } Stream;

typedef struct StepPart { // an operator that a step does
  double seconds;   // predicted
  const char *what; // that a profile calls it (passes/profile.h); NULL: it has none
  int op;           // of the training graph
} StepPart;
typedef VEC(StepPart) StepParts;

typedef struct Step Step;
struct Step {
  StepKind kind;
  const char *layer, *name; // of its first operator
  const char *scope;        // the innermost layer that holds all its operators
  Loc loc;
  int pin[MESH_MAX_AXES]; // only ranks with this coordinate run it; -1: all
  StepParts parts;      // of what runs in steps that do not report, where a machine is known
  union {
    Kernel *kernel;
    Gemm *gemm;
    struct {
      const char *var;
      Extent extent;
      int strip; // block: a loop over its intervals, without var; -1: one iteration after the other
      int reach; // block that ends with the interval at hand, or -1
      VEC(Step *) body;
    } loop;
    Collective *collective;
    Call call;
    int zero; // tensor
    struct { int dst, src; } copy;
    struct {
      int event;
      Stream stream;
      const Step *collective; // WAIT on compute: whose end is waited for; its tensors live until then
    } sync; // RECORD: on this stream; WAIT: this stream waits
    VEC(int) ended; // END: tensors, one of each buffer that nobody needs any more
  };
};

// In the order in which a run comes to them. PROC_BEGIN and PROC_COMBINE are around the loop over microbatches, which runs PROC_FORWARD
// and PROC_BACKWARD; both are empty where there is only one.
typedef enum ProcedureKind {
  PROC_INIT,
  PROC_BEGIN,
  PROC_FORWARD,
  PROC_BACKWARD,
  PROC_COMBINE,
  PROC_REPORT,
  PROC_UPDATE,
  PROC_EVALUATE,
  PROCEDURES
} ProcedureKind;
const char *procedure_name(ProcedureKind kind);

typedef struct Procedure {
  VEC(Step *) steps;
} Procedure;

typedef struct ProgInput { // an input of the model and where its batch goes
  int input;  // in Model.inputs
  int train, eval; // tensors, or -1
  int whole;       // tensor of the whole batch, where that comes in microbatches, or -1
} ProgInput;

typedef struct ProgScalar { const char *name; int train, eval; } ProgScalar; // tensors or -1

typedef struct Program {
  Arena *arena;
  const Model *model;
  const char *plan_text; // one line for people
  const char *machine_text, *predicted_text; // the machine that it is for, and what a step was predicted to take on it; NULL: not known
  const char *machine_name; // or NULL
  int on_node;              // ranks on one host of that machine
  const char *whole_batches; // "s (model.dnn:6)": why an evaluation takes whole batches only; NULL: it takes any
  Mesh mesh;
  int microbatches; // that a batch of the training split comes in
  VEC(RankBlock) blocks;
  VEC(ProgTensor) tensors;
  VEC(Buffer) buffers;
  Procedure procedure[PROCEDURES];
  VEC(ProgInput) inputs;
  VEC(ProgScalar) scalars; // losses, then metrics
  VEC(int) stored;         // parameters and states, in order of creation
  int gradient_norm;
  int sampled; // [batch, time, vocabulary], computed by evaluate: what the next value of an input is drawn from; or -1
  VEC(StepParts) measured; // of a program that measures: the operators of layer "m0" of forward, "m1", ...
  int n_events;
  int starts[PROCEDURES]; // position, in the program's order of steps, at which a procedure starts (for lifetimes)
  int64_t arena_bytes, lower_bound; // planned peak; largest sum of live buffers
} Program;

bool procedure_runs(const Program *program, ProcedureKind kind); // false of what is around a loop that there is none of
int procedure_times(const Program *program, ProcedureKind kind); // how often it runs in a step
int program_add_block(Program *program, RankBlock block); // its number; least and most are found
Extent extent_fixed(int64_t n);
Extent extent_mul(Extent a, Extent b);
bool extent_add(Extent a, Extent b, Extent *sum); // false: no number times the same blocks
int64_t extent_of_rank(const Program *program, Extent e, int rank);
int64_t extent_max(const Program *program, Extent e); // on the largest rank
bool extent_equal(Extent a, Extent b);
// All of it in the arena, in no more room than it needs; names of operators are shared.
Kernel *kernel_copy(Arena *arena, const Kernel *kernel);
int kernel_find_tensor(const Kernel *kernel, int tensor); // position in kernel->tensors, or -1
// tensor_in: by buffer, a tensor in it; next_tensor: by tensor, another one in its buffer; -1: no more.
void program_list_tensors(const Program *program, int *tensor_in, int *next_tensor);
// Whether two tensors begin at the same place in memory: one is a view of the other, or in its place.
bool prog_tensors_share(const ProgTensor *a, const ProgTensor *b);

// The innermost layer that holds both: "block1" of "block1.conv1" and "block1.norm1".
const char *layer_common(Arena *arena, const char *a, const char *b);
// Whether both are in one layer of the model, the outermost one.
bool layer_same_outer(const char *a, const char *b);
// Whether the step does work of an operator; the others order work and tell of memory.
bool step_works(const Step *step);
// Calls visit for every tensor a step uses, loops included. To end a buffer is to write to it.
void step_visit_tensors(const Step *step, void (*visit)(void *ctx, int tensor, bool written), void *ctx);
Stream step_stream(const Step *step); // that its work is issued on
void program_print(const Program *program, Text *out);
// NULL, or what is wrong: two steps of different streams that use the same memory and that nothing orders, or a step that
// reads what is not there (any more).
const char *program_find_disorder(const Program *program);
// NULL, or what is wrong: two ranks of a communicator that do not issue the same collectives in the same order.
const char *program_find_mismatch(const Program *program);
void program_verify(const Program *program, const char *pass);

#endif
