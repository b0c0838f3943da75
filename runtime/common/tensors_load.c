// Reading a safetensors file into the stored tensors: rank 0 reads one piece after the other and hands it to all ranks.
#include <stdio.h>
#include <stdlib.h>

#include "run.h"
#include "tensors.h"
#include "watch.h"

static void load_tensor(const TensorFile *file, int index, char *bytes, char *part) {
  const ParccTensor *tensor = &run.stored[index];
  const Block own = tensor_own(tensor);
  const long pieces = piece_count(tensor);
  for (long i = 0; i < pieces; i++) {
    const Piece piece = piece_at(tensor, i);
    Fault fault = {0};
    Block common = {0};
    if (parcc.rank == 0)
      tensor_file_read(file, bytes, piece.bytes, file->ranges[index].begin + (int64_t)piece.offset, &fault);
    fail_share(&fault);
    world_broadcast(bytes, piece.bytes, 0);
    watch_moved();
    if (!block_intersect(tensor, &own, &piece.block, &common)) continue;
    piece_take(tensor, &piece, &common, bytes, part);
    CHECK_CUDA(cudaMemcpy((char *)tensor->data + block_offset(tensor, &own, &common), part,
                          block_bytes(tensor, &common), cudaMemcpyHostToDevice));
  }
}

static void tell(const TensorFile *file, const PassedOver *passed, const char *what) {
  if (passed->n > 0 && !run.options.quiet)
    fprintf(stderr, "%s: %s: %s: %d tensor%s, %s\n", run.model->name, file->path, what, passed->n,
            passed->n == 1 ? "" : "s", passed->names);
}

void tensors_load(const char *path, bool all) {
  TensorFile file = {.fd = -1};
  Fault fault = {0};
  char *bytes = malloc(PIECE_BYTES), *part = malloc(PIECE_BYTES);
  if (parcc.rank == 0) tensor_file_open(&file, path, all, &fault);
  else file.ranges = malloc(((size_t)run.n_stored + 1) * sizeof *file.ranges);
  if (bytes == NULL || part == NULL || file.ranges == NULL) fail_alone(FAIL_RUN, "out of memory");
  fail_share(&fault);
  tell(&file, &file.passed, "not taken");
  tell(&file, &file.absent, "not in it, and so as at the beginning");
  world_broadcast(file.ranges, (size_t)run.n_stored * sizeof *file.ranges, 0);
  CHECK_CUDA(cudaDeviceSynchronize()); // what the program filled its tensors with is not to come after
  for (int i = 0; i < run.n_stored; i++)
    if (file.ranges[i].begin >= 0) load_tensor(&file, i, bytes, part);
  tensor_file_close(&file);
  free(bytes);
  free(part);
}
