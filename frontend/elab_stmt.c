// Statements: assignments, loops, conditions, requirements.
#include "elab.h"

bool elab_in_train_block(const Elab *e) { return e->frame != NULL && e->frame->def->ast->kind == AST_TRAIN; }

static bool assignable(Elab *e, const char *name, Loc loc) {
  static const char *const constants[] = {"true", "false", "training", "inf", "pi"};
  for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
    if (!str_eq(constants[i], name)) continue;
    elab_error(e, loc, "'%s' is a constant: it cannot be assigned", name);
    return false;
  }
  return true;
}

static void assign_several(Elab *e, const AstStmt *stmt, Value value) {
  const int n = stmt->targets.len;
  const bool fits = value_len(value) == n;
  if (!fits && !is_error(value))
    elab_error(e, stmt->value->loc, "expected %d values for %d names, found %s", n, n, value_describe(e, value));
  for (int i = 0; i < n; i++)
    elab_set(e, stmt->targets.at[i].name, fits ? value_item(value, i) : value_error(), stmt->targets.at[i].loc);
}

void elab_assign(Elab *e, const AstStmt *stmt) {
  const Value value = elab_expr(e, stmt->value);
  bool sound = true;
  for (int i = 0; i < stmt->targets.len; i++) sound &= assignable(e, stmt->targets.at[i].name, stmt->targets.at[i].loc);
  if (!sound) return;
  if (stmt->targets.len != 1) {
    assign_several(e, stmt, value);
    return;
  }
  const AstTarget *target = &stmt->targets.at[0];
  if (value.kind == VALUE_LIST && value.is_tuple) {
    elab_error(e, stmt->value->loc, "the call gives %d results, but one name stands on the left", value.list.len);
    elab_set(e, target->name, value_error(), target->loc);
    return;
  }
  elab_set(e, target->name, value, target->loc);
}

static void run_for(Elab *e, const AstStmt *stmt) {
  const Value over = elab_expr(e, stmt->value);
  const AstTarget *var = &stmt->targets.at[0];
  if (is_error(over) || !assignable(e, var->name, var->loc)) return;
  if (value_len(over) < 0) {
    elab_error(e, stmt->value->loc, "'for' goes over a list or a range, found %s", value_describe(e, over));
    return;
  }
  const Var *hidden = elab_find_var(e->frame, var->name);
  const Var before = hidden != NULL ? *hidden : (Var){0};
  for (int i = 0; i < value_len(over); i++) {
    if (!elab_step(e, stmt->loc)) return;
    elab_set(e, var->name, value_item(over, i), var->loc);
    elab_block(e, &stmt->body);
  }
  Var *after = elab_find_var(e->frame, var->name); // the loop's name ends with the loop
  if (after == NULL) return;
  if (before.name != NULL) *after = before;
  else after->name = "";
}

static void run_if(Elab *e, const AstStmt *stmt) {
  bool holds;
  if (elab_condition(e, stmt->value, &holds)) elab_block(e, holds ? &stmt->body : &stmt->orelse);
}

// A requirement of a definition is broken by its use: that is where it is reported.
static void run_require(Elab *e, const AstStmt *stmt) {
  bool holds;
  if (!elab_condition(e, stmt->value, &holds) || holds) return;
  const AstDef *def = e->frame->def->ast;
  const bool is_call = def->kind == AST_OP || def->kind == AST_LAYER || def->kind == AST_OPTIMIZER;
  const char *text = stmt->text != NULL ? stmt->text : "a requirement is not met";
  if (!is_call) {
    elab_error(e, stmt->value->loc, "%s", text);
    return;
  }
  elab_error_at_call(e, e->frame->call, "%s: %s", def->name, text);
  diag_note(stmt->value->loc, "required here");
  e->frame->failed = true;
}

static const char *stmt_word(AstStmtKind kind) {
  switch (kind) {
  case AST_INPUT: return "input";
  case AST_PARAM: return "param";
  case AST_STATE: return "state";
  case AST_UPDATE: return "update";
  case AST_LOSS: return "loss";
  case AST_METRIC: return "metric";
  case AST_DATA: return "data";
  case AST_SAMPLE: return "sample";
  default: return NULL;
  }
}

// Where declarations may stand.
static bool may_stand(Elab *e, const AstStmt *stmt) {
  const char *word = stmt_word(stmt->kind), *where;
  const AstDefKind in = e->frame->def->ast->kind;
  bool allowed;
  switch (stmt->kind) {
  case AST_INPUT:
  case AST_SAMPLE:
    allowed = in == AST_MODEL;
    where = "in the model";
    break;
  case AST_PARAM:
  case AST_LOSS:
  case AST_METRIC:
    allowed = in == AST_MODEL || in == AST_LAYER;
    where = "in layers and in the model";
    break;
  case AST_STATE:
  case AST_UPDATE:
    allowed = in == AST_MODEL || in == AST_LAYER || in == AST_OPTIMIZER;
    where = "in layers, in optimizers and in the model";
    break;
  case AST_DATA:
    allowed = in == AST_TRAIN;
    where = "in the train block";
    break;
  case AST_INDEX_STMT:
    allowed = in != AST_TRAIN;
    word = "an index statement";
    where = "in definitions";
    break;
  default: return true;
  }
  if (allowed && e->init == NULL) return true;
  const char *quote = stmt_word(stmt->kind) != NULL ? "'" : "";
  if (allowed && stmt->kind == AST_INDEX_STMT) return true;
  const bool declares = stmt->kind == AST_INPUT || stmt->kind == AST_PARAM || stmt->kind == AST_STATE;
  if (declares) elab_set(e, stmt->decl.name, value_error(), stmt->decl.loc);
  if (allowed) elab_error(e, stmt->loc, "'%s' inside of an initialiser", word);
  else elab_error(e, stmt->loc, "%s%s%s stands only %s", quote, word, quote, where);
  return false;
}

static void run_kind(Elab *e, const AstStmt *stmt) {
  switch (stmt->kind) {
  case AST_ASSIGN:
    if (elab_in_train_block(e)) elab_train_stmt(e, stmt);
    else elab_assign(e, stmt);
    return;
  case AST_INDEX_STMT:
    if (!assignable(e, stmt->decl.name, stmt->loc)) return;
    elab_set(e, stmt->decl.name, elab_index_stmt(e, &stmt->decl, stmt->value), stmt->decl.loc);
    return;
  case AST_INPUT: elab_input(e, stmt); return;
  case AST_SAMPLE: elab_sample(e, stmt); return;
  case AST_PARAM: elab_param(e, stmt); return;
  case AST_STATE: elab_state(e, stmt); return;
  case AST_UPDATE: elab_update(e, stmt); return;
  case AST_LOSS: elab_loss(e, stmt); return;
  case AST_METRIC: elab_metric(e, stmt); return;
  case AST_DATA: elab_train_stmt(e, stmt); return;
  case AST_FOR: run_for(e, stmt); return;
  case AST_IF: run_if(e, stmt); return;
  case AST_REQUIRE: run_require(e, stmt); return;
  }
}

static void run(Elab *e, const AstStmt *stmt) {
  const int around = elab_enter_shard(e, stmt->decl.shard);
  run_kind(e, stmt);
  elab_leave_shard(e, around);
}

void elab_block(Elab *e, const AstBlock *block) {
  for (int i = 0; i < block->len && !e->frame->failed && elab_step(e, block->at[i]->loc); i++)
    if (may_stand(e, block->at[i])) run(e, block->at[i]);
}
