// recompute: what layers make within themselves is not kept for the backward pass, but made again for it.
//
// Requires: a sharded training graph; names of layers, perhaps with a "*". Guarantees: the same results. Of a layer that is named stays
// what other layers read of it, and what it reads of others; whatever else the backward pass needs of it is made again, changes of layout
// and random numbers with it, before the first operator there that reads it. A layer within a named one belongs to that. What a
// function of the user's makes is kept: nothing is known of how often it may be called.
//
//   forward  block1: h = x * w1;  r = max(h, 0);  y = r * w2        block2: ... y ...
//   backward block1: w2.grad = y.grad * r
// becomes, where block1 is named,
//   forward  block1: h = x * w1;  r = max(h, 0);  y = r * w2        block2: ... y ...
//   backward block1: h.again = x * w1;  r.again = max(h.again, 0);  w2.grad = y.grad * r.again
//
// (Chen et al. 2016, Training Deep Nets with Sublinear Memory Cost, section 4.)
#include "passes.h"
#include "planning.h"
#include "rewrite.h"

typedef struct Recomputer {
  Graph *graph;
  const Plan *plan;
  Arena *arena;   // while it is done
  const Op *old;  // the operators as they were
  int n_tensors;  // as there were
  Names scopes;   // of layers: the number of the named one that they are, counted from 1; 0: none
  int n_scopes;
  int *scope;     // by operator: of the outermost named layer that it is in; 0: none
  bool *kept;     // by tensor: another layer reads it, too
  int *producer;  // by tensor: operator, as they were
  int *again;     // by tensor: the same, made again; -1: not yet
  int reader;     // the operator at hand
} Recomputer;

// ---- what is not kept ----------------------------------------------------------------------------------------------

static bool is_named(const Plan *plan, const char *layer) {
  for (int i = 0; i < plan->recompute.len; i++)
    if (plan_matches(plan->recompute.at[i].name, layer)) return true;
  return false;
}

static int number_of(Recomputer *r, const char *layer) {
  int number = names_get(&r->scopes, layer);
  if (number >= 0) return number;
  number = is_named(r->plan, layer) ? ++r->n_scopes : 0;
  names_set(&r->scopes, layer, number);
  return number;
}

// Of the outermost named layer around a layer, or of itself.
static int scope_of(Recomputer *r, const char *layer) {
  int number = 0;
  for (size_t len = 0; number == 0 && layer[len] != '\0';) {
    len += layer[len] == '.';
    len += strcspn(layer + len, ".");
    number = number_of(r, arena_strndup(r->arena, layer, len));
  }
  return number;
}

static void note_reader(void *ctx, int tensor) {
  const Recomputer *r = ctx;
  const int producer = r->producer[tensor];
  if (producer >= 0 && r->scope[producer] != r->scope[r->reader]) r->kept[tensor] = true;
}

static void find_kept(Recomputer *r) {
  const Graph *graph = r->graph;
  for (int t = 0; t < r->n_tensors; t++) {
    r->producer[t] = graph_tensor(graph, t)->producer;
    r->again[t] = -1;
  }
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    if (op->phase == PHASE_FORWARD) r->scope[i] = scope_of(r, op->layer);
  }
  for (r->reader = 0; r->reader < graph->ops.len; r->reader++)
    if (graph->ops.at[r->reader].phase == PHASE_FORWARD) op_visit_reads(&graph->ops.at[r->reader], note_reader, r);
}

// Whether the backward pass reads it made again.
static bool is_made_again(const Recomputer *r, int tensor) {
  const int producer = tensor < r->n_tensors ? r->producer[tensor] : -1;
  if (producer < 0 || r->scope[producer] == 0 || r->kept[tensor]) return false;
  return r->old[producer].kind != OP_OPAQUE && !r->old[producer].accumulates && graph_tensor(r->graph, tensor)->role == ROLE_VALUE;
}

// ---- making again --------------------------------------------------------------------------------------------------

static Op reading_again(Recomputer *r, Op op);

static void make_again(Recomputer *r, int tensor) {
  Graph *graph = r->graph;
  if (r->again[tensor] >= 0) return;
  Op op = reading_again(r, r->old[r->producer[tensor]]);
  Tensor again = *graph_tensor(graph, tensor);
  op.phase = PHASE_BACKWARD;
  again.again_above = 0;
  again.name = arena_printf(graph->arena, "%s.again", again.name);
  op.out = r->again[tensor] = graph_add_tensor(graph, again);
  graph_add_op(graph, op);
}

static void make_operand(void *ctx, int tensor) {
  Recomputer *r = ctx;
  if (is_made_again(r, tensor)) make_again(r, tensor);
}

static int again_of(const Recomputer *r, int tensor) { return is_made_again(r, tensor) ? r->again[tensor] : tensor; }

static const Expr *read_again(void *ctx, const Expr *e) {
  const Recomputer *r = ctx;
  const int tensor = e->kind == EXPR_ACCESS ? again_of(r, e->access.tensor) : -1;
  return tensor < 0 || tensor == e->access.tensor ? e : expr_access_of(r->graph->arena, e, tensor);
}

static int opaque_again(void *ctx, const OpaqueArg *arg) { return again_of(ctx, arg->tensor); }

// The operator, whose operands are made again before it where they are not kept.
static Op reading_again(Recomputer *r, Op op) {
  op_visit_reads(&op, make_operand, r);
  if (op.kind == OP_COMPUTE) op.body = expr_map(r->graph->arena, op.body, read_again, r);
  else if (op.kind == OP_OPAQUE) op.opaque = opaque_map_operands(r->graph->arena, op.opaque, opaque_again, r);
  else op.in = again_of(r, op.in);
  return op;
}

void pass_recompute(Graph *graph, const Plan *plan) {
  const int n = graph->ops.len;
  if (plan->recompute.len == 0) return;
  Recomputer recomputer = {.graph = graph, .plan = plan, .arena = arena_new(), .n_tensors = graph->tensors.len}, *r = &recomputer;
  r->scopes.arena = r->arena;
  r->scope = NEW_ARRAY(r->arena, int, n);
  r->kept = NEW_ARRAY(r->arena, bool, r->n_tensors);
  r->producer = NEW_ARRAY(r->arena, int, r->n_tensors);
  r->again = NEW_ARRAY(r->arena, int, r->n_tensors);
  find_kept(r);
  r->old = graph_renew_ops(graph, 2 * n);
  for (int i = 0; i < n; i++) graph_add_op(graph, r->old[i].phase == PHASE_BACKWARD ? reading_again(r, r->old[i]) : r->old[i]);
  graph_drop_dead(graph);
  arena_free(r->arena);
}
