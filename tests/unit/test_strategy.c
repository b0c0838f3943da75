// Strategies of the samples under random changes: what a change takes is what building the task graph anew and simulating all of it
// gives, to the last picosecond; and what is taken back leaves nothing.
//
//   test_strategy          a few changes of each of ten networks
//   test_strategy LONG     100,000 changes (by hand: minutes)
//   test_strategy RATIO    what a change takes, and what building and simulating all takes, for large networks on 16 and 64 devices
#include "../../frontend/frontend.h"
#include "../../frontend/output.h"
#include "../../frontend/parse.h"
#include "../../passes/search/soap.h"
#include "../../passes/sim/strategy.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

// A sample on a machine, up to the point where a plan is made.
typedef struct Network {
  Arena *arena, *scratch;
  Compilation c;
  Plan nothing;
  Planner planner;
  Groups groups;
  Layers layers;
  Mesh mesh;
  CostModel cost;
  LayerCosts costs;
  LayerTasks *tasks;
} Network;

static Network *network_open(const char *sample, const char *machine, int devices) {
  Arena *arena = arena_new();
  Network *n = NEW(arena, Network);
  size_t len;
  const ElabOptions options = {0};
  const char *text = input_file(arena, arena_printf(arena, "samples/%s.dnn", sample), &len);
  const AstFile *prelude = parse_prelude(arena), *file = parse_text(arena, "net.dnn", text, len);
  int nearest[2];
  Compilation *c = &n->c;
  *n = (Network){.arena = arena, .scratch = arena_new()};
  *c = (Compilation){.arena = arena, .machine = machine_preset(arena, machine), .problems = {.arena = arena}, .strip_bytes = 8 << 20};
  machine_mesh(c->machine, devices, &c->mesh, nearest);
  c->model = elab_model(arena, prelude, file, &options);
  for (int pass = 0; pass < pipeline_find("plan"); pass++) pipeline_run(c, pass);
  cost_mark_inlined(c->model->train);
  n->nothing = (Plan){.model = c->model->name};
  n->planner = planner_new(arena, c->model, &n->nothing, &c->mesh);
  n->groups = groups_of_graph(&n->planner);
  n->layers = layers_of_groups(arena, &n->groups);
  n->mesh = mesh_factors(arena, &c->mesh, MESH_MAX_AXES - 1);
  n->cost = cost_model(arena, c->machine, &n->mesh, c->model->f64);
  n->costs = layer_costs_new(arena, n->scratch, c->model->train, &n->layers, &n->cost);
  n->tasks = layer_tasks_new(arena, &n->costs);
  return n;
}

static void network_close(Network *n) {
  arena_free(n->scratch);
  arena_free(n->arena);
}

// Data parallelism: where simulation is most sensitive to what changes.
static Configuration *data_parallel(Network *n) {
  Problems problems = {.arena = n->arena};
  const Plan plan = plan_make(n->arena, n->c.model, &(PlanSource){.kind = PLAN_DATA}, &n->mesh, &problems);
  return soap_of_plan(n->arena, &n->costs, &plan);
}

// In memory that is there, but for the first time.
static int64_t full(const Network *n, Arena *arena, const Strategy *s, int *tasks) {
  Configuration *of = NEW_ARRAY(arena, Configuration, n->layers.list.len);
  for (int l = 0; l < n->layers.list.len; l++) of[l] = *strategy_configuration(s, l);
  const Strategy *anew = strategy_new(arena, n->tasks, of);
  const int64_t time = strategy_time(anew);
  *tasks = strategy_tasks(anew);
  arena_reset(arena);
  return time;
}

// One or two layers at once.
static int64_t change(Network *n, Strategy *s, Draw *draw, int64_t limit) {
  int layer[2], many = 1 + (int)draw_below(draw, 2);
  Configuration to[2];
  for (int i = 0; i < many; i++) {
    layer[i] = (int)draw_below(draw, (uint64_t)n->layers.list.len);
    to[i] = soap_draw(draw, &n->layers.list.at[layer[i]], &n->mesh);
  }
  if (many == 2 && layer[0] == layer[1]) many = 1;
  return strategy_change(s, many, layer, to, limit);
}

static void check_network(const char *sample, const char *machine, int devices, int changes) {
  Network *n = network_open(sample, machine, devices);
  Arena *arena = arena_new();
  Draw draw = {(uint64_t)devices};
  Strategy *s = strategy_new(n->arena, n->tasks, data_parallel(n));
  for (int i = 0; i < changes; i++) {
    const int64_t before = strategy_time(s), limit = draw_below(&draw, 2) == 0 ? before : INT64_MAX;
    const int tasks = strategy_tasks(s);
    int anew;
    const int64_t time = change(n, s, &draw, limit);
    if (time > limit || draw_below(&draw, 3) == 0) {
      strategy_undo(s);
      CHECK(strategy_time(s) == before && strategy_tasks(s) == tasks);
    } else {
      strategy_keep(s);
    }
    if (!CHECK_INT(strategy_time(s), full(n, arena, s, &anew)) || !CHECK_INT(strategy_tasks(s), anew)) exit(1);
  }
  arena_free(arena);
  network_close(n);
}

static int n_changes = 12;

static void test_networks(void) {
  static const struct { const char *sample, *machine; int devices; } networks[] = {
      {"mlp", "p100x4x4", 16}, {"lenet", "p100x4x4", 8},  {"alexnet", "k80x16x4", 8}, {"vgg16", "dgx1-v100", 4}, {"resnet", "p100x4x4", 4},
      {"charlm", "k80x8", 8},  {"rnnlm", "p100x4x4", 8},  {"gpt2", "dgx-a100", 4},    {"vit_b16", "pcie4", 4},   {"inception_v3", "p100x4x4", 4}};
  for (int i = 0; i < (int)(sizeof networks / sizeof *networks); i++) check_network(networks[i].sample, networks[i].machine, networks[i].devices, n_changes);
}

// ---- how long it takes ----

// Layers without an operator of the backward pass through which gradients go.
static int count_passing(const char *sample) {
  Network *n = network_open(sample, "p100x4x4", 4);
  int passing = 0;
  for (int l = 0; l < n->layers.list.len; l++) {
    const Ints *ops = &n->layers.list.at[l].ops;
    bool backward = false;
    for (int i = 0; i < ops->len; i++) backward |= n->costs.graph->ops.at[ops->at[i]].phase == PHASE_BACKWARD;
    passing += n->costs.gradient[l] && !backward;
  }
  network_close(n);
  return passing;
}

// A concatenation is behind what reads it on the way back, too: in the last two blocks of inception_v3 there are two that nobody but another
// one reads, whose gradients are parts of that one's. What several read has a sum of gradients, which is an operator.
static void test_concatenations(void) {
  CHECK_INT(count_passing("inception_v3"), 4);
  CHECK_INT(count_passing("lenet"), 0);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// A layer gets another configuration, one of what a search does (passes/search/flexflow.c). Whether there is a change; and what a step takes then.
static bool propose(Network *n, Strategy *s, Draw *draw, int64_t limit, int64_t *time) {
  const int l = (int)draw_below(draw, (uint64_t)n->layers.list.len);
  const Layer *layer = &n->layers.list.at[l];
  const Configuration *now = strategy_configuration(s, l);
  const Configuration to = draw_below(draw, 4) == 0 ? soap_draw(draw, layer, &n->mesh) : soap_draw_axis(draw, layer, &n->mesh, now);
  if (memcmp(now->dim, to.dim, sizeof to.dim) == 0) return false;
  *time = strategy_change(s, 1, &l, &to, limit);
  return true;
}

// So many changes by the rule of Metropolis and Hastings: seconds each. The chance with which a longer time is taken is drawn first.
static double search_seconds(Network *n, Strategy *s, Draw *draw, int changes) {
  const double first = (double)strategy_time(s), began = seconds();
  for (int i = 0; i < changes;) {
    const double beta = 45 * (1 << i / 1000 % 4) / first;
    const int64_t limit = strategy_time(s) + (int64_t)(-log(1 - draw_share(draw)) / beta);
    int64_t time;
    if (!propose(n, s, draw, limit, &time)) continue;
    if (time <= limit) strategy_keep(s);
    else strategy_undo(s);
    i++;
  }
  return (seconds() - began) / changes;
}

// Each simulated to its end, and taken back.
static double delta_seconds(Network *n, Strategy *s, Draw *draw, int changes) {
  const double began = seconds();
  for (int i = 0; i < changes;) {
    int64_t time;
    if (!propose(n, s, draw, INT64_MAX, &time)) continue;
    strategy_undo(s);
    i++;
  }
  return (seconds() - began) / changes;
}

static double full_seconds(const Network *n, const Strategy *s, int times) {
  Arena *arena = arena_new();
  int tasks;
  full(n, arena, s, &tasks);
  const double began = seconds();
  for (int i = 0; i < times; i++) full(n, arena, s, &tasks);
  const double each = (seconds() - began) / times;
  arena_free(arena);
  return each;
}

// From data parallelism on; first some changes that are not counted.
static void print_ratio(const char *sample, const char *machine, int devices) {
  enum { BEFORE = 1000, CHANGES = 500, FULL = 20 };
  Network *n = network_open(sample, machine, devices);
  Draw draw = {1};
  Strategy *s = strategy_new(n->arena, n->tasks, data_parallel(n));
  search_seconds(n, s, &draw, BEFORE);
  const double searched = search_seconds(n, s, &draw, CHANGES), delta = delta_seconds(n, s, &draw, CHANGES), all = full_seconds(n, s, FULL);
  printf("%-12s %2d devices  %5d tasks  full %6.2f ms  delta %6.3f ms, ratio %4.1f  in a walk %6.3f ms, ratio %4.1f\n", sample, devices,
         strategy_tasks(s), 1e3 * all, 1e3 * delta, all / delta, 1e3 * searched, all / searched);
  network_close(n);
}

int main(int argc, char **argv) {
  if (argc > 1 && str_eq(argv[1], "RATIO")) {
    static const char *const samples[] = {"inception_v3", "nmt", "rnnlm"};
    for (int i = 0; i < 6; i++) print_ratio(samples[i / 2], i % 2 == 0 ? "p100x4x4" : "k80x16x4", i % 2 == 0 ? 16 : 64);
    return 0;
  }
  if (argc > 1 && str_eq(argv[1], "LONG")) n_changes = 10000;
  const CheckTest tests[] = {TEST(test_networks), TEST(test_concatenations)};
  return check_run(tests, (int)(sizeof tests / sizeof tests[0]));
}
