// Checkpoints: what a run needs to go on as if it had never ended. A directory of them looks like this:
//
//   DIR/step-000000200/tensors.safetensors   parameters, optimizer state, running statistics, whole, by name
//                     /run.json              step, seed, samples seen, ...; size and CRC of the tensors
//   DIR/step-000000400/...
//   DIR/unfinished/                          while one is written, or after a run was killed in the middle
//
// A checkpoint is written and brought to the disk as DIR/unfinished, and gets its name then, so that a directory of such a
// name is a whole checkpoint, at whatever moment a run is killed. The newest two are kept: should the disk have spoilt the
// newest, the other is left. Nothing in the files depends on the plan or on the number of ranks.
#ifndef PARCC_CHECKPOINT_H
#define PARCC_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "fail.h"

#define CHECKPOINT_TENSORS "tensors.safetensors"
#define CHECKPOINT_RUN "run.json"
#define CHECKPOINT_PREFIX "step-"

// Where a run stands.
typedef struct {
  long step, steps; // steps done, and of the whole run: the learning rate follows from both
  long samples;     // of the training split, seen so far: the place in the sample order
  unsigned long long seed;
  uint64_t data; // data_fingerprint
} Progress;

// ---- checkpoint_find.c

// Collective. Finds the newest whole checkpoint in --load, a directory of checkpoints or one of them, and puts where it
// stands into run.resumed. Says which it passes over as damaged. Without --load does nothing.
void checkpoint_find(void);

// Sees that --save DIR can be written, that no other run writes to it, and that it holds no checkpoints of another run. Rank 0 only.
bool checkpoint_prepare(const char *directory, Fault *fault);

// The steps of the checkpoints in a directory, in rising order; n of them, to be freed. NULL: it cannot be read.
long *checkpoint_list(const char *directory, int *n);

// ---- checkpoint_save.c

// Collective. Writes a checkpoint of what the run has done so far: `step` steps.
void checkpoint_save(long step);

#endif
