#include "check.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fail.h"

// Work is done when it is issued; in the checking mode it is queued (check.h).
struct CUstream_st {
  unsigned flags;
  int number; // of the checking mode
};

struct CUevent_st {
  unsigned flags;
  struct timespec recorded;
  Clock clock; // of the checking mode: what was before it
};

static cudaError_t last_error = cudaSuccess;
static int current_device;

// Every error also becomes the last one, as in CUDA.
static cudaError_t result(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

const char *cudaGetErrorName(cudaError_t error) {
  switch (error) {
  case cudaSuccess: return "cudaSuccess";
  case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
  case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
  case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
  case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
  case cudaErrorNotReady: return "cudaErrorNotReady";
  }
  return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
  switch (error) {
  case cudaSuccess: return "no error";
  case cudaErrorInvalidValue: return "invalid argument";
  case cudaErrorMemoryAllocation: return "out of memory";
  case cudaErrorInvalidDevice: return "invalid device ordinal";
  case cudaErrorInvalidResourceHandle: return "invalid resource handle";
  case cudaErrorNotReady: return "device not ready";
  }
  return "unrecognized error code";
}

cudaError_t cudaPeekAtLastError(void) { return last_error; }

cudaError_t cudaGetLastError(void) {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaGetDeviceCount(int *count) {
  *count = INT_MAX;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
  *device = current_device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0) return result(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) {
  if (parcc_checking) {
    check_drain();
    for (int s = 0; s < CHECK_STREAMS; s++) {
      const Clock clock = check_stream_clock(s);
      check_host_wait(&clock);
    }
  }
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
  const long page = sysconf(_SC_PAGESIZE), now = sysconf(_SC_AVPHYS_PAGES), all = sysconf(_SC_PHYS_PAGES);
  if (page < 0 || now < 0 || all < 0) return result(cudaErrorInvalidValue);
  *available = (size_t)page * (size_t)now;
  *total = (size_t)page * (size_t)all;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void **pointer, size_t bytes) {
  const size_t alignment = 256;
  if (bytes > SIZE_MAX - alignment) return result(cudaErrorMemoryAllocation);
  const size_t rounded = bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
  *pointer = parcc_checking ? check_allocate(bytes, true) : aligned_alloc(alignment, rounded);
  return *pointer == NULL ? result(cudaErrorMemoryAllocation) : cudaSuccess;
}

// Waits for all work, as CUDA does.
cudaError_t cudaFree(void *pointer) {
  if (parcc_checking && pointer != NULL) {
    cudaDeviceSynchronize();
    return check_free(pointer) ? cudaSuccess : result(cudaErrorInvalidValue);
  }
  free(pointer);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  if (flags != cudaHostAllocDefault) return result(cudaErrorInvalidValue);
  if (!parcc_checking) return cudaMalloc(pointer, bytes);
  *pointer = check_allocate(bytes, false);
  return *pointer == NULL ? result(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaFreeHost(void *pointer) { return cudaFree(pointer); }

// ---- copies: slices of rows of width bytes; a plain copy is one row

typedef struct {
  void *dst;
  const void *src;
  size_t dst_pitch, src_pitch, dst_slice, src_slice; // from one row, or slice, to the next
  size_t width, rows, slices;
  int value;       // of a memset
  bool pinned;     // from memory that cudaHostAlloc made
  uint64_t sum;    // of what was to be copied from there, when it was issued
  uint32_t writer; // of its first word then
  void *aside;     // copy of what was to be copied from other memory of the host; src points there
} Copy;

static const char *row_of_src(const Copy *c, size_t row) {
  return (const char *)c->src + row / c->rows * c->src_slice + row % c->rows * c->src_pitch;
}

static char *row_of_dst(const Copy *c, size_t row) {
  return (char *)c->dst + row / c->rows * c->dst_slice + row % c->rows * c->dst_pitch;
}

static uint64_t sum_of(const Copy *c) {
  uint64_t sum = 0xCBF29CE484222325u;
  for (size_t i = 0; i < c->rows * c->slices; i++)
    for (size_t k = 0; k < c->width; k++)
      sum = (sum ^ ((const unsigned char *)row_of_src(c, i))[k]) * 0x100000001B3u;
  return sum;
}

static uint32_t writer_of(const char *at) {
  const Allocation *a = check_find(at);
  return a == NULL || !check_inside(a, at, 1) ? 0 : a->writer[(size_t)(at - a->base) / CHECK_GRAIN];
}

static void run_copy(void *args) {
  const Copy *c = args;
  if (c->pinned && writer_of(c->src) == c->writer && sum_of(c) != c->sum)
    fail_alone(FAIL_RUN, "%s: the host changed what was to be copied before the copy was done",
               check_text(check_running()));
  for (size_t i = 0; i < c->rows * c->slices; i++) memmove(row_of_dst(c, i), row_of_src(c, i), c->width);
  free(c->aside);
}

// CUDA takes what lies in memory that is not pinned before it returns.
static void take_aside(Copy *c) {
  char *aside = malloc(c->width * c->rows * c->slices);
  if (aside == NULL) fail_alone(FAIL_RUN, "out of memory");
  for (size_t i = 0; i < c->rows * c->slices; i++) memcpy(aside + i * c->width, row_of_src(c, i), c->width);
  c->src = c->aside = aside;
  c->src_pitch = c->width;
  c->src_slice = c->width * c->rows;
}

static void run_set(void *args) {
  const Copy *c = args;
  memset(c->dst, c->value, c->width);
}

static void say_slices(Item *item, bool written, const char *at, size_t slice, const Copy *c, size_t pitch) {
  for (size_t i = 0; i < c->slices; i++) check_access(item, written, at + i * slice, c->width, pitch, c->rows);
}

// In the checking mode memory of the host is checked where cudaHostAlloc made it, and else passed over.
static void queue_copy(Copy *c, cudaMemcpyKind kind, const char *what, cudaStream_t stream) {
  const bool src_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDefault;
  const bool dst_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDefault;
  const Allocation *src = check_find(c->src), *dst = check_find(c->dst);
  const Copy given = *c;
  c->pinned = src != NULL && !src->device;
  c->sum = c->pinned ? sum_of(c) : 0;
  c->writer = writer_of(c->src);
  if (src_host && src == NULL) take_aside(c);
  Item *item = check_queue(stream, what, run_copy, c, sizeof *c);
  item->hands_on = !dst_host || (dst != NULL && dst->device);
  if (!src_host || src != NULL) say_slices(item, false, given.src, given.src_slice, c, given.src_pitch);
  if (!dst_host || dst != NULL) say_slices(item, true, given.dst, given.dst_slice, c, given.dst_pitch);
  if (dst_host && dst == NULL) cudaStreamSynchronize(stream); // CUDA returns when it has arrived
}

static cudaError_t copy(Copy *c, cudaMemcpyKind kind, const char *what, cudaStream_t stream) {
  if (kind > cudaMemcpyDefault) return result(cudaErrorInvalidValue);
  if (c->width == 0 || c->rows == 0 || c->slices == 0) return cudaSuccess;
  if (parcc_checking) queue_copy(c, kind, what, stream);
  else run_copy(c);
  return cudaSuccess;
}

// The host waits for the default stream alone.
static void finish_default_stream(void) {
  if (!parcc_checking) return;
  check_drain();
  const Clock clock = check_stream_clock(CHECK_DEFAULT_STREAM);
  check_host_wait(&clock);
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind) {
  Copy c = {.dst = dst, .src = src, .width = bytes, .rows = 1, .slices = 1};
  const cudaError_t error = copy(&c, kind, "cudaMemcpy", NULL);
  finish_default_stream();
  return error;
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  Copy c = {.dst = dst, .src = src, .width = bytes, .rows = 1, .slices = 1};
  return copy(&c, kind, "cudaMemcpyAsync", stream);
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  if (width > dst_pitch || width > src_pitch) return result(cudaErrorInvalidValue);
  Copy c = {.dst = dst,
            .src = src,
            .dst_pitch = dst_pitch,
            .src_pitch = src_pitch,
            .width = width,
            .rows = height,
            .slices = 1};
  return copy(&c, kind, "cudaMemcpy2DAsync", stream);
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream) {
  const struct cudaExtent *e = &p->extent;
  if (e->width > p->srcPtr.pitch || e->width > p->dstPtr.pitch) return result(cudaErrorInvalidValue);
  if (e->depth > 1 && (e->height > p->srcPtr.ysize || e->height > p->dstPtr.ysize))
    return result(cudaErrorInvalidValue);
  Copy c = {.dst = p->dstPtr.ptr,
            .src = p->srcPtr.ptr,
            .dst_pitch = p->dstPtr.pitch,
            .src_pitch = p->srcPtr.pitch,
            .dst_slice = p->dstPtr.pitch * p->dstPtr.ysize,
            .src_slice = p->srcPtr.pitch * p->srcPtr.ysize,
            .width = e->width,
            .rows = e->height,
            .slices = e->depth};
  return copy(&c, p->kind, "cudaMemcpy3DAsync", stream);
}

cudaError_t cudaMemsetAsync(void *dst, int value, size_t bytes, cudaStream_t stream) {
  Copy c = {.dst = dst, .width = bytes, .rows = 1, .value = value};
  if (bytes == 0) return cudaSuccess;
  if (parcc_checking) check_writes(check_queue(stream, "cudaMemsetAsync", run_set, &c, sizeof c), dst, bytes);
  else run_set(&c);
  return cudaSuccess;
}

cudaError_t cudaMemset(void *dst, int value, size_t bytes) {
  const cudaError_t error = cudaMemsetAsync(dst, value, bytes, NULL);
  finish_default_stream();
  return error;
}

// ---- streams and events

int check_stream_number(cudaStream_t stream) { return stream == NULL ? CHECK_DEFAULT_STREAM : stream->number; }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  *stream = malloc(sizeof **stream);
  if (*stream == NULL) return result(cudaErrorMemoryAllocation);
  (*stream)->flags = flags;
  (*stream)->number = parcc_checking ? check_add_stream(flags) : 0;
  return (*stream)->number < 0 ? result(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream == NULL) return result(cudaErrorInvalidResourceHandle);
  if (parcc_checking) check_remove_stream(stream->number);
  free(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (parcc_checking) {
    check_drain();
    const Clock clock = check_stream_clock(check_stream_number(stream));
    check_host_wait(&clock);
  }
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  if (event == NULL) return result(cudaErrorInvalidResourceHandle);
  if (parcc_checking) check_stream_wait(check_stream_number(stream), &event->clock);
  return flags == 0 ? cudaSuccess : result(cudaErrorInvalidValue);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  *event = calloc(1, sizeof **event);
  if (*event == NULL) return result(cudaErrorMemoryAllocation);
  (*event)->flags = flags;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event == NULL) return result(cudaErrorInvalidResourceHandle);
  free(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (event == NULL) return result(cudaErrorInvalidResourceHandle);
  if (parcc_checking) event->clock = check_stream_clock(check_stream_number(stream));
  if (!(event->flags & cudaEventDisableTiming)) clock_gettime(CLOCK_MONOTONIC, &event->recorded);
  return cudaSuccess;
}

// In the checking mode asking does the work, so the answer is always yes.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (event == NULL) return result(cudaErrorInvalidResourceHandle);
  if (parcc_checking) {
    check_drain();
    check_host_wait(&event->clock);
  }
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) { return cudaEventQuery(event); }

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (start == NULL || end == NULL || (start->flags | end->flags) & cudaEventDisableTiming)
    return result(cudaErrorInvalidResourceHandle);
  *milliseconds = (float)((double)(end->recorded.tv_sec - start->recorded.tv_sec) * 1e3 +
                          (double)(end->recorded.tv_nsec - start->recorded.tv_nsec) * 1e-6);
  return cudaSuccess;
}
