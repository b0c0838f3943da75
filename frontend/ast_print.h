// The syntax tree as text: what --dump-after=parse shows.
#ifndef PARCC_FRONTEND_AST_PRINT_H
#define PARCC_FRONTEND_AST_PRINT_H

#include "ast.h"

// Writes the file in the language itself, every operator in parentheses: parsed again it gives the same tree.
void ast_print(const AstFile *file, Text *out);

#endif
