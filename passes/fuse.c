// fuse: which operators become one kernel.
//
// Requires: a sharded graph. Guarantees: groups whose members can run as one step; the groups have no cycle; a
// contraction is alone with the packings and the folding that can run slice by slice beside it.
//
// An operator joins the kernel of a neighbour (one that makes or reads what it reads) when both can run independently
// along common dimensions, the rows: one block per row, reductions inside the row, values handed on in registers:
//   s[i] = sum(c) exp(x[i, c]);  y[i, c] = exp(x[i, c]) / s[i]        rows i; two loops over c
#include "fuse.h"

#include "../ir/program.h"
#include "contraction.h"
#include "kernel.h"
#include "rewrite.h"

enum { MAX_FUSED = 40 };             // operators in one kernel
enum { MAX_TENSORS = 24 };           // tensors of one kernel: its arguments are to be read
enum { MANY_READS = 8 };             // of one operator
enum { SHORT = 8 };                  // inner elements of a row that are written one after the other
enum { MAX_SERIAL_ELEMENTS = 1 << 16 }; // elements that a kernel without rows may run over

// All that a group reads from, through any chain of groups, back to a cut; as long as none of them changes.
typedef struct Sources {
  int group; // -1: not known
  int cut;
  int *mark, epoch; // by group: it is one
} Sources;

typedef struct Fuser {
  Arena *arena;
  const Graph *graph;
  Grouping *g;
  int *mark, epoch; // by group: visited in the search at hand
  int cut, n_visited; // before the group that is looked for; in the search at hand
  Sources sources;    // of the last one that was found to have many
  bool met_sources;   // the search at hand came to that one
  VEC(int) *reader_groups; // by tensor: kernels that read it
  int *packing_of;         // by operator: the first whose companion it is, or -1
} Fuser;

// ---- facts about the graph ---------------------------------------------------------------------------------------

static void count_reader(void *ctx, int tensor) { ((Grouping *)ctx)->readers[tensor]++; }

static void collect_facts(Fuser *f) {
  const Graph *graph = f->graph;
  Grouping *g = f->g;
  for (int i = 0; i < graph->ops.len; i++) op_visit_reads(&graph->ops.at[i], count_reader, g);
  for (int t = 0; t < graph->tensors.len; t++) {
    const Role role = graph_tensor(graph, t)->role;
    g->leaves[t] |= role == ROLE_PARAM || role == ROLE_STATE;
  }
}

static int producer_of(const Fuser *f, int tensor) { return graph_tensor(f->graph, tensor)->producer; }

// ---- cycles ------------------------------------------------------------------------------------------------------

// Places are only ever closed: each leads to an earlier one, and chains are halved as they are followed.
int grouping_cut(Grouping *g, int op) {
  while (g->cut[op] != op) op = g->cut[op] = g->cut[g->cut[op]];
  return op;
}

void grouping_join(Grouping *g, int first, int last) {
  for (int at = grouping_cut(g, last); at > first; at = grouping_cut(g, at)) g->cut[at] = at - 1;
}

// True if group `from` reads, through any chain of groups, from group `to`. Of a group that it reads a later member may read
// from what comes after `from`: only behind a cut is nothing left to look for.
static bool reaches(Fuser *f, int from, int to) {
  if (from == to) return true;
  if (f->mark[from] == f->epoch) return false;
  f->mark[from] = f->epoch;
  f->n_visited++;
  if (from == f->sources.group && f->cut >= f->sources.cut) {
    f->met_sources = true;
    return f->sources.mark[to] == f->sources.epoch;
  }
  const Group *group = &f->g->groups.at[from];
  if (group->max_op < f->cut) return false;
  for (int i = 0; i < group->deps.len; i++)
    if (reaches(f, group->deps.at[i], to)) return true;
  return false;
}

static void collect_sources(Fuser *f, int from) {
  Sources *s = &f->sources;
  if (s->mark[from] == s->epoch) return;
  s->mark[from] = s->epoch;
  const Group *group = &f->g->groups.at[from];
  for (int i = 0; i < group->deps.len && group->max_op >= s->cut; i++) collect_sources(f, group->deps.at[i]);
}

// The same. A group that reads from many, as the norm of all gradients does, is asked for each of its readers, about each of them;
// where it reads from the one whose sources are known, they are some of its own.
static bool reads_from(Fuser *f, int from, int to) {
  enum { MANY = 64 };
  Sources *s = &f->sources;
  f->n_visited = 0;
  f->met_sources = false;
  const bool found = reaches(f, from, to);
  if (f->n_visited > MANY) {
    *s = (Sources){from, f->cut, s->mark, f->met_sources ? s->epoch : s->epoch + 1};
    collect_sources(f, from);
  }
  return found;
}

typedef struct InputGroups {
  const Fuser *f;
  VEC(int) list;
} InputGroups;

static void collect_input_group(void *ctx, int tensor) {
  InputGroups *in = ctx;
  const int producer = producer_of(in->f, tensor);
  if (producer < 0) return;
  const int group = in->f->g->group_of[producer];
  for (int i = 0; i < in->list.len; i++)
    if (in->list.at[i] == group) return;
  vec_push(in->f->arena, &in->list, group);
}

static InputGroups input_groups(const Fuser *f, const Op *op) {
  InputGroups in = {.f = f};
  op_visit_reads(op, collect_input_group, &in);
  return in;
}

static bool makes_cycle(Fuser *f, const InputGroups *in, int group) {
  f->epoch++;
  f->cut = grouping_cut(f->g, f->g->groups.at[group].min_op);
  for (int i = 0; i < in->list.len; i++)
    if (in->list.at[i] != group && reads_from(f, in->list.at[i], group)) return true;
  return false;
}

// ---- joining a kernel --------------------------------------------------------------------------------------------

typedef struct Join {
  const Fuser *f;
  const Group *group;
  const Op *op;
  int class[IR_MAX_DIMS]; // of the operator's dimensions; -1: new
  bool reads_made; // something made in the group
  uint32_t broken; // rows along which the operator reads something made in the group, but not row by row
} Join;

static const GroupTensor *find_tensor(const Group *group, int tensor) {
  for (int i = group->tensors.len - 1; i >= 0; i--)
    if (group->tensors.at[i].tensor == tensor) return &group->tensors.at[i];
  return NULL;
}

static LoopClass class_of_dim(const Op *op, int d) {
  LoopClass class = {op->dims[d], 1, 0};
  for (int a = 0; a < MESH_MAX_AXES; a++) {
    if (op->sharding.dim[a] != d) continue;
    class.axes |= 1u << a;
    class.unit = op->sharding.unit[a];
  }
  return class;
}

static bool same_loop(const Group *group, int class, const Op *op, int d) {
  const LoopClass *a = &group->classes.at[class], b = class_of_dim(op, d);
  return a->dim.extent == b.dim.extent && a->axes == b.axes && a->unit == b.unit;
}

static bool same_pins(const Fuser *f, const Group *group, const Op *op) {
  if (group->ops.len == 0) return true;
  const Op *first = &f->graph->ops.at[group->ops.at[0]];
  return memcmp(first->sharding.pin, op->sharding.pin, sizeof op->sharding.pin) == 0;
}

static void unify_access(void *ctx, const Expr *e) {
  Join *j = ctx;
  if (e->kind != EXPR_ACCESS) return;
  const GroupTensor *known = find_tensor(j->group, e->access.tensor);
  if (known == NULL) return;
  for (int i = 0; i < e->access.rank; i++) {
    const int d = access_full_dim(j->f->graph, j->op, e, i), class = known->class[i];
    if (d < 0 || class < 0) continue;
    if (j->class[d] < 0 && same_loop(j->group, class, j->op, d)) j->class[d] = class;
  }
}

static void check_access(void *ctx, const Expr *e) {
  Join *j = ctx;
  if (e->kind != EXPR_ACCESS) return;
  const GroupTensor *known = find_tensor(j->group, e->access.tensor);
  if (known == NULL || !known->made) return;
  for (int i = 0; i < e->access.rank; i++) {
    const int d = access_full_dim(j->f->graph, j->op, e, i);
    if (known->class[i] < 0 || access_is_at_unit(j->f->graph, j->op, e, i)) continue;
    if (d < 0 || j->class[d] != known->class[i]) j->broken |= 1u << known->class[i];
  }
}

static double elements_of(const Op *op) {
  double n = 1;
  for (int d = 0; d < op->n_dims; d++) n *= (double)op->dims[d].extent;
  return n;
}

static void note_made(void *ctx, const Expr *e) {
  Join *j = ctx;
  const GroupTensor *known = e->kind == EXPR_ACCESS ? find_tensor(j->group, e->access.tensor) : NULL;
  j->reads_made |= known != NULL && known->made;
}

// Elements of a row, over all dimensions inside of it.
static double row_elements(const Group *group, const Join *j, uint32_t rows) {
  double n = 1;
  for (int c = 0; c < group->classes.len; c++)
    if (!(rows >> c & 1)) n *= (double)group->classes.at[c].dim.extent;
  for (int d = 0; d < j->op->n_dims; d++)
    if (j->class[d] < 0) n *= (double)j->op->dims[d].extent;
  return n;
}

// The operator spreads values of the group over a few elements more, and neighbours in memory stay neighbours among the rows:
// the gradient of four gates from that of each.
static bool spreads_shortly(const Group *group, const Join *j, uint32_t rows) {
  const Op *op = j->op;
  const int last = op->n_out > 0 ? j->class[op->n_out - 1] : -1;
  if (!j->reads_made || rows != group->rows || last < 0 || !(rows >> last & 1)) return false;
  return row_elements(group, j, rows) <= SHORT;
}

// Would the group, run along `rows`, still be a good kernel with this operator in it?
static bool profitable(const Fuser *f, const Group *group, const Join *j, uint32_t rows) {
  bool inner = false, all_maps = j->op->reduce == REDUCE_NONE;
  double largest = elements_of(j->op);
  for (int d = 0; d < j->op->n_dims; d++)
    inner |= j->op->dims[d].extent > 1 && (j->class[d] < 0 || !(rows >> j->class[d] & 1));
  for (int i = 0; i < group->ops.len; i++) {
    const Op *op = &f->graph->ops.at[group->ops.at[i]];
    all_maps &= op->reduce == REDUCE_NONE;
    if (elements_of(op) > largest) largest = elements_of(op);
    for (int d = 0; d < op->n_dims; d++)
      inner |= op->dims[d].extent > 1 && !(rows >> f->g->class_of[group->ops.at[i]][d] & 1);
  }
  if (!inner) return true; // the same elements, one by one
  if (all_maps) return spreads_shortly(group, j, rows); // else maps over different spaces gain nothing
  if (rows == 0) return largest <= MAX_SERIAL_ELEMENTS;
  double row_count = 1;
  for (int c = 0; c < group->classes.len; c++)
    if (rows >> c & 1) row_count *= (double)group->classes.at[c].dim.extent;
  return row_count >= 4 || largest <= MAX_SERIAL_ELEMENTS;
}

// A reduction leaves one value per row: rows may not shrink below its output.
static bool keeps_reductions(const Fuser *f, const Group *group, uint32_t rows) {
  for (int i = 0; i < group->ops.len; i++) {
    const Op *op = &f->graph->ops.at[group->ops.at[i]];
    if (op->reduce != REDUCE_NONE && rows != group->rows) return false;
  }
  return true;
}

static bool has_new_outputs(const Join *j) {
  for (int d = 0; d < j->op->n_out; d++)
    if (j->class[d] < 0) return true;
  return false;
}

// Dimensions of extent 1 are in no access: any of the group's will do.
static void unify_units(Join *j) {
  for (int d = 0; d < j->op->n_out; d++) {
    if (j->class[d] >= 0 || j->op->dims[d].extent != 1) continue;
    for (int c = 0; c < j->group->classes.len && j->class[d] < 0; c++) {
      bool free = same_loop(j->group, c, j->op, d);
      for (int o = 0; o < j->op->n_dims; o++) free &= j->class[o] != c;
      if (free) j->class[d] = c;
    }
  }
}

typedef struct NewReads {
  const Group *group;
  int n;
} NewReads;

static void count_new(void *ctx, int tensor) {
  NewReads *reads = ctx;
  reads->n += find_tensor(reads->group, tensor) == NULL;
}

// The operator gathers many values, and with them the kernel would have too many arguments.
static bool gathers_too_many(const Group *group, const Op *op) {
  NewReads reads = {group, 0};
  op_visit_reads(op, count_new, &reads);
  return reads.n > MANY_READS && group->tensors.len + reads.n > MAX_TENSORS;
}

// What a layer makes beside a single number is of that number's layer: layers of one kind then stay the same steps.
static bool mixes_layers(const Fuser *f, const Group *group, const Op *op) {
  if (op->layer[0] == '\0') return false;
  for (int i = 0; i < group->ops.len; i++) {
    const Op *other = &f->graph->ops.at[group->ops.at[i]];
    if (other->n_dims == 0 && !layer_same_outer(op->layer, other->layer)) return true;
  }
  return false;
}

static bool try_join(Fuser *f, int op_id, int group_id, const InputGroups *in) {
  Group *group = &f->g->groups.at[group_id];
  const Op *op = &f->graph->ops.at[op_id];
  if (group->kind != GROUP_KERNEL || group->phase != op->phase || group->ops.len >= MAX_FUSED) return false;
  if (!same_pins(f, group, op) || group->tensors.len >= MAX_TENSORS) return false;
  if (group->ops.len > 0 && (gathers_too_many(group, op) || mixes_layers(f, group, op))) return false;
  Join j = {.f = f, .group = group, .op = op};
  for (int d = 0; d < IR_MAX_DIMS; d++) j.class[d] = -1;
  expr_visit(op->body, unify_access, &j);
  unify_units(&j);
  uint32_t used = 0, out_rows = 0;
  int n_new = 0;
  for (int d = 0; d < op->n_dims; d++) {
    if (j.class[d] < 0) {
      n_new++;
      continue;
    }
    if (used >> j.class[d] & 1) return false; // two dimensions of the operator in one loop
    used |= 1u << j.class[d];
    if (d < op->n_out) out_rows |= 1u << j.class[d];
  }
  if (group->classes.len + n_new > IR_MAX_DIMS) return false;
  expr_visit(op->body, check_access, &j);
  expr_visit(op->body, note_made, &j);
  const uint32_t rows = group->rows & out_rows & ~j.broken;
  if (group->ops.len > 0) {
    if (op->reduce != REDUCE_NONE && (has_new_outputs(&j) || rows != out_rows)) return false;
    if (!keeps_reductions(f, group, rows) || !profitable(f, group, &j, rows)) return false;
    if (makes_cycle(f, in, group_id)) return false;
  }
  for (int d = 0; d < op->n_dims; d++) {
    if (j.class[d] >= 0) continue;
    j.class[d] = group->classes.len;
    vec_push(f->arena, &group->classes, class_of_dim(op, d));
  }
  memcpy(f->g->class_of[op_id], j.class, sizeof j.class);
  group->rows = group->ops.len == 0 ? (1u << op->n_out) - 1 : rows;
  return true;
}

typedef struct Register {
  Fuser *f;
  Group *group;
  int group_id, op_id;
} Register;

static void register_read(void *ctx, const Expr *e) {
  Register *r = ctx;
  if (e->kind != EXPR_ACCESS || find_tensor(r->group, e->access.tensor) != NULL) return;
  GroupTensor known = {.tensor = e->access.tensor};
  for (int i = 0; i < e->access.rank; i++) {
    const int d = access_full_dim(r->f->graph, &r->f->graph->ops.at[r->op_id], e, i);
    known.class[i] = d >= 0 ? r->f->g->class_of[r->op_id][d] : -1;
  }
  vec_push(r->f->arena, &r->group->tensors, known);
  vec_push(r->f->arena, &r->f->reader_groups[e->access.tensor], r->group_id);
}

static void add_to_group(Fuser *f, int op_id, int group_id, const InputGroups *in) {
  Group *group = &f->g->groups.at[group_id];
  const Op *op = &f->graph->ops.at[op_id];
  if (group->ops.len == 0) group->min_op = op_id;
  else grouping_join(f->g, group->max_op, op_id);
  group->max_op = op_id;
  f->g->group_of[op_id] = group_id;
  if (f->sources.mark[group_id] == f->sources.epoch) f->sources = (Sources){-1, 0, f->sources.mark, f->sources.epoch + 1};
  for (int i = 0; i < in->list.len; i++) {
    bool known = in->list.at[i] == group_id;
    for (int k = 0; k < group->deps.len; k++) known |= group->deps.at[k] == in->list.at[i];
    if (!known) vec_push(f->arena, &group->deps, in->list.at[i]);
  }
  vec_push(f->arena, &group->ops, op_id);
  if (group->kind != GROUP_KERNEL) return;
  Register r = {f, group, group_id, op_id};
  expr_visit(op->body, register_read, &r);
  GroupTensor made = {.tensor = op->out, .made = true};
  for (int d = 0; d < op->n_out; d++) made.class[d] = f->g->class_of[op_id][d];
  vec_push(f->arena, &group->tensors, made);
}

static int new_group(Fuser *f, GroupKind kind, const Op *op) {
  vec_push(f->arena, &f->g->groups, (Group){.kind = kind, .phase = op->phase, .contraction = -1});
  return f->g->groups.len - 1;
}

typedef struct Candidates {
  Fuser *f;
  VEC(int) tensors; // read, largest first
} Candidates;

static void collect_tensor(void *ctx, int tensor) {
  Candidates *c = ctx;
  for (int i = 0; i < c->tensors.len; i++)
    if (c->tensors.at[i] == tensor) return;
  vec_push(c->f->arena, &c->tensors, tensor);
  const Graph *graph = c->f->graph;
  for (int i = c->tensors.len - 1; i > 0; i--) {
    int *a = &c->tensors.at[i - 1], *b = &c->tensors.at[i];
    if (tensor_elements(graph_tensor(graph, *a)) >= tensor_elements(graph_tensor(graph, *b))) break;
    const int swap = *a;
    *a = *b;
    *b = swap;
  }
}

static void place_kernel_op(Fuser *f, int op_id) {
  const Op *op = &f->graph->ops.at[op_id];
  const InputGroups in = input_groups(f, op);
  Candidates c = {.f = f};
  op_visit_reads(op, collect_tensor, &c);
  for (int i = 0; i < c.tensors.len; i++) {
    const int tensor = c.tensors.at[i], producer = producer_of(f, tensor);
    if (producer >= 0 && try_join(f, op_id, f->g->group_of[producer], &in)) {
      add_to_group(f, op_id, f->g->group_of[producer], &in);
      return;
    }
    const int n = f->reader_groups[tensor].len;
    for (int k = n - 1; k >= 0 && k >= n - 4; k--) {
      const int group = f->reader_groups[tensor].at[k];
      if (!try_join(f, op_id, group, &in)) continue;
      add_to_group(f, op_id, group, &in);
      return;
    }
  }
  const int group = new_group(f, GROUP_KERNEL, op);
  if (!try_join(f, op_id, group, &in)) fatal("fuse: operator %s does not fit into a kernel of its own", op->name);
  add_to_group(f, op_id, group, &in);
}

// ---- contractions ------------------------------------------------------------------------------------------------

// Moves elements and repeats none: every index is a whole dimension or one place. It takes no more memory than what it reads.
static bool is_rearrangement(const Fuser *f, const Op *op) {
  for (int i = 0; i < op->body->access.rank; i++)
    if (access_full_dim(f->graph, op, op->body, i) < 0 && !index_is_const(&op->body->access.index[i])) return false;
  return true;
}

// A packing that only this contraction reads, whose first dimension can run slice by slice.
static bool is_private_packing(const Fuser *f, const Op *reader, const Expr *access) {
  const int producer = producer_of(f, access->access.tensor);
  if (producer < 0 || f->g->readers[access->access.tensor] != 1 || f->g->leaves[access->access.tensor]) return false;
  const Op *packing = &f->graph->ops.at[producer];
  if (packing->kind != OP_COMPUTE || packing->reduce != REDUCE_NONE || packing->phase != reader->phase) return false;
  if (memcmp(packing->sharding.pin, reader->sharding.pin, sizeof reader->sharding.pin) != 0) return false;
  return packing->body->kind == EXPR_ACCESS && packing->n_out >= 3 && !is_rearrangement(f, packing);
}

// The first dimension of the operator's output is a plain first dimension of what it reads.
static bool slices(const Fuser *f, const Op *op) {
  if (op->body->kind != EXPR_ACCESS || op->n_out == 0 || op->body->access.rank == 0) return false;
  if (access_full_dim(f->graph, op, op->body, 0) != 0) return false;
  for (int i = 1; i < op->body->access.rank; i++)
    if (index_uses(&op->body->access.index[i], 0)) return false;
  return true;
}

// Marks the packings that wait for their contraction, and the foldings that follow one.
static void find_companions(const Fuser *f, int *companion) {
  const Graph *graph = f->graph;
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    Contraction c;
    if (!contraction_match(graph, op, &c) || !contraction_is_large(op, &c)) continue;
    const Expr *operand[2] = {c.a, c.b};
    for (int k = 0; k < 2; k++) {
      if (!is_private_packing(f, op, operand[k])) continue;
      const Op *packing = &graph->ops.at[producer_of(f, operand[k]->access.tensor)];
      const int d = access_full_dim(graph, op, operand[k], 0);
      if (slices(f, packing) && d >= 0) companion[producer_of(f, operand[k]->access.tensor)] = i;
    }
  }
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    if (op->kind != OP_COMPUTE || op->body->kind != EXPR_ACCESS || op->reduce == REDUCE_ARGMAX) continue;
    const int tensor = op->body->access.tensor, producer = producer_of(f, tensor);
    if (producer < 0 || f->g->readers[tensor] != 1 || f->g->leaves[tensor] || !slices(f, op)) continue;
    const Op *product = &graph->ops.at[producer];
    Contraction c;
    if (product->phase != op->phase || !contraction_match(graph, product, &c) || !contraction_is_large(product, &c))
      continue;
    if (access_is_plain(graph, op, op->body)) continue; // a plain sum is no folding
    if (memcmp(product->sharding.pin, op->sharding.pin, sizeof op->sharding.pin) != 0) continue;
    companion[i] = producer;
  }
}

static void place(Fuser *f, int op_id, const int *companion, const Fate *fate) {
  const Op *op = &f->graph->ops.at[op_id];
  if (fate->is_pieces || fate->is_sum) {
    const InputGroups in = input_groups(f, op);
    add_to_group(f, op_id, new_group(f, fate->is_sum ? GROUP_VIEW : GROUP_PIECES, op), &in);
  } else if (op->kind != OP_COMPUTE) {
    const InputGroups in = input_groups(f, op);
    const GroupKind kind = op->kind == OP_VIEW ? GROUP_VIEW : op->kind == OP_OPAQUE ? GROUP_OPAQUE : GROUP_RESHARD;
    add_to_group(f, op_id, new_group(f, kind, op), &in);
  } else if (products_are_for_library(f->graph, op)) {
    const int packing = f->packing_of[op_id];
    const int group = packing >= 0 && packing < op_id ? f->g->group_of[packing] : new_group(f, GROUP_GEMM, op);
    const InputGroups in = input_groups(f, op);
    add_to_group(f, op_id, group, &in);
    f->g->groups.at[group].contraction = op_id;
    if (fate->adds_to > 0) vec_push(f->arena, &f->g->groups.at[group].deps, f->g->group_of[fate->adds_to - 1]);
  } else if (kernel_scatters(f->graph, op)) {
    const InputGroups in = input_groups(f, op);
    add_to_group(f, op_id, new_group(f, GROUP_SCATTER, op), &in);
  } else if (companion[op_id] >= 0) {
    int before = f->packing_of[companion[op_id]];            // a second packing goes where the first one went
    if (companion[op_id] < op_id) before = companion[op_id]; // a folding
    const int group = before < op_id ? f->g->group_of[before] : new_group(f, GROUP_GEMM, op);
    const InputGroups in = input_groups(f, op);
    add_to_group(f, op_id, group, &in);
    f->g->groups.at[group].looped = true;
  } else {
    place_kernel_op(f, op_id);
  }
}

// ---- order -------------------------------------------------------------------------------------------------------

static void visit_group(Fuser *f, int group, int *n) {
  if (f->mark[group] == f->epoch) return;
  f->mark[group] = f->epoch;
  const Group *g = &f->g->groups.at[group];
  for (int i = 0; i < g->deps.len; i++) visit_group(f, g->deps.at[i], n);
  f->g->order[(*n)++] = group;
}

// Groups by their first operator, each after what it reads.
static void order_groups(Fuser *f) {
  f->g->order = NEW_ARRAY(f->arena, int, f->g->groups.len);
  f->epoch++;
  int n = 0;
  for (int i = 0; i < f->graph->ops.len; i++) visit_group(f, f->g->group_of[i], &n);
}

Grouping *fuse_graph(Arena *arena, const Graph *graph, const Fate *fate) {
  Grouping *g = NEW(arena, Grouping);
  Fuser f = {.arena = arena, .graph = graph, .g = g};
  g->graph = graph;
  vec_renew(arena, &g->groups, graph->ops.len);
  g->group_of = NEW_ARRAY(arena, int, graph->ops.len);
  g->class_of = arena_alloc(arena, sizeof *g->class_of * (size_t)graph->ops.len);
  g->cut = NEW_ARRAY(arena, int, graph->ops.len);
  for (int i = 0; i < graph->ops.len; i++) g->cut[i] = i;
  g->readers = NEW_ARRAY(arena, int, graph->tensors.len);
  g->leaves = graph_leaves(graph, arena);
  f.mark = NEW_ARRAY(arena, int, graph->ops.len);
  f.sources = (Sources){.group = -1, .mark = NEW_ARRAY(arena, int, graph->ops.len), .epoch = 1};
  f.reader_groups = arena_alloc(arena, sizeof *f.reader_groups * (size_t)graph->tensors.len);
  int *companion = NEW_ARRAY(arena, int, graph->ops.len);
  for (int i = 0; i < graph->ops.len; i++) companion[i] = -1;
  collect_facts(&f);
  find_companions(&f, companion);
  f.packing_of = NEW_ARRAY(arena, int, graph->ops.len);
  for (int i = 0; i < graph->ops.len; i++) f.packing_of[i] = -1;
  for (int i = graph->ops.len - 1; i >= 0; i--)
    if (companion[i] >= 0) f.packing_of[companion[i]] = i;
  for (int i = 0; i < graph->ops.len; i++) place(&f, i, companion, &fate[i]);
  order_groups(&f);
  return g;
}
