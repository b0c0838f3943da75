// What a layer makes within itself, and no other reads, is made again if the backward pass needs it; so are the operators that it takes.
#include "again.h"

// ---- layers --------------------------------------------------------------------------------------------------------

// The outermost layer of an operator without the number at its end, or NULL: it is in none that is counted.
static const char *kind_of(Arena *arena, const char *layer, const char **name) {
  *name = arena_strndup(arena, layer, strcspn(layer, "."));
  size_t len = strlen(*name);
  while (len > 0 && (*name)[len - 1] >= '0' && (*name)[len - 1] <= '9') len--;
  return len > 0 && (*name)[len] != '\0' ? arena_strndup(arena, *name, len) : NULL;
}

LayerNames again_candidates(Arena *arena, const Graph *train) {
  Names seen = {.arena = arena}, count = {.arena = arena};
  LayerNames all = {0}, repeated = {0};
  const char *name;
  for (int i = 0; i < train->ops.len; i++) {
    const char *kind = train->ops.at[i].phase == PHASE_FORWARD ? kind_of(arena, train->ops.at[i].layer, &name) : NULL;
    if (kind == NULL || names_get(&seen, name) >= 0) continue;
    names_set(&seen, name, i);
    vec_push(arena, &all, name);
    const int before = names_get(&count, kind);
    names_set(&count, kind, before < 0 ? 1 : before + 1);
  }
  for (int i = 0; i < all.len; i++)
    if (names_get(&count, kind_of(arena, all.at[i], &name)) > 1) vec_push(arena, &repeated, all.at[i]);
  return repeated;
}

// ---- what they make again ------------------------------------------------------------------------------------------

typedef struct Finder {
  SearchProblem *p;
  const Graph *graph;
  AgainLayers *layers;
  int *layer;   // by operator of the forward pass; -1: none
  bool *needed; // by tensor: the backward pass reads it, or what it makes again does
  int reader;   // operator at hand
} Finder;

static void find_layers(Finder *f) {
  Names number = {.arena = f->p->arena};
  const char *name;
  for (int i = 0; i < f->layers->names.len; i++) names_set(&number, f->layers->names.at[i], i);
  for (int i = 0; i < f->graph->ops.len; i++) {
    const Op *op = &f->graph->ops.at[i];
    f->layer[i] = op->phase == PHASE_FORWARD && kind_of(f->p->arena, op->layer, &name) != NULL ? names_get(&number, name) : -1;
    const bool again = f->layer[i] >= 0 && op->kind != OP_OPAQUE && !op->accumulates;
    for (int r = 0; r < op_results(op); r++) {
      const int out = op_result(op, r);
      if (graph_tensor(f->graph, out)->role == ROLE_VALUE) f->layers->of_tensor[out] = again ? f->layer[i] : -1;
    }
  }
}

// What another layer reads is kept.
static void note_reader(void *ctx, int tensor) {
  const Finder *f = ctx;
  int *layer = &f->layers->of_tensor[tensor];
  if (*layer >= 0 && *layer != f->layer[f->reader]) *layer = -1;
}

static void note_need(void *ctx, int tensor) { ((const Finder *)ctx)->needed[tensor] = true; }

static bool is_done_again(const Finder *f, const Op *op) { return f->layers->of_tensor[op->out] >= 0 && f->needed[op->out]; }

static void find_needed(Finder *f) {
  for (f->reader = 0; f->reader < f->graph->ops.len; f->reader++)
    if (f->graph->ops.at[f->reader].phase == PHASE_FORWARD) op_visit_reads(&f->graph->ops.at[f->reader], note_reader, f);
  for (int i = f->graph->ops.len - 1; i >= 0; i--) {
    const Op *op = &f->graph->ops.at[i];
    if (op->phase == PHASE_BACKWARD || (op->phase == PHASE_FORWARD && is_done_again(f, op))) op_visit_reads(op, note_need, f);
  }
}

// ---- what that takes -----------------------------------------------------------------------------------------------

// Of the values of a group, with a layer. What may be made again by itself (../rematerialise.c) has been counted.
static double *seconds_of_group(const Finder *f, int number, int layer) {
  SearchProblem *p = f->p;
  const Group *group = &p->groups.list.at[number];
  double *seconds = NULL;
  for (int v = 0; v < p->of[number].n; v++) {
    bool laid = false;
    for (int i = 0; i < group->ops.len; i++) {
      const Op *op = &f->graph->ops.at[group->ops.at[i]];
      if (f->layer[group->ops.at[i]] != layer || !is_done_again(f, op) || graph_tensor(f->graph, op->out)->again_above > 0) continue;
      if (!laid) problem_lay_group(p, number, v);
      laid = true;
      if (seconds == NULL) seconds = NEW_ARRAY(p->arena, double, p->of[number].n);
      seconds[v] += phase_times(f->graph, op->phase) * cost_of_op(&p->cost, f->graph, op);
    }
    if (!laid) break;
  }
  return seconds;
}

static bool is_known(const AgainLayers *layers, int group, int layer) {
  for (int i = 0; i < layers->of_group[group].list.len; i++)
    if (layers->of_group[group].list.at[i].layer == layer) return true;
  return false;
}

// Changes of layout aside.
static void find_seconds(const Finder *f) {
  AgainLayers *layers = f->layers;
  SearchProblem *p = f->p;
  for (int g = 0; g < p->groups.list.len; g++)
    for (int i = 0; i < p->groups.list.at[g].ops.len; i++) {
      const int layer = f->layer[p->groups.list.at[g].ops.at[i]];
      if (layer < 0 || is_known(layers, g, layer)) continue;
      const double *seconds = seconds_of_group(f, g, layer);
      if (seconds != NULL) vec_push(p->arena, &layers->of_group[g].list, ((AgainSeconds){layer, seconds}));
    }
}

AgainLayers *again_layers(SearchProblem *p) {
  const Graph *graph = p->groups.graph;
  AgainLayers *layers = NEW(p->arena, AgainLayers);
  *layers = (AgainLayers){.names = again_candidates(p->arena, graph), .of_tensor = NEW_ARRAY(p->arena, int, graph->tensors.len)};
  for (int t = 0; t < graph->tensors.len; t++) layers->of_tensor[t] = -1;
  Finder f = {p, graph, layers, NEW_ARRAY(p->arena, int, graph->ops.len), NEW_ARRAY(p->arena, bool, graph->tensors.len), 0};
  find_layers(&f);
  find_needed(&f);
  layers->of_group = arena_alloc(p->arena, sizeof *layers->of_group * (size_t)p->groups.list.len);
  for (int g = 0; g < p->groups.list.len; g++) layers->of_group[g].cost = p->cfn.variables.at[g].cost;
  find_seconds(&f);
  return layers;
}

void again_make(SearchProblem *p, AgainLayers *layers, int made) {
  layers->made = made;
  for (int g = 0; g < p->groups.list.len; g++) {
    double *cost = NEW_ARRAY(p->arena, double, p->of[g].n);
    memcpy(cost, layers->of_group[g].cost, sizeof *cost * (size_t)p->of[g].n);
    for (int i = 0; i < layers->of_group[g].list.len; i++) {
      const AgainSeconds *again = &layers->of_group[g].list.at[i];
      for (int v = 0; v < p->of[g].n && again->layer < made; v++) cost[v] += again->of_value[v];
    }
    p->cfn.variables.at[g].cost = cost;
  }
}
