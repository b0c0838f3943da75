// NCCL on MPI: send, receive and groups. Both are posted at once and completed at the end of the outermost group, or at
// once outside of groups.
#include "nccl_mpi.h"

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
  if (comm == NULL || peer < 0 || peer >= comm->ranks || !nccl_find_type(type, &mpi_type, &bytes) ||
      (count > 0 && send == NULL && recv == NULL))
    return ncclInvalidArgument;
  if (group.depth == 0 && peer == comm->rank) return ncclInvalidUsage; // would wait for itself
  if (count == 0) return ncclSuccess;
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

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  (void)stream;
  const ncclResult_t result = post(send, NULL, count, type, peer, comm);
  return result == ncclSuccess && group.depth == 0 ? complete() : result;
}

ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  (void)stream;
  const ncclResult_t result = post(NULL, recv, count, type, peer, comm);
  return result == ncclSuccess && group.depth == 0 ? complete() : result;
}

ncclResult_t ncclGroupStart(void) {
  group.depth++;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void) {
  if (group.depth == 0) return ncclInvalidUsage;
  return --group.depth == 0 ? complete() : ncclSuccess;
}
