#include "collapse.h"

KernelTensor kernel_tensor(Lowering *l, Arena *arena, const Graph *graph, int tensor) {
  const Tensor *t = graph_tensor(graph, tensor);
  KernelTensor seen = {.tensor = tensor, .rank = t->rank};
  seen.extent = NEW_ARRAY(arena, Extent, t->rank);
  seen.global = NEW_ARRAY(arena, int64_t, t->rank);
  seen.dim = NEW_ARRAY(arena, const char *, t->rank);
  for (int i = 0; i < t->rank; i++) {
    seen.extent[i] = lowering_tensor_extent(l, t, i);
    seen.global[i] = t->extent[i];
    seen.dim[i] = t->dim[i];
  }
  return seen;
}

typedef struct Merge {
  Arena *arena;
  Kernel *kernel;
  int a, b;      // the outer and the inner dimension
  bool divided;  // the inner one may be
  bool possible;
  const Program *program;
  int *position; // by kernel tensor: where (a, b) stand side by side; -1: in no access; -2: not seen
} Merge;

static void settle(Merge *m, int tensor, int position) {
  int *known = &m->position[kernel_find_tensor(m->kernel, tensor)];
  if (*known == -2) *known = position;
  m->possible &= *known == position;
}

// Where dims a, b stand as whole neighbouring dimensions in the indices; -1 if they are not used at all; -2 if otherwise.
static int side_by_side(const Merge *m, const KernelTensor *t, const Index *index, int rank) {
  const LoopDim *a = &m->kernel->dims[m->a], *b = &m->kernel->dims[m->b];
  int position = -1;
  for (int i = 0; i < rank; i++) {
    if (!index_uses(&index[i], m->a) && !index_uses(&index[i], m->b)) continue;
    if (position >= 0 && i == position + 1) continue; // checked with its neighbour
    if (position >= 0 || i + 1 >= rank) return -2;
    if (index_plain_dim(&index[i]) != m->a || index_plain_dim(&index[i + 1]) != m->b) return -2;
    if (t->global[i] != a->global || t->global[i + 1] != b->global) return -2;
    const bool strip = a->extent.block >= 0 && m->program->blocks.at[a->extent.block].strip; // may begin inside of the tensor
    if ((!extent_equal(t->extent[i], a->extent) && !strip) || !extent_equal(t->extent[i + 1], b->extent)) return -2;
    position = i;
  }
  return position;
}

static void check_value_index(Merge *m, const Index *index) {
  if (!index_uses(index, m->a) && !index_uses(index, m->b)) return;
  m->possible &= index->div == 1 && index->coef[m->a] == index->coef[m->b] * m->kernel->dims[m->b].global;
}

static void check_expr(void *ctx, const Expr *e) {
  Merge *m = ctx;
  if (e->kind == EXPR_INDEX) check_value_index(m, e->index);
  if (e->kind == EXPR_RANDOM) check_value_index(m, e->random.element);
  if (e->kind != EXPR_ACCESS || !m->possible) return;
  const KernelTensor *t = &m->kernel->tensors.at[kernel_find_tensor(m->kernel, e->access.tensor)];
  const int position = side_by_side(m, t, e->access.index, e->access.rank);
  if (position == -2) m->possible = false;
  else settle(m, e->access.tensor, position);
}

static void check_statement(Merge *m, const Statement *s) {
  Index index[IR_MAX_RANK];
  for (int i = 0; i < s->out_rank; i++) index[i] = index_dim(s->out_dim[i]);
  const KernelTensor *t = &m->kernel->tensors.at[kernel_find_tensor(m->kernel, s->out)];
  const int position = side_by_side(m, t, index, s->out_rank);
  if (position == -2) m->possible = false;
  else settle(m, s->out, position);
  if (m->possible) expr_visit(s->body, check_expr, m);
  if (m->possible && s->place != NULL) expr_visit(s->place, check_expr, m);
}

static bool in_stage(const Stage *stage, int dim) {
  for (int i = 0; i < stage->n_inner; i++)
    if (stage->inner[i] == dim) return true;
  return false;
}

static bool can_merge(Merge *m) {
  const Kernel *k = m->kernel;
  const int block = k->dims[m->b].extent.block;
  if (block >= 0 && (!m->divided || k->dims[m->a].extent.block >= 0 || m->program->blocks.at[block].strip)) return false;
  if ((m->a < k->n_grid) != (m->b < k->n_grid)) return false;
  m->possible = true;
  for (int t = 0; t < k->tensors.len; t++) m->position[t] = -2;
  for (int s = 0; s < k->stages.len && m->possible; s++) {
    const Stage *stage = &k->stages.at[s];
    if (in_stage(stage, m->a) != in_stage(stage, m->b)) return false;
    for (int i = 0; i < stage->statements.len && m->possible; i++) check_statement(m, &stage->statements.at[i]);
  }
  return m->possible;
}

static Index without_dim(Index index, int dim) {
  for (int d = dim; d + 1 < IR_MAX_DIMS; d++) index.coef[d] = index.coef[d + 1];
  index.coef[IR_MAX_DIMS - 1] = 0;
  return index;
}

static const Expr *merge_leaf(void *ctx, const Expr *e) {
  const Merge *m = ctx;
  if (e->kind == EXPR_INDEX || e->kind == EXPR_RANDOM) {
    Index index = e->kind == EXPR_INDEX ? *e->index : *e->random.element;
    index.coef[m->a] = index.coef[m->a] != 0 ? index.coef[m->b] : 0; // a * B + b counts the merged dimension
    index = without_dim(index, m->b);
    return e->kind == EXPR_INDEX ? expr_index(m->arena, index) : expr_random_of(m->arena, e, index, e->random.apart);
  }
  if (e->kind != EXPR_ACCESS) return e;
  const int position = m->position[kernel_find_tensor(m->kernel, e->access.tensor)];
  Index index[IR_MAX_RANK];
  int n = 0;
  for (int i = 0; i < e->access.rank; i++)
    if (position < 0 || i != position + 1) index[n++] = without_dim(e->access.index[i], m->b);
  return expr_access(m->arena, e->access.tensor, e->type, n, index, e->access.outside);
}

static void merge_statement(Merge *m, Statement *s) {
  s->body = expr_map(m->arena, s->body, merge_leaf, m);
  if (s->place != NULL) s->place = expr_map(m->arena, s->place, merge_leaf, m);
  const int position = m->position[kernel_find_tensor(m->kernel, s->out)];
  int n = 0;
  for (int i = 0; i < s->out_rank; i++)
    if (position < 0 || i != position + 1) s->out_dim[n++] = s->out_dim[i] - (s->out_dim[i] > m->b);
  s->out_rank = n;
}

static void kernel_tensor_drop(KernelTensor *tensor, int position) {
  for (int i = position; i + 1 < tensor->rank; i++) {
    tensor->extent[i] = tensor->extent[i + 1];
    tensor->global[i] = tensor->global[i + 1];
    tensor->dim[i] = tensor->dim[i + 1];
  }
  tensor->rank--;
}

static void merge_dims(Merge *m) {
  Kernel *k = m->kernel;
  for (int s = 0; s < k->stages.len; s++) {
    Stage *stage = &k->stages.at[s];
    for (int i = 0; i < stage->statements.len; i++) merge_statement(m, &stage->statements.at[i]);
    int n = 0;
    for (int i = 0; i < stage->n_inner; i++)
      if (stage->inner[i] != m->b) stage->inner[n++] = stage->inner[i] - (stage->inner[i] > m->b);
    stage->n_inner = n;
  }
  for (int t = 0; t < k->tensors.len; t++) {
    const int p = m->position[t];
    KernelTensor *tensor = &k->tensors.at[t];
    if (p < 0) continue;
    tensor->extent[p] = extent_mul(tensor->extent[p], tensor->extent[p + 1]);
    tensor->global[p] *= tensor->global[p + 1];
    tensor->dim[p] = arena_printf(m->arena, "%s_%s", tensor->dim[p], tensor->dim[p + 1]);
    kernel_tensor_drop(tensor, p + 1);
  }
  LoopDim *a = &k->dims[m->a];
  const LoopDim *b = &k->dims[m->b];
  a->name = arena_printf(m->arena, "%s_%s", a->name, b->name);
  a->extent = extent_mul(a->extent, b->extent);
  a->global *= b->global;
  if (m->b < k->n_grid) k->n_grid--;
  for (int d = m->b; d + 1 < k->n_dims; d++) k->dims[d] = k->dims[d + 1];
  k->n_dims--;
}

// ---- dimensions of extent 1 --------------------------------------------------------------------------------------

typedef struct Units {
  Arena *arena;
  Kernel *kernel;
  bool (*drop)[IR_MAX_RANK]; // by kernel tensor and position
  Index by[IR_MAX_DIMS];     // loop dims of extent 1 are 0
} Units;

static bool is_unit(Extent e) { return e.fixed == 1 && e.block < 0; }

// A position of extent 1 can go unless an access may fall outside of it.
static void check_unit_access(void *ctx, const Expr *e) {
  Units *u = ctx;
  if (e->kind != EXPR_ACCESS) return;
  const int t = kernel_find_tensor(u->kernel, e->access.tensor);
  int64_t extent[IR_MAX_DIMS], lo, hi;
  for (int d = 0; d < u->kernel->n_dims; d++) extent[d] = u->kernel->dims[d].global;
  for (int i = 0; i < e->access.rank; i++) {
    index_range(&e->access.index[i], extent, u->kernel->n_dims, &lo, &hi);
    if (lo != 0 || hi != 0 || e->access.index[i].div != 1) u->drop[t][i] = false;
  }
}

static const Expr *without_units(void *ctx, const Expr *e) {
  const Units *u = ctx;
  if (e->kind != EXPR_ACCESS) return expr_substitute(u->arena, e, u->by, u->kernel->n_dims);
  const int t = kernel_find_tensor(u->kernel, e->access.tensor);
  Index index[IR_MAX_RANK];
  int n = 0;
  for (int i = 0; i < e->access.rank; i++)
    if (!u->drop[t][i]) index[n++] = index_substitute(&e->access.index[i], u->by, u->kernel->n_dims);
  return expr_access(u->arena, e->access.tensor, e->type, n, index, e->access.outside);
}

static void drop_statement_units(Units *u, const int *renumbered, Statement *s) {
  s->body = expr_map(u->arena, s->body, without_units, u);
  if (s->place != NULL) s->place = expr_map(u->arena, s->place, without_units, u);
  const int t = kernel_find_tensor(u->kernel, s->out);
  int n = 0;
  for (int i = 0; i < s->out_rank; i++)
    if (!u->drop[t][i]) s->out_dim[n++] = renumbered[s->out_dim[i]];
  s->out_rank = n;
}

static bool drops_positions(const Units *u) {
  for (int t = 0; t < u->kernel->tensors.len; t++)
    for (int i = 0; i < u->kernel->tensors.at[t].rank; i++)
      if (u->drop[t][i]) return true;
  return false;
}

static int drop_units(Arena *arena, Kernel *k, int keep) {
  Units u = {.arena = arena, .kernel = k};
  u.drop = arena_alloc(arena, sizeof *u.drop * (size_t)(k->tensors.len + 1));
  for (int t = 0; t < k->tensors.len; t++)
    for (int i = 0; i < k->tensors.at[t].rank; i++) u.drop[t][i] = is_unit(k->tensors.at[t].extent[i]);
  for (int s = 0; s < k->stages.len; s++)
    for (int i = 0; i < k->stages.at[s].statements.len; i++)
      expr_visit(k->stages.at[s].statements.at[i].body, check_unit_access, &u);
  int renumbered[IR_MAX_DIMS], n = 0, n_grid = 0;
  for (int d = 0; d < k->n_dims; d++) {
    bool dropped = is_unit(k->dims[d].extent) && d != keep;
    for (int s = 0; s < k->stages.len; s++) // unless a result keeps the position it indexes
      for (int i = 0; i < k->stages.at[s].statements.len; i++) {
        const Statement *statement = &k->stages.at[s].statements.at[i];
        for (int r = 0; r < statement->out_rank; r++)
          dropped &= statement->out_dim[r] != d || u.drop[kernel_find_tensor(k, statement->out)][r];
      }
    renumbered[d] = dropped ? -1 : n;
    u.by[d] = dropped ? index_const(0) : index_dim(n);
    n_grid += !dropped && d < k->n_grid;
    n += !dropped;
  }
  if (n == k->n_dims && !drops_positions(&u)) return keep;
  for (int s = 0; s < k->stages.len; s++) {
    Stage *stage = &k->stages.at[s];
    for (int i = 0; i < stage->statements.len; i++) drop_statement_units(&u, renumbered, &stage->statements.at[i]);
    int inner = 0;
    for (int i = 0; i < stage->n_inner; i++)
      if (renumbered[stage->inner[i]] >= 0) stage->inner[inner++] = renumbered[stage->inner[i]];
    if (inner == 0 && stage->n_inner > 0) { // reductions over nothing
      for (int i = 0; i < stage->statements.len; i++) {
        Statement *statement = &stage->statements.at[i];
        if (statement->reduce == REDUCE_ARGMAX) statement->body = expr_int(arena, 0);
        statement->reduce = REDUCE_NONE;
      }
    }
    stage->n_inner = inner;
  }
  for (int d = 0; d < k->n_dims; d++)
    if (renumbered[d] >= 0) k->dims[renumbered[d]] = k->dims[d];
  if (keep >= 0) keep = renumbered[keep];
  k->n_dims = n;
  k->n_grid = n_grid;
  for (int t = 0; t < k->tensors.len; t++)
    for (int i = k->tensors.at[t].rank - 1; i >= 0; i--)
      if (u.drop[t][i]) kernel_tensor_drop(&k->tensors.at[t], i);
  return keep;
}

int kernel_collapse(Arena *arena, const Program *program, Kernel *kernel, int keep, bool divided) {
  keep = drop_units(arena, kernel, keep);
  Merge m = {.arena = arena, .kernel = kernel, .program = program, .divided = divided, .position = NEW_ARRAY(arena, int, kernel->tensors.len)};
  for (m.a = 0; m.a < kernel->n_dims; m.a++)
    for (m.b = 0; m.b < kernel->n_dims;) {
      if (m.a == m.b || m.a == keep || m.b == keep || !can_merge(&m)) {
        m.b++;
        continue;
      }
      merge_dims(&m);
      if (keep > m.b) keep--;
      if (m.a > m.b) m.a--;
      m.b = 0;
    }
  return keep;
}
