// NCCL for ranks that share a GPU, which NCCL itself refuses (parcc-cc --staged): what a call reads is copied to host memory,
// the call is done there by what carries it (host/nccl_comm.h), and what it writes is copied back.
//
// A call is done when it returns, after all that its stream had before it. So ranks wait for each other in the order in which
// they issue calls, which is one order for all of them, and no stream ever waits for another rank.
#include "../host/nccl_comm.h"

#include <stdlib.h>

// What a call reads and writes on the device, and where in its place on the host that lies.
typedef struct {
  const void *in;
  void *out;
  size_t in_bytes, in_at, out_bytes, out_at;
  size_t bytes; // of the place
} Staging;

static struct {
  char *at; // pinned memory, NULL: none yet
  size_t bytes;
} place;
static int n_open; // communicators

static Staging plan(const NcclCall *c) {
  const size_t block = c->count * nccl_type_bytes(c->type), all = block * (size_t)c->comm->ranks, own = block * (size_t)c->comm->rank;
  const bool is_root = c->comm->rank == c->root;
  Staging s = {.in = c->send, .out = c->recv, .in_bytes = block, .out_bytes = block, .bytes = block};
  switch (c->kind) {
  case NCCL_ALL_REDUCE: break;
  case NCCL_REDUCE: s.out_bytes = is_root ? block : 0; break;
  case NCCL_BROADCAST:
    s.in_bytes = is_root ? block : 0;
    s.out_bytes = is_root && c->send == c->recv ? 0 : block;
    break;
  case NCCL_REDUCE_SCATTER:
    s.in_bytes = s.bytes = all;
    s.out_at = own;
    break;
  case NCCL_ALL_GATHER:
    s.out_bytes = s.bytes = all;
    s.in_at = own;
    break;
  case NCCL_SEND: s.out_bytes = 0; break;
  case NCCL_RECV: s.in_bytes = 0; break;
  case NCCL_DESTROY: s = (Staging){0}; break;
  }
  return s;
}

static ncclResult_t reserve(size_t bytes) {
  if (bytes == 0) bytes = 1; // an address even for nothing
  if (bytes <= place.bytes) return ncclSuccess;
  ncclResult_t result = nccl_check_cuda(cudaFreeHost(place.at));
  place.at = NULL;
  place.bytes = 0;
  void *at = NULL;
  if (result == ncclSuccess) result = nccl_check_cuda(cudaHostAlloc(&at, bytes, cudaHostAllocDefault));
  if (result != ncclSuccess) return result;
  place.at = at;
  place.bytes = bytes;
  return ncclSuccess;
}

static ncclResult_t wait_for(const cudaStream_t *streams, size_t n) {
  ncclResult_t result = ncclSuccess;
  for (size_t i = 0; i < n && result == ncclSuccess; i++)
    if (i == 0 || streams[i] != streams[i - 1]) result = nccl_check_cuda(cudaStreamSynchronize(streams[i]));
  return result;
}

// calls have the addresses on the host.
static ncclResult_t copy_in_and_run(const Staging *s, const NcclCall *calls, const cudaStream_t *streams, size_t n) {
  ncclResult_t result = ncclSuccess;
  for (size_t i = 0; i < n && result == ncclSuccess; i++)
    if (s[i].in_bytes > 0)
      result = nccl_check_cuda(
          cudaMemcpyAsync((void *)calls[i].send, s[i].in, s[i].in_bytes, cudaMemcpyDeviceToHost, streams[i]));
  if (result == ncclSuccess) result = wait_for(streams, n);
  if (result != ncclSuccess) return result;
  return calls[0].kind == NCCL_SEND || calls[0].kind == NCCL_RECV ? nccl_exchange(calls, n) : nccl_run(calls);
}

static ncclResult_t copy_out(const Staging *s, const NcclCall *calls, const cudaStream_t *streams, size_t n) {
  ncclResult_t result = ncclSuccess;
  for (size_t i = 0; i < n && result == ncclSuccess; i++)
    if (s[i].out_bytes > 0)
      result =
          nccl_check_cuda(cudaMemcpyAsync(s[i].out, calls[i].recv, s[i].out_bytes, cudaMemcpyHostToDevice, streams[i]));
  return result == ncclSuccess ? wait_for(streams, n) : result; // the place is free again
}

static ncclResult_t stage(Staging *s, NcclCall *calls, const cudaStream_t *streams, size_t n) {
  size_t bytes = 0;
  for (size_t i = 0; i < n; i++) {
    s[i] = plan(&calls[i]);
    bytes += s[i].bytes;
  }
  ncclResult_t result = reserve(bytes);
  if (result != ncclSuccess) return result;
  char *at = place.at;
  for (size_t i = 0; i < n; i++) {
    calls[i].send = at + s[i].in_at;
    calls[i].recv = at + s[i].out_at;
    at += s[i].bytes;
  }
  result = copy_in_and_run(s, calls, streams, n);
  return result == ncclSuccess ? copy_out(s, calls, streams, n) : result;
}

ncclResult_t nccl_issue(const NcclCall *call, cudaStream_t stream) {
  NcclCall staged = *call;
  Staging staging;
  return stage(&staging, &staged, &stream, 1);
}

ncclResult_t nccl_issue_messages(const NcclCall *calls, const cudaStream_t *streams, size_t n) {
  Staging *s = malloc(n * sizeof *s);
  NcclCall *staged = malloc(n * sizeof *staged);
  ncclResult_t result = s == NULL || staged == NULL ? ncclInternalError : ncclSuccess;
  for (size_t i = 0; i < n && staged != NULL; i++) staged[i] = calls[i];
  if (result == ncclSuccess) result = stage(s, staged, streams, n);
  free(s);
  free(staged);
  return result;
}

ncclResult_t nccl_open(ncclComm_t comm) {
  (void)comm;
  n_open++;
  return ncclSuccess;
}

void nccl_close(ncclComm_t comm) {
  (void)comm;
  if (--n_open > 0) return;
  cudaFreeHost(place.at);
  place.at = NULL;
  place.bytes = 0;
}
