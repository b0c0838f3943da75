// Figures about a compiled model.
#ifndef PARCC_PASSES_STATS_H
#define PARCC_PASSES_STATS_H

#include "../ir/json.h"
#include "pipeline.h"

// Parameters, multiply-adds of a forward pass (per sample, of the training graph's contractions), floating-point
// operations of a training step, memory of each rank, tables of which it is known how they are looked up, collectives of a step and what they move: as a table or as a JSON
// object. After the last pass.
const char *stats_print(const Compilation *c, bool json);
// What a training step communicates, by kind of collective: a member of a JSON object.
void json_step_communication(Json *json, const Program *program);

#endif
