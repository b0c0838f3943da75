// Values that are not needed. Dead-end elimination (Goldstein, Biophysical Journal 66, 1994): a value goes if another one is
// never worse, whatever the neighbours choose,
//   cost(a) - cost(b) + sum over the functions of the least of f(a, .) - f(b, .) over the neighbours' classes >= 0,
// with limits only if b weighs no more. Values of one class in all functions (collapse) are the case where the sum is zero. Of
// values that are equal the first stays. A variable that loses a class of a function lets its neighbours be tried again.
#include "cfn_net.h"

#include <stdlib.h>

enum { SHRINK = -3, DIFFERENCE = -4, DOMINANCE = -5 };
enum { DIFFERENCE_MOST = 1 << 24 }; // operations for one table of differences; more are not worth it

// ---- what remains of a function ----

static const NetTable *shrink(Net *net, const NetTable *table, int axis, const int *old_class, int left) {
  int *key = NEW_ARRAY(net->arena, int, left + 3);
  key[0] = SHRINK, key[1] = table->id, key[2] = axis;
  memcpy(key + 3, old_class, sizeof *old_class * (size_t)left);
  void **place = net_memo(net, key, left + 3);
  if (*place != NULL) return *place;
  int64_t outer = 1, inner = 1, to = 0;
  for (int k = 0; k < axis; k++) outer *= table->dim[k];
  for (int k = axis + 1; k < table->arity; k++) inner *= table->dim[k];
  double *at = NEW_ARRAY(net->arena, double, outer *left *inner);
  for (int64_t o = 0; o < outer; o++)
    for (int c = 0; c < left; c++, to += inner)
      memcpy(&at[to], &table->at[(o * table->dim[axis] + old_class[c]) * inner], sizeof *at * (size_t)inner);
  int *dim = NEW_ARRAY(net->arena, int, table->arity);
  memcpy(dim, table->dim, sizeof *dim * (size_t)table->arity);
  dim[axis] = left;
  const NetTable *made = net_table(net, table->arity, dim, at);
  *place = (void *)made;
  return made;
}

static void restrict_function(Net *net, NetFn *f, int axis, const int *kept, int n, bool *touched) {
  const NetMap *old = f->map[axis];
  int *of = NEW_ARRAY(net->arena, int, n);
  for (int k = 0; k < n; k++) of[k] = old->of[kept[k]];
  const NetMap *map = net_map(net, n, of);
  int *old_class = NEW_ARRAY(net->arena, int, map->classes);
  bool same = map->classes == old->classes;
  for (int k = 0; k < n; k++) old_class[map->of[k]] = of[k];
  for (int c = 0; c < map->classes; c++) same = same && old_class[c] == c;
  const NetMap **maps = NEW_ARRAY(net->arena, const NetMap *, f->arity); // eliminations hold the old ones
  memcpy(maps, f->map, sizeof *maps * (size_t)f->arity);
  maps[axis] = map;
  f->map = maps;
  if (same) return;
  f->table = shrink(net, f->table, axis, old_class, map->classes);
  for (int k = 0; touched != NULL && k < f->arity; k++) touched[f->var[k]] = touched[f->var[k]] || k != axis;
}

void net_restrict(Net *net, int x, const bool *keep, const NetList *fns, bool *touched) {
  NetVar *v = &net->vars[x];
  int *kept = NEW_ARRAY(net->arena, int, v->n), *value = NEW_ARRAY(net->arena, int, v->n), n = 0;
  for (int k = 0; k < v->n; k++)
    if (keep[k]) value[n] = v->value[k], kept[n++] = k;
  if (n == v->n) return;
  if (n == 0) {
    net->constant = INFINITY;
    return;
  }
  double *at = NEW_ARRAY(net->arena, double, n);
  for (int l = -1; l < net->n_limits; l++) {
    const NetTable **table = l < 0 ? &v->cost : &v->weight[l];
    for (int k = 0; k < n; k++) at[k] = (*table)->at[kept[k]];
    *table = net_table(net, 1, &n, at);
  }
  net->pruned += v->n - n;
  v->n = n;
  v->value = value;
  for (int i = 0; i < fns->fns.len; i++) {
    NetFn *f = &net->fns.at[fns->fns.at[i]];
    int axis = 0;
    while (f->var[axis] != x) axis++;
    restrict_function(net, f, axis, kept, n, touched);
  }
}

// ---- dominance ----

static void lower_differences(double *restrict least, double from, const double *restrict row, int n) {
  for (int q = 0; q < n; q++) least[q] = from - row[q] < least[q] ? from - row[q] : least[q];
}

// The least of f(p, .) - f(q, .), by classes of one axis: what is not allowed under p is no objection.
static const double *differences(Net *net, const NetTable *table, int axis) {
  const int key[] = {DIFFERENCE, table->id, axis}, n = table->dim[axis];
  void **place = net_memo(net, key, 3);
  if (*place != NULL) return *place;
  double *least = NEW_ARRAY(net->arena, double, (int64_t)n *n);
  *place = least;
  const bool dear = (double)table->size * n > DIFFERENCE_MOST;
  for (int i = 0; i < n * n; i++) least[i] = i / n == i % n ? 0 : dear ? -INFINITY : INFINITY;
  if (dear) return least;
  net->operations += table->size * n;
  int64_t outer = 1, inner = 1;
  for (int k = 0; k < axis; k++) outer *= table->dim[k];
  for (int k = axis + 1; k < table->arity; k++) inner *= table->dim[k];
  double *row = NEW_ARRAY(net->scratch, double, n); // of the classes, where the other axes stand still
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < inner; i++) {
      for (int c = 0; c < n; c++) row[c] = table->at[(o * n + c) * inner + i];
      for (int p = 0; p < n; p++)
        if (row[p] < INFINITY) lower_differences(&least[p * n], row[p], row, n);
    }
  return least;
}

static bool dominates(const Net *net, const NetVar *v, const NetFn *const *f, const int *axis,
                      const double *const *least, int n_fns, int b, int a) {
  for (int l = 0; l < net->n_limits; l++)
    if (v->weight[l]->at[b] > v->weight[l]->at[a]) return false;
  double sum = v->cost->at[a] - v->cost->at[b];
  for (int i = 0; i < n_fns; i++) {
    const NetMap *map = f[i]->map[axis[i]];
    const double term = least[i][map->of[a] * map->classes + map->of[b]];
    if (term == -INFINITY) return false;
    sum += term;
  }
  return sum >= 0;
}

static const bool *undominated(Net *net, int x, const NetList *fns) {
  const NetVar *v = &net->vars[x];
  const int n = fns->fns.len;
  Arena *arena = net->arena;
  const NetFn **f = NEW_ARRAY(arena, const NetFn *, n);
  int *axis = NEW_ARRAY(arena, int, n), *key = NEW_ARRAY(arena, int, 2 + CFN_MAX_LIMITS + 3 * n), len = 0;
  key[len++] = DOMINANCE;
  key[len++] = v->cost->id;
  for (int l = 0; l < net->n_limits; l++) key[len++] = v->weight[l]->id;
  for (int i = 0; i < n; i++) {
    f[i] = &net->fns.at[fns->fns.at[i]];
    while (f[i]->var[axis[i]] != x) axis[i]++;
    key[len++] = f[i]->table->id, key[len++] = axis[i], key[len++] = f[i]->map[axis[i]]->id;
  }
  void **place = net_memo(net, key, len);
  if (*place != NULL) return *place;
  const double **least = NEW_ARRAY(arena, const double *, n);
  for (int i = 0; i < n; i++) least[i] = differences(net, f[i]->table, axis[i]);
  bool *keep = NEW_ARRAY(arena, bool, v->n);
  for (int a = 0; a < v->n; a++) keep[a] = true;
  for (int a = v->n - 1; a >= 0; a--)
    for (int b = 0; b < v->n && keep[a]; b++)
      if (b != a && keep[b] && dominates(net, v, f, axis, least, n, b, a)) keep[a] = false;
  net->operations += (int64_t)v->n * v->n;
  *place = keep;
  return keep;
}

void net_reduce(Net *net) {
  if (net->constant == INFINITY) return;
  const NetList *list = net_lists(net, net->arena);
  bool *touched = NEW_ARRAY(net->arena, bool, net->n_vars);
  for (int x = 0; x < net->n_vars; x++) touched[x] = true;
  for (bool again = true; again;) {
    again = false;
    for (int x = 0; x < net->n_vars; x++) {
      if (!touched[x]) continue;
      touched[x] = false;
      again = true;
      net_restrict(net, x, undominated(net, x, &list[x]), &list[x], touched);
    }
  }
}
