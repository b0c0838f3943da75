// An array in a data file: the element type and extents its header tells, and its elements, converted as they are read.
#ifndef PARCC_ARRAY_H
#define PARCC_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#include "data_file.h"
#include "fail.h"
#include "parcc.h"

typedef enum {
  ELEMENT_U8,
  ELEMENT_I8,
  ELEMENT_U16,
  ELEMENT_I16,
  ELEMENT_U32,
  ELEMENT_I32,
  ELEMENT_I64,
  ELEMENT_F32,
  ELEMENT_F64
} ElementType;

enum { ARRAY_MAX_RANK = 8 };

typedef struct {
  DataFile file;
  ElementType type;
  bool big_endian;
  int rank; // at least 1: the first dimension counts samples
  long extent[ARRAY_MAX_RANK];
  size_t header_bytes, count; // count: elements in all
} Array;

// Opens a file of a kind ("idx", "npy", "text": its bytes, "tokens": whole numbers in one row) and checks its size against its header. Whatever the result, array_close.
bool array_open(Array *array, const char *path, const char *kind, Fault *fault);
void array_close(Array *array);

// The readers of headers: fill type, big_endian, rank, extent and header_bytes.
bool array_parse_idx(Array *array, const char *path, const unsigned char *head, size_t bytes, Fault *fault);
bool array_parse_npy(Array *array, const char *path, const unsigned char *head, size_t bytes, Fault *fault);
bool array_parse_tokens(Array *array, const char *path, const unsigned char *head, size_t bytes, Fault *fault);

bool array_holds_integers(const Array *array);

// The largest whole number that an element may be.
double array_largest(const Array *array);

// dst[i] = element[first + i] * scale + offset. dst is of the type named.
void array_copy(const Array *array, size_t first, size_t count, double scale, double offset, ParccType type, void *dst);

#endif
