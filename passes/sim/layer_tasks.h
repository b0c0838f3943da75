// What strategy.c and layer_tasks.c share: what tasks there are of a layer in a configuration, and between two layers.
#ifndef PARCC_PASSES_SIM_LAYER_TASKS_H
#define PARCC_PASSES_SIM_LAYER_TASKS_H

#include "messages.h"
#include "strategy.h"

// Gradients of parameters of a layer that the devices along these axes share.
typedef struct Shared { uint32_t axes; int64_t time; } Shared;

// A layer in one configuration. 0: it has no such tasks.
typedef struct LayerTimes {
  int64_t forward, backward, update;
  VEC(Shared) shared;
} LayerTimes;

// Tensors that one layer makes and another reads, which are cut alike: they move together.
typedef struct Bundle {
  int from, to, tensor; // the first of them
  double bytes;         // of an element of each of them together
  Access made, read;
  bool gradient;        // its gradient goes back
  int like;             // the same number: they move alike
} Bundle;

struct LayerTasks {
  Arena *arena;
  LayerCosts *costs;
  const Mesh *mesh;
  int n_ranks, n_layers;
  VEC(Bundle) bundles;
  Ints *bundles_of;      // by layer: those that begin or end there
  VEC(Bundle) *inner;    // by layer: those between its own operators, made in other blocks than they are needed
  LayerWeights *weights; // by layer
  MessageCache *messages;
  Numbers numbers;       // of a layer's likeness and a configuration -> times
  VEC(LayerTimes) times;
};

const LayerTimes *layer_times(LayerTasks *layers, int layer, const Configuration *configuration);
// Picoseconds, at least 1.
int64_t time_of(double seconds);
// The level of the machine over whose links one device sends to another; the number of the link of the level that it leaves over.
int link_level(const LayerTasks *layers, int from, int to);
int link_number(const LayerTasks *layers, int level, int from);
int link_of(const LayerTasks *layers, int from, int to); // its number among those of all levels
// How many messages each rank sends over links of each level, for moves_visit: ctx is a MessageCount.
typedef struct MessageCount {
  const LayerTasks *layers;
  int *n; // [levels][ranks]
} MessageCount;
MessageCount message_count_new(Arena *arena, const LayerTasks *layers);
void message_count(void *ctx, int from, int to, double elements);
// What the one takes that sends so many elements, of so many bytes each.
double message_seconds(const MessageCount *count, int from, int to, double bytes);

#endif
