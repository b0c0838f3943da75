// --load: rank 0 reads the file, which may hold anything, and hands every tensor to all ranks.
#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint.h"
#include "fail.h"
#include "run.h"

enum { MAX_HEADER_BYTES = 100000000 }; // the limit that the format sets

// Where the data of a tensor lies in the file; begin < 0: it is not there. Offsets are from the start of the data.
typedef struct {
  int64_t begin, end;
} Range;

typedef struct {
  const char *path;
  int fd;
  int64_t data, size; // where the data begin, how many bytes of them
  Range *ranges;      // of each stored tensor
} In;

static bool bad_file(Fault *fault, const In *in, const char *reason) {
  return fault_set(fault, FAIL_RUN, "%s: not a right safetensors file: %s", in->path, reason);
}

// A name from the file, fit to be printed.
static const char *printable(const char *name, char *text, size_t size) {
  size_t i = 0;
  for (; name[i] != '\0' && i + 1 < size; i++) text[i] = isprint((unsigned char)name[i]) ? name[i] : '?';
  text[i] = '\0';
  return text;
}

static bool read_at(const In *in, void *bytes, size_t size, int64_t offset, Fault *fault) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = pread(in->fd, (char *)bytes + done, size - done, offset + (int64_t)done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fault_set(fault, FAIL_RUN, "cannot read %s: %s", in->path, strerror(errno));
    if (n == 0) return bad_file(fault, in, "truncated");
    done += (size_t)n;
  }
  return true;
}

// ---- header

// A whole number that a double holds exactly.
static bool get_whole(const cJSON *item, int64_t *value) {
  const double limit = 9007199254740992.; // 2^53
  if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < limit)) return false;
  *value = (int64_t)item->valuedouble;
  return (double)*value == item->valuedouble;
}

static bool check_shape(const In *in, const ParccTensor *tensor, const cJSON *shape, Fault *fault) {
  char has[200] = "", wants[200] = "";
  size_t h = 0, w = 0;
  bool same = cJSON_IsArray(shape) && cJSON_GetArraySize(shape) == tensor->rank;
  int d = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, shape) {
    int64_t extent = -1;
    if (!get_whole(item, &extent) || d >= tensor->rank || extent != tensor->extent[d]) same = false;
    if (h < sizeof has) h += (size_t)snprintf(has + h, sizeof has - h, "%s%lld", d == 0 ? "" : ", ", (long long)extent);
    d++;
  }
  for (d = 0; d < tensor->rank; d++)
    if (w < sizeof wants)
      w += (size_t)snprintf(wants + w, sizeof wants - w, "%s%ld", d == 0 ? "" : ", ", tensor->extent[d]);
  return same || fault_set(fault, FAIL_RUN, "%s: %s has shape [%s], the program wants [%s]", in->path, tensor->name,
                           has, wants);
}

static bool parse_entry(In *in, const cJSON *entry, int index, Fault *fault) {
  const ParccTensor *tensor = &run.stored[index];
  const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(entry, "dtype");
  const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(entry, "data_offsets");
  const char *wants = checkpoint_dtype(tensor->type);
  char text[32];
  Range *range = &in->ranges[index];
  if (range->begin >= 0) return fault_set(fault, FAIL_RUN, "%s: %s occurs twice", in->path, tensor->name);
  if (!cJSON_IsString(dtype) || !cJSON_IsArray(offsets))
    return bad_file(fault, in, "an entry without dtype or offsets");
  if (strcmp(dtype->valuestring, wants) != 0)
    return fault_set(fault, FAIL_RUN, "%s: %s is of type %s, the program wants %s", in->path, tensor->name,
                     printable(dtype->valuestring, text, sizeof text), wants);
  if (!check_shape(in, tensor, cJSON_GetObjectItemCaseSensitive(entry, "shape"), fault)) return false;
  if (cJSON_GetArraySize(offsets) != 2 || !get_whole(cJSON_GetArrayItem(offsets, 0), &range->begin) ||
      !get_whole(cJSON_GetArrayItem(offsets, 1), &range->end) || range->begin > range->end ||
      (size_t)(range->end - range->begin) != checkpoint_bytes(tensor))
    return fault_set(fault, FAIL_RUN, "%s: the offsets of %s do not fit its shape", in->path, tensor->name);
  if (range->end > in->size)
    return fault_set(fault, FAIL_RUN, "%s: truncated: %s ends at byte %lld of %lld", in->path, tensor->name,
                     (long long)range->end, (long long)in->size);
  return true;
}

static int find_stored(const char *name) {
  for (int i = 0; i < run.n_stored; i++)
    if (strcmp(run.stored[i].name, name) == 0) return i;
  return -1;
}

static bool parse_entries(In *in, const cJSON *root, Fault *fault) {
  enum { MAX_LISTED = 5 };
  char unknown[400] = "", text[60];
  size_t at = 0;
  long n_unknown = 0;
  const cJSON *entry;
  cJSON_ArrayForEach(entry, root) {
    if (strcmp(entry->string, "__metadata__") == 0) continue;
    const int index = find_stored(entry->string);
    if (index < 0 && n_unknown++ < MAX_LISTED)
      at += (size_t)snprintf(unknown + at, sizeof unknown - at, "%s%s", at == 0 ? "" : ", ",
                             printable(entry->string, text, sizeof text));
    if (index >= 0 && !parse_entry(in, entry, index, fault)) return false;
  }
  if (n_unknown > MAX_LISTED) snprintf(unknown + at, sizeof unknown - at, " and %ld more", n_unknown - MAX_LISTED);
  return n_unknown == 0 || fault_set(fault, FAIL_RUN, "%s: the program has no tensor of the name%s %s", in->path,
                                     n_unknown == 1 ? "" : "s", unknown);
}

static int compare_ranges(const void *a, const void *b) {
  const Range *x = a, *y = b;
  return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1) : x->end < y->end ? -1 : x->end > y->end;
}

// The tensors must fill the data: no holes, no overlaps.
static bool check_ranges(const In *in, Fault *fault) {
  Range *sorted = malloc(((size_t)run.n_stored + 1) * sizeof *sorted);
  if (sorted == NULL) return fault_set(fault, FAIL_RUN, "out of memory");
  int n = 0;
  for (int i = 0; i < run.n_stored; i++)
    if (in->ranges[i].begin >= 0) sorted[n++] = in->ranges[i];
  qsort(sorted, (size_t)n, sizeof *sorted, compare_ranges);
  int64_t end = 0;
  bool right = true;
  for (int i = 0; i < n; i++) {
    right &= sorted[i].begin == end;
    end = sorted[i].end;
  }
  free(sorted);
  return (right && end == in->size) || bad_file(fault, in, "its tensors do not fill its data without holes");
}

static bool check_missing(const In *in, Fault *fault) {
  for (int i = 0; i < run.n_stored; i++)
    if (run.stored[i].kind == PARCC_PARAM && in->ranges[i].begin < 0)
      return fault_set(fault, FAIL_RUN, "%s: parameter %s is missing", in->path, run.stored[i].name);
  return true;
}

static bool parse_header(In *in, const char *header, size_t length, Fault *fault) {
  const char *end = NULL;
  cJSON *root = cJSON_ParseWithLengthOpts(header, length, &end, 0);
  bool right = root != NULL && header[0] == '{' && cJSON_IsObject(root);
  for (; right && end < header + length; end++) right = *end == ' ';
  right = right ? parse_entries(in, root, fault) && check_missing(in, fault) && check_ranges(in, fault)
                : bad_file(fault, in, "its header is not a JSON object");
  cJSON_Delete(root);
  return right;
}

static bool read_header(In *in, Fault *fault) {
  struct stat info;
  unsigned char size_bytes[8];
  uint64_t length = 0;
  if (fstat(in->fd, &info) != 0) return fault_set(fault, FAIL_RUN, "cannot read %s: %s", in->path, strerror(errno));
  if (!S_ISREG(info.st_mode)) return fault_set(fault, FAIL_RUN, "cannot read %s: not a plain file", in->path);
  if (!read_at(in, size_bytes, sizeof size_bytes, 0, fault)) return false;
  for (int i = 0; i < 8; i++) length |= (uint64_t)size_bytes[i] << 8 * i;
  if (length > (uint64_t)info.st_size - 8) return bad_file(fault, in, "its header is longer than the file");
  if (length > MAX_HEADER_BYTES) return bad_file(fault, in, "its header is longer than 100 MB");
  in->data = 8 + (int64_t)length;
  in->size = (int64_t)info.st_size - in->data;
  char *header = malloc((size_t)length + 1);
  if (header == NULL) return fault_set(fault, FAIL_RUN, "out of memory");
  header[length] = '\0';
  const bool right = read_at(in, header, (size_t)length, 8, fault) && parse_header(in, header, (size_t)length, fault);
  free(header);
  return right;
}

// ---- tensors

static void load_tensor(const In *in, int index) {
  const ParccTensor *tensor = &run.stored[index];
  const size_t bytes = checkpoint_bytes(tensor), block_bytes = checkpoint_block_bytes(tensor, tensor->own);
  char *whole = malloc(bytes + 1), *block = malloc(block_bytes + 1);
  Fault fault = {0};
  if (whole == NULL || block == NULL) fail_alone(FAIL_RUN, "out of memory");
  if (parcc.rank == 0) read_at(in, whole, bytes, in->data + in->ranges[index].begin, &fault);
  fail_share(&fault);
  world_broadcast(whole, bytes, 0);
  checkpoint_take_block(tensor, tensor->own, whole, block);
  if (block_bytes > 0) CHECK_CUDA(cudaMemcpy(tensor->data, block, block_bytes, cudaMemcpyHostToDevice));
  free(whole);
  free(block);
}

void parcc_load(void) {
  if (run.options.load == NULL) return;
  In in = {.path = run.options.load, .fd = -1, .ranges = malloc(((size_t)run.n_stored + 1) * sizeof(Range))};
  if (in.ranges == NULL) fail_alone(FAIL_RUN, "out of memory");
  for (int i = 0; i < run.n_stored; i++) in.ranges[i] = (Range){-1, -1};
  Fault fault = {0};
  if (parcc.rank == 0) {
    in.fd = open(in.path, O_RDONLY | O_CLOEXEC);
    if (in.fd < 0) fault_set(&fault, FAIL_RUN, "cannot read %s: %s", in.path, strerror(errno));
    else read_header(&in, &fault);
  }
  fail_share(&fault);
  world_broadcast(in.ranges, (size_t)run.n_stored * sizeof(Range), 0);
  CHECK_CUDA(cudaDeviceSynchronize()); // what the program filled its tensors with is not to come after
  for (int i = 0; i < run.n_stored; i++)
    if (in.ranges[i].begin >= 0) load_tensor(&in, i);
  if (in.fd >= 0) close(in.fd);
  free(in.ranges);
}
