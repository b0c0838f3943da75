// Names and literals that are safe in emitted C, whatever the model text holds.
#ifndef PARCC_CODEGEN_NAMES_H
#define PARCC_CODEGEN_NAMES_H

#include "../ir/program.h"

// A C identifier made from `name`: other characters become '_', words of C and CUDA get a '_' behind.
const char *name_identifier(Arena *arena, const char *name);
// The same, but not in `taken`, where it is entered.
const char *name_unique(Arena *arena, Names *taken, const char *name);
const char *name_upper(Arena *arena, const char *name);
// Text inside of a string literal, or of a // comment.
const char *name_in_string(Arena *arena, const char *text);
const char *name_in_comment(Arena *arena, const char *text);
// A number of the given type: 0.5f, 0.5, 3, -INFINITY.
const char *name_number(Arena *arena, double value, ScalarType type, bool f64);
// "64", "n.len", "35 * n.len"
const char *name_extent(Arena *arena, const Program *program, Extent extent);
// "t.x"; of a part, the tensor that it lies in and where: "t.rows + 4096"
const char *name_tensor(Arena *arena, const Program *program, int tensor);
const char *name_type(const Program *program, ScalarType type);

// Items in lines that are not too long, those after the first indented.
typedef struct List {
  Text *out;
  const char *open, *between, *close; // "  long ", ", ", ";\n"
  int indent;
  size_t width; // of a line
  size_t start; // of the line at hand
  int n;        // items so far
} List;
void list_add(List *list, const char *item);
void list_end(const List *list); // nothing is printed where there is no item

#endif
