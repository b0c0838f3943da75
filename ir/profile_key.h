// What a profile calls an operator (passes/profile.h writes it), checked when it is read.
#ifndef PARCC_IR_PROFILE_KEY_H
#define PARCC_IR_PROFILE_KEY_H

#include <stdbool.h>

// Whether the text is such a name:
//     f32 sum [a=128 b=64 | c=512] (x0[a, c] * x1[b, c])
// a type, what is computed, the extents of the dimensions a, b, ..., and an expression over them, or the function that is called. Where
// the compiler writes a blank there may be several. All that it writes is right; brackets around sums may be fewer than it writes.
// *at is where it ends or goes wrong, and *expected what belongs there.
bool profile_key_right(const char *text, const char **at, const char **expected);

#endif
