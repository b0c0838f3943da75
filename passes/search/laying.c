// How operators and tensors lie under a candidate of their group.
#include "problem.h"

#include "../sharding.h"

static bool is_optimizer_state(const Tensor *t) { return t->role == ROLE_STATE && t->of >= 0; }

// The optimizer's states lie as the update is divided.
void problem_lay_stored(SearchProblem *p, int number, const Candidate *candidate) {
  const Group *group = &p->groups.list.at[number];
  Graph *graph = p->model->train;
  const OpSharding own = candidate_sharding(group, candidate, -1, p->cost.mesh);
  const Tensor *t = graph_tensor(graph, group->tensor);
  const Layout layout = plan_layout(&own, t, p->cost.mesh);
  graph_set_layout(graph, group->tensor, &layout);
  const int update = group_update(&p->groups, group);
  const OpSharding of_update = candidate_sharding(group, candidate, update, p->cost.mesh);
  for (int s = 0; s < p->planner.kept[group->tensor].len && group->kind == GROUP_PARAM; s++) {
    const int id = p->planner.kept[group->tensor].at[s];
    const Tensor *state = graph_tensor(graph, id);
    if (!is_optimizer_state(state)) continue;
    const Layout as_update = plan_same_shape(state, t) ? plan_layout(&of_update, state, p->cost.mesh) : layout_replicated;
    graph_set_layout(graph, id, &as_update);
  }
}

void problem_lay_op(SearchProblem *p, const Group *group, int id, const Candidate *candidate) {
  const Mesh *mesh = p->cost.mesh;
  Graph *graph = p->model->train;
  Op *op = &graph->ops.at[id];
  op->sharding = op->kind == OP_VIEW ? sharding_replicate() : candidate_sharding(group, candidate, id, mesh);
  for (int a = 0; a < mesh->n_axes && op->kind == OP_VIEW; a++) plan_follow_operands(&op->sharding, &p->planner, graph, op, a);
  for (int r = 0; r < op_results(op); r++) {
    Layout layout = sharding_result(graph, op, r, mesh);
    for (int a = 0; a < mesh->n_axes; a++)
      if (axis_is_sum(&layout.axis[a]) && mesh->axis[a].size == 1) layout.axis[a] = (AxisLayout){.kind = LAYOUT_REPLICATED};
    graph_set_layout(graph, op_result(op, r), &layout);
  }
}

void problem_lay_group(SearchProblem *p, int number, int value) {
  const Candidate *candidate = &p->of[number].list[value];
  const Group *group = &p->groups.list.at[number];
  if (group->tensor >= 0) problem_lay_stored(p, number, candidate);
  for (int i = 0; i < group->ops.len; i++) problem_lay_op(p, group, group->ops.at[i], candidate);
}
