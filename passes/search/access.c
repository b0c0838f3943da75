#include "access.h"

#include "../sharding.h"

// As if the one dimension of the layer were divided in two.
static const Mesh in_two = {.n_axes = 1, .axis = {{"", 2}}};

static const Op *divide(Graph *graph, int op, const OpDims *dims, int d) {
  graph->ops.at[op].sharding = sharding_replicate();
  if (dims->dim[d] >= 0) plan_split(&graph->ops.at[op].sharding, 0, dims->dim[d], dims->unit[d], &in_two);
  return &graph->ops.at[op];
}

static void note_cut(Access *access, int d, const Layout *layout) {
  const bool cut = layout->axis[0].kind == LAYOUT_SHARD;
  access->dim[d] = cut ? layout->axis[0].dim : -1;
  if (cut) access->cut[d] = layout->cut[access->dim[d]];
}

Access access_made(Graph *graph, int op, const OpDims *dims, int n_dims, int tensor) {
  Access access = {{0}, {{0}}};
  int result = 0;
  while (op_result(&graph->ops.at[op], result) != tensor) result++;
  for (int d = 0; d < n_dims; d++) {
    const Layout layout = sharding_result(graph, divide(graph, op, dims, d), result, &in_two);
    note_cut(&access, d, &layout);
  }
  return access;
}

static Access read_argument(Graph *graph, int op, const OpDims *dims, int n_dims, int tensor, const OpaqueArg *arg) {
  Access access = {{0}, {{0}}};
  for (int d = 0; d < n_dims; d++) {
    const Op *divided = divide(graph, op, dims, d);
    const Layout layout = arg != NULL ? sharding_argument(divided, arg, &in_two) : sharding_operand(graph, divided, tensor, &in_two);
    note_cut(&access, d, &layout);
  }
  return access;
}

Access access_read(Graph *graph, int op, const OpDims *dims, int n_dims, int tensor) {
  const Opaque *opaque = graph->ops.at[op].opaque;
  if (graph->ops.at[op].kind != OP_OPAQUE) return read_argument(graph, op, dims, n_dims, tensor, NULL);
  Access access;
  int n = 0;
  for (int a = 0; a < opaque->n_args; a++) {
    if (opaque->args[a].written || opaque->args[a].tensor != tensor) continue;
    const Access one = read_argument(graph, op, dims, n_dims, tensor, &opaque->args[a]);
    access = n++ == 0 ? one : access_both(&access, &one, n_dims);
  }
  return access;
}

Access access_both(const Access *a, const Access *b, int n_dims) {
  Access both = *a;
  for (int d = 0; d < n_dims; d++) {
    Cut *cut = &both.cut[d];
    const bool alike = a->dim[d] == b->dim[d] && cut->scale == b->cut[d].scale && cut->div == b->cut[d].div && cut->units == b->cut[d].units;
    if (!alike) both.dim[d] = -1;
    cut->before = max_i64(cut->before, b->cut[d].before);
    cut->after = max_i64(cut->after, b->cut[d].after);
  }
  return both;
}

bool access_same(const Access *a, const Access *b, int n_dims) {
  for (int d = 0; d < n_dims; d++)
    if (a->dim[d] != b->dim[d] || (a->dim[d] >= 0 && memcmp(&a->cut[d], &b->cut[d], sizeof a->cut[d]) != 0)) return false;
  return true;
}

static Access through_view(const Access *access, int n_dims, const Tensor *result, const Tensor *operand) {
  Access through = *access;
  for (int d = 0; d < n_dims; d++) {
    int64_t unit;
    const int dim = access->dim[d];
    through.dim[d] = dim < 0 || !cut_is_plain(&access->cut[d], result->extent[dim])
                         ? -1
                         : sharding_through_view(result, operand, dim, access->cut[d].scale, &unit);
    if (through.dim[d] >= 0) through.cut[d] = cut_plain(operand->extent[through.dim[d]], unit);
  }
  return through;
}

Access access_through_views(const Graph *graph, const Access *access, int n_dims, int tensor, int root) {
  Access through = *access;
  while (tensor != root) {
    const int operand = graph->ops.at[graph_tensor(graph, tensor)->producer].in;
    through = through_view(&through, n_dims, graph_tensor(graph, tensor), graph_tensor(graph, operand));
    tensor = operand;
  }
  return through;
}

OpDims access_dims(const Access *access, int n_dims, const Op *op) {
  OpDims dims;
  for (int d = 0; d < LAYER_MAX_DIMS; d++) {
    dims.dim[d] = d < n_dims && access->dim[d] < op->n_out ? access->dim[d] : -1;
    if (dims.dim[d] >= 0) dims.unit[d] = cut_is_plain(&access->cut[d], op->dims[dims.dim[d]].extent) ? access->cut[d].scale : 1;
  }
  return dims;
}

Region access_region(const Access *access, const Configuration *configuration, int n_axes) {
  Region region = {.used = configuration->used};
  bool twice[LAYOUT_MAX_RANK] = {false};
  int by[LAYOUT_MAX_RANK]; // the dimension of the layer that cuts each of the tensor's
  for (int a = 0; a < n_axes; a++) {
    const int d = configuration->dim[a], dim = d < 0 ? -1 : access->dim[d];
    if (dim < 0) continue;
    twice[dim] |= region.dim[dim].axes != 0 && by[dim] != d;
    by[dim] = d;
    region.dim[dim].axes |= 1u << a;
    region.dim[dim].cut = access->cut[d];
  }
  for (int dim = 0; dim < LAYOUT_MAX_RANK; dim++)
    if (twice[dim]) region.dim[dim] = (RegionDim){.axes = 0}; // what moves with two dimensions is needed whole
  return region;
}
