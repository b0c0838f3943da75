// Writing a checkpoint. The order of rename, fsync and unlink is what a kill or a power cut at any moment must not get
// between: see checkpoint.h.
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint.h"
#include "data.h"
#include "run.h"
#include "tensors.h"
#include "version.h"
#include "watch.h"

enum { KEPT = 2, PATH_BYTES = 4096 };

static _Noreturn void fail_write(const char *path, int error) {
  fail_alone(FAIL_RUN, "cannot write %s: %s", path, strerror(error));
}

static void join(char path[PATH_BYTES], const char *directory, const char *name) {
  if (snprintf(path, PATH_BYTES, "%s/%s", directory, name) >= PATH_BYTES) fail_write(directory, ENAMETOOLONG);
}

// Brings what was done in a directory to the disk.
static void sync_directory(const char *path) {
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
    fail_write(path, errno); // EINVAL: the file system has no such thing
  close(fd);
}

// Removes a directory that may hold the files of a checkpoint. It need not be there.
static void remove_files(const char *directory) {
  const char *const names[] = {CHECKPOINT_RUN, CHECKPOINT_TENSORS};
  char path[PATH_BYTES];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    join(path, directory, names[i]);
    if (unlink(path) != 0 && errno != ENOENT) fail_write(path, errno);
  }
  if (rmdir(directory) != 0 && errno != ENOENT) fail_write(directory, errno);
}

// A checkpoint stops being one in one blow, and is removed then.
static void discard(const char *directory, const char *unfinished, long step) {
  char path[PATH_BYTES];
  if (snprintf(path, sizeof path, "%s/" CHECKPOINT_PREFIX "%09ld", directory, step) >= (int)sizeof path)
    fail_write(directory, ENAMETOOLONG);
  if (rename(path, unfinished) != 0) fail_write(path, errno);
  remove_files(unfinished);
}

// Keeps the newest two up to `step`. Newer ones can only be those that were passed over as damaged.
static void discard_old(const char *directory, const char *unfinished, long step) {
  int n, newest = 0;
  long *steps = checkpoint_list(directory, &n);
  if (steps == NULL) fail_write(directory, errno);
  while (newest < n && steps[newest] <= step) newest++;
  for (int i = 0; i < n; i++)
    if (i < newest - KEPT || i >= newest) discard(directory, unfinished, steps[i]);
  free(steps);
}

static char *make_run(const Progress *progress, const Written *written) {
  char seed[32], data[32], crc[16];
  snprintf(seed, sizeof seed, "%llu", progress->seed); // strings: JSON numbers are doubles
  snprintf(data, sizeof data, "%016llx", (unsigned long long)progress->data);
  snprintf(crc, sizeof crc, "%08lx", (unsigned long)written->crc);
  cJSON *root = cJSON_CreateObject();
  const bool right = cJSON_AddNumberToObject(root, "format", 1) &&
                     cJSON_AddStringToObject(root, "model", run.model->name) &&
                     cJSON_AddStringToObject(root, "source", run.model->source) &&
                     cJSON_AddStringToObject(root, "runtime", PARCC_VERSION) &&
                     cJSON_AddNumberToObject(root, "step", (double)progress->step) &&
                     cJSON_AddNumberToObject(root, "steps", (double)progress->steps) &&
                     cJSON_AddNumberToObject(root, "samples", (double)progress->samples) &&
                     cJSON_AddStringToObject(root, "seed", seed) && cJSON_AddStringToObject(root, "data", data) &&
                     cJSON_AddNumberToObject(root, "tensors_bytes", (double)written->bytes) &&
                     cJSON_AddStringToObject(root, "tensors_crc32", crc);
  char *text = right ? cJSON_Print(root) : NULL;
  cJSON_Delete(root);
  if (text == NULL) fail_alone(FAIL_RUN, "out of memory");
  return text;
}

static void write_run(const char *directory, const Progress *progress, const Written *written) {
  char path[PATH_BYTES], *text = make_run(progress, written);
  join(path, directory, CHECKPOINT_RUN);
  FILE *file = fopen(path, "wbe");
  if (file == NULL) fail_write(path, errno);
  if (fprintf(file, "%s\n", text) < 0 || fflush(file) != 0 || fsync(fileno(file)) != 0 || fclose(file) != 0)
    fail_write(path, errno);
  cJSON_free(text);
}

// The checkpoint gets its name. One of the same step, which was damaged, makes way.
static void finish(const char *directory, const char *unfinished, long step) {
  char path[PATH_BYTES], old[PATH_BYTES];
  if (snprintf(path, sizeof path, "%s/" CHECKPOINT_PREFIX "%09ld", directory, step) >= (int)sizeof path)
    fail_write(directory, ENAMETOOLONG);
  join(old, directory, "replaced");
  remove_files(old);
  if (rename(path, old) != 0 && errno != ENOENT) fail_write(path, errno);
  sync_directory(unfinished);
  if (rename(unfinished, path) != 0) fail_write(path, errno);
  sync_directory(directory);
  join(path, directory, "..");
  sync_directory(path); // should this run have made the directory
  remove_files(old);
}

void checkpoint_save(long step) {
  const char *directory = run.options.save;
  const ParccPlace before = parcc_place;
  char unfinished[PATH_BYTES], tensors[PATH_BYTES];
  AT("writing a checkpoint", NULL);
  join(unfinished, directory, "unfinished");
  join(tensors, unfinished, CHECKPOINT_TENSORS);
  if (parcc.rank == 0) {
    remove_files(unfinished);
    if (mkdir(unfinished, 0777) != 0) fail_write(unfinished, errno);
  }
  const Written written = tensors_write(tensors);
  if (parcc.rank == 0) {
    const Progress progress = {step, parcc.steps, run_samples(step), parcc.seed, data_fingerprint()};
    write_run(unfinished, &progress, &written);
    watch_moved();
    finish(directory, unfinished, step);
    discard_old(directory, unfinished, step);
  }
  run.saved = step;
  AT(before.op, before.where);
}
