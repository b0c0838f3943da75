// Shortest paths over the layouts in which each axis that changes is as it was, as it is to be, whole, or plainly cut.
//
// A layout is what it says of each axis: an option, a number. So layouts are numbers, too, and what one step takes is known by the
// numbers of a shape and of two layouts.
#include "route.h"

#include <math.h>

// Where more states than MANY are possible, each axis is only as it was or as it is to be.
enum { MAX_OPTIONS = 4, MANY_STATES = 256, MAX_STATES = 1 << MESH_MAX_AXES };

typedef struct Option {
  AxisLayout axis;
  Cut cut; // of the dimension that the axis shards
} Option;  // what a layout says of one axis

typedef struct Known { // a layout
  Layout layout;
  int option[MESH_MAX_AXES];
} Known;

typedef struct KnownShape {
  Shape shape;
  int element; // bytes
} KnownShape;

typedef struct Step { // from one layout of a shape to another
  double amount;    // INFINITY: there is none
  short axes;       // bits; of a way in several steps 0, as its kind
  signed char kind; // a ReshardKind
  unsigned char starts;
} Step;

typedef struct StepMap { // by shape and two layouts
  struct { uint64_t key; Step step; } *slot; // key 0: there is nothing
  int64_t len, cap;
} StepMap;

struct Routes {
  Arena *arena;
  const Mesh *mesh;
  const CostModel *model;
  Numbers option_numbers, layout_numbers, shape_numbers;
  Arena *of_steps; // what may be forgotten
  StepMap steps, ways;
  WordMap route_numbers, move_numbers; // by shape and two layouts
  VEC(Option) options;
  VEC(const Known *) layouts;
  VEC(KnownShape) shapes;
  VEC(Route) routes; // of the ways that are gone
  VEC(int64_t) moves; // reshard_moved
  int64_t tried;      // steps, of all ways that were searched
};

bool route_cheaper(RouteCost a, RouteCost b) {
  return a.amount != b.amount ? a.amount < b.amount : a.starts < b.starts;
}

RouteCost route_cost_add(RouteCost a, RouteCost b) { return (RouteCost){a.amount + b.amount, a.starts + b.starts}; }

Shape shape_of(const Tensor *tensor) {
  Shape shape = {.rank = tensor->rank, .spread = tensor->looked_up};
  memcpy(shape.extent, tensor->extent, sizeof *shape.extent * (size_t)tensor->rank);
  return shape;
}

// ---- numbers -------------------------------------------------------------------------------------------------------

Routes *routes_new(Arena *arena, const Mesh *mesh, const CostModel *model) {
  Routes *routes = NEW(arena, Routes);
  *routes = (Routes){.arena = arena, .mesh = mesh, .model = model, .of_steps = arena_new()};
  arena_own(arena, routes->of_steps);
  routes->option_numbers.arena = routes->layout_numbers.arena = routes->shape_numbers.arena = arena;
  routes->route_numbers.arena = routes->move_numbers.arena = arena;
  return routes;
}

static int number_of_option(Routes *routes, const Option *option) {
  const AxisLayout *axis = &option->axis;
  const int64_t key[] = {axis->kind,       axis->dim,          axis->reduce,      axis->pin,      option->cut.units,
                         option->cut.scale, option->cut.before, option->cut.after, option->cut.div};
  const int number = numbers_of(&routes->option_numbers, key, sizeof key);
  if (number == routes->options.len) vec_push(routes->arena, &routes->options, *option);
  return number;
}

static Option option_of(const Layout *layout, int a) {
  Option option = {.axis = layout->axis[a]};
  if (option.axis.kind == LAYOUT_SHARD) option.cut = layout->cut[option.axis.dim];
  return option;
}

// layout: NULL if it is to be built of its options. An axis of size 1 agrees with those of more ranks, which say how the dimension is cut.
static int number_of_options(Routes *routes, const int *option, const Layout *layout) {
  const int n_axes = routes->mesh->n_axes, number = numbers_of(&routes->layout_numbers, option, sizeof *option * (size_t)n_axes);
  if (number < routes->layouts.len) return number;
  Known *known = NEW(routes->arena, Known);
  known->layout = layout != NULL ? *layout : layout_replicated;
  for (int a = 0; a < n_axes; a++) known->option[a] = option[a];
  for (int a = 0; a < n_axes && layout == NULL; a++) {
    const Option *of_axis = &routes->options.at[option[a]];
    Cut *cut = &known->layout.cut[of_axis->axis.dim];
    known->layout.axis[a] = of_axis->axis;
    if (of_axis->axis.kind == LAYOUT_SHARD && (cut->units == 0 || routes->mesh->axis[a].size > 1)) *cut = of_axis->cut;
  }
  vec_push(routes->arena, &routes->layouts, known);
  return number;
}

int routes_layout(Routes *routes, const Layout *layout) {
  int option[MESH_MAX_AXES];
  for (int a = 0; a < routes->mesh->n_axes; a++) {
    const Option of_axis = option_of(layout, a);
    option[a] = number_of_option(routes, &of_axis);
  }
  return number_of_options(routes, option, layout);
}

void routes_forget(Routes *routes) {
  arena_reset(routes->of_steps);
  routes->steps = routes->ways = (StepMap){NULL, 0, 0};
}

int64_t routes_tried(const Routes *routes) { return routes->tried; }

const Layout *routes_layout_at(const Routes *routes, int number) { return &routes->layouts.at[number]->layout; }

static int number_of_shape(Routes *routes, const Shape *shape, int element) {
  int64_t key[LAYOUT_MAX_RANK + 2] = {element, (int64_t)(intptr_t)shape->spread};
  memcpy(key + 2, shape->extent, sizeof *key * (size_t)shape->rank);
  const int number = numbers_of(&routes->shape_numbers, key, sizeof *key * ((size_t)shape->rank + 2));
  if (number == routes->shapes.len) vec_push(routes->arena, &routes->shapes, (KnownShape){*shape, element});
  return number;
}

int routes_shape(Routes *routes, const Tensor *tensor) {
  const Shape shape = shape_of(tensor);
  return number_of_shape(routes, &shape, routes->model == NULL ? 4 : cost_element(routes->model, tensor->type));
}

static uint64_t key_of(int shape, int from, int to) {
  enum { SHAPES = 1 << 20, LAYOUTS = 1 << 22 };
  if (shape >= SHAPES || from >= LAYOUTS || to >= LAYOUTS) fatal("too many shapes or layouts of tensors");
  return ((uint64_t)shape * LAYOUTS + (uint64_t)from) * LAYOUTS + (uint64_t)to;
}

// ---- the layouts in between ----------------------------------------------------------------------------------------

// Which option each axis has: a bit of each axis' four.
typedef uint64_t Chosen;
static Chosen bit_of(int a, int option) { return (Chosen)1 << (a * MAX_OPTIONS + option); }
static Chosen bits_of_axis(int a) { return (((Chosen)1 << MAX_OPTIONS) - 1) << (a * MAX_OPTIONS); }

typedef struct State {
  Chosen chosen;
  bool is_one; // false: axes that cut one dimension do not agree how
  bool done, reached;
  int layout; // -1: its number is not known yet
  RouteCost cost;
  int before;
} State;

typedef struct Search {
  Routes *routes;
  const Mesh *mesh;
  int shape, from, to;
  int option[MESH_MAX_AXES][MAX_OPTIONS];
  int n_options[MESH_MAX_AXES]; // 1 for axes that stay
  Chosen last;                  // the options that axes end with
  Chosen real;                  // of axes of several ranks
  Chosen of_kind[LAYOUT_KINDS]; // options
  Chosen windows;               // options: nothing is made of them (reshard_find)
  int n_states;                 // numbered by their options, axis by axis
  State state[MAX_STATES + 1];
} Search;

static const Layout *layout_at(const Search *s, int number) { return routes_layout_at(s->routes, number); }

static int add_option(Search *s, int a, int option) {
  int i = 0;
  while (i < s->n_options[a] && s->option[a][i] != option) i++;
  if (i == s->n_options[a]) {
    const Option *is = &s->routes->options.at[option];
    const bool window = is->axis.kind == LAYOUT_SHARD && !cut_is_plain(&is->cut, s->routes->shapes.at[s->shape].shape.extent[is->axis.dim]);
    s->of_kind[is->axis.kind] |= bit_of(a, i);
    if (window) s->windows |= bit_of(a, i);
    s->option[a][s->n_options[a]++] = option;
  }
  return i;
}

// In the units in which the dimension is cut already, if it is.
static Cut plain_cut(const Search *s, int dim) {
  const Cut *from = &layout_at(s, s->from)->cut[dim];
  const int64_t extent = s->routes->shapes.at[s->shape].shape.extent[dim];
  return from->units != 0 && cut_is_plain(from, extent) ? *from : cut_plain(extent, 1);
}

// few: only as it was and as it is to be.
static void list_options(Search *s, uint32_t axes, bool few) {
  const Layout *end = layout_at(s, s->to);
  s->n_states = 1;
  s->last = s->real = s->windows = 0;
  for (int kind = 0; kind < LAYOUT_KINDS; kind++) s->of_kind[kind] = 0;
  for (int a = 0; a < s->mesh->n_axes; a++) {
    const bool changes = axes >> a & 1, real = s->mesh->axis[a].size > 1;
    s->n_options[a] = 0;
    int last = add_option(s, a, s->routes->layouts.at[s->from]->option[a]);
    if (changes) last = add_option(s, a, s->routes->layouts.at[s->to]->option[a]);
    s->last |= bit_of(a, last);
    if (real) s->real |= bits_of_axis(a);
    const AxisLayout *to = &end->axis[a];
    if (changes && !few && real) {
      add_option(s, a, number_of_option(s->routes, &(Option){.axis = {.kind = LAYOUT_REPLICATED}}));
      if (to->kind == LAYOUT_SHARD) add_option(s, a, number_of_option(s->routes, &(Option){.axis = *to, .cut = plain_cut(s, to->dim)}));
    }
    s->n_states *= s->n_options[a];
  }
}

// Axes that cut one dimension agree how. Those of size 1 agree with whatever the others do in the same units.
static bool agree(const Search *s, int a, int b, int option_a, int option_b) {
  const Option *x = &s->routes->options.at[option_a], *y = &s->routes->options.at[option_b];
  if (option_a == option_b || x->axis.kind != LAYOUT_SHARD || y->axis.kind != LAYOUT_SHARD || x->axis.dim != y->axis.dim) return true;
  return (s->mesh->axis[a].size == 1 || s->mesh->axis[b].size == 1) && x->cut.units == y->cut.units;
}

// The options of axes before this one that an option of it does not agree with.
static Chosen against(const Search *s, int a, int option) {
  Chosen others = 0;
  for (int b = 0; b < a; b++)
    for (int i = 0; i < s->n_options[b]; i++)
      if (!agree(s, a, b, s->option[a][option], s->option[b][i])) others |= bit_of(b, i);
  return others;
}

static void make_states(Search *s) {
  int n = 1;
  s->state[0] = (State){.is_one = true, .layout = -1, .before = -1};
  for (int a = 0; a < s->mesh->n_axes; n *= s->n_options[a++])
    for (int option = s->n_options[a] - 1; option >= 0; option--) { // the first one in place, at last
      const Chosen others = against(s, a, option), own = bit_of(a, option);
      for (int i = 0; i < n; i++) {
        State *state = &s->state[option * n + i];
        *state = s->state[i];
        state->is_one &= (state->chosen & others) == 0;
        state->chosen |= own;
      }
    }
}

static int option_at(const Search *s, const State *state, int a) {
  int i = 0;
  while ((state->chosen & bit_of(a, i)) == 0) i++;
  return s->option[a][i];
}

static int layout_of_state(const Search *s, State *state) {
  if (state->layout >= 0) return state->layout;
  int option[MESH_MAX_AXES];
  for (int a = 0; a < s->mesh->n_axes; a++) option[a] = option_at(s, state, a);
  return state->layout = number_of_options(s->routes, option, NULL);
}

// ---- the search ----------------------------------------------------------------------------------------------------

static int64_t common_multiple(int64_t a, int64_t b) { return a / gcd_i64(a, b) * b; }

// Into how many equal blocks a dimension is cut; 0: they are not equal, or windows.
static int64_t equal_blocks(const Mesh *mesh, const Layout *layout, int dim, int64_t extent) {
  const Cut *cut = &layout->cut[dim];
  const int64_t parts = mesh_parts(mesh, layout_axes_of(layout, mesh->n_axes, dim));
  if (cut->units == 0) return 1;
  return cut_is_plain(cut, extent) && cut->units % parts == 0 ? parts : 0;
}

// Where blocks are equal what is moved grows with the extent: what is found of the least extent holds for all shapes.
static int64_t moved_between(Routes *routes, const Shape *shape, const Layout *from, const Layout *to) {
  Shape least = *shape;
  Layout x = *from, y = *to;
  int64_t times = 1;
  for (int i = 0; i < shape->rank; i++) {
    const int64_t blocks = equal_blocks(routes->mesh, from, i, shape->extent[i]), others = equal_blocks(routes->mesh, to, i, shape->extent[i]);
    if (blocks == 0 || others == 0) continue;
    least.extent[i] = common_multiple(blocks, others);
    times *= shape->extent[i] / least.extent[i];
    if (x.cut[i].units != 0) x.cut[i] = cut_plain(least.extent[i], 1);
    if (y.cut[i].units != 0) y.cut[i] = cut_plain(least.extent[i], 1);
  }
  int *number = word_map_at(&routes->move_numbers, key_of(number_of_shape(routes, &least, 1), routes_layout(routes, &x), routes_layout(routes, &y)));
  if (*number < 0) {
    *number = routes->moves.len;
    vec_push_own(routes->arena, &routes->moves, reshard_moved(routes->mesh, &least, &x, &y));
  }
  return times_i64(times, routes->moves.at[*number]);
}

static Step make_step(Routes *routes, int shape, int from, int to) {
  static const unsigned char starts[] = {[RESHARD_NOTHING] = 0, [RESHARD_LOCAL] = 1, [RESHARD_COLLECTIVE] = 2, [RESHARD_MESSAGES] = 5};
  const KnownShape of = routes->shapes.at[shape];
  const Layout x = *routes_layout_at(routes, from), y = *routes_layout_at(routes, to);
  Reshard step;
  if (!reshard_find(routes->mesh, &of.shape, &x, &y, &step)) return (Step){.amount = INFINITY};
  const int64_t moved = reshard_is_measured(step.kind) ? moved_between(routes, &of.shape, &x, &y) : 0;
  double amount = reshard_cost_of(routes->mesh, &of.shape, &x, step, of.element, moved);
  if (routes->model != NULL) amount = cost_of_moving(routes->model, &of.shape, &x, &y, step, of.element, amount).seconds;
  return (Step){amount, (short)step.axes, (signed char)step.kind, starts[reshard_how(step.kind)]};
}

static int64_t step_slot(const StepMap *map, uint64_t key) {
  const uint64_t hash = key * 0x9e3779b97f4a7c15u;
  int64_t i = (int64_t)((hash ^ hash >> 32) & (uint64_t)(map->cap - 1));
  while (map->slot[i].key != 0 && map->slot[i].key != key) i = (i + 1) & (map->cap - 1);
  return i;
}

static void grow_map(Arena *arena, StepMap *map) {
  const StepMap old = *map;
  map->cap = old.cap == 0 ? 1 << 8 : old.cap * 2;
  map->slot = arena_alloc(arena, sizeof *old.slot * (size_t)map->cap);
  for (int64_t i = 0; i < old.cap; i++)
    if (old.slot[i].key != 0) map->slot[step_slot(map, old.slot[i].key)] = old.slot[i];
  arena_give_back(arena, old.slot, sizeof *old.slot * (size_t)old.cap);
}

// Where it is kept until the next key is put in. *known: something was there.
static Step *step_at(Arena *arena, StepMap *map, uint64_t key, bool *known) {
  if (map->len * 3 >= map->cap * 2) grow_map(arena, map);
  const int64_t i = step_slot(map, key);
  *known = map->slot[i].key != 0;
  map->slot[i].key = key;
  map->len += !*known;
  return &map->slot[i].step;
}

// Between layouts that differ.
static Step step_between(Routes *routes, int shape, int from, int to) {
  bool known;
  Step *step = step_at(routes->of_steps, &routes->steps, key_of(shape, from, to), &known);
  if (!known) *step = make_step(routes, shape, from, to);
  return *step;
}

// Several axes that change differently do that at once only to where they are to be in the end.
static bool worth_trying(const Search *s, int to, const Step *step) {
  return step->kind != RESHARD_exchange || (reshard_axes(s->mesh, layout_at(s, to), layout_at(s, s->to)) & (uint32_t)step->axes) == 0;
}

// Whether options are all of one kind.
static bool are_alike(const Search *s, Chosen options) {
  for (int kind = 0; kind < LAYOUT_KINDS; kind++)
    if ((options & ~s->of_kind[kind]) == 0) return true;
  return false;
}

// The same, before the step is known: false only where there is none, or it would not be worth trying.
static bool may_be_worth(const Search *s, const State *from, const State *to) {
  const Chosen before = from->chosen & ~to->chosen & s->real, after = to->chosen & ~from->chosen & s->real;
  if ((before & s->windows) != 0 || (after & s->of_kind[LAYOUT_PARTIAL]) != 0) return false;
  const bool settled = (after & ~s->last) == 0, local = (before & ~s->of_kind[LAYOUT_REPLICATED]) == 0;
  return settled || local || (are_alike(s, before) && are_alike(s, after));
}

// A step more cannot be cheaper than the way to a state that is known.
static bool may_gain(const State *at, const State *known) { return !known->reached || route_cheaper(at->cost, known->cost); }

static void relax(Search *s, int from, int to) {
  const State *x = &s->state[from];
  State *y = &s->state[to];
  if (!y->is_one || y->done || !may_gain(x, y) || !may_be_worth(s, x, y)) return;
  const Step step = step_between(s->routes, s->shape, x->layout, layout_of_state(s, y));
  if (step.amount == INFINITY || !worth_trying(s, y->layout, &step)) return;
  const RouteCost cost = route_cost_add(x->cost, (RouteCost){step.amount, step.starts});
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

static int end_of(Search *s) {
  int end = 0;
  while (s->state[end].chosen != s->last) end++;
  if (s->state[end].is_one && layout_of_state(s, &s->state[end]) == s->to) return end;
  for (int i = 0; i < s->n_states; i++)
    if (s->state[i].is_one && reshard_axes(s->mesh, layout_at(s, layout_of_state(s, &s->state[i])), layout_at(s, s->to)) == 0) return i;
  const int other = s->n_states++; // cut along the batch in units of its own: there is none like it
  s->state[other] = (State){.chosen = s->last, .is_one = true, .layout = s->to, .before = -1};
  return other;
}

// Gives the state of the end; -1: it is not reached.
static int search(Search *s, Routes *routes, int shape, int from, int to) {
  const Mesh *mesh = s->mesh = routes->mesh;
  s->routes = routes;
  s->shape = shape, s->from = from, s->to = to;
  const uint32_t axes = reshard_axes(mesh, layout_at(s, from), layout_at(s, to));
  list_options(s, axes, false);
  if (s->n_states > MANY_STATES) list_options(s, axes, true);
  const int start = 0; // every axis as it was
  make_states(s);
  if (!s->state[start].is_one) fatal("a change from a layout that is none");
  const int end = end_of(s);
  s->state[start].layout = from;
  s->state[start].reached = true;
  for (int i = start; i >= 0 && i != end; i = nearest(s->state, s->n_states)) {
    s->state[i].done = true;
    routes->tried += s->n_states;
    relax(s, i, end);
    for (int k = 0; k < s->n_states; k++)
      if (k != i && k != end && may_gain(&s->state[i], &s->state[end])) relax(s, i, k);
  }
  return s->state[end].reached ? end : -1;
}

static Route search_route(Routes *routes, int shape, int from, int to) {
  Search s;
  const int end = search(&s, routes, shape, from, to);
  if (end < 0) return (Route){.n = 0, .cost = {INFINITY, 0}};
  Route route = {.cost = s.state[end].cost};
  for (int i = end; s.state[i].before >= 0; i = s.state[i].before) route.n++;
  if (route.n > ROUTE_MAX_STEPS) fatal("a change of layout in %d steps", route.n);
  for (int i = end, n = route.n; s.state[i].before >= 0; i = s.state[i].before) route.layout[--n] = s.state[i].layout;
  route.layout[route.n - 1] = to;
  return route;
}

Route route_find(Routes *routes, int shape, int from, int to) {
  int *number = word_map_at(&routes->route_numbers, key_of(shape, from, to));
  if (*number < 0) {
    *number = routes->routes.len;
    vec_push(routes->arena, &routes->routes, search_route(routes, shape, from, to));
  }
  return routes->routes.at[*number];
}

RouteCost routes_cost(Routes *routes, int shape, int from, int to) {
  bool known;
  Step *way = step_at(routes->of_steps, &routes->ways, key_of(shape, from, to), &known);
  if (!known) {
    Search s;
    const int end = search(&s, routes, shape, from, to);
    *way = (Step){.amount = INFINITY};
    if (end >= 0) *way = (Step){.amount = s.state[end].cost.amount, .starts = (unsigned char)s.state[end].cost.starts};
  }
  return (RouteCost){way->amount, way->starts};
}
