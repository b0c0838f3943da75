// --trace FILE.json: some steps of the run as a Chrome trace, which ui.perfetto.dev and chrome://tracing open. A process for each
// rank and in it a thread for each stream; times in microseconds of the clock of rank 0.
#ifndef PARCC_TRACE_H
#define PARCC_TRACE_H

#include <stdio.h>

#include "fail.h"

void trace_write(void);     // collective, after training; rank 0 writes
void trace_tell(FILE *out); // one line, by rank 0

#endif
