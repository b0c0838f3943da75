// Holds a plan against a model: every line must speak of something, and ask for what can be done.
#include "../ir/suggest.h"
#include "planning.h"

enum { SHOWN = 60 };

typedef VEC(const char *) Words;
typedef VEC(Space) Spaces;

typedef struct Checker {
  const Planner *p;
  Arena *arena;
  Problems *problems;
  const Graph *graphs[3];
  Names seen; // lines by what they speak of
  Spaces of_pattern; // of the lines so far that were made from the pattern at hand
} Checker;

// What a line speaks of.
typedef struct Target {
  PlanSubject subject; // never PLAN_NAME
  const char *text;    // "the layer 'conv1'"
  Spaces spaces;       // one of them must be able to do what is asked
} Target;

// ---- who is meant --------------------------------------------------------------------------------------------------

// What the model calls by a name, or NULL.
static const char *described(const Checker *c, const char *name) {
  const int tensor = names_get(&c->p->model->train->tensor_names, name);
  if (tensor >= 0) {
    const Role role = graph_tensor(c->p->model->train, tensor)->role;
    if (role == ROLE_INPUT) return "an input";
    if (role == ROLE_PARAM || role == ROLE_STATE) return role == ROLE_PARAM ? "a parameter" : "a state";
  }
  for (int g = 0; g < 3; g++)
    if (plan_find_op(c->graphs[g], name) != NULL)
      return arena_printf(c->arena, "an operator of the graph '%s'", c->graphs[g]->name);
  return names_get(&c->p->layers, name) >= 0 ? "a layer" : NULL;
}

static bool can_begin(PlanSubject subject, const Tensor *t) {
  if (subject == PLAN_INPUT) return t->role == ROLE_INPUT;
  if (subject == PLAN_UPDATE) return t->role == ROLE_PARAM;
  if (subject == PLAN_STORE) return plan_is_stored(t);
  return subject != PLAN_LAYER && t->producer >= 0 && !plan_is_stored(t);
}

// The nearest of the names that a line of this kind could have.
static const char *nearest_name(const Checker *c, PlanSubject subject, const char *name) {
  Words names = {0};
  for (int g = 0; g < 3; g++)
    for (int t = 0; t < c->graphs[g]->tensors.len; t++) {
      const Tensor *tensor = graph_tensor(c->graphs[g], t);
      if (can_begin(subject, tensor)) vec_push(c->arena, &names, tensor->name);
    }
  for (int l = 0; l < c->p->layer_list.len && (subject == PLAN_NAME || subject == PLAN_LAYER); l++)
    vec_push(c->arena, &names, c->p->layer_list.at[l].name);
  return suggest_nearest(name, names.at, names.len);
}

static bool unknown(Checker *c, const PlanLine *line, const char *what) {
  const char *is = described(c, line->name), *end = "";
  const char *nearest = is == NULL ? nearest_name(c, line->subject, line->name) : NULL;
  if (is != NULL) end = arena_printf(c->arena, ": it is %s", is);
  else if (nearest != NULL) end = arena_printf(c->arena, "; did you mean '%s'?", nearest);
  const char *where = line->graph != NULL ? arena_printf(c->arena, "graph '%s'", line->graph) : "model";
  problem_add(c->problems, line->loc, "the %s has no %s '%.*s'%s", where, what, SHOWN, line->name, end);
  return false;
}

// A tensor of this name that is no operator of a plan: says what it is.
static bool explain(Checker *c, const PlanLine *line, const Graph *graph, int tensor) {
  const Tensor *t = graph_tensor(graph, tensor);
  const Op *op = t->producer >= 0 ? &graph->ops.at[t->producer] : NULL;
  const char *text = NULL;
  if (t->role == ROLE_INPUT) text = "is an input: its line begins with 'input'";
  else if (plan_is_stored(t))
    text = t->role == ROLE_PARAM ? "is a parameter: its line begins with 'store'"
                                 : "is a state: its line begins with 'store'";
  else if (op != NULL && op->out != tensor)
    text = arena_printf(c->arena, "is computed together with '%s', which its line names",
                        graph_tensor(graph, op->out)->name);
  else if (op != NULL && op->kind == OP_VIEW)
    text = "gives its operand other dimensions and lies as that does: it has no line";
  if (text != NULL) problem_add(c->problems, line->loc, "'%.*s' %s", SHOWN, line->name, text);
  return text != NULL;
}

static bool find_ops(Checker *c, const PlanLine *line, Target *target) {
  *target = (Target){.subject = PLAN_OP, .text = arena_printf(c->arena, "'%s'", line->name)};
  for (int g = 0; g < 3; g++) {
    if (line->graph != NULL && !str_eq(line->graph, c->graphs[g]->name)) continue;
    const Op *op = plan_find_op(c->graphs[g], line->name);
    if (op != NULL && plan_has_choice(c->graphs[g], op)) vec_push(c->arena, &target->spaces, plan_space_of_op(op));
  }
  return target->spaces.len > 0;
}

static bool find_layer(Checker *c, const PlanLine *line, Target *target) {
  *target = (Target){.subject = PLAN_LAYER, .text = arena_printf(c->arena, "the layer '%s'", line->name)};
  const int layer = names_get(&c->p->layers, line->name);
  if (layer < 0) return false;
  const PlanLayer *group = &c->p->layer_list.at[layer];
  for (int i = 0; i < group->ops.len; i++) {
    const OpRef *ref = &group->ops.at[i];
    if (line->graph == NULL || str_eq(line->graph, ref->graph->name))
      vec_push(c->arena, &target->spaces, plan_space_of_op(&ref->graph->ops.at[ref->op]));
  }
  for (int i = 0; i < group->stored.len && line->graph == NULL; i++)
    vec_push(c->arena, &target->spaces, plan_space_of_tensor(graph_tensor(c->p->model->train, group->stored.at[i])));
  return target->spaces.len > 0;
}

static bool find_named(Checker *c, const PlanLine *line, Target *target) {
  if (line->subject != PLAN_LAYER && find_ops(c, line, target)) return true;
  if (line->subject != PLAN_OP && find_layer(c, line, target)) return true;
  for (int g = 0; g < 3 && line->subject != PLAN_LAYER; g++) {
    const int tensor = names_get(&c->graphs[g]->tensor_names, line->name);
    if (tensor >= 0 && explain(c, line, c->graphs[g], tensor)) return false;
  }
  return unknown(c, line,
                 line->subject == PLAN_OP      ? "operator"
                 : line->subject == PLAN_LAYER ? "layer"
                                               : "operator or layer");
}

static bool find_tensor(Checker *c, const PlanLine *line, Target *target) {
  const Graph *train = c->p->model->train;
  const bool input = line->subject == PLAN_INPUT;
  *target = (Target){.subject = line->subject, .text = arena_printf(c->arena, "'%s'", line->name)};
  const int tensor = names_get(&train->tensor_names, line->name);
  const Tensor *t = tensor >= 0 ? graph_tensor(train, tensor) : NULL;
  if (t == NULL || (input ? t->role != ROLE_INPUT : !plan_is_stored(t)))
    return unknown(c, line, input ? "input" : "parameter or state");
  vec_push(c->arena, &target->spaces, plan_space_of_tensor(t));
  return true;
}

static bool find_update(Checker *c, const PlanLine *line, Target *target) {
  const Graph *train = c->p->model->train;
  *target = (Target){.subject = PLAN_UPDATE, .text = arena_printf(c->arena, "the update of '%s'", line->name)};
  const int param = names_get(&train->tensor_names, line->name);
  for (int i = 0; i < train->ops.len && param >= 0; i++)
    if (c->p->update_of[i] == param) vec_push(c->arena, &target->spaces, plan_space_of_op(&train->ops.at[i]));
  return target->spaces.len > 0 || unknown(c, line, "trained parameter");
}

static bool find_target(Checker *c, const PlanLine *line, Target *target) {
  switch (line->subject) {
  case PLAN_INPUT:
  case PLAN_STORE: return find_tensor(c, line, target);
  case PLAN_UPDATE: return find_update(c, line, target);
  default: return find_named(c, line, target);
  }
}

// ---- what is asked -------------------------------------------------------------------------------------------------

static bool has_word(const Words *words, const char *word) {
  for (int i = 0; i < words->len; i++)
    if (str_eq(words->at[i], word)) return true;
  return false;
}

static void unknown_dim(Checker *c, const Target *target, const PlanChoice *choice) {
  Words dims = {0};
  Text list = {.arena = c->arena};
  for (int s = 0; s < target->spaces.len; s++)
    for (int d = 0; d < target->spaces.at[s].n_dims; d++) {
      const char *name = target->spaces.at[s].dims[d].name;
      if (has_word(&dims, name)) continue;
      text_printf(&list, "%s%s", dims.len > 0 ? ", " : "", name);
      vec_push(c->arena, &dims, name);
    }
  const char *nearest = suggest_nearest(choice->dim, dims.at, dims.len);
  problem_add(c->problems, choice->loc, "%s has no dimension '%.*s'; %s%s", target->text, SHOWN, choice->dim,
              dims.len > 0 ? arena_printf(c->arena, "it has %s", text_str(&list)) : "it is a single number",
              nearest != NULL ? arena_printf(c->arena, "; did you mean '%s'?", nearest) : "");
}

static void check_choice(Checker *c, const Target *target, const PlanChoice *choice) {
  const char *refusal = NULL;
  bool found = false, fits = false;
  for (int s = 0; s < target->spaces.len; s++) {
    const Space *space = &target->spaces.at[s];
    const char *why = plan_refuses(c->arena, space, choice);
    const bool has = plan_dim(space, choice->dim) >= 0;
    if (has && why != NULL && refusal == NULL) refusal = why;
    found |= has;
    fits |= why == NULL;
  }
  if (!found) unknown_dim(c, target, choice);
  else if (!fits) problem_add(c->problems, choice->loc, "%s: %s", target->text, refusal);
}

// Of the lines that were made from a pattern one must be able to do what is asked: true for the last one, with what all have.
static bool gather_pattern(Checker *c, int id, Target *target) {
  const PlanLine *line = &c->p->plan->lines.at[id];
  const bool last = id + 1 == c->p->plan->lines.len || line[1].pattern != line->pattern;
  for (int s = 0; s < target->spaces.len; s++) vec_push(c->arena, &c->of_pattern, target->spaces.at[s]);
  if (!last) return false;
  target->text = arena_printf(c->arena, "'%.*s'", SHOWN, line->pattern);
  target->spaces = c->of_pattern;
  memset(&c->of_pattern, 0, sizeof c->of_pattern);
  return true;
}

static void check_line(Checker *c, int id) {
  const PlanLine *line = &c->p->plan->lines.at[id];
  Target target;
  if (!find_target(c, line, &target)) return;
  const char *key = arena_printf(c->arena, "%s %s", line->graph != NULL ? line->graph : "", target.text);
  const int before = names_get(&c->seen, key);
  if (before >= 0 && c->p->plan->lines.at[before].subject != line->subject) {
    problem_add(c->problems, line->loc, "a second line for %s", target.text);
    problem_note(c->problems, c->p->plan->lines.at[before].loc, "the first one stands here");
  }
  if (target.subject == PLAN_OP || target.subject == PLAN_LAYER) names_set(&c->seen, key, id);
  if (line->pattern != NULL && !gather_pattern(c, id, &target)) return;
  for (int a = 0; a < c->p->plan->mesh.n_axes; a++) {
    const PlanChoice *choice = &line->axis[a];
    bool said = choice->kind != CHOICE_SPLIT;
    for (int b = 0; b < a; b++) said |= line->axis[b].kind == CHOICE_SPLIT && line->axis[b].dim == choice->dim; // h/a,b
    if (!said) check_choice(c, &target, choice);
  }
}

// ---- what the model says itself ------------------------------------------------------------------------------------

// What one @shard(...) speaks of.
static Spaces spaces_of_shard(const Checker *c, int shard) {
  Spaces spaces = {0};
  const Model *model = c->p->model;
  for (int g = 0; g < 3; g++)
    for (int i = 0; i < c->graphs[g]->ops.len; i++) {
      const Op *op = &c->graphs[g]->ops.at[i];
      int within = op->shard;
      while (within > 0 && within != shard) within = model->shards.at[within - 1].outer;
      if (within == shard && plan_has_choice(c->graphs[g], op)) vec_push(c->arena, &spaces, plan_space_of_op(op));
    }
  for (int t = 0; t < model->train->tensors.len; t++) {
    const Tensor *tensor = graph_tensor(model->train, t);
    int within = tensor->shard;
    while (within > 0 && within != shard) within = model->shards.at[within - 1].outer;
    if (within == shard && tensor->role != ROLE_VALUE) vec_push(c->arena, &spaces, plan_space_of_tensor(tensor));
  }
  return spaces;
}

static void check_shard_item(Checker *c, const ShardItem *item, const Spaces *spaces) {
  Mesh mesh = c->p->mesh;
  mesh.n_axes--; // the batch
  const int axis = mesh_find(&mesh, item->axis);
  Target target = {.text = "@shard"};
  memcpy(&target.spaces, spaces, sizeof *spaces);
  if (axis < 0)
    problem_add(c->problems, item->axis_loc, "the mesh %s has no axis '%.*s'", mesh_text(c->arena, &mesh), SHOWN,
                item->axis);
  else if (item->choice.kind == CHOICE_PIN && item->choice.pin >= mesh.axis[axis].size)
    problem_add(c->problems, item->choice.loc, "the coordinates of the axis '%s' are 0 to %d", item->axis,
                mesh.axis[axis].size - 1);
  else if (spaces->len == 0)
    problem_add(c->problems, item->choice.loc, "@shard: nothing to divide: no operator has to compute this");
  else if (item->choice.kind == CHOICE_SPLIT) check_choice(c, &target, &item->choice);
}

static bool same_choice(const PlanChoice *a, const PlanChoice *b) {
  if (a->kind != b->kind) return false;
  if (a->kind == CHOICE_SPLIT) return str_eq(a->dim, b->dim) && a->unit == b->unit;
  return a->kind != CHOICE_PIN || a->pin == b->pin;
}

// A line of a plan file that says otherwise than the model does.
static void check_agreement(Checker *c, const char *name, int shard, const Space *space, const PlanChoice *chosen) {
  for (int a = 0; a < c->p->mesh.n_axes - 1 && shard > 0; a++) {
    const ShardItem *said = plan_shard_item(c->p, shard, space, a);
    if (said == NULL || chosen[a].kind == CHOICE_FOLLOW || chosen[a].loc.line == 0 ||
        same_choice(&said->choice, &chosen[a]))
      continue;
    const char *key = arena_printf(c->arena, "@ %d:%d", chosen[a].loc.line, chosen[a].loc.col);
    if (names_get(&c->seen, key) >= 0) continue; // of another operator that the line speaks for
    names_set(&c->seen, key, 0);
    problem_add(c->problems, chosen[a].loc, "the model says otherwise of '%.*s' along the axis '%s'", SHOWN, name,
                said->axis);
    problem_note(c->problems, said->choice.loc, "@shard in the model holds against any plan");
  }
}

static void check_shards(Checker *c) {
  const Model *model = c->p->model;
  PlanChoice chosen[MESH_MAX_AXES];
  for (int s = 0; s < model->shards.len; s++) {
    const Spaces spaces = spaces_of_shard(c, s + 1);
    for (int i = 0; i < model->shards.at[s].items.len; i++)
      check_shard_item(c, &model->shards.at[s].items.at[i], &spaces);
  }
  for (int g = 0; g < 3 && model->shards.len > 0; g++)
    for (int i = 0; i < c->graphs[g]->ops.len; i++) {
      const Op *op = &c->graphs[g]->ops.at[i];
      const Space space = plan_space_of_op(op);
      if (!plan_has_choice(c->graphs[g], op)) continue;
      plan_choices_of_op(c->p, c->graphs[g], op, chosen);
      check_agreement(c, graph_tensor(c->graphs[g], op->out)->name, op->shard, &space, chosen);
    }
  for (int t = 0; t < model->train->tensors.len && model->shards.len > 0; t++) {
    const Tensor *tensor = graph_tensor(model->train, t);
    const Space space = plan_space_of_tensor(tensor);
    if (tensor->role != ROLE_INPUT && !plan_is_stored(tensor)) continue;
    plan_choices_of_tensor(c->p, t, chosen);
    check_agreement(c, tensor->name, tensor->shard, &space, chosen);
  }
}

// ---- the plan as a whole -------------------------------------------------------------------------------------------

static bool same_mesh(const Mesh *plan, const Mesh *mesh) {
  bool same = plan->n_axes == mesh->n_axes - 1; // the last one is the batch
  for (int a = 0; a < plan->n_axes && same; a++)
    same = str_eq(plan->axis[a].name, mesh->axis[a].name) && plan->axis[a].size == mesh->axis[a].size;
  return same;
}

static void check_recompute(Checker *c, const PlanAgain *again) {
  Words names = {0};
  for (int l = 0; l < c->p->layer_list.len; l++) {
    const PlanLayer *layer = &c->p->layer_list.at[l];
    if (plan_matches(again->name, layer->name)) return;
    vec_push(c->arena, &names, layer->name);
  }
  const char *is = described(c, again->name), *nearest = suggest_nearest(again->name, names.at, names.len), *end = "";
  if (is != NULL) end = arena_printf(c->arena, ": it is %s", is);
  else if (nearest != NULL) end = arena_printf(c->arena, "; did you mean '%s'?", nearest);
  problem_add(c->problems, again->loc, "the model has no layer '%.*s'%s", SHOWN, again->name, end);
}

void plan_check(const Planner *p, Problems *problems) {
  const Plan *plan = p->plan;
  Checker c = {
      .p = p, .arena = p->arena, .problems = problems, .graphs = {p->model->train, p->model->eval, p->model->init}};
  c.seen.arena = p->arena;
  if (!str_eq(plan->model, p->model->name)) {
    problem_add(problems, plan->model_loc, "the plan is for the model '%.*s', this is the model '%s'", SHOWN,
                plan->model, p->model->name);
    return;
  }
  if (!same_mesh(&plan->mesh, &p->mesh)) {
    Mesh wanted = p->mesh;
    wanted.n_axes--;
    problem_add(problems, plan->mesh_loc, "the plan is for the mesh %s of %d ranks, this compilation for %s of %d",
                mesh_text(p->arena, &plan->mesh), mesh_ranks(&plan->mesh), mesh_text(p->arena, &wanted),
                mesh_ranks(&wanted));
    return;
  }
  for (int i = 0; i < plan->lines.len && !problems_are_many(problems); i++) check_line(&c, i);
  for (int i = 0; i < plan->recompute.len && !problems_are_many(problems); i++) check_recompute(&c, &plan->recompute.at[i]);
  check_shards(&c);
}
