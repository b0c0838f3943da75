// The best plan so far among those of which somebody has thought: the cheapest that fits the devices of the machine, and as long as
// none does the one that needs least.
#ifndef PARCC_PASSES_SEARCH_CONTEST_H
#define PARCC_PASSES_SEARCH_CONTEST_H

#include "../evaluate.h"

typedef struct Contest {
  const Compilation *c;
  bool any, fits;   // there is a plan; it fits
  Plan plan;
  double cost;      // of a step, in seconds
  int64_t need;     // bytes of a device, where it does not fit
  const char *name; // of the planner that made it; NULL: it was searched
} Contest;

// Whether a cost is less, and not only a sum of the same in another order.
bool contest_is_less(double cost, double than);
// Offers a plan. Returns by how many bytes more than there are a device would need, 0 if it fits or costs too much to matter.
int64_t contest_offer(Contest *contest, const Plan *plan, const char *name);
// Offers the plans of all planners that have a name, but for one.
void contest_offer_planners(Contest *contest, PlanSourceKind but);

#endif
