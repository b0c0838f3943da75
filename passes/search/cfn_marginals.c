// What no assignment with a value costs less than: messages from the root of an elimination back to where its messages came from
// (the outward pass of bucket-tree elimination; Kask, Dechter, Larrosa and Dechter, Artificial Intelligence 166, 2005).
//
//   a bucket:  x with the functions f(x, y), m(x, z) of which m came from an eliminated variable, and out(y, z), what all that is
//              eliminated later adds to what the bucket sends
//   marginal of x:  min over y, z of  cost(x) + f(x, y) + m(x, z) + out(y, z), less its minimum, more the optimum
//   out of m:       min over y of the same without m, for all x, z
//
// Where a bucket was split the same of each of its parts, as if the variable were another one in each, is a lower bound.
//
// What is asked is which values are in nothing that costs as little as is known: what is outside and costs more is left out on the way.
//
// As messages are, what comes out is remembered under tables and maps, so that layers that repeat are looked at once where what is
// outside of them comes to the same.
#include "cfn_outward.h"

enum { MARGINALS = -6 };
enum { MOST_ENTRIES = 1 << 26, ROOM = 1 << 23 }; // that are looked at, in all and for one variable

typedef struct Pass {
  Net *net;
  const Elimination *done;
  const NetTable **outside; // by function of the elimination that is a message
  bool *message;            // by function
  int *local;               // by variable: its number in the part + 1
  int64_t entries;
  double slack; // above the optimum: what costs more is as good as not allowed
} Pass;

// ---- one part ----

static Joined join(Pass *pass, int var, const NetFn *const *fns, int n_fns) {
  Arena *arena = pass->net->scratch;
  int places = 1;
  for (int i = 0; i < n_fns; i++) places += fns[i]->arity;
  Joined j = {1, NEW_ARRAY(arena, int, places), NEW_ARRAY(arena, const NetClasses *, places), 1};
  const NetMap **map = NEW_ARRAY(arena, const NetMap *, places);
  j.var[0] = var;
  pass->local[var] = 1;
  for (int i = 0; i < n_fns; i++)
    for (int k = 0; k < fns[i]->arity; k++) {
      int *local = &pass->local[fns[i]->var[k]];
      if (*local > 0) continue;
      j.var[j.n++] = fns[i]->var[k];
      *local = j.n;
    }
  for (int v = 0; v < j.n; v++) {
    int n = 0;
    for (int i = 0; i < n_fns; i++)
      for (int k = 0; k < fns[i]->arity; k++)
        if (fns[i]->var[k] == j.var[v]) map[n++] = fns[i]->map[k];
    j.classes[v] = net_combine(pass->net, map, n, pass->net->vars[j.var[v]].n);
    j.size *= j.classes[v]->map->classes;
  }
  return j;
}

static const Outward *remembered(Pass *pass, int var, const Part *part) {
  Net *net = pass->net;
  const int n_fns = part->n + (part->outside != NULL);
  const NetFn **fns = NEW_ARRAY(net->scratch, const NetFn *, n_fns);
  for (int i = 0; i < n_fns; i++) fns[i] = i < part->n ? part->fns[i] : part->outside;
  const Joined j = join(pass, var, fns, n_fns);
  int len = 6, at = 0;
  for (int i = 0; i < n_fns; i++) len += 2 + 2 * fns[i]->arity;
  int *key = NEW_ARRAY(net->scratch, int, len);
  key[at++] = MARGINALS;
  key[at++] = part->cost == NULL ? -1 : part->cost->id;
  key[at++] = net->vars[var].n;
  key[at++] = part->n;
  memcpy(&key[at], &pass->slack, sizeof pass->slack);
  at += 2;
  for (int i = 0; i < n_fns; i++) {
    key[at++] = fns[i]->table->id;
    key[at++] = i < part->n && part->message[i];
    for (int k = 0; k < fns[i]->arity; k++) {
      key[at++] = fns[i]->map[k]->id;
      key[at++] = pass->local[fns[i]->var[k]];
    }
  }
  void **place = net_memo(net, key, len);
  if (*place == NULL && pass->entries + j.size <= MOST_ENTRIES) {
    pass->entries += (int64_t)j.size;
    net->operations += (int64_t)j.size;
    *place = (void *)outward_of(net, part, &j, pass->slack);
  }
  for (int v = 0; v < j.n; v++) pass->local[j.var[v]] = 0;
  return *place;
}

// ---- all buckets ----

// Raises least[value] to what a part says.
static void raise(const Net *net, const Elimination *done, const Part *part, const Outward *found, double *least) {
  const int n = found->own->map->n, *of = found->own->map->of;
  const double *cost = part->cost != NULL ? part->cost->at : NEW_ARRAY(net->scratch, double, n);
  double *cheapest = NEW_ARRAY(net->scratch, double, found->own->map->classes);
  for (int c = 0; c < found->own->map->classes; c++) cheapest[c] = INFINITY;
  for (int v = 0; v < n; v++) cheapest[of[v]] = fmin(cheapest[of[v]], cost[v]);
  for (int v = 0; v < n; v++)
    least[v] = fmax(least[v], cheapest[of[v]] == INFINITY ? INFINITY : done->bound + found->marginal[of[v]] + cost[v] - cheapest[of[v]]);
}

// Of a bucket all of it, or what was eliminated apart from the rest.
static bool look_at_part(Pass *pass, const Bucket *bucket, int number, double *least) {
  Net *net = pass->net;
  const Elimination *done = pass->done;
  const int sent = bucket->sent[number];
  int *place = NEW_ARRAY(net->scratch, int, bucket->fns.len), n = 0;
  const NetFn **fns = NEW_ARRAY(net->scratch, const NetFn *, bucket->fns.len);
  bool *message = NEW_ARRAY(net->scratch, bool, bucket->fns.len);
  for (int i = 0; i < bucket->fns.len; i++) {
    if (bucket->part[i] != number) continue;
    fns[n] = &done->fns.at[bucket->fns.at[i]];
    message[n] = pass->message[bucket->fns.at[i]];
    place[n++] = bucket->fns.at[i];
  }
  NetFn outside;
  if (sent >= 0) {
    outside = done->fns.at[sent];
    outside.table = pass->outside[sent];
  }
  const Part part = {n, fns, message, sent >= 0 ? &outside : NULL, number == 0 ? done->cost[bucket->var] : NULL};
  const Outward *found = remembered(pass, bucket->var, &part);
  if (found == NULL) return false;
  raise(net, done, &part, found, least);
  for (int i = 0; i < n; i++)
    if (message[i]) pass->outside[place[i]] = found->out[i];
  return true;
}

bool net_marginals(Net *net, const Elimination *done, double above, double *const *least) {
  if (done->bound == INFINITY) return false;
  Arena *arena = net->arena;
  Pass pass = {.net = net, .done = done, .slack = above - done->bound, .outside = NEW_ARRAY(arena, const NetTable *, done->fns.len)};
  pass.message = NEW_ARRAY(arena, bool, done->fns.len);
  pass.local = NEW_ARRAY(arena, int, net->n_vars);
  for (int b = 0; b < done->buckets.len; b++)
    for (int i = 0; i < done->buckets.at[b].messages.len; i++) pass.message[done->buckets.at[b].messages.at[i]] = true;
  for (int b = done->buckets.len - 1; b >= 0; b--) {
    const Bucket *bucket = &done->buckets.at[b];
    for (int v = 0; v < net->vars[bucket->var].n; v++) least[bucket->var][v] = -INFINITY;
    for (int p = 0; p < bucket->parts; p++)
      if (!look_at_part(&pass, bucket, p, least[bucket->var])) return false;
    arena_reset(net->scratch);
  }
  return true;
}

// least[x][index]; NULL: it is not known, it would take too much.
static double **marginals(Net *net, const Elimination *done, double above) {
  double **least = NEW_ARRAY(net->arena, double *, net->n_vars);
  for (int x = 0; x < net->n_vars; x++) least[x] = NEW_ARRAY(net->arena, double, net->vars[x].n);
  return net_marginals(net, done, above, least) ? least : NULL;
}

static void restrict_all(Net *net, double *const *least, double above) {
  const NetList *list = net_lists(net, net->arena);
  for (int x = 0; x < net->n_vars; x++) {
    bool *keep = NEW_ARRAY(net->arena, bool, net->vars[x].n);
    for (int v = 0; v < net->vars[x].n; v++) keep[v] = least[x][v] <= above;
    net_restrict(net, x, keep, &list[x], NULL);
  }
}

int64_t net_narrow(Net *net, const Elimination *done, const Multipliers *by, const Incumbent *best) {
  const int64_t before = net->pruned;
  const double above = by == NULL ? net->worst : best->units + by->offset;
  double *const *least = marginals(net, done, above);
  if (least != NULL) restrict_all(net, least, above);
  return net->pruned - before;
}

// All other variables are eliminated: what is left are functions of x alone.
bool cfn_least(const Cfn *cfn, int x, double above, double *least) {
  Arena *arena = arena_new();
  Net *net = net_new(cfn, arena, above - cfn->constant, false);
  net->scratch = arena_new();
  const Elimination *done = net_eliminate(net, arena, NULL, net->worst, ROOM, x);
  bool *gone = NEW_ARRAY(arena, bool, done->fns.len);
  for (int b = 0; b < done->buckets.len; b++)
    for (int i = 0; i < done->buckets.at[b].fns.len; i++) gone[done->buckets.at[b].fns.at[i]] = true;
  for (int v = 0; v < cfn->variables.at[x].n_values; v++) least[v] = INFINITY;
  for (int v = 0; v < net->vars[x].n && done->bound < INFINITY; v++) {
    double sum = done->bound + net->vars[x].cost->at[v];
    for (int i = 0; i < done->fns.len; i++)
      if (!gone[i]) sum += done->fns.at[i].table->at[done->fns.at[i].map[0]->of[v]];
    if (sum <= net->worst) least[net->vars[x].value[v]] = cfn->constant + sum * net->unit;
  }
  const bool known = done->split == 0;
  arena_free(net->scratch);
  arena_free(arena);
  return known;
}

// Of the values that are left; least: NULL: nothing is allowed.
static void note_floors(const Net *net, double *const *least, double *const *floor) {
  for (int x = 0; x < net->n_vars; x++)
    for (int v = 0; v < net->vars[x].n && floor[x] != NULL; v++) {
      const bool within = least != NULL && least[x][v] <= net->worst;
      floor[x][net->vars[x].value[v]] = within ? net->cfn->constant + least[x][v] * net->unit : INFINITY;
    }
}

// With little room first: what is removed makes the rest smaller.
bool cfn_floors(const Cfn *cfn, double above, double *const *floor, int64_t *operations) {
  static const double rooms[] = {1 << 16, 1 << 20, ROOM};
  Arena *arena = arena_new(), *scratch = arena_new();
  Net *net = net_new(cfn, arena, above - cfn->constant, false);
  bool exact = false;
  net->scratch = scratch;
  for (int x = 0; x < cfn->variables.len; x++)
    for (int v = 0; v < cfn->variables.at[x].n_values && floor[x] != NULL; v++) floor[x][v] = INFINITY;
  for (int x = 0; x < net->n_vars; x++)
    for (int v = 0; v < net->vars[x].n && floor[x] != NULL; v++) floor[x][net->vars[x].value[v]] = cfn->constant;
  for (size_t i = 0; i < sizeof rooms / sizeof *rooms && !exact; i++) {
    const Elimination *done = net_eliminate(net, arena, NULL, net->worst, rooms[i], -1);
    const bool none = done->bound == INFINITY;
    double *const *least = none ? NULL : marginals(net, done, net->worst);
    exact = none || done->split == 0;
    if (none || least != NULL) note_floors(net, least, floor);
    if (least != NULL && !exact) restrict_all(net, least, net->worst);
  }
  *operations += net->operations;
  arena_free(arena);
  arena_free(scratch);
  return exact;
}
