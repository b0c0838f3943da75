// NCCL on the host: communicators and collectives. What carries them between ranks is behind NcclCarrier.
#include "nccl_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

static char last_error[MPI_MAX_ERROR_STRING] = "no error"; // of MPI or CUDA

void nccl_set_error(const char *text) { snprintf(last_error, sizeof last_error, "%s", text); }

ncclResult_t nccl_check_cuda(cudaError_t error) {
  if (error == cudaSuccess) return ncclSuccess;
  nccl_set_error(cudaGetErrorString(error));
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

size_t nccl_type_bytes(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
  case ncclUint8: return 1;
  case ncclInt32:
  case ncclFloat: return 4;
  case ncclInt64:
  case ncclDouble: return 8;
  }
  return 0;
}

static bool is_op(ncclRedOp_t op) { return op == ncclSum || op == ncclProd || op == ncclMax || op == ncclMin; }

static bool usable(const void *send, const void *recv, size_t count, ncclComm_t comm) {
  return comm != NULL && (count == 0 || (send != NULL && recv != NULL));
}

void nccl_copy(void *dst, const void *src, size_t bytes) {
  if (dst != src && bytes > 0) memmove(dst, src, bytes);
}

// ---- communicators -------------------------------------------------------------------------------------------------

static ncclComm_t new_comm(const NcclCarrier *carrier) {
  ncclComm_t comm = malloc(sizeof *comm);
  if (comm != NULL) *comm = (struct ncclComm){.carrier = carrier, .mpi = MPI_COMM_NULL, .check = MPI_COMM_NULL};
  return comm;
}

// The end of making one: it is either the caller's or no more.
static ncclResult_t hand_out(ncclComm_t made, ncclResult_t result, ncclComm_t *comm) {
  if (result == ncclSuccess && made->ranks > 0) result = nccl_open(made);
  if (result == ncclSuccess && made->ranks > 0) *comm = made;
  else free(made);
  return result;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  memset(id, 0, sizeof *id);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank) {
  (void)id;
  int started = 0;
  const ncclResult_t asked = nccl_check_mpi(MPI_Initialized(&started));
  if (asked != ncclSuccess) return asked;
  ncclComm_t made = new_comm(world_is_tcp() ? &nccl_tcp : started ? &nccl_mpi : NULL);
  if (made == NULL) return ncclInternalError;
  if (made->carrier != NULL) return hand_out(made, made->carrier->open(made, ranks, rank), comm);
  made->ranks = 1;
  return hand_out(made, ranks == 1 && rank == 0 ? ncclSuccess : ncclInvalidArgument, comm);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *part, ncclConfig_t *config) {
  (void)config;
  if (comm == NULL || (color < 0 && color != NCCL_SPLIT_NOCOLOR)) return ncclInvalidArgument;
  *part = NULL;
  ncclComm_t made = new_comm(comm->carrier);
  if (made == NULL) return ncclInternalError;
  if (made->carrier != NULL) return hand_out(made, made->carrier->split(comm, color, key, made), part);
  made->ranks = color == NCCL_SPLIT_NOCOLOR ? 0 : 1;
  return hand_out(made, ncclSuccess, part);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) { return comm == NULL ? ncclInvalidArgument : ncclSuccess; }

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == NULL) return ncclInvalidArgument;
  nccl_close(comm);
  const ncclResult_t result = comm->carrier == NULL ? ncclSuccess : comm->carrier->close(comm);
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

ncclResult_t nccl_run(const NcclCall *call) {
  const size_t bytes = nccl_type_bytes(call->type);
  if (call->comm->ranks > 1) return call->comm->carrier->run(call, bytes);
  nccl_copy(call->recv, call->send, call->count * bytes);
  return ncclSuccess;
}

static ncclResult_t issue(const NcclCall *call, cudaStream_t stream) {
  return nccl_type_bytes(call->type) == 0 || !is_op(call->op) ? ncclInvalidArgument : nccl_issue(call, stream);
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
