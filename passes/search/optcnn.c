// optcnn: layer-wise parallelism, as in Jia, Lin, Qi and Aiken, "Exploring Hidden Dimensions in Parallelizing Convolutional Neural
// Networks" (ICML 2018).
//
// - A layer (layers.h) is divided along the dimensions of what it makes, into equal blocks, on all devices or on fewer
//   (configuration.h). No dimension that it sums over is divided, and no configuration follows another one. Here devices that have
//   nothing to do do the same as others once more, which takes no more time.
// - The objective (layer_costs.h) is a sum of what layers take to compute, their parameters to be brought together by a parameter server,
//   and tensors between layers to be moved. Nothing overlaps; moving takes bytes / bandwidth and no latency.
// - The search is node and edge elimination, then enumeration of the K nodes left (eliminate.h). Where they are too many, as in
//   networks that attend to all of their steps, enumeration ends when its budget is spent, and nothing is proved.
#include "../demands.h"
#include "candidate.h"
#include "layer_costs.h"
#include "search.h"

enum {
  BUDGET = 4 * 1000 * 1000, // partial choices of the nodes left: some tenths of a second
  MOST_CONFIGURATIONS = 256 // of a layer: all of four dimensions on 64 devices
};

// A configuration for every layer.
typedef struct Choice {
  const LayerCosts *costs;
  const Groups *groups;
  const int *value; // by layer
} Choice;

// ---- the plan ------------------------------------------------------------------------------------------------------

// Of an operator of no layer whose result is to lie so.
static OpSharding sharding_of_region(const Choice *c, const Op *op, const Region *region) {
  OpSharding s = sharding_replicate();
  for (int d = 0; d < op->n_out; d++) {
    const Cut *cut = &region->dim[d].cut;
    for (int a = 0; a < c->costs->cost->mesh->n_axes; a++)
      if (region->dim[d].axes >> a & 1) plan_split(&s, a, d, cut_is_plain(cut, op->dims[d].extent) ? cut->scale : 1, c->costs->cost->mesh);
  }
  return s;
}

// How a tensor that no layer makes lies: as the first layer that reads it, or a view of it, or what is made of it, needs it.
// False: none does.
static bool find_region(const Choice *c, int tensor, Region *region) {
  const Uses *uses = plan_uses(c->groups->planner, c->costs->graph, tensor);
  const Tensor *t = graph_tensor(c->costs->graph, tensor);
  for (int i = 0; i < uses->ops.len; i++) {
    Op *op = &c->costs->graph->ops.at[uses->ops.at[i]];
    const int group = c->groups->of_op[uses->ops.at[i]], layer = group < 0 ? -1 : c->costs->layers->of_group[group];
    Region of_result;
    if (layer >= 0 && op->kind != OP_VIEW && op->phase == PHASE_FORWARD) {
      *region = layer_costs_operand(c->costs, uses->ops.at[i], tensor, &c->costs->of[layer].list[c->value[layer]]);
      return true;
    }
    if (layer >= 0 || op->phase != PHASE_FORWARD || !find_region(c, op->out, &of_result)) continue;
    if (op->kind == OP_VIEW) *region = region_through_view(&of_result, graph_tensor(c->costs->graph, op->out), t);
    else {
      op->sharding = sharding_of_region(c, op, &of_result);
      const Layout layout = demands_want(c->costs->graph, op, tensor, NULL, c->costs->cost->mesh);
      *region = region_of(&layout, of_result.used, t, c->costs->cost->mesh);
    }
    return true;
  }
  return false;
}

static Candidate stored_candidate(const Choice *c, const Group *group) {
  Candidate candidate;
  Region region = {.used = 0};
  for (int a = 0; a < MESH_MAX_AXES; a++) candidate.choice[a] = -1;
  find_region(c, group->tensor, &region);
  for (int d = 0; d < group->dims.len; d++)
    for (int a = 0; a < MESH_MAX_AXES; a++)
      if (region.dim[group->dims.at[d].members.at[0].dim].axes >> a & 1) candidate.choice[a] = (signed char)d;
  return candidate;
}

static OpSharding chosen_sharding(const Choice *c, int op) {
  const int layer = c->costs->layers->of_group[c->groups->of_op[op]];
  Region region;
  if (layer >= 0) return configuration_sharding(c->costs->layers, &c->costs->of[layer].list[c->value[layer]], op, c->costs->cost->mesh);
  return find_region(c, c->costs->graph->ops.at[op].out, &region) ? sharding_of_region(c, &c->costs->graph->ops.at[op], &region) : sharding_replicate();
}

static Plan plan_of(const Choice *c, const Model *model) {
  OpSharding *of_op = NEW_ARRAY(c->costs->arena, OpSharding, c->costs->graph->ops.len);
  Candidate *stored = NEW_ARRAY(c->costs->arena, Candidate, c->groups->list.len);
  for (int i = 0; i < c->costs->graph->ops.len; i++)
    if (c->groups->of_op[i] >= 0 && c->groups->list.at[c->groups->of_op[i]].kind == GROUP_OPS) of_op[i] = chosen_sharding(c, i);
  for (int g = 0; g < c->groups->list.len; g++)
    if (c->groups->list.at[g].kind != GROUP_OPS) stored[g] = stored_candidate(c, &c->groups->list.at[g]);
  return shardings_plan(c->costs->arena, model, c->groups, c->costs->cost->mesh, of_op, stored);
}

// ---- the search ----------------------------------------------------------------------------------------------------

// The mesh of prime factors, or of larger ones where layers would have too many configurations.
static Mesh finest_mesh(const Compilation *c, const Layers *layers) {
  if (c->mesh_given) return c->mesh;
  int dims = 0, axes = MESH_MAX_AXES - 1;
  for (int l = 0; l < layers->list.len; l++) dims = layers->list.at[l].dims.len > dims ? layers->list.at[l].dims.len : dims;
  Mesh mesh = mesh_factors(c->arena, &c->mesh, axes);
  while (axes > c->mesh.n_axes && configurations_most(dims, &mesh) > MOST_CONFIGURATIONS) mesh = mesh_factors(c->arena, &c->mesh, --axes);
  return mesh;
}

Plan search_optcnn(Compilation *c) {
  Arena *scratch = arena_new();
  const Plan nothing = {.model = c->model->name};
  const Planner planner = planner_new(c->arena, c->model, &nothing, &c->mesh);
  const Groups groups = groups_of_graph(&planner);
  const Layers layers = layers_of_groups(c->arena, &groups);
  const Mesh mesh = finest_mesh(c, &layers);
  const CostModel cost = cost_model(c->arena, c->machine, &mesh, c->model->f64);
  LayerCosts costs = layer_costs_new(c->arena, scratch, c->model->train, &layers, &cost);
  const EliminationGraph graph = layer_costs_graph(&costs);
  const Elimination found = eliminate(&graph, BUDGET);
  const Choice choice = {&costs, &groups, found.value};
  const char *how = arena_printf(c->arena, "K = %d of %d layers, after %d node and %d edge eliminations%s", found.kept, layers.list.len,
                                 found.node_eliminations, found.edge_eliminations, found.bound < found.cost ? "; not proved" : "");
  c->search = (Search){.done = true, .cost = found.cost, .bound = found.bound, .how = how};
  arena_free(scratch);
  return plan_of(&choice, c->model);
}
