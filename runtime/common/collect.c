// Collectives along axes of the mesh on tensors whose blocks differ in size, or do not lie in order: what is equal and in order
// is one call of the library, what differs in size a group of calls with one root each, what is not in order is packed.
#include "box.h"

typedef struct {
  const ParccDivision *whole, *parts; // how the tensor is divided before or behind, and by the axes at hand
  unsigned axes;
  long samples;
  size_t element;
  ncclDataType_t type;
} Collect;

typedef struct {
  Box box;
  long elements, offset; // offset: where its values are in the whole, or in the stage
} Member;

static Collect collect_of(const ParccDivision *whole, const ParccDivision *parts, unsigned axes, ParccType type, long samples) {
  static const size_t size[] = {sizeof(float), sizeof(double), sizeof(int)};
  static const ncclDataType_t nccl[] = {ncclFloat, ncclDouble, ncclInt};
  const Collect c = {whole, parts, axes, samples, size[type], nccl[type]};
  return c;
}

static int members(const Collect *c) {
  int n = 1;
  for (int a = 0; a < c->whole->n_axes; a++)
    if (c->axes >> a & 1) n *= c->whole->axis[a].size;
  return n;
}

// The place of this rank along the axes.
static int own_place(const Collect *c) {
  int place = 0;
  for (int a = 0; a < c->whole->n_axes; a++) {
    const ParccPlacing *axis = &c->whole->axis[a];
    if (c->axes >> a & 1) place = place * axis->size + parcc.rank / axis->stride % axis->size;
  }
  return place;
}

// The rank at a place along the axes that is like this one along the others.
static int rank_at(const Collect *c, int place) {
  int rank = parcc.rank;
  for (int a = c->whole->n_axes - 1; a >= 0; a--) {
    const ParccPlacing *axis = &c->whole->axis[a];
    if (!(c->axes >> a & 1)) continue;
    rank += (place % axis->size - parcc.rank / axis->stride % axis->size) * axis->stride;
    place /= axis->size;
  }
  return rank;
}

static Box whole_box(const Collect *c) { return box_of_rank(c->whole, parcc.rank, c->samples); }

// The part of one member, and where it begins among those of all where they are put one after the other.
static Member member_at(const Collect *c, int place) {
  Member m = {.offset = 0};
  for (int p = 0; p <= place; p++) {
    m.offset += p > 0 ? m.elements : 0;
    m.box = box_of_rank(c->parts, rank_at(c, p), c->samples);
    m.elements = box_elements(&m.box, c->parts->rank);
  }
  return m;
}

// All parts have the size of the first, and stand in the whole as they would one after the other.
static int are_equal(const Collect *c) {
  const long first = member_at(c, 0).elements;
  for (int p = 1; p < members(c); p++)
    if (member_at(c, p).elements != first) return 0;
  return 1;
}

static int are_in_order(const Collect *c) {
  const Box whole = whole_box(c);
  for (int p = 0; p < members(c); p++) {
    const Member m = member_at(c, p);
    if (m.elements == 0) continue;
    if (!box_is_run(&m.box, &whole, c->whole->rank) || box_offset(&whole, &m.box, c->whole->rank) != m.offset) return 0;
  }
  return 1;
}

// Between the whole and the stage, where parts stand one after the other.
static void pack(const Collect *c, char *stage, const char *whole) {
  const Box box = whole_box(c);
  for (int p = 0; p < members(c); p++) {
    const Member m = member_at(c, p);
    box_copy(stage + m.offset * (long)c->element, &m.box, whole, &box, &m.box, c->whole->rank, c->element, parcc.comm);
  }
}

static void unpack(const Collect *c, char *whole, const char *stage) {
  const Box box = whole_box(c);
  for (int p = 0; p < members(c); p++) {
    const Member m = member_at(c, p);
    box_copy(whole, &box, stage + m.offset * (long)c->element, &m.box, &m.box, c->whole->rank, c->element, parcc.comm);
  }
}

void parcc_reduce_scatter(const void *src, const ParccDivision *from, void *dst, const ParccDivision *to, void *stage,
                          ParccType type, ncclRedOp_t op, long samples, unsigned axes, ncclComm_t over) {
  const Collect c = collect_of(from, to, axes, type, samples);
  const char *ordered = (const char *)src;
  if (!are_in_order(&c)) {
    pack(&c, (char *)stage, (const char *)src);
    ordered = (const char *)stage;
  }
  if (are_equal(&c)) {
    CHECK_NCCL(ncclReduceScatter(ordered, dst, (size_t)member_at(&c, 0).elements, c.type, op, over, parcc.comm));
    return;
  }
  CHECK_NCCL(ncclGroupStart());
  for (int p = 0; p < members(&c); p++) {
    const Member m = member_at(&c, p);
    if (m.elements > 0)
      CHECK_NCCL(ncclReduce(ordered + m.offset * (long)c.element, dst, (size_t)m.elements, c.type, op, p, over, parcc.comm));
  }
  CHECK_NCCL(ncclGroupEnd());
}

void parcc_all_gather(const void *src, const ParccDivision *from, void *dst, const ParccDivision *to, void *stage, ParccType type,
                      long samples, unsigned axes, ncclComm_t over) {
  const Collect c = collect_of(to, from, axes, type, samples);
  const int own = own_place(&c), in_order = are_in_order(&c);
  char *ordered = in_order ? (char *)dst : (char *)stage;
  if (are_equal(&c)) {
    CHECK_NCCL(ncclAllGather(src, ordered, (size_t)member_at(&c, 0).elements, c.type, over, parcc.comm));
  } else {
    CHECK_NCCL(ncclGroupStart());
    for (int p = 0; p < members(&c); p++) {
      const Member m = member_at(&c, p);
      char *place = ordered + m.offset * (long)c.element;
      if (m.elements > 0)
        CHECK_NCCL(ncclBroadcast(p == own ? src : place, place, (size_t)m.elements, c.type, p, over, parcc.comm));
    }
    CHECK_NCCL(ncclGroupEnd());
  }
  if (!in_order) unpack(&c, (char *)dst, ordered);
}
