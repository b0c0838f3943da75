// layouts on 4 ranks. Written by parcc from layouts.dnn; edit freely, or run parcc again.
//
//   mesh        a=2 b=2
//   plan        read from layouts.in.plan
//   parameters  195
//   memory      8448 bytes on each device, in one arena (largest sum of live tensors: 8448)
//   moved by the busiest rank in a step: forward 13 collectives, 568 bytes; backward 10 collectives, 751 bytes; report 5 collectives, 28 bytes; update 2 collectives, 72 bytes
//
//   parcc-cc THIS.cu -o PROG && mpiexec -n 4 PROG --data DIR

#include "parcc.h"

enum { RANKS = 4, A = 2, B = 2 };
static const float one = 1, zero = 0;

static Interval co; // this rank's part of 8, over a
static Interval ci; // this rank's part of 8, over b
static Interval co_2; // this rank's part of 5, over a
static Interval co_3; // this rank's part of 5, over a, b
static Interval co_4; // this rank's part of 9, over b
static Interval batch; // this rank's part of 6, over a, b
static Interval batch_2; // this rank's part of 6, over a
static Interval co_5; // this rank's part of 5, over b
static Interval batch_3; // this rank's part of 6, over b
static ncclComm_t over_a;
static ncclComm_t over_b;
static ncclComm_t everybody;
static cudaEvent_t event[11];
static long samples = 6; // in the batch at hand

// How tensors are divided: extent, units, scale, before, after, div and axes of each dimension; stride, size and place of
// each axis (-1: replicated, -2: divided, else the coordinate that holds the tensor).
static const ParccDivision division[] = {
    {2, {{9, 0, 1, 0, 0, 1, 0}, {8, 8, 1, 0, 0, 1, 2}}, 3, {{2, 2, -1}, {1, 2, -2}, {1, 1, -1}}},
    {2, {{9, 0, 1, 0, 0, 1, 0}, {8, 0, 1, 0, 0, 1, 0}}, 3, {{2, 2, -1}, {1, 2, -1}, {1, 1, -1}}},
    {2, {{6, 6, 1, 0, 0, 1, 7}, {8, 0, 1, 0, 0, 1, 0}}, 3, {{2, 2, -2}, {1, 2, -2}, {1, 1, -2}}},
    {2, {{6, 6, 1, 0, 0, 1, 5}, {8, 0, 1, 0, 0, 1, 0}}, 3, {{2, 2, -2}, {1, 2, -1}, {1, 1, -2}}},
    {2, {{5, 5, 1, 0, 0, 1, 1}, {9, 0, 1, 0, 0, 1, 0}}, 3, {{2, 2, -2}, {1, 2, -1}, {1, 1, -1}}},
    {2, {{5, 0, 1, 0, 0, 1, 0}, {9, 0, 1, 0, 0, 1, 0}}, 3, {{2, 2, -1}, {1, 2, -1}, {1, 1, -1}}},
    {1, {{5, 5, 1, 0, 0, 1, 3}}, 3, {{2, 2, -2}, {1, 2, -2}, {1, 1, -1}}},
    {1, {{5, 5, 1, 0, 0, 1, 2}}, 3, {{2, 2, -1}, {1, 2, -2}, {1, 1, -1}}},
    {2, {{9, 9, 1, 0, 0, 1, 2}, {8, 0, 1, 0, 0, 1, 0}}, 3, {{2, 2, -1}, {1, 2, -2}, {1, 1, -1}}},
    {1, {{9, 0, 1, 0, 0, 1, 0}}, 3, {{2, 2, -1}, {1, 2, -1}, {1, 1, -1}}},
    {1, {{9, 9, 1, 0, 0, 1, 2}}, 3, {{2, 2, -1}, {1, 2, -2}, {1, 1, -1}}},
    {2, {{5, 0, 1, 0, 0, 1, 0}, {9, 9, 1, 0, 0, 1, 2}}, 3, {{2, 2, -1}, {1, 2, -2}, {1, 1, -1}}},
    {2, {{6, 6, 1, 0, 0, 1, 5}, {5, 0, 1, 0, 0, 1, 0}}, 3, {{2, 2, -2}, {1, 2, -1}, {1, 1, -2}}},
    {2, {{6, 6, 1, 0, 0, 1, 5}, {5, 5, 1, 0, 0, 1, 2}}, 3, {{2, 2, -2}, {1, 2, -2}, {1, 1, -2}}},
    {2, {{6, 6, 1, 0, 0, 1, 6}, {5, 0, 1, 0, 0, 1, 0}}, 3, {{2, 2, 0}, {1, 2, -2}, {1, 1, -2}}},
    {1, {{6, 6, 1, 0, 0, 1, 5}}, 3, {{2, 2, -2}, {1, 2, -1}, {1, 1, -2}}},
    {1, {{6, 6, 1, 0, 0, 1, 7}}, 3, {{2, 2, -2}, {1, 2, -2}, {1, 1, -2}}},
    {1, {{6, 6, 1, 0, 0, 1, 6}}, 3, {{2, 2, 0}, {1, 2, -2}, {1, 1, -2}}},
    {2, {{6, 6, 1, 0, 0, 1, 7}, {5, 0, 1, 0, 0, 1, 0}}, 3, {{2, 2, -2}, {1, 2, -2}, {1, 1, -2}}},
    {1, {{5, 0, 1, 0, 0, 1, 0}}, 3, {{2, 2, -1}, {1, 2, -1}, {1, 1, -1}}},
    {2, {{5, 5, 1, 0, 0, 1, 1}, {9, 9, 1, 0, 0, 1, 2}}, 3, {{2, 2, -2}, {1, 2, -2}, {1, 1, -1}}},
    {2, {{6, 6, 1, 0, 0, 1, 5}, {9, 9, 1, 0, 0, 1, 2}}, 3, {{2, 2, -2}, {1, 2, -2}, {1, 1, -2}}},
    {2, {{6, 6, 1, 0, 0, 1, 7}, {9, 0, 1, 0, 0, 1, 0}}, 3, {{2, 2, -2}, {1, 2, -2}, {1, 1, -2}}},
    {1, {{9, 9, 1, 0, 0, 1, 2}}, 3, {{2, 2, 1}, {1, 2, -2}, {1, 1, -1}}},
};

// Tensors of this rank: places in one arena, shared by those whose lifetimes do not overlap.
// LIFETIME_END tells the checking mode which bytes are free for others.
static struct {
  float *dense1_w; // dense1.w [co.len, 7]
  float *dense1_b; // dense1.b [8]
  float *dense2_w; // dense2.w [9, ci.len]
  float *dense2_b; // dense2.b [9]
  float *dense3_w; // dense3.w [co_2.len, 9]
  float *dense3_b; // dense3.b [co_3.len]
  float *dense1_w_moment1; // dense1.w.moment1 [co.len, 7]
  float *dense1_w_moment2; // dense1.w.moment2 [co.len, 7]
  float *dense1_b_moment1; // dense1.b.moment1 [8]
  float *dense1_b_moment2; // dense1.b.moment2 [8]
  float *dense2_w_moment1; // dense2.w.moment1 [9, ci.len]
  float *dense2_w_moment2; // dense2.w.moment2 [9, ci.len]
  float *dense2_b_moment1; // dense2.b.moment1 [co_4.len]
  float *dense2_b_moment2; // dense2.b.moment2 [9]
  float *dense3_w_moment1; // dense3.w.moment1 [co_2.len, 9]
  float *dense3_w_moment2; // dense3.w.moment2 [co_2.len, 9]
  float *dense3_b_moment1; // dense3.b.moment1 [co_3.len]
  float *dense3_b_moment2; // dense3.b.moment2 [co_3.len]
  float *x; // x [batch.len, 7]
  int *label; // label [batch_2.len]
  float *dense1_y; // dense1.y [batch.len, 8]
  float *relu; // relu [batch.len, 8]
  float *dense2_y; // dense2.y [batch_2.len, co_4.len]
  float *tanh_; // tanh [batch_2.len, co_4.len]
  float *dense3_y; // dense3.y [batch_2.len, 5]
  float *dense3_y_2; // dense3.y.2 [batch_2.len, co_5.len]
  float *cross_entropy_top; // cross_entropy.top [batch_2.len]
  float *cross_entropy_z; // cross_entropy.z [batch_2.len, co_5.len]
  float *cross_entropy_total; // cross_entropy.total [batch_3.len]
  float *cross_entropy_picked; // cross_entropy.picked [batch_2.len]
  float *cross_entropy_sum; // cross_entropy.sum []
  float *cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *cross_entropy; // cross_entropy []
  float *dense1_w_grad; // dense1.w.grad [8, 7]
  float *dense1_b_grad; // dense1.b.grad [8]
  float *dense2_w_grad; // dense2.w.grad [9, 8]
  float *dense2_b_grad; // dense2.b.grad [9]
  float *dense3_w_grad; // dense3.w.grad [5, co_4.len]
  float *dense3_b_grad; // dense3.b.grad [5]
  float *dense1_w_grad_square; // dense1.w.grad.square []
  float *dense2_w_grad_square; // dense2.w.grad.square []
  float *dense2_b_grad_square; // dense2.b.grad.square []
  float *dense3_w_grad_square; // dense3.w.grad.square []
  float *dense3_b_grad_square; // dense3.b.grad.square []
  float *gradient_norm; // gradient_norm []
  float *dense1_w_m; // dense1.w.m [co.len, 7]
  float *dense1_w_v; // dense1.w.v [co.len, 7]
  float *dense1_w_u; // dense1.w.u [co.len, 7]
  float *dense1_b_m; // dense1.b.m [8]
  float *dense1_b_v; // dense1.b.v [8]
  float *dense1_b_u; // dense1.b.u [8]
  float *dense2_w_m; // dense2.w.m [9, ci.len]
  float *dense2_w_v; // dense2.w.v [9, ci.len]
  float *dense2_w_u; // dense2.w.u [9, ci.len]
  float *dense2_b_m; // dense2.b.m [co_4.len]
  float *dense2_b_v; // dense2.b.v [9]
  float *dense2_b_u; // dense2.b.u [co_4.len]
  float *dense3_w_m; // dense3.w.m [co_2.len, 9]
  float *dense3_w_v; // dense3.w.v [co_2.len, 9]
  float *dense3_w_u; // dense3.w.u [co_2.len, 9]
  float *dense3_b_m; // dense3.b.m [co_3.len]
  float *dense3_b_v; // dense3.b.v [co_3.len]
  float *dense3_b_u; // dense3.b.u [co_3.len]
  float *cross_entropy_sum_grad; // cross_entropy.sum.grad []
  float *cross_entropy_total_grad; // cross_entropy.total.grad [batch.len]
  float *cross_entropy_picked_grad; // cross_entropy.picked.grad [batch.len]
  float *cross_entropy_z_grad_2; // cross_entropy.z.grad.2 [batch.len, 5]
  float *cross_entropy_z_grad_3; // cross_entropy.z.grad.3 [batch.len, 5]
  float *tanh_grad; // tanh.grad [batch.len, 9]
  float *dense2_y_2_grad; // dense2.y.2.grad [batch.len, 9]
  float *relu_grad; // relu.grad [batch.len, 8]
  float *dense1_y_2_grad; // dense1.y.2.grad [batch.len, 8]
  float *dense1_w_whole; // dense1.w.whole [8, 7]
  float *dense1_b_whole; // dense1.b.whole [8]
  float *relu_whole; // relu.whole [batch_2.len, 8]
  float *dense2_w_whole; // dense2.w.whole [9, 8]
  float *dense2_w_whole_part; // dense2.w.whole.part [co_4.len, 8]
  float *dense2_b_part; // dense2.b.part [co_4.len]
  float *dense3_w_whole; // dense3.w.whole [5, 9]
  float *dense3_w_whole_part; // dense3.w.whole.part [5, co_4.len]
  float *dense3_y_part; // dense3.y.part [batch_2.len, co_5.len]
  float *dense3_b_moved; // dense3.b.moved [co_5.len]
  float *cross_entropy_top_whole; // cross_entropy.top.whole [batch_2.len]
  float *cross_entropy_z_moved; // cross_entropy.z.moved [batch_3.len, 5]
  float *cross_entropy_picked_part; // cross_entropy.picked.part [batch.len]
  int *label_part; // label.part [batch.len]
  float *cross_entropy_total_moved; // cross_entropy.total.moved [batch.len]
  float *cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
  float *cross_entropy_z_moved_2; // cross_entropy.z.moved.2 [batch.len, 5]
  float *dense3_b_grad_part; // dense3.b.grad.part [co_3.len]
  float *cross_entropy_z_grad_3_whole; // cross_entropy.z.grad.3.whole [batch_2.len, 5]
  float *dense3_w_grad_part; // dense3.w.grad.part [co_2.len, co_4.len]
  float *tanh_moved; // tanh.moved [batch.len, 9]
  float *dense2_b_grad_whole; // dense2.b.grad.whole [9]
  float *dense2_w_grad_part; // dense2.w.grad.part [9, ci.len]
  float *dense2_w_grad_part_whole; // dense2.w.grad.part.whole [9, ci.len]
  float *dense1_b_grad_whole_moved; // dense1.b.grad.whole.moved [8]
  float *dense1_w_grad_part; // dense1.w.grad.part [co.len, 7]
  float *dense1_w_grad_part_whole; // dense1.w.grad.part.whole [co.len, 7]
  float *dense1_w_grad_square_moved; // dense1.w.grad.square.moved []
  float *dense2_w_grad_part_whole_moved; // dense2.w.grad.part.whole.moved [9, ci.len]
  float *dense2_w_grad_square_whole; // dense2.w.grad.square.whole []
  float *dense2_b_grad_whole_part; // dense2.b.grad.whole.part [co_4.len]
  float *dense2_b_grad_square_whole; // dense2.b.grad.square.whole []
  float *dense3_w_grad_square_whole_moved; // dense3.w.grad.square.whole.moved []
  float *dense3_b_grad_square_whole_moved; // dense3.b.grad.square.whole.moved []
  float *dense2_b_grad_whole_part_2; // dense2.b.grad.whole.part.2 [co_4.len]
  float *dense2_b_v_part; // dense2.b.v.part [co_4.len]
  float *dense3_w_grad_part_whole; // dense3.w.grad.part.whole [co_2.len, 9]
  float *dense2_b_u_whole; // dense2.b.u.whole [9]
  float *gradient_norm_whole; // gradient_norm.whole []
  float *dense2_w_stage; // dense2.w.stage [72]
  float *dense3_y_stage; // dense3.y.stage [15]
  float *cross_entropy_z_stage; // cross_entropy.z.stage [15]
  float *cross_entropy_z_stage_2; // cross_entropy.z.stage [4]
  float *tanh_stage; // tanh.stage [8]
  float *dense2_w_grad_stage; // dense2.w.grad.stage [72]
  float *dense3_w_grad_part_stage; // dense3.w.grad.part.stage [27]
  float *eval_x; // x [batch.len, 7]
  int *eval_label; // label [batch_2.len]
  float *eval_dense1_y; // dense1.y [batch.len, 8]
  float *eval_relu; // relu [batch.len, 8]
  float *eval_dense2_y; // dense2.y [batch_2.len, co_4.len]
  float *eval_tanh; // tanh [batch_2.len, co_4.len]
  float *eval_dense3_y; // dense3.y [batch_2.len, 5]
  float *eval_dense3_y_2; // dense3.y.2 [batch_2.len, co_5.len]
  float *eval_cross_entropy_top; // cross_entropy.top [batch_2.len]
  float *eval_cross_entropy_z; // cross_entropy.z [batch_2.len, co_5.len]
  float *eval_cross_entropy_total; // cross_entropy.total [batch_3.len]
  float *eval_cross_entropy_picked; // cross_entropy.picked [batch_2.len]
  float *eval_cross_entropy_sum; // cross_entropy.sum []
  float *eval_cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *eval_cross_entropy; // cross_entropy []
  float *eval_dense1_w_whole; // dense1.w.whole [8, 7]
  float *eval_dense1_b_whole; // dense1.b.whole [8]
  float *eval_relu_whole; // relu.whole [batch_2.len, 8]
  float *eval_dense2_w_moved; // dense2.w.moved [co_4.len, 8]
  float *eval_dense2_b_part; // dense2.b.part [co_4.len]
  float *eval_dense3_w_part; // dense3.w.part [co_2.len, co_4.len]
  float *eval_dense3_w_part_whole; // dense3.w.part.whole [5, co_4.len]
  float *eval_dense3_y_part; // dense3.y.part [batch_2.len, co_5.len]
  float *eval_dense3_b_moved; // dense3.b.moved [co_5.len]
  float *eval_cross_entropy_top_whole; // cross_entropy.top.whole [batch_2.len]
  float *eval_cross_entropy_z_moved; // cross_entropy.z.moved [batch_3.len, 5]
  float *eval_cross_entropy_picked_part; // cross_entropy.picked.part [batch.len]
  int *eval_label_part; // label.part [batch.len]
  float *eval_cross_entropy_total_moved; // cross_entropy.total.moved [batch.len]
  float *eval_cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *eval_cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
  float *eval_dense2_w_stage; // dense2.w.stage [20]
  float *eval_dense3_y_stage; // dense3.y.stage [15]
  float *eval_cross_entropy_z_stage; // cross_entropy.z.stage [21]
  float *eval_cross_entropy_total_stage; // cross_entropy.total.stage [4]
} t;

// ---- kernels ---------------------------------------------------------------------------------------------------------

// dense1: init (layouts.dnn:5)
__global__ void k_init(float *__restrict__ w, long count, float factor, unsigned long long seed, unsigned long long step, unsigned stream, long co_lo) {
  FLAT(i, count)
    w[i] = factor * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i + 7 * co_lo))) - 1.0f);
}

// dense1: init (layouts.dnn:5)
__global__ void k_init2(float *__restrict__ b, long count, float factor, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) b[i] = factor * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i))) - 1.0f);
}

// dense2: init (layouts.dnn:6)
__global__ void k_init3(float *__restrict__ w, long CO, long CI, float factor, unsigned long long seed, unsigned long long step, unsigned stream, long ci_lo) {
  GRID(co, CO) BLOCK(ci, CI)
    w[co * CI + ci] = factor * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(8 * co + ci + ci_lo))) - 1.0f);
}

// dense3: init (layouts.dnn:7)
__global__ void k_init4(float *__restrict__ w, long count, float factor, unsigned long long seed, unsigned long long step, unsigned stream, long co_2_lo) {
  FLAT(i, count)
    w[i] = factor * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i + 9 * co_2_lo))) - 1.0f);
}

// dense3: init (layouts.dnn:7)
__global__ void k_init5(float *__restrict__ b, long count, float factor, unsigned long long seed, unsigned long long step, unsigned stream, long co_3_lo) {
  FLAT(i, count)
    b[i] = factor * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i + co_3_lo))) - 1.0f);
}

// dense1: init (layouts.dnn:10)
__global__ void k_init6(float *__restrict__ moment1, long count) {
  FLAT(i, count) moment1[i] = 0.0f;
}

// dense2: init (layouts.dnn:10)
__global__ void k_init7(float *__restrict__ moment1, long CO, long CI) {
  GRID(co, CO) BLOCK(ci, CI) moment1[co * CI + ci] = 0.0f;
}

// dense1: dense_relu (layouts.dnn:5)
__global__ void k_dense_relu(float *__restrict__ relu, const float *__restrict__ y2, const float *__restrict__ whole, long len_batch, long CO) {
  GRID(batch, len_batch) BLOCK(co, CO) {
    const float y_ = y2[batch * CO + co] + whole[co];
    relu[batch * CO + co] = parcc_maxf(y_, 0.0f);
  }
}

// dense2: dense_tanh (layouts.dnn:6)
__global__ void k_dense_tanh(float *__restrict__ tanh_, const float *__restrict__ y2, const float *__restrict__ part, long len_batch, long CO) {
  GRID(batch, len_batch) BLOCK(co, CO) {
    const float y_ = y2[batch * CO + co] + part[co];
    tanh_[batch * CO + co] = tanhf(y_);
  }
}

// dense3: dense_cross_entropy (layouts.dnn:7)
__global__ void k_dense_cross_entropy(float *__restrict__ y, float *__restrict__ top, const float *__restrict__ part, const float *__restrict__ moved, long len_batch, long CO) {
  GRID_LANES(batch0, lanes, len_batch) {
    float top_[LANES];
    LANE(l, lanes) top_[l] = -INFINITY;
    for (long co = 0; co < CO; co++)
      LANE(l, lanes) {
        const long batch = batch0 + l;
        const float y_ = part[batch * CO + co] + moved[co];
        const float v = y_;
        top_[l] = v > top_[l] ? v : top_[l];
        y[batch * CO + co] = y_;
      }
    LANE(l, lanes) {
      const long batch = batch0 + l;
      top[batch] = top_[l];
    }
  }
}

// cross_entropy (layouts.dnn:7)
__global__ void k_cross_entropy(float *__restrict__ z, float *__restrict__ picked, const float *__restrict__ y, const float *__restrict__ whole, const int *__restrict__ label, long len_batch, long C, long co_5_lo) {
  GRID_LANES(batch0, lanes, len_batch) {
    float picked_[LANES];
    LANE(l, lanes) picked_[l] = 0.0f;
    for (long c = 0; c < C; c++)
      LANE(l, lanes) {
        const long batch = batch0 + l;
        const float z_ = y[batch * C + c] - whole[batch];
        picked_[l] += (float)((label[batch] == (c + co_5_lo))) * z_;
        z[batch * C + c] = z_;
      }
    LANE(l, lanes) {
      const long batch = batch0 + l;
      picked[batch] = picked_[l];
    }
  }
}

// cross_entropy (layouts.dnn:7)
__global__ void k_cross_entropy2(float *__restrict__ total, const float *__restrict__ moved, long len_batch) {
  GRID_LANES(batch0, lanes, len_batch) {
    float total_[LANES];
    LANE(l, lanes) total_[l] = 0.0f;
    for (long c = 0; c < 5; c++)
      LANE(l, lanes) {
        const long batch = batch0 + l;
        total_[l] += expf(moved[batch * 5 + c]);
      }
    LANE(l, lanes) {
      const long batch = batch0 + l;
      total[batch] = total_[l];
    }
  }
}

// cross_entropy (layouts.dnn:7)
__global__ void k_cross_entropy3(float *__restrict__ sum, const int *__restrict__ part, const float *__restrict__ moved, const float *__restrict__ part2, long len_batch) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(batch, len_batch) {
      const float each_ = (part[batch] == -1) ? 0.0f : (logf(moved[batch]) - part2[batch]);
      sum_ += each_;
    }
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (layouts.dnn:7)
__global__ void k_cross_entropy4(float *__restrict__ sum, const int *__restrict__ label, long len_batch) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(batch, len_batch) sum_ += (label[batch] != -1) ? 1.0f : 0.0f;
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (layouts.dnn:7)
__global__ void k_cross_entropy5(float *__restrict__ cross_entropy, const float *__restrict__ whole, const float *__restrict__ whole2) {
  FLAT(i, 1) cross_entropy[0] = whole[0] / parcc_maxf(whole2[0], 1.0f);
}

// cross_entropy_grad (layouts.dnn:7)
__global__ void k_cross_entropy_grad(float *__restrict__ grad, const float *__restrict__ whole) {
  FLAT(i, 1) grad[0] = 1.0f / parcc_maxf(whole[0], 1.0f);
}

// cross_entropy_grad (layouts.dnn:7)
__global__ void k_cross_entropy_grad2(float *__restrict__ grad, float *__restrict__ grad3, const int *__restrict__ part, const float *__restrict__ grad2, const float *__restrict__ moved, long count) {
  FLAT(i, count) {
    const float grad_ = ((part[i] == -1) ? 0.0f : grad2[0]) / moved[i];
    const float grad_2 = -((part[i] == -1) ? 0.0f : grad2[0]);
    grad[i] = grad_;
    grad3[i] = grad_2;
  }
}

// cross_entropy_grad (layouts.dnn:7)
__global__ void k_cross_entropy_grad3(float *__restrict__ grad, const float *__restrict__ grad2, const float *__restrict__ moved, long len_batch, long C) {
  GRID(batch, len_batch) BLOCK(c, C) grad[batch * C + c] = grad2[batch] * expf(moved[batch * C + c]);
}

// cross_entropy_dense_grad (layouts.dnn:7)
__global__ void k_cross_entropy_dense_grad(float *__restrict__ grad3, float *__restrict__ grad5, const float *__restrict__ grad2, const int *__restrict__ part, const float *__restrict__ grad4, long C, long len_batch) {
  GRID_LANES(c0, lanes, C) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long batch = 0; batch < len_batch; batch++)
      LANE(l, lanes) {
        const long c = c0 + l;
        const float grad_2 = grad2[batch] * (float)((part[batch] == c));
        const float grad_3 = grad_2 + grad4[batch * C + c];
        grad_[l] += grad_3;
        grad3[batch * C + c] = grad_3;
      }
    LANE(l, lanes) {
      const long c = c0 + l;
      grad5[c] = grad_[l];
    }
  }
}

// tanh_dense_grad (layouts.dnn:6)
__global__ void k_tanh_dense_grad(float *__restrict__ grad, float *__restrict__ grad3, const float *__restrict__ grad2, const float *__restrict__ moved, long CO, long len_batch) {
  GRID_LANES(co0, lanes, CO) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long batch = 0; batch < len_batch; batch++)
      LANE(l, lanes) {
        const long co = co0 + l;
        const float grad_2 = grad2[batch * CO + co] * (1.0f - (moved[batch * CO + co] * moved[batch * CO + co]));
        grad_[l] += grad_2;
        grad[batch * CO + co] = grad_2;
      }
    LANE(l, lanes) {
      const long co = co0 + l;
      grad3[co] = grad_[l];
    }
  }
}

// relu_dense_grad (layouts.dnn:5)
__global__ void k_relu_dense_grad(float *__restrict__ grad, float *__restrict__ grad3, const float *__restrict__ relu, const float *__restrict__ grad2, long CO, long len_batch) {
  GRID_LANES(co0, lanes, CO) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long batch = 0; batch < len_batch; batch++)
      LANE(l, lanes) {
        const long co = co0 + l;
        const float grad_2 = (relu[batch * CO + co] > 0.0f) ? grad2[batch * CO + co] : 0.0f;
        grad_[l] += grad_2;
        grad[batch * CO + co] = grad_2;
      }
    LANE(l, lanes) {
      const long co = co0 + l;
      grad3[co] = grad_[l];
    }
  }
}

// dense1: gradient_norm (layouts.dnn:10)
__global__ void k_gradient_norm(float *__restrict__ square, const float *__restrict__ whole, long len_coci) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(coci, len_coci) square_ += whole[coci] * whole[coci];
    square_ = BLOCK_SUM(square_);
    ONCE square[0] = square_;
  }
}

// dense2: gradient_norm (layouts.dnn:10)
__global__ void k_gradient_norm2(float *__restrict__ square, const float *__restrict__ moved, long CO, long CI) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK2(co, CO, ci, CI) square_ += moved[co * CI + ci] * moved[co * CI + ci];
    square_ = BLOCK_SUM(square_);
    ONCE square[0] = square_;
  }
}

// dense1: gradient_norm (layouts.dnn:10)
__global__ void k_gradient_norm3(float *__restrict__ gradient_norm, const float *__restrict__ moved, const float *__restrict__ moved2, const float *__restrict__ whole, const float *__restrict__ whole2, const float *__restrict__ moved3, const float *__restrict__ moved4, long CO) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(co, CO) square_ += moved[co] * moved[co];
    square_ = BLOCK_SUM(square_);
    const float gradient_norm_ = sqrtf((((((moved2[0] + square_) + whole[0]) + whole2[0]) + moved3[0]) + moved4[0]));
    ONCE gradient_norm[0] = gradient_norm_;
  }
}

// dense1: adam (layouts.dnn:10)
__global__ void k_adam(float *__restrict__ m, float *__restrict__ v, float *__restrict__ u, const float *__restrict__ whole, long count, float factor, float factor2, float lr, float step) {
  FLAT(i, count) {
    const float m_ = (0.9f * m[i]) + (factor * whole[i]);
    const float v_ = (0.999f * v[i]) + ((factor2 * whole[i]) * whole[i]);
    const float u_ = u[i] - ((lr * (m_ / (1.0f - powf(0.9f, (step + 1.0f))))) / (sqrtf((v_ / (1.0f - powf(0.999f, (step + 1.0f))))) + 1e-08f));
    m[i] = m_;
    v[i] = v_;
    u[i] = u_;
  }
}

// dense2: adam (layouts.dnn:10)
__global__ void k_adam2(float *__restrict__ m, float *__restrict__ v, float *__restrict__ u, const float *__restrict__ whole, long CO, long CI, float factor, float factor2, float lr, float step) {
  GRID(co, CO) BLOCK(ci, CI) {
    const float m_ = (0.9f * m[co * CI + ci]) + (factor * whole[co * CI + ci]);
    const float v_ = (0.999f * v[co * CI + ci]) + ((factor2 * whole[co * CI + ci]) * whole[co * CI + ci]);
    const float u_ = u[co * CI + ci] - ((lr * (m_ / (1.0f - powf(0.9f, (step + 1.0f))))) / (sqrtf((v_ / (1.0f - powf(0.999f, (step + 1.0f))))) + 1e-08f));
    m[co * CI + ci] = m_;
    v[co * CI + ci] = v_;
    u[co * CI + ci] = u_;
  }
}

// dense2: adam (layouts.dnn:10)
__global__ void k_adam3(float *__restrict__ v, const float *__restrict__ whole, long count, float factor) {
  FLAT(i, count) v[i] = (0.999f * v[i]) + ((factor * whole[i]) * whole[i]);
}

// dense2: adam (layouts.dnn:10)
__global__ void k_adam4(float *__restrict__ m, float *__restrict__ u, const float *__restrict__ part, const float *__restrict__ part2, const float *__restrict__ part3, long count, float factor, float lr, float step) {
  FLAT(i, count) {
    const float m_ = (0.9f * m[i]) + (factor * part[i]);
    const float u_ = part2[i] - ((lr * (m_ / (1.0f - powf(0.9f, (step + 1.0f))))) / (sqrtf((part3[i] / (1.0f - powf(0.999f, (step + 1.0f))))) + 1e-08f));
    m[i] = m_;
    u[i] = u_;
  }
}

// ---- one step --------------------------------------------------------------------------------------------------------

// Initial values of parameters and states.
static void init(void) {
  AT("dense1 init", "layouts.dnn:5");
  LAUNCH_FLAT(k_init, 7 * co.len, t.dense1_w, 7 * co.len, 0.37796447f, parcc.seed, (unsigned long long)parcc.step, 0, co.lo);
  if (parcc.rank / 2 % A == 1) {
    LAUNCH_FLAT(k_init2, 8, t.dense1_b, 8, 0.37796447f, parcc.seed, (unsigned long long)parcc.step, 1);
  }

  AT("dense2 init", "layouts.dnn:6");
  LAUNCH_MAP(k_init3, 9, ci.len, t.dense2_w, 9, ci.len, 0.35355338f, parcc.seed, (unsigned long long)parcc.step, 2, ci.lo);
  LAUNCH_FLAT(k_init2, 9, t.dense2_b, 9, 0.35355338f, parcc.seed, (unsigned long long)parcc.step, 3);

  AT("dense3 init", "layouts.dnn:7");
  LAUNCH_FLAT(k_init4, 9 * co_2.len, t.dense3_w, 9 * co_2.len, 0.33333334f, parcc.seed, (unsigned long long)parcc.step, 4, co_2.lo);
  LAUNCH_FLAT(k_init5, co_3.len, t.dense3_b, co_3.len, 0.33333334f, parcc.seed, (unsigned long long)parcc.step, 5, co_3.lo);

  AT("dense1 init", "layouts.dnn:10");
  LAUNCH_FLAT(k_init6, 7 * co.len, t.dense1_w_moment1, 7 * co.len);
  LAUNCH_FLAT(k_init6, 7 * co.len, t.dense1_w_moment2, 7 * co.len);
  if (parcc.rank / 2 % A == 1) {
    LAUNCH_FLAT(k_init6, 8, t.dense1_b_moment1, 8);
  }
  if (parcc.rank / 2 % A == 1) {
    LAUNCH_FLAT(k_init6, 8, t.dense1_b_moment2, 8);
  }

  AT("dense2 init", "layouts.dnn:10");
  LAUNCH_MAP(k_init7, 9, ci.len, t.dense2_w_moment1, 9, ci.len);
  LAUNCH_MAP(k_init7, 9, ci.len, t.dense2_w_moment2, 9, ci.len);
  LAUNCH_FLAT(k_init6, co_4.len, t.dense2_b_moment1, co_4.len);
  LAUNCH_FLAT(k_init6, 9, t.dense2_b_moment2, 9);

  AT("dense3 init", "layouts.dnn:10");
  LAUNCH_FLAT(k_init6, 9 * co_2.len, t.dense3_w_moment1, 9 * co_2.len);
  LAUNCH_FLAT(k_init6, 9 * co_2.len, t.dense3_w_moment2, 9 * co_2.len);
  LAUNCH_FLAT(k_init6, co_3.len, t.dense3_b_moment1, co_3.len);
  LAUNCH_FLAT(k_init6, co_3.len, t.dense3_b_moment2, co_3.len);
}

// forward: from dense1 on
static void forward_dense1(void) {
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("dense1 all_gather", "layouts.dnn:5");
  // all_gather dense1.w: [co/a, ci] -> [co, ci]
  CHECK_NCCL(ncclAllGather(t.dense1_w, t.dense1_w_whole, 7 * co.len, ncclFloat, over_a, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
  AT_COMM("dense1 broadcast", "layouts.dnn:5");
  // broadcast dense1.b: [co], on a 1 -> [co]
  CHECK_NCCL(ncclBroadcast(t.dense1_b, t.dense1_b_whole, 8, ncclFloat, 1, over_a, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[2], parcc.comm));

  AT_COMM("dense2 all_gather", "layouts.dnn:6");
  // all_gather dense2.w: [co, ci/b] -> [co, ci]
  parcc_all_gather(t.dense2_w, &division[0], t.dense2_w_whole, &division[1], t.dense2_w_stage, PARCC_FLOAT, samples, 2, over_b);
  CHECK_CUDA(cudaEventRecord(event[3], parcc.comm));
  WAIT(parcc.compute, event[1]);

  AT("dense1 dense", "layouts.dnn:5");
  // dense1.y[batch, co] = sum(ci) (x[batch, ci] * dense1.w.whole[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 8, batch.len, 7, &one,
      t.dense1_w_whole, 7, t.x, 7, &zero, t.dense1_y, 8));
  LIFETIME_END({t.dense1_w_whole, 224});
  WAIT(parcc.compute, event[2]);
  AT("dense1 dense", "layouts.dnn:5");
  LAUNCH_MAP(k_dense_relu, batch.len, 8, t.relu, t.dense1_y, t.dense1_b_whole, batch.len, 8);
  LIFETIME_END({t.dense1_y, 64}, {t.dense1_b_whole, 32});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("dense2 all_gather", "layouts.dnn:6");
  // all_gather relu: [batch/a/b, co] -> [batch/a, co]
  parcc_all_gather(t.relu, &division[2], t.relu_whole, &division[3], NULL, PARCC_FLOAT, samples, 2, over_b);
  CHECK_CUDA(cudaEventRecord(event[2], parcc.comm));

  AT_COMM("dense3 all_gather", "layouts.dnn:7");
  // all_gather dense3.w: [co/a, ci] -> [co, ci]
  parcc_all_gather(t.dense3_w, &division[4], t.dense3_w_whole, &division[5], NULL, PARCC_FLOAT, samples, 1, over_a);
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
  AT_COMM("dense3 exchange", "layouts.dnn:7");
  // exchange dense3.b: [co/a/b] -> [co/b]
  parcc_exchange(t.dense3_b, &division[6], t.dense3_b_moved, &division[7], NULL, PARCC_FLOAT, samples, everybody);
  CHECK_CUDA(cudaEventRecord(event[4], parcc.comm));
  WAIT(parcc.compute, event[3]);
  LIFETIME_END({t.dense2_w_stage, 288});

  AT("dense2 slice", "layouts.dnn:6");
  // slice dense2.w.whole: [co, ci] -> [co/b, ci]
  parcc_slice(t.dense2_w_whole, &division[1], t.dense2_w_whole_part, &division[8], PARCC_FLOAT, samples);
  WAIT(parcc.compute, event[2]);
  AT("dense2 dense", "layouts.dnn:6");
  // dense2.y[batch, co] = sum(ci) (relu.whole[batch, ci] * dense2.w.whole.part[co, ci])
  if (co_4.len * batch_2.len > 0)
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, co_4.len, batch_2.len, 8, &one,
      t.dense2_w_whole_part, 8, t.relu_whole, 8, &zero, t.dense2_y, (co_4.len > 0 ? co_4.len : 1)));
  LIFETIME_END({t.relu_whole, 96}, {t.dense2_w_whole_part, 160});
  AT("dense2 slice", "layouts.dnn:6");
  // slice dense2.b: [co] -> [co/b]
  parcc_slice(t.dense2_b, &division[9], t.dense2_b_part, &division[10], PARCC_FLOAT, samples);
}

// forward: from dense on
static void forward_dense(void) {
  AT("dense2 dense", "layouts.dnn:6");
  LAUNCH_MAP(k_dense_tanh, batch_2.len, co_4.len, t.tanh_, t.dense2_y, t.dense2_b_part, batch_2.len, co_4.len);
  LIFETIME_END({t.dense2_y, 60});
  WAIT(parcc.compute, event[1]);

  AT("dense3 slice", "layouts.dnn:7");
  // slice dense3.w.whole: [co, ci] -> [co, ci/b]
  parcc_slice(t.dense3_w_whole, &division[5], t.dense3_w_whole_part, &division[11], PARCC_FLOAT, samples);
  AT("dense3 dense", "layouts.dnn:7");
  // dense3.y[batch, co] = sum(ci) (tanh[batch, ci] * dense3.w.whole.part[co, ci])
  if (5 * batch_2.len > 0)
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 5, batch_2.len, co_4.len, &one,
      t.dense3_w_whole_part, (co_4.len > 0 ? co_4.len : 1), t.tanh_, (co_4.len > 0 ? co_4.len : 1), &zero, t.dense3_y, 5));
  LIFETIME_END({t.dense3_w_whole_part, 100});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("dense3 reduce_scatter", "layouts.dnn:7");
  // reduce_scatter dense3.y: [batch/a, co], a sum over b -> [batch/a, co/b]
  parcc_reduce_scatter(t.dense3_y, &division[12], t.dense3_y_part, &division[13], t.dense3_y_stage, PARCC_FLOAT, ncclSum, samples, 2, over_b);
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  LIFETIME_END({t.dense3_y, 60}, {t.dense3_y_stage, 60});
  WAIT(parcc.compute, event[4]);
  AT("dense3 dense", "layouts.dnn:7");
  LAUNCH_LANES(k_dense_cross_entropy, batch_2.len, t.dense3_y_2, t.cross_entropy_top, t.dense3_y_part, t.dense3_b_moved, batch_2.len, co_5.len);
  LIFETIME_END({t.dense3_y_part, 36}, {t.dense3_b_moved, 12});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("all_reduce", "layouts.dnn:7");
  // all_reduce cross_entropy.top: [batch/a], a max over b -> [batch/a]
  CHECK_NCCL(ncclAllReduce(t.cross_entropy_top, t.cross_entropy_top, batch_2.len, ncclFloat, ncclMax, over_b, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[4]);
  AT("cross_entropy", "layouts.dnn:7");
  LAUNCH_LANES(k_cross_entropy, batch_2.len, t.cross_entropy_z, t.cross_entropy_picked, t.dense3_y_2, t.cross_entropy_top_whole, t.label, batch_2.len, co_5.len, co_5.lo);
  LIFETIME_END({t.dense3_y_2, 36}, {t.cross_entropy_top_whole, 12});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("exchange", "layouts.dnn:7");
  // exchange cross_entropy.z: [batch/a, c/b] -> [batch/b, c], on a 0
  parcc_exchange(t.cross_entropy_z, &division[13], t.cross_entropy_z_moved, &division[14], t.cross_entropy_z_stage, PARCC_FLOAT, samples, everybody);
  WAIT_FOR(parcc.compute, parcc.comm, event[4]);
  LIFETIME_END({t.cross_entropy_z_stage, 60});
  AT("cross_entropy", "layouts.dnn:7");
  if (parcc.rank / 2 % A == 0) {
    LAUNCH_LANES(k_cross_entropy2, batch_3.len, t.cross_entropy_total, t.cross_entropy_z_moved, batch_3.len);
  }
  LIFETIME_END({t.cross_entropy_z_moved, 60});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
}

// forward: from reduce_scatter on
static void forward_reduce_scatter(void) {
  AT_COMM("reduce_scatter", "layouts.dnn:7");
  // reduce_scatter cross_entropy.picked: [batch/a], a sum over b -> [batch/a/b]
  parcc_reduce_scatter(t.cross_entropy_picked, &division[15], t.cross_entropy_picked_part, &division[16], NULL, PARCC_FLOAT, ncclSum, samples, 2, over_b);
  CHECK_CUDA(cudaEventRecord(event[4], parcc.comm));
  AT("slice", "layouts.dnn:7");
  // slice label: [batch/a] -> [batch/a/b]
  parcc_slice(t.label, &division[15], t.label_part, &division[16], PARCC_INT, samples);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("exchange", "layouts.dnn:7");
  // exchange cross_entropy.total: [batch/b], on a 0 -> [batch/a/b]
  parcc_exchange(t.cross_entropy_total, &division[17], t.cross_entropy_total_moved, &division[16], NULL, PARCC_FLOAT, samples, everybody);
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  WAIT(parcc.compute, event[4]);
  LIFETIME_END({t.cross_entropy_total, 12}, {t.cross_entropy_picked, 12});
  AT("cross_entropy", "layouts.dnn:7");
  LAUNCH_ROWS(k_cross_entropy3, 1, t.cross_entropy_sum, t.label_part, t.cross_entropy_total_moved, t.cross_entropy_picked_part, batch.len);
  LIFETIME_END({t.cross_entropy_picked_part, 8});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "layouts.dnn:7");
  // all_reduce cross_entropy.sum: [], a sum over a, a sum over b -> []
  CHECK_NCCL(ncclAllReduce(t.cross_entropy_sum, t.cross_entropy_sum, 1, ncclFloat, ncclSum, everybody, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[4], parcc.comm));
  AT("cross_entropy", "layouts.dnn:7");
  LAUNCH_ROWS(k_cross_entropy4, 1, t.cross_entropy_sum_2, t.label, batch_2.len);
  LIFETIME_END({t.label, 12});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "layouts.dnn:7");
  // all_reduce cross_entropy.sum.2: [], a sum over a -> []
  CHECK_NCCL(ncclAllReduce(t.cross_entropy_sum_2, t.cross_entropy_sum_2, 1, ncclFloat, ncclSum, over_a, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
  WAIT(parcc.compute, event[4]);
  WAIT(parcc.compute, event[1]);
  AT("cross_entropy", "layouts.dnn:7");
  LAUNCH_FLAT(k_cross_entropy5, 1, t.cross_entropy, t.cross_entropy_sum_whole, t.cross_entropy_sum_2_whole);
  LIFETIME_END({t.cross_entropy_sum_whole, 4});
}

// The losses of the batch.
static void forward(void) {
  forward_dense1();
  forward_dense();
  forward_reduce_scatter();
}

// The gradients of all parameters.
static void backward(void) {
  AT("cross_entropy", "layouts.dnn:7");
  LAUNCH_FLAT(k_cross_entropy_grad, 1, t.cross_entropy_sum_grad, t.cross_entropy_sum_2_whole);
  LIFETIME_END({t.cross_entropy_sum_2_whole, 4});
  LAUNCH_FLAT(k_cross_entropy_grad2, batch.len, t.cross_entropy_total_grad, t.cross_entropy_picked_grad, t.label_part, t.cross_entropy_sum_grad, t.cross_entropy_total_moved, batch.len);
  LIFETIME_END({t.cross_entropy_sum_grad, 4}, {t.cross_entropy_total_moved, 8});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_to_all", "layouts.dnn:7");
  // all_to_all cross_entropy.z: [batch/a, c/b] -> [batch/a/b, c]
  parcc_exchange(t.cross_entropy_z, &division[13], t.cross_entropy_z_moved_2, &division[18], t.cross_entropy_z_stage_2, PARCC_FLOAT, samples, everybody);
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  LIFETIME_END({t.cross_entropy_z, 36}, {t.cross_entropy_z_stage_2, 16});
  AT("cross_entropy", "layouts.dnn:7");
  LAUNCH_MAP(k_cross_entropy_grad3, batch.len, 5, t.cross_entropy_z_grad_2, t.cross_entropy_total_grad, t.cross_entropy_z_moved_2, batch.len, 5);
  LIFETIME_END({t.cross_entropy_total_grad, 8}, {t.cross_entropy_z_moved_2, 40});
  LAUNCH_LANES(k_cross_entropy_dense_grad, 5, t.cross_entropy_z_grad_3, t.dense3_b_grad, t.cross_entropy_picked_grad, t.label_part, t.cross_entropy_z_grad_2, 5, batch.len);
  LIFETIME_END({t.cross_entropy_picked_grad, 8}, {t.cross_entropy_z_grad_2, 40}, {t.label_part, 8});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("dense3 reduce_scatter", "layouts.dnn:7");
  // reduce_scatter dense3.b.grad: [co], a sum over a, a sum over b -> [co/a/b]
  parcc_reduce_scatter(t.dense3_b_grad, &division[19], t.dense3_b_grad_part, &division[6], NULL, PARCC_FLOAT, ncclSum, samples, 3, everybody);
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
  AT("dense3 dense", "layouts.dnn:7");
  // tanh.grad[batch, ci] = sum(co) (cross_entropy.z.grad.3[batch, co] * dense3.w.whole[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 9, batch.len, 5, &one,
      t.dense3_w_whole, 9, t.cross_entropy_z_grad_3, 5, &zero, t.tanh_grad, 9));
  LIFETIME_END({t.dense3_w_whole, 180});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("dense3 all_gather", "layouts.dnn:7");
  // all_gather cross_entropy.z.grad.3: [batch/a/b, c] -> [batch/a, c]
  parcc_all_gather(t.cross_entropy_z_grad_3, &division[18], t.cross_entropy_z_grad_3_whole, &division[12], NULL, PARCC_FLOAT, samples, 2, over_b);
  WAIT_FOR(parcc.compute, parcc.comm, event[4]);
  LIFETIME_END({t.cross_entropy_z_grad_3, 40});
  AT("dense3 dense", "layouts.dnn:7");
  // dense3.w.grad[co, ci] = sum(batch) (cross_entropy.z.grad.3.whole[batch, co] * tanh[batch, ci])
  if (5 * co_4.len > 0)
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, co_4.len, 5, batch_2.len, &one,
      t.tanh_, (co_4.len > 0 ? co_4.len : 1), t.cross_entropy_z_grad_3_whole, 5, &zero, t.dense3_w_grad, (co_4.len > 0 ? co_4.len : 1)));
  LIFETIME_END({t.cross_entropy_z_grad_3_whole, 60});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("dense3 reduce_scatter", "layouts.dnn:7");
  // reduce_scatter dense3.w.grad: [co, ci/b], a sum over a -> [co/a, ci/b]
  parcc_reduce_scatter(t.dense3_w_grad, &division[11], t.dense3_w_grad_part, &division[20], NULL, PARCC_FLOAT, ncclSum, samples, 1, over_a);
  CHECK_CUDA(cudaEventRecord(event[4], parcc.comm));

  AT_COMM("all_to_all", "layouts.dnn:6");
  // all_to_all tanh: [batch/a, co/b] -> [batch/a/b, co]
  parcc_exchange(t.tanh_, &division[21], t.tanh_moved, &division[22], t.tanh_stage, PARCC_FLOAT, samples, everybody);
  WAIT_FOR(parcc.compute, parcc.comm, event[2]);
  LIFETIME_END({t.tanh_, 60}, {t.tanh_stage, 32});
  AT("tanh", "layouts.dnn:6");
  LAUNCH_LANES(k_tanh_dense_grad, 9, t.dense2_y_2_grad, t.dense2_b_grad, t.tanh_grad, t.tanh_moved, 9, batch.len);
  LIFETIME_END({t.tanh_grad, 72}, {t.tanh_moved, 72});

  AT("dense2 dense", "layouts.dnn:6");
  // relu.grad[batch, ci] = sum(co) (dense2.y.2.grad[batch, co] * dense2.w.whole[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 8, batch.len, 9, &one,
      t.dense2_w_whole, 8, t.dense2_y_2_grad, 9, &zero, t.relu_grad, 8));
  LIFETIME_END({t.dense2_w_whole, 288});
  // dense2.w.grad[co, ci] = sum(batch) (dense2.y.2.grad[batch, co] * relu[batch, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 8, 9, batch.len, &one,
      t.relu, 8, t.dense2_y_2_grad, 9, &zero, t.dense2_w_grad, 8));
  LIFETIME_END({t.dense2_y_2_grad, 72});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("dense2 reduce_scatter", "layouts.dnn:6");
  // reduce_scatter dense2.w.grad: [co, ci], a sum over a, a sum over b -> [co, ci/b], a sum over a
  parcc_reduce_scatter(t.dense2_w_grad, &division[1], t.dense2_w_grad_part, &division[0], t.dense2_w_grad_stage, PARCC_FLOAT, ncclSum, samples, 2, over_b);
  WAIT_FOR(parcc.compute, parcc.comm, event[2]);
  LIFETIME_END({t.dense2_w_grad, 288}, {t.dense2_w_grad_stage, 288});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("dense2 all_reduce", "layouts.dnn:6");
  // all_reduce dense2.w.grad.part: [co, ci/b], a sum over a -> [co, ci/b]
  CHECK_NCCL(ncclAllReduce(t.dense2_w_grad_part, t.dense2_w_grad_part, 9 * ci.len, ncclFloat, ncclSum, over_a, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[2], parcc.comm));

  AT("relu", "layouts.dnn:5");
  LAUNCH_LANES(k_relu_dense_grad, 8, t.dense1_y_2_grad, t.dense1_b_grad, t.relu, t.relu_grad, 8, batch.len);
  LIFETIME_END({t.relu, 64}, {t.relu_grad, 64});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "layouts.dnn:5");
  // all_reduce gradients of dense2, dense1
  CHECK_NCCL(ncclAllReduce(t.dense1_b_grad, t.dense1_b_grad, 17, ncclFloat, ncclSum, everybody, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[3], parcc.comm));

  AT("dense1 dense", "layouts.dnn:5");
  // dense1.w.grad[co, ci] = sum(batch) (dense1.y.2.grad[batch, co] * x[batch, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 7, 8, batch.len, &one,
      t.x, 7, t.dense1_y_2_grad, 8, &zero, t.dense1_w_grad, 7));
  LIFETIME_END({t.x, 56}, {t.dense1_y_2_grad, 64});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("dense1 reduce_scatter", "layouts.dnn:5");
  // reduce_scatter dense1.w.grad: [co, ci], a sum over a, a sum over b -> [co/a, ci], a sum over b
  CHECK_NCCL(ncclReduceScatter(t.dense1_w_grad, t.dense1_w_grad_part, 7 * co.len, ncclFloat, ncclSum, over_a, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[5]);
  LIFETIME_END({t.dense1_w_grad, 224});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("dense1 all_reduce", "layouts.dnn:5");
  // all_reduce dense1.w.grad.part: [co/a, ci], a sum over b -> [co/a, ci]
  CHECK_NCCL(ncclAllReduce(t.dense1_w_grad_part, t.dense1_w_grad_part, 7 * co.len, ncclFloat, ncclSum, over_b, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[5], parcc.comm));
}

// What is only reported: metrics and the gradients' norm.
static void report(void) {
  WAIT(parcc.compute, event[5]);

  AT("dense1 gradient_norm", "layouts.dnn:10");
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense1_w_grad_square, t.dense1_w_grad_part_whole, 7 * co.len);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("dense1 reduce", "layouts.dnn:10");
  // reduce dense1.w.grad.square: [], a sum over a -> [], on a 1
  CHECK_NCCL(ncclReduce(t.dense1_w_grad_square, t.dense1_w_grad_square, 1, ncclFloat, ncclSum, 1, over_a, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[6], parcc.comm));
  WAIT(parcc.compute, event[3]);
  WAIT(parcc.compute, event[2]);

  AT("dense2 gradient_norm", "layouts.dnn:10");
  if (parcc.rank / 2 % A == 1) {
    LAUNCH_ROWS(k_gradient_norm2, 1, t.dense2_w_grad_square, t.dense2_w_grad_part_whole_moved, 9, ci.len);
  }
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("dense2 all_reduce", "layouts.dnn:10");
  if (parcc.rank / 2 % A == 1) {
    // all_reduce dense2.w.grad.square: [], on a 1, a sum over b -> [], on a 1
    CHECK_NCCL(ncclAllReduce(t.dense2_w_grad_square, t.dense2_w_grad_square, 1, ncclFloat, ncclSum, over_b, parcc.comm));
  }
  CHECK_CUDA(cudaEventRecord(event[7], parcc.comm));
  AT("dense2 slice", "layouts.dnn:10");
  // slice dense2.b.grad.whole: [co] -> [co/b], on a 1
  parcc_slice(t.dense2_b_grad_whole, &division[9], t.dense2_b_grad_whole_part, &division[23], PARCC_FLOAT, samples);
  AT("dense2 gradient_norm", "layouts.dnn:10");
  if (parcc.rank / 2 % A == 1) {
    LAUNCH_ROWS(k_gradient_norm, 1, t.dense2_b_grad_square, t.dense2_b_grad_whole_part, co_4.len);
  }
  LIFETIME_END({t.dense2_b_grad_whole_part, 20});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("dense2 all_reduce", "layouts.dnn:10");
  if (parcc.rank / 2 % A == 1) {
    // all_reduce dense2.b.grad.square: [], on a 1, a sum over b -> [], on a 1
    CHECK_NCCL(ncclAllReduce(t.dense2_b_grad_square, t.dense2_b_grad_square, 1, ncclFloat, ncclSum, over_b, parcc.comm));
  }
  CHECK_CUDA(cudaEventRecord(event[8], parcc.comm));
  WAIT(parcc.compute, event[4]);

  AT("dense3 gradient_norm", "layouts.dnn:10");
  LAUNCH_ROWS(k_gradient_norm2, 1, t.dense3_w_grad_square, t.dense3_w_grad_part, co_2.len, co_4.len);
  WAIT(parcc.compute, event[1]);
  AT("dense3 gradient_norm", "layouts.dnn:10");
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense3_b_grad_square, t.dense3_b_grad_part, co_3.len);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("dense3 all_reduce", "layouts.dnn:10");
  // all_reduce dense3.w.grad.square, dense3.b.grad.square
  CHECK_NCCL(ncclAllReduce(t.dense3_w_grad_square, t.dense3_w_grad_square, 2, ncclFloat, ncclSum, everybody, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[9], parcc.comm));
  WAIT(parcc.compute, event[6]);
  WAIT(parcc.compute, event[7]);
  WAIT(parcc.compute, event[8]);
  WAIT(parcc.compute, event[9]);

  AT("dense1 gradient_norm", "layouts.dnn:10");
  if (parcc.rank / 2 % A == 1) {
    LAUNCH_ROWS(k_gradient_norm3, 1, t.gradient_norm, t.dense1_b_grad_whole_moved, t.dense1_w_grad_square_moved, t.dense2_w_grad_square_whole, t.dense2_b_grad_square_whole, t.dense3_w_grad_square_whole_moved, t.dense3_b_grad_square_whole_moved, 8);
  }
  LIFETIME_END({t.dense1_w_grad_square_moved, 4}, {t.dense2_w_grad_square_whole, 4},
      {t.dense2_b_grad_square_whole, 4}, {t.dense3_w_grad_square_whole_moved, 8});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("broadcast", "layouts.dnn:10");
  // broadcast gradient_norm: [], on a 1 -> []
  CHECK_NCCL(ncclBroadcast(t.gradient_norm, t.gradient_norm, 1, ncclFloat, 1, over_a, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[10]);
}

// The optimizer.
static void update(void) {
  WAIT(parcc.compute, event[3]);
  WAIT(parcc.compute, event[5]);

  AT("dense1 adam", "layouts.dnn:10");
  LAUNCH_FLAT(k_adam, 7 * co.len, t.dense1_w_m, t.dense1_w_v, t.dense1_w_u, t.dense1_w_grad_part_whole, 7 * co.len, 0.1f, 0.001f, (float)parcc.lr, (float)parcc.step);
  LIFETIME_END({t.dense1_w_grad_part_whole, 112});
  if (parcc.rank / 2 % A == 1) {
    LAUNCH_FLAT(k_adam, 8, t.dense1_b_m, t.dense1_b_v, t.dense1_b_u, t.dense1_b_grad_whole_moved, 8, 0.1f, 0.001f, (float)parcc.lr, (float)parcc.step);
  }
  WAIT(parcc.compute, event[2]);

  AT("dense2 adam", "layouts.dnn:10");
  LAUNCH_MAP(k_adam2, 9, ci.len, t.dense2_w_m, t.dense2_w_v, t.dense2_w_u, t.dense2_w_grad_part_whole, 9, ci.len, 0.1f, 0.001f, (float)parcc.lr, (float)parcc.step);
  LIFETIME_END({t.dense2_w_grad_part_whole_moved, 144});
  AT("dense2 slice", "layouts.dnn:10");
  // slice dense2.b.grad.whole: [co] -> [co/b]
  parcc_slice(t.dense2_b_grad_whole, &division[9], t.dense2_b_grad_whole_part_2, &division[10], PARCC_FLOAT, samples);
  AT("dense2 adam", "layouts.dnn:10");
  LAUNCH_FLAT(k_adam3, 9, t.dense2_b_v, t.dense2_b_grad_whole, 9, 0.001f);
  LIFETIME_END({t.dense1_b_grad_whole_moved, 68});
  AT("dense2 slice", "layouts.dnn:10");
  // slice dense2.b.v: [co] -> [co/b]
  parcc_slice(t.dense2_b_v, &division[9], t.dense2_b_v_part, &division[10], PARCC_FLOAT, samples);
  AT("dense2 adam", "layouts.dnn:10");
  LAUNCH_FLAT(k_adam4, co_4.len, t.dense2_b_m, t.dense2_b_u, t.dense2_b_grad_whole_part_2, t.dense2_b_part, t.dense2_b_v_part, co_4.len, 0.1f, (float)parcc.lr, (float)parcc.step);
  LIFETIME_END({t.dense2_b_part, 20}, {t.dense2_b_grad_whole_part_2, 20}, {t.dense2_b_v_part, 20});
  WAIT(parcc.compute, event[4]);
  LIFETIME_END({t.dense3_w_grad, 100});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("dense3 all_gather", "layouts.dnn:10");
  // all_gather dense3.w.grad.part: [co/a, ci/b] -> [co/a, ci]
  parcc_all_gather(t.dense3_w_grad_part, &division[20], t.dense3_w_grad_part_whole, &division[4], t.dense3_w_grad_part_stage, PARCC_FLOAT, samples, 2, over_b);
  WAIT_FOR(parcc.compute, parcc.comm, event[4]);
  LIFETIME_END({t.dense3_w_grad_part, 60}, {t.dense3_w_grad_part_stage, 108});
  AT("dense3 adam", "layouts.dnn:10");
  LAUNCH_FLAT(k_adam, 9 * co_2.len, t.dense3_w_m, t.dense3_w_v, t.dense3_w_u, t.dense3_w_grad_part_whole, 9 * co_2.len, 0.1f, 0.001f, (float)parcc.lr, (float)parcc.step);
  WAIT(parcc.compute, event[1]);
  AT("dense3 adam", "layouts.dnn:10");
  LAUNCH_FLAT(k_adam, co_3.len, t.dense3_b_m, t.dense3_b_v, t.dense3_b_u, t.dense3_b_grad_part, co_3.len, 0.1f, 0.001f, (float)parcc.lr, (float)parcc.step);
  LIFETIME_END({t.dense3_w_grad_part_whole, 108}, {t.dense3_b_grad, 20}, {t.dense3_b_grad_part, 8});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("dense2 all_gather", "layouts.dnn:10");
  // all_gather dense2.b.u: [co/b] -> [co]
  parcc_all_gather(t.dense2_b_u, &division[10], t.dense2_b_u_whole, &division[9], NULL, PARCC_FLOAT, samples, 2, over_b);
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  LIFETIME_END({t.dense2_b_u, 20});
}

// evaluate: from dense1 on
static void evaluate_dense1(void) {
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("dense1 all_gather", "layouts.dnn:5");
  // all_gather dense1.w: [co/a, ci] -> [co, ci]
  CHECK_NCCL(ncclAllGather(t.dense1_w, t.eval_dense1_w_whole, 7 * co.len, ncclFloat, over_a, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
  AT_COMM("dense1 broadcast", "layouts.dnn:5");
  // broadcast dense1.b: [co], on a 1 -> [co]
  CHECK_NCCL(ncclBroadcast(t.dense1_b, t.eval_dense1_b_whole, 8, ncclFloat, 1, over_a, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[4], parcc.comm));

  AT_COMM("dense2 all_to_all", "layouts.dnn:6");
  // all_to_all dense2.w: [co, ci/b] -> [co/b, ci]
  parcc_exchange(t.dense2_w, &division[0], t.eval_dense2_w_moved, &division[8], t.eval_dense2_w_stage, PARCC_FLOAT, samples, everybody);
  CHECK_CUDA(cudaEventRecord(event[2], parcc.comm));
  WAIT(parcc.compute, event[1]);

  AT("dense1 dense", "layouts.dnn:5");
  // dense1.y[batch, co] = sum(ci) (x[batch, ci] * dense1.w.whole[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 8, batch.len, 7, &one,
      t.eval_dense1_w_whole, 7, t.eval_x, 7, &zero, t.eval_dense1_y, 8));
  LIFETIME_END({t.eval_x, 56}, {t.eval_dense1_w_whole, 224});
  WAIT(parcc.compute, event[4]);
  AT("dense1 dense", "layouts.dnn:5");
  LAUNCH_MAP(k_dense_relu, batch.len, 8, t.eval_relu, t.eval_dense1_y, t.eval_dense1_b_whole, batch.len, 8);
  LIFETIME_END({t.eval_dense1_y, 64}, {t.eval_dense1_b_whole, 32});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("dense2 all_gather", "layouts.dnn:6");
  // all_gather relu: [batch/a/b, co] -> [batch/a, co]
  parcc_all_gather(t.eval_relu, &division[2], t.eval_relu_whole, &division[3], NULL, PARCC_FLOAT, samples, 2, over_b);
  CHECK_CUDA(cudaEventRecord(event[4], parcc.comm));

  AT_COMM("dense3 exchange", "layouts.dnn:7");
  // exchange dense3.b: [co/a/b] -> [co/b]
  parcc_exchange(t.dense3_b, &division[6], t.eval_dense3_b_moved, &division[7], NULL, PARCC_FLOAT, samples, everybody);
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
  WAIT(parcc.compute, event[4]);
  LIFETIME_END({t.eval_relu, 64});
  WAIT(parcc.compute, event[2]);
  LIFETIME_END({t.eval_dense2_w_stage, 80});

  AT("dense2 dense", "layouts.dnn:6");
  // dense2.y[batch, co] = sum(ci) (relu.whole[batch, ci] * dense2.w.moved[co, ci])
  if (co_4.len * batch_2.len > 0)
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, co_4.len, batch_2.len, 8, &one,
      t.eval_dense2_w_moved, 8, t.eval_relu_whole, 8, &zero, t.eval_dense2_y, (co_4.len > 0 ? co_4.len : 1)));
  LIFETIME_END({t.eval_relu_whole, 96}, {t.eval_dense2_w_moved, 160});
  AT("dense2 slice", "layouts.dnn:6");
  // slice dense2.b: [co] -> [co/b]
  parcc_slice(t.dense2_b, &division[9], t.eval_dense2_b_part, &division[10], PARCC_FLOAT, samples);
}

// evaluate: from dense on
static void evaluate_dense(void) {
  AT("dense2 dense", "layouts.dnn:6");
  LAUNCH_MAP(k_dense_tanh, batch_2.len, co_4.len, t.eval_tanh, t.eval_dense2_y, t.eval_dense2_b_part, batch_2.len, co_4.len);
  LIFETIME_END({t.eval_dense2_y, 60}, {t.eval_dense2_b_part, 20});

  AT("dense3 slice", "layouts.dnn:7");
  // slice dense3.w: [co/a, ci] -> [co/a, ci/b]
  parcc_slice(t.dense3_w, &division[4], t.eval_dense3_w_part, &division[20], PARCC_FLOAT, samples);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("dense3 all_gather", "layouts.dnn:7");
  // all_gather dense3.w.part: [co/a, ci/b] -> [co, ci/b]
  parcc_all_gather(t.eval_dense3_w_part, &division[20], t.eval_dense3_w_part_whole, &division[11], NULL, PARCC_FLOAT, samples, 1, over_a);
  WAIT_FOR(parcc.compute, parcc.comm, event[2]);
  LIFETIME_END({t.eval_dense3_w_part, 60});
  AT("dense3 dense", "layouts.dnn:7");
  // dense3.y[batch, co] = sum(ci) (tanh[batch, ci] * dense3.w.part.whole[co, ci])
  if (5 * batch_2.len > 0)
    CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 5, batch_2.len, co_4.len, &one,
      t.eval_dense3_w_part_whole, (co_4.len > 0 ? co_4.len : 1), t.eval_tanh, (co_4.len > 0 ? co_4.len : 1), &zero, t.eval_dense3_y, 5));
  LIFETIME_END({t.eval_tanh, 60}, {t.eval_dense3_w_part_whole, 100});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("dense3 reduce_scatter", "layouts.dnn:7");
  // reduce_scatter dense3.y: [batch/a, co], a sum over b -> [batch/a, co/b]
  parcc_reduce_scatter(t.eval_dense3_y, &division[12], t.eval_dense3_y_part, &division[13], t.eval_dense3_y_stage, PARCC_FLOAT, ncclSum, samples, 2, over_b);
  WAIT_FOR(parcc.compute, parcc.comm, event[2]);
  LIFETIME_END({t.eval_dense3_y, 60}, {t.eval_dense3_y_stage, 60});
  WAIT(parcc.compute, event[1]);
  AT("dense3 dense", "layouts.dnn:7");
  LAUNCH_LANES(k_dense_cross_entropy, batch_2.len, t.eval_dense3_y_2, t.eval_cross_entropy_top, t.eval_dense3_y_part, t.eval_dense3_b_moved, batch_2.len, co_5.len);
  LIFETIME_END({t.eval_dense3_y_part, 36}, {t.eval_dense3_b_moved, 12});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("all_reduce", "layouts.dnn:7");
  // all_reduce cross_entropy.top: [batch/a], a max over b -> [batch/a]
  CHECK_NCCL(ncclAllReduce(t.eval_cross_entropy_top, t.eval_cross_entropy_top, batch_2.len, ncclFloat, ncclMax, over_b, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "layouts.dnn:7");
  LAUNCH_LANES(k_cross_entropy, batch_2.len, t.eval_cross_entropy_z, t.eval_cross_entropy_picked, t.eval_dense3_y_2, t.eval_cross_entropy_top_whole, t.eval_label, batch_2.len, co_5.len, co_5.lo);
  LIFETIME_END({t.eval_dense3_y_2, 36}, {t.eval_cross_entropy_top_whole, 12});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("exchange", "layouts.dnn:7");
  // exchange cross_entropy.z: [batch/a, c/b] -> [batch/b, c], on a 0
  parcc_exchange(t.eval_cross_entropy_z, &division[13], t.eval_cross_entropy_z_moved, &division[14], t.eval_cross_entropy_z_stage, PARCC_FLOAT, samples, everybody);
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  LIFETIME_END({t.eval_cross_entropy_z, 36}, {t.eval_cross_entropy_z_stage, 84});
}

// evaluate: from cross_entropy on
static void evaluate_cross_entropy(void) {
  AT("cross_entropy", "layouts.dnn:7");
  if (parcc.rank / 2 % A == 0) {
    LAUNCH_LANES(k_cross_entropy2, batch_3.len, t.eval_cross_entropy_total, t.eval_cross_entropy_z_moved, batch_3.len);
  }
  LIFETIME_END({t.eval_cross_entropy_z_moved, 60});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("reduce_scatter", "layouts.dnn:7");
  // reduce_scatter cross_entropy.picked: [batch/a], a sum over b -> [batch/a/b]
  parcc_reduce_scatter(t.eval_cross_entropy_picked, &division[15], t.eval_cross_entropy_picked_part, &division[16], NULL, PARCC_FLOAT, ncclSum, samples, 2, over_b);
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
  AT("slice", "layouts.dnn:7");
  // slice label: [batch/a] -> [batch/a/b]
  parcc_slice(t.eval_label, &division[15], t.eval_label_part, &division[16], PARCC_INT, samples);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("exchange", "layouts.dnn:7");
  // exchange cross_entropy.total: [batch/b], on a 0 -> [batch/a/b]
  parcc_exchange(t.eval_cross_entropy_total, &division[17], t.eval_cross_entropy_total_moved, &division[16], t.eval_cross_entropy_total_stage, PARCC_FLOAT, samples, everybody);
  WAIT_FOR(parcc.compute, parcc.comm, event[2]);
  WAIT(parcc.compute, event[1]);
  LIFETIME_END({t.eval_cross_entropy_total, 12}, {t.eval_cross_entropy_total_stage, 16},
      {t.eval_cross_entropy_picked, 12});
  AT("cross_entropy", "layouts.dnn:7");
  LAUNCH_ROWS(k_cross_entropy3, 1, t.eval_cross_entropy_sum, t.eval_label_part, t.eval_cross_entropy_total_moved, t.eval_cross_entropy_picked_part, batch.len);
  LIFETIME_END({t.eval_cross_entropy_picked_part, 8}, {t.eval_label_part, 8}, {t.eval_cross_entropy_total_moved, 8});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "layouts.dnn:7");
  // all_reduce cross_entropy.sum: [], a sum over a, a sum over b -> []
  CHECK_NCCL(ncclAllReduce(t.eval_cross_entropy_sum, t.eval_cross_entropy_sum, 1, ncclFloat, ncclSum, everybody, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
  AT("cross_entropy", "layouts.dnn:7");
  LAUNCH_ROWS(k_cross_entropy4, 1, t.eval_cross_entropy_sum_2, t.eval_label, batch_2.len);
  LIFETIME_END({t.eval_label, 12});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "layouts.dnn:7");
  // all_reduce cross_entropy.sum.2: [], a sum over a -> []
  CHECK_NCCL(ncclAllReduce(t.eval_cross_entropy_sum_2, t.eval_cross_entropy_sum_2, 1, ncclFloat, ncclSum, over_a, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[2], parcc.comm));
  WAIT(parcc.compute, event[1]);
  WAIT(parcc.compute, event[2]);
  AT("cross_entropy", "layouts.dnn:7");
  LAUNCH_FLAT(k_cross_entropy5, 1, t.eval_cross_entropy, t.eval_cross_entropy_sum_whole, t.eval_cross_entropy_sum_2_whole);
  LIFETIME_END({t.eval_cross_entropy_sum_whole, 4}, {t.eval_cross_entropy_sum_2_whole, 4});
}

// Losses and metrics of a batch of the test split.
static void evaluate(void) {
  evaluate_dense1();
  evaluate_dense();
  evaluate_cross_entropy();
}

// ---- the run ---------------------------------------------------------------------------------------------------------

static const ParccInput inputs[] = { // name, type, extents of the whole batch, range, files, scale, offset, windows, lines
    {"x", PARCC_FLOAT, 2, {6, 7}, 0, {NULL, NULL, NULL, 1.0, 0.0, NULL, NULL}},
    {"label", PARCC_INT, 1, {6}, 5, {NULL, NULL, NULL, 1.0, 0.0, NULL, NULL}},
};

static const char *const scalars[] = {"loss"};

static double learning_rate(double step, double steps) {
  (void)step;
  (void)steps;
  return 0.01;
}

static const ParccModel model = {
    .name = "layouts",
    .source = "layouts.dnn",
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

static void place_tensors(void) {
  char *const arena = parcc_arena(8448);
  static const long place[] = {0, 64, 128, 192, 256, 320, 384, 448, 512, 576, 640, 704, 768, 832, 896, 960, 1024, 1088, 1792, 1664, 1472, 1600, 1344, 1536, 1344, 1280, 1344, 1472,
      1344, 1728, 1344, 1280, 2048, 1152, 1536, 1152, 1544, 1472, 1856, 1280, 1344, 1600, 1152, 1153, 1664, 384, 448, 0, 512, 576, 64, 640, 704, 128, 768, 832, 1280, 896, 960,
      256, 1024, 1088, 320, 1344, 1664, 1728, 1280, 1472, 1280, 1344, 1664, 1216, 1408, 1536, 1472, 1152, 1280, 1920, 1408, 1280, 1472, 1728, 1344, 1280, 1280, 1984, 1856, 1344,
      1280, 1344, 1984, 1344, 1728, 1408, 1544, 1408, 1408, 1536, 1216, 1216, 1280, 1408, 1344, 1152, 1600, 1152, 1153, 1152, 1216, 1152, 192, 1664, 1280, 1280, 1344, 1280, 1344,
      1280, 1216, 1408, 1536, 1344, 1408, 1280, 1216, 1280, 1152, 1344, 1280, 1280, 1408, 1152, 1216, 1280, 1152, 1472, 1152, 1216, 1152, 1280, 1152, 1216, 1472, 1344, 1216, 1216,
      1344, 1472, 1152, 1216, 1280, 1152, 1152, 1152};
  parcc_place_record(arena, 4, place, 154, &t); // in units of so many bytes
}

// What --save writes and --load reads.
static void list_stored(void) {
  STORE("dense1.w", PARCC_PARAM, PARCC_FLOAT, t.dense1_w, PART(8, co), WHOLE(7));
  STORE("dense1.b", PARCC_PARAM, PARCC_FLOAT, parcc.rank / 2 % A == 1 ? t.dense1_b : NULL, WHOLE(8));
  STORE("dense2.w", PARCC_PARAM, PARCC_FLOAT, t.dense2_w, WHOLE(9), PART(8, ci));
  STORE("dense2.b", PARCC_PARAM, PARCC_FLOAT, t.dense2_b, WHOLE(9));
  STORE("dense3.w", PARCC_PARAM, PARCC_FLOAT, t.dense3_w, PART(5, co_2), WHOLE(9));
  STORE("dense3.b", PARCC_PARAM, PARCC_FLOAT, t.dense3_b, PART(5, co_3));
  STORE("dense1.w.moment1", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense1_w_moment1, PART(8, co), WHOLE(7));
  STORE("dense1.w.moment2", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense1_w_moment2, PART(8, co), WHOLE(7));
  STORE("dense1.b.moment1", PARCC_OPTIMIZER, PARCC_FLOAT, parcc.rank / 2 % A == 1 ? t.dense1_b_moment1 : NULL, WHOLE(8));
  STORE("dense1.b.moment2", PARCC_OPTIMIZER, PARCC_FLOAT, parcc.rank / 2 % A == 1 ? t.dense1_b_moment2 : NULL, WHOLE(8));
  STORE("dense2.w.moment1", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense2_w_moment1, WHOLE(9), PART(8, ci));
  STORE("dense2.w.moment2", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense2_w_moment2, WHOLE(9), PART(8, ci));
  STORE("dense2.b.moment1", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense2_b_moment1, PART(9, co_4));
  STORE("dense2.b.moment2", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense2_b_moment2, WHOLE(9));
  STORE("dense3.w.moment1", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense3_w_moment1, PART(5, co_2), WHOLE(9));
  STORE("dense3.w.moment2", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense3_w_moment2, PART(5, co_2), WHOLE(9));
  STORE("dense3.b.moment1", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense3_b_moment1, PART(5, co_3));
  STORE("dense3.b.moment2", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense3_b_moment2, PART(5, co_3));
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &model);
  over_a = parcc_axis(2, A);
  over_b = parcc_axis(1, B);
  everybody = parcc_axis(1, RANKS);
  parcc_events(event, 11);
  place_tensors();
  co = parcc_block(8, 2, parcc.rank / 2 % A);
  ci = parcc_block(8, 2, parcc.rank / 1 % B);
  co_2 = parcc_block(5, 2, parcc.rank / 2 % A);
  co_3 = parcc_block(5, 2, parcc.rank / 2 % A);
  co_3 = parcc_block_in(co_3, 2, parcc.rank / 1 % B);
  co_4 = parcc_block(9, 2, parcc.rank / 1 % B);
  batch = parcc_block(6, 2, parcc.rank / 2 % A);
  batch = parcc_block_in(batch, 2, parcc.rank / 1 % B);
  batch_2 = parcc_block(6, 2, parcc.rank / 2 % A);
  co_5 = parcc_block(5, 2, parcc.rank / 1 % B);
  batch_3 = parcc_block(6, 2, parcc.rank / 1 % B);
  list_stored();
  init();
  parcc_load();

  while (parcc_next_step()) {
    LOAD_BATCH(0, t.x, batch, {0, 7});
    LOAD_BATCH(1, t.label, batch_2);
    forward();
    backward();
    if (parcc_reports()) report();
    update();
    END_STEP(t.gradient_norm_whole, t.cross_entropy);
  }

  for (long count; (count = parcc_next_eval()) > 0;) {
    samples = count;
    batch = parcc_block(count, 2, parcc.rank / 2 % A);
    batch = parcc_block_in(batch, 2, parcc.rank / 1 % B);
    batch_2 = parcc_block(count, 2, parcc.rank / 2 % A);
    batch_3 = parcc_block(count, 2, parcc.rank / 1 % B);
    LOAD_BATCH(0, t.eval_x, batch, {0, 7});
    LOAD_BATCH(1, t.eval_label, batch_2);
    evaluate();
    END_EVAL(count, t.eval_cross_entropy);
  }
  return parcc_finish();
}
