// apply-plan: every change of layout becomes an operator.
//
// Requires: a sharding for every operator, a layout for every input and stored tensor.
// Guarantees: every operator reads its operands in the layout its sharding asks for; losses and metrics are replicated,
// stored values lie as what they are stored to. Each change is one step of the table (ir/reshard.def). After this pass no
// communication is invented.
//
//   w.grad[co, ci] = sum(n) ...           n/data
//   w.next = w - lr * w.grad              co/data
// becomes
//   w.grad[co, ci] = sum(n) ...           n/data, partial(sum) over data
//   w.grad.part = reshard w.grad          reduce_scatter over data
//   w.next = w - lr * w.grad.part         co/data
//   w.next.whole = reshard w.next         all_gather over data, where w is on every rank
//
// Partial results are reduced where they are made, to what their readers need most cheaply (demands.h); everything else is
// changed where it is first read. What several operators need is made once.
#include "demands.h"
#include "passes.h"
#include "rewrite.h"
#include "sharding.h"

typedef struct Applier {
  Graph *graph;
  const Mesh *mesh;
  Demands demands;
} Applier;

static const char *suffix_of(ReshardKind kind) {
  switch (kind) {
  case RESHARD_all_reduce:
  case RESHARD_all_gather:
  case RESHARD_broadcast:
  case RESHARD_publish: return "whole";
  case RESHARD_reduce_scatter:
  case RESHARD_slice:
  case RESHARD_scatter:
  case RESHARD_serve: return "part";
  default: return "moved";
  }
}

// Who owns the rows that an operator looked up: they are as it has made them, or the sum of what some ranks have made.
static const RowOwners *owners_of(const Graph *graph, int tensor) {
  RowOwners owners;
  const Op *op = &graph->ops.at[graph_tensor(graph, tensor)->producer];
  while (op->kind == OP_RESHARD) op = &graph->ops.at[graph_tensor(graph, op->in)->producer];
  for (int a = 0; a < MESH_MAX_AXES; a++)
    if (op->sharding.dim[a] >= op->n_out && sharding_owners(graph, op, op->sharding.dim[a], &owners)) return arena_copy(graph->arena, &owners, sizeof owners);
  fatal("rows without owners");
}

static int add_reshard(Applier *ap, int tensor, const Layout *to, Phase phase, const Op *near) {
  Graph *graph = ap->graph;
  Tensor out = *graph_tensor(graph, tensor);
  const Shape shape = shape_of(&out);
  Reshard step;
  if (!reshard_find(ap->mesh, &shape, out.layout, to, &step)) fatal("a change of layout that is not one step");
  out.name = arena_printf(graph->arena, "%s.%s", out.name, suffix_of(step.kind));
  out.role = ROLE_VALUE;
  out.layout = NULL;
  out.again_above = 0;
  Op op = {.kind = OP_RESHARD, .phase = phase, .name = reshard_name(step.kind), .layer = near->layer, .loc = near->loc};
  op.in = tensor;
  if (reshard_moves_rows(step.kind)) op.owners = owners_of(graph, tensor);
  op.out = graph_add_tensor(graph, out);
  graph_set_layout(graph, op.out, to);
  op.sharding = sharding_replicate();
  // Where neither is, nothing is to be done; messages are among all ranks.
  for (int a = 0; a < ap->mesh->n_axes && reshard_how(step.kind) != RESHARD_MESSAGES; a++)
    if (to->axis[a].kind == LAYOUT_PINNED && !(step.axes >> a & 1)) op.sharding.pin[a] = to->axis[a].pin;
  graph_add_op(graph, op);
  return op.out;
}

// A version of a tensor, made now if it is not there yet.
static int made(Applier *ap, int tensor, int version, Phase phase, const Op *near) {
  const Version v = ap->demands.of[tensor].at[version];
  if (v.tensor >= 0) return v.tensor;
  const Version *parent = &ap->demands.of[tensor].at[v.parent];
  int at = made(ap, tensor, v.parent, demands_phase(&ap->demands, tensor, parent), near);
  const int shape = routes_shape(ap->demands.routes, graph_tensor(ap->graph, at));
  const Route route = route_find(ap->demands.routes, shape, parent->number, v.number);
  if (route.n == 0) fatal("no way from one layout to another");
  for (int i = 0; i < route.n; i++) at = add_reshard(ap, at, routes_layout_at(ap->demands.routes, route.layout[i]), phase, near);
  return ap->demands.of[tensor].at[version].tensor = at;
}

static int wanted(Applier *ap, int tensor, const Layout *want, const Op *near) {
  const int version = demands_find(&ap->demands, tensor, want);
  return made(ap, tensor, version, demands_phase(&ap->demands, tensor, &ap->demands.of[tensor].at[version]), near);
}

typedef struct ReadRewrite {
  Applier *ap;
  const Op *op; // as it was before any operand moved
} ReadRewrite;

static int operand(Applier *ap, const Op *op, int tensor, const OpaqueArg *arg) {
  const Layout want = demands_want(ap->graph, op, tensor, arg, ap->mesh);
  return wanted(ap, tensor, &want, op);
}

static int opaque_operand(void *ctx, const OpaqueArg *arg) {
  const ReadRewrite *r = ctx;
  return operand(r->ap, r->op, arg->tensor, arg);
}

static const Expr *rewrite_read(void *ctx, const Expr *e) {
  const ReadRewrite *r = ctx;
  if (e->kind != EXPR_ACCESS) return e;
  const int tensor = operand(r->ap, r->op, e->access.tensor, NULL);
  if (tensor == e->access.tensor) return e;
  return expr_access_of(r->ap->graph->arena, e, tensor);
}

static void reduce_early(Applier *ap, const Op *op, int tensor) {
  for (int v = 1; v < ap->demands.of[tensor].len; v++)
    if (ap->demands.of[tensor].at[v].early) made(ap, tensor, v, op_complete(op), op);
}

static void apply_op(Applier *ap, Op op) {
  Graph *graph = ap->graph;
  const Op before = op;
  ReadRewrite r = {ap, &before};
  if (op.kind == OP_COMPUTE) op.body = sharding_share(graph, op.body, op.sharding.pending, ap->mesh);
  if (op.kind == OP_COMPUTE) op.body = expr_map(graph->arena, op.body, rewrite_read, &r);
  else if (op.kind == OP_OPAQUE) op.opaque = opaque_map_operands(graph->arena, op.opaque, opaque_operand, &r);
  else op.in = operand(ap, &before, op.in, NULL);
  graph_add_op(graph, op);
  for (int i = 0; i < op_results(&op); i++) reduce_early(ap, &op, op_result(&op, i));
}

// What leaves the graph lies as it is wanted.
static void finish(Applier *ap, int *tensor, const Layout *layout) {
  if (*tensor < 0) return;
  const Tensor *t = graph_tensor(ap->graph, *tensor);
  const Layout want = demands_leaving(ap->graph, *tensor, layout, ap->mesh);
  const Op near = t->producer >= 0 ? ap->graph->ops.at[t->producer] : (Op){.layer = "", .loc = t->loc};
  *tensor = wanted(ap, *tensor, &want, &near);
}

void pass_apply_plan(Graph *graph, const Mesh *of_model, const CostModel *model) {
  Mesh mesh = *of_model;
  mesh.partial_batches = str_eq(graph->name, "eval");
  Arena *scratch = arena_new();
  Applier ap = {.graph = graph, .mesh = &mesh, .demands = demands_of_graph(scratch, graph, &mesh, model)};
  const int n = graph->ops.len;
  const Op *old = graph_renew_ops(graph, n + n / 4 + 8);
  for (int i = 0; i < n; i++) apply_op(&ap, old[i]);
  for (int i = 0; i < graph->stores.len; i++) {
    finish(&ap, &graph->stores.at[i].value, graph_tensor(graph, graph->stores.at[i].state)->layout);
  }
  for (int i = 0; i < graph->losses.len; i++) finish(&ap, &graph->losses.at[i].tensor, &layout_replicated);
  for (int i = 0; i < graph->metrics.len; i++) finish(&ap, &graph->metrics.at[i].tensor, &layout_replicated);
  finish(&ap, &graph->gradient_norm, &layout_replicated);
  graph_sort_by_phase(graph);
  arena_free(scratch);
}
