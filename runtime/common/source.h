// The samples of one input in one split: an array in a file, or numbers made up.
#ifndef PARCC_SOURCE_H
#define PARCC_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "array.h"
#include "fail.h"
#include "lines.h"
#include "parcc.h"

typedef struct {
  const ParccInput *input;
  bool synthetic;
  Array array;             // not synthetic, no lines
  Lines lines;             // of a file of lines
  size_t first, stride;    // element of the array where sample 0 begins, and from there to the next
  size_t end;              // of a sequence: where the split's part of it ends
  bool unchecked;          // integers may be outside of the range: that is seen when they are read
  unsigned long long seed; // synthetic
  unsigned stream;         // synthetic
  long samples;
  size_t sample_elements;
} Source;

// Opens the file of a split in a directory, checks its shape against the input and all integers against their range; those
// of a long sequence when they are read. Whatever the result, source_close.
bool source_open(Source *source, const ParccInput *input, const char *directory, bool test, Fault *fault);

// Made-up samples: reals are standard normal, integers uniform over the range. number: of the input. The training split
// has 64 batches, the test split two and a half.
void source_make(Source *source, const ParccInput *input, int number, unsigned long long seed, bool test);

// Whether both are windows of one file, equally far apart.
bool source_same_windows(const Source *a, const Source *b);

// Such have as many samples as the one that reaches furthest.
void source_align(Source *source, Source *other);

// The file of one that is not synthetic.
const DataFile *source_file(const Source *source);

// What a sequence leaves over at its end, behind the last window; 0 of an array.
size_t source_left_over(const Source *source);

void source_close(Source *source);

// Tells data sets apart: of the shape and the bytes as they are stored, all of them up to a MiB or so, samples all over the
// file beyond that; of made-up samples, what they are made from.
uint64_t source_fingerprint(const Source *source);

// dst[i] = element first + i of a sample, in the type of the input.
void source_copy(const Source *source, long sample, size_t first, size_t count, void *dst);

// The size of an element of a program's tensor.
static inline size_t type_bytes(ParccType type) { return type == PARCC_DOUBLE ? 8 : 4; }

#endif
