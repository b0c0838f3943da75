// NCCL on MPI: send, receive and groups. Both are posted at once and completed at the end of the outermost group, or at
// once outside of groups.
//
// In the checking mode the calls of a group are kept, and queued at its end.
#include "nccl_mpi.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

// A message of the one rank of a program without MPI to itself: send or recv is NULL.
typedef struct {
  const void *send;
  void *recv;
  size_t bytes;
} OwnMessage;

static struct {
  int depth;
  MPI_Request *requests;
  size_t n_requests;
  OwnMessage *own;
  size_t n_own;
  NcclCall *calls; // kept in the checking mode, and their streams
  cudaStream_t *streams;
  size_t n_calls;
} group;

// Room for one more element in an array that holds n; grows at powers of two. NULL: out of memory.
static void *make_room(void *array, size_t n, size_t element) {
  if (n > 0 && (n & (n - 1)) != 0) return array;
  return realloc(array, (n == 0 ? 1 : 2 * n) * element);
}

static ncclResult_t post_own(const void *send, void *recv, size_t bytes) {
  OwnMessage *own = make_room(group.own, group.n_own, sizeof *own);
  if (own == NULL) return ncclInternalError;
  group.own = own;
  own[group.n_own++] = (OwnMessage){send, recv, bytes};
  return ncclSuccess;
}

static ncclResult_t post(const void *send, void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm) {
  MPI_Datatype mpi_type;
  size_t bytes;
  if (!nccl_find_type(type, &mpi_type, &bytes)) return ncclInvalidArgument;
  if (comm->mpi == MPI_COMM_NULL) return post_own(send, recv, count * bytes);
  ncclResult_t result = ncclSuccess;
  for (size_t i = 0; i < count && result == ncclSuccess; i += MAX_PIECE) {
    MPI_Request *requests = make_room(group.requests, group.n_requests, sizeof *requests);
    if (requests == NULL) return ncclInternalError;
    group.requests = requests;
    MPI_Request *request = &requests[group.n_requests++];
    *request = MPI_REQUEST_NULL;
    const int length = nccl_piece(count - i);
    result = nccl_check_mpi(
        send != NULL ? MPI_Isend((const char *)send + i * bytes, length, mpi_type, peer, 0, comm->mpi, request)
                     : MPI_Irecv((char *)recv + i * bytes, length, mpi_type, peer, 0, comm->mpi, request));
  }
  return result;
}

// The first send goes to the first receive, and so on.
static ncclResult_t complete_own(void) {
  size_t s = 0, r = 0;
  for (;; s++, r++) {
    while (s < group.n_own && group.own[s].send == NULL) s++;
    while (r < group.n_own && group.own[r].recv == NULL) r++;
    if (s == group.n_own || r == group.n_own) break;
    if (group.own[s].bytes != group.own[r].bytes) return ncclInvalidUsage;
    memmove(group.own[r].recv, group.own[s].send, group.own[s].bytes);
  }
  return s == r ? ncclSuccess : ncclInvalidUsage;
}

static ncclResult_t complete(void) {
  ncclResult_t result = complete_own();
  for (size_t i = 0; i < group.n_requests && result == ncclSuccess; i += MAX_PIECE)
    result = nccl_check_mpi(MPI_Waitall(nccl_piece(group.n_requests - i), group.requests + i, MPI_STATUSES_IGNORE));
  free(group.requests);
  free(group.own);
  group.requests = NULL;
  group.own = NULL;
  group.n_requests = group.n_own = 0;
  return result;
}

// ---- of the checking mode

// The messages of a program of one rank to itself.
static ncclResult_t run_alone(const NcclCall *calls, size_t n) {
  for (size_t i = 0; i < n; i++) {
    MPI_Datatype type;
    size_t bytes;
    if (calls[i].count == 0 || !nccl_find_type(calls[i].type, &type, &bytes)) continue;
    const ncclResult_t result = post_own(calls[i].send, calls[i].recv, calls[i].count * bytes);
    if (result != ncclSuccess) return result;
  }
  return complete();
}

static ncclResult_t keep(const NcclCall *call, cudaStream_t stream) {
  NcclCall *calls = make_room(group.calls, group.n_calls, sizeof *calls);
  if (calls == NULL) return ncclInternalError;
  group.calls = calls;
  cudaStream_t *streams = make_room(group.streams, group.n_calls, sizeof(cudaStream_t));
  if (streams == NULL) return ncclInternalError;
  group.streams = streams;
  streams[group.n_calls] = stream;
  calls[group.n_calls++] = *call;
  return ncclSuccess;
}

// All calls of a group are on one stream, which programs of this compiler keep to.
static ncclResult_t queue_kept(void) {
  for (size_t i = 1; i < group.n_calls; i++)
    if (group.streams[i] != group.streams[0]) return ncclInvalidUsage;
  if (group.n_calls > 0) check_queue_messages(group.calls, group.n_calls, group.streams[0], run_alone);
  group.n_calls = 0;
  free(group.calls);
  free(group.streams);
  group.calls = NULL;
  group.streams = NULL;
  return ncclSuccess;
}

// ---- the functions of NCCL

static ncclResult_t issue(const NcclCall *c, cudaStream_t stream) {
  MPI_Datatype mpi_type;
  size_t bytes;
  if (c->comm == NULL || c->root < 0 || c->root >= c->comm->ranks || !nccl_find_type(c->type, &mpi_type, &bytes) ||
      (c->count > 0 && c->send == NULL && c->recv == NULL))
    return ncclInvalidArgument;
  if (group.depth == 0 && c->root == c->comm->rank) return ncclInvalidUsage; // would wait for itself
  if (c->count == 0 && !parcc_checking) return ncclSuccess;
  const ncclResult_t result =
      parcc_checking ? keep(c, stream) : post(c->send, c->recv, c->count, c->type, c->root, c->comm);
  if (result != ncclSuccess || group.depth > 0) return result;
  return parcc_checking ? queue_kept() : complete();
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
  if (--group.depth > 0) return ncclSuccess;
  return parcc_checking ? queue_kept() : complete();
}
