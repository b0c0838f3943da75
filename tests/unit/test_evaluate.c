// What a plan costs and needs, asked of a copy, is what the compiler finds when it takes the plan, and leaves the model as it was.
#include "../../passes/evaluate.h"

#include <math.h>
#include <stdlib.h>

#include "../../frontend/frontend.h"
#include "../../frontend/parse.h"
#include "../../passes/pricing.h"
#include "../../passes/search/footprint.h"
#include "check.h"

static const char text[] = "model net(batch = 24) {\n"
                           "  input image[batch, 3, 8, 8];\n"
                           "  input label[batch]: int < 10;\n"
                           "  x = conv(image, filters = 8, kernel = 3, pad = 1) |> relu |> maxpool(2);\n"
                           "  x = view(x, \"n c h w -> n (c h w)\");\n"
                           "  x = dense(x, 64) |> relu;\n"
                           "  logits = dense(x, 10);\n"
                           "  loss = cross_entropy(logits, label);\n"
                           "}\n"
                           "train { optimizer = sgd(lr = 0.01, momentum = 0.9); steps = 10; }\n";

// Of a text on four devices, ready to be planned.
static Compilation open_text(Arena *arena, const char *text) {
  const ElabOptions options = {0};
  const AstFile *prelude = parse_prelude(arena), *file = parse_text(arena, "net.dnn", text, strlen(text));
  Compilation c = {.arena = arena, .machine = machine_preset(arena, "p100x4x4"), .problems = {.arena = arena}, .strip_bytes = 8 << 20};
  c.mesh = (Mesh){.n_axes = 2, .axis = {{"node", 2}, {"gpu", 2}}};
  c.model = elab_model(arena, prelude, file, &options);
  for (int pass = 0; pass < pipeline_find("plan"); pass++) pipeline_run(&c, pass);
  return c;
}

static Compilation open_net(Arena *arena) { return open_text(arena, text); }

static const char *printed(const Compilation *c) {
  Text out = {.arena = c->arena};
  pipeline_print(c, &out);
  return text_str(&out);
}

static void evaluate_as_compiled(PlanSourceKind kind) {
  Arena *arena = arena_new();
  Compilation c = open_net(arena);
  Plan plan;
  Search search;
  c.plan_source.kind = kind;
  const char *before = printed(&c), *refused = evaluate_planner(&c, (PlanSource){.kind = kind}, &plan, &search);
  CHECK_STR(printed(&c), before);
  CHECK((refused != NULL) == (kind == PLAN_MEGATRON)); // there is no attention
  if (refused == NULL) {
    const Evaluation cheap = evaluate_cost(&c, &plan), whole = evaluate_plan(&c, &plan);
    CHECK_STR(printed(&c), before);
    CHECK(cheap.refused == NULL && whole.refused == NULL);
    for (int pass = pipeline_find("plan"); pass <= pipeline_find("plan-memory"); pass++) pipeline_run(&c, pass);
    CHECK(cheap.cost.step == c.predicted.step && whole.cost.step == c.predicted.step && c.predicted.step > 0);
    CHECK(whole.cost.bytes == c.predicted.bytes);
    CHECK_INT(whole.arena_bytes, c.program->arena_bytes);
    CHECK(search.done == c.search.done && search.cost == c.search.cost);
  }
  arena_free(arena);
}

static void every_planner(void) {
  for (int kind = 0; kind < PLAN_NAMED; kind++) evaluate_as_compiled((PlanSourceKind)kind);
}

static void a_plan_of_another_model(void) {
  Arena *arena = arena_new();
  const Compilation c = open_net(arena);
  static const char plan_text[] = "plan 1 net\nmesh node=2,gpu=2\nconv9 n/gpu\n";
  Problems problems = {.arena = arena};
  const Plan plan = plan_read("a.plan", plan_text, strlen(plan_text), &problems);
  CHECK_INT(problems.list.len, 0);
  const Evaluation found = evaluate_plan(&c, &plan);
  CHECK(found.refused != NULL && strstr(found.refused, "conv9") != NULL);
  CHECK_INT(c.problems.list.len, 0);
  arena_free(arena);
}

// Of a batch in parts, and layers whose values are made again: what is priced, evaluated and lowered is the same step.
static void a_lean_plan(void) {
  Arena *arena = arena_new();
  Compilation c = open_net(arena);
  static const char whole_text[] = "plan 1 net\nmesh node=2,gpu=2\ninput image batch/node,gpu\ninput label batch/node,gpu\ndense1 co/gpu\n";
  static const char lean_text[] = "plan 1 net\nmesh node=2,gpu=2\nmicrobatches = 3\nrecompute: conv1\nrecompute: dense*\n"
                                  "input image batch/node,gpu\ninput label batch/node,gpu\ndense1 co/gpu\n";
  Problems problems = {.arena = arena};
  const Plan whole = plan_read("a.plan", whole_text, strlen(whole_text), &problems), lean = plan_read("b.plan", lean_text, strlen(lean_text), &problems);
  const char *before = printed(&c);
  const Evaluation as_whole = evaluate_plan(&c, &whole), cheap = evaluate_cost(&c, &lean), found = evaluate_plan(&c, &lean);
  const double price = pricing_of(pricing_new(&c), &lean, INFINITY).seconds;
  CHECK_STR(printed(&c), before);
  CHECK(problems.list.len == 0 && cheap.refused == NULL && found.refused == NULL && as_whole.refused == NULL);
  CHECK(found.cost.step > as_whole.cost.step && found.arena_bytes < as_whole.arena_bytes);
  c.plan_source.kind = PLAN_MADE;
  c.plan = lean;
  for (int pass = pipeline_find("plan"); pass <= pipeline_find("plan-memory"); pass++) pipeline_run(&c, pass);
  CHECK(cheap.cost.step == c.predicted.step && found.cost.step == c.predicted.step && price == c.predicted.step);
  CHECK_INT(found.arena_bytes, c.program->arena_bytes);
  CHECK_INT(c.program->microbatches, 3);
  arena_free(arena);
}

// Scores are larger than all that they are made from: the backward pass makes them again, where a plan leaves enough of them on a rank.
static const char scores_text[] = "model scores(batch = 32) {\n"
                                  "  input x[batch, 256, 16];\n"
                                  "  for l in 1..3 {\n"
                                  "    q = dense(x, 16);\n"
                                  "    k = dense(x, 16);\n"
                                  "    s[b, t, u] = sum(d) q[b, t, d] * k[b, u, d];\n"
                                  "    p = softmax(s);\n"
                                  "    y[b, t, d] = sum(u) p[b, t, u] * x[b, u, d];\n"
                                  "    x = dense(tanh(y), 16);\n"
                                  "  }\n"
                                  "  loss = mean(x * x);\n"
                                  "}\n"
                                  "train { optimizer = sgd(lr = 0.01); steps = 10; }\n";

static double predicted_of_steps(const Compilation *c) {
  double seconds = 0;
  for (int k = PROC_BEGIN; k <= PROC_UPDATE; k++)
    for (int i = 0; procedure_runs(c->program, k) && k != PROC_REPORT && i < c->program->procedure[k].steps.len; i++) {
      const Step *step = c->program->procedure[k].steps.at[i];
      for (int part = 0; part < step->parts.len; part++) seconds += step->parts.at[part].seconds;
    }
  return seconds;
}

// What is predicted of a plan, priced, found when it is lowered and searched for is what the program's steps take, with what they make again.
static void what_is_made_again(void) {
  static const PlanSourceKind kinds[] = {PLAN_DATA, PLAN_MODEL, PLAN_SINGLE, PLAN_AUTO};
  int again = 0;
  for (int i = 0; i < 4; i++) {
    Arena *arena = arena_new();
    Compilation c = open_text(arena, scores_text);
    Plan plan;
    Search search;
    c.by_sum = true;
    c.plan_source.kind = kinds[i];
    CHECK(evaluate_planner(&c, c.plan_source, &plan, &search) == NULL);
    const Evaluation cheap = evaluate_cost(&c, &plan);
    const double price = pricing_of(pricing_new(&c), &plan, INFINITY).seconds;
    for (int pass = pipeline_find("plan"); pass <= pipeline_find("predict"); pass++) pipeline_run(&c, pass);
    CHECK(cheap.cost.step == c.predicted.step);
    CHECK_NEAR(price, c.predicted.step, 1e-12);
    CHECK_NEAR(predicted_of_steps(&c), c.predicted.step, 1e-12);
    if (kinds[i] == PLAN_AUTO) CHECK_NEAR(search.cost, c.predicted.step, 1e-12);
    if (kinds[i] == PLAN_AUTO) CHECK_NEAR(search.bound, c.predicted.step, 1e-12);
    for (int op = 0; op < c.model->train->ops.len; op++) again += strstr(graph_tensor(c.model->train, c.model->train->ops.at[op].out)->name, ".again") != NULL;
    arena_free(arena);
  }
  CHECK(again > 10);
}

// What is estimated of assignments drawn at random is never more than what their programs need, and the sum of their weights at the
// moment at which it is largest.
static void estimates_are_from_below(void) {
  Arena *arena = arena_new();
  const Compilation c = open_net(arena);
  const ProblemSpace all = {.unit = SEARCH_SECONDS, .parts = GROUPS_BY_DIMS, .candidates = problem_all_candidates};
  cost_mark_inlined(c.model->train);
  SearchProblem *p = problem_new(arena, c.model, &c.mesh, c.machine, &all);
  Footprint *footprint = footprint_new(p, NULL, c.strip_bytes);
  int *value = NEW_ARRAY(arena, int, p->groups.list.len), moment;
  srand(1);
  for (int i = 0; i < 30; i++) {
    for (int g = 0; g < p->groups.list.len; g++) value[g] = i == 0 ? 0 : rand() % p->of[g].n;
    const double peak = footprint_peak(footprint, value, &moment);
    const Plan plan = problem_plan(arena, p, value);
    const Evaluation found = evaluate_plan(&c, &plan);
    CHECK(found.refused == NULL && peak > 0 && peak <= (double)found.arena_bytes);
    if (i == 0) CHECK(peak >= 0.6 * (double)found.arena_bytes); // every rank does everything
    footprint_weigh(footprint, 0, moment);
    CHECK(cfn_weight(&p->cfn, 0, value) == peak);
  }
  arena_free(arena);
}

// The same with layers made again, in one microbatch and in several: neither what is estimated nor the sum is more than what their
// programs need and take.
static const char blocks_text[] = "layer block(x[n, d]) -> y {\n"
                                  "  h = dense(x, 4*d) |> relu;\n"
                                  "  y = softmax(dense(h, d)) + x;\n"
                                  "}\n"
                                  "model deep(batch = 24) {\n"
                                  "  input x[batch, 16];\n"
                                  "  input label[batch]: int < 10;\n"
                                  "  for l in 0..3 { x = block(x); }\n"
                                  "  loss = cross_entropy(dense(x, 10), label);\n"
                                  "}\n"
                                  "train { optimizer = sgd(lr = 0.1, momentum = 0.9); steps = 2; }\n";

static void lean_estimates_are_from_below(void) {
  enum { BLOCKS = 3, DRAWS = 8 };
  const ProblemSpace all = {.unit = SEARCH_SECONDS, .parts = GROUPS_BY_DIMS, .candidates = problem_all_candidates};
  srand(2);
  for (int microbatches = 1; microbatches <= 3; microbatches += 2) {
    Arena *arena = arena_new();
    Compilation c = open_text(arena, blocks_text);
    cost_mark_inlined(c.model->train);
    const Compilation *split = microbatches > 1 ? evaluate_in_microbatches(&c, microbatches, arena) : &c;
    SearchProblem *p = problem_new(arena, split->model, &c.mesh, c.machine, &all);
    AgainLayers *layers = again_layers(p);
    CHECK_INT(layers->names.len, BLOCKS);
    CHECK_INT(p->n_approximate, 0);
    int *value[BLOCKS + 1][DRAWS], moment;
    double seconds[BLOCKS + 1][DRAWS];
    for (int made = 0; made <= BLOCKS; made++)
      for (int i = 0; i < DRAWS; i++) {
        value[made][i] = NEW_ARRAY(arena, int, p->groups.list.len);
        for (int g = 0; g < p->groups.list.len; g++) value[made][i][g] = i == 0 ? 0 : rand() % p->of[g].n;
        again_make(p, layers, made);
        seconds[made][i] = cfn_cost(&p->cfn, value[made][i]);
      }
    Footprint *footprint = footprint_new(p, layers, c.strip_bytes);
    for (int made = 0; made <= BLOCKS; made++)
      for (int i = 0; i < DRAWS; i++) {
        again_make(p, layers, made);
        const double peak = footprint_peak(footprint, value[made][i], &moment);
        Plan plan = problem_plan(arena, p, value[made][i]);
        plan.microbatches = microbatches;
        for (int k = 0; k < made; k++) vec_push(arena, &plan.recompute, ((PlanAgain){.name = layers->names.at[k]}));
        const Evaluation found = evaluate_plan(&c, &plan);
        CHECK(found.refused == NULL && peak > 0 && peak <= (double)found.arena_bytes);
        CHECK(seconds[made][i] <= found.cost.step * (1 + 1e-12));
        if (made == 0 && microbatches == 1) CHECK_NEAR(seconds[made][i], found.cost.step, 1e-12);
        else CHECK(seconds[made][i] >= 0.7 * found.cost.step);
      }
    arena_free(arena);
  }
}

CHECKS(TEST(every_planner), TEST(a_plan_of_another_model), TEST(a_lean_plan), TEST(what_is_made_again), TEST(estimates_are_from_below), TEST(lean_estimates_are_from_below))
