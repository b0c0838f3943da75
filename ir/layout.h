// Meshes, shardings of operators and layouts of tensors.
#ifndef PARCC_IR_LAYOUT_H
#define PARCC_IR_LAYOUT_H

#include "base.h"

enum { MESH_MAX_AXES = 10, MESH_MAX_RANKS = 65536 }; // the last axis is that of the batch

typedef struct MeshAxis {
  const char *name;
  int size;
} MeshAxis;

// The ranks as a product of axes, slowest first: rank = (c0 * size1 + c1) * size2 + c2 ...
typedef struct Mesh {
  int n_axes;
  MeshAxis axis[MESH_MAX_AXES];
  bool partial_batches; // of an evaluation: what is cut along the last axis, the batch, may end before its extent does
} Mesh;

// Adds an axis that a user asks for; leaves room for that of the batch. NULL, or what is wrong with it.
const char *mesh_add_axis(Arena *arena, Mesh *mesh, const char *name, int64_t size);
// The same ranks with every axis as its prime factors, larger ones first: gpu=12 becomes gpu1=3,gpu2=2,gpu3=2. Where that are more
// than so many axes, the smallest factors of the last axes stay together.
Mesh mesh_factors(Arena *arena, const Mesh *mesh, int most);
// The name of one of several axes that an axis becomes: "gpu2" of gpu, the only one "gpu".
const char *mesh_name_factor(Arena *arena, const Mesh *mesh, int axis, int number, int of);
int mesh_find(const Mesh *mesh, const char *axis); // or -1
const char *mesh_text(Arena *arena, const Mesh *mesh); // "data=2,tensor=2"
const char *mesh_axes_text(Arena *arena, const Mesh *mesh, uint32_t axes); // of a set of axes: "data,tensor"
int mesh_ranks(const Mesh *mesh);
int mesh_stride(const Mesh *mesh, int axis); // distance in ranks of neighbours along the axis

// What an operator does along each axis: split the iteration dimension dim[axis] in blocks of whole unit[axis]s,
// replicate (dim -1), or pin itself to the ranks with coordinate pin[axis] (else -1); the others have nothing to do.
// Several axes may split one dimension, in the same units: their coordinates are combined, slowest first.
// An operator that replicates may leave sums pending: what it reads as partial sums along the axis (pending[axis]) comes out as
// partial sums.
typedef struct OpSharding {
  int dim[MESH_MAX_AXES];
  int64_t unit[MESH_MAX_AXES];
  int pin[MESH_MAX_AXES];
  bool pending[MESH_MAX_AXES];
} OpSharding;

typedef enum LayoutKind { LAYOUT_REPLICATED, LAYOUT_SHARD, LAYOUT_PARTIAL, LAYOUT_PINNED, LAYOUT_OWNED, LAYOUT_KINDS } LayoutKind;

// How a tensor lies along one axis: whole on every rank, its dimension `dim` cut, a pending reduction (`reduce`, a Reduce
// of graph.h), or only on the ranks with coordinate `pin`. Or it is owned: a partial sum of which each place of the first `dim` dimensions is on
// one rank alone, and 0 on the others. Which rank, the index of a row at that place says: the one that has this row of a table
// whose rows are divided over the axis. So lie the rows that were looked up in such a table.
typedef struct AxisLayout {
  uint8_t kind; // a LayoutKind
  int8_t dim;
  int16_t reduce;
  int32_t pin;
} AxisLayout; // small and without padding: layouts are many, and compared as memory

// How a dimension is cut over the axes that shard it: its `units` are dealt out in blocks (block_of) over the slowest of them,
// each block over the next, and so on: sizes differ by at most one. A rank whose block is [lo, lo + len) holds of the dimension
//     from floor((scale * lo - before) / div) to floor((scale * (lo + len - 1) + after) / div), cut to its extent.
// A plain shard in units of u has scale u, before 0, after u - 1, div 1. What a window needs reaches further: a halo.
// units 0: the dimension is whole.
typedef struct Cut {
  int64_t units, scale, before, after, div;
} Cut;

enum { LAYOUT_MAX_RANK = 10 };

typedef struct Layout {
  AxisLayout axis[MESH_MAX_AXES];
  Cut cut[LAYOUT_MAX_RANK]; // by dimension of the tensor
} Layout;

// A block [lo, lo + len) of a dimension.
typedef struct Block { int64_t lo, len; } Block;

OpSharding sharding_replicate(void);
extern const Layout layout_replicated; // along every axis
// Whether the tensor is the sum of what the ranks along the axis hold: partial or owned.
static inline bool axis_is_sum(const AxisLayout *axis) { return axis->kind == LAYOUT_PARTIAL || axis->kind == LAYOUT_OWNED; }
Cut cut_plain(int64_t extent, int64_t unit);
bool cut_is_plain(const Cut *cut, int64_t extent);
// The axes that shard a dimension, as a set of bits.
uint32_t layout_axes_of(const Layout *layout, int n_axes, int dim);
// The combined coordinate of `rank` on a set of axes, slowest first, and how many there are.
int mesh_coordinate(const Mesh *mesh, int rank, uint32_t axes);
int mesh_parts(const Mesh *mesh, uint32_t axes);
// The rank with that combined coordinate on the axes, and 0 on the others.
int mesh_rank_at(const Mesh *mesh, uint32_t axes, int coordinate);
// What `rank` holds of a dimension.
Block cut_block(const Mesh *mesh, int rank, uint32_t axes, const Cut *cut, int64_t extent);
// The same of all combined coordinates on the axes, of which there are mesh_parts(mesh, axes).
void cut_blocks(const Mesh *mesh, uint32_t axes, const Cut *cut, int64_t extent, Block *blocks);

// The `index`th of `parts` blocks of a dimension in whole units; sizes differ by at most one unit, larger ones first.
Block block_of(int64_t extent, int64_t unit, int parts, int index);

#endif
