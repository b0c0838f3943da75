// Files whose lines are words with blanks between them, and comments behind '#': read line by line, so that every mistake has its place.
#ifndef PARCC_IR_WORDS_H
#define PARCC_IR_WORDS_H

#include "problems.h"

typedef struct Words {
  Problems *problems;
  const char *file;
  const char *next, *stop;     // what follows the line at hand
  const char *line, *at, *end; // the line at hand, without its comment; what of it is not taken yet
  int number;                  // of the line, from 1
} Words;

// Of a text, which is not copied; words are, to the arena of `problems`.
Words words_new(const char *file, const char *text, size_t len, Problems *problems);
// Goes to the next line that has words. False: there is none, or the problems are many.
bool words_next_line(Words *w);
// The word at hand, "" at the end of the line, and its place.
const char *words_take(Words *w, Loc *loc);
// The place of a part of the line at hand.
Loc words_place(const Words *w, const char *from, const char *to);
bool word_is_blank(char c);
// The first line: "KIND VERSION". begins: what is told where it is another one, "a profile begins". False: it is told.
bool words_take_head(Words *w, const char *kind, int version, const char *begins);
// The same where there is no line at all.
void words_miss_head(const Words *w, const char *kind, int version, const char *begins);

#endif
