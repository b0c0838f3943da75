// What --search=auto solves, solved by itself, to be held against other solvers:
//
//   problem MODEL.dnn --machine=NAME [OPTIONS of parcc]    the problem of a model
//   problem random SEED PATH                               a random one, written to PATH.cfn and PATH.lp
//
// Prints what the best assignment costs, in the unit of the files (nothing can be: inf), the bound, the seconds of the processor that
// finding it took, the least of several times, and those of the pass "plan" of a model.
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "../../frontend/diag.h"
#include "../../frontend/options.h"
#include "../../frontend/output.h"
#include "../../passes/pipeline.h"
#include "../../passes/search/cfn_write.h"

static const double SCALE = 1e6; // seconds to microseconds
static const double QUICK = 1;   // what takes less than so many seconds is done again
enum { REPEATS = 5 };

static Arena *arena;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void solve(const Cfn *cfn, double seconds_of_plan) {
  double least = INFINITY, spent = 0;
  CfnSolution s;
  for (int i = 0; i < REPEATS && spent < QUICK; i++) {
    const double started = now();
    s = cfn_solve(cfn, 0, NULL);
    spent += now() - started;
    least = fmin(least, now() - started);
  }
  printf("%.15g %.15g %.6f %.6f\n", s.cost * SCALE, s.bound * SCALE, least, seconds_of_plan);
}

// ---- random networks -----------------------------------------------------------------------------------------------

static uint64_t state;
static int below(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)n);
}

static double *random_costs(int64_t n, int forbidden) {
  double *cost = NEW_ARRAY(arena, double, n);
  for (int64_t i = 0; i < n; i++) cost[i] = below(100) < forbidden ? INFINITY : below(1000) * 1.01e-6;
  return cost;
}

// Of that many variables behind `first`. Wide ones have more entries over values than are written.
static void add_function(Cfn *cfn, int first, int arity, int classes, int forbidden) {
  CfnFunction f = {.arity = arity};
  for (int i = 0; i < arity; i++) {
    const int x = (first + i) % cfn->variables.len, n = cfn->variables.at[x].n_values;
    int *of = NEW_ARRAY(arena, int, n);
    for (int v = 0; v < n; v++) of[v] = below(classes);
    f.var[i] = x;
    f.n_classes[i] = classes;
    f.class_of[i] = of;
  }
  f.cost = random_costs(cfn_function_size(&f), forbidden);
  vec_push(arena, &cfn->functions, f);
}

// A ring of variables, with chords and wide functions; every third has a limit, which the seed makes tight or not.
static Cfn random_network(uint64_t seed) {
  state = seed * 7919 + 1;
  const int n = 4 + below(8), forbidden = below(4) * 10;
  Cfn cfn = {.arena = arena, .constant = below(5) * 1e-4, .n_limits = seed % 3 == 0 ? 1 + below(CFN_MAX_LIMITS) : 0};
  for (int x = 0; x < n; x++) {
    const int values = 2 + below(9);
    CfnVariable variable = {arena_printf(arena, "layer%d.\"y\"", x), values, random_costs(values, forbidden / 2), {NULL}};
    for (int l = 0; l < cfn.n_limits; l++) {
      double *weight = NEW_ARRAY(arena, double, values);
      for (int v = 0; v < values; v++) weight[v] = 1e8 * below(100);
      if (below(5) > 0) variable.weight[l] = weight;
    }
    vec_push(arena, &cfn.variables, variable);
  }
  for (int l = 0; l < cfn.n_limits; l++) cfn.limit[l] = 1e9 * n * (2 + below(3));
  for (int x = 0; x < n; x++) add_function(&cfn, x, 2, 1 + below(5), forbidden);
  for (int i = 0; i < n / 3; i++) add_function(&cfn, below(n), below(5), 1 + below(3), forbidden);
  return cfn;
}

static int write_random(const char *seed, const char *path) {
  static const char *const ends[] = {"cfn", "lp"};
  const Cfn cfn = random_network(strtoull(seed, NULL, 10));
  for (int i = 0; i < 2; i++) {
    const char *name = arena_printf(arena, "%s.%s", path, ends[i]);
    CfnFormat format;
    FILE *file = fopen(name, "w");
    if (file == NULL || !cfn_format_of(name, &format)) fatal("cannot write '%s'", name);
    cfn_write(file, &cfn, format, "random", SCALE);
    if (ferror(file) || fclose(file) != 0) fatal("cannot write '%s'", name);
  }
  solve(&cfn, 0);
  return 0;
}

// ---- models --------------------------------------------------------------------------------------------------------

static int solve_model(int argc, char **argv) {
  Options o;
  const int code = options_parse(arena, argc, argv, NULL, 0, &o);
  if (code >= 0) return code;
  size_t len;
  const char *text = input_file(arena, o.model, &len);
  if (text == NULL) return EXIT_INPUT;
  Compilation c = {.arena = arena, .machine = o.machine, .mesh = o.mesh, .plan_source = o.plan, .strip_bytes = o.strip_bytes, .keeps_problem = true, .problems = {.arena = arena}};
  const AstFile *prelude = parse_prelude(arena), *file = parse_text(arena, o.model, text, len);
  c.model = diag_errors() == 0 ? elab_model(arena, prelude, file, &o.elab) : NULL;
  if (diag_errors() > 0) return EXIT_INPUT;
  for (int pass = 0; pass < pipeline_find("plan"); pass++) pipeline_run(&c, pass);
  const double started = now();
  pipeline_run(&c, pipeline_find("plan"));
  if (c.search.problem == NULL) return EXIT_INPUT;
  solve(c.search.problem, now() - started);
  return 0;
}

int main(int argc, char **argv) {
  arena = arena_new();
  const int code = argc == 4 && str_eq(argv[1], "random") ? write_random(argv[2], argv[3]) : solve_model(argc, argv);
  arena_free(arena);
  return code;
}
