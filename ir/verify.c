// The rules of a graph. Each rule is a sentence; a violation is an internal error that quotes it.
#include "graph.h"
#include "print.h"

typedef struct Verifier {
  const Graph *graph;
  const char *pass;
  const Op *op; // the operator at hand, or NULL
  int op_id;
} Verifier;

static void rule(const Verifier *v, bool holds, const char *text) {
  if (holds) return;
  Text where = {.arena = v->graph->arena};
  if (v->op != NULL) print_op(v->graph, v->op, &where);
  fatal("after pass %s, graph %s: rule \"%s\" is broken by operator %d: %s", v->pass, v->graph->name, text, v->op_id,
        text_str(&where));
}

static void check_tensor_id(const Verifier *v, int tensor) {
  rule(v, tensor >= 0 && tensor < v->graph->tensors.len, "tensors are in the graph");
}

static void check_read(void *ctx, int tensor) {
  const Verifier *v = ctx;
  check_tensor_id(v, tensor);
  const Tensor *read = graph_tensor(v->graph, tensor);
  rule(v, read->producer < v->op_id, "an operator comes after what it reads");
  rule(v, read->producer >= 0 || read->role != ROLE_VALUE, "a value has an operator");
  rule(v, read->producer < 0 || !v->graph->ops.at[read->producer].accumulates || v->op->phase >= PHASE_COMBINE,
       "a sum over microbatches is read behind the last one");
}

static void check_index(const Verifier *v, const Index *index) {
  rule(v, index->div >= 1, "an index has a divisor of at least 1");
  for (int d = v->op->n_dims; d < IR_MAX_DIMS; d++)
    rule(v, index->coef[d] == 0, "an index uses dimensions of its operator only");
}

static void check_expr(void *ctx, const Expr *e) {
  const Verifier *v = ctx;
  switch (e->kind) {
  case EXPR_INDEX: check_index(v, e->index); return;
  case EXPR_RANDOM: check_index(v, e->random.element); return;
  case EXPR_ACCESS: {
    check_tensor_id(v, e->access.tensor);
    const Tensor *tensor = graph_tensor(v->graph, e->access.tensor);
    rule(v, tensor->rank == e->access.rank, "an access has as many indices as the tensor has dimensions");
    rule(v, (tensor->type == TYPE_REAL) == (e->type == TYPE_REAL), "an access has the type of its tensor");
    for (int i = 0; i < e->access.rank; i++) check_index(v, &e->access.index[i]);
    return;
  }
  default: return;
  }
}

// Plans speak of dimensions by their names.
static void check_dim_names(const Verifier *v) {
  for (int d = 0; d < v->op->n_dims; d++)
    for (int i = 0; i < d; i++)
      rule(v, !str_eq(v->op->dims[i].name, v->op->dims[d].name), "the dimensions of an operator have names of their own");
}

static void check_compute(const Verifier *v) {
  const Op *op = v->op;
  const Tensor *out = graph_tensor(v->graph, op->out);
  rule(v, op->n_dims <= IR_MAX_DIMS && op->n_out <= op->n_dims, "an iteration space has few enough dimensions");
  rule(v, out->rank == op->n_out, "the output has the operator's output dimensions");
  for (int d = 0; d < op->n_dims; d++) rule(v, op->dims[d].extent >= 1, "extents are at least 1");
  for (int d = 0; d < op->n_out; d++)
    rule(v, out->extent[d] == op->dims[d].extent, "the output's extents are those of the iteration space");
  rule(v, !op->accumulates || op->reduce == REDUCE_SUM, "what is added to in every microbatch is a sum");
  rule(v, op->reduce != REDUCE_NONE || op->n_dims == op->n_out, "dimensions that are not in the output are reduced");
  expr_visit(op->body, check_expr, (void *)v);
}

static void check_opaque_arg(const Verifier *v, const OpaqueArg *arg) {
  rule(v, arg->written || arg->tensor >= 0, "only results of an opaque call may be missing");
  if (arg->tensor < 0) return;
  check_tensor_id(v, arg->tensor);
  const Tensor *tensor = graph_tensor(v->graph, arg->tensor);
  rule(v, tensor->rank == arg->rank && (tensor->type == TYPE_REAL) == (arg->type == TYPE_REAL),
       "an opaque call hands over tensors of the declared type and rank");
  bool used[IR_MAX_DIMS] = {false};
  for (int i = 0; i < arg->rank; i++) {
    const int d = arg->dim[i];
    if (d < 0) continue;
    rule(v, d < v->op->n_dims && !used[d], "a tensor has a dimension of an opaque call once");
    rule(v, tensor->extent[i] == v->op->dims[d].extent, "dimensions of one name have one extent");
    used[d] = true;
  }
}

static void check_opaque(const Verifier *v) {
  const Op *op = v->op;
  const Opaque *opaque = op->opaque;
  rule(v, opaque != NULL && opaque->function != NULL, "an opaque operator calls a function");
  rule(v, op_results(op) > 0 && op_result(op, 0) == op->out, "an opaque operator has its first result as its output");
  rule(v, op->n_dims <= IR_MAX_DIMS && op->n_out == op->n_dims, "an opaque operator reduces nothing that is known");
  for (int a = 0; a < opaque->n_args; a++) {
    rule(v, a == 0 || opaque->args[a].written || !opaque->args[a - 1].written, "operands come before results");
    check_opaque_arg(v, &opaque->args[a]);
  }
}

void graph_verify(const Graph *graph, const char *pass) {
  Verifier v = {.graph = graph, .pass = pass};
  for (int i = 0; i < graph->ops.len; i++) {
    v.op = &graph->ops.at[i];
    v.op_id = i;
    check_tensor_id(&v, v.op->out);
    if (v.op->kind == OP_OPAQUE) check_opaque(&v);
    if (v.op->kind == OP_COMPUTE || v.op->kind == OP_OPAQUE) check_dim_names(&v);
    for (int r = 0; r < op_results(v.op); r++)
      rule(&v, graph_tensor(graph, op_result(v.op, r))->producer == i, "a tensor has one operator");
    op_visit_reads(v.op, check_read, &v);
    if (v.op->kind == OP_COMPUTE) check_compute(&v);
    if (v.op->kind == OP_VIEW)
      rule(&v, tensor_elements(graph_tensor(graph, v.op->in)) == tensor_elements(graph_tensor(graph, v.op->out)),
           "a view has as many elements as what it views");
  }
  v.op = NULL;
  v.op_id = -1;
  for (int i = 0; i < graph->stores.len; i++) {
    const Store store = graph->stores.at[i];
    check_tensor_id(&v, store.state);
    check_tensor_id(&v, store.value);
    rule(&v, graph_tensor(graph, store.state)->producer < 0, "what is stored to is a parameter or a state");
    rule(&v, tensor_elements(graph_tensor(graph, store.state)) == tensor_elements(graph_tensor(graph, store.value)),
         "a store keeps the shape");
  }
  for (int i = 0; i < graph->losses.len; i++)
    rule(&v, graph_tensor(graph, graph->losses.at[i].tensor)->rank == 0, "a loss is a scalar");
}
