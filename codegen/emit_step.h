// Steps of a procedure as lines of C.
#ifndef PARCC_CODEGEN_EMIT_STEP_H
#define PARCC_CODEGEN_EMIT_STEP_H

#include "emit_kernel.h"

void emit_step(KernelBook *book, const Step *step, const char *loop, int indent, Text *out);
// A record and the wait for it behind each other, as one line; false: they are no such pair.
bool emit_order(const Step *record, const Step *wait, Text *out);
const char *communicator_name(const Program *program, uint32_t axes); // "over_data", "over_a_b", "everybody"
const char *axis_constant(const Program *program, int axis);     // "DATA"

#endif
