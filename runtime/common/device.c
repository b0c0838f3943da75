// What a rank has on its device: streams, cuBLAS, communicators, events, the arena.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "fail.h"
#include "run.h"

Parcc parcc;

// Grow by one element; the arrays stay a handful of elements long.
static pthread_mutex_t comms_lock = PTHREAD_MUTEX_INITIALIZER; // the watching thread looks at them
static ncclComm_t *comms;                                      // the first holds all ranks
static size_t n_comms;
static struct {
  cudaEvent_t *events;
  int n;
} * event_sets;
static size_t n_event_sets;
static void *arena;
static size_t arena_bytes;

static void add_comm(ncclComm_t comm) {
  pthread_mutex_lock(&comms_lock);
  ncclComm_t *grown = realloc(comms, (n_comms + 1) * sizeof *comms);
  if (grown != NULL) {
    comms = grown;
    comms[n_comms++] = comm;
  }
  pthread_mutex_unlock(&comms_lock);
  if (grown == NULL) fail_alone(FAIL_RUN, "out of memory");
}

int device_count(void) {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices < 1)
    fail_alone(FAIL_RUN, "there is no device on this machine that can be used (%s); 'parcc-cc --target=host' builds the same program for processors",
               error != cudaSuccess ? cudaGetErrorString(error) : "none was found");
  return devices;
}

struct cudaDeviceProp device_properties(void) {
  struct cudaDeviceProp properties;
  int number;
  CHECK_CUDA(cudaGetDevice(&number));
  CHECK_CUDA(cudaGetDeviceProperties(&properties, number));
  return properties;
}

double device_memory(void) {
  size_t available, total;
  const int devices = device_count(), local_ranks = run.world.local_ranks;
  CHECK_CUDA(cudaMemGetInfo(&available, &total));
  return device_properties().integrated ? (double)total / local_ranks : (double)available / ((local_ranks + devices - 1) / devices);
}

// NCCL refuses two ranks on one device.
static void choose_device(void) {
#ifdef PARCC_STAGED
  const bool can_share = true;
#else
  const bool can_share = false;
#endif
  const int devices = device_count();
  if (run.world.local_ranks > devices && !can_share)
    fail_alone(
        FAIL_RUN,
        "%d ranks on this machine, but it has %d device%s; the ranks of a program that parcc-cc --staged built can "
        "share a device",
        run.world.local_ranks, devices, devices == 1 ? "" : "s");
  CHECK_CUDA(cudaSetDevice(run.world.local_rank % devices));
}

void device_start(void) {
  choose_device();
  CHECK_CUDA(cudaStreamCreateWithFlags(&parcc.compute, cudaStreamNonBlocking));
  CHECK_CUDA(cudaStreamCreateWithFlags(&parcc.comm, cudaStreamNonBlocking));
  CHECK_CUBLAS(cublasCreate(&parcc.cublas));
  CHECK_CUBLAS(cublasSetStream(parcc.cublas, parcc.compute));
  ncclUniqueId id;
  if (parcc.rank == 0) CHECK_NCCL(ncclGetUniqueId(&id));
  world_broadcast(&id, sizeof id, 0);
  ncclComm_t all;
  CHECK_NCCL(ncclCommInitRank(&all, parcc.ranks, id, parcc.rank));
  add_comm(all);
}

ncclComm_t parcc_axis(int stride, int size) {
  if (stride < 1 || size < 1 || parcc.ranks % (stride * size) != 0)
    fail_alone(FAIL_INTERNAL, "axis of stride %d and size %d in %d ranks", stride, size, parcc.ranks);
  return parcc_line(parcc.rank / (stride * size) * stride + parcc.rank % stride, parcc.rank / stride % size);
}

ncclComm_t parcc_line(int line, int place) {
  ncclComm_t comm;
  CHECK_NCCL(ncclCommSplit(comms[0], line, place, &comm, NULL));
  add_comm(comm);
  return comm;
}

void parcc_events(cudaEvent_t *events, int n) {
  void *grown = realloc(event_sets, (n_event_sets + 1) * sizeof *event_sets);
  if (grown == NULL) fail_alone(FAIL_RUN, "out of memory");
  event_sets = grown;
  event_sets[n_event_sets].events = events;
  event_sets[n_event_sets++].n = n;
  for (int i = 0; i < n; i++) CHECK_CUDA(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
}

char *parcc_arena(size_t bytes) {
  if (arena != NULL) fail_alone(FAIL_INTERNAL, "a second arena");
  const cudaError_t error = cudaMalloc(&arena, bytes > 0 ? bytes : 1);
  if (error == cudaErrorMemoryAllocation) {
    size_t available = 0, total = 0;
    CHECK_CUDA(cudaMemGetInfo(&available, &total));
    fail_alone(FAIL_RUN, "the tensors need %.1f MB of device memory, %.1f of %.1f MB are free", (double)bytes * 1e-6,
               (double)available * 1e-6, (double)total * 1e-6);
  }
  CHECK_CUDA(error);
  arena_bytes = bytes;
  return arena;
}

size_t device_bytes(void) { return arena_bytes; }

// A rank that fails takes its collectives with it; NCCL reports that here, and without asking one would wait for ever.
const char *device_communication_error(void) {
  const char *reason = NULL;
  pthread_mutex_lock(&comms_lock);
  for (size_t i = 0; i < n_comms && reason == NULL; i++) {
    ncclResult_t error = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(comms[i], &error);
    if (asked != ncclSuccess) error = asked;
    if (error != ncclSuccess && error != ncclInProgress) reason = ncclGetErrorString(error);
  }
  pthread_mutex_unlock(&comms_lock);
  return reason;
}

void device_wait(cudaEvent_t event) {
  cudaError_t state;
  while ((state = cudaEventQuery(event)) == cudaErrorNotReady) sched_yield();
  CHECK_CUDA(state);
}

void device_finish(void) {
  CHECK_CUDA(cudaDeviceSynchronize());
  for (size_t s = 0; s < n_event_sets; s++)
    for (int i = 0; i < event_sets[s].n; i++) CHECK_CUDA(cudaEventDestroy(event_sets[s].events[i]));
  free(event_sets);
  pthread_mutex_lock(&comms_lock);
  size_t n = n_comms;
  n_comms = 0; // nobody asks them any more
  pthread_mutex_unlock(&comms_lock);
  while (n > 0) CHECK_NCCL(ncclCommDestroy(comms[--n]));
  free(comms);
  CHECK_CUBLAS(cublasDestroy(parcc.cublas));
  CHECK_CUDA(cudaStreamDestroy(parcc.comm));
  CHECK_CUDA(cudaStreamDestroy(parcc.compute));
  CHECK_CUDA(cudaFree(arena));
}
