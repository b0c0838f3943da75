// What an operator does along the axes depends on those dimensions of the group that it has: what it costs, makes and wants is found
// once for each such choice, and looked up for all candidates that share it. A view does as its operand lies.
#include "ports.h"

#include "../demands.h"
#include "../passes.h"
#include "../sharding.h"

enum { NOBODY = -1, THE_GROUP = -2 }; // in place of those who read an operator's result
enum { STORED = -1 }; // in place of an operator's number: the stored tensor or input of the group

// An operator of the group and what it touches.
typedef struct Actor {
  Op *op;
  bool *has;      // by dimension of the group
  int source;     // of a view: the operator that makes its operand, or STORED
  VEC(int) reads; // tensors, each once; of an opaque call each argument
  VEC(const OpaqueArg *) args;
} Actor;

// An operator under one choice.
typedef struct Outcome {
  OpSharding sharding;
  double cost, again; // of making its result, and of making it again, if that is needed
  const int *made; // by result
  const int *want; // by read
} Outcome;

typedef struct Touch { int op, at; } Touch; // a result or a read of an operator

typedef struct Shore { // a port while it is filled
  bool own;    // it is the group's tensor: it makes it
  Touch maker; // op STORED: as it is stored
  VEC(Touch) reads;
  VEC(int) leaves; // layouts in which it is wanted by what leaves the graph: those of these tensors, -1: on every rank
  VEC(int) states;
  int *class_of;
} Shore;

typedef struct Filler {
  Ports *ports;
  SearchProblem *p;
  const Graph *graph;
  const Group *group;
  int number;
  int outside; // what is done along a dimension that an operator does not have
  Arena *scratch;
  Actor *actors;
  Numbers choices; // (operator, choice) -> outcome
  VEC(Outcome) outcomes;
  int *now;        // by operator: its outcome under the candidate at hand
  int *again;      // by operator: what it is done again for then: NOBODY, THE_GROUP, or those who read the result of this operator
  double *if_read; // by operator: seconds of making again what its result is made from, if others read that
  VEC(Shore) shores;
} Filler;

// ---- operators -----------------------------------------------------------------------------------------------------

typedef struct ReadVisit { Filler *f; Actor *actor; } ReadVisit;

static void list_read(void *ctx, int tensor) {
  const ReadVisit *v = ctx;
  for (int i = 0; i < v->actor->reads.len; i++)
    if (v->actor->reads.at[i] == tensor) return;
  vec_push(v->f->scratch, &v->actor->reads, tensor);
}

static Actor actor_of(Filler *f, int id) {
  Actor actor = {.op = &f->p->model->train->ops.at[id], .source = STORED};
  if (actor.op->kind != OP_OPAQUE) {
    ReadVisit v = {f, &actor};
    op_visit_reads(actor.op, list_read, &v);
  }
  for (int a = 0; actor.op->kind == OP_OPAQUE && a < actor.op->opaque->n_args; a++) {
    const OpaqueArg *arg = &actor.op->opaque->args[a];
    if (arg->written) continue;
    vec_push(f->scratch, &actor.reads, arg->tensor);
    vec_push(f->scratch, &actor.args, arg);
  }
  const int maker = actor.op->kind == OP_VIEW ? graph_tensor(f->graph, actor.op->in)->producer : -1;
  if (maker >= 0) actor.source = f->ports->place[maker];
  return actor;
}

static void note_dims(Filler *f) {
  for (int i = 0; i < f->group->ops.len; i++) f->actors[i].has = NEW_ARRAY(f->scratch, bool, f->group->dims.len);
  for (int d = 0; d < f->group->dims.len; d++)
    for (int m = 0; m < f->group->dims.at[d].members.len; m++) {
      const int op = f->group->dims.at[d].members.at[m].op;
      if (op >= 0) f->actors[f->ports->place[op]].has[d] = true;
    }
}

static void lay_outcome(const Filler *f, int op, const Outcome *outcome) {
  f->actors[op].op->sharding = outcome->sharding;
  for (int r = 0; r < op_results(f->actors[op].op); r++)
    graph_set_layout(f->p->model->train, op_result(f->actors[op].op, r), routes_layout_at(f->p->routes, outcome->made[r]));
}

static Outcome make_outcome(Filler *f, const Candidate *candidate, int number) {
  const Actor *actor = &f->actors[number];
  const Op *op = actor->op;
  if (op->kind == OP_VIEW && actor->source != STORED) lay_outcome(f, actor->source, &f->outcomes.at[f->now[actor->source]]);
  problem_lay_op(f->p, f->group, f->group->ops.at[number], candidate);
  int *made = NEW_ARRAY(f->scratch, int, op_results(op)), *want = NEW_ARRAY(f->scratch, int, actor->reads.len);
  for (int r = 0; r < op_results(op); r++) made[r] = routes_layout(f->p->routes, graph_tensor(f->graph, op_result(op, r))->layout);
  for (int i = 0; i < actor->reads.len; i++) {
    const OpaqueArg *arg = op->kind == OP_OPAQUE ? actor->args.at[i] : NULL;
    Layout layout = demands_want(f->graph, op, actor->reads.at[i], arg, f->p->cost.mesh);
    for (int a = 0; a < f->p->cost.mesh->n_axes; a++)
      if (op->sharding.pending[a]) layout.axis[a] = (AxisLayout){.kind = LAYOUT_PARTIAL, .reduce = REDUCE_SUM};
    want[i] = routes_layout(f->p->routes, &layout);
  }
  const double cost = f->p->unit == SEARCH_SECONDS ? phase_times(f->graph, op->phase) * cost_of_op(&f->p->cost, f->graph, op) : 0;
  const Tensor *out = graph_tensor(f->graph, op->out);
  const bool again = rematerialise_chooses(out, out->layout, f->p->cost.mesh, f->p->cost.f64);
  return (Outcome){op->sharding, cost, again ? cost : 0, made, want};
}

static int outcome_of(Filler *f, const Candidate *candidate, int number) {
  const Actor *actor = &f->actors[number];
  const int n_axes = f->p->cost.mesh->n_axes, dims = f->group->dims.len;
  int key[MESH_MAX_AXES + 1] = {number};
  for (int a = 0; a < n_axes; a++) {
    const int choice = candidate->choice[a];
    if (actor->op->kind == OP_VIEW) key[a + 1] = actor->source == STORED ? choice : a == 0 ? f->now[actor->source] : 0;
    else key[a + 1] = choice < 0 ? choice : actor->has[choice % dims] ? choice % dims : f->outside;
  }
  const int outcome = numbers_of(&f->choices, key, sizeof *key * (size_t)(n_axes + 1));
  if (outcome == f->outcomes.len) vec_push(f->scratch, &f->outcomes, make_outcome(f, candidate, number));
  return outcome;
}

static bool is_read_as_made(const Filler *f, int op, int by) {
  const int tensor = f->actors[op].op->out;
  int r = 0;
  while (f->actors[by].reads.at[r] != tensor) r++;
  return f->outcomes.at[f->now[by]].want[r] == f->outcomes.at[f->now[op]].made[0];
}

// For whom the result of an operator is made again under the candidate at hand, if it is large. Of the operators behind it that is known.
static int again_for(const Filler *f, int op) {
  const Tensor *out = graph_tensor(f->graph, f->actors[op].op->out);
  const int reader = graph_tensor(f->graph, out->again_by)->producer, by = f->ports->place[reader];
  if (f->p->groups.of_op[reader] != f->number) return op;
  if (!is_read_as_made(f, op, by)) return NOBODY;
  return f->actors[by].op->phase == PHASE_BACKWARD ? THE_GROUP : f->again[by];
}

// What the backward pass makes again under the candidate at hand (../rematerialise.c). The group has the seconds of what it reads so
// itself, and a result those of what is made again if another group does.
static double again_seconds(Filler *f) {
  double seconds = 0;
  for (int i = f->group->ops.len - 1; i >= 0; i--) {
    const double again = f->outcomes.at[f->now[i]].again;
    f->if_read[i] = 0;
    f->again[i] = again > 0 ? again_for(f, i) : NOBODY;
    if (f->again[i] != NOBODY) *(f->again[i] == THE_GROUP ? &seconds : &f->if_read[f->again[i]]) += again;
  }
  return seconds;
}

static bool may_make_again(const Filler *f) {
  for (int i = 0; i < f->group->ops.len; i++)
    if (graph_tensor(f->graph, f->actors[i].op->out)->again_above > 0) return true;
  return false;
}

// ---- ports ---------------------------------------------------------------------------------------------------------

static int shore_at(Filler *f, int tensor) {
  Ports *ports = f->ports;
  if (ports->shore[tensor] == 0) {
    const int maker = graph_tensor(f->graph, tensor)->producer;
    Shore shore = {.own = f->p->groups.of_tensor[tensor] == f->number, .maker = {STORED, 0}};
    if (shore.own && maker >= 0) shore.maker.op = ports->place[maker];
    while (shore.own && maker >= 0 && op_result(&f->graph->ops.at[maker], shore.maker.at) != tensor) shore.maker.at++;
    vec_push(f->p->arena, &ports->list, (Port){.tensor = tensor, .group = f->number});
    vec_push(f->scratch, &f->shores, shore);
    ports->shore[tensor] = f->shores.len;
  }
  return ports->shore[tensor] - 1;
}

// Everything that leaves the graph from an operator of the group, as it is wanted.
static void list_leaving(Filler *f, int number) {
  const int tensor = f->ports->list.at[f->ports->first[f->number] + number].tensor;
  const Uses *uses = plan_uses(&f->p->planner, f->graph, tensor);
  for (int i = 0; i < uses->stores.len; i++) {
    const int state = f->graph->stores.at[uses->stores.at[i]].state, owner = f->p->groups.of_tensor[state];
    if (owner == f->number || owner < 0) vec_push(f->scratch, &f->shores.at[number].leaves, state);
  }
  for (int i = 0; i < f->graph->losses.len; i++)
    if (f->graph->losses.at[i].tensor == tensor && f->shores.at[number].own) vec_push(f->scratch, &f->shores.at[number].leaves, -1);
  if (f->graph->gradient_norm == tensor && f->shores.at[number].own) vec_push(f->scratch, &f->shores.at[number].leaves, -1);
}

static void list_shores(Filler *f) {
  if (f->group->tensor >= 0) shore_at(f, f->group->tensor);
  for (int i = 0; i < f->group->ops.len; i++) {
    const Actor *actor = &f->actors[i];
    for (int r = 0; r < actor->reads.len; r++) {
      const int at = shore_at(f, actor->reads.at[r]);
      vec_push(f->scratch, &f->shores.at[at].reads, (Touch){i, r});
    }
    for (int r = 0; r < op_results(actor->op); r++) shore_at(f, op_result(actor->op, r));
  }
  const Tensors *kept = f->group->kind == GROUP_PARAM ? &f->p->planner.kept[f->group->tensor] : NULL;
  for (int i = 0; kept != NULL && i < kept->len; i++)
    if (f->ports->new_value[kept->at[i]] > 0) shore_at(f, f->ports->new_value[kept->at[i]] - 1);
  for (int i = 0; i < f->shores.len; i++) list_leaving(f, i);
}

static void add_want(int *state, int *n, int want) {
  for (int i = 1; i < *n; i++)
    if (state[i] == want) return;
  state[(*n)++] = want;
}

static double again_of(const Filler *f, const Shore *shore) { return shore->own && shore->maker.op != STORED ? f->if_read[shore->maker.op] : 0; }

// The operator of the group that says whether a tensor of another group is made again, if one of this group does (../rematerialise.c).
static const Touch *again_reader(const Filler *f, const Shore *shore, int tensor) {
  const Touch *forward = NULL;
  if (shore->own || graph_tensor(f->graph, tensor)->again_above == 0) return NULL;
  for (int i = 0; i < shore->reads.len; i++) {
    const Touch *read = &shore->reads.at[i];
    const Op *op = f->actors[read->op].op;
    if (op->kind == OP_COMPUTE && op->phase == PHASE_BACKWARD) return read;
    if (forward == NULL && graph_tensor(f->graph, op->out)->again_above > 0) forward = read;
  }
  return forward;
}

// See PortState.again_want, again_with.
static void note_again(const Filler *f, const Shore *shore, int tensor, int *want, int *with) {
  const Touch *read = again_reader(f, shore, tensor);
  const int by = read == NULL ? NOBODY : f->actors[read->op].op->phase == PHASE_BACKWARD ? THE_GROUP : f->again[read->op];
  *want = by == NOBODY ? -1 : f->outcomes.at[f->now[read->op]].want[read->at];
  *with = by >= 0 ? f->outcomes.at[f->now[by]].made[0] : -1;
}

static int state_of(Filler *f, int number) {
  const Shore *shore = &f->shores.at[number];
  const Port *port = &f->ports->list.at[f->ports->first[f->number] + number];
  const double again = again_of(f, shore);
  int *key = NEW_ARRAY(f->scratch, int, 4 + shore->reads.len + shore->leaves.len), *state = key + 3, n = 1; // how again, made, wanted ...
  key[0] = numbers_of(&f->ports->again_numbers, &again, sizeof again);
  note_again(f, shore, port->tensor, &key[1], &key[2]);
  state[0] = -1;
  if (shore->own && shore->maker.op != STORED) state[0] = f->outcomes.at[f->now[shore->maker.op]].made[shore->maker.at];
  else if (shore->own) state[0] = routes_layout(f->p->routes, graph_tensor(f->graph, port->tensor)->layout);
  for (int i = 0; i < shore->reads.len; i++)
    add_want(state, &n, f->outcomes.at[f->now[shore->reads.at[i].op]].want[shore->reads.at[i].at]);
  for (int i = 0; i < shore->leaves.len; i++) {
    const int stored = shore->leaves.at[i];
    const Layout *layout = stored >= 0 ? graph_tensor(f->graph, stored)->layout : &layout_replicated;
    add_want(state, &n, routes_layout(f->p->routes, layout));
  }
  const int found = numbers_of(&f->ports->state_numbers, key, sizeof *key * (size_t)(n + 3));
  if (found == f->ports->states.len) {
    int *kept = NEW_ARRAY(f->p->arena, int, n);
    memcpy(kept, state, sizeof *kept * (size_t)n);
    vec_push(f->p->arena, &f->ports->states, (PortState){kept[0], key[1], key[2], again, n - 1, kept + 1});
  }
  return found;
}

static void note_state(Filler *f, int number, int candidate) {
  Shore *shore = &f->shores.at[number];
  const int state = state_of(f, number);
  int class = 0;
  while (class < shore->states.len && shore->states.at[class] != state) class++;
  if (class == shore->states.len) vec_push(f->p->arena, &shore->states, state);
  shore->class_of[candidate] = class;
}

static void finish_port(Filler *f, int number) {
  const Shore *shore = &f->shores.at[number];
  Port *port = &f->ports->list.at[f->ports->first[f->number] + number];
  port->n_states = shore->states.len;
  port->state = shore->states.at;
  port->class_of = shore->class_of;
  port->list = numbers_of(&f->ports->list_numbers, port->state, sizeof *port->state * (size_t)port->n_states);
}

// ---- groups --------------------------------------------------------------------------------------------------------

Ports ports_new(SearchProblem *p) {
  const Graph *graph = p->groups.graph;
  Ports ports = {.p = p, .state_numbers.arena = p->arena, .list_numbers.arena = p->arena, .again_numbers.arena = p->arena};
  ports.first = NEW_ARRAY(p->arena, int, p->groups.list.len + 1);
  ports.shore = NEW_ARRAY(p->arena, int, graph->tensors.len);
  ports.new_value = NEW_ARRAY(p->arena, int, graph->tensors.len);
  ports.place = NEW_ARRAY(p->arena, int, graph->ops.len);
  for (int i = 0; i < graph->stores.len; i++) ports.new_value[graph->stores.at[i].state] = graph->stores.at[i].value + 1;
  for (int g = 0; g < p->groups.list.len; g++)
    for (int i = 0; i < p->groups.list.at[g].ops.len; i++) ports.place[p->groups.list.at[g].ops.at[i]] = i;
  return ports;
}

static Filler open_group(Ports *ports, int group) {
  SearchProblem *p = ports->p;
  Filler f = {.ports = ports, .p = p, .graph = p->groups.graph, .group = &p->groups.list.at[group], .number = group};
  f.scratch = f.choices.arena = p->scratch;
  f.outside = f.group->kind == GROUP_PARAM ? CANDIDATE_PENDING : CANDIDATE_NOTHING;
  f.actors = NEW_ARRAY(f.scratch, Actor, f.group->ops.len);
  for (int i = 0; i < f.group->ops.len; i++) f.actors[i] = actor_of(&f, f.group->ops.at[i]);
  list_shores(&f);
  ports->first[group + 1] = ports->list.len;
  return f;
}

static void close_group(const Filler *f) {
  for (int i = f->ports->first[f->number]; i < f->ports->list.len; i++) f->ports->shore[f->ports->list.at[i].tensor] = 0;
  arena_reset(f->scratch);
}

void ports_add_group(Ports *ports, int group, double *own) {
  SearchProblem *p = ports->p;
  Filler filler = open_group(ports, group), *f = &filler;
  note_dims(f);
  f->now = NEW_ARRAY(f->scratch, int, f->group->ops.len);
  f->again = NEW_ARRAY(f->scratch, int, f->group->ops.len);
  f->if_read = NEW_ARRAY(f->scratch, double, f->group->ops.len);
  const bool makes_again = f->p->unit == SEARCH_SECONDS && may_make_again(f);
  for (int i = 0; i < f->group->ops.len; i++) f->again[i] = NOBODY;
  for (int i = 0; i < f->shores.len; i++) f->shores.at[i].class_of = NEW_ARRAY(p->arena, int, p->of[group].n);
  for (int c = 0; c < p->of[group].n; c++) {
    const Candidate *candidate = &p->of[group].list[c];
    own[c] = 0;
    if (f->group->tensor >= 0) problem_lay_stored(p, group, candidate);
    for (int i = 0; i < f->group->ops.len; i++) {
      f->now[i] = outcome_of(f, candidate, i);
      own[c] += f->outcomes.at[f->now[i]].cost;
    }
    if (makes_again) own[c] += again_seconds(f);
    for (int i = 0; i < f->shores.len; i++) note_state(f, i, c);
  }
  for (int i = 0; i < f->shores.len; i++) finish_port(f, i);
  close_group(f);
}

void ports_add_alike(Ports *ports, int group, int like) {
  const Filler f = open_group(ports, group);
  for (int i = 0; i < f.shores.len; i++) {
    Port *port = &ports->list.at[ports->first[group] + i];
    const int tensor = port->tensor;
    *port = ports->list.at[ports->first[like] + i];
    port->tensor = tensor;
    port->group = group;
  }
  close_group(&f);
}
