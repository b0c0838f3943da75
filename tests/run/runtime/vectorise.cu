// Loops that must vectorise on the host; run.sh looks at the code they become.
#include "test.h"

__global__ void k_exp_sum(float *__restrict__ out, const float *__restrict__ x, long n) {
  GRID(r, 1) {
    float sum = 0;
    BLOCK(i, n) sum += expf(x[i] - out[r]);
    out[r] = BLOCK_SUM(sum);
  }
}
__global__ void k_sum(float *__restrict__ out, const float *__restrict__ x, long n) {
  GRID(r, 1) {
    float sum = 0;
    BLOCK(i, n) sum += x[i];
    out[r] = BLOCK_SUM(sum);
  }
}
__global__ void k_max(float *__restrict__ out, const float *__restrict__ x, long n) {
  GRID(r, 1) {
    float top = -INFINITY;
    BLOCK_MAX_OF(top, i, n, x[i]);
    out[r] = BLOCK_MAX(top);
  }
}
__global__ void k_relu(float *__restrict__ y, const float *__restrict__ x, long n) {
  FLAT(i, n) y[i] = fmaxf(x[i], 0.f);
}
__global__ void k_tanh(float *__restrict__ y, const float *__restrict__ x, long n) { FLAT(i, n) y[i] = tanhf(x[i]); }
__global__ void k_columns(float *__restrict__ sum, const float *__restrict__ x, long cols, long rows) {
  GRID_LANES(c0, lanes, cols) {
    float acc[LANES];
    LANE(l, lanes) acc[l] = 0;
    for (long r = 0; r < rows; r++) LANE(l, lanes) acc[l] += x[r * cols + c0 + l];
    LANE(l, lanes) sum[c0 + l] = acc[l];
  }
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &test_model);
  float *x = (float *)parcc_arena(4 * 4096), *y = x + 2048;
  CHECK_CUDA(cudaMemset(x, 0, 4 * 4096));
  const long n = 1024 + argc;
  LAUNCH_ROWS(k_exp_sum, 1, y, x, n);
  LAUNCH_ROWS(k_sum, 1, y, x, n);
  LAUNCH_ROWS(k_max, 1, y, x, n);
  LAUNCH_FLAT(k_relu, n, y, x, n);
  LAUNCH_FLAT(k_tanh, n, y, x, n);
  LAUNCH_LANES(k_columns, 64, y, x, 64, 16);
  FINISH();
}
