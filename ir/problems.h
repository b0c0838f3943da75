// What is found wrong with plans and machine files.
#ifndef PARCC_IR_PROBLEMS_H
#define PARCC_IR_PROBLEMS_H

#include "base.h"

// What is wrong with a text, for the driver to report. A note belongs to the problem before it.
typedef struct Problem {
  Loc loc;
  const char *text;
  bool is_note;
} Problem;
typedef struct Problems {
  Arena *arena;
  VEC(Problem) list;
} Problems;
void problem_add(Problems *problems, Loc loc, const char *format, ...) __attribute__((format(printf, 3, 4)));
void problem_note(Problems *problems, Loc loc, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool problems_are_many(const Problems *problems); // nobody will read more of them

#endif
