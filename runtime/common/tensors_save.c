// Writing a safetensors file: rank 0 gathers one piece after the other and writes it.
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "run.h"
#include "tensors.h"
#include "watch.h"

static struct {
  const char *path;
  FILE *file;
  Written written;
} out;

static _Noreturn void fail_write(int error) {
  if (out.file != NULL) unlink(out.path);
  fail_alone(FAIL_RUN, "cannot write %s: %s", out.path, strerror(error));
}

static void write_bytes(const void *bytes, size_t size) {
  if (fwrite(bytes, 1, size, out.file) != size) fail_write(errno);
  out.written.crc = (uint32_t)crc32_z(out.written.crc, bytes, size);
  out.written.bytes += (int64_t)size;
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
  const double offsets[2] = {offset, offset + (double)tensor_bytes(tensor)};
  for (int d = 0; d < tensor->rank; d++) shape[d] = (double)tensor->extent[d];
  cJSON *entry = cJSON_AddObjectToObject(root, tensor->name);
  return entry != NULL && cJSON_AddStringToObject(entry, "dtype", tensor_dtype(tensor->type)) != NULL &&
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
    offset += (double)tensor_bytes(&run.stored[i]);
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

// Makes the blocks of all ranks different: the same block on a later rank is emptied, as the first that holds it sends it.
static void drop_copies(const ParccTensor *tensor, Block *blocks) {
  for (int r = parcc.ranks - 1; r > 0; r--)
    for (int before = 0; before < r; before++)
      if (block_same(&blocks[before], &blocks[r], tensor->rank)) {
        blocks[r].dim[0].len = -1;
        break;
      }
}

// Puts the parts that the ranks hold of a piece together on rank 0. Where blocks overlap, the lowest rank comes last.
static void gather_piece(const ParccTensor *tensor, const Piece *piece, const Block *blocks, char *bytes, char *part) {
  for (int r = parcc.ranks - 1; r >= 0; r--) {
    Block common = {0};
    if (blocks[r].dim[0].len < 0 || !block_intersect(tensor, &blocks[r], &piece->block, &common)) continue;
    const size_t size = block_bytes(tensor, &common);
    const char *held = (const char *)tensor->data + block_offset(tensor, &blocks[r], &common);
    if (parcc.rank == r) CHECK_CUDA(cudaMemcpy(part, held, size, cudaMemcpyDeviceToHost));
    if (r != 0 && parcc.rank == r) world_send(part, size, 0);
    if (r != 0 && parcc.rank == 0) world_recv(part, size, r);
    if (parcc.rank == 0) piece_put(tensor, piece, &common, bytes, part);
  }
}

static void save_tensor(const ParccTensor *tensor, Block *blocks, char *bytes, char *part) {
  const Block own = tensor_own(tensor);
  world_all_gather(&own, blocks, sizeof own);
  if (!blocks_cover(tensor, blocks, parcc.ranks))
    fail_together(FAIL_INTERNAL, "no rank owns some part of %s", tensor->name);
  drop_copies(tensor, blocks);
  const long pieces = piece_count(tensor);
  for (long i = 0; i < pieces; i++) {
    const Piece piece = piece_at(tensor, i);
    gather_piece(tensor, &piece, blocks, bytes, part);
    if (parcc.rank == 0) write_bytes(bytes, piece.bytes);
    watch_moved();
  }
}

static size_t largest_piece(void) {
  size_t most = 0;
  for (int i = 0; i < run.n_stored; i++) {
    const size_t bytes = tensor_bytes(&run.stored[i]);
    if (bytes > most) most = bytes;
  }
  return most < PIECE_BYTES ? most : PIECE_BYTES;
}

Written tensors_write(const char *path) {
  out.path = path;
  out.file = NULL;
  out.written = (Written){0, (uint32_t)crc32(0, NULL, 0)};
  CHECK_CUDA(cudaDeviceSynchronize());
  if (parcc.rank == 0) {
    out.file = fopen(path, "wbe");
    if (out.file == NULL) fail_write(errno);
    write_header();
  }
  const size_t most = largest_piece();
  Block *blocks = new_bytes((size_t)parcc.ranks * sizeof *blocks);
  char *bytes = parcc.rank == 0 ? new_bytes(most) : NULL, *part = new_bytes(most);
  for (int i = 0; i < run.n_stored; i++) save_tensor(&run.stored[i], blocks, bytes, part);
  free(blocks);
  free(bytes);
  free(part);
  if (parcc.rank == 0 && (fflush(out.file) != 0 || fsync(fileno(out.file)) != 0 || fclose(out.file) != 0))
    fail_write(errno);
  return out.written;
}

void tensors_save(const char *path) {
  char partial[4096];
  if (snprintf(partial, sizeof partial, "%s.partial", path) >= (int)sizeof partial)
    fail_together(FAIL_RUN, "cannot write %s: %s", path, strerror(ENAMETOOLONG));
  tensors_write(partial);
  if (parcc.rank == 0 && rename(partial, path) != 0) fail_alone(FAIL_RUN, "cannot write %s: %s", path, strerror(errno));
}
