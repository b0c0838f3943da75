// Rows of a table, from the ranks that own them to those that look them up: the parameter-server scheme of Kim et al. (Parallax 2019),
// where every rank is a server of some rows and a worker with some samples.
//
// All ranks have the indices of all places, so each knows what every other one sends it, and nobody asks for anything. A row that a rank
// needs at several places comes once: senders and receivers go over the places in the same order, and leave out what they met before.
#include <stdlib.h>
#include <string.h>

#include "box.h"
#include "fail.h"

typedef struct { // places of a rank, among those of the owners' side
  long lo, n;
} Places;

typedef struct { // messages with a rank, in rows
  int rank;
  Places needs;
  long first_row; // of the table, that it owns
  long sent_at, sent, received_at, received;
} Member;

typedef struct { // rows met, with a number each
  int *row;      // -1: free
  long *number;
  size_t slots; // a power of two
} Seen;

static struct {
  Member *members;
  int n_members, own, room; // of this rank; room for members
  int *index, *lists;       // pinned: the indices, and three lists of places
  long places;              // that there is room for
  Seen seen;
} state;

static void *grown(void *old, size_t n, size_t element) {
  void *array = realloc(old, n * element);
  if (array == NULL) fail_alone(FAIL_RUN, "out of memory");
  return array;
}

static int *pinned_ints(int *old, long n) {
  void *at;
  if (old != NULL) CHECK_CUDA(cudaFreeHost(old));
  CHECK_CUDA(cudaHostAlloc(&at, (size_t)n * sizeof(int), cudaHostAllocDefault));
  return at;
}

static void make_room(long places) {
  if (places <= state.places) return;
  size_t slots = 16;
  while (slots < 2 * (size_t)places) slots *= 2;
  state.places = places;
  state.index = pinned_ints(state.index, places);
  state.lists = pinned_ints(state.lists, 3 * places);
  state.seen.row = grown(state.seen.row, slots, sizeof *state.seen.row);
  state.seen.number = grown(state.seen.number, slots, sizeof *state.seen.number);
  state.seen.slots = slots;
}

// ---- rows met ------------------------------------------------------------------------------------------------------

static void forget_all(Seen *seen) { memset(seen->row, 0xff, seen->slots * sizeof *seen->row); }

// Where the number of a row is. *known: there is one.
static long *number_of(Seen *seen, int row, int *known) {
  size_t slot = (unsigned)row * 2654435761u & (seen->slots - 1);
  while (seen->row[slot] != -1 && seen->row[slot] != row) slot = (slot + 1) & (seen->slots - 1);
  *known = seen->row[slot] == row;
  seen->row[slot] = row;
  return &seen->number[slot];
}

// ---- who owns and needs what ---------------------------------------------------------------------------------------

static Interval owned_by(const ParccDivision *d, unsigned axes, int rank, long rows) {
  Interval block = {0, rows};
  for (int a = 0; a < d->n_axes; a++)
    if (axes >> a & 1) block = parcc_block_in(block, d->axis[a].size, box_coordinate(&d->axis[a], rank));
  return block;
}

// What a rank needs of the places in a box, of `inner` each along its first dimension.
static Places needed_by(const ParccDivision *to, const Box *all, long inner, int rank, long samples) {
  for (int a = 0; a < to->n_axes; a++)
    if (to->axis[a].place >= 0 && box_coordinate(&to->axis[a], rank) != to->axis[a].place) return (Places){0, 0};
  const Box box = box_of_rank(to, rank, samples);
  return (Places){(box.lo[0] - all->lo[0]) * inner, box.len[0] * inner};
}

static void meet_members(const ParccDivision *from, const ParccDivision *to, const Box *all, long inner, unsigned axes, long rows, long samples) {
  state.n_members = box_ranks_along(from, axes);
  if (state.n_members > state.room) state.members = grown(state.members, (size_t)state.n_members, sizeof *state.members);
  if (state.n_members > state.room) state.room = state.n_members;
  for (int m = 0; m < state.n_members; m++) {
    const int rank = box_rank_along(from, axes, m);
    if (rank == parcc.rank) state.own = m;
    state.members[m] = (Member){rank, needed_by(to, all, inner, rank, samples), owned_by(from, axes, rank, rows).lo, 0, 0, 0, 0};
  }
}

// The member that owns a row: the last one whose first row is not behind it. -1: it is none of the table.
static int owner_of(int row, long rows) {
  if (row < 0 || row >= rows) return -1;
  int lo = 0, hi = state.n_members - 1;
  while (lo < hi) {
    const int middle = (lo + hi + 1) / 2;
    if (state.members[middle].first_row <= row) lo = middle;
    else hi = middle - 1;
  }
  return lo;
}

// ---- lists ---------------------------------------------------------------------------------------------------------

// The places of what is sent, member by member; gives how many. What one needs like the one before is there already.
static long list_sent(long rows, int *list) {
  const Member *before = NULL;
  long n = 0;
  for (int i = 0; i < state.n_members; i++) {
    Member *m = &state.members[i];
    int known;
    if (i == state.own) continue;
    if (before != NULL && before->needs.lo == m->needs.lo && before->needs.n == m->needs.n) {
      m->sent_at = before->sent_at, m->sent = before->sent;
      continue;
    }
    forget_all(&state.seen);
    m->sent_at = n;
    for (long p = m->needs.lo; p < m->needs.lo + m->needs.n; p++) {
      if (owner_of(state.index[p], rows) != state.own) continue;
      (void)number_of(&state.seen, state.index[p], &known);
      if (!known) list[n++] = (int)p;
    }
    m->sent = n - m->sent_at;
    before = m;
  }
  return n;
}

// Counts what comes from each member, as it lists it.
static void count_received(long rows) {
  const Places own = state.members[state.own].needs;
  long at = 0;
  forget_all(&state.seen);
  for (long p = own.lo; p < own.lo + own.n; p++) {
    const int owner = owner_of(state.index[p], rows);
    int known;
    if (owner < 0 || owner == state.own) continue;
    long *number = number_of(&state.seen, state.index[p], &known);
    if (!known) *number = state.members[owner].received++;
  }
  for (int i = 0; i < state.n_members; i++) {
    state.members[i].received_at = at;
    at += state.members[i].received;
  }
}

// Where rows go to: to[] and from[] have first those that this rank keeps, of which it gives the number, then those received.
static long list_places(long rows, int *to, int *from, long *n) {
  const Places own = state.members[state.own].needs;
  long kept = 0;
  *n = 0;
  for (int received = 0; received < 2; received++) {
    for (long p = own.lo; p < own.lo + own.n; p++) {
      const int owner = owner_of(state.index[p], rows);
      int known;
      if (owner < 0 || (owner != state.own) != received) continue;
      to[*n] = (int)(p - own.lo);
      from[(*n)++] = (int)(received ? state.members[owner].received_at + *number_of(&state.seen, state.index[p], &known) : p);
    }
    if (!received) kept = *n;
  }
  return kept;
}

// ---- the exchange --------------------------------------------------------------------------------------------------

static long product(const Box *box, int first, int end) {
  long n = 1;
  for (int i = first; i < end; i++) n *= box->len[i];
  return n;
}

// Whether this rank has nothing to do with the tensor: it is elsewhere along other axes.
static int is_elsewhere(const ParccDivision *from) {
  for (int a = 0; a < from->n_axes; a++)
    if (from->axis[a].place >= 0 && box_coordinate(&from->axis[a], parcc.rank) != from->axis[a].place) return 1;
  return 0;
}

ParccRows parcc_rows(const ParccDivision *from, void *dst, const ParccDivision *to, const int *index, int dims, long rows, unsigned axes,
                     void *stage, size_t element, long samples) {
  const Box all = box_of_rank(from, parcc.rank, samples);
  const long inner = product(&all, 1, dims), places = product(&all, 0, dims);
  ParccRows r = {.width = product(&all, dims, from->rank), .sent = stage};
  state.n_members = 0;
  if (is_elsewhere(from) || places == 0 || r.width == 0) return r;
  make_room(places);
  meet_members(from, to, &all, inner, axes, rows, samples);
  CHECK_CUDA(cudaMemcpyAsync(state.index, index, (size_t)places * sizeof *index, cudaMemcpyDeviceToHost, parcc.comm));
  CHECK_CUDA(cudaStreamSynchronize(parcc.comm));
  int *lists = (int *)((char *)stage + (size_t)(places * r.width) * element); // behind the rows
  int *const to_list = state.lists + places, *const from_list = to_list + places;
  long n;
  r.packed = (ParccCopies){NULL, lists, list_sent(rows, state.lists)};
  count_received(rows);
  r.kept = (ParccCopies){lists + places, lists + 2 * places, list_places(rows, to_list, from_list, &n)};
  r.unpacked = (ParccCopies){r.kept.to + r.kept.n, r.kept.from + r.kept.n, n - r.kept.n};
  r.received = (char *)stage + (size_t)(r.packed.n * r.width) * element;
  CHECK_CUDA(cudaMemcpyAsync(lists, state.lists, (size_t)r.packed.n * sizeof *lists, cudaMemcpyHostToDevice, parcc.comm));
  CHECK_CUDA(cudaMemcpyAsync(lists + places, to_list, (size_t)n * sizeof *lists, cudaMemcpyHostToDevice, parcc.comm));
  CHECK_CUDA(cudaMemcpyAsync(lists + 2 * places, from_list, (size_t)n * sizeof *lists, cudaMemcpyHostToDevice, parcc.comm));
  const long needed = state.members[state.own].needs.n;
  if (n < needed) CHECK_CUDA(cudaMemsetAsync(dst, 0, (size_t)(needed * r.width) * element, parcc.comm)); // indices outside of the table
  return r;
}

void parcc_exchange_rows(const ParccRows *r, size_t element, ncclComm_t everybody) {
  const ncclDataType_t type = element == sizeof(double) ? ncclDouble : ncclFloat;
  const size_t row = (size_t)r->width * element;
  CHECK_NCCL(ncclGroupStart());
  for (int i = 0; i < state.n_members; i++) {
    const Member *m = &state.members[i];
    if (m->sent > 0)
      CHECK_NCCL(ncclSend((char *)r->sent + (size_t)m->sent_at * row, (size_t)(m->sent * r->width), type, m->rank, everybody, parcc.comm));
    if (m->received > 0)
      CHECK_NCCL(ncclRecv((char *)r->received + (size_t)m->received_at * row, (size_t)(m->received * r->width), type, m->rank, everybody, parcc.comm));
  }
  CHECK_NCCL(ncclGroupEnd());
}
