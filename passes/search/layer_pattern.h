// Layers that are alike: their operators are of the same classes, one by one, touch tensors in the same pattern, and are divided alike.
// What layers that are alike cost, and what lies between them, needs to be found only once.
#ifndef PARCC_PASSES_SEARCH_LAYER_PATTERN_H
#define PARCC_PASSES_SEARCH_LAYER_PATTERN_H

#include "layers.h"

typedef struct LayerPattern {
  int like;         // the first layer that is alike
  VEC(int) tensors; // in the order in which the operators of the layer mention them: the nth of one layer is as the nth of the other
  VEC(int) print;   // all that makes layers differ, in numbers
} LayerPattern;

LayerPattern *layer_patterns(Arena *arena, const Layers *layers, const int *op_class); // by layer; the classes by operator
int layer_tensor(const LayerPattern *pattern, int tensor); // which one of the layer's it is

#endif
