// small_profile on 1 rank. Written by parcc from measures.dnn; edit freely, or run parcc again.
//
//   mesh        data=1
//   plan        single: every rank does everything
//   parameters  0
//   memory      4608 bytes on each device, in one arena (largest sum of live tensors: 4608)
//   moved by the busiest rank in a step: nothing
//
//   parcc-cc THIS.cu -o PROG && mpiexec -n 1 PROG --data DIR

#include "parcc.h"

enum { RANKS = 1, DATA = 1 };
static const float one = 1, zero = 0;

static Interval batch; // this rank's part of 1, over no axis

// Tensors of this rank: places in one arena, shared by those whose lifetimes do not overlap.
// LIFETIME_END tells the checking mode which bytes are free for others.
static struct {
  float *k0; // k0 [4, 4]
  float *k1; // k1 [16, 4]
  float *k2; // k2 [4, 16]
  float *k3; // k3 [3, 16]
  float *k4; // k4 [4, 3]
  float *k5; // k5 [3]
  float *k6; // k6 [4]
  int *k7; // k7 [4]
  float *k8; // k8 []
  float *k9; // k9 []
  float *k10; // k10 [4, 16]
  float *k11; // k11 [16, 4]
  float *k12; // k12 [16]
  float *k13; // k13 [16]
  float *k14; // k14 [3, 16]
  float *k15; // k15 [3]
  float *x; // x [batch.len]
  float *loss; // loss []
  float *m0_x; // m0.x [4, 4]
  float *m0_x_2; // m0.x.2 [16, 4]
  float *m0_y; // m0.y [4, 16]
  float *m1_x; // m1.x [4, 16]
  float *m1_x_2; // m1.x.2 [3, 16]
  float *m1_y; // m1.y [4, 3]
  float *m2_x; // m2.x [4, 3]
  float *m2_x_2; // m2.x.2 [3]
  float *m2_y; // m2.y [4, 3]
  float *m3_x; // m3.x [4, 3]
  float *m3_y; // m3.y [4]
  float *m4_x; // m4.x [4, 3]
  float *m4_x_2; // m4.x.2 [4]
  float *m4_y; // m4.y [4, 3]
  float *m5_x; // m5.x [4, 3]
  float *m5_y; // m5.y [4]
  int *m6_x; // m6.x [4]
  float *m6_x_2; // m6.x.2 [4, 3]
  float *m6_y; // m6.y [4]
  int *m7_x; // m7.x [4]
  float *m7_y; // m7.y []
  float *m8_x; // m8.x []
  float *m8_x_2; // m8.x.2 []
  float *m8_y; // m8.y []
  float *m9_x; // m9.x []
  float *m9_y; // m9.y []
  int *m10_x; // m10.x [4]
  float *m10_x_2; // m10.x.2 []
  float *m10_x_3; // m10.x.3 [4]
  float *m10_y; // m10.y [4]
  int *m11_x; // m11.x [4]
  float *m11_x_2; // m11.x.2 []
  float *m11_y; // m11.y [4]
  float *m12_x; // m12.x [4, 3]
  float *m12_y; // m12.y [3]
  float *m13_x; // m13.x [4, 3]
  float *m13_x_2; // m13.x.2 [3, 16]
  float *m13_y; // m13.y [4, 16]
  float *m14_x; // m14.x [4, 3]
  float *m14_x_2; // m14.x.2 [4, 16]
  float *m14_y; // m14.y [3, 16]
  float *m15_x; // m15.x [4, 16]
  float *m15_x_2; // m15.x.2 [4, 16]
  float *m15_y; // m15.y [4, 16]
  float *m16_x; // m16.x [4, 16]
  float *m16_y; // m16.y [16]
  float *m17_x; // m17.x [4, 16]
  float *m17_x_2; // m17.x.2 [4, 4]
  float *m17_y; // m17.y [16, 4]
  float *m18_x; // m18.x [16, 4]
  float *m18_x_2; // m18.x.2 [16, 4]
  float *m18_y; // m18.y [16, 4]
  float *m19_x; // m19.x [16]
  float *m19_x_2; // m19.x.2 [16]
  float *m19_y; // m19.y [16]
  float *m20_x; // m20.x [3, 16]
  float *m20_x_2; // m20.x.2 [3, 16]
  float *m20_y; // m20.y [3, 16]
  float *m21_x; // m21.x [3]
  float *m21_x_2; // m21.x.2 [3]
  float *m21_y; // m21.y [3]
  float *eval_x; // x [batch.len]
  float *eval_loss; // loss []
} t;

// ---- kernels ---------------------------------------------------------------------------------------------------------

// fill (measures.dnn:3)
__global__ void k_fill(float *__restrict__ k0, long count) {
  FLAT(i, count) k0[i] = 0.5f;
}

// fill (measures.dnn:4)
__global__ void k_fill2(int *__restrict__ k7, long count) {
  FLAT(i, count) k7[i] = 0;
}

// fill (measures.dnn:5)
__global__ void k_fill3(float *__restrict__ k8) {
  FLAT(i, 1) k8[0] = 0.5f;
}

// loss (measures.dnn:1)
__global__ void k_loss(float *__restrict__ loss, const float *__restrict__ x, long len_batch) {
  GRID(row, 1) {
    (void)row;
    float loss_ = 0.0f;
    BLOCK(batch, len_batch) loss_ += x[batch];
    loss_ = BLOCK_SUM(loss_);
    ONCE loss[0] = loss_;
  }
}

// m1: dense (measures.dnn:5)
__global__ void k_dense(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ x2, long len_batch, long CO) {
  GRID2_LANES(batch, len_batch, co0, lanes, CO) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = 0.0f;
    for (long ci = 0; ci < 16; ci++)
      LANE(l, lanes) {
        const long co = co0 + l;
        y_[l] += x[batch * 16 + ci] * x2[co * 16 + ci];
      }
    LANE(l, lanes) {
      const long co = co0 + l;
      y[batch * CO + co] = y_[l];
    }
  }
}

// m2: dense (measures.dnn:5)
__global__ void k_dense2(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ x2, long len_batch, long CO) {
  GRID(batch, len_batch) BLOCK(co, CO) y[batch * CO + co] = x[batch * CO + co] + x2[co];
}

// m3: cross_entropy (measures.dnn:5)
__global__ void k_cross_entropy(float *__restrict__ y, const float *__restrict__ x, long len_batch) {
  GRID_LANES(batch0, lanes, len_batch) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = -INFINITY;
    for (long c = 0; c < 3; c++)
      LANE(l, lanes) {
        const long batch = batch0 + l;
        const float v = x[batch * 3 + c];
        y_[l] = v > y_[l] ? v : y_[l];
      }
    LANE(l, lanes) {
      const long batch = batch0 + l;
      y[batch] = y_[l];
    }
  }
}

// m4: cross_entropy (measures.dnn:5)
__global__ void k_cross_entropy2(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ x2, long len_batch, long C) {
  GRID(batch, len_batch) BLOCK(c, C) y[batch * C + c] = x[batch * C + c] - x2[batch];
}

// m5: cross_entropy (measures.dnn:5)
__global__ void k_cross_entropy3(float *__restrict__ y, const float *__restrict__ x, long len_batch) {
  GRID_LANES(batch0, lanes, len_batch) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = 0.0f;
    for (long c = 0; c < 3; c++)
      LANE(l, lanes) {
        const long batch = batch0 + l;
        y_[l] += expf(x[batch * 3 + c]);
      }
    LANE(l, lanes) {
      const long batch = batch0 + l;
      y[batch] = y_[l];
    }
  }
}

// m6: cross_entropy (measures.dnn:5)
__global__ void k_cross_entropy4(float *__restrict__ y, const int *__restrict__ x, const float *__restrict__ x2, long len_batch) {
  GRID_LANES(batch0, lanes, len_batch) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = 0.0f;
    LANE(l, lanes) {
      const long batch = batch0 + l;
      PLACE(c, x[batch], 3) {
        y_[l] += x2[batch * 3 + c];
      }
    }
    LANE(l, lanes) {
      const long batch = batch0 + l;
      y[batch] = y_[l];
    }
  }
}

// m7: cross_entropy (measures.dnn:5)
__global__ void k_cross_entropy5(float *__restrict__ y, const int *__restrict__ x, long len_batch) {
  GRID(row, 1) {
    (void)row;
    float y_ = 0.0f;
    BLOCK(batch, len_batch) y_ += (x[batch] != -1) ? 1.0f : 0.0f;
    y_ = BLOCK_SUM(y_);
    ONCE y[0] = y_;
  }
}

// m8: cross_entropy (measures.dnn:5)
__global__ void k_cross_entropy6(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ x2) {
  FLAT(i, 1) y[0] = x[0] / parcc_maxf(x2[0], 1.0f);
}

// m9: cross_entropy (measures.dnn:5)
__global__ void k_cross_entropy7(float *__restrict__ y, const float *__restrict__ x) {
  FLAT(i, 1) y[0] = 1.0f / parcc_maxf(x[0], 1.0f);
}

// m10: cross_entropy (measures.dnn:5)
__global__ void k_cross_entropy8(float *__restrict__ y, const int *__restrict__ x, const float *__restrict__ x2, const float *__restrict__ x3, long count) {
  FLAT(i, count) y[i] = ((x[i] == -1) ? 0.0f : x2[0]) / x3[i];
}

// m11: cross_entropy (measures.dnn:5)
__global__ void k_cross_entropy9(float *__restrict__ y, const int *__restrict__ x, const float *__restrict__ x2, long count) {
  FLAT(i, count) y[i] = -((x[i] == -1) ? 0.0f : x2[0]);
}

// m12: dense (measures.dnn:5)
__global__ void k_dense3(float *__restrict__ y, const float *__restrict__ x, long CO) {
  GRID_LANES(co0, lanes, CO) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = 0.0f;
    for (long batch = 0; batch < 4; batch++)
      LANE(l, lanes) {
        const long co = co0 + l;
        y_[l] += x[batch * CO + co];
      }
    LANE(l, lanes) {
      const long co = co0 + l;
      y[co] = y_[l];
    }
  }
}

// m13: dense (measures.dnn:5)
__global__ void k_dense4(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ x2, long len_batch, long CI) {
  GRID2_LANES(batch, len_batch, ci0, lanes, CI) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = 0.0f;
    for (long co = 0; co < 3; co++)
      LANE(l, lanes) {
        const long ci = ci0 + l;
        y_[l] += x[batch * 3 + co] * x2[co * CI + ci];
      }
    LANE(l, lanes) {
      const long ci = ci0 + l;
      y[batch * CI + ci] = y_[l];
    }
  }
}

// m14: dense (measures.dnn:5)
__global__ void k_dense5(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ x2, long CO, long CI) {
  GRID2_LANES(co, CO, ci0, lanes, CI) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = 0.0f;
    for (long batch = 0; batch < 4; batch++)
      LANE(l, lanes) {
        const long ci = ci0 + l;
        y_[l] += x[batch * CO + co] * x2[batch * CI + ci];
      }
    LANE(l, lanes) {
      const long ci = ci0 + l;
      y[co * CI + ci] = y_[l];
    }
  }
}

// m15: relu (measures.dnn:5)
__global__ void k_relu(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ x2, long count) {
  FLAT(i, count) y[i] = (x[i] > 0.0f) ? x2[i] : 0.0f;
}

// m18: sgd (measures.dnn:2)
__global__ void k_sgd(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ x2, long count, float lr) {
  FLAT(i, count) y[i] = x[i] - (lr * x2[i]);
}

// ---- one step --------------------------------------------------------------------------------------------------------

// Initial values of parameters and states.
static void init(void) {
  AT("fill", "measures.dnn:3");
  LAUNCH_FLAT(k_fill, 16, t.k0, 16);
  AT("fill", "measures.dnn:5");
  LAUNCH_FLAT(k_fill, 64, t.k1, 64);
  LAUNCH_FLAT(k_fill, 64, t.k2, 64);
  LAUNCH_FLAT(k_fill, 48, t.k3, 48);
  LAUNCH_FLAT(k_fill, 12, t.k4, 12);
  LAUNCH_FLAT(k_fill, 3, t.k5, 3);
  LAUNCH_FLAT(k_fill, 4, t.k6, 4);
  AT("fill", "measures.dnn:4");
  LAUNCH_FLAT(k_fill2, 4, t.k7, 4);
  AT("fill", "measures.dnn:5");
  LAUNCH_FLAT(k_fill3, 1, t.k8);
  LAUNCH_FLAT(k_fill3, 1, t.k9);
  LAUNCH_FLAT(k_fill, 64, t.k10, 64);
  LAUNCH_FLAT(k_fill, 64, t.k11, 64);
  LAUNCH_FLAT(k_fill, 16, t.k12, 16);
  LAUNCH_FLAT(k_fill, 16, t.k13, 16);
  LAUNCH_FLAT(k_fill, 48, t.k14, 48);
  LAUNCH_FLAT(k_fill, 3, t.k15, 3);
}

// The losses of the batch.
static void forward(void) {
  AT("loss", "measures.dnn:1");
  LAUNCH_ROWS(k_loss, 1, t.loss, t.x, batch.len);
  LIFETIME_END({t.x, 4});

  AT("m0 dense", "measures.dnn:5");
  // m0.y[batch, co] = sum(ci) (m0.x[batch, ci] * m0.x.2[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 16, 4, 4, &one,
      t.m0_x_2, 4, t.m0_x, 4, &zero, t.m0_y, 16));
  LIFETIME_END({t.m0_y, 256});
  parcc_lap(0);

  AT("m1 dense", "measures.dnn:5");
  LAUNCH_LANES(k_dense, 12, t.m1_y, t.m1_x, t.m1_x_2, 4, 3);
  LIFETIME_END({t.m1_y, 48});
  parcc_lap(1);

  AT("m2 dense", "measures.dnn:5");
  LAUNCH_MAP(k_dense2, 4, 3, t.m2_y, t.m2_x, t.m2_x_2, 4, 3);
  LIFETIME_END({t.m2_y, 48});
  parcc_lap(2);

  AT("m3 cross_entropy", "measures.dnn:5");
  LAUNCH_LANES(k_cross_entropy, 4, t.m3_y, t.m3_x, 4);
  LIFETIME_END({t.m3_y, 16});
  parcc_lap(3);

  AT("m4 cross_entropy", "measures.dnn:5");
  LAUNCH_MAP(k_cross_entropy2, 4, 3, t.m4_y, t.m4_x, t.m4_x_2, 4, 3);
  LIFETIME_END({t.m4_y, 48});
  parcc_lap(4);

  AT("m5 cross_entropy", "measures.dnn:5");
  LAUNCH_LANES(k_cross_entropy3, 4, t.m5_y, t.m5_x, 4);
  LIFETIME_END({t.m5_y, 16});
  parcc_lap(5);

  AT("m6 cross_entropy", "measures.dnn:5");
  LAUNCH_LANES(k_cross_entropy4, 4, t.m6_y, t.m6_x, t.m6_x_2, 4);
  LIFETIME_END({t.m6_y, 16});
  parcc_lap(6);

  AT("m7 cross_entropy", "measures.dnn:5");
  LAUNCH_ROWS(k_cross_entropy5, 1, t.m7_y, t.m7_x, 4);
  LIFETIME_END({t.m7_y, 4});
  parcc_lap(7);

  AT("m8 cross_entropy", "measures.dnn:5");
  LAUNCH_FLAT(k_cross_entropy6, 1, t.m8_y, t.m8_x, t.m8_x_2);
  LIFETIME_END({t.m8_y, 4});
  parcc_lap(8);

  AT("m9 cross_entropy", "measures.dnn:5");
  LAUNCH_FLAT(k_cross_entropy7, 1, t.m9_y, t.m9_x);
  LIFETIME_END({t.m9_y, 4});
  parcc_lap(9);

  AT("m10 cross_entropy", "measures.dnn:5");
  LAUNCH_FLAT(k_cross_entropy8, 4, t.m10_y, t.m10_x, t.m10_x_2, t.m10_x_3, 4);
  LIFETIME_END({t.m10_y, 16});
  parcc_lap(10);

  AT("m11 cross_entropy", "measures.dnn:5");
  LAUNCH_FLAT(k_cross_entropy9, 4, t.m11_y, t.m11_x, t.m11_x_2, 4);
  LIFETIME_END({t.m11_y, 16});
  parcc_lap(11);

  AT("m12 dense", "measures.dnn:5");
  LAUNCH_LANES(k_dense3, 3, t.m12_y, t.m12_x, 3);
  LIFETIME_END({t.m12_y, 12});
  parcc_lap(12);

  AT("m13 dense", "measures.dnn:5");
  LAUNCH_LANES(k_dense4, 64, t.m13_y, t.m13_x, t.m13_x_2, 4, 16);
  LIFETIME_END({t.m13_y, 256});
  parcc_lap(13);

  AT("m14 dense", "measures.dnn:5");
  LAUNCH_LANES(k_dense5, 48, t.m14_y, t.m14_x, t.m14_x_2, 3, 16);
  LIFETIME_END({t.m14_y, 192});
  parcc_lap(14);

  AT("m15 relu", "measures.dnn:5");
  LAUNCH_FLAT(k_relu, 64, t.m15_y, t.m15_x, t.m15_x_2, 64);
  LIFETIME_END({t.m15_y, 256});
  parcc_lap(15);

  AT("m16 dense", "measures.dnn:5");
  LAUNCH_LANES(k_dense3, 16, t.m16_y, t.m16_x, 16);
  LIFETIME_END({t.m16_y, 64});
  parcc_lap(16);

  AT("m17 dense", "measures.dnn:5");
  // m17.y[co, ci] = sum(batch) (m17.x[batch, co] * m17.x.2[batch, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 4, 16, 4, &one,
      t.m17_x_2, 4, t.m17_x, 16, &zero, t.m17_y, 4));
  LIFETIME_END({t.m17_y, 256});
  parcc_lap(17);

  AT("m18 sgd", "measures.dnn:2");
  LAUNCH_FLAT(k_sgd, 64, t.m18_y, t.m18_x, t.m18_x_2, 64, (float)parcc.lr);
  LIFETIME_END({t.m18_y, 256});
  parcc_lap(18);

  AT("m19 sgd", "measures.dnn:2");
  LAUNCH_FLAT(k_sgd, 16, t.m19_y, t.m19_x, t.m19_x_2, 16, (float)parcc.lr);
  LIFETIME_END({t.m19_y, 64});
  parcc_lap(19);

  AT("m20 sgd", "measures.dnn:2");
  LAUNCH_FLAT(k_sgd, 48, t.m20_y, t.m20_x, t.m20_x_2, 48, (float)parcc.lr);
  LIFETIME_END({t.m20_y, 192});
  parcc_lap(20);

  AT("m21 sgd", "measures.dnn:2");
  LAUNCH_FLAT(k_sgd, 3, t.m21_y, t.m21_x, t.m21_x_2, 3, (float)parcc.lr);
  LIFETIME_END({t.m21_y, 12});
  parcc_lap(21);
}

// The gradients of all parameters.
static void backward(void) {
}

// What is only reported: metrics and the gradients' norm.
static void report(void) {
}

// The optimizer.
static void update(void) {
}

// Losses and metrics of a batch of the test split.
static void evaluate(void) {
  AT("loss", "measures.dnn:1");
  LAUNCH_ROWS(k_loss, 1, t.eval_loss, t.eval_x, batch.len);
  LIFETIME_END({t.eval_x, 4});
}

// ---- the run ---------------------------------------------------------------------------------------------------------

static const ParccInput inputs[] = { // name, type, extents of the whole batch, range, files, scale, offset, windows, lines
    {"x", PARCC_FLOAT, 1, {1}, 0, {NULL, NULL, NULL, 1.0, 0.0, NULL, NULL}},
};

static const char *const measured[] = { // what the laps of forward are called in a profile
    "f32 sum [a=4 b=16 | c=4] (x0[a, c] * x1[b, c])",
    "f32 sum [a=4 b=3 | c=16] (x0[a, c] * x1[b, c])",
    "f32 each [a=4 b=3] (x0[a, b] + x1[b])",
    "f32 max [a=4 | b=3] x0[a, b]",
    "f32 each [a=4 b=3] (x0[a, b] - x1[a])",
    "f32 sum [a=4 | b=3] exp(x0[a, b])",
    "f32 sum [a=4 | b=3] ((k0[a] == b) * x1[a, b])",
    "f32 sum [| a=4] select((k0[a] != -1), 1, 0)",
    "f32 each [] (x0 / max(x1, 1))",
    "f32 each [] (1 / max(x0, 1))",
    "f32 each [a=4] (select((k0[a] == -1), 0, x1) / x2[a])",
    "f32 each [a=4] neg(select((k0[a] == -1), 0, x1))",
    "f32 sum [a=3 | b=4] x0[b, a]",
    "f32 sum [a=4 b=16 | c=3] (x0[a, c] * x1[c, b])",
    "f32 sum [a=3 b=16 | c=4] (x0[c, a] * x1[c, b])",
    "f32 each [a=4 b=16] select((x0[a, b] > 0), x1[a, b], 0)",
    "f32 sum [a=16 | b=4] x0[b, a]",
    "f32 sum [a=16 b=4 | c=4] (x0[c, a] * x1[c, b])",
    "f32 each [a=16 b=4] (x0[a, b] - (lr * x1[a, b]))",
    "f32 each [a=16] (x0[a] - (lr * x1[a]))",
    "f32 each [a=3 b=16] (x0[a, b] - (lr * x1[a, b]))",
    "f32 each [a=3] (x0[a] - (lr * x1[a]))",
};

static const char *const scalars[] = {"loss"};

static double learning_rate(double step, double steps) {
  (void)step;
  (void)steps;
  return 0.0;
}

static const ParccModel model = {
    .name = "small_profile",
    .source = "measures.dnn",
    .ranks = RANKS,
    .batch = 1,
    .real = PARCC_FLOAT,
    .inputs = inputs,
    .n_inputs = 1,
    .scalars = scalars,
    .n_scalars = 1,
    .steps = 20,
    .epochs = 0,
    .learning_rate = learning_rate,
    .whole_batches = NULL, // the last batch of an evaluation may be smaller
    .sampled = -1, // no text can be generated
    .measures = true, // prints a profile, and nothing else
};

static void place_tensors(void) {
  char *const arena = parcc_arena(4608);
  static const long place[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 0, 1, 16, 2, 3, 16, 4, 5, 16, 4, 16, 4, 6, 16, 4, 16, 7, 4, 16, 7, 16, 8, 9, 16, 8,
      16, 7, 8, 6, 16, 7, 8, 16, 4, 16, 4, 3, 16, 4, 2, 16, 2, 10, 16, 2, 16, 2, 0, 16, 1, 11, 16, 12, 13, 16, 3, 14, 16, 5, 15, 16, 16, 17};
  parcc_place_record(arena, 256, place, 81, &t); // in units of so many bytes
}

// What --save writes and --load reads.
static void list_stored(void) {
  STORE("k0", PARCC_STATE, PARCC_FLOAT, t.k0, WHOLE(4), WHOLE(4));
  STORE("k1", PARCC_STATE, PARCC_FLOAT, t.k1, WHOLE(16), WHOLE(4));
  STORE("k2", PARCC_STATE, PARCC_FLOAT, t.k2, WHOLE(4), WHOLE(16));
  STORE("k3", PARCC_STATE, PARCC_FLOAT, t.k3, WHOLE(3), WHOLE(16));
  STORE("k4", PARCC_STATE, PARCC_FLOAT, t.k4, WHOLE(4), WHOLE(3));
  STORE("k5", PARCC_STATE, PARCC_FLOAT, t.k5, WHOLE(3));
  STORE("k6", PARCC_STATE, PARCC_FLOAT, t.k6, WHOLE(4));
  STORE("k7", PARCC_STATE, PARCC_INT, t.k7, WHOLE(4));
  STORE("k8", PARCC_STATE, PARCC_FLOAT, t.k8, SCALAR);
  STORE("k9", PARCC_STATE, PARCC_FLOAT, t.k9, SCALAR);
  STORE("k10", PARCC_STATE, PARCC_FLOAT, t.k10, WHOLE(4), WHOLE(16));
  STORE("k11", PARCC_STATE, PARCC_FLOAT, t.k11, WHOLE(16), WHOLE(4));
  STORE("k12", PARCC_STATE, PARCC_FLOAT, t.k12, WHOLE(16));
  STORE("k13", PARCC_STATE, PARCC_FLOAT, t.k13, WHOLE(16));
  STORE("k14", PARCC_STATE, PARCC_FLOAT, t.k14, WHOLE(3), WHOLE(16));
  STORE("k15", PARCC_STATE, PARCC_FLOAT, t.k15, WHOLE(3));
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &model);
  place_tensors();
  batch = parcc_block(1, 1, 0);
  list_stored();
  init();
  parcc_load();

  while (parcc_next_step()) {
    LOAD_BATCH(0, t.x, batch);
    parcc_lap(PARCC_LAP_BEGIN);
    parcc_lap(PARCC_LAP_EMPTY);
    forward();
    backward();
    if (parcc_reports()) report();
    update();
    END_STEP(NULL, t.loss);
  }

  for (long count; (count = parcc_next_eval()) > 0;) {
    batch = parcc_block(count, 1, 0);
    LOAD_BATCH(0, t.eval_x, batch);
    evaluate();
    END_EVAL(count, t.eval_loss);
  }
  parcc_laps(measured, 22);
  return parcc_finish();
}
