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
// As messages are, what comes out is remembered under tables and maps, so that layers that repeat are looked at once where what is
// outside of them comes to the same.
#include "cfn_net.h"

enum { MARGINALS = -6 };
enum { MOST_ENTRIES = 1 << 26, ROOM = 1 << 23 }; // that are looked at, in all and for one variable

typedef struct Part { // of a bucket: all of it, or what was eliminated apart from the rest
  int var, n;
  const int *fns;       // [n] of the elimination
  const NetTable *cost; // of the variable's values; NULL: another part counts it
  int sent;             // its message; -1: none
} Part;

typedef struct Outward { // of a part
  const double *marginal; // by class of its variable, 0 for the best
  const NetClasses *own;
  const NetTable **out;   // by function that is a message; else NULL
} Outward;

typedef struct Joined { // the variables of a part, its own first
  int n;
  int *var;
  const NetClasses **classes;
  double size;
} Joined;

typedef struct Pass {
  Net *net;
  const Elimination *done;
  const NetTable **outside; // by function of the elimination that is a message
  bool *message;            // by function
  int *local;               // by variable: its number in the part + 1
  int64_t entries;
} Pass;

// ---- one part ----

static Joined join(Pass *pass, const Part *part, const NetFn *const *fns, int n_fns) {
  Arena *arena = pass->net->scratch;
  int places = 1;
  for (int i = 0; i < n_fns; i++) places += fns[i]->arity;
  Joined j = {1, NEW_ARRAY(arena, int, places), NEW_ARRAY(arena, const NetClasses *, places), 1};
  const NetMap **map = NEW_ARRAY(arena, const NetMap *, places);
  j.var[0] = part->var;
  pass->local[part->var] = 1;
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

typedef struct Walk { // over the classes of all variables of a part
  const NetFn *fn;
  int64_t **offset; // by variable of the part, by its class; NULL: the function does not have it
  int64_t at;
} Walk;

static Walk walk_of(const Pass *pass, const Joined *j, const NetFn *fn) {
  Arena *arena = pass->net->scratch;
  Walk walk = {fn, NEW_ARRAY(arena, int64_t *, j->n), 0};
  int64_t stride = 1;
  for (int k = fn->arity - 1; k >= 0; stride *= fn->table->dim[k--]) {
    const int v = pass->local[fn->var[k]] - 1;
    const NetClasses *classes = j->classes[v];
    walk.offset[v] = NEW_ARRAY(arena, int64_t, classes->map->classes);
    for (int c = 0; c < classes->map->classes; c++) walk.offset[v][c] = fn->map[k]->of[classes->first[c]] * stride;
    if (v > 0) walk.at += walk.offset[v][0];
  }
  return walk;
}

// To the next classes of the neighbours.
static bool step(const Joined *j, int *class, Walk *walk, int n_walks) {
  for (int v = 1; v < j->n; v++) {
    const int from = class[v];
    const bool next = ++class[v] < j->classes[v]->map->classes;
    if (!next) class[v] = 0;
    for (int i = 0; i < n_walks; i++)
      if (walk[i].offset[v] != NULL) walk[i].at += walk[i].offset[v][class[v]] - walk[i].offset[v][from];
    if (next) return true;
  }
  return false;
}

static double value_cost(const Part *part, int v) { return part->cost == NULL ? 0 : part->cost->at[v]; }

static void subtract_least(double *at, int64_t n) {
  double least = INFINITY;
  for (int64_t i = 0; i < n; i++) least = at[i] < least ? at[i] : least;
  for (int64_t i = 0; i < n && least < INFINITY; i++) at[i] -= least;
}

// fns: of the part; behind them, if it sends anything, what is outside of it.
static Outward *look(Pass *pass, const Part *part, const NetFn *const *fns, int n_fns, const Joined *j) {
  Net *net = pass->net;
  const int n = part->n, classes = j->classes[0]->map->classes;
  Outward *made = NEW(net->arena, Outward);
  double *marginal = NEW_ARRAY(net->arena, double, classes), *own = NEW_ARRAY(net->scratch, double, classes);
  double **out = NEW_ARRAY(net->scratch, double *, n);
  Walk *walk = NEW_ARRAY(net->scratch, Walk, n_fns);
  int *class = NEW_ARRAY(net->scratch, int, j->n);
  for (int c = 0; c < classes; c++) own[c] = marginal[c] = INFINITY;
  for (int v = 0; v < net->vars[part->var].n; v++) {
    double *least = &own[j->classes[0]->map->of[v]];
    *least = fmin(*least, value_cost(part, v));
  }
  for (int i = 0; i < n_fns; i++) {
    walk[i] = walk_of(pass, j, fns[i]);
    if (i >= n || !pass->message[part->fns[i]]) continue;
    out[i] = NEW_ARRAY(net->scratch, double, fns[i]->table->size);
    for (int64_t k = 0; k < fns[i]->table->size; k++) out[i][k] = INFINITY;
  }
  double *sum = NEW_ARRAY(net->scratch, double, classes);
  do {
    memcpy(sum, own, sizeof *sum * (size_t)classes);
    for (int i = 0; i < n_fns; i++) {
      const double *at = &fns[i]->table->at[walk[i].at];
      const int64_t *offset = walk[i].offset[0];
      for (int c = 0; c < classes; c++) sum[c] += at[offset != NULL ? offset[c] : 0];
    }
    for (int c = 0; c < classes; c++) marginal[c] = sum[c] < marginal[c] ? sum[c] : marginal[c];
    for (int i = 0; i < n; i++) {
      if (out[i] == NULL) continue;
      const double *at = &fns[i]->table->at[walk[i].at];
      double *to = &out[i][walk[i].at];
      for (int c = 0; c < classes; c++) {
        const int64_t place = walk[i].offset[0][c];
        const double rest = sum[c] < INFINITY ? sum[c] - at[place] : INFINITY;
        to[place] = rest < to[place] ? rest : to[place];
      }
    }
  } while (step(j, class, walk, n_fns));
  subtract_least(marginal, classes);
  *made = (Outward){marginal, j->classes[0], NEW_ARRAY(net->arena, const NetTable *, n)};
  for (int i = 0; i < n; i++) {
    if (out[i] == NULL) continue;
    subtract_least(out[i], fns[i]->table->size);
    made->out[i] = net_table(net, fns[i]->arity, fns[i]->table->dim, out[i]);
  }
  return made;
}

static const Outward *remembered(Pass *pass, const Part *part, const NetFn *const *fns, int n_fns) {
  Net *net = pass->net;
  const Joined j = join(pass, part, fns, n_fns);
  int len = 4, at = 0;
  for (int i = 0; i < n_fns; i++) len += 2 + 2 * fns[i]->arity;
  int *key = NEW_ARRAY(net->scratch, int, len);
  key[at++] = MARGINALS;
  key[at++] = part->cost == NULL ? -1 : part->cost->id;
  key[at++] = net->vars[part->var].n;
  key[at++] = part->n;
  for (int i = 0; i < n_fns; i++) {
    key[at++] = fns[i]->table->id;
    key[at++] = i < part->n && pass->message[part->fns[i]];
    for (int k = 0; k < fns[i]->arity; k++) {
      key[at++] = fns[i]->map[k]->id;
      key[at++] = pass->local[fns[i]->var[k]];
    }
  }
  void **place = net_memo(net, key, len);
  if (*place == NULL && pass->entries + j.size <= MOST_ENTRIES) {
    pass->entries += (int64_t)j.size;
    net->operations += (int64_t)j.size;
    *place = look(pass, part, fns, n_fns, &j);
  }
  for (int v = 0; v < j.n; v++) pass->local[j.var[v]] = 0;
  return *place;
}

// ---- all buckets ----

static Part part_of(const Pass *pass, const Bucket *bucket, int number) {
  int *fns = NEW_ARRAY(pass->net->scratch, int, bucket->fns.len);
  Part part = {.var = bucket->var, .fns = fns, .sent = bucket->sent[number]};
  if (number == 0) part.cost = pass->done->cost[bucket->var];
  for (int i = 0; i < bucket->fns.len; i++)
    if (bucket->part[i] == number) fns[part.n++] = bucket->fns.at[i];
  return part;
}

// Raises least[value] to what this part says.
static void raise(const Net *net, const Elimination *done, const Part *part, const Outward *found, double *least) {
  const int n = net->vars[part->var].n, *of = found->own->map->of;
  double *cheapest = NEW_ARRAY(net->scratch, double, found->own->map->classes);
  for (int c = 0; c < found->own->map->classes; c++) cheapest[c] = INFINITY;
  for (int v = 0; v < n; v++) cheapest[of[v]] = fmin(cheapest[of[v]], value_cost(part, v));
  for (int v = 0; v < n; v++)
    least[v] = fmax(least[v], cheapest[of[v]] == INFINITY ? INFINITY : done->bound + found->marginal[of[v]] + value_cost(part, v) - cheapest[of[v]]);
}

static bool look_at_part(Pass *pass, const Part *part, double *least) {
  Net *net = pass->net;
  const NetFn **fns = NEW_ARRAY(net->scratch, const NetFn *, part->n + 1);
  int n = 0;
  NetFn outside;
  for (; n < part->n; n++) fns[n] = &pass->done->fns.at[part->fns[n]];
  if (part->sent >= 0) {
    outside = pass->done->fns.at[part->sent];
    outside.table = pass->outside[part->sent];
    fns[n++] = &outside;
  }
  const Outward *found = remembered(pass, part, fns, n);
  if (found == NULL) return false;
  raise(net, pass->done, part, found, least);
  for (int i = 0; i < part->n; i++)
    if (pass->message[part->fns[i]]) pass->outside[part->fns[i]] = found->out[i];
  return true;
}

bool net_marginals(Net *net, const Elimination *done, double *const *least) {
  if (done->bound == INFINITY) return false;
  Arena *arena = net->arena;
  Pass pass = {.net = net, .done = done, .outside = NEW_ARRAY(arena, const NetTable *, done->fns.len)};
  pass.message = NEW_ARRAY(arena, bool, done->fns.len);
  pass.local = NEW_ARRAY(arena, int, net->n_vars);
  for (int b = 0; b < done->buckets.len; b++)
    for (int i = 0; i < done->buckets.at[b].messages.len; i++) pass.message[done->buckets.at[b].messages.at[i]] = true;
  for (int b = done->buckets.len - 1; b >= 0; b--) {
    const Bucket *bucket = &done->buckets.at[b];
    for (int v = 0; v < net->vars[bucket->var].n; v++) least[bucket->var][v] = -INFINITY;
    for (int p = 0; p < bucket->parts; p++) {
      const Part part = part_of(&pass, bucket, p);
      if (!look_at_part(&pass, &part, least[bucket->var])) return false;
    }
    arena_reset(net->scratch);
  }
  return true;
}

int64_t net_narrow(Net *net, const Elimination *done, const Multipliers *by, const Incumbent *best) {
  const int64_t before = net->pruned;
  const double above = by == NULL ? net->worst : best->units + by->offset;
  double **least = NEW_ARRAY(net->arena, double *, net->n_vars);
  for (int x = 0; x < net->n_vars; x++) least[x] = NEW_ARRAY(net->arena, double, net->vars[x].n);
  if (!net_marginals(net, done, least)) return 0;
  const NetList *list = net_lists(net, net->arena);
  for (int x = 0; x < net->n_vars; x++) {
    bool *keep = NEW_ARRAY(net->arena, bool, net->vars[x].n);
    for (int v = 0; v < net->vars[x].n; v++) keep[v] = least[x][v] <= above;
    net_restrict(net, x, keep, &list[x], NULL);
  }
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

// With little room first: what is removed makes the rest smaller.
bool cfn_prune(const Cfn *cfn, double above, bool *const *needed, int64_t *operations) {
  static const double rooms[] = {1 << 16, 1 << 20, ROOM};
  Arena *arena = arena_new(), *scratch = arena_new();
  Net *net = net_new(cfn, arena, above - cfn->constant, false);
  bool exact = false, none = false, any = false;
  net->scratch = scratch;
  for (size_t i = 0; i < sizeof rooms / sizeof *rooms && !exact; i++) {
    const Elimination *done = net_eliminate(net, arena, NULL, net->worst, rooms[i], -1);
    none = done->bound == INFINITY;
    exact = none || done->split == 0;
    net_narrow(net, done, NULL, NULL);
  }
  for (int x = 0; x < net->n_vars; x++)
    for (int v = 0, k = 0; v < cfn->variables.at[x].n_values && needed[x] != NULL; v++) {
      const bool left = k < net->vars[x].n && net->vars[x].value[k] == v;
      k += left;
      any |= needed[x][v] && (none || !left);
      needed[x][v] = needed[x][v] && left && !none;
    }
  *operations += net->operations;
  arena_free(arena);
  arena_free(scratch);
  return any;
}
