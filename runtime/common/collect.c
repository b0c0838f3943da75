// Collectives along axes of the mesh on tensors whose blocks differ in size, or do not lie in order: what is equal and in order
// is one call of the library, what differs in size a group of calls with one root each, what is not in order is packed.
#include "box.h"

typedef struct {
  const ParccDivision *whole, *parts; // how the tensor is divided before or behind, and by the axes at hand
  unsigned axes;
  int members; // ranks along them
  long samples;
  size_t element;
  ncclDataType_t type;
} Collect;

typedef struct { // of the ranks along the axes, at its place among them
  int place;
  Box box;
  long elements, offset; // offset: where its values are where those of all are put one after the other
} Member;

static Collect collect_of(const ParccDivision *whole, const ParccDivision *parts, unsigned axes, ParccType type, long samples) {
  static const size_t size[] = {sizeof(float), sizeof(double), sizeof(int)};
  static const ncclDataType_t nccl[] = {ncclFloat, ncclDouble, ncclInt};
  return (Collect){whole, parts, axes, box_ranks_along(whole, axes), samples, size[type], nccl[type]};
}

// The place of this rank along the axes.
static int own_place(const Collect *c) {
  int place = 0;
  for (int a = 0; a < c->whole->n_axes; a++) {
    const ParccPlacing *axis = &c->whole->axis[a];
    if (c->axes >> a & 1) place = place * axis->size + box_coordinate(axis, parcc.rank);
  }
  return place;
}

static Box whole_box(const Collect *c) { return box_of_rank(c->whole, parcc.rank, c->samples); }

static void look_at(const Collect *c, Member *m) {
  m->box = box_of_rank(c->parts, box_rank_along(c->whole, c->axes, m->place), c->samples);
  m->elements = box_elements(&m->box, c->parts->rank);
}

static Member first_member(const Collect *c) {
  Member m = {.place = 0, .offset = 0};
  look_at(c, &m);
  return m;
}

// Steps to the next one; 0: there is none.
static int next_member(const Collect *c, Member *m) {
  if (m->place + 1 == c->members) return 0;
  m->place++;
  m->offset += m->elements;
  look_at(c, m);
  return 1;
}

// All parts have the size of the first.
static int are_equal(const Collect *c) {
  Member m = first_member(c);
  for (const long first = m.elements; next_member(c, &m);)
    if (m.elements != first) return 0;
  return 1;
}

// The parts stand in the whole as they would one after the other.
static int are_in_order(const Collect *c) {
  const Box whole = whole_box(c);
  Member m = first_member(c);
  do {
    if (m.elements == 0) continue;
    if (!box_is_run(&m.box, &whole, c->whole->rank) || box_offset(&whole, &m.box, c->whole->rank) != m.offset) return 0;
  } while (next_member(c, &m));
  return 1;
}

// Between the whole and the stage, where parts stand one after the other.
static void pack(const Collect *c, char *stage, const char *whole) {
  const Box box = whole_box(c);
  Member m = first_member(c);
  do box_copy(stage + m.offset * (long)c->element, &m.box, whole, &box, &m.box, c->whole->rank, c->element, parcc.comm);
  while (next_member(c, &m));
}

static void unpack(const Collect *c, char *whole, const char *stage) {
  const Box box = whole_box(c);
  Member m = first_member(c);
  do box_copy(whole, &box, stage + m.offset * (long)c->element, &m.box, &m.box, c->whole->rank, c->element, parcc.comm);
  while (next_member(c, &m));
}

void parcc_reduce_scatter(const void *src, const ParccDivision *from, void *dst, const ParccDivision *to, void *stage,
                          ParccType type, ncclRedOp_t op, long samples, unsigned axes, ncclComm_t over) {
  const Collect c = collect_of(from, to, axes, type, samples);
  const char *ordered = (const char *)src;
  Member m = first_member(&c);
  if (!are_in_order(&c)) {
    pack(&c, (char *)stage, (const char *)src);
    ordered = (const char *)stage;
  }
  if (are_equal(&c)) {
    CHECK_NCCL(ncclReduceScatter(ordered, dst, (size_t)m.elements, c.type, op, over, parcc.comm));
    return;
  }
  CHECK_NCCL(ncclGroupStart());
  do {
    const char *at = ordered + m.offset * (long)c.element;
    if (m.elements > 0) CHECK_NCCL(ncclReduce(at, dst, (size_t)m.elements, c.type, op, m.place, over, parcc.comm));
  } while (next_member(&c, &m));
  CHECK_NCCL(ncclGroupEnd());
}

void parcc_all_gather(const void *src, const ParccDivision *from, void *dst, const ParccDivision *to, void *stage, ParccType type,
                      long samples, unsigned axes, ncclComm_t over) {
  const Collect c = collect_of(to, from, axes, type, samples);
  const int own = own_place(&c), in_order = are_in_order(&c);
  char *ordered = in_order ? (char *)dst : (char *)stage;
  Member m = first_member(&c);
  if (are_equal(&c)) {
    CHECK_NCCL(ncclAllGather(src, ordered, (size_t)m.elements, c.type, over, parcc.comm));
  } else {
    CHECK_NCCL(ncclGroupStart());
    do {
      char *at = ordered + m.offset * (long)c.element;
      if (m.elements > 0)
        CHECK_NCCL(ncclBroadcast(m.place == own ? src : at, at, (size_t)m.elements, c.type, m.place, over, parcc.comm));
    } while (next_member(&c, &m));
    CHECK_NCCL(ncclGroupEnd());
  }
  if (!in_order) unpack(&c, (char *)dst, ordered);
}
