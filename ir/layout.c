#include "layout.h"

int mesh_ranks(const Mesh *mesh) {
  int ranks = 1;
  for (int a = 0; a < mesh->n_axes; a++) ranks *= mesh->axis[a].size;
  return ranks;
}

int mesh_stride(const Mesh *mesh, int axis) {
  int stride = 1;
  for (int a = axis + 1; a < mesh->n_axes; a++) stride *= mesh->axis[a].size;
  return stride;
}

bool layout_equal(const Layout *a, const Layout *b, int n_axes) {
  for (int i = 0; i < n_axes; i++) {
    const AxisLayout *x = &a->axis[i], *y = &b->axis[i];
    if (x->kind != y->kind) return false;
    if (x->kind == LAYOUT_SHARD && (x->dim != y->dim || x->unit != y->unit)) return false;
    if (x->kind == LAYOUT_PARTIAL && x->reduce != y->reduce) return false;
  }
  return true;
}

Block block_of(int64_t extent, int64_t unit, int parts, int index) {
  const int64_t units = extent / unit, small = units / parts, larger = units % parts;
  const int64_t lo = index * small + min_i64(index, larger);
  return (Block){lo * unit, (small + (index < larger)) * unit};
}
