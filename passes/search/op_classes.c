#include "op_classes.h"

#include "likeness.h"

OpClasses op_classes_new(Arena *arena, Graph *graph, const Groups *groups, const CostModel *cost) {
  OpClasses classes = {.arena = arena, .graph = graph, .cost = cost};
  int n;
  classes.of = operators_alike(arena, groups, &n);
  classes.costs = NEW_ARRAY(arena, KnownCosts, n);
  return classes;
}

double op_classes_seconds(OpClasses *classes, int op, const OpSharding *sharding) {
  KnownCosts *costs = &classes->costs[classes->of[op]];
  KnownCost known = {.seconds = 0};
  bool units = false;
  for (int a = 0; a < classes->cost->mesh->n_axes; a++) {
    known.dim[a] = (signed char)sharding->dim[a];
    units |= sharding->dim[a] >= 0 && sharding->unit[a] > 1;
  }
  for (int i = 0; i < costs->len && !units; i++)
    if (memcmp(costs->at[i].dim, known.dim, sizeof known.dim) == 0) return costs->at[i].seconds;
  classes->graph->ops.at[op].sharding = *sharding;
  known.seconds = cost_of_op(classes->cost, classes->graph, &classes->graph->ops.at[op]);
  if (!units) vec_push(classes->arena, costs, known);
  return known.seconds;
}
