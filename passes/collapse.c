#include "collapse.h"

typedef struct Merge {
  Arena *arena;
  Kernel *kernel;
  int a, b;      // the outer and the inner dimension
  bool possible;
  int *position; // by kernel tensor: where (a, b) stand side by side; -1: in no access; -2: not seen
} Merge;

int kernel_find_tensor(const Kernel *kernel, int tensor) {
  for (int i = 0; i < kernel->tensors.len; i++)
    if (kernel->tensors.at[i].tensor == tensor) return i;
  return -1;
}

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
    if (!extent_equal(t->extent[i], a->extent) || !extent_equal(t->extent[i + 1], b->extent)) return -2;
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
  if (e->kind == EXPR_INDEX) check_value_index(m, &e->index);
  if (e->kind == EXPR_RANDOM) check_value_index(m, &e->random.element);
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
  if (k->dims[m->b].extent.block >= 0) return false;
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
    Index index = e->kind == EXPR_INDEX ? e->index : e->random.element;
    index.coef[m->a] = index.coef[m->a] != 0 ? index.coef[m->b] : 0; // a * B + b counts the merged dimension
    index = without_dim(index, m->b);
    return e->kind == EXPR_INDEX ? expr_index(m->arena, index)
                                 : expr_random(m->arena, e->random.normal, e->random.stream, index);
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
    for (int i = p + 1; i + 1 < tensor->rank; i++) {
      tensor->extent[i] = tensor->extent[i + 1];
      tensor->global[i] = tensor->global[i + 1];
    }
    tensor->rank--;
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

int kernel_collapse(Arena *arena, Kernel *kernel, int keep) {
  Merge m = {.arena = arena, .kernel = kernel, .position = NEW_ARRAY(arena, int, kernel->tensors.len)};
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
