// Measured times as a profile, a text that parcc reads (--profile): a line for each operator, and comments.
#ifndef PARCC_RT_PROFILE_H
#define PARCC_RT_PROFILE_H

#include <stdio.h>

#include "fail.h"

// Of one thing that was measured several times: the shortest time, and that which half of the times are not above.
typedef struct {
  double least, median; // seconds
} Measured;

// Sorts the times.
Measured profile_measured(double *seconds, int n);

// On standard output. What was measured on what, when, and how often.
void profile_begin(long steps);
// The spread is how much longer than the shortest time half of the times are.
void profile_line(double seconds, double spread, const char *what);
void profile_end(void);

// ---- step_profile.c: --profile-steps
void step_profile_check(void); // ends a run whose program knows nothing of its operators; collective
void step_profile_write(void); // after training; collective

#endif
