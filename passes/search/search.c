#include "search.h"

static SearchMake *const planner[PLAN_NAMED] = {[PLAN_AUTO] = search_auto};

Plan search_plan(Compilation *c) { return planner[c->plan_source.kind](c); }
