// blocks on 2 ranks. Written by parcc from blocks.dnn; edit freely, or run parcc again.
//
//   mesh        data=2
//   plan        data parallel: the batch of 4 is divided over the ranks, parameters are on every rank
//   parameters  4377
//   memory      133120 bytes on each device, in one arena (largest sum of live tensors: 133120)
//   moved by the busiest rank in a step: forward 27 collectives, 616 bytes; backward 27 collectives, 17812 bytes
//
//   parcc-cc THIS.cu -o PROG && mpiexec -n 2 PROG --data DIR

#include "parcc.h"

enum { RANKS = 2, DATA = 2 };
static const float one = 1, zero = 0;

static Interval batch; // this rank's part of 4, over data
static ncclComm_t over_data;
static cudaEvent_t event[2];

// Tensors of this rank: places in one arena, shared by those whose lifetimes do not overlap.
// LIFETIME_END tells the checking mode which bytes are free for others.
static struct {
  float *block4_conv1_w; // block4.conv1.w [8, 4, 1, 1]
  float *block4_conv1_b; // block4.conv1.b [8]
  float *dense1_w; // dense1.w [5, 8]
  float *dense1_b; // dense1.b [5]
  float *block4_conv1_w_velocity; // block4.conv1.w.velocity [8, 4, 1, 1]
  float *block4_conv1_b_velocity; // block4.conv1.b.velocity [8]
  float *dense1_w_velocity; // dense1.w.velocity [5, 8]
  float *dense1_b_velocity; // dense1.b.velocity [5]
  float *image; // image [batch.len, 3, 8, 8]
  int *label; // label [batch.len]
  float *relu; // relu [batch.len, 4, 8, 8]
  float *block4_unit1_conv1_conv2d; // block4.unit1.conv1.conv2d [batch.len, 8, 4, 4]
  float *block4_unit1_batchnorm1_mean_sum; // block4.unit1.batchnorm1.mean.sum [8]
  float *block4_unit1_batchnorm1_mean; // block4.unit1.batchnorm1.mean [8]
  float *block4_unit1_batchnorm1_square; // block4.unit1.batchnorm1.square [8]
  float *block4_unit1_batchnorm1_var; // block4.unit1.batchnorm1.var [8]
  float *block4_unit1_batchnorm1_scale; // block4.unit1.batchnorm1.scale [8]
  float *block4_relu; // block4.relu [batch.len, 8, 4, 4]
  float *block4_conv1_conv2d; // block4.conv1.conv2d [batch.len, 8, 4, 4]
  float *block4_conv1_channel_bias; // block4.conv1.channel_bias [batch.len, 8, 4, 4]
  float *block4_relu_2; // block4.relu.2 [batch.len, 8, 4, 4]
  float *block6_relu; // block6.relu [batch.len, 8, 4, 4]
  float *block6_relu_2; // block6.relu.2 [batch.len, 8, 4, 4]
  float *global_avgpool; // global_avgpool [batch.len, 8]
  float *dense1_y_2; // dense1.y.2 [batch.len, 5]
  float *cross_entropy_z; // cross_entropy.z [batch.len, 5]
  float *cross_entropy_total; // cross_entropy.total [batch.len]
  float *cross_entropy_each; // cross_entropy.each [batch.len]
  float *cross_entropy_sum; // cross_entropy.sum []
  float *cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *cross_entropy; // cross_entropy []
  float *block4_conv1_w_grad; // block4.conv1.w.grad [8, 4, 1, 1]
  float *block4_conv1_b_grad; // block4.conv1.b.grad [8]
  float *dense1_w_grad; // dense1.w.grad [5, 8]
  float *dense1_b_grad; // dense1.b.grad [5]
  float *unit1_batchnorm1_gamma_grad_square; // unit1.batchnorm1.gamma.grad.square []
  float *unit1_batchnorm1_beta_grad_square; // unit1.batchnorm1.beta.grad.square []
  float *block4_conv1_w_grad_square; // block4.conv1.w.grad.square []
  float *block4_conv1_b_grad_square; // block4.conv1.b.grad.square []
  float *dense1_b_grad_square; // dense1.b.grad.square []
  float *unit1_grad_square; // unit1.grad.square []
  float *block4_grad_square; // block4.grad.square []
  float *gradient_norm; // gradient_norm []
  float *block4_conv1_w_v; // block4.conv1.w.v [8, 4, 1, 1]
  float *block4_conv1_w_u; // block4.conv1.w.u [8, 4, 1, 1]
  float *block4_conv1_b_v; // block4.conv1.b.v [8]
  float *block4_conv1_b_u; // block4.conv1.b.u [8]
  float *dense1_w_v; // dense1.w.v [5, 8]
  float *dense1_w_u; // dense1.w.u [5, 8]
  float *dense1_b_v; // dense1.b.v [5]
  float *dense1_b_u; // dense1.b.u [5]
  float *cross_entropy_sum_grad; // cross_entropy.sum.grad []
  float *cross_entropy_total_grad; // cross_entropy.total.grad [batch.len]
  float *cross_entropy_picked_grad; // cross_entropy.picked.grad [batch.len]
  float *cross_entropy_z_grad_2; // cross_entropy.z.grad.2 [batch.len, 5]
  float *cross_entropy_z_grad_3; // cross_entropy.z.grad.3 [batch.len, 5]
  float *block6_add_grad; // block6.add.grad [batch.len, 8, 4, 4]
  float *block6_unit2_conv1_conv2d_grad; // block6.unit2.conv1.conv2d.grad [batch.len, 8, 4, 4]
  float *block6_unit2_batchnorm1_mean_grad; // block6.unit2.batchnorm1.mean.grad [8]
  float *block6_unit2_batchnorm1_scale_grad; // block6.unit2.batchnorm1.scale.grad [8]
  float *block6_unit2_batchnorm1_square_grad; // block6.unit2.batchnorm1.square.grad [8]
  float *block6_unit2_conv1_conv2d_grad_2; // block6.unit2.conv1.conv2d.grad.2 [batch.len, 8, 4, 4]
  float *block6_unit2_batchnorm1_mean_grad_3; // block6.unit2.batchnorm1.mean.grad.3 [8]
  float *block6_unit2_batchnorm1_mean_sum_grad; // block6.unit2.batchnorm1.mean.sum.grad [8]
  float *block6_unit2_conv1_conv2d_grad_4; // block6.unit2.conv1.conv2d.grad.4 [batch.len, 8, 4, 4]
  float *block6_relu_grad; // block6.relu.grad [batch.len, 8, 4, 4]
  float *block4_relu_2_grad_2; // block4.relu.2.grad.2 [batch.len, 8, 4, 4]
  float *block4_add_grad; // block4.add.grad [batch.len, 8, 4, 4]
  float *block3_relu_2_grad_spread; // block3.relu.2.grad.spread [batch.len, 4, 1, 1, 4, 4]
  float *block4_relu_grad; // block4.relu.grad [batch.len, 8, 4, 4]
  float *block4_unit1_conv1_conv2d_grad; // block4.unit1.conv1.conv2d.grad [batch.len, 8, 4, 4]
  float *block4_unit1_batchnorm1_mean_grad; // block4.unit1.batchnorm1.mean.grad [8]
  float *block4_unit1_batchnorm1_scale_grad; // block4.unit1.batchnorm1.scale.grad [8]
  float *block4_unit1_batchnorm1_square_grad; // block4.unit1.batchnorm1.square.grad [8]
  float *block4_unit1_conv1_conv2d_grad_2; // block4.unit1.conv1.conv2d.grad.2 [batch.len, 8, 4, 4]
  float *block4_unit1_batchnorm1_mean_grad_3; // block4.unit1.batchnorm1.mean.grad.3 [8]
  float *block4_unit1_batchnorm1_mean_sum_grad; // block4.unit1.batchnorm1.mean.sum.grad [8]
  float *block4_unit1_conv1_conv2d_grad_4; // block4.unit1.conv1.conv2d.grad.4 [batch.len, 8, 4, 4]
  float *block3_relu_2_grad_2; // block3.relu.2.grad.2 [batch.len, 4, 8, 8]
  float *block3_add_grad; // block3.add.grad [batch.len, 4, 8, 8]
  float *block3_relu_grad; // block3.relu.grad [batch.len, 4, 8, 8]
  float *relu_grad_2; // relu.grad.2 [batch.len, 4, 8, 8]
  float *unit1_conv1_conv2d_grad; // unit1.conv1.conv2d.grad [batch.len, 4, 8, 8]
  float *unit1_batchnorm1_mean_grad; // unit1.batchnorm1.mean.grad [4]
  float *unit1_batchnorm1_scale_grad; // unit1.batchnorm1.scale.grad [4]
  float *unit1_batchnorm1_square_grad; // unit1.batchnorm1.square.grad [4]
  float *unit1_conv1_conv2d_grad_2; // unit1.conv1.conv2d.grad.2 [batch.len, 4, 8, 8]
  float *unit1_batchnorm1_mean_grad_3; // unit1.batchnorm1.mean.grad.3 [4]
  float *unit1_batchnorm1_mean_sum_grad; // unit1.batchnorm1.mean.sum.grad [4]
  float *unit1_conv1_conv2d_grad_4; // unit1.conv1.conv2d.grad.4 [batch.len, 4, 8, 8]
  float *block4_unit1_batchnorm1_mean_sum_whole; // block4.unit1.batchnorm1.mean.sum.whole [8]
  float *block4_unit1_batchnorm1_square_whole; // block4.unit1.batchnorm1.square.whole [8]
  float *cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
  float *dense1_b_grad_whole; // dense1.b.grad.whole [5]
  float *dense1_w_grad_whole; // dense1.w.grad.whole [5, 8]
  float *block6_unit2_batchnorm1_scale_grad_whole; // block6.unit2.batchnorm1.scale.grad.whole [8]
  float *block6_unit2_batchnorm1_mean_grad_3_whole; // block6.unit2.batchnorm1.mean.grad.3.whole [8]
  float *block4_conv1_b_grad_whole; // block4.conv1.b.grad.whole [8]
  float *block4_conv1_w_grad_whole; // block4.conv1.w.grad.whole [8, 4, 1, 1]
  float *block4_unit1_batchnorm1_scale_grad_whole; // block4.unit1.batchnorm1.scale.grad.whole [8]
  float *block4_unit1_batchnorm1_mean_grad_3_whole; // block4.unit1.batchnorm1.mean.grad.3.whole [8]
  float *unit1_batchnorm1_scale_grad_whole; // unit1.batchnorm1.scale.grad.whole [4]
  float *unit1_batchnorm1_mean_grad_3_whole; // unit1.batchnorm1.mean.grad.3.whole [4]
  float *block3_relu_2_pack_5; // block3.relu.2.pack [4, 3, 3, 4, 4]
  float *block3_relu_2_pack_2_2; // block3.relu.2.pack.2 [4, 4, 4]
  float *block6_relu_grad_spread_2; // block6.relu.grad.spread [8, 3, 3, 4, 4]
  float *block6_relu_pack_2_2; // block6.relu.pack.2 [8, 4, 4, 3, 3]
  float *block3_relu_2_pack_3_2; // block3.relu.2.pack.3 [4, 4, 4]
  float *block3_relu_2_grad_spread_2_2; // block3.relu.2.grad.spread.2 [4, 3, 3, 4, 4]
  float *block3_relu_2_pack_4_2; // block3.relu.2.pack.4 [4, 4, 4, 3, 3]
  float *image_pack_2_2; // image.pack.2 [3, 8, 8, 3, 3]
  float *eval_image; // image [batch.len, 3, 8, 8]
  int *eval_label; // label [batch.len]
  float *eval_relu; // relu [batch.len, 4, 8, 8]
  float *eval_block4_unit1_conv1_conv2d; // block4.unit1.conv1.conv2d [batch.len, 8, 4, 4]
  float *eval_block4_unit1_batchnorm1_scale; // block4.unit1.batchnorm1.scale [8]
  float *eval_block4_relu; // block4.relu [batch.len, 8, 4, 4]
  float *eval_block4_conv1_conv2d; // block4.conv1.conv2d [batch.len, 8, 4, 4]
  float *eval_block4_conv1_channel_bias; // block4.conv1.channel_bias [batch.len, 8, 4, 4]
  float *eval_block4_relu_2; // block4.relu.2 [batch.len, 8, 4, 4]
  float *eval_block6_relu; // block6.relu [batch.len, 8, 4, 4]
  float *eval_global_avgpool; // global_avgpool [batch.len, 8]
  float *eval_dense1_y_2; // dense1.y.2 [batch.len, 5]
  float *eval_cross_entropy_each; // cross_entropy.each [batch.len]
  float *eval_cross_entropy_sum; // cross_entropy.sum []
  float *eval_cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *eval_cross_entropy; // cross_entropy []
  float *eval_cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *eval_cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
  float *eval_block3_relu_2_pack_3; // block3.relu.2.pack [4, 3, 3, 4, 4]
  float *eval_block3_relu_2_pack_2_2; // block3.relu.2.pack.2 [4, 4, 4]
} t;

// Layers unit: what their code differs in.
typedef struct UnitSize {
  long elements, elements2, rows, cols, stride, ci, n, k, stride2, bytes, bytes2, bytes3, rows2, stride_b;
  float factor, factor2, factor2_2;
} UnitSize;
typedef struct Unit {
  const char *name;
  const UnitSize *sizes;
  long stream;
  float *conv1_w, *batchnorm1_gamma, *batchnorm1_beta, *batchnorm1_running_mean, *batchnorm1_running_var,
    *conv1_w_velocity, *batchnorm1_gamma_velocity, *batchnorm1_beta_velocity, *relu_pack, *relu, *conv1_conv2d,
    *batchnorm1_mean_sum, *batchnorm1_mean, *batchnorm1_square, *batchnorm1_var, *batchnorm1_scale,
    *batchnorm1_scale_grad, *batchnorm1_gamma_grad, *batchnorm1_square_grad, *conv1_conv2d_grad_2,
    *batchnorm1_mean_grad_3, *batchnorm1_mean_grad, *batchnorm1_mean_sum_grad, *conv1_conv2d_grad_4,
    *conv1_conv2d_grad, *relu_grad_spread, *relu_grad, *conv1_w_grad, *relu_pack2, *batchnorm1_beta_grad,
    *batchnorm1_gamma_grad_square, *batchnorm1_beta_grad_square, *conv1_w_grad_square, *relu_pack3, *relu2,
    *conv1_conv2d2, *batchnorm1_scale2;
} Unit;
static Unit unit[13];

// Layers block: what their code differs in.
typedef struct BlockSize {
  long rows, cols, bytes, len_cocrs, bytes2;
} BlockSize;
typedef struct Block {
  const char *name;
  const BlockSize *sizes;
  const struct Unit *unit1;
  const struct Unit *unit2;
  float *relu, *relu_2, *relu2, *add_grad, *add_grad2, *relu_2_grad_2, *relu_grad, *grad_square, *grad_square2,
    *relu3, *relu_2_2, *relu4;
} Block;
static Block block[5];

// ---- kernels ---------------------------------------------------------------------------------------------------------

// unit1.conv1: init (blocks.dnn:3)
__global__ void k_init(float *__restrict__ w, long count, float factor, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) w[i] = factor * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i))) - 1.0f);
}

// unit1.batchnorm1: init (blocks.dnn:3)
__global__ void k_init2(float *__restrict__ gamma_, long count) {
  FLAT(i, count) gamma_[i] = 1.0f;
}

// unit1.batchnorm1: init (blocks.dnn:3)
__global__ void k_init3(float *__restrict__ beta, long count) {
  FLAT(i, count) beta[i] = 0.0f;
}

// block4.conv1: init (blocks.dnn:8)
__global__ void k_init4(float *__restrict__ w, long count, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) w[i] = 0.5f * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i))) - 1.0f);
}

// unit1.conv1: pack (blocks.dnn:3)
__global__ void k_pack(float *__restrict__ pack, const float *__restrict__ image, long CI, long R, long S, long P, long Q, long D2, long D3) {
  GRID4(ci, CI, r, R, s, S, p, P) BLOCK(q, Q) {
    const long d2 = r + p - 1;
    const long d3 = s + q - 1;
    pack[(((ci * R + r) * S + s) * P + p) * Q + q] = d2 >= 0 && d2 < D2 && d3 >= 0 && d3 < D3 ? image[(ci * D2 + d2) * D3 + d3] : 0.0f;
  }
}

// unit1.batchnorm1: batchnorm (blocks.dnn:3)
__global__ void k_batchnorm(float *__restrict__ sum, const float *__restrict__ conv2d, long C, long N, long PQ) {
  GRID(c, C) {
    float sum_ = 0.0f;
    BLOCK2(n, N, pq, PQ) sum_ += conv2d[(n * C + c) * PQ + pq];
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[c] = sum_;
  }
}

// unit1.batchnorm1: batchnorm (blocks.dnn:3)
__global__ void k_batchnorm2(float *__restrict__ mean, float *__restrict__ next, float *__restrict__ square, const float *__restrict__ whole, const float *__restrict__ conv2d, long C, long N, long PQ, float factor) {
  GRID(c, C) {
    const float mean_ = whole[c] / factor;
    const float next_ = (0.9f * next[c]) + (0.1f * mean_);
    ONCE mean[c] = mean_;
    ONCE next[c] = next_;
    float square_ = 0.0f;
    BLOCK2(n, N, pq, PQ) square_ += (conv2d[(n * C + c) * PQ + pq] - mean_) * (conv2d[(n * C + c) * PQ + pq] - mean_);
    square_ = BLOCK_SUM(square_);
    ONCE square[c] = square_;
  }
}

// unit1.batchnorm1: batchnorm (blocks.dnn:3)
__global__ void k_batchnorm3(float *__restrict__ var, float *__restrict__ next, float *__restrict__ scale, const float *__restrict__ whole, const float *__restrict__ gamma_, long count, float factor, float factor2) {
  FLAT(i, count) {
    const float var_ = whole[i] / factor;
    const float next_ = (0.9f * next[i]) + (0.1f * (whole[i] / factor2));
    const float scale_ = gamma_[i] / sqrtf((var_ + 1e-05f));
    var[i] = var_;
    next[i] = next_;
    scale[i] = scale_;
  }
}

// unit1.batchnorm1: batchnorm_relu (blocks.dnn:3)
__global__ void k_batchnorm_relu(float *__restrict__ relu, const float *__restrict__ conv2d, const float *__restrict__ mean, const float *__restrict__ scale, const float *__restrict__ beta, long N, long C, long PQ) {
  GRID2(n, N, c, C) BLOCK(pq, PQ) {
    const float y_ = ((conv2d[(n * C + c) * PQ + pq] - mean[c]) * scale[c]) + beta[c];
    relu[(n * C + c) * PQ + pq] = parcc_maxf(y_, 0.0f);
  }
}

// block1.unit2.batchnorm1: batchnorm_add_relu (blocks.dnn:3)
__global__ void k_batchnorm_add_relu(float *__restrict__ relu2, const float *__restrict__ conv2d, const float *__restrict__ mean, const float *__restrict__ scale, const float *__restrict__ beta, const float *__restrict__ relu, long N, long C, long PQ) {
  GRID2(n, N, c, C) BLOCK(pq, PQ) {
    const float y_ = ((conv2d[(n * C + c) * PQ + pq] - mean[c]) * scale[c]) + beta[c];
    const float add_ = y_ + relu[(n * C + c) * PQ + pq];
    relu2[(n * C + c) * PQ + pq] = parcc_maxf(add_, 0.0f);
  }
}

// block4.unit1.conv1: pack (blocks.dnn:3)
__global__ void k_pack2(float *__restrict__ pack, const float *__restrict__ relu, long CI, long R, long S, long P, long Q, long P2, long Q2) {
  GRID4(ci, CI, r, R, s, S, p, P) BLOCK(q, Q) {
    const long p2 = r + 2 * p - 1;
    const long q2 = s + 2 * q - 1;
    pack[(((ci * R + r) * S + s) * P + p) * Q + q] = p2 >= 0 && q2 >= 0 ? relu[(ci * P2 + p2) * Q2 + q2] : 0.0f;
  }
}

// block4.conv1: pack (blocks.dnn:8)
__global__ void k_pack3(float *__restrict__ pack, const float *__restrict__ relu, long CI, long P, long Q, long P2, long Q2) {
  GRID2(ci, CI, p, P) BLOCK(q, Q) pack[(ci * P + p) * Q + q] = relu[(ci * P2 + (2 * p)) * Q2 + (2 * q)];
}

// block4.conv1: channel_bias (blocks.dnn:8)
__global__ void k_channel_bias(float *__restrict__ channel_bias, const float *__restrict__ conv2d, const float *__restrict__ b, long N, long C, long PQ) {
  GRID2(n, N, c, C) BLOCK(pq, PQ) channel_bias[(n * C + c) * PQ + pq] = conv2d[(n * C + c) * PQ + pq] + b[c];
}

// block6.unit2.batchnorm1: batchnorm_add_relu (blocks.dnn:3)
__global__ void k_batchnorm_add_relu2(float *__restrict__ relu2, float *__restrict__ global_avgpool, const float *__restrict__ conv2d, const float *__restrict__ mean, const float *__restrict__ scale, const float *__restrict__ beta, const float *__restrict__ relu, long N, long C, float factor) {
  GRID2_LANES(n, N, c0, lanes, C) {
    float sum_[LANES];
    LANE(l, lanes) sum_[l] = 0.0f;
    for (long pq = 0; pq < 16; pq++)
      LANE(l, lanes) {
        const long c = c0 + l;
        const float y_ = ((conv2d[(n * C + c) * 16 + pq] - mean[c]) * scale[c]) + beta[c];
        const float add_ = y_ + relu[(n * C + c) * 16 + pq];
        const float relu_ = parcc_maxf(add_, 0.0f);
        sum_[l] += relu_;
        relu2[(n * C + c) * 16 + pq] = relu_;
      }
    float global_avgpool_[LANES];
    LANE(l, lanes) {
      const long c = c0 + l;
      global_avgpool_[l] = sum_[l] / factor;
      global_avgpool[n * C + c] = global_avgpool_[l];
    }
  }
}

// dense1: dense (blocks.dnn:19)
__global__ void k_dense(float *__restrict__ y2, const float *__restrict__ global_avgpool, const float *__restrict__ w, const float *__restrict__ b, long N, long CO) {
  GRID2_LANES(n, N, co0, lanes, CO) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = 0.0f;
    for (long ci = 0; ci < 8; ci++)
      LANE(l, lanes) {
        const long co = co0 + l;
        y_[l] += global_avgpool[n * 8 + ci] * w[co * 8 + ci];
      }
    float y_2[LANES];
    LANE(l, lanes) {
      const long co = co0 + l;
      y_2[l] = y_[l] + b[co];
      y2[n * CO + co] = y_2[l];
    }
  }
}

// cross_entropy (blocks.dnn:20)
__global__ void k_cross_entropy(float *__restrict__ z, float *__restrict__ total, float *__restrict__ each, const float *__restrict__ y, const int *__restrict__ label, long N) {
  GRID_LANES(n0, lanes, N) {
    float top_[LANES];
    LANE(l, lanes) top_[l] = -INFINITY;
    for (long c = 0; c < 5; c++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const float v = y[n * 5 + c];
        top_[l] = v > top_[l] ? v : top_[l];
      }
    float total_[LANES];
    LANE(l, lanes) total_[l] = 0.0f;
    float picked_[LANES];
    LANE(l, lanes) picked_[l] = 0.0f;
    for (long c = 0; c < 5; c++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const float z_ = y[n * 5 + c] - top_[l];
        total_[l] += expf(z_);
        picked_[l] += (float)((label[n] == c)) * z_;
        z[n * 5 + c] = z_;
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

// cross_entropy (blocks.dnn:20)
__global__ void k_cross_entropy2(float *__restrict__ sum, const float *__restrict__ each, long N) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(n, N) sum_ += each[n];
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (blocks.dnn:20)
__global__ void k_cross_entropy3(float *__restrict__ sum, const int *__restrict__ label, long N) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(n, N) sum_ += (label[n] != -1) ? 1.0f : 0.0f;
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (blocks.dnn:20)
__global__ void k_cross_entropy4(float *__restrict__ cross_entropy, const float *__restrict__ whole, const float *__restrict__ whole2) {
  FLAT(i, 1) cross_entropy[0] = whole[0] / parcc_maxf(whole2[0], 1.0f);
}

// cross_entropy_grad (blocks.dnn:20)
__global__ void k_cross_entropy_grad(float *__restrict__ grad, const float *__restrict__ whole) {
  FLAT(i, 1) grad[0] = 1.0f / parcc_maxf(whole[0], 1.0f);
}

// cross_entropy_grad (blocks.dnn:20)
__global__ void k_cross_entropy_grad2(float *__restrict__ grad, float *__restrict__ grad3, const int *__restrict__ label, const float *__restrict__ grad2, const float *__restrict__ total, long count) {
  FLAT(i, count) {
    const float grad_ = ((label[i] == -1) ? 0.0f : grad2[0]) / total[i];
    const float grad_2 = -((label[i] == -1) ? 0.0f : grad2[0]);
    grad[i] = grad_;
    grad3[i] = grad_2;
  }
}

// cross_entropy_grad (blocks.dnn:20)
__global__ void k_cross_entropy_grad3(float *__restrict__ grad, const float *__restrict__ grad2, const float *__restrict__ z, long N, long C) {
  GRID(n, N) BLOCK(c, C) grad[n * C + c] = grad2[n] * expf(z[n * C + c]);
}

// cross_entropy_dense_grad (blocks.dnn:20)
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

// dense1: dense_global_avgpool_relu_grad (blocks.dnn:19)
__global__ void k_dense_global_avgpool_relu_grad(float *__restrict__ grad4, float *__restrict__ grad5, const float *__restrict__ grad2, const float *__restrict__ w, const float *__restrict__ relu, const float *__restrict__ scale, long N, long C, float factor) {
  GRID2_LANES(n, N, c0, lanes, C) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long co = 0; co < 5; co++)
      LANE(l, lanes) {
        const long c = c0 + l;
        grad_[l] += grad2[n * 5 + co] * w[co * C + c];
      }
    float grad_2[LANES];
    LANE(l, lanes) {
      grad_2[l] = grad_[l] / factor;
    }
    for (long pq = 0; pq < 16; pq++)
      LANE(l, lanes) {
        const long c = c0 + l;
        const float grad_3 = (relu[(n * C + c) * 16 + pq] > 0.0f) ? grad_2[l] : 0.0f;
        const float grad_4 = grad_3 * scale[c];
        grad4[(n * C + c) * 16 + pq] = grad_3;
        grad5[(n * C + c) * 16 + pq] = grad_4;
      }
  }
}

// dense1: dense_grad (blocks.dnn:19)
__global__ void k_dense_grad(float *__restrict__ grad, const float *__restrict__ grad2, const float *__restrict__ global_avgpool, long CO, long CI, long N) {
  GRID2_LANES(co, CO, ci0, lanes, CI) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long n = 0; n < N; n++)
      LANE(l, lanes) {
        const long ci = ci0 + l;
        grad_[l] += grad2[n * CO + co] * global_avgpool[n * CI + ci];
      }
    LANE(l, lanes) {
      const long ci = ci0 + l;
      grad[co * CI + ci] = grad_[l];
    }
  }
}

// block6.unit2.batchnorm1: batchnorm_grad (blocks.dnn:3)
__global__ void k_batchnorm_grad(float *__restrict__ grad, float *__restrict__ grad3, float *__restrict__ grad4, const float *__restrict__ grad2, const float *__restrict__ scale, const float *__restrict__ conv2d, const float *__restrict__ mean, long C, long N, long PQ) {
  GRID(c, C) {
    float grad_ = 0.0f;
    float grad_2 = 0.0f;
    float grad_3 = 0.0f;
    BLOCK2(n, N, pq, PQ) {
      grad_ += -(grad2[(n * C + c) * PQ + pq] * scale[c]);
      grad_2 += grad2[(n * C + c) * PQ + pq] * (conv2d[(n * C + c) * PQ + pq] - mean[c]);
      grad_3 += grad2[(n * C + c) * PQ + pq];
    }
    grad_ = BLOCK_SUM(grad_);
    ONCE grad[c] = grad_;
    grad_2 = BLOCK_SUM(grad_2);
    ONCE grad3[c] = grad_2;
    grad_3 = BLOCK_SUM(grad_3);
    ONCE grad4[c] = grad_3;
  }
}

// block6.unit2.batchnorm1: batchnorm_grad (blocks.dnn:3)
__global__ void k_batchnorm_grad2(float *__restrict__ grad, float *__restrict__ grad3, const float *__restrict__ whole, const float *__restrict__ var, const float *__restrict__ scale, long count, float factor) {
  FLAT(i, count) {
    const float grad_ = whole[i] / sqrtf((var[i] + 1e-05f));
    const float grad_2 = (0.5f * (-((whole[i] * scale[i]) / sqrtf((var[i] + 1e-05f))))) / sqrtf((var[i] + 1e-05f));
    const float grad_3 = grad_2 / factor;
    grad[i] = grad_;
    grad3[i] = grad_3;
  }
}

// block6.unit2.batchnorm1: batchnorm_grad (blocks.dnn:3)
__global__ void k_batchnorm_grad3(float *__restrict__ grad, float *__restrict__ grad4, const float *__restrict__ grad2, const float *__restrict__ conv2d, const float *__restrict__ mean, const float *__restrict__ grad5, long C, long N, long PQ) {
  GRID(c, C) {
    float grad_ = 0.0f;
    BLOCK2(n, N, pq, PQ) {
      const float grad_2 = (grad2[c] * (conv2d[(n * C + c) * PQ + pq] - mean[c])) + (grad2[c] * (conv2d[(n * C + c) * PQ + pq] - mean[c]));
      grad_ += (-(grad2[c] * (conv2d[(n * C + c) * PQ + pq] - mean[c]))) - (grad2[c] * (conv2d[(n * C + c) * PQ + pq] - mean[c]));
      grad[(n * C + c) * PQ + pq] = grad_2;
    }
    grad_ = BLOCK_SUM(grad_);
    const float grad_3 = grad5[c] + grad_;
    ONCE grad4[c] = grad_3;
  }
}

// block6.unit2.batchnorm1: batchnorm_grad (blocks.dnn:3)
__global__ void k_batchnorm_grad4(float *__restrict__ grad, const float *__restrict__ whole, long count, float factor) {
  FLAT(i, count) grad[i] = whole[i] / factor;
}

// block6.unit2.conv1: conv2d_grad (blocks.dnn:3)
__global__ void k_conv2d_grad(float *__restrict__ grad, const float *__restrict__ grad2, const float *__restrict__ grad3, const float *__restrict__ grad4, long N, long CO, long PQ) {
  GRID2(n, N, co, CO) BLOCK(pq, PQ)
    grad[(n * CO + co) * PQ + pq] = (grad2[(n * CO + co) * PQ + pq] + grad3[(n * CO + co) * PQ + pq]) + grad4[co];
}

// block6.unit2.conv1: fold (blocks.dnn:3)
__global__ void k_fold(float *__restrict__ grad, const float *__restrict__ spread, long CI, long P, long Q, long P2, long Q2) {
  GRID3_LANES(ci, CI, p, P, q0, lanes, Q) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long r = 0; r < 3; r++)
      for (long s = 0; s < 3; s++)
        LANE(l, lanes) {
          const long q = q0 + l;
          const long p2 = p - r + 1;
          const long q2 = q - s + 1;
          grad_[l] += p2 >= 0 && p2 < P2 && q2 >= 0 && q2 < Q2 ? spread[(((ci * 3 + r) * 3 + s) * P2 + p2) * Q2 + q2] : 0.0f;
        }
    LANE(l, lanes) {
      const long q = q0 + l;
      grad[(ci * P + p) * Q + q] = grad_[l];
    }
  }
}

// block6: relu_batchnorm_grad (blocks.dnn:7)
__global__ void k_relu_batchnorm_grad(float *__restrict__ grad3, float *__restrict__ grad4, float *__restrict__ grad5, float *__restrict__ grad6, const float *__restrict__ relu, const float *__restrict__ grad2, const float *__restrict__ scale, const float *__restrict__ conv2d, const float *__restrict__ mean, long C, long N, long PQ) {
  GRID(c, C) {
    float grad_ = 0.0f;
    float grad_2 = 0.0f;
    float grad_3 = 0.0f;
    BLOCK2(n, N, pq, PQ) {
      const float grad_4 = (relu[(n * C + c) * PQ + pq] > 0.0f) ? grad2[(n * C + c) * PQ + pq] : 0.0f;
      const float grad_5 = grad_4 * scale[c];
      grad_ += -(grad_4 * scale[c]);
      grad_2 += grad_4 * (conv2d[(n * C + c) * PQ + pq] - mean[c]);
      grad_3 += grad_4;
      grad3[(n * C + c) * PQ + pq] = grad_5;
    }
    grad_ = BLOCK_SUM(grad_);
    ONCE grad4[c] = grad_;
    grad_2 = BLOCK_SUM(grad_2);
    ONCE grad5[c] = grad_2;
    grad_3 = BLOCK_SUM(grad_3);
    ONCE grad6[c] = grad_3;
  }
}

// block5: relu_batchnorm_grad (blocks.dnn:9)
__global__ void k_relu_batchnorm_grad2(float *__restrict__ grad4, float *__restrict__ grad5, float *__restrict__ grad6, float *__restrict__ grad7, float *__restrict__ grad8, const float *__restrict__ grad2, const float *__restrict__ grad3, const float *__restrict__ relu, const float *__restrict__ scale, const float *__restrict__ conv2d, const float *__restrict__ mean, long C, long N, long PQ) {
  GRID(c, C) {
    float grad_ = 0.0f;
    float grad_2 = 0.0f;
    float grad_3 = 0.0f;
    BLOCK2(n, N, pq, PQ) {
      const float grad_4 = grad2[(n * C + c) * PQ + pq] + grad3[(n * C + c) * PQ + pq];
      const float grad_5 = (relu[(n * C + c) * PQ + pq] > 0.0f) ? grad_4 : 0.0f;
      const float grad_6 = grad_5 * scale[c];
      grad_ += -(grad_5 * scale[c]);
      grad_2 += grad_5 * (conv2d[(n * C + c) * PQ + pq] - mean[c]);
      grad_3 += grad_5;
      grad4[(n * C + c) * PQ + pq] = grad_5;
      grad5[(n * C + c) * PQ + pq] = grad_6;
    }
    grad_ = BLOCK_SUM(grad_);
    ONCE grad6[c] = grad_;
    grad_2 = BLOCK_SUM(grad_2);
    ONCE grad7[c] = grad_2;
    grad_3 = BLOCK_SUM(grad_3);
    ONCE grad8[c] = grad_3;
  }
}

// block4: relu_channel_bias_batchnorm_grad (blocks.dnn:9)
__global__ void k_relu_channel_bias_batchnorm_grad(float *__restrict__ grad4, float *__restrict__ grad5, float *__restrict__ grad6, float *__restrict__ grad7, float *__restrict__ grad8, float *__restrict__ grad9, const float *__restrict__ grad2, const float *__restrict__ grad3, const float *__restrict__ relu, const float *__restrict__ scale, const float *__restrict__ conv2d, const float *__restrict__ mean, long C, long N, long PQ) {
  GRID(c, C) {
    float grad_ = 0.0f;
    float grad_2 = 0.0f;
    float grad_3 = 0.0f;
    float grad_4 = 0.0f;
    BLOCK2(n, N, pq, PQ) {
      const float grad_5 = grad2[(n * C + c) * PQ + pq] + grad3[(n * C + c) * PQ + pq];
      const float grad_6 = (relu[(n * C + c) * PQ + pq] > 0.0f) ? grad_5 : 0.0f;
      grad_ += grad_6;
      const float grad_7 = grad_6 * scale[c];
      grad_2 += -(grad_6 * scale[c]);
      grad_3 += grad_6 * (conv2d[(n * C + c) * PQ + pq] - mean[c]);
      grad_4 += grad_6;
      grad4[(n * C + c) * PQ + pq] = grad_6;
      grad6[(n * C + c) * PQ + pq] = grad_7;
    }
    grad_ = BLOCK_SUM(grad_);
    ONCE grad5[c] = grad_;
    grad_2 = BLOCK_SUM(grad_2);
    ONCE grad7[c] = grad_2;
    grad_3 = BLOCK_SUM(grad_3);
    ONCE grad8[c] = grad_3;
    grad_4 = BLOCK_SUM(grad_4);
    ONCE grad9[c] = grad_4;
  }
}

// block4.unit1.conv1: fold (blocks.dnn:3)
__global__ void k_fold2(float *__restrict__ grad, const float *__restrict__ spread, long CI, long P, long Q, long P2, long Q2) {
  GRID3_LANES(ci, CI, p, P, q0, lanes, Q) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long r = 0; r < 3; r++)
      for (long s = 0; s < 3; s++)
        LANE(l, lanes) {
          const long q = q0 + l;
          const long p2 = p - r + 1;
          const long q2 = q - s + 1;
          grad_[l] += p2 >= 0 && p2 % 2 == 0 && p2 / 2 < P2 && q2 >= 0 && q2 % 2 == 0 && q2 / 2 < Q2 ? spread[(((ci * 3 + r) * 3 + s) * P2 + (p2 / 2)) * Q2 + (q2 / 2)] : 0.0f;
        }
    LANE(l, lanes) {
      const long q = q0 + l;
      grad[(ci * P + p) * Q + q] = grad_[l];
    }
  }
}

// block4.unit1.conv1: pack (blocks.dnn:3)
__global__ void k_pack4(float *__restrict__ pack, const float *__restrict__ relu, long CI, long P, long Q, long R, long S, long P2, long Q2) {
  GRID4(ci, CI, p, P, q, Q, r, R) BLOCK(s, S) {
    const long p2 = 2 * p + r - 1;
    const long q2 = 2 * q + s - 1;
    pack[(((ci * P + p) * Q + q) * R + r) * S + s] = p2 >= 0 && q2 >= 0 ? relu[(ci * P2 + p2) * Q2 + q2] : 0.0f;
  }
}

// block3: relu_batchnorm_grad (blocks.dnn:9)
__global__ void k_relu_batchnorm_grad3(float *__restrict__ grad3, float *__restrict__ grad4, float *__restrict__ grad5, float *__restrict__ grad6, float *__restrict__ grad7, const float *__restrict__ spread, const float *__restrict__ grad2, const float *__restrict__ relu, const float *__restrict__ scale, const float *__restrict__ conv2d, const float *__restrict__ mean, long C, long N, long P, long Q, long P2, long Q2) {
  GRID(c, C) {
    float grad_ = 0.0f;
    float grad_2 = 0.0f;
    float grad_3 = 0.0f;
    BLOCK3(n, N, p, P, q, Q) {
      const long p2 = p;
      const long q2 = q;
      const float grad_4 = (p2 % 2 == 0 && q2 % 2 == 0 ? spread[((n * C + c) * P2 + (p2 / 2)) * Q2 + (q2 / 2)] : 0.0f) + grad2[((n * C + c) * P + p) * Q + q];
      const float grad_5 = (relu[((n * C + c) * P + p) * Q + q] > 0.0f) ? grad_4 : 0.0f;
      const float grad_6 = grad_5 * scale[c];
      grad_ += -(grad_5 * scale[c]);
      grad_2 += grad_5 * (conv2d[((n * C + c) * P + p) * Q + q] - mean[c]);
      grad_3 += grad_5;
      grad3[((n * C + c) * P + p) * Q + q] = grad_5;
      grad4[((n * C + c) * P + p) * Q + q] = grad_6;
    }
    grad_ = BLOCK_SUM(grad_);
    ONCE grad5[c] = grad_;
    grad_2 = BLOCK_SUM(grad_2);
    ONCE grad6[c] = grad_2;
    grad_3 = BLOCK_SUM(grad_3);
    ONCE grad7[c] = grad_3;
  }
}

// relu_batchnorm_grad (blocks.dnn:15)
__global__ void k_relu_batchnorm_grad4(float *__restrict__ grad5, float *__restrict__ grad6, float *__restrict__ grad7, float *__restrict__ grad8, const float *__restrict__ grad2, const float *__restrict__ grad3, const float *__restrict__ relu, const float *__restrict__ scale, const float *__restrict__ conv2d, const float *__restrict__ mean, long C, long N, long PQ) {
  GRID(c, C) {
    float grad_ = 0.0f;
    float grad_2 = 0.0f;
    float grad_3 = 0.0f;
    BLOCK2(n, N, pq, PQ) {
      const float grad_4 = grad2[(n * C + c) * PQ + pq] + grad3[(n * C + c) * PQ + pq];
      const float grad_5 = (relu[(n * C + c) * PQ + pq] > 0.0f) ? grad_4 : 0.0f;
      const float grad_6 = grad_5 * scale[c];
      grad_ += -(grad_5 * scale[c]);
      grad_2 += grad_5 * (conv2d[(n * C + c) * PQ + pq] - mean[c]);
      grad_3 += grad_5;
      grad5[(n * C + c) * PQ + pq] = grad_6;
    }
    grad_ = BLOCK_SUM(grad_);
    ONCE grad6[c] = grad_;
    grad_2 = BLOCK_SUM(grad_2);
    ONCE grad7[c] = grad_2;
    grad_3 = BLOCK_SUM(grad_3);
    ONCE grad8[c] = grad_3;
  }
}

// unit1.batchnorm1: gradient_norm (blocks.dnn:23)
__global__ void k_gradient_norm(float *__restrict__ square, const float *__restrict__ grad, long C) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(c, C) square_ += grad[c] * grad[c];
    square_ = BLOCK_SUM(square_);
    ONCE square[0] = square_;
  }
}

// unit1.conv1: gradient_norm (blocks.dnn:23)
__global__ void k_gradient_norm2(float *__restrict__ square2, const float *__restrict__ whole, const float *__restrict__ square3, const float *__restrict__ square4, long len_cocrs) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(cocrs, len_cocrs) square_ += whole[cocrs] * whole[cocrs];
    square_ = BLOCK_SUM(square_);
    const float square_2 = (square_ + square3[0]) + square4[0];
    ONCE square2[0] = square_2;
  }
}

// block1.unit1.conv1: gradient_norm (blocks.dnn:23)
__global__ void k_gradient_norm3(float *__restrict__ square2, const float *__restrict__ whole, const float *__restrict__ square3, const float *__restrict__ square4, const float *__restrict__ square5, const float *__restrict__ square6, const float *__restrict__ square7, const float *__restrict__ square8, long len_cocrs) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(cocrs, len_cocrs) square_ += whole[cocrs] * whole[cocrs];
    square_ = BLOCK_SUM(square_);
    const float square_2 = (((((square3[0] + square_) + square4[0]) + square5[0]) + square6[0]) + square7[0]) + square8[0];
    ONCE square2[0] = square_2;
  }
}

// block4.unit1.conv1: gradient_norm (blocks.dnn:23)
__global__ void k_gradient_norm4(float *__restrict__ square2, const float *__restrict__ whole, const float *__restrict__ square3, const float *__restrict__ square4, const float *__restrict__ square5, const float *__restrict__ square6, const float *__restrict__ square7, const float *__restrict__ square8, const float *__restrict__ square9, const float *__restrict__ square10, long len_cocrs) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(cocrs, len_cocrs) square_ += whole[cocrs] * whole[cocrs];
    square_ = BLOCK_SUM(square_);
    const float square_2 = (((((((square3[0] + square_) + square4[0]) + square5[0]) + square6[0]) + square7[0]) + square8[0]) + square9[0]) + square10[0];
    ONCE square2[0] = square_2;
  }
}

// dense1: gradient_norm (blocks.dnn:23)
__global__ void k_gradient_norm5(float *__restrict__ gradient_norm, const float *__restrict__ whole, const float *__restrict__ square3, const float *__restrict__ square4, long len_coci) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(coci, len_coci) square_ += whole[coci] * whole[coci];
    square_ = BLOCK_SUM(square_);
    const float square_2 = (square3[0] + square_) + square4[0];
    const float gradient_norm_ = sqrtf(square_2);
    ONCE gradient_norm[0] = gradient_norm_;
  }
}

// unit1.conv1: sgd (blocks.dnn:23)
__global__ void k_sgd(float *__restrict__ v, float *__restrict__ u, const float *__restrict__ whole, long count, float lr) {
  FLAT(i, count) {
    const float v_ = (0.9f * v[i]) + whole[i];
    const float u_ = u[i] - (lr * v_);
    v[i] = v_;
    u[i] = u_;
  }
}

// unit1.batchnorm1: batchnorm (blocks.dnn:3)
__global__ void k_batchnorm4(float *__restrict__ scale, const float *__restrict__ gamma_, const float *__restrict__ running_var, long count) {
  FLAT(i, count) scale[i] = gamma_[i] / sqrtf((running_var[i] + 1e-05f));
}

// block6.unit2.batchnorm1: batchnorm_add_relu (blocks.dnn:3)
__global__ void k_batchnorm_add_relu3(float *__restrict__ global_avgpool, const float *__restrict__ conv2d, const float *__restrict__ running_mean, const float *__restrict__ scale, const float *__restrict__ beta, const float *__restrict__ relu, long N, long C) {
  GRID2_LANES(n, N, c0, lanes, C) {
    float sum_[LANES];
    LANE(l, lanes) sum_[l] = 0.0f;
    float sum_2[LANES];
    LANE(l, lanes) sum_2[l] = 0.0f;
    for (long pq = 0; pq < 16; pq++)
      LANE(l, lanes) {
        const long c = c0 + l;
        const float y_ = ((conv2d[(n * C + c) * 16 + pq] - running_mean[c]) * scale[c]) + beta[c];
        const float add_ = y_ + relu[(n * C + c) * 16 + pq];
        const float relu_ = parcc_maxf(add_, 0.0f);
        sum_[l] += relu_;
        sum_2[l] += 1.0f;
      }
    float global_avgpool_[LANES];
    LANE(l, lanes) {
      const long c = c0 + l;
      global_avgpool_[l] = sum_[l] / sum_2[l];
      global_avgpool[n * C + c] = global_avgpool_[l];
    }
  }
}

// cross_entropy (blocks.dnn:20)
__global__ void k_cross_entropy5(float *__restrict__ each, const float *__restrict__ y, const int *__restrict__ label, long N) {
  GRID_LANES(n0, lanes, N) {
    float top_[LANES];
    LANE(l, lanes) top_[l] = -INFINITY;
    for (long c = 0; c < 5; c++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const float v = y[n * 5 + c];
        top_[l] = v > top_[l] ? v : top_[l];
      }
    float total_[LANES];
    LANE(l, lanes) total_[l] = 0.0f;
    float picked_[LANES];
    LANE(l, lanes) picked_[l] = 0.0f;
    for (long c = 0; c < 5; c++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const float z_ = y[n * 5 + c] - top_[l];
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

// ---- one step --------------------------------------------------------------------------------------------------------

// init: 13 layers unit, like unit1
static void init_unit(const Unit *layer) {
  const UnitSize *const sizes = layer->sizes;
  AT_LAYER(layer->name, "conv1 init", "blocks.dnn:3");
  LAUNCH_FLAT(k_init, sizes->elements, layer->conv1_w, sizes->elements, sizes->factor, parcc.seed, (unsigned long long)parcc.step, layer->stream);

  AT_LAYER(layer->name, "batchnorm1 init", "blocks.dnn:3");
  LAUNCH_FLAT(k_init2, sizes->elements2, layer->batchnorm1_gamma, sizes->elements2);
  LAUNCH_FLAT(k_init3, sizes->elements2, layer->batchnorm1_beta, sizes->elements2);
  LAUNCH_FLAT(k_init3, sizes->elements2, layer->batchnorm1_running_mean, sizes->elements2);
  LAUNCH_FLAT(k_init2, sizes->elements2, layer->batchnorm1_running_var, sizes->elements2);
}

// init: 13 layers unit, like unit1
static void init_unit2(const Unit *layer) {
  const UnitSize *const sizes = layer->sizes;
  AT_LAYER(layer->name, "conv1 init", "blocks.dnn:23");
  LAUNCH_FLAT(k_init3, sizes->elements, layer->conv1_w_velocity, sizes->elements);

  AT_LAYER(layer->name, "batchnorm1 init", "blocks.dnn:23");
  LAUNCH_FLAT(k_init3, sizes->elements2, layer->batchnorm1_gamma_velocity, sizes->elements2);
  LAUNCH_FLAT(k_init3, sizes->elements2, layer->batchnorm1_beta_velocity, sizes->elements2);
}

// forward: 12 layers unit, like unit1
static void forward_unit(const Unit *layer) {
  const UnitSize *const sizes = layer->sizes;
  AT_LAYER(layer->name, "conv1 conv2d", "blocks.dnn:3");
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack, sizes->rows, sizes->cols, layer->relu_pack, layer->relu + i * sizes->stride, sizes->ci, 3, 3, sizes->cols, sizes->cols, sizes->cols, sizes->cols);
    // conv2d[n, co, p, q] = sum(ci, r, s) (image.pack[n, ci, r, s, p, q] * w[co, ci, r, s])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, sizes->n, sizes->elements2, sizes->k, &one,
        layer->relu_pack, sizes->n, layer->conv1_w, sizes->k, &zero, layer->conv1_conv2d + i * sizes->stride2, sizes->n));
  }
  LIFETIME_END({layer->relu_pack, sizes->bytes});

  AT_LAYER(layer->name, "batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_ROWS(k_batchnorm, sizes->elements2, layer->batchnorm1_mean_sum, layer->conv1_conv2d, sizes->elements2, batch.len, sizes->n);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM_LAYER(layer->name, "batchnorm1 all_reduce", "blocks.dnn:3");
  // all_reduce mean.sum: [c], a sum over data -> [c]
  CHECK_NCCL(ncclAllReduce(layer->batchnorm1_mean_sum, layer->batchnorm1_mean_sum, sizes->elements2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT_LAYER(layer->name, "batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_ROWS(k_batchnorm2, sizes->elements2, layer->batchnorm1_mean, layer->batchnorm1_running_mean, layer->batchnorm1_square, layer->batchnorm1_mean_sum, layer->conv1_conv2d, sizes->elements2, batch.len, sizes->n, sizes->factor2);
  LIFETIME_END({layer->batchnorm1_mean_sum, sizes->bytes2});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM_LAYER(layer->name, "batchnorm1 all_reduce", "blocks.dnn:3");
  // all_reduce square: [c], a sum over data -> [c]
  CHECK_NCCL(ncclAllReduce(layer->batchnorm1_square, layer->batchnorm1_square, sizes->elements2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT_LAYER(layer->name, "batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_FLAT(k_batchnorm3, sizes->elements2, layer->batchnorm1_var, layer->batchnorm1_running_var, layer->batchnorm1_scale, layer->batchnorm1_square, layer->batchnorm1_gamma, sizes->elements2, sizes->factor2, sizes->factor2_2);
  LIFETIME_END({layer->batchnorm1_square, sizes->bytes2});
}

// forward: 4 layers block, like block1
static void forward_block(const Block *layer) {
  const BlockSize *const sizes = layer->sizes;
  forward_unit(layer->unit1);

  AT_LAYER(layer->name, "unit1.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_MAP(k_batchnorm_relu, sizes->rows * batch.len, sizes->cols, layer->relu, layer->unit1->conv1_conv2d, layer->unit1->batchnorm1_mean, layer->unit1->batchnorm1_scale, layer->unit1->batchnorm1_beta, batch.len, sizes->rows, sizes->cols);

  forward_unit(layer->unit2);

  AT_LAYER(layer->name, "unit2.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_MAP(k_batchnorm_add_relu, sizes->rows * batch.len, sizes->cols, layer->relu_2, layer->unit2->conv1_conv2d, layer->unit2->batchnorm1_mean, layer->unit2->batchnorm1_scale, layer->unit2->batchnorm1_beta, layer->relu2, batch.len, sizes->rows, sizes->cols);
}

// backward: 10 layers unit, like block6.unit1
static void backward_unit(const Unit *layer) {
  const UnitSize *const sizes = layer->sizes;
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM_LAYER(layer->name, "batchnorm1 all_reduce", "blocks.dnn:3");
  // all_reduce scale.grad: [c], a sum over data -> [c]
  CHECK_NCCL(ncclAllReduce(layer->batchnorm1_scale_grad, layer->batchnorm1_scale_grad, sizes->elements2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT_LAYER(layer->name, "batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_FLAT(k_batchnorm_grad2, sizes->elements2, layer->batchnorm1_gamma_grad, layer->batchnorm1_square_grad, layer->batchnorm1_scale_grad, layer->batchnorm1_var, layer->batchnorm1_scale, sizes->elements2, sizes->factor2);
  LIFETIME_END({layer->batchnorm1_var, sizes->bytes2}, {layer->batchnorm1_scale, sizes->bytes2},
      {layer->batchnorm1_scale_grad, sizes->bytes2});
  LAUNCH_ROWS(k_batchnorm_grad3, sizes->elements2, layer->conv1_conv2d_grad_2, layer->batchnorm1_mean_grad_3, layer->batchnorm1_square_grad, layer->conv1_conv2d, layer->batchnorm1_mean, layer->batchnorm1_mean_grad, sizes->elements2, batch.len, sizes->n);
  LIFETIME_END({layer->conv1_conv2d, sizes->bytes3}, {layer->batchnorm1_mean, sizes->bytes2},
      {layer->batchnorm1_mean_grad, sizes->bytes2}, {layer->batchnorm1_square_grad, sizes->bytes2});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM_LAYER(layer->name, "batchnorm1 all_reduce", "blocks.dnn:3");
  // all_reduce mean.grad.3: [c], a sum over data -> [c]
  CHECK_NCCL(ncclAllReduce(layer->batchnorm1_mean_grad_3, layer->batchnorm1_mean_grad_3, sizes->elements2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT_LAYER(layer->name, "batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_FLAT(k_batchnorm_grad4, sizes->elements2, layer->batchnorm1_mean_sum_grad, layer->batchnorm1_mean_grad_3, sizes->elements2, sizes->factor2);
  LIFETIME_END({layer->batchnorm1_mean_grad_3, sizes->bytes2});

  AT_LAYER(layer->name, "conv1 conv2d", "blocks.dnn:3");
  LAUNCH_MAP(k_conv2d_grad, sizes->elements2 * batch.len, sizes->n, layer->conv1_conv2d_grad_4, layer->conv1_conv2d_grad, layer->conv1_conv2d_grad_2, layer->batchnorm1_mean_sum_grad, batch.len, sizes->elements2, sizes->n);
  LIFETIME_END({layer->conv1_conv2d_grad, sizes->bytes3}, {layer->conv1_conv2d_grad_2, sizes->bytes3},
      {layer->batchnorm1_mean_sum_grad, sizes->bytes2});
  for (long i = 0; i < batch.len; i++) {
    // relu.2.grad.spread[n, ci, r, s, p, q] = sum(co) (conv2d.grad.4[n, co, p, q] * w[co, ci, r, s])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, sizes->n, sizes->k, sizes->elements2, &one,
        layer->conv1_conv2d_grad_4 + i * sizes->stride, sizes->n, layer->conv1_w, sizes->k, &zero, layer->relu_grad_spread, sizes->n));
    LAUNCH_LANES(k_fold, sizes->stride, layer->relu_grad + i * sizes->stride, layer->relu_grad_spread, sizes->elements2, sizes->cols, sizes->cols, sizes->cols, sizes->cols);
  }
  LIFETIME_END({layer->relu_grad_spread, sizes->bytes});
  CHECK_CUDA(cudaMemsetAsync(layer->conv1_w_grad, 0, sizes->elements * sizeof(float), parcc.compute));
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack, sizes->rows2, 3, layer->relu_pack2, layer->relu + i * sizes->stride, sizes->elements2, sizes->cols, sizes->cols, 3, 3, sizes->cols, sizes->cols);
    // w.grad[co, ci, r, s] = sum(n, p, q) (conv2d.grad.4[n, co, p, q] * relu.2.pack.2[n, ci, p, q, r, s])
    CHECK_CUBLAS(cublasSgemmStridedBatched(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 9, sizes->elements2, sizes->n, &one,
        layer->relu_pack2, 9, sizes->stride_b, layer->conv1_conv2d_grad_4 + i * sizes->stride, sizes->n, 0, &one, layer->conv1_w_grad, sizes->k, 9, sizes->elements2));
  }
  LIFETIME_END({layer->conv1_conv2d_grad_4, sizes->bytes3}, {layer->relu_pack2, sizes->bytes});
}

// backward: 3 layers block, like block5
static void backward_block(const Block *layer) {
  const BlockSize *const sizes = layer->sizes;
  AT_LAYER(layer->name, "relu", "blocks.dnn:9");
  LAUNCH_ROWS(k_relu_batchnorm_grad2, sizes->rows, layer->add_grad, layer->unit2->conv1_conv2d_grad, layer->unit2->batchnorm1_mean_grad, layer->unit2->batchnorm1_scale_grad, layer->unit2->batchnorm1_beta_grad, layer->add_grad2, layer->relu_2_grad_2, layer->relu_2, layer->unit2->batchnorm1_scale, layer->unit2->conv1_conv2d, layer->unit2->batchnorm1_mean, sizes->rows, batch.len, sizes->cols);
  LIFETIME_END({layer->relu_2, sizes->bytes}, {layer->add_grad2, sizes->bytes}, {layer->relu_2_grad_2, sizes->bytes});

  backward_unit(layer->unit2);

  AT_LAYER(layer->name, "relu", "blocks.dnn:7");
  LAUNCH_ROWS(k_relu_batchnorm_grad, sizes->rows, layer->unit1->conv1_conv2d_grad, layer->unit1->batchnorm1_mean_grad, layer->unit1->batchnorm1_scale_grad, layer->unit1->batchnorm1_beta_grad, layer->relu, layer->relu_grad, layer->unit1->batchnorm1_scale, layer->unit1->conv1_conv2d, layer->unit1->batchnorm1_mean, sizes->rows, batch.len, sizes->cols);
  LIFETIME_END({layer->relu, sizes->bytes}, {layer->relu_grad, sizes->bytes});

  backward_unit(layer->unit1);
}

// report: 6 layers unit, like block1.unit1
static void report_unit(const Unit *layer) {
  const UnitSize *const sizes = layer->sizes;
  AT_LAYER(layer->name, "batchnorm1 gradient_norm", "blocks.dnn:23");
  LAUNCH_ROWS(k_gradient_norm, 1, layer->batchnorm1_gamma_grad_square, layer->batchnorm1_gamma_grad, sizes->elements2);
  LAUNCH_ROWS(k_gradient_norm, 1, layer->batchnorm1_beta_grad_square, layer->batchnorm1_beta_grad, sizes->elements2);
}

// report: 6 layers unit, like block1.unit2
static void report_unit2(const Unit *layer) {
  const UnitSize *const sizes = layer->sizes;
  AT_LAYER(layer->name, "conv1 gradient_norm", "blocks.dnn:23");
  LAUNCH_ROWS(k_gradient_norm, 1, layer->conv1_w_grad_square, layer->conv1_w_grad, sizes->elements);

  AT_LAYER(layer->name, "batchnorm1 gradient_norm", "blocks.dnn:23");
  LAUNCH_ROWS(k_gradient_norm, 1, layer->batchnorm1_gamma_grad_square, layer->batchnorm1_gamma_grad, sizes->elements2);
  LAUNCH_ROWS(k_gradient_norm, 1, layer->batchnorm1_beta_grad_square, layer->batchnorm1_beta_grad, sizes->elements2);
}

// report: 5 layers block, like block1
static void report_block(const Block *layer) {
  const BlockSize *const sizes = layer->sizes;
  report_unit(layer->unit1);
  report_unit2(layer->unit2);

  AT_LAYER(layer->name, "unit1.conv1 gradient_norm", "blocks.dnn:23");
  LAUNCH_ROWS(k_gradient_norm3, 1, layer->grad_square, layer->unit1->conv1_w_grad, layer->grad_square2, layer->unit1->batchnorm1_gamma_grad_square, layer->unit1->batchnorm1_beta_grad_square, layer->unit2->conv1_w_grad_square, layer->unit2->batchnorm1_gamma_grad_square, layer->unit2->batchnorm1_beta_grad_square, sizes->len_cocrs);
  LIFETIME_END({layer->unit1->batchnorm1_gamma_grad_square, 4}, {layer->unit1->batchnorm1_beta_grad_square, 4},
      {layer->unit2->conv1_w_grad_square, 4}, {layer->unit2->batchnorm1_gamma_grad_square, 4},
      {layer->unit2->batchnorm1_beta_grad_square, 4}, {layer->grad_square2, 4});
}

// update: 13 layers unit, like unit1
static void update_unit(const Unit *layer) {
  const UnitSize *const sizes = layer->sizes;
  AT_LAYER(layer->name, "conv1 sgd", "blocks.dnn:23");
  LAUNCH_FLAT(k_sgd, sizes->elements, layer->conv1_w_velocity, layer->conv1_w, layer->conv1_w_grad, sizes->elements, (float)parcc.lr);

  AT_LAYER(layer->name, "batchnorm1 sgd", "blocks.dnn:23");
  LAUNCH_FLAT(k_sgd, sizes->elements2, layer->batchnorm1_gamma_velocity, layer->batchnorm1_gamma, layer->batchnorm1_gamma_grad, sizes->elements2, (float)parcc.lr);
  LIFETIME_END({layer->batchnorm1_gamma_grad, sizes->bytes2});
  LAUNCH_FLAT(k_sgd, sizes->elements2, layer->batchnorm1_beta_velocity, layer->batchnorm1_beta, layer->batchnorm1_beta_grad, sizes->elements2, (float)parcc.lr);
}

// evaluate: 7 layers unit, like unit1
static void evaluate_unit(const Unit *layer) {
  const UnitSize *const sizes = layer->sizes;
  AT_LAYER(layer->name, "conv1 conv2d", "blocks.dnn:3");
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack, sizes->rows, sizes->cols, layer->relu_pack3, layer->relu2 + i * sizes->stride, sizes->ci, 3, 3, sizes->cols, sizes->cols, sizes->cols, sizes->cols);
    // conv2d[n, co, p, q] = sum(ci, r, s) (image.pack[n, ci, r, s, p, q] * w[co, ci, r, s])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, sizes->n, sizes->elements2, sizes->k, &one,
        layer->relu_pack3, sizes->n, layer->conv1_w, sizes->k, &zero, layer->conv1_conv2d2 + i * sizes->stride2, sizes->n));
  }
  LIFETIME_END({layer->relu2, sizes->bytes3}, {layer->relu_pack3, sizes->bytes});

  AT_LAYER(layer->name, "batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_FLAT(k_batchnorm4, sizes->elements2, layer->batchnorm1_scale2, layer->batchnorm1_gamma, layer->batchnorm1_running_var, sizes->elements2);
}

// evaluate: 5 layers unit, like block1.unit1
static void evaluate_unit2(const Unit *layer) {
  const UnitSize *const sizes = layer->sizes;
  AT_LAYER(layer->name, "conv1 conv2d", "blocks.dnn:3");
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack, 288, sizes->cols, layer->relu_pack3, layer->relu2 + i * sizes->stride, sizes->elements2, 3, 3, sizes->cols, sizes->cols, sizes->cols, sizes->cols);
    // conv2d[n, co, p, q] = sum(ci, r, s) (relu.pack[n, ci, r, s, p, q] * w[co, ci, r, s])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, sizes->n, sizes->elements2, sizes->k, &one,
        layer->relu_pack3, sizes->n, layer->conv1_w, sizes->k, &zero, layer->conv1_conv2d2 + i * sizes->stride, sizes->n));
  }
  LIFETIME_END({layer->relu_pack3, sizes->bytes});

  AT_LAYER(layer->name, "batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_FLAT(k_batchnorm4, sizes->elements2, layer->batchnorm1_scale2, layer->batchnorm1_gamma, layer->batchnorm1_running_var, sizes->elements2);
}

// evaluate: 4 layers block, like block1
static void evaluate_block(const Block *layer) {
  const BlockSize *const sizes = layer->sizes;
  evaluate_unit2(layer->unit1);

  AT_LAYER(layer->name, "unit1.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_MAP(k_batchnorm_relu, sizes->rows * batch.len, sizes->cols, layer->relu3, layer->unit1->conv1_conv2d2, layer->unit1->batchnorm1_running_mean, layer->unit1->batchnorm1_scale2, layer->unit1->batchnorm1_beta, batch.len, sizes->rows, sizes->cols);
  LIFETIME_END({layer->unit1->conv1_conv2d2, sizes->bytes}, {layer->unit1->batchnorm1_scale2, sizes->bytes2});

  evaluate_unit(layer->unit2);

  AT_LAYER(layer->name, "unit2.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_MAP(k_batchnorm_add_relu, sizes->rows * batch.len, sizes->cols, layer->relu_2_2, layer->unit2->conv1_conv2d2, layer->unit2->batchnorm1_running_mean, layer->unit2->batchnorm1_scale2, layer->unit2->batchnorm1_beta, layer->relu4, batch.len, sizes->rows, sizes->cols);
  LIFETIME_END({layer->relu4, sizes->bytes}, {layer->unit2->conv1_conv2d2, sizes->bytes},
      {layer->unit2->batchnorm1_scale2, sizes->bytes2});
}

// list_stored: 13 layers unit, like unit1
static void list_stored_unit(const Unit *layer) {
  const UnitSize *const sizes = layer->sizes;
  STORE_OF(layer->name, "conv1.w", PARCC_PARAM, PARCC_FLOAT, layer->conv1_w, WHOLE(sizes->elements2), WHOLE(sizes->ci), WHOLE(3), WHOLE(3));
  STORE_OF(layer->name, "batchnorm1.gamma", PARCC_PARAM, PARCC_FLOAT, layer->batchnorm1_gamma, WHOLE(sizes->elements2));
  STORE_OF(layer->name, "batchnorm1.beta", PARCC_PARAM, PARCC_FLOAT, layer->batchnorm1_beta, WHOLE(sizes->elements2));
  STORE_OF(layer->name, "batchnorm1.running_mean", PARCC_STATE, PARCC_FLOAT, layer->batchnorm1_running_mean, WHOLE(sizes->elements2));
  STORE_OF(layer->name, "batchnorm1.running_var", PARCC_STATE, PARCC_FLOAT, layer->batchnorm1_running_var, WHOLE(sizes->elements2));
}

// list_stored: 13 layers unit, like unit1
static void list_stored_unit2(const Unit *layer) {
  const UnitSize *const sizes = layer->sizes;
  STORE_OF(layer->name, "conv1.w.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, layer->conv1_w_velocity, WHOLE(sizes->elements2), WHOLE(sizes->ci), WHOLE(3), WHOLE(3));
  STORE_OF(layer->name, "batchnorm1.gamma.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, layer->batchnorm1_gamma_velocity, WHOLE(sizes->elements2));
  STORE_OF(layer->name, "batchnorm1.beta.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, layer->batchnorm1_beta_velocity, WHOLE(sizes->elements2));
}

// Initial values of parameters and states.
static void init(void) {
  for (long i = 0; i <= 8; i++) init_unit(&unit[i]);

  AT("block4.conv1 init", "blocks.dnn:8");
  LAUNCH_FLAT(k_init4, 32, t.block4_conv1_w, 32, parcc.seed, (unsigned long long)parcc.step, 9);
  LAUNCH_FLAT(k_init4, 8, t.block4_conv1_b, 8, parcc.seed, (unsigned long long)parcc.step, 10);

  for (long i = 9; i <= 12; i++) init_unit(&unit[i]);

  AT("dense1 init", "blocks.dnn:19");
  LAUNCH_FLAT(k_init, 40, t.dense1_w, 40, 0.35355338f, parcc.seed, (unsigned long long)parcc.step, 15);
  LAUNCH_FLAT(k_init, 5, t.dense1_b, 5, 0.35355338f, parcc.seed, (unsigned long long)parcc.step, 16);

  for (long i = 0; i <= 8; i++) init_unit2(&unit[i]);

  AT("block4.conv1 init", "blocks.dnn:23");
  LAUNCH_FLAT(k_init3, 32, t.block4_conv1_w_velocity, 32);
  LAUNCH_FLAT(k_init3, 8, t.block4_conv1_b_velocity, 8);

  for (long i = 9; i <= 12; i++) init_unit2(&unit[i]);

  AT("dense1 init", "blocks.dnn:23");
  LAUNCH_FLAT(k_init3, 40, t.dense1_w_velocity, 40);
  LAUNCH_FLAT(k_init3, 5, t.dense1_b_velocity, 5);
}

// The losses of the batch.
static void forward(void) {
  forward_unit(&unit[0]);

  AT("unit1.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_MAP(k_batchnorm_relu, 4 * batch.len, 64, t.relu, unit[0].conv1_conv2d, unit[0].batchnorm1_mean, unit[0].batchnorm1_scale, unit[0].batchnorm1_beta, batch.len, 4, 64);

  for (long i = 0; i <= 2; i++) forward_block(&block[i]);

  AT("block4.unit1.conv1 conv2d", "blocks.dnn:3");
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack2, 144, 4, t.block3_relu_2_pack_5, block[2].relu_2 + i * 256, 4, 3, 3, 4, 4, 8, 8);
    // block4.unit1.conv1.conv2d[n, co, p, q] = sum(ci, r, s) (block3.relu.2.pack[n, ci, r, s, p, q] * block4.unit1.conv1.w[co, ci, r, s])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 16, 8, 36, &one,
        t.block3_relu_2_pack_5, 16, unit[7].conv1_w, 36, &zero, t.block4_unit1_conv1_conv2d + i * 128, 16));
  }
  LIFETIME_END({t.block3_relu_2_pack_5, 2304});

  AT("block4.unit1.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_ROWS(k_batchnorm, 8, t.block4_unit1_batchnorm1_mean_sum, t.block4_unit1_conv1_conv2d, 8, batch.len, 16);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("block4.unit1.batchnorm1 all_reduce", "blocks.dnn:3");
  // all_reduce block4.unit1.batchnorm1.mean.sum: [c], a sum over data -> [c]
  CHECK_NCCL(ncclAllReduce(t.block4_unit1_batchnorm1_mean_sum, t.block4_unit1_batchnorm1_mean_sum, 8, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("block4.unit1.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_ROWS(k_batchnorm2, 8, t.block4_unit1_batchnorm1_mean, unit[7].batchnorm1_running_mean, t.block4_unit1_batchnorm1_square, t.block4_unit1_batchnorm1_mean_sum_whole, t.block4_unit1_conv1_conv2d, 8, batch.len, 16, 64.0f);
  LIFETIME_END({t.block4_unit1_batchnorm1_mean_sum_whole, 32});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("block4.unit1.batchnorm1 all_reduce", "blocks.dnn:3");
  // all_reduce block4.unit1.batchnorm1.square: [c], a sum over data -> [c]
  CHECK_NCCL(ncclAllReduce(t.block4_unit1_batchnorm1_square, t.block4_unit1_batchnorm1_square, 8, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("block4.unit1.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_FLAT(k_batchnorm3, 8, t.block4_unit1_batchnorm1_var, unit[7].batchnorm1_running_var, t.block4_unit1_batchnorm1_scale, t.block4_unit1_batchnorm1_square_whole, unit[7].batchnorm1_gamma, 8, 64.0f, 63.0f);
  LIFETIME_END({t.block4_unit1_batchnorm1_square_whole, 32});
  LAUNCH_MAP(k_batchnorm_relu, 8 * batch.len, 16, t.block4_relu, t.block4_unit1_conv1_conv2d, t.block4_unit1_batchnorm1_mean, t.block4_unit1_batchnorm1_scale, unit[7].batchnorm1_beta, batch.len, 8, 16);

  forward_unit(&unit[8]);

  AT("block4.conv1 conv2d", "blocks.dnn:8");
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack3, 16, 4, t.block3_relu_2_pack_2_2, block[2].relu_2 + i * 256, 4, 4, 4, 8, 8);
    // block4.conv1.conv2d[n, co, p, q] = sum(ci) (block3.relu.2.pack.2[n, ci, p, q] * block4.conv1.w[co, ci, 0, 0])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 16, 8, 4, &one,
        t.block3_relu_2_pack_2_2, 16, t.block4_conv1_w, 4, &zero, t.block4_conv1_conv2d + i * 128, 16));
  }
  LIFETIME_END({t.block3_relu_2_pack_2_2, 256});
  AT("block4.conv1 channel_bias", "blocks.dnn:8");
  LAUNCH_MAP(k_channel_bias, 8 * batch.len, 16, t.block4_conv1_channel_bias, t.block4_conv1_conv2d, t.block4_conv1_b, batch.len, 8, 16);
  LIFETIME_END({t.block4_conv1_conv2d, 1024});

  AT("block4.unit2.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_MAP(k_batchnorm_add_relu, 8 * batch.len, 16, t.block4_relu_2, unit[8].conv1_conv2d, unit[8].batchnorm1_mean, unit[8].batchnorm1_scale, unit[8].batchnorm1_beta, t.block4_conv1_channel_bias, batch.len, 8, 16);
  LIFETIME_END({t.block4_conv1_channel_bias, 1024});

  forward_block(&block[3]);
  forward_unit(&unit[11]);

  AT("block6.unit1.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_MAP(k_batchnorm_relu, 8 * batch.len, 16, t.block6_relu, unit[11].conv1_conv2d, unit[11].batchnorm1_mean, unit[11].batchnorm1_scale, unit[11].batchnorm1_beta, batch.len, 8, 16);

  forward_unit(&unit[12]);

  AT("block6.unit2.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_LANES(k_batchnorm_add_relu2, 8 * batch.len, t.block6_relu_2, t.global_avgpool, unit[12].conv1_conv2d, unit[12].batchnorm1_mean, unit[12].batchnorm1_scale, unit[12].batchnorm1_beta, block[3].relu_2, batch.len, 8, 16.0f);

  AT("dense1 dense", "blocks.dnn:19");
  LAUNCH_LANES(k_dense, 5 * batch.len, t.dense1_y_2, t.global_avgpool, t.dense1_w, t.dense1_b, batch.len, 5);

  AT("cross_entropy", "blocks.dnn:20");
  LAUNCH_LANES(k_cross_entropy, batch.len, t.cross_entropy_z, t.cross_entropy_total, t.cross_entropy_each, t.dense1_y_2, t.label, batch.len);
  LIFETIME_END({t.dense1_y_2, 40});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.cross_entropy_sum, t.cross_entropy_each, batch.len);
  LIFETIME_END({t.cross_entropy_each, 8});
  LAUNCH_ROWS(k_cross_entropy3, 1, t.cross_entropy_sum_2, t.label, batch.len);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "blocks.dnn:20");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2
  CHECK_NCCL(ncclAllReduce(t.cross_entropy_sum, t.cross_entropy_sum, 2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "blocks.dnn:20");
  LAUNCH_FLAT(k_cross_entropy4, 1, t.cross_entropy, t.cross_entropy_sum_whole, t.cross_entropy_sum_2_whole);
}

// backward: from cross_entropy on
static void backward_cross_entropy(void) {
  AT("cross_entropy", "blocks.dnn:20");
  LAUNCH_FLAT(k_cross_entropy_grad, 1, t.cross_entropy_sum_grad, t.cross_entropy_sum_2_whole);
  LIFETIME_END({t.cross_entropy_sum_whole, 8});
  LAUNCH_FLAT(k_cross_entropy_grad2, batch.len, t.cross_entropy_total_grad, t.cross_entropy_picked_grad, t.label, t.cross_entropy_sum_grad, t.cross_entropy_total, batch.len);
  LIFETIME_END({t.cross_entropy_total, 8}, {t.cross_entropy_sum_grad, 4});
  LAUNCH_MAP(k_cross_entropy_grad3, batch.len, 5, t.cross_entropy_z_grad_2, t.cross_entropy_total_grad, t.cross_entropy_z, batch.len, 5);
  LIFETIME_END({t.cross_entropy_z, 40}, {t.cross_entropy_total_grad, 8});
  LAUNCH_LANES(k_cross_entropy_dense_grad, 5, t.cross_entropy_z_grad_3, t.dense1_b_grad, t.cross_entropy_picked_grad, t.label, t.cross_entropy_z_grad_2, 5, batch.len);
  LIFETIME_END({t.label, 8}, {t.cross_entropy_picked_grad, 8}, {t.cross_entropy_z_grad_2, 40});

  AT("dense1 dense", "blocks.dnn:19");
  LAUNCH_LANES(k_dense_global_avgpool_relu_grad, 8 * batch.len, t.block6_add_grad, t.block6_unit2_conv1_conv2d_grad, t.cross_entropy_z_grad_3, t.dense1_w, t.block6_relu_2, unit[12].batchnorm1_scale, batch.len, 8, 16.0f);
  LIFETIME_END({t.block6_relu_2, 1024});
  LAUNCH_LANES(k_dense_grad, 40, t.dense1_w_grad, t.cross_entropy_z_grad_3, t.global_avgpool, 5, 8, batch.len);
  LIFETIME_END({t.global_avgpool, 64}, {t.cross_entropy_z_grad_3, 40});

  AT("block6.unit2.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_ROWS(k_batchnorm_grad, 8, t.block6_unit2_batchnorm1_mean_grad, t.block6_unit2_batchnorm1_scale_grad, unit[12].batchnorm1_beta_grad, t.block6_add_grad, unit[12].batchnorm1_scale, unit[12].conv1_conv2d, unit[12].batchnorm1_mean, 8, batch.len, 16);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("block6.unit2.batchnorm1 all_reduce", "blocks.dnn:3");
  // all_reduce block6.unit2.batchnorm1.scale.grad: [c], a sum over data -> [c]
  CHECK_NCCL(ncclAllReduce(t.block6_unit2_batchnorm1_scale_grad, t.block6_unit2_batchnorm1_scale_grad, 8, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("block6.unit2.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_FLAT(k_batchnorm_grad2, 8, unit[12].batchnorm1_gamma_grad, t.block6_unit2_batchnorm1_square_grad, t.block6_unit2_batchnorm1_scale_grad_whole, unit[12].batchnorm1_var, unit[12].batchnorm1_scale, 8, 64.0f);
  LIFETIME_END({unit[12].batchnorm1_var, 32}, {unit[12].batchnorm1_scale, 32},
      {t.block6_unit2_batchnorm1_scale_grad_whole, 32});
  LAUNCH_ROWS(k_batchnorm_grad3, 8, t.block6_unit2_conv1_conv2d_grad_2, t.block6_unit2_batchnorm1_mean_grad_3, t.block6_unit2_batchnorm1_square_grad, unit[12].conv1_conv2d, unit[12].batchnorm1_mean, t.block6_unit2_batchnorm1_mean_grad, 8, batch.len, 16);
  LIFETIME_END({unit[12].conv1_conv2d, 1024}, {unit[12].batchnorm1_mean, 32},
      {t.block6_unit2_batchnorm1_mean_grad, 32}, {t.block6_unit2_batchnorm1_square_grad, 32});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("block6.unit2.batchnorm1 all_reduce", "blocks.dnn:3");
  // all_reduce block6.unit2.batchnorm1.mean.grad.3: [c], a sum over data -> [c]
  CHECK_NCCL(ncclAllReduce(t.block6_unit2_batchnorm1_mean_grad_3, t.block6_unit2_batchnorm1_mean_grad_3, 8, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("block6.unit2.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_FLAT(k_batchnorm_grad4, 8, t.block6_unit2_batchnorm1_mean_sum_grad, t.block6_unit2_batchnorm1_mean_grad_3_whole, 8, 64.0f);
  LIFETIME_END({t.block6_unit2_batchnorm1_mean_grad_3_whole, 32});

  AT("block6.unit2.conv1 conv2d", "blocks.dnn:3");
  LAUNCH_MAP(k_conv2d_grad, 8 * batch.len, 16, t.block6_unit2_conv1_conv2d_grad_4, t.block6_unit2_conv1_conv2d_grad, t.block6_unit2_conv1_conv2d_grad_2, t.block6_unit2_batchnorm1_mean_sum_grad, batch.len, 8, 16);
  LIFETIME_END({t.block6_unit2_conv1_conv2d_grad, 1024}, {t.block6_unit2_conv1_conv2d_grad_2, 1024},
      {t.block6_unit2_batchnorm1_mean_sum_grad, 32});
  for (long i = 0; i < batch.len; i++) {
    // block6.relu.grad.spread[n, ci, r, s, p, q] = sum(co) (block6.unit2.conv1.conv2d.grad.4[n, co, p, q] * block6.unit2.conv1.w[co, ci, r, s])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 16, 72, 8, &one,
        t.block6_unit2_conv1_conv2d_grad_4 + i * 128, 16, unit[12].conv1_w, 72, &zero, t.block6_relu_grad_spread_2, 16));
    LAUNCH_LANES(k_fold, 128, t.block6_relu_grad + i * 128, t.block6_relu_grad_spread_2, 8, 4, 4, 4, 4);
  }
  LIFETIME_END({t.block6_relu_grad_spread_2, 4608});
  CHECK_CUDA(cudaMemsetAsync(unit[12].conv1_w_grad, 0, 576 * sizeof(float), parcc.compute));
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack, 384, 3, t.block6_relu_pack_2_2, t.block6_relu + i * 128, 8, 4, 4, 3, 3, 4, 4);
    // block6.unit2.conv1.w.grad[co, ci, r, s] = sum(n, p, q) (block6.unit2.conv1.conv2d.grad.4[n, co, p, q] * block6.relu.pack.2[n, ci, p, q, r, s])
    CHECK_CUBLAS(cublasSgemmStridedBatched(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 9, 8, 16, &one,
        t.block6_relu_pack_2_2, 9, 144, t.block6_unit2_conv1_conv2d_grad_4 + i * 128, 16, 0, &one, unit[12].conv1_w_grad, 72, 9, 8));
  }
  LIFETIME_END({t.block6_unit2_conv1_conv2d_grad_4, 1024}, {t.block6_relu_pack_2_2, 4608});

  AT("block6 relu", "blocks.dnn:7");
  LAUNCH_ROWS(k_relu_batchnorm_grad, 8, unit[11].conv1_conv2d_grad, unit[11].batchnorm1_mean_grad, unit[11].batchnorm1_scale_grad, unit[11].batchnorm1_beta_grad, t.block6_relu, t.block6_relu_grad, unit[11].batchnorm1_scale, unit[11].conv1_conv2d, unit[11].batchnorm1_mean, 8, batch.len, 16);
  LIFETIME_END({t.block6_relu, 1024}, {t.block6_relu_grad, 1024});

  backward_unit(&unit[11]);
}

// backward: from block5 on
static void backward_block5(void) {
  backward_block(&block[3]);

  AT("block4 relu", "blocks.dnn:9");
  LAUNCH_ROWS(k_relu_channel_bias_batchnorm_grad, 8, t.block4_add_grad, t.block4_conv1_b_grad, unit[8].conv1_conv2d_grad, unit[8].batchnorm1_mean_grad, unit[8].batchnorm1_scale_grad, unit[8].batchnorm1_beta_grad, block[3].add_grad, t.block4_relu_2_grad_2, t.block4_relu_2, unit[8].batchnorm1_scale, unit[8].conv1_conv2d, unit[8].batchnorm1_mean, 8, batch.len, 16);
  LIFETIME_END({t.block4_relu_2, 1024}, {block[3].add_grad, 1024}, {t.block4_relu_2_grad_2, 1024});

  AT("block4.conv1 conv2d", "blocks.dnn:8");
  // block3.relu.2.grad.spread[n, ci, r, s, p, q] = sum(co) (block4.add.grad[n, co, p, q] * block4.conv1.w[co, ci, 0, 0])
  CHECK_CUBLAS(cublasSgemmStridedBatched(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 16, 4, 8, &one,
      t.block4_add_grad, 16, 128, t.block4_conv1_w, 4, 0, &zero, t.block3_relu_2_grad_spread, 16, 64, batch.len));
  CHECK_CUDA(cudaMemsetAsync(t.block4_conv1_w_grad, 0, 32 * sizeof(float), parcc.compute));
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack3, 16, 4, t.block3_relu_2_pack_3_2, block[2].relu_2 + i * 256, 4, 4, 4, 8, 8);
    // block4.conv1.w.grad[co, ci, r, s] = sum(n, p, q) (block4.add.grad[n, co, p, q] * block3.relu.2.pack.3[n, ci, p, q])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 4, 8, 16, &one,
        t.block3_relu_2_pack_3_2, 16, t.block4_add_grad + i * 128, 16, &one, t.block4_conv1_w_grad, 4));
  }
  LIFETIME_END({t.block4_add_grad, 1024}, {t.block3_relu_2_pack_3_2, 256});

  backward_unit(&unit[8]);

  AT("block4 relu", "blocks.dnn:7");
  LAUNCH_ROWS(k_relu_batchnorm_grad, 8, t.block4_unit1_conv1_conv2d_grad, t.block4_unit1_batchnorm1_mean_grad, t.block4_unit1_batchnorm1_scale_grad, unit[7].batchnorm1_beta_grad, t.block4_relu, t.block4_relu_grad, t.block4_unit1_batchnorm1_scale, t.block4_unit1_conv1_conv2d, t.block4_unit1_batchnorm1_mean, 8, batch.len, 16);
  LIFETIME_END({t.block4_relu, 1024}, {t.block4_relu_grad, 1024});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("block4.unit1.batchnorm1 all_reduce", "blocks.dnn:3");
  // all_reduce block4.unit1.batchnorm1.scale.grad: [c], a sum over data -> [c]
  CHECK_NCCL(ncclAllReduce(t.block4_unit1_batchnorm1_scale_grad, t.block4_unit1_batchnorm1_scale_grad, 8, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("block4.unit1.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_FLAT(k_batchnorm_grad2, 8, unit[7].batchnorm1_gamma_grad, t.block4_unit1_batchnorm1_square_grad, t.block4_unit1_batchnorm1_scale_grad_whole, t.block4_unit1_batchnorm1_var, t.block4_unit1_batchnorm1_scale, 8, 64.0f);
  LIFETIME_END({t.block4_unit1_batchnorm1_var, 32}, {t.block4_unit1_batchnorm1_scale, 32},
      {t.block4_unit1_batchnorm1_scale_grad_whole, 32});
  LAUNCH_ROWS(k_batchnorm_grad3, 8, t.block4_unit1_conv1_conv2d_grad_2, t.block4_unit1_batchnorm1_mean_grad_3, t.block4_unit1_batchnorm1_square_grad, t.block4_unit1_conv1_conv2d, t.block4_unit1_batchnorm1_mean, t.block4_unit1_batchnorm1_mean_grad, 8, batch.len, 16);
  LIFETIME_END({t.block4_unit1_conv1_conv2d, 1024}, {t.block4_unit1_batchnorm1_mean, 32},
      {t.block4_unit1_batchnorm1_mean_grad, 32}, {t.block4_unit1_batchnorm1_square_grad, 32});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("block4.unit1.batchnorm1 all_reduce", "blocks.dnn:3");
  // all_reduce block4.unit1.batchnorm1.mean.grad.3: [c], a sum over data -> [c]
  CHECK_NCCL(ncclAllReduce(t.block4_unit1_batchnorm1_mean_grad_3, t.block4_unit1_batchnorm1_mean_grad_3, 8, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("block4.unit1.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_FLAT(k_batchnorm_grad4, 8, t.block4_unit1_batchnorm1_mean_sum_grad, t.block4_unit1_batchnorm1_mean_grad_3_whole, 8, 64.0f);
  LIFETIME_END({t.block4_unit1_batchnorm1_mean_grad_3_whole, 32});

  AT("block4.unit1.conv1 conv2d", "blocks.dnn:3");
  LAUNCH_MAP(k_conv2d_grad, 8 * batch.len, 16, t.block4_unit1_conv1_conv2d_grad_4, t.block4_unit1_conv1_conv2d_grad, t.block4_unit1_conv1_conv2d_grad_2, t.block4_unit1_batchnorm1_mean_sum_grad, batch.len, 8, 16);
  LIFETIME_END({t.block4_unit1_conv1_conv2d_grad, 1024}, {t.block4_unit1_conv1_conv2d_grad_2, 1024},
      {t.block4_unit1_batchnorm1_mean_sum_grad, 32});
  for (long i = 0; i < batch.len; i++) {
    // block3.relu.2.grad.spread.2[n, ci, r, s, p, q] = sum(co) (block4.unit1.conv1.conv2d.grad.4[n, co, p, q] * block4.unit1.conv1.w[co, ci, r, s])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 16, 36, 8, &one,
        t.block4_unit1_conv1_conv2d_grad_4 + i * 128, 16, unit[7].conv1_w, 36, &zero, t.block3_relu_2_grad_spread_2_2, 16));
    LAUNCH_LANES(k_fold2, 256, t.block3_relu_2_grad_2 + i * 256, t.block3_relu_2_grad_spread_2_2, 4, 8, 8, 4, 4);
  }
  LIFETIME_END({t.block3_relu_2_grad_spread_2_2, 2304});
  CHECK_CUDA(cudaMemsetAsync(unit[7].conv1_w_grad, 0, 288 * sizeof(float), parcc.compute));
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack4, 192, 3, t.block3_relu_2_pack_4_2, block[2].relu_2 + i * 256, 4, 4, 4, 3, 3, 8, 8);
    // block4.unit1.conv1.w.grad[co, ci, r, s] = sum(n, p, q) (block4.unit1.conv1.conv2d.grad.4[n, co, p, q] * block3.relu.2.pack.4[n, ci, p, q, r, s])
    CHECK_CUBLAS(cublasSgemmStridedBatched(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 9, 8, 16, &one,
        t.block3_relu_2_pack_4_2, 9, 144, t.block4_unit1_conv1_conv2d_grad_4 + i * 128, 16, 0, &one, unit[7].conv1_w_grad, 36, 9, 4));
  }
  LIFETIME_END({t.block4_unit1_conv1_conv2d_grad_4, 1024}, {t.block3_relu_2_pack_4_2, 2304});
}

// backward: from block3 on
static void backward_block3(void) {
  AT("block3 relu", "blocks.dnn:9");
  LAUNCH_ROWS(k_relu_batchnorm_grad3, 4, t.block3_add_grad, unit[6].conv1_conv2d_grad, unit[6].batchnorm1_mean_grad, unit[6].batchnorm1_scale_grad, unit[6].batchnorm1_beta_grad, t.block3_relu_2_grad_spread, t.block3_relu_2_grad_2, block[2].relu_2, unit[6].batchnorm1_scale, unit[6].conv1_conv2d, unit[6].batchnorm1_mean, 4, batch.len, 8, 8, 4, 4);
  LIFETIME_END({block[2].relu_2, 2048}, {t.block3_relu_2_grad_spread, 512}, {t.block3_relu_2_grad_2, 2048});

  backward_unit(&unit[6]);

  AT("block3 relu", "blocks.dnn:7");
  LAUNCH_ROWS(k_relu_batchnorm_grad, 4, unit[5].conv1_conv2d_grad, unit[5].batchnorm1_mean_grad, unit[5].batchnorm1_scale_grad, unit[5].batchnorm1_beta_grad, block[2].relu, t.block3_relu_grad, unit[5].batchnorm1_scale, unit[5].conv1_conv2d, unit[5].batchnorm1_mean, 4, batch.len, 64);
  LIFETIME_END({block[2].relu, 2048}, {t.block3_relu_grad, 2048});

  backward_unit(&unit[5]);
  for (long i = 1; i >= 0; i--) backward_block(&block[i]);

  AT("relu", "blocks.dnn:15");
  LAUNCH_ROWS(k_relu_batchnorm_grad4, 4, t.unit1_conv1_conv2d_grad, t.unit1_batchnorm1_mean_grad, t.unit1_batchnorm1_scale_grad, unit[0].batchnorm1_beta_grad, block[0].add_grad, t.relu_grad_2, t.relu, unit[0].batchnorm1_scale, unit[0].conv1_conv2d, unit[0].batchnorm1_mean, 4, batch.len, 64);
  LIFETIME_END({t.relu, 2048}, {block[0].add_grad, 2048}, {t.relu_grad_2, 2048});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("unit1.batchnorm1 all_reduce", "blocks.dnn:3");
  // all_reduce unit1.batchnorm1.scale.grad: [c], a sum over data -> [c]
  CHECK_NCCL(ncclAllReduce(t.unit1_batchnorm1_scale_grad, t.unit1_batchnorm1_scale_grad, 4, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("unit1.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_FLAT(k_batchnorm_grad2, 4, unit[0].batchnorm1_gamma_grad, t.unit1_batchnorm1_square_grad, t.unit1_batchnorm1_scale_grad_whole, unit[0].batchnorm1_var, unit[0].batchnorm1_scale, 4, 256.0f);
  LIFETIME_END({unit[0].batchnorm1_var, 16}, {unit[0].batchnorm1_scale, 16},
      {t.unit1_batchnorm1_scale_grad_whole, 16});
  LAUNCH_ROWS(k_batchnorm_grad3, 4, t.unit1_conv1_conv2d_grad_2, t.unit1_batchnorm1_mean_grad_3, t.unit1_batchnorm1_square_grad, unit[0].conv1_conv2d, unit[0].batchnorm1_mean, t.unit1_batchnorm1_mean_grad, 4, batch.len, 64);
  LIFETIME_END({unit[0].conv1_conv2d, 2048}, {unit[0].batchnorm1_mean, 16}, {t.unit1_batchnorm1_mean_grad, 16},
      {t.unit1_batchnorm1_square_grad, 16});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("unit1.batchnorm1 all_reduce", "blocks.dnn:3");
  // all_reduce unit1.batchnorm1.mean.grad.3: [c], a sum over data -> [c]
  CHECK_NCCL(ncclAllReduce(t.unit1_batchnorm1_mean_grad_3, t.unit1_batchnorm1_mean_grad_3, 4, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("unit1.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_FLAT(k_batchnorm_grad4, 4, t.unit1_batchnorm1_mean_sum_grad, t.unit1_batchnorm1_mean_grad_3_whole, 4, 256.0f);
  LIFETIME_END({t.unit1_batchnorm1_mean_grad_3_whole, 16});

  AT("unit1.conv1 conv2d", "blocks.dnn:3");
  LAUNCH_MAP(k_conv2d_grad, 4 * batch.len, 64, t.unit1_conv1_conv2d_grad_4, t.unit1_conv1_conv2d_grad, t.unit1_conv1_conv2d_grad_2, t.unit1_batchnorm1_mean_sum_grad, batch.len, 4, 64);
  LIFETIME_END({t.unit1_conv1_conv2d_grad, 2048}, {t.unit1_conv1_conv2d_grad_2, 2048},
      {t.unit1_batchnorm1_mean_sum_grad, 16});
  CHECK_CUDA(cudaMemsetAsync(unit[0].conv1_w_grad, 0, 108 * sizeof(float), parcc.compute));
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack, 576, 3, t.image_pack_2_2, t.image + i * 192, 3, 8, 8, 3, 3, 8, 8);
    // unit1.conv1.w.grad[co, ci, r, s] = sum(n, p, q) (unit1.conv1.conv2d.grad.4[n, co, p, q] * image.pack.2[n, ci, p, q, r, s])
    CHECK_CUBLAS(cublasSgemmStridedBatched(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 9, 4, 64, &one,
        t.image_pack_2_2, 9, 576, t.unit1_conv1_conv2d_grad_4 + i * 256, 64, 0, &one, unit[0].conv1_w_grad, 27, 9, 3));
  }
  LIFETIME_END({t.image, 1536}, {t.unit1_conv1_conv2d_grad_4, 2048}, {t.image_pack_2_2, 6912});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
}

// backward: from all_reduce on
static void backward_all_reduce(void) {
  AT_COMM("all_reduce", "blocks.dnn:3");
  // all_reduce gradients of dense1 to unit1.conv1, 28 layers
  CHECK_NCCL(ncclAllReduce(unit[12].conv1_w_grad, unit[12].conv1_w_grad, 4301, ncclFloat, ncclSum, over_data, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
}

// The gradients of all parameters.
static void backward(void) {
  backward_cross_entropy();
  backward_block5();
  backward_block3();
  backward_all_reduce();
}

// What is only reported: metrics and the gradients' norm.
static void report(void) {
  WAIT(parcc.compute, event[1]);

  AT("unit1.batchnorm1 gradient_norm", "blocks.dnn:23");
  LAUNCH_ROWS(k_gradient_norm, 1, t.unit1_batchnorm1_gamma_grad_square, unit[0].batchnorm1_gamma_grad, 4);
  LAUNCH_ROWS(k_gradient_norm, 1, t.unit1_batchnorm1_beta_grad_square, unit[0].batchnorm1_beta_grad, 4);

  AT("unit1.conv1 gradient_norm", "blocks.dnn:23");
  LAUNCH_ROWS(k_gradient_norm2, 1, t.unit1_grad_square, unit[0].conv1_w_grad, t.unit1_batchnorm1_gamma_grad_square, t.unit1_batchnorm1_beta_grad_square, 108);
  LIFETIME_END({t.unit1_batchnorm1_gamma_grad_square, 4}, {t.unit1_batchnorm1_beta_grad_square, 4});

  for (long i = 0; i <= 2; i++) report_block(&block[i]);
  report_unit(&unit[7]);
  report_unit2(&unit[8]);

  AT("block4.conv1 gradient_norm", "blocks.dnn:23");
  LAUNCH_ROWS(k_gradient_norm, 1, t.block4_conv1_w_grad_square, t.block4_conv1_w_grad_whole, 32);
  LAUNCH_ROWS(k_gradient_norm, 1, t.block4_conv1_b_grad_square, t.block4_conv1_b_grad_whole, 8);

  AT("block4.unit1.conv1 gradient_norm", "blocks.dnn:23");
  LAUNCH_ROWS(k_gradient_norm4, 1, t.block4_grad_square, unit[7].conv1_w_grad, block[2].grad_square, unit[7].batchnorm1_gamma_grad_square, unit[7].batchnorm1_beta_grad_square, unit[8].conv1_w_grad_square, unit[8].batchnorm1_gamma_grad_square, unit[8].batchnorm1_beta_grad_square, t.block4_conv1_w_grad_square, t.block4_conv1_b_grad_square, 288);
  LIFETIME_END({unit[7].batchnorm1_gamma_grad_square, 4}, {unit[7].batchnorm1_beta_grad_square, 4},
      {unit[8].conv1_w_grad_square, 4}, {unit[8].batchnorm1_gamma_grad_square, 4},
      {unit[8].batchnorm1_beta_grad_square, 4}, {t.block4_conv1_w_grad_square, 4},
      {t.block4_conv1_b_grad_square, 4}, {block[2].grad_square, 4});

  for (long i = 3; i <= 4; i++) report_block(&block[i]);

  AT("dense1 gradient_norm", "blocks.dnn:23");
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense1_b_grad_square, t.dense1_b_grad_whole, 5);
  LAUNCH_ROWS(k_gradient_norm5, 1, t.gradient_norm, t.dense1_w_grad_whole, block[4].grad_square, t.dense1_b_grad_square, 40);
  LIFETIME_END({t.dense1_b_grad_square, 4}, {block[4].grad_square, 4});
}

// The optimizer.
static void update(void) {
  WAIT(parcc.compute, event[1]);
  for (long i = 0; i <= 8; i++) update_unit(&unit[i]);

  AT("block4.conv1 sgd", "blocks.dnn:23");
  LAUNCH_FLAT(k_sgd, 32, t.block4_conv1_w_v, t.block4_conv1_w_u, t.block4_conv1_w_grad_whole, 32, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 8, t.block4_conv1_b_v, t.block4_conv1_b_u, t.block4_conv1_b_grad_whole, 8, (float)parcc.lr);

  for (long i = 9; i <= 12; i++) update_unit(&unit[i]);

  AT("dense1 sgd", "blocks.dnn:23");
  LAUNCH_FLAT(k_sgd, 40, t.dense1_w_v, t.dense1_w_u, t.dense1_w_grad_whole, 40, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 5, t.dense1_b_v, t.dense1_b_u, t.dense1_b_grad_whole, 5, (float)parcc.lr);
  LIFETIME_END({unit[12].conv1_w_grad, 17204});
}

// Losses and metrics of a batch of the test split.
static void evaluate(void) {
  evaluate_unit(&unit[0]);

  AT("unit1.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_MAP(k_batchnorm_relu, 4 * batch.len, 64, t.eval_relu, unit[0].conv1_conv2d2, unit[0].batchnorm1_running_mean, unit[0].batchnorm1_scale2, unit[0].batchnorm1_beta, batch.len, 4, 64);
  LIFETIME_END({unit[0].conv1_conv2d2, 2048}, {unit[0].batchnorm1_scale2, 16});

  for (long i = 0; i <= 2; i++) evaluate_block(&block[i]);

  AT("block4.unit1.conv1 conv2d", "blocks.dnn:3");
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack2, 144, 4, t.eval_block3_relu_2_pack_3, block[2].relu_2_2 + i * 256, 4, 3, 3, 4, 4, 8, 8);
    // block4.unit1.conv1.conv2d[n, co, p, q] = sum(ci, r, s) (block3.relu.2.pack[n, ci, r, s, p, q] * block4.unit1.conv1.w[co, ci, r, s])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 16, 8, 36, &one,
        t.eval_block3_relu_2_pack_3, 16, unit[7].conv1_w, 36, &zero, t.eval_block4_unit1_conv1_conv2d + i * 128, 16));
  }
  LIFETIME_END({t.eval_block3_relu_2_pack_3, 2304});

  AT("block4.unit1.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_FLAT(k_batchnorm4, 8, t.eval_block4_unit1_batchnorm1_scale, unit[7].batchnorm1_gamma, unit[7].batchnorm1_running_var, 8);
  LAUNCH_MAP(k_batchnorm_relu, 8 * batch.len, 16, t.eval_block4_relu, t.eval_block4_unit1_conv1_conv2d, unit[7].batchnorm1_running_mean, t.eval_block4_unit1_batchnorm1_scale, unit[7].batchnorm1_beta, batch.len, 8, 16);
  LIFETIME_END({t.eval_block4_unit1_conv1_conv2d, 1024}, {t.eval_block4_unit1_batchnorm1_scale, 32});

  evaluate_unit(&unit[8]);

  AT("block4.conv1 conv2d", "blocks.dnn:8");
  for (long i = 0; i < batch.len; i++) {
    LAUNCH_MAP(k_pack3, 16, 4, t.eval_block3_relu_2_pack_2_2, block[2].relu_2_2 + i * 256, 4, 4, 4, 8, 8);
    // block4.conv1.conv2d[n, co, p, q] = sum(ci) (block3.relu.2.pack.2[n, ci, p, q] * block4.conv1.w[co, ci, 0, 0])
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 16, 8, 4, &one,
        t.eval_block3_relu_2_pack_2_2, 16, t.block4_conv1_w, 4, &zero, t.eval_block4_conv1_conv2d + i * 128, 16));
  }
  LIFETIME_END({block[2].relu_2_2, 2048}, {t.eval_block3_relu_2_pack_2_2, 256});
  AT("block4.conv1 channel_bias", "blocks.dnn:8");
  LAUNCH_MAP(k_channel_bias, 8 * batch.len, 16, t.eval_block4_conv1_channel_bias, t.eval_block4_conv1_conv2d, t.block4_conv1_b, batch.len, 8, 16);
  LIFETIME_END({t.eval_block4_conv1_conv2d, 1024});

  AT("block4.unit2.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_MAP(k_batchnorm_add_relu, 8 * batch.len, 16, t.eval_block4_relu_2, unit[8].conv1_conv2d2, unit[8].batchnorm1_running_mean, unit[8].batchnorm1_scale2, unit[8].batchnorm1_beta, t.eval_block4_conv1_channel_bias, batch.len, 8, 16);
  LIFETIME_END({unit[8].conv1_conv2d2, 1024}, {unit[8].batchnorm1_scale2, 32},
      {t.eval_block4_conv1_channel_bias, 1024});

  evaluate_block(&block[3]);
  evaluate_unit2(&unit[11]);

  AT("block6.unit1.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_MAP(k_batchnorm_relu, 8 * batch.len, 16, t.eval_block6_relu, unit[11].conv1_conv2d2, unit[11].batchnorm1_running_mean, unit[11].batchnorm1_scale2, unit[11].batchnorm1_beta, batch.len, 8, 16);
  LIFETIME_END({unit[11].conv1_conv2d2, 1024}, {unit[11].batchnorm1_scale2, 32});

  evaluate_unit(&unit[12]);

  AT("block6.unit2.batchnorm1 batchnorm", "blocks.dnn:3");
  LAUNCH_LANES(k_batchnorm_add_relu3, 8 * batch.len, t.eval_global_avgpool, unit[12].conv1_conv2d2, unit[12].batchnorm1_running_mean, unit[12].batchnorm1_scale2, unit[12].batchnorm1_beta, block[3].relu_2_2, batch.len, 8);
  LIFETIME_END({block[3].relu_2_2, 1024}, {unit[12].conv1_conv2d2, 1024},
      {unit[12].batchnorm1_scale2, 32});

  AT("dense1 dense", "blocks.dnn:19");
  LAUNCH_LANES(k_dense, 5 * batch.len, t.eval_dense1_y_2, t.eval_global_avgpool, t.dense1_w, t.dense1_b, batch.len, 5);
  LIFETIME_END({t.eval_global_avgpool, 64});

  AT("cross_entropy", "blocks.dnn:20");
  LAUNCH_LANES(k_cross_entropy5, batch.len, t.eval_cross_entropy_each, t.eval_dense1_y_2, t.eval_label, batch.len);
  LIFETIME_END({t.eval_dense1_y_2, 40});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.eval_cross_entropy_sum, t.eval_cross_entropy_each, batch.len);
  LIFETIME_END({t.eval_cross_entropy_each, 8});
  LAUNCH_ROWS(k_cross_entropy3, 1, t.eval_cross_entropy_sum_2, t.eval_label, batch.len);
  LIFETIME_END({t.eval_label, 8});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "blocks.dnn:20");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2
  CHECK_NCCL(ncclAllReduce(t.eval_cross_entropy_sum, t.eval_cross_entropy_sum, 2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "blocks.dnn:20");
  LAUNCH_FLAT(k_cross_entropy4, 1, t.eval_cross_entropy, t.eval_cross_entropy_sum_whole, t.eval_cross_entropy_sum_2_whole);
  LIFETIME_END({t.eval_cross_entropy_sum_whole, 8});
}

// ---- the run ---------------------------------------------------------------------------------------------------------

static const ParccInput inputs[] = { // name, type, extents of the whole batch, range, files, scale, offset, windows, lines
    {"image", PARCC_FLOAT, 4, {4, 3, 8, 8}, 0, {NULL, NULL, NULL, 1.0, 0.0, NULL, NULL}},
    {"label", PARCC_INT, 1, {4}, 5, {NULL, NULL, NULL, 1.0, 0.0, NULL, NULL}},
};

static const char *const scalars[] = {"loss"};

static double learning_rate(double step, double steps) {
  (void)step;
  (void)steps;
  return 0.1;
}

static const ParccModel model = {
    .name = "blocks",
    .source = "blocks.dnn",
    .ranks = RANKS,
    .batch = 4,
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

static void place_unit(char *arena) {
  static const UnitSize sizes[] = {
      {108, 4, 216, 8, 192, 3, 64, 27, 256, 6912, 16, 1536, 0, 0, 0.19245009f, 256.0f, 255.0f},
      {144, 4, 288, 8, 256, 4, 64, 36, 256, 9216, 16, 2048, 768, 576, 0.16666667f, 256.0f, 255.0f},
      {288, 8, 0, 0, 0, 4, 0, 0, 0, 0, 32, 0, 0, 0, 0.16666667f, 0, 0},
      {576, 8, 288, 4, 128, 8, 16, 72, 128, 4608, 32, 1024, 384, 144, 0.11785113f, 64.0f, 63.0f},
  };
  static const struct {
    const char *name;
    int sizes;
    long stream;
    long place[37]; // in the order of Unit, in units of 4 bytes
  } row[] = {
      {"unit1", 0, 0, {0, 128, 192, 256, 320, 8064, 8192, 8256, 14464, 28800, 21120, 14464, 31872, 14528, 31936, 32000, -1, 21056, -1, -1, -1, -1, -1, -1, -1, -1, -1, 18652, -1,
       18648, -1, -1, -1, 14464, 16704, 16192, 14464}},
      {"block1.unit1", 1, 1, {384, 576, 640, 704, 768, 8320, 8512, 8576, 14464, 21632, 22144, 14464, 32064, 14528, 32128, 32192, 19328, 23168, 19904, 19328, 19968, 19840, 19840,
       22144, 18816, 18816, 22656, 18384, 18816, 18644, 18816, 18880, -1, 14464, 16768, 17280, 14464}},
      {"block1.unit2", 1, 2, {832, 1024, 1088, 1152, 1216, 8640, 8832, 8896, 14464, 22656, 23168, 14464, 32256, 14528, 32320, 32384, 19328, 24704, 19904, 19328, 19968, 19840,
       19840, 23168, 18816, 18816, 23680, 18240, 18816, 18640, 19008, 19072, 18944, 14464, 17792, 17280, 14464}},
      {"block2.unit1", 1, 3, {1280, 1472, 1536, 1600, 1664, 8960, 9152, 9216, 14464, 23680, 24192, 14464, 32448, 14528, 32512, 32576, 19328, 25216, 19904, 19328, 19968, 19840,
       19840, 24192, 18816, 18816, 24704, 18096, 18816, 18636, 18816, 18880, -1, 14464, 17792, 16768, 14464}},
      {"block2.unit2", 1, 4, {1728, 1920, 1984, 2048, 2112, 9280, 9472, 9536, 14464, 24704, 25216, 14464, 32640, 14528, 32704, 32768, 19328, 26752, 19904, 19328, 19968, 19840,
       19840, 25216, 18816, 18816, 25728, 17952, 18816, 18632, 19008, 19072, 18944, 14464, 17280, 16768, 14464}},
      {"block3.unit1", 1, 5, {2176, 2368, 2432, 2496, 2560, 9600, 9792, 9856, 14464, 25728, 26240, 14464, 32832, 14528, 32896, 32960, 19328, 27776, 19904, 19328, 19968, 19840,
       19840, 26240, 18816, 18816, 26752, 17808, 18816, 18628, 18816, 18880, -1, 14464, 17280, 16768, 14464}},
      {"block3.unit2", 1, 6, {2624, 2816, 2880, 2944, 3008, 9920, 10112, 10176, 14464, 26752, 19968, 14464, 33024, 14528, 33088, 33152, 19328, 29376, 19840, 19328, 20480, 19904,
       19840, 27776, 18816, 18816, 28288, 17664, 18816, 18624, 19008, 19072, 18944, 14464, 17792, 16768, 14464}},
      {"block4.unit1", 2, 7, {3072, 3392, 3456, 3520, 3584, 10240, 10560, 10624, -1, -1, -1, -1, -1, -1, -1, -1, -1, 29184, -1, -1, -1, -1, -1, -1, -1, -1, -1, 17376, -1, 18616,
       18816, 18880, -1, -1, -1, -1, -1}},
      {"block4.unit2", 3, 8, {3648, 4224, 4288, 4352, 4416, 10688, 11264, 11328, 14464, 27520, 27776, 14464, 31168, 14528, 31232, 31296, 19456, 29248, 19328, 18816, 19456, 19392,
       19328, 27776, 19072, 18816, 28032, 16768, 18816, 18608, 19008, 19072, 18944, 14464, 16128, 16384, 14976}},
      {"block5.unit1", 3, 11, {4608, 5184, 5248, 5312, 5376, 11520, 12096, 12160, 14464, 28032, 28288, 14464, 20992, 14528, 21056, 31360, 19072, 29312, 19392, 19072, 19456, 19328,
       19328, 28288, 18816, 18816, 28544, 16192, 18816, 18592, 18816, 18880, -1, 14464, 15616, 15872, 14464}},
      {"block5.unit2", 3, 12, {5440, 6016, 6080, 6144, 6208, 12224, 12800, 12864, 14464, 28544, 29184, 14464, 31424, 14528, 31488, 31552, 19072, 29952, 19392, 19072, 19456, 19328,
       19328, 29184, 18816, 18816, 29440, 15616, 18816, 18584, 19008, 19072, 18944, 14464, 16128, 15872, 14464}},
      {"block6.unit1", 3, 13, {6272, 6848, 6912, 6976, 7040, 12928, 13504, 13568, 14464, 29440, 29696, 14464, 31616, 14528, 31680, 31744, 19072, 30464, 19392, 19072, 19456, 19328,
       19328, 29696, 18816, 18816, 29952, 15040, 18816, 18576, 18816, 18880, -1, 14464, 16128, 15616, 14464}},
      {"block6.unit2", 3, 14, {7104, 7680, 7744, 7808, 7872, 13632, 14208, 14272, 14464, 29952, 18816, 14464, 19712, 14528, 19776, 19840, -1, 31808, -1, -1, -1, -1, -1, -1, -1,
       -1, -1, 14464, -1, 18568, 19008, 19072, 18944, 14464, 15872, 15616, 14528}},
  };
  for (long i = 0; i < 13; i++) {
    Unit *const layer = &unit[i];
    layer->name = row[i].name;
    layer->sizes = &sizes[row[i].sizes];
    layer->stream = row[i].stream;
    parcc_place_record(arena, 4, row[i].place, 37, &layer->conv1_w);
  }
}

static void place_block(char *arena) {
  static const BlockSize sizes[] = {
      {4, 64, 2048, 144, 16},
      {8, 16, 1024, 576, 32},
  };
  static const struct {
    const char *name;
    int sizes;
    int unit1, unit2;
    long place[12]; // in the order of Block, in units of 4 bytes
  } row[] = {
      {"block1", 0, 1, 2, {22656, 23680, 21632, 24192, 26240, 24704, 23680, 19200, 19136, 17792, 17792, 16768}},
      {"block2", 0, 3, 4, {24704, 25728, 23680, 26240, 27264, 26752, 25728, 19136, 19200, 17280, 17280, 17792}},
      {"block3", 0, 5, 6, {26752, 20480, 25728, -1, -1, -1, -1, 19264, 19136, 17792, 15616, 17280}},
      {"block5", 1, 9, 10, {28544, 29440, 28032, 29696, 30208, 29952, 29440, 19136, 19328, 16128, 16128, 15616}},
      {"block6", 1, 11, 12, {-1, -1, -1, -1, -1, -1, -1, 19200, 19136, -1, -1, -1}},
  };
  for (long i = 0; i < 5; i++) {
    Block *const layer = &block[i];
    layer->name = row[i].name;
    layer->sizes = &sizes[row[i].sizes];
    layer->unit1 = &unit[row[i].unit1];
    layer->unit2 = &unit[row[i].unit2];
    parcc_place_record(arena, 4, row[i].place, 12, &layer->relu);
  }
}

static void place_tensors(void) {
  char *const arena = parcc_arena(133120);
  static const long place[] = {4480, 4544, 7936, 8000, 11392, 11456, 14336, 14400, 28800, 19392, 21632, 27264, 14464, 30976, 14528, 31040, 31104, 27520, 14464, 14720, 28032,
      29952, 19072, 19584, 14464, 14528, 14592, 14656, 14464, 14465, 33216, 17344, 18600, 18528, 18760, 18816, 18880, 19136, 19200, 18816, 19136, 19328, 18880, 11392, 4480, 11456,
      4544, 14336, 7936, 14400, 8000, 14656, 14464, 19456, 19328, 19648, 30208, 19328, 19584, 19072, 19648, 19072, 19776, 18816, 30464, 30720, 28544, 18816, 20992, 28032, 18816,
      19328, 19072, 19392, 19072, 19456, 19328, 27264, 19392, 27264, 28288, 22656, 18816, 19840, 19328, 19904, 19328, 19968, 19840, 20544, 14464, 14528, 14464, 14465, 18760,
      18528, 19072, 19776, 18600, 17344, 19072, 19456, 19328, 19968, 14464, 14720, 18816, 18816, 19328, 18816, 18816, 18816, 16704, 18304, 16768, 15040, 14464, 16128, 14464,
      14720, 15616, 15872, 14464, 14528, 14464, 14528, 14529, 14464, 14528, 14529, 14464, 14720};
  parcc_place_record(arena, 4, place, 132, &t); // in units of so many bytes
  place_unit(arena);
  place_block(arena);
}

// What --save writes and --load reads.
static void list_stored(void) {
  for (long i = 0; i <= 8; i++) list_stored_unit(&unit[i]);
  STORE("block4.conv1.w", PARCC_PARAM, PARCC_FLOAT, t.block4_conv1_w, WHOLE(8), WHOLE(4), WHOLE(1), WHOLE(1));
  STORE("block4.conv1.b", PARCC_PARAM, PARCC_FLOAT, t.block4_conv1_b, WHOLE(8));
  for (long i = 9; i <= 12; i++) list_stored_unit(&unit[i]);
  STORE("dense1.w", PARCC_PARAM, PARCC_FLOAT, t.dense1_w, WHOLE(5), WHOLE(8));
  STORE("dense1.b", PARCC_PARAM, PARCC_FLOAT, t.dense1_b, WHOLE(5));
  for (long i = 0; i <= 8; i++) list_stored_unit2(&unit[i]);
  STORE("block4.conv1.w.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.block4_conv1_w_velocity, WHOLE(8), WHOLE(4), WHOLE(1), WHOLE(1));
  STORE("block4.conv1.b.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.block4_conv1_b_velocity, WHOLE(8));
  for (long i = 9; i <= 12; i++) list_stored_unit2(&unit[i]);
  STORE("dense1.w.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense1_w_velocity, WHOLE(5), WHOLE(8));
  STORE("dense1.b.velocity", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense1_b_velocity, WHOLE(5));
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &model);
  over_data = parcc_axis(1, DATA);
  parcc_events(event, 2);
  place_tensors();
  batch = parcc_block(4, 2, parcc.rank / 1 % DATA);
  list_stored();
  init();
  parcc_load();

  while (parcc_next_step()) {
    LOAD_BATCH(0, t.image, batch, {0, 3}, {0, 8}, {0, 8});
    LOAD_BATCH(1, t.label, batch);
    forward();
    backward();
    if (parcc_reports()) report();
    update();
    END_STEP(t.gradient_norm, t.cross_entropy);
  }

  for (long count; (count = parcc_next_eval()) > 0;) {
    batch = parcc_block(count, 2, parcc.rank / 1 % DATA);
    LOAD_BATCH(0, t.eval_image, batch, {0, 3}, {0, 8}, {0, 8});
    LOAD_BATCH(1, t.eval_label, batch);
    evaluate();
    END_EVAL(count, t.eval_cross_entropy);
  }
  return parcc_finish();
}
