// Index statements: the dimensions on the left-hand side, and extents from what is read on the right.
#include "elab.h"

Stmt stmt_begin(Elab *e, Loc loc, const char *tensor_name, const char *op_name) {
  return (Stmt){.e = e, .loc = loc, .tensor_name = tensor_name, .op_name = op_name};
}

bool stmt_push_slot(Stmt *s, const char *name, int64_t extent, Loc loc) {
  if (s->n_slots == IR_MAX_DIMS) {
    elab_error(s->e, loc, "too many dimensions: an index expression has at most %d, with those of its reductions",
               IR_MAX_DIMS);
    return false;
  }
  s->slot[s->n_slots++] = (Dim){name, extent};
  return true;
}

const Binder *stmt_binder(const Stmt *s, const char *name, bool pack) {
  for (int i = s->binders.len - 1; i >= s->e->frame->binders; i--)
    if (s->binders.at[i].pack == pack && s->binders.at[i].name[0] == name[0] && str_eq(s->binders.at[i].name, name))
      return &s->binders.at[i];
  return NULL;
}

// ---- what is accessed

// What stands before the brackets is evaluated once, however often the expression is walked.
Value stmt_accessed(Stmt *s, const AstExpr *index) {
  if (index->lhs->kind == AST_NAME) return elab_name(s->e, index->lhs->text, index->lhs->loc);
  for (int i = 0; i < s->accessed.len; i++)
    if (s->accessed.at[i].node == index && s->accessed.at[i].frame == s->e->frame->serial)
      return s->accessed.at[i].value;
  const Value value = elab_expr(s->e, index->lhs);
  vec_push(s->e->arena, &s->accessed, (Accessed){index, s->e->frame->serial, value});
  return value;
}

static int pack_len(const Stmt *s, const char *name) {
  const Binder *binder = stmt_binder(s, name, true);
  if (binder != NULL) return binder->n;
  const DimVar *dim = elab_find_dim(s->e->frame, name, true);
  return dim != NULL ? dim->n : -1;
}

bool stmt_positions(Stmt *s, const AstExpr *index, int rank, int *first, int *count, int *unknown, bool report) {
  int known = 0;
  *unknown = -1;
  for (int i = 0; i < index->args.len; i++) {
    const AstExpr *arg = index->args.at[i].value;
    count[i] = arg->kind == AST_PACK ? pack_len(s, arg->text) : 1;
    if (count[i] >= 0) {
      known += count[i];
      continue;
    }
    if (*unknown >= 0) {
      if (report) elab_error(s->e, arg->loc, "the number of dimensions of '%s..' is not known here", arg->text);
      return false;
    }
    *unknown = i;
  }
  if (known > rank || (*unknown < 0 && known != rank)) {
    if (report) {
      const Value base = stmt_accessed(s, index);
      elab_error(s->e, index->loc, "%s has %d dimension%s, but %d ind%s given", value_describe(s->e, base), rank,
                 rank == 1 ? "" : "s", known, known == 1 ? "ex is" : "ices are");
    }
    return false;
  }
  if (*unknown >= 0) count[*unknown] = rank - known;
  for (int i = 0, at = 0; i < index->args.len; at += count[i++]) first[i] = at;
  return true;
}

// ---- inference

// A walk over the accesses of an expression that are made at a plain dimension or pack called `name`.
typedef struct Search {
  Stmt *s;
  const char *name;
  bool pack;
  bool quiet; // the first one counts, whatever the others are
  int n;      // dims found, -1: none yet, -2: reported
  Dim dims[IR_MAX_RANK];
  Loc loc;      // where
  Value tensor; // and of which tensor
} Search;

static void search(Search *q, const AstExpr *expr);

static void found(Search *q, const AstExpr *arg, Value base, int first, int count) {
  Elab *e = q->s->e;
  const Tensor *t = graph_tensor(e->graph, base.tensor);
  if (q->n == -2) return;
  bool same = q->n == count;
  for (int d = 0; d < count && same; d++) same = q->dims[d].extent == t->extent[first + d];
  if (q->n >= 0 && !same && !q->quiet) {
    if (q->pack)
      elab_error(e, arg->loc, "'%s..' does not fit: it reads dimensions of the tensor %s here and of %s before",
                 q->name, shape_text(e, base.tensor), shape_text(e, q->tensor.tensor));
    else
      elab_error(e, arg->loc, "dimension '%s' is %lld in this tensor %s but %lld in the tensor %s read before", q->name,
                 (long long)t->extent[first], shape_text(e, base.tensor), (long long)q->dims[0].extent,
                 shape_text(e, q->tensor.tensor));
    diag_note(q->loc, "read here");
    q->n = -2;
    return;
  }
  if (q->n >= 0) return;
  q->n = count;
  for (int d = 0; d < count; d++) q->dims[d] = (Dim){t->dim[first + d], t->extent[first + d]};
  q->loc = arg->loc;
  q->tensor = base;
}

static void search_access(Search *q, const AstExpr *index) {
  int first[IR_MAX_RANK + 1], count[IR_MAX_RANK + 1], unknown;
  if (index->args.len > IR_MAX_RANK + 1) return; // reported when it is converted
  const Value base = stmt_accessed(q->s, index);
  if (base.kind != VALUE_TENSOR) return;
  const int rank = graph_tensor(q->s->e->graph, base.tensor)->rank;
  if (!stmt_positions(q->s, index, rank, first, count, &unknown, false)) return;
  for (int i = 0; i < index->args.len; i++) {
    const AstExpr *arg = index->args.at[i].value;
    if (arg->kind == (q->pack ? AST_PACK : AST_NAME) && str_eq(arg->text, q->name))
      found(q, arg, base, first[i], count[i]);
  }
}

static bool binds(const AstExpr *reduce, const char *name, bool pack) {
  for (int i = 0; i < reduce->args.len; i++) {
    const AstExpr *var = reduce->args.at[i].value;
    const AstExpr *bound = var->kind == AST_BINARY ? var->lhs : var;
    if (bound->kind == (pack ? AST_PACK : AST_NAME) && str_eq(bound->text, name)) return true;
  }
  return false;
}

// Arguments of scalar functions and macros are index expressions; those of ops, layers and built-ins are not.
static bool is_scalar_call(Elab *e, const AstExpr *call) {
  const Def *def = elab_find_def(e, call->text);
  return elab_scalar_fn(e, call->text) >= 0 || (def != NULL && def->ast->kind == AST_FN);
}

static void search(Search *q, const AstExpr *expr) {
  if (!elab_work(q->s->e, expr->loc, 1)) return;
  switch (expr->kind) {
  case AST_INDEX: search_access(q, expr); return;
  case AST_UNARY: search(q, expr->lhs); return;
  case AST_BINARY:
    search(q, expr->lhs);
    search(q, expr->rhs);
    return;
  case AST_CALL:
    if (is_scalar_call(q->s->e, expr))
      for (int i = 0; i < expr->args.len; i++) search(q, expr->args.at[i].value);
    return;
  case AST_REDUCE:
    if (!binds(expr, q->name, q->pack)) search(q, expr->rhs);
    return;
  default: return;
  }
}

int64_t stmt_infer(Stmt *s, const AstExpr *expr, const char *name) {
  Search q = {.s = s, .name = name, .n = -1};
  search(&q, expr);
  return q.n >= 0 ? q.dims[0].extent : q.n == -1 ? 0 : -1;
}

int stmt_infer_pack(Stmt *s, const AstExpr *expr, const char *name, Dim *dims) {
  Search q = {.s = s, .name = name, .pack = true, .n = -1};
  search(&q, expr);
  for (int d = 0; d < q.n; d++) dims[d] = q.dims[d];
  return q.n;
}

// ---- the left-hand side

typedef struct Lhs { // what is known of the dimensions of one name on the left
  int n;
  Dim dims[IR_MAX_RANK];
  bool unknown; // nothing gives the extent: reported after the right-hand side, whose mistakes may be the reason
} Lhs;

static bool lhs_pack(Stmt *s, const AstDim *dim, const AstExpr *value, Lhs *lhs) {
  const DimVar *bound = elab_find_dim(s->e->frame, dim->name, true);
  if (bound != NULL) {
    lhs->n = bound->n;
    memcpy(lhs->dims, bound->dim, sizeof(Dim) * (size_t)bound->n);
    return true;
  }
  lhs->n = stmt_infer_pack(s, value, dim->name, lhs->dims);
  if (lhs->n >= 0) return true;
  if (lhs->n == -1)
    elab_error(s->e, dim->loc, "the dimensions '%s..' are not known: no tensor is read at '%s..' on the right",
               dim->name, dim->name);
  return false;
}

// In the model a bound name that is read at another extent is more likely a slip than a slice.
static void warn_other_extent(Stmt *s, const AstDim *dim, const AstExpr *value, const DimVar *bound) {
  Elab *e = s->e;
  if (e->frame->def->ast->kind != AST_MODEL) return;
  Search q = {.s = s, .name = dim->name, .n = -1, .quiet = true};
  search(&q, value);
  if (q.n < 0 || q.dims[0].extent == bound->dim[0].extent) return;
  elab_warning(e, dim->loc, "dimension '%s' is %lld, but it also reads a dimension of %lld of the tensor %s", dim->name,
               (long long)bound->dim[0].extent, (long long)q.dims[0].extent, shape_text(e, q.tensor.tensor));
  diag_note(bound->loc, "'%s' is bound here", dim->name);
}

static bool lhs_name(Stmt *s, const AstDim *dim, const AstExpr *value, Lhs *lhs) {
  Elab *e = s->e;
  const DimVar *bound = elab_find_dim(e->frame, dim->name, false);
  int64_t extent;
  if (dim->extent != NULL) {
    if (!value_whole(e, dim->extent->loc, elab_expr(e, dim->extent), "the extent of dimension", dim->name, 1, &extent))
      return false;
    if (bound != NULL && bound->dim[0].extent != extent) {
      elab_error(e, dim->loc, "dimension '%s' is given as %lld here, but is %lld already", dim->name, (long long)extent,
                 (long long)bound->dim[0].extent);
      diag_note(bound->loc, "'%s' is bound here", dim->name);
      return false;
    }
  } else if (bound != NULL) {
    extent = bound->dim[0].extent;
    warn_other_extent(s, dim, value, bound);
  } else {
    extent = stmt_infer(s, value, dim->name);
    if (extent < 0) return false;
  }
  *lhs = (Lhs){1, {{dim->name, max_i64(extent, 1)}}, extent == 0};
  return true;
}

static bool lhs_is_sound(Stmt *s, const AstDecl *decl) {
  for (int i = 0; i < decl->dims.len; i++) {
    const AstDim *dim = &decl->dims.at[i];
    if (dim->name == NULL) {
      elab_error(s->e, dim->loc, "expected the name of a dimension: an extent is given as %s[i = 3]", decl->name);
      return false;
    }
    if (dim->pack && dim->extent != NULL) {
      elab_error(s->e, dim->loc, "a pack with a number of dimensions stands only in the head of a definition");
      return false;
    }
    for (int j = 0; j < i; j++) {
      const AstDim *other = &decl->dims.at[j];
      if (!str_eq(other->name, dim->name) || other->pack != dim->pack) continue;
      elab_error(s->e, dim->loc, "dimension '%s' stands twice on the left-hand side", dim->name);
      return false;
    }
  }
  return true;
}

static bool lhs_push(Stmt *s, const AstDecl *decl, const Lhs *lhs) {
  int n = 0;
  Dim dims[IR_MAX_RANK];
  for (int i = 0; i < decl->dims.len; i++) {
    if (n + lhs[i].n > IR_MAX_RANK) {
      elab_error(s->e, decl->loc, "a tensor has at most %d dimensions", IR_MAX_RANK);
      return false;
    }
    s->binders.at[i].first = n;
    s->binders.at[i].n = lhs[i].n;
    for (int d = 0; d < lhs[i].n; d++) dims[n++] = lhs[i].dims[d];
  }
  dims_make_unique(s->e, dims, n);
  for (int d = 0; d < n; d++) stmt_push_slot(s, dims[d].name, dims[d].extent, decl->loc);
  s->n_out = n;
  return true;
}

// Binds the names on the left: packs first, since the place of a name in an access may depend on them.
static bool bind_lhs(Stmt *s, const AstDecl *decl, const AstExpr *value, Lhs *lhs) {
  const int n = decl->dims.len;
  if (!lhs_is_sound(s, decl)) return false;
  if (n > IR_MAX_RANK) {
    elab_error(s->e, decl->loc, "a tensor has at most %d dimensions, found %d", IR_MAX_RANK, n);
    return false;
  }
  bool sound = true;
  for (int i = 0; i < n; i++)
    vec_push(s->e->arena, &s->binders, (Binder){decl->dims.at[i].name, decl->dims.at[i].pack, 0, -1});
  for (int i = 0; i < n; i++) s->binders.at[i].n = decl->dims.at[i].pack ? -1 : 1;
  for (int i = 0; i < n; i++) {
    if (!decl->dims.at[i].pack) continue;
    sound &= lhs_pack(s, &decl->dims.at[i], value, &lhs[i]);
    s->binders.at[i].n = lhs[i].n;
  }
  for (int i = 0; i < n; i++)
    if (!decl->dims.at[i].pack) sound &= lhs_name(s, &decl->dims.at[i], value, &lhs[i]);
  return sound && lhs_push(s, decl, lhs);
}

// ---- statements

// The declaration of the result of this name, or NULL.
static const AstDecl *result_decl(const Elab *e, const char *name) {
  const AstDef *def = e->frame->def->ast;
  for (int i = 0; i < def->results.len; i++)
    if (str_eq(def->results.at[i].name, name)) return &def->results.at[i];
  return NULL;
}

static bool report_unknown(Elab *e, const AstDecl *decl, const Lhs *lhs) {
  bool any = false;
  for (int i = 0; i < decl->dims.len; i++) {
    const AstDim *dim = &decl->dims.at[i];
    if (!lhs[i].unknown) continue;
    elab_error(e, dim->loc,
               "the extent of dimension '%s' is not known: read a tensor at plain '%s' on the right, or give it as "
               "%s[%s = ...]",
               dim->name, dim->name, decl->name, dim->name);
    any = true;
  }
  return any;
}

Value elab_index_stmt(Elab *e, const AstDecl *decl, const AstExpr *value) {
  const int frame_binders = e->frame->binders;
  Stmt s = stmt_begin(e, decl->loc, elab_tensor_name(e, decl->name), elab_stmt_name(e, decl->name));
  e->frame->binders = 0;
  Value result = value_error();
  Lhs lhs[IR_MAX_RANK] = {0};
  if (bind_lhs(&s, decl, value, lhs)) {
    const AstDecl *as = result_decl(e, decl->name);
    const bool declared = as != NULL && as->has_dims;
    Term body = term_convert(&s, value);
    if (!body.failed && report_unknown(e, decl, lhs)) body = term_failed();
    result = stmt_emit(&s, body, declared, declared && as->is_int ? TYPE_INT : TYPE_REAL, -1);
  }
  e->frame->binders = frame_binders;
  return result;
}

Value elab_reduce_expr(Elab *e, const AstExpr *reduce) {
  Stmt s = stmt_begin(e, reduce->loc, elab_tensor_name(e, reduce->text), elab_stmt_name(e, reduce->text));
  const int frame_binders = e->frame->binders;
  e->frame->binders = 0;
  const Value result = stmt_emit(&s, term_convert(&s, reduce), false, TYPE_REAL, -1);
  e->frame->binders = frame_binders;
  return result;
}

Value elab_define(Elab *e, const AstDecl *decl, const Dim *dims, int rank, const AstExpr *value, int out,
                  ScalarType type, const char *name, const char *op_name) {
  Stmt s = stmt_begin(e, decl->loc, name, op_name);
  for (int d = 0; d < rank; d++) stmt_push_slot(&s, dims[d].name, dims[d].extent, decl->loc);
  s.n_out = rank;
  for (int i = 0, at = 0; i < decl->dims.len; i++) {
    const AstDim *dim = &decl->dims.at[i];
    const DimVar *pack = dim->pack ? elab_find_dim(e->frame, dim->name, true) : NULL;
    const int n = !dim->pack ? 1 : pack != NULL ? pack->n : 0;
    const bool binds_name = dim->name != NULL && e->init == NULL; // in an initialiser the names mean extents
    if (binds_name) vec_push(e->arena, &s.binders, (Binder){dim->name, dim->pack, at, n});
    at += n;
  }
  return stmt_emit(&s, term_convert(&s, value), true, type, out);
}
