// Changes of layout: every pair of ranks exchanges the intersection of what one holds and the other needs.
#include <stddef.h>

#include "parcc.h"

typedef struct {
  long lo[PARCC_MAX_RANK], len[PARCC_MAX_RANK];
} Box;

typedef struct {
  const ParccDivision *from, *to;
  const char *src;
  char *dst, *stage; // stage: the free rest
  size_t size;       // of an element
  ncclDataType_t type;
  long samples;
} Exchange;

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

static int coordinate(const ParccPlacing *axis, int rank) { return rank / axis->stride % axis->size; }

static Interval part_of(const ParccDivision *d, const ParccCut *cut, int rank, long samples) {
  const Interval whole = {0, cut->extent};
  long parts = 1, index = 0, units = cut->units, extent = cut->extent;
  if (cut->axes == 0) return whole;
  for (int a = 0; a < d->n_axes; a++) {
    if (!(cut->axes >> a & 1)) continue;
    index = index * d->axis[a].size + coordinate(&d->axis[a], rank);
    parts *= d->axis[a].size;
  }
  if (cut->axes >> (d->n_axes - 1) & 1) { // along the batch; a window may lie over something of another extent
    if (cut->scale * units == extent) extent = cut->scale * samples;
    units = samples;
  }
  return parcc_window(parcc_block(units, parts, index), cut->scale, cut->before, cut->after, cut->div, extent);
}

static Box box_of(const ParccDivision *d, int rank, long samples) {
  Box box;
  for (int i = 0; i < d->rank; i++) {
    const Interval part = part_of(d, &d->cut[i], rank, samples);
    box.lo[i] = part.lo;
    box.len[i] = part.len;
  }
  return box;
}

static long elements(const Box *box, int rank) {
  long n = 1;
  for (int i = 0; i < rank; i++) n *= box->len[i];
  return n;
}

static Box intersection(const Box *a, const Box *b, int rank) {
  Box both;
  for (int i = 0; i < rank; i++) {
    const long a_end = a->lo[i] + a->len[i], b_end = b->lo[i] + b->len[i], end = a_end < b_end ? a_end : b_end;
    both.lo[i] = a->lo[i] > b->lo[i] ? a->lo[i] : b->lo[i];
    both.len[i] = end > both.lo[i] ? end - both.lo[i] : 0;
  }
  return both;
}

// Whether p is the one that gives q its part: along axes on which the tensor is replicated everybody has it already.
static int gives(const Exchange *x, int p, int q) {
  for (int a = 0; a < x->from->n_axes; a++) {
    const ParccPlacing *from = &x->from->axis[a], *to = &x->to->axis[a];
    if (to->place >= 0 && coordinate(to, q) != to->place) return 0;
    if (from->place >= 0 && coordinate(from, p) != from->place) return 0;
    if (from->place == -1 && coordinate(from, p) != coordinate(from, q)) return 0;
  }
  return 1;
}

static long offset_in(const Box *whole, const Box *part, int rank) {
  long offset = 0;
  for (int i = 0; i < rank; i++) offset = offset * whole->len[i] + part->lo[i] - whole->lo[i];
  return offset;
}

// From dimension `first` on the part fills both boxes: its elements lie in one run for every index before.
static int run_start(const Box *part, const Box *a, const Box *b, int rank) {
  int first = rank;
  while (first > 0 && (first == rank || (part->len[first] == a->len[first] && part->len[first] == b->len[first]))) first--;
  return first;
}

static int is_contiguous(const Box *part, const Box *whole, int rank) {
  int first = run_start(part, whole, whole, rank);
  for (int i = 0; i < first; i++)
    if (part->len[i] != 1) return 0;
  return 1;
}

// Copies the elements of `part` from one box to another, run by run.
static void copy_part(const Exchange *x, char *dst, const Box *dst_box, const char *src, const Box *src_box, const Box *part) {
  const int rank = x->from->rank, first = run_start(part, dst_box, src_box, rank);
  long run = 1, runs = 1;
  if (elements(part, rank) == 0) return;
  for (int i = first; i < rank; i++) run *= part->len[i];
  for (int i = 0; i < first; i++) runs *= part->len[i];
  for (long r = 0; r < runs; r++) {
    Box at = *part;
    long rest = r;
    for (int i = first - 1; i >= 0; i--) {
      at.lo[i] = part->lo[i] + rest % part->len[i];
      rest /= part->len[i];
    }
    CHECK_CUDA(cudaMemcpyAsync(dst + offset_in(dst_box, &at, rank) * (long)x->size, src + offset_in(src_box, &at, rank) * (long)x->size,
                               (size_t)run * x->size, cudaMemcpyDeviceToDevice, parcc.comm));
  }
}

static void send_part(Exchange *x, const Box *own, const Box *part, int peer, ncclComm_t everybody) {
  const int rank = x->from->rank;
  const long n = elements(part, rank);
  const char *data = x->src + offset_in(own, part, rank) * (long)x->size;
  if (n == 0) return;
  if (!is_contiguous(part, own, rank)) { // packed before, at the same place
    data = x->stage;
    x->stage += n * (long)x->size;
  }
  CHECK_NCCL(ncclSend(data, (size_t)n, x->type, peer, everybody, parcc.comm));
}

static void receive_part(Exchange *x, const Box *needed, const Box *part, int peer, ncclComm_t everybody) {
  const int rank = x->from->rank;
  const long n = elements(part, rank);
  char *data = x->dst + offset_in(needed, part, rank) * (long)x->size;
  if (n == 0) return;
  if (!is_contiguous(part, needed, rank)) {
    data = x->stage;
    x->stage += n * (long)x->size;
  }
  CHECK_NCCL(ncclRecv(data, (size_t)n, x->type, peer, everybody, parcc.comm));
}

typedef void Visit(Exchange *x, const Box *whole, const Box *part, int peer, ncclComm_t everybody);

static void pack_part(Exchange *x, const Box *own, const Box *part, int peer, ncclComm_t everybody) {
  const int rank = x->from->rank;
  (void)peer;
  (void)everybody;
  if (elements(part, rank) == 0 || is_contiguous(part, own, rank)) return;
  copy_part(x, x->stage, part, x->src, own, part);
  x->stage += elements(part, rank) * (long)x->size;
}

static void unpack_part(Exchange *x, const Box *needed, const Box *part, int peer, ncclComm_t everybody) {
  const int rank = x->from->rank;
  (void)peer;
  (void)everybody;
  if (elements(part, rank) == 0 || is_contiguous(part, needed, rank)) return;
  copy_part(x, x->dst, needed, x->stage, part, part);
  x->stage += elements(part, rank) * (long)x->size;
}

static void for_each_sent(Exchange *x, Visit *visit, ncclComm_t everybody) {
  const Box own = box_of(x->from, parcc.rank, x->samples);
  for (int q = 0; q < parcc.ranks; q++) {
    if (q == parcc.rank || !gives(x, parcc.rank, q)) continue;
    const Box needed = box_of(x->to, q, x->samples), part = intersection(&own, &needed, x->from->rank);
    visit(x, &own, &part, q, everybody);
  }
}

static void for_each_received(Exchange *x, Visit *visit, ncclComm_t everybody) {
  const Box needed = box_of(x->to, parcc.rank, x->samples);
  for (int p = 0; p < parcc.ranks; p++) {
    if (p == parcc.rank || !gives(x, p, parcc.rank)) continue;
    const Box own = box_of(x->from, p, x->samples), part = intersection(&own, &needed, x->from->rank);
    visit(x, &needed, &part, p, everybody);
  }
}

static void keep_own(const Exchange *x) {
  if (!gives(x, parcc.rank, parcc.rank)) return;
  const Box own = box_of(x->from, parcc.rank, x->samples), needed = box_of(x->to, parcc.rank, x->samples);
  const Box part = intersection(&own, &needed, x->from->rank);
  copy_part(x, x->dst, &needed, x->src, &own, &part);
}

void parcc_exchange(const void *src, const ParccDivision *from, void *dst, const ParccDivision *to, void *stage, ParccType type,
                    long samples, ncclComm_t everybody) {
  static const size_t size[] = {sizeof(float), sizeof(double), sizeof(int)};
  static const ncclDataType_t nccl[] = {ncclFloat, ncclDouble, ncclInt};
  Exchange x = {from, to, (const char *)src, (char *)dst, (char *)stage, size[type], nccl[type], samples};
  keep_own(&x);
  for_each_sent(&x, pack_part, everybody);
  x.stage = (char *)stage;
  CHECK_NCCL(ncclGroupStart());
  for_each_sent(&x, send_part, everybody);
  char *const received = x.stage;
  for_each_received(&x, receive_part, everybody);
  CHECK_NCCL(ncclGroupEnd());
  x.stage = received;
  for_each_received(&x, unpack_part, everybody);
}
