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

// How a tensor that no layer makes lies: as the first layer that reads it, or a view of it, or what is made of it, needs it.
typedef struct Lying { int layer; Access access; } Lying; // layer -1: nothing needs it

static int dims_of(const Choice *c, int layer) { return c->costs->layers->list.at[layer].dims.len; }

static Lying find_lying(const Choice *c, int tensor) {
  Graph *graph = c->costs->graph;
  const Uses *uses = plan_uses(c->groups->planner, graph, tensor);
  for (int i = 0; i < uses->ops.len; i++) {
    const int number = uses->ops.at[i], group = c->groups->of_op[number], layer = group < 0 ? -1 : c->costs->layers->of_group[group];
    const Op *op = &graph->ops.at[number];
    if (op->phase != PHASE_FORWARD || (op->kind == OP_VIEW && layer >= 0)) continue;
    if (layer >= 0) return (Lying){layer, access_read(graph, number, &c->costs->layers->of_op[number], dims_of(c, layer), tensor)};
    Lying lying = find_lying(c, op->out);
    if (lying.layer < 0) continue;
    const int n_dims = dims_of(c, lying.layer);
    const OpDims dims = access_dims(&lying.access, n_dims, op);
    lying.access = op->kind == OP_VIEW ? access_through_views(graph, &lying.access, n_dims, op->out, tensor) : access_read(graph, number, &dims, n_dims, tensor);
    return lying;
  }
  return (Lying){.layer = -1};
}

static const Configuration *configuration_of(const Choice *c, int layer) { return &c->costs->of[layer].list[c->value[layer]]; }

static Candidate stored_candidate(const Choice *c, const Group *group) {
  Candidate candidate;
  for (int a = 0; a < MESH_MAX_AXES; a++) candidate.choice[a] = -1;
  const Lying lying = find_lying(c, group->tensor);
  if (lying.layer < 0) return candidate;
  const Region region = access_region(&lying.access, configuration_of(c, lying.layer), c->costs->cost->mesh->n_axes);
  for (int d = 0; d < group->dims.len; d++)
    for (int a = 0; a < MESH_MAX_AXES; a++)
      if (region.dim[group->dims.at[d].members.at[0].dim].axes >> a & 1) candidate.choice[a] = (signed char)d;
  return candidate;
}

static OpSharding chosen_sharding(const Choice *c, int op) {
  const Layers *layers = c->costs->layers;
  const int layer = layers->of_group[c->groups->of_op[op]];
  if (layer >= 0) return configuration_sharding(configuration_of(c, layer), &layers->of_op[op], c->costs->cost->mesh);
  const Lying lying = find_lying(c, c->costs->graph->ops.at[op].out);
  if (lying.layer < 0) return sharding_replicate();
  const OpDims dims = access_dims(&lying.access, dims_of(c, lying.layer), &c->costs->graph->ops.at[op]);
  return configuration_sharding(configuration_of(c, lying.layer), &dims, c->costs->cost->mesh);
}

// What adds up partial sums, as over the windows of a convolution, leaves fewer of them to be reduced.
static void leave_pending(const Choice *c, const Planner *planner, int op, OpSharding *s) {
  for (int a = 0; a < planner->mesh.n_axes; a++)
    s->pending[a] = s->dim[a] < 0 && plan_leaves_pending(planner, c->costs->graph, &c->costs->graph->ops.at[op], a);
}

static Plan plan_of(const Choice *c, const Model *model) {
  OpSharding *of_op = NEW_ARRAY(c->costs->arena, OpSharding, c->costs->graph->ops.len);
  Candidate *stored = NEW_ARRAY(c->costs->arena, Candidate, c->groups->list.len);
  Planner planner = *c->groups->planner;
  planner.mesh = *c->costs->cost->mesh;
  for (int i = 0; i < c->costs->graph->ops.len; i++) {
    of_op[i] = sharding_replicate();
    if (c->groups->of_op[i] < 0 || c->groups->list.at[c->groups->of_op[i]].kind != GROUP_OPS) continue;
    of_op[i] = chosen_sharding(c, i);
    leave_pending(c, &planner, i, &of_op[i]);
    c->costs->graph->ops.at[i].sharding = of_op[i];
  }
  for (int g = 0; g < c->groups->list.len; g++)
    if (c->groups->list.at[g].tensor >= 0) stored[g] = stored_candidate(c, &c->groups->list.at[g]);
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
