// mlp on 4 ranks. Written by parcc from mlp.dnn; edit freely, or run parcc again.
//
//   mesh        data=4
//   plan        data parallel: the batch of 64 is divided over the ranks, parameters are on every rank
//   parameters  669706
//   memory      8187904 bytes on each device, in one arena (largest sum of live tensors: 8187904)
//   moved by the busiest rank in a step: forward 1 collective, 12 bytes; backward 1 collective, 4018236 bytes; report 1 collective, 6 bytes
//
//   parcc-cc THIS.cu -o PROG && mpiexec -n 4 PROG --data DIR

#include "parcc.h"

enum { RANKS = 4, DATA = 4 };
static const float one = 1, zero = 0;

static Interval batch; // this rank's part of 64, over data
static ncclComm_t over_data;
static cudaEvent_t event[3];

// Tensors of this rank: places in one arena, shared by those whose lifetimes do not overlap.
// LIFETIME_END tells the checking mode which bytes are free for others.
static struct {
  float *dense1_w; // dense1.w [512, 784]
  float *dense1_b; // dense1.b [512]
  float *dense2_w; // dense2.w [512, 512]
  float *dense2_b; // dense2.b [512]
  float *dense3_w; // dense3.w [10, 512]
  float *dense3_b; // dense3.b [10]
  float *dense1_w_velocity; // dense1.w.velocity [512, 784]
  float *dense1_b_velocity; // dense1.b.velocity [512]
  float *dense2_w_velocity; // dense2.w.velocity [512, 512]
  float *dense2_b_velocity; // dense2.b.velocity [512]
  float *dense3_w_velocity; // dense3.w.velocity [10, 512]
  float *dense3_b_velocity; // dense3.b.velocity [10]
  float *image; // image [batch.len, 1, 28, 28]
  int *label; // label [batch.len]
  float *view; // view [batch.len, 784]
  float *dense1_y; // dense1.y [batch.len, 512]
  float *relu; // relu [batch.len, 512]
  float *dense2_y; // dense2.y [batch.len, 512]
  float *relu_2; // relu.2 [batch.len, 512]
  float *dense3_y; // dense3.y [batch.len, 10]
  float *dense3_y_2; // dense3.y.2 [batch.len, 10]
  float *cross_entropy_z; // cross_entropy.z [batch.len, 10]
  float *cross_entropy_total; // cross_entropy.total [batch.len]
  float *cross_entropy_each; // cross_entropy.each [batch.len]
  float *cross_entropy_sum; // cross_entropy.sum []
  float *cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *cross_entropy; // cross_entropy []
  int *accuracy_best; // accuracy.best [batch.len]
  float *accuracy_sum; // accuracy.sum []
  float *accuracy; // accuracy []
  float *dense1_w_grad; // dense1.w.grad [512, 784]
  float *dense1_b_grad; // dense1.b.grad [512]
  float *dense2_w_grad; // dense2.w.grad [512, 512]
  float *dense2_b_grad; // dense2.b.grad [512]
  float *dense3_w_grad; // dense3.w.grad [10, 512]
  float *dense3_b_grad; // dense3.b.grad [10]
  float *dense1_b_grad_square; // dense1.b.grad.square []
  float *dense2_w_grad_square; // dense2.w.grad.square []
  float *dense2_b_grad_square; // dense2.b.grad.square []
  float *dense3_w_grad_square; // dense3.w.grad.square []
  float *dense3_b_grad_square; // dense3.b.grad.square []
  float *gradient_norm; // gradient_norm []
  float *dense1_w_v; // dense1.w.v [512, 784]
  float *dense1_w_u; // dense1.w.u [512, 784]
  float *dense1_b_v; // dense1.b.v [512]
  float *dense1_b_u; // dense1.b.u [512]
  float *dense2_w_v; // dense2.w.v [512, 512]
  float *dense2_w_u; // dense2.w.u [512, 512]
  float *dense2_b_v; // dense2.b.v [512]
  float *dense2_b_u; // dense2.b.u [512]
  float *dense3_w_v; // dense3.w.v [10, 512]
  float *dense3_w_u; // dense3.w.u [10, 512]
  float *dense3_b_v; // dense3.b.v [10]
  float *dense3_b_u; // dense3.b.u [10]
  float *cross_entropy_sum_grad; // cross_entropy.sum.grad []
  float *cross_entropy_total_grad; // cross_entropy.total.grad [batch.len]
  float *cross_entropy_picked_grad; // cross_entropy.picked.grad [batch.len]
  float *cross_entropy_z_grad_2; // cross_entropy.z.grad.2 [batch.len, 10]
  float *cross_entropy_z_grad_3; // cross_entropy.z.grad.3 [batch.len, 10]
  float *relu_2_grad; // relu.2.grad [batch.len, 512]
  float *dense2_y_2_grad; // dense2.y.2.grad [batch.len, 512]
  float *relu_grad; // relu.grad [batch.len, 512]
  float *dense1_y_2_grad; // dense1.y.2.grad [batch.len, 512]
  float *dense1_w_grad_square_rows; // dense1.w.grad.square.rows [512]
  float *dense2_w_grad_square_rows; // dense2.w.grad.square.rows [512]
  float *dense3_w_grad_square_rows; // dense3.w.grad.square.rows [10]
  float *cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
  float *dense3_b_grad_whole; // dense3.b.grad.whole [10]
  float *dense3_w_grad_whole; // dense3.w.grad.whole [10, 512]
  float *dense2_b_grad_whole; // dense2.b.grad.whole [512]
  float *dense2_w_grad_whole; // dense2.w.grad.whole [512, 512]
  float *dense1_b_grad_whole; // dense1.b.grad.whole [512]
  float *dense1_w_grad_whole; // dense1.w.grad.whole [512, 784]
  float *accuracy_sum_whole; // accuracy.sum.whole []
  float *eval_image; // image [batch.len, 1, 28, 28]
  int *eval_label; // label [batch.len]
  float *eval_view; // view [batch.len, 784]
  float *eval_dense1_y; // dense1.y [batch.len, 512]
  float *eval_relu; // relu [batch.len, 512]
  float *eval_dense2_y; // dense2.y [batch.len, 512]
  float *eval_relu_2; // relu.2 [batch.len, 512]
  float *eval_dense3_y; // dense3.y [batch.len, 10]
  float *eval_dense3_y_2; // dense3.y.2 [batch.len, 10]
  float *eval_cross_entropy_each; // cross_entropy.each [batch.len]
  float *eval_cross_entropy_sum; // cross_entropy.sum []
  float *eval_cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *eval_cross_entropy; // cross_entropy []
  int *eval_accuracy_best; // accuracy.best [batch.len]
  float *eval_accuracy_sum; // accuracy.sum []
  float *eval_accuracy; // accuracy []
  float *eval_cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *eval_cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
  float *eval_accuracy_sum_whole; // accuracy.sum.whole []
} t;

// ---- kernels ---------------------------------------------------------------------------------------------------------

// dense1: init (mlp.dnn:9)
__global__ void k_init(float *__restrict__ w, long count, float factor, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) w[i] = factor * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i))) - 1.0f);
}

// dense1: init (mlp.dnn:20)
__global__ void k_init2(float *__restrict__ velocity, long count) {
  FLAT(i, count) velocity[i] = 0.0f;
}

// dense1: dense_relu (mlp.dnn:9)
__global__ void k_dense_relu(float *__restrict__ y2, const float *__restrict__ b, long N, long CO) {
  GRID(n, N) BLOCK(co, CO) {
    const float y_ = y2[n * CO + co] + b[co];
    y2[n * CO + co] = parcc_maxf(y_, 0.0f);
  }
}

// dense3: dense_cross_entropy (mlp.dnn:11)
__global__ void k_dense_cross_entropy(float *__restrict__ y, float *__restrict__ z, float *__restrict__ total, float *__restrict__ each, const float *__restrict__ y2, const float *__restrict__ b, const int *__restrict__ label, long N) {
  GRID_LANES(n0, lanes, N) {
    float top_[LANES];
    LANE(l, lanes) top_[l] = -INFINITY;
    for (long co = 0; co < 10; co++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const float y_ = y2[n * 10 + co] + b[co];
        const float v = y_;
        top_[l] = v > top_[l] ? v : top_[l];
        y[n * 10 + co] = y_;
      }
    float total_[LANES];
    LANE(l, lanes) total_[l] = 0.0f;
    float picked_[LANES];
    LANE(l, lanes) picked_[l] = 0.0f;
    for (long co = 0; co < 10; co++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const float z_ = y[n * 10 + co] - top_[l];
        total_[l] += expf(z_);
        picked_[l] += (float)((label[n] == co)) * z_;
        z[n * 10 + co] = z_;
      }
    LANE(l, lanes) {
      const long n = n0 + l;
      total[n] = total_[l];
    }
    float each_[LANES];
    LANE(l, lanes) {
      const long n = n0 + l;
      each_[l] = (label[n] == -1) ? 0.0f : (logf(total_[l]) - picked_[l]);
      each[n] = each_[l];
    }
  }
}

// cross_entropy (mlp.dnn:13)
__global__ void k_cross_entropy(float *__restrict__ sum, const float *__restrict__ each, long N) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(n, N) sum_ += each[n];
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (mlp.dnn:13)
__global__ void k_cross_entropy2(float *__restrict__ sum, const int *__restrict__ label, long N) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(n, N) sum_ += (label[n] != -1) ? 1.0f : 0.0f;
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (mlp.dnn:13)
__global__ void k_cross_entropy3(float *__restrict__ cross_entropy, const float *__restrict__ whole, const float *__restrict__ whole2) {
  FLAT(i, 1) cross_entropy[0] = whole[0] / parcc_maxf(whole2[0], 1.0f);
}

// cross_entropy_grad (mlp.dnn:13)
__global__ void k_cross_entropy_grad(float *__restrict__ grad, const float *__restrict__ whole) {
  FLAT(i, 1) grad[0] = 1.0f / parcc_maxf(whole[0], 1.0f);
}

// cross_entropy_grad (mlp.dnn:13)
__global__ void k_cross_entropy_grad2(float *__restrict__ grad, float *__restrict__ grad3, const int *__restrict__ label, const float *__restrict__ grad2, const float *__restrict__ total, long count) {
  FLAT(i, count) {
    const float grad_ = ((label[i] == -1) ? 0.0f : grad2[0]) / total[i];
    const float grad_2 = -((label[i] == -1) ? 0.0f : grad2[0]);
    grad[i] = grad_;
    grad3[i] = grad_2;
  }
}

// cross_entropy_grad (mlp.dnn:13)
__global__ void k_cross_entropy_grad3(float *__restrict__ grad, const float *__restrict__ grad2, const float *__restrict__ z, long N, long C) {
  GRID(n, N) BLOCK(c, C) grad[n * C + c] = grad2[n] * expf(z[n * C + c]);
}

// cross_entropy_dense_grad (mlp.dnn:13)
__global__ void k_cross_entropy_dense_grad(float *__restrict__ grad3, float *__restrict__ grad5, const float *__restrict__ grad2, const int *__restrict__ label, const float *__restrict__ grad4, long C, long N) {
  GRID_LANES(c0, lanes, C) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long n = 0; n < N; n++)
      LANE(l, lanes) {
        const long c = c0 + l;
        const float grad_2 = grad2[n] * (float)((label[n] == c));
        const float grad_3 = grad_2 + grad4[n * C + c];
        grad_[l] += grad_3;
        grad3[n * C + c] = grad_3;
      }
    LANE(l, lanes) {
      const long c = c0 + l;
      grad5[c] = grad_[l];
    }
  }
}

// relu_dense_grad (mlp.dnn:9)
__global__ void k_relu_dense_grad(float *__restrict__ grad, float *__restrict__ grad3, const float *__restrict__ grad2, long CO, long N) {
  GRID_LANES(co0, lanes, CO) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long n = 0; n < N; n++)
      LANE(l, lanes) {
        const long co = co0 + l;
        const float grad_2 = (grad[n * CO + co] > 0.0f) ? grad2[n * CO + co] : 0.0f;
        grad_[l] += grad_2;
        grad[n * CO + co] = grad_2;
      }
    LANE(l, lanes) {
      const long co = co0 + l;
      grad3[co] = grad_[l];
    }
  }
}

// accuracy (mlp.dnn:14)
__global__ void k_accuracy(int *__restrict__ best, const float *__restrict__ y, long N) {
  GRID_LANES(n0, lanes, N) {
    float best_[LANES];
    LANE(l, lanes) best_[l] = -INFINITY;
    long best_at[LANES];
    LANE(l, lanes) best_at[l] = 0;
    for (long c = 0; c < 10; c++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const float v = y[n * 10 + c];
        if (v > best_[l]) {
          best_[l] = v;
          best_at[l] = c;
        }
      }
    LANE(l, lanes) {
      const long n = n0 + l;
      best[n] = (int)best_at[l];
    }
  }
}

// accuracy (mlp.dnn:14)
__global__ void k_accuracy2(float *__restrict__ sum, const int *__restrict__ label, const int *__restrict__ best, long N) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(n, N) sum_ += ((label[n] != -1) && (best[n] == label[n])) ? 1.0f : 0.0f;
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// dense1: gradient_norm (mlp.dnn:20)
__global__ void k_gradient_norm(float *__restrict__ rows, const float *__restrict__ whole, long CO, long CI) {
  GRID(co, CO) {
    float rows_ = 0.0f;
    BLOCK(ci, CI) rows_ += whole[co * CI + ci] * whole[co * CI + ci];
    rows_ = BLOCK_SUM(rows_);
    ONCE rows[co] = rows_;
  }
}

// dense1: gradient_norm (mlp.dnn:20)
__global__ void k_gradient_norm2(float *__restrict__ square, const float *__restrict__ whole, long CO) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(co, CO) square_ += whole[co] * whole[co];
    square_ = BLOCK_SUM(square_);
    ONCE square[0] = square_;
  }
}

// dense1: gradient_norm (mlp.dnn:20)
__global__ void k_gradient_norm3(float *__restrict__ gradient_norm, const float *__restrict__ rows, const float *__restrict__ square2, const float *__restrict__ square3, const float *__restrict__ square4, const float *__restrict__ square5, const float *__restrict__ square6, long CO) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(co, CO) square_ += rows[co];
    square_ = BLOCK_SUM(square_);
    const float gradient_norm_ = sqrtf((((((square_ + square2[0]) + square3[0]) + square4[0]) + square5[0]) + square6[0]));
    ONCE gradient_norm[0] = gradient_norm_;
  }
}

// dense1: sgd (mlp.dnn:20)
__global__ void k_sgd(float *__restrict__ v, float *__restrict__ u, const float *__restrict__ whole, long count, float lr) {
  FLAT(i, count) {
    const float v_ = (0.9f * v[i]) + whole[i];
    const float u_ = u[i] - (lr * v_);
    v[i] = v_;
    u[i] = u_;
  }
}

// dense3: dense_cross_entropy (mlp.dnn:11)
__global__ void k_dense_cross_entropy2(float *__restrict__ y, float *__restrict__ each, const float *__restrict__ y2, const float *__restrict__ b, const int *__restrict__ label, long N) {
  GRID_LANES(n0, lanes, N) {
    float top_[LANES];
    LANE(l, lanes) top_[l] = -INFINITY;
    for (long co = 0; co < 10; co++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const float y_ = y2[n * 10 + co] + b[co];
        const float v = y_;
        top_[l] = v > top_[l] ? v : top_[l];
        y[n * 10 + co] = y_;
      }
    float total_[LANES];
    LANE(l, lanes) total_[l] = 0.0f;
    float picked_[LANES];
    LANE(l, lanes) picked_[l] = 0.0f;
    for (long co = 0; co < 10; co++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const float z_ = y[n * 10 + co] - top_[l];
        total_[l] += expf(z_);
        picked_[l] += (float)((label[n] == co)) * z_;
      }
    float each_[LANES];
    LANE(l, lanes) {
      const long n = n0 + l;
      each_[l] = (label[n] == -1) ? 0.0f : (logf(total_[l]) - picked_[l]);
      each[n] = each_[l];
    }
  }
}

// ---- one step --------------------------------------------------------------------------------------------------------

// Initial values of parameters and states.
static void init(void) {
  AT("dense1 init", "mlp.dnn:9");
  LAUNCH_FLAT(k_init, 401408, t.dense1_w, 401408, 0.035714287f, parcc.seed, (unsigned long long)parcc.step, 0);
  LAUNCH_FLAT(k_init, 512, t.dense1_b, 512, 0.035714287f, parcc.seed, (unsigned long long)parcc.step, 1);

  AT("dense2 init", "mlp.dnn:9");
  LAUNCH_FLAT(k_init, 262144, t.dense2_w, 262144, 0.044194173f, parcc.seed, (unsigned long long)parcc.step, 2);
  LAUNCH_FLAT(k_init, 512, t.dense2_b, 512, 0.044194173f, parcc.seed, (unsigned long long)parcc.step, 3);

  AT("dense3 init", "mlp.dnn:11");
  LAUNCH_FLAT(k_init, 5120, t.dense3_w, 5120, 0.044194173f, parcc.seed, (unsigned long long)parcc.step, 4);
  LAUNCH_FLAT(k_init, 10, t.dense3_b, 10, 0.044194173f, parcc.seed, (unsigned long long)parcc.step, 5);

  AT("dense1 init", "mlp.dnn:20");
  LAUNCH_FLAT(k_init2, 401408, t.dense1_w_velocity, 401408);
  LAUNCH_FLAT(k_init2, 512, t.dense1_b_velocity, 512);

  AT("dense2 init", "mlp.dnn:20");
  LAUNCH_FLAT(k_init2, 262144, t.dense2_w_velocity, 262144);
  LAUNCH_FLAT(k_init2, 512, t.dense2_b_velocity, 512);

  AT("dense3 init", "mlp.dnn:20");
  LAUNCH_FLAT(k_init2, 5120, t.dense3_w_velocity, 5120);
  LAUNCH_FLAT(k_init2, 10, t.dense3_b_velocity, 10);
}

// The losses of the batch.
static void forward(void) {
  AT("dense1 dense", "mlp.dnn:9");
  // dense1.y[n, co] = sum(ci) (view[n, ci] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 512, batch.len, 784, &one,
      t.dense1_w, 784, t.view, 784, &zero, t.dense1_y, 512));
  LAUNCH_MAP(k_dense_relu, batch.len, 512, t.relu, t.dense1_b, batch.len, 512);

  AT("dense2 dense", "mlp.dnn:9");
  // dense2.y[n, co] = sum(ci) (relu[n, ci] * dense2.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 512, batch.len, 512, &one,
      t.dense2_w, 512, t.relu, 512, &zero, t.dense2_y, 512));
  LAUNCH_MAP(k_dense_relu, batch.len, 512, t.relu_2, t.dense2_b, batch.len, 512);

  AT("dense3 dense", "mlp.dnn:11");
  // dense3.y[n, co] = sum(ci) (relu.2[n, ci] * dense3.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 10, batch.len, 512, &one,
      t.dense3_w, 512, t.relu_2, 512, &zero, t.dense3_y, 10));
  LAUNCH_LANES(k_dense_cross_entropy, batch.len, t.dense3_y_2, t.cross_entropy_z, t.cross_entropy_total, t.cross_entropy_each, t.dense3_y, t.dense3_b, t.label, batch.len);
  LIFETIME_END({t.dense3_y, 640});

  AT("cross_entropy", "mlp.dnn:13");
  LAUNCH_ROWS(k_cross_entropy, 1, t.cross_entropy_sum, t.cross_entropy_each, batch.len);
  LIFETIME_END({t.cross_entropy_each, 64});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.cross_entropy_sum_2, t.label, batch.len);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "mlp.dnn:13");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2
  CHECK_NCCL(ncclAllReduce(t.cross_entropy_sum, t.cross_entropy_sum, 2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "mlp.dnn:13");
  LAUNCH_FLAT(k_cross_entropy3, 1, t.cross_entropy, t.cross_entropy_sum_whole, t.cross_entropy_sum_2_whole);
}

// The gradients of all parameters.
static void backward(void) {
  AT("cross_entropy", "mlp.dnn:13");
  LAUNCH_FLAT(k_cross_entropy_grad, 1, t.cross_entropy_sum_grad, t.cross_entropy_sum_2_whole);
  LAUNCH_FLAT(k_cross_entropy_grad2, batch.len, t.cross_entropy_total_grad, t.cross_entropy_picked_grad, t.label, t.cross_entropy_sum_grad, t.cross_entropy_total, batch.len);
  LIFETIME_END({t.cross_entropy_total, 64}, {t.cross_entropy_sum_grad, 4});
  LAUNCH_MAP(k_cross_entropy_grad3, batch.len, 10, t.cross_entropy_z_grad_2, t.cross_entropy_total_grad, t.cross_entropy_z, batch.len, 10);
  LIFETIME_END({t.cross_entropy_z, 640}, {t.cross_entropy_total_grad, 64});
  LAUNCH_LANES(k_cross_entropy_dense_grad, 10, t.cross_entropy_z_grad_3, t.dense3_b_grad, t.cross_entropy_picked_grad, t.label, t.cross_entropy_z_grad_2, 10, batch.len);
  LIFETIME_END({t.cross_entropy_picked_grad, 64}, {t.cross_entropy_z_grad_2, 640});

  AT("dense3 dense", "mlp.dnn:11");
  // relu.2.grad[n, ci] = sum(co) (cross_entropy.z.grad.3[n, co] * dense3.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 512, batch.len, 10, &one,
      t.dense3_w, 512, t.cross_entropy_z_grad_3, 10, &zero, t.relu_2_grad, 512));
  // dense3.w.grad[co, ci] = sum(n) (cross_entropy.z.grad.3[n, co] * relu.2[n, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 512, 10, batch.len, &one,
      t.relu_2, 512, t.cross_entropy_z_grad_3, 10, &zero, t.dense3_w_grad, 512));
  LIFETIME_END({t.cross_entropy_z_grad_3, 640});

  AT("relu", "mlp.dnn:9");
  LAUNCH_LANES(k_relu_dense_grad, 512, t.dense2_y_2_grad, t.dense2_b_grad, t.relu_2_grad, 512, batch.len);
  LIFETIME_END({t.relu_2_grad, 32768});

  AT("dense2 dense", "mlp.dnn:9");
  // relu.grad[n, ci] = sum(co) (dense2.y.2.grad[n, co] * dense2.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 512, batch.len, 512, &one,
      t.dense2_w, 512, t.dense2_y_2_grad, 512, &zero, t.relu_grad, 512));
  // dense2.w.grad[co, ci] = sum(n) (dense2.y.2.grad[n, co] * relu[n, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 512, 512, batch.len, &one,
      t.relu, 512, t.dense2_y_2_grad, 512, &zero, t.dense2_w_grad, 512));
  LIFETIME_END({t.dense2_y_2_grad, 32768});

  AT("relu", "mlp.dnn:9");
  LAUNCH_LANES(k_relu_dense_grad, 512, t.dense1_y_2_grad, t.dense1_b_grad, t.relu_grad, 512, batch.len);
  LIFETIME_END({t.relu_grad, 32768});

  AT("dense1 dense", "mlp.dnn:9");
  // dense1.w.grad[co, ci] = sum(n) (dense1.y.2.grad[n, co] * view[n, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 784, 512, batch.len, &one,
      t.view, 784, t.dense1_y_2_grad, 512, &zero, t.dense1_w_grad, 784));
  LIFETIME_END({t.view, 50176}, {t.dense1_y_2_grad, 32768});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("all_reduce", "mlp.dnn:9");
  // all_reduce gradients of dense3, dense2, dense1
  CHECK_NCCL(ncclAllReduce(t.dense3_w_grad, t.dense3_w_grad, 669706, ncclFloat, ncclSum, over_data, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
}

// What is only reported: metrics and the gradients' norm.
static void report(void) {
  AT("accuracy", "mlp.dnn:14");
  LAUNCH_LANES(k_accuracy, batch.len, t.accuracy_best, t.dense3_y_2, batch.len);
  LIFETIME_END({t.dense3_y_2, 640});
  LAUNCH_ROWS(k_accuracy2, 1, t.accuracy_sum, t.label, t.accuracy_best, batch.len);
  LIFETIME_END({t.label, 64}, {t.accuracy_best, 64});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "mlp.dnn:14");
  // all_reduce accuracy.sum: [], a sum over data -> []
  CHECK_NCCL(ncclAllReduce(t.accuracy_sum, t.accuracy_sum, 1, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[2]);
  AT("accuracy", "mlp.dnn:14");
  LAUNCH_FLAT(k_cross_entropy3, 1, t.accuracy, t.accuracy_sum_whole, t.cross_entropy_sum_2_whole);
  LIFETIME_END({t.cross_entropy_sum_whole, 8});
  WAIT(parcc.compute, event[1]);
  LIFETIME_END({t.accuracy_sum_whole, 4});

  AT("dense1 gradient_norm", "mlp.dnn:20");
  LAUNCH_ROWS(k_gradient_norm, 512, t.dense1_w_grad_square_rows, t.dense1_w_grad_whole, 512, 784);
  LAUNCH_ROWS(k_gradient_norm2, 1, t.dense1_b_grad_square, t.dense1_b_grad_whole, 512);

  AT("dense2 gradient_norm", "mlp.dnn:20");
  LAUNCH_ROWS(k_gradient_norm, 512, t.dense2_w_grad_square_rows, t.dense2_w_grad_whole, 512, 512);
  LAUNCH_ROWS(k_cross_entropy, 1, t.dense2_w_grad_square, t.dense2_w_grad_square_rows, 512);
  LIFETIME_END({t.dense2_w_grad_square_rows, 2048});
  LAUNCH_ROWS(k_gradient_norm2, 1, t.dense2_b_grad_square, t.dense2_b_grad_whole, 512);

  AT("dense3 gradient_norm", "mlp.dnn:20");
  LAUNCH_ROWS(k_gradient_norm, 10, t.dense3_w_grad_square_rows, t.dense3_w_grad_whole, 10, 512);
  LAUNCH_ROWS(k_cross_entropy, 1, t.dense3_w_grad_square, t.dense3_w_grad_square_rows, 10);
  LIFETIME_END({t.dense3_w_grad_square_rows, 40});
  LAUNCH_ROWS(k_gradient_norm2, 1, t.dense3_b_grad_square, t.dense3_b_grad_whole, 10);

  AT("dense1 gradient_norm", "mlp.dnn:20");
  LAUNCH_ROWS(k_gradient_norm3, 1, t.gradient_norm, t.dense1_w_grad_square_rows, t.dense1_b_grad_square, t.dense2_w_grad_square, t.dense2_b_grad_square, t.dense3_w_grad_square, t.dense3_b_grad_square, 512);
  LIFETIME_END({t.dense1_b_grad_square, 4}, {t.dense2_w_grad_square, 4}, {t.dense2_b_grad_square, 4},
      {t.dense3_w_grad_square, 4}, {t.dense3_b_grad_square, 4}, {t.dense1_w_grad_square_rows, 2048});
}

// The optimizer.
static void update(void) {
  WAIT(parcc.compute, event[1]);

  AT("dense1 sgd", "mlp.dnn:20");
  LAUNCH_FLAT(k_sgd, 401408, t.dense1_w_v, t.dense1_w_u, t.dense1_w_grad_whole, 401408, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 512, t.dense1_b_v, t.dense1_b_u, t.dense1_b_grad_whole, 512, (float)parcc.lr);

  AT("dense2 sgd", "mlp.dnn:20");
  LAUNCH_FLAT(k_sgd, 262144, t.dense2_w_v, t.dense2_w_u, t.dense2_w_grad_whole, 262144, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 512, t.dense2_b_v, t.dense2_b_u, t.dense2_b_grad_whole, 512, (float)parcc.lr);

  AT("dense3 sgd", "mlp.dnn:20");
  LAUNCH_FLAT(k_sgd, 5120, t.dense3_w_v, t.dense3_w_u, t.dense3_w_grad_whole, 5120, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 10, t.dense3_b_v, t.dense3_b_u, t.dense3_b_grad_whole, 10, (float)parcc.lr);
  LIFETIME_END({t.dense3_w_grad_whole, 2678824});
}

// Losses and metrics of a batch of the test split.
static void evaluate(void) {
  AT("dense1 dense", "mlp.dnn:9");
  // dense1.y[n, co] = sum(ci) (view[n, ci] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 512, batch.len, 784, &one,
      t.dense1_w, 784, t.eval_view, 784, &zero, t.eval_dense1_y, 512));
  LAUNCH_MAP(k_dense_relu, batch.len, 512, t.eval_relu, t.dense1_b, batch.len, 512);
  LIFETIME_END({t.eval_view, 50176});

  AT("dense2 dense", "mlp.dnn:9");
  // dense2.y[n, co] = sum(ci) (relu[n, ci] * dense2.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 512, batch.len, 512, &one,
      t.dense2_w, 512, t.eval_relu, 512, &zero, t.eval_dense2_y, 512));
  LAUNCH_MAP(k_dense_relu, batch.len, 512, t.eval_relu_2, t.dense2_b, batch.len, 512);
  LIFETIME_END({t.eval_relu, 32768});

  AT("dense3 dense", "mlp.dnn:11");
  // dense3.y[n, co] = sum(ci) (relu.2[n, ci] * dense3.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 10, batch.len, 512, &one,
      t.dense3_w, 512, t.eval_relu_2, 512, &zero, t.eval_dense3_y, 10));
  LIFETIME_END({t.eval_relu_2, 32768});
  LAUNCH_LANES(k_dense_cross_entropy2, batch.len, t.eval_dense3_y_2, t.eval_cross_entropy_each, t.eval_dense3_y, t.dense3_b, t.eval_label, batch.len);
  LIFETIME_END({t.eval_dense3_y, 640});

  AT("cross_entropy", "mlp.dnn:13");
  LAUNCH_ROWS(k_cross_entropy, 1, t.eval_cross_entropy_sum, t.eval_cross_entropy_each, batch.len);
  LIFETIME_END({t.eval_cross_entropy_each, 64});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.eval_cross_entropy_sum_2, t.eval_label, batch.len);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "mlp.dnn:13");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2
  CHECK_NCCL(ncclAllReduce(t.eval_cross_entropy_sum, t.eval_cross_entropy_sum, 2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "mlp.dnn:13");
  LAUNCH_FLAT(k_cross_entropy3, 1, t.eval_cross_entropy, t.eval_cross_entropy_sum_whole, t.eval_cross_entropy_sum_2_whole);
  AT("accuracy", "mlp.dnn:14");
  LAUNCH_LANES(k_accuracy, batch.len, t.eval_accuracy_best, t.eval_dense3_y_2, batch.len);
  LIFETIME_END({t.eval_dense3_y_2, 640});
  LAUNCH_ROWS(k_accuracy2, 1, t.eval_accuracy_sum, t.eval_label, t.eval_accuracy_best, batch.len);
  LIFETIME_END({t.eval_label, 64}, {t.eval_accuracy_best, 64});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "mlp.dnn:14");
  // all_reduce accuracy.sum: [], a sum over data -> []
  CHECK_NCCL(ncclAllReduce(t.eval_accuracy_sum, t.eval_accuracy_sum, 1, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("accuracy", "mlp.dnn:14");
  LAUNCH_FLAT(k_cross_entropy3, 1, t.eval_accuracy, t.eval_accuracy_sum_whole, t.eval_cross_entropy_sum_2_whole);
  LIFETIME_END({t.eval_accuracy_sum_whole, 4});
  LIFETIME_END({t.eval_cross_entropy_sum_whole, 8});
}

// ---- the run ---------------------------------------------------------------------------------------------------------

static const ParccInput inputs[] = { // name, type, extents of the whole batch, range, files, scale, offset, windows, lines
    {"image", PARCC_FLOAT, 4, {64, 1, 28, 28}, 0, {"idx", "train-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte.gz", 0.00392156862745098, 0.0, NULL, NULL}},
    {"label", PARCC_INT, 1, {64}, 10, {"idx", "train-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte.gz", 1.0, 0.0, NULL, NULL}},
};

static const char *const scalars[] = {"loss", "accuracy"};

static double learning_rate(double step, double steps) {
  (void)step;
  (void)steps;
  return (0.05 * ((step < 1e+02) ? parcc_min(((step + 1.0) / 1e+02), 1.0) : (0.5 * (1.0 + cos(((3.141592653589793 * (step - 1e+02)) / parcc_max((steps - 1e+02), 1.0)))))));
}

static const ParccModel model = {
    .name = "mlp",
    .source = "mlp.dnn",
    .ranks = RANKS,
    .batch = 64,
    .real = PARCC_FLOAT,
    .inputs = inputs,
    .n_inputs = 2,
    .scalars = scalars,
    .n_scalars = 2,
    .steps = 0,
    .epochs = 5,
    .learning_rate = learning_rate,
    .whole_batches = NULL, // the last batch of an evaluation may be smaller
    .sampled = -1, // no text can be generated
    .measures = false, // it trains
};

static void place_tensors(void) {
  char *const arena = parcc_arena(8187904);
  static const long place[] = {0, 401408, 401920, 664064, 664576, 669696, 669760, 1071168, 1071680, 1333824, 1334336, 1339456, 2009280, 2046784, 2009280, 2021824, 2021824,
      2030016, 2030016, 1339520, 2046400, 1339712, 1339904, 1339968, 2046848, 2046849, 2046912, 2009280, 2009344, 2010304, 1607808, 1607296, 1345152, 1344640, 1339520, 2009216,
      2010368, 2010432, 2009856, 2009920, 2009792, 2009984, 669760, 0, 1071168, 401408, 1071680, 401920, 1333824, 664064, 1334336, 664576, 1339456, 669696, 1339584, 1339520,
      2038400, 2038208, 2046592, 2038208, 2030016, 2038208, 2021824, 2009280, 2009792, 2009792, 2046848, 2046849, 2009216, 1339520, 1344640, 1345152, 1607296, 1607808, 2009344,
      1339520, 1360256, 1339520, 1352064, 1352064, 1339520, 1339520, 1347712, 1339520, 1339712, 1339776, 1339777, 1339840, 1339712, 1339520, 1339584, 1339776, 1339777, 1339520};
  parcc_place_record(arena, 4, place, 94, &t); // in units of so many bytes
}

// What --save writes and --load reads.
static void list_stored(void) {
  STORE("dense1.w", PARCC_PARAM, PARCC_FLOAT, t.dense1_w, WHOLE(512), WHOLE(784));
  STORE("dense1.b", PARCC_PARAM, PARCC_FLOAT, t.dense1_b, WHOLE(512));
  STORE("dense2.w", PARCC_PARAM, PARCC_FLOAT, t.dense2_w, WHOLE(512), WHOLE(512));
  STORE("dense2.b", PARCC_PARAM, PARCC_FLOAT, t.dense2_b, WHOLE(512));
  STORE("dense3.w", PARCC_PARAM, PARCC_FLOAT, t.dense3_w, WHOLE(10), WHOLE(512));
  STORE("dense3.b", PARCC_PARAM, PARCC_FLOAT, t.dense3_b, WHOLE(10));
  STORE("dense1.w.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense1_w_velocity, WHOLE(512), WHOLE(784));
  STORE("dense1.b.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense1_b_velocity, WHOLE(512));
  STORE("dense2.w.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense2_w_velocity, WHOLE(512), WHOLE(512));
  STORE("dense2.b.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense2_b_velocity, WHOLE(512));
  STORE("dense3.w.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense3_w_velocity, WHOLE(10), WHOLE(512));
  STORE("dense3.b.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense3_b_velocity, WHOLE(10));
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &model);
  over_data = parcc_axis(1, DATA);
  parcc_events(event, 3);
  place_tensors();
  batch = parcc_block(64, 4, parcc.rank / 1 % DATA);
  list_stored();
  init();
  parcc_load();

  while (parcc_next_step()) {
    LOAD_BATCH(0, t.image, batch, {0, 1}, {0, 28}, {0, 28});
    LOAD_BATCH(1, t.label, batch);
    forward();
    backward();
    if (parcc_reports()) report();
    update();
    END_STEP(t.gradient_norm, t.cross_entropy, t.accuracy);
  }

  for (long count; (count = parcc_next_eval()) > 0;) {
    batch = parcc_block(count, 4, parcc.rank / 1 % DATA);
    LOAD_BATCH(0, t.eval_image, batch, {0, 1}, {0, 28}, {0, 28});
    LOAD_BATCH(1, t.eval_label, batch);
    evaluate();
    END_EVAL(count, t.eval_cross_entropy, t.eval_accuracy);
  }
  return parcc_finish();
}
