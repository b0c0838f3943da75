// The frontend: from text to the model graphs.
#ifndef PARCC_FRONTEND_FRONTEND_H
#define PARCC_FRONTEND_FRONTEND_H

#include "../ir/model.h"
#include "ast.h"

typedef struct Define { const char *name, *value; } Define; // -D name=value

typedef struct ElabOptions {
  VEC(Define) defines;
  bool f64;
} ElabOptions;

// Parses a text (not necessarily NUL-terminated inside len; need not be valid). Syntax errors are reported through diag;
// the tree holds what could be understood. The result and everything in it live in the arena.
AstFile *parse_text(Arena *arena, const char *name, const char *text, size_t len);
// The prelude, embedded in the binary; the name of a file in messages is its place in the sources.
typedef struct PreludeFile {
  const char *name, *text;
  size_t len;
} PreludeFile;
extern const PreludeFile prelude_files[];
extern const int prelude_files_len;
// All its definitions in one tree, in the arena. Errors are reported through diag.
AstFile *parse_prelude(Arena *arena);
// Elaborates the model of `file` with the definitions of `prelude`. NULL after errors (reported through diag).
Model *elab_model(Arena *arena, const AstFile *prelude, const AstFile *file, const ElabOptions *options);

#endif
