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
#include "optcnn.h"

#include "layer_plan.h"
#include "search.h"

enum {
  BUDGET = 4 * 1000 * 1000, // partial choices of the nodes left: some tenths of a second
  MOST_CONFIGURATIONS = 256 // of a layer: all of four dimensions on 64 devices
};

// ---- the search ----------------------------------------------------------------------------------------------------

bool optcnn_is_small(const Layers *layers, const Mesh *mesh) {
  int dims = 0;
  for (int l = 0; l < layers->list.len; l++) dims = layers->list.at[l].dims.len > dims ? layers->list.at[l].dims.len : dims;
  return configurations_most(dims, mesh) <= MOST_CONFIGURATIONS;
}

Elimination optcnn_choose(LayerCosts *costs) {
  const EliminationGraph graph = layer_costs_graph(costs);
  return eliminate(&graph, BUDGET);
}

// The mesh of prime factors, or of larger ones where layers would have too many configurations.
static Mesh finest_mesh(const Compilation *c, const Layers *layers) {
  if (c->mesh_given) return c->mesh;
  int axes = MESH_MAX_AXES - 1;
  Mesh mesh = mesh_factors(c->arena, &c->mesh, axes);
  while (axes > c->mesh.n_axes && !optcnn_is_small(layers, &mesh)) mesh = mesh_factors(c->arena, &c->mesh, --axes);
  return mesh;
}

Plan search_optcnn(Compilation *c) {
  Arena *arena = arena_new(), *scratch = arena_new();
  const Plan nothing = {.model = c->model->name};
  const Planner planner = planner_new(arena, c->model, &nothing, &c->mesh);
  const Groups groups = groups_of_graph(&planner);
  const Layers layers = layers_of_groups(arena, &groups);
  const Mesh mesh = finest_mesh(c, &layers);
  const CostModel cost = cost_model(arena, c->machine, &mesh, c->model->f64);
  LayerCosts costs = layer_costs_new(arena, scratch, c->model->train, &layers, &cost);
  const Elimination found = optcnn_choose(&costs);
  const Configuration **chosen = NEW_ARRAY(scratch, const Configuration *, layers.list.len);
  for (int l = 0; l < layers.list.len; l++) chosen[l] = &costs.of[l].list[found.value[l]];
  const char *how = arena_printf(c->arena, "K = %d of %d layers, after %d node and %d edge eliminations%s", found.kept, layers.list.len,
                                 found.node_eliminations, found.edge_eliminations, found.bound < found.cost ? "; not proved" : "");
  c->search = (Search){.done = true, .cost = found.cost, .bound = found.bound, .how = how};
  const Plan plan = layer_plan(c->arena, &costs, chosen, c->model);
  arena_free(scratch);
  arena_free(arena);
  return plan;
}
