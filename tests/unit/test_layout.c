#include "../../ir/layout.h"
#include "check.h"

// Blocks of every extent over every number of ranks: in order, nothing lost, nothing twice, sizes at most a unit apart.
static void blocks_tile_the_extent(void) {
  for (int64_t unit = 1; unit <= 3; unit++) {
    for (int64_t units = 0; units <= 20; units++) {
      for (int parts = 1; parts <= 9; parts++) {
        int64_t next = 0, largest = 0, smallest = INT64_MAX, before = INT64_MAX;
        for (int i = 0; i < parts; i++) {
          const Block b = block_of(units * unit, unit, parts, i);
          CHECK(b.lo == next && b.len % unit == 0 && b.len <= before);
          next = b.lo + b.len;
          before = b.len;
          largest = max_i64(largest, b.len);
          smallest = min_i64(smallest, b.len);
        }
        CHECK_INT(next, units * unit);
        CHECK(largest - smallest <= unit);
      }
    }
  }
}

static void meshes_count_ranks(void) {
  const Mesh mesh = {.n_axes = 3, .axis = {{"node", 2}, {"socket", 3}, {"gpu", 4}}};
  CHECK_INT(mesh_ranks(&mesh), 24);
  CHECK_INT(mesh_stride(&mesh, 0), 12);
  CHECK_INT(mesh_stride(&mesh, 1), 4);
  CHECK_INT(mesh_stride(&mesh, 2), 1);
  CHECK_INT(mesh_ranks(&(Mesh){0}), 1);
}

static void layouts_compare_what_counts(void) {
  Layout a = {0}, b = {0};
  CHECK(layout_equal(&a, &b, 2));
  a.axis[1] = (AxisLayout){.kind = LAYOUT_SHARD, .dim = 0, .unit = 1};
  CHECK(!layout_equal(&a, &b, 2));
  CHECK(layout_equal(&a, &b, 1));
  b.axis[1] = (AxisLayout){.kind = LAYOUT_SHARD, .dim = 1, .unit = 1};
  CHECK(!layout_equal(&a, &b, 2));
}

CHECKS(TEST(blocks_tile_the_extent), TEST(meshes_count_ranks), TEST(layouts_compare_what_counts))
