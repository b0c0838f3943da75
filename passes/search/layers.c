#include "layers.h"

#include "../sharding.h"
#include "forest.h"

// An operator reads forward what a group makes.
typedef struct Read { int op, from, to, made, read; } Read; // from, to: groups

typedef struct Builder {
  Arena *arena;
  const Groups *groups;
  const Graph *graph;
  VEC(Read) reads;
  bool *in_layer; // by group
  int *parent;    // by group: sets that become layers, as a forest
  Layers layers;
  VEC(Read) late; // of groups that do nothing forward
} Builder;

int layers_root(const Graph *graph, int tensor) {
  for (int producer; (producer = graph_tensor(graph, tensor)->producer) >= 0 && graph->ops.at[producer].kind == OP_VIEW;)
    tensor = graph->ops.at[producer].in;
  return tensor;
}

// ---- which groups are one layer ------------------------------------------------------------------------------------

typedef struct ReadVisit { Builder *b; int op; bool late; } ReadVisit;

static void ask_maker(void *ctx, int tensor) {
  const ReadVisit *v = ctx;
  const int from = v->b->groups->of_tensor[layers_root(v->b->graph, tensor)];
  if (from >= 0 && from != v->b->groups->of_op[v->op]) v->b->in_layer[v->b->groups->of_op[v->op]] |= v->b->in_layer[from];
}

// What is light and made of inputs alone, without a gradient, is made where it is needed.
static void find_members(Builder *b) {
  for (int g = 0; g < b->groups->list.len; g++) {
    const Group *group = &b->groups->list.at[g];
    b->in_layer[g] = group->kind == GROUP_OPS && !group->light;
    for (int i = 0; i < group->ops.len && group->kind == GROUP_OPS; i++) {
      ReadVisit v = {b, group->ops.at[i], false};
      b->in_layer[g] |= b->graph->ops.at[v.op].phase == PHASE_BACKWARD;
      if (!b->in_layer[g]) op_visit_reads(&b->graph->ops.at[v.op], ask_maker, &v);
    }
  }
}

static void note_read(void *ctx, int tensor) {
  const ReadVisit *v = ctx;
  Builder *b = v->b;
  const int made = layers_root(b->graph, tensor), from = b->groups->of_tensor[made], to = b->groups->of_op[v->op];
  if (from < 0 || !b->in_layer[from]) return;
  const Read read = {v->op, from, to, made, tensor};
  if (v->late) vec_push(b->arena, &b->late, read);
  else vec_push(b->arena, &b->reads, read);
}

static bool is_of_layer(const Builder *b, int op) {
  const int group = b->groups->of_op[op];
  return group >= 0 && b->in_layer[group] && b->graph->ops.at[op].kind != OP_VIEW;
}

static bool is_forward(const Builder *b, int op) { return is_of_layer(b, op) && b->graph->ops.at[op].phase == PHASE_FORWARD; }

// What operators read forward. A group that does nothing forward is of the layer that makes what it reads first or, where it reads nothing
// of layers, that reads it.
static void list_reads(Builder *b) {
  bool *placed = NEW_ARRAY(b->arena, bool, b->groups->list.len); // at first those that do something forward
  for (int i = 0; i < b->graph->ops.len; i++)
    if (is_forward(b, i)) placed[b->groups->of_op[i]] = true;
  for (int i = 0; i < b->graph->ops.len; i++) {
    ReadVisit v = {b, i, is_of_layer(b, i) && !placed[b->groups->of_op[i]]};
    if (v.late || is_forward(b, i)) op_visit_reads(&b->graph->ops.at[i], note_read, &v);
  }
  for (int i = 0; i < b->late.len; i++) {
    const Read *read = &b->late.at[i];
    if (placed[read->to] || !placed[read->from]) continue;
    forest_unite(b->parent, read->from, read->to);
    placed[read->to] = true;
  }
  for (int i = b->late.len - 1; i >= 0; i--) {
    const Read *read = &b->late.at[i];
    if (!placed[read->from]) forest_unite(b->parent, read->from, read->to);
    placed[read->from] = true;
  }
}

// By group: what it reads forward, as numbers of reads, and the groups of the set that it leads.
typedef struct Sets { Ints *reads, *members; } Sets;

// The one set that makes all that a set reads of others, which it reads as it is made; -1: there is none.
static int maker_of(const Builder *b, const Sets *sets, int set) {
  int maker = -1;
  for (int i = 0; i < sets->members[set].len; i++) {
    const Ints *reads = &sets->reads[sets->members[set].at[i]];
    for (int r = 0; r < reads->len; r++) {
      const Read *read = &b->reads.at[reads->at[r]];
      const int from = forest_root(b->parent, read->from);
      if (from == forest_root(b->parent, set)) continue;
      if ((maker >= 0 && maker != from) || read->made != read->read) return -1;
      maker = from;
    }
  }
  return maker;
}

// What is light and reads nothing but what one layer makes is of that layer.
static void unite_with_maker(Builder *b) {
  const int n = b->groups->list.len;
  const Sets sets = {NEW_ARRAY(b->arena, Ints, n), NEW_ARRAY(b->arena, Ints, n)};
  for (int i = 0; i < b->reads.len; i++) vec_push(b->arena, &sets.reads[b->reads.at[i].to], i);
  for (int g = 0; g < n; g++) vec_push(b->arena, &sets.members[forest_root(b->parent, g)], g);
  for (int set = 0; set < n; set++) {
    bool light = true;
    for (int i = 0; i < sets.members[set].len; i++) light &= b->groups->list.at[sets.members[set].at[i]].light;
    const int maker = light ? maker_of(b, &sets, set) : -1;
    if (maker >= 0) forest_unite(b->parent, maker, set);
  }
}

// ---- layers in order -----------------------------------------------------------------------------------------------

// Sets that feed each other are one layer: strongly connected components, in the order in which Tarjan's algorithm ends them, which
// is that from the last to the first.
typedef struct Walk {
  Builder *b;
  Ints *readers;    // by set
  int *index, *low; // by set; index 0: not seen yet
  int *layer;       // by set; -1: none yet
  Ints stack;
  int seen, ended;
} Walk;

static void walk(Walk *w, int set) {
  w->index[set] = w->low[set] = ++w->seen;
  vec_push(w->b->arena, &w->stack, set);
  for (int i = 0; i < w->readers[set].len; i++) {
    const int reader = w->readers[set].at[i];
    if (w->index[reader] == 0) walk(w, reader);
    if (w->layer[reader] < 0 && w->low[reader] < w->low[set]) w->low[set] = w->low[reader];
  }
  if (w->low[set] < w->index[set]) return;
  for (int last = -1; last != set;) {
    last = w->stack.at[--w->stack.len];
    w->layer[last] = w->ended;
  }
  w->ended++;
}

static void number_layers(Builder *b) {
  const int n = b->groups->list.len;
  Walk w = {.b = b, .readers = NEW_ARRAY(b->arena, Ints, n), .layer = NEW_ARRAY(b->arena, int, n)};
  w.index = NEW_ARRAY(b->arena, int, n);
  w.low = NEW_ARRAY(b->arena, int, n);
  for (int i = 0; i < b->reads.len; i++)
    vec_push(b->arena, &w.readers[forest_root(b->parent, b->reads.at[i].from)], forest_root(b->parent, b->reads.at[i].to));
  for (int g = 0; g < n; g++) w.layer[g] = -1;
  for (int g = n - 1; g >= 0; g--)
    if (b->in_layer[g] && forest_root(b->parent, g) == g && w.index[g] == 0) walk(&w, g);
  vec_renew(b->arena, &b->layers.list, w.ended);
  b->layers.list.len = w.ended;
  for (int g = 0; g < n; g++) {
    b->layers.of_group[g] = b->in_layer[g] ? w.ended - 1 - w.layer[forest_root(b->parent, g)] : -1;
    if (b->in_layer[g]) vec_push(b->arena, &b->layers.list.at[b->layers.of_group[g]].groups, g);
  }
  for (int i = 0; i < b->graph->ops.len; i++)
    if (is_of_layer(b, i) || (b->graph->ops.at[i].kind == OP_VIEW && b->groups->of_op[i] >= 0 && b->layers.of_group[b->groups->of_op[i]] >= 0))
      vec_push(b->arena, &b->layers.list.at[b->layers.of_group[b->groups->of_op[i]]].ops, i);
}

// Each tensor that a layer reads once.
static void list_edges(Builder *b) {
  int *reader = NEW_ARRAY(b->arena, int, b->graph->tensors.len); // the last one, counted from 1
  Ints *of = NEW_ARRAY(b->arena, Ints, b->layers.list.len);
  for (int i = 0; i < b->reads.len; i++) vec_push(b->arena, &of[b->layers.of_group[b->reads.at[i].to]], i);
  for (int l = 0; l < b->layers.list.len; l++)
    for (int i = 0; i < of[l].len; i++) {
      const Read *read = &b->reads.at[of[l].at[i]];
      if (reader[read->read] == l + 1) continue;
      reader[read->read] = l + 1;
      vec_push(b->arena, &b->layers.edges, (LayerEdge){b->layers.of_group[read->from], l, read->made, read->read});
    }
}

// ---- dimensions ----------------------------------------------------------------------------------------------------

// The dimensions of the operators of all layers, as sets with at most one of each operator.
typedef struct DimSets {
  Builder *b;
  int *set; // by operator * IR_MAX_DIMS + dimension, or -1
  VEC(LayerDim) list;
} DimSets;

static bool share_op(const DimSets *s, const LayerDim *x, int y) {
  for (int i = 0; i < x->members.len; i++)
    for (int d = 0; d < IR_MAX_DIMS; d++)
      if (s->set[x->members.at[i].op * IR_MAX_DIMS + d] == y) return true;
  return false;
}

static void join(DimSets *s, int x, int y) {
  if (x < 0 || y < 0 || x == y) return;
  LayerDim *to = &s->list.at[x];
  const LayerDim *from = &s->list.at[y];
  if (share_op(s, from, x)) return;
  to->extent = gcd_i64(to->extent, from->extent);
  for (int i = 0; i < from->members.len; i++) {
    const GroupMember member = from->members.at[i];
    vec_push(s->b->arena, &to->members, member);
    s->set[member.op * IR_MAX_DIMS + member.dim] = x;
  }
}

static int set_of(const DimSets *s, int op, int dim) { return dim < 0 ? -1 : s->set[op * IR_MAX_DIMS + dim]; }

// No product is divided along what it sums over.
static void join_read(DimSets *s, const Read *read) {
  const Builder *b = s->b;
  const int maker = graph_tensor(b->graph, read->made)->producer;
  const Op *op = &b->graph->ops.at[maker];
  if (b->layers.of_group[read->from] != b->layers.of_group[read->to] || read->from == read->to || read->made != read->read) return;
  const Op *reader = &b->graph->ops.at[read->op];
  for (int i = 0; i < op->n_out && op->kind == OP_COMPUTE; i++) {
    const int dim = sharding_dim_of(b->graph, reader, read->made, i);
    if (dim < reader->n_out || b->groups->list.at[read->to].light) join(s, set_of(s, maker, i), set_of(s, read->op, dim));
  }
}

static void list_sets(DimSets *s) {
  const Groups *groups = s->b->groups;
  for (int g = 0; g < groups->list.len; g++)
    for (int d = 0; d < groups->list.at[g].dims.len && s->b->in_layer[g]; d++) {
      const GroupDim *of = &groups->list.at[g].dims.at[d];
      LayerDim dim = {.extent = 0};
      for (int m = 0; m < of->members.len; m++) {
        const GroupMember member = of->members.at[m];
        s->set[member.op * IR_MAX_DIMS + member.dim] = s->list.len;
        dim.extent = gcd_i64(s->b->graph->ops.at[member.op].dims[member.dim].extent / member.unit, dim.extent);
        vec_push(s->b->arena, &dim.members, member);
      }
      vec_push(s->b->arena, &s->list, dim);
    }
}

// The dimensions of the results of an operator, where the layer does not have them yet.
static void add_dims(DimSets *s, Layer *layer, int op, bool *taken) {
  for (int d = 0; d < s->b->graph->ops.at[op].n_out; d++) {
    const int set = set_of(s, op, d);
    if (set < 0 || taken[set] || layer->dims.len == LAYER_MAX_DIMS) continue;
    taken[set] = true;
    vec_push(s->b->arena, &layer->dims, s->list.at[set]);
  }
}

// Of a layer that nobody reads: what its first group makes last or, where that is light and ends in a scalar, the largest of what it makes.
static int main_result(const Builder *b, const Layer *layer) {
  const Group *first = &b->groups->list.at[layer->groups.at[0]];
  int found = first->ops.at[0];
  double most = 0;
  for (int i = 0; i < first->ops.len; i++) {
    const int op = first->ops.at[i];
    const double elements = (double)tensor_elements(graph_tensor(b->graph, b->graph->ops.at[op].out));
    if (!is_forward(b, op) || (first->light && elements <= most)) continue;
    found = op;
    most = elements;
  }
  return found;
}

static void find_dims(Builder *b) {
  const int n = b->graph->ops.len * IR_MAX_DIMS;
  DimSets s = {.b = b, .set = NEW_ARRAY(b->arena, int, n)};
  for (int i = 0; i < n; i++) s.set[i] = -1;
  list_sets(&s);
  for (int i = 0; i < b->reads.len; i++) join_read(&s, &b->reads.at[i]);
  for (int i = 0; i < b->late.len; i++) join_read(&s, &b->late.at[i]);
  bool *taken = NEW_ARRAY(b->arena, bool, s.list.len);
  for (int i = 0; i < b->layers.edges.len; i++) {
    const LayerEdge *e = &b->layers.edges.at[i];
    if (e->from != e->to) add_dims(&s, &b->layers.list.at[e->from], graph_tensor(b->graph, e->made)->producer, taken);
  }
  for (int l = 0; l < b->layers.list.len; l++) {
    Layer *layer = &b->layers.list.at[l];
    if (layer->dims.len == 0) add_dims(&s, layer, main_result(b, layer), taken);
  }
}

static void note_dims(Builder *b) {
  const int n = b->graph->ops.len;
  b->layers.of_op = NEW_ARRAY(b->arena, OpDims, n);
  for (int i = 0; i < n; i++)
    for (int d = 0; d < LAYER_MAX_DIMS; d++) b->layers.of_op[i].dim[d] = -1;
  for (int l = 0; l < b->layers.list.len; l++)
    for (int d = 0; d < b->layers.list.at[l].dims.len; d++)
      for (int m = 0; m < b->layers.list.at[l].dims.at[d].members.len; m++) {
        const GroupMember *member = &b->layers.list.at[l].dims.at[d].members.at[m];
        b->layers.of_op[member->op].dim[d] = member->dim;
        b->layers.of_op[member->op].unit[d] = member->unit;
      }
}

Layers layers_of_groups(Arena *arena, const Groups *groups) {
  const int n = groups->list.len;
  Builder b = {.arena = arena, .groups = groups, .graph = groups->graph, .parent = NEW_ARRAY(arena, int, n)};
  b.in_layer = NEW_ARRAY(arena, bool, n);
  b.layers = (Layers){.groups = groups, .of_group = NEW_ARRAY(arena, int, n)};
  for (int g = 0; g < n; g++) b.parent[g] = g;
  find_members(&b);
  list_reads(&b);
  unite_with_maker(&b);
  number_layers(&b);
  list_edges(&b);
  find_dims(&b);
  note_dims(&b);
  return b.layers;
}
