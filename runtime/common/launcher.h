// Who started this process, by the environment that launchers give to the processes of a run.
#ifndef PARCC_LAUNCHER_H
#define PARCC_LAUNCHER_H

#include <stdbool.h>

typedef struct {
  int rank, ranks;
  int local_rank;      // on this host; -1: not told
  int local_ranks;     // on this host; 0: not told
  const char *address; // of the host of rank 0, a name or a number
  const char *port;    // at which rank 0 listens there
  double seconds;      // that the ranks have to come together
} Launch;

// mpiexec, or srun --mpi=pmix or pmi2.
bool launcher_is_mpi(void);

// By RANK and WORLD_SIZE, or those of Slurm or an mpiexec, with MASTER_ADDR, MASTER_PORT (default 29500) and
// PARCC_START_SECONDS (default 120). False: there are none, so that this process is alone. Values that say no such thing
// end the run.
bool launcher_read(Launch *launch);

#endif
