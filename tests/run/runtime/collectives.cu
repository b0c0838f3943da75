// Every collective, type and operation, in place and not, on all ranks and along the axes of a mesh.
#include "test.h"

#include <stdint.h>
#include <sys/resource.h>

enum { MOST = 300001 };

// What rank r holds at i: small whole numbers, so that every order of a sum gives the same.
static double value_of(int rank, long i, ncclRedOp_t op) {
  if (op == ncclProd) return (double)((rank + i) % 3 + 1);
  return (double)((rank * 7 + i * 13) % 101) - 50;
}

static double expected(const int *ranks, int n, long i, ncclRedOp_t op) {
  double result = value_of(ranks[0], i, op);
  for (int r = 1; r < n; r++) {
    const double v = value_of(ranks[r], i, op);
    result = op == ncclSum ? result + v : op == ncclProd ? result * v : op == ncclMax ? fmax(result, v) : fmin(result, v);
  }
  return result;
}

static size_t size_of(ncclDataType_t type) { return type == ncclDouble || type == ncclInt64 ? 8 : 4; }

static void put(char *x, ncclDataType_t type, long i, double v) {
  if (type == ncclFloat) ((float *)x)[i] = (float)v;
  if (type == ncclDouble) ((double *)x)[i] = v;
  if (type == ncclInt32) ((int32_t *)x)[i] = (int32_t)v;
  if (type == ncclInt64) ((int64_t *)x)[i] = (int64_t)v;
}

static double get(const char *x, ncclDataType_t type, long i) {
  return type == ncclFloat    ? (double)((const float *)x)[i]
         : type == ncclDouble ? ((const double *)x)[i]
         : type == ncclInt32  ? (double)((const int32_t *)x)[i]
                              : (double)((const int64_t *)x)[i];
}

static char *send, *recv;

static void fill(char *x, ncclDataType_t type, long count, int rank, ncclRedOp_t op) {
  for (long i = 0; i < count; i++) put(x, type, i, value_of(rank, i, op));
}

// Ranks of the program that share a communicator, in its order; `me` is this one's place.
typedef struct {
  ncclComm_t comm;
  int ranks[RANKS], n, me;
} Axis;

static Axis make_axis(int stride, int size) {
  Axis axis;
  axis.comm = parcc_axis(stride, size);
  axis.n = size;
  axis.me = parcc.rank / stride % size;
  for (int r = 0; r < size; r++) axis.ranks[r] = parcc.rank + (r - axis.me) * stride;
  return axis;
}

static void check_reduce(Axis axis, ncclDataType_t type, ncclRedOp_t op, long count) {
  for (int in_place = 0; in_place < 2; in_place++) {
    char *to = in_place ? send : recv;
    fill(send, type, count, parcc.rank, op);
    CHECK_NCCL(ncclAllReduce(send, to, (size_t)count, type, op, axis.comm, parcc.comm));
    for (long i = 0; i < count; i++) EXPECT(get(to, type, i) == expected(axis.ranks, axis.n, i, op));

    const int root = axis.n - 1;
    fill(send, type, count, parcc.rank, op);
    CHECK_NCCL(ncclReduce(send, to, (size_t)count, type, op, root, axis.comm, parcc.comm));
    for (long i = 0; i < count && axis.me == root; i++)
      EXPECT(get(to, type, i) == expected(axis.ranks, axis.n, i, op));

    const long block = count / axis.n;
    to = in_place ? send + (size_t)(axis.me * block) * size_of(type) : recv;
    fill(send, type, count, parcc.rank, op);
    CHECK_NCCL(ncclReduceScatter(send, to, (size_t)block, type, op, axis.comm, parcc.comm));
    for (long i = 0; i < block; i++)
      EXPECT(get(to, type, i) == expected(axis.ranks, axis.n, axis.me * block + i, op));
  }
}

static void check_copy(Axis axis, ncclDataType_t type, long count) {
  for (int in_place = 0; in_place < 2; in_place++) {
    const int root = axis.n / 2;
    char *to = in_place ? send : recv;
    fill(send, type, count, parcc.rank, ncclSum);
    CHECK_NCCL(ncclBroadcast(send, to, (size_t)count, type, root, axis.comm, parcc.comm));
    for (long i = 0; i < count; i++) EXPECT(get(to, type, i) == value_of(axis.ranks[root], i, ncclSum));

    const long block = count / axis.n;
    char *from = in_place ? recv + (size_t)(axis.me * block) * size_of(type) : send;
    fill(from, type, block, parcc.rank, ncclSum);
    CHECK_NCCL(ncclAllGather(from, recv, (size_t)block, type, axis.comm, parcc.comm));
    for (long i = 0; i < block * axis.n; i++)
      EXPECT(get(recv, type, i) == value_of(axis.ranks[i / block], i % block, ncclSum));
  }
}

// A ring, and a message to itself.
static void check_send(Axis axis, long count) {
  const int next = (axis.me + 1) % axis.n, last = (axis.me + axis.n - 1) % axis.n;
  fill(send, ncclDouble, count, parcc.rank, ncclSum);
  CHECK_NCCL(ncclGroupStart());
  CHECK_NCCL(ncclGroupStart());
  CHECK_NCCL(ncclRecv(recv, (size_t)count, ncclDouble, last, axis.comm, parcc.comm));
  CHECK_NCCL(ncclSend(send, (size_t)count, ncclDouble, next, axis.comm, parcc.comm));
  CHECK_NCCL(ncclGroupEnd());
  CHECK_NCCL(ncclGroupEnd());
  for (long i = 0; i < count; i++) EXPECT(get(recv, ncclDouble, i) == value_of(axis.ranks[last], i, ncclSum));
  CHECK_NCCL(ncclGroupStart());
  CHECK_NCCL(ncclSend(send, (size_t)count, ncclDouble, axis.me, axis.comm, parcc.comm));
  CHECK_NCCL(ncclSend(send + 8, (size_t)count / 2, ncclDouble, axis.me, axis.comm, parcc.comm));
  CHECK_NCCL(ncclRecv(recv, (size_t)count, ncclDouble, axis.me, axis.comm, parcc.comm));
  CHECK_NCCL(ncclRecv(recv + 8 * (MOST / 2), (size_t)count / 2, ncclDouble, axis.me, axis.comm, parcc.comm));
  CHECK_NCCL(ncclGroupEnd());
  for (long i = 0; i < count / 2; i++)
    EXPECT(get(recv + 8 * (MOST / 2), ncclDouble, i) == value_of(parcc.rank, i + 1, ncclSum));
}

// Sums whose order matters: all ranks must have the same bits, and again the same when it is done again.
static void check_same_bits(Axis axis, long count) {
  float *x = (float *)send, *y = (float *)recv;
  for (int again = 0; again < 2; again++) {
    for (long i = 0; i < count; i++) x[i] = (float)parcc_normal(1, (unsigned)parcc.rank, 0, (unsigned long long)i);
    CHECK_NCCL(ncclAllReduce(x, x, (size_t)count, ncclFloat, ncclSum, axis.comm, parcc.comm));
    if (again == 0) memcpy(y, x, (size_t)count * sizeof *x);
    EXPECT(memcmp(x, y, (size_t)count * sizeof *x) == 0);
  }
  for (int least = 0; least < 2; least++) {
    CHECK_NCCL(ncclAllReduce(y, x, (size_t)count, ncclInt32, least ? ncclMin : ncclMax, axis.comm, parcc.comm));
    EXPECT(memcmp(x, y, (size_t)count * sizeof *x) == 0);
  }
}

static long fresh_pages(void) {
  struct rusage usage;
  EXPECT(getrusage(RUSAGE_SELF, &usage) == 0);
  return usage.ru_minflt;
}

// What a collective works on is memory that the ones before it have used: a block has 290 pages, and clearing one takes longer than
// sending it.
static void check_memory(Axis axis) {
  enum { TIMES = 8, PAGES = 200 };
  const size_t block = (size_t)MOST / (size_t)axis.n;
  long before = 0;
  memset(send, 0, 8 * MOST);
  for (int i = 0; i < 2 * TIMES; i++) {
    if (i == TIMES) before = fresh_pages();
    CHECK_NCCL(ncclReduceScatter(send, recv, block, ncclDouble, ncclSum, axis.comm, parcc.comm));
    CHECK_NCCL(ncclAllReduce(send, recv, MOST, ncclDouble, ncclSum, axis.comm, parcc.comm));
    CHECK_CUDA(cudaStreamSynchronize(parcc.comm));
  }
  EXPECT(fresh_pages() - before < PAGES);
}

static void check_axis(Axis axis) {
  static const ncclDataType_t types[] = {ncclFloat, ncclDouble, ncclInt32, ncclInt64};
  static const ncclRedOp_t ops[] = {ncclSum, ncclProd, ncclMax, ncclMin};
  static const long counts[] = {0, 1, 7, 4099, MOST};
  for (int c = 0; c < 5; c++) {
    for (int t = 0; t < 4; t++) {
      for (int o = 0; o < 4; o++) check_reduce(axis, types[t], ops[o], counts[c]);
      check_copy(axis, types[t], counts[c]);
    }
    check_send(axis, counts[c] / 2);
    check_same_bits(axis, counts[c]);
  }
  ncclResult_t error = ncclInternalError;
  CHECK_NCCL(ncclCommGetAsyncError(axis.comm, &error));
  EXPECT(error == ncclSuccess);
  EXPECT(ncclReduce(send, recv, 1, ncclFloat, ncclSum, axis.n, axis.comm, parcc.comm) == ncclInvalidArgument);
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &test_model);
  char *arena = parcc_arena(2 * 8 * MOST);
  send = arena;
  recv = arena + 8 * MOST;
  check_axis(make_axis(1, RANKS));
  if (getenv("PARCC_SANITIZED") == NULL) check_memory(make_axis(1, RANKS)); // sanitizers have a malloc of their own
  if (RANKS % 2 == 0 && RANKS > 2) {
    check_axis(make_axis(1, RANKS / 2));
    check_axis(make_axis(RANKS / 2, 2));
  }
  FINISH();
}
