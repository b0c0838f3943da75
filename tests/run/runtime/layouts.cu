// Changes of layout on tensors drawn at random: up to four dimensions, blocks of different sizes and none, windows, parts of
// inner dimensions, pins, batches that are not full.
#include "test.h"

enum { AXES = RANKS == 4 || RANKS == 6 ? 2 : 1, FIRST = AXES == 2 ? 2 : RANKS, BATCH_AXIS = AXES, MOST = 7 * 7 * 7 * 7, TRIALS = 150 };

static double *src, *dst, *stage; // device memory
static double host[MOST];
static unsigned state = 1;
static long samples;

static int draw(int n) { // the same on all ranks
  state = state * 1664525u + 1013904223u;
  return (int)((state >> 16) % (unsigned)n);
}

static int size_of(int axis) { return axis == BATCH_AXIS ? 1 : axis == 0 ? FIRST : RANKS / FIRST; }
static int stride_of(int axis) { return axis == 0 && AXES == 2 ? RANKS / FIRST : 1; }
static int coordinate(int rank, int axis) { return rank / stride_of(axis) % size_of(axis); }

static int coordinates(int rank, unsigned axes) {
  int at = 0;
  for (int a = 0; a < AXES; a++)
    if (axes >> a & 1) at = at * size_of(a) + coordinate(rank, a);
  return at;
}

// A tensor of these extents, whole on every rank.
static ParccDivision whole_of(int rank, const long *extent) {
  ParccDivision d;
  memset(&d, 0, sizeof d);
  d.rank = rank;
  d.n_axes = AXES + 1;
  for (int i = 0; i < rank; i++) {
    d.cut[i].extent = extent[i];
    d.cut[i].scale = d.cut[i].div = 1;
  }
  for (int a = 0; a <= AXES; a++) {
    d.axis[a].stride = stride_of(a);
    d.axis[a].size = size_of(a);
    d.axis[a].place = -1;
  }
  return d;
}

static void cut(ParccDivision *d, int dim, int axis) {
  d->cut[dim].units = d->cut[dim].extent;
  d->cut[dim].axes |= 1u << axis;
  d->axis[axis].place = -2;
}

// What a rank holds of a dimension: written down here again, so that it is compared with something.
static Interval part(const ParccDivision *d, int dim, int rank) {
  const ParccCut *c = &d->cut[dim];
  Interval all = {0, c->extent};
  if (c->axes == 0) return all;
  const int batch = (int)(c->axes >> BATCH_AXIS & 1);
  Interval block = {0, batch ? samples : c->units};
  for (int a = 0; a < AXES; a++)
    if (c->axes >> a & 1) block = parcc_block_in(block, size_of(a), coordinate(rank, a));
  return parcc_window(block, c->scale, c->before, c->after, c->div, batch ? samples : c->extent);
}

static int holds(const ParccDivision *d, int rank) {
  for (int a = 0; a < AXES; a++)
    if (d->axis[a].place >= 0 && d->axis[a].place != coordinate(rank, a)) return 0;
  return 1;
}

static double value(const ParccDivision *d, const long *at) {
  double v = 0;
  for (int i = 0; i < d->rank; i++) v = v * 10 + (double)at[i] + 1;
  return v;
}

// Calls visit for every element of this rank's part: its number there, its value.
static long each_element(const ParccDivision *d, void (*visit)(long i, double v)) {
  Interval p[4];
  long n = 1, at[4];
  for (int i = 0; i < d->rank; i++) {
    p[i] = part(d, i, parcc.rank);
    n *= p[i].len;
  }
  for (long e = 0; e < n; e++) {
    long rest = e;
    for (int i = d->rank - 1; i >= 0; i--) {
      at[i] = p[i].lo + rest % p[i].len;
      rest /= p[i].len;
    }
    visit(e, value(d, at));
  }
  return n;
}

static double factor; // of this rank's values, or of the sum of those of all ranks that are summed
static void put(long i, double v) { host[i] = v * factor; }
static void compare(long i, double v) { EXPECT(host[i] == v * factor); }

static void fill(const ParccDivision *d, double f) {
  factor = f;
  const long n = holds(d, parcc.rank) ? each_element(d, put) : 0;
  CHECK_CUDA(cudaMemcpy(src, host, (size_t)n * sizeof(double), cudaMemcpyHostToDevice));
  for (long i = 0; i < MOST; i++) host[i] = -1;
  CHECK_CUDA(cudaMemcpy(dst, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaDeviceSynchronize());
}

static void expect(const ParccDivision *d, double f) {
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_CUDA(cudaMemcpy(host, dst, sizeof host, cudaMemcpyDeviceToHost));
  factor = f;
  long n = 0;
  if (holds(d, parcc.rank)) n = each_element(d, compare);
  for (long i = n; i < MOST; i++) EXPECT(host[i] == -1); // nothing was written behind
}

// ---- collectives along axes

static void check_collective(ncclComm_t over, unsigned axes, int rank, const long *extent) {
  ParccDivision whole = whole_of(rank, extent);
  const int dim = draw(rank), batch = draw(2);
  samples = batch ? 1 + draw((int)extent[0]) : extent[0];
  if (batch) cut(&whole, 0, BATCH_AXIS);
  for (int a = 0; a < AXES; a++) { // the other axes divide other dimensions, or nothing
    const int other = draw(rank);
    if (!(axes >> a & 1) && other != dim && draw(2)) cut(&whole, other, a);
  }
  ParccDivision parts = whole;
  for (int a = 0; a < AXES; a++)
    if (axes >> a & 1) cut(&parts, dim, a);
  fill(&parts, 1);
  parcc_all_gather(src, &parts, dst, &whole, stage, PARCC_DOUBLE, samples, axes, over);
  expect(&whole, 1);
  double sum = 0;
  for (int p = 0; p < RANKS; p++) {
    int along = 1;
    for (int a = 0; a < AXES; a++)
      if (!(axes >> a & 1) && coordinate(p, a) != coordinate(parcc.rank, a)) along = 0;
    if (along) sum += p + 1;
  }
  fill(&whole, parcc.rank + 1);
  parcc_reduce_scatter(src, &whole, dst, &parts, stage, PARCC_DOUBLE, ncclSum, samples, axes, over);
  expect(&parts, sum);
  fill(&whole, 1);
  parcc_slice(src, &whole, dst, &parts, PARCC_DOUBLE, samples);
  expect(&parts, 1);
}

// ---- messages

static ParccDivision draw_division(int rank, const long *extent, int windows) {
  ParccDivision d = whole_of(rank, extent);
  for (int a = 0; a < AXES; a++) {
    const int how = draw(rank + 2);
    if (how < rank) cut(&d, how, a);
    if (how == rank) d.axis[a].place = draw(size_of(a));
  }
  for (int i = 0; i < rank; i++)
    if (d.cut[i].axes != 0 && windows && draw(2)) { // neighbours too, or every second element
      d.cut[i].scale = 1 + draw(2);
      d.cut[i].units = (extent[i] + d.cut[i].scale - 1) / d.cut[i].scale;
      d.cut[i].before = draw(3);
      d.cut[i].after = draw(3);
    }
  return d;
}

static void check_exchange(ncclComm_t everybody, int rank, const long *extent) {
  ParccDivision from = draw_division(rank, extent, 0), to = draw_division(rank, extent, 1);
  samples = extent[0];
  if (draw(2)) {
    samples = 1 + draw((int)extent[0]);
    cut(&from, 0, BATCH_AXIS);
    to.cut[0] = from.cut[0];
    to.cut[0].axes = 1u << BATCH_AXIS;
    to.axis[BATCH_AXIS].place = -2;
    for (int a = 0; a < AXES; a++)
      if (to.axis[a].place == -2) {
        int others = 0;
        for (int i = 1; i < rank; i++) others += (int)(to.cut[i].axes >> a & 1);
        if (others == 0) to.axis[a].place = -1;
      }
  }
  fill(&from, 1);
  parcc_exchange(src, &from, dst, &to, stage, PARCC_DOUBLE, samples, everybody);
  expect(&to, 1);
}

int main(int argc, char **argv) {
  parcc_start(argc, argv, &test_model);
  char *arena = parcc_arena(4 * MOST * sizeof(double));
  src = (double *)arena;
  dst = src + MOST;
  stage = dst + MOST;
  ncclComm_t over[1 << AXES];
  for (unsigned axes = 1; axes < 1u << AXES; axes++)
    over[axes] = parcc_line(coordinates(parcc.rank, ~axes), coordinates(parcc.rank, axes));
  for (int trial = 0; trial < TRIALS; trial++) {
    long extent[4];
    const int rank = 1 + draw(4);
    for (int i = 0; i < rank; i++) extent[i] = 1 + draw(7);
    const unsigned axes = 1 + (unsigned)draw((1 << AXES) - 1);
    check_collective(over[axes], axes, rank, extent);
    check_exchange(over[(1 << AXES) - 1], rank, extent);
  }
  FINISH();
}
