// What the frontend hands over: the graphs of a model and how it is trained.
#ifndef PARCC_IR_MODEL_H
#define PARCC_IR_MODEL_H

#include "graph.h"

typedef struct DataSource {
  const char *kind; // "idx", "npy", or NULL: only synthetic data possible
  const char *train_file, *test_file; // relative to --data; test_file may be NULL
  double scale, offset; // value = raw * scale + offset
} DataSource;

typedef struct Input {
  const char *name; // a ROLE_INPUT tensor of the train graph, and of the eval graph if that reads it
  DataSource source;
} Input;

typedef struct Model {
  const char *name;
  const char *source; // path of the model text as given
  bool f64;
  Graph *init;  // computes every parameter and state (outputs have ROLE_PARAM or ROLE_STATE and a producer)
  Graph *train; // forward, metrics, gradients' declarations, optimizer updates
  Graph *eval;  // forward with training = false: losses and metrics
  VEC(Input) inputs;
  int64_t batch; // extent of the first dimension of every input
  const Expr *learning_rate; // of run scalars only; NULL: nothing is trained
  int64_t steps, epochs;     // one of them > 0
} Model;

#endif
