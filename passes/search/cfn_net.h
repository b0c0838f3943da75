// What the parts of cfn_solve share: the network in whole units, whose tables and maps are each there once; the elimination of
// its variables; the search for what elimination leaves open.
#ifndef PARCC_PASSES_SEARCH_CFN_NET_H
#define PARCC_PASSES_SEARCH_CFN_NET_H

#include "cfn.h"

#include <math.h>

// Equal content is the same pointer, and the same id.
typedef struct NetMap {
  int id, n, classes;
  const int *of; // [n] values to classes; every class occurs
} NetMap;
typedef struct NetTable {
  int id, arity;
  int64_t size;
  const int *dim;
  const double *at; // whole numbers up to Net.worst, or INFINITY
} NetTable;

typedef struct NetFn {
  int arity;
  const int *var;
  const NetMap **map;
  const NetTable *table;
} NetFn;

typedef struct NetVar {
  int n;                                  // values that are left
  const int *value;                       // [n] their numbers in the Cfn, ascending
  const NetTable *cost;                   // [n]
  const NetTable *weight[CFN_MAX_LIMITS]; // [n]; without limits NULL
} NetVar;

typedef struct NetEntry NetEntry; // of the store of maps, tables and results

typedef struct Net {
  const Cfn *cfn;
  Arena *arena;   // of all that the solver makes
  Arena *scratch; // empty between steps
  int n_vars;
  NetVar *vars;
  VEC(NetFn) fns;  // of one variable and more
  int n_limits;    // 0 where limits are left aside
  double constant; // in units: of functions of no variable
  double unit;     // cost of one unit, a power of two
  double worst;    // in units: an assignment that costs no more is known; what costs more is as good as not allowed
  int64_t operations, budget, pruned;
  struct {
    NetEntry **slot;
    int64_t len, cap;
  } store;
  int n_ids;
} Net;

// The network in units. worst: the cost of an assignment, or an upper bound of the costs of all that are allowed.
Net *net_new(const Cfn *cfn, Arena *arena, double worst, bool with_limits);
const NetTable *net_table(Net *net, int arity, const int *dim, const double *at);
const NetMap *net_map(Net *net, int n, const int *of); // classes renumbered in the order in which they occur
// What was remembered under a key, as a place to put it in: *place is NULL the first time.
void **net_memo(Net *net, const int *key, int len);
bool net_spent(const Net *net);

// Classes of values that are alike in all these maps (over the same values), and for each class its first value.
typedef struct NetClasses {
  const NetMap *map;
  const int *first; // [map->classes]
} NetClasses;
const NetClasses *net_combine(Net *net, const NetMap *const *map, int n_maps, int n_values);

// f(value): the entry for indices of values that are left, by variable.
static inline int64_t net_entry(const NetFn *f, const int *at) {
  int64_t entry = 0;
  for (int i = 0; i < f->arity; i++) entry = entry * f->table->dim[i] + f->map[i]->of[at[f->var[i]]];
  return entry;
}

// Functions by variable: [n_vars] lists of indices of net->fns.
typedef struct NetList {
  VEC(int) fns;
} NetList;
NetList *net_lists(const Net *net, Arena *arena);
// In units, of values as indices of those that are left.
double net_cost(const Net *net, const int *at);

// Keeps the values of x marked in keep[index]; tables lose the classes that no value has any more, and their other variables
// are marked in touched[n_vars], if it is not NULL. fns: of x.
void net_restrict(Net *net, int x, const bool *keep, const NetList *fns, bool *touched);
// Removes values that others make needless, until no more are found.
void net_reduce(Net *net);

typedef struct Elimination Elimination;

// A variable, the functions with it that were there when it was eliminated, and the functions put in their place.
typedef struct Bucket {
  int var;
  VEC(int) fns;      // of Elimination.fns
  VEC(int) messages; // one, or several where the bucket was split
  double least;      // what was subtracted from the messages
  int parts;         // more than one: it was split. The variable's own cost is in part 0
  const int *part;   // by function
  const int *sent;   // by part: its message; -1: it sends none
} Bucket;
struct Elimination {
  Arena *arena;
  const NetTable **cost; // [n_vars] of the values
  VEC(NetFn) fns;
  VEC(Bucket) buckets;   // in the order of elimination
  double bound;          // in units; INFINITY: nothing is allowed
  int split, eliminated; // buckets that were split, and those before the first of them
};

// Eliminates all variables. cost: [n_vars] what values cost instead of net->vars[].cost, or NULL. worst: more is not allowed.
// room: entries that are looked at for one variable, at most; a bucket that needs more is split and makes a bound only. but: a variable
// that is left, with functions of it alone; -1: none.
Elimination *net_eliminate(Net *net, Arena *arena, const NetTable **cost, double worst, double room, int but);

// The multipliers of the limits under which an elimination was made, if any.
typedef struct Multipliers {
  double by[CFN_MAX_LIMITS]; // units of cost for one of weight
  double offset;             // in units: what the limits give back, rounded up
} Multipliers;

// The best that is known.
typedef struct Incumbent {
  int *value;   // by variable, as in the Cfn; NULL: none
  double units; // what it costs in units; INFINITY
} Incumbent;
// Takes an assignment of indices if it is allowed and better.
bool net_offer(const Net *net, Incumbent *best, const int *at);

// Depth first over the variables in the reverse order of their elimination, cheapest first, until all is proved or tries values
// were tried (< 0: until the budget is spent). Gives the bound in units. first: [n_vars] gets the first assignment, allowed
// by the limits or not, and with tries == 0 the search ends there; or NULL.
double net_search(Net *net, const Elimination *done, const Multipliers *by, Incumbent *best, int64_t tries, int *first);
// Changes one variable at a time for the better, until none is left to change.
void net_descend(Net *net, int *at);

// least[x][index]: what no assignment with that value costs less than, in units; where no bucket was split, what the cheapest costs. What
// costs more than `above` may say any amount beyond that. False: it is not known, it would take too much.
bool net_marginals(Net *net, const Elimination *done, double above, double *const *least);
// Removes the values that are in no assignment that costs as little as what is known (Net.worst, or of those that keep the limits *best).
// done: of the network as it is, by: as it was made. Gives how many there were.
int64_t net_narrow(Net *net, const Elimination *done, const Multipliers *by, const Incumbent *best);

// With limits: the bound, in units.
double net_solve_limits(Net *net, Incumbent *best);

#endif
