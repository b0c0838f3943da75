// loop on 2 ranks. Written by parcc from loop.dnn; edit freely, or run parcc again.
//
//   mesh        data=2
//   plan        data parallel: the batch of 6 is divided over the ranks, parameters are on every rank
//   parameters  2420
//   memory      76544 bytes on each device, in one arena (largest sum of live tensors: 76544)
//   moved by the busiest rank in a step: forward 1 collective, 8 bytes; backward 1 collective, 9680 bytes
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
  float *layernorm1_gamma; // layernorm1.gamma [8]
  float *layernorm1_beta; // layernorm1.beta [8]
  float *dense1_w; // dense1.w [16, 8]
  float *dense2_w; // dense2.w [8, 16]
  float *dense15_w; // dense15.w [16, 8]
  float *dense15_b; // dense15.b [16]
  float *dense16_w; // dense16.w [8, 16]
  float *dense16_b; // dense16.b [8]
  float *layernorm9_gamma; // layernorm9.gamma [8]
  float *layernorm9_beta; // layernorm9.beta [8]
  float *dense17_w; // dense17.w [4, 8]
  float *dense17_b; // dense17.b [4]
  float *layernorm9_gamma_moment1; // layernorm9.gamma.moment1 [8]
  float *layernorm9_gamma_moment2; // layernorm9.gamma.moment2 [8]
  float *layernorm9_beta_moment1; // layernorm9.beta.moment1 [8]
  float *layernorm9_beta_moment2; // layernorm9.beta.moment2 [8]
  float *dense17_w_moment1; // dense17.w.moment1 [4, 8]
  float *dense17_w_moment2; // dense17.w.moment2 [4, 8]
  float *dense17_b_moment1; // dense17.b.moment1 [4]
  float *dense17_b_moment2; // dense17.b.moment2 [4]
  float *x; // x [b.len, 8]
  int *label; // label [b.len]
  float *layernorm1_mean; // layernorm1.mean [b.len]
  float *layernorm1_var; // layernorm1.var [b.len]
  float *layernorm1_y; // layernorm1.y [b.len, 8]
  float *dense1_y_2; // dense1.y.2 [b.len, 16]
  float *gelu_tanh; // gelu_tanh [b.len, 16]
  float *add_8; // add.8 [b.len, 8]
  float *layernorm9_mean; // layernorm9.mean [b.len]
  float *layernorm9_var; // layernorm9.var [b.len]
  float *layernorm9_y; // layernorm9.y [b.len, 8]
  float *dense17_y_2; // dense17.y.2 [b.len, 4]
  float *cross_entropy_z; // cross_entropy.z [b.len, 4]
  float *cross_entropy_total; // cross_entropy.total [b.len]
  float *cross_entropy_each; // cross_entropy.each [b.len]
  float *cross_entropy_sum; // cross_entropy.sum []
  float *cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *cross_entropy; // cross_entropy []
  float *layernorm1_gamma_grad; // layernorm1.gamma.grad [8]
  float *layernorm1_beta_grad; // layernorm1.beta.grad [8]
  float *dense1_w_grad; // dense1.w.grad [16, 8]
  float *dense1_b_grad; // dense1.b.grad [16]
  float *dense2_w_grad; // dense2.w.grad [8, 16]
  float *dense16_w_grad; // dense16.w.grad [8, 16]
  float *dense16_b_grad; // dense16.b.grad [8]
  float *layernorm9_gamma_grad; // layernorm9.gamma.grad [8]
  float *layernorm9_beta_grad; // layernorm9.beta.grad [8]
  float *dense17_w_grad; // dense17.w.grad [4, 8]
  float *dense17_b_grad; // dense17.b.grad [4]
  float *layernorm1_beta_grad_square; // layernorm1.beta.grad.square []
  float *dense17_b_grad_square; // dense17.b.grad.square []
  float *layernorm1_grad_square; // layernorm1.grad.square []
  float *layernorm9_grad_square; // layernorm9.grad.square []
  float *gradient_norm; // gradient_norm []
  float *gradient_scale; // gradient_scale []
  float *layernorm9_gamma_m; // layernorm9.gamma.m [8]
  float *layernorm9_gamma_v; // layernorm9.gamma.v [8]
  float *layernorm9_gamma_u; // layernorm9.gamma.u [8]
  float *layernorm9_beta_m; // layernorm9.beta.m [8]
  float *layernorm9_beta_v; // layernorm9.beta.v [8]
  float *layernorm9_beta_u; // layernorm9.beta.u [8]
  float *dense17_w_m; // dense17.w.m [4, 8]
  float *dense17_w_v; // dense17.w.v [4, 8]
  float *dense17_w_u; // dense17.w.u [4, 8]
  float *dense17_b_m; // dense17.b.m [4]
  float *dense17_b_v; // dense17.b.v [4]
  float *dense17_b_u; // dense17.b.u [4]
  float *cross_entropy_sum_grad; // cross_entropy.sum.grad []
  float *cross_entropy_total_grad; // cross_entropy.total.grad [b.len]
  float *cross_entropy_picked_grad; // cross_entropy.picked.grad [b.len]
  float *cross_entropy_z_grad_2; // cross_entropy.z.grad.2 [b.len, 4]
  float *cross_entropy_z_grad_3; // cross_entropy.z.grad.3 [b.len, 4]
  float *layernorm9_y_grad; // layernorm9.y.grad [b.len, 8]
  float *add_8_grad; // add.8.grad [b.len, 8]
  float *layernorm9_var_sum_grad; // layernorm9.var.sum.grad [b.len]
  float *layernorm9_mean_sum_grad; // layernorm9.mean.sum.grad [b.len]
  float *add_8_grad_4; // add.8.grad.4 [b.len, 8]
  float *add_grad_5; // add.grad.5 [b.len, 8]
  float *gelu_tanh_grad; // gelu_tanh.grad [b.len, 16]
  float *dense1_y_2_grad; // dense1.y.2.grad [b.len, 16]
  float *layernorm1_y_grad; // layernorm1.y.grad [b.len, 8]
  float *cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
  float *dense17_b_grad_whole; // dense17.b.grad.whole [4]
  float *dense17_w_grad_whole; // dense17.w.grad.whole [4, 8]
  float *layernorm9_gamma_grad_whole; // layernorm9.gamma.grad.whole [8]
  float *layernorm9_beta_grad_whole; // layernorm9.beta.grad.whole [8]
  float *dense16_w_grad_whole; // dense16.w.grad.whole [8, 16]
  float *layernorm1_gamma_grad_whole; // layernorm1.gamma.grad.whole [8]
  float *layernorm1_beta_grad_whole; // layernorm1.beta.grad.whole [8]
  float *eval_x; // x [b.len, 8]
  int *eval_label; // label [b.len]
  float *eval_layernorm1_y; // layernorm1.y [b.len, 8]
  float *eval_add_7; // add.7 [b.len, 8]
  float *eval_layernorm8_y; // layernorm8.y [b.len, 8]
  float *eval_dense15_y; // dense15.y [b.len, 16]
  float *eval_gelu_tanh_8; // gelu_tanh.8 [b.len, 16]
  float *eval_dense16_y; // dense16.y [b.len, 8]
  float *eval_layernorm9_y; // layernorm9.y [b.len, 8]
  float *eval_dense17_y_2; // dense17.y.2 [b.len, 4]
  float *eval_cross_entropy_each; // cross_entropy.each [b.len]
  float *eval_cross_entropy_sum; // cross_entropy.sum []
  float *eval_cross_entropy_sum_2; // cross_entropy.sum.2 []
  float *eval_cross_entropy; // cross_entropy []
  float *eval_cross_entropy_sum_whole; // cross_entropy.sum.whole []
  float *eval_cross_entropy_sum_2_whole; // cross_entropy.sum.2.whole []
} t;

// What is done several times in a row: what each time differs in.
typedef struct Block {
  const char *in_layernorm, *in_dense, *in_dense2, *in_layernorm2;
  long stream, stream2, stream3, stream4;
  float *layernorm_gamma, *layernorm_beta, *dense_w, *dense_b, *dense_w2, *dense_b2, *layernorm_gamma_moment1,
    *layernorm_gamma_moment2, *layernorm_beta_moment1, *layernorm_beta_moment2, *dense_w_moment1, *dense_w_moment2,
    *dense_b_moment1, *dense_b_moment2, *dense_w_moment1_2, *dense_w_moment2_2, *dense_b_moment1_2,
    *dense_b_moment2_2, *layernorm_y, *dense_y, *dense_y2, *gelu_tanh, *dense_y3, *add, *layernorm_mean,
    *layernorm_var, *layernorm_y2, *add2, *layernorm_gamma2, *layernorm_beta2, *add_grad, *gelu_tanh_grad,
    *dense_w_grad, *dense_y_grad, *dense_b_grad, *layernorm_y_grad, *dense_w_grad2, *add_grad2,
    *layernorm_var_sum_grad, *layernorm_mean_sum_grad, *layernorm_var2, *layernorm_mean2, *layernorm_gamma_grad,
    *layernorm_beta_grad, *add_grad3, *dense_b_grad2, *dense_b_grad_square, *dense_grad_square,
    *layernorm_grad_square, *dense_b_grad_square2, *dense_b_grad_whole, *dense_grad_square2,
    *layernorm_beta_grad_square, *layernorm_beta_grad_whole, *layernorm_grad_square2, *layernorm_gamma_grad_whole,
    *layernorm_y3, *dense_y4, *gelu_tanh2, *dense_y5, *add3, *layernorm_y4, *add4;
} Block;
static Block block[8];

// ---- kernels ---------------------------------------------------------------------------------------------------------

// layernorm1: init (loop.dnn:8)
__global__ void k_init(float *__restrict__ gamma_, long count) {
  FLAT(i, count) gamma_[i] = 1.0f;
}

// layernorm1: init (loop.dnn:8)
__global__ void k_init2(float *__restrict__ beta, long count) {
  FLAT(i, count) beta[i] = 0.0f;
}

// dense1: init (loop.dnn:8)
__global__ void k_init3(float *__restrict__ w, long count, float factor, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) w[i] = factor * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i))) - 1.0f);
}

// dense2: init (loop.dnn:8)
__global__ void k_init4(float *__restrict__ w, long count, unsigned long long seed, unsigned long long step, unsigned stream) {
  FLAT(i, count) w[i] = 0.25f * ((2.0f * parcc_uniformf(seed, stream, step, (unsigned long long)(i))) - 1.0f);
}

// layernorm1: layernorm (loop.dnn:8)
__global__ void k_layernorm(float *__restrict__ mean, float *__restrict__ var, float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ gamma_, const float *__restrict__ beta, long B) {
  GRID_LANES(b0, lanes, B) {
    float sum_[LANES];
    LANE(l, lanes) sum_[l] = 0.0f;
    for (long c = 0; c < 8; c++)
      LANE(l, lanes) {
        const long b = b0 + l;
        sum_[l] += x[b * 8 + c];
      }
    float mean_[LANES];
    LANE(l, lanes) {
      const long b = b0 + l;
      mean_[l] = sum_[l] / 8.0f;
      mean[b] = mean_[l];
    }
    float sum_2[LANES];
    LANE(l, lanes) sum_2[l] = 0.0f;
    for (long c = 0; c < 8; c++)
      LANE(l, lanes) {
        const long b = b0 + l;
        sum_2[l] += (x[b * 8 + c] - mean_[l]) * (x[b * 8 + c] - mean_[l]);
      }
    float var_[LANES];
    LANE(l, lanes) {
      const long b = b0 + l;
      var_[l] = sum_2[l] / 8.0f;
      var[b] = var_[l];
    }
    for (long c = 0; c < 8; c++)
      LANE(l, lanes) {
        const long b = b0 + l;
        y[b * 8 + c] = (((x[b * 8 + c] - mean_[l]) / sqrtf((var_[l] + 1e-05f))) * gamma_[c]) + beta[c];
      }
  }
}

// dense1: dense_gelu_tanh (loop.dnn:8)
__global__ void k_dense_gelu_tanh(float *__restrict__ y, float *__restrict__ gelu_tanh, const float *__restrict__ y2, const float *__restrict__ b, long B2, long CO, float factor) {
  GRID(b2, B2) BLOCK(co, CO) {
    const float y_ = y2[b2 * CO + co] + b[co];
    const float gelu_tanh_ = (0.5f * y_) * (1.0f + tanhf((factor * (y_ + (((0.044715f * y_) * y_) * y_)))));
    y[b2 * CO + co] = y_;
    gelu_tanh[b2 * CO + co] = gelu_tanh_;
  }
}

// dense2: dense_add_layernorm (loop.dnn:8)
__global__ void k_dense_add_layernorm(float *__restrict__ add, float *__restrict__ mean, float *__restrict__ var, float *__restrict__ y3, const float *__restrict__ y2, const float *__restrict__ b, const float *__restrict__ x, const float *__restrict__ gamma_, const float *__restrict__ beta, long B2) {
  GRID_LANES(b20, lanes, B2) {
    float sum_[LANES];
    LANE(l, lanes) sum_[l] = 0.0f;
    for (long co = 0; co < 8; co++)
      LANE(l, lanes) {
        const long b2 = b20 + l;
        const float y_ = y2[b2 * 8 + co] + b[co];
        const float add_ = x[b2 * 8 + co] + y_;
        sum_[l] += add_;
        add[b2 * 8 + co] = add_;
      }
    float mean_[LANES];
    LANE(l, lanes) {
      const long b2 = b20 + l;
      mean_[l] = sum_[l] / 8.0f;
      mean[b2] = mean_[l];
    }
    float sum_2[LANES];
    LANE(l, lanes) sum_2[l] = 0.0f;
    for (long co = 0; co < 8; co++)
      LANE(l, lanes) {
        const long b2 = b20 + l;
        sum_2[l] += (add[b2 * 8 + co] - mean_[l]) * (add[b2 * 8 + co] - mean_[l]);
      }
    float var_[LANES];
    LANE(l, lanes) {
      const long b2 = b20 + l;
      var_[l] = sum_2[l] / 8.0f;
      var[b2] = var_[l];
    }
    for (long co = 0; co < 8; co++)
      LANE(l, lanes) {
        const long b2 = b20 + l;
        y3[b2 * 8 + co] = (((add[b2 * 8 + co] - mean_[l]) / sqrtf((var_[l] + 1e-05f))) * gamma_[co]) + beta[co];
      }
  }
}

// dense17: dense (loop.dnn:10)
__global__ void k_dense(float *__restrict__ y3, const float *__restrict__ y2, const float *__restrict__ w, const float *__restrict__ b, long B2, long CO) {
  GRID2_LANES(b2, B2, co0, lanes, CO) {
    float y_[LANES];
    LANE(l, lanes) y_[l] = 0.0f;
    for (long ci = 0; ci < 8; ci++)
      LANE(l, lanes) {
        const long co = co0 + l;
        y_[l] += y2[b2 * 8 + ci] * w[co * 8 + ci];
      }
    float y_2[LANES];
    LANE(l, lanes) {
      const long co = co0 + l;
      y_2[l] = y_[l] + b[co];
      y3[b2 * CO + co] = y_2[l];
    }
  }
}

// cross_entropy (loop.dnn:10)
__global__ void k_cross_entropy(float *__restrict__ z, float *__restrict__ total, float *__restrict__ each, const float *__restrict__ y, const int *__restrict__ label, long B) {
  GRID_LANES(b0, lanes, B) {
    float top_[LANES];
    LANE(l, lanes) top_[l] = -INFINITY;
    for (long c = 0; c < 4; c++)
      LANE(l, lanes) {
        const long b = b0 + l;
        const float v = y[b * 4 + c];
        top_[l] = v > top_[l] ? v : top_[l];
      }
    float total_[LANES];
    LANE(l, lanes) total_[l] = 0.0f;
    float picked_[LANES];
    LANE(l, lanes) picked_[l] = 0.0f;
    for (long c = 0; c < 4; c++)
      LANE(l, lanes) {
        const long b = b0 + l;
        const float z_ = y[b * 4 + c] - top_[l];
        total_[l] += expf(z_);
        picked_[l] += (float)((label[b] == c)) * z_;
        z[b * 4 + c] = z_;
      }
    LANE(l, lanes) {
      const long b = b0 + l;
      total[b] = total_[l];
    }
    float each_[LANES];
    LANE(l, lanes) {
      const long b = b0 + l;
      each_[l] = (label[b] == -1) ? 0.0f : (logf(total_[l]) - picked_[l]);
      each[b] = each_[l];
    }
  }
}

// cross_entropy (loop.dnn:10)
__global__ void k_cross_entropy2(float *__restrict__ sum, const float *__restrict__ each, long B) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(b, B) sum_ += each[b];
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (loop.dnn:10)
__global__ void k_cross_entropy3(float *__restrict__ sum, const int *__restrict__ label, long B) {
  GRID(row, 1) {
    (void)row;
    float sum_ = 0.0f;
    BLOCK(b, B) sum_ += (label[b] != -1) ? 1.0f : 0.0f;
    sum_ = BLOCK_SUM(sum_);
    ONCE sum[0] = sum_;
  }
}

// cross_entropy (loop.dnn:10)
__global__ void k_cross_entropy4(float *__restrict__ cross_entropy, const float *__restrict__ whole, const float *__restrict__ whole2) {
  FLAT(i, 1) cross_entropy[0] = whole[0] / parcc_maxf(whole2[0], 1.0f);
}

// cross_entropy_grad (loop.dnn:10)
__global__ void k_cross_entropy_grad(float *__restrict__ grad, const float *__restrict__ whole) {
  FLAT(i, 1) grad[0] = 1.0f / parcc_maxf(whole[0], 1.0f);
}

// cross_entropy_grad (loop.dnn:10)
__global__ void k_cross_entropy_grad2(float *__restrict__ grad, float *__restrict__ grad3, const int *__restrict__ label, const float *__restrict__ grad2, const float *__restrict__ total, long count) {
  FLAT(i, count) {
    const float grad_ = ((label[i] == -1) ? 0.0f : grad2[0]) / total[i];
    const float grad_2 = -((label[i] == -1) ? 0.0f : grad2[0]);
    grad[i] = grad_;
    grad3[i] = grad_2;
  }
}

// cross_entropy_grad (loop.dnn:10)
__global__ void k_cross_entropy_grad3(float *__restrict__ grad, const float *__restrict__ grad2, const float *__restrict__ z, long B, long C) {
  GRID(b, B) BLOCK(c, C) grad[b * C + c] = grad2[b] * expf(z[b * C + c]);
}

// cross_entropy_dense_grad (loop.dnn:10)
__global__ void k_cross_entropy_dense_grad(float *__restrict__ grad3, float *__restrict__ grad5, const float *__restrict__ grad2, const int *__restrict__ label, const float *__restrict__ grad4, long C, long B) {
  GRID_LANES(c0, lanes, C) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long b = 0; b < B; b++)
      LANE(l, lanes) {
        const long c = c0 + l;
        const float grad_2 = grad2[b] * (float)((label[b] == c));
        const float grad_3 = grad_2 + grad4[b * C + c];
        grad_[l] += grad_3;
        grad3[b * C + c] = grad_3;
      }
    LANE(l, lanes) {
      const long c = c0 + l;
      grad5[c] = grad_[l];
    }
  }
}

// dense17: dense_layernorm_grad (loop.dnn:10)
__global__ void k_dense_layernorm_grad(float *__restrict__ grad, float *__restrict__ grad3, const float *__restrict__ grad2, const float *__restrict__ w, const float *__restrict__ gamma_, const float *__restrict__ var, long B, long CI) {
  GRID2_LANES(b, B, ci0, lanes, CI) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long co = 0; co < 4; co++)
      LANE(l, lanes) {
        const long ci = ci0 + l;
        grad_[l] += grad2[b * 4 + co] * w[co * CI + ci];
      }
    LANE(l, lanes) {
      const long ci = ci0 + l;
      grad[b * CI + ci] = grad_[l];
    }
    float grad_2[LANES];
    LANE(l, lanes) {
      const long ci = ci0 + l;
      grad_2[l] = (grad_[l] * gamma_[ci]) / sqrtf((var[b] + 1e-05f));
      grad3[b * CI + ci] = grad_2[l];
    }
  }
}

// dense17: dense_grad (loop.dnn:10)
__global__ void k_dense_grad(float *__restrict__ grad, const float *__restrict__ grad2, const float *__restrict__ y, long CO, long CI, long B) {
  GRID2_LANES(co, CO, ci0, lanes, CI) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long b = 0; b < B; b++)
      LANE(l, lanes) {
        const long ci = ci0 + l;
        grad_[l] += grad2[b * CO + co] * y[b * CI + ci];
      }
    LANE(l, lanes) {
      const long ci = ci0 + l;
      grad[co * CI + ci] = grad_[l];
    }
  }
}

// layernorm9: layernorm_grad (loop.dnn:10)
__global__ void k_layernorm_grad(float *__restrict__ grad4, float *__restrict__ grad7, const float *__restrict__ grad2, const float *__restrict__ gamma_, const float *__restrict__ var, const float *__restrict__ add, const float *__restrict__ mean, long B) {
  GRID_LANES(b0, lanes, B) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    float grad_2[LANES];
    LANE(l, lanes) grad_2[l] = 0.0f;
    for (long c = 0; c < 8; c++)
      LANE(l, lanes) {
        const long b = b0 + l;
        grad_[l] += -((grad2[b * 8 + c] * gamma_[c]) / sqrtf((var[b] + 1e-05f)));
        grad_2[l] += (0.5f * (-(((grad2[b * 8 + c] * gamma_[c]) * ((add[b * 8 + c] - mean[b]) / sqrtf((var[b] + 1e-05f)))) / sqrtf((var[b] + 1e-05f))))) / sqrtf((var[b] + 1e-05f));
      }
    float grad_3[LANES];
    LANE(l, lanes) {
      const long b = b0 + l;
      grad_3[l] = grad_2[l] / 8.0f;
      grad4[b] = grad_3[l];
    }
    float grad_4[LANES];
    LANE(l, lanes) grad_4[l] = 0.0f;
    for (long c = 0; c < 8; c++)
      LANE(l, lanes) {
        const long b = b0 + l;
        grad_4[l] += (-(grad_3[l] * (add[b * 8 + c] - mean[b]))) - (grad_3[l] * (add[b * 8 + c] - mean[b]));
      }
    float grad_5[LANES];
    float grad_6[LANES];
    LANE(l, lanes) {
      const long b = b0 + l;
      grad_5[l] = grad_[l] + grad_4[l];
      grad_6[l] = grad_5[l] / 8.0f;
      grad7[b] = grad_6[l];
    }
  }
}

// layernorm9: layernorm_add_dense_grad (loop.dnn:10)
__global__ void k_layernorm_add_dense_grad(float *__restrict__ grad, float *__restrict__ grad3, float *__restrict__ grad6, float *__restrict__ grad9, const float *__restrict__ grad2, const float *__restrict__ add, const float *__restrict__ mean, const float *__restrict__ var, const float *__restrict__ grad5, const float *__restrict__ grad7, const float *__restrict__ grad8, long C, long B) {
  GRID_LANES(c0, lanes, C) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    float grad_2[LANES];
    LANE(l, lanes) grad_2[l] = 0.0f;
    float grad_3[LANES];
    LANE(l, lanes) grad_3[l] = 0.0f;
    for (long b = 0; b < B; b++)
      LANE(l, lanes) {
        const long c = c0 + l;
        grad_[l] += grad2[b * C + c] * ((add[b * C + c] - mean[b]) / sqrtf((var[b] + 1e-05f)));
        grad_2[l] += grad2[b * C + c];
        const float grad_4 = (grad5[b] * (add[b * C + c] - mean[b])) + (grad5[b] * (add[b * C + c] - mean[b]));
        const float grad_5 = (grad7[b * C + c] + grad_4) + grad8[b];
        grad_3[l] += grad_5;
        grad6[b * C + c] = grad_5;
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

// gelu_tanh_dense_grad (loop.dnn:8)
__global__ void k_gelu_tanh_dense_grad(float *__restrict__ grad, float *__restrict__ grad3, const float *__restrict__ grad2, const float *__restrict__ y, long CO, long B, float factor) {
  GRID_LANES(co0, lanes, CO) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    for (long b = 0; b < B; b++)
      LANE(l, lanes) {
        const long co = co0 + l;
        const float grad_2 = ((((0.5f * (grad2[b * CO + co] * (1.0f + tanhf((factor * (y[b * CO + co] + (((0.044715f * y[b * CO + co]) * y[b * CO + co]) * y[b * CO + co]))))))) + (factor * ((grad2[b * CO + co] * (0.5f * y[b * CO + co])) * (1.0f - (tanhf((factor * (y[b * CO + co] + (((0.044715f * y[b * CO + co]) * y[b * CO + co]) * y[b * CO + co])))) * tanhf((factor * (y[b * CO + co] + (((0.044715f * y[b * CO + co]) * y[b * CO + co]) * y[b * CO + co]))))))))) + (0.044715f * (((factor * ((grad2[b * CO + co] * (0.5f * y[b * CO + co])) * (1.0f - (tanhf((factor * (y[b * CO + co] + (((0.044715f * y[b * CO + co]) * y[b * CO + co]) * y[b * CO + co])))) * tanhf((factor * (y[b * CO + co] + (((0.044715f * y[b * CO + co]) * y[b * CO + co]) * y[b * CO + co])))))))) * y[b * CO + co]) * y[b * CO + co]))) + (((factor * ((grad2[b * CO + co] * (0.5f * y[b * CO + co])) * (1.0f - (tanhf((factor * (y[b * CO + co] + (((0.044715f * y[b * CO + co]) * y[b * CO + co]) * y[b * CO + co])))) * tanhf((factor * (y[b * CO + co] + (((0.044715f * y[b * CO + co]) * y[b * CO + co]) * y[b * CO + co])))))))) * y[b * CO + co]) * (0.044715f * y[b * CO + co]))) + ((factor * ((grad2[b * CO + co] * (0.5f * y[b * CO + co])) * (1.0f - (tanhf((factor * (y[b * CO + co] + (((0.044715f * y[b * CO + co]) * y[b * CO + co]) * y[b * CO + co])))) * tanhf((factor * (y[b * CO + co] + (((0.044715f * y[b * CO + co]) * y[b * CO + co]) * y[b * CO + co])))))))) * ((0.044715f * y[b * CO + co]) * y[b * CO + co]));
        grad_[l] += grad_2;
        grad[b * CO + co] = grad_2;
      }
    LANE(l, lanes) {
      const long co = co0 + l;
      grad3[co] = grad_[l];
    }
  }
}

// layernorm8: layernorm_grad (loop.dnn:8)
__global__ void k_layernorm_grad2(float *__restrict__ grad, float *__restrict__ grad5, float *__restrict__ grad8, const float *__restrict__ grad2, const float *__restrict__ gamma_, const float *__restrict__ var, const float *__restrict__ add, const float *__restrict__ mean, long B) {
  GRID_LANES(b0, lanes, B) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    float grad_2[LANES];
    LANE(l, lanes) grad_2[l] = 0.0f;
    for (long c = 0; c < 8; c++)
      LANE(l, lanes) {
        const long b = b0 + l;
        const float grad_3 = (grad2[b * 8 + c] * gamma_[c]) / sqrtf((var[b] + 1e-05f));
        grad_[l] += -((grad2[b * 8 + c] * gamma_[c]) / sqrtf((var[b] + 1e-05f)));
        grad_2[l] += (0.5f * (-(((grad2[b * 8 + c] * gamma_[c]) * ((add[b * 8 + c] - mean[b]) / sqrtf((var[b] + 1e-05f)))) / sqrtf((var[b] + 1e-05f))))) / sqrtf((var[b] + 1e-05f));
        grad[b * 8 + c] = grad_3;
      }
    float grad_4[LANES];
    LANE(l, lanes) {
      const long b = b0 + l;
      grad_4[l] = grad_2[l] / 8.0f;
      grad5[b] = grad_4[l];
    }
    float grad_5[LANES];
    LANE(l, lanes) grad_5[l] = 0.0f;
    for (long c = 0; c < 8; c++)
      LANE(l, lanes) {
        const long b = b0 + l;
        grad_5[l] += (-(grad_4[l] * (add[b * 8 + c] - mean[b]))) - (grad_4[l] * (add[b * 8 + c] - mean[b]));
      }
    float grad_6[LANES];
    float grad_7[LANES];
    LANE(l, lanes) {
      const long b = b0 + l;
      grad_6[l] = grad_[l] + grad_5[l];
      grad_7[l] = grad_6[l] / 8.0f;
      grad8[b] = grad_7[l];
    }
  }
}

// layernorm8: layernorm_add_dense_grad (loop.dnn:8)
__global__ void k_layernorm_add_dense_grad2(float *__restrict__ grad, float *__restrict__ grad3, float *__restrict__ grad6, float *__restrict__ grad10, const float *__restrict__ grad2, const float *__restrict__ add, const float *__restrict__ mean, const float *__restrict__ var, const float *__restrict__ grad5, const float *__restrict__ grad7, const float *__restrict__ grad8, const float *__restrict__ grad9, long C, long B) {
  GRID_LANES(c0, lanes, C) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    float grad_2[LANES];
    LANE(l, lanes) grad_2[l] = 0.0f;
    float grad_3[LANES];
    LANE(l, lanes) grad_3[l] = 0.0f;
    for (long b = 0; b < B; b++)
      LANE(l, lanes) {
        const long c = c0 + l;
        grad_[l] += grad2[b * C + c] * ((add[b * C + c] - mean[b]) / sqrtf((var[b] + 1e-05f)));
        grad_2[l] += grad2[b * C + c];
        const float grad_4 = (grad5[b] * (add[b * C + c] - mean[b])) + (grad5[b] * (add[b * C + c] - mean[b]));
        const float grad_5 = ((grad7[b * C + c] + grad8[b * C + c]) + grad_4) + grad9[b];
        grad_3[l] += grad_5;
        grad6[b * C + c] = grad_5;
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
      grad10[c] = grad_3[l];
    }
  }
}

// layernorm1: layernorm_grad (loop.dnn:8)
__global__ void k_layernorm_grad3(float *__restrict__ grad, float *__restrict__ grad3, const float *__restrict__ grad2, const float *__restrict__ x, const float *__restrict__ mean, const float *__restrict__ var, long C, long B) {
  GRID_LANES(c0, lanes, C) {
    float grad_[LANES];
    LANE(l, lanes) grad_[l] = 0.0f;
    float grad_2[LANES];
    LANE(l, lanes) grad_2[l] = 0.0f;
    for (long b = 0; b < B; b++)
      LANE(l, lanes) {
        const long c = c0 + l;
        grad_[l] += grad2[b * C + c] * ((x[b * C + c] - mean[b]) / sqrtf((var[b] + 1e-05f)));
        grad_2[l] += grad2[b * C + c];
      }
    LANE(l, lanes) {
      const long c = c0 + l;
      grad[c] = grad_[l];
    }
    LANE(l, lanes) {
      const long c = c0 + l;
      grad3[c] = grad_2[l];
    }
  }
}

// layernorm1: gradient_norm (loop.dnn:15)
__global__ void k_gradient_norm(float *__restrict__ square, const float *__restrict__ whole, long C) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(c, C) square_ += whole[c] * whole[c];
    square_ = BLOCK_SUM(square_);
    ONCE square[0] = square_;
  }
}

// layernorm1: gradient_norm (loop.dnn:15)
__global__ void k_gradient_norm2(float *__restrict__ square2, const float *__restrict__ whole, const float *__restrict__ square3, long C) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(c, C) square_ += whole[c] * whole[c];
    square_ = BLOCK_SUM(square_);
    const float square_2 = square_ + square3[0];
    ONCE square2[0] = square_2;
  }
}

// dense1: gradient_norm (loop.dnn:15)
__global__ void k_gradient_norm3(float *__restrict__ square2, const float *__restrict__ whole, const float *__restrict__ square3, const float *__restrict__ square4, long len_coci) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(coci, len_coci) square_ += whole[coci] * whole[coci];
    square_ = BLOCK_SUM(square_);
    const float square_2 = (square3[0] + square_) + square4[0];
    ONCE square2[0] = square_2;
  }
}

// dense17: gradient_norm_clip (loop.dnn:15)
__global__ void k_gradient_norm_clip(float *__restrict__ gradient_norm, float *__restrict__ gradient_scale, const float *__restrict__ whole, const float *__restrict__ square3, const float *__restrict__ square4, long len_coci) {
  GRID(row, 1) {
    (void)row;
    float square_ = 0.0f;
    BLOCK(coci, len_coci) square_ += whole[coci] * whole[coci];
    square_ = BLOCK_SUM(square_);
    const float square_2 = (square3[0] + square_) + square4[0];
    const float gradient_norm_ = sqrtf(square_2);
    const float gradient_scale_ = 1.0f / parcc_maxf(gradient_norm_, 1.0f);
    ONCE gradient_norm[0] = gradient_norm_;
    ONCE gradient_scale[0] = gradient_scale_;
  }
}

// layernorm1: clip_adamw (loop.dnn:15)
__global__ void k_clip_adamw(float *__restrict__ m, float *__restrict__ v, float *__restrict__ u, const float *__restrict__ whole, const float *__restrict__ gradient_scale, long count, float factor, float factor2, float lr, float step) {
  FLAT(i, count) {
    const float clipped_ = whole[i] * gradient_scale[0];
    const float m_ = (0.9f * m[i]) + (factor * clipped_);
    const float v_ = (0.999f * v[i]) + ((factor2 * clipped_) * clipped_);
    const float u_ = (u[i] * (1.0f - (0.1f * lr))) - ((lr * (m_ / (1.0f - powf(0.9f, (step + 1.0f))))) / (sqrtf((v_ / (1.0f - powf(0.999f, (step + 1.0f))))) + 1e-08f));
    m[i] = m_;
    v[i] = v_;
    u[i] = u_;
  }
}

// layernorm1: layernorm (loop.dnn:8)
__global__ void k_layernorm2(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ gamma_, const float *__restrict__ beta, long B) {
  GRID_LANES(b0, lanes, B) {
    float sum_[LANES];
    LANE(l, lanes) sum_[l] = 0.0f;
    for (long c = 0; c < 8; c++)
      LANE(l, lanes) {
        const long b = b0 + l;
        sum_[l] += x[b * 8 + c];
      }
    float mean_[LANES];
    LANE(l, lanes) {
      mean_[l] = sum_[l] / 8.0f;
    }
    float sum_2[LANES];
    LANE(l, lanes) sum_2[l] = 0.0f;
    for (long c = 0; c < 8; c++)
      LANE(l, lanes) {
        const long b = b0 + l;
        sum_2[l] += (x[b * 8 + c] - mean_[l]) * (x[b * 8 + c] - mean_[l]);
      }
    float var_[LANES];
    LANE(l, lanes) {
      var_[l] = sum_2[l] / 8.0f;
    }
    for (long c = 0; c < 8; c++)
      LANE(l, lanes) {
        const long b = b0 + l;
        y[b * 8 + c] = (((x[b * 8 + c] - mean_[l]) / sqrtf((var_[l] + 1e-05f))) * gamma_[c]) + beta[c];
      }
  }
}

// dense1: dense_gelu_tanh (loop.dnn:8)
__global__ void k_dense_gelu_tanh2(float *__restrict__ gelu_tanh, const float *__restrict__ y2, const float *__restrict__ b, long B2, long CO, float factor) {
  GRID(b2, B2) BLOCK(co, CO) {
    const float y_ = y2[b2 * CO + co] + b[co];
    gelu_tanh[b2 * CO + co] = (0.5f * y_) * (1.0f + tanhf((factor * (y_ + (((0.044715f * y_) * y_) * y_)))));
  }
}

// dense2: dense_add_layernorm (loop.dnn:8)
__global__ void k_dense_add_layernorm2(float *__restrict__ add, float *__restrict__ y3, const float *__restrict__ y2, const float *__restrict__ b, const float *__restrict__ x, const float *__restrict__ gamma_, const float *__restrict__ beta, long B2) {
  GRID_LANES(b20, lanes, B2) {
    float sum_[LANES];
    LANE(l, lanes) sum_[l] = 0.0f;
    for (long co = 0; co < 8; co++)
      LANE(l, lanes) {
        const long b2 = b20 + l;
        const float y_ = y2[b2 * 8 + co] + b[co];
        const float add_ = x[b2 * 8 + co] + y_;
        sum_[l] += add_;
        add[b2 * 8 + co] = add_;
      }
    float mean_[LANES];
    LANE(l, lanes) {
      mean_[l] = sum_[l] / 8.0f;
    }
    float sum_2[LANES];
    LANE(l, lanes) sum_2[l] = 0.0f;
    for (long co = 0; co < 8; co++)
      LANE(l, lanes) {
        const long b2 = b20 + l;
        sum_2[l] += (add[b2 * 8 + co] - mean_[l]) * (add[b2 * 8 + co] - mean_[l]);
      }
    float var_[LANES];
    LANE(l, lanes) {
      var_[l] = sum_2[l] / 8.0f;
    }
    for (long co = 0; co < 8; co++)
      LANE(l, lanes) {
        const long b2 = b20 + l;
        y3[b2 * 8 + co] = (((add[b2 * 8 + co] - mean_[l]) / sqrtf((var_[l] + 1e-05f))) * gamma_[co]) + beta[co];
      }
  }
}

// dense16: dense_add_layernorm (loop.dnn:8)
__global__ void k_dense_add_layernorm3(float *__restrict__ y3, const float *__restrict__ y2, const float *__restrict__ b, const float *__restrict__ add2, const float *__restrict__ gamma_, const float *__restrict__ beta, long B2) {
  GRID_LANES(b20, lanes, B2) {
    float sum_[LANES];
    LANE(l, lanes) sum_[l] = 0.0f;
    for (long co = 0; co < 8; co++)
      LANE(l, lanes) {
        const long b2 = b20 + l;
        const float y_ = y2[b2 * 8 + co] + b[co];
        const float add_ = add2[b2 * 8 + co] + y_;
        sum_[l] += add_;
      }
    float mean_[LANES];
    LANE(l, lanes) {
      mean_[l] = sum_[l] / 8.0f;
    }
    float sum_2[LANES];
    LANE(l, lanes) sum_2[l] = 0.0f;
    for (long co = 0; co < 8; co++)
      LANE(l, lanes) {
        const long b2 = b20 + l;
        const float y_2 = y2[b2 * 8 + co] + b[co];
        const float add_2 = add2[b2 * 8 + co] + y_2;
        sum_2[l] += (add_2 - mean_[l]) * (add_2 - mean_[l]);
      }
    float var_[LANES];
    LANE(l, lanes) {
      var_[l] = sum_2[l] / 8.0f;
    }
    for (long co = 0; co < 8; co++)
      LANE(l, lanes) {
        const long b2 = b20 + l;
        const float y_3 = y2[b2 * 8 + co] + b[co];
        const float add_3 = add2[b2 * 8 + co] + y_3;
        y3[b2 * 8 + co] = (((add_3 - mean_[l]) / sqrtf((var_[l] + 1e-05f))) * gamma_[co]) + beta[co];
      }
  }
}

// cross_entropy (loop.dnn:10)
__global__ void k_cross_entropy5(float *__restrict__ each, const float *__restrict__ y, const int *__restrict__ label, long B) {
  GRID_LANES(b0, lanes, B) {
    float top_[LANES];
    LANE(l, lanes) top_[l] = -INFINITY;
    for (long c = 0; c < 4; c++)
      LANE(l, lanes) {
        const long b = b0 + l;
        const float v = y[b * 4 + c];
        top_[l] = v > top_[l] ? v : top_[l];
      }
    float total_[LANES];
    LANE(l, lanes) total_[l] = 0.0f;
    float picked_[LANES];
    LANE(l, lanes) picked_[l] = 0.0f;
    for (long c = 0; c < 4; c++)
      LANE(l, lanes) {
        const long b = b0 + l;
        const float z_ = y[b * 4 + c] - top_[l];
        total_[l] += expf(z_);
        picked_[l] += (float)((label[b] == c)) * z_;
      }
    float each_[LANES];
    LANE(l, lanes) {
      const long b = b0 + l;
      each_[l] = (label[b] == -1) ? 0.0f : (logf(total_[l]) - picked_[l]);
      each[b] = each_[l];
    }
  }
}

// ---- one step --------------------------------------------------------------------------------------------------------

// init: 8 times in a row, the first time for layernorm1, dense1, dense2
static void init_block(const Block *layer) {
  AT_LAYER(layer->in_layernorm, "init", "loop.dnn:8");
  LAUNCH_FLAT(k_init, 8, layer->layernorm_gamma, 8);
  LAUNCH_FLAT(k_init2, 8, layer->layernorm_beta, 8);

  AT_LAYER(layer->in_dense, "init", "loop.dnn:8");
  LAUNCH_FLAT(k_init3, 128, layer->dense_w, 128, 0.35355338f, parcc.seed, (unsigned long long)parcc.step, layer->stream);
  LAUNCH_FLAT(k_init3, 16, layer->dense_b, 16, 0.35355338f, parcc.seed, (unsigned long long)parcc.step, layer->stream2);

  AT_LAYER(layer->in_dense2, "init", "loop.dnn:8");
  LAUNCH_FLAT(k_init4, 128, layer->dense_w2, 128, parcc.seed, (unsigned long long)parcc.step, layer->stream3);
  LAUNCH_FLAT(k_init4, 8, layer->dense_b2, 8, parcc.seed, (unsigned long long)parcc.step, layer->stream4);
}

// init: 8 times in a row, the first time for layernorm1, dense1, dense2
static void init_block2(const Block *layer) {
  AT_LAYER(layer->in_layernorm, "init", "loop.dnn:14");
  LAUNCH_FLAT(k_init2, 8, layer->layernorm_gamma_moment1, 8);
  LAUNCH_FLAT(k_init2, 8, layer->layernorm_gamma_moment2, 8);
  LAUNCH_FLAT(k_init2, 8, layer->layernorm_beta_moment1, 8);
  LAUNCH_FLAT(k_init2, 8, layer->layernorm_beta_moment2, 8);

  AT_LAYER(layer->in_dense, "init", "loop.dnn:14");
  LAUNCH_FLAT(k_init2, 128, layer->dense_w_moment1, 128);
  LAUNCH_FLAT(k_init2, 128, layer->dense_w_moment2, 128);
  LAUNCH_FLAT(k_init2, 16, layer->dense_b_moment1, 16);
  LAUNCH_FLAT(k_init2, 16, layer->dense_b_moment2, 16);

  AT_LAYER(layer->in_dense2, "init", "loop.dnn:14");
  LAUNCH_FLAT(k_init2, 128, layer->dense_w_moment1_2, 128);
  LAUNCH_FLAT(k_init2, 128, layer->dense_w_moment2_2, 128);
  LAUNCH_FLAT(k_init2, 8, layer->dense_b_moment1_2, 8);
  LAUNCH_FLAT(k_init2, 8, layer->dense_b_moment2_2, 8);
}

// forward: 8 times in a row, the first time for layernorm1, dense1, dense2
static void forward_block(const Block *layer) {
  AT_LAYER(layer->in_dense, "dense", "loop.dnn:8");
  // dense.y[b, co] = sum(ci) (layernorm.y[b, ci] * dense.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 16, b.len, 8, &one,
      layer->dense_w, 8, layer->layernorm_y, 8, &zero, layer->dense_y, 16));
  LAUNCH_MAP(k_dense_gelu_tanh, b.len, 16, layer->dense_y2, layer->gelu_tanh, layer->dense_y, layer->dense_b, b.len, 16, 0.7978846f);
  LIFETIME_END({layer->dense_y, 192});

  AT_LAYER(layer->in_dense2, "dense", "loop.dnn:8");
  // dense.y[b, co] = sum(ci) (gelu_tanh[b, ci] * dense.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 8, b.len, 16, &one,
      layer->dense_w2, 16, layer->gelu_tanh, 16, &zero, layer->dense_y3, 8));
  LAUNCH_LANES(k_dense_add_layernorm, b.len, layer->add, layer->layernorm_mean, layer->layernorm_var, layer->layernorm_y2, layer->dense_y3, layer->dense_b2, layer->add2, layer->layernorm_gamma2, layer->layernorm_beta2, b.len);
  LIFETIME_END({layer->dense_y3, 96});
}

// backward: 7 times in a row, the first time for layernorm8, dense15, dense16
static void backward_block(const Block *layer) {
  AT_LAYER(layer->in_dense2, "dense", "loop.dnn:8");
  // gelu_tanh.grad[b, ci] = sum(co) (add.grad[b, co] * dense.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 16, b.len, 8, &one,
      layer->dense_w2, 16, layer->add_grad, 8, &zero, layer->gelu_tanh_grad, 16));
  // dense.w.grad[co, ci] = sum(b) (add.grad[b, co] * gelu_tanh[b, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 16, 8, b.len, &one,
      layer->gelu_tanh, 16, layer->add_grad, 8, &zero, layer->dense_w_grad, 16));
  LIFETIME_END({layer->gelu_tanh, 192});

  AT("gelu_tanh", "loop.dnn:8");
  LAUNCH_LANES(k_gelu_tanh_dense_grad, 16, layer->dense_y_grad, layer->dense_b_grad, layer->gelu_tanh_grad, layer->dense_y2, 16, b.len, 0.7978846f);
  LIFETIME_END({layer->dense_y2, 192}, {layer->gelu_tanh_grad, 192});

  AT_LAYER(layer->in_dense, "dense", "loop.dnn:8");
  // layernorm.y.grad[b, ci] = sum(co) (dense.y.grad[b, co] * dense.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 8, b.len, 16, &one,
      layer->dense_w, 8, layer->dense_y_grad, 16, &zero, layer->layernorm_y_grad, 8));
  // dense.w.grad[co, ci] = sum(b) (dense.y.grad[b, co] * layernorm.y[b, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 8, 16, b.len, &one,
      layer->layernorm_y, 8, layer->dense_y_grad, 16, &zero, layer->dense_w_grad2, 8));
  LIFETIME_END({layer->layernorm_y, 96}, {layer->dense_y_grad, 192});

  AT_LAYER(layer->in_layernorm, "layernorm", "loop.dnn:8");
  LAUNCH_LANES(k_layernorm_grad2, b.len, layer->add_grad2, layer->layernorm_var_sum_grad, layer->layernorm_mean_sum_grad, layer->layernorm_y_grad, layer->layernorm_gamma, layer->layernorm_var2, layer->add2, layer->layernorm_mean2, b.len);
  LAUNCH_LANES(k_layernorm_add_dense_grad2, 8, layer->layernorm_gamma_grad, layer->layernorm_beta_grad, layer->add_grad3, layer->dense_b_grad2, layer->layernorm_y_grad, layer->add2, layer->layernorm_mean2, layer->layernorm_var2, layer->layernorm_var_sum_grad, layer->add_grad, layer->add_grad2, layer->layernorm_mean_sum_grad, 8, b.len);
  LIFETIME_END({layer->add2, 96}, {layer->layernorm_mean2, 12}, {layer->layernorm_var2, 12}, {layer->add_grad, 96},
      {layer->layernorm_y_grad, 96}, {layer->add_grad2, 96}, {layer->layernorm_var_sum_grad, 12},
      {layer->layernorm_mean_sum_grad, 12});
}

// update: 8 times in a row, the first time for layernorm1, dense1, dense2
static void update_block(const Block *layer) {
  AT_LAYER(layer->in_dense, "gradient_norm", "loop.dnn:15");
  LAUNCH_ROWS(k_gradient_norm, 1, layer->dense_b_grad_square, layer->dense_b_grad, 16);
  LAUNCH_ROWS(k_gradient_norm3, 1, layer->dense_grad_square, layer->dense_w_grad2, layer->layernorm_grad_square, layer->dense_b_grad_square, 128);
  LIFETIME_END({layer->dense_b_grad_square, 4}, {layer->layernorm_grad_square, 4});

  AT_LAYER(layer->in_dense2, "gradient_norm", "loop.dnn:15");
  LAUNCH_ROWS(k_gradient_norm, 1, layer->dense_b_grad_square2, layer->dense_b_grad_whole, 8);
  LAUNCH_ROWS(k_gradient_norm3, 1, layer->dense_grad_square2, layer->dense_w_grad, layer->dense_grad_square, layer->dense_b_grad_square2, 128);
  LIFETIME_END({layer->dense_b_grad_square2, 4}, {layer->dense_grad_square, 4});

  AT_LAYER(layer->in_layernorm2, "gradient_norm", "loop.dnn:15");
  LAUNCH_ROWS(k_gradient_norm, 1, layer->layernorm_beta_grad_square, layer->layernorm_beta_grad_whole, 8);
  LAUNCH_ROWS(k_gradient_norm3, 1, layer->layernorm_grad_square2, layer->layernorm_gamma_grad_whole, layer->dense_grad_square2, layer->layernorm_beta_grad_square, 8);
  LIFETIME_END({layer->layernorm_beta_grad_square, 4}, {layer->dense_grad_square2, 4});
}

// update: 8 times in a row, the first time for layernorm1, dense1, dense2
static void update_block2(const Block *layer) {
  AT_LAYER(layer->in_layernorm, "clip", "loop.dnn:15");
  LAUNCH_FLAT(k_clip_adamw, 8, layer->layernorm_gamma_moment1, layer->layernorm_gamma_moment2, layer->layernorm_gamma, layer->layernorm_gamma_grad, t.gradient_scale, 8, 0.1f, 0.001f, (float)parcc.lr, (float)parcc.step);
  LAUNCH_FLAT(k_clip_adamw, 8, layer->layernorm_beta_moment1, layer->layernorm_beta_moment2, layer->layernorm_beta, layer->layernorm_beta_grad, t.gradient_scale, 8, 0.1f, 0.001f, (float)parcc.lr, (float)parcc.step);

  AT_LAYER(layer->in_dense, "clip", "loop.dnn:15");
  LAUNCH_FLAT(k_clip_adamw, 128, layer->dense_w_moment1, layer->dense_w_moment2, layer->dense_w, layer->dense_w_grad2, t.gradient_scale, 128, 0.1f, 0.001f, (float)parcc.lr, (float)parcc.step);
  LAUNCH_FLAT(k_clip_adamw, 16, layer->dense_b_moment1, layer->dense_b_moment2, layer->dense_b, layer->dense_b_grad, t.gradient_scale, 16, 0.1f, 0.001f, (float)parcc.lr, (float)parcc.step);

  AT_LAYER(layer->in_dense2, "clip", "loop.dnn:15");
  LAUNCH_FLAT(k_clip_adamw, 128, layer->dense_w_moment1_2, layer->dense_w_moment2_2, layer->dense_w2, layer->dense_w_grad, t.gradient_scale, 128, 0.1f, 0.001f, (float)parcc.lr, (float)parcc.step);
  LAUNCH_FLAT(k_clip_adamw, 8, layer->dense_b_moment1_2, layer->dense_b_moment2_2, layer->dense_b2, layer->dense_b_grad_whole, t.gradient_scale, 8, 0.1f, 0.001f, (float)parcc.lr, (float)parcc.step);
}

// evaluate: 7 times in a row, the first time for layernorm1, dense1, dense2
static void evaluate_block(const Block *layer) {
  AT_LAYER(layer->in_dense, "dense", "loop.dnn:8");
  // dense.y[b, co] = sum(ci) (layernorm.y[b, ci] * dense.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 16, b.len, 8, &one,
      layer->dense_w, 8, layer->layernorm_y3, 8, &zero, layer->dense_y4, 16));
  LIFETIME_END({layer->layernorm_y3, 96});
  LAUNCH_MAP(k_dense_gelu_tanh2, b.len, 16, layer->gelu_tanh2, layer->dense_y4, layer->dense_b, b.len, 16, 0.7978846f);
  LIFETIME_END({layer->dense_y4, 192});

  AT_LAYER(layer->in_dense2, "dense", "loop.dnn:8");
  // dense.y[b, co] = sum(ci) (gelu_tanh[b, ci] * dense.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 8, b.len, 16, &one,
      layer->dense_w2, 16, layer->gelu_tanh2, 16, &zero, layer->dense_y5, 8));
  LIFETIME_END({layer->gelu_tanh2, 192});
  LAUNCH_LANES(k_dense_add_layernorm2, b.len, layer->add3, layer->layernorm_y4, layer->dense_y5, layer->dense_b2, layer->add4, layer->layernorm_gamma2, layer->layernorm_beta2, b.len);
  LIFETIME_END({layer->add4, 96}, {layer->dense_y5, 96});
}

// list_stored: 8 times in a row, the first time for layernorm1, dense1, dense2
static void list_stored_block(const Block *layer) {
  STORE_OF(layer->in_layernorm, "gamma", PARCC_PARAM, PARCC_FLOAT, layer->layernorm_gamma, WHOLE(8));
  STORE_OF(layer->in_layernorm, "beta", PARCC_PARAM, PARCC_FLOAT, layer->layernorm_beta, WHOLE(8));
  STORE_OF(layer->in_dense, "w", PARCC_PARAM, PARCC_FLOAT, layer->dense_w, WHOLE(16), WHOLE(8));
  STORE_OF(layer->in_dense, "b", PARCC_PARAM, PARCC_FLOAT, layer->dense_b, WHOLE(16));
  STORE_OF(layer->in_dense2, "w", PARCC_PARAM, PARCC_FLOAT, layer->dense_w2, WHOLE(8), WHOLE(16));
  STORE_OF(layer->in_dense2, "b", PARCC_PARAM, PARCC_FLOAT, layer->dense_b2, WHOLE(8));
}

// list_stored: 8 times in a row, the first time for layernorm1, dense1, dense2
static void list_stored_block2(const Block *layer) {
  STORE_OF(layer->in_layernorm, "gamma.moment1", PARCC_OPTIMIZER, PARCC_FLOAT, layer->layernorm_gamma_moment1, WHOLE(8));
  STORE_OF(layer->in_layernorm, "gamma.moment2", PARCC_OPTIMIZER, PARCC_FLOAT, layer->layernorm_gamma_moment2, WHOLE(8));
  STORE_OF(layer->in_layernorm, "beta.moment1", PARCC_OPTIMIZER, PARCC_FLOAT, layer->layernorm_beta_moment1, WHOLE(8));
  STORE_OF(layer->in_layernorm, "beta.moment2", PARCC_OPTIMIZER, PARCC_FLOAT, layer->layernorm_beta_moment2, WHOLE(8));
  STORE_OF(layer->in_dense, "w.moment1", PARCC_OPTIMIZER, PARCC_FLOAT, layer->dense_w_moment1, WHOLE(16), WHOLE(8));
  STORE_OF(layer->in_dense, "w.moment2", PARCC_OPTIMIZER, PARCC_FLOAT, layer->dense_w_moment2, WHOLE(16), WHOLE(8));
  STORE_OF(layer->in_dense, "b.moment1", PARCC_OPTIMIZER, PARCC_FLOAT, layer->dense_b_moment1, WHOLE(16));
  STORE_OF(layer->in_dense, "b.moment2", PARCC_OPTIMIZER, PARCC_FLOAT, layer->dense_b_moment2, WHOLE(16));
  STORE_OF(layer->in_dense2, "w.moment1", PARCC_OPTIMIZER, PARCC_FLOAT, layer->dense_w_moment1_2, WHOLE(8), WHOLE(16));
  STORE_OF(layer->in_dense2, "w.moment2", PARCC_OPTIMIZER, PARCC_FLOAT, layer->dense_w_moment2_2, WHOLE(8), WHOLE(16));
  STORE_OF(layer->in_dense2, "b.moment1", PARCC_OPTIMIZER, PARCC_FLOAT, layer->dense_b_moment1_2, WHOLE(8));
  STORE_OF(layer->in_dense2, "b.moment2", PARCC_OPTIMIZER, PARCC_FLOAT, layer->dense_b_moment2_2, WHOLE(8));
}

// Initial values of parameters and states.
static void init(void) {
  for (long i = 0; i <= 7; i++) init_block(&block[i]);

  AT("layernorm9 init", "loop.dnn:10");
  LAUNCH_FLAT(k_init, 8, t.layernorm9_gamma, 8);
  LAUNCH_FLAT(k_init2, 8, t.layernorm9_beta, 8);

  AT("dense17 init", "loop.dnn:10");
  LAUNCH_FLAT(k_init3, 32, t.dense17_w, 32, 0.35355338f, parcc.seed, (unsigned long long)parcc.step, 32);
  LAUNCH_FLAT(k_init3, 4, t.dense17_b, 4, 0.35355338f, parcc.seed, (unsigned long long)parcc.step, 33);

  for (long i = 0; i <= 7; i++) init_block2(&block[i]);

  AT("layernorm9 init", "loop.dnn:14");
  LAUNCH_FLAT(k_init2, 8, t.layernorm9_gamma_moment1, 8);
  LAUNCH_FLAT(k_init2, 8, t.layernorm9_gamma_moment2, 8);
  LAUNCH_FLAT(k_init2, 8, t.layernorm9_beta_moment1, 8);
  LAUNCH_FLAT(k_init2, 8, t.layernorm9_beta_moment2, 8);

  AT("dense17 init", "loop.dnn:14");
  LAUNCH_FLAT(k_init2, 32, t.dense17_w_moment1, 32);
  LAUNCH_FLAT(k_init2, 32, t.dense17_w_moment2, 32);
  LAUNCH_FLAT(k_init2, 4, t.dense17_b_moment1, 4);
  LAUNCH_FLAT(k_init2, 4, t.dense17_b_moment2, 4);
}

// The losses of the batch.
static void forward(void) {
  AT("layernorm1 layernorm", "loop.dnn:8");
  LAUNCH_LANES(k_layernorm, b.len, t.layernorm1_mean, t.layernorm1_var, t.layernorm1_y, t.x, t.layernorm1_gamma, t.layernorm1_beta, b.len);

  for (long i = 0; i <= 7; i++) forward_block(&block[i]);

  AT("dense17 dense", "loop.dnn:10");
  LAUNCH_LANES(k_dense, 4 * b.len, t.dense17_y_2, t.layernorm9_y, t.dense17_w, t.dense17_b, b.len, 4);

  AT("cross_entropy", "loop.dnn:10");
  LAUNCH_LANES(k_cross_entropy, b.len, t.cross_entropy_z, t.cross_entropy_total, t.cross_entropy_each, t.dense17_y_2, t.label, b.len);
  LIFETIME_END({t.dense17_y_2, 48});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.cross_entropy_sum, t.cross_entropy_each, b.len);
  LIFETIME_END({t.cross_entropy_each, 12});
  LAUNCH_ROWS(k_cross_entropy3, 1, t.cross_entropy_sum_2, t.label, b.len);
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "loop.dnn:10");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2
  CHECK_NCCL(ncclAllReduce(t.cross_entropy_sum, t.cross_entropy_sum, 2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "loop.dnn:10");
  LAUNCH_FLAT(k_cross_entropy4, 1, t.cross_entropy, t.cross_entropy_sum_whole, t.cross_entropy_sum_2_whole);
}

// The gradients of all parameters.
static void backward(void) {
  AT("cross_entropy", "loop.dnn:10");
  LAUNCH_FLAT(k_cross_entropy_grad, 1, t.cross_entropy_sum_grad, t.cross_entropy_sum_2_whole);
  LIFETIME_END({t.cross_entropy_sum_whole, 8});
  LAUNCH_FLAT(k_cross_entropy_grad2, b.len, t.cross_entropy_total_grad, t.cross_entropy_picked_grad, t.label, t.cross_entropy_sum_grad, t.cross_entropy_total, b.len);
  LIFETIME_END({t.cross_entropy_total, 12}, {t.cross_entropy_sum_grad, 4});
  LAUNCH_MAP(k_cross_entropy_grad3, b.len, 4, t.cross_entropy_z_grad_2, t.cross_entropy_total_grad, t.cross_entropy_z, b.len, 4);
  LIFETIME_END({t.cross_entropy_z, 48}, {t.cross_entropy_total_grad, 12});
  LAUNCH_LANES(k_cross_entropy_dense_grad, 4, t.cross_entropy_z_grad_3, t.dense17_b_grad, t.cross_entropy_picked_grad, t.label, t.cross_entropy_z_grad_2, 4, b.len);
  LIFETIME_END({t.label, 12}, {t.cross_entropy_picked_grad, 12}, {t.cross_entropy_z_grad_2, 48});

  AT("dense17 dense", "loop.dnn:10");
  LAUNCH_LANES(k_dense_layernorm_grad, 8 * b.len, t.layernorm9_y_grad, t.add_8_grad, t.cross_entropy_z_grad_3, t.dense17_w, t.layernorm9_gamma, t.layernorm9_var, b.len, 8);
  LAUNCH_LANES(k_dense_grad, 32, t.dense17_w_grad, t.cross_entropy_z_grad_3, t.layernorm9_y, 4, 8, b.len);
  LIFETIME_END({t.layernorm9_y, 96}, {t.cross_entropy_z_grad_3, 48});

  AT("layernorm9 layernorm", "loop.dnn:10");
  LAUNCH_LANES(k_layernorm_grad, b.len, t.layernorm9_var_sum_grad, t.layernorm9_mean_sum_grad, t.layernorm9_y_grad, t.layernorm9_gamma, t.layernorm9_var, t.add_8, t.layernorm9_mean, b.len);
  LAUNCH_LANES(k_layernorm_add_dense_grad, 8, t.layernorm9_gamma_grad, t.layernorm9_beta_grad, t.add_8_grad_4, t.dense16_b_grad, t.layernorm9_y_grad, t.add_8, t.layernorm9_mean, t.layernorm9_var, t.layernorm9_var_sum_grad, t.add_8_grad, t.layernorm9_mean_sum_grad, 8, b.len);
  LIFETIME_END({t.add_8, 96}, {t.layernorm9_mean, 12}, {t.layernorm9_var, 12}, {t.layernorm9_y_grad, 96},
      {t.add_8_grad, 96}, {t.layernorm9_var_sum_grad, 12}, {t.layernorm9_mean_sum_grad, 12});

  for (long i = 7; i >= 1; i--) backward_block(&block[i]);

  AT("dense2 dense", "loop.dnn:8");
  // gelu_tanh.grad[b, ci] = sum(co) (add.grad.5[b, co] * dense2.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 16, b.len, 8, &one,
      t.dense2_w, 16, t.add_grad_5, 8, &zero, t.gelu_tanh_grad, 16));
  // dense2.w.grad[co, ci] = sum(b) (add.grad.5[b, co] * gelu_tanh[b, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 16, 8, b.len, &one,
      t.gelu_tanh, 16, t.add_grad_5, 8, &zero, t.dense2_w_grad, 16));
  LIFETIME_END({t.gelu_tanh, 192}, {t.add_grad_5, 96});

  AT("gelu_tanh", "loop.dnn:8");
  LAUNCH_LANES(k_gelu_tanh_dense_grad, 16, t.dense1_y_2_grad, t.dense1_b_grad, t.gelu_tanh_grad, t.dense1_y_2, 16, b.len, 0.7978846f);
  LIFETIME_END({t.dense1_y_2, 192}, {t.gelu_tanh_grad, 192});

  AT("dense1 dense", "loop.dnn:8");
  // layernorm1.y.grad[b, ci] = sum(co) (dense1.y.2.grad[b, co] * dense1.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, 8, b.len, 16, &one,
      t.dense1_w, 8, t.dense1_y_2_grad, 16, &zero, t.layernorm1_y_grad, 8));
  // dense1.w.grad[co, ci] = sum(b) (dense1.y.2.grad[b, co] * layernorm1.y[b, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, 8, 16, b.len, &one,
      t.layernorm1_y, 8, t.dense1_y_2_grad, 16, &zero, t.dense1_w_grad, 8));
  LIFETIME_END({t.layernorm1_y, 96}, {t.dense1_y_2_grad, 192});

  AT("layernorm1 layernorm", "loop.dnn:8");
  LAUNCH_LANES(k_layernorm_grad3, 8, t.layernorm1_gamma_grad, t.layernorm1_beta_grad, t.layernorm1_y_grad, t.x, t.layernorm1_mean, t.layernorm1_var, 8, b.len);
  LIFETIME_END({t.x, 96}, {t.layernorm1_mean, 12}, {t.layernorm1_var, 12}, {t.layernorm1_y_grad, 96});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);

  AT_COMM("all_reduce", "loop.dnn:8");
  // all_reduce gradients of dense17 to layernorm1, 26 layers
  CHECK_NCCL(ncclAllReduce(t.dense16_w_grad, t.dense16_w_grad, 2420, ncclFloat, ncclSum, over_data, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
}

// What is only reported: metrics and the gradients' norm.
static void report(void) {
}

// The optimizer.
static void update(void) {
  WAIT(parcc.compute, event[1]);

  AT("layernorm1 gradient_norm", "loop.dnn:15");
  LAUNCH_ROWS(k_gradient_norm, 1, t.layernorm1_beta_grad_square, t.layernorm1_beta_grad_whole, 8);
  LAUNCH_ROWS(k_gradient_norm2, 1, t.layernorm1_grad_square, t.layernorm1_gamma_grad_whole, t.layernorm1_beta_grad_square, 8);
  LIFETIME_END({t.layernorm1_beta_grad_square, 4});

  for (long i = 0; i <= 7; i++) update_block(&block[i]);

  AT("dense17 gradient_norm", "loop.dnn:15");
  LAUNCH_ROWS(k_gradient_norm, 1, t.dense17_b_grad_square, t.dense17_b_grad_whole, 4);
  LAUNCH_ROWS(k_gradient_norm_clip, 1, t.gradient_norm, t.gradient_scale, t.dense17_w_grad_whole, t.layernorm9_grad_square, t.dense17_b_grad_square, 32);
  LIFETIME_END({t.dense17_b_grad_square, 4}, {t.layernorm9_grad_square, 4});

  for (long i = 0; i <= 7; i++) update_block2(&block[i]);

  AT("layernorm9 clip", "loop.dnn:15");
  LAUNCH_FLAT(k_clip_adamw, 8, t.layernorm9_gamma_m, t.layernorm9_gamma_v, t.layernorm9_gamma_u, t.layernorm9_gamma_grad_whole, t.gradient_scale, 8, 0.1f, 0.001f, (float)parcc.lr, (float)parcc.step);
  LAUNCH_FLAT(k_clip_adamw, 8, t.layernorm9_beta_m, t.layernorm9_beta_v, t.layernorm9_beta_u, t.layernorm9_beta_grad_whole, t.gradient_scale, 8, 0.1f, 0.001f, (float)parcc.lr, (float)parcc.step);

  AT("dense17 clip", "loop.dnn:15");
  LAUNCH_FLAT(k_clip_adamw, 32, t.dense17_w_m, t.dense17_w_v, t.dense17_w_u, t.dense17_w_grad_whole, t.gradient_scale, 32, 0.1f, 0.001f, (float)parcc.lr, (float)parcc.step);
  LAUNCH_FLAT(k_clip_adamw, 4, t.dense17_b_m, t.dense17_b_v, t.dense17_b_u, t.dense17_b_grad_whole, t.gradient_scale, 4, 0.1f, 0.001f, (float)parcc.lr, (float)parcc.step);
  LIFETIME_END({t.gradient_scale, 4});
  LIFETIME_END({t.dense16_w_grad_whole, 9680});
}

// Losses and metrics of a batch of the test split.
static void evaluate(void) {
  AT("layernorm1 layernorm", "loop.dnn:8");
  LAUNCH_LANES(k_layernorm2, b.len, t.eval_layernorm1_y, t.eval_x, t.layernorm1_gamma, t.layernorm1_beta, b.len);

  for (long i = 0; i <= 6; i++) evaluate_block(&block[i]);

  AT("dense15 dense", "loop.dnn:8");
  // dense15.y[b, co] = sum(ci) (layernorm8.y[b, ci] * dense15.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 16, b.len, 8, &one,
      t.dense15_w, 8, t.eval_layernorm8_y, 8, &zero, t.eval_dense15_y, 16));
  LIFETIME_END({t.eval_layernorm8_y, 96});
  LAUNCH_MAP(k_dense_gelu_tanh2, b.len, 16, t.eval_gelu_tanh_8, t.eval_dense15_y, t.dense15_b, b.len, 16, 0.7978846f);
  LIFETIME_END({t.eval_dense15_y, 192});

  AT("dense16 dense", "loop.dnn:8");
  // dense16.y[b, co] = sum(ci) (gelu_tanh.8[b, ci] * dense16.w[co, ci])
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, 8, b.len, 16, &one,
      t.dense16_w, 16, t.eval_gelu_tanh_8, 16, &zero, t.eval_dense16_y, 8));
  LIFETIME_END({t.eval_gelu_tanh_8, 192});
  LAUNCH_LANES(k_dense_add_layernorm3, b.len, t.eval_layernorm9_y, t.eval_dense16_y, t.dense16_b, t.eval_add_7, t.layernorm9_gamma, t.layernorm9_beta, b.len);
  LIFETIME_END({t.eval_add_7, 96}, {t.eval_dense16_y, 96});

  AT("dense17 dense", "loop.dnn:10");
  LAUNCH_LANES(k_dense, 4 * b.len, t.eval_dense17_y_2, t.eval_layernorm9_y, t.dense17_w, t.dense17_b, b.len, 4);
  LIFETIME_END({t.eval_layernorm9_y, 96});

  AT("cross_entropy", "loop.dnn:10");
  LAUNCH_LANES(k_cross_entropy5, b.len, t.eval_cross_entropy_each, t.eval_dense17_y_2, t.eval_label, b.len);
  LIFETIME_END({t.eval_dense17_y_2, 48});
  LAUNCH_ROWS(k_cross_entropy2, 1, t.eval_cross_entropy_sum, t.eval_cross_entropy_each, b.len);
  LIFETIME_END({t.eval_cross_entropy_each, 12});
  LAUNCH_ROWS(k_cross_entropy3, 1, t.eval_cross_entropy_sum_2, t.eval_label, b.len);
  LIFETIME_END({t.eval_label, 12});
  WAIT_FOR(parcc.comm, parcc.compute, event[0]);
  AT_COMM("all_reduce", "loop.dnn:10");
  // all_reduce cross_entropy.sum, cross_entropy.sum.2
  CHECK_NCCL(ncclAllReduce(t.eval_cross_entropy_sum, t.eval_cross_entropy_sum, 2, ncclFloat, ncclSum, over_data, parcc.comm));
  WAIT_FOR(parcc.compute, parcc.comm, event[1]);
  AT("cross_entropy", "loop.dnn:10");
  LAUNCH_FLAT(k_cross_entropy4, 1, t.eval_cross_entropy, t.eval_cross_entropy_sum_whole, t.eval_cross_entropy_sum_2_whole);
  LIFETIME_END({t.eval_cross_entropy_sum_whole, 8});
}

// ---- the run ---------------------------------------------------------------------------------------------------------

static const ParccInput inputs[] = { // name, type, extents of the whole batch, range, files, scale, offset, windows, lines
    {"x", PARCC_FLOAT, 2, {6, 8}, 0, {NULL, NULL, NULL, 1.0, 0.0, NULL, NULL}},
    {"label", PARCC_INT, 1, {6}, 4, {NULL, NULL, NULL, 1.0, 0.0, NULL, NULL}},
};

static const char *const scalars[] = {"loss"};

static double learning_rate(double step, double steps) {
  (void)step;
  (void)steps;
  return 0.001;
}

static const ParccModel model = {
    .name = "loop",
    .source = "loop.dnn",
    .ranks = RANKS,
    .batch = 6,
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

static void place_block(char *arena) {
  static const struct {
    const char *in_layernorm, *in_dense, *in_dense2, *in_layernorm2;
    long stream, stream2, stream3, stream4;
    long place[63]; // in the order of Block, in units of 4 bytes
  } row[] = {
      {"layernorm1", "dense1", "dense2", "layernorm2", 0, 1, 2, 3, {0, 64, 128, 256, 320, 448, 4352, 4416, 4480, 4544, 4608, 4736, 4864, 4928, 4992, 5120, 5248, 5312, 16640,
       13056, 15488, 15552, 13056, 16704, 17984, 18048, 16768, 16576, 512, 576, -1, -1, 14848, -1, 15248, -1, 14976, -1, -1, -1, -1, -1, 15456, 15464, -1, -1, 15488, 15616, 15552,
       15488, 15448, 15552, 15488, 15440, 15616, 15432, 13120, 13056, 13120, 13056, 13248, 13120, 13184}}, // layernorm1, dense1, dense2
      {"layernorm2", "dense3", "dense4", "layernorm3", 4, 5, 6, 7, {512, 576, 640, 768, 832, 960, 5376, 5440, 5504, 5568, 5632, 5760, 5888, 5952, 6016, 6144, 6272, 6336, 16768,
       13056, 15616, 15680, 13056, 16832, 18112, 18176, 16896, 16704, 1024, 1088, 15872, 15744, 14592, 15680, 15232, 15616, 14720, 15680, 15808, 15936, 18048, 17984, 15432, 15440,
       15744, 15448, 15488, 15552, 15616, 15488, 15424, 15616, 15488, 15416, 15552, 15408, 13120, 13056, 13120, 13056, 13184, 13120, 13248}}, // layernorm2, dense3, dense4
      {"layernorm3", "dense5", "dense6", "layernorm4", 8, 9, 10, 11, {1024, 1088, 1152, 1280, 1344, 1472, 6400, 6464, 6528, 6592, 6656, 6784, 6912, 6976, 7040, 7168, 7296, 7360,
       16896, 13056, 15744, 15808, 13056, 16960, 18240, 18304, 17024, 16832, 1536, 1600, 16000, 15872, 14336, 15808, 15216, 15744, 14464, 15808, 15936, 16064, 18176, 18112, 15408,
       15416, 15872, 15424, 15488, 15616, 15552, 15488, 15400, 15552, 15488, 15392, 15616, 15384, 13120, 13056, 13120, 13056, 13248, 13120, 13184}}, // layernorm3, dense5, dense6
      {"layernorm4", "dense7", "dense8", "layernorm5", 12, 13, 14, 15, {1536, 1600, 1664, 1792, 1856, 1984, 7424, 7488, 7552, 7616, 7680, 7808, 7936, 8000, 8064, 8192, 8320, 8384,
       17024, 13056, 15872, 15936, 13056, 17088, 18368, 18432, 17152, 16960, 2048, 2112, 16128, 16000, 14080, 15936, 15200, 15872, 14208, 15936, 16064, 16192, 18304, 18240, 15384,
       15392, 16000, 15400, 15488, 15552, 15616, 15488, 15376, 15616, 15488, 15368, 15552, 15360, 13120, 13056, 13120, 13056, 13184, 13120, 13248}}, // layernorm4, dense7, dense8
      {"layernorm5", "dense9", "dense10", "layernorm6", 16, 17, 18, 19, {2048, 2112, 2176, 2304, 2368, 2496, 8448, 8512, 8576, 8640, 8704, 8832, 8960, 9024, 9088, 9216, 9344,
       9408, 17152, 13056, 16000, 16064, 13056, 17216, 18496, 18560, 17280, 17088, 2560, 2624, 16256, 16128, 13824, 16064, 15184, 16000, 13952, 16064, 16192, 16320, 18432, 18368,
       15360, 15368, 16128, 15376, 15488, 15616, 15552, 15488, 15352, 15552, 15488, 15344, 15616, 15336, 13120, 13056, 13120, 13056, 13248, 13120, 13184}}, // layernorm5, dense9, dense10
      {"layernorm6", "dense11", "dense12", "layernorm7", 20, 21, 22, 23, {2560, 2624, 2688, 2816, 2880, 3008, 9472, 9536, 9600, 9664, 9728, 9856, 9984, 10048, 10112, 10240, 10368,
       10432, 17280, 13056, 16128, 16192, 13056, 17344, 18624, 18688, 17408, 17216, 3072, 3136, 16384, 16256, 13568, 16192, 15168, 16128, 13696, 16192, 16320, 16448, 18560, 18496,
       15336, 15344, 16256, 15352, 15488, 15552, 15616, 15488, 15328, 15616, 15488, 15320, 15552, 15312, 13120, 13056, 13120, 13056, 13184, 13120, 13248}}, // layernorm6, dense11, dense12
      {"layernorm7", "dense13", "dense14", "layernorm8", 24, 25, 26, 27, {3072, 3136, 3200, 3328, 3392, 3520, 10496, 10560, 10624, 10688, 10752, 10880, 11008, 11072, 11136, 11264,
       11392, 11456, 17408, 13056, 16256, 16320, 13056, 17472, 18752, 18816, 17536, 17344, 3584, 3648, 16512, 16384, 13312, 16320, 15152, 16256, 13440, 16320, 16448, 17408, 18688,
       18624, 15312, 15320, 16384, 15328, 15488, 15616, 15552, 15488, 15304, 15552, 15488, 15296, 15616, 15288, 13120, 13056, 13120, 13056, 13248, 13120, 13184}}, // layernorm7, dense13, dense14
      {"layernorm8", "dense15", "dense16", "layernorm9", 28, 29, 30, 31, {3584, 3648, 3712, 3840, 3904, 4032, 11520, 11584, 11648, 11712, 11776, 11904, 12032, 12096, 12160, 12288,
       12416, 12480, 17536, 13056, 16384, 16448, 13056, 16512, 18880, 18944, 17600, 17472, 4096, 4160, 17600, 16512, 13056, 16448, 15136, 16384, 13184, 16448, 17536, 17664, 18816,
       18752, 15288, 15296, 16512, 15304, 15488, 15552, 15616, 15488, 15280, 15616, 15488, 15272, 15552, 15264, -1, -1, -1, -1, -1, -1, -1}}, // layernorm8, dense15, dense16
  };
  for (long i = 0; i < 8; i++) {
    Block *const layer = &block[i];
    layer->in_layernorm = row[i].in_layernorm;
    layer->in_dense = row[i].in_dense;
    layer->stream = row[i].stream;
    layer->stream2 = row[i].stream2;
    layer->in_dense2 = row[i].in_dense2;
    layer->stream3 = row[i].stream3;
    layer->stream4 = row[i].stream4;
    layer->in_layernorm2 = row[i].in_layernorm2;
    parcc_place_record(arena, 4, row[i].place, 63, &layer->layernorm_gamma);
  }
}

static void place_tensors(void) {
  char *const arena = parcc_arena(76544);
  static const long place[] = {0, 64, 128, 320, 3712, 3840, 3904, 4032, 4096, 4160, 4224, 4288, 12544, 12608, 12672, 12736, 12800, 12864, 12928, 12992, 16576, 17728, 17856, 17920,
      16640, 15488, 15552, 16512, 18880, 18944, 17600, 13056, 13120, 13184, 13248, 13056, 13057, 19072, 15456, 15464, 14976, 15248, 14848, 13056, 15280, 15264, 15272, 15104,
      15472, 15488, 15488, 15552, 15552, 15616, 15680, 12544, 12608, 4096, 12672, 12736, 4160, 12800, 12864, 4224, 12928, 12992, 4288, 13248, 13056, 19008, 17664, 17792, 17664,
      17728, 17792, 19008, 17600, 15744, 15616, 15552, 15488, 13056, 13057, 15472, 15104, 15264, 15272, 13056, 15456, 15464, 13184, 13312, 13120, 13248, 13120, 13056, 13120,
      13056, 13120, 13056, 13120, 13056, 13057, 13120, 13056, 13057};
  parcc_place_record(arena, 4, place, 106, &t); // in units of so many bytes
  place_block(arena);
}

// What --save writes and --load reads.
static void list_stored(void) {
  for (long i = 0; i <= 7; i++) list_stored_block(&block[i]);
  STORE("layernorm9.gamma", PARCC_PARAM, PARCC_FLOAT, t.layernorm9_gamma, WHOLE(8));
  STORE("layernorm9.beta", PARCC_PARAM, PARCC_FLOAT, t.layernorm9_beta, WHOLE(8));
  STORE("dense17.w", PARCC_PARAM, PARCC_FLOAT, t.dense17_w, WHOLE(4), WHOLE(8));
  STORE("dense17.b", PARCC_PARAM, PARCC_FLOAT, t.dense17_b, WHOLE(4));
  for (long i = 0; i <= 7; i++) list_stored_block2(&block[i]);
  STORE("layernorm9.gamma.moment1", PARCC_OPTIMIZER, PARCC_FLOAT, t.layernorm9_gamma_moment1, WHOLE(8));
  STORE("layernorm9.gamma.moment2", PARCC_OPTIMIZER, PARCC_FLOAT, t.layernorm9_gamma_moment2, WHOLE(8));
  STORE("layernorm9.beta.moment1", PARCC_OPTIMIZER, PARCC_FLOAT, t.layernorm9_beta_moment1, WHOLE(8));
  STORE("layernorm9.beta.moment2", PARCC_OPTIMIZER, PARCC_FLOAT, t.layernorm9_beta_moment2, WHOLE(8));
  STORE("dense17.w.moment1", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense17_w_moment1, WHOLE(4), WHOLE(8));
  STORE("dense17.w.moment2", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense17_w_moment2, WHOLE(4), WHOLE(8));
  STORE("dense17.b.moment1", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense17_b_moment1, WHOLE(4));
  STORE("dense17.b.moment2", PARCC_OPTIMIZER, PARCC_FLOAT, t.dense17_b_moment2, WHOLE(4));
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
    LOAD_BATCH(0, t.x, b, {0, 8});
    LOAD_BATCH(1, t.label, b);
    forward();
    backward();
    if (parcc_reports()) report();
    update();
    END_STEP(t.gradient_norm, t.cross_entropy);
  }

  for (long count; (count = parcc_next_eval()) > 0;) {
    b = parcc_block(count, 2, parcc.rank / 1 % DATA);
    LOAD_BATCH(0, t.eval_x, b, {0, 8});
    LOAD_BATCH(1, t.eval_label, b);
    evaluate();
    END_EVAL(count, t.eval_cross_entropy);
  }
  return parcc_finish();
}
