// The memory of a device over a training step: what lives at each step of the program, and what that is.
#ifndef PARCC_PASSES_REPORT_OCCUPANCY_H
#define PARCC_PASSES_REPORT_OCCUPANCY_H

#include "../../ir/program.h"

typedef struct OccupancyTensor {
  const char *name;
  double bytes;
} OccupancyTensor;

typedef struct Occupancy {
  double parameters, states, inputs; // bytes that live all the time; the states of the optimizer and others
  int n, from;       // positions of a step in the program's order: [from, from + n)
  double *passing;   // by position: bytes of all else that lives then
  int starts[PROCEDURES]; // where procedures start, less `from`; those that are not of a step: -1
  int most;          // position with most
  VEC(OccupancyTensor) largest; // that live there and not all the time, largest first
} Occupancy;

// Of a program whose memory is planned, on its largest rank.
Occupancy occupancy_of_program(Arena *arena, const Program *program);

#endif
