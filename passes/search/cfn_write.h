// Cost function networks as files of other solvers, so that they can check an optimum: toulbar2's CFN format, and linear programs in
// CPLEX's LP format as cbc and glpsol read it. The variables of the network come first, in their order, and their values keep their
// numbers.
#ifndef PARCC_PASSES_SEARCH_CFN_WRITE_H
#define PARCC_PASSES_SEARCH_CFN_WRITE_H

#include "cfn.h"

typedef enum CfnFormat { CFN_FORMAT_TOULBAR2, CFN_FORMAT_LP } CfnFormat;

// By the end of a file's name, ".cfn" or ".lp"; false: it is neither.
bool cfn_format_of(const char *path, CfnFormat *format);

enum { CFN_WRITE_MAX = 16 * 1000 * 1000 }; // entries of tables in a file, which then has some hundred megabytes
// How many there are in the file of a network.
int64_t cfn_write_entries(const Cfn *cfn);

// Requires that there are no more than that, and weights that are whole numbers. Costs are multiplied by `scale`, and rounded to about
// 1e-12 of themselves (LP) or 1e-14 of an upper bound of the optimum (toulbar2). `name` is the problem's. The stream knows whether it
// took everything.
void cfn_write(FILE *out, const Cfn *cfn, CfnFormat format, const char *name, double scale);

#endif
