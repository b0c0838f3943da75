// What a training step takes by simulation: the task graph of a strategy, a configuration for every layer. (FlexFlow, section 5.)
//
//   a task for each part of a layer, forward and backward     on the device; what its operators take (cost.h), and what they move
//                                                              between them, as where time steps need each other's results whole
//   a task for each pair of parts of two layers that share     on the link that leaves the sender's unit (itself, its node, ...), so
//   some of a tensor, forward, and for its gradient back       that what leaves over one link queues there; its share of what the
//                                                              cost model has for messages. Arrivals do not queue
//   a task for each device that shares parameters of a layer   on a stream of its own: an all-reduce of its gradients (cost.h), once
//   with others                                                all of them have theirs
//   a task for the update of a layer's parameters              on the device
//
// In two ways the paper's graph is another one. A layer that is divided on fewer devices may be placed on some of them, or all do the
// same, each for itself. And links have a latency. As there, a device runs what is ready first, and nothing takes time between tasks.
#ifndef PARCC_PASSES_SIM_STRATEGY_H
#define PARCC_PASSES_SIM_STRATEGY_H

#include "../search/layer_costs.h"
#include "moves.h"
#include "timeline.h"

// What all strategies of a model on a mesh share: what moves between layers, what layers take in each configuration that was asked for.
typedef struct LayerTasks LayerTasks;
LayerTasks *layer_tasks_new(Arena *arena, LayerCosts *costs); // the costs are to stay

typedef struct Strategy Strategy;
// Runs it. of: by layer.
Strategy *strategy_new(Arena *arena, LayerTasks *layers, const Configuration *of);
const Configuration *strategy_configuration(const Strategy *strategy, int layer);
// What a step takes, in picoseconds, if some layers had these configurations; each layer is named once. Where it is above `limit`, which is
// at least what the strategy takes, INT64_MAX. It is kept, or undone, before the next change.
int64_t strategy_change(Strategy *strategy, int n, const int *layer, const Configuration *to, int64_t limit);
void strategy_keep(Strategy *strategy);
void strategy_undo(Strategy *strategy);
int64_t strategy_time(const Strategy *strategy); // as it was kept
// Tasks that there are; the effort of the engine, and of making tasks, so far.
int strategy_tasks(const Strategy *strategy);
int64_t strategy_effort(const Strategy *strategy);

#define PICOSECONDS 1e12 // of a second

#endif
