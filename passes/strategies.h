// --show-strategies: the ways in which operators can be divided, as they follow from the index expressions.
#ifndef PARCC_PASSES_STRATEGIES_H
#define PARCC_PASSES_STRATEGIES_H

#include "../ir/graph.h"

// Adds tables: of the operators that the first use of the definition `name` in the model consists of, with their gradients; "all": of
// every definition that it uses; where there is no such definition, of the operator whose result is called so. False: nor is that.
bool strategies_print(const Graph *train, const char *name, Text *out);

#endif
