// optcnn: layer-wise parallelism, as in Jia, Lin, Qi and Aiken, "Exploring Hidden Dimensions in Parallelizing Convolutional Neural
// Networks" (ICML 2018).
//
// - A layer (layers.h) is divided along the dimensions of what it makes, into equal blocks, on all devices or on fewer
//   (configuration.h). No dimension that it sums over is divided, and no configuration follows another one. Here devices that have
//   nothing to do do the same as others once more, which takes no more time.
// - The objective (equation 1) is a sum, over layers, of t_C, the time to compute forward and backward, and t_S, the time to bring
//   their parameters together; over tensors between layers, of t_X, the time to move them. Nothing overlaps; moving takes
//   bytes / bandwidth and no latency; updates of parameters take none.
// - t_C is what the operators cost (cost.h), where the paper measures. t_X (transfer.h) is paid for the tensor and for its
//   gradient, which goes the same way back. What a layer moves between its own operators it pays itself.
// - t_S is that of a parameter server whose parts are spread over the devices that share a parameter: each of them sends the others
//   their parts of its gradient and gets the new parameters back.
// - The search is node and edge elimination, then enumeration of the K nodes left (eliminate.h). Where they are too many, as in
//   networks that attend to all of their steps, enumeration ends when its budget is spent, and nothing is proved.
#include <math.h>

#include "../demands.h"
#include "../sharding.h"
#include "candidate.h"
#include "configuration.h"
#include "eliminate.h"
#include "layer_pattern.h"
#include "search.h"
#include "transfer.h"

enum {
  BUDGET = 4 * 1000 * 1000, // partial choices of the nodes left: some tenths of a second
  MOST_CONFIGURATIONS = 256 // of a layer: all of four dimensions on 64 devices
};

typedef VEC(int) Ints;

typedef struct Optcnn {
  Arena *arena, *scratch;
  Graph *graph;
  Mesh mesh;
  CostModel cost;
  const Planner *planner; // without lines
  const Groups *groups;
  Layers layers;
  OpClasses ops;
  LayerPattern *pattern;
  Configurations *of; // by layer
  const double **own; // by layer: what it costs in each configuration
  Ints *inner;     // by layer: edges from it to itself
  Names tables;       // of edges that are alike: number in ...
  VEC(const double *) table_list;
} Optcnn;

// ---- how tensors lie under a configuration --------------------------------------------------------------------------

// The sharding of an operator, from now on.
static const Op *lay_op(const Optcnn *o, int op, const Configuration *c) {
  o->graph->ops.at[op].sharding = configuration_sharding(&o->layers, c, op, &o->mesh);
  return &o->graph->ops.at[op];
}

static Region made_region(const Optcnn *o, int tensor, const Configuration *c) {
  const Tensor *t = graph_tensor(o->graph, tensor);
  const Op *op = lay_op(o, t->producer, c);
  int result = 0;
  while (op_result(op, result) != tensor) result++;
  const Layout layout = sharding_result(o->graph, op, result, &o->mesh);
  return region_of(&layout, c->used, t, &o->mesh);
}

static Region through_views(const Optcnn *o, Region region, int tensor, int root) {
  while (tensor != root) {
    const int operand = o->graph->ops.at[graph_tensor(o->graph, tensor)->producer].in;
    region = region_through_view(&region, graph_tensor(o->graph, tensor), graph_tensor(o->graph, operand));
    tensor = operand;
  }
  return region;
}

// What an operator needs of a tensor.
static Region operand_region(const Optcnn *o, int number, int tensor, const Configuration *c) {
  const Tensor *t = graph_tensor(o->graph, tensor);
  const Op *op = lay_op(o, number, c);
  Region region = {.used = 0};
  int n = 0;
  for (int a = 0; a < (op->kind == OP_OPAQUE ? op->opaque->n_args : 1); a++) {
    const OpaqueArg *arg = op->kind == OP_OPAQUE ? &op->opaque->args[a] : NULL;
    if (arg != NULL && (arg->written || arg->tensor != tensor)) continue;
    const Layout layout = demands_want(o->graph, op, tensor, arg, &o->mesh);
    const Region one = region_of(&layout, c->used, t, &o->mesh);
    if (n++ == 0) region = one;
    else region_extend(&region, &one, t->rank);
  }
  return region;
}

static bool reads_forward(const Optcnn *o, int layer, int op) {
  const int group = o->groups->of_op[op];
  return o->graph->ops.at[op].phase == PHASE_FORWARD && group >= 0 && o->layers.of_group[group] == layer;
}

// What a layer needs of the tensor that an edge brings, as a region of the tensor as it is made.
static Region needed_region(const Optcnn *o, const LayerEdge *e, const Configuration *c) {
  const Uses *uses = plan_uses(o->planner, o->graph, e->read);
  Region region = {.used = 0};
  int n = 0;
  for (int i = 0; i < uses->ops.len; i++) {
    const int op = uses->ops.at[i];
    if (o->graph->ops.at[op].kind == OP_VIEW || !reads_forward(o, e->to, op)) continue;
    const Region one = operand_region(o, op, e->read, c);
    if (n++ == 0) region = one;
    else region_extend(&region, &one, graph_tensor(o->graph, e->read)->rank);
  }
  return through_views(o, region, e->read, e->made);
}

// ---- what layers cost ----------------------------------------------------------------------------------------------

// A parameter as a layer reads it.
typedef struct Weight { int op, read, root; } Weight;
typedef VEC(Weight) Weights;

typedef struct WeightVisit { const Optcnn *o; Weights *list; int op; } WeightVisit;

static void note_weight(void *ctx, int tensor) {
  const WeightVisit *v = ctx;
  const int root = layers_root(v->o->graph, tensor);
  if (graph_tensor(v->o->graph, root)->role != ROLE_PARAM) return;
  for (int i = 0; i < v->list->len; i++)
    if (v->list->at[i].root == root) return;
  vec_push(v->o->arena, v->list, (Weight){v->op, tensor, root});
}

static Weights weights_of(const Optcnn *o, int layer) {
  Weights list = {0};
  const Layer *l = &o->layers.list.at[layer];
  for (int i = 0; i < l->ops.len; i++) {
    WeightVisit v = {o, &list, l->ops.at[i]};
    if (reads_forward(o, layer, v.op) && o->graph->ops.at[v.op].kind != OP_VIEW) op_visit_reads(&o->graph->ops.at[v.op], note_weight, &v);
  }
  return list;
}

static uint32_t axes_of(const Region *region, int rank) {
  uint32_t axes = 0;
  for (int d = 0; d < rank; d++) axes |= region->dim[d].axes;
  return axes;
}

static double synchronisation(const Optcnn *o, const Weight *w, const Configuration *c) {
  const Tensor *t = graph_tensor(o->graph, w->root);
  const Region region = through_views(o, operand_region(o, w->op, w->read, c), w->read, w->root);
  const uint32_t shards = axes_of(&region, t->rank);
  const AxisLinks *links = &o->cost.links[c->used & ~shards];
  const double shard = (double)tensor_elements(t) * cost_element(&o->cost, t->type) / mesh_parts(&o->mesh, shards);
  const double sent = shard * (links->ranks - 1) / links->ranks; // and as much received
  double seconds = 0;
  for (int l = 0; l < o->cost.machine->n_levels && links->ranks > 1; l++)
    if (links->level[l].used) seconds = fmax(seconds, 2 * sent * links->level[l].all);
  return seconds;
}

// Once, and where the layer that makes it has gradients, its gradient goes back.
static double times_moved(const Optcnn *o, const LayerEdge *e) {
  const Layer *l = &o->layers.list.at[e->from];
  return o->graph->ops.at[l->ops.at[l->ops.len - 1]].phase == PHASE_BACKWARD ? 2 : 1;
}

typedef struct Regions { Region *made, *needed; } Regions;

// The tensor of an edge under each configuration of both ends.
static Regions regions_of(const Optcnn *o, const LayerEdge *e) {
  const Configurations *from = &o->of[e->from], *to = &o->of[e->to];
  const Regions r = {NEW_ARRAY(o->scratch, Region, from->n), NEW_ARRAY(o->scratch, Region, to->n)};
  for (int i = 0; i < from->n; i++) r.made[i] = made_region(o, e->made, &from->list[i]);
  for (int j = 0; j < to->n; j++) r.needed[j] = needed_region(o, e, &to->list[j]);
  return r;
}

static void add_computation(Optcnn *o, int op, const Configurations *of, double *costs) {
  if (o->graph->ops.at[op].kind == OP_VIEW) return;
  for (int i = 0; i < of->n; i++) {
    const OpSharding sharding = configuration_sharding(&o->layers, &of->list[i], op, &o->mesh);
    costs[i] += op_class_seconds(&o->ops, op, &sharding);
  }
}

// What a layer moves between its own operators.
static void add_inner(const Optcnn *o, const LayerEdge *e, double *costs) {
  const Regions regions = regions_of(o, e);
  for (int i = 0; i < o->of[e->from].n; i++) {
    double seconds;
    transfer_seconds(o->scratch, &o->cost, graph_tensor(o->graph, e->made), 1, &regions.made[i], 1, &regions.needed[i], &seconds);
    costs[i] += times_moved(o, e) * seconds;
  }
  arena_reset(o->scratch);
}

static const double *own_costs(Optcnn *o, int layer) {
  const Layer *l = &o->layers.list.at[layer];
  const Configurations *of = &o->of[layer];
  const Weights weights = weights_of(o, layer);
  double *costs = NEW_ARRAY(o->arena, double, of->n);
  for (int i = 0; i < l->ops.len; i++) add_computation(o, l->ops.at[i], of, costs);
  for (int w = 0; w < weights.len; w++)
    for (int i = 0; i < of->n; i++) costs[i] += synchronisation(o, &weights.at[w], &of->list[i]);
  for (int e = 0; e < o->inner[layer].len; e++) add_inner(o, &o->layers.edges.at[o->inner[layer].at[e]], costs);
  return costs;
}

// ---- what is between them ------------------------------------------------------------------------------------------

static const double *edge_costs(const Optcnn *o, const LayerEdge *e) {
  const int n = o->of[e->from].n, m = o->of[e->to].n;
  const Regions regions = regions_of(o, e);
  double *costs = NEW_ARRAY(o->arena, double, n * m);
  transfer_seconds(o->scratch, &o->cost, graph_tensor(o->graph, e->made), n, regions.made, m, regions.needed, costs);
  for (int i = 0; i < n * m; i++) costs[i] *= times_moved(o, e);
  arena_reset(o->scratch);
  return costs;
}

// Edges between layers that are alike, of tensors in the same places, share a table.
static const double *table_of_edge(Optcnn *o, const LayerEdge *e) {
  const LayerPattern *from = &o->pattern[e->from], *to = &o->pattern[e->to];
  const char *key = arena_printf(o->arena, "%d %d %d %d", from->like, layer_tensor(from, e->read), to->like, layer_tensor(to, e->read));
  const int known = names_get(&o->tables, key);
  if (known >= 0) return o->table_list.at[known];
  const double *costs = edge_costs(o, e);
  names_set(&o->tables, key, o->table_list.len);
  vec_push(o->arena, &o->table_list, costs);
  return costs;
}

static EliminationGraph build_graph(Optcnn *o) {
  EliminationGraph graph = {.arena = o->arena};
  o->of = NEW_ARRAY(o->arena, Configurations, o->layers.list.len);
  o->own = NEW_ARRAY(o->arena, const double *, o->layers.list.len);
  o->inner = NEW_ARRAY(o->arena, Ints, o->layers.list.len);
  for (int e = 0; e < o->layers.edges.len; e++)
    if (o->layers.edges.at[e].from == o->layers.edges.at[e].to) vec_push(o->arena, &o->inner[o->layers.edges.at[e].from], e);
  for (int l = 0; l < o->layers.list.len; l++) {
    const int like = o->pattern[l].like;
    o->of[l] = like < l ? o->of[like] : configurations_of(o->arena, &o->layers.list.at[l], &o->mesh);
    o->own[l] = like < l ? o->own[like] : own_costs(o, l);
    vec_push(o->arena, &graph.nodes, (EliminationNode){o->of[l].n, o->own[l]});
  }
  for (int e = 0; e < o->layers.edges.len; e++) {
    const LayerEdge *edge = &o->layers.edges.at[e];
    if (edge->from != edge->to) vec_push(o->arena, &graph.edges, (EliminationEdge){edge->from, edge->to, table_of_edge(o, edge)});
  }
  return graph;
}

// ---- the plan ------------------------------------------------------------------------------------------------------

// Of an operator of no layer whose result is to lie so.
static OpSharding sharding_of_region(const Optcnn *o, const Op *op, const Region *region) {
  OpSharding s = sharding_replicate();
  for (int d = 0; d < op->n_out; d++)
    for (int a = 0; a < o->mesh.n_axes; a++)
      if (region->dim[d].axes >> a & 1) plan_split(&s, a, d, cut_is_plain(&region->dim[d].cut, op->dims[d].extent) ? region->dim[d].cut.scale : 1, &o->mesh);
  return s;
}

// How a tensor that no layer makes lies: as the first layer that reads it, or a view of it, or what is made of it, needs it.
// False: none does.
static bool find_region(const Optcnn *o, int tensor, const int *value, Region *region) {
  const Uses *uses = plan_uses(o->planner, o->graph, tensor);
  const Tensor *t = graph_tensor(o->graph, tensor);
  for (int i = 0; i < uses->ops.len; i++) {
    Op *op = &o->graph->ops.at[uses->ops.at[i]];
    const int group = o->groups->of_op[uses->ops.at[i]], layer = group < 0 ? -1 : o->layers.of_group[group];
    Region of_result;
    if (layer >= 0 && op->kind != OP_VIEW && op->phase == PHASE_FORWARD) {
      *region = operand_region(o, uses->ops.at[i], tensor, &o->of[layer].list[value[layer]]);
      return true;
    }
    if (layer >= 0 || op->phase != PHASE_FORWARD || !find_region(o, op->out, value, &of_result)) continue;
    if (op->kind == OP_VIEW) *region = region_through_view(&of_result, graph_tensor(o->graph, op->out), t);
    else {
      op->sharding = sharding_of_region(o, op, &of_result);
      const Layout layout = demands_want(o->graph, op, tensor, NULL, &o->mesh);
      *region = region_of(&layout, of_result.used, t, &o->mesh);
    }
    return true;
  }
  return false;
}

static Candidate stored_candidate(const Optcnn *o, const Group *group, const int *value) {
  Candidate candidate;
  Region region = {.used = 0};
  for (int a = 0; a < MESH_MAX_AXES; a++) candidate.choice[a] = -1;
  find_region(o, group->tensor, value, &region);
  for (int d = 0; d < group->dims.len; d++)
    for (int a = 0; a < MESH_MAX_AXES; a++)
      if (region.dim[group->dims.at[d].members.at[0].dim].axes >> a & 1) candidate.choice[a] = (signed char)d;
  return candidate;
}

static OpSharding chosen_sharding(const Optcnn *o, int op, const int *value) {
  const int layer = o->layers.of_group[o->groups->of_op[op]];
  Region region;
  if (layer >= 0) return configuration_sharding(&o->layers, &o->of[layer].list[value[layer]], op, &o->mesh);
  return find_region(o, o->graph->ops.at[op].out, value, &region) ? sharding_of_region(o, &o->graph->ops.at[op], &region) : sharding_replicate();
}

static Plan plan_of(const Optcnn *o, const Model *model, const int *value) {
  OpSharding *of_op = NEW_ARRAY(o->arena, OpSharding, o->graph->ops.len);
  Candidate *stored = NEW_ARRAY(o->arena, Candidate, o->groups->list.len);
  for (int i = 0; i < o->graph->ops.len; i++)
    if (o->groups->of_op[i] >= 0 && o->groups->list.at[o->groups->of_op[i]].kind == GROUP_OPS) of_op[i] = chosen_sharding(o, i, value);
  for (int g = 0; g < o->groups->list.len; g++)
    if (o->groups->list.at[g].kind != GROUP_OPS) stored[g] = stored_candidate(o, &o->groups->list.at[g], value);
  return shardings_plan(o->arena, model, o->groups, &o->mesh, of_op, stored);
}

// The mesh of prime factors, or of larger ones where layers would have too many configurations.
static Mesh finest_mesh(const Optcnn *o, const Compilation *c) {
  if (c->mesh_given) return c->mesh;
  int dims = 0;
  for (int l = 0; l < o->layers.list.len; l++) dims = o->layers.list.at[l].dims.len > dims ? o->layers.list.at[l].dims.len : dims;
  int axes = MESH_MAX_AXES - 1;
  Mesh mesh = mesh_factors(o->arena, &c->mesh, axes);
  while (axes > c->mesh.n_axes && configurations_most(dims, &mesh) > MOST_CONFIGURATIONS) mesh = mesh_factors(o->arena, &c->mesh, --axes);
  return mesh;
}

static Optcnn optcnn_new(Compilation *c) {
  Optcnn o = {.arena = c->arena, .scratch = arena_new(), .graph = c->model->train, .tables.arena = c->arena};
  Plan *nothing = NEW(o.arena, Plan);
  Planner *planner = NEW(o.arena, Planner);
  Groups *groups = NEW(o.arena, Groups);
  *nothing = (Plan){.model = c->model->name};
  *planner = planner_new(o.arena, c->model, nothing, &c->mesh);
  *groups = groups_of_graph(planner);
  o.planner = planner;
  o.groups = groups;
  o.layers = layers_of_groups(o.arena, groups);
  o.mesh = finest_mesh(&o, c);
  return o;
}

Plan search_optcnn(Compilation *c) {
  Optcnn optcnn = optcnn_new(c), *o = &optcnn;
  o->cost = cost_model(o->arena, c->machine, &o->mesh, c->model->f64);
  o->ops = op_classes_new(o->arena, o->graph, &o->cost);
  o->pattern = layer_patterns(o->arena, &o->layers, &o->ops);
  for (int i = 0; i < o->graph->ops.len; i++) o->graph->ops.at[i].sharding = sharding_replicate();
  const EliminationGraph graph = build_graph(o);
  const Elimination found = eliminate(&graph, BUDGET);
  const char *how = arena_printf(o->arena, "K = %d of %d layers, after %d node and %d edge eliminations%s", found.kept, o->layers.list.len,
                                 found.node_eliminations, found.edge_eliminations, found.bound < found.cost ? "; not proved" : "");
  c->search = (Search){.done = true, .cost = found.cost, .bound = found.bound, .how = how};
  arena_free(o->scratch);
  return plan_of(o, c->model, found.value);
}
