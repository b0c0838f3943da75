// Why something is divided as it is: what its group of operators (search/groups.h) does and costs, and what else it could do.
#ifndef PARCC_PASSES_EXPLAIN_H
#define PARCC_PASSES_EXPLAIN_H

#include "profile.h"

// An operator, or a stored tensor or input.
typedef struct ExplainedOp {
  const char *kind, *name;
  const char *choice; // in the words of plans: "n/data co/tensor"
  double seconds;
} ExplainedOp;

// A step from one layout to another of a tensor that the group makes or reads.
typedef struct ExplainedChange {
  const char *tensor, *kind, *axes;
  const char *level; // that is crossed; "local"
  double seconds, bytes;
} ExplainedChange;

// One way to divide the group, all others as they are.
typedef struct ExplainedCandidate {
  const char *choice;
  double own, step; // seconds of its operators, of a training step
  double least;     // of a training step at least, if all others are divided as is best then; INFINITY: not known, or very long
  bool chosen;
  int order;
} ExplainedCandidate;

typedef struct ExplainedGroup {
  const char *name;
  const char *dims; // "n=128 co=96": how many units each can be divided into
  VEC(ExplainedOp) ops;
  double own; // seconds of its operators
  VEC(ExplainedChange) changes;
  double changes_seconds;
  VEC(ExplainedCandidate) candidates; // cheapest first; of equal ones in their order
  VEC(const char *) excluded;         // what is no candidate, and why
  const ExplainedCandidate *next;     // the cheapest that is not chosen; NULL: there is none
  double runner_up;                   // of a plan that was searched: a step of the best one that fits in which this group does something else
  const char *runner_up_choice;       // what it does there; NULL: not searched, or none was found
  bool none_fits;                     // it was searched, and none was found
} ExplainedGroup;

typedef struct Explanation {
  const Compilation *compilation;
  const char *planner; // or the file of the plan
  double step; // seconds
  ProfileUse profile; // of the machine, where it has one
  VEC(ExplainedGroup) groups;
} Explanation;

// Of a compilation before the pass "plan", with a machine, and a plan that was made for it: of what the name means, as in plans an operator, a
// layer, or an input or stored tensor. A plan of auto has a runner-up: the cheapest plan that fits, of all on its axes, in which the operator does something else. The
// candidates of any other plan are tried, those of its own where they are asked for. What is wrong is added to `problems`.
Explanation explain_plan(const Compilation *c, const Plan *plan, const char *name, bool candidates,
                         Problems *problems);
// candidates: print them all.
const char *explain_print(const Explanation *explanation, bool candidates, bool json);

#endif
