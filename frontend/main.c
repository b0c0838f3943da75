// parcc: reads a model, runs the pipeline, writes the program.
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../codegen/codegen.h"
#include "../ir/suggest.h"
#include "../passes/lookups.h"
#include "../passes/plan_show.h"
#include "../passes/plan_write.h"
#include "../passes/profile.h"
#include "../passes/report/network.h"
#include "../passes/sim/streams.h"
#include "../passes/report/trace.h"
#include "../passes/search/cfn_write.h"
#include "../passes/stats.h"
#include "ast_print.h"
#include "detect.h"
#include "diag.h"
#include "driver.h"
#include "output.h"

enum { STAGE_PARSE, STAGE_ELABORATE, FIRST_PASS }; // stages before the pipeline's passes

double now_ms(void) { return steady_seconds() * 1e3; }

// The pipeline with the frontend's two stages before it.
static const DriverStage *list_stages(Arena *arena, int *n) {
  *n = FIRST_PASS + pipeline_len;
  DriverStage *stages = NEW_ARRAY(arena, DriverStage, *n);
  stages[STAGE_PARSE] = (DriverStage){"parse", "the syntax tree of the model file"};
  stages[STAGE_ELABORATE] = (DriverStage){"elaborate", "the model's graphs: initialisation, training, evaluation"};
  for (int i = 0; i < pipeline_len; i++) stages[FIRST_PASS + i] = (DriverStage){pipeline[i].name, pipeline[i].summary};
  return stages;
}

static bool wants_dump(const Driver *d, const char *stage) {
  for (int i = 0; i < d->options.dump_after.len; i++)
    if (str_eq(d->options.dump_after.at[i], stage)) return true;
  return false;
}

// What every stage ends with: its time, its dumps. `file` is the tree after "parse", NULL from then on.
// Returns false when the compilation is to end here or a dump cannot be written; *code is then the exit code.
static bool end_stage(Driver *d, int stage, const AstFile *file, const Compilation *c, int *code) {
  const char *name = d->stages[stage].name;
  if (d->options.verbose) fprintf(stderr, "parcc: %8.2f ms  %s\n", now_ms() - d->started, name);
  const bool to_stdout = wants_dump(d, name);
  *code = EXIT_RIGHT;
  if (to_stdout || d->options.dump_dir != NULL) {
    Text text = {.arena = d->arena};
    text_printf(&text, "# after %s\n", name);
    if (file != NULL) ast_print(file, &text);
    else pipeline_print(c, &text);
    if (to_stdout && !output_stdout(text_str(&text))) *code = EXIT_INPUT;
    if (d->options.dump_dir != NULL &&
        !output_file(d->arena, options_dump(d->arena, &d->options, d->stages, stage), text_str(&text)))
      *code = EXIT_INPUT;
  }
  d->started = now_ms();
  const bool stop = d->options.stop_after != NULL && str_eq(d->options.stop_after, name);
  return *code == EXIT_RIGHT && !stop;
}

Compilation driver_begin(Driver *d, const AstFile *file, const ElabOptions *elab, const Mesh *mesh) {
  const Options *o = &d->options;
  Compilation c = {.arena = d->arena,
                   .machine = o->machine,
                   .mesh = *mesh,
                   .mesh_given = o->mesh_given,
                   .plan_source = o->plan,
                   .strip_bytes = o->strip_bytes,
                   .time_limit = o->time_limit,
                   .by_sum = o->by_sum,
                   .keeps_problem = o->emit_problem != NULL,
                   .problems = {.arena = d->arena}};
  if (d->prelude == NULL) d->prelude = parse_prelude(d->arena);
  if (diag_errors() > 0) fatal("the prelude has errors");
  c.model = elab_model(d->arena, d->prelude, file, elab);
  if (diag_errors() > 0) c.model = NULL;
  if (c.model == NULL) return c;
  const Lookups lookups = lookups_find(d->arena, c.model->train);
  Problems problems = {.arena = d->arena};
  lookups_give_spreads(c.model, &lookups, o->data_stats, &problems);
  if (diag_problems(&problems)) c.model = NULL;
  return c;
}

Compilation driver_begin_plan(Driver *d, const AstFile *file, const ElabOptions *elab, const Mesh *mesh) {
  Compilation c = driver_begin(d, file, elab, mesh);
  for (int pass = 0; c.model != NULL && pass < pipeline_find("plan"); pass++) pipeline_run(&c, pass);
  return c;
}

bool driver_read_plan(Driver *d, Compilation *c, int passes) {
  const char *path = d->options.plan_in, *name = str_eq(path, "-") ? "<stdin>" : path;
  size_t len;
  const char *text = input_source(d->arena, path, name, &len);
  if (text == NULL) return false;
  c->plan = plan_read(name, text, len, &c->problems);
  c->plan_source = (PlanSource){.kind = PLAN_FILE, .file = name};
  const bool any_mesh = !d->options.mesh_given;
  if (any_mesh && (!d->options.ranks_given || mesh_ranks(&c->mesh) == mesh_ranks(&c->plan.mesh)))
    c->mesh = c->plan.mesh;
  if (c->machine != NULL && mesh_ranks(&c->mesh) > machine_devices(c->machine))
    problem_add(&c->problems, c->plan.mesh_loc, "the plan is for %d devices, the machine '%s' has %d",
                mesh_ranks(&c->mesh), c->machine->name, machine_devices(c->machine));
  // What could be read of a plan that has mistakes is held against the model, too, so that all mistakes are told at once.
  const bool rest = c->problems.list.len > 0 && c->plan.model != NULL && c->plan.mesh.n_axes > 0;
  for (int pass = passes; rest && pass <= pipeline_find("plan"); pass++) pipeline_run(c, pass);
  return !diag_problems(&c->problems);
}

bool driver_write(Driver *d, const char *path, const char *text) {
  return str_eq(path, "-") ? output_stdout(text) : output_file(d->arena, path, text);
}

// What is wanted of the plan, as text; NULL: nothing.
typedef struct PlanTexts {
  const char *written, *shown;
  const char *profile, *dot; // once the plan is applied
} PlanTexts;

static PlanTexts plan_texts(const Driver *d, const Compilation *c) {
  Text text = {.arena = d->arena};
  if (d->options.plan_out != NULL) {
    const Plan plan = plan_write(c);
    plan_print(&plan, &text);
  }
  return (PlanTexts){d->options.plan_out != NULL ? text_str(&text) : NULL, d->options.show_plan ? plan_show(c) : NULL, NULL, NULL};
}

void driver_warn_few(ProfileUse use) {
  fprintf(stderr, "parcc: warning: of %d operators that can be measured %d are: the profile is of another model, another machine or other blocks\n",
          use.of, use.measured);
}

// The profile that is wanted, or NULL; and what of the one that is given is of use.
static const char *profile_text(const Driver *d, const Compilation *c) {
  if (d->options.profile != NULL) {
    const ProfileUse use = profile_use(c);
    if (profile_is_few(use)) driver_warn_few(use);
    else if (!d->options.quiet) fprintf(stderr, "parcc: of %d operators that can be measured %d are\n", use.of, use.measured);
  }
  return d->options.profile_out != NULL ? profile_print(c) : NULL;
}

// The drawing that is wanted, or NULL.
static const char *dot_text(const Driver *d, const Compilation *c) {
  if (d->options.dot == NULL) return NULL;
  Network *network = network_of(c);
  network_fold(network);
  return network_dot(network);
}

typedef struct ProblemFile {
  const Cfn *cfn;
  CfnFormat format;
  const char *name;
} ProblemFile;

static void write_problem_to(FILE *file, const void *what) {
  static const double MICROSECONDS = 1e6;
  const ProblemFile *problem = what;
  cfn_write(file, problem->cfn, problem->format, problem->name, MICROSECONDS);
}

// What was solved, also where it has no solution. False after an error.
static bool write_problem(const Driver *d, const Compilation *c) {
  ProblemFile problem = {.cfn = c->search.problem, .name = c->model->name};
  if (d->options.emit_problem == NULL) return true;
  if (problem.cfn == NULL && c->problems.list.len > 0) return true; // which will be told
  if (problem.cfn == NULL) {
    fprintf(stderr, "parcc: error: --emit-problem: there is no problem: %s\n", c->search.how);
    return false;
  }
  cfn_format_of(d->options.emit_problem, &problem.format);
  const int64_t entries = cfn_write_entries(problem.cfn);
  if (entries <= CFN_WRITE_MAX) return output_written(d->arena, d->options.emit_problem, write_problem_to, &problem);
  fprintf(stderr, "parcc: error: --emit-problem: the tables of the problem have %lld entries, more than the %d that are written\n",
          (long long)entries, CFN_WRITE_MAX);
  return false;
}

// What no plan is below, or no choice by the planner's own sum.
static void report_bound(const Driver *d, const Search *search, double scale, const char *unit) {
  const char *ways = search->ways > 0 ? arena_printf(d->arena, ", at most %d ways an operator,", search->ways) : "";
  const char *mesh = arena_printf(d->arena, "%s%s", mesh_text(d->arena, &search->mesh), ways), *fitting = search->of_lean ? ", in microbatches and with layers made again or not, that is estimated to fit" : search->of_fitting ? " that is estimated to fit" : "";
  if (search->bound == INFINITY) {
    fprintf(stderr, ", no plan that was searched on %s is estimated to fit", mesh);
    return;
  }
  if (!search->of_step) fprintf(stderr, ", none of its choices comes to less than");
  else if (search->cost < search->bound) fprintf(stderr, ", what was searched on %s%s takes at least", mesh, fitting);
  else fprintf(stderr, ", no plan on %s%s takes less than", mesh, fitting);
  fprintf(stderr, " %.4g %s (gap %.2g %%)", search->bound * scale, unit, 100 * search_gap(search));
}

// What is proved of a plan that was searched.
static void report_search(const Driver *d, const Search *search) {
  static const struct { const char *name; double scale; } units[] = {[SEARCH_SECONDS] = {"ms", 1e3}, [SEARCH_BYTES] = {"MB", 1e-6}};
  if (search->cost == INFINITY) {
    fprintf(stderr, "parcc: searched: no plan was found that fits%s; this one needs least\n",
            search->bound == INFINITY ? ", and by estimate there is none" : "");
    return;
  }
  const double scale = units[search->unit].scale;
  const char *unit = units[search->unit].name;
  fprintf(stderr, "parcc: searched: %.4g %s%s", search->cost * scale, unit, search->of_step ? "" : search->simulated ? " by simulation" : " by the planner's own sum");
  if (search_proves(search)) report_bound(d, search, scale, unit);
  fprintf(stderr, ", in %.2f s", d->plan_ms * 1e-3);
  if (search->approximate > 0)
    fprintf(stderr, "; of %d tensor%s that many operators read the cost was counted for each of them", search->approximate, search->approximate == 1 ? "" : "s");
  if (search->refined) fprintf(stderr, "\nparcc: refined: as streams overlap the plan with that sum takes %.4g ms, this one less", search->unrefined * 1e3);
  if (search->how != NULL) fprintf(stderr, "; %s", search->how);
  fprintf(stderr, "\n");
}

static const char *times_as_fast(Arena *arena, double times) {
  const char *text = arena_printf(arena, "%.3g", times);
  return str_eq(text, "1") ? "as fast as" : arena_printf(arena, "%s times as fast as", text);
}

// What is predicted of the program.
static void report_predicted(const Driver *d, const Compilation *c) {
  const double overlapped = streams_seconds(c->program);
  fprintf(stderr, "parcc: predicted step time %.4g ms", c->predicted.step * 1e3);
  if (!isnan(overlapped)) fprintf(stderr, " (%.4g ms as streams overlap)", overlapped * 1e3);
  fprintf(stderr, " on %s", machine_devices_text(d->arena, c->machine, mesh_ranks(&c->mesh)));
  if (d->data_step == INFINITY) fprintf(stderr, ", where data parallelism does not fit");
  else if (d->data_step > 0)
    fprintf(stderr, ", %s%s data parallelism (%.4g ms)", c->search.refined ? "by the sum " : "", times_as_fast(d->arena, d->data_step / c->predicted.step), d->data_step * 1e3);
  fprintf(stderr, ", memory %.3g of %.3g GiB\n", (double)c->program->arena_bytes / GIB, c->machine->device.memory / GIB);
  if (c->search.done) report_search(d, &c->search);
}

// Whether the program fits the devices of its machine; a plan that was read from a file is taken as it is.
static bool fits_machine(Driver *d, const AstFile *file, const Compilation *c) {
  if (c->machine == NULL) return true;
  const double need = (double)c->program->arena_bytes;
  if (!d->options.quiet) report_predicted(d, c);
  if (need <= c->machine->device.memory) return true;
  const bool read = c->plan_source.kind == PLAN_FILE;
  fprintf(stderr, "parcc: %s: %s\n", read ? "warning" : "error", machine_lacks_text(d->arena, c->machine, need));
  const bool is_auto = c->plan_source.kind == PLAN_AUTO;
  fprintf(stderr, "parcc: note: %s\n",
          is_auto ? driver_what_fits(d, file, c->model->batch) : "--search=auto looks for a plan that needs less");
  return read;
}

static bool write_trace(Driver *d, const Compilation *c) {
  const char *text = trace_json(d->arena, c->program);
  if (text == NULL) fprintf(stderr, "parcc: error: --trace: more than %d devices do different things\n", STREAMS_MAX_RANKS);
  return text != NULL && driver_write(d, d->options.trace, text);
}

// A batch that has fewer samples than it has parts is a right one, and seldom what was meant. All inputs have the same batch.
static void warn_of_empty_parts(const Compilation *c) {
  for (int i = 0; i < c->model->train->tensors.len; i++) {
    const Tensor *t = graph_tensor(c->model->train, i);
    if (t->role != ROLE_INPUT) continue;
    const int parts = mesh_parts(&c->mesh, layout_axes_of(t->layout, c->mesh.n_axes, 0));
    if (parts <= t->extent[0]) continue;
    diag_warning(t->loc, "a batch of %lld sample%s is divided into %d parts: %lld of them are empty", (long long)t->extent[0],
                 t->extent[0] == 1 ? "" : "s", parts, (long long)(parts - t->extent[0]));
    return;
  }
}

static int write_program(Driver *d, const AstFile *file, const Compilation *c, const PlanTexts *plan) {
  const Options *o = &d->options;
  if (!fits_machine(d, file, c)) return EXIT_INPUT;
  if (plan->written != NULL && !driver_write(d, o->plan_out, plan->written)) return EXIT_INPUT;
  if (plan->shown != NULL && !output_stdout(plan->shown)) return EXIT_INPUT;
  if (plan->profile != NULL && !driver_write(d, o->profile_out, plan->profile)) return EXIT_INPUT;
  if (plan->dot != NULL && !driver_write(d, o->dot, plan->dot)) return EXIT_INPUT;
  if (d->report != NULL && !driver_write_report(d, c)) return EXIT_INPUT;
  if (o->trace != NULL && !write_trace(d, c)) return EXIT_INPUT;
  if (o->stats && !output_stdout(stats_print(c, o->json))) return EXIT_INPUT;
  const char *out = options_program(d->arena, o);
  if (out == NULL) return EXIT_RIGHT;
  warn_of_empty_parts(c);
  graph_forget_ops(c->model->init); // their memory is the text's
  graph_forget_ops(c->model->train);
  graph_forget_ops(c->model->eval);
  const char *text = codegen_print(c->program);
  if (!driver_write(d, out, text)) return EXIT_INPUT;
  if (o->verbose) fprintf(stderr, "parcc: %8.2f ms  emit\n", now_ms() - d->started);
  if (o->out == NULL && !o->quiet) fprintf(stderr, "parcc: wrote %s\n", out);
  return EXIT_RIGHT;
}

// Whether nobody wants to see what is between the plan and the program.
static bool may_skip_stages(const Options *o) {
  return !o->verbose && o->dump_after.len == 0 && o->dump_dir == NULL && o->stop_after == NULL && o->profile == NULL &&
         o->profile_out == NULL && o->dot == NULL && o->report == NULL;
}

static int compile(Driver *d) {
  const Options *o = &d->options;
  CfnFormat format;
  if (o->emit_problem != NULL && !cfn_format_of(o->emit_problem, &format))
    return misuse("--emit-problem %s: the name of the file ends in .cfn or .lp", o->emit_problem);
  const char *name = str_eq(o->model, "-") ? "<stdin>" : o->model;
  size_t len;
  const char *text = input_file(d->arena, o->model, &len);
  if (text == NULL) return EXIT_INPUT;
  if (o->dump_dir != NULL && mkdir(o->dump_dir, 0777) != 0 && errno != EEXIST) {
    fprintf(stderr, "parcc: error: cannot create the folder '%s': %s\n", o->dump_dir, strerror(errno));
    return EXIT_INPUT;
  }
  d->started = now_ms();
  const AstFile *file = parse_text(d->arena, name, text, len);
  if (diag_errors() > 0) return EXIT_INPUT;
  int code;
  if (!end_stage(d, STAGE_PARSE, file, NULL, &code)) return code;

  if (o->measure) return driver_measure(d, file);
  if (o->count) return driver_count(d, file);
  if (o->strategies != NULL) return driver_strategies(d, file);
  if (o->compare) return driver_compare(d, file);
  if (o->explain != NULL) return driver_explain(d, file);
  if (o->sweep.parameter != NULL) return driver_sweep(d, file);
  Compilation c = driver_begin(d, file, &o->elab, &o->mesh);
  if (c.model == NULL || (o->plan_in != NULL && !driver_read_plan(d, &c, 0))) return EXIT_INPUT;
  c.keeps_lowered = may_skip_stages(o);
  PlanTexts plan = {0};
  for (int stage = STAGE_ELABORATE; stage < d->n_stages; stage++) {
    const bool planned = stage == FIRST_PASS + pipeline_find("plan");
    if (planned && o->report != NULL) driver_begin_report(d, &c);
    if (planned && c.machine != NULL && !o->quiet && c.plan_source.kind != PLAN_DATA) d->data_step = driver_data_step(&c);
    const double before = now_ms();
    if (stage >= FIRST_PASS) pipeline_run(&c, stage - FIRST_PASS);
    if (planned) d->plan_ms = now_ms() - before;
    if (planned && !write_problem(d, &c)) return EXIT_INPUT;
    if (diag_problems(&c.problems)) return EXIT_INPUT;
    if (planned) plan = plan_texts(d, &c);
    if (planned && d->report != NULL) report_take_plan(d->report, &c);
    if (stage == FIRST_PASS + pipeline_find("apply-plan")) {
      plan.profile = profile_text(d, &c);
      plan.dot = dot_text(d, &c);
      if (d->report != NULL) report_look(d->report, &c);
    }
    if (!end_stage(d, stage, NULL, &c, &code))
      return code != EXIT_RIGHT || plan.written == NULL || driver_write(d, o->plan_out, plan.written) ? code : EXIT_INPUT;
    if (planned && c.lowered != NULL) stage = FIRST_PASS + pipeline_take_lowered(&c);
  }
  return write_program(d, file, &c, &plan);
}

// parcc plan diff A B, or what was meant to be.
static int misuse_of_plan(Arena *arena, int argc, char **argv) {
  static const char *const diff = "diff";
  const bool mistyped = argc > 2 && !str_eq(argv[2], diff) && suggest_nearest(argv[2], &diff, 1) != NULL;
  return misuse("'plan' is used so: parcc plan diff A.plan B.plan%s", mistyped ? arena_printf(arena, "; for '%s', did you mean 'diff'?", argv[2]) : "");
}

// parcc plan diff A B. Ends like diff: 0 the same, 1 they differ, 2 one of them cannot be read.
static int diff_plans(Arena *arena, const char *const *path) {
  Plan plan[2];
  Problems problems = {.arena = arena};
  for (int i = 0; i < 2; i++) {
    size_t len;
    const char *text = input_source(arena, path[i], path[i], &len);
    if (text == NULL) return EXIT_MISUSE;
    plan[i] = plan_read(path[i], text, len, &problems);
  }
  if (diag_problems(&problems)) return EXIT_MISUSE;
  Text text = {.arena = arena};
  const bool same = plan_diff(&plan[0], &plan[1], &text);
  if (!output_stdout(text_str(&text))) return EXIT_MISUSE;
  return same ? 0 : 1;
}

// parcc detect -o OUT.cu
static int write_detect(Driver *d, int argc, char **argv) {
  if (argc != 4 || !str_eq(argv[2], "-o")) return misuse("'detect' is used so: parcc detect -o OUT.cu");
  return driver_write(d, argv[3], detect_files[0].text) ? EXIT_RIGHT : EXIT_INPUT;
}

int main(int argc, char **argv) {
  Driver d = {.arena = arena_new()};
  d.stages = list_stages(d.arena, &d.n_stages);
  int code;
  if (argc == 5 && str_eq(argv[1], "plan") && str_eq(argv[2], "diff")) {
    code = diff_plans(d.arena, (const char *const *)argv + 3);
  } else if (argc >= 2 && str_eq(argv[1], "plan")) {
    code = misuse_of_plan(d.arena, argc, argv);
  } else if (argc >= 2 && str_eq(argv[1], "detect")) {
    code = write_detect(&d, argc, argv);
  } else {
    code = options_parse(d.arena, argc, argv, d.stages, d.n_stages, &d.options);
    if (code < 0) code = compile(&d);
  }
  if (code == EXIT_RIGHT && !output_stdout("")) code = EXIT_INPUT;
  diag_reset();
  arena_free(d.arena);
  return code;
}
