// Graphs: unique names, printing, and a verifier that catches what it says it does.
#include <sys/wait.h>
#include <unistd.h>

#include "../../ir/graph.h"
#include "check.h"

static Arena *arena;

static Graph *example(void) {
  Graph *graph = graph_new(arena, "example");
  const Tensor x = {
      .name = "x", .role = ROLE_INPUT, .rank = 2, .extent = {4, 3}, .dim = {"n", "c"}, .producer = -1, .of = -1};
  const Tensor w = {
      .name = "w", .role = ROLE_PARAM, .rank = 2, .extent = {2, 3}, .dim = {"co", "c"}, .producer = -1, .of = -1};
  const int ix = graph_add_tensor(graph, x), iw = graph_add_tensor(graph, w);
  const Index x_index[] = {index_dim(0), index_dim(2)}, w_index[] = {index_dim(1), index_dim(2)};
  const Expr *body = expr_call(arena, FN_mul, expr_access(arena, ix, TYPE_REAL, 2, x_index, 0),
                               expr_access(arena, iw, TYPE_REAL, 2, w_index, 0), NULL);
  const Op dense = {.name = "dense",
                    .layer = "fc",
                    .phase = PHASE_FORWARD,
                    .n_dims = 3,
                    .n_out = 2,
                    .reduce = REDUCE_SUM,
                    .dims = {{"n", 4}, {"co", 2}, {"c", 3}},
                    .body = body,
                    .loc = {.file = "m.dnn", .line = 7, .col = 1}};
  const int y = graph_add_compute(graph, dense, "y");
  const Dim flat[] = {{"f", 8}};
  graph_add_view(graph, y, 1, flat, (Op){.name = "view", .layer = "", .phase = PHASE_FORWARD}, "flat");
  const Op total = {.name = "sum",
                    .layer = "",
                    .phase = PHASE_FORWARD,
                    .n_dims = 1,
                    .reduce = REDUCE_SUM,
                    .dims = {{"f", 8}},
                    .body = expr_access(arena, y + 1, TYPE_REAL, 1, (Index[]){index_dim(0)}, 0)};
  vec_push(arena, &graph->losses, (Scalar){"loss", graph_add_compute(graph, total, "loss")});
  return graph;
}

static void names_are_unique(void) {
  Graph *graph = graph_new(arena, "names");
  const char *const expected[] = {"a", "a.2", "a.3", "b"};
  const char *const given[] = {"a", "a", "a", "b"};
  for (int i = 0; i < 4; i++) {
    const int id = graph_add_tensor(graph, (Tensor){.name = given[i], .producer = -1});
    CHECK_STR(graph_tensor(graph, id)->name, expected[i]);
    CHECK_INT(names_get(&graph->tensor_names, expected[i]), id);
  }
  CHECK_STR(graph_tensor(graph, graph_add_tensor(graph, (Tensor){.name = "a.2"}))->name, "a.2.2");
}

static void graphs_print(void) {
  Text text = {.arena = arena};
  graph_print(example(), &text);
  CHECK(strstr(text_str(&text), "param    w: real[co=2, c=3]\n") != NULL);
  CHECK(strstr(text_str(&text), "forward  fc dense: y[n=4, co=2] = sum(c=3) (x[n, c] * w[co, c])  # m.dnn:7\n") !=
        NULL);
  CHECK(strstr(text_str(&text), "flat[f=8] = view y\n") != NULL);
  CHECK(strstr(text_str(&text), "loss     loss: loss\n") != NULL);
}

static void graphs_are_measured(void) {
  const Graph *graph = example();
  CHECK_INT(tensor_elements(graph_tensor(graph, 0)), 12);
  CHECK_INT(tensor_elements(graph_tensor(graph, graph->losses.at[0].tensor)), 1);
  CHECK_NEAR(op_flops(&graph->ops.at[0]), 2 * 4 * 2 * 3, 0);
  CHECK_NEAR(op_flops(&graph->ops.at[1]), 0, 0);
}

// The exit code of graph_verify on the graph, in a process of its own; its message is checked for `rule`.
static int verify_apart(const Graph *graph, const char *rule) {
  int fd[2];
  if (pipe(fd) != 0) return -1;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    dup2(fd[1], 2);
    close(fd[0]);
    graph_verify(graph, "a_pass");
    _exit(0);
  }
  close(fd[1]);
  char message[4096] = "";
  size_t len = 0;
  for (ssize_t got; len + 1 < sizeof message && (got = read(fd[0], message + len, sizeof message - 1 - len)) > 0;)
    len += (size_t)got;
  close(fd[0]);
  int status;
  waitpid(child, &status, 0);
  if (rule != NULL && (strstr(message, rule) == NULL || strstr(message, "a_pass") == NULL))
    check_fail("expected the rule \"%s\", found: %s", rule, message);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_right_graph_passes(void) { CHECK_INT(verify_apart(example(), NULL), 0); }

// One violation at a time; each must be caught and named.
static void wrong_graphs_are_caught(void) {
  Graph *graph = example();
  graph->ops.at[0].dims[0].extent = 5;
  CHECK_INT(verify_apart(graph, "extents are those of the iteration space"), 3);

  graph = example();
  graph->ops.at[0].reduce = REDUCE_NONE;
  CHECK_INT(verify_apart(graph, "are reduced"), 3);

  graph = example();
  const Op first = graph->ops.at[0];
  graph->ops.at[0] = graph->ops.at[1];
  graph->ops.at[1] = first;
  CHECK_INT(verify_apart(graph, "a tensor has one operator"), 3);
  graph_tensor(graph, graph->ops.at[0].out)->producer = 0;
  graph_tensor(graph, graph->ops.at[1].out)->producer = 1;
  CHECK_INT(verify_apart(graph, "an operator comes after what it reads"), 3);

  graph = example();
  graph_tensor(graph, 0)->role = ROLE_VALUE;
  CHECK_INT(verify_apart(graph, "a value has an operator"), 3);

  graph = example();
  graph->ops.at[0].dims[2].extent = 0;
  CHECK_INT(verify_apart(graph, "extents are at least 1"), 3);

  graph = example();
  graph_tensor(graph, graph->ops.at[1].out)->extent[0] = 9;
  CHECK_INT(verify_apart(graph, "a view has as many elements"), 3);

  graph = example();
  const Index far[] = {index_dim(0), index_dim(5)};
  graph->ops.at[0].body = expr_access(arena, 0, TYPE_REAL, 2, far, 0);
  CHECK_INT(verify_apart(graph, "uses dimensions of its operator only"), 3);

  graph = example();
  graph->ops.at[0].body = expr_access(arena, 0, TYPE_REAL, 1, far, 0);
  CHECK_INT(verify_apart(graph, "as many indices as the tensor has dimensions"), 3);

  graph = example();
  const Index both[] = {index_dim(0), index_dim(2)};
  graph->ops.at[0].body = expr_access(arena, 0, TYPE_INT, 2, both, 0);
  CHECK_INT(verify_apart(graph, "the type of its tensor"), 3);

  graph = example();
  vec_push(arena, &graph->stores, (Store){.state = 1, .value = 2});
  CHECK_INT(verify_apart(graph, "a store keeps the shape"), 3);

  graph = example();
  graph->losses.at[0].tensor = 2;
  CHECK_INT(verify_apart(graph, "a loss is a scalar"), 3);
}

int main(void) {
  arena = arena_new();
  const CheckTest tests[] = {TEST(names_are_unique), TEST(graphs_print), TEST(graphs_are_measured),
                             TEST(a_right_graph_passes), TEST(wrong_graphs_are_caught)};
  const int code = check_run(tests, (int)(sizeof tests / sizeof tests[0]));
  arena_free(arena);
  return code;
}
