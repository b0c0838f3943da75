// Who touches a tensor, which layouts are told apart, and the ways between what may be there.
#include "tables_star.h"

#include <math.h>

enum { FEW = 5, MAX_HUB_TABLE = 1 << 18 }; // layouts that are told apart at once

// ---- who touches it ------------------------------------------------------------------------------------------------

bool star_is_partial(const Star *s, int layout) {
  const Layout *of = routes_layout_at(s->t->p->routes, layout);
  for (int a = 0; a < s->t->p->cost.mesh->n_axes; a++)
    if (axis_is_sum(&of->axis[a])) return true;
  return false;
}

const PortState *star_state(const Star *s, int state) { return &s->t->ports->states.at[state]; }

static void add_reader(Star *s, const Port *port) {
  Arena *arena = s->t->p->arena;
  int most = 0;
  for (int i = 0; i < port->n_states; i++) {
    const PortState *state = star_state(s, port->state[i]);
    most = state->n > most ? state->n : most;
    for (int w = 0; w < state->n; w++) list_add(arena, port->n_states > 1 ? &s->wants : &s->fixed, state->want[w]);
  }
  if (port->n_states == 1) return;
  s->most += most;
  s->single = s->single && most <= 1;
  vec_push(arena, &s->readers, port);
}

Star star_of(Tables *t, const Approximated *a, bool *const *needed) {
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
    const PortState *state = star_state(s, reader->state[i]);
    for (int w = 0; w < state->n; w++)
      if (state->want[w] == layout) return true;
  }
  return false;
}

int star_root(const Star *s, int made) {
  return s->made[made] >= 0 ? star_state(s, s->made[made])->made : routes_layout(s->t->p->routes, &layout_replicated);
}

int star_whole(const Star *s, int made, int whole) {
  const Layout layout = demands_whole(s->t->p->cost.mesh, routes_layout_at(s->t->p->routes, star_root(s, made)), s->whole[whole]);
  return routes_layout(s->t->p->routes, &layout);
}

static double direct(const Star *s, int from, int to) { return from == to ? 0 : routes_cost(s->t->p->routes, s->shape, from, to).amount; }

// ---- the sets ------------------------------------------------------------------------------------------------------

static void list_sets(Star *s) {
  s->set = NEW_ARRAY(s->t->p->arena, int, 1 << s->told.len);
  s->n_sets = 0;
  for (int set = 0; set < 1 << s->told.len; set++)
    if (star_bits(set) <= s->most + s->fixed.len) s->set[s->n_sets++] = set;
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
    if (other != layout && (star_is_partial(s, other) || star_is_partial(s, layout) || direct(s, layout, other) < INFINITY)) return true;
  }
  return readers > 1;
}

static void list_wholes(Star *s) {
  const Mesh *mesh = s->t->p->cost.mesh;
  uint32_t all = 0;
  for (int a = 0; a < mesh->n_axes; a++) all |= mesh->axis[a].size > 1 ? 1u << a : 0;
  s->n_wholes = 1;
  if (s->all || (1 << star_bits((int)all)) - 1 > MOST_WHOLES) return;
  for (uint32_t axes = 1; axes <= all; axes++)
    if ((axes & all) == axes) s->whole[s->n_wholes++] = axes;
}

void star_tell_apart(Star *s, const LayoutList *seen) {
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

int star_told(const Star *s, const PortState *state) {
  int set = 0;
  for (int w = 0; w < state->n; w++) {
    const int i = star_place(&s->told, state->want[w]);
    set |= i < s->told.len ? 1 << i : 0;
  }
  return set;
}

// ---- ways to what is not told apart --------------------------------------------------------------------------------

static void bring_near(const Star *s, double *nearest, int from) {
  for (int w = 0; w < s->wants.len; w++)
    if (!star_is_partial(s, s->wants.at[w])) nearest[w] = fmin(nearest[w], direct(s, from, s->wants.at[w]));
}

static double *far(const Star *s, int n) {
  double *nearest = NEW_ARRAY(s->t->p->arena, double, n *s->wants.len);
  for (int i = 0; i < n * s->wants.len; i++) nearest[i] = INFINITY;
  return nearest;
}

static void bring_near_of_maker(const Star *s, StarWays *ways, int made) {
  const PortState *state = s->made[made] >= 0 ? star_state(s, s->made[made]) : NULL;
  const int root = star_root(s, made), n = s->wants.len;
  bring_near(s, &ways->always[made * n], root);
  for (int i = 0; i < s->fixed.len; i++) bring_near(s, &ways->always[made * n], tables_resolved(s->t, root, s->fixed.at[i]));
  for (int w = 0; state != NULL && w < state->n; w++) bring_near(s, &ways->always[made * n], tables_resolved(s->t, root, state->want[w]));
  for (int k = 1; k < s->n_wholes; k++) bring_near(s, &ways->whole[(made * s->n_wholes + k) * n], star_whole(s, made, k));
  for (int w = 0; w < n; w++)
    if (star_is_partial(s, s->wants.at[w])) bring_near(s, &ways->hidden[made * n], tables_resolved(s->t, root, s->wants.at[w]));
  for (uint32_t axes = 1; s->n_wholes == 1 && axes < 1u << s->t->p->cost.mesh->n_axes; axes++) {
    const Layout whole = demands_whole(s->t->p->cost.mesh, routes_layout_at(s->t->p->routes, root), axes);
    bring_near(s, &ways->hidden[made * n], routes_layout(s->t->p->routes, &whole));
  }
}

static void offer_to_reader(const Star *s, StarWays *ways, int reader) {
  for (int w = 0; w < s->wants.len; w++) {
    bool *offered = &ways->offered[reader * s->wants.len + w];
    if (star_is_partial(s, s->wants.at[w]) || list_has(&s->told, s->wants.at[w])) continue;
    for (int r = 0; r < s->readers.len; r++) *offered |= (r != reader || !s->single) && reader_wants(s, s->readers.at[r], s->wants.at[w]);
  }
}

StarWays star_ways(const Star *s) {
  const int n = s->wants.len;
  StarWays ways = {far(s, s->n_made), far(s, s->n_made * s->n_wholes), far(s, s->told.len), far(s, s->n_made), far(s, n), NULL};
  ways.offered = NEW_ARRAY(s->t->p->arena, bool, s->readers.len * n);
  for (int m = 0; m < s->n_made; m++) bring_near_of_maker(s, &ways, m);
  for (int i = 0; i < s->told.len; i++)
    if (!star_is_partial(s, s->told.at[i])) bring_near(s, &ways.told[i * n], s->told.at[i]);
  for (int w = 0; w < n; w++)
    if (!star_is_partial(s, s->wants.at[w])) bring_near(s, &ways.between[w * n], s->wants.at[w]);
  for (int r = 0; r < s->readers.len; r++) offer_to_reader(s, &ways, r);
  return ways;
}

double star_way(const Star *s, const StarWays *ways, int made, int value, int want) {
  const int set = s->set[value / s->n_wholes], whole = value % s->n_wholes, n = s->wants.len;
  double way = fmin(ways->always[made * n + want], ways->whole[(made * s->n_wholes + whole) * n + want]);
  for (int i = 0; i < s->told.len; i++)
    if (set >> i & 1) way = fmin(way, ways->told[i * n + want]);
  return way;
}

// Whether a reader may come by a layout from what the hub does not say.
static bool may_share(const Star *s, const StarWays *ways, int reader, int want) {
  const int n = s->wants.len;
  double from = INFINITY;
  for (int u = 0; u < n; u++)
    if (ways->offered[reader * n + u]) from = fmin(from, ways->between[u * n + want]);
  for (int m = 0; m < s->n_made; m++)
    if (from < ways->always[m * n + want]) return true;
  return false;
}

int star_sharers(const Star *s, const StarWays *ways) {
  int n = 0;
  for (int r = 0; r < s->readers.len; r++) {
    bool shares = false;
    for (int w = 0; w < s->wants.len && !shares; w++) {
      const int layout = s->wants.at[w];
      shares = !star_is_partial(s, layout) && !list_has(&s->told, layout) && reader_wants(s, s->readers.at[r], layout) && may_share(s, ways, r, w);
    }
    n += shares;
  }
  return n;
}
