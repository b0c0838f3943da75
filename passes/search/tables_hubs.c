// Tensors that many groups touch in many ways: a variable for each, a hub, between the group that makes the tensor and those that read it.
// Its values are sets of layouts in which the tensor is made beside the first one. A reader's layout is in the set, and what the set
// takes depends on the maker and the hub alone: what was a function of all of them is a tree.
//
//   maker -- hub -- reader 1            f(maker, hub)             what making the set takes
//              |--- reader 2            f(maker, hub, reader)     not allowed if its layout is told apart and not in the set
//
// Layouts are told apart once a tensor lay in them where it cost more than was counted (lazy constraints, as cutting planes are). What a
// reader of another one adds to the set is counted as a share: as much as is never too much where all that can read others do. What a
// set takes is at least a tree (trees.h); where all layouts are told apart it is what the planned changes take.
#include "tables_inner.h"

#include <math.h>

#include "trees.h"

enum { FEW = 5, MOST_TOLD = 8, MOST_TARGETS = 10 }; // layouts: that are told apart at once; that are; of a tree
enum { MOST_NODES = 128, MAX_HUB_TABLE = 1 << 18 };

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
  bool all;             // all of `wants` are told apart
  double *takes;        // [made][set]
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
  return (int64_t)s->n_made * s->n_sets * states > MAX_HUB_TABLE;
}

// Of those that were seen as many as there is room for.
static void tell_apart(Star *s, const LayoutList *seen) {
  s->all = s->wants.len <= FEW;
  for (int i = 0; i < s->wants.len && s->all; i++) vec_push(s->t->p->arena, &s->told, s->wants.at[i]);
  for (int i = 0; i < seen->len && !s->all; i++)
    if (s->told.len < MOST_TOLD && list_has(&s->wants, seen->at[i])) vec_push(s->t->p->arena, &s->told, seen->at[i]);
  for (list_sets(s); is_large(s) && s->told.len > 0; list_sets(s)) {
    s->told.len--;
    s->all = false;
  }
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
      double *takes = &s->takes[m * s->n_sets + i];
      *takes = planned(s, m, s->set[i]);
      arena_reset(s->t->p->scratch);
      for (int k = i + 1; k < s->n_sets; k++)
        if ((s->set[k] & s->set[i]) == s->set[i]) *takes = fmin(*takes, s->takes[m * s->n_sets + k]);
    }
}

static int root_of(const Star *s, int made) {
  return s->made[made] >= 0 ? state_at(s, s->made[made])->made : routes_layout(s->t->p->routes, &layout_replicated);
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

// ---- functions -----------------------------------------------------------------------------------------------------

// As many readers as may want what is not told apart, beside a set; 0: none.
static int others(const Star *s, int set) { return s->single ? s->readers.len - bits_of(s->set[set]) : s->readers.len; }

// more: by layout of `wants`, what a set takes with it, or NULL where it is told apart.
static const double *reader_costs(const Star *s, const Port *port, double *const *more) {
  const int n_made = s->all ? 1 : s->n_made;
  double *cost = NEW_ARRAY(s->t->p->arena, double, (int64_t)n_made *s->n_sets *port->n_states), *at = cost;
  for (int entry = 0; entry < n_made * s->n_sets; entry++)
    for (int i = 0; i < port->n_states; i++, at++) {
      const PortState *state = state_at(s, port->state[i]);
      const int set = entry % s->n_sets, told = told_of(s, state);
      for (int w = 0; w < state->n; w++) {
        const double *with = more[place_of(&s->wants, state->want[w])];
        if (with != NULL) *at = fmax(*at, others(s, set) > 0 ? (with[entry] - s->takes[entry]) / others(s, set) : INFINITY);
      }
      if ((told & s->set[set]) != told) *at = INFINITY;
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

static CfnFunction function_of(const Star *s, bool with_maker, int hub, const int *sets, const double *cost) {
  CfnFunction f = {.cost = cost};
  if (with_maker && s->maker != NULL) add_var(&f, s->maker->group, s->maker->n_states, s->maker->class_of);
  add_var(&f, hub, s->n_sets, sets);
  return f;
}

// What sets take with one more layout, by layout of `wants`; NULL: it is told apart.
static double **take_more(const Star *s, const Trees *trees) {
  double **more = NEW_ARRAY(s->t->p->arena, double *, s->wants.len);
  for (int i = 0; i < s->wants.len; i++) {
    if (list_has(&s->told, s->wants.at[i]) || is_partial(s, s->wants.at[i])) continue;
    more[i] = NEW_ARRAY(s->t->p->arena, double, s->n_made * s->n_sets);
    take_trees(s, trees, s->wants.at[i], more[i]);
  }
  return more;
}

static bool take_all(Star *s, double ***more) {
  Tables *t = s->t;
  s->takes = NEW_ARRAY(t->p->arena, double, s->n_made * s->n_sets);
  *more = NEW_ARRAY(t->p->arena, double *, s->wants.len);
  if (s->all) {
    take_planned(s);
    return true;
  }
  Trees trees = trees_new(t->p->arena, t->p->routes, s->shape);
  if (s->told.len + s->fixed.len >= MOST_TARGETS || !add_nodes(s, &trees)) return false;
  trees_connect(&trees);
  take_trees(s, &trees, -1, s->takes);
  *more = take_more(s, &trees);
  return true;
}

bool tables_add_hub(Tables *t, Approximated *a, bool *const *needed, Cfn *cfn) {
  if (t->seen[a->kind].len == 0) return false;
  Arena *arena = t->p->arena;
  Star s = star_of(t, a, needed);
  double **more;
  tell_apart(&s, &t->seen[a->kind]);
  if (s.told.len == 0 || !take_all(&s, &more)) return false;
  a->hub = cfn->variables.len;
  a->told = s.told;
  a->sets = s.set;
  a->n_sets = s.n_sets;
  const int *sets = same_classes(arena, s.n_sets);
  vec_push(arena, &cfn->variables, (CfnVariable){.name = s.tensor->name, .n_values = s.n_sets, .cost = NEW_ARRAY(arena, double, s.n_sets)});
  vec_push(arena, &cfn->functions, function_of(&s, true, a->hub, sets, s.takes));
  for (int i = 0; i < s.readers.len; i++) {
    CfnFunction f = function_of(&s, !s.all, a->hub, sets, reader_costs(&s, s.readers.at[i], more));
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

int *tables_complete(const Tables *t, const Cfn *cfn, const int *value) {
  int *complete = NEW_ARRAY(t->p->arena, int, cfn->variables.len);
  memcpy(complete, value, sizeof *value * (size_t)t->p->groups.list.len);
  for (int k = 0; k < t->approximated.len; k++) {
    const Approximated *a = &t->approximated.at[k];
    const int set = a->hub < 0 ? 0 : set_in(t, a, value);
    for (int i = 0; a->hub >= 0 && i < a->n_sets; i++)
      if (a->sets[i] == set) complete[a->hub] = i;
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
