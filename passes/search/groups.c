#include "group_dims.h"

#include "../contraction.h"
#include "../rewrite.h"
#include "adders.h"
#include "forest.h"

// Sets of operators, as a forest of their numbers.
typedef struct Builder {
  Groups *g;
  Arena *arena;
  int *parent;     // by operator
  bool *light;     // by operator: element-wise, or a reduction that can be in one kernel with such
  int *readers;    // by tensor: forward operators that read it
  int *place;      // by operator: the first one in its place at another time step, or itself; -1: none
} Builder;

static bool is_forward(const Op *op) { return op->phase == PHASE_FORWARD && op->kind == OP_COMPUTE; }

static void check_window(void *ctx, const Expr *e) {
  bool *window = ctx;
  if (e->kind != EXPR_ACCESS) return;
  for (int i = 0; i < e->access.rank; i++)
    *window |= index_plain_dim(&e->access.index[i]) < 0 && !index_is_const(&e->access.index[i]);
}

static bool is_light(const Builder *b, const Op *op) {
  const Expr *const *terms;
  bool window = false;
  if (!is_forward(op) || products_match(b->g->graph, op, b->arena, &terms) > 0) return false;
  expr_visit(op->body, check_window, &window);
  return !window;
}

// Statements of one composite: they stand in one place.
static bool same_place(const Op *a, const Op *b) {
  return str_eq(a->name, b->name) && str_eq(a->layer, b->layer) && a->loc.line == b->loc.line && a->loc.col == b->loc.col;
}

typedef struct Around { // what is made of the results of an operator
  const Builder *b;
  bool *made, *heavily; // by operator: of them; by way of an operator that is not light
  int at;
} Around;

static void follow_read(void *ctx, int tensor) {
  const Around *a = ctx;
  const int maker = graph_tensor(a->b->g->graph, tensor)->producer;
  if (maker < 0 || !a->made[maker]) return;
  a->made[a->at] = true;
  a->heavily[a->at] |= a->heavily[maker] || (!a->b->light[a->at] && a->b->g->graph->ops.at[a->at].kind != OP_VIEW);
}

// A way from one light operator to another that leads through one that is not light: they are no single kernel.
static bool leads_around(const Builder *b, int from, int to) {
  const int n = b->g->graph->ops.len;
  Arena *scratch = arena_new();
  Around a = {b, NEW_ARRAY(scratch, bool, n), NEW_ARRAY(scratch, bool, n), 0};
  a.made[from] = true;
  for (a.at = from + 1; a.at <= to; a.at++) op_visit_reads(&b->g->graph->ops.at[a.at], follow_read, &a);
  const bool around = a.heavily[to];
  arena_free(scratch);
  return around;
}

typedef struct Edge { Builder *b; int reader; } Edge;

static void unite_with_producer(void *ctx, int tensor) {
  const Edge *edge = ctx;
  const Builder *b = edge->b;
  const Graph *graph = b->g->graph;
  const int producer = graph_tensor(graph, tensor)->producer;
  if (producer < 0 || !b->light[producer] || !b->light[edge->reader]) return;
  const bool alone = b->readers[tensor] == 1, one_place = same_place(&graph->ops.at[producer], &graph->ops.at[edge->reader]);
  if (alone || (one_place && !leads_around(b, producer, edge->reader))) forest_unite(b->parent, producer, edge->reader);
}

static void count_reader(void *ctx, int tensor) {
  Edge *edge = ctx;
  edge->b->readers[tensor]++;
}

// ---- time steps

// A layer's name up to the end of a component, without the number of that: "lstm1.cell" of "lstm1.cell3" and "lstm1.cell3.gates".
static size_t stem_of(const char *layer, size_t end) {
  while (end > 0 && layer[end - 1] >= '0' && layer[end - 1] <= '9') end--;
  return end;
}

static size_t component_end(const char *layer, size_t from) { return from + strcspn(layer + from, "."); }

typedef struct Steps { // stems of layers that are there for every time step: two of them read one parameter
  Builder *b;
  Numbers stems;      // of layers and parameters -> reader
  VEC(const char *) reader; // the layer that reads it first, up to the component
  Names repeated;     // stems
  const char *layer;  // of the operator at hand
} Steps;

static void note_parameter(void *ctx, int tensor) {
  Steps *s = ctx;
  if (graph_tensor(s->b->g->graph, tensor)->role != ROLE_PARAM) return;
  for (size_t from = 0, end; s->layer[from] != '\0'; from = s->layer[end] == '.' ? end + 1 : end) {
    end = component_end(s->layer, from);
    const char *stem = arena_strndup(s->b->arena, s->layer, stem_of(s->layer, end)), *here = arena_strndup(s->b->arena, s->layer, end);
    const char *key = arena_printf(s->b->arena, "%d %s", tensor, stem);
    const int number = numbers_of(&s->stems, key, strlen(key));
    if (number == s->reader.len) vec_push(s->b->arena, &s->reader, here);
    else if (!str_eq(s->reader.at[number], here)) names_set(&s->repeated, stem, 1);
  }
}

// The layer without the numbers of time steps.
static const char *layer_of_steps(Steps *s, const char *layer) {
  Text text = {.arena = s->b->arena};
  for (size_t from = 0, end; layer[from] != '\0'; from = layer[end] == '.' ? end + 1 : end) {
    end = component_end(layer, from);
    const size_t stem = stem_of(layer, end);
    const bool step = names_get(&s->repeated, arena_strndup(s->b->arena, layer, stem)) >= 0;
    text_printf(&text, "%.*s.", (int)((step ? stem : end) - from), layer + from);
  }
  return text_str(&text);
}

static Steps find_steps(Builder *b) {
  const Graph *graph = b->g->graph;
  Steps s = {.b = b, .stems.arena = b->arena, .repeated.arena = b->arena};
  for (int i = 0; i < graph->ops.len; i++) {
    s.layer = graph->ops.at[i].layer;
    if (is_forward(&graph->ops.at[i])) op_visit_reads(&graph->ops.at[i], note_parameter, &s);
  }
  return s;
}

// The same statement of a layer, but for the number of the time step.
static const char *place_key(Steps *s, const Graph *graph, const Op *op) {
  const Tensor *out = graph_tensor(graph, op->out);
  Text text = {.arena = s->b->arena};
  text_printf(&text, "%s %s %d %d %d", layer_of_steps(s, op->layer), op->name, op->loc.line, op->loc.col, (int)op->reduce);
  for (int d = 0; d < op->n_dims; d++) text_printf(&text, " %s %lld", op->dims[d].name, (long long)op->dims[d].extent);
  text_printf(&text, " %d", out->rank);
  return text_str(&text);
}

// Of a layer that says a statement several times each is one by itself: the first goes with the first of other time steps.
static void unite_time_steps(Builder *b) {
  Names seen = {.arena = b->arena}, said = {.arena = b->arena};
  const Graph *graph = b->g->graph;
  Steps steps = find_steps(b);
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    b->place[i] = -1;
    if (!is_forward(op) || op->layer[0] == '\0') continue;
    const char *place = place_key(&steps, graph, op), *here = arena_printf(b->arena, "%s %s", op->layer, place);
    const int times = names_get(&said, here) + 1;
    const char *key = arena_printf(b->arena, "%s %d", place, times);
    const int before = names_get(&seen, key);
    names_set(&said, here, times);
    if (before < 0) names_set(&seen, key, i);
    else forest_unite(b->parent, before, i);
    b->place[i] = before < 0 ? i : before;
  }
}

// Gradients go with the operator that they are gradients of.
static void unite_gradients(Builder *b) {
  const Graph *graph = b->g->graph;
  int most = 0;
  for (int i = 0; i < graph->ops.len; i++) most = graph->ops.at[i].origin > most ? graph->ops.at[i].origin : most;
  int *first = NEW_ARRAY(b->arena, int, most + 1);
  for (int o = 0; o <= most; o++) first[o] = -1;
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    if (op->origin == 0 || op->kind == OP_VIEW || (op->phase != PHASE_FORWARD && op->phase != PHASE_BACKWARD)) continue;
    if (first[op->origin] < 0) first[op->origin] = i;
    else forest_unite(b->parent, first[op->origin], i);
  }
}

static int add_group(Builder *b, GroupKind kind, const char *name, int tensor) {
  vec_push(b->arena, &b->g->list, (Group){.kind = kind, .name = name, .tensor = tensor, .light = kind == GROUP_OPS});
  return b->g->list.len - 1;
}

static void add_op(Builder *b, int group, int op) {
  const Op *added = &b->g->graph->ops.at[op];
  b->g->of_op[op] = group;
  b->g->list.at[group].light &= added->kind == OP_VIEW || added->phase != PHASE_FORWARD || b->light[op];
  vec_push(b->arena, &b->g->list.at[group].ops, op);
  for (int r = 0; r < op_results(added); r++) b->g->of_tensor[op_result(added, r)] = group;
}

// States of a parameter's optimizer are with it; other states are on every rank.
static void place_stored(Builder *b) {
  const Graph *graph = b->g->graph;
  for (int t = 0; t < graph->tensors.len; t++) {
    const Tensor *tensor = graph_tensor(graph, t);
    b->g->of_tensor[t] = -1;
    if (tensor->role == ROLE_PARAM) b->g->of_tensor[t] = add_group(b, GROUP_PARAM, tensor->name, t);
    if (tensor->role == ROLE_INPUT) b->g->of_tensor[t] = add_group(b, GROUP_INPUT, tensor->name, t);
  }
  for (int t = 0; t < graph->tensors.len; t++)
    if (graph_tensor(graph, t)->role == ROLE_STATE && graph_tensor(graph, t)->of >= 0)
      b->g->of_tensor[t] = b->g->of_tensor[graph_tensor(graph, t)->of];
}

typedef struct Owners { // of what an operator reads
  const Builder *b;
  int group; // -1: none yet, -2: several, or none
} Owners;

// A gradient is of its parameter, and so is what was made of it before the update.
static void ask_owner(void *ctx, int tensor) {
  Owners *o = ctx;
  const Groups *g = o->b->g;
  const Tensor *t = graph_tensor(g->graph, tensor);
  int owner = -2;
  if (t->role == ROLE_GRADIENT && t->of >= 0) owner = g->of_tensor[t->of];
  else if (t->producer >= 0 && g->of_op[t->producer] >= 0 && plan_update_of(g->planner, g->graph, &g->graph->ops.at[t->producer]) < 0)
    owner = g->list.at[g->of_op[t->producer]].kind == GROUP_PARAM ? g->of_op[t->producer] : -2;
  o->group = o->group == -1 || o->group == owner ? owner : -2;
}

static int group_of_loose(Builder *b, int i) {
  const Op *op = &b->g->graph->ops.at[i];
  Owners owners = {b, -1};
  op_visit_reads(op, ask_owner, &owners);
  return owners.group >= 0 ? owners.group : add_group(b, GROUP_LOOSE, graph_tensor(b->g->graph, op->out)->name, -1);
}

static int group_of_op(Builder *b, int *group_of_root, int i) {
  const Graph *graph = b->g->graph;
  const Op *op = &graph->ops.at[i];
  const int param = plan_update_of(b->g->planner, graph, op);
  if (param >= 0) return b->g->of_tensor[param];
  if (op->kind == OP_VIEW) return b->g->of_tensor[op->in];
  if (op->phase == PHASE_UPDATE) return group_of_loose(b, i);
  if (op->phase != PHASE_FORWARD && op->phase != PHASE_BACKWARD) return -1;
  const int leader = forest_root(b->parent, i);
  if (group_of_root[leader] < 0)
    group_of_root[leader] = add_group(b, GROUP_OPS, graph_tensor(graph, graph->ops.at[leader].out)->name, -1);
  return group_of_root[leader];
}

static void build_groups(Builder *b) {
  const Graph *graph = b->g->graph;
  const int n = graph->ops.len;
  b->parent = NEW_ARRAY(b->arena, int, n);
  b->light = NEW_ARRAY(b->arena, bool, n);
  b->readers = NEW_ARRAY(b->arena, int, graph->tensors.len);
  b->place = NEW_ARRAY(b->arena, int, n);
  for (int i = 0; i < n; i++) {
    Edge edge = {b, i};
    b->parent[i] = i;
    b->light[i] = is_light(b, &graph->ops.at[i]);
    if (graph->ops.at[i].phase == PHASE_FORWARD) op_visit_reads(&graph->ops.at[i], count_reader, &edge);
  }
  for (int i = 0; i < n; i++) {
    Edge edge = {b, i};
    if (b->light[i]) op_visit_reads(&graph->ops.at[i], unite_with_producer, &edge);
  }
  unite_time_steps(b);
  unite_gradients(b);
  place_stored(b);
  int *group_of_root = NEW_ARRAY(b->arena, int, n);
  for (int i = 0; i < n; i++) group_of_root[i] = -1;
  for (int i = 0; i < n; i++) b->g->of_op[i] = -1;
  for (int i = 0; i < n; i++) {
    const int group = group_of_op(b, group_of_root, i);
    if (group >= 0) add_op(b, group, i);
  }
}

bool group_dim_allows(const GroupDim *dim, const Mesh *mesh, uint32_t axes) {
  const int64_t parts = mesh_parts(mesh, axes);
  bool needed = dim->ragged;
  for (int a = 0; a < mesh->n_axes && needed; a++) needed = !(axes >> a & 1) || parts / mesh->axis[a].size < dim->extent;
  return needed || parts <= dim->extent;
}

int group_update(const Groups *groups, const Group *group) {
  for (int i = group->ops.len - 1; i >= 0; i--)
    if (plan_update_of(groups->planner, groups->graph, &groups->graph->ops.at[group->ops.at[i]]) >= 0) return group->ops.at[i];
  return -1;
}

Groups groups_of_graph(const Planner *planner) {
  const Graph *graph = planner->model->train;
  Groups g = {.planner = planner, .graph = graph};
  Builder b = {.g = &g, .arena = planner->arena};
  g.of_op = NEW_ARRAY(b.arena, int, graph->ops.len);
  g.of_tensor = NEW_ARRAY(b.arena, int, graph->tensors.len);
  build_groups(&b);
  groups_find_dims(&g, b.arena, b.place);
  adders_find(&g);
  return g;
}
