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

OpSharding sharding_replicate(void) {
  OpSharding sharding;
  for (int a = 0; a < MESH_MAX_AXES; a++) {
    sharding.dim[a] = -1;
    sharding.unit[a] = 1;
  }
  return sharding;
}

Layout layout_replicated(void) {
  Layout layout = {0};
  for (int a = 0; a < MESH_MAX_AXES; a++) layout.axis[a].unit = 1;
  return layout;
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

static const struct ReshardInfo {
  const char *name;
  LayoutKind from, to;
} reshard_table[RESHARD_KINDS] = {
#define RESHARD(name, from, to, bytes) {#name, LAYOUT_##from, LAYOUT_##to},
#include "reshard.def"
#undef RESHARD
};

const char *reshard_name(ReshardKind kind) { return reshard_table[kind].name; }

ReshardKind reshard_between(LayoutKind from, LayoutKind to) {
  int kind = 0;
  while (kind < RESHARD_KINDS && (reshard_table[kind].from != from || reshard_table[kind].to != to)) kind++;
  return (ReshardKind)kind;
}

double reshard_bytes(ReshardKind kind, double n, int p) {
  switch (kind) {
#define RESHARD(name, from, to, bytes) case RESHARD_##name: return bytes;
#include "reshard.def"
#undef RESHARD
  case RESHARD_KINDS: break;
  }
  return 0;
}

Block block_of(int64_t extent, int64_t unit, int parts, int index) {
  const int64_t units = extent / unit, small = units / parts, larger = units % parts;
  const int64_t lo = index * small + min_i64(index, larger);
  return (Block){lo * unit, (small + (index < larger)) * unit};
}
