// What the text of a kernel and the numbers handed to it depend on, as words: kernels of one key are printed alike.
#ifndef PARCC_CODEGEN_KERNEL_KEY_H
#define PARCC_CODEGEN_KERNEL_KEY_H

#include "../ir/program.h"

typedef VEC(int64_t) KernelKey;

// Not the names that people gave, and tensors only by their places in the kernel's list.
KernelKey kernel_key(Arena *arena, const Program *program, const Kernel *kernel);

#endif
