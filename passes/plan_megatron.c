// megatron: layers of transformers divided in pairs (Shoeybi et al. 2019), the batch over other axes.
//
// Of a pair the first product is divided along an output of its weights (columns), so that what comes between lies in parts, the
// second along what it sums over (rows), which meets those parts; one sum of partial results for the pair in each direction:
//   q[b, t, h, d] = sum(c) x[b, t, c] * wq[h, d, c]              h/tensor; so are keys and values, and the attention
//   y[b, t, c] = sum(h, d) a[b, t, h, d] * wo[c, h, d]           follows: partial sums
//   u[b, t, co] = sum(ci) y[b, t, ci] * w1[co, ci]               co/tensor
//   z[b, t, co] = sum(ci) gelu(u[b, t, ci]) * w2[co, ci]         follows: partial sums
// The vocabulary is divided where words are looked up and where they are predicted, through the cross entropy.
//
// Attention is found by what it computes: a product of two tensors that are no weights, of whose result, passed on element by
// element or along its rows, another such product is made. A head is a dimension of the weights that both leave whole.
//
// The tensors are divided over the fast axes: as many of them as there are heads for, at least one, but never the slowest of
// several, over which, with the others, the batch is divided. A mesh of one axis divides the tensors only.
#include "plan_weights.h"

#include "contraction.h"
#include "rewrite.h"

enum { WHOLE = -1, FOLLOWS = -2 };

typedef struct Megatron {
  Dividing d;
  const Expr **scores; // by operator: what the second product of attention reads of the first; NULL of others
  bool *is_product;    // by operator: with a weight
  bool *taken;         // by operator: the second of a pair
  int *divided;        // by operator: the dimension that is to be divided, WHOLE or FOLLOWS
  bool *is_heads;      // by operator: what is divided are heads
  int64_t heads;       // the fewest of any projection; 0: there is no attention
} Megatron;

// ---- attention -----------------------------------------------------------------------------------------------------

static bool uses(const Expr *access, int dim) {
  for (int i = 0; i < access->access.rank; i++)
    if (index_uses(&access->access.index[i], dim)) return true;
  return false;
}

// A product of two matrices, neither a weight: each has rows of its own in the result.
static bool is_product_of_values(const Graph *graph, const Op *op, Contraction *c) {
  bool rows = false, columns = false;
  if (op->phase != PHASE_FORWARD || !contraction_match(graph, op, c)) return false;
  if (is_weight(graph, c->a->access.tensor) || is_weight(graph, c->b->access.tensor)) return false;
  for (int d = 0; d < op->n_out; d++) {
    rows |= uses(c->a, d) && !uses(c->b, d);
    columns |= uses(c->b, d) && !uses(c->a, d);
  }
  return rows && columns;
}

typedef struct Origin {
  const int *of; // by tensor: the product of values that it is made of, or -1
  int found;
} Origin;

static void ask_origin(void *ctx, int tensor) {
  Origin *o = ctx;
  if (o->found < 0) o->found = o->of[tensor];
}

static void find_attention(Megatron *m) {
  const Graph *graph = m->d.graph;
  int *of = NEW_ARRAY(m->d.arena, int, graph->tensors.len);
  for (int t = 0; t < graph->tensors.len; t++) of[t] = -1;
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    const Expr *weight, *data;
    Contraction c;
    Origin origin = {of, -1};
    m->is_product[i] = product_with_weight(graph, op, &weight, &data);
    if (op->phase != PHASE_FORWARD || m->is_product[i] || op->kind == OP_OPAQUE) continue;
    if (is_product_of_values(graph, op, &c)) {
      const int a = of[c.a->access.tensor], b = of[c.b->access.tensor];
      if ((a >= 0) != (b >= 0)) m->scores[i] = a >= 0 ? c.a : c.b;
      of[op->out] = i;
    } else {
      op_visit_reads(op, ask_origin, &origin);
      of[op->out] = origin.found;
    }
  }
}

// ---- columns -------------------------------------------------------------------------------------------------------

// What a dimension of a product's result meets on its way to other products with weights.
typedef struct Way {
  Megatron *m;
  bool heads;   // an attention that leaves it whole
  bool rows;    // a product that sums over it
  bool other;   // anything else but operators that pass it on element by element
  bool labels;  // a sum in which an input picks one of it
  Ids summed;   // the products that sum over it
} Way;

static bool go_on(void *ctx, int id, int op_dim) {
  Way *way = ctx;
  Megatron *m = way->m;
  const Op *op = &m->d.graph->ops.at[id];
  const bool kept = op_dim >= 0 && (op->kind == OP_VIEW || op_dim < op->n_out);
  if (m->is_product[id]) {
    if (op_dim >= 0 && !kept) vec_push(m->d.arena, &way->summed, id);
    way->rows |= op_dim >= 0 && !kept;
    way->other |= kept || op_dim < 0;
    return false;
  }
  way->heads |= kept && m->scores[id] != NULL && uses(m->scores[id], op_dim);
  way->other |= !kept || (op->kind == OP_COMPUTE && op->reduce != REDUCE_NONE);
  way->labels |= op_dim >= 0 && op->kind == OP_COMPUTE && is_pinned_by_input(m->d.graph, op, op_dim);
  return kept;
}

// The first output of the weight that leads to attention, to rows, or to labels.
static void find_column(Megatron *m, int id) {
  const Op *op = &m->d.graph->ops.at[id];
  const Expr *weight, *data;
  int dims[IR_MAX_DIMS];
  if (!product_with_weight(m->d.graph, op, &weight, &data) || m->taken[id]) return;
  const int n = product_outputs(m->d.graph, op, weight, dims);
  for (int i = 0; i < n; i++) {
    Way way = {.m = m};
    dividing_walk(&m->d, op->out, dims[i], go_on, &way);
    if (!way.heads && !(way.rows && !way.other) && !way.labels) continue;
    if (way.heads && (m->heads == 0 || op->dims[dims[i]].extent < m->heads)) m->heads = op->dims[dims[i]].extent;
    m->is_heads[id] = way.heads;
    for (int s = 0; s < way.summed.len; s++) m->taken[way.summed.at[s]] = true;
    m->divided[id] = dims[i];
    return;
  }
}

// Tables that have more rows than columns are those of a vocabulary. Others are looked up whole, wherever else they are read.
static void find_lookup(Megatron *m, int id) {
  const Op *op = &m->d.graph->ops.at[id];
  int table;
  const int rows = lookup_rows(m->d.graph, op, &table);
  if (rows < 0) return;
  const int64_t columns = tensor_elements(graph_tensor(m->d.graph, table)) / op->dims[rows].extent;
  m->divided[id] = op->dims[rows].extent > columns ? rows : WHOLE;
}

// The gradient of such a table is made where its rows are.
static void find_lookup_gradient(Megatron *m, int id) {
  const Op *op = &m->d.graph->ops.at[id];
  const double elements = (double)tensor_elements(graph_tensor(m->d.graph, op->out));
  if (op->kind != OP_COMPUTE || op->phase != PHASE_BACKWARD) return;
  for (int d = 0; d < op->n_out; d++)
    if (is_pinned_by_input(m->d.graph, op, d) && (double)op->dims[d].extent > elements / (double)op->dims[d].extent)
      m->divided[id] = d;
}

static Megatron megatron_of(Arena *arena, const Model *model, const Graph *graph, Plan *plan) {
  const int n = graph->ops.len;
  Megatron m = {.d = dividing_new(arena, model, graph, plan, 0)};
  m.scores = NEW_ARRAY(arena, const Expr *, n);
  m.is_product = NEW_ARRAY(arena, bool, n);
  m.taken = NEW_ARRAY(arena, bool, n);
  m.is_heads = NEW_ARRAY(arena, bool, n);
  m.divided = NEW_ARRAY(arena, int, n);
  for (int i = 0; i < n; i++) m.divided[i] = FOLLOWS;
  find_attention(&m);
  for (int i = 0; i < n; i++) {
    find_column(&m, i);
    find_lookup(&m, i);
    find_lookup_gradient(&m, i);
  }
  return m;
}

// ---- the plan ------------------------------------------------------------------------------------------------------

static uint32_t fast_axes(const Mesh *mesh, int64_t heads) {
  uint32_t axes = 0;
  int64_t parts = 1;
  for (int a = mesh->n_axes - 1; a >= (mesh->n_axes > 1 ? 1 : 0); a--) {
    parts *= mesh->axis[a].size;
    if (axes != 0 && parts > heads) break;
    axes |= 1u << a;
  }
  return axes;
}

// Queries that share a head of keys and values stay together.
static int64_t unit_of(const Megatron *m, int id) {
  const int64_t extent = m->divided[id] >= 0 ? m->d.graph->ops.at[id].dims[m->divided[id]].extent : 1;
  return m->is_heads[id] && extent % m->heads == 0 ? extent / m->heads : 1;
}

static void add_ops(Megatron *m, uint32_t axes) {
  m->d.axes = axes;
  for (int i = 0; i < m->d.graph->ops.len; i++)
    if (m->divided[i] != FOLLOWS) dividing_add(&m->d, i, m->divided[i], unit_of(m, i));
}

void plan_make_megatron(Arena *arena, const Model *model, Plan *plan, Problems *problems) {
  const Graph *graph = model->train;
  Megatron train = megatron_of(arena, model, graph, plan), eval = megatron_of(arena, model, model->eval, plan);
  if (train.heads == 0) {
    problem_add(problems, graph->ops.at[graph_tensor(graph, graph->losses.at[0].tensor)->producer].loc,
                "megatron divides the heads of attention, and nothing that this is computed from is attention with heads");
    return;
  }
  const uint32_t axes = fast_axes(&plan->mesh, train.heads), others = plan_all_axes(&plan->mesh) & ~axes;
  for (int t = 0; t < graph->tensors.len && others != 0; t++)
    if (graph_tensor(graph, t)->role == ROLE_INPUT) plan_add_batch(arena, plan, graph_tensor(graph, t), others);
  add_ops(&train, axes);
  dividing_store(&train.d);
  add_ops(&eval, axes);
}
