// The random walk finds the best strategy there is, where all of them can be looked at: of LeNet on an axis of four devices, for every
// seed. (FlexFlow, section 8.4, which takes 0.8 hours to look at them.)
//
// Strategies are enumerated depth first. What a strategy takes at least, of which only the first layers are known, is the longest way
// over its tasks, back from the first layer's gradients to its first task, each time over the part that sends last: never less than
//   the layers' tasks, what moves into the part that waits least of each, and what the first layer's parameters take then,
// over the layers that are known, and the least that this can come to over those that are not.
#include "../../frontend/frontend.h"
#include "../../frontend/output.h"
#include "../../frontend/parse.h"
#include "../../passes/search/search.h"
#include "../../passes/search/soap.h"
#include "../../passes/sim/layer_tasks.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

typedef struct World {
  Arena *arena, *scratch;
  Compilation c;
  Layers layers;
  Mesh mesh;
  CostModel cost;
  LayerCosts costs;
  LayerTasks *tasks;
  VEC(Configuration) *of; // by layer: all there are
  const Bundle **bundle;  // by layer: what moves to the next one
  const int64_t **between; // by layer: what moves from each configuration of it to each of the next, and back
  const int64_t **rest;   // by layer and configuration: what it and all behind it take at least, what moves between them with it
} World;

static Compilation open_sample(Arena *arena, const char *sample) {
  size_t len;
  int nearest[2];
  const ElabOptions options = {0};
  const char *text = input_file(arena, arena_printf(arena, "samples/%s.dnn", sample), &len);
  const AstFile *prelude = parse_prelude(arena), *file = parse_text(arena, "net.dnn", text, len);
  Compilation c = {.arena = arena, .machine = machine_preset(arena, "p100x4x4"), .problems = {.arena = arena}, .strip_bytes = 8 << 20};
  machine_mesh(c.machine, 4, &c.mesh, nearest);
  c.mesh_given = true; // one axis: its factors make too many strategies to look at
  c.model = elab_model(arena, prelude, file, &options);
  for (int pass = 0; pass < pipeline_find("plan"); pass++) pipeline_run(&c, pass);
  cost_mark_inlined(c.model->train);
  return c;
}

// ---- all configurations --------------------------------------------------------------------------------------------

static void list_from(World *s, int l, Configuration *c, int axis) {
  const Layer *layer = &s->layers.list.at[l];
  if (axis == s->mesh.n_axes) {
    c->used = 0;
    for (int d = 0; d < layer->dims.len; d++) {
      int64_t parts = 1;
      for (int a = 0; a < s->mesh.n_axes; a++)
        if (c->dim[a] == d) parts *= s->mesh.axis[a].size, c->used |= 1u << a;
      if (layer->dims.at[d].extent % parts != 0) return;
    }
    vec_push(s->arena, &s->of[l], *c);
    return;
  }
  for (int choice = CONFIGURATION_PIN - s->mesh.axis[axis].size + 1; choice < layer->dims.len; choice++) {
    c->dim[axis] = (signed char)choice;
    list_from(s, l, c, axis + 1);
  }
}

// ---- the least that they take --------------------------------------------------------------------------------------

typedef struct Waiting {
  const MessageCount *count;
  double bytes;
  int64_t *last; // by rank: the longest move into it; -1: nothing comes
} Waiting;

static void note_move(void *ctx, int from, int to, double elements) {
  const Waiting *w = ctx;
  w->last[to] = max_i64(w->last[to], from == to ? 0 : time_of(message_seconds(w->count, from, to, elements * w->bytes)));
}

static int64_t least_wait(World *s, const Holding *held, const Holding *wanted, bool back, double bytes) {
  const int n = mesh_ranks(&s->mesh);
  MessageCount count = message_count_new(s->scratch, s->tasks);
  Waiting w = {&count, bytes, NEW_ARRAY(s->scratch, int64_t, n)};
  int64_t least = INT64_MAX;
  for (int r = 0; r < n; r++) w.last[r] = -1;
  moves_visit(held, wanted, back, message_count, &count);
  moves_visit(held, wanted, back, note_move, &w);
  for (int r = 0; r < n; r++)
    if (wanted->has[r]) least = least < w.last[r] ? least : w.last[r];
  return least; // -1: a part that nothing is sent to does not wait
}

static const int64_t *between(World *s, int l) {
  const int n = s->of[l].len, m = s->of[l + 1].len;
  int64_t *least = NEW_ARRAY(s->arena, int64_t, n *m);
  const Bundle *b = s->bundle[l];
  const Tensor *tensor = graph_tensor(s->costs.graph, b->tensor);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      const Holding made = holding_of(s->scratch, &s->mesh, tensor, &b->made, &s->of[l].at[i]);
      const Holding read = holding_of(s->scratch, &s->mesh, tensor, &b->read, &s->of[l + 1].at[j]);
      const int64_t there = least_wait(s, &made, &read, false, b->bytes), back = least_wait(s, &read, &made, true, b->bytes);
      // Where a part of the first waits for nothing, no way leads over the second: what it takes does not count.
      least[i * m + j] = there < 0 || back < 0 ? -1 : there + back;
      arena_reset(s->scratch);
    }
  return least;
}

// Layers are a chain: one bundle leads to each next one.
static void find_chain(World *s) {
  s->bundle = NEW_ARRAY(s->arena, const Bundle *, s->layers.list.len);
  if (!CHECK_INT(s->tasks->bundles.len, s->layers.list.len - 1)) exit(1);
  for (int b = 0; b < s->tasks->bundles.len; b++) {
    const Bundle *bundle = &s->tasks->bundles.at[b];
    if (!CHECK_INT(bundle->to, bundle->from + 1)) exit(1);
    s->bundle[bundle->from] = bundle;
  }
}

static int64_t own_time(World *s, int l, const Configuration *c) {
  const LayerTimes *t = layer_times(s->tasks, l, c);
  return t->forward + t->backward;
}

static void find_rest(World *s) {
  const int n = s->layers.list.len;
  s->between = NEW_ARRAY(s->arena, const int64_t *, n);
  s->rest = NEW_ARRAY(s->arena, const int64_t *, n);
  for (int l = n - 1; l >= 0; l--) {
    int64_t *rest = NEW_ARRAY(s->arena, int64_t, s->of[l].len);
    if (l < n - 1) s->between[l] = between(s, l);
    for (int i = 0; i < s->of[l].len; i++) {
      int64_t least = l < n - 1 ? INT64_MAX : 0;
      for (int j = 0; l < n - 1 && j < s->of[l + 1].len; j++) {
        const int64_t move = s->between[l][i * s->of[l + 1].len + j], with = move < 0 ? 0 : move + s->rest[l + 1][j];
        least = least < with ? least : with;
      }
      rest[i] = own_time(s, l, &s->of[l].at[i]) + least;
    }
    s->rest[l] = rest;
  }
}

// ---- depth first ---------------------------------------------------------------------------------------------------

typedef struct Walk {
  World *s;
  Strategy *strategy;
  int64_t best;
  int simulated;
} Walk;

// The gradients of the first layer's parameters are brought together behind all of the way.
static int64_t parameters_time(World *s, const Configuration *c) {
  const LayerTimes *t = layer_times(s->tasks, 0, c);
  int64_t shared = 0;
  for (int i = 0; i < t->shared.len; i++) shared = max_i64(shared, t->shared.at[i].time);
  return shared + t->update;
}

// so_far: what the layers before take at least, and what moves between them; lost: no way leads from them to this one.
static void try_layer(Walk *w, int l, int before, int64_t so_far, bool lost) {
  World *s = w->s;
  for (int i = 0; i < s->of[l].len; i++) {
    const Configuration *c = &s->of[l].at[i];
    const int64_t move = l > 0 ? s->between[l - 1][before * s->of[l].len + i] : parameters_time(s, c);
    const bool over = lost || move < 0;
    const int64_t least = over ? so_far : so_far + move;
    if (least + (over ? 0 : s->rest[l][i]) >= w->best) continue;
    strategy_change(w->strategy, 1, &l, c, INT64_MAX);
    strategy_keep(w->strategy);
    if (l < s->layers.list.len - 1) {
      try_layer(w, l + 1, i, over ? least : least + own_time(s, l, c), over);
      continue;
    }
    w->simulated++;
    if (strategy_time(w->strategy) < w->best) w->best = strategy_time(w->strategy);
  }
}

static void finds_the_optimum(void) {
  enum { SEEDS = 20 };
  Arena *arena = arena_new();
  World s = {.arena = arena, .scratch = arena_new(), .c = open_sample(arena, "lenet")};
  const Plan nothing = {.model = s.c.model->name};
  const Planner planner = planner_new(arena, s.c.model, &nothing, &s.c.mesh);
  const Groups groups = groups_of_graph(&planner);
  s.layers = layers_of_groups(arena, &groups);
  s.mesh = s.c.mesh;
  s.cost = cost_model(arena, s.c.machine, &s.mesh, s.c.model->f64);
  s.costs = layer_costs_new(arena, s.scratch, s.c.model->train, &s.layers, &s.cost);
  s.tasks = layer_tasks_new(arena, &s.costs);
  s.of = arena_alloc(arena, sizeof *s.of * (size_t)s.layers.list.len);
  Configuration *first = NEW_ARRAY(arena, Configuration, s.layers.list.len);
  for (int l = 0; l < s.layers.list.len; l++) {
    Configuration c = {.used = 0};
    memset(c.dim, -1, sizeof c.dim);
    list_from(&s, l, &c, 0);
    first[l] = s.of[l].at[0];
  }
  find_chain(&s);
  find_rest(&s);
  Walk w = {.s = &s, .strategy = strategy_new(arena, s.tasks, first), .best = INT64_MAX};
  double found[SEEDS];
  for (int seed = 0; seed < SEEDS; seed++) {
    Compilation c = s.c;
    c.plan_source = (PlanSource){.kind = PLAN_FLEXFLOW, .seed = (uint64_t)seed};
    search_flexflow(&c);
    found[seed] = c.search.cost;
    w.best = (int64_t)fmin((double)w.best, llround(found[seed] * PICOSECONDS) + 1); // of equal ones one is looked at
  }
  try_layer(&w, 0, 0, 0, false);
  CHECK(w.simulated > 1000);
  for (int seed = 0; seed < SEEDS; seed++) CHECK_INT(llround(found[seed] * PICOSECONDS), w.best);
  arena_free(s.scratch);
  arena_free(arena);
}

CHECKS(TEST(finds_the_optimum))
