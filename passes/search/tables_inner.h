// What the files of the tables of tensors share.
#ifndef PARCC_PASSES_SEARCH_TABLES_INNER_H
#define PARCC_PASSES_SEARCH_TABLES_INNER_H

#include "tables.h"

enum { MAX_TABLE = 1 << 14 }; // entries

typedef VEC(const Port *) PortList;

typedef VEC(int) LayoutList;

typedef struct Approximated { // a tensor
  int tensor;
  int first, n; // its functions in p->cfn
  int kind;     // those of one kind have the same ports
  // In the network that was made last:
  int now, n_now;   // its functions; none: it is exact
  int hub;          // its variable; -1: none
  LayoutList told;  // whose values have sets of these
  const int *sets;  // [n_values] bits
  int n_values;
} Approximated;

struct Tables {
  SearchProblem *p;
  Ports *ports;
  double *const *own; // by group
  Numbers cost_numbers, table_numbers;
  VEC(double) costs;
  VEC(const double *) tables;
  PortList *of; // by tensor
  VEC(int) key;      // scratch, of cost_numbers
  VEC(bool) pending; // by layout, once it was asked: sums are left pending along an axis
  VEC(Approximated) approximated;
  Numbers kind_numbers;
  LayoutList *seen; // by kind: layouts wanted in assignments in which a tensor that is approximated costs more than is counted
  int64_t entries; // of tables larger than MAX_TABLE
  bool bounded, ended; // it is built, and ends when that is too much or takes too long; it has
};

static inline bool port_makes(const Ports *ports, const Port *port) { return ports->states.at[port->state[0]].made >= 0; }
static inline int port_class(const Port *port, const int *value) { return port->class_of[value[port->group]]; }

static inline bool list_has(const LayoutList *list, int layout) {
  for (int i = 0; i < list->len; i++)
    if (list->at[i] == layout) return true;
  return false;
}

static inline void list_add(Arena *arena, LayoutList *list, int layout) {
  if (!list_has(list, layout)) vec_push(arena, list, layout);
}

// What ways are compared by, in the unit of the problem.
double tables_in_unit(const SearchProblem *p, const Tensor *tensor, double amount);
// Of a tensor that lies as a state of its maker says (-1: it is whole) and is wanted so beside that; of one that is approximated, in an
// assignment.
double tables_wants_cost(Tables *t, const Tensor *tensor, int maker, const int *want, int n);
double tables_true_cost(Tables *t, const Approximated *a, const int *value);
// What it takes to make a tensor again, if that is for other groups to say (tables_again.c).
void tables_add_again(Tables *t, int tensor);
// What a layout that is wanted is, where sums may be left pending (ports.h).
int tables_resolved(Tables *t, int made, int want);
// A port with the states that needed values have.
const Port *tables_needed_port(Tables *t, const Port *port, const bool *needed);
// Adds a hub and its functions (tables_hubs.c). False: nothing was seen of the tensor, or it is too large.
bool tables_add_hub(Tables *t, Approximated *a, bool *const *needed, Cfn *cfn);

#endif
