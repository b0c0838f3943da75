// The tensors of parcc_stored in a file of the safetensors format (github.com/huggingface/safetensors): the length of the
// header as a little-endian 64-bit number, the header (a JSON object that gives dtype, shape and data_offsets for each
// name), then the data, little-endian. Tensors are whole in the file, whatever the plan, so that any plan on any number
// of ranks can load them.
//
// A tensor goes between the ranks and the file in pieces: stretches of the whole tensor, in its order, that no rank needs
// more memory for than PIECE_BYTES, however large the tensor is.
#ifndef PARCC_TENSORS_H
#define PARCC_TENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fail.h"
#include "parcc.h"

typedef struct {
  Interval dim[PARCC_MAX_RANK];
} Block;

const char *tensor_dtype(ParccType type);
size_t tensor_bytes(const ParccTensor *tensor); // of the whole tensor

// ---- tensors_block.c: pieces and blocks

enum { PIECE_BYTES = 16 << 20 };

// A stretch of the whole tensor that is a block, too.
typedef struct {
  Block block;
  size_t offset, bytes; // in the whole tensor
} Piece;

long piece_count(const ParccTensor *tensor);
Piece piece_at(const ParccTensor *tensor, long number);

Block tensor_own(const ParccTensor *tensor);
size_t block_bytes(const ParccTensor *tensor, const Block *block);
bool block_same(const Block *a, const Block *b, int rank);
// What two blocks have in common. False: nothing.
bool block_intersect(const ParccTensor *tensor, const Block *a, const Block *b, Block *common);
// Whether n blocks together cover the whole tensor.
bool blocks_cover(const ParccTensor *tensor, const Block *blocks, int n);

// Where the part of a piece that a block holds begins in the block, in bytes. The part is one stretch there.
size_t block_offset(const ParccTensor *tensor, const Block *block, const Block *part);
// Copies a part, which is dense at `dense`, into its place in the bytes of a piece, or out of it.
void piece_put(const ParccTensor *tensor, const Piece *piece, const Block *part, char *bytes, const char *dense);
void piece_take(const ParccTensor *tensor, const Piece *piece, const Block *part, const char *bytes, char *dense);

// ---- tensors_save.c

typedef struct {
  int64_t bytes;
  uint32_t crc; // CRC-32 of the whole file
} Written;

// Collective. Rank 0 writes all stored tensors to a new file at `path` and sees that they are on the disk; the others send
// their blocks. The result is of rank 0. When the file cannot be written it is removed and the run ends.
Written tensors_write(const char *path);

// Collective. The same under another name first, so that a file at `path` is always a whole one.
void tensors_save(const char *path);

// ---- tensors_header.c, of rank 0: what a file holds. It may hold anything.

// Where the data of a tensor lies in the file; begin < 0: it is not there. Offsets are from the start of the data.
typedef struct {
  int64_t begin, end;
} Range;

// Tensors that a file of --init and the program do not share, which is no fault: how many, and the names of the first.
typedef struct {
  int n;
  char names[440];
} PassedOver;

typedef struct {
  const char *path;
  int fd;             // -1: not open
  int64_t data, size; // where the data begin, how many bytes of them
  Range *ranges;      // of each stored tensor
  Range *others;      // of the tensors that are not taken
  PassedOver passed, absent; // tensors of the file that are not taken; states of the program that are not in the file
} TensorFile;

// Opens a file and sees that its header is right. all: the file has what the program stores, no more and no less. Otherwise
// the parameters must be there, states may be, and an optimizer's are not taken, nor what the program does not know. The
// fault of a file that does not fit the program lists everything that does not. Whatever the result, tensor_file_close.
bool tensor_file_open(TensorFile *file, const char *path, bool all, Fault *fault);
bool tensor_file_read(const TensorFile *file, void *bytes, size_t size, int64_t offset, Fault *fault); // in the data
void tensor_file_close(TensorFile *file);

// ---- tensors_load.c

// Collective. Replaces the stored tensors by those of a file, which rank 0 reads.
void tensors_load(const char *path, bool all);

#endif
