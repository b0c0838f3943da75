// What a step takes under a plan, without its program: what the operators, as the plan divides them, and the changes of layout take that
// apply-plan would make. One copy of the training graph does for any number of plans.
#ifndef PARCC_PASSES_PRICING_H
#define PARCC_PASSES_PRICING_H

#include "pipeline.h"

typedef struct Pricing Pricing;

// Of a compilation as evaluate.h requires it, which stays as it is; in its arena.
Pricing *pricing_new(const Compilation *c);
// What evaluate_cost finds for the step, summed in another order; less only where something is reduced for reports alone. Where operators
// take `enough` by themselves that is all that is found. Whether the plan is one of this model is not asked.
double pricing_of(Pricing *pricing, const Plan *plan, double enough);

#endif
