// What is told about the run, all by rank 0: a JSON line a step in --log, progress on stderr, a summary on stdout.
#ifndef PARCC_REPORT_H
#define PARCC_REPORT_H

#include "run.h"

// log.c
void log_open(const char *path, Fault *fault);
void log_step(const StepReport *report);
void log_eval(const double *means, long samples);
void log_close(void);

// progress.c
void progress_start(void);
void progress_step(const StepReport *report);
// Of a program that measures: done of so many, on a terminal only.
void progress_measured(const char *what, int done, int all);
void progress_end(void); // takes the line on the terminal away

#endif
