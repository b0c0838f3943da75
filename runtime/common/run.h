// The state of the run that the files of runtime/common share.
#ifndef PARCC_RUN_H
#define PARCC_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "checkpoint.h"
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
  struct {
    char path[4096]; // of the checkpoint; "": the run begins at step 0
    Progress from;
  } resumed;
  long saved; // the step of the last checkpoint in --save; -1: there is none; known to all ranks
  bool measures_quietly;       // --quiet was given to a program that measures, of which there are no messages anyway
  bool evaluating, generating; // on the test split; a text
  long eval_first, eval_count; // samples of the current batch of the test split
} Run;

extern Run run;

// ---- device.c: streams, cuBLAS, NCCL, memory
int device_count(void); // on this machine; ends the run where there is none
struct cudaDeviceProp device_properties(void); // of the device of this rank
// Bytes that this rank may use: the ranks of a host share its memory where devices have none of their own, or GPUs where there are more ranks.
double device_memory(void);
void device_start(void);
void device_finish(void);
size_t device_bytes(void); // that the program has allocated: its arena
// Waits until everything before the event is done.
void device_wait(cudaEvent_t event);
// Why a communicator has failed; NULL: none has. For the watching thread.
const char *device_communication_error(void);

// ---- data.c: the inputs
bool data_open(Fault *fault);
long data_samples(Split split); // 0 for a split that is not open
void data_close(void);

// ---- batch.c
void batch_finish(void);

// ---- report.c: log, progress, summary; works on rank 0 only
// What is known of a step.
typedef struct {
  long step; // from 0; printed from 1
  double lr, seconds;
  const double *scalars;
  const double *norm; // NULL: not known
  bool all;           // whether the scalars after the first are known
  uint64_t sent;      // bytes that this rank sent to others over TCP; 0: none, or not by us
} StepReport;

void report_start(Fault *fault);     // opens the log, and sees that --save can be written
void report_begin(void);             // training begins
bool report_is_milestone(long step); // whether progress tells of a step where there is no terminal
bool report_wants_all(long step);    // whether all scalars of a step will be read; the same on all ranks
void report_step(const StepReport *report);
void report_eval(const double *means, long samples);
void report_finish(void);

// ---- steps.c
bool steps_plan(Fault *fault);   // how many steps
long run_samples(long step);     // samples of the training split that so many steps have seen
void steps_start(void);
void steps_finish(void);

double clock_seconds(void);

#endif
