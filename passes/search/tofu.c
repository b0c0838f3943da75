// tofu: recursive partitioning, as in Wang, Huang and Li, "Supporting Very Large Models using Automatic Dataflow Graph
// Partitioning" (EuroSys 2019).
//
// - Every operator is divided by partition-n-reduce (section 4): along any dimension of its iteration space, so that its blocks are
//   put behind each other or, where a dimension is summed over, reduced. What a block reads is derived from the index expressions
//   (sharding.h; strategies.h prints it). What is stored is always divided, so that a device has one of k parts of it.
// - The graph is coarsened (section 5.1): an operator and its gradients, element-wise runs, time steps, a parameter with its update
//   and the states of it (groups.h). As in the paper the members of a group are cut by themselves: the forward pass, gradients of what
//   it computes, gradients of parameters; but those of one pass with the same dimensions alike (GROUPS_BY_PASS).
// - k devices are the product of factors, larger ones first, and each of them is a cut of the whole graph (section 5.2, cuts.h).
// - A cut is the least of all (section 5.1): the paper's dynamic programming eliminates the groups of a chain one after the other,
//   with a table over the tensors between them. The elimination of cfn.h does the same on a chain, and on other graphs goes on
//   with tables over several.
// - Bytes are all that counts. Whether the plan fits is asked as of any plan.
#include "cuts.h"
#include "search.h"

static bool **all_dims(Arena *arena, const Groups *groups) {
  bool **allowed = NEW_ARRAY(arena, bool *, groups->list.len);
  for (int g = 0; g < groups->list.len; g++) {
    allowed[g] = NEW_ARRAY(arena, bool, groups->list.at[g].dims.len + 1);
    for (int d = 0; d < groups->list.at[g].dims.len; d++) allowed[g][d + 1] = true;
  }
  return allowed;
}

static CfnSolution least(Arena *arena, const Cfn *cfn, bool *otherwise) {
  (void)arena;
  *otherwise = false;
  return cfn_solve(cfn, CUTS_BUDGET, NULL);
}

const CutRule tofu_rule = {GROUPS_BY_PASS, all_dims, least, NULL};

Plan search_tofu(Compilation *c) { return cuts_plan(c, &tofu_rule); }
