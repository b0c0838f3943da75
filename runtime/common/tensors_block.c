#include <string.h>

#include "source.h"
#include "tensors.h"

const char *tensor_dtype(ParccType type) { return type == PARCC_FLOAT ? "F32" : type == PARCC_DOUBLE ? "F64" : "I32"; }

size_t tensor_bytes(const ParccTensor *tensor) {
  size_t bytes = type_bytes(tensor->type);
  for (int d = 0; d < tensor->rank; d++) bytes *= (size_t)tensor->extent[d];
  return bytes;
}

// ---- pieces

// How a tensor is cut into pieces: a piece has one index in each dimension before `dim`, up to `length` neighbouring ones in
// dim, and all in those behind it.
typedef struct {
  int dim;
  long length, in_dim, before; // in_dim: pieces along dim; before: combinations of indices before it
} Cut;

static Cut make_cut(const ParccTensor *tensor) {
  Cut cut = {.dim = tensor->rank, .length = 1, .in_dim = 1, .before = 1};
  size_t behind = type_bytes(tensor->type); // bytes of one index of dim
  while (cut.dim > 0 && (cut.dim == tensor->rank || behind * (size_t)tensor->extent[cut.dim] <= PIECE_BYTES)) {
    if (cut.dim < tensor->rank) behind *= (size_t)tensor->extent[cut.dim];
    cut.dim--;
  }
  if (tensor->rank == 0) return cut;
  const long extent = tensor->extent[cut.dim], most = (long)(PIECE_BYTES / (behind > 0 ? behind : 1));
  cut.length = extent < most ? (extent > 0 ? extent : 1) : most;
  cut.in_dim = (extent + cut.length - 1) / cut.length;
  for (int d = 0; d < cut.dim; d++) cut.before *= tensor->extent[d];
  return cut;
}

long piece_count(const ParccTensor *tensor) {
  if (tensor_bytes(tensor) == 0) return 0;
  const Cut cut = make_cut(tensor);
  return cut.before * cut.in_dim;
}

// Where an element of the whole tensor lies in it, in bytes.
static size_t offset_in(const ParccTensor *tensor, const long *index) {
  size_t offset = 0;
  for (int d = 0; d < tensor->rank; d++) offset = offset * (size_t)tensor->extent[d] + (size_t)index[d];
  return offset * type_bytes(tensor->type);
}

Piece piece_at(const ParccTensor *tensor, long number) {
  const Cut cut = make_cut(tensor);
  Piece piece = {.offset = 0};
  long lo[PARCC_MAX_RANK] = {0}, before = number / cut.in_dim;
  for (int d = tensor->rank - 1; d >= 0; d--) {
    Interval *dim = &piece.block.dim[d];
    if (d > cut.dim) *dim = (Interval){0, tensor->extent[d]};
    if (d == cut.dim) {
      dim->lo = number % cut.in_dim * cut.length;
      dim->len = tensor->extent[d] - dim->lo < cut.length ? tensor->extent[d] - dim->lo : cut.length;
    }
    if (d < cut.dim) {
      *dim = (Interval){before % tensor->extent[d], 1};
      before /= tensor->extent[d];
    }
    lo[d] = dim->lo;
  }
  piece.offset = offset_in(tensor, lo);
  piece.bytes = block_bytes(tensor, &piece.block);
  return piece;
}

// ---- blocks

Block tensor_own(const ParccTensor *tensor) {
  Block own;
  memset(&own, 0, sizeof own); // it is sent as bytes
  for (int d = 0; d < tensor->rank; d++) own.dim[d] = tensor->own[d];
  return own;
}

size_t block_bytes(const ParccTensor *tensor, const Block *block) {
  size_t bytes = type_bytes(tensor->type);
  for (int d = 0; d < tensor->rank; d++) bytes *= (size_t)block->dim[d].len;
  return bytes;
}

bool block_same(const Block *a, const Block *b, int rank) {
  for (int d = 0; d < rank; d++)
    if (a->dim[d].lo != b->dim[d].lo || a->dim[d].len != b->dim[d].len) return false;
  return true;
}

bool block_intersect(const ParccTensor *tensor, const Block *a, const Block *b, Block *common) {
  for (int d = 0; d < tensor->rank; d++) {
    const Interval x = a->dim[d], y = b->dim[d];
    const long lo = x.lo > y.lo ? x.lo : y.lo;
    const long end = x.lo + x.len < y.lo + y.len ? x.lo + x.len : y.lo + y.len;
    if (end <= lo) return false;
    common->dim[d] = (Interval){lo, end - lo};
  }
  return true;
}

// Whether blocks[0..n) cover `rest`: what the first leaves of it, at most two boxes a dimension, is left to the others.
static bool cover(const ParccTensor *tensor, Block rest, const Block *blocks, int n) {
  Block common;
  while (n > 0 && !block_intersect(tensor, &rest, blocks, &common)) blocks++, n--;
  if (n == 0) return false;
  for (int d = 0; d < tensor->rank; d++) {
    const Interval all = rest.dim[d], taken = common.dim[d];
    Block below = rest, above = rest;
    below.dim[d].len = taken.lo - all.lo;
    above.dim[d] = (Interval){taken.lo + taken.len, all.lo + all.len - taken.lo - taken.len};
    if (below.dim[d].len > 0 && !cover(tensor, below, blocks + 1, n - 1)) return false;
    if (above.dim[d].len > 0 && !cover(tensor, above, blocks + 1, n - 1)) return false;
    rest.dim[d] = taken;
  }
  return true;
}

bool blocks_cover(const ParccTensor *tensor, const Block *blocks, int n) {
  Block whole = {0};
  for (int d = 0; d < tensor->rank; d++) whole.dim[d].len = tensor->extent[d];
  return tensor_bytes(tensor) == 0 || cover(tensor, whole, blocks, n);
}

size_t block_offset(const ParccTensor *tensor, const Block *block, const Block *part) {
  size_t offset = 0;
  for (int d = 0; d < tensor->rank; d++)
    offset = offset * (size_t)block->dim[d].len + (size_t)(part->dim[d].lo - block->dim[d].lo);
  return offset * type_bytes(tensor->type);
}

// ---- parts of pieces

// A part is a number of equally long runs of neighbouring elements of the whole tensor: the dimensions from `inner` on.
typedef struct {
  int inner;
  size_t bytes;
} Runs;

static Runs make_runs(const ParccTensor *tensor, const Block *part) {
  Runs runs = {tensor->rank, type_bytes(tensor->type)};
  while (runs.inner > 0) {
    const int d = --runs.inner;
    runs.bytes *= (size_t)part->dim[d].len;
    if (part->dim[d].len != tensor->extent[d]) break;
  }
  return runs;
}

// Where a run begins in the whole tensor, in bytes.
static size_t run_offset(const ParccTensor *tensor, const Block *part, int inner, size_t number) {
  long index[PARCC_MAX_RANK];
  for (int d = tensor->rank - 1; d >= 0; d--) {
    index[d] = part->dim[d].lo;
    if (d >= inner) continue;
    index[d] += (long)(number % (size_t)part->dim[d].len);
    number /= (size_t)part->dim[d].len;
  }
  return offset_in(tensor, index);
}

void piece_put(const ParccTensor *tensor, const Piece *piece, const Block *part, char *bytes, const char *dense) {
  const Runs runs = make_runs(tensor, part);
  const size_t size = block_bytes(tensor, part);
  for (size_t at = 0; at < size; at += runs.bytes)
    memcpy(bytes + (run_offset(tensor, part, runs.inner, at / runs.bytes) - piece->offset), dense + at, runs.bytes);
}

void piece_take(const ParccTensor *tensor, const Piece *piece, const Block *part, const char *bytes, char *dense) {
  const Runs runs = make_runs(tensor, part);
  const size_t size = block_bytes(tensor, part);
  for (size_t at = 0; at < size; at += runs.bytes)
    memcpy(dense + at, bytes + (run_offset(tensor, part, runs.inner, at / runs.bytes) - piece->offset), runs.bytes);
}
