// Building one generated kernel from a group of operators.
#ifndef PARCC_PASSES_KERNEL_H
#define PARCC_PASSES_KERNEL_H

#include "fuse.h"
#include "lowering.h"

// The kernel of the operators ops[0 .. n) of the grouping's group `group`.
Kernel *kernel_of_group(Lowering *lowering, const Grouping *grouping, const Group *group);
// The kernel of one operator alone. `sliced`: its first output dimension (plain and first in what it reads) is the loop
// around it; the kernel does one slice, advancing the operand `whole` by loop strides.
Kernel *kernel_of_op(Lowering *lowering, const Grouping *grouping, int op, bool sliced);
// Whether the operator adds to pinned places of its result (ir/pin.h), and so is a kernel that scatters.
bool kernel_scatters(const Graph *graph, const Op *op);
// That kernel: it adds to its result, which is 0 before or what it is added to.
Kernel *kernel_of_scatter(Lowering *lowering, const Grouping *grouping, int op);

#endif
