// Choosing a plan as a cost function network.
//
// A variable for each group of operators, its values all ways to split the group's dimensions over the axes of the mesh. Its own
// cost is that of its operators and of what changes its layout within the group. Each tensor that several groups touch is a
// function of them: of the layout in which it is made and those in which it is read. A change that several of them need is made
// once, by the same choice as apply-plan makes (demands.h), and paid once.
#ifndef PARCC_PASSES_SEARCH_PROBLEM_H
#define PARCC_PASSES_SEARCH_PROBLEM_H

#include "../demands.h"
#include "candidate.h"
#include "cfn.h"

// All ways to divide a group that are looked at; none: there are too many.
typedef Candidates ProblemCandidates(const void *ctx, Arena *arena, const Groups *groups, int group, const Mesh *mesh);

// Which plans are looked at, and by what they are compared.
typedef struct ProblemSpace {
  SearchUnit unit; // SEARCH_BYTES: what changes of layout move, all ranks together; operators cost nothing
  GroupParts parts;
  const struct SearchProblem *before; // of the same graph, whose groups are taken; or NULL
  ProblemCandidates *candidates;
  const void *ctx;
  double most;  // steps of ways between layouts that may be expected; 0: any number
  double until; // time (steady_seconds) at which the problem is given up; 0: none
} ProblemSpace;

// Of a group; of the large tables of a problem; steps that are tried for the ways between layouts (some ten seconds).
enum { MOST_CANDIDATES = 1 << 16, MOST_ENTRIES = 1 << 24, MOST_TRIED = 1 << 28 };

typedef struct SearchProblem {
  Arena *arena;
  Model *model;
  CostModel cost;
  SearchUnit unit;
  Planner planner; // without lines
  Groups groups;
  Candidates *of;  // by group
  Cfn cfn;         // variable i is group i; tags of functions of groups alone: what their tensors are (TensorRole)
  int n_approximate; // tensors whose changes of layout cfn counts for each group alone (tables.h), since too many groups touch them
  const int *times;  // by tensor: how often a step changes its layout, at least; NULL: once
  struct Tables *tables; // (tables.h)
  const Cfn *solved;     // the network that problem_solve solved last
  Arena *scratch;        // while the problem is built
  Routes *routes;
} SearchProblem;

// How many things a group can do along an axis, and what number of them is: nothing, its dimensions, sums left pending.
int problem_choices(const Group *group);
signed char problem_choice(const Group *group, int number);
// At most MOST_CANDIDATES choices are looked at: every one that splits each dimension as it allows (groups.h).
ProblemCandidates problem_all_candidates;
// Whether a candidate does.
bool problem_is_useful(const Group *group, const Candidate *candidate, const Mesh *mesh);

// NULL: it is too large, or the time is up. The mesh is without the batch. Shardings
// and layouts of the training graph are overwritten.
SearchProblem *problem_new(Arena *arena, Model *model, const Mesh *mesh, const Machine *machine, const ProblemSpace *space);
// Whether the time at which it is given up is over.
bool problem_is_late(const SearchProblem *problem);
// Lets the operators and stored tensors of a group lie as a candidate of it says (laying.c); only what it stores; or only one of its
// operators, a view by how its operand lies.
void problem_lay_group(SearchProblem *problem, int group, int candidate);
void problem_lay_stored(SearchProblem *problem, int group, const Candidate *candidate);
void problem_lay_op(SearchProblem *problem, const Group *group, int op, const Candidate *candidate);
// The best assignment, limits aside: where cfn is not exact it is made so for the values that are in no worse assignments, which takes
// little more than so many times the budget. Its cost is what it really costs.
CfnSolution problem_solve(SearchProblem *problem, int64_t budget, int times);
// The plan of an assignment: a line for every operator, input and parameter.
Plan problem_plan(Arena *arena, const SearchProblem *problem, const int *value);

#endif
