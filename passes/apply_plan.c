// apply-plan: every change of layout becomes an operator.
//
// Requires: a sharding for every operator, a layout for every input (stored tensors are replicated).
// Guarantees: every operator reads its operands in the layout its sharding asks for; losses, metrics and stored values
// are replicated. After this pass no communication is invented.
//
//   w.grad[co, ci] = sum(n) ...           n/data
//   w.next = w - lr * w.grad
// becomes
//   w.grad[co, ci] = sum(n) ...           n/data, partial(sum) over data
//   w.grad.whole = reshard w.grad         all_reduce over data
//   w.next = w - lr * w.grad.whole
#include "passes.h"
#include "rewrite.h"
#include "sharding.h"

typedef struct Change { int tensor; Layout to; int result; } Change;

typedef struct Applier {
  Graph *graph;
  const Mesh *mesh;
  int *whole; // by tensor: its reduced form (itself if it is not partial)
  int cap;    // of whole
  VEC(Change) changes;
} Applier;

// A reshard operator that takes `tensor` along one axis to `to`. The result.
static int add_reshard(Applier *ap, int tensor, int axis, AxisLayout to, const Op *near) {
  Graph *graph = ap->graph;
  Tensor out = *graph_tensor(graph, tensor);
  const AxisLayout from = out.layout.axis[axis];
  const ReshardKind kind = reshard_between(from.kind, to.kind);
  if (kind == RESHARD_KINDS) fatal("apply-plan: no change of layout for %s in operator %s", out.name, near->name);
  out.name = arena_printf(graph->arena, "%s.%s", out.name, kind == RESHARD_slice ? "slice" : "whole");
  out.role = ROLE_VALUE;
  out.layout.axis[axis] = to;
  Op op = {.kind = OP_RESHARD, .phase = near->phase, .name = reshard_name(kind), .layer = near->layer, .loc = near->loc};
  op.in = tensor;
  op.out = graph_add_tensor(graph, out);
  op.sharding = sharding_replicate();
  graph_add_op(graph, op);
  return op.out;
}

// `tensor` in the layout `to`, by as many changes as there are axes that differ; made once and shared by all readers.
static int changed(Applier *ap, int tensor, const Layout *to, const Op *near) {
  for (int i = 0; i < ap->changes.len; i++) {
    const Change *c = &ap->changes.at[i];
    if (c->tensor == tensor && layout_equal(&c->to, to, ap->mesh->n_axes)) return c->result;
  }
  int result = tensor;
  for (int a = ap->mesh->n_axes - 1; a >= 0; a--) {
    const AxisLayout have = graph_tensor(ap->graph, result)->layout.axis[a], want = to->axis[a];
    Layout have_layout = {.axis = {have}}, want_layout = {.axis = {want}};
    if (layout_equal(&have_layout, &want_layout, 1)) continue;
    if (have.kind == LAYOUT_SHARD && want.kind == LAYOUT_SHARD) {
      const AxisLayout whole = {LAYOUT_REPLICATED, 0, 1, 0};
      result = add_reshard(ap, result, a, whole, near);
    }
    result = add_reshard(ap, result, a, want, near);
  }
  vec_push(ap->graph->arena, &ap->changes, (Change){tensor, *to, result});
  return result;
}

typedef struct ReadRewrite {
  Applier *ap;
  const Op *op;
} ReadRewrite;

static int in_layout(Applier *ap, const Op *op, int tensor, Layout want) {
  if (layout_equal(&graph_tensor(ap->graph, tensor)->layout, &want, ap->mesh->n_axes)) return tensor;
  return changed(ap, tensor, &want, op);
}

static int operand(Applier *ap, const Op *op, int tensor) {
  tensor = ap->whole[tensor];
  return in_layout(ap, op, tensor, sharding_operand(ap->graph, op, tensor, ap->mesh));
}

static int opaque_operand(void *ctx, const OpaqueArg *arg) {
  const ReadRewrite *r = ctx;
  return in_layout(r->ap, r->op, r->ap->whole[arg->tensor], sharding_argument(r->op, arg, r->ap->mesh));
}

// First every operand is renamed to its reduced form, so that the layout an operator asks of it can be derived.
static const Expr *rename_whole(void *ctx, const Expr *e) {
  const ReadRewrite *r = ctx;
  if (e->kind != EXPR_ACCESS || r->ap->whole[e->access.tensor] == e->access.tensor) return e;
  return expr_access(r->ap->graph->arena, r->ap->whole[e->access.tensor], e->type, e->access.rank, e->access.index,
                     e->access.outside);
}

static const Expr *rewrite_read(void *ctx, const Expr *e) {
  const ReadRewrite *r = ctx;
  if (e->kind != EXPR_ACCESS) return e;
  const int tensor = operand(r->ap, r->op, e->access.tensor);
  if (tensor == e->access.tensor) return e;
  return expr_access(r->ap->graph->arena, tensor, e->type, e->access.rank, e->access.index, e->access.outside);
}

// Tensors made by changes of layout are whole themselves.
static void grow_whole(Applier *ap) {
  const int n = ap->graph->tensors.len;
  if (ap->cap >= n) return;
  int *bigger = NEW_ARRAY(ap->graph->arena, int, n * 2);
  for (int t = 0; t < n * 2; t++) bigger[t] = t < ap->cap ? ap->whole[t] : t;
  ap->whole = bigger;
  ap->cap = n * 2;
}

// Sets the layout of a result and reduces what is partial of it.
static void finish_result(Applier *ap, const Op *op, int result) {
  Layout layout = sharding_result(ap->graph, op, result, ap->mesh);
  const int tensor = op_result(op, result);
  for (int a = 0; a < ap->mesh->n_axes; a++)
    if (layout.axis[a].kind == LAYOUT_PARTIAL && ap->mesh->axis[a].size == 1) layout.axis[a].kind = LAYOUT_REPLICATED;
  graph_tensor(ap->graph, tensor)->layout = layout;
  int whole = tensor;
  for (int a = ap->mesh->n_axes - 1; a >= 0; a--)
    if (layout.axis[a].kind == LAYOUT_PARTIAL)
      whole = add_reshard(ap, whole, a, (AxisLayout){LAYOUT_REPLICATED, 0, 1, 0}, op);
  grow_whole(ap);
  ap->whole[tensor] = whole;
}

static void apply_op(Applier *ap, Op op) {
  Graph *graph = ap->graph;
  if (op.kind == OP_COMPUTE) {
    ReadRewrite r = {ap, &op};
    op.body = expr_map(graph->arena, op.body, rename_whole, &r);
    op.body = expr_map(graph->arena, op.body, rewrite_read, &r);
  } else if (op.kind == OP_OPAQUE) {
    ReadRewrite r = {ap, &op};
    op.opaque = opaque_map_operands(graph->arena, op.opaque, opaque_operand, &r);
  } else {
    op.in = operand(ap, &op, op.in);
  }
  graph_add_op(graph, op);
  for (int r = 0; r < op_results(&op); r++) finish_result(ap, &op, r);
}

// What leaves the graph is replicated.
static void finish(Applier *ap, int *tensor) {
  if (*tensor < 0) return;
  const Layout whole = layout_replicated();
  *tensor = ap->whole[*tensor];
  if (layout_equal(&graph_tensor(ap->graph, *tensor)->layout, &whole, ap->mesh->n_axes)) return;
  const Op *near = &ap->graph->ops.at[graph_tensor(ap->graph, *tensor)->producer];
  const Op copy = *near;
  *tensor = changed(ap, *tensor, &whole, &copy);
}

void pass_apply_plan(Graph *graph, const Mesh *mesh) {
  const Op *old = graph->ops.at;
  const int n = graph->ops.len, n_tensors = graph->tensors.len;
  Applier ap = {.graph = graph, .mesh = mesh};
  ap.cap = n_tensors;
  ap.whole = NEW_ARRAY(graph->arena, int, ap.cap);
  for (int t = 0; t < n_tensors; t++) ap.whole[t] = t;
  graph->ops.at = NULL;
  graph->ops.len = graph->ops.cap = 0;
  for (int i = 0; i < n; i++) apply_op(&ap, old[i]);
  for (int i = 0; i < graph->stores.len; i++) finish(&ap, &graph->stores.at[i].value);
  for (int i = 0; i < graph->losses.len; i++) finish(&ap, &graph->losses.at[i].tensor);
  for (int i = 0; i < graph->metrics.len; i++) finish(&ap, &graph->metrics.at[i].tensor);
  finish(&ap, &graph->gradient_norm);
  graph_sort_by_phase(graph);
}
