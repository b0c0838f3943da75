// Sends and receives of the checking mode. A message begins with the sender's offer, which the receiver compares with its
// own. What is sent is copied, so that a send waits for nobody: that is more than NCCL promises, and never less.
#include "check_offer.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

typedef struct Sent Sent;
struct Sent {
  Sent *next;
  MPI_Request request;
  ncclComm_t comm;
  int peer;
  char *bytes; // an Offer, and what is sent
};
static Sent *pending;

typedef struct {
  size_t n;
  NcclCall calls[];
} Messages;

static size_t bytes_of(const NcclCall *call) { return call->count * nccl_type_bytes(call->type); }

static void send_message(const NcclCall *call) {
  const size_t bytes = bytes_of(call);
  Sent *sent = malloc(sizeof *sent);
  if (sent == NULL || (sent->bytes = malloc(sizeof(Offer) + bytes)) == NULL) fail_alone(FAIL_RUN, "out of memory");
  if (bytes > INT_MAX - sizeof(Offer))
    fail_alone(FAIL_RUN, "checking mode: %s: a message of %zu bytes", check_text(check_running()), bytes);
  const Offer own = offer_make(call, 0);
  memcpy(sent->bytes, &own, sizeof own);
  if (bytes > 0) memcpy(sent->bytes + sizeof own, call->send, bytes);
  sent->comm = call->comm;
  sent->peer = call->root;
  sent->next = pending;
  pending = sent;
  offer_must(MPI_Isend(sent->bytes, (int)(sizeof own + bytes), MPI_BYTE, call->root, OFFER_MESSAGE, call->comm->check,
                       &sent->request));
}

static void receive_message(const NcclCall *call) {
  const double until = offer_clock() + check_timeout();
  const Offer own = offer_make(call, 0);
  MPI_Message message;
  MPI_Status status;
  int there = 0, bytes = 0;
  while (!there) {
    offer_must(MPI_Improbe(call->root, OFFER_MESSAGE, call->comm->check, &there, &message, &status));
    if (!there && offer_clock() > until)
      fail_alone(FAIL_RUN, "%s; rank %d has not sent it in %g seconds", offer_text(&own),
                 offer_world_rank(call->comm, call->root), check_timeout());
    if (!there) sched_yield();
  }
  offer_must(MPI_Get_count(&status, MPI_BYTE, &bytes));
  char *received = malloc((size_t)bytes);
  if (received == NULL) fail_alone(FAIL_RUN, "out of memory");
  offer_must(MPI_Mrecv(received, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE));
  Offer other;
  memcpy(&other, received, sizeof other);
  if (!offer_fits(&own, &other))
    fail_alone(FAIL_RUN, "a message differs: %s; %s", offer_text(&own), offer_text(&other));
  if (call->count > 0) memcpy(call->recv, received + sizeof other, bytes_of(call));
  free(received);
}

static void run_messages(void *args) {
  const Messages *m = args;
  if (m->calls[0].comm->mpi == MPI_COMM_NULL) {
    const ncclResult_t result = nccl_exchange(m->calls, m->n);
    if (result != ncclSuccess) fail_alone(FAIL_RUN, "%s: %s", check_text(check_running()), ncclGetErrorString(result));
    return;
  }
  for (size_t i = 0; i < m->n; i++)
    if (m->calls[i].kind == NCCL_SEND) send_message(&m->calls[i]);
  for (size_t i = 0; i < m->n; i++)
    if (m->calls[i].kind == NCCL_RECV) receive_message(&m->calls[i]);
}

void check_queue_messages(const NcclCall *calls, size_t n, cudaStream_t stream) {
  const size_t bytes = sizeof(Messages) + n * sizeof *calls;
  Messages *m = malloc(bytes);
  if (m == NULL) fail_alone(FAIL_RUN, "out of memory");
  m->n = n;
  memcpy(m->calls, calls, n * sizeof *calls);
  const char *what = n > 1 ? "messages" : calls[0].kind == NCCL_SEND ? "ncclSend" : "ncclRecv";
  Item *item = check_queue(stream, what, run_messages, m, bytes);
  check_take_turn(item);
  item->hands_on = true;
  for (size_t i = 0; i < n; i++)
    if (calls[i].kind == NCCL_SEND) check_reads(item, calls[i].send, bytes_of(&calls[i]));
    else check_writes(item, calls[i].recv, bytes_of(&calls[i]));
  free(m);
}

// All ranks have done all their work when this is called.
void check_finish_messages(ncclComm_t comm) {
  if (comm->check == MPI_COMM_NULL) return;
  int there = 0;
  MPI_Status status;
  offer_must(MPI_Iprobe(MPI_ANY_SOURCE, OFFER_MESSAGE, comm->check, &there, &status));
  if (there)
    fail_alone(FAIL_RUN, "rank %d has sent a message that was never received",
               offer_world_rank(comm, status.MPI_SOURCE));
  for (Sent **at = &pending; *at != NULL;) {
    Sent *sent = *at;
    if (sent->comm != comm) {
      at = &sent->next;
      continue;
    }
    if (!offer_wait(&sent->request, offer_clock() + check_timeout()))
      fail_alone(FAIL_RUN, "rank %d has not received a message in %g seconds", offer_world_rank(comm, sent->peer),
                 check_timeout());
    *at = sent->next;
    free(sent->bytes);
    free(sent);
  }
}
