#include "box.h"

#include <string.h>

static long floor_div(long a, long b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

Interval parcc_window(Interval block, long scale, long before, long after, long div, long extent) {
  Interval window = {0, 0};
  if (block.len == 0) return window;
  const long first = floor_div(scale * block.lo - before, div);
  const long last = floor_div(scale * (block.lo + block.len - 1) + after, div);
  const long lo = first > 0 ? first : 0, end = last < extent - 1 ? last + 1 : extent;
  if (end > lo) {
    window.lo = lo;
    window.len = end - lo;
  }
  return window;
}

static Interval part_of_rank(const ParccDivision *d, const ParccCut *cut, int rank, long samples) {
  Interval block = {0, cut->extent};
  long extent = cut->extent;
  if (cut->axes == 0) return block;
  block.len = cut->units;
  if (cut->axes >> (d->n_axes - 1) & 1) { // along the batch; a window may lie over something of another extent
    if (cut->scale * cut->units == extent) extent = cut->scale * samples;
    block.len = samples;
  }
  for (int a = 0; a < d->n_axes; a++)
    if (cut->axes >> a & 1) block = parcc_block_in(block, d->axis[a].size, box_coordinate(&d->axis[a], rank));
  return parcc_window(block, cut->scale, cut->before, cut->after, cut->div, extent);
}

int box_ranks_along(const ParccDivision *d, unsigned axes) {
  int ranks = 1;
  for (int a = 0; a < d->n_axes; a++)
    if (axes >> a & 1) ranks *= d->axis[a].size;
  return ranks;
}

int box_rank_along(const ParccDivision *d, unsigned axes, int place) {
  int rank = parcc.rank;
  for (int a = d->n_axes - 1; a >= 0; a--) {
    const ParccPlacing *axis = &d->axis[a];
    if (!(axes >> a & 1)) continue;
    rank += (place % axis->size - box_coordinate(axis, parcc.rank)) * axis->stride;
    place /= axis->size;
  }
  return rank;
}

Box box_of_rank(const ParccDivision *d, int rank, long samples) {
  Box box;
  for (int i = 0; i < d->rank; i++) {
    const Interval part = part_of_rank(d, &d->cut[i], rank, samples);
    box.lo[i] = part.lo;
    box.len[i] = part.len;
  }
  return box;
}

long box_elements(const Box *box, int dims) {
  long n = 1;
  for (int i = 0; i < dims; i++) n *= box->len[i];
  return n;
}

Box box_intersection(const Box *a, const Box *b, int dims) {
  Box both;
  for (int i = 0; i < dims; i++) {
    const long a_end = a->lo[i] + a->len[i], b_end = b->lo[i] + b->len[i], end = a_end < b_end ? a_end : b_end;
    both.lo[i] = a->lo[i] > b->lo[i] ? a->lo[i] : b->lo[i];
    both.len[i] = end > both.lo[i] ? end - both.lo[i] : 0;
  }
  return both;
}

long box_offset(const Box *whole, const Box *part, int dims) {
  long offset = 0;
  for (int i = 0; i < dims; i++) offset = offset * whole->len[i] + part->lo[i] - whole->lo[i];
  return offset;
}

// ---- copies --------------------------------------------------------------------------------------------------------

// Loops over a part, outermost first: how often, and the distance of neighbours in both memories, in elements.
typedef struct {
  int n;
  long len[PARCC_MAX_RANK], dst[PARCC_MAX_RANK], src[PARCC_MAX_RANK];
} Loops;

// Dimensions that lie side by side in both memories are one loop.
static Loops loops_of(const Box *dst_box, const Box *src_box, const Box *part, int dims) {
  Loops inner_first = {0}, loops = {0};
  long dst = 1, src = 1;
  for (int i = dims - 1; i >= 0; i--) {
    const int last = inner_first.n - 1;
    if (part->len[i] == 1) {
      // no loop
    } else if (last >= 0 && dst == inner_first.len[last] * inner_first.dst[last] &&
               src == inner_first.len[last] * inner_first.src[last]) {
      inner_first.len[last] *= part->len[i];
    } else {
      inner_first.len[last + 1] = part->len[i];
      inner_first.dst[last + 1] = dst;
      inner_first.src[last + 1] = src;
      inner_first.n++;
    }
    dst *= dst_box->len[i];
    src *= src_box->len[i];
  }
  loops.n = inner_first.n;
  for (int i = 0; i < loops.n; i++) {
    loops.len[i] = inner_first.len[loops.n - 1 - i];
    loops.dst[i] = inner_first.dst[loops.n - 1 - i];
    loops.src[i] = inner_first.src[loops.n - 1 - i];
  }
  return loops;
}

int box_is_run(const Box *part, const Box *whole, int dims) {
  const Loops loops = loops_of(whole, whole, part, dims);
  return loops.n == 0 || (loops.n == 1 && loops.dst[0] == 1);
}

// The loops from `first` on: at most two around a run of elements. Each stride is a multiple of the one inside of it, since
// both memories are dense.
static void copy_three(char *dst, const char *src, const Loops *loops, int first, size_t element, cudaStream_t stream) {
  const int run = loops->n > first && loops->dst[loops->n - 1] == 1 && loops->src[loops->n - 1] == 1;
  const int rows = loops->n - run - 1, slices = rows - 1; // the loops over runs, if they are there
  const size_t width = (run ? (size_t)loops->len[loops->n - 1] : 1) * element;
  if (rows < first) {
    CHECK_CUDA(cudaMemcpyAsync(dst, src, width, cudaMemcpyDeviceToDevice, stream));
    return;
  }
  struct cudaMemcpy3DParms copy;
  memset(&copy, 0, sizeof copy);
  const size_t height = (size_t)loops->len[rows];
  copy.srcPtr.ptr = (void *)src; // NOLINT: CUDA's type has no const
  copy.srcPtr.pitch = copy.srcPtr.xsize = (size_t)loops->src[rows] * element;
  copy.srcPtr.ysize = slices >= first ? (size_t)(loops->src[slices] / loops->src[rows]) : height;
  copy.dstPtr.ptr = dst;
  copy.dstPtr.pitch = copy.dstPtr.xsize = (size_t)loops->dst[rows] * element;
  copy.dstPtr.ysize = slices >= first ? (size_t)(loops->dst[slices] / loops->dst[rows]) : height;
  copy.extent.width = width;
  copy.extent.height = height;
  copy.extent.depth = slices >= first ? (size_t)loops->len[slices] : 1;
  copy.kind = cudaMemcpyDeviceToDevice;
  CHECK_CUDA(cudaMemcpy3DAsync(&copy, stream));
}

void box_copy(char *dst, const Box *dst_box, const char *src, const Box *src_box, const Box *part, int dims, size_t element,
              cudaStream_t stream) {
  if (box_elements(part, dims) == 0) return;
  const Loops loops = loops_of(dst_box, src_box, part, dims);
  dst += box_offset(dst_box, part, dims) * (long)element;
  src += box_offset(src_box, part, dims) * (long)element;
  if (dst == src) return;
  const int run = loops.n > 0 && loops.dst[loops.n - 1] == 1 && loops.src[loops.n - 1] == 1;
  const int first = loops.n - run > 2 ? loops.n - run - 2 : 0; // loops before are run here
  long calls = 1;
  for (int i = 0; i < first; i++) calls *= loops.len[i];
  for (long c = 0; c < calls; c++) {
    long rest = c, to = 0, from = 0;
    for (int i = first - 1; i >= 0; i--) {
      to += rest % loops.len[i] * loops.dst[i];
      from += rest % loops.len[i] * loops.src[i];
      rest /= loops.len[i];
    }
    copy_three(dst + to * (long)element, src + from * (long)element, &loops, first, element, stream);
  }
}
