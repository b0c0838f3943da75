// Which layers share code. The steps of a procedure are grouped by the layers they belong to, as the model nests them; layers
// of one kind whose steps differ in nothing but tensors, numbers and places in the source are one class, and where that makes
// the program shorter the class becomes a function.
//
// This decides how the program is written, not what it does: every step runs as often and in the same order as before.
#ifndef PARCC_CODEGEN_LAYERS_H
#define PARCC_CODEGEN_LAYERS_H

#include "printed.h"

typedef struct LayerRun LayerRun;

typedef struct LayerPart { // a step, or the steps of a layer inside
  const Printed *step;
  LayerRun *run; // or NULL
} LayerPart;

typedef VEC(LayerPart) LayerParts;

struct LayerRun {   // consecutive steps of one layer
  const char *path; // "bottleneck3.conv_norm2"; of a repeat the layers in it, "multihead3, dense5, dense6"
  int kind, class;
  int number;       // of its path, while it is decided
  int again; // how often the class had the layer before
  LayerParts parts;
};

typedef struct LayerKind {
  const char *name; // "conv_norm"
  bool shared;      // its classes become functions
  bool repeat;
  Names row_of;             // of a repeat: layer in it -> its row
  VEC(const char *) rows;   // their paths
} LayerKind;

typedef struct LayerClass {
  int kind;
  int uses;             // places in the text where it is used, as far as they are counted
  VEC(LayerRun *) runs; // all of them, in the program's order
  const char *function; // its name, once it is printed
} LayerClass;

typedef struct Layers {
  Arena *arena;
  Arena *scratch; // until it is decided
  const Program *program;
  VEC(LayerKind) kinds;
  VEC(LayerClass) classes;
  Names kind_of, class_of, paths;
  VEC(LayerParts *) lists; // of the procedures
} Layers;

typedef VEC(Printed) PrintedList;

Layers layers_new(const Program *program);
// Groups the steps of one procedure. The list must stay where it is.
const LayerParts *layers_add(Layers *layers, const PrintedList *steps);
// To be called once after all procedures are added.
void layers_decide(Layers *layers);
// What follows the path in the name of a layer inside of it.
const char *layers_rest(const char *layer, const char *path);
// "conv_norm2" gives "conv_norm".
const char *layers_kind_name(Arena *arena, const char *component);
int layers_kind_of(const Layers *layers, const char *kind);
bool layers_is_repeat(const Layers *layers, const LayerRun *run);
// The path without the numbers of its components: "multihead3.dense1" gives "multihead.dense".
const char *layers_path_kind(Arena *arena, const char *path);
bool layers_is_function(const Layers *layers, const LayerRun *run);

#endif
