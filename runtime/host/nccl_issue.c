// What becomes of the calls of NCCL on the host: device memory is host memory, so they are done when they are issued, or queued
// in the checking mode.
#include "check.h"
#include "fail.h"
#include "nccl_comm.h"

ncclResult_t nccl_open(ncclComm_t comm) {
  if (parcc_checking && comm->carrier == &nccl_tcp)
    fail_alone(FAIL_MISUSE, "in the checking mode ranks compare their calls by MPI: start the program by mpiexec");
  if (!parcc_checking || comm->mpi == MPI_COMM_NULL) return ncclSuccess;
  return nccl_check_mpi(MPI_Comm_dup(comm->mpi, &comm->check));
}

void nccl_close(ncclComm_t comm) {
  if (!parcc_checking) return;
  check_drain();
  const NcclCall destroy = {.kind = NCCL_DESTROY, .comm = comm};
  check_match(&destroy);
  check_finish_messages(comm);
  if (comm->check != MPI_COMM_NULL) MPI_Comm_free(&comm->check);
}

ncclResult_t nccl_issue(const NcclCall *call, cudaStream_t stream) {
  if (!parcc_checking) return nccl_run(call);
  check_queue_collective(call, stream);
  return ncclSuccess;
}

// In the checking mode all calls of a group are on one stream, which programs of this compiler keep to.
ncclResult_t nccl_issue_messages(const NcclCall *calls, const cudaStream_t *streams, size_t n) {
  if (!parcc_checking) return nccl_exchange(calls, n);
  for (size_t i = 1; i < n; i++)
    if (streams[i] != streams[0]) return ncclInvalidUsage;
  check_queue_messages(calls, n, streams[0]);
  return ncclSuccess;
}
