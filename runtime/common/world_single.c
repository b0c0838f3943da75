// The processes of a run where there is no MPI: one.
#include "world.h"

#include <string.h>
#include <unistd.h>

#include "fail.h"

World world_start(int *argc, char ***argv, int wanted_ranks) {
  (void)argc, (void)argv;
  if (wanted_ranks != 1)
    fail_alone(FAIL_RUN, "this program is for %d ranks, but its runtime was built without MPI: only 1 rank is possible",
               wanted_ranks);
  return (World){0, 1, 0, 1};
}

void world_broadcast(void *data, size_t bytes, int root) { (void)data, (void)bytes, (void)root; }

void world_all_gather(const void *send, void *recv, size_t bytes) {
  if (send != recv) memcpy(recv, send, bytes);
}

void world_send(const void *data, size_t bytes, int dst) {
  (void)data, (void)bytes;
  fail_alone(FAIL_INTERNAL, "message to rank %d of a run of one rank", dst);
}

void world_recv(void *data, size_t bytes, int src) {
  (void)data, (void)bytes;
  fail_alone(FAIL_INTERNAL, "message from rank %d of a run of one rank", src);
}

void world_finish(void) {}

_Noreturn void world_abort(int code) { _exit(code); }
