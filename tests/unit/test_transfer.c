// What it takes to move a tensor from blocks to blocks: against counting the elements that every device lacks.
#include "../../passes/search/transfer.h"
#include "check.h"

#include <math.h>

enum { RANK = 2, EXTENT = 16, ELEMENTS = EXTENT * EXTENT };

static uint64_t state;
static int below(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)n);
}

static const Tensor tensor = {.rank = RANK, .extent = {EXTENT, EXTENT}};

static Cut windows(int reach) {
  Cut cut = cut_plain(EXTENT, 1);
  cut.before = cut.after = reach;
  return cut;
}

// Every axis is unused, divides a dimension, or divides something else.
static Region random_region(const Mesh *mesh, int window) {
  Region region = {.used = 0};
  for (int a = 0; a < mesh->n_axes; a++) {
    const int choice = below(RANK + 2);
    if (choice <= RANK) region.used |= 1u << a;
    if (choice < RANK) region.dim[choice].axes |= 1u << a, region.dim[choice].cut = windows(window);
  }
  return region;
}

static bool takes_part(const Mesh *mesh, const Region *r, int device) {
  for (int a = 0; a < mesh->n_axes; a++)
    if (!(r->used >> a & 1) && mesh_coordinate(mesh, device, 1u << a) != 0) return false;
  return true;
}

static bool holds(const Mesh *mesh, const Region *r, int device, const int *at) {
  for (int d = 0; d < RANK; d++) {
    const Block block = cut_block(mesh, device, r->dim[d].axes, &r->dim[d].cut, EXTENT);
    if (r->dim[d].axes != 0 && (at[d] < block.lo || at[d] >= block.lo + block.len)) return false;
  }
  return takes_part(mesh, r, device);
}

// Elements that a device needs and no device of its unit has.
static int missing(const Mesh *mesh, const Region *made, const Region *needed, int device, int unit) {
  int count = 0;
  for (int i = 0; i < ELEMENTS; i++) {
    const int at[RANK] = {i / EXTENT, i % EXTENT}, first = device / unit * unit;
    bool has = false;
    for (int other = first; other < first + unit; other++) has |= holds(mesh, made, other, at);
    count += holds(mesh, needed, device, at) && !has;
  }
  return count;
}

static int most_missing(const Mesh *mesh, const Region *made, const Region *needed, int unit) {
  int most = 0;
  for (int device = 0; device < mesh_ranks(mesh); device++) {
    const int count = missing(mesh, made, needed, device, unit);
    most = count > most ? count : most;
  }
  return most;
}

static double sharing(const Mesh *mesh, const Region *made, const Region *needed) {
  return fmax(1, (double)mesh_parts(mesh, needed->used) / mesh_parts(mesh, made->used));
}

static double seconds(const Machine *machine, const Mesh *mesh, const Region *made, const Region *needed) {
  Arena *arena = arena_new();
  const CostModel model = cost_model(arena, machine, mesh, false);
  double found;
  transfer_seconds(arena, &model, &tensor, 1, made, 1, needed, &found);
  arena_free(arena);
  return found;
}

// Every device has links of its own, and those of the inner level are so slow that they decide, or those of the outer one.
static void check_level(int decides, int window) {
  const Mesh mesh = {.n_axes = 4, .axis = {{"node1", 2}, {"node2", 2}, {"gpu1", 2}, {"gpu2", 2}}};
  const Machine machine = {.device = {.f32 = 1, .f64 = 1, .bandwidth = 1, .memory = 1}, .n_levels = 2,
                           .level = {{.count = 4, .bandwidth = decides == 0 ? 1 : 1e9}, {.count = 4, .bandwidth = decides == 1 ? 1 : 1e9}}};
  for (int i = 0; i < 150; i++) {
    const Region made = random_region(&mesh, 0), needed = random_region(&mesh, window);
    const double bytes = 4 * sharing(&mesh, &made, &needed) * most_missing(&mesh, &made, &needed, decides == 0 ? 1 : 4);
    const double found = seconds(&machine, &mesh, &made, &needed);
    if (bytes == 0) CHECK(found <= 4e-9 * ELEMENTS * 16);
    else if (window == 0) CHECK_NEAR(found / bytes, 1, 1e-12);
    else CHECK(found >= bytes * (1 - 1e-12) && found <= 2 * bytes); // both ends of a window count, though a unit may have one
  }
}

static void test_blocks(void) {
  state = 3;
  check_level(0, 0);
  check_level(1, 0);
}

static void test_windows(void) {
  state = 5;
  check_level(0, 1);
  check_level(1, 1);
}

// Half of what each device needs of its window lies with its neighbours.
static void test_halo(void) {
  const Mesh mesh = {.n_axes = 1, .axis = {{"gpu", 4}}};
  const Machine machine = {.device = {.f32 = 1, .f64 = 1, .bandwidth = 1, .memory = 1}, .n_levels = 1, .level = {{.count = 4, .bandwidth = 1}}};
  const Region made = {1, {[1] = {1, windows(0)}}}, needed = {1, {[1] = {1, windows(1)}}};
  CHECK_NEAR(seconds(&machine, &mesh, &made, &needed), 4 * 2 * EXTENT, 1e-12);
  CHECK_NEAR(seconds(&machine, &mesh, &made, &made), 0, 1e-12);
}

// A node has one link: what its devices need goes over it one after the other.
static void test_shared_link(void) {
  const Mesh mesh = {.n_axes = 2, .axis = {{"node", 2}, {"gpu", 2}}};
  const Machine machine = {.device = {.f32 = 1, .f64 = 1, .bandwidth = 1, .memory = 1}, .n_levels = 2,
                           .level = {{.count = 2, .bandwidth = 1e9}, {.count = 2, .bandwidth = 1, .shared = true}}};
  const Region made = {3, {[0] = {1, windows(0)}}}, needed = {.used = 3};
  CHECK_NEAR(seconds(&machine, &mesh, &made, &needed), 4 * 2 * ELEMENTS / 2, 1e-9);
}

CHECKS(TEST(test_blocks), TEST(test_windows), TEST(test_halo), TEST(test_shared_link))
