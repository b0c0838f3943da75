#ifndef PARCC_PASSES_SEARCH_LAYER_PLAN_H
#define PARCC_PASSES_SEARCH_LAYER_PLAN_H

#include "layer_costs.h"

// The plan in which each layer has the configuration that `of` has for it, on the mesh of the costs. Shardings of the graph's operators
// are overwritten. Its lines are in the arena.
Plan layer_plan(Arena *arena, const LayerCosts *costs, const Configuration *const *of, const Model *model);

#endif
