// Binding: arguments to parameters, extents to the names of dimensions.
#include "elab.h"

// ---- dimensions

// What bound the dimension: "argument 'x' [8, 3]".
static const char *from_text(Elab *e, const DimVar *dim) {
  if (dim->what == NULL) return "its definition";
  return arena_printf(e->arena, "%s '%s' %s", dim->what, dim->decl->name, shape_text(e, dim->tensor));
}

bool bind_extent(Elab *e, const char *name, int64_t extent, Loc loc) {
  const DimVar *bound = elab_find_dim(e->frame, name, false);
  if (bound == NULL) {
    Dim *dim = NEW(e->arena, Dim);
    *dim = (Dim){name, extent};
    elab_set_dim(e, (DimVar){.name = name, .n = 1, .dim = dim, .loc = loc});
    return true;
  }
  if (bound->dim[0].extent == extent) return true;
  elab_error(e, loc, "dimension '%s' is given as %lld here, but is %lld in %s", name, (long long)extent,
             (long long)bound->dim[0].extent, from_text(e, bound));
  if (bound->loc.line > 0) diag_note(bound->loc, "'%s' is bound here", name);
  return false;
}

// "[n, ci, h, w]": the dims of a declaration by their names.
static const char *decl_text(Elab *e, const AstDecl *decl) {
  Text text = {.arena = e->arena};
  text_printf(&text, "[");
  for (int i = 0; i < decl->dims.len; i++) {
    const AstDim *dim = &decl->dims.at[i];
    text_printf(&text, i > 0 ? ", " : "");
    if (dim->name != NULL) text_printf(&text, "%s%s", dim->name, dim->pack ? ".." : "");
    else text_printf(&text, "%s", value_text(e, elab_expr(e, dim->extent)));
  }
  text_printf(&text, "]");
  return text_str(&text);
}

typedef struct Match { // of the dims of a declaration with those of a tensor
  Elab *e;
  const AstDecl *decl;
  const char *what;
  int tensor;
  Loc loc;
  int count[IR_MAX_RANK + 1]; // dims of the tensor that each declared dim stands for
} Match;

#define SAY(m, ...)                                                                                                    \
  do {                                                                                                                 \
    if (str_eq((m)->what, "result")) elab_error((m)->e, (m)->loc, __VA_ARGS__);                                        \
    else elab_error_at_call((m)->e, (m)->loc, __VA_ARGS__);                                                            \
  } while (0)

// A result is shown where it is declared: that is no second place.
static void note_decl(const Match *m) {
  if (!str_eq(m->what, "result")) diag_note(m->decl->loc, "'%s' is declared here", m->decl->name);
}

static const char *owner(const Match *m) { return m->e->frame->def->ast->name; }

// ", where i.. is [8, 3] in argument 'x' [8, 3]": the packs of the declaration that are bound already.
static const char *bound_packs(const Match *m) {
  Text text = {.arena = m->e->arena};
  for (int i = 0; i < m->decl->dims.len; i++) {
    const AstDim *dim = &m->decl->dims.at[i];
    const DimVar *bound = dim->pack ? elab_find_dim(m->e->frame, dim->name, true) : NULL;
    if (bound == NULL) continue;
    text_printf(&text, ", where %s.. is %s in %s", dim->name, dims_text(m->e, bound->dim, bound->n),
                from_text(m->e, bound));
  }
  return text_str(&text);
}

static bool report_rank(Match *m) {
  const int rank = graph_tensor(m->e->graph, m->tensor)->rank;
  SAY(m, "%s: %s '%s' has %d dimension%s %s, expected %s%s", owner(m), m->what, m->decl->name, rank,
      rank == 1 ? "" : "s", shape_text(m->e, m->tensor), decl_text(m->e, m->decl), bound_packs(m));
  note_decl(m);
  return false;
}

// How many dims a pack stands for: -1 if neither bound nor given.
static bool pack_count(Match *m, const AstDim *dim, int rank, int *count) {
  Elab *e = m->e;
  const DimVar *bound = elab_find_dim(e->frame, dim->name, true);
  *count = bound != NULL ? bound->n : -1;
  if (dim->extent == NULL) return true;
  int64_t n;
  if (!value_whole(e, dim->extent->loc, elab_expr(e, dim->extent), "the number of dimensions of the pack", dim->name,
                   -IR_MAX_RANK, &n))
    return false;
  const int64_t exact = n < 0 ? rank + n : n;
  if (exact < 0 || exact > rank) {
    SAY(m, "%s: '%s..%lld' does not fit the %d dimension%s of %s '%s' %s", owner(m), dim->name, (long long)n, rank,
        rank == 1 ? "" : "s", m->what, m->decl->name, shape_text(e, m->tensor));
    diag_note(dim->loc, "the dimensions are declared here");
    return false;
  }
  if (bound != NULL && bound->n != (int)exact) return report_rank(m);
  *count = (int)exact;
  return true;
}

static bool count_dims(Match *m) {
  Elab *e = m->e;
  const int rank = graph_tensor(e->graph, m->tensor)->rank;
  int known = 0, open = -1;
  if (m->decl->dims.len > IR_MAX_RANK + 1) return report_rank(m);
  for (int i = 0; i < m->decl->dims.len; i++) {
    const AstDim *dim = &m->decl->dims.at[i];
    m->count[i] = 1;
    if (dim->pack && !pack_count(m, dim, rank, &m->count[i])) return false;
    if (m->count[i] >= 0) {
      known += m->count[i];
    } else if (open >= 0) {
      elab_error(e, dim->loc, "'%s' declares two packs of unknown length: '%s..' and '%s..'", m->decl->name,
                 m->decl->dims.at[open].name, dim->name);
      return false;
    } else {
      open = i;
    }
  }
  if (known > rank || (open < 0 && known != rank)) return report_rank(m);
  if (open >= 0) m->count[open] = rank - known;
  return true;
}

static bool report_extent(Match *m, const char *name, int64_t extent, const DimVar *bound, int64_t expected) {
  SAY(m, "%s: dimension '%s' is %lld in %s but %lld in %s '%s' %s", owner(m), name, (long long)expected,
      from_text(m->e, bound), (long long)extent, m->what, m->decl->name, shape_text(m->e, m->tensor));
  note_decl(m);
  return false;
}

// The names of a pack's dims are those of the tensor, unless the definition uses them for something else.
static const char *pack_dim_name(Match *m, const AstDim *pack, const char *name, int i) {
  const AstDef *def = m->e->frame->def->ast;
  for (int p = 0; p < def->params.len + def->results.len; p++) {
    const AstDecl *decl = p < def->params.len ? &def->params.at[p] : &def->results.at[p - def->params.len];
    for (int d = 0; d < decl->dims.len; d++)
      if (decl->dims.at[d].name != NULL && !decl->dims.at[d].pack && str_eq(decl->dims.at[d].name, name))
        return arena_printf(m->e->arena, "%s%d", pack->name, i);
  }
  return name;
}

static bool match_pack(Match *m, const AstDim *dim, const Tensor *t, int first, int n) {
  Elab *e = m->e;
  const DimVar *bound = elab_find_dim(e->frame, dim->name, true);
  if (bound != NULL) {
    for (int d = 0; d < n; d++) {
      if (bound->dim[d].extent == t->extent[first + d]) continue;
      SAY(m, "%s: the dimensions '%s..' are %s in %s but %s '%s' is %s", owner(m), dim->name,
          dims_text(e, bound->dim, bound->n), from_text(e, bound), m->what, m->decl->name, shape_text(e, m->tensor));
      note_decl(m);
      return false;
    }
    return true;
  }
  Dim *dims = NEW_ARRAY(e->arena, Dim, n);
  for (int d = 0; d < n; d++) dims[d] = (Dim){pack_dim_name(m, dim, t->dim[first + d], d), t->extent[first + d]};
  elab_set_dim(e, (DimVar){dim->name, true, n, dims, m->what, m->decl, m->tensor, dim->loc});
  return true;
}

static bool match_name(Match *m, const AstDim *dim, int64_t extent) {
  Elab *e = m->e;
  if (dim->extent != NULL) {
    int64_t expected;
    const char *name = dim->name != NULL ? arena_printf(e->arena, "dimension '%s'", dim->name) : "a dimension";
    const char *what = "the extent of dimension";
    if (dim->name == NULL) what = arena_printf(e->arena, "the extent of a dimension of '%s'", m->decl->name);
    if (!value_whole(e, dim->extent->loc, elab_expr(e, dim->extent), what, dim->name, 1, &expected)) return false;
    if (extent != expected) {
      SAY(m, "%s: %s must be %lld but is %lld in %s '%s' %s", owner(m), name, (long long)expected, (long long)extent,
          m->what, m->decl->name, shape_text(e, m->tensor));
      note_decl(m);
      return false;
    }
  }
  if (dim->name == NULL) return true;
  const DimVar *bound = elab_find_dim(e->frame, dim->name, false);
  if (bound != NULL)
    return bound->dim[0].extent == extent || report_extent(m, dim->name, extent, bound, bound->dim[0].extent);
  Dim *own = NEW(e->arena, Dim);
  *own = (Dim){dim->name, extent};
  elab_set_dim(e, (DimVar){dim->name, false, 1, own, m->what, m->decl, m->tensor, dim->loc});
  return true;
}

bool bind_dims(Elab *e, const AstDecl *decl, const char *what, int tensor, Loc loc) {
  Match m = {.e = e, .decl = decl, .what = what, .tensor = tensor, .loc = loc};
  if (!count_dims(&m)) return false;
  const Tensor t = *graph_tensor(e->graph, tensor);
  bool sound = true;
  for (int i = 0, at = 0; i < decl->dims.len; at += m.count[i++]) {
    const AstDim *dim = &decl->dims.at[i];
    sound = sound && (dim->pack ? match_pack(&m, dim, &t, at, m.count[i]) : match_name(&m, dim, t.extent[at]));
  }
  return sound;
}

// ---- declarations whose extents are known

// A plain name is a number of that name, or a dimension bound before.
static bool named_extent(Elab *e, const AstDim *dim, int64_t *extent) {
  const Var *var = elab_find_var(e->frame, dim->name);
  const DimVar *bound = elab_find_dim(e->frame, dim->name, false);
  if (bound != NULL && (var == NULL || var->value.kind != VALUE_NUMBER)) {
    *extent = bound->dim[0].extent;
    return true;
  }
  return value_whole(e, dim->loc, elab_name(e, dim->name, dim->loc), "the extent of dimension", dim->name, 1, extent);
}

static bool given_extent(Elab *e, const AstDecl *decl, const AstDim *dim, int number, int64_t *extent) {
  const char *what = "the extent of dimension";
  if (dim->name == NULL) what = arena_printf(e->arena, "the extent of dimension %d of '%s'", number, decl->name);
  if (!value_whole(e, dim->extent->loc, elab_expr(e, dim->extent), what, dim->name, 1, extent)) return false;
  return dim->name == NULL || bind_extent(e, dim->name, *extent, dim->loc);
}

bool declared_dims(Elab *e, const AstDecl *decl, Dim *dims, int *rank) {
  bool sound = true;
  *rank = 0;
  for (int i = 0; i < decl->dims.len; i++) {
    const AstDim *dim = &decl->dims.at[i];
    const DimVar *pack = dim->pack ? elab_find_dim(e->frame, dim->name, true) : NULL;
    const int n = !dim->pack ? 1 : pack != NULL ? pack->n : 0;
    if (dim->pack && (pack == NULL || dim->extent != NULL)) {
      elab_error(e, dim->loc, "the dimensions '%s..' are not known here", dim->name);
      sound = false;
    }
    if (*rank + n > IR_MAX_RANK) {
      elab_error(e, decl->loc, "a tensor has at most %d dimensions", IR_MAX_RANK);
      return false;
    }
    for (int d = 0; pack != NULL && d < n; d++) dims[(*rank)++] = pack->dim[d];
    if (dim->pack) continue;
    Dim *own = &dims[(*rank)++];
    *own = (Dim){dim->name, 1};
    sound &= dim->extent != NULL ? given_extent(e, decl, dim, *rank, &own->extent) : named_extent(e, dim, &own->extent);
  }
  if (!sound) return false;
  dims_make_unique(e, dims, *rank);
  return elab_check_dims(e, decl->loc, dims, *rank, arena_printf(e->arena, "'%s'", decl->name));
}

// ---- arguments

static const char *suggest_attr(Elab *e, const AstDef *def, const char *name) {
  VEC(const char *) all = {0};
  for (int i = 0; i < def->params.len; i++) vec_push(e->arena, &all, def->params.at[i].name);
  return elab_suggest_among(e, name, all.at, all.len);
}

static bool makes_param(const AstBlock *block, const char *name) {
  for (int i = 0; i < block->len; i++) {
    const AstStmt *stmt = block->at[i];
    if (stmt->kind == AST_PARAM && str_eq(stmt->decl.name, name)) return true;
    if (makes_param(&stmt->body, name) || makes_param(&stmt->orelse, name)) return true;
  }
  return false;
}

static int find_param(const AstDef *def, const char *name) {
  for (int i = 0; i < def->params.len; i++)
    if (str_eq(def->params.at[i].name, name)) return i;
  return -1;
}

static bool tie(Elab *e, const AstDef *def, const Arg *arg) {
  if (def->kind != AST_LAYER || !makes_param(&def->body, arg->name)) return false;
  vec_push(e->arena, &e->frame->tied, (Tied){arg->name, arg->value, arg->loc, false});
  return true;
}

// Which parameter every argument is for; `given` holds the argument of each, or NULL.
static bool place_args(Elab *e, const AstDef *def, const Arg *args, int n_args, const Arg **given) {
  bool sound = true;
  for (int i = 0; i < n_args; i++) {
    const Arg *arg = &args[i];
    const int p = arg->name == NULL ? i : find_param(def, arg->name);
    if (arg->name == NULL && p >= def->params.len) {
      elab_error_at_call(e, arg->loc, "'%s' takes %d argument%s, found %d", def->name, def->params.len,
                         def->params.len == 1 ? "" : "s", n_args);
      diag_note(def->loc, "'%s' is defined here", def->name);
      return false;
    }
    if (p < 0 && tie(e, def, arg)) continue;
    if (p < 0) {
      elab_error_at_call(e, arg->loc, "'%s' has no argument named '%s'%s", def->name, arg->name,
                         suggest_attr(e, def, arg->name));
      diag_note(def->loc, "'%s' is defined here", def->name);
      sound = false;
    } else if (given[p] != NULL) {
      elab_error_at_call(e, arg->loc, "argument '%s' of '%s' is given twice", def->params.at[p].name, def->name);
      diag_note(given[p]->loc, "first given here");
      sound = false;
    } else {
      given[p] = arg;
    }
  }
  return sound;
}

static bool check_arg(Elab *e, const AstDef *def, const AstDecl *param, const Arg *arg) {
  if (is_error(arg->value)) return false;
  if (!param->has_dims) return true;
  if (arg->value.kind != VALUE_TENSOR) {
    elab_error_at_call(e, arg->loc, "%s: argument '%s' must be a tensor %s, found %s", def->name, param->name,
                       decl_text(e, param), value_describe(e, arg->value));
    diag_note(param->loc, "'%s' is declared here", param->name);
    return false;
  }
  const bool is_int = graph_tensor(e->graph, arg->value.tensor)->type == TYPE_INT;
  if (is_int == param->is_int) return true;
  elab_error_at_call(e, arg->loc, "%s: argument '%s' must be %s, found %s", def->name, param->name,
                     param->is_int ? "an int tensor" : "a real tensor", value_describe(e, arg->value));
  diag_note(param->loc, "'%s' is declared here", param->name);
  return false;
}

static bool bind_wheres(Elab *e, const AstDef *def) {
  bool sound = true;
  for (int i = 0; i < def->wheres.len; i++) {
    const AstWhere *where = &def->wheres.at[i];
    int64_t extent;
    sound =
        value_whole(e, where->loc, elab_expr(e, where->value), "the extent of dimension", where->name, 1, &extent) &&
        bind_extent(e, where->name, extent, where->loc) && sound;
  }
  for (int i = 0; i < def->results.len; i++)
    for (int d = 0; d < def->results.at[i].dims.len && sound; d++) {
      const AstDecl *result = &def->results.at[i];
      const AstDim *dim = &result->dims.at[d];
      int64_t extent;
      if (dim->name != NULL && dim->extent != NULL && !dim->pack) sound = given_extent(e, result, dim, d + 1, &extent);
    }
  return sound;
}

bool bind_args(Elab *e, const Def *def, const Arg *args, int n_args, Loc loc) {
  const AstDef *ast = def->ast;
  const Arg **given = NEW_ARRAY(e->arena, const Arg *, ast->params.len);
  bool sound = place_args(e, ast, args, n_args, given);
  for (int p = 0; p < ast->params.len; p++) {
    const AstDecl *param = &ast->params.at[p];
    if (given[p] != NULL) {
      sound &= check_arg(e, ast, param, given[p]);
      elab_set(e, param->name, given[p]->value, given[p]->loc);
    } else if (param->value != NULL) {
      vec_push(e->arena, &e->frame->vars, (Var){.name = param->name, .loc = param->loc, .pending = param->value});
    } else if (sound) {
      elab_error_at_call(e, loc, "'%s' needs an argument '%s'", ast->name, param->name);
      diag_note(param->loc, "'%s' is declared here", param->name);
      sound = false;
    }
  }
  for (int p = 0; p < ast->params.len && sound; p++)
    if (given[p] != NULL && ast->params.at[p].has_dims)
      sound = bind_dims(e, &ast->params.at[p], "argument", given[p]->value.tensor, given[p]->loc);
  for (int p = 0; p < ast->params.len && sound; p++)
    if (given[p] == NULL) sound = !is_error(elab_name(e, ast->params.at[p].name, ast->params.at[p].loc));
  return sound && bind_wheres(e, ast);
}
