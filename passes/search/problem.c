#include "problem.h"

#include <math.h>
#include <stdlib.h>

#include "../demands.h"
#include "../sharding.h"

enum { MAX_TABLE = 1 << 14, MAX_WANTS = 24 };

// ---- candidates ----------------------------------------------------------------------------------------------------

static int choices_of(const Group *group) { return group->kind == GROUP_PARAM ? 2 * group->dims.len : group->dims.len; }

bool problem_is_useful(const Group *group, const Candidate *candidate, const Mesh *mesh) {
  for (int d = 0; d < group->dims.len; d++) {
    int64_t parts = 1;
    for (int a = 0; a < mesh->n_axes; a++)
      if (candidate->choice[a] >= 0 && candidate->choice[a] % group->dims.len == d) parts *= mesh->axis[a].size;
    if (parts > group->dims.at[d].extent) return false;
  }
  return true;
}

Candidates problem_all_candidates(const void *ctx, Arena *arena, const Groups *groups, int number, const Mesh *mesh) {
  const Group *group = &groups->list.at[number];
  (void)ctx;
  const int choices = choices_of(group) + 1;
  int n = 1;
  for (int a = 0; a < mesh->n_axes; a++) n *= mesh->axis[a].size > 1 ? choices : 1;
  Candidates c = {0, NEW_ARRAY(arena, Candidate, n)};
  for (int i = 0; i < n; i++) {
    Candidate *candidate = &c.list[c.n];
    for (int a = mesh->n_axes - 1, rest = i; a >= 0; a--) {
      candidate->choice[a] = -1;
      if (mesh->axis[a].size == 1) continue;
      candidate->choice[a] = (signed char)(rest % choices - 1);
      rest /= choices;
    }
    c.n += problem_is_useful(group, candidate, mesh);
  }
  return c;
}

// ---- how operators and tensors lie under a candidate ---------------------------------------------------------------

static bool is_optimizer_state(const Tensor *t) { return t->role == ROLE_STATE && t->of >= 0; }

// The optimizer's states lie as the update is divided.
static void lay_stored(SearchProblem *p, int number, const Candidate *candidate) {
  const Group *group = &p->groups.list.at[number];
  const Graph *graph = p->groups.graph;
  const OpSharding own = candidate_sharding(group, candidate, -1, p->cost.mesh);
  Tensor *t = graph_tensor(graph, group->tensor);
  t->layout = plan_layout(&own, t, p->cost.mesh);
  const int update = group->ops.len > 0 ? group->ops.at[group->ops.len - 1] : -1;
  const OpSharding of_update = candidate_sharding(group, candidate, update, p->cost.mesh);
  for (int s = 0; s < p->planner.kept[group->tensor].len && group->kind == GROUP_PARAM; s++) {
    Tensor *state = graph_tensor(graph, p->planner.kept[group->tensor].at[s]);
    const bool same = plan_same_shape(state, t);
    if (is_optimizer_state(state)) state->layout = same ? plan_layout(&of_update, state, p->cost.mesh) : layout_replicated();
  }
}

// As results are made; expected: as those that follow them expect them, reduced.
static void lay_results(const SearchProblem *p, const Op *op, bool expected) {
  Graph *graph = p->model->train;
  const Mesh *mesh = p->cost.mesh;
  for (int r = 0; r < op_results(op); r++) {
    Layout layout = sharding_result(graph, op, r, mesh);
    for (int a = 0; a < mesh->n_axes; a++)
      if (layout.axis[a].kind == LAYOUT_PARTIAL && (expected || mesh->axis[a].size == 1)) layout.axis[a] = (AxisLayout){.kind = LAYOUT_REPLICATED};
    graph_tensor(graph, op_result(op, r))->layout = layout;
  }
}

void problem_lay_group(SearchProblem *p, int number, int value) {
  const Candidate *candidate = &p->of[number].list[value];
  Group *group = &p->groups.list.at[number];
  Graph *graph = p->model->train;
  if (group->kind != GROUP_OPS) lay_stored(p, number, candidate);
  for (int i = 0; i < group->ops.len; i++) {
    Op *op = &graph->ops.at[group->ops.at[i]];
    op->sharding = op->kind == OP_VIEW ? sharding_replicate() : candidate_sharding(group, candidate, group->ops.at[i], p->cost.mesh);
    for (int a = 0; a < p->cost.mesh->n_axes && op->kind == OP_VIEW; a++)
      plan_follow_operands(&op->sharding, &p->planner, graph, op, a);
    lay_results(p, op, true);
  }
  for (int i = 0; i < group->ops.len; i++) lay_results(p, &graph->ops.at[group->ops.at[i]], false);
}

// ---- ports: what a group makes and wants of a tensor ----------------------------------------------------------------

// One way in which a group touches a tensor: layouts by their numbers.
typedef struct PortState {
  int made; // -1: it does not make it
  int n;
  int want[MAX_WANTS];
} PortState;

typedef struct Port {
  int tensor, group;
  VEC(PortState *) states; // the different ones: classes
  int *class_of;           // by candidate
} Port;

typedef struct Ports {
  SearchProblem *p;
  VEC(Port) list;
  int *at;          // by tensor, of the group at hand: its port, or -1
  PortState *state; // of the ports of the group at hand, under the candidate at hand
  int first;        // port of the group at hand
} Ports;

static int port_at(Ports *ports, int tensor, int group, int n_candidates) {
  if (ports->at[tensor] < 0) {
    ports->at[tensor] = ports->list.len;
    vec_push(ports->p->arena, &ports->list, (Port){tensor, group, {0}, NEW_ARRAY(ports->p->arena, int, n_candidates)});
  }
  return ports->at[tensor];
}

static void add_want(SearchProblem *p, PortState *state, const Layout *want) {
  const int number = routes_layout(p->routes, want);
  for (int i = 0; i < state->n; i++)
    if (state->want[i] == number) return;
  if (state->n == MAX_WANTS) fatal("plan: a group wants a tensor in more than %d layouts", MAX_WANTS);
  state->want[state->n++] = number;
}

typedef struct PortVisit {
  Ports *ports;
  const Op *op;
  int group;
} PortVisit;

static void list_read(void *ctx, int tensor) {
  const PortVisit *v = ctx;
  port_at(v->ports, tensor, v->group, v->ports->p->of[v->group].n);
}

static void note_read(void *ctx, int tensor) {
  const PortVisit *v = ctx;
  SearchProblem *p = v->ports->p;
  PortState *state = &v->ports->state[v->ports->at[tensor] - v->ports->first];
  if (v->op->kind != OP_OPAQUE) {
    const Layout want = demands_want(p->groups.graph, v->op, tensor, NULL, p->cost.mesh);
    add_want(p, state, &want);
    return;
  }
  for (int a = 0; a < v->op->opaque->n_args; a++) {
    const OpaqueArg *arg = &v->op->opaque->args[a];
    if (arg->written || arg->tensor != tensor) continue;
    const Layout want = demands_want(p->groups.graph, v->op, tensor, arg, p->cost.mesh);
    add_want(p, state, &want);
  }
}

static void note_made(Ports *ports, int tensor) {
  PortState *state = &ports->state[ports->at[tensor] - ports->first];
  state->made = routes_layout(ports->p->routes, &graph_tensor(ports->p->groups.graph, tensor)->layout);
}

static bool same_state(const PortState *a, const PortState *b) {
  return a->made == b->made && a->n == b->n && memcmp(a->want, b->want, sizeof *a->want * (size_t)a->n) == 0;
}

static int class_of_state(SearchProblem *p, Port *port, const PortState *state) {
  for (int i = 0; i < port->states.len; i++)
    if (same_state(port->states.at[i], state)) return i;
  PortState *kept = NEW(p->arena, PortState);
  *kept = *state;
  vec_push(p->arena, &port->states, kept);
  return port->states.len - 1;
}

// Everything that leaves the graph from an operator of the group, as it is wanted.
static void note_leaving(Ports *ports, int group) {
  const Graph *graph = ports->p->groups.graph;
  const Layout everywhere = layout_replicated();
  for (int i = 0; i < graph->stores.len; i++) {
    const Store *store = &graph->stores.at[i];
    const int owner = ports->p->groups.of_tensor[store->state];
    if (ports->at[store->value] >= ports->first && (owner == group || owner < 0))
      add_want(ports->p, &ports->state[ports->at[store->value] - ports->first], &graph_tensor(graph, store->state)->layout);
  }
  for (int i = 0; i < graph->losses.len; i++) {
    const int tensor = graph->losses.at[i].tensor;
    if (ports->p->groups.of_tensor[tensor] == group) add_want(ports->p, &ports->state[ports->at[tensor] - ports->first], &everywhere);
  }
}

static void list_ports(Ports *ports, int number) {
  const SearchProblem *p = ports->p;
  const Graph *graph = p->groups.graph;
  const Group *group = &p->groups.list.at[number];
  const int n = p->of[number].n;
  for (int t = 0; t < graph->tensors.len; t++) ports->at[t] = -1;
  ports->first = ports->list.len;
  if (group->tensor >= 0) port_at(ports, group->tensor, number, n);
  for (int i = 0; i < group->ops.len; i++) {
    PortVisit v = {ports, &graph->ops.at[group->ops.at[i]], number};
    op_visit_reads(v.op, list_read, &v);
    for (int r = 0; r < op_results(v.op); r++) port_at(ports, op_result(v.op, r), number, n);
  }
  for (int i = 0; i < graph->stores.len; i++)
    if (group->kind == GROUP_PARAM && p->groups.of_tensor[graph->stores.at[i].state] == number) port_at(ports, graph->stores.at[i].value, number, n);
  ports->state = NEW_ARRAY(p->arena, PortState, ports->list.len - ports->first + 1);
}

static void fill_ports(Ports *ports, int number, int candidate) {
  SearchProblem *p = ports->p;
  const Graph *graph = p->groups.graph;
  const Group *group = &p->groups.list.at[number];
  for (int t = ports->first; t < ports->list.len; t++) ports->state[t - ports->first] = (PortState){.made = -1};
  for (int t = ports->first; t < ports->list.len; t++)
    if (p->groups.of_tensor[ports->list.at[t].tensor] == number) note_made(ports, ports->list.at[t].tensor);
  for (int i = 0; i < group->ops.len; i++) {
    PortVisit v = {ports, &graph->ops.at[group->ops.at[i]], number};
    op_visit_reads(v.op, note_read, &v);
  }
  note_leaving(ports, number);
  for (int t = ports->first; t < ports->list.len; t++)
    ports->list.at[t].class_of[candidate] = class_of_state(p, &ports->list.at[t], &ports->state[t - ports->first]);
}

// ---- costs ---------------------------------------------------------------------------------------------------------

// Seconds of all that the group computes.
static double own_cost(const SearchProblem *p, int number) {
  if (p->unit == SEARCH_BYTES) return 0;
  const Graph *graph = p->groups.graph;
  const Group *group = &p->groups.list.at[number];
  double cost = 0;
  for (int i = 0; i < group->ops.len; i++) cost += cost_of_op(&p->cost, graph, &graph->ops.at[group->ops.at[i]]);
  return cost;
}

// Ways that are compared by bytes count those of the busiest rank, four for an element.
static double in_unit(const SearchProblem *p, const Tensor *t, double amount) {
  return p->unit == SEARCH_BYTES ? amount / 4 * cost_element(&p->cost, t->type) * mesh_ranks(p->cost.mesh) : amount;
}

// Of a tensor that lies and is wanted as these states say. Tensors of one shape that do so alike cost the same.
static double tensor_cost(SearchProblem *p, int tensor, const PortState *const *states, int n) {
  const Tensor *t = graph_tensor(p->groups.graph, tensor);
  const Layout whole = layout_replicated();
  int wants = 2;
  for (int i = 0; i < n; i++) wants += states[i]->n;
  int *key = NEW_ARRAY(p->scratch, int, wants); // shape, made, wanted ...
  key[0] = routes_shape(p->routes, t);
  key[1] = -1;
  wants = 2;
  for (int i = 0; i < n; i++) {
    if (states[i]->made >= 0) key[1] = states[i]->made;
    for (int w = 0; w < states[i]->n; w++) key[wants++] = states[i]->want[w];
  }
  if (key[1] < 0) key[1] = routes_layout(p->routes, &whole);
  const int number = numbers_of(&p->cost_numbers, key, sizeof *key * (size_t)wants);
  if (number == p->costs.len) {
    const double cost = demands_cost(p->scratch, p->cost.mesh, p->routes, key[0], key[1], key + 2, wants - 2);
    vec_push(p->arena, &p->costs, cost);
  }
  return in_unit(p, t, p->costs.at[number]);
}

// The ports of one tensor. Those of groups that touch it in one way only take part, but choose nothing.
typedef struct Shared {
  int tensor, n;
  const Port *port[CFN_MAX_ARITY];
  VEC(const PortState *) fixed;
} Shared;

static double cost_of_states(SearchProblem *p, const Shared *shared, const PortState *const *chosen) {
  const PortState **states = NEW_ARRAY(p->scratch, const PortState *, shared->n + shared->fixed.len);
  for (int i = 0; i < shared->n; i++) states[i] = chosen[i];
  for (int i = 0; i < shared->fixed.len; i++) states[shared->n + i] = shared->fixed.at[i];
  return tensor_cost(p, shared->tensor, states, shared->n + shared->fixed.len);
}

static void add_function(SearchProblem *p, const Shared *shared) {
  CfnFunction f = {.arity = shared->n};
  int64_t size = 1;
  for (int i = 0; i < shared->n; i++) {
    f.var[i] = shared->port[i]->group;
    f.n_classes[i] = shared->port[i]->states.len;
    f.class_of[i] = shared->port[i]->class_of;
    size *= f.n_classes[i];
  }
  double *cost = NEW_ARRAY(p->arena, double, size);
  for (int64_t entry = 0; entry < size; entry++) {
    const PortState *states[CFN_MAX_ARITY];
    int64_t rest = entry;
    for (int i = shared->n - 1; i >= 0; i--) {
      states[i] = shared->port[i]->states.at[rest % f.n_classes[i]];
      rest /= f.n_classes[i];
    }
    cost[entry] = cost_of_states(p, shared, states);
    arena_reset(p->scratch);
  }
  f.cost = cost;
  vec_push(p->arena, &p->cfn.functions, f);
}

// One group chooses how the tensor is made and read: part of the group's own cost.
static void add_inner(SearchProblem *p, const Shared *shared, double *cost) {
  const Port *port = shared->port[0];
  double *of_class = NEW_ARRAY(p->arena, double, port->states.len);
  for (int i = 0; i < port->states.len; i++) of_class[i] = cost_of_states(p, shared, (const PortState *const *)&port->states.at[i]);
  for (int i = 0; i < p->of[port->group].n; i++) cost[i] += of_class[port->class_of[i]];
}

typedef VEC(const Port *) PortList;

static bool is_maker(const Port *port) { return port->states.at[0]->made >= 0; }

// A tensor that too many groups touch in too many ways: the sum of what each would need alone.
static void add_pairs(SearchProblem *p, const PortList *ports, double *const *own) {
  const Port *maker = NULL;
  for (int i = 0; i < ports->len; i++)
    if (is_maker(ports->at[i])) maker = ports->at[i];
  p->n_approximate++;
  for (int i = 0; i < ports->len; i++) {
    Shared pair = {.tensor = ports->at[i]->tensor};
    if (ports->at[i] == maker) continue;
    pair.port[pair.n++] = ports->at[i];
    if (maker != NULL) pair.port[pair.n++] = maker;
    if (pair.n == 1) add_inner(p, &pair, own[pair.port[0]->group]);
    else add_function(p, &pair);
  }
}

static void add_functions(SearchProblem *p, const Ports *ports, double *const *own) {
  const int n_tensors = p->groups.graph->tensors.len;
  PortList *of = NEW_ARRAY(p->arena, PortList, n_tensors);
  for (int i = 0; i < ports->list.len; i++) vec_push(p->arena, &of[ports->list.at[i].tensor], &ports->list.at[i]);
  for (int t = 0; t < n_tensors; t++) {
    Shared shared = {.tensor = t};
    int64_t size = 1;
    int n = 0;
    for (int i = 0; i < of[t].len; i++) {
      const Port *port = of[t].at[i];
      if (port->states.len == 1) vec_push(p->arena, &shared.fixed, port->states.at[0]);
      else if (n++ < CFN_MAX_ARITY) shared.port[shared.n++] = port;
      size = size > MAX_TABLE ? size : size * port->states.len;
    }
    if (of[t].len == 0) continue;
    if (n > CFN_MAX_ARITY || size > MAX_TABLE) add_pairs(p, &of[t], own);
    else if (n == 0) p->cfn.constant += cost_of_states(p, &shared, NULL);
    else if (n == 1) add_inner(p, &shared, own[shared.port[0]->group]);
    else add_function(p, &shared);
  }
}

SearchProblem *problem_new(Arena *arena, Model *model, const Mesh *mesh, const Machine *machine, const ProblemSpace *space) {
  SearchProblem *p = NEW(arena, SearchProblem);
  Plan *nothing = NEW(arena, Plan);
  Mesh *kept = NEW(arena, Mesh);
  *nothing = (Plan){.model = model->name};
  *kept = *mesh;
  *p = (SearchProblem){.arena = arena, .scratch = arena_new(), .model = model, .unit = space->unit, .cfn = {.arena = arena}};
  p->cost = space->unit == SEARCH_SECONDS ? cost_model(arena, machine, kept, model->f64) : (CostModel){machine, kept, model->f64, NULL};
  p->routes = routes_new(arena, kept, space->unit == SEARCH_SECONDS ? &p->cost : NULL);
  p->cost_numbers.arena = arena;
  p->planner = planner_new(arena, model, nothing, kept);
  p->groups = groups_of_graph(&p->planner);
  if (space->by_dims) p->groups = groups_by_dims(&p->groups);
  const int n = p->groups.list.len;
  p->of = NEW_ARRAY(arena, Candidates, n);
  Ports ports = {.p = p, .at = NEW_ARRAY(arena, int, p->groups.graph->tensors.len)};
  double **own = NEW_ARRAY(arena, double *, n);
  for (int t = 0; t < p->groups.graph->tensors.len; t++) graph_tensor(p->groups.graph, t)->layout = layout_replicated();
  for (int i = 0; i < p->groups.graph->ops.len; i++) p->model->train->ops.at[i].sharding = sharding_replicate();
  for (int g = 0; g < n; g++) {
    p->of[g] = space->candidates(space->ctx, arena, &p->groups, g, kept);
    own[g] = NEW_ARRAY(arena, double, p->of[g].n);
    list_ports(&ports, g);
    for (int i = 0; i < p->of[g].n; i++) {
      problem_lay_group(p, g, i);
      own[g][i] = own_cost(p, g);
      fill_ports(&ports, g, i);
      arena_reset(p->scratch);
    }
    vec_push(arena, &p->cfn.variables, (CfnVariable){.name = p->groups.list.at[g].name, .n_values = p->of[g].n, .cost = own[g]});
  }
  add_functions(p, &ports, own);
  arena_free(p->scratch);
  return p;
}

Plan problem_plan(const SearchProblem *p, const int *value) {
  Candidate *chosen = NEW_ARRAY(p->arena, Candidate, p->groups.list.len);
  for (int g = 0; g < p->groups.list.len; g++) chosen[g] = p->of[g].list[value[g]];
  return candidates_plan(p->arena, p->model, &p->groups, p->cost.mesh, chosen);
}
