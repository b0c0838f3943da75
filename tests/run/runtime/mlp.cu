// mlp: 784-64-10 on Fashion-MNIST in the style of an emitted program, data parallel. -DREAL64 computes in double,
// -DRANKS=N is the number of ranks, -DBATCH=N the batch.

#include "parcc.h"

#ifndef RANKS
#define RANKS 4
#endif
#ifndef BATCH
#define BATCH 100
#endif
enum { DATA = RANKS, PIXELS = 784, HIDDEN = 64, CLASSES = 10 };

#ifdef REAL64
typedef double real;
#define REAL PARCC_DOUBLE
#define NCCL_REAL ncclDouble
#define GEMM cublasDgemm
#define EXP exp
#define LOG log
#define MAX fmax
#define SQRT sqrt
#define NORMAL parcc_normal
#else
typedef float real;
#define REAL PARCC_FLOAT
#define NCCL_REAL ncclFloat
#define GEMM cublasSgemm
#define EXP expf
#define LOG logf
#define MAX fmaxf
#define SQRT sqrtf
#define NORMAL parcc_normalf
#endif

static const real one = 1, zero = 0;

// tensors: pointers into one arena
static struct {
  real *image;
  int *label;
  real *w1, *b1, *w2, *b2;                 // parameters, neighbours
  real *w1_grad, *b1_grad, *w2_grad, *b2_grad; // neighbours, too
  real *w1_momentum;
  real *h, *h_grad, *y, *y_grad;
  real *row_loss, *row_right, *loss, *accuracy, *gradient_norm;
} t;

enum { W1 = HIDDEN * PIXELS, W2 = CLASSES * HIDDEN, PARAMETERS = W1 + HIDDEN + W2 + CLASSES };

static Interval n;
static ncclComm_t over_data;
static cudaEvent_t event[2];

// ---- kernels

__global__ void k_init(real *__restrict__ w, long count, unsigned stream, real scale, unsigned long long seed) {
  FLAT(i, count) w[i] = scale * NORMAL(seed, stream, 0, (unsigned long long)i);
}

__global__ void k_fill(real *__restrict__ y, long count, real value) { FLAT(i, count) y[i] = value; }

__global__ void k_bias_relu(real *__restrict__ y, const real *__restrict__ b, long rows, long cols) {
  GRID(r, rows) BLOCK(c, cols) y[r * cols + c] = MAX(y[r * cols + c] + b[c], (real)0);
}

__global__ void k_relu_grad(real *__restrict__ dy, const real *__restrict__ y, long rows, long cols) {
  GRID(r, rows) BLOCK(c, cols) dy[r * cols + c] = y[r * cols + c] > 0 ? dy[r * cols + c] : 0;
}

// softmax, cross entropy, its gradient, and whether the largest logit is the label's
__global__ void k_loss(real *__restrict__ loss, real *__restrict__ right, real *__restrict__ dy,
                       const real *__restrict__ y, const real *__restrict__ b, const int *__restrict__ label, long rows,
                       long cols, real weight) {
  GRID(r, rows) {
    real top = -INFINITY;
    BLOCK_MAX_OF(top, c, cols, y[r * cols + c] + b[c]);
    top = BLOCK_MAX(top);
    real sum = 0;
    BLOCK(c, cols) sum += EXP(y[r * cols + c] + b[c] - top);
    sum = BLOCK_SUM(sum);
    real best = -INFINITY;
    long at = 0;
    BLOCK(c, cols) {
      if (y[r * cols + c] + b[c] > best) {
        best = y[r * cols + c] + b[c];
        at = c;
      }
    }
    BLOCK_ARGMAX(best, at);
    BLOCK(c, cols)
      dy[r * cols + c] = weight * (EXP(y[r * cols + c] + b[c] - top) / sum - (c == label[r] ? (real)1 : (real)0));
    BLOCK(c, cols) if (c == label[r]) {
      loss[r] = weight * (LOG(sum) - (y[r * cols + c] + b[c] - top));
      right[r] = at == label[r] ? weight : 0;
    }
    BLOCK_SYNC();
  }
}

__global__ void k_sum(real *__restrict__ s, const real *__restrict__ x, long count) {
  GRID(r, 1) {
    real sum = 0;
    BLOCK(i, count) sum += x[i];
    sum = BLOCK_SUM(sum);
    s[r] = sum;
  }
}

__global__ void k_norm(real *__restrict__ s, const real *__restrict__ x, long count) {
  GRID(r, 1) {
    real sum = 0;
    BLOCK(i, count) sum += x[i] * x[i];
    sum = BLOCK_SUM(sum);
    s[r] = SQRT(sum);
  }
}

__global__ void k_bias_grad(real *__restrict__ db, const real *__restrict__ dy, long cols, long rows) {
  GRID_LANES(c0, lanes, cols) {
    real acc[LANES];
    LANE(l, lanes) acc[l] = 0;
    for (long r = 0; r < rows; r++) LANE(l, lanes) acc[l] += dy[r * cols + c0 + l];
    LANE(l, lanes) db[c0 + l] = acc[l];
  }
}

__global__ void k_momentum(real *__restrict__ w, real *__restrict__ v, const real *__restrict__ g, long count, real lr) {
  FLAT(i, count) {
    v[i] = (real)0.9 * v[i] + g[i];
    w[i] -= lr * v[i];
  }
}

__global__ void k_sgd(real *__restrict__ w, const real *__restrict__ g, long count, real lr) {
  FLAT(i, count) w[i] -= lr * g[i];
}

// ---- one step

static void forward(real weight) {
  AT("dense1", "mlp.dnn:5");
  CHECK_CUBLAS(GEMM(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, HIDDEN, n.len, PIXELS, &one, t.w1, PIXELS, t.image, PIXELS,
                    &zero, t.h, HIDDEN));
  LAUNCH_ROWS(k_bias_relu, n.len, t.h, t.b1, n.len, HIDDEN);
  AT("dense2", "mlp.dnn:6");
  CHECK_CUBLAS(GEMM(parcc.cublas, CUBLAS_OP_T, CUBLAS_OP_N, CLASSES, n.len, HIDDEN, &one, t.w2, HIDDEN, t.h, HIDDEN,
                    &zero, t.y, CLASSES));
  AT("loss", "mlp.dnn:8");
  LAUNCH_ROWS(k_loss, n.len, t.row_loss, t.row_right, t.y_grad, t.y, t.b2, t.label, n.len, CLASSES, weight);
  LAUNCH_ROWS(k_sum, 1, t.loss, t.row_loss, n.len);
  LAUNCH_ROWS(k_sum, 1, t.accuracy, t.row_right, n.len);
  CHECK_CUDA(cudaEventRecord(event[0], parcc.compute));
  CHECK_CUDA(cudaStreamWaitEvent(parcc.comm, event[0], 0));
  CHECK_NCCL(ncclAllReduce(t.loss, t.loss, 1, NCCL_REAL, ncclSum, over_data, parcc.comm));
  CHECK_NCCL(ncclAllReduce(t.accuracy, t.accuracy, 1, NCCL_REAL, ncclSum, over_data, parcc.comm));
}

static void backward(void) {
  AT("dense2 gradient", "mlp.dnn:6");
  CHECK_CUBLAS(GEMM(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, HIDDEN, CLASSES, n.len, &one, t.h, HIDDEN, t.y_grad, CLASSES,
                    &zero, t.w2_grad, HIDDEN));
  LAUNCH_LANES(k_bias_grad, CLASSES, t.b2_grad, t.y_grad, CLASSES, n.len);
  CHECK_CUBLAS(GEMM(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, HIDDEN, n.len, CLASSES, &one, t.w2, HIDDEN, t.y_grad,
                    CLASSES, &zero, t.h_grad, HIDDEN));
  LAUNCH_ROWS(k_relu_grad, n.len, t.h_grad, t.h, n.len, HIDDEN);
  AT("dense1 gradient", "mlp.dnn:5");
  CHECK_CUBLAS(GEMM(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_T, PIXELS, HIDDEN, n.len, &one, t.image, PIXELS, t.h_grad,
                    HIDDEN, &zero, t.w1_grad, PIXELS));
  LAUNCH_LANES(k_bias_grad, HIDDEN, t.b1_grad, t.h_grad, HIDDEN, n.len);
  CHECK_CUDA(cudaEventRecord(event[0], parcc.compute));
  CHECK_CUDA(cudaStreamWaitEvent(parcc.comm, event[0], 0));
  CHECK_NCCL(ncclAllReduce(t.w1_grad, t.w1_grad, PARAMETERS, NCCL_REAL, ncclSum, over_data, parcc.comm));
  CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
  CHECK_CUDA(cudaStreamWaitEvent(parcc.compute, event[1], 0));
}

static void update(void) {
  AT("update", "mlp.dnn:10");
  LAUNCH_FLAT(k_momentum, W1, t.w1, t.w1_momentum, t.w1_grad, W1, (real)parcc.lr);
  LAUNCH_FLAT(k_sgd, PARAMETERS - W1, t.b1, t.b1_grad, PARAMETERS - W1, (real)parcc.lr);
}

// ---- set-up

static const ParccInput inputs[] = {
    {"image",
     REAL,
     4,
     {BATCH, 1, 28, 28},
     0,
     {"idx", "train-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte.gz", 1. / 255, 0., NULL, NULL}},
    {"label", PARCC_INT, 1, {BATCH}, CLASSES, {"idx", "train-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte.gz", 1., 0., NULL, NULL}},
};

// -DEXPLODE=S: from step S on, the rate is such that the loss overflows.
static double learning_rate(double step, double steps) {
#ifdef EXPLODE
  if (step >= EXPLODE) return 1e300;
#endif
  return 0.1 * (1 - step / (steps + 1));
}

static const char *const scalars[] = {"loss", "accuracy"};

static const ParccModel model = {.name = "mlp",
                                 .source = "mlp.dnn",
                                 .ranks = RANKS,
                                 .batch = BATCH,
                                 .real = REAL,
                                 .inputs = inputs,
                                 .n_inputs = 2,
                                 .scalars = scalars,
                                 .n_scalars = 2,
                                 .steps = 0,
                                 .epochs = 1,
                                 .learning_rate = learning_rate,
                                 .whole_batches = NULL,
                                 .sampled = -1,
                                 .measures = false};

static real *place(char *arena, long *at, long count) {
  real *tensor = (real *)(arena + *at);
  *at += (count * (long)sizeof(real) + 255) / 256 * 256;
  return tensor;
}

static void init(void) {
  LAUNCH_FLAT(k_init, W1, t.w1, W1, 0, (real)0.0505, parcc.seed);
  LAUNCH_FLAT(k_fill, HIDDEN, t.b1, HIDDEN, 0);
  LAUNCH_FLAT(k_init, W2, t.w2, W2, 1, (real)0.177, parcc.seed);
  LAUNCH_FLAT(k_fill, CLASSES, t.b2, CLASSES, 0);
  LAUNCH_FLAT(k_fill, W1, t.w1_momentum, W1, 0);
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &model);
  over_data = parcc_axis(1, DATA);
  parcc_events(event, 2);

  char *arena = parcc_arena(16000000);
  long at = 0;
  t.image = place(arena, &at, BATCH * PIXELS);
  t.label = (int *)place(arena, &at, BATCH);
  t.w1 = place(arena, &at, PARAMETERS);
  t.b1 = t.w1 + W1;
  t.w2 = t.b1 + HIDDEN;
  t.b2 = t.w2 + W2;
  t.w1_grad = place(arena, &at, PARAMETERS);
  t.b1_grad = t.w1_grad + W1;
  t.w2_grad = t.b1_grad + HIDDEN;
  t.b2_grad = t.w2_grad + W2;
  t.w1_momentum = place(arena, &at, W1);
  t.h = place(arena, &at, BATCH * HIDDEN);
  t.h_grad = place(arena, &at, BATCH * HIDDEN);
  t.y = place(arena, &at, BATCH * CLASSES);
  t.y_grad = place(arena, &at, BATCH * CLASSES);
  t.row_loss = place(arena, &at, BATCH);
  t.row_right = place(arena, &at, BATCH);
  t.loss = place(arena, &at, 1);
  t.accuracy = place(arena, &at, 1);
  t.gradient_norm = place(arena, &at, 1);
  n = parcc_block(BATCH, DATA, parcc.rank / 1 % DATA);

  const ParccTensor stored[] = {
      {"dense1.w", REAL, 2, {HIDDEN, PIXELS}, {{0, HIDDEN}, {0, PIXELS}}, t.w1, PARCC_PARAM},
      {"dense1.b", REAL, 1, {HIDDEN}, {{0, HIDDEN}}, t.b1, PARCC_PARAM},
      {"dense2.w", REAL, 2, {CLASSES, HIDDEN}, {{0, CLASSES}, {0, HIDDEN}}, t.w2, PARCC_PARAM},
      {"dense2.b", REAL, 1, {CLASSES}, {{0, CLASSES}}, t.b2, PARCC_PARAM},
      {"dense1.w.momentum", REAL, 2, {HIDDEN, PIXELS}, {{0, HIDDEN}, {0, PIXELS}}, t.w1_momentum, PARCC_OPTIMIZER},
  };
  parcc_stored(stored, 5);
  init();
  parcc_load();

  while (parcc_next_step()) {
    LOAD_BATCH(0, t.image, n, {0, 1}, {0, 28}, {0, 28});
    LOAD_BATCH(1, t.label, n);
    forward((real)(1. / BATCH));
    backward();
    if (parcc_reports()) LAUNCH_ROWS(k_norm, 1, t.gradient_norm, t.w1_grad, PARAMETERS);
    update();
    END_STEP(t.gradient_norm, t.loss, t.accuracy);
  }
  for (long count; (count = parcc_next_eval()) > 0;) {
    n = parcc_block(count, DATA, parcc.rank / 1 % DATA);
    LOAD_BATCH(0, t.image, n, {0, 1}, {0, 28}, {0, 28});
    LOAD_BATCH(1, t.label, n);
    forward((real)(1. / count));
    CHECK_CUDA(cudaEventRecord(event[1], parcc.comm));
    CHECK_CUDA(cudaStreamWaitEvent(parcc.compute, event[1], 0));
    END_EVAL(count, t.loss, t.accuracy);
  }
  return parcc_finish();
}
