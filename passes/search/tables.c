// Tensors of one shape whose ports have the same states share a table.
#include "tables.h"

#include <math.h>

enum { MAX_TABLE = 1 << 14 };

typedef struct Tables {
  SearchProblem *p;
  const Ports *ports;
  double *const *own; // by group
  Numbers cost_numbers, table_numbers;
  VEC(double) costs;
  VEC(const double *) tables;
} Tables;

// ---- one cost ------------------------------------------------------------------------------------------------------

// Ways that are compared by bytes count those of the busiest rank, four for an element.
static double in_unit(const SearchProblem *p, const Tensor *t, double amount) {
  return p->unit == SEARCH_BYTES ? amount / 4 * cost_element(&p->cost, t->type) * mesh_ranks(p->cost.mesh) : amount;
}

typedef struct Wants { // of a tensor
  int n;
  int *key; // shape, how it is made, and the n different layouts that are wanted beside that
} Wants;

// Sums are left pending where they are: elsewhere the tensor is whole.
static int resolved(const Tables *t, int made, int want) {
  const Layout *is = routes_layout_at(t->p->routes, made), *by = routes_layout_at(t->p->routes, want);
  bool differs = false;
  for (int a = 0; a < t->p->cost.mesh->n_axes; a++)
    differs |= by->axis[a].kind == LAYOUT_PARTIAL && (is->axis[a].kind != LAYOUT_PARTIAL || is->axis[a].reduce != by->axis[a].reduce);
  if (!differs) return want;
  Layout layout = *by;
  for (int a = 0; a < t->p->cost.mesh->n_axes; a++)
    if (by->axis[a].kind == LAYOUT_PARTIAL && (is->axis[a].kind != LAYOUT_PARTIAL || is->axis[a].reduce != by->axis[a].reduce))
      layout.axis[a] = (AxisLayout){.kind = LAYOUT_REPLICATED};
  return routes_layout(t->p->routes, &layout);
}

static Wants wants_of(Tables *t, const Tensor *tensor, const int *state, int n) {
  const Layout whole = layout_replicated();
  int most = 2;
  for (int i = 0; i < n; i++) most += t->ports->states.at[state[i]].n;
  Wants wants = {0, NEW_ARRAY(t->p->scratch, int, most)};
  wants.key[0] = routes_shape(t->p->routes, tensor);
  wants.key[1] = -1;
  for (int i = 0; i < n; i++)
    if (t->ports->states.at[state[i]].made >= 0) wants.key[1] = t->ports->states.at[state[i]].made;
  if (wants.key[1] < 0) wants.key[1] = routes_layout(t->p->routes, &whole);
  for (int i = 0; i < n; i++)
    for (int w = 0; w < t->ports->states.at[state[i]].n; w++) {
      const int want = resolved(t, wants.key[1], t->ports->states.at[state[i]].want[w]);
      int known = 1;
      while (known < wants.n + 2 && wants.key[known] != want) known++;
      if (known == wants.n + 2) wants.key[2 + wants.n++] = want;
    }
  return wants;
}

// Of a tensor that is touched as these states say.
static double tensor_cost(Tables *t, const Tensor *tensor, const int *state, int n) {
  const Wants wants = wants_of(t, tensor, state, n);
  if (wants.n == 0) return 0;
  if (wants.n == 1) {
    const double way = routes_cost(t->p->routes, wants.key[0], wants.key[1], wants.key[2]).amount;
    if (way < INFINITY) return in_unit(t->p, tensor, way); // as demands_cost says
  }
  const int number = numbers_of(&t->cost_numbers, wants.key, sizeof *wants.key * (size_t)(wants.n + 2));
  if (number == t->costs.len) {
    const double cost = demands_cost(t->p->scratch, t->p->cost.mesh, t->p->routes, wants.key[0], wants.key[1], wants.key + 2, wants.n);
    vec_push(t->p->arena, &t->costs, cost);
  }
  return in_unit(t->p, tensor, t->costs.at[number]);
}

// ---- tables --------------------------------------------------------------------------------------------------------

// The ports of one tensor. Those of groups that touch it in one way only take part, but choose nothing.
typedef struct Shared {
  const Tensor *tensor;
  int n;
  const Port *port[CFN_MAX_ARITY];
  VEC(int) fixed; // states
} Shared;

static const double *make_table(Tables *t, const Shared *shared, int64_t size) {
  double *cost = NEW_ARRAY(t->p->arena, double, size);
  int class[CFN_MAX_ARITY] = {0};
  for (int64_t entry = 0; entry < size; entry++) {
    int *state = NEW_ARRAY(t->p->scratch, int, shared->n + shared->fixed.len);
    for (int i = 0; i < shared->n; i++) state[i] = shared->port[i]->state[class[i]];
    for (int i = 0; i < shared->fixed.len; i++) state[shared->n + i] = shared->fixed.at[i];
    cost[entry] = tensor_cost(t, shared->tensor, state, shared->n + shared->fixed.len);
    for (int i = shared->n - 1; i >= 0 && ++class[i] == shared->port[i]->n_states; i--) class[i] = 0;
    arena_reset(t->p->scratch);
  }
  return cost;
}

// Row-major over the states of the ports.
static const double *table_of(Tables *t, const Shared *shared) {
  int *key = NEW_ARRAY(t->p->scratch, int, shared->n + shared->fixed.len + 3), n = 0;
  int64_t size = 1;
  key[n++] = routes_shape(t->p->routes, shared->tensor);
  key[n++] = shared->tensor->type;
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

static void add_function(Tables *t, const Shared *shared) {
  CfnFunction f = {.arity = shared->n, .cost = table_of(t, shared)};
  for (int i = 0; i < shared->n; i++) {
    f.var[i] = shared->port[i]->group;
    f.n_classes[i] = shared->port[i]->n_states;
    f.class_of[i] = shared->port[i]->class_of;
  }
  vec_push(t->p->arena, &t->p->cfn.functions, f);
}

// One group chooses how the tensor is made and read: part of the group's own cost.
static void add_inner(Tables *t, const Shared *shared) {
  const Port *port = shared->port[0];
  const double *of_class = table_of(t, shared);
  for (int i = 0; i < t->p->of[port->group].n; i++) t->own[port->group][i] += of_class[port->class_of[i]];
}

// ---- tensors -------------------------------------------------------------------------------------------------------

typedef VEC(const Port *) PortList;

static bool is_maker(const Ports *ports, const Port *port) { return ports->states.at[port->state[0]].made >= 0; }

// A tensor that too many groups touch in too many ways: the sum of what each would need alone.
static void add_pairs(Tables *t, const Tensor *tensor, const PortList *ports) {
  const Port *maker = NULL;
  for (int i = 0; i < ports->len; i++)
    if (is_maker(t->ports, ports->at[i])) maker = ports->at[i];
  t->p->n_approximate++;
  for (int i = 0; i < ports->len; i++) {
    Shared pair = {.tensor = tensor};
    if (ports->at[i] == maker) continue;
    pair.port[pair.n++] = ports->at[i];
    if (maker != NULL) pair.port[pair.n++] = maker;
    if (pair.n == 1) add_inner(t, &pair);
    else add_function(t, &pair);
  }
}

static void add_tensor(Tables *t, const Tensor *tensor, const PortList *ports) {
  Shared shared = {.tensor = tensor};
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

void tables_add(SearchProblem *p, const Ports *ports, double *const *own) {
  const int n = p->groups.graph->tensors.len;
  Tables tables = {.p = p, .ports = ports, .own = own, .cost_numbers.arena = p->arena, .table_numbers.arena = p->arena};
  PortList *of = NEW_ARRAY(p->arena, PortList, n);
  for (int i = 0; i < ports->list.len; i++) vec_push(p->arena, &of[ports->list.at[i].tensor], &ports->list.at[i]);
  for (int t = 0; t < n; t++)
    if (of[t].len > 0) add_tensor(&tables, graph_tensor(p->groups.graph, t), &of[t]);
}
