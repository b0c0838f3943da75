// Operators that may leave their results pending along an axis, whatever is divided along it.
#ifndef PARCC_PASSES_SEARCH_ADDERS_H
#define PARCC_PASSES_SEARCH_ADDERS_H

#include "groups.h"

// Fills the adders of all groups of operators. An adder only adds up multiples of tensors that nobody else reads, the sum has fewer
// elements than these, and few read it: however the tensors are divided, it can be left in parts, and less is reduced then.
//   mean.grad[c] = mean.grad.1[c] + mean.grad.2[c]
//   table.grad[v, d] = sum(i) (id[i] == v) * y.grad[i, d]
//   x.grad[n, ci, p, q] = sum(r, s) spread[n, ci, r, s, p - r, q - s]
void adders_find(Groups *groups);

#endif
