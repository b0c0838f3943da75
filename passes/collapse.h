// Merging loop dimensions that every tensor of a kernel holds side by side: [n, c, h, w] becomes [nc, hw].
#ifndef PARCC_PASSES_COLLAPSE_H
#define PARCC_PASSES_COLLAPSE_H

#include "lowering.h"

// A graph tensor in its own shape, as a kernel in the arena sees it at first.
KernelTensor kernel_tensor(Lowering *l, Arena *arena, const Graph *graph, int tensor);
// Drops dimensions of extent 1 and merges as many of the others as possible; dims[0 .. n_grid) are rows, each stage's inner dims its own.
// `keep`: a dimension that may not be merged, or -1; its number afterwards is returned. divided: also where the inner of two
// dimensions is divided over ranks, so that what is merged is no interval of the whole: for kernels in which no index counts.
int kernel_collapse(Arena *arena, const Program *program, Kernel *kernel, int keep, bool divided);

#endif
