// When a result may take the place of an operand.
#ifndef PARCC_PASSES_INPLACE_H
#define PARCC_PASSES_INPLACE_H

#include "../ir/program.h"

// True if the kernel may write `out` over `in`: every element of `in` is read only by the point that writes the same
// element of `out`, no later than it is written.
bool inplace_in_kernel(const Program *program, const Kernel *kernel, int in, int out);
// Gives `value` the buffer of the stored tensor `state` if no step reads the old value once the new one is written.
bool inplace_store(Program *program, int state, int value);

#endif
