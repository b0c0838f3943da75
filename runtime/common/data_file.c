#include "data_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "watch.h"

// Deflate makes nothing shorter than about 1/1032 of itself.
enum { MAX_DEFLATE_RATIO = 1040 };

// Bytes inflated at once; gzread takes an unsigned length and returns an int.
enum { MAX_READ = 1 << 26 };

static bool cannot_read(Fault *fault, const char *path, const char *reason) {
  return fault_set(fault, FAIL_RUN, "cannot read %s: %s", path, reason);
}

// zlib reads plain files, too. Fewer bytes than asked for are no fault here.
static bool read_some(gzFile gz, const char *path, unsigned char *bytes, size_t size, size_t *got, Fault *fault) {
  for (*got = 0; *got < size;) {
    const size_t left = size - *got;
    const int n = gzread(gz, bytes + *got, left < MAX_READ ? (unsigned)left : MAX_READ);
    if (n < 0) {
      int code;
      const char *reason = gzerror(gz, &code);
      return cannot_read(fault, path, code == Z_ERRNO ? strerror(errno) : code == Z_BUF_ERROR ? "truncated" : reason);
    }
    if (n == 0) break;
    *got += (size_t)n;
    watch_moved();
  }
  return true;
}

// A file is opened more than once, so a pipe is of no use, and nobody waits for one to be written to.
static bool open_gz(const char *path, gzFile *gz, struct stat *info, Fault *fault) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return cannot_read(fault, path, strerror(errno));
  const char *reason = fstat(fd, info) != 0      ? strerror(errno)
                       : S_ISDIR(info->st_mode)  ? "it is a directory"
                       : !S_ISREG(info->st_mode) ? "it is no regular file"
                                                 : NULL;
  if (reason != NULL) {
    close(fd);
    return cannot_read(fault, path, reason);
  }
  *gz = gzdopen(fd, "rb");
  if (*gz == NULL) {
    close(fd);
    return cannot_read(fault, path, "out of memory");
  }
  return true;
}

bool data_file_read_head(const char *path, unsigned char *head, size_t *head_bytes, Fault *fault) {
  gzFile gz;
  struct stat info = {0};
  if (!open_gz(path, &gz, &info, fault)) return false;
  const bool right = read_some(gz, path, head, DATA_HEAD_BYTES, head_bytes, fault);
  gzclose(gz);
  return right;
}

static bool wrong_size(Fault *fault, const char *path, size_t has, size_t wants) {
  return fault_set(fault, FAIL_RUN, "%s: %s: it has %zu bytes, its header describes %zu", path,
                   has < wants ? "truncated" : "too long", has, wants);
}

static bool map(DataFile *file, const struct stat *info, Fault *fault) {
  const size_t has = (size_t)info->st_size;
  if (file->size == DATA_FILE_ANY) file->size = has;
  if (has != file->size) return wrong_size(fault, file->path, has, file->size);
  if (has == 0) return true; // nothing can be mapped, and nothing is
  const int fd = open(file->path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cannot_read(fault, file->path, strerror(errno));
  void *bytes = mmap(NULL, has, PROT_READ, MAP_PRIVATE, fd, 0);
  const int error = errno;
  close(fd);
  if (bytes == MAP_FAILED) return cannot_read(fault, file->path, strerror(error));
  file->bytes = bytes;
  file->mapped = true;
  return true;
}

// As many bytes as the file has: room is made as they come.
static bool inflate_any(DataFile *file, gzFile gz, Fault *fault) {
  unsigned char *bytes = NULL;
  size_t room = MAX_READ / 64, size = 0, got = 0;
  do {
    room *= 2;
    unsigned char *larger = realloc(bytes, room);
    if (larger == NULL) {
      free(bytes);
      return cannot_read(fault, file->path, "out of memory");
    }
    file->bytes = bytes = larger;
    if (!read_some(gz, file->path, bytes + size, room - size, &got, fault)) return false;
    size += got;
  } while (size == room);
  file->size = size;
  int code;
  gzerror(gz, &code);
  return code != Z_BUF_ERROR || cannot_read(fault, file->path, "truncated");
}

static bool inflate_all(DataFile *file, gzFile gz, off_t has, Fault *fault) {
  const size_t size = file->size;
  if (size == DATA_FILE_ANY) return inflate_any(file, gz, fault);
  if (size / MAX_DEFLATE_RATIO > (size_t)has + DATA_HEAD_BYTES)
    return fault_set(fault, FAIL_RUN,
                     "%s: truncated: its %lld compressed bytes cannot hold the %zu its header describes", file->path,
                     (long long)has, size);
  unsigned char *bytes = malloc(size + 1); // one more than wanted, to see whether there are more
  if (bytes == NULL) return cannot_read(fault, file->path, "out of memory");
  file->bytes = bytes;
  size_t got;
  if (!read_some(gz, file->path, bytes, size + 1, &got, fault)) return false;
  if (got > size) return fault_set(fault, FAIL_RUN, "%s: too long: its header describes %zu bytes", file->path, size);
  return got == size || wrong_size(fault, file->path, got, size);
}

// The files that are open, each with how many share it.
typedef struct OpenFile {
  DataFile file;
  int users;
  struct OpenFile *next;
} OpenFile;

static OpenFile *open_files;

static OpenFile *find_open(const char *path) {
  for (OpenFile *open = open_files; open != NULL; open = open->next)
    if (strcmp(open->file.path, path) == 0) return open;
  return NULL;
}

static void release(DataFile *file) {
  if (file->mapped) munmap((void *)file->bytes, file->size);
  else free((void *)file->bytes);
  free((void *)file->path);
}

static bool read_file(DataFile *file, Fault *fault) {
  gzFile gz;
  struct stat info = {0};
  if (!open_gz(file->path, &gz, &info, fault)) return false;
  const bool right = gzdirect(gz) != 0 ? map(file, &info, fault) : inflate_all(file, gz, info.st_size, fault);
  gzclose(gz);
  return right;
}

bool data_file_open(DataFile *file, const char *path, size_t size, Fault *fault) {
  OpenFile *open = find_open(path);
  *file = (DataFile){0};
  if (open == NULL) {
    open = calloc(1, sizeof *open);
    char *copy = strdup(path);
    if (open == NULL || copy == NULL) {
      free(open);
      free(copy);
      return cannot_read(fault, path, "out of memory");
    }
    *open = (OpenFile){{.path = copy, .size = size}, 0, NULL};
    if (!read_file(&open->file, fault)) {
      release(&open->file);
      free(open);
      return false;
    }
    open->next = open_files;
    open_files = open;
  } else if (size != DATA_FILE_ANY && open->file.size != size) {
    return wrong_size(fault, path, open->file.size, size);
  }
  open->users++;
  *file = open->file;
  return true;
}

void data_file_close(DataFile *file) {
  for (OpenFile **at = &open_files; file->path != NULL && *at != NULL; at = &(*at)->next) {
    OpenFile *open = *at;
    if (open->file.path != file->path) continue;
    if (--open->users == 0) {
      *at = open->next;
      release(&open->file);
      free(open);
    }
    break;
  }
  *file = (DataFile){0};
}
