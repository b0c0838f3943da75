// The tables that a model looks up, and how its lookups spread over their rows: what the cost of a step knows of them.
#ifndef PARCC_PASSES_LOOKUPS_H
#define PARCC_PASSES_LOOKUPS_H

#include "../ir/data_stats.h"
#include "../ir/lookup.h"
#include "../ir/model.h"

// All lookups of a graph before autodiff, in the order of its operators.
Lookups lookups_find(Arena *arena, const Graph *graph);
// Gives each table of a model that is looked up, and what is looked up, its spread, and lists the table: as it was counted in data, else as the model states it for its
// inputs; of one of which nothing is known it stays NULL. stats: NULL: nothing was counted. A table of these that the model does not have so
// is a problem.
void lookups_give_spreads(Model *model, const Lookups *lookups, const DataStats *stats, Problems *problems);

// The model with its inputs that are looked up, in `inputs` their numbers in it by tensor (-1: it is none): numbers of any size, as rows that
// a table lacks are to be counted, too.
Model lookups_model(Arena *arena, const Model *model, const Lookups *lookups, int *inputs);

#endif
