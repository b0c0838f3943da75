// Which lines of a plan speak for an operator or a stored tensor.
//
// Of several the closest one counts: that of the operator itself in its graph, in all graphs, that of the update it is part
// of, that of the innermost layer. A line for more than one operator speaks of a dimension only where there is one.
#include "planning.h"

// ---- spaces --------------------------------------------------------------------------------------------------------

Space plan_space_of_op(const Op *op) {
  Space space = {.n_dims = op->n_dims};
  memcpy(space.dims, op->dims, sizeof(Dim) * (size_t)op->n_dims);
  for (int d = op->n_out; d < op->n_dims && op->reduce == REDUCE_ARGMAX; d++)
    space.fixed[d] = "the place of a maximum cannot be put together from the places in parts";
  return space;
}

Space plan_space_of_tensor(const Tensor *tensor) {
  Space space = {.n_dims = tensor->rank};
  for (int d = 0; d < tensor->rank; d++) space.dims[d] = (Dim){tensor->dim[d], tensor->extent[d]};
  return space;
}

int plan_dim(const Space *space, const char *name) {
  for (int d = 0; d < space->n_dims; d++)
    if (str_eq(space->dims[d].name, name)) return d;
  return -1;
}

const char *plan_refuses(Arena *arena, const Space *space, const PlanChoice *choice) {
  if (choice->kind != CHOICE_SPLIT) return NULL;
  const int d = plan_dim(space, choice->dim);
  if (d < 0) return "there is no such dimension";
  if (space->fixed[d] != NULL) return arena_printf(arena, "'%s' cannot be split: %s", choice->dim, space->fixed[d]);
  if (space->dims[d].extent % choice->unit == 0) return NULL;
  return arena_printf(arena, "'%s' has the extent %lld, which is not a multiple of the unit %lld", choice->dim,
                      (long long)space->dims[d].extent, (long long)choice->unit);
}

bool plan_is_stored(const Tensor *t) { return t->role == ROLE_PARAM || t->role == ROLE_STATE; }

bool plan_has_choice(const Graph *graph, const Op *op) {
  return (op->kind == OP_COMPUTE || op->kind == OP_OPAQUE) && !plan_is_stored(graph_tensor(graph, op->out));
}

const Op *plan_find_op(const Graph *graph, const char *name) {
  const int tensor = names_get(&graph->tensor_names, name);
  const int producer = tensor >= 0 ? graph_tensor(graph, tensor)->producer : -1;
  if (producer < 0 || graph->ops.at[producer].out != tensor) return NULL;
  return &graph->ops.at[producer];
}

// ---- groups --------------------------------------------------------------------------------------------------------

static PlanLayer *layer_at(Planner *p, const char *name) {
  int layer = names_get(&p->layers, name);
  if (layer < 0) {
    layer = p->layer_list.len;
    names_set(&p->layers, name, layer);
    vec_push(p->arena, &p->layer_list, (PlanLayer){.name = name});
  }
  return &p->layer_list.at[layer];
}

// The layer around: "block3" of "block3.conv1"; NULL at the top.
static const char *layer_around(Arena *arena, const char *layer) {
  const char *dot = strrchr(layer, '.');
  return dot != NULL ? arena_strndup(arena, layer, (size_t)(dot - layer)) : NULL;
}

static void group_by_layer(Planner *p, const Graph *graph) {
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    const Tensor *out = graph_tensor(graph, op->out);
    const int stored = plan_is_stored(out) ? names_get(&p->model->train->tensor_names, out->name) : -1;
    if (op->layer[0] == '\0' || op->phase == PHASE_UPDATE) continue;
    for (const char *layer = op->layer; layer != NULL; layer = layer_around(p->arena, layer)) {
      PlanLayer *group = layer_at(p, layer);
      if (stored >= 0 && graph_tensor(p->model->train, stored)->of < 0) vec_push(p->arena, &group->stored, stored);
      else if (plan_has_choice(graph, op)) vec_push(p->arena, &group->ops, (OpRef){graph, i});
    }
  }
}

typedef struct Owners {
  const Graph *graph;
  int *of; // by tensor: the parameter in whose update it is computed, or -1
  int param;
} Owners;

bool plan_same_shape(const Tensor *a, const Tensor *b) {
  bool same = a->rank == b->rank;
  for (int d = 0; d < a->rank && same; d++) same = a->extent[d] == b->extent[d];
  return same;
}

static void own(void *ctx, int tensor) {
  Owners *o = ctx;
  if (o->of[tensor] < 0) o->of[tensor] = o->param;
}

// An update is what new values of a parameter and its states are computed by, as far as it has the parameter's shape.
static void group_by_update(Planner *p) {
  const Graph *graph = p->model->train;
  Owners owners = {graph, NEW_ARRAY(p->arena, int, graph->tensors.len), -1};
  p->update_of = NEW_ARRAY(p->arena, int, graph->ops.len);
  for (int t = 0; t < graph->tensors.len; t++) owners.of[t] = -1;
  for (int i = 0; i < graph->stores.len; i++) {
    const Store *store = &graph->stores.at[i];
    const Tensor *state = graph_tensor(graph, store->state);
    owners.of[store->value] = state->role == ROLE_PARAM ? store->state : state->of;
  }
  for (int i = graph->ops.len - 1; i >= 0; i--) {
    const Op *op = &graph->ops.at[i];
    const int param = owners.of[op->out];
    const bool part =
        param >= 0 && op->phase == PHASE_UPDATE && plan_same_shape(graph_tensor(graph, op->out), graph_tensor(graph, param));
    p->update_of[i] = part ? param : -1;
    owners.param = param;
    if (part) op_visit_reads(op, own, &owners);
  }
}

int plan_update_of(const Planner *p, const Graph *graph, const Op *op) {
  return graph == p->model->train ? p->update_of[op - graph->ops.at] : -1;
}

// ---- uses ----------------------------------------------------------------------------------------------------------

static Uses *uses_of_graph(const Planner *p, const Graph *graph, const GraphReads *reads) {
  Uses *uses = NEW_ARRAY(p->arena, Uses, graph->tensors.len);
  for (int t = 0; t < graph->tensors.len; t++) {
    const IdList readers = readers_of(reads, t);
    for (int i = 0; i < readers.len; i++)
      if (i == 0 || readers.at[i] != readers.at[i - 1]) vec_push(p->arena, &uses[t].ops, readers.at[i]);
  }
  for (int i = 0; i < graph->stores.len; i++) vec_push(p->arena, &uses[graph->stores.at[i].value].stores, i);
  for (int i = 0; i < graph->losses.len; i++) uses[graph->losses.at[i].tensor].reported = true;
  for (int i = 0; i < graph->metrics.len; i++) uses[graph->metrics.at[i].tensor].reported = true;
  if (graph->gradient_norm >= 0) uses[graph->gradient_norm].reported = true;
  return uses;
}

static int number_of_graph(const Planner *p, const Graph *graph) { return graph == p->model->init ? 0 : graph == p->model->train ? 1 : 2; }

const Uses *plan_uses(const Planner *p, const Graph *graph, int tensor) { return &p->uses[number_of_graph(p, graph)][tensor]; }

IdList plan_reads(const Planner *p, const Graph *graph, const Op *op) {
  return reads_of_op(&p->reads[number_of_graph(p, graph)], (int)(op - graph->ops.at));
}

// ---- lines ---------------------------------------------------------------------------------------------------------

const char *plan_line_key(Arena *arena, const char *graph, PlanSubject subject, const char *name) {
  const char *part[] = {graph != NULL ? graph : "", plan_subject_word(subject), name};
  const size_t len[] = {strlen(part[0]), strlen(part[1]), strlen(part[2])};
  char *key = arena_alloc(arena, len[0] + len[1] + len[2] + 3), *at = key; // asked for every operator of every plan
  for (int i = 0; i < 3; i++) {
    memcpy(at, part[i], len[i]);
    at += len[i];
    *at++ = i < 2 ? ' ' : '\0';
  }
  return key;
}

PlanSubject plan_subject_of(const Planner *p, const PlanLine *line, const char *name) {
  const Graph *graphs[3] = {p->model->init, p->model->train, p->model->eval};
  if (line->subject != PLAN_NAME) return line->subject;
  for (int g = 0; g < 3; g++)
    if (plan_find_op(graphs[g], name) != NULL) return PLAN_OP;
  return PLAN_LAYER;
}

static void take_lines(Planner *p, const Plan *plan) {
  p->plan = plan_expand(p, plan);
  for (int i = 0; i < p->plan->lines.len; i++) {
    const PlanLine *line = &p->plan->lines.at[i];
    const PlanSubject subject = plan_subject_of(p, line, line->name);
    const char *key = plan_line_key(p->arena, line->graph, subject, line->name);
    if (names_get(&p->lines, key) < 0) names_set(&p->lines, key, i);
    p->has_lines[subject] = true;
  }
}

Planner planner_with(Arena *arena, const Planner *of, const Plan *plan, const Mesh *mesh) {
  Planner p = {.arena = arena, .model = of->model, .mesh = *mesh, .layers = of->layers, .layer_list = of->layer_list};
  p.update_of = of->update_of;
  p.kept = of->kept;
  memcpy(p.uses, of->uses, sizeof p.uses);
  memcpy(p.reads, of->reads, sizeof p.reads);
  p.lines.arena = p.stored.arena = arena;
  take_lines(&p, plan);
  return p;
}

Planner planner_new(Arena *arena, const Model *model, const Plan *plan, const Mesh *mesh) {
  Planner p = {.arena = arena, .model = model, .mesh = *mesh};
  p.lines.arena = p.layers.arena = p.stored.arena = arena;
  group_by_layer(&p, model->init);
  group_by_layer(&p, model->train);
  group_by_layer(&p, model->eval);
  group_by_update(&p);
  p.kept = NEW_ARRAY(arena, Tensors, model->train->tensors.len);
  for (int t = 0; t < model->train->tensors.len; t++) {
    const Tensor *stored = graph_tensor(model->train, t);
    const int param = stored->role == ROLE_PARAM ? t : stored->of;
    if (plan_is_stored(stored) && param >= 0) vec_push(arena, &p.kept[param], t);
  }
  const Graph *const graphs[] = {model->init, model->train, model->eval};
  for (int g = 0; g < 3; g++) {
    p.reads[g] = reads_of_graph(arena, graphs[g]);
    p.uses[g] = uses_of_graph(&p, graphs[g], &p.reads[g]);
  }
  take_lines(&p, plan);
  return p;
}

// An axis of size 1 has but one coordinate.
static bool is_legal_pin(const Planner *p, const PlanChoice *choice, int axis) {
  return choice->kind != CHOICE_PIN || choice->pin < p->mesh.axis[axis].size;
}

const ShardItem *plan_shard_item(const Planner *p, int shard, const Space *space, int axis) {
  for (; shard > 0; shard = p->model->shards.at[shard - 1].outer) {
    const Shard *s = &p->model->shards.at[shard - 1];
    for (int i = 0; i < s->items.len; i++) {
      const ShardItem *item = &s->items.at[i];
      if (str_eq(item->axis, p->mesh.axis[axis].name) && is_legal_pin(p, &item->choice, axis) &&
          plan_refuses(p->arena, space, &item->choice) == NULL)
        return item;
    }
  }
  return NULL;
}

static const PlanLine *find_line(const Planner *p, const char *graph, PlanSubject subject, const char *name) {
  if (!p->has_lines[subject]) return NULL;
  int line = graph != NULL ? names_get(&p->lines, plan_line_key(p->arena, graph, subject, name)) : -1;
  if (line < 0) line = names_get(&p->lines, plan_line_key(p->arena, NULL, subject, name));
  return line >= 0 ? &p->plan->lines.at[line] : NULL;
}

static const PlanLine *find_layer_line(const Planner *p, const char *graph, const char *layer) {
  const PlanLine *line = NULL;
  if (!p->has_lines[PLAN_LAYER]) return NULL;
  for (; layer != NULL && layer[0] != '\0' && line == NULL; layer = layer_around(p->arena, layer))
    line = find_line(p, graph, PLAN_LAYER, layer);
  return line;
}

static void apply(const Planner *p, const PlanLine *line, const Space *space, PlanChoice *chosen) {
  for (int a = 0; a < MESH_MAX_AXES; a++) {
    chosen[a] = (PlanChoice){.kind = CHOICE_FOLLOW};
    if (line != NULL && plan_refuses(p->arena, space, &line->axis[a]) == NULL) chosen[a] = line->axis[a];
  }
}

void plan_choices_of_op(const Planner *p, const Graph *graph, const Op *op, PlanChoice *chosen) {
  const Space space = plan_space_of_op(op);
  const int param = plan_update_of(p, graph, op);
  const PlanLine *line = find_line(p, graph->name, PLAN_OP, graph_tensor(graph, op->out)->name);
  if (line == NULL && param >= 0) line = find_line(p, NULL, PLAN_UPDATE, graph_tensor(graph, param)->name);
  if (line == NULL && op->phase != PHASE_UPDATE) line = find_layer_line(p, graph->name, op->layer);
  apply(p, line, &space, chosen);
}

// The layer that makes a stored tensor: that of the operator which gives it its first value.
static const char *layer_of_stored(const Planner *p, const Tensor *t) {
  const Op *maker = plan_find_op(p->model->init, t->name);
  return maker != NULL ? maker->layer : NULL;
}

void plan_choices_of_tensor(const Planner *p, int tensor, PlanChoice *chosen) {
  const Graph *graph = p->model->train;
  const Tensor *t = graph_tensor(graph, tensor);
  const Space space = plan_space_of_tensor(t);
  const PlanLine *line = find_line(p, NULL, t->role == ROLE_INPUT ? PLAN_INPUT : PLAN_STORE, t->name);
  if (line == NULL && t->of >= 0) line = find_line(p, NULL, PLAN_UPDATE, graph_tensor(graph, t->of)->name);
  if (line == NULL && t->of < 0 && t->role != ROLE_INPUT) line = find_layer_line(p, NULL, layer_of_stored(p, t));
  apply(p, line, &space, chosen);
}
