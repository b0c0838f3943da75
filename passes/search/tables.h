// What tensors cost that lie in one way and are wanted in others: functions of the groups that touch them.
#ifndef PARCC_PASSES_SEARCH_TABLES_H
#define PARCC_PASSES_SEARCH_TABLES_H

#include "ports.h"

typedef struct Tables Tables;

// NULL: the large ones have more than MOST_ENTRIES, ways between layouts took more than MOST_TRIED, or the time of p is up. Adds to p->cfn a function for every tensor that several groups touch in several ways. What is chosen by one group alone is added
// to own[group][candidate], what by none to the constant. Of a tensor that too many groups touch in too many ways each group pays
// for what it would need alone: where bytes are compared all of it, else a share, which is never too much. Those are
// counted in p->n_approximate.
Tables *tables_add(SearchProblem *p, Ports *ports, double *const *own);
// What an assignment costs, all tensors paid as they are.
double tables_cost(Tables *t, const int *value);
// Of tensors that cost more in an assignment of a network than it counts, the layouts in which they lie in it are told apart from now on
// (tables_refine). False: of none is there anything new.
bool tables_see(Tables *t, const Cfn *cfn, const int *value);
// The network in which only the values that are needed are allowed, all others INFINITY, and every tensor that is not exact in
// p->cfn is, if what is left of its table is small enough; others have a variable more, behind those of the groups, if something of
// them was seen. *left: how many are not exact.
Cfn tables_refine(Tables *t, bool *const *needed, int *left);
// An assignment of p->cfn as one of the network that tables_refine made last.
int *tables_complete(const Tables *t, const Cfn *cfn, const int *value);

#endif
