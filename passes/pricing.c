#include "pricing.h"

#include <math.h>

#include "demands.h"
#include "evaluate.h"
#include "passes.h"
#include "planning.h"
#include "sim/overlap.h"

struct Pricing {
  const Compilation *c;
  Model model;     // with a training graph of its own
  Planner planner; // without lines
};

Pricing *pricing_new(const Compilation *c) {
  Pricing *p = NEW(c->arena, Pricing);
  Plan *nothing = NEW(c->arena, Plan);
  *nothing = (Plan){.model = c->model->name, .mesh = c->mesh};
  *p = (Pricing){.c = c, .model = *c->model};
  p->model.train = graph_copy(c->arena, c->model->train);
  cost_mark_inlined(p->model.train);
  p->planner = planner_new(c->arena, &p->model, nothing, &c->mesh);
  return p;
}

Model *pricing_model(Pricing *p) { return &p->model; }

TensorBytes tensor_bytes(const CostModel *model, const Graph *train) {
  TensorBytes sum = {0, 0};
  for (int t = 0; t < train->tensors.len; t++) {
    const Tensor *tensor = graph_tensor(train, t);
    const double bytes = cost_bytes(model, tensor, tensor->layout);
    sum.all += bytes + BUFFER_ALIGN;
    if (plan_is_stored(tensor)) sum.stored += bytes;
  }
  return sum;
}

bool pricing_is_cheap(const Pricing *p, const Plan *plan) {
  return plan->recompute.len == 0 && (plan->microbatches <= 1 || p->model.train->microbatches > 1);
}

Price pricing_of(Pricing *p, const Plan *plan, double enough) {
  if (!pricing_is_cheap(p, plan)) {
    const Evaluation found = evaluate_cost(p->c, plan);
    return (Price){.seconds = found.cost.step, .tensors = found.tensors};
  }
  Arena *arena = arena_new();
  Mesh mesh = plan->mesh;
  mesh.axis[mesh.n_axes++] = (MeshAxis){"batch", 1};
  Planner planner = planner_with(arena, &p->planner, plan, &mesh);
  plan_resolve_stored(&planner);
  plan_settle(&planner, p->model.train);
  rematerialise_settle(p->model.train, &mesh, p->model.f64);
  const CostModel model = cost_model(arena, p->c->machine, &mesh, p->model.f64);
  double *makings = NEW_ARRAY(arena, double, p->model.train->ops.len);
  Price price = {.seconds = cost_of_graph_by_op(&model, p->model.train, makings).step, .tensors = tensor_bytes(&model, p->model.train)}; // no change of layout is in it
  if (price.seconds < enough) {
    const Demands demands = demands_of_graph(arena, p->model.train, &mesh, &model);
    price.seconds += demands_amount(&demands);
    price.overlapped = overlap_of_graph(arena, &model, &demands, makings);
  }
  arena_free(arena);
  return price;
}

Price pricing_once(const Compilation *c, const Plan *plan) {
  Compilation priced = *c; // for nothing but its arena
  priced.arena = arena_new();
  const Price price = pricing_of(pricing_new(&priced), plan, INFINITY);
  arena_free(priced.arena);
  return price;
}
