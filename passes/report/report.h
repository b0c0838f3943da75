// What a report about a compiled model shows, as JSON: the page of --report draws it.
#ifndef PARCC_PASSES_REPORT_REPORT_H
#define PARCC_PASSES_REPORT_REPORT_H

#include "../compare.h"
#include "network.h"

// An operator of the step, or a change of layout, as it is called in profiles.
typedef struct ReportOperator {
  const char *name;
  bool is_change;
  int count;                  // how often a step has it
  double predicted, measured; // seconds of one, by the formulas and by the profile
} ReportOperator;

typedef struct Report {
  const Compilation *c;    // after the last pass, on a machine
  Comparison planners;     // with the plan at hand among them
  const char *plan;        // as text
  const Network *network;  // folded
  VEC(ReportOperator) operators; // those that are measured
  ProfileUse profile;
} Report;

// What is to be seen of a plan that has just been made; and then, while the graphs are as apply-plan has left them: network and operators.
void report_take_plan(Report *report, const Compilation *planned);
void report_look(Report *report, const Compilation *applied);
const char *report_json(const Report *report);

#endif
