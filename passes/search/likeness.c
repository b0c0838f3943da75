// A group is written down as words in which its tensors are numbered in the order in which it comes upon them: all that its
// layouts and costs depend on. Groups with the same words are alike.
#include "likeness.h"

typedef struct Script {
  const Groups *groups;
  int group;
  Arena *arena;
  VEC(int64_t) list;
  int *local; // by tensor: its number in the group + 1
  VEC(int) met;
  bool *loss; // by tensor: a loss, or the norm of the gradients
  int n_dims; // of the operator at hand
} Script;

static void add(Script *w, int64_t word) { vec_push(w->arena, &w->list, word); }

static void begin_again(Script *w) {
  w->list.len = 0;
  for (int i = 0; i < w->met.len; i++) w->local[w->met.at[i]] = 0;
  w->met.len = 0;
}

// ---- tensors ----

static bool is_again_by_group(const Script *w, const Tensor *t) {
  return t->again_above > 0 && w->groups->of_op[graph_tensor(w->groups->graph, t->again_by)->producer] == w->group;
}

static int64_t flags_of(const Script *w, int tensor) {
  const Tensor *t = graph_tensor(w->groups->graph, tensor);
  const Uses *uses = plan_uses(w->groups->planner, w->groups->graph, tensor);
  const bool own = w->groups->of_tensor[tensor] == w->group;
  return t->inlined | own << 1 | (t->of >= 0) << 2 | (uses->ops.len > 1) << 3 | uses->reported << 4 | w->loss[tensor] << 5 | (int)t->role << 6 |
         (int)t->type << 10 | is_again_by_group(w, t) << 15 | t->again_above << 16;
}

static void add_double(Script *w, double value) {
  int64_t word;
  memcpy(&word, &value, sizeof word);
  add(w, word);
}

// A negative word, which nothing else begins with that can stand in its place.
static void add_spread(Script *w, const Spread *spread) {
  add(w, -1 - spread->n);
  for (int i = 0; i < spread->n; i++) {
    add_double(w, spread->classes[i].rows);
    add_double(w, spread->classes[i].share);
  }
}

static void add_tensor(Script *w, int tensor);

// What takes its value at the end of a step, if the group has a say in how that lies.
static void add_stores(Script *w, int tensor) {
  const Graph *graph = w->groups->graph;
  const Uses *uses = plan_uses(w->groups->planner, graph, tensor);
  add(w, uses->stores.len);
  for (int i = 0; i < uses->stores.len; i++) {
    const int state = graph->stores.at[uses->stores.at[i]].state, owner = w->groups->of_tensor[state];
    add(w, owner == w->group ? 1 : owner < 0 ? 0 : -1);
    if (owner == w->group) add_tensor(w, state);
  }
}

static void add_tensor(Script *w, int tensor) {
  const Tensor *t = graph_tensor(w->groups->graph, tensor);
  if (w->local[tensor] > 0) {
    add(w, w->local[tensor]);
    return;
  }
  vec_push(w->arena, &w->met, tensor);
  add(w, w->local[tensor] = w->met.len);
  add(w, flags_of(w, tensor));
  add(w, t->rank);
  for (int d = 0; d < t->rank; d++) add(w, t->extent[d]);
  if (t->spread != NULL) add_spread(w, t->spread);
  if (t->looked_up != NULL) add_spread(w, t->looked_up);
  add_stores(w, tensor);
}

// ---- operators ----

static void add_index(Script *w, const Index *index) {
  add(w, index->base);
  add(w, index->div);
  for (int d = 0; d < w->n_dims; d++) add(w, index->coef[d]);
}

// Which random number, and which number of the run, does not matter.
static void add_expr(void *ctx, const Expr *e) {
  Script *w = ctx;
  add(w, e->kind | (int)e->type << 8);
  switch (e->kind) {
  case EXPR_CONST: add_double(w, e->value); break;
  case EXPR_INDEX: add_index(w, e->index); break;
  case EXPR_CALL: add(w, e->call.fn); break;
  case EXPR_ACCESS:
    add_tensor(w, e->access.tensor);
    add_double(w, e->access.outside);
    for (int i = 0; i < e->access.rank; i++) add_index(w, &e->access.index[i]);
    break;
  case EXPR_RANDOM:
  case EXPR_RUN: break;
  }
}

static void add_opaque(Script *w, const Opaque *opaque) {
  add(w, opaque->n_args);
  for (int a = 0; a < opaque->n_args; a++) {
    const OpaqueArg *arg = &opaque->args[a];
    add(w, arg->written);
    add(w, arg->tensor < 0);
    if (arg->tensor >= 0) add_tensor(w, arg->tensor);
    for (int d = 0; d < arg->rank; d++) add(w, arg->dim[d]);
  }
}

static void add_op(Script *w, const Op *op) {
  add(w, op->kind | (int)op->phase << 4 | (int)op->reduce << 8 | op->n_out << 12);
  add(w, w->n_dims = op->n_dims);
  for (int d = 0; d < op->n_dims; d++) add(w, op->dims[d].extent);
  if (op->kind == OP_VIEW) add_tensor(w, op->in);
  if (op->kind == OP_COMPUTE) expr_visit(op->body, add_expr, w);
  if (op->kind == OP_OPAQUE) add_opaque(w, op->opaque);
  for (int r = 0; r < op_results(op); r++) add_tensor(w, op_result(op, r));
}

// ---- groups ----

static void add_dims(Script *w, const Group *group, const int *place) {
  add(w, group->dims.len);
  for (int d = 0; d < group->dims.len; d++) {
    const GroupDim *dim = &group->dims.at[d];
    add(w, dim->extent);
    add(w, dim->members.len);
    for (int i = 0; i < dim->members.len; i++) {
      add(w, dim->members.at[i].op < 0 ? -1 : place[dim->members.at[i].op]);
      add(w, dim->members.at[i].dim);
      add(w, dim->members.at[i].unit);
    }
  }
}

static void add_kept(Script *w, const Group *group) {
  const Tensors *kept = &w->groups->planner->kept[group->tensor];
  add_tensor(w, group->tensor);
  for (int i = 0; i < kept->len && group->kind == GROUP_PARAM; i++) add_tensor(w, kept->at[i]);
}

// place: by operator, its number in its group.
static void write_group(Script *w, const Candidates *candidates, const int *place) {
  const Group *group = &w->groups->list.at[w->group];
  begin_again(w);
  add(w, group->kind);
  add(w, candidates->n);
  for (int i = 0; i < candidates->n; i++)
    for (int a = 0; a < w->groups->planner->mesh.n_axes; a++) add(w, candidates->list[i].choice[a]);
  add_dims(w, group, place);
  if (group->tensor >= 0) add_kept(w, group);
  for (int i = 0; i < group->ops.len; i++) add_op(w, &w->groups->graph->ops.at[group->ops.at[i]]);
}

static Script script_new(Arena *scratch, const Groups *groups) {
  Script w = {.groups = groups, .arena = scratch, .local = NEW_ARRAY(scratch, int, groups->graph->tensors.len)};
  w.loss = NEW_ARRAY(scratch, bool, groups->graph->tensors.len);
  for (int i = 0; i < groups->graph->losses.len; i++) w.loss[groups->graph->losses.at[i].tensor] = true;
  if (groups->graph->gradient_norm >= 0) w.loss[groups->graph->gradient_norm] = true;
  return w;
}

static int number_of(const Script *w, Numbers *numbers) { return numbers_of(numbers, w->list.at, sizeof *w->list.at * (size_t)w->list.len); }

int *operators_alike(Arena *arena, const Groups *groups, int *n) {
  Arena *scratch = arena_new();
  int *alike = NEW_ARRAY(arena, int, groups->graph->ops.len);
  Numbers numbers = {.arena = scratch};
  Script w = script_new(scratch, groups);
  for (int i = 0; i < groups->graph->ops.len; i++) {
    w.group = groups->of_op[i];
    alike[i] = -1;
    if (w.group < 0) continue;
    begin_again(&w);
    add_op(&w, &groups->graph->ops.at[i]);
    alike[i] = number_of(&w, &numbers);
  }
  *n = numbers.len;
  arena_free(scratch);
  return alike;
}

int *groups_alike(Arena *arena, const Groups *groups, const Candidates *of) {
  Arena *scratch = arena_new();
  const int n = groups->list.len;
  int *leader = NEW_ARRAY(arena, int, n), *place = NEW_ARRAY(scratch, int, groups->graph->ops.len);
  Numbers numbers = {.arena = scratch};
  VEC(int) first = {0}; // by number
  Script w = script_new(scratch, groups);
  for (int g = 0; g < n; g++)
    for (int i = 0; i < groups->list.at[g].ops.len; i++) place[groups->list.at[g].ops.at[i]] = i;
  for (w.group = 0; w.group < n; w.group++) {
    write_group(&w, &of[w.group], place);
    const int number = number_of(&w, &numbers);
    if (number == first.len) vec_push(scratch, &first, w.group);
    leader[w.group] = first.at[number];
  }
  arena_free(scratch);
  return leader;
}
