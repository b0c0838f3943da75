#include "layer_tasks.h"

#include "../route.h"
#include "../search/candidate.h"

#include <math.h>

int64_t time_of(double seconds) { return max_i64(1, llround(seconds * PICOSECONDS)); }

int link_level(const LayerTasks *layers, int from, int to) {
  const Machine *machine = layers->costs->cost->machine;
  int level = 0;
  while (level < machine->n_levels - 1 && from / machine_unit(machine, level) != to / machine_unit(machine, level)) level++;
  return level;
}

int link_number(const LayerTasks *layers, int level, int from) {
  const Machine *machine = layers->costs->cost->machine;
  return machine->level[level].shared ? from / machine_unit(machine, level - 1) : from;
}

int link_of(const LayerTasks *layers, int from, int to) {
  const int level = link_level(layers, from, to);
  return level * layers->n_ranks + link_number(layers, level, from);
}

MessageCount message_count_new(Arena *arena, const LayerTasks *layers) {
  return (MessageCount){layers, NEW_ARRAY(arena, int, layers->n_ranks *MACHINE_MAX_LEVELS)};
}

void message_count(void *ctx, int from, int to, double elements) {
  MessageCount *count = ctx;
  (void)elements;
  if (from != to) count->n[link_level(count->layers, from, to) * count->layers->n_ranks + from]++;
}

double message_seconds(const MessageCount *count, int from, int to, double bytes) {
  const int level = link_level(count->layers, from, to);
  return cost_of_message(count->layers->costs->cost, level, count->n[level * count->layers->n_ranks + from], bytes);
}

// ---- what moves between layers -------------------------------------------------------------------------------------

static bool cut_alike(const LayerTasks *layers, const Bundle *a, const Bundle *b) {
  const Graph *graph = layers->costs->graph;
  const Layers *of = layers->costs->layers;
  return plan_same_shape(graph_tensor(graph, a->tensor), graph_tensor(graph, b->tensor)) &&
         access_same(&a->made, &b->made, of->list.at[a->from].dims.len) && access_same(&a->read, &b->read, of->list.at[a->to].dims.len);
}

static void add_bundle(LayerTasks *layers, const LayerEdge *e) {
  const Graph *graph = layers->costs->graph;
  Bundle bundle = {.from = e->from, .to = e->to, .tensor = e->made, .gradient = layers->costs->gradient[e->from] && layers->costs->gradient[e->to]};
  bundle.bytes = cost_element(layers->costs->cost, graph_tensor(graph, e->made)->type);
  bundle.made = layer_access_made(layers->costs, e);
  bundle.read = layer_access_read(layers->costs, e);
  if (e->from == e->to) {
    if (!access_same(&bundle.made, &bundle.read, layers->costs->layers->list.at[e->from].dims.len)) vec_push(layers->arena, &layers->inner[e->from], bundle);
    return;
  }
  for (int i = 0; i < layers->bundles_of[e->to].len; i++) {
    Bundle *other = &layers->bundles.at[layers->bundles_of[e->to].at[i]];
    if (other->from != e->from || other->to != e->to || !cut_alike(layers, other, &bundle)) continue;
    other->bytes += bundle.bytes;
    return;
  }
  vec_push(layers->arena, &layers->bundles_of[e->from], layers->bundles.len);
  vec_push(layers->arena, &layers->bundles_of[e->to], layers->bundles.len);
  vec_push(layers->arena, &layers->bundles, bundle);
}

static void note_access(int64_t *key, const Access *access, int n_dims) {
  enum { OF_DIM = 6 };
  for (int d = 0; d < n_dims; d++) {
    const Cut *cut = &access->cut[d];
    const int64_t all[OF_DIM] = {access->dim[d], cut->units, cut->scale, cut->before, cut->after, cut->div};
    memcpy(&key[d * OF_DIM], all, access->dim[d] >= 0 ? sizeof all : sizeof all[0]);
  }
}

// By how they are cut, what of, and how many bytes.
static void find_alike(LayerTasks *layers) {
  enum { OF_ACCESS = 6 * LAYER_MAX_DIMS };
  Numbers alike = {.arena = layers->arena};
  for (int i = 0; i < layers->bundles.len; i++) {
    Bundle *b = &layers->bundles.at[i];
    const Tensor *t = graph_tensor(layers->costs->graph, b->tensor);
    int64_t key[2 * OF_ACCESS + LAYOUT_MAX_RANK + 2] = {0};
    note_access(key, &b->made, layers->costs->layers->list.at[b->from].dims.len);
    note_access(key + OF_ACCESS, &b->read, layers->costs->layers->list.at[b->to].dims.len);
    for (int d = 0; d < t->rank; d++) key[2 * OF_ACCESS + d] = t->extent[d];
    key[2 * OF_ACCESS + LAYOUT_MAX_RANK] = t->rank;
    key[2 * OF_ACCESS + LAYOUT_MAX_RANK + 1] = llround(b->bytes);
    b->like = numbers_of(&alike, key, sizeof key);
  }
}

LayerTasks *layer_tasks_new(Arena *arena, LayerCosts *costs) {
  LayerTasks *layers = NEW(arena, LayerTasks);
  const int n = costs->layers->list.len;
  *layers = (LayerTasks){.arena = arena, .costs = costs, .mesh = costs->cost->mesh, .n_ranks = mesh_ranks(costs->cost->mesh), .n_layers = n};
  layers->numbers.arena = arena;
  layers->bundles_of = NEW_ARRAY(arena, Ints, n);
  layers->inner = arena_alloc(arena, sizeof *layers->inner * (size_t)n);
  layers->weights = NEW_ARRAY(arena, LayerWeights, n);
  for (int e = 0; e < costs->layers->edges.len; e++) add_bundle(layers, &costs->layers->edges.at[e]);
  find_alike(layers);
  layers->messages = message_cache_new(arena, layers->n_ranks);
  for (int l = 0; l < n; l++) layers->weights[l] = layer_weights(costs, l);
  return layers;
}

// ---- what a layer takes --------------------------------------------------------------------------------------------

// Seconds that the links are busy, each with what goes out over it.
typedef struct Busy {
  const MessageCount *count;
  double bytes, *link, most; // [level][number]
} Busy;

static void add_busy(void *ctx, int from, int to, double elements) {
  Busy *busy = ctx;
  const LayerTasks *layers = busy->count->layers;
  if (from == to) return;
  double *link = &busy->link[link_of(layers, from, to)];
  *link += message_seconds(busy->count, from, to, elements * busy->bytes);
  busy->most = fmax(busy->most, *link);
}

static double inner_seconds(const LayerTasks *layers, const Bundle *b, const Configuration *by, bool back) {
  Arena *arena = layers->costs->scratch;
  const Tensor *tensor = graph_tensor(layers->costs->graph, b->tensor);
  const Holding made = holding_of(arena, layers->mesh, tensor, &b->made, by), read = holding_of(arena, layers->mesh, tensor, &b->read, by);
  MessageCount count = message_count_new(arena, layers);
  Busy busy = {&count, b->bytes, NEW_ARRAY(arena, double, layers->n_ranks *MACHINE_MAX_LEVELS), 0};
  moves_visit(back ? &read : &made, back ? &made : &read, back, message_count, &count);
  moves_visit(back ? &read : &made, back ? &made : &read, back, add_busy, &busy);
  arena_reset(arena);
  return busy.most;
}

static double operators_seconds(LayerTasks *layers, int layer, const Configuration *by, bool backward) {
  const LayerCosts *c = layers->costs;
  const Layer *l = &c->layers->list.at[layer];
  double seconds = 0;
  for (int i = 0; i < l->ops.len; i++) {
    const int op = l->ops.at[i];
    if (c->graph->ops.at[op].kind == OP_VIEW || (c->graph->ops.at[op].phase == PHASE_BACKWARD) != backward) continue;
    const OpSharding sharding = configuration_sharding(by, &c->layers->of_op[op], layers->mesh);
    seconds += op_classes_seconds(&layers->costs->ops, op, &sharding);
  }
  for (int i = 0; i < layers->inner[layer].len; i++) seconds += inner_seconds(layers, &layers->inner[layer].at[i], by, backward);
  return seconds;
}

// The update of a parameter, each device its part.
static double update_seconds(LayerTasks *layers, const LayerWeight *w, const Region *region) {
  const Groups *groups = layers->costs->layers->groups;
  const Group *group = &groups->list.at[groups->of_tensor[w->tensor]];
  Candidate candidate;
  double seconds = 0;
  for (int a = 0; a < MESH_MAX_AXES; a++) candidate.choice[a] = CANDIDATE_NOTHING;
  for (int d = 0; d < group->dims.len; d++)
    for (int a = 0; a < MESH_MAX_AXES; a++)
      if (region->dim[group->dims.at[d].members.at[0].dim].axes >> a & 1) candidate.choice[a] = (signed char)d;
  for (int i = 0; i < group->ops.len; i++) {
    const OpSharding sharding = candidate_sharding(group, &candidate, group->ops.at[i], layers->mesh);
    seconds += op_classes_seconds(&layers->costs->ops, group->ops.at[i], &sharding);
  }
  return seconds;
}

static double all_reduce_seconds(const LayerTasks *layers, const Tensor *t, const Region *region, uint32_t axes) {
  const CostModel *cost = layers->costs->cost;
  const Shape shape = shape_of(t);
  const int element = cost_element(cost, t->type);
  const double part = (double)tensor_elements(t) * element / mesh_parts(layers->mesh, region_axes(region, t->rank));
  const double bytes = reshard_bytes(RESHARD_all_reduce, part, mesh_parts(layers->mesh, axes), 0);
  return cost_of_moving(cost, &shape, &layout_replicated, &layout_replicated, (Reshard){RESHARD_all_reduce, axes}, element, bytes).seconds;
}

static void add_shared(LayerTasks *layers, LayerTimes *times, uint32_t axes, double seconds) {
  for (int i = 0; i < times->shared.len; i++)
    if (times->shared.at[i].axes == axes) {
      times->shared.at[i].time += time_of(seconds);
      return;
    }
  vec_push(layers->arena, &times->shared, (Shared){axes, time_of(seconds)});
}

static LayerTimes times_of(LayerTasks *layers, int layer, const Configuration *by) {
  LayerTimes times = {.forward = time_of(operators_seconds(layers, layer, by, false))};
  double update = 0;
  if (layers->costs->gradient[layer]) times.backward = time_of(operators_seconds(layers, layer, by, true));
  for (int i = 0; i < layers->weights[layer].len && times.backward > 0; i++) {
    const LayerWeight *w = &layers->weights[layer].at[i];
    const Tensor *t = graph_tensor(layers->costs->graph, w->tensor);
    const Region region = access_region(&w->access, by, layers->mesh->n_axes);
    const uint32_t axes = by->used & ~region_axes(&region, t->rank);
    if (axes != 0) add_shared(layers, &times, axes, all_reduce_seconds(layers, t, &region, axes));
    update += update_seconds(layers, w, &region);
  }
  if (update > 0) times.update = time_of(update);
  return times;
}

// Layers that are alike take the same.
const LayerTimes *layer_times(LayerTasks *layers, int layer, const Configuration *configuration) {
  struct { int like; bool gradient; signed char dim[MESH_MAX_AXES]; } key;
  memset(&key, 0, sizeof key);
  key.like = layers->costs->pattern[layer].like;
  key.gradient = layers->costs->gradient[layer];
  memcpy(key.dim, configuration->dim, sizeof key.dim);
  for (int a = 0; a < MESH_MAX_AXES; a++) // where a layer is placed makes no difference
    if (configuration_pin(configuration, a) >= 0) key.dim[a] = CONFIGURATION_PIN;
  const int known = layers->times.len, number = numbers_of(&layers->numbers, &key, sizeof key);
  if (number == known) {
    const LayerTimes times = times_of(layers, layer, configuration);
    vec_push(layers->arena, &layers->times, times);
  }
  return &layers->times.at[number];
}
