// The reports about plans of a model, --compare, --explain and --sweep.
#include <math.h>
#include <unistd.h>

#include "../passes/compare.h"
#include "../passes/evaluate.h"
#include "../codegen/codegen.h"
#include "../passes/explain.h"
#include "../passes/profile_program.h"
#include "../passes/sweep.h"
#include "diag.h"
#include "driver.h"
#include "output.h"

void driver_show_progress(const Driver *d, const char *text) {
  if (!d->options.quiet && isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K%s", text);
}

Outcome driver_try_planner(const Compilation *c, PlanSourceKind kind) {
  Plan plan;
  Search search = {0};
  const double before = now_ms();
  const char *refused = evaluate_planner(c, (PlanSource){.kind = kind}, &plan, &search);
  const double seconds = (now_ms() - before) * 1e-3;
  return outcome_of(c, kind, refused == NULL ? &plan : NULL, refused, &search, seconds);
}

double driver_data_step(const Compilation *c) {
  Plan plan;
  Search search;
  if (evaluate_planner(c, (PlanSource){.kind = PLAN_DATA}, &plan, &search) != NULL) return 0;
  return evaluate_step(c, &plan);
}

// The planners that are asked for; else: all, or the default.
static PlanSources planners_of(const Driver *d, bool all) {
  PlanSources planners = d->options.searches;
  if (planners.len > 0) return planners;
  for (int kind = 0; kind < PLAN_NAMED; kind++)
    if (all || kind == PLAN_AUTO) vec_push(d->arena, &planners, (PlanSource){.kind = (PlanSourceKind)kind, .seed = d->options.seed});
  return planners;
}

// Warns if the profile has few operators even of the plan of which it has most.
static void check_profile(const Driver *d, const Outcome *outcome, int n) {
  ProfileUse best = {0, 0};
  for (int i = 0; i < n; i++) {
    const ProfileUse use = outcome[i].profile;
    if (best.of == 0 || (int64_t)use.measured * best.of > (int64_t)best.measured * use.of) best = use;
  }
  if (d->options.profile != NULL && best.of > 0 && profile_is_few(best)) driver_warn_few(best);
}

int driver_compare(Driver *d, const AstFile *file) {
  const PlanSources planners = planners_of(d, true);
  const Compilation c = driver_begin_plan(d, file, &d->options.elab, &d->options.mesh);
  if (c.model == NULL) return EXIT_INPUT;
  Comparison comparison = {.compilation = &c, .data = driver_try_planner(&c, PLAN_DATA)};
  for (int i = 0; i < planners.len; i++) {
    driver_show_progress(d, arena_printf(d->arena, "parcc: %s, %d of %d", plan_source_name(planners.at[i].kind), i + 1, planners.len));
    const PlanSourceKind kind = planners.at[i].kind;
    vec_push(d->arena, &comparison.outcomes, kind == PLAN_DATA ? comparison.data : driver_try_planner(&c, kind));
  }
  driver_show_progress(d, "");
  check_profile(d, comparison.outcomes.at, comparison.outcomes.len);
  return output_stdout(compare_print(&comparison, d->options.json)) ? EXIT_RIGHT : EXIT_INPUT;
}

// ---- one of the choices of a plan -----------------------------------------------------------------------------------

int driver_explain(Driver *d, const AstFile *file) {
  const Options *o = &d->options;
  Compilation c = driver_begin_plan(d, file, &o->elab, &o->mesh);
  if (c.model == NULL || (o->plan_in != NULL && !driver_read_plan(d, &c, pipeline_find("plan")))) return EXIT_INPUT;
  Problems problems = {.arena = d->arena};
  Plan plan = c.plan;
  if (o->plan_in == NULL) {
    Search search = {0};
    driver_show_progress(d, arena_printf(d->arena, "parcc: %s", plan_source_text(d->arena, &o->plan)));
    const char *refused = evaluate_planner(&c, o->plan, &plan, &search);
    driver_show_progress(d, "");
    c.search = search;
    if (refused != NULL) problem_add(&problems, (Loc){0}, "%s", refused);
  }
  if (diag_problems(&problems)) return EXIT_INPUT;
  c.mesh = plan.mesh; // its planner may have taken another one
  const Explanation explanation = explain_plan(&c, &plan, o->explain, o->candidates, &problems);
  if (diag_problems(&problems)) return EXIT_INPUT;
  if (o->profile != NULL && profile_is_few(explanation.profile)) driver_warn_few(explanation.profile);
  return output_stdout(explain_print(&explanation, o->candidates, o->json)) ? EXIT_RIGHT : EXIT_INPUT;
}

// ---- measuring -----------------------------------------------------------------------------------------------------

static void measure_planners(const Driver *d, const Compilation *c, ProfileProgram *program, Problems *problems) {
  const PlanSources planners = planners_of(d, false);
  for (int i = 0; i < planners.len; i++) {
    Plan plan;
    Search search;
    const char *refused = evaluate_planner(c, planners.at[i], &plan, &search);
    if (refused != NULL) problem_add(problems, (Loc){0}, "%s", refused);
    else profile_program_add(program, c, &plan);
  }
}

int driver_measure(Driver *d, const AstFile *file) {
  const Options *o = &d->options;
  Compilation c = driver_begin_plan(d, file, &o->elab, &o->mesh);
  if (c.model == NULL || (o->plan_in != NULL && !driver_read_plan(d, &c, pipeline_find("plan")))) return EXIT_INPUT;
  ProfileProgram *program = profile_program_new(&c);
  Problems problems = {.arena = d->arena};
  if (o->plan_in != NULL) profile_program_add(program, &c, &c.plan);
  else measure_planners(d, &c, program, &problems);
  if (diag_problems(&problems)) return EXIT_INPUT;
  if (!o->quiet)
    fprintf(stderr, "parcc: %d operators to measure, in about %.2g s on a device of %s, and collectives where it is started on several\n",
            profile_program_operators(program), profile_program_seconds(program), c.machine->name);
  return driver_write(d, o->out, codegen_print(profile_program_end(program))) ? EXIT_RIGHT : EXIT_INPUT;
}

// ---- sweeps --------------------------------------------------------------------------------------------------------

static Compilation begin_value(Driver *d, const AstFile *file, const SweepResult *result, int i, const Mesh *mesh) {
  ElabOptions elab = d->options.elab;
  if (!result->of_devices) {
    vec_own(d->arena, &elab.defines);
    vec_push(d->arena, &elab.defines, (Define){result->parameter, arena_printf(d->arena, "%lld", (long long)result->value[i])});
  }
  return driver_begin_plan(d, file, &elab, mesh);
}

// The outcomes of all planners with value number `i` of the parameter. False: the model refuses it, and these say why.
static bool try_value(Driver *d, const AstFile *file, const PlanSources *planners, SweepResult *result, int i) {
  const long long value = result->value[i];
  Mesh mesh = d->options.mesh;
  Compilation c = {0};
  const char *wrong = result->of_devices ? options_mesh_of(d->arena, result->machine, value, &mesh) : NULL, *refused = NULL;
  if (wrong == NULL) {
    diag_hold();
    c = begin_value(d, file, result, i, &mesh);
    wrong = refused = diag_release();
    if (c.model != NULL) result->model = c.model->name;
  }
  for (int p = 0; p < planners->len; p++) {
    const PlanSourceKind kind = planners->at[p].kind;
    Outcome *outcome = &result->outcome[i * planners->len + p];
    driver_show_progress(d, arena_printf(d->arena, "parcc: %s=%lld, %s", result->parameter, value, plan_source_name(kind)));
    *outcome = wrong != NULL ? (Outcome){.planner = plan_source_name(kind), .reason = wrong} : driver_try_planner(&c, kind);
  }
  driver_show_progress(d, "");
  return refused == NULL;
}

int driver_sweep(Driver *d, const AstFile *file) {
  const Sweep *sweep = &d->options.sweep;
  const PlanSources planners = planners_of(d, false);
  const int n = sweep->values.len;
  int taken = 0;
  SweepResult result = {.model = d->options.model, .parameter = sweep->parameter, .of_devices = sweep->of_devices};
  result.machine = d->options.machine;
  result.n_values = n;
  result.n_planners = planners.len;
  result.value = sweep->values.at;
  result.outcome = NEW_ARRAY(d->arena, Outcome, n * planners.len);
  for (int i = 0; i < n; i++)
    taken += try_value(d, file, &planners, &result, i);
  if (taken == 0) { // the model is wrong by itself: now its errors are said
    begin_value(d, file, &result, 0, &d->options.mesh);
    return EXIT_INPUT;
  }
  check_profile(d, result.outcome, n * planners.len);
  return output_stdout(sweep_print(d->arena, &result, d->options.json)) ? EXIT_RIGHT : EXIT_INPUT;
}
