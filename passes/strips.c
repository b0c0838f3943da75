// strips: which groups of operators run as a loop over strips of their rows.
//
// A product of matrices may be far larger than both of its operands: the scores of attention, the logits of a loss. Where all that
// reads it goes row by row, or sums over the rows, none of it need exist as a whole:
//   s[t, u] = sum(d) q[t, d] * k[u, d];  p[t, u] = exp(s[t, u]) / total[t];  y[t, d] = sum(u) p[t, u] * v[u, d]
// becomes
//   for intervals of t:  s of the interval;  p of the interval;  that part of y
// A result without the dimension (v.grad[u, d] = sum(t) p[t, u] * y.grad[t, d]) is added to by every interval.
//
// Requires: the groups of a graph. Guarantees: the groups of a strip are kernels and products with the same dimensions to loop over;
// nothing outside lies between them; what is only read inside is read at the interval at hand; no change of layout is inside. A strip
// may join both ends of forward and backward pass: the logits, the loss and their gradients.
#include "../ir/c_names.h"
#include "contraction.h"
#include "rewrite.h"
#include "strip_finder.h"

enum { REACHES = 8, MIN_ROWS = 64 }; // intervals to make where each reaches a different length; their rows at least
enum { MAX_GROUPS = 32 };
enum { BALANCE = 4 }; // how many times larger than what is inside may be what every interval reads or adds to again
enum { BULGE = 5 };   // how many times larger than its operands a product is that strips are for

// ---- facts -------------------------------------------------------------------------------------------------------

static bool can_be_in_strip(const Group *group) {
  return (group->kind == GROUP_KERNEL || is_product(group)) &&
         (group->phase == PHASE_FORWARD || group->phase == PHASE_BACKWARD);
}

static void collect_facts(Finder *f) {
  for (int t = 0; t < f->graph->tensors.len; t++) f->maker[t] = -1;
  for (int i = 0; i < f->graph->ops.len; i++) {
    const Op *op = op_at(f, i);
    for (int r = 0; r < op_results(op); r++) f->maker[op_result(op, r)] = f->g->group_of[i];
  }
}

static double elements(const Finder *f, int tensor) { return (double)tensor_elements(graph_tensor(f->graph, tensor)); }

static int64_t real_bytes(const Finder *f) { return f->l->program->model->f64 ? 8 : 4; }

static double local_bytes(const Finder *f, int tensor) {
  const Tensor *t = graph_tensor(f->graph, tensor);
  double bytes = t->type == TYPE_REAL ? (double)real_bytes(f) : 4;
  for (int i = 0; i < t->rank; i++) bytes *= (double)extent_max(f->l->program, lowering_tensor_extent(f->l, t, i));
  return bytes;
}

// All that reads the tensor can be in a strip with what makes it.
static bool stays_inside(const Finder *f, int tensor, bool across) {
  const IdList readers = readers_at(f, tensor);
  if (f->g->leaves[tensor] || graph_tensor(f->graph, tensor)->role != ROLE_VALUE || readers.len == 0) return false;
  for (int i = 0; i < readers.len; i++) {
    const Group *reader = group_at(f, f->g->group_of[readers.at[i]]);
    if (!can_be_in_strip(reader) || (!across && reader->phase != group_at(f, f->maker[tensor])->phase)) return false;
  }
  return true;
}

static double operand_elements(const Finder *f, const Expr *access) {
  return graph_tensor(f->graph, access->access.tensor)->role == ROLE_PARAM ? 0 : elements(f, access->access.tensor);
}

static bool is_bulging_product(const Finder *f, const Group *group) {
  Contraction c;
  if (!is_product(group) || !contraction_match(f->graph, op_at(f, group->contraction), &c)) return false;
  const double made = elements(f, op_at(f, group->contraction)->out);
  return made >= BULGE * operand_elements(f, c.a) && made >= BULGE * operand_elements(f, c.b);
}

typedef struct Largest {
  const Finder *f;
  double elements;
} Largest;

static void note_bulge(void *ctx, int tensor) {
  Largest *largest = ctx;
  if (largest->f->bulge[tensor] && elements(largest->f, tensor) > largest->elements)
    largest->elements = elements(largest->f, tensor);
}

// Bulges are made by products, and by kernels from bulges.
static void find_bulges(Finder *f, bool across) {
  for (int i = 0; i < f->g->groups.len; i++) {
    const Group *group = group_at(f, f->g->order[i]);
    if (!can_be_in_strip(group) || f->strips->of_group[f->g->order[i]] >= 0) continue;
    Largest read = {f, 0};
    for (int k = 0; k < group->ops.len; k++) op_visit_reads(op_at(f, group->ops.at[k]), note_bulge, &read);
    for (int k = 0; k < group->ops.len; k++) {
      const int out = op_at(f, group->ops.at[k])->out;
      const bool grows = is_bulging_product(f, group) ||
                         (group->kind == GROUP_KERNEL && read.elements > 0 && elements(f, out) * 2 >= read.elements);
      f->bulge[out] = grows && stays_inside(f, out, across);
    }
  }
}

static int root(const Finder *f, int group) {
  while (f->parent[group] != group) group = f->parent[group];
  return group;
}

static void join_groups(Finder *f) {
  for (int i = 0; i < f->g->groups.len; i++) f->parent[i] = i;
  for (int t = 0; t < f->graph->tensors.len; t++) {
    const IdList readers = readers_at(f, t);
    for (int i = 0; f->bulge[t] && i < readers.len; i++) f->parent[root(f, f->g->group_of[readers.at[i]])] = root(f, f->maker[t]);
  }
}

// ---- order -------------------------------------------------------------------------------------------------------

enum { UNKNOWN, VISITED, AFTER }; // of a group, while one looks for what comes after

static void set_state(Finder *f, int group, int state) {
  f->state[group] = state;
  vec_push(f->arena, &f->looked_at, group);
}

static void forget_states(Finder *f) {
  for (int i = 0; i < f->looked_at.len; i++) f->state[f->looked_at.at[i]] = UNKNOWN;
  f->looked_at.len = 0;
}

// Whether the group, or one that is in a strip with it, comes after the strip at hand (whose groups are marked).
static bool comes_after(Finder *f, int group, int cut) {
  if (f->state[group] != UNKNOWN) return f->state[group] == AFTER;
  set_state(f, group, VISITED);
  if (group_at(f, group)->max_op < cut) return false;
  const int strip = f->strips->of_group[group];
  const Strip *s = strip >= 0 ? &f->strips->list.at[strip] : NULL;
  bool after = false;
  for (int i = 0; i < (s != NULL ? s->groups.len : 1); i++) {
    const Group *member = group_at(f, s != NULL ? s->groups.at[i] : group);
    for (int k = 0; k < member->deps.len; k++) after |= comes_after(f, member->deps.at[k], cut); // all of them are looked at
  }
  if (after) f->state[group] = AFTER;
  return after;
}

static void find_after(Finder *f, const Strip *s) {
  int first_op = INT32_MAX;
  for (int i = 0; i < s->groups.len; i++) {
    set_state(f, s->groups.at[i], AFTER);
    if (group_at(f, s->groups.at[i])->min_op < first_op) first_op = group_at(f, s->groups.at[i])->min_op;
  }
  const int cut = grouping_cut(f->g, first_op);
  for (int i = 0; i < s->groups.len; i++) {
    const Group *group = group_at(f, s->groups.at[i]);
    for (int k = 0; k < group->deps.len; k++) comes_after(f, group->deps.at[k], cut);
  }
}

// Takes in what reads from the strip and is read by it. False: some of that cannot run in strips.
static bool take_in_between(Finder *f, Strip *s) {
  find_after(f, s);
  int first = INT32_MAX, last = -1; // of those that come after, by their places in the order
  for (int i = 0; i < f->looked_at.len; i++) {
    const int group = f->looked_at.at[i];
    if (f->state[group] != AFTER) continue;
    if (f->place[group] < first) first = f->place[group];
    if (f->place[group] > last) last = f->place[group];
  }
  Ids all = {NULL, 0, 0};
  bool possible = true;
  for (int i = first; i <= last && possible; i++) {
    const int group = f->g->order[i];
    if (f->state[group] != AFTER) continue;
    possible = f->strips->of_group[group] < 0 && can_be_in_strip(group_at(f, group));
    vec_push(f->arena, &all, group);
  }
  forget_states(f);
  s->groups.at = all.at, s->groups.len = all.len, s->groups.cap = all.cap;
  return possible && s->groups.len <= MAX_GROUPS;
}

static void visit_group(Finder *f, int group, int *order, int *n) {
  if (f->follows[group]) return;
  const int strip = f->strips->of_group[group];
  const Strip *s = strip >= 0 ? &f->strips->list.at[strip] : NULL;
  const int members = s != NULL ? s->groups.len : 1;
  for (int i = 0; i < members; i++) f->follows[s != NULL ? s->groups.at[i] : group] = true;
  for (int i = 0; i < members; i++) {
    const Group *member = group_at(f, s != NULL ? s->groups.at[i] : group);
    for (int k = 0; k < member->deps.len; k++) visit_group(f, member->deps.at[k], order, n);
  }
  for (int i = 0; i < members; i++) order[(*n)++] = s != NULL ? s->groups.at[i] : group;
}

static void order_groups(Finder *f) {
  int *order = NEW_ARRAY(f->arena, int, f->g->groups.len), n = 0;
  for (int i = 0; i < f->graph->ops.len; i++) visit_group(f, f->g->group_of[i], order, &n);
  f->g->order = order;
  for (int i = 0; i < n; i++) {
    Group *group = group_at(f, order[i]);
    const int strip = f->strips->of_group[order[i]];
    group->late = strip >= 0 && f->strips->list.at[strip].phase == PHASE_BACKWARD;
    for (int k = 0; k < group->deps.len; k++) group->late |= group_at(f, group->deps.at[k])->late;
    group->late &= group->phase == PHASE_FORWARD;
  }
}

// ---- lengths -----------------------------------------------------------------------------------------------------

typedef struct Touched { // a tensor that the strip makes or reads
  int tensor;
  double bytes;
  uint32_t loops; // those that go through one of its dimensions
} Touched;

typedef struct Touch {
  const Finder *f;
  const int *loop; // dimensions of the strip that are looped over
  int n_loops, op;
  VEC(Touched) list;
} Touch;

static void touch(Touch *t, int tensor, const Expr *access) {
  Touched touched = {.tensor = tensor, .bytes = local_bytes(t->f, tensor)};
  if (t->f->seen[tensor]) return;
  t->f->seen[tensor] = true;
  for (int k = 0; k < t->n_loops; k++) {
    const int dim = strip_dim_of_loop(t->f, t->op, t->loop[k]);
    bool has = access == NULL && dim < op_at(t->f, t->op)->n_out;
    for (int i = 0; access != NULL && i < access->access.rank; i++) has |= index_uses(&access->access.index[i], dim);
    touched.loops |= (uint32_t)has << k;
  }
  vec_push(t->f->arena, &t->list, touched);
}

static void touch_access(void *ctx, const Expr *e) {
  if (e->kind == EXPR_ACCESS) touch(ctx, e->access.tensor, e);
}

static Touch touched_by(const Finder *f, const Strip *s, const int *loop) {
  Touch t = {.f = f, .loop = loop, .n_loops = s->n_loops};
  for (int i = 0; i < s->groups.len; i++)
    for (int k = 0; k < group_at(f, s->groups.at[i])->ops.len; k++) {
      t.op = group_at(f, s->groups.at[i])->ops.at[k];
      touch(&t, op_at(f, t.op)->out, NULL);
      expr_visit(op_at(f, t.op)->body, touch_access, &t);
    }
  for (int i = 0; i < t.list.len; i++) f->seen[t.list.at[i].tensor] = false;
  return t;
}

static int64_t part(int64_t extent, int64_t length) { // intervals of about the same length
  if (length < 1) length = 1;
  const int64_t n = (extent + length - 1) / length;
  return n <= 1 ? extent : (extent + n - 1) / n;
}

// Whether another group reads the tensor: it is in memory for certain.
static bool is_handed_on(const Finder *f, int tensor) {
  const IdList readers = readers_at(f, tensor);
  for (int i = 0; i < readers.len; i++)
    if (f->g->group_of[readers.at[i]] != f->maker[tensor]) return true;
  return false;
}

static double share(const Finder *f, const StripLoop *loop) {
  return (double)loop->length / (double)extent_max(f->l->program, loop->whole);
}

// Chooses intervals, outer dimensions first, until what is inside has the wanted size; but what every interval reads or adds to
// again stays in proportion to what is inside. False: no strips are needed, or none would help.
static bool choose_lengths(Finder *f, Strip *s, const int *loop) {
  double inside = 0;
  for (int i = 0; i < s->inside.len; i++)
    inside += is_handed_on(f, s->inside.at[i]) ? local_bytes(f, s->inside.at[i]) : 0;
  if (inside <= (double)f->bytes) return false;
  const Touch t = touched_by(f, s, loop);
  double size = inside, largest = 0;
  for (int i = 0; i < s->inside.len; i++)
    if (local_bytes(f, s->inside.at[i]) > largest) largest = local_bytes(f, s->inside.at[i]);
  for (int k = 0; k < s->n_loops; k++) {
    const int64_t extent = extent_max(f->l->program, s->loop[k].whole);
    s->loop[k].length = part(extent, (int64_t)((double)extent * (double)f->bytes / size));
    size *= share(f, &s->loop[k]);
  }
  for (int k = s->n_loops - 1; k >= 0; k--) { // for one interval of each loop outside of it
    double again = 0, once = largest;
    for (int i = 0; i < t.list.len; i++) {
      double bytes = t.list.at[i].loops >> k & 1 ? 0 : t.list.at[i].bytes;
      for (int o = 0; o < k; o++)
        if (t.list.at[i].loops >> o & 1) bytes *= share(f, &s->loop[o]);
      again += bytes;
    }
    for (int o = 0; o < k; o++) once *= share(f, &s->loop[o]);
    const int64_t extent = extent_max(f->l->program, s->loop[k].whole);
    const int64_t least = (int64_t)((double)extent * again / (BALANCE * once)) + 1;
    if (least > s->loop[k].length) s->loop[k].length = least < extent ? part(extent, least) : extent;
  }
  int n = 0;
  for (int k = 0; k < s->n_loops; k++) n += share(f, &s->loop[k]) < 1;
  return n > 0;
}

// ---- the strips --------------------------------------------------------------------------------------------------

// What exists for one interval only, and what every interval adds to.
static void sort_results(const Finder *f, Strip *s, const int *loop) {
  s->inside.len = s->summed.len = 0;
  for (int i = 0; i < s->groups.len; i++)
    for (int k = 0; k < group_at(f, s->groups.at[i])->ops.len; k++) {
      const int op = group_at(f, s->groups.at[i])->ops.at[k], out = op_at(f, op)->out;
      const IdList readers = readers_at(f, out);
      bool sums = false, inside = !f->g->leaves[out] && graph_tensor(f->graph, out)->role == ROLE_VALUE;
      for (int n = 0; n < s->n_loops; n++) sums |= strip_dim_of_loop(f, op, loop[n]) >= op_at(f, op)->n_out;
      for (int r = 0; r < readers.len; r++) inside &= strip_has_op(f, s, readers.at[r]);
      if (sums) vec_push(f->arena, &s->summed, out);
      else if (inside) vec_push(f->arena, &s->inside, out);
    }
}

static void keep_loops(Strip *s, int *loop, const bool *keep) {
  int n = 0;
  for (int k = 0; k < s->n_loops; k++) {
    if (!keep[k]) continue;
    s->loop[n] = s->loop[k];
    loop[n++] = loop[k];
  }
  s->n_loops = n;
}

static int find_block(Lowering *l, const StripLoop *loop, int reach) {
  Program *p = l->program;
  const char *name = arena_printf(l->arena, "%s_%s", loop->name, reach >= 0 ? "reach" : "strip");
  for (int b = 0; b < p->blocks.len; b++) {
    const RankBlock *block = &p->blocks.at[b];
    if (block->strip && block->reach == reach && block->extent == loop->length &&
        extent_equal(block->of, loop->whole) && str_eq(block->base, name))
      return b;
  }
  const char *unique = lowering_block_name(l, name);
  const RankBlock block = {.name = unique,
                           .c_name = c_safe_identifier(l->arena, unique),
                           .base = name,
                           .strip = true,
                           .extent = loop->length,
                           .of = loop->whole,
                           .reach = reach};
  return program_add_block(p, block);
}

static void accept(Finder *f, Strip *s, const int *loop, int far, int of) {
  const int number = f->strips->list.len;
  int first = INT32_MAX, last = 0;
  for (int k = 0; k < s->n_loops; k++) s->loop[k].block = find_block(f->l, &s->loop[k], -1);
  s->loop[STRIP_REACH].block = far >= 0 ? find_block(f->l, &s->loop[STRIP_REACH], s->loop[of].block) : -1;
  for (int i = 0; i < s->groups.len; i++) {
    const Group *group = group_at(f, s->groups.at[i]);
    f->strips->of_group[s->groups.at[i]] = number;
    if (group->min_op < first) first = group->min_op;
    if (group->max_op > last) last = group->max_op;
    for (int m = 0; m < group->ops.len; m++) {
      const int op = group->ops.at[m];
      f->strips->of_op[op] = number;
      for (int k = 0; k < s->n_loops; k++) f->strips->loop_of[op][strip_dim_of_loop(f, op, loop[k])] = k;
      if (far >= 0 && strip_dim_of_loop(f, op, far) >= 0)
        f->strips->loop_of[op][strip_dim_of_loop(f, op, far)] = STRIP_REACH;
    }
  }
  for (int i = 0; i < s->inside.len; i++) {
    const int tensor = s->inside.at[i], op = graph_tensor(f->graph, tensor)->producer;
    f->strips->of_tensor[tensor] = number;
    for (int k = 0; k < s->n_loops; k++) f->strips->loop_at[tensor][strip_dim_of_loop(f, op, loop[k])] = k;
    const int behind = far >= 0 ? strip_dim_of_loop(f, op, far) : -1;
    if (behind >= 0 && behind < op_at(f, op)->n_out) f->strips->loop_at[tensor][behind] = STRIP_REACH;
  }
  grouping_join(f->g, first, last);
  vec_push(f->arena, &f->strips->list, *s);
}

static int largest_bulge(const Finder *f, const Strip *s) {
  int largest = -1;
  for (int i = 0; i < s->groups.len; i++)
    for (int k = 0; k < group_at(f, s->groups.at[i])->ops.len; k++) {
      const int out = op_at(f, group_at(f, s->groups.at[i])->ops.at[k])->out;
      if (f->bulge[out] && (largest < 0 || elements(f, out) > elements(f, largest))) largest = out;
    }
  return largest;
}

static bool same_pins(const Finder *f, const Strip *s) {
  const OpSharding *first = &op_at(f, group_at(f, s->groups.at[0])->ops.at[0])->sharding;
  for (int i = 1; i < s->groups.len; i++) {
    const OpSharding *other = &op_at(f, group_at(f, s->groups.at[i])->ops.at[0])->sharding;
    if (memcmp(first->pin, other->pin, sizeof first->pin) != 0) return false;
  }
  return true;
}

static void try_strip(Finder *f, Strip *s) {
  int loop[STRIP_MAX_LOOPS];
  const int largest = largest_bulge(f, s);
  if (largest < 0 || !take_in_between(f, s) || !same_pins(f, s)) return;
  strip_follow_dimensions(f, s, largest);
  const Tensor *t = graph_tensor(f->graph, largest);
  for (int i = 0; i < t->rank && s->n_loops < STRIP_MAX_LOOPS; i++) {
    Extent whole = extent_fixed(1);
    if (f->refused >> i & 1 || !strip_is_loop(f, s, i, &whole)) continue;
    s->loop[s->n_loops] = (StripLoop){.name = t->dim[i], .whole = whole};
    loop[s->n_loops++] = i;
  }
  sort_results(f, s, loop);
  if (s->n_loops == 0 || !choose_lengths(f, s, loop)) return;
  int of;
  const int far = strip_find_reach(f, s, loop, largest, &of), reached = far >= 0 ? loop[of] : -1;
  if (far >= 0) { // the more intervals, the more is left out
    const int64_t extent = extent_max(f->l->program, s->loop[of].whole),
                  shorter = part(extent, max_i64(extent / REACHES, MIN_ROWS));
    if (shorter < s->loop[of].length) s->loop[of].length = shorter;
  }
  bool keep[STRIP_MAX_LOOPS];
  for (int k = 0; k < s->n_loops; k++) keep[k] = share(f, &s->loop[k]) < 1;
  keep_loops(s, loop, keep);
  sort_results(f, s, loop);
  for (of = 0; of < s->n_loops && loop[of] != reached; of++) continue;
  const bool reaches = far >= 0 && of < s->n_loops;
  s->loop[STRIP_REACH] =
      (StripLoop){.name = t->dim[reaches ? far : 0], .whole = extent_fixed(t->extent[reaches ? far : 0])};
  s->loop[STRIP_REACH].length = t->extent[reaches ? far : 0];
  accept(f, s, loop, reaches ? far : -1, of);
}

static void find(Finder *f, bool across) {
  memset(f->bulge, 0, sizeof *f->bulge * (size_t)f->graph->tensors.len);
  find_bulges(f, across);
  join_groups(f);
  for (int g = 0; g < f->g->groups.len; g++) memset(f->loop_of[g], -1, sizeof f->loop_of[g]);
  for (int t = 0; t < f->graph->tensors.len; t++) memset(f->loop_at[t], -1, sizeof f->loop_at[t]);
  Strip **of_root = NEW_ARRAY(f->arena, Strip *, f->g->groups.len);
  for (int i = 0; i < f->g->groups.len; i++) {
    const int group = f->g->order[i];
    if (f->strips->of_group[group] >= 0 || !can_be_in_strip(group_at(f, group))) continue;
    Strip **at = &of_root[root(f, group)];
    if (*at == NULL) *at = NEW(f->arena, Strip);
    Strip *s = *at;
    vec_push(f->arena, &s->groups, group);
    if (group_at(f, group)->phase > s->phase) s->phase = group_at(f, group)->phase;
  }
  for (int i = 0; i < f->g->groups.len; i++) {
    Strip *s = of_root[root(f, f->g->order[i])];
    if (s != NULL && s->groups.len > 1 && s->groups.at[0] == f->g->order[i]) try_strip(f, s);
  }
}

const Strips *strips_find(Lowering *l, Grouping *g, int64_t bytes) {
  const int n_ops = g->graph->ops.len, n_tensors = g->graph->tensors.len, n_groups = g->groups.len;
  Strips *strips = NEW(l->scratch, Strips);
  Finder finder = {.l = l, .arena = l->scratch, .graph = g->graph, .g = g, .strips = strips, .bytes = bytes},
         *f = &finder;
  f->maker = NEW_ARRAY(l->scratch, int, n_tensors);
  f->bulge = NEW_ARRAY(l->scratch, bool, n_tensors);
  f->parent = NEW_ARRAY(l->scratch, int, n_groups);
  f->place = NEW_ARRAY(l->scratch, int, n_groups);
  for (int i = 0; i < n_groups; i++) f->place[g->order[i]] = i;
  f->state = NEW_ARRAY(l->scratch, int, n_groups);
  f->follows = NEW_ARRAY(l->scratch, bool, n_groups);
  f->seen = NEW_ARRAY(l->scratch, bool, n_tensors);
  f->known = NEW_ARRAY(l->scratch, bool, n_tensors);
  f->value = NEW_ARRAY(l->scratch, double, n_tensors);
  f->loop_of = arena_alloc(l->scratch, sizeof *f->loop_of * (size_t)n_groups);
  f->loop_at = arena_alloc(l->scratch, sizeof *f->loop_at * (size_t)n_tensors);
  strips->of_group = NEW_ARRAY(l->scratch, int, n_groups);
  strips->of_op = NEW_ARRAY(l->scratch, int, n_ops);
  strips->of_tensor = NEW_ARRAY(l->scratch, int, n_tensors);
  strips->loop_of = arena_alloc(l->scratch, sizeof *strips->loop_of * (size_t)n_ops);
  strips->loop_at = arena_alloc(l->scratch, sizeof *strips->loop_at * (size_t)n_tensors);
  memset(strips->of_group, -1, sizeof *strips->of_group * (size_t)n_groups);
  memset(strips->of_op, -1, sizeof *strips->of_op * (size_t)n_ops);
  memset(strips->of_tensor, -1, sizeof *strips->of_tensor * (size_t)n_tensors);
  memset(strips->loop_of, -1, sizeof *strips->loop_of * (size_t)n_ops);
  memset(strips->loop_at, -1, sizeof *strips->loop_at * (size_t)n_tensors);
  collect_facts(f);
  find(f, true);
  find(f, false);
  if (strips->list.len == 0) return NULL;
  order_groups(f);
  return strips;
}
