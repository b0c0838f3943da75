// Generated kernels: their text and their calls.
#ifndef PARCC_CODEGEN_EMIT_KERNEL_H
#define PARCC_CODEGEN_EMIT_KERNEL_H

#include "../ir/program.h"

// How a kernel is called.
typedef struct Launch {
  const char *kernel;        // its C name
  VEC(int) pointers;         // the kernel's tensors that are handed over, by place in its list
  VEC(const char *) numbers; // what follows them
} Launch;

// Kernels printed so far; kernels of the same shape share one text.
typedef struct KernelBook {
  const Program *program; // its arena is that of the step at hand, whose texts are soon forgotten
  Arena *arena;           // of what stays
  Names by_text;  // generic text -> position in names
  VEC(const char *) names;
  Numbers keys; // of kernels -> their launches
  VEC(const Launch *) launches;
  Names taken;
  Arena *scratch; // for the text of one kernel at a time
  Text *out;      // where definitions go
  Names division_of;  // text of a division -> its number
  VEC(const char *) divisions;
  VEC(uint32_t) communicators; // sets of axes along which ranks speak with each other
} KernelBook;

// One line that launches the kernel of the step, whose definition is printed unless an equal one stands already.
// loop: the variable of the loop around, or NULL.
void emit_launch(KernelBook *book, const Step *step, const char *loop, int indent, Text *out);

#endif
