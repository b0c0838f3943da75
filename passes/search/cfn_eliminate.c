// Variable elimination (Bertele and Brioschi, Nonserial Dynamic Programming, 1972; Dechter, Bucket elimination, 1999): the
// functions with a variable become one function of its neighbours, the cheapest choice of the variable for each of theirs.
//
//   before:  f(x, y), g(x, z)                 after:  m(y, z) = min over x of cost(x) + f(x, y) + g(x, z), less its minimum
//
// The variable that needs the smallest table goes first (min-weight order; ties: the first variable). A bucket that needs more
// than there is room for is split (mini-buckets, Dechter and Rish 2003): the minima of its parts are made apart, which gives a
// lower bound; the message of every part is kept, so that it is also a heuristic for the search.
#include "cfn_message.h"

enum { LEAST_ROOM = 1 << 10 }; // when the budget is nearly spent

typedef struct Wait {
  double size;
  int var, stamp;
} Wait;

typedef struct Work {
  Maker maker;
  Elimination *out;
  double room;
  int but;
  NetList *list; // functions that are left, by variable
  bool *gone;
  int *stamp;
  struct {
    Wait *at;
    int len, cap;
  } heap;
} Work;

// ---- the order ----

static bool before(const Wait *a, const Wait *b) { return a->size != b->size ? a->size < b->size : a->var < b->var; }

static void heap_push(Work *work, Wait wait) {
  vec_push(work->out->arena, &work->heap, wait);
  Wait *at = work->heap.at;
  for (int i = work->heap.len - 1; i > 0 && before(&at[i], &at[(i - 1) / 2]); i = (i - 1) / 2) {
    const Wait swap = at[i];
    at[i] = at[(i - 1) / 2], at[(i - 1) / 2] = swap;
  }
}

static Wait heap_pop(Work *work) {
  Wait *at = work->heap.at;
  const Wait top = at[0];
  at[0] = at[--work->heap.len];
  for (int i = 0, child; (child = 2 * i + 1) < work->heap.len; i = child) {
    if (child + 1 < work->heap.len && before(&at[child + 1], &at[child])) child++;
    if (!before(&at[child], &at[i])) break;
    const Wait swap = at[i];
    at[i] = at[child], at[child] = swap;
  }
  return top;
}

static void queue(Work *work, int x) {
  if (x == work->but) return;
  const Joint joint = joint_of(&work->maker, x, work->list[x].fns.at, work->list[x].fns.len);
  heap_push(work, (Wait){joint.size, x, ++work->stamp[x]});
  arena_reset(work->maker.net->scratch);
}

// ---- one variable ----

static void unlist(Work *work, int x, int fn) {
  NetList *list = &work->list[x];
  int kept = 0;
  for (int i = 0; i < list->fns.len; i++)
    if (list->fns.at[i] != fn) list->fns.at[kept++] = list->fns.at[i];
  list->fns.len = kept;
}

// Gives the number of the message; -1: there is none to send.
static int send(Work *work, Bucket *bucket, const Joint *joint, const Made *made) {
  Elimination *out = work->out;
  bucket->least += made->least;
  if (made->least == INFINITY || made->arity == 0) return -1;
  NetFn message = {made->arity, NULL, made->map, made->table};
  int *var = NEW_ARRAY(out->arena, int, made->arity);
  for (int k = 0; k < made->arity; k++) {
    var[k] = joint->var[made->local[k]];
    vec_push(out->arena, &work->list[var[k]].fns, out->fns.len);
  }
  message.var = var;
  vec_push(out->arena, &bucket->messages, out->fns.len);
  vec_push(out->arena, &out->fns, message);
  return out->fns.len - 1;
}

// Parts of a bucket: the largest functions first, each to the first part that has room for it. Gives how many; part[i] of fns[i].
static int split(Work *work, int x, int *fns, int n_fns, int *part) {
  for (int i = 1; i < n_fns; i++) // by size, ties in their order
    for (int k = i; k > 0 && work->out->fns.at[fns[k]].table->size > work->out->fns.at[fns[k - 1]].table->size; k--) {
      const int swap = fns[k];
      fns[k] = fns[k - 1], fns[k - 1] = swap;
    }
  int parts = 0, *together = NEW_ARRAY(work->maker.net->scratch, int, n_fns);
  for (int i = 0; i < n_fns; i++) {
    int p = 0;
    for (; p < parts; p++) {
      int n = 0;
      for (int k = 0; k < i; k++)
        if (part[k] == p) together[n++] = fns[k];
      together[n++] = fns[i];
      if (joint_of(&work->maker, x, together, n).size <= work->room) break;
    }
    part[i] = p;
    parts = p == parts ? parts + 1 : parts;
  }
  return parts;
}

static void eliminate(Work *work, int x, double size) {
  Arena *scratch = work->maker.net->scratch;
  Elimination *out = work->out;
  Bucket bucket = {.var = x};
  const int n = work->list[x].fns.len;
  for (int i = 0; i < n; i++) vec_push(out->arena, &bucket.fns, work->list[x].fns.at[i]);
  for (int i = 0; i < n; i++) {
    const NetFn *f = &out->fns.at[bucket.fns.at[i]];
    for (int k = 0; k < f->arity; k++)
      if (f->var[k] != x) unlist(work, f->var[k], bucket.fns.at[i]);
  }
  int *part = NEW_ARRAY(out->arena, int, n), *mine = NEW_ARRAY(scratch, int, n);
  bucket.parts = size > work->room ? split(work, x, bucket.fns.at, n, part) : 1;
  int *sent = NEW_ARRAY(out->arena, int, bucket.parts);
  const double *none = NEW_ARRAY(scratch, double, work->maker.net->vars[x].n);
  for (int p = 0; p < bucket.parts; p++) {
    int count = 0;
    for (int i = 0; i < n; i++)
      if (part[i] == p) mine[count++] = bucket.fns.at[i];
    const NetTable *cost = p == 0 ? out->cost[x] : net_table(work->maker.net, 1, &work->maker.net->vars[x].n, none);
    const Joint joint = joint_of(&work->maker, x, mine, count);
    sent[p] = send(work, &bucket, &joint, message_of(&work->maker, &joint, x, cost, mine, count));
  }
  bucket.part = part;
  bucket.sent = sent;
  out->split += bucket.parts > 1;
  out->eliminated += out->split == 0;
  out->bound += bucket.least;
  if (out->bound > work->maker.worst) out->bound = INFINITY;
  work->gone[x] = true;
  vec_push(out->arena, &out->buckets, bucket);
}

// The neighbours of what was eliminated need other tables now.
static void queue_neighbours(Work *work, const Bucket *bucket) {
  struct {
    int *at;
    int len, cap;
  } met = {0};
  for (int i = 0; i < bucket->fns.len; i++) {
    const NetFn *f = &work->out->fns.at[bucket->fns.at[i]];
    for (int k = 0; k < f->arity; k++) {
      const int y = f->var[k];
      if (work->gone[y] || work->maker.local[y] != 0) continue;
      work->maker.local[y] = 1;
      vec_push(work->out->arena, &met, y);
    }
  }
  for (int i = 0; i < met.len; i++) work->maker.local[met.at[i]] = 0;
  for (int i = 0; i < met.len; i++) queue(work, met.at[i]);
}

Elimination *net_eliminate(Net *net, Arena *arena, const NetTable **cost, double worst, double room, int but) {
  Elimination *out = NEW(arena, Elimination);
  *out = (Elimination){.arena = arena, .cost = NEW_ARRAY(arena, const NetTable *, net->n_vars), .bound = net->constant};
  Work work = {.maker = {net, out, worst, NEW_ARRAY(arena, int, net->n_vars)}, .out = out, .room = room, .but = but, .list = net_lists(net, arena)};
  work.gone = NEW_ARRAY(arena, bool, net->n_vars);
  work.stamp = NEW_ARRAY(arena, int, net->n_vars);
  for (int x = 0; x < net->n_vars; x++) out->cost[x] = cost == NULL ? net->vars[x].cost : cost[x];
  for (int i = 0; i < net->fns.len; i++) vec_push(arena, &out->fns, net->fns.at[i]);
  if (out->bound < INFINITY)
    for (int x = 0; x < net->n_vars; x++) queue(&work, x);
  while (work.heap.len > 0 && out->bound < INFINITY) {
    const Wait next = heap_pop(&work);
    if (work.gone[next.var] || work.stamp[next.var] != next.stamp) continue;
    if (net->budget > 0) work.room = fmin(room, fmax(LEAST_ROOM, (double)(net->budget - net->operations) / 2));
    eliminate(&work, next.var, next.size);
    arena_reset(net->scratch);
    queue_neighbours(&work, &out->buckets.at[out->buckets.len - 1]);
  }
  arena_reset(net->scratch);
  return out;
}
