// NCCL on the host: send, receive and groups. The calls of a group are kept and issued together when the outermost group ends;
// outside of groups a call is a group of its own.
#include "nccl_comm.h"

#include <stdlib.h>
#include <string.h>

static struct {
  int depth;
  NcclCall *calls;
  cudaStream_t *streams;
  size_t n;
} group;

void *nccl_make_room(void *array, size_t n, size_t element) {
  if (n > 0 && (n & (n - 1)) != 0) return array;
  return realloc(array, (n == 0 ? 1 : 2 * n) * element);
}

// ---- messages of a rank to itself

static bool is_own(const NcclCall *c) { return c->count > 0 && c->root == c->comm->rank; }

// Call number k, from 0, of those of this kind on the communicator; NULL: there are not so many.
static const NcclCall *find_own(const NcclCall *calls, size_t n, NcclKind kind, ncclComm_t comm, size_t k) {
  for (size_t i = 0; i < n; i++)
    if (is_own(&calls[i]) && calls[i].kind == kind && calls[i].comm == comm && k-- == 0) return &calls[i];
  return NULL;
}

// Of a communicator the first send goes to the first receive, and so on.
static ncclResult_t exchange_own(const NcclCall *calls, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const NcclCall *c = &calls[i];
    size_t k = 0;
    if (!is_own(c)) continue;
    while (find_own(calls, n, c->kind, c->comm, k) != c) k++;
    const NcclCall *other = find_own(calls, n, c->kind == NCCL_SEND ? NCCL_RECV : NCCL_SEND, c->comm, k);
    const size_t bytes = c->count * nccl_type_bytes(c->type);
    if (other == NULL || other->count * nccl_type_bytes(other->type) != bytes) return ncclInvalidUsage;
    if (c->kind == NCCL_SEND) memmove(other->recv, c->send, bytes);
  }
  return ncclSuccess;
}

ncclResult_t nccl_exchange(const NcclCall *calls, size_t n) {
  const ncclResult_t result = exchange_own(calls, n);
  const NcclCarrier *carrier = n == 0 ? NULL : calls[0].comm->carrier;
  return result != ncclSuccess || carrier == NULL ? result : carrier->exchange(calls, n);
}

// ---- groups

static ncclResult_t keep(const NcclCall *call, cudaStream_t stream) {
  NcclCall *calls = nccl_make_room(group.calls, group.n, sizeof *calls);
  if (calls == NULL) return ncclInternalError;
  group.calls = calls;
  cudaStream_t *streams = nccl_make_room(group.streams, group.n, sizeof(cudaStream_t));
  if (streams == NULL) return ncclInternalError;
  group.streams = streams;
  streams[group.n] = stream;
  calls[group.n++] = *call;
  return ncclSuccess;
}

static ncclResult_t issue_kept(void) {
  const ncclResult_t result = group.n == 0 ? ncclSuccess : nccl_issue_messages(group.calls, group.streams, group.n);
  group.n = 0;
  free(group.calls);
  free(group.streams);
  group.calls = NULL;
  group.streams = NULL;
  return result;
}

// ---- the functions of NCCL

static ncclResult_t issue(const NcclCall *c, cudaStream_t stream) {
  if (c->comm == NULL || c->root < 0 || c->root >= c->comm->ranks || nccl_type_bytes(c->type) == 0 ||
      (c->count > 0 && c->send == NULL && c->recv == NULL))
    return ncclInvalidArgument;
  if (group.depth == 0 && c->root == c->comm->rank) return ncclInvalidUsage; // would wait for itself
  const ncclResult_t result = keep(c, stream);
  return result != ncclSuccess || group.depth > 0 ? result : issue_kept();
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  const NcclCall call = {NCCL_SEND, send, NULL, count, type, ncclSum, peer, comm};
  return issue(&call, stream);
}

ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  const NcclCall call = {NCCL_RECV, NULL, recv, count, type, ncclSum, peer, comm};
  return issue(&call, stream);
}

ncclResult_t ncclGroupStart(void) {
  group.depth++;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void) {
  if (group.depth == 0) return ncclInvalidUsage;
  return --group.depth > 0 ? ncclSuccess : issue_kept();
}
