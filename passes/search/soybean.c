// soybean: the tilings that move fewest bytes, as in Wang, Huang and Li, "Unifying Data, Model and Hybrid Parallelism in Deep Learning
// via Tensor Tiling" (2018).
//
// - A cut tiles every tensor by rows, by columns, or not at all: it is then on all ranks along the axis. Rows are the first
//   dimension and columns the second; a tensor of three, samples of sequences, is a matrix of which two dimensions are rows.
//   There are no tilings by the height and width of images and filters.
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
#include "../sharding.h"
#include "cuts.h"
#include "levels.h"
#include "search.h"

enum { MAX_STATES = 1 << 14 };

static bool is_tiling(const Tensor *t, const AxisLayout *axis, const Cut *cut) {
  if (axis->kind != LAYOUT_SHARD) return true;
  return (t->rank <= 3 || axis->dim < 2) && cut_is_plain(&cut[axis->dim], t->extent[axis->dim]);
}

typedef struct Form { // an operator that splits a dimension in two
  const Graph *graph;
  Op op;
  Mesh mesh;
  bool tiled; // all that it has read so far
} Form;

static void check_operand(void *ctx, int tensor) {
  Form *form = ctx;
  const Layout layout = sharding_operand(form->graph, &form->op, tensor, &form->mesh);
  form->tiled &= is_tiling(graph_tensor(form->graph, tensor), &layout.axis[0], layout.cut);
}

// Whether an operator that splits a dimension has its tensors tiled.
static bool is_form(const Graph *graph, const GroupMember *member) {
  Form form = {graph, graph->ops.at[member->op], {.n_axes = 1, .axis = {{"", 2}}}, true};
  form.op.sharding = sharding_replicate();
  plan_split(&form.op.sharding, 0, member->dim, member->unit, &form.mesh);
  for (int a = 0; form.op.kind == OP_OPAQUE && a < form.op.opaque->n_args; a++) {
    const OpaqueArg *arg = &form.op.opaque->args[a];
    const Layout layout = sharding_argument(&form.op, arg, &form.mesh);
    if (arg->tensor >= 0) form.tiled &= is_tiling(graph_tensor(graph, arg->tensor), &layout.axis[0], layout.cut);
  }
  if (form.op.kind == OP_OPAQUE) return form.tiled;
  const Layout result = sharding_result(graph, &form.op, 0, &form.mesh);
  op_visit_reads(&form.op, check_operand, &form);
  return form.tiled && is_tiling(graph_tensor(graph, form.op.out), &result.axis[0], result.cut);
}

static bool has_product(const Groups *groups, const Group *group) {
  const Expr *const *terms;
  for (int i = 0; i < group->ops.len; i++)
    if (products_match(groups->graph, &groups->graph->ops.at[group->ops.at[i]], groups->planner->arena, &terms) > 0) return true;
  return false;
}

static bool tiles(const Groups *groups, int number, int d) {
  const Group *group = &groups->list.at[number];
  if (d < 0) return group->kind != GROUP_OPS || !has_product(groups, group);
  for (int i = 0; i < group->dims.at[d].members.len; i++) {
    const GroupMember *member = &group->dims.at[d].members.at[i];
    if (member->op >= 0 ? !is_form(groups->graph, member) : member->dim >= 2 && graph_tensor(groups->graph, group->tensor)->rank > 3) return false;
  }
  return true;
}

static CfnSolution one_cut(Arena *arena, const Cfn *cfn, bool *otherwise) {
  const CfnSolution solution = levels_solve(arena, cfn, MAX_STATES);
  *otherwise = !solution.feasible;
  return solution.feasible ? solution : cfn_solve(cfn, CUTS_BUDGET, NULL);
}

const CutRule soybean_rule = {GROUPS_BY_DIMS, tiles, one_cut, "by elimination, levels being too wide"};

Plan search_soybean(Compilation *c) { return cuts_plan(c, &soybean_rule); }
