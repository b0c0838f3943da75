// What happens to a kernel when its statements stand (kernel.c builds them): in the order in which it happens, kernel_collapse
// (collapse.h) after the pieces.
#ifndef PARCC_PASSES_KERNEL_SHAPE_H
#define PARCC_PASSES_KERNEL_SHAPE_H

#include "lowering.h"

// Makes pieces of tensors that are read only at a fixed place of a dimension, so that kernels of different pieces are one.
void kernel_take_pieces(Lowering *l, Kernel *kernel);
// Fills the places (Stage.at) of inner dimensions that are pinned.
void kernel_find_pins(Kernel *kernel);
// Chooses the kind: which dimensions the grid takes, and whether a thread or a block does a row.
void kernel_choose_kind(Arena *arena, Kernel *kernel);
// Sums go to the pinned places and no longer ask whether they are there.
void kernel_settle_pins(Arena *arena, Kernel *kernel);
// Of a kernel that scatters: every pinned dimension of its result has a place. An internal error if not. Clears `scatters` where
// nothing is scattered after all.
void kernel_check_scatter(Kernel *kernel);

#endif
