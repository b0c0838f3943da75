// Plans that are made axis after axis, by bytes: what is counted is what the lowered graph moves, each cut is the least of all, which
// are enumerated, and everything that can be divided is. The best by levels is the best. What Tofu's authors found of the largest wide
// residual network is so.
#include "../../passes/search/cuts.h"

#include <math.h>

#include "../../frontend/frontend.h"
#include "../../frontend/output.h"
#include "../../frontend/parse.h"
#include "../../passes/evaluate.h"
#include "../../passes/passes.h"
#include "../../passes/route.h"
#include "../../passes/search/levels.h"
#include "check.h"

enum { MOST_PLANS = 300000 };

static uint64_t state;

static int draw(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)n);
}

// Dense layers of drawn sizes, some with a branch around them: chains, fork-joins and tensors with several readers. Some are alike.
static const char *random_net(Arena *arena) {
  static const int sizes[] = {6, 12, 24, 40};
  Text text = {.arena = arena};
  text_printf(&text, "model net(batch = %d) {\n  input x[batch, %d];\n  input label[batch]: int < 8;\n  y = x;\n", sizes[draw(4)], sizes[draw(4)]);
  for (int layers = 1 + draw(3); layers > 0; layers--) {
    const int size = sizes[draw(2)];
    switch (draw(3)) {
    case 0: text_printf(&text, "  y = dense(y, %d);\n", size); break;
    case 1: text_printf(&text, "  y = dense(y, %d) |> relu;\n", size); break;
    default: text_printf(&text, "  a = dense(y, %d);\n  y = a + relu(a);\n", size);
    }
  }
  text_printf(&text, "  loss = cross_entropy(dense(y, 8), label);\n}\ntrain { optimizer = sgd(lr = 0.1); steps = 1; }\n");
  return text_str(&text);
}

// Ready to be planned.
static Compilation open_model(Arena *arena, const char *text, const ElabOptions *options, const Mesh *mesh, const Machine *machine) {
  const AstFile *prelude = parse_prelude(arena), *file = parse_text(arena, "net.dnn", text, strlen(text));
  Compilation c = {.arena = arena, .mesh = *mesh, .mesh_given = true, .machine = machine, .strip_bytes = 8 << 20, .problems = {.arena = arena}};
  c.model = elab_model(arena, prelude, file, options);
  for (int pass = 0; pass < pipeline_find("plan"); pass++) pipeline_run(&c, pass);
  return c;
}

// Without a machine: ways are then chosen by bytes.
static Compilation open_net(Arena *arena, const char *text, const Mesh *mesh) {
  return open_model(arena, text, &(ElabOptions){.f64 = false}, mesh, NULL);
}

// What all ranks send together, in the graph as it is lowered from a plan.
static double lowered_bytes(const char *text, const Mesh *mesh, const Plan *plan) {
  Arena *arena = arena_new();
  Compilation c = open_net(arena, text, mesh);
  double bytes = 0;
  c.plan_source.kind = PLAN_MADE;
  c.plan = *plan;
  for (int pass = pipeline_find("plan"); pass <= pipeline_find("apply-plan"); pass++) pipeline_run(&c, pass);
  CHECK_INT(c.problems.list.len, 0);
  for (int i = 0; i < c.model->train->ops.len; i++) {
    const Op *op = &c.model->train->ops.at[i];
    if (op->kind != OP_RESHARD || op->phase == PHASE_REPORT) continue;
    const Tensor *from = graph_tensor(c.model->train, op->in), *to = graph_tensor(c.model->train, op->out);
    const Shape shape = shape_of(from);
    Reshard step;
    CHECK(reshard_find(&c.mesh, &shape, from->layout, to->layout, &step));
    bytes += reshard_cost(&c.mesh, &shape, from->layout, to->layout, step, 4) * mesh_ranks(&c.mesh);
  }
  arena_free(arena);
  return bytes;
}

// The least of all assignments; INFINITY: there are too many to look at.
static double enumerate(const Cfn *cfn) {
  int *value = NEW_ARRAY(cfn->arena, int, cfn->variables.len), v = 0;
  double least = INFINITY, plans = 1;
  for (int i = 0; i < cfn->variables.len; i++) plans *= cfn->variables.at[i].n_values;
  if (plans > MOST_PLANS) return INFINITY;
  while (v < cfn->variables.len) {
    least = fmin(least, cfn_cost(cfn, value));
    for (v = 0; v < cfn->variables.len && ++value[v] == cfn->variables.at[v].n_values; v++) value[v] = 0;
  }
  return least;
}

static void check_cuts(const CutRule *rule, const Mesh *mesh, int *enumerated) {
  Arena *arena = arena_new();
  const char *text = random_net(arena);
  Compilation c = open_net(arena, text, mesh);
  SearchProblem *problem = NULL;
  bool otherwise, **allowed = NULL;
  CfnSolution solution = {0};
  for (Mesh part = {0}; part.n_axes < mesh->n_axes;) {
    part.axis[part.n_axes] = mesh->axis[part.n_axes];
    part.n_axes++;
    problem = cuts_problem(arena, c.model, &part, NULL, rule, problem, solution.value, &allowed);
    solution = rule->solve(arena, &problem->cfn, &otherwise);
    const double least = enumerate(&problem->cfn);
    *enumerated += isfinite(least);
    if (isfinite(least)) CHECK_NEAR(solution.cost, least, 1e-9);
    int *any = NEW_ARRAY(arena, int, problem->cfn.variables.len);
    for (int i = 0; i < problem->cfn.variables.len; i++) any[i] = draw(problem->cfn.variables.at[i].n_values);
    const Plan found = problem_plan(arena, problem, solution.value), drawn = problem_plan(arena, problem, any);
    CHECK_NEAR(lowered_bytes(text, &part, &found), solution.cost, 1e-9);
    // The norm of the gradients, a report, may want a gradient reduced in another place than its update does.
    CHECK_NEAR(lowered_bytes(text, &part, &drawn), cfn_cost(&problem->cfn, any), 3e-2);
  }
  arena_free(arena);
}

static void each_cut_is_the_least(void) {
  static const Mesh meshes[] = {{.n_axes = 2, .axis = {{"a", 2}, {"b", 2}}},
                                {.n_axes = 2, .axis = {{"a", 3}, {"b", 2}}},
                                {.n_axes = 1, .axis = {{"a", 5}}},
                                {.n_axes = 3, .axis = {{"a", 2}, {"b", 2}, {"c", 2}}}};
  int of_tofu = 0, of_soybean = 0; // that are enumerated
  state = 1;
  for (int i = 0; i < 30; i++) check_cuts(&tofu_rule, &meshes[i % 4], &of_tofu);
  for (int i = 0; i < 30; i++) check_cuts(&soybean_rule, &meshes[i % 4], &of_soybean);
  CHECK(of_tofu >= 10 && of_soybean >= 10);
}

// Images are tiled by samples and channels; products are always.
static void images_are_not_tiled(void) {
  static const char text[] = "model net(batch = 2) {\n  input x[batch, 3, 32, 32];\n  input label[batch]: int < 4;\n"
                             "  y = conv(x, 4, 3, pad = 1) |> batchnorm |> relu |> maxpool(2);\n  y = relu(y + conv(y, 4, 1));\n"
                             "  loss = cross_entropy(dense(view(y, \"n c h w -> n (c h w)\"), 4), label);\n}\n"
                             "train { optimizer = sgd(lr = 0.1); steps = 1; }\n";
  Arena *arena = arena_new();
  const Mesh mesh = {.n_axes = 3, .axis = {{"a", 2}, {"b", 2}, {"c", 2}}};
  Compilation c = open_net(arena, text, &mesh);
  const Plan plan = cuts_plan(&c, &soybean_rule);
  int tiled = 0;
  for (int i = 0; i < plan.lines.len; i++)
    for (int a = 0; a < mesh.n_axes; a++) {
      const PlanChoice *choice = &plan.lines.at[i].axis[a];
      if (choice->kind != CHOICE_SPLIT) continue;
      CHECK(strchr("hwpqrs", choice->dim[0]) == NULL && !str_eq(choice->dim, "d2") && !str_eq(choice->dim, "d3"));
      tiled++;
    }
  CHECK(tiled > 0);
  arena_free(arena);
}

// ---- what was published -------------------------------------------------------------------------------------------

// As tofu, but no operator of the forward pass is divided along a dimension that it sums over, and its gradients are divided as it is
// (as by Jia et al. 2018).
static bool **only_outputs(Arena *arena, const Groups *groups) {
  bool **allowed = tofu_rule.allowed(arena, groups);
  for (int g = 0; g < groups->list.len; g++)
    for (int d = 0; d < groups->list.at[g].dims.len; d++)
      for (int i = 0; i < groups->list.at[g].dims.at[d].members.len; i++) {
        const GroupMember *member = &groups->list.at[g].dims.at[d].members.at[i];
        const Op *op = member->op >= 0 ? &groups->graph->ops.at[member->op] : NULL;
        if (op != NULL && op->phase == PHASE_FORWARD && member->dim >= op->n_out) allowed[g][d + 1] = false;
      }
  return allowed;
}

static double gib_of(Compilation c, const CutRule *rule) {
  const Plan plan = cuts_plan(&c, rule);
  const Evaluation found = evaluate_plan(&c, &plan);
  CHECK(found.refused == NULL);
  return (double)found.arena_bytes / (1 << 30);
}

// Wang et al. 2019: on 8 K80 Tofu trains WResNet-152-10 with a batch of 8, and who divides no sums runs out of memory.
static void sums_are_divided_to_fit(void) {
  Arena *arena = arena_new();
  size_t len;
  const char *text = input_file(arena, "samples/wresnet.dnn", &len);
  const Mesh mesh = {.n_axes = 3, .axis = {{"a", 2}, {"b", 2}, {"c", 2}}};
  const CutRule outputs = {GROUPS_BY_DIMS, only_outputs, tofu_rule.solve, NULL};
  ElabOptions options = {.f64 = false};
  vec_push(arena, &options.defines, (Define){"depth", "152"});
  vec_push(arena, &options.defines, (Define){"widening", "10"});
  vec_push(arena, &options.defines, (Define){"batch", "8"});
  const Compilation c = open_model(arena, text, &options, &mesh, machine_preset(arena, "k80x8"));
  const double have = c.machine->device.memory / (1 << 30);
  CHECK(gib_of(c, &tofu_rule) < have);
  CHECK(gib_of(c, &outputs) > 1.2 * have);
  arena_free(arena);
}

// ---- levels --------------------------------------------------------------------------------------------------------

// Variables joined to others near them, by functions of one to four; some choices cannot be.
static Cfn *random_network(Arena *arena) {
  Cfn *cfn = NEW(arena, Cfn);
  cfn->arena = arena;
  cfn->constant = draw(10);
  for (int v = 1 + draw(7); v > 0; v--) {
    const int n = 1 + draw(4);
    double *cost = NEW_ARRAY(arena, double, n);
    for (int i = 0; i < n; i++) cost[i] = draw(5) == 0 ? INFINITY : draw(20);
    vec_push(arena, &cfn->variables, (CfnVariable){.name = "v", .n_values = n, .cost = cost});
  }
  for (int k = draw(10); k > 0; k--) {
    CfnFunction f = {.arity = 1 + draw(cfn->variables.len < 4 ? cfn->variables.len : 4)};
    int entries = 1;
    for (int i = 0, first = draw(cfn->variables.len); i < f.arity; i++) {
      f.var[i] = (first + i) % cfn->variables.len;
      const int n = cfn->variables.at[f.var[i]].n_values;
      int *class_of = NEW_ARRAY(arena, int, n);
      f.n_classes[i] = 1 + draw(n);
      for (int x = 0; x < n; x++) class_of[x] = x < f.n_classes[i] ? x : draw(f.n_classes[i]);
      f.class_of[i] = class_of;
      entries *= f.n_classes[i];
    }
    double *cost = NEW_ARRAY(arena, double, entries);
    for (int i = 0; i < entries; i++) cost[i] = draw(8) == 0 ? INFINITY : draw(20);
    f.cost = cost;
    vec_push(arena, &cfn->functions, f);
  }
  cfn_check(cfn);
  return cfn;
}

static void levels_find_the_least(void) {
  int possible = 0, given_up = 0;
  state = 3;
  for (int i = 0; i < 500; i++) {
    Arena *arena = arena_new();
    const Cfn *cfn = random_network(arena);
    const double least = enumerate(cfn);
    const CfnSolution all = levels_solve(arena, cfn, MOST_PLANS), few = levels_solve(arena, cfn, 3);
    CHECK(all.feasible == isfinite(least) && all.cost == least);
    CHECK(!few.feasible || few.cost == least);
    if (all.feasible) CHECK(cfn_cost(cfn, all.value) == least && all.bound == least);
    possible += all.feasible;
    given_up += all.feasible && !few.feasible;
    arena_free(arena);
  }
  CHECK(possible > 200 && given_up > 20);
}

// Every operator is divided along both axes, and so is all that is stored.
static void all_is_divided(void) {
  Arena *arena = arena_new();
  const Mesh mesh = {.n_axes = 2, .axis = {{"a", 3}, {"b", 2}}};
  state = 7;
  Compilation c = open_net(arena, random_net(arena), &mesh);
  const Plan plan = cuts_plan(&c, &tofu_rule);
  for (int i = 0; i < plan.lines.len; i++)
    for (int a = 0; a < mesh.n_axes; a++) {
      const Op *op = plan_find_op(c.model->train, plan.lines.at[i].name);
      const bool scalar = op != NULL && plan_space_of_op(op).n_dims == 0;
      CHECK(scalar || plan.lines.at[i].axis[a].kind == CHOICE_SPLIT);
    }
  CHECK_STR(c.search.how != NULL ? arena_strndup(arena, c.search.how, 12) : "", "factors 3, 2");
  arena_free(arena);
}

CHECKS(TEST(each_cut_is_the_least), TEST(all_is_divided), TEST(images_are_not_tiled), TEST(sums_are_divided_to_fit), TEST(levels_find_the_least))
