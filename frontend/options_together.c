// Which options go with which, and what follows where one is not given.
#include "options.h"

static int check_plan(const Options *o) {
  if (o->show_plan && o->stop_after != NULL) return misuse("--show-plan needs all passes, --stop-after leaves some out");
  if (o->plan_given && o->plan_in != NULL) return misuse("%s and --plan-in are two plans", o->plan.kind == PLAN_RANDOM ? "--plan" : "--search");
  if (o->plan_out != NULL && o->stop_after != NULL && !str_eq(o->stop_after, "plan"))
    return misuse("--plan-out needs all passes, or --stop-after=plan");
  return -1;
}

static int check_profile(const Options *o) {
  if (o->profile_out != NULL && o->stop_after != NULL) return misuse("--profile-out needs all passes, --stop-after leaves some out");
  return -1;
}

static int check_drawings(const Options *o) {
  const char *option = o->dot != NULL ? "--dot" : o->report != NULL ? "--report" : "--trace";
  if (o->dot == NULL && o->report == NULL && o->trace == NULL) return -1;
  if (o->stop_after != NULL) return misuse("%s needs all passes, --stop-after leaves some out", option);
  if ((o->report != NULL || o->trace != NULL) && o->machine == NULL)
    return misuse("%s needs --machine: what a plan costs depends on it (--machine=list prints those that are known)", o->report != NULL ? "--report" : "--trace");
  return -1;
}

static int check_problem(const Options *o) {
  if (o->emit_problem == NULL) return -1;
  if (o->plan.kind != PLAN_AUTO || o->plan_in != NULL) return misuse("--emit-problem writes what --search=auto solves; it goes with no other plan");
  if (o->stop_after != NULL && !str_eq(o->stop_after, "plan")) return misuse("--emit-problem needs all passes, or --stop-after=plan");
  return -1;
}

// --devices, --ranks and --mesh beside each other, and beside --machine.
static int check_devices(Arena *arena, Options *o) {
  const int devices = o->devices > 0 ? o->devices : o->ranks;
  const char *option = o->devices > 0 ? "--devices" : "--ranks";
  o->ranks_given = o->mesh_given || devices > 0;
  if (o->devices > 0 && o->ranks > 0 && o->ranks != o->devices) return misuse("--devices=%d, but --ranks=%d", o->devices, o->ranks);
  if (o->mesh_given && devices > 0 && mesh_ranks(&o->mesh) != devices)
    return misuse("%s=%d, but there are %d ranks: %s", option, devices, mesh_ranks(&o->mesh), mesh_text(arena, &o->mesh));
  if (!o->mesh_given) o->mesh = (Mesh){.n_axes = 1, .axis = {{"data", devices > 0 ? devices : 1}}};
  const int code = options_attach_profile(arena, o);
  return code < 0 && o->machine != NULL ? options_fit_machine(arena, o) : code;
}

// Who plans where nobody is named: on a machine the cheapest plan is searched.
static int check_search(Options *o) {
  if (!o->plan_given && o->plan_in == NULL && (o->machine != NULL || o->emit_problem != NULL)) o->plan.kind = PLAN_AUTO;
  const bool searched = plan_source_searched(o->plan.kind) && o->plan_in == NULL;
  if (searched && o->machine == NULL)
    return misuse("--search=%s needs --machine: what a plan costs depends on it (--machine=list prints those that are known)",
                  plan_source_name(o->plan.kind));
  bool draws = o->compare && o->searches.len == 0;
  for (int i = 0; i < o->searches.len; i++) {
    o->searches.at[i].seed = o->seed;
    draws |= o->searches.at[i].kind == PLAN_FLEXFLOW;
  }
  if (o->plan.kind == PLAN_FLEXFLOW) o->plan.seed = o->seed;
  if (o->seed_given && !draws) return misuse("--seed goes with --search=flexflow");
  if (o->time_limit > 0 && !searched && !o->compare && o->sweep.parameter == NULL)
    return misuse("--time-limit goes with a search: --machine, and no other plan");
  if (o->objective_given && (o->plan.kind != PLAN_AUTO || o->plan_in != NULL) && !o->compare && o->sweep.parameter == NULL)
    return misuse("--objective goes with --search=auto");
  return -1;
}

int options_check_together(Arena *arena, Options *options, const DriverStage *stages, int n_stages) {
  if (options->model == NULL) return misuse("no model is given");
  int code = check_search(options);
  if (code >= 0) return code;
  if (options->stats && options->stop_after != NULL)
    return misuse("--stats needs all passes, --stop-after leaves some out");
  if (options->stop_after != NULL && options->out != NULL)
    return misuse("-o asks for a program, --stop-after ends before there is one");
  code = options_check_reports(options);
  if (code < 0) code = check_devices(arena, options);
  if (code < 0) code = check_problem(options);
  if (code < 0) code = check_profile(options);
  if (code < 0) code = check_drawings(options);
  if (code < 0) code = check_plan(options);
  return code < 0 ? options_check_files(arena, options, stages, n_stages) : code;
}
