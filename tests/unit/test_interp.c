// The interpreter against results worked out by hand, and its random numbers against the runtime's.
#include "../../ir/interp.h"

#include <math.h>

#include "../../runtime/common/random.h"
#include "check.h"

static Arena *arena;
static Graph *graph;

static void start(void) { graph = graph_new(arena, "test"); }

static int leaf(const char *name, ScalarType type, int rank, const int64_t *extent) {
  Tensor t = {.name = name, .role = ROLE_INPUT, .type = type, .rank = rank, .producer = -1, .of = -1};
  for (int d = 0; d < rank; d++) {
    t.extent[d] = extent[d];
    t.dim[d] = "d";
  }
  return graph_add_tensor(graph, t);
}

static const Expr *at(int tensor, int rank, const Index *index, double outside) {
  return expr_access(arena, tensor, graph_tensor(graph, tensor)->type, rank, index, outside);
}

static void reductions(void) {
  start();
  const int x = leaf("x", TYPE_REAL, 2, (int64_t[]){2, 3});
  const Index row_col[] = {index_dim(0), index_dim(1)};
  int out[REDUCE_ARGMAX + 1];
  for (int r = REDUCE_SUM; r <= REDUCE_ARGMAX; r++) {
    const Op op = {.name = "r",
                   .layer = "",
                   .n_dims = 2,
                   .n_out = 1,
                   .dims = {{"i", 2}, {"j", 3}},
                   .reduce = (Reduce)r,
                   .body = at(x, 2, row_col, 0)};
    out[r] = graph_add_compute(graph, op, "r");
  }
  graph_verify(graph, "test");
  Interp *interp = interp_new(arena, graph);
  double data[] = {1, 5, 5, -3, -4, -2};
  interp->data[x] = data;
  interp_run(interp);
  const double expected[][2] = {{11, -9}, {5, -2}, {1, -4}, {25, -24}, {1, 2}};
  for (int r = REDUCE_SUM; r <= REDUCE_ARGMAX; r++)
    for (int i = 0; i < 2; i++) CHECK_NEAR(interp->data[out[r]][i], expected[r - REDUCE_SUM][i], 0);
}

// A window with padding reads the identity outside; an index with a divisor reads it where it does not divide.
static void accesses_outside(void) {
  start();
  const int x = leaf("x", TYPE_REAL, 1, (int64_t[]){4});
  const Index window = index_add(index_add(index_dim(0), index_dim(1)), index_const(-1));
  const Op conv = {.name = "c",
                   .layer = "",
                   .n_dims = 2,
                   .n_out = 1,
                   .dims = {{"p", 4}, {"r", 3}},
                   .reduce = REDUCE_MAX,
                   .body = at(x, 1, &window, -INFINITY)};
  const int c = graph_add_compute(graph, conv, "c");
  Index half = index_add(index_dim(0), index_const(-1)); // (i - 1) / 2
  half.div = 2;
  const Op spread = {
      .name = "s", .layer = "", .n_dims = 1, .n_out = 1, .dims = {{"i", 10}}, .body = at(x, 1, &half, 7)};
  const int s = graph_add_compute(graph, spread, "s");
  Interp *interp = interp_new(arena, graph);
  double data[] = {-1, -2, -3, -4};
  interp->data[x] = data;
  interp_run(interp);
  const double expected_c[] = {-1, -1, -2, -3}, expected_s[] = {7, -1, 7, -2, 7, -3, 7, -4, 7, 7};
  for (int i = 0; i < 4; i++) CHECK_NEAR(interp->data[c][i], expected_c[i], 0);
  for (int i = 0; i < 10; i++) CHECK_NEAR(interp->data[s][i], expected_s[i], 0);
}

static void views_keep_the_elements(void) {
  start();
  const int x = leaf("x", TYPE_REAL, 2, (int64_t[]){2, 3});
  const Dim dims[] = {{"a", 3}, {"b", 2}};
  const int v = graph_add_view(graph, x, 2, dims, (Op){.name = "view", .layer = ""}, "v");
  const Index swap[] = {index_dim(1), index_dim(0)};
  const Op op = {
      .name = "t", .layer = "", .n_dims = 2, .n_out = 2, .dims = {{"b", 2}, {"a", 3}}, .body = at(v, 2, swap, 0)};
  const int t = graph_add_compute(graph, op, "t");
  Interp *interp = interp_new(arena, graph);
  double data[] = {0, 1, 2, 3, 4, 5};
  interp->data[x] = data;
  interp_run(interp);
  const double expected[] = {0, 2, 4, 1, 3, 5};
  for (int i = 0; i < 6; i++) CHECK_NEAR(interp->data[t][i], expected[i], 0);
}

// Two states that swap their values show that stores read before they write.
static void stores_happen_together(void) {
  start();
  const int a = leaf("a", TYPE_REAL, 0, NULL), b = leaf("b", TYPE_REAL, 0, NULL);
  graph_tensor(graph, a)->role = graph_tensor(graph, b)->role = ROLE_STATE;
  vec_push(arena, &graph->stores, (Store){a, b});
  vec_push(arena, &graph->stores, (Store){b, a});
  Interp *interp = interp_new(arena, graph);
  double va = 1, vb = 2;
  interp->data[a] = &va;
  interp->data[b] = &vb;
  interp_run(interp);
  interp_store(interp);
  CHECK_NEAR(interp_scalar(interp, a), 2, 0);
  CHECK_NEAR(interp_scalar(interp, b), 1, 0);
}

static void run_scalars_and_indices_are_values(void) {
  start();
  const Expr *body =
      expr_call(arena, FN_add, expr_run(arena, RUN_LR), expr_index(arena, index_scale(index_dim(0), 3)), NULL);
  const int t = graph_add_compute(
      graph, (Op){.name = "t", .layer = "", .n_dims = 1, .n_out = 1, .dims = {{"i", 3}}, .body = body}, "t");
  Interp *interp = interp_new(arena, graph);
  interp->run[RUN_LR] = 0.5;
  interp_run(interp);
  for (int i = 0; i < 3; i++) CHECK_NEAR(interp->data[t][i], 0.5 + 3 * i, 0);
}

static void random_numbers_are_the_runtimes(void) {
  start();
  const Index element = index_add(index_scale(index_dim(0), 12345), index_const(7));
  int out[2];
  for (int normal = 0; normal < 2; normal++) {
    const Op op = {.name = "u",
                   .layer = "",
                   .n_dims = 1,
                   .n_out = 1,
                   .dims = {{"i", 1000}},
                   .body = expr_random(arena, normal, 3 + normal, element)};
    out[normal] = graph_add_compute(graph, op, "u");
  }
  Interp *interp = interp_new(arena, graph);
  interp->seed = 0x123456789abcdefu;
  interp->run[RUN_STEP] = 41;
  interp_run(interp);
  double sum[2] = {0};
  for (int i = 0; i < 1000; i++) {
    const uint64_t e = (uint64_t)i * 12345 + 7;
    CHECK_NEAR(interp->data[out[0]][i], parcc_uniform(interp->seed, 3, 41, e), 0);
    CHECK_NEAR(interp->data[out[1]][i], parcc_normal(interp->seed, 4, 41, e), 1e-14);
    for (int normal = 0; normal < 2; normal++) sum[normal] += interp->data[out[normal]][i];
  }
  CHECK_NEAR(sum[0] / 1000, 0.5, 0.05);
  CHECK_NEAR(sum[1] / 1000, 0, 0.15);
}

int main(void) {
  arena = arena_new();
  const CheckTest tests[] = {TEST(reductions),
                             TEST(accesses_outside),
                             TEST(views_keep_the_elements),
                             TEST(stores_happen_together),
                             TEST(run_scalars_and_indices_are_values),
                             TEST(random_numbers_are_the_runtimes)};
  const int code = check_run(tests, (int)(sizeof tests / sizeof tests[0]));
  arena_free(arena);
  return code;
}
