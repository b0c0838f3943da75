// The page of --report: a frame of HTML, CSS and JavaScript (frontend/page/) around what it shows. It is whole by itself: nothing is
// loaded from elsewhere.
#ifndef PARCC_FRONTEND_PAGE_H
#define PARCC_FRONTEND_PAGE_H

#include "../ir/base.h"

// frontend/page/, embedded in the binary.
typedef struct PageFile {
  const char *name, *text;
  size_t len;
} PageFile;
extern const PageFile page_files[];
extern const int page_files_len;

// The page that draws a JSON text, in which any names may stand.
const char *page_text(Arena *arena, const char *json);

#endif
