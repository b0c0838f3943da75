// The driver: what main.c and the reports about several plans (driver_reports.c) share.
#ifndef PARCC_FRONTEND_DRIVER_H
#define PARCC_FRONTEND_DRIVER_H

#include "../passes/profile.h"
#include "../passes/report/report.h"
#include "options.h"

typedef struct Driver {
  Arena *arena;
  Options options;
  const DriverStage *stages;
  int n_stages;
  const AstFile *prelude; // once it is parsed
  double started;         // of the stage at hand, in milliseconds
  double plan_ms;         // that the pass "plan" took
  Report *report;         // NULL: none is asked for
  double data_step;       // driver_data_step; 0 where nobody asks
} Driver;

double now_ms(void);
// The compilation that the command line asks for, but for these: with its model, before the first pass. c->model is NULL after
// errors, which have been reported.
Compilation driver_begin(Driver *d, const AstFile *file, const ElabOptions *elab, const Mesh *mesh);

// Of a compilation before the pass "plan", with a machine: what a step is predicted to take under data parallelism, in seconds; 0:
// there is no such plan; INFINITY: it does not fit.
double driver_data_step(const Compilation *c);

// The same before the pass "plan".
Compilation driver_begin_plan(Driver *d, const AstFile *file, const ElabOptions *elab, const Mesh *mesh);

// Where no plan fits: how many devices of the machine, or how small a batch, the planner auto finds one for; text for the message.
const char *driver_what_fits(Driver *d, const AstFile *file, int64_t batch);

// Writes to a file, or to standard output ("-"). False after errors.
bool driver_write(Driver *d, const char *path, const char *text);

// That the profile of the machine has few of the operators.
void driver_warn_few(ProfileUse use);

// The plan of --plan-in, and its mesh where the command line asks for none or for as many ranks. passes: so many have run. False after errors.
bool driver_read_plan(Driver *d, Compilation *c, int passes);

// What a planner comes to. The compilation is as it is before the pass "plan".
Outcome driver_try_planner(const Compilation *c, PlanSourceKind kind);
// What is going on, on a line that the next one takes the place of: only for a person to see.
void driver_show_progress(const Driver *d, const char *text);

// --report: before the pass "plan" the other planners are tried; after apply-plan the graphs are looked at (report_look); after the
// last pass the page is written. False after errors.
void driver_begin_report(Driver *d, const Compilation *c);
bool driver_write_report(Driver *d, const Compilation *c);

// --compare, --explain, --sweep and --show-strategies: print the report. The exit code.
int driver_compare(Driver *d, const AstFile *file);
int driver_explain(Driver *d, const AstFile *file);
int driver_sweep(Driver *d, const AstFile *file);
// parcc profile: writes the program that measures. The exit code.
int driver_measure(Driver *d, const AstFile *file);
// parcc data-stats: writes the program that counts lookups. The exit code.
int driver_count(Driver *d, const AstFile *file);
int driver_strategies(Driver *d, const AstFile *file);

#endif
