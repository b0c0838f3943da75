// What a step takes under a plan, without its program: what the operators, as the plan divides them, and the changes of layout take that
// apply-plan would make. One copy of the training graph does for any number of plans.
#ifndef PARCC_PASSES_PRICING_H
#define PARCC_PASSES_PRICING_H

#include "pipeline.h"

typedef struct Pricing Pricing;

// Of the tensors of a training step, each a buffer, on the rank that has most.
typedef struct TensorBytes {
  double all;    // at once
  double stored; // what lies there between steps: a device needs more
} TensorBytes;
TensorBytes tensor_bytes(const CostModel *model, const Graph *train);

typedef struct Price {
  double seconds;      // what evaluate_cost finds for the step, summed in another order; less only where something is reduced for reports alone
  double overlapped;   // about what it takes as streams overlap (sim/overlap.h); 0: not asked for
  TensorBytes tensors; // as operators make them: changes of layout make more
} Price;

// Of a compilation as evaluate.h requires it, which stays as it is; in its arena.
Pricing *pricing_new(const Compilation *c);
// Where operators take `enough` seconds by themselves no more is found. Whether the plan is one of this model is not asked.
Price pricing_of(Pricing *pricing, const Plan *plan, double enough);
// Microbatches and what is made again are other graphs, made for that plan alone: their price takes as long as evaluate_cost.
bool pricing_is_cheap(const Pricing *pricing, const Plan *plan);
// Of one plan alone, whatever it costs; nothing of it stays in the arena of the compilation.
Price pricing_once(const Compilation *c, const Plan *plan);
// The model on which plans are priced, where others may lay the training graph between them: results that are inlined are marked.
Model *pricing_model(Pricing *pricing);

#endif
