// Strips: groups of operators whose large intermediates exist for a part of their rows at a time.
#ifndef PARCC_PASSES_STRIPS_H
#define PARCC_PASSES_STRIPS_H

#include "fuse.h"
#include "lowering.h"

enum { STRIP_MAX_LOOPS = 4, STRIP_REACH = STRIP_MAX_LOOPS };

// A loop over intervals of one dimension that all groups of the strip have.
typedef struct StripLoop {
  const char *name;
  Extent whole;   // what it walks through
  int64_t length; // of an interval, at most
  int block;      // of the program: the interval at hand
} StripLoop;

typedef struct Strip {
  VEC(int) groups; // in an order in which each comes after what it reads
  VEC(int) inside; // tensors that exist for one interval only
  VEC(int) summed; // tensors to which every interval adds: without one of the loops' dimensions
  Phase phase;     // the latest of its operators
  int n_loops;     // outermost first
  // loop[STRIP_REACH], if its block is not -1, is no loop but a dimension of which an interval of another loop reaches no further
  // than to its own end: what lies behind counts for nothing.
  StripLoop loop[STRIP_MAX_LOOPS + 1];
} Strip;

struct Strips {
  VEC(Strip) list;
  int *of_group;               // by group of the grouping: number in the list, or -1
  int (*loop_of)[IR_MAX_DIMS]; // by operator and dimension: the loop that runs through it, or -1
  int (*loop_at)[IR_MAX_RANK]; // by tensor that exists for one interval only, and position: the same
  int *of_op, *of_tensor;      // the strip that they are in, or -1
};

// Finds what is to be computed in strips of about `bytes`, and orders the groups so that those of a strip stand together: g->order
// changes, and groups of the forward pass that come after a strip of the backward pass are marked late. NULL: nothing.
const Strips *strips_find(Lowering *l, Grouping *g, int64_t bytes);

#endif
