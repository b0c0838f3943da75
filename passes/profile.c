#include "profile.h"

#include "../ir/print.h"
#include "../ir/profile.h"
#include "microbatch.h"

// ---- names ---------------------------------------------------------------------------------------------------------

// Tensors by the order in which they are read.
typedef struct Renaming {
  Arena *arena;
  Graph renamed; // that has these only
  VEC(int) tensors;
} Renaming;

static const Expr *rename_leaf(void *ctx, const Expr *e) {
  Renaming *r = ctx;
  if (e->kind != EXPR_ACCESS) return microbatch_first_leaf(r->arena, e); // all of them take the same time
  int i = 0;
  while (i < r->tensors.len && r->tensors.at[i] != e->access.tensor) i++;
  if (i == r->tensors.len) {
    const char *name = arena_printf(r->arena, "%s%d", e->type == TYPE_REAL ? "x" : "k", i);
    vec_push(r->arena, &r->tensors, e->access.tensor);
    vec_push(r->arena, &r->renamed.tensors, (Tensor){.name = name});
  }
  return expr_access_of(r->arena, e, i);
}

static void print_block(const CostModel *model, const Op *op, Dim *dims, Text *out) {
  static const char *const name[IR_MAX_DIMS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"};
  double extent[IR_MAX_DIMS];
  cost_block(model, op, extent);
  for (int d = 0; d < op->n_dims; d++) {
    dims[d].name = name[d];
    text_printf(out, "%s%s%s=%lld", d > 0 ? " " : "", d == op->n_out ? "| " : "", name[d], (long long)extent[d]);
  }
}

static bool is_measured(const CostModel *model, const Graph *graph, const Op *op) {
  if (op->kind != OP_COMPUTE && op->kind != OP_OPAQUE) return false;
  return !cost_scatters_in_place(model, graph, op) && cost_by_formulas(model, graph, op) > 0;
}

const char *profile_name(Arena *arena, const CostModel *model, const Graph *graph, const Op *op) {
  Dim dims[IR_MAX_DIMS] = {{0}};
  Text text = {.arena = arena};
  Renaming r = {.arena = arena};
  if (!is_measured(model, graph, op)) return NULL;
  const char *what = op->kind == OP_OPAQUE ? "call" : op->reduce == REDUCE_NONE ? "each" : reduce_name(op->reduce);
  text_printf(&text, "%s %s [", model->f64 ? "f64" : "f32", what);
  print_block(model, op, dims, &text);
  text_printf(&text, "] ");
  if (op->kind == OP_OPAQUE) text_printf(&text, "%s", op->opaque->function);
  else {
    const Expr *body = expr_map(arena, op->body, rename_leaf, &r);
    print_expr(&r.renamed, body, dims, &text);
  }
  return text_str(&text);
}

const char *profile_change_name(Arena *arena, const CostModel *model, const Graph *graph, const Op *op) {
  Reshard step;
  const StepCost cost = cost_of_change(model, graph, op, &step);
  const AxisLinks links = cost_links(model->machine, model->mesh, step.axes);
  const double share = reshard_bytes(step.kind, 1, links.ranks, 0);
  if (share <= 0 || cost.bytes <= 0 || links.regular.part == 0) return NULL;
  const ProfileLink link = {step.kind, links.regular, cost.bytes / share};
  return profile_link_name(arena, &link);
}

double profile_of_op(const CostModel *model, const Graph *graph, const Op *op) {
  Arena *arena = arena_new();
  const char *name = profile_name(arena, model, graph, op);
  const double seconds = name != NULL ? profile_seconds(model->machine->profile, name) : -1;
  arena_free(arena);
  return seconds;
}

// ---- the operators of a step ---------------------------------------------------------------------------------------

static const char *name_in_step(const Compilation *c, const Op *op) {
  if (!phase_is_of_step(op->phase)) return NULL;
  return profile_name(c->arena, c->cost, c->model->train, op);
}

ProfileUse profile_use(const Compilation *c) {
  const Graph *graph = c->model->train;
  ProfileUse use = {0, 0};
  for (int i = 0; i < graph->ops.len; i++) {
    const char *name = name_in_step(c, &graph->ops.at[i]);
    use.of += name != NULL;
    use.measured += name != NULL && profile_seconds(c->machine->profile, name) > 0;
  }
  return use;
}

bool profile_is_few(ProfileUse use) { return use.measured == 0 || use.measured < use.of / 2; }

const char *profile_print(const Compilation *c) {
  const Graph *graph = c->model->train;
  Text text = {.arena = c->arena};
  Names printed = {.arena = c->arena};
  text_printf(&text, "profile %d # %s on %s, as predicted\n", PROFILE_VERSION, c->model->name,
              machine_devices_text(c->arena, c->machine, mesh_ranks(&c->mesh)));
  for (int i = 0; i < graph->ops.len; i++) {
    const char *name = name_in_step(c, &graph->ops.at[i]);
    if (name == NULL || names_get(&printed, name) >= 0) continue;
    names_set(&printed, name, i);
    profile_print_line(&text, cost_of_op(c->cost, graph, &graph->ops.at[i]), name);
  }
  return text_str(&text);
}
