#include "reshard.h"

#include <math.h>

static const struct ReshardInfo {
  const char *name;
  LayoutKind from, to;
  int same_dim;
  ReshardHow how;
  ReshardPattern pattern;
  int rounds;
} reshard_table[RESHARD_KINDS] = {
#define LAYOUT_ANY LAYOUT_KINDS
#define RESHARD(name, from, to, same_dim, how, bytes, pattern, rounds) \
  {#name, LAYOUT_##from, LAYOUT_##to, same_dim, RESHARD_##how, RESHARD_##pattern, rounds},
#include "reshard.def"
#undef RESHARD
#undef LAYOUT_ANY
};

const char *reshard_name(ReshardKind kind) { return reshard_table[kind].name; }

ReshardHow reshard_how(ReshardKind kind) { return reshard_table[kind].how; }

ReshardPattern reshard_pattern(ReshardKind kind) { return reshard_table[kind].pattern; }

int reshard_rounds(ReshardKind kind) { return reshard_table[kind].rounds; }

bool reshard_moves_rows(ReshardKind kind) { return reshard_table[kind].from == LAYOUT_OWNED; }

ReshardKind reshard_between(LayoutKind from, LayoutKind to, bool same_dim) {
  for (int kind = 0; kind < RESHARD_KINDS; kind++) {
    const struct ReshardInfo *info = &reshard_table[kind];
    if (info->from == from && info->to == to && (info->same_dim < 0 || info->same_dim == (int)same_dim)) return (ReshardKind)kind;
  }
  fatal("no change of layout from kind %d to kind %d", (int)from, (int)to);
}

double reshard_bytes(ReshardKind kind, double n, int p, double x) {
  (void)x;
  switch (kind) {
#define RESHARD(name, from, to, same_dim, how, bytes, pattern, rounds) case RESHARD_##name: return bytes;
#include "reshard.def"
#undef RESHARD
  case RESHARD_KINDS: break;
  }
  return 0;
}

// ---- which axes change ---------------------------------------------------------------------------------------------

static bool is_shard_of(const AxisLayout *axis, int dim) { return axis->kind == LAYOUT_SHARD && axis->dim == dim; }

static bool cut_over_ranks(const Mesh *mesh, const Layout *layout, int dim) {
  for (int a = 0; a < mesh->n_axes; a++)
    if (mesh->axis[a].size > 1 && is_shard_of(&layout->axis[a], dim)) return true;
  return false;
}

static bool single_axis_differs(const Mesh *mesh, const Layout *from, const Layout *to, int a) {
  const AxisLayout *x = &from->axis[a], *y = &to->axis[a];
  if (a != mesh->n_axes - 1 || !mesh->partial_batches) return false;
  if (x->kind == LAYOUT_SHARD && !is_shard_of(y, x->dim) && (cut_over_ranks(mesh, from, x->dim) || cut_over_ranks(mesh, to, x->dim)))
    return true;
  return y->kind == LAYOUT_SHARD && !is_shard_of(x, y->dim) &&
         (cut_over_ranks(mesh, from, y->dim) || cut_over_ranks(mesh, to, y->dim));
}

static bool axis_differs(const Mesh *mesh, const Layout *from, const Layout *to, int a) {
  const AxisLayout *x = &from->axis[a], *y = &to->axis[a];
  if (mesh->axis[a].size == 1) return single_axis_differs(mesh, from, to, a);
  if (x->kind == LAYOUT_OWNED && y->kind == LAYOUT_PARTIAL) return x->reduce != y->reduce; // it is a partial sum, too
  if (x->kind != y->kind) return true;
  switch (x->kind) {
  case LAYOUT_SHARD: return x->dim != y->dim || memcmp(&from->cut[x->dim], &to->cut[y->dim], sizeof(Cut)) != 0;
  case LAYOUT_PARTIAL: return x->reduce != y->reduce;
  case LAYOUT_PINNED: return x->pin != y->pin;
  case LAYOUT_OWNED: return x->dim != y->dim;
  default: return false;
  }
}

uint32_t reshard_axes(const Mesh *mesh, const Layout *from, const Layout *to) {
  uint32_t axes = 0;
  for (int a = 0; a < mesh->n_axes; a++)
    if (axis_differs(mesh, from, to, a)) axes |= 1u << a;
  return axes;
}

// ---- what ranks hold -----------------------------------------------------------------------------------------------

static Block part(const Mesh *mesh, const Shape *shape, const Layout *layout, int rank, int dim) {
  return cut_block(mesh, rank, layout_axes_of(layout, mesh->n_axes, dim), &layout->cut[dim], shape->extent[dim]);
}

static bool cut_along_batch(const Mesh *mesh, const Layout *layout, int dim) {
  return mesh->partial_batches && is_shard_of(&layout->axis[mesh->n_axes - 1], dim);
}

// The inner blocks are those of the outer ones divided further, over faster axes.
static bool divides_further(const Mesh *mesh, const Layout *inner, const Layout *outer, int dim) {
  bool further = false;
  for (int a = 0; a < mesh->n_axes; a++) {
    const bool in = is_shard_of(&inner->axis[a], dim), out = is_shard_of(&outer->axis[a], dim);
    if (mesh->axis[a].size == 1) continue;
    if (out && (!in || further)) return false;
    further |= in && !out;
  }
  return memcmp(&inner->cut[dim], &outer->cut[dim], sizeof(Cut)) == 0;
}

// Every rank holds by `outer` what it holds by `inner`, whatever the length of the batch.
static bool within(const Mesh *mesh, const Shape *shape, const Layout *inner, const Layout *outer) {
  for (int i = 0; i < shape->rank; i++) {
    const uint32_t x = layout_axes_of(inner, mesh->n_axes, i), y = layout_axes_of(outer, mesh->n_axes, i);
    if (x == y && (x == 0 || memcmp(&inner->cut[i], &outer->cut[i], sizeof(Cut)) == 0)) continue;
    if (y == 0 || divides_further(mesh, inner, outer, i)) continue;
    if (cut_along_batch(mesh, inner, i) && cut_over_ranks(mesh, outer, i)) return false;
    for (int k = 0; k < mesh_parts(mesh, x | y); k++) {
      const int rank = mesh_rank_at(mesh, x | y, k);
      const Block a = part(mesh, shape, inner, rank, i), b = part(mesh, shape, outer, rank, i);
      if (a.len > 0 && (a.lo < b.lo || a.lo + a.len > b.lo + b.len)) return false;
    }
  }
  return true;
}

// The longest part of a dimension: all of it where nothing divides it, the first one where it is cut plainly, any one where windows
// are held.
static int64_t longest_part(const Mesh *mesh, const Shape *shape, const Layout *layout, int dim) {
  const uint32_t axes = layout_axes_of(layout, mesh->n_axes, dim);
  const int parts = mesh_parts(mesh, axes);
  if (parts == 1 || layout->cut[dim].units == 0) return shape->extent[dim];
  if (cut_is_plain(&layout->cut[dim], shape->extent[dim])) return part(mesh, shape, layout, 0, dim).len;
  int64_t longest = 0;
  for (int i = 0; i < parts; i++) longest = max_i64(longest, part(mesh, shape, layout, mesh_rank_at(mesh, axes, i), dim).len);
  return longest;
}

// No axis cuts two dimensions: some rank has the longest part of each.
int64_t layout_elements(const Mesh *mesh, const Shape *shape, const Layout *layout) {
  int64_t elements = 1;
  for (int i = 0; i < shape->rank; i++) elements *= longest_part(mesh, shape, layout, i);
  return elements;
}

// ---- which step ----------------------------------------------------------------------------------------------------

// The one dimension that the axes shard, plainly cut; -1: several, or a window.
static int plain_dim(const Mesh *mesh, const Shape *shape, const Layout *layout, uint32_t axes) {
  int dim = -1;
  for (int a = 0; a < mesh->n_axes; a++) {
    if (!(axes >> a & 1)) continue;
    if (dim >= 0 && layout->axis[a].dim != dim) return -1;
    dim = layout->axis[a].dim;
  }
  return dim >= 0 && cut_is_plain(&layout->cut[dim], shape->extent[dim]) ? dim : -1;
}

// The row that all axes have in common; RESHARD_exchange where they differ. Slices and drops go together.
static ReshardKind common_kind(const Mesh *mesh, const Layout *from, const Layout *to, uint32_t axes) {
  ReshardKind common = RESHARD_KINDS;
  for (int a = 0; a < mesh->n_axes; a++) {
    if (!(axes >> a & 1)) continue;
    const AxisLayout *x = &from->axis[a], *y = &to->axis[a];
    if (mesh->axis[a].size == 1) return RESHARD_exchange;
    const ReshardKind kind = reshard_between(x->kind, y->kind, x->kind == LAYOUT_SHARD && y->kind == LAYOUT_SHARD && x->dim == y->dim);
    if (common == RESHARD_KINDS || common == kind) common = kind;
    else if (reshard_pattern(common) == RESHARD_NONE && reshard_pattern(kind) == RESHARD_NONE) common = RESHARD_slice;
    else return RESHARD_exchange;
  }
  return common;
}

// Whether the blocks of all ranks are such that the row means what it says; else an exchange does the same.
static bool fits(const Mesh *mesh, const Shape *shape, const Layout *from, const Layout *to, Reshard step) {
  const bool several = (step.axes & (step.axes - 1)) != 0;
  switch (step.kind) {
  case RESHARD_reduce_scatter:
  case RESHARD_scatter: return plain_dim(mesh, shape, to, step.axes) >= 0 && within(mesh, shape, to, from);
  case RESHARD_all_gather:
  case RESHARD_gather: return plain_dim(mesh, shape, from, step.axes) >= 0 && within(mesh, shape, from, to);
  case RESHARD_slice: return within(mesh, shape, to, from);
  case RESHARD_all_to_all:
    return plain_dim(mesh, shape, from, step.axes) >= 0 && plain_dim(mesh, shape, to, step.axes) >= 0;
  case RESHARD_reblock: return !several;
  case RESHARD_serve: return plain_dim(mesh, shape, to, step.axes) == 0 && within(mesh, shape, to, from); // places that follow each other
  default: return true;
  }
}

// Whether every rank has what it needs, whatever the length of the batch.
static bool stays(const Mesh *mesh, const Shape *shape, const Layout *from, const Layout *to, uint32_t axes) {
  for (int a = 0; a < mesh->n_axes; a++)
    if (axes >> a & 1 && (from->axis[a].kind == LAYOUT_PINNED || to->axis[a].kind == LAYOUT_PINNED)) return false;
  for (int i = 0; i < shape->rank; i++) {
    const bool batch = cut_along_batch(mesh, from, i) || cut_along_batch(mesh, to, i);
    const uint32_t x = layout_axes_of(from, mesh->n_axes, i), y = layout_axes_of(to, mesh->n_axes, i);
    if (batch && (x != y || memcmp(&from->cut[i], &to->cut[i], sizeof(Cut)) != 0)) return false;
  }
  return within(mesh, shape, to, from);
}

// Windows may overlap, and may leave something out that no other rank then has.
static bool is_window(const Shape *shape, const Layout *layout, int a) {
  const AxisLayout *axis = &layout->axis[a];
  return axis->kind == LAYOUT_SHARD && !cut_is_plain(&layout->cut[axis->dim], shape->extent[axis->dim]);
}

// Owners are asked for rows before anything else changes, as what says who they are lies as the rows do.
static bool stays_owned(const Mesh *mesh, const Layout *from, const Layout *to) {
  bool stays = false;
  for (int a = 0; a < mesh->n_axes; a++) stays |= from->axis[a].kind == LAYOUT_OWNED && to->axis[a].kind == LAYOUT_OWNED;
  return stays;
}

bool reshard_find(const Mesh *mesh, const Shape *shape, const Layout *from, const Layout *to, Reshard *step) {
  bool reduces = false;
  step->axes = reshard_axes(mesh, from, to);
  if (step->axes == 0) return false;
  for (int a = 0; a < mesh->n_axes; a++) {
    if (!(step->axes >> a & 1)) continue;
    if (axis_is_sum(&to->axis[a]) || is_window(shape, from, a)) return false;
    reduces |= axis_is_sum(&from->axis[a]);
  }
  if (stays_owned(mesh, from, to)) return false;
  step->kind = common_kind(mesh, from, to, step->axes);
  if (!fits(mesh, shape, from, to, *step)) step->kind = RESHARD_exchange;
  if (reduces) return step->kind != RESHARD_exchange;
  if (reshard_is_measured(step->kind) && stays(mesh, shape, from, to, step->axes))
    step->kind = within(mesh, shape, from, to) ? RESHARD_same : RESHARD_slice;
  return true;
}

// ---- what it moves -------------------------------------------------------------------------------------------------

bool reshard_is_measured(ReshardKind kind) { return kind == RESHARD_reblock || kind == RESHARD_exchange; }

// Of rows that a rank needs several times it gets one: the part of its places that it is expected to get.
static double distinct_share(const Mesh *mesh, const Shape *shape, const Layout *together, const Layout *from, Reshard step) {
  if (!reshard_moves_rows(step.kind) || shape->spread == NULL) return 1;
  Shape places = {.rank = 0};
  for (int a = 0; a < mesh->n_axes; a++)
    if (step.axes >> a & 1) places.rank = from->axis[a].dim;
  memcpy(places.extent, shape->extent, sizeof *places.extent * (size_t)places.rank);
  const double of_ranks = (double)layout_elements(mesh, &places, together);
  const double n = step.kind == RESHARD_serve ? of_ranks / mesh_parts(mesh, step.axes) : of_ranks;
  return n > 0 ? spread_distinct(shape->spread, INFINITY, n) / n : 1;
}

double reshard_cost_of(const Mesh *mesh, const Shape *shape, const Layout *from, Reshard step, int element, int64_t moved) {
  Layout together = *from;
  for (int a = 0; a < mesh->n_axes; a++)
    if (step.axes >> a & 1) together.axis[a] = (AxisLayout){.kind = LAYOUT_REPLICATED};
  const int64_t n = layout_elements(mesh, shape, &together);
  return reshard_bytes(step.kind, (double)n * element, mesh_parts(mesh, step.axes), (double)moved * element) * distinct_share(mesh, shape, &together, from, step);
}

double reshard_cost(const Mesh *mesh, const Shape *shape, const Layout *from, const Layout *to, Reshard step, int element) {
  const int64_t moved = reshard_is_measured(step.kind) ? reshard_moved(mesh, shape, from, to) : 0;
  return reshard_cost_of(mesh, shape, from, step, element, moved);
}

// Whether on every rank its part of a dimension is so many times as short as what it holds of the whole.
static bool is_divided_by(const Mesh *mesh, const Shape *shape, const Layout *whole, const Layout *parts, int dim, int n) {
  const uint32_t axes = layout_axes_of(whole, mesh->n_axes, dim) | layout_axes_of(parts, mesh->n_axes, dim);
  for (int k = 0; k < mesh_parts(mesh, axes); k++) {
    const int rank = mesh_rank_at(mesh, axes, k);
    if (part(mesh, shape, parts, rank, dim).len * n != part(mesh, shape, whole, rank, dim).len) return false;
  }
  return true;
}

// No axis cuts two dimensions of a layout: some rank has the most of each.
Blocks reshard_blocks(const Mesh *mesh, const Shape *shape, const Layout *whole, const Layout *parts, uint32_t axes) {
  Blocks blocks = {true, true};
  int64_t before = 1; // elements of the whole in the dimensions before
  for (int i = 0; i < shape->rank; i++) {
    const bool divided = (layout_axes_of(parts, mesh->n_axes, i) & axes) != 0;
    blocks.in_order &= !divided || before <= 1;
    blocks.equal &= !divided || is_divided_by(mesh, shape, whole, parts, i, mesh_parts(mesh, axes));
    before *= longest_part(mesh, shape, whole, i);
  }
  return blocks;
}
