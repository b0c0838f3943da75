// The train block: data sources, optimizer, schedule, clipping, length.
#include <math.h>

#include "elab.h"

static const char *const setting_names[] = {"optimizer", "schedule", "clip", "epochs", "steps", "data"};

// ---- the optimizer

static const Def *find_optimizer(Elab *e, const char *name, Loc loc) {
  const Def *def = elab_find_def(e, name);
  if (def != NULL && def->ast->kind == AST_OPTIMIZER) return def;
  VEC(const char *) all = {0};
  for (int i = 0; i < e->defs.len; i++)
    if (e->defs.at[i].ast->kind == AST_OPTIMIZER) vec_push(e->arena, &all, e->defs.at[i].ast->name);
  elab_error(e, loc, "'%s' is not an optimizer%s", name, elab_suggest_among(e, name, all.at, all.len));
  return NULL;
}

// An optimizer takes the parameter, its gradient and attributes.
static bool is_sound_optimizer(Elab *e, const Def *def) {
  const AstDecls *params = &def->ast->params;
  bool sound = params->len >= 2 && def->ast->results.len == 1;
  for (int i = 0; i < params->len && sound; i++) sound = params->at[i].has_dims == (i < 2);
  if (!sound)
    elab_error(e, def->ast->loc,
               "an optimizer takes two tensors, the parameter and its gradient, then attributes, and gives one result: "
               "optimizer %s(w[i..], g[i..]; lr) -> u[i..]",
               def->ast->name);
  return sound;
}

// The attribute `lr` is the base of the learning rate.
static bool find_rate(Elab *e, Training *t) {
  const AstDecls *params = &t->optimizer->ast->params;
  Value rate = value_error();
  Loc loc = t->loc;
  for (int i = 2; i < params->len; i++) {
    if (!str_eq(params->at[i].name, "lr")) continue;
    t->has_rate = true;
    if (params->at[i].value != NULL) {
      elab_push(e, t->optimizer, t->loc);
      rate = elab_expr(e, params->at[i].value);
      elab_pop(e);
    }
  }
  for (int i = 0; i < t->attrs.len; i++)
    if (str_eq(t->attrs.at[i].name, "lr")) {
      rate = t->attrs.at[i].value;
      loc = t->attrs.at[i].loc;
      if (is_error(rate)) return false;
    }
  if (!t->has_rate) return true;
  if (is_error(rate)) {
    elab_error(e, loc, "'%s' needs the learning rate: %s(lr = 0.01)", t->optimizer->ast->name, t->optimizer->ast->name);
    return false;
  }
  if (rate.kind != VALUE_NUMBER || !(rate.number >= 0) || isinf(rate.number)) {
    elab_error(e, loc, "the learning rate must be a number of at least 0, found %s", value_describe(e, rate));
    return false;
  }
  t->rate = rate.number;
  return true;
}

static void set_optimizer(Elab *e, const AstExpr *value) {
  Training *t = &e->train;
  if (value->kind != AST_CALL && value->kind != AST_NAME) {
    elab_error(e, value->loc, "expected an optimizer, as in optimizer = sgd(lr = 0.01)");
    return;
  }
  elab_no_shard(e, value);
  const Def *def = find_optimizer(e, value->text, value->loc);
  if (def == NULL || !is_sound_optimizer(e, def)) return;
  t->optimizer = def;
  t->loc = value->loc;
  for (int i = 0; i < value->args.len; i++) {
    const AstArg *arg = &value->args.at[i];
    const AstDecls *params = &def->ast->params;
    const char *name = arg->name != NULL ? arg->name : i + 2 < params->len ? params->at[i + 2].name : NULL;
    if (name == NULL) {
      elab_error(e, arg->loc, "'%s' takes %d attribute%s, found %d", def->ast->name, params->len - 2,
                 params->len == 3 ? "" : "s", value->args.len);
      diag_note(def->ast->loc, "'%s' is defined here", def->ast->name);
      break;
    }
    const Value v = elab_expr(e, arg->value);
    vec_push(e->arena, &t->attrs, (OptimizerArg){name, v, arg->name != NULL ? arg->loc : arg->value->loc});
  }
  find_rate(e, t);
}

// ---- other settings

static void set_schedule(Elab *e, const AstExpr *value) {
  AstExpr call = *value; // a function without arguments may be named alone
  const Def *def = value->kind == AST_NAME ? elab_find_def(e, value->text) : NULL;
  if (def != NULL && def->ast->kind == AST_FN) call.kind = AST_CALL;
  e->run_step = true;
  const Value v = elab_expr(e, &call);
  e->run_step = false;
  e->train.schedule.value = v;
  if (!is_error(v) && v.kind != VALUE_RUN && v.kind != VALUE_NUMBER)
    elab_error(e, value->loc, "a schedule is a factor of the learning rate, made of 'step' and 'steps'; found %s",
               value_describe(e, v));
}

static void set_clip(Elab *e, const AstExpr *value) {
  const Value v = elab_expr(e, value);
  e->train.clip.value = v;
  if (!is_error(v) && (v.kind != VALUE_NUMBER || !(v.number > 0)))
    elab_error(e, value->loc, "'clip' must be a number above 0, found %s", value_describe(e, v));
}

static void set_length(Elab *e, const AstStmt *stmt, Setting *setting, const Setting *other, int64_t *out) {
  value_whole(e, stmt->value->loc, elab_expr(e, stmt->value), "the number of", stmt->targets.at[0].name, 1, out);
  if (!other->given) return;
  elab_error(e, setting->loc, "both 'steps' and 'epochs' are given: expected one of them");
  diag_note(other->loc, "the other one is here");
}

static void add_data(Elab *e, const AstStmt *stmt) {
  const AstTarget *target = &stmt->targets.at[0];
  const Value v = elab_expr(e, stmt->value);
  if (!is_error(v) && v.kind != VALUE_SOURCE)
    elab_error(e, stmt->value->loc, "expected a data source such as idx(\"file\") or text(\"file\"), found %s",
               value_describe(e, v));
  for (int i = 0; i < e->train.data.len; i++) {
    if (!str_eq(e->train.data.at[i].input, target->name)) continue;
    elab_error(e, target->loc, "the data of '%s' is given twice", target->name);
    diag_note(e->train.data.at[i].loc, "first given here");
    return;
  }
  vec_push(e->arena, &e->train.data, (DataUse){target->name, v.kind == VALUE_SOURCE ? v : value_error(), target->loc});
}

static bool set_once(Elab *e, Setting *setting, const char *name, Loc loc) {
  if (setting->given) {
    elab_error(e, loc, "'%s' is set twice", name);
    diag_note(setting->loc, "first set here");
    return false;
  }
  setting->given = true;
  setting->loc = loc;
  return true;
}

void elab_train_stmt(Elab *e, const AstStmt *stmt) {
  const AstTarget *target = &stmt->targets.at[0];
  Training *t = &e->train;
  if (stmt->kind == AST_DATA) {
    add_data(e, stmt);
    return;
  }
  Setting *const setting[] = {&t->chosen, &t->schedule, &t->clip, &t->epochs, &t->steps};
  int which = -1;
  for (int i = 0; i < 5; i++)
    if (str_eq(setting_names[i], target->name)) which = i;
  if (which < 0 || stmt->targets.len != 1) {
    elab_error(e, target->loc, "unknown setting '%s'%s", target->name,
               elab_suggest_among(e, target->name, setting_names, sizeof setting_names / sizeof *setting_names));
    return;
  }
  if (!set_once(e, setting[which], target->name, target->loc)) return;
  switch (which) {
  case 0: set_optimizer(e, stmt->value); return;
  case 1: set_schedule(e, stmt->value); return;
  case 2: set_clip(e, stmt->value); return;
  case 3: set_length(e, stmt, &t->epochs, &t->steps, &e->model->epochs); return;
  case 4: set_length(e, stmt, &t->steps, &t->epochs, &e->model->steps); return;
  }
}

// ---- the block

// The parameters of the model are visible in the train block.
static void run_block(Elab *e, const AstDef *train) {
  const Frame *model = e->frame;
  Def *def = NEW(e->arena, Def);
  *def = (Def){train, false};
  elab_push(e, def, (Loc){0});
  for (int i = 0; i < model->def->ast->params.len; i++) {
    const char *name = model->def->ast->params.at[i].name;
    const Var *var = elab_find_var((Frame *)model, name);
    if (var != NULL) elab_set(e, name, e->params.at[i], var->loc);
  }
  elab_block(e, &train->body);
  elab_pop(e);
}

// Without a setting: sgd with a learning rate of 0.01.
static void default_optimizer(Elab *e, const AstDef *train) {
  Training *t = &e->train;
  const Loc loc = train != NULL ? train->loc : e->frame->def->ast->loc;
  t->optimizer = find_optimizer(e, "sgd", loc);
  t->loc = loc;
  if (t->optimizer == NULL || !is_sound_optimizer(e, t->optimizer)) return;
  vec_push(e->arena, &t->attrs, (OptimizerArg){"lr", value_real(0.01), loc});
  find_rate(e, t);
}

void elab_train_block(Elab *e, const AstDef *train) {
  Training *t = &e->train;
  if (train != NULL) run_block(e, train);
  if (!t->chosen.given) default_optimizer(e, train);
  if (!t->steps.given && !t->epochs.given) e->model->steps = 100;
}

// Lines are tokens, and what they are filled up with are some of them.
static void check_lines(Elab *e, const DataUse *data, const Input *input) {
  const int id = names_get(&e->graph->tensor_names, input->name);
  if (input->source.form != FORM_LINES || id < 0) return;
  const Tensor *t = graph_tensor(e->graph, id);
  if (t->type != TYPE_INT || t->rank != 2 || t->range == 0) {
    elab_error(e, data->loc, "lines are tokens [batch, time] with a range: input '%s' is %s %s", t->name,
               t->type == TYPE_INT ? "int" : "real", shape_text(e, id));
    return;
  }
  const int64_t tokens[] = {input->source.begin, input->source.end, input->source.pad, input->source.unknown};
  for (int i = 0; i < 4; i++)
    if (tokens[i] >= t->range)
      elab_error(e, data->loc, "token %lld is none of input '%s', whose tokens lie below %lld", (long long)tokens[i], t->name,
                 (long long)t->range);
}

void elab_attach_data(Elab *e) {
  VEC(const char *) names = {0};
  for (int i = 0; i < e->model->inputs.len; i++) vec_push(e->arena, &names, e->model->inputs.at[i].name);
  for (int d = 0; d < e->train.data.len; d++) {
    const DataUse *data = &e->train.data.at[d];
    Input *input = NULL;
    for (int i = 0; i < e->model->inputs.len; i++)
      if (str_eq(e->model->inputs.at[i].name, data->input)) input = &e->model->inputs.at[i];
    if (input == NULL && names_get(&e->declared_inputs, data->input) >= 0) continue; // it was wrong
    if (input == NULL) {
      elab_error(e, data->loc, "the model has no input '%s'%s", data->input,
                 elab_suggest_among(e, data->input, names.at, names.len));
      continue;
    }
    if (is_error(data->value)) continue;
    input->source = *data->value.source;
    check_lines(e, data, input);
    const int id = names_get(&e->graph->tensor_names, input->name);
    const bool scaled = input->source.scale != 1 || input->source.offset != floor(input->source.offset);
    if (id >= 0 && graph_tensor(e->graph, id)->type == TYPE_INT && scaled)
      elab_error(e, data->loc, "input '%s' is int: its data cannot be scaled", data->input);
  }
}
