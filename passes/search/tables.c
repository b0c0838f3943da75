// Tensors of one shape whose ports have the same states share a table.
//
// What k groups want of a tensor takes at least as much as the dearest of it takes alone, or by what the others want, and so at least the
// mean of that: a sum of functions of two groups.
#include "tables_inner.h"

#include <math.h>

enum { OFTEN = 1 << 10 }; // every OFTEN entries it is seen whether it is time to end
enum { MAX_REFINED = 1 << 16 }; // entries of what is left of a table

// ---- one cost ------------------------------------------------------------------------------------------------------

// How often a step changes the layout of a tensor: where some read it in every microbatch and others do not, once at least. Of what is
// stored the update is not counted then, which reads it once.
static int times_of(const SearchProblem *p, const Tensor *t) {
  return p->times == NULL ? 1 : p->times[t - graph_tensor(p->groups.graph, 0)];
}

typedef struct TimesReader {
  const SearchProblem *p;
  int *times;
  const Op *op;
  int group;
} TimesReader;

static void note_times(void *ctx, int tensor) {
  const TimesReader *r = ctx;
  const bool updates = graph_tensor(r->p->groups.graph, tensor)->producer < 0 && r->p->groups.of_tensor[tensor] == r->group;
  if (!updates && phase_times(r->p->groups.graph, r->op->phase) == 1) r->times[tensor] = 1;
}

static void find_times(SearchProblem *p) {
  const Graph *graph = p->groups.graph;
  if (graph->microbatches <= 1) return;
  TimesReader r = {.p = p, .times = NEW_ARRAY(p->arena, int, graph->tensors.len)};
  for (int t = 0; t < graph->tensors.len; t++) {
    const int producer = graph_tensor(graph, t)->producer;
    r.times[t] = producer < 0 ? graph->microbatches : phase_times(graph, op_complete(&graph->ops.at[producer]));
  }
  for (int i = 0; i < graph->ops.len; i++) {
    r.op = &graph->ops.at[i];
    r.group = p->groups.of_op[i];
    op_visit_reads(r.op, note_times, &r);
  }
  p->times = r.times;
}

// Ways that are compared by bytes count those of the busiest rank, four for an element.
double tables_in_unit(const SearchProblem *p, const Tensor *t, double amount) {
  return p->unit == SEARCH_BYTES ? amount / 4 * cost_element(&p->cost, t->type) * mesh_ranks(p->cost.mesh) : times_of(p, t) * amount;
}

static bool is_pending(Tables *t, int layout) {
  while (t->pending.len <= layout) {
    const Layout *next = routes_layout_at(t->p->routes, t->pending.len);
    bool pending = false;
    for (int a = 0; a < t->p->cost.mesh->n_axes; a++) pending |= axis_is_sum(&next->axis[a]);
    vec_push(t->p->arena, &t->pending, pending);
  }
  return t->pending.at[layout];
}

// Sums are left pending where they are: elsewhere the tensor is whole.
int tables_resolved(Tables *t, int made, int want) {
  if (made == want || !is_pending(t, want)) return want;
  const Layout *is = routes_layout_at(t->p->routes, made);
  Layout layout = *routes_layout_at(t->p->routes, want);
  for (int a = 0; a < t->p->cost.mesh->n_axes; a++)
    if (layout.axis[a].kind == LAYOUT_PARTIAL)
      layout.axis[a] = axis_is_sum(&is->axis[a]) && is->axis[a].reduce == layout.axis[a].reduce ? is->axis[a] : (AxisLayout){.kind = LAYOUT_REPLICATED};
  return routes_layout(t->p->routes, &layout);
}

// The key of what a tensor costs: its shape, how it is made (-1: it is whole), and the different layouts that are wanted beside that.
static void begin_key(Tables *t, int shape, int made) {
  t->key.len = 0;
  vec_push(t->p->arena, &t->key, shape);
  vec_push(t->p->arena, &t->key, made >= 0 ? made : routes_layout(t->p->routes, &layout_replicated));
}

static void add_wants(Tables *t, const int *want, int n) {
  for (int w = 0; w < n; w++) {
    const int layout = tables_resolved(t, t->key.at[1], want[w]);
    int known = 1;
    while (known < t->key.len && t->key.at[known] != layout) known++;
    if (known == t->key.len) vec_push(t->p->arena, &t->key, layout);
  }
}

static void add_wants_of_state(Tables *t, const Tensor *tensor, const PortState *state) {
  const bool updates = state->made >= 0 && tensor->producer < 0 && times_of(t->p, tensor) > 1;
  if (!updates) add_wants(t, state->want, state->n);
}

static double cost_of_key(Tables *t, const Tensor *tensor) {
  const int *key = t->key.at, wants = t->key.len - 2;
  if (wants == 0) return 0;
  if (wants == 1) {
    const double way = routes_cost(t->p->routes, key[0], key[1], key[2]).amount;
    if (way < INFINITY) return tables_in_unit(t->p, tensor, way); // as demands_cost says
  }
  const int number = numbers_of(&t->cost_numbers, key, sizeof *key * (size_t)t->key.len);
  if (number == t->costs.len) {
    const double cost = demands_cost(t->p->scratch, t->p->cost.mesh, t->p->routes, key[0], key[1], key + 2, wants);
    vec_push(t->p->arena, &t->costs, cost);
  }
  return tables_in_unit(t->p, tensor, t->costs.at[number]);
}

static double cost_of_states(Tables *t, const Tensor *tensor, int shape, const int *state, int n) {
  int made = -1;
  for (int i = 0; i < n; i++)
    if (t->ports->states.at[state[i]].made >= 0) made = t->ports->states.at[state[i]].made;
  begin_key(t, shape, made);
  for (int i = 0; i < n; i++) add_wants_of_state(t, tensor, &t->ports->states.at[state[i]]);
  return cost_of_key(t, tensor);
}

double tables_wants_cost(Tables *t, const Tensor *tensor, int maker, const int *want, int n) {
  const PortState *made = maker >= 0 ? &t->ports->states.at[maker] : &(PortState){.made = -1};
  begin_key(t, routes_shape(t->p->routes, tensor), made->made);
  add_wants_of_state(t, tensor, made);
  add_wants(t, want, n);
  return cost_of_key(t, tensor);
}

// ---- tables --------------------------------------------------------------------------------------------------------

// The ports of one tensor. Those of groups that touch it in one way only take part, but choose nothing.
typedef struct Shared {
  const Tensor *tensor;
  int n;
  const Port *port[CFN_MAX_ARITY];
  VEC(int) fixed; // states
} Shared;

static bool is_over(const SearchProblem *p) { return routes_tried(p->routes) > MOST_TRIED || problem_is_late(p); }

static const double *make_table(Tables *t, const Shared *shared, int64_t size) {
  double *cost = NEW_ARRAY(t->p->arena, double, size);
  const int n = shared->n + shared->fixed.len, shape = routes_shape(t->p->routes, shared->tensor);
  int class[CFN_MAX_ARITY] = {0}, *state = NEW_ARRAY(t->p->arena, int, n);
  for (int i = 0; i < n; i++) state[i] = i < shared->n ? shared->port[i]->state[0] : shared->fixed.at[i - shared->n];
  for (int64_t entry = 0; entry < size; entry++) {
    if (t->bounded && entry % OFTEN == 0 && (t->ended = is_over(t->p))) break;
    cost[entry] = cost_of_states(t, shared->tensor, shape, state, n);
    for (int i = shared->n - 1; i >= 0; i--) {
      class[i] = class[i] + 1 < shared->port[i]->n_states ? class[i] + 1 : 0;
      state[i] = shared->port[i]->state[class[i]];
      if (class[i] > 0) break;
    }
    arena_reset(t->p->scratch);
  }
  return cost;
}

// Row-major over the states of the ports.
static const double *table_of(Tables *t, const Shared *shared) {
  int *key = NEW_ARRAY(t->p->scratch, int, shared->n + shared->fixed.len + 4), n = 0;
  int64_t size = 1;
  key[n++] = routes_shape(t->p->routes, shared->tensor);
  key[n++] = shared->tensor->type;
  key[n++] = times_of(t->p, shared->tensor);
  key[n++] = shared->n;
  for (int i = 0; i < shared->n; i++) {
    key[n++] = shared->port[i]->list;
    size *= shared->port[i]->n_states;
  }
  for (int i = 0; i < shared->fixed.len; i++) key[n++] = shared->fixed.at[i];
  const int number = numbers_of(&t->table_numbers, key, sizeof *key * (size_t)n);
  if (number == t->tables.len) vec_push(t->p->arena, &t->tables, make_table(t, shared, size));
  return t->tables.at[number];
}

static CfnFunction function_of(Tables *t, const Shared *shared) {
  CfnFunction f = {.arity = shared->n, .tag = shared->tensor->role, .cost = table_of(t, shared)};
  for (int i = 0; i < shared->n; i++) {
    f.var[i] = shared->port[i]->group;
    f.n_classes[i] = shared->port[i]->n_states;
    f.class_of[i] = shared->port[i]->class_of;
  }
  return f;
}

static void add_function(Tables *t, const Shared *shared) { vec_push(t->p->arena, &t->p->cfn.functions, function_of(t, shared)); }

// One group chooses how the tensor is made and read: part of the group's own cost.
static void add_inner(Tables *t, const Shared *shared) {
  const Port *port = shared->port[0];
  const double *of_class = table_of(t, shared);
  for (int i = 0; i < t->p->of[port->group].n; i++) t->own[port->group][i] += of_class[port->class_of[i]];
}

// ---- tensors -------------------------------------------------------------------------------------------------------

// Layouts that readers want.
static LayoutList wants_of_readers(Tables *t, const PortList *ports) {
  LayoutList wants = {0};
  for (int i = 0; i < ports->len; i++)
    for (int s = 0; s < ports->at[i]->n_states && !port_makes(t->ports, ports->at[i]); s++) {
      const PortState *state = &t->ports->states.at[ports->at[i]->state[s]];
      for (int w = 0; w < state->n; w++)
        if (!is_pending(t, state->want[w])) list_add(t->p->arena, &wants, state->want[w]);
    }
  return wants;
}

// What a state of a reader takes at least where others want something, too, in seconds: `alone`, or a way by what they want.
static double least_beside(Tables *t, const Tensor *tensor, int made, const PortState *reader, const LayoutList *wants, double alone) {
  const int shape = routes_shape(t->p->routes, tensor), from = made >= 0 ? made : routes_layout(t->p->routes, &layout_replicated);
  double least = alone;
  if (reader->n != 1 || reader->want[0] == from || is_pending(t, reader->want[0])) return alone;
  for (int i = 0; i < wants->len; i++) {
    const int by = wants->at[i];
    if (by == from || by == reader->want[0]) continue;
    const double there = routes_cost(t->p->routes, shape, from, by).amount;
    if (there >= least) continue;
    least = fmin(least, there + routes_cost(t->p->routes, shape, by, reader->want[0]).amount);
  }
  return least;
}

static const double *make_shares(Tables *t, const CfnFunction *f, const Shared *pair, int sharers, const LayoutList *wants) {
  const int n_made = f->arity > 1 ? f->n_classes[1] : 1;
  double *shares = NEW_ARRAY(t->p->arena, double, (int64_t)f->n_classes[0] *n_made);
  for (int r = 0; r < f->n_classes[0]; r++)
    for (int m = 0; m < n_made; m++) {
      const int made = pair->n > 1 ? t->ports->states.at[pair->port[1]->state[m]].made : -1;
      const PortState *reader = &t->ports->states.at[pair->port[0]->state[r]];
      shares[r * n_made + m] = least_beside(t, pair->tensor, made, reader, wants, f->cost[r * n_made + m]) / sharers;
    }
  return shares;
}

// The last function, as a share of it.
static void take_share(Tables *t, const Shared *pair, int sharers, const LayoutList *wants, int kind) {
  CfnFunction *f = &t->p->cfn.functions.at[t->p->cfn.functions.len - 1];
  const int key[] = {-1, kind, pair->port[0]->list};
  const int number = numbers_of(&t->table_numbers, key, sizeof key);
  if (number == t->tables.len) vec_push(t->p->arena, &t->tables, make_shares(t, f, pair, sharers, wants));
  f->cost = t->tables.at[number];
}

static bool has_room(Tables *t, const Shared *pair) {
  int64_t size = 1;
  for (int i = 0; i < pair->n; i++) size *= pair->port[i]->n_states;
  t->entries += size > MAX_TABLE ? size : 0;
  t->ended = t->ended || t->entries > MOST_ENTRIES;
  return !t->ended;
}

static int kind_of(Tables *t, int tensor, const PortList *ports) {
  int *key = NEW_ARRAY(t->p->scratch, int, ports->len + 3);
  key[0] = routes_shape(t->p->routes, graph_tensor(t->p->groups.graph, tensor));
  key[1] = graph_tensor(t->p->groups.graph, tensor)->type;
  key[2] = times_of(t->p, graph_tensor(t->p->groups.graph, tensor));
  for (int i = 0; i < ports->len; i++) key[3 + i] = ports->at[i]->list;
  return numbers_of(&t->kind_numbers, key, sizeof *key * (size_t)(ports->len + 3));
}

static void add_pairs(Tables *t, int tensor, const PortList *ports) {
  const Port *maker = NULL;
  const int first = t->p->cfn.functions.len, kind = kind_of(t, tensor, ports);
  const LayoutList wants = wants_of_readers(t, ports);
  for (int i = 0; i < ports->len; i++)
    if (port_makes(t->ports, ports->at[i])) maker = ports->at[i];
  for (int i = 0; i < ports->len; i++) {
    Shared pair = {.tensor = graph_tensor(t->p->groups.graph, tensor)};
    if (ports->at[i] == maker) continue;
    pair.port[pair.n++] = ports->at[i];
    if (maker != NULL) pair.port[pair.n++] = maker;
    if (!has_room(t, &pair)) return;
    add_function(t, &pair);
    if (t->p->unit == SEARCH_SECONDS) take_share(t, &pair, ports->len - (maker != NULL), &wants, kind);
  }
  const int n = t->p->cfn.functions.len - first;
  t->p->n_approximate++;
  vec_push(t->p->arena, &t->approximated, (Approximated){.tensor = tensor, .first = first, .n = n, .kind = kind, .now = first, .n_now = n, .hub = -1});
}

static void add_tensor(Tables *t, int tensor, const PortList *ports) {
  Shared shared = {.tensor = graph_tensor(t->p->groups.graph, tensor)};
  int64_t size = 1;
  int n = 0;
  for (int i = 0; i < ports->len; i++) {
    const Port *port = ports->at[i];
    if (port->n_states == 1) vec_push(t->p->arena, &shared.fixed, port->state[0]);
    else if (n++ < CFN_MAX_ARITY) shared.port[shared.n++] = port;
    size = size > MAX_TABLE ? size : size * port->n_states;
  }
  if (n > CFN_MAX_ARITY || size > MAX_TABLE) add_pairs(t, tensor, ports);
  else if (n == 0) t->p->cfn.constant += table_of(t, &shared)[0];
  else if (n == 1) add_inner(t, &shared);
  else add_function(t, &shared);
}

Tables *tables_add(SearchProblem *p, Ports *ports, double *const *own) {
  const int n = p->groups.graph->tensors.len;
  Tables *tables = NEW(p->arena, Tables);
  find_times(p);
  *tables = (Tables){.p = p, .ports = ports, .own = own, .cost_numbers.arena = p->arena, .table_numbers.arena = p->arena, .kind_numbers.arena = p->arena, .bounded = true};
  tables->of = NEW_ARRAY(p->arena, PortList, n);
  for (int i = 0; i < ports->list.len; i++) vec_push(p->arena, &tables->of[ports->list.at[i].tensor], &ports->list.at[i]);
  for (int t = 0; t < n && !tables->ended; t++) {
    if (tables->of[t].len > 0) add_tensor(tables, t, &tables->of[t]);
    if (tables->of[t].len > 0) tables_add_again(tables, t);
    arena_reset(p->scratch);
  }
  tables->bounded = false;
  routes_forget(p->routes);
  tables->seen = NEW_ARRAY(p->arena, LayoutList, tables->kind_numbers.len);
  return tables->ended ? NULL : tables;
}

// ---- what is not exact ---------------------------------------------------------------------------------------------

double tables_true_cost(Tables *t, const Approximated *a, const int *value) {
  const PortList *ports = &t->of[a->tensor];
  int *state = NEW_ARRAY(t->p->scratch, int, ports->len);
  for (int i = 0; i < ports->len; i++) state[i] = ports->at[i]->state[port_class(ports->at[i], value)];
  const Tensor *tensor = graph_tensor(t->p->groups.graph, a->tensor);
  return cost_of_states(t, tensor, routes_shape(t->p->routes, tensor), state, ports->len);
}

double tables_cost(Tables *t, const int *value) {
  const Cfn *cfn = &t->p->cfn;
  double sum = cfn->constant;
  for (int x = 0; x < cfn->variables.len; x++) sum += cfn->variables.at[x].cost[value[x]];
  int approximated = 0;
  for (int i = 0; i < cfn->functions.len; i++) {
    const Approximated *a = approximated < t->approximated.len ? &t->approximated.at[approximated] : NULL;
    if (a == NULL || i < a->first) {
      sum += cfn_function_cost(&cfn->functions.at[i], value);
      continue;
    }
    sum += tables_true_cost(t, a, value);
    arena_reset(t->p->scratch);
    i = a->first + a->n - 1;
    approximated++;
  }
  return sum;
}

// ---- what is left of tables when values are not needed -------------------------------------------------------------

const Port *tables_needed_port(Tables *t, const Port *port, const bool *needed) {
  Arena *arena = t->p->arena;
  Port *left = NEW(arena, Port);
  int *state = NEW_ARRAY(arena, int, port->n_states), *class_of = NEW_ARRAY(arena, int, t->p->of[port->group].n);
  int *class = NEW_ARRAY(arena, int, port->n_states); // + 1
  *left = (Port){.tensor = port->tensor, .group = port->group, .state = state, .class_of = class_of};
  for (int v = 0; v < t->p->of[port->group].n; v++) {
    const int was = port->class_of[v];
    if (!needed[v]) continue;
    if (class[was] == 0) {
      state[left->n_states++] = port->state[was];
      class[was] = left->n_states;
    }
    class_of[v] = class[was] - 1;
  }
  left->list = numbers_of(&t->ports->list_numbers, state, sizeof *state * (size_t)left->n_states);
  return left;
}

static bool refine_tensor(Tables *t, int tensor, bool *const *needed, Cfn *cfn) {
  Shared shared = {.tensor = graph_tensor(t->p->groups.graph, tensor)};
  int64_t size = 1;
  for (int i = 0; i < t->of[tensor].len; i++) {
    const Port *port = tables_needed_port(t, t->of[tensor].at[i], needed[t->of[tensor].at[i]->group]);
    size *= port->n_states;
    if (size > MAX_REFINED || (port->n_states > 1 && shared.n == CFN_MAX_ARITY)) return false;
    if (port->n_states == 1) vec_push(t->p->arena, &shared.fixed, port->state[0]);
    else shared.port[shared.n++] = port;
  }
  vec_push(t->p->arena, &cfn->functions, function_of(t, &shared));
  return true;
}

Cfn tables_refine(Tables *t, bool *const *needed, int *left) {
  const Cfn *all = &t->p->cfn;
  Cfn cfn = *all;
  vec_renew(t->p->arena, &cfn.variables, all->variables.len);
  vec_renew(t->p->arena, &cfn.functions, all->functions.len);
  for (int x = 0; x < all->variables.len; x++) {
    CfnVariable variable = all->variables.at[x];
    double *cost = NEW_ARRAY(t->p->arena, double, variable.n_values);
    for (int v = 0; v < variable.n_values; v++) cost[v] = needed[x][v] ? variable.cost[v] : INFINITY;
    variable.cost = cost;
    vec_push(t->p->arena, &cfn.variables, variable);
  }
  *left = 0;
  for (int i = 0, a = 0; i < all->functions.len; i++) {
    if (a == t->approximated.len || i < t->approximated.at[a].first) {
      vec_push(t->p->arena, &cfn.functions, all->functions.at[i]);
      continue;
    }
    Approximated *tensor = &t->approximated.at[a++];
    tensor->now = cfn.functions.len;
    tensor->hub = -1;
    const bool exact = refine_tensor(t, tensor->tensor, needed, &cfn);
    if (!exact && !tables_add_hub(t, tensor, needed, &cfn))
      for (int k = 0; k < tensor->n; k++) vec_push(t->p->arena, &cfn.functions, all->functions.at[tensor->first + k]);
    tensor->n_now = exact ? 0 : cfn.functions.len - tensor->now;
    *left += !exact;
    i = tensor->first + tensor->n - 1;
    arena_reset(t->p->scratch);
  }
  return cfn;
}
