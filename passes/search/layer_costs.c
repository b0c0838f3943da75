#include "layer_costs.h"

#include <math.h>

#include "../demands.h"
#include "../sharding.h"

// ---- how tensors lie under a configuration --------------------------------------------------------------------------

// The sharding of an operator, from now on.
static const Op *lay_op(const LayerCosts *c, int op, const Configuration *as) {
  c->graph->ops.at[op].sharding = configuration_sharding(c->layers, as, op, c->cost->mesh);
  return &c->graph->ops.at[op];
}

static Region made_region(const LayerCosts *c, int tensor, const Configuration *as) {
  const Tensor *t = graph_tensor(c->graph, tensor);
  const Op *op = lay_op(c, t->producer, as);
  int result = 0;
  while (op_result(op, result) != tensor) result++;
  const Layout layout = sharding_result(c->graph, op, result, c->cost->mesh);
  return region_of(&layout, as->used, t, c->cost->mesh);
}

static Region through_views(const LayerCosts *c, Region region, int tensor, int root) {
  while (tensor != root) {
    const int operand = c->graph->ops.at[graph_tensor(c->graph, tensor)->producer].in;
    region = region_through_view(&region, graph_tensor(c->graph, tensor), graph_tensor(c->graph, operand));
    tensor = operand;
  }
  return region;
}

Region layer_costs_operand(const LayerCosts *c, int number, int tensor, const Configuration *as) {
  const Tensor *t = graph_tensor(c->graph, tensor);
  const Op *op = lay_op(c, number, as);
  Region region = {.used = 0};
  int n = 0;
  for (int a = 0; a < (op->kind == OP_OPAQUE ? op->opaque->n_args : 1); a++) {
    const OpaqueArg *arg = op->kind == OP_OPAQUE ? &op->opaque->args[a] : NULL;
    if (arg != NULL && (arg->written || arg->tensor != tensor)) continue;
    const Layout layout = demands_want(c->graph, op, tensor, arg, c->cost->mesh);
    const Region one = region_of(&layout, as->used, t, c->cost->mesh);
    if (n++ == 0) region = one;
    else region_extend(&region, &one, t->rank);
  }
  return region;
}

static bool reads_forward(const LayerCosts *c, int layer, int op) {
  const int group = c->layers->groups->of_op[op];
  return c->graph->ops.at[op].phase == PHASE_FORWARD && group >= 0 && c->layers->of_group[group] == layer;
}

// What a layer needs of the tensor that an edge brings, as a region of the tensor as it is made.
static Region needed_region(const LayerCosts *c, const LayerEdge *e, const Configuration *as) {
  const Uses *uses = plan_uses(c->layers->groups->planner, c->graph, e->read);
  Region region = {.used = 0};
  int n = 0;
  for (int i = 0; i < uses->ops.len; i++) {
    const int op = uses->ops.at[i];
    if (c->graph->ops.at[op].kind == OP_VIEW || !reads_forward(c, e->to, op)) continue;
    const Region one = layer_costs_operand(c, op, e->read, as);
    if (n++ == 0) region = one;
    else region_extend(&region, &one, graph_tensor(c->graph, e->read)->rank);
  }
  return through_views(c, region, e->read, e->made);
}

// ---- what layers cost ----------------------------------------------------------------------------------------------

// A parameter as a layer reads it.
typedef struct Weight { int op, read, root; } Weight;
typedef VEC(Weight) Weights;

typedef struct WeightVisit { const LayerCosts *c; Weights *list; int op; } WeightVisit;

static void note_weight(void *ctx, int tensor) {
  const WeightVisit *v = ctx;
  const int root = layers_root(v->c->graph, tensor);
  if (graph_tensor(v->c->graph, root)->role != ROLE_PARAM) return;
  for (int i = 0; i < v->list->len; i++)
    if (v->list->at[i].root == root) return;
  vec_push(v->c->arena, v->list, (Weight){v->op, tensor, root});
}

static Weights weights_of(const LayerCosts *c, int layer) {
  Weights list = {0};
  const Layer *l = &c->layers->list.at[layer];
  for (int i = 0; i < l->ops.len; i++) {
    WeightVisit v = {c, &list, l->ops.at[i]};
    if (reads_forward(c, layer, v.op) && c->graph->ops.at[v.op].kind != OP_VIEW) op_visit_reads(&c->graph->ops.at[v.op], note_weight, &v);
  }
  return list;
}

static uint32_t axes_of(const Region *region, int rank) {
  uint32_t axes = 0;
  for (int d = 0; d < rank; d++) axes |= region->dim[d].axes;
  return axes;
}

static double synchronisation(const LayerCosts *c, const Weight *w, const Configuration *as) {
  const Tensor *t = graph_tensor(c->graph, w->root);
  const Region region = through_views(c, layer_costs_operand(c, w->op, w->read, as), w->read, w->root);
  const uint32_t shards = axes_of(&region, t->rank);
  const AxisLinks *links = &c->cost->links[as->used & ~shards];
  const double shard = (double)tensor_elements(t) * cost_element(c->cost, t->type) / mesh_parts(c->cost->mesh, shards);
  const double sent = shard * (links->ranks - 1) / links->ranks; // and as much received
  double seconds = 0;
  for (int l = 0; l < c->cost->machine->n_levels && links->ranks > 1; l++)
    if (links->level[l].used) seconds = fmax(seconds, 2 * sent * links->level[l].all);
  return seconds;
}

// Once, and where the layer that makes it has gradients, its gradient goes back.
static double times_moved(const LayerCosts *c, const LayerEdge *e) {
  const Layer *l = &c->layers->list.at[e->from];
  return c->graph->ops.at[l->ops.at[l->ops.len - 1]].phase == PHASE_BACKWARD ? 2 : 1;
}

typedef struct Regions { Region *made, *needed; } Regions;

// The tensor of an edge under each configuration of both ends.
static Regions regions_of(const LayerCosts *c, const LayerEdge *e) {
  const Configurations *from = &c->of[e->from], *to = &c->of[e->to];
  const Regions r = {NEW_ARRAY(c->scratch, Region, from->n), NEW_ARRAY(c->scratch, Region, to->n)};
  for (int i = 0; i < from->n; i++) r.made[i] = made_region(c, e->made, &from->list[i]);
  for (int j = 0; j < to->n; j++) r.needed[j] = needed_region(c, e, &to->list[j]);
  return r;
}

static void add_computation(LayerCosts *c, int op, const Configurations *of, double *costs) {
  if (c->graph->ops.at[op].kind == OP_VIEW) return;
  for (int i = 0; i < of->n; i++) {
    const OpSharding sharding = configuration_sharding(c->layers, &of->list[i], op, c->cost->mesh);
    costs[i] += op_class_seconds(&c->ops, op, &sharding);
  }
}

// What a layer moves between its own operators.
static void add_inner(const LayerCosts *c, const LayerEdge *e, double *costs) {
  const Regions regions = regions_of(c, e);
  for (int i = 0; i < c->of[e->from].n; i++) {
    double seconds;
    transfer_seconds(c->scratch, c->cost, graph_tensor(c->graph, e->made), 1, &regions.made[i], 1, &regions.needed[i], &seconds);
    costs[i] += times_moved(c, e) * seconds;
  }
  arena_reset(c->scratch);
}

static const double *own_costs(LayerCosts *c, int layer) {
  const Layer *l = &c->layers->list.at[layer];
  const Configurations *of = &c->of[layer];
  const Weights weights = weights_of(c, layer);
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
  const Regions regions = regions_of(c, e);
  double *costs = NEW_ARRAY(c->arena, double, n * m);
  transfer_seconds(c->scratch, c->cost, graph_tensor(c->graph, e->made), n, regions.made, m, regions.needed, costs);
  for (int i = 0; i < n * m; i++) costs[i] *= times_moved(c, e);
  arena_reset(c->scratch);
  return costs;
}

// Edges between layers that are alike, of tensors in the same places, share a table.
static const double *table_of_edge(LayerCosts *c, const LayerEdge *e) {
  const LayerPattern *from = &c->pattern[e->from], *to = &c->pattern[e->to];
  const char *key = arena_printf(c->arena, "%d %d %d %d", from->like, layer_tensor(from, e->read), to->like, layer_tensor(to, e->read));
  const int known = names_get(&c->tables, key);
  if (known >= 0) return c->table_list.at[known];
  const double *costs = edge_costs(c, e);
  names_set(&c->tables, key, c->table_list.len);
  vec_push(c->arena, &c->table_list, costs);
  return costs;
}

LayerCosts layer_costs_new(Arena *arena, Arena *scratch, Graph *graph, const Layers *layers, const CostModel *cost) {
  LayerCosts c = {.arena = arena, .scratch = scratch, .graph = graph, .cost = cost, .layers = layers, .tables.arena = arena};
  const int n = layers->list.len;
  c.ops = op_classes_new(arena, graph, cost);
  c.pattern = layer_patterns(arena, layers, &c.ops);
  c.of = NEW_ARRAY(arena, Configurations, n);
  c.own = NEW_ARRAY(arena, const double *, n);
  c.inner = NEW_ARRAY(arena, Ints, n);
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
