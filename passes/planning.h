// What the files of planning share: which lines of a plan speak for an operator or a stored tensor, and the sharding that
// comes of it.
#ifndef PARCC_PASSES_PLANNING_H
#define PARCC_PASSES_PLANNING_H

#include "pipeline.h"
#include "reads.h"

// What can be split: the iteration space of an operator, or the dimensions of a tensor.
typedef struct Space {
  Dim dims[IR_MAX_DIMS];
  int n_dims;
  const char *fixed[IR_MAX_DIMS]; // why a dimension cannot be split; NULL: it can
} Space;

typedef struct OpRef { const Graph *graph; int op; } OpRef;

typedef struct PlanLayer { // the operators of a layer and of the layers in it, and what it stores
  const char *name;
  VEC(OpRef) ops;
  VEC(int) stored; // tensors of the training graph
} PlanLayer;

// Who needs a tensor of a graph.
typedef struct Uses {
  VEC(int) ops;
  VEC(int) stores;  // of graph->stores
  bool reported;    // a loss, a metric or the norm of the gradients
} Uses;

typedef VEC(int) Tensors;

typedef struct Planner {
  Arena *arena;
  const Model *model;
  const Plan *plan;  // without patterns
  Mesh mesh;         // with the batch as its last axis
  Names lines;       // "GRAPH KIND NAME" -> line
  bool has_lines[PLAN_SUBJECTS]; // of this kind
  Names layers;      // name -> layer
  VEC(PlanLayer) layer_list;
  int *update_of;    // by operator of the training graph: the parameter that it is part of updating, or -1
  Uses *uses[3];     // by tensor of the graphs init, train, eval
  GraphReads reads[3]; // of the same graphs
  Tensors *kept;     // by parameter of the training graph: itself and the optimizer's states of it
  Names stored;      // name -> sharding
  VEC(OpSharding) stored_list;
} Planner;

// ---- plan_match.c: who is spoken of

// Groups operators by layers and updates. The graphs are those of before apply-plan.
Planner planner_new(Arena *arena, const Model *model, const Plan *plan, const Mesh *mesh);
// The same of another plan and mesh.
Planner planner_with(Arena *arena, const Planner *of, const Plan *plan, const Mesh *mesh);
Space plan_space_of_op(const Op *op);
Space plan_space_of_tensor(const Tensor *tensor);
bool plan_same_shape(const Tensor *a, const Tensor *b);
int plan_dim(const Space *space, const char *name); // or -1
// What a line speaks of by the name: a PLAN_NAME line of an operator or of a layer.
PlanSubject plan_subject_of(const Planner *p, const PlanLine *line, const char *name);
// The same for lines that speak of the same.
const char *plan_line_key(Arena *arena, const char *graph, PlanSubject subject, const char *name);
// Why a choice cannot be followed, or NULL.
const char *plan_refuses(Arena *arena, const Space *space, const PlanChoice *choice);
// True for operators that a plan speaks of: not views, which lie as their operands do, nor the makers of stored tensors.
bool plan_has_choice(const Graph *graph, const Op *op);
bool plan_is_stored(const Tensor *tensor); // a parameter or a state
// The operator called `name`, or NULL.
const Op *plan_find_op(const Graph *graph, const char *name);
// The parameter that an operator is part of updating, or -1.
int plan_update_of(const Planner *p, const Graph *graph, const Op *op);
const Uses *plan_uses(const Planner *p, const Graph *graph, int tensor);
// What an operator of one of the graphs reads, each tensor as often as its expression does.
IdList plan_reads(const Planner *p, const Graph *graph, const Op *op);
// What the plan says along every axis: of an operator; of an input or stored tensor of the training graph. What does not
// fit follows.
void plan_choices_of_op(const Planner *p, const Graph *graph, const Op *op, PlanChoice *chosen);
void plan_choices_of_tensor(const Planner *p, int tensor, PlanChoice *chosen);

// The item of the innermost @shard(...) that says something of an axis and can be followed, or NULL. shard: of an operator
// or a tensor.
const ShardItem *plan_shard_item(const Planner *p, int shard, const Space *space, int axis);

// ---- plan_pattern.c: names with a "*"

// Whether a name is that of a pattern, in which a "*" is any number of characters that are no dots.
bool plan_matches(const char *pattern, const char *name);
// The plan with a line for everything that a pattern matches and no line names. A pattern that matches nothing stays.
const Plan *plan_expand(const Planner *p, const Plan *plan);

// ---- plan.c: the sharding that comes of choices, and of what the model says itself

// settled: the operators behind it have their shardings, so that what follows can follow them, too.
OpSharding plan_resolve_op(const Planner *p, const Graph *graph, const Op *op, const PlanChoice *chosen, bool settled);
// Enters the layouts in which the results of an operator are expected by those that follow it.
void plan_expect_results(const Planner *p, Graph *graph, const Op *op);
OpSharding plan_resolve_tensor(const Planner *p, int tensor, const PlanChoice *chosen);
// Enters the sharding of every input and stored tensor of the training graph.
void plan_resolve_stored(Planner *p);
OpSharding plan_stored(const Planner *p, const char *name);
// Makes the plan of a compilation that reads none.
Plan plan_of_source(Compilation *c);
// Enters the sharding of every operator, and the layouts in which tensors are expected; what is stored has been resolved.
void plan_settle(const Planner *p, Graph *graph);
// How a tensor lies whose dimensions are divided so.
Layout plan_layout(const OpSharding *s, const Tensor *t, const Mesh *mesh);
bool plan_same(const OpSharding *a, const OpSharding *b, const Mesh *mesh);

// Splits a dimension along an axis, in units that suit every axis that splits it.
void plan_split(OpSharding *s, int axis, int dim, int64_t unit, const Mesh *mesh);

// ---- plan_follow.c: along an axis that no line mentions

// What an operator or a view does as its operands lie; false: they say nothing.
bool plan_follow_operands(OpSharding *s, const Planner *p, const Graph *graph, const Op *op, int axis);
// What an operator does that its readers want, all of them alike, or else what those behind it do that read the same partial
// sums: all behind it have their shardings.
void plan_follow_others(OpSharding *s, const Planner *p, const Graph *graph, const Op *op, int axis);
// Whether an operator may leave its result in parts along an axis, to be added up later: what it reads as partial sums nobody else reads.
bool plan_may_leave_pending(const Planner *p, const Graph *graph, const Op *op, int axis);
// Whether it does where nothing is said: only where less is left to be reduced; a view passes everything on.
bool plan_leaves_pending(const Planner *p, const Graph *graph, const Op *op, int axis);
// Whether nobody else needs a tensor, so that its parts need not be reduced before it is read.
bool plan_is_term(const Planner *p, const Graph *graph, int tensor);

// An operator that gives the elements of a tensor another order; and whether what it reads is gathered for others behind it, as
// its result would be for all its readers, so that one gathering does.
bool plan_is_copy(const Graph *graph, const Op *op);
bool plan_copies_whole(const Planner *p, const Graph *graph, const Op *op, int axis);

// ---- plan_source.c: plans that are not read from a file

// The lines live in the arena. Where there is no such plan of the model, `problems` says so.
Plan plan_make(Arena *arena, const Model *model, const PlanSource *source, const Mesh *mesh, Problems *problems);

// Each adds its lines to an empty plan for a mesh.
void plan_make_data(Arena *arena, const Model *model, Plan *plan);     // plan_batch.c
void plan_make_fsdp(Arena *arena, const Model *model, Plan *plan);
void plan_make_model(Arena *arena, const Model *model, Plan *plan);    // plan_layers.c
void plan_make_owt(Arena *arena, const Model *model, Plan *plan);
void plan_make_megatron(Arena *arena, const Model *model, Plan *plan, Problems *problems); // plan_megatron.c

// ---- plan_check.c

// Holds the lines of a plan against the model; what is wrong is added to `problems`.
void plan_check(const Planner *p, Problems *problems);

#endif
