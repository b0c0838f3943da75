#include "footprint.h"

#include <math.h>

#include "../demands.h"
#include "../passes.h"
#include "copies.h"

typedef VEC(int) Ids;

// From the operator `made` to the operator `read`, both included.
typedef struct Life {
  int made, read;
  int again; // the first operator of the backward pass that reads it
} Life;

struct Footprint {
  SearchProblem *p;
  const Graph *graph;
  const AgainLayers *layers; // or NULL
  Copies copies;       // where layers are made again
  const bool *bulge;   // by tensor: it may not be there
  int64_t least_bytes; // if it is larger than this
  Life *life;          // by tensor
  int *keeper;         // by tensor: the group that it is counted with; -1: none
  Ids *kept;           // by group: the tensors that are counted with it
  double *bytes;       // by tensor: as the group at hand lays it, whole numbers
  double **laid;       // by group, by value, once they were asked for: what it stores, and the tensors that are counted with it
  double **work;       // by group: of its values
};

// What a view lies on.
static int viewed(const Graph *graph, int tensor) {
  for (;;) {
    const int producer = graph_tensor(graph, tensor)->producer;
    if (producer < 0 || graph->ops.at[producer].kind != OP_VIEW) return tensor;
    tensor = graph->ops.at[producer].in;
  }
}

// ---- what is counted, with which group, and how long ---------------------------------------------------------------

typedef struct Reader {
  Footprint *f;
  const Op *op;
  int number, group;
} Reader;

// Of the forward pass what is read backward; of the backward pass the gradients of parameters, which the updates read.
static void find_keeper(void *ctx, int tensor) {
  const Reader *reader = ctx;
  Footprint *f = reader->f;
  const int of = viewed(f->graph, tensor);
  const Tensor *t = graph_tensor(f->graph, of);
  if (t->producer < 0 || t->inlined) return;
  if (f->graph->ops.at[t->producer].phase >= reader->op->phase) return;
  if (reader->op->phase == PHASE_UPDATE && t->role != ROLE_GRADIENT) return;
  f->life[of] = (Life){t->producer, reader->number, f->life[of].again > 0 ? f->life[of].again : reader->number};
  if (f->keeper[of] >= 0) return;
  f->keeper[of] = reader->group;
  vec_push(f->p->arena, &f->kept[reader->group], of);
}

static bool is_reader(const Op *op) { return (op->phase == PHASE_BACKWARD || op->phase == PHASE_UPDATE) && op->kind == OP_COMPUTE; }

static void find_keepers(Footprint *f) {
  for (int t = 0; t < f->graph->tensors.len; t++) f->keeper[t] = -1;
  for (int i = 0; i < f->graph->ops.len; i++) {
    Reader reader = {f, &f->graph->ops.at[i], i, f->p->groups.of_op[i]};
    if (is_reader(reader.op) && reader.group >= 0) op_visit_reads(reader.op, find_keeper, &reader);
  }
}

// ---- bytes as a group lies -----------------------------------------------------------------------------------------

static void note_bytes(void *ctx, int tensor) {
  const Reader *reader = ctx;
  Footprint *f = reader->f;
  const int of = viewed(f->graph, tensor);
  if (f->keeper[of] != reader->group) return;
  const Layout want = demands_want(f->graph, reader->op, tensor, NULL, f->p->cost.mesh);
  const double bytes = cost_bytes(&f->p->cost, graph_tensor(f->graph, tensor), &want);
  f->bytes[of] = f->bulge[of] && bytes > (double)f->least_bytes ? 0 : fmin(f->bytes[of], bytes);
}

// Of the tensors that are counted with the group, after problem_lay_group.
static void measure_kept(Footprint *f, int number) {
  const Group *group = &f->p->groups.list.at[number];
  for (int i = 0; i < f->kept[number].len; i++) f->bytes[f->kept[number].at[i]] = INFINITY;
  for (int i = 0; i < group->ops.len; i++) {
    Reader reader = {f, &f->graph->ops.at[group->ops.at[i]], group->ops.at[i], number};
    if (is_reader(reader.op)) op_visit_reads(reader.op, note_bytes, &reader);
  }
}

static double stored_bytes(const Footprint *f, int number) {
  const Group *group = &f->p->groups.list.at[number];
  double sum = 0;
  for (int i = 0; group->kind == GROUP_PARAM && i < f->p->planner.kept[group->tensor].len; i++) {
    const Tensor *t = graph_tensor(f->graph, f->p->planner.kept[group->tensor].at[i]);
    sum += cost_bytes(&f->p->cost, t, t->layout);
  }
  return sum;
}

// Under a value of a group: what it stores, and then the tensors that are counted with it.
static const double *laid_as(Footprint *f, int group, int value) {
  const int width = 1 + f->kept[group].len, n = f->p->of[group].n;
  if (f->laid[group] == NULL) {
    f->laid[group] = NEW_ARRAY(f->p->arena, double, n *width);
    for (int v = 0; v < n; v++) f->laid[group][v * width] = -1; // not known yet
  }
  double *laid = &f->laid[group][value * width];
  if (laid[0] >= 0) return laid;
  problem_lay_group(f->p, group, value);
  measure_kept(f, group);
  laid[0] = stored_bytes(f, group);
  for (int i = 0; i < f->kept[group].len; i++) laid[1 + i] = f->bytes[f->kept[group].at[i]];
  return laid;
}

// From which operator on a tensor lies there for those that read it last.
static int begin_of(const Footprint *f, int tensor) {
  const bool again = f->layers != NULL && again_makes(f->layers, tensor);
  return again ? f->life[tensor].again : f->life[tensor].made;
}

double footprint_peak(Footprint *f, const int *value, int *moment) {
  const int n = f->graph->ops.len;
  double *change = NEW_ARRAY(f->p->arena, double, n + 1), now = 0, most = -1;
  for (int g = 0; g < f->p->groups.list.len; g++) {
    const double *laid = laid_as(f, g, value[g]);
    now += laid[0];
    for (int i = 0; i < f->kept[g].len; i++) {
      const int tensor = f->kept[g].at[i];
      change[begin_of(f, tensor)] += laid[1 + i];
      change[f->life[tensor].read + 1] -= laid[1 + i];
    }
  }
  for (int i = 0; i < f->copies.len; i++) {
    const Copy *copy = &f->copies.at[i];
    change[copy->first] += copy_bytes(copy, value);
    change[copy->last + 1] -= copy_bytes(copy, value);
  }
  for (int i = 0; i < n; i++) {
    now += change[i];
    if (now > most) most = now, *moment = i;
  }
  return most;
}

void footprint_weigh(Footprint *f, int limit, int moment) {
  double **weight = NEW_ARRAY(f->p->arena, double *, f->p->cfn.variables.len);
  for (int x = 0; x < f->p->cfn.variables.len; x++) {
    CfnVariable *variable = &f->p->cfn.variables.at[x];
    variable->weight[limit] = weight[x] = NEW_ARRAY(f->p->arena, double, variable->n_values);
  }
  for (int g = 0; g < f->p->groups.list.len; g++)
    for (int v = 0; v < f->p->of[g].n; v++) {
      const double *laid = laid_as(f, g, v);
      weight[g][v] = laid[0];
      for (int i = 0; i < f->kept[g].len; i++) {
        const int tensor = f->kept[g].at[i];
        if (begin_of(f, tensor) <= moment && moment <= f->life[tensor].read) weight[g][v] += laid[1 + i];
      }
    }
  for (int i = 0; i < f->copies.len; i++) {
    const Copy *copy = &f->copies.at[i];
    for (int k = 0; k < copy->n_sizes && copy->first <= moment && moment <= copy->last; k++) weight[copy->variable][k] = copy->size[k];
  }
}

// ---- what operators work on ----------------------------------------------------------------------------------------

typedef struct Work {
  const Footprint *f;
  const Op *op;
  int64_t most; // elements of a tensor that is counted: as many as a bulge of the group has are in strips, as the bulge is
  double bytes;
} Work;

static void add_tensor(Work *work, int tensor, const Layout *layout) {
  const Tensor *t = graph_tensor(work->f->graph, tensor);
  if (!t->inlined && tensor_elements(t) < work->most) work->bytes += cost_bytes(&work->f->p->cost, t, layout);
}

static void add_operand(void *ctx, int tensor) {
  Work *work = ctx;
  const Layout want = demands_want(work->f->graph, work->op, tensor, NULL, work->f->p->cost.mesh);
  add_tensor(work, tensor, &want);
}

static int64_t smallest_bulge(const Footprint *f, const Group *group) {
  int64_t smallest = INT64_MAX;
  for (int i = 0; i < group->ops.len; i++) {
    const int out = f->graph->ops.at[group->ops.at[i]].out;
    if (f->bulge[out]) smallest = min_i64(smallest, tensor_elements(graph_tensor(f->graph, out)));
  }
  return smallest;
}

static double work_of_group(const Footprint *f, const Group *group) {
  const int64_t bulge = smallest_bulge(f, group);
  double most = 0;
  for (int i = 0; i < group->ops.len; i++) {
    Work work = {f, &f->graph->ops.at[group->ops.at[i]], bulge, 0};
    if (work.op->kind != OP_COMPUTE) continue;
    op_visit_reads(work.op, add_operand, &work);
    add_tensor(&work, work.op->out, graph_tensor(f->graph, work.op->out)->layout);
    most = fmax(most, work.bytes);
  }
  return most;
}

const double *footprint_work(const Footprint *f, int group) {
  if (f->work[group] != NULL) return f->work[group];
  const int n = f->p->of[group].n;
  double *work = f->work[group] = NEW_ARRAY(f->p->arena, double, n);
  for (int v = 0; v < n; v++) {
    problem_lay_group(f->p, group, v);
    work[v] = work_of_group(f, &f->p->groups.list.at[group]);
  }
  return work;
}

const AgainLayers *footprint_layers(const Footprint *f) { return f->layers; }

Footprint *footprint_new(SearchProblem *p, const AgainLayers *layers, int64_t strip_bytes) {
  const int n = p->groups.graph->tensors.len, groups = p->groups.list.len;
  Footprint *f = NEW(p->arena, Footprint);
  *f = (Footprint){.p = p, .graph = p->groups.graph, .layers = layers, .least_bytes = rematerialise_least(strip_bytes)};
  f->bulge = strip_bytes > 0 ? rematerialise_bulges(p->model->train, p->arena) : NEW_ARRAY(p->arena, bool, n);
  f->life = NEW_ARRAY(p->arena, Life, n);
  f->keeper = NEW_ARRAY(p->arena, int, n);
  f->kept = NEW_ARRAY(p->arena, Ids, groups);
  f->bytes = NEW_ARRAY(p->arena, double, n);
  f->laid = NEW_ARRAY(p->arena, double *, groups);
  f->work = NEW_ARRAY(p->arena, double *, groups);
  find_keepers(f);
  if (layers != NULL) f->copies = copies_add(p);
  return f;
}
