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
};

enum { MAX_PIECE = 1 << 30 };

static inline int nccl_piece(size_t left) { return left < MAX_PIECE ? (int)left : MAX_PIECE; }

// Success or ncclSystemError, whose text is then what MPI says.
ncclResult_t nccl_check_mpi(int mpi_result);

// The MPI type and the size of a type; false if there is none.
bool nccl_find_type(ncclDataType_t type, MPI_Datatype *mpi, size_t *bytes);

#endif
