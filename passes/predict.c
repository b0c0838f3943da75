// predict: what each step of the program is predicted to take, by its operators.
//
// Requires: a program of sharded graphs; does nothing where no machine is known. Guarantees: each operator of the training graph that is
// computed in a step that does not report is an operator of one step: the first that makes its result, be it in registers. Where none
// does, as of what lies within another tensor or is added to it, the one that makes what is read of it.
//
//   gemm makes dense1.y;  kernel makes dense1.y.2 in registers, relu
// becomes
//   gemm makes dense1.y   # 12.1 us, "f32 sum [a=16 b=512 | c=784] (x0[a, c] * x1[b, c])"
//   kernel makes relu     # 0 us and 1.3 us, which a profile has no names for
//
// The names are of no use but in a program that is written: they are found apart.
#include "passes.h"

#include "profile.h"

typedef struct Predictor {
  const Graph *graph; // for training
  Program *program;
  Step *step;         // at hand
  Step **step_of;     // by operator of the graph; NULL: none yet
  Step **reader;      // by tensor: the step of the first operator that reads it
  int *change;        // by tensor: the last operator that changes its layout, or -1
  int *change_before; // by operator: another one that changes the same tensor's, or -1
} Predictor;

// ---- which step makes what -------------------------------------------------------------------------------------------

static void add_op(Predictor *p, int op) {
  if (op >= 0 && p->step_of[op] == NULL) p->step_of[op] = p->step;
}

// The tensor of the graph that the program's is, or -1.
static int graph_tensor_of(const Predictor *p, int tensor) {
  return names_get(&p->graph->tensor_names, p->program->tensors.at[tensor].name);
}

static void add_maker(Predictor *p, int tensor) {
  const int made = graph_tensor_of(p, tensor);
  if (made >= 0) add_op(p, graph_tensor(p->graph, made)->producer);
}

static void add_written(void *ctx, int tensor, bool written) {
  if (written) add_maker(ctx, tensor);
}

static void list_changes(Predictor *p) {
  for (int t = 0; t < p->graph->tensors.len; t++) p->change[t] = -1;
  for (int i = 0; i < p->graph->ops.len; i++) {
    const Op *op = &p->graph->ops.at[i];
    if (op->kind != OP_RESHARD) continue;
    p->change_before[i] = p->change[op->in];
    p->change[op->in] = i;
  }
}

// Of a collective: the first change of a tensor that none was found for before.
static void add_change(Predictor *p, int tensor) {
  const int changed = graph_tensor_of(p, tensor);
  int first = -1;
  for (int i = changed >= 0 ? p->change[changed] : -1; i >= 0; i = p->change_before[i])
    if (p->step_of[i] == NULL) first = i;
  add_op(p, first);
}

static void find_kernel(Predictor *p, const Kernel *kernel) {
  for (int s = 0; s < kernel->stages.len; s++)
    for (int i = 0; i < kernel->stages.at[s].statements.len; i++) add_maker(p, kernel->stages.at[s].statements.at[i].out);
}

static void find_collective(Predictor *p, const Collective *c) {
  if (c->members.len == 0) add_change(p, c->tensor);
  for (int i = 0; i < c->members.len; i++) add_change(p, c->members.at[i]);
}

// body: of the step at hand, or the step itself. What only begins a sum makes nothing.
static void find_operators(Predictor *p, const Step *body) {
  if (body->kind == STEP_KERNEL) find_kernel(p, body->kernel);
  else if (body->kind == STEP_COLLECTIVE) find_collective(p, body->collective);
  else if (body->kind == STEP_LOOP)
    for (int i = 0; i < body->loop.body.len; i++) find_operators(p, body->loop.body.at[i]);
  else if (step_works(body) && body->kind != STEP_ZERO) step_visit_tensors(body, add_written, p);
}

// ---- what no step makes by itself ------------------------------------------------------------------------------------

static void note_reader(void *ctx, int tensor) {
  Predictor *p = ctx;
  p->reader[tensor] = p->step;
}

static void follow_readers(Predictor *p) {
  for (int i = p->graph->ops.len - 1; i >= 0; i--) {
    const Op *op = &p->graph->ops.at[i];
    if (p->step_of[i] == NULL) p->step_of[i] = p->reader[op->out];
    p->step = p->step_of[i];
    if (p->step != NULL) op_visit_reads(op, note_reader, p);
  }
}

static bool is_of_step(const Op *op) { return op->kind != OP_VIEW && phase_is_of_step(op->phase); }

// The one copy of a name: equal ones are one pointer, as operators are many and names few.
static const char *the_one(Arena *arena, Names *names, const char *name) {
  if (name == NULL) return NULL;
  const char *known = names_key(names, name);
  if (known != NULL) return known;
  const char *copy = arena_strdup(arena, name);
  names_set(names, copy, names->len);
  return copy;
}

void predict_seconds(Compilation *c) {
  if (c->cost == NULL) return;
  const Graph *graph = c->model->train;
  Arena *scratch = arena_new();
  Predictor p = {.graph = graph, .program = c->program};
  p.step_of = NEW_ARRAY(scratch, Step *, graph->ops.len);
  p.reader = NEW_ARRAY(scratch, Step *, graph->tensors.len);
  p.change = NEW_ARRAY(scratch, int, graph->tensors.len);
  p.change_before = NEW_ARRAY(scratch, int, graph->ops.len);
  list_changes(&p);
  for (int k = PROC_BEGIN; k <= PROC_UPDATE; k++) {
    if (k == PROC_REPORT || !procedure_runs(c->program, k)) continue;
    const Procedure *procedure = &c->program->procedure[k];
    for (int i = 0; i < procedure->steps.len; i++) {
      p.step = procedure->steps.at[i];
      find_operators(&p, p.step);
    }
  }
  follow_readers(&p);
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    if (p.step_of[i] == NULL || !is_of_step(op)) continue;
    vec_push(c->program->arena, &p.step_of[i]->parts, ((StepPart){.op = i, .seconds = cost_of_op(c->cost, graph, op)}));
  }
  arena_free(scratch);
}

void predict_names(Compilation *c) {
  const Graph *graph = c->model->train;
  Arena *naming = arena_new(), *scratch = arena_new();
  Names names = {.arena = scratch};
  for (int k = PROC_BEGIN; k <= PROC_UPDATE; k++) {
    const Procedure *procedure = &c->program->procedure[k];
    for (int i = 0; i < procedure->steps.len; i++) {
      StepParts *parts = &procedure->steps.at[i]->parts;
      for (int n = 0; n < parts->len; n++) {
        const Op *op = &graph->ops.at[parts->at[n].op];
        const char *what = op->kind == OP_RESHARD ? profile_change_name(naming, c->cost, graph, op) : profile_name(naming, c->cost, graph, op);
        parts->at[n].what = the_one(c->program->arena, &names, what);
        arena_reset(naming);
      }
    }
  }
  arena_free(naming);
  arena_free(scratch);
}

void pass_predict(Compilation *c) {
  predict_seconds(c);
  predict_names(c);
}
