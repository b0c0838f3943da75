// What tokens stand for. A vocabulary is a text file with one word a line, the first of them token 0; or a file of pieces as
// the training programs for GPT write them: a header of 256 little-endian 32-bit words (magic number 20240328, version 1 or 2,
// number of pieces), then each piece, a byte that tells its length and its bytes.
#ifndef PARCC_VOCABULARY_H
#define PARCC_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>

#include "data_file.h"
#include "fail.h"

typedef struct {
  DataFile file;
  bool pieces; // text is made of pieces, without blanks between them; else of words with blanks
  long n;
  struct Word {
    size_t start, length; // in file.bytes
  } *word;
  long *slot; // of a hash table: a word, or -1
  size_t slots, longest;
} Vocabulary;

// A vocabulary of at most `range` words, all different; pieces need not be: several tokens may stand for the same bytes. With fewer
// than there are tokens the last ones have no word. Whatever the result, vocabulary_close.
bool vocabulary_open(Vocabulary *vocabulary, const char *path, long range, Fault *fault);

// The first word or piece that has these bytes, or -1.
long vocabulary_find(const Vocabulary *vocabulary, const char *bytes, size_t length);

void vocabulary_close(Vocabulary *vocabulary);

#endif
