#include "op_classes.h"

OpClasses op_classes_new(Arena *arena, const Graph *graph, const CostModel *cost) {
  OpClasses classes = {.arena = arena, .graph = graph, .cost = cost, .of = NEW_ARRAY(arena, int, graph->ops.len)};
  for (int i = 0; i < graph->ops.len; i++) classes.of[i] = -1;
  return classes;
}

static bool same_tensor(const Graph *graph, int x, int y) {
  if (x < 0 || y < 0) return x == y;
  const Tensor *a = graph_tensor(graph, x), *b = graph_tensor(graph, y);
  return a->rank == b->rank && a->type == b->type && a->inlined == b->inlined &&
         memcmp(a->extent, b->extent, sizeof *a->extent * (size_t)a->rank) == 0;
}

// Numbers that are drawn differ in their streams only.
static bool same_expr(const Graph *graph, const Expr *a, const Expr *b) {
  if (a->kind != b->kind || a->type != b->type) return false;
  switch (a->kind) {
  case EXPR_CONST: return a->value == b->value;
  case EXPR_INDEX: return index_equal(&a->index, &b->index);
  case EXPR_RUN: return a->run == b->run;
  case EXPR_RANDOM: return a->random.normal == b->random.normal && index_equal(&a->random.element, &b->random.element);
  case EXPR_ACCESS:
    if (!same_tensor(graph, a->access.tensor, b->access.tensor)) return false;
    for (int i = 0; i < a->access.rank; i++)
      if (!index_equal(&a->access.index[i], &b->access.index[i])) return false;
    return true;
  case EXPR_CALL:
    if (a->call.fn != b->call.fn) return false;
    for (int i = 0; i < fn_arity(a->call.fn); i++)
      if (!same_expr(graph, a->call.arg[i], b->call.arg[i])) return false;
    return true;
  }
  return false;
}

static bool same_arguments(const Graph *graph, const Opaque *a, const Opaque *b) {
  if (a->n_args != b->n_args) return false;
  for (int i = 0; i < a->n_args; i++) {
    const OpaqueArg *x = &a->args[i], *y = &b->args[i];
    if (x->written != y->written || x->rank != y->rank || !same_tensor(graph, x->tensor, y->tensor)) return false;
    if (memcmp(x->dim, y->dim, sizeof *x->dim * (size_t)x->rank) != 0) return false;
  }
  return true;
}

static bool same_op(const Graph *graph, const Op *a, const Op *b) {
  if (a->kind != b->kind || a->phase != b->phase || a->n_dims != b->n_dims || a->n_out != b->n_out || a->reduce != b->reduce) return false;
  for (int d = 0; d < a->n_dims; d++)
    if (a->dims[d].extent != b->dims[d].extent) return false;
  if (a->kind == OP_OPAQUE) return same_arguments(graph, a->opaque, b->opaque);
  if (!same_tensor(graph, a->out, b->out)) return false;
  return a->kind == OP_COMPUTE ? same_expr(graph, a->body, b->body) : same_tensor(graph, a->in, b->in);
}

static void mix(uint64_t *hash, uint64_t value) {
  *hash = (*hash ^ value) * 0x9E3779B97F4A7C15u;
  *hash ^= *hash >> 29;
}

static void mix_read(void *ctx, int tensor) {
  (void)tensor;
  mix(ctx, 1);
}

static uint64_t hash_of(const Graph *graph, const Op *op) {
  const Tensor *out = graph_tensor(graph, op->out);
  uint64_t hash = (uint64_t)op->kind;
  mix(&hash, (uint64_t)op->phase);
  mix(&hash, (uint64_t)op->reduce);
  for (int d = 0; d < op->n_dims; d++) mix(&hash, (uint64_t)op->dims[d].extent);
  for (int d = 0; d < out->rank; d++) mix(&hash, (uint64_t)out->extent[d]);
  op_visit_reads(op, mix_read, &hash);
  return hash;
}

int op_class(OpClasses *classes, int op) {
  if (classes->of[op] >= 0) return classes->of[op];
  const Op *at = &classes->graph->ops.at[op];
  const uint64_t hash = hash_of(classes->graph, at);
  for (int k = 0; k < classes->list.len; k++)
    if (classes->list.at[k].hash == hash && same_op(classes->graph, at, &classes->graph->ops.at[classes->list.at[k].op])) return classes->of[op] = k;
  vec_push(classes->arena, &classes->list, (OpClass){.hash = hash, .op = op});
  return classes->of[op] = classes->list.len - 1;
}

double op_class_seconds(OpClasses *classes, int op, const OpSharding *sharding) {
  Op *at = &classes->graph->ops.at[op];
  OpClass *class = &classes->list.at[op_class(classes, op)];
  KnownCost known = {.seconds = 0};
  bool units = false;
  for (int a = 0; a < classes->cost->mesh->n_axes; a++) {
    known.dim[a] = (signed char)sharding->dim[a];
    units |= sharding->dim[a] >= 0 && sharding->unit[a] > 1;
  }
  for (int i = 0; i < class->costs.len && !units; i++)
    if (memcmp(class->costs.at[i].dim, known.dim, sizeof known.dim) == 0) return class->costs.at[i].seconds;
  at->sharding = *sharding;
  known.seconds = cost_of_op(classes->cost, classes->graph, at);
  if (!units) vec_push(classes->arena, &class->costs, known);
  return known.seconds;
}
