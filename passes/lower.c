// lower: from the sharded graphs to the program of one rank.
//
// Requires: sharded graphs init, train and eval of one model. Guarantees: a program whose procedures hold kernels,
// matrix products and collectives over this rank's part of every tensor; parameters and states are shared by name.
//
//   forward  dense1 dense: y[n=64, co=10] = sum(ci=84) (x[n, ci] * w[co, ci])      n/data
// becomes
//   gemm m=n n=10 k=84
#include "../ir/c_names.h"
#include "collapse.h"
#include "contraction.h"
#include "gemm.h"
#include "inplace.h"
#include "kernel.h"
#include "parts.h"
#include "passes.h"
#include "rewrite.h"
#include "strips.h"
#include "sums.h"

// ---- blocks and extents ------------------------------------------------------------------------------------------

static bool is_taken(const Lowering *l, const char *name) {
  bool taken = names_get(&l->functions, name) >= 0;
  for (int b = 0; b < l->program->blocks.len; b++) taken |= str_eq(l->program->blocks.at[b].name, name);
  return taken;
}

const char *lowering_block_name(const Lowering *l, const char *name) {
  const char *unique = name;
  for (int n = 2; is_taken(l, unique); n++) unique = arena_printf(l->arena, "%s_%d", name, n);
  return unique;
}

static int find_block(Lowering *l, const char *name, uint32_t axes, const Cut *cut, int64_t extent) {
  Program *p = l->program;
  for (int b = 0; b < p->blocks.len; b++) {
    const RankBlock *block = &p->blocks.at[b];
    if (!block->strip && block->axes == axes && block->extent == extent && memcmp(&block->cut, cut, sizeof *cut) == 0) return b;
  }
  name = lowering_block_name(l, name);
  const RankBlock block = {.name = name, .c_name = c_safe_identifier(l->arena, name), .axes = axes, .cut = *cut, .extent = extent, .reach = -1};
  return program_add_block(p, block);
}

// A plain shard counts units, so that dimensions of different units share the block.
static Extent cut_extent(Lowering *l, const char *name, uint32_t axes, const Cut *cut, int64_t extent) {
  if (axes == 0) return extent_fixed(extent);
  if (!cut_is_plain(cut, extent)) return (Extent){.fixed = 1, .block = find_block(l, name, axes, cut, extent)};
  const Cut units = cut_plain(cut->units, 1);
  return (Extent){.fixed = cut->scale, .block = find_block(l, name, axes, &units, cut->units)};
}

// The interval at hand of a loop of the strip.
static Extent interval(const Lowering *l, int strip, int loop) {
  return (Extent){.fixed = 1, .block = l->strips->list.at[strip].loop[loop].block};
}

Extent lowering_dim_extent(Lowering *l, const Op *op, int d) {
  if (l->strips != NULL) {
    const int id = graph_tensor(l->graph, op->out)->producer, loop = l->strips->loop_of[id][d];
    if (loop >= 0) return interval(l, l->strips->of_op[id], loop);
  }
  uint32_t axes = 0;
  Cut cut = {0};
  for (int a = 0; a < l->program->mesh.n_axes; a++) {
    if (op->sharding.dim[a] != d) continue;
    axes |= 1u << a;
    cut = cut_plain(op->dims[d].extent, op->sharding.unit[a]);
  }
  return cut_extent(l, op->dims[d].name, axes, &cut, op->dims[d].extent);
}

Extent lowering_tensor_extent(Lowering *l, const Tensor *t, int i) {
  // A stage of a change of layout is no tensor of the graph.
  const int id = l->strips != NULL ? names_get(&l->graph->tensor_names, t->name) : -1;
  if (id >= 0 && graph_tensor(l->graph, id) == t && l->strips->loop_at[id][i] >= 0)
    return interval(l, l->strips->of_tensor[id], l->strips->loop_at[id][i]);
  const uint32_t axes = layout_axes_of(t->layout, l->program->mesh.n_axes, i);
  return cut_extent(l, t->dim[i], axes, &t->layout->cut[i], t->extent[i]);
}

// ---- tensors -----------------------------------------------------------------------------------------------------

static Extent tensor_count(const ProgTensor *t) {
  Extent count = extent_fixed(1);
  for (int i = 0; i < t->rank; i++) count = extent_mul(count, t->extent[i]);
  return count;
}

static int new_buffer(Lowering *l, int64_t bytes, bool persistent) {
  vec_push_own(l->arena, &l->program->buffers, (Buffer){.bytes = bytes, .persistent = persistent, .first = -1, .last = -1});
  return l->program->buffers.len - 1;
}

static const char *unique_c_name(Lowering *l, const char *base) {
  const Program *p = l->program;
  const char *name = base;
  for (int n = 2; names_get(&l->c_names, name) >= 0; n++) name = arena_printf(l->arena, "%s_%d", base, n);
  names_set(&l->c_names, name, p->tensors.len);
  return name;
}

static void set_extents(Lowering *l, ProgTensor *local, const Tensor *t, int first) {
  const int rank = t->rank - first;
  local->extent = NEW_ARRAY(l->arena, Extent, rank);
  local->global = NEW_ARRAY(l->arena, int64_t, rank);
  local->dim = NEW_ARRAY(l->arena, const char *, rank);
  local->rank = 0;
  for (int i = first; i < t->rank; i++) {
    local->extent[local->rank] = lowering_tensor_extent(l, t, i);
    local->global[local->rank] = t->extent[i];
    local->dim[local->rank++] = t->dim[i];
  }
  const int64_t size = t->type == TYPE_REAL && l->program->model->f64 ? 8 : 4;
  local->bytes = extent_max(l->program, tensor_count(local)) * size;
}

int lowering_new_tensor(Lowering *l, const Tensor *t, bool slice) {
  Program *p = l->program;
  const char *prefix = str_eq(l->graph->name, "eval") && t->role != ROLE_PARAM && t->role != ROLE_STATE ? "eval_" : "";
  ProgTensor local = {.name = t->name, .role = t->role, .type = t->type, .buffer = -1};
  for (int a = 0; a < MESH_MAX_AXES; a++)
    local.pin[a] = t->layout->axis[a].kind == LAYOUT_PINNED ? t->layout->axis[a].pin : -1;
  local.c_name = unique_c_name(l, c_safe_identifier(l->arena, arena_printf(l->arena, "%s%s", prefix, t->name)));
  set_extents(l, &local, t, slice ? 1 : 0);
  const bool persistent = t->role == ROLE_PARAM || t->role == ROLE_STATE;
  local.buffer = new_buffer(l, local.bytes, persistent);
  vec_push_own(l->arena, &p->tensors, local);
  return p->tensors.len - 1;
}

static int stored_tensor(Lowering *l, const Tensor *t) {
  int tensor = names_get(&l->stored_names, t->name);
  if (tensor < 0) {
    tensor = lowering_new_tensor(l, t, false);
    names_set(&l->stored_names, t->name, tensor);
    vec_push(l->arena, &l->program->stored, tensor);
  }
  l->program->tensors.at[tensor].of_optimizer |= t->role == ROLE_STATE && t->of >= 0; // the training graph knows
  return tensor;
}

static void enter_tensors(Lowering *l) {
  const Graph *graph = l->graph;
  l->tensor_of = NEW_ARRAY(l->arena, int, graph->tensors.len);
  for (int t = 0; t < graph->tensors.len; t++) {
    const Tensor *tensor = graph_tensor(graph, t);
    l->tensor_of[t] = -1;
    if (tensor->role == ROLE_PARAM || tensor->role == ROLE_STATE) l->tensor_of[t] = stored_tensor(l, tensor);
    else if (tensor->producer >= 0 || tensor->role == ROLE_INPUT) l->tensor_of[t] = lowering_new_tensor(l, tensor, false);
  }
  for (int i = 0; i < graph->ops.len; i++) { // views and changes in place share the buffer of what they read
    const Op *op = &graph->ops.at[i];
    const bool in_place = op->kind == OP_RESHARD && lowering_reshard_in_place(l, op);
    if (op->kind != OP_VIEW && !in_place) continue;
    ProgTensor *out = &l->program->tensors.at[l->tensor_of[op->out]];
    l->program->buffers.at[out->buffer].bytes = 0;
    out->buffer = l->program->tensors.at[l->tensor_of[op->in]].buffer;
  }
}

// ---- steps -------------------------------------------------------------------------------------------------------

static Step *new_step(Lowering *l, StepKind kind, const Op *op) {
  Step *step = NEW(l->arena, Step);
  step->kind = kind;
  step->layer = step->scope = op->layer;
  step->name = op->name;
  step->loc = op->loc;
  memcpy(step->pin, op->sharding.pin, sizeof step->pin);
  return step;
}

static Step *kernel_step(Lowering *l, const Op *op, Kernel *kernel) {
  Step *step = new_step(l, STEP_KERNEL, op);
  step->kernel = kernel;
  return step;
}

static Step *group_step(Lowering *l, const Grouping *g, const Group *group) {
  Step *step = kernel_step(l, &l->graph->ops.at[group->ops.at[0]], kernel_of_group(l, g, group));
  for (int i = 1; i < group->ops.len; i++) step->scope = layer_common(l->arena, step->scope, l->graph->ops.at[group->ops.at[i]].layer);
  return step;
}

static Procedure *procedure_of(Lowering *l, Phase phase) {
  static const ProcedureKind of_phase[] = {[PHASE_INIT] = PROC_INIT,         [PHASE_BEGIN] = PROC_BEGIN,
                                           [PHASE_FORWARD] = PROC_FORWARD,   [PHASE_BACKWARD] = PROC_BACKWARD,
                                           [PHASE_COMBINE] = PROC_COMBINE,   [PHASE_REPORT] = PROC_REPORT,
                                           [PHASE_UPDATE] = PROC_UPDATE};
  if (str_eq(l->graph->name, "eval")) return &l->program->procedure[PROC_EVALUATE];
  if (str_eq(l->graph->name, "init")) return &l->program->procedure[PROC_INIT];
  return &l->program->procedure[of_phase[phase]];
}

static void append(Lowering *l, const Group *group, Step *step) {
  if (l->loop != NULL) vec_push(l->arena, &l->loop->loop.body, step);
  else vec_push(l->arena, &procedure_of(l, group->late ? PHASE_BACKWARD : group->phase)->steps, step);
}

static Step *new_loop(Lowering *l, const Op *op, Extent extent) {
  Step *loop = new_step(l, STEP_LOOP, op);
  loop->loop.var = "i";
  loop->loop.extent = extent;
  loop->loop.strip = loop->loop.reach = -1;
  return loop;
}

// The operand's first dimension is divided as the operator's: the slices of both start together.
static bool slices_align(Lowering *l, const Op *op) {
  const Tensor *operand = graph_tensor(l->graph, op->body->access.tensor);
  return extent_equal(lowering_tensor_extent(l, operand, 0), lowering_dim_extent(l, op, 0));
}

// The dimension of the contraction along which its packings and its folding run slice by slice; -1 if they disagree.
static int slice_dim(Lowering *l, const Group *group) {
  const Op *product = &l->graph->ops.at[group->contraction];
  Contraction c;
  contraction_match(l->graph, product, &c);
  int dim = -1;
  for (int i = 0; i < group->ops.len; i++) {
    const int id = group->ops.at[i];
    if (id == group->contraction) continue;
    const Op *op = &l->graph->ops.at[id];
    if (!slices_align(l, op)) return -1;
    int here = 0; // a folding slices the first dimension of the product
    if (id < group->contraction) {
      const Expr *operand = c.a->access.tensor == op->out ? c.a : c.b;
      here = access_full_dim(l->graph, product, operand, 0);
    }
    if (dim >= 0 && here != dim) return -1;
    dim = here;
  }
  return dim;
}

static void use_slices(Lowering *l, const Group *group) {
  for (int i = 0; i < group->ops.len; i++) {
    const int id = group->ops.at[i];
    const Op *op = &l->graph->ops.at[id];
    const int tensor = id < group->contraction ? op->out : id > group->contraction ? op->body->access.tensor : -1;
    if (tensor >= 0) l->tensor_of[tensor] = lowering_new_tensor(l, graph_tensor(l->graph, tensor), true);
  }
}

bool lowering_adds_up(const Lowering *l, const Op *op) {
  const int *loop_of = l->strips != NULL ? l->strips->loop_of[graph_tensor(l->graph, op->out)->producer] : NULL;
  for (int d = op->n_out; loop_of != NULL && d < op->n_dims; d++)
    if (loop_of[d] >= 0 && loop_of[d] != STRIP_REACH) return true;
  return op->accumulates;
}

static Step *new_zero(Lowering *l, const Op *op) {
  Step *zero = new_step(l, STEP_ZERO, op);
  zero->zero = l->tensor_of[op->out];
  return zero;
}

// The result is cleared before all intervals of a strip, or before the first microbatch.
static bool is_cleared(const Lowering *l, const Op *op) {
  const int strip = l->strips != NULL ? l->strips->of_op[graph_tensor(l->graph, op->out)->producer] : -1;
  for (int i = 0; strip >= 0 && i < l->strips->list.at[strip].summed.len; i++)
    if (l->strips->list.at[strip].summed.at[i] == op->out) return true;
  return op->accumulates;
}

// The products of a sum, one after the other; false: the library cannot do one of them.
static bool lower_products(Lowering *l, const Group *group) {
  const Op *op = &l->graph->ops.at[group->contraction];
  GemmPlan *plans;
  const int n = sums_plan(l, group->contraction, &plans);
  for (int i = 0; i < n; i++) {
    Step *gemm = new_step(l, STEP_GEMM, op);
    gemm->gemm = arena_copy(l->arena, &plans[i].gemm, sizeof plans[i].gemm);
    if (plans[i].loop_reduces && !plans[i].adds && !is_cleared(l, op)) append(l, group, new_zero(l, op));
    gemm->gemm->accumulate |= plans[i].adds;
    if (plans[i].looped) {
      Step *loop = new_loop(l, op, plans[i].loop_extent);
      vec_push(l->arena, &loop->loop.body, gemm);
      gemm = loop;
    }
    append(l, group, gemm);
  }
  return n > 0;
}

static void lower_separately(Lowering *l, const Grouping *g, const Group *group) {
  for (int i = 0; i < group->ops.len; i++) {
    const int id = group->ops.at[i];
    if (id == group->contraction && lower_products(l, group)) continue;
    append(l, group, kernel_step(l, &l->graph->ops.at[id], kernel_of_op(l, g, id, false)));
  }
}

static void lower_looped(Lowering *l, const Grouping *g, const Group *group, GemmPlan *plan) {
  use_slices(l, group);
  const Op *product = &l->graph->ops.at[group->contraction];
  Step *loop = new_loop(l, product, plan->loop_extent);
  Contraction c;
  contraction_match(l->graph, product, &c);
  for (int i = 0; i < group->ops.len; i++) {
    const int id = group->ops.at[i];
    const Op *op = &l->graph->ops.at[id];
    if (id != group->contraction) {
      vec_push(l->arena, &loop->loop.body, kernel_step(l, op, kernel_of_op(l, g, id, true)));
      // The product works on the slice: no stride for that operand.
      const int tensor = id < group->contraction ? op->out : op->body->access.tensor;
      const int slice = l->tensor_of[tensor], whole = plan->whole_of[i];
      if (plan->gemm.a == whole) plan->gemm.a = slice, plan->gemm.loop_a = extent_fixed(0);
      if (plan->gemm.b == whole) plan->gemm.b = slice, plan->gemm.loop_b = extent_fixed(0);
      if (plan->gemm.c == whole) plan->gemm.c = slice, plan->gemm.loop_c = extent_fixed(0);
    } else {
      Step *gemm = new_step(l, STEP_GEMM, op);
      vec_push(l->arena, &loop->loop.body, gemm);
    }
  }
  for (int i = 0; i < loop->loop.body.len; i++)
    if (loop->loop.body.at[i]->kind == STEP_GEMM) loop->loop.body.at[i]->gemm = arena_copy(l->arena, &plan->gemm, sizeof plan->gemm);
  if (plan->loop_reduces && !product->accumulates) {
    Step *zero = new_step(l, STEP_ZERO, product);
    zero->zero = plan->gemm.c;
    append(l, group, zero);
  }
  append(l, group, loop);
}

static void lower_gemm(Lowering *l, const Grouping *g, const Group *group) {
  GemmPlan plan;
  const int dim = group->looped ? slice_dim(l, group) : -1;
  if (dim >= 0 && gemm_of_op(l, &l->graph->ops.at[group->contraction], dim, &plan)) {
    plan.whole_of = NEW_ARRAY(l->scratch, int, group->ops.len);
    for (int i = 0; i < group->ops.len; i++) {
      const int id = group->ops.at[i];
      const Op *op = &l->graph->ops.at[id];
      plan.whole_of[i] = id == group->contraction  ? -1
                         : id < group->contraction ? l->tensor_of[op->out]
                                                   : l->tensor_of[op->body->access.tensor];
    }
    lower_looped(l, g, group, &plan);
  } else {
    lower_separately(l, g, group);
  }
}

static void lower_scatter(Lowering *l, const Grouping *g, const Group *group) {
  const Op *op = &l->graph->ops.at[group->ops.at[0]];
  if (!op->accumulates && !l->fate[group->ops.at[0]].adds_in_place) append(l, group, new_zero(l, op));
  append(l, group, kernel_step(l, op, kernel_of_scatter(l, g, group->ops.at[0])));
}

static void lower_reshard(Lowering *l, const Group *group) {
  const Op *op = &l->graph->ops.at[group->ops.at[0]];
  Collective collective;
  if (!lowering_reshard(l, op, &collective)) return;
  Step *step = new_step(l, STEP_COLLECTIVE, op);
  step->collective = arena_copy(l->arena, &collective, sizeof collective);
  append(l, group, step);
}

static void lower_opaque(Lowering *l, const Group *group) {
  const Op *op = &l->graph->ops.at[group->ops.at[0]];
  const Opaque *opaque = op->opaque;
  Step *step = new_step(l, STEP_CALL, op);
  Call *c = &step->call;
  *c = (Call){.function = opaque->function};
  for (int a = 0; a < opaque->n_args; a++) {
    const OpaqueArg *arg = &opaque->args[a];
    const int tensor = arg->tensor >= 0 ? l->tensor_of[arg->tensor] : -1;
    vec_push(l->arena, &c->args, (CallArg){arg->name, tensor, arg->written, arg->sized, arg->type});
  }
  for (int d = 0; d < op->n_dims; d++) vec_push(l->arena, &c->starts, lowering_dim_extent(l, op, d));
  for (int i = 0; i < opaque->n_attrs; i++) vec_push(l->arena, &c->attrs, opaque->attrs[i]);
  append(l, group, step);
}

typedef struct Copies {
  Lowering *l;
  const Group *group;
} Copies;

static void append_copy(void *ctx, int dst, int src) {
  const Copies *c = ctx;
  Step *copy = new_step(c->l, STEP_COPY, &c->l->graph->ops.at[c->group->ops.at[0]]);
  copy->copy.dst = dst;
  copy->copy.src = src;
  append(c->l, c->group, copy);
}

// ---- the whole graph ---------------------------------------------------------------------------------------------

static void lower_group(Lowering *l, const Grouping *g, const Group *group) {
  switch (group->kind) {
  case GROUP_KERNEL: append(l, group, group_step(l, g, group)); break;
  case GROUP_GEMM: lower_gemm(l, g, group); break;
  case GROUP_SCATTER: lower_scatter(l, g, group); break;
  case GROUP_RESHARD: lower_reshard(l, group); break;
  case GROUP_OPAQUE: lower_opaque(l, group); break;
  case GROUP_PIECES: parts_left(l, &l->graph->ops.at[group->ops.at[0]], append_copy, &(Copies){l, group}); break;
  case GROUP_VIEW: break;
  }
}

// What every interval needs, and nobody else, takes the memory of one.
static void shorten_tensors(Lowering *l) {
  for (int t = 0; t < l->graph->tensors.len; t++) {
    if (l->strips->of_tensor[t] < 0) continue;
    ProgTensor *local = &l->program->tensors.at[l->tensor_of[t]];
    set_extents(l, local, graph_tensor(l->graph, t), 0);
    l->program->buffers.at[local->buffer].bytes = local->bytes;
  }
}

static const char *common_scope(Lowering *l, const Step *loop) {
  const char *scope = loop->loop.body.at[0]->scope;
  for (int i = 1; i < loop->loop.body.len; i++) scope = layer_common(l->arena, scope, loop->loop.body.at[i]->scope);
  return scope;
}

// The loops of a strip, one in the other, with the steps of its groups inside.
static void lower_strip(Lowering *l, const Grouping *g, const Strip *s) {
  const Group *first = &g->groups.at[s->groups.at[0]];
  const Op *op = &l->graph->ops.at[first->ops.at[0]];
  Step *loops[STRIP_MAX_LOOPS];
  for (int k = 0; k < s->n_loops; k++) {
    loops[k] = new_loop(l, op, s->loop[k].whole);
    loops[k]->loop.strip = s->loop[k].block;
    const int reach = s->loop[STRIP_REACH].block;
    if (reach >= 0 && l->program->blocks.at[reach].reach == s->loop[k].block) loops[k]->loop.reach = reach;
    if (k > 0) vec_push(l->arena, &loops[k - 1]->loop.body, loops[k]);
  }
  l->loop = loops[s->n_loops - 1];
  for (int i = 0; i < s->groups.len; i++) lower_group(l, g, &g->groups.at[s->groups.at[i]]);
  for (int k = s->n_loops - 1; k >= 0; k--) loops[k]->scope = common_scope(l, loops[k]);
  l->loop = NULL;
  Procedure *procedure = procedure_of(l, s->phase);
  for (int i = 0; i < s->summed.len; i++) {
    const int producer = graph_tensor(l->graph, s->summed.at[i])->producer;
    if (l->fate[producer].adds_to == 0 && !l->graph->ops.at[producer].accumulates) vec_push(l->arena, &procedure->steps, new_zero(l, &l->graph->ops.at[producer]));
  }
  vec_push(l->arena, &procedure->steps, loops[0]);
}

// Sums over all microbatches begin with nothing.
static void clear_sums(Lowering *l) {
  for (int i = 0; i < l->graph->ops.len; i++) {
    const Op *op = &l->graph->ops.at[i];
    if (op->accumulates) vec_push(l->arena, &l->program->procedure[PROC_BEGIN].steps, new_zero(l, op));
  }
}

static void lower_graph(Lowering *l, const Graph *graph) {
  l->graph = graph;
  enter_tensors(l);
  l->reads = reads_of_graph(l->scratch, graph);
  l->fate = NEW_ARRAY(l->scratch, Fate, graph->ops.len);
  sums_find(l);
  parts_place(l);
  Grouping *g = fuse_graph(l->scratch, graph, l->fate);
  if (l->strip_bytes > 0) l->strips = strips_find(l, g, l->strip_bytes);
  if (l->strips != NULL) shorten_tensors(l);
  for (int i = 0; i < g->groups.len; i++) {
    const int strip = l->strips != NULL ? l->strips->of_group[g->order[i]] : -1;
    if (strip < 0) lower_group(l, g, &g->groups.at[g->order[i]]);
    else if (l->strips->list.at[strip].groups.at[0] == g->order[i]) lower_strip(l, g, &l->strips->list.at[strip]);
  }
  l->strips = NULL;
  clear_sums(l);
  arena_reset(l->scratch);
}

// New values of parameters and states: in place where nobody reads the old value any more, copied where somebody does.
static void lower_stores(Lowering *l) {
  const Graph *graph = l->graph;
  StoreFacts facts = inplace_store_facts(l->program);
  for (int i = 0; i < graph->stores.len; i++) {
    const int state = l->tensor_of[graph->stores.at[i].state], value = l->tensor_of[graph->stores.at[i].value];
    if (state == value || inplace_store(&facts, state, value)) continue;
    Op op = {.layer = "", .name = "store", .sharding = sharding_replicate(), .loc = graph_tensor(graph, graph->stores.at[i].state)->loc};
    Step *copy = new_step(l, STEP_COPY, &op);
    copy->copy.dst = state;
    copy->copy.src = value;
    vec_push(l->arena, &l->program->procedure[PROC_UPDATE].steps, copy);
  }
}

static int input_tensor(const Lowering *l, const char *name) {
  const int t = names_get(&l->graph->tensor_names, name);
  return t >= 0 ? l->tensor_of[t] : -1;
}

// The whole batch of an input, where something is made of that before the first microbatch.
static int whole_input(const Lowering *l, const char *name) {
  const int input = names_get(&l->graph->tensor_names, name);
  for (int t = 0; t < l->graph->tensors.len && input >= 0; t++)
    if (graph_tensor(l->graph, t)->role == ROLE_INPUT && graph_tensor(l->graph, t)->of == input) return l->tensor_of[t];
  return -1;
}

static void enter_scalars(Lowering *l, bool train) {
  Program *p = l->program;
  for (int kind = 0; kind < 2; kind++) {
    const Scalar *list = kind == 0 ? l->graph->losses.at : l->graph->metrics.at;
    const int n = kind == 0 ? l->graph->losses.len : l->graph->metrics.len;
    for (int i = 0; i < n; i++) {
      const int tensor = l->tensor_of[list[i].tensor];
      int s = 0;
      while (s < p->scalars.len && !str_eq(p->scalars.at[s].name, list[i].name)) s++;
      if (s == p->scalars.len) vec_push(l->arena, &p->scalars, (ProgScalar){list[i].name, -1, -1});
      *(train ? &p->scalars.at[s].train : &p->scalars.at[s].eval) = tensor;
    }
  }
}

static const char *plan_text(const Compilation *c) {
  const PlanSource *source = &c->plan_source;
  if (source->kind == PLAN_RANDOM) return arena_printf(c->arena, "drawn at random, seed %llu", (unsigned long long)source->seed);
  if (source->kind == PLAN_FILE) return arena_printf(c->arena, "read from %s", source->file);
  switch (source->kind) {
  case PLAN_SINGLE: return "single: every rank does everything";
  case PLAN_MODEL: return "model parallel: layers are divided along the outputs of their weights";
  case PLAN_OWT: return "one weird trick: the batch is divided in convolutions, the outputs in dense layers";
  case PLAN_MEGATRON: return "megatron: heads, hidden units and the vocabulary are divided, the batch over the other axes";
  case PLAN_AUTO: return "the cheapest that was found for the machine";
  case PLAN_OPTCNN: return "optcnn: layer by layer, what each one makes is divided into equal blocks as takes least time on the machine";
  case PLAN_SOYBEAN: return "soybean: tensors are tiled by rows or columns along one axis after the other, so that few bytes move";
  case PLAN_TOFU: return "tofu: all operators and all that is stored are divided along one axis after the other, so that few bytes move";
  case PLAN_FLEXFLOW: return "flexflow: layer by layer, the best that a random walk found by simulating the machine";
  case PLAN_PARALLAX: return "parallax: the batch is divided over the ranks, tables with sparse gradients over owners of their rows";
  case PLAN_FSDP: return "fully sharded: the batch is divided over the ranks, and so is all that is stored";
  default:
    return arena_printf(c->arena, "data parallel: the batch of %lld is divided over the ranks, parameters are on every rank",
                        (long long)c->model->batch);
  }
}

// "18.5 ms a step: operators 16.8, update 0.7, changes of layout over node 1.02, cluster 0, local 0"
static const char *predicted_text(const Compilation *c) {
  const Cost *cost = &c->predicted;
  Text text = {.arena = c->arena};
  text_printf(&text, "%.4g ms a step: operators %.4g, update %.4g, changes of layout", cost->step * 1e3, cost->compute * 1e3, cost->update * 1e3);
  for (int l = 0; l < c->machine->n_levels; l++)
    text_printf(&text, "%s %s %.4g", l == 0 ? " over" : ",", c->machine->level[l].name, cost->communication[l] * 1e3);
  text_printf(&text, "%s local %.4g", c->machine->n_levels > 0 ? "," : "", cost->communication[MACHINE_MAX_LEVELS] * 1e3);
  return text_str(&text);
}

static void enter_functions(Lowering *l, const Graph *graph) {
  for (int i = 0; i < graph->ops.len; i++)
    if (graph->ops.at[i].kind == OP_OPAQUE) names_set(&l->functions, graph->ops.at[i].opaque->function, i);
}

void pass_lower(Compilation *c) {
  Model *model = c->model;
  Program *p = NEW(c->arena, Program);
  p->arena = c->arena;
  p->model = model;
  p->mesh = c->mesh;
  p->microbatches = model->train->microbatches;
  p->plan_text = plan_text(c);
  if (c->machine != NULL) {
    p->machine_text = arena_printf(c->arena, "%s: %s, %.4g GiB on each", c->machine->name, machine_levels_text(c->arena, c->machine),
                                   c->machine->device.memory / (1 << 30));
    p->predicted_text = predicted_text(c);
    p->machine_name = c->machine->name;
    p->on_node = machine_on_node(c->machine, mesh_ranks(&c->mesh));
  }
  p->whole_batches = c->whole_batches;
  c->program = p;
  Lowering lowering = {.arena = c->arena, .scratch = arena_new(), .building = arena_new(), .program = p, .strip_bytes = c->strip_bytes}, *l = &lowering;
  l->c_names.arena = l->stored_names.arena = l->functions.arena = c->arena;
  enter_functions(l, model->init);
  enter_functions(l, model->train);
  enter_functions(l, model->eval);
  for (int i = 0; i < model->inputs.len; i++) vec_push(c->arena, &p->inputs, (ProgInput){i, -1, -1, -1});
  lower_graph(l, model->init);
  lower_graph(l, model->train);
  for (int i = 0; i < model->inputs.len; i++) {
    p->inputs.at[i].train = input_tensor(l, model->inputs.at[i].name);
    p->inputs.at[i].whole = whole_input(l, model->inputs.at[i].name);
  }
  enter_scalars(l, true);
  p->gradient_norm = model->train->gradient_norm >= 0 ? l->tensor_of[model->train->gradient_norm] : -1;
  lower_stores(l);
  lower_graph(l, model->eval);
  p->sampled = model->eval->sampled >= 0 ? l->tensor_of[model->eval->sampled] : -1;
  for (int i = 0; i < model->inputs.len; i++) p->inputs.at[i].eval = input_tensor(l, model->inputs.at[i].name);
  enter_scalars(l, false);
  arena_free(l->building);
  arena_free(l->scratch);
}
