// What a plan costs on a machine: the one page of formulas. All times in seconds, all sizes in bytes.
#ifndef PARCC_PASSES_COST_H
#define PARCC_PASSES_COST_H

#include "../ir/graph.h"
#include "../ir/machine.h"
#include "../ir/profile_links.h"
#include "../ir/reshard.h"

// What joins the ranks along a set of axes, where all groups of such ranks are busy at once. Rank r is on device r.
typedef struct LevelLinks {
  bool used;   // something goes over links of this level
  int hops;    // steps of a walk through all ranks, in order, that go over this level and none above
  int depth;   // the same of a tree
  int most;    // ranks of a group in what a link leads to
  double ring; // seconds a byte of what goes from each of these to the next
  double own;  // seconds a byte of what one rank sends out, where one rank of each group does
  double all;  // the same where all do
} LevelLinks;

typedef struct AxisLinks {
  int ranks; // of a group
  LinkRanks regular; // they, where one is as far from the next as any other; part 0: it is not
  const LinkCurve *measured[RESHARD_KINDS]; // what the machine's profile says of changes along the axes; NULL: nothing
  LevelLinks level[MACHINE_MAX_LEVELS];
} AxisLinks;

AxisLinks cost_links(const Machine *machine, const Mesh *mesh, uint32_t axes);

// A machine with the ranks of a mesh on its devices, in order: what links the ranks along a set of axes have.
typedef struct CostModel {
  const Machine *machine;
  const Mesh *mesh;
  bool f64;
  const AxisLinks *links; // by set of axes; NULL: found at every call
} CostModel;
// With all links found. The machine and the mesh are to stay as long as the model does.
CostModel cost_model(Arena *arena, const Machine *machine, const Mesh *mesh, bool f64);
// Bytes of an element.
int cost_element(const CostModel *model, ScalarType type);
// Of a tensor as a layout has it, on the rank with most.
double cost_bytes(const CostModel *model, const Tensor *tensor, const Layout *layout);
// Marks tensors that are inlined: one element by element operator makes them and one operator of the same phase reads them, which
// runs over the same elements; or a scatter is added to a table in its place. A property of the graph as it is before it is planned, so that a plan changes nothing in it.
void cost_mark_inlined(Graph *train);

// The extents of the largest block of an operator's iteration space.
void cost_block(const CostModel *model, const Op *op, double *extent);
// Of the slowest rank: what was measured, where the machine has a profile (ir/profile.h) that knows the operator; else by the formulas.
double cost_of_op(const CostModel *model, const Graph *graph, const Op *op);
// Operations and bytes of its block of the iteration space, by the roofline, whatever was measured.
double cost_by_formulas(const CostModel *model, const Graph *graph, const Op *op);
// Whether an operator is a scatter into the place of what it is added to (row_update.h), where each rank has all that it adds to its part:
// it goes to a few rows, however many there are.
bool cost_scatters_in_place(const CostModel *model, const Graph *graph, const Op *op);
// Whether it is the sum of an update of rows whose scatter does so, and has nothing left to do.
bool cost_is_done(const CostModel *model, const Graph *graph, const Op *op);
// Twice that of an operator whose result is to be made again (passes/rematerialise.c).
double cost_of_makings(const CostModel *model, const Graph *graph, const Op *op);
// One step of the table of changes (ir/reshard.def) of a tensor whose elements take so many bytes.
double cost_of_reshard(const CostModel *model, const Shape *shape, const Layout *from, const Layout *to, Reshard step,
                       int element);
// The same, with the level that takes longest; MACHINE_MAX_LEVELS: it is within a rank.
typedef struct StepCost {
  double seconds, bytes;
  int level;
} StepCost;
StepCost cost_of_step(const CostModel *model, const Shape *shape, const Layout *from, const Layout *to, Reshard step,
                      int element);
// The same, of a step that moves so many bytes (reshard_cost).
StepCost cost_of_moving(const CostModel *model, const Shape *shape, const Layout *from, const Layout *to, Reshard step, int element,
                        double bytes);

// One of so many messages that a rank sends over links of a level together: with its share of their launch and latencies.
double cost_of_message(const CostModel *model, int level, int messages, double bytes);

// Of an operator that changes a layout.
StepCost cost_of_change(const CostModel *model, const Graph *graph, const Op *op, Reshard *step);

typedef struct Cost {
  double step;                                  // seconds: the sum of the others
  double compute, update;                       // operators; of them those that update parameters
  double communication[MACHINE_MAX_LEVELS + 1]; // by the slowest level that is crossed; the last: changes within a rank
  double bytes;                                 // that the busiest rank sends or receives
} Cost;
// Of a training step as apply-plan has left the training graph: the sum over its operators, without those of reports only.
Cost cost_of_graph(const CostModel *model, const Graph *train);
// The same. makings: [operators] gets those of operators that are no changes of layout.
Cost cost_of_graph_by_op(const CostModel *model, const Graph *train, double *makings);

#endif
