// A model with one use of a definition, for what is asked about definitions that a model does not use.
#ifndef PARCC_FRONTEND_EXAMPLE_H
#define PARCC_FRONTEND_EXAMPLE_H

#include "ast.h"

typedef struct Example {
  const char *model;    // its text
  const char *operands; // "x[n=8, ci=8, h=8, w=8], f[co=4, ci=8, r=4, s=4]"
  int line;             // of the use
} Example;

// Of an operator or a layer. Dimensions of one name have one extent, smaller where only later operands have them, so that a filter is
// smaller than an image; what has no other value is 2. Not every definition can be used so: the model may have errors.
Example example_of(Arena *arena, const AstDef *def);

// The last definition with that name that can be used in a model, or NULL.
const AstDef *example_find(const AstFile *file, const char *name);

#endif
