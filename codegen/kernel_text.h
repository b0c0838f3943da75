// The text of one kernel while it is written: kernel_value.c names things and writes expressions, kernel_body.c the loops and
// statements around them, emit_kernel.c the signature and the launch.
#ifndef PARCC_CODEGEN_KERNEL_TEXT_H
#define PARCC_CODEGEN_KERNEL_TEXT_H

#include "../ir/program.h"

enum { KERNEL_MAX_GRID = 4 }; // dimensions that GRID and BLOCK take

typedef enum ValueKind { VALUE_NONE, VALUE_POINT, VALUE_ROW } ValueKind;

typedef struct Value { // a result that is at hand in a variable
  ValueKind kind;
  int stage; // VALUE_POINT: the stage it is valid in
  const char *name;
} Value;

typedef struct Param {             // a number handed to the kernel
  const char *name, *type, *value; // value: the argument in the launch
} Param;

typedef struct KernelText {
  const Program *p;
  const Kernel *k;
  Arena *arena;
  bool generic; // names that do not depend on the model, to compare kernels
  Names taken;
  const char *var[IR_MAX_DIMS];       // loop variables
  const char *part;                   // of a kernel that scatters: which places are its own
  const char *first_lane;             // KERNEL_LANES: where the lanes of a thread begin along the last row dim
  const char *len[IR_MAX_DIMS];       // their extents: a parameter or a literal
  const char **pointer;               // by kernel tensor; those that share a buffer share a name
  const char *(*extent)[IR_MAX_RANK]; // by kernel tensor: names of extents, made when first needed
  int (*whole_of)[IR_MAX_RANK];       // the strip's dimension that an extent is the whole of; else -1
  Value *value;                       // by kernel tensor
  bool *pointer_used;                 // by kernel tensor: the text reads or writes memory through it
  VEC(Param) params;
  int stage;
  int indent;
  size_t block[2], last_block; // where open blocks begin in the text, and the one closed last
  int n_blocks;
  Text *body;
  size_t lane_start, lane_end; // where the text declares the lane's column
} KernelText;

// A name that the kernel does not have yet: `nice`, or `plain` where kernels are compared.
const char *kernel_text_fresh(KernelText *e, const char *nice, const char *plain);
int kernel_text_find(const KernelText *e, int tensor); // its number in the kernel
const ProgTensor *kernel_text_tensor(const KernelText *e, int t);
const char *kernel_text_short_name(const KernelText *e, int t);
void kernel_text_name_dims(KernelText *e);
void kernel_text_name_pointers(KernelText *e);

// Appends a line to the body.
void kernel_text_line(KernelText *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
// An index of a whole dimension of kernel tensor t, from the start of this rank's part.
const char *kernel_text_position(KernelText *e, int t, int i, const Index *index);
// The place of an element in kernel tensor t, from its positions along the dimensions.
const char *kernel_text_offset(KernelText *e, int t, int rank, const Index *index, const char *const *position);
// The place that a global position of dimension d has in this rank's part.
const char *kernel_text_place(KernelText *e, int d, const Expr *position);
// An expression, in parentheses where it has operators; lines that it needs before it are appended to the body.
const char *kernel_text_expr(KernelText *e, const Expr *x);
// The same as a statement's right-hand side: without parentheses around the whole.
const char *kernel_text_value(KernelText *e, const Expr *x);

// How many rows are loops in sequence, around those that GRID takes.
int kernel_text_extra_rows(const Kernel *k);
// Appends the whole body: rows, stages, statements.
void kernel_text_body(KernelText *e);

#endif
