// A text file each of whose lines is a sample: its tokens, bytes or words of a vocabulary, filled up or cut to the length of a
// sample.
#ifndef PARCC_LINES_H
#define PARCC_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "data_file.h"
#include "fail.h"
#include "parcc.h"
#include "vocabulary.h"

typedef struct {
  const ParccInput *input;
  DataFile file;
  Vocabulary vocabulary; // of words; empty: tokens are bytes
  size_t *start;         // of each line, and where the last one ends
  long first, n;         // the split has lines first to first + n
  long cut;              // lines of the split that are longer than a sample; 0 in a large file, where nobody counts
} Lines;

// Goes through the file once to find the lines; those of a file that is not large are also checked. Whatever the result,
// lines_close.
bool lines_open(Lines *lines, const ParccInput *input, const char *path, const char *directory, bool test, Fault *fault);

// dst[i] = token first + i of line `line` of the split.
void lines_copy(const Lines *lines, long line, size_t first, size_t count, int *dst);

void lines_close(Lines *lines);

#endif
