// apply-plan: every change of layout becomes an operator.
//
// Requires: a sharding for every operator, a layout for every input and stored tensor.
// Guarantees: every operator reads its operands in the layout its sharding asks for; losses and metrics are replicated,
// stored values lie as what they are stored to. After this pass no communication is invented.
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

typedef struct Change { Layout to; int result, before; } Change; // a layout that a tensor was brought to

typedef struct Applier {
  Graph *graph;
  const Mesh *mesh;
  int *whole; // by tensor: its reduced form (itself if it is not partial)
  int n_whole;
  VEC(Change) changes;
  int *last_change; // by tensor: the last of its changes, or -1; each points to the one before
  int n_last;
} Applier;

// An axis of size 1 changes nothing.
static bool same_place(const Layout *a, const Layout *b, const Mesh *mesh) {
  for (int i = 0; i < mesh->n_axes; i++) {
    const AxisLayout *x = &a->axis[i], *y = &b->axis[i];
    if (mesh->axis[i].size == 1) continue;
    if (x->kind != y->kind || (x->kind == LAYOUT_SHARD && x->dim != y->dim)) return false;
    if (x->kind == LAYOUT_PINNED && x->pin != y->pin) return false;
    if (x->kind == LAYOUT_SHARD && memcmp(&a->cut[x->dim], &b->cut[y->dim], sizeof(Cut)) != 0) return false;
  }
  return true;
}

// The kind of a change: that of the one axis that changes; an exchange of another kind where several do.
static ReshardKind kind_of_change(const Layout *from, const Layout *to, const Mesh *mesh) {
  ReshardKind kind = RESHARD_slice;
  for (int a = 0; a < mesh->n_axes; a++) {
    const AxisLayout *x = &from->axis[a], *y = &to->axis[a];
    if (mesh->axis[a].size == 1) continue;
    if (x->kind == LAYOUT_REPLICATED && y->kind != LAYOUT_PARTIAL) continue; // nothing moves
    if (x->kind == y->kind && x->kind == LAYOUT_PINNED && x->pin == y->pin) continue;
    const bool same_dim = x->kind == LAYOUT_SHARD && y->kind == LAYOUT_SHARD && x->dim == y->dim;
    if (same_dim && memcmp(&from->cut[x->dim], &to->cut[y->dim], sizeof(Cut)) == 0) continue;
    if (kind != RESHARD_slice) return RESHARD_all_to_all;
    kind = reshard_between(x->kind, y->kind, same_dim);
  }
  return kind;
}

static int add_reshard(Applier *ap, int tensor, const Layout *to, ReshardKind kind, const char *suffix, const Op *near) {
  Graph *graph = ap->graph;
  Tensor out = *graph_tensor(graph, tensor);
  out.name = arena_printf(graph->arena, "%s.%s", out.name, suffix);
  out.role = ROLE_VALUE;
  out.layout = *to;
  Op op = {.kind = OP_RESHARD, .phase = near->phase, .name = reshard_name(kind), .layer = near->layer, .loc = near->loc};
  op.in = tensor;
  op.out = graph_add_tensor(graph, out);
  op.sharding = sharding_replicate();
  graph_add_op(graph, op);
  return op.out;
}

static int *last_change_of(Applier *ap, int tensor) {
  if (tensor >= ap->n_last) {
    const int n = ap->graph->tensors.len * 2;
    int *bigger = NEW_ARRAY(ap->graph->arena, int, n);
    for (int t = 0; t < n; t++) bigger[t] = t < ap->n_last ? ap->last_change[t] : -1;
    ap->last_change = bigger;
    ap->n_last = n;
  }
  return &ap->last_change[tensor];
}

// `tensor` in the layout `to`; made once and shared by all readers.
static int changed(Applier *ap, int tensor, const Layout *to, const Op *near) {
  const Layout from = graph_tensor(ap->graph, tensor)->layout;
  if (same_place(&from, to, ap->mesh)) return tensor;
  for (int i = *last_change_of(ap, tensor); i >= 0; i = ap->changes.at[i].before)
    if (layout_equal(&ap->changes.at[i].to, to, ap->mesh->n_axes)) {
      const int result = ap->changes.at[i].result;
      Op *change = &ap->graph->ops.at[graph_tensor(ap->graph, result)->producer];
      if (change->phase == PHASE_REPORT && near->phase != PHASE_REPORT) change->phase = PHASE_BACKWARD; // reports are not in every step
      return result;
    }
  const int result = add_reshard(ap, tensor, to, kind_of_change(&from, to, ap->mesh), "moved", near);
  int *last = last_change_of(ap, tensor);
  vec_push(ap->graph->arena, &ap->changes, (Change){*to, result, *last});
  *last = ap->changes.len - 1;
  return result;
}

typedef struct ReadRewrite {
  Applier *ap;
  const Op *op;
} ReadRewrite;

static int whole_of(const Applier *ap, int tensor) { return tensor < ap->n_whole ? ap->whole[tensor] : tensor; }

// Along an axis of size 1 a tensor stays as it is: cut along the batch it keeps the batch's true length.
static void keep_single_axes(const Layout *have, const Mesh *mesh, Layout *want) {
  for (int a = 0; a < mesh->n_axes; a++) {
    if (mesh->axis[a].size > 1 || have->axis[a].kind != LAYOUT_SHARD) continue;
    const int dim = have->axis[a].dim;
    if (want->cut[dim].units == 0) want->cut[dim] = have->cut[dim];
    want->axis[a] = have->axis[a];
  }
}

static int operand(Applier *ap, const Op *op, int tensor) {
  Layout want = sharding_operand(ap->graph, op, tensor, ap->mesh);
  keep_single_axes(&graph_tensor(ap->graph, tensor)->layout, ap->mesh, &want);
  return changed(ap, tensor, &want, op);
}

static int opaque_operand(void *ctx, const OpaqueArg *arg) {
  const ReadRewrite *r = ctx;
  const Layout want = sharding_argument(r->op, arg, r->ap->mesh);
  return changed(r->ap, whole_of(r->ap, arg->tensor), &want, r->op);
}

static const Expr *renamed(const Applier *ap, const Expr *e, int tensor) {
  if (tensor == e->access.tensor) return e;
  return expr_access(ap->graph->arena, tensor, e->type, e->access.rank, e->access.index, e->access.outside);
}

// First every operand is renamed to its reduced form, so that the layout an operator asks of it can be derived.
static const Expr *rename_whole(void *ctx, const Expr *e) {
  const ReadRewrite *r = ctx;
  return e->kind == EXPR_ACCESS ? renamed(r->ap, e, whole_of(r->ap, e->access.tensor)) : e;
}

static const Expr *rewrite_read(void *ctx, const Expr *e) {
  const ReadRewrite *r = ctx;
  return e->kind == EXPR_ACCESS ? renamed(r->ap, e, operand(r->ap, r->op, e->access.tensor)) : e;
}

// Reduces a partial result over every axis on which it is pending.
static int reduced(Applier *ap, int tensor, const Op *op) {
  for (int a = ap->mesh->n_axes - 1; a >= 0; a--) {
    Layout layout = graph_tensor(ap->graph, tensor)->layout;
    if (layout.axis[a].kind != LAYOUT_PARTIAL) continue;
    layout.axis[a] = (AxisLayout){.kind = LAYOUT_REPLICATED};
    tensor = add_reshard(ap, tensor, &layout, RESHARD_all_reduce, "whole", op);
  }
  return tensor;
}

// Sets the layout of a result and reduces what is partial of it.
static void finish_result(Applier *ap, const Op *op, int result) {
  Layout layout = sharding_result(ap->graph, op, result, ap->mesh);
  const int tensor = op_result(op, result);
  for (int a = 0; a < ap->mesh->n_axes; a++)
    if (layout.axis[a].kind == LAYOUT_PARTIAL && ap->mesh->axis[a].size == 1) layout.axis[a].kind = LAYOUT_REPLICATED;
  graph_tensor(ap->graph, tensor)->layout = layout;
  ap->whole[tensor] = reduced(ap, tensor, op);
}

static void apply_op(Applier *ap, Op op) {
  Graph *graph = ap->graph;
  if (op.kind == OP_COMPUTE) {
    ReadRewrite r = {ap, &op};
    op.body = expr_map(graph->arena, op.body, rename_whole, &r);
    const Op named = op; // layouts are asked of the operator as it was before any operand moved
    r.op = &named;
    op.body = expr_map(graph->arena, op.body, rewrite_read, &r);
  } else if (op.kind == OP_OPAQUE) {
    ReadRewrite r = {ap, &op};
    op.opaque = opaque_map_operands(graph->arena, op.opaque, opaque_operand, &r);
  } else {
    op.in = whole_of(ap, op.in);
    op.in = operand(ap, &op, op.in);
  }
  graph_add_op(graph, op);
  for (int r = 0; r < op_results(&op); r++) finish_result(ap, &op, r);
}

// What leaves the graph lies as it is wanted.
static void finish(Applier *ap, int *tensor, const Layout *layout) {
  if (*tensor < 0) return;
  *tensor = whole_of(ap, *tensor);
  const int producer = graph_tensor(ap->graph, *tensor)->producer;
  if (producer < 0) return; // an input or a stored tensor itself
  const Op near = ap->graph->ops.at[producer];
  *tensor = changed(ap, *tensor, layout, &near);
}

void pass_apply_plan(Graph *graph, const Mesh *mesh) {
  const Op *old = graph->ops.at;
  const int n = graph->ops.len, n_tensors = graph->tensors.len;
  const Layout everywhere = layout_replicated();
  Applier ap = {.graph = graph, .mesh = mesh, .n_whole = n_tensors};
  ap.whole = NEW_ARRAY(graph->arena, int, n_tensors);
  for (int t = 0; t < n_tensors; t++) ap.whole[t] = t;
  graph->ops.at = NULL;
  graph->ops.len = graph->ops.cap = 0;
  for (int i = 0; i < n; i++) apply_op(&ap, old[i]);
  for (int i = 0; i < graph->stores.len; i++) {
    const Layout stored = graph_tensor(graph, graph->stores.at[i].state)->layout;
    finish(&ap, &graph->stores.at[i].value, &stored);
  }
  for (int i = 0; i < graph->losses.len; i++) finish(&ap, &graph->losses.at[i].tensor, &everywhere);
  for (int i = 0; i < graph->metrics.len; i++) finish(&ap, &graph->metrics.at[i].tensor, &everywhere);
  finish(&ap, &graph->gradient_norm, &everywhere);
  graph_sort_by_phase(graph);
}
