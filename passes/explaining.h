// What the files of explaining share: a plan that is applied to a copy of the compilation, and the groups of its operators.
#ifndef PARCC_PASSES_EXPLAINING_H
#define PARCC_PASSES_EXPLAINING_H

#include "explain.h"
#include "plan_write.h"
#include "search/candidate.h"

typedef struct Explainer {
  Arena *arena;
  const Compilation *c; // before the pass "plan", with the mesh of the plan
  Planner planner;      // without lines
  Groups groups;
  WholePlan whole;           // the plan
  const Compilation *planned; // with it; before apply-plan
  const Compilation *applied; // and as it is then lowered
} Explainer;

// ---- explain_group.c

// What a group does and costs.
void explain_group(const Explainer *e, int group, ExplainedGroup *explained);
// Every candidate of a group, all others as they are. least: by candidate, of a step at least if the others follow;
// NULL: not known.
void explain_candidates(const Explainer *e, int group, const double *least, ExplainedGroup *explained);
// Whether the group does in the plan what the candidate says.
bool explain_is_chosen(const Explainer *e, int group, const Candidate *candidate);
const char *explain_candidate_text(const Explainer *e, int group, const Candidate *candidate);

#endif
