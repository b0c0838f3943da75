// Ranks that die, hang or stop. In step 3 (of many) the rank that the variable STALL_RANK names does what STALL says: "hang",
// "exit", "kill" or "stop". All ranks print their process ids first, so that a test can see that none is left.
#include "test.h"

#include <signal.h>
#include <unistd.h>

static void misbehave(const char *how) {
  sleep(2); // so that rank 0 has heard where this rank is
  if (strcmp(how, "exit") == 0) _exit(0); // even so: a rank that leaves without a word is a fault
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "stop") == 0) raise(SIGSTOP);
  while (strcmp(how, "hang") == 0) sleep(1);
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &test_model);
  const char *rank = getenv("STALL_RANK"), *how = getenv("STALL");
  const ncclComm_t all = parcc_axis(1, RANKS);
  double *loss = (double *)parcc_arena(256);
  printf("pid %ld\n", (long)getpid());
  fflush(stdout);
  parcc_stored(NULL, 0);
  parcc_load();
  while (parcc_next_step()) {
    const double value = 1;
    AT("dense1", "stall.dnn:5");
    if (parcc.step == 2 && how != NULL && (rank == NULL || atoi(rank) == parcc.rank)) misbehave(how);
    CHECK_CUDA(cudaMemcpyAsync(loss, &value, sizeof value, cudaMemcpyHostToDevice, parcc.compute));
    AT("loss", "stall.dnn:8");
    CHECK_NCCL(ncclAllReduce(loss, loss, 1, ncclDouble, ncclMax, all, parcc.compute));
    END_STEP(NULL, loss);
  }
  FINISH();
}
