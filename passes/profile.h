// What an operator is called in a profile of measured times (ir/profile.h): the same for all that do the same over blocks of one size.
#ifndef PARCC_PASSES_PROFILE_H
#define PARCC_PASSES_PROFILE_H

#include "pipeline.h"

// The type of reals, the reduction, the extents of a device's block (of what is reduced behind the bar), and the expression, dimensions
// and tensors in the order in which they come (x: reals, k: integers):
//     f32 sum [a=128 b=64 | c=512] (x0[a, c] * x1[b, c])
// NULL of what is not measured: views and changes of layout; updates of rows in their place, which by their name would be those of whole
// tables; and what takes nothing, as it is made in registers of nothing that is read.
const char *profile_name(Arena *arena, const CostModel *model, const Graph *graph, const Op *op);
// What a profile calls a change of layout (ir/profile_links.h); NULL: it is not measured.
const char *profile_change_name(Arena *arena, const CostModel *model, const Graph *graph, const Op *op);
// Seconds of an operator that the machine's profile has; -1: it has none.
double profile_of_op(const CostModel *model, const Graph *graph, const Op *op);

// How many of the operators of a training step that could be are measured. After apply-plan, with a machine.
typedef struct ProfileUse { int measured, of; } ProfileUse;
ProfileUse profile_use(const Compilation *c);
// Whether it is so few that the profile seems to be of something else.
bool profile_is_few(ProfileUse use);
// A profile of all of them, each once, with the times that are predicted: to be measured.
const char *profile_print(const Compilation *c);

#endif
