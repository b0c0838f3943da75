#include "parts.h"

#include "rewrite.h"

// ---- operators that put tensors behind each other ----------------------------------------------------------------

static bool is_piece(const Graph *graph, const Op *op, const Expr *e, int64_t *from) {
  if (e->kind != EXPR_ACCESS || e->type != TYPE_REAL || e->access.outside != 0 || e->access.rank != op->n_out)
    return false;
  Index first = e->access.index[0];
  *from = -first.base;
  first.base = 0;
  if (index_plain_dim(&first) != 0) return false;
  for (int i = 1; i < e->access.rank; i++)
    if (access_full_dim(graph, op, e, i) != i) return false;
  return true;
}

static bool collect_pieces(const Graph *graph, const Op *op, const Expr *e, Arena *arena, Pieces *pieces) {
  if (e->kind == EXPR_CALL && e->call.fn == FN_add)
    return collect_pieces(graph, op, e->call.arg[0], arena, pieces) &&
           collect_pieces(graph, op, e->call.arg[1], arena, pieces);
  Piece piece = {.tensor = e->kind == EXPR_ACCESS ? e->access.tensor : -1};
  if (!is_piece(graph, op, e, &piece.from)) return false;
  vec_push(arena, pieces, piece);
  for (int i = pieces->len - 1; i > 0 && pieces->at[i - 1].from > piece.from; i--) {
    pieces->at[i] = pieces->at[i - 1];
    pieces->at[i - 1] = piece;
  }
  return true;
}

bool pieces_match(const Graph *graph, const Op *op, Arena *arena, Pieces *pieces) {
  *pieces = (Pieces){NULL, 0, 0};
  if (op->kind != OP_COMPUTE || op->reduce != REDUCE_NONE || op->n_out == 0 || op->n_dims != op->n_out) return false;
  if (op->body->kind != EXPR_CALL || op->body->call.fn != FN_add) return false;
  if (!collect_pieces(graph, op, op->body, arena, pieces)) return false;
  int64_t end = 0;
  for (int i = 0; i < pieces->len; i++) {
    if (pieces->at[i].from != end) return false;
    end += graph_tensor(graph, pieces->at[i].tensor)->extent[0];
  }
  return end == op->dims[0].extent;
}

// ---- which pieces are made in place ------------------------------------------------------------------------------

typedef struct Placer {
  Lowering *l;
  bool *leaf;    // by tensor: read by something other than operators
  bool *foreign; // by tensor: read or made by something other than kernels, products and views
} Placer;

static void note_foreign(void *ctx, int tensor) { ((bool *)ctx)[tensor] = true; }

static void collect_facts(Placer *p) {
  const Graph *graph = p->l->graph;
  p->leaf = graph_leaves(graph, p->l->scratch);
  p->foreign = NEW_ARRAY(p->l->scratch, bool, graph->tensors.len);
  for (int i = graph->ops.len - 1; i >= 0; i--) { // what holds of a view holds of what it views
    const Op *op = &graph->ops.at[i];
    if (op->kind == OP_VIEW) {
      p->leaf[op->in] |= p->leaf[op->out];
      p->foreign[op->in] |= p->foreign[op->out];
    } else if (op->kind != OP_COMPUTE) {
      op_visit_reads(op, note_foreign, p->foreign);
      for (int r = 0; r < op_results(op); r++) p->foreign[op_result(op, r)] = true;
    }
  }
}

static int viewed(const Graph *graph, int tensor) {
  int producer = graph_tensor(graph, tensor)->producer;
  while (producer >= 0 && graph->ops.at[producer].kind == OP_VIEW) {
    tensor = graph->ops.at[producer].in;
    producer = graph_tensor(graph, tensor)->producer;
  }
  return tensor;
}

// This rank's part of the piece lies in its part of the whole as one block.
static bool lies_alike(Lowering *l, const Op *op, int piece) {
  const Tensor *whole = graph_tensor(l->graph, op->out), *part = graph_tensor(l->graph, piece);
  for (int a = 0; a < l->program->mesh.n_axes; a++) {
    const AxisLayout *x = &whole->layout->axis[a], *y = &part->layout->axis[a];
    if (x->kind != y->kind || (x->kind == LAYOUT_PINNED && x->pin != y->pin)) return false;
    if (axis_is_sum(x) || (x->kind == LAYOUT_SHARD && (x->dim == 0 || x->dim != y->dim))) return false;
  }
  for (int i = 1; i < whole->rank; i++)
    if (!extent_equal(lowering_tensor_extent(l, whole, i), lowering_tensor_extent(l, part, i))) return false;
  return lowering_tensor_extent(l, whole, 0).block < 0 && lowering_tensor_extent(l, part, 0).block < 0;
}

static Extent start_of(Lowering *l, const Op *op, const Piece *piece) {
  const Tensor *whole = graph_tensor(l->graph, op->out);
  Extent start = extent_fixed(piece->from);
  for (int i = 1; i < whole->rank; i++) start = extent_mul(start, lowering_tensor_extent(l, whole, i));
  return start;
}

// All that lies in a tensor already begins a number of the same blocks behind its first element.
static bool can_shift(const Program *p, int tensor, Extent start) {
  Extent sum;
  for (int t = 0; t < p->tensors.len; t++)
    if (p->tensors.at[t].buffer == p->tensors.at[tensor].buffer && p->tensors.at[t].is_part &&
        !extent_add(p->tensors.at[t].start, start, &sum))
      return false;
  return true;
}

bool parts_put(Lowering *l, int tensor, int whole, Extent start) {
  Program *p = l->program;
  const int old = p->tensors.at[tensor].buffer;
  const ProgTensor *around = &p->tensors.at[whole];
  if (around->is_part && !extent_add(around->start, start, &start)) return false;
  if (p->tensors.at[tensor].is_part || around->buffer == old || !can_shift(p, tensor, start)) return false;
  if (around->is_part) whole = around->whole;
  for (int t = 0; t < p->tensors.len; t++) {
    ProgTensor *part = &p->tensors.at[t];
    if (part->buffer != old) continue;
    if (!part->is_part) part->start = extent_fixed(0);
    extent_add(part->start, start, &part->start);
    part->is_part = true;
    part->whole = whole;
    part->buffer = p->tensors.at[whole].buffer;
    part->bytes = p->tensors.at[whole].bytes;
  }
  p->buffers.at[old].bytes = 0;
  return true;
}

static bool can_be_put(const Placer *p, const Piece *piece) {
  const Graph *graph = p->l->graph;
  const int tensor = viewed(graph, piece->tensor);
  const Tensor *t = graph_tensor(graph, tensor);
  if (t->role != ROLE_VALUE || t->producer < 0 || p->leaf[tensor] || p->foreign[tensor] || t->type != TYPE_REAL)
    return false;
  return true;
}

void parts_place(Lowering *l) {
  const Graph *graph = l->graph;
  Placer placer = {.l = l};
  collect_facts(&placer);
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    Pieces pieces;
    if (!pieces_match(graph, op, l->scratch, &pieces)) continue;
    bool *is_pieces = &l->fate[i].is_pieces;
    *is_pieces = graph_tensor(graph, op->out)->role == ROLE_VALUE && !placer.leaf[op->out] && !l->fate[i].is_sum;
    for (int k = 0; k < pieces.len; k++) *is_pieces = *is_pieces && lies_alike(l, op, pieces.at[k].tensor);
    for (int k = 0; *is_pieces && k < pieces.len; k++)
      if (can_be_put(&placer, &pieces.at[k]))
        parts_put(l, l->tensor_of[viewed(graph, pieces.at[k].tensor)], l->tensor_of[op->out],
                  start_of(l, op, &pieces.at[k]));
  }
}

int lowering_part(Lowering *l, int whole, Extent start) {
  Program *p = l->program;
  ProgTensor part = p->tensors.at[whole];
  if (part.is_part && !extent_add(part.start, start, &start)) return -1;
  if (part.is_part) whole = part.whole;
  part.is_part = true;
  part.whole = whole;
  part.start = start;
  part.steps = 0;
  vec_push(p->arena, &p->tensors, part);
  return p->tensors.len - 1;
}

void parts_left(Lowering *l, const Op *op, void (*copy)(void *ctx, int dst, int src), void *ctx) {
  Pieces pieces;
  pieces_match(l->graph, op, l->scratch, &pieces);
  const int whole = l->tensor_of[op->out];
  for (int k = 0; k < pieces.len; k++) {
    const int src = l->tensor_of[pieces.at[k].tensor], dst = lowering_part(l, whole, start_of(l, op, &pieces.at[k]));
    if (prog_tensors_share(&l->program->tensors.at[src], &l->program->tensors.at[dst])) continue;
    ProgTensor *part = &l->program->tensors.at[dst];
    const ProgTensor *piece = &l->program->tensors.at[src];
    part->rank = piece->rank;
    part->extent = piece->extent;
    part->global = piece->global;
    part->dim = piece->dim;
    copy(ctx, dst, src);
  }
}
