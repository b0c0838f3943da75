#include "overlap.h"

#include <math.h>

#include "../passes.h"
#include "../sharding.h"

enum { NOT_MADE = -1, IN_BUCKET = -2 };

// Reductions over the same ranks that wait for each other.
typedef struct Bucket {
  uint32_t axes;
  double bytes, seconds;
  VEC(double *) members; // when they are made
} Bucket;

typedef struct Overlap {
  Arena *arena;
  const CostModel *model;
  const Demands *demands;
  const double *makings; // by operator
  double **at;          // by tensor and version: when it is made; or one of the above
  double compute, comm; // until when each stream is busy
  const char *layer;    // of the operator at hand
  const char *fetching; // the last layer for which stored tensors were gathered
  double began, began_before; // when it began; when the one before it did for which some were
  VEC(Bucket) buckets;
} Overlap;

static double *stream_of(Overlap *o, const StepCost *cost) { return cost->level == MACHINE_MAX_LEVELS ? &o->compute : &o->comm; }

// ---- buckets -------------------------------------------------------------------------------------------------------

static void close_bucket(Overlap *o, Bucket *b) {
  o->comm = fmax(o->comm, o->compute) + b->seconds;
  for (int i = 0; i < b->members.len; i++) *b->members.at[i] = o->comm;
  *b = (Bucket){.axes = b->axes};
}

static void close_buckets(Overlap *o) {
  for (int i = 0; i < o->buckets.len; i++)
    if (o->buckets.at[i].members.len > 0) close_bucket(o, &o->buckets.at[i]);
}

static Bucket *bucket_of(Overlap *o, uint32_t axes) {
  for (int i = 0; i < o->buckets.len; i++)
    if (o->buckets.at[i].axes == axes) return &o->buckets.at[i];
  vec_push(o->arena, &o->buckets, (Bucket){.axes = axes});
  return &o->buckets.at[o->buckets.len - 1];
}

static void join_bucket(Overlap *o, uint32_t axes, double bytes, double seconds, double *at) {
  Bucket *b = bucket_of(o, axes);
  if (b->bytes + bytes > BUCKET_BYTES) close_bucket(o, b);
  b->bytes += bytes;
  b->seconds += seconds;
  *at = IN_BUCKET;
  vec_push(o->arena, &b->members, at);
}

// ---- changes of layout ---------------------------------------------------------------------------------------------

typedef struct Change {
  Reshard step;
  StepCost cost;
  double bytes; // of what is made
} Change;

static Change change_of(const Overlap *o, int tensor, int from, int to) {
  const Tensor *t = graph_tensor(o->demands->graph, tensor);
  const Shape shape = shape_of(t);
  const Layout *have = routes_layout_at(o->demands->routes, from), *want = routes_layout_at(o->demands->routes, to);
  const int element = cost_element(o->model, t->type);
  Change change;
  if (!reshard_find(o->demands->mesh, &shape, have, want, &change.step)) fatal("a change of layout that is not one step");
  change.cost = cost_of_step(o->model, &shape, have, want, change.step, element);
  change.bytes = (double)layout_elements(o->model->mesh, &shape, want) * element;
  return change;
}

static double make(Overlap *o, int tensor, int version);

// When a stored tensor can be gathered: a layer ahead.
static double fetch_time(Overlap *o) {
  if (o->fetching == NULL || !str_eq(o->fetching, o->layer)) {
    o->fetching = o->layer;
    o->began_before = o->began;
    o->began = o->compute;
  }
  return o->began_before;
}

// One step after the other: what stays within a rank on the stream that computes, which goes on beside all else.
static void make_now(Overlap *o, int tensor, const Version *v, double *at) {
  const Graph *graph = o->demands->graph;
  const Version *parent = &o->demands->of[tensor].at[v->parent];
  const Route route = route_find(o->demands->routes, routes_shape(o->demands->routes, graph_tensor(graph, tensor)), parent->number, v->number);
  const int times = phase_times(graph, demands_phase(o->demands, tensor, v));
  const bool ahead = graph_tensor(graph, tensor)->producer < 0, waits = v->early && route.n == 1 && v->read >> PHASE_COMBINE << PHASE_COMBINE == v->read;
  double ready = fmax(make(o, tensor, v->parent), ahead ? fetch_time(o) : o->compute);
  for (int i = 0, before = parent->number; i < route.n; before = route.layout[i++]) {
    const Change change = change_of(o, tensor, before, route.layout[i]);
    double *stream = stream_of(o, &change.cost);
    if (waits && change.step.kind == RESHARD_all_reduce && change.bytes <= BUCKET_BYTES) {
      join_bucket(o, change.step.axes, change.bytes, change.cost.seconds * times, at);
      return;
    }
    ready = *stream = fmax(*stream, ready) + change.cost.seconds * times;
  }
  *at = ready;
}

// When a version is there, which is made now if nobody needed it before.
static double make(Overlap *o, int tensor, int version) {
  double *at = &o->at[tensor][version];
  if (*at == NOT_MADE) make_now(o, tensor, &o->demands->of[tensor].at[version], at);
  if (*at == IN_BUCKET) close_buckets(o);
  return *at;
}

// ---- operators -----------------------------------------------------------------------------------------------------

static void reduce_early(Overlap *o, int tensor) {
  const Versions *versions = &o->demands->of[tensor];
  for (int v = 1; v < versions->len; v++) {
    const Version *version = &versions->at[v];
    if (version->early && version->read != 1u << PHASE_REPORT && o->at[tensor][v] == NOT_MADE) make_now(o, tensor, version, &o->at[tensor][v]);
  }
}

static void run_op(Overlap *o, int number) {
  const Demands *d = o->demands;
  const Op *op = &d->graph->ops.at[number];
  double ready = 0;
  o->layer = op->layer;
  for (int i = d->first_read[number]; i < d->first_read[number + 1]; i++)
    ready = fmax(ready, make(o, d->reads.at[i].tensor, demands_find_read(d, &d->reads.at[i])));
  if (op->kind != OP_VIEW) ready = o->compute = fmax(o->compute, ready) + o->makings[number] * phase_times(d->graph, op->phase);
  for (int i = 0; i < op_results(op); i++) {
    o->at[op_result(op, i)][0] = ready;
    reduce_early(o, op_result(op, i));
  }
}

// What leaves the step lies as it is stored.
static void run_stores(Overlap *o) {
  const Demands *d = o->demands;
  for (int i = 0; i < d->graph->stores.len; i++) {
    const Store *store = &d->graph->stores.at[i];
    const Layout want = demands_leaving(d->graph, store->value, graph_tensor(d->graph, store->state)->layout, d->mesh);
    make(o, store->value, demands_find(d, store->value, &want));
  }
}

double overlap_of_graph(Arena *arena, const CostModel *model, const Demands *d, const double *makings) {
  Overlap overlap = {.arena = arena, .model = model, .demands = d, .makings = makings, .layer = "", .at = NEW_ARRAY(arena, double *, d->graph->tensors.len)}, *o = &overlap;
  for (int t = 0; t < d->graph->tensors.len; t++) {
    o->at[t] = NEW_ARRAY(arena, double, d->of[t].len);
    for (int v = 1; v < d->of[t].len; v++) o->at[t][v] = NOT_MADE;
  }
  for (int i = 0; i < d->graph->ops.len; i++) {
    const Op *op = &d->graph->ops.at[i];
    if (op->phase == PHASE_UPDATE) close_buckets(o);
    if (phase_is_of_step(op->phase)) run_op(o, i);
  }
  run_stores(o);
  return fmax(o->compute, o->comm);
}
