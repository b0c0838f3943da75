// What an exchange between pairs of ranks takes, without looking at the pairs.
//
// Blocks are products over dimensions. Given who sends, whom it sends to is chosen axis by axis, and no axis cuts two dimensions
// of what is needed: the sum over all receivers of what both have in common is a product, over dimensions, of sums over the blocks
// of that dimension (and over axes that cut nothing, of how many receivers there are along them). The same holds for senders.
// What a rank has already is taken off. That alone ties dimensions together: those that have an axis in common, before or
// after. Ranks are looked at for such a component of axes at a time, and the most of a product is made of the most of each.
#include "reshard.h"

#include <stdlib.h>

typedef struct Part { // of what one rank sends or receives, in one dimension: the sum over those at the other end
  int64_t all;
  int64_t ones, full; // over those with one element in common, and with all that the rank has of the dimension
} Part;

typedef struct DimExchange { // of a dimension
  uint32_t held_axes, needed_axes;
  uint32_t tied;  // axes that cut what is needed, and along which a rank gives to itself only
  int n_held, n_needed, n_tied;
  int held_step[MESH_MAX_AXES], needed_step[MESH_MAX_AXES], tied_step[MESH_MAX_AXES]; // of the combined coordinates
  Block *held, *needed; // by combined coordinates
  Part *sent;           // [held][tied]
  Part *received;       // [needed]
} DimExchange;

typedef struct Exchanging {
  const Mesh *mesh;
  const Layout *from, *to;
  int rank;
  DimExchange dim[LAYOUT_MAX_RANK];
  Arena *arena;
} Exchanging;

// ---- one dimension ----

static Block *blocks_of(Arena *arena, const Mesh *mesh, uint32_t axes, const Cut *cut, int64_t extent, int n) {
  Block *blocks = NEW_ARRAY(arena, Block, n);
  cut_blocks(mesh, axes, cut, extent, blocks);
  return blocks;
}

static void add_common(Part *part, int64_t common, int64_t own) {
  part->all += common;
  part->ones += common == 1;
  part->full += common == own ? common : 0;
}

static int64_t common_of(Block x, Block y) { return max_i64(0, min_i64(x.lo + x.len, y.lo + y.len) - max_i64(x.lo, y.lo)); }

// Blocks ascend, but for those that are empty: each meets a run of the others.
static void add_all(const Mesh *mesh, DimExchange *d) {
  int first = 0;
  for (int i = 0; i < d->n_held; i++) {
    const Block held = d->held[i];
    if (held.len == 0) continue;
    while (first < d->n_needed && d->needed[first].lo + d->needed[first].len <= held.lo) first++;
    for (int j = first; j < d->n_needed; j++) {
      const Block needed = d->needed[j];
      if (needed.len == 0) continue;
      if (needed.lo >= held.lo + held.len) break;
      const int64_t common = common_of(held, needed);
      const int tied = d->tied == 0 ? 0 : mesh_coordinate(mesh, mesh_rank_at(mesh, d->needed_axes, j), d->tied);
      add_common(&d->sent[i * d->n_tied + tied], common, held.len);
      add_common(&d->received[j], common, needed.len);
    }
  }
}

static bool is_cut(const Layout *layout, int axis) { return layout->axis[axis].kind == LAYOUT_SHARD; }
static bool is_pinned(const Layout *layout, int axis) { return layout->axis[axis].kind == LAYOUT_PINNED; }

// By how much a coordinate on an axis moves the combined one.
static void steps_of(const Mesh *mesh, uint32_t axes, int *step) {
  for (int a = mesh->n_axes - 1, next = 1; a >= 0; a--) {
    step[a] = axes >> a & 1 ? next : 0;
    if (axes >> a & 1) next *= mesh->axis[a].size;
  }
}

static DimExchange dim_exchange(const Exchanging *x, int dim, int64_t extent) {
  const Mesh *mesh = x->mesh;
  DimExchange d = {.held_axes = layout_axes_of(x->from, mesh->n_axes, dim), .needed_axes = layout_axes_of(x->to, mesh->n_axes, dim)};
  for (int a = 0; a < mesh->n_axes; a++)
    if (d.needed_axes >> a & 1 && !is_cut(x->from, a) && !is_pinned(x->from, a)) d.tied |= 1u << a;
  d.n_held = mesh_parts(mesh, d.held_axes);
  d.n_needed = mesh_parts(mesh, d.needed_axes);
  d.n_tied = mesh_parts(mesh, d.tied);
  steps_of(mesh, d.held_axes, d.held_step);
  steps_of(mesh, d.needed_axes, d.needed_step);
  steps_of(mesh, d.tied, d.tied_step);
  d.held = blocks_of(x->arena, mesh, d.held_axes, &x->from->cut[dim], extent, d.n_held);
  d.needed = blocks_of(x->arena, mesh, d.needed_axes, &x->to->cut[dim], extent, d.n_needed);
  d.sent = NEW_ARRAY(x->arena, Part, d.n_held * d.n_tied);
  d.received = NEW_ARRAY(x->arena, Part, d.n_needed);
  add_all(mesh, &d);
  return d;
}

static Exchanging exchanging(const Mesh *mesh, const Shape *shape, const Layout *from, const Layout *to) {
  Exchanging x = {.mesh = mesh, .from = from, .to = to, .rank = shape->rank, .arena = arena_new()};
  for (int i = 0; i < shape->rank; i++) x.dim[i] = dim_exchange(&x, i, shape->extent[i]);
  return x;
}

// ---- one rank ----

// Of a rank with coordinate `at` along an axis: how many it gives to along it, if that does not depend on what they need.
static int receivers(const Exchanging *x, int axis, int at) {
  const AxisLayout *from = &x->from->axis[axis], *to = &x->to->axis[axis];
  if (from->kind == LAYOUT_PINNED && from->pin != at) return 0;
  const bool itself = !is_cut(x->from, axis) && !is_pinned(x->from, axis);
  if (to->kind == LAYOUT_PINNED) return !itself || to->pin == at;
  return itself || to->kind == LAYOUT_SHARD ? 1 : x->mesh->axis[axis].size;
}

static int senders(const Exchanging *x, int axis, int at) {
  const AxisLayout *to = &x->to->axis[axis];
  return to->kind != LAYOUT_PINNED || to->pin == at;
}

static int combined(const Exchanging *x, const int *step, const int *at) {
  int coordinate = 0;
  for (int a = 0; a < x->mesh->n_axes; a++) coordinate += step[a] * at[a];
  return coordinate;
}

typedef struct Load { int64_t sent, received, own; } Load; // own: of both sums, what the rank has itself

static Load load_of_axes(const Exchanging *x, uint32_t axes, const int *at) {
  Load load = {1, 1, 1};
  for (int a = 0; a < x->mesh->n_axes; a++) {
    if (!(axes >> a & 1)) continue;
    const int out = receivers(x, a, at[a]), in = senders(x, a, at[a]);
    load.sent *= out;
    load.received *= in;
    load.own *= out > 0 && in > 0;
  }
  return load;
}

static Load load_of_dim(const Exchanging *x, const DimExchange *d, const int *at) {
  const int i = combined(x, d->held_step, at), j = combined(x, d->needed_step, at), t = combined(x, d->tied_step, at);
  return (Load){d->sent[i * d->n_tied + t].all, d->received[j].all, common_of(d->held[i], d->needed[j])};
}

static Load times(Load x, Load y) {
  return (Load){times_i64(x.sent, y.sent), times_i64(x.received, y.received), times_i64(x.own, y.own)};
}

// ---- the busiest rank ----

typedef struct Busy { int64_t sum, own; } Busy;
typedef VEC(Busy) BusyList; // of which none has as large a sum and as little of its own as another one

static void keep(Arena *arena, BusyList *list, Busy busy) {
  int kept = 0;
  for (int i = 0; i < list->len; i++)
    if (list->at[i].sum >= busy.sum && list->at[i].own <= busy.own) return;
  for (int i = 0; i < list->len; i++)
    if (busy.sum < list->at[i].sum || busy.own > list->at[i].own) list->at[kept++] = list->at[i];
  list->len = kept;
  vec_push(arena, list, busy);
}

// Those of all ranks, made of those along these axes and those along the others.
static BusyList join(Arena *arena, const BusyList *a, const BusyList *b) {
  BusyList list = {0};
  for (int i = 0; i < a->len; i++)
    for (int k = 0; k < b->len; k++) keep(arena, &list, (Busy){times_i64(a->at[i].sum, b->at[k].sum), times_i64(a->at[i].own, b->at[k].own)});
  return list;
}

static int64_t most_of(const BusyList *list) {
  int64_t most = 0;
  for (int i = 0; i < list->len; i++) most = max_i64(most, list->at[i].sum - list->at[i].own);
  return most;
}

// The axes that have to do with `axes` through the dimensions that they cut.
static uint32_t component(const Exchanging *x, uint32_t axes) {
  for (uint32_t before = 0; before != axes;) {
    before = axes;
    for (int i = 0; i < x->rank; i++) {
      const uint32_t of_dim = x->dim[i].held_axes | x->dim[i].needed_axes;
      if (of_dim & axes) axes |= of_dim;
    }
  }
  return axes;
}

static bool next_place(const Mesh *mesh, uint32_t axes, int *at) {
  for (int a = 0; a < mesh->n_axes; a++) {
    if (!(axes >> a & 1)) continue;
    if (++at[a] < mesh->axis[a].size) return true;
    at[a] = 0;
  }
  return false;
}

static bool is_of_axes(const DimExchange *d, uint32_t axes) { return ((d->held_axes | d->needed_axes) & axes) != 0; }

// What no rank along these axes sends or receives more than.
static Load most_along(const Exchanging *x, uint32_t axes) {
  Load most = {1, 1, 0};
  for (int a = 0; a < x->mesh->n_axes; a++) {
    Load of_axis = {0, 0, 0};
    for (int at = 0; axes >> a & 1 && at < x->mesh->axis[a].size; at++) {
      of_axis.sent = max_i64(of_axis.sent, receivers(x, a, at));
      of_axis.received = max_i64(of_axis.received, senders(x, a, at));
    }
    if (axes >> a & 1) most = times(most, of_axis);
  }
  for (int i = 0; i < x->rank; i++) {
    const DimExchange *d = &x->dim[i];
    Load of_dim = {0, 0, 0};
    if (!is_of_axes(d, axes)) continue;
    for (int k = 0; k < d->n_held * d->n_tied; k++) of_dim.sent = max_i64(of_dim.sent, d->sent[k].all);
    for (int k = 0; k < d->n_needed; k++) of_dim.received = max_i64(of_dim.received, d->received[k].all);
    most = times(most, of_dim);
  }
  return most;
}

// Whether there is a rank that has as large a sum as any can have, and nothing of it itself: no other one is busier.
static bool has_busiest(const BusyList *list, int64_t most) { return list->len == 1 && list->at[0].sum == most && list->at[0].own == 0; }

static void busiest_along(const Exchanging *x, uint32_t axes, BusyList *sending, BusyList *receiving) {
  const Load most = most_along(x, axes);
  int at[MESH_MAX_AXES] = {0};
  do {
    Load load = load_of_axes(x, axes, at);
    for (int i = 0; i < x->rank; i++)
      if (is_of_axes(&x->dim[i], axes)) load = times(load, load_of_dim(x, &x->dim[i], at));
    keep(x->arena, sending, (Busy){load.sent, load.own});
    keep(x->arena, receiving, (Busy){load.received, load.own});
  } while (!(has_busiest(sending, most.sent) && has_busiest(receiving, most.received)) && next_place(x->mesh, axes, at));
}

int64_t reshard_moved(const Mesh *mesh, const Shape *shape, const Layout *from, const Layout *to) {
  const Exchanging x = exchanging(mesh, shape, from, to);
  BusyList sending = {0}, receiving = {0};
  int64_t whole = 1; // of the dimensions that are not cut
  for (int i = 0; i < x.rank; i++)
    if ((x.dim[i].held_axes | x.dim[i].needed_axes) == 0) whole *= shape->extent[i];
  keep(x.arena, &sending, (Busy){whole, whole});
  keep(x.arena, &receiving, (Busy){whole, whole});
  for (uint32_t left = (1u << mesh->n_axes) - 1; left != 0;) {
    const uint32_t axes = component(&x, left & -left);
    BusyList sends = {0}, receives = {0};
    busiest_along(&x, axes, &sends, &receives);
    sending = join(x.arena, &sending, &sends);
    receiving = join(x.arena, &receiving, &receives);
    left &= ~axes;
  }
  const int64_t moved = max_i64(most_of(&sending), most_of(&receiving));
  arena_free(x.arena);
  return moved;
}

// ---- what does not lie in one run ----

// What lies in one run of a rank's block: all of the dimensions behind one of them, and one element of those before it.
static int64_t in_runs(const Exchanging *x, const Part *const *part) {
  int64_t runs = 0, behind = 1;
  for (int k = x->rank - 1; k >= 0; k--) {
    int64_t before = 1;
    for (int i = 0; i < k; i++) before *= part[i]->ones;
    runs += before * (part[k]->all - part[k]->full) * behind;
    behind *= part[k]->full;
  }
  return runs + behind;
}

static bool is_run(const Exchanging *x, const Block *const *own, const int64_t *common) {
  bool full = true; // all dimensions behind
  for (int i = x->rank - 1; i >= 0; i--) {
    if (common[i] != 1 && !full) return false;
    full &= common[i] == own[i]->len;
  }
  return true;
}

// What rank `at` sends to others from several runs, and receives into several.
static int64_t staged_by(const Exchanging *x, const int *at, bool always) {
  const uint32_t all = (1u << x->mesh->n_axes) - 1;
  const Load along = load_of_axes(x, all, at);
  Load load = along;
  const Part *sent[LAYOUT_MAX_RANK], *received[LAYOUT_MAX_RANK];
  const Block *held[LAYOUT_MAX_RANK], *needed[LAYOUT_MAX_RANK];
  int64_t common[LAYOUT_MAX_RANK];
  for (int i = 0; i < x->rank; i++) {
    const DimExchange *d = &x->dim[i];
    const int h = combined(x, d->held_step, at), n = combined(x, d->needed_step, at);
    load = times(load, load_of_dim(x, d, at));
    sent[i] = &d->sent[h * d->n_tied + combined(x, d->tied_step, at)];
    received[i] = &d->received[n];
    held[i] = &d->held[h];
    needed[i] = &d->needed[n];
    common[i] = common_of(*held[i], *needed[i]);
  }
  int64_t out = load.sent - load.own, in = load.received - load.own;
  if (!always) {
    out -= times_i64(along.sent, in_runs(x, sent)) - (is_run(x, held, common) ? load.own : 0);
    in -= times_i64(along.received, in_runs(x, received)) - (is_run(x, needed, common) ? load.own : 0);
  }
  return out + in;
}

static bool cuts_batch(const Exchanging *x, const Layout *layout) {
  return x->mesh->partial_batches && is_cut(layout, x->mesh->n_axes - 1);
}

// Where the batch is cut, what is true of the whole batch may not be of a smaller one.
int64_t reshard_staged(const Mesh *mesh, const Shape *shape, const Layout *from, const Layout *to) {
  const Exchanging x = exchanging(mesh, shape, from, to);
  const bool always = cuts_batch(&x, from) || cuts_batch(&x, to);
  int at[MESH_MAX_AXES] = {0};
  int64_t most = 0;
  do most = max_i64(most, staged_by(&x, at, always));
  while (next_place(mesh, (1u << mesh->n_axes) - 1, at));
  arena_free(x.arena);
  return most;
}
