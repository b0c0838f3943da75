// What the files of the pass "sparse" share: a gradient that is a sum of scatters, and what is made of it.
#ifndef PARCC_PASSES_SPARSE_H
#define PARCC_PASSES_SPARSE_H

#include "../ir/pin.h"
#include "pipeline.h"

typedef VEC(int) OpIds;

typedef struct Scatter { // a term of the gradient
  int op;
  Pin pin; // of its first dimension
} Scatter;

typedef struct Update { // of a parameter or a state, by the operator that makes its new value
  int stored, op;
  const Expr *change; // what is added to it, of the gradient and of what is stored
  int rows;           // tensor: the rows of it that are read; -1: none
} Update;

typedef struct Sparse {
  Graph *graph;
  Arena *scratch;
  OpIds *readers;           // by tensor: operators
  bool *leaf;             // by tensor: read by something other than operators
  int param, gradient;    // at hand
  VEC(Scatter) terms;     // of the gradient
  int64_t rows;           // of all of them
  const Expr **of_gradient; // by tensor: what it is of the gradient, element by element; NULL: it is not made of it
  int n_tensors, n_ops;   // of the graph as it was
  OpIds totals;             // operators that sum something over the whole gradient
  VEC(Update) updates;
  bool *replaced;         // by operator of the graph as it was: an update that is made otherwise
} Sparse;

// Of a graph with its gradients; what is known of it is in `scratch`.
Sparse sparse_new(Graph *graph, Arena *scratch);
// Whether a gradient is sparse, with its terms and uses: of half as many rows as the table has at most, so that they need no more memory, and
// are no more to send, than all of it. What was made in place of others may have been added to the graph, nothing else is changed since sparse_new.
bool sparse_analyse(Sparse *sparse, int gradient);
// An expression in which what is made of the gradient is in its terms.
const Expr *sparse_expand(Sparse *sparse, const Expr *e);
// By tensor of the training graph, in the arena: the sparse gradients that are to be rows.
const bool *sparse_choose(const Compilation *c, Arena *arena);
// They become rows.
void sparse_make(Graph *graph, const bool *chosen);

#endif
