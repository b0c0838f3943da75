// Measured times of operators and of changes of layout, which the cost model takes in place of its formulas.
//
// As text, a line for each: how long, and what: the operator as passes/profile.h writes it, or the change (ir/profile_links.h).
//
//     profile 1
//     12.5 us  f32 sum [a=128 b=64 | c=512] (x0[a, c] * x1[b, c])    # a comment
//     35.2 us  all_reduce [2 of 8 by 4] 1048576 bytes
#ifndef PARCC_IR_PROFILE_H
#define PARCC_IR_PROFILE_H

#include "problems.h"
#include "profile_links.h"

enum { PROFILE_VERSION = 1 };

typedef struct Profile {
  Names numbers; // of what is measured
  VEC(double) seconds;
  ProfileLinks links; // of these, what changes of layout take
} Profile;

// Reads a text of any bytes. `name` is what places are called by. Mistakes are added to `problems`, whose arena holds the profile.
Profile profile_read(const char *name, const char *text, size_t len, Problems *problems);
// Seconds, or -1: not measured.
double profile_seconds(const Profile *profile, const char *what);
void profile_print_line(Text *out, double seconds, const char *what);

#endif
