#include "evaluate.h"

#include "planning.h"
#include "search/search.h"

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

static const char *first_problem(const Compilation *copy, Arena *arena) {
  return copy->problems.list.len > 0 ? arena_strdup(arena, copy->problems.list.at[0].text) : NULL;
}

// Verifiers do not run: the plan that is taken goes through all passes again.
static Evaluation evaluate(const Compilation *c, const Plan *plan, const char *last) {
  Arena *arena = arena_new();
  Compilation copy = copy_compilation(c, arena);
  copy.plan_source = (PlanSource){.kind = PLAN_MADE};
  copy.plan = *plan;
  copy.mesh = plan->mesh;
  for (int pass = pipeline_find("plan"); pass <= pipeline_find(last) && copy.problems.list.len == 0; pass++) pipeline[pass].run(&copy);
  const Evaluation found = {.refused = first_problem(&copy, c->arena),
                            .cost = copy.predicted,
                            .arena_bytes = copy.program != NULL ? copy.program->arena_bytes : 0};
  arena_free(arena);
  return found;
}

Evaluation evaluate_plan(const Compilation *c, const Plan *plan) { return evaluate(c, plan, "plan-memory"); }

Evaluation evaluate_cost(const Compilation *c, const Plan *plan) { return evaluate(c, plan, "apply-plan"); }

const char *evaluate_planner(const Compilation *c, PlanSourceKind kind, Plan *plan, Search *search) {
  Arena *arena = arena_new();
  Compilation copy = copy_compilation(c, arena);
  copy.arena = c->arena;
  copy.plan_source = (PlanSource){.kind = kind};
  cost_mark_inlined(copy.model->train);
  *plan = plan_of_source(&copy);
  *search = copy.search;
  const char *refused = first_problem(&copy, c->arena);
  arena_free(arena);
  return refused;
}
