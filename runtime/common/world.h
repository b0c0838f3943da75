// The processes of a run, before and beside NCCL: start-up, small messages between hosts, the end. With MPI
// (world_mpi.c), or without it for programs of one rank (world_single.c). An MPI fault ends all ranks.
#ifndef PARCC_WORLD_H
#define PARCC_WORLD_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
  int rank, ranks;
  int local_rank, local_ranks; // among the ranks of this machine
} World;

// Joins the other ranks. A program made for one rank that no launcher started does not touch MPI.
World world_start(int *argc, char ***argv, int wanted_ranks);

// The collectives below are called by all ranks.
void world_broadcast(void *data, size_t bytes, int root);
void world_all_gather(const void *send, void *recv, size_t bytes); // recv: bytes of every rank, in order

void world_send(const void *data, size_t bytes, int dst);
void world_recv(void *data, size_t bytes, int src);

// Leaves together with the other ranks.
void world_finish(void);

// Ends this process and, where they are known, all others. Can be called at any time.
_Noreturn void world_abort(int code);

#endif
