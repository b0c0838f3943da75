#include "example.h"

enum { FIRST = 8, LATER = 4, RANGE = 2, ATTRIBUTE = 2, MOST = 1 << 20 }; // extents, how many integers there are, attributes

typedef struct Writer {
  Arena *arena;
  Text declarations, arguments, operands;
  int n_declarations; // a line each
  Names extents; // by name of a dimension
} Writer;

static int extent_of(Writer *w, const AstDim *dim, bool first) {
  const AstExpr *given = dim->pack ? NULL : dim->extent;
  if (given != NULL && given->kind == AST_NUMBER && given->is_int && given->number <= MOST) return (int)given->number;
  if (dim->name == NULL) return first ? FIRST : LATER;
  if (names_get(&w->extents, dim->name) < 0) names_set(&w->extents, dim->name, first ? FIRST : LATER);
  return names_get(&w->extents, dim->name);
}

// The dimensions of an operand; any number of them is one, which has no name.
static const char *dims_text(Writer *w, const AstDecl *decl, bool first) {
  Text text = {.arena = w->arena};
  for (int d = 0; d < decl->dims.len; d++) {
    const AstDim *dim = &decl->dims.at[d];
    const int extent = extent_of(w, dim, first);
    text_printf(&text, "%s", d > 0 ? ", " : "");
    if (dim->name != NULL && !dim->pack) text_printf(&text, "%s=", dim->name);
    text_printf(&text, "%d", extent);
  }
  return text_str(&text);
}

// Real operands are parameters, so that they have gradients.
static void write_operand(Writer *w, const AstDecl *decl, bool first) {
  const char *dims = dims_text(w, decl, first);
  if (decl->is_int) text_printf(&w->declarations, "  input %s[%s]: int < %d;\n", decl->name, dims, RANGE);
  else text_printf(&w->declarations, "  param %s[%s] = normal();\n", decl->name, dims);
  w->n_declarations++;
  text_printf(&w->arguments, "%s%s", w->arguments.len > 0 ? ", " : "", decl->name);
  text_printf(&w->operands, "%s%s[%s]", w->operands.len > 0 ? ", " : "", decl->name, dims);
}

// A number of dimensions is 1: whatever it is, there is one more behind it.
static bool counts_dims(const AstDef *def, const char *name) {
  for (int i = 0; i < def->params.len; i++)
    for (int d = 0; d < def->params.at[i].dims.len; d++) {
      const AstDim *dim = &def->params.at[i].dims.at[d];
      if (dim->pack && dim->extent != NULL && dim->extent->kind == AST_NAME && str_eq(dim->extent->text, name)) return true;
    }
  return false;
}

static void write_attribute(Writer *w, const AstDef *def, const AstDecl *decl) {
  const int value = counts_dims(def, decl->name) ? 1 : ATTRIBUTE;
  if (decl->value != NULL) return;
  text_printf(&w->arguments, "%s%s = %d", w->arguments.len > 0 ? ", " : "", decl->name, value);
  text_printf(&w->operands, "%s%s = %d", w->operands.len > 0 ? ", " : "", decl->name, value);
}

Example example_of(Arena *arena, const AstDef *def) {
  Writer w = {.arena = arena, .declarations.arena = arena, .arguments.arena = arena, .operands.arena = arena, .extents.arena = arena};
  Text results = {.arena = arena}, loss = {.arena = arena}, model = {.arena = arena};
  bool first = true;
  for (int i = 0; i < def->params.len; i++) {
    const AstDecl *decl = &def->params.at[i];
    if (decl->has_dims) write_operand(&w, decl, first);
    else write_attribute(&w, def, decl);
    first = false;
  }
  for (int r = 0; r < def->results.len; r++) {
    const char *name = arena_printf(arena, "result%d", r + 1), *comma = r > 0 ? ", " : "";
    text_printf(&results, "%s%s", comma, name);
    text_printf(&loss, "%smean(%s)", r > 0 ? " + " : "", arena_printf(arena, def->results.at[r].is_int ? "0.5 * %s" : "tanh(%s)", name));
  }
  text_printf(&model, "model example() {\n  input batch_of_8[8];\n%s  %s = %s(%s);\n  loss = %s;\n}\n", text_str(&w.declarations),
              text_str(&results), def->name, text_str(&w.arguments), text_str(&loss));
  return (Example){text_str(&model), text_str(&w.operands), 3 + w.n_declarations};
}

const AstDef *example_find(const AstFile *file, const char *name) {
  for (int i = file->defs.len - 1; i >= 0; i--) {
    const AstDef *def = file->defs.at[i];
    const bool used = def->kind == AST_OP || def->kind == AST_OPAQUE || def->kind == AST_LAYER;
    if (used && def->name != NULL && str_eq(def->name, name)) return def;
  }
  return NULL;
}
