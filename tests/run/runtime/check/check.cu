// A step in the style of an emitted program: a gradient is summed over the ranks on stream comm while compute goes on, and
// then used. Its result is known. FAULT plants one fault, each of which the checking mode must name:
//
//   (none)     RIGHT
//   order      WAIT_MISSING RECORD_MISSING REUSE_EARLY
//   memory     OVERLAP ENDED UNDEFINED BEHIND BEFORE FAR WIDE_PRODUCT LONG_COLLECTIVE HOST_TOUCHES STAGING
//   ranks      BLOCKS COUNT SWAPPED KIND ROOT TYPE REDUCTION NEVER SKIPPED MESSAGE UNRECEIVED
#include "../test.h"

#include <unistd.h>

enum {
  RIGHT, WAIT_MISSING, RECORD_MISSING, REUSE_EARLY, OVERLAP, ENDED, UNDEFINED, BEHIND, BEFORE, FAR, WIDE_PRODUCT,
  LONG_COLLECTIVE, HOST_TOUCHES, STAGING, BLOCKS, COUNT, SWAPPED, KIND, ROOT, TYPE, REDUCTION, NEVER, SKIPPED, MESSAGE, UNRECEIVED
};
#ifndef FAULT
#define FAULT RIGHT
#endif
enum { N = 600, ARENA = 8 * 4096 };

static const double one = 1, zero = 0;
static struct {
  double *x, *w, *w_grad, *b_grad, *h, *y, *loss, *total;
} t;
static ncclComm_t all;
static cudaEvent_t event[4];
static double *staging;
static double expected;

__global__ void k_fill(double *__restrict__ y, long count, double value) { FLAT(i, count) y[i] = value; }
__global__ void k_scale(double *__restrict__ y, const double *__restrict__ x, long count, float factor) {
  FLAT(i, count) y[i] = (double)factor * x[i];
}
__global__ void k_add(double *__restrict__ y, const double *__restrict__ a, const double *__restrict__ b, long count) {
  FLAT(i, count) y[i] = a[i] + b[i];
}
__global__ void k_add_to(double *__restrict__ y, const double *__restrict__ x, long count) { FLAT(i, count) y[i] += x[i]; }
__global__ void k_sum(double *__restrict__ s, const double *__restrict__ x, long count) {
  GRID(r, 1) {
    double sum = 0;
    BLOCK(i, count) sum += x[i];
    s[r] = BLOCK_SUM(sum);
  }
}
// More arguments than there are registers, of all kinds.
__global__ void k_many(double *__restrict__ y, long a, float b, unsigned c, double d, unsigned long long e, long f, float g,
                       double h, float i, double j, long k, float l, double m, float n, double o, long p, unsigned q) {
  FLAT(at, 1)
  y[at] = (double)a + b + c + d + (double)e + (double)f + g + h + i + j + (double)k + l + m + n + o + (double)p + q;
}

static void record_and_wait(cudaEvent_t e, cudaStream_t from, cudaStream_t to) {
  CHECK_CUDA(cudaEventRecord(e, from));
  CHECK_CUDA(cudaStreamWaitEvent(to, e, 0));
}

// Ranks that do not agree on the size of the batch cut it into other blocks.
static void gather_batch(long samples) {
  const ParccDivision whole = {1, {{N, N, 1, 0, 0, 1, 2}}, 2, {{1, RANKS, -1}, {1, 1, -2}}};
  const ParccDivision parts = {1, {{N, N, 1, 0, 0, 1, 3}}, 2, {{1, RANKS, -2}, {1, 1, -2}}};
  parcc_all_gather(t.w_grad + N / RANKS * parcc.rank, &parts, t.w_grad, &whole, NULL, PARCC_DOUBLE, samples, 1, all);
}

static void sum_weights(void) {
  AT("dense all_reduce", "check.dnn:5");
  const int odd = parcc.rank == 1;
  if (FAULT == BLOCKS) gather_batch(odd ? N - 1 : N);
  if (FAULT == KIND && odd) CHECK_NCCL(ncclBroadcast(t.w_grad, t.w_grad, N, ncclDouble, 0, all, parcc.comm));
  else if (FAULT == TYPE && odd) CHECK_NCCL(ncclAllReduce(t.w_grad, t.w_grad, N, ncclInt64, ncclSum, all, parcc.comm));
  else if (FAULT == REDUCTION && odd) CHECK_NCCL(ncclAllReduce(t.w_grad, t.w_grad, N, ncclDouble, ncclMax, all, parcc.comm));
  else if (FAULT == LONG_COLLECTIVE)
    CHECK_NCCL(ncclAllReduce(t.w_grad, t.w_grad, ARENA, ncclDouble, ncclSum, all, parcc.comm));
  else CHECK_NCCL(ncclAllReduce(t.w_grad, t.w_grad, FAULT == COUNT && odd ? N - 1 : N, ncclDouble, ncclSum, all, parcc.comm));
}

static void sum_bias(void) {
  AT("bias all_reduce", "check.dnn:6");
  CHECK_NCCL(ncclAllReduce(t.b_grad, t.b_grad, N, ncclDouble, ncclSum, all, parcc.comm));
}

static void forward(void) {
  AT("input", "check.dnn:3");
  CHECK_CUDA(cudaEventSynchronize(event[3]));
  for (long i = 0; i < N; i++) staging[i] = 1 + parcc.rank;
  CHECK_CUDA(cudaMemcpyAsync(t.x, staging, N * sizeof(double), cudaMemcpyHostToDevice, parcc.compute));
  CHECK_CUDA(cudaEventRecord(event[3], parcc.compute));
  if (FAULT == STAGING) staging[7] = 3;
  if (FAULT == HOST_TOUCHES) t.x[3] = 1;
  AT("dense gradient", "check.dnn:5");
  LAUNCH_FLAT(k_scale, N, t.w_grad, t.x, N, 2.f);
  if (FAULT == RECORD_MISSING) CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
  else record_and_wait(event[0], parcc.compute, parcc.comm);
  if (FAULT == NEVER && parcc.rank == 1) sleep(30);
  if (FAULT == SWAPPED && parcc.rank == 1) {
    LAUNCH_FLAT(k_fill, N, t.b_grad, N, 1);
    record_and_wait(event[0], parcc.compute, parcc.comm);
    sum_bias();
    sum_weights();
  } else {
    if (!(FAULT == SKIPPED && parcc.rank == 1 && parcc.step == 3)) sum_weights();
    CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
    AT("bias gradient", "check.dnn:6");
    LAUNCH_FLAT(k_fill, N, t.b_grad, N, 1);
    record_and_wait(event[0], parcc.compute, parcc.comm);
    if (!(FAULT == SKIPPED && parcc.rank == 1 && parcc.step == 3)) sum_bias();
  }
  CHECK_CUDA(cudaEventRecord(event[2], parcc.comm));
}

static void memory_faults(void) {
  AT("hidden", "check.dnn:7");
  if (FAULT == BEHIND) LAUNCH_FLAT(k_fill, 2, (double *)((char *)t.x + ARENA) - 1, 2, 1);
  if (FAULT == BEFORE) LAUNCH_FLAT(k_fill, 1, t.x - 1, 1, 1);
  if (FAULT == FAR) LAUNCH_FLAT(k_fill, 1, (double *)((char *)t.x + ARENA + 5000), 1, 1);
  if (FAULT == WIDE_PRODUCT)
    CHECK_CUBLAS(cublasDgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, N, &one, t.x, ARENA, t.w, N, &zero, t.h, 2));
}

static void update(void) {
  AT("hidden", "check.dnn:7");
  LAUNCH_FLAT(k_scale, N, t.h, t.x, N, 0.5f);
  if (FAULT == REUSE_EARLY) LAUNCH_FLAT(k_fill, N, t.w_grad, N, 0);
  memory_faults();
  LIFETIME_END({t.x, N * sizeof(double)});
  AT("sgd", "check.dnn:9");
  if (FAULT != WAIT_MISSING) CHECK_CUDA(cudaStreamWaitEvent(parcc.compute, event[1], 0));
  LAUNCH_FLAT(k_add, N, t.w, t.w_grad, FAULT == ENDED ? t.x : t.h, N);
  LIFETIME_END({t.w_grad, N * sizeof(double)});
  CHECK_CUDA(cudaStreamWaitEvent(parcc.compute, event[2], 0));
  if (FAULT != UNDEFINED) LAUNCH_FLAT(k_fill, N, t.y, N, 1);
  AT("output", "check.dnn:10");
  LAUNCH_FLAT(k_add, N, FAULT == OVERLAP ? t.h + 10 : t.total, t.b_grad, t.y, N);
  LIFETIME_END({FAULT == OVERLAP ? t.h + 10 : t.total, N * sizeof(double)});
  LIFETIME_END({t.b_grad, N * sizeof(double)});
  LIFETIME_END({t.y, N * sizeof(double)});
  AT("loss", "check.dnn:11");
  LAUNCH_FLAT(k_add_to, N, t.w, t.h, N);
  LIFETIME_END({t.h, N * sizeof(double)});
  CHECK_CUBLAS(cublasDgemv(parcc.cublas, CUBLAS_OP_N, 1, N, &one, t.w, 1, t.w, 1, &zero, t.loss, 1));
  LAUNCH_ROWS(k_sum, 1, t.loss, t.w, N);
  CHECK_CUDA(cudaEventRecord(event[0], parcc.compute));
  CHECK_CUDA(cudaStreamWaitEvent(parcc.comm, event[0], 0));
  AT("loss all_reduce", "check.dnn:11");
  CHECK_NCCL(ncclReduce(t.loss, t.loss, 1, ncclDouble, ncclSum, FAULT == ROOT ? parcc.rank : 0, all, parcc.comm));
  CHECK_NCCL(ncclBroadcast(t.loss, t.loss, 1, ncclDouble, 0, all, parcc.comm));
  record_and_wait(event[2], parcc.comm, parcc.compute);
}

static void exchange(void) {
  AT("exchange", "check.dnn:12");
  const int next = (parcc.rank + 1) % RANKS, before = (parcc.rank + RANKS - 1) % RANKS;
  LAUNCH_FLAT(k_fill, 1, t.total, 1, parcc.rank);
  LAUNCH_FLAT(k_fill, 1, t.total + 1, 1, -1);
  record_and_wait(event[0], parcc.compute, parcc.comm);
  CHECK_NCCL(ncclGroupStart());
  CHECK_NCCL(ncclSend(t.total, 1, ncclDouble, next, all, parcc.comm));
  if (FAULT == MESSAGE) CHECK_NCCL(ncclRecv(t.total + 1, 2, ncclDouble, before, all, parcc.comm));
  else if (FAULT != UNRECEIVED || parcc.rank != 1)
    CHECK_NCCL(ncclRecv(t.total + 1, 1, ncclDouble, before, all, parcc.comm));
  CHECK_NCCL(ncclGroupEnd());
  record_and_wait(event[0], parcc.comm, parcc.compute);
  double got = 0;
  CHECK_CUDA(cudaMemcpyAsync(&got, t.total + 1, sizeof got, cudaMemcpyDeviceToHost, parcc.compute));
  EXPECT(got == before || FAULT == UNRECEIVED);
  LAUNCH_FLAT(k_many, 1, t.total, 1, 2.f, 3, 4., 5, -6, 7.f, 8., 9.f, 10., 11, 12.f, 13., 14.f, 15., 16, 17);
  CHECK_CUDA(cudaMemcpyAsync(&got, t.total, sizeof got, cudaMemcpyDeviceToHost, parcc.compute));
  EXPECT(got == 17 * 18 / 2 - 12);
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &test_model);
  all = parcc_axis(1, RANKS);
  parcc_events(event, 4);
  CHECK_CUDA(cudaHostAlloc((void **)&staging, N * sizeof(double), cudaHostAllocDefault));
  char *arena = parcc_arena(ARENA * 2);
  double **const tensor[] = {&t.x, &t.w, &t.w_grad, &t.b_grad, &t.h, &t.y, &t.loss, &t.total};
  for (int i = 0; i < 8; i++) *tensor[i] = (double *)(arena + i * (N * (int)sizeof(double) / 256 + 1) * 256);
  if (FAULT == BEHIND || FAULT == FAR) t.x = (double *)(arena + ARENA); // the arena ends ARENA bytes behind it
  while (parcc_next_step()) {
    forward();
    update();
    exchange();
    double loss = 0;
    CHECK_CUDA(cudaMemcpyAsync(&loss, t.loss, sizeof loss, cudaMemcpyDeviceToHost, parcc.compute));
    // a rank has w = 2 (1 + ... + RANKS) + 2 (rank + 1) / 2
    expected = N * (RANKS * RANKS * (RANKS + 1.) + RANKS * (RANKS + 1.) / 2);
    EXPECT(loss == expected);
    END_STEP(NULL, t.loss);
  }
  CHECK_CUDA(cudaFreeHost(staging));
  FINISH();
}
