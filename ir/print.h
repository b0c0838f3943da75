// Pieces of the textual form of graphs, shared by dumps, emitted comments and reports.
#ifndef PARCC_IR_PRINT_H
#define PARCC_IR_PRINT_H

#include "graph.h"

void print_index(const Index *index, const Dim *dims, Text *out);
const char *fn_infix(Fn fn); // "+", or NULL: it is written as a call
void print_number(double value, ScalarType type, Text *out);
void print_expr(const Graph *graph, const Expr *e, const Dim *dims, Text *out);
void print_dims(const Dim *dims, int n, bool extents, Text *out); // "n=64, c" with or without extents
void print_op(const Graph *graph, const Op *op, Text *out);       // one line, no newline

#endif
