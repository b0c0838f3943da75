// Which checkpoint a run goes on from. Rank 0 looks, as only it need see the directory; the files may hold anything.
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "checkpoint.h"
#include "run.h"
#include "watch.h"

enum { PATH_BYTES = 4096, MAX_RUN_BYTES = 1 << 16 };
static const double most = 9007199254740992.; // 2^53: whole numbers that JSON keeps

// ---- the directory

static int compare_steps(const void *a, const void *b) {
  const long x = *(const long *)a, y = *(const long *)b;
  return x < y ? -1 : x > y;
}

// The step in the name of a checkpoint; -1: it is none.
static long step_of(const char *name) {
  const size_t prefix = strlen(CHECKPOINT_PREFIX);
  if (strncmp(name, CHECKPOINT_PREFIX, prefix) != 0) return -1;
  const size_t digits = strspn(name + prefix, "0123456789");
  if (digits < 9 || digits > 16 || name[prefix + digits] != '\0') return -1;
  return strtol(name + prefix, NULL, 10);
}

long *checkpoint_list(const char *directory, int *n) {
  DIR *dir = opendir(directory);
  if (dir == NULL) return NULL;
  long *steps = malloc(sizeof *steps);
  *n = 0;
  for (const struct dirent *entry; steps != NULL && (entry = readdir(dir)) != NULL;) {
    const long step = step_of(entry->d_name);
    if (step < 0) continue;
    long *grown = realloc(steps, (size_t)(*n + 2) * sizeof *grown);
    if (grown == NULL) free(steps);
    else grown[(*n)++] = step;
    steps = grown;
  }
  closedir(dir);
  if (steps != NULL) qsort(steps, (size_t)*n, sizeof *steps, compare_steps);
  return steps;
}

// ---- one checkpoint

static bool read_text(const char *path, char text[MAX_RUN_BYTES], Fault *fault) {
  FILE *file = fopen(path, "rbe");
  if (file == NULL) return fault_set(fault, FAIL_RUN, "cannot read %s: %s", path, strerror(errno));
  const size_t n = fread(text, 1, MAX_RUN_BYTES - 1, file);
  text[n] = '\0';
  const bool right = feof(file) && !ferror(file);
  fclose(file);
  return right || fault_set(fault, FAIL_RUN, "%s: it cannot be read, or is too long", path);
}

static bool get_count(const cJSON *root, const char *name, long *value) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);
  if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < most)) return false;
  *value = (long)item->valuedouble;
  return (double)*value == item->valuedouble;
}

static bool get_word(const cJSON *root, const char *name, int base, unsigned long long *value) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);
  const char *const digits = base == 10 ? "0123456789" : "0123456789abcdef";
  if (!cJSON_IsString(item) || item->valuestring[0] == '\0') return false;
  if (strspn(item->valuestring, digits) != strlen(item->valuestring)) return false;
  errno = 0;
  *value = strtoull(item->valuestring, NULL, base);
  return errno == 0;
}

typedef struct {
  char model[200];
  Progress progress;
  long bytes; // of the tensors
  unsigned long long crc;
} Description;

static bool parse_run(const char *path, const char *text, Description *found, Fault *fault) {
  long format = 0;
  unsigned long long data = 0;
  cJSON *root = cJSON_Parse(text);
  const cJSON *model = cJSON_GetObjectItemCaseSensitive(root, "model");
  Progress *progress = &found->progress;
  const bool right = get_count(root, "format", &format) && format == 1 && cJSON_IsString(model) &&
                     get_count(root, "step", &progress->step) && get_count(root, "steps", &progress->steps) &&
                     get_count(root, "samples", &progress->samples) && get_word(root, "seed", 10, &progress->seed) &&
                     get_word(root, "data", 16, &data) && get_count(root, "tensors_bytes", &found->bytes) &&
                     get_word(root, "tensors_crc32", 16, &found->crc);
  if (right) snprintf(found->model, sizeof found->model, "%s", model->valuestring);
  progress->data = data;
  cJSON_Delete(root);
  return right || fault_set(fault, FAIL_RUN, format > 1 ? "%s: of a newer runtime" : "%s: damaged", path);
}

// Reads all of the file: a checkpoint is not believed to be whole because its name says so.
static bool check_tensors(const char *path, const Description *found, Fault *fault) {
  enum { PIECE = 1 << 20 };
  struct stat info;
  unsigned long crc = crc32(0, NULL, 0);
  unsigned char *bytes = malloc(PIECE);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  bool right = fd >= 0 && fstat(fd, &info) == 0 && bytes != NULL;
  if (!right) fault_set(fault, FAIL_RUN, "cannot read %s: %s", path, strerror(errno));
  else if (info.st_size != found->bytes)
    right = fault_set(fault, FAIL_RUN, "%s: it has %lld bytes, not %ld", path, (long long)info.st_size, found->bytes);
  for (ssize_t n = 1; right && n != 0;) {
    n = read(fd, bytes, PIECE);
    if (n < 0 && errno != EINTR) right = fault_set(fault, FAIL_RUN, "cannot read %s: %s", path, strerror(errno));
    if (n > 0) crc = crc32_z(crc, bytes, (size_t)n);
    watch_moved();
  }
  if (right && crc != found->crc) right = fault_set(fault, FAIL_RUN, "%s: damaged: its CRC is wrong", path);
  if (fd >= 0) close(fd);
  free(bytes);
  return right;
}

static bool read_checkpoint(const char *directory, Description *found, Fault *fault) {
  static char text[MAX_RUN_BYTES];
  char path[PATH_BYTES];
  if (snprintf(path, sizeof path, "%s/" CHECKPOINT_RUN, directory) >= (int)sizeof path)
    return fault_set(fault, FAIL_MISUSE, "--load: the path is too long");
  if (!read_text(path, text, fault) || !parse_run(path, text, found, fault)) return false;
  if (snprintf(path, sizeof path, "%s/" CHECKPOINT_TENSORS, directory) >= (int)sizeof path)
    return fault_set(fault, FAIL_MISUSE, "--load: the path is too long");
  return check_tensors(path, found, fault);
}

// ---- the newest whole one

static bool find_newest(const char *directory, Description *found, Fault *fault) {
  char *path = run.resumed.path;
  const size_t size = sizeof run.resumed.path;
  int n, i;
  long *steps = checkpoint_list(directory, &n);
  if (steps == NULL)
    return fault_set(fault, FAIL_RUN,
                     errno == ENOTDIR ? "%s: %s: --load wants a directory of checkpoints; --init FILE takes a file"
                                      : "cannot read %s: %s",
                     directory, strerror(errno));
  for (i = n - 1; i >= 0; i--) {
    Fault damage = {0};
    if (snprintf(path, size, "%s/" CHECKPOINT_PREFIX "%09ld", directory, steps[i]) >= (int)size)
      fault_set(&damage, FAIL_RUN, "the path is too long");
    else if (read_checkpoint(path, found, &damage)) break;
    fprintf(stderr, "%s: passing over %s: %s\n", run.model->name, path, damage.text);
  }
  free(steps);
  if (i >= 0) return true;
  return fault_set(fault, FAIL_RUN, n == 0 ? "%s: there is no checkpoint in it" : "%s: no checkpoint in it is whole",
                   directory);
}

// What --load names may be one checkpoint.
static bool find(const char *directory, Description *found, Fault *fault) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/" CHECKPOINT_RUN, directory);
  if (access(path, F_OK) != 0) return find_newest(directory, found, fault);
  if (strlen(directory) >= sizeof run.resumed.path)
    return fault_set(fault, FAIL_MISUSE, "--load: the path is too long");
  strcpy(run.resumed.path, directory);
  return read_checkpoint(directory, found, fault);
}

static bool check_run(const Description *found, Fault *fault) {
  const Progress *progress = &found->progress;
  if (strcmp(found->model, run.model->name) != 0)
    return fault_set(fault, FAIL_RUN, "%s: a checkpoint of %s, not of %s", run.resumed.path, found->model,
                     run.model->name);
  if (run.options.has_seed && run.options.seed != progress->seed && !options_only_sample(&run.options))
    return fault_set(fault, FAIL_MISUSE, "--seed %llu: the run that %s is of has seed %llu", run.options.seed,
                     run.resumed.path, progress->seed);
  return true;
}

void checkpoint_find(void) {
  Fault fault = {0};
  Description found = {.bytes = 0};
  if (run.options.load == NULL) return;
  if (parcc.rank == 0 && find(run.options.load, &found, &fault)) check_run(&found, &fault);
  fail_share(&fault);
  world_broadcast(&found.progress, sizeof found.progress, 0);
  world_broadcast(run.resumed.path, sizeof run.resumed.path, 0);
  run.resumed.from = found.progress;
  parcc.seed = found.progress.seed;
}

// ---- --save

static bool same_directory(const char *a, const char *b) {
  struct stat x, y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// Keeps other runs from writing into the directory until this process ends, whose file stays open. A run that was ended, and is
// gone on from, may take a moment to be gone. Where the file system has no such locks nothing keeps them.
static bool lock(const char *directory, Fault *fault) {
  enum { TRIES = 50 };
  const struct timespec pause = {.tv_nsec = 100000000};
  const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fault_set(fault, FAIL_RUN, "cannot write %s: %s", directory, strerror(errno));
  for (int i = 0; i < TRIES; i++) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
    nanosleep(&pause, NULL);
  }
  close(fd);
  return fault_set(fault, FAIL_RUN, "--save %s: another run writes its checkpoints there", directory);
}

bool checkpoint_prepare(const char *directory, Fault *fault) {
  const bool same = run.options.load != NULL && same_directory(directory, run.options.load);
  int n = 0;
  if (mkdir(directory, 0777) != 0 && errno != EEXIST)
    return fault_set(fault, FAIL_RUN, "cannot write %s: %s", directory, strerror(errno));
  if (!lock(directory, fault)) return false;
  long *steps = checkpoint_list(directory, &n);
  if (steps == NULL || access(directory, W_OK | X_OK) != 0) {
    free(steps);
    return fault_set(fault, FAIL_RUN, "cannot write %s: %s", directory, strerror(errno));
  }
  for (int i = 0; same && i < n; i++)
    if (steps[i] == run.resumed.from.step) run.saved = steps[i]; // it is the one that is loaded
  const long newest = n > 0 ? steps[n - 1] : 0;
  free(steps);
  return n == 0 || same ||
         fault_set(fault, FAIL_MISUSE,
                   "--save %s: it holds checkpoints of another run, up to step %ld: --load goes on from them",
                   directory, newest);
}
