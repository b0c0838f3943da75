// A strategy as tasks, and what changes of them when a layer gets another configuration: its own, and those of what moves from and to it.
#include "layer_tasks.h"

enum { NO_TASK = -1 };

// What tasks are of: the fourth part of a key, so that of tasks that are ready at once those of earlier layers are first.
typedef enum TaskKind { FORWARD, BACKWARD, MOVE, MOVE_BACK, GATHERED, REDUCE, UPDATE } TaskKind;

typedef struct Part { int forward, backward; } Part; // tasks of a layer on a rank

// Tasks, as they are and as they were before the change at hand.
typedef struct OwnTasks {
  Configuration by, was;
  Part *part, *old_part; // by rank
  Ints tasks, old_tasks; // all, with those
} OwnTasks;

typedef struct MoveTasks {
  Ints tasks, old_tasks;
  bool changed;
  bool all_sent[2], old_all_sent[2]; // forward, back: every part that has some of it sends some, or goes on itself
} MoveTasks;

// What it takes at least until all is done: from the end of a task of a layer on, and from when one can begin.
typedef enum Moment { AFTER_FORWARD, AFTER_BACKWARD, BEFORE_FORWARD, BEFORE_BACKWARD, AT_END, MOMENTS } Moment;

struct Strategy {
  Arena *arena, *scratch;
  LayerTasks *layers;
  Timeline *timeline;
  OwnTasks *own;    // by layer
  MoveTasks *moves; // by bundle
  VEC(int) changed; // layers, by the change at hand
  int64_t *after;   // [layers][MOMENTS]
  int64_t time, next_time; // kept; of the change at hand
  int64_t made;            // tasks so far
};

// ---- resources -----------------------------------------------------------------------------------------------------

// The devices, their streams for collectives, then the links of each level.
static int device(int rank) { return rank; }
static int stream(const Strategy *s, int rank) { return s->layers->n_ranks + rank; }

static int link_from(const Strategy *s, int level, int rank) { return (2 + level) * s->layers->n_ranks + link_number(s->layers, level, rank); }

static int n_resources(const LayerTasks *layers) { return (2 + layers->costs->cost->machine->n_levels) * layers->n_ranks; }

// ---- tasks ---------------------------------------------------------------------------------------------------------

// item: a layer or a bundle. Keys are the same however a strategy came about.
static int add_task(Strategy *s, Ints *tasks, int64_t duration, int resource, TaskKind kind, int item, int from, int to, int moment) {
  const uint64_t key = (uint64_t)item << 36 | (uint64_t)kind << 32 | (uint64_t)from << 16 | (uint64_t)to;
  const int task = timeline_add(s->timeline, (TimelineTask){duration, key, resource, moment});
  vec_push(s->arena, tasks, task);
  s->made++;
  return task;
}

static int moment_of(int layer, Moment moment) { return layer * MOMENTS + moment; }

static void add_parts(Strategy *s, int layer, const LayerTimes *times) {
  OwnTasks *own = &s->own[layer];
  for (int r = 0; r < s->layers->n_ranks; r++) {
    own->part[r] = (Part){NO_TASK, NO_TASK};
    if (!configuration_is_on(&own->by, s->layers->mesh, r)) continue;
    own->part[r].forward = add_task(s, &own->tasks, times->forward, device(r), FORWARD, layer, r, 0, moment_of(layer, AFTER_FORWARD));
    if (times->backward == 0) continue;
    own->part[r].backward = add_task(s, &own->tasks, times->backward, device(r), BACKWARD, layer, r, 0, moment_of(layer, AFTER_BACKWARD));
    timeline_order(s->timeline, own->part[r].forward, own->part[r].backward);
  }
}

// Among each group of ranks that differ along some axes only. number: of these axes among those of the layer.
static void add_all_reduce(Strategy *s, int layer, const Shared *shared, int number, const int *update) {
  OwnTasks *own = &s->own[layer];
  const Mesh *mesh = s->layers->mesh;
  const uint32_t others = ((1u << mesh->n_axes) - 1) & ~shared->axes;
  const int n = mesh_parts(mesh, shared->axes), groups = mesh_parts(mesh, others);
  for (int g = 0; g < groups; g++) {
    const int first = mesh_rank_at(mesh, others, g);
    if (own->part[first].backward == NO_TASK) continue;
    const int gathered = add_task(s, &own->tasks, 1, TIMELINE_NO_RESOURCE, GATHERED, layer, first, number, moment_of(layer, AT_END));
    for (int i = 0; i < n; i++) {
      const int rank = first + mesh_rank_at(mesh, shared->axes, i);
      const int reduce = add_task(s, &own->tasks, shared->time, stream(s, rank), REDUCE, layer, rank, number, moment_of(layer, AT_END));
      timeline_order(s->timeline, own->part[rank].backward, gathered);
      timeline_order(s->timeline, gathered, reduce);
      if (update[rank] != NO_TASK) timeline_order(s->timeline, reduce, update[rank]);
    }
  }
}

static void add_updates(Strategy *s, int layer, const LayerTimes *times) {
  OwnTasks *own = &s->own[layer];
  int *update = NEW_ARRAY(s->scratch, int, s->layers->n_ranks);
  for (int r = 0; r < s->layers->n_ranks; r++) {
    update[r] = NO_TASK;
    if (own->part[r].backward == NO_TASK || times->update == 0) continue;
    update[r] = add_task(s, &own->tasks, times->update, device(r), UPDATE, layer, r, 0, moment_of(layer, AT_END));
    timeline_order(s->timeline, own->part[r].backward, update[r]);
  }
  for (int i = 0; i < times->shared.len; i++) add_all_reduce(s, layer, &times->shared.at[i], i, update);
  arena_reset(s->scratch);
}

typedef struct Mover {
  Strategy *s;
  int bundle;
  bool back;
  const MessageCount *count;
  bool *sends; // by rank
} Mover;

static void add_move(void *ctx, int from, int to, double elements) {
  const Mover *m = ctx;
  Strategy *s = m->s;
  const Bundle *b = &s->layers->bundles.at[m->bundle];
  const int before = m->back ? s->own[b->to].part[from].backward : s->own[b->from].part[from].forward;
  const int after = m->back ? s->own[b->from].part[to].backward : s->own[b->to].part[to].forward;
  if (before == NO_TASK || after == NO_TASK) return;
  m->sends[from] = true;
  if (from == to) {
    timeline_order(s->timeline, before, after);
    return;
  }
  const int64_t time = time_of(message_seconds(m->count, from, to, elements * b->bytes));
  const int link = link_from(s, link_level(s->layers, from, to), from);
  const int moment = m->back ? moment_of(b->from, BEFORE_BACKWARD) : moment_of(b->to, BEFORE_FORWARD);
  const int move = add_task(s, &s->moves[m->bundle].tasks, time, link, m->back ? MOVE_BACK : MOVE, m->bundle, from, to, moment);
  timeline_order(s->timeline, before, move);
  timeline_order(s->timeline, move, after);
}

static void add_moves_one_way(Strategy *s, int bundle, bool back, const Holding *held, const Holding *wanted) {
  MessageCount count = message_count_new(s->scratch, s->layers);
  moves_visit(held, wanted, back, message_count, &count);
  Mover mover = {s, bundle, back, &count, NEW_ARRAY(s->scratch, bool, s->layers->n_ranks)};
  moves_visit(held, wanted, back, add_move, &mover);
  bool all = true;
  for (int r = 0; r < s->layers->n_ranks; r++) all &= mover.sends[r] || !held->has[r];
  s->moves[bundle].all_sent[back] = all;
}

static void add_moves(Strategy *s, int bundle) {
  const Bundle *b = &s->layers->bundles.at[bundle];
  const Mesh *mesh = s->layers->mesh;
  const Tensor *tensor = graph_tensor(s->layers->costs->graph, b->tensor);
  const Holding made = holding_of(s->scratch, mesh, tensor, &b->made, &s->own[b->from].by);
  const Holding read = holding_of(s->scratch, mesh, tensor, &b->read, &s->own[b->to].by);
  add_moves_one_way(s, bundle, false, &made, &read);
  if (b->gradient) add_moves_one_way(s, bundle, true, &read, &made);
  arena_reset(s->scratch);
}

static void add_own(Strategy *s, int layer, const Configuration *by) {
  s->own[layer].by = *by;
  const LayerTimes times = *layer_times(s->layers, layer, by);
  add_parts(s, layer, &times);
  add_updates(s, layer, &times);
}

// ---- changes -------------------------------------------------------------------------------------------------------

static void swap_lists(Ints *a, Ints *b) {
  const Ints list = *a;
  *a = *b;
  *b = list;
}

static void swap_own(OwnTasks *own) {
  Part *part = own->part;
  const Configuration by = own->by;
  own->part = own->old_part;
  own->old_part = part;
  own->by = own->was;
  own->was = by;
  swap_lists(&own->tasks, &own->old_tasks);
}

static void swap_moves(MoveTasks *moves) {
  bool sent[2];
  memcpy(sent, moves->all_sent, sizeof sent);
  memcpy(moves->all_sent, moves->old_all_sent, sizeof sent);
  memcpy(moves->old_all_sent, sent, sizeof sent);
  swap_lists(&moves->tasks, &moves->old_tasks);
}

static void remove_all(Strategy *s, const Ints *tasks) {
  for (int i = 0; i < tasks->len; i++) timeline_remove(s->timeline, tasks->at[i]);
}

static void take_bundles(Strategy *s, int layer) {
  const Ints *bundles = &s->layers->bundles_of[layer];
  for (int i = 0; i < bundles->len; i++) {
    MoveTasks *moves = &s->moves[bundles->at[i]];
    if (moves->changed) continue;
    moves->changed = true;
    remove_all(s, &moves->tasks);
    swap_moves(moves);
    moves->tasks.len = 0;
  }
}

// ---- what follows at least -----------------------------------------------------------------------------------------

static void follow_backward(Strategy *s, int layer, const LayerTimes *times) {
  int64_t after = 0;
  const Ints *bundles = &s->layers->bundles_of[layer];
  for (int i = 0; i < times->shared.len; i++) after = max_i64(after, times->shared.at[i].time);
  after += times->update;
  for (int i = 0; i < bundles->len; i++) {
    const Bundle *b = &s->layers->bundles.at[bundles->at[i]];
    if (b->to == layer && b->gradient && s->moves[bundles->at[i]].all_sent[true]) after = max_i64(after, s->after[moment_of(b->from, BEFORE_BACKWARD)]);
  }
  s->after[moment_of(layer, AFTER_BACKWARD)] = after;
  s->after[moment_of(layer, BEFORE_BACKWARD)] = times->backward + after;
}

static void follow_forward(Strategy *s, int layer, const LayerTimes *times) {
  int64_t after = times->backward > 0 ? s->after[moment_of(layer, BEFORE_BACKWARD)] : 0;
  const Ints *bundles = &s->layers->bundles_of[layer];
  for (int i = 0; i < bundles->len; i++) {
    const Bundle *b = &s->layers->bundles.at[bundles->at[i]];
    if (b->from == layer && s->moves[bundles->at[i]].all_sent[false]) after = max_i64(after, s->after[moment_of(b->to, BEFORE_FORWARD)]);
  }
  s->after[moment_of(layer, AFTER_FORWARD)] = after;
  s->after[moment_of(layer, BEFORE_FORWARD)] = times->forward + after;
}

// By the longest way over tasks alone, whatever resources are busy with. Backward no layer comes before those that read it.
static void find_what_follows(Strategy *s) {
  for (int l = 0; l < s->layers->n_layers; l++) follow_backward(s, l, layer_times(s->layers, l, &s->own[l].by));
  for (int l = s->layers->n_layers - 1; l >= 0; l--) follow_forward(s, l, layer_times(s->layers, l, &s->own[l].by));
}

// A local order between two layers goes with the tasks of the one that changes.
int64_t strategy_change(Strategy *s, int n, const int *layer, const Configuration *to, int64_t limit) {
  for (int i = 0; i < n; i++) {
    OwnTasks *own = &s->own[layer[i]];
    vec_push(s->arena, &s->changed, layer[i]);
    take_bundles(s, layer[i]);
    remove_all(s, &own->tasks);
    swap_own(own);
    own->tasks.len = 0;
  }
  for (int i = 0; i < n; i++) add_own(s, layer[i], &to[i]);
  for (int i = 0; i < n; i++) {
    const Ints *bundles = &s->layers->bundles_of[layer[i]];
    for (int b = 0; b < bundles->len; b++) {
      if (s->moves[bundles->at[b]].changed) add_moves(s, bundles->at[b]);
      s->moves[bundles->at[b]].changed = false;
    }
  }
  find_what_follows(s);
  return s->next_time = timeline_update(s->timeline, limit, s->after);
}

void strategy_keep(Strategy *s) {
  timeline_keep(s->timeline);
  s->time = s->next_time;
  s->changed.len = 0;
}

void strategy_undo(Strategy *s) {
  timeline_undo(s->timeline);
  for (int i = 0; i < s->changed.len; i++) {
    const Ints *bundles = &s->layers->bundles_of[s->changed.at[i]];
    swap_own(&s->own[s->changed.at[i]]);
    for (int b = 0; b < bundles->len; b++) {
      MoveTasks *moves = &s->moves[bundles->at[b]];
      if (!moves->changed) swap_moves(moves);
      moves->changed = true; // once, though it is of two layers
    }
  }
  for (int i = 0; i < s->changed.len; i++) {
    const Ints *bundles = &s->layers->bundles_of[s->changed.at[i]];
    for (int b = 0; b < bundles->len; b++) s->moves[bundles->at[b]].changed = false;
  }
  s->changed.len = 0;
}

Strategy *strategy_new(Arena *arena, LayerTasks *layers, const Configuration *of) {
  Strategy *s = NEW(arena, Strategy);
  *s = (Strategy){.arena = arena, .scratch = layers->costs->scratch, .layers = layers, .timeline = timeline_new(arena, n_resources(layers))};
  s->own = NEW_ARRAY(arena, OwnTasks, layers->n_layers);
  s->moves = NEW_ARRAY(arena, MoveTasks, layers->bundles.len);
  s->after = NEW_ARRAY(arena, int64_t, layers->n_layers *MOMENTS);
  for (int l = 0; l < layers->n_layers; l++) {
    s->own[l].part = NEW_ARRAY(arena, Part, layers->n_ranks);
    s->own[l].old_part = NEW_ARRAY(arena, Part, layers->n_ranks);
    add_own(s, l, &of[l]);
  }
  for (int b = 0; b < layers->bundles.len; b++) add_moves(s, b);
  s->time = timeline_run(s->timeline);
  return s;
}

const Configuration *strategy_configuration(const Strategy *s, int layer) { return &s->own[layer].by; }
int64_t strategy_time(const Strategy *s) { return s->time; }
int strategy_tasks(const Strategy *s) { return timeline_tasks(s->timeline); }
int64_t strategy_effort(const Strategy *s) { return timeline_effort(s->timeline) + s->made; }
