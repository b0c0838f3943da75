// Measured times as a profile, a text that parcc reads (--profile): a line for each operator, and comments.
#ifndef PARCC_RT_PROFILE_H
#define PARCC_RT_PROFILE_H

#include <stdio.h>

#include "fail.h"
#include "parcc.h"

// Of one thing that was measured several times. The mean is what counts: a step takes the sum of those of its operators. The sum of their
// shortest times is less than any step takes.
typedef struct {
  double least, mean; // seconds
} Measured;

Measured profile_measured(const double *seconds, int n);

// On standard output. What was measured on what, when, and how often.
void profile_begin(long steps);
// How much longer than the shortest time the mean is.
double profile_spread(Measured time);
void profile_line(double seconds, double spread, const char *what);
void profile_end(void);

// places: numbers of the operators of each place, -1 ends them; n numbers.
int profile_places(const int *places, int n);
// Lines for the operators of all places. times: of each place; every operator of a place has the share of it that was predicted, and one of
// several places the mean.
void profile_operators(const ParccPredicted *operators, const int *places, int n, const Measured *times);

// ---- step_profile.c: --profile-steps
void step_profile_check(void); // ends a run whose program knows nothing of its operators; collective
void step_profile_write(void); // after training; collective

#endif
