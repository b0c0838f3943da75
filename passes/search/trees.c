// Least trees that reach a set of targets, by dynamic programming over the subsets (Dreyfus and Wagner, Networks 1, 1971; directed):
//
//   least(set, v) = min over u of  way(v, u) + (min over parts of set into two of  least(part, u) + least(rest, u))
//
// A tree by which changes are planned (demands.h) is one of these: none of them takes less.
#include "trees.h"

#include <math.h>

Trees trees_new(Arena *arena, Routes *routes, int shape) { return (Trees){.arena = arena, .routes = routes, .shape = shape}; }

static int find(const Trees *trees, int layout) {
  int node = 0;
  while (node < trees->nodes.len && trees->nodes.at[node] != layout) node++;
  return node;
}

void trees_add(Trees *trees, int layout) {
  if (find(trees, layout) == trees->nodes.len) vec_push(trees->arena, &trees->nodes, layout);
}

static double way_between(const Trees *trees, int from, int to) {
  return from == to ? 0 : routes_cost(trees->routes, trees->shape, from, to).amount;
}

void trees_connect(Trees *trees) {
  const int n = trees->nodes.len;
  double *way = trees->way = NEW_ARRAY(trees->arena, double, n * n);
  for (int v = 0; v < n; v++)
    for (int u = 0; u < n; u++) way[v * n + u] = way_between(trees, trees->nodes.at[v], trees->nodes.at[u]);
  for (int by = 0; by < n; by++)
    for (int v = 0; v < n; v++)
      for (int u = 0; u < n; u++) way[v * n + u] = fmin(way[v * n + u], way[v * n + by] + way[by * n + u]);
}

double trees_way(const Trees *trees, int from, int to) {
  const int n = trees->nodes.len, node = find(trees, from), target = find(trees, to);
  double least = node < n ? trees->way[node * n + target] : INFINITY;
  for (int v = 0; v < n && node == n; v++) least = fmin(least, way_between(trees, from, trees->nodes.at[v]) + trees->way[v * n + target]);
  return least;
}

double *trees_least(const Trees *trees, const int *target, int n_targets) {
  const int n = trees->nodes.len;
  double *least = NEW_ARRAY(trees->arena, double, n << n_targets), *parted = NEW_ARRAY(trees->arena, double, n);
  for (int set = 1; set < 1 << n_targets; set++) {
    double *of_set = &least[set * n];
    const int one = __builtin_ctz((unsigned)set);
    for (int u = 0; u < n; u++) parted[u] = set == 1 << one && trees->nodes.at[u] == target[one] ? 0 : INFINITY;
    for (int part = (set - 1) & set; part > 0; part = (part - 1) & set)
      for (int u = 0; u < n; u++) parted[u] = fmin(parted[u], least[part * n + u] + least[(set ^ part) * n + u]);
    for (int v = 0; v < n; v++) {
      of_set[v] = INFINITY;
      for (int u = 0; u < n; u++) of_set[v] = fmin(of_set[v], trees->way[v * n + u] + parted[u]);
    }
  }
  return least;
}

double trees_from(const Trees *trees, const double *least, int root, int set) {
  const int n = trees->nodes.len, node = find(trees, root);
  double from = INFINITY;
  if (set == 0 || node < n) return set == 0 ? 0 : least[set * n + node];
  for (int v = 0; v < n; v++) from = fmin(from, way_between(trees, root, trees->nodes.at[v]) + least[set * n + v]);
  return from;
}
