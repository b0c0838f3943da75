// What the files that find strips share: `strips.c` chooses them, `strip_dims.c` follows their dimensions, `strip_reach.c` says how far
// an interval reaches. A loop is meant by its position in the largest intermediate of the strip at hand.
#ifndef PARCC_PASSES_STRIP_FINDER_H
#define PARCC_PASSES_STRIP_FINDER_H

#include "strips.h"

typedef VEC(int) Ids;

typedef struct Finder {
  Lowering *l;
  Arena *arena;
  const Graph *graph;
  Grouping *g;
  Strips *strips;
  int64_t bytes;
  int *maker;                  // by tensor: its group, or -1
  bool *bulge;                 // by tensor
  int *parent;                 // by group: union of those that share a bulge
  int (*loop_of)[IR_MAX_DIMS]; // by group and class: dimension of the strip
  int (*loop_at)[IR_MAX_RANK]; // by tensor and position: the same
  uint32_t refused;            // dimensions of the strip at hand
  int *place;                  // by group: in the order
  int *state;                  // by group, while one looks for what comes after
  Ids looked_at;               // groups whose state is set
  bool *follows;               // by group, in a search
  bool *seen, *known;          // by tensor, in a search; all false between searches
  double *value;               // by tensor that is known
} Finder;

static inline const Op *op_at(const Finder *f, int op) { return &f->graph->ops.at[op]; }

static inline Group *group_at(const Finder *f, int group) { return &f->g->groups.at[group]; }

static inline IdList readers_at(const Finder *f, int tensor) { return readers_of(&f->l->reads, tensor); }

static inline bool is_product(const Group *group) {
  return group->kind == GROUP_GEMM && !group->looped && group->ops.len == 1;
}

// ---- strip_dims.c

int strip_class_of(const Finder *f, int op, int d); // of a dimension of an operator, in its group
bool strip_has_op(const Finder *f, const Strip *s, int op);
// Follows the dimensions of the largest intermediate through all groups of the strip: fills loop_of, loop_at and refused.
void strip_follow_dimensions(Finder *f, const Strip *s, int largest);
// The operator's dimension that is the loop's; -1: none, or several.
int strip_dim_of_loop(const Finder *f, int op, int loop);
// Whether what the operator makes is read inside only at the interval at hand. sums: it lacks the dimension.
bool strip_flows_along(const Finder *f, const Strip *s, int op, int loop, bool sums);
// Whether the strip can be a loop over the dimension. *whole: what it then walks through.
bool strip_is_loop(const Finder *f, const Strip *s, int loop, Extent *whole);

// ---- strip_reach.c

// The dimension of the largest intermediate that intervals of a loop, number *of, need only up to where they end themselves;
// -1: none.
int strip_find_reach(Finder *f, const Strip *s, const int *loop, int largest, int *of);

#endif
