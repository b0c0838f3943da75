#include "dim_order.h"

#include "../sharding.h"
#include "forest.h"

// Dimensions of groups, numbered group by group, and behind them those of tensors.
typedef struct Kin {
  const Groups *groups;
  int *first; // by group
  int n_dims; // of all groups
  int *parent;
} Kin;

static int of_tensor(const Kin *k, int tensor, int dim) { return k->n_dims + tensor * IR_MAX_RANK + dim; }

typedef struct Member { // an operator's dimension, of the set of `number`
  Kin *kin;
  const Op *op;
  int dim, number;
} Member;

static void unite_read(void *ctx, int tensor) {
  const Member *m = ctx;
  const Graph *graph = m->kin->groups->graph;
  for (int i = 0; i < graph_tensor(graph, tensor)->rank; i++)
    if (sharding_dim_of(graph, m->op, tensor, i) == m->dim) forest_unite(m->kin->parent, m->number, of_tensor(m->kin, tensor, i));
}

static void unite_member(Kin *k, const Group *group, const GroupMember *member, int number) {
  const Graph *graph = k->groups->graph;
  if (member->op < 0) {
    forest_unite(k->parent, number, of_tensor(k, group->tensor, member->dim));
    return;
  }
  Member m = {k, &graph->ops.at[member->op], member->dim, number};
  if (m.op->kind == OP_COMPUTE && member->dim < m.op->n_out) forest_unite(k->parent, number, of_tensor(k, m.op->out, member->dim));
  if (m.op->kind == OP_COMPUTE) op_visit_reads(m.op, unite_read, &m);
  for (int a = 0; m.op->kind == OP_OPAQUE && a < m.op->opaque->n_args; a++) {
    const OpaqueArg *arg = &m.op->opaque->args[a];
    for (int i = 0; i < arg->rank && arg->tensor >= 0; i++)
      if (arg->dim[i] == member->dim) forest_unite(k->parent, number, of_tensor(k, arg->tensor, i));
  }
}

static void unite_view(Kin *k, const Op *view) {
  const Tensor *in = graph_tensor(k->groups->graph, view->in), *out = graph_tensor(k->groups->graph, view->out);
  for (int i = 0; i < in->rank; i++) {
    int64_t unit;
    const int dim = sharding_through_view(in, out, i, 1, &unit);
    if (dim >= 0) forest_unite(k->parent, of_tensor(k, view->in, i), of_tensor(k, view->out, dim));
  }
}

static Kin find_kin(Arena *arena, const Groups *groups) {
  const Graph *graph = groups->graph;
  Kin k = {.groups = groups, .first = NEW_ARRAY(arena, int, groups->list.len)};
  for (int g = 0; g < groups->list.len; g++) {
    k.first[g] = k.n_dims;
    k.n_dims += groups->list.at[g].dims.len;
  }
  const int n = k.n_dims + graph->tensors.len * IR_MAX_RANK;
  k.parent = NEW_ARRAY(arena, int, n);
  for (int i = 0; i < n; i++) k.parent[i] = i;
  for (int g = 0; g < groups->list.len; g++)
    for (int d = 0; d < groups->list.at[g].dims.len; d++) {
      const GroupDim *dim = &groups->list.at[g].dims.at[d];
      for (int i = 0; i < dim->members.len; i++) unite_member(&k, &groups->list.at[g], &dim->members.at[i], k.first[g] + d);
    }
  for (int i = 0; i < graph->ops.len; i++)
    if (graph->ops.at[i].kind == OP_VIEW) unite_view(&k, &graph->ops.at[i]);
  return k;
}

typedef enum DimKind { OF_IMAGES, OF_PARAMETERS, OF_SAMPLES } DimKind; // by root

static DimKind *kinds_of(Arena *arena, Kin *k) {
  DimKind *kind = NEW_ARRAY(arena, DimKind, k->n_dims + k->groups->graph->tensors.len * IR_MAX_RANK);
  for (int g = 0; g < k->groups->list.len; g++)
    for (int d = 0; d < k->groups->list.at[g].dims.len && k->groups->list.at[g].kind == GROUP_PARAM; d++)
      kind[forest_root(k->parent, k->first[g] + d)] = OF_PARAMETERS;
  for (int g = 0; g < k->groups->list.len; g++)
    if (k->groups->list.at[g].kind == GROUP_INPUT) kind[forest_root(k->parent, of_tensor(k, k->groups->list.at[g].tensor, 0))] = OF_SAMPLES;
  return kind;
}

DimOrder dim_order(Arena *arena, const Groups *groups) {
  Arena *scratch = arena_new();
  Kin k = find_kin(scratch, groups);
  const DimKind *kind = kinds_of(scratch, &k);
  DimOrder order = {NEW_ARRAY(arena, int *, groups->list.len)};
  const int behind = k.n_dims + groups->graph->tensors.len * IR_MAX_RANK;
  for (int g = 0; g < groups->list.len; g++) {
    order.place[g] = NEW_ARRAY(arena, int, groups->list.at[g].dims.len);
    for (int d = 0; d < groups->list.at[g].dims.len; d++) {
      const int root = forest_root(k.parent, k.first[g] + d);
      order.place[g][d] = kind[root] == OF_SAMPLES ? DIM_SAMPLES : DIM_SAMPLES + 1 + root + (kind[root] == OF_PARAMETERS ? behind : 0);
    }
  }
  arena_free(scratch);
  return order;
}
