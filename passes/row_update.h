// Updates of rows: what is scattered to a stored tensor is added in its place (sums.c), which plans are priced by (cost_inline.c).
#ifndef PARCC_PASSES_ROW_UPDATE_H
#define PARCC_PASSES_ROW_UPDATE_H

#include "../ir/graph.h"

// Whether an operator adds a scatter, which nobody else reads, to the stored tensor that takes its result, and that nobody else reads
// behind the scatter: w.next[v, c] = w[v, c] + change[v, c]. The accesses of both.
typedef struct RowUpdate { const Expr *stored, *scatter; } RowUpdate;
bool row_update_match(const Graph *graph, const Op *op, RowUpdate *update);

#endif
