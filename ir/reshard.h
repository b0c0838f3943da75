// Changes of layout: the one table (reshard.def) that planning, cost, verification and emission read.
#ifndef PARCC_IR_RESHARD_H
#define PARCC_IR_RESHARD_H

#include "layout.h"
#include "spread.h"

typedef enum ReshardKind {
#define RESHARD(name, from, to, same_dim, how, bytes, pattern, rounds) RESHARD_##name,
#include "reshard.def"
#undef RESHARD
  RESHARD_KINDS
} ReshardKind;

typedef enum ReshardHow { RESHARD_NOTHING, RESHARD_LOCAL, RESHARD_COLLECTIVE, RESHARD_MESSAGES } ReshardHow;

// Whom a rank sends to: see reshard.def.
typedef enum ReshardPattern { RESHARD_NONE, RESHARD_RING, RESHARD_PAIRS, RESHARD_ROOT, RESHARD_NEIGHBOUR } ReshardPattern;

typedef struct Shape { // of a whole tensor
  int rank;
  int64_t extent[LAYOUT_MAX_RANK];
  const Spread *spread; // of what is looked up in a table: that of its rows; NULL: unknown
} Shape;

// One step from a layout to another: a row of the table, along a set of axes (bits).
typedef struct Reshard {
  ReshardKind kind;
  uint32_t axes;
} Reshard;

const char *reshard_name(ReshardKind kind);
ReshardHow reshard_how(ReshardKind kind);
ReshardPattern reshard_pattern(ReshardKind kind);
int reshard_rounds(ReshardKind kind);
// Whether it moves single rows between owners and others: who moves how many is known when the indices are.
bool reshard_moves_rows(ReshardKind kind);
// The row of the table for a change along one axis (to is not partial); same_dim: both shard the same dimension.
ReshardKind reshard_between(LayoutKind from, LayoutKind to, bool same_dim);
// The table's formula. n, p and x: see reshard.def.
double reshard_bytes(ReshardKind kind, double n, int p, double x);

// The axes along which two layouts differ. An axis of size 1 changes nothing, but for the batch where it may not be full: what is
// cut along it has its true length, and where other axes cut the same dimension they cut that.
uint32_t reshard_axes(const Mesh *mesh, const Layout *from, const Layout *to);
// Finds the one step between two layouts; false: there is none. They may not differ, or it takes several; but nothing leads away
// from an axis along which windows are held.
bool reshard_find(const Mesh *mesh, const Shape *shape, const Layout *from, const Layout *to, Reshard *step);
// What a step found by reshard_find moves, by the table's formula, for elements of so many bytes.
double reshard_cost(const Mesh *mesh, const Shape *shape, const Layout *from, const Layout *to, Reshard step, int element);
// The same where it is known already how many elements the busiest rank sends or receives, which matters for the rows that are measured.
double reshard_cost_of(const Mesh *mesh, const Shape *shape, const Layout *from, Reshard step, int element, int64_t moved);
bool reshard_is_measured(ReshardKind kind);
// Elements that a rank holds, on the largest rank.
int64_t layout_elements(const Mesh *mesh, const Shape *shape, const Layout *layout);

// What an exchange between pairs of ranks takes, in elements (exchange.c):
// what the busiest rank sends or receives, whichever is more;
int64_t reshard_moved(const Mesh *mesh, const Shape *shape, const Layout *from, const Layout *to);
// what does not lie in one run where it is sent from or received to, on the rank with most of it.
int64_t reshard_staged(const Mesh *mesh, const Shape *shape, const Layout *from, const Layout *to);
// Whether the parts that the ranks along `axes` hold by `parts` lie one after the other in what they hold by `whole`, and
// whether they are of one size. Known for every batch, also a smaller one, unless the batch is what is cut.
typedef struct Blocks { bool in_order, equal; } Blocks;
Blocks reshard_blocks(const Mesh *mesh, const Shape *shape, const Layout *whole, const Layout *parts, uint32_t axes);

#endif
