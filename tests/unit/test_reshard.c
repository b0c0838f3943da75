// The table of changes of layout, and the ways through it.
#include "../../passes/route.h"
#include "check.h"

static const Mesh two_axes = {.n_axes = 3, .axis = {{"a", 2}, {"b", 4}, {"batch", 1}}};

static Layout with(Layout layout, int axis, AxisLayout how, const Shape *shape) {
  layout.axis[axis] = how;
  if (how.kind == LAYOUT_SHARD) layout.cut[how.dim] = cut_plain(shape->extent[how.dim], 1);
  return layout;
}
static AxisLayout shard(int dim) { return (AxisLayout){.kind = LAYOUT_SHARD, .dim = dim}; }
static AxisLayout sum(void) { return (AxisLayout){.kind = LAYOUT_PARTIAL, .reduce = REDUCE_SUM}; }
static AxisLayout owned(void) { return (AxisLayout){.kind = LAYOUT_OWNED, .dim = 1, .reduce = REDUCE_SUM}; }
static AxisLayout pin(int place) { return (AxisLayout){.kind = LAYOUT_PINNED, .pin = place}; }

static void every_pair_has_a_row(void) {
  for (int from = 0; from < LAYOUT_KINDS; from++)
    for (int to = 0; to < LAYOUT_KINDS; to++) {
      if (to == LAYOUT_PARTIAL || to == LAYOUT_OWNED || (from == LAYOUT_REPLICATED && to == LAYOUT_REPLICATED)) continue;
      const ReshardKind other = reshard_between(from, to, false);
      CHECK(other < RESHARD_KINDS && other != RESHARD_exchange);
      if (from == LAYOUT_SHARD && to == LAYOUT_SHARD) CHECK(reshard_between(from, to, true) != other);
      CHECK(reshard_bytes(other, 840, 1, 0) <= 840); // of one rank: nothing is spread
      CHECK(reshard_pattern(other) == RESHARD_NONE ? reshard_bytes(other, 840, 4, 0) == 0 : reshard_bytes(other, 840, 4, 0) > 0);
    }
}

// Steps of a route: kind and axes of each.
static Route route(const Mesh *mesh, const Shape *shape, Layout from, Layout to, Reshard *steps) {
  Arena *arena = arena_new();
  Routes *routes = routes_new(arena, mesh, NULL);
  Tensor t = {.rank = shape->rank};
  memcpy(t.extent, shape->extent, sizeof *t.extent * (size_t)t.rank);
  const int x = routes_layout(routes, &from), y = routes_layout(routes, &to), of = routes_shape(routes, &t);
  const Route found = route_find(routes, of, x, y);
  CHECK(routes_cost(routes, of, x, y).amount == found.cost.amount);
  routes_forget(routes);
  CHECK(routes_cost(routes, of, x, y).amount == found.cost.amount);
  for (int i = 0; i < found.n; i++) {
    CHECK(reshard_find(mesh, shape, &from, routes_layout_at(routes, found.layout[i]), &steps[i]));
    from = *routes_layout_at(routes, found.layout[i]);
  }
  CHECK(found.n > 0 && reshard_axes(mesh, &from, &to) == 0);
  arena_free(arena);
  return found;
}

static bool is_step(Reshard step, ReshardKind kind, uint32_t axes) { return step.kind == kind && step.axes == axes; }

// Rows go from their owners to those who need the place, before anything else changes.
static void owners_give_rows(void) {
  const Shape shape = {2, {16, 24}, NULL};
  const double n = 16 * 24 * 4;
  const Layout whole = layout_replicated, by_owners = with(whole, 1, owned(), &shape), by_all = with(by_owners, 0, owned(), &shape);
  Reshard s[ROUTE_MAX_STEPS];
  Route r = route(&two_axes, &shape, by_owners, with(whole, 1, shard(0), &shape), s);
  CHECK(r.n == 1 && is_step(s[0], RESHARD_serve, 2) && r.cost.amount == n * 3 / 16);
  r = route(&two_axes, &shape, by_all, with(with(whole, 0, shard(0), &shape), 1, shard(0), &shape), s);
  CHECK(r.n == 1 && is_step(s[0], RESHARD_serve, 3) && r.cost.amount == n * 7 / 64);
  r = route(&two_axes, &shape, by_all, whole, s);
  CHECK(r.n == 1 && is_step(s[0], RESHARD_publish, 3) && r.cost.amount == n * 7 / 8);
  r = route(&two_axes, &shape, by_owners, with(whole, 1, pin(2), &shape), s);
  CHECK(r.n == 1 && is_step(s[0], RESHARD_collect, 2) && r.cost.amount == n * 3 / 4);
  // Columns are cut behind it.
  r = route(&two_axes, &shape, by_owners, with(whole, 1, shard(1), &shape), s);
  CHECK(r.n == 2 && is_step(s[0], RESHARD_publish, 2) && is_step(s[1], RESHARD_slice, 2));
  // Another axis stays as it is while rows move, and changes then.
  const Layout samples = with(by_owners, 0, shard(0), &shape);
  CHECK(!reshard_find(&two_axes, &shape, &samples, &by_owners, s));
  r = route(&two_axes, &shape, samples, with(with(whole, 0, shard(0), &shape), 1, shard(0), &shape), s);
  CHECK(r.n == 1 && is_step(s[0], RESHARD_serve, 2) && r.cost.amount == n / 2 * 3 / 16);
  r = route(&two_axes, &shape, samples, whole, s);
  CHECK(r.n == 2 && is_step(s[1], RESHARD_all_gather, 1));
  // Who adds it to others takes it as a partial sum.
  const Layout partial = with(with(whole, 0, shard(0), &shape), 1, sum(), &shape);
  CHECK(reshard_axes(&two_axes, &samples, &partial) == 0 && reshard_axes(&two_axes, &partial, &samples) == 2);
}

static void routes_are_those_expected(void) {
  const Shape shape = {2, {16, 24}, NULL};
  const double n = 16 * 24 * 4;
  const Layout whole = layout_replicated;
  Reshard s[ROUTE_MAX_STEPS];

  // What is summed over all ranks is summed at once.
  Route r = route(&two_axes, &shape, with(with(whole, 0, sum(), &shape), 1, sum(), &shape), whole, s);
  CHECK(r.n == 1 && is_step(s[0], RESHARD_all_reduce, 3) && r.cost.amount == 2 * n * 7 / 8);
  // Of which each needs a part: no more than that part.
  r = route(&two_axes, &shape, with(whole, 1, sum(), &shape), with(whole, 1, shard(0), &shape), s);
  CHECK(r.n == 1 && is_step(s[0], RESHARD_reduce_scatter, 2) && r.cost.amount == n * 3 / 4);
  // First the part, then the other sum, of a part only.
  r = route(&two_axes, &shape, with(with(whole, 0, sum(), &shape), 1, sum(), &shape), with(whole, 1, shard(1), &shape), s);
  CHECK(r.n == 2 && is_step(s[0], RESHARD_reduce_scatter, 2) && is_step(s[1], RESHARD_all_reduce, 1));
  CHECK(r.cost.amount == n * 3 / 4 + 2 * (n / 4) / 2);
  // One dimension over two axes is put together at once.
  r = route(&two_axes, &shape, with(with(whole, 0, shard(0), &shape), 1, shard(0), &shape), whole, s);
  CHECK(r.n == 1 && is_step(s[0], RESHARD_all_gather, 3) && r.cost.amount == n * 7 / 8);
  // First what makes it smaller (nothing moves), then the rest.
  r = route(&two_axes, &shape, with(whole, 0, shard(0), &shape), with(whole, 1, shard(1), &shape), s);
  CHECK(r.n == 2 && is_step(s[0], RESHARD_slice, 2) && is_step(s[1], RESHARD_all_gather, 1) && r.cost.amount == n / 4 / 2);
  // A sum that one rank needs.
  r = route(&two_axes, &shape, with(whole, 1, sum(), &shape), with(whole, 1, pin(2), &shape), s);
  CHECK(r.n == 1 && is_step(s[0], RESHARD_reduce, 2) && r.cost.amount == n);
  // A window over blocks: parts, then their borders.
  Layout window = with(whole, 1, shard(0), &shape);
  window.cut[0] = (Cut){16, 1, 1, 1, 1};
  r = route(&two_axes, &shape, with(whole, 1, sum(), &shape), window, s);
  CHECK(r.n == 2 && is_step(s[0], RESHARD_reduce_scatter, 2) && is_step(s[1], RESHARD_reblock, 2));
  CHECK(r.cost.amount == n * 3 / 4 + 2 * 24 * 4);
  // Nothing is made from windows.
  CHECK(!reshard_find(&two_axes, &shape, &window, &whole, s));
  CHECK(reshard_find(&two_axes, &shape, &whole, &window, s) && is_step(s[0], RESHARD_slice, 2));
}

// Blocks over two axes are those over the slower one, divided; they are not parts of those over the faster one: between
// these it is an exchange, whatever the row would say.
static void blocks_must_nest(void) {
  Mesh mesh = {.n_axes = 3, .axis = {{"a", 2}, {"b", 3}, {"batch", 1}}};
  for (int batches = 0; batches < 2; batches++) {
    mesh.partial_batches = batches == 1;
    for (int64_t extent = 5; extent < 14; extent++) {
      const Shape shape = {1, {extent}, NULL};
      const AxisLayout whole = {.kind = LAYOUT_REPLICATED}, batch = batches == 1 ? shard(0) : whole;
      const Layout slow = with(with(layout_replicated, 2, batch, &shape), 0, shard(0), &shape), both = with(slow, 1, shard(0), &shape);
      const Layout fast = with(with(both, 0, whole, &shape), 1, shard(0), &shape);
      Reshard step;
      CHECK(reshard_find(&mesh, &shape, &both, &slow, &step) && is_step(step, RESHARD_all_gather, 2));
      CHECK(reshard_find(&mesh, &shape, &slow, &both, &step) && is_step(step, RESHARD_slice, 2));
      CHECK(reshard_find(&mesh, &shape, &both, &fast, &step) && is_step(step, RESHARD_exchange, 1));
      CHECK(reshard_find(&mesh, &shape, &fast, &both, &step) && is_step(step, RESHARD_exchange, 1));
      // A sum over a of which each would get such a part has no row.
      const Layout partial = with(fast, 0, sum(), &shape);
      CHECK(!reshard_find(&mesh, &shape, &partial, &both, &step));
    }
  }
}

// What is not known to be cut where the batch ends is brought to it by an exchange; where batches are full it is there.
static void short_batches_are_another_layout(void) {
  Mesh mesh = two_axes;
  const Shape shape = {2, {16, 24}, NULL};
  const Layout fixed = with(layout_replicated, 0, shard(0), &shape), batch = with(fixed, 2, shard(0), &shape);
  Reshard step;
  CHECK_INT(reshard_axes(&mesh, &fixed, &batch), 0);
  mesh.partial_batches = true;
  CHECK_INT(reshard_axes(&mesh, &fixed, &batch), 4);
  CHECK(reshard_find(&mesh, &shape, &fixed, &batch, &step) && is_step(step, RESHARD_exchange, 4));
}

// Equal blocks in other units are the same; what lies within a block is a slice of it; where blocks differ they are moved.
static void what_a_rank_has_does_not_move(void) {
  Mesh mesh = two_axes;
  const Shape shape = {2, {24, 5}, NULL};
  const Layout elements = with(with(layout_replicated, 0, shard(0), &shape), 1, shard(0), &shape);
  Layout threes = elements, twos = elements, narrow = elements;
  Reshard step;
  threes.cut[0] = cut_plain(24, 3);  // 8 units for 8 ranks
  twos.cut[0] = cut_plain(24, 2); // 12 units for 8 ranks
  narrow.cut[0].before = -1;        // all but the first one of each block
  CHECK(reshard_find(&mesh, &shape, &elements, &threes, &step) && is_step(step, RESHARD_same, 3));
  CHECK(reshard_find(&mesh, &shape, &threes, &elements, &step) && is_step(step, RESHARD_same, 3));
  CHECK(reshard_cost(&mesh, &shape, &elements, &threes, step, 4) == 0);
  CHECK(reshard_find(&mesh, &shape, &elements, &twos, &step) && is_step(step, RESHARD_exchange, 3));
  CHECK(reshard_find(&mesh, &shape, &elements, &narrow, &step) && is_step(step, RESHARD_slice, 3));
  // The same along one axis, beside a cut of the batch, the end of which is not known, in the same and in other units.
  Layout one = with(layout_replicated, 1, shard(0), &shape), units = one;
  units.cut[0] = cut_plain(24, 6);
  CHECK(reshard_find(&mesh, &shape, &one, &units, &step) && is_step(step, RESHARD_same, 2));
  one.axis[2] = units.axis[2] = shard(0);
  mesh.partial_batches = true;
  CHECK(reshard_find(&mesh, &shape, &one, &units, &step) && reshard_how(step.kind) == RESHARD_MESSAGES);
  // Of what is pinned the other ranks have nothing.
  const Layout pinned = with(elements, 1, pin(0), &shape);
  CHECK(reshard_find(&two_axes, &shape, &pinned, &elements, &step) && reshard_how(step.kind) != RESHARD_NOTHING);
}

// ---- every way there is --------------------------------------------------------------------------------------------

typedef struct Ways {
  const Mesh *mesh;
  const Shape *shape;
  const Layout *to;
  Layout states[256];
  bool used[256];
  int n;
  RouteCost least;
} Ways;

static void walk(Ways *w, const Layout *at, RouteCost cost, int steps) {
  static const int starts[] = {[RESHARD_NOTHING] = 0, [RESHARD_LOCAL] = 1, [RESHARD_COLLECTIVE] = 2, [RESHARD_MESSAGES] = 5};
  if (!route_cheaper(cost, w->least)) return;
  if (reshard_axes(w->mesh, at, w->to) == 0) {
    w->least = cost;
    return;
  }
  for (int i = 0; i < w->n && steps < 4; i++) {
    Reshard step;
    if (w->used[i] || reshard_axes(w->mesh, at, &w->states[i]) == 0 || !reshard_find(w->mesh, w->shape, at, &w->states[i], &step)) continue;
    w->used[i] = true;
    const RouteCost own = {reshard_cost(w->mesh, w->shape, at, &w->states[i], step, 4), starts[reshard_how(step.kind)]};
    walk(w, &w->states[i], route_cost_add(cost, own), steps + 1);
    w->used[i] = false;
  }
}

// Every layout in which each axis that changes is as before, as wanted or whole.
static void list_states(Ways *w, Layout layout, const Layout *from, int axis) {
  if (axis == w->mesh->n_axes) {
    w->states[w->n++] = layout;
    return;
  }
  for (int k = 0; k < 3; k++) {
    if (k == 1 && memcmp(&from->axis[axis], &w->to->axis[axis], sizeof(AxisLayout)) == 0) continue;
    const AxisLayout how = k == 0 ? from->axis[axis] : k == 1 ? w->to->axis[axis] : (AxisLayout){.kind = LAYOUT_REPLICATED};
    if (k == 2 && (from->axis[axis].kind == LAYOUT_REPLICATED || w->to->axis[axis].kind == LAYOUT_REPLICATED)) continue;
    if (k > 0 && !(reshard_axes(w->mesh, from, w->to) >> axis & 1)) continue;
    list_states(w, with(layout, axis, how, w->shape), from, axis + 1);
  }
}

static Layout draw_layout(uint32_t *random, const Mesh *mesh, const Shape *shape, bool partial) {
  Layout layout = layout_replicated;
  for (int a = 0; a < mesh->n_axes; a++) {
    *random = *random * 1664525u + 1013904223u;
    const int k = (int)(*random >> 16) % (shape->rank + (partial ? 4 : 3));
    if (k < shape->rank) layout = with(layout, a, shard(k), shape);
    else if (k == shape->rank) layout.axis[a] = pin((int)(*random >> 8) % mesh->axis[a].size);
    else if (k == shape->rank + 3) layout.axis[a] = sum();
  }
  return layout;
}

static void no_way_is_cheaper(void) {
  static const Mesh meshes[] = {{.n_axes = 1, .axis = {{"a", 5}}},
                                {.n_axes = 2, .axis = {{"a", 2}, {"b", 3}}},
                                {.n_axes = 3, .axis = {{"a", 2}, {"b", 2}, {"c", 2}}}};
  static const Shape shapes[] = {{1, {7}, NULL}, {2, {8, 6}, NULL}, {3, {4, 5, 6}, NULL}};
  uint32_t random = 1;
  int several = 0;
  for (int trial = 0; trial < 600; trial++) {
    const Mesh *mesh = &meshes[trial % 3];
    const Shape *shape = &shapes[trial / 3 % 3];
    const Layout from = draw_layout(&random, mesh, shape, true), to = draw_layout(&random, mesh, shape, false);
    if (reshard_axes(mesh, &from, &to) == 0) continue;
    static Ways ways;
    ways = (Ways){.mesh = mesh, .shape = shape, .to = &to, .least = {1e300, 0}};
    list_states(&ways, layout_replicated, &from, 0);
    walk(&ways, &from, (RouteCost){0, 0}, 0);
    Reshard steps[ROUTE_MAX_STEPS];
    const Route found = route(mesh, shape, from, to, steps);
    CHECK(!route_cheaper(ways.least, found.cost));
    several += found.n > 1;
  }
  CHECK(several > 100);
}

// ---- exchanges, pair by pair ---------------------------------------------------------------------------------------

static int below(uint32_t *random, int n) {
  *random = *random * 1664525u + 1013904223u;
  return (int)(*random >> 8) % n;
}

// Blocks in units, windows, pins, and axes of all sizes.
static Layout draw_any(uint32_t *random, const Mesh *mesh, const Shape *shape, bool windows) {
  Layout layout = layout_replicated;
  for (int i = 0; i < shape->rank; i++) {
    const int64_t unit = shape->extent[i] % 2 == 0 && below(random, 3) == 0 ? 2 : 1;
    layout.cut[i] = cut_plain(shape->extent[i], unit);
    if (windows && below(random, 3) == 0) layout.cut[i].before = below(random, 3), layout.cut[i].after += below(random, 3);
  }
  for (int a = 0; a < mesh->n_axes; a++) {
    const int k = below(random, shape->rank + 2);
    if (k < shape->rank) layout.axis[a] = shard(k);
    else if (k == shape->rank) layout.axis[a] = pin(below(random, mesh->axis[a].size));
  }
  for (int i = 0; i < shape->rank; i++)
    if (layout_axes_of(&layout, mesh->n_axes, i) == 0) layout.cut[i] = (Cut){0};
  return layout;
}

// Does rank p give rank q its part? Along axes where the tensor is on every rank, or waits to be reduced, q has its own.
static bool gives(const Mesh *mesh, const Layout *from, const Layout *to, int p, int q) {
  for (int a = 0; a < mesh->n_axes; a++) {
    const int of_p = mesh_coordinate(mesh, p, 1u << a), of_q = mesh_coordinate(mesh, q, 1u << a);
    const AxisLayout *x = &from->axis[a], *y = &to->axis[a];
    if (y->kind == LAYOUT_PINNED && y->pin != of_q) return false;
    if (x->kind == LAYOUT_PINNED && x->pin != of_p) return false;
    if ((x->kind == LAYOUT_REPLICATED || x->kind == LAYOUT_PARTIAL) && of_p != of_q) return false;
  }
  return true;
}

static Block held_by(const Mesh *mesh, const Shape *shape, const Layout *layout, int rank, int dim) {
  return cut_block(mesh, rank, layout_axes_of(layout, mesh->n_axes, dim), &layout->cut[dim], shape->extent[dim]);
}

// The elements that are in both blocks; run: whether they are one run of the block of `rank` by `of`.
static int64_t both_have(const Mesh *mesh, const Shape *shape, const Layout *from, const Layout *to, int p, int q, bool run[2]) {
  int64_t elements = 1;
  bool full[2] = {true, true};
  run[0] = run[1] = true;
  for (int i = shape->rank - 1; i >= 0; i--) {
    const Block x = held_by(mesh, shape, from, p, i), y = held_by(mesh, shape, to, q, i);
    const int64_t common = max_i64(0, min_i64(x.lo + x.len, y.lo + y.len) - max_i64(x.lo, y.lo));
    for (int side = 0; side < 2; side++) {
      if (common != 1 && !full[side]) run[side] = false;
      full[side] = full[side] && common == (side == 0 ? x.len : y.len);
    }
    elements *= common;
  }
  return elements;
}

static void try_exchange(const Mesh *mesh, const Shape *shape, const Layout *from, const Layout *to) {
  int64_t sent[64] = {0}, received[64] = {0}, staged[64] = {0}, moved = 0, most = 0;
  bool run[2];
  for (int p = 0; p < mesh_ranks(mesh); p++)
    for (int q = 0; q < mesh_ranks(mesh); q++) {
      if (p == q || !gives(mesh, from, to, p, q)) continue;
      const int64_t elements = both_have(mesh, shape, from, to, p, q, run);
      sent[p] += elements;
      received[q] += elements;
      if (!run[0]) staged[p] += elements;
      if (!run[1]) staged[q] += elements;
    }
  for (int p = 0; p < mesh_ranks(mesh); p++) {
    moved = max_i64(moved, max_i64(sent[p], received[p]));
    most = max_i64(most, staged[p]);
  }
  CHECK_INT(reshard_moved(mesh, shape, from, to), moved);
  CHECK_INT(reshard_staged(mesh, shape, from, to), most);
}

// Whether parts are in order and equal, rank by rank.
static void try_blocks(const Mesh *mesh, const Shape *shape, const Layout *whole, const Layout *parts) {
  const uint32_t axes = reshard_axes(mesh, whole, parts);
  Blocks blocks = {true, true};
  for (int rank = 0; rank < mesh_ranks(mesh); rank++) {
    int64_t before = 1; // elements of the whole in the dimensions before
    for (int i = 0; i < shape->rank; i++) {
      const int64_t w = held_by(mesh, shape, whole, rank, i).len, b = held_by(mesh, shape, parts, rank, i).len;
      const bool divided = (layout_axes_of(parts, mesh->n_axes, i) & axes) != 0;
      if (divided && before > 1) blocks.in_order = false;
      if (divided && b * mesh_parts(mesh, axes) != w) blocks.equal = false;
      before *= w;
    }
  }
  const Blocks found = reshard_blocks(mesh, shape, whole, parts, axes);
  CHECK(found.in_order == blocks.in_order && found.equal == blocks.equal);
}

static void exchanges_move_what_all_pairs_do(void) {
  static const Mesh meshes[] = {{.n_axes = 1, .axis = {{"a", 7}}},
                                {.n_axes = 2, .axis = {{"a", 4}, {"b", 8}}},
                                {.n_axes = 3, .axis = {{"a", 2}, {"b", 1}, {"c", 5}}},
                                {.n_axes = 4, .axis = {{"a", 2}, {"b", 3}, {"c", 2}, {"d", 2}}}};
  uint32_t random = 7;
  for (int trial = 0; trial < 4000; trial++) {
    const Mesh *mesh = &meshes[trial % 4];
    Shape shape = {.rank = below(&random, 4)};
    for (int i = 0; i < shape.rank; i++) shape.extent[i] = 1 + below(&random, 20);
    const Layout from = draw_any(&random, mesh, &shape, trial % 3 == 0), to = draw_any(&random, mesh, &shape, trial % 2 == 0);
    try_exchange(mesh, &shape, &from, &to);
    try_blocks(mesh, &shape, &from, &to);
  }
}

// The seconds of a change from blocks along b to windows along both axes, which cross levels of different speeds.
static double seconds_to_windows(int n_axes) {
  const Machine machine = {.name = "m", .device = {"gpu", 1e8, 1e8, 3e8, 1e9, 1e-7}, .n_levels = 2,
                           .level = {{"board", "bus", 3, 9e3, 1e-7, false}, {"node", "wire", 2, 3e3, 2e-7, true}}};
  const Mesh mesh = {.n_axes = n_axes, .axis = {{"a", 2}, {"b", 2}, {"batch", 1}}};
  const Shape shape = {.rank = 1, .extent = {4}};
  const Tensor t = {.rank = 1, .extent = {4}};
  Arena *arena = arena_new();
  const CostModel model = cost_model(arena, &machine, &mesh, false);
  Routes *routes = routes_new(arena, &mesh, &model);
  Layout from = layout_replicated, to = layout_replicated;
  for (int a = 1; a < n_axes; a++) from = with(from, a, shard(0), &shape);
  for (int a = 0; a < n_axes; a++) to = with(to, a, shard(0), &shape);
  to.cut[0].before = 1;
  const double seconds = routes_cost(routes, routes_shape(routes, &t), routes_layout(routes, &from), routes_layout(routes, &to)).amount;
  arena_free(arena);
  return seconds;
}

static void an_axis_of_one_rank_changes_no_way(void) { CHECK(seconds_to_windows(3) == seconds_to_windows(2)); }

// One rank that gives all it has to 65,535 others.
static void what_cannot_be_counted_is_as_much_as_can(void) {
  const Mesh mesh = {.n_axes = 2, .axis = {{"a", 1 << 16}, {"batch", 1}}};
  const Shape shape = {.rank = 1, .extent = {(int64_t)1 << 50}};
  Layout from = layout_replicated;
  from.axis[0] = (AxisLayout){.kind = LAYOUT_PINNED};
  CHECK(reshard_moved(&mesh, &shape, &from, &layout_replicated) >= INT64_MAX - shape.extent[0]);
}

CHECKS(TEST(every_pair_has_a_row), TEST(owners_give_rows), TEST(routes_are_those_expected), TEST(blocks_must_nest), TEST(short_batches_are_another_layout),
       TEST(what_a_rank_has_does_not_move), TEST(no_way_is_cheaper), TEST(an_axis_of_one_rank_changes_no_way),
       TEST(exchanges_move_what_all_pairs_do), TEST(what_cannot_be_counted_is_as_much_as_can))
