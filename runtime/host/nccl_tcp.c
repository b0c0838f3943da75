// Communicators, collectives and messages by TCP (common/mesh.h).
//
// Reductions go round a ring, as in NCCL: of the data of n ranks each rank ends up with the sum of one n-th, having sent and
// received (n - 1)/n of all of it (Patarasuk and Yuan 2009, Bandwidth optimal all-reduce algorithms, section 4). Every rank
// gets the same bits, as each element is summed up in one place. All-reduce and all-gather have two levels where hosts have several ranks
// each (nccl_levels.c): between hosts goes what is reduced on each.
#include "nccl_comm.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "hash.h"
#include "parcc.h"

// ---- communicators -------------------------------------------------------------------------------------------------

// Of a communicator of which part is made; takes members over.
static ncclResult_t take(ncclComm_t part, int *members, int ranks, int own, uint32_t tag) {
  part->members = members;
  part->ranks = ranks;
  part->rank = own;
  part->group = (MeshGroup){members, ranks, own, tag};
  return nccl_levels_open(&part->group, &part->levels) ? ncclSuccess : ncclInternalError;
}

static ncclResult_t open_all(ncclComm_t comm, int ranks, int rank) {
  const MeshGroup *all = mesh_all();
  if (ranks != all->ranks || rank != all->own) return ncclInvalidArgument;
  int *members = malloc((size_t)ranks * sizeof *members);
  if (members == NULL) return ncclInternalError;
  memcpy(members, all->rank, (size_t)ranks * sizeof *members);
  return take(comm, members, ranks, rank, all->tag + 1);
}

// What a rank wants when a communicator is split.
typedef struct {
  int color, key;
  int place; // in the communicator that is split
} Wish;

static int compare_wishes(const void *a, const void *b) {
  const Wish *x = a, *y = b;
  return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->place > y->place) - (x->place < y->place);
}

static ncclResult_t split(ncclComm_t comm, int color, int key, ncclComm_t part) {
  const MeshGroup *group = &comm->group;
  Wish *wishes = calloc((size_t)group->ranks, sizeof *wishes);
  int *members = malloc((size_t)group->ranks * sizeof *members), ranks = 0, own = 0;
  if (wishes == NULL || members == NULL) fail_alone(FAIL_RUN, "out of memory"); // the others wait
  wishes[group->own] = (Wish){color, key, group->own};
  mesh_all_gather(group, wishes, (size_t)group->ranks * sizeof *wishes, 1);
  qsort(wishes, (size_t)group->ranks, sizeof *wishes, compare_wishes);
  for (int i = 0; i < group->ranks; i++) {
    if (wishes[i].color != color) continue;
    if (wishes[i].place == group->own) own = ranks;
    members[ranks++] = group->rank[wishes[i].place];
  }
  const uint32_t name[] = {group->tag, comm->parts++, (uint32_t)color};
  free(wishes);
  if (color != NCCL_SPLIT_NOCOLOR) return take(part, members, ranks, own, (uint32_t)hash_bytes(0, name, sizeof name));
  free(members);
  return ncclSuccess;
}

static ncclResult_t close_comm(ncclComm_t comm) {
  free(comm->members);
  nccl_levels_close(&comm->levels);
  return ncclSuccess;
}

// ---- reductions ----------------------------------------------------------------------------------------------------

#define COMBINE(T, expression)                                                                                         \
  for (size_t i = 0; i < n; i++) {                                                                                     \
    const T a = ((const T *)from)[i], b = ((T *)into)[i];                                                              \
    ((T *)into)[i] = (T)(expression);                                                                                  \
  }
#define COMBINE_BY(T)                                                                                                  \
  switch (op) {                                                                                                        \
  case ncclSum: COMBINE(T, a + b) break;                                                                               \
  case ncclProd: COMBINE(T, a *b) break;                                                                               \
  case ncclMax: COMBINE(T, a > b ? a : b) break;                                                                       \
  case ncclMin: COMBINE(T, a < b ? a : b) break;                                                                       \
  }

static void combine(void *into, const void *from, size_t n, ncclDataType_t type, ncclRedOp_t op) {
  switch (type) {
  case ncclInt8: COMBINE_BY(int8_t) break;
  case ncclUint8: COMBINE_BY(uint8_t) break;
  case ncclInt32: COMBINE_BY(int32_t) break;
  case ncclInt64: COMBINE_BY(int64_t) break;
  case ncclFloat: COMBINE_BY(float) break;
  case ncclDouble: COMBINE_BY(double) break;
  }
}

// Two blocks that hold what comes and what goes on; they stay for the next time.
static struct {
  char *at[2];
  size_t bytes;
} place;

static bool reserve(size_t bytes) {
  if (bytes <= place.bytes) return true;
  for (int i = 0; i < 2; i++) {
    free(place.at[i]);
    place.at[i] = malloc(bytes);
  }
  place.bytes = place.at[0] != NULL && place.at[1] != NULL ? bytes : 0;
  return place.bytes > 0;
}

// Reduces `count` elements of all ranks of a group, as the call does, divided as parcc_block says: this rank's block is then at *result,
// until the next call. A block begins at the rank behind its own and goes round; each rank adds its part.
static ncclResult_t reduce_blocks(const NcclCall *c, const MeshGroup *group, const char *data, size_t count, size_t bytes, const char **result) {
  const int n = group->ranks, own = group->own;
  const char *out = NULL;
  if (!reserve((count / (size_t)n + 1) * bytes)) return ncclInternalError;
  for (int step = 0; step < n - 1; step++) {
    const Interval going = parcc_block((long)count, n, (own + 2 * n - step - 1) % n);
    const Interval coming = parcc_block((long)count, n, (own + 2 * n - step - 2) % n);
    char *in = place.at[step % 2];
    if (step == 0) out = data + (size_t)going.lo * bytes;
    MeshTransfer both[2] = {mesh_send(group, (own + 1) % n, out, (size_t)going.len * bytes),
                            mesh_receive(group, (own + n - 1) % n, in, (size_t)coming.len * bytes)};
    mesh_exchange(both, 2);
    combine(in, data + (size_t)coming.lo * bytes, (size_t)coming.len, c->type, c->op);
    out = in;
  }
  *result = out;
  return ncclSuccess;
}

// ---- collectives ---------------------------------------------------------------------------------------------------

// From send to recv. between: ranks of other groups that have the same block of theirs, over which that is reduced, too; or NULL.
static ncclResult_t all_reduce(const NcclCall *c, const MeshGroup *group, const MeshGroup *between, const char *send, char *recv, size_t count,
                               size_t bytes) {
  const Interval own = parcc_block((long)count, group->ranks, group->own);
  char *const block = recv + (size_t)own.lo * bytes;
  const char *reduced;
  ncclResult_t result = reduce_blocks(c, group, send, count, bytes, &reduced);
  if (result != ncclSuccess) return result;
  nccl_copy(block, reduced, (size_t)own.len * bytes);
  if (between != NULL) result = all_reduce(c, between, NULL, block, block, (size_t)own.len, bytes);
  mesh_all_gather(group, recv, count, bytes);
  return result;
}

static ncclResult_t run_all_reduce(const NcclCall *c, size_t bytes) {
  const NcclLevels *levels = &c->comm->levels;
  if (levels->place == NULL) return all_reduce(c, &c->comm->group, NULL, c->send, c->recv, c->count, bytes);
  return all_reduce(c, &levels->inner, &levels->outer, c->send, c->recv, c->count, bytes);
}

static ncclResult_t run_all_gather(const NcclCall *c, size_t bytes) {
  const MeshGroup *group = &c->comm->group;
  if (c->count == 0) return ncclSuccess;
  nccl_copy((char *)c->recv + (size_t)group->own * c->count * bytes, c->send, c->count * bytes);
  if (c->comm->levels.place != NULL) return nccl_levels_all_gather(&c->comm->levels, c->recv, c->count * bytes) ? ncclSuccess : ncclInternalError;
  mesh_all_gather(group, c->recv, c->count * (size_t)group->ranks, bytes);
  return ncclSuccess;
}

static ncclResult_t run_reduce_scatter(const NcclCall *c, size_t bytes) {
  const char *reduced;
  const ncclResult_t result = reduce_blocks(c, &c->comm->group, c->send, c->count * (size_t)c->comm->ranks, bytes, &reduced);
  if (result == ncclSuccess) nccl_copy(c->recv, reduced, c->count * bytes);
  return result;
}

// The blocks come together at the root.
static ncclResult_t run_reduce(const NcclCall *c, size_t bytes) {
  const MeshGroup *group = &c->comm->group;
  const int n = group->ranks;
  const char *reduced;
  MeshTransfer *transfers = malloc((size_t)n * sizeof *transfers);
  if (transfers == NULL) return ncclInternalError;
  const ncclResult_t result = reduce_blocks(c, group, c->send, c->count, bytes, &reduced);
  size_t k = 0;
  for (int r = 0; r < n && result == ncclSuccess; r++) {
    const Interval block = parcc_block((long)c->count, n, r);
    char *at = (char *)c->recv + (size_t)block.lo * bytes;
    const size_t size = (size_t)block.len * bytes;
    if (group->own != c->root && r == group->own) transfers[k++] = mesh_send(group, c->root, reduced, size);
    else if (group->own == c->root && r == group->own) nccl_copy(at, reduced, size);
    else if (group->own == c->root) transfers[k++] = mesh_receive(group, r, at, size);
  }
  mesh_exchange(transfers, k);
  free(transfers);
  return result;
}

static ncclResult_t run(const NcclCall *c, size_t bytes) {
  const MeshGroup *group = &c->comm->group;
  switch (c->kind) {
  case NCCL_ALL_REDUCE: return run_all_reduce(c, bytes);
  case NCCL_REDUCE_SCATTER: return run_reduce_scatter(c, bytes);
  case NCCL_REDUCE: return run_reduce(c, bytes);
  case NCCL_BROADCAST:
    if (group->own == c->root) nccl_copy(c->recv, c->send, c->count * bytes);
    mesh_broadcast(group, c->recv, c->count * bytes, c->root);
    return ncclSuccess;
  case NCCL_ALL_GATHER: return run_all_gather(c, bytes);
  case NCCL_SEND:
  case NCCL_RECV:
  case NCCL_DESTROY: break;
  }
  return ncclInternalError;
}

// ---- messages ------------------------------------------------------------------------------------------------------

static ncclResult_t exchange(const NcclCall *calls, size_t n) {
  MeshTransfer *transfers = malloc((n == 0 ? 1 : n) * sizeof *transfers);
  size_t k = 0;
  if (transfers == NULL) return ncclInternalError;
  for (size_t i = 0; i < n; i++) {
    const NcclCall *c = &calls[i];
    const size_t bytes = c->count * nccl_type_bytes(c->type);
    if (!nccl_travels(c)) continue;
    transfers[k++] = c->kind == NCCL_SEND ? mesh_send(&c->comm->group, c->root, c->send, bytes)
                                          : mesh_receive(&c->comm->group, c->root, c->recv, bytes);
  }
  mesh_exchange(transfers, k);
  free(transfers);
  return ncclSuccess;
}

const NcclCarrier nccl_tcp = {open_all, split, close_comm, run, exchange};
