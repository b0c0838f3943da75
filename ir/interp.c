#include "interp.h"

#include <math.h>

// Philox4x32-10 and what is made of its words, as runtime/common/random.h defines them. ir/ includes nothing, so it stands
// here again; tests/unit/test_interp.c holds one against the other.
static void philox(uint64_t seed, uint32_t stream, uint64_t step, uint64_t index, uint32_t word[4]) {
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32), c2 = stream, c3 = (uint32_t)step;
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  word[0] = c0, word[1] = c1, word[2] = c2, word[3] = c3;
}

static double unit(uint32_t low, uint32_t high) { return (double)(((uint64_t)high << 32 | low) >> 11) * 0x1p-53; }

static double random_number(const Interp *interp, bool normal, int stream, int64_t element) {
  uint32_t word[4];
  philox(interp->seed, (uint32_t)stream, (uint64_t)interp->run[RUN_STEP], (uint64_t)element, word);
  const double u = unit(word[0], word[1]);
  return normal ? sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * unit(word[2], word[3])) : u;
}

static int64_t numerator(const Index *index, const int64_t *at, int n_dims) {
  int64_t value = index->base;
  for (int d = 0; d < n_dims; d++) value += index->coef[d] * at[d];
  return value;
}

static double eval_access(const Interp *interp, const Expr *e, const int64_t *at, int n_dims) {
  const Tensor *tensor = graph_tensor(interp->graph, e->access.tensor);
  int64_t offset = 0;
  for (int i = 0; i < e->access.rank; i++) {
    const Index *index = &e->access.index[i];
    const int64_t value = numerator(index, at, n_dims);
    if (value % index->div != 0) return e->access.outside;
    const int64_t position = value / index->div;
    if (position < 0 || position >= tensor->extent[i]) return e->access.outside;
    offset = offset * tensor->extent[i] + position;
  }
  return interp->data[e->access.tensor][offset];
}

static double eval(const Interp *interp, const Expr *e, const int64_t *at, int n_dims) {
  switch (e->kind) {
  case EXPR_CONST: return e->value;
  case EXPR_INDEX: return (double)numerator(e->index, at, n_dims) / (double)e->index->div;
  case EXPR_RUN: return interp->run[e->run];
  case EXPR_ACCESS: return eval_access(interp, e, at, n_dims);
  case EXPR_RANDOM:
    return random_number(interp, e->random.normal, e->random.stream,
                         numerator(e->random.element, at, n_dims) + e->random.apart * (int64_t)interp->run[RUN_MICRO]);
  case EXPR_CALL: {
    double arg[3] = {0};
    for (int i = 0; i < fn_arity(e->call.fn); i++) arg[i] = eval(interp, e->call.arg[i], at, n_dims);
    return fn_eval(e->call.fn, arg[0], arg[1], arg[2]);
  }
  }
  fatal("interp: unknown expression %d", (int)e->kind);
}

// Moves `at` to the next point of dims [from, to) in row-major order; false when it was the last (it is the first again).
static bool next_point(const Op *op, int from, int to, int64_t *at) {
  for (int d = to - 1; d >= from; d--) {
    if (++at[d] < op->dims[d].extent) return true;
    at[d] = 0;
  }
  return false;
}

static double combine(Reduce reduce, double a, double b) {
  switch (reduce) {
  case REDUCE_SUM: return a + b;
  case REDUCE_PROD: return a * b;
  case REDUCE_MAX: return fn_eval(FN_max, a, b, 0);
  case REDUCE_MIN: return fn_eval(FN_min, a, b, 0);
  case REDUCE_NONE:
  case REDUCE_ARGMAX: break;
  }
  fatal("interp: %s combines nothing", reduce_name(reduce));
}

// One element of the output: the reduction over the dims behind the output's, which stand at their first point.
static double eval_element(const Interp *interp, const Op *op, int64_t *at) {
  if (op->reduce == REDUCE_NONE) return eval(interp, op->body, at, op->n_dims);
  double best = reduce_identity(op->reduce);
  int64_t position = 0, best_position = 0;
  do {
    const double value = eval(interp, op->body, at, op->n_dims);
    if (op->reduce != REDUCE_ARGMAX) {
      best = combine(op->reduce, best, value);
    } else if (value > best) {
      best = value;
      best_position = position;
    }
    position++;
  } while (next_point(op, op->n_out, op->n_dims, at));
  return op->reduce == REDUCE_ARGMAX ? (double)best_position : best;
}

static void check_read(void *ctx, int tensor) {
  const Interp *interp = ctx;
  if (interp->data[tensor] == NULL)
    fatal("interp: tensor %s of graph %s is read before it has a value", graph_tensor(interp->graph, tensor)->name,
          interp->graph->name);
}

static double *room(Interp *interp, int tensor) {
  if (interp->data[tensor] == NULL)
    interp->data[tensor] =
        NEW_ARRAY(interp->graph->arena, double, tensor_elements(graph_tensor(interp->graph, tensor)));
  return interp->data[tensor];
}

static void run_op(Interp *interp, const Op *op) {
  if (op->kind == OP_OPAQUE)
    fatal("interp: operator %s calls %s, a function that cannot be interpreted", op->name, op->opaque->function);
  op_visit_reads(op, check_read, interp);
  double *out = room(interp, op->out);
  const int64_t elements = tensor_elements(graph_tensor(interp->graph, op->out));
  if (op->kind != OP_COMPUTE) {
    memcpy(out, interp->data[op->in], sizeof *out * (size_t)elements);
    return;
  }
  int64_t at[IR_MAX_DIMS] = {0};
  for (int64_t i = 0; i < elements; i++) {
    out[i] = eval_element(interp, op, at);
    next_point(op, 0, op->n_out, at);
  }
}

Interp *interp_new(Arena *arena, const Graph *graph) {
  Interp *interp = NEW(arena, Interp);
  interp->graph = graph;
  interp->data = NEW_ARRAY(arena, double *, graph->tensors.len);
  interp->run[RUN_STEPS] = 1;
  return interp;
}

void interp_run(Interp *interp) {
  for (int i = 0; i < interp->graph->ops.len; i++) run_op(interp, &interp->graph->ops.at[i]);
}

// All values are read before the first is written: a store may give one state the old value of another.
void interp_store(Interp *interp) {
  const Graph *graph = interp->graph;
  Arena *scratch = arena_new();
  double **value = NEW_ARRAY(scratch, double *, graph->stores.len + 1);
  for (int i = 0; i < graph->stores.len; i++) {
    const int tensor = graph->stores.at[i].value;
    const size_t bytes = sizeof(double) * (size_t)tensor_elements(graph_tensor(graph, tensor));
    value[i] = arena_alloc(scratch, bytes);
    memcpy(value[i], interp->data[tensor], bytes);
  }
  for (int i = 0; i < graph->stores.len; i++) {
    const int state = graph->stores.at[i].state;
    memcpy(room(interp, state), value[i], sizeof(double) * (size_t)tensor_elements(graph_tensor(graph, state)));
  }
  arena_free(scratch);
}

double interp_scalar(const Interp *interp, int tensor) { return interp->data[tensor][0]; }
