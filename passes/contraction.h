// Recognising contractions: sums of products of two tensors.
#ifndef PARCC_PASSES_CONTRACTION_H
#define PARCC_PASSES_CONTRACTION_H

#include "../ir/graph.h"

typedef struct Contraction {
  const Expr *a, *b; // the two accesses
  double alpha;      // constant factor
} Contraction;

// out = alpha * sum(k...) a[...] * b[...], every reduced dimension in both: fills *c and returns true.
bool contraction_match(const Graph *graph, const Op *op, Contraction *c);
// out = sum(k...) of a sum of products, as many as merge-products made one: how many there are, each with the body of its term;
// 1 for a contraction, 0 if it is nothing of the kind.
int products_match(const Graph *graph, const Op *op, Arena *arena, const Expr *const **terms);
// Each product is large and reads its operands at plain dimensions.
bool products_are_for_library(const Graph *graph, const Op *op);
// Every index of the access is one whole dimension of its own.
bool access_is_plain(const Graph *graph, const Op *op, const Expr *access);
// A matrix product (or a long matrix-vector product) with enough work to be worth a library call.
bool contraction_is_large(const Op *op, const Contraction *c);

#endif
