// One table of options: parsing, --help and the suggestions all read it.
#include "options.h"

#include <errno.h>
#include <stdlib.h>

#include "../ir/suggest.h"

enum { STRIP_BYTES = 8 << 20, MAX_SECONDS = 1000000 };

typedef struct Parser {
  Arena *arena;
  Options *options;
  const DriverStage *stages;
  int n_stages;
  bool *given; // by option of the table
} Parser;

// Takes the value of an option (NULL for flags). Returns -1 to go on, else the exit code.
typedef int ApplyFn(Parser *p, const char *value);

typedef struct OptionSpec {
  char letter;       // or 0
  const char *name;  // without the dashes, or NULL
  const char *value; // what --help calls the value; NULL: a flag
  ApplyFn *apply;
  const char *help;
} OptionSpec;

int misuse(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("parcc: error: ", stderr);
  vfprintf(stderr, format, args);
  fputs("\nparcc: try 'parcc --help'\n", stderr);
  va_end(args);
  return EXIT_MISUSE;
}

// ", did you mean 'x'?" or "".
static const char *did_you_mean(Arena *arena, const char *word, const Strings *candidates, const char *prefix) {
  const char *nearest = suggest_nearest(word, candidates->at, candidates->len);
  return nearest != NULL ? arena_printf(arena, "; did you mean '%s%s'?", prefix, nearest) : "";
}

static int apply_out(Parser *p, const char *value) {
  if (value[0] == '\0') return misuse("-o: the name of the output is empty");
  p->options->out = value;
  return -1;
}

static bool is_name(const char *text, size_t len) {
  for (size_t i = 0; i < len; i++) {
    const char c = text[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && (i == 0 || c < '0' || c > '9')) return false;
  }
  return len > 0;
}

static int apply_define(Parser *p, const char *value) {
  const char *equals = strchr(value, '=');
  if (equals == NULL || !is_name(value, (size_t)(equals - value)) || equals[1] == '\0')
    return misuse("-D %s: expected NAME=VALUE", value);
  const Define define = {arena_strndup(p->arena, value, (size_t)(equals - value)), equals + 1};
  vec_push(p->arena, &p->options->elab.defines, define);
  return -1;
}

static int apply_dtype(Parser *p, const char *value) {
  if (!str_eq(value, "f32") && !str_eq(value, "f64")) return misuse("--dtype: expected f32 or f64, found '%s'", value);
  p->options->elab.f64 = str_eq(value, "f64");
  return -1;
}

static int apply_machine(Parser *p, const char *value) { return options_take_machine(p->arena, value, p->options); }

static int apply_profile(Parser *p, const char *value) { return options_take_profile(p->arena, value, p->options); }

static int apply_data_stats(Parser *p, const char *value) { return options_take_data_stats(p->arena, value, p->options); }

static int apply_profile_out(Parser *p, const char *value) {
  if (value[0] == '\0') return misuse("--profile-out: the name of the file is empty");
  p->options->profile_out = value;
  return -1;
}

static int take_count(const char *option, const char *value, int *count) {
  char *end;
  errno = 0;
  const long ranks = strtol(value, &end, 10);
  if (value[0] == '\0' || *end != '\0' || errno != 0 || ranks < 1 || ranks > MESH_MAX_RANKS)
    return misuse("%s: expected a number from 1 to %d, found '%s'", option, MESH_MAX_RANKS, value);
  *count = (int)ranks;
  return -1;
}

static int apply_devices(Parser *p, const char *value) { return take_count("--devices", value, &p->options->devices); }

static int apply_ranks(Parser *p, const char *value) { return take_count("--ranks", value, &p->options->ranks); }

// data=2,tensor=3: axes with their sizes, slowest first.
static int apply_mesh(Parser *p, const char *value) {
  p->options->mesh = (Mesh){0};
  p->options->mesh_given = true;
  for (const char *at = value;;) {
    const size_t len = strcspn(at, "=,");
    char *end;
    errno = 0;
    const long size = at[len] == '=' ? strtol(at + len + 1, &end, 10) : 0;
    if (!is_name(at, len) || size < 1 || errno != 0 || end == at + len + 1 || (*end != ',' && *end != '\0'))
      return misuse("--mesh %s: expected AXIS=SIZE,... such as data=2,tensor=4", value);
    const char *wrong = mesh_add_axis(p->arena, &p->options->mesh, arena_strndup(p->arena, at, len), size);
    if (wrong != NULL) return misuse("--mesh %s: %s", value, wrong);
    if (*end == '\0') return -1;
    at = end + 1;
  }
}

static bool is_listed(const PlanSources *planners, PlanSourceKind kind) {
  int i = 0;
  while (i < planners->len && planners->at[i].kind != kind) i++;
  return i < planners->len;
}

static int take_planner(Parser *p, const char *name) {
  Strings names = {0};
  for (int kind = 0; kind < PLAN_NAMED; kind++) {
    if (str_eq(name, plan_source_name((PlanSourceKind)kind))) {
      if (!is_listed(&p->options->searches, (PlanSourceKind)kind))
        vec_push(p->arena, &p->options->searches, (PlanSource){.kind = (PlanSourceKind)kind});
      return -1;
    }
    vec_push(p->arena, &names, plan_source_name((PlanSourceKind)kind));
  }
  return misuse("--search: there is no plan '%s'%s", name, did_you_mean(p->arena, name, &names, ""));
}

// NAME,NAME...: several for a report about them.
static int take_planners(Parser *p, const char *value) {
  for (const char *at = value;; at++) {
    const size_t len = strcspn(at, ",");
    const int code = take_planner(p, arena_strndup(p->arena, at, len));
    if (code >= 0) return code;
    at += len;
    if (*at == '\0') break;
  }
  p->options->plan = p->options->searches.at[0];
  p->options->plan_given = true;
  return -1;
}

// --search and --plan are one option: a plan by name; --plan draws, too.
static int apply_search(Parser *p, const char *value) {
  return p->options->plan_given ? misuse("--plan and --search=%s are two plans", value) : take_planners(p, value);
}

static int apply_plan(Parser *p, const char *value) {
  char *end = NULL;
  if (p->options->plan_given) return misuse("--search and --plan=%s are two plans", value);
  if (strncmp(value, "random:", 7) != 0) return take_planners(p, value);
  errno = 0;
  p->options->plan = (PlanSource){.kind = PLAN_RANDOM, .seed = strtoull(value + 7, &end, 10)};
  if (end == value + 7 || *end != '\0' || errno != 0) return misuse("--plan: expected random:SEED, found '%s'", value);
  p->options->plan_given = true;
  return -1;
}

static int apply_seed(Parser *p, const char *value) {
  char *end;
  errno = 0;
  p->options->seed = strtoull(value, &end, 10);
  p->options->seed_given = true;
  if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0) return misuse("--seed: expected a number, found '%s'", value);
  return -1;
}

static int apply_strip_bytes(Parser *p, const char *value) {
  char *end;
  errno = 0;
  const long long bytes = strtoll(value, &end, 10);
  if (value[0] == '\0' || *end != '\0' || errno != 0 || bytes < 0)
    return misuse("--strip-bytes: expected a number of bytes, found '%s'", value);
  p->options->strip_bytes = bytes;
  return -1;
}

static int apply_objective(Parser *p, const char *value) {
  if (!str_eq(value, "overlap") && !str_eq(value, "sum")) return misuse("--objective: expected overlap or sum, found '%s'", value);
  p->options->by_sum = str_eq(value, "sum");
  p->options->objective_given = true;
  return -1;
}

static int apply_time_limit(Parser *p, const char *value) {
  char *end;
  errno = 0;
  const double seconds = strtod(value, &end);
  const bool decimal = value[0] != '\0' && value[strspn(value, "0123456789.eE+-")] == '\0'; // strtod takes more
  if (!decimal || *end != '\0' || errno != 0 || !(seconds > 0 && seconds <= MAX_SECONDS))
    return misuse("--time-limit: expected seconds, more than 0 and at most %d, found '%s'", MAX_SECONDS, value);
  p->options->time_limit = seconds;
  return -1;
}

static int apply_plan_in(Parser *p, const char *value) {
  p->options->plan_in = value;
  return -1;
}

static int apply_plan_out(Parser *p, const char *value) {
  if (value[0] == '\0') return misuse("--plan-out: the name of the file is empty");
  p->options->plan_out = value;
  return -1;
}

static int apply_dot(Parser *p, const char *value) {
  if (value[0] == '\0') return misuse("--dot: the name of the file is empty");
  p->options->dot = value;
  return -1;
}

static int apply_report(Parser *p, const char *value) {
  if (value[0] == '\0') return misuse("--report: the name of the file is empty");
  p->options->report = value;
  return -1;
}

static int apply_trace(Parser *p, const char *value) {
  if (value[0] == '\0') return misuse("--trace: the name of the file is empty");
  p->options->trace = value;
  return -1;
}

static int apply_emit_problem(Parser *p, const char *value) {
  p->options->emit_problem = value;
  return -1;
}

static int check_stage(const Parser *p, const char *option, const char *name) {
  Strings names = {0};
  for (int i = 0; i < p->n_stages; i++) {
    if (str_eq(p->stages[i].name, name)) return -1;
    vec_push(p->arena, &names, p->stages[i].name);
  }
  return misuse("%s: there is no pass '%s'%s", option, name, did_you_mean(p->arena, name, &names, ""));
}

static int apply_dump_after(Parser *p, const char *value) {
  vec_push(p->arena, &p->options->dump_after, value);
  return check_stage(p, "--dump-after", value);
}

static int apply_dump_dir(Parser *p, const char *value) {
  p->options->dump_dir = value;
  return -1;
}

static int apply_stop_after(Parser *p, const char *value) {
  p->options->stop_after = value;
  return check_stage(p, "--stop-after", value);
}

static int apply_show_plan(Parser *p, const char *value) {
  (void)value;
  p->options->show_plan = true;
  return -1;
}

static int apply_stats(Parser *p, const char *value) {
  (void)value;
  p->options->stats = true;
  return -1;
}

static int apply_show_strategies(Parser *p, const char *value) {
  p->options->strategies = value;
  return -1;
}

static int apply_compare(Parser *p, const char *value) {
  (void)value;
  p->options->compare = true;
  return -1;
}

static int apply_explain(Parser *p, const char *value) {
  p->options->explain = value;
  return -1;
}

static int apply_candidates(Parser *p, const char *value) {
  (void)value;
  p->options->candidates = true;
  return -1;
}

static int apply_sweep(Parser *p, const char *value) { return options_take_sweep(p->arena, value, &p->options->sweep); }

static int apply_json(Parser *p, const char *value) {
  (void)value;
  p->options->json = true;
  return -1;
}

static int apply_quiet(Parser *p, const char *value) {
  (void)value;
  p->options->quiet = true;
  return -1;
}

static int apply_verbose(Parser *p, const char *value) {
  (void)value;
  p->options->verbose = true;
  return -1;
}

static int apply_version(Parser *p, const char *value) {
  (void)p, (void)value;
  printf("parcc %s\n", PARCC_VERSION);
  return EXIT_RIGHT;
}

static int apply_help(Parser *p, const char *value);

static const OptionSpec table[] = {
    {'o', NULL, "OUT.cu", apply_out, "write the program to OUT.cu (- for standard output; default: MODEL_par.cu here)"},
    {'D', NULL, "NAME=VALUE", apply_define, "set a parameter of the model"},
    {0, "dtype", "f32|f64", apply_dtype, "the type of real numbers (default f32)"},
    {0, "machine", "NAME|FILE", apply_machine, "the machine the program is for: a name (--machine=list prints them), or a file like those of samples/machines"},
    {0, "profile", "FILE", apply_profile, "times of operators and collectives that were measured on the machine: they count in place of formulas"},
    {0, "profile-out", "FILE", apply_profile_out, "write a profile of the plan's operators, as predicted; a program is written only with -o"},
    {0, "data-stats", "FILE", apply_data_stats, "how often rows of tables are looked up, as a program of parcc data-stats has counted it: rows that come up several times in a step count once"},
    {0, "devices", "N", apply_devices, "how many of its devices are used (default all); without --machine as --ranks"},
    {0, "ranks", "N", apply_ranks, "how many devices the program is for (default 1)"},
    {0, "mesh", "AXIS=N,...", apply_mesh, "the devices as a product of axes, slowest first (default data=RANKS, or that of the machine)"},
    {0, "search", "NAME,...", apply_search, "who plans (several: only for --compare, --sweep and parcc profile): data (default), model, owt, megatron, fsdp, single; auto (default with --machine): the cheapest plan on its axes; optcnn: each layer in its own way; soybean, tofu: few bytes; flexflow: a random walk on a simulator; parallax: data, with tables by owners of their rows"},
    {0, "objective", "overlap|sum", apply_objective, "what auto makes small: what a step takes as streams overlap, from the plan with the least sum on (default), or the sum alone"},
    {0, "time-limit", "SECONDS", apply_time_limit, "a search ends after so long, with the best plan that it has found"},
    {0, "seed", "N", apply_seed, "of what flexflow draws at random (default 0)"},
    {0, "plan", "random:SEED", apply_plan, "the plan is drawn at random; with a NAME the same as --search"},
    {0, "plan-in", "FILE", apply_plan_in, "the plan is read from FILE; so is the mesh, where none is given"},
    {0, "plan-out", "FILE", apply_plan_out, "write the plan to FILE; a program is written only with -o"},
    {0, "emit-problem", "FILE", apply_emit_problem, "write what auto solves to FILE.cfn (toulbar2) or FILE.lp (cbc, glpsol); a program is written only with -o"},
    {0, "strip-bytes", "N", apply_strip_bytes, "intermediates larger than N bytes are computed in strips (default 8388608; 0: never)"},
    {0, "show-plan", NULL, apply_show_plan, "print the plan as a table; a program is written only with -o"},
    {0, "dot", "FILE", apply_dot, "write the network and how the plan divides it as a drawing for GraphViz (dot -Tsvg FILE); a program is written only with -o"},
    {0, "report", "FILE.html", apply_report, "write a page about the plan, its machine and the other planners, for a browser; a program is written only with -o"},
    {0, "trace", "FILE.json", apply_trace, "write when each step of the program runs on the machine, for ui.perfetto.dev or chrome://tracing; a program is written only with -o"},
    {0, "stats", NULL, apply_stats, "print parameters, operations, memory and communication; a program is written only with -o"},
    {0, "show-strategies", "OP", apply_show_strategies, "print the ways to divide an operator: by its definition (conv2d), which the model need not use, or its result in the model (conv1.y), or all of the model; no program is written"},
    {0, "compare", NULL, apply_compare, "print what each planner comes to on the machine, as a table; no program is written"},
    {0, "explain", "NAME", apply_explain, "print why the plan divides an operator or layer as it does, and what else it could do; no program is written"},
    {0, "candidates", NULL, apply_candidates, "with --explain: all that it could do, and what is left out"},
    {0, "sweep", "NAME=VALUES", apply_sweep, "print how the planners of --search (default auto) do with each value: NAME is devices, or a parameter such as batch; VALUES as 1,2,8..64"},
    {0, "json", NULL, apply_json, "with --stats, --compare, --explain or --sweep: print them as JSON"},
    {0, "dump-after", "PASS", apply_dump_after, "print the model as it is after the pass (may be repeated)"},
    {0, "dump-dir", "DIR", apply_dump_dir, "write the model after every pass to DIR/NN.PASS.txt"},
    {0, "stop-after", "PASS", apply_stop_after, "end after the pass; no program is written"},
    {'q', "quiet", NULL, apply_quiet, "do not name the file that was written, nor what is predicted"},
    {'v', "verbose", NULL, apply_verbose, "print the time that every pass took"},
    {'h', "help", NULL, apply_help, "print this"},
    {0, "version", NULL, apply_version, "print the version"},
};
enum { TABLE_LEN = sizeof table / sizeof table[0] };

// Prints a text beside what it explains, in lines of at most HELP_WIDTH columns, broken at blanks.
static void print_entry(const char *left, const char *text) {
  enum { HELP_TEXT = 23, HELP_WIDTH = 100 };
  int column = printf("  %-20s", left);
  for (const char *at = text; *at != '\0';) {
    const int len = (int)strcspn(at, " ");
    if (column > HELP_TEXT && column + 1 + len > HELP_WIDTH) {
      putchar('\n');
      column = printf("%*s", HELP_TEXT - 1, "");
    }
    column += printf(" %.*s", len, at);
    at += len + (at[len] == ' ');
  }
  putchar('\n');
}

static int apply_help(Parser *p, const char *value) {
  (void)value;
  puts("usage: parcc MODEL.dnn [-o OUT.cu] [options]\n"
       "       parcc profile MODEL.dnn -o OUT.cu --machine=NAME [options]\n"
       "       parcc data-stats MODEL.dnn -o OUT.cu [options]\n"
       "       parcc detect -o OUT.cu\n"
       "       parcc plan diff A.plan B.plan\n\n"
       "Compiles the description of a neural network to a CUDA/cuBLAS/NCCL C program that\n"
       "trains it on several devices. MODEL.dnn may be '-': standard input. 'detect' writes a program\n"
       "that prints a machine file of what it is started on, 'data-stats' one that counts lookups in data. 'plan diff' lists what differs between\n"
       "two plans; exit code 0: nothing, 1: something, 2: a file is at fault.\n\noptions:");
  for (int i = 0; i < TABLE_LEN; i++) {
    const OptionSpec *spec = &table[i];
    Text left = {.arena = p->arena};
    if (spec->letter != 0) text_printf(&left, "-%c%s", spec->letter, spec->name != NULL ? ", " : "");
    if (spec->name != NULL) text_printf(&left, "--%s", spec->name);
    if (spec->value != NULL) text_printf(&left, "%s%s", spec->name != NULL ? "=" : " ", spec->value);
    print_entry(text_str(&left), spec->help);
  }
  puts("\npasses:");
  for (int i = 0; i < p->n_stages; i++) print_entry(p->stages[i].name, p->stages[i].summary);
  puts("\nexit code: 0 right, 1 the input is at fault, 2 the command line is, 3 the compiler is");
  return EXIT_RIGHT;
}

static const OptionSpec *find_letter(char letter) {
  for (int i = 0; i < TABLE_LEN; i++)
    if (table[i].letter != 0 && table[i].letter == letter) return &table[i];
  return NULL;
}

static const OptionSpec *find_name(const char *name) {
  for (int i = 0; i < TABLE_LEN; i++)
    if (table[i].name != NULL && str_eq(table[i].name, name)) return &table[i];
  return NULL;
}

static int unknown_long(const Parser *p, const char *name) {
  Strings names = {0};
  for (int i = 0; i < TABLE_LEN; i++)
    if (table[i].name != NULL) vec_push(p->arena, &names, table[i].name);
  return misuse("unknown option '--%s'%s", name, did_you_mean(p->arena, name, &names, "--"));
}

// Options with a value are given once, but for those that add to a list; flags may be repeated.
static int apply(Parser *p, const OptionSpec *spec, const char *value) {
  const bool adds = spec->apply == apply_define || spec->apply == apply_dump_after;
  bool *given = &p->given[spec - table];
  if (*given && value != NULL && !adds)
    return spec->name != NULL ? misuse("--%s is given twice", spec->name) : misuse("-%c is given twice", spec->letter);
  *given = true;
  return spec->apply(p, value);
}

// Applies --name, --name=value or --name value; *i is moved over a value taken from the next argument.
static int parse_long(Parser *p, int argc, char **argv, int *i) {
  const char *text = argv[*i] + 2, *equals = strchr(text, '=');
  const char *name = equals != NULL ? arena_strndup(p->arena, text, (size_t)(equals - text)) : text;
  const OptionSpec *spec = find_name(name);
  if (spec == NULL) return unknown_long(p, name);
  if (spec->value == NULL) return equals == NULL ? apply(p, spec, NULL) : misuse("--%s takes no value", name);
  if (equals != NULL) return apply(p, spec, equals + 1);
  if (*i + 1 == argc) return misuse("--%s needs a value: --%s=%s", name, name, spec->value);
  return apply(p, spec, argv[++*i]);
}

// Applies -x, -xyz of flags, -xVALUE or -x VALUE.
static int parse_short(Parser *p, int argc, char **argv, int *i) {
  for (const char *c = argv[*i] + 1; *c != '\0'; c++) {
    const OptionSpec *spec = find_letter(*c);
    if (spec == NULL) return misuse("unknown option '-%c'", *c);
    if (spec->value == NULL) {
      const int code = apply(p, spec, NULL);
      if (code >= 0) return code;
      continue;
    }
    if (c[1] != '\0') return apply(p, spec, c + 1);
    if (*i + 1 == argc) return misuse("-%c needs a value: -%c %s", *c, *c, spec->value);
    return apply(p, spec, argv[++*i]);
  }
  return -1;
}

static int take_model(Parser *p, const char *path) {
  if (p->options->model != NULL) return misuse("two models are given: '%s' and '%s'", p->options->model, path);
  p->options->model = path;
  return -1;
}

int options_parse(Arena *arena, int argc, char **argv, const DriverStage *stages, int n_stages, Options *options) {
  *options = (Options){.mesh = {.n_axes = 1, .axis = {{"data", 1}}}, .strip_bytes = STRIP_BYTES};
  Parser p = {arena, options, stages, n_stages, NEW_ARRAY(arena, bool, TABLE_LEN)};
  bool only_names = false; // after "--"
  options->measure = argc > 1 && str_eq(argv[1], "profile");
  options->count = argc > 1 && str_eq(argv[1], "data-stats");
  for (int i = options->measure || options->count ? 2 : 1; i < argc; i++) {
    const char *arg = argv[i];
    int code;
    if (only_names || arg[0] != '-' || arg[1] == '\0') code = take_model(&p, arg);
    else if (str_eq(arg, "--")) only_names = true, code = -1;
    else code = arg[1] == '-' ? parse_long(&p, argc, argv, &i) : parse_short(&p, argc, argv, &i);
    if (code >= 0) return code;
  }
  return options_check_together(arena, options, stages, n_stages);
}
