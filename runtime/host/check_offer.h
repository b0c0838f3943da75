// What a rank tells the others of a communicator about a call, before it is done.
#ifndef PARCC_HOST_CHECK_OFFER_H
#define PARCC_HOST_CHECK_OFFER_H

#include "check.h"
#include "nccl_comm.h"

enum { OFFER_HELLO, OFFER, OFFER_VERDICT, OFFER_MESSAGE }; // tags on the communicator for checks

typedef struct {
  int kind, type, op, root;
  int rank; // of the program
  unsigned long long count, sequence;
  char operator[100], where[100];
} Offer;

Offer offer_make(const NcclCall *call, unsigned long long sequence);
// "rank 1: ncclAllReduce of 10 float, sum, in dense3 all_reduce (lenet.dnn:12)". Valid until the fourth next call.
const char *offer_text(const Offer *offer);
// Whether the ranks want the same; of messages, where one sends and the other receives.
bool offer_fits(const Offer *a, const Offer *b);

double offer_clock(void); // seconds
// Whether the request is done by then.
bool offer_wait(MPI_Request *request, double until);
void offer_must(int mpi_result);                 // success, or the run ends
int offer_world_rank(ncclComm_t comm, int rank); // what the program calls a rank of the communicator

#endif
