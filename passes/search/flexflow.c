// flexflow: as in Jia, Zaharia and Aiken, "Beyond Data and Model Parallelism for Deep Neural Networks" (MLSys 2019).
//
// - The space (soap.h): how many parts each dimension of what a layer makes is divided into, and where each part is.
// - What a strategy takes is simulated (../sim/strategy.h): after each change again only what the change moves in time.
// - The search (section 6.2) begins with data parallelism, with what experts do (one weird trick), at random and, here, with the strategy
//   of optcnn, so that what it finds takes no longer than any of these.
// - From each of them it first goes down: the layers, last first, change along one axis of the mesh where that makes the strategy better,
//   until no such change does. Where there are too many layers for that it ends when half of what it spent brought little. Where two
//   starts lead to strategies that take the same the search ends; those that take far longer than the best are left out.
// - Then chains of Metropolis-Hastings go on from where each start led: a layer drawn at random gets another configuration, drawn at random,
//   or one that differs along one axis, with some of those behind it where they did the same as it, too; that is as likely there as
//   back. The change stays with probability min(1, exp(beta * (time - new time))). The authors do not say what beta is. Here it grows,
//   then the chain goes down as above, and beta begins again: a round.
// - As with the authors a chain ends when its budget is spent, or when half of what it spent was without a better strategy; where three
//   chains led to strategies that take the same the search ends. What is spent is counted, not measured. Where going down did not
//   come to its end there is no chain.
//
// Chains draw numbers of their own. Of strategies that take the same the first is taken.
#include "../sim/strategy.h"
#include "layer_plan.h"
#include "optcnn.h"
#include "search.h"
#include "soap.h"

#include <math.h>

enum {
  MOST_STARTS = 4,
  AGREED_DOWN = 2, // starts that led to the same by going down,
  AGREED = 3,      // and with chains
  FAR = 2,         // times as long as the best
  // Tasks and orders of tasks that are looked at:
  DOWN_EFFORT = 100 * 1000,       // going down from one start, for each device
  CHAIN_EFFORT = 2500 * 1000,     // by a chain, for each device ...
  MOST_EFFORT = 40 * 1000 * 1000, // ... but no more than so much in all: some seconds
  LEAST_DOWN = 8,                 // going down goes on for this part of its effort, whatever it brings
  MANY_DEVICES = 64,              // of more, whose tasks are in no cache any more, the less the more they are
  LEAST_ROUNDS = 60,              // of a chain
  ROUND = 2,                      // proposals of a round, for each way to use an axis in a layer
  MOST_RUN = 4                    // layers that change together
};
// 1 / (beta * time of the best strategy): what a strategy may take longer, as a share, to stay with a chance of 1 in e. When a round begins, every
// other time each; at its end so much of that.
static const double HOT = 0.05, WARM = 0.02, COLD = 0.1;
static const double GAIN = 0.001; // what is not little: a share of the time

typedef struct Chain {
  Strategy *strategy;
  Draw draw;
  Configuration *best; // by layer
  int64_t best_time;
  int64_t before; // what was spent before the strategy was made anew
  int64_t found;  // what was spent when the best one was found
} Chain;

typedef struct Start {
  const char *name;
  const Configuration *from, *to; // by layer; to where it led: so far to itself
  int64_t time, down;             // what they take
  int64_t effort;                 // to get there
  bool tried;                     // it went down, or another one like it
  bool goes_on;                   // it got to its end: no change of one layer makes it better
} Start;

typedef struct Hunt {
  const Compilation *c;
  Arena *arena;
  LayerCosts *costs;
  const Layers *layers;
  const Mesh *mesh;
  LayerTasks *tasks;
  SoapLink *links; // [layers][MOST_RUN]: with the layer that is so many before it
  double until; // time (steady_seconds), or 0
  Start starts[MOST_STARTS];
  int n_starts, chains;
  const Configuration *best;
  int64_t best_time, tried;
  SearchPoints progress;
} Hunt;

// ---- strategies ----------------------------------------------------------------------------------------------------

// A point for each best strategy that takes a good deal less than the one of the point before.
static void note_progress(Hunt *hunt, int64_t time) {
  static const double CLOSE = 0.995;
  const double seconds = (double)time / PICOSECONDS;
  if (hunt->progress.len > 0 && seconds >= hunt->progress.at[hunt->progress.len - 1].seconds * CLOSE) return;
  vec_push(hunt->c->arena, &hunt->progress, ((SearchPoint){(double)hunt->tried, seconds}));
}

static int64_t spent(const Chain *chain) { return chain->before + strategy_effort(chain->strategy); }

static void note_best(Hunt *hunt, Chain *chain) {
  for (int l = 0; l < hunt->layers->list.len; l++) chain->best[l] = *strategy_configuration(chain->strategy, l);
  chain->best_time = strategy_time(chain->strategy);
  chain->found = spent(chain);
  note_progress(hunt, chain->best_time);
}

static Chain chain_new(Hunt *hunt, Arena *arena, const Configuration *of, int64_t before) {
  Chain chain = {.strategy = strategy_new(arena, hunt->tasks, of),
                 .best = NEW_ARRAY(arena, Configuration, hunt->layers->list.len),
                 .before = before};
  note_best(hunt, &chain);
  return chain;
}

static bool is_late(const Hunt *hunt) { return hunt->until > 0 && steady_seconds() > hunt->until; }

static int64_t most_effort(const Hunt *hunt, int of_device) {
  const int64_t ranks = mesh_ranks(hunt->mesh),
                most = MOST_EFFORT / (hunt->c->effort_parts > 0 ? hunt->c->effort_parts : 1);
  return min_i64(most * MANY_DEVICES / max_i64(MANY_DEVICES, ranks), of_device * ranks);
}

// ---- down ----------------------------------------------------------------------------------------------------------

// A layer of a run, with what it does then: the same as the first one, if it did the same; else what goes with the nearest one before it, if that
// went with what it did. What the one rule does the same one takes back.
static bool follow(const Hunt *hunt, const Strategy *strategy, int first, int i, Configuration *to) {
  const Layer *layer = &hunt->layers->list.at[first + i];
  const Configuration *was = strategy_configuration(strategy, first);
  const Configuration now = *strategy_configuration(strategy, first + i);
  to[i] = now;
  if (soap_follow(layer, hunt->mesh, was, &to[0], &to[i])) return true;
  for (int before = i - 1; before >= 0; before--) {
    const SoapLink *link = &hunt->links[(first + i) * MOST_RUN + i - before];
    if (!link->linked) continue;
    to[i] = now;
    if (!soap_follow_linked(layer, hunt->mesh, link, strategy_configuration(strategy, first + before), &to[before], &to[i])) return false;
    Configuration back = to[i];
    return !soap_follow(layer, hunt->mesh, &to[0], was, &back);
  }
  return false;
}

// Whether a change of a run of layers makes the strategy better: then it stays.
static bool is_better(Hunt *hunt, Chain *chain, int n, const int *layer, const Configuration *to) {
  const int64_t was = strategy_time(chain->strategy);
  hunt->tried++;
  if (strategy_change(chain->strategy, n, layer, to, was) < was) {
    strategy_keep(chain->strategy);
    return true;
  }
  strategy_undo(chain->strategy);
  return false;
}

// Whether a change of a layer along an axis, with up to so many that follow it, makes the strategy better: then it stays.
static bool goes_down(Hunt *hunt, Chain *chain, int first, int axis, int most_run) {
  const Layer *l = &hunt->layers->list.at[first];
  bool better = false;
  for (int k = 0; k < soap_choices(l, hunt->mesh, axis); k++) {
    int layer[MOST_RUN];
    Configuration to[MOST_RUN];
    to[0] = *strategy_configuration(chain->strategy, first);
    if (!soap_choose(l, hunt->mesh, axis, k, &to[0])) continue;
    for (int i = 0; i < most_run && first + i < hunt->layers->list.len; i++) {
      layer[i] = first + i;
      if (i > 0 && !follow(hunt, chain->strategy, first, i, to)) break;
      if (!is_better(hunt, chain, i + 1, layer, to)) continue;
      better = true;
      break;
    }
  }
  return better;
}

// Until no change of one layer along one axis makes the strategy better: true. Or `most` is spent; or half of what was spent, and more than the
// least, without a gain, where at this pace not all layers will be looked at.
static bool go_down(Hunt *hunt, Chain *chain, int most_run, int64_t most) {
  const int n = hunt->layers->list.len;
  const int64_t began = spent(chain);
  int64_t gained = began, time = strategy_time(chain->strategy);
  int same = 0; // layers since the last that changed
  for (int l = n - 1, seen = 0; same < n; l = (l + n - 1) % n, seen++) {
    const int64_t now = spent(chain);
    if (now > most || is_late(hunt)) break;
    if ((double)strategy_time(chain->strategy) < (1 - GAIN) * (double)time) gained = now, time = strategy_time(chain->strategy);
    if ((now - began) * n > (most - began) * seen && now - gained > max_i64(gained - began, (most - began) / LEAST_DOWN)) break;
    same++;
    for (int a = 0; a < hunt->mesh->n_axes; a++)
      if (goes_down(hunt, chain, l, a, most_run)) same = 0;
  }
  if (strategy_time(chain->strategy) < chain->best_time) note_best(hunt, chain);
  return same == n;
}

// ---- starts --------------------------------------------------------------------------------------------------------

static const Start *start_like(const Hunt *hunt, const Configuration *from) {
  for (int s = 0; s < hunt->n_starts; s++) {
    int l = 0;
    while (l < hunt->layers->list.len && memcmp(hunt->starts[s].from[l].dim, from[l].dim, sizeof from[l].dim) == 0) l++;
    if (l == hunt->layers->list.len) return &hunt->starts[s];
  }
  return NULL;
}

static int64_t time_of_strategy(Hunt *hunt, const Configuration *of) {
  Arena *arena = arena_new();
  const int64_t time = strategy_time(strategy_new(arena, hunt->tasks, of));
  arena_free(arena);
  return time;
}

static void note_start(Hunt *hunt, const Start *start) {
  if (start->down >= hunt->best_time) return;
  hunt->best = start->to;
  hunt->best_time = start->down;
}

static void add_start(Hunt *hunt, const char *name, const Configuration *from) {
  const Start *known = start_like(hunt, from);
  const int64_t time = known != NULL ? known->time : time_of_strategy(hunt, from);
  Start *start = &hunt->starts[hunt->n_starts++];
  *start = (Start){.name = name, .from = from, .to = from, .time = time, .down = time, .tried = known != NULL};
  note_start(hunt, start);
}

static void go_down_from(Hunt *hunt, Start *start) {
  Arena *arena = arena_new();
  Chain chain = chain_new(hunt, arena, start->from, 0);
  start->tried = true;
  start->goes_on = go_down(hunt, &chain, 1, most_effort(hunt, DOWN_EFFORT));
  start->to = arena_copy(hunt->arena, chain.best, sizeof *chain.best * (size_t)hunt->layers->list.len);
  start->down = chain.best_time;
  start->effort = spent(&chain);
  note_start(hunt, start);
  arena_free(arena);
}

// Whether so many led to what is best.
static bool starts_agree(const Hunt *hunt, int most) {
  int n = 0;
  for (int s = 0; s < hunt->n_starts; s++) n += hunt->starts[s].down == hunt->best_time && hunt->starts[s].to != hunt->starts[s].from;
  return n >= most;
}

// The first, and of those that were not tried the ones that are not far from the best. False: so many led to the same that it is no use.
static bool go_down_from_all(Hunt *hunt) {
  for (int s = 0; s < hunt->n_starts && !starts_agree(hunt, AGREED_DOWN); s++)
    if (!hunt->starts[s].tried && (s == 0 || hunt->starts[s].time / FAR < hunt->best_time)) go_down_from(hunt, &hunt->starts[s]);
  return !starts_agree(hunt, AGREED_DOWN);
}

static void start_from_plan(Hunt *hunt, PlanSourceKind kind) {
  Problems problems = {.arena = hunt->arena};
  const Plan plan = plan_make(hunt->arena, hunt->c->model, &(PlanSource){.kind = kind}, hunt->mesh, &problems);
  if (problems.list.len == 0) add_start(hunt, plan_source_name(kind), soap_of_plan(hunt->arena, hunt->costs, &plan));
}

static void start_from_optcnn(Hunt *hunt) {
  if (!optcnn_is_small(hunt->layers, hunt->mesh)) return;
  const Elimination found = optcnn_choose(hunt->costs);
  Configuration *start = NEW_ARRAY(hunt->arena, Configuration, hunt->layers->list.len);
  for (int l = 0; l < hunt->layers->list.len; l++) start[l] = hunt->costs->of[l].list[found.value[l]];
  add_start(hunt, plan_source_name(PLAN_OPTCNN), start);
}

static Draw draw_new(const Hunt *hunt, uint64_t number) { return (Draw){hunt->c->plan_source.seed * 1000003 + number}; }

static void start_at_random(Hunt *hunt) {
  Configuration *start = NEW_ARRAY(hunt->arena, Configuration, hunt->layers->list.len);
  Draw draw = draw_new(hunt, MOST_STARTS);
  for (int l = 0; l < hunt->layers->list.len; l++) start[l] = soap_draw(&draw, &hunt->layers->list.at[l], hunt->mesh);
  add_start(hunt, "random", start);
}

// ---- chains --------------------------------------------------------------------------------------------------------

// A run of layers. As what changes of the first one is drawn, whatever it did, and those behind it change with it if they went with it and can, a
// proposal is as likely as the one that takes it back. 0: there is none.
static int draw_proposal(const Hunt *hunt, Chain *chain, int *layer, Configuration *to) {
  const int n = hunt->layers->list.len, first = (int)draw_below(&chain->draw, (uint64_t)n);
  const int len = draw_below(&chain->draw, 2) == 0 ? 1 : 2 + (int)draw_below(&chain->draw, MOST_RUN - 1);
  const Layer *layers = &hunt->layers->list.at[first];
  const Configuration now = *strategy_configuration(chain->strategy, first);
  const bool whole = draw_below(&chain->draw, 2) == 0;
  if (first + len > n) return 0;
  layer[0] = first;
  to[0] = whole ? soap_draw(&chain->draw, layers, hunt->mesh) : soap_draw_axis(&chain->draw, layers, hunt->mesh, &now);
  if (memcmp(to[0].dim, now.dim, sizeof now.dim) == 0) return 0;
  for (int i = 1; i < len; i++) {
    layer[i] = first + i;
    if (!follow(hunt, chain->strategy, first, i, to)) return 0;
  }
  return len;
}

// The chance is drawn first: what is longer than it allows need not be simulated to its end.
static void step(Hunt *hunt, Chain *chain, double temperature) {
  int layer[MOST_RUN];
  Configuration to[MOST_RUN];
  const double slack = -log(1 - draw_share(&chain->draw)) * temperature;
  const int64_t limit = strategy_time(chain->strategy) + (int64_t)slack;
  const int n = draw_proposal(hunt, chain, layer, to);
  if (n == 0) return;
  hunt->tried++;
  if (strategy_change(chain->strategy, n, layer, to, limit) > limit) {
    strategy_undo(chain->strategy);
    return;
  }
  strategy_keep(chain->strategy);
  if (strategy_time(chain->strategy) < chain->best_time) note_best(hunt, chain);
}

static bool goes_on(const Hunt *hunt, const Chain *chain) {
  return spent(chain) < most_effort(hunt, CHAIN_EFFORT) && !is_late(hunt);
}

// Colder and colder, then down; of a walk that is to be short one layer after the other.
static void run_round(Hunt *hunt, Chain *chain, int length, double hot) {
  for (int i = 0; i < length && goes_on(hunt, chain); i++)
    step(hunt, chain, (double)chain->best_time * hot * pow(COLD, (double)i / length));
  go_down(hunt, chain, hunt->c->effort_parts > 0 ? 1 : MOST_RUN, most_effort(hunt, CHAIN_EFFORT));
}

static int round_length(const Hunt *hunt) {
  int length = 0;
  for (int l = 0; l < hunt->layers->list.len; l++)
    for (int a = 0; a < hunt->mesh->n_axes; a++)
      length += ROUND * soap_choices(&hunt->layers->list.at[l], hunt->mesh, a);
  return length;
}

static void find_links(Hunt *hunt) {
  const int n = hunt->layers->list.len;
  hunt->links = NEW_ARRAY(hunt->arena, SoapLink, n *MOST_RUN);
  for (int l = 0; l < n; l++)
    for (int k = 1; k < MOST_RUN && k <= l; k++) hunt->links[l * MOST_RUN + k] = soap_link(hunt->costs, l - k, l);
}

static void run_chain(Hunt *hunt, Start *start) {
  Arena *arena = arena_new();
  Chain chain = chain_new(hunt, arena, start->to, start->effort);
  const int length = round_length(hunt);
  chain.draw = draw_new(hunt, (uint64_t)(start - hunt->starts));
  for (int round = 0; (round < LEAST_ROUNDS || 2 * chain.found > spent(&chain)) && goes_on(hunt, &chain); round++)
    run_round(hunt, &chain, length, round % 2 == 0 ? HOT : WARM);
  hunt->chains++;
  start->to = arena_copy(hunt->arena, chain.best, sizeof *chain.best * (size_t)hunt->layers->list.len);
  start->down = chain.best_time;
  note_start(hunt, start);
  arena_free(arena);
}

// ---- the search ----------------------------------------------------------------------------------------------------

// "12.3 ms (data), 10.1 ms (owt)": what it began with takes.
static const char *starts_text(const Hunt *hunt) {
  const char *text = "";
  for (int s = 0; s < hunt->n_starts; s++)
    text = arena_printf(hunt->arena, "%s%s%.4g ms (%s)", text, s > 0 ? ", " : "",
                        (double)hunt->starts[s].time / PICOSECONDS * 1e3, hunt->starts[s].name);
  return text;
}

static void hunt_best(Hunt *hunt) {
  hunt->best_time = INT64_MAX;
  start_from_plan(hunt, PLAN_DATA);
  start_from_optcnn(hunt);
  start_from_plan(hunt, PLAN_OWT);
  if (!go_down_from_all(hunt)) return;
  start_at_random(hunt);
  if (!go_down_from_all(hunt)) return;
  find_links(hunt);
  for (int s = 0; s < hunt->n_starts && !starts_agree(hunt, AGREED); s++)
    if (hunt->starts[s].goes_on) run_chain(hunt, &hunt->starts[s]);
}

Plan search_flexflow(Compilation *c) {
  Arena *arena = arena_new(), *scratch = arena_new();
  const Plan nothing = {.model = c->model->name};
  const Planner planner = planner_new(arena, c->model, &nothing, &c->mesh);
  const Groups groups = groups_of_graph(&planner);
  const Layers layers = layers_of_groups(arena, &groups);
  const Mesh mesh = c->mesh_given ? c->mesh : mesh_factors(c->arena, &c->mesh, MESH_MAX_AXES - 1);
  const CostModel cost = cost_model(arena, c->machine, &mesh, c->model->f64);
  LayerCosts costs = layer_costs_new(arena, scratch, c->model->train, &layers, &cost);
  Hunt hunt = {.c = c,
               .arena = arena,
               .costs = &costs,
               .layers = &layers,
               .mesh = &mesh,
               .tasks = layer_tasks_new(arena, &costs)};
  if (c->time_limit > 0) hunt.until = steady_seconds() + c->time_limit;
  hunt_best(&hunt);
  const Configuration **chosen = NEW_ARRAY(arena, const Configuration *, layers.list.len);
  for (int l = 0; l < layers.list.len; l++) chosen[l] = &hunt.best[l];
  const SoapSize size = soap_size(&layers, &mesh);
  const char *how =
      arena_printf(c->arena, "%lld strategies from %s, %d chains; of 10^%.0f strategies 10^%.0f lie on the mesh",
                   (long long)hunt.tried, starts_text(&hunt), hunt.chains, size.all, size.on_mesh);
  c->search = (Search){.done = true, .simulated = true, .cost = (double)hunt.best_time / PICOSECONDS, .how = how};
  vec_push(c->arena, &hunt.progress, ((SearchPoint){(double)hunt.tried, c->search.cost}));
  c->search.progress = hunt.progress;
  const Plan plan = layer_plan(c->arena, &costs, chosen, c->model);
  arena_free(scratch);
  arena_free(arena);
  return plan;
}
