// The configurations of a layer: into how many equal blocks each dimension of what it makes is divided, on as many devices or fewer.
// (Jia et al., ICML 2018, section 4.) Each as it lies on the axes of a mesh, in one way.
#ifndef PARCC_PASSES_SEARCH_CONFIGURATION_H
#define PARCC_PASSES_SEARCH_CONFIGURATION_H

#include "layers.h"

typedef struct Configuration {
  signed char dim[MESH_MAX_AXES]; // of the layer, that each axis divides; -1: none
  uint32_t used;                  // the axes that divide one. The other axes' devices have nothing to do but the same once more
} Configuration;

// In place of a dimension, where a planner places layers (flexflow.c): only the devices with one coordinate on the axis do anything.
enum { CONFIGURATION_PIN = -2 }; // 0; one less for each further one
static inline int configuration_pin(const Configuration *configuration, int axis) { // or -1
  return configuration->dim[axis] <= CONFIGURATION_PIN ? CONFIGURATION_PIN - configuration->dim[axis] : -1;
}
// Whether a rank does anything.
bool configuration_is_on(const Configuration *configuration, const Mesh *mesh, int rank);

typedef struct Configurations { int n; Configuration *list; } Configurations;

// Every product of axes that divides the extents, once: the outer axes are left unused first, then take the first dimensions. So
// layers that are divided into as many blocks lie alike, and what is divided only by few is on neighbours.
Configurations configurations_of(Arena *arena, const Layer *layer, const Mesh *mesh);
// How many there can be of so many dimensions on a mesh, if all of them can be divided.
double configurations_most(int n_dims, const Mesh *mesh);
// What an operator with these dimensions of the layer does then.
OpSharding configuration_sharding(const Configuration *configuration, const OpDims *op, const Mesh *mesh);

#endif
