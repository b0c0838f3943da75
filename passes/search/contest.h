// The best plan so far among those of which somebody has thought: the cheapest that fits the devices of the machine, and as long as
// none does the one that needs least.
#ifndef PARCC_PASSES_SEARCH_CONTEST_H
#define PARCC_PASSES_SEARCH_CONTEST_H

#include "../evaluate.h"
#include "../pricing.h"

// The plan of another planner.
typedef struct Rival {
  const char *name; // of the planner; NULL: it was searched
  Plan plan;
  Price price;
  bool offered, too_large; // it was, and does not fit
} Rival;

typedef struct Contest {
  const Compilation *c;
  double until;     // time (steady_seconds) at which it is to end; 0: none
  bool late;        // it had to
  bool any, fits;   // there is a plan; it fits
  Plan plan;
  Compilation *lowered; // the copy in which it was lowered, if the compilation keeps that; or NULL
  double cost;      // of a step, in seconds
  int64_t need;     // bytes of a device, where it does not fit
  const char *name; // of the planner that made it; NULL: it was searched
  int offers;       // plans that were evaluated
  bool entered;     // the plans of the other planners have been offered
  VEC(Rival) rivals; // these, with what is known of their prices
  Pricing *pricing; // NULL: no plan has been priced
} Contest;

// Ends at the time limit of the compilation, counted from now.
Contest contest_new(const Compilation *c);
// Whether the time is up: then what else could be tried is not.
bool contest_is_over(Contest *contest);
// Whether a cost is less, and not only a sum of the same in another order.
bool contest_is_less(double cost, double than);
// Whether two plans say the same, line by line.
bool contest_is_same(const Plan *a, const Plan *b);
// Of a plan (pricing.h).
Price contest_price(Contest *contest, const Plan *plan, double enough);
// Offers a plan, which is copied if it is taken. Returns by how many bytes more than there are a device would need, 0 if it fits or costs too much to matter.
int64_t contest_offer(Contest *contest, const Plan *plan, const char *name);
Model *contest_model(Contest *contest); // on which plans are priced
// Keeps a program, which may be NULL, in place of the one before, if the compilation keeps any.
void contest_keep(Contest *contest, Compilation *lowered);
// Offers the plans of all planners that have a name, but for one. Once. When the time is up those that search are left out.
void contest_offer_planners(Contest *contest, PlanSourceKind but);

#endif
