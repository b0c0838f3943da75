// lenet on 2 ranks. Written by parcc from lenet.dnn; edit freely, or run parcc again.
//
//   mesh        data=2
//   plan        data parallel: the batch of 64 is divided over the ranks, parameters are on every rank
//   parameters  61706
//   memory      2164736 bytes on each device, in one arena (largest sum of live tensors: 2164736)
//   moved by the busiest rank in a step: forward 1 collective, 8 bytes; backward 1 collective, 246824 bytes; report 1 collective, 4 bytes
//
//   parcc-cc THIS.cu -o PROG && mpiexec -n 2 PROG --data DIR

#include "parcc.h"

enum { RANKS = 2, DATA = 2 };
static const float one = 1, zero = 0;

static Interval batch; // this rank's part of 64, over data
static ncclComm_t over_data;
static cudaEvent_t event[3];

// Tensors of this rank: places in one arena, shared by those whose lifetimes do not overlap.
// LIFETIME_END tells the checking mode which bytes are free for others.
static struct {
  float *conv1_w; // conv1.w [6, 1, 5, 5]
  float *conv1_b; // conv1.b [6]
  float *conv2_w; // conv2.w [16, 6, 5, 5]
  float *conv2_b; // conv2.b [16]
  float *dense1_w; // dense1.w [120, 400]
  float *dense1_b; // dense1.b [120]
  float *dense2_w; // dense2.w [84, 120]
  float *dense2_b; // dense2.b [84]
  float *dense3_w; // dense3.w [10, 84]
  float *dense3_b; // dense3.b [10]
  float *conv1_w_velocity; // conv1.w.velocity [6, 1, 5, 5]
  float *conv1_b_velocity; // conv1.b.velocity [6]
  float *conv2_w_velocity; // conv2.w.velocity [16, 6, 5, 5]
  float *conv2_b_velocity; // conv2.b.velocity [16]
  float *dense1_w_velocity; // dense1.w.velocity [120, 400]
  float *dense1_b_velocity; // dense1.b.velocity [120]
  float *dense2_w_velocity; // dense2.w.velocity [84, 120]
  float *dense2_b_velocity; // dense2.b.velocity [84]
  float *dense3_w_velocity; // dense3.w.velocity [10, 84]
  float *dense3_b_velocity; // dense3.b.velocity [10]
  float *image; // image [batch.len, 1, 28, 28]
  int *label; // label [batch.len]
  float *conv1_conv2d; // conv1.conv2d [batch.len, 6, 28, 28]
  float *relu; // relu [batch.len, 6, 28, 28]
  float *maxpool2d; // maxpool2d [batch.len, 6, 14, 14]
  float *conv2_conv2d; // conv2.conv2d [batch.len, 16, 10, 10]
  float *relu_2; // relu.2 [batch.len, 16, 10, 10]
  float *maxpool2d_2; // maxpool2d.2 [batch.len, 16, 5, 5]
  float *view; // view [batch.len, 400]
  float *dense1_y; // dense1.y [batch.len, 120]
  float *relu_3; // relu.3 [batch.len, 120]
  float *dense2_y; // dense2.y [batch.len, 84]
  float *relu_4; // relu.4 [batch.len, 84]
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
  float *conv1_w_grad; // conv1.w.grad [6, 1, 5, 5]
  float *conv1_b_grad; // conv1.b.grad [6]
  float *conv2_w_grad; // conv2.w.grad [16, 6, 5, 5]
  float *conv2_b_grad; // conv2.b.grad [16]
  float *dense1_w_grad; // dense1.w.grad [120, 400]
  float *dense1_b_grad; // dense1.b.grad [120]
  float *dense2_w_grad; // dense2.w.grad [84, 120]
  float *dense2_b_grad; // dense2.b.grad [84]
  float *dense3_w_grad; // dense3.w.grad [10, 84]
  float *dense3_b_grad; // dense3.b.grad [10]
  float *conv1_b_grad_square; // conv1.b.grad.square []
  float *conv2_w_grad_square; // conv2.w.grad.square []
  float *conv2_b_grad_square; // conv2.b.grad.square []
  float *dense1_w_grad_square; // dense1.w.grad.square []
  float *dense1_b_grad_square; // dense1.b.grad.square []
  float *dense2_w_grad_square; // dense2.w.grad.square []
  float *dense2_b_grad_square; // dense2.b.grad.square []
  float *dense3_w_grad_square; // dense3.w.grad.square []
  float *dense3_b_grad_square; // dense3.b.grad.square []
  float *gradient_norm; // gradient_norm []
  float *conv1_w_v; // conv1.w.v [6, 1, 5, 5]
  float *conv1_w_u; // conv1.w.u [6, 1, 5, 5]
  float *conv1_b_v; // conv1.b.v [6]
  float *conv1_b_u; // conv1.b.u [6]
  float *conv2_w_v; // conv2.w.v [16, 6, 5, 5]
  float *conv2_w_u; // conv2.w.u [16, 6, 5, 5]
  float *conv2_b_v; // conv2.b.v [16]
  float *conv2_b_u; // conv2.b.u [16]
  float *dense1_w_v; // dense1.w.v [120, 400]
  float *dense1_w_u; // dense1.w.u [120, 400]
  float *dense1_b_v; // dense1.b.v [120]
  float *dense1_b_u; // dense1.b.u [120]
  float *dense2_w_v; // dense2.w.v [84, 120]
  float *dense2_w_u; // dense2.w.u [84, 120]
  float *dense2_b_v; // dense2.b.v [84]
  float *dense2_b_u; // dense2.b.u [84]
  float *dense3_w_v; // dense3.w.v [10, 84]
  float *dense3_w_u; // dense3.w.u [10, 84]
  float *dense3_b_v; // dense3.b.v [10]
  float *dense3_b_u; // dense3.b.u [10]
  float *cross_entropy_sum_grad; // cross_entropy.sum.grad []
  float *cross_entropy_total_grad; // cross_entropy.total.grad [batch.len]
  float *cross_entropy_picked_grad; // cross_entropy.picked.grad [batch.len]
  float *cross_entropy_z_grad_2; // cross_entropy.z.grad.2 [batch.len, 10]
  float *cross_entropy_z_grad_3; // cross_entropy.z.grad.3 [batch.len, 10]
  float *relu_4_grad; // relu.4.grad [batch.len, 84]
  float *dense2_y_2_grad; // dense2.y.2.grad [batch.len, 84]
  float *relu_3_grad; // relu.3.grad [batch.len, 120]
  float *dense1_y_2_grad; // dense1.y.2.grad [batch.len, 120]
  float *view_grad; // view.grad [batch.len, 400]
  float *maxpool2d_2_grad; // maxpool2d.2.grad [batch.len, 16, 5, 5]
  int *maxpool2d_2_place; // maxpool2d.2.place [batch.len, 16, 5, 5]
  float *conv2_channel_bias_grad; // conv2.channel_bias.grad [batch.len, 16, 10, 10]
  float *maxpool2d_grad; // maxpool2d.grad [batch.len, 6, 14, 14]
  int *maxpool2d_place; // maxpool2d.place [batch.len, 6, 14, 14]
  float *conv1_channel_bias_grad; // conv1.channel_bias.grad [batch.len, 6, 28, 28]
  float *dense1_w_grad_square_rows; // dense1.w.grad.square.rows [120]
  float *dense2_w_grad_square_rows; // dense2.w.grad.square.rows [84]
  float *cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
  float *dense3_b_grad_whole; // dense3.b.grad.whole [10]
  float *dense3_w_grad_whole; // dense3.w.grad.whole [10, 84]
  float *dense2_b_grad_whole; // dense2.b.grad.whole [84]
  float *dense2_w_grad_whole; // dense2.w.grad.whole [84, 120]
  float *dense1_b_grad_whole; // dense1.b.grad.whole [120]
  float *dense1_w_grad_whole; // dense1.w.grad.whole [120, 400]
  float *conv2_b_grad_whole; // conv2.b.grad.whole [16]
  float *conv2_w_grad_whole; // conv2.w.grad.whole [16, 6, 5, 5]
  float *conv1_b_grad_whole; // conv1.b.grad.whole [6]
  float *conv1_w_grad_whole; // conv1.w.grad.whole [6, 1, 5, 5]
  float *accuracy_sum_whole; // accuracy.sum.whole []
  float *image_pack_3; // image.pack [5, 5, 28, 28]
  float *maxpool2d_pack_3; // maxpool2d.pack [6, 5, 5, 10, 10]
  float *maxpool2d_grad_spread_2; // maxpool2d.grad.spread [6, 5, 5, 10, 10]
  float *maxpool2d_pack_2_2; // maxpool2d.pack.2 [6, 10, 10, 5, 5]
  float *image_pack_2_2; // image.pack.2 [28, 28, 5, 5]
  float *eval_image; // image [batch.len, 1, 28, 28]
  int *eval_label; // label [batch.len]
  float *eval_conv1_conv2d; // conv1.conv2d [batch.len, 6, 28, 28]
  float *eval_relu; // relu [batch.len, 6, 28, 28]
  float *eval_maxpool2d; // maxpool2d [batch.len, 6, 14, 14]
  float *eval_conv2_conv2d; // conv2.conv2d [batch.len, 16, 10, 10]
  float *eval_relu_2; // relu.2 [batch.len, 16, 10, 10]
  float *eval_maxpool2d_2; // maxpool2d.2 [batch.len, 16, 5, 5]
  float *eval_view; // view [batch.len, 400]
  float *eval_dense1_y; // dense1.y [batch.len, 120]
  float *eval_relu_3; // relu.3 [batch.len, 120]
  float *eval_dense2_y; // dense2.y [batch.len, 84]
  float *eval_relu_4; // relu.4 [batch.len, 84]
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
  float *eval_image_pack_2; // image.pack [5, 5, 28, 28]
  float *eval_maxpool2d_pack_2; // maxpool2d.pack [6, 5, 5, 10, 10]
} t;

// ---- kernels ---------------------------------------------------------------------------------------------------------

// conv1: init (lenet.dnn:7)
__global__ void k_init(float *__restrict__ w, long count, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) w[i] = 0.2f * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i))) - 1.0f);
}

// conv2: init (lenet.dnn:8)
__global__ void k_init2(float *__restrict__ w, long count, float factor, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) w[i] = factor * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i))) - 1.0f);
}

// dense1: init (lenet.dnn:10)
__global__ void k_init3(float *__restrict__ w, long count, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) w[i] = 0.05f * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i))) - 1.0f);
}

// conv1: init (lenet.dnn:21)
__global__ void k_init4(float *__restrict__ velocity, long count) {
  FLAT(i, count) velocity[i] = 0.0f;
}

// conv1: pack (lenet.dnn:7)
__global__ void k_pack(float *__restrict__ pack, const float *__restrict__ image, long R, long S, long P, long Q, long len_size, long len_size2) {
  GRID3(r, R, s, S, p, P) BLOCK(q, Q) {
    const long size = r + p - 2;
    const long size2 = s + q - 2;
    pack[((r * S + s) * P + p) * Q + q] = size >= 0 && size < len_size && size2 >= 0 && size2 < len_size2 ? image[size * len_size2 + size2] : 0.0f;
  }
}

// conv1: channel_bias_relu (lenet.dnn:7)
__global__ void k_channel_bias_relu(float *__restrict__ conv2d, const float *__restrict__ b, long N, long C, long PQ) {
  GRID2(n, N, c, C) BLOCK(pq, PQ) {
    const float channel_bias_ = conv2d[(n * C + c) * PQ + pq] + b[c];
    conv2d[(n * C + c) * PQ + pq] = parcc_maxf(channel_bias_, 0.0f);
  }
}

// maxpool2d (lenet.dnn:7)
__global__ void k_maxpool2d(float *__restrict__ maxpool2d, const float *__restrict__ relu, long NC, long P, long Q, long P2, long Q2) {
  GRID3_LANES(nc, NC, p, P, q0, lanes, Q) {
    float maxpool2d_[LANES];
    LANE(l, lanes) maxpool2d_[l] = -INFINITY;
    for (long r = 0; r < 2; r++)
      for (long s = 0; s < 2; s++)
        LANE(l, lanes) {
          const long q = q0 + l;
          const float v = relu[(nc * P2 + (2 * p + r)) * Q2 + (2 * q + s)];
          maxpool2d_[l] = v > maxpool2d_[l] ? v : maxpool2d_[l];
        }
    LANE(l, lanes) {
      const long q = q0 + l;
      maxpool2d[(nc * P + p) * Q + q] = maxpool2d_[l];
    }
  }
}

// conv2: pack (lenet.dnn:8)
__global__ void k_pack2(float *__restrict__ pack, const float *__restrict__ maxpool2d, long CI, long R, long S, long P, long Q, long P2, long Q2) {
  GRID4(ci, CI, r, R, s, S, p, P) BLOCK(q, Q) pack[(((ci * R + r) * S + s) * P + p) * Q + q] = maxpool2d[(ci * P2 + (r + p)) * Q2 + (s + q)];
}

// dense1: dense_relu (lenet.dnn:10)
__global__ void k_dense_relu(float *__restrict__ relu, const float *__restrict__ y2, const float *__restrict__ b, long N, long CO) {
  GRID(n, N) BLOCK(co, CO) {
    const float y_ = y2[n * CO + co] + b[co];
    relu[n * CO + co] = parcc_maxf(y_, 0.0f);
  }
}

// dense3: dense_cross_entropy (lenet.dnn:12)
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

// cross_entropy (lenet.dnn:14)
__global__ void k_cross_entropy(float *__restrict__ sum, const float *__restrict__ each, long N) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(n, N) sum_ += each[n];
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (lenet.dnn:14)
__global__ void k_cross_entropy2(float *__restrict__ sum, const int *__restrict__ label, long N) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(n, N) sum_ += (label[n] != -1) ? 1.0f : 0.0f;
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (lenet.dnn:14)
__global__ void k_cross_entropy3(float *__restrict__ cross_entropy, const float *__restrict__ whole, const float *__restrict__ whole2) {
  FLAT(i, 1) cross_entropy[0] = whole[0] / parcc_maxf(whole2[0], 1.0f);
}

// maxpool2d (lenet.dnn:8)
__global__ void k_maxpool2d2(int *__restrict__ place, const float *__restrict__ relu, long NC, long P, long Q, long P2, long Q2) {
  GRID3_LANES(nc, NC, p, P, q0, lanes, Q) {
    float place_[LANES];
    LANE(l, lanes) place_[l] = -INFINITY;
    long place_at[LANES];
    LANE(l, lanes) place_at[l] = 0;
    for (long r = 0; r < 2; r++)
      for (long s = 0; s < 2; s++)
        LANE(l, lanes) {
          const long q = q0 + l;
          const float v = relu[(nc * P2 + (2 * p + r)) * Q2 + (2 * q + s)];
          if (v > place_[l]) {
            place_[l] = v;
            place_at[l] = (2 * r + s);
          }
        }
    LANE(l, lanes) {
      const long q = q0 + l;
      place[(nc * P + p) * Q + q] = (int)place_at[l];
    }
  }
}

// cross_entropy_grad (lenet.dnn:14)
__global__ void k_cross_entropy_grad(float *__restrict__ grad, const float *__restrict__ whole) {
  FLAT(i, 1) grad[0] = 1.0f / parcc_maxf(whole[0], 1.0f);
}

// cross_entropy_grad (lenet.dnn:14)
__global__ void k_cross_entropy_grad2(float *__restrict__ grad, float *__restrict__ grad3, const int *__restrict__ label, const float *__restrict__ grad2, const float *__restrict__ total, long count) {
  FLAT(i, count) {
    const float grad_ = ((label[i] == -1) ? 0.0f : grad2[0]) / total[i];
    const float grad_2 = -((label[i] == -1) ? 0.0f : grad2[0]);
    grad[i] = grad_;
    grad3[i] = grad_2;
  }
}

// cross_entropy_grad (lenet.dnn:14)
__global__ void k_cross_entropy_grad3(float *__restrict__ grad, const float *__restrict__ grad2, const float *__restrict__ z, long N, long C) {
  GRID(n, N) BLOCK(c, C) grad[n * C + c] = grad2[n] * expf(z[n * C + c]);
}

// cross_entropy_dense_grad (lenet.dnn:14)
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

// relu_dense_grad (lenet.dnn:11)
__global__ void k_relu_dense_grad(float *__restrict__ grad, float *__restrict__ grad3, const float *__restrict__ relu, const float *__restrict__ grad2, long CO, long N) {
  GRID_LANES(co0, lanes, CO) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long n = 0; n < N; n++)
      LANE(l, lanes) {
        const long co = co0 + l;
        const float grad_2 = (relu[n * CO + co] > 0.0f) ? grad2[n * CO + co] : 0.0f;
        grad_[l] += grad_2;
        grad[n * CO + co] = grad_2;
      }
    LANE(l, lanes) {
      const long co = co0 + l;
      grad3[co] = grad_[l];
    }
  }
}

// maxpool2d_relu_grad (lenet.dnn:8)
__global__ void k_maxpool2d_relu_grad(float *__restrict__ grad3, const int *__restrict__ place, const float *__restrict__ grad2, long NC, long P, long Q, long P2, long Q2, long P3, long Q3) {
  GRID3_LANES(nc, NC, p, P, q0, lanes, Q) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long r = 0; r < 2; r++)
      for (long s = 0; s < 2; s++)
        LANE(l, lanes) {
          const long q = q0 + l;
          const long p2 = p - r;
          const long q2 = q - s;
          const long p3 = p - r;
          const long q3 = q - s;
          grad_[l] += ((p2 >= 0 && p2 % 2 == 0 && q2 >= 0 && q2 % 2 == 0 ? place[(nc * P2 + (p2 / 2)) * Q2 + (q2 / 2)] : -1) == (2 * r + s)) ? (p3 >= 0 && p3 % 2 == 0 && q3 >= 0 && q3 % 2 == 0 ? grad2[(nc * P3 + (p3 / 2)) * Q3 + (q3 / 2)] : 0.0f) : 0.0f;
        }
    float grad_2[LANES];
    LANE(l, lanes) {
      const long q = q0 + l;
      grad_2[l] = (grad3[(nc * P + p) * Q + q] > 0.0f) ? grad_[l] : 0.0f;
      grad3[(nc * P + p) * Q + q] = grad_2[l];
    }
  }
}

// conv2: channel_bias_grad (lenet.dnn:8)
__global__ void k_channel_bias_grad(float *__restrict__ grad, const float *__restrict__ grad2, long C, long N, long PQ) {
  GRID(c, C) {
    float grad_ = 0.0f;
    BLOCK2(n, N, pq, PQ) grad_ += grad2[(n * C + c) * PQ + pq];
    grad_ = BLOCK_SUM(grad_);
    ONCE grad[c] = grad_;
  }
}

// conv2: fold (lenet.dnn:8)
__global__ void k_fold(float *__restrict__ grad, const float *__restrict__ spread, long CI, long P, long Q, long P2, long Q2) {
  GRID3_LANES(ci, CI, p, P, q0, lanes, Q) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long r = 0; r < 5; r++)
      for (long s = 0; s < 5; s++)
        LANE(l, lanes) {
          const long q = q0 + l;
          const long p2 = p - r;
          const long q2 = q - s;
          grad_[l] += p2 >= 0 && p2 < P2 && q2 >= 0 && q2 < Q2 ? spread[(((ci * 5 + r) * 5 + s) * P2 + p2) * Q2 + q2] : 0.0f;
        }
    LANE(l, lanes) {
      const long q = q0 + l;
      grad[(ci * P + p) * Q + q] = grad_[l];
    }
  }
}

// accuracy (lenet.dnn:15)
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

// accuracy (lenet.dnn:15)
__global__ void k_accuracy2(float *__restrict__ sum, const int *__restrict__ label, const int *__restrict__ best, long N) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(n, N) sum_ += ((label[n] != -1) && (best[n] == label[n])) ? 1.0f : 0.0f;
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// conv1: gradient_norm (lenet.dnn:21)
__global__ void k_gradient_norm(float *__restrict__ square, const float *__restrict__ whole, long CO) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(co, CO) square_ += whole[co] * whole[co];
    square_ = BLOCK_SUM(square_);
    ONCE square[0] = square_;
  }
}

// dense1: gradient_norm (lenet.dnn:21)
__global__ void k_gradient_norm2(float *__restrict__ rows, const float *__restrict__ whole, long CO, long CI) {
  GRID(co, CO) {
    float rows_ = 0.0f;
    BLOCK(ci, CI) rows_ += whole[co * CI + ci] * whole[co * CI + ci];
    rows_ = BLOCK_SUM(rows_);
    ONCE rows[co] = rows_;
  }
}

// conv1: gradient_norm (lenet.dnn:21)
__global__ void k_gradient_norm3(float *__restrict__ gradient_norm, const float *__restrict__ whole, const float *__restrict__ square2, const float *__restrict__ square3, const float *__restrict__ square4, const float *__restrict__ square5, const float *__restrict__ square6, const float *__restrict__ square7, const float *__restrict__ square8, const float *__restrict__ square9, const float *__restrict__ square10, long len_cors) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(cors, len_cors) square_ += whole[cors] * whole[cors];
    square_ = BLOCK_SUM(square_);
    const float gradient_norm_ = sqrtf((((((((((square_ + square2[0]) + square3[0]) + square4[0]) + square5[0]) + square6[0]) + square7[0]) + square8[0]) + square9[0]) + square10[0]));
    ONCE gradient_norm[0] = gradient_norm_;
  }
}

// conv1: sgd (lenet.dnn:21)
__global__ void k_sgd(float *__restrict__ v, float *__restrict__ w, const float *__restrict__ whole, long count, float lr) {
  FLAT(i, count) {
    const float d_ = whole[i] + (0.0005f * w[i]);
    const float v_ = (0.9f * v[i]) + d_;
    const float u_ = w[i] - (lr * v_);
    v[i] = v_;
    w[i] = u_;
  }
}

// dense3: dense_cross_entropy (lenet.dnn:12)
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
  AT("conv1 init", "lenet.dnn:7");
  LAUNCH_FLAT(k_init, 150, t.conv1_w, 150, parcc.seed, (unsigned long long)parcc.step, 0);
  LAUNCH_FLAT(k_init, 6, t.conv1_b, 6, parcc.seed, (unsigned long long)parcc.step, 1);

  AT("conv2 init", "lenet.dnn:8");
  LAUNCH_FLAT(k_init2, 2400, t.conv2_w, 2400, 0.08164966f, parcc.seed, (unsigned long long)parcc.step, 2);
  LAUNCH_FLAT(k_init2, 16, t.conv2_b, 16, 0.08164966f, parcc.seed, (unsigned long long)parcc.step, 3);

  AT("dense1 init", "lenet.dnn:10");
  LAUNCH_FLAT(k_init3, 48000, t.dense1_w, 48000, parcc.seed, (unsigned long long)parcc.step, 4);
  LAUNCH_FLAT(k_init3, 120, t.dense1_b, 120, parcc.seed, (unsigned long long)parcc.step, 5);

  AT("dense2 init", "lenet.dnn:11");
  LAUNCH_FLAT(k_init2, 10080, t.dense2_w, 10080, 0.09128709f, parcc.seed, (unsigned long long)parcc.step, 6);
  LAUNCH_FLAT(k_init2, 84, t.dense2_b, 84, 0.09128709f, parcc.seed, (unsigned long long)parcc.step, 7);

  AT("dense3 init", "lenet.dnn:12");
  LAUNCH_FLAT(k_init2, 840, t.dense3_w, 840, 0.10910895f, parcc.seed, (unsigned long long)parcc.step, 8);
  LAUNCH_FLAT(k_init2, 10, t.dense3_b, 10, 0.10910895f, parcc.seed, (unsigned long long)parcc.step, 9);

  AT("conv1 init", "lenet.dnn:21");
  LAUNCH_FLAT(k_init4, 150, t.conv1_w_velocity, 150);
  LAUNCH_FLAT(k_init4, 6, t.conv1_b_velocity, 6);

  AT("conv2 init", "lenet.dnn:21");
  LAUNCH_FLAT(k_init4, 2400, t.conv2_w_velocity, 2400);
  LAUNCH_FLAT(k_init4, 16, t.conv2_b_velocity, 16);

  AT("dense1 init", "lenet.dnn:21");
  LAUNCH_FLAT(k_init4, 48000, t.dense1_w_velocity, 48000);
  LAUNCH_FLAT(k_init4, 120, t.dense1_b_velocity, 120);

  AT("dense2 init", "lenet.dnn:21");
  LAUNCH_FLAT(k_init4, 10080, t.dense2_w_velocity, 10080);
  LAUNCH_FLAT(k_init4, 84, t.dense2_b_velocity, 84);

  AT("dense3 init", "lenet.dnn:21");
  LAUNCH_FLAT(k_init4, 840, t.dense3_w_velocity, 840);
  LAUNCH_FLAT(k_init4, 10, t.dense3_b_velocity, 10);
}

// The losses of the batch.
static void forward(void) {
  AT("conv1 conv2d", "lenet.dnn:7");
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack, 700, 28, t.image_pack_3, t.image + i * 784, 5, 5, 28, 28, 28, 28);
    // conv1.conv2d[n, co, p, q] = sum(r, s) (image.pack[n, r, s, p, q] * conv1.w[co, 0, r, s])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 784, 6, 25, &one,
        t.image_pack_3, 784, t.conv1_w, 25, &zero, t.conv1_conv2d + i * 4704, 784));
  }
  LIFETIME_END({t.image_pack_3, 78400});
  AT("conv1 channel_bias", "lenet.dnn:7");
  LAUNCH_MAP(k_channel_bias_relu, 6 * batch.len, 784, t.relu, t.conv1_b, batch.len, 6, 784);

  AT("maxpool2d", "lenet.dnn:7");
  LAUNCH_LANES(k_maxpool2d, 1176 * batch.len, t.maxpool2d, t.relu, 6 * batch.len, 14, 14, 28, 28);

  AT("conv2 conv2d", "lenet.dnn:8");
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack2, 1500, 10, t.maxpool2d_pack_3, t.maxpool2d + i * 1176, 6, 5, 5, 10, 10, 14, 14);
    // conv2.conv2d[n, co, p, q] = sum(ci, r, s) (maxpool2d.pack[n, ci, r, s, p, q] * conv2.w[co, ci, r, s])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 100, 16, 150, &one,
        t.maxpool2d_pack_3, 100, t.conv2_w, 150, &zero, t.conv2_conv2d + i * 1600, 100));
  }
  LIFETIME_END({t.maxpool2d_pack_3, 60000});
  AT("conv2 channel_bias", "lenet.dnn:8");
  LAUNCH_MAP(k_channel_bias_relu, 16 * batch.len, 100, t.relu_2, t.conv2_b, batch.len, 16, 100);

  AT("maxpool2d", "lenet.dnn:8");
  LAUNCH_LANES(k_maxpool2d, 400 * batch.len, t.maxpool2d_2, t.relu_2, 16 * batch.len, 5, 5, 10, 10);

  AT("dense1 dense", "lenet.dnn:10");
  // dense1.y[n, co] = sum(ci) (view[n, ci] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 120, batch.len, 400, &one,
      t.dense1_w, 400, t.view, 400, &zero, t.dense1_y, 120));
  LAUNCH_MAP(k_dense_relu, batch.len, 120, t.relu_3, t.dense1_y, t.dense1_b, batch.len, 120);
  LIFETIME_END({t.dense1_y, 15360});

  AT("dense2 dense", "lenet.dnn:11");
  // dense2.y[n, co] = sum(ci) (relu.3[n, ci] * dense2.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 84, batch.len, 120, &one,
      t.dense2_w, 120, t.relu_3, 120, &zero, t.dense2_y, 84));
  LAUNCH_MAP(k_dense_relu, batch.len, 84, t.relu_4, t.dense2_y, t.dense2_b, batch.len, 84);
  LIFETIME_END({t.dense2_y, 10752});

  AT("dense3 dense", "lenet.dnn:12");
  // dense3.y[n, co] = sum(ci) (relu.4[n, ci] * dense3.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 10, batch.len, 84, &one,
      t.dense3_w, 84, t.relu_4, 84, &zero, t.dense3_y, 10));
  LAUNCH_LANES(k_dense_cross_entropy, batch.len, t.dense3_y_2, t.cross_entropy_z, t.cross_entropy_total, t.cross_entropy_each, t.dense3_y, t.dense3_b, t.label, batch.len);
  LIFETIME_END({t.dense3_y, 1280});

  AT("cross_entropy", "lenet.dnn:14");
  LAUNCH_ROWS(k_cross_entropy, 1, t.cross_entropy_sum, t.cross_entropy_each, batch.len);
  LIFETIME_END({t.cross_entropy_each, 128});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.cross_entropy_sum_2, t.label, batch.len);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "lenet.dnn:14");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2
  CHECK_NCCL(ncclAllReduce(t.cross_entropy_sum, t.cross_entropy_sum, 2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "lenet.dnn:14");
  LAUNCH_FLAT(k_cross_entropy3, 1, t.cross_entropy, t.cross_entropy_sum_whole, t.cross_entropy_sum_2_whole);
  AT("maxpool2d", "lenet.dnn:8");
  LAUNCH_LANES(k_maxpool2d2, 400 * batch.len, t.maxpool2d_2_place, t.relu_2, 16 * batch.len, 5, 5, 10, 10);
  AT("maxpool2d", "lenet.dnn:7");
  LAUNCH_LANES(k_maxpool2d2, 1176 * batch.len, t.maxpool2d_place, t.relu, 6 * batch.len, 14, 14, 28, 28);
}

// The gradients of all parameters.
static void backward(void) {
  AT("cross_entropy", "lenet.dnn:14");
  LAUNCH_FLAT(k_cross_entropy_grad, 1, t.cross_entropy_sum_grad, t.cross_entropy_sum_2_whole);
  LAUNCH_FLAT(k_cross_entropy_grad2, batch.len, t.cross_entropy_total_grad, t.cross_entropy_picked_grad, t.label, t.cross_entropy_sum_grad, t.cross_entropy_total, batch.len);
  LIFETIME_END({t.cross_entropy_total, 128}, {t.cross_entropy_sum_grad, 4});
  LAUNCH_MAP(k_cross_entropy_grad3, batch.len, 10, t.cross_entropy_z_grad_2, t.cross_entropy_total_grad, t.cross_entropy_z, batch.len, 10);
  LIFETIME_END({t.cross_entropy_z, 1280}, {t.cross_entropy_total_grad, 128});
  LAUNCH_LANES(k_cross_entropy_dense_grad, 10, t.cross_entropy_z_grad_3, t.dense3_b_grad, t.cross_entropy_picked_grad, t.label, t.cross_entropy_z_grad_2, 10, batch.len);
  LIFETIME_END({t.cross_entropy_picked_grad, 128}, {t.cross_entropy_z_grad_2, 1280});

  AT("dense3 dense", "lenet.dnn:12");
  // relu.4.grad[n, ci] = sum(co) (cross_entropy.z.grad.3[n, co] * dense3.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 84, batch.len, 10, &one,
      t.dense3_w, 84, t.cross_entropy_z_grad_3, 10, &zero, t.relu_4_grad, 84));
  // dense3.w.grad[co, ci] = sum(n) (cross_entropy.z.grad.3[n, co] * relu.4[n, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 84, 10, batch.len, &one,
      t.relu_4, 84, t.cross_entropy_z_grad_3, 10, &zero, t.dense3_w_grad, 84));
  LIFETIME_END({t.cross_entropy_z_grad_3, 1280});

  AT("relu", "lenet.dnn:11");
  LAUNCH_LANES(k_relu_dense_grad, 84, t.dense2_y_2_grad, t.dense2_b_grad, t.relu_4, t.relu_4_grad, 84, batch.len);
  LIFETIME_END({t.relu_4, 10752}, {t.relu_4_grad, 10752});

  AT("dense2 dense", "lenet.dnn:11");
  // relu.3.grad[n, ci] = sum(co) (dense2.y.2.grad[n, co] * dense2.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 120, batch.len, 84, &one,
      t.dense2_w, 120, t.dense2_y_2_grad, 84, &zero, t.relu_3_grad, 120));
  // dense2.w.grad[co, ci] = sum(n) (dense2.y.2.grad[n, co] * relu.3[n, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 120, 84, batch.len, &one,
      t.relu_3, 120, t.dense2_y_2_grad, 84, &zero, t.dense2_w_grad, 120));
  LIFETIME_END({t.dense2_y_2_grad, 10752});

  AT("relu", "lenet.dnn:10");
  LAUNCH_LANES(k_relu_dense_grad, 120, t.dense1_y_2_grad, t.dense1_b_grad, t.relu_3, t.relu_3_grad, 120, batch.len);
  LIFETIME_END({t.relu_3, 15360}, {t.relu_3_grad, 15360});

  AT("dense1 dense", "lenet.dnn:10");
  // view.grad[n, ci] = sum(co) (dense1.y.2.grad[n, co] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 400, batch.len, 120, &one,
      t.dense1_w, 400, t.dense1_y_2_grad, 120, &zero, t.view_grad, 400));
  // dense1.w.grad[co, ci] = sum(n) (dense1.y.2.grad[n, co] * view[n, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 400, 120, batch.len, &one,
      t.view, 400, t.dense1_y_2_grad, 120, &zero, t.dense1_w_grad, 400));
  LIFETIME_END({t.view, 51200}, {t.dense1_y_2_grad, 15360});

  AT("maxpool2d", "lenet.dnn:8");
  LAUNCH_LANES(k_maxpool2d_relu_grad, 1600 * batch.len, t.conv2_channel_bias_grad, t.maxpool2d_2_place, t.maxpool2d_2_grad, 16 * batch.len, 10, 10, 5, 5, 5, 5);
  LIFETIME_END({t.maxpool2d_2_grad, 51200}, {t.maxpool2d_2_place, 51200});

  AT("conv2 channel_bias", "lenet.dnn:8");
  LAUNCH_ROWS(k_channel_bias_grad, 16, t.conv2_b_grad, t.conv2_channel_bias_grad, 16, batch.len, 100);
  AT("conv2 conv2d", "lenet.dnn:8");
  for (long i = 0; i < batch.len; i++) {
    // maxpool2d.grad.spread[n, ci, r, s, p, q] = sum(co) (conv2.channel_bias.grad[n, co, p, q] * conv2.w[co, ci, r, s])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 100, 150, 16, &one,
        t.conv2_channel_bias_grad + i * 1600, 100, t.conv2_w, 150, &zero, t.maxpool2d_grad_spread_2, 100));
    LAUNCH_LANES(k_fold, 1176, t.maxpool2d_grad + i * 1176, t.maxpool2d_grad_spread_2, 6, 14, 14, 10, 10);
  }
  LIFETIME_END({t.maxpool2d_grad_spread_2, 60000});
  CHECK_CUDA(cudaMemsetAsync(t.conv2_w_grad, 0, 2400 * sizeof(float), parcc.compute));
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack2, 3000, 5, t.maxpool2d_pack_2_2, t.maxpool2d + i * 1176, 6, 10, 10, 5, 5, 14, 14);
    // conv2.w.grad[co, ci, r, s] = sum(n, p, q) (conv2.channel_bias.grad[n, co, p, q] * maxpool2d.pack.2[n, ci, p, q, r, s])
    CHECK_CUBLAS(cublasSgemmStridedBatched(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 25, 16, 100, &one,
        t.maxpool2d_pack_2_2, 25, 2500, t.conv2_channel_bias_grad + i * 1600, 100, 0, &one, t.conv2_w_grad, 150, 25, 6));
  }
  LIFETIME_END({t.maxpool2d, 150528}, {t.conv2_channel_bias_grad, 204800}, {t.maxpool2d_pack_2_2, 60000});

  AT("maxpool2d", "lenet.dnn:7");
  LAUNCH_LANES(k_maxpool2d_relu_grad, 4704 * batch.len, t.conv1_channel_bias_grad, t.maxpool2d_place, t.maxpool2d_grad, 6 * batch.len, 28, 28, 14, 14, 14, 14);
  LIFETIME_END({t.maxpool2d_grad, 150528}, {t.maxpool2d_place, 150528});

  AT("conv1 channel_bias", "lenet.dnn:7");
  LAUNCH_ROWS(k_channel_bias_grad, 6, t.conv1_b_grad, t.conv1_channel_bias_grad, 6, batch.len, 784);
  AT("conv1 conv2d", "lenet.dnn:7");
  CHECK_CUDA(cudaMemsetAsync(t.conv1_w_grad, 0, 150 * sizeof(float), parcc.compute));
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack, 3920, 5, t.image_pack_2_2, t.image + i * 784, 28, 28, 5, 5, 28, 28);
    // conv1.w.grad[co, ci, r, s] = sum(n, p, q) (conv1.channel_bias.grad[n, co, p, q] * image.pack.2[n, p, q, r, s])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 25, 6, 784, &one,
        t.image_pack_2_2, 25, t.conv1_channel_bias_grad + i * 4704, 784, &one, t.conv1_w_grad, 25));
  }
  LIFETIME_END({t.image, 100352}, {t.conv1_channel_bias_grad, 602112}, {t.image_pack_2_2, 78400});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("all_reduce", "lenet.dnn:7");
  // all_reduce gradients of dense3, dense2, dense1, conv2, conv1
  CHECK_NCCL(ncclAllReduce(t.dense1_w_grad, t.dense1_w_grad, 61706, ncclFloat, ncclSum, over_data, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
}

// What is only reported: metrics and the gradients' norm.
static void report(void) {
  AT("accuracy", "lenet.dnn:15");
  LAUNCH_LANES(k_accuracy, batch.len, t.accuracy_best, t.dense3_y_2, batch.len);
  LIFETIME_END({t.dense3_y_2, 1280});
  LAUNCH_ROWS(k_accuracy2, 1, t.accuracy_sum, t.label, t.accuracy_best, batch.len);
  LIFETIME_END({t.label, 128}, {t.accuracy_best, 128});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "lenet.dnn:15");
  // all_reduce accuracy.sum: [], a sum over data -> []
  CHECK_NCCL(ncclAllReduce(t.accuracy_sum, t.accuracy_sum, 1, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[2]);
  AT("accuracy", "lenet.dnn:15");
  LAUNCH_FLAT(k_cross_entropy3, 1, t.accuracy, t.accuracy_sum_whole, t.cross_entropy_sum_2_whole);
  LIFETIME_END({t.cross_entropy_sum_whole, 8});
  WAIT(parcc.compute, event[1]);
  LIFETIME_END({t.accuracy_sum_whole, 4});

  AT("conv1 gradient_norm", "lenet.dnn:21");
  LAUNCH_ROWS(k_gradient_norm, 1, t.conv1_b_grad_square, t.conv1_b_grad_whole, 6);

  AT("conv2 gradient_norm", "lenet.dnn:21");
  LAUNCH_ROWS(k_gradient_norm, 1, t.conv2_w_grad_square, t.conv2_w_grad_whole, 2400);
  LAUNCH_ROWS(k_gradient_norm, 1, t.conv2_b_grad_square, t.conv2_b_grad_whole, 16);

  AT("dense1 gradient_norm", "lenet.dnn:21");
  LAUNCH_ROWS(k_gradient_norm2, 120, t.dense1_w_grad_square_rows, t.dense1_w_grad_whole, 120, 400);
  LAUNCH_ROWS(k_cross_entropy, 1, t.dense1_w_grad_square, t.dense1_w_grad_square_rows, 120);
  LIFETIME_END({t.dense1_w_grad_square_rows, 480});
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense1_b_grad_square, t.dense1_b_grad_whole, 120);

  AT("dense2 gradient_norm", "lenet.dnn:21");
  LAUNCH_ROWS(k_gradient_norm2, 84, t.dense2_w_grad_square_rows, t.dense2_w_grad_whole, 84, 120);
  LAUNCH_ROWS(k_cross_entropy, 1, t.dense2_w_grad_square, t.dense2_w_grad_square_rows, 84);
  LIFETIME_END({t.dense2_w_grad_square_rows, 336});
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense2_b_grad_square, t.dense2_b_grad_whole, 84);

  AT("dense3 gradient_norm", "lenet.dnn:21");
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense3_w_grad_square, t.dense3_w_grad_whole, 840);
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense3_b_grad_square, t.dense3_b_grad_whole, 10);

  AT("conv1 gradient_norm", "lenet.dnn:21");
  LAUNCH_ROWS(k_gradient_norm3, 1, t.gradient_norm, t.conv1_w_grad_whole, t.conv1_b_grad_square, t.conv2_w_grad_square, t.conv2_b_grad_square, t.dense1_w_grad_square, t.dense1_b_grad_square, t.dense2_w_grad_square, t.dense2_b_grad_square, t.dense3_w_grad_square, t.dense3_b_grad_square, 150);
  LIFETIME_END({t.conv1_b_grad_square, 4}, {t.conv2_w_grad_square, 4}, {t.conv2_b_grad_square, 4},
      {t.dense1_w_grad_square, 4}, {t.dense1_b_grad_square, 4}, {t.dense2_w_grad_square, 4},
      {t.dense2_b_grad_square, 4}, {t.dense3_w_grad_square, 4}, {t.dense3_b_grad_square, 4});
}

// The optimizer.
static void update(void) {
  WAIT(parcc.compute, event[1]);

  AT("conv1 sgd", "lenet.dnn:21");
  LAUNCH_FLAT(k_sgd, 150, t.conv1_w_v, t.conv1_w_u, t.conv1_w_grad_whole, 150, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 6, t.conv1_b_v, t.conv1_b_u, t.conv1_b_grad_whole, 6, (float)parcc.lr);

  AT("conv2 sgd", "lenet.dnn:21");
  LAUNCH_FLAT(k_sgd, 2400, t.conv2_w_v, t.conv2_w_u, t.conv2_w_grad_whole, 2400, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 16, t.conv2_b_v, t.conv2_b_u, t.conv2_b_grad_whole, 16, (float)parcc.lr);

  AT("dense1 sgd", "lenet.dnn:21");
  LAUNCH_FLAT(k_sgd, 48000, t.dense1_w_v, t.dense1_w_u, t.dense1_w_grad_whole, 48000, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 120, t.dense1_b_v, t.dense1_b_u, t.dense1_b_grad_whole, 120, (float)parcc.lr);

  AT("dense2 sgd", "lenet.dnn:21");
  LAUNCH_FLAT(k_sgd, 10080, t.dense2_w_v, t.dense2_w_u, t.dense2_w_grad_whole, 10080, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 84, t.dense2_b_v, t.dense2_b_u, t.dense2_b_grad_whole, 84, (float)parcc.lr);

  AT("dense3 sgd", "lenet.dnn:21");
  LAUNCH_FLAT(k_sgd, 840, t.dense3_w_v, t.dense3_w_u, t.dense3_w_grad_whole, 840, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 10, t.dense3_b_v, t.dense3_b_u, t.dense3_b_grad_whole, 10, (float)parcc.lr);
  LIFETIME_END({t.dense1_w_grad_whole, 246824});
}

// Losses and metrics of a batch of the test split.
static void evaluate(void) {
  AT("conv1 conv2d", "lenet.dnn:7");
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack, 700, 28, t.eval_image_pack_2, t.eval_image + i * 784, 5, 5, 28, 28, 28, 28);
    // conv1.conv2d[n, co, p, q] = sum(r, s) (image.pack[n, r, s, p, q] * conv1.w[co, 0, r, s])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 784, 6, 25, &one,
        t.eval_image_pack_2, 784, t.conv1_w, 25, &zero, t.eval_conv1_conv2d + i * 4704, 784));
  }
  LIFETIME_END({t.eval_image, 100352}, {t.eval_image_pack_2, 78400});
  AT("conv1 channel_bias", "lenet.dnn:7");
  LAUNCH_MAP(k_channel_bias_relu, 6 * batch.len, 784, t.eval_relu, t.conv1_b, batch.len, 6, 784);

  AT("maxpool2d", "lenet.dnn:7");
  LAUNCH_LANES(k_maxpool2d, 1176 * batch.len, t.eval_maxpool2d, t.eval_relu, 6 * batch.len, 14, 14, 28, 28);
  LIFETIME_END({t.eval_relu, 602112});

  AT("conv2 conv2d", "lenet.dnn:8");
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack2, 1500, 10, t.eval_maxpool2d_pack_2, t.eval_maxpool2d + i * 1176, 6, 5, 5, 10, 10, 14, 14);
    // conv2.conv2d[n, co, p, q] = sum(ci, r, s) (maxpool2d.pack[n, ci, r, s, p, q] * conv2.w[co, ci, r, s])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 100, 16, 150, &one,
        t.eval_maxpool2d_pack_2, 100, t.conv2_w, 150, &zero, t.eval_conv2_conv2d + i * 1600, 100));
  }
  LIFETIME_END({t.eval_maxpool2d, 150528}, {t.eval_maxpool2d_pack_2, 60000});
  AT("conv2 channel_bias", "lenet.dnn:8");
  LAUNCH_MAP(k_channel_bias_relu, 16 * batch.len, 100, t.eval_relu_2, t.conv2_b, batch.len, 16, 100);

  AT("maxpool2d", "lenet.dnn:8");
  LAUNCH_LANES(k_maxpool2d, 400 * batch.len, t.eval_maxpool2d_2, t.eval_relu_2, 16 * batch.len, 5, 5, 10, 10);
  LIFETIME_END({t.eval_relu_2, 204800});

  AT("dense1 dense", "lenet.dnn:10");
  // dense1.y[n, co] = sum(ci) (view[n, ci] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 120, batch.len, 400, &one,
      t.dense1_w, 400, t.eval_view, 400, &zero, t.eval_dense1_y, 120));
  LIFETIME_END({t.eval_view, 51200});
  LAUNCH_MAP(k_dense_relu, batch.len, 120, t.eval_relu_3, t.eval_dense1_y, t.dense1_b, batch.len, 120);
  LIFETIME_END({t.eval_dense1_y, 15360});

  AT("dense2 dense", "lenet.dnn:11");
  // dense2.y[n, co] = sum(ci) (relu.3[n, ci] * dense2.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 84, batch.len, 120, &one,
      t.dense2_w, 120, t.eval_relu_3, 120, &zero, t.eval_dense2_y, 84));
  LIFETIME_END({t.eval_relu_3, 15360});
  LAUNCH_MAP(k_dense_relu, batch.len, 84, t.eval_relu_4, t.eval_dense2_y, t.dense2_b, batch.len, 84);
  LIFETIME_END({t.eval_dense2_y, 10752});

  AT("dense3 dense", "lenet.dnn:12");
  // dense3.y[n, co] = sum(ci) (relu.4[n, ci] * dense3.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 10, batch.len, 84, &one,
      t.dense3_w, 84, t.eval_relu_4, 84, &zero, t.eval_dense3_y, 10));
  LIFETIME_END({t.eval_relu_4, 10752});
  LAUNCH_LANES(k_dense_cross_entropy2, batch.len, t.eval_dense3_y_2, t.eval_cross_entropy_each, t.eval_dense3_y, t.dense3_b, t.eval_label, batch.len);
  LIFETIME_END({t.eval_dense3_y, 1280});

  AT("cross_entropy", "lenet.dnn:14");
  LAUNCH_ROWS(k_cross_entropy, 1, t.eval_cross_entropy_sum, t.eval_cross_entropy_each, batch.len);
  LIFETIME_END({t.eval_cross_entropy_each, 128});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.eval_cross_entropy_sum_2, t.eval_label, batch.len);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "lenet.dnn:14");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2
  CHECK_NCCL(ncclAllReduce(t.eval_cross_entropy_sum, t.eval_cross_entropy_sum, 2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "lenet.dnn:14");
  LAUNCH_FLAT(k_cross_entropy3, 1, t.eval_cross_entropy, t.eval_cross_entropy_sum_whole, t.eval_cross_entropy_sum_2_whole);
  AT("accuracy", "lenet.dnn:15");
  LAUNCH_LANES(k_accuracy, batch.len, t.eval_accuracy_best, t.eval_dense3_y_2, batch.len);
  LIFETIME_END({t.eval_dense3_y_2, 1280});
  LAUNCH_ROWS(k_accuracy2, 1, t.eval_accuracy_sum, t.eval_label, t.eval_accuracy_best, batch.len);
  LIFETIME_END({t.eval_label, 128}, {t.eval_accuracy_best, 128});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "lenet.dnn:15");
  // all_reduce accuracy.sum: [], a sum over data -> []
  CHECK_NCCL(ncclAllReduce(t.eval_accuracy_sum, t.eval_accuracy_sum, 1, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("accuracy", "lenet.dnn:15");
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
    .name = "lenet",
    .source = "lenet.dnn",
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
  char *const arena = parcc_arena(2164736);
  static const long place[] = {0, 192, 256, 2688, 2752, 50752, 50880, 60992, 61120, 62016, 62080, 62272, 62336, 64768, 64832, 112832, 112960, 123072, 123200, 124096, 500544,
      540992, 124160, 124160, 387648, 336448, 336448, 425280, 425280, 274688, 438080, 274688, 441920, 274688, 540672, 275008, 275328, 275392, 541056, 541057, 541120, 124160,
      124224, 124288, 336244, 336238, 332768, 335168, 274688, 336024, 322688, 336144, 335184, 336228, 124352, 124416, 124480, 124544, 124608, 124672, 124160, 124224, 124736,
      124800, 62080, 0, 62272, 192, 62336, 256, 64768, 2688, 64832, 2752, 112832, 50752, 112960, 50880, 123072, 60992, 123200, 61120, 124096, 62016, 274752, 274688, 444928,
      444608, 447296, 444608, 447296, 441920, 450880, 438080, 438080, 525632, 336448, 425280, 462912, 124160, 124160, 124160, 541056, 541057, 336228, 335184, 336144, 322688,
      336024, 274688, 335168, 332768, 336238, 336244, 124224, 274688, 274688, 525632, 525632, 336448, 274688, 319424, 124160, 124160, 274688, 124160, 124160, 175360, 175360,
      124160, 128000, 124160, 126848, 124160, 124480, 124800, 124224, 124225, 124288, 124160, 124352, 124160, 124224, 124225, 124352, 299776, 175360};
  parcc_place_record(arena, 4, place, 147, &t); // in units of so many bytes
}

// What --save writes and --load reads.
static void list_stored(void) {
  STORE("conv1.w", PARCC_PARAM, PARCC_FLOAT, t.conv1_w, WHOLE(6), WHOLE(1), WHOLE(5), WHOLE(5));
  STORE("conv1.b", PARCC_PARAM, PARCC_FLOAT, t.conv1_b, WHOLE(6));
  STORE("conv2.w", PARCC_PARAM, PARCC_FLOAT, t.conv2_w, WHOLE(16), WHOLE(6), WHOLE(5), WHOLE(5));
  STORE("conv2.b", PARCC_PARAM, PARCC_FLOAT, t.conv2_b, WHOLE(16));
  STORE("dense1.w", PARCC_PARAM, PARCC_FLOAT, t.dense1_w, WHOLE(120), WHOLE(400));
  STORE("dense1.b", PARCC_PARAM, PARCC_FLOAT, t.dense1_b, WHOLE(120));
  STORE("dense2.w", PARCC_PARAM, PARCC_FLOAT, t.dense2_w, WHOLE(84), WHOLE(120));
  STORE("dense2.b", PARCC_PARAM, PARCC_FLOAT, t.dense2_b, WHOLE(84));
  STORE("dense3.w", PARCC_PARAM, PARCC_FLOAT, t.dense3_w, WHOLE(10), WHOLE(84));
  STORE("dense3.b", PARCC_PARAM, PARCC_FLOAT, t.dense3_b, WHOLE(10));
  STORE("conv1.w.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.conv1_w_velocity, WHOLE(6), WHOLE(1), WHOLE(5), WHOLE(5));
  STORE("conv1.b.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.conv1_b_velocity, WHOLE(6));
  STORE("conv2.w.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.conv2_w_velocity, WHOLE(16), WHOLE(6), WHOLE(5), WHOLE(5));
  STORE("conv2.b.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.conv2_b_velocity, WHOLE(16));
  STORE("dense1.w.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense1_w_velocity, WHOLE(120), WHOLE(400));
  STORE("dense1.b.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense1_b_velocity, WHOLE(120));
  STORE("dense2.w.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense2_w_velocity, WHOLE(84), WHOLE(120));
  STORE("dense2.b.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense2_b_velocity, WHOLE(84));
  STORE("dense3.w.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense3_w_velocity, WHOLE(10), WHOLE(84));
  STORE("dense3.b.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense3_b_velocity, WHOLE(10));
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &model);
  over_data = parcc_axis(1, DATA);
  parcc_events(event, 3);
  place_tensors();
  batch = parcc_block(64, 2, parcc.rank / 1 % DATA);
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
    batch = parcc_block(count, 2, parcc.rank / 1 % DATA);
    LOAD_BATCH(0, t.eval_image, batch, {0, 1}, {0, 28}, {0, 28});
    LOAD_BATCH(1, t.eval_label, batch);
    evaluate();
    END_EVAL(count, t.eval_cross_entropy, t.eval_accuracy);
  }
  return parcc_finish();
}
