// norms on 3 ranks. Written by parcc from norms.dnn; edit freely, or run parcc again.
//
//   mesh        data=3
//   plan        data parallel: the batch of 5 is divided over the ranks, parameters are on every rank
//   parameters  360
//   memory      19456 bytes on each device, in one arena (largest sum of live tensors: 19456)
//   moved by the busiest rank in a step: forward 3 collectives, 267 bytes; backward 3 collectives, 3968 bytes
//
//   parcc-cc THIS.cu -o PROG && mpiexec -n 3 PROG --data DIR

#include "parcc.h"

enum { RANKS = 3, DATA = 3 };
static const double one = 1, zero = 0;

static Interval n; // this rank's part of 5, over data
static ncclComm_t over_data;
static cudaEvent_t event[2];

// Tensors of this rank: places in one arena, shared by those whose lifetimes do not overlap.
// LIFETIME_END tells the checking mode which bytes are free for others.
static struct {
  double *dense1_w; // dense1.w [12, 12]
  double *dense1_b; // dense1.b [12]
  double *batchnorm1_gamma; // batchnorm1.gamma [12]
  double *batchnorm1_beta; // batchnorm1.beta [12]
  double *batchnorm1_running_mean; // batchnorm1.running_mean [12]
  double *batchnorm1_running_var; // batchnorm1.running_var [12]
  double *dense2_w; // dense2.w [12, 12]
  double *dense2_b; // dense2.b [12]
  double *layernorm1_gamma; // layernorm1.gamma [12]
  double *layernorm1_beta; // layernorm1.beta [12]
  double *dense1_w_moment1; // dense1.w.moment1 [12, 12]
  double *dense1_w_moment2; // dense1.w.moment2 [12, 12]
  double *dense1_b_moment1; // dense1.b.moment1 [12]
  double *dense1_b_moment2; // dense1.b.moment2 [12]
  double *batchnorm1_gamma_moment1; // batchnorm1.gamma.moment1 [12]
  double *batchnorm1_gamma_moment2; // batchnorm1.gamma.moment2 [12]
  double *batchnorm1_beta_moment1; // batchnorm1.beta.moment1 [12]
  double *batchnorm1_beta_moment2; // batchnorm1.beta.moment2 [12]
  double *dense2_w_moment1; // dense2.w.moment1 [12, 12]
  double *dense2_w_moment2; // dense2.w.moment2 [12, 12]
  double *dense2_b_moment1; // dense2.b.moment1 [12]
  double *dense2_b_moment2; // dense2.b.moment2 [12]
  double *layernorm1_gamma_moment1; // layernorm1.gamma.moment1 [12]
  double *layernorm1_gamma_moment2; // layernorm1.gamma.moment2 [12]
  double *layernorm1_beta_moment1; // layernorm1.beta.moment1 [12]
  double *layernorm1_beta_moment2; // layernorm1.beta.moment2 [12]
  double *x; // x [n.len, 12]
  double *target; // target [n.len, 12]
  double *dense1_y; // dense1.y [n.len, 12]
  double *dense1_y_2; // dense1.y.2 [n.len, 12]
  double *batchnorm1_mean_sum; // batchnorm1.mean.sum [12]
  double *batchnorm1_mean; // batchnorm1.mean [12]
  double *batchnorm1_square; // batchnorm1.square [12]
  double *batchnorm1_var; // batchnorm1.var [12]
  double *batchnorm1_running_mean_next; // batchnorm1.running_mean.next [12]
  double *batchnorm1_running_var_next; // batchnorm1.running_var.next [12]
  double *batchnorm1_scale; // batchnorm1.scale [12]
  double *relu; // relu [n.len, 12]
  double *dense2_y; // dense2.y [n.len, 12]
  double *dense2_y_2; // dense2.y.2 [n.len, 12]
  double *layernorm1_mean; // layernorm1.mean [n.len]
  double *layernorm1_var; // layernorm1.var [n.len]
  double *softmax_e; // softmax.e [n.len, 12]
  double *softmax_total; // softmax.total [n.len]
  double *softmax; // softmax [n.len, 12]
  double *mse_square; // mse.square [n.len, 12]
  double *mean_sum; // mean.sum []
  double *mean; // mean []
  double *dense1_w_grad; // dense1.w.grad [12, 12]
  double *dense1_b_grad; // dense1.b.grad [12]
  double *batchnorm1_gamma_grad; // batchnorm1.gamma.grad [12]
  double *batchnorm1_beta_grad; // batchnorm1.beta.grad [12]
  double *dense2_w_grad; // dense2.w.grad [12, 12]
  double *dense2_b_grad; // dense2.b.grad [12]
  double *layernorm1_gamma_grad; // layernorm1.gamma.grad [12]
  double *layernorm1_beta_grad; // layernorm1.beta.grad [12]
  double *dense1_b_grad_square; // dense1.b.grad.square []
  double *batchnorm1_gamma_grad_square; // batchnorm1.gamma.grad.square []
  double *batchnorm1_beta_grad_square; // batchnorm1.beta.grad.square []
  double *dense2_w_grad_square; // dense2.w.grad.square []
  double *dense2_b_grad_square; // dense2.b.grad.square []
  double *layernorm1_gamma_grad_square; // layernorm1.gamma.grad.square []
  double *layernorm1_beta_grad_square; // layernorm1.beta.grad.square []
  double *gradient_norm; // gradient_norm []
  double *gradient_scale; // gradient_scale []
  double *dense1_w_m; // dense1.w.m [12, 12]
  double *dense1_w_v; // dense1.w.v [12, 12]
  double *dense1_w_u; // dense1.w.u [12, 12]
  double *dense1_b_m; // dense1.b.m [12]
  double *dense1_b_v; // dense1.b.v [12]
  double *dense1_b_u; // dense1.b.u [12]
  double *batchnorm1_gamma_m; // batchnorm1.gamma.m [12]
  double *batchnorm1_gamma_v; // batchnorm1.gamma.v [12]
  double *batchnorm1_gamma_u; // batchnorm1.gamma.u [12]
  double *batchnorm1_beta_m; // batchnorm1.beta.m [12]
  double *batchnorm1_beta_v; // batchnorm1.beta.v [12]
  double *batchnorm1_beta_u; // batchnorm1.beta.u [12]
  double *dense2_w_m; // dense2.w.m [12, 12]
  double *dense2_w_v; // dense2.w.v [12, 12]
  double *dense2_w_u; // dense2.w.u [12, 12]
  double *dense2_b_m; // dense2.b.m [12]
  double *dense2_b_v; // dense2.b.v [12]
  double *dense2_b_u; // dense2.b.u [12]
  double *layernorm1_gamma_m; // layernorm1.gamma.m [12]
  double *layernorm1_gamma_v; // layernorm1.gamma.v [12]
  double *layernorm1_gamma_u; // layernorm1.gamma.u [12]
  double *layernorm1_beta_m; // layernorm1.beta.m [12]
  double *layernorm1_beta_v; // layernorm1.beta.v [12]
  double *layernorm1_beta_u; // layernorm1.beta.u [12]
  double *layernorm1_y_grad; // layernorm1.y.grad [n.len, 12]
  double *dense2_y_2_grad; // dense2.y.2.grad [n.len, 12]
  double *layernorm1_var_sum_grad; // layernorm1.var.sum.grad [n.len]
  double *layernorm1_mean_sum_grad; // layernorm1.mean.sum.grad [n.len]
  double *dense2_y_2_grad_4; // dense2.y.2.grad.4 [n.len, 12]
  double *relu_grad; // relu.grad [n.len, 12]
  double *dense1_y_2_grad; // dense1.y.2.grad [n.len, 12]
  double *batchnorm1_mean_grad; // batchnorm1.mean.grad [12]
  double *batchnorm1_scale_grad; // batchnorm1.scale.grad [12]
  double *dense1_y_2_grad_2; // dense1.y.2.grad.2 [n.len, 12]
  double *batchnorm1_mean_grad_3; // batchnorm1.mean.grad.3 [12]
  double *dense1_y_2_grad_4; // dense1.y.2.grad.4 [n.len, 12]
  double *batchnorm1_mean_sum_whole; // batchnorm1.mean.sum.whole [12]
  double *batchnorm1_square_whole; // batchnorm1.square.whole [12]
  double *mean_sum_whole; // mean.sum.whole []
  double *layernorm1_gamma_grad_whole; // layernorm1.gamma.grad.whole [12]
  double *layernorm1_beta_grad_whole; // layernorm1.beta.grad.whole [12]
  double *dense2_b_grad_whole; // dense2.b.grad.whole [12]
  double *dense2_w_grad_whole; // dense2.w.grad.whole [12, 12]
  double *batchnorm1_scale_grad_whole; // batchnorm1.scale.grad.whole [12]
  double *batchnorm1_beta_grad_whole; // batchnorm1.beta.grad.whole [12]
  double *batchnorm1_mean_grad_3_whole; // batchnorm1.mean.grad.3.whole [12]
  double *dense1_b_grad_whole; // dense1.b.grad.whole [12]
  double *dense1_w_grad_whole; // dense1.w.grad.whole [12, 12]
  double *eval_x; // x [n.len, 12]
  double *eval_target; // target [n.len, 12]
  double *eval_dense1_y; // dense1.y [n.len, 12]
  double *eval_batchnorm1_scale; // batchnorm1.scale [12]
  double *eval_relu; // relu [n.len, 12]
  double *eval_dense2_y; // dense2.y [n.len, 12]
  double *eval_mse_square; // mse.square [n.len, 12]
  double *eval_mean_sum; // mean.sum []
  double *eval_mean_sum_2; // mean.sum.2 []
  double *eval_mean; // mean []
  double *eval_mean_sum_whole; // mean.sum.whole []
  double *eval_mean_sum_2_whole; // mean.sum.2.whole []
} t;

// ---- kernels ---------------------------------------------------------------------------------------------------------

// dense1: init (norms.dnn:5)
__global__ void k_init(double *__restrict__ w, long count, double factor, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) w[i] = factor * ((2.0 * parcc_uniform(seed, stream, step, (unsigned long long)(i))) - 1.0);
}

// batchnorm1: init (norms.dnn:5)
__global__ void k_init2(double *__restrict__ gamma_, long count) {
  FLAT(i, count) gamma_[i] = 1.0;
}

// batchnorm1: init (norms.dnn:5)
__global__ void k_init3(double *__restrict__ beta, long count) {
  FLAT(i, count) beta[i] = 0.0;
}

// dense1: dense_batchnorm (norms.dnn:5)
__global__ void k_dense_batchnorm(double *__restrict__ y, double *__restrict__ sum, const double *__restrict__ y2, const double *__restrict__ b, long CO, long N) {
  GRID_LANES(co0, lanes, CO) {
    double sum_[LANES];
    LANE(l, lanes) sum_[l] = 0.0;
    for (long n = 0; n < N; n++)
      LANE(l, lanes) {
        const long co = co0 + l;
        const double y_ = y2[n * CO + co] + b[co];
        sum_[l] += y_;
        y[n * CO + co] = y_;
      }
    LANE(l, lanes) {
      const long co = co0 + l;
      sum[co] = sum_[l];
    }
  }
}

// batchnorm1: batchnorm (norms.dnn:5)
__global__ void k_batchnorm(double *__restrict__ mean, double *__restrict__ next, double *__restrict__ square, const double *__restrict__ whole, const double *__restrict__ y, long C, long N) {
  GRID_LANES(c0, lanes, C) {
    double mean_[LANES];
    double next_[LANES];
    LANE(l, lanes) {
      const long c = c0 + l;
      mean_[l] = whole[c] / 5.0;
      next_[l] = (0.9 * next[c]) + (0.1 * mean_[l]);
      mean[c] = mean_[l];
      next[c] = next_[l];
    }
    double square_[LANES];
    LANE(l, lanes) square_[l] = 0.0;
    for (long n = 0; n < N; n++)
      LANE(l, lanes) {
        const long c = c0 + l;
        square_[l] += (y[n * C + c] - mean_[l]) * (y[n * C + c] - mean_[l]);
      }
    LANE(l, lanes) {
      const long c = c0 + l;
      square[c] = square_[l];
    }
  }
}

// batchnorm1: batchnorm_relu (norms.dnn:5)
__global__ void k_batchnorm_relu(double *__restrict__ var, double *__restrict__ next, double *__restrict__ scale, double *__restrict__ relu, const double *__restrict__ whole, const double *__restrict__ gamma_, const double *__restrict__ y2, const double *__restrict__ mean, const double *__restrict__ beta, long C, long N) {
  GRID_LANES(c0, lanes, C) {
    double var_[LANES];
    double next_[LANES];
    double scale_[LANES];
    LANE(l, lanes) {
      const long c = c0 + l;
      var_[l] = whole[c] / 5.0;
      next_[l] = (0.9 * next[c]) + (0.1 * (whole[c] / 4.0));
      scale_[l] = gamma_[c] / sqrt((var_[l] + 1e-05));
      var[c] = var_[l];
      next[c] = next_[l];
      scale[c] = scale_[l];
    }
    for (long n = 0; n < N; n++)
      LANE(l, lanes) {
        const long c = c0 + l;
        const double y_ = ((y2[n * C + c] - mean[c]) * scale_[l]) + beta[c];
        relu[n * C + c] = parcc_max(y_, 0.0);
      }
  }
}

// dense2: dense_layernorm_softmax (norms.dnn:6)
__global__ void k_dense_layernorm_softmax(double *__restrict__ y, double *__restrict__ mean, double *__restrict__ var, double *__restrict__ e, double *__restrict__ total, double *__restrict__ softmax, double *__restrict__ square, const double *__restrict__ y2, const double *__restrict__ b, const double *__restrict__ gamma_, const double *__restrict__ beta, const double *__restrict__ target, long N) {
  GRID_LANES(n0, lanes, N) {
    double sum_[LANES];
    LANE(l, lanes) sum_[l] = 0.0;
    for (long co = 0; co < 12; co++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const double y_ = y2[n * 12 + co] + b[co];
        sum_[l] += y_;
        y[n * 12 + co] = y_;
      }
    double mean_[LANES];
    LANE(l, lanes) {
      const long n = n0 + l;
      mean_[l] = sum_[l] / 12.0;
      mean[n] = mean_[l];
    }
    double sum_2[LANES];
    LANE(l, lanes) sum_2[l] = 0.0;
    for (long co = 0; co < 12; co++)
      LANE(l, lanes) {
        const long n = n0 + l;
        sum_2[l] += (y[n * 12 + co] - mean_[l]) * (y[n * 12 + co] - mean_[l]);
      }
    double var_[LANES];
    LANE(l, lanes) {
      const long n = n0 + l;
      var_[l] = sum_2[l] / 12.0;
      var[n] = var_[l];
    }
    double top_[LANES];
    LANE(l, lanes) top_[l] = -INFINITY;
    for (long co = 0; co < 12; co++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const double y_2 = (((y[n * 12 + co] - mean_[l]) / sqrt((var_[l] + 1e-05))) * gamma_[co]) + beta[co];
        const double v = y_2;
        top_[l] = v > top_[l] ? v : top_[l];
      }
    double total_[LANES];
    LANE(l, lanes) total_[l] = 0.0;
    for (long co = 0; co < 12; co++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const double y_3 = (((y[n * 12 + co] - mean_[l]) / sqrt((var_[l] + 1e-05))) * gamma_[co]) + beta[co];
        const double e_ = exp((y_3 - top_[l]));
        total_[l] += e_;
        e[n * 12 + co] = e_;
      }
    LANE(l, lanes) {
      const long n = n0 + l;
      total[n] = total_[l];
    }
    for (long co = 0; co < 12; co++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const double softmax_ = e[n * 12 + co] / total_[l];
        const double square_ = (softmax_ - target[n * 12 + co]) * (softmax_ - target[n * 12 + co]);
        softmax[n * 12 + co] = softmax_;
        square[n * 12 + co] = square_;
      }
  }
}

// mean (norms.dnn:8)
__global__ void k_mean(double *__restrict__ sum, const double *__restrict__ square, long NC) {
  GRID(row, 1) {
    (void)row;
    double sum_ = 0.0;
    BLOCK(nc, NC) sum_ += square[nc];
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// mean (norms.dnn:8)
__global__ void k_mean2(double *__restrict__ mean, const double *__restrict__ whole, double factor) {
  FLAT(i, 1) mean[0] = whole[0] / factor;
}

// mse_softmax_layernorm_grad (norms.dnn:8)
__global__ void k_mse_softmax_layernorm_grad(double *__restrict__ grad5, double *__restrict__ grad6, double *__restrict__ grad9, double *__restrict__ grad12, const double *__restrict__ softmax, const double *__restrict__ target, const double *__restrict__ total, const double *__restrict__ e, const double *__restrict__ gamma_, const double *__restrict__ var, const double *__restrict__ y, const double *__restrict__ mean, long N, double factor) {
  GRID_LANES(n0, lanes, N) {
    double grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0;
    for (long c = 0; c < 12; c++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const double grad_2 = (factor * (softmax[n * 12 + c] - target[n * 12 + c])) + (factor * (softmax[n * 12 + c] - target[n * 12 + c]));
        grad_[l] += -((grad_2 * softmax[n * 12 + c]) / total[n]);
      }
    double grad_3[LANES];
    LANE(l, lanes) grad_3[l] = 0.0;
    double grad_4[LANES];
    LANE(l, lanes) grad_4[l] = 0.0;
    for (long c = 0; c < 12; c++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const double grad_5 = (factor * (softmax[n * 12 + c] - target[n * 12 + c])) + (factor * (softmax[n * 12 + c] - target[n * 12 + c]));
        const double grad_6 = grad_5 / total[n];
        const double grad_7 = grad_6 + grad_[l];
        const double grad_8 = grad_7 * e[n * 12 + c];
        const double grad_9 = (grad_8 * gamma_[c]) / sqrt((var[n] + 1e-05));
        grad_3[l] += -((grad_8 * gamma_[c]) / sqrt((var[n] + 1e-05)));
        grad_4[l] += (0.5 * (-(((grad_8 * gamma_[c]) * ((y[n * 12 + c] - mean[n]) / sqrt((var[n] + 1e-05)))) / sqrt((var[n] + 1e-05))))) / sqrt((var[n] + 1e-05));
        grad5[n * 12 + c] = grad_8;
        grad6[n * 12 + c] = grad_9;
      }
    double grad_10[LANES];
    LANE(l, lanes) {
      const long n = n0 + l;
      grad_10[l] = grad_4[l] / 12.0;
      grad9[n] = grad_10[l];
    }
    double grad_11[LANES];
    LANE(l, lanes) grad_11[l] = 0.0;
    for (long c = 0; c < 12; c++)
      LANE(l, lanes) {
        const long n = n0 + l;
        grad_11[l] += (-(grad_10[l] * (y[n * 12 + c] - mean[n]))) - (grad_10[l] * (y[n * 12 + c] - mean[n]));
      }
    double grad_12[LANES];
    double grad_13[LANES];
    LANE(l, lanes) {
      const long n = n0 + l;
      grad_12[l] = grad_3[l] + grad_11[l];
      grad_13[l] = grad_12[l] / 12.0;
      grad12[n] = grad_13[l];
    }
  }
}

// layernorm1: layernorm_dense_grad (norms.dnn:6)
__global__ void k_layernorm_dense_grad(double *__restrict__ grad, double *__restrict__ grad3, double *__restrict__ grad6, double *__restrict__ grad9, const double *__restrict__ grad2, const double *__restrict__ y, const double *__restrict__ mean, const double *__restrict__ var, const double *__restrict__ grad5, const double *__restrict__ grad7, const double *__restrict__ grad8, long C, long N) {
  GRID_LANES(c0, lanes, C) {
    double grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0;
    double grad_2[LANES];
    LANE(l, lanes) grad_2[l] = 0.0;
    double grad_3[LANES];
    LANE(l, lanes) grad_3[l] = 0.0;
    for (long n = 0; n < N; n++)
      LANE(l, lanes) {
        const long c = c0 + l;
        grad_[l] += grad2[n * C + c] * ((y[n * C + c] - mean[n]) / sqrt((var[n] + 1e-05)));
        grad_2[l] += grad2[n * C + c];
        const double grad_4 = (grad5[n] * (y[n * C + c] - mean[n])) + (grad5[n] * (y[n * C + c] - mean[n]));
        const double grad_5 = (grad7[n * C + c] + grad_4) + grad8[n];
        grad_3[l] += grad_5;
        grad6[n * C + c] = grad_5;
      }
    LANE(l, lanes) {
      const long c = c0 + l;
      grad[c] = grad_[l];
    }
    LANE(l, lanes) {
      const long c = c0 + l;
      grad3[c] = grad_2[l];
    }
    LANE(l, lanes) {
      const long c = c0 + l;
      grad9[c] = grad_3[l];
    }
  }
}

// relu_batchnorm_grad (norms.dnn:5)
__global__ void k_relu_batchnorm_grad(double *__restrict__ grad3, double *__restrict__ grad4, double *__restrict__ grad5, double *__restrict__ grad6, const double *__restrict__ relu, const double *__restrict__ grad2, const double *__restrict__ scale, const double *__restrict__ y, const double *__restrict__ mean, long C, long N) {
  GRID_LANES(c0, lanes, C) {
    double grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0;
    double grad_2[LANES];
    LANE(l, lanes) grad_2[l] = 0.0;
    double grad_3[LANES];
    LANE(l, lanes) grad_3[l] = 0.0;
    for (long n = 0; n < N; n++)
      LANE(l, lanes) {
        const long c = c0 + l;
        const double grad_4 = (relu[n * C + c] > 0.0) ? grad2[n * C + c] : 0.0;
        const double grad_5 = grad_4 * scale[c];
        grad_[l] += -(grad_4 * scale[c]);
        grad_2[l] += grad_4 * (y[n * C + c] - mean[c]);
        grad_3[l] += grad_4;
        grad3[n * C + c] = grad_5;
      }
    LANE(l, lanes) {
      const long c = c0 + l;
      grad4[c] = grad_[l];
    }
    LANE(l, lanes) {
      const long c = c0 + l;
      grad5[c] = grad_2[l];
    }
    LANE(l, lanes) {
      const long c = c0 + l;
      grad6[c] = grad_3[l];
    }
  }
}

// batchnorm1: batchnorm_grad (norms.dnn:5)
__global__ void k_batchnorm_grad(double *__restrict__ grad, double *__restrict__ grad4, double *__restrict__ grad6, const double *__restrict__ whole, const double *__restrict__ var, const double *__restrict__ scale, const double *__restrict__ y, const double *__restrict__ mean, const double *__restrict__ grad7, long C, long N) {
  GRID_LANES(c0, lanes, C) {
    double grad_[LANES];
    double grad_2[LANES];
    double grad_3[LANES];
    LANE(l, lanes) {
      const long c = c0 + l;
      grad_[l] = whole[c] / sqrt((var[c] + 1e-05));
      grad_2[l] = (0.5 * (-((whole[c] * scale[c]) / sqrt((var[c] + 1e-05))))) / sqrt((var[c] + 1e-05));
      grad_3[l] = grad_2[l] / 5.0;
      grad[c] = grad_[l];
    }
    double grad_4[LANES];
    LANE(l, lanes) grad_4[l] = 0.0;
    for (long n = 0; n < N; n++)
      LANE(l, lanes) {
        const long c = c0 + l;
        const double grad_5 = (grad_3[l] * (y[n * C + c] - mean[c])) + (grad_3[l] * (y[n * C + c] - mean[c]));
        grad_4[l] += (-(grad_3[l] * (y[n * C + c] - mean[c]))) - (grad_3[l] * (y[n * C + c] - mean[c]));
        grad4[n * C + c] = grad_5;
      }
    double grad_6[LANES];
    LANE(l, lanes) {
      const long c = c0 + l;
      grad_6[l] = grad7[c] + grad_4[l];
      grad6[c] = grad_6[l];
    }
  }
}

// batchnorm1: batchnorm_dense_grad (norms.dnn:5)
__global__ void k_batchnorm_dense_grad(double *__restrict__ grad2, double *__restrict__ grad5, const double *__restrict__ whole, const double *__restrict__ grad3, const double *__restrict__ grad4, long CO, long N) {
  GRID_LANES(co0, lanes, CO) {
    double grad_[LANES];
    LANE(l, lanes) {
      const long co = co0 + l;
      grad_[l] = whole[co] / 5.0;
    }
    double grad_2[LANES];
    LANE(l, lanes) grad_2[l] = 0.0;
    for (long n = 0; n < N; n++)
      LANE(l, lanes) {
        const long co = co0 + l;
        const double grad_3 = (grad3[n * CO + co] + grad4[n * CO + co]) + grad_[l];
        grad_2[l] += grad_3;
        grad2[n * CO + co] = grad_3;
      }
    LANE(l, lanes) {
      const long co = co0 + l;
      grad5[co] = grad_2[l];
    }
  }
}

// dense1: gradient_norm (norms.dnn:10)
__global__ void k_gradient_norm(double *__restrict__ square, const double *__restrict__ whole, long CO) {
  GRID(row, 1) {
    (void)row;
    double square_ = 0.0;
    BLOCK(co, CO) square_ += whole[co] * whole[co];
    square_ = BLOCK_SUM(square_);
    ONCE square[0] = square_;
  }
}

// dense1: gradient_norm_clip (norms.dnn:10)
__global__ void k_gradient_norm_clip(double *__restrict__ gradient_norm, double *__restrict__ gradient_scale, const double *__restrict__ whole, const double *__restrict__ square2, const double *__restrict__ square3, const double *__restrict__ square4, const double *__restrict__ square5, const double *__restrict__ square6, const double *__restrict__ square7, const double *__restrict__ square8, long len_coci) {
  GRID(row, 1) {
    (void)row;
    double square_ = 0.0;
    BLOCK(coci, len_coci) square_ += whole[coci] * whole[coci];
    square_ = BLOCK_SUM(square_);
    const double gradient_norm_ = sqrt((((((((square_ + square2[0]) + square3[0]) + square4[0]) + square5[0]) + square6[0]) + square7[0]) + square8[0]));
    const double gradient_scale_ = 1.0 / parcc_max(gradient_norm_, 1.0);
    ONCE gradient_norm[0] = gradient_norm_;
    ONCE gradient_scale[0] = gradient_scale_;
  }
}

// dense1: clip_adamw (norms.dnn:10)
__global__ void k_clip_adamw(double *__restrict__ m, double *__restrict__ v, double *__restrict__ u, const double *__restrict__ whole, const double *__restrict__ gradient_scale, long count, double factor, double factor2, double lr, double step) {
  FLAT(i, count) {
    const double clipped_ = whole[i] * gradient_scale[0];
    const double m_ = (0.9 * m[i]) + (factor * clipped_);
    const double v_ = (0.999 * v[i]) + ((factor2 * clipped_) * clipped_);
    const double u_ = (u[i] * (1.0 - (0.01 * lr))) - ((lr * (m_ / (1.0 - pow(0.9, (step + 1.0))))) / (sqrt((v_ / (1.0 - pow(0.999, (step + 1.0))))) + 1e-08));
    m[i] = m_;
    v[i] = v_;
    u[i] = u_;
  }
}

// batchnorm1: batchnorm (norms.dnn:5)
__global__ void k_batchnorm2(double *__restrict__ scale, const double *__restrict__ gamma_, const double *__restrict__ running_var, long count) {
  FLAT(i, count) scale[i] = gamma_[i] / sqrt((running_var[i] + 1e-05));
}

// dense1: dense_batchnorm_relu (norms.dnn:5)
__global__ void k_dense_batchnorm_relu(double *__restrict__ relu, const double *__restrict__ y2, const double *__restrict__ b, const double *__restrict__ running_mean, const double *__restrict__ scale, const double *__restrict__ beta, long N, long CO) {
  GRID(n, N) BLOCK(co, CO) {
    const double y_ = y2[n * CO + co] + b[co];
    const double y_2 = ((y_ - running_mean[co]) * scale[co]) + beta[co];
    relu[n * CO + co] = parcc_max(y_2, 0.0);
  }
}

// dense2: dense_layernorm_softmax (norms.dnn:6)
__global__ void k_dense_layernorm_softmax2(double *__restrict__ square, const double *__restrict__ y2, const double *__restrict__ b, const double *__restrict__ gamma_, const double *__restrict__ beta, const double *__restrict__ target, long N) {
  GRID_LANES(n0, lanes, N) {
    double sum_[LANES];
    LANE(l, lanes) sum_[l] = 0.0;
    for (long co = 0; co < 12; co++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const double y_ = y2[n * 12 + co] + b[co];
        sum_[l] += y_;
      }
    double mean_[LANES];
    LANE(l, lanes) {
      mean_[l] = sum_[l] / 12.0;
    }
    double sum_2[LANES];
    LANE(l, lanes) sum_2[l] = 0.0;
    for (long co = 0; co < 12; co++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const double y_2 = y2[n * 12 + co] + b[co];
        sum_2[l] += (y_2 - mean_[l]) * (y_2 - mean_[l]);
      }
    double var_[LANES];
    LANE(l, lanes) {
      var_[l] = sum_2[l] / 12.0;
    }
    double top_[LANES];
    LANE(l, lanes) top_[l] = -INFINITY;
    for (long co = 0; co < 12; co++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const double y_3 = y2[n * 12 + co] + b[co];
        const double y_4 = (((y_3 - mean_[l]) / sqrt((var_[l] + 1e-05))) * gamma_[co]) + beta[co];
        const double v = y_4;
        top_[l] = v > top_[l] ? v : top_[l];
      }
    double total_[LANES];
    LANE(l, lanes) total_[l] = 0.0;
    for (long co = 0; co < 12; co++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const double y_5 = y2[n * 12 + co] + b[co];
        const double y_6 = (((y_5 - mean_[l]) / sqrt((var_[l] + 1e-05))) * gamma_[co]) + beta[co];
        const double e_ = exp((y_6 - top_[l]));
        total_[l] += e_;
      }
    for (long co = 0; co < 12; co++)
      LANE(l, lanes) {
        const long n = n0 + l;
        const double y_7 = y2[n * 12 + co] + b[co];
        const double y_8 = (((y_7 - mean_[l]) / sqrt((var_[l] + 1e-05))) * gamma_[co]) + beta[co];
        const double e_2 = exp((y_8 - top_[l]));
        const double softmax_ = e_2 / total_[l];
        square[n * 12 + co] = (softmax_ - target[n * 12 + co]) * (softmax_ - target[n * 12 + co]);
      }
  }
}

// mean (norms.dnn:8)
__global__ void k_mean3(double *__restrict__ sum, double *__restrict__ sum2, const double *__restrict__ square, long NC) {
  GRID(row, 1) {
    (void)row;
    double sum_ = 0.0;
    double sum_2 = 0.0;
    BLOCK(nc, NC) {
      sum_ += square[nc];
      sum_2 += 1.0;
    }
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
    sum_2 = BLOCK_SUM(sum_2);
    ONCE sum2[0] = sum_2;
  }
}

// mean (norms.dnn:8)
__global__ void k_mean4(double *__restrict__ mean, const double *__restrict__ whole, const double *__restrict__ whole2) {
  FLAT(i, 1) mean[0] = whole[0] / whole2[0];
}

// ---- one step --------------------------------------------------------------------------------------------------------

// Initial values of parameters and states.
static void init(void) {
  AT("dense1 init", "norms.dnn:5");
  LAUNCH_FLAT(k_init, 144, t.dense1_w, 144, 0.2886751345948129, parcc.seed, (unsigned long long)parcc.step, 0);
  LAUNCH_FLAT(k_init, 12, t.dense1_b, 12, 0.2886751345948129, parcc.seed, (unsigned long long)parcc.step, 1);

  AT("batchnorm1 init", "norms.dnn:5");
  LAUNCH_FLAT(k_init2, 12, t.batchnorm1_gamma, 12);
  LAUNCH_FLAT(k_init3, 12, t.batchnorm1_beta, 12);
  LAUNCH_FLAT(k_init3, 12, t.batchnorm1_running_mean, 12);
  LAUNCH_FLAT(k_init2, 12, t.batchnorm1_running_var, 12);

  AT("dense2 init", "norms.dnn:6");
  LAUNCH_FLAT(k_init, 144, t.dense2_w, 144, 0.2886751345948129, parcc.seed, (unsigned long long)parcc.step, 2);
  LAUNCH_FLAT(k_init, 12, t.dense2_b, 12, 0.2886751345948129, parcc.seed, (unsigned long long)parcc.step, 3);

  AT("layernorm1 init", "norms.dnn:6");
  LAUNCH_FLAT(k_init2, 12, t.layernorm1_gamma, 12);
  LAUNCH_FLAT(k_init3, 12, t.layernorm1_beta, 12);

  AT("dense1 init", "norms.dnn:10");
  LAUNCH_FLAT(k_init3, 144, t.dense1_w_moment1, 144);
  LAUNCH_FLAT(k_init3, 144, t.dense1_w_moment2, 144);
  LAUNCH_FLAT(k_init3, 12, t.dense1_b_moment1, 12);
  LAUNCH_FLAT(k_init3, 12, t.dense1_b_moment2, 12);

  AT("batchnorm1 init", "norms.dnn:10");
  LAUNCH_FLAT(k_init3, 12, t.batchnorm1_gamma_moment1, 12);
  LAUNCH_FLAT(k_init3, 12, t.batchnorm1_gamma_moment2, 12);
  LAUNCH_FLAT(k_init3, 12, t.batchnorm1_beta_moment1, 12);
  LAUNCH_FLAT(k_init3, 12, t.batchnorm1_beta_moment2, 12);

  AT("dense2 init", "norms.dnn:10");
  LAUNCH_FLAT(k_init3, 144, t.dense2_w_moment1, 144);
  LAUNCH_FLAT(k_init3, 144, t.dense2_w_moment2, 144);
  LAUNCH_FLAT(k_init3, 12, t.dense2_b_moment1, 12);
  LAUNCH_FLAT(k_init3, 12, t.dense2_b_moment2, 12);

  AT("layernorm1 init", "norms.dnn:10");
  LAUNCH_FLAT(k_init3, 12, t.layernorm1_gamma_moment1, 12);
  LAUNCH_FLAT(k_init3, 12, t.layernorm1_gamma_moment2, 12);
  LAUNCH_FLAT(k_init3, 12, t.layernorm1_beta_moment1, 12);
  LAUNCH_FLAT(k_init3, 12, t.layernorm1_beta_moment2, 12);
}

// The losses of the batch.
static void forward(void) {
  AT("dense1 dense", "norms.dnn:5");
  // dense1.y[n, co] = sum(ci) (x[n, ci] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasDgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 12, n.len, 12, &one,
      t.dense1_w, 12, t.x, 12, &zero, t.dense1_y, 12));
  LAUNCH_LANES(k_dense_batchnorm, 12, t.dense1_y_2, t.batchnorm1_mean_sum, t.dense1_y, t.dense1_b, 12, n.len);
  LIFETIME_END({t.dense1_y, 192});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("batchnorm1 all_reduce", "norms.dnn:5");
  // all_reduce batchnorm1.mean.sum: [c], a sum over data -> [c]
  CHECK_NCCL(ncclAllReduce(t.batchnorm1_mean_sum, t.batchnorm1_mean_sum, 12, ncclDouble, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("batchnorm1 batchnorm", "norms.dnn:5");
  LAUNCH_LANES(k_batchnorm, 12, t.batchnorm1_mean, t.batchnorm1_running_mean_next, t.batchnorm1_square, t.batchnorm1_mean_sum_whole, t.dense1_y_2, 12, n.len);
  LIFETIME_END({t.batchnorm1_mean_sum_whole, 96});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("batchnorm1 all_reduce", "norms.dnn:5");
  // all_reduce batchnorm1.square: [c], a sum over data -> [c]
  CHECK_NCCL(ncclAllReduce(t.batchnorm1_square, t.batchnorm1_square, 12, ncclDouble, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("batchnorm1 batchnorm", "norms.dnn:5");
  LAUNCH_LANES(k_batchnorm_relu, 12, t.batchnorm1_var, t.batchnorm1_running_var_next, t.batchnorm1_scale, t.relu, t.batchnorm1_square_whole, t.batchnorm1_gamma, t.dense1_y_2, t.batchnorm1_mean, t.batchnorm1_beta, 12, n.len);
  LIFETIME_END({t.batchnorm1_square_whole, 96});

  AT("dense2 dense", "norms.dnn:6");
  // dense2.y[n, co] = sum(ci) (relu[n, ci] * dense2.w[co, ci])
  CHECK_CUBLAS(cublasDgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 12, n.len, 12, &one,
      t.dense2_w, 12, t.relu, 12, &zero, t.dense2_y, 12));
  LAUNCH_LANES(k_dense_layernorm_softmax, n.len, t.dense2_y_2, t.layernorm1_mean, t.layernorm1_var, t.softmax_e, t.softmax_total, t.softmax, t.mse_square, t.dense2_y, t.dense2_b, t.layernorm1_gamma, t.layernorm1_beta, t.target, n.len);
  LIFETIME_END({t.dense2_y, 192});

  AT("mean", "norms.dnn:8");
  LAUNCH_ROWS(k_mean, 1, t.mean_sum, t.mse_square, 12 * n.len);
  LIFETIME_END({t.mse_square, 192});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "norms.dnn:8");
  // all_reduce mean.sum: [], a sum over data -> []
  CHECK_NCCL(ncclAllReduce(t.mean_sum, t.mean_sum, 1, ncclDouble, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("mean", "norms.dnn:8");
  LAUNCH_FLAT(k_mean2, 1, t.mean, t.mean_sum_whole, 6e+01);
  LIFETIME_END({t.mean_sum_whole, 8});
}

// The gradients of all parameters.
static void backward(void) {
  AT("mse", "norms.dnn:8");
  LAUNCH_LANES(k_mse_softmax_layernorm_grad, n.len, t.layernorm1_y_grad, t.dense2_y_2_grad, t.layernorm1_var_sum_grad, t.layernorm1_mean_sum_grad, t.softmax, t.target, t.softmax_total, t.softmax_e, t.layernorm1_gamma, t.layernorm1_var, t.dense2_y_2, t.layernorm1_mean, n.len, 0.016666666666666666);
  LIFETIME_END({t.target, 192}, {t.softmax_e, 192}, {t.softmax_total, 16}, {t.softmax, 192});

  AT("layernorm1 layernorm", "norms.dnn:6");
  LAUNCH_LANES(k_layernorm_dense_grad, 12, t.layernorm1_gamma_grad, t.layernorm1_beta_grad, t.dense2_y_2_grad_4, t.dense2_b_grad, t.layernorm1_y_grad, t.dense2_y_2, t.layernorm1_mean, t.layernorm1_var, t.layernorm1_var_sum_grad, t.dense2_y_2_grad, t.layernorm1_mean_sum_grad, 12, n.len);
  LIFETIME_END({t.dense2_y_2, 192}, {t.layernorm1_mean, 16}, {t.layernorm1_var, 16}, {t.layernorm1_y_grad, 192},
      {t.dense2_y_2_grad, 192}, {t.layernorm1_var_sum_grad, 16}, {t.layernorm1_mean_sum_grad, 16});

  AT("dense2 dense", "norms.dnn:6");
  // relu.grad[n, ci] = sum(co) (dense2.y.2.grad.4[n, co] * dense2.w[co, ci])
  CHECK_CUBLAS(cublasDgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 12, n.len, 12, &one,
      t.dense2_w, 12, t.dense2_y_2_grad_4, 12, &zero, t.relu_grad, 12));
  // dense2.w.grad[co, ci] = sum(n) (dense2.y.2.grad.4[n, co] * relu[n, ci])
  CHECK_CUBLAS(cublasDgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 12, 12, n.len, &one,
      t.relu, 12, t.dense2_y_2_grad_4, 12, &zero, t.dense2_w_grad, 12));
  LIFETIME_END({t.dense2_y_2_grad_4, 192});

  AT("relu", "norms.dnn:5");
  LAUNCH_LANES(k_relu_batchnorm_grad, 12, t.dense1_y_2_grad, t.batchnorm1_mean_grad, t.batchnorm1_scale_grad, t.batchnorm1_beta_grad, t.relu, t.relu_grad, t.batchnorm1_scale, t.dense1_y_2, t.batchnorm1_mean, 12, n.len);
  LIFETIME_END({t.relu, 192}, {t.relu_grad, 192});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("batchnorm1 all_reduce", "norms.dnn:5");
  // all_reduce batchnorm1.scale.grad: [c], a sum over data -> [c]
  CHECK_NCCL(ncclAllReduce(t.batchnorm1_scale_grad, t.batchnorm1_scale_grad, 12, ncclDouble, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("batchnorm1 batchnorm", "norms.dnn:5");
  LAUNCH_LANES(k_batchnorm_grad, 12, t.batchnorm1_gamma_grad, t.dense1_y_2_grad_2, t.batchnorm1_mean_grad_3, t.batchnorm1_scale_grad_whole, t.batchnorm1_var, t.batchnorm1_scale, t.dense1_y_2, t.batchnorm1_mean, t.batchnorm1_mean_grad, 12, n.len);
  LIFETIME_END({t.dense1_y_2, 192}, {t.batchnorm1_mean, 96}, {t.batchnorm1_var, 96}, {t.batchnorm1_scale, 96},
      {t.batchnorm1_mean_grad, 96}, {t.batchnorm1_scale_grad_whole, 96});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("batchnorm1 all_reduce", "norms.dnn:5");
  // all_reduce batchnorm1.mean.grad.3: [c], a sum over data -> [c]
  CHECK_NCCL(ncclAllReduce(t.batchnorm1_mean_grad_3, t.batchnorm1_mean_grad_3, 12, ncclDouble, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("batchnorm1 batchnorm", "norms.dnn:5");
  LAUNCH_LANES(k_batchnorm_dense_grad, 12, t.dense1_y_2_grad_4, t.dense1_b_grad, t.batchnorm1_mean_grad_3_whole, t.dense1_y_2_grad, t.dense1_y_2_grad_2, 12, n.len);
  LIFETIME_END({t.dense1_y_2_grad, 192}, {t.dense1_y_2_grad_2, 192}, {t.batchnorm1_mean_grad_3_whole, 96});

  AT("dense1 dense", "norms.dnn:5");
  // dense1.w.grad[co, ci] = sum(n) (dense1.y.2.grad.4[n, co] * x[n, ci])
  CHECK_CUBLAS(cublasDgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 12, 12, n.len, &one,
      t.x, 12, t.dense1_y_2_grad_4, 12, &zero, t.dense1_w_grad, 12));
  LIFETIME_END({t.x, 192}, {t.dense1_y_2_grad_4, 192});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("all_reduce", "norms.dnn:5");
  // all_reduce gradients of layernorm1, dense2, batchnorm1, dense1
  CHECK_NCCL(ncclAllReduce(t.dense2_w_grad, t.dense2_w_grad, 348, ncclDouble, ncclSum, over_data, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
}

// What is only reported: metrics and the gradients' norm.
static void report(void) {
}

// The optimizer.
static void update(void) {
  WAIT(parcc.compute, event[1]);

  AT("dense1 gradient_norm", "norms.dnn:10");
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense1_b_grad_square, t.dense1_b_grad_whole, 12);

  AT("batchnorm1 gradient_norm", "norms.dnn:10");
  LAUNCH_ROWS(k_gradient_norm, 1, t.batchnorm1_gamma_grad_square, t.batchnorm1_gamma_grad, 12);
  LAUNCH_ROWS(k_gradient_norm, 1, t.batchnorm1_beta_grad_square, t.batchnorm1_beta_grad_whole, 12);

  AT("dense2 gradient_norm", "norms.dnn:10");
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense2_w_grad_square, t.dense2_w_grad_whole, 144);
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense2_b_grad_square, t.dense2_b_grad_whole, 12);

  AT("layernorm1 gradient_norm", "norms.dnn:10");
  LAUNCH_ROWS(k_gradient_norm, 1, t.layernorm1_gamma_grad_square, t.layernorm1_gamma_grad_whole, 12);
  LAUNCH_ROWS(k_gradient_norm, 1, t.layernorm1_beta_grad_square, t.layernorm1_beta_grad_whole, 12);

  AT("dense1 gradient_norm", "norms.dnn:10");
  LAUNCH_ROWS(k_gradient_norm_clip, 1, t.gradient_norm, t.gradient_scale, t.dense1_w_grad_whole, t.dense1_b_grad_square, t.batchnorm1_gamma_grad_square, t.batchnorm1_beta_grad_square, t.dense2_w_grad_square, t.dense2_b_grad_square, t.layernorm1_gamma_grad_square, t.layernorm1_beta_grad_square, 144);
  LIFETIME_END({t.dense1_b_grad_square, 8}, {t.batchnorm1_gamma_grad_square, 8}, {t.batchnorm1_beta_grad_square, 8},
      {t.dense2_w_grad_square, 8}, {t.dense2_b_grad_square, 8}, {t.layernorm1_gamma_grad_square, 8},
      {t.layernorm1_beta_grad_square, 8});
  AT("dense1 clip", "norms.dnn:10");
  LAUNCH_FLAT(k_clip_adamw, 144, t.dense1_w_m, t.dense1_w_v, t.dense1_w_u, t.dense1_w_grad_whole, t.gradient_scale, 144, 0.09999999999999998, 0.0010000000000000009, (double)parcc.lr, (double)parcc.step);
  LAUNCH_FLAT(k_clip_adamw, 12, t.dense1_b_m, t.dense1_b_v, t.dense1_b_u, t.dense1_b_grad_whole, t.gradient_scale, 12, 0.09999999999999998, 0.0010000000000000009, (double)parcc.lr, (double)parcc.step);

  AT("batchnorm1 clip", "norms.dnn:10");
  LAUNCH_FLAT(k_clip_adamw, 12, t.batchnorm1_gamma_m, t.batchnorm1_gamma_v, t.batchnorm1_gamma_u, t.batchnorm1_gamma_grad, t.gradient_scale, 12, 0.09999999999999998, 0.0010000000000000009, (double)parcc.lr, (double)parcc.step);
  LIFETIME_END({t.batchnorm1_gamma_grad, 96});
  LAUNCH_FLAT(k_clip_adamw, 12, t.batchnorm1_beta_m, t.batchnorm1_beta_v, t.batchnorm1_beta_u, t.batchnorm1_beta_grad_whole, t.gradient_scale, 12, 0.09999999999999998, 0.0010000000000000009, (double)parcc.lr, (double)parcc.step);

  AT("dense2 clip", "norms.dnn:10");
  LAUNCH_FLAT(k_clip_adamw, 144, t.dense2_w_m, t.dense2_w_v, t.dense2_w_u, t.dense2_w_grad_whole, t.gradient_scale, 144, 0.09999999999999998, 0.0010000000000000009, (double)parcc.lr, (double)parcc.step);
  LAUNCH_FLAT(k_clip_adamw, 12, t.dense2_b_m, t.dense2_b_v, t.dense2_b_u, t.dense2_b_grad_whole, t.gradient_scale, 12, 0.09999999999999998, 0.0010000000000000009, (double)parcc.lr, (double)parcc.step);

  AT("layernorm1 clip", "norms.dnn:10");
  LAUNCH_FLAT(k_clip_adamw, 12, t.layernorm1_gamma_m, t.layernorm1_gamma_v, t.layernorm1_gamma_u, t.layernorm1_gamma_grad_whole, t.gradient_scale, 12, 0.09999999999999998, 0.0010000000000000009, (double)parcc.lr, (double)parcc.step);
  LAUNCH_FLAT(k_clip_adamw, 12, t.layernorm1_beta_m, t.layernorm1_beta_v, t.layernorm1_beta_u, t.layernorm1_beta_grad_whole, t.gradient_scale, 12, 0.09999999999999998, 0.0010000000000000009, (double)parcc.lr, (double)parcc.step);
  LIFETIME_END({t.gradient_scale, 8});
  LIFETIME_END({t.dense2_w_grad_whole, 2784});
}

// Losses and metrics of a batch of the test split.
static void evaluate(void) {
  AT("dense1 dense", "norms.dnn:5");
  // dense1.y[n, co] = sum(ci) (x[n, ci] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasDgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 12, n.len, 12, &one,
      t.dense1_w, 12, t.eval_x, 12, &zero, t.eval_dense1_y, 12));
  LIFETIME_END({t.eval_x, 192});

  AT("batchnorm1 batchnorm", "norms.dnn:5");
  LAUNCH_FLAT(k_batchnorm2, 12, t.eval_batchnorm1_scale, t.batchnorm1_gamma, t.batchnorm1_running_var, 12);

  AT("dense1 dense", "norms.dnn:5");
  LAUNCH_MAP(k_dense_batchnorm_relu, n.len, 12, t.eval_relu, t.eval_dense1_y, t.dense1_b, t.batchnorm1_running_mean, t.eval_batchnorm1_scale, t.batchnorm1_beta, n.len, 12);
  LIFETIME_END({t.eval_dense1_y, 192}, {t.eval_batchnorm1_scale, 96});

  AT("dense2 dense", "norms.dnn:6");
  // dense2.y[n, co] = sum(ci) (relu[n, ci] * dense2.w[co, ci])
  CHECK_CUBLAS(cublasDgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 12, n.len, 12, &one,
      t.dense2_w, 12, t.eval_relu, 12, &zero, t.eval_dense2_y, 12));
  LIFETIME_END({t.eval_relu, 192});
  LAUNCH_LANES(k_dense_layernorm_softmax2, n.len, t.eval_mse_square, t.eval_dense2_y, t.dense2_b, t.layernorm1_gamma, t.layernorm1_beta, t.eval_target, n.len);
  LIFETIME_END({t.eval_target, 192}, {t.eval_dense2_y, 192});

  AT("mean", "norms.dnn:8");
  LAUNCH_ROWS(k_mean3, 1, t.eval_mean_sum, t.eval_mean_sum_2, t.eval_mse_square, 12 * n.len);
  LIFETIME_END({t.eval_mse_square, 192});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "norms.dnn:8");
  // all_reduce mean.sum, mean.sum.2
  CHECK_NCCL(ncclAllReduce(t.eval_mean_sum, t.eval_mean_sum, 2, ncclDouble, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("mean", "norms.dnn:8");
  LAUNCH_FLAT(k_mean4, 1, t.eval_mean, t.eval_mean_sum_whole, t.eval_mean_sum_2_whole);
  LIFETIME_END({t.eval_mean_sum_whole, 16});
}

// ---- the run ---------------------------------------------------------------------------------------------------------

static const ParccInput inputs[] = { // name, type, extents of the whole batch, range, files, scale, offset, windows, lines
    {"x", PARCC_DOUBLE, 2, {5, 12}, 0, {NULL, NULL, NULL, 1.0, 0.0, NULL, NULL}},
    {"target", PARCC_DOUBLE, 2, {5, 12}, 0, {NULL, NULL, NULL, 1.0, 0.0, NULL, NULL}},
};

static const char *const scalars[] = {"loss"};

static double learning_rate(double step, double steps) {
  (void)step;
  (void)steps;
  return 0.001;
}

static const ParccModel model = {
    .name = "norms",
    .source = "norms.dnn",
    .ranks = RANKS,
    .batch = 5,
    .real = PARCC_DOUBLE,
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

static void place_tensors(void) {
  char *const arena = parcc_arena(19456);
  static const long place[] = {0, 160, 192, 224, 256, 288, 320, 480, 512, 544, 576, 736, 896, 928, 960, 992, 1024, 1056, 1088, 1248, 1408, 1440, 1472, 1504, 1536, 1568, 1952,
      1600, 1632, 1984, 1664, 2176, 1632, 2208, 256, 288, 2240, 2016, 1632, 2048, 2272, 2304, 1664, 1760, 1696, 1728, 1632, 2400, 1744, 1936, 2048, 1924, 1600, 1912, 1888, 1900,
      1952, 1984, 2016, 2080, 2112, 2144, 2176, 2208, 2240, 576, 736, 0, 896, 928, 160, 960, 992, 192, 1024, 1056, 224, 1088, 1248, 320, 1408, 1440, 480, 1472, 1504, 512, 1536,
      1568, 544, 2080, 2112, 2336, 2368, 2144, 2048, 2080, 2112, 2144, 2016, 2272, 1984, 1664, 1632, 1632, 1888, 1900, 1912, 1600, 2144, 1924, 2272, 1936, 1744, 1600, 1632, 1664,
      1696, 1600, 1664, 1600, 1632, 1633, 1600, 1632, 1633};
  parcc_place_record(arena, 8, place, 125, &t); // in units of so many bytes
}

// What --save writes and --load reads.
static void list_stored(void) {
  STORE("dense1.w", PARCC_PARAM, PARCC_DOUBLE, t.dense1_w, WHOLE(12), WHOLE(12));
  STORE("dense1.b", PARCC_PARAM, PARCC_DOUBLE, t.dense1_b, WHOLE(12));
  STORE("batchnorm1.gamma", PARCC_PARAM, PARCC_DOUBLE, t.batchnorm1_gamma, WHOLE(12));
  STORE("batchnorm1.beta", PARCC_PARAM, PARCC_DOUBLE, t.batchnorm1_beta, WHOLE(12));
  STORE("batchnorm1.running_mean", PARCC_STATE, PARCC_DOUBLE, t.batchnorm1_running_mean, WHOLE(12));
  STORE("batchnorm1.running_var", PARCC_STATE, PARCC_DOUBLE, t.batchnorm1_running_var, WHOLE(12));
  STORE("dense2.w", PARCC_PARAM, PARCC_DOUBLE, t.dense2_w, WHOLE(12), WHOLE(12));
  STORE("dense2.b", PARCC_PARAM, PARCC_DOUBLE, t.dense2_b, WHOLE(12));
  STORE("layernorm1.gamma", PARCC_PARAM, PARCC_DOUBLE, t.layernorm1_gamma, WHOLE(12));
  STORE("layernorm1.beta", PARCC_PARAM, PARCC_DOUBLE, t.layernorm1_beta, WHOLE(12));
  STORE("dense1.w.moment1", PARCC_OPTIMIZER, PARCC_DOUBLE, t.dense1_w_moment1, WHOLE(12), WHOLE(12));
  STORE("dense1.w.moment2", PARCC_OPTIMIZER, PARCC_DOUBLE, t.dense1_w_moment2, WHOLE(12), WHOLE(12));
  STORE("dense1.b.moment1", PARCC_OPTIMIZER, PARCC_DOUBLE, t.dense1_b_moment1, WHOLE(12));
  STORE("dense1.b.moment2", PARCC_OPTIMIZER, PARCC_DOUBLE, t.dense1_b_moment2, WHOLE(12));
  STORE("batchnorm1.gamma.moment1", PARCC_OPTIMIZER, PARCC_DOUBLE, t.batchnorm1_gamma_moment1, WHOLE(12));
  STORE("batchnorm1.gamma.moment2", PARCC_OPTIMIZER, PARCC_DOUBLE, t.batchnorm1_gamma_moment2, WHOLE(12));
  STORE("batchnorm1.beta.moment1", PARCC_OPTIMIZER, PARCC_DOUBLE, t.batchnorm1_beta_moment1, WHOLE(12));
  STORE("batchnorm1.beta.moment2", PARCC_OPTIMIZER, PARCC_DOUBLE, t.batchnorm1_beta_moment2, WHOLE(12));
  STORE("dense2.w.moment1", PARCC_OPTIMIZER, PARCC_DOUBLE, t.dense2_w_moment1, WHOLE(12), WHOLE(12));
  STORE("dense2.w.moment2", PARCC_OPTIMIZER, PARCC_DOUBLE, t.dense2_w_moment2, WHOLE(12), WHOLE(12));
  STORE("dense2.b.moment1", PARCC_OPTIMIZER, PARCC_DOUBLE, t.dense2_b_moment1, WHOLE(12));
  STORE("dense2.b.moment2", PARCC_OPTIMIZER, PARCC_DOUBLE, t.dense2_b_moment2, WHOLE(12));
  STORE("layernorm1.gamma.moment1", PARCC_OPTIMIZER, PARCC_DOUBLE, t.layernorm1_gamma_moment1, WHOLE(12));
  STORE("layernorm1.gamma.moment2", PARCC_OPTIMIZER, PARCC_DOUBLE, t.layernorm1_gamma_moment2, WHOLE(12));
  STORE("layernorm1.beta.moment1", PARCC_OPTIMIZER, PARCC_DOUBLE, t.layernorm1_beta_moment1, WHOLE(12));
  STORE("layernorm1.beta.moment2", PARCC_OPTIMIZER, PARCC_DOUBLE, t.layernorm1_beta_moment2, WHOLE(12));
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &model);
  over_data = parcc_axis(1, DATA);
  parcc_events(event, 2);
  place_tensors();
  n = parcc_block(5, 3, parcc.rank / 1 % DATA);
  list_stored();
  init();
  parcc_load();

  while (parcc_next_step()) {
    LOAD_BATCH(0, t.x, n, {0, 12});
    LOAD_BATCH(1, t.target, n, {0, 12});
    forward();
    backward();
    if (parcc_reports()) report();
    update();
    END_STEP(t.gradient_norm, t.mean);
  }

  for (long count; (count = parcc_next_eval()) > 0;) {
    n = parcc_block(count, 3, parcc.rank / 1 % DATA);
    LOAD_BATCH(0, t.eval_x, n, {0, 12});
    LOAD_BATCH(1, t.eval_target, n, {0, 12});
    evaluate();
    END_EVAL(count, t.eval_mean);
  }
  return parcc_finish();
}
