// functions on 3 ranks. Written by parcc from opaque.dnn; edit freely, or run parcc again.
//
//   mesh        data=3
//   plan        data parallel: the batch of 7 is divided over the ranks, parameters are on every rank
//   parameters  105
//   memory      6912 bytes on each device, in one arena (largest sum of live tensors: 6912)
//   moved by the busiest rank in a step: forward 3 collectives, 227 bytes; backward 3 collectives, 672 bytes
//
//   parcc-cc THIS.cu -o PROG && mpiexec -n 3 PROG --data DIR

#include "parcc.h"

// Functions of the user's: extents are those of this rank's part, which begins at `start`.
void sort_rows(cudaStream_t stream, const float *x, const long *x_extent, const float *weight,
               const long *weight_extent, float *y, const long *y_extent, int *place, const long *place_extent,
               const long *start, double slope);
void distances(cudaStream_t stream, const float *a, const long *a_extent, const float *b, const long *b_extent,
               const float *heat, const long *heat_extent, float *d, const long *d_extent, const long *start);
void distances_grad(cudaStream_t stream, const float *a, const long *a_extent, const float *b, const long *b_extent,
                    const float *heat, const long *heat_extent, const float *d, const long *d_extent,
                    const float *d_grad, float *a_grad, float *b_grad, float *heat_grad, const long *start);
void sort_rows_grad(cudaStream_t stream, const float *x, const long *x_extent, const float *weight,
                    const long *weight_extent, const float *y, const long *y_extent, const int *place,
                    const long *place_extent, const float *y_grad, float *x_grad, float *weight_grad,
                    const long *start, double slope);

enum { RANKS = 3, DATA = 3 };

static Interval batch; // this rank's part of 7, over data
static Interval n; // this rank's part of 7, over no axis
static ncclComm_t over_data;
static cudaEvent_t event[3];
static long samples = 7; // in the batch at hand

// How tensors are divided: extent, units, scale, before, after, div and axes of each dimension; stride, size and place of
// each axis (-1: replicated, -2: divided, else the coordinate that holds the tensor).
static const ParccDivision division[] = {
    {2, {{7, 7, 1, 0, 0, 1, 3}, {6, 0, 1, 0, 0, 1, 0}}, 2, {{1, 3, -2}, {1, 1, -2}}},
    {2, {{7, 7, 1, 0, 0, 1, 2}, {6, 0, 1, 0, 0, 1, 0}}, 2, {{1, 3, -1}, {1, 1, -2}}},
    {2, {{7, 7, 1, 0, 0, 1, 3}, {5, 0, 1, 0, 0, 1, 0}}, 2, {{1, 3, -2}, {1, 1, -2}}},
    {2, {{7, 7, 1, 0, 0, 1, 2}, {5, 0, 1, 0, 0, 1, 0}}, 2, {{1, 3, -1}, {1, 1, -2}}},
    {2, {{7, 0, 1, 0, 0, 1, 0}, {6, 0, 1, 0, 0, 1, 0}}, 2, {{1, 3, -1}, {1, 1, -1}}},
};

// Tensors of this rank: places in one arena, shared by those whose lifetimes do not overlap.
// LIFETIME_END tells the checking mode which bytes are free for others.
static struct {
  float *weight; // weight [6]
  float *table; // table [6, 3]
  float *heat; // heat []
  float *dense1_w; // dense1.w [6, 5]
  float *dense1_b; // dense1.b [6]
  float *dense2_w; // dense2.w [4, 6]
  float *dense2_b; // dense2.b [4]
  float *dense3_w; // dense3.w [4, 3]
  float *dense3_b; // dense3.b [4]
  float *x; // x [batch.len, 5]
  int *label; // label [batch.len]
  float *tanh_; // tanh [batch.len, 6]
  float *sorted_y; // sorted.y [batch.len, 6]
  int *sorted_place; // sorted.place [batch.len, 6]
  float *distances; // distances [batch.len, 7]
  float *stop; // stop [batch.len, 5]
  float *stop_2; // stop.2 []
  float *distances_2; // distances.2 [batch.len, 7]
  float *embedding; // embedding [batch.len, 6, 3]
  float *mean_over; // mean_over [batch.len, 3]
  float *dense3_y_2; // dense3.y.2 [batch.len, 4]
  float *add; // add [batch.len, 4]
  float *cross_entropy_z; // cross_entropy.z [batch.len, 4]
  float *cross_entropy_total; // cross_entropy.total [batch.len]
  float *cross_entropy_each; // cross_entropy.each [batch.len]
  float *cross_entropy_sum; // cross_entropy.sum []
  float *cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *cross_entropy; // cross_entropy []
  float *exp_; // exp [batch.len, 7]
  float *mean_sum; // mean.sum []
  float *mean_sum_3; // mean.sum.3 []
  float *mean_2; // mean.2 []
  float *mul; // mul []
  float *add_2; // add.2 []
  float *weight_grad; // weight.grad [6]
  float *table_grad; // table.grad [6, 3]
  float *heat_grad; // heat.grad []
  float *dense1_w_grad; // dense1.w.grad [6, 5]
  float *dense1_b_grad; // dense1.b.grad [6]
  float *dense2_w_grad; // dense2.w.grad [4, 6]
  float *dense2_b_grad; // dense2.b.grad [4]
  float *dense3_w_grad; // dense3.w.grad [4, 3]
  float *dense3_b_grad; // dense3.b.grad [4]
  float *table_grad_square; // table.grad.square []
  float *heat_grad_square; // heat.grad.square []
  float *dense1_w_grad_square; // dense1.w.grad.square []
  float *dense1_b_grad_square; // dense1.b.grad.square []
  float *dense2_w_grad_square; // dense2.w.grad.square []
  float *dense2_b_grad_square; // dense2.b.grad.square []
  float *dense3_w_grad_square; // dense3.w.grad.square []
  float *dense3_b_grad_square; // dense3.b.grad.square []
  float *gradient_norm; // gradient_norm []
  float *weight_u; // weight.u [6]
  float *table_u; // table.u [6, 3]
  float *heat_u; // heat.u []
  float *dense1_w_u; // dense1.w.u [6, 5]
  float *dense1_b_u; // dense1.b.u [6]
  float *dense2_w_u; // dense2.w.u [4, 6]
  float *dense2_b_u; // dense2.b.u [4]
  float *dense3_w_u; // dense3.w.u [4, 3]
  float *dense3_b_u; // dense3.b.u [4]
  float *loss; // loss []
  float *distances_grad; // distances.grad [batch.len, 7]
  float *cross_entropy_sum_grad; // cross_entropy.sum.grad []
  float *cross_entropy_total_grad; // cross_entropy.total.grad [batch.len]
  float *cross_entropy_picked_grad; // cross_entropy.picked.grad [batch.len]
  float *cross_entropy_z_grad_2; // cross_entropy.z.grad.2 [batch.len, 4]
  float *cross_entropy_z_grad_3; // cross_entropy.z.grad.3 [batch.len, 4]
  float *mean_over_sum_grad; // mean_over.sum.grad [batch.len, 3]
  float *sorted_y_grad_2; // sorted.y.grad.2 [batch.len, 6]
  float *sorted_y_grad_3; // sorted.y.grad.3 [7, 6]
  float *heat_grad_3; // heat.grad.3 []
  float *sorted_y_grad_4; // sorted.y.grad.4 [batch.len, 6]
  float *tanh_grad; // tanh.grad [batch.len, 6]
  float *dense1_y_2_grad; // dense1.y.2.grad [batch.len, 6]
  float *sorted_y_whole; // sorted.y.whole [n.len, 6]
  float *stop_whole; // stop.whole [n.len, 5]
  float *cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
  float *mean_sum_whole; // mean.sum.whole []
  float *mean_sum_3_whole; // mean.sum.3.whole []
  float *dense3_b_grad_whole; // dense3.b.grad.whole [4]
  float *dense3_w_grad_whole; // dense3.w.grad.whole [4, 3]
  float *table_grad_whole; // table.grad.whole [6, 3]
  float *dense2_b_grad_whole; // dense2.b.grad.whole [4]
  float *dense2_w_grad_whole; // dense2.w.grad.whole [4, 6]
  float *sorted_y_grad_3_part; // sorted.y.grad.3.part [batch.len, 6]
  float *heat_grad_3_whole; // heat.grad.3.whole []
  float *weight_grad_whole; // weight.grad.whole [6]
  float *dense1_b_grad_whole; // dense1.b.grad.whole [6]
  float *dense1_w_grad_whole; // dense1.w.grad.whole [6, 5]
  float *eval_x; // x [batch.len, 5]
  int *eval_label; // label [batch.len]
  float *eval_tanh; // tanh [batch.len, 6]
  float *eval_sorted_y; // sorted.y [batch.len, 6]
  int *eval_sorted_place; // sorted.place [batch.len, 6]
  float *eval_distances; // distances [batch.len, 7]
  float *eval_stop; // stop [batch.len, 5]
  float *eval_stop_2; // stop.2 []
  float *eval_distances_2; // distances.2 [batch.len, 7]
  float *eval_embedding; // embedding [batch.len, 6, 3]
  float *eval_mean_over; // mean_over [batch.len, 3]
  float *eval_dense3_y_2; // dense3.y.2 [batch.len, 4]
  float *eval_add; // add [batch.len, 4]
  float *eval_cross_entropy_each; // cross_entropy.each [batch.len]
  float *eval_cross_entropy_sum; // cross_entropy.sum []
  float *eval_cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *eval_cross_entropy; // cross_entropy []
  float *eval_mean_sum; // mean.sum []
  float *eval_mean_sum_2; // mean.sum.2 []
  float *eval_mean_sum_3; // mean.sum.3 []
  float *eval_mean_sum_4; // mean.sum.4 []
  float *eval_mean_3; // mean.3 []
  float *eval_mul; // mul []
  float *eval_add_2; // add.2 []
  float *eval_loss; // loss []
  float *eval_sorted_y_whole; // sorted.y.whole [n.len, 6]
  float *eval_stop_whole; // stop.whole [n.len, 5]
  float *eval_cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *eval_cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
  float *eval_mean_sum_whole; // mean.sum.whole []
  float *eval_mean_sum_2_whole; // mean.sum.2.whole []
  float *eval_mean_sum_3_whole; // mean.sum.3.whole []
  float *eval_mean_sum_4_whole; // mean.sum.4.whole []
} t;

// ---- kernels ---------------------------------------------------------------------------------------------------------

// init (opaque.dnn:11)
__global__ void k_init(float *__restrict__ weight, long count, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) weight[i] = 1.0f + (0.1f * parcc_normalf(seed, stream, step, (unsigned long long)(i)));
}

// init (opaque.dnn:12)
__global__ void k_init2(float *__restrict__ table, long count, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) table[i] = parcc_normalf(seed, stream, step, (unsigned long long)(i));
}

// init (opaque.dnn:13)
__global__ void k_init3(float *__restrict__ heat) {
  FLAT(i, 1) heat[0] = 0.3f;
}

// dense1: init (opaque.dnn:14)
__global__ void k_init4(float *__restrict__ w, long count, float factor, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) w[i] = factor * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i))) - 1.0f);
}

// dense1: dense_tanh (opaque.dnn:14)
__global__ void k_dense_tanh(float *__restrict__ tanh_, const float *__restrict__ x, const float *__restrict__ w, const float *__restrict__ b, long len_batch, long CO) {
  GRID2_LANES(batch, len_batch, co0, lanes, CO) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = 0.0f;
    for (long ci = 0; ci < 5; ci++)
      LANE(l, lanes) {
        const long co = co0 + l;
        y_[l] += x[batch * 5 + ci] * w[co * 5 + ci];
      }
    float y_2[LANES];
    float tanh_2[LANES];
    LANE(l, lanes) {
      const long co = co0 + l;
      y_2[l] = y_[l] + b[co];
      tanh_2[l] = tanhf(y_2[l]);
      tanh_[batch * CO + co] = tanh_2[l];
    }
  }
}

// stop (opaque.dnn:17)
__global__ void k_stop(float *__restrict__ stop, const float *__restrict__ x, long count) {
  FLAT(i, count) stop[i] = x[i];
}

// stop (opaque.dnn:17)
__global__ void k_stop2(float *__restrict__ stop, const float *__restrict__ heat) {
  FLAT(i, 1) stop[0] = heat[0];
}

// embedding (opaque.dnn:18)
__global__ void k_embedding(float *__restrict__ embedding, const int *__restrict__ place, const float *__restrict__ table, long NC, long D) {
  GRID2_LANES(nc, NC, d0, lanes, D) {
    float embedding_[LANES];
    LANE(l, lanes) embedding_[l] = 0.0f;
    PLACE(v, place[nc], 6)
      LANE(l, lanes) {
        const long d = d0 + l;
        embedding_[l] += table[v * D + d];
      }
    LANE(l, lanes) {
      const long d = d0 + l;
      embedding[nc * D + d] = embedding_[l];
    }
  }
}

// mean_over (opaque.dnn:18)
__global__ void k_mean_over(float *__restrict__ mean_over, const float *__restrict__ embedding, long N, long D) {
  GRID2_LANES(n, N, d0, lanes, D) {
    float sum_[LANES];
    LANE(l, lanes) sum_[l] = 0.0f;
    for (long c = 0; c < 6; c++)
      LANE(l, lanes) {
        const long d = d0 + l;
        sum_[l] += embedding[(n * 6 + c) * D + d];
      }
    float mean_over_[LANES];
    LANE(l, lanes) {
      const long d = d0 + l;
      mean_over_[l] = sum_[l] / 6.0f;
      mean_over[n * D + d] = mean_over_[l];
    }
  }
}

// dense3: dense (opaque.dnn:18)
__global__ void k_dense(float *__restrict__ y2, const float *__restrict__ mean_over, const float *__restrict__ w, const float *__restrict__ b, long N, long CO) {
  GRID2_LANES(n, N, co0, lanes, CO) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = 0.0f;
    for (long ci = 0; ci < 3; ci++)
      LANE(l, lanes) {
        const long co = co0 + l;
        y_[l] += mean_over[n * 3 + ci] * w[co * 3 + ci];
      }
    float y_2[LANES];
    LANE(l, lanes) {
      const long co = co0 + l;
      y_2[l] = y_[l] + b[co];
      y2[n * CO + co] = y_2[l];
    }
  }
}

// dense2: dense_add (opaque.dnn:18)
__global__ void k_dense_add(float *__restrict__ add, const float *__restrict__ y2, const float *__restrict__ w, const float *__restrict__ b, const float *__restrict__ y4, long N, long CO) {
  GRID2_LANES(n, N, co0, lanes, CO) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = 0.0f;
    for (long ci = 0; ci < 6; ci++)
      LANE(l, lanes) {
        const long co = co0 + l;
        y_[l] += y2[n * 6 + ci] * w[co * 6 + ci];
      }
    float y_2[LANES];
    float add_[LANES];
    LANE(l, lanes) {
      const long co = co0 + l;
      y_2[l] = y_[l] + b[co];
      add_[l] = y_2[l] + y4[n * CO + co];
      add[n * CO + co] = add_[l];
    }
  }
}

// cross_entropy (opaque.dnn:19)
__global__ void k_cross_entropy(float *__restrict__ z, float *__restrict__ total, float *__restrict__ each, const float *__restrict__ add, const int *__restrict__ label, long N) {
  GRID_LANES(n0, lanes, N) {
    float top_[LANES];
    LANE(l, lanes) top_[l] = -INFINITY;
    for (long c = 0; c < 4; c++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const float v = add[n * 4 + c];
        top_[l] = v > top_[l] ? v : top_[l];
      }
    float total_[LANES];
    LANE(l, lanes) total_[l] = 0.0f;
    float picked_[LANES];
    LANE(l, lanes) picked_[l] = 0.0f;
    for (long c = 0; c < 4; c++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const float z_ = add[n * 4 + c] - top_[l];
        total_[l] += expf(z_);
        picked_[l] += (float)((label[n] == c)) * z_;
        z[n * 4 + c] = z_;
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

// cross_entropy (opaque.dnn:19)
__global__ void k_cross_entropy2(float *__restrict__ sum, const float *__restrict__ each, long N) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(n, N) sum_ += each[n];
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (opaque.dnn:19)
__global__ void k_cross_entropy3(float *__restrict__ sum, const int *__restrict__ label, long N) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(n, N) sum_ += (label[n] != -1) ? 1.0f : 0.0f;
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// exp_mean (opaque.dnn:20)
__global__ void k_exp_mean(float *__restrict__ exp_, float *__restrict__ sum, const float *__restrict__ distances, long NM) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(nm, NM) {
      const float exp_2 = expf((-distances[nm]));
      sum_ += exp_2;
      exp_[nm] = exp_2;
    }
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// mean_mul (opaque.dnn:20)
__global__ void k_mean_mul(float *__restrict__ mean, float *__restrict__ mul, const float *__restrict__ whole, const float *__restrict__ heat, float factor) {
  FLAT(i, 1) {
    const float mean_ = whole[0] / factor;
    const float mul_ = mean_ * heat[0];
    mean[0] = mean_;
    mul[0] = mul_;
  }
}

// mean_add (opaque.dnn:20)
__global__ void k_mean_add(float *__restrict__ add, const float *__restrict__ whole, const float *__restrict__ mul, float factor) {
  FLAT(i, 1) {
    const float mean_ = whole[0] / factor;
    add[0] = mean_ + mul[0];
  }
}

// cross_entropy_loss (opaque.dnn:19)
__global__ void k_cross_entropy_loss(float *__restrict__ cross_entropy, float *__restrict__ loss, const float *__restrict__ whole, const float *__restrict__ whole2, const float *__restrict__ add) {
  FLAT(i, 1) {
    const float cross_entropy_ = whole[0] / parcc_maxf(whole2[0], 1.0f);
    const float loss_ = cross_entropy_ + add[0];
    cross_entropy[0] = cross_entropy_;
    loss[0] = loss_;
  }
}

// neg_grad (opaque.dnn:20)
__global__ void k_neg_grad(float *__restrict__ grad, const float *__restrict__ exp_, long count, float factor) {
  FLAT(i, count) grad[i] = -(factor * exp_[i]);
}

// cross_entropy_grad (opaque.dnn:19)
__global__ void k_cross_entropy_grad(float *__restrict__ grad, const float *__restrict__ whole) {
  FLAT(i, 1) grad[0] = 1.0f / parcc_maxf(whole[0], 1.0f);
}

// cross_entropy_grad (opaque.dnn:19)
__global__ void k_cross_entropy_grad2(float *__restrict__ grad, float *__restrict__ grad3, const int *__restrict__ label, const float *__restrict__ grad2, const float *__restrict__ total, long count) {
  FLAT(i, count) {
    const float grad_ = ((label[i] == -1) ? 0.0f : grad2[0]) / total[i];
    const float grad_2 = -((label[i] == -1) ? 0.0f : grad2[0]);
    grad[i] = grad_;
    grad3[i] = grad_2;
  }
}

// cross_entropy_grad (opaque.dnn:19)
__global__ void k_cross_entropy_grad3(float *__restrict__ grad, const float *__restrict__ grad2, const float *__restrict__ z, long N, long C) {
  GRID(n, N) BLOCK(c, C) grad[n * C + c] = grad2[n] * expf(z[n * C + c]);
}

// cross_entropy_dense_grad (opaque.dnn:19)
__global__ void k_cross_entropy_dense_grad(float *__restrict__ grad3, float *__restrict__ grad5, float *__restrict__ grad6, const float *__restrict__ grad2, const int *__restrict__ label, const float *__restrict__ grad4, long C, long N) {
  GRID_LANES(c0, lanes, C) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    float grad_2[LANES];
    LANE(l, lanes) grad_2[l] = 0.0f;
    for (long n = 0; n < N; n++)
      LANE(l, lanes) {
        const long c = c0 + l;
        const float grad_3 = grad2[n] * (float)((label[n] == c));
        const float grad_4 = grad_3 + grad4[n * C + c];
        grad_[l] += grad_4;
        grad_2[l] += grad_4;
        grad3[n * C + c] = grad_4;
      }
    LANE(l, lanes) {
      const long c = c0 + l;
      grad5[c] = grad_[l];
    }
    LANE(l, lanes) {
      const long c = c0 + l;
      grad6[c] = grad_2[l];
    }
  }
}

// dense3: dense_mean_over_grad (opaque.dnn:18)
__global__ void k_dense_mean_over_grad(float *__restrict__ grad3, const float *__restrict__ grad2, const float *__restrict__ w, long N, long CI) {
  GRID2_LANES(n, N, ci0, lanes, CI) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long co = 0; co < 4; co++)
      LANE(l, lanes) {
        const long ci = ci0 + l;
        grad_[l] += grad2[n * 4 + co] * w[co * CI + ci];
      }
    float grad_2[LANES];
    LANE(l, lanes) {
      const long ci = ci0 + l;
      grad_2[l] = grad_[l] / 6.0f;
      grad3[n * CI + ci] = grad_2[l];
    }
  }
}

// dense3: dense_grad (opaque.dnn:18)
__global__ void k_dense_grad(float *__restrict__ grad, const float *__restrict__ grad2, const float *__restrict__ mean_over, long CO, long CI, long N) {
  GRID2_LANES(co, CO, ci0, lanes, CI) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long n = 0; n < N; n++)
      LANE(l, lanes) {
        const long ci = ci0 + l;
        grad_[l] += grad2[n * CO + co] * mean_over[n * CI + ci];
      }
    LANE(l, lanes) {
      const long ci = ci0 + l;
      grad[co * CI + ci] = grad_[l];
    }
  }
}

// embedding_grad (opaque.dnn:18)
__global__ void k_embedding_grad(float *__restrict__ grad, const float *__restrict__ grad2, const int *__restrict__ place, long D, long N) {
  GRID2_LANES(part, PARTS, d0, lanes, D) {
    for (long n = 0; n < N; n++)
      for (long c = 0; c < 6; c++)
        PLACE_OF_PART(v, place[n * 6 + c], 6, part)
          LANE(l, lanes) {
            const long d = d0 + l;
            grad[v * D + d] += grad2[n * D + d];
          }
  }
}

// dense2: dense_sorted_grad (opaque.dnn:18)
__global__ void k_dense_sorted_grad(float *__restrict__ grad3, const float *__restrict__ grad2, const float *__restrict__ w, const float *__restrict__ grad4, const float *__restrict__ part, long N, long CI) {
  GRID2_LANES(n, N, ci0, lanes, CI) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long co = 0; co < 4; co++)
      LANE(l, lanes) {
        const long ci = ci0 + l;
        grad_[l] += grad2[n * 4 + co] * w[co * CI + ci];
      }
    float grad_2[LANES];
    LANE(l, lanes) {
      const long ci = ci0 + l;
      grad_2[l] = (grad_[l] + grad4[n * CI + ci]) + part[n * CI + ci];
      grad3[n * CI + ci] = grad_2[l];
    }
  }
}

// tanh_dense_grad (opaque.dnn:14)
__global__ void k_tanh_dense_grad(float *__restrict__ grad, float *__restrict__ grad3, const float *__restrict__ grad2, const float *__restrict__ tanh_, long CO, long len_batch) {
  GRID_LANES(co0, lanes, CO) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long batch = 0; batch < len_batch; batch++)
      LANE(l, lanes) {
        const long co = co0 + l;
        const float grad_2 = grad2[batch * CO + co] * (1.0f - (tanh_[batch * CO + co] * tanh_[batch * CO + co]));
        grad_[l] += grad_2;
        grad[batch * CO + co] = grad_2;
      }
    LANE(l, lanes) {
      const long co = co0 + l;
      grad3[co] = grad_[l];
    }
  }
}

// gradient_grad (opaque.dnn:13)
__global__ void k_gradient_grad(float *__restrict__ grad, const float *__restrict__ mean, const float *__restrict__ whole) {
  FLAT(i, 1) grad[0] = mean[0] + whole[0];
}

// gradient_norm (opaque.dnn:8)
__global__ void k_gradient_norm(float *__restrict__ square, const float *__restrict__ whole, long len_widthd1) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(widthd1, len_widthd1) square_ += whole[widthd1] * whole[widthd1];
    square_ = BLOCK_SUM(square_);
    ONCE square[0] = square_;
  }
}

// gradient_norm (opaque.dnn:8)
__global__ void k_gradient_norm2(float *__restrict__ square, const float *__restrict__ grad) {
  FLAT(i, 1) square[0] = grad[0] * grad[0];
}

// gradient_norm (opaque.dnn:8)
__global__ void k_gradient_norm3(float *__restrict__ gradient_norm, const float *__restrict__ whole, const float *__restrict__ square2, const float *__restrict__ square3, const float *__restrict__ square4, const float *__restrict__ square5, const float *__restrict__ square6, const float *__restrict__ square7, const float *__restrict__ square8, const float *__restrict__ square9, long len_width) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(width, len_width) square_ += whole[width] * whole[width];
    square_ = BLOCK_SUM(square_);
    const float gradient_norm_ = sqrtf(((((((((square_ + square2[0]) + square3[0]) + square4[0]) + square5[0]) + square6[0]) + square7[0]) + square8[0]) + square9[0]));
    ONCE gradient_norm[0] = gradient_norm_;
  }
}

// sgd (opaque.dnn:8)
__global__ void k_sgd(float *__restrict__ u, const float *__restrict__ whole, long count, float lr) {
  FLAT(i, count) u[i] = u[i] - (lr * whole[i]);
}

// sgd (opaque.dnn:8)
__global__ void k_sgd2(float *__restrict__ u, const float *__restrict__ grad, float lr) {
  FLAT(i, 1) u[0] = u[0] - (lr * grad[0]);
}

// stop_mean (opaque.dnn:17)
__global__ void k_stop_mean(float *__restrict__ stop, float *__restrict__ mean, const float *__restrict__ heat) {
  FLAT(i, 1) {
    const float stop_ = heat[0];
    const float mean_ = heat[0] / 1.0f;
    stop[0] = stop_;
    mean[0] = mean_;
  }
}

// mean_over (opaque.dnn:18)
__global__ void k_mean_over2(float *__restrict__ mean_over, const float *__restrict__ embedding, long N, long D) {
  GRID2_LANES(n, N, d0, lanes, D) {
    float sum_[LANES];
    LANE(l, lanes) sum_[l] = 0.0f;
    float sum_2[LANES];
    LANE(l, lanes) sum_2[l] = 0.0f;
    for (long c = 0; c < 6; c++)
      LANE(l, lanes) {
        const long d = d0 + l;
        sum_[l] += embedding[(n * 6 + c) * D + d];
        sum_2[l] += 1.0f;
      }
    float mean_over_[LANES];
    LANE(l, lanes) {
      const long d = d0 + l;
      mean_over_[l] = sum_[l] / sum_2[l];
      mean_over[n * D + d] = mean_over_[l];
    }
  }
}

// cross_entropy (opaque.dnn:19)
__global__ void k_cross_entropy4(float *__restrict__ each, const float *__restrict__ add, const int *__restrict__ label, long N) {
  GRID_LANES(n0, lanes, N) {
    float top_[LANES];
    LANE(l, lanes) top_[l] = -INFINITY;
    for (long c = 0; c < 4; c++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const float v = add[n * 4 + c];
        top_[l] = v > top_[l] ? v : top_[l];
      }
    float total_[LANES];
    LANE(l, lanes) total_[l] = 0.0f;
    float picked_[LANES];
    LANE(l, lanes) picked_[l] = 0.0f;
    for (long c = 0; c < 4; c++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const float z_ = add[n * 4 + c] - top_[l];
        total_[l] += expf(z_);
        picked_[l] += (float)((label[n] == c)) * z_;
      }
    float each_[LANES];
    LANE(l, lanes) {
      const long n = n0 + l;
      each_[l] = (label[n] == -1) ? 0.0f : (logf(total_[l]) - picked_[l]);
      each[n] = each_[l];
    }
  }
}

// exp_mean (opaque.dnn:20)
__global__ void k_exp_mean2(float *__restrict__ sum, float *__restrict__ sum2, const float *__restrict__ distances, long NM) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    float sum_2 = 0.0f;
    BLOCK(nm, NM) {
      const float exp_2 = expf((-distances[nm]));
      sum_ += exp_2;
      sum_2 += 1.0f;
    }
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
    sum_2 = BLOCK_SUM(sum_2);
    ONCE sum2[0] = sum_2;
  }
}

// mean (opaque.dnn:20)
__global__ void k_mean(float *__restrict__ sum, float *__restrict__ sum2, const float *__restrict__ distances, long NM) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    float sum_2 = 0.0f;
    BLOCK(nm, NM) {
      sum_ += distances[nm];
      sum_2 += 1.0f;
    }
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
    sum_2 = BLOCK_SUM(sum_2);
    ONCE sum2[0] = sum_2;
  }
}

// mean_mul (opaque.dnn:20)
__global__ void k_mean_mul2(float *__restrict__ mul, const float *__restrict__ whole, const float *__restrict__ whole2, const float *__restrict__ mean2) {
  FLAT(i, 1) {
    const float mean_ = whole[0] / whole2[0];
    mul[0] = mean_ * mean2[0];
  }
}

// mean_add (opaque.dnn:20)
__global__ void k_mean_add2(float *__restrict__ add, const float *__restrict__ whole, const float *__restrict__ whole2, const float *__restrict__ mul) {
  FLAT(i, 1) {
    const float mean_ = whole[0] / whole2[0];
    add[0] = mean_ + mul[0];
  }
}

// ---- one step --------------------------------------------------------------------------------------------------------

// Initial values of parameters and states.
static void init(void) {
  AT("init", "opaque.dnn:11");
  LAUNCH_FLAT(k_init, 6, t.weight, 6, parcc.seed, (unsigned long long)parcc.step, 0);
  AT("init", "opaque.dnn:12");
  LAUNCH_FLAT(k_init2, 18, t.table, 18, parcc.seed, (unsigned long long)parcc.step, 1);
  AT("init", "opaque.dnn:13");
  LAUNCH_FLAT(k_init3, 1, t.heat);

  AT("dense1 init", "opaque.dnn:14");
  LAUNCH_FLAT(k_init4, 30, t.dense1_w, 30, 0.4472136f, parcc.seed, (unsigned long long)parcc.step, 2);
  LAUNCH_FLAT(k_init4, 6, t.dense1_b, 6, 0.4472136f, parcc.seed, (unsigned long long)parcc.step, 3);

  AT("dense2 init", "opaque.dnn:18");
  LAUNCH_FLAT(k_init4, 24, t.dense2_w, 24, 0.4082483f, parcc.seed, (unsigned long long)parcc.step, 4);
  LAUNCH_FLAT(k_init4, 4, t.dense2_b, 4, 0.4082483f, parcc.seed, (unsigned long long)parcc.step, 5);

  AT("dense3 init", "opaque.dnn:18");
  LAUNCH_FLAT(k_init4, 12, t.dense3_w, 12, 0.57735026f, parcc.seed, (unsigned long long)parcc.step, 6);
  LAUNCH_FLAT(k_init4, 4, t.dense3_b, 4, 0.57735026f, parcc.seed, (unsigned long long)parcc.step, 7);
}

// The losses of the batch.
static void forward(void) {
  AT("dense1 dense", "opaque.dnn:14");
  LAUNCH_LANES(k_dense_tanh, 6 * batch.len, t.tanh_, t.x, t.dense1_w, t.dense1_b, batch.len, 6);

  AT("sorted", "opaque.dnn:15");
  {
    const long x_extent[] = {batch.len, 6}, weight_extent[] = {6}, y_extent[] = {batch.len, 6}, place_extent[] = {batch.len, 6}, start[] = {batch.lo};
    sort_rows(parcc.compute, t.tanh_, x_extent, t.weight, weight_extent, t.sorted_y, y_extent, t.sorted_place,
              place_extent, start, 0.01);
  }
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_gather", "opaque.dnn:16");
  // all_gather sorted.y: [n/data, c] -> [n, c]
  parcc_all_gather(t.sorted_y, &division[0], t.sorted_y_whole, &division[1], NULL, PARCC_FLOAT, samples, 1, over_data);
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("distances", "opaque.dnn:16");
  {
    const long a_extent[] = {batch.len, 6}, b_extent[] = {n.len, 6}, d_extent[] = {batch.len, 7}, start[] = {batch.lo};
    distances(parcc.compute, t.sorted_y, a_extent, t.sorted_y_whole, b_extent, t.heat, NULL, t.distances, d_extent,
              start);
  }
  AT("stop", "opaque.dnn:17");
  LAUNCH_FLAT(k_stop, 5 * batch.len, t.stop, t.x, 5 * batch.len);
  LAUNCH_FLAT(k_stop2, 1, t.stop_2, t.heat);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_gather", "opaque.dnn:17");
  // all_gather stop: [batch/data, d1] -> [batch, d1]
  parcc_all_gather(t.stop, &division[2], t.stop_whole, &division[3], NULL, PARCC_FLOAT, samples, 1, over_data);
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  LIFETIME_END({t.stop, 60});
  AT("distances", "opaque.dnn:17");
  {
    const long a_extent[] = {batch.len, 5}, b_extent[] = {n.len, 5}, d_extent[] = {batch.len, 7}, start[] = {batch.lo};
    distances(parcc.compute, t.x, a_extent, t.stop_whole, b_extent, t.stop_2, NULL, t.distances_2, d_extent, start);
  }
  LIFETIME_END({t.stop_2, 4}, {t.stop_whole, 140});
  AT("embedding", "opaque.dnn:18");
  LAUNCH_LANES(k_embedding, 18 * batch.len, t.embedding, t.sorted_place, t.table, 6 * batch.len, 3);
  AT("mean_over", "opaque.dnn:18");
  LAUNCH_LANES(k_mean_over, 3 * batch.len, t.mean_over, t.embedding, batch.len, 3);
  LIFETIME_END({t.embedding, 216});

  AT("dense3 dense", "opaque.dnn:18");
  LAUNCH_LANES(k_dense, 4 * batch.len, t.dense3_y_2, t.mean_over, t.dense3_w, t.dense3_b, batch.len, 4);

  AT("dense2 dense", "opaque.dnn:18");
  LAUNCH_LANES(k_dense_add, 4 * batch.len, t.add, t.sorted_y, t.dense2_w, t.dense2_b, t.dense3_y_2, batch.len, 4);
  LIFETIME_END({t.dense3_y_2, 48});

  AT("cross_entropy", "opaque.dnn:19");
  LAUNCH_LANES(k_cross_entropy, batch.len, t.cross_entropy_z, t.cross_entropy_total, t.cross_entropy_each, t.add, t.label, batch.len);
  LIFETIME_END({t.add, 48});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.cross_entropy_sum, t.cross_entropy_each, batch.len);
  LIFETIME_END({t.cross_entropy_each, 12});
  LAUNCH_ROWS(k_cross_entropy3, 1, t.cross_entropy_sum_2, t.label, batch.len);
  AT("exp", "opaque.dnn:20");
  LAUNCH_ROWS(k_exp_mean, 1, t.exp_, t.mean_sum, t.distances, 7 * batch.len);
  AT("mean", "opaque.dnn:20");
  LAUNCH_ROWS(k_cross_entropy2, 1, t.mean_sum_3, t.distances_2, 7 * batch.len);
  LIFETIME_END({t.distances_2, 84});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "opaque.dnn:20");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2, mean.sum, mean.sum.3
  CHECK_NCCL(ncclAllReduce(t.cross_entropy_sum, t.cross_entropy_sum, 4, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("mean", "opaque.dnn:20");
  LAUNCH_FLAT(k_mean_mul, 1, t.mean_2, t.mul, t.mean_sum_3_whole, t.heat, 49.0f);
  LAUNCH_FLAT(k_mean_add, 1, t.add_2, t.mean_sum_whole, t.mul, 49.0f);
  LIFETIME_END({t.mul, 4});
  AT("cross_entropy", "opaque.dnn:19");
  LAUNCH_FLAT(k_cross_entropy_loss, 1, t.cross_entropy, t.loss, t.cross_entropy_sum_whole, t.cross_entropy_sum_2_whole, t.add_2);
}

// The gradients of all parameters.
static void backward(void) {
  AT("neg", "opaque.dnn:20");
  LAUNCH_FLAT(k_neg_grad, 7 * batch.len, t.distances_grad, t.exp_, 7 * batch.len, 0.020408163f);
  LIFETIME_END({t.exp_, 84});
  AT("cross_entropy", "opaque.dnn:19");
  LAUNCH_FLAT(k_cross_entropy_grad, 1, t.cross_entropy_sum_grad, t.cross_entropy_sum_2_whole);
  LIFETIME_END({t.cross_entropy_sum_whole, 16});
  LAUNCH_FLAT(k_cross_entropy_grad2, batch.len, t.cross_entropy_total_grad, t.cross_entropy_picked_grad, t.label, t.cross_entropy_sum_grad, t.cross_entropy_total, batch.len);
  LIFETIME_END({t.cross_entropy_total, 12}, {t.cross_entropy_sum_grad, 4});
  LAUNCH_MAP(k_cross_entropy_grad3, batch.len, 4, t.cross_entropy_z_grad_2, t.cross_entropy_total_grad, t.cross_entropy_z, batch.len, 4);
  LIFETIME_END({t.cross_entropy_z, 48}, {t.cross_entropy_total_grad, 12});
  LAUNCH_LANES(k_cross_entropy_dense_grad, 4, t.cross_entropy_z_grad_3, t.dense3_b_grad, t.dense2_b_grad, t.cross_entropy_picked_grad, t.label, t.cross_entropy_z_grad_2, 4, batch.len);
  LIFETIME_END({t.label, 12}, {t.cross_entropy_picked_grad, 12}, {t.cross_entropy_z_grad_2, 48});

  AT("dense3 dense", "opaque.dnn:18");
  LAUNCH_LANES(k_dense_mean_over_grad, 3 * batch.len, t.mean_over_sum_grad, t.cross_entropy_z_grad_3, t.dense3_w, batch.len, 3);
  LAUNCH_LANES(k_dense_grad, 12, t.dense3_w_grad, t.cross_entropy_z_grad_3, t.mean_over, 4, 3, batch.len);
  LIFETIME_END({t.mean_over, 36});

  AT("embedding", "opaque.dnn:18");
  CHECK_CUDA(cudaMemsetAsync(t.table_grad, 0, 18 * sizeof(float), parcc.compute));
  LAUNCH_LANES(k_embedding_grad, PARTS * 3, t.table_grad, t.mean_over_sum_grad, t.sorted_place, 3, batch.len);
  LIFETIME_END({t.mean_over_sum_grad, 36});
  AT("distances", "opaque.dnn:16");
  {
    const long a_extent[] = {batch.len, 6}, b_extent[] = {n.len, 6}, d_extent[] = {batch.len, 7}, start[] = {batch.lo};
    distances_grad(parcc.compute, t.sorted_y, a_extent, t.sorted_y_whole, b_extent, t.heat, NULL, t.distances,
                   d_extent, t.distances_grad, t.sorted_y_grad_2, t.sorted_y_grad_3, t.heat_grad_3, start);
  }
  LIFETIME_END({t.distances, 84}, {t.distances_grad, 84}, {t.sorted_y_whole, 168});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("reduce_scatter", "opaque.dnn:16");
  // reduce_scatter sorted.y.grad.3: [n, c], a sum over data -> [n/data, c]
  parcc_reduce_scatter(t.sorted_y_grad_3, &division[4], t.sorted_y_grad_3_part, &division[0], NULL, PARCC_FLOAT, ncclSum, samples, 1, over_data);
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  LIFETIME_END({t.sorted_y_grad_3, 168});

  AT("dense2 dense", "opaque.dnn:18");
  LAUNCH_LANES(k_dense_sorted_grad, 6 * batch.len, t.sorted_y_grad_4, t.cross_entropy_z_grad_3, t.dense2_w, t.sorted_y_grad_2, t.sorted_y_grad_3_part, batch.len, 6);
  LIFETIME_END({t.sorted_y_grad_2, 72}, {t.sorted_y_grad_3_part, 72});
  LAUNCH_LANES(k_dense_grad, 24, t.dense2_w_grad, t.cross_entropy_z_grad_3, t.sorted_y, 4, 6, batch.len);
  LIFETIME_END({t.cross_entropy_z_grad_3, 48});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("all_reduce", "opaque.dnn:16");
  // all_reduce heat.grad.3: [], a sum over data -> []
  CHECK_NCCL(ncclAllReduce(t.heat_grad_3, t.heat_grad_3, 1, ncclFloat, ncclSum, over_data, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
  AT("sorted", "opaque.dnn:15");
  {
    const long x_extent[] = {batch.len, 6}, weight_extent[] = {6}, y_extent[] = {batch.len, 6}, place_extent[] = {batch.len, 6}, start[] = {batch.lo};
    sort_rows_grad(parcc.compute, t.tanh_, x_extent, t.weight, weight_extent, t.sorted_y, y_extent, t.sorted_place,
                   place_extent, t.sorted_y_grad_4, t.tanh_grad, t.weight_grad, start, 0.01);
  }
  LIFETIME_END({t.sorted_y, 72}, {t.sorted_place, 72}, {t.sorted_y_grad_4, 72});
  AT("tanh", "opaque.dnn:14");
  LAUNCH_LANES(k_tanh_dense_grad, 6, t.dense1_y_2_grad, t.dense1_b_grad, t.tanh_grad, t.tanh_, 6, batch.len);
  LIFETIME_END({t.tanh_, 72}, {t.tanh_grad, 72});

  AT("dense1 dense", "opaque.dnn:14");
  LAUNCH_LANES(k_dense_grad, 30, t.dense1_w_grad, t.dense1_y_2_grad, t.x, 6, 5, batch.len);
  LIFETIME_END({t.x, 60}, {t.dense1_y_2_grad, 72});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("all_reduce", "opaque.dnn:14");
  // all_reduce gradients of dense3, table, dense2, weight, dense1
  CHECK_NCCL(ncclAllReduce(t.dense2_w_grad, t.dense2_w_grad, 104, ncclFloat, ncclSum, over_data, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[2], parcc.comm));
  WAIT(parcc.compute, event[1]);
  AT("gradient", "opaque.dnn:13");
  LAUNCH_FLAT(k_gradient_grad, 1, t.heat_grad, t.mean_2, t.heat_grad_3_whole);
  LIFETIME_END({t.mean_2, 4}, {t.heat_grad_3_whole, 4});
}

// What is only reported: metrics and the gradients' norm.
static void report(void) {
  WAIT(parcc.compute, event[2]);

  AT("gradient_norm", "opaque.dnn:8");
  LAUNCH_ROWS(k_gradient_norm, 1, t.table_grad_square, t.table_grad_whole, 18);
  LAUNCH_FLAT(k_gradient_norm2, 1, t.heat_grad_square, t.heat_grad);

  AT("dense1 gradient_norm", "opaque.dnn:8");
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense1_w_grad_square, t.dense1_w_grad_whole, 30);
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense1_b_grad_square, t.dense1_b_grad_whole, 6);

  AT("dense2 gradient_norm", "opaque.dnn:8");
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense2_w_grad_square, t.dense2_w_grad_whole, 24);
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense2_b_grad_square, t.dense2_b_grad_whole, 4);

  AT("dense3 gradient_norm", "opaque.dnn:8");
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense3_w_grad_square, t.dense3_w_grad_whole, 12);
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense3_b_grad_square, t.dense3_b_grad_whole, 4);

  AT("gradient_norm", "opaque.dnn:8");
  LAUNCH_ROWS(k_gradient_norm3, 1, t.gradient_norm, t.weight_grad_whole, t.table_grad_square, t.heat_grad_square, t.dense1_w_grad_square, t.dense1_b_grad_square, t.dense2_w_grad_square, t.dense2_b_grad_square, t.dense3_w_grad_square, t.dense3_b_grad_square, 6);
  LIFETIME_END({t.table_grad_square, 4}, {t.heat_grad_square, 4}, {t.dense1_w_grad_square, 4},
      {t.dense1_b_grad_square, 4}, {t.dense2_w_grad_square, 4}, {t.dense2_b_grad_square, 4},
      {t.dense3_w_grad_square, 4}, {t.dense3_b_grad_square, 4});
}

// The optimizer.
static void update(void) {
  WAIT(parcc.compute, event[2]);

  AT("sgd", "opaque.dnn:8");
  LAUNCH_FLAT(k_sgd, 6, t.weight_u, t.weight_grad_whole, 6, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 18, t.table_u, t.table_grad_whole, 18, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd2, 1, t.heat_u, t.heat_grad, (float)parcc.lr);
  LIFETIME_END({t.heat_grad, 4});

  AT("dense1 sgd", "opaque.dnn:8");
  LAUNCH_FLAT(k_sgd, 30, t.dense1_w_u, t.dense1_w_grad_whole, 30, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 6, t.dense1_b_u, t.dense1_b_grad_whole, 6, (float)parcc.lr);

  AT("dense2 sgd", "opaque.dnn:8");
  LAUNCH_FLAT(k_sgd, 24, t.dense2_w_u, t.dense2_w_grad_whole, 24, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 4, t.dense2_b_u, t.dense2_b_grad_whole, 4, (float)parcc.lr);

  AT("dense3 sgd", "opaque.dnn:8");
  LAUNCH_FLAT(k_sgd, 12, t.dense3_w_u, t.dense3_w_grad_whole, 12, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 4, t.dense3_b_u, t.dense3_b_grad_whole, 4, (float)parcc.lr);
  LIFETIME_END({t.dense2_w_grad_whole, 416});
}

// Losses and metrics of a batch of the test split.
static void evaluate(void) {
  AT("dense1 dense", "opaque.dnn:14");
  LAUNCH_LANES(k_dense_tanh, 6 * batch.len, t.eval_tanh, t.eval_x, t.dense1_w, t.dense1_b, batch.len, 6);

  AT("sorted", "opaque.dnn:15");
  {
    const long x_extent[] = {batch.len, 6}, weight_extent[] = {6}, y_extent[] = {batch.len, 6}, place_extent[] = {batch.len, 6}, start[] = {batch.lo};
    sort_rows(parcc.compute, t.eval_tanh, x_extent, t.weight, weight_extent, t.eval_sorted_y, y_extent,
              t.eval_sorted_place, place_extent, start, 0.01);
  }
  LIFETIME_END({t.eval_tanh, 72});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_gather", "opaque.dnn:16");
  // all_gather sorted.y: [n/data, c] -> [n, c]
  parcc_all_gather(t.eval_sorted_y, &division[0], t.eval_sorted_y_whole, &division[1], NULL, PARCC_FLOAT, samples, 1, over_data);
  WAIT_FOR(parcc.compute, parcc.comm, event[2]);
  AT("distances", "opaque.dnn:16");
  {
    const long a_extent[] = {batch.len, 6}, b_extent[] = {n.len, 6}, d_extent[] = {batch.len, 7}, start[] = {batch.lo};
    distances(parcc.compute, t.eval_sorted_y, a_extent, t.eval_sorted_y_whole, b_extent, t.heat, NULL,
              t.eval_distances, d_extent, start);
  }
  LIFETIME_END({t.eval_sorted_y_whole, 168});
  AT("stop", "opaque.dnn:17");
  LAUNCH_FLAT(k_stop, 5 * batch.len, t.eval_stop, t.eval_x, 5 * batch.len);
  LAUNCH_FLAT(k_stop_mean, 1, t.eval_stop_2, t.eval_mean_3, t.heat);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_gather", "opaque.dnn:17");
  // all_gather stop: [batch/data, d1] -> [batch, d1]
  parcc_all_gather(t.eval_stop, &division[2], t.eval_stop_whole, &division[3], NULL, PARCC_FLOAT, samples, 1, over_data);
  WAIT_FOR(parcc.compute, parcc.comm, event[2]);
  LIFETIME_END({t.eval_stop, 60});
  AT("distances", "opaque.dnn:17");
  {
    const long a_extent[] = {batch.len, 5}, b_extent[] = {n.len, 5}, d_extent[] = {batch.len, 7}, start[] = {batch.lo};
    distances(parcc.compute, t.eval_x, a_extent, t.eval_stop_whole, b_extent, t.eval_stop_2, NULL, t.eval_distances_2,
              d_extent, start);
  }
  LIFETIME_END({t.eval_x, 60}, {t.eval_stop_2, 4}, {t.eval_stop_whole, 140});
  AT("embedding", "opaque.dnn:18");
  LAUNCH_LANES(k_embedding, 18 * batch.len, t.eval_embedding, t.eval_sorted_place, t.table, 6 * batch.len, 3);
  LIFETIME_END({t.eval_sorted_place, 72});
  AT("mean_over", "opaque.dnn:18");
  LAUNCH_LANES(k_mean_over2, 3 * batch.len, t.eval_mean_over, t.eval_embedding, batch.len, 3);
  LIFETIME_END({t.eval_embedding, 216});

  AT("dense3 dense", "opaque.dnn:18");
  LAUNCH_LANES(k_dense, 4 * batch.len, t.eval_dense3_y_2, t.eval_mean_over, t.dense3_w, t.dense3_b, batch.len, 4);
  LIFETIME_END({t.eval_mean_over, 36});

  AT("dense2 dense", "opaque.dnn:18");
  LAUNCH_LANES(k_dense_add, 4 * batch.len, t.eval_add, t.eval_sorted_y, t.dense2_w, t.dense2_b, t.eval_dense3_y_2, batch.len, 4);
  LIFETIME_END({t.eval_sorted_y, 72}, {t.eval_dense3_y_2, 48});

  AT("cross_entropy", "opaque.dnn:19");
  LAUNCH_LANES(k_cross_entropy4, batch.len, t.eval_cross_entropy_each, t.eval_add, t.eval_label, batch.len);
  LIFETIME_END({t.eval_add, 48});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.eval_cross_entropy_sum, t.eval_cross_entropy_each, batch.len);
  LIFETIME_END({t.eval_cross_entropy_each, 12});
  LAUNCH_ROWS(k_cross_entropy3, 1, t.eval_cross_entropy_sum_2, t.eval_label, batch.len);
  LIFETIME_END({t.eval_label, 12});
  AT("exp", "opaque.dnn:20");
  LAUNCH_ROWS(k_exp_mean2, 1, t.eval_mean_sum, t.eval_mean_sum_2, t.eval_distances, 7 * batch.len);
  LIFETIME_END({t.eval_distances, 84});
  AT("mean", "opaque.dnn:20");
  LAUNCH_ROWS(k_mean, 1, t.eval_mean_sum_3, t.eval_mean_sum_4, t.eval_distances_2, 7 * batch.len);
  LIFETIME_END({t.eval_distances_2, 84});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "opaque.dnn:20");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2, mean.sum, mean.sum.2, mean.sum.3, mean.sum.4
  CHECK_NCCL(ncclAllReduce(t.eval_cross_entropy_sum, t.eval_cross_entropy_sum, 6, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[2]);
  AT("mean", "opaque.dnn:20");
  LAUNCH_FLAT(k_mean_mul2, 1, t.eval_mul, t.eval_mean_sum_3_whole, t.eval_mean_sum_4_whole, t.eval_mean_3);
  LIFETIME_END({t.eval_mean_3, 4});
  LAUNCH_FLAT(k_mean_add2, 1, t.eval_add_2, t.eval_mean_sum_whole, t.eval_mean_sum_2_whole, t.eval_mul);
  LIFETIME_END({t.eval_mul, 4});
  AT("cross_entropy", "opaque.dnn:19");
  LAUNCH_FLAT(k_cross_entropy_loss, 1, t.eval_cross_entropy, t.eval_loss, t.eval_cross_entropy_sum_whole, t.eval_cross_entropy_sum_2_whole, t.eval_add_2);
  LIFETIME_END({t.eval_cross_entropy_sum_whole, 24});
}

// ---- the run ---------------------------------------------------------------------------------------------------------

static const ParccInput inputs[] = { // name, type, extents of the whole batch, range, files, scale, offset, windows, lines
    {"x", PARCC_FLOAT, 2, {7, 5}, 0, {NULL, NULL, NULL, 1.0, 0.0, NULL, NULL}},
    {"label", PARCC_INT, 1, {7}, 4, {NULL, NULL, NULL, 1.0, 0.0, NULL, NULL}},
};

static const char *const scalars[] = {"loss", "main", "near"};

static double learning_rate(double step, double steps) {
  (void)step;
  (void)steps;
  return 0.01;
}

static const ParccModel model = {
    .name = "functions",
    .source = "opaque.dnn",
    .ranks = RANKS,
    .batch = 7,
    .real = PARCC_FLOAT,
    .inputs = inputs,
    .n_inputs = 2,
    .scalars = scalars,
    .n_scalars = 3,
    .steps = 100,
    .epochs = 0,
    .learning_rate = learning_rate,
    .whole_batches = "distances (opaque.dnn:16)", // puts samples of a batch together
    .sampled = -1, // no text can be generated
    .measures = false, // it trains
};

static void place_tensors(void) {
  char *const arena = parcc_arena(6912);
  static const long place[] = {0, 64, 128, 192, 256, 320, 384, 448, 512, 576, 1152, 704, 896, 960, 1280, 640, 768, 640, 768, 1408, 768, 832, 1024, 1088, 768, 1472, 1473, 768,
      1536, 1474, 1475, 1344, 768, 640, 1086, 1068, 576, 1098, 1092, 1024, 1064, 1052, 1048, 896, 960, 1152, 1216, 1280, 1344, 1408, 1472, 704, 0, 64, 128, 192, 256, 320, 384,
      448, 512, 832, 1600, 1664, 1472, 1536, 1664, 1472, 1152, 1408, 1536, 1152, 1216, 1280, 896, 1216, 832, 1472, 1473, 1474, 1475, 1048, 1052, 1068, 1064, 1024, 1280, 1152,
      1086, 1092, 1098, 768, 576, 640, 704, 896, 832, 960, 1024, 960, 768, 896, 768, 896, 768, 704, 705, 640, 706, 707, 708, 709, 640, 768, 576, 768, 640, 1088, 704, 705, 706,
      707, 708, 709};
  parcc_place_record(arena, 4, place, 124, &t); // in units of so many bytes
}

// What --save writes and --load reads.
static void list_stored(void) {
  STORE("weight", PARCC_PARAM, PARCC_FLOAT, t.weight, WHOLE(6));
  STORE("table", PARCC_PARAM, PARCC_FLOAT, t.table, WHOLE(6), WHOLE(3));
  STORE("heat", PARCC_PARAM, PARCC_FLOAT, t.heat, SCALAR);
  STORE("dense1.w", PARCC_PARAM, PARCC_FLOAT, t.dense1_w, WHOLE(6), WHOLE(5));
  STORE("dense1.b", PARCC_PARAM, PARCC_FLOAT, t.dense1_b, WHOLE(6));
  STORE("dense2.w", PARCC_PARAM, PARCC_FLOAT, t.dense2_w, WHOLE(4), WHOLE(6));
  STORE("dense2.b", PARCC_PARAM, PARCC_FLOAT, t.dense2_b, WHOLE(4));
  STORE("dense3.w", PARCC_PARAM, PARCC_FLOAT, t.dense3_w, WHOLE(4), WHOLE(3));
  STORE("dense3.b", PARCC_PARAM, PARCC_FLOAT, t.dense3_b, WHOLE(4));
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &model);
  over_data = parcc_axis(1, DATA);
  parcc_events(event, 3);
  place_tensors();
  batch = parcc_block(7, 3, parcc.rank / 1 % DATA);
  n = parcc_block(7, 1, 0);
  list_stored();
  init();
  parcc_load();

  while (parcc_next_step()) {
    LOAD_BATCH(0, t.x, batch, {0, 5});
    LOAD_BATCH(1, t.label, batch);
    forward();
    backward();
    if (parcc_reports()) report();
    update();
    END_STEP(t.gradient_norm, t.loss, t.cross_entropy, t.add_2);
  }

  for (long count; (count = parcc_next_eval()) > 0;) {
    samples = count;
    batch = parcc_block(count, 3, parcc.rank / 1 % DATA);
    n = parcc_block(count, 1, 0);
    LOAD_BATCH(0, t.eval_x, batch, {0, 5});
    LOAD_BATCH(1, t.eval_label, batch);
    evaluate();
    END_EVAL(count, t.eval_loss, t.eval_cross_entropy, t.eval_add_2);
  }
  return parcc_finish();
}
