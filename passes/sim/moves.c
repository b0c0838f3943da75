#include "moves.h"

Holding holding_of(Arena *arena, const Mesh *mesh, const Tensor *tensor, const Access *access, const Configuration *by) {
  const int n = mesh_ranks(mesh), rank = tensor->rank;
  const Region region = access_region(access, by, mesh->n_axes);
  bool *has = NEW_ARRAY(arena, bool, n);
  Block *block = NEW_ARRAY(arena, Block, n * rank), *blocks = NEW_ARRAY(arena, Block, n);
  Holding holding = {arena, mesh, rank, has, block, by, 0};
  for (int r = 0; r < n; r++) has[r] = configuration_is_on(by, mesh, r);
  for (int d = 0; d < rank; d++) {
    const uint32_t axes = region.dim[d].axes;
    holding.cut |= axes;
    cut_blocks(mesh, axes, axes != 0 ? &region.dim[d].cut : &(Cut){.units = 0}, tensor->extent[d], blocks);
    for (int r = 0; r < n; r++) block[r * rank + d] = blocks[axes != 0 ? mesh_coordinate(mesh, r, axes) : 0];
  }
  return holding;
}

// The rank with its own coordinates on the axes that make no difference, and the first ones on the others.
static int base_of(const Holding *held, uint32_t free, int rank) {
  const Mesh *mesh = held->mesh;
  int base = 0;
  for (int a = mesh->n_axes - 1, stride = 1; a >= 0; a--) {
    const int size = mesh->axis[a].size, pin = configuration_pin(held->by, a);
    if (!(free >> a & 1)) base += stride * (pin >= 0 ? pin : rank / stride % size);
    stride *= size;
  }
  return base;
}

static double common(const Block *a, const Block *b, int rank) {
  double elements = 1;
  for (int d = 0; d < rank; d++) {
    const int64_t lo = max_i64(a[d].lo, b[d].lo), hi = min_i64(a[d].lo + a[d].len, b[d].lo + b[d].len);
    if (hi <= lo) return 0;
    elements *= (double)(hi - lo);
  }
  return elements;
}

void moves_visit(const Holding *held, const Holding *wanted, bool sums, MoveFn *visit, void *ctx) {
  const Mesh *mesh = held->mesh;
  const int n = mesh_ranks(mesh), rank = held->rank;
  const uint32_t free = sums ? held->by->used : held->cut;
  const int parts = mesh_parts(mesh, free);
  int *part = NEW_ARRAY(held->arena, int, parts);
  for (int i = 0; i < parts; i++) part[i] = mesh_rank_at(mesh, free, i);
  for (int to = 0; to < n; to++) {
    if (!wanted->has[to]) continue;
    const int base = base_of(held, free, to);
    for (int i = 0; i < parts; i++) {
      const int from = base + part[i];
      const double elements = common(&held->block[from * rank], &wanted->block[to * rank], rank);
      if (elements > 0) visit(ctx, from, to, elements);
    }
  }
}
