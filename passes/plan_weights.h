// What fixed plans are made of: products with a parameter, where their dimensions lead, and the lines that divide them.
#ifndef PARCC_PASSES_PLAN_WEIGHTS_H
#define PARCC_PASSES_PLAN_WEIGHTS_H

#include "planning.h"

typedef VEC(int) Ids;

// The lines of a plan for one graph, of which some operators are divided along the same axes.
typedef struct Dividing {
  Arena *arena;
  Model const *model;
  const Graph *graph;
  Plan *plan;
  uint32_t axes; // the axes of the mesh, as a set of bits
  Ids *readers;  // by tensor: the operators of the forward pass that read it
  int *dim;      // by operator: the dimension that its line divides, or -1
  int64_t *unit; // by operator: in units of so much
  int *seen;     // by tensor: the last walk that came to it
  int walks;
} Dividing;

Dividing dividing_new(Arena *arena, const Model *model, const Graph *graph, Plan *plan, uint32_t axes);
int dividing_parts(const Dividing *d); // how many ranks there are along the axes

// A parameter, or a view or copy of one.
bool is_weight(const Graph *graph, int tensor);
// A sum of products of weights and something that is none, in the forward pass; weight, data: the two accesses.
bool product_with_weight(const Graph *graph, const Op *op, const Expr **weight, const Expr **data);
// The dimensions of its result that index the weight. Returns their number.
int product_outputs(const Graph *graph, const Op *op, const Expr *weight, int dims[IR_MAX_DIMS]);
// A row of a table looked up for every element of an input: sum(v) (id[...] == v) * table[v, ...]. The dimension v, or -1.
int lookup_rows(const Graph *graph, const Op *op, int *table);
// The pin of a sum over the dimension at an element of an input, as that of a label among classes.
bool is_pinned_by_input(const Graph *graph, const Op *op, int dim);

// Calls visit for every operator of the forward pass that reads the dimension `dim` of a tensor, or of what passes it on: at its
// own dimension op_dim, -1: otherwise than whole and plainly. True: the walk goes on with what that dimension indexes.
typedef bool DimVisitFn(void *ctx, int op, int op_dim);
void dividing_walk(Dividing *d, int tensor, int dim, DimVisitFn *visit, void *ctx);

// Adds a line that divides a dimension of an operator in whole units, or (dim -1) has all of it on every rank along the axes.
void dividing_add(Dividing *d, int op, int dim, int64_t unit);
// Adds lines that store parameters as the operators that are divided, and those that follow them, read them.
void dividing_store(Dividing *d);
// Adds the line of an input that is divided along its first dimension, the batch.
void plan_add_batch(Arena *arena, Plan *plan, const Tensor *input, uint32_t axes);
// A choice along each of the axes.
void plan_choose(PlanLine *line, const Mesh *mesh, uint32_t axes, PlanChoice choice);
uint32_t plan_all_axes(const Mesh *mesh);

#endif
