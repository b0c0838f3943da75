#include "groups.h"

#include "../contraction.h"
#include "../rewrite.h"
#include "../sharding.h"
#include "forest.h"

// ---- which operators are one group ---------------------------------------------------------------------------------

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

// ---- which dimensions are one --------------------------------------------------------------------------------------

// Dimensions of the operators of one group (number * IR_MAX_DIMS + dimension), as a forest in which no set has two of one operator.
typedef struct DimSets {
  Builder *b;
  const Group *group;
  int *parent, *next; // next: another member of the set, in a ring
  int *size;          // by root
  int64_t *unit;
  Numbers keys, names;  // a dimension of a tensor, a name within an origin, a place
  VEC(int) first;       // by number of a key: the first member with it
} DimSets;

// The smaller set is looked at.
static bool share_op(const DimSets *s, int x, int y) {
  if (s->size[x] > s->size[y]) return share_op(s, y, x);
  int i = x;
  do {
    const int op = i / IR_MAX_DIMS;
    for (int j = op * IR_MAX_DIMS; j < (op + 1) * IR_MAX_DIMS; j++)
      if (forest_root(s->parent, j) == y) return true;
    i = s->next[i];
  } while (i != x);
  return false;
}

static void join(DimSets *s, int x, int y) {
  const int next = s->next[x];
  s->next[x] = s->next[y];
  s->next[y] = next;
  s->size[x < y ? x : y] = s->size[x] + s->size[y]; // the first leads
  forest_unite(s->parent, x, y);
}

typedef enum KeyKind { KEY_TENSOR, KEY_ORIGIN, KEY_PLACE } KeyKind;

static void unite_by_key(DimSets *s, KeyKind kind, int id, int64_t a, int64_t b, int member) {
  const int64_t key[] = {kind, id, a, b};
  const int number = numbers_of(&s->keys, key, sizeof key);
  if (number == s->first.len) {
    vec_push(s->b->arena, &s->first, member);
    return;
  }
  const int x = forest_root(s->parent, s->first.at[number]), y = forest_root(s->parent, member);
  if (x != y && !share_op(s, x, y)) join(s, x, y);
}

// The dimension by which an index moves most: that of the widest range.
static int main_dim(const Op *op, const Index *index) {
  int best = -1;
  for (int d = 0; d < op->n_dims; d++)
    if (index_uses(index, d) && index->coef[d] > 0 && (best < 0 || op->dims[d].extent > op->dims[best].extent)) best = d;
  return best;
}

// A view cuts a dimension only in units of what it merges it with, or splits it into.
static int64_t unit_of_view(const Tensor *in, const Tensor *out, int dim) {
  for (int d = 0; d < in->rank; d++) {
    int64_t unit;
    if (in->extent[d] > 1 && sharding_through_view(in, out, d, 1, &unit) == dim) return unit;
  }
  return 1;
}

static int64_t unit_of_dim(const Builder *b, int tensor, int dim) {
  const Graph *graph = b->g->graph;
  const Tensor *t = graph_tensor(graph, tensor);
  const Uses *uses = plan_uses(b->g->planner, graph, tensor);
  int64_t unit = 1;
  if (t->producer >= 0 && graph->ops.at[t->producer].kind == OP_VIEW)
    unit = unit_of_view(graph_tensor(graph, graph->ops.at[t->producer].in), t, dim);
  for (int i = 0; i < uses->ops.len; i++) {
    const Op *reader = &graph->ops.at[uses->ops.at[i]];
    if (reader->kind == OP_VIEW) unit = max_i64(unit, unit_of_view(graph_tensor(graph, reader->out), t, dim));
  }
  return unit;
}

typedef struct AccessVisit { DimSets *s; int number; const Op *op; } AccessVisit;

static void join_tensor_dim(const AccessVisit *v, int tensor, int position, int dim) {
  DimSets *s = v->s;
  const int member = v->number * IR_MAX_DIMS + dim;
  const Tensor *t = graph_tensor(s->b->g->graph, tensor);
  if (v->op->dims[dim].extent == t->extent[position])
    s->unit[member] = max_i64(s->unit[member], unit_of_dim(s->b, tensor, position));
  // A gradient lies as its parameter.
  const int of = t->role == ROLE_GRADIENT && t->of >= 0 ? t->of : tensor;
  unite_by_key(s, KEY_TENSOR, of, position, 0, member);
}

static void join_access(void *ctx, const Expr *e) {
  const AccessVisit *v = ctx;
  if (e->kind != EXPR_ACCESS) return;
  for (int i = 0; i < e->access.rank; i++) {
    const int dim = main_dim(v->op, &e->access.index[i]);
    if (dim >= 0) join_tensor_dim(v, e->access.tensor, i, dim);
  }
}

static void join_op(DimSets *s, int number) {
  const Graph *graph = s->b->g->graph;
  const Op *op = &graph->ops.at[s->group->ops.at[number]];
  AccessVisit v = {s, number, op};
  if (op->kind == OP_COMPUTE) {
    expr_visit(op->body, join_access, &v);
    for (int d = 0; d < op->n_out; d++) join_tensor_dim(&v, op->out, d, d);
  }
  for (int a = 0; op->kind == OP_OPAQUE && a < op->opaque->n_args; a++)
    for (int i = 0; i < op->opaque->args[a].rank; i++)
      if (op->opaque->args[a].dim[i] >= 0 && op->opaque->args[a].tensor >= 0) join_tensor_dim(&v, op->opaque->args[a].tensor, i, op->opaque->args[a].dim[i]);
}

// Within what comes of one operator equal names are one dimension; at all time steps the same is.
static void join_names(DimSets *s, int number) {
  const int id = s->group->ops.at[number];
  const Op *op = &s->b->g->graph->ops.at[id];
  for (int d = 0; d < op->n_dims && op->origin > 0 && op->kind != OP_VIEW; d++) {
    const int name = numbers_of(&s->names, op->dims[d].name, strlen(op->dims[d].name));
    unite_by_key(s, KEY_ORIGIN, op->origin, name, op->dims[d].extent, number * IR_MAX_DIMS + d);
  }
  for (int d = 0; d < op->n_dims && s->b->place[id] >= 0; d++)
    unite_by_key(s, KEY_PLACE, s->b->place[id], d, 0, number * IR_MAX_DIMS + d);
}

static void collect_dims(DimSets *s, Group *group) {
  const Graph *graph = s->b->g->graph;
  const int n = group->ops.len * IR_MAX_DIMS;
  int *dim_of_root = NEW_ARRAY(s->b->arena, int, n);
  for (int i = 0; i < n; i++) dim_of_root[i] = -1;
  for (int i = 0; i < n; i++) {
    const Op *op = &graph->ops.at[group->ops.at[i / IR_MAX_DIMS]];
    const int d = i % IR_MAX_DIMS, set = forest_root(s->parent, i);
    if (op->kind == OP_VIEW || d >= op->n_dims || op->dims[d].extent <= 1) continue;
    if (plan_space_of_op(op).fixed[d] != NULL) continue;
    if (dim_of_root[set] < 0) {
      dim_of_root[set] = group->dims.len;
      vec_push(s->b->arena, &group->dims, (GroupDim){.name = op->dims[d].name, .extent = INT64_MAX});
    }
    GroupDim *dim = &group->dims.at[dim_of_root[set]];
    const int64_t unit = op->dims[d].extent % s->unit[i] == 0 ? s->unit[i] : 1;
    dim->extent = min_i64(dim->extent, op->dims[d].extent / unit);
    vec_push(s->b->arena, &dim->members, (GroupMember){group->ops.at[i / IR_MAX_DIMS], d, unit});
  }
}

static void dims_of_ops(Builder *b, Group *group) {
  const int n = group->ops.len * IR_MAX_DIMS;
  DimSets sets = {.b = b, .group = group, .parent = NEW_ARRAY(b->arena, int, n), .next = NEW_ARRAY(b->arena, int, n)};
  sets.unit = NEW_ARRAY(b->arena, int64_t, n);
  sets.size = NEW_ARRAY(b->arena, int, n);
  sets.keys.arena = sets.names.arena = b->arena;
  for (int i = 0; i < n; i++) {
    sets.parent[i] = sets.next[i] = i;
    sets.unit[i] = sets.size[i] = 1;
  }
  for (int i = 0; i < group->ops.len; i++) join_names(&sets, i);
  for (int i = 0; i < group->ops.len; i++) join_op(&sets, i);
  collect_dims(&sets, group);
}

// Which of its dimensions an operator that reads a gradient, or what was made of one, reads along dimension `d` of the parameter.
typedef struct Along {
  const Graph *graph;
  const Op *op;
  const GroupDim *dim;
  int d, found; // -1: none yet
} Along;

static void look_along(void *ctx, int tensor) {
  Along *a = ctx;
  const Tensor *t = graph_tensor(a->graph, tensor);
  int position = t->role == ROLE_GRADIENT ? a->d : -1;
  for (int i = 0; i < a->dim->members.len && t->role != ROLE_GRADIENT; i++)
    if (a->dim->members.at[i].op == t->producer) position = a->dim->members.at[i].dim;
  if (a->found < 0 && position >= 0 && position < t->rank) a->found = sharding_dim_of(a->graph, a->op, tensor, position);
}

static void add_readers(const Builder *b, const Group *group, GroupDim *dim, int d) {
  const Graph *graph = b->g->graph;
  for (int i = 0; i < group->ops.len; i++) {
    Along along = {graph, &graph->ops.at[group->ops.at[i]], dim, d, -1};
    if (along.op->kind == OP_VIEW || plan_update_of(b->g->planner, graph, along.op) >= 0) continue;
    op_visit_reads(along.op, look_along, &along);
    if (along.found >= 0) vec_push(b->arena, &dim->members, (GroupMember){group->ops.at[i], along.found, dim->members.at[0].unit});
  }
}

// The dimensions of a stored tensor, and of its update: the same in the same order.
static void dims_of_tensor_group(Builder *b, Group *group) {
  const Graph *graph = b->g->graph;
  const Tensor *t = graph_tensor(graph, group->tensor);
  for (int d = 0; d < t->rank; d++) {
    if (t->extent[d] <= 1) continue;
    const int64_t unit = unit_of_dim(b, group->tensor, d);
    GroupDim dim = {.name = t->dim[d], .extent = t->extent[d] / unit};
    vec_push(b->arena, &dim.members, (GroupMember){-1, d, unit});
    for (int i = 0; i < group->ops.len; i++)
      if (plan_update_of(b->g->planner, graph, &graph->ops.at[group->ops.at[i]]) >= 0)
        vec_push(b->arena, &dim.members, (GroupMember){group->ops.at[i], d, unit});
    add_readers(b, group, &dim, d);
    vec_push(b->arena, &group->dims, dim);
  }
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
  for (int i = 0; i < g.list.len; i++) {
    if (g.list.at[i].kind == GROUP_OPS || g.list.at[i].kind == GROUP_LOOSE) dims_of_ops(&b, &g.list.at[i]);
    else dims_of_tensor_group(&b, &g.list.at[i]);
  }
  return g;
}

// ---- groups in parts -----------------------------------------------------------------------------------------------

typedef struct Parts {
  Groups *g;
  Arena *arena;
  Text *key; // by operator: what those of one part have in common, as text
} Parts;

static int add_part(Parts *parts, const Group *whole, int op) {
  const char *name = graph_tensor(parts->g->graph, parts->g->graph->ops.at[op].out)->name;
  vec_push(parts->arena, &parts->g->list, (Group){.kind = whole->kind, .name = name, .tensor = whole->tensor});
  return parts->g->list.len - 1;
}

static void write_pass(Text *key, const Graph *graph, const Op *op) {
  const bool of_parameter = graph_tensor(graph, op->out)->role == ROLE_GRADIENT;
  text_printf(key, "%s", op->phase == PHASE_FORWARD ? "forward" : of_parameter ? "parameter" : "backward");
}

static void write_keys(Parts *parts, const Group *whole, GroupParts by) {
  const Graph *graph = parts->g->graph;
  for (int i = 0; i < whole->ops.len && by == GROUPS_BY_PASS; i++)
    write_pass(&parts->key[whole->ops.at[i]], graph, &graph->ops.at[whole->ops.at[i]]);
  for (int d = 0; d < whole->dims.len; d++)
    for (int i = 0; i < whole->dims.at[d].members.len; i++) text_printf(&parts->key[whole->dims.at[d].members.at[i].op], " %d", d);
}

// A view is with what it is a view of.
static void deal_out_ops(Parts *parts, const Group *whole, GroupParts by) {
  Groups *g = parts->g;
  Names seen = {.arena = parts->arena};
  write_keys(parts, whole, by);
  for (int i = 0; i < whole->ops.len; i++) {
    const int op = whole->ops.at[i];
    const bool view = g->graph->ops.at[op].kind == OP_VIEW;
    const char *key = text_str(&parts->key[op]);
    int part = view ? g->of_tensor[g->graph->ops.at[op].in] : names_get(&seen, key);
    if (part < 0) names_set(&seen, key, part = add_part(parts, whole, op));
    g->of_op[op] = part;
    vec_push(parts->arena, &g->list.at[part].ops, op);
    for (int r = 0; r < op_results(&g->graph->ops.at[op]); r++) g->of_tensor[op_result(&g->graph->ops.at[op], r)] = part;
  }
}

static void deal_out_dim(Parts *parts, const GroupDim *dim, int first) {
  const int n = parts->g->list.len - first;
  bool *has = NEW_ARRAY(parts->arena, bool, n);
  for (int i = 0; i < dim->members.len; i++) {
    const int part = parts->g->of_op[dim->members.at[i].op];
    Group *group = &parts->g->list.at[part];
    if (!has[part - first]) vec_push(parts->arena, &group->dims, (GroupDim){.name = dim->name, .extent = dim->extent});
    has[part - first] = true;
    vec_push(parts->arena, &group->dims.at[group->dims.len - 1].members, dim->members.at[i]);
  }
}

Groups groups_in_parts(const Groups *groups, GroupParts by) {
  if (by == GROUPS_WHOLE) return *groups;
  const Graph *graph = groups->graph;
  Groups g = {.planner = groups->planner, .graph = graph};
  Parts parts = {&g, groups->planner->arena, NULL};
  int *stored = NEW_ARRAY(parts.arena, int, groups->list.len); // by group: its new number
  parts.key = NEW_ARRAY(parts.arena, Text, graph->ops.len);
  g.of_op = NEW_ARRAY(parts.arena, int, graph->ops.len);
  g.of_tensor = NEW_ARRAY(parts.arena, int, graph->tensors.len);
  for (int i = 0; i < graph->ops.len; i++) parts.key[i].arena = parts.arena;
  for (int i = 0; i < groups->list.len; i++) {
    if (groups->list.at[i].kind == GROUP_OPS) continue;
    stored[i] = g.list.len;
    vec_push(parts.arena, &g.list, groups->list.at[i]);
  }
  for (int i = 0; i < graph->ops.len; i++) g.of_op[i] = groups->of_op[i] >= 0 ? stored[groups->of_op[i]] : -1;
  for (int t = 0; t < graph->tensors.len; t++) g.of_tensor[t] = groups->of_tensor[t] >= 0 ? stored[groups->of_tensor[t]] : -1;
  for (int i = 0; i < groups->list.len; i++) {
    const Group *whole = &groups->list.at[i];
    const int first = g.list.len;
    if (whole->kind != GROUP_OPS) continue;
    deal_out_ops(&parts, whole, by);
    for (int d = 0; d < whole->dims.len; d++) deal_out_dim(&parts, &whole->dims.at[d], first);
  }
  return g;
}
