// Faults of a run. CASE 1: cuBLAS refuses on the last rank. 2: NCCL refuses on all. 3: the loss is NaN at the third step.
// 4: too much memory. 5: the loss is infinite. 6: the program's own mistake. 7: no fault.
#include "test.h"

#ifndef CASE
#define CASE 7
#endif

int main(int argc, char **argv) {
  parcc_start(argc, argv, &test_model);
  const ncclComm_t all = parcc_axis(1, RANKS);
  double *loss = (double *)parcc_arena(CASE == 4 ? (size_t)1 << 60 : 256);
  const float one = 1;
  float *matrix = (float *)(loss + 1);
  while (parcc_next_step()) {
    double value = 1;
    if (CASE == 3 && parcc.step == 2) value = NAN;
    if (CASE == 5 && parcc.step == 3) value = -INFINITY;
    AT("dense1", "faults.dnn:5");
    if (CASE == 1 && parcc.step == 1 && parcc.rank == RANKS - 1)
      CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 1, 1, &one, matrix, 3, matrix, 1, &one, matrix, 4));
    AT("loss", "faults.dnn:8");
    if (CASE == 2) CHECK_NCCL(ncclReduce(loss, loss, 1, ncclDouble, ncclSum, RANKS, all, parcc.comm));
    if (CASE == 6) parcc_batch(0, loss, NULL);
    CHECK_CUDA(cudaMemcpyAsync(loss, &value, sizeof value, cudaMemcpyHostToDevice, parcc.compute));
    CHECK_NCCL(ncclAllReduce(loss, loss, 1, ncclDouble, ncclMax, all, parcc.compute));
    END_STEP(NULL, loss);
  }
  FINISH();
}
