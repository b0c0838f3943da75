#include "../../ir/reshard.h"
#include "../../runtime/common/parcc.h"
#include "check.h"

// The runtime includes nothing of the compiler.
static void programs_have_room(void) {
  CHECK_INT(PARCC_MAX_AXES, MESH_MAX_AXES);
  CHECK_INT(PARCC_MAX_RANK, LAYOUT_MAX_RANK);
}

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

static const char *factors(Arena *arena, const Mesh *mesh, int most) {
  const Mesh factored = mesh_factors(arena, mesh, most);
  CHECK_INT(mesh_ranks(&factored), mesh_ranks(mesh));
  return mesh_text(arena, &factored);
}

static void axes_as_prime_factors(void) {
  Arena *arena = arena_new();
  CHECK_STR(factors(arena, &(Mesh){.n_axes = 1, .axis = {{"gpu", 12}}}, MESH_MAX_AXES - 1), "gpu1=3,gpu2=2,gpu3=2");
  CHECK_STR(factors(arena, &(Mesh){.n_axes = 2, .axis = {{"node", 4}, {"gpu", 7}}}, MESH_MAX_AXES - 1), "node1=2,node2=2,gpu=7");
  CHECK_STR(factors(arena, &(Mesh){.n_axes = 1, .axis = {{"gpu", 1}}}, MESH_MAX_AXES - 1), "gpu=1");
  CHECK_STR(factors(arena, &(Mesh){.n_axes = 2, .axis = {{"a1", 2}, {"a", 6}}}, MESH_MAX_AXES - 1), "a1=2,a1_=3,a2=2");
  // More than there may be: 2^11, and 2^5.
  CHECK_STR(factors(arena, &(Mesh){.n_axes = 2, .axis = {{"a", 8}, {"b", 256}}}, MESH_MAX_AXES - 1), "a1=2,a2=2,a3=2,b1=4,b2=4,b3=2,b4=2,b5=2,b6=2");
  CHECK_STR(factors(arena, &(Mesh){.n_axes = 2, .axis = {{"a", 4}, {"b", 8}}}, 3), "a1=2,a2=2,b=8");
  CHECK_STR(factors(arena, &(Mesh){.n_axes = 2, .axis = {{"a", 4}, {"b", 8}}}, 1), "a=4,b=8");
  arena_free(arena);
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
  const Mesh mesh = {.n_axes = 2, .axis = {{"a", 2}, {"b", 3}}}, first = {.n_axes = 1, .axis = {{"a", 2}}};
  Layout a = {0}, b = {0};
  CHECK(reshard_axes(&mesh, &a, &b) == 0);
  a.axis[1] = (AxisLayout){.kind = LAYOUT_SHARD, .dim = 0};
  CHECK(reshard_axes(&mesh, &a, &b) == 1u << 1);
  CHECK(reshard_axes(&first, &a, &b) == 0);
  b.axis[1] = (AxisLayout){.kind = LAYOUT_SHARD, .dim = 1};
  CHECK(reshard_axes(&mesh, &a, &b) == 1u << 1);
}

// What ranks hold of a plain cut tiles the dimension; a window's needs reach over it and stay inside of the extent.
static void cuts_tile_and_windows_reach(void) {
  const Mesh mesh = {.n_axes = 2, .axis = {{"a", 2}, {"b", 3}}};
  for (int64_t extent = 1; extent <= 14; extent++) {
    const Cut plain = cut_plain(extent, 1), window = {extent, 2, 1, 1, 1}; // p -> 2p - 1 .. 2p + 1 of 2 * extent
    int64_t next = 0;
    CHECK(cut_is_plain(&plain, extent) && !cut_is_plain(&window, 2 * extent));
    for (int rank = 0; rank < 6; rank++) {
      const Block b = cut_block(&mesh, rank, 3, &plain, extent), w = cut_block(&mesh, rank, 3, &window, 2 * extent);
      CHECK_INT(mesh_coordinate(&mesh, rank, 3), rank);
      if (b.len == 0) {
        CHECK_INT(w.len, 0);
        continue;
      }
      CHECK_INT(b.lo, next);
      next = b.lo + b.len;
      CHECK_INT(w.lo, max_i64(0, 2 * b.lo - 1));
      CHECK_INT(w.lo + w.len, min_i64(2 * extent, 2 * (b.lo + b.len - 1) + 2));
    }
    CHECK_INT(next, extent);
  }
}

CHECKS(TEST(programs_have_room), TEST(cuts_tile_and_windows_reach), TEST(blocks_tile_the_extent), TEST(axes_as_prime_factors), TEST(meshes_count_ranks), TEST(layouts_compare_what_counts))
