// What an operator does along an axis of which the plan says nothing.
//
// First its operands are asked: it splits the dimension through which it reads one that is cut (the first that is, unless that
// leaves partial sums and the cut of another moves less), or is pinned with those that are. What reads nothing but partial sums and adds them up leaves them pending, so that one reduction takes the place of
// several:
//   w.grad[v, c] = w.grad.1[v, c] + w.grad.2[v, c]       both partial: the sum is, and is reduced once
// What it adds that is not partial each rank adds its share of.
// Then its readers: where all of them want the same part of the result, or in one place, no more than that is made, and there:
//   y.grad[n, c] = picked[n] * (label[n] == c)           made in the parts of c in which it is added to others
// A copy that all read whole is made whole where what it copies is gathered for others, too.
// Then those that read the same partial sums: of these it takes the part that the others take, so that they are scattered.
//   b.grad[c] = sum(n) y.grad[n, c]                      beside  w.grad[c, k] = sum(n) y.grad[n, c] * x[n, k], where x is cut
// In the update of a parameter the gradient is not asked: the update is where the parameter and the states are. Nor is what a gradient
// has as rows asked where these are summed: the update needs all of them anyway.
#include "planning.h"
#include "sharding.h"

// ---- operands ------------------------------------------------------------------------------------------------------

// What the operands of an operator would have it do along an axis.
typedef struct Vote {
  const Planner *p;
  const Graph *graph;
  const Op *op;
  int axis;
  int dims[IR_MAX_DIMS], n_dims; // in the order of operands
  int64_t units[IR_MAX_DIMS];
  int pin; // -1: none yet, -2: there are several
} Vote;

// A gradient, or what is made of it before the update of a parameter begins, or the rows of it that are an input. What has samples keeps
// to them.
static bool has_no_vote(const Vote *v, int tensor) {
  const Tensor *out = graph_tensor(v->graph, v->op->out);
  if (v->axis == v->p->mesh.n_axes - 1) return false;
  if (out->role == ROLE_VALUE && out->of >= 0) return true;
  const int param = plan_update_of(v->p, v->graph, v->op), producer = graph_tensor(v->graph, tensor)->producer;
  if (param < 0) return false;
  return producer < 0 ? graph_tensor(v->graph, tensor)->role == ROLE_INPUT : plan_update_of(v->p, v->graph, &v->graph->ops.at[producer]) != param;
}

static void vote(Vote *v, int tensor) {
  const Tensor *t = graph_tensor(v->graph, tensor);
  const AxisLayout layout = t->layout->axis[v->axis];
  if ((layout.kind != LAYOUT_PINNED && layout.kind != LAYOUT_SHARD) || has_no_vote(v, tensor)) return;
  if (layout.kind == LAYOUT_PINNED) v->pin = v->pin == -1 || v->pin == layout.pin ? layout.pin : -2;
  if (layout.kind != LAYOUT_SHARD || !cut_is_plain(&t->layout->cut[layout.dim], t->extent[layout.dim])) return;
  const int dim = sharding_dim_of(v->graph, v->op, tensor, layout.dim);
  const bool parts = v->p->mesh.axis[v->axis].size > 1;
  if (dim < 0 || (parts && dim >= v->op->n_out && v->op->reduce == REDUCE_ARGMAX)) return;
  for (int i = 0; i < v->n_dims; i++)
    if (v->dims[i] == dim) return;
  v->dims[v->n_dims] = dim;
  v->units[v->n_dims++] = t->layout->cut[layout.dim].scale;
}

// What one split moves, in elements: operands that are cut otherwise, and the result where it is partial.
typedef struct Moved {
  const Vote *vote;
  int dim;
  double elements;
} Moved;

static void add_moved(Moved *m, int tensor) {
  const Vote *v = m->vote;
  const Tensor *t = graph_tensor(v->graph, tensor);
  const AxisLayout layout = t->layout->axis[v->axis];
  if (layout.kind != LAYOUT_SHARD || sharding_dim_of(v->graph, v->op, tensor, layout.dim) == m->dim) return;
  bool again = false; // it is cut, along another dimension
  for (int i = 0; i < t->rank; i++) again |= sharding_dim_of(v->graph, v->op, tensor, i) == m->dim;
  m->elements += (double)tensor_elements(t) / (again ? v->p->mesh.axis[v->axis].size : 1);
}

static double moved_by(const Vote *v, int choice) {
  Moved m = {v, v->dims[choice], 0};
  const IdList reads = plan_reads(v->p, v->graph, v->op);
  for (int i = 0; i < reads.len; i++) add_moved(&m, reads.at[i]);
  return m.elements + (m.dim >= v->op->n_out ? (double)tensor_elements(graph_tensor(v->graph, v->op->out)) : 0);
}

// The first split that is asked for; where that leaves partial sums, one of the result that moves less.
static int choose_vote(const Vote *v) {
  int best = 0;
  if (v->n_dims < 2 || v->dims[0] < v->op->n_out || v->op->kind != OP_COMPUTE) return best;
  for (int i = 1; i < v->n_dims; i++)
    if (v->dims[i] < v->op->n_out && moved_by(v, i) < moved_by(v, best)) best = i;
  return best;
}

typedef struct Terms { // the partial sums that an operator reads
  const Planner *p;
  const Graph *graph;
  int axis;
  VEC(int) seen;
  double elements;
  bool shared; // somebody else needs one of them, too
} Terms;

bool plan_is_term(const Planner *p, const Graph *graph, int tensor) {
  const Uses *uses = plan_uses(p, graph, tensor);
  return uses->ops.len <= 1 && uses->stores.len == 0 && !uses->reported && graph_tensor(graph, tensor)->role != ROLE_GRADIENT;
}

static void count_term(Terms *terms, int tensor) {
  const Tensor *t = graph_tensor(terms->graph, tensor);
  if (!sharding_makes_sums(terms->graph, tensor, terms->axis, &terms->p->mesh)) return;
  terms->shared |= !plan_is_term(terms->p, terms->graph, tensor);
  for (int i = 0; i < terms->seen.len; i++)
    if (terms->seen.at[i] == tensor) return;
  vec_push(terms->p->arena, &terms->seen, tensor);
  terms->elements += (double)tensor_elements(t);
}

static Terms terms_of(const Planner *p, const Graph *graph, const Op *op, int axis) {
  Terms terms = {.p = p, .graph = graph, .axis = axis};
  const IdList reads = plan_reads(p, graph, op);
  for (int i = 0; i < reads.len; i++) count_term(&terms, reads.at[i]);
  return terms;
}

bool plan_leaves_pending(const Planner *p, const Graph *graph, const Op *op, int axis) {
  if (p->mesh.axis[axis].size == 1 || !sharding_adds_sums(graph, op, axis, &p->mesh)) return false;
  const Terms terms = terms_of(p, graph, op, axis);
  return !terms.shared && (op->kind == OP_VIEW || terms.elements > (double)tensor_elements(graph_tensor(graph, op->out)));
}

bool plan_may_leave_pending(const Planner *p, const Graph *graph, const Op *op, int axis) {
  return p->mesh.axis[axis].size > 1 && sharding_can_share(graph, op, axis, &p->mesh) && !terms_of(p, graph, op, axis).shared;
}

bool plan_follow_operands(OpSharding *s, const Planner *p, const Graph *graph, const Op *op, int axis) {
  Vote v = {.p = p, .graph = graph, .op = op, .axis = axis, .pin = -1};
  const IdList reads = plan_reads(p, graph, op);
  for (int i = 0; i < reads.len && op->kind != OP_VIEW; i++) vote(&v, reads.at[i]);
  const int best = choose_vote(&v);
  if (v.n_dims > 0) plan_split(s, axis, v.dims[best], v.units[best], &p->mesh);
  else if (v.pin >= 0) s->pin[axis] = v.pin;
  else s->pending[axis] = plan_leaves_pending(p, graph, op, axis);
  return v.n_dims > 0 || v.pin >= 0 || s->pending[axis];
}

// ---- readers -------------------------------------------------------------------------------------------------------

// A part or a place that is wanted of a tensor; both -1: none, or different ones.
typedef struct Want {
  int dim;
  int64_t unit;
  int pin;
} Want;

static const Want nothing = {-1, 1, -1};

static bool wants(Want w) { return w.dim >= 0 || w.pin >= 0; }

static Want want_of_uses(const Planner *p, const Graph *graph, int tensor, int axis);

static Want want_of_reader(const Planner *p, const Graph *graph, const Op *reader, int tensor, int axis) {
  const Tensor *t = graph_tensor(graph, tensor);
  Want want = nothing;
  if (reader->kind == OP_VIEW) {
    const Want behind = want_of_uses(p, graph, reader->out, axis);
    want.pin = behind.pin;
    if (behind.dim >= 0)
      want.dim = sharding_through_view(graph_tensor(graph, reader->out), t, behind.dim, behind.unit, &want.unit);
  } else if (reader->kind == OP_COMPUTE) {
    const Layout layout = sharding_operand(graph, reader, tensor, &p->mesh);
    const int dim = layout.axis[axis].kind == LAYOUT_SHARD ? layout.axis[axis].dim : -1;
    if (dim >= 0 && cut_is_plain(&layout.cut[dim], t->extent[dim])) want = (Want){dim, layout.cut[dim].scale, -1};
    if (layout.axis[axis].kind == LAYOUT_PINNED) want.pin = layout.axis[axis].pin;
  }
  return want;
}

static Want want_of_uses(const Planner *p, const Graph *graph, int tensor, int axis) {
  const Uses *uses = plan_uses(p, graph, tensor);
  Want all = nothing;
  for (int i = 0; i < uses->ops.len + uses->stores.len; i++) {
    Want want = nothing;
    if (i < uses->ops.len) {
      want = want_of_reader(p, graph, &graph->ops.at[uses->ops.at[i]], tensor, axis);
    } else {
      const int state = graph->stores.at[uses->stores.at[i - uses->ops.len]].state;
      const OpSharding stored = plan_stored(p, graph_tensor(graph, state)->name);
      want = (Want){stored.dim[axis], stored.unit[axis], stored.pin[axis]};
    }
    if (!wants(want) || (i > 0 && (want.dim != all.dim || want.unit != all.unit || want.pin != all.pin))) return nothing;
    all = want;
  }
  return uses->reported ? nothing : all;
}

// ---- others that read the same -------------------------------------------------------------------------------------

typedef struct Beside {
  const Planner *p;
  const Graph *graph;
  const Op *op;
  int axis;
  Want want;
} Beside;

// The first part that an operator behind this one takes of the partial sums.
static void ask_beside(Beside *b, int tensor) {
  const Uses *uses = plan_uses(b->p, b->graph, tensor);
  if (!sharding_makes_sums(b->graph, tensor, b->axis, &b->p->mesh)) return;
  for (int i = 0; i < uses->ops.len && b->want.dim < 0; i++) {
    const Op *other = &b->graph->ops.at[uses->ops.at[i]];
    if (other <= b->op || other->kind != OP_COMPUTE) continue;
    const Want want = want_of_reader(b->p, b->graph, other, tensor, b->axis);
    const int dim = want.dim >= 0 ? sharding_dim_of(b->graph, b->op, tensor, want.dim) : -1;
    if (dim >= 0 && (dim < b->op->n_out || b->op->reduce != REDUCE_ARGMAX)) b->want = (Want){dim, want.unit, -1};
  }
}

// ---- copies --------------------------------------------------------------------------------------------------------

static bool reads_whole(const Planner *p, const Graph *graph, int reader, int tensor, int axis) {
  const Op *op = &graph->ops.at[reader];
  return op->kind == OP_COMPUTE && sharding_operand(graph, op, tensor, &p->mesh).axis[axis].kind == LAYOUT_REPLICATED;
}

bool plan_copies_whole(const Planner *p, const Graph *graph, const Op *op, int axis) {
  if (!plan_is_copy(graph, op) || p->mesh.axis[axis].size == 1) return false;
  const Uses *uses = plan_uses(p, graph, op->out), *others = plan_uses(p, graph, op->body->access.tensor);
  if (uses->reported || uses->stores.len > 0) return false;
  for (int i = 0; i < uses->ops.len; i++)
    if (!reads_whole(p, graph, uses->ops.at[i], op->out, axis)) return false;
  for (int i = 0; i < others->ops.len; i++)
    if (&graph->ops.at[others->ops.at[i]] > op && reads_whole(p, graph, others->ops.at[i], op->body->access.tensor, axis)) return true;
  return false;
}

bool plan_is_copy(const Graph *graph, const Op *op) {
  return op->kind == OP_COMPUTE && op->reduce == REDUCE_NONE && op->body->kind == EXPR_ACCESS &&
         tensor_elements(graph_tensor(graph, op->body->access.tensor)) == tensor_elements(graph_tensor(graph, op->out));
}

void plan_follow_others(OpSharding *s, const Planner *p, const Graph *graph, const Op *op, int axis) {
  if (op->kind != OP_COMPUTE || p->mesh.axis[axis].size == 1) return;
  Want want = want_of_uses(p, graph, op->out, axis);
  if (!wants(want)) {
    Beside beside = {p, graph, op, axis, want};
    const IdList reads = plan_reads(p, graph, op);
    for (int i = 0; i < reads.len; i++) ask_beside(&beside, reads.at[i]);
    want = beside.want;
  }
  if (want.dim >= 0) plan_split(s, axis, want.dim, want.unit, &p->mesh);
  s->pin[axis] = want.pin;
}
