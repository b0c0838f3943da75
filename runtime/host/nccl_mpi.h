// What the files of the NCCL replacement share.
//
// MPI counts are int, NCCL counts are size_t: long messages go in pieces of at most MAX_PIECE elements.
#ifndef PARCC_HOST_NCCL_MPI_H
#define PARCC_HOST_NCCL_MPI_H

#include "nccl.h"

#include <mpi.h>
#include <stdbool.h>

struct ncclComm {
  MPI_Comm mpi; // MPI_COMM_NULL where the program runs without MPI
  int rank, ranks;
  // Of the checking mode:
  MPI_Comm check;              // a second one of the same ranks, for what they tell each other
  unsigned long long sequence; // collectives so far
};

typedef enum {
  NCCL_ALL_REDUCE,
  NCCL_REDUCE,
  NCCL_BROADCAST,
  NCCL_REDUCE_SCATTER,
  NCCL_ALL_GATHER,
  NCCL_SEND,
  NCCL_RECV,
  NCCL_DESTROY, // of the communicator: for the checking mode, a collective
} NcclKind;

// One call, whose arguments were found to be right.
typedef struct {
  NcclKind kind;
  const void *send;
  void *recv;
  size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  int root; // or peer
  ncclComm_t comm;
} NcclCall;

enum { MAX_PIECE = 1 << 30 };

static inline int nccl_piece(size_t left) { return left < MAX_PIECE ? (int)left : MAX_PIECE; }

// Success or ncclSystemError, whose text is then what MPI says.
ncclResult_t nccl_check_mpi(int mpi_result);

ncclResult_t nccl_check_cuda(cudaError_t error); // success or ncclUnhandledCudaError, whose text is then what CUDA says

// Both are done when they return, on memory of the host.
ncclResult_t nccl_run(const NcclCall *call);                 // a collective
ncclResult_t nccl_exchange(const NcclCall *calls, size_t n); // sends and receives, none of which waits for another

// ---- what becomes of a call: it is done at once, or queued in the checking mode (nccl_issue.c), or done on copies in host
// memory (../cuda/staged.c)
ncclResult_t nccl_issue(const NcclCall *call, cudaStream_t stream);                             // a collective
ncclResult_t nccl_issue_messages(const NcclCall *calls, const cudaStream_t *streams, size_t n); // of one group; n > 0
ncclResult_t nccl_open(ncclComm_t comm); // a communicator was made, or is about to be destroyed
void nccl_close(ncclComm_t comm);

// ---- of the checking mode: check_collective.c
void check_queue_collective(const NcclCall *call, cudaStream_t stream);
void check_queue_messages(const NcclCall *calls, size_t n, cudaStream_t stream); // that belong together
void check_match(const NcclCall *call);      // all ranks of the communicator are at the same call, or the run ends
void check_finish_messages(ncclComm_t comm); // what was sent has been received, or the run ends

// The MPI type and the size of a type; false if there is none.
bool nccl_find_type(ncclDataType_t type, MPI_Datatype *mpi, size_t *bytes);

#endif
