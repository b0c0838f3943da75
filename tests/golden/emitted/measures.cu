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
  float *k2; // k2 [16]
  float *k3; // k3 [3, 16]
  float *k4; // k4 [3]
  int *k5; // k5 [4]
  float *k6; // k6 [4]
  float *k7; // k7 [4, 3]
  float *k8; // k8 [4, 16]
  float *k9; // k9 [16, 4]
  float *k10; // k10 [16]
  float *k11; // k11 [3, 16]
  float *k12; // k12 [3]
  float *x; // x [batch.len]
  float *loss; // loss []
  float *m0_x; // m0.x [4, 4]
  float *m0_x_2; // m0.x.2 [16, 4]
  float *m0_y; // m0.y [4, 16]
  float *w1; // w1 [4, 16]
  float *m1_x; // m1.x [4, 16]
  float *m1_x_2; // m1.x.2 [16]
  float *m1_y_2; // m1.y.2 [4, 16]
  float *w2; // w2 [4, 16]
  float *m2_x; // m2.x [4, 16]
  float *m2_x_2; // m2.x.2 [3, 16]
  float *m2_y; // m2.y [4, 3]
  float *w3; // w3 [4, 3]
  float *m3_x; // m3.x [4, 3]
  float *m3_x_2; // m3.x.2 [3]
  int *m3_x_3; // m3.x.3 [4]
  float *m3_y_3; // m3.y.3 [4, 3]
  float *m3_y_4; // m3.y.4 [4]
  float *m3_y_6; // m3.y.6 [4]
  float *w4; // w4 [4]
  float *m4_x; // m4.x [4]
  float *m4_y; // m4.y []
  int *m5_x; // m5.x [4]
  float *m5_y; // m5.y []
  float *w6; // w6 []
  float *m6_x; // m6.x []
  float *w6_2; // w6.2 []
  float *m6_x_2; // m6.x.2 []
  float *m6_y; // m6.y []
  float *w7; // w7 []
  float *m7_x; // m7.x []
  float *m7_y; // m7.y []
  int *m8_x; // m8.x [4]
  float *w8; // w8 []
  float *m8_x_2; // m8.x.2 []
  float *m8_x_3; // m8.x.3 [4]
  float *m8_y; // m8.y [4]
  float *m8_y_2; // m8.y.2 [4]
  float *w9; // w9 [4]
  float *m9_x; // m9.x [4]
  int *m9_x_2; // m9.x.2 [4]
  float *w9_2; // w9.2 [4, 3]
  float *m9_x_3; // m9.x.3 [4, 3]
  float *m9_y_2; // m9.y.2 [4, 3]
  float *m9_y_3; // m9.y.3 [3]
  float *w10; // w10 [4]
  float *m10_x; // m10.x [4]
  float *m10_x_2; // m10.x.2 [4, 3]
  float *m10_y; // m10.y [4, 3]
  float *w11; // w11 [4, 3]
  float *m11_x; // m11.x [4, 3]
  float *m11_x_2; // m11.x.2 [3, 16]
  float *m11_y; // m11.y [4, 16]
  float *m12_x; // m12.x [4, 3]
  float *m12_x_2; // m12.x.2 [4, 16]
  float *m12_y; // m12.y [3, 16]
  float *m13_x; // m13.x [4, 16]
  float *w13; // w13 [4, 16]
  float *m13_x_2; // m13.x.2 [4, 16]
  float *m13_y; // m13.y [4, 16]
  float *m13_y_2; // m13.y.2 [16]
  float *w14; // w14 [4, 16]
  float *m14_x; // m14.x [4, 16]
  float *m14_x_2; // m14.x.2 [4, 4]
  float *m14_y; // m14.y [16, 4]
  float *m15_x; // m15.x [16, 4]
  float *m15_y; // m15.y [16, 4]
  float *m16_x; // m16.x [16]
  float *m16_y; // m16.y [16]
  float *m17_x; // m17.x [3, 16]
  float *m17_y; // m17.y [3, 16]
  float *m18_x; // m18.x [3]
  float *m18_y; // m18.y [3]
  float *eval_x; // x [batch.len]
  float *eval_loss; // loss []
} t;

// ---- kernels ---------------------------------------------------------------------------------------------------------

// fill (measures.dnn:3)
__global__ void k_fill(float *__restrict__ k0, long count) {
  FLAT(i, count) k0[i] = 0.5f;
}

// fill (measures.dnn:4)
__global__ void k_fill2(int *__restrict__ k5, long count) {
  FLAT(i, count) k5[i] = 0;
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

// m1: dense_relu (measures.dnn:5)
__global__ void k_dense_relu(float *__restrict__ y2, const float *__restrict__ x, const float *__restrict__ x2, long len_batch, long CO) {
  GRID(batch, len_batch) BLOCK(co, CO) {
    const float y_ = x[batch * CO + co] + x2[co];
    y2[batch * CO + co] = parcc_maxf(y_, 0.0f);
  }
}

// m2: dense (measures.dnn:5)
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

// m3: dense_cross_entropy (measures.dnn:5)
__global__ void k_dense_cross_entropy(float *__restrict__ y3, float *__restrict__ y4, float *__restrict__ y6, const float *__restrict__ x, const float *__restrict__ x2, const int *__restrict__ x3, long len_batch) {
  GRID_LANES(batch0, lanes, len_batch) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = -INFINITY;
    for (long co = 0; co < 3; co++)
      LANE(l, lanes) {
        const long batch = batch0 + l;
        const float y_2 = x[batch * 3 + co] + x2[co];
        const float v = y_2;
        y_[l] = v > y_[l] ? v : y_[l];
      }
    float y_3[LANES];
    LANE(l, lanes) y_3[l] = 0.0f;
    float y_4[LANES];
    LANE(l, lanes) y_4[l] = 0.0f;
    for (long co = 0; co < 3; co++)
      LANE(l, lanes) {
        const long batch = batch0 + l;
        const float y_5 = x[batch * 3 + co] + x2[co];
        const float y_6 = y_5 - y_[l];
        y_3[l] += expf(y_6);
        y_4[l] += (float)((x3[batch] == co)) * y_6;
        y3[batch * 3 + co] = y_6;
      }
    LANE(l, lanes) {
      const long batch = batch0 + l;
      y4[batch] = y_3[l];
    }
    float y_7[LANES];
    LANE(l, lanes) {
      const long batch = batch0 + l;
      y_7[l] = (x3[batch] == -1) ? 0.0f : (logf(y_3[l]) - y_4[l]);
      y6[batch] = y_7[l];
    }
  }
}

// m5: cross_entropy (measures.dnn:5)
__global__ void k_cross_entropy(float *__restrict__ y, const int *__restrict__ x, long len_batch) {
  GRID(row, 1) {
    (void)row;
    float y_ = 0.0f;
    BLOCK(batch, len_batch) y_ += (x[batch] != -1) ? 1.0f : 0.0f;
    y_ = BLOCK_SUM(y_);
    ONCE y[0] = y_;
  }
}

// w6: fill (measures.dnn:5)
__global__ void k_fill3(float *__restrict__ w6) {
  FLAT(i, 1) w6[0] = 0.5f;
}

// m6: cross_entropy (measures.dnn:5)
__global__ void k_cross_entropy2(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ x2) {
  FLAT(i, 1) y[0] = x[0] / parcc_maxf(x2[0], 1.0f);
}

// m7: cross_entropy (measures.dnn:5)
__global__ void k_cross_entropy3(float *__restrict__ y, const float *__restrict__ x) {
  FLAT(i, 1) y[0] = 1.0f / parcc_maxf(x[0], 1.0f);
}

// m8: cross_entropy (measures.dnn:5)
__global__ void k_cross_entropy4(float *__restrict__ y, float *__restrict__ y2, const int *__restrict__ x, const float *__restrict__ x2, const float *__restrict__ x3, long count) {
  FLAT(i, count) {
    const float y_ = ((x[i] == -1) ? 0.0f : x2[0]) / x3[i];
    const float y_2 = -((x[i] == -1) ? 0.0f : x2[0]);
    y[i] = y_;
    y2[i] = y_2;
  }
}

// m9: cross_entropy_dense (measures.dnn:5)
__global__ void k_cross_entropy_dense(float *__restrict__ y2, float *__restrict__ y3, const float *__restrict__ x, const int *__restrict__ x2, const float *__restrict__ x3, long C) {
  GRID_LANES(c0, lanes, C) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = 0.0f;
    for (long batch = 0; batch < 4; batch++)
      LANE(l, lanes) {
        const long c = c0 + l;
        const float y_2 = x[batch] * (float)((x2[batch] == c));
        const float y_3 = y_2 + x3[batch * C + c];
        y_[l] += y_3;
        y2[batch * C + c] = y_3;
      }
    LANE(l, lanes) {
      const long c = c0 + l;
      y3[c] = y_[l];
    }
  }
}

// m10: cross_entropy (measures.dnn:5)
__global__ void k_cross_entropy5(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ x2, long len_batch, long C) {
  GRID(batch, len_batch) BLOCK(c, C) y[batch * C + c] = x[batch] * expf(x2[batch * C + c]);
}

// m11: dense (measures.dnn:5)
__global__ void k_dense2(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ x2, long len_batch, long CI) {
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

// m12: dense (measures.dnn:5)
__global__ void k_dense3(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ x2, long CO, long CI) {
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

// m13: relu_dense (measures.dnn:5)
__global__ void k_relu_dense(float *__restrict__ y, float *__restrict__ y2, const float *__restrict__ x, const float *__restrict__ x2, long CO) {
  GRID_LANES(co0, lanes, CO) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = 0.0f;
    for (long batch = 0; batch < 4; batch++)
      LANE(l, lanes) {
        const long co = co0 + l;
        const float y_2 = (x[batch * CO + co] > 0.0f) ? x2[batch * CO + co] : 0.0f;
        y_[l] += y_2;
        y[batch * CO + co] = y_2;
      }
    LANE(l, lanes) {
      const long co = co0 + l;
      y2[co] = y_[l];
    }
  }
}

// m15: sgd (measures.dnn:2)
__global__ void k_sgd(float *__restrict__ y, const float *__restrict__ x, long count, float lr) {
  FLAT(i, count) y[i] = y[i] - (lr * x[i]);
}

// ---- one step --------------------------------------------------------------------------------------------------------

// Initial values of parameters and states.
static void init(void) {
  AT("fill", "measures.dnn:3");
  LAUNCH_FLAT(k_fill, 16, t.k0, 16);
  AT("fill", "measures.dnn:5");
  LAUNCH_FLAT(k_fill, 64, t.k1, 64);
  LAUNCH_FLAT(k_fill, 16, t.k2, 16);
  LAUNCH_FLAT(k_fill, 48, t.k3, 48);
  LAUNCH_FLAT(k_fill, 3, t.k4, 3);
  AT("fill", "measures.dnn:4");
  LAUNCH_FLAT(k_fill2, 4, t.k5, 4);
  AT("fill", "measures.dnn:5");
  LAUNCH_FLAT(k_fill, 4, t.k6, 4);
  LAUNCH_FLAT(k_fill, 12, t.k7, 12);
  LAUNCH_FLAT(k_fill, 64, t.k8, 64);
  LAUNCH_FLAT(k_fill, 64, t.k9, 64);
  LAUNCH_FLAT(k_fill, 16, t.k10, 16);
  LAUNCH_FLAT(k_fill, 48, t.k11, 48);
  LAUNCH_FLAT(k_fill, 3, t.k12, 3);
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

  AT("w1 fill", "measures.dnn:5");
  LAUNCH_FLAT(k_fill, 64, t.w1, 64);
  parcc_lap(PARCC_LAP_BEGIN);

  AT("m1 dense", "measures.dnn:5");
  LAUNCH_MAP(k_dense_relu, 4, 16, t.m1_y_2, t.m1_x, t.m1_x_2, 4, 16);
  LIFETIME_END({t.m1_x, 256}, {t.m1_y_2, 256});
  parcc_lap(1);

  AT("w2 fill", "measures.dnn:5");
  LAUNCH_FLAT(k_fill, 64, t.w2, 64);
  parcc_lap(PARCC_LAP_BEGIN);

  AT("m2 dense", "measures.dnn:5");
  LAUNCH_LANES(k_dense, 12, t.m2_y, t.m2_x, t.m2_x_2, 4, 3);
  LIFETIME_END({t.m2_x, 256}, {t.m2_y, 48});
  parcc_lap(2);

  AT("w3 fill", "measures.dnn:5");
  LAUNCH_FLAT(k_fill, 12, t.w3, 12);
  parcc_lap(PARCC_LAP_BEGIN);

  AT("m3 dense", "measures.dnn:5");
  LAUNCH_LANES(k_dense_cross_entropy, 4, t.m3_y_3, t.m3_y_4, t.m3_y_6, t.m3_x, t.m3_x_2, t.m3_x_3, 4);
  LIFETIME_END({t.m3_x, 48}, {t.m3_y_3, 48}, {t.m3_y_4, 16}, {t.m3_y_6, 16});
  parcc_lap(3);

  AT("w4 fill", "measures.dnn:5");
  LAUNCH_FLAT(k_fill, 4, t.w4, 4);
  parcc_lap(PARCC_LAP_BEGIN);

  AT("m4 cross_entropy", "measures.dnn:5");
  LAUNCH_ROWS(k_loss, 1, t.m4_y, t.m4_x, 4);
  LIFETIME_END({t.m4_x, 16}, {t.m4_y, 4});
  parcc_lap(4);

  AT("m5 cross_entropy", "measures.dnn:5");
  LAUNCH_ROWS(k_cross_entropy, 1, t.m5_y, t.m5_x, 4);
  LIFETIME_END({t.m5_y, 4});
  parcc_lap(5);

  AT("w6 fill", "measures.dnn:5");
  LAUNCH_FLAT(k_fill3, 1, t.w6);
  LAUNCH_FLAT(k_fill3, 1, t.w6_2);
  parcc_lap(PARCC_LAP_BEGIN);

  AT("m6 cross_entropy", "measures.dnn:5");
  LAUNCH_FLAT(k_cross_entropy2, 1, t.m6_y, t.m6_x, t.m6_x_2);
  LIFETIME_END({t.m6_x, 4}, {t.m6_x_2, 4}, {t.m6_y, 4});
  parcc_lap(6);

  AT("w7 fill", "measures.dnn:5");
  LAUNCH_FLAT(k_fill3, 1, t.w7);
  parcc_lap(PARCC_LAP_BEGIN);

  AT("m7 cross_entropy", "measures.dnn:5");
  LAUNCH_FLAT(k_cross_entropy3, 1, t.m7_y, t.m7_x);
  LIFETIME_END({t.m7_x, 4}, {t.m7_y, 4});
  parcc_lap(7);

  AT("w8 fill", "measures.dnn:5");
  LAUNCH_FLAT(k_fill3, 1, t.w8);
  parcc_lap(PARCC_LAP_BEGIN);

  AT("m8 cross_entropy", "measures.dnn:5");
  LAUNCH_FLAT(k_cross_entropy4, 4, t.m8_y, t.m8_y_2, t.m8_x, t.m8_x_2, t.m8_x_3, 4);
  LIFETIME_END({t.m8_x_2, 4}, {t.m8_y, 16}, {t.m8_y_2, 16});
  parcc_lap(8);

  AT("w9 fill", "measures.dnn:5");
  LAUNCH_FLAT(k_fill, 4, t.w9, 4);
  LAUNCH_FLAT(k_fill, 12, t.w9_2, 12);
  parcc_lap(PARCC_LAP_BEGIN);

  AT("m9 cross_entropy", "measures.dnn:5");
  LAUNCH_LANES(k_cross_entropy_dense, 3, t.m9_y_2, t.m9_y_3, t.m9_x, t.m9_x_2, t.m9_x_3, 3);
  LIFETIME_END({t.m9_x, 16}, {t.m9_x_3, 48}, {t.m9_y_2, 48}, {t.m9_y_3, 12});
  parcc_lap(9);

  AT("w10 fill", "measures.dnn:5");
  LAUNCH_FLAT(k_fill, 4, t.w10, 4);
  parcc_lap(PARCC_LAP_BEGIN);

  AT("m10 cross_entropy", "measures.dnn:5");
  LAUNCH_MAP(k_cross_entropy5, 4, 3, t.m10_y, t.m10_x, t.m10_x_2, 4, 3);
  LIFETIME_END({t.m10_x, 16}, {t.m10_y, 48});
  parcc_lap(10);

  AT("w11 fill", "measures.dnn:5");
  LAUNCH_FLAT(k_fill, 12, t.w11, 12);
  parcc_lap(PARCC_LAP_BEGIN);

  AT("m11 dense", "measures.dnn:5");
  LAUNCH_LANES(k_dense2, 64, t.m11_y, t.m11_x, t.m11_x_2, 4, 16);
  LIFETIME_END({t.m11_x, 48}, {t.m11_y, 256});
  parcc_lap(11);

  AT("m12 dense", "measures.dnn:5");
  LAUNCH_LANES(k_dense3, 48, t.m12_y, t.m12_x, t.m12_x_2, 3, 16);
  LIFETIME_END({t.m12_y, 192});
  parcc_lap(12);

  AT("w13 fill", "measures.dnn:5");
  LAUNCH_FLAT(k_fill, 64, t.w13, 64);
  parcc_lap(PARCC_LAP_BEGIN);

  AT("m13 relu", "measures.dnn:5");
  LAUNCH_LANES(k_relu_dense, 16, t.m13_y, t.m13_y_2, t.m13_x, t.m13_x_2, 16);
  LIFETIME_END({t.m13_x_2, 256}, {t.m13_y, 256}, {t.m13_y_2, 64});
  parcc_lap(13);

  AT("w14 fill", "measures.dnn:5");
  LAUNCH_FLAT(k_fill, 64, t.w14, 64);
  parcc_lap(PARCC_LAP_BEGIN);

  AT("m14 dense", "measures.dnn:5");
  // m14.y[co, ci] = sum(batch) (m14.x[batch, co] * m14.x.2[batch, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 4, 16, 4, &one,
      t.m14_x_2, 4, t.m14_x, 16, &zero, t.m14_y, 4));
  LIFETIME_END({t.m14_x, 256}, {t.m14_y, 256});
  parcc_lap(14);

  AT("m15 sgd", "measures.dnn:2");
  LAUNCH_FLAT(k_sgd, 64, t.m15_y, t.m15_x, 64, (float)parcc.lr);
  parcc_lap(15);

  AT("m16 sgd", "measures.dnn:2");
  LAUNCH_FLAT(k_sgd, 16, t.m16_y, t.m16_x, 16, (float)parcc.lr);
  parcc_lap(16);

  AT("m17 sgd", "measures.dnn:2");
  LAUNCH_FLAT(k_sgd, 48, t.m17_y, t.m17_x, 48, (float)parcc.lr);
  parcc_lap(17);

  AT("m18 sgd", "measures.dnn:2");
  LAUNCH_FLAT(k_sgd, 3, t.m18_y, t.m18_x, 3, (float)parcc.lr);
  parcc_lap(18);
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
    .steps = 22,
    .epochs = 0,
    .learning_rate = learning_rate,
    .whole_batches = NULL, // the last batch of an evaluation may be smaller
    .sampled = -1, // no text can be generated
    .measures = true, // prints a profile, and nothing else
};

// What operators were predicted to take, in us, and what a profile calls them (NULL: it has no name for them).
static const ParccPredicted predicted[] = {
    {5, "f32 sum [a=4 b=16 | c=4] (x0[a, c] * x1[b, c])"},
    {0.0004372, "f32 each [a=4 b=16] (x0[a, b] + x1[b])"},
    {5, "f32 each [a=4 b=16] max(x0[a, b], 0)"},
    {5, "f32 sum [a=4 b=3 | c=16] (x0[a, c] * x1[b, c])"},
    {5, "f32 each [a=4 b=3] (x0[a, b] + x1[b])"},
    {5, "f32 max [a=4 | b=3] x0[a, b]"},
    {5, "f32 each [a=4 b=3] (x0[a, b] - x1[a])"},
    {5, "f32 sum [a=4 | b=3] exp(x0[a, b])"},
    {5, "f32 sum [a=4 | b=3] ((k0[a] == b) * x1[a, b])"},
    {6.557e-05, "f32 each [a=4] select((k0[a] == -1), 0, (log(x1[a]) - x2[a]))"},
    {5, "f32 sum [| a=4] x0[a]"},
    {5, "f32 sum [| a=4] select((k0[a] != -1), 1, 0)"},
    {5, "f32 each [] (x0 / max(x1, 1))"},
    {5, "f32 each [] (1 / max(x0, 1))"},
    {5, "f32 each [a=4] (select((k0[a] == -1), 0, x1) / x2[a])"},
    {5, "f32 each [a=4] neg(select((k0[a] == -1), 0, x1))"},
    {4.372e-05, "f32 each [a=4 b=3] (x0[a] * (k1[a] == b))"},
    {5, "f32 each [a=4 b=3] (x0[a, b] + x1[a, b])"},
    {5, "f32 sum [a=3 | b=4] x0[b, a]"},
    {8.743e-05, "f32 each [a=4 b=3] (x0[a] * exp(x1[a, b]))"},
    {5, "f32 sum [a=4 b=16 | c=3] (x0[a, c] * x1[c, b])"},
    {5, "f32 sum [a=3 b=16 | c=4] (x0[c, a] * x1[c, b])"},
    {5, "f32 each [a=4 b=16] select((x0[a, b] > 0), x1[a, b], 0)"},
    {5, "f32 sum [a=16 | b=4] x0[b, a]"},
    {5, "f32 sum [a=16 b=4 | c=4] (x0[c, a] * x1[c, b])"},
    {5, "f32 each [a=16 b=4] (x0[a, b] - (lr * x1[a, b]))"},
    {5, "f32 each [a=16] (x0[a] - (lr * x1[a]))"},
    {5, "f32 each [a=3 b=16] (x0[a, b] - (lr * x1[a, b]))"},
    {5, "f32 each [a=3] (x0[a] - (lr * x1[a]))"},
};

// Those behind each lap, in order; -1 ends them.
static const int predicted_at[] = {0, -1, 1, 2, -1, 3, -1, 4, 5, 6, 7, 8, 9, -1, 10, -1, 11, -1, 12, -1, 13, -1, 14, 15, -1, 16, 17, 18, -1, 19, -1, 20, -1, 21, -1, 22, 23, -1,
    24, -1, 25, -1, 26, -1, 27, -1, 28, -1};

static void place_tensors(void) {
  char *const arena = parcc_arena(4608);
  static const long place[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 0, 1, 13, 13, 13, 2, 14, 13, 13, 3, 14, 13, 13, 4, 5, 14, 15, 16, 13, 13, 14, 5, 13, 13, 13, 14,
      14, 15, 13, 13, 14, 5, 15, 15, 6, 13, 14, 15, 15, 5, 13, 13, 14, 16, 14, 14, 7, 13, 14, 14, 3, 13, 7, 8, 13, 8, 13, 13, 14, 15, 13, 13, 0, 14, 1, 9, 2, 10, 3, 11, 4, 12, 13,
      14};
  parcc_place_record(arena, 256, place, 89, &t); // in units of so many bytes
}

// What --save writes and --load reads.
static void list_stored(void) {
  STORE("k0", PARCC_STATE, PARCC_FLOAT, t.k0, WHOLE(4), WHOLE(4));
  STORE("k1", PARCC_STATE, PARCC_FLOAT, t.k1, WHOLE(16), WHOLE(4));
  STORE("k2", PARCC_STATE, PARCC_FLOAT, t.k2, WHOLE(16));
  STORE("k3", PARCC_STATE, PARCC_FLOAT, t.k3, WHOLE(3), WHOLE(16));
  STORE("k4", PARCC_STATE, PARCC_FLOAT, t.k4, WHOLE(3));
  STORE("k5", PARCC_STATE, PARCC_INT, t.k5, WHOLE(4));
  STORE("k6", PARCC_STATE, PARCC_FLOAT, t.k6, WHOLE(4));
  STORE("k7", PARCC_STATE, PARCC_FLOAT, t.k7, WHOLE(4), WHOLE(3));
  STORE("k8", PARCC_STATE, PARCC_FLOAT, t.k8, WHOLE(4), WHOLE(16));
  STORE("k9", PARCC_STATE, PARCC_FLOAT, t.k9, WHOLE(16), WHOLE(4));
  STORE("k10", PARCC_STATE, PARCC_FLOAT, t.k10, WHOLE(16));
  STORE("k11", PARCC_STATE, PARCC_FLOAT, t.k11, WHOLE(3), WHOLE(16));
  STORE("k12", PARCC_STATE, PARCC_FLOAT, t.k12, WHOLE(3));
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
  parcc_laps(predicted, predicted_at, 48);
  return parcc_finish();
}
