// The cheapest way from one layout of a tensor to another, in steps of the table of changes (ir/reshard.def).
#ifndef PARCC_PASSES_ROUTE_H
#define PARCC_PASSES_ROUTE_H

#include "cost.h"

// What is compared: first bytes, or seconds where the machine is known, then how much there is to start (a local step counts 1,
// a collective 2, messages 5).
typedef struct RouteCost { double amount; int starts; } RouteCost;

bool route_cheaper(RouteCost a, RouteCost b);
RouteCost route_cost_add(RouteCost a, RouteCost b);

// Layouts and shapes by number, and the steps and ways between them that have been asked for, each found once.
typedef struct Routes Routes;
// model: by what ways are compared; NULL: no machine is known, elements count 4 bytes. All three are to stay as long as it does.
Routes *routes_new(Arena *arena, const Mesh *mesh, const CostModel *model);
// Equal ones have the same number, in all that is said of the axes and of the dimensions that they cut.
int routes_layout(Routes *routes, const Layout *layout);
const Layout *routes_layout_at(const Routes *routes, int number);
// The shape of a tensor, with the size of its elements.
int routes_shape(Routes *routes, const Tensor *tensor);
RouteCost routes_cost(Routes *routes, int shape, int from, int to); // of route_find
// Gives back the memory of the steps and of what ways cost, which are found again when they are asked for.
void routes_forget(Routes *routes);
// How many steps have been tried in all: what it takes to find ways, the same every time.
int64_t routes_tried(const Routes *routes);

enum { ROUTE_MAX_STEPS = 2 * MESH_MAX_AXES + 2 };

typedef struct Route {
  int n;                       // steps; 0: there is no way, at infinite cost
  int layout[ROUTE_MAX_STEPS]; // its number after each of them; the last is where it leads
  RouteCost cost;
} Route;

Shape shape_of(const Tensor *tensor);
// from and to, numbers of layouts, differ (reshard_axes), to is partial nowhere where from is not. The steps may change
// several axes together, in any order, and an axis may be whole or plainly cut in between; the first of equally cheap ways
// is taken.
Route route_find(Routes *routes, int shape, int from, int to);

#endif
