// Measured times of operators, which the cost model takes in place of its formulas.
//
// As text, a line for each: how long, and what: the operator as passes/profile.h writes it.
//
//     profile 1
//     12.5 us  f32 sum [128, 64 | 512] r0[0, 2] * r1[1, 2]    # a comment
#ifndef PARCC_IR_PROFILE_H
#define PARCC_IR_PROFILE_H

#include "problems.h"

enum { PROFILE_VERSION = 1 };

typedef struct Profile {
  Names numbers; // of what is measured
  VEC(double) seconds;
} Profile;

// Reads a text of any bytes. `name` is what places are called by. Mistakes are added to `problems`, whose arena holds the profile.
Profile profile_read(const char *name, const char *text, size_t len, Problems *problems);
// Seconds, or -1: not measured.
double profile_seconds(const Profile *profile, const char *what);
void profile_print_line(Text *out, double seconds, const char *what);

#endif
