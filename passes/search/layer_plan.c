// A configuration for each layer as a plan: what is of no layer, parameters and inputs lie as the first layer that reads them needs them.
#include "layer_plan.h"

#include "candidate.h"

typedef struct Choice {
  const LayerCosts *costs;
  const Layers *layers;
  const Groups *groups;
  const Mesh *mesh;
  const Configuration *const *of; // by layer
} Choice;

// How a tensor that no layer makes lies: as the first layer that reads it, or a view of it, or what is made of it, needs it.
typedef struct Lying { int layer; Access access; } Lying; // layer -1: nothing needs it

static int dims_of(const Choice *c, int layer) { return c->layers->list.at[layer].dims.len; }

static Lying find_lying(const Choice *c, int tensor) {
  Graph *graph = c->costs->graph;
  const Uses *uses = plan_uses(c->groups->planner, graph, tensor);
  for (int i = 0; i < uses->ops.len; i++) {
    const int number = uses->ops.at[i], group = c->groups->of_op[number], layer = group < 0 ? -1 : c->layers->of_group[group];
    const Op *op = &graph->ops.at[number];
    if (op->phase != PHASE_FORWARD || (op->kind == OP_VIEW && layer >= 0)) continue;
    if (layer >= 0) return (Lying){layer, access_read(graph, number, &c->layers->of_op[number], dims_of(c, layer), tensor)};
    Lying lying = find_lying(c, op->out);
    if (lying.layer < 0) continue;
    const int n_dims = dims_of(c, lying.layer);
    const OpDims dims = access_dims(&lying.access, n_dims, op);
    lying.access = op->kind == OP_VIEW ? access_through_views(graph, &lying.access, n_dims, op->out, tensor) : access_read(graph, number, &dims, n_dims, tensor);
    return lying;
  }
  return (Lying){.layer = -1};
}

static Candidate stored_candidate(const Choice *c, const Group *group) {
  Candidate candidate;
  for (int a = 0; a < MESH_MAX_AXES; a++) candidate.choice[a] = CANDIDATE_NOTHING;
  const Lying lying = find_lying(c, group->tensor);
  if (lying.layer < 0) return candidate;
  const Configuration *configuration = c->of[lying.layer];
  const Region region = access_region(&lying.access, configuration, c->mesh->n_axes);
  for (int a = 0; a < c->mesh->n_axes; a++)
    if (configuration_pin(configuration, a) >= 0) candidate.choice[a] = (signed char)(CANDIDATE_PIN - configuration_pin(configuration, a));
  for (int d = 0; d < group->dims.len; d++)
    for (int a = 0; a < MESH_MAX_AXES; a++)
      if (region.dim[group->dims.at[d].members.at[0].dim].axes >> a & 1) candidate.choice[a] = (signed char)d;
  return candidate;
}

static OpSharding chosen_sharding(const Choice *c, int op) {
  const int layer = c->layers->of_group[c->groups->of_op[op]];
  if (layer >= 0) return configuration_sharding(c->of[layer], &c->layers->of_op[op], c->mesh);
  const Lying lying = find_lying(c, c->costs->graph->ops.at[op].out);
  if (lying.layer < 0) return sharding_replicate();
  const OpDims dims = access_dims(&lying.access, dims_of(c, lying.layer), &c->costs->graph->ops.at[op]);
  return configuration_sharding(c->of[lying.layer], &dims, c->mesh);
}

// What adds up partial sums, as over the windows of a convolution, leaves fewer of them to be reduced.
static void leave_pending(const Choice *c, const Planner *planner, int op, OpSharding *s) {
  for (int a = 0; a < planner->mesh.n_axes; a++)
    s->pending[a] = s->dim[a] < 0 && s->pin[a] < 0 && plan_leaves_pending(planner, c->costs->graph, &c->costs->graph->ops.at[op], a);
}

Plan layer_plan(Arena *arena, const LayerCosts *costs, const Configuration *const *of, const Model *model) {
  const Choice c = {costs, costs->layers, costs->layers->groups, costs->cost->mesh, of};
  OpSharding *of_op = NEW_ARRAY(costs->arena, OpSharding, costs->graph->ops.len);
  Candidate *stored = NEW_ARRAY(costs->arena, Candidate, c.groups->list.len);
  Planner planner = *c.groups->planner;
  planner.mesh = *c.mesh;
  for (int i = 0; i < costs->graph->ops.len; i++) {
    of_op[i] = sharding_replicate();
    if (c.groups->of_op[i] < 0 || c.groups->list.at[c.groups->of_op[i]].kind != GROUP_OPS) continue;
    of_op[i] = chosen_sharding(&c, i);
    leave_pending(&c, &planner, i, &of_op[i]);
    costs->graph->ops.at[i].sharding = of_op[i];
  }
  for (int g = 0; g < c.groups->list.len; g++)
    if (c.groups->list.at[g].tensor >= 0) stored[g] = stored_candidate(&c, &c.groups->list.at[g]);
  return shardings_plan(arena, model, c.groups, c.mesh, of_op, stored);
}
