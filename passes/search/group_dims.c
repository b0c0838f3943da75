#include "group_dims.h"

#include "../sharding.h"
#include "forest.h"

typedef struct DimsBuilder {
  Groups *g;
  Arena *arena;
  const int *place; // by operator: the first one in its place at another time step, or itself; -1: none
} DimsBuilder;

// ---- of operators --------------------------------------------------------------------------------------------------

// Dimensions of the operators of one group (number * IR_MAX_DIMS + dimension), as a forest in which no set has two of one operator.
typedef struct DimSets {
  DimsBuilder *b;
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

static int64_t unit_of_dim(const DimsBuilder *b, int tensor, int dim) {
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

typedef struct PlainCheck { int dim; bool plain; } PlainCheck;

static void check_plain(void *ctx, const Expr *e) {
  PlainCheck *check = ctx;
  for (int i = 0; e->kind == EXPR_ACCESS && i < e->access.rank; i++)
    check->plain &= !index_uses(&e->access.index[i], check->dim) || index_plain_dim(&e->access.index[i]) == check->dim;
}

static bool is_ragged(const Op *op, int dim) {
  PlainCheck check = {dim, op->kind == OP_COMPUTE && dim < op->n_out};
  if (check.plain) expr_visit(op->body, check_plain, &check);
  return check.plain;
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
      vec_push(s->b->arena, &group->dims, (GroupDim){.name = op->dims[d].name, .extent = INT64_MAX, .ragged = is_ragged(op, d)});
    }
    GroupDim *dim = &group->dims.at[dim_of_root[set]];
    const int64_t unit = op->dims[d].extent % s->unit[i] == 0 ? s->unit[i] : 1;
    dim->extent = min_i64(dim->extent, op->dims[d].extent / unit);
    vec_push(s->b->arena, &dim->members, (GroupMember){group->ops.at[i / IR_MAX_DIMS], d, unit});
  }
}

static void dims_of_ops(DimsBuilder *b, Group *group) {
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

// ---- of a stored tensor --------------------------------------------------------------------------------------------

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

static void add_readers(const DimsBuilder *b, const Group *group, GroupDim *dim, int d) {
  const Graph *graph = b->g->graph;
  for (int i = 0; i < group->ops.len; i++) {
    Along along = {graph, &graph->ops.at[group->ops.at[i]], dim, d, -1};
    if (along.op->kind == OP_VIEW || plan_update_of(b->g->planner, graph, along.op) >= 0) continue;
    op_visit_reads(along.op, look_along, &along);
    if (along.found >= 0) vec_push(b->arena, &dim->members, (GroupMember){group->ops.at[i], along.found, dim->members.at[0].unit});
  }
}

// The dimensions of a stored tensor, and of its update: the same in the same order.
static void dims_of_tensor_group(DimsBuilder *b, Group *group) {
  const Graph *graph = b->g->graph;
  const Tensor *t = graph_tensor(graph, group->tensor);
  for (int d = 0; d < t->rank; d++) {
    if (t->extent[d] <= 1) continue;
    const int64_t unit = unit_of_dim(b, group->tensor, d);
    GroupDim dim = {.name = t->dim[d], .extent = t->extent[d] / unit, .ragged = group->kind == GROUP_INPUT};
    vec_push(b->arena, &dim.members, (GroupMember){-1, d, unit});
    for (int i = 0; i < group->ops.len; i++)
      if (plan_update_of(b->g->planner, graph, &graph->ops.at[group->ops.at[i]]) >= 0)
        vec_push(b->arena, &dim.members, (GroupMember){group->ops.at[i], d, unit});
    add_readers(b, group, &dim, d);
    vec_push(b->arena, &group->dims, dim);
  }
}

void groups_find_dims(Groups *groups, Arena *arena, const int *place) {
  DimsBuilder b = {groups, arena, place};
  for (int i = 0; i < groups->list.len; i++) {
    Group *group = &groups->list.at[i];
    if (group->kind == GROUP_OPS || group->kind == GROUP_LOOSE) dims_of_ops(&b, group);
    else dims_of_tensor_group(&b, group);
  }
}
