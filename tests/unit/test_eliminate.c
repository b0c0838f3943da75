// Node and edge elimination: against exhaustive enumeration and depth-first search on random graphs, and what is left of known ones.
#include "../../passes/search/eliminate.h"
#include "check.h"

#include <math.h>

static const int64_t NO_BUDGET = INT64_MAX;

// ---- random graphs ----

static uint64_t state;
static int below(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)n);
}

// Few costs that differ make ties; fractions make sums that round.
typedef struct Style { int costs; bool fractions; } Style;

static const double *random_table(EliminationGraph *graph, int n, Style style) {
  double *table = NEW_ARRAY(graph->arena, double, n);
  for (int i = 0; i < n; i++) table[i] = style.fractions ? below(style.costs) * 1.1e-4 + 1e-9 * below(1000) : below(style.costs);
  return table;
}

static void add_node(EliminationGraph *graph, int n_values, Style style) {
  vec_push(graph->arena, &graph->nodes, (EliminationNode){n_values, random_table(graph, n_values, style)});
}

static void add_edge(EliminationGraph *graph, int from, int to, Style style) {
  const int n = graph->nodes.at[from].n_values * graph->nodes.at[to].n_values;
  vec_push(graph->arena, &graph->edges, (EliminationEdge){from, to, random_table(graph, n, style)});
}

enum { CHAIN, FORK_JOIN, SKIPS, GRID, SHARED, PARTS, KINDS };

// Equal layers one behind the other, all reading what the first one makes, some of it twice; tables are shared.
static void random_equal_layers(EliminationGraph *graph, int n, Style style) {
  const int n_values = 1 + below(3);
  add_node(graph, n_values, style);
  add_node(graph, n_values, style);
  add_edge(graph, 0, 1, style);
  const EliminationNode node = graph->nodes.at[below(2)];
  const EliminationEdge edge = graph->edges.at[0];
  for (int i = 2; i < n; i++) {
    vec_push(graph->arena, &graph->nodes, node);
    if (below(4) == 0) add_edge(graph, i - 1, i, style);
    else vec_push(graph->arena, &graph->edges, (EliminationEdge){i - 1, i, edge.cost});
    for (int twice = below(3); twice >= 0; twice--) vec_push(graph->arena, &graph->edges, (EliminationEdge){0, i, edge.cost});
  }
}

// PARTS: several sources and ends.
static void random_graph(EliminationGraph *graph, int kind, Style style) {
  const int n = 3 + below(5);
  if (kind == SHARED) {
    random_equal_layers(graph, n, style);
    return;
  }
  for (int i = 0; i < n; i++) add_node(graph, 1 + below(4), style);
  for (int i = 1; i < n; i++) {
    if (kind == FORK_JOIN && i < n - 1) add_edge(graph, 0, i, style), add_edge(graph, i, n - 1, style);
    if (kind == CHAIN || kind == SKIPS) add_edge(graph, i - 1, i, style);
    if (kind == SKIPS && i > 1) add_edge(graph, below(i - 1), i, style);
    if (kind == GRID && i % 2 == 1) add_edge(graph, i - 1, i, style);
    if (kind == GRID && i > 1) add_edge(graph, i - 2, i, style);
    if (kind == PARTS && below(3) > 0) add_edge(graph, below(i), i, style);
  }
}

// ---- exhaustive enumeration ----

static double cheapest(const EliminationGraph *graph, int *value, int node) {
  if (node == graph->nodes.len) return elimination_cost(graph, value);
  double least = INFINITY;
  for (value[node] = 0; value[node] < graph->nodes.at[node].n_values; value[node]++) least = fmin(least, cheapest(graph, value, node + 1));
  return least;
}

static void check_found(const EliminationGraph *graph, const Elimination *found, double optimum, const char *by, int number) {
  const bool right = found->cost == elimination_cost(graph, found->value) && found->bound == found->cost &&
                     fabs(found->cost - optimum) <= 1e-12 * fmax(1, optimum);
  CHECK(right);
  if (!right) check_fail("graph %d by %s: optimum %.17g, found %.17g, bound %.17g", number, by, optimum, found->cost, found->bound);
}

static void check_random(int number) {
  static const Style styles[] = {{3, false}, {50, false}, {1000, true}};
  EliminationGraph graph = {.arena = arena_new()};
  state = (uint64_t)number * 7919 + 1;
  random_graph(&graph, number % KINDS, styles[number / KINDS % 3]);
  const double optimum = cheapest(&graph, NEW_ARRAY(graph.arena, int, graph.nodes.len), 0);
  const Elimination found = eliminate(&graph, NO_BUDGET), searched = eliminate_nothing(&graph, NO_BUDGET);
  check_found(&graph, &found, optimum, "elimination", number);
  check_found(&graph, &searched, optimum, "depth-first search", number);
  CHECK(found.kept + found.node_eliminations == graph.nodes.len);
  CHECK(searched.kept == graph.nodes.len && searched.node_eliminations + searched.edge_eliminations == 0);
  if (number % KINDS == CHAIN || number % KINDS == FORK_JOIN) CHECK(found.kept == 2);
  arena_free(graph.arena);
}

static void test_random(void) {
  for (int i = 0; i < 600; i++) check_random(i);
}

// ---- what is left ----

static EliminationGraph graph_of(int n, int values, int n_edges, const int (*edge)[2]) {
  EliminationGraph graph = {.arena = arena_new()};
  const Style style = {1000, true};
  state = 7;
  for (int i = 0; i < n; i++) add_node(&graph, values, style);
  for (int i = 0; i < n_edges; i++) add_edge(&graph, edge[i][0], edge[i][1], style);
  return graph;
}

// Two branches between the same ends, inside another pair: node and edge eliminations take turns.
static void test_nested(void) {
  static const int edge[][2] = {{0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}, {0, 5}, {4, 5}, {5, 6}};
  EliminationGraph graph = graph_of(7, 3, 8, edge);
  const Elimination e = eliminate(&graph, NO_BUDGET);
  CHECK(e.kept == 2 && e.node_eliminations == 5 && e.edge_eliminations == 2);
  CHECK(e.value[0] >= 0 && e.value[6] < 3);
  arena_free(graph.arena);
}

// Every inner node has two edges in or two out: nothing can be eliminated, and everything is enumerated.
static void test_irreducible(void) {
  static const int edge[][2] = {{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 3}};
  EliminationGraph graph = graph_of(4, 4, 5, edge);
  const Elimination e = eliminate(&graph, NO_BUDGET);
  CHECK(e.kept == 4 && e.node_eliminations == 0 && e.edge_eliminations == 0);
  CHECK(e.bound == e.cost && e.cost == cheapest(&graph, NEW_ARRAY(graph.arena, int, 4), 0));
  arena_free(graph.arena);
}

// Without a budget the first choice that depth-first search comes to is returned, with a bound below it that holds.
static void test_budget(void) {
  static const int edge[][2] = {{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 3}, {2, 4}, {3, 4}, {3, 5}, {4, 5}};
  EliminationGraph graph = graph_of(6, 5, 9, edge);
  const Elimination best = eliminate(&graph, NO_BUDGET), first = eliminate(&graph, 1);
  CHECK(first.cost == elimination_cost(&graph, first.value));
  CHECK(first.cost >= best.cost && first.bound <= best.cost && first.bound < first.cost);
  arena_free(graph.arena);
}

static void test_chain_of_a_thousand(void) {
  EliminationGraph graph = {.arena = arena_new()};
  const Style style = {1000, true};
  state = 11;
  for (int i = 0; i < 1000; i++) {
    add_node(&graph, 4, style);
    if (i > 0) add_edge(&graph, i - 1, i, style);
  }
  const Elimination e = eliminate(&graph, NO_BUDGET);
  double least[4], next[4];
  for (int y = 0; y < 4; y++) least[y] = graph.nodes.at[0].cost[y];
  for (int i = 1; i < 1000; i++, memcpy(least, next, sizeof next))
    for (int y = 0; y < 4; y++) {
      next[y] = INFINITY;
      for (int x = 0; x < 4; x++) next[y] = fmin(next[y], least[x] + graph.edges.at[i - 1].cost[x * 4 + y] + graph.nodes.at[i].cost[y]);
    }
  const double optimum = fmin(fmin(least[0], least[1]), fmin(least[2], least[3]));
  CHECK(e.kept == 2 && fabs(e.cost - optimum) <= 1e-12 * optimum);
  arena_free(graph.arena);
}

CHECKS(TEST(test_random), TEST(test_nested), TEST(test_irreducible), TEST(test_budget), TEST(test_chain_of_a_thousand))
