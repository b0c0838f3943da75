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
  int64_t least[2], old_least[2]; // forward, back: what it takes at least to send it (messages.h)
} MoveTasks;

// What it takes at least until all is done: from the end of a task of a layer on, and from when one can begin.
typedef enum Moment { AFTER_FORWARD, AFTER_BACKWARD, BEFORE_FORWARD, BEFORE_BACKWARD, AT_END, MOMENTS } Moment;

struct Strategy {
  Arena *arena, *scratch;
  LayerTasks *layers;
  Timeline *timeline;
  OwnTasks *own;    // by layer
  MoveTasks *moves; // by bundle
  Ints changed, moved; // layers and bundles, by the change at hand
  bool made_anew;      // their tasks, too
  int64_t *load;       // by rank: how long what layers do there takes
  int64_t *after;   // [layers][MOMENTS]
  int64_t time, next_time; // kept; of the change at hand
  int64_t made;            // tasks so far, and what was looked at to see whether any have to be made
};

// ---- resources -----------------------------------------------------------------------------------------------------

// The devices, their streams for collectives, then the links of each level.
static int device(int rank) { return rank; }
static int stream(const Strategy *s, int rank) { return s->layers->n_ranks + rank; }

static int link(const Strategy *s, int number) { return 2 * s->layers->n_ranks + number; }

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

static const Messages *messages_of(const Strategy *s, int bundle, bool back) {
  const Bundle *b = &s->layers->bundles.at[bundle];
  return messages_between(s->layers, bundle, back, &s->own[b->from].by, &s->own[b->to].by);
}

static void add_move(Strategy *s, int bundle, bool back, const Message *m) {
  const Bundle *b = &s->layers->bundles.at[bundle];
  const int before = back ? s->own[b->to].part[m->from].backward : s->own[b->from].part[m->from].forward;
  const int after = back ? s->own[b->from].part[m->to].backward : s->own[b->to].part[m->to].forward;
  if (m->from == m->to) {
    timeline_order(s->timeline, before, after);
    return;
  }
  const int moment = back ? moment_of(b->from, BEFORE_BACKWARD) : moment_of(b->to, BEFORE_FORWARD);
  const int move = add_task(s, &s->moves[bundle].tasks, m->time, link(s, m->link), back ? MOVE_BACK : MOVE, bundle, m->from, m->to, moment);
  timeline_order(s->timeline, before, move);
  timeline_order(s->timeline, move, after);
}

static void add_moves(Strategy *s, int bundle) {
  for (int back = 0; back <= s->layers->bundles.at[bundle].gradient; back++) {
    const Messages *messages = messages_of(s, bundle, back);
    for (int i = 0; i < messages->list.len; i++) add_move(s, bundle, back, &messages->list.at[i]);
  }
}

static void add_own(Strategy *s, int layer) {
  const LayerTimes times = *layer_times(s->layers, layer, &s->own[layer].by);
  add_parts(s, layer, &times);
  add_updates(s, layer, &times);
}

// ---- changes -------------------------------------------------------------------------------------------------------

static void swap_lists(Ints *a, Ints *b) {
  const Ints list = *a;
  *a = *b;
  *b = list;
}

static void swap_own_tasks(OwnTasks *own) {
  Part *part = own->part;
  own->part = own->old_part;
  own->old_part = part;
  swap_lists(&own->tasks, &own->old_tasks);
}

static void remove_all(Strategy *s, const Ints *tasks) {
  for (int i = 0; i < tasks->len; i++) timeline_remove(s->timeline, tasks->at[i]);
}

static void remove_tasks(Strategy *s) {
  for (int i = 0; i < s->moved.len; i++) {
    MoveTasks *moves = &s->moves[s->moved.at[i]];
    remove_all(s, &moves->tasks);
    swap_lists(&moves->tasks, &moves->old_tasks);
    moves->tasks.len = 0;
  }
  for (int i = 0; i < s->changed.len; i++) {
    OwnTasks *own = &s->own[s->changed.at[i]];
    remove_all(s, &own->tasks);
    swap_own_tasks(own);
    own->tasks.len = 0;
  }
}

static void add_tasks(Strategy *s) {
  for (int i = 0; i < s->changed.len; i++) add_own(s, s->changed.at[i]);
  for (int i = 0; i < s->moved.len; i++) add_moves(s, s->moved.at[i]);
}

// ---- what follows at least -----------------------------------------------------------------------------------------

static void follow_backward(Strategy *s, int layer, const LayerTimes *times) {
  int64_t after = 0;
  const Ints *bundles = &s->layers->bundles_of[layer];
  for (int i = 0; i < times->shared.len; i++) after = max_i64(after, times->shared.at[i].time);
  after += times->update;
  for (int i = 0; i < bundles->len; i++) {
    const Bundle *b = &s->layers->bundles.at[bundles->at[i]];
    const int64_t sent = s->moves[bundles->at[i]].least[true];
    if (b->to == layer && b->gradient && sent != NOTHING_SENT) after = max_i64(after, sent + s->after[moment_of(b->from, BEFORE_BACKWARD)]);
  }
  s->after[moment_of(layer, AFTER_BACKWARD)] = after;
  s->after[moment_of(layer, BEFORE_BACKWARD)] = times->backward + after;
}

static void follow_forward(Strategy *s, int layer, const LayerTimes *times) {
  int64_t after = times->backward > 0 ? s->after[moment_of(layer, BEFORE_BACKWARD)] : 0;
  const Ints *bundles = &s->layers->bundles_of[layer];
  for (int i = 0; i < bundles->len; i++) {
    const Bundle *b = &s->layers->bundles.at[bundles->at[i]];
    const int64_t sent = s->moves[bundles->at[i]].least[false];
    if (b->from == layer && sent != NOTHING_SENT) after = max_i64(after, sent + s->after[moment_of(b->to, BEFORE_FORWARD)]);
  }
  s->after[moment_of(layer, AFTER_FORWARD)] = after;
  s->after[moment_of(layer, BEFORE_FORWARD)] = times->forward + after;
}

// By the longest way over tasks alone, whatever resources are busy with. Backward no layer comes before those that read it.
static void find_what_follows(Strategy *s) {
  for (int l = 0; l < s->layers->n_layers; l++) follow_backward(s, l, layer_times(s->layers, l, &s->own[l].by));
  for (int l = s->layers->n_layers - 1; l >= 0; l--) follow_forward(s, l, layer_times(s->layers, l, &s->own[l].by));
}

static void add_load(Strategy *s, int layer, int sign) {
  const Configuration *by = &s->own[layer].by;
  const LayerTimes *times = layer_times(s->layers, layer, by);
  const int64_t time = sign * (times->forward + times->backward + times->update);
  for (int r = 0; r < s->layers->n_ranks; r++)
    if (configuration_is_on(by, s->layers->mesh, r)) s->load[r] += time;
}

static int64_t most_load(const Strategy *s) {
  int64_t most = 0;
  for (int r = 0; r < s->layers->n_ranks; r++) most = max_i64(most, s->load[r]);
  return most;
}

static void find_least_sent(Strategy *s, int bundle) {
  MoveTasks *moves = &s->moves[bundle];
  for (int back = 0; back <= s->layers->bundles.at[bundle].gradient; back++) {
    const Messages *messages = messages_of(s, bundle, back);
    moves->least[back] = messages->least;
    s->made += messages->list.len;
  }
}

static int64_t longest_way(Strategy *s) {
  int64_t longest = 0;
  find_what_follows(s);
  for (int l = 0; l < s->layers->n_layers; l++) longest = max_i64(longest, s->after[moment_of(l, BEFORE_FORWARD)]);
  s->made += s->layers->n_layers;
  return longest;
}

// Whether what devices have to do, or the longest way over tasks, takes longer than that, whatever else they wait for.
static bool is_surely_above(Strategy *s, int64_t limit) {
  if (most_load(s) > limit) return true;
  for (int i = 0; i < s->moved.len; i++) find_least_sent(s, s->moved.at[i]);
  return longest_way(s) > limit;
}

// ---- changes -------------------------------------------------------------------------------------------------------

static void configure(Strategy *s, int layer, const Configuration *to) {
  OwnTasks *own = &s->own[layer];
  const Ints *bundles = &s->layers->bundles_of[layer];
  add_load(s, layer, -1);
  own->was = own->by;
  own->by = *to;
  add_load(s, layer, 1);
  vec_push(s->arena, &s->changed, layer);
  for (int b = 0; b < bundles->len; b++) {
    MoveTasks *moves = &s->moves[bundles->at[b]];
    if (moves->changed) continue;
    moves->changed = true;
    memcpy(moves->old_least, moves->least, sizeof moves->least);
    vec_push(s->arena, &s->moved, bundles->at[b]);
  }
}

static void end_change(Strategy *s) {
  for (int i = 0; i < s->moved.len; i++) s->moves[s->moved.at[i]].changed = false;
  s->changed.len = s->moved.len = 0;
  s->made_anew = false;
}

// No task is made where it is clear without that it would take too long.
int64_t strategy_change(Strategy *s, int n, const int *layer, const Configuration *to, int64_t limit) {
  for (int i = 0; i < n; i++) configure(s, layer[i], &to[i]);
  if (is_surely_above(s, limit)) return s->next_time = INT64_MAX;
  s->made_anew = true;
  remove_tasks(s);
  add_tasks(s);
  return s->next_time = timeline_update(s->timeline, limit, s->after);
}

void strategy_keep(Strategy *s) {
  timeline_keep(s->timeline);
  s->time = s->next_time;
  end_change(s);
}

void strategy_undo(Strategy *s) {
  if (s->made_anew) timeline_undo(s->timeline);
  for (int i = 0; i < s->changed.len; i++) {
    OwnTasks *own = &s->own[s->changed.at[i]];
    add_load(s, s->changed.at[i], -1);
    own->by = own->was;
    add_load(s, s->changed.at[i], 1);
    if (s->made_anew) swap_own_tasks(own);
  }
  for (int i = 0; i < s->moved.len; i++) {
    MoveTasks *moves = &s->moves[s->moved.at[i]];
    memcpy(moves->least, moves->old_least, sizeof moves->least);
    if (s->made_anew) swap_lists(&moves->tasks, &moves->old_tasks);
  }
  end_change(s);
}

Strategy *strategy_new(Arena *arena, LayerTasks *layers, const Configuration *of) {
  Strategy *s = NEW(arena, Strategy);
  *s = (Strategy){.arena = arena, .scratch = layers->costs->scratch, .layers = layers, .timeline = timeline_new(arena, n_resources(layers))};
  s->own = NEW_ARRAY(arena, OwnTasks, layers->n_layers);
  s->moves = NEW_ARRAY(arena, MoveTasks, layers->bundles.len);
  s->load = NEW_ARRAY(arena, int64_t, layers->n_ranks);
  s->after = NEW_ARRAY(arena, int64_t, layers->n_layers *MOMENTS);
  for (int l = 0; l < layers->n_layers; l++) {
    s->own[l].part = NEW_ARRAY(arena, Part, layers->n_ranks);
    s->own[l].old_part = NEW_ARRAY(arena, Part, layers->n_ranks);
    s->own[l].by = of[l];
    add_load(s, l, 1);
    add_own(s, l);
  }
  for (int b = 0; b < layers->bundles.len; b++) {
    find_least_sent(s, b);
    add_moves(s, b);
  }
  s->time = timeline_run(s->timeline);
  return s;
}

const Configuration *strategy_configuration(const Strategy *s, int layer) { return &s->own[layer].by; }
int64_t strategy_time(const Strategy *s) { return s->time; }
int strategy_tasks(const Strategy *s) { return timeline_tasks(s->timeline); }
int64_t strategy_effort(const Strategy *s) { return timeline_effort(s->timeline) + s->made; }
