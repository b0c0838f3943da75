// Checkpoints: files in the safetensors format (github.com/huggingface/safetensors): the length of the header as a
// little-endian 64-bit number, the header (a JSON object that gives dtype, shape and data_offsets for each name), then
// the data, little-endian. Tensors are whole in the file, whatever the plan, so that any plan can load them.
#ifndef PARCC_CHECKPOINT_H
#define PARCC_CHECKPOINT_H

#include <stddef.h>

#include "parcc.h"

const char *checkpoint_dtype(ParccType type);
size_t checkpoint_bytes(const ParccTensor *tensor); // of the whole tensor
size_t checkpoint_block_bytes(const ParccTensor *tensor, const Interval *block);

// Copies a block, which is dense at `dense`, into its place in the whole tensor, or out of it.
void checkpoint_put_block(const ParccTensor *tensor, const Interval *block, char *whole, const char *dense);
void checkpoint_take_block(const ParccTensor *tensor, const Interval *block, const char *whole, char *dense);

#endif
