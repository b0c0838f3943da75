// Expected numbers of different rows against sums over all rows, one by one; the lookups of models, what they cost, and which gradients are
// rows by that.
#include "../../ir/spread.h"

#include <math.h>

#include "../../frontend/frontend.h"
#include "../../frontend/parse.h"
#include "../../passes/lookups.h"
#include "../../passes/pipeline.h"
#include "check.h"

static double zipf_distinct(int rows, double exponent, double places) {
  double all = 0, distinct = 0;
  for (int k = 1; k <= rows; k++) all += pow(k, -exponent);
  for (int k = 1; k <= rows; k++) distinct += 1 - pow(1 - pow(k, -exponent) / all, places);
  return distinct;
}

static void classes_are_as_rows_one_by_one(void) {
  static const double exponents[] = {0, 0.5, 0.99, 1, 1.05, 1.5, 3, 20};
  static const int rows[] = {1, 2, 31, 32, 33, 100, 5000, 200000};
  static const double places[] = {1, 2, 17, 500, 20000, 1e6};
  Arena *arena = arena_new();
  for (int e = 0; e < 8; e++)
    for (int r = 0; r < 8; r++) {
      const Spread spread = spread_power(arena, rows[r], exponents[e]);
      double all = 0, share = 0;
      for (int i = 0; i < spread.n; i++) all += spread.classes[i].rows, share += spread.classes[i].share;
      CHECK(all == rows[r] && fabs(share - 1) < 1e-12);
      for (int p = 0; p < 6; p++) {
        const double expected = zipf_distinct(rows[r], exponents[e], places[p]);
        CHECK_NEAR(spread_distinct(&spread, rows[r], places[p]) / expected, 1, 2e-3);
      }
    }
  arena_free(arena);
}

static void uniform_rows_follow_the_closed_form(void) {
  Arena *arena = arena_new();
  const Spread spread = spread_uniform(arena, 1e6);
  CHECK_NEAR(spread_distinct(&spread, 1e6, 1), 1, 1e-9);
  CHECK_NEAR(spread_distinct(&spread, 1e6, 1e6), 1e6 * (1 - pow(1 - 1e-6, 1e6)), 1e-3);
  CHECK_NEAR(spread_distinct(&spread, 1e6, 1e12), 1e6, 1e-3);
  CHECK(spread_distinct(&spread, 1e6, 0) == 0);
  arena_free(arena);
}

// Nothing is known: every place is a row of its own, as long as there are some.
static void what_is_unknown_counts_by_places(void) {
  Arena *arena = arena_new();
  const Spread none = {0}, uniform = spread_uniform(arena, 100), half = spread_mix(arena, &uniform, 0.5, &none), same = spread_mix(arena, &uniform, 0.5, &uniform);
  CHECK(spread_distinct(NULL, 100, 30) == 30 && spread_distinct(NULL, 100, 300) == 100);
  CHECK(spread_distinct(&none, 100, 30) == 30 && spread_distinct(&none, 100, 300) == 100);
  CHECK_NEAR(spread_distinct(&half, 100, 40), 20 + 100 * (1 - pow(1 - 0.005, 40)), 1e-9);
  CHECK(spread_distinct(&same, 100, 40) == spread_distinct(&uniform, 100, 40));
  arena_free(arena);
}

// ---- lookups -------------------------------------------------------------------------------------------------------

static const char text[] = "model m(batch = 64) {\n"
                           "  input id[b = batch, f = 2]: int < 5000 ~ uniform;\n"
                           "  input other[b = batch, t = 3]: int < 4000 ~ zipf(1.5);\n"
                           "  input plain[b = batch]: int < 3000;\n"
                           "  input label[b = batch]: int < 10 ~ uniform;\n"
                           "  param first[v = 5000, c = 256] = normal_init(0.1);\n"
                           "  param second[u = 4000, c = 256] = normal_init(0.1);\n"
                           "  param third[w = 3000, c = 256] = normal_init(0.1);\n"
                           "  x[b] = id[b, 1];\n"
                           "  y = view(other, \"b t -> (b t)\");\n"
                           "  drawn[b = batch] = min(int(4000 * uniform()), 3999);\n"
                           "  z = view(embedding(y, second), \"(b t) c -> b t c\", t = 3);\n"
                           "  s[b, c] = (sum(t) z[b, t, c]) + (sum(u) (drawn[b] == u) * second[u, c]);\n"
                           "  loss = cross_entropy(dense(s + embedding(x, first) + embedding(plain, third), 10), label);\n"
                           "}\ntrain { optimizer = sgd(lr = 0.1); }\n";

static Compilation compile(Arena *arena, const char *said) {
  const ElabOptions options = {0};
  Compilation c = {.arena = arena, .machine = machine_preset(arena, "dgx1-v100"), .problems = {.arena = arena}, .mesh = {.n_axes = 1, .axis = {{"data", 1}}}};
  c.model = elab_model(arena, parse_prelude(arena), parse_text(arena, "m.dnn", said, strlen(said)), &options);
  return c;
}

static void lookups_lead_to_inputs(void) {
  Arena *arena = arena_new();
  Compilation c = compile(arena, text);
  Graph *graph = c.model->train;
  const Lookups lookups = lookups_find(arena, graph);
  static const struct { const char *table, *input; int64_t at[2]; double places; } expected[] = {
      {"second", "other", {-1, -1}, 192}, {"second", NULL, {-1, -1}, 64}, {"first", "id", {-1, 1}, 64}, {"third", "plain", {-1, -1}, 64}};
  CHECK_INT(lookups.len, 4);
  for (int i = 0; i < 4 && i < lookups.len; i++) {
    const Lookup *l = &lookups.at[i];
    CHECK_STR(graph_tensor(graph, l->table)->name, expected[i].table);
    CHECK(l->places == expected[i].places);
    if (expected[i].input == NULL) CHECK_INT(l->input, -1);
    else CHECK_STR(graph_tensor(graph, l->input)->name, expected[i].input);
    for (int d = 0; d < 2 && expected[i].input != NULL; d++) CHECK_INT(l->at[d], expected[i].at[d]);
  }
  Problems problems = {.arena = arena};
  lookups_give_spreads(c.model, &lookups, NULL, &problems);
  CHECK_INT(problems.list.len, 0);
  CHECK_INT(c.model->tables.len, 2);
  CHECK_STR(c.model->tables.at[0].name, "second");
  CHECK_NEAR(c.model->tables.at[0].distinct, 64 + zipf_distinct(4000, 1.5, 192), 0.5);
  CHECK_NEAR(c.model->tables.at[1].distinct, 5000 * (1 - pow(1 - 1 / 5000.0, 64)), 1e-9);
  arena_free(arena);
}

static const char table_text[] = "model m(batch = 512) {\n"
                                 "  input id[b = batch, t = 32]: int < 100000 ~ zipf(1.2);\n"
                                 "  input label[b = batch]: int < 10;\n"
                                 "  param table[v = 100000, c = 4096] = normal_init(0.1);\n"
                                 "  x = embedding(id, table);\n"
                                 "  s[b, c] = sum(t) x[b, t, c];\n"
                                 "  loss = cross_entropy(dense(s, 10), label);\n"
                                 "}\ntrain { optimizer = sgd(lr = 0.1); }\n";

// Seconds of the lookup and of the update, which its memory takes.
static void cost_rows(const char *said, bool known, double seconds[2]) {
  Arena *arena = arena_new();
  Compilation c = compile(arena, said);
  const Lookups lookups = lookups_find(arena, c.model->train);
  Problems problems = {.arena = arena};
  if (known) lookups_give_spreads(c.model, &lookups, NULL, &problems);
  c.plan_source = (PlanSource){.kind = PLAN_SINGLE};
  for (int pass = 0; pass <= pipeline_find("plan"); pass++) pipeline_run(&c, pass);
  const Graph *graph = c.model->train;
  const int change = names_get(&graph->tensor_names, "table.change");
  CHECK(change >= 0);
  for (int i = 0; i < graph->ops.len && change >= 0; i++) {
    const Op *op = &graph->ops.at[i];
    if (op->out == change) seconds[1] = cost_of_op(c.cost, graph, op);
    if (op->phase == PHASE_FORWARD && op->n_out == 3 && op->reduce == REDUCE_SUM) seconds[0] = cost_of_op(c.cost, graph, op);
  }
  arena_free(arena);
}

// A table's rows come from memory once, those that are not looked up not at all.
static void rows_that_come_again_cost_nothing(void) {
  double unknown[2] = {0}, known[2] = {0};
  cost_rows(table_text, false, unknown);
  cost_rows(table_text, true, known);
  const double bandwidth = 900e9, row = 4096 * 4, places = 512 * 32, distinct = zipf_distinct(100000, 1.2, places);
  CHECK(distinct < places / 2);
  CHECK_NEAR((unknown[0] - known[0]) * bandwidth / row / (places - distinct), 1, 0.01);
  CHECK_NEAR((unknown[1] - known[1]) * bandwidth / row / (2 * (places - distinct)), 1, 0.01);
}

// ---- whole gradients or rows ---------------------------------------------------------------------------------------

static const char choice_text[] = "model m(batch = 50, rows = 1000, width = 64) {\n"
                                  "  input id[b = batch]: int < rows;\n"
                                  "  input label[b = batch]: int < 10;\n"
                                  "  param one[v = rows, c = width] = normal_init(0.1);\n"
                                  "  param other[v = rows, c = width] = normal_init(0.1);\n"
                                  "  loss = cross_entropy(dense(embedding(id, one) + embedding(id, other), 10), label);\n"
                                  "}\ntrain { optimizer = sgd(lr = 0.1); }\n";

// A table that is looked up, and as a whole the last layer: its gradient is the sum of a few rows and of a product.
static const char tied_text[] = "model m(batch = 50, rows = 100000, width = 64) {\n"
                                "  input id[b = batch]: int < rows;\n"
                                "  input next[b = batch]: int < rows;\n"
                                "  param one[v = rows, c = width] = normal_init(0.1);\n"
                                "  param other[v = rows, c = width] = normal_init(0.1);\n"
                                "  h = embedding(id, one) + embedding(id, other);\n"
                                "  logits[b, v] = sum(c) h[b, c] * one[v, c];\n"
                                "  loss = cross_entropy(logits, next);\n"
                                "}\ntrain { optimizer = sgd(lr = 0.1); }\n";

// How many tables have rows.
static int tables_with_rows(const char *model, const char *machine, int devices, const char *rows, const char *batch) {
  Arena *arena = arena_new();
  ElabOptions options = {0};
  vec_push(arena, &options.defines, ((Define){"rows", rows}));
  vec_push(arena, &options.defines, ((Define){"batch", batch}));
  Compilation c = {.arena = arena, .machine = machine != NULL ? machine_preset(arena, machine) : NULL, .problems = {.arena = arena}, .mesh = {.n_axes = 1, .axis = {{"data", devices}}}};
  int nearest[2];
  if (c.machine != NULL) CHECK(machine_mesh(c.machine, devices, &c.mesh, nearest));
  c.model = elab_model(arena, parse_prelude(arena), parse_text(arena, "m.dnn", model, strlen(model)), &options);
  for (int pass = 0; pass <= pipeline_find("sparse"); pass++) pipeline_run(&c, pass);
  const int n = (names_get(&c.model->train->tensor_names, "one.change") >= 0) + (names_get(&c.model->train->tensor_names, "other.change") >= 0);
  arena_free(arena);
  return n;
}

// On fast links a small table goes as a whole, which takes fewer launches; on slow ones, and a large one, as rows. What a step touches more
// than half of never has rows, nor has one that is read as a whole, too.
static void gradients_are_what_takes_less(void) {
  CHECK_INT(tables_with_rows(choice_text, NULL, 8, "1000", "50"), 2);
  CHECK_INT(tables_with_rows(choice_text, "v100x8x8", 8, "1000", "50"), 0);
  CHECK_INT(tables_with_rows(choice_text, "v100x8x8", 8, "100000", "50"), 2);
  CHECK_INT(tables_with_rows(choice_text, "p100x4x4", 16, "10000", "500"), 2);
  CHECK_INT(tables_with_rows(choice_text, "p100x4x4", 16, "1000", "512"), 0);
  CHECK_INT(tables_with_rows(choice_text, NULL, 16, "1000", "512"), 0);
  CHECK_INT(tables_with_rows(tied_text, NULL, 8, "100000", "50"), 1); // the other one
  CHECK_INT(tables_with_rows(tied_text, "p100x4x4", 16, "100000", "50"), 1);
}

CHECKS(TEST(classes_are_as_rows_one_by_one), TEST(uniform_rows_follow_the_closed_form), TEST(what_is_unknown_counts_by_places), TEST(lookups_lead_to_inputs),
       TEST(rows_that_come_again_cost_nothing),
       TEST(gradients_are_what_takes_less))
