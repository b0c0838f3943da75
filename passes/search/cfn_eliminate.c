// Variable elimination (Bertele and Brioschi, Nonserial Dynamic Programming, 1972; Dechter, Bucket elimination, 1999): the
// functions with a variable become one function of its neighbours, the cheapest choice of the variable for each of theirs.
//
//   before:  f(x, y), g(x, z)                 after:  m(y, z) = min over x of cost(x) + f(x, y) + g(x, z), less its minimum
//
// Everything is over classes: x has the combinations of its classes in f and g that occur, and of those that lie alike the
// cheapest value stays; y has in m the combinations of its classes in the eliminated functions, and classes of y for which m
// is the same are one. A message depends on the tables, the maps and how they hang together, not on which variables they are of:
// it is remembered under that, so that equal layers are eliminated once.
//
// The variable that needs the smallest table goes first (min-weight order; ties: the first variable). A bucket that needs more
// than there is room for is split (mini-buckets, Dechter and Rish 2003): the minima of its parts are made apart, which gives a
// lower bound; the message of every part is kept, so that it is also a heuristic for the search.
#include "cfn_net.h"

#include <stdlib.h>

enum { LEAST_ROOM = 1 << 10 }; // when the budget is nearly spent

typedef struct Joint {        // what is looked at together to eliminate x
  int m;                      // neighbours, in the order in which the functions name them
  int *var;                   // [m]
  const NetClasses **classes; // [m]
  const NetClasses *own;
  double size;
} Joint;

typedef struct Made { // a message as it is remembered: its variables are numbers of neighbours
  int arity;
  const int *local;
  const NetMap **map;
  const NetTable *table; // NULL: no variable is left
  double least;
} Made;

typedef struct Wait {
  double size;
  int var, stamp;
} Wait;

typedef struct Work {
  Net *net;
  Elimination *out;
  double worst, room;
  NetList *list; // functions that are left, by variable
  bool *gone;
  int *local; // scratch, by variable: its number among the neighbours + 1
  int *stamp;
  struct {
    Wait *at;
    int len, cap;
  } heap;
  Arena *scratch; // for one variable
} Work;

// ---- neighbours ----

static Joint joint_of(Work *work, int x, const int *fns, int n_fns) {
  Arena *arena = work->scratch;
  int places = 0;
  for (int i = 0; i < n_fns; i++) places += work->out->fns.at[fns[i]].arity;
  Joint joint = {.var = NEW_ARRAY(arena, int, places), .classes = NEW_ARRAY(arena, const NetClasses *, places)};
  const NetMap **map = NEW_ARRAY(arena, const NetMap *, places);
  int *of = NEW_ARRAY(arena, int, places), at = 0, own = 0;
  for (int i = 0; i < n_fns; i++) {
    const NetFn *f = &work->out->fns.at[fns[i]];
    for (int k = 0; k < f->arity; k++) {
      const int y = f->var[k];
      if (y != x && work->local[y] == 0) joint.var[joint.m++] = y, work->local[y] = joint.m;
      map[at] = f->map[k];
      of[at++] = y == x ? 0 : work->local[y];
    }
  }
  const NetMap **mine = NEW_ARRAY(arena, const NetMap *, places);
  for (int k = 0; k < places; k++)
    if (of[k] == 0) mine[own++] = map[k];
  joint.own = net_combine(work->net, mine, own, work->net->vars[x].n);
  joint.size = joint.own->map->classes;
  int *count = NEW_ARRAY(arena, int, joint.m + 2),
      *next = NEW_ARRAY(arena, int, joint.m + 2); // maps sorted by neighbour
  for (int k = 0; k < places; k++) count[of[k] + 1]++;
  for (int j = 0; j <= joint.m; j++) count[j + 1] += count[j], next[j] = count[j];
  for (int k = 0; k < places; k++) mine[next[of[k]]++] = map[k];
  for (int j = 0; j < joint.m; j++) {
    work->local[joint.var[j]] = 0;
    joint.classes[j] =
        net_combine(work->net, mine + count[j + 1], count[j + 2] - count[j + 1], work->net->vars[joint.var[j]].n);
    joint.size *= joint.classes[j]->map->classes;
  }
  return joint;
}

// ---- the new table ----

typedef struct Term { // a function of the bucket: rows over x's classes, one row for each class of its neighbours
  double *rows;
  int last; // of its neighbours; -1: none
  int n;
  int *neighbour;   // [n] ascending
  int64_t **offset; // [n][classes of the neighbour in the joint]
} Term;

static int local_of(const Joint *joint, int y) {
  int j = 0;
  while (joint->var[j] != y) j++;
  return j;
}

static Term term_of(const Work *work, const Joint *joint, int x, const NetFn *f) {
  Arena *arena = work->scratch;
  const int width = joint->own->map->classes;
  Term term = {
      .last = -1, .neighbour = NEW_ARRAY(arena, int, f->arity), .offset = NEW_ARRAY(arena, int64_t *, f->arity)};
  int64_t rows = 1, stride = 1, own_stride = 1;
  int64_t *from = NEW_ARRAY(arena, int64_t, f->arity); // of the neighbours' axes in f's table
  int *dim = NEW_ARRAY(arena, int, f->arity), *index = NEW_ARRAY(arena, int, f->arity), own = 0;
  for (int k = f->arity - 1; k >= 0; k--) {
    if (f->var[k] == x) own = k, own_stride = stride;
    else {
      const int j = local_of(joint, f->var[k]);
      const NetClasses *classes = joint->classes[j];
      int64_t *offset = NEW_ARRAY(arena, int64_t, classes->map->classes);
      for (int c = 0; c < classes->map->classes; c++) offset[c] = f->map[k]->of[classes->first[c]] * rows * width;
      term.neighbour[term.n] = j;
      term.offset[term.n] = offset;
      from[term.n] = stride;
      dim[term.n++] = f->table->dim[k];
      rows *= f->table->dim[k];
      term.last = j > term.last ? j : term.last;
    }
    stride *= f->table->dim[k];
  }
  int64_t *column = NEW_ARRAY(arena, int64_t, width);
  for (int c = 0; c < width; c++) column[c] = f->map[own]->of[joint->own->first[c]] * own_stride;
  term.rows = NEW_ARRAY(arena, double, rows *width);
  for (int64_t row = 0; row < rows; row++) {
    int64_t base = 0;
    for (int k = 0; k < term.n; k++) base += index[k] * from[k];
    for (int c = 0; c < width; c++) term.rows[row * width + c] = f->table->at[base + column[c]];
    for (int k = 0; k < term.n && ++index[k] == dim[k]; k++) index[k] = 0; // the first neighbour is the innermost
  }
  return term;
}

// The row for these classes of the first neighbours, up to number `upto`.
static const double *term_row(const Term *term, const int *index, int upto) {
  const double *row = term->rows;
  for (int k = 0; k < term->n; k++)
    if (term->neighbour[k] < upto) row += term->offset[k][index[term->neighbour[k]]];
  return row;
}

static const int64_t *term_offset(const Term *term, int neighbour) {
  int k = 0;
  while (term->neighbour[k] != neighbour) k++;
  return term->offset[k];
}

static double row_min(const double *a, int n) {
  double least = INFINITY;
  for (int c = 0; c < n; c++) least = a[c] < least ? a[c] : least;
  return least;
}

static double row_min_sum(const double *restrict a, const double *restrict b, int n) {
  double l0 = INFINITY, l1 = INFINITY, l2 = INFINITY, l3 = INFINITY;
  int c = 0;
  for (; c + 4 <= n; c += 4) {
    const double s0 = a[c] + b[c], s1 = a[c + 1] + b[c + 1], s2 = a[c + 2] + b[c + 2], s3 = a[c + 3] + b[c + 3];
    l0 = s0 < l0 ? s0 : l0, l1 = s1 < l1 ? s1 : l1, l2 = s2 < l2 ? s2 : l2, l3 = s3 < l3 ? s3 : l3;
  }
  for (; c < n; c++) l0 = a[c] + b[c] < l0 ? a[c] + b[c] : l0;
  l0 = l1 < l0 ? l1 : l0, l2 = l3 < l2 ? l3 : l2;
  return l2 < l0 ? l2 : l0;
}

// Sorts by the last neighbour; start[d + 1]: how many end before neighbour d.
static void stable_by_last(Term *term, int n, const int *start, Arena *arena) {
  Term *sorted = NEW_ARRAY(arena, Term, n);
  int most = 0;
  for (int i = 0; i < n; i++) most = term[i].last > most ? term[i].last : most;
  int *next = NEW_ARRAY(arena, int, most + 2);
  for (int d = 0; d <= most + 1; d++) next[d] = start[d];
  for (int i = 0; i < n; i++) sorted[next[term[i].last + 1]++] = term[i];
  memcpy(term, sorted, sizeof *term * (size_t)n);
}

// The entries for all classes of the last neighbour. before: the sum of the other functions; here: those with that neighbour.
static void fill_last(const double *before, const Term *here, int n_here, const int *index, int last, int classes,
                      int width, double *room, const double **base, double *out) {
  for (int i = 0; i < n_here; i++) base[i] = term_row(&here[i], index, last);
  for (int c = 0; c < classes; c++) {
    const double *sum = before;
    for (int i = 0; i < n_here - 1; i++) {
      const double *row = base[i] + term_offset(&here[i], last)[c];
      for (int v = 0; v < width; v++) room[v] = sum[v] + row[v];
      sum = room;
    }
    out[c] = row_min_sum(sum, base[n_here - 1] + term_offset(&here[n_here - 1], last)[c], width);
  }
}

// out: over the neighbours' classes, the last innermost. sum[d]: of the functions that know only of the first d neighbours.
static void fill(const Joint *joint, Term *term, int n_terms, const double *cost, double *out, Arena *arena) {
  const int width = joint->own->map->classes, m = joint->m;
  const double **sum = NEW_ARRAY(arena, const double *, m + 1), **base = NEW_ARRAY(arena, const double *, n_terms);
  double **room = NEW_ARRAY(arena, double *, m + 1);
  int *index = NEW_ARRAY(arena, int, m), *start = NEW_ARRAY(arena, int, m + 2), from = 0;
  for (int depth = 0; depth <= m; depth++) room[depth] = NEW_ARRAY(arena, double, width);
  for (int i = 0; i < n_terms; i++) start[term[i].last + 2]++;
  for (int depth = 0; depth <= m; depth++) start[depth + 1] += start[depth];
  stable_by_last(term, n_terms, start, arena);
  for (bool more = true; more;) {
    for (int depth = from; depth < m || depth == 0; depth++) {
      sum[depth] = depth == 0 ? cost : sum[depth - 1];
      for (int i = start[depth]; i < start[depth + 1]; i++) {
        const double *row = term_row(&term[i], index, m);
        for (int v = 0; v < width; v++) room[depth][v] = sum[depth][v] + row[v];
        sum[depth] = room[depth];
      }
    }
    if (m == 0) break;
    const int classes = joint->classes[m - 1]->map->classes;
    fill_last(sum[m - 1], &term[start[m]], start[m + 1] - start[m], index, m - 1, classes, width, room[m], base, out);
    out += classes;
    int j = m - 2;
    for (; j >= 0 && ++index[j] == joint->classes[j]->map->classes; j--) index[j] = 0;
    from = j + 1;
    more = j >= 0;
  }
  if (m == 0) out[0] = row_min(sum[0], width);
}

// Classes of one axis whose slices are the same become one: of[class]. Gives how many are left.
static int equal_slices(const double *at, const int *dim, int arity, int axis, int *of, Arena *arena) {
  int64_t outer = 1, inner = 1;
  for (int k = 0; k < axis; k++) outer *= dim[k];
  for (int k = axis + 1; k < arity; k++) inner *= dim[k];
  const int n = dim[axis];
  uint64_t *hash = NEW_ARRAY(arena, uint64_t, n);
  for (int64_t o = 0; o < outer; o++)
    for (int c = 0; c < n; c++)
      for (int64_t i = 0; i < inner; i++) {
        uint64_t word;
        memcpy(&word, &at[(o * n + c) * inner + i], sizeof word);
        hash[c] = (hash[c] ^ word) * 0x9e3779b97f4a7c15u;
        hash[c] ^= hash[c] >> 31;
      }
  int left = 0, *first = NEW_ARRAY(arena, int, n);
  for (int c = 0; c < n; c++) {
    int p = 0;
    for (; p < left; p++) {
      if (hash[first[p]] != hash[c]) continue;
      bool same = true;
      for (int64_t o = 0; o < outer && same; o++)
        same = memcmp(&at[(o * n + c) * inner], &at[(o * n + first[p]) * inner], sizeof *at * (size_t)inner) == 0;
      if (same) break;
    }
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
static Made *made_of(Work *work, const Joint *joint, double *at, int64_t size) {
  Net *net = work->net;
  Made *made = NEW(net->arena, Made);
  made->least = row_min(at, (int)min_i64(size, 1));
  for (int64_t i = 0; i < size; i++) made->least = at[i] < made->least ? at[i] : made->least;
  if (made->least > work->worst) made->least = INFINITY;
  if (made->least == INFINITY) return made;
  for (int64_t i = 0; i < size; i++) at[i] = at[i] - made->least > work->worst ? INFINITY : at[i] - made->least;
  int *dim = NEW_ARRAY(work->scratch, int, joint->m), *local = NEW_ARRAY(net->arena, int, joint->m), kept = 0;
  for (int j = 0; j < joint->m; j++) dim[j] = joint->classes[j]->map->classes;
  made->map = NEW_ARRAY(net->arena, const NetMap *, joint->m);
  for (int j = 0; j < joint->m; j++) {
    int *of = NEW_ARRAY(work->scratch, int, dim[j]);
    const NetMap *map = joint->classes[j]->map;
    const int left = equal_slices(at, dim, joint->m, j, of, work->scratch);
    if (left < dim[j]) {
      int *values = NEW_ARRAY(work->scratch, int, map->n);
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
  int *dims = NEW_ARRAY(work->scratch, int, kept);
  for (int k = 0; k < kept; k++) dims[k] = dim[local[k]];
  if (kept > 0) made->table = net_table(net, kept, dims, at);
  return made;
}

static Made *make(Work *work, const Joint *joint, int x, const NetTable *cost, const int *fns, int n_fns) {
  Net *net = work->net;
  const int width = joint->own->map->classes;
  double *own = NEW_ARRAY(work->scratch, double, width);
  for (int c = 0; c < width; c++) own[c] = INFINITY;
  for (int v = 0; v < net->vars[x].n; v++) {
    double *least = &own[joint->own->map->of[v]];
    *least = cost->at[v] < *least ? cost->at[v] : *least;
  }
  Term *term = NEW_ARRAY(work->scratch, Term, n_fns);
  for (int i = 0; i < n_fns; i++) term[i] = term_of(work, joint, x, &work->out->fns.at[fns[i]]);
  const int64_t size = (int64_t)(joint->size / width);
  double *at = NEW_ARRAY(work->scratch, double, size);
  fill(joint, term, n_fns, own, at, work->scratch);
  net->operations += (int64_t)joint->size;
  return made_of(work, joint, at, size);
}

// The key of a message: tables and maps, and which neighbour stands where.
static Made *remembered(Work *work, const Joint *joint, int x, const NetTable *cost, const int *fns, int n_fns) {
  enum { ELIMINATE = -2 };
  int len = 4;
  for (int i = 0; i < n_fns; i++) len += 2 + 2 * work->out->fns.at[fns[i]].arity;
  int *key = NEW_ARRAY(work->scratch, int, len), at = 4;
  key[0] = ELIMINATE;
  key[1] = cost->id;
  memcpy(key + 2, &work->worst, sizeof work->worst);
  for (int j = 0; j < joint->m; j++) work->local[joint->var[j]] = j + 1;
  for (int i = 0; i < n_fns; i++) {
    const NetFn *f = &work->out->fns.at[fns[i]];
    key[at++] = f->table->id;
    key[at++] = f->arity;
    for (int k = 0; k < f->arity; k++) {
      key[at++] = f->map[k]->id;
      key[at++] = f->var[k] == x ? 0 : work->local[f->var[k]];
    }
  }
  for (int j = 0; j < joint->m; j++) work->local[joint->var[j]] = 0;
  void **place = net_memo(work->net, key, len);
  if (*place == NULL) *place = make(work, joint, x, cost, fns, n_fns);
  return *place;
}

// ---- the order ----

static bool before(const Wait *a, const Wait *b) { return a->size != b->size ? a->size < b->size : a->var < b->var; }

static void heap_push(Work *work, Wait wait) {
  vec_push(work->out->arena, &work->heap, wait);
  Wait *at = work->heap.at;
  for (int i = work->heap.len - 1; i > 0 && before(&at[i], &at[(i - 1) / 2]); i = (i - 1) / 2) {
    const Wait swap = at[i];
    at[i] = at[(i - 1) / 2], at[(i - 1) / 2] = swap;
  }
}

static Wait heap_pop(Work *work) {
  Wait *at = work->heap.at;
  const Wait top = at[0];
  at[0] = at[--work->heap.len];
  for (int i = 0, child; (child = 2 * i + 1) < work->heap.len; i = child) {
    if (child + 1 < work->heap.len && before(&at[child + 1], &at[child])) child++;
    if (!before(&at[child], &at[i])) break;
    const Wait swap = at[i];
    at[i] = at[child], at[child] = swap;
  }
  return top;
}

static void queue(Work *work, int x) {
  const Joint joint = joint_of(work, x, work->list[x].fns.at, work->list[x].fns.len);
  heap_push(work, (Wait){joint.size, x, ++work->stamp[x]});
  arena_reset(work->scratch);
}

// ---- one variable ----

static void unlist(Work *work, int x, int fn) {
  NetList *list = &work->list[x];
  int kept = 0;
  for (int i = 0; i < list->fns.len; i++)
    if (list->fns.at[i] != fn) list->fns.at[kept++] = list->fns.at[i];
  list->fns.len = kept;
}

static void send(Work *work, Bucket *bucket, const Joint *joint, const Made *made) {
  Elimination *out = work->out;
  bucket->least += made->least;
  if (made->least == INFINITY || made->arity == 0) return;
  NetFn message = {made->arity, NULL, made->map, made->table};
  int *var = NEW_ARRAY(out->arena, int, made->arity);
  for (int k = 0; k < made->arity; k++) {
    var[k] = joint->var[made->local[k]];
    vec_push(out->arena, &work->list[var[k]].fns, out->fns.len);
  }
  message.var = var;
  vec_push(out->arena, &bucket->messages, out->fns.len);
  vec_push(out->arena, &out->fns, message);
}

// Parts of a bucket: the largest functions first, each to the first part that has room for it. Gives how many; part[i] of fns[i].
static int split(Work *work, int x, int *fns, int n_fns, int *part) {
  for (int i = 1; i < n_fns; i++) // by size, ties in their order
    for (int k = i; k > 0 && work->out->fns.at[fns[k]].table->size > work->out->fns.at[fns[k - 1]].table->size; k--) {
      const int swap = fns[k];
      fns[k] = fns[k - 1], fns[k - 1] = swap;
    }
  int parts = 0, *together = NEW_ARRAY(work->scratch, int, n_fns);
  for (int i = 0; i < n_fns; i++) {
    int p = 0;
    for (; p < parts; p++) {
      int n = 0;
      for (int k = 0; k < i; k++)
        if (part[k] == p) together[n++] = fns[k];
      together[n++] = fns[i];
      if (joint_of(work, x, together, n).size <= work->room) break;
    }
    part[i] = p;
    parts = p == parts ? parts + 1 : parts;
  }
  return parts;
}

static void eliminate(Work *work, int x, double size) {
  Elimination *out = work->out;
  Bucket bucket = {.var = x};
  const int n = work->list[x].fns.len;
  for (int i = 0; i < n; i++) vec_push(out->arena, &bucket.fns, work->list[x].fns.at[i]);
  for (int i = 0; i < n; i++) {
    const NetFn *f = &out->fns.at[bucket.fns.at[i]];
    for (int k = 0; k < f->arity; k++)
      if (f->var[k] != x) unlist(work, f->var[k], bucket.fns.at[i]);
  }
  int *fns = NEW_ARRAY(work->scratch, int, n), *part = NEW_ARRAY(work->scratch, int, n),
      *mine = NEW_ARRAY(work->scratch, int, n);
  for (int i = 0; i < n; i++) fns[i] = bucket.fns.at[i];
  const int parts = size > work->room ? split(work, x, fns, n, part) : 1;
  const double *none = NEW_ARRAY(work->scratch, double, work->net->vars[x].n);
  for (int p = 0; p < parts; p++) {
    int count = 0;
    for (int i = 0; i < n; i++)
      if (part[i] == p) mine[count++] = fns[i];
    const NetTable *cost = p == 0 ? out->cost[x] : net_table(work->net, 1, &work->net->vars[x].n, none);
    const Joint joint = joint_of(work, x, mine, count);
    send(work, &bucket, &joint, remembered(work, &joint, x, cost, mine, count));
  }
  bucket.split = parts > 1;
  out->split += bucket.split;
  out->eliminated += out->split == 0;
  out->bound += bucket.least;
  if (out->bound > work->worst) out->bound = INFINITY;
  work->gone[x] = true;
  vec_push(out->arena, &out->buckets, bucket);
}

// The neighbours of what was eliminated need other tables now.
static void queue_neighbours(Work *work, const Bucket *bucket) {
  struct {
    int *at;
    int len, cap;
  } met = {0};
  for (int i = 0; i < bucket->fns.len; i++) {
    const NetFn *f = &work->out->fns.at[bucket->fns.at[i]];
    for (int k = 0; k < f->arity; k++) {
      const int y = f->var[k];
      if (work->gone[y] || work->local[y] != 0) continue;
      work->local[y] = 1;
      vec_push(work->out->arena, &met, y);
    }
  }
  for (int i = 0; i < met.len; i++) work->local[met.at[i]] = 0;
  for (int i = 0; i < met.len; i++) queue(work, met.at[i]);
}

Elimination *net_eliminate(Net *net, Arena *arena, const NetTable **cost, double worst, double room) {
  Elimination *out = NEW(arena, Elimination);
  *out = (Elimination){.arena = arena, .cost = NEW_ARRAY(arena, const NetTable *, net->n_vars), .bound = net->constant};
  Work work = {.net = net, .out = out, .worst = worst, .room = room, .list = net_lists(net, arena)};
  work.gone = NEW_ARRAY(arena, bool, net->n_vars);
  work.local = NEW_ARRAY(arena, int, net->n_vars);
  work.stamp = NEW_ARRAY(arena, int, net->n_vars);
  work.scratch = net->scratch;
  for (int x = 0; x < net->n_vars; x++) out->cost[x] = cost == NULL ? net->vars[x].cost : cost[x];
  for (int i = 0; i < net->fns.len; i++) vec_push(arena, &out->fns, net->fns.at[i]);
  if (out->bound < INFINITY)
    for (int x = 0; x < net->n_vars; x++) queue(&work, x);
  while (work.heap.len > 0 && out->bound < INFINITY) {
    const Wait next = heap_pop(&work);
    if (work.gone[next.var] || work.stamp[next.var] != next.stamp) continue;
    if (net->budget > 0) work.room = fmin(room, fmax(LEAST_ROOM, (double)(net->budget - net->operations) / 16));
    eliminate(&work, next.var, next.size);
    arena_reset(work.scratch);
    queue_neighbours(&work, &out->buckets.at[out->buckets.len - 1]);
  }
  arena_reset(work.scratch);
  return out;
}
