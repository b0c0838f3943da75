// Communicators, collectives and messages by MPI.
//
// MPI counts are int, NCCL counts are size_t: long messages go in pieces of at most MAX_PIECE elements.
#include "nccl_comm.h"

#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <string.h>

enum { MAX_PIECE = 1 << 30 };

static int next_piece(size_t left) { return left < MAX_PIECE ? (int)left : MAX_PIECE; }

ncclResult_t nccl_check_mpi(int mpi_result) {
  if (mpi_result == MPI_SUCCESS) return ncclSuccess;
  char text[MPI_MAX_ERROR_STRING] = "MPI failed";
  int length;
  if (MPI_Error_string(mpi_result, text, &length) != MPI_SUCCESS) strcpy(text, "MPI failed");
  nccl_set_error(text);
  return ncclSystemError;
}

static MPI_Datatype find_type(ncclDataType_t type) {
  switch (type) {
  case ncclInt8: return MPI_INT8_T;
  case ncclUint8: return MPI_UINT8_T;
  case ncclInt32: return MPI_INT32_T;
  case ncclInt64: return MPI_INT64_T;
  case ncclFloat: return MPI_FLOAT;
  case ncclDouble: return MPI_DOUBLE;
  }
  return MPI_DATATYPE_NULL;
}

static MPI_Op find_op(ncclRedOp_t op) {
  switch (op) {
  case ncclSum: return MPI_SUM;
  case ncclProd: return MPI_PROD;
  case ncclMax: return MPI_MAX;
  case ncclMin: return MPI_MIN;
  }
  return MPI_OP_NULL;
}

// ---- communicators -------------------------------------------------------------------------------------------------

// Takes mpi over.
static ncclResult_t take(ncclComm_t comm, MPI_Comm mpi) {
  comm->mpi = mpi;
  ncclResult_t result = nccl_check_mpi(MPI_Comm_size(mpi, &comm->ranks));
  if (result == ncclSuccess) result = nccl_check_mpi(MPI_Comm_rank(mpi, &comm->rank));
  return result == ncclSuccess ? nccl_check_mpi(MPI_Comm_set_errhandler(mpi, MPI_ERRORS_RETURN)) : result;
}

// MPI allocates what it works on in every call. Freed memory is kept, as else each of them waits for the system to clear pages for it.
static void keep_freed_memory(void) {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

static ncclResult_t open_all(ncclComm_t comm, int ranks, int rank) {
  MPI_Comm mpi;
  keep_freed_memory();
  ncclResult_t result = nccl_check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &mpi));
  if (result == ncclSuccess) result = take(comm, mpi);
  return result == ncclSuccess && (ranks != comm->ranks || rank != comm->rank) ? ncclInvalidArgument : result;
}

static ncclResult_t split(ncclComm_t comm, int color, int key, ncclComm_t part) {
  MPI_Comm mpi;
  const ncclResult_t result =
      nccl_check_mpi(MPI_Comm_split(comm->mpi, color == NCCL_SPLIT_NOCOLOR ? MPI_UNDEFINED : color, key, &mpi));
  return result != ncclSuccess || mpi == MPI_COMM_NULL ? result : take(part, mpi);
}

static ncclResult_t close_comm(ncclComm_t comm) { return nccl_check_mpi(MPI_Comm_free(&comm->mpi)); }

// ---- collectives ---------------------------------------------------------------------------------------------------

static ncclResult_t run_all_reduce(const NcclCall *c, MPI_Datatype type, size_t bytes, MPI_Op op) {
  nccl_copy(c->recv, c->send, c->count * bytes);
  ncclResult_t result = ncclSuccess;
  for (size_t i = 0; i < c->count && result == ncclSuccess; i += MAX_PIECE)
    result = nccl_check_mpi(
        MPI_Allreduce(MPI_IN_PLACE, (char *)c->recv + i * bytes, next_piece(c->count - i), type, op, c->comm->mpi));
  return result;
}

static ncclResult_t run_reduce(const NcclCall *c, MPI_Datatype type, size_t bytes, MPI_Op op) {
  const bool is_root = c->comm->rank == c->root; // recv is written on the root only
  if (is_root) nccl_copy(c->recv, c->send, c->count * bytes);
  ncclResult_t result = ncclSuccess;
  for (size_t i = 0; i < c->count && result == ncclSuccess; i += MAX_PIECE)
    result = nccl_check_mpi(MPI_Reduce(is_root ? MPI_IN_PLACE : (const char *)c->send + i * bytes,
                                       is_root ? (char *)c->recv + i * bytes : NULL, next_piece(c->count - i), type, op,
                                       c->root, c->comm->mpi));
  return result;
}

static ncclResult_t run_broadcast(const NcclCall *c, MPI_Datatype type, size_t bytes) {
  if (c->comm->rank == c->root) nccl_copy(c->recv, c->send, c->count * bytes);
  ncclResult_t result = ncclSuccess;
  for (size_t i = 0; i < c->count && result == ncclSuccess; i += MAX_PIECE)
    result =
        nccl_check_mpi(MPI_Bcast((char *)c->recv + i * bytes, next_piece(c->count - i), type, c->root, c->comm->mpi));
  return result;
}

// Where all the blocks together are more than MPI can count, one rank after the other gets its block.
static ncclResult_t run_reduce_scatter(const NcclCall *c, MPI_Datatype type, size_t bytes, MPI_Op op) {
  const size_t count = c->count;
  const int ranks = c->comm->ranks;
  if (count == 0) return ncclSuccess;
  // MPI's own in-place form puts the block elsewhere than NCCL's, so the block is received aside.
  char *block = malloc(count * bytes);
  if (block == NULL) return ncclSystemError;
  ncclResult_t result = ncclSuccess;
  if (count <= INT_MAX / (size_t)ranks)
    result = nccl_check_mpi(MPI_Reduce_scatter_block(c->send, block, (int)count, type, op, c->comm->mpi));
  else
    for (int root = 0; root < ranks && result == ncclSuccess; root++) {
      const NcclCall one = {
          NCCL_REDUCE, (const char *)c->send + (size_t)root * count * bytes, block, count, c->type, c->op, root,
          c->comm};
      result = run_reduce(&one, type, bytes, op);
    }
  if (result == ncclSuccess) memcpy(c->recv, block, count * bytes);
  free(block);
  return result;
}

static ncclResult_t run_all_gather(const NcclCall *c, MPI_Datatype type, size_t bytes) {
  const size_t count = c->count;
  const int ranks = c->comm->ranks;
  char *own = count == 0 ? c->recv : (char *)c->recv + (size_t)c->comm->rank * count * bytes;
  nccl_copy(own, c->send, count * bytes);
  if (count == 0) return ncclSuccess;
  if (count <= INT_MAX / (size_t)ranks)
    return nccl_check_mpi(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, c->recv, (int)count, type, c->comm->mpi));
  ncclResult_t result = ncclSuccess;
  for (int root = 0; root < ranks && result == ncclSuccess; root++) {
    char *block = (char *)c->recv + (size_t)root * count * bytes;
    const NcclCall one = {NCCL_BROADCAST, block, block, count, c->type, ncclSum, root, c->comm};
    result = run_broadcast(&one, type, bytes);
  }
  return result;
}

static ncclResult_t run(const NcclCall *call, size_t bytes) {
  const MPI_Datatype type = find_type(call->type);
  const MPI_Op op = find_op(call->op);
  switch (call->kind) {
  case NCCL_ALL_REDUCE: return run_all_reduce(call, type, bytes, op);
  case NCCL_REDUCE: return run_reduce(call, type, bytes, op);
  case NCCL_BROADCAST: return run_broadcast(call, type, bytes);
  case NCCL_REDUCE_SCATTER: return run_reduce_scatter(call, type, bytes, op);
  case NCCL_ALL_GATHER: return run_all_gather(call, type, bytes);
  case NCCL_SEND:
  case NCCL_RECV:
  case NCCL_DESTROY: break;
  }
  return ncclInternalError;
}

// ---- messages ------------------------------------------------------------------------------------------------------

static struct {
  MPI_Request *requests;
  size_t n;
} posted; // messages under way

static ncclResult_t post(const NcclCall *c) {
  const MPI_Datatype type = find_type(c->type);
  const size_t bytes = nccl_type_bytes(c->type);
  ncclResult_t result = ncclSuccess;
  for (size_t i = 0; i < c->count && result == ncclSuccess; i += MAX_PIECE) {
    MPI_Request *requests = nccl_make_room(posted.requests, posted.n, sizeof *requests);
    if (requests == NULL) return ncclInternalError;
    posted.requests = requests;
    MPI_Request *request = &requests[posted.n++];
    *request = MPI_REQUEST_NULL;
    const int length = next_piece(c->count - i);
    result = nccl_check_mpi(
        c->kind == NCCL_SEND
            ? MPI_Isend((const char *)c->send + i * bytes, length, type, c->root, 0, c->comm->mpi, request)
            : MPI_Irecv((char *)c->recv + i * bytes, length, type, c->root, 0, c->comm->mpi, request));
  }
  return result;
}

static ncclResult_t exchange(const NcclCall *calls, size_t n) {
  ncclResult_t result = ncclSuccess;
  for (size_t i = 0; i < n && result == ncclSuccess; i++)
    if (nccl_travels(&calls[i])) result = post(&calls[i]);
  for (size_t i = 0; i < posted.n && result == ncclSuccess; i += MAX_PIECE)
    result = nccl_check_mpi(MPI_Waitall(next_piece(posted.n - i), posted.requests + i, MPI_STATUSES_IGNORE));
  free(posted.requests);
  posted.requests = NULL;
  posted.n = 0;
  return result;
}

const NcclCarrier nccl_mpi = {open_all, split, close_comm, run, exchange};
