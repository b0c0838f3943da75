#include "cuda_runtime.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct CUstream_st {
  unsigned flags;
};

struct CUevent_st {
  unsigned flags;
  struct timespec recorded;
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

cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }

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
  *pointer = aligned_alloc(alignment, rounded);
  return *pointer == NULL ? result(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaFree(void *pointer) {
  free(pointer);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  if (flags != cudaHostAllocDefault) return result(cudaErrorInvalidValue);
  return cudaMalloc(pointer, bytes);
}

cudaError_t cudaFreeHost(void *pointer) { return cudaFree(pointer); }

cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind) {
  if (kind > cudaMemcpyDefault) return result(cudaErrorInvalidValue);
  if (bytes > 0) memmove(dst, src, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  (void)stream;
  return cudaMemcpy(dst, src, bytes, kind);
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  (void)stream;
  if (kind > cudaMemcpyDefault || width > dst_pitch || width > src_pitch) return result(cudaErrorInvalidValue);
  for (size_t row = 0; row < height && width > 0; row++)
    memmove((char *)dst + row * dst_pitch, (const char *)src + row * src_pitch, width);
  return cudaSuccess;
}

cudaError_t cudaMemset(void *dst, int value, size_t bytes) {
  if (bytes > 0) memset(dst, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *dst, int value, size_t bytes, cudaStream_t stream) {
  (void)stream;
  return cudaMemset(dst, value, bytes);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  *stream = malloc(sizeof **stream);
  if (*stream == NULL) return result(cudaErrorMemoryAllocation);
  (*stream)->flags = flags;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream == NULL) return result(cudaErrorInvalidResourceHandle);
  free(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  (void)stream;
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  (void)stream;
  if (event == NULL) return result(cudaErrorInvalidResourceHandle);
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
  (void)stream;
  if (event == NULL) return result(cudaErrorInvalidResourceHandle);
  if (!(event->flags & cudaEventDisableTiming)) clock_gettime(CLOCK_MONOTONIC, &event->recorded);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return event == NULL ? result(cudaErrorInvalidResourceHandle) : cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) { return cudaEventQuery(event); }

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (start == NULL || end == NULL || (start->flags | end->flags) & cudaEventDisableTiming)
    return result(cudaErrorInvalidResourceHandle);
  *milliseconds = (float)((double)(end->recorded.tv_sec - start->recorded.tv_sec) * 1e3 +
                          (double)(end->recorded.tv_nsec - start->recorded.tv_nsec) * 1e-6);
  return cudaSuccess;
}
