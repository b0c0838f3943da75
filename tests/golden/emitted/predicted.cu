// small on 8 ranks. Written by parcc from predicted.dnn; edit freely, or run parcc again.
//
//   mesh        node=2 gpu=4
//   machine     p100x4x4: 4 nodes of 4 gpus, 14.9 GiB on each
//   plan        data parallel: the batch of 8 is divided over the ranks, parameters are on every rank
//   predicted   0.249 ms a step: operators 0.075, update 0.01, changes of layout over node 0, cluster 0.164, local 0
//   parameters  15
//   memory      2560 bytes on each device, in one arena (largest sum of live tensors: 2560)
//   moved by the busiest rank in a step: forward 1 collective, 14 bytes; backward 1 collective, 105 bytes
//
//   parcc-cc THIS.cu -o PROG && mpiexec -n 8 PROG --data DIR

#include "parcc.h"

enum { RANKS = 8, NODE = 2, GPU = 4 };

static Interval batch; // this rank's part of 8, over node, gpu
static ncclComm_t everybody;
static cudaEvent_t event[2];

// Tensors of this rank: places in one arena, shared by those whose lifetimes do not overlap.
// LIFETIME_END tells the checking mode which bytes are free for others.
static struct {
  float *dense1_w; // dense1.w [3, 4]
  float *dense1_b; // dense1.b [3]
  float *x; // x [batch.len, 4]
  int *label; // label [batch.len]
  float *dense1_y_2; // dense1.y.2 [batch.len, 3]
  float *cross_entropy_z; // cross_entropy.z [batch.len, 3]
  float *cross_entropy_total; // cross_entropy.total [batch.len]
  float *cross_entropy_each; // cross_entropy.each [batch.len]
  float *cross_entropy_sum; // cross_entropy.sum []
  float *cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *cross_entropy; // cross_entropy []
  float *dense1_w_grad; // dense1.w.grad [3, 4]
  float *dense1_b_grad; // dense1.b.grad [3]
  float *dense1_b_grad_square; // dense1.b.grad.square []
  float *gradient_norm; // gradient_norm []
  float *dense1_w_u; // dense1.w.u [3, 4]
  float *dense1_b_u; // dense1.b.u [3]
  float *cross_entropy_sum_grad; // cross_entropy.sum.grad []
  float *cross_entropy_total_grad; // cross_entropy.total.grad [batch.len]
  float *cross_entropy_picked_grad; // cross_entropy.picked.grad [batch.len]
  float *cross_entropy_z_grad_2; // cross_entropy.z.grad.2 [batch.len, 3]
  float *cross_entropy_z_grad_3; // cross_entropy.z.grad.3 [batch.len, 3]
  float *cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
  float *dense1_b_grad_whole; // dense1.b.grad.whole [3]
  float *dense1_w_grad_whole; // dense1.w.grad.whole [3, 4]
  float *eval_x; // x [batch.len, 4]
  int *eval_label; // label [batch.len]
  float *eval_dense1_y_2; // dense1.y.2 [batch.len, 3]
  float *eval_cross_entropy_each; // cross_entropy.each [batch.len]
  float *eval_cross_entropy_sum; // cross_entropy.sum []
  float *eval_cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *eval_cross_entropy; // cross_entropy []
  float *eval_cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *eval_cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
} t;

// ---- kernels ---------------------------------------------------------------------------------------------------------

// dense1: init (predicted.dnn:5)
__global__ void k_init(float *__restrict__ w, long count, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) w[i] = 0.5f * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i))) - 1.0f);
}

// dense1: dense (predicted.dnn:5)
__global__ void k_dense(float *__restrict__ y2, const float *__restrict__ x, const float *__restrict__ w, const float *__restrict__ b, long len_batch, long CO) {
  GRID2_LANES(batch, len_batch, co0, lanes, CO) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = 0.0f;
    for (long ci = 0; ci < 4; ci++)
      LANE(l, lanes) {
        const long co = co0 + l;
        y_[l] += x[batch * 4 + ci] * w[co * 4 + ci];
      }
    float y_2[LANES];
    LANE(l, lanes) {
      const long co = co0 + l;
      y_2[l] = y_[l] + b[co];
      y2[batch * CO + co] = y_2[l];
    }
  }
}

// cross_entropy (predicted.dnn:5)
__global__ void k_cross_entropy(float *__restrict__ z, float *__restrict__ total, float *__restrict__ each, const float *__restrict__ y, const int *__restrict__ label, long len_batch) {
  GRID_LANES(batch0, lanes, len_batch) {
    float top_[LANES];
    LANE(l, lanes) top_[l] = -INFINITY;
    for (long c = 0; c < 3; c++)
      LANE(l, lanes) {
        const long batch = batch0 + l;
        const float v = y[batch * 3 + c];
        top_[l] = v > top_[l] ? v : top_[l];
      }
    float total_[LANES];
    LANE(l, lanes) total_[l] = 0.0f;
    float picked_[LANES];
    LANE(l, lanes) picked_[l] = 0.0f;
    for (long c = 0; c < 3; c++)
      LANE(l, lanes) {
        const long batch = batch0 + l;
        const float z_ = y[batch * 3 + c] - top_[l];
        total_[l] += expf(z_);
        picked_[l] += (float)((label[batch] == c)) * z_;
        z[batch * 3 + c] = z_;
      }
    LANE(l, lanes) {
      const long batch = batch0 + l;
      total[batch] = total_[l];
    }
    float each_[LANES];
    LANE(l, lanes) {
      const long batch = batch0 + l;
      each_[l] = (label[batch] == -1) ? 0.0f : (logf(total_[l]) - picked_[l]);
      each[batch] = each_[l];
    }
  }
}

// cross_entropy (predicted.dnn:5)
__global__ void k_cross_entropy2(float *__restrict__ sum, const float *__restrict__ each, long len_batch) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(batch, len_batch) sum_ += each[batch];
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (predicted.dnn:5)
__global__ void k_cross_entropy3(float *__restrict__ sum, const int *__restrict__ label, long len_batch) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(batch, len_batch) sum_ += (label[batch] != -1) ? 1.0f : 0.0f;
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (predicted.dnn:5)
__global__ void k_cross_entropy4(float *__restrict__ cross_entropy, const float *__restrict__ whole, const float *__restrict__ whole2) {
  FLAT(i, 1) cross_entropy[0] = whole[0] / parcc_maxf(whole2[0], 1.0f);
}

// cross_entropy_grad (predicted.dnn:5)
__global__ void k_cross_entropy_grad(float *__restrict__ grad, const float *__restrict__ whole) {
  FLAT(i, 1) grad[0] = 1.0f / parcc_maxf(whole[0], 1.0f);
}

// cross_entropy_grad (predicted.dnn:5)
__global__ void k_cross_entropy_grad2(float *__restrict__ grad, float *__restrict__ grad3, const int *__restrict__ label, const float *__restrict__ grad2, const float *__restrict__ total, long count) {
  FLAT(i, count) {
    const float grad_ = ((label[i] == -1) ? 0.0f : grad2[0]) / total[i];
    const float grad_2 = -((label[i] == -1) ? 0.0f : grad2[0]);
    grad[i] = grad_;
    grad3[i] = grad_2;
  }
}

// cross_entropy_grad (predicted.dnn:5)
__global__ void k_cross_entropy_grad3(float *__restrict__ grad, const float *__restrict__ grad2, const float *__restrict__ z, long len_batch, long C) {
  GRID(batch, len_batch) BLOCK(c, C) grad[batch * C + c] = grad2[batch] * expf(z[batch * C + c]);
}

// cross_entropy_dense_grad (predicted.dnn:5)
__global__ void k_cross_entropy_dense_grad(float *__restrict__ grad3, float *__restrict__ grad5, const float *__restrict__ grad2, const int *__restrict__ label, const float *__restrict__ grad4, long C, long len_batch) {
  GRID_LANES(c0, lanes, C) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long batch = 0; batch < len_batch; batch++)
      LANE(l, lanes) {
        const long c = c0 + l;
        const float grad_2 = grad2[batch] * (float)((label[batch] == c));
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

// dense1: dense_grad (predicted.dnn:5)
__global__ void k_dense_grad(float *__restrict__ grad, const float *__restrict__ grad2, const float *__restrict__ x, long CO, long CI, long len_batch) {
  GRID2_LANES(co, CO, ci0, lanes, CI) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long batch = 0; batch < len_batch; batch++)
      LANE(l, lanes) {
        const long ci = ci0 + l;
        grad_[l] += grad2[batch * CO + co] * x[batch * CI + ci];
      }
    LANE(l, lanes) {
      const long ci = ci0 + l;
      grad[co * CI + ci] = grad_[l];
    }
  }
}

// dense1: gradient_norm (predicted.dnn:2)
__global__ void k_gradient_norm(float *__restrict__ square, const float *__restrict__ whole, long CO) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(co, CO) square_ += whole[co] * whole[co];
    square_ = BLOCK_SUM(square_);
    ONCE square[0] = square_;
  }
}

// dense1: gradient_norm (predicted.dnn:2)
__global__ void k_gradient_norm2(float *__restrict__ gradient_norm, const float *__restrict__ whole, const float *__restrict__ square2, long len_coci) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(coci, len_coci) square_ += whole[coci] * whole[coci];
    square_ = BLOCK_SUM(square_);
    const float gradient_norm_ = sqrtf((square_ + square2[0]));
    ONCE gradient_norm[0] = gradient_norm_;
  }
}

// dense1: sgd (predicted.dnn:2)
__global__ void k_sgd(float *__restrict__ u, const float *__restrict__ whole, long count, float lr) {
  FLAT(i, count) u[i] = u[i] - (lr * whole[i]);
}

// cross_entropy (predicted.dnn:5)
__global__ void k_cross_entropy5(float *__restrict__ each, const float *__restrict__ y, const int *__restrict__ label, long len_batch) {
  GRID_LANES(batch0, lanes, len_batch) {
    float top_[LANES];
    LANE(l, lanes) top_[l] = -INFINITY;
    for (long c = 0; c < 3; c++)
      LANE(l, lanes) {
        const long batch = batch0 + l;
        const float v = y[batch * 3 + c];
        top_[l] = v > top_[l] ? v : top_[l];
      }
    float total_[LANES];
    LANE(l, lanes) total_[l] = 0.0f;
    float picked_[LANES];
    LANE(l, lanes) picked_[l] = 0.0f;
    for (long c = 0; c < 3; c++)
      LANE(l, lanes) {
        const long batch = batch0 + l;
        const float z_ = y[batch * 3 + c] - top_[l];
        total_[l] += expf(z_);
        picked_[l] += (float)((label[batch] == c)) * z_;
      }
    float each_[LANES];
    LANE(l, lanes) {
      const long batch = batch0 + l;
      each_[l] = (label[batch] == -1) ? 0.0f : (logf(total_[l]) - picked_[l]);
      each[batch] = each_[l];
    }
  }
}

// ---- one step --------------------------------------------------------------------------------------------------------

// Initial values of parameters and states.
static void init(void) {
  AT("dense1 init", "predicted.dnn:5");
  LAUNCH_FLAT(k_init, 12, t.dense1_w, 12, parcc.seed, (unsigned long long)parcc.step, 0);
  LAUNCH_FLAT(k_init, 3, t.dense1_b, 3, parcc.seed, (unsigned long long)parcc.step, 1);
}

// The losses of the batch.
static void forward(void) {
  AT("dense1 dense", "predicted.dnn:5");
  LAUNCH_LANES(k_dense, 3 * batch.len, t.dense1_y_2, t.x, t.dense1_w, t.dense1_b, batch.len, 3);

  AT("cross_entropy", "predicted.dnn:5");
  LAUNCH_LANES(k_cross_entropy, batch.len, t.cross_entropy_z, t.cross_entropy_total, t.cross_entropy_each, t.dense1_y_2, t.label, batch.len);
  LIFETIME_END({t.dense1_y_2, 12});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.cross_entropy_sum, t.cross_entropy_each, batch.len);
  LIFETIME_END({t.cross_entropy_each, 4});
  LAUNCH_ROWS(k_cross_entropy3, 1, t.cross_entropy_sum_2, t.label, batch.len);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "predicted.dnn:5");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2
  CHECK_NCCL(ncclAllReduce(t.cross_entropy_sum, t.cross_entropy_sum, 2, ncclFloat, ncclSum, everybody, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "predicted.dnn:5");
  LAUNCH_FLAT(k_cross_entropy4, 1, t.cross_entropy, t.cross_entropy_sum_whole, t.cross_entropy_sum_2_whole);
}

// The gradients of all parameters.
static void backward(void) {
  AT("cross_entropy", "predicted.dnn:5");
  LAUNCH_FLAT(k_cross_entropy_grad, 1, t.cross_entropy_sum_grad, t.cross_entropy_sum_2_whole);
  LIFETIME_END({t.cross_entropy_sum_whole, 8});
  LAUNCH_FLAT(k_cross_entropy_grad2, batch.len, t.cross_entropy_total_grad, t.cross_entropy_picked_grad, t.label, t.cross_entropy_sum_grad, t.cross_entropy_total, batch.len);
  LIFETIME_END({t.cross_entropy_total, 4}, {t.cross_entropy_sum_grad, 4});
  LAUNCH_MAP(k_cross_entropy_grad3, batch.len, 3, t.cross_entropy_z_grad_2, t.cross_entropy_total_grad, t.cross_entropy_z, batch.len, 3);
  LIFETIME_END({t.cross_entropy_z, 12}, {t.cross_entropy_total_grad, 4});
  LAUNCH_LANES(k_cross_entropy_dense_grad, 3, t.cross_entropy_z_grad_3, t.dense1_b_grad, t.cross_entropy_picked_grad, t.label, t.cross_entropy_z_grad_2, 3, batch.len);
  LIFETIME_END({t.label, 4}, {t.cross_entropy_picked_grad, 4}, {t.cross_entropy_z_grad_2, 12});

  AT("dense1 dense", "predicted.dnn:5");
  LAUNCH_LANES(k_dense_grad, 12, t.dense1_w_grad, t.cross_entropy_z_grad_3, t.x, 3, 4, batch.len);
  LIFETIME_END({t.x, 16}, {t.cross_entropy_z_grad_3, 12});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("dense1 all_reduce", "predicted.dnn:5");
  // all_reduce gradients of dense1
  CHECK_NCCL(ncclAllReduce(t.dense1_w_grad, t.dense1_w_grad, 15, ncclFloat, ncclSum, everybody, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
}

// What is only reported: metrics and the gradients' norm.
static void report(void) {
  WAIT(parcc.compute, event[1]);

  AT("dense1 gradient_norm", "predicted.dnn:2");
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense1_b_grad_square, t.dense1_b_grad_whole, 3);
  LAUNCH_ROWS(k_gradient_norm2, 1, t.gradient_norm, t.dense1_w_grad_whole, t.dense1_b_grad_square, 12);
  LIFETIME_END({t.dense1_b_grad_square, 4});
}

// The optimizer.
static void update(void) {
  WAIT(parcc.compute, event[1]);

  AT("dense1 sgd", "predicted.dnn:2");
  LAUNCH_FLAT(k_sgd, 12, t.dense1_w_u, t.dense1_w_grad_whole, 12, (float)parcc.lr);
  LAUNCH_FLAT(k_sgd, 3, t.dense1_b_u, t.dense1_b_grad_whole, 3, (float)parcc.lr);
  LIFETIME_END({t.dense1_w_grad_whole, 60});
}

// Losses and metrics of a batch of the test split.
static void evaluate(void) {
  AT("dense1 dense", "predicted.dnn:5");
  LAUNCH_LANES(k_dense, 3 * batch.len, t.eval_dense1_y_2, t.eval_x, t.dense1_w, t.dense1_b, batch.len, 3);
  LIFETIME_END({t.eval_x, 16});

  AT("cross_entropy", "predicted.dnn:5");
  LAUNCH_LANES(k_cross_entropy5, batch.len, t.eval_cross_entropy_each, t.eval_dense1_y_2, t.eval_label, batch.len);
  LIFETIME_END({t.eval_dense1_y_2, 12});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.eval_cross_entropy_sum, t.eval_cross_entropy_each, batch.len);
  LIFETIME_END({t.eval_cross_entropy_each, 4});
  LAUNCH_ROWS(k_cross_entropy3, 1, t.eval_cross_entropy_sum_2, t.eval_label, batch.len);
  LIFETIME_END({t.eval_label, 4});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "predicted.dnn:5");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2
  CHECK_NCCL(ncclAllReduce(t.eval_cross_entropy_sum, t.eval_cross_entropy_sum, 2, ncclFloat, ncclSum, everybody, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "predicted.dnn:5");
  LAUNCH_FLAT(k_cross_entropy4, 1, t.eval_cross_entropy, t.eval_cross_entropy_sum_whole, t.eval_cross_entropy_sum_2_whole);
  LIFETIME_END({t.eval_cross_entropy_sum_whole, 8});
}

// ---- the run ---------------------------------------------------------------------------------------------------------

static const ParccInput inputs[] = { // name, type, extents of the whole batch, range, files, scale, offset, windows, lines
    {"x", PARCC_FLOAT, 2, {8, 4}, 0, {NULL, NULL, NULL, 1.0, 0.0, NULL, NULL}},
    {"label", PARCC_INT, 1, {8}, 3, {NULL, NULL, NULL, 1.0, 0.0, NULL, NULL}},
};

static const char *const scalars[] = {"loss"};

static double learning_rate(double step, double steps) {
  (void)step;
  (void)steps;
  return 0.01;
}

static const ParccModel model = {
    .name = "small",
    .source = "predicted.dnn",
    .ranks = RANKS,
    .batch = 8,
    .real = PARCC_FLOAT,
    .inputs = inputs,
    .n_inputs = 2,
    .scalars = scalars,
    .n_scalars = 1,
    .steps = 100,
    .epochs = 0,
    .learning_rate = learning_rate,
    .whole_batches = NULL, // the last batch of an evaluation may be smaller
    .sampled = -1, // no text can be generated
    .measures = false, // it trains
};

// What operators were predicted to take, in us, and what a profile calls them (NULL: it has no name for them).
static const ParccPredicted predicted[] = {
    {5, "f32 sum [a=1 b=3 | c=4] (x0[a, c] * x1[b, c])"},
    {5, "f32 each [a=1 b=3] (x0[a, b] + x1[b])"},
    {5, "f32 max [a=1 | b=3] x0[a, b]"},
    {5, "f32 each [a=1 b=3] (x0[a, b] - x1[a])"},
    {5, "f32 sum [a=1 | b=3] exp(x0[a, b])"},
    {5, "f32 sum [a=1 | b=3] ((k0[a] == b) * x1[a, b])"},
    {1.639e-05, "f32 each [a=1] select((k0[a] == -1), 0, (log(x1[a]) - x2[a]))"},
    {5, "f32 sum [| a=1] x0[a]"},
    {5, "f32 sum [| a=1] select((k0[a] != -1), 1, 0)"},
    {41, "all_reduce [8 of 8 by 1] 4 bytes"},
    {5, "f32 each [] (x0 / max(x1, 1))"},
    {5, "f32 each [] (1 / max(x0, 1))"},
    {5, "f32 each [a=1] (select((k0[a] == -1), 0, x1) / x2[a])"},
    {5, "f32 each [a=1] neg(select((k0[a] == -1), 0, x1))"},
    {2.186e-05, "f32 each [a=1 b=3] (x0[a] * exp(x1[a, b]))"},
    {1.093e-05, "f32 each [a=1 b=3] (x0[a] * (k1[a] == b))"},
    {5, "f32 each [a=1 b=3] (x0[a, b] + x1[a, b])"},
    {5, "f32 sum [a=3 | b=1] x0[b, a]"},
    {5, "f32 sum [a=3 b=4 | c=1] (x0[c, a] * x1[c, b])"},
    {41, "all_reduce [8 of 8 by 1] 12 bytes"},
    {41.01, "all_reduce [8 of 8 by 1] 48 bytes"},
    {5, "f32 each [a=3 b=4] (x0[a, b] - (lr * x1[a, b]))"},
    {5, "f32 each [a=3] (x0[a] - (lr * x1[a]))"},
};

// Those behind each AT of a step that does not report, in order; -1 ends them.
static const int predicted_at[] = {0, 1, -1, 2, 3, 4, 5, 6, 7, 8, -1, 9, 9, -1, 10, -1, 11, 12, 13, 14, 15, 16, 17, -1, 18, -1, 19, 20, -1, 21, 22, -1};

static void place_tensors(void) {
  char *const arena = parcc_arena(2560);
  static const long place[] = {0, 64, 192, 384, 128, 256, 320, 448, 128, 129, 448, 128, 140, 192, 256, 0, 64, 512, 128, 576, 320, 256, 128, 129, 140, 128, 128, 256, 192, 320, 128,
      129, 192, 128, 129};
  parcc_place_record(arena, 4, place, 35, &t); // in units of so many bytes
}

// What --save writes and --load reads.
static void list_stored(void) {
  STORE("dense1.w", PARCC_PARAM, PARCC_FLOAT, t.dense1_w, WHOLE(3), WHOLE(4));
  STORE("dense1.b", PARCC_PARAM, PARCC_FLOAT, t.dense1_b, WHOLE(3));
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &model);
  parcc_machine("p100x4x4", 4, 2560); // ranks on each node, bytes of device memory
  everybody = parcc_axis(1, RANKS);
  parcc_events(event, 2);
  parcc_predicted(predicted, predicted_at, 32);
  place_tensors();
  batch = parcc_block(8, 2, parcc.rank / 4 % NODE);
  batch = parcc_block_in(batch, 4, parcc.rank / 1 % GPU);
  list_stored();
  init();
  parcc_load();

  while (parcc_next_step()) {
    LOAD_BATCH(0, t.x, batch, {0, 4});
    LOAD_BATCH(1, t.label, batch);
    forward();
    backward();
    if (parcc_reports()) report();
    update();
    END_STEP(t.gradient_norm, t.cross_entropy);
  }

  for (long count; (count = parcc_next_eval()) > 0;) {
    batch = parcc_block(count, 2, parcc.rank / 4 % NODE);
    batch = parcc_block_in(batch, 4, parcc.rank / 1 % GPU);
    LOAD_BATCH(0, t.eval_x, batch, {0, 4});
    LOAD_BATCH(1, t.eval_label, batch);
    evaluate();
    END_EVAL(count, t.eval_cross_entropy);
  }
  return parcc_finish();
}
