// Graphs and expressions as text.
#include "print.h"

#include <math.h>

void print_index(const Index *index, const Dim *dims, Text *out) {
  if (index->div != 1) text_printf(out, "(");
  bool any = false;
  for (int d = 0; d < IR_MAX_DIMS; d++) {
    const int64_t coef = index->coef[d];
    if (coef == 0) continue;
    if (any) text_printf(out, coef < 0 ? " - " : " + ");
    else if (coef < 0) text_printf(out, "-");
    if (coef != 1 && coef != -1) text_printf(out, "%lld*", (long long)(coef < 0 ? -coef : coef));
    text_printf(out, "%s", dims[d].name);
    any = true;
  }
  if (!any) text_printf(out, "%lld", (long long)index->base);
  else if (index->base != 0)
    text_printf(out, " %c %lld", index->base < 0 ? '-' : '+', (long long)(index->base < 0 ? -index->base : index->base));
  if (index->div != 1) text_printf(out, ")/%lld", (long long)index->div);
}

void print_number(double value, ScalarType type, Text *out) {
  if (isinf(value)) text_printf(out, value < 0 ? "-inf" : "inf");
  else if (type != TYPE_REAL || (value == floor(value) && fabs(value) < 1e15)) text_printf(out, "%.0f", value);
  else text_printf(out, "%.17g", value);
}

const char *fn_infix(Fn fn) {
  switch (fn) {
  case FN_add: return "+";
  case FN_sub: return "-";
  case FN_mul: return "*";
  case FN_div: return "/";
  case FN_eq: return "==";
  case FN_ne: return "!=";
  case FN_lt: return "<";
  case FN_le: return "<=";
  case FN_gt: return ">";
  case FN_ge: return ">=";
  case FN_and: return "and";
  case FN_or: return "or";
  default: return NULL;
  }
}

void print_expr(const Graph *graph, const Expr *e, const Dim *dims, Text *out) {
  switch (e->kind) {
  case EXPR_CONST: print_number(e->value, e->type, out); return;
  case EXPR_INDEX: print_index(e->index, dims, out); return;
  case EXPR_RUN: text_printf(out, "%s", run_scalar_name(e->run)); return;
  case EXPR_RANDOM:
    text_printf(out, "%s(%d, ", e->random.normal ? "normal" : "uniform", e->random.stream);
    print_index(e->random.element, dims, out);
    if (e->random.apart != 0) text_printf(out, " + %lld*micro", (long long)e->random.apart);
    text_printf(out, ")");
    return;
  case EXPR_ACCESS:
    text_printf(out, "%s", graph_tensor(graph, e->access.tensor)->name);
    if (e->access.rank == 0) return;
    for (int i = 0; i < e->access.rank; i++) {
      text_printf(out, i == 0 ? "[" : ", ");
      print_index(&e->access.index[i], dims, out);
    }
    text_printf(out, "]");
    return;
  case EXPR_CALL: {
    const char *infix = fn_infix(e->call.fn);
    if (infix == NULL) text_printf(out, "%s", fn_name(e->call.fn));
    text_printf(out, "(");
    for (int i = 0; i < fn_arity(e->call.fn); i++) {
      if (i > 0) {
        if (infix != NULL) text_printf(out, " %s ", infix);
        else text_printf(out, ", ");
      }
      print_expr(graph, e->call.arg[i], dims, out);
    }
    text_printf(out, ")");
    return;
  }
  }
}

void print_dims(const Dim *dims, int n, bool extents, Text *out) {
  for (int d = 0; d < n; d++) {
    text_printf(out, "%s%s", d > 0 ? ", " : "", dims[d].name);
    if (extents) text_printf(out, "=%lld", (long long)dims[d].extent);
  }
}

static void print_shape(const Tensor *tensor, Text *out) {
  text_printf(out, "%s[", tensor->name);
  for (int d = 0; d < tensor->rank; d++)
    text_printf(out, "%s%s=%lld", d > 0 ? ", " : "", tensor->dim[d], (long long)tensor->extent[d]);
  text_printf(out, "]");
}

static void print_operand(const Graph *graph, const Op *op, const OpaqueArg *arg, Text *out) {
  if (arg->tensor < 0) { // which is wrong
    text_printf(out, "_");
    return;
  }
  text_printf(out, "%s[", graph_tensor(graph, arg->tensor)->name);
  for (int i = 0; i < arg->rank; i++)
    text_printf(out, "%s%s", i > 0 ? ", " : "", arg->dim[i] >= 0 ? op->dims[arg->dim[i]].name : ":");
  text_printf(out, "]");
}

// y[n=4, c=3], place[n=4, c=3] = sort_rows(x[n, :]; 0.5) split(n=4): dimensions that stay whole are ':', results that
// nobody needs '_'.
static void print_opaque(const Graph *graph, const Op *op, Text *out) {
  const Opaque *opaque = op->opaque;
  int operands = 0;
  while (operands < opaque->n_args && !opaque->args[operands].written) operands++;
  for (int a = operands; a < opaque->n_args; a++) {
    if (a > operands) text_printf(out, ", ");
    if (opaque->args[a].tensor < 0) text_printf(out, "_");
    else print_shape(graph_tensor(graph, opaque->args[a].tensor), out);
  }
  text_printf(out, " = %s(", opaque->function);
  for (int a = 0; a < operands; a++) {
    if (a > 0) text_printf(out, ", ");
    print_operand(graph, op, &opaque->args[a], out);
  }
  for (int i = 0; i < opaque->n_attrs; i++) {
    text_printf(out, i == 0 ? "; " : ", ");
    print_number(opaque->attrs[i].value, TYPE_REAL, out);
  }
  text_printf(out, ") split(");
  print_dims(op->dims, op->n_dims, true, out);
  text_printf(out, ")");
}

void print_op(const Graph *graph, const Op *op, Text *out) {
  const Tensor *tensor = graph_tensor(graph, op->out);
  text_printf(out, "%-8s %s%s%s: ", phase_name(op->phase), op->layer, op->layer[0] != '\0' ? " " : "", op->name);
  if (op->kind == OP_OPAQUE) {
    print_opaque(graph, op, out);
  } else if (op->kind != OP_COMPUTE) {
    print_shape(tensor, out);
    text_printf(out, " = %s %s", op->kind == OP_VIEW ? "view" : "reshard", graph_tensor(graph, op->in)->name);
  } else {
    text_printf(out, "%s", tensor->name);
    if (op->n_out > 0) {
      text_printf(out, "[");
      print_dims(op->dims, op->n_out, true, out);
      text_printf(out, "]");
    }
    text_printf(out, op->accumulates ? " += " : " = ");
    if (op->reduce != REDUCE_NONE) {
      text_printf(out, "%s(", reduce_name(op->reduce));
      print_dims(op->dims + op->n_out, op->n_dims - op->n_out, true, out);
      text_printf(out, ") ");
    }
    print_expr(graph, op->body, op->dims, out);
  }
  if (op->loc.line > 0) text_printf(out, "  # %s:%d", op->loc.file, op->loc.line);
}

static const char *role_name(Role role) {
  static const char *const name[] = {"value", "input", "param", "state", "gradient"};
  return name[role];
}

static const char *type_name(const Tensor *tensor) { return tensor->type == TYPE_REAL ? "real" : "int"; }

static void print_tensor(const Tensor *tensor, Text *out) {
  text_printf(out, "  %-8s %s: %s[", role_name(tensor->role), tensor->name, type_name(tensor));
  for (int d = 0; d < tensor->rank; d++)
    text_printf(out, "%s%s=%lld", d > 0 ? ", " : "", tensor->dim[d], (long long)tensor->extent[d]);
  text_printf(out, "]");
  if (tensor->range > 0) text_printf(out, " < %lld", (long long)tensor->range);
  text_printf(out, "\n");
}

void graph_print(const Graph *graph, Text *out) {
  text_printf(out, "graph %s {\n", graph->name);
  for (int t = 0; t < graph->tensors.len; t++) {
    const Tensor *tensor = graph_tensor(graph, t);
    if (tensor->producer < 0 && tensor->role != ROLE_VALUE) print_tensor(tensor, out);
  }
  for (int i = 0; i < graph->ops.len; i++) {
    text_printf(out, "  ");
    print_op(graph, &graph->ops.at[i], out);
    text_printf(out, "\n");
  }
  for (int i = 0; i < graph->stores.len; i++)
    text_printf(out, "  store    %s <- %s\n", graph_tensor(graph, graph->stores.at[i].state)->name,
                graph_tensor(graph, graph->stores.at[i].value)->name);
  for (int i = 0; i < graph->losses.len; i++)
    text_printf(out, "  loss     %s: %s\n", graph->losses.at[i].name,
                graph_tensor(graph, graph->losses.at[i].tensor)->name);
  for (int i = 0; i < graph->metrics.len; i++)
    text_printf(out, "  metric   %s: %s\n", graph->metrics.at[i].name,
                graph_tensor(graph, graph->metrics.at[i].tensor)->name);
  if (graph->sampled >= 0) text_printf(out, "  sample   %s\n", graph_tensor(graph, graph->sampled)->name);
  if (graph->gradient_norm >= 0) text_printf(out, "  norm     %s\n", graph_tensor(graph, graph->gradient_norm)->name);
  text_printf(out, "}\n");
}
