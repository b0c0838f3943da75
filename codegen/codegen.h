// Prints a program as one CUDA/cuBLAS/NCCL C file. Decides nothing.
#ifndef PARCC_CODEGEN_CODEGEN_H
#define PARCC_CODEGEN_CODEGEN_H

#include "../ir/program.h"

// The whole text of the file; owned by the program's arena.
const char *codegen_print(const Program *program);

#endif
