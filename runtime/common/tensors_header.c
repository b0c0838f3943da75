// What a safetensors file holds: its header is parsed, checked, and compared with what the program stores.
#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"
#include "tensors.h"

enum { MAX_HEADER_BYTES = 100000000 }; // the limit that the format sets

static bool bad_file(Fault *fault, const TensorFile *file, const char *reason) {
  return fault_set(fault, FAIL_RUN, "%s: not a right safetensors file: %s", file->path, reason);
}

static bool read_at(const TensorFile *file, void *bytes, size_t size, int64_t offset, Fault *fault) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = pread(file->fd, (char *)bytes + done, size - done, offset + (int64_t)done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fault_set(fault, FAIL_RUN, "cannot read %s: %s", file->path, strerror(errno));
    if (n == 0) return bad_file(fault, file, "truncated");
    done += (size_t)n;
  }
  return true;
}

bool tensor_file_read(const TensorFile *file, void *bytes, size_t size, int64_t offset, Fault *fault) {
  return read_at(file, bytes, size, file->data + offset, fault);
}

// ---- what does not match, listed

typedef struct {
  char text[2000];
  size_t at;
  int n;
} List;

enum { NAME_BYTES = 100 };

// A name from the file may hold anything.
static const char *printable(char shown[NAME_BYTES], const char *name) {
  size_t i = 0;
  for (; name[i] != '\0' && i + 1 < NAME_BYTES; i++) shown[i] = isprint((unsigned char)name[i]) ? name[i] : '?';
  shown[i] = '\0';
  return shown;
}

static void list_add(List *list, const char *what, const char *name, const char *more) {
  enum { MOST = 12 };
  if (++list->n > MOST) return;
  char shown[NAME_BYTES];
  printable(shown, name);
  const int length = snprintf(list->text + list->at, sizeof list->text - list->at, "\n  %s: %s%s", what, shown, more);
  if (length > 0 && (size_t)length < sizeof list->text - list->at) list->at += (size_t)length;
  else list->text[list->at] = '\0'; // counted only
}

// False, with a fault that gives the list, unless it is empty.
static bool list_is_empty(const List *list, const char *path, Fault *fault) {
  int shown = 0;
  char more[40] = "";
  for (const char *c = list->text; *c != '\0'; c++) shown += *c == '\n';
  if (list->n > shown) snprintf(more, sizeof more, "\n  and %d more", list->n - shown);
  return list->n == 0 || fault_set(fault, FAIL_RUN, "%s does not fit the program:%s%s", path, list->text, more);
}

// ---- what is passed over, in a line

static void pass_over(PassedOver *passed, const char *name) {
  enum { MOST = 4 };
  char shown[NAME_BYTES];
  if (++passed->n > MOST + 1) return;
  const size_t at = strlen(passed->names);
  snprintf(passed->names + at, sizeof passed->names - at, "%s%s", at > 0 ? ", " : "",
           passed->n > MOST ? "..." : printable(shown, name));
}

// ---- entries

// A whole number that a double holds exactly.
static bool get_whole(const cJSON *item, int64_t *value) {
  const double limit = 9007199254740992.; // 2^53
  if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < limit)) return false;
  *value = (int64_t)item->valuedouble;
  return (double)*value == item->valuedouble;
}

static void print_shape(char *text, size_t size, const ParccTensor *tensor) {
  size_t at = 0;
  text[0] = '\0';
  for (int d = 0; d < tensor->rank && at < size; d++)
    at += (size_t)snprintf(text + at, size - at, "%s%ld", d == 0 ? "" : ", ", tensor->extent[d]);
}

static bool check_shape(const ParccTensor *tensor, const cJSON *shape, List *list) {
  char has[200] = "", wants[200], more[500];
  size_t at = 0;
  bool same = cJSON_IsArray(shape) && cJSON_GetArraySize(shape) == tensor->rank;
  int d = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, shape) {
    int64_t extent = -1;
    if (!get_whole(item, &extent) || d >= tensor->rank || extent != tensor->extent[d]) same = false;
    if (at < sizeof has)
      at += (size_t)snprintf(has + at, sizeof has - at, "%s%lld", d == 0 ? "" : ", ", (long long)extent);
    d++;
  }
  if (same) return true;
  print_shape(wants, sizeof wants, tensor);
  snprintf(more, sizeof more, " has [%s], the program wants [%s]", has, wants);
  list_add(list, "shape", tensor->name, more);
  return false;
}

static bool check_dtype(const ParccTensor *tensor, const cJSON *dtype, List *list) {
  const char *wants = tensor_dtype(tensor->type);
  char more[100], known[8] = "?";
  if (strcmp(dtype->valuestring, wants) == 0) return true;
  if (strspn(dtype->valuestring, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(dtype->valuestring))
    snprintf(known, sizeof known, "%s", dtype->valuestring);
  snprintf(more, sizeof more, " is of type %s, the program wants %s", known, wants);
  list_add(list, "type", tensor->name, more);
  return false;
}

static bool get_range(const cJSON *offsets, Range *range) {
  return cJSON_IsArray(offsets) && cJSON_GetArraySize(offsets) == 2 &&
         get_whole(cJSON_GetArrayItem(offsets, 0), &range->begin) &&
         get_whole(cJSON_GetArrayItem(offsets, 1), &range->end) && range->begin <= range->end;
}

static bool check_end(const TensorFile *file, const char *name, const Range *range, Fault *fault) {
  if (range->end <= file->size) return true;
  return fault_set(fault, FAIL_RUN, "%s: truncated: %s ends at byte %lld of %lld", file->path, name,
                   (long long)range->end, (long long)file->size);
}

// False: the file is not right. A tensor that does not fit the program goes to the list.
static bool parse_entry(TensorFile *file, const cJSON *entry, int index, List *list, Fault *fault) {
  const ParccTensor *tensor = &run.stored[index];
  const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(entry, "dtype");
  const cJSON *shape = cJSON_GetObjectItemCaseSensitive(entry, "shape");
  const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(entry, "data_offsets");
  Range *range = &file->ranges[index];
  if (range->begin >= 0) return fault_set(fault, FAIL_RUN, "%s: %s occurs twice", file->path, tensor->name);
  if (!cJSON_IsString(dtype) || !cJSON_IsArray(offsets))
    return bad_file(fault, file, "an entry without dtype or offsets");
  *range = (Range){0, 0};
  if (!check_dtype(tensor, dtype, list) || !check_shape(tensor, shape, list)) return true;
  if (!get_range(offsets, range) || (size_t)(range->end - range->begin) != tensor_bytes(tensor))
    return fault_set(fault, FAIL_RUN, "%s: the offsets of %s do not fit its shape", file->path, tensor->name);
  return check_end(file, tensor->name, range, fault);
}

// A tensor that is not taken must have its place in the data all the same.
static bool parse_passed_over(TensorFile *file, const cJSON *entry, Fault *fault) {
  Range range;
  if (!get_range(cJSON_GetObjectItemCaseSensitive(entry, "data_offsets"), &range))
    return bad_file(fault, file, "an entry without right offsets");
  Range *grown = realloc(file->others, (size_t)(file->passed.n + 1) * sizeof *grown);
  if (grown == NULL) return fault_set(fault, FAIL_RUN, "out of memory");
  file->others = grown;
  grown[file->passed.n] = range;
  pass_over(&file->passed, entry->string);
  char shown[NAME_BYTES];
  return check_end(file, printable(shown, entry->string), &range, fault);
}

static int find_stored(const char *name) {
  for (int i = 0; i < run.n_stored; i++)
    if (strcmp(run.stored[i].name, name) == 0) return i;
  return -1;
}

static void list_missing(TensorFile *file, bool all, List *list) {
  for (int i = 0; i < run.n_stored; i++) {
    const ParccTensor *tensor = &run.stored[i];
    char shape[200], more[300];
    if (file->ranges[i].begin >= 0) continue;
    if (tensor->kind == PARCC_STATE && !all) pass_over(&file->absent, tensor->name);
    if (tensor->kind != PARCC_PARAM && !all) continue;
    print_shape(shape, sizeof shape, tensor);
    snprintf(more, sizeof more, ", %s [%s]", tensor_dtype(tensor->type), shape);
    list_add(list, "missing", tensor->name, more);
  }
}

static bool parse_entries(TensorFile *file, const cJSON *root, bool all, Fault *fault) {
  List list = {.n = 0};
  const cJSON *entry;
  cJSON_ArrayForEach(entry, root) {
    if (strcmp(entry->string, "__metadata__") == 0) continue;
    const int index = find_stored(entry->string);
    const bool wanted = index >= 0 && (all || run.stored[index].kind != PARCC_OPTIMIZER);
    if (!wanted && all) list_add(&list, "unknown", entry->string, "");
    else if (!(wanted ? parse_entry(file, entry, index, &list, fault) : parse_passed_over(file, entry, fault)))
      return false;
  }
  list_missing(file, all, &list);
  return list_is_empty(&list, file->path, fault);
}

static int compare_ranges(const void *a, const void *b) {
  const Range *x = a, *y = b;
  return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1) : x->end < y->end ? -1 : x->end > y->end;
}

// The tensors must fill the data: no holes, no overlaps.
static bool check_ranges(const TensorFile *file, Fault *fault) {
  Range *sorted = malloc(((size_t)run.n_stored + (size_t)file->passed.n + 1) * sizeof *sorted);
  if (sorted == NULL) return fault_set(fault, FAIL_RUN, "out of memory");
  int n = 0;
  for (int i = 0; i < file->passed.n; i++) sorted[n++] = file->others[i];
  for (int i = 0; i < run.n_stored; i++)
    if (file->ranges[i].begin >= 0) sorted[n++] = file->ranges[i];
  qsort(sorted, (size_t)n, sizeof *sorted, compare_ranges);
  int64_t end = 0;
  bool right = true;
  for (int i = 0; i < n; i++) {
    right &= sorted[i].begin == end;
    end = sorted[i].end;
  }
  free(sorted);
  return (right && end == file->size) || bad_file(fault, file, "its tensors do not fill its data without holes");
}

// ---- header

static bool parse_header(TensorFile *file, const char *header, size_t length, bool all, Fault *fault) {
  const char *end = NULL;
  cJSON *root = cJSON_ParseWithLengthOpts(header, length, &end, 0);
  bool right = root != NULL && header[0] == '{' && cJSON_IsObject(root);
  for (; right && end < header + length; end++) right = *end == ' ';
  right = right ? parse_entries(file, root, all, fault) && check_ranges(file, fault)
                : bad_file(fault, file, "its header is not a JSON object");
  cJSON_Delete(root);
  return right;
}

static bool read_header(TensorFile *file, bool all, Fault *fault) {
  struct stat info;
  unsigned char size_bytes[8];
  uint64_t length = 0;
  if (fstat(file->fd, &info) != 0) return fault_set(fault, FAIL_RUN, "cannot read %s: %s", file->path, strerror(errno));
  if (S_ISDIR(info.st_mode))
    return fault_set(fault, FAIL_RUN,
                     "%s is a directory: --init takes a file of tensors; --load DIR goes on from checkpoints",
                     file->path);
  if (!S_ISREG(info.st_mode)) return fault_set(fault, FAIL_RUN, "cannot read %s: not a plain file", file->path);
  if (!read_at(file, size_bytes, sizeof size_bytes, 0, fault)) return false;
  for (int i = 0; i < 8; i++) length |= (uint64_t)size_bytes[i] << 8 * i;
  if (length > (uint64_t)info.st_size - 8) return bad_file(fault, file, "its header is longer than the file");
  if (length > MAX_HEADER_BYTES) return bad_file(fault, file, "its header is longer than 100 MB");
  file->data = 8 + (int64_t)length;
  file->size = (int64_t)info.st_size - file->data;
  char *header = malloc((size_t)length + 1);
  if (header == NULL) return fault_set(fault, FAIL_RUN, "out of memory");
  header[length] = '\0';
  const bool right =
      read_at(file, header, (size_t)length, 8, fault) && parse_header(file, header, (size_t)length, all, fault);
  free(header);
  return right;
}

bool tensor_file_open(TensorFile *file, const char *path, bool all, Fault *fault) {
  *file = (TensorFile){.path = path, .fd = -1, .ranges = malloc(((size_t)run.n_stored + 1) * sizeof *file->ranges)};
  if (file->ranges == NULL) return fault_set(fault, FAIL_RUN, "out of memory");
  for (int i = 0; i < run.n_stored; i++) file->ranges[i] = (Range){-1, -1};
  file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // no waiting for the writer of a pipe
  if (file->fd < 0) return fault_set(fault, FAIL_RUN, "cannot read %s: %s", path, strerror(errno));
  return read_header(file, all, fault);
}

void tensor_file_close(TensorFile *file) {
  if (file->fd >= 0) close(file->fd);
  free(file->ranges);
  free(file->others);
  *file = (TensorFile){.fd = -1};
}
