// A message depends on the tables, the maps and how they hang together, not on which variables they are of: it is remembered under
// that, so that equal layers are eliminated once.
//
// Everything is over classes: x has the combinations of its classes in the functions that occur, and of those that lie alike the
// cheapest value stays; a neighbour y has the combinations of its classes in them, and classes of y for which the message is the same
// are one.
#include "cfn_message.h"

// ---- neighbours ----

Joint joint_of(const Maker *maker, int x, const int *fns, int n_fns) {
  Arena *arena = maker->net->scratch;
  int places = 0;
  for (int i = 0; i < n_fns; i++) places += maker->of->fns.at[fns[i]].arity;
  Joint joint = {.var = NEW_ARRAY(arena, int, places), .classes = NEW_ARRAY(arena, const NetClasses *, places)};
  const NetMap **map = NEW_ARRAY(arena, const NetMap *, places);
  int *of = NEW_ARRAY(arena, int, places), at = 0, own = 0;
  for (int i = 0; i < n_fns; i++) {
    const NetFn *f = &maker->of->fns.at[fns[i]];
    for (int k = 0; k < f->arity; k++) {
      const int y = f->var[k];
      if (y != x && maker->local[y] == 0) joint.var[joint.m++] = y, maker->local[y] = joint.m;
      map[at] = f->map[k];
      of[at++] = y == x ? 0 : maker->local[y];
    }
  }
  const NetMap **mine = NEW_ARRAY(arena, const NetMap *, places);
  for (int k = 0; k < places; k++)
    if (of[k] == 0) mine[own++] = map[k];
  joint.own = net_combine(maker->net, mine, own, maker->net->vars[x].n);
  joint.size = joint.own->map->classes;
  int *count = NEW_ARRAY(arena, int, joint.m + 2),
      *next = NEW_ARRAY(arena, int, joint.m + 2); // maps sorted by neighbour
  for (int k = 0; k < places; k++) count[of[k] + 1]++;
  for (int j = 0; j <= joint.m; j++) count[j + 1] += count[j], next[j] = count[j];
  for (int k = 0; k < places; k++) mine[next[of[k]]++] = map[k];
  for (int j = 0; j < joint.m; j++) {
    maker->local[joint.var[j]] = 0;
    joint.classes[j] =
        net_combine(maker->net, mine + count[j + 1], count[j + 2] - count[j + 1], maker->net->vars[joint.var[j]].n);
    joint.size *= joint.classes[j]->map->classes;
  }
  return joint;
}

// ---- the message ----

typedef struct Slices { // of a table along an axis: what it says for each class
  const double *at;
  int64_t outer, inner;
  int n;
} Slices;

// Of some entries only: most slices that differ do so there.
static uint64_t hash_of_slice(const Slices *s, int class) {
  enum { ENTRIES = 8 };
  const int64_t size = s->outer * s->inner, step = size > ENTRIES ? size / ENTRIES : 1;
  uint64_t hash = 0, word;
  for (int64_t i = 0; i < size; i += step) {
    memcpy(&word, &s->at[(i / s->inner * s->n + class) * s->inner + i % s->inner], sizeof word);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 31;
  }
  return hash;
}

static bool same_slices(const Slices *s, int c, int d) {
  for (int64_t o = 0; o < s->outer; o++)
    if (memcmp(&s->at[(o * s->n + c) * s->inner], &s->at[(o * s->n + d) * s->inner], sizeof *s->at * (size_t)s->inner) != 0) return false;
  return true;
}

// Classes of one axis whose slices are the same become one: of[class]. Gives how many are left.
static int equal_slices(const double *at, const int *dim, int arity, int axis, int *of, Arena *arena) {
  Slices s = {at, 1, 1, dim[axis]};
  for (int k = 0; k < axis; k++) s.outer *= dim[k];
  for (int k = axis + 1; k < arity; k++) s.inner *= dim[k];
  uint64_t *hash = NEW_ARRAY(arena, uint64_t, s.n);
  int left = 0, *first = NEW_ARRAY(arena, int, s.n);
  for (int c = 0; c < s.n; c++) {
    hash[c] = hash_of_slice(&s, c);
    int p = 0;
    while (p < left && (hash[first[p]] != hash[c] || !same_slices(&s, first[p], c))) p++;
    if (p == left) first[left++] = c;
    of[c] = p;
  }
  return left;
}

static void merge_axis(double *at, int *dim, int arity, int axis, const int *of, int left) {
  int64_t outer = 1, inner = 1, to = 0;
  for (int k = 0; k < axis; k++) outer *= dim[k];
  for (int k = axis + 1; k < arity; k++) inner *= dim[k];
  for (int64_t o = 0; o < outer; o++)
    for (int c = 0, seen = 0; c < dim[axis]; c++) {
      if (of[c] < seen) continue;
      seen++;
      memmove(&at[to], &at[(o * dim[axis] + c) * inner], sizeof *at * (size_t)inner);
      to += inner;
    }
  dim[axis] = left;
}

// The message with its minimum apart, over the classes that differ.
static Made *made_of(const Maker *maker, const Joint *joint, double *at, int64_t size) {
  Net *net = maker->net;
  Made *made = NEW(net->arena, Made);
  made->least = INFINITY;
  for (int64_t i = 0; i < size; i++) made->least = at[i] < made->least ? at[i] : made->least;
  if (made->least > maker->worst) made->least = INFINITY;
  if (made->least == INFINITY) return made;
  for (int64_t i = 0; i < size; i++) at[i] = at[i] - made->least > maker->worst ? INFINITY : at[i] - made->least;
  int *dim = NEW_ARRAY(net->scratch, int, joint->m), *local = NEW_ARRAY(net->arena, int, joint->m), kept = 0;
  for (int j = 0; j < joint->m; j++) dim[j] = joint->classes[j]->map->classes;
  made->map = NEW_ARRAY(net->arena, const NetMap *, joint->m);
  for (int j = 0; j < joint->m; j++) {
    int *of = NEW_ARRAY(net->scratch, int, dim[j]);
    const NetMap *map = joint->classes[j]->map;
    const int left = equal_slices(at, dim, joint->m, j, of, net->scratch);
    if (left < dim[j]) {
      int *values = NEW_ARRAY(net->scratch, int, map->n);
      for (int v = 0; v < map->n; v++) values[v] = of[map->of[v]];
      merge_axis(at, dim, joint->m, j, of, left);
      map = net_map(net, map->n, values);
    }
    if (left == 1) continue;
    made->map[kept] = map;
    local[kept++] = j;
  }
  made->arity = kept;
  made->local = local;
  int *dims = NEW_ARRAY(net->scratch, int, kept);
  for (int k = 0; k < kept; k++) dims[k] = dim[local[k]];
  if (kept > 0) made->table = net_table(net, kept, dims, at);
  return made;
}

static Made *make(const Maker *maker, const Joint *joint, int x, const NetTable *cost, const int *fns, int n_fns) {
  Net *net = maker->net;
  const int width = joint->own->map->classes;
  double *own = NEW_ARRAY(net->scratch, double, width);
  for (int c = 0; c < width; c++) own[c] = INFINITY;
  for (int v = 0; v < net->vars[x].n; v++) {
    double *least = &own[joint->own->map->of[v]];
    *least = cost->at[v] < *least ? cost->at[v] : *least;
  }
  const int64_t size = (int64_t)(joint->size / width);
  double *at = NEW_ARRAY(net->scratch, double, size);
  rows_fill(maker, joint, x, fns, n_fns, own, at);
  net->operations += (int64_t)joint->size;
  return made_of(maker, joint, at, size);
}

// The key: tables and maps, and which neighbour stands where.
const Made *message_of(const Maker *maker, const Joint *joint, int x, const NetTable *cost, const int *fns, int n_fns) {
  enum { ELIMINATE = -2 };
  int len = 4;
  for (int i = 0; i < n_fns; i++) len += 2 + 2 * maker->of->fns.at[fns[i]].arity;
  int *key = NEW_ARRAY(maker->net->scratch, int, len), at = 4;
  key[0] = ELIMINATE;
  key[1] = cost->id;
  memcpy(key + 2, &maker->worst, sizeof maker->worst);
  for (int j = 0; j < joint->m; j++) maker->local[joint->var[j]] = j + 1;
  for (int i = 0; i < n_fns; i++) {
    const NetFn *f = &maker->of->fns.at[fns[i]];
    key[at++] = f->table->id;
    key[at++] = f->arity;
    for (int k = 0; k < f->arity; k++) {
      key[at++] = f->map[k]->id;
      key[at++] = f->var[k] == x ? 0 : maker->local[f->var[k]];
    }
  }
  for (int j = 0; j < joint->m; j++) maker->local[joint->var[j]] = 0;
  void **place = net_memo(maker->net, key, len);
  if (*place == NULL) *place = make(maker, joint, x, cost, fns, n_fns);
  return *place;
}
