// The bytes of a data file: mapped where it is plain, inflated where it is gzip. The reader of a format first looks at the
// head, works out from it how long the file must be, and then asks for that many bytes, so that no number in a damaged
// file decides how much memory is taken. A file that is open already is not opened again: several sources may share one.
#ifndef PARCC_DATA_FILE_H
#define PARCC_DATA_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "fail.h"

typedef struct {
  const char *path;           // for messages
  const unsigned char *bytes; // size of them
  size_t size;
  bool mapped;
} DataFile;

enum { DATA_HEAD_BYTES = 1 << 16 };

// Reads the first DATA_HEAD_BYTES bytes, or as many as there are, into head.
bool data_file_read_head(const char *path, unsigned char *head, size_t *head_bytes, Fault *fault);

// Opens the file, which must have exactly `size` bytes (after inflating); DATA_FILE_ANY: as many as there are.
#define DATA_FILE_ANY ((size_t)-1)
bool data_file_open(DataFile *file, const char *path, size_t size, Fault *fault);

void data_file_close(DataFile *file); // of an all-zero one: nothing

#endif
