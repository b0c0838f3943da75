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

ncclResult_t nccl_run(const NcclCall *call); // a collective

// ---- of the checking mode: check_collective.c
void check_queue_collective(const NcclCall *call, cudaStream_t stream);
// Sends and receives that belong together, on one stream; those of a program without MPI are done by `alone`.
typedef ncclResult_t RunMessages(const NcclCall *calls, size_t n);
void check_queue_messages(const NcclCall *calls, size_t n, cudaStream_t stream, RunMessages *alone);
void check_match(const NcclCall *call);      // all ranks of the communicator are at the same call, or the run ends
void check_finish_messages(ncclComm_t comm); // what was sent has been received, or the run ends

// The MPI type and the size of a type; false if there is none.
bool nccl_find_type(ncclDataType_t type, MPI_Datatype *mpi, size_t *bytes);

#endif
