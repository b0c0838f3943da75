#include "groups.h"

typedef struct Parts {
  Groups *g;
  Arena *arena;
  Text *key; // by operator: what those of one part have in common, as text
} Parts;

static int add_part(Parts *parts, const Group *whole, int op) {
  const char *name = graph_tensor(parts->g->graph, parts->g->graph->ops.at[op].out)->name;
  vec_push(parts->arena, &parts->g->list, (Group){.kind = whole->kind, .name = name, .tensor = whole->tensor});
  return parts->g->list.len - 1;
}

static void write_pass(Text *key, const Graph *graph, const Op *op) {
  const bool of_parameter = graph_tensor(graph, op->out)->role == ROLE_GRADIENT;
  text_printf(key, "%s", op->phase == PHASE_FORWARD ? "forward" : of_parameter ? "parameter" : "backward");
}

static void write_keys(Parts *parts, const Group *whole, GroupParts by) {
  const Graph *graph = parts->g->graph;
  for (int i = 0; i < whole->ops.len && by == GROUPS_BY_PASS; i++)
    write_pass(&parts->key[whole->ops.at[i]], graph, &graph->ops.at[whole->ops.at[i]]);
  for (int d = 0; d < whole->dims.len; d++)
    for (int i = 0; i < whole->dims.at[d].members.len; i++) text_printf(&parts->key[whole->dims.at[d].members.at[i].op], " %d", d);
}

// A view is with what it is a view of.
static void deal_out_ops(Parts *parts, const Group *whole, GroupParts by) {
  Groups *g = parts->g;
  Names seen = {.arena = parts->arena};
  write_keys(parts, whole, by);
  for (int i = 0; i < whole->ops.len; i++) {
    const int op = whole->ops.at[i];
    const bool view = g->graph->ops.at[op].kind == OP_VIEW;
    const char *key = text_str(&parts->key[op]);
    int part = view ? g->of_tensor[g->graph->ops.at[op].in] : names_get(&seen, key);
    if (part < 0) names_set(&seen, key, part = add_part(parts, whole, op));
    g->of_op[op] = part;
    vec_push(parts->arena, &g->list.at[part].ops, op);
    for (int r = 0; r < op_results(&g->graph->ops.at[op]); r++) g->of_tensor[op_result(&g->graph->ops.at[op], r)] = part;
  }
}

static void deal_out_dim(Parts *parts, const GroupDim *dim, int first) {
  const int n = parts->g->list.len - first;
  bool *has = NEW_ARRAY(parts->arena, bool, n);
  for (int i = 0; i < dim->members.len; i++) {
    const int part = parts->g->of_op[dim->members.at[i].op];
    Group *group = &parts->g->list.at[part];
    if (!has[part - first]) vec_push(parts->arena, &group->dims, (GroupDim){.name = dim->name, .extent = dim->extent, .ragged = dim->ragged});
    has[part - first] = true;
    vec_push(parts->arena, &group->dims.at[group->dims.len - 1].members, dim->members.at[i]);
  }
}

Groups groups_in_parts(const Groups *groups, GroupParts by) {
  if (by == GROUPS_WHOLE) return *groups;
  const Graph *graph = groups->graph;
  Groups g = {.planner = groups->planner, .graph = graph};
  Parts parts = {&g, groups->planner->arena, NULL};
  int *stored = NEW_ARRAY(parts.arena, int, groups->list.len); // by group: its new number
  parts.key = NEW_ARRAY(parts.arena, Text, graph->ops.len);
  g.of_op = NEW_ARRAY(parts.arena, int, graph->ops.len);
  g.of_tensor = NEW_ARRAY(parts.arena, int, graph->tensors.len);
  for (int i = 0; i < graph->ops.len; i++) parts.key[i].arena = parts.arena;
  for (int i = 0; i < groups->list.len; i++) {
    if (groups->list.at[i].kind == GROUP_OPS) continue;
    stored[i] = g.list.len;
    vec_push(parts.arena, &g.list, groups->list.at[i]);
  }
  for (int i = 0; i < graph->ops.len; i++) g.of_op[i] = groups->of_op[i] >= 0 ? stored[groups->of_op[i]] : -1;
  for (int t = 0; t < graph->tensors.len; t++) g.of_tensor[t] = groups->of_tensor[t] >= 0 ? stored[groups->of_tensor[t]] : -1;
  for (int i = 0; i < groups->list.len; i++) {
    const Group *whole = &groups->list.at[i];
    const int first = g.list.len;
    if (whole->kind != GROUP_OPS) continue;
    deal_out_ops(&parts, whole, by);
    for (int d = 0; d < whole->dims.len; d++) deal_out_dim(&parts, &whole->dims.at[d], first);
    for (int a = 0; a < whole->adders.len; a++)
      vec_push(parts.arena, &g.list.at[g.of_op[whole->adders.at[a]]].adders, whole->adders.at[a]);
  }
  return g;
}
