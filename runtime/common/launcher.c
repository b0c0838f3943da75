#include "launcher.h"

#include <limits.h>
#include <stdlib.h>

#include "fail.h"
#include "options.h"
#include "world.h"

// The first that has both a rank and a number of ranks counts.
static const struct {
  const char *rank, *ranks, *local_rank, *local_ranks;
} launchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"}, // torchrun, Kubernetes' training operators, scripts
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", NULL},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}, // MPICH
};

bool launcher_is_mpi(void) {
  static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    if (getenv(variables[i]) != NULL) return true;
  return false;
}

static const char *find(const char *variable) { return variable == NULL ? NULL : getenv(variable); }

// The value of a variable, a number up to `most`; `missing` where it is not set.
static int read_number(const char *variable, unsigned long long most, int missing) {
  const char *text = find(variable);
  unsigned long long value;
  if (text == NULL) return missing;
  if (!options_read_count(text, most, &value))
    fail_alone(FAIL_MISUSE, "%s is '%.40s' in the environment, expected a number up to %llu", variable, text, most);
  return (int)value;
}

bool launcher_read(Launch *launch) {
  enum { MOST_RANKS = 1 << 16, MOST_PORT = 65535, DEFAULT_SECONDS = 120 };
  size_t i = 0;
  const size_t n = sizeof launchers / sizeof *launchers;
  while (i < n && (find(launchers[i].rank) == NULL || find(launchers[i].ranks) == NULL)) i++;
  if (i == n) return false;
  launch->ranks = read_number(launchers[i].ranks, MOST_RANKS, 1);
  if (launch->ranks < 1) fail_alone(FAIL_MISUSE, "%s is 0 in the environment", launchers[i].ranks);
  launch->rank = read_number(launchers[i].rank, (unsigned long long)launch->ranks - 1, 0);
  launch->local_rank = read_number(launchers[i].local_rank, (unsigned long long)launch->ranks - 1, -1);
  launch->local_ranks = read_number(launchers[i].local_ranks, (unsigned long long)launch->ranks, 0);
  if (launch->local_ranks > 0 && launch->local_rank >= launch->local_ranks)
    fail_alone(FAIL_MISUSE, "%s is %d in the environment, but %s is %d", launchers[i].local_rank, launch->local_rank,
               launchers[i].local_ranks, launch->local_ranks);
  launch->address = getenv("MASTER_ADDR");
  if (launch->ranks > 1 && (launch->address == NULL || launch->address[0] == '\0'))
    fail_alone(FAIL_MISUSE,
               "%s says that this is one of %d ranks; set MASTER_ADDR to the host of rank 0, or start it by: %s%d ...",
               launchers[i].ranks, launch->ranks, world_launcher(), launch->ranks);
  launch->port = getenv("MASTER_PORT");
  if (launch->port == NULL) launch->port = "29500";
  else if (read_number("MASTER_PORT", MOST_PORT, 0) == 0)
    fail_alone(FAIL_MISUSE, "MASTER_PORT is 0 in the environment");
  launch->seconds = read_number("PARCC_START_SECONDS", INT_MAX, DEFAULT_SECONDS);
  return true;
}
