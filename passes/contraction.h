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
// Every index of the access is one whole dimension of its own.
bool access_is_plain(const Graph *graph, const Op *op, const Expr *access);
// A matrix product (or a long matrix-vector product) with enough work to be worth a library call.
bool contraction_is_large(const Op *op, const Contraction *c);

#endif
