// --save: rank 0 gathers one tensor after the other and writes it.
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint.h"
#include "fail.h"
#include "run.h"

// The file is written under another name, and gets its own when it is whole.
static struct {
  const char *path;
  char partial[4096];
  FILE *file;
} out;

static _Noreturn void fail_write(int error) {
  if (out.file != NULL) unlink(out.partial);
  fail_alone(FAIL_RUN, "cannot write %s: %s", out.path, strerror(error));
}

static void write_bytes(const void *bytes, size_t size) {
  if (fwrite(bytes, 1, size, out.file) != size) fail_write(errno);
}

static void *new_bytes(size_t size) {
  void *bytes = malloc(size > 0 ? size : 1);
  if (bytes == NULL) fail_alone(FAIL_RUN, "out of memory");
  return bytes;
}

// ---- header

static bool add_numbers(cJSON *entry, const char *name, const double *numbers, int n) {
  cJSON *list = cJSON_AddArrayToObject(entry, name);
  bool right = list != NULL;
  for (int i = 0; right && i < n; i++) right = cJSON_AddItemToArray(list, cJSON_CreateNumber(numbers[i]));
  return right;
}

static bool add_tensor(cJSON *root, const ParccTensor *tensor, double offset) {
  double shape[PARCC_MAX_RANK];
  const double offsets[2] = {offset, offset + (double)checkpoint_bytes(tensor)};
  for (int d = 0; d < tensor->rank; d++) shape[d] = (double)tensor->extent[d];
  cJSON *entry = cJSON_AddObjectToObject(root, tensor->name);
  return entry != NULL && cJSON_AddStringToObject(entry, "dtype", checkpoint_dtype(tensor->type)) != NULL &&
         add_numbers(entry, "shape", shape, tensor->rank) && add_numbers(entry, "data_offsets", offsets, 2);
}

static char *make_header(void) {
  char steps[32];
  snprintf(steps, sizeof steps, "%ld", parcc.steps);
  cJSON *root = cJSON_CreateObject(), *metadata = cJSON_AddObjectToObject(root, "__metadata__");
  bool right = cJSON_AddStringToObject(metadata, "model", run.model->name) != NULL &&
               cJSON_AddStringToObject(metadata, "source", run.model->source) != NULL &&
               cJSON_AddStringToObject(metadata, "steps", steps) != NULL;
  double offset = 0;
  for (int i = 0; right && i < run.n_stored; i++) {
    right = add_tensor(root, &run.stored[i], offset);
    offset += (double)checkpoint_bytes(&run.stored[i]);
  }
  char *header = right ? cJSON_PrintUnformatted(root) : NULL;
  cJSON_Delete(root);
  if (header == NULL) fail_write(ENOMEM);
  return header;
}

static void write_header(void) {
  enum { ALIGNMENT = 8 };
  char *header = make_header();
  const size_t length = strlen(header), padding = (ALIGNMENT - length % ALIGNMENT) % ALIGNMENT;
  unsigned char size[8];
  for (int i = 0; i < 8; i++) size[i] = (unsigned char)((uint64_t)(length + padding) >> 8 * i);
  write_bytes(size, sizeof size);
  write_bytes(header, length);
  write_bytes("        ", padding);
  cJSON_free(header);
}

// ---- tensors

typedef struct {
  Interval dim[PARCC_MAX_RANK];
} Block;

static bool same_block(const Block *a, const Block *b, int rank) {
  for (int d = 0; d < rank; d++)
    if (a->dim[d].lo != b->dim[d].lo || a->dim[d].len != b->dim[d].len) return false;
  return true;
}

// Whether the block of a rank is to be written: it is not empty, and no rank before it has the same.
static bool is_first_owner(const ParccTensor *tensor, const Block *blocks, int rank) {
  for (int r = 0; r < rank; r++)
    if (same_block(&blocks[r], &blocks[rank], tensor->rank)) return false;
  return checkpoint_block_bytes(tensor, blocks[rank].dim) > 0;
}

// Puts the blocks of all ranks together. whole: on rank 0, room for the tensor; block: room for any block.
static void gather(const ParccTensor *tensor, const Block *blocks, char *whole, char *block) {
  size_t covered = 0;
  for (int r = 0; r < parcc.ranks; r++) {
    if (!is_first_owner(tensor, blocks, r)) continue;
    const size_t bytes = checkpoint_block_bytes(tensor, blocks[r].dim);
    covered += bytes;
    if (parcc.rank == r) CHECK_CUDA(cudaMemcpy(block, tensor->data, bytes, cudaMemcpyDeviceToHost));
    if (r != 0 && parcc.rank == r) world_send(block, bytes, 0);
    if (r != 0 && parcc.rank == 0) world_recv(block, bytes, r);
    if (parcc.rank == 0) checkpoint_put_block(tensor, blocks[r].dim, whole, block);
  }
  if (covered < checkpoint_bytes(tensor)) fail_alone(FAIL_INTERNAL, "no rank owns some part of %s", tensor->name);
}

static void save_tensor(const ParccTensor *tensor, Block *blocks) {
  Block own;
  memset(&own, 0, sizeof own);
  memcpy(own.dim, tensor->own, sizeof own.dim);
  world_all_gather(&own, blocks, sizeof own);
  const size_t bytes = checkpoint_bytes(tensor);
  char *whole = parcc.rank == 0 ? new_bytes(bytes) : NULL;
  char *block = new_bytes(bytes);
  gather(tensor, blocks, whole, block);
  if (parcc.rank == 0) write_bytes(whole, bytes);
  free(whole);
  free(block);
}

void checkpoint_save(const char *path) {
  out.path = path;
  CHECK_CUDA(cudaDeviceSynchronize());
  if (parcc.rank == 0) {
    if (snprintf(out.partial, sizeof out.partial, "%s.partial", path) >= (int)sizeof out.partial)
      fail_write(ENAMETOOLONG);
    out.file = fopen(out.partial, "wb");
    if (out.file == NULL) fail_write(errno);
    write_header();
  }
  Block *blocks = new_bytes((size_t)parcc.ranks * sizeof *blocks);
  for (int i = 0; i < run.n_stored; i++) save_tensor(&run.stored[i], blocks);
  free(blocks);
  if (parcc.rank != 0) return;
  if (fflush(out.file) != 0 || fsync(fileno(out.file)) != 0 || fclose(out.file) != 0 || rename(out.partial, path) != 0)
    fail_write(errno);
}
