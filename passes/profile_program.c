// The program trains a model of its own: of states as large as what operators read on one device, and of each group of operators that become
// one kernel, or one product with its packings, over a block, as a layer of its own, which is what is measured. Tensors of one shape share
// a state; but each group reads views of its own, and views are all that reads its results, so that no kernel has several groups. What a
// group updates is a state that nothing else reads, so that it is updated in its place, as in the program of the plan.
//
//     state k3[d0=16, d1=784], k4[d0=512, d1=784]
//     forward  m0: m0.x = view k3; m0.x.2 = view k4
//     forward  m0: m0.y = sum(ci=784) m0.x[n, ci] * m0.x.2[co, ci]      # one of 4 devices that divide a batch of 64
//     forward  m0: m0.end = view m0.y
#include "profile_program.h"

#include "evaluate.h"
#include "fuse.h"
#include "microbatch.h"
#include "profile.h"
#include "sharding.h"

enum { STEPS = 22 }; // of which the first do not count (runtime/common/laps.c)

struct ProfileProgram {
  Arena *arena;
  Compilation compilation;
  Names known;  // groups that are measured
  Names states; // by shape, and how many of it a group reads before
  VEC(StepParts) measured;
  int n_operators;
  double seconds; // that all of them take once
};

// ---- states --------------------------------------------------------------------------------------------------------

static const char *const dim_names[IR_MAX_RANK] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9"};

// What the first rank holds of a tensor.
static Tensor local_tensor(const Tensor *t, const Layout *layout, const Mesh *mesh) {
  Tensor local = {.type = t->type, .rank = t->rank, .range = t->range, .producer = -1, .of = -1, .loc = t->loc};
  for (int d = 0; d < t->rank; d++) {
    const uint32_t axes = layout_axes_of(layout, mesh->n_axes, d);
    local.dim[d] = dim_names[d];
    local.extent[d] = axes != 0 ? max_i64(cut_block(mesh, 0, axes, &layout->cut[d], t->extent[d]).len, 1) : t->extent[d];
  }
  return local;
}

static Op fill_op(const ProfileProgram *p, const Tensor *t, Phase phase, const char *layer) {
  Op fill = {.kind = OP_COMPUTE, .phase = phase, .name = "fill", .layer = layer, .n_dims = t->rank, .n_out = t->rank, .in = -1, .loc = t->loc};
  for (int d = 0; d < t->rank; d++) fill.dims[d] = (Dim){t->dim[d], t->extent[d]};
  fill.body = t->type == TYPE_REAL ? expr_real(p->arena, 0.5) : expr_int(p->arena, 0);
  return fill;
}

// A state of all graphs, and the operator that fills it.
static int add_state(ProfileProgram *p, Tensor state) {
  Model *model = p->compilation.model;
  state.name = arena_printf(p->arena, "k%d", model->init->ops.len);
  state.role = ROLE_STATE;
  Op fill = fill_op(p, &state, PHASE_INIT, "");
  fill.out = graph_add_tensor(model->init, state);
  graph_add_op(model->init, fill);
  return graph_add_tensor(model->train, state);
}

static int state_like(ProfileProgram *p, const Tensor *local, Names *in_use) {
  Text key = {.arena = p->arena};
  text_printf(&key, "%d", (int)local->type);
  for (int d = 0; d < local->rank; d++) text_printf(&key, " %lld", (long long)local->extent[d]);
  const char *shape = text_str(&key);
  const int before = names_get(in_use, shape) + 1;
  names_set(in_use, shape, before);
  const char *name = arena_printf(p->arena, "%s, %d", shape, before);
  const int known = names_get(&p->states, name);
  if (known >= 0) return known;
  const int state = add_state(p, *local);
  names_set(&p->states, name, state);
  return state;
}

// The same tensor, for one reader.
static int view_of(ProfileProgram *p, int tensor, const char *layer, const char *name) {
  Graph *graph = p->compilation.model->train;
  const Tensor *t = graph_tensor(graph, tensor);
  Dim dims[IR_MAX_RANK];
  for (int d = 0; d < t->rank; d++) dims[d] = (Dim){t->dim[d], t->extent[d]};
  const Op view = {.phase = PHASE_FORWARD, .name = "view", .layer = layer, .loc = t->loc};
  return graph_add_view(graph, tensor, t->rank, dims, view, arena_printf(p->arena, "%s.%s", layer, name));
}

// ---- operators -----------------------------------------------------------------------------------------------------

typedef struct Moving { // of a group of operators of a plan
  ProfileProgram *p;
  const Compilation *from;
  const Grouping *grouping;
  const Group *group;
  const Op *op;      // at hand
  const char *layer; // that they become
  Names in_use;      // states, by shape
  Names read_as;     // tensor -> what is read in its place
  VEC(Store) updates; // of states of this program by values of the plan's
} Moving;

static const char *tensor_key(const Moving *m, int tensor) { return arena_printf(m->p->arena, "%d", tensor); }

// What the group makes that takes the place of a stored tensor at the end of the step; -1: nothing.
static int stored_in(const Moving *m, int state) {
  const Graph *graph = m->from->model->train;
  for (int s = 0; s < graph->stores.len; s++) {
    if (graph->stores.at[s].state != state) continue;
    for (int i = 0; i < m->group->ops.len; i++)
      if (graph->ops.at[m->group->ops.at[i]].out == graph->stores.at[s].value) return graph->stores.at[s].value;
  }
  return -1;
}

// Groups that make something so shortly before it is read that it is still near.
enum { JUST_BEFORE = 3 };

static int number_of_group(const Moving *m) { return m->grouping->group_of[m->group->ops.at[0]]; }

// The operator that makes a tensor, or what it is a view of; -1: it is stored, or an input.
static int maker_of(const Graph *graph, int tensor) {
  int maker = graph_tensor(graph, tensor)->producer;
  while (maker >= 0 && graph->ops.at[maker].kind == OP_VIEW) maker = graph_tensor(graph, graph->ops.at[maker].in)->producer;
  return maker;
}

static bool was_just_made(const Moving *m, int tensor) {
  const int maker = maker_of(m->from->model->train, tensor);
  return maker >= 0 && number_of_group(m) - m->grouping->group_of[maker] <= JUST_BEFORE;
}

// What is read in the place of a tensor. What the operators before have just made is written again in every step, by a layer before, so
// that it is in caches. A stored tensor that the group updates is a state of its own, which is updated in its place.
static int read_for(Moving *m, int tensor) {
  const Layout layout = sharding_operand(m->from->model->train, m->op, tensor, &m->from->mesh);
  const Tensor local = local_tensor(graph_tensor(m->from->model->train, tensor), &layout, &m->from->mesh);
  const int value = stored_in(m, tensor);
  if (was_just_made(m, tensor)) {
    const Op fill = fill_op(m->p, &local, PHASE_FORWARD, arena_printf(m->p->arena, "w%s", m->layer + 1));
    return view_of(m->p, graph_add_compute(m->p->compilation.model->train, fill, fill.layer), m->layer, "x");
  }
  if (value < 0) return view_of(m->p, state_like(m->p, &local, &m->in_use), m->layer, "x");
  const Store update = {add_state(m->p, local), value};
  vec_push(m->p->arena, &m->updates, update);
  return update.state;
}

// Before any operator of the group.
static void add_operand(void *ctx, int tensor) {
  Moving *m = ctx;
  const char *key = tensor_key(m, tensor);
  const int maker = graph_tensor(m->from->model->train, tensor)->producer;
  const bool made_here = maker >= 0 && m->grouping->group_of[maker] == number_of_group(m);
  if (!made_here && names_get(&m->read_as, key) < 0) names_set(&m->read_as, key, read_for(m, tensor));
}

static const Expr *move_leaf(void *ctx, const Expr *e) {
  Moving *m = ctx;
  if (e->kind != EXPR_ACCESS) return microbatch_first_leaf(m->p->arena, e);
  return expr_access_of(m->p->arena, e, names_get(&m->read_as, tensor_key(m, e->access.tensor)));
}

// Returns its result.
static int move_op(Moving *m, const Op *op) {
  double extent[IR_MAX_DIMS];
  Op moved = {.kind = OP_COMPUTE, .phase = PHASE_FORWARD, .name = op->name, .layer = m->layer, .n_dims = op->n_dims, .n_out = op->n_out, .reduce = op->reduce, .in = -1};
  cost_block(m->from->cost, op, extent);
  for (int d = 0; d < op->n_dims; d++) moved.dims[d] = (Dim){op->dims[d].name, (int64_t)extent[d]};
  moved.body = expr_map(m->p->arena, op->body, move_leaf, m);
  moved.loc = op->loc;
  const int result = graph_add_compute(m->p->compilation.model->train, moved, arena_printf(m->p->arena, "%s.y", m->layer));
  names_set(&m->read_as, tensor_key(m, op->out), result);
  return result;
}

// ---- groups --------------------------------------------------------------------------------------------------------

typedef struct Reads { int tensor, n; } Reads;

static void count_read(void *ctx, int tensor) {
  Reads *reads = ctx;
  reads->n += tensor == reads->tensor;
}

static bool is_read_outside(const Grouping *g, const Group *group, int tensor) {
  Reads inside = {tensor, 0};
  for (int i = 0; i < group->ops.len; i++) op_visit_reads(&g->graph->ops.at[group->ops.at[i]], count_read, &inside);
  return g->leaves[tensor] || g->readers[tensor] > inside.n;
}

// Whether any of its operators has a name in profiles, and all can be moved.
static bool is_measured(const ProfileProgram *p, const CostModel *cost, const Grouping *g, const Group *group) {
  bool any = false;
  for (int i = 0; i < group->ops.len; i++) {
    const Op *op = &g->graph->ops.at[group->ops.at[i]];
    if (op->kind != OP_COMPUTE || !phase_is_of_step(op->phase)) return false;
    any |= profile_name(p->arena, cost, g->graph, op) != NULL;
  }
  return any;
}

// What profiles call all its operators.
static const char *group_name(const ProfileProgram *p, const CostModel *cost, const Grouping *g, const Group *group) {
  Text text = {.arena = p->arena};
  for (int i = 0; i < group->ops.len; i++) {
    const char *name = profile_name(p->arena, cost, g->graph, &g->graph->ops.at[group->ops.at[i]]);
    text_printf(&text, "%s\n", name != NULL ? name : "");
  }
  return text_str(&text);
}

static bool have_one_shape(const Tensor *a, const Tensor *b) {
  return a->type == b->type && a->rank == b->rank && memcmp(a->extent, b->extent, sizeof a->extent[0] * (size_t)a->rank) == 0;
}

// Whether a state takes its value at the end of the step.
static bool store_moved(Moving *m, int value) {
  Graph *graph = m->p->compilation.model->train;
  const int moved = names_get(&m->read_as, tensor_key(m, value));
  bool stored = false;
  for (int i = 0; i < m->updates.len; i++) {
    const Store update = {m->updates.at[i].state, moved};
    if (m->updates.at[i].value != value || !have_one_shape(graph_tensor(graph, update.state), graph_tensor(graph, moved))) continue;
    vec_push(graph->arena, &graph->stores, update);
    stored = true;
  }
  return stored;
}

static void add_group(ProfileProgram *p, const Compilation *from, const Grouping *g, const Group *group) {
  Moving m = {.p = p, .from = from, .grouping = g, .group = group, .in_use = {.arena = p->arena}, .read_as = {.arena = p->arena}};
  StepParts parts = {NULL, 0, 0};
  m.layer = arena_printf(p->arena, "m%d", p->measured.len);
  for (int i = 0; i < group->ops.len; i++) {
    m.op = &g->graph->ops.at[group->ops.at[i]];
    op_visit_reads(m.op, add_operand, &m);
  }
  for (int i = 0; i < group->ops.len; i++) {
    const Op *op = &g->graph->ops.at[group->ops.at[i]];
    const StepPart part = {.seconds = cost_of_op(from->cost, g->graph, op), .what = profile_name(p->arena, from->cost, g->graph, op)};
    move_op(&m, op);
    vec_push(p->arena, &parts, part);
    p->seconds += part.seconds;
    p->n_operators += part.what != NULL;
  }
  for (int i = 0; i < group->ops.len; i++) {
    const int made = g->graph->ops.at[group->ops.at[i]].out;
    if (!store_moved(&m, made) && is_read_outside(g, group, made)) view_of(p, names_get(&m.read_as, tensor_key(&m, made)), m.layer, "end");
  }
  vec_push(p->arena, &p->measured, parts);
}

// The sums of updates of rows are no part of a kernel (sums.c).
static const Fate *fates_of(Arena *arena, const CostModel *cost, const Graph *graph) {
  Fate *fate = NEW_ARRAY(arena, Fate, graph->ops.len);
  for (int i = 0; i < graph->ops.len; i++) fate[i].is_sum = cost_is_done(cost, graph, &graph->ops.at[i]);
  return fate;
}

void profile_program_add(ProfileProgram *p, const Compilation *c, const Plan *plan) {
  Compilation *applied = evaluate_copy(c, plan, p->arena);
  pipeline[pipeline_find("plan")].run(applied);
  pipeline[pipeline_find("apply-plan")].run(applied);
  const Graph *graph = applied->model->train;
  const Grouping *g = fuse_graph(p->arena, graph, fates_of(p->arena, applied->cost, graph));
  for (int i = 0; i < g->groups.len; i++) {
    const Group *group = &g->groups.at[i];
    if (!is_measured(p, applied->cost, g, group)) continue;
    const char *name = group_name(p, applied->cost, g, group);
    if (names_get(&p->known, name) >= 0) continue;
    names_set(&p->known, name, i);
    add_group(p, applied, g, group);
  }
}

// ---- the program ---------------------------------------------------------------------------------------------------

// Every model has an input and a loss.
static void add_loss(Arena *arena, Graph *graph, const char *source) {
  const int input = graph_add_tensor(graph, (Tensor){.name = "x", .role = ROLE_INPUT, .rank = 1, .extent = {1}, .dim = {"batch"}, .producer = -1, .of = -1});
  const Index batch = index_dim(0);
  Op loss = {.kind = OP_COMPUTE, .phase = PHASE_FORWARD, .name = "loss", .layer = "", .n_dims = 1, .dims = {{"batch", 1}}, .reduce = REDUCE_SUM, .in = -1, .loc = {.file = source, .line = 1}};
  loss.body = expr_access(arena, input, TYPE_REAL, 1, &batch, 0);
  vec_push(arena, &graph->losses, (Scalar){"loss", graph_add_compute(graph, loss, "loss")});
}

ProfileProgram *profile_program_new(const Compilation *c) {
  Arena *arena = c->arena;
  ProfileProgram *p = NEW(arena, ProfileProgram);
  Model *model = NEW(arena, Model);
  *model = (Model){.name = arena_printf(arena, "%s_profile", c->model->name), .source = c->model->source, .f64 = c->model->f64, .batch = 1, .steps = STEPS};
  model->init = graph_new(arena, "init");
  model->train = graph_new(arena, "train");
  model->eval = graph_new(arena, "eval");
  vec_push(arena, &model->inputs, (Input){.name = "x"});
  *p = (ProfileProgram){.arena = arena, .known = {.arena = arena}, .states = {.arena = arena}};
  p->compilation = (Compilation){.arena = arena, .model = model, .plan_source = {.kind = PLAN_SINGLE}, .problems = {.arena = arena}};
  p->compilation.mesh = (Mesh){.n_axes = 1, .axis = {{"data", 1}}};
  add_loss(arena, model->train, model->source);
  add_loss(arena, model->eval, model->source);
  return p;
}

int profile_program_operators(const ProfileProgram *p) { return p->n_operators; }

double profile_program_seconds(const ProfileProgram *p) { return p->seconds * STEPS; }

const Program *profile_program_end(ProfileProgram *p) {
  for (int pass = pipeline_find("plan"); pass < pipeline_len; pass++) pipeline_run(&p->compilation, pass);
  Program *program = p->compilation.program;
  for (int i = 0; i < p->measured.len; i++) vec_push(p->arena, &program->measured, p->measured.at[i]);
  return program;
}
