// rematerialise: what the backward pass computes again rather than reads from memory.
//
// Requires: a sharded training graph, in which what is made again is marked. Guarantees: no operator of the backward pass reads that; nothing
// is marked any more. What is marked, before a plan is made, so that all who plan know what it takes, are large results of the forward pass
// that are cheap to make again from small ones; where a plan leaves little of one on a rank, that is kept.
//
//   forward   s[t, u] = sum(d) q[t, d] * k[u, d];  total[t] = sum(u) exp(s[t, u]);  ...
//   backward  s.grad[t, u] = g[t, u] * exp(s[t, u]) / total[t]
// becomes
//   backward  s.again[t, u] = sum(d) q[t, d] * k[u, d];  s.grad[t, u] = g[t, u] * exp(s.again[t, u]) / total[t]
//
// Large: several times larger than all that it is made from. A chain of operators over the points of the large tensor is made again
// as a whole, from results that are kept: matrices, rows, stored tensors. What is read again soon (the logits of a loss) is no
// burden and stays.
//
// One operator says whether a result is made again: the first of the backward pass that reads it, else the first that is itself made
// again. Where that reads it in another layout it is kept. So what is made again are trees, and whether a tensor is depends on the
// operators from it to the root of its tree, and on the one that reads that: see search/tables_again.c.
#include "../ir/reshard.h"
#include "contraction.h"
#include "demands.h"
#include "passes.h"
#include "reads.h"
#include "rewrite.h"
#include "route.h"
#include "sharding.h"

enum { BULGE = 5 };             // how many times larger than what it is made from
enum { RECOMPUTE_FLOPS = 640 }; // an element is worth so many operations
enum { NEAR = 20 };             // operators between the making and the reading of what is read again soon
enum { MAX_CHAIN = 40 };        // operators that are repeated for one tensor

typedef VEC(int) Ids;

typedef struct Rematerialiser {
  Graph *graph;
  Arena *arena;
  GraphReads reads;
  bool *kept;   // by tensor: is there when the program has run
  bool *again;  // by tensor: to be made again
} Rematerialiser;

// ---- facts -------------------------------------------------------------------------------------------------------

static void collect_facts(Rematerialiser *r) {
  const Graph *graph = r->graph;
  for (int i = 0; i < graph->stores.len; i++) r->kept[graph->stores.at[i].value] = true;
  for (int i = 0; i < graph->losses.len; i++) r->kept[graph->losses.at[i].tensor] = true;
  for (int i = 0; i < graph->metrics.len; i++) r->kept[graph->metrics.at[i].tensor] = true;
}

static bool is_small(const Rematerialiser *r, int tensor, double elements) {
  const Tensor *t = graph_tensor(r->graph, tensor);
  return t->role != ROLE_VALUE || t->producer < 0 || (double)tensor_elements(t) * BULGE <= elements;
}

// ---- what it takes -----------------------------------------------------------------------------------------------

typedef struct Chain { // the operators that make a tensor from small ones
  const Rematerialiser *r;
  double elements, flops;
  Ids ops;
  bool possible;
} Chain;

static void need(Chain *chain, int tensor);

static void need_read(void *ctx, int tensor) { need(ctx, tensor); }

static bool has_small_operands(const Chain *chain, const Op *op) {
  Contraction c;
  if (op->reduce != REDUCE_SUM || !contraction_match(chain->r->graph, op, &c)) return false;
  return is_small(chain->r, c.a->access.tensor, chain->elements) &&
         is_small(chain->r, c.b->access.tensor, chain->elements);
}

static void need(Chain *chain, int tensor) {
  const Graph *graph = chain->r->graph;
  if (!chain->possible || is_small(chain->r, tensor, chain->elements)) return;
  const int id = graph_tensor(graph, tensor)->producer;
  for (int i = 0; i < chain->ops.len; i++)
    if (chain->ops.at[i] == id) return;
  const Op *op = &graph->ops.at[id];
  chain->possible = op->kind == OP_COMPUTE && op->phase == PHASE_FORWARD && chain->ops.len < MAX_CHAIN &&
                    (op->reduce == REDUCE_NONE || has_small_operands(chain, op));
  if (!chain->possible) return;
  vec_push(chain->r->arena, &chain->ops, id);
  chain->flops += op_flops(op);
  op_visit_reads(op, need_read, chain);
}

// ---- is it read soon? --------------------------------------------------------------------------------------------

enum { TOGETHER = 64 }; // tensors that are asked about in one walk over the operators, a bit each

typedef struct Between { // the tensors at hand
  uint64_t *follows; // by tensor: it is made from which of them
  uint64_t *leads;   // by tensor: it is needed by an operator of the backward pass that reads which of them
  uint64_t *reads;   // by operator: it is such an operator
  int first, last;   // operators: between the first that makes one and the last that reads one
} Between;

static uint64_t bits_of_results(const Op *op, const uint64_t *set) {
  uint64_t bits = 0;
  for (int k = 0; k < op_results(op); k++) bits |= set[op_result(op, k)];
  return bits;
}

static void begin_between(const Rematerialiser *r, Between *b, const int *tensors, int n) {
  memset(b->follows, 0, sizeof *b->follows * (size_t)r->graph->tensors.len);
  memset(b->leads, 0, sizeof *b->leads * (size_t)r->graph->tensors.len);
  memset(b->reads, 0, sizeof *b->reads * (size_t)r->graph->ops.len);
  b->first = r->graph->ops.len;
  b->last = -1;
  for (int t = 0; t < n; t++) {
    const IdList readers = readers_of(&r->reads, tensors[t]);
    const int maker = graph_tensor(r->graph, tensors[t])->producer;
    b->follows[tensors[t]] = (uint64_t)1 << t;
    if (maker < b->first) b->first = maker;
    for (int k = 0; k < readers.len; k++) {
      if (r->graph->ops.at[readers.at[k]].phase != PHASE_BACKWARD) continue;
      b->reads[readers.at[k]] |= (uint64_t)1 << t;
      if (readers.at[k] > b->last) b->last = readers.at[k];
    }
  }
}

static void find_leads(const Rematerialiser *r, Between *b) {
  for (int i = b->last; i > b->first; i--) {
    const uint64_t bits = b->reads[i] | bits_of_results(&r->graph->ops.at[i], b->leads);
    const IdList reads = reads_of_op(&r->reads, i);
    for (int k = 0; k < reads.len; k++) b->leads[reads.at[k]] |= bits;
  }
}

// Drops those tensors between whose making and the operators of the backward pass that read them there are few operators.
static void drop_near(Rematerialiser *r, Between *b, const int *tensors, int n) {
  int between[TOGETHER] = {0};
  uint64_t near = UINT64_MAX >> (TOGETHER - n); // as far as is known
  begin_between(r, b, tensors, n);
  find_leads(r, b);
  for (int i = b->first; i <= b->last && near != 0; i++) {
    const Op *op = &r->graph->ops.at[i];
    const IdList reads = reads_of_op(&r->reads, i);
    uint64_t bits = 0;
    for (int k = 0; k < reads.len; k++) bits |= b->follows[reads.at[k]];
    for (int k = 0; k < op_results(op); k++) b->follows[op_result(op, k)] |= bits;
    const uint64_t counted = bits & near & bits_of_results(op, b->leads);
    for (int t = 0; t < n && counted >> t != 0; t++)
      if (counted >> t & 1 && ++between[t] > NEAR) near &= ~((uint64_t)1 << t);
  }
  for (int t = 0; t < n; t++) r->again[tensors[t]] = !(near >> t & 1);
}

static void drop_all_near(Rematerialiser *r) {
  Arena *arena = r->arena;
  Between b = {NEW_ARRAY(arena, uint64_t, r->graph->tensors.len), NEW_ARRAY(arena, uint64_t, r->graph->tensors.len),
               NEW_ARRAY(arena, uint64_t, r->graph->ops.len), 0, 0};
  int tensors[TOGETHER], n = 0;
  for (int t = 0, all = r->graph->tensors.len; t < all; t++) {
    if (r->again[t]) tensors[n++] = t;
    if (n == 0 || (n < TOGETHER && t + 1 < all)) continue;
    drop_near(r, &b, tensors, n);
    n = 0;
  }
}

// ---- the choice --------------------------------------------------------------------------------------------------

static bool is_read_backward(const Rematerialiser *r, int tensor) {
  const IdList readers = readers_of(&r->reads, tensor);
  for (int i = 0; i < readers.len; i++)
    if (r->graph->ops.at[readers.at[i]].phase == PHASE_BACKWARD) return true;
  return false;
}

// A result that the backward pass reads and that could be made again; flops: what that takes.
static bool is_bulge(Rematerialiser *r, int tensor, double *flops) {
  const Tensor *t = graph_tensor(r->graph, tensor);
  if (t->role != ROLE_VALUE || t->producer < 0 || r->kept[tensor] || t->type != TYPE_REAL) return false;
  if (r->graph->ops.at[t->producer].phase != PHASE_FORWARD || !is_read_backward(r, tensor)) return false;
  Chain chain = {.r = r, .elements = (double)tensor_elements(t), .possible = true};
  need(&chain, tensor);
  *flops = chain.flops;
  return chain.possible && chain.ops.len > 0;
}

// ... cheaply.
static bool is_cheap(Rematerialiser *r, int tensor) {
  double flops;
  return is_bulge(r, tensor, &flops) && flops <= RECOMPUTE_FLOPS * (double)tensor_elements(graph_tensor(r->graph, tensor));
}

// With the tensor that the chain is for, however it lies: of it and of what lies like it a rank has the same share.
static void mark_chain(Rematerialiser *r, int tensor, int64_t least_bytes) {
  const double elements = (double)tensor_elements(graph_tensor(r->graph, tensor));
  Chain chain = {.r = r, .elements = elements, .possible = true};
  need(&chain, tensor);
  for (int i = 0; i < chain.ops.len; i++) {
    Tensor *t = graph_tensor(r->graph, r->graph->ops.at[chain.ops.at[i]].out);
    const int64_t above = max_i64(1, (int64_t)((double)least_bytes * ((double)tensor_elements(t) / elements)));
    t->again_above = t->again_above > 0 ? min_i64(t->again_above, above) : above;
  }
}

// By its result; of the forward pass, one that may be done again.
static int first_reader(const Rematerialiser *r, int tensor, Phase phase) {
  const IdList readers = readers_of(&r->reads, tensor);
  for (int i = 0; i < readers.len; i++) {
    const Op *op = &r->graph->ops.at[readers.at[i]];
    if (op->kind == OP_COMPUTE && op->phase == phase && (phase == PHASE_BACKWARD || graph_tensor(r->graph, op->out)->again_above > 0)) return op->out;
  }
  return -1;
}

static void mark_reader(const Rematerialiser *r, int tensor) {
  Tensor *t = graph_tensor(r->graph, tensor);
  t->again_by = first_reader(r, tensor, PHASE_BACKWARD);
  if (t->again_by < 0) t->again_by = first_reader(r, tensor, PHASE_FORWARD);
  if (t->again_by < 0) t->again_above = 0;
}

static Rematerialiser rematerialiser_new(Arena *arena, Graph *graph) {
  const int n = graph->tensors.len;
  Rematerialiser r = {.graph = graph, .arena = arena, .reads = reads_of_graph(arena, graph)};
  r.kept = NEW_ARRAY(arena, bool, n);
  r.again = NEW_ARRAY(arena, bool, n);
  collect_facts(&r);
  return r;
}

int64_t rematerialise_least(int64_t strip_bytes) { return strip_bytes / 8; }

const bool *rematerialise_bulges(Graph *graph, Arena *arena) {
  Rematerialiser r = rematerialiser_new(arena, graph);
  double flops;
  for (int t = 0; t < graph->tensors.len; t++) r.again[t] = is_bulge(&r, t, &flops);
  return r.again;
}

void rematerialise_mark(Graph *graph, int64_t least_bytes) {
  Arena *scratch = arena_new();
  Rematerialiser rematerialiser = rematerialiser_new(scratch, graph), *r = &rematerialiser;
  for (int t = 0; t < graph->tensors.len; t++) r->again[t] = is_cheap(r, t);
  drop_all_near(r);
  for (int t = 0; t < graph->tensors.len; t++)
    if (r->again[t]) mark_chain(r, t, least_bytes);
  for (int i = graph->ops.len - 1; i >= 0; i--) // readers first
    if (graph_tensor(graph, graph->ops.at[i].out)->again_above > 0) mark_reader(r, graph->ops.at[i].out);
  arena_free(scratch);
}

// ---- what the plan makes of it -------------------------------------------------------------------------------------

// The first rank's blocks are the largest.
bool rematerialise_chooses(const Tensor *tensor, const Layout *layout, const Mesh *mesh, bool f64) {
  const Shape shape = shape_of(tensor);
  return tensor->again_above > 0 && layout_elements(mesh, &shape, layout) * (f64 ? 8 : 4) > tensor->again_above;
}

typedef struct Settler {
  Graph *graph;
  const Mesh *mesh;
  const Op *op;
  bool *wanted; // by tensor: as it is made, by the operator that says whether it is made again
} Settler;

// What is read in another layout is kept so, and what it is made from need not be there.
static void want(void *ctx, int tensor) {
  const Settler *s = ctx;
  const Tensor *t = graph_tensor(s->graph, tensor);
  if (t->again_above == 0 || t->again_by != s->op->out) return;
  const Layout made = sharding_result(s->graph, &s->graph->ops.at[t->producer], 0, s->mesh), read = demands_want(s->graph, s->op, tensor, NULL, s->mesh);
  s->wanted[tensor] = reshard_axes(s->mesh, &made, &read) == 0;
}

void rematerialise_settle(Graph *graph, const Mesh *mesh, bool f64) {
  Arena *scratch = arena_new();
  Settler s = {graph, mesh, NULL, NEW_ARRAY(scratch, bool, graph->tensors.len)};
  for (int i = graph->ops.len - 1; i >= 0; i--) {
    s.op = &graph->ops.at[i];
    Tensor *out = graph_tensor(graph, s.op->out);
    out->again = s.wanted[s.op->out] && s.op->phase == PHASE_FORWARD && rematerialise_chooses(out, out->layout, mesh, f64);
    if (s.op->kind == OP_COMPUTE && (s.op->phase == PHASE_BACKWARD || out->again)) op_visit_reads(s.op, want, &s);
  }
  arena_free(scratch);
}

// ---- making again --------------------------------------------------------------------------------------------------

typedef struct Rewrite {
  Graph *graph;
  const Op *old;     // the operators as they were
  int n_tensors;     // as there were
  int *made;         // by tensor: its second making, or -1
  int *producer;     // by tensor: of the operators as they were
} Rewrite;

static void make_if_chosen(void *ctx, int tensor);

static const Expr *read_again(void *ctx, const Expr *e) {
  const Rewrite *w = ctx;
  if (e->kind != EXPR_ACCESS || e->access.tensor >= w->n_tensors || w->made[e->access.tensor] < 0) return e;
  return expr_access_of(w->graph->arena, e, w->made[e->access.tensor]);
}

static Op reading_again(Rewrite *w, Op op) {
  op_visit_reads(&op, make_if_chosen, w);
  op.body = expr_map(w->graph->arena, op.body, read_again, w);
  return op;
}

static void make_if_chosen(void *ctx, int tensor) {
  Rewrite *w = ctx;
  if (!graph_tensor(w->graph, tensor)->again || w->made[tensor] >= 0) return;
  Op op = reading_again(w, w->old[w->producer[tensor]]);
  Tensor again = *graph_tensor(w->graph, tensor);
  op.phase = PHASE_BACKWARD;
  again.name = arena_printf(w->graph->arena, "%s.again", again.name);
  again.again = false;
  op.out = w->made[tensor] = graph_add_tensor(w->graph, again);
  graph_add_op(w->graph, op);
}

void pass_rematerialise(Graph *graph) {
  const int n_tensors = graph->tensors.len, n_ops = graph->ops.len;
  Rewrite w = {.graph = graph, .n_tensors = n_tensors};
  w.made = NEW_ARRAY(graph->arena, int, n_tensors);
  w.producer = NEW_ARRAY(graph->arena, int, n_tensors);
  for (int t = 0; t < n_tensors; t++) {
    w.made[t] = -1;
    w.producer[t] = graph_tensor(graph, t)->producer;
  }
  w.old = graph_renew_ops(graph, n_ops + n_ops / 4 + 8);
  for (int i = 0; i < n_ops; i++) {
    const Op op = w.old[i];
    graph_add_op(graph, op.kind == OP_COMPUTE && op.phase == PHASE_BACKWARD ? reading_again(&w, op) : op);
  }
  for (int t = 0; t < n_tensors; t++) graph_tensor(graph, t)->again = false;
  bool *wanted = NEW_ARRAY(graph->arena, bool, graph->ops.len);
  for (int i = 0; i < graph->ops.len; i++) wanted[i] = true;
  graph_keep_ops(graph, wanted); // producers by their new numbers
  graph_forget_old_ops(graph);
}
