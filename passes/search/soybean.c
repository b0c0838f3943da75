// soybean: the tilings that move fewest bytes, as in Wang, Huang and Li, "Unifying Data, Model and Hybrid Parallelism in Deep Learning
// via Tensor Tiling" (2018).
//
// - A cut tiles every tensor along one dimension, a matrix by rows or by columns, or not at all: it is then on all ranks along the
//   axis. There are no tilings by the height and width of images and filters, over which windows run.
// - A product of matrices is done in one of three forms, whose operands and result are tiled so that nothing moves inside (rows and
//   whole to rows, whole and columns to columns, columns and rows to sums that are pending): a convolution in the same, by
//   samples, outputs and channels. Sums never leave an operator pending: they are reduced to the tilings in which they are read.
//   Anything else has its tensors all tiled alike, or does everything on all ranks. With what a tensor is tiled by where it is made,
//   and where it is read, goes what the change between them moves.
// - One cut is the best by dynamic programming over breadth-first levels of the graph, in which the operators of the forward and
//   the backward pass that share a tensor are near each other: levels.h. Operators are those of groups.h, since cutting the element-wise
//   ones of a run apart moves no fewer bytes; tensors cost what they do in problem.h. Where a level has too many states (attention and
//   networks unrolled over time make levels wide) the cut is found by the elimination of cfn.h: as good, by another way.
// - 2^k devices are k cuts of all that the cuts before have left (cuts.h). Where there are not 2^k of them, an axis of p devices,
//   a prime number, is one cut into p tiles.
#include "../contraction.h"
#include "cuts.h"
#include "levels.h"
#include "search.h"

enum { MAX_STATES = 1 << 14 };

// ---- height and width ----------------------------------------------------------------------------------------------

// Dimensions of tensors and of groups, of which those are one set that go with each other.
typedef struct Sets {
  const Groups *groups;
  int *parent;
  int *first;      // by group: the number of its first dimension; that of a tensor's is tensor * IR_MAX_RANK
  bool *in_window; // by number: it is read through windows
} Sets;

static int root(int *parent, int i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static void unite(Sets *s, int i, int j) { s->parent[root(s->parent, i)] = root(s->parent, j); }

typedef struct Reading { // by an operator, with a dimension of its group
  Sets *sets;
  int dim, number; // of the operator; of the group
} Reading;

static void note_access(void *ctx, const Expr *e) {
  const Reading *r = ctx;
  if (e->kind != EXPR_ACCESS) return;
  for (int i = 0; i < e->access.rank; i++) {
    const Index *index = &e->access.index[i];
    if (!index_uses(index, r->dim)) continue;
    int uses = 0;
    for (int d = 0; d < IR_MAX_DIMS; d++) uses += index_uses(index, d);
    unite(r->sets, r->number, e->access.tensor * IR_MAX_RANK + i);
    r->sets->in_window[r->number] |= uses > 1;
  }
}

static void note_member(Sets *s, int group, int number, const GroupMember *member) {
  const Graph *graph = s->groups->graph;
  if (member->op < 0) {
    unite(s, number, s->groups->list.at[group].tensor * IR_MAX_RANK + member->dim);
    return;
  }
  const Op *op = &graph->ops.at[member->op];
  Reading r = {s, member->dim, number};
  if (op->kind == OP_COMPUTE) expr_visit(op->body, note_access, &r);
  if (op->kind == OP_COMPUTE && member->dim < op->n_out) unite(s, number, op->out * IR_MAX_RANK + member->dim);
}

static Sets find_windows(Arena *arena, const Groups *groups) {
  Sets s = {.groups = groups, .first = NEW_ARRAY(arena, int, groups->list.len)};
  int n = groups->graph->tensors.len * IR_MAX_RANK;
  for (int g = 0; g < groups->list.len; n += groups->list.at[g++].dims.len) s.first[g] = n;
  s.parent = NEW_ARRAY(arena, int, n);
  s.in_window = NEW_ARRAY(arena, bool, n);
  for (int i = 0; i < n; i++) s.parent[i] = i;
  for (int g = 0; g < groups->list.len; g++)
    for (int d = 0; d < groups->list.at[g].dims.len; d++) {
      const GroupDim *dim = &groups->list.at[g].dims.at[d];
      for (int i = 0; i < dim->members.len; i++) note_member(&s, g, s.first[g] + d, &dim->members.at[i]);
    }
  for (int i = 0; i < n; i++)
    if (s.in_window[i]) s.in_window[root(s.parent, i)] = true;
  return s;
}

// ---- what is allowed -----------------------------------------------------------------------------------------------

static bool has_product(const Groups *groups, const Group *group) {
  const Expr *const *terms;
  for (int i = 0; i < group->ops.len; i++)
    if (products_match(groups->graph, &groups->graph->ops.at[group->ops.at[i]], groups->planner->arena, &terms) > 0) return true;
  return false;
}

static bool **tilings(Arena *arena, const Groups *groups) {
  Sets sets = find_windows(arena, groups);
  bool **allowed = NEW_ARRAY(arena, bool *, groups->list.len);
  for (int g = 0; g < groups->list.len; g++) {
    const Group *group = &groups->list.at[g];
    allowed[g] = NEW_ARRAY(arena, bool, group->dims.len + 1);
    allowed[g][0] = group->kind != GROUP_OPS || !has_product(groups, group);
    for (int d = 0; d < group->dims.len; d++) allowed[g][d + 1] = !sets.in_window[root(sets.parent, sets.first[g] + d)];
  }
  return allowed;
}

static CfnSolution one_cut(Arena *arena, const Cfn *cfn, bool *otherwise) {
  const CfnSolution solution = levels_solve(arena, cfn, MAX_STATES);
  *otherwise = !solution.feasible;
  return solution.feasible ? solution : cfn_solve(cfn, CUTS_BUDGET, NULL);
}

const CutRule soybean_rule = {GROUPS_BY_DIMS, tilings, one_cut, "by elimination, levels being too wide"};

Plan search_soybean(Compilation *c) { return cuts_plan(c, &soybean_rule); }
