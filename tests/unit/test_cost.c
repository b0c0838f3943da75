// The formulas of costs against closed forms worked out by hand.
#include "../../passes/demands.h"
#include "../../passes/route.h"

#include <math.h>

#include "../../ir/graph.h"
#include "../../ir/profile.h"
#include "check.h"

// Four devices a node on links of their own, nodes with one port each: numbers that one can calculate with.
static const Machine two_levels = {
    .name = "m",
    .device = {.name = "d", .f32 = 1e12, .f64 = 5e11, .bandwidth = 1e11, .memory = 1e10, .launch = 1e-6},
    .n_levels = 2,
    .level = {{"node", "bus", 4, 1e10, 1e-6, false}, {"cluster", "net", 4, 1e9, 1e-5, true}}};
static const double LAUNCH = 1e-6;

static Mesh mesh_of(int a, int b) { return (Mesh){.n_axes = 3, .axis = {{"a", a}, {"b", b}, {"batch", 1}}}; }

static Layout along(uint32_t axes, AxisLayout how, const Shape *shape) {
  Layout layout = layout_replicated;
  for (int a = 0; a < 2; a++)
    if (axes >> a & 1) layout.axis[a] = how;
  if (how.kind == LAYOUT_SHARD) layout.cut[how.dim] = cut_plain(shape->extent[how.dim], 1);
  return layout;
}

static const AxisLayout whole = {.kind = LAYOUT_REPLICATED}, rows = {.kind = LAYOUT_SHARD, .dim = 0},
                        columns = {.kind = LAYOUT_SHARD, .dim = 1};
static const AxisLayout sum = {.kind = LAYOUT_PARTIAL, .reduce = REDUCE_SUM},
                        pinned = {.kind = LAYOUT_PINNED, .pin = 1};

static double cost(const Mesh *mesh, const Shape *shape, uint32_t axes, AxisLayout from, AxisLayout to,
                   ReshardKind kind) {
  Arena *arena = arena_new();
  const CostModel model = cost_model(arena, &two_levels, mesh, false), slow = {.machine = &two_levels, .mesh = mesh};
  const Layout x = along(axes, from, shape), y = along(axes, to, shape);
  Reshard step;
  CHECK(reshard_find(mesh, shape, &x, &y, &step) && step.kind == kind);
  const double seconds = cost_of_reshard(&model, shape, &x, &y, step, 4);
  CHECK(seconds == cost_of_reshard(&slow, shape, &x, &y, step, 4));
  arena_free(arena);
  return seconds;
}

static const Shape large = {2, {1000, 1000}, NULL}; // 4e6 bytes
static const double N = 4e6;

// A node of four: 1e10 bytes a second each, 1 us a step.
static void collectives_within_a_node(void) {
  const Mesh mesh = mesh_of(1, 4);
  CHECK_NEAR(cost(&mesh, &large, 2, rows, whole, RESHARD_all_gather), LAUNCH + 3e-6 + N * 3 / 4 / 1e10, 1e-12);
  CHECK_NEAR(cost(&mesh, &large, 2, sum, rows, RESHARD_reduce_scatter), LAUNCH + 3e-6 + N * 3 / 4 / 1e10, 1e-12);
  CHECK_NEAR(cost(&mesh, &large, 2, sum, whole, RESHARD_all_reduce), LAUNCH + 6e-6 + N * 6 / 4 / 1e10, 1e-12);
  CHECK_NEAR(cost(&mesh, &large, 2, sum, pinned, RESHARD_reduce), LAUNCH + 3e-6 + N / 1e10, 1e-12);
  CHECK_NEAR(cost(&mesh, &large, 2, pinned, whole, RESHARD_broadcast), LAUNCH + 3e-6 + N / 1e10, 1e-12);
  CHECK_NEAR(cost(&mesh, &large, 2, rows, columns, RESHARD_all_to_all), LAUNCH + 1e-6 + N * 3 / 16 / 1e10, 1e-12);
  CHECK_NEAR(cost(&mesh, &large, 2, rows, pinned, RESHARD_gather), LAUNCH + 1e-6 + N * 3 / 4 / 1e10, 1e-12);
  CHECK_NEAR(cost(&mesh, &large, 2, pinned, rows, RESHARD_scatter), LAUNCH + 1e-6 + N * 3 / 4 / 1e10, 1e-12);
  CHECK_NEAR(cost(&mesh, &large, 2, whole, rows, RESHARD_slice), LAUNCH + 2 * N / 4 / 1e11, 1e-12);
  CHECK(cost(&mesh, &large, 2, whole, pinned, RESHARD_drop) == 0); // no call is made
}

// A small sum over four nodes goes up and down a tree of two levels, a large one around the ring.
static void ring_or_tree(void) {
  const Mesh mesh = mesh_of(4, 4);
  const Shape small = {1, {1}, NULL};
  const double ring = LAUNCH + 2 * (12e-6 + 3e-5), tree = LAUNCH + 2 * (2e-6 + 2e-5);
  CHECK(cost(&mesh, &small, 3, sum, whole, RESHARD_all_reduce) < ring);
  CHECK_NEAR(cost(&mesh, &small, 3, sum, whole, RESHARD_all_reduce), tree + 2 * 4 / 1e9, 1e-12);
  const Shape huge = {1, {1000000000}, NULL};
  CHECK_NEAR(cost(&mesh, &huge, 3, sum, whole, RESHARD_all_reduce), ring + 2 * 4e9 * 15 / 16 / 1e9, 1e-9);
}

// One rank a node: four groups share the port of each node; alone a group has all of it; over both axes there is one group.
static void groups_share_a_port(void) {
  const Mesh four = mesh_of(4, 4);
  CHECK_NEAR(cost(&four, &large, 1, rows, whole, RESHARD_all_gather), LAUNCH + 3e-5 + 4 * N * 3 / 4 / 1e9, 1e-12);
  CHECK_NEAR(cost(&four, &large, 3, rows, whole, RESHARD_all_gather), LAUNCH + 12e-6 + 3e-5 + N * 15 / 16 / 1e9, 1e-12);
  // Messages of all to all: a rank sends 12 of 15 parts out of its node, four ranks do so over its port.
  const double out = N * 15 / 256 * 12 / 15;
  CHECK_NEAR(cost(&four, &large, 3, rows, columns, RESHARD_all_to_all), LAUNCH + 1e-6 + 12.0 / 8 * 1e-5 + 4 * out / 1e9,
             1e-12);
  Mesh alone = mesh_of(4, 1);
  Machine single = two_levels;
  single.level[0].count = 1; // a device a node
  const AxisLinks links = cost_links(&single, &alone, 1);
  CHECK(!links.level[0].used && links.level[1].used);
  CHECK_NEAR(links.level[1].ring, 1e-9, 1e-15);
  CHECK_INT(links.level[1].hops, 3);
}

// Where every device has a port of its own a group of four in a node has four.
static void ports_of_each_device_add_up(void) {
  Machine machine = two_levels;
  machine.level[1].shared = false;
  const Mesh mesh = mesh_of(4, 4);
  const AxisLinks both = cost_links(&machine, &mesh, 3), one = cost_links(&machine, &mesh, 1);
  CHECK_NEAR(both.level[1].ring, 1e-9 / 4, 1e-15);
  CHECK_NEAR(one.level[1].ring, 1e-9, 1e-15);
}

static void units_of_three_and_seven(void) {
  Machine machine = two_levels;
  machine.level[0].count = 3;
  machine.level[1].count = 7;
  const Mesh mesh = mesh_of(7, 3);
  const AxisLinks inner = cost_links(&machine, &mesh, 2), outer = cost_links(&machine, &mesh, 1),
                  both = cost_links(&machine, &mesh, 3);
  CHECK(inner.level[0].used && !inner.level[1].used && !outer.level[0].used && outer.level[1].used);
  CHECK_INT(both.level[0].hops + both.level[1].hops, 20);
  CHECK_NEAR(outer.level[1].ring, 3e-9, 1e-15);
  // An axis that does not fit the nodes: groups of ranks 0 1, 2 3, ... of which the second is in two nodes.
  const Mesh odd = mesh_of(3, 2);
  CHECK(cost_links(&machine, &odd, 2).level[0].used && cost_links(&machine, &odd, 2).level[1].used);
}

// y[n, co] = sum(ci) x[n, ci] * w[co, ci]
static Graph *dense(Arena *arena, int64_t n, int64_t co, int64_t ci) {
  Graph *graph = graph_new(arena, "train");
  const int x = graph_add_tensor(
      graph,
      (Tensor){.name = "x", .role = ROLE_INPUT, .rank = 2, .extent = {n, ci}, .dim = {"n", "ci"}, .producer = -1});
  const int w = graph_add_tensor(
      graph,
      (Tensor){.name = "w", .role = ROLE_PARAM, .rank = 2, .extent = {co, ci}, .dim = {"co", "ci"}, .producer = -1});
  const Index at_x[2] = {index_dim(0), index_dim(2)}, at_w[2] = {index_dim(1), index_dim(2)};
  Op op = {.kind = OP_COMPUTE,
           .phase = PHASE_FORWARD,
           .name = "dense",
           .layer = "",
           .n_dims = 3,
           .n_out = 2,
           .reduce = REDUCE_SUM};
  op.dims[0] = (Dim){"n", n}, op.dims[1] = (Dim){"co", co}, op.dims[2] = (Dim){"ci", ci};
  op.body = expr_call(arena, FN_mul, expr_access(arena, x, TYPE_REAL, 2, at_x, 0),
                      expr_access(arena, w, TYPE_REAL, 2, at_w, 0), NULL);
  op.sharding = sharding_replicate();
  graph_add_compute(graph, op, "y");
  return graph;
}

static double dense_seconds(const Mesh *mesh, bool f64, int64_t n, int64_t co, int64_t ci, int split, int axis) {
  Arena *arena = arena_new();
  Graph *graph = dense(arena, n, co, ci);
  const CostModel model = cost_model(arena, &two_levels, mesh, f64);
  graph->ops.at[0].sharding.dim[axis] = split;
  const double seconds = cost_of_op(&model, graph, &graph->ops.at[0]);
  arena_free(arena);
  return seconds;
}

static double product(double n, double co, double ci) {
  return 2 * n * co * ci / (1e12 * n / (n + 16) * co / (co + 16) * ci / (ci + 32));
}

static void dense_layers(void) {
  const Mesh mesh = mesh_of(3, 1);
  CHECK_NEAR(dense_seconds(&mesh, false, 4096, 4096, 4096, -1, 0), product(4096, 4096, 4096), 1e-12);
  CHECK_NEAR(dense_seconds(&mesh, true, 4096, 4096, 4096, -1, 0), 2 * product(4096, 4096, 4096), 1e-12);
  CHECK_NEAR(dense_seconds(&mesh, false, 4096, 4096, 4096, 0, 0), product(1366, 4096, 4096), 1e-12);
  // Seven rows over three ranks: the largest block has three.
  CHECK_NEAR(dense_seconds(&mesh, false, 7, 4096, 4096, 0, 0),
             fmax(product(3, 4096, 4096), 4 * (4096.0 * 4096 + 2 * 3 * 4096) / 1e11), 1e-12);
  // One row: the weights are read once; a tiny one: a kernel is started.
  CHECK_NEAR(dense_seconds(&mesh, false, 1, 4096, 4096, -1, 0), 4 * (4096.0 * 4096 + 2 * 4096) / 1e11, 1e-5);
  CHECK(dense_seconds(&mesh, false, 1, 4096, 4096, -1, 0) >= 4 * 4096.0 * 4096 / 1e11);
  CHECK(dense_seconds(&mesh, false, 2, 2, 2, -1, 0) == LAUNCH);
}

static void more_takes_no_less(void) {
  const Mesh mesh = mesh_of(4, 4);
  double before = 0, moved = 0;
  for (int64_t n = 1; n < 5000; n = n * 3 / 2 + 1) {
    const double seconds = dense_seconds(&mesh, false, n, 512, 512, 1, 0);
    CHECK(seconds >= before && seconds >= dense_seconds(&mesh, false, n, 512, 512, 1, 0));
    CHECK(dense_seconds(&mesh, false, n, 512, 512, -1, 0) >= seconds);
    const Shape shape = {2, {n, 16}, NULL};
    const double reduced = cost(&mesh, &shape, 3, sum, whole, RESHARD_all_reduce);
    CHECK(reduced >= moved);
    before = seconds, moved = reduced;
  }
}

// The longest parts by hand, of windows too.
static void largest_parts(void) {
  const Mesh mesh = mesh_of(2, 3);
  for (int64_t extent = 1; extent < 20; extent++) {
    const Shape shape = {2, {extent, 5}, NULL};
    Layout layout = along(3, rows, &shape);
    for (int64_t halo = 0; halo < 3; halo++) {
      layout.cut[0].before = layout.cut[0].after = halo;
      int64_t most = 0;
      for (int rank = 0; rank < mesh_ranks(&mesh); rank++)
        most = max_i64(most, cut_block(&mesh, rank, 3, &layout.cut[0], extent).len * 5);
      CHECK_INT(layout_elements(&mesh, &shape, &layout), most);
    }
  }
}

// What several want of a tensor is made once, and nothing that is there already is paid.
static void wants_are_paid_once(void) {
  Arena *arena = arena_new();
  const Mesh mesh = mesh_of(4, 4);
  const CostModel model = cost_model(arena, &two_levels, &mesh, false);
  Routes *routes = routes_new(arena, &mesh, &model);
  const Tensor t = {.name = "t", .rank = 2, .extent = {1000, 1000}};
  const Layout sums = along(2, sum, &large), every = layout_replicated, rest = along(2, rows, &large);
  const int shape = routes_shape(routes, &t), partial = routes_layout(routes, &sums), all = routes_layout(routes, &every),
            part = routes_layout(routes, &rest), want[] = {all, all, part, partial};
  const double reduced = cost(&mesh, &large, 2, sum, whole, RESHARD_all_reduce);
  CHECK(demands_cost(arena, &mesh, routes, shape, all, want, 2) == 0);
  CHECK(demands_cost(arena, &mesh, routes, shape, partial, want, 1) == reduced);
  CHECK(demands_cost(arena, &mesh, routes, shape, partial, want, 2) == reduced);
  // A part and the whole of a sum: the part is scattered and then gathered, or cut off the whole.
  const double both = demands_cost(arena, &mesh, routes, shape, partial, want, 3);
  const double scattered = cost(&mesh, &large, 2, sum, rows, RESHARD_reduce_scatter) + cost(&mesh, &large, 2, rows, whole, RESHARD_all_gather);
  CHECK(both == fmin(scattered, reduced + cost(&mesh, &large, 2, whole, rows, RESHARD_slice)));
  // Without a machine: what the busiest rank moves, three quarters of the tensor each time.
  Routes *bytes = routes_new(arena, &mesh, NULL);
  const int in_bytes[] = {routes_layout(bytes, &sums), routes_layout(bytes, &every), routes_layout(bytes, &rest)};
  CHECK(demands_cost(arena, &mesh, bytes, routes_shape(bytes, &t), in_bytes[0], in_bytes + 1, 2) == 2 * 0.75 * 4e6);
  arena_free(arena);
}

// Times of a profile count among the ranks that it names, between its sizes in proportion, and formulas elsewhere.
static void measured_collectives(void) {
  static const char text[] = "profile 1\n1 us  all_reduce [4 of 16 by 1] 1000 bytes\n11 us  all_reduce [4 of 16 by 1] 2000 bytes\n"
                             "7 us  all_gather [4 of 16 by 4] 1000 bytes\n";
  Arena *arena = arena_new();
  Problems problems = {.arena = arena};
  const Profile profile = profile_read("p", text, sizeof text - 1, &problems);
  CHECK(problems.list.len == 0 && profile.links.curves.len == 2);
  Machine machine = two_levels;
  machine.profile = &profile;
  const Mesh mesh = mesh_of(4, 4);
  const CostModel model = cost_model(arena, &machine, &mesh, false), formulas = cost_model(arena, &two_levels, &mesh, false);
  static const struct { int64_t elements; double all_reduce; } sizes[] = {{1, 1e-6}, {250, 1e-6}, {300, 3e-6}, {500, 11e-6}, {5000, 110e-6}};
  for (int i = 0; i < 5; i++) {
    const Shape shape = {1, {sizes[i].elements}, NULL};
    const Layout partial = along(2, sum, &shape), all = layout_replicated, outer = along(1, sum, &shape);
    const Reshard inner_step = {RESHARD_all_reduce, 2}, outer_step = {RESHARD_all_reduce, 1};
    CHECK_NEAR(cost_of_reshard(&model, &shape, &partial, &all, inner_step, 4), sizes[i].all_reduce, 1e-12);
    CHECK(cost_of_reshard(&model, &shape, &outer, &all, outer_step, 4) == cost_of_reshard(&formulas, &shape, &outer, &all, outer_step, 4));
  }
  const Shape shape = {1, {240}, NULL};
  const Layout parts = along(1, rows, &shape), all = layout_replicated;
  CHECK_NEAR(cost_of_reshard(&model, &shape, &parts, &all, (Reshard){RESHARD_all_gather, 1}, 4), 7e-6, 1e-12);
  arena_free(arena);
}

// Where copies are measured they count as slices, and as packings of blocks that do not follow each other in memory.
static void measured_copies(void) {
  static const char text[] = "profile 1\n1 us  slice [4 of 16 by 4] 1000 bytes\n4 us  slice [4 of 16 by 4] 4000 bytes\n"
                             "7 us  all_gather [4 of 16 by 4] 1000 bytes\n9 us  reduce_scatter [4 of 16 by 4] 1000 bytes\n"
                             "5 us  all_to_all [4 of 16 by 4] 1000 bytes\n";
  Arena *arena = arena_new();
  Problems problems = {.arena = arena};
  const Profile profile = profile_read("p", text, sizeof text - 1, &problems);
  CHECK(problems.list.len == 0);
  Machine machine = two_levels;
  machine.profile = &profile;
  const Mesh mesh = mesh_of(4, 4);
  const CostModel model = cost_model(arena, &machine, &mesh, false);
  const Shape shape = {2, {8, 20}, NULL}; // 640 bytes, of which a rank copies 160 as a slice: of a tensor of 640 bytes
  const Layout by_rows = along(1, rows, &shape), by_columns = along(1, columns, &shape), all = layout_replicated, sums = along(1, sum, &shape);
  CHECK_NEAR(cost_of_reshard(&model, &shape, &all, &by_columns, (Reshard){RESHARD_slice, 1}, 4), 1e-6, 1e-12);
  // Whole tensors are packed: as slices of 2560 bytes.
  CHECK_NEAR(cost_of_reshard(&model, &shape, &by_rows, &all, (Reshard){RESHARD_all_gather, 1}, 4), 7e-6, 1e-12);
  CHECK_NEAR(cost_of_reshard(&model, &shape, &by_columns, &all, (Reshard){RESHARD_all_gather, 1}, 4), 7e-6 + 2.56e-6, 1e-12);
  CHECK_NEAR(cost_of_reshard(&model, &shape, &sums, &by_rows, (Reshard){RESHARD_reduce_scatter, 1}, 4), 9e-6, 1e-12);
  CHECK_NEAR(cost_of_reshard(&model, &shape, &sums, &by_columns, (Reshard){RESHARD_reduce_scatter, 1}, 4), 9e-6 + 2.56e-6, 1e-12);
  // Of its columns a rank packs what it sends, 2 rows of 5 to each of 3, and keeps 10 elements; no other run is broken.
  CHECK_NEAR(cost_of_reshard(&model, &shape, &by_rows, &by_columns, (Reshard){RESHARD_all_to_all, 1}, 4), 5e-6 + 1e-6, 1e-12);
  arena_free(arena);
}

CHECKS(TEST(collectives_within_a_node), TEST(ring_or_tree), TEST(groups_share_a_port),
       TEST(ports_of_each_device_add_up), TEST(units_of_three_and_seven), TEST(dense_layers), TEST(more_takes_no_less),
       TEST(largest_parts), TEST(wants_are_paid_once),
       TEST(measured_collectives), TEST(measured_copies))
