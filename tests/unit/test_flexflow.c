// The random walk finds the best strategy there is, where all of them can be looked at, for every seed. (FlexFlow, section 8.4, which takes
// 0.8 hours to look at those of LeNet.)
//
//   test_flexflow         LeNet on an axis of four devices
//   test_flexflow LONG    and on two axes of two, and an LSTM network of two steps on an axis of four (by hand: minutes)
//
// Strategies are enumerated depth first, a layer after the other, the one with most to do first. What a strategy takes at least, of which
// only some layers are known, does not come from simulating: it is, over devices and their streams for collectives, the latest of
//   when a task of the layers that are known can begin, by the longest way to it over tasks, and what is to be done from then on there,
// and what all devices have to do by their number. Of layers that are not known each takes the least that it can, and so do moves.
#include "../../frontend/frontend.h"
#include "../../frontend/output.h"
#include "../../frontend/parse.h"
#include "../../passes/search/search.h"
#include "../../passes/search/soap.h"
#include "../../passes/sim/layer_tasks.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_LAYERS = 16, RANKS = 4, UNKNOWN = -1, NOTHING_COMES = -1 };

// A configuration of a layer, and what it takes.
typedef struct Choice {
  Configuration by;
  int64_t forward, backward, update;
  int64_t longest, shared; // of all-reduces of its parameters, which begin at once; of all of them, on one stream
  bool on[RANKS];
} Choice;

typedef struct Known {
  VEC(Choice) choices;
  int64_t forward, backward, behind, work; // the least: of each, of what follows backward, of all devices together
} Known;

// When a part of the one layer can begin at the soonest after all of the other, by their choices; and the least of all, where one is not known.
typedef struct Between { int64_t *wait, *by_from, *by_to, least; } Between;

typedef struct World {
  Arena *arena, *scratch;
  Compilation c;
  Layers layers;
  Mesh mesh;
  CostModel cost;
  LayerCosts costs;
  LayerTasks *tasks;
  Known *of;             // by layer
  Between (*between)[2]; // by bundle: forward, back
} World;

static Compilation open_sample(Arena *arena, const char *sample, const ElabOptions *options, bool one_axis) {
  size_t len;
  int nearest[2];
  const char *text = input_file(arena, arena_printf(arena, "samples/%s.dnn", sample), &len);
  const AstFile *prelude = parse_prelude(arena), *file = parse_text(arena, "net.dnn", text, len);
  Compilation c = {.arena = arena, .machine = machine_preset(arena, "p100x4x4"), .problems = {.arena = arena}, .strip_bytes = 8 << 20};
  machine_mesh(c.machine, RANKS, &c.mesh, nearest);
  c.mesh_given = one_axis;
  c.model = elab_model(arena, prelude, file, options);
  for (int pass = 0; pass < pipeline_find("plan"); pass++) pipeline_run(&c, pass);
  cost_mark_inlined(c.model->train);
  return c;
}

// ---- all configurations --------------------------------------------------------------------------------------------

static Choice choice_of(World *w, int l, const Configuration *by) {
  const LayerTimes *t = layer_times(w->tasks, l, by);
  Choice choice = {*by, t->forward, t->backward, t->update, 0, 0, {0}};
  for (int i = 0; i < t->shared.len; i++) {
    choice.longest = max_i64(choice.longest, t->shared.at[i].time);
    choice.shared += t->shared.at[i].time;
  }
  for (int r = 0; r < RANKS; r++) choice.on[r] = configuration_is_on(by, &w->mesh, r);
  return choice;
}

static void list_from(World *w, int l, Configuration *c, int axis) {
  const Layer *layer = &w->layers.list.at[l];
  if (axis == w->mesh.n_axes) {
    c->used = 0;
    for (int d = 0; d < layer->dims.len; d++) {
      int64_t parts = 1;
      for (int a = 0; a < w->mesh.n_axes; a++)
        if (c->dim[a] == d) parts *= w->mesh.axis[a].size, c->used |= 1u << a;
      if (layer->dims.at[d].extent % parts != 0) return;
    }
    vec_push(w->arena, &w->of[l].choices, choice_of(w, l, c));
    return;
  }
  for (int choice = CONFIGURATION_PIN - w->mesh.axis[axis].size + 1; choice < layer->dims.len; choice++) {
    c->dim[axis] = (signed char)choice;
    list_from(w, l, c, axis + 1);
  }
}

static void find_choices(World *w, int l) {
  Known *known = &w->of[l];
  Configuration c = {.used = 0};
  memset(c.dim, -1, sizeof c.dim);
  list_from(w, l, &c, 0);
  known->forward = known->backward = known->behind = known->work = INT64_MAX;
  for (int i = 0; i < known->choices.len; i++) {
    const Choice *choice = &known->choices.at[i];
    int n = 0;
    for (int r = 0; r < RANKS; r++) n += choice->on[r];
    known->forward = min_i64(known->forward, choice->forward);
    known->backward = min_i64(known->backward, choice->backward);
    known->behind = min_i64(known->behind, choice->longest + choice->update);
    known->work = min_i64(known->work, n * (choice->forward + choice->backward + choice->update));
  }
}

// ---- moves ---------------------------------------------------------------------------------------------------------

// Of the parts that need something, what the longest message to the one takes that waits least.
static int64_t least_wait(const Messages *messages, const Choice *wants) {
  int64_t last[RANKS], least = INT64_MAX;
  for (int r = 0; r < RANKS; r++) last[r] = NOTHING_COMES;
  for (int i = 0; i < messages->list.len; i++) {
    const Message *m = &messages->list.at[i];
    last[m->to] = max_i64(last[m->to], m->time);
  }
  for (int r = 0; r < RANKS; r++)
    if (wants->on[r]) least = min_i64(least, last[r]);
  return least;
}

static Between find_between(World *w, int bundle, bool back) {
  const Bundle *b = &w->tasks->bundles.at[bundle];
  const Known *from = &w->of[b->from], *to = &w->of[b->to];
  const int n = from->choices.len, m = to->choices.len;
  Between between = {NEW_ARRAY(w->arena, int64_t, n *m), NEW_ARRAY(w->arena, int64_t, n), NEW_ARRAY(w->arena, int64_t, m), INT64_MAX};
  for (int j = 0; j < m; j++) between.by_to[j] = INT64_MAX;
  for (int i = 0; i < n; i++) {
    between.by_from[i] = INT64_MAX;
    for (int j = 0; j < m; j++) {
      const Choice *first = &from->choices.at[i], *then = &to->choices.at[j];
      const int64_t wait = least_wait(messages_between(w->tasks, bundle, back, &first->by, &then->by), back ? first : then);
      between.wait[i * m + j] = wait;
      between.by_from[i] = min_i64(between.by_from[i], wait);
      between.by_to[j] = min_i64(between.by_to[j], wait);
      between.least = min_i64(between.least, wait);
    }
  }
  return between;
}

static int64_t wait_of(const World *w, const int *at, int bundle, bool back) {
  const Bundle *b = &w->tasks->bundles.at[bundle];
  const Between *between = &w->between[bundle][back];
  const int i = at[b->from], j = at[b->to];
  if (i != UNKNOWN) return j != UNKNOWN ? between->wait[i * w->of[b->to].choices.len + j] : between->by_from[i];
  return j != UNKNOWN ? between->by_to[j] : between->least;
}

// ---- the least that a strategy takes -------------------------------------------------------------------------------

// At each rank that is on.
typedef struct Job {
  int64_t from, time;
  const bool *on;
} Job;
typedef struct Jobs {
  int n;
  Job list[3 * MOST_LAYERS];
} Jobs;

// The latest first.
static void add_job(Jobs *jobs, int64_t from, int64_t time, const bool *on) {
  int i = jobs->n++;
  for (; i > 0 && jobs->list[i - 1].from < from; i--) jobs->list[i] = jobs->list[i - 1];
  jobs->list[i] = (Job){from, time, on};
}

static int64_t jobs_end(const Jobs *jobs) {
  int64_t end = 0, to_do[RANKS] = {0};
  for (int i = 0; i < jobs->n; i++)
    for (int r = 0; r < RANKS; r++) {
      if (!jobs->list[i].on[r]) continue;
      to_do[r] += jobs->list[i].time;
      end = max_i64(end, jobs->list[i].from + to_do[r]);
    }
  return end;
}

// When the first part of a layer can begin, after those of the layers before it have ended.
static int64_t soonest(const World *w, const int *at, int layer, bool back, const int64_t *ends, int64_t from) {
  const Ints *bundles = &w->tasks->bundles_of[layer];
  for (int i = 0; i < bundles->len; i++) {
    const Bundle *b = &w->tasks->bundles.at[bundles->at[i]];
    if (layer != (back ? b->from : b->to) || (back && !b->gradient)) continue;
    const int64_t wait = wait_of(w, at, bundles->at[i], back);
    if (wait != NOTHING_COMES) from = max_i64(from, ends[back ? b->to : b->from] + wait);
  }
  return from;
}

// at: by layer, the number of its choice.
static int64_t least_time(const World *w, const int *at) {
  Jobs devices = {0}, streams = {0};
  int64_t forward[MOST_LAYERS], backward[MOST_LAYERS], least = 0, work = 0; // when parts have ended
  for (int l = 0; l < w->layers.list.len; l++) {
    const Choice *is = at[l] != UNKNOWN ? &w->of[l].choices.at[at[l]] : NULL;
    const int64_t from = soonest(w, at, l, false, forward, 0);
    forward[l] = from + (is != NULL ? is->forward : w->of[l].forward);
    if (is != NULL) add_job(&devices, from, is->forward, is->on);
  }
  for (int l = w->layers.list.len - 1; l >= 0; l--) {
    const Choice *is = at[l] != UNKNOWN ? &w->of[l].choices.at[at[l]] : NULL;
    const int64_t from = soonest(w, at, l, true, backward, forward[l]);
    backward[l] = from + (is != NULL ? is->backward : w->of[l].backward);
    least = max_i64(least, backward[l] + (is != NULL ? is->longest + is->update : w->of[l].behind));
    if (is == NULL) {
      work += w->of[l].work;
      continue;
    }
    add_job(&devices, from, is->backward, is->on);
    add_job(&devices, backward[l] + is->longest, is->update, is->on);
    add_job(&streams, backward[l], is->shared, is->on);
  }
  for (int i = 0; i < devices.n; i++)
    for (int r = 0; r < RANKS; r++) work += devices.list[i].on[r] ? devices.list[i].time : 0;
  least = max_i64(least, work / RANKS);
  return max_i64(least, max_i64(jobs_end(&devices), jobs_end(&streams)));
}

// ---- depth first ---------------------------------------------------------------------------------------------------

typedef struct Walk {
  World *w;
  Strategy *strategy;
  int order[MOST_LAYERS], at[MOST_LAYERS];
  int64_t best;
  int simulated;
} Walk;

static void simulate(Walk *walk) {
  int n = 0, layer[MOST_LAYERS];
  Configuration to[MOST_LAYERS];
  for (int l = 0; l < walk->w->layers.list.len; l++) {
    const Configuration *by = &walk->w->of[l].choices.at[walk->at[l]].by;
    if (memcmp(by->dim, strategy_configuration(walk->strategy, l)->dim, sizeof by->dim) == 0) continue;
    layer[n] = l;
    to[n++] = *by;
  }
  strategy_change(walk->strategy, n, layer, to, INT64_MAX);
  strategy_keep(walk->strategy);
  walk->simulated++;
  walk->best = min_i64(walk->best, strategy_time(walk->strategy));
}

static void try_layer(Walk *walk, int depth) {
  if (depth == walk->w->layers.list.len) {
    simulate(walk);
    return;
  }
  const int l = walk->order[depth];
  for (int i = 0; i < walk->w->of[l].choices.len; i++) {
    walk->at[l] = i;
    if (least_time(walk->w, walk->at) < walk->best) try_layer(walk, depth + 1);
  }
  walk->at[l] = UNKNOWN;
}

static void order_layers(Walk *walk) {
  for (int l = 0; l < walk->w->layers.list.len; l++) {
    int i = l;
    for (; i > 0 && walk->w->of[walk->order[i - 1]].work < walk->w->of[l].work; i--) walk->order[i] = walk->order[i - 1];
    walk->order[i] = l;
    walk->at[l] = UNKNOWN;
  }
}

// The least that a strategy takes, none of which takes more than `known` that is of interest.
static int64_t enumerate(World *w, int64_t known, int *simulated) {
  Configuration *first = NEW_ARRAY(w->arena, Configuration, w->layers.list.len);
  w->of = NEW_ARRAY(w->arena, Known, w->layers.list.len);
  w->between = arena_alloc(w->arena, sizeof *w->between * (size_t)w->tasks->bundles.len);
  for (int l = 0; l < w->layers.list.len; l++) {
    find_choices(w, l);
    first[l] = w->of[l].choices.at[0].by;
  }
  for (int b = 0; b < w->tasks->bundles.len; b++)
    for (int back = 0; back <= w->tasks->bundles.at[b].gradient; back++) w->between[b][back] = find_between(w, b, back);
  Walk walk = {.w = w, .strategy = strategy_new(w->arena, w->tasks, first), .best = known + 1};
  order_layers(&walk);
  try_layer(&walk, 0);
  *simulated = walk.simulated;
  return walk.best;
}

// ---- the walk beside it --------------------------------------------------------------------------------------------

static World *world_open(const char *sample, const ElabOptions *options, bool one_axis) {
  Arena *arena = arena_new();
  World *w = NEW(arena, World);
  *w = (World){.arena = arena, .scratch = arena_new(), .c = open_sample(arena, sample, options, one_axis)};
  const Plan nothing = {.model = w->c.model->name};
  Planner *planner = NEW(arena, Planner);
  Groups *groups = NEW(arena, Groups);
  *planner = planner_new(arena, w->c.model, &nothing, &w->c.mesh);
  *groups = groups_of_graph(planner);
  w->layers = layers_of_groups(arena, groups);
  w->mesh = one_axis ? w->c.mesh : mesh_factors(arena, &w->c.mesh, MESH_MAX_AXES - 1);
  w->cost = cost_model(arena, w->c.machine, &w->mesh, w->c.model->f64);
  w->costs = layer_costs_new(arena, w->scratch, w->c.model->train, &w->layers, &w->cost);
  w->tasks = layer_tasks_new(arena, &w->costs);
  if (!CHECK(w->layers.list.len <= MOST_LAYERS)) exit(1);
  return w;
}

static void check_optimum(const char *sample, const ElabOptions *options, bool one_axis, int least_simulated) {
  enum { SEEDS = 20 };
  World *w = world_open(sample, options, one_axis);
  int64_t found[SEEDS], least = INT64_MAX;
  int simulated;
  for (int seed = 0; seed < SEEDS; seed++) {
    Compilation c = w->c;
    c.plan_source = (PlanSource){.kind = PLAN_FLEXFLOW, .seed = (uint64_t)seed};
    search_flexflow(&c);
    found[seed] = llround(c.search.cost * PICOSECONDS);
    least = min_i64(least, found[seed]);
  }
  const int64_t best = enumerate(w, least, &simulated); // of equal ones one is looked at
  CHECK(simulated > least_simulated);
  for (int seed = 0; seed < SEEDS; seed++) CHECK_INT(found[seed], best);
  arena_free(w->scratch);
  arena_free(w->arena);
}

static void test_lenet(void) { check_optimum("lenet", &(ElabOptions){0}, true, 1000); }
static void test_lenet_on_two_axes(void) { check_optimum("lenet", &(ElabOptions){0}, false, 100000); }

static void test_rnnlm(void) {
  Arena *arena = arena_new();
  ElabOptions options = {0};
  vec_push(arena, &options.defines, ((Define){"context", "2"}));
  check_optimum("rnnlm", &options, true, 100000);
  arena_free(arena);
}

int main(int argc, char **argv) {
  const CheckTest tests[] = {TEST(test_lenet), TEST(test_rnnlm), TEST(test_lenet_on_two_axes)};
  const bool is_long = argc > 1 && str_eq(argv[1], "LONG");
  return check_run(tests, is_long ? (int)(sizeof tests / sizeof tests[0]) : 1);
}
