#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diag.h"

enum { MAX_INPUT = 64 << 20 }; // bytes of a model text

static void complain(const char *what, const char *path, int error) {
  fprintf(stderr, "parcc: error: cannot %s '%s': %s\n", what, path, strerror(error));
}

static char *read_all(Arena *arena, FILE *file, const char *path, size_t *len) {
  size_t cap = 1 << 16;
  char *text = arena_alloc(arena, cap);
  *len = 0;
  for (size_t got; (got = fread(text + *len, 1, cap - 1 - *len, file)) > 0;) {
    *len += got;
    if (*len > MAX_INPUT) {
      fprintf(stderr, "parcc: error: '%s' is larger than %d MiB\n", path, MAX_INPUT >> 20);
      return NULL;
    }
    if (*len + 1 < cap) continue;
    char *bigger = arena_alloc(arena, cap * 2);
    memcpy(bigger, text, *len);
    text = bigger;
    cap *= 2;
  }
  if (ferror(file)) {
    complain("read", path, errno);
    return NULL;
  }
  text[*len] = '\0';
  return text;
}

char *input_file(Arena *arena, const char *path, size_t *len) {
  if (str_eq(path, "-")) return read_all(arena, stdin, "<stdin>", len);
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    complain("read", path, errno);
    return NULL;
  }
  char *text = read_all(arena, file, path, len);
  fclose(file);
  return text;
}

char *input_source(Arena *arena, const char *path, const char *name, size_t *len) {
  char *text = input_file(arena, path, len);
  if (text != NULL) diag_add_source(name, text, *len);
  return text;
}

// Writes and closes the file; 0, or what went wrong.
static int write_and_close(FILE *file, OutputWrite *write, const void *what) {
  errno = 0;
  write(file, what);
  int error = ferror(file) ? (errno != 0 ? errno : EIO) : 0;
  if (fclose(file) != 0 && error == 0) error = errno;
  return error;
}

static bool write_in_place(const char *path, OutputWrite *write, const void *what) {
  FILE *file = fopen(path, "wb");
  const int error = file != NULL ? write_and_close(file, write, what) : errno;
  if (error != 0) complain("write", path, error);
  return error == 0;
}

// The temporary file that is being written; NULL: none is.
static const char *volatile unfinished;

static void remove_unfinished(int number) {
  if (unfinished != NULL) unlink(unfinished);
  raise(number); // which ends the compiler once this returns
}

// Has signals that end the compiler remove the file first. One that is ignored stays so.
static void begin_unfinished(const char *path) {
  static const int ending[] = {SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
  static bool begun = false;
  unfinished = path;
  for (size_t i = 0; i < sizeof ending / sizeof ending[0] && !begun; i++) {
    struct sigaction action;
    if (sigaction(ending[i], NULL, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = remove_unfinished;
    action.sa_flags = SA_RESETHAND;
    sigaction(ending[i], &action, NULL);
  }
  begun = true;
}

bool output_written(Arena *arena, const char *path, OutputWrite *write, const void *what) {
  struct stat status;
  const bool exists = stat(path, &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) return write_in_place(path, write, what);
  char *resolved = exists ? realpath(path, NULL) : NULL; // a symbolic link stays one
  const char *dst = resolved != NULL ? resolved : path;
  const char *temporary = arena_printf(arena, "%s.%ld.tmp", dst, (long)getpid());
  begin_unfinished(temporary);
  const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL, exists ? status.st_mode & 0777 : 0666);
  FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
  int error = file != NULL ? write_and_close(file, write, what) : errno;
  if (error == 0 && rename(temporary, dst) != 0) error = errno;
  if (error != 0) {
    if (fd >= 0) unlink(temporary);
    complain("write", path, error);
  }
  unfinished = NULL;
  free(resolved);
  return error == 0;
}

static void write_text(FILE *file, const void *text) { fputs(text, file); }

bool output_file(Arena *arena, const char *path, const char *text) { return output_written(arena, path, write_text, text); }

bool output_stdout(const char *text) {
  const bool written = fputs(text, stdout) >= 0 && fflush(stdout) == 0;
  if (!written) fprintf(stderr, "parcc: error: cannot write to standard output: %s\n", strerror(errno));
  return written;
}
