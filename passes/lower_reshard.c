// Changes of layout as steps: local copies, collectives, or messages between pairs of ranks.
#include "lowering.h"
#include "route.h"

static Mesh mesh_of_graph(const Lowering *l) {
  Mesh mesh = l->program->mesh;
  mesh.partial_batches = str_eq(l->graph->name, "eval");
  return mesh;
}

bool lowering_reshard_in_place(Lowering *l, const Op *op) {
  const Tensor *in = graph_tensor(l->graph, op->in), *out = graph_tensor(l->graph, op->out);
  const Mesh mesh = mesh_of_graph(l);
  const Shape shape = shape_of(in);
  const int buffer = l->program->tensors.at[l->tensor_of[op->in]].buffer;
  Reshard step;
  if (!reshard_find(&mesh, &shape, in->layout, out->layout, &step)) return false;
  switch (step.kind) {
  case RESHARD_all_reduce:
  case RESHARD_reduce:
  case RESHARD_drop:
  case RESHARD_same: return true;
  case RESHARD_broadcast: return !l->program->buffers.at[buffer].persistent; // stored tensors are written in the update only
  default: return false;
  }
}

static int element_size(const Lowering *l, const Tensor *t) { return l->program->model->f64 && t->type == TYPE_REAL ? 8 : 4; }

static int stage_for(Lowering *l, const Tensor *tensor, int64_t elements) {
  if (elements == 0) return -1;
  const Tensor stage = {.name = arena_printf(l->arena, "%s.stage", tensor->name), .role = ROLE_VALUE, .type = tensor->type,
                        .rank = 1, .extent = {elements}, .dim = {"part"}, .layout = &layout_replicated};
  return lowering_new_tensor(l, &stage, false);
}

// Of an evaluation the last batch may be smaller: what is known of the blocks of a whole one is not known of its.
static bool batch_is_divided(const Lowering *l, const Layout *parts, const Shape *shape, uint32_t axes) {
  const int batch = l->program->mesh.n_axes - 1;
  for (int i = 0; i < shape->rank; i++) {
    const uint32_t cut = layout_axes_of(parts, l->program->mesh.n_axes, i);
    if ((cut & axes) != 0 && cut >> batch & 1) return str_eq(l->graph->name, "eval");
  }
  return false;
}

// Blocks of equal size, one after the other in memory, are what the library takes. Others are packed, or have calls of their
// own.
static void plan_blocks(Lowering *l, Collective *c, const Tensor *tensor, const Shape *shape) {
  const bool gathers = c->kind == RESHARD_all_gather;
  const Layout *whole = gathers ? c->to : c->from, *parts = gathers ? c->from : c->to;
  const Blocks blocks = reshard_blocks(&l->program->mesh, shape, whole, parts, c->axes);
  c->direct = blocks.in_order && blocks.equal && !batch_is_divided(l, parts, shape, c->axes);
  if (!blocks.in_order) c->stage = stage_for(l, tensor, layout_elements(&l->program->mesh, shape, whole));
}

// The place of the rank that a tensor is pinned to among those along the axes.
static int root_of(const Mesh *mesh, uint32_t axes, const Layout *layout) {
  int root = 0;
  for (int a = 0; a < mesh->n_axes; a++)
    if (axes >> a & 1) root = root * mesh->axis[a].size + layout->axis[a].pin;
  return root;
}

static Extent count_of(const ProgTensor *t) {
  Extent count = extent_fixed(1);
  for (int i = 0; i < t->rank; i++) count = extent_mul(count, t->extent[i]);
  return count;
}

// Rows, of which a rank sends and receives no more than there are places, and three lists of places.
static int64_t rows_staged(const Lowering *l, const Mesh *mesh, const Shape *shape, const Op *op) {
  enum { LISTS = 3 };
  const Tensor *index = graph_tensor(l->graph, op->owners->index);
  const Shape places = shape_of(index);
  return layout_elements(mesh, shape, graph_tensor(l->graph, op->in)->layout) + LISTS * layout_elements(mesh, &places, index->layout);
}

bool lowering_reshard(Lowering *l, const Op *op, Collective *c) {
  const Mesh own = mesh_of_graph(l), *mesh = &own;
  const Tensor *in = graph_tensor(l->graph, op->in), *out = graph_tensor(l->graph, op->out);
  const Shape shape = shape_of(in);
  Reshard step;
  if (!reshard_find(mesh, &shape, in->layout, out->layout, &step)) fatal("a change of layout that is not one step");
  *c = (Collective){.kind = step.kind, .axes = step.axes, .tensor = l->tensor_of[op->in], .dst = l->tensor_of[op->out], .stage = -1};
  c->from = in->layout;
  c->to = out->layout;
  c->rank = in->rank;
  memcpy(c->extent, in->extent, sizeof in->extent);
  c->bytes = reshard_cost(mesh, &shape, c->from, c->to, step, element_size(l, in));
  for (int a = 0; a < mesh->n_axes; a++)
    if (step.axes >> a & 1 && axis_is_sum(&c->from->axis[a])) c->reduce = c->from->axis[a].reduce;
  const bool gathers = step.kind == RESHARD_all_gather;
  c->count = count_of(&l->program->tensors.at[gathers ? c->tensor : c->dst]);
  if (lowering_reshard_in_place(l, op)) c->dst = c->tensor;
  if (step.kind == RESHARD_reduce) c->root = root_of(mesh, step.axes, c->to);
  if (step.kind == RESHARD_broadcast) c->root = root_of(mesh, step.axes, c->from);
  if (gathers || step.kind == RESHARD_reduce_scatter) plan_blocks(l, c, in, &shape);
  if (reshard_how(step.kind) == RESHARD_MESSAGES)
    c->stage = stage_for(l, in, reshard_moves_rows(step.kind) ? rows_staged(l, mesh, &shape, op) : reshard_staged(mesh, &shape, c->from, c->to));
  if (reshard_moves_rows(step.kind)) c->owners = (RowOwners){l->tensor_of[op->owners->index], op->owners->dims, op->owners->rows};
  return reshard_how(step.kind) != RESHARD_NOTHING;
}
