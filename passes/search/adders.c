#include "adders.h"

#include "../contraction.h"

enum { MOST_READERS = 4 };

typedef struct Sum {
  const Groups *groups;
  int64_t elements; // of its terms
} Sum;

// How an expression depends on tensors that may be sums in parts, whichever of them are: not at all, as a multiple of one of them, as a
// sum of such, or otherwise.
typedef enum Dependence { FREE, MULTIPLE, SUM_OF_SUCH, OTHER } Dependence;

// What is stored, an input, or no real number is never a sum in parts.
static Dependence of_access(Sum *s, const Expr *e) {
  const Tensor *t = graph_tensor(s->groups->graph, e->access.tensor);
  if (e->type != TYPE_REAL || t->producer < 0) return FREE;
  s->elements += tensor_elements(t);
  return e->access.outside == 0 && plan_is_term(s->groups->planner, s->groups->graph, e->access.tensor) ? MULTIPLE : OTHER;
}

static Dependence of_expr(Sum *s, const Expr *e) {
  if (e->kind == EXPR_ACCESS) return of_access(s, e);
  if (e->kind != EXPR_CALL) return FREE;
  Dependence arg[3] = {FREE, FREE, FREE};
  for (int i = 0; i < fn_arity(e->call.fn); i++) arg[i] = of_expr(s, e->call.arg[i]);
  if (arg[0] == OTHER || arg[1] == OTHER || arg[2] == OTHER) return OTHER;
  if (arg[0] == FREE && arg[1] == FREE && arg[2] == FREE) return FREE;
  switch (e->call.fn) {
  case FN_neg: return arg[0];
  case FN_add:
  case FN_sub: return SUM_OF_SUCH;
  case FN_mul: return arg[0] + arg[1] == MULTIPLE ? MULTIPLE : OTHER;
  case FN_div: return arg[0] == MULTIPLE && arg[1] == FREE ? MULTIPLE : OTHER;
  default: return OTHER;
  }
}

// Of a tensor that many read the problem counts changes of layout for each reader alone (tables.h). What is left pending is reduced
// once for all of them, which that is far below: nothing would be proved.
static bool few_read(const Groups *groups, int tensor) { return plan_uses(groups->planner, groups->graph, tensor)->ops.len <= MOST_READERS; }

// A product for the library stays one: a share of it would be none.
static bool adds_up(const Groups *groups, const Op *op) {
  Sum sum = {groups, 0};
  const Expr *const *products;
  if (op->kind != OP_COMPUTE || (op->reduce != REDUCE_NONE && op->reduce != REDUCE_SUM)) return false;
  if (products_match(groups->graph, op, groups->planner->arena, &products) > 0) return false;
  const Dependence dependence = of_expr(&sum, op->body);
  const int64_t made = tensor_elements(graph_tensor(groups->graph, op->out));
  return (dependence == MULTIPLE || dependence == SUM_OF_SUCH) && sum.elements > made && few_read(groups, op->out);
}

void adders_find(Groups *g) {
  for (int i = 0; i < g->graph->ops.len; i++) {
    if (g->of_op[i] < 0 || g->list.at[g->of_op[i]].tensor >= 0 || !adds_up(g, &g->graph->ops.at[i])) continue;
    vec_push(g->planner->arena, &g->list.at[g->of_op[i]].adders, i);
  }
}
