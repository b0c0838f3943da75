// The cheapest way from one layout of a tensor to another, in steps of the table of changes (ir/reshard.def).
#ifndef PARCC_PASSES_ROUTE_H
#define PARCC_PASSES_ROUTE_H

#include "cost.h"

// What is compared: first bytes, or seconds where the machine is known, then how much there is to start (a local step counts 1,
// a collective 2, messages 5).
typedef struct RouteCost { double amount; int starts; } RouteCost;

// By what ways are compared. Without a machine elements count 4 bytes.
typedef struct RouteBy {
  const Mesh *mesh;
  const CostModel *model; // NULL: no machine
  ScalarType type;        // of the elements
} RouteBy;
bool route_cheaper(RouteCost a, RouteCost b);
RouteCost route_cost_add(RouteCost a, RouteCost b);

enum { ROUTE_MAX_STEPS = 2 * MESH_MAX_AXES + 2 };

typedef struct Route {
  int n;                          // steps; 0: there is no way, at infinite cost
  Layout layout[ROUTE_MAX_STEPS]; // after each of them; the last is where it leads
  RouteCost cost;
} Route;

Shape shape_of(const Tensor *tensor);
// from and to differ (reshard_axes), to is partial nowhere where from is not. The steps may change
// several axes together, in any order, and an axis may be whole or plainly cut in between; the first of equally cheap ways
// is taken.
Route route_find(Arena *scratch, const RouteBy *by, const Shape *shape, const Layout *from, const Layout *to);

#endif
