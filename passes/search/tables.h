// What tensors cost that lie in one way and are wanted in others: functions of the groups that touch them.
#ifndef PARCC_PASSES_SEARCH_TABLES_H
#define PARCC_PASSES_SEARCH_TABLES_H

#include "ports.h"

// Adds to p->cfn a function for every tensor that several groups touch in several ways. What is chosen by one group alone is added
// to own[group][candidate], what by none to the constant.
void tables_add(SearchProblem *p, const Ports *ports, double *const *own);

#endif
