#include "network.h"

#include "../route.h"

typedef struct Builder {
  Network *network;
  const Compilation *c;
  const Graph *graph;
  int *node_of_input;  // by tensor, or -1
  int *node_of_op;     // by operator, or -1
  int *node_of_origin; // by number of the forward operator, or -1
  double *most;        // by node: operations of its largest operator
  bool *taken;         // by operator: a change of layout that is told already; by its result a parameter
  bool *stored;        // by tensor: counted already
  Names first_of_layer;
  int reader; // node at hand
} Builder;

// ---- changes of layout ---------------------------------------------------------------------------------------------

static NetworkChange change_of(const Builder *b, const Op *op, int root) {
  const Compilation *c = b->c;
  const Tensor *in = graph_tensor(b->graph, op->in), *out = graph_tensor(b->graph, op->out);
  NetworkChange change = {.tensor = graph_tensor(b->graph, root)->name};
  Reshard step;
  if (c->cost != NULL) {
    const StepCost cost = cost_of_change(c->cost, b->graph, op, &step);
    change.level = cost.level < MACHINE_MAX_LEVELS ? c->machine->level[cost.level].name : "local";
    change.bytes = cost.bytes;
    change.seconds = cost.seconds;
  } else {
    const CostModel types = {.f64 = c->model->f64};
    const Shape shape = shape_of(in);
    if (!reshard_find(&c->mesh, &shape, in->layout, out->layout, &step)) fatal("a change of layout that is not one step");
    change.bytes = reshard_cost(&c->mesh, &shape, in->layout, out->layout, step, cost_element(&types, in->type));
  }
  change.bytes *= phase_times(b->graph, op->phase);
  change.seconds *= phase_times(b->graph, op->phase);
  change.kind = reshard_name(step.kind);
  change.nothing = reshard_how(step.kind) == RESHARD_NOTHING;
  change.axes = mesh_axes_text(c->arena, &c->mesh, step.axes);
  return change;
}

static const Op *producer_of(const Graph *graph, int tensor) {
  const int op = graph_tensor(graph, tensor)->producer;
  return op >= 0 ? &graph->ops.at[op] : NULL;
}

// What a tensor is made from by changes of layout and views alone.
static int root_of(const Graph *graph, int tensor) {
  for (const Op *op = producer_of(graph, tensor); op != NULL && (op->kind == OP_RESHARD || op->kind == OP_VIEW); op = producer_of(graph, tensor))
    tensor = op->in;
  return tensor;
}

// The changes between the root and the tensor, each told once, first to last.
static void take_changes(Builder *b, int tensor, int root, NetworkChanges *changes) {
  const Op *op = producer_of(b->graph, tensor);
  if (tensor == root) return;
  take_changes(b, op->in, root, changes);
  const ptrdiff_t number = op - b->graph->ops.at;
  if (op->kind != OP_RESHARD || b->taken[number]) return;
  b->taken[number] = true;
  const NetworkChange change = change_of(b, op, root);
  if (change.nothing) return;
  NetworkNode *node = &b->network->nodes.at[b->reader];
  node->change_seconds += change.seconds;
  node->change_bytes += change.bytes;
  vec_push(b->network->arena, changes, change);
}

// ---- nodes ---------------------------------------------------------------------------------------------------------

static bool is_forward(const Op *op) { return op->phase == PHASE_FORWARD && (op->kind == OP_COMPUTE || op->kind == OP_OPAQUE); }

static int add_node(Builder *b, NetworkNode node) {
  node.times = 1;
  vec_push(b->network->arena, &b->network->nodes, node);
  return b->network->nodes.len - 1;
}

// How an input lies, as the sharding of an operator that makes it.
static OpSharding sharding_of_input(const Tensor *t, const Mesh *mesh) {
  OpSharding s = sharding_replicate();
  for (int a = 0; a < mesh->n_axes; a++) {
    if (t->layout->axis[a].kind == LAYOUT_SHARD) plan_split(&s, a, t->layout->axis[a].dim, t->layout->cut[t->layout->axis[a].dim].scale, mesh);
    if (t->layout->axis[a].kind == LAYOUT_PINNED) s.pin[a] = t->layout->axis[a].pin;
  }
  return s;
}

// An input stands before the first node that reads it.
static void add_input(void *ctx, int tensor) {
  Builder *b = ctx;
  const int root = root_of(b->graph, tensor);
  const Tensor *t = graph_tensor(b->graph, root);
  if (t->role != ROLE_INPUT || b->node_of_input[root] >= 0) return;
  b->node_of_input[root] = add_node(b, (NetworkNode){.layer = "", .op = "input", .result = t->name, .space = plan_space_of_tensor(t),
                                                     .n_out = t->rank, .n_ops = 1, .sharding = sharding_of_input(t, &b->c->mesh)});
}

// Operators of one layer that follow each other are one node; at the top, of one definition. What is kept for a gradient is of the
// node of its operator.
static int node_to_go_on(const Builder *b, const Op *before, int node, const Op *op) {
  if (op->origin > 0 && b->node_of_origin[op->origin] >= 0) return b->node_of_origin[op->origin];
  if (before == NULL || !str_eq(before->layer, op->layer)) return -1;
  return op->layer[0] != '\0' || str_eq(before->name, op->name) ? node : -1;
}

static void describe(Builder *b, int number, const Op *op) {
  NetworkNode *node = &b->network->nodes.at[number];
  const double flops = op_flops(op);
  node->n_ops++;
  if (node->op != NULL && flops <= b->most[number]) return;
  b->most[number] = flops;
  node->op = op->name;
  node->result = graph_tensor(b->graph, op->out)->name;
  node->space = plan_space_of_op(op);
  node->n_out = op->n_out;
  node->sharding = op->sharding;
}

// Of the node that begins with an operator.
static void add_inputs(Builder *b, int first) {
  const Graph *graph = b->graph;
  const Op *before = &graph->ops.at[first];
  for (int i = first; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    if (!is_forward(op)) continue;
    if (i > first && node_to_go_on(b, before, 0, op) != 0) return;
    op_visit_reads(op, add_input, b);
    before = op;
  }
}

static void add_nodes(Builder *b) {
  const Graph *graph = b->graph;
  const Op *before = NULL;
  int node = -1;
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    if (!is_forward(op)) continue;
    node = node_to_go_on(b, before, node, op);
    if (node < 0) {
      add_inputs(b, i);
      node = add_node(b, (NetworkNode){.layer = op->layer});
      if (names_get(&b->first_of_layer, op->layer) < 0) names_set(&b->first_of_layer, op->layer, node);
    }
    describe(b, node, op);
    b->node_of_op[i] = node;
    if (op->origin > 0) b->node_of_origin[op->origin] = node;
    before = op;
  }
}

// ---- edges ---------------------------------------------------------------------------------------------------------

// Of the largest rank.
static double held_bytes(const Builder *b, const Tensor *t) {
  const CostModel types = {.mesh = &b->c->mesh, .f64 = b->c->model->f64};
  return cost_bytes(&types, t, t->layout);
}

static void count_stored(Builder *b, NetworkNode *node, int tensor) {
  const CostModel types = {.f64 = b->c->model->f64};
  const Tensor *t = graph_tensor(b->graph, tensor);
  if (t->role != ROLE_PARAM || b->stored[tensor]) return;
  b->stored[tensor] = true;
  node->stored += (double)tensor_elements(t) * cost_element(&types, t->type);
  node->held += held_bytes(b, t);
}

static NetworkEdge *edge_from(const Builder *b, NetworkNode *node, int from, int root) {
  for (int i = 0; i < node->in.len; i++)
    if (node->in.at[i].from == from) return &node->in.at[i];
  vec_push(b->network->arena, &node->in, (NetworkEdge){.from = from, .tensor = graph_tensor(b->graph, root)->name});
  return &node->in.at[node->in.len - 1];
}

static void add_read(void *ctx, int tensor) {
  Builder *b = ctx;
  NetworkNode *node = &b->network->nodes.at[b->reader];
  const int root = root_of(b->graph, tensor);
  const int by = graph_tensor(b->graph, root)->producer;
  const int from = by >= 0 ? b->node_of_op[by] : b->node_of_input[root];
  if (from < 0 || from == b->reader) {
    count_stored(b, node, root);
    take_changes(b, tensor, root, &node->own);
  } else {
    take_changes(b, tensor, root, &edge_from(b, node, from, root)->changes);
  }
}

// ---- what a step takes ---------------------------------------------------------------------------------------------

static int node_of(const Builder *b, const Op *op) {
  if (op->origin > 0 && b->node_of_origin[op->origin] >= 0) return b->node_of_origin[op->origin];
  return names_get(&b->first_of_layer, op->layer);
}

static bool reduces(const Graph *graph, const Op *op) {
  const Layout *in = graph_tensor(graph, op->in)->layout, *out = graph_tensor(graph, op->out)->layout;
  for (int a = 0; a < MESH_MAX_AXES; a++)
    if (axis_is_sum(&in->axis[a]) && !axis_is_sum(&out->axis[a])) return true;
  return false;
}

// A reduction is of what makes the parts, any other change of what reads the result: the next operator.
static int node_of_change(const Builder *b, int op) {
  const Graph *graph = b->graph;
  const Op *change = &graph->ops.at[op];
  const int root = graph_tensor(graph, root_of(graph, change->in))->producer;
  if (root >= 0 && reduces(graph, change)) return node_of(b, &graph->ops.at[root]);
  while (op < graph->ops.len - 1 && graph->ops.at[op].kind == OP_RESHARD) op++;
  return node_of(b, &graph->ops.at[op]);
}

// What runs once around the microbatches belongs to the pass beside it.
static Phase shown_phase(Phase phase) {
  return phase == PHASE_BEGIN ? PHASE_FORWARD : phase == PHASE_COMBINE ? PHASE_BACKWARD : phase;
}

// Of the forward pass changes that no node has told, and all of the backward pass and the update.
static void add_times(Builder *b) {
  const Graph *graph = b->graph;
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    if (!phase_is_of_step(op->phase) || b->taken[i]) continue;
    const int number = op->kind == OP_RESHARD ? node_of_change(b, i) : b->node_of_op[i] >= 0 ? b->node_of_op[i] : node_of(b, op);
    NetworkNode *node = number >= 0 ? &b->network->nodes.at[number] : NULL;
    const NetworkChange change = op->kind == OP_RESHARD ? change_of(b, op, op->in) : (NetworkChange){0};
    const double of_op = op->kind != OP_RESHARD && b->c->cost != NULL ? cost_of_makings(b->c->cost, graph, op) : 0;
    const double seconds = op->kind == OP_RESHARD ? change.seconds : phase_times(graph, op->phase) * of_op;
    if (node == NULL) b->network->other_seconds += seconds;
    else if (op->kind != OP_RESHARD) node->seconds[shown_phase(op->phase)] += seconds;
    else node->change_seconds += seconds, node->change_bytes += change.bytes;
  }
}

Network *network_of(const Compilation *c) {
  const Graph *graph = c->model->train;
  Network *network = NEW(c->arena, Network);
  *network = (Network){.arena = c->arena, .model = c->model->name, .machine = c->machine, .mesh = c->mesh};
  network->mesh.n_axes--; // the batch
  Arena *scratch = arena_new();
  const int n_ops = graph->ops.len, n_tensors = graph->tensors.len;
  Builder b = {.network = network, .c = c, .graph = graph, .first_of_layer = {.arena = scratch}};
  int origins = 0;
  for (int i = 0; i < n_ops; i++) origins = graph->ops.at[i].origin > origins ? graph->ops.at[i].origin : origins;
  b.node_of_input = NEW_ARRAY(scratch, int, n_tensors);
  b.node_of_op = NEW_ARRAY(scratch, int, n_ops);
  b.node_of_origin = NEW_ARRAY(scratch, int, origins + 1);
  b.most = NEW_ARRAY(scratch, double, n_ops + n_tensors);
  b.taken = NEW_ARRAY(scratch, bool, n_ops);
  b.stored = NEW_ARRAY(scratch, bool, n_tensors);
  for (int i = 0; i < n_tensors; i++) b.node_of_input[i] = -1;
  for (int i = 0; i < n_ops; i++) b.node_of_op[i] = -1;
  for (int i = 0; i <= origins; i++) b.node_of_origin[i] = -1;
  add_nodes(&b);
  for (int i = 0; i < n_ops; i++) {
    b.reader = b.node_of_op[i];
    if (b.reader >= 0) op_visit_reads(&graph->ops.at[i], add_read, &b);
  }
  add_times(&b);
  arena_free(scratch);
  return network;
}

// ---- what a node does ----------------------------------------------------------------------------------------------

const char *network_way_text(NetworkWay way) {
  static const char *const text[NETWORK_WAYS] = {[WAY_BATCH] = "batch divided",
                                                 [WAY_RESULT] = "another dimension of the result divided",
                                                 [WAY_REDUCED] = "a reduced dimension divided",
                                                 [WAY_PINNED] = "at one place only",
                                                 [WAY_WHOLE] = "the same on every rank"};
  return text[way];
}

NetworkWay network_way(const Network *network, const NetworkNode *node, int axis) {
  const OpSharding *s = &node->sharding;
  const int dim = s->dim[axis], batch = s->dim[network->mesh.n_axes]; // which follows the axes of the mesh
  if (s->pin[axis] >= 0) return WAY_PINNED;
  if (dim < 0) return WAY_WHOLE;
  return dim == batch ? WAY_BATCH : dim < node->n_out ? WAY_RESULT : WAY_REDUCED;
}

int network_parts(const Network *network, const NetworkNode *node, int dim) {
  int parts = 1;
  for (int a = 0; a < network->mesh.n_axes; a++)
    if (node->sharding.dim[a] == dim) parts *= network->mesh.axis[a].size;
  return parts;
}

const char *network_split_text(const Network *network, const NetworkNode *node) {
  Text text = {.arena = network->arena};
  const OpSharding *s = &node->sharding;
  for (int d = 0; d < node->space.n_dims; d++) {
    uint32_t axes = 0;
    int64_t unit = 1;
    for (int a = 0; a < network->mesh.n_axes; a++)
      if (s->dim[a] == d) axes |= 1u << a, unit = s->unit[a];
    if (axes == 0) continue;
    text_printf(&text, "%s%s", text.len > 0 ? " " : "", node->space.dims[d].name);
    if (unit > 1) text_printf(&text, "*%lld", (long long)unit);
    text_printf(&text, "/%s", mesh_axes_text(network->arena, &network->mesh, axes));
  }
  for (int a = 0; a < network->mesh.n_axes; a++)
    if (s->pin[a] >= 0) text_printf(&text, "%sat %s=%d", text.len > 0 ? " " : "", network->mesh.axis[a].name, s->pin[a]);
  return text.len > 0 ? text_str(&text) : "on every rank";
}

const char *network_node_name(const NetworkNode *node) {
  return node->layer[0] != '\0' ? node->layer : node->n_ops > 1 ? node->op : node->result;
}
