// Shortest paths over the layouts in which each axis that changes is as it was, as it is to be, whole, or plainly cut.
#include "route.h"

#include <math.h>

enum { MAX_OPTIONS = 4, MAX_STATES = 256 };

typedef struct Option {
  AxisLayout axis;
  Cut cut;
} Option; // of one axis

typedef struct Search {
  const RouteBy *by;
  const Mesh *mesh;
  const Shape *shape;
  const Layout *from, *to;
  uint32_t axes;
  Option option[MESH_MAX_AXES][MAX_OPTIONS];
  int n_options[MESH_MAX_AXES]; // 1 for axes that stay
  int n_states;                 // numbered by their options, axis by axis
} Search;

typedef struct State {
  Layout layout;
  bool valid, done;
  bool reached;
  RouteCost cost;
  int before;
} State;

bool route_cheaper(RouteCost a, RouteCost b) {
  return a.amount != b.amount ? a.amount < b.amount : a.starts < b.starts;
}

RouteCost route_cost_add(RouteCost a, RouteCost b) { return (RouteCost){a.amount + b.amount, a.starts + b.starts}; }

Shape shape_of(const Tensor *tensor) {
  Shape shape = {.rank = tensor->rank};
  memcpy(shape.extent, tensor->extent, sizeof *shape.extent * (size_t)tensor->rank);
  return shape;
}

// ---- the layouts in between ----------------------------------------------------------------------------------------

static Option option_of(const Layout *layout, int a) {
  Option option = {.axis = layout->axis[a]};
  if (option.axis.kind == LAYOUT_SHARD) option.cut = layout->cut[option.axis.dim];
  return option;
}

static void add_option(Search *s, int a, Option option) {
  for (int i = 0; i < s->n_options[a]; i++)
    if (memcmp(&s->option[a][i].axis, &option.axis, sizeof option.axis) == 0 &&
        memcmp(&s->option[a][i].cut, &option.cut, sizeof option.cut) == 0)
      return;
  s->option[a][s->n_options[a]++] = option;
}

// In the units in which the dimension is cut already, if it is.
static Cut plain_cut(const Search *s, int dim) {
  const Cut *from = &s->from->cut[dim];
  return from->units != 0 && cut_is_plain(from, s->shape->extent[dim]) ? *from : cut_plain(s->shape->extent[dim], 1);
}

// few: only as it was and as it is to be.
static void list_options(Search *s, bool few) {
  s->n_states = 1;
  for (int a = 0; a < s->mesh->n_axes; a++) {
    s->n_options[a] = 0;
    add_option(s, a, option_of(s->from, a));
    if (s->axes >> a & 1) add_option(s, a, option_of(s->to, a));
    const AxisLayout *to = &s->to->axis[a];
    if (s->axes >> a & 1 && !few && s->mesh->axis[a].size > 1) {
      add_option(s, a, (Option){.axis = {.kind = LAYOUT_REPLICATED}});
      if (to->kind == LAYOUT_SHARD) add_option(s, a, (Option){.axis = *to, .cut = plain_cut(s, to->dim)});
    }
    s->n_states *= s->n_options[a];
  }
}

// The layout with one option for each axis; false if axes that cut one dimension do not agree how. Those of size 1 agree
// with whatever the others do in the same units.
static bool build_state(const Search *s, int number, Layout *layout) {
  memset(layout, 0, sizeof *layout);
  for (int a = 0; a < s->mesh->n_axes; a++) {
    const Option *option = &s->option[a][number % s->n_options[a]];
    number /= s->n_options[a];
    layout->axis[a] = option->axis;
    if (option->axis.kind != LAYOUT_SHARD) continue;
    Cut *cut = &layout->cut[option->axis.dim];
    const bool taken = cut->units != 0 && memcmp(cut, &option->cut, sizeof *cut) != 0;
    if (taken && (s->mesh->axis[a].size > 1 || cut->units != option->cut.units)) return false;
    if (!taken) *cut = option->cut;
  }
  return true;
}

// ---- the search ----------------------------------------------------------------------------------------------------

// Several axes that change differently do that at once only to where they are to be in the end.
static bool worth_trying(const Search *s, const State *to, Reshard step) {
  return step.kind != RESHARD_exchange || (reshard_axes(s->mesh, &to->layout, s->to) & step.axes) == 0;
}

// Bytes of the busiest rank, or seconds.
static double amount_of(const Search *s, const Layout *from, const Layout *to, Reshard step) {
  const CostModel *model = s->by->model;
  if (model == NULL) return reshard_cost(s->mesh, s->shape, from, to, step, 4);
  return cost_of_reshard(model, s->shape, from, to, step, cost_element(model, s->by->type));
}

static void relax(const Search *s, State *states, int from, int to) {
  static const int starts[] = {[RESHARD_LOCAL] = 1, [RESHARD_COLLECTIVE] = 2, [RESHARD_MESSAGES] = 5};
  const State *x = &states[from];
  State *y = &states[to];
  Reshard step;
  if (!y->valid || y->done || !reshard_find(s->mesh, s->shape, &x->layout, &y->layout, &step)) return;
  if (!worth_trying(s, y, step)) return;
  const RouteCost own = {amount_of(s, &x->layout, &y->layout, step), starts[reshard_how(step.kind)]};
  const RouteCost cost = route_cost_add(x->cost, own);
  if (y->reached && !route_cheaper(cost, y->cost)) return;
  y->reached = true;
  y->cost = cost;
  y->before = from;
}

static int nearest(const State *states, int n) {
  int best = -1;
  for (int i = 0; i < n; i++)
    if (states[i].reached && !states[i].done && (best < 0 || route_cheaper(states[i].cost, states[best].cost)))
      best = i;
  return best;
}

// A step more cannot be cheaper than the way to the end that is known.
static bool may_gain(const State *at, const State *end) { return !end->reached || route_cheaper(at->cost, end->cost); }

static Route route_to(const Search *s, const State *states, int end) {
  Route route = {.cost = states[end].cost};
  for (int i = end; states[i].before >= 0; i = states[i].before) route.n++;
  if (route.n > ROUTE_MAX_STEPS) fatal("a change of layout in %d steps", route.n);
  for (int i = end, n = route.n; states[i].before >= 0; i = states[i].before) route.layout[--n] = states[i].layout;
  route.layout[route.n - 1] = *s->to;
  return route;
}

Route route_find(Arena *scratch, const RouteBy *by, const Shape *shape, const Layout *from, const Layout *to) {
  const Mesh *mesh = by->mesh;
  Search search =
             {.by = by, .mesh = mesh, .shape = shape, .from = from, .to = to, .axes = reshard_axes(mesh, from, to)},
         *s = &search;
  list_options(s, false);
  if (s->n_states > MAX_STATES) list_options(s, true);
  State *states = NEW_ARRAY(scratch, State, s->n_states + 1);
  int start = -1, end = -1;
  for (int i = 0; i < s->n_states; i++) {
    states[i].valid = build_state(s, i, &states[i].layout);
    states[i].before = -1;
    if (!states[i].valid) continue;
    if (start < 0 && reshard_axes(mesh, &states[i].layout, from) == 0) start = i;
    if (end < 0 && reshard_axes(mesh, &states[i].layout, to) == 0) end = i;
  }
  if (start < 0) fatal("a change from a layout that is none");
  if (end < 0) { // cut along the batch in units of its own: there is no other like it
    end = s->n_states++;
    states[end] = (State){.layout = *to, .valid = true, .before = -1};
  }
  states[start].reached = true;
  for (int i = start; i >= 0 && i != end; i = nearest(states, s->n_states)) {
    states[i].done = true;
    relax(s, states, i, end);
    for (int k = 0; k < s->n_states; k++)
      if (k != i && k != end && may_gain(&states[i], &states[end])) relax(s, states, i, k);
  }
  if (!states[end].reached) return (Route){.n = 0, .cost = {INFINITY, 0}};
  return route_to(s, states, end);
}
