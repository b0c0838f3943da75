// The pipeline: from the model graphs to the program of one rank. The table in pipeline.c is the whole of it.
#ifndef PARCC_PASSES_PIPELINE_H
#define PARCC_PASSES_PIPELINE_H

#include "../ir/machine.h"
#include "../ir/model.h"
#include "../ir/plan.h"
#include "../ir/program.h"
#include "cost.h"
#include "search/cfn.h"

// How a planner that searches came out, in what it makes small itself.
typedef enum SearchUnit { SEARCH_SECONDS, SEARCH_BYTES } SearchUnit; // of a step
typedef struct SearchPoint { double tried, seconds; } SearchPoint; // of so many plans the best one took so long
typedef VEC(SearchPoint) SearchPoints;
typedef struct Search {
  bool done;
  SearchUnit unit;
  double cost, bound; // of the plan that it found, and of any that it searched at least (0: nothing is proved); INFINITY: it found none that fits, there is none
  bool of_step;       // both are of the step that is predicted, but for `refined`, and the bound is of all plans on `mesh` that were searched: the plan may
                      // be of another planner, and cheaper than those; else they are of the planner's own sum and choices
  Mesh mesh;          // with of_step: that was searched
  int ways;           // with of_step: in how many different ways an operator is divided along its axes at most; 0: in any number
  bool refined;       // with of_step: the plan is another one than that of which both are: where streams overlap it takes less
  double unrefined;   // what that one takes so, in seconds; 0: not known
  bool simulated;     // the cost is of a simulation, in which what can overlaps
  bool of_fitting;    // the bound is of those plans that are estimated to fit
  bool of_lean;       // ... in any number of microbatches, with layers made again or not
  int approximate;    // tensors whose changes of layout it counted more than once
  SearchPoints progress; // of a search that tries one plan after the other
  const Cfn *problem; // that it solved, where it is one and was asked for (keeps_problem); or NULL
  const char *how;    // what else it says of its way ("K = 2, 31 nodes eliminated"), or NULL
} Search;
bool search_proves(const Search *search); // whether the bound says anything
double search_gap(const Search *search); // the share of its cost that is not proved to be needed

typedef struct Compilation {
  Arena *arena;
  Model *model;     // its graphs become training graphs, then sharded graphs
  const Machine *machine; // that the program is for; NULL: not said
  Mesh mesh; // of the ranks; from pass "plan" on with a last axis "batch" of size 1
  bool mesh_given; // the user has asked for these axes: no planner takes others
  PlanSource plan_source;
  int64_t strip_bytes; // what is larger is made again or computed in strips of about this size; 0: never
  double time_limit;   // seconds that a search may take, or 0: it ends by itself, the same way every time
  int effort_parts;    // a walk of flexflow is so many times as short as it would be; 0: not
  bool any_plan;       // it is only asked whether there is a plan that fits: a search may end with the first one
  bool by_sum;        // the plan of a search is the one with the least sum, however its streams overlap
  bool keeps_problem; // what a search solves is wanted (search.problem)
  bool keeps_lowered; // and what it lowers to see whether its plan fits (lowered)
  Plan plan;         // as read from a file; from pass "plan" on as made
  Problems problems; // of the plan: where there are some after a pass, nothing more is to be run
  const char *whole_batches; // from pass "plan" on: why an evaluation takes whole batches only; NULL: it takes any
  const CostModel *cost; // from pass "plan" on; NULL: no machine
  Search search;
  Cost predicted;        // of a training step, from pass "apply-plan" on, where there is a machine
  Program *program; // from pass "lower" on
  struct Compilation *lowered; // by a search: a copy with its plan as it is after the last pass; or NULL
} Compilation;

typedef struct Pass {
  const char *name;
  const char *summary; // one line for --help
  void (*run)(Compilation *c);
} Pass;

extern const Pass pipeline[];
extern const int pipeline_len;

int pipeline_find(const char *name); // position of the pass, or -1
// Runs pass number `pass` and verifies what it left; a broken rule is an internal error.
void pipeline_run(Compilation *c, int pass);
// After the pass "plan": takes what a search has lowered already. Returns the pass that is done then, or -1 if there is nothing.
int pipeline_take_lowered(Compilation *c);
// The stage as it is after the last pass that ran, as text.
void pipeline_print(const Compilation *c, Text *out);

#endif
