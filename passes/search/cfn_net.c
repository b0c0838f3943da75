// The network that is solved: costs as whole numbers of a unit, tables and maps that are there once.
//
// Whole numbers add up exactly in any order, so equal parts of a network have equal tables, bit for bit, and what is made of
// them is remembered under their ids. The unit is a power of two, such that the known upper bound has FINE bits: sums stay below
// 2^53, and rounding changes a cost by less than (variables + functions) / 2^FINE of the upper bound.
#include "cfn_net.h"

#include <stdlib.h>

enum { FINE = 48 };

enum { ENTRY_TABLE, ENTRY_MAP, ENTRY_MEMO };
struct NetEntry {
  NetEntry *next;
  uint64_t hash;
  int kind, len;
  const int *key; // of memos
  void *item;
};

static uint64_t hash_words(uint64_t hash, const void *from, size_t size) {
  const char *at = from;
  for (; size >= 8; size -= 8, at += 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  uint64_t rest = 0;
  memcpy(&rest, at, size);
  hash = (hash ^ rest) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

static void store_grow(Net *net) {
  NetEntry **old = net->store.slot;
  const int64_t old_cap = net->store.cap;
  net->store.cap = old_cap == 0 ? 1024 : old_cap * 4;
  net->store.slot = NEW_ARRAY(net->arena, NetEntry *, net->store.cap);
  for (int64_t i = 0; i < old_cap; i++)
    for (NetEntry *entry = old[i], *next; entry != NULL; entry = next) {
      next = entry->next;
      NetEntry **slot = &net->store.slot[entry->hash & (uint64_t)(net->store.cap - 1)];
      entry->next = *slot;
      *slot = entry;
    }
}

static NetEntry *store_chain(const Net *net, uint64_t hash) {
  return net->store.cap == 0 ? NULL : net->store.slot[hash & (uint64_t)(net->store.cap - 1)];
}

static NetEntry *store_add(Net *net, uint64_t hash, int kind, void *item) {
  if (net->store.len >= net->store.cap) store_grow(net);
  NetEntry *entry = NEW(net->arena, NetEntry);
  NetEntry **slot = &net->store.slot[hash & (uint64_t)(net->store.cap - 1)];
  *entry = (NetEntry){*slot, hash, kind, 0, NULL, item};
  *slot = entry;
  net->store.len++;
  return entry;
}

const NetTable *net_table(Net *net, int arity, const int *dim, const double *at) {
  int64_t size = 1;
  for (int i = 0; i < arity; i++) size *= dim[i];
  uint64_t hash = hash_words((uint64_t)arity + 1, dim, sizeof *dim * (size_t)arity);
  hash = hash_words(hash, at, sizeof *at * (size_t)size);
  for (const NetEntry *entry = store_chain(net, hash); entry != NULL; entry = entry->next) {
    const NetTable *table = entry->item;
    if (entry->hash == hash && entry->kind == ENTRY_TABLE && table->arity == arity && table->size == size &&
        memcmp(table->dim, dim, sizeof *dim * (size_t)arity) == 0 &&
        memcmp(table->at, at, sizeof *at * (size_t)size) == 0)
      return table;
  }
  NetTable *table = NEW(net->arena, NetTable);
  int *dims = NEW_ARRAY(net->arena, int, arity);
  double *entries = NEW_ARRAY(net->arena, double, size);
  memcpy(dims, dim, sizeof *dim * (size_t)arity);
  memcpy(entries, at, sizeof *at * (size_t)size);
  *table = (NetTable){net->n_ids++, arity, size, dims, entries};
  store_add(net, hash, ENTRY_TABLE, table);
  return table;
}

const NetMap *net_map(Net *net, int n, const int *of) {
  int greatest = 0;
  for (int v = 0; v < n; v++) greatest = of[v] > greatest ? of[v] : greatest;
  int *number = calloc((size_t)greatest + 1, sizeof *number), *dense = malloc(sizeof *dense * ((size_t)n + 1)),
      classes = 0;
  if (number == NULL || dense == NULL) fatal("out of memory");
  for (int v = 0; v < n; v++) {
    if (number[of[v]] == 0) number[of[v]] = ++classes;
    dense[v] = number[of[v]] - 1;
  }
  free(number);
  const uint64_t hash = hash_words((uint64_t)n << 8, dense, sizeof *dense * (size_t)n);
  const NetMap *found = NULL;
  for (const NetEntry *entry = store_chain(net, hash); entry != NULL && found == NULL; entry = entry->next) {
    const NetMap *map = entry->item;
    if (entry->hash == hash && entry->kind == ENTRY_MAP && map->n == n &&
        memcmp(map->of, dense, sizeof *dense * (size_t)n) == 0)
      found = map;
  }
  if (found == NULL) {
    NetMap *map = NEW(net->arena, NetMap);
    int *copy = NEW_ARRAY(net->arena, int, n);
    memcpy(copy, dense, sizeof *dense * (size_t)n);
    *map = (NetMap){net->n_ids++, n, classes, copy};
    store_add(net, hash, ENTRY_MAP, map);
    found = map;
  }
  free(dense);
  return found;
}

void **net_memo(Net *net, const int *key, int len) {
  const uint64_t hash = hash_words((uint64_t)len << 16, key, sizeof *key * (size_t)len);
  for (NetEntry *entry = store_chain(net, hash); entry != NULL; entry = entry->next)
    if (entry->hash == hash && entry->kind == ENTRY_MEMO && entry->len == len &&
        memcmp(entry->key, key, sizeof *key * (size_t)len) == 0)
      return &entry->item;
  NetEntry *entry = store_add(net, hash, ENTRY_MEMO, NULL);
  int *copy = NEW_ARRAY(net->arena, int, len);
  memcpy(copy, key, sizeof *key * (size_t)len);
  entry->key = copy;
  entry->len = len;
  return &entry->item;
}

bool net_spent(const Net *net) {
  if (net->budget > 0 && net->operations >= net->budget) return true;
  return net->cfn->until > 0 && steady_seconds() >= net->cfn->until;
}

const NetClasses *net_combine(Net *net, const NetMap *const *map, int n_maps, int n_values) {
  enum { COMBINE = -1, MAX = 4096 };
  if (n_maps > MAX - 2) fatal("a variable of a cost function network has more than %d functions", MAX - 2);
  int key[MAX];
  key[0] = COMBINE;
  key[1] = n_values;
  for (int i = 0; i < n_maps; i++) key[i + 2] = map[i]->id;
  void **place = net_memo(net, key, n_maps + 2);
  if (*place != NULL) return *place;
  NetClasses *result = NEW(net->arena, NetClasses);
  *place = result; // nothing is remembered below under a key that could move it
  int *of = NEW_ARRAY(net->arena, int, n_values);
  int64_t *pair = NEW_ARRAY(net->arena, int64_t, n_values);
  const NetMap *all = net_map(net, n_values, of);
  for (int i = 0; i < n_maps; i++) { // refine: pairs of classes, numbered by first occurrence through a table of pairs
    if (map[i] == all || map[i]->classes == 1) continue;
    const int64_t size = (int64_t)all->classes * map[i]->classes;
    int *number = calloc((size_t)size, sizeof *number);
    if (number == NULL) fatal("out of memory");
    int classes = 0;
    for (int v = 0; v < n_values; v++) {
      pair[v] = (int64_t)all->of[v] * map[i]->classes + map[i]->of[v];
      if (number[pair[v]] == 0) number[pair[v]] = ++classes;
      of[v] = number[pair[v]] - 1;
    }
    free(number);
    all = net_map(net, n_values, of);
  }
  int *first = NEW_ARRAY(net->arena, int, all->classes);
  for (int v = n_values - 1; v >= 0; v--) first[all->of[v]] = v;
  *result = (NetClasses){all, first};
  return result;
}

// ---- from the Cfn ----

static double in_units(const Net *net, double cost) {
  const double units = round(cost / net->unit);
  return units > net->worst ? INFINITY : units;
}

static void add_variable(Net *net, int x) {
  const CfnVariable *from = &net->cfn->variables.at[x];
  NetVar *to = &net->vars[x];
  double *cost = malloc(sizeof *cost * (size_t)from->n_values);
  if (cost == NULL) fatal("out of memory");
  int *value = NEW_ARRAY(net->arena, int, from->n_values);
  for (int v = 0; v < from->n_values; v++) {
    const double units = in_units(net, from->cost[v]);
    if (units == INFINITY) continue;
    value[to->n] = v;
    cost[to->n++] = units;
  }
  to->value = value;
  to->cost = net_table(net, 1, &to->n, cost);
  for (int l = 0; l < net->n_limits; l++) {
    for (int i = 0; i < to->n; i++) cost[i] = from->weight[l] == NULL ? 0 : from->weight[l][value[i]];
    to->weight[l] = net_table(net, 1, &to->n, cost);
  }
  free(cost);
  net->pruned += from->n_values - to->n;
}

// Tables of a Cfn are known by their pointers: each is turned into units once.
typedef struct Source {
  const double *at;
  const double *units;
  int64_t size;
} Source;

static int by_pointer(const void *a, const void *b) {
  const uintptr_t p = (uintptr_t)((const Source *)a)->at, q = (uintptr_t)((const Source *)b)->at;
  if (p != q) return p < q ? -1 : 1;
  const int64_t m = ((const Source *)a)->size, n = ((const Source *)b)->size;
  return m < n ? -1 : m > n;
}

static Source source_of(const CfnFunction *f) {
  Source source = {f->cost, NULL, 1};
  for (int i = 0; i < f->arity; i++) source.size *= f->n_classes[i];
  return source;
}

static void sources_fill(Net *net, Source *source, int n) {
  for (int i = 0; i < n; i++) {
    if (i > 0 && by_pointer(&source[i - 1], &source[i]) == 0) {
      source[i].units = source[i - 1].units;
      continue;
    }
    double *units = NEW_ARRAY(net->arena, double, source[i].size);
    for (int64_t at = 0; at < source[i].size; at++) units[at] = in_units(net, source[i].at[at]);
    source[i].units = units;
  }
}

// The function over the classes that values left have, in the order of net_map; axes of one class are gone.
static void add_function(Net *net, const CfnFunction *from, const double *units) {
  NetFn fn = {0};
  int *var = NEW_ARRAY(net->arena, int, from->arity);
  fn.var = var;
  fn.map = NEW_ARRAY(net->arena, const NetMap *, from->arity);
  int dim[CFN_MAX_ARITY];
  int64_t stride[CFN_MAX_ARITY], base = 0, step = 1;
  const int64_t *offset[CFN_MAX_ARITY] = {NULL};
  for (int i = from->arity - 1; i >= 0; i--) stride[i] = step, step *= from->n_classes[i];
  for (int i = 0; i < from->arity; i++) {
    const NetVar *v = &net->vars[from->var[i]];
    int *of = NEW_ARRAY(net->arena, int, v->n);
    for (int k = 0; k < v->n; k++) of[k] = from->class_of[i][v->value[k]];
    const NetMap *map = net_map(net, v->n, of);
    if (map->classes == 1) {
      base += of[0] * stride[i];
      continue;
    }
    int64_t *offsets = NEW_ARRAY(net->arena, int64_t, map->classes);
    for (int k = 0; k < v->n; k++) offsets[map->of[k]] = of[k] * stride[i];
    dim[fn.arity] = map->classes;
    offset[fn.arity] = offsets;
    var[fn.arity] = from->var[i];
    fn.map[fn.arity++] = map;
  }
  int64_t size = 1;
  for (int i = 0; i < fn.arity; i++) size *= dim[i];
  double *at = malloc(sizeof *at * (size_t)size);
  if (at == NULL) fatal("out of memory");
  int index[CFN_MAX_ARITY] = {0};
  for (int64_t entry = 0; entry < size; entry++) {
    int64_t place = base;
    for (int i = 0; i < fn.arity; i++) place += offset[i][index[i]];
    at[entry] = units[place];
    for (int i = fn.arity - 1; i >= 0 && ++index[i] == dim[i]; i--) index[i] = 0;
  }
  if (fn.arity == 0) net->constant += at[0];
  else {
    fn.table = net_table(net, fn.arity, dim, at);
    vec_push(net->arena, &net->fns, fn);
  }
  free(at);
}

static void add_functions(Net *net) {
  const int n = net->cfn->functions.len;
  Source *source = NEW_ARRAY(net->arena, Source, n);
  for (int i = 0; i < n; i++) source[i] = source_of(&net->cfn->functions.at[i]);
  qsort(source, (size_t)n, sizeof *source, by_pointer);
  sources_fill(net, source, n);
  for (int i = 0; i < n; i++) {
    const CfnFunction *f = &net->cfn->functions.at[i];
    const Source key = source_of(f), *found = bsearch(&key, source, (size_t)n, sizeof *source, by_pointer);
    add_function(net, f, found->units);
  }
}

Net *net_new(const Cfn *cfn, Arena *arena, double worst, bool with_limits) {
  Net *net = NEW(arena, Net);
  int exponent = 0;
  if (worst > 0) frexp(worst, &exponent); // worst < 2^exponent
  *net = (Net){.cfn = cfn, .arena = arena, .n_vars = cfn->variables.len, .n_limits = with_limits ? cfn->n_limits : 0};
  net->unit = worst > 0 ? ldexp(1, exponent - FINE) : 1;
  net->worst = ceil(worst / net->unit) + cfn->variables.len + cfn->functions.len; // what rounding may add
  net->vars = NEW_ARRAY(arena, NetVar, net->n_vars);
  for (int x = 0; x < net->n_vars; x++) {
    add_variable(net, x);
    if (net->vars[x].n == 0) net->constant = INFINITY;
  }
  if (net->constant < INFINITY) add_functions(net);
  return net;
}

NetList *net_lists(const Net *net, Arena *arena) {
  NetList *list = NEW_ARRAY(arena, NetList, net->n_vars);
  for (int i = 0; i < net->fns.len; i++)
    for (int k = 0; k < net->fns.at[i].arity; k++) vec_push(arena, &list[net->fns.at[i].var[k]].fns, i);
  return list;
}

double net_cost(const Net *net, const int *at) {
  double sum = net->constant;
  for (int x = 0; x < net->n_vars; x++) sum += net->vars[x].cost->at[at[x]];
  for (int i = 0; i < net->fns.len; i++) sum += net->fns.at[i].table->at[net_entry(&net->fns.at[i], at)];
  return sum;
}
