// The kernel that copies single rows, of programs in which rows of tables go from owners to those who look them up (rows.c).
#ifndef PARCC_ROWS_H
#define PARCC_ROWS_H

// Row to[k] of dst = row from[k] of src; NULL: row k.
#define PARCC_COPY_ROWS(type)                                                                                          \
  STATIC_KERNEL __attribute__((unused)) void parcc_copy_rows_##type(                                                      \
      type *__restrict__ dst, const type *__restrict__ src, const int *__restrict__ to, const int *__restrict__ from, long n, long width) { \
    GRID(k, n) {                                                                                                       \
      const long i = to == NULL ? k : to[k], j = from == NULL ? k : from[k];                                           \
      BLOCK(c, width) dst[i * width + c] = src[j * width + c];                                                         \
    }                                                                                                                  \
  }
PARCC_COPY_ROWS(float)
PARCC_COPY_ROWS(double)

#define PARCC_LAUNCH_COPY(type, dst, src, copies, width)                                                               \
  LAUNCH_MAP_ON(parcc.comm, parcc_copy_rows_##type, (copies).n, width, (type *)(dst), (const type *)(src), (copies).to, (copies).from, \
                (copies).n, width)

// Brings rows that lie as `from` says with their owners to where `to` says: see parcc_rows in parcc.h, which has the other arguments.
#define SERVE_ROWS(type, src, from, dst, to, index, dims, rows, axes, stage, samples, everybody)                       \
  do {                                                                                                                 \
    const ParccRows parcc_rows_ = parcc_rows(from, dst, to, index, dims, rows, axes, stage, sizeof(type), samples);    \
    PARCC_LAUNCH_COPY(type, parcc_rows_.sent, src, parcc_rows_.packed, parcc_rows_.width);                             \
    parcc_exchange_rows(&parcc_rows_, sizeof(type), everybody);                                                        \
    PARCC_LAUNCH_COPY(type, dst, src, parcc_rows_.kept, parcc_rows_.width);                                            \
    PARCC_LAUNCH_COPY(type, dst, parcc_rows_.received, parcc_rows_.unpacked, parcc_rows_.width);                       \
  } while (0)

#endif
