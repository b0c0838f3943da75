// What --search=auto promises, on random models: no plan of its space is cheaper, and none that fits the memory of a device. Every
// plan is lowered, and what is lowered counts; the tables that auto reads, and its solver, are not asked. Of larger models some plans
// are lowered: they cost what the tables say. On a mesh whose axes have factors, every plan of these is lowered.
#include "../../passes/search/factors.h"

#include <math.h>

#include "../../frontend/frontend.h"
#include "../../frontend/output.h"
#include "../../frontend/parse.h"
#include "../../passes/evaluate.h"
#include "../../passes/pricing.h"
#include "../../passes/search/tables.h"
#include "check.h"

enum { MODELS = 300, FACTORED = 20, LEAST_PLANS = 8, MOST_PLANS = 400, PRICED = 8, REFINED = 8 }; // every PRICED-th plan is priced, too; of every REFINED-th model the plan is refined

static uint64_t state;
static int below(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)n);
}

// ---- random models: tensors t0, t1, ... of one shape ----------------------------------------------------------------

enum { CHAIN, FORK_JOIN, SKIPS, GRID, SHARED, KINDS };

typedef struct Writer {
  Text text;
  int rows, columns;
  int tensors, params;
  bool shared; // all operators have one parameter
} Writer;

static int param(Writer *w) { // [columns]
  if (!w->shared || w->params == 0) text_printf(&w->text, "  param p%d[%d] = normal();\n", w->params++, w->columns);
  return w->params - 1;
}

static int add_unary(Writer *w, int x) {
  const int y = w->tensors++;
  Text *text = &w->text;
  switch (below(7)) {
  case 0: {
    const int p = param(w);
    text_printf(text, "  t%d[i, j] = tanh(t%d[i, j] * p%d[j]);\n", y, x, p);
    break;
  }
  case 1: text_printf(text, "  t%d = tanh(t%d);\n", y, x); break;
  case 2: text_printf(text, "  t%d[i, j = %d] = t%d[i, %d - j] * 0.5;\n", y, w->columns, x, w->columns - 1); break;
  case 3: text_printf(text, "  t%d = softmax(t%d);\n", y, x); break;
  case 4: text_printf(text, "  t%d[i, j] = t%d[i, j] + select(i > 0, t%d[i - 1, j], 0);\n", y, x, x); break;
  case 5: text_printf(text, "  t%d[i, j] = t%d[i, j] / (1 + sum(k) t%d[k, j] * t%d[k, j]);\n", y, x, x, x); break;
  default:
    text_printf(text, "  param w%d[%d, %d] = normal();\n", y, w->columns, w->columns);
    text_printf(text, "  t%d[i, j] = sum(k) t%d[i, k] * w%d[k, j];\n", y, x, y);
  }
  return y;
}

static int add_binary(Writer *w, int a, int b) {
  const int y = w->tensors++;
  switch (below(3)) {
  case 0: text_printf(&w->text, "  t%d[i, j] = sum(k, l) t%d[i, k] * t%d[l, k] * t%d[l, j];\n", y, a, b, b); break;
  case 1: text_printf(&w->text, "  t%d[i, j] = t%d[i, j] * t%d[i, j];\n", y, a, b); break;
  default: text_printf(&w->text, "  t%d = t%d + t%d;\n", y, a, b);
  }
  return y;
}

// Returns the last tensor.
static int add_body(Writer *w, int kind) {
  int x = 0, a, b;
  switch (kind) {
  case CHAIN:
    for (int i = 2 + below(2); i > 0; i--) x = add_unary(w, x);
    return x;
  case FORK_JOIN:
    x = add_unary(w, x);
    a = add_unary(w, x);
    b = add_unary(w, x);
    return add_binary(w, a, b);
  case SKIPS:
    for (int i = 0; i < 2; i++) {
      a = add_unary(w, x);
      x = add_binary(w, x, a);
    }
    return x;
  case GRID:
    a = add_unary(w, x);
    b = add_unary(w, a);
    x = add_binary(w, a, x);
    return add_binary(w, b, x);
  default:
    a = add_unary(w, x);
    b = add_binary(w, a, x);
    return add_unary(w, b);
  }
}

static const char *random_model(Arena *arena, int kind, bool large) {
  const int scale = large ? 64 : 1, rows = scale * (1 + below(4)), columns = scale * (1 + below(4));
  Writer w = {.text = {.arena = arena}, .rows = rows, .columns = columns, .tensors = 1, .shared = kind == SHARED};
  text_printf(&w.text, "model m(batch = %d) {\n  input t0[batch, %d];\n", w.rows, w.columns);
  const int last = add_body(&w, kind);
  text_printf(&w.text, "  loss = mean(t%d * t%d);\n}\n", last, last);
  text_printf(&w.text, "train { optimizer = sgd(lr = 0.1%s); steps = 1; }\n", below(2) == 0 ? ", momentum = 0.9" : "");
  return text_str(&w.text);
}

// Slow enough for dividing to pay, or not.
static Machine random_machine(void) {
  const double rate = pow(10, 4 + below(5)), link = pow(10, 4 + below(5)), latency = pow(10, -7 + below(3));
  return (Machine){.name = "m",
                   .device = {"gpu", rate, rate / 2, rate * (1 + below(3)), 1e9, latency},
                   .n_levels = 3,
                   .level = {{"board", "bus", 3, link, latency, false},
                             {"node", "wire", 3, link / (1 + below(4)), latency * 2, below(2) == 0},
                             {"rack", "net", 3, link / (1 + below(9)), latency * 3, true}}};
}

static Mesh random_mesh(void) {
  static const char *const name[] = {"a", "b", "c"};
  Mesh mesh = {.n_axes = 1 + (below(3) == 0) + (below(6) == 0)};
  for (int a = 0; a < mesh.n_axes; a++) mesh.axis[a] = (MeshAxis){name[a], 2 + (below(4) == 0)};
  return mesh;
}

// ---- every plan ----------------------------------------------------------------------------------------------------

typedef struct Trial {
  Arena *arena;
  const char *text; // the model
  bool large;       // tensors of some kilobytes, so that limits on memory mean something
  bool factored;    // its plans are those of the factors of its mesh
  Machine machine;
  Compilation c; // before the pass "plan"
  SearchProblem *problem;
  Pricing *pricing;
  int64_t plans;
  Evaluation *found; // by plan
} Trial;

// With the text, the machine and the mesh of the trial.
static void open_text(Trial *t, const ElabOptions *options) {
  ProblemSpace space = {.unit = SEARCH_SECONDS, .parts = GROUPS_BY_DIMS, .candidates = problem_all_candidates};
  Factors factors;
  t->c.arena = t->c.problems.arena = t->arena;
  t->c.machine = &t->machine;
  t->c.plan_source.kind = PLAN_AUTO;
  t->c.by_sum = true;
  t->c.model = elab_model(t->arena, parse_prelude(t->arena), parse_text(t->arena, "m.dnn", t->text, strlen(t->text)), options);
  for (int pass = 0; pass < pipeline_find("plan"); pass++) pipeline_run(&t->c, pass);
  cost_mark_inlined(t->c.model->train);
  if (t->factored) {
    CHECK(factors_of_mesh(t->arena, &t->c.mesh, &factors));
    space.candidates = factors_candidates;
    space.ctx = &factors;
  }
  t->problem = problem_new(t->arena, t->c.model, t->factored ? &factors.mesh : &t->c.mesh, &t->machine, &space);
  t->pricing = pricing_new(&t->c);
  t->plans = 1;
  for (int x = 0; x < t->problem->cfn.variables.len && t->plans <= MOST_PLANS; x++) t->plans *= t->problem->cfn.variables.at[x].n_values;
}

static Mesh random_factored_mesh(void) {
  static const int size[] = {4, 4, 6, 8};
  Mesh mesh = {.n_axes = 1 + (below(3) == 0), .axis = {{"a", size[below(4)]}, {"b", 2}}};
  return mesh;
}

static void open_trial(Trial *t, int number, bool factored) {
  const ElabOptions options = {0};
  state = (uint64_t)number * 7919 + 1;
  *t = (Trial){.arena = arena_new(), .large = below(2) == 0, .factored = factored};
  t->text = random_model(t->arena, number % KINDS, t->large);
  t->machine = random_machine();
  t->c.mesh = factored ? random_factored_mesh() : random_mesh();
  open_text(t, &options);
}

static bool next(const Cfn *cfn, int *value) {
  for (int x = 0; x < cfn->variables.len; x++) {
    if (++value[x] < cfn->variables.at[x].n_values) return true;
    value[x] = 0;
  }
  return false;
}

static void fail_plan(const Trial *t, const Plan *plan, const char *who, const char *refused, double said, double found) {
  Text text = {.arena = t->arena};
  plan_print(plan, &text);
  check_fail("a plan: %s: %.17g, the lowered graph takes %.17g%s%s\n%s%s", who, said, found, refused != NULL ? "; refused: " : "",
             refused != NULL ? refused : "", t->text, text_str(&text));
}

// But for the order of a sum.
static bool near(double a, double b) { return a == b || fabs(a - b) <= 1e-12 * fabs(b); }

// What a plan is priced at is what its lowered graph takes. As streams overlap it takes no more than that, by estimate, too, and no less than
// what it computes.
static void try_price(const Trial *t, const Plan *plan, const Evaluation *found) {
  const Price price = pricing_of(t->pricing, plan, INFINITY);
  const double computing = found->cost.compute + found->cost.update;
  if (!CHECK(near(price.seconds, found->cost.step))) fail_plan(t, plan, "the price", NULL, price.seconds, found->cost.step);
  if (!CHECK(price.overlapped >= computing * (1 - 1e-9) && price.overlapped <= price.seconds * (1 + 1e-9)))
    fail_plan(t, plan, "the estimate", NULL, price.overlapped, price.seconds);
}

// Lowers all plans. What the tables say of each is what is found; of a model the first that differs is told.
static void try_plans(Trial *t) {
  const Cfn *cfn = &t->problem->cfn;
  int *value = NEW_ARRAY(t->arena, int, cfn->variables.len), n = 0;
  bool same = true;
  t->found = NEW_ARRAY(t->arena, Evaluation, t->plans);
  do {
    const Plan plan = problem_plan(t->arena, t->problem, value);
    const Evaluation found = t->large ? evaluate_plan(&t->c, &plan) : evaluate_cost(&t->c, &plan);
    const double said = cfn_cost(cfn, value);
    const bool right = found.refused == NULL && fabs(found.cost.step - said) <= 1e-12 * said;
    if (same && !right) fail_plan(t, &plan, "the tables", found.refused, said, found.cost.step);
    same &= right;
    if (n % PRICED == 0) try_price(t, &plan, &found);
    t->found[n++] = found;
  } while (next(cfn, value));
  CHECK(same && n == t->plans && t->problem->n_approximate == 0);
}

// The cheapest that fits; INFINITY: none does.
static double least_cost(const Trial *t, double memory) {
  double least = INFINITY;
  for (int i = 0; i < t->plans; i++)
    if ((double)t->found[i].arena_bytes <= memory) least = fmin(least, t->found[i].cost.step);
  return least;
}

// What fits of the plans of other planners, which auto takes, too: some are none of its space. It does not ask flexflow.
static double least_of_planners(Trial *t) {
  double least = INFINITY;
  for (int kind = 0; kind < PLAN_NAMED; kind++) {
    Plan plan;
    Search search;
    if (kind == PLAN_AUTO || kind == PLAN_FLEXFLOW || evaluate_planner(&t->c, (PlanSource){.kind = (PlanSourceKind)kind}, &plan, &search) != NULL) continue;
    const Evaluation found = evaluate_plan(&t->c, &plan);
    if (found.refused == NULL) try_price(t, &plan, &found);
    if (found.refused == NULL && (double)found.arena_bytes <= t->machine.device.memory) least = fmin(least, found.cost.step);
  }
  return least;
}

static int divided, limited, fewer; // models: where dividing something pays, with a limit, that are best on fewer devices

typedef struct Best { double cost, of_space; } Best; // of all plans; of those that are searched

static Best run_auto(Trial *t, Search *search) {
  Plan plan;
  CHECK(evaluate_planner(&t->c, (PlanSource){.kind = PLAN_AUTO}, &plan, search) == NULL);
  const double of_space = least_cost(t, t->machine.device.memory);
  return (Best){fmin(of_space, least_of_planners(t)), of_space};
}

static void try_auto(Trial *t) {
  Search search;
  const Best best = run_auto(t, &search);
  const bool proved = search.bound == search.cost || (!near(best.cost, best.of_space) && near(search.bound, best.of_space));
  const bool on_fewer = t->factored && search.cost < best.cost && !near(search.cost, best.cost); // which are none of its plans
  fewer += on_fewer;
  if (!CHECK((near(search.cost, best.cost) && proved) || on_fewer)) check_fail("auto: %.17g, bound %.17g, not %.17g\n%s", search.cost, search.bound, best.cost, t->text);
  divided += !near(best.of_space, t->found[0].cost.step);
}

// What is refined takes no longer as streams overlap than the plan with the least sum, and what is proved is of that one.
static void try_refined(Trial *t) {
  Search by_sum, search;
  Plan first, plan;
  CHECK(evaluate_planner(&t->c, (PlanSource){.kind = PLAN_AUTO}, &first, &by_sum) == NULL);
  t->c.by_sum = false;
  CHECK(evaluate_planner(&t->c, (PlanSource){.kind = PLAN_AUTO}, &plan, &search) == NULL);
  t->c.by_sum = true;
  const Evaluation before = evaluate_plan(&t->c, &first), after = evaluate_plan(&t->c, &plan);
  CHECK(search.cost == by_sum.cost && search.bound == by_sum.bound && !by_sum.refined);
  CHECK(near(search.unrefined, before.overlapped) && after.overlapped <= before.overlapped && (after.overlapped < before.overlapped) == search.refined);
  CHECK((double)after.arena_bytes <= t->machine.device.memory);
}

// A limit that the cheapest plan does not keep; 0: there is none.
static double random_limit(const Trial *t) {
  const double least = least_cost(t, INFINITY);
  double low = INFINITY, high = 0;
  for (int i = 0; i < t->plans; i++) {
    low = fmin(low, (double)t->found[i].arena_bytes);
    if (near(t->found[i].cost.step, least)) high = fmax(high, (double)t->found[i].arena_bytes);
  }
  return low < high ? low + floor((high - low) * below(100) / 100) : 0;
}

static void try_limited(Trial *t) {
  Search search;
  t->machine.device.memory = random_limit(t);
  if (t->machine.device.memory == 0) return;
  const Best best = run_auto(t, &search);
  if (!CHECK(near(search.cost, best.cost) && search.bound <= best.of_space * (1 + 1e-12)))
    check_fail("auto, limited: %.17g, bound %.17g, not %.17g\n%s", search.cost, search.bound, best.cost, t->text);
  limited++;
}

// False where the model has too few or too many plans.
static bool try_model(int number, bool factored) {
  Trial t;
  open_trial(&t, number, factored);
  const bool tried = t.plans >= LEAST_PLANS && t.plans <= MOST_PLANS;
  if (tried) {
    try_plans(&t);
    try_auto(&t);
    if (number % REFINED == 0) try_refined(&t);
    if (t.large && !factored) try_limited(&t);
  }
  arena_free(t.arena);
  return tried;
}

static void every_plan_of_random_models(void) {
  int tried = 0;
  for (int number = 0; tried < MODELS && number < 100 * MODELS; number++) tried += try_model(number, false);
  CHECK_INT(tried, MODELS);
  if (!CHECK(divided > 100 && limited > 10)) check_fail("%d models are divided, %d limited", divided, limited);
}

// ---- what is worth it ----------------------------------------------------------------------------------------------

// The best plan of a model on a machine whose devices do so many operations a second, as text.
static const char *best_plan(Trial *t, const char *text, int ranks, double rate) {
  const ElabOptions options = {0};
  *t = (Trial){.arena = arena_new(), .text = text, .c.mesh = {.n_axes = 1, .axis = {{"a", ranks}}}};
  t->machine = (Machine){.name = "m", .device = {"gpu", rate, rate, rate, 1e9, 1e-6}, .n_levels = 1, .level = {{"board", "bus", 4, 1e6, 1e-5, false}}};
  open_text(t, &options);
  const CfnSolution found = problem_solve(t->problem, 1000000, 5);
  const Plan plan = problem_plan(t->arena, t->problem, found.value);
  Text written = {.arena = t->arena};
  plan_print(&plan, &written);
  return text_str(&written);
}

// Holds the best plan against a part of it.
static void best_plan_has(const char *text, const char *model, int ranks, double rate) {
  Trial t;
  const char *plan = best_plan(&t, model, ranks, rate);
  if (!CHECK(strstr(plan, text) != NULL)) check_fail("%s", plan);
  arena_free(t.arena);
}

// What is added up here goes on to an operator of the same group that is no sum. One reduction costs less than two.
static void sums_are_left_pending_beside_other_operators(void) {
  best_plan_has("pending", "model m(batch = 64) {\n  input x[batch, 1];\n  param p[1] = normal();\n  a[j] = sum(i) x[i, j] * p[j];\n"
                "  b[j] = sum(i) exp(x[i, j]);\n  s[j] = a[j] + b[j];\n  y[j] = tanh(s[j]);\n  loss = mean(y * y);\n}\n"
                "train { optimizer = sgd(lr = 0.1); steps = 1; }\n", 2, 1e4);
}

// The rows that a table is read at are few beside those that are read: its gradient is reduced, not theirs.
static void gradients_of_tables_are_left_pending(void) {
  best_plan_has("pending", "model m(batch = 64) {\n  input id[batch]: int < 2;\n  param table[2, 1] = normal();\n  param w[1, 3000] = normal();\n"
                "  x = embedding(id, table);\n  y[i, k] = sum(j) x[i, j] * w[j, k];\n  loss = mean(y * y);\n}\n"
                "train { optimizer = sgd(lr = 0.1); steps = 1; }\n", 2, 1e7);
}

// Three samples on four ranks: one has nothing to do, but none has two.
static void ranks_are_left_empty(void) {
  best_plan_has("op y         i/a\n", "model m(batch = 3) {\n  input x[batch, 1];\n  param p[1] = normal();\n  y[i, j] = exp(x[i, j] * p[j]);\n"
                "  loss = mean(y * y);\n}\ntrain { optimizer = sgd(lr = 0.1); steps = 1; }\n", 4, 1e4);
}

// Blocks are equal: what an axis can do its factors can.
static void every_plan_of_factors(void) {
  int tried = 0;
  divided = 0;
  for (int number = 0; tried < FACTORED && number < 100 * FACTORED; number++) tried += try_model(number, true);
  CHECK_INT(tried, FACTORED);
  CHECK(divided > FACTORED / 3 && fewer < FACTORED / 3);
}

// ---- some plans of larger models -----------------------------------------------------------------------------------

typedef struct Sample {
  const char *name, *defines;
  int axes; // of two ranks
  int64_t strip_bytes; // 0: nothing is made again
} Sample;

static const Sample samples[] = {
    {"alexnet", "batch=3 size=63 width=4 hidden=12 classes=5", 2, 0},
    {"resnet", "batch=3 size=32 depth=18 width=4 classes=5", 2, 0},
    {"charlm", "batch=5 context=3 width=6", 2, 0},
    {"nmt", "batch=3 context=2 width=4 vocabulary=9", 2, 0},
    {"gpt2", "batch=3 context=5 vocabulary=19 layers=2 width=6 heads=3", 2, 0},
    {"mixtral", "batch=3 context=5 vocabulary=19 layers=1 width=12 heads=3 kv_heads=1 experts=3 hidden=5", 1, 0},
    {"gpt2", "batch=4 context=64 vocabulary=19 layers=2 width=8 heads=2", 2, 1 << 16},
    {"nmt", "batch=8 context=4 width=4 vocabulary=90", 2, 1 << 10},
    {"rnnlm", "batch=8 context=6 width=4 vocabulary=19", 2, 1 << 10},
};

static void add_defines(Arena *arena, ElabOptions *options, const char *defines) {
  for (const char *at = defines; *at != '\0';) {
    const size_t name = strcspn(at, "="), value = strcspn(at + name + 1, " ");
    vec_push(arena, &options->defines, (Define){arena_strndup(arena, at, name), arena_strndup(arena, at + name + 1, value)});
    at += name + 1 + value;
    at += *at == ' ';
  }
}

static bool open_sample(Trial *t, const Sample *sample) {
  ElabOptions options = {0};
  size_t len;
  state = 1;
  *t = (Trial){.arena = arena_new(), .machine = random_machine()};
  t->text = input_file(t->arena, arena_printf(t->arena, "samples/%s.dnn", sample->name), &len);
  if (t->text == NULL) return false;
  t->c.strip_bytes = sample->strip_bytes;
  t->c.mesh = (Mesh){.n_axes = sample->axes, .axis = {{"a", 2}, {"b", 2}}};
  add_defines(t->arena, &options, sample->defines);
  open_text(t, &options);
  return true;
}

// A plan costs what the tables say or, where too many groups touch a tensor, no less; and no less than the network that was solved last
// says, which knows only those that cost no more than the best.
static void try_sample_plan(Trial *t, const Sample *sample, const CfnSolution *best, const int *value) {
  const Plan plan = problem_plan(t->arena, t->problem, value);
  const Evaluation found = evaluate_cost(&t->c, &plan);
  const int *complete = tables_complete(t->problem->tables, t->problem->solved, value);
  const double said = cfn_cost(&t->problem->cfn, value), step = found.cost.step, solved = fmin(cfn_cost(t->problem->solved, complete), best->cost);
  CHECK(found.refused == NULL);
  try_price(t, &plan, &found);
  if (!CHECK(t->problem->n_approximate > 0 ? said <= step * (1 + 1e-12) : fabs(step - said) <= 1e-12 * said))
    check_fail("%s: the tables say %.17g, the lowered graph takes %.17g", sample->name, said, step);
  if (!CHECK(solved <= step * (1 + 1e-12) && best->bound <= step * (1 + 1e-12)))
    check_fail("%s: what was solved says %.17g, its bound %.17g, the lowered graph takes %.17g", sample->name, solved, best->bound, step);
}

static int refined; // samples of which what many groups touch had to be told apart

// Some of all plans, and some that are near the best.
static void try_sample(const Sample *sample) {
  enum { PLANS = 6, BUDGET = 10000000 };
  Trial t;
  if (!CHECK(open_sample(&t, sample))) return;
  const Cfn *cfn = &t.problem->cfn;
  int *value = NEW_ARRAY(t.arena, int, cfn->variables.len);
  const CfnSolution best = problem_solve(t.problem, BUDGET, 5);
  CHECK(best.feasible && best.bound == best.cost);
  refined += t.problem->solved != cfn;
  for (int i = 0; i < 2 * PLANS; i++) {
    for (int x = 0; x < cfn->variables.len; x++) {
      const bool changed = i < PLANS ? below(i + 1) > 0 : below(20) == 0;
      value[x] = changed ? below(cfn->variables.at[x].n_values) : i < PLANS ? 0 : best.value[x];
    }
    try_sample_plan(&t, sample, &best, value);
  }
  arena_free(t.arena);
}

static void some_plans_of_samples(void) {
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) try_sample(&samples[i]);
  CHECK(refined > 0);
}

CHECKS(TEST(every_plan_of_random_models), TEST(every_plan_of_factors), TEST(sums_are_left_pending_beside_other_operators), TEST(gradients_of_tables_are_left_pending), TEST(ranks_are_left_empty),
       TEST(some_plans_of_samples))
