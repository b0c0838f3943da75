// Declarations: inputs, parameters, states and their updates, losses and metrics.
#include "elab.h"

enum { MAX_RANGE = INT32_MAX }; // integers of tensors have 32 bits

static const char *path_name(Elab *e, const char *name) { return elab_path(e, e->frame->prefix, name); }

static Tensor tensor_of(Elab *e, const AstDecl *decl, const char *name, Role role, const Dim *dims, int rank) {
  Tensor t = {.name = name,
              .role = role,
              .type = decl->is_int ? TYPE_INT : TYPE_REAL,
              .rank = rank,
              .producer = -1,
              .of = -1,
              .shard = e->frame->shard,
              .loc = elab_site(e, decl->loc)};
  for (int d = 0; d < rank; d++) {
    t.extent[d] = dims[d].extent;
    t.dim[d] = dims[d].name;
  }
  return t;
}

static bool same_shape(const Tensor *a, const Tensor *b) {
  bool same = a->rank == b->rank;
  for (int d = 0; d < a->rank && same; d++) same = a->extent[d] == b->extent[d];
  return same;
}

// Gives the variable an error value, so that what reads it is silent.
static void set_failed(Elab *e, const AstDecl *decl) { elab_set(e, decl->name, value_error(), decl->loc); }

// ---- inputs

static int find_input(const Model *model, const char *name) {
  for (int i = 0; i < model->inputs.len; i++)
    if (str_eq(model->inputs.at[i].name, name)) return i;
  return -1;
}

static bool check_batch(Elab *e, const AstDecl *decl, const Dim *dims, int rank) {
  Model *model = e->model;
  if (rank == 0) {
    elab_error(e, decl->loc, "input '%s' has no dimensions: expected the batch as its first one", decl->name);
    return false;
  }
  if (model->batch == 0) model->batch = dims[0].extent;
  if (model->batch == dims[0].extent) return true;
  elab_error(e, decl->loc,
             "the first dimension of every input is the batch: input '%s' %s has %lld, but it was %lld before",
             decl->name, dims_text(e, dims, rank), (long long)dims[0].extent, (long long)model->batch);
  for (int i = 0; i < e->graph->tensors.len; i++) {
    const Tensor *t = graph_tensor(e->graph, i);
    if (t->role != ROLE_INPUT) continue;
    diag_note(t->loc, "input '%s' %s is declared here", t->name, shape_text(e, i));
    break;
  }
  return false;
}

void elab_input(Elab *e, const AstStmt *stmt) {
  const AstDecl *decl = &stmt->decl;
  Dim dims[IR_MAX_RANK];
  int rank;
  int64_t range = 0;
  const bool sound = declared_dims(e, decl, dims, &rank) && check_batch(e, decl, dims, rank);
  bool in_range = true;
  if (decl->range != NULL) {
    in_range = value_whole(e, decl->range->loc, elab_expr(e, decl->range), "the range of", decl->name, 1, &range);
    if (in_range && range > MAX_RANGE) {
      elab_error(e, decl->range->loc, "the range of '%s' must be at most %d, found %lld", decl->name, MAX_RANGE,
                 (long long)range);
      in_range = false;
    }
  }
  set_failed(e, decl);
  names_set(&e->declared_inputs, decl->name, 0);
  if (!sound || !in_range) return;
  const int other = names_get(&e->graph->tensor_names, decl->name);
  if (other >= 0) {
    elab_error(e, decl->loc, "a tensor called '%s' exists already", decl->name);
    diag_note(graph_tensor(e->graph, other)->loc, "it is made here");
    return;
  }
  if (!e->training && find_input(e->model, decl->name) < 0) {
    elab_error(e, decl->loc, "input '%s' exists only where 'training' is false: inputs are those of the training graph",
               decl->name);
    return;
  }
  Tensor t = tensor_of(e, decl, decl->name, ROLE_INPUT, dims, rank);
  t.range = range;
  t.spread = elab_spread(e, decl, range);
  elab_set(e, decl->name, value_tensor(graph_add_tensor(e->graph, t)), decl->loc);
  if (find_input(e->model, decl->name) < 0) vec_push(e->arena, &e->model->inputs, (Input){.name = decl->name});
}

// ---- parameters and states

// The operator in the initialisation graph that makes the first value.
static bool initialise(Elab *e, const AstDecl *decl, Tensor t, const Dim *dims) {
  Graph *graph = e->graph;
  const Phase phase = e->phase;
  const Frame *init = e->init;
  t.of = -1;
  e->graph = e->model->init;
  e->phase = PHASE_INIT;
  e->init = e->frame;
  const int out = graph_add_tensor(e->graph, t);
  const Value made = elab_define(e, decl, dims, t.rank, decl->value, out, t.type, t.name, "init");
  e->graph = graph;
  e->phase = phase;
  e->init = init;
  return !is_error(made);
}

// The evaluation graph has the parameters and states of the training graph.
static bool exists_in_training(Elab *e, const AstDecl *decl, const Tensor *t) {
  const int id = names_get(&e->model->init->tensor_names, t->name);
  const char *what = t->role == ROLE_PARAM ? "parameter" : "state";
  if (id < 0) {
    elab_error(e, decl->loc, "%s '%s' exists only where 'training' is false", what, t->name);
    return false;
  }
  if (same_shape(graph_tensor(e->model->init, id), t)) return true;
  elab_error(e, decl->loc, "%s '%s' has another shape where 'training' is false", what, t->name);
  return false;
}

static void create(Elab *e, const AstDecl *decl, Role role) {
  Dim dims[IR_MAX_RANK];
  int rank;
  const bool sound = declared_dims(e, decl, dims, &rank);
  set_failed(e, decl);
  if (!sound) return;
  const char *name = path_name(e, decl->name);
  const int other = names_get(&e->owned_names, name);
  if (other >= 0 || names_get(&e->graph->tensor_names, name) >= 0) {
    elab_error(e, decl->loc, "a tensor called '%s' exists already%s", name,
               e->frame->layer[0] == '\0' ? "; parameters made in a loop belong into a layer" : "");
    if (other >= 0) diag_note(e->owned.at[other].loc, "it is made here");
    return;
  }
  Tensor t = tensor_of(e, decl, name, role, dims, rank);
  t.of = e->of;
  if (e->training ? !initialise(e, decl, t, dims) : !exists_in_training(e, decl, &t)) return;
  const int id = graph_add_tensor(e->graph, t);
  names_set(&e->owned_names, name, e->owned.len);
  vec_push(e->arena, &e->owned, (Owned){.tensor = id, .layer = e->frame->layer, .loc = decl->loc});
  elab_set(e, decl->name, value_tensor(id), decl->loc);
}

// A tensor given in the call stands for the parameter.
static void use_tied(Elab *e, const AstDecl *decl, Tied *tied) {
  Dim dims[IR_MAX_RANK];
  int rank;
  tied->used = true;
  const bool sound = declared_dims(e, decl, dims, &rank);
  set_failed(e, decl);
  if (!sound || is_error(tied->value)) return;
  const char *layer = e->frame->def->ast->name;
  if (tied->value.kind != VALUE_TENSOR || graph_tensor(e->graph, tied->value.tensor)->type != TYPE_REAL) {
    elab_error_at_call(e, tied->loc, "%s: parameter '%s' must be a real tensor %s, found %s", layer, decl->name,
                       dims_text(e, dims, rank), value_describe(e, tied->value));
    diag_note(decl->loc, "'%s' is declared here", decl->name);
    return;
  }
  const Tensor expected = tensor_of(e, decl, decl->name, ROLE_PARAM, dims, rank);
  if (!same_shape(&expected, graph_tensor(e->graph, tied->value.tensor))) {
    elab_error_at_call(e, tied->loc, "%s: parameter '%s' is %s, but the given tensor is %s", layer, decl->name,
                       dims_text(e, dims, rank), shape_text(e, tied->value.tensor));
    diag_note(decl->loc, "'%s' is declared here", decl->name);
    return;
  }
  elab_set(e, decl->name, tied->value, decl->loc);
}

void elab_param(Elab *e, const AstStmt *stmt) {
  const AstDecl *decl = &stmt->decl;
  if (decl->is_int) {
    elab_error(e, decl->loc, "parameter '%s' is declared int: what is trained is real", decl->name);
    set_failed(e, decl);
    return;
  }
  for (int i = 0; i < e->frame->tied.len; i++) {
    Tied *tied = &e->frame->tied.at[i];
    if (!str_eq(tied->name, decl->name)) continue;
    use_tied(e, decl, tied);
    return;
  }
  create(e, decl, ROLE_PARAM);
}

void elab_state(Elab *e, const AstStmt *stmt) { create(e, &stmt->decl, ROLE_STATE); }

// ---- updates

static Owned *find_owned(Elab *e, int tensor) {
  for (int i = e->owned.len - 1; i >= 0; i--)
    if (e->owned.at[i].tensor == tensor) return &e->owned.at[i];
  return NULL;
}

// The state that a statement updates, or NULL after an error.
static Owned *updated_state(Elab *e, const AstDecl *decl) {
  const Var *var = elab_find_var(e->frame, decl->name);
  if (var == NULL) {
    elab_error(e, decl->loc, "unknown state '%s'%s", decl->name, elab_suggest(e, decl->name));
    return NULL;
  }
  if (is_error(var->value)) return NULL;
  const Tensor *t = var->value.kind == VALUE_TENSOR ? graph_tensor(e->graph, var->value.tensor) : NULL;
  if (t != NULL && t->role == ROLE_STATE) return find_owned(e, var->value.tensor);
  elab_error(e, decl->loc, "'%s' is not a state but %s%s", decl->name,
             t != NULL && t->role == ROLE_PARAM ? "a parameter, which the optimizer updates: " : "",
             value_describe(e, var->value));
  diag_note(var->loc, "'%s' is made here", decl->name);
  return NULL;
}

static int state_dims(const Tensor *state, Dim *dims) {
  for (int d = 0; d < state->rank; d++) dims[d] = (Dim){state->dim[d], state->extent[d]};
  return state->rank;
}

// update s[i, j] = e
static Value indexed_update(Elab *e, const AstStmt *stmt, const Tensor *state, const char *name) {
  const AstDecl *decl = &stmt->decl;
  Dim dims[IR_MAX_RANK];
  const int rank = state_dims(state, dims);
  int given = 0;
  for (int i = 0; i < decl->dims.len; i++) {
    const AstDim *dim = &decl->dims.at[i];
    const DimVar *pack = dim->pack ? elab_find_dim(e->frame, dim->name, true) : NULL;
    if (dim->name == NULL || dim->extent != NULL || (dim->pack && pack == NULL)) {
      elab_error(e, dim->loc, "expected the name of a dimension of '%s'", decl->name);
      return value_error();
    }
    if (!dim->pack && given < rank) dims[given].name = dim->name;
    given += dim->pack ? pack->n : 1;
  }
  if (given != rank) {
    elab_error(e, decl->loc, "state '%s' has %d dimension%s, but %d are named", decl->name, rank, rank == 1 ? "" : "s",
               given);
    return value_error();
  }
  dims_make_unique(e, dims, rank);
  return elab_define(e, decl, dims, rank, stmt->value, -1, state->type, name, elab_stmt_name(e, decl->name));
}

bool elab_is_computed(const Elab *e, int tensor) {
  const Tensor *t = graph_tensor(e->graph, tensor);
  while (t->producer >= 0 && e->graph->ops.at[t->producer].kind == OP_VIEW)
    t = graph_tensor(e->graph, e->graph->ops.at[t->producer].in);
  return t->role == ROLE_VALUE;
}

// A new tensor with the value of `v`: for what is no result of an operator of its own.
static Value copy(Elab *e, const AstStmt *stmt, const Tensor *state, Value v, const char *name) {
  Stmt s = stmt_begin(e, stmt->loc, name, elab_stmt_name(e, stmt->decl.name != NULL ? stmt->decl.name : name));
  Dim dims[IR_MAX_RANK];
  Index index[IR_MAX_RANK];
  const int rank = state_dims(state, dims);
  for (int d = 0; d < rank; d++) {
    stmt_push_slot(&s, dims[d].name, dims[d].extent, stmt->loc);
    index[d] = index_dim(d);
  }
  s.n_out = rank;
  const Term term = v.kind == VALUE_TENSOR ? term_read(&s, v.tensor, index) : term_known(v);
  return stmt_emit(&s, term, true, state->type, -1);
}

// update s = e
static Value whole_update(Elab *e, const AstStmt *stmt, const Tensor *state, const char *name) {
  const Value v = elab_expr(e, stmt->value);
  if (is_error(v)) return v;
  if (is_scalar(v)) return copy(e, stmt, state, v, name);
  if (v.kind != VALUE_TENSOR) {
    elab_error(e, stmt->value->loc, "state '%s' takes a tensor, found %s", stmt->decl.name, value_describe(e, v));
    return value_error();
  }
  const Tensor *t = graph_tensor(e->graph, v.tensor);
  if (!same_shape(t, state) || t->type != state->type) {
    Dim dims[IR_MAX_RANK];
    const int rank = state_dims(state, dims);
    elab_error(e, stmt->value->loc, "state '%s' is %s %s, but its new value is %s", stmt->decl.name,
               state->type == TYPE_INT ? "int" : "real", dims_text(e, dims, rank), value_describe(e, v));
    return value_error();
  }
  return elab_is_computed(e, v.tensor) ? v : copy(e, stmt, state, v, name);
}

void elab_update(Elab *e, const AstStmt *stmt) {
  if (!e->training) return;
  Owned *owned = updated_state(e, &stmt->decl);
  if (owned == NULL) return;
  if (owned->updated) {
    elab_error(e, stmt->loc, "state '%s' is updated twice in one step", stmt->decl.name);
    diag_note(owned->update, "first updated here");
    return;
  }
  owned->updated = true;
  owned->update = stmt->loc;
  const int id = owned->tensor;
  const Tensor state = *graph_tensor(e->graph, id);
  const char *name = arena_printf(e->arena, "%s.next", state.name);
  const Value v = stmt->decl.has_dims ? indexed_update(e, stmt, &state, name) : whole_update(e, stmt, &state, name);
  if (!is_error(v)) vec_push(e->arena, &e->graph->stores, (Store){id, v.tensor});
}

// ---- losses and metrics

// Evaluates the value of a loss or metric; -1 after an error.
static int scalar_tensor(Elab *e, const AstStmt *stmt, const char *what) {
  const Value v = elab_expr(e, stmt->value);
  if (is_error(v)) return -1;
  if (v.kind != VALUE_TENSOR) {
    elab_error(e, stmt->value->loc, "a %s must be a tensor of rank 0, found %s", what, value_describe(e, v));
    return -1;
  }
  const Tensor t = *graph_tensor(e->graph, v.tensor);
  if (t.rank != 0) {
    elab_error(e, stmt->value->loc,
               "a %s must be a single number (a tensor of rank 0), found a tensor %s: take the mean or the sum", what,
               shape_text(e, v.tensor));
    return -1;
  }
  if (t.type == TYPE_REAL) return v.tensor;
  const Tensor real = {.type = TYPE_REAL};
  const Value made = copy(e, stmt, &real, v, elab_tensor_name(e, stmt->targets.at[0].name));
  return is_error(made) ? -1 : made.tensor;
}

// A loss or a metric is a variable from then on. What was declared by this name would be out of reach.
static bool hides_declared(Elab *e, const AstStmt *stmt, const char *name, const char *what) {
  static const char *const kind[] = {[ROLE_INPUT] = "an input", [ROLE_PARAM] = "a parameter", [ROLE_STATE] = "a state"};
  const AstTarget *target = &stmt->targets.at[0];
  const Var *var = elab_find_var(e->frame, target->name);
  const Tensor *t = var != NULL && var->value.kind == VALUE_TENSOR ? graph_tensor(e->graph, var->value.tensor) : NULL;
  if (t == NULL || !str_eq(t->name, name)) return false;
  if (t->role != ROLE_INPUT && t->role != ROLE_PARAM && t->role != ROLE_STATE) return false;
  elab_error(e, target->loc, "'%s' is %s already: the %s needs a name of its own", target->name, kind[t->role], what);
  diag_note(var->loc, "it is declared here");
  return true;
}

static bool new_scalar(Elab *e, const AstStmt *stmt, const char *name, const char *what) {
  const Graph *graph = e->graph;
  if (hides_declared(e, stmt, name, what)) return false;
  for (int i = 0; i < graph->losses.len + graph->metrics.len; i++) {
    const int m = i - graph->losses.len;
    if (!str_eq(m < 0 ? graph->losses.at[i].name : graph->metrics.at[m].name, name)) continue;
    elab_error(e, stmt->loc, "there is a %s called '%s' already%s", m < 0 ? "loss" : "metric", name,
               str_eq(name, "loss") ? ": a second one needs a name, as in 'loss aux = ...'" : "");
    diag_note(m < 0 ? e->loss_locs.at[i] : e->metric_locs.at[m], "the first one is here");
    return false;
  }
  return true;
}

void elab_loss(Elab *e, const AstStmt *stmt) {
  const AstTarget *target = &stmt->targets.at[0];
  const char *name = path_name(e, target->name);
  const int tensor = scalar_tensor(e, stmt, "loss");
  e->has_loss = true;
  if (!new_scalar(e, stmt, name, "loss")) return;
  elab_set(e, target->name, tensor < 0 ? value_error() : value_tensor(tensor), target->loc);
  if (tensor < 0) return;
  vec_push(e->arena, &e->graph->losses, (Scalar){name, tensor});
  vec_push(e->arena, &e->loss_locs, stmt->loc);
}

void elab_metric(Elab *e, const AstStmt *stmt) {
  const AstTarget *target = &stmt->targets.at[0];
  const char *name = path_name(e, target->name);
  const int tensor = scalar_tensor(e, stmt, "metric");
  if (!new_scalar(e, stmt, name, "metric")) return;
  elab_set(e, target->name, tensor < 0 ? value_error() : value_tensor(tensor), target->loc);
  if (tensor < 0) return;
  vec_push(e->arena, &e->graph->metrics, (Scalar){name, tensor});
  vec_push(e->arena, &e->metric_locs, stmt->loc);
}
