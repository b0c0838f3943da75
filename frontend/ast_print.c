#include "ast_print.h"

static void print_expr(const AstExpr *e, Text *out);

static const char *op_text(AstOp op) {
  static const char *const text[] = {
      [AST_ADD] = "+", [AST_SUB] = "-",    [AST_MUL] = "*",   [AST_DIV] = "/", [AST_FLOORDIV] = "//", [AST_MOD] = "%",
      [AST_NEG] = "-", [AST_NOT] = "not ", [AST_EQ] = "==",   [AST_NE] = "!=", [AST_LT] = "<",        [AST_LE] = "<=",
      [AST_GT] = ">",  [AST_GE] = ">=",    [AST_AND] = "and", [AST_OR] = "or"};
  return text[op];
}

static void print_string(const char *text, Text *out) {
  const char quote = strchr(text, '\'') == NULL ? '\'' : '"';
  text_printf(out, "%c%s%c", quote, text, quote);
}

static void print_args(const AstArgs *args, Text *out) {
  for (int i = 0; i < args->len; i++) {
    if (i > 0) text_printf(out, ", ");
    if (args->at[i].name != NULL) text_printf(out, "%s = ", args->at[i].name);
    print_expr(args->at[i].value, out);
  }
}

static void print_shard(const AstShard *shard, Text *out) {
  if (shard == NULL) return;
  text_printf(out, " @shard(");
  for (int i = 0; i < shard->items.len; i++) {
    const AstShardItem *item = &shard->items.at[i];
    const int n = item->axes.len;
    if (i > 0) text_printf(out, ", ");
    if (item->word != NULL) text_printf(out, "%s ", item->word);
    else text_printf(out, item->unit > 1 ? "%s*%.0f: " : "%s: ", item->dim, item->unit);
    for (int a = 0; a < n; a++)
      text_printf(out, "%s%s%s", a > 0 ? ", " : n > 1 ? "[" : "", item->axes.at[a].name, a == n - 1 && n > 1 ? "]" : "");
    if (item->word != NULL && str_eq(item->word, "pin")) text_printf(out, " = %.0f", item->pin);
  }
  text_printf(out, ")");
}

static void print_number(const AstExpr *e, Text *out) {
  if (e->is_int) text_printf(out, "%.0f", e->number);
  else text_printf(out, "%.16e", e->number); // always with a point and an exponent: a real number
}

static void print_expr(const AstExpr *e, Text *out) {
  switch (e->kind) {
  case AST_NUMBER: print_number(e, out); return;
  case AST_STRING: print_string(e->text, out); return;
  case AST_NAME: text_printf(out, "%s", e->text); return;
  case AST_PACK: text_printf(out, "%s..", e->text); return;
  case AST_LIST:
    text_printf(out, "[");
    print_args(&e->args, out);
    text_printf(out, "]");
    return;
  case AST_RANGE:
    text_printf(out, "(");
    print_expr(e->lhs, out);
    text_printf(out, " .. ");
    print_expr(e->rhs, out);
    text_printf(out, ")");
    return;
  case AST_UNARY:
    text_printf(out, "(%s", op_text(e->op));
    print_expr(e->lhs, out);
    text_printf(out, ")");
    return;
  case AST_BINARY:
    text_printf(out, "(");
    print_expr(e->lhs, out);
    text_printf(out, " %s ", op_text(e->op));
    print_expr(e->rhs, out);
    text_printf(out, ")");
    return;
  case AST_CALL:
    text_printf(out, "%s(", e->text);
    print_args(&e->args, out);
    text_printf(out, ")");
    print_shard(e->shard, out);
    return;
  case AST_INDEX:
    print_expr(e->lhs, out);
    text_printf(out, "[");
    print_args(&e->args, out);
    text_printf(out, "]");
    return;
  case AST_FIELD:
    print_expr(e->lhs, out);
    text_printf(out, ".%s", e->text);
    return;
  case AST_REDUCE:
    text_printf(out, "(%s(", e->text);
    print_args(&e->args, out);
    text_printf(out, ") ");
    print_expr(e->rhs, out);
    text_printf(out, ")");
    return;
  case AST_ERROR: text_printf(out, "<error>"); return;
  }
}

static void print_dim(const AstDim *dim, Text *out) {
  if (dim->name != NULL) text_printf(out, "%s", dim->name);
  if (dim->pack) text_printf(out, "..");
  if (dim->extent == NULL) return;
  if (dim->name != NULL && !dim->pack) text_printf(out, " = ");
  print_expr(dim->extent, out);
}

static void print_decl(const AstDecl *decl, Text *out) {
  text_printf(out, "%s", decl->name);
  if (decl->has_dims) {
    text_printf(out, "[");
    for (int d = 0; d < decl->dims.len; d++) {
      if (d > 0) text_printf(out, ", ");
      print_dim(&decl->dims.at[d], out);
    }
    text_printf(out, "]");
  }
  print_shard(decl->shard, out);
  if (decl->is_int) text_printf(out, ": int");
  if (decl->range != NULL) {
    text_printf(out, " < ");
    print_expr(decl->range, out);
  }
  if (decl->spread != NULL) {
    text_printf(out, " ~ ");
    print_expr(decl->spread, out);
  }
  if (decl->value != NULL) {
    text_printf(out, " = ");
    print_expr(decl->value, out);
  }
}

static void print_decls(const AstDecls *decls, Text *out) {
  text_printf(out, "(");
  for (int i = 0; i < decls->len; i++) {
    if (i > 0) text_printf(out, ", ");
    print_decl(&decls->at[i], out);
  }
  text_printf(out, ")");
}

static void print_block(const AstBlock *block, int indent, Text *out);

// KEYWORD VALUE;  with the targets and the value of a statement
static void print_assign(const char *keyword, const AstStmt *s, Text *out) {
  text_printf(out, "%s", keyword);
  for (int i = 0; i < s->targets.len; i++) text_printf(out, "%s%s", i > 0 ? ", " : "", s->targets.at[i].name);
  text_printf(out, " = ");
  print_expr(s->value, out);
  text_printf(out, ";\n");
}

static void print_declaration(const char *keyword, const AstStmt *s, Text *out) {
  text_printf(out, "%s", keyword);
  print_decl(&s->decl, out);
  if (s->value != NULL) {
    text_printf(out, " = ");
    print_expr(s->value, out);
  }
  text_printf(out, ";\n");
}

static void print_if(const AstStmt *s, int indent, Text *out) {
  text_printf(out, "if ");
  print_expr(s->value, out);
  text_printf(out, " ");
  print_block(&s->body, indent, out);
  if (s->orelse.len > 0) {
    text_printf(out, "%*selse ", indent, "");
    const bool chain = s->orelse.len == 1 && s->orelse.at[0]->kind == AST_IF;
    if (chain) print_if(s->orelse.at[0], indent, out);
    else print_block(&s->orelse, indent, out);
  }
}

static void print_stmt(const AstStmt *s, int indent, Text *out) {
  text_printf(out, "%*s", indent, "");
  switch (s->kind) {
  case AST_ASSIGN: print_assign("", s, out); return;
  case AST_INDEX_STMT: print_declaration("", s, out); return;
  case AST_INPUT: print_declaration("input ", s, out); return;
  case AST_PARAM: print_declaration("param ", s, out); return;
  case AST_STATE: print_declaration("state ", s, out); return;
  case AST_UPDATE: print_declaration("update ", s, out); return;
  case AST_LOSS: print_assign(str_eq(s->targets.at[0].name, "loss") ? "" : "loss ", s, out); return;
  case AST_METRIC: print_assign("metric ", s, out); return;
  case AST_DATA: print_assign("data ", s, out); return;
  case AST_SAMPLE: print_assign("sample ", s, out); return;
  case AST_FOR:
    text_printf(out, "for %s in ", s->targets.at[0].name);
    print_expr(s->value, out);
    text_printf(out, " ");
    print_block(&s->body, indent, out);
    return;
  case AST_IF: print_if(s, indent, out); return;
  case AST_REQUIRE:
    text_printf(out, "require ");
    print_expr(s->value, out);
    if (s->text != NULL) {
      text_printf(out, ", ");
      print_string(s->text, out);
    }
    text_printf(out, ";\n");
    return;
  }
}

static void print_block(const AstBlock *block, int indent, Text *out) {
  text_printf(out, "{\n");
  for (int i = 0; i < block->len; i++) print_stmt(block->at[i], indent + 2, out);
  text_printf(out, "%*s}\n", indent, "");
}

static void print_signature(const AstDef *def, Text *out) {
  print_decls(&def->params, out);
  text_printf(out, " -> ");
  print_decls(&def->results, out);
  for (int i = 0; i < def->wheres.len; i++) {
    text_printf(out, "%s%s = ", i == 0 ? " where " : ", ", def->wheres.at[i].name);
    print_expr(def->wheres.at[i].value, out);
  }
}

static void print_opaque(const AstDef *def, Text *out) {
  print_signature(def, out);
  text_printf(out, " split(");
  for (int i = 0; i < def->split.len; i++) {
    if (i > 0) text_printf(out, ", ");
    print_dim(&def->split.at[i], out);
  }
  text_printf(out, ") = ");
  print_string(def->function, out);
  if (def->gradient != NULL) {
    text_printf(out, " grad ");
    print_string(def->gradient, out);
  }
  text_printf(out, ";\n");
}

static void print_def(const AstDef *def, Text *out) {
  static const char *const keyword[] = {
      [AST_OP] = "op",       [AST_LAYER] = "layer", [AST_OPTIMIZER] = "optimizer", [AST_FN] = "fn",
      [AST_MODEL] = "model", [AST_TRAIN] = "train", [AST_OPAQUE] = "opaque op"};
  text_printf(out, "%s%s%s", keyword[def->kind], def->name != NULL ? " " : "", def->name != NULL ? def->name : "");
  switch (def->kind) {
  case AST_OP:
  case AST_LAYER:
  case AST_OPTIMIZER: print_signature(def, out); break;
  case AST_OPAQUE: print_opaque(def, out); return;
  case AST_FN:
    print_decls(&def->params, out);
    text_printf(out, " = ");
    print_expr(def->value, out);
    text_printf(out, ";\n");
    return;
  case AST_MODEL: print_decls(&def->params, out); break;
  case AST_TRAIN: break;
  }
  text_printf(out, " ");
  print_block(&def->body, 0, out);
}

void ast_print(const AstFile *file, Text *out) {
  for (int i = 0; i < file->defs.len; i++) print_def(file->defs.at[i], out);
}
