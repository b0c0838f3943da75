// Which names are free in an emitted program: what the compiler may not call its own, and the user not a function.
#ifndef PARCC_IR_C_NAMES_H
#define PARCC_IR_C_NAMES_H

#include "base.h"

bool c_is_identifier(const char *name); // letters, digits and '_', no digit first
bool c_is_keyword(const char *name);    // of C or C++
bool c_is_taken(const char *name);      // types, functions and variables that emitted programs use themselves

#endif
