// A tree over positions (a segment tree): each node stands for an interval of them, its children for the halves. Of a node are known
// the places that are taken during all of its interval, and those that are taken at any time in it; so an interval of positions is
// some two nodes on every level, and what lives at the same time need not be gone through one by one. Places side by side are one
// span, and where buffers lie densely there are few.
#include "occupancy.h"

typedef struct Span { int64_t begin, end; } Span;
typedef VEC(Span) Spans; // in order, apart from each other

typedef struct Node {
  Spans during; // taken all along
  Spans within; // taken at some position
} Node;

struct Occupancy {
  Arena *arena;
  int n;
  Node *node; // the children of i are 2i and 2i + 1; 1 is the root
};

enum { ROOT = 1, MAX_LEVELS = 32 };

static int nodes_of(int n) {
  int leaves = 1;
  while (leaves < n) leaves *= 2;
  return 2 * leaves;
}

Occupancy *occupancy_new(Arena *arena, int n) {
  Occupancy *o = NEW(arena, Occupancy);
  *o = (Occupancy){arena, n, NEW_ARRAY(arena, Node, nodes_of(n))};
  return o;
}

void occupancy_clear(Occupancy *o) {
  for (int i = 0; i < nodes_of(o->n); i++) o->node[i].during.len = o->node[i].within.len = 0;
}

// The first span that ends behind the place.
static int first_behind(const Spans *spans, int64_t place) {
  int from = 0;
  for (int to = spans->len; from < to;) {
    const int middle = (from + to) / 2;
    if (spans->at[middle].end > place) to = middle;
    else from = middle + 1;
  }
  return from;
}

static void add_span(Arena *arena, Spans *spans, Span span) {
  const int from = first_behind(spans, span.begin - 1); // one that ends where it begins becomes one with it
  int to = from;
  for (; to < spans->len && spans->at[to].begin <= span.end; to++) {
    span.begin = min_i64(span.begin, spans->at[to].begin);
    span.end = max_i64(span.end, spans->at[to].end);
  }
  if (to != from + 1) {
    const size_t behind = sizeof(Span) * (size_t)(spans->len - to);
    if (from == to) vec_push(arena, spans, span); // room for one more
    else spans->len -= to - from - 1;
    memmove(spans->at + from + 1, spans->at + to, behind);
  }
  spans->at[from] = span;
}

// ---- places ------------------------------------------------------------------------------------------------------

typedef struct Taken { // at the positions asked for
  struct { const Span *at, *end; } list[4 * MAX_LEVELS];
  int n;
} Taken;

static void add_taken(Taken *taken, const Spans *spans) {
  if (spans->len == 0) return;
  taken->list[taken->n].at = spans->at;
  taken->list[taken->n++].end = spans->at + spans->len;
}

// Of the node whose interval is from `begin` to `end`, which the positions meet.
static void collect(const Occupancy *o, int node, int begin, int end, int first, int last, Taken *taken) {
  if (first <= begin && end <= last) {
    add_taken(taken, &o->node[node].within);
    return;
  }
  add_taken(taken, &o->node[node].during);
  const int middle = begin + (end - begin) / 2;
  if (first <= middle) collect(o, 2 * node, begin, middle, first, last, taken);
  if (last > middle) collect(o, 2 * node + 1, middle + 1, end, first, last, taken);
}

// Each list in turn moves the place behind what is in its way, until none does.
int64_t occupancy_lowest_gap(const Occupancy *o, int first, int last, int64_t bytes, int64_t from) {
  Taken taken = {.n = 0};
  collect(o, ROOT, 0, o->n - 1, first, last, &taken);
  for (int i = 0, agree = 0; agree < taken.n; i = i + 1 < taken.n ? i + 1 : 0, agree++) {
    const Span *at = taken.list[i].at, *end = taken.list[i].end;
    for (; at < end && at->begin < from + bytes; at++) {
      if (at->end <= from) continue;
      from = at->end;
      agree = 0;
    }
    taken.list[i].at = at;
  }
  return from;
}

static void take(Occupancy *o, int node, int begin, int end, int first, int last, Span span) {
  add_span(o->arena, &o->node[node].within, span);
  if (first <= begin && end <= last) {
    add_span(o->arena, &o->node[node].during, span);
    return;
  }
  const int middle = begin + (end - begin) / 2;
  if (first <= middle) take(o, 2 * node, begin, middle, first, last, span);
  if (last > middle) take(o, 2 * node + 1, middle + 1, end, first, last, span);
}

void occupancy_take(Occupancy *o, int first, int last, int64_t offset, int64_t bytes) {
  take(o, ROOT, 0, o->n - 1, first, last, (Span){offset, offset + bytes});
}
