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

// y[n, c], place[n, c] = sort(x[n, :]; 2), which may be divided along n; total = sum y.
static Graph *with_call(void) {
  Graph *graph = example();
  const Tensor y = {.name = "sorted", .rank = 2, .extent = {4, 3}, .dim = {"n", "c"}, .producer = -1, .of = -1};
  Tensor place = y;
  place.name = "place";
  place.type = TYPE_INT;
  Opaque *sort = NEW(arena, Opaque);
  *sort = (Opaque){.function = "sort_rows", .n_args = 3, .n_attrs = 1};
  sort->attrs = NEW(arena, OpaqueAttr);
  sort->attrs[0] = (OpaqueAttr){"by", 2};
  sort->args = NEW_ARRAY(arena, OpaqueArg, 3);
  sort->args[0] = (OpaqueArg){"x", 0, false, true, TYPE_REAL, 2, {0, -1}};
  sort->args[1] = (OpaqueArg){"y", graph_add_tensor(graph, y), true, true, TYPE_REAL, 2, {0, -1}};
  sort->args[2] = (OpaqueArg){"place", graph_add_tensor(graph, place), true, true, TYPE_INT, 2, {0, -1}};
  Op op = {.kind = OP_OPAQUE, .name = "sort", .layer = "", .phase = PHASE_FORWARD, .out = sort->args[1].tensor};
  op.n_dims = op.n_out = 1;
  op.dims[0] = (Dim){"n", 4};
  op.opaque = sort;
  graph_add_op(graph, op);
  return graph;
}

static void calls_have_several_results(void) {
  Graph *graph = with_call();
  Op *sort = &graph->ops.at[graph->ops.len - 1];
  CHECK_INT(op_results(sort), 2);
  const int y = op_result(sort, 0), place = op_result(sort, 1);
  CHECK_INT(y, sort->out);
  CHECK_INT(graph_tensor(graph, place)->producer, graph->ops.len - 1);
  Text text = {.arena = arena};
  graph_print(graph, &text);
  CHECK(strstr(text_str(&text), "sort: sorted[n=4, c=3], place[n=4, c=3] = sort_rows(x[n, :]; 2) split(n=4)\n") != NULL);
  const Opaque *before = sort->opaque;
  op_replace_result(arena, sort, y, 1);
  CHECK_INT(sort->out, 1);
  CHECK_INT(op_result(sort, 0), 1);
  CHECK_INT(before->args[1].tensor, y);
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

static void wrong_calls_are_caught(void) {
  CHECK_INT(verify_apart(with_call(), NULL), 0);
  for (int wrong = 0; wrong < 5; wrong++) {
    static const char *const rule[] = {"dimensions of one name have one extent", "once", "the declared type and rank",
                                       "has its first result as its output", "only results of an opaque call may be missing"};
    Graph *graph = with_call();
    Op *sort = &graph->ops.at[graph->ops.len - 1];
    OpaqueArg *x = &sort->opaque->args[0];
    if (wrong == 0) x->dim[1] = 0, x->dim[0] = -1;
    if (wrong == 1) x->dim[1] = 0;
    if (wrong == 2) x->rank = 1;
    if (wrong == 3) sort->out = op_result(sort, 1);
    if (wrong == 4) x->tensor = -1;
    CHECK_INT(verify_apart(graph, rule[wrong]), 3);
  }
}

int main(void) {
  arena = arena_new();
  const CheckTest tests[] = {TEST(names_are_unique), TEST(graphs_print), TEST(graphs_are_measured), TEST(calls_have_several_results),
                             TEST(a_right_graph_passes), TEST(wrong_graphs_are_caught),
                             TEST(wrong_calls_are_caught)};
  const int code = check_run(tests, (int)(sizeof tests / sizeof tests[0]));
  arena_free(arena);
  return code;
}
