#include "forest.h"

int forest_root(int *parent, int i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

void forest_unite(int *parent, int i, int j) {
  i = forest_root(parent, i);
  j = forest_root(parent, j);
  if (i != j) parent[i > j ? i : j] = i < j ? i : j;
}
