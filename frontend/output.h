// Reading models and writing results, whole or not at all.
#ifndef PARCC_FRONTEND_OUTPUT_H
#define PARCC_FRONTEND_OUTPUT_H

#include "../ir/base.h"

// The bytes of a file ("-": of standard input), NUL-terminated, in the arena. On failure says why and returns NULL.
char *input_file(Arena *arena, const char *path, size_t *len);
// The same of a file that errors will point into, where it is called `name`.
char *input_source(Arena *arena, const char *path, const char *name, size_t *len);
// Writes the text to a temporary file beside `path` and renames it, so that `path` holds the old text or the new one, never
// a part, and none is left where a signal ends the compiler (SIGKILL leaves the temporary file). What is not a regular file
// (a device, a pipe) is written in place. On failure says why and returns false.
bool output_file(Arena *arena, const char *path, const char *text);
// The same of what `write` writes to the file, which may be more than is to be held in memory.
typedef void OutputWrite(FILE *file, const void *what);
bool output_written(Arena *arena, const char *path, OutputWrite *write, const void *what);
// Writes and flushes; on failure says why and returns false.
bool output_stdout(const char *text);

#endif
