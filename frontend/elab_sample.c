// sample token = logits: what the next value of an input is drawn from, for programs that generate text.
#include "elab.h"

typedef struct Reads {
  bool *tensor; // by id
} Reads;

static void note(void *ctx, int tensor) { ((Reads *)ctx)->tensor[tensor] = true; }

// An input other than `stream` that the tensor is computed from, or -1.
static int other_input(Elab *e, int tensor, int stream) {
  const Graph *graph = e->graph;
  Reads reads = {NEW_ARRAY(e->arena, bool, graph->tensors.len)};
  note(&reads, tensor);
  for (int i = graph->ops.len - 1; i >= 0; i--)
    if (op_any_result(&graph->ops.at[i], reads.tensor)) op_visit_reads(&graph->ops.at[i], note, &reads);
  for (int t = 0; t < graph->tensors.len; t++)
    if (reads.tensor[t] && t != stream && graph_tensor(graph, t)->role == ROLE_INPUT) return t;
  return -1;
}

// The input that a statement names, or -1 after an error.
static int find_stream(Elab *e, const AstTarget *target) {
  const int id = names_get(&e->graph->tensor_names, target->name);
  if (id < 0 || graph_tensor(e->graph, id)->role != ROLE_INPUT) {
    if (names_get(&e->declared_inputs, target->name) < 0)
      elab_error(e, target->loc,
                 "'%s' is no input of the model: sample INPUT = LOGITS says what an input's next value is drawn from",
                 target->name);
    return -1;
  }
  const Tensor *t = graph_tensor(e->graph, id);
  if (t->type == TYPE_INT && t->rank == 2 && t->range > 0) return id;
  elab_error(e, target->loc, "only an input of integers [batch, time] with a range can be sampled: '%s' is %s %s",
             target->name, t->type == TYPE_INT ? "int" : "real", shape_text(e, id));
  diag_note(t->loc, "it is declared here");
  return -1;
}

static bool check_logits(Elab *e, Loc loc, Value v, int stream) {
  const Tensor *s = graph_tensor(e->graph, stream);
  const Tensor *t = v.kind == VALUE_TENSOR ? graph_tensor(e->graph, v.tensor) : NULL;
  if (t == NULL || t->type != TYPE_REAL || t->role != ROLE_VALUE || t->rank != 3 || t->extent[0] != s->extent[0] ||
      t->extent[1] != s->extent[1] || t->extent[2] != s->range) {
    elab_error(e, loc,
               "'%s' is drawn from real numbers [%lld, %lld, %lld], one for each of its values behind every position; "
               "found %s",
               s->name, (long long)s->extent[0], (long long)s->extent[1], (long long)s->range, value_describe(e, v));
    return false;
  }
  const int other = other_input(e, v.tensor, stream);
  if (other < 0) return true;
  elab_error(e, loc, "what '%s' is drawn from may depend on no other input, but it depends on '%s'", s->name,
             graph_tensor(e->graph, other)->name);
  return false;
}

// In the training graph nothing is drawn.
void elab_sample(Elab *e, const AstStmt *stmt) {
  const AstTarget *target = &stmt->targets.at[0];
  if (e->training) return;
  const int stream = find_stream(e, target);
  const Value v = elab_expr(e, stmt->value);
  if (stream < 0 || is_error(v) || !check_logits(e, stmt->value->loc, v, stream)) return;
  if (e->graph->sampled >= 0) {
    elab_error(e, stmt->loc, "a second 'sample': a model has one");
    return;
  }
  e->graph->sampled = v.tensor;
  e->model->sampled_input = target->name;
}
