// Prints programs as CUDA/cuBLAS/NCCL C files. Decides nothing.
#ifndef PARCC_CODEGEN_CODEGEN_H
#define PARCC_CODEGEN_CODEGEN_H

#include "../ir/lookup.h"
#include "../ir/program.h"

// The whole text of the file; owned by the program's arena.
const char *codegen_print(const Program *program);
// That of the program that counts lookups in the data of a model's inputs. inputs: by tensor, its number among these.
const char *codegen_print_data_stats(Arena *arena, const Model *model, const Lookups *lookups, const int *inputs);

#endif
