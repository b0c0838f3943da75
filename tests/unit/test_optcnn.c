// Layer-wise parallelism on random models: what the planner finds is what enumerating its objective finds, and a plan that the compiler
// takes. Which operators are layers.
#include <math.h>

#include "../../frontend/frontend.h"
#include "../../frontend/parse.h"
#include "../../passes/evaluate.h"
#include "../../passes/search/layer_costs.h"
#include "../../passes/search/search.h"
#include "check.h"

enum { MOST_CHOICES = 100 * 1000 };

static uint64_t state;

static int draw(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)n);
}

// ---- models ----

static const char end[] = "  loss = cross_entropy(dense(y, 4), label);\n}\ntrain { optimizer = sgd(lr = 0.1); steps = 1; }\n";

// Dense layers, some with a branch around them or with a part of their own of what came in first.
static const char *dense_model(Arena *arena) {
  static const int sizes[] = {4, 6, 8, 9};
  Text text = {.arena = arena};
  text_printf(&text, "model net(batch = %d) {\n  input x[batch, 8];\n  input label[batch]: int < 4;\n  first = dense(x, 8);\n  y = first;\n", sizes[draw(4)]);
  for (int layers = 1 + draw(3); layers > 0; layers--) {
    const int size = sizes[draw(4)];
    switch (draw(4)) {
    case 0: text_printf(&text, "  y = dense(y, %d);\n", size); break;
    case 1: text_printf(&text, "  y = dense(y, %d) |> relu;\n", size); break;
    case 2: text_printf(&text, "  a = dense(y, %d);\n  y = relu(a) + dense(a, %d);\n", size, size); break;
    default: text_printf(&text, "  y = dense(y, %d) + dense(first, %d);\n", size, size);
    }
  }
  text_printf(&text, "%s", end);
  return text_str(&text);
}

static const char *convolutional_model(Arena *arena) {
  Text text = {.arena = arena};
  text_printf(&text, "model net(batch = %d) {\n  input x[batch, 2, 8, 8];\n  input label[batch]: int < 4;\n  y = x;\n", 2 + 2 * draw(2));
  for (int layers = 1 + draw(2); layers > 0; layers--) {
    text_printf(&text, "  y = conv(y, filters = %d, kernel = 3, pad = 1)%s;\n", 4 + 2 * draw(2), draw(2) == 0 ? " |> relu" : "");
    if (draw(2) == 0) text_printf(&text, "  y = maxpool(y, 2);\n");
  }
  text_printf(&text, "  y = view(y, \"n c h w -> n (c h w)\");\n%s", end);
  return text_str(&text);
}

static Compilation open_model(Arena *arena, const char *text, const Mesh *mesh) {
  const ElabOptions options = {0};
  const AstFile *prelude = parse_prelude(arena), *file = parse_text(arena, "net.dnn", text, strlen(text));
  Compilation c = {.arena = arena, .machine = machine_preset(arena, "p100x4x4"), .problems = {.arena = arena}, .strip_bytes = 8 << 20};
  c.mesh = *mesh;
  c.mesh_given = true;
  c.model = elab_model(arena, prelude, file, &options);
  for (int pass = 0; pass < pipeline_find("plan"); pass++) pipeline_run(&c, pass);
  return c;
}

// ---- the objective ----

static double cheapest(const EliminationGraph *graph, int *value, int node) {
  if (node == graph->nodes.len) return elimination_cost(graph, value);
  double least = INFINITY;
  for (value[node] = 0; value[node] < graph->nodes.at[node].n_values; value[node]++) least = fmin(least, cheapest(graph, value, node + 1));
  return least;
}

typedef struct Objective {
  Planner planner;
  Groups groups;
  Layers layers;
  CostModel cost;
  EliminationGraph graph;
} Objective;

static const Objective *objective_of(const Compilation *c) {
  Objective *o = NEW(c->arena, Objective);
  Plan *nothing = NEW(c->arena, Plan);
  *nothing = (Plan){.model = c->model->name};
  o->planner = planner_new(c->arena, c->model, nothing, &c->mesh);
  o->groups = groups_of_graph(&o->planner);
  o->layers = layers_of_groups(c->arena, &o->groups);
  o->cost = cost_model(c->arena, c->machine, &c->mesh, c->model->f64);
  Arena *scratch = arena_new();
  LayerCosts costs = layer_costs_new(c->arena, scratch, c->model->train, &o->layers, &o->cost);
  o->graph = layer_costs_graph(&costs);
  arena_free(scratch);
  return o;
}

static void check_model(const char *text, Arena *arena, const Mesh *mesh, int *enumerated) {
  Compilation c = open_model(arena, text, mesh);
  const Objective *o = objective_of(&c);
  double choices = 1;
  for (int i = 0; i < o->graph.nodes.len; i++) choices *= o->graph.nodes.at[i].n_values;
  const double searched = eliminate_nothing(&o->graph, INT64_MAX).cost;
  const double least = choices <= MOST_CHOICES ? cheapest(&o->graph, NEW_ARRAY(arena, int, o->graph.nodes.len), 0) : searched;
  *enumerated += choices <= MOST_CHOICES;
  const Plan plan = search_optcnn(&c);
  const Evaluation found = evaluate_plan(&c, &plan);
  const bool right = fabs(c.search.cost - least) <= 1e-12 * least && fabs(searched - least) <= 1e-12 * least && c.search.bound == c.search.cost;
  CHECK(right && found.refused == NULL);
  if (!right || found.refused != NULL)
    check_fail("%s\nleast %.17g, found %.17g, proved %.17g, refused %s", text, least, c.search.cost, c.search.bound, found.refused != NULL ? found.refused : "-");
}

static void test_random_models(void) {
  static const Mesh meshes[] = {{.n_axes = 1, .axis = {{"gpu", 2}}}, {.n_axes = 2, .axis = {{"node", 2}, {"gpu", 2}}}, {.n_axes = 2, .axis = {{"node", 2}, {"gpu", 3}}}};
  int enumerated = 0;
  for (int i = 0; i < 90; i++) {
    Arena *arena = arena_new();
    state = (uint64_t)i * 7919 + 1;
    check_model(i % 3 == 2 ? convolutional_model(arena) : dense_model(arena), arena, &meshes[i / 3 % 3], &enumerated);
    arena_free(arena);
  }
  CHECK(enumerated >= 60);
}

// ---- layers ----

static int layers_in(const char *text) {
  Arena *arena = arena_new();
  const Compilation c = open_model(arena, text, &(Mesh){.n_axes = 1, .axis = {{"gpu", 2}}});
  const int n = objective_of(&c)->layers.list.len;
  arena_free(arena);
  return n;
}

#define NET(extents, body) "model net(batch = 4) { input x[batch, " extents "; input label[batch]: int < 4; " body " loss = cross_entropy(y, label); }"

static void test_layers(void) {
  CHECK_INT(layers_in(NET("8]", "y = dense(x, 8) |> relu |> dense(4);")), 2);
  // Bias, normalisation and activation are of their convolution, the loss of the last layer; pools and joins are layers.
  CHECK_INT(layers_in(NET("2, 8, 8]", "a = conv(x, filters = 4, kernel = 3, pad = 1) |> batchnorm |> relu |> maxpool(2);"
                                      "y = dense(view(a, \"n c h w -> n (c h w)\"), 4);")), 3);
  CHECK_INT(layers_in(NET("8]", "a = dense(x, 8); y = relu(a + dense(a, 8)) |> dense(4);")), 4);
}

// What the first step has, what the other steps have, what they make put together, and the dense layer: for any number of steps.
static void test_recurrent_layers(void) {
  static const char text[] = "model net(batch = 4, steps = %d) { input x[batch, steps, 8]; input label[batch, steps]: int < 4;"
                             "loss = cross_entropy(dense(lstm(x, 8), 4), label); }";
  Arena *arena = arena_new();
  for (int steps = 3; steps <= 4; steps++) CHECK_INT(layers_in(arena_printf(arena, text, steps)), 4);
  arena_free(arena);
}

CHECKS(TEST(test_random_models), TEST(test_layers), TEST(test_recurrent_layers))
