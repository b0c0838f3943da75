// flexflow: as in Jia, Zaharia and Aiken, "Beyond Data and Model Parallelism for Deep Neural Networks" (MLSys 2019).
//
// - The space (soap.h): how many parts each dimension of what a layer makes is divided into, and where each part is.
// - What a strategy takes is simulated (../sim/strategy.h): after each change again only what the change moves in time.
// - The search (section 6.2) is Metropolis-Hastings: a layer drawn at random gets another configuration, drawn at random, or, three
//   times in four, one that differs along one axis of the mesh, which is as likely there as back; and the change
//   stays with probability min(1, exp(beta * (time - new time))). It begins with data parallelism, with what experts do (one weird
//   trick) and at random, and each of these chains ends when its budget is spent, or when half of it was without a better strategy.
// - The authors do not say what beta is. Here it grows and begins again, so that a chain leaves a strategy that no single change makes
//   better, and then looks closely where it has come to.
// - Where nothing better was found for a while it goes on from the best strategy, as the authors' program does (mcmc_optimize).
//
// Chains draw numbers of their own and are independent of each other. Of strategies that take the same the first is taken.
#include "../sim/strategy.h"
#include "layer_plan.h"
#include "search.h"
#include "soap.h"

#include <math.h>

enum {
  EFFORT = 40 * 1000 * 1000, // of each chain, in tasks and orders of tasks that are looked at: about a second
  LEAST = 20000,             // strategies before a chain may end early
  PATIENCE = 400,            // strategies without a better one, for each layer ...
  MOST_PATIENCE = 4000,      // ... but no more than so many in all, before it goes back to the best
  COOLING = 1000,            // strategies with one beta
  BETAS = 4,                 // each twice the one before; then the first again
};
static const double BETA = 45; // the first, of times as shares of that of the chain's first strategy: 1 of 45 more stays with a chance of 1 in e

typedef struct Chain {
  Strategy *strategy;
  Draw draw;
  double beta;         // the first, a picosecond
  Configuration *best; // by layer
  int64_t best_time;
  int64_t tried, found; // strategies; of them when the best one was found
} Chain;

typedef struct Hunt {
  const Compilation *c;
  Arena *arena;
  const Layers *layers;
  const Mesh *mesh;
  LayerTasks *tasks;
  double until; // time (steady_seconds), or 0
  Configuration *best;
  int64_t best_time, tried;
  int64_t effort, least; // of a chain
  int chains;
  SearchPoints progress;
} Hunt;

// ---- one chain -----------------------------------------------------------------------------------------------------

// A point for each best strategy that takes a good deal less than the one of the point before.
static void note_progress(Hunt *hunt, const Chain *chain) {
  static const double CLOSE = 0.995;
  const double seconds = (double)chain->best_time / PICOSECONDS;
  if (hunt->progress.len > 0 && seconds >= hunt->progress.at[hunt->progress.len - 1].seconds * CLOSE) return;
  vec_push(hunt->c->arena, &hunt->progress, ((SearchPoint){(double)(hunt->tried + chain->tried), seconds}));
}

static void note_best(Hunt *hunt, Chain *chain) {
  for (int l = 0; l < hunt->layers->list.len; l++) chain->best[l] = *strategy_configuration(chain->strategy, l);
  chain->best_time = strategy_time(chain->strategy);
  chain->found = chain->tried;
  note_progress(hunt, chain);
}

static void go_back(const Hunt *hunt, const Chain *chain) {
  for (int l = 0; l < hunt->layers->list.len; l++) {
    const Configuration *now = strategy_configuration(chain->strategy, l);
    if (memcmp(now->dim, chain->best[l].dim, sizeof now->dim) == 0) continue;
    strategy_change(chain->strategy, 1, &l, &chain->best[l], INT64_MAX);
    strategy_keep(chain->strategy);
  }
}

static double beta_now(const Chain *chain) { return chain->beta * (1 << chain->tried / COOLING % BETAS); }

// One proposal. The chance is drawn first: what is longer than it allows need not be simulated to its end.
static void step(Hunt *hunt, Chain *chain) {
  const int l = (int)draw_below(&chain->draw, (uint64_t)hunt->layers->list.len);
  const Layer *layer = &hunt->layers->list.at[l];
  const Configuration *now = strategy_configuration(chain->strategy, l);
  const Configuration to = draw_below(&chain->draw, 4) == 0 ? soap_draw(&chain->draw, layer, hunt->mesh) : soap_draw_axis(&chain->draw, layer, hunt->mesh, now);
  const double slack = -log(1 - draw_share(&chain->draw)) / beta_now(chain);
  const int64_t limit = strategy_time(chain->strategy) + (int64_t)slack;
  chain->tried++;
  if (memcmp(now->dim, to.dim, sizeof to.dim) == 0) return;
  if (strategy_change(chain->strategy, 1, &l, &to, limit) > limit) {
    strategy_undo(chain->strategy);
    return;
  }
  strategy_keep(chain->strategy);
  if (strategy_time(chain->strategy) < chain->best_time) note_best(hunt, chain);
}

// Whether there is anything to choose.
static bool has_choice(const Hunt *hunt) { return hunt->layers->list.len > 0 && hunt->mesh->n_axes > 0; }

static bool is_late(const Hunt *hunt) { return hunt->until > 0 && steady_seconds() > hunt->until; }

static void run_chain(Hunt *hunt, const Configuration *start) {
  Arena *arena = arena_new();
  const int n = hunt->layers->list.len, patience = n * PATIENCE < MOST_PATIENCE ? n * PATIENCE : MOST_PATIENCE;
  Chain chain = {.strategy = strategy_new(arena, hunt->tasks, start), .best = NEW_ARRAY(arena, Configuration, n)};
  chain.draw.state = hunt->c->plan_source.seed * 1000003 + (uint64_t)hunt->chains++;
  chain.beta = BETA / (double)strategy_time(chain.strategy);
  note_best(hunt, &chain);
  while (has_choice(hunt) && strategy_effort(chain.strategy) < hunt->effort && !is_late(hunt) && (chain.tried < hunt->least || 2 * chain.found > chain.tried)) {
    step(hunt, &chain);
    if ((chain.tried - chain.found) % patience == patience - 1) go_back(hunt, &chain);
  }
  if (hunt->best == NULL || chain.best_time < hunt->best_time) {
    hunt->best = arena_copy(hunt->arena, chain.best, sizeof *chain.best * (size_t)n);
    hunt->best_time = chain.best_time;
  }
  hunt->tried += chain.tried;
  arena_free(arena);
}

// ---- all chains ----------------------------------------------------------------------------------------------------

static void run_from_plan(Hunt *hunt, const LayerCosts *costs, PlanSourceKind kind) {
  Problems problems = {.arena = hunt->arena};
  const Plan plan = plan_make(hunt->arena, hunt->c->model, &(PlanSource){.kind = kind}, hunt->mesh, &problems);
  if (problems.list.len == 0) run_chain(hunt, soap_of_plan(hunt->arena, costs, &plan));
}

static void run_at_random(Hunt *hunt) {
  Configuration *start = NEW_ARRAY(hunt->arena, Configuration, hunt->layers->list.len);
  Draw draw = {hunt->c->plan_source.seed * 1000003 + 500 + (uint64_t)hunt->chains};
  for (int l = 0; l < hunt->layers->list.len; l++) start[l] = soap_draw(&draw, &hunt->layers->list.at[l], hunt->mesh);
  run_chain(hunt, start);
}

Plan search_flexflow(Compilation *c) {
  Arena *scratch = arena_new(), *of_costs = arena_new();
  const Plan nothing = {.model = c->model->name};
  const Planner planner = planner_new(c->arena, c->model, &nothing, &c->mesh);
  const Groups groups = groups_of_graph(&planner);
  const Layers layers = layers_of_groups(c->arena, &groups);
  const Mesh mesh = c->mesh_given ? c->mesh : mesh_factors(c->arena, &c->mesh, MESH_MAX_AXES - 1);
  const CostModel cost = cost_model(c->arena, c->machine, &mesh, c->model->f64);
  LayerCosts costs = layer_costs_new(c->arena, of_costs, c->model->train, &layers, &cost);
  Hunt hunt = {.c = c, .arena = scratch, .layers = &layers, .mesh = &mesh, .tasks = layer_tasks_new(scratch, &costs)};
  const int parts = c->effort_parts > 0 ? c->effort_parts : 1;
  hunt.effort = EFFORT / parts;
  hunt.least = LEAST / parts;
  if (c->time_limit > 0) hunt.until = steady_seconds() + c->time_limit;
  run_from_plan(&hunt, &costs, PLAN_DATA);
  run_from_plan(&hunt, &costs, PLAN_OWT);
  run_at_random(&hunt);
  const Configuration **chosen = NEW_ARRAY(scratch, const Configuration *, layers.list.len);
  for (int l = 0; l < layers.list.len; l++) chosen[l] = &hunt.best[l];
  const SoapSize size = soap_size(&layers, &mesh);
  const char *how = arena_printf(c->arena, "%lld strategies in %d chains; of 10^%.0f strategies 10^%.0f lie on the mesh",
                                 (long long)hunt.tried, hunt.chains, size.all, size.on_mesh);
  c->search = (Search){.done = true, .simulated = true, .cost = (double)hunt.best_time / PICOSECONDS, .how = how};
  vec_push(c->arena, &hunt.progress, ((SearchPoint){(double)hunt.tried, c->search.cost}));
  c->search.progress = hunt.progress;
  const Plan plan = layer_plan(c->arena, &costs, chosen, c->model);
  arena_free(scratch);
  arena_free(of_costs);
  return plan;
}
