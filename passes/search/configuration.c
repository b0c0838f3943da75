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

// The first dimension that an axis may choose: of axes of one size the outer ones have the first, so that each product is there once.
static int first_choice(const Listing *l, int axis) {
  for (int a = axis - 1; a >= 0; a--)
    if (l->mesh->axis[a].size == l->mesh->axis[axis].size) return l->at.dim[a];
  return -1;
}

// The choices of this axis and of those behind it.
static void list_from(Listing *l, int axis) {
  if (axis >= MESH_MAX_AXES || axis >= l->mesh->n_axes) {
    if (is_listed(l)) return;
    vec_push(l->arena, &l->list, l->at);
    vec_push(l->arena, &l->degrees, l->now);
    return;
  }
  const int size = l->mesh->axis[axis].size;
  const int first = first_choice(l, axis);
  l->at.dim[axis] = -1;
  if (first < 0) list_from(l, axis + 1);
  for (int d = first < 0 ? 0 : first; d < l->layer->dims.len && size > 1; d++) {
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

// Of k axes of one size each is unused or divides one of the dimensions: k of n + 1 things, with repetition.
double configurations_most(int n_dims, const Mesh *mesh) {
  double most = 1;
  for (int a = 0; a < mesh->n_axes; a++) {
    int same = 1;
    for (int b = 0; b < a; b++) same += mesh->axis[b].size == mesh->axis[a].size;
    if (mesh->axis[a].size > 1) most *= (double)(n_dims + same) / same;
  }
  return most;
}

bool configuration_is_on(const Configuration *configuration, const Mesh *mesh, int rank) {
  for (int a = 0; a < mesh->n_axes; a++) {
    const int pin = configuration_pin(configuration, a);
    if (pin >= 0 && mesh_coordinate(mesh, rank, 1u << a) != pin) return false;
  }
  return true;
}

OpSharding configuration_sharding(const Configuration *configuration, const OpDims *op, const Mesh *mesh) {
  OpSharding s = sharding_replicate();
  for (int a = 0; a < mesh->n_axes; a++) {
    const int d = configuration->dim[a];
    if (d >= 0 && op->dim[d] >= 0) plan_split(&s, a, op->dim[d], op->unit[d], mesh);
    s.pin[a] = configuration_pin(configuration, a);
  }
  return s;
}
