// Changes of layout: every pair of ranks exchanges the intersection of what one holds and the other needs.
#include "box.h"

typedef struct {
  const ParccDivision *from, *to;
  const char *src;
  char *dst, *stage; // stage: the free rest
  size_t size;       // of an element
  ncclDataType_t type;
  long samples;
} Exchange;

// Whether p is the one that gives q its part: along axes on which the tensor is replicated everybody has it already.
static int gives(const Exchange *x, int p, int q) {
  for (int a = 0; a < x->from->n_axes; a++) {
    const ParccPlacing *from = &x->from->axis[a], *to = &x->to->axis[a];
    if (to->place >= 0 && box_coordinate(to, q) != to->place) return 0;
    if (from->place >= 0 && box_coordinate(from, p) != from->place) return 0;
    if (from->place == -1 && box_coordinate(from, p) != box_coordinate(from, q)) return 0;
  }
  return 1;
}

static void send_part(Exchange *x, const Box *own, const Box *part, int peer, ncclComm_t everybody) {
  const int rank = x->from->rank;
  const long n = box_elements(part, rank);
  const char *data = x->src + box_offset(own, part, rank) * (long)x->size;
  if (n == 0) return;
  if (!box_is_run(part, own, rank)) { // packed before, at the same place
    data = x->stage;
    x->stage += n * (long)x->size;
  }
  CHECK_NCCL(ncclSend(data, (size_t)n, x->type, peer, everybody, parcc.comm));
}

static void receive_part(Exchange *x, const Box *needed, const Box *part, int peer, ncclComm_t everybody) {
  const int rank = x->from->rank;
  const long n = box_elements(part, rank);
  char *data = x->dst + box_offset(needed, part, rank) * (long)x->size;
  if (n == 0) return;
  if (!box_is_run(part, needed, rank)) {
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
  if (box_elements(part, rank) == 0 || box_is_run(part, own, rank)) return;
  box_copy(x->stage, part, x->src, own, part, rank, x->size, parcc.comm);
  x->stage += box_elements(part, rank) * (long)x->size;
}

static void unpack_part(Exchange *x, const Box *needed, const Box *part, int peer, ncclComm_t everybody) {
  const int rank = x->from->rank;
  (void)peer;
  (void)everybody;
  if (box_elements(part, rank) == 0 || box_is_run(part, needed, rank)) return;
  box_copy(x->dst, needed, x->stage, part, part, rank, x->size, parcc.comm);
  x->stage += box_elements(part, rank) * (long)x->size;
}

static void for_each_sent(Exchange *x, Visit *visit, ncclComm_t everybody) {
  const Box own = box_of_rank(x->from, parcc.rank, x->samples);
  for (int q = 0; q < parcc.ranks; q++) {
    if (q == parcc.rank || !gives(x, parcc.rank, q)) continue;
    const Box needed = box_of_rank(x->to, q, x->samples), part = box_intersection(&own, &needed, x->from->rank);
    visit(x, &own, &part, q, everybody);
  }
}

static void for_each_received(Exchange *x, Visit *visit, ncclComm_t everybody) {
  const Box needed = box_of_rank(x->to, parcc.rank, x->samples);
  for (int p = 0; p < parcc.ranks; p++) {
    if (p == parcc.rank || !gives(x, p, parcc.rank)) continue;
    const Box own = box_of_rank(x->from, p, x->samples), part = box_intersection(&own, &needed, x->from->rank);
    visit(x, &needed, &part, p, everybody);
  }
}

static void keep_own(const Exchange *x) {
  if (!gives(x, parcc.rank, parcc.rank)) return;
  const Box own = box_of_rank(x->from, parcc.rank, x->samples), needed = box_of_rank(x->to, parcc.rank, x->samples);
  const Box part = box_intersection(&own, &needed, x->from->rank);
  box_copy(x->dst, &needed, x->src, &own, &part, x->from->rank, x->size, parcc.comm);
}

void parcc_slice(const void *src, const ParccDivision *from, void *dst, const ParccDivision *to, ParccType type, long samples) {
  static const size_t size[] = {sizeof(float), sizeof(double), sizeof(int)};
  const Box own = box_of_rank(from, parcc.rank, samples), needed = box_of_rank(to, parcc.rank, samples);
  const Box part = box_intersection(&own, &needed, from->rank);
  for (int a = 0; a < to->n_axes; a++)
    if (to->axis[a].place >= 0 && box_coordinate(&to->axis[a], parcc.rank) != to->axis[a].place) return;
  box_copy((char *)dst, &needed, (const char *)src, &own, &part, from->rank, size[type], parcc.compute);
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
