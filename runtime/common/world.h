// The processes of a run, before and beside NCCL: start-up, small messages between hosts, the end. By MPI (world_mpi.c) where
// mpiexec or a launcher that speaks PMI started the program, by TCP alone (world_tcp.c) where another launcher did
// (launcher.h); without a launcher there is one process. A fault ends all ranks.
#ifndef PARCC_WORLD_H
#define PARCC_WORLD_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
  int rank, ranks;
  int local_rank, local_ranks; // among the ranks of this machine
} World;

// Joins the other ranks. A program made for one rank that no launcher started does not touch MPI. program: what tells it from
// others, or NULL.
World world_start(int *argc, char ***argv, const char *program, int wanted_ranks);

// "rank 3", or "rank 3 on HOST" where the ranks are on several hosts. Valid until the next call before world_start has
// returned, after that to the end.
const char *world_name(int rank);
// The number of the host that a rank is on, counted by their first ranks, and what it is called.
int world_host(int rank);
int world_hosts(void); // how many there are
int world_ranks_on(int host); // how many ranks
const char *world_host_name(int host);
bool world_is_tcp(void);
bool world_has_mpi(void); // the program was linked with it
// What starts several ranks, up to their number: "mpiexec -n ". In words that all its versions take.
const char *world_launcher(void);

// The collectives below are called by all ranks.
void world_broadcast(void *data, size_t bytes, int root);
void world_all_gather(const void *send, void *recv, size_t bytes); // recv: bytes of every rank, in order
double world_most(double value);                                   // of those of all ranks

void world_send(const void *data, size_t bytes, int dst);
void world_recv(void *data, size_t bytes, int src);

// Leaves together with the other ranks.
void world_finish(void);

// Whether another rank is ending the run and has said why. Can be called at any time, by any thread.
bool world_told(void);

// Ends this process and, where they are known, all others. Can be called at any time.
_Noreturn void world_abort(int code);

#endif
