// Where the data of a program come from.
#ifndef PARCC_CODEGEN_EMIT_INPUTS_H
#define PARCC_CODEGEN_EMIT_INPUTS_H

#include "../ir/model.h"

// The table `inputs` of a program, and what it refers to.
void emit_inputs(const Model *model, Text *out);

#endif
