// The functions of the opaque operators of opaque.dnn, for processors and GPUs.
#include "parcc.h"

typedef PARCC_REAL real;

// y[n, r] = weight[r] * the r-th largest of row n + slope * n, with n counted over all ranks; place[n, r]: where it stood.
__global__ void sort_each(const real *x, const real *weight, real *y, int *place, real slope, long first, long rows, long columns) {
  FLAT(n, rows) {
    const real *from = x + n * columns;
    for (long c = 0; c < columns; c++) {
      long r = 0;
      for (long other = 0; other < columns; other++) r += from[other] > from[c] || (from[other] == from[c] && other < c);
      y[n * columns + r] = weight[r] * from[c] + slope * (real)(first + n);
      place[n * columns + r] = (int)c;
    }
  }
}

__global__ void sort_each_x(const int *place, const real *weight, const real *y_grad, real *x_grad, long rows, long columns) {
  FLAT(n, rows) {
    for (long r = 0; r < columns; r++) x_grad[n * columns + place[n * columns + r]] = weight[r] * y_grad[n * columns + r];
  }
}

__global__ void sort_each_weight(const real *x, const int *place, const real *y_grad, real *weight_grad, long rows, long columns) {
  FLAT(r, columns) {
    real sum = 0;
    for (long n = 0; n < rows; n++) sum += x[n * columns + place[n * columns + r]] * y_grad[n * columns + r];
    weight_grad[r] = sum;
  }
}

void sort_rows(cudaStream_t stream, const real *x, const long *x_extent, const real *weight, const long *weight_extent, real *y,
               const long *y_extent, int *place, const long *place_extent, const long *start, double slope) {
  (void)stream, (void)weight_extent, (void)y_extent, (void)place_extent;
  const long first = start != NULL ? start[0] : 0; // NULL: where the operator is declared with split()
  LAUNCH_FLAT(sort_each, x_extent[0], x, weight, y, place, (real)slope, first, x_extent[0], x_extent[1]);
}

void sort_rows_grad(cudaStream_t stream, const real *x, const long *x_extent, const real *weight, const long *weight_extent,
                    const real *y, const long *y_extent, const int *place, const long *place_extent, const real *y_grad,
                    real *x_grad, real *weight_grad, const long *start, double slope) {
  (void)stream, (void)weight_extent, (void)y, (void)y_extent, (void)place_extent, (void)start, (void)slope;
  const long rows = x_extent[0], columns = x_extent[1];
  if (x_grad != NULL) LAUNCH_FLAT(sort_each_x, rows, place, weight, y_grad, x_grad, rows, columns);
  if (weight_grad != NULL) LAUNCH_FLAT(sort_each_weight, columns, x, place, y_grad, weight_grad, rows, columns);
}

// d[n, m] = heat * sum(c) (a[n, c] - b[m, c])^2
__global__ void distances_each(const real *a, const real *b, const real *heat, real *d, long n_a, long n_b, long columns) {
  FLAT(n, n_a) {
    for (long m = 0; m < n_b; m++) {
      real sum = 0;
      for (long c = 0; c < columns; c++) sum += (a[n * columns + c] - b[m * columns + c]) * (a[n * columns + c] - b[m * columns + c]);
      d[n * n_b + m] = heat[0] * sum;
    }
  }
}

__global__ void distances_each_a(const real *a, const real *b, const real *heat, const real *d_grad, real *a_grad, long n_a,
                                 long n_b, long columns) {
  FLAT(n, n_a) {
    for (long c = 0; c < columns; c++) {
      real sum = 0;
      for (long m = 0; m < n_b; m++) sum += d_grad[n * n_b + m] * (a[n * columns + c] - b[m * columns + c]);
      a_grad[n * columns + c] = 2 * heat[0] * sum;
    }
  }
}

// Of the rows of a that this rank has: the program adds up the ranks.
__global__ void distances_each_b(const real *a, const real *b, const real *heat, const real *d_grad, real *b_grad, long n_a,
                                 long n_b, long columns) {
  FLAT(m, n_b) {
    for (long c = 0; c < columns; c++) {
      real sum = 0;
      for (long n = 0; n < n_a; n++) sum += d_grad[n * n_b + m] * (b[m * columns + c] - a[n * columns + c]);
      b_grad[m * columns + c] = 2 * heat[0] * sum;
    }
  }
}

__global__ void distances_each_heat(const real *d, const real *heat, const real *d_grad, real *heat_grad, long count) {
  FLAT(i, 1) {
    real sum = 0;
    for (long k = 0; k < count; k++) sum += d_grad[k] * d[k];
    heat_grad[i] = sum / heat[0];
  }
}

void distances(cudaStream_t stream, const real *a, const long *a_extent, const real *b, const long *b_extent, const real *heat,
               const long *heat_extent, real *d, const long *d_extent, const long *start) {
  (void)stream, (void)heat_extent, (void)d_extent, (void)start;
  LAUNCH_FLAT(distances_each, a_extent[0], a, b, heat, d, a_extent[0], b_extent[0], a_extent[1]);
}

void distances_grad(cudaStream_t stream, const real *a, const long *a_extent, const real *b, const long *b_extent,
                    const real *heat, const long *heat_extent, const real *d, const long *d_extent, const real *d_grad,
                    real *a_grad, real *b_grad, real *heat_grad, const long *start) {
  (void)stream, (void)heat_extent, (void)start;
  const long n_a = a_extent[0], n_b = b_extent[0], columns = a_extent[1];
  if (a_grad != NULL) LAUNCH_FLAT(distances_each_a, n_a, a, b, heat, d_grad, a_grad, n_a, n_b, columns);
  if (b_grad != NULL) LAUNCH_FLAT(distances_each_b, n_b, a, b, heat, d_grad, b_grad, n_a, n_b, columns);
  if (heat_grad != NULL) LAUNCH_FLAT(distances_each_heat, 1, d, heat, d_grad, heat_grad, d_extent[0] * d_extent[1]);
}
