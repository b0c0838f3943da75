#include "checkpoint.h"

#include <string.h>

#include "source.h"

const char *checkpoint_dtype(ParccType type) {
  return type == PARCC_FLOAT ? "F32" : type == PARCC_DOUBLE ? "F64" : "I32";
}

size_t checkpoint_bytes(const ParccTensor *tensor) {
  size_t bytes = type_bytes(tensor->type);
  for (int d = 0; d < tensor->rank; d++) bytes *= (size_t)tensor->extent[d];
  return bytes;
}

size_t checkpoint_block_bytes(const ParccTensor *tensor, const Interval *block) {
  size_t bytes = type_bytes(tensor->type);
  for (int d = 0; d < tensor->rank; d++) bytes *= (size_t)block[d].len;
  return bytes;
}

// Where row `number` of a block begins in the whole tensor, in bytes. A row is a run along the last dimension.
static size_t row_offset(const ParccTensor *tensor, const Interval *block, size_t number) {
  size_t offset = 0, stride = type_bytes(tensor->type);
  for (int d = tensor->rank - 1; d >= 0; d--) {
    size_t index = 0;
    if (d < tensor->rank - 1) {
      index = number % (size_t)block[d].len;
      number /= (size_t)block[d].len;
    }
    offset += ((size_t)block[d].lo + index) * stride;
    stride *= (size_t)tensor->extent[d];
  }
  return offset;
}

static size_t row_bytes(const ParccTensor *tensor, const Interval *block) {
  return type_bytes(tensor->type) * (tensor->rank == 0 ? 1 : (size_t)block[tensor->rank - 1].len);
}

void checkpoint_put_block(const ParccTensor *tensor, const Interval *block, char *whole, const char *dense) {
  const size_t row = row_bytes(tensor, block), bytes = checkpoint_block_bytes(tensor, block);
  for (size_t at = 0; at < bytes; at += row) memcpy(whole + row_offset(tensor, block, at / row), dense + at, row);
}

void checkpoint_take_block(const ParccTensor *tensor, const Interval *block, const char *whole, char *dense) {
  const size_t row = row_bytes(tensor, block), bytes = checkpoint_block_bytes(tensor, block);
  for (size_t at = 0; at < bytes; at += row) memcpy(dense + at, whole + row_offset(tensor, block, at / row), row);
}
