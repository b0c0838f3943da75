#include "rewrite.h"

static void renumber_producers(Graph *graph) {
  for (int t = 0; t < graph->tensors.len; t++) graph_tensor(graph, t)->producer = -1;
  for (int i = 0; i < graph->ops.len; i++)
    for (int r = 0; r < op_results(&graph->ops.at[i]); r++)
      graph_tensor(graph, op_result(&graph->ops.at[i], r))->producer = i;
}

typedef struct LatestPhase {
  const Graph *graph;
  Phase phase;
} LatestPhase;

static void note_phase(void *ctx, int tensor) {
  LatestPhase *l = ctx;
  const int producer = graph_tensor(l->graph, tensor)->producer;
  if (producer >= 0 && l->graph->ops.at[producer].phase > l->phase) l->phase = l->graph->ops.at[producer].phase;
}

// An operator of the forward phase that reads what is only reported is only reported itself.
static void settle_phases(Graph *graph) {
  for (int i = 0; i < graph->ops.len; i++) {
    Op *op = &graph->ops.at[i];
    LatestPhase l = {graph, op->phase};
    if (op->phase == PHASE_FORWARD) op_visit_reads(op, note_phase, &l);
    op->phase = l.phase;
  }
}

// Moves each operator to its place, where it lies: a second list would take as much memory as the graph has.
static void move_ops(Graph *graph, int *place) {
  for (int i = 0; i < graph->ops.len; i++)
    while (place[i] != i) {
      const int to = place[i];
      const Op moved = graph->ops.at[i];
      graph->ops.at[i] = graph->ops.at[to];
      graph->ops.at[to] = moved;
      place[i] = place[to];
      place[to] = to;
    }
}

void graph_sort_by_phase(Graph *graph) {
  settle_phases(graph);
  graph_forget_old_ops(graph);
  Arena *scratch = arena_new();
  int *place = NEW_ARRAY(scratch, int, graph->ops.len), next = 0;
  for (int phase = PHASE_INIT; phase <= PHASE_UPDATE; phase++)
    for (int i = 0; i < graph->ops.len; i++)
      if ((int)graph->ops.at[i].phase == phase) place[i] = next++;
  move_ops(graph, place);
  arena_free(scratch);
  renumber_producers(graph);
}

void graph_keep_ops(Graph *graph, const bool *keep) {
  int n = 0;
  for (int i = 0; i < graph->ops.len; i++)
    if (keep[i]) graph->ops.at[n++] = graph->ops.at[i];
  graph->ops.len = n;
  renumber_producers(graph);
}

typedef struct Liveness {
  bool *live; // by tensor
} Liveness;

static void mark_live(void *ctx, int tensor) { ((Liveness *)ctx)->live[tensor] = true; }

void graph_drop_dead(Graph *graph) {
  Liveness l = {NEW_ARRAY(graph->arena, bool, graph->tensors.len)};
  bool *keep = NEW_ARRAY(graph->arena, bool, graph->ops.len);
  for (int i = 0; i < graph->stores.len; i++) mark_live(&l, graph->stores.at[i].value);
  for (int i = 0; i < graph->losses.len; i++) mark_live(&l, graph->losses.at[i].tensor);
  for (int i = 0; i < graph->metrics.len; i++) mark_live(&l, graph->metrics.at[i].tensor);
  if (graph->sampled >= 0) mark_live(&l, graph->sampled);
  if (graph->gradient_norm >= 0) mark_live(&l, graph->gradient_norm);
  for (int i = graph->ops.len - 1; i >= 0; i--) {
    const Op *op = &graph->ops.at[i];
    const Role role = graph_tensor(graph, op->out)->role;
    keep[i] = op_any_result(op, l.live) || role == ROLE_PARAM || role == ROLE_STATE;
    if (keep[i]) op_visit_reads(op, mark_live, &l);
  }
  graph_keep_ops(graph, keep);
}

const Expr *access_plain(const Graph *graph, int tensor, int first_dim) {
  const Tensor *t = graph_tensor(graph, tensor);
  Index index[IR_MAX_RANK];
  for (int i = 0; i < t->rank; i++) index[i] = index_dim(first_dim + i);
  return expr_access(graph->arena, tensor, t->type, t->rank, index, 0);
}

bool access_in_range(const Graph *graph, const Op *op, const Expr *access) {
  const Tensor *tensor = graph_tensor(graph, access->access.tensor);
  int64_t extent[IR_MAX_DIMS], lo, hi;
  for (int d = 0; d < op->n_dims; d++) extent[d] = op->dims[d].extent;
  for (int i = 0; i < access->access.rank; i++) {
    const Index *index = &access->access.index[i];
    index_range(index, extent, op->n_dims, &lo, &hi);
    if (index->div != 1 || lo < 0 || hi >= tensor->extent[i]) return false;
  }
  return true;
}

bool access_is_at_unit(const Graph *graph, const Op *op, const Expr *access, int i) {
  if (graph_tensor(graph, access->access.tensor)->extent[i] != 1) return false;
  int64_t extent[IR_MAX_DIMS], lo, hi;
  for (int d = 0; d < op->n_dims; d++) extent[d] = op->dims[d].extent;
  index_range(&access->access.index[i], extent, op->n_dims, &lo, &hi);
  return lo == 0 && hi == 0 && access->access.index[i].div == 1;
}

int access_full_dim(const Graph *graph, const Op *op, const Expr *access, int i) {
  const int d = index_plain_dim(&access->access.index[i]);
  return d >= 0 && op->dims[d].extent == graph_tensor(graph, access->access.tensor)->extent[i] ? d : -1;
}

bool access_is_leading(const Graph *graph, const Op *op, const Expr *access, int rank) {
  bool leads = access->access.rank == rank;
  for (int i = 0; i < rank && leads; i++) leads = access_full_dim(graph, op, access, i) == i;
  return leads;
}

int access_packing_order(const Graph *graph, const Op *op, const Expr *access, const bool *outer, int *dims) {
  bool taken[IR_MAX_DIMS] = {false};
  const int rank = access->access.rank;
  int n = 0, first_window = 0;
  while (first_window < rank && access_full_dim(graph, op, access, first_window) >= 0) first_window++;
  for (int round = 0; round < 3; round++) { // before the first window; inner dimensions; the rest
    const int begin = round == 0 ? 0 : first_window, end = round == 0 ? first_window : rank;
    for (int i = begin; i < end; i++)
      for (int d = 0; d < op->n_dims; d++) {
        if (!index_uses(&access->access.index[i], d) || taken[d] || (round == 1 && outer[d])) continue;
        taken[d] = true;
        dims[n++] = d;
      }
  }
  return n;
}

void op_drop_unit_dims(Graph *graph, Op *op) {
  Index by[IR_MAX_DIMS];
  Dim dims[IR_MAX_DIMS];
  int n = 0;
  bool change = false;
  for (int d = 0; d < op->n_dims; d++) {
    const bool unit = op->dims[d].extent == 1;
    change |= unit && (d >= op->n_out || expr_uses_dim(op->body, d));
    if (unit && d >= op->n_out) {
      by[d] = index_const(0);
      continue;
    }
    by[d] = unit ? index_const(0) : index_dim(n);
    dims[n++] = op->dims[d];
  }
  if (!change) return;
  op->body = expr_substitute(graph->arena, op->body, by, op->n_dims);
  memcpy(op->dims, dims, sizeof *dims * (size_t)n);
  op->n_dims = n;
  if (n > op->n_out) return;
  if (op->reduce == REDUCE_ARGMAX) op->body = expr_int(graph->arena, 0); // of one element
  op->reduce = REDUCE_NONE;
}

void dims_of_tensor(const Tensor *tensor, Dim *dims) {
  for (int d = 0; d < tensor->rank; d++) dims[d] = (Dim){tensor->dim[d], tensor->extent[d]};
}

Index op_reduced_position(const Op *op) {
  Index position = index_const(0);
  int64_t stride = 1;
  for (int d = op->n_dims - 1; d >= op->n_out; d--) {
    position = index_add(position, index_scale(index_dim(d), stride));
    stride *= op->dims[d].extent;
  }
  return position;
}

bool *graph_leaves(const Graph *graph, Arena *arena) {
  bool *leaf = NEW_ARRAY(arena, bool, graph->tensors.len);
  for (int i = 0; i < graph->stores.len; i++) leaf[graph->stores.at[i].value] = true;
  for (int i = 0; i < graph->losses.len; i++) leaf[graph->losses.at[i].tensor] = true;
  for (int i = 0; i < graph->metrics.len; i++) leaf[graph->metrics.at[i].tensor] = true;
  if (graph->sampled >= 0) leaf[graph->sampled] = true;
  if (graph->gradient_norm >= 0) leaf[graph->gradient_norm] = true;
  return leaf;
}

int graph_stored_from(const Graph *graph, int value) {
  int stored = -1;
  for (int i = 0; i < graph->stores.len; i++) {
    if (graph->stores.at[i].value != value) continue;
    if (stored >= 0) return -1;
    stored = graph->stores.at[i].state;
  }
  return stored;
}
