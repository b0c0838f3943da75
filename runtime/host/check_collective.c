// Collectives of the checking mode: queued, and before one is done, compared on all ranks of its communicator.
//
// The first rank compares. Everybody sends it what he is at and waits for its word that all are at the same; it tells the
// others at once that it has come, so that whoever waits in vain knows for whom.
#include "check_offer.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"

static _Noreturn void fail_missing(ncclComm_t comm, int rank, const Offer *own) {
  fail_alone(FAIL_RUN, "collective %llu of a communicator: %s; rank %d has not come to it in %g seconds",
             own->sequence + 1, offer_text(own), offer_world_rank(comm, rank), check_timeout());
}

static void compare_all(ncclComm_t comm, const Offer *own, double until) {
  Offer *offers = malloc((size_t)comm->ranks * sizeof *offers);
  MPI_Request *requests = malloc((size_t)comm->ranks * sizeof(MPI_Request));
  if (offers == NULL || requests == NULL) fail_alone(FAIL_RUN, "out of memory");
  for (int r = 1; r < comm->ranks; r++) {
    offer_must(MPI_Irecv(&offers[r], (int)sizeof *offers, MPI_BYTE, r, OFFER, comm->check, &requests[r]));
    offer_must(MPI_Send(NULL, 0, MPI_BYTE, r, OFFER_HELLO, comm->check));
  }
  for (int r = 1; r < comm->ranks; r++) {
    if (!offer_wait(&requests[r], until)) fail_missing(comm, r, own);
    if (offer_fits(own, &offers[r])) continue;
    fail_alone(FAIL_RUN, "collective %llu of a communicator differs: %s; %s", own->sequence + 1, offer_text(own),
               offer_text(&offers[r]));
  }
  for (int r = 1; r < comm->ranks; r++) offer_must(MPI_Send(NULL, 0, MPI_BYTE, r, OFFER_VERDICT, comm->check));
  free(offers);
  free(requests);
}

static void wait_for_verdict(ncclComm_t comm, const Offer *own, double until) {
  MPI_Request request;
  offer_must(MPI_Send(own, (int)sizeof *own, MPI_BYTE, 0, OFFER, comm->check));
  offer_must(MPI_Irecv(NULL, 0, MPI_BYTE, 0, OFFER_HELLO, comm->check, &request));
  if (!offer_wait(&request, until)) fail_missing(comm, 0, own);
  // The first rank may wait as long for another, and will say for which one.
  offer_must(MPI_Irecv(NULL, 0, MPI_BYTE, 0, OFFER_VERDICT, comm->check, &request));
  if (!offer_wait(&request, until + 2 * check_timeout())) fail_missing(comm, 0, own);
}

void check_match(const NcclCall *call) {
  const ncclComm_t comm = call->comm;
  if (comm->check == MPI_COMM_NULL || comm->ranks == 1) return;
  const Offer own = offer_make(call, comm->sequence++);
  const double until = offer_clock() + check_timeout();
  if (comm->rank == 0) compare_all(comm, &own, until);
  else wait_for_verdict(comm, &own, until);
}

// ---- queueing

static void run_collective(void *args) {
  const NcclCall *call = args;
  check_match(call);
  const ncclResult_t result = nccl_run(call);
  if (result != ncclSuccess) fail_alone(FAIL_RUN, "%s: %s", check_text(check_running()), ncclGetErrorString(result));
}

void check_queue_collective(const NcclCall *call, cudaStream_t stream) {
  static const char *const names[] = {
      [NCCL_ALL_REDUCE] = "ncclAllReduce", [NCCL_REDUCE] = "ncclReduce",
      [NCCL_BROADCAST] = "ncclBroadcast",  [NCCL_REDUCE_SCATTER] = "ncclReduceScatter",
      [NCCL_ALL_GATHER] = "ncclAllGather",
  };
  const size_t bytes = call->count * nccl_type_bytes(call->type), all = bytes * (size_t)call->comm->ranks;
  const bool is_root = call->comm->rank == call->root;
  Item *item = check_queue(stream, names[call->kind], run_collective, call, sizeof *call);
  check_take_turn(item);
  item->hands_on = true;
  if (call->kind != NCCL_BROADCAST || is_root)
    check_reads(item, call->send, call->kind == NCCL_REDUCE_SCATTER ? all : bytes);
  const bool writes =
      call->kind == NCCL_BROADCAST ? !is_root || call->send != call->recv : call->kind != NCCL_REDUCE || is_root;
  if (writes) check_writes(item, call->recv, call->kind == NCCL_ALL_GATHER ? all : bytes);
}
