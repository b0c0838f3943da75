// What the streams of this rank do in some steps of training, as events on them tell: for --trace and --profile-steps. A span begins where the
// program says what it does (AT) and ends where it says the next thing, or where its stream waits for another one.
#ifndef PARCC_SPANS_H
#define PARCC_SPANS_H

#include "parcc.h"

typedef struct {
  const char *op, *where; // as in AT; where NULL: the runtime itself
  long step;
  bool comm;         // on stream comm, else on compute
  double begin, end; // seconds of clock_seconds, once they are read
} Span;

extern bool spans_on; // this step is recorded

// Whether there is anything to record, and which steps: [*first, *end).
bool spans_steps(long *first, long *end);
long spans_run(void); // how many steps a run has that is for this only

void spans_begin_step(void); // a training step begins: collective
void spans_end_step(void);
void spans_open(const char *op, const char *where, cudaStream_t stream);
void spans_close(void);

// All spans in the order in which they began to be issued. Waits for what was recorded.
const Span *spans_read(int *n);
// How far the seconds of spans may be from clock_seconds.
double spans_error(void);
void spans_finish(void);

#endif
