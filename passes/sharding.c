#include "sharding.h"

#include "../ir/pin.h"
#include "rewrite.h"

// ---- which dimension follows a shard -------------------------------------------------------------------------------

typedef struct DimSearch {
  const Graph *graph;
  const Op *op;
  int tensor, position; // which dimension of which tensor
  int dim;              // iteration dimension found: -2 none seen yet, -1 none fits
} DimSearch;

static void search_dim(void *ctx, const Expr *e) {
  DimSearch *s = ctx;
  if (e->access.tensor != s->tensor) return;
  const int dim = access_full_dim(s->graph, s->op, e, s->position);
  s->dim = s->dim == -2 || s->dim == dim ? dim : -1;
}

int sharding_dim_of(const Graph *graph, const Op *op, int tensor, int i) {
  if (op->kind == OP_OPAQUE) {
    for (int a = 0; a < op->opaque->n_args; a++)
      if (op->opaque->args[a].tensor == tensor && op->opaque->args[a].dim[i] >= 0) return op->opaque->args[a].dim[i];
    return -1;
  }
  DimSearch s = {graph, op, tensor, i, -2};
  expr_visit_accesses(op->body, search_dim, &s);
  return s.dim;
}

// ---- what a block needs of an operand ------------------------------------------------------------------------------

// The region of one dimension of a tensor that a block of the iteration space reads.
typedef struct Region {
  int dim;    // the split iteration dimension that moves the region; -1: none yet
  bool whole; // no smaller region than all of it
  Cut cut;
} Region;

typedef struct Regions { // of an operand, by dimension
  const Op *op;
  int tensor, rank;
  Region at[LAYOUT_MAX_RANK];
} Regions;

static int64_t unit_of_dim(const Op *op, int dim) {
  for (int a = 0; a < MESH_MAX_AXES; a++)
    if (op->sharding.dim[a] == dim) return op->sharding.unit[a];
  return 0; // not split
}

// The one split dimension that the index uses; -1: none, -2: several.
static int split_dim_of_index(const Op *op, const Index *index) {
  int found = -1;
  for (int d = 0; d < op->n_dims; d++) {
    if (!index_uses(index, d) || unit_of_dim(op, d) == 0) continue;
    if (found >= 0) return -2;
    found = d;
  }
  return found;
}

// Interval analysis: over a block [u*lo, u*(lo+len)) of dimension d, c*d + rest runs from c*u*lo + min(rest) to
// c*u*(lo+len-1) + c*(u-1) + max(rest).
static Cut cut_of_index(const Op *op, const Index *index, int dim) {
  const int64_t unit = unit_of_dim(op, dim), coef = index->coef[dim];
  int64_t extent[IR_MAX_DIMS], lo, hi;
  for (int d = 0; d < op->n_dims; d++) extent[d] = op->dims[d].extent;
  Index rest = *index;
  rest.coef[dim] = 0;
  index_range(&rest, extent, op->n_dims, &lo, &hi);
  return (Cut){op->dims[dim].extent / unit, coef * unit, -lo, coef * (unit - 1) + hi, index->div};
}

static void extend_region(Region *r, const Op *op, const Index *index) {
  const int dim = split_dim_of_index(op, index);
  if (dim < 0 || index->coef[dim] <= 0 || (r->dim >= 0 && r->dim != dim)) {
    r->whole = true;
    return;
  }
  const Cut cut = cut_of_index(op, index, dim);
  if (r->dim < 0) {
    r->dim = dim;
    r->cut = cut;
  } else if (cut.scale != r->cut.scale || cut.div != r->cut.div) {
    r->whole = true;
  } else {
    r->cut.before = max_i64(r->cut.before, cut.before);
    r->cut.after = max_i64(r->cut.after, cut.after);
  }
}

static void extend_regions(void *ctx, const Expr *e) {
  Regions *r = ctx;
  if (e->access.tensor != r->tensor) return;
  for (int i = 0; i < r->rank; i++)
    if (!r->at[i].whole) extend_region(&r->at[i], r->op, &e->access.index[i]);
}

static void operand_dim(const Region *r, const Op *op, int i, const Mesh *mesh, bool *taken, Layout *layout) {
  if (r->whole || r->dim < 0 || taken[r->dim]) return;
  taken[r->dim] = true;
  layout->cut[i] = r->cut;
  for (int a = 0; a < mesh->n_axes; a++)
    if (op->sharding.dim[a] == r->dim) layout->axis[a] = (AxisLayout){.kind = LAYOUT_SHARD, .dim = i};
}

// A dimension that cuts two dimensions of the tensor cuts the first.
static void operand_dims(const Graph *graph, const Op *op, int tensor, const Mesh *mesh, Layout *layout) {
  Regions r = {.op = op, .tensor = tensor, .rank = graph_tensor(graph, tensor)->rank};
  bool taken[IR_MAX_DIMS] = {false};
  for (int i = 0; i < r.rank; i++) r.at[i] = (Region){.dim = -1};
  expr_visit_accesses(op->body, extend_regions, &r);
  for (int i = 0; i < r.rank; i++) operand_dim(&r.at[i], op, i, mesh, taken, layout);
}

static Layout through_view(const Graph *graph, const Op *op, bool forward, const Mesh *mesh);

static bool divides(const OpSharding *sharding, const Mesh *mesh) {
  for (int a = 0; a < mesh->n_axes; a++)
    if (sharding->dim[a] >= 0) return true;
  return false;
}

Layout sharding_operand(const Graph *graph, const Op *op, int tensor, const Mesh *mesh) {
  if (op->kind != OP_COMPUTE) return through_view(graph, op, false, mesh);
  Layout layout = layout_replicated;
  if (divides(&op->sharding, mesh)) operand_dims(graph, op, tensor, mesh, &layout);
  for (int a = 0; a < mesh->n_axes; a++) {
    if (op->sharding.pin[a] >= 0) layout.axis[a] = (AxisLayout){.kind = LAYOUT_PINNED, .pin = op->sharding.pin[a]};
    if (op->sharding.pending[a] && axis_is_sum(&graph_tensor(graph, tensor)->layout->axis[a]))
      layout.axis[a] = (AxisLayout){.kind = LAYOUT_PARTIAL, .reduce = graph_tensor(graph, tensor)->layout->axis[a].reduce};
  }
  return layout;
}

Layout sharding_argument(const Op *op, const OpaqueArg *arg, const Mesh *mesh) {
  Layout layout = layout_replicated;
  for (int a = 0; a < mesh->n_axes; a++) {
    const int dim = op->sharding.dim[a];
    if (op->sharding.pin[a] >= 0) layout.axis[a] = (AxisLayout){.kind = LAYOUT_PINNED, .pin = op->sharding.pin[a]};
    if (dim < 0) continue;
    if (arg->written) layout.axis[a] = (AxisLayout){.kind = LAYOUT_PARTIAL, .reduce = REDUCE_SUM};
    for (int i = 0; i < arg->rank; i++) {
      if (arg->dim[i] != dim) continue;
      layout.axis[a] = (AxisLayout){.kind = LAYOUT_SHARD, .dim = i};
      layout.cut[i] = cut_plain(op->dims[dim].extent, op->sharding.unit[a]);
    }
  }
  return layout;
}

static Layout opaque_result(const Op *op, int result, const Mesh *mesh) {
  int a = 0;
  while (op->opaque->args[a].tensor != op_result(op, result) || !op->opaque->args[a].written) a++;
  return sharding_argument(op, &op->opaque->args[a], mesh);
}

bool sharding_owners(const Graph *graph, const Op *op, int dim, RowOwners *owners) {
  Pin pin[IR_MAX_DIMS];
  for (int i = op_pins(op, pin) - 1; i >= 0; i--) {
    const Expr *at = pin[i].at;
    if (pin[i].dim != dim || at->kind != EXPR_ACCESS || at->access.outside != 0 || at->access.rank == 0) continue;
    *owners = (RowOwners){at->access.tensor, at->access.rank, op->dims[dim].extent};
    return access_is_leading(graph, op, at, at->access.rank) && owners->dims <= op->n_out;
  }
  return false;
}

typedef struct TableSearch {
  const Graph *graph;
  const Op *op;
  int dim;
  bool found;
} TableSearch;

static void search_table(void *ctx, const Expr *e) {
  TableSearch *s = ctx;
  const Tensor *t = graph_tensor(s->graph, e->access.tensor);
  s->found |= (t->role == ROLE_PARAM || t->role == ROLE_STATE) && access_full_dim(s->graph, s->op, e, 0) == s->dim;
}

// Whether the rows along a dimension are those of a stored table: of other tensors ranks look up what they made, in small pieces.
static bool looks_up_stored(const Graph *graph, const Op *op, int dim) {
  TableSearch s = {graph, op, dim, false};
  expr_visit_accesses(op->body, search_table, &s);
  return s.found;
}

// Of a sum that is split along a dimension that it reduces.
static AxisLayout partial_result(const Graph *graph, const Op *op, int axis) {
  RowOwners owners;
  AxisLayout layout = {.kind = LAYOUT_PARTIAL, .reduce = op->reduce};
  const int dim = op->sharding.dim[axis];
  if (op->sharding.unit[axis] == 1 && sharding_owners(graph, op, dim, &owners) && looks_up_stored(graph, op, dim)) {
    layout.kind = LAYOUT_OWNED;
    layout.dim = (int8_t)owners.dims;
  }
  return layout;
}

Layout sharding_result(const Graph *graph, const Op *op, int result, const Mesh *mesh) {
  if (op->kind == OP_OPAQUE) return opaque_result(op, result, mesh);
  if (op->kind != OP_COMPUTE) return through_view(graph, op, true, mesh);
  Layout layout = layout_replicated;
  for (int a = 0; a < mesh->n_axes; a++) {
    const int dim = op->sharding.dim[a];
    if (op->sharding.pin[a] >= 0) layout.axis[a] = (AxisLayout){.kind = LAYOUT_PINNED, .pin = op->sharding.pin[a]};
    else if (op->sharding.pending[a]) layout.axis[a] = (AxisLayout){.kind = LAYOUT_PARTIAL, .reduce = REDUCE_SUM};
    else if (dim >= op->n_out) layout.axis[a] = partial_result(graph, op, a);
    else if (dim >= 0) {
      layout.axis[a] = (AxisLayout){.kind = LAYOUT_SHARD, .dim = dim};
      layout.cut[dim] = cut_plain(op->dims[dim].extent, op->sharding.unit[a]);
    }
  }
  return layout;
}

// ---- views ---------------------------------------------------------------------------------------------------------

// Elements of the dimensions after d up to the end of its group.
static int64_t inner_elements(const Tensor *t, int d, int end) {
  int64_t elements = 1;
  for (int i = d + 1; i < end; i++) elements *= t->extent[i];
  return elements;
}

int sharding_through_view(const Tensor *in, const Tensor *out, int dim, int64_t unit, int64_t *out_unit) {
  // Of several dimensions of extent 1 the one of that name.
  for (int o = 0; in->extent[dim] == 1 && unit == 1 && o < out->rank; o++) {
    *out_unit = 1;
    if (out->extent[o] == 1 && str_eq(out->dim[o], in->dim[dim])) return o;
  }
  // Walk both shapes in groups of equal products: [n, t | c] and [n*t | c].
  for (int i = 0, o = 0; i < in->rank && o < out->rank;) {
    int in_end = i + 1, out_end = o + 1;
    int64_t in_size = in->extent[i], out_size = out->extent[o];
    while (in_size != out_size) {
      if (in_size < out_size && in_end < in->rank) in_size *= in->extent[in_end++];
      else if (out_size < in_size && out_end < out->rank) out_size *= out->extent[out_end++];
      else return -1;
    }
    if (dim >= i && dim < in_end) {
      while (i < dim && in->extent[i] == 1) i++; // dimensions of extent 1 before it do not matter
      if (i != dim) return -1;
      const int64_t elements = unit * inner_elements(in, dim, in_end);
      // Nor those of the result, unless a unit is all that lies in one: of [5 elements in one unit] and [n=1, t=5] that is n.
      while (o + 1 < out_end && out->extent[o] == 1 && elements % inner_elements(out, o, out_end) != 0) o++;
      const int64_t inner = inner_elements(out, o, out_end);
      *out_unit = elements / inner;
      return elements % inner == 0 ? o : -1;
    }
    i = in_end;
    o = out_end;
  }
  return -1;
}

// The layout in which a view reads its operand as it lies (the part of it that the result can have, too), or the
// result's own. Of two dimensions that go into one of the result, one of extent 1 and one behind it, the first is passed on.
static Layout through_view(const Graph *graph, const Op *op, bool forward, const Mesh *mesh) {
  const Tensor *in = graph_tensor(graph, op->in), *out = graph_tensor(graph, op->out);
  Layout layout = layout_replicated;
  int source[LAYOUT_MAX_RANK]; // by dimension of the result: that of the operand which cuts it
  for (int d = 0; d < out->rank; d++) source[d] = -1;
  for (int a = 0; a < mesh->n_axes; a++) {
    const AxisLayout axis = in->layout->axis[a];
    if (axis.kind == LAYOUT_PINNED) layout.axis[a] = axis;
    if (op->sharding.pending[a]) layout.axis[a] = (AxisLayout){.kind = LAYOUT_PARTIAL, .reduce = REDUCE_SUM};
    if (axis.kind != LAYOUT_SHARD || !cut_is_plain(&in->layout->cut[axis.dim], in->extent[axis.dim])) continue;
    int64_t unit;
    const int dim = sharding_through_view(in, out, axis.dim, in->layout->cut[axis.dim].scale, &unit);
    if (dim < 0 || (source[dim] >= 0 && source[dim] != axis.dim)) continue;
    source[dim] = axis.dim;
    const int there = forward ? dim : axis.dim;
    layout.axis[a] = (AxisLayout){.kind = LAYOUT_SHARD, .dim = there};
    layout.cut[there] = forward ? cut_plain(out->extent[dim], unit) : in->layout->cut[axis.dim];
  }
  return layout;
}

// ---- sums that stay pending ----------------------------------------------------------------------------------------

bool sharding_makes_sums(const Graph *graph, int tensor, int axis, const Mesh *mesh) {
  const int producer = graph_tensor(graph, tensor)->producer;
  if (producer < 0) return false;
  const Op *op = &graph->ops.at[producer];
  if (op->sharding.pending[axis]) return true;
  if (op->kind == OP_COMPUTE) return op->sharding.dim[axis] >= op->n_out && op->reduce == REDUCE_SUM;
  if (op->kind != OP_OPAQUE) return false;
  int result = 0;
  while (op_result(op, result) != tensor) result++;
  const AxisLayout made = sharding_result(graph, op, result, mesh).axis[axis];
  return axis_is_sum(&made);
}

// How an expression depends on the tensors that are partial sums along an axis: not at all, as a sum of multiples of them
// (nothing is one, too), as such a sum and a real number free of them, or otherwise.
typedef enum Dependence { FREE, NOTHING, LINEAR, MIXED, OTHER } Dependence;

static Dependence of_sum(Dependence x, Dependence y, ScalarType type) {
  if (x == NOTHING || y == NOTHING) return x == NOTHING ? y : x;
  if (x == OTHER || y == OTHER) return OTHER;
  if (x == y && x != MIXED) return x;
  return type == TYPE_REAL ? MIXED : OTHER;
}

// A product or a choice of two parts.
static Dependence unmixed(Dependence x) { return x == MIXED ? OTHER : x; }

static Dependence of_expr(const Graph *graph, const Expr *e, int axis, const Mesh *mesh) {
  if (e->kind == EXPR_ACCESS && sharding_makes_sums(graph, e->access.tensor, axis, mesh))
    return e->access.outside == 0 ? LINEAR : OTHER;
  if (e->kind != EXPR_CALL) return expr_is_const(e, 0) ? NOTHING : FREE;
  Dependence arg[3] = {FREE, FREE, FREE};
  bool free = true;
  for (int i = 0; i < fn_arity(e->call.fn); i++) {
    arg[i] = of_expr(graph, e->call.arg[i], axis, mesh);
    free &= arg[i] == FREE || arg[i] == NOTHING;
  }
  if (free) return FREE;
  switch (e->call.fn) {
  case FN_neg: return arg[0];
  case FN_add:
  case FN_sub: return of_sum(arg[0], arg[1], e->type);
  case FN_mul: return unmixed(arg[0] == FREE ? arg[1] : arg[1] == FREE ? arg[0] : OTHER);
  case FN_div: return unmixed(arg[1] == FREE ? arg[0] : OTHER);
  case FN_select: return unmixed(arg[0] == FREE ? of_sum(arg[1], arg[2], e->type) : OTHER);
  default: return OTHER;
  }
}

static Dependence of_op(const Graph *graph, const Op *op, int axis, const Mesh *mesh) {
  const bool adds = op->kind == OP_COMPUTE && (op->reduce == REDUCE_NONE || op->reduce == REDUCE_SUM);
  return adds ? of_expr(graph, op->body, axis, mesh) : OTHER;
}

bool sharding_adds_sums(const Graph *graph, const Op *op, int axis, const Mesh *mesh) {
  if (op->kind == OP_VIEW) return sharding_makes_sums(graph, op->in, axis, mesh);
  const Dependence dependence = of_op(graph, op, axis, mesh);
  return dependence == LINEAR || dependence == MIXED;
}

bool sharding_can_share(const Graph *graph, const Op *op, int axis, const Mesh *mesh) {
  return graph_tensor(graph, op->out)->type == TYPE_REAL && of_op(graph, op, axis, mesh) != OTHER;
}

const Expr *sharding_share(const Graph *graph, const Expr *e, const bool *pending, const Mesh *mesh) {
  bool mixed[MESH_MAX_AXES] = {false}, any = false;
  int64_t ranks = 1;
  for (int a = 0; a < mesh->n_axes; a++) {
    const Dependence dependence = pending[a] ? of_expr(graph, e, a, mesh) : NOTHING;
    if (dependence == FREE) ranks *= mesh->axis[a].size;
    mixed[a] = dependence == MIXED;
    any |= mixed[a];
  }
  if (any) {
    const Expr *arg[2] = {NULL, NULL};
    for (int i = 0; i < fn_arity(e->call.fn); i++) arg[i] = sharding_share(graph, e->call.arg[i], mixed, mesh);
    e = expr_call(graph->arena, e->call.fn, arg[0], arg[1], NULL);
  }
  return ranks > 1 ? expr_call(graph->arena, FN_div, e, expr_real(graph->arena, (double)ranks), NULL) : e;
}
