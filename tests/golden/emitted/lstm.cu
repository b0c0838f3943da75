// steps on 2 ranks. Written by parcc from lstm.dnn; edit freely, or run parcc again.
//
//   mesh        data=2
//   plan        data parallel: the batch of 6 is divided over the ranks, parameters are on every rank
//   parameters  163
//   memory      18432 bytes on each device, in one arena (largest sum of live tensors: 18432)
//   moved by the busiest rank in a step: forward 1 collective, 8 bytes; backward 1 collective, 652 bytes
//
//   parcc-cc THIS.cu -o PROG && mpiexec -n 2 PROG --data DIR

#include "parcc.h"

enum { RANKS = 2, DATA = 2 };
static const float one = 1, zero = 0;

static Interval b; // this rank's part of 6, over data
static ncclComm_t over_data;
static cudaEvent_t event[2];

// Tensors of this rank: places in one arena, shared by those whose lifetimes do not overlap.
// LIFETIME_END tells the checking mode which bytes are free for others.
static struct {
  float *lstm1_w; // lstm1.w [4, 4, 3]
  float *lstm1_r; // lstm1.r [4, 4, 4]
  float *lstm1_bi; // lstm1.bi [4, 4]
  float *dense1_w; // dense1.w [7, 4]
  float *dense1_b; // dense1.b [7]
  float *x; // x [b.len, 20, 3]
  int *next; // next [b.len, 20]
  float *lstm1_z; // lstm1.z [20, b.len, 4, 4]
  float *lstm1_z_2; // lstm1.z.2 [20, b.len, 4, 4]
  float *lstm1_lstm_cell1_lstm_gates_next; // lstm1.lstm_cell1.lstm_gates.next [b.len, 4]
  float *lstm1_concat2; // lstm1.concat2 [20, b.len, 4]
  float *dense1_y; // dense1.y [b.len, 20, 7]
  float *cross_entropy_z; // cross_entropy.z [b.len, 20, 7]
  float *cross_entropy_total; // cross_entropy.total [b.len, 20]
  float *cross_entropy_each; // cross_entropy.each [b.len, 20]
  float *cross_entropy_sum; // cross_entropy.sum []
  float *cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *cross_entropy; // cross_entropy []
  float *lstm1_w_grad; // lstm1.w.grad [4, 4, 3]
  float *lstm1_r_grad; // lstm1.r.grad [4, 4, 4]
  float *lstm1_bi_grad; // lstm1.bi.grad [4, 4]
  float *dense1_w_grad; // dense1.w.grad [7, 4]
  float *dense1_b_grad; // dense1.b.grad [7]
  float *lstm1_r_grad_square; // lstm1.r.grad.square []
  float *lstm1_bi_grad_square; // lstm1.bi.grad.square []
  float *dense1_w_grad_square; // dense1.w.grad.square []
  float *dense1_b_grad_square; // dense1.b.grad.square []
  float *gradient_norm; // gradient_norm []
  float *lstm1_w_u; // lstm1.w.u [4, 4, 3]
  float *lstm1_r_u; // lstm1.r.u [4, 4, 4]
  float *lstm1_bi_u; // lstm1.bi.u [4, 4]
  float *dense1_w_u; // dense1.w.u [7, 4]
  float *dense1_b_u; // dense1.b.u [7]
  float *cross_entropy_sum_grad; // cross_entropy.sum.grad []
  float *cross_entropy_total_grad; // cross_entropy.total.grad [b.len, 20]
  float *cross_entropy_picked_grad; // cross_entropy.picked.grad [b.len, 20]
  float *cross_entropy_z_grad_2; // cross_entropy.z.grad.2 [b.len, 20, 7]
  float *cross_entropy_z_grad_3; // cross_entropy.z.grad.3 [b.len, 20, 7]
  float *lstm1_y_grad; // lstm1.y.grad [b.len, 20, 4]
  float *lstm1_lstm_cell1_lstm_gates_next_grad; // lstm1.lstm_cell1.lstm_gates.next.grad [b.len, 4]
  float *lstm1_lstm_cell1_lstm_gates_h_grad; // lstm1.lstm_cell1.lstm_gates.h.grad [b.len, 4]
  float *lstm1_z_2_grad_21; // lstm1.z.2.grad.21 [20, b.len, 4, 4]
  float *cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
  float *dense1_b_grad_whole; // dense1.b.grad.whole [7]
  float *dense1_w_grad_whole; // dense1.w.grad.whole [7, 4]
  float *lstm1_r_grad_whole; // lstm1.r.grad.whole [4, 4, 4]
  float *lstm1_bi_grad_whole; // lstm1.bi.grad.whole [4, 4]
  float *lstm1_w_grad_whole; // lstm1.w.grad.whole [4, 4, 3]
  float *eval_x; // x [b.len, 20, 3]
  int *eval_next; // next [b.len, 20]
  float *eval_lstm1_z; // lstm1.z [20, b.len, 4, 4]
  float *eval_lstm1_z_2; // lstm1.z.2 [20, b.len, 4, 4]
  float *eval_lstm1_lstm_cell1_lstm_gates_next; // lstm1.lstm_cell1.lstm_gates.next [b.len, 4]
  float *eval_lstm1_concat2; // lstm1.concat2 [20, b.len, 4]
  float *eval_dense1_y; // dense1.y [b.len, 20, 7]
  float *eval_cross_entropy_each; // cross_entropy.each [b.len, 20]
  float *eval_cross_entropy_sum; // cross_entropy.sum []
  float *eval_cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *eval_cross_entropy; // cross_entropy []
  float *eval_cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *eval_cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
} t;

// Layers lstm_cell: what their code differs in.
typedef struct LstmCellSize {
  long start, start2, start3;
} LstmCellSize;
typedef struct LstmCell {
  const char *name;
  const LstmCellSize *sizes;
  float *lstm_gates_next, *lstm_gates_next2, *lstm_gates_next_grad, *lstm_gates_h_grad, *lstm_gates_next_grad2,
    *lstm_gates_h_grad2, *lstm_gates_next3, *lstm_gates_next4;
} LstmCell;
static LstmCell lstm_cell[19];

// ---- kernels ---------------------------------------------------------------------------------------------------------

// lstm1: init (lstm.dnn:6)
__global__ void k_init(float *__restrict__ w, long count, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) w[i] = 0.5f * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i))) - 1.0f);
}

// lstm1: lstm (lstm.dnn:6)
__global__ void k_lstm(float *__restrict__ z, const float *__restrict__ z2, const float *__restrict__ bi, long T_, long B, long KU) {
  GRID2(t_, T_, b, B) BLOCK(ku, KU) z[(t_ * B + b) * KU + ku] = z2[(t_ * B + b) * KU + ku] + bi[ku];
}

// lstm1.lstm_cell1: lstm_gates (lstm.dnn:6)
__global__ void k_lstm_gates(float *__restrict__ next, float *__restrict__ h, const float *__restrict__ z, long B, long U, long K) {
  GRID(b, B) BLOCK(u, U) {
    const float next_ = (0.5f + (0.5f * tanhf((0.5f * z[(b * K + 0) * U + u])))) * tanhf(z[(b * K + 2) * U + u]);
    const float h_ = (0.5f + (0.5f * tanhf((0.5f * z[(b * K + 3) * U + u])))) * tanhf(next_);
    next[b * U + u] = next_;
    h[b * U + u] = h_;
  }
}

// lstm1.lstm_cell2: lstm_gates (lstm.dnn:6)
__global__ void k_lstm_gates2(float *__restrict__ next, float *__restrict__ h, const float *__restrict__ a, const float *__restrict__ next2, long B, long U, long K) {
  GRID(b, B) BLOCK(u, U) {
    const float next_ = ((0.5f + (0.5f * tanhf((0.5f * a[(b * K + 1) * U + u])))) * next2[b * U + u]) + ((0.5f + (0.5f * tanhf((0.5f * a[(b * K + 0) * U + u])))) * tanhf(a[(b * K + 2) * U + u]));
    const float h_ = (0.5f + (0.5f * tanhf((0.5f * a[(b * K + 3) * U + u])))) * tanhf(next_);
    next[b * U + u] = next_;
    h[b * U + u] = h_;
  }
}

// dense1: dense_cross_entropy (lstm.dnn:7)
__global__ void k_dense_cross_entropy(float *__restrict__ z, float *__restrict__ total, float *__restrict__ each, const float *__restrict__ y2, const float *__restrict__ b, const int *__restrict__ next, long BT) {
  GRID_LANES(bt0, lanes, BT) {
    float top_[LANES];
    LANE(l, lanes) top_[l] = -INFINITY;
    for (long co = 0; co < 7; co++)
      LANE(l, lanes) {
        const long bt = bt0 + l;
        const float y_ = y2[bt * 7 + co] + b[co];
        const float v = y_;
        top_[l] = v > top_[l] ? v : top_[l];
      }
    float total_[LANES];
    LANE(l, lanes) total_[l] = 0.0f;
    float picked_[LANES];
    LANE(l, lanes) picked_[l] = 0.0f;
    for (long co = 0; co < 7; co++)
      LANE(l, lanes) {
        const long bt = bt0 + l;
        const float y_2 = y2[bt * 7 + co] + b[co];
        const float z_ = y_2 - top_[l];
        total_[l] += expf(z_);
        picked_[l] += (float)((next[bt] == co)) * z_;
        z[bt * 7 + co] = z_;
      }
    LANE(l, lanes) {
      const long bt = bt0 + l;
      total[bt] = total_[l];
    }
    float each_[LANES];
    LANE(l, lanes) {
      const long bt = bt0 + l;
      each_[l] = (next[bt] == -1) ? 0.0f : (logf(total_[l]) - picked_[l]);
      each[bt] = each_[l];
    }
  }
}

// cross_entropy (lstm.dnn:7)
__global__ void k_cross_entropy(float *__restrict__ sum, const float *__restrict__ each, long BT) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(bt, BT) sum_ += each[bt];
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (lstm.dnn:7)
__global__ void k_cross_entropy2(float *__restrict__ sum, const int *__restrict__ next, long BT) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(bt, BT) sum_ += (next[bt] != -1) ? 1.0f : 0.0f;
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (lstm.dnn:7)
__global__ void k_cross_entropy3(float *__restrict__ cross_entropy, const float *__restrict__ whole, const float *__restrict__ whole2) {
  FLAT(i, 1) cross_entropy[0] = whole[0] / parcc_maxf(whole2[0], 1.0f);
}

// cross_entropy_grad (lstm.dnn:7)
__global__ void k_cross_entropy_grad(float *__restrict__ grad, const float *__restrict__ whole) {
  FLAT(i, 1) grad[0] = 1.0f / parcc_maxf(whole[0], 1.0f);
}

// cross_entropy_grad (lstm.dnn:7)
__global__ void k_cross_entropy_grad2(float *__restrict__ grad, float *__restrict__ grad3, const int *__restrict__ next, const float *__restrict__ grad2, const float *__restrict__ total, long count) {
  FLAT(i, count) {
    const float grad_ = ((next[i] == -1) ? 0.0f : grad2[0]) / total[i];
    const float grad_2 = -((next[i] == -1) ? 0.0f : grad2[0]);
    grad[i] = grad_;
    grad3[i] = grad_2;
  }
}

// cross_entropy_grad (lstm.dnn:7)
__global__ void k_cross_entropy_grad3(float *__restrict__ grad, const float *__restrict__ grad2, const float *__restrict__ z, long BT, long C) {
  GRID(bt, BT) BLOCK(c, C) grad[bt * C + c] = grad2[bt] * expf(z[bt * C + c]);
}

// cross_entropy_dense_grad (lstm.dnn:7)
__global__ void k_cross_entropy_dense_grad(float *__restrict__ grad3, float *__restrict__ grad5, const float *__restrict__ grad2, const int *__restrict__ next, const float *__restrict__ grad4, long C, long BT) {
  GRID_LANES(c0, lanes, C) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long bt = 0; bt < BT; bt++)
      LANE(l, lanes) {
        const long c = c0 + l;
        const float grad_2 = grad2[bt] * (float)((next[bt] == c));
        const float grad_3 = grad_2 + grad4[bt * C + c];
        grad_[l] += grad_3;
        grad3[bt * C + c] = grad_3;
      }
    LANE(l, lanes) {
      const long c = c0 + l;
      grad5[c] = grad_[l];
    }
  }
}

// lstm1.lstm_cell20: lstm_gates_lstm_cell_grad (lstm.dnn:6)
__global__ void k_lstm_gates_lstm_cell_grad(float *__restrict__ grad3, float *__restrict__ grad4, const float *__restrict__ grad, const float *__restrict__ next, const float *__restrict__ a, const float *__restrict__ next2, long B, long U, long CI, long K) {
  GRID2_LANES(b, B, u0, lanes, U) {
    float spread_[LANES];
    float grad_[LANES];
    float spread_2[LANES];
    float grad_2[LANES];
    float spread_3[LANES];
    float spread_4[LANES];
    LANE(l, lanes) {
      const long u = u0 + l;
      spread_[l] = 0.5f * ((0.5f * (grad[b * CI + u] * tanhf(next[b * U + u]))) * (1.0f - (tanhf((0.5f * a[(b * K + 3) * U + u])) * tanhf((0.5f * a[(b * K + 3) * U + u])))));
      grad_[l] = (grad[b * CI + u] * (0.5f + (0.5f * tanhf((0.5f * a[(b * K + 3) * U + u]))))) * (1.0f - (tanhf(next[b * U + u]) * tanhf(next[b * U + u])));
      spread_2[l] = 0.5f * ((0.5f * (grad_[l] * next2[b * U + u])) * (1.0f - (tanhf((0.5f * a[(b * K + 1) * U + u])) * tanhf((0.5f * a[(b * K + 1) * U + u])))));
      grad_2[l] = grad_[l] * (0.5f + (0.5f * tanhf((0.5f * a[(b * K + 1) * U + u]))));
      spread_3[l] = 0.5f * ((0.5f * (grad_[l] * tanhf(a[(b * K + 2) * U + u]))) * (1.0f - (tanhf((0.5f * a[(b * K + 0) * U + u])) * tanhf((0.5f * a[(b * K + 0) * U + u])))));
      spread_4[l] = (grad_[l] * (0.5f + (0.5f * tanhf((0.5f * a[(b * K + 0) * U + u]))))) * (1.0f - (tanhf(a[(b * K + 2) * U + u]) * tanhf(a[(b * K + 2) * U + u])));
      grad3[b * U + u] = grad_2[l];
    }
    for (long k = 0; k < 4; k++)
      LANE(l, lanes) {
        const long u = u0 + l;
        grad4[(b * 4 + k) * U + u] = ((((k == 3) ? spread_[l] : 0.0f) + ((k == 1) ? spread_2[l] : 0.0f)) + ((k == 0) ? spread_3[l] : 0.0f)) + ((k == 2) ? spread_4[l] : 0.0f);
      }
  }
}

// lstm1.lstm_cell19: lstm_gates_lstm_cell_grad (lstm.dnn:6)
__global__ void k_lstm_gates_lstm_cell_grad2(float *__restrict__ grad7, float *__restrict__ grad8, const float *__restrict__ grad2, const float *__restrict__ grad3, const float *__restrict__ next, const float *__restrict__ a, const float *__restrict__ grad6, const float *__restrict__ next2, long B, long U, long CI, long K) {
  GRID2_LANES(b, B, u0, lanes, U) {
    float grad_[LANES];
    float spread_[LANES];
    float grad_2[LANES];
    float grad_3[LANES];
    float spread_2[LANES];
    float grad_4[LANES];
    float spread_3[LANES];
    float spread_4[LANES];
    LANE(l, lanes) {
      const long u = u0 + l;
      grad_[l] = grad2[b * U + u] + grad3[b * CI + u];
      spread_[l] = 0.5f * ((0.5f * (grad_[l] * tanhf(next[b * U + u]))) * (1.0f - (tanhf((0.5f * a[(b * K + 3) * U + u])) * tanhf((0.5f * a[(b * K + 3) * U + u])))));
      grad_2[l] = (grad_[l] * (0.5f + (0.5f * tanhf((0.5f * a[(b * K + 3) * U + u]))))) * (1.0f - (tanhf(next[b * U + u]) * tanhf(next[b * U + u])));
      grad_3[l] = grad6[b * U + u] + grad_2[l];
      spread_2[l] = 0.5f * ((0.5f * (grad_3[l] * next2[b * U + u])) * (1.0f - (tanhf((0.5f * a[(b * K + 1) * U + u])) * tanhf((0.5f * a[(b * K + 1) * U + u])))));
      grad_4[l] = grad_3[l] * (0.5f + (0.5f * tanhf((0.5f * a[(b * K + 1) * U + u]))));
      spread_3[l] = 0.5f * ((0.5f * (grad_3[l] * tanhf(a[(b * K + 2) * U + u]))) * (1.0f - (tanhf((0.5f * a[(b * K + 0) * U + u])) * tanhf((0.5f * a[(b * K + 0) * U + u])))));
      spread_4[l] = (grad_3[l] * (0.5f + (0.5f * tanhf((0.5f * a[(b * K + 0) * U + u]))))) * (1.0f - (tanhf(a[(b * K + 2) * U + u]) * tanhf(a[(b * K + 2) * U + u])));
      grad7[b * U + u] = grad_4[l];
    }
    for (long k = 0; k < 4; k++)
      LANE(l, lanes) {
        const long u = u0 + l;
        grad8[(b * 4 + k) * U + u] = ((((k == 3) ? spread_[l] : 0.0f) + ((k == 1) ? spread_2[l] : 0.0f)) + ((k == 0) ? spread_3[l] : 0.0f)) + ((k == 2) ? spread_4[l] : 0.0f);
      }
  }
}

// lstm1.lstm_cell1: lstm_gates_lstm_cell_grad (lstm.dnn:6)
__global__ void k_lstm_gates_lstm_cell_grad3(float *__restrict__ grad7, const float *__restrict__ grad2, const float *__restrict__ grad3, const float *__restrict__ next, const float *__restrict__ z, const float *__restrict__ grad6, long B, long U, long CI, long K) {
  GRID2_LANES(b, B, u0, lanes, U) {
    float grad_[LANES];
    float spread_[LANES];
    float grad_2[LANES];
    float grad_3[LANES];
    float spread_2[LANES];
    float spread_3[LANES];
    LANE(l, lanes) {
      const long u = u0 + l;
      grad_[l] = grad2[b * U + u] + grad3[b * CI + u];
      spread_[l] = 0.5f * ((0.5f * (grad_[l] * tanhf(next[b * U + u]))) * (1.0f - (tanhf((0.5f * z[(b * K + 3) * U + u])) * tanhf((0.5f * z[(b * K + 3) * U + u])))));
      grad_2[l] = (grad_[l] * (0.5f + (0.5f * tanhf((0.5f * z[(b * K + 3) * U + u]))))) * (1.0f - (tanhf(next[b * U + u]) * tanhf(next[b * U + u])));
      grad_3[l] = grad6[b * U + u] + grad_2[l];
      spread_2[l] = 0.5f * ((0.5f * (grad_3[l] * tanhf(z[(b * K + 2) * U + u]))) * (1.0f - (tanhf((0.5f * z[(b * K + 0) * U + u])) * tanhf((0.5f * z[(b * K + 0) * U + u])))));
      spread_3[l] = (grad_3[l] * (0.5f + (0.5f * tanhf((0.5f * z[(b * K + 0) * U + u]))))) * (1.0f - (tanhf(z[(b * K + 2) * U + u]) * tanhf(z[(b * K + 2) * U + u])));
    }
    for (long k = 0; k < 4; k++)
      LANE(l, lanes) {
        const long u = u0 + l;
        grad7[(b * 4 + k) * U + u] = (((k == 3) ? spread_[l] : 0.0f) + ((k == 0) ? spread_2[l] : 0.0f)) + ((k == 2) ? spread_3[l] : 0.0f);
      }
  }
}

// lstm1: lstm_grad (lstm.dnn:6)
__global__ void k_lstm_grad(float *__restrict__ grad, const float *__restrict__ grad2, long KU, long T_, long B) {
  GRID_LANES(ku0, lanes, KU) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long t_ = 0; t_ < T_; t_++)
      for (long b = 0; b < B; b++)
        LANE(l, lanes) {
          const long ku = ku0 + l;
          grad_[l] += grad2[(t_ * B + b) * KU + ku];
        }
    LANE(l, lanes) {
      const long ku = ku0 + l;
      grad[ku] = grad_[l];
    }
  }
}

// lstm1: gradient_norm (lstm.dnn:9)
__global__ void k_gradient_norm(float *__restrict__ square, const float *__restrict__ whole, long len_kuv) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(kuv, len_kuv) square_ += whole[kuv] * whole[kuv];
    square_ = BLOCK_SUM(square_);
    ONCE square[0] = square_;
  }
}

// lstm1: gradient_norm (lstm.dnn:9)
__global__ void k_gradient_norm2(float *__restrict__ gradient_norm, const float *__restrict__ whole, const float *__restrict__ square2, const float *__restrict__ square3, const float *__restrict__ square4, const float *__restrict__ square5, long len_kuci) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(kuci, len_kuci) square_ += whole[kuci] * whole[kuci];
    square_ = BLOCK_SUM(square_);
    const float gradient_norm_ = sqrtf(((((square_ + square2[0]) + square3[0]) + square4[0]) + square5[0]));
    ONCE gradient_norm[0] = gradient_norm_;
  }
}

// lstm1: sgd (lstm.dnn:9)
__global__ void k_sgd(float *__restrict__ u, const float *__restrict__ whole, long count, float lr) {
  FLAT(i, count) u[i] = u[i] - (lr * whole[i]);
}

// lstm1.lstm_cell20: lstm_gates (lstm.dnn:6)
__global__ void k_lstm_gates3(float *__restrict__ h, const float *__restrict__ a, const float *__restrict__ next2, long B, long U, long K) {
  GRID(b, B) BLOCK(u, U) {
    const float next_ = ((0.5f + (0.5f * tanhf((0.5f * a[(b * K + 1) * U + u])))) * next2[b * U + u]) + ((0.5f + (0.5f * tanhf((0.5f * a[(b * K + 0) * U + u])))) * tanhf(a[(b * K + 2) * U + u]));
    h[b * U + u] = (0.5f + (0.5f * tanhf((0.5f * a[(b * K + 3) * U + u])))) * tanhf(next_);
  }
}

// dense1: dense_cross_entropy (lstm.dnn:7)
__global__ void k_dense_cross_entropy2(float *__restrict__ each, const float *__restrict__ y2, const float *__restrict__ b, const int *__restrict__ next, long BT) {
  GRID_LANES(bt0, lanes, BT) {
    float top_[LANES];
    LANE(l, lanes) top_[l] = -INFINITY;
    for (long co = 0; co < 7; co++)
      LANE(l, lanes) {
        const long bt = bt0 + l;
        const float y_ = y2[bt * 7 + co] + b[co];
        const float v = y_;
        top_[l] = v > top_[l] ? v : top_[l];
      }
    float total_[LANES];
    LANE(l, lanes) total_[l] = 0.0f;
    float picked_[LANES];
    LANE(l, lanes) picked_[l] = 0.0f;
    for (long co = 0; co < 7; co++)
      LANE(l, lanes) {
        const long bt = bt0 + l;
        const float y_2 = y2[bt * 7 + co] + b[co];
        const float z_ = y_2 - top_[l];
        total_[l] += expf(z_);
        picked_[l] += (float)((next[bt] == co)) * z_;
      }
    float each_[LANES];
    LANE(l, lanes) {
      const long bt = bt0 + l;
      each_[l] = (next[bt] == -1) ? 0.0f : (logf(total_[l]) - picked_[l]);
      each[bt] = each_[l];
    }
  }
}

// ---- one step --------------------------------------------------------------------------------------------------------

// forward: 19 layers lstm_cell, like lstm1.lstm_cell2
static void forward_lstm_cell(const LstmCell *layer) {
  const LstmCellSize *const sizes = layer->sizes;
  AT_LAYER(layer->name, "lstm_cell", "lstm.dnn:6");
  // a.sum[b, k, u] = sum(v) (lstm_gates.h[b, v] * r[k, u, v])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 16, b.len, 4, &one,
      t.lstm1_r, 4, t.lstm1_concat2 + sizes->start * b.len, 4, &one, t.lstm1_z_2 + sizes->start2 * b.len, 16));
  AT_LAYER(layer->name, "lstm_gates", "lstm.dnn:6");
  LAUNCH_MAP(k_lstm_gates2, b.len, 4, layer->lstm_gates_next, t.lstm1_concat2 + sizes->start3 * b.len, t.lstm1_z_2 + sizes->start2 * b.len, layer->lstm_gates_next2, b.len, 4, 4);
}

// backward: 18 layers lstm_cell, like lstm1.lstm_cell19
static void backward_lstm_cell(const LstmCell *layer) {
  const LstmCellSize *const sizes = layer->sizes;
  AT_LAYER(layer->name, "lstm_gates", "lstm.dnn:6");
  LAUNCH_LANES(k_lstm_gates_lstm_cell_grad2, 4 * b.len, layer->lstm_gates_next_grad, t.lstm1_z_2_grad_21 + sizes->start2 * b.len, layer->lstm_gates_h_grad, t.lstm1_y_grad + sizes->start3, layer->lstm_gates_next, t.lstm1_z_2 + sizes->start2 * b.len, layer->lstm_gates_next_grad2, layer->lstm_gates_next2, b.len, 4, 80, 4);
  LIFETIME_END({layer->lstm_gates_next, 48}, {layer->lstm_gates_next_grad2, 48},
      {layer->lstm_gates_h_grad, 48});
  AT_LAYER(layer->name, "lstm_cell", "lstm.dnn:6");
  // lstm_gates.h.grad[b, v] = sum(k, u) (a.grad.5[b, k, u] * r[k, u, v])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 4, b.len, 16, &one,
      t.lstm1_r, 4, t.lstm1_z_2_grad_21 + sizes->start2 * b.len, 16, &zero, layer->lstm_gates_h_grad2, 4));
}

// evaluate: 18 layers lstm_cell, like lstm1.lstm_cell2
static void evaluate_lstm_cell(const LstmCell *layer) {
  const LstmCellSize *const sizes = layer->sizes;
  AT_LAYER(layer->name, "lstm_cell", "lstm.dnn:6");
  // a.sum[b, k, u] = sum(v) (lstm_gates.h[b, v] * r[k, u, v])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 16, b.len, 4, &one,
      t.lstm1_r, 4, t.eval_lstm1_concat2 + sizes->start * b.len, 4, &one, t.eval_lstm1_z_2 + sizes->start2 * b.len, 16));
  AT_LAYER(layer->name, "lstm_gates", "lstm.dnn:6");
  LAUNCH_MAP(k_lstm_gates2, b.len, 4, layer->lstm_gates_next3, t.eval_lstm1_concat2 + sizes->start3 * b.len, t.eval_lstm1_z_2 + sizes->start2 * b.len, layer->lstm_gates_next4, b.len, 4, 4);
  LIFETIME_END({layer->lstm_gates_next4, 48});
}

// Initial values of parameters and states.
static void init(void) {
  AT("lstm1 init", "lstm.dnn:6");
  LAUNCH_FLAT(k_init, 48, t.lstm1_w, 48, parcc.seed, (unsigned long long)parcc.step, 0);
  LAUNCH_FLAT(k_init, 64, t.lstm1_r, 64, parcc.seed, (unsigned long long)parcc.step, 1);
  LAUNCH_FLAT(k_init, 16, t.lstm1_bi, 16, parcc.seed, (unsigned long long)parcc.step, 2);

  AT("dense1 init", "lstm.dnn:7");
  LAUNCH_FLAT(k_init, 28, t.dense1_w, 28, parcc.seed, (unsigned long long)parcc.step, 3);
  LAUNCH_FLAT(k_init, 7, t.dense1_b, 7, parcc.seed, (unsigned long long)parcc.step, 4);
}

// The losses of the batch.
static void forward(void) {
  AT("lstm1 lstm", "lstm.dnn:6");
  // lstm1.z[t, b, k, u] = sum(ci) (x[b, t, ci] * lstm1.w[k, u, ci])
  if (320 * b.len > 0)
    CHECK_CUBLAS(cublasSgemmStridedBatched(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 16, 20, 3, &one,
      t.lstm1_w, 3, 0, t.x, 3, 60, &zero, t.lstm1_z, (16 * b.len > 0 ? 16 * b.len : 1), 16, b.len));
  LAUNCH_MAP(k_lstm, 20 * b.len, 16, t.lstm1_z_2, t.lstm1_z, t.lstm1_bi, 20, b.len, 16);
  LIFETIME_END({t.lstm1_z, 3840});

  AT("lstm1.lstm_cell1 lstm_gates", "lstm.dnn:6");
  LAUNCH_MAP(k_lstm_gates, b.len, 4, t.lstm1_lstm_cell1_lstm_gates_next, t.lstm1_concat2 + 0 * b.len, t.lstm1_z_2 + 0 * b.len, b.len, 4, 4);

  for (long i = 0; i <= 18; i++) forward_lstm_cell(&lstm_cell[i]);

  AT("dense1 dense", "lstm.dnn:7");
  // dense1.y[b, t, co] = sum(ci) (lstm1.concat2[t, b, ci] * dense1.w[co, ci])
  if (140 * b.len > 0)
    CHECK_CUBLAS(cublasSgemmStridedBatched(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 7, 20, 4, &one,
      t.dense1_w, 4, 0, t.lstm1_concat2, (4 * b.len > 0 ? 4 * b.len : 1), 4, &zero, t.dense1_y, 7, 140, b.len));
  LAUNCH_LANES(k_dense_cross_entropy, 20 * b.len, t.cross_entropy_z, t.cross_entropy_total, t.cross_entropy_each, t.dense1_y, t.dense1_b, t.next, 20 * b.len);
  LIFETIME_END({t.dense1_y, 1680});

  AT("cross_entropy", "lstm.dnn:7");
  LAUNCH_ROWS(k_cross_entropy, 1, t.cross_entropy_sum, t.cross_entropy_each, 20 * b.len);
  LIFETIME_END({t.cross_entropy_each, 240});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.cross_entropy_sum_2, t.next, 20 * b.len);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "lstm.dnn:7");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2
  CHECK_NCCL(ncclAllReduce(t.cross_entropy_sum, t.cross_entropy_sum, 2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "lstm.dnn:7");
  LAUNCH_FLAT(k_cross_entropy3, 1, t.cross_entropy, t.cross_entropy_sum_whole, t.cross_entropy_sum_2_whole);
}

// The gradients of all parameters.
static void backward(void) {
  AT("cross_entropy", "lstm.dnn:7");
  LAUNCH_FLAT(k_cross_entropy_grad, 1, t.cross_entropy_sum_grad, t.cross_entropy_sum_2_whole);
  LIFETIME_END({t.cross_entropy_sum_whole, 8});
  LAUNCH_FLAT(k_cross_entropy_grad2, 20 * b.len, t.cross_entropy_total_grad, t.cross_entropy_picked_grad, t.next, t.cross_entropy_sum_grad, t.cross_entropy_total, 20 * b.len);
  LIFETIME_END({t.cross_entropy_total, 240}, {t.cross_entropy_sum_grad, 4});
  LAUNCH_MAP(k_cross_entropy_grad3, 20 * b.len, 7, t.cross_entropy_z_grad_2, t.cross_entropy_total_grad, t.cross_entropy_z, 20 * b.len, 7);
  LIFETIME_END({t.cross_entropy_z, 1680}, {t.cross_entropy_total_grad, 240});
  LAUNCH_LANES(k_cross_entropy_dense_grad, 7, t.cross_entropy_z_grad_3, t.dense1_b_grad, t.cross_entropy_picked_grad, t.next, t.cross_entropy_z_grad_2, 7, 20 * b.len);
  LIFETIME_END({t.next, 240}, {t.cross_entropy_picked_grad, 240}, {t.cross_entropy_z_grad_2, 1680});

  AT("dense1 dense", "lstm.dnn:7");
  // lstm1.y.grad[b, t, ci] = sum(co) (cross_entropy.z.grad.3[b, t, co] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 20 * b.len, 7, &one,
      t.dense1_w, 4, t.cross_entropy_z_grad_3, 7, &zero, t.lstm1_y_grad, 4));
  CHECK_CUDA(cudaMemsetAsync(t.dense1_w_grad, 0, 28 * sizeof(float), parcc.compute));
  for (long i = 0; i < b.len; i++) {
    // dense1.w.grad[co, ci] = sum(b, t) (cross_entropy.z.grad.3[b, t, co] * lstm1.concat2[t, b, ci])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 4, 7, 20, &one,
        t.lstm1_concat2 + i * 4, (4 * b.len > 0 ? 4 * b.len : 1), t.cross_entropy_z_grad_3 + i * 140, 7, &one, t.dense1_w_grad, 4));
  }
  LIFETIME_END({t.cross_entropy_z_grad_3, 1680});

  AT("lstm1.lstm_cell20 lstm_gates", "lstm.dnn:6");
  LAUNCH_LANES(k_lstm_gates_lstm_cell_grad, 4 * b.len, lstm_cell[17].lstm_gates_next_grad2, t.lstm1_z_2_grad_21 + 304 * b.len, t.lstm1_y_grad + 76, lstm_cell[18].lstm_gates_next, t.lstm1_z_2 + 304 * b.len, lstm_cell[17].lstm_gates_next, b.len, 4, 80, 4);
  LIFETIME_END({lstm_cell[18].lstm_gates_next, 48});
  AT("lstm1.lstm_cell20 lstm_cell", "lstm.dnn:6");
  // lstm1.lstm_cell19.lstm_gates.h.grad[b, v] = sum(k, u) (lstm1.lstm_cell20.a.grad.5[b, k, u] * lstm1.r[k, u, v])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 4, b.len, 16, &one,
      t.lstm1_r, 4, t.lstm1_z_2_grad_21 + 304 * b.len, 16, &zero, lstm_cell[17].lstm_gates_h_grad, 4));

  for (long i = 17; i >= 0; i--) backward_lstm_cell(&lstm_cell[i]);

  AT("lstm1 lstm_cell", "lstm.dnn:6");
  // lstm1.r.grad[k, u, v] = sum(b) (lstm1.lstm_cell20.a.grad.5[b, k, u] * lstm1.lstm_cell19.lstm_gates.h[b, v]) ...: 19 products in one
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 4, 16, 19 * b.len, &one,
      t.lstm1_concat2 + 0 * b.len, 4, t.lstm1_z_2_grad_21 + 16 * b.len, 16, &zero, t.lstm1_r_grad, 4));
  LIFETIME_END({t.lstm1_concat2, 960});

  AT("lstm1.lstm_cell1 lstm_gates", "lstm.dnn:6");
  LAUNCH_LANES(k_lstm_gates_lstm_cell_grad3, 4 * b.len, t.lstm1_z_2_grad_21 + 0 * b.len, t.lstm1_lstm_cell1_lstm_gates_h_grad, t.lstm1_y_grad + 0, t.lstm1_lstm_cell1_lstm_gates_next, t.lstm1_z_2 + 0 * b.len, t.lstm1_lstm_cell1_lstm_gates_next_grad, b.len, 4, 80, 4);
  LIFETIME_END({t.lstm1_z_2, 3840}, {t.lstm1_lstm_cell1_lstm_gates_next, 48}, {t.lstm1_y_grad, 960},
      {t.lstm1_lstm_cell1_lstm_gates_next_grad, 48}, {t.lstm1_lstm_cell1_lstm_gates_h_grad, 48});

  AT("lstm1 lstm", "lstm.dnn:6");
  LAUNCH_LANES(k_lstm_grad, 16, t.lstm1_bi_grad, t.lstm1_z_2_grad_21, 16, 20, b.len);
  CHECK_CUDA(cudaMemsetAsync(t.lstm1_w_grad, 0, 48 * sizeof(float), parcc.compute));
  for (long i = 0; i < b.len; i++) {
    // lstm1.w.grad[k, u, ci] = sum(t, b) (lstm1.z.2.grad.21[t, b, k, u] * x[b, t, ci])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 3, 16, 20, &one,
        t.x + i * 60, 3, t.lstm1_z_2_grad_21 + i * 16, (16 * b.len > 0 ? 16 * b.len : 1), &one, t.lstm1_w_grad, 3));
  }
  LIFETIME_END({t.x, 720}, {t.lstm1_z_2_grad_21, 3840});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("all_reduce", "lstm.dnn:6");
  // all_reduce gradients of dense1, lstm1
  CHECK_NCCL(ncclAllReduce(t.lstm1_r_grad, t.lstm1_r_grad, 163, ncclFloat, ncclSum, over_data, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
}

// What is only reported: metrics and the gradients' norm.
static void report(void) {
  WAIT(parcc.compute, event[1]);

  AT("lstm1 gradient_norm", "lstm.dnn:9");
  LAUNCH_ROWS(k_gradient_norm, 1, t.lstm1_r_grad_square, t.lstm1_r_grad_whole, 64);
  LAUNCH_ROWS(k_gradient_norm, 1, t.lstm1_bi_grad_square, t.lstm1_bi_grad_whole, 16);

  AT("dense1 gradient_norm", "lstm.dnn:9");
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense1_w_grad_square, t.dense1_w_grad_whole, 28);
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense1_b_grad_square, t.dense1_b_grad_whole, 7);

  AT("lstm1 gradient_norm", "lstm.dnn:9");
  LAUNCH_ROWS(k_gradient_norm2, 1, t.gradient_norm, t.lstm1_w_grad_whole, t.lstm1_r_grad_square, t.lstm1_bi_grad_square, t.dense1_w_grad_square, t.dense1_b_grad_square, 48);
  LIFETIME_END({t.lstm1_r_grad_square, 4}, {t.lstm1_bi_grad_square, 4}, {t.dense1_w_grad_square, 4},
      {t.dense1_b_grad_square, 4});
}

// The optimizer.
static void update(void) {
  WAIT(parcc.compute, event[1]);

  AT("lstm1 sgd", "lstm.dnn:9");
  LAUNCH_FLAT(k_sgd, 48, t.lstm1_w_u, t.lstm1_w_grad_whole, 48, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 64, t.lstm1_r_u, t.lstm1_r_grad_whole, 64, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 16, t.lstm1_bi_u, t.lstm1_bi_grad_whole, 16, (float)parcc.lr);

  AT("dense1 sgd", "lstm.dnn:9");
  LAUNCH_FLAT(k_sgd, 28, t.dense1_w_u, t.dense1_w_grad_whole, 28, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 7, t.dense1_b_u, t.dense1_b_grad_whole, 7, (float)parcc.lr);
  LIFETIME_END({t.lstm1_r_grad_whole, 652});
}

// Losses and metrics of a batch of the test split.
static void evaluate(void) {
  AT("lstm1 lstm", "lstm.dnn:6");
  // lstm1.z[t, b, k, u] = sum(ci) (x[b, t, ci] * lstm1.w[k, u, ci])
  if (320 * b.len > 0)
    CHECK_CUBLAS(cublasSgemmStridedBatched(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 16, 20, 3, &one,
      t.lstm1_w, 3, 0, t.eval_x, 3, 60, &zero, t.eval_lstm1_z, (16 * b.len > 0 ? 16 * b.len : 1), 16, b.len));
  LIFETIME_END({t.eval_x, 720});
  LAUNCH_MAP(k_lstm, 20 * b.len, 16, t.eval_lstm1_z_2, t.eval_lstm1_z, t.lstm1_bi, 20, b.len, 16);
  LIFETIME_END({t.eval_lstm1_z, 3840});

  AT("lstm1.lstm_cell1 lstm_gates", "lstm.dnn:6");
  LAUNCH_MAP(k_lstm_gates, b.len, 4, t.eval_lstm1_lstm_cell1_lstm_gates_next, t.eval_lstm1_concat2 + 0 * b.len, t.eval_lstm1_z_2 + 0 * b.len, b.len, 4, 4);

  for (long i = 0; i <= 17; i++) evaluate_lstm_cell(&lstm_cell[i]);

  AT("lstm1.lstm_cell20 lstm_cell", "lstm.dnn:6");
  // lstm1.lstm_cell20.a.sum[b, k, u] = sum(v) (lstm1.lstm_cell19.lstm_gates.h[b, v] * lstm1.r[k, u, v])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 16, b.len, 4, &one,
      t.lstm1_r, 4, t.eval_lstm1_concat2 + 72 * b.len, 4, &one, t.eval_lstm1_z_2 + 304 * b.len, 16));
  AT("lstm1.lstm_cell20 lstm_gates", "lstm.dnn:6");
  LAUNCH_MAP(k_lstm_gates3, b.len, 4, t.eval_lstm1_concat2 + 76 * b.len, t.eval_lstm1_z_2 + 304 * b.len, lstm_cell[17].lstm_gates_next3, b.len, 4, 4);
  LIFETIME_END({t.eval_lstm1_z_2, 3840}, {lstm_cell[17].lstm_gates_next3, 48});

  AT("dense1 dense", "lstm.dnn:7");
  // dense1.y[b, t, co] = sum(ci) (lstm1.concat2[t, b, ci] * dense1.w[co, ci])
  if (140 * b.len > 0)
    CHECK_CUBLAS(cublasSgemmStridedBatched(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 7, 20, 4, &one,
      t.dense1_w, 4, 0, t.eval_lstm1_concat2, (4 * b.len > 0 ? 4 * b.len : 1), 4, &zero, t.eval_dense1_y, 7, 140, b.len));
  LIFETIME_END({t.eval_lstm1_concat2, 960});
  LAUNCH_LANES(k_dense_cross_entropy2, 20 * b.len, t.eval_cross_entropy_each, t.eval_dense1_y, t.dense1_b, t.eval_next, 20 * b.len);
  LIFETIME_END({t.eval_dense1_y, 1680});

  AT("cross_entropy", "lstm.dnn:7");
  LAUNCH_ROWS(k_cross_entropy, 1, t.eval_cross_entropy_sum, t.eval_cross_entropy_each, 20 * b.len);
  LIFETIME_END({t.eval_cross_entropy_each, 240});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.eval_cross_entropy_sum_2, t.eval_next, 20 * b.len);
  LIFETIME_END({t.eval_next, 240});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "lstm.dnn:7");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2
  CHECK_NCCL(ncclAllReduce(t.eval_cross_entropy_sum, t.eval_cross_entropy_sum, 2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "lstm.dnn:7");
  LAUNCH_FLAT(k_cross_entropy3, 1, t.eval_cross_entropy, t.eval_cross_entropy_sum_whole, t.eval_cross_entropy_sum_2_whole);
  LIFETIME_END({t.eval_cross_entropy_sum_whole, 8});
}

// ---- the run ---------------------------------------------------------------------------------------------------------

static const ParccInput inputs[] = { // name, type, extents of the whole batch, range, files, scale, offset, windows, lines
    {"x", PARCC_FLOAT, 3, {6, 20, 3}, 0, {NULL, NULL, NULL, 1.0, 0.0, NULL, NULL}},
    {"next", PARCC_INT, 2, {6, 20}, 7, {NULL, NULL, NULL, 1.0, 0.0, NULL, NULL}},
};

static const char *const scalars[] = {"loss"};

static double learning_rate(double step, double steps) {
  (void)step;
  (void)steps;
  return 0.01;
}

static const ParccModel model = {
    .name = "steps",
    .source = "lstm.dnn",
    .ranks = RANKS,
    .batch = 6,
    .real = PARCC_FLOAT,
    .inputs = inputs,
    .n_inputs = 2,
    .scalars = scalars,
    .n_scalars = 1,
    .steps = 3,
    .epochs = 0,
    .learning_rate = learning_rate,
    .whole_batches = NULL, // the last batch of an evaluation may be smaller
    .sampled = -1, // no text can be generated
    .measures = false, // it trains
};

static void place_lstm_cell(char *arena) {
  static const LstmCellSize sizes[] = {
      {0, 16, 4},
      {4, 32, 8},
      {8, 48, 12},
      {12, 64, 16},
      {16, 80, 20},
      {20, 96, 24},
      {24, 112, 28},
      {28, 128, 32},
      {32, 144, 36},
      {36, 160, 40},
      {40, 176, 44},
      {44, 192, 48},
      {48, 208, 52},
      {52, 224, 56},
      {56, 240, 60},
      {60, 256, 64},
      {64, 272, 68},
      {68, 288, 72},
      {72, 304, 76},
  };
  static const struct {
    const char *name;
    int sizes;
    long place[8]; // in the order of LstmCell, in units of 4 bytes
  } row[] = {
      {"lstm1.lstm_cell2", 0, {3200, 3136, 3328, 3264, 3392, 3200, 384, 320}},
      {"lstm1.lstm_cell3", 1, {3264, 3200, 3392, 3328, 3456, 3264, 320, 384}},
      {"lstm1.lstm_cell4", 2, {3328, 3264, 3456, 3392, 3520, 3328, 384, 320}},
      {"lstm1.lstm_cell5", 3, {3392, 3328, 3520, 3456, 3584, 3392, 320, 384}},
      {"lstm1.lstm_cell6", 4, {3456, 3392, 3584, 3520, 3648, 3456, 384, 320}},
      {"lstm1.lstm_cell7", 5, {3520, 3456, 3648, 3584, 3712, 3520, 320, 384}},
      {"lstm1.lstm_cell8", 6, {3584, 3520, 3712, 3648, 3776, 3584, 384, 320}},
      {"lstm1.lstm_cell9", 7, {3648, 3584, 3776, 3712, 3840, 3648, 320, 384}},
      {"lstm1.lstm_cell10", 8, {3712, 3648, 3840, 3776, 3904, 3712, 384, 320}},
      {"lstm1.lstm_cell11", 9, {3776, 3712, 3904, 3840, 3968, 3776, 320, 384}},
      {"lstm1.lstm_cell12", 10, {3840, 3776, 3968, 3904, 4032, 3840, 384, 320}},
      {"lstm1.lstm_cell13", 11, {3904, 3840, 4032, 3968, 4096, 3904, 320, 384}},
      {"lstm1.lstm_cell14", 12, {3968, 3904, 4096, 4032, 4160, 3968, 384, 320}},
      {"lstm1.lstm_cell15", 13, {4032, 3968, 4160, 4096, 4224, 4032, 320, 384}},
      {"lstm1.lstm_cell16", 14, {4096, 4032, 4224, 4160, 4288, 4096, 384, 320}},
      {"lstm1.lstm_cell17", 15, {4160, 4096, 4288, 4224, 4352, 4160, 320, 384}},
      {"lstm1.lstm_cell18", 16, {4224, 4160, 4352, 4288, 4480, 4224, 384, 320}},
      {"lstm1.lstm_cell19", 17, {4288, 4224, 4480, 4352, 4416, 4288, 320, 384}},
      {"lstm1.lstm_cell20", 18, {4352, 4288, -1, -1, -1, -1, -1, -1}},
  };
  for (long i = 0; i < 19; i++) {
    LstmCell *const layer = &lstm_cell[i];
    layer->name = row[i].name;
    layer->sizes = &sizes[row[i].sizes];
    parcc_place_record(arena, 4, row[i].place, 8, &layer->lstm_gates_next);
  }
}

static void place_tensors(void) {
  char *const arena = parcc_arena(18432);
  static const long place[] = {0, 64, 128, 192, 256, 2752, 2496, 320, 1280, 3136, 2240, 320, 768, 1216, 2560, 320, 321, 4544, 3024, 2944, 3008, 3072, 3100, 320, 384, 448, 512,
      576, 0, 64, 128, 192, 256, 384, 2560, 2624, 320, 768, 2496, 3328, 3200, 320, 320, 321, 3100, 3072, 2944, 3008, 3024, 1280, 2240, 320, 1280, 320, 768, 320, 768, 320, 321,
      384, 320, 321};
  parcc_place_record(arena, 4, place, 62, &t); // in units of so many bytes
  place_lstm_cell(arena);
}

// What --save writes and --load reads.
static void list_stored(void) {
  STORE("lstm1.w", PARCC_PARAM, PARCC_FLOAT, t.lstm1_w, WHOLE(4), WHOLE(4), WHOLE(3));
  STORE("lstm1.r", PARCC_PARAM, PARCC_FLOAT, t.lstm1_r, WHOLE(4), WHOLE(4), WHOLE(4));
  STORE("lstm1.bi", PARCC_PARAM, PARCC_FLOAT, t.lstm1_bi, WHOLE(4), WHOLE(4));
  STORE("dense1.w", PARCC_PARAM, PARCC_FLOAT, t.dense1_w, WHOLE(7), WHOLE(4));
  STORE("dense1.b", PARCC_PARAM, PARCC_FLOAT, t.dense1_b, WHOLE(7));
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &model);
  over_data = parcc_axis(1, DATA);
  parcc_events(event, 2);
  place_tensors();
  b = parcc_block(6, 2, parcc.rank / 1 % DATA);
  list_stored();
  init();
  parcc_load();

  while (parcc_next_step()) {
    LOAD_BATCH(0, t.x, b, {0, 20}, {0, 3});
    LOAD_BATCH(1, t.next, b, {0, 20});
    forward();
    backward();
    if (parcc_reports()) report();
    update();
    END_STEP(t.gradient_norm, t.cross_entropy);
  }

  for (long count; (count = parcc_next_eval()) > 0;) {
    b = parcc_block(count, 2, parcc.rank / 1 % DATA);
    LOAD_BATCH(0, t.eval_x, b, {0, 20}, {0, 3});
    LOAD_BATCH(1, t.eval_next, b, {0, 20});
    evaluate();
    END_EVAL(count, t.eval_cross_entropy);
  }
  return parcc_finish();
}
