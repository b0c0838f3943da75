// merge-products: a sum of contractions over the same dimensions is one operator.
//
// Requires: plain contractions. Guarantees: the same; of a sum of products that nobody else reads, the products are terms of one
// reduction, so that its parts on different ranks are added up once, and its terms one after the other where they belong.
//
//   p[k, u] = sum(b) (d0[b, k] * h0[b, u]);  q[k, u] = sum(b) (d1[b, k] * h1[b, u]);  g[k, u] = ((p[k, u] + q[k, u]) + x[k, u])
// becomes
//   q[k, u] = sum(b) ((d0[b, k] * h0[b, u]) + (d1[b, k] * h1[b, u]));  g[k, u] = (x[k, u] + q[k, u])
#include "contraction.h"
#include "passes.h"
#include "rewrite.h"

typedef VEC(int) Ids;

typedef struct Merger {
  Graph *graph;
  int *readers; // by tensor
  bool *leaf;   // by tensor: read by something other than operators
  bool *keep;   // by operator
} Merger;

static void count_reader(void *ctx, int tensor) { ((int *)ctx)[tensor]++; }

static bool is_identity(const Graph *graph, const Op *op, const Expr *access) {
  if (access->access.rank != op->n_out) return false;
  for (int i = 0; i < op->n_out; i++)
    if (access_full_dim(graph, op, access, i) != i) return false;
  return true;
}

// A large product that only the sum reads.
static bool is_product(const Merger *m, const Op *sum, const Expr *e) {
  const Graph *graph = m->graph;
  const int tensor = e->access.tensor, producer = graph_tensor(graph, tensor)->producer;
  Contraction c;
  if (producer < 0 || m->readers[tensor] != 1 || m->leaf[tensor] || !is_identity(graph, sum, e)) return false;
  const Op *op = &graph->ops.at[producer];
  return op->phase == sum->phase && contraction_match(graph, op, &c) && contraction_is_large(op, &c) &&
         op->n_dims > op->n_out;
}

// Dimensions of the same extents, divided by the model in the same way.
static bool same_space(const Op *a, const Op *b) {
  if (a->n_dims != b->n_dims || a->n_out != b->n_out || a->shard != b->shard) return false;
  for (int d = 0; d < a->n_dims; d++)
    if (a->dims[d].extent != b->dims[d].extent) return false;
  return true;
}

// Splits a sum into products over the space of the first one and the rest; false: it is no sum of accesses.
static bool split(const Merger *m, const Op *sum, const Expr *e, Ids *products, const Expr **rest) {
  Arena *arena = m->graph->arena;
  if (e->kind == EXPR_CALL && e->call.fn == FN_add)
    return split(m, sum, e->call.arg[0], products, rest) && split(m, sum, e->call.arg[1], products, rest);
  if (e->kind != EXPR_ACCESS) return false;
  const Op *op = is_product(m, sum, e) ? &m->graph->ops.at[graph_tensor(m->graph, e->access.tensor)->producer] : NULL;
  if (op != NULL && (products->len == 0 || same_space(&m->graph->ops.at[products->at[0]], op)))
    vec_push(arena, products, (int)(op - m->graph->ops.at));
  else *rest = *rest == NULL ? e : expr_call(arena, FN_add, *rest, e, NULL);
  return true;
}

static void merge(Merger *m, int sum_id) {
  Graph *graph = m->graph;
  Op *sum = &graph->ops.at[sum_id];
  Ids products = {NULL, 0, 0};
  const Expr *rest = NULL;
  if (sum->kind != OP_COMPUTE || sum->reduce != REDUCE_NONE || sum->body->kind != EXPR_CALL) return;
  if (!split(m, sum, sum->body, &products, &rest) || products.len < 2) return;
  int last = products.at[0];
  for (int i = 1; i < products.len; i++) last = products.at[i] > last ? products.at[i] : last;
  const Op *first = &graph->ops.at[products.at[0]];
  const Expr *body = first->body;
  const char *layer = first->layer;
  for (int i = 1; i < products.len; i++) {
    body = expr_call(graph->arena, FN_add, body, graph->ops.at[products.at[i]].body, NULL);
    layer = layer_common(graph->arena, layer, graph->ops.at[products.at[i]].layer);
  }
  for (int i = 0; i < products.len; i++) m->keep[products.at[i]] = products.at[i] == last;
  Op *merged = &graph->ops.at[last];
  merged->body = body;
  merged->layer = layer;
  if (rest != NULL) {
    sum->body = expr_call(graph->arena, FN_add, rest, access_plain(graph, merged->out, 0), NULL);
    return;
  }
  graph_tensor(graph, merged->out)->producer = -1;
  merged->out = sum->out;
  graph_tensor(graph, sum->out)->producer = last;
  m->keep[sum_id] = false;
}

void pass_merge_products(Graph *graph) {
  Merger merger = {.graph = graph,
                   .readers = NEW_ARRAY(graph->arena, int, graph->tensors.len),
                   .leaf = graph_leaves(graph, graph->arena),
                   .keep = NEW_ARRAY(graph->arena, bool, graph->ops.len)};
  for (int i = 0; i < graph->ops.len; i++) {
    op_visit_reads(&graph->ops.at[i], count_reader, merger.readers);
    merger.keep[i] = true;
  }
  for (int i = 0; i < graph->ops.len; i++) merge(&merger, i);
  graph_keep_ops(graph, merger.keep);
}
