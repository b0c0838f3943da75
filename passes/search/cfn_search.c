// What elimination leaves open is searched, depth first over the variables in the reverse order of their elimination. All that
// the messages of a variable depend on is assigned then, so that they are an exact (or, of split buckets, an admissible)
// estimate of the rest: branch and bound with mini-bucket heuristics (Kask and Dechter, Artificial Intelligence 129, 2001).
// Where no bucket was split the first descent is the optimum and the proof: each variable takes its first cheapest value.
#include "cfn_net.h"

typedef struct Level {
  double *more; // what the bound rises by, for each value
  int tried;    // the last value tried; -1: none
  double bound; // before the variable
  double weight[CFN_MAX_LIMITS];
} Level;

typedef struct Search {
  Net *net;
  const Elimination *done;
  Incumbent *best;
  int *at; // by variable: index of its value
  Level *level;
  double (*least)[CFN_MAX_LIMITS]; // [level] of what is not assigned before the level, the least weight
} Search;

bool net_offer(const Net *net, Incumbent *best, const int *at) {
  const double units = net_cost(net, at);
  if (!(units < best->units)) return false;
  int *value = NEW_ARRAY(net->arena, int, net->n_vars);
  for (int x = 0; x < net->n_vars; x++) value[x] = net->vars[x].value[at[x]];
  for (int l = 0; l < net->n_limits; l++)
    if (cfn_weight(net->cfn, l, value) > net->cfn->limit[l]) return false;
  *best = (Incumbent){value, units};
  return true;
}

// ---- branch and bound ----

static const Bucket *bucket_at(const Search *search, int level) {
  return &search->done->buckets.at[search->done->buckets.len - 1 - level];
}

static void enter(Search *search, int depth, double bound) {
  Net *net = search->net;
  const Bucket *bucket = bucket_at(search, depth);
  const int x = bucket->var, n = net->vars[x].n;
  Level *level = &search->level[depth];
  if (level->more == NULL) level->more = NEW_ARRAY(net->arena, double, n);
  level->tried = -1;
  level->bound = bound;
  double known = bucket->least;
  for (int i = 0; i < bucket->messages.len; i++) {
    const NetFn *f = &search->done->fns.at[bucket->messages.at[i]];
    known += f->table->at[net_entry(f, search->at)];
  }
  for (int v = 0; v < n; v++) level->more[v] = search->done->cost[x]->at[v];
  for (int i = 0; i < bucket->fns.len; i++) {
    const NetFn *f = &search->done->fns.at[bucket->fns.at[i]];
    int axis = 0;
    int64_t stride = 1;
    search->at[x] = 0;
    while (f->var[axis] != x) axis++;
    for (int k = axis + 1; k < f->arity; k++) stride *= f->table->dim[k];
    const int *of = f->map[axis]->of;
    const double *row = &f->table->at[net_entry(f, search->at)] - of[0] * stride;
    for (int v = 0; v < n; v++) level->more[v] += row[of[v] * stride];
  }
  for (int v = 0; v < n; v++) level->more[v] = known == INFINITY ? INFINITY : level->more[v] - known;
}

// The next value after the last one tried, cheapest first, ties in their order; -1: none.
static int next_value(const Level *level, int n) {
  const double last = level->tried < 0 ? -INFINITY : level->more[level->tried];
  int best = -1;
  for (int v = 0; v < n; v++) {
    const double more = level->more[v];
    if (more < last || (more == last && v <= level->tried) || more == INFINITY) continue;
    if (best < 0 || more < level->more[best]) best = v;
  }
  return best;
}

static bool too_heavy(const Search *search, int depth, int x, int v) {
  const Net *net = search->net;
  for (int l = 0; l < net->n_limits; l++) {
    const double weight = search->level[depth].weight[l] + net->vars[x].weight[l]->at[v] + search->least[depth + 1][l];
    if (weight > net->cfn->limit[l] * (1 + 1e-12)) return true; // sums in another order round otherwise
  }
  return false;
}

static void least_weights(Search *search) {
  const Net *net = search->net;
  for (int depth = net->n_vars - 1; depth >= 0; depth--) {
    const NetVar *v = &net->vars[bucket_at(search, depth)->var];
    for (int l = 0; l < net->n_limits; l++) {
      double least = INFINITY;
      for (int k = 0; k < v->n; k++) least = v->weight[l]->at[k] < least ? v->weight[l]->at[k] : least;
      search->least[depth][l] = search->least[depth + 1][l] + least;
    }
  }
}

// What no bound has excluded when a search ends before its time: the cheapest of the values not tried on the way.
static double open_bound(const Search *search, int depth, double bound) {
  for (int d = 0; d <= depth; d++) {
    const Level *level = &search->level[d];
    const int v = next_value(level, search->net->vars[bucket_at(search, d)->var].n);
    if (v >= 0 && level->bound + level->more[v] < bound) bound = level->bound + level->more[v];
  }
  return bound;
}

double net_search(Net *net, const Elimination *done, const Multipliers *by, Incumbent *best, int64_t tries,
                  int *first) {
  if (done->bound == INFINITY) return best->units;
  const int n = net->n_vars;
  const double root = done->bound - (by == NULL ? 0 : by->offset);
  Search search = {net, done, best, NEW_ARRAY(net->arena, int, n), NEW_ARRAY(net->arena, Level, n + 1), NULL};
  search.least = arena_alloc(net->arena, sizeof *search.least * ((size_t)n + 1));
  if (n == 0) {
    net_offer(net, best, search.at);
    return best->units;
  }
  least_weights(&search);
  enter(&search, 0, root);
  bool descended = false;
  int64_t tried = 0;
  for (int depth = 0; depth >= 0;) {
    Level *level = &search.level[depth];
    const int x = bucket_at(&search, depth)->var, v = next_value(level, net->vars[x].n);
    const bool wanted = v >= 0 && (level->bound + level->more[v] < best->units || (first != NULL && !descended));
    if (!wanted) {
      depth--;
      continue;
    }
    if (tried > 2 * n && (net_spent(net) || (tries >= 0 && tried >= tries)))
      return open_bound(&search, depth, best->units);
    level->tried = v;
    tried++;
    if (first == NULL && too_heavy(&search, depth, x, v)) continue;
    const double bound = level->bound + level->more[v];
    search.at[x] = v;
    if (depth + 1 < n) {
      for (int l = 0; l < net->n_limits; l++)
        search.level[depth + 1].weight[l] = level->weight[l] + net->vars[x].weight[l]->at[v];
      enter(&search, ++depth, bound);
      if (tried > n) net->operations += net->vars[bucket_at(&search, depth)->var].n;
      continue;
    }
    net_offer(net, best, search.at);
    if (!descended && first != NULL) {
      memcpy(first, search.at, sizeof *first * (size_t)n);
      if (tries == 0) return root;
    }
    descended = true;
  }
  return best->units;
}

// ---- one variable at a time ----

static double excess(const Net *net, const double *weight) {
  double sum = 0;
  for (int l = 0; l < net->n_limits; l++) {
    const double over = weight[l] - net->cfn->limit[l];
    if (over > 0) sum += over / (net->cfn->limit[l] > 0 ? net->cfn->limit[l] : 1);
  }
  return sum;
}

static double star_cost(const Net *net, int x, const NetList *fns, int *at, int v) {
  at[x] = v;
  double sum = net->vars[x].cost->at[v];
  for (int i = 0; i < fns->fns.len; i++) {
    const NetFn *f = &net->fns.at[fns->fns.at[i]];
    sum += f->table->at[net_entry(f, at)];
  }
  return sum;
}

// The limits' excess first, then the cost.
static bool improve(const Net *net, int x, const NetList *fns, int *at, double *weight) {
  const NetVar *var = &net->vars[x];
  const int old = at[x];
  int best = old;
  double best_cost = star_cost(net, x, fns, at, old), best_excess = excess(net, weight);
  for (int v = 0; v < var->n; v++) {
    double heavy[CFN_MAX_LIMITS] = {0};
    for (int l = 0; l < net->n_limits; l++) heavy[l] = weight[l] + var->weight[l]->at[v] - var->weight[l]->at[old];
    const double over = excess(net, heavy), cost = star_cost(net, x, fns, at, v);
    if (over > best_excess || (over == best_excess && cost >= best_cost)) continue;
    best = v, best_cost = cost, best_excess = over;
  }
  at[x] = best;
  for (int l = 0; l < net->n_limits; l++) weight[l] += var->weight[l]->at[best] - var->weight[l]->at[old];
  return best != old;
}

void net_descend(Net *net, int *at) {
  enum { ROUNDS = 50 };
  const NetList *list = net_lists(net, net->scratch);
  double weight[CFN_MAX_LIMITS] = {0};
  for (int x = 0; x < net->n_vars; x++)
    for (int l = 0; l < net->n_limits; l++) weight[l] += net->vars[x].weight[l]->at[at[x]];
  bool better = true;
  for (int round = 0; round < ROUNDS && better; round++) {
    better = false;
    for (int x = 0; x < net->n_vars; x++) {
      better = improve(net, x, &list[x], at, weight) || better;
      net->operations += net->vars[x].n;
    }
  }
  arena_reset(net->scratch);
}
