// Plans that divide the batch and nothing else that is computed.
//
// data: inputs are divided along their first dimension over all axes, and everything follows; what is stored is on every rank.
// fsdp: the same, but every parameter and every state of the optimizer is divided along its largest dimension: gathered before it
// is read, its gradient scattered to where the update is. Operators are told to follow the batch, not what is stored:
//   y[n, co] = sum(ci) x[n, ci] * w[co, ci]            n/data, although w lies in parts of co
#include "plan_weights.h"
#include "sharding.h"

static void add_inputs(Arena *arena, Plan *plan, const Graph *graph) {
  for (int t = 0; t < graph->tensors.len; t++)
    if (graph_tensor(graph, t)->role == ROLE_INPUT) plan_add_batch(arena, plan, graph_tensor(graph, t), plan_all_axes(&plan->mesh));
}

void plan_make_data(Arena *arena, const Model *model, Plan *plan) { add_inputs(arena, plan, model->train); }

// ---- fully sharded -------------------------------------------------------------------------------------------------

static void add_stored(Arena *arena, Plan *plan, const Tensor *t) {
  int largest = 0;
  for (int d = 1; d < t->rank; d++)
    if (t->extent[d] > t->extent[largest]) largest = d;
  PlanLine line = {.subject = PLAN_STORE, .name = t->name};
  plan_choose(&line, &plan->mesh, plan_all_axes(&plan->mesh),
              (PlanChoice){.kind = CHOICE_SPLIT, .dim = t->dim[largest], .unit = 1});
  if (t->rank > 0) vec_push_own(arena, &plan->lines, line);
}

typedef struct Batch {
  const Graph *graph;
  int *dim; // by tensor: the dimension that is the batch, or -1
  const Op *op;
  int found, reads; // found: of the operator; reads: of weights
} Batch;

// A dimension of the result before one that is summed over.
static void ask_batch(void *ctx, int tensor) {
  Batch *b = ctx;
  b->reads += is_weight(b->graph, tensor);
  if (b->dim[tensor] < 0) return;
  const int dim = sharding_dim_of(b->graph, b->op, tensor, b->dim[tensor]);
  if (dim >= 0 && (b->found < 0 || (b->found >= b->op->n_out && dim < b->op->n_out))) b->found = dim;
}

static void follow_batch(Dividing *d, Batch *b, int id) {
  const Op *op = b->op = &b->graph->ops.at[id];
  int64_t unit;
  b->found = -1;
  b->reads = 0;
  if (op->kind == OP_VIEW && b->dim[op->in] >= 0)
    b->dim[op->out] = sharding_through_view(graph_tensor(b->graph, op->in), graph_tensor(b->graph, op->out), b->dim[op->in], 1, &unit);
  if (op->kind != OP_COMPUTE) return;
  op_visit_reads(op, ask_batch, b);
  if (b->found < 0 || (op->reduce == REDUCE_ARGMAX && b->found >= op->n_out)) return;
  if (b->reads > 0) dividing_add(d, id, b->found, 1);
  if (b->found < op->n_out) b->dim[op->out] = b->found;
}

static void add_ops(Arena *arena, Plan *plan, const Model *model, const Graph *graph) {
  Dividing d = dividing_new(arena, model, graph, plan, plan_all_axes(&plan->mesh));
  Batch batch = {.graph = graph, .dim = NEW_ARRAY(arena, int, graph->tensors.len)};
  for (int t = 0; t < graph->tensors.len; t++) batch.dim[t] = graph_tensor(graph, t)->role == ROLE_INPUT ? 0 : -1;
  for (int i = 0; i < graph->ops.len; i++)
    if (graph->ops.at[i].phase != PHASE_UPDATE) follow_batch(&d, &batch, i);
}

void plan_make_fsdp(Arena *arena, const Model *model, Plan *plan) {
  add_inputs(arena, plan, model->train);
  for (int t = 0; t < model->train->tensors.len; t++) {
    const Tensor *tensor = graph_tensor(model->train, t);
    if (tensor->role == ROLE_PARAM || (tensor->role == ROLE_STATE && tensor->of >= 0)) add_stored(arena, plan, tensor);
  }
  add_ops(arena, plan, model, model->train);
  add_ops(arena, plan, model, model->eval);
}
