// parcc.h: everything an emitted program includes.
//
// An emitted program is one file in the common subset of C17 and CUDA C++. It calls CUDA, cuBLAS and NCCL by their own
// names; under nvcc those are the libraries themselves, otherwise the replacements in runtime/host (device memory is
// host memory, cuBLAS is CBLAS, NCCL is MPI or TCP). PARCC_STAGED (parcc-cc --staged): it is so on copies in host memory,
// and ranks can share a GPU.
//
// A program runs as one process per rank. All functions below are called by every rank in the same order. None returns
// an error: a fault prints one message on stderr and ends all ranks (exit code 1: input or run at fault, 2: misuse,
// 3: internal error).
#ifndef PARCC_H
#define PARCC_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(__CUDACC__) || defined(PARCC_CUDA)
#include <cublas_v2.h>
#include <cuda_runtime.h>
#else
#include "../host/cublas_v2.h"
#include "../host/cuda_runtime.h"
#endif
#if (defined(__CUDACC__) || defined(PARCC_CUDA)) && !defined(PARCC_STAGED)
#include <nccl.h>
#else
#include "../host/nccl.h"
#endif

// Kernel loops and launches (GRID, BLOCK, FLAT, BLOCK_SUM, LAUNCH_ROWS, ...).
#if defined(__CUDACC__)
#include "../cuda/kernel.h"
#elif !defined(PARCC_CUDA)
#include "../host/kernel.h"
#endif

#ifndef PARCC_CHECK
// {pointer, bytes}, ...: work that follows on stream compute will not use what these buffers hold: for the checking mode, in
// which a use is then a fault until something is written there.
#define LIFETIME_END(...)                                                                                              \
  do {                                                                                                                 \
    const struct {                                                                                                     \
      void *at;                                                                                                        \
      long bytes;                                                                                                      \
    } parcc_ended_[] = {__VA_ARGS__};                                                                                  \
    (void)parcc_ended_;                                                                                                \
  } while (0)
#endif

#include "random.h"
#include "scalar.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- what a program is ---------------------------------------------------------------------------------------------

enum { PARCC_MAX_RANK = 10 };

typedef enum { PARCC_FLOAT, PARCC_DOUBLE, PARCC_INT } ParccType; // float, double, 32-bit int

// [lo, lo + len) of one dimension. len 0 is legal: a rank may have nothing to do.
typedef struct {
  long lo, len;
} Interval;

// A loop over strips: s goes through [from, from + count) in intervals of at most `size` > 0.
#define STRIPS(s, from, count, size)                                                                                   \
  for (Interval s = {(from), (count) < (size) ? (count) : (size)}; s.len > 0;                                          \
       s.lo += s.len, s.len = (from) + (count) - s.lo < (size) ? (from) + (count) - s.lo : (size))

// Of a file that is one long sequence, sample i is the window that begins at element shift + i * stride, as long as a sample
// of the input. stride 0: as long as a window.
typedef struct {
  long shift, stride;
  double held_out; // the test split is so much of the training file, its end; 0: it is a file of its own, or there is none
  const char *vocabulary; // a file that tells what tokens stand for, in the directory of the data; or NULL
} ParccWindows;

// Of a file whose lines are samples: each is its tokens, cut to the length of a sample or filled up. All tokens lie in the
// range of the input.
typedef struct {
  const char *vocabulary; // a file of words, in the directory of the data; NULL: tokens are bytes
  long begin, end;        // tokens put before and behind each line; -1: none
  long pad, unknown;      // what fills up; what stands for a word that the vocabulary lacks, -1: an error
  double held_out;        // as above, in lines
} ParccLines;

// Where the values of an input come from: two files (training and test split) in the directory given by --data.
// value = stored value * scale + offset. kind NULL: no files, the program runs on --data synthetic only.
typedef struct {
  const char *kind; // "idx" or "npy": an array, whose first dimension counts samples; "text" or "tokens": a sequence; "lines"; NULL
  const char *train, *test;
  double scale, offset;
  const ParccWindows *windows; // of a sequence; else NULL
  const ParccLines *lines;     // of lines; else NULL
} ParccSource;

typedef struct {
  const char *name;
  ParccType type;
  int rank;                    // number of dimensions, the first is the batch
  long extent[PARCC_MAX_RANK]; // of the whole batch, on all ranks together
  long range;                  // PARCC_INT: values lie in [0, range); 0: any
  ParccSource source;
} ParccInput;

typedef struct {
  const char *name;   // of the program, in messages
  const char *source; // the .dnn file it was made from
  int ranks;          // the number of ranks it was made for
  long batch;         // samples a step, on all ranks together
  ParccType real;     // PARCC_FLOAT or PARCC_DOUBLE: the type of all reals, also of the scalars
  const ParccInput *inputs;
  int n_inputs;
  const char *const *scalars; // names of the values given to END_STEP and END_EVAL; the first is the loss
  int n_scalars;
  long steps, epochs; // defaults of --steps and --epochs; steps where positive, else epochs
  double (*learning_rate)(double step, double steps);
  const char *whole_batches; // an operator that needs all samples of a batch, so that an evaluation takes whole batches only
                             // and says what it leaves out; NULL: the last batch may be smaller
  int sampled;               // the input, integers [batch, time], that --sample generates; -1: none
  bool measures;             // it trains nothing, but prints a profile (parcc_laps) or the like, and nothing else; on any number of ranks
} ParccModel;

// PARCC_STATE: running statistics and the like; PARCC_OPTIMIZER: what the optimizer remembers, which --init does not take.
typedef enum { PARCC_PARAM, PARCC_STATE, PARCC_OPTIMIZER } ParccKind;

// A tensor that outlives a step. data holds this rank's block, dense, row-major.
typedef struct {
  const char *name;
  ParccType type;
  int rank;
  long extent[PARCC_MAX_RANK];
  Interval own[PARCC_MAX_RANK];
  void *data;     // device memory, of the program
  ParccKind kind;
} ParccTensor;

// An operator of a step: what it was predicted to take, in microseconds, and what a profile calls it, or NULL.
typedef struct {
  double us;
  const char *what;
} ParccPredicted;

// ---- the run -------------------------------------------------------------------------------------------------------

typedef struct {
  int rank, ranks;
  cublasHandle_t cublas; // works on stream compute
  cudaStream_t compute, comm;
  unsigned long long seed;
  long step, steps; // step counts from 0
  double lr;        // of this step
} Parcc;

extern Parcc parcc; // to read, not to write

// Reads the options, starts MPI, the device, the streams, cuBLAS and NCCL, opens the data. model must stay alive.
// program: a word that tells this program from others, so that ranks that run different ones find out; parcc-cc defines
// PARCC_PROGRAM_HASH for it. NULL: the executable file is looked at instead.
void parcc_start_program(const char *program, int argc, char **argv, const ParccModel *model);
#define PARCC_WORD_OF(word) #word
#define PARCC_WORD(word) PARCC_WORD_OF(word)
#ifdef PARCC_PROGRAM_HASH
#define parcc_start(argc, argv, model) parcc_start_program(PARCC_WORD(PARCC_PROGRAM_HASH), argc, argv, model)
#else
#define parcc_start(argc, argv, model) parcc_start_program(NULL, argc, argv, model)
#endif

// Of a program that was written for a machine: tells, without --quiet, where the hosts that the ranks are on are not its nodes, which have
// `on_node` consecutive ranks each, and where a rank has less device memory than `memory` bytes.
void parcc_machine(const char *machine, int on_node, long long memory);

// The block of `index` when extent is divided into parts: sizes differ by at most one, the larger ones come first.
Interval parcc_block(long extent, long parts, long index);
// The same of a block instead of an extent.
Interval parcc_block_in(Interval block, long parts, long index);

// The part of a dimension that a window needs over the units [lo, lo + len) of a block: from floor((scale * lo - before) / div) to
// floor((scale * (lo + len - 1) + after) / div), cut to [0, extent). Of an empty block nothing.
Interval parcc_window(Interval block, long scale, long before, long after, long div, long extent);

// The communicator of the ranks that differ from this one only in rank / stride % size. Lives until parcc_finish.
ncclComm_t parcc_axis(int stride, int size);
// That of the ranks that call with the same line, in the order of their places.
ncclComm_t parcc_line(int line, int place);

// Creates n events without timing. They live until parcc_finish; the array must, too.
void parcc_events(cudaEvent_t *events, int n);

// Device memory for all tensors of the program, 256-byte aligned, not initialised. Lives until parcc_finish.
char *parcc_arena(size_t bytes);

// Says what --save writes, and --load and --init read. The array must live until parcc_finish.
void parcc_stored(const ParccTensor *tensors, int n);

// The same, one tensor at a time, in the order of the file. Of a layer that is not NULL the name is a part: "layer.name".
// data NULL: this rank holds nothing of it.
typedef struct {
  long extent;  // over all ranks
  Interval own; // what this rank holds
} ParccDim;
#define WHOLE(n) {n, {0, n}}
#define PART(n, ...) {n, __VA_ARGS__}
#define SCALAR {-1, {0, 1}} // the only one, of a tensor without dimensions
void parcc_store(const char *layer, const char *name, ParccKind kind, ParccType type, void *data, int rank,
                 const ParccDim *dims);
// STORE("dense1.w", PARCC_PARAM, PARCC_FLOAT, t.dense1_w, WHOLE(84), PART(120, ci));
#define STORE_OF(layer, name, kind, type, data, ...)                                                                   \
  do {                                                                                                                 \
    const ParccDim parcc_dims_[] = {__VA_ARGS__};                                                                      \
    parcc_store(layer, name, kind, type, data, (int)(sizeof parcc_dims_ / sizeof *parcc_dims_), parcc_dims_);          \
  } while (0)
#define STORE(name, kind, type, data, ...) STORE_OF(NULL, name, kind, type, data, __VA_ARGS__)

// Fills the n pointers of a record, one behind the other from `pointers` on, with places in the arena, which are counted in
// units of so many bytes; negative: NULL.
void parcc_place_record(char *arena, long unit, const long *place, int n, void *pointers);

// With --load or --init: replaces the tensors of parcc_stored by those of the checkpoint or file. Otherwise does nothing.
// After --load the run goes on behind the step that the checkpoint was made after.
void parcc_load(void);

// For --profile-steps. places: numbers of the operators behind each AT of a step that does not report, in order; -1 ends them; n numbers.
// Both arrays must live until parcc_finish.
void parcc_predicted(const ParccPredicted *operators, const int *places, int n);

// Begins a training step: sets parcc.step and parcc.lr. Returns 0 when all steps are done. The first step after --load DIR
// is not 0.
int parcc_next_step(void);

// Whether the scalars after the first, and the gradient norm, of this step will be read. The same on all ranks.
int parcc_reports(void);

// Begins a batch of the test split. Returns its number of samples (the last batch may be smaller, unless the model has
// whole_batches), 0 at the end and without --eval.
long parcc_next_eval(void);

// Puts this rank's block of the batch (of this step, or of this evaluation) at dst, in stream compute.
// block: one interval for each dimension of the input.
void parcc_batch(int input, void *dst, const Interval *block);
#define LOAD_BATCH(input, dst, ...)                                                                                    \
  do {                                                                                                                 \
    const Interval parcc_block_[PARCC_MAX_RANK] = {__VA_ARGS__};                                                                     \
    parcc_batch(input, dst, parcc_block_);                                                                             \
  } while (0)

// Ends a training step. scalars: device pointers to model.n_scalars reals, computed in stream compute, the same on all
// ranks; norm: a device pointer to the gradient norm, or NULL. A loss that is not finite ends the run. With --save-every
// the stored tensors are written after some steps, so the step must have updated them all.
void parcc_end_step(const void *norm, const void *const *scalars);
#define END_STEP(norm, ...)                                                                                            \
  do {                                                                                                                 \
    const void *const parcc_scalars_[] = {__VA_ARGS__};                                                                \
    parcc_end_step(norm, parcc_scalars_);                                                                              \
  } while (0)

// Ends a batch of the test split, whose scalars are means over count samples.
void parcc_end_eval(long count, const void *const *scalars);
#define END_EVAL(count, ...)                                                                                           \
  do {                                                                                                                 \
    const void *const parcc_scalars_[] = {__VA_ARGS__};                                                                \
    parcc_end_eval(count, parcc_scalars_);                                                                             \
  } while (0)

// Begins to compute the next token of --sample: as parcc_next_eval, 0 at the end and without --sample. For programs of one
// rank whose model has a sampled input.
long parcc_next_token(void);

// Draws it. logits: a device pointer to [batch, time, range] reals, computed in stream compute.
void parcc_end_token(const void *logits);

// Of programs that measure: waits for all work on stream compute, and notes how long it is since the last lap, for part `part` of a
// step. PARCC_LAP_BEGIN: notes nothing; PARCC_LAP_EMPTY behind it: what a lap itself takes.
enum { PARCC_LAP_BEGIN = -1, PARCC_LAP_EMPTY = -2 };
void parcc_lap(int part);
// Prints a profile on standard output: of what is behind each part of a step (as of parcc_predicted) the mean of its laps, and where there are
// several ranks what collectives take between them.
void parcc_laps(const ParccPredicted *operators, const int *places, int n);

// Measures the devices of all ranks and the links between them, and prints them on standard output as a machine file: of several ranks on
// one host a level "node", of several hosts a level "cluster".
void parcc_detect(void);

// Integers of an input that choose rows of a table, and where they stand in it.
typedef struct {
  const char *table;
  long rows;               // of the table
  int input;               // in ParccModel.inputs
  long at[PARCC_MAX_RANK]; // the one place along each dimension of the input; -1: all
} ParccLookup;
// Counts the rows that the samples of the training split look up, and prints that on standard output for parcc --data-stats.
void parcc_data_stats(const ParccLookup *lookups, int n);

// Writes --save, prints the summary, gives everything back. Returns the exit code of the program, 0.
int parcc_finish(void);

// ---- changes of layout ---------------------------------------------------------------------------------------------

enum { PARCC_MAX_AXES = 10 }; // with that of the batch

// How a dimension is divided: its units are dealt out in blocks over the slowest of a set of axes of the mesh (bits), each block
// over the next, and so on, and a rank holds the window over its block (parcc_window). No axes: the whole extent.
typedef struct {
  long extent, units, scale, before, after, div;
  unsigned axes;
} ParccCut;

// An axis of the mesh, and where along it a tensor is: on every rank (-1), divided (-2), or at one coordinate.
typedef struct {
  int stride, size, place;
} ParccPlacing;

// How a tensor is divided over all ranks. The last axis is the batch: what is cut along it has `samples` units.
typedef struct {
  int rank;
  ParccCut cut[PARCC_MAX_RANK];
  int n_axes;
  ParccPlacing axis[PARCC_MAX_AXES];
} ParccDivision;

// All of these bring a tensor that lies as `from` says to what `to` says. What moves between ranks goes in stream comm.
// stage: device memory for what is not in order, or NULL where everything is. samples: in the batch at hand.

// Messages between pairs of ranks, of all the ranks in `everybody`. stage: as much as does not lie in one run where it is
// sent from and received to.
void parcc_exchange(const void *src, const ParccDivision *from, void *dst, const ParccDivision *to, void *stage, ParccType type,
                    long samples, ncclComm_t everybody);

// The ranks along some axes of the mesh (bits), which `over` holds in that order, each hold values of the same part; each gets
// those of its part of it, reduced over all of them. Blocks may differ in size, and lie anywhere. stage: as large as src.
void parcc_reduce_scatter(const void *src, const ParccDivision *from, void *dst, const ParccDivision *to, void *stage,
                          ParccType type, ncclRedOp_t op, long samples, unsigned axes, ncclComm_t over);

// The ranks along some axes each hold a part, and get all of them. stage: as large as dst.
void parcc_all_gather(const void *src, const ParccDivision *from, void *dst, const ParccDivision *to, void *stage, ParccType type,
                      long samples, unsigned axes, ncclComm_t over);

// Rows of a table that is divided plainly over the ranks along some axes, looked up by all of them at all places: each place is right on the rank
// that owns its row. They go, whole, to the ranks that need the place (SERVE_ROWS of rows.h): what is to be done for that. index: in device
// memory, the row at each of the places, which are the first `dims` dimensions of `from`; what is outside of the table is 0. The
// host waits for it. stage: as much as the tensor as it lies by `from`, and three numbers for each place.
typedef struct { // rows, in device memory; NULL: in order
  const int *to, *from;
  long n;
} ParccCopies;
typedef struct {
  long width;         // elements of a row
  void *sent, *received;
  ParccCopies packed; // into what is sent
  ParccCopies kept, unpacked; // into dst, from src and from what is received
} ParccRows;
ParccRows parcc_rows(const ParccDivision *from, void *dst, const ParccDivision *to, const int *index, int dims, long rows, unsigned axes,
                     void *stage, size_t element, long samples);
// The messages of the last parcc_rows.
void parcc_exchange_rows(const ParccRows *rows, size_t element, ncclComm_t everybody);

// Each rank has the part that it needs: a copy, in stream compute.
void parcc_slice(const void *src, const ParccDivision *from, void *dst, const ParccDivision *to, ParccType type, long samples);

// ---- errors --------------------------------------------------------------------------------------------------------

// What comes next on the stream waits for what was before the event.
#define WAIT(stream, event)                                                                                            \
  do {                                                                                                                 \
    parcc_pause(stream);                                                                                               \
    CHECK_CUDA(cudaStreamWaitEvent(stream, event, 0));                                                                 \
  } while (0)
// The same, for all work so far on the second stream.
#define WAIT_FOR(waiting, working, event)                                                                              \
  do {                                                                                                                 \
    CHECK_CUDA(cudaEventRecord(event, working));                                                                       \
    WAIT(waiting, event);                                                                                              \
  } while (0)

// What the program is doing, for messages and traces: the operator and its place in the source, on stream compute (AT) or comm
// (AT_COMM). Both strings must be literals. Another thread looks at it, to see where a run that does not get on is stuck (watch.h).
typedef struct {
  const char *op, *where;
  long moves; // in this step; any change tells that this rank gets on
} ParccPlace;
extern ParccPlace parcc_place;
void parcc_at(const char *op, const char *where, cudaStream_t stream);
#define AT(operator_, where_) parcc_at(operator_, where_, parcc.compute)
#define AT_COMM(operator_, where_) parcc_at(operator_, where_, parcc.comm)
// What the stream does from here on, until the next AT, belongs to no operator.
void parcc_pause(cudaStream_t stream);
// In code that layers share: the name of the layer at hand, which must live as long as a literal, and the rest: "dense", or "norm1 batchnorm"
// of a layer inside.
const char *parcc_op_of_layer(const char *layer, const char *op);
#define AT_LAYER(layer_, operator_, where_) AT(parcc_op_of_layer(layer_, operator_), where_)
#define AT_COMM_LAYER(layer_, operator_, where_) AT_COMM(parcc_op_of_layer(layer_, operator_), where_)

// Prints PROG: rank R: in OPERATOR (WHERE): FILE:LINE: CALL: REASON and ends all ranks with exit code 1.
void parcc_check_failed(const char *file, int line, const char *call, const char *reason)
#ifdef __GNUC__
    __attribute__((noreturn))
#endif
    ;

#define CHECK_CUDA(call)                                                                                               \
  do {                                                                                                                 \
    const cudaError_t parcc_error_ = (call);                                                                           \
    if (parcc_error_ != cudaSuccess) parcc_check_failed(__FILE__, __LINE__, #call, cudaGetErrorString(parcc_error_));  \
  } while (0)
#define CHECK_CUBLAS(call)                                                                                             \
  do {                                                                                                                 \
    const cublasStatus_t parcc_error_ = (call);                                                                        \
    if (parcc_error_ != CUBLAS_STATUS_SUCCESS)                                                                         \
      parcc_check_failed(__FILE__, __LINE__, #call, cublasGetStatusString(parcc_error_));                              \
  } while (0)
#define CHECK_NCCL(call)                                                                                               \
  do {                                                                                                                 \
    const ncclResult_t parcc_error_ = (call);                                                                          \
    if (parcc_error_ != ncclSuccess) parcc_check_failed(__FILE__, __LINE__, #call, ncclGetErrorString(parcc_error_));  \
  } while (0)

#ifdef __cplusplus
}
#endif

#endif
