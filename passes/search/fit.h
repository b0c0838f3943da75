// Where the cheapest plan does not fit: the cheapest that does.
#ifndef PARCC_PASSES_SEARCH_FIT_H
#define PARCC_PASSES_SEARCH_FIT_H

#include "contest.h"
#include "footprint.h"

// False where every assignment is estimated not to fit, at the moment at which most lies there if every rank does everything.
bool fit_is_possible(const Compilation *c, SearchProblem *p);

// The same at the moment at which most lies there under an assignment. The network has no limits before and after.
bool fit_may_fit(const Compilation *c, SearchProblem *p, Footprint *footprint, const int *value);

// Whether an assignment is estimated to need more than there is: then it does.
bool fit_is_too_much(const Compilation *c, SearchProblem *p, const int *value);

// Offers plans of the problem to a contest, found under limits on what they are estimated to need (footprint.h): the estimate is
// from below, and what a plan was seen to need beyond it is taken off the limit; where what operators work on is most of what a plan
// needs, that has a cap, too. value: a plan that does not fit. Gives a bound, proved: of the plans whose estimate fits none costs
// less. Where the problem has few assignments all are offered, and of those that fit none costs less.
double fit_search(Contest *contest, SearchProblem *p, Footprint *footprint, const int *value, int64_t budget);

#endif
