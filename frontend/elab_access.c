// Accesses and reductions in index expressions.
#include <math.h>

#include "elab.h"

#define MAX_POSITION 4611686018427387904.0 // 2^62: no index reaches beyond it

// ---- accesses

// What an access outside of the tensor gives: integers have no infinity.
static double outside_value(Reduce around, ScalarType type) {
  const double identity = reduce_identity(around);
  if (type == TYPE_REAL || !isinf(identity)) return identity;
  return identity < 0 ? INT32_MIN : INT32_MAX;
}

Term term_read(Stmt *s, int tensor, const Index *index) {
  const Tensor *t = graph_tensor(s->e->graph, tensor);
  if (!elab_work(s->e, s->loc, 4 + 2 * t->rank)) return term_failed();
  return term_of(expr_access(s->e->arena, tensor, t->type, t->rank, index, outside_value(s->around, t->type)), 1);
}

static void has_access(void *ctx, const Expr *e) {
  bool *found = ctx;
  *found |= e->kind == EXPR_ACCESS;
}

static void report_not_affine(Stmt *s, const AstExpr *arg, const Tensor *t, int d, Term term) {
  bool data = false;
  expr_visit(term.expr, has_access, &data);
  if (data)
    elab_error(s->e, arg->loc,
               "the index of dimension '%s' depends on the elements of a tensor: a lookup is written as "
               "sum(v) (id[...] == v) * table[v, ...]",
               t->dim[d]);
  else
    elab_error(s->e, arg->loc,
               "the index of dimension '%s' is not affine: expected a sum of dimensions, each times a whole number "
               "known at compile time",
               t->dim[d]);
}

// A constant index that is outside, or that reads one element where all of them may be meant.
static void warn_constant(Stmt *s, const AstExpr *arg, int tensor, int d, int64_t at) {
  Elab *e = s->e;
  const Tensor *t = graph_tensor(e->graph, tensor);
  const char *effect = arena_printf(e->arena, "only index %lld of the tensor %s is read", (long long)at, shape_text(e, tensor));
  const bool outside = at < 0 || at >= t->extent[d];
  if (outside)
    effect = arena_printf(e->arena, "index %lld is outside of dimension '%s' of the tensor %s: the access reads %g always",
                          (long long)at, t->dim[d], shape_text(e, tensor), outside_value(s->around, t->type));
  if (!stmt_warn_extent(s, arg, effect) && outside) elab_warning(e, arg->loc, "%s", effect);
}

// The index at one position that is not a pack.
static bool position_index(Stmt *s, const AstExpr *arg, int tensor, int d, Index *out) {
  Elab *e = s->e;
  if (stmt_report_free(s, arg)) return false;
  const Term term = term_convert(s, arg);
  const Tensor *t = graph_tensor(e->graph, tensor);
  int64_t at;
  if (term.failed) return false;
  if (!term.known && !term.affine) {
    report_not_affine(s, arg, t, d, term);
    return false;
  }
  if (term.known) {
    if (!value_whole(e, arg->loc, term.value, "an index", NULL, -((int64_t)1 << 40), &at)) return false;
    warn_constant(s, arg, tensor, d, at);
    *out = index_const(at);
    return true;
  }
  *out = term.index;
  double reach = fabs((double)out->base);
  for (int i = 0; i < s->n_slots; i++) reach += fabs((double)out->coef[i]) * (double)s->slot[i].extent;
  if (reach < MAX_POSITION) return true;
  elab_error(e, arg->loc, "the index is too large: it reaches %.3g", reach);
  return false;
}

static bool pack_index(Stmt *s, const AstExpr *arg, Index *out) {
  const Binder *binder = stmt_binder(s, arg->text, true);
  if (binder == NULL) {
    elab_error(s->e, arg->loc, "'%s..' is not among the dimensions of this statement%s", arg->text,
               elab_find_dim(s->e->frame, arg->text, true) != NULL
                   ? ": it stands neither on the left nor in a reduction"
                   : "");
    return false;
  }
  for (int d = 0; d < binder->n; d++) out[d] = index_dim(binder->first + d);
  return true;
}

static Term list_access(Stmt *s, const AstExpr *expr, Value list) {
  Elab *e = s->e;
  int64_t i;
  if (expr->args.len != 1) {
    elab_error(e, expr->loc, "a list takes one index, found %d", expr->args.len);
    return term_failed();
  }
  const AstExpr *arg = expr->args.at[0].value;
  const Term term = term_convert(s, arg);
  if (term.failed) return term;
  if (!term.known) {
    elab_error(e, arg->loc, "the index of a list must be known at compile time");
    return term_failed();
  }
  if (!value_whole(e, arg->loc, term.value, "the index of a list", NULL, -((int64_t)1 << 40), &i)) return term_failed();
  if (i < 0 || i >= value_len(list)) {
    elab_error(e, arg->loc, "index %lld is out of range: the list has %d elements, counted from 0", (long long)i,
               value_len(list));
    return term_failed();
  }
  const Value item = value_item(list, (int)i);
  if (item.kind != VALUE_TENSOR) return term_known(item);
  if (graph_tensor(e->graph, item.tensor)->rank == 0) return term_read(s, item.tensor, NULL);
  elab_error(e, expr->loc, "a tensor %s stands in an index expression without indices", shape_text(e, item.tensor));
  return term_failed();
}

Term term_access(Stmt *s, const AstExpr *expr) {
  int first[IR_MAX_RANK + 1], count[IR_MAX_RANK + 1], unknown;
  Index index[IR_MAX_RANK];
  const Value base = stmt_accessed(s, expr);
  if (is_error(base)) return term_failed();
  if (value_len(base) >= 0) return list_access(s, expr, base);
  if (base.kind != VALUE_TENSOR) {
    elab_error(s->e, expr->lhs->loc, "only tensors and lists have elements, found %s", value_describe(s->e, base));
    return term_failed();
  }
  const int rank = graph_tensor(s->e->graph, base.tensor)->rank;
  if (expr->args.len > IR_MAX_RANK + 1) {
    elab_error(s->e, expr->loc, "%s has %d dimensions, but %d indices are given", value_describe(s->e, base), rank,
               expr->args.len);
    return term_failed();
  }
  if (!stmt_positions(s, expr, rank, first, count, &unknown, true)) return term_failed();
  bool sound = true;
  for (int i = 0; i < expr->args.len; i++) {
    const AstExpr *arg = expr->args.at[i].value;
    sound &= arg->kind == AST_PACK ? pack_index(s, arg, index + first[i])
                                   : position_index(s, arg, base.tensor, first[i], index + first[i]);
  }
  return sound ? term_read(s, base.tensor, index) : term_failed();
}

// ---- reductions

static Reduce reduce_of(const char *name) {
  for (Reduce reduce = REDUCE_SUM; reduce <= REDUCE_ARGMAX; reduce++)
    if (str_eq(reduce_name(reduce), name)) return reduce;
  return REDUCE_NONE;
}

static bool push_var(Stmt *s, const char *name, bool pack, const Dim *dims, int n, Loc loc, Binder *out) {
  *out = (Binder){name, pack, s->n_slots, n};
  for (int d = 0; d < n; d++)
    if (!stmt_push_slot(s, dims[d].name, max_i64(dims[d].extent, 1), loc)) return false;
  return true;
}

// The dims of one reduction variable: from its bound, what is in scope, or what the term reads; -1 after an error. Where
// nothing gives the extent it is 0.
static int var_dims(Stmt *s, const AstExpr *var, const AstExpr *term, int outer, Dim *dims) {
  Elab *e = s->e;
  const bool pack = var->kind == AST_PACK;
  const char *name = var->kind == AST_BINARY ? var->lhs->text : var->text;
  int64_t extent;
  if (var->kind == AST_BINARY) {
    const Term bound = term_convert(s, var->rhs);
    if (bound.failed) return -1;
    if (!bound.known) {
      elab_error(e, var->rhs->loc, "the bound of a reduction must be known at compile time");
      return -1;
    }
    if (!value_whole(e, var->rhs->loc, bound.value, "the extent of dimension", name, 1, &extent)) return -1;
    dims[0] = (Dim){name, extent};
    return 1;
  }
  for (int i = outer - 1; i >= e->frame->binders; i--) {
    const Binder *binder = &s->binders.at[i];
    if (binder->pack != pack || !str_eq(binder->name, name) || binder->n < 0) continue;
    memcpy(dims, s->slot + binder->first, sizeof(Dim) * (size_t)binder->n);
    return binder->n;
  }
  const DimVar *bound = elab_find_dim(e->frame, name, pack);
  if (bound != NULL) {
    memcpy(dims, bound->dim, sizeof(Dim) * (size_t)bound->n);
    return bound->n;
  }
  if (pack) {
    const int n = stmt_infer_pack(s, term, name, dims);
    if (n == -1)
      elab_error(e, var->loc, "the dimensions '%s..' are not known: no tensor is read at '%s..'", name, name);
    return n < 0 ? -1 : n;
  }
  extent = stmt_infer(s, term, name);
  dims[0] = (Dim){name, extent};
  return extent < 0 ? -1 : 1;
}

// Pushes the variables of a reduction. While extents are looked for, unknown packs count as unknown.
static bool push_vars(Stmt *s, const AstExpr *reduce, unsigned *unknown) {
  Elab *e = s->e;
  const int outer = s->binders.len, n = reduce->args.len;
  bool sound = true;
  for (int i = 0; i < n; i++) {
    const AstExpr *var = reduce->args.at[i].value;
    if (var->kind == AST_ERROR) return false;
    const AstExpr *name = var->kind == AST_BINARY ? var->lhs : var;
    for (int j = outer; j < s->binders.len; j++)
      if (str_eq(s->binders.at[j].name, name->text) && s->binders.at[j].pack == (var->kind == AST_PACK)) {
        elab_error(e, var->loc, "dimension '%s' stands twice in the reduction", name->text);
        return false;
      }
    vec_push(e->arena, &s->binders, (Binder){name->text, var->kind == AST_PACK, 0, var->kind == AST_PACK ? -1 : 1});
  }
  Binder *bound = NEW_ARRAY(e->arena, Binder, n);
  for (int i = 0; i < n && sound; i++) {
    const AstExpr *var = reduce->args.at[i].value;
    const Binder *binder = &s->binders.at[outer + i];
    Dim dims[IR_MAX_DIMS];
    const int len = var_dims(s, var, reduce->rhs, outer, dims);
    if (len == 1 && dims[0].extent == 0) *unknown |= 1u << (i & 31);
    sound = len >= 0 && push_var(s, binder->name, binder->pack, dims, len, var->loc, &bound[i]);
    if (sound && binder->pack) s->binders.at[outer + i].n = len;
  }
  for (int i = 0; i < n && sound; i++) s->binders.at[outer + i] = bound[i];
  return sound;
}

typedef struct FreeSlots {
  const Stmt *s;
  unsigned mask;
} FreeSlots;

static unsigned slots_of(const Index *index) {
  unsigned mask = 0;
  for (int d = 0; d < IR_MAX_DIMS; d++) mask |= index->coef[d] != 0 ? 1u << d : 0;
  return mask;
}

static void add_slots(void *ctx, const Expr *e) {
  FreeSlots *f = ctx;
  if (e->kind == EXPR_INDEX) f->mask |= slots_of(e->index);
  if (e->kind == EXPR_RANDOM) f->mask |= slots_of(e->random.element);
  if (e->kind != EXPR_ACCESS) return;
  if (e->access.tensor <= REDUCTION_BASE) f->mask |= f->s->reductions.at[REDUCTION_BASE - e->access.tensor]->free;
  else
    for (int i = 0; i < e->access.rank; i++) f->mask |= slots_of(&e->access.index[i]);
}

// Truth values are added, compared and kept as the numbers 0 and 1.
static const Expr *truth_as_number(Arena *arena, const Expr *e) {
  return e->type != TYPE_BOOL ? e : expr_call(arena, FN_select, e, expr_real(arena, 1), expr_real(arena, 0));
}

// Extents that nothing gives are reported after the term, whose mistakes may be the reason.
static void report_unknown(Elab *e, const AstExpr *reduce, unsigned unknown) {
  for (int i = 0; i < reduce->args.len && i < 32; i++) {
    const AstExpr *var = reduce->args.at[i].value;
    if ((unknown >> i & 1) == 0) continue;
    elab_error(e, var->loc,
               "the extent of dimension '%s' is not known: read a tensor at plain '%s', or give it as '%s < extent'",
               var->text, var->text, var->text);
  }
}

Term term_reduce(Stmt *s, const AstExpr *expr) {
  Elab *e = s->e;
  const int n_slots = s->n_slots, n_binders = s->binders.len;
  const Reduce around = s->around;
  Reduction r = {.reduce = reduce_of(expr->text), .first = n_slots, .tensor = -1};
  unsigned unknown = 0;
  if (push_vars(s, expr, &unknown)) {
    r.n = s->n_slots - n_slots;
    memcpy(r.slot, s->slot, sizeof r.slot);
    s->around = r.reduce;
    r.body = term_expr(s, term_convert(s, expr->rhs), expr->rhs->loc);
  }
  s->n_slots = n_slots;
  s->binders.len = n_binders;
  s->around = around;
  if (r.body != NULL) report_unknown(e, expr, unknown);
  if (r.body == NULL || unknown != 0) return term_failed();
  r.body = truth_as_number(e->arena, r.body);
  if (r.n == 0) return r.reduce == REDUCE_ARGMAX ? term_known(value_int(0)) : term_of(r.body, 1); // an empty pack
  FreeSlots f = {.s = s};
  expr_visit(r.body, add_slots, &f);
  r.free = f.mask & ((1u << r.first) - 1);
  const int id = s->reductions.len;
  const ScalarType type = r.reduce == REDUCE_ARGMAX ? TYPE_INT : r.body->type;
  Reduction *kept = NEW(e->arena, Reduction);
  *kept = r;
  vec_push(e->arena, &s->reductions, kept);
  return term_of(expr_access(e->arena, REDUCTION_BASE - id, type, 0, NULL, 0), 1);
}
