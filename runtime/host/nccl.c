// NCCL on MPI: communicators and collectives.
#include "nccl_mpi.h"

#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char last_error[MPI_MAX_ERROR_STRING] = "MPI failed"; // of MPI or CUDA

ncclResult_t nccl_check_mpi(int mpi_result) {
  if (mpi_result == MPI_SUCCESS) return ncclSuccess;
  int length;
  if (MPI_Error_string(mpi_result, last_error, &length) != MPI_SUCCESS)
    snprintf(last_error, sizeof last_error, "MPI error %d", mpi_result);
  return ncclSystemError;
}

ncclResult_t nccl_check_cuda(cudaError_t error) {
  if (error == cudaSuccess) return ncclSuccess;
  snprintf(last_error, sizeof last_error, "%s", cudaGetErrorString(error));
  return ncclUnhandledCudaError;
}

ncclResult_t ncclGetVersion(int *version) {
  if (version == NULL) return ncclInvalidArgument;
  *version = 22700;
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  switch (result) {
  case ncclSuccess: return "no error";
  case ncclUnhandledCudaError: return last_error;
  case ncclSystemError: return last_error;
  case ncclInternalError: return "internal error";
  case ncclInvalidArgument: return "invalid argument";
  case ncclInvalidUsage: return "invalid usage";
  case ncclRemoteError: return "remote process exited or there was a network error";
  case ncclInProgress: return "NCCL operation in progress";
  }
  return "unknown result code";
}

const char *ncclGetLastError(ncclComm_t comm) {
  (void)comm;
  return last_error;
}

// ---- types ---------------------------------------------------------------------------------------------------------

bool nccl_find_type(ncclDataType_t type, MPI_Datatype *mpi, size_t *bytes) {
  switch (type) {
  case ncclInt8:
    *mpi = MPI_INT8_T;
    *bytes = 1;
    return true;
  case ncclUint8:
    *mpi = MPI_UINT8_T;
    *bytes = 1;
    return true;
  case ncclInt32:
    *mpi = MPI_INT32_T;
    *bytes = 4;
    return true;
  case ncclInt64:
    *mpi = MPI_INT64_T;
    *bytes = 8;
    return true;
  case ncclFloat:
    *mpi = MPI_FLOAT;
    *bytes = 4;
    return true;
  case ncclDouble:
    *mpi = MPI_DOUBLE;
    *bytes = 8;
    return true;
  }
  return false;
}

static bool find_op(ncclRedOp_t op, MPI_Op *mpi) {
  switch (op) {
  case ncclSum: *mpi = MPI_SUM; return true;
  case ncclProd: *mpi = MPI_PROD; return true;
  case ncclMax: *mpi = MPI_MAX; return true;
  case ncclMin: *mpi = MPI_MIN; return true;
  }
  return false;
}

static bool usable(const void *send, const void *recv, size_t count, ncclComm_t comm) {
  return comm != NULL && (count == 0 || (send != NULL && recv != NULL));
}

static void copy(void *dst, const void *src, size_t bytes) {
  if (dst != src && bytes > 0) memmove(dst, src, bytes);
}

// ---- communicators -------------------------------------------------------------------------------------------------

static ncclResult_t make_comm(ncclComm_t *result, MPI_Comm mpi, int rank, int ranks) {
  ncclComm_t comm = malloc(sizeof *comm);
  if (comm == NULL) return ncclInternalError;
  *comm = (struct ncclComm){.mpi = mpi, .rank = rank, .ranks = ranks, .check = MPI_COMM_NULL};
  *result = comm;
  const ncclResult_t error = nccl_open(comm);
  if (error != ncclSuccess || mpi == MPI_COMM_NULL) return error;
  return nccl_check_mpi(MPI_Comm_set_errhandler(mpi, MPI_ERRORS_RETURN));
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  memset(id, 0, sizeof *id);
  return ncclSuccess;
}

// MPI allocates what it works on in every call. Freed memory is kept, as else each of them waits for the system to clear pages for it.
static void keep_freed_memory(void) {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank) {
  (void)id;
  int started = 0, mpi_ranks = 1, mpi_rank = 0;
  MPI_Comm mpi = MPI_COMM_NULL;
  ncclResult_t result = nccl_check_mpi(MPI_Initialized(&started));
  if (result != ncclSuccess) return result;
  if (started) {
    if ((result = nccl_check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &mpi_ranks))) != ncclSuccess) return result;
    if ((result = nccl_check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank))) != ncclSuccess) return result;
  }
  if (ranks != mpi_ranks || rank != mpi_rank) return ncclInvalidArgument;
  if (started) keep_freed_memory();
  if (started && (result = nccl_check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &mpi))) != ncclSuccess) return result;
  return make_comm(comm, mpi, rank, ranks);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *part, ncclConfig_t *config) {
  (void)config;
  if (comm == NULL || (color < 0 && color != NCCL_SPLIT_NOCOLOR)) return ncclInvalidArgument;
  *part = NULL;
  if (comm->mpi == MPI_COMM_NULL)
    return color == NCCL_SPLIT_NOCOLOR ? ncclSuccess : make_comm(part, MPI_COMM_NULL, 0, 1);
  MPI_Comm mpi;
  int rank, ranks;
  ncclResult_t result =
      nccl_check_mpi(MPI_Comm_split(comm->mpi, color == NCCL_SPLIT_NOCOLOR ? MPI_UNDEFINED : color, key, &mpi));
  if (result != ncclSuccess || mpi == MPI_COMM_NULL) return result;
  if ((result = nccl_check_mpi(MPI_Comm_size(mpi, &ranks))) != ncclSuccess) return result;
  if ((result = nccl_check_mpi(MPI_Comm_rank(mpi, &rank))) != ncclSuccess) return result;
  return make_comm(part, mpi, rank, ranks);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) { return comm == NULL ? ncclInvalidArgument : ncclSuccess; }

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == NULL) return ncclInvalidArgument;
  nccl_close(comm);
  const ncclResult_t result = comm->mpi == MPI_COMM_NULL ? ncclSuccess : nccl_check_mpi(MPI_Comm_free(&comm->mpi));
  free(comm);
  return result;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) { return ncclCommDestroy(comm); }

ncclResult_t ncclCommCount(ncclComm_t comm, int *count) {
  if (comm == NULL) return ncclInvalidArgument;
  *count = comm->ranks;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(ncclComm_t comm, int *rank) {
  if (comm == NULL) return ncclInvalidArgument;
  *rank = comm->rank;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) {
  if (comm == NULL) return ncclInvalidArgument;
  *error = ncclSuccess;
  return ncclSuccess;
}

// ---- collectives ---------------------------------------------------------------------------------------------------

static ncclResult_t run_all_reduce(const NcclCall *c, MPI_Datatype type, size_t bytes, MPI_Op op) {
  copy(c->recv, c->send, c->count * bytes);
  if (c->comm->ranks == 1) return ncclSuccess;
  ncclResult_t result = ncclSuccess;
  for (size_t i = 0; i < c->count && result == ncclSuccess; i += MAX_PIECE)
    result = nccl_check_mpi(
        MPI_Allreduce(MPI_IN_PLACE, (char *)c->recv + i * bytes, nccl_piece(c->count - i), type, op, c->comm->mpi));
  return result;
}

static ncclResult_t run_reduce(const NcclCall *c, MPI_Datatype type, size_t bytes, MPI_Op op) {
  const bool is_root = c->comm->rank == c->root; // recv is written on the root only
  if (is_root) copy(c->recv, c->send, c->count * bytes);
  if (c->comm->ranks == 1) return ncclSuccess;
  ncclResult_t result = ncclSuccess;
  for (size_t i = 0; i < c->count && result == ncclSuccess; i += MAX_PIECE)
    result = nccl_check_mpi(MPI_Reduce(is_root ? MPI_IN_PLACE : (const char *)c->send + i * bytes,
                                       is_root ? (char *)c->recv + i * bytes : NULL, nccl_piece(c->count - i), type, op,
                                       c->root, c->comm->mpi));
  return result;
}

static ncclResult_t run_broadcast(const NcclCall *c, MPI_Datatype type, size_t bytes) {
  if (c->comm->rank == c->root) copy(c->recv, c->send, c->count * bytes);
  if (c->comm->ranks == 1) return ncclSuccess;
  ncclResult_t result = ncclSuccess;
  for (size_t i = 0; i < c->count && result == ncclSuccess; i += MAX_PIECE)
    result =
        nccl_check_mpi(MPI_Bcast((char *)c->recv + i * bytes, nccl_piece(c->count - i), type, c->root, c->comm->mpi));
  return result;
}

// Where all the blocks together are more than MPI can count, one rank after the other gets its block.
static ncclResult_t run_reduce_scatter(const NcclCall *c, MPI_Datatype type, size_t bytes, MPI_Op op) {
  const size_t count = c->count;
  const int ranks = c->comm->ranks;
  if (ranks == 1) copy(c->recv, c->send, count * bytes);
  if (ranks == 1 || count == 0) return ncclSuccess;
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
  copy(own, c->send, count * bytes);
  if (ranks == 1 || count == 0) return ncclSuccess;
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

ncclResult_t nccl_run(const NcclCall *call) {
  MPI_Datatype type;
  MPI_Op op = MPI_SUM;
  size_t bytes;
  if (!nccl_find_type(call->type, &type, &bytes) || !find_op(call->op, &op)) return ncclInternalError;
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

static ncclResult_t issue(const NcclCall *call, cudaStream_t stream) {
  MPI_Datatype type;
  MPI_Op op;
  size_t bytes;
  if (!nccl_find_type(call->type, &type, &bytes) || !find_op(call->op, &op)) return ncclInvalidArgument;
  return nccl_issue(call, stream);
}

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  if (!usable(send, recv, count, comm)) return ncclInvalidArgument;
  const NcclCall call = {NCCL_ALL_REDUCE, send, recv, count, type, op, 0, comm};
  return issue(&call, stream);
}

ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  if (comm == NULL || root < 0 || root >= comm->ranks || !usable(send, comm->rank == root ? recv : send, count, comm))
    return ncclInvalidArgument;
  const NcclCall call = {NCCL_REDUCE, send, recv, count, type, op, root, comm};
  return issue(&call, stream);
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  if (comm == NULL || root < 0 || root >= comm->ranks || !usable(comm->rank == root ? send : recv, recv, count, comm))
    return ncclInvalidArgument;
  const NcclCall call = {NCCL_BROADCAST, send, recv, count, type, ncclSum, root, comm};
  return issue(&call, stream);
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  if (!usable(send, recv, count, comm)) return ncclInvalidArgument;
  const NcclCall call = {NCCL_REDUCE_SCATTER, send, recv, count, type, op, 0, comm};
  return issue(&call, stream);
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  if (!usable(send, recv, count, comm)) return ncclInvalidArgument;
  const NcclCall call = {NCCL_ALL_GATHER, send, recv, count, type, ncclSum, 0, comm};
  return issue(&call, stream);
}
