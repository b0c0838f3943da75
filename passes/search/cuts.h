// Planners that divide a graph again and again, along one axis of the mesh after the other, so that as few bytes as can be move.
//
// A cut chooses one dimension, or none, for every group of operators (groups.h) and everything that is stored; what the cuts
// before it chose stays. It makes the bytes small that all ranks together send in a step, in the changes of layout (ir/reshard.def)
// along the axes so far; what it adds to those of the cuts before is called its own. The first cut is along the slowest axis: where
// each cut takes the blocks that the one before has left, the cheapest come first (theorem 1 of Tofu, section 5.2).
//
//     mesh gpu1=2,gpu2=2       4 devices
//     dense1.y                 the first cut: n/gpu1, the second, of half as many samples: co/gpu2
#ifndef PARCC_PASSES_SEARCH_CUTS_H
#define PARCC_PASSES_SEARCH_CUTS_H

#include "problem.h"

typedef struct CutRule {
  GroupParts parts; // of groups, that are cut by themselves
  // By group: whether a cut may choose none of its dimensions ([0]), so that all ranks along the axis have or do all of it, or dimension
  // d ([d + 1]). Where nothing is allowed that leaves every rank some of a dimension, none is chosen.
  bool **(*allowed)(Arena *arena, const Groups *groups);
  // The choices of one cut; otherwise: whether they were not found in the planner's own way.
  CfnSolution (*solve)(Arena *arena, const Cfn *cfn, bool *otherwise);
  const char *otherwise; // in which way then
} CutRule;

enum { CUTS_BUDGET = 50 * 1000 * 1000 }; // of cfn_solve, for a cut: some seconds
enum { CUTS_MOST = 6 }; // where the user has asked for no mesh: 64 devices by twos. Ways between layouts multiply with the axes

extern const CutRule soybean_rule, tofu_rule;

// Fills c->search. The mesh of the plan is one of prime factors (mesh_factors) where the user has asked for none; the smallest
// stay together where they are more than CUTS_MOST.
Plan cuts_plan(Compilation *c, const CutRule *rule);
// The network of the cut along the last axis of the mesh; before: that of the cut along the axis before it, and what it chose, or NULL.
// *allowed: what the rule allows; NULL: it is asked, and says it in the arena.
SearchProblem *cuts_problem(Arena *arena, Model *model, const Mesh *mesh, const Machine *machine, const CutRule *rule,
                            const SearchProblem *before, const int *chosen, bool ***allowed);

#endif
