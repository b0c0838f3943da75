// NCCL on MPI: send, receive and groups. The calls of a group are kept and issued together when the outermost group ends;
// outside of groups a call is a group of its own.
#include "nccl_mpi.h"

#include <stdlib.h>
#include <string.h>

static struct {
  int depth;
  NcclCall *calls;
  cudaStream_t *streams;
  size_t n;
} group;

// A message of the one rank of a program without MPI to itself: send or recv is NULL.
typedef struct {
  const void *send;
  void *recv;
  size_t bytes;
} OwnMessage;

// Messages under way.
static struct {
  MPI_Request *requests;
  size_t n_requests;
  OwnMessage *own;
  size_t n_own;
} posted;

// Room for one more element in an array that holds n; grows at powers of two. NULL: out of memory.
static void *make_room(void *array, size_t n, size_t element) {
  if (n > 0 && (n & (n - 1)) != 0) return array;
  return realloc(array, (n == 0 ? 1 : 2 * n) * element);
}

static ncclResult_t post_own(const NcclCall *c, size_t bytes) {
  OwnMessage *own = make_room(posted.own, posted.n_own, sizeof *own);
  if (own == NULL) return ncclInternalError;
  posted.own = own;
  own[posted.n_own++] =
      (OwnMessage){c->kind == NCCL_SEND ? c->send : NULL, c->kind == NCCL_RECV ? c->recv : NULL, bytes};
  return ncclSuccess;
}

static ncclResult_t post(const NcclCall *c) {
  MPI_Datatype type;
  size_t bytes;
  if (!nccl_find_type(c->type, &type, &bytes)) return ncclInternalError;
  if (c->count == 0) return ncclSuccess;
  if (c->comm->mpi == MPI_COMM_NULL) return post_own(c, c->count * bytes);
  ncclResult_t result = ncclSuccess;
  for (size_t i = 0; i < c->count && result == ncclSuccess; i += MAX_PIECE) {
    MPI_Request *requests = make_room(posted.requests, posted.n_requests, sizeof *requests);
    if (requests == NULL) return ncclInternalError;
    posted.requests = requests;
    MPI_Request *request = &requests[posted.n_requests++];
    *request = MPI_REQUEST_NULL;
    const int length = nccl_piece(c->count - i);
    result = nccl_check_mpi(
        c->kind == NCCL_SEND
            ? MPI_Isend((const char *)c->send + i * bytes, length, type, c->root, 0, c->comm->mpi, request)
            : MPI_Irecv((char *)c->recv + i * bytes, length, type, c->root, 0, c->comm->mpi, request));
  }
  return result;
}

// The first send goes to the first receive, and so on.
static ncclResult_t complete_own(void) {
  size_t s = 0, r = 0;
  for (;; s++, r++) {
    while (s < posted.n_own && posted.own[s].send == NULL) s++;
    while (r < posted.n_own && posted.own[r].recv == NULL) r++;
    if (s == posted.n_own || r == posted.n_own) break;
    if (posted.own[s].bytes != posted.own[r].bytes) return ncclInvalidUsage;
    memmove(posted.own[r].recv, posted.own[s].send, posted.own[s].bytes);
  }
  return s == r ? ncclSuccess : ncclInvalidUsage;
}

static ncclResult_t complete(void) {
  ncclResult_t result = complete_own();
  for (size_t i = 0; i < posted.n_requests && result == ncclSuccess; i += MAX_PIECE)
    result = nccl_check_mpi(MPI_Waitall(nccl_piece(posted.n_requests - i), posted.requests + i, MPI_STATUSES_IGNORE));
  free(posted.requests);
  free(posted.own);
  posted.requests = NULL;
  posted.own = NULL;
  posted.n_requests = posted.n_own = 0;
  return result;
}

ncclResult_t nccl_exchange(const NcclCall *calls, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const ncclResult_t result = post(&calls[i]);
    if (result != ncclSuccess) return result;
  }
  return complete();
}

static ncclResult_t keep(const NcclCall *call, cudaStream_t stream) {
  NcclCall *calls = make_room(group.calls, group.n, sizeof *calls);
  if (calls == NULL) return ncclInternalError;
  group.calls = calls;
  cudaStream_t *streams = make_room(group.streams, group.n, sizeof(cudaStream_t));
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
  MPI_Datatype mpi_type;
  size_t bytes;
  if (c->comm == NULL || c->root < 0 || c->root >= c->comm->ranks || !nccl_find_type(c->type, &mpi_type, &bytes) ||
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
