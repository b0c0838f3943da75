// A cost function network: variables with finite domains, and functions of a few of them whose sum is to be made as small as
// possible, under limits on sums of weights.
//
// A function does not see values but classes of values: a tensor's changes of layout depend on how operators lie, and many
// choices of an operator lie alike. So tables stay small, and values of one class in all functions of a variable compete by
// their own costs alone.
#ifndef PARCC_PASSES_SEARCH_CFN_H
#define PARCC_PASSES_SEARCH_CFN_H

#include "../../ir/base.h"

enum { CFN_MAX_ARITY = 8, CFN_MAX_LIMITS = 2 };

typedef struct CfnVariable {
  const char *name;
  int n_values;
  const double *cost;                   // [n_values], >= 0; INFINITY: not allowed
  const double *weight[CFN_MAX_LIMITS]; // [n_values], >= 0, or NULL
} CfnVariable;

typedef struct CfnFunction {
  int arity;
  int var[CFN_MAX_ARITY]; // different ones
  int n_classes[CFN_MAX_ARITY];
  const int *class_of[CFN_MAX_ARITY]; // [n_values of the variable]: 0 .. n_classes - 1
  int tag;            // the caller's: what it is of
  const double *cost; // over the classes, row-major, >= 0. Functions that are alike share tables: pointers are equal.
} CfnFunction;

typedef struct Cfn {
  Arena *arena;
  VEC(CfnVariable) variables;
  VEC(CfnFunction) functions;
  double constant;
  int n_limits;
  double limit[CFN_MAX_LIMITS]; // on the sum of the chosen values' weights
  double most;  // what is looked for costs no more; 0: anything is
  double until; // time (steady_seconds) at which a search ends as if its budget were spent; 0: none
} Cfn;

typedef struct CfnSolution {
  bool feasible; // false: no assignment is allowed, or none was found
  int *value;    // by variable
  double cost;   // cfn_cost of it; INFINITY
  double bound;  // proved: nothing costs less. cost == bound: an optimum. INFINITY: proved that nothing is allowed, or costs as little as `most`
  // How it went.
  int eliminated;     // variables that were eliminated before anything was enumerated
  int kept;           // variables of the core that was left
  int64_t pruned;     // values that were proved not to be needed
  int64_t operations; // entries of tables that were computed: the measure of work that a budget limits
} CfnSolution;

// Sum of the constant, the chosen values and the functions, in the order in which they stand.
double cfn_cost(const Cfn *cfn, const int *value);
double cfn_function_cost(const CfnFunction *f, const int *value);
double cfn_weight(const Cfn *cfn, int limit, const int *value);
// Whether the assignment keeps the limits and costs less than INFINITY.
bool cfn_allows(const Cfn *cfn, const int *value);
int64_t cfn_function_size(const CfnFunction *f); // entries of its table
// What the cheapest assignment costs at most beside the constant, where one is allowed: of `start` (NULL: none is known) and of the
// cheapest value of each variable, or the sum of all maxima.
double cfn_upper_bound(const Cfn *cfn, const int *start);
// Ends the compiler with an internal error if the network is not as is said above.
void cfn_check(const Cfn *cfn);

// The best assignment. Costs are compared as whole numbers of a unit, of which the optimum has at least 2^40 where it is not zero
// beside the constant: what is proved holds up to (variables + functions) / 2^40 of it, and that is the rounding of cost == bound.
// Of assignments that cost the same there, the same one is always given: variables are decided in the reverse order of their
// elimination, each with its first cheapest value. Weights whose sums are whole numbers (bytes) are held exactly.
// budget: how many operations may be spent (deterministic; <= 0: any number); when they are spent the
// best assignment found and the proved bound are returned. start: an assignment that is known already, or NULL.
CfnSolution cfn_solve(const Cfn *cfn, int64_t budget, const int *start);

// What the cheapest assignment with each value of a variable costs, limits or not: least[value]; INFINITY: more than `above`. False:
// nothing is known, it would take too much.
bool cfn_least(const Cfn *cfn, int variable, double above, double *least);

// What no assignment with a value costs less than, limits or not: floor[x][value], up to what rounding changes; where floor[x] is NULL it is
// not asked. INFINITY: more than `above`. Whether all the others are what the cheapest one costs. Adds to *operations how many it took.
bool cfn_floors(const Cfn *cfn, double above, double *const *floor, int64_t *operations);

#endif
