#include "contraction.h"

#include "rewrite.h"

// Splits a product into a constant and at most two accesses.
static bool factors(const Expr *e, Contraction *c) {
  switch (e->kind) {
  case EXPR_CONST: c->alpha *= e->value; return true;
  case EXPR_ACCESS:
    if (e->type != TYPE_REAL || c->b != NULL) return false;
    *(c->a == NULL ? &c->a : &c->b) = e;
    return true;
  case EXPR_CALL:
    if (e->call.fn == FN_neg) {
      c->alpha = -c->alpha;
      return factors(e->call.arg[0], c);
    }
    return e->call.fn == FN_mul && factors(e->call.arg[0], c) && factors(e->call.arg[1], c);
  default: return false;
  }
}

static bool access_uses(const Expr *access, int dim) {
  for (int i = 0; i < access->access.rank; i++)
    if (index_uses(&access->access.index[i], dim)) return true;
  return false;
}

bool contraction_match(const Graph *graph, const Op *op, Contraction *c) {
  *c = (Contraction){.alpha = 1};
  if (op->kind != OP_COMPUTE || op->reduce != REDUCE_SUM || !factors(op->body, c) || c->b == NULL) return false;
  (void)graph;
  for (int d = op->n_out; d < op->n_dims; d++)
    if (!access_uses(c->a, d) || !access_uses(c->b, d)) return false;
  return true;
}

typedef struct Terms {
  Arena *arena;
  VEC(const Expr *) list;
} Terms;

static void collect_terms(Terms *terms, const Expr *e) {
  if (e->kind == EXPR_CALL && e->call.fn == FN_add) {
    collect_terms(terms, e->call.arg[0]);
    collect_terms(terms, e->call.arg[1]);
  } else vec_push(terms->arena, &terms->list, e);
}

int products_match(const Graph *graph, const Op *op, Arena *arena, const Expr *const **bodies) {
  Terms terms = {.arena = arena};
  if (op->kind != OP_COMPUTE || op->reduce != REDUCE_SUM) return 0;
  collect_terms(&terms, op->body);
  for (int i = 0; i < terms.list.len; i++) {
    Op term = *op;
    Contraction c;
    term.body = terms.list.at[i];
    if (!contraction_match(graph, &term, &c)) return 0;
  }
  *bodies = terms.list.at;
  return terms.list.len;
}

bool products_are_for_library(const Graph *graph, const Op *op) {
  if (op->kind != OP_COMPUTE || op->reduce != REDUCE_SUM) return false;
  const Expr *const *terms;
  const int n = products_match(graph, op, graph->arena, &terms);
  for (int i = 0; i < n; i++) {
    Op term = *op;
    Contraction c;
    term.body = terms[i];
    contraction_match(graph, &term, &c);
    if (!contraction_is_large(&term, &c) || !access_is_plain(graph, &term, c.a) || !access_is_plain(graph, &term, c.b)) return false;
  }
  return n > 0;
}

bool access_is_plain(const Graph *graph, const Op *op, const Expr *access) {
  bool taken[IR_MAX_DIMS] = {false};
  for (int i = 0; i < access->access.rank; i++) {
    const int d = access_full_dim(graph, op, access, i);
    if (d < 0 && index_is_const(&access->access.index[i]) && access->access.index[i].base == 0 &&
        graph_tensor(graph, access->access.tensor)->extent[i] == 1)
      continue;
    if (d < 0 || taken[d]) return false;
    taken[d] = true;
  }
  return true;
}

bool contraction_is_large(const Op *op, const Contraction *c) {
  double m = 1, n = 1, k = 1;
  for (int d = 0; d < op->n_dims; d++) {
    const bool in_a = access_uses(c->a, d), in_b = access_uses(c->b, d);
    const double extent = (double)op->dims[d].extent;
    if (d >= op->n_out) k *= extent;
    else if (in_a && !in_b) m *= extent;
    else if (in_b && !in_a) n *= extent;
  }
  const bool matrix = m >= 2 && n >= 2, vector = (m >= 2 || n >= 2) && k >= 64;
  return (matrix || vector) && k >= 2 && m * n * k >= 256;
}
