// From losses to updates: which parameters are trained, the global norm of their gradients, clipping, the optimizer.
//
//     w.grad        a tensor without an operator: autodiff gives it one
//     gradient_norm = sqrt(sum over all w of sum(...) w.grad^2)
//     w.grad.clipped[...] = w.grad[...] * clip / max(gradient_norm, clip)      if clip is set
//     the body of the optimizer on w and its gradient; store w <- its result
#include "elab.h"

enum { NORM_FAN_IN = 16 }; // terms that one operator adds up

// ---- what depends on what

typedef struct Marks {
  const Graph *graph;
  bool *tensor; // by id
} Marks;

static void mark(void *ctx, int tensor) { ((Marks *)ctx)->tensor[tensor] = true; }

typedef void VisitFn(void *ctx, int tensor);

// The tensors that an expression depends on smoothly: not through comparisons, integers, floor or stop.
static void visit_smooth(const Graph *graph, const Expr *e, VisitFn *visit, void *ctx) {
  if (e->kind == EXPR_ACCESS && graph_tensor(graph, e->access.tensor)->type == TYPE_REAL) visit(ctx, e->access.tensor);
  if (e->kind != EXPR_CALL || e->type == TYPE_BOOL) return;
  if (e->call.fn == FN_stop || e->call.fn == FN_floor || e->call.fn == FN_int || e->call.fn == FN_one) return;
  for (int i = e->call.fn == FN_select; i < fn_arity(e->call.fn); i++) visit_smooth(graph, e->call.arg[i], visit, ctx);
}

static void visit_smooth_reads(const Graph *graph, const Op *op, VisitFn *visit, void *ctx) {
  if (op->kind == OP_OPAQUE) {
    for (int a = 0; a < op->opaque->n_args; a++) {
      const OpaqueArg *arg = &op->opaque->args[a];
      if (!arg->written && arg->type == TYPE_REAL) visit(ctx, arg->tensor);
    }
  } else if (op->kind != OP_COMPUTE) op_visit_reads(op, visit, ctx);
  else if (graph_tensor(graph, op->out)->type == TYPE_REAL) visit_smooth(graph, op->body, visit, ctx);
}

// Everything that marked tensors are computed from, marked too.
static void mark_sources(Marks *m, bool smooth) {
  for (int i = m->graph->ops.len - 1; i >= 0; i--) {
    const Op *op = &m->graph->ops.at[i];
    if (!op_any_result(op, m->tensor)) continue;
    if (smooth) visit_smooth_reads(m->graph, op, mark, m);
    else op_visit_reads(op, mark, m);
  }
}

// Operators that only metrics need are marked as such.
void elab_mark_reports(Elab *e) {
  const Graph *graph = e->graph;
  Marks needed = {graph, NEW_ARRAY(e->arena, bool, graph->tensors.len)};
  Marks reported = {graph, NEW_ARRAY(e->arena, bool, graph->tensors.len)};
  for (int i = 0; i < graph->losses.len; i++) mark(&needed, graph->losses.at[i].tensor);
  for (int i = 0; i < graph->stores.len; i++) mark(&needed, graph->stores.at[i].value);
  for (int i = 0; i < graph->metrics.len; i++) mark(&reported, graph->metrics.at[i].tensor);
  mark_sources(&needed, false);
  mark_sources(&reported, false);
  for (int i = 0; i < graph->ops.len; i++) {
    Op *op = &graph->ops.at[i];
    if (op_any_result(op, reported.tensor) && !op_any_result(op, needed.tensor)) op->phase = PHASE_REPORT;
  }
}

// ---- gradients and their norm

typedef struct Trained {
  int owned; // index in Elab.owned
  int grad;  // tensor
} Trained;
typedef VEC(Trained) Trainees;

typedef struct Carried {
  int *param; // by tensor: a parameter that it depends on smoothly, or -1
  int found;  // the one that the operator at hand depends on
} Carried;

static void find_param(void *ctx, int tensor) {
  Carried *c = ctx;
  if (c->found < 0) c->found = c->param[tensor];
}

// Reports opaque operators without a gradient between a parameter and a loss. needed: the tensors that a loss depends on.
static void check_opaque(Elab *e, const bool *needed) {
  const Graph *graph = e->graph;
  Carried c = {.param = NEW_ARRAY(e->arena, int, graph->tensors.len)};
  for (int t = 0; t < graph->tensors.len; t++) c.param[t] = graph_tensor(graph, t)->role == ROLE_PARAM ? t : -1;
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    c.found = -1;
    visit_smooth_reads(graph, op, find_param, &c);
    for (int r = 0; r < op_results(op); r++) {
      const int result = op_result(op, r);
      if (graph_tensor(graph, result)->type == TYPE_REAL) c.param[result] = c.found;
    }
    if (op->kind != OP_OPAQUE || op->opaque->gradient != NULL || c.found < 0 || !op_any_result(op, needed)) continue;
    elab_error(e, op->loc, "the gradient of the parameter '%s' goes through '%s', which has none",
               graph_tensor(graph, c.found)->name, op->name);
    const Def *def = elab_find_def(e, op->name);
    if (def != NULL)
      diag_note(def->ast->loc, "expected 'grad \"function\"' at the end of this declaration, or stop(...) around the call");
  }
}

// The parameters that a loss depends on, each with a gradient; warns about the others.
static void declare_gradients(Elab *e, Trainees *trained) {
  Graph *graph = e->graph;
  Marks m = {graph, NEW_ARRAY(e->arena, bool, graph->tensors.len)};
  for (int i = 0; i < graph->losses.len; i++) mark(&m, graph->losses.at[i].tensor);
  mark_sources(&m, true);
  check_opaque(e, m.tensor);
  for (int i = 0; i < e->owned.len; i++) {
    Tensor t = *graph_tensor(graph, e->owned.at[i].tensor);
    if (t.role != ROLE_PARAM) continue;
    if (!m.tensor[e->owned.at[i].tensor]) {
      elab_warning(e, t.loc, "no loss depends on the parameter '%s': it is not trained", t.name);
      continue;
    }
    t.name = arena_printf(e->arena, "%s.grad", t.name);
    t.role = ROLE_GRADIENT;
    t.producer = -1;
    t.of = e->owned.at[i].tensor;
    vec_push(e->arena, trained, (Trained){i, graph_add_tensor(graph, t)});
  }
}

static Op proto(Elab *e, const char *name, const char *layer, Phase phase, Loc loc) {
  (void)e;
  return (Op){.kind = OP_COMPUTE, .name = name, .layer = layer, .phase = phase, .loc = loc};
}

static const Expr *read_all(Elab *e, int tensor) {
  const Tensor *t = graph_tensor(e->graph, tensor);
  Index index[IR_MAX_RANK];
  for (int d = 0; d < t->rank; d++) index[d] = index_dim(d);
  return expr_access(e->arena, tensor, t->type, t->rank, index, 0);
}

static void all_dims(Elab *e, int tensor, Op *op) {
  const Tensor *t = graph_tensor(e->graph, tensor);
  op->n_dims = t->rank;
  for (int d = 0; d < t->rank; d++) op->dims[d] = (Dim){t->dim[d], t->extent[d]};
}

static int sum_of_squares(Elab *e, const Trained *t, Phase phase, Loc loc) {
  Op op = proto(e, "gradient_norm", e->owned.at[t->owned].layer, phase, loc);
  all_dims(e, t->grad, &op);
  op.reduce = op.n_dims > 0 ? REDUCE_SUM : REDUCE_NONE;
  const Expr *g = read_all(e, t->grad);
  op.body = expr_call(e->arena, FN_mul, g, g, NULL);
  return graph_add_compute(e->graph, op, arena_printf(e->arena, "%s.square", graph_tensor(e->graph, t->grad)->name));
}

// The sum of n scalars, or its root.
static int sum_of_scalars(Elab *e, const int *term, int n, bool root, const char *layer, const char *name, Phase phase, Loc loc) {
  Op op = proto(e, "gradient_norm", layer, phase, loc);
  op.body = read_all(e, term[0]);
  for (int i = 1; i < n; i++) op.body = expr_call(e->arena, FN_add, op.body, read_all(e, term[i]), NULL);
  if (root) op.body = expr_call(e->arena, FN_sqrt, op.body, NULL, NULL);
  return graph_add_compute(e->graph, op, name);
}

// The outermost layer that a parameter belongs to.
static const char *outer_layer(Elab *e, const Trained *t) {
  const char *layer = e->owned.at[t->owned].layer;
  return arena_strndup(e->arena, layer, strcspn(layer, "."));
}

// gradient_norm: one outermost layer after the other adds its squares to the sum so far, so that equal layers do the same, at
// most NORM_FAN_IN of them at a time; of a small model all at once. Then the root.
static int gradient_norm(Elab *e, const Trainees *trained, Phase phase, Loc loc) {
  const int n = trained->len;
  int *square = NEW_ARRAY(e->arena, int, n), term[NORM_FAN_IN + 1], sum = -1;
  for (int i = 0; i < n; i++) square[i] = sum_of_squares(e, &trained->at[i], phase, loc);
  if (n <= NORM_FAN_IN) return sum_of_scalars(e, square, n, true, "", "gradient_norm", phase, loc);
  for (int i = 0, end; i < n; i = end) {
    const char *layer = outer_layer(e, &trained->at[i]);
    int terms = 0;
    if (sum >= 0) term[terms++] = sum;
    for (end = i; end < n && end < i + NORM_FAN_IN && str_eq(outer_layer(e, &trained->at[end]), layer); end++)
      term[terms++] = square[end];
    const char *name = arena_printf(e->arena, "%s%sgrad.square", layer, layer[0] != '\0' ? "." : "");
    sum = sum_of_scalars(e, term, terms, false, layer, name, phase, loc);
  }
  return sum_of_scalars(e, &sum, 1, true, "", "gradient_norm", phase, loc);
}

// scale = clip / max(norm, clip)
static int clip_scale(Elab *e, int norm, double clip, Loc loc) {
  Op op = proto(e, "clip", "", PHASE_UPDATE, loc);
  const Expr *limit = expr_real(e->arena, clip);
  op.body = expr_call(e->arena, FN_div, limit, expr_call(e->arena, FN_max, read_all(e, norm), limit, NULL), NULL);
  return graph_add_compute(e->graph, op, "gradient_scale");
}

static int clipped(Elab *e, const Trained *t, int scale, Loc loc) {
  Op op = proto(e, "clip", e->owned.at[t->owned].layer, PHASE_UPDATE, loc);
  all_dims(e, t->grad, &op);
  op.n_out = op.n_dims;
  op.body = expr_call(e->arena, FN_mul, read_all(e, t->grad), read_all(e, scale), NULL);
  return graph_add_compute(e->graph, op, arena_printf(e->arena, "%s.clipped", graph_tensor(e->graph, t->grad)->name));
}

// ---- the optimizer

// The new value of a parameter must be a tensor of its shape, computed by an operator.
static int new_value(Elab *e, Value v, int param, Loc loc) {
  const AstDef *def = e->train.optimizer->ast;
  const Tensor w = *graph_tensor(e->graph, param);
  if (is_error(v)) return -1;
  bool same = v.kind == VALUE_TENSOR && graph_tensor(e->graph, v.tensor)->rank == w.rank;
  for (int d = 0; d < w.rank && same; d++) same = graph_tensor(e->graph, v.tensor)->extent[d] == w.extent[d];
  if (!same || graph_tensor(e->graph, v.tensor)->type != TYPE_REAL) {
    elab_error(e, def->results.at[0].loc, "%s: the result must be a tensor %s like the parameter '%s', found %s",
               def->name, shape_text(e, param), w.name, value_describe(e, v));
    return -1;
  }
  if (elab_is_computed(e, v.tensor)) return v.tensor;
  Op op = proto(e, def->name, e->of_layer, PHASE_UPDATE, loc);
  all_dims(e, v.tensor, &op);
  op.n_out = op.n_dims;
  op.body = read_all(e, v.tensor);
  return graph_add_compute(e->graph, op, arena_printf(e->arena, "%s.next", w.name));
}

static void update(Elab *e, const Trained *t, int grad) {
  const Training *train = &e->train;
  const int param = e->owned.at[t->owned].tensor, n = train->attrs.len;
  const Value run_lr = {.kind = VALUE_RUN, .run = {expr_run(e->arena, RUN_LR), 1}};
  Arg *args = NEW_ARRAY(e->arena, Arg, n + 3);
  int len = 0;
  args[len++] = (Arg){NULL, value_tensor(param), train->loc};
  args[len++] = (Arg){NULL, value_tensor(grad), train->loc};
  bool rate = false;
  for (int i = 0; i < n; i++) {
    const OptimizerArg *attr = &train->attrs.at[i];
    const bool is_rate = str_eq(attr->name, "lr") && train->has_rate && !rate;
    rate |= is_rate;
    args[len++] = (Arg){attr->name, is_rate ? run_lr : attr->value, attr->loc};
  }
  if (train->has_rate && !rate) args[len++] = (Arg){"lr", run_lr, train->loc};
  e->of = param;
  e->of_layer = e->owned.at[t->owned].layer;
  const int value = new_value(e, elab_call_def(e, train->optimizer, args, len, train->loc), param, train->loc);
  if (value >= 0) vec_push(e->arena, &e->graph->stores, (Store){param, value});
  e->of = -1;
}

static const Expr *learning_rate(Elab *e) {
  const Expr *rate = expr_real(e->arena, e->train.has_rate ? e->train.rate : 1);
  const Setting *schedule = &e->train.schedule;
  if (!schedule->given || !is_scalar(schedule->value)) return rate;
  return expr_call(e->arena, FN_mul, rate, value_expr(e, schedule->value), NULL);
}

void elab_optimize(Elab *e) {
  Trainees trained = {0};
  const Setting *clip = &e->train.clip;
  declare_gradients(e, &trained);
  if (trained.len == 0 || e->train.optimizer == NULL) return;
  const Phase phase = clip->given ? PHASE_UPDATE : PHASE_REPORT;
  const Loc loc = clip->given ? clip->loc : e->train.loc;
  const int norm = e->graph->gradient_norm = gradient_norm(e, &trained, phase, loc);
  const int scale = clip->given ? clip_scale(e, norm, clip->value.number, loc) : -1;
  e->model->learning_rate = learning_rate(e);
  e->phase = PHASE_UPDATE;
  e->run_lr = e->run_step = true;
  for (int i = 0; i < trained.len && !e->stopped && e->errors == 0; i++)
    update(e, &trained.at[i], scale >= 0 ? clipped(e, &trained.at[i], scale, loc) : trained.at[i].grad);
  e->run_lr = e->run_step = false;
}
