// pairs on 2 ranks. Written by parcc from pairs.dnn; edit freely, or run parcc again.
//
//   mesh        data=2
//   plan        data parallel: the batch of 8 is divided over the ranks, parameters are on every rank
//   parameters  5100
//   memory      102656 bytes on each device, in one arena (largest sum of live tensors: 102656)
//   moved by the busiest rank in a step: forward 1 collective, 8 bytes; backward 1 collective, 20400 bytes
//
//   parcc-cc THIS.cu -o PROG && mpiexec -n 2 PROG --data DIR

#include "parcc.h"

enum { RANKS = 2, DATA = 2 };
static const float one = 1, zero = 0;

static Interval b; // this rank's part of 8, over data
static ncclComm_t over_data;
static cudaEvent_t event[2];

// Tensors of this rank: places in one arena, shared by those whose lifetimes do not overlap.
// LIFETIME_END tells the checking mode which bytes are free for others.
static struct {
  float *table; // table [300, 8]
  float *dense1_w; // dense1.w [300, 8]
  float *dense1_b; // dense1.b [300]
  int *source; // source [b.len, 12]
  int *target; // target [b.len, 12]
  int *next; // next [b.len, 12]
  float *embedding; // embedding [b.len, 12, 8]
  float *found; // found [b.len, 8]
  float *x; // x [b.len, 12, 8]
  float *dense1_y; // dense1.y [b.len, 12, 300]
  float *cross_entropy_z; // cross_entropy.z [b.len, 12, 300]
  float *cross_entropy_total; // cross_entropy.total [b.len, 12]
  float *cross_entropy_each; // cross_entropy.each [b.len, 12]
  float *cross_entropy_sum; // cross_entropy.sum []
  float *cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *cross_entropy; // cross_entropy []
  float *table_grad; // table.grad [300, 8]
  float *dense1_w_grad; // dense1.w.grad [300, 8]
  float *dense1_b_grad; // dense1.b.grad [300]
  float *dense1_w_grad_square; // dense1.w.grad.square []
  float *dense1_b_grad_square; // dense1.b.grad.square []
  float *gradient_norm; // gradient_norm []
  float *table_u; // table.u [300, 8]
  float *dense1_w_u; // dense1.w.u [300, 8]
  float *dense1_b_u; // dense1.b.u [300]
  float *cross_entropy_sum_grad; // cross_entropy.sum.grad []
  float *cross_entropy_total_grad; // cross_entropy.total.grad [b.len, 12]
  float *cross_entropy_picked_grad; // cross_entropy.picked.grad [b.len, 12]
  float *cross_entropy_z_grad_2; // cross_entropy.z.grad.2 [b.len, 12, 300]
  float *cross_entropy_z_grad_3; // cross_entropy.z.grad.3 [b.len, 12, 300]
  float *x_grad; // x.grad [b.len, 12, 8]
  float *table_grad_2; // table.grad.2 [300, 8]
  float *embedding_grad; // embedding.grad [b.len, 12, 8]
  float *table_grad_3; // table.grad.3 [300, 8]
  float *cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
  float *dense1_b_grad_whole; // dense1.b.grad.whole [300]
  float *dense1_w_grad_whole; // dense1.w.grad.whole [300, 8]
  float *table_grad_whole; // table.grad.whole [300, 8]
  int *eval_source; // source [b.len, 12]
  int *eval_target; // target [b.len, 12]
  int *eval_next; // next [b.len, 12]
  float *eval_embedding; // embedding [b.len, 12, 8]
  float *eval_found; // found [b.len, 8]
  float *eval_x; // x [b.len, 12, 8]
  float *eval_dense1_y; // dense1.y [b.len, 12, 300]
  float *eval_cross_entropy_each; // cross_entropy.each [b.len, 12]
  float *eval_cross_entropy_sum; // cross_entropy.sum []
  float *eval_cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *eval_cross_entropy; // cross_entropy []
  float *eval_cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *eval_cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
} t;

// ---- kernels ---------------------------------------------------------------------------------------------------------

// init (pairs.dnn:6)
__global__ void k_init(float *__restrict__ table, long count, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) table[i] = 0.1f * parcc_normalf(seed, stream, step, (unsigned long long)(i));
}

// dense1: init (pairs.dnn:11)
__global__ void k_init2(float *__restrict__ w, long count, float factor, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) w[i] = factor * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i))) - 1.0f);
}

// embedding (pairs.dnn:7)
__global__ void k_embedding(float *__restrict__ embedding, const int *__restrict__ source, const float *__restrict__ table, long BS, long D, long V) {
  GRID2_LANES(bs, BS, d0, lanes, D) {
    float embedding_[LANES];
    LANE(l, lanes) embedding_[l] = 0.0f;
    PLACE(v, source[bs], V)
      LANE(l, lanes) {
        const long d = d0 + l;
        embedding_[l] += table[v * D + d];
      }
    LANE(l, lanes) {
      const long d = d0 + l;
      embedding[bs * D + d] = embedding_[l];
    }
  }
}

// found (pairs.dnn:8)
__global__ void k_found(float *__restrict__ found, const int *__restrict__ source, const float *__restrict__ embedding, long B, long C) {
  GRID2_LANES(b, B, c0, lanes, C) {
    float found_[LANES];
    LANE(l, lanes) found_[l] = 0.0f;
    for (long s = 0; s < 12; s++)
      LANE(l, lanes) {
        const long c = c0 + l;
        found_[l] += (source[b * 12 + s] == 0) ? 0.0f : embedding[(b * 12 + s) * C + c];
      }
    LANE(l, lanes) {
      const long c = c0 + l;
      found[b * C + c] = found_[l];
    }
  }
}

// embedding_x (pairs.dnn:9)
__global__ void k_embedding_x(float *__restrict__ x, const int *__restrict__ target, const float *__restrict__ table, const float *__restrict__ found, long B, long T_, long D, long V) {
  GRID3_LANES(b, B, t_, T_, d0, lanes, D) {
    float embedding_[LANES];
    LANE(l, lanes) embedding_[l] = 0.0f;
    PLACE(v, target[b * T_ + t_], V)
      LANE(l, lanes) {
        const long d = d0 + l;
        embedding_[l] += table[v * D + d];
      }
    float x_[LANES];
    LANE(l, lanes) {
      const long d = d0 + l;
      x_[l] = embedding_[l] + found[b * D + d];
      x[(b * T_ + t_) * D + d] = x_[l];
    }
  }
}

// dense1: dense_cross_entropy (pairs.dnn:11)
__global__ void k_dense_cross_entropy(float *__restrict__ y2, float *__restrict__ total, float *__restrict__ each, const float *__restrict__ b, const int *__restrict__ next, long BT, long CO) {
  GRID(bt, BT) {
    float top_ = -INFINITY;
    BLOCK(co, CO) {
      const float y_ = y2[bt * CO + co] + b[co];
      const float v = y_;
      top_ = v > top_ ? v : top_;
    }
    top_ = BLOCK_MAX(top_);
    float total_ = 0.0f;
    float picked_ = 0.0f;
    BLOCK(co, CO) {
      const float y_2 = y2[bt * CO + co] + b[co];
      const float z_ = y_2 - top_;
      total_ += expf(z_);
      picked_ += (float)((next[bt] == co)) * z_;
      y2[bt * CO + co] = z_;
    }
    total_ = BLOCK_SUM(total_);
    ONCE total[bt] = total_;
    picked_ = BLOCK_SUM(picked_);
    const float each_ = (next[bt] == 0) ? 0.0f : (logf(total_) - picked_);
    ONCE each[bt] = each_;
  }
}

// cross_entropy (pairs.dnn:11)
__global__ void k_cross_entropy(float *__restrict__ sum, const float *__restrict__ each, long BT) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(bt, BT) sum_ += each[bt];
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (pairs.dnn:11)
__global__ void k_cross_entropy2(float *__restrict__ sum, const int *__restrict__ next, long BT) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(bt, BT) sum_ += (next[bt] != 0) ? 1.0f : 0.0f;
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (pairs.dnn:11)
__global__ void k_cross_entropy3(float *__restrict__ cross_entropy, const float *__restrict__ whole, const float *__restrict__ whole2) {
  FLAT(i, 1) cross_entropy[0] = whole[0] / parcc_maxf(whole2[0], 1.0f);
}

// cross_entropy_grad (pairs.dnn:11)
__global__ void k_cross_entropy_grad(float *__restrict__ grad, const float *__restrict__ whole) {
  FLAT(i, 1) grad[0] = 1.0f / parcc_maxf(whole[0], 1.0f);
}

// cross_entropy_grad (pairs.dnn:11)
__global__ void k_cross_entropy_grad2(float *__restrict__ grad, float *__restrict__ grad3, const int *__restrict__ next, const float *__restrict__ grad2, const float *__restrict__ total, long count) {
  FLAT(i, count) {
    const float grad_ = ((next[i] == 0) ? 0.0f : grad2[0]) / total[i];
    const float grad_2 = -((next[i] == 0) ? 0.0f : grad2[0]);
    grad[i] = grad_;
    grad3[i] = grad_2;
  }
}

// cross_entropy_grad (pairs.dnn:11)
__global__ void k_cross_entropy_grad3(float *__restrict__ grad, const float *__restrict__ grad2, long BT, long C) {
  GRID(bt, BT) BLOCK(c, C) grad[bt * C + c] = grad2[bt] * expf(grad[bt * C + c]);
}

// cross_entropy_dense_grad (pairs.dnn:11)
__global__ void k_cross_entropy_dense_grad(float *__restrict__ grad3, float *__restrict__ grad4, const float *__restrict__ grad2, const int *__restrict__ next, long C, long BT) {
  GRID_LANES(c0, lanes, C) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long bt = 0; bt < BT; bt++)
      LANE(l, lanes) {
        const long c = c0 + l;
        const float grad_2 = grad2[bt] * (float)((next[bt] == c));
        const float grad_3 = grad_2 + grad3[bt * C + c];
        grad_[l] += grad_3;
        grad3[bt * C + c] = grad_3;
      }
    LANE(l, lanes) {
      const long c = c0 + l;
      grad4[c] = grad_[l];
    }
  }
}

// x_found_grad (pairs.dnn:10)
__global__ void k_x_found_grad(float *__restrict__ grad3, const float *__restrict__ grad2, const int *__restrict__ source, long B, long C) {
  GRID2_LANES(b, B, c0, lanes, C) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long t_ = 0; t_ < 12; t_++)
      LANE(l, lanes) {
        const long c = c0 + l;
        grad_[l] += grad2[(b * 12 + t_) * C + c];
      }
    for (long s = 0; s < 12; s++)
      LANE(l, lanes) {
        const long c = c0 + l;
        grad3[(b * 12 + s) * C + c] = (source[b * 12 + s] == 0) ? 0.0f : grad_[l];
      }
  }
}

// embedding_grad (pairs.dnn:9)
__global__ void k_embedding_grad(float *__restrict__ grad, const float *__restrict__ grad2, const int *__restrict__ target, long D, long V, long BT) {
  GRID2_LANES(part, PARTS, d0, lanes, D) {
    for (long bt = 0; bt < BT; bt++)
      PLACE_OF_PART(v, target[bt], V, part)
        LANE(l, lanes) {
          const long d = d0 + l;
          grad[v * D + d] += grad2[bt * D + d];
        }
  }
}

// gradient_grad (pairs.dnn:6)
__global__ void k_gradient_grad(float *__restrict__ grad, const float *__restrict__ grad2, const float *__restrict__ grad3, long count) {
  FLAT(i, count) grad[i] = grad2[i] + grad3[i];
}

// dense1: gradient_norm (pairs.dnn:14)
__global__ void k_gradient_norm(float *__restrict__ square, const float *__restrict__ whole, long len_coci) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(coci, len_coci) square_ += whole[coci] * whole[coci];
    square_ = BLOCK_SUM(square_);
    ONCE square[0] = square_;
  }
}

// gradient_norm (pairs.dnn:14)
__global__ void k_gradient_norm2(float *__restrict__ gradient_norm, const float *__restrict__ whole, const float *__restrict__ square2, const float *__restrict__ square3, long VC) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(vc, VC) square_ += whole[vc] * whole[vc];
    square_ = BLOCK_SUM(square_);
    const float gradient_norm_ = sqrtf(((square_ + square2[0]) + square3[0]));
    ONCE gradient_norm[0] = gradient_norm_;
  }
}

// sgd (pairs.dnn:14)
__global__ void k_sgd(float *__restrict__ u, const float *__restrict__ whole, long count, float lr) {
  FLAT(i, count) u[i] = u[i] - (lr * whole[i]);
}

// dense1: dense_cross_entropy (pairs.dnn:11)
__global__ void k_dense_cross_entropy2(float *__restrict__ each, const float *__restrict__ y2, const float *__restrict__ b, const int *__restrict__ next, long BT, long CO) {
  GRID(bt, BT) {
    float top_ = -INFINITY;
    BLOCK(co, CO) {
      const float y_ = y2[bt * CO + co] + b[co];
      const float v = y_;
      top_ = v > top_ ? v : top_;
    }
    top_ = BLOCK_MAX(top_);
    float total_ = 0.0f;
    float picked_ = 0.0f;
    BLOCK(co, CO) {
      const float y_2 = y2[bt * CO + co] + b[co];
      const float z_ = y_2 - top_;
      total_ += expf(z_);
      picked_ += (float)((next[bt] == co)) * z_;
    }
    total_ = BLOCK_SUM(total_);
    picked_ = BLOCK_SUM(picked_);
    const float each_ = (next[bt] == 0) ? 0.0f : (logf(total_) - picked_);
    ONCE each[bt] = each_;
  }
}

// ---- one step --------------------------------------------------------------------------------------------------------

// Initial values of parameters and states.
static void init(void) {
  AT("init", "pairs.dnn:6");
  LAUNCH_FLAT(k_init, 2400, t.table, 2400, parcc.seed, (unsigned long long)parcc.step, 0);

  AT("dense1 init", "pairs.dnn:11");
  LAUNCH_FLAT(k_init2, 2400, t.dense1_w, 2400, 0.35355338f, parcc.seed, (unsigned long long)parcc.step, 1);
  LAUNCH_FLAT(k_init2, 300, t.dense1_b, 300, 0.35355338f, parcc.seed, (unsigned long long)parcc.step, 2);
}

// The losses of the batch.
static void forward(void) {
  AT("embedding", "pairs.dnn:7");
  LAUNCH_LANES(k_embedding, 96 * b.len, t.embedding, t.source, t.table, 12 * b.len, 8, 300);
  AT("found", "pairs.dnn:8");
  LAUNCH_LANES(k_found, 8 * b.len, t.found, t.source, t.embedding, b.len, 8);
  LIFETIME_END({t.embedding, 1536});
  AT("embedding", "pairs.dnn:9");
  LAUNCH_LANES(k_embedding_x, 96 * b.len, t.x, t.target, t.table, t.found, b.len, 12, 8, 300);
  LIFETIME_END({t.found, 128});

  AT("dense1 dense", "pairs.dnn:11");
  // dense1.y[b, t, co] = sum(ci) (x[b, t, ci] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 300, 12 * b.len, 8, &one,
      t.dense1_w, 8, t.x, 8, &zero, t.dense1_y, 300));
  LAUNCH_ROWS(k_dense_cross_entropy, 12 * b.len, t.cross_entropy_z, t.cross_entropy_total, t.cross_entropy_each, t.dense1_b, t.next, 12 * b.len, 300);

  AT("cross_entropy", "pairs.dnn:11");
  LAUNCH_ROWS(k_cross_entropy, 1, t.cross_entropy_sum, t.cross_entropy_each, 12 * b.len);
  LIFETIME_END({t.cross_entropy_each, 192});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.cross_entropy_sum_2, t.next, 12 * b.len);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "pairs.dnn:11");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2
  CHECK_NCCL(ncclAllReduce(t.cross_entropy_sum, t.cross_entropy_sum, 2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "pairs.dnn:11");
  LAUNCH_FLAT(k_cross_entropy3, 1, t.cross_entropy, t.cross_entropy_sum_whole, t.cross_entropy_sum_2_whole);
}

// The gradients of all parameters.
static void backward(void) {
  AT("cross_entropy", "pairs.dnn:11");
  LAUNCH_FLAT(k_cross_entropy_grad, 1, t.cross_entropy_sum_grad, t.cross_entropy_sum_2_whole);
  LIFETIME_END({t.cross_entropy_sum_whole, 8});
  LAUNCH_FLAT(k_cross_entropy_grad2, 12 * b.len, t.cross_entropy_total_grad, t.cross_entropy_picked_grad, t.next, t.cross_entropy_sum_grad, t.cross_entropy_total, 12 * b.len);
  LAUNCH_MAP(k_cross_entropy_grad3, 12 * b.len, 300, t.cross_entropy_z_grad_2, t.cross_entropy_total_grad, 12 * b.len, 300);
  LIFETIME_END({t.cross_entropy_total, 192}, {t.cross_entropy_sum_grad, 4}, {t.cross_entropy_total_grad, 192});
  LAUNCH_LANES(k_cross_entropy_dense_grad, 300, t.cross_entropy_z_grad_3, t.dense1_b_grad, t.cross_entropy_picked_grad, t.next, 300, 12 * b.len);
  LIFETIME_END({t.next, 192}, {t.cross_entropy_picked_grad, 192});

  AT("dense1 dense", "pairs.dnn:11");
  // x.grad[b, t, ci] = sum(co) (cross_entropy.z.grad.3[b, t, co] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 8, 12 * b.len, 300, &one,
      t.dense1_w, 8, t.cross_entropy_z_grad_3, 300, &zero, t.x_grad, 8));
  // dense1.w.grad[co, ci] = sum(b, t) (cross_entropy.z.grad.3[b, t, co] * x[b, t, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 8, 300, 12 * b.len, &one,
      t.x, 8, t.cross_entropy_z_grad_3, 300, &zero, t.dense1_w_grad, 8));
  LIFETIME_END({t.x, 1536}, {t.cross_entropy_z_grad_3, 57600});

  AT("x", "pairs.dnn:10");
  LAUNCH_LANES(k_x_found_grad, 8 * b.len, t.embedding_grad, t.x_grad, t.source, b.len, 8);
  AT("embedding", "pairs.dnn:9");
  CHECK_CUDA(cudaMemsetAsync(t.table_grad_2, 0, 2400 * sizeof(float), parcc.compute));
  LAUNCH_LANES(k_embedding_grad, PARTS * 8, t.table_grad_2, t.x_grad, t.target, 8, 300, 12 * b.len);
  LIFETIME_END({t.target, 192}, {t.x_grad, 1536});
  AT("embedding", "pairs.dnn:7");
  CHECK_CUDA(cudaMemsetAsync(t.table_grad_3, 0, 2400 * sizeof(float), parcc.compute));
  LAUNCH_LANES(k_embedding_grad, PARTS * 8, t.table_grad_3, t.embedding_grad, t.source, 8, 300, 12 * b.len);
  LIFETIME_END({t.source, 192}, {t.embedding_grad, 1536});
  AT("gradient", "pairs.dnn:6");
  LAUNCH_FLAT(k_gradient_grad, 2400, t.table_grad, t.table_grad_2, t.table_grad_3, 2400);
  LIFETIME_END({t.table_grad_2, 9600}, {t.table_grad_3, 9600});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "pairs.dnn:6");
  // all_reduce gradients of dense1, table
  CHECK_NCCL(ncclAllReduce(t.dense1_w_grad, t.dense1_w_grad, 5100, ncclFloat, ncclSum, over_data, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
}

// What is only reported: metrics and the gradients' norm.
static void report(void) {
  WAIT(parcc.compute, event[1]);

  AT("dense1 gradient_norm", "pairs.dnn:14");
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense1_w_grad_square, t.dense1_w_grad_whole, 2400);
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense1_b_grad_square, t.dense1_b_grad_whole, 300);

  AT("gradient_norm", "pairs.dnn:14");
  LAUNCH_ROWS(k_gradient_norm2, 1, t.gradient_norm, t.table_grad_whole, t.dense1_w_grad_square, t.dense1_b_grad_square, 2400);
  LIFETIME_END({t.dense1_w_grad_square, 4}, {t.dense1_b_grad_square, 4});
}

// The optimizer.
static void update(void) {
  WAIT(parcc.compute, event[1]);

  AT("sgd", "pairs.dnn:14");
  LAUNCH_FLAT(k_sgd, 2400, t.table_u, t.table_grad_whole, 2400, (float)parcc.lr);

  AT("dense1 sgd", "pairs.dnn:14");
  LAUNCH_FLAT(k_sgd, 2400, t.dense1_w_u, t.dense1_w_grad_whole, 2400, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 300, t.dense1_b_u, t.dense1_b_grad_whole, 300, (float)parcc.lr);
  LIFETIME_END({t.dense1_w_grad_whole, 20400});
}

// Losses and metrics of a batch of the test split.
static void evaluate(void) {
  AT("embedding", "pairs.dnn:7");
  LAUNCH_LANES(k_embedding, 96 * b.len, t.eval_embedding, t.eval_source, t.table, 12 * b.len, 8, 300);
  AT("found", "pairs.dnn:8");
  LAUNCH_LANES(k_found, 8 * b.len, t.eval_found, t.eval_source, t.eval_embedding, b.len, 8);
  LIFETIME_END({t.eval_source, 192}, {t.eval_embedding, 1536});
  AT("embedding", "pairs.dnn:9");
  LAUNCH_LANES(k_embedding_x, 96 * b.len, t.eval_x, t.eval_target, t.table, t.eval_found, b.len, 12, 8, 300);
  LIFETIME_END({t.eval_target, 192}, {t.eval_found, 128});

  AT("dense1 dense", "pairs.dnn:11");
  // dense1.y[b, t, co] = sum(ci) (x[b, t, ci] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 300, 12 * b.len, 8, &one,
      t.dense1_w, 8, t.eval_x, 8, &zero, t.eval_dense1_y, 300));
  LIFETIME_END({t.eval_x, 1536});
  LAUNCH_ROWS(k_dense_cross_entropy2, 12 * b.len, t.eval_cross_entropy_each, t.eval_dense1_y, t.dense1_b, t.eval_next, 12 * b.len, 300);
  LIFETIME_END({t.eval_dense1_y, 57600});

  AT("cross_entropy", "pairs.dnn:11");
  LAUNCH_ROWS(k_cross_entropy, 1, t.eval_cross_entropy_sum, t.eval_cross_entropy_each, 12 * b.len);
  LIFETIME_END({t.eval_cross_entropy_each, 192});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.eval_cross_entropy_sum_2, t.eval_next, 12 * b.len);
  LIFETIME_END({t.eval_next, 192});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "pairs.dnn:11");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2
  CHECK_NCCL(ncclAllReduce(t.eval_cross_entropy_sum, t.eval_cross_entropy_sum, 2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "pairs.dnn:11");
  LAUNCH_FLAT(k_cross_entropy3, 1, t.eval_cross_entropy, t.eval_cross_entropy_sum_whole, t.eval_cross_entropy_sum_2_whole);
  LIFETIME_END({t.eval_cross_entropy_sum_whole, 8});
}

// ---- the run ---------------------------------------------------------------------------------------------------------

static const ParccLines lines_0 = {"words.en", -1, -1, 0, 1, 0.0}; // vocabulary, begin, end, pad, unknown, part held out
static const ParccLines lines_1 = {"words.de", 2, -1, 0, 1, 0.0}; // vocabulary, begin, end, pad, unknown, part held out
static const ParccLines lines_2 = {"words.de", -1, 3, 0, 1, 0.0}; // vocabulary, begin, end, pad, unknown, part held out
static const ParccInput inputs[] = { // name, type, extents of the whole batch, range, files, scale, offset, windows, lines
    {"source", PARCC_INT, 2, {8, 12}, 300, {"lines", "train.en", "test.en", 1.0, 0.0, NULL, &lines_0}},
    {"target", PARCC_INT, 2, {8, 12}, 300, {"lines", "train.de", "test.de", 1.0, 0.0, NULL, &lines_1}},
    {"next", PARCC_INT, 2, {8, 12}, 300, {"lines", "train.de", "test.de", 1.0, 0.0, NULL, &lines_2}},
};

static const char *const scalars[] = {"loss"};

static double learning_rate(double step, double steps) {
  (void)step;
  (void)steps;
  return 0.01;
}

static const ParccModel model = {
    .name = "pairs",
    .source = "pairs.dnn",
    .ranks = RANKS,
    .batch = 8,
    .real = PARCC_FLOAT,
    .inputs = inputs,
    .n_inputs = 3,
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
  char *const arena = parcc_arena(102656);
  static const long place[] = {0, 2432, 4864, 25472, 25536, 25088, 5184, 5568, 24704, 5184, 5184, 19584, 19648, 19712, 19713, 25600, 21984, 19584, 24384, 5184, 5248, 5312, 0,
      2432, 4864, 19776, 19648, 25152, 5184, 5184, 25088, 5184, 10048, 7616, 19712, 19713, 24384, 19584, 21984, 5568, 5632, 19968, 5184, 5696, 19584, 5184, 19584, 5184, 5185,
      5248, 5184, 5185};
  parcc_place_record(arena, 4, place, 52, &t); // in units of so many bytes
}

// What --save writes and --load reads.
static void list_stored(void) {
  STORE("table", PARCC_PARAM, PARCC_FLOAT, t.table, WHOLE(300), WHOLE(8));
  STORE("dense1.w", PARCC_PARAM, PARCC_FLOAT, t.dense1_w, WHOLE(300), WHOLE(8));
  STORE("dense1.b", PARCC_PARAM, PARCC_FLOAT, t.dense1_b, WHOLE(300));
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &model);
  over_data = parcc_axis(1, DATA);
  parcc_events(event, 2);
  place_tensors();
  b = parcc_block(8, 2, parcc.rank / 1 % DATA);
  list_stored();
  init();
  parcc_load();

  while (parcc_next_step()) {
    LOAD_BATCH(0, t.source, b, {0, 12});
    LOAD_BATCH(1, t.target, b, {0, 12});
    LOAD_BATCH(2, t.next, b, {0, 12});
    forward();
    backward();
    if (parcc_reports()) report();
    update();
    END_STEP(t.gradient_norm, t.cross_entropy);
  }

  for (long count; (count = parcc_next_eval()) > 0;) {
    b = parcc_block(count, 2, parcc.rank / 1 % DATA);
    LOAD_BATCH(0, t.eval_source, b, {0, 12});
    LOAD_BATCH(1, t.eval_target, b, {0, 12});
    LOAD_BATCH(2, t.eval_next, b, {0, 12});
    evaluate();
    END_EVAL(count, t.eval_cross_entropy);
  }
  return parcc_finish();
}
