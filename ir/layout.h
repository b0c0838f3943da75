// Meshes, shardings of operators and layouts of tensors.
#ifndef PARCC_IR_LAYOUT_H
#define PARCC_IR_LAYOUT_H

#include "base.h"

enum { MESH_MAX_AXES = 6 };

typedef struct MeshAxis {
  const char *name;
  int size;
} MeshAxis;

// The ranks as a product of axes, slowest first: rank = (c0 * size1 + c1) * size2 + c2 ...
typedef struct Mesh {
  int n_axes;
  MeshAxis axis[MESH_MAX_AXES];
} Mesh;

int mesh_ranks(const Mesh *mesh);
int mesh_stride(const Mesh *mesh, int axis); // distance in ranks of neighbours along the axis

// What an operator does along each axis: split the iteration dimension dim[axis] in blocks of whole unit[axis]s, or
// replicate (dim = -1).
typedef struct OpSharding {
  int dim[MESH_MAX_AXES];
  int64_t unit[MESH_MAX_AXES];
} OpSharding;

typedef enum LayoutKind { LAYOUT_REPLICATED, LAYOUT_SHARD, LAYOUT_PARTIAL } LayoutKind;

// How a tensor lies along one axis: whole on every rank, its dimension `dim` cut into blocks of whole `unit`s, or
// a pending reduction (`reduce`, a Reduce of graph.h).
typedef struct AxisLayout {
  LayoutKind kind;
  int dim;
  int64_t unit;
  int reduce;
} AxisLayout;

typedef struct Layout {
  AxisLayout axis[MESH_MAX_AXES];
} Layout;

OpSharding sharding_replicate(void);
Layout layout_replicated(void);
bool layout_equal(const Layout *a, const Layout *b, int n_axes);

// Changes of layout along one axis, and what they cost on an axis of p ranks (n: bytes of the whole tensor):
// the one table that cost, verification and emission read.
//   RESHARD(name, from, to, bytes sent per rank)
typedef enum ReshardKind {
#define RESHARD(name, from, to, bytes) RESHARD_##name,
#include "reshard.def"
#undef RESHARD
  RESHARD_KINDS
} ReshardKind;
const char *reshard_name(ReshardKind kind);
ReshardKind reshard_between(LayoutKind from, LayoutKind to); // RESHARD_KINDS: there is none in one step
double reshard_bytes(ReshardKind kind, double n, int p);

// A block [lo, lo + len) of a dimension: the `index`th of `parts`; sizes differ by at most one unit, larger ones first.
typedef struct Block { int64_t lo, len; } Block;
Block block_of(int64_t extent, int64_t unit, int parts, int index);

#endif
