// Building and measuring graphs.
#include "pin.h"

#include <math.h>

const char *reduce_name(Reduce reduce) {
  static const char *const name[] = {"none", "sum", "max", "min", "prod", "argmax"};
  return name[reduce];
}

double reduce_identity(Reduce reduce) {
  switch (reduce) {
  case REDUCE_MAX:
  case REDUCE_ARGMAX: return -INFINITY;
  case REDUCE_MIN: return INFINITY;
  case REDUCE_PROD: return 1;
  default: return 0;
  }
}

const char *phase_name(Phase phase) {
  static const char *const name[] = {"init", "begin", "forward", "backward", "combine", "report", "update"};
  return name[phase];
}

Graph *graph_new(Arena *arena, const char *name) {
  Graph *graph = NEW(arena, Graph);
  graph->arena = arena;
  graph->name = name;
  graph->gradient_norm = graph->sampled = -1;
  graph->microbatches = 1;
  graph->tensor_names.arena = graph->layouts.arena = arena;
  return graph;
}

Graph *graph_copy(Arena *arena, const Graph *graph) {
  Graph *copy = NEW(arena, Graph);
  *copy = *graph;
  copy->arena = arena;
  vec_own(arena, &copy->tensors);
  vec_own(arena, &copy->ops);
  vec_own(arena, &copy->stores);
  vec_own(arena, &copy->losses);
  vec_own(arena, &copy->metrics);
  copy->tensor_names = names_copy(arena, &graph->tensor_names);
  copy->layouts = (Numbers){.arena = arena};
  copy->old_ops = NULL;
  copy->old_cap = 0;
  return copy;
}

void graph_forget_old_ops(Graph *graph) {
  arena_give_back(graph->arena, graph->old_ops, sizeof(Op) * (size_t)graph->old_cap);
  graph->old_ops = NULL;
  graph->old_cap = 0;
}

void graph_forget_ops(Graph *graph) {
  graph_forget_old_ops(graph);
  graph->old_ops = graph->ops.at;
  graph->old_cap = graph->ops.cap;
  graph->ops.at = NULL;
  graph->ops.len = graph->ops.cap = 0;
  graph_forget_old_ops(graph);
}

const Op *graph_renew_ops(Graph *graph, int n) {
  Op *old = graph->ops.at;
  const int old_cap = graph->ops.cap;
  graph_forget_old_ops(graph);
  vec_renew(graph->arena, &graph->ops, n);
  graph->old_ops = old;
  graph->old_cap = old_cap;
  return old;
}

static const char *unique_name(Graph *graph, const char *name) {
  if (names_get(&graph->tensor_names, name) < 0) return name;
  const char *count_key = arena_printf(graph->arena, "%s\001count", name); // \001: no tensor has such a name
  int count = names_get(&graph->tensor_names, count_key);
  if (count < 0) count = 2;
  const char *candidate = arena_printf(graph->arena, "%s.%d", name, count);
  while (names_get(&graph->tensor_names, candidate) >= 0)
    candidate = arena_printf(graph->arena, "%s.%d", name, ++count);
  names_set_own(&graph->tensor_names, count_key, count + 1);
  return candidate;
}

int graph_add_tensor(Graph *graph, Tensor tensor) {
  const int id = graph->tensors.len;
  tensor.name = unique_name(graph, tensor.name);
  if (tensor.layout == NULL) tensor.layout = &layout_replicated;
  vec_push_own(graph->arena, &graph->tensors, tensor);
  names_set_own(&graph->tensor_names, tensor.name, id);
  return id;
}

void graph_set_layout(Graph *graph, int tensor, const Layout *layout) {
  graph_tensor(graph, tensor)->layout = numbers_key(&graph->layouts, layout, sizeof *layout);
}

int graph_add_op(Graph *graph, Op op) {
  const int id = graph->ops.len;
  for (int i = 0; i < op_results(&op); i++) graph_tensor(graph, op_result(&op, i))->producer = id;
  vec_push_own(graph->arena, &graph->ops, op);
  return id;
}

int graph_add_compute(Graph *graph, Op op, const char *tensor_name) {
  if (op.n_out > IR_MAX_RANK) fatal("operator %s makes a tensor of more than %d dimensions", op.name, IR_MAX_RANK);
  Tensor out = {.name = tensor_name, .role = ROLE_VALUE, .rank = op.n_out, .of = -1, .loc = op.loc};
  out.type = op.reduce == REDUCE_ARGMAX ? TYPE_INT : op.body->type == TYPE_BOOL ? TYPE_INT : op.body->type;
  for (int d = 0; d < op.n_out; d++) {
    out.extent[d] = op.dims[d].extent;
    out.dim[d] = op.dims[d].name;
  }
  op.kind = OP_COMPUTE;
  op.out = graph_add_tensor(graph, out);
  graph_add_op(graph, op);
  return op.out;
}

int graph_add_view(Graph *graph, int in, int rank, const Dim *dims, Op proto, const char *tensor_name) {
  const Tensor *src = graph_tensor(graph, in);
  Tensor out = {.name = tensor_name, .role = ROLE_VALUE, .type = src->type, .rank = rank, .range = src->range, .of = -1};
  out.loc = proto.loc;
  for (int d = 0; d < rank; d++) {
    out.extent[d] = dims[d].extent;
    out.dim[d] = dims[d].name;
  }
  proto.kind = OP_VIEW;
  proto.in = in;
  proto.body = NULL;
  proto.n_dims = proto.n_out = 0;
  proto.out = graph_add_tensor(graph, out);
  graph_add_op(graph, proto);
  return proto.out;
}

int64_t tensor_elements(const Tensor *tensor) {
  int64_t elements = 1;
  for (int d = 0; d < tensor->rank; d++) elements *= tensor->extent[d];
  return elements;
}

// ---- operands and results ----------------------------------------------------------------------------------------

static bool is_result(const OpaqueArg *arg) { return arg->written && arg->tensor >= 0; }

int op_results(const Op *op) {
  if (op->kind != OP_OPAQUE) return 1;
  int n = 0;
  for (int i = 0; i < op->opaque->n_args; i++) n += is_result(&op->opaque->args[i]);
  return n;
}

int op_result(const Op *op, int i) {
  if (op->kind != OP_OPAQUE) return op->out;
  for (int a = 0; a < op->opaque->n_args; a++)
    if (is_result(&op->opaque->args[a]) && i-- == 0) return op->opaque->args[a].tensor;
  fatal("operator %s has fewer results", op->name);
}

bool op_any_result(const Op *op, const bool *marked) {
  for (int i = 0; i < op_results(op); i++)
    if (marked[op_result(op, i)]) return true;
  return false;
}

static Opaque *opaque_copy(Arena *arena, const Opaque *opaque) {
  Opaque *copy = NEW(arena, Opaque);
  *copy = *opaque;
  copy->args = NEW_ARRAY(arena, OpaqueArg, opaque->n_args);
  memcpy(copy->args, opaque->args, sizeof *copy->args * (size_t)opaque->n_args);
  return copy;
}

void op_replace_result(Arena *arena, Op *op, int from, int to) {
  if (op->out == from) op->out = to;
  if (op->kind != OP_OPAQUE) return;
  Opaque *copy = opaque_copy(arena, op->opaque);
  for (int a = 0; a < copy->n_args; a++)
    if (is_result(&copy->args[a]) && copy->args[a].tensor == from) copy->args[a].tensor = to;
  op->opaque = copy;
}

const Opaque *opaque_map_operands(Arena *arena, const Opaque *opaque, OpaqueOperandFn *by, void *ctx) {
  Opaque *copy = opaque_copy(arena, opaque);
  for (int a = 0; a < copy->n_args; a++)
    if (!copy->args[a].written) copy->args[a].tensor = by(ctx, &copy->args[a]);
  return copy;
}

// As expr_visit does, in half the time: passes ask more often what operators read than anything else.
static void visit_accesses(const Expr *e, void (*visit)(void *ctx, int tensor), void *ctx) {
  if (e->kind == EXPR_ACCESS) visit(ctx, e->access.tensor);
  for (int i = 0; e->kind == EXPR_CALL && i < 3 && e->call.arg[i] != NULL; i++) visit_accesses(e->call.arg[i], visit, ctx);
}

void op_visit_reads(const Op *op, void (*visit)(void *ctx, int tensor), void *ctx) {
  if (op->kind == OP_OPAQUE) {
    for (int a = 0; a < op->opaque->n_args; a++)
      if (!op->opaque->args[a].written) visit(ctx, op->opaque->args[a].tensor);
    return;
  }
  if (op->kind != OP_COMPUTE) {
    visit(ctx, op->in);
    if (op->owners != NULL) visit(ctx, op->owners->index);
    return;
  }
  visit_accesses(op->body, visit, ctx);
}

Phase op_complete(const Op *op) { return op->accumulates ? PHASE_COMBINE : op->phase; }

int phase_times(const Graph *graph, Phase phase) {
  return phase == PHASE_FORWARD || phase == PHASE_BACKWARD ? graph->microbatches : 1;
}

bool phase_is_of_step(Phase phase) { return phase != PHASE_REPORT && phase != PHASE_INIT; }

double op_flops(const Op *op) {
  if (op->kind != OP_COMPUTE) return 0;
  double points = 1;
  for (int d = 0; d < op->n_dims; d++) points *= (double)op->dims[d].extent;
  Pin pin[IR_MAX_DIMS];
  const int n_pins = op_pins(op, pin);
  for (int i = 0; i < n_pins; i++) points /= (double)op->dims[pin[i].dim].extent;
  return points * (expr_flops(op->body) + (op->reduce != REDUCE_NONE));
}
