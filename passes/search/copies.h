// Parameters that are gathered for the operators that read them, as variables of a search problem: what of them lies in memory beside what
// is stored.
#ifndef PARCC_PASSES_SEARCH_COPIES_H
#define PARCC_PASSES_SEARCH_COPIES_H

#include "problem.h"

// Of a parameter that a group reads forward and backward.
typedef struct Copy {
  int stored, reader;      // groups
  int first, last;         // operators that read it: in between it is there
  int variable;            // of the network: which size it has
  int n_sizes;
  double *size;            // [n_sizes] bytes
  const int *stored_class, *reader_class; // by value of the groups
  int n_stored, n_reader;
  double *bytes;           // [n_stored][n_reader]
} Copy;

typedef VEC(Copy) Copies;

// Adds the variables, and what they follow from.
Copies copies_add(SearchProblem *p);
double copy_bytes(const Copy *copy, const int *value);

#endif
