// Plans that are not read from a file: which file makes which, and the draw.
#include "planning.h"

static void add_line(Arena *arena, Plan *plan, PlanLine line) { vec_push(arena, &plan->lines, line); }

// ---- drawing at random ---------------------------------------------------------------------------------------------

// The same number for the same seed, name and axis, whatever graph asks.
static uint64_t draw(uint64_t seed, const char *name, int axis, uint64_t options) {
  uint64_t hash = (seed + 1) * 0x9E3779B97F4A7C15u + (uint64_t)axis * 0xD1B54A32D192ED03u;
  for (; *name != '\0'; name++) hash = (hash ^ (unsigned char)*name) * 0x100000001B3u;
  hash ^= hash >> 32;
  hash *= 0xD6E8FEB86659FD93u;
  hash ^= hash >> 32;
  return hash % options;
}

// Replicate, follow, one of the dimensions that may be split, or a pin: uniformly.
static PlanChoice draw_choice(uint64_t seed, const char *name, int axis, const Space *space, const Mesh *mesh) {
  int dims[IR_MAX_DIMS], n = 0;
  for (int d = 0; d < space->n_dims; d++)
    if (space->fixed[d] == NULL) dims[n++] = d;
  const int pins = mesh->axis[axis].size > 1 ? mesh->axis[axis].size : 0;
  const int k = (int)draw(seed, name, axis, (uint64_t)(2 + n + pins));
  if (k < n) return (PlanChoice){.kind = CHOICE_SPLIT, .dim = space->dims[dims[k]].name, .unit = 1};
  if (k < n + pins) return (PlanChoice){.kind = CHOICE_PIN, .pin = k - n};
  return (PlanChoice){.kind = k == n + pins ? CHOICE_REPLICATE : CHOICE_FOLLOW};
}

static void add_drawn(Arena *arena, Plan *plan, uint64_t seed, PlanLine line, const Space *space) {
  for (int a = 0; a < plan->mesh.n_axes; a++) line.axis[a] = draw_choice(seed, line.name, a, space, &plan->mesh);
  add_line(arena, plan, line);
}

static void draw_stored(Arena *arena, Plan *plan, uint64_t seed, const Tensor *t) {
  const Space space = plan_space_of_tensor(t);
  const PlanLine line = {.subject = t->role == ROLE_INPUT ? PLAN_INPUT : PLAN_STORE, .name = t->name};
  if (t->role == ROLE_INPUT || plan_is_stored(t)) add_drawn(arena, plan, seed, line, &space);
}

static void draw_ops(Arena *arena, Plan *plan, uint64_t seed, const Graph *graph) {
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    const Space space = plan_space_of_op(op);
    const PlanLine line = {.subject = PLAN_OP, .graph = graph->name, .name = graph_tensor(graph, op->out)->name};
    if (plan_has_choice(graph, op)) add_drawn(arena, plan, seed, line, &space);
  }
}

// One batch for most seeds, else any number of equal parts. A model that cannot do that has one, too (pass_plan).
static int draw_microbatches(uint64_t seed, int64_t batch) {
  int64_t parts[64];
  int n = 0;
  for (int64_t m = 2; m <= batch && m <= PLAN_MAX_MICROBATCHES && n < 64; m++)
    if (batch % m == 0) parts[n++] = m;
  if (n == 0 || draw(seed, "microbatches", 0, 3) > 0) return 1;
  return (int)parts[draw(seed, "microbatches", 1, (uint64_t)n)];
}

// Some of the outermost layers.
static void draw_recompute(Arena *arena, Plan *plan, uint64_t seed, const Graph *train) {
  Names seen = {.arena = arena};
  if (draw(seed, "recompute", 0, 3) > 0) return;
  for (int i = 0; i < train->ops.len; i++) {
    const char *layer = train->ops.at[i].layer, *name = arena_strndup(arena, layer, strcspn(layer, "."));
    if (name[0] == '\0' || names_get(&seen, name) >= 0) continue;
    names_set(&seen, name, i);
    if (draw(seed, name, 1, 2) == 0) vec_push(arena, &plan->recompute, ((PlanAgain){.name = name}));
  }
}

static void make_random(Arena *arena, const Model *model, uint64_t seed, Plan *plan) {
  plan->microbatches = draw_microbatches(seed, model->batch);
  draw_recompute(arena, plan, seed, model->train);
  for (int t = 0; t < model->train->tensors.len; t++) draw_stored(arena, plan, seed, graph_tensor(model->train, t));
  draw_ops(arena, plan, seed, model->init);
  draw_ops(arena, plan, seed, model->train);
  draw_ops(arena, plan, seed, model->eval);
}

Plan plan_make(Arena *arena, const Model *model, const PlanSource *source, const Mesh *mesh, Problems *problems) {
  Plan plan = {.model = model->name, .mesh = *mesh};
  switch (source->kind) {
  case PLAN_DATA: plan_make_data(arena, model, &plan); break;
  case PLAN_SINGLE: break; // inputs and all that is stored are on every rank, and everything follows
  case PLAN_MODEL: plan_make_model(arena, model, &plan); break;
  case PLAN_OWT: plan_make_owt(arena, model, &plan); break;
  case PLAN_MEGATRON: plan_make_megatron(arena, model, &plan, problems); break;
  case PLAN_FSDP: plan_make_fsdp(arena, model, &plan); break;
  case PLAN_RANDOM: make_random(arena, model, source->seed, &plan); break;
  default: fatal("plan: a plan that is searched, or read from a file, is made elsewhere");
  }
  return plan;
}
