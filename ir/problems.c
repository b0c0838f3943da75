#include "problems.h"

enum { MANY_PROBLEMS = 40 };

static void add(Problems *problems, Loc loc, bool is_note, const char *format, va_list args) {
  const char *text = arena_vprintf(problems->arena, format, args);
  vec_push(problems->arena, &problems->list, (Problem){loc, text, is_note});
}

void problem_add(Problems *problems, Loc loc, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add(problems, loc, false, format, args);
  va_end(args);
}

void problem_note(Problems *problems, Loc loc, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add(problems, loc, true, format, args);
  va_end(args);
}

bool problems_are_many(const Problems *problems) { return problems->list.len >= MANY_PROBLEMS; }
