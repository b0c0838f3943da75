// Sets of the numbers 0 .. n - 1 as a forest: each number has a parent, the root of a tree leads its set.
#ifndef PARCC_PASSES_SEARCH_FOREST_H
#define PARCC_PASSES_SEARCH_FOREST_H

int forest_root(int *parent, int i);
// Makes one set of those of i and j. The first in order leads.
void forest_unite(int *parent, int i, int j);

#endif
