// bytes on 2 ranks. Written by parcc from windows.dnn; edit freely, or run parcc again.
//
//   mesh        data=2
//   plan        data parallel: the batch of 8 is divided over the ranks, parameters are on every rank
//   parameters  6400
//   memory      111104 bytes on each device, in one arena (largest sum of live tensors: 111104)
//   moved by the busiest rank in a step: forward 1 collective, 8 bytes; backward 3 collectives, 16640 bytes
//
//   parcc-cc THIS.cu -o PROG && mpiexec -n 2 PROG --data DIR

#include "parcc.h"

enum { RANKS = 2, DATA = 2 };
static const float one = 1, zero = 0;

static Interval b; // this rank's part of 8, over data
static Interval row_; // this rank's part of 8, over no axis
static ncclComm_t over_data;
static cudaEvent_t event[3];

// Tensors of this rank: places in one arena, shared by those whose lifetimes do not overlap.
// LIFETIME_END tells the checking mode which bytes are free for others.
static struct {
  float *table; // table [256, 12]
  float *dense1_w; // dense1.w [256, 12]
  float *dense1_b; // dense1.b [256]
  int *token; // token [b.len, 16]
  int *next; // next [b.len, 16]
  float *embedding; // embedding [b.len, 16, 12]
  float *dense1_y; // dense1.y [b.len, 16, 256]
  float *cross_entropy_z; // cross_entropy.z [b.len, 16, 256]
  float *cross_entropy_total; // cross_entropy.total [b.len, 16]
  float *cross_entropy_each; // cross_entropy.each [b.len, 16]
  float *cross_entropy_sum; // cross_entropy.sum []
  float *cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *cross_entropy; // cross_entropy []
  float *dense1_w_grad; // dense1.w.grad [256, 12]
  float *dense1_b_grad; // dense1.b.grad [256]
  float *dense1_w_grad_square; // dense1.w.grad.square []
  float *dense1_b_grad_square; // dense1.b.grad.square []
  float *gradient_norm; // gradient_norm []
  float *dense1_w_u; // dense1.w.u [256, 12]
  float *dense1_b_u; // dense1.b.u [256]
  float *cross_entropy_sum_grad; // cross_entropy.sum.grad []
  float *cross_entropy_total_grad; // cross_entropy.total.grad [b.len, 16]
  float *cross_entropy_picked_grad; // cross_entropy.picked.grad [b.len, 16]
  float *cross_entropy_z_grad_2; // cross_entropy.z.grad.2 [b.len, 16, 256]
  float *cross_entropy_z_grad_3; // cross_entropy.z.grad.3 [b.len, 16, 256]
  float *embedding_grad; // embedding.grad [b.len, 16, 12]
  int *table_grad_rows; // table.grad.rows [16 * b.len]
  float *table_grad_values; // table.grad.values [16 * b.len, 12]
  int *table_grad_first; // table.grad.first [128]
  float *table_grad_sums; // table.grad.sums [128, 12]
  float *cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
  float *dense1_b_grad_whole; // dense1.b.grad.whole [256]
  float *dense1_w_grad_whole; // dense1.w.grad.whole [256, 12]
  int *table_grad_rows_whole; // table.grad.rows.whole [16 * row_.len]
  float *table_grad_values_whole; // table.grad.values.whole [16 * row_.len, 12]
  int *eval_token; // token [b.len, 16]
  int *eval_next; // next [b.len, 16]
  float *eval_embedding; // embedding [b.len, 16, 12]
  float *eval_dense1_y; // dense1.y [b.len, 16, 256]
  float *eval_cross_entropy_each; // cross_entropy.each [b.len, 16]
  float *eval_cross_entropy_sum; // cross_entropy.sum []
  float *eval_cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *eval_cross_entropy; // cross_entropy []
  float *eval_cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *eval_cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
} t;

// ---- kernels ---------------------------------------------------------------------------------------------------------

// init (windows.dnn:5)
__global__ void k_init(float *__restrict__ table, long count, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) table[i] = 0.1f * parcc_normalf(seed, stream, step, (unsigned long long)(i));
}

// dense1: init (windows.dnn:6)
__global__ void k_init2(float *__restrict__ w, long count, float factor, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) w[i] = factor * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i))) - 1.0f);
}

// embedding (windows.dnn:6)
__global__ void k_embedding(float *__restrict__ embedding, const int *__restrict__ token, const float *__restrict__ table, long BT, long D, long V) {
  GRID2_LANES(bt, BT, d0, lanes, D) {
    float embedding_[LANES];
    LANE(l, lanes) embedding_[l] = 0.0f;
    PLACE(v, token[bt], V)
      LANE(l, lanes) {
        const long d = d0 + l;
        embedding_[l] += table[v * D + d];
      }
    LANE(l, lanes) {
      const long d = d0 + l;
      embedding[bt * D + d] = embedding_[l];
    }
  }
}

// dense1: dense_cross_entropy (windows.dnn:6)
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
    const float each_ = (next[bt] == -1) ? 0.0f : (logf(total_) - picked_);
    ONCE each[bt] = each_;
  }
}

// cross_entropy (windows.dnn:8)
__global__ void k_cross_entropy(float *__restrict__ sum, const float *__restrict__ each, long BT) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(bt, BT) sum_ += each[bt];
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (windows.dnn:8)
__global__ void k_cross_entropy2(float *__restrict__ sum, const int *__restrict__ next, long BT) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(bt, BT) sum_ += (next[bt] != -1) ? 1.0f : 0.0f;
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (windows.dnn:8)
__global__ void k_cross_entropy3(float *__restrict__ cross_entropy, const float *__restrict__ whole, const float *__restrict__ whole2) {
  FLAT(i, 1) cross_entropy[0] = whole[0] / parcc_maxf(whole2[0], 1.0f);
}

// cross_entropy_grad (windows.dnn:8)
__global__ void k_cross_entropy_grad(float *__restrict__ grad, const float *__restrict__ whole) {
  FLAT(i, 1) grad[0] = 1.0f / parcc_maxf(whole[0], 1.0f);
}

// cross_entropy_grad (windows.dnn:8)
__global__ void k_cross_entropy_grad2(float *__restrict__ grad, float *__restrict__ grad3, const int *__restrict__ next, const float *__restrict__ grad2, const float *__restrict__ total, long count) {
  FLAT(i, count) {
    const float grad_ = ((next[i] == -1) ? 0.0f : grad2[0]) / total[i];
    const float grad_2 = -((next[i] == -1) ? 0.0f : grad2[0]);
    grad[i] = grad_;
    grad3[i] = grad_2;
  }
}

// cross_entropy_grad (windows.dnn:8)
__global__ void k_cross_entropy_grad3(float *__restrict__ grad, const float *__restrict__ grad2, long BT, long C) {
  GRID(bt, BT) BLOCK(c, C) grad[bt * C + c] = grad2[bt] * expf(grad[bt * C + c]);
}

// cross_entropy_dense_grad (windows.dnn:8)
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

// embedding_grad (windows.dnn:6)
__global__ void k_embedding_grad(int *__restrict__ first, const int *__restrict__ whole, long len_row_, long len_other, long row__lo) {
  GRID_LANES(row_0, lanes, len_row_) {
    float first_[LANES];
    LANE(l, lanes) first_[l] = -INFINITY;
    long first_at[LANES];
    LANE(l, lanes) first_at[l] = 0;
    for (long other = 0; other < len_other; other++)
      LANE(l, lanes) {
        const long row_ = row_0 + l;
        const float v = (whole[(other - 16 * row__lo)] == whole[(row_ - 16 * row__lo)]) ? 1.0f : 0.0f;
        if (v > first_[l]) {
          first_[l] = v;
          first_at[l] = other;
        }
      }
    LANE(l, lanes) {
      const long row_ = row_0 + l;
      first[row_] = (int)first_at[l];
    }
  }
}

// embedding_grad (windows.dnn:6)
__global__ void k_embedding_grad2(float *__restrict__ sums, const int *__restrict__ first, const float *__restrict__ whole, long C, long len_row_, long len_other, long row__lo) {
  GRID2_LANES(part, PARTS, c0, lanes, C) {
    for (long other = 0; other < len_other; other++)
      PLACE_OF_PART(row_, first[(other + 16 * row__lo)], len_row_, part)
        LANE(l, lanes) {
          const long c = c0 + l;
          sums[row_ * C + c] += whole[other * C + c];
        }
  }
}

// dense1: gradient_norm (windows.dnn:11)
__global__ void k_gradient_norm(float *__restrict__ square, const float *__restrict__ whole, long len_coci) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(coci, len_coci) square_ += whole[coci] * whole[coci];
    square_ = BLOCK_SUM(square_);
    ONCE square[0] = square_;
  }
}

// gradient_norm (windows.dnn:11)
__global__ void k_gradient_norm2(float *__restrict__ gradient_norm, const float *__restrict__ sums, const float *__restrict__ square2, const float *__restrict__ square3, long len_rowc) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(rowc, len_rowc) square_ += sums[rowc] * sums[rowc];
    square_ = BLOCK_SUM(square_);
    const float gradient_norm_ = sqrtf(((square_ + square2[0]) + square3[0]));
    ONCE gradient_norm[0] = gradient_norm_;
  }
}

// dense1: sgd (windows.dnn:11)
__global__ void k_sgd(float *__restrict__ u, const float *__restrict__ whole, long count, float lr) {
  FLAT(i, count) u[i] = u[i] - (lr * whole[i]);
}

// sgd (windows.dnn:11)
__global__ void k_sgd2(float *__restrict__ table, const int *__restrict__ whole, const float *__restrict__ sums, long C, long V, long len_row_, float lr, long row__lo) {
  GRID2_LANES(part, PARTS, c0, lanes, C) {
    for (long row_ = 0; row_ < len_row_; row_++)
      PLACE_OF_PART(v, whole[row_], V, part)
        LANE(l, lanes) {
          const long c = c0 + l;
          table[v * C + c] += -(lr * sums[((row_ + 16 * row__lo)) * C + c]);
        }
  }
}

// dense1: dense_cross_entropy (windows.dnn:6)
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
    const float each_ = (next[bt] == -1) ? 0.0f : (logf(total_) - picked_);
    ONCE each[bt] = each_;
  }
}

// ---- one step --------------------------------------------------------------------------------------------------------

// Initial values of parameters and states.
static void init(void) {
  AT("init", "windows.dnn:5");
  LAUNCH_FLAT(k_init, 3072, t.table, 3072, parcc.seed, (unsigned long long)parcc.step, 0);

  AT("dense1 init", "windows.dnn:6");
  LAUNCH_FLAT(k_init2, 3072, t.dense1_w, 3072, 0.28867513f, parcc.seed, (unsigned long long)parcc.step, 1);
  LAUNCH_FLAT(k_init2, 256, t.dense1_b, 256, 0.28867513f, parcc.seed, (unsigned long long)parcc.step, 2);
}

// The losses of the batch.
static void forward(void) {
  AT("embedding", "windows.dnn:6");
  LAUNCH_LANES(k_embedding, 192 * b.len, t.embedding, t.token, t.table, 16 * b.len, 12, 256);

  AT("dense1 dense", "windows.dnn:6");
  // dense1.y[b, t, co] = sum(ci) (embedding[b, t, ci] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 256, 16 * b.len, 12, &one,
      t.dense1_w, 12, t.embedding, 12, &zero, t.dense1_y, 256));
  LAUNCH_ROWS(k_dense_cross_entropy, 16 * b.len, t.cross_entropy_z, t.cross_entropy_total, t.cross_entropy_each, t.dense1_b, t.next, 16 * b.len, 256);

  AT("cross_entropy", "windows.dnn:8");
  LAUNCH_ROWS(k_cross_entropy, 1, t.cross_entropy_sum, t.cross_entropy_each, 16 * b.len);
  LIFETIME_END({t.cross_entropy_each, 256});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.cross_entropy_sum_2, t.next, 16 * b.len);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "windows.dnn:8");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2
  CHECK_NCCL(ncclAllReduce(t.cross_entropy_sum, t.cross_entropy_sum, 2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "windows.dnn:8");
  LAUNCH_FLAT(k_cross_entropy3, 1, t.cross_entropy, t.cross_entropy_sum_whole, t.cross_entropy_sum_2_whole);
}

// The gradients of all parameters.
static void backward(void) {
  AT("cross_entropy", "windows.dnn:8");
  LAUNCH_FLAT(k_cross_entropy_grad, 1, t.cross_entropy_sum_grad, t.cross_entropy_sum_2_whole);
  LIFETIME_END({t.cross_entropy_sum_whole, 8});
  LAUNCH_FLAT(k_cross_entropy_grad2, 16 * b.len, t.cross_entropy_total_grad, t.cross_entropy_picked_grad, t.next, t.cross_entropy_sum_grad, t.cross_entropy_total, 16 * b.len);
  LAUNCH_MAP(k_cross_entropy_grad3, 16 * b.len, 256, t.cross_entropy_z_grad_2, t.cross_entropy_total_grad, 16 * b.len, 256);
  LIFETIME_END({t.cross_entropy_total, 256}, {t.cross_entropy_sum_grad, 4}, {t.cross_entropy_total_grad, 256});
  LAUNCH_LANES(k_cross_entropy_dense_grad, 256, t.cross_entropy_z_grad_3, t.dense1_b_grad, t.cross_entropy_picked_grad, t.next, 256, 16 * b.len);
  LIFETIME_END({t.next, 256}, {t.cross_entropy_picked_grad, 256});

  AT("dense1 dense", "windows.dnn:6");
  // embedding.grad[b, t, ci] = sum(co) (cross_entropy.z.grad.3[b, t, co] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 12, 16 * b.len, 256, &one,
      t.dense1_w, 12, t.cross_entropy_z_grad_3, 256, &zero, t.embedding_grad, 12));
  // dense1.w.grad[co, ci] = sum(b, t) (cross_entropy.z.grad.3[b, t, co] * embedding[b, t, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 12, 256, 16 * b.len, &one,
      t.embedding, 12, t.cross_entropy_z_grad_3, 256, &zero, t.dense1_w_grad, 12));
  LIFETIME_END({t.embedding, 3072}, {t.cross_entropy_z_grad_3, 65536});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("dense1 all_reduce", "windows.dnn:6");
  // all_reduce gradients of dense1
  CHECK_NCCL(ncclAllReduce(t.dense1_b_grad, t.dense1_b_grad, 3328, ncclFloat, ncclSum, over_data, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));

  AT_COMM("all_gather", "windows.dnn:6");
  // all_gather table.grad.rows: [row/data] -> [row]
  CHECK_NCCL(ncclAllGather(t.table_grad_rows, t.table_grad_rows_whole, 16 * b.len, ncclInt, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[2]);
  LIFETIME_END({t.table_grad_rows, 256});
  AT("embedding", "windows.dnn:6");
  LAUNCH_LANES(k_embedding_grad, 128, t.table_grad_first, t.table_grad_rows_whole, 128, 128, row_.lo);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_gather", "windows.dnn:6");
  // all_gather table.grad.values: [row/data, c] -> [row, c]
  CHECK_NCCL(ncclAllGather(t.table_grad_values, t.table_grad_values_whole, 192 * b.len, ncclFloat, over_data, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[2], parcc.comm));
  AT("embedding", "windows.dnn:6");
  CHECK_CUDA(cudaMemsetAsync(t.table_grad_sums, 0, 1536 * sizeof(float), parcc.compute));
  WAIT(parcc.compute, event[2]);
  AT("embedding", "windows.dnn:6");
  LAUNCH_LANES(k_embedding_grad2, PARTS * 12, t.table_grad_sums, t.table_grad_first, t.table_grad_values_whole, 12, 128, 16 * row_.len, row_.lo);
  LIFETIME_END({t.table_grad_values, 3072}, {t.table_grad_first, 512}, {t.table_grad_values_whole, 6144});
}

// What is only reported: metrics and the gradients' norm.
static void report(void) {
  WAIT(parcc.compute, event[1]);

  AT("dense1 gradient_norm", "windows.dnn:11");
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense1_w_grad_square, t.dense1_w_grad_whole, 3072);
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense1_b_grad_square, t.dense1_b_grad_whole, 256);

  AT("gradient_norm", "windows.dnn:11");
  LAUNCH_ROWS(k_gradient_norm2, 1, t.gradient_norm, t.table_grad_sums, t.dense1_w_grad_square, t.dense1_b_grad_square, 1536);
  LIFETIME_END({t.dense1_w_grad_square, 4}, {t.dense1_b_grad_square, 4});
}

// The optimizer.
static void update(void) {
  WAIT(parcc.compute, event[1]);

  AT("dense1 sgd", "windows.dnn:11");
  LAUNCH_FLAT(k_sgd, 3072, t.dense1_w_u, t.dense1_w_grad_whole, 3072, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 256, t.dense1_b_u, t.dense1_b_grad_whole, 256, (float)parcc.lr);
  LIFETIME_END({t.dense1_b_grad_whole, 13312});

  AT("sgd", "windows.dnn:11");
  LAUNCH_LANES(k_sgd2, PARTS * 12, t.table, t.table_grad_rows_whole, t.table_grad_sums, 12, 256, 16 * row_.len, (float)parcc.lr, row_.lo);
  LIFETIME_END({t.table_grad_sums, 6144}, {t.table_grad_rows_whole, 512});
}

// Losses and metrics of a batch of the test split.
static void evaluate(void) {
  AT("embedding", "windows.dnn:6");
  LAUNCH_LANES(k_embedding, 192 * b.len, t.eval_embedding, t.eval_token, t.table, 16 * b.len, 12, 256);
  LIFETIME_END({t.eval_token, 256});

  AT("dense1 dense", "windows.dnn:6");
  // dense1.y[b, t, co] = sum(ci) (embedding[b, t, ci] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 256, 16 * b.len, 12, &one,
      t.dense1_w, 12, t.eval_embedding, 12, &zero, t.eval_dense1_y, 256));
  LIFETIME_END({t.eval_embedding, 3072});
  LAUNCH_ROWS(k_dense_cross_entropy2, 16 * b.len, t.eval_cross_entropy_each, t.eval_dense1_y, t.dense1_b, t.eval_next, 16 * b.len, 256);
  LIFETIME_END({t.eval_dense1_y, 65536});

  AT("cross_entropy", "windows.dnn:8");
  LAUNCH_ROWS(k_cross_entropy, 1, t.eval_cross_entropy_sum, t.eval_cross_entropy_each, 16 * b.len);
  LIFETIME_END({t.eval_cross_entropy_each, 256});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.eval_cross_entropy_sum_2, t.eval_next, 16 * b.len);
  LIFETIME_END({t.eval_next, 256});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "windows.dnn:8");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2
  CHECK_NCCL(ncclAllReduce(t.eval_cross_entropy_sum, t.eval_cross_entropy_sum, 2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "windows.dnn:8");
  LAUNCH_FLAT(k_cross_entropy3, 1, t.eval_cross_entropy, t.eval_cross_entropy_sum_whole, t.eval_cross_entropy_sum_2_whole);
  LIFETIME_END({t.eval_cross_entropy_sum_whole, 8});
}

// ---- the run ---------------------------------------------------------------------------------------------------------

static const ParccWindows windows_0 = {0, 8, 0.1, NULL}; // shift, stride, part held out for the test split, vocabulary
static const ParccWindows windows_1 = {1, 8, 0.1, NULL}; // shift, stride, part held out for the test split, vocabulary
static const ParccInput inputs[] = { // name, type, extents of the whole batch, range, files, scale, offset, windows, lines
    {"token", PARCC_INT, 2, {8, 16}, 256, {"text", "book.txt", NULL, 1.0, 0.0, &windows_0, NULL}},
    {"next", PARCC_INT, 2, {8, 16}, 256, {"text", "book.txt", NULL, 1.0, 0.0, &windows_1, NULL}},
};

static const char *const scalars[] = {"loss"};

static double learning_rate(double step, double steps) {
  (void)step;
  (void)steps;
  return 0.01;
}

static const ParccModel model = {
    .name = "bytes",
    .source = "windows.dnn",
    .ranks = RANKS,
    .batch = 8,
    .real = PARCC_FLOAT,
    .inputs = inputs,
    .n_inputs = 2,
    .scalars = scalars,
    .n_scalars = 1,
    .steps = 10,
    .epochs = 0,
    .learning_rate = learning_rate,
    .whole_batches = NULL, // the last batch of an evaluation may be smaller
    .sampled = 0, // token: its next value is drawn from what evaluate makes
    .measures = false, // it trains
};

static void place_tensors(void) {
  char *const arena = parcc_arena(111104);
  static const long place[] = {0, 3072, 6144, 27648, 26880, 26112, 6400, 6400, 22784, 22848, 22912, 22913, 27712, 23040, 22784, 7936, 8000, 8064, 3072, 6144, 22976, 22848, 26944,
      6400, 6400, 26880, 27648, 26880, 9472, 6400, 22912, 22913, 22784, 23040, 9600, 7936, 6400, 23552, 22784, 6400, 22784, 6400, 6401, 6464, 6400, 6401};
  parcc_place_record(arena, 4, place, 46, &t); // in units of so many bytes
}

// What --save writes and --load reads.
static void list_stored(void) {
  STORE("table", PARCC_PARAM, PARCC_FLOAT, t.table, WHOLE(256), WHOLE(12));
  STORE("dense1.w", PARCC_PARAM, PARCC_FLOAT, t.dense1_w, WHOLE(256), WHOLE(12));
  STORE("dense1.b", PARCC_PARAM, PARCC_FLOAT, t.dense1_b, WHOLE(256));
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &model);
  over_data = parcc_axis(1, DATA);
  parcc_events(event, 3);
  place_tensors();
  b = parcc_block(8, 2, parcc.rank / 1 % DATA);
  row_ = parcc_block(8, 1, 0);
  list_stored();
  init();
  parcc_load();

  while (parcc_next_step()) {
    LOAD_BATCH(0, t.token, b, {0, 16});
    LOAD_BATCH(1, t.next, b, {0, 16});
    forward();
    backward();
    if (parcc_reports()) report();
    update();
    END_STEP(t.gradient_norm, t.cross_entropy);
  }

  for (long count; (count = parcc_next_eval()) > 0;) {
    b = parcc_block(count, 2, parcc.rank / 1 % DATA);
    row_ = parcc_block(count, 1, 0);
    LOAD_BATCH(0, t.eval_token, b, {0, 16});
    LOAD_BATCH(1, t.eval_next, b, {0, 16});
    evaluate();
    END_EVAL(count, t.eval_cross_entropy);
  }
  return parcc_finish();
}
