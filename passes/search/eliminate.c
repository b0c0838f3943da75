#include "eliminate.h"

#include <math.h>

enum { MOST_ROUNDS = 100 };

double elimination_cost(const EliminationGraph *graph, const int *value) {
  double cost = 0;
  for (int i = 0; i < graph->nodes.len; i++) cost += graph->nodes.at[i].cost[value[i]];
  for (int i = 0; i < graph->edges.len; i++) {
    const EliminationEdge *e = &graph->edges.at[i];
    cost += e->cost[value[e->from] * graph->nodes.at[e->to].n_values + value[e->to]];
  }
  return cost;
}

// ---- what is left of a graph ---------------------------------------------------------------------------------------

// Tables that node and edge eliminations made of others.
typedef struct MadeNode { const double *in, *node, *out, *cost; } MadeNode;
typedef struct MadeEdge { const double *first, *second, *cost; } MadeEdge;

typedef struct Eliminated { EliminationEdge in, out; } Eliminated; // the node between them, which chooses by its two neighbours

typedef VEC(int) Ints;

typedef struct Reduction {
  const EliminationGraph *graph;
  Arena *arena;
  VEC(EliminationEdge) edges;
  Ints *in, *out; // by node: its edges
  bool *gone;        // by node
  VEC(Eliminated) order;
  VEC(MadeNode) made_nodes;
  VEC(MadeEdge) made_edges;
  int edge_eliminations;
} Reduction;

static int values_of(const Reduction *r, int node) { return r->graph->nodes.at[node].n_values; }

static const double *sum_of(Reduction *r, const double *first, const double *second, int n) {
  for (int i = 0; i < r->made_edges.len; i++)
    if (r->made_edges.at[i].first == first && r->made_edges.at[i].second == second) return r->made_edges.at[i].cost;
  double *cost = NEW_ARRAY(r->arena, double, n);
  for (int i = 0; i < n; i++) cost[i] = first[i] + second[i];
  vec_push(r->arena, &r->made_edges, (MadeEdge){first, second, cost});
  return cost;
}

static void add_edge(Reduction *r, EliminationEdge edge) {
  vec_push(r->arena, &r->out[edge.from], r->edges.len);
  vec_push(r->arena, &r->in[edge.to], r->edges.len);
  vec_push(r->arena, &r->edges, edge);
}

// An edge beside another with the same ends is added to it: edge elimination.
static void join_edge(Reduction *r, EliminationEdge edge) {
  for (int i = 0; i < r->out[edge.from].len; i++) {
    EliminationEdge *other = &r->edges.at[r->out[edge.from].at[i]];
    if (other->to != edge.to) continue;
    other->cost = sum_of(r, other->cost, edge.cost, values_of(r, edge.from) * values_of(r, edge.to));
    r->edge_eliminations++;
    return;
  }
  add_edge(r, edge);
}

static void remove_number(Ints *list, int number) {
  int n = 0;
  for (int i = 0; i < list->len; i++)
    if (list->at[i] != number) list->at[n++] = list->at[i];
  list->len = n;
}

// Equation 2 of the paper: for every choice of both neighbours the best of the node between them.
static const double *least_between(Reduction *r, const EliminationEdge *in, const EliminationEdge *out) {
  const int from = values_of(r, in->from), node = values_of(r, in->to), to = values_of(r, out->to);
  double *cost = NEW_ARRAY(r->arena, double, from * to);
  for (int x = 0; x < from; x++) {
    double *least = cost + x * to;
    for (int z = 0; z < to; z++) least[z] = INFINITY;
    for (int y = 0; y < node; y++) {
      const double before = in->cost[x * node + y] + r->graph->nodes.at[in->to].cost[y];
      const double *after = out->cost + y * to;
      for (int z = 0; z < to; z++) least[z] = before + after[z] < least[z] ? before + after[z] : least[z];
    }
  }
  return cost;
}

// What the node between two edges then chooses: the first of its best values.
static int choose_between(const Reduction *r, const Eliminated *e, int x, int z) {
  const int node = values_of(r, e->in.to), to = values_of(r, e->out.to);
  double least = INFINITY;
  int best = 0;
  for (int y = 0; y < node; y++) {
    const double cost = e->in.cost[x * node + y] + r->graph->nodes.at[e->in.to].cost[y] + e->out.cost[y * to + z];
    if (cost < least) least = cost, best = y;
  }
  return best;
}

static const double *table_between(Reduction *r, const EliminationEdge *in, const EliminationEdge *out) {
  const double *own = r->graph->nodes.at[in->to].cost;
  for (int i = 0; i < r->made_nodes.len; i++) {
    const MadeNode *made = &r->made_nodes.at[i];
    if (made->in == in->cost && made->node == own && made->out == out->cost) return made->cost;
  }
  const double *cost = least_between(r, in, out);
  vec_push(r->arena, &r->made_nodes, (MadeNode){in->cost, own, out->cost, cost});
  return cost;
}

static bool eliminate_node(Reduction *r, int node) {
  if (r->gone[node] || r->in[node].len != 1 || r->out[node].len != 1) return false;
  const int i = r->in[node].at[0], o = r->out[node].at[0];
  const EliminationEdge in = r->edges.at[i], out = r->edges.at[o];
  vec_push(r->arena, &r->order, (Eliminated){in, out});
  r->gone[node] = true;
  remove_number(&r->out[in.from], i);
  remove_number(&r->in[out.to], o);
  join_edge(r, (EliminationEdge){in.from, out.to, table_between(r, &in, &out)});
  return true;
}

static Reduction reduction_new(const EliminationGraph *graph, void (*add)(Reduction *r, EliminationEdge edge)) {
  Reduction r = {.graph = graph, .arena = graph->arena};
  const int n = graph->nodes.len;
  r.in = NEW_ARRAY(r.arena, Ints, n);
  r.out = NEW_ARRAY(r.arena, Ints, n);
  r.gone = NEW_ARRAY(r.arena, bool, n);
  for (int i = 0; i < graph->edges.len; i++) {
    if (graph->edges.at[i].from >= graph->edges.at[i].to) fatal("elimination: an edge leads back");
    add(&r, graph->edges.at[i]);
  }
  return r;
}

// ---- depth first ---------------------------------------------------------------------------------------------------

// The nodes that are left, and for each the edges that lead to it.
typedef struct Search {
  const Reduction *r;
  Ints nodes;
  double *rest;   // by position: what those from there on cost at least
  double **added; // by position: what each value of the node adds, and ...
  int **order;    // ... the values, cheapest first
  int *value, *best;
  double least;
  int64_t budget; // partial choices that may still be looked at
  bool cut;       // some were left out for the budget's sake
} Search;

static double edge_cost(const Search *s, int edge, int from, int to) {
  const EliminationEdge *e = &s->r->edges.at[edge];
  return e->cost[from * values_of(s->r, e->to) + to];
}

// What a node adds at least whatever those before it choose.
static double least_added(const Search *s, int node) {
  double least = INFINITY;
  for (int y = 0; y < values_of(s->r, node); y++) {
    double cost = s->r->graph->nodes.at[node].cost[y];
    for (int i = 0; i < s->r->in[node].len; i++) {
      const int edge = s->r->in[node].at[i];
      double cheapest = INFINITY;
      for (int x = 0; x < values_of(s->r, s->r->edges.at[edge].from); x++) cheapest = fmin(cheapest, edge_cost(s, edge, x, y));
      cost += cheapest;
    }
    least = fmin(least, cost);
  }
  return least;
}

// Puts the values of a node in order of what they add to those chosen before it; equal ones as they are numbered.
static void order_values(Search *s, int position) {
  const int node = s->nodes.at[position];
  double *added = s->added[position];
  int *order = s->order[position];
  for (int y = 0; y < values_of(s->r, node); y++) {
    added[y] = s->r->graph->nodes.at[node].cost[y];
    for (int i = 0; i < s->r->in[node].len; i++) {
      const int edge = s->r->in[node].at[i];
      added[y] += edge_cost(s, edge, s->value[s->r->edges.at[edge].from], y);
    }
    int at = y;
    for (; at > 0 && added[order[at - 1]] > added[y]; at--) order[at] = order[at - 1];
    order[at] = y;
  }
}

static void go_deeper(Search *s, int position, double cost) {
  if (position == s->nodes.len) {
    if (cost >= s->least) return;
    s->least = cost;
    memcpy(s->best, s->value, sizeof *s->value * (size_t)s->r->graph->nodes.len);
    return;
  }
  const int node = s->nodes.at[position], n = values_of(s->r, node);
  order_values(s, position);
  s->budget -= n;
  for (int i = 0; i < n; i++) {
    const int y = s->order[position][i];
    const double so_far = cost + s->added[position][y];
    if (so_far + s->rest[position + 1] >= s->least) return; // as those behind it
    if (s->budget <= 0 && s->least < INFINITY) {
      s->cut = true;
      return;
    }
    s->value[node] = y;
    go_deeper(s, position + 1, so_far);
  }
}

// What a node adds with one of its values, as its neighbours are.
static double added_beside(const Search *s, int node, int y) {
  const Ints *in = &s->r->in[node], *out = &s->r->out[node];
  double cost = s->r->graph->nodes.at[node].cost[y];
  for (int i = 0; i < in->len; i++) cost += edge_cost(s, in->at[i], s->best[s->r->edges.at[in->at[i]].from], y);
  for (int i = 0; i < out->len; i++) cost += edge_cost(s, out->at[i], y, s->best[s->r->edges.at[out->at[i]].to]);
  return cost;
}

// One node after the other takes what suits its neighbours best, until nothing changes.
static void improve(Search *s) {
  bool changed = true;
  for (int round = 0; changed && round < MOST_ROUNDS; round++) {
    changed = false;
    for (int i = 0; i < s->nodes.len; i++) {
      const int node = s->nodes.at[i], was = s->best[node];
      double least = added_beside(s, node, was);
      for (int y = 0; y < values_of(s->r, node); y++) {
        const double cost = added_beside(s, node, y);
        if (cost < least) least = cost, s->best[node] = y;
      }
      changed |= s->best[node] != was;
    }
  }
}

static Search search_left(const Reduction *r, int64_t budget) {
  Search s = {.r = r, .least = INFINITY, .budget = budget};
  const int n = r->graph->nodes.len;
  for (int i = 0; i < n; i++)
    if (!r->gone[i]) vec_push(r->arena, &s.nodes, i);
  s.rest = NEW_ARRAY(r->arena, double, s.nodes.len + 1);
  s.added = NEW_ARRAY(r->arena, double *, s.nodes.len);
  s.order = NEW_ARRAY(r->arena, int *, s.nodes.len);
  s.value = NEW_ARRAY(r->arena, int, n);
  s.best = NEW_ARRAY(r->arena, int, n);
  for (int i = s.nodes.len - 1; i >= 0; i--) {
    s.rest[i] = s.rest[i + 1] + least_added(&s, s.nodes.at[i]);
    s.added[i] = NEW_ARRAY(r->arena, double, values_of(r, s.nodes.at[i]));
    s.order[i] = NEW_ARRAY(r->arena, int, values_of(r, s.nodes.at[i]));
  }
  go_deeper(&s, 0, 0);
  if (s.cut) improve(&s);
  return s;
}

// ---- all of it -----------------------------------------------------------------------------------------------------

static Elimination solve(const Reduction *r, int64_t budget) {
  const Search s = search_left(r, budget);
  for (int i = r->order.len - 1; i >= 0; i--) {
    const Eliminated *e = &r->order.at[i];
    s.best[e->in.to] = choose_between(r, e, s.best[e->in.from], s.best[e->out.to]);
  }
  const double cost = elimination_cost(r->graph, s.best);
  return (Elimination){.value = s.best, .cost = cost, .bound = s.cut ? fmin(cost, s.rest[0]) : cost, .kept = s.nodes.len,
                       .node_eliminations = r->order.len, .edge_eliminations = r->edge_eliminations};
}

Elimination eliminate(const EliminationGraph *graph, int64_t budget) {
  Reduction r = reduction_new(graph, join_edge);
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < graph->nodes.len; i++) changed |= eliminate_node(&r, i);
  }
  return solve(&r, budget);
}

Elimination eliminate_nothing(const EliminationGraph *graph, int64_t budget) {
  const Reduction r = reduction_new(graph, add_edge);
  return solve(&r, budget);
}
