// What the files of the tables of tensors share.
#ifndef PARCC_PASSES_SEARCH_TABLES_INNER_H
#define PARCC_PASSES_SEARCH_TABLES_INNER_H

#include "tables.h"

enum { MAX_TABLE = 1 << 14 }; // entries

typedef VEC(const Port *) PortList;

typedef VEC(int) ClassList;

typedef struct Approximated { // a tensor
  int tensor;
  int first, n; // its functions in p->cfn
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
  ClassList *seen; // by list of states: classes in assignments in which a tensor that is approximated costs more than is counted
  int64_t entries; // of tables larger than MAX_TABLE
  bool bounded, ended; // it is built, and ends when that is too much or takes too long; it has
};

static inline bool port_makes(const Ports *ports, const Port *port) { return ports->states.at[port->state[0]].made >= 0; }
static inline int port_class(const Port *port, const int *value) { return port->class_of[value[port->group]]; }

// Of a tensor that is touched as these states say; of one that is approximated, in an assignment.
double tables_tensor_cost(Tables *t, const Tensor *tensor, const int *state, int n);
double tables_true_cost(Tables *t, const Approximated *a, const int *value);
// Adds a function of the groups that touch the tensor, of what it costs beside what is counted: classes that were seen (tables_see) are
// told apart, of all others nothing more is known.
void tables_add_seen(Tables *t, const Approximated *a, Cfn *cfn);

#endif
