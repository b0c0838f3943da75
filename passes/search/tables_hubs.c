// Tensors that many groups touch in many ways: a variable for each, a hub, between the group that makes the tensor and those that read it.
// Its values are sets of layouts in which the tensor is made beside the first one. A reader's layout is in the set, and what the set
// takes depends on the maker and the hub alone: what was a function of all of them is a tree.
//
//   maker -- hub -- reader 1            f(maker, hub)             what making the set takes
//              |--- reader 2            f(maker, hub, reader)     not allowed if its layout is told apart and not in the set
//
// Layouts are told apart once a tensor lay in them where it cost more than was counted (lazy constraints, as cutting planes are), if others
// may have use for them. With the set goes the whole that planning may make beside what is wanted (demands.c), or none. What a
// reader of another layout adds is the way to it from what is there then; but where it may come from what another reader wants that is not
// told apart, it is counted as a share: as much as is never too much where all that can read others do. What a
// set takes is at least a tree (trees.h); where all layouts are told apart it is what the planned changes take.
#include "tables_inner.h"

#include <math.h>

#include "trees.h"

enum { FEW = 5, MOST_TOLD = 8, MOST_TARGETS = 10 }; // layouts: that are told apart at once; that are; of a tree
enum { MOST_NODES = 128, MAX_HUB_TABLE = 1 << 18, MOST_WHOLES = 7 };

typedef struct Star { // a tensor, and who touches it
  Tables *t;
  const Tensor *tensor;
  int shape;
  const Port *maker;    // that chooses how it is made; or NULL
  int n_made;
  const int *made;      // [n_made] states of the maker; of none -1
  VEC(const Port *) readers; // that choose how they read it
  LayoutList fixed;     // in which others read it
  LayoutList wants;     // in which readers may want it
  int most;             // that they want together
  bool single;          // each wants at most one
  LayoutList told;
  int n_sets, *set;     // [n_sets] bits of `told`
  int n_wholes;         // 1, none, or that and one along each of these axes
  uint32_t whole[1 + MOST_WHOLES];
  int n_values;         // of the hub: [set][whole]
  bool all;             // all of `wants` are told apart
  double *takes;        // [made][value]
  double **more;        // by layout of `wants`, once it is asked: what sets take with it, at least, [made][set]
} Star;

// ---- who touches it ------------------------------------------------------------------------------------------------

static bool is_partial(const Star *s, int layout) {
  const Layout *of = routes_layout_at(s->t->p->routes, layout);
  for (int a = 0; a < s->t->p->cost.mesh->n_axes; a++)
    if (of->axis[a].kind == LAYOUT_PARTIAL) return true;
  return false;
}

static const PortState *state_at(const Star *s, int state) { return &s->t->ports->states.at[state]; }

static void add_reader(Star *s, const Port *port) {
  Arena *arena = s->t->p->arena;
  int most = 0;
  for (int i = 0; i < port->n_states; i++) {
    const PortState *state = state_at(s, port->state[i]);
    most = state->n > most ? state->n : most;
    for (int w = 0; w < state->n; w++) list_add(arena, port->n_states > 1 ? &s->wants : &s->fixed, state->want[w]);
  }
  if (port->n_states == 1) return;
  s->most += most;
  s->single = s->single && most <= 1;
  vec_push(arena, &s->readers, port);
}

static Star star_of(Tables *t, const Approximated *a, bool *const *needed) {
  static const int nobody = -1;
  const PortList *ports = &t->of[a->tensor];
  Star s = {.t = t, .tensor = graph_tensor(t->p->groups.graph, a->tensor), .n_made = 1, .made = &nobody, .single = true};
  s.shape = routes_shape(t->p->routes, s.tensor);
  for (int i = 0; i < ports->len; i++) {
    const Port *port = tables_needed_port(t, ports->at[i], needed[ports->at[i]->group]);
    if (!port_makes(t->ports, port)) {
      add_reader(&s, port);
      continue;
    }
    s.n_made = port->n_states;
    s.made = port->state;
    if (port->n_states > 1) s.maker = port;
  }
  return s;
}

static bool reader_wants(const Star *s, const Port *reader, int layout) {
  for (int i = 0; i < reader->n_states; i++) {
    const PortState *state = state_at(s, reader->state[i]);
    for (int w = 0; w < state->n; w++)
      if (state->want[w] == layout) return true;
  }
  return false;
}

static int root_of(const Star *s, int made) {
  return s->made[made] >= 0 ? state_at(s, s->made[made])->made : routes_layout(s->t->p->routes, &layout_replicated);
}

static int whole_of(const Star *s, int made, int whole) {
  const Layout layout = demands_whole(s->t->p->cost.mesh, routes_layout_at(s->t->p->routes, root_of(s, made)), s->whole[whole]);
  return routes_layout(s->t->p->routes, &layout);
}

static double direct(const Star *s, int from, int to) { return from == to ? 0 : routes_cost(s->t->p->routes, s->shape, from, to).amount; }

// ---- the sets ------------------------------------------------------------------------------------------------------

static int bits_of(int set) { return __builtin_popcount((unsigned)set); }

static void list_sets(Star *s) {
  s->set = NEW_ARRAY(s->t->p->arena, int, 1 << s->told.len);
  s->n_sets = 0;
  for (int set = 0; set < 1 << s->told.len; set++)
    if (bits_of(set) <= s->most + s->fixed.len) s->set[s->n_sets++] = set;
}

static bool is_large(const Star *s) {
  int64_t states = 1;
  for (int i = 0; i < s->readers.len; i++) states = max_i64(states, s->readers.at[i]->n_states);
  return (int64_t)s->n_made * s->n_sets * s->n_wholes * states > MAX_HUB_TABLE;
}

// Whether others may come by theirs from a layout, or want it, too.
static bool is_of_use(const Star *s, int layout) {
  int readers = 0;
  for (int r = 0; r < s->readers.len; r++) readers += reader_wants(s, s->readers.at[r], layout);
  for (int i = 0; i < s->wants.len && readers == 1; i++) {
    const int other = s->wants.at[i];
    if (other != layout && (is_partial(s, other) || is_partial(s, layout) || direct(s, layout, other) < INFINITY)) return true;
  }
  return readers > 1;
}

static void list_wholes(Star *s) {
  const Mesh *mesh = s->t->p->cost.mesh;
  uint32_t all = 0;
  for (int a = 0; a < mesh->n_axes; a++) all |= mesh->axis[a].size > 1 ? 1u << a : 0;
  s->n_wholes = 1;
  if (s->all || (1 << bits_of((int)all)) - 1 > MOST_WHOLES) return;
  for (uint32_t axes = 1; axes <= all; axes++)
    if ((axes & all) == axes) s->whole[s->n_wholes++] = axes;
}

// Of those that were seen as many as there is room for.
static void tell_apart(Star *s, const LayoutList *seen) {
  s->all = s->wants.len <= FEW;
  for (int i = 0; i < s->wants.len && s->all; i++) vec_push(s->t->p->arena, &s->told, s->wants.at[i]);
  for (int i = 0; i < seen->len && !s->all; i++)
    if (s->told.len < MOST_TOLD && list_has(&s->wants, seen->at[i]) && is_of_use(s, seen->at[i])) vec_push(s->t->p->arena, &s->told, seen->at[i]);
  list_wholes(s);
  for (list_sets(s); is_large(s) && s->told.len > 0; list_sets(s)) {
    s->told.len--;
    if (s->all) s->all = false, list_wholes(s);
  }
  s->n_values = s->n_sets * s->n_wholes;
}

static int place_of(const LayoutList *list, int layout) {
  int i = 0;
  while (i < list->len && list->at[i] != layout) i++;
  return i;
}

// Which of the layouts that are told apart a state of a reader wants.
static int told_of(const Star *s, const PortState *state) {
  int set = 0;
  for (int w = 0; w < state->n; w++) {
    const int i = place_of(&s->told, state->want[w]);
    set |= i < s->told.len ? 1 << i : 0;
  }
  return set;
}

// ---- what they take ------------------------------------------------------------------------------------------------

static double planned(const Star *s, int made, int set) {
  int *want = NEW_ARRAY(s->t->p->scratch, int, s->fixed.len + s->told.len), n = 0;
  for (int i = 0; i < s->fixed.len; i++) want[n++] = s->fixed.at[i];
  for (int i = 0; i < s->told.len; i++)
    if (set >> i & 1) want[n++] = s->told.at[i];
  return tables_wants_cost(s->t, s->tensor, s->made[made], want, n);
}

// All that any want is told apart: what is planned for a set, or for one with more in it, if that takes less.
static void take_planned(Star *s) {
  for (int m = 0; m < s->n_made; m++)
    for (int i = s->n_sets - 1; i >= 0; i--) {
      double *takes = &s->takes[m * s->n_sets + i]; // no whole goes with them
      *takes = planned(s, m, s->set[i]);
      arena_reset(s->t->p->scratch);
      for (int k = i + 1; k < s->n_sets; k++)
        if ((s->set[k] & s->set[i]) == s->set[i]) *takes = fmin(*takes, s->takes[m * s->n_sets + k]);
    }
}

static void add_node(const Star *s, Trees *trees, int layout) {
  if (!is_partial(s, layout)) trees_add(trees, layout);
}

// Every layout that planning may come to. False: they are too many.
static bool add_nodes(const Star *s, Trees *trees) {
  const Mesh *mesh = s->t->p->cost.mesh;
  for (int i = 0; i < s->fixed.len; i++) add_node(s, trees, s->fixed.at[i]);
  for (int i = 0; i < s->wants.len; i++) add_node(s, trees, s->wants.at[i]);
  for (int m = 0; m < s->n_made; m++)
    for (uint32_t axes = 0; axes < 1u << mesh->n_axes && trees->nodes.len <= MOST_NODES; axes++) {
      const Layout whole = demands_whole(mesh, routes_layout_at(s->t->p->routes, root_of(s, m)), axes);
      add_node(s, trees, routes_layout(s->t->p->routes, &whole));
    }
  for (int m = 0; m < s->n_made && s->made[m] >= 0; m++)
    for (int w = 0; w < state_at(s, s->made[m])->n; w++) add_node(s, trees, state_at(s, s->made[m])->want[w]);
  for (int m = 0; m < s->n_made; m++)
    for (int i = 0; i < s->wants.len && trees->nodes.len <= MOST_NODES; i++)
      add_node(s, trees, tables_resolved(s->t, root_of(s, m), s->wants.at[i]));
  return trees->nodes.len <= MOST_NODES;
}

// To what the maker itself wants.
static double own_way(const Star *s, const Trees *trees, int made) {
  const PortState *state = s->made[made] >= 0 ? state_at(s, s->made[made]) : NULL;
  double most = 0;
  for (int w = 0; state != NULL && w < state->n; w++)
    if (!is_partial(s, state->want[w])) most = fmax(most, trees_way(trees, state->made, state->want[w]));
  return most;
}

// The trees of all sets, with one more layout or not: [made][set]. Partial layouts are made on the way.
static void take_trees(const Star *s, const Trees *trees, int more, double *takes) {
  Arena *scratch = s->t->p->scratch;
  int target[MOST_TARGETS], n = 0, always = 0, bit[MOST_TOLD];
  for (int i = 0; i < s->told.len; i++) {
    bit[i] = is_partial(s, s->told.at[i]) ? 0 : 1 << n;
    if (bit[i] != 0) target[n++] = s->told.at[i];
  }
  for (int i = 0; i <= s->fixed.len; i++) {
    const int layout = i < s->fixed.len ? s->fixed.at[i] : more;
    if (layout < 0 || is_partial(s, layout) || n == MOST_TARGETS) continue;
    always |= 1 << n;
    target[n++] = layout;
  }
  Trees tree = *trees;
  tree.arena = scratch;
  const double *least = trees_least(&tree, target, n);
  for (int m = 0; m < s->n_made; m++) {
    const double own = own_way(s, &tree, m);
    for (int i = 0; i < s->n_sets; i++) {
      int set = always;
      for (int k = 0; k < s->told.len; k++) set |= s->set[i] >> k & 1 ? bit[k] : 0;
      const double from = trees_from(&tree, least, root_of(s, m), set);
      takes[m * s->n_sets + i] = tables_in_unit(s->t->p, s->tensor, fmax(own, from));
    }
  }
  arena_reset(scratch);
}

// Of all values: with the whole that goes with each.
static void take_wholes(Star *s, const Trees *trees) {
  Arena *arena = s->t->p->arena;
  double *takes = NEW_ARRAY(arena, double, s->n_made * s->n_sets);
  take_trees(s, trees, -1, takes);
  for (int entry = 0; entry < s->n_made * s->n_sets; entry++) s->takes[entry * s->n_wholes] = takes[entry];
  for (int m = 0; m < s->n_made; m++)
    for (int k = 1; k < s->n_wholes; k++) {
      const int layout = whole_of(s, m, k);
      if (layout != root_of(s, m)) take_trees(s, trees, layout, takes);
      for (int i = 0; i < s->n_sets; i++)
        s->takes[m * s->n_values + i * s->n_wholes + k] = layout == root_of(s, m) ? INFINITY : takes[m * s->n_sets + i]; // it is none
    }
}

// ---- ways to what is not told apart --------------------------------------------------------------------------------

// The nearest of what may be there, by layout of `wants`; of those that are partial nothing is asked.
typedef struct Ways {
  double *always; // [made][want] how it is made, what its maker reads, and what others do, whatever is chosen
  double *whole;  // [made][whole][want]
  double *told;   // [told][want]
  double *hidden; // [made][want] what may be there and no value of the hub says so, whoever reads it
  double *between; // [want][want]
  bool *offered;   // [reader][want]: other readers may want it, and it is not told apart
} Ways;

static void bring_near(const Star *s, double *nearest, int from) {
  for (int w = 0; w < s->wants.len; w++)
    if (!is_partial(s, s->wants.at[w])) nearest[w] = fmin(nearest[w], direct(s, from, s->wants.at[w]));
}

static double *far(const Star *s, int n) {
  double *nearest = NEW_ARRAY(s->t->p->arena, double, n *s->wants.len);
  for (int i = 0; i < n * s->wants.len; i++) nearest[i] = INFINITY;
  return nearest;
}

static void bring_near_of_maker(const Star *s, Ways *ways, int made) {
  const PortState *state = s->made[made] >= 0 ? state_at(s, s->made[made]) : NULL;
  const int root = root_of(s, made), n = s->wants.len;
  bring_near(s, &ways->always[made * n], root);
  for (int i = 0; i < s->fixed.len; i++) bring_near(s, &ways->always[made * n], tables_resolved(s->t, root, s->fixed.at[i]));
  for (int w = 0; state != NULL && w < state->n; w++) bring_near(s, &ways->always[made * n], tables_resolved(s->t, root, state->want[w]));
  for (int k = 1; k < s->n_wholes; k++) bring_near(s, &ways->whole[(made * s->n_wholes + k) * n], whole_of(s, made, k));
  for (int w = 0; w < n; w++)
    if (is_partial(s, s->wants.at[w])) bring_near(s, &ways->hidden[made * n], tables_resolved(s->t, root, s->wants.at[w]));
  for (uint32_t axes = 1; s->n_wholes == 1 && axes < 1u << s->t->p->cost.mesh->n_axes; axes++) {
    const Layout whole = demands_whole(s->t->p->cost.mesh, routes_layout_at(s->t->p->routes, root), axes);
    bring_near(s, &ways->hidden[made * n], routes_layout(s->t->p->routes, &whole));
  }
}

static void offer_to_reader(const Star *s, Ways *ways, int reader) {
  for (int w = 0; w < s->wants.len; w++) {
    bool *offered = &ways->offered[reader * s->wants.len + w];
    if (is_partial(s, s->wants.at[w]) || list_has(&s->told, s->wants.at[w])) continue;
    for (int r = 0; r < s->readers.len; r++) *offered |= (r != reader || !s->single) && reader_wants(s, s->readers.at[r], s->wants.at[w]);
  }
}

static Ways ways_of(const Star *s) {
  const int n = s->wants.len;
  Ways ways = {far(s, s->n_made), far(s, s->n_made * s->n_wholes), far(s, s->told.len), far(s, s->n_made), far(s, n), NULL};
  ways.offered = NEW_ARRAY(s->t->p->arena, bool, s->readers.len * n);
  for (int m = 0; m < s->n_made; m++) bring_near_of_maker(s, &ways, m);
  for (int i = 0; i < s->told.len; i++)
    if (!is_partial(s, s->told.at[i])) bring_near(s, &ways.told[i * n], s->told.at[i]);
  for (int w = 0; w < n; w++)
    if (!is_partial(s, s->wants.at[w])) bring_near(s, &ways.between[w * n], s->wants.at[w]);
  for (int r = 0; r < s->readers.len; r++) offer_to_reader(s, &ways, r);
  return ways;
}

// The way to a layout from what is there.
static double way_at(const Star *s, const Ways *ways, int made, int value, int want) {
  const int set = s->set[value / s->n_wholes], whole = value % s->n_wholes, n = s->wants.len;
  double way = fmin(ways->always[made * n + want], ways->whole[(made * s->n_wholes + whole) * n + want]);
  for (int i = 0; i < s->told.len; i++)
    if (set >> i & 1) way = fmin(way, ways->told[i * n + want]);
  return way;
}

// Whether a reader may come by a layout from what the hub does not say.
static bool may_share(const Star *s, const Ways *ways, int reader, int want) {
  const int n = s->wants.len;
  double from = INFINITY;
  for (int u = 0; u < n; u++)
    if (ways->offered[reader * n + u]) from = fmin(from, ways->between[u * n + want]);
  for (int m = 0; m < s->n_made; m++)
    if (from < ways->always[m * n + want]) return true;
  return false;
}

static int sharers(const Star *s, const Ways *ways) {
  int n = 0;
  for (int r = 0; r < s->readers.len; r++) {
    bool shares = false;
    for (int w = 0; w < s->wants.len && !shares; w++) {
      const int layout = s->wants.at[w];
      shares = !is_partial(s, layout) && !list_has(&s->told, layout) && reader_wants(s, s->readers.at[r], layout) && may_share(s, ways, r, w);
    }
    n += shares;
  }
  return n;
}

// ---- functions -----------------------------------------------------------------------------------------------------

typedef struct Reading { // of what is not told apart
  Star *s;
  const Trees *trees;
  Ways ways;
  int sharers;
} Reading;

// Of what it takes to make a layout that is not told apart, what each pays of those that may come by theirs from it.
static double share_of(Reading *reading, int made, int value, int layout) {
  Star *s = reading->s;
  const int set = value / s->n_wholes;
  const int others = s->single ? (int)min_i64(reading->sharers, s->readers.len - bits_of(s->set[set])) : reading->sharers;
  if (others <= 0) return INFINITY;
  if (s->more[layout] == NULL) {
    s->more[layout] = NEW_ARRAY(s->t->p->arena, double, s->n_made * s->n_sets);
    take_trees(s, reading->trees, s->wants.at[layout], s->more[layout]);
  }
  return fmax(s->more[layout][made * s->n_sets + set] - s->takes[made * s->n_values + value], 0) / others;
}

static double want_cost(Reading *reading, int reader, int made, int value, int want) {
  const Star *s = reading->s;
  const Ways *ways = &reading->ways;
  const int n = s->wants.len;
  double cost = tables_in_unit(s->t->p, s->tensor, fmin(way_at(s, ways, made, value, want), ways->hidden[made * n + want]));
  for (int u = 0; u < n; u++) {
    if (!ways->offered[reader * n + u] || ways->between[u * n + want] == INFINITY) continue;
    const double way = tables_in_unit(s->t->p, s->tensor, ways->between[u * n + want]);
    if (way < cost) cost = fmin(cost, way + share_of(reading, made, value, u));
  }
  return cost;
}

static double reading_cost(Reading *reading, int reader, int made, int value, const PortState *state) {
  const Star *s = reading->s;
  double cost = 0;
  for (int w = 0; w < state->n; w++)
    if (!is_partial(s, state->want[w]) && !list_has(&s->told, state->want[w]))
      cost = fmax(cost, want_cost(reading, reader, made, value, place_of(&s->wants, state->want[w])));
  return cost;
}

static const double *reader_costs(Reading *reading, int reader) {
  Star *s = reading->s;
  const Port *port = s->readers.at[reader];
  const int n_made = s->all ? 1 : s->n_made;
  double *cost = NEW_ARRAY(s->t->p->arena, double, (int64_t)n_made *s->n_values *port->n_states), *at = cost;
  for (int entry = 0; entry < n_made * s->n_values; entry++)
    for (int i = 0; i < port->n_states; i++, at++) {
      const PortState *state = state_at(s, port->state[i]);
      const int value = entry % s->n_values, set = s->set[value / s->n_wholes], told = told_of(s, state);
      if ((told & set) != told) *at = INFINITY;
      else if (!s->all && s->takes[entry] < INFINITY) *at = reading_cost(reading, reader, entry / s->n_values, value, state);
    }
  return cost;
}

static int *same_classes(Arena *arena, int n) {
  int *of = NEW_ARRAY(arena, int, n);
  for (int i = 0; i < n; i++) of[i] = i;
  return of;
}

static void add_var(CfnFunction *f, int var, int n, const int *class_of) {
  f->var[f->arity] = var;
  f->n_classes[f->arity] = n;
  f->class_of[f->arity++] = class_of;
}

static CfnFunction function_of(const Star *s, bool with_maker, int hub, const int *values, const double *cost) {
  CfnFunction f = {.cost = cost};
  if (with_maker && s->maker != NULL) add_var(&f, s->maker->group, s->maker->n_states, s->maker->class_of);
  add_var(&f, hub, s->n_values, values);
  return f;
}

static bool take_all(Star *s, Trees *trees) {
  Tables *t = s->t;
  s->takes = NEW_ARRAY(t->p->arena, double, s->n_made * s->n_values);
  s->more = NEW_ARRAY(t->p->arena, double *, s->wants.len);
  if (s->all) {
    take_planned(s);
    return true;
  }
  *trees = trees_new(t->p->arena, t->p->routes, s->shape);
  if (s->told.len + s->fixed.len >= MOST_TARGETS || !add_nodes(s, trees)) return false;
  trees_connect(trees);
  take_wholes(s, trees);
  return true;
}

static int *sets_of_values(const Star *s) {
  int *sets = NEW_ARRAY(s->t->p->arena, int, s->n_values);
  for (int i = 0; i < s->n_values; i++) sets[i] = s->set[i / s->n_wholes];
  return sets;
}

bool tables_add_hub(Tables *t, Approximated *a, bool *const *needed, Cfn *cfn) {
  if (t->seen[a->kind].len == 0) return false;
  Arena *arena = t->p->arena;
  Star s = star_of(t, a, needed);
  Trees trees;
  tell_apart(&s, &t->seen[a->kind]);
  if (s.n_values == 1 || !take_all(&s, &trees)) return false;
  a->hub = cfn->variables.len;
  a->told = s.told;
  a->sets = sets_of_values(&s);
  a->n_values = s.n_values;
  const int *values = same_classes(arena, s.n_values);
  vec_push(arena, &cfn->variables, (CfnVariable){.name = s.tensor->name, .n_values = s.n_values, .cost = NEW_ARRAY(arena, double, s.n_values)});
  vec_push(arena, &cfn->functions, function_of(&s, true, a->hub, values, s.takes));
  Reading reading = {.s = &s, .trees = &trees};
  if (!s.all) reading.ways = ways_of(&s), reading.sharers = sharers(&s, &reading.ways);
  for (int i = 0; i < s.readers.len; i++) {
    CfnFunction f = function_of(&s, !s.all, a->hub, values, reader_costs(&reading, i));
    add_var(&f, s.readers.at[i]->group, s.readers.at[i]->n_states, s.readers.at[i]->class_of);
    vec_push(arena, &cfn->functions, f);
  }
  return true;
}

// ---- what was seen -------------------------------------------------------------------------------------------------

static int set_in(const Tables *t, const Approximated *a, const int *value) {
  const PortList *ports = &t->of[a->tensor];
  int set = 0;
  for (int i = 0; i < ports->len; i++) {
    const PortState *state = &t->ports->states.at[ports->at[i]->state[port_class(ports->at[i], value)]];
    for (int w = 0; w < state->n && state->made < 0; w++) {
      const int place = place_of(&a->told, state->want[w]);
      set |= place < a->told.len ? 1 << place : 0;
    }
  }
  return set;
}

// Of the values of a hub with this set the one that is counted least.
static int best_value(const Cfn *cfn, const Approximated *a, int set, int *value) {
  int best = 0;
  double least = INFINITY;
  for (int i = 0; i < a->n_values; i++) {
    if (a->sets[i] != set) continue;
    double counted = 0;
    value[a->hub] = i;
    for (int f = 0; f < a->n_now; f++) counted += cfn_function_cost(&cfn->functions.at[a->now + f], value);
    if (counted < least || least == INFINITY) least = counted, best = i;
  }
  return best;
}

int *tables_complete(const Tables *t, const Cfn *cfn, const int *value) {
  int *complete = NEW_ARRAY(t->p->arena, int, cfn->variables.len);
  memcpy(complete, value, sizeof *value * (size_t)t->p->groups.list.len);
  for (int k = 0; k < t->approximated.len; k++) {
    const Approximated *a = &t->approximated.at[k];
    if (a->hub >= 0) complete[a->hub] = best_value(cfn, a, set_in(t, a, value), complete);
  }
  return complete;
}

// Tensors of layers that repeat share what was seen.
bool tables_see(Tables *t, const Cfn *cfn, const int *value) {
  bool any = false;
  for (int k = 0; k < t->approximated.len; k++) {
    const Approximated *a = &t->approximated.at[k];
    const PortList *ports = &t->of[a->tensor];
    double counted = 0;
    for (int i = 0; i < a->n_now; i++) counted += cfn_function_cost(&cfn->functions.at[a->now + i], value);
    const bool is_more = a->n_now > 0 && tables_true_cost(t, a, value) > counted * (1 + 1e-9);
    arena_reset(t->p->scratch);
    for (int i = 0; i < ports->len && is_more; i++) {
      const PortState *state = &t->ports->states.at[ports->at[i]->state[port_class(ports->at[i], value)]];
      for (int w = 0; w < state->n && state->made < 0; w++) {
        const int before = t->seen[a->kind].len;
        list_add(t->p->arena, &t->seen[a->kind], state->want[w]);
        any |= t->seen[a->kind].len > before;
      }
    }
  }
  return any;
}
