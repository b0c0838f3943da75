// words on 1 rank. Written by parcc from generate.dnn; edit freely, or run parcc again.
//
//   mesh        data=1
//   plan        data parallel: the batch of 8 is divided over the ranks, parameters are on every rank
//   parameters  25000
//   memory      677632 bytes on each device, in one arena (largest sum of live tensors: 677632)
//   moved by the busiest rank in a step: nothing
//
//   parcc-cc THIS.cu -o PROG && mpiexec -n 1 PROG --data DIR

#include "parcc.h"

enum { RANKS = 1, DATA = 1 };
static const float one = 1, zero = 0;

static Interval b; // this rank's part of 8, over data
static Interval other; // this rank's part of 8, over no axis

// Tensors of this rank: places in one arena, shared by those whose lifetimes do not overlap.
// LIFETIME_END tells the checking mode which bytes are free for others.
static struct {
  float *table; // table [1000, 12]
  float *dense1_w; // dense1.w [1000, 12]
  float *dense1_b; // dense1.b [1000]
  int *token; // token [b.len, 16]
  int *next; // next [b.len, 16]
  float *embedding; // embedding [b.len, 16, 12]
  float *dense1_y; // dense1.y [b.len, 16, 1000]
  float *cross_entropy_z; // cross_entropy.z [b.len, 16, 1000]
  float *cross_entropy_total; // cross_entropy.total [b.len, 16]
  float *cross_entropy_each; // cross_entropy.each [b.len, 16]
  float *cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *cross_entropy; // cross_entropy []
  float *dense1_w_grad; // dense1.w.grad [1000, 12]
  float *dense1_b_grad; // dense1.b.grad [1000]
  float *dense1_w_grad_square; // dense1.w.grad.square []
  float *dense1_b_grad_square; // dense1.b.grad.square []
  float *gradient_norm; // gradient_norm []
  float *dense1_w_u; // dense1.w.u [1000, 12]
  float *dense1_b_u; // dense1.b.u [1000]
  float *cross_entropy_sum_grad; // cross_entropy.sum.grad []
  float *cross_entropy_total_grad; // cross_entropy.total.grad [b.len, 16]
  float *cross_entropy_picked_grad; // cross_entropy.picked.grad [b.len, 16]
  float *cross_entropy_z_grad_2; // cross_entropy.z.grad.2 [b.len, 16, 1000]
  float *cross_entropy_z_grad_3; // cross_entropy.z.grad.3 [b.len, 16, 1000]
  float *embedding_grad; // embedding.grad [b.len, 16, 12]
  int *table_grad_rows; // table.grad.rows [16 * b.len]
  float *table_grad_values; // table.grad.values [16 * b.len, 12]
  int *table_grad_first; // table.grad.first [128]
  float *table_grad_sums; // table.grad.sums [128, 12]
  float *dense1_w_grad_square_rows; // dense1.w.grad.square.rows [1000]
  int *eval_token; // token [b.len, 16]
  int *eval_next; // next [b.len, 16]
  float *eval_embedding; // embedding [b.len, 16, 12]
  float *eval_dense1_y; // dense1.y [b.len, 16, 1000]
  float *eval_dense1_y_2; // dense1.y.2 [b.len, 16, 1000]
  float *eval_cross_entropy_each; // cross_entropy.each [b.len, 16]
  float *eval_cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *eval_cross_entropy; // cross_entropy []
} t;

// ---- kernels ---------------------------------------------------------------------------------------------------------

// init (generate.dnn:5)
__global__ void k_init(float *__restrict__ table, long count, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) table[i] = 0.1f * parcc_normalf(seed, stream, step, (unsigned long long)(i));
}

// dense1: init (generate.dnn:6)
__global__ void k_init2(float *__restrict__ w, long count, float factor, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) w[i] = factor * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i))) - 1.0f);
}

// embedding (generate.dnn:6)
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

// dense1: dense_cross_entropy (generate.dnn:6)
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

// cross_entropy (generate.dnn:8)
__global__ void k_cross_entropy(float *__restrict__ sum, const int *__restrict__ next, long BT) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(bt, BT) sum_ += (next[bt] != -1) ? 1.0f : 0.0f;
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (generate.dnn:8)
__global__ void k_cross_entropy2(float *__restrict__ cross_entropy, const float *__restrict__ each, const float *__restrict__ sum2, long BT) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(bt, BT) sum_ += each[bt];
    sum_ = BLOCK_SUM(sum_);
    const float cross_entropy_ = sum_ / parcc_maxf(sum2[0], 1.0f);
    ONCE cross_entropy[0] = cross_entropy_;
  }
}

// cross_entropy_grad (generate.dnn:8)
__global__ void k_cross_entropy_grad(float *__restrict__ grad, const float *__restrict__ sum) {
  FLAT(i, 1) grad[0] = 1.0f / parcc_maxf(sum[0], 1.0f);
}

// cross_entropy_grad (generate.dnn:8)
__global__ void k_cross_entropy_grad2(float *__restrict__ grad, float *__restrict__ grad3, const int *__restrict__ next, const float *__restrict__ grad2, const float *__restrict__ total, long count) {
  FLAT(i, count) {
    const float grad_ = ((next[i] == -1) ? 0.0f : grad2[0]) / total[i];
    const float grad_2 = -((next[i] == -1) ? 0.0f : grad2[0]);
    grad[i] = grad_;
    grad3[i] = grad_2;
  }
}

// cross_entropy_grad (generate.dnn:8)
__global__ void k_cross_entropy_grad3(float *__restrict__ grad, const float *__restrict__ grad2, long BT, long C) {
  GRID(bt, BT) BLOCK(c, C) grad[bt * C + c] = grad2[bt] * expf(grad[bt * C + c]);
}

// cross_entropy_dense_grad (generate.dnn:8)
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

// embedding_grad (generate.dnn:6)
__global__ void k_embedding_grad(int *__restrict__ first, const int *__restrict__ rows, long len_row_, long len_other, long b_lo) {
  GRID_LANES(row_0, lanes, len_row_) {
    float first_[LANES];
    LANE(l, lanes) first_[l] = -INFINITY;
    long first_at[LANES];
    LANE(l, lanes) first_at[l] = 0;
    for (long other = 0; other < len_other; other++)
      LANE(l, lanes) {
        const long row_ = row_0 + l;
        const float v = (rows[(other - 16 * b_lo)] == rows[(row_ - 16 * b_lo)]) ? 1.0f : 0.0f;
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

// embedding_grad (generate.dnn:6)
__global__ void k_embedding_grad2(float *__restrict__ sums, const int *__restrict__ first, const float *__restrict__ values, long C, long len_row_, long len_other, long other_lo, long b_lo) {
  GRID2_LANES(part, PARTS, c0, lanes, C) {
    for (long other = 0; other < len_other; other++)
      PLACE_OF_PART(row_, first[(other + 16 * other_lo)], len_row_, part)
        LANE(l, lanes) {
          const long c = c0 + l;
          sums[row_ * C + c] += values[((other + 16 * other_lo - 16 * b_lo)) * C + c];
        }
  }
}

// dense1: gradient_norm (generate.dnn:11)
__global__ void k_gradient_norm(float *__restrict__ rows, const float *__restrict__ grad, long CO) {
  GRID_LANES(co0, lanes, CO) {
    float rows_[LANES];
    LANE(l, lanes) rows_[l] = 0.0f;
    for (long ci = 0; ci < 12; ci++)
      LANE(l, lanes) {
        const long co = co0 + l;
        rows_[l] += grad[co * 12 + ci] * grad[co * 12 + ci];
      }
    LANE(l, lanes) {
      const long co = co0 + l;
      rows[co] = rows_[l];
    }
  }
}

// dense1: gradient_norm (generate.dnn:11)
__global__ void k_gradient_norm2(float *__restrict__ square, const float *__restrict__ rows, long CO) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(co, CO) square_ += rows[co];
    square_ = BLOCK_SUM(square_);
    ONCE square[0] = square_;
  }
}

// dense1: gradient_norm (generate.dnn:11)
__global__ void k_gradient_norm3(float *__restrict__ square, const float *__restrict__ grad, long CO) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(co, CO) square_ += grad[co] * grad[co];
    square_ = BLOCK_SUM(square_);
    ONCE square[0] = square_;
  }
}

// gradient_norm (generate.dnn:11)
__global__ void k_gradient_norm4(float *__restrict__ gradient_norm, const float *__restrict__ sums, const float *__restrict__ square2, const float *__restrict__ square3, long len_rowc) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(rowc, len_rowc) square_ += sums[rowc] * sums[rowc];
    square_ = BLOCK_SUM(square_);
    const float gradient_norm_ = sqrtf(((square_ + square2[0]) + square3[0]));
    ONCE gradient_norm[0] = gradient_norm_;
  }
}

// dense1: sgd (generate.dnn:11)
__global__ void k_sgd(float *__restrict__ u, const float *__restrict__ grad, long count, float lr) {
  FLAT(i, count) u[i] = u[i] - (lr * grad[i]);
}

// sgd (generate.dnn:11)
__global__ void k_sgd2(float *__restrict__ table, const int *__restrict__ rows, const float *__restrict__ sums, long C, long V, long len_row_, long other_lo, long b_lo, float lr) {
  GRID2_LANES(part, PARTS, c0, lanes, C) {
    for (long row_ = 0; row_ < len_row_; row_++)
      PLACE_OF_PART(v, rows[(row_ + 16 * other_lo - 16 * b_lo)], V, part)
        LANE(l, lanes) {
          const long c = c0 + l;
          table[v * C + c] += -(lr * sums[((row_ + 16 * other_lo)) * C + c]);
        }
  }
}

// dense1: dense_cross_entropy (generate.dnn:6)
__global__ void k_dense_cross_entropy2(float *__restrict__ y, float *__restrict__ each, const float *__restrict__ b, const int *__restrict__ next, long BT, long CO) {
  GRID(bt, BT) {
    float top_ = -INFINITY;
    BLOCK(co, CO) {
      const float y_ = y[bt * CO + co] + b[co];
      const float v = y_;
      top_ = v > top_ ? v : top_;
      y[bt * CO + co] = y_;
    }
    top_ = BLOCK_MAX(top_);
    float total_ = 0.0f;
    float picked_ = 0.0f;
    BLOCK(co, CO) {
      const float z_ = y[bt * CO + co] - top_;
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
  AT("init", "generate.dnn:5");
  LAUNCH_FLAT(k_init, 12000, t.table, 12000, parcc.seed, (unsigned long long)parcc.step, 0);

  AT("dense1 init", "generate.dnn:6");
  LAUNCH_FLAT(k_init2, 12000, t.dense1_w, 12000, 0.28867513f, parcc.seed, (unsigned long long)parcc.step, 1);
  LAUNCH_FLAT(k_init2, 1000, t.dense1_b, 1000, 0.28867513f, parcc.seed, (unsigned long long)parcc.step, 2);
}

// The losses of the batch.
static void forward(void) {
  AT("embedding", "generate.dnn:6");
  LAUNCH_LANES(k_embedding, 192 * b.len, t.embedding, t.token, t.table, 16 * b.len, 12, 1000);

  AT("dense1 dense", "generate.dnn:6");
  // dense1.y[b, t, co] = sum(ci) (embedding[b, t, ci] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 1000, 16 * b.len, 12, &one,
      t.dense1_w, 12, t.embedding, 12, &zero, t.dense1_y, 1000));
  LAUNCH_ROWS(k_dense_cross_entropy, 16 * b.len, t.cross_entropy_z, t.cross_entropy_total, t.cross_entropy_each, t.dense1_b, t.next, 16 * b.len, 1000);

  AT("cross_entropy", "generate.dnn:8");
  LAUNCH_ROWS(k_cross_entropy, 1, t.cross_entropy_sum_2, t.next, 16 * b.len);
  LAUNCH_ROWS(k_cross_entropy2, 1, t.cross_entropy, t.cross_entropy_each, t.cross_entropy_sum_2, 16 * b.len);
  LIFETIME_END({t.cross_entropy_each, 512});
}

// The gradients of all parameters.
static void backward(void) {
  AT("cross_entropy", "generate.dnn:8");
  LAUNCH_FLAT(k_cross_entropy_grad, 1, t.cross_entropy_sum_grad, t.cross_entropy_sum_2);
  LIFETIME_END({t.cross_entropy_sum_2, 4});
  LAUNCH_FLAT(k_cross_entropy_grad2, 16 * b.len, t.cross_entropy_total_grad, t.cross_entropy_picked_grad, t.next, t.cross_entropy_sum_grad, t.cross_entropy_total, 16 * b.len);
  LAUNCH_MAP(k_cross_entropy_grad3, 16 * b.len, 1000, t.cross_entropy_z_grad_2, t.cross_entropy_total_grad, 16 * b.len, 1000);
  LIFETIME_END({t.cross_entropy_total, 512}, {t.cross_entropy_sum_grad, 4}, {t.cross_entropy_total_grad, 512});
  LAUNCH_LANES(k_cross_entropy_dense_grad, 1000, t.cross_entropy_z_grad_3, t.dense1_b_grad, t.cross_entropy_picked_grad, t.next, 1000, 16 * b.len);
  LIFETIME_END({t.next, 512}, {t.cross_entropy_picked_grad, 512});

  AT("dense1 dense", "generate.dnn:6");
  // embedding.grad[b, t, ci] = sum(co) (cross_entropy.z.grad.3[b, t, co] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 12, 16 * b.len, 1000, &one,
      t.dense1_w, 12, t.cross_entropy_z_grad_3, 1000, &zero, t.embedding_grad, 12));
  // dense1.w.grad[co, ci] = sum(b, t) (cross_entropy.z.grad.3[b, t, co] * embedding[b, t, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 12, 1000, 16 * b.len, &one,
      t.embedding, 12, t.cross_entropy_z_grad_3, 1000, &zero, t.dense1_w_grad, 12));
  LIFETIME_END({t.embedding, 6144}, {t.cross_entropy_z_grad_3, 512000});

  AT("embedding", "generate.dnn:6");
  LAUNCH_LANES(k_embedding_grad, 128, t.table_grad_first, t.table_grad_rows, 128, 128, b.lo);
  CHECK_CUDA(cudaMemsetAsync(t.table_grad_sums, 0, 1536 * sizeof(float), parcc.compute));
  LAUNCH_LANES(k_embedding_grad2, PARTS * 12, t.table_grad_sums, t.table_grad_first, t.table_grad_values, 12, 128, 16 * other.len, other.lo, b.lo);
  LIFETIME_END({t.table_grad_values, 6144}, {t.table_grad_first, 512});
}

// What is only reported: metrics and the gradients' norm.
static void report(void) {
  AT("dense1 gradient_norm", "generate.dnn:11");
  LAUNCH_LANES(k_gradient_norm, 1000, t.dense1_w_grad_square_rows, t.dense1_w_grad, 1000);
  LAUNCH_ROWS(k_gradient_norm2, 1, t.dense1_w_grad_square, t.dense1_w_grad_square_rows, 1000);
  LIFETIME_END({t.dense1_w_grad_square_rows, 4000});
  LAUNCH_ROWS(k_gradient_norm3, 1, t.dense1_b_grad_square, t.dense1_b_grad, 1000);

  AT("gradient_norm", "generate.dnn:11");
  LAUNCH_ROWS(k_gradient_norm4, 1, t.gradient_norm, t.table_grad_sums, t.dense1_w_grad_square, t.dense1_b_grad_square, 1536);
  LIFETIME_END({t.dense1_w_grad_square, 4}, {t.dense1_b_grad_square, 4});
}

// The optimizer.
static void update(void) {
  AT("dense1 sgd", "generate.dnn:11");
  LAUNCH_FLAT(k_sgd, 12000, t.dense1_w_u, t.dense1_w_grad, 12000, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 1000, t.dense1_b_u, t.dense1_b_grad, 1000, (float)parcc.lr);
  LIFETIME_END({t.dense1_w_grad, 48000}, {t.dense1_b_grad, 4000});

  AT("sgd", "generate.dnn:11");
  LAUNCH_LANES(k_sgd2, PARTS * 12, t.table, t.table_grad_rows, t.table_grad_sums, 12, 1000, 16 * other.len, other.lo, b.lo, (float)parcc.lr);
  LIFETIME_END({t.table_grad_rows, 512}, {t.table_grad_sums, 6144});
}

// Losses and metrics of a batch of the test split.
static void evaluate(void) {
  AT("embedding", "generate.dnn:6");
  LAUNCH_LANES(k_embedding, 192 * b.len, t.eval_embedding, t.eval_token, t.table, 16 * b.len, 12, 1000);
  LIFETIME_END({t.eval_token, 512});

  AT("dense1 dense", "generate.dnn:6");
  // dense1.y[b, t, co] = sum(ci) (embedding[b, t, ci] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 1000, 16 * b.len, 12, &one,
      t.dense1_w, 12, t.eval_embedding, 12, &zero, t.eval_dense1_y, 1000));
  LIFETIME_END({t.eval_embedding, 6144});
  LAUNCH_ROWS(k_dense_cross_entropy2, 16 * b.len, t.eval_dense1_y_2, t.eval_cross_entropy_each, t.dense1_b, t.eval_next, 16 * b.len, 1000);

  AT("cross_entropy", "generate.dnn:8");
  LAUNCH_ROWS(k_cross_entropy, 1, t.eval_cross_entropy_sum_2, t.eval_next, 16 * b.len);
  LIFETIME_END({t.eval_next, 512});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.eval_cross_entropy, t.eval_cross_entropy_each, t.eval_cross_entropy_sum_2, 16 * b.len);
  LIFETIME_END({t.eval_cross_entropy_each, 512}, {t.eval_cross_entropy_sum_2, 4});
}

// ---- the run ---------------------------------------------------------------------------------------------------------

static const ParccWindows windows_0 = {0, 0, 0.0, "pieces.bin"}; // shift, stride, part held out for the test split, vocabulary
static const ParccWindows windows_1 = {1, 0, 0.0, "pieces.bin"}; // shift, stride, part held out for the test split, vocabulary
static const ParccInput inputs[] = { // name, type, extents of the whole batch, range, files, scale, offset, windows, lines
    {"token", PARCC_INT, 2, {8, 16}, 1000, {"tokens", "train.bin", "valid.bin", 1.0, 0.0, &windows_0, NULL}},
    {"next", PARCC_INT, 2, {8, 16}, 1000, {"tokens", "train.bin", "valid.bin", 1.0, 0.0, &windows_1, NULL}},
};

static const char *const scalars[] = {"loss"};

static double learning_rate(double step, double steps) {
  (void)step;
  (void)steps;
  return 0.01;
}

static const ParccModel model = {
    .name = "words",
    .source = "generate.dnn",
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
  char *const arena = parcc_arena(677632);
  static const long place[] = {0, 188, 376, 2644, 2392, 2580, 392, 392, 2394, 2396, 2398, 2646, 2392, 2628, 432, 416, 417, 188, 376, 2400, 2396, 2398, 392, 392, 2604, 2644, 2604,
      416, 392, 416, 392, 2416, 2392, 392, 392, 2392, 2394, 2395};
  parcc_place_record(arena, 256, place, 38, &t); // in units of so many bytes
}

// What --save writes and --load reads.
static void list_stored(void) {
  STORE("table", PARCC_PARAM, PARCC_FLOAT, t.table, WHOLE(1000), WHOLE(12));
  STORE("dense1.w", PARCC_PARAM, PARCC_FLOAT, t.dense1_w, WHOLE(1000), WHOLE(12));
  STORE("dense1.b", PARCC_PARAM, PARCC_FLOAT, t.dense1_b, WHOLE(1000));
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &model);
  place_tensors();
  b = parcc_block(8, 1, parcc.rank / 1 % DATA);
  other = parcc_block(8, 1, 0);
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
    b = parcc_block(count, 1, parcc.rank / 1 % DATA);
    other = parcc_block(count, 1, 0);
    LOAD_BATCH(0, t.eval_token, b, {0, 16});
    LOAD_BATCH(1, t.eval_next, b, {0, 16});
    evaluate();
    END_EVAL(count, t.eval_cross_entropy);
  }

  for (long count; (count = parcc_next_token()) > 0;) {
    b = parcc_block(count, 1, parcc.rank / 1 % DATA);
    other = parcc_block(count, 1, 0);
    LOAD_BATCH(0, t.eval_token, b, {0, 16});
    LOAD_BATCH(1, t.eval_next, b, {0, 16});
    evaluate();
    parcc_end_token(t.eval_dense1_y_2);
  }
  return parcc_finish();
}
