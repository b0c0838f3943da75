// Who reads what in a graph.
#ifndef PARCC_PASSES_READS_H
#define PARCC_PASSES_READS_H

#include "../ir/graph.h"

typedef struct IdList {
  const int *at;
  int len;
} IdList;

typedef struct GraphReads {
  int *of_op, *tensor;     // operator i reads tensor[of_op[i]] .. tensor[of_op[i + 1] - 1], each as often as its expression does
  int *of_tensor, *reader; // and so the operators that read a tensor, in order
} GraphReads;

GraphReads reads_of_graph(Arena *arena, const Graph *graph);

static inline IdList reads_of_op(const GraphReads *r, int op) { return (IdList){r->tensor + r->of_op[op], r->of_op[op + 1] - r->of_op[op]}; }

static inline IdList readers_of(const GraphReads *r, int tensor) {
  return (IdList){r->reader + r->of_tensor[tensor], r->of_tensor[tensor + 1] - r->of_tensor[tensor]};
}

#endif
