// What ranks tell each other about their calls, and waiting for it with an end.
#include "check_offer.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fail.h"
#include "parcc.h"

static const char *const kind_names[] = {
    [NCCL_ALL_REDUCE] = "ncclAllReduce",
    [NCCL_REDUCE] = "ncclReduce",
    [NCCL_BROADCAST] = "ncclBroadcast",
    [NCCL_REDUCE_SCATTER] = "ncclReduceScatter",
    [NCCL_ALL_GATHER] = "ncclAllGather",
    [NCCL_SEND] = "ncclSend",
    [NCCL_RECV] = "ncclRecv",
    [NCCL_DESTROY] = "ncclCommDestroy",
};

static const char *type_name(int type) {
  switch ((ncclDataType_t)type) {
  case ncclInt8: return "int8";
  case ncclUint8: return "uint8";
  case ncclInt32: return "int";
  case ncclInt64: return "int64";
  case ncclFloat: return "float";
  case ncclDouble: return "double";
  }
  return "?";
}

static const char *op_name(int op) {
  static const char *const names[] = {[ncclSum] = "sum", [ncclProd] = "prod", [ncclMax] = "max", [ncclMin] = "min"};
  return names[op];
}

static bool reduces(int kind) { return kind == NCCL_ALL_REDUCE || kind == NCCL_REDUCE || kind == NCCL_REDUCE_SCATTER; }
static bool has_root(int kind) { return kind == NCCL_REDUCE || kind == NCCL_BROADCAST; }

Offer offer_make(const NcclCall *call, unsigned long long sequence) {
  Offer offer;
  memset(&offer, 0, sizeof offer);
  const Work *work = check_running();
  offer.kind = (int)call->kind;
  offer.rank = parcc.rank;
  offer.sequence = sequence;
  if (call->kind == NCCL_DESTROY) return offer;
  offer.type = (int)call->type;
  offer.op = (int)call->op;
  offer.root = call->root;
  offer.count = call->count;
  if (work != NULL && work->op != NULL) {
    snprintf(offer.operator, sizeof offer.operator, "%s", work->op);
    snprintf(offer.where, sizeof offer.where, "%s", work->where);
  }
  return offer;
}

const char *offer_text(const Offer *offer) {
  static char texts[4][400];
  static int next;
  char *text = texts[next++ % 4], detail[60] = "", place[220] = "";
  if (offer->kind == NCCL_DESTROY) {
    snprintf(text, sizeof texts[0], "rank %d: the end of the communicator", offer->rank);
    return text;
  }
  if (has_root(offer->kind)) snprintf(detail, sizeof detail, ", root %d", offer->root);
  if (offer->operator[0] != '\0') snprintf(place, sizeof place, " in %s (%s)", offer->operator, offer->where);
  snprintf(text, sizeof texts[0], "rank %d: %s of %llu %s%s%s%s%s", offer->rank, kind_names[offer->kind], offer->count,
           type_name(offer->type), reduces(offer->kind) ? ", " : "", reduces(offer->kind) ? op_name(offer->op) : "",
           detail, place);
  return text;
}

bool offer_fits(const Offer *a, const Offer *b) {
  const bool message = a->kind == NCCL_SEND || a->kind == NCCL_RECV;
  if (a->count != b->count || a->type != b->type) return false;
  if (message) return b->kind == NCCL_SEND || b->kind == NCCL_RECV;
  return a->kind == b->kind && a->sequence == b->sequence && (!reduces(a->kind) || a->op == b->op) &&
         (!has_root(a->kind) || a->root == b->root) && strcmp(a->operator, b->operator) == 0 &&
         strcmp(a->where, b->where) == 0;
}

double offer_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void offer_must(int mpi_result) {
  if (nccl_check_mpi(mpi_result) != ncclSuccess)
    fail_alone(FAIL_RUN, "checking mode: %s", ncclGetErrorString(ncclSystemError));
}

bool offer_wait(MPI_Request *request, double until) {
  int done = 0;
  for (long polls = 1;; polls++) {
    offer_must(MPI_Test(request, &done, MPI_STATUS_IGNORE));
    if (done) return true;
    sched_yield();
    if (polls % 64 == 0 && offer_clock() > until) return false;
  }
}

int offer_world_rank(ncclComm_t comm, int rank) {
  MPI_Group world, group;
  int result = rank;
  offer_must(MPI_Comm_group(MPI_COMM_WORLD, &world));
  offer_must(MPI_Comm_group(comm->check, &group));
  offer_must(MPI_Group_translate_ranks(group, 1, &rank, world, &result));
  MPI_Group_free(&world);
  MPI_Group_free(&group);
  return result;
}
