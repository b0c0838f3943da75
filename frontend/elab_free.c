// Names in the index of an access that are no dimension of the statement: most often a reduction was forgotten.
#include "elab.h"

// The first name of the index for which `is` holds, or NULL. Only what the index is added up from is looked at.
static const AstExpr *find_name(Stmt *s, const AstExpr *index, bool (*is)(Stmt *s, const char *name)) {
  const AstExpr *found = NULL;
  switch (index->kind) {
  case AST_NAME: return is(s, index->text) ? index : NULL;
  case AST_UNARY: return find_name(s, index->lhs, is);
  case AST_BINARY: found = find_name(s, index->lhs, is); return found != NULL ? found : find_name(s, index->rhs, is);
  default: return NULL;
  }
}

static bool iterated(Stmt *s, const char *name) {
  return stmt_binder(s, name, false) != NULL || stmt_binder(s, name, true) != NULL;
}

static bool is_unknown(Stmt *s, const char *name) { return !iterated(s, name) && !elab_is_known(s->e, name); }

// A bound dimension stands for its extent where the statement does not go over it.
static bool is_extent(Stmt *s, const char *name) {
  return !iterated(s, name) && elab_find_var(s->e->frame, name) == NULL &&
         elab_find_dim(s->e->frame, name, false) != NULL;
}

bool stmt_report_free(Stmt *s, const AstExpr *index) {
  Elab *e = s->e;
  const AstExpr *name = find_name(s, index, is_unknown);
  if (name == NULL) return false;
  for (int i = 0; i < s->free.len; i++)
    if (str_eq(s->free.at[i], name->text)) return true; // once in a statement
  vec_push(e->arena, &s->free, name->text);
  const char *suggestion = elab_suggest(e, name->text);
  if (suggestion[0] != '\0') elab_error(e, name->loc, "unknown name '%s'%s", name->text, suggestion);
  else
    elab_error(e, name->loc,
               "index '%s' stands neither on the left nor in a reduction: expected it there, as in 'sum(%s) ...'",
               name->text, name->text);
  return true;
}

bool stmt_warn_extent(Stmt *s, const AstExpr *index, const char *effect) {
  Elab *e = s->e;
  const AstExpr *name = find_name(s, index, is_extent);
  if (name == NULL || e->frame->def->prelude) return false;
  const DimVar *dim = elab_find_dim(e->frame, name->text, false);
  elab_warning(e, index->loc,
               "'%s' is neither on the left nor in a reduction and stands for its extent, %lld: %s; did you mean "
               "'sum(%s) ...', or '%s.extent'?",
               name->text, (long long)dim->dim[0].extent, effect, name->text, name->text);
  return true;
}
