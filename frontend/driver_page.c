// --report: a page about the plan at hand, beside those of the other planners.
#include "driver.h"
#include "page.h"

void driver_begin_report(Driver *d, const Compilation *c) {
  Report *report = NEW(d->arena, Report);
  Comparison *planners = &report->planners;
  planners->compilation = c;
  for (int kind = 0; kind < PLAN_NAMED; kind++) {
    const bool own = kind == (int)c->plan_source.kind; // known once it is compiled
    driver_show_progress(d, arena_printf(d->arena, "parcc: %s, %d of %d", plan_source_name((PlanSourceKind)kind), kind + 1, PLAN_NAMED));
    vec_push(d->arena, &planners->outcomes, own ? (Outcome){0} : driver_try_planner(c, (PlanSourceKind)kind));
  }
  driver_show_progress(d, "");
  d->report = report;
}

bool driver_write_report(Driver *d, const Compilation *c) {
  Report *report = d->report;
  Comparison *planners = &report->planners;
  const Outcome own = outcome_of_compiled(c, report->profile, d->plan_ms * 1e-3);
  if (c->plan_source.kind < PLAN_NAMED) planners->outcomes.at[c->plan_source.kind] = own;
  else vec_push(d->arena, &planners->outcomes, own);
  planners->data = planners->outcomes.at[PLAN_DATA];
  report->c = c;
  return driver_write(d, d->options.report, page_text(d->arena, report_json(report)));
}
