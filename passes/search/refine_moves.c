#include "refine_moves.h"

#include "../plan_write.h"
#include "../sharding.h"
#include "candidate.h"
#include "likeness.h"

struct PlanMoves {
  Arena *arena, *scratch;
  Planner planner;
  Groups groups;
  Plan plan;     // with a line for every operator, parameter and update
  Plan moved;    // the one that was given last
  Names line_of; // by graph, subject and name
  int *like;     // by group: the first one that it is like
  VEC(int) order; // of those first ones, of operators
  int at, axis, dim; // the last move: which of them, along which axis, which of its dimensions
};

// ---- lines ---------------------------------------------------------------------------------------------------------

static int line_of(const PlanMoves *m, PlanSubject subject, const char *name) {
  const int line = names_get(&m->line_of, plan_line_key(m->scratch, m->groups.graph->name, subject, name));
  return line >= 0 ? line : names_get(&m->line_of, plan_line_key(m->scratch, NULL, subject, name));
}

static void note_line(PlanMoves *m, int line) {
  const PlanLine *l = &m->plan.lines.at[line];
  const char *key = plan_line_key(m->arena, l->graph, l->subject, l->name);
  if (names_get(&m->line_of, key) < 0) names_set(&m->line_of, key, line);
}

static void add_line(PlanMoves *m, PlanLine line) {
  vec_push(m->arena, &m->plan.lines, line);
  note_line(m, m->plan.lines.len - 1);
}

static void say_op(PlanMoves *m, const Op *op) {
  const char *name = graph_tensor(m->groups.graph, op->out)->name;
  const Space space = plan_space_of_op(op);
  PlanLine line = {.subject = PLAN_OP, .graph = m->groups.graph->name, .name = name};
  if (!plan_has_choice(m->groups.graph, op) || line_of(m, PLAN_OP, name) >= 0) return;
  for (int a = 0; a < m->plan.mesh.n_axes; a++) line.axis[a] = plan_explicit_choice(&op->sharding, &space, a);
  add_line(m, line);
}

static void say_stored(PlanMoves *m, PlanSubject subject, const Tensor *t) {
  const Space space = plan_space_of_tensor(t);
  PlanLine line = {.subject = subject, .name = t->name};
  if (line_of(m, subject, t->name) >= 0) return;
  for (int a = 0; a < m->plan.mesh.n_axes; a++) {
    const AxisLayout *axis = &t->layout->axis[a];
    line.axis[a].kind = CHOICE_REPLICATE;
    if (axis->kind == LAYOUT_SHARD) line.axis[a] = (PlanChoice){.kind = CHOICE_SPLIT, .dim = space.dims[axis->dim].name, .unit = t->layout->cut[axis->dim].scale};
    if (axis->kind == LAYOUT_PINNED) line.axis[a] = (PlanChoice){.kind = CHOICE_PIN, .pin = axis->pin};
  }
  add_line(m, line);
}

// ---- the order of groups -------------------------------------------------------------------------------------------

typedef struct Weight {
  const Graph *graph;
  double elements;
} Weight;

static void add_parameter(void *ctx, int tensor) {
  Weight *w = ctx;
  if (graph_tensor(w->graph, tensor)->role == ROLE_PARAM) w->elements += (double)tensor_elements(graph_tensor(w->graph, tensor));
}

// Elements of parameters that a group and all that are like it read.
static double weight_of(const PlanMoves *m, int first) {
  Weight weight = {.graph = m->groups.graph};
  for (int g = first; g < m->groups.list.len; g++)
    for (int i = 0; m->like[g] == first && i < m->groups.list.at[g].ops.len; i++) {
      const Op *op = &m->groups.graph->ops.at[m->groups.list.at[g].ops.at[i]];
      if (op->phase == PHASE_FORWARD) op_visit_reads(op, add_parameter, &weight);
    }
  return weight.elements;
}

// Those first whose parameters are large: gradients of these are what takes long beside computing.
static void list_groups(PlanMoves *m) {
  double *weight = NEW_ARRAY(m->arena, double, m->groups.list.len);
  for (int g = 0; g < m->groups.list.len; g++) {
    if (m->like[g] != g || m->groups.list.at[g].kind != GROUP_OPS) continue;
    weight[g] = weight_of(m, g);
    vec_push(m->arena, &m->order, g);
    int to = m->order.len - 1;
    for (; to > 0 && weight[m->order.at[to - 1]] < weight[g]; to--) m->order.at[to] = m->order.at[to - 1];
    m->order.at[to] = g;
  }
}

PlanMoves *plan_moves_new(Arena *arena, Model *model, const Plan *plan) {
  PlanMoves *m = NEW(arena, PlanMoves);
  const Plan nothing = {.model = model->name};
  *m = (PlanMoves){.arena = arena, .scratch = arena_new(), .plan = *plan, .line_of.arena = arena};
  m->planner = planner_new(arena, model, arena_copy(arena, &nothing, sizeof nothing), &plan->mesh);
  const Groups groups = groups_of_graph(&m->planner);
  m->groups = groups_in_parts(&groups, GROUPS_BY_DIMS);
  m->like = groups_alike(arena, &m->groups, NEW_ARRAY(arena, Candidates, m->groups.list.len));
  vec_own(arena, &m->plan.lines);
  for (int i = 0; i < m->plan.lines.len; i++) note_line(m, i);
  for (int g = 0; g < m->groups.list.len; g++) {
    const Group *group = &m->groups.list.at[g];
    for (int i = 0; i < group->ops.len && group->kind == GROUP_OPS; i++) say_op(m, &model->train->ops.at[group->ops.at[i]]);
    if (group->kind != GROUP_PARAM) continue;
    say_stored(m, PLAN_STORE, graph_tensor(model->train, group->tensor));
    say_stored(m, PLAN_UPDATE, graph_tensor(model->train, group->tensor));
  }
  list_groups(m);
  m->moved = m->plan;
  vec_own(arena, &m->moved.lines);
  m->dim = CANDIDATE_NOTHING - 1;
  return m;
}

// ---- moves ---------------------------------------------------------------------------------------------------------

static void change(const PlanMoves *m, Plan *plan, PlanSubject subject, const char *name, PlanChoice choice) {
  const int line = line_of(m, subject, name);
  if (line >= 0) plan->lines.at[line].axis[m->axis] = choice;
}

typedef struct Reader {
  const PlanMoves *m;
  Plan *plan;
  const Op *op;
  int dim; // that is divided, or -1
} Reader;

// A parameter lies as the operator reads it.
static void change_parameter(void *ctx, int tensor) {
  const Reader *r = ctx;
  const Graph *graph = r->m->groups.graph;
  const Tensor *t = graph_tensor(graph, tensor);
  const Space space = plan_space_of_tensor(t);
  PlanChoice choice = {.kind = CHOICE_REPLICATE};
  if (t->role != ROLE_PARAM) return;
  for (int i = 0; i < t->rank && r->dim >= 0; i++)
    if (sharding_dim_of(graph, r->op, tensor, i) == r->dim) choice = (PlanChoice){.kind = CHOICE_SPLIT, .dim = space.dims[i].name, .unit = 1};
  change(r->m, r->plan, PLAN_STORE, t->name, choice);
  change(r->m, r->plan, PLAN_UPDATE, t->name, choice);
}

static void change_group(const PlanMoves *m, Plan *plan, const Group *group) {
  Candidate candidate;
  for (int a = 0; a < MESH_MAX_AXES; a++) candidate.choice[a] = CANDIDATE_NOTHING;
  candidate.choice[m->axis] = (signed char)m->dim;
  for (int i = 0; i < group->ops.len; i++) {
    const Op *op = &m->groups.graph->ops.at[group->ops.at[i]];
    const OpSharding s = candidate_sharding(group, &candidate, group->ops.at[i], &m->plan.mesh);
    const Space space = plan_space_of_op(op);
    change(m, plan, PLAN_OP, graph_tensor(m->groups.graph, op->out)->name, plan_explicit_choice(&s, &space, m->axis));
    Reader r = {m, plan, op, s.dim[m->axis]};
    if (op->phase == PHASE_FORWARD && op->kind == OP_COMPUTE) op_visit_reads(op, change_parameter, &r);
  }
}

// False: there are no more.
static bool step(PlanMoves *m) {
  if (m->at < m->order.len && ++m->dim < m->groups.list.at[m->order.at[m->at]].dims.len) return true;
  m->dim = CANDIDATE_NOTHING;
  if (++m->axis < m->plan.mesh.n_axes) return true;
  m->axis = 0;
  return ++m->at < m->order.len;
}

bool plan_moves_next(PlanMoves *m, Plan *plan) {
  while (step(m)) {
    const int first = m->order.at[m->at];
    const Group *group = &m->groups.list.at[first];
    arena_reset(m->scratch);
    if (m->plan.mesh.axis[m->axis].size == 1) continue;
    if (m->dim >= 0 && !group_dim_allows(&group->dims.at[m->dim], &m->plan.mesh, 1u << m->axis)) continue;
    memcpy(m->moved.lines.at, m->plan.lines.at, sizeof *m->plan.lines.at * (size_t)m->plan.lines.len);
    for (int g = 0; g < m->groups.list.len; g++)
      if (m->like[g] == first) change_group(m, &m->moved, &m->groups.list.at[g]);
    *plan = m->moved;
    return true;
  }
  return false;
}

void plan_moves_free(PlanMoves *m) { arena_free(m->scratch); }
