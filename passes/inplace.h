// When a result may take the place of an operand.
#ifndef PARCC_PASSES_INPLACE_H
#define PARCC_PASSES_INPLACE_H

#include "../ir/program.h"

// True if the kernel may write `out` over `in`: every element of `in` is read only by the point that writes the same
// element of `out`, no later than it is written.
bool inplace_in_kernel(const Program *program, const Kernel *kernel, int in, int out);
typedef struct StoreFacts { // what the choice needs to know about the steps of a training step
  Program *program;
  const Step **writer;       // by tensor
  int *first_use, *last_use; // by buffer: numbers of steps, counted from 1; 0: none
  int *sharers;              // by buffer: tensors that lie in it
  const Step *step;          // at hand
  int number, looped;        // of the last step; of the last one that runs in every microbatch
} StoreFacts;
StoreFacts inplace_store_facts(Program *program);
// Gives `value` the buffer of the stored tensor `state` where the old value is not used any more when it is made, or last by the
// kernel that makes it and may write over it. What is made in every microbatch does not: the next one reads the old value.
bool inplace_store(StoreFacts *facts, int state, int value);

#endif
