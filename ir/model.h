// What the frontend hands over: the graphs of a model and how it is trained.
#ifndef PARCC_IR_MODEL_H
#define PARCC_IR_MODEL_H

#include "graph.h"
#include "plan.h"

// Samples are the rows of an array, windows of one long sequence, or lines of a text.
typedef enum SourceForm { FORM_ARRAY, FORM_WINDOWS, FORM_LINES } SourceForm;

typedef struct DataSource {
  const char *kind; // "idx", "npy", "text", "tokens", "lines", or NULL: only synthetic data possible
  const char *train_file, *test_file; // relative to --data; test_file may be NULL
  double scale, offset; // value = raw * scale + offset
  SourceForm form;
  // FORM_WINDOWS: window i begins at shift + i * stride; stride 0: the length of a window
  int64_t shift, stride;
  // FORM_LINES: tokens before and behind each line and for words that are unknown, -1: none; what fills it up
  int64_t begin, end, unknown, pad;
  // of both
  double held_out;        // the test split is so much of the training file, its end; 0: test_file is
  const char *vocabulary; // a file that tells what tokens stand for, relative to --data; or NULL
} DataSource;

typedef struct Input {
  const char *name; // a ROLE_INPUT tensor of the train graph, and of the eval graph if that reads it
  DataSource source;
} Input;

// What the text of the model says of where something is computed or kept: @shard(co: gpu). It holds against any plan.
typedef struct ShardItem {
  const char *axis; // of the mesh
  Loc axis_loc;
  PlanChoice choice; // never CHOICE_FOLLOW; its place is that of the item
} ShardItem;
typedef struct Shard {
  int outer; // number of the one around it, which holds for what this one leaves open; 0: none
  VEC(ShardItem) items;
  Loc loc;
} Shard;

// A table of which it is known how often its rows are looked up (ir/spread.h).
typedef struct TableUse {
  const char *name;
  double rows, places, distinct; // of the table; that choose one in a step; the different ones that they are expected to choose
} TableUse;

typedef struct Model {
  const char *name;
  const char *source; // path of the model text as given
  bool f64;
  Graph *init;  // computes every parameter and state (outputs have ROLE_PARAM or ROLE_STATE and a producer)
  Graph *train; // forward, metrics, gradients' declarations, optimizer updates
  Graph *dense; // train with all gradients as whole tensors, which microbatches add up; NULL: train is so (passes/sparse.c)
  Graph *eval;  // forward with training = false: losses and metrics
  VEC(Input) inputs;
  const char *sampled_input; // the input whose next value eval->sampled tells, or NULL: no language model
  VEC(TableUse) tables; // in the order of their first lookups (passes/lookups.c)
  VEC(Shard) shards; // shard number s of operators and tensors is shards.at[s - 1]
  int64_t batch; // extent of the first dimension of every input
  const Expr *learning_rate; // of run scalars only; NULL: nothing is trained
  int64_t steps, epochs;     // one of them > 0
} Model;

#endif
