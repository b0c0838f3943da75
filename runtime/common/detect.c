// What the devices are that a program was started on, and what is between them, as a machine file: all are busy at once, and of what is
// measured several times the least time of the slowest rank counts.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fail.h"
#include "run.h"
#include "version.h"

enum { FEW = 8, SMALL_PRODUCTS = 20000, SMALL_MESSAGES = 200 }; // repetitions
enum { FIRST_PRODUCT = 512, LAST_PRODUCT = 8192, FIRST_COPY = 1 << 26, LAST_COPY = 1 << 30, FIRST_MESSAGE = 1 << 23, LAST_MESSAGE = 1 << 28 };
static const double LONG = 0.02; // seconds of work that no start or end of it matters to

// What is measured, and where.
typedef struct {
  char *a, *b, *c;       // device memory
  size_t size;           // rows of a product, bytes of a copy or message
  int times;             // that a message is sent
  ncclComm_t over;       // the ring that messages go round; NULL: this rank sends none
  int place, ranks;      // of this rank there
} Work;

// ---- times ---------------------------------------------------------------------------------------------------------

static double least_seconds(void (*issue)(const Work *work), const Work *work) {
  double least = INFINITY;
  for (int i = -1; i < FEW; i++) { // the first does not count: memory is touched, connections are made
    world_most(0);                 // all begin together
    const double before = clock_seconds();
    issue(work);
    CHECK_CUDA(cudaStreamSynchronize(parcc.compute));
    const double seconds = world_most(clock_seconds() - before);
    if (i >= 0) least = fmin(least, seconds);
  }
  return least;
}

static char *allocate(size_t bytes) {
  void *at;
  CHECK_CUDA(cudaMalloc(&at, bytes));
  CHECK_CUDA(cudaMemsetAsync(at, 0, bytes, parcc.compute));
  return at;
}

static void release(const Work *work) {
  CHECK_CUDA(cudaFree(work->a));
  CHECK_CUDA(cudaFree(work->b));
  CHECK_CUDA(cudaFree(work->c));
}

// ---- devices -------------------------------------------------------------------------------------------------------

static void product_f32(const Work *w) {
  const float one = 1, zero = 0;
  const int n = (int)w->size;
  CHECK_CUBLAS(cublasSgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, (float *)w->a, n, (float *)w->b, n, &zero, (float *)w->c, n));
}

static void product_f64(const Work *w) {
  const double one = 1, zero = 0;
  const int n = (int)w->size;
  CHECK_CUBLAS(cublasDgemm(parcc.cublas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, (double *)w->a, n, (double *)w->b, n, &zero, (double *)w->c, n));
}

static void small_products(const Work *w) {
  for (int i = 0; i < SMALL_PRODUCTS; i++) product_f32(w);
}

static void copy(const Work *w) { CHECK_CUDA(cudaMemcpyAsync(w->b, w->a, w->size, cudaMemcpyDeviceToDevice, parcc.compute)); }

// Operations a second, of the size that has most.
static double product_rate(void (*issue)(const Work *work), size_t element) {
  double rate = 0, seconds = 0;
  for (size_t n = FIRST_PRODUCT; n <= LAST_PRODUCT && seconds < LONG; n *= 2) {
    const size_t bytes = n * n * element;
    const Work work = {.a = allocate(bytes), .b = allocate(bytes), .c = allocate(bytes), .size = n};
    seconds = least_seconds(issue, &work);
    rate = fmax(rate, 2.0 * (double)n * (double)n * (double)n / seconds);
    release(&work);
  }
  return rate;
}

// Bytes read and written.
static double copy_rate(void) {
  double rate = 0, seconds = 0;
  for (size_t bytes = FIRST_COPY; bytes <= LAST_COPY && seconds < LONG; bytes *= 2) {
    const Work work = {.a = allocate(bytes), .b = allocate(bytes), .size = bytes};
    seconds = least_seconds(copy, &work);
    rate = 2.0 * (double)bytes / seconds;
    release(&work);
  }
  return rate;
}

// Seconds that the smallest call takes.
static double small_seconds(void) {
  const Work work = {.a = allocate(sizeof(float)), .b = allocate(sizeof(float)), .c = allocate(sizeof(float)), .size = 1};
  const double seconds = least_seconds(small_products, &work);
  release(&work);
  return seconds / SMALL_PRODUCTS;
}

// ---- links ---------------------------------------------------------------------------------------------------------

static void messages(const Work *w) {
  for (int i = 0; i < w->times && w->over != NULL; i++) {
    CHECK_NCCL(ncclGroupStart());
    CHECK_NCCL(ncclSend(w->a, w->size, ncclInt8, (w->place + 1) % w->ranks, w->over, parcc.compute));
    CHECK_NCCL(ncclRecv(w->b, w->size, ncclInt8, (w->place + w->ranks - 1) % w->ranks, w->over, parcc.compute));
    CHECK_NCCL(ncclGroupEnd());
  }
}

typedef struct {
  double latency, bandwidth;
} Link;

static double ring_seconds(Work work) {
  work.a = allocate(work.size);
  work.b = allocate(work.size);
  const double seconds = least_seconds(messages, &work);
  release(&work);
  return seconds / work.times;
}

// Of a ring in which each rank sends to the next one, with those ranks that have a part in it.
static Link measure_ring(ncclComm_t over, int place, int ranks) {
  Work work = {.size = 1, .times = SMALL_MESSAGES, .over = over, .place = place, .ranks = ranks};
  Link link = {ring_seconds(work), 0};
  double seconds = 0;
  work.times = 1;
  for (work.size = FIRST_MESSAGE; work.size <= LAST_MESSAGE && seconds < LONG; work.size *= 2) {
    seconds = ring_seconds(work);
    link.bandwidth = fmax(link.bandwidth, (double)work.size / fmax(seconds - link.latency, 0.1 * seconds));
  }
  return link;
}

// What devices of one host are joined by: PCI Express has no atomic operations between them.
static const char *link_name(bool integrated) {
  int atomics = 0;
  if (integrated) return "memory";
  if (device_count() > 1) CHECK_CUDA(cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, 0, 1));
  return atomics ? "nvlink" : "pcie";
}

static void print_level(const char *name, int count, const char *unit, const char *joined_by, Link link, bool shared) {
  printf("  level %s = %d %s {\n    link = %s;\n", name, count, unit, joined_by);
  printf("    bandwidth = %.4g MB/s;  # each way, every %s to the next\n", link.bandwidth * 1e-6, shared ? unit : "device");
  printf("    latency = %.4g us;\n%s  }\n", link.latency * 1e6, shared ? "    shared;\n" : "");
}

// ---- hosts ---------------------------------------------------------------------------------------------------------

typedef struct {
  int host, place; // of this rank: the number of its host, and which of the ranks there it is
  int hosts, each; // so many ranks
} Hosts;

static Hosts find_hosts(void) {
  Hosts h = {.host = world_host(parcc.rank), .hosts = world_hosts(), .each = world_ranks_on(0)};
  for (int r = 0; r < parcc.rank; r++) h.place += world_host(r) == h.host;
  Fault fault = {0};
  for (int i = 1; i < h.hosts; i++)
    if (world_ranks_on(i) != h.each)
      fault_set(&fault, FAIL_MISUSE, "%d ranks on %s, but %d on %s: a machine has as many devices on every node", h.each, world_host_name(0),
                world_ranks_on(i), world_host_name(i));
  fail_agree(&fault);
  return h;
}

// A comment for each rank. Returns the least memory that one may use.
static double print_devices(const struct cudaDeviceProp *properties) {
  typedef struct {
    char name[80];
    double memory;
  } Report;
  Report mine = {"", device_memory()}, *all = calloc((size_t)parcc.ranks, sizeof *all);
  if (all == NULL) fail_alone(FAIL_RUN, "out of memory");
  snprintf(mine.name, sizeof mine.name, "%.79s", properties->name);
  world_all_gather(&mine, all, sizeof mine);
  double least = mine.memory;
  for (int r = 0; r < parcc.ranks; r++) {
    least = fmin(least, all[r].memory);
    if (parcc.rank == 0) printf("#   rank %d on %s: %s, %.0f MB\n", r, world_host_name(world_host(r)), all[r].name, all[r].memory * 1e-6);
  }
  free(all);
  return least;
}

// Of a level whose units are hosts: all devices at once, and one of each host, by which one sees whether those of a host share a link.
static Link measure_network(const Hosts *h, bool *shared) {
  const ncclComm_t over = parcc_line(h->place, h->host);
  Link all = measure_ring(over, h->host, h->hosts);
  if (h->each == 1) return all;
  const Link alone = measure_ring(h->place == 0 ? over : NULL, h->host, h->hosts);
  *shared = 1.5 * all.bandwidth < alone.bandwidth;
  return (Link){alone.latency, *shared ? all.bandwidth * h->each : all.bandwidth};
}

void parcc_detect(void) {
  AT("detect", NULL);
  const Hosts h = find_hosts();
  const struct cudaDeviceProp properties = device_properties();
  const char *const device = properties.integrated ? "core" : "gpu";
  if (parcc.rank == 0)
    printf("# %d host%s with %d device%s each, measured by parcc detect (%s) with all of them busy; the slowest counts\n", h.hosts, h.hosts > 1 ? "s" : "",
           h.each, h.each > 1 ? "s" : "", PARCC_VERSION);
  const double memory = print_devices(&properties);
  const double f32 = product_rate(product_f32, sizeof(float)), f64 = product_rate(product_f64, sizeof(double)), bandwidth = copy_rate(), least = small_seconds();
  bool shared = false;
  const Link inner = h.each > 1 ? measure_ring(parcc_line(h.host, h.place), h.place, h.each) : (Link){0, 0};
  const Link outer = h.hosts > 1 ? measure_network(&h, &shared) : (Link){0, 0};
  if (parcc.rank != 0) return;
  printf("machine detected {\n  device %s {\n", device);
  printf("    f32 = %.4g GFLOP/s;  # of products\n    f64 = %.4g GFLOP/s;\n", f32 * 1e-9, f64 * 1e-9);
  printf("    memory = %.0f MB;\n    bandwidth = %.4g MB/s;  # of copies, read and written\n", floor(memory * 1e-6), bandwidth * 1e-6);
  printf("    launch = %.4g us;  # the smallest product\n  }\n", least * 1e6);
  if (h.each > 1) print_level("node", h.each, device, link_name(properties.integrated), inner, false);
  if (h.hosts > 1) print_level("cluster", h.hosts, h.each > 1 ? "node" : device, "network", outer, shared);
  printf("}\n");
}
