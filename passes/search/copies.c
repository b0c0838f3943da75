// A parameter that is cut on its ranks and read less cut is gathered before its first reader, once for all of them (../demands.h), and stays
// until the last one.
//
//   parameter -- size -- reader      not allowed unless the size is that of what is gathered; 0: nothing is
#include "copies.h"

#include <math.h>

typedef struct Finder {
  SearchProblem *p;
  const Graph *graph;
  const Op *op;
  int number; // operator at hand
  Copy *of;   // by tensor: reader -1: nobody reads it, or not forward first
} Finder;

// The group that reads it first; another one's copy would be counted twice where both are the same.
static void note_reader(void *ctx, int tensor) {
  const Finder *f = ctx;
  Copy *copy = &f->of[tensor];
  const int group = f->p->groups.of_op[f->number];
  if (graph_tensor(f->graph, tensor)->role != ROLE_PARAM || group < 0 || f->op->kind != OP_COMPUTE) return;
  if (f->op->phase == PHASE_FORWARD && copy->reader < 0) *copy = (Copy){.stored = f->p->groups.of_tensor[tensor], .reader = group, .first = f->number, .last = -1};
  if (f->op->phase == PHASE_BACKWARD && copy->reader == group) copy->last = f->number;
}

// Layouts that are the same are one class. Gives how many there are.
static int classes_of(const Mesh *mesh, const Layout *layout, int n, int *class_of, Layout *distinct) {
  int classes = 0;
  for (int v = 0; v < n; v++) {
    int c = 0;
    while (c < classes && reshard_axes(mesh, &distinct[c], &layout[v]) != 0) c++;
    if (c == classes) distinct[classes++] = layout[v];
    class_of[v] = c;
  }
  return classes;
}

static int size_of(Copy *copy, double bytes) {
  int i = 0;
  while (i < copy->n_sizes && copy->size[i] != bytes) i++;
  if (i == copy->n_sizes) copy->size[copy->n_sizes++] = bytes;
  return i;
}

static void find_bytes(const Finder *f, Copy *copy, int tensor) {
  SearchProblem *p = f->p;
  const Mesh *mesh = p->cost.mesh;
  const Tensor *t = graph_tensor(f->graph, tensor);
  const int n_stored = p->of[copy->stored].n, n_reader = p->of[copy->reader].n;
  Layout *stored = NEW_ARRAY(p->arena, Layout, n_stored), *read = NEW_ARRAY(p->arena, Layout, n_reader);
  int *stored_class = NEW_ARRAY(p->arena, int, n_stored), *reader_class = NEW_ARRAY(p->arena, int, n_reader);
  for (int v = 0; v < n_stored; v++) {
    problem_lay_stored(p, copy->stored, &p->of[copy->stored].list[v]);
    stored[v] = *t->layout;
  }
  for (int v = 0; v < n_reader; v++) {
    problem_lay_group(p, copy->reader, v);
    read[v] = demands_want(f->graph, &f->graph->ops.at[copy->first], tensor, NULL, mesh);
  }
  Layout *of_stored = NEW_ARRAY(p->arena, Layout, n_stored), *of_reader = NEW_ARRAY(p->arena, Layout, n_reader);
  copy->n_stored = classes_of(mesh, stored, n_stored, stored_class, of_stored);
  copy->n_reader = classes_of(mesh, read, n_reader, reader_class, of_reader);
  copy->stored_class = stored_class;
  copy->reader_class = reader_class;
  copy->bytes = NEW_ARRAY(p->arena, double, copy->n_stored *copy->n_reader);
  copy->size = NEW_ARRAY(p->arena, double, copy->n_reader + 1);
  for (int s = 0; s < copy->n_stored; s++)
    for (int r = 0; r < copy->n_reader; r++) {
      const double bytes = cost_bytes(&p->cost, t, &of_reader[r]);
      copy->bytes[s * copy->n_reader + r] = bytes > cost_bytes(&p->cost, t, &of_stored[s]) ? bytes : 0;
      size_of(copy, copy->bytes[s * copy->n_reader + r]);
    }
}

static void add_variable(SearchProblem *p, Copy *copy) {
  const int n = copy->n_sizes;
  double *cost = NEW_ARRAY(p->arena, double, copy->n_stored *copy->n_reader *n);
  int *same = NEW_ARRAY(p->arena, int, n);
  for (int i = 0; i < copy->n_stored * copy->n_reader; i++)
    for (int k = 0; k < n; k++) cost[i * n + k] = copy->bytes[i] == copy->size[k] ? 0 : INFINITY;
  for (int k = 0; k < n; k++) same[k] = k;
  copy->variable = p->cfn.variables.len;
  const CfnVariable variable = {.name = p->groups.list.at[copy->stored].name, .n_values = n, .cost = NEW_ARRAY(p->arena, double, n)};
  const CfnFunction function = {.arity = 3, .var = {copy->stored, copy->reader, copy->variable}, .n_classes = {copy->n_stored, copy->n_reader, n},
                                .class_of = {copy->stored_class, copy->reader_class, same}, .cost = cost};
  vec_push(p->arena, &p->cfn.variables, variable);
  vec_push(p->arena, &p->cfn.functions, function);
}

Copies copies_add(SearchProblem *p) {
  const Graph *graph = p->groups.graph;
  Finder f = {.p = p, .graph = graph, .of = NEW_ARRAY(p->arena, Copy, graph->tensors.len)};
  Copies copies = {0};
  for (int t = 0; t < graph->tensors.len; t++) f.of[t].reader = -1;
  for (f.number = 0; f.number < graph->ops.len; f.number++) {
    f.op = &graph->ops.at[f.number];
    op_visit_reads(f.op, note_reader, &f);
  }
  for (int t = 0; t < graph->tensors.len; t++) {
    Copy copy = f.of[t];
    if (copy.reader < 0 || copy.last < 0 || copy.stored < 0) continue;
    find_bytes(&f, &copy, t);
    if (copy.n_sizes == 1) continue;
    add_variable(p, &copy);
    vec_push(p->arena, &copies, copy);
  }
  return copies;
}

double copy_bytes(const Copy *copy, const int *value) {
  return copy->bytes[copy->stored_class[value[copy->stored]] * copy->n_reader + copy->reader_class[value[copy->reader]]];
}
