// Calls: of ops, layers, optimizers and functions; the names of layer instances.
#include "elab.h"

// ---- entering a definition

static bool is_running(Elab *e, const Def *def) {
  for (const Frame *frame = e->frame; frame != NULL; frame = frame->up)
    if (frame->def->ast == def->ast) return true;
  return false;
}

static bool may_enter(Elab *e, const Def *def, Loc loc) {
  int depth = 0;
  for (const Frame *frame = e->frame; frame != NULL; frame = frame->up) depth++;
  if (!elab_work(e, loc, 10 + 2 * def->ast->params.len)) return false;
  if (is_running(e, def)) {
    Text chain = {.arena = e->arena};
    text_printf(&chain, "%s", def->ast->name);
    for (const Frame *frame = e->frame; frame->def->ast != def->ast; frame = frame->up)
      text_printf(&chain, " <- %s", frame->def->ast->name);
    elab_error(e, loc, "cyclic definition: '%s' uses itself (%s <- %s)", def->ast->name, text_str(&chain),
               def->ast->name);
    diag_note(def->ast->loc, "'%s' is defined here", def->ast->name);
    return false;
  }
  if (depth < MAX_FRAMES) return true;
  elab_error(e, loc, "more than %d calls inside each other", MAX_FRAMES);
  return false;
}

bool elab_enter_fn(Elab *e, const Def *def, const Arg *args, int n_args, Loc loc) {
  if (!may_enter(e, def, loc)) return false;
  elab_push(e, def, loc);
  if (bind_args(e, def, args, n_args, loc)) return true;
  elab_pop(e);
  return false;
}

// ---- instances of layers

static int next_count(Elab *e, const char *path, const char *layer) {
  const char *key = arena_printf(e->arena, "%s/%s", path, layer);
  int id = names_get(&e->counters, key);
  if (id < 0) {
    id = e->counts.len;
    names_set(&e->counters, key, id);
    vec_push(e->arena, &e->counts, 0);
  }
  return ++e->counts.at[id];
}

static const char *instance_path(Elab *e, const char *name) { return elab_path(e, e->frame->layer, name); }

static bool is_instance_name(const char *name) {
  const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_", *rest = "0123456789";
  if (name[0] == '\0' || strchr(letters, name[0]) == NULL || strlen(name) > 255) return false;
  for (const char *c = name; *c != '\0'; c++)
    if (strchr(letters, *c) == NULL && strchr(rest, *c) == NULL) return false;
  return true;
}

// The path of a new instance: from the argument `name`, else the layer's name and a number. NULL after an error.
static const char *new_instance(Elab *e, const Def *def, const Arg *name, Loc loc) {
  const char *path;
  if (name == NULL) {
    do
      path = instance_path(
          e, arena_printf(e->arena, "%s%d", def->ast->name, next_count(e, e->frame->layer, def->ast->name)));
    while (names_get(&e->instances, path) >= 0);
  } else {
    if (is_error(name->value)) return NULL;
    if (name->value.kind != VALUE_STRING || !is_instance_name(name->value.string)) {
      elab_error(e, name->loc,
                 "the name of a layer must be a string of letters, digits and '_' that starts with a letter, found %s",
                 value_describe(e, name->value));
      return NULL;
    }
    path = instance_path(e, name->value.string);
    const int other = names_get(&e->instances, path);
    if (other >= 0) {
      elab_error(e, name->loc, "there are two layers called '%s'", path);
      diag_note(e->instance_locs.at[other], "the first one is here");
      return NULL;
    }
  }
  names_set(&e->instances, path, e->instance_locs.len);
  vec_push(e->arena, &e->instance_locs, loc);
  return path;
}

// ---- results

static bool check_result(Elab *e, const AstDef *def, const AstDecl *result, Value v) {
  if (!result->has_dims && !result->is_int) return true;
  if (v.kind != VALUE_TENSOR) {
    elab_error(e, result->loc, "%s: the result '%s' must be a tensor, found %s", def->name, result->name,
               value_describe(e, v));
    return false;
  }
  const bool is_int = graph_tensor(e->graph, v.tensor)->type == TYPE_INT;
  if (is_int != result->is_int) {
    elab_error(e, result->loc, "%s: the result '%s' is declared %s, but its value is %s", def->name, result->name,
               result->is_int ? "int" : "real", is_int ? "int" : "real");
    return false;
  }
  return !result->has_dims || bind_dims(e, result, "result", v.tensor, result->loc);
}

// The values of the results when the body has ended. errors: how many there were before the body.
static Value collect_results(Elab *e, const AstDef *def, int errors) {
  const int n = def->results.len;
  Value *value = NEW_ARRAY(e->arena, Value, n);
  bool sound = true;
  for (int i = 0; i < n; i++) {
    const AstDecl *result = &def->results.at[i];
    const Var *var = elab_find_var(e->frame, result->name);
    value[i] = var != NULL ? var->value : value_error();
    if (var == NULL && e->errors == errors)
      elab_error(e, result->loc, "'%s' ends without a value for its result '%s'", def->name, result->name);
    sound = sound && !is_error(value[i]) && check_result(e, def, result, value[i]);
  }
  if (!sound) return value_error();
  return n == 1 ? value[0] : (Value){.kind = VALUE_LIST, .is_tuple = true, .list = {value, n}};
}

static void check_tied(Elab *e, const AstDef *def) {
  for (int i = 0; i < e->frame->tied.len; i++) {
    const Tied *tied = &e->frame->tied.at[i];
    if (tied->used) continue;
    elab_error_at_call(e, tied->loc, "'%s' makes no parameter '%s' with these arguments", def->name, tied->name);
    diag_note(def->loc, "'%s' is defined here", def->name);
  }
}

// ---- calls

static const Arg *take_name(const AstDef *def, Arg *args, int *n_args, Arg *taken) {
  for (int i = 0; i < def->params.len; i++)
    if (str_eq(def->params.at[i].name, "name")) return NULL; // the layer has an argument of that name itself
  for (int i = 0; i < *n_args; i++) {
    if (args[i].name == NULL || !str_eq(args[i].name, "name")) continue;
    *taken = args[i];
    memmove(&args[i], &args[i + 1], sizeof *args * (size_t)(*n_args - i - 1));
    --*n_args;
    return taken;
  }
  return NULL;
}

Value elab_call_def(Elab *e, const Def *def, const Arg *args, int n_args, Loc loc) {
  const AstDef *ast = def->ast;
  if (e->stopped || !may_enter(e, def, loc)) return value_error();
  const Loc site = elab_site(e, loc);
  const char *layer = NULL;
  if (ast->kind == AST_LAYER) {
    Arg *rest = NEW_ARRAY(e->arena, Arg, n_args);
    Arg name;
    memcpy(rest, args, sizeof *args * (size_t)n_args);
    layer = new_instance(e, def, take_name(ast, rest, &n_args, &name), site);
    if (layer == NULL) return value_error();
    args = rest;
  }
  Frame *frame = elab_push(e, def, loc);
  if (layer != NULL) frame->layer = frame->prefix = layer;
  if (ast->kind == AST_OPTIMIZER) { // its states and operators are called after the parameter
    frame->prefix = graph_tensor(e->graph, e->of)->name;
    frame->layer = e->of_layer;
  }
  Value result = value_error();
  if (bind_args(e, def, args, n_args, loc)) {
    const int errors = e->errors;
    if (ast->kind != AST_OPAQUE) elab_block(e, &ast->body);
    result = ast->kind == AST_OPAQUE ? elab_opaque(e, ast, loc) : collect_results(e, ast, errors);
    if (e->errors == errors) check_tied(e, ast);
  }
  elab_pop(e);
  return result;
}

static Value call_fn(Elab *e, const AstExpr *call, Def *def, const Arg *args, int n_args) {
  bool tensors = false;
  Value *values = NEW_ARRAY(e->arena, Value, n_args);
  for (int i = 0; i < n_args; i++) {
    values[i] = args[i].value;
    if (is_error(values[i])) return value_error();
    tensors |= values[i].kind == VALUE_TENSOR;
  }
  if (tensors) return tensor_macro(e, call, def, values);
  if (!elab_enter_fn(e, def, args, n_args, call->loc)) return value_error();
  const Value result = elab_expr(e, def->ast->value);
  elab_pop(e);
  return result;
}

static Value call_scalar(Elab *e, const AstExpr *call, Fn fn, const Arg *args, int n_args) {
  Value values[3];
  bool tensors = false;
  if (n_args != fn_arity(fn)) {
    elab_error(e, call->loc, "'%s' takes %d argument%s, found %d", call->text, fn_arity(fn),
               fn_arity(fn) == 1 ? "" : "s", n_args);
    return value_error();
  }
  for (int i = 0; i < n_args; i++) {
    if (args[i].name != NULL) {
      elab_error(e, args[i].loc, "'%s' has no argument named '%s'", call->text, args[i].name);
      return value_error();
    }
    values[i] = args[i].value;
    if (is_error(values[i])) return values[i];
    tensors |= values[i].kind == VALUE_TENSOR;
  }
  return tensors ? tensor_call(e, call->loc, fn, values) : value_call(e, call->loc, fn, values);
}

static Value report_unknown(Elab *e, const AstExpr *call) {
  const Var *var = elab_find_var(e->frame, call->text);
  if (var != NULL && var->pending == NULL)
    elab_error(e, call->loc, "'%s' is not a function but %s", call->text, value_describe(e, var->value));
  else elab_error(e, call->loc, "unknown function '%s'%s", call->text, elab_suggest(e, call->text));
  return value_error();
}

// A layer makes parameters: it stands where those can.
static bool may_call_layer(Elab *e, const AstExpr *call) {
  const AstDef *in = e->frame->def->ast;
  if ((in->kind == AST_MODEL || in->kind == AST_LAYER) && e->init == NULL) return true;
  if (e->init != NULL) elab_error(e, call->loc, "the layer '%s' in an initialiser", call->text);
  else if (in->kind == AST_TRAIN) elab_error(e, call->loc, "the layer '%s' in a train block", call->text);
  else
    elab_error(e, call->loc, "'%s' calls the layer '%s', but only layers and the model may have parameters", in->name,
               call->text);
  return false;
}

static Value report_not_callable(Elab *e, const AstExpr *call, const AstDef *def) {
  if (def->kind == AST_OPTIMIZER)
    elab_error(e, call->loc, "the optimizer '%s' stands only in train { optimizer = %s(...); }", def->name, def->name);
  else elab_error(e, call->loc, "'%s' is the model: it cannot be called", def->name);
  diag_note(def->loc, "'%s' is defined here", def->name);
  return value_error();
}

// select(c, a, b): where c is known, only the chosen side is evaluated. False: an ordinary call.
static bool call_select(Elab *e, const AstExpr *call, Value *out) {
  if (call->args.len != 3) return false;
  for (int i = 0; i < 3; i++)
    if (call->args.at[i].name != NULL) return false;
  Value values[3] = {elab_expr(e, call->args.at[0].value)};
  if (values[0].kind == VALUE_BOOL) {
    *out = elab_expr(e, call->args.at[values[0].truth ? 1 : 2].value);
    return true;
  }
  bool tensors = false, failed = false;
  for (int i = 0; i < 3; i++) {
    if (i > 0) values[i] = elab_expr(e, call->args.at[i].value);
    tensors |= values[i].kind == VALUE_TENSOR;
    failed |= is_error(values[i]);
  }
  if (failed) *out = value_error();
  else *out = tensors ? tensor_call(e, call->loc, FN_select, values) : value_call(e, call->loc, FN_select, values);
  return true;
}

// Calls a definition with evaluated arguments.
static Value call_found(Elab *e, const AstExpr *call, Def *def, const Arg *args, int n) {
  switch (def->ast->kind) {
  case AST_LAYER:
    if (!may_call_layer(e, call)) return value_error();
    return elab_call_def(e, def, args, n, call->loc);
  case AST_OP:
  case AST_OPAQUE: return elab_call_def(e, def, args, n, call->loc);
  case AST_FN: return call_fn(e, call, def, args, n);
  default: return report_not_callable(e, call, def->ast);
  }
}

Value elab_call(Elab *e, const AstExpr *call) {
  Def *def = elab_find_def(e, call->text);
  const int fn = elab_scalar_fn(e, call->text);
  if (def == NULL && elab_is_builtin(call->text)) {
    elab_no_shard(e, call);
    return elab_builtin(e, call);
  }
  if (def == NULL && fn < 0) return report_unknown(e, call);
  const int n = call->args.len;
  Value chosen;
  if (def == NULL && fn == FN_select && call->shard == NULL && call_select(e, call, &chosen)) return chosen;
  Arg *args = NEW_ARRAY(e->arena, Arg, n);
  bool tensors = false, failed = false;
  for (int i = 0; i < n; i++) {
    const AstArg *arg = &call->args.at[i];
    args[i] = (Arg){arg->name, elab_expr(e, arg->value), arg->name != NULL ? arg->loc : arg->value->loc};
    tensors |= args[i].value.kind == VALUE_TENSOR;
    failed |= is_error(args[i].value);
  }
  if (failed) return value_error();
  // max(x) is the op of that name, max(x, y) the scalar function: the op takes one argument only.
  const bool too_many = fn >= 0 && def != NULL && n == fn_arity((Fn)fn) && n > def->ast->params.len;
  const bool scalar = fn >= 0 && (def == NULL || ((!tensors || too_many) && def->ast->kind != AST_FN));
  if (!tensors && (scalar || def->ast->kind == AST_FN)) elab_no_shard(e, call);
  const int around = elab_enter_shard(e, call->shard);
  const Value value = scalar ? call_scalar(e, call, (Fn)fn, args, n) : call_found(e, call, def, args, n);
  elab_leave_shard(e, around);
  return value;
}
