#include "layer_costs.h"

#include <math.h>

// ---- what edges bring ----------------------------------------------------------------------------------------------

static int dims_of(const LayerCosts *c, int layer) { return c->layers->list.at[layer].dims.len; }

Access layer_access_made(const LayerCosts *c, const LayerEdge *e) {
  const int op = graph_tensor(c->graph, e->made)->producer;
  return access_made(c->graph, op, &c->layers->of_op[op], dims_of(c, e->from), e->made);
}

static bool reads_forward(const LayerCosts *c, int layer, int op) {
  const int group = c->layers->groups->of_op[op];
  return c->graph->ops.at[op].phase == PHASE_FORWARD && group >= 0 && c->layers->of_group[group] == layer;
}

// By all operators of the layer together.
Access layer_access_read(const LayerCosts *c, const LayerEdge *e) {
  const Uses *uses = plan_uses(c->layers->groups->planner, c->graph, e->read);
  const int n_dims = dims_of(c, e->to);
  Access access = {{0}, {{0}}};
  int n = 0;
  for (int i = 0; i < uses->ops.len; i++) {
    const int op = uses->ops.at[i];
    if (c->graph->ops.at[op].kind == OP_VIEW || !reads_forward(c, e->to, op)) continue;
    const Access one = access_read(c->graph, op, &c->layers->of_op[op], n_dims, e->read);
    access = n++ == 0 ? one : access_both(&access, &one, n_dims);
  }
  return access_through_views(c->graph, &access, n_dims, e->read, e->made);
}

static Region *regions_of(const LayerCosts *c, int layer, const Access *access) {
  Region *regions = NEW_ARRAY(c->scratch, Region, c->of[layer].n);
  for (int i = 0; i < c->of[layer].n; i++) regions[i] = access_region(access, &c->of[layer].list[i], c->cost->mesh->n_axes);
  return regions;
}

// ---- what layers cost ----------------------------------------------------------------------------------------------

typedef struct WeightVisit { const LayerCosts *c; LayerWeights *list; int layer, op; } WeightVisit;

static void note_weight(void *ctx, int tensor) {
  const WeightVisit *v = ctx;
  const int root = layers_root(v->c->graph, tensor);
  if (graph_tensor(v->c->graph, root)->role != ROLE_PARAM) return;
  for (int i = 0; i < v->list->len; i++)
    if (v->list->at[i].tensor == root) return;
  const int n_dims = dims_of(v->c, v->layer);
  const Access access = access_read(v->c->graph, v->op, &v->c->layers->of_op[v->op], n_dims, tensor);
  vec_push(v->c->arena, v->list, (LayerWeight){root, access_through_views(v->c->graph, &access, n_dims, tensor, root)});
}

LayerWeights layer_weights(const LayerCosts *c, int layer) {
  LayerWeights list = {0};
  const Layer *l = &c->layers->list.at[layer];
  for (int i = 0; i < l->ops.len; i++) {
    WeightVisit v = {c, &list, layer, l->ops.at[i]};
    if (reads_forward(c, layer, v.op) && c->graph->ops.at[v.op].kind != OP_VIEW) op_visit_reads(&c->graph->ops.at[v.op], note_weight, &v);
  }
  return list;
}

uint32_t region_axes(const Region *region, int rank) {
  uint32_t axes = 0;
  for (int d = 0; d < rank; d++) axes |= region->dim[d].axes;
  return axes;
}

static double synchronisation(const LayerCosts *c, const LayerWeight *w, const Configuration *as) {
  const Tensor *t = graph_tensor(c->graph, w->tensor);
  const Region region = access_region(&w->access, as, c->cost->mesh->n_axes);
  const uint32_t shards = region_axes(&region, t->rank);
  const AxisLinks *links = &c->cost->links[as->used & ~shards];
  const double shard = (double)tensor_elements(t) * cost_element(c->cost, t->type) / mesh_parts(c->cost->mesh, shards);
  const double sent = shard * (links->ranks - 1) / links->ranks; // and as much received
  double seconds = 0;
  for (int l = 0; l < c->cost->machine->n_levels && links->ranks > 1; l++)
    if (links->level[l].used) seconds = fmax(seconds, 2 * sent * links->level[l].all);
  return seconds;
}

// Once, and where it has a gradient, that goes back.
static double times_moved(const LayerCosts *c, const LayerEdge *e) { return c->gradient[e->from] ? 2 : 1; }

static void add_computation(LayerCosts *c, int op, const Configurations *of, double *costs) {
  if (c->graph->ops.at[op].kind == OP_VIEW) return;
  for (int i = 0; i < of->n; i++) {
    const OpSharding sharding = configuration_sharding(&of->list[i], &c->layers->of_op[op], c->cost->mesh);
    costs[i] += op_classes_seconds(&c->ops, op, &sharding);
  }
}

// What a layer moves between its own operators: most tensors are needed as they are made.
static void add_inner(const LayerCosts *c, const LayerEdge *e, double *costs) {
  const Access made = layer_access_made(c, e), needed = layer_access_read(c, e);
  if (access_same(&made, &needed, dims_of(c, e->from))) return;
  const Region *from = regions_of(c, e->from, &made), *to = regions_of(c, e->to, &needed);
  for (int i = 0; i < c->of[e->from].n; i++) {
    double seconds;
    transfer_seconds(c->scratch, c->cost, graph_tensor(c->graph, e->made), 1, &from[i], 1, &to[i], &seconds);
    costs[i] += times_moved(c, e) * seconds;
  }
  arena_reset(c->scratch);
}

static const double *own_costs(LayerCosts *c, int layer) {
  const Layer *l = &c->layers->list.at[layer];
  const Configurations *of = &c->of[layer];
  const LayerWeights weights = layer_weights(c, layer);
  double *costs = NEW_ARRAY(c->arena, double, of->n);
  for (int i = 0; i < l->ops.len; i++) add_computation(c, l->ops.at[i], of, costs);
  for (int w = 0; w < weights.len; w++)
    for (int i = 0; i < of->n; i++) costs[i] += synchronisation(c, &weights.at[w], &of->list[i]);
  for (int e = 0; e < c->inner[layer].len; e++) add_inner(c, &c->layers->edges.at[c->inner[layer].at[e]], costs);
  return costs;
}

// ---- what is between them ------------------------------------------------------------------------------------------

static const double *edge_costs(const LayerCosts *c, const LayerEdge *e) {
  const int n = c->of[e->from].n, m = c->of[e->to].n;
  const Access made = layer_access_made(c, e), needed = layer_access_read(c, e);
  const Region *from = regions_of(c, e->from, &made), *to = regions_of(c, e->to, &needed);
  double *costs = NEW_ARRAY(c->arena, double, n * m);
  transfer_seconds(c->scratch, c->cost, graph_tensor(c->graph, e->made), n, from, m, to, costs);
  for (int i = 0; i < n * m; i++) costs[i] *= times_moved(c, e);
  arena_reset(c->scratch);
  return costs;
}

// Edges between layers that are alike, of tensors in the same places, share a table.
static const double *table_of_edge(LayerCosts *c, const LayerEdge *e) {
  const LayerPattern *from = &c->pattern[e->from], *to = &c->pattern[e->to];
  const char *key = arena_printf(c->arena, "%d %d %d %d %d", from->like, layer_tensor(from, e->read), to->like, layer_tensor(to, e->read), c->gradient[e->from]);
  const int known = names_get(&c->tables, key);
  if (known >= 0) return c->table_list.at[known];
  const double *costs = edge_costs(c, e);
  names_set(&c->tables, key, c->table_list.len);
  vec_push(c->arena, &c->table_list, costs);
  return costs;
}

static bool has_backward(const LayerCosts *c, int layer) {
  const Layer *l = &c->layers->list.at[layer];
  return c->graph->ops.at[l->ops.at[l->ops.len - 1]].phase == PHASE_BACKWARD;
}

static bool carries_gradient(const LayerCosts *c, const LayerEdge *e) { return graph_tensor(c->graph, e->made)->type == TYPE_REAL; }

// Layers with operators of the backward pass, and those between them: of what only lays tensors beside each other the gradients are parts of
// the gradient behind it, which it takes no operator to make.
static bool *find_gradients(const LayerCosts *c) {
  const int n = c->layers->list.len, n_edges = c->layers->edges.len;
  bool *made = NEW_ARRAY(c->arena, bool, n), *wanted = NEW_ARRAY(c->arena, bool, n);
  for (int l = 0; l < n; l++) made[l] = wanted[l] = has_backward(c, l);
  for (int i = 0; i < n_edges; i++) { // they are in the order of the layers that they lead to
    const LayerEdge *e = &c->layers->edges.at[i];
    made[e->to] |= carries_gradient(c, e) && made[e->from];
  }
  for (int i = n_edges - 1; i >= 0; i--) {
    const LayerEdge *e = &c->layers->edges.at[i];
    wanted[e->from] |= carries_gradient(c, e) && wanted[e->to];
  }
  for (int l = 0; l < n; l++) made[l] &= wanted[l];
  return made;
}

LayerCosts layer_costs_new(Arena *arena, Arena *scratch, Graph *graph, const Layers *layers, const CostModel *cost) {
  LayerCosts c = {.arena = arena, .scratch = scratch, .graph = graph, .cost = cost, .layers = layers, .tables.arena = arena};
  const int n = layers->list.len;
  c.ops = op_classes_new(arena, graph, layers->groups, cost);
  c.pattern = layer_patterns(arena, layers, c.ops.of);
  c.of = NEW_ARRAY(arena, Configurations, n);
  c.own = NEW_ARRAY(arena, const double *, n);
  c.inner = NEW_ARRAY(arena, Ints, n);
  c.gradient = find_gradients(&c);
  for (int i = 0; i < graph->ops.len; i++) graph->ops.at[i].sharding = sharding_replicate();
  for (int e = 0; e < layers->edges.len; e++)
    if (layers->edges.at[e].from == layers->edges.at[e].to) vec_push(arena, &c.inner[layers->edges.at[e].from], e);
  return c;
}

EliminationGraph layer_costs_graph(LayerCosts *c) {
  EliminationGraph graph = {.arena = c->arena};
  for (int l = 0; l < c->layers->list.len; l++) {
    const int like = c->pattern[l].like;
    c->of[l] = like < l ? c->of[like] : configurations_of(c->arena, &c->layers->list.at[l], c->cost->mesh);
    c->own[l] = like < l ? c->own[like] : own_costs(c, l);
    vec_push(c->arena, &graph.nodes, (EliminationNode){c->of[l].n, c->own[l]});
  }
  for (int e = 0; e < c->layers->edges.len; e++) {
    const LayerEdge *edge = &c->layers->edges.at[e];
    if (edge->from != edge->to) vec_push(c->arena, &graph.edges, (EliminationEdge){edge->from, edge->to, table_of_edge(c, edge)});
  }
  return graph;
}
