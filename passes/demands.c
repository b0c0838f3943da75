#include "demands.h"

#include "sharding.h"

#include <math.h>

// ---- layouts wanted ------------------------------------------------------------------------------------------------

static bool cut_by_ranks(const Mesh *mesh, const Layout *layout, int dim) {
  for (int a = 0; a < mesh->n_axes; a++)
    if (mesh->axis[a].size > 1 && layout->axis[a].kind == LAYOUT_SHARD && layout->axis[a].dim == dim) return true;
  return false;
}

// Along an axis of size 1 a tensor stays as it is: cut along the batch it keeps the batch's true length, and not cut along it
// it is read as it is, unless ranks divide the dimension.
static void keep_single_axes(const Layout *have, const Mesh *mesh, Layout *want) {
  for (int a = 0; a < mesh->n_axes; a++) {
    AxisLayout *axis = &want->axis[a];
    if (mesh->axis[a].size > 1) continue;
    if (have->axis[a].kind == LAYOUT_SHARD) {
      const int dim = have->axis[a].dim;
      if (!cut_by_ranks(mesh, want, dim)) want->cut[dim] = have->cut[dim]; // all of it, no window
      *axis = have->axis[a];
    } else if (axis->kind != LAYOUT_SHARD || !cut_by_ranks(mesh, want, axis->dim)) {
      *axis = (AxisLayout){.kind = LAYOUT_REPLICATED};
    }
  }
  for (int i = 0; i < LAYOUT_MAX_RANK; i++)
    if (layout_axes_of(want, mesh->n_axes, i) == 0) want->cut[i] = (Cut){0};
}

Layout demands_want(const Graph *graph, const Op *op, int tensor, const OpaqueArg *arg, const Mesh *mesh) {
  Layout want = arg != NULL ? sharding_argument(op, arg, mesh) : sharding_operand(graph, op, tensor, mesh);
  keep_single_axes(graph_tensor(graph, tensor)->layout, mesh, &want);
  return want;
}

Layout demands_leaving(const Graph *graph, int tensor, const Layout *layout, const Mesh *mesh) {
  Layout want = *layout;
  keep_single_axes(graph_tensor(graph, tensor)->layout, mesh, &want);
  return want;
}

// ---- collecting ----------------------------------------------------------------------------------------------------

static int find_version(const Versions *versions, const Mesh *mesh, const Layout *want) {
  for (int v = 0; v < versions->len; v++)
    if (reshard_axes(mesh, versions->at[v].layout, want) == 0) return v;
  return -1;
}

int demands_find(const Demands *d, int tensor, const Layout *want) {
  return find_version(&d->of[tensor], d->mesh, want);
}

int demands_find_read(const Demands *d, const DemandOfRead *read) {
  int v = 0;
  while (d->of[read->tensor].at[v].number != read->number) v++;
  return v;
}

static Version version_of(Routes *routes, const Layout *layout) {
  const int number = routes_layout(routes, layout);
  return (Version){.layout = routes_layout_at(routes, number), .number = number, .tensor = -1};
}

// Gives the version.
static const Version *demand(Demands *d, int tensor, const Layout *want, Phase phase) {
  int version = demands_find(d, tensor, want);
  if (version < 0) {
    vec_push(d->arena, &d->of[tensor], version_of(d->routes, want));
    version = d->of[tensor].len - 1;
  }
  d->of[tensor].at[version].read |= 1u << phase;
  return &d->of[tensor].at[version];
}

static void demand_of_reading(Demands *d, const Op *op, int tensor, const OpaqueArg *arg) {
  const Layout want = demands_want(d->graph, op, tensor, arg, d->mesh);
  vec_push(d->arena, &d->reads, ((DemandOfRead){tensor, demand(d, tensor, &want, op->phase)->number}));
}

typedef struct Reader {
  Demands *d;
  const Op *op;
} Reader;

static void demand_of_read(void *ctx, int tensor) {
  const Reader *r = ctx;
  demand_of_reading(r->d, r->op, tensor, NULL);
}

static void demand_of_op(Demands *d, const Op *op) {
  Reader r = {d, op};
  if (op->kind != OP_OPAQUE) {
    op_visit_reads(op, demand_of_read, &r);
    return;
  }
  for (int a = 0; a < op->opaque->n_args; a++) {
    const OpaqueArg *arg = &op->opaque->args[a];
    if (!arg->written) demand_of_reading(d, op, arg->tensor, arg);
  }
}

static void demand_of_leaving(Demands *d, int tensor, const Layout *layout) {
  if (tensor < 0) return;
  const Layout want = demands_leaving(d->graph, tensor, layout, d->mesh);
  const int producer = graph_tensor(d->graph, tensor)->producer;
  demand(d, tensor, &want, producer >= 0 ? op_complete(&d->graph->ops.at[producer]) : PHASE_UPDATE);
}

static void enter(Demands *d, int tensor) {
  Version version = version_of(d->routes, graph_tensor(d->graph, tensor)->layout);
  version.parent = -1;
  version.tensor = tensor;
  vec_push(d->arena, &d->of[tensor], version);
}

// An axis of size 1 leaves nothing to reduce.
static Layout result_layout(const Graph *graph, const Op *op, int result, const Mesh *mesh) {
  Layout layout = sharding_result(graph, op, result, mesh);
  for (int a = 0; a < mesh->n_axes; a++)
    if (axis_is_sum(&layout.axis[a]) && mesh->axis[a].size == 1)
      layout.axis[a] = (AxisLayout){.kind = LAYOUT_REPLICATED};
  return layout;
}

// ---- which version from which --------------------------------------------------------------------------------------

typedef struct Tree { // over the layouts that are wanted of one tensor, the first of which it is made in, and perhaps one more that nobody asked for
  Routes *routes;
  int shape;
  int *layout; // numbers
  int n;
  RouteCost *between; // n * n, starts -1: not known yet
  bool *made;         // scratch
  int *nearest;       // scratch: of those that are made
  bool partial;       // version 0 can be used once only
} Tree;

static RouteCost cost_between(Tree *t, int from, int to) {
  RouteCost *cost = &t->between[from * t->n + to];
  if (cost->starts < 0) *cost = routes_cost(t->routes, t->shape, t->layout[from], t->layout[to]);
  return *cost;
}

static bool is_nearer(Tree *t, int from, int than, int to) {
  const RouteCost cost = cost_between(t, from, to), known = cost_between(t, than, to);
  return route_cheaper(cost, known) || (from < than && !route_cheaper(known, cost));
}

// The version that is to be made next: `first` before all others, else the nearest of those that are needed.
static int next_version(Tree *t, int first, int needed) {
  int next = -1;
  if (first >= 0 && !t->made[first]) return first;
  for (int v = 1; v < needed; v++)
    if (!t->made[v] && (next < 0 || route_cheaper(cost_between(t, t->nearest[v], v), cost_between(t, t->nearest[next], next)))) next = v;
  return next;
}

// Attaches one version after the other to the nearest one there is, beginning with `first` (-1: with whichever is nearest).
// The last one counts if `needed` says so only. Fills parents, as long as it is cheaper than what is known.
static RouteCost grow(Tree *t, int first, int needed, const RouteCost *known, int *parent) {
  RouteCost total = {0, 0};
  for (int i = 0; i < t->n; i++) {
    t->made[i] = i == 0;
    t->nearest[i] = 0;
    parent[i] = -1;
  }
  for (int left = first >= needed ? needed : needed - 1; left > 0; left--) {
    const int made = next_version(t, first, needed);
    total = route_cost_add(total, cost_between(t, t->nearest[made], made));
    if (known != NULL && !route_cheaper(total, *known)) break;
    parent[made] = t->nearest[made];
    t->made[made] = true;
    const bool reduced = t->partial && t->made[0]; // in its place
    if (reduced) t->made[0] = false;
    for (int v = 1; v < needed && left > 1; v++)
      if (!t->made[v] && (reduced || is_nearer(t, made, t->nearest[v], v))) t->nearest[v] = made;
  }
  return total;
}

static bool is_partial(const Layout *layout) {
  for (int a = 0; a < MESH_MAX_AXES; a++)
    if (axis_is_sum(&layout->axis[a])) return true;
  return false;
}

Layout demands_whole(const Mesh *mesh, const Layout *layout, uint32_t axes) {
  Layout whole = *layout;
  for (int a = 0; a < mesh->n_axes; a++)
    if (axes >> a & 1) whole.axis[a] = (AxisLayout){.kind = LAYOUT_REPLICATED};
  for (int i = 0; i < LAYOUT_MAX_RANK; i++)
    if (layout_axes_of(&whole, mesh->n_axes, i) == 0) whole.cut[i] = (Cut){0};
  return whole;
}

// The tensor reduced where it is partial; if it is nowhere, whole along every axis along which several want it otherwise than
// it is, whatever they want.
static Layout whole_layout(const Mesh *mesh, Routes *routes, const int *layout, int n, bool partial) {
  const Layout *made = routes_layout_at(routes, layout[0]);
  uint32_t once = 0, again = 0; // axes along which somebody does; along which several do
  for (int v = 1; v < n && !partial; v++) {
    const uint32_t differs = reshard_axes(mesh, made, routes_layout_at(routes, layout[v]));
    again |= once & differs;
    once |= differs;
  }
  for (int a = 0; a < mesh->n_axes && partial; a++) again |= axis_is_sum(&made->axis[a]) ? 1u << a : 0;
  return demands_whole(mesh, made, again);
}

Phase demands_phase(const Demands *d, int tensor, const Version *version) {
  const int producer = graph_tensor(d->graph, tensor)->producer;
  Phase first = PHASE_INIT;
  while (first < PHASE_UPDATE && !(version->read >> first & 1)) first++;
  if (producer >= 0 && d->graph->ops.at[producer].phase == PHASE_BEGIN && first <= PHASE_BACKWARD) return PHASE_BEGIN;
  if (first != PHASE_REPORT || !(version->read >> PHASE_UPDATE & 1)) return first;
  return d->graph->microbatches > 1 ? PHASE_COMBINE : PHASE_BACKWARD;
}

static bool is_reported(const Version *version) { return version->read == 1u << PHASE_REPORT; }

enum { MAX_TRIED = 6 }; // of more versions only the whole is tried as the first one

// Which of the layouts that are wanted is made from which, and what that takes. layout, parent: [n + 1]: the whole is made, too, as the
// last one, if that is cheaper (one gathering for several that are wanted in one place each), or if nothing can be made of the one that
// is nearest to partial results: a window. Else parent[n] is -1.
static RouteCost plan_layouts(Arena *scratch, const Mesh *mesh, Routes *routes, int shape, int *layout, int n, int *parent) {
  const bool partial = is_partial(routes_layout_at(routes, layout[0]));
  for (int v = 0; v <= n; v++) parent[v] = -1;
  if (n <= 1) return (RouteCost){0, 0};
  if (n == 2) {
    const RouteCost direct = routes_cost(routes, shape, layout[0], layout[1]);
    parent[1] = 0;
    if (!partial || direct.amount < INFINITY) return direct;
  }
  const Layout whole = whole_layout(mesh, routes, layout, n, partial);
  layout[n] = routes_layout(routes, &whole);
  int hub = 0;
  while (hub < n && layout[hub] != layout[n] && reshard_axes(mesh, routes_layout_at(routes, layout[hub]), &whole) != 0) hub++;
  Tree tree = {.routes = routes, .shape = shape, .layout = layout, .n = n + (hub == n), .partial = partial};
  tree.made = NEW_ARRAY(scratch, bool, tree.n);
  tree.nearest = NEW_ARRAY(scratch, int, tree.n);
  tree.between = NEW_ARRAY(scratch, RouteCost, tree.n * tree.n);
  for (int i = 0; i < tree.n * tree.n; i++) tree.between[i].starts = -1;
  int *other = NEW_ARRAY(scratch, int, tree.n);
  RouteCost least = grow(&tree, -1, n, NULL, parent);
  for (int first = 1; first < tree.n; first++) {
    if (n > MAX_TRIED && first != hub) continue;
    const RouteCost cost = grow(&tree, first, n, &least, other);
    if (!route_cheaper(cost, least)) continue;
    least = cost;
    memcpy(parent, other, sizeof *parent * (size_t)tree.n);
  }
  return least;
}

// Parents of all versions of a tensor, and what making them takes. The whole may become one.
static RouteCost plan_versions(Arena *arena, Arena *scratch, const Mesh *mesh, Routes *routes, int shape, Versions *versions) {
  const int n = versions->len;
  int *layout = NEW_ARRAY(scratch, int, n + 1), *parent = NEW_ARRAY(scratch, int, n + 1);
  for (int v = 0; v < n; v++) layout[v] = versions->at[v].number;
  const RouteCost least = plan_layouts(scratch, mesh, routes, shape, layout, n, parent);
  if (parent[n] >= 0) vec_push(arena, versions, version_of(routes, routes_layout_at(routes, layout[n])));
  const bool partial = is_partial(versions->at[0].layout);
  for (int v = 1; v < versions->len; v++) {
    versions->at[v].parent = parent[v];
    versions->at[v].early = partial && parent[v] == 0;
  }
  return least;
}

double demands_cost(Arena *scratch, const Mesh *mesh, Routes *routes, int shape, int made, const int *want, int n) {
  int *layout = NEW_ARRAY(scratch, int, n + 2), *parent = NEW_ARRAY(scratch, int, n + 2), known = 1;
  layout[0] = made;
  for (int i = 0; i < n; i++) {
    int v = 0;
    while (v < known && layout[v] != want[i]) v++;
    if (v == known) layout[known++] = want[i];
  }
  return plan_layouts(scratch, mesh, routes, shape, layout, known, parent).amount;
}

static void spread_phases(Versions *versions) {
  for (int round = 0; round < versions->len; round++)
    for (int v = 1; v < versions->len; v++) versions->at[versions->at[v].parent].read |= versions->at[v].read;
}

// What is read for reports only, made of the nearest version that the step has anyway. False where none will do.
static bool attach_reported(const Versions *all, Versions *step, Arena *arena, Routes *routes, int shape) {
  const bool partial = is_partial(step->at[0].layout);
  for (int v = 1; v < all->len; v++) {
    if (!is_reported(&all->at[v])) continue;
    Version version = all->at[v];
    RouteCost least = {INFINITY, 0};
    for (int u = partial; u < step->len; u++) {
      const RouteCost cost = routes_cost(routes, shape, step->at[u].number, version.number);
      if (!route_cheaper(cost, least)) continue;
      least = cost;
      version.parent = u;
    }
    if (least.amount == INFINITY) return false;
    vec_push(arena, step, version);
  }
  return true;
}

static double amount_of_version(const Versions *versions, int v, Routes *routes, int shape) {
  const Version *version = &versions->at[v];
  return is_reported(version) ? 0 : routes_cost(routes, shape, versions->at[version->parent].number, version->number).amount;
}

// Of what is planned, the part that is not only for reports.
static double amount_of_step(const Versions *versions, Routes *routes, int shape) {
  double amount = 0;
  for (int v = 1; v < versions->len; v++) amount += amount_of_version(versions, v, routes, shape);
  return amount;
}

double demands_amount(const Demands *d) {
  double amount = 0;
  for (int t = 0; t < d->graph->tensors.len; t++) {
    const int shape = d->of[t].len > 1 ? routes_shape(d->routes, graph_tensor(d->graph, t)) : 0;
    for (int v = 1; v < d->of[t].len; v++)
      amount += phase_times(d->graph, demands_phase(d, t, &d->of[t].at[v])) * amount_of_version(&d->of[t], v, d->routes, shape);
  }
  return amount;
}

// Reports do not decide what the step takes: where planning for all does, they get theirs from what the step has.
static void plan_tensor(Demands *d, Arena *scratch, int tensor) {
  Versions *all = &d->of[tensor], step = {0}, reported = *all;
  const int shape = routes_shape(d->routes, graph_tensor(d->graph, tensor));
  for (int v = 0; v < all->len; v++)
    if (v == 0 || !is_reported(&all->at[v])) vec_push(d->arena, &step, all->at[v]);
  const bool some = step.len > 1 && step.len < all->len;
  reported.at = arena_copy(scratch, all->at, sizeof *all->at * (size_t)all->len);
  plan_versions(d->arena, scratch, d->mesh, d->routes, shape, all);
  spread_phases(all);
  if (!some) return;
  const double alone = plan_versions(d->arena, scratch, d->mesh, d->routes, shape, &step).amount;
  if (amount_of_step(all, d->routes, shape) == alone || !attach_reported(&reported, &step, d->arena, d->routes, shape)) return;
  spread_phases(&step);
  *all = step;
}


Demands demands_of_graph(Arena *arena, Graph *graph, const Mesh *mesh, const CostModel *model) {
  Demands demands = {.graph = graph, .mesh = mesh, .routes = routes_new(arena, mesh, model), .arena = arena}, *d = &demands;
  d->of = NEW_ARRAY(arena, Versions, graph->tensors.len);
  d->first_read = NEW_ARRAY(arena, int, graph->ops.len + 1);
  for (int t = 0; t < graph->tensors.len; t++)
    if (graph_tensor(graph, t)->producer < 0) enter(d, t);
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    demand_of_op(d, op);
    d->first_read[i + 1] = d->reads.len;
    for (int r = 0; r < op_results(op); r++) {
      const int result = op_result(op, r);
      const Layout layout = result_layout(graph, op, r, mesh);
      graph_set_layout(graph, result, &layout);
      enter(d, result);
    }
  }
  for (int i = 0; i < graph->stores.len; i++)
    demand_of_leaving(d, graph->stores.at[i].value, graph_tensor(graph, graph->stores.at[i].state)->layout);
  for (int i = 0; i < graph->losses.len; i++) demand_of_leaving(d, graph->losses.at[i].tensor, &layout_replicated);
  for (int i = 0; i < graph->metrics.len; i++) demand_of_leaving(d, graph->metrics.at[i].tensor, &layout_replicated);
  demand_of_leaving(d, graph->gradient_norm, &layout_replicated);
  Arena *scratch = arena_new();
  for (int t = 0; t < graph->tensors.len; t++) {
    const Tensor *tensor = graph_tensor(graph, t);
    if (d->of[t].len > 2 || (d->of[t].len == 2 && is_partial(tensor->layout))) plan_tensor(d, scratch, t);
    else spread_phases(&d->of[t]);
    arena_reset(scratch);
  }
  arena_free(scratch);
  return demands;
}
