#include "candidate.h"

static const GroupMember *member_of(const GroupDim *dim, int op) {
  for (int i = 0; i < dim->members.len; i++)
    if (dim->members.at[i].op == op) return &dim->members.at[i];
  return NULL;
}

static bool is_adder(const Group *group, int op) {
  for (int i = 0; i < group->adders.len; i++)
    if (group->adders.at[i] == op) return true;
  return false;
}

OpSharding candidate_sharding(const Group *group, const Candidate *candidate, int op, const Mesh *mesh) {
  OpSharding s = sharding_replicate();
  for (int a = 0; a < mesh->n_axes; a++) {
    const int choice = candidate->choice[a];
    s.pending[a] = choice == CANDIDATE_PENDING && is_adder(group, op);
    if (choice <= CANDIDATE_PIN) s.pin[a] = CANDIDATE_PIN - choice;
    if (choice < 0 || (op < 0 && choice >= group->dims.len)) continue;
    const GroupMember *member = member_of(&group->dims.at[choice % group->dims.len], op);
    if (member != NULL) plan_split(&s, a, member->dim, member->unit, mesh);
    else s.pending[a] = group->kind == GROUP_PARAM; // it sums up what was summed up over the dimension
  }
  return s;
}

// ---- lines of a plan -----------------------------------------------------------------------------------------------

typedef struct Writing {
  Arena *arena;
  const Model *model;
  const Groups *groups;
  Plan *plan;
} Writing;

static void choose(const Mesh *mesh, const OpSharding *s, const Space *space, PlanLine *line) {
  for (int a = 0; a < mesh->n_axes; a++) {
    line->axis[a] = (PlanChoice){.kind = s->pending[a] ? CHOICE_PENDING : CHOICE_REPLICATE};
    if (s->pin[a] >= 0) line->axis[a] = (PlanChoice){.kind = CHOICE_PIN, .pin = s->pin[a]};
    if (s->dim[a] >= 0) line->axis[a] = (PlanChoice){.kind = CHOICE_SPLIT, .dim = space->dims[s->dim[a]].name, .unit = s->unit[a]};
  }
}

static void add_op_line(const Writing *w, int id, const OpSharding *s) {
  const Graph *graph = w->groups->graph;
  const Op *op = &graph->ops.at[id];
  const Space space = plan_space_of_op(op);
  PlanLine line = {.subject = PLAN_OP, .name = graph_tensor(graph, op->out)->name};
  const Op *other = plan_find_op(w->model->eval, line.name);
  if (other != NULL && (other->n_dims != op->n_dims || op->phase != PHASE_FORWARD)) line.graph = graph->name;
  choose(&w->plan->mesh, s, &space, &line);
  if (op->kind != OP_VIEW) vec_push_own(w->arena, &w->plan->lines, line);
}

static void add_stored_lines(const Writing *w, const Group *group, const Candidate *candidate) {
  const Mesh *mesh = &w->plan->mesh;
  const Tensor *t = graph_tensor(w->groups->graph, group->tensor);
  const Space space = plan_space_of_tensor(t);
  const OpSharding s = candidate_sharding(group, candidate, -1, mesh);
  PlanLine line = {.subject = group->kind == GROUP_INPUT ? PLAN_INPUT : PLAN_STORE, .name = t->name};
  choose(mesh, &s, &space, &line);
  vec_push_own(w->arena, &w->plan->lines, line);
  const int last = group_update(w->groups, group);
  if (last < 0) return;
  const OpSharding update = candidate_sharding(group, candidate, last, mesh);
  line.subject = PLAN_UPDATE;
  choose(mesh, &update, &space, &line);
  vec_push_own(w->arena, &w->plan->lines, line);
}

Plan shardings_plan(Arena *arena, const Model *model, const Groups *groups, const Mesh *mesh, const OpSharding *of_op, const Candidate *stored) {
  Plan plan = {.model = model->name, .mesh = *mesh};
  const Writing w = {arena, model, groups, &plan};
  for (int g = 0; g < groups->list.len; g++) {
    const Group *group = &groups->list.at[g];
    if (group->tensor >= 0) add_stored_lines(&w, group, &stored[g]);
    for (int i = 0; i < group->ops.len && group->kind == GROUP_OPS; i++) add_op_line(&w, group->ops.at[i], &of_op[group->ops.at[i]]);
  }
  return plan;
}

Plan candidates_plan(Arena *arena, const Model *model, const Groups *groups, const Mesh *mesh, const Candidate *chosen) {
  OpSharding *of_op = NEW_ARRAY(arena, OpSharding, groups->graph->ops.len);
  for (int i = 0; i < groups->graph->ops.len; i++) {
    const int group = groups->of_op[i];
    if (group >= 0) of_op[i] = candidate_sharding(&groups->list.at[group], &chosen[group], i, mesh);
  }
  Plan plan = shardings_plan(arena, model, groups, mesh, of_op, chosen);
  const Writing w = {arena, model, groups, &plan};
  for (int i = 0; i < groups->graph->ops.len; i++) {
    const bool of_update = plan_update_of(groups->planner, groups->graph, &groups->graph->ops.at[i]) >= 0;
    if (groups->of_op[i] >= 0 && groups->list.at[groups->of_op[i]].kind != GROUP_OPS && !of_update) add_op_line(&w, i, &of_op[i]);
  }
  arena_give_back(arena, of_op, sizeof *of_op * (size_t)groups->graph->ops.len);
  return plan;
}
