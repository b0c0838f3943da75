// The program of parcc detect, which is the same for all: it measures what it is started on (runtime/common/detect.c).
#ifndef PARCC_FRONTEND_DETECT_H
#define PARCC_FRONTEND_DETECT_H

#include "../ir/base.h"

// frontend/detect.cu, embedded in the binary.
typedef struct DetectFile {
  const char *name, *text;
  size_t len;
} DetectFile;
extern const DetectFile detect_files[];
extern const int detect_files_len;

#endif
