// A network as it is written for solvers that know no classes. A function with few entries over the values of its variables is written
// over these; any other over views: variables whose values are the classes. Functions that class a variable alike share a view.
#ifndef PARCC_PASSES_SEARCH_CFN_VIEWS_H
#define PARCC_PASSES_SEARCH_CFN_VIEWS_H

#include "cfn.h"

typedef struct CfnView {
  int var, n;          // n: values of the view
  const int *class_of; // by value of the variable; NULL: the view is the variable
  int next;            // another view of the variable; -1: none
} CfnView;

typedef struct CfnViews {
  const Cfn *cfn;
  VEC(CfnView) list; // first the variables themselves, in their order
  VEC(int *) of;     // by function: the view of each argument
} CfnViews;

CfnViews cfn_views(const Cfn *cfn, Arena *arena);
// The table of a function over the views of its arguments, row-major: how many entries it has, the values of the views at one of
// them, and what it costs.
int64_t cfn_views_size(const CfnViews *views, int function);
void cfn_views_values(const CfnViews *views, int function, int64_t entry, int *value);
double cfn_views_cost(const CfnViews *views, int function, const int *value);

// Names in both formats: letters, digits, '_' and '.'; what else a name holds becomes '_'.
void cfn_write_name(FILE *out, const char *name);
void cfn_write_toulbar2(FILE *out, const CfnViews *views, const char *name, double scale); // cfn_write_toulbar2.c
void cfn_write_lp(FILE *out, const CfnViews *views, const char *name, double scale);       // cfn_write_lp.c

#endif
