// What the files of the NCCL replacement share.
#ifndef PARCC_HOST_NCCL_COMM_H
#define PARCC_HOST_NCCL_COMM_H

#include "nccl.h"

#include <mpi.h>
#include <stdbool.h>

#include "mesh.h"

typedef struct NcclCarrier NcclCarrier;

// Of ranks on several hosts, as many on each: those of this rank's host, and of each host the one that has this one's place there.
typedef struct {
  MeshGroup inner, outer;
  int *place; // in the communicator, of the ranks of one host after the other; NULL: there is one level
} NcclLevels;

struct ncclComm {
  const NcclCarrier *carrier; // NULL: the program has one rank
  int rank, ranks;
  MPI_Comm mpi;    // by MPI; else MPI_COMM_NULL
  MeshGroup group; // by TCP
  int *members;    // of the group
  NcclLevels levels;
  uint32_t parts;  // that were split off this one so far
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

// What carries calls between ranks: MPI (nccl_mpi.c), or TCP (nccl_tcp.c) where the ranks reach each other so (world.h).
struct NcclCarrier {
  ncclResult_t (*open)(ncclComm_t comm, int ranks, int rank); // of all ranks of the program
  // part: made with no ranks, which stays so where the colour is none.
  ncclResult_t (*split)(ncclComm_t comm, int color, int key, ncclComm_t part);
  ncclResult_t (*close)(ncclComm_t comm);
  ncclResult_t (*run)(const NcclCall *call, size_t bytes);   // a collective; bytes: of an element
  ncclResult_t (*exchange)(const NcclCall *calls, size_t n); // of those that travel
};
extern const NcclCarrier nccl_mpi, nccl_tcp;

// ---- of nccl_tcp: nccl_levels.c
// One level where hosts have one rank each, or not as many as others, or there is one host. These are false without memory.
bool nccl_levels_open(const MeshGroup *group, NcclLevels *levels);
void nccl_levels_close(NcclLevels *levels);
// A block of each rank, of so many bytes, at its place in the communicator: each rank has written its own.
bool nccl_levels_all_gather(const NcclLevels *levels, void *data, size_t bytes);

// Success or ncclSystemError, whose text is then what MPI says.
ncclResult_t nccl_check_mpi(int mpi_result);
void nccl_set_error(const char *text); // of a ncclSystemError

// Room for one more element in an array that holds n; grows at powers of two. NULL: out of memory.
void *nccl_make_room(void *array, size_t n, size_t element);

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

// Whether a message has something in it and goes to another rank.
static inline bool nccl_travels(const NcclCall *message) {
  return message->count > 0 && message->root != message->comm->rank;
}

size_t nccl_type_bytes(ncclDataType_t type); // 0: there is no such type
void nccl_copy(void *dst, const void *src, size_t bytes);

#endif
