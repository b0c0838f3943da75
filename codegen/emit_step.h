// Steps of a procedure as lines of C.
#ifndef PARCC_CODEGEN_EMIT_STEP_H
#define PARCC_CODEGEN_EMIT_STEP_H

#include "emit_kernel.h"

void emit_step(KernelBook *book, const Step *step, const char *loop, int indent, Text *out);
bool step_gathers_batch(const Program *program, const Step *step); // then the program has a variable `samples`
const char *axis_communicator(const Program *program, int axis); // "over_data"
const char *axis_constant(const Program *program, int axis);     // "DATA"

#endif
