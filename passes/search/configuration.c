#include "configuration.h"

typedef struct Degrees { int of[LAYER_MAX_DIMS]; } Degrees; // by dimension of the layer

typedef struct Listing {
  Arena *arena;
  const Layer *layer;
  const Mesh *mesh;
  VEC(Configuration) list;
  VEC(Degrees) degrees; // of those in the list
  Configuration at;
  Degrees now;
} Listing;

static bool is_listed(const Listing *l) {
  for (int i = 0; i < l->degrees.len; i++)
    if (memcmp(&l->degrees.at[i], &l->now, sizeof l->now) == 0) return true;
  return false;
}

// The choices of this axis and of those behind it.
static void list_from(Listing *l, int axis) {
  if (axis == l->mesh->n_axes) {
    if (is_listed(l)) return;
    vec_push(l->arena, &l->list, l->at);
    vec_push(l->arena, &l->degrees, l->now);
    return;
  }
  const int size = l->mesh->axis[axis].size;
  l->at.dim[axis] = -1;
  list_from(l, axis + 1);
  for (int d = 0; d < l->layer->dims.len && size > 1; d++) {
    if (l->layer->dims.at[d].extent % (l->now.of[d] * size) != 0) continue;
    l->at.dim[axis] = (signed char)d;
    l->at.used |= 1u << axis;
    l->now.of[d] *= size;
    list_from(l, axis + 1);
    l->now.of[d] /= size;
    l->at.used &= ~(1u << axis);
  }
}

Configurations configurations_of(Arena *arena, const Layer *layer, const Mesh *mesh) {
  Listing l = {.arena = arena, .layer = layer, .mesh = mesh};
  for (int d = 0; d < layer->dims.len; d++) l.now.of[d] = 1;
  list_from(&l, 0);
  return (Configurations){l.list.len, l.list.at};
}

OpSharding configuration_sharding(const Layers *layers, const Configuration *configuration, int op, const Mesh *mesh) {
  OpSharding s = sharding_replicate();
  for (int a = 0; a < mesh->n_axes; a++)
    for (int d = 0; d < layers->groups->graph->ops.at[op].n_dims && configuration->dim[a] >= 0; d++) {
      const LayerUse *use = &layers->uses[op * IR_MAX_DIMS + d];
      if (use->dim == configuration->dim[a]) plan_split(&s, a, d, use->unit, mesh);
    }
  return s;
}
