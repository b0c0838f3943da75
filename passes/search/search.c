#include "search.h"

static SearchMake *const planner[PLAN_NAMED] = {
    [PLAN_AUTO] = search_auto, [PLAN_OPTCNN] = search_optcnn, [PLAN_SOYBEAN] = search_soybean, [PLAN_TOFU] = search_tofu, [PLAN_FLEXFLOW] = search_flexflow,
    [PLAN_PARALLAX] = search_parallax};

Plan search_plan(Compilation *c) { return planner[c->plan_source.kind](c); }
