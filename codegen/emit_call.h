// Calls of the user's own functions: their prototypes, and the calls.
#ifndef PARCC_CODEGEN_EMIT_CALL_H
#define PARCC_CODEGEN_EMIT_CALL_H

#include "../ir/program.h"

// Prints a prototype for every function that the program calls, and enters their names in `taken`.
void emit_prototypes(const Program *program, Names *taken, Text *out);
void emit_call(const Program *program, const Call *call, int indent, Text *out);

#endif
