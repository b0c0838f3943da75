// The processes of a run, by MPI.
#include "world_way.h"

#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "parcc.h"

enum { MAX_PIECE = 1 << 30 }; // bytes in one MPI call, whose counts are int

static bool running; // between MPI_Init and MPI_Finalize

#define CHECK_MPI(call)                                                                                                \
  do {                                                                                                                 \
    const int mpi_result_ = (call);                                                                                    \
    if (mpi_result_ != MPI_SUCCESS) mpi_failed(__LINE__, #call, mpi_result_);                                          \
  } while (0)

static _Noreturn void mpi_failed(int line, const char *call, int result) {
  char reason[MPI_MAX_ERROR_STRING] = "";
  int length;
  if (MPI_Error_string(result, reason, &length) != MPI_SUCCESS) reason[0] = '\0';
  parcc_check_failed(__FILE__, line, call, reason);
}

static World start(int *argc, char ***argv, const char *program) {
  (void)program;
  World world;
  int threads; // those of the runtime leave MPI alone
  CHECK_MPI(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &threads));
  running = true;
  CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &world.rank));
  CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &world.ranks));
  MPI_Comm machine;
  CHECK_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine));
  CHECK_MPI(MPI_Comm_rank(machine, &world.local_rank));
  CHECK_MPI(MPI_Comm_size(machine, &world.local_ranks));
  CHECK_MPI(MPI_Comm_free(&machine));
  return world;
}

static int piece(size_t left) { return left < MAX_PIECE ? (int)left : MAX_PIECE; }

static void broadcast(void *data, size_t bytes, int root) {
  for (size_t i = 0; running && i < bytes; i += MAX_PIECE)
    CHECK_MPI(MPI_Bcast((char *)data + i, piece(bytes - i), MPI_BYTE, root, MPI_COMM_WORLD));
}

static void all_gather(const void *send, void *recv, size_t bytes) {
  if (bytes > MAX_PIECE) fail_alone(FAIL_INTERNAL, "gather of %zu bytes a rank", bytes);
  if (running) CHECK_MPI(MPI_Allgather(send, (int)bytes, MPI_BYTE, recv, (int)bytes, MPI_BYTE, MPI_COMM_WORLD));
  else memcpy(recv, send, bytes);
}

static void send_to(const void *data, size_t bytes, int dst) {
  for (size_t i = 0; i < bytes; i += MAX_PIECE)
    CHECK_MPI(MPI_Send((const char *)data + i, piece(bytes - i), MPI_BYTE, dst, 0, MPI_COMM_WORLD));
}

static void recv_from(void *data, size_t bytes, int src) {
  for (size_t i = 0; i < bytes; i += MAX_PIECE)
    CHECK_MPI(MPI_Recv((char *)data + i, piece(bytes - i), MPI_BYTE, src, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void finish(void) {
  if (!running) return;
  running = false;
  CHECK_MPI(MPI_Finalize());
}

// The alarm is for an MPI that hangs while it ends the others. The launcher then does it.
static void abort_all(int code) {
  enum { SECONDS = 10 };
  signal(SIGALRM, SIG_DFL);
  alarm(SECONDS);
  if (running) MPI_Abort(MPI_COMM_WORLD, code);
}

// MPI ends whoever is left.
static bool told(void) { return false; }

const WorldWay world_mpi = {start, broadcast, all_gather, send_to, recv_from, finish, abort_all, told};
