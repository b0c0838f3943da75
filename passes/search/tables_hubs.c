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
#include "tables_star.h"

#include <math.h>

#include "trees.h"

enum { MOST_TARGETS = 10, MOST_NODES = 128 }; // layouts of a tree

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
  if (!star_is_partial(s, layout)) trees_add(trees, layout);
}

// Every layout that planning may come to. False: they are too many.
static bool add_nodes(const Star *s, Trees *trees) {
  const Mesh *mesh = s->t->p->cost.mesh;
  for (int i = 0; i < s->fixed.len; i++) add_node(s, trees, s->fixed.at[i]);
  for (int i = 0; i < s->wants.len; i++) add_node(s, trees, s->wants.at[i]);
  for (int m = 0; m < s->n_made; m++)
    for (uint32_t axes = 0; axes < 1u << mesh->n_axes && trees->nodes.len <= MOST_NODES; axes++) {
      const Layout whole = demands_whole(mesh, routes_layout_at(s->t->p->routes, star_root(s, m)), axes);
      add_node(s, trees, routes_layout(s->t->p->routes, &whole));
    }
  for (int m = 0; m < s->n_made && s->made[m] >= 0; m++)
    for (int w = 0; w < star_state(s, s->made[m])->n; w++) add_node(s, trees, star_state(s, s->made[m])->want[w]);
  for (int m = 0; m < s->n_made; m++)
    for (int i = 0; i < s->wants.len && trees->nodes.len <= MOST_NODES; i++)
      add_node(s, trees, tables_resolved(s->t, star_root(s, m), s->wants.at[i]));
  return trees->nodes.len <= MOST_NODES;
}

// To what the maker itself wants.
static double own_way(const Star *s, const Trees *trees, int made) {
  const PortState *state = s->made[made] >= 0 ? star_state(s, s->made[made]) : NULL;
  double most = 0;
  for (int w = 0; state != NULL && w < state->n; w++)
    if (!star_is_partial(s, state->want[w])) most = fmax(most, trees_way(trees, state->made, state->want[w]));
  return most;
}

// The trees of all sets, with one more layout or not: [made][set]. Partial layouts are made on the way.
static void take_trees(const Star *s, const Trees *trees, int more, double *takes) {
  Arena *scratch = s->t->p->scratch;
  int target[MOST_TARGETS], n = 0, always = 0, bit[MOST_TOLD];
  for (int i = 0; i < s->told.len; i++) {
    bit[i] = star_is_partial(s, s->told.at[i]) ? 0 : 1 << n;
    if (bit[i] != 0) target[n++] = s->told.at[i];
  }
  for (int i = 0; i <= s->fixed.len; i++) {
    const int layout = i < s->fixed.len ? s->fixed.at[i] : more;
    if (layout < 0 || star_is_partial(s, layout) || n == MOST_TARGETS) continue;
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
      const double from = trees_from(&tree, least, star_root(s, m), set);
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
      const int layout = star_whole(s, m, k);
      if (layout != star_root(s, m)) take_trees(s, trees, layout, takes);
      for (int i = 0; i < s->n_sets; i++)
        s->takes[m * s->n_values + i * s->n_wholes + k] = layout == star_root(s, m) ? INFINITY : takes[m * s->n_sets + i]; // it is none
    }
}

// ---- functions -----------------------------------------------------------------------------------------------------

typedef struct Reading { // of what is not told apart
  Star *s;
  const Trees *trees;
  StarWays ways;
  int sharers;
} Reading;

// Of what it takes to make a layout that is not told apart, what each pays of those that may come by theirs from it.
static double share_of(Reading *reading, int made, int value, int layout) {
  Star *s = reading->s;
  const int set = value / s->n_wholes;
  const int others = s->single ? (int)min_i64(reading->sharers, s->readers.len - star_bits(s->set[set])) : reading->sharers;
  if (others <= 0) return INFINITY;
  if (s->more[layout] == NULL) {
    s->more[layout] = NEW_ARRAY(s->t->p->arena, double, s->n_made * s->n_sets);
    take_trees(s, reading->trees, s->wants.at[layout], s->more[layout]);
  }
  return fmax(s->more[layout][made * s->n_sets + set] - s->takes[made * s->n_values + value], 0) / others;
}

static double want_cost(Reading *reading, int reader, int made, int value, int want) {
  const Star *s = reading->s;
  const StarWays *ways = &reading->ways;
  const int n = s->wants.len;
  double cost = tables_in_unit(s->t->p, s->tensor, fmin(star_way(s, ways, made, value, want), ways->hidden[made * n + want]));
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
    if (!star_is_partial(s, state->want[w]) && !list_has(&s->told, state->want[w]))
      cost = fmax(cost, want_cost(reading, reader, made, value, star_place(&s->wants, state->want[w])));
  return cost;
}

static const double *reader_costs(Reading *reading, int reader) {
  Star *s = reading->s;
  const Port *port = s->readers.at[reader];
  const int n_made = s->all ? 1 : s->n_made;
  double *cost = NEW_ARRAY(s->t->p->arena, double, (int64_t)n_made *s->n_values *port->n_states), *at = cost;
  for (int entry = 0; entry < n_made * s->n_values; entry++)
    for (int i = 0; i < port->n_states; i++, at++) {
      const PortState *state = star_state(s, port->state[i]);
      const int value = entry % s->n_values, set = s->set[value / s->n_wholes], told = star_told(s, state);
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
  star_tell_apart(&s, &t->seen[a->kind]);
  if (s.n_values == 1 || !take_all(&s, &trees)) return false;
  a->hub = cfn->variables.len;
  a->told = s.told;
  a->sets = sets_of_values(&s);
  a->n_values = s.n_values;
  const int *values = same_classes(arena, s.n_values);
  vec_push(arena, &cfn->variables, (CfnVariable){.name = s.tensor->name, .n_values = s.n_values, .cost = NEW_ARRAY(arena, double, s.n_values)});
  vec_push(arena, &cfn->functions, function_of(&s, true, a->hub, values, s.takes));
  Reading reading = {.s = &s, .trees = &trees};
  if (!s.all) reading.ways = star_ways(&s), reading.sharers = star_sharers(&s, &reading.ways);
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
      const int place = star_place(&a->told, state->want[w]);
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
