// Which names are free in an emitted program: what the compiler may not call its own, and the user not a function.
#ifndef PARCC_IR_C_NAMES_H
#define PARCC_IR_C_NAMES_H

#include "base.h"

bool c_is_identifier(const char *name); // letters, digits and '_', no digit first
bool c_is_keyword(const char *name);    // of C or C++
bool c_is_taken(const char *name);      // types, functions and variables that emitted programs use themselves
// An identifier made from any text, free for an emitted program: other characters become '_', and what is a keyword, is
// taken or may be a macro gets a '_' behind.
const char *c_safe_identifier(Arena *arena, const char *text);

#endif
