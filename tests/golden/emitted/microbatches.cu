// net on 2 ranks. Written by parcc from microbatches.dnn; edit freely, or run parcc again.
//
//   mesh        gpu=2
//   plan        read from microbatches.in.plan
//   batch       6 samples, in 3 microbatches
//   parameters  238
//   memory      5120 bytes on each device, in one arena (largest sum of live tensors: 5120)
//   moved by the busiest rank in a step: forward 12 collectives, 240 bytes; backward 6 collectives, 204 bytes; combine 2 collectives, 436 bytes; report 1 collective, 8 bytes
//
//   parcc-cc THIS.cu -o PROG && mpiexec -n 2 PROG --data DIR

#include "parcc.h"

enum { RANKS = 2, GPU = 2, MICROBATCHES = 3 };
static int micro; // the microbatch at hand
static const float one = 1, zero = 0;

static Interval co; // this rank's part of 10, over gpu
static Interval n; // this rank's part of 2, over gpu
static Interval n_2; // this rank's part of 2, over no axis
static Interval n_3; // this rank's part of 6, over no axis
static Interval n_4; // this rank's part of 6, over gpu
static ncclComm_t over_gpu;
static cudaEvent_t event[4];
static long samples = 6; // in the batch at hand

// How tensors are divided: extent, units, scale, before, after, div and axes of each dimension; stride, size and place of
// each axis (-1: replicated, -2: divided, else the coordinate that holds the tensor).
static const ParccDivision division[] = {
    {2, {{2, 2, 1, 0, 0, 1, 2}, {10, 10, 1, 0, 0, 1, 1}}, 2, {{1, 2, -2}, {1, 1, -2}}},
    {2, {{2, 2, 1, 0, 0, 1, 3}, {10, 0, 1, 0, 0, 1, 0}}, 2, {{1, 2, -2}, {1, 1, -2}}},
    {2, {{6, 6, 1, 0, 0, 1, 3}, {12, 0, 1, 0, 0, 1, 0}}, 2, {{1, 2, -2}, {1, 1, -2}}},
    {2, {{6, 6, 1, 0, 0, 1, 2}, {12, 0, 1, 0, 0, 1, 0}}, 2, {{1, 2, -1}, {1, 1, -2}}},
    {1, {{6, 6, 1, 0, 0, 1, 2}}, 2, {{1, 2, -1}, {1, 1, -2}}},
    {1, {{6, 6, 1, 0, 0, 1, 3}}, 2, {{1, 2, -2}, {1, 1, -2}}},
    {2, {{6, 6, 1, 0, 0, 1, 2}, {10, 10, 1, 0, 0, 1, 1}}, 2, {{1, 2, -2}, {1, 1, -2}}},
    {2, {{6, 6, 1, 0, 0, 1, 3}, {10, 0, 1, 0, 0, 1, 0}}, 2, {{1, 2, -2}, {1, 1, -2}}},
};

// Tensors of this rank: places in one arena, shared by those whose lifetimes do not overlap.
// LIFETIME_END tells the checking mode which bytes are free for others.
static struct {
  float *dense1_w; // dense1.w [12, 8]
  float *dense1_b; // dense1.b [12]
  float *dense2_w; // dense2.w [co.len, 12]
  float *dense2_b; // dense2.b [co.len]
  float *x; // x [n.len, 8]
  int *t_; // t [n.len]
  float *relu; // relu [n.len, 12]
  float *dropout; // dropout [n.len, 12]
  float *dense2_y_2; // dense2.y.2 [n_2.len, co.len]
  float *cross_entropy_top; // cross_entropy.top [n_2.len]
  float *cross_entropy_z; // cross_entropy.z [n_2.len, co.len]
  float *cross_entropy_total; // cross_entropy.total [n_2.len]
  float *cross_entropy_each; // cross_entropy.each [n.len]
  float *cross_entropy_sum; // cross_entropy.sum []
  float *cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *cross_entropy; // cross_entropy []
  float *dense1_w_grad; // dense1.w.grad [12, 8]
  float *dense1_b_grad; // dense1.b.grad [12]
  float *dense2_w_grad; // dense2.w.grad [co.len, 12]
  float *dense2_b_grad; // dense2.b.grad [co.len]
  float *dense1_b_grad_square; // dense1.b.grad.square []
  float *dense2_w_grad_square; // dense2.w.grad.square []
  float *dense2_b_grad_square; // dense2.b.grad.square []
  float *gradient_norm; // gradient_norm []
  float *dense1_w_u; // dense1.w.u [12, 8]
  float *dense1_b_u; // dense1.b.u [12]
  float *dense2_w_u; // dense2.w.u [co.len, 12]
  float *dense2_b_u; // dense2.b.u [co.len]
  float *cross_entropy_sum_grad; // cross_entropy.sum.grad []
  float *cross_entropy_total_grad; // cross_entropy.total.grad [n.len]
  float *cross_entropy_picked_grad; // cross_entropy.picked.grad [n.len]
  float *cross_entropy_z_grad_2; // cross_entropy.z.grad.2 [n.len, 10]
  float *cross_entropy_z_grad_3; // cross_entropy.z.grad.3 [n.len, 10]
  float *dropout_grad; // dropout.grad [n_2.len, 12]
  float *dense1_y_2_grad; // dense1.y.2.grad [n.len, 12]
  int *t_batch; // t.batch [n_3.len]
  float *dropout_whole; // dropout.whole [n_2.len, 12]
  float *cross_entropy_top_whole; // cross_entropy.top.whole [n_2.len]
  float *cross_entropy_total_part; // cross_entropy.total.part [n.len]
  float *cross_entropy_z_moved; // cross_entropy.z.moved [n.len, 10]
  float *cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *cross_entropy_z_grad_3_moved; // cross_entropy.z.grad.3.moved [n_2.len, co.len]
  float *dropout_grad_part; // dropout.grad.part [n.len, 12]
  float *dense1_b_grad_whole; // dense1.b.grad.whole [12]
  float *dense1_w_grad_whole; // dense1.w.grad.whole [12, 8]
  float *dense2_w_grad_square_whole; // dense2.w.grad.square.whole []
  float *dense2_b_grad_square_whole; // dense2.b.grad.square.whole []
  float *eval_x; // x [n_4.len, 8]
  int *eval_t_; // t [n_4.len]
  float *eval_dense1_y; // dense1.y [n_4.len, 12]
  float *eval_relu; // relu [n_4.len, 12]
  float *eval_dense2_y; // dense2.y [n_3.len, co.len]
  float *eval_dense2_y_2; // dense2.y.2 [n_3.len, co.len]
  float *eval_cross_entropy_top; // cross_entropy.top [n_3.len]
  float *eval_cross_entropy_z; // cross_entropy.z [n_3.len, co.len]
  float *eval_cross_entropy_total; // cross_entropy.total [n_3.len]
  float *eval_cross_entropy_each; // cross_entropy.each [n_4.len]
  float *eval_cross_entropy_sum; // cross_entropy.sum []
  float *eval_cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *eval_cross_entropy; // cross_entropy []
  float *eval_relu_whole; // relu.whole [n_3.len, 12]
  float *eval_cross_entropy_top_whole; // cross_entropy.top.whole [n_3.len]
  float *eval_cross_entropy_total_part; // cross_entropy.total.part [n_4.len]
  float *eval_cross_entropy_z_moved; // cross_entropy.z.moved [n_4.len, 10]
  float *eval_cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *eval_cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
  float *eval_cross_entropy_z_stage; // cross_entropy.z.stage [30]
} t;

// ---- kernels ---------------------------------------------------------------------------------------------------------

// dense1: init (microbatches.dnn:5)
__global__ void k_init(float *__restrict__ w, long count, float factor, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) w[i] = factor * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i))) - 1.0f);
}

// dense2: init (microbatches.dnn:6)
__global__ void k_init2(float *__restrict__ w, long count, float factor, unsigned long long seed, unsigned long long step, unsigned stream, long co_lo) {
  FLAT(i, count)
    w[i] = factor * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i + 12 * co_lo))) - 1.0f);
}

// dense2: init (microbatches.dnn:6)
__global__ void k_init3(float *__restrict__ b, long count, float factor, unsigned long long seed, unsigned long long step, unsigned stream, long co_lo) {
  FLAT(i, count)
    b[i] = factor * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i + co_lo))) - 1.0f);
}

// cross_entropy (microbatches.dnn:7)
__global__ void k_cross_entropy(float *__restrict__ sum, float *__restrict__ grad, const int *__restrict__ batch, long N) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(n, N) sum_ += (batch[n] != -1) ? 1.0f : 0.0f;
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
    const float grad_ = 1.0f / parcc_maxf(sum_, 1.0f);
    ONCE grad[0] = grad_;
  }
}

// dense1: dense_relu_dropout (microbatches.dnn:5)
__global__ void k_dense_relu_dropout(float *__restrict__ relu, float *__restrict__ dropout, const float *__restrict__ x, const float *__restrict__ w, const float *__restrict__ b, long N, long CO, unsigned long long seed, unsigned long long step, unsigned stream, long n_lo, long before) {
  GRID2_LANES(n, N, co0, lanes, CO) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = 0.0f;
    for (long ci = 0; ci < 8; ci++)
      LANE(l, lanes) {
        const long co = co0 + l;
        y_[l] += x[n * 8 + ci] * w[co * 8 + ci];
      }
    float y_2[LANES];
    float relu_[LANES];
    float dropout_[LANES];
    LANE(l, lanes) {
      const long co = co0 + l;
      y_2[l] = y_[l] + b[co];
      relu_[l] = parcc_maxf(y_2[l], 0.0f);
      dropout_[l] = (parcc_uniformf(seed, stream, step, (unsigned long long)(before + 12 * n + co + 12 * n_lo)) < 0.5f) ? 0.0f : (relu_[l] / 0.5f);
      relu[n * CO + co] = relu_[l];
      dropout[n * CO + co] = dropout_[l];
    }
  }
}

// dense2: dense (microbatches.dnn:6)
__global__ void k_dense(float *__restrict__ y2, const float *__restrict__ whole, const float *__restrict__ w, const float *__restrict__ b, long N, long CO) {
  GRID2_LANES(n, N, co0, lanes, CO) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = 0.0f;
    for (long ci = 0; ci < 12; ci++)
      LANE(l, lanes) {
        const long co = co0 + l;
        y_[l] += whole[n * 12 + ci] * w[co * 12 + ci];
      }
    float y_2[LANES];
    LANE(l, lanes) {
      const long co = co0 + l;
      y_2[l] = y_[l] + b[co];
      y2[n * CO + co] = y_2[l];
    }
  }
}

// cross_entropy (microbatches.dnn:7)
__global__ void k_cross_entropy2(float *__restrict__ top, const float *__restrict__ y, long N, long C) {
  GRID_LANES(n0, lanes, N) {
    float top_[LANES];
    LANE(l, lanes) top_[l] = -INFINITY;
    for (long c = 0; c < C; c++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const float v = y[n * C + c];
        top_[l] = v > top_[l] ? v : top_[l];
      }
    LANE(l, lanes) {
      const long n = n0 + l;
      top[n] = top_[l];
    }
  }
}

// cross_entropy (microbatches.dnn:7)
__global__ void k_cross_entropy3(float *__restrict__ z, float *__restrict__ total, const float *__restrict__ y, const float *__restrict__ whole, long N, long C) {
  GRID_LANES(n0, lanes, N) {
    float total_[LANES];
    LANE(l, lanes) total_[l] = 0.0f;
    for (long c = 0; c < C; c++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const float z_ = y[n * C + c] - whole[n];
        total_[l] += expf(z_);
        z[n * C + c] = z_;
      }
    LANE(l, lanes) {
      const long n = n0 + l;
      total[n] = total_[l];
    }
  }
}

// cross_entropy (microbatches.dnn:7)
__global__ void k_cross_entropy4(float *__restrict__ each, const int *__restrict__ t_, const float *__restrict__ moved, const float *__restrict__ part, long N) {
  GRID_LANES(n0, lanes, N) {
    float picked_[LANES];
    LANE(l, lanes) picked_[l] = 0.0f;
    LANE(l, lanes) {
      const long n = n0 + l;
      PLACE(c, t_[n], 10) {
        picked_[l] += moved[n * 10 + c];
      }
    }
    float each_[LANES];
    LANE(l, lanes) {
      const long n = n0 + l;
      each_[l] = (t_[n] == -1) ? 0.0f : (logf(part[n]) - picked_[l]);
      each[n] = each_[l];
    }
  }
}

// cross_entropy (microbatches.dnn:7)
__global__ void k_cross_entropy5(float *__restrict__ sum, const float *__restrict__ each, long N) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(n, N) sum_ += each[n];
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] += sum_;
  }
}

// cross_entropy_grad (microbatches.dnn:7)
__global__ void k_cross_entropy_grad(float *__restrict__ grad, float *__restrict__ grad3, const int *__restrict__ t_, const float *__restrict__ grad2, const float *__restrict__ part, long count) {
  FLAT(i, count) {
    const float grad_ = ((t_[i] == -1) ? 0.0f : grad2[0]) / part[i];
    const float grad_2 = -((t_[i] == -1) ? 0.0f : grad2[0]);
    grad[i] = grad_;
    grad3[i] = grad_2;
  }
}

// cross_entropy_grad (microbatches.dnn:7)
__global__ void k_cross_entropy_grad2(float *__restrict__ grad, const float *__restrict__ grad2, const float *__restrict__ moved, long N, long C) {
  GRID(n, N) BLOCK(c, C) grad[n * C + c] = grad2[n] * expf(moved[n * C + c]);
}

// cross_entropy_grad (microbatches.dnn:7)
__global__ void k_cross_entropy_grad3(float *__restrict__ grad3, const float *__restrict__ grad2, const int *__restrict__ t_, const float *__restrict__ grad4, long N, long C) {
  GRID(n, N) BLOCK(c, C) {
    const float grad_ = grad2[n] * (float)((t_[n] == c));
    grad3[n * C + c] = grad_ + grad4[n * C + c];
  }
}

// dense2: dense_grad (microbatches.dnn:6)
__global__ void k_dense_grad(float *__restrict__ grad, const float *__restrict__ moved, long CO, long N) {
  GRID_LANES(co0, lanes, CO) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long n = 0; n < N; n++)
      LANE(l, lanes) {
        const long co = co0 + l;
        grad_[l] += moved[n * CO + co];
      }
    LANE(l, lanes) {
      const long co = co0 + l;
      grad[co] += grad_[l];
    }
  }
}

// dense2: dense_grad (microbatches.dnn:6)
__global__ void k_dense_grad2(float *__restrict__ grad, const float *__restrict__ moved, const float *__restrict__ w, long N, long CI, long CO) {
  GRID2_LANES(n, N, ci0, lanes, CI) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long co = 0; co < CO; co++)
      LANE(l, lanes) {
        const long ci = ci0 + l;
        grad_[l] += moved[n * CO + co] * w[co * CI + ci];
      }
    LANE(l, lanes) {
      const long ci = ci0 + l;
      grad[n * CI + ci] = grad_[l];
    }
  }
}

// dense2: dense_grad (microbatches.dnn:6)
__global__ void k_dense_grad3(float *__restrict__ grad, const float *__restrict__ moved, const float *__restrict__ whole, long CO, long CI, long N) {
  GRID2_LANES(co, CO, ci0, lanes, CI) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long n = 0; n < N; n++)
      LANE(l, lanes) {
        const long ci = ci0 + l;
        grad_[l] += moved[n * CO + co] * whole[n * CI + ci];
      }
    LANE(l, lanes) {
      const long ci = ci0 + l;
      grad[co * CI + ci] += grad_[l];
    }
  }
}

// dropout_relu_dense_grad (microbatches.dnn:5)
__global__ void k_dropout_relu_dense_grad(float *__restrict__ grad2, float *__restrict__ grad3, const float *__restrict__ part, const float *__restrict__ relu, long CO, long N, unsigned long long seed, unsigned long long step, unsigned stream, long n_lo, long before) {
  GRID_LANES(co0, lanes, CO) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long n = 0; n < N; n++)
      LANE(l, lanes) {
        const long co = co0 + l;
        const float grad_2 = ((parcc_uniformf(seed, stream, step, (unsigned long long)(before + co + 12 * n + 12 * n_lo)) < 0.5f) ? 0.0f : part[n * CO + co]) / 0.5f;
        const float grad_3 = (relu[n * CO + co] > 0.0f) ? grad_2 : 0.0f;
        grad_[l] += grad_3;
        grad2[n * CO + co] = grad_3;
      }
    LANE(l, lanes) {
      const long co = co0 + l;
      grad3[co] += grad_[l];
    }
  }
}

// cross_entropy (microbatches.dnn:7)
__global__ void k_cross_entropy6(float *__restrict__ cross_entropy, const float *__restrict__ whole, const float *__restrict__ sum) {
  FLAT(i, 1) cross_entropy[0] = whole[0] / parcc_maxf(sum[0], 1.0f);
}

// dense1: gradient_norm (microbatches.dnn:10)
__global__ void k_gradient_norm(float *__restrict__ square, const float *__restrict__ whole, long CO) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(co, CO) square_ += whole[co] * whole[co];
    square_ = BLOCK_SUM(square_);
    ONCE square[0] = square_;
  }
}

// dense1: gradient_norm (microbatches.dnn:10)
__global__ void k_gradient_norm2(float *__restrict__ gradient_norm, const float *__restrict__ whole, const float *__restrict__ square2, const float *__restrict__ whole2, const float *__restrict__ whole3, long len_coci) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(coci, len_coci) square_ += whole[coci] * whole[coci];
    square_ = BLOCK_SUM(square_);
    const float gradient_norm_ = sqrtf((((square_ + square2[0]) + whole2[0]) + whole3[0]));
    ONCE gradient_norm[0] = gradient_norm_;
  }
}

// dense1: sgd (microbatches.dnn:10)
__global__ void k_sgd(float *__restrict__ u, const float *__restrict__ whole, long count, float lr) {
  FLAT(i, count) u[i] = u[i] - (lr * whole[i]);
}

// dense1: dense_relu (microbatches.dnn:5)
__global__ void k_dense_relu(float *__restrict__ relu, const float *__restrict__ y2, const float *__restrict__ b, long N, long CO) {
  GRID(n, N) BLOCK(co, CO) {
    const float y_ = y2[n * CO + co] + b[co];
    relu[n * CO + co] = parcc_maxf(y_, 0.0f);
  }
}

// dense2: dense_cross_entropy (microbatches.dnn:6)
__global__ void k_dense_cross_entropy(float *__restrict__ y, float *__restrict__ top, const float *__restrict__ y2, const float *__restrict__ b, long N, long CO) {
  GRID_LANES(n0, lanes, N) {
    float top_[LANES];
    LANE(l, lanes) top_[l] = -INFINITY;
    for (long co = 0; co < CO; co++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const float y_ = y2[n * CO + co] + b[co];
        const float v = y_;
        top_[l] = v > top_[l] ? v : top_[l];
        y[n * CO + co] = y_;
      }
    LANE(l, lanes) {
      const long n = n0 + l;
      top[n] = top_[l];
    }
  }
}

// cross_entropy (microbatches.dnn:7)
__global__ void k_cross_entropy7(float *__restrict__ sum, const float *__restrict__ each, long N) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(n, N) sum_ += each[n];
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (microbatches.dnn:7)
__global__ void k_cross_entropy8(float *__restrict__ sum, const int *__restrict__ t_, long N) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(n, N) sum_ += (t_[n] != -1) ? 1.0f : 0.0f;
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// ---- one step --------------------------------------------------------------------------------------------------------

// Initial values of parameters and states.
static void init(void) {
  AT("dense1 init", "microbatches.dnn:5");
  LAUNCH_FLAT(k_init, 96, t.dense1_w, 96, 0.35355338f, parcc.seed, (unsigned long long)parcc.step, 0);
  LAUNCH_FLAT(k_init, 12, t.dense1_b, 12, 0.35355338f, parcc.seed, (unsigned long long)parcc.step, 1);

  AT("dense2 init", "microbatches.dnn:6");
  LAUNCH_FLAT(k_init2, 12 * co.len, t.dense2_w, 12 * co.len, 0.28867513f, parcc.seed, (unsigned long long)parcc.step, 3, co.lo);
  LAUNCH_FLAT(k_init3, co.len, t.dense2_b, co.len, 0.28867513f, parcc.seed, (unsigned long long)parcc.step, 4, co.lo);
}

// Before the first microbatch: what is known of the whole batch, and where sums begin.
static void begin(void) {
  AT("cross_entropy", "microbatches.dnn:7");
  LAUNCH_ROWS(k_cross_entropy, 1, t.cross_entropy_sum_2, t.cross_entropy_sum_grad, t.t_batch, n_3.len);
  LIFETIME_END({t.t_batch, 24});
  CHECK_CUDA(cudaMemsetAsync(t.cross_entropy_sum, 0, 1 * sizeof(float), parcc.compute));

  AT("dense2 dense", "microbatches.dnn:6");
  CHECK_CUDA(cudaMemsetAsync(t.dense2_b_grad, 0, co.len * sizeof(float), parcc.compute));
  CHECK_CUDA(cudaMemsetAsync(t.dense2_w_grad, 0, 12 * co.len * sizeof(float), parcc.compute));

  AT("dense1 dense", "microbatches.dnn:5");
  CHECK_CUDA(cudaMemsetAsync(t.dense1_b_grad, 0, 12 * sizeof(float), parcc.compute));
  CHECK_CUDA(cudaMemsetAsync(t.dense1_w_grad, 0, 96 * sizeof(float), parcc.compute));
}

// The losses of a microbatch.
static void forward(void) {
  AT("dense1 dense", "microbatches.dnn:5");
  LAUNCH_LANES(k_dense_relu_dropout, 12 * n.len, t.relu, t.dropout, t.x, t.dense1_w, t.dense1_b, n.len, 12, parcc.seed, (unsigned long long)parcc.step, 2, n.lo, 24 * (long)micro);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("dense2 all_gather", "microbatches.dnn:6");
  // all_gather dropout: [n/gpu, co] -> [n, co]
  CHECK_NCCL(ncclAllGather(t.dropout, t.dropout_whole, 12 * n.len, ncclFloat, over_gpu, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  LIFETIME_END({t.dropout, 48});
  AT("dense2 dense", "microbatches.dnn:6");
  LAUNCH_LANES(k_dense, co.len * n_2.len, t.dense2_y_2, t.dropout_whole, t.dense2_w, t.dense2_b, n_2.len, co.len);

  AT("cross_entropy", "microbatches.dnn:7");
  LAUNCH_LANES(k_cross_entropy2, n_2.len, t.cross_entropy_top, t.dense2_y_2, n_2.len, co.len);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "microbatches.dnn:7");
  // all_reduce cross_entropy.top: [n], a max over gpu -> [n]
  CHECK_NCCL(ncclAllReduce(t.cross_entropy_top, t.cross_entropy_top, n_2.len, ncclFloat, ncclMax, over_gpu, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "microbatches.dnn:7");
  LAUNCH_LANES(k_cross_entropy3, n_2.len, t.cross_entropy_z, t.cross_entropy_total, t.dense2_y_2, t.cross_entropy_top_whole, n_2.len, co.len);
  LIFETIME_END({t.dense2_y_2, 40}, {t.cross_entropy_top_whole, 8});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("reduce_scatter", "microbatches.dnn:7");
  // reduce_scatter cross_entropy.total: [n], a sum over gpu -> [n/gpu]
  CHECK_NCCL(ncclReduceScatter(t.cross_entropy_total, t.cross_entropy_total_part, n.len, ncclFloat, ncclSum, over_gpu, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
  AT_COMM("all_to_all", "microbatches.dnn:7");
  // all_to_all cross_entropy.z: [n, c/gpu] -> [n/gpu, c]
  parcc_exchange(t.cross_entropy_z, &division[0], t.cross_entropy_z_moved, &division[1], NULL, PARCC_FLOAT, samples, over_gpu);
  WAIT_FOR(parcc.compute, parcc.comm, event[2]);
  WAIT(parcc.compute, event[1]);
  LIFETIME_END({t.cross_entropy_z, 40}, {t.cross_entropy_total, 8});
  AT("cross_entropy", "microbatches.dnn:7");
  LAUNCH_LANES(k_cross_entropy4, n.len, t.cross_entropy_each, t.t_, t.cross_entropy_z_moved, t.cross_entropy_total_part, n.len);
  LAUNCH_ROWS(k_cross_entropy5, 1, t.cross_entropy_sum, t.cross_entropy_each, n.len);
  LIFETIME_END({t.cross_entropy_each, 4});
}

// The gradients of all parameters.
static void backward(void) {
  AT("cross_entropy", "microbatches.dnn:7");
  LAUNCH_FLAT(k_cross_entropy_grad, n.len, t.cross_entropy_total_grad, t.cross_entropy_picked_grad, t.t_, t.cross_entropy_sum_grad, t.cross_entropy_total_part, n.len);
  LIFETIME_END({t.cross_entropy_total_part, 4});
  LAUNCH_MAP(k_cross_entropy_grad2, n.len, 10, t.cross_entropy_z_grad_2, t.cross_entropy_total_grad, t.cross_entropy_z_moved, n.len, 10);
  LIFETIME_END({t.cross_entropy_total_grad, 4}, {t.cross_entropy_z_moved, 40});
  LAUNCH_MAP(k_cross_entropy_grad3, n.len, 10, t.cross_entropy_z_grad_3, t.cross_entropy_picked_grad, t.t_, t.cross_entropy_z_grad_2, n.len, 10);
  LIFETIME_END({t.t_, 4}, {t.cross_entropy_picked_grad, 4}, {t.cross_entropy_z_grad_2, 40});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("dense2 all_to_all", "microbatches.dnn:6");
  // all_to_all cross_entropy.z.grad.3: [n/gpu, c] -> [n, c/gpu]
  parcc_exchange(t.cross_entropy_z_grad_3, &division[1], t.cross_entropy_z_grad_3_moved, &division[0], NULL, PARCC_FLOAT, samples, over_gpu);
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  LIFETIME_END({t.cross_entropy_z_grad_3, 40});
  AT("dense2 dense", "microbatches.dnn:6");
  LAUNCH_LANES(k_dense_grad, co.len, t.dense2_b_grad, t.cross_entropy_z_grad_3_moved, co.len, n_2.len);
  LAUNCH_LANES(k_dense_grad2, 12 * n_2.len, t.dropout_grad, t.cross_entropy_z_grad_3_moved, t.dense2_w, n_2.len, 12, co.len);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("dense2 reduce_scatter", "microbatches.dnn:6");
  // reduce_scatter dropout.grad: [n, ci], a sum over gpu -> [n/gpu, ci]
  CHECK_NCCL(ncclReduceScatter(t.dropout_grad, t.dropout_grad_part, 12 * n.len, ncclFloat, ncclSum, over_gpu, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
  AT("dense2 dense", "microbatches.dnn:6");
  LAUNCH_LANES(k_dense_grad3, 12 * co.len, t.dense2_w_grad, t.cross_entropy_z_grad_3_moved, t.dropout_whole, co.len, 12, n_2.len);
  LIFETIME_END({t.dropout_whole, 96}, {t.cross_entropy_z_grad_3_moved, 40});
  WAIT(parcc.compute, event[1]);
  LIFETIME_END({t.dropout_grad, 96});

  AT("dropout", "microbatches.dnn:5");
  LAUNCH_LANES(k_dropout_relu_dense_grad, 12, t.dense1_y_2_grad, t.dense1_b_grad, t.dropout_grad_part, t.relu, 12, n.len, parcc.seed, (unsigned long long)parcc.step, 2, n.lo, 24 * (long)micro);
  LIFETIME_END({t.relu, 48}, {t.dropout_grad_part, 48});

  AT("dense1 dense", "microbatches.dnn:5");
  LAUNCH_LANES(k_dense_grad3, 96, t.dense1_w_grad, t.dense1_y_2_grad, t.x, 12, 8, n.len);
  LIFETIME_END({t.x, 32}, {t.dense1_y_2_grad, 48});
}

// Behind the last microbatch: what is made of the sums over the whole batch.
static void combine(void) {
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("all_reduce", "microbatches.dnn:7");
  // all_reduce cross_entropy.sum: [], a sum over gpu -> []
  CHECK_NCCL(ncclAllReduce(t.cross_entropy_sum, t.cross_entropy_sum, 1, ncclFloat, ncclSum, over_gpu, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));

  AT_COMM("dense1 all_reduce", "microbatches.dnn:5");
  // all_reduce gradients of dense1
  CHECK_NCCL(ncclAllReduce(t.dense1_w_grad, t.dense1_w_grad, 108, ncclFloat, ncclSum, over_gpu, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[2], parcc.comm));
  WAIT(parcc.compute, event[1]);

  AT("cross_entropy", "microbatches.dnn:7");
  LAUNCH_FLAT(k_cross_entropy6, 1, t.cross_entropy, t.cross_entropy_sum_whole, t.cross_entropy_sum_2);
  LIFETIME_END({t.cross_entropy_sum_whole, 4}, {t.cross_entropy_sum_2, 4});
}

// What is only reported: metrics and the gradients' norm.
static void report(void) {
  WAIT(parcc.compute, event[2]);

  AT("dense1 gradient_norm", "microbatches.dnn:10");
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense1_b_grad_square, t.dense1_b_grad_whole, 12);

  AT("dense2 gradient_norm", "microbatches.dnn:10");
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense2_w_grad_square, t.dense2_w_grad, 12 * co.len);
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense2_b_grad_square, t.dense2_b_grad, co.len);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("dense2 all_reduce", "microbatches.dnn:10");
  // all_reduce dense2.w.grad.square, dense2.b.grad.square
  CHECK_NCCL(ncclAllReduce(t.dense2_w_grad_square, t.dense2_w_grad_square, 2, ncclFloat, ncclSum, over_gpu, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);

  AT("dense1 gradient_norm", "microbatches.dnn:10");
  LAUNCH_ROWS(k_gradient_norm2, 1, t.gradient_norm, t.dense1_w_grad_whole, t.dense1_b_grad_square, t.dense2_w_grad_square_whole, t.dense2_b_grad_square_whole, 96);
  LIFETIME_END({t.dense1_b_grad_square, 4}, {t.dense2_w_grad_square_whole, 8});
}

// The optimizer.
static void update(void) {
  WAIT(parcc.compute, event[2]);

  AT("dense1 sgd", "microbatches.dnn:10");
  LAUNCH_FLAT(k_sgd, 96, t.dense1_w_u, t.dense1_w_grad_whole, 96, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 12, t.dense1_b_u, t.dense1_b_grad_whole, 12, (float)parcc.lr);
  LIFETIME_END({t.dense1_w_grad_whole, 432});

  AT("dense2 sgd", "microbatches.dnn:10");
  LAUNCH_FLAT(k_sgd, 12 * co.len, t.dense2_w_u, t.dense2_w_grad, 12 * co.len, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, co.len, t.dense2_b_u, t.dense2_b_grad, co.len, (float)parcc.lr);
  LIFETIME_END({t.dense2_w_grad, 240}, {t.dense2_b_grad, 20});
}

// Losses and metrics of a batch of the test split.
static void evaluate(void) {
  AT("dense1 dense", "microbatches.dnn:5");
  // dense1.y[n, co] = sum(ci) (x[n, ci] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 12, n_4.len, 8, &one,
      t.dense1_w, 8, t.eval_x, 8, &zero, t.eval_dense1_y, 12));
  LIFETIME_END({t.eval_x, 96});
  LAUNCH_MAP(k_dense_relu, n_4.len, 12, t.eval_relu, t.eval_dense1_y, t.dense1_b, n_4.len, 12);
  LIFETIME_END({t.eval_dense1_y, 144});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("dense2 all_gather", "microbatches.dnn:6");
  // all_gather relu: [n/gpu, co] -> [n, co]
  parcc_all_gather(t.eval_relu, &division[2], t.eval_relu_whole, &division[3], NULL, PARCC_FLOAT, samples, 1, over_gpu);
  WAIT_FOR(parcc.compute, parcc.comm, event[2]);
  LIFETIME_END({t.eval_relu, 144});
  AT("dense2 dense", "microbatches.dnn:6");
  // dense2.y[n, co] = sum(ci) (relu.whole[n, ci] * dense2.w[co, ci])
  if (co.len * n_3.len > 0)
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, co.len, n_3.len, 12, &one,
      t.dense2_w, 12, t.eval_relu_whole, 12, &zero, t.eval_dense2_y, (co.len > 0 ? co.len : 1)));
  LIFETIME_END({t.eval_relu_whole, 288});
  LAUNCH_LANES(k_dense_cross_entropy, n_3.len, t.eval_dense2_y_2, t.eval_cross_entropy_top, t.eval_dense2_y, t.dense2_b, n_3.len, co.len);
  LIFETIME_END({t.eval_dense2_y, 120});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("all_reduce", "microbatches.dnn:7");
  // all_reduce cross_entropy.top: [n], a max over gpu -> [n]
  CHECK_NCCL(ncclAllReduce(t.eval_cross_entropy_top, t.eval_cross_entropy_top, n_3.len, ncclFloat, ncclMax, over_gpu, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[2]);
  AT("cross_entropy", "microbatches.dnn:7");
  LAUNCH_LANES(k_cross_entropy3, n_3.len, t.eval_cross_entropy_z, t.eval_cross_entropy_total, t.eval_dense2_y_2, t.eval_cross_entropy_top_whole, n_3.len, co.len);
  LIFETIME_END({t.eval_dense2_y_2, 120}, {t.eval_cross_entropy_top_whole, 24});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("reduce_scatter", "microbatches.dnn:7");
  // reduce_scatter cross_entropy.total: [n], a sum over gpu -> [n/gpu]
  parcc_reduce_scatter(t.eval_cross_entropy_total, &division[4], t.eval_cross_entropy_total_part, &division[5], NULL, PARCC_FLOAT, ncclSum, samples, 1, over_gpu);
  CHECK_CUDA(cudaEventRecord(event[2], parcc.comm));
  AT_COMM("all_to_all", "microbatches.dnn:7");
  // all_to_all cross_entropy.z: [n, c/gpu] -> [n/gpu, c]
  parcc_exchange(t.eval_cross_entropy_z, &division[6], t.eval_cross_entropy_z_moved, &division[7], t.eval_cross_entropy_z_stage, PARCC_FLOAT, samples, over_gpu);
  WAIT_FOR(parcc.compute, parcc.comm, event[3]);
  WAIT(parcc.compute, event[2]);
  LIFETIME_END({t.eval_cross_entropy_z, 120}, {t.eval_cross_entropy_z_stage, 120}, {t.eval_cross_entropy_total, 24});
  AT("cross_entropy", "microbatches.dnn:7");
  LAUNCH_LANES(k_cross_entropy4, n_4.len, t.eval_cross_entropy_each, t.eval_t_, t.eval_cross_entropy_z_moved, t.eval_cross_entropy_total_part, n_4.len);
  LIFETIME_END({t.eval_cross_entropy_total_part, 12}, {t.eval_cross_entropy_z_moved, 120});
  LAUNCH_ROWS(k_cross_entropy7, 1, t.eval_cross_entropy_sum, t.eval_cross_entropy_each, n_4.len);
  LIFETIME_END({t.eval_cross_entropy_each, 12});
  LAUNCH_ROWS(k_cross_entropy8, 1, t.eval_cross_entropy_sum_2, t.eval_t_, n_4.len);
  LIFETIME_END({t.eval_t_, 12});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "microbatches.dnn:7");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2
  CHECK_NCCL(ncclAllReduce(t.eval_cross_entropy_sum, t.eval_cross_entropy_sum, 2, ncclFloat, ncclSum, over_gpu, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[2]);
  AT("cross_entropy", "microbatches.dnn:7");
  LAUNCH_FLAT(k_cross_entropy6, 1, t.eval_cross_entropy, t.eval_cross_entropy_sum_whole, t.eval_cross_entropy_sum_2_whole);
  LIFETIME_END({t.eval_cross_entropy_sum_whole, 8});
}

// ---- the run ---------------------------------------------------------------------------------------------------------

static const ParccInput inputs[] = { // name, type, extents of the whole batch, range, files, scale, offset, windows, lines
    {"x", PARCC_FLOAT, 2, {6, 8}, 0, {NULL, NULL, NULL, 1.0, 0.0, NULL, NULL}},
    {"t", PARCC_INT, 1, {6}, 10, {NULL, NULL, NULL, 1.0, 0.0, NULL, NULL}},
};

static const char *const scalars[] = {"loss"};

static double learning_rate(double step, double steps) {
  (void)step;
  (void)steps;
  return 0.1;
}

static const ParccModel model = {
    .name = "net",
    .source = "microbatches.dnn",
    .ranks = RANKS,
    .batch = 6,
    .real = PARCC_FLOAT,
    .inputs = inputs,
    .n_inputs = 2,
    .scalars = scalars,
    .n_scalars = 1,
    .steps = 10,
    .epochs = 0,
    .learning_rate = learning_rate,
    .whole_batches = NULL, // the last batch of an evaluation may be smaller
    .sampled = -1, // no text can be generated
    .measures = false, // it trains
};

static void place_tensors(void) {
  char *const arena = parcc_arena(5120);
  static const long place[] = {0, 128, 192, 256, 768, 832, 896, 960, 960, 1088, 1152, 1216, 1152, 320, 384, 448, 640, 736, 576, 512, 320, 384, 385, 768, 0, 128, 192, 256, 448,
      1152, 1216, 960, 1088, 960, 832, 320, 1024, 1088, 960, 1088, 320, 832, 1088, 736, 640, 384, 385, 320, 384, 448, 320, 320, 448, 512, 320, 576, 320, 448, 449, 320, 448, 512,
      448, 512, 448, 449, 640};
  parcc_place_record(arena, 4, place, 67, &t); // in units of so many bytes
}

// What --save writes and --load reads.
static void list_stored(void) {
  STORE("dense1.w", PARCC_PARAM, PARCC_FLOAT, t.dense1_w, WHOLE(12), WHOLE(8));
  STORE("dense1.b", PARCC_PARAM, PARCC_FLOAT, t.dense1_b, WHOLE(12));
  STORE("dense2.w", PARCC_PARAM, PARCC_FLOAT, t.dense2_w, PART(10, co), WHOLE(12));
  STORE("dense2.b", PARCC_PARAM, PARCC_FLOAT, t.dense2_b, PART(10, co));
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &model);
  over_gpu = parcc_axis(1, GPU);
  parcc_events(event, 4);
  place_tensors();
  co = parcc_block(10, 2, parcc.rank / 1 % GPU);
  n = parcc_block(2, 2, parcc.rank / 1 % GPU);
  n_2 = parcc_block(2, 1, 0);
  n_3 = parcc_block(6, 1, 0);
  n_4 = parcc_block(6, 2, parcc.rank / 1 % GPU);
  list_stored();
  init();
  parcc_load();

  while (parcc_next_step()) {
    LOAD_BATCH(1, t.t_batch, n_3);
    samples = 6;
    begin();
    samples = 2;
    for (micro = 0; micro < MICROBATCHES; micro++) {
      LOAD_BATCH(0, t.x, {micro * 2 + n.lo, n.len}, {0, 8});
      LOAD_BATCH(1, t.t_, {micro * 2 + n.lo, n.len});
      forward();
      backward();
    }
    combine();
    if (parcc_reports()) report();
    update();
    END_STEP(t.gradient_norm, t.cross_entropy);
  }

  for (long count; (count = parcc_next_eval()) > 0;) {
    samples = count;
    n = parcc_block(count, 2, parcc.rank / 1 % GPU);
    n_2 = parcc_block(count, 1, 0);
    n_3 = parcc_block(count, 1, 0);
    n_4 = parcc_block(count, 2, parcc.rank / 1 % GPU);
    LOAD_BATCH(0, t.eval_x, n_4, {0, 8});
    LOAD_BATCH(1, t.eval_t_, n_4);
    evaluate();
    END_EVAL(count, t.eval_cross_entropy);
  }
  return parcc_finish();
}
