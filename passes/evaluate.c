#include "evaluate.h"

#include <math.h>

#include "microbatch.h"
#include "passes.h"
#include "planning.h"
#include "route.h"
#include "search/search.h"
#include "sim/streams.h"

// Owns its graphs, its problems and, but for what is to stay, its memory.
static Compilation copy_compilation(const Compilation *c, Arena *arena) {
  Compilation copy = *c;
  copy.arena = arena;
  copy.model = arena_copy(arena, c->model, sizeof *c->model);
  copy.model->init = graph_copy(arena, c->model->init);
  copy.model->train = graph_copy(arena, c->model->train);
  copy.model->eval = graph_copy(arena, c->model->eval);
  copy.problems = (Problems){.arena = arena};
  return copy;
}

Compilation *evaluate_copy(const Compilation *c, const Plan *plan, Arena *arena) {
  Compilation *copy = NEW(arena, Compilation);
  *copy = copy_compilation(c, arena);
  copy->plan_source = (PlanSource){.kind = PLAN_MADE};
  copy->plan = *plan;
  copy->mesh = plan->mesh;
  return copy;
}

Compilation *evaluate_in_microbatches(const Compilation *c, int number, Arena *arena) {
  Compilation *copy = NEW(arena, Compilation);
  *copy = copy_compilation(c, arena);
  return microbatch_split(copy->model, number) == NULL ? copy : NULL;
}

static const char *first_problem(const Compilation *copy, Arena *arena) {
  return copy->problems.list.len > 0 ? arena_strdup(arena, copy->problems.list.at[0].text) : NULL;
}

// A copy that the pass "plan" has settled. Verifiers do not run: the plan that is taken goes through all passes again.
static Compilation *settle(const Compilation *c, const Plan *plan, Arena *arena, Evaluation *found) {
  Compilation *copy = evaluate_copy(c, plan, arena);
  pipeline[pipeline_find("plan")].run(copy);
  copy->plan_source = c->plan_source; // of the program
  found->refused = first_problem(copy, c->arena);
  return copy;
}

// What a step costs. Of the graphs only that of training is changed.
static void apply_to_step(Compilation *copy, Evaluation *found) {
  pass_apply_plan(copy->model->train, &copy->mesh, copy->cost);
  pass_recompute(copy->model->train, &copy->plan);
  rematerialise_settle(copy->model->train, &copy->mesh, copy->model->f64);
  copy->predicted = found->cost = cost_of_graph(copy->cost, copy->model->train);
  found->tensors = tensor_bytes(copy->cost, copy->model->train);
}

// The bytes of a program are asked for where its tensors have more than `more`, those that are stored no more than `most_stored`, and a
// step takes less than `enough` seconds.
typedef struct UseOfBytes { double more, most_stored, enough; } UseOfBytes;

static void lower(Compilation *copy, Evaluation *found) {
  pass_apply_plan(copy->model->init, &copy->mesh, copy->cost);
  pass_apply_plan(copy->model->eval, &copy->mesh, copy->cost);
  if (copy->machine->profile != NULL) found->profile = profile_use(copy);
  for (int pass = pipeline_find("apply-plan") + 1; pass < pipeline_find("predict"); pass++) pipeline[pass].run(copy);
  predict_seconds(copy); // without names, see pipeline_take_lowered
  found->arena_bytes = copy->program->arena_bytes;
  found->overlapped = streams_seconds(copy->program);
}

// It is lowered where that is of use. lowered: gets the copy if it was; or NULL.
static Evaluation evaluate(const Compilation *c, const Plan *plan, const UseOfBytes *use, Compilation **lowered) {
  Evaluation found = {0};
  Arena *arena = arena_new();
  Compilation *copy = settle(c, plan, arena, &found);
  if (found.refused == NULL) apply_to_step(copy, &found);
  const bool lowers = found.refused == NULL && found.tensors.all > use->more && found.tensors.stored <= use->most_stored && found.cost.step < use->enough;
  if (lowers) lower(copy, &found);
  if (lowered != NULL) *lowered = lowers ? copy : NULL;
  if (!lowers || lowered == NULL) arena_free(arena);
  return found;
}

Evaluation evaluate_program(const Compilation *c, const Plan *plan, Compilation **lowered) {
  const UseOfBytes always = {-1, INFINITY, INFINITY};
  return evaluate(c, plan, &always, lowered);
}

Evaluation evaluate_plan(const Compilation *c, const Plan *plan) { return evaluate_program(c, plan, NULL); }

Evaluation evaluate_cost(const Compilation *c, const Plan *plan) {
  const UseOfBytes never = {INFINITY, 0, 0};
  return evaluate(c, plan, &never, NULL);
}

// How many times what all tensors of a step take, each in a place of its own, is more than a program can need: buffers of
// collectives and what is made again take no more than the tensors themselves.
enum { EVERYTHING = 3 };

Evaluation evaluate_fit(const Compilation *c, const Plan *plan, double most_stored, double enough, Compilation **lowered) {
  const UseOfBytes use = {c->machine->device.memory / EVERYTHING, most_stored, enough};
  return evaluate(c, plan, &use, lowered);
}

double evaluate_step(const Compilation *c, const Plan *plan) {
  const double memory = c->machine->device.memory;
  const Price price = pricing_once(c, plan);
  if (price.tensors.stored > memory) return INFINITY;
  if (price.tensors.all <= memory / EVERYTHING) return price.seconds;
  const Evaluation found = evaluate_plan(c, plan);
  if (found.refused != NULL) return 0;
  return (double)found.arena_bytes <= memory ? found.cost.step : INFINITY;
}

const char *evaluate_planner_on(const Compilation *c, Model *model, PlanSource source, Plan *plan, Search *search) {
  Arena *arena = arena_new();
  Compilation copy = *c;
  copy.problems = (Problems){.arena = arena};
  copy.plan_source = source;
  copy.model = model;
  copy.keeps_lowered = false;
  *plan = plan_of_source(&copy);
  *search = copy.search;
  const char *refused = first_problem(&copy, c->arena);
  arena_free(arena);
  return refused;
}

// A planner that searches lays the training graph in many ways; none changes anything else.
const char *evaluate_planner(const Compilation *c, PlanSource source, Plan *plan, Search *search) {
  Arena *arena = arena_new();
  Model model = *c->model;
  if (plan_source_searched(source.kind)) {
    model.train = graph_copy(arena, c->model->train);
    cost_mark_inlined(model.train);
  }
  const char *refused = evaluate_planner_on(c, &model, source, plan, search);
  arena_free(arena);
  return refused;
}
