// Plans that differ from one in what one group of operators does along one axis, or all groups that are alike: layers that repeat.
#ifndef PARCC_PASSES_SEARCH_REFINE_MOVES_H
#define PARCC_PASSES_SEARCH_REFINE_MOVES_H

#include "../pricing.h"
#include "groups.h"

typedef struct PlanMoves PlanMoves;

// Of a plan, on a model whose training graph has been laid by it (pricing_model). The plan is to stay.
PlanMoves *plan_moves_new(Arena *arena, Model *model, const Plan *plan);
// The next plan, which is there until the one after it, or false: there is none. Parameters that its
// operators read are stored as they read them.
bool plan_moves_next(PlanMoves *moves, Plan *plan);
void plan_moves_free(PlanMoves *moves);

#endif
