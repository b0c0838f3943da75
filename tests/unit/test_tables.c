// Tensors that more groups touch than a table has places for: what is proved of random models, where many operators read one tensor,
// against every assignment, each paid as it is.
#include "../../passes/search/tables.h"

#include <math.h>

#include "../../frontend/frontend.h"
#include "../../frontend/parse.h"
#include "check.h"

enum { MODELS = 300, READERS = 10, MOST_ASSIGNMENTS = 1 << 16 };

static uint64_t state;
static int below(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)n);
}

// READERS operators read one tensor, and their gradients that of the others.
static const char *random_model(Arena *arena) {
  const int size = 6 * (1 + below(4));
  Text text = {.arena = arena};
  text_printf(&text, "model m(batch = %d) {\n  input x[batch, %d];\n  param w[%d, %d] = normal();\n  t[i, k] = sum(j) x[i, j] * w[j, k];\n", 12 * (1 + below(3)),
              size, size, size);
  for (int i = 0; i < READERS; i++) text_printf(&text, "  param w%d[%d, %d] = normal();\n  y%d[i, k] = sum(j) t[i, j] * w%d[j, k];\n", i, size, size, i, i);
  text_printf(&text, "  s = y0");
  for (int i = 1; i < READERS; i++) text_printf(&text, " + y%d", i);
  text_printf(&text, ";\n  loss = mean(s * s);\n}\ntrain { optimizer = sgd(lr = 0.1); steps = 1; }\n");
  return text_str(&text);
}

static Machine random_machine(void) {
  const double rate = pow(10, 6 + below(4)), link = pow(10, 4 + below(4));
  return (Machine){.name = "m",
                   .device = {"gpu", rate, rate, rate, 1e9, 1e-7},
                   .n_levels = 2,
                   .level = {{"board", "bus", 3, link, 1e-6, false}, {"node", "wire", 3, link / (1 + below(4)), 2e-6, below(2) == 0}}};
}

// Two or three of all candidates of each product, one of what is not.
static Candidates some_candidates(const void *ctx, Arena *arena, const Groups *groups, int number, const Mesh *mesh) {
  const Candidates all = problem_all_candidates(ctx, arena, groups, number, mesh);
  Candidates some = {0, NEW_ARRAY(arena, Candidate, 3)};
  const int most = groups->list.at[number].dims.len == 3 ? 2 + (below(8) == 0) : 1;
  for (int i = 0; i < 9 && some.n < most; i++) {
    const Candidate *candidate = &all.list[below(all.n)];
    bool known = false;
    for (int k = 0; k < some.n; k++) known |= memcmp(&some.list[k], candidate, sizeof *candidate) == 0;
    if (!known) some.list[some.n++] = *candidate;
  }
  return some;
}

static bool next(const Cfn *cfn, int *value) {
  for (int x = 0; x < cfn->variables.len; x++) {
    if (++value[x] < cfn->variables.at[x].n_values) return true;
    value[x] = 0;
  }
  return false;
}

static int proved, told; // models: what was found is shown to be the best; hubs were needed for that

// What the network that was solved last says of an assignment: no more than it costs, or than the best.
static bool says_too_much(const SearchProblem *p, const CfnSolution *best, const int *value, double cost) {
  const int *complete = tables_complete(p->tables, p->solved, value);
  return fmin(cfn_cost(p->solved, complete), best->cost) > cost * (1 + 1e-12);
}

static bool try_problem(SearchProblem *p, const char *text) {
  int64_t assignments = 1;
  for (int x = 0; x < p->cfn.variables.len && assignments <= MOST_ASSIGNMENTS; x++) assignments *= p->cfn.variables.at[x].n_values;

  if (p->n_approximate == 0 || assignments > MOST_ASSIGNMENTS) return false;
  const CfnSolution best = problem_solve(p, 100000000, 5);
  int *value = NEW_ARRAY(p->arena, int, p->cfn.variables.len);
  double least = INFINITY;
  bool right = true;
  p->scratch = arena_new();
  do {
    const double cost = tables_cost(p->tables, value);
    least = fmin(least, cost);
    right &= !says_too_much(p, &best, value, cost);
  } while (next(&p->cfn, value));
  arena_free(p->scratch);
  if (!CHECK(right && best.feasible && best.cost >= least * (1 - 1e-12) && best.bound <= least * (1 + 1e-12)))
    check_fail("found %.17g, bound %.17g, the least is %.17g\n%s", best.cost, best.bound, least, text);
  proved += best.bound == best.cost;
  told += p->solved->variables.len > p->cfn.variables.len;
  return true;
}

static bool try_model(int number) {
  static const int size[] = {2, 3, 4};
  Compilation c = {.arena = arena_new()};
  const ElabOptions options = {0};
  state = (uint64_t)number * 7919 + 5;
  const char *text = random_model(c.arena);
  const Machine machine = random_machine();
  c.machine = &machine;
  c.plan_source.kind = PLAN_AUTO;
  c.mesh = (Mesh){.n_axes = 1 + below(2), .axis = {{"a", size[below(3)]}, {"b", 2}}};
  c.model = elab_model(c.arena, parse_prelude(c.arena), parse_text(c.arena, "m.dnn", text, strlen(text)), &options);
  for (int pass = 0; pass < pipeline_find("plan"); pass++) pipeline_run(&c, pass);
  cost_mark_inlined(c.model->train);
  const ProblemSpace space = {.unit = SEARCH_SECONDS, .parts = GROUPS_BY_DIMS, .candidates = some_candidates};
  SearchProblem *problem = problem_new(c.arena, c.model, &c.mesh, &machine, &space);
  const bool tried = problem != NULL && try_problem(problem, text);
  arena_free(c.arena);
  return tried;
}

static void many_readers(void) {
  int tried = 0;
  for (int number = 0; tried < MODELS && number < 20 * MODELS; number++) tried += try_model(number);
  CHECK_INT(tried, MODELS);
  if (!CHECK(proved > MODELS * 9 / 10 && told > MODELS / 30)) check_fail("%d are proved, %d with hubs", proved, told);
}

CHECKS(TEST(many_readers))
