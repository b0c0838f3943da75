// What a plan costs on a machine: the one page of formulas. All times in seconds, all sizes in bytes.
#ifndef PARCC_PASSES_COST_H
#define PARCC_PASSES_COST_H

#include "../ir/graph.h"
#include "../ir/machine.h"
#include "../ir/reshard.h"

// A machine with the ranks of a mesh on its devices, in order: what links the ranks along a set of axes have.
typedef struct CostModel {
  const Machine *machine;
  const Mesh *mesh;
  bool f64;
} CostModel;

// Of the slowest rank: operations and bytes of its block of the iteration space, by the roofline.
double cost_of_op(const CostModel *model, const Graph *graph, const Op *op);
// One step of the table of changes (ir/reshard.def) of a tensor whose elements take so many bytes.
double cost_of_reshard(const CostModel *model, const Shape *shape, const Layout *from, const Layout *to, Reshard step, int element);

typedef struct Cost {
  double step;                                  // seconds: the sum of the others
  double compute, update;                       // operators; of them those that update parameters
  double communication[MACHINE_MAX_LEVELS + 1]; // by the slowest level that is crossed; the last: changes within a rank
  double bytes;                                 // that the busiest rank sends or receives
} Cost;
// Of a training step as apply-plan has left the training graph: the sum over its operators, without those of reports only.
Cost cost_of_graph(const CostModel *model, const Graph *train);

#endif
