// What the operators of a step were predicted to take, for --profile-steps, and of a program that measures.
#ifndef PARCC_CODEGEN_EMIT_PREDICTED_H
#define PARCC_CODEGEN_EMIT_PREDICTED_H

#include "emit_procedure.h"

// procedures: by kind, and printed, so that it is known where they say what they do. Two tables: the operators, each once, and which of them
// are behind each AT. Returns the length of the second.
int emit_predicted(const Program *program, const ProcedureText *procedures, Text *out);
// The same of a program that measures, and its laps.
int emit_measured(const Program *program, Text *out);

#endif
