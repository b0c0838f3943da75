// Arithmetic on whole tensors: each operation is an index statement written for the user, with broadcasting.
#include "elab.h"

// The common shape of tensors, aligned at the last dimension; extents are equal or 1.
static bool broadcast(Elab *e, Loc loc, const char *what, const Value *args, int n, Dim *dims, int *rank) {
  int first = -1;
  *rank = 0;
  for (int i = 0; i < n; i++) {
    if (args[i].kind != VALUE_TENSOR) continue;
    const Tensor *t = graph_tensor(e->graph, args[i].tensor);
    if (first >= 0 && t->rank <= *rank) continue;
    first = i;
    *rank = t->rank;
  }
  for (int d = 0; d < *rank; d++) dims[d] = (Dim){NULL, 1};
  for (int i = 0; i < n; i++) {
    if (args[i].kind != VALUE_TENSOR) continue;
    const Tensor *t = graph_tensor(e->graph, args[i].tensor);
    for (int d = 0; d < t->rank; d++) {
      Dim *to = &dims[d + *rank - t->rank];
      if (to->extent != 1 && t->extent[d] != 1 && to->extent != t->extent[d]) {
        elab_error(e, loc, "'%s': the shapes %s and %s do not fit: %lld and %lld are neither equal nor 1", what,
                   shape_text(e, args[first == i ? 0 : first].tensor), shape_text(e, args[i].tensor),
                   (long long)to->extent, (long long)t->extent[d]);
        return false;
      }
      if (to->name == NULL || (to->extent == 1 && t->extent[d] != 1)) *to = (Dim){t->dim[d], t->extent[d]};
    }
  }
  return true;
}

// A statement over the common shape of the arguments; `terms` are their elements there.
static bool begin_elementwise(Stmt *s, Loc loc, const char *what, const Value *args, int n, Term *terms) {
  Elab *e = s->e;
  Dim dims[IR_MAX_RANK];
  int rank;
  if (!broadcast(e, loc, what, args, n, dims, &rank)) return false;
  dims_make_unique(e, dims, rank);
  for (int d = 0; d < rank; d++)
    if (!stmt_push_slot(s, dims[d].name, dims[d].extent, loc)) return false;
  s->n_out = rank;
  for (int i = 0; i < n; i++) {
    if (args[i].kind != VALUE_TENSOR) {
      terms[i] = term_known(args[i]);
      continue;
    }
    const Tensor *t = graph_tensor(e->graph, args[i].tensor);
    Index index[IR_MAX_RANK];
    for (int d = 0; d < t->rank; d++) {
      const int slot = d + rank - t->rank;
      index[d] = t->extent[d] == 1 && dims[slot].extent != 1 ? index_const(0) : index_dim(slot);
    }
    terms[i] = term_read(s, args[i].tensor, index);
  }
  return true;
}

static Stmt begin(Elab *e, Loc loc, const char *name) {
  const char *op_name = elab_op_name(e, name);
  return stmt_begin(e, loc, elab_tensor_name(e, name), op_name);
}

static bool is_operand(Elab *e, Loc loc, const char *what, Value v) {
  if (v.kind == VALUE_TENSOR || is_scalar(v)) return true;
  if (!is_error(v)) elab_error(e, loc, "'%s' takes tensors and numbers, found %s", what, value_describe(e, v));
  return false;
}

static const char *op_word(AstOp op) {
  const int fn = fn_of_op(op);
  return fn >= 0 ? fn_name((Fn)fn) : op == AST_MOD ? "mod" : "floordiv";
}

Value tensor_binary(Elab *e, Loc loc, AstOp op, Value a, Value b) {
  if (!is_operand(e, loc, op_symbol(op), a) || !is_operand(e, loc, op_symbol(op), b)) return value_error();
  Stmt s = begin(e, loc, op_word(op));
  const Value args[] = {a, b};
  Term terms[2];
  if (!begin_elementwise(&s, loc, op_symbol(op), args, 2, terms)) return value_error();
  return stmt_emit(&s, term_binary(&s, loc, op, terms[0], terms[1]), false, TYPE_REAL, -1);
}

Value tensor_unary(Elab *e, Loc loc, AstOp op, Value a) {
  Stmt s = begin(e, loc, op_word(op));
  Term term;
  if (!begin_elementwise(&s, loc, op_symbol(op), &a, 1, &term)) return value_error();
  return stmt_emit(&s, term_unary(&s, loc, op, term), false, TYPE_REAL, -1);
}

Value tensor_call(Elab *e, Loc loc, Fn fn, const Value *args) {
  for (int i = 0; i < fn_arity(fn); i++)
    if (!is_operand(e, loc, fn_name(fn), args[i])) return value_error();
  Stmt s = begin(e, loc, fn_name(fn));
  Term terms[3];
  if (!begin_elementwise(&s, loc, fn_name(fn), args, fn_arity(fn), terms)) return value_error();
  return stmt_emit(&s, term_call(&s, loc, fn, terms), false, TYPE_REAL, -1);
}

// An fn applied to tensors, element by element, as one operator. args: as in the call.
Value tensor_macro(Elab *e, const AstExpr *call, Def *def, const Value *args) {
  const int n = call->args.len;
  Stmt s = begin(e, call->loc, def->ast->name);
  Term *terms = NEW_ARRAY(e->arena, Term, n);
  Arg *bound = NEW_ARRAY(e->arena, Arg, n);
  for (int i = 0; i < n; i++)
    if (!is_operand(e, call->args.at[i].loc, def->ast->name, args[i])) return value_error();
  if (!begin_elementwise(&s, call->loc, def->ast->name, args, n, terms)) return value_error();
  for (int i = 0; i < n; i++) {
    const Value value = terms[i].known ? args[i] : (Value){.kind = VALUE_TERM, .term = &terms[i]};
    bound[i] = (Arg){call->args.at[i].name, value, call->args.at[i].loc};
  }
  if (!elab_enter_fn(e, def, bound, n, call->loc)) return value_error();
  const Term body = term_convert(&s, def->ast->value);
  elab_pop(e);
  return stmt_emit(&s, body, false, TYPE_REAL, -1);
}

// t[i, j]: the sub-tensor at the given leading indices.
Value tensor_slice(Elab *e, const AstExpr *index, int tensor) {
  const Tensor t = *graph_tensor(e->graph, tensor);
  const int n = index->args.len;
  if (t.rank == 0) {
    elab_error(e, index->loc, "a tensor [] is one number, which takes no indices, found %d", n);
    return value_error();
  }
  if (n == 0 || n > t.rank) {
    elab_error(e, index->loc, "a tensor %s takes 1 to %d indices here, found %d", shape_text(e, tensor), t.rank, n);
    return value_error();
  }
  Stmt s = begin(e, index->loc, "slice");
  Index at[IR_MAX_RANK];
  for (int d = 0; d < n; d++) {
    const AstExpr *arg = index->args.at[d].value;
    int64_t i;
    if (!value_whole(e, arg->loc, elab_expr(e, arg), "the index of a tensor", NULL, 0, &i)) return value_error();
    if (i >= t.extent[d]) {
      elab_error(e, arg->loc, "index %lld is out of range: dimension '%s' of the tensor %s has %lld elements",
                 (long long)i, t.dim[d], shape_text(e, tensor), (long long)t.extent[d]);
      return value_error();
    }
    at[d] = index_const(i);
  }
  for (int d = n; d < t.rank; d++) {
    if (!stmt_push_slot(&s, t.dim[d], t.extent[d], index->loc)) return value_error();
    at[d] = index_dim(d - n);
  }
  s.n_out = t.rank - n;
  return stmt_emit(&s, term_read(&s, tensor, at), false, TYPE_REAL, -1);
}
