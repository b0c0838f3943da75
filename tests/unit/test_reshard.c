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
static AxisLayout pin(int place) { return (AxisLayout){.kind = LAYOUT_PINNED, .pin = place}; }

static void every_pair_has_a_row(void) {
  for (int from = 0; from < LAYOUT_KINDS; from++)
    for (int to = 0; to < LAYOUT_KINDS; to++) {
      if (to == LAYOUT_PARTIAL || (from == LAYOUT_REPLICATED && to == LAYOUT_REPLICATED)) continue;
      const ReshardKind other = reshard_between(from, to, false);
      CHECK(other < RESHARD_KINDS && other != RESHARD_exchange);
      if (from == LAYOUT_SHARD && to == LAYOUT_SHARD) CHECK(reshard_between(from, to, true) != other);
      CHECK(reshard_bytes(other, 840, 1, 0) <= 840); // of one rank: nothing is spread
      CHECK(reshard_how(other) == RESHARD_LOCAL ? reshard_bytes(other, 840, 4, 0) == 0 : reshard_bytes(other, 840, 4, 0) > 0);
    }
}

// Steps of a route: kind and axes of each.
static Route route(const Mesh *mesh, const Shape *shape, Layout from, Layout to, Reshard *steps) {
  Arena *arena = arena_new();
  const Route found = route_find(arena, &(RouteBy){.mesh = mesh}, shape, &from, &to);
  for (int i = 0; i < found.n; i++) {
    CHECK(reshard_find(mesh, shape, &from, &found.layout[i], &steps[i]));
    from = found.layout[i];
  }
  CHECK(found.n > 0 && reshard_axes(mesh, &from, &to) == 0);
  arena_free(arena);
  return found;
}

static bool is_step(Reshard step, ReshardKind kind, uint32_t axes) { return step.kind == kind && step.axes == axes; }

static void routes_are_those_expected(void) {
  const Shape shape = {2, {16, 24}};
  const double n = 16 * 24 * 4;
  const Layout whole = layout_replicated();
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
      const Shape shape = {1, {extent}};
      const AxisLayout whole = {.kind = LAYOUT_REPLICATED}, batch = batches == 1 ? shard(0) : whole;
      const Layout slow = with(with(layout_replicated(), 2, batch, &shape), 0, shard(0), &shape), both = with(slow, 1, shard(0), &shape);
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
  const Shape shape = {2, {16, 24}};
  const Layout fixed = with(layout_replicated(), 0, shard(0), &shape), batch = with(fixed, 2, shard(0), &shape);
  Reshard step;
  CHECK_INT(reshard_axes(&mesh, &fixed, &batch), 0);
  mesh.partial_batches = true;
  CHECK_INT(reshard_axes(&mesh, &fixed, &batch), 4);
  CHECK(reshard_find(&mesh, &shape, &fixed, &batch, &step) && is_step(step, RESHARD_exchange, 4));
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
  static const int starts[] = {[RESHARD_LOCAL] = 1, [RESHARD_COLLECTIVE] = 2, [RESHARD_MESSAGES] = 5};
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
  Layout layout = layout_replicated();
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
  static const Shape shapes[] = {{1, {7}}, {2, {8, 6}}, {3, {4, 5, 6}}};
  uint32_t random = 1;
  int several = 0;
  for (int trial = 0; trial < 600; trial++) {
    const Mesh *mesh = &meshes[trial % 3];
    const Shape *shape = &shapes[trial / 3 % 3];
    const Layout from = draw_layout(&random, mesh, shape, true), to = draw_layout(&random, mesh, shape, false);
    if (reshard_axes(mesh, &from, &to) == 0) continue;
    static Ways ways;
    ways = (Ways){.mesh = mesh, .shape = shape, .to = &to, .least = {1e300, 0}};
    list_states(&ways, layout_replicated(), &from, 0);
    walk(&ways, &from, (RouteCost){0, 0}, 0);
    Reshard steps[ROUTE_MAX_STEPS];
    const Route found = route(mesh, shape, from, to, steps);
    CHECK(!route_cheaper(ways.least, found.cost));
    several += found.n > 1;
  }
  CHECK(several > 100);
}

CHECKS(TEST(every_pair_has_a_row), TEST(routes_are_those_expected), TEST(blocks_must_nest), TEST(short_batches_are_another_layout),
       TEST(no_way_is_cheaper))
