// The state of the run that the files of runtime/common share.
#ifndef PARCC_RUN_H
#define PARCC_RUN_H

#include <stdbool.h>

#include "options.h"
#include "parcc.h"
#include "world.h"

typedef enum { SPLIT_TRAIN, SPLIT_TEST } Split;

typedef struct {
  const ParccModel *model;
  Options options;
  World world;
  const ParccTensor *stored;
  int n_stored;
  bool evaluating;
  long eval_first, eval_count; // samples of the current batch of the test split
} Run;

extern Run run;

// ---- device.c: streams, cuBLAS, NCCL, memory
void device_start(void);
void device_finish(void);
// Waits until everything before the event is done; an error of a communicator meanwhile ends the run.
void device_wait(cudaEvent_t event);

// ---- data.c: the inputs
bool data_open(Fault *fault);
long data_samples(Split split); // 0 for a split that is not open
void data_close(void);

// ---- batch.c
void batch_finish(void);

// ---- report.c: log, progress, summary; works on rank 0 only
void report_start(Fault *fault);     // opens the log, and sees that --save can be written
void report_begin(void);             // training begins
bool report_is_milestone(long step); // whether progress tells of a step where there is no terminal
bool report_wants_all(long step);    // whether all scalars of a step will be read; the same on all ranks
void report_step(long step, double lr, const double *scalars, const double *norm, bool all);
void report_eval(const double *means, long samples);
void report_finish(void);

// ---- steps.c
bool steps_plan(Fault *fault); // how many steps
void steps_start(void);
void steps_finish(void);

// ---- checkpoint_save.c, checkpoint_load.c
void checkpoint_save(const char *path);

double clock_seconds(void);

#endif
