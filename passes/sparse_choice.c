// Which gradients that can be rows are to be: of few rows against those of the table, and on a machine only those with which a step of data
// parallelism takes less. Whole, a gradient is summed over all ranks, and every row of the table is updated; as rows, these and their values
// are gathered, those that are the same are looked for, and the rows that come up are updated (cost.c counts each once, where it is known how
// they spread). So small tables, which take no longer to send than rows take to launch, go as a whole. Tables that are alike are asked about once.
//
// Rows that are the same on one rank are all sent: how much a message has is known before a program runs, so that there would have to be
// room for as many sums as places, or as rows of the table, which is the whole gradient.
#include "plan_weights.h"
#include "pricing.h"
#include "sparse.h"

#include <math.h>

// To find rows that are the same each is held against each, which is to take less than a pass over the table: of one of its elements that
// reads the gradient and reads and writes the parameter.
static bool are_few(const Tensor *table, int64_t rows) {
  enum { COMPARISONS = 8 }; // of two numbers in the cache, in the time of that
  return rows <= COMPARISONS * tensor_elements(table) / rows;
}

typedef struct Candidate {
  int gradient, param; // tensors
  int64_t rows;
  int terms, updates, totals;
  bool chosen;
} Candidate;
typedef VEC(Candidate) Candidates;

static Candidates find_candidates(const Compilation *c, Arena *arena) {
  Candidates found = {0};
  Sparse sparse = sparse_new(c->model->train, arena), *s = &sparse;
  for (int t = 0; t < s->n_tensors; t++) {
    if (graph_tensor(s->graph, t)->role != ROLE_GRADIENT || !sparse_analyse(s, t)) continue;
    const Candidate candidate = {t, s->param, s->rows, s->terms.len, s->updates.len, s->totals.len, true};
    if (are_few(graph_tensor(s->graph, s->param), s->rows)) vec_push(arena, &found, candidate);
  }
  return found;
}

// ---- by cost -------------------------------------------------------------------------------------------------------

// Of a step of data parallelism, in which one gradient is rows; -1: none is.
static double step_seconds(const Compilation *c, int gradient) {
  Arena *arena = arena_new();
  Model model = *c->model;
  Compilation copy = *c;
  copy.arena = arena;
  copy.model = &model;
  model.train = graph_copy(arena, c->model->train);
  bool *chosen = NEW_ARRAY(arena, bool, model.train->tensors.len);
  if (gradient >= 0) {
    chosen[gradient] = true;
    sparse_make(model.train, chosen);
  }
  Plan plan = {.model = model.name, .mesh = c->mesh};
  plan_make_data(arena, &model, &plan);
  const double seconds = pricing_of(pricing_new(&copy), &plan, INFINITY).seconds;
  arena_free(arena);
  return seconds;
}

static bool spread_alike(const Spread *a, const Spread *b) {
  if (a == NULL || b == NULL) return a == b;
  return a->n == b->n && memcmp(a->classes, b->classes, sizeof *a->classes * (size_t)a->n) == 0;
}

static bool are_alike(const Graph *graph, const Candidate *a, const Candidate *b) {
  const Tensor *x = graph_tensor(graph, a->param), *y = graph_tensor(graph, b->param);
  bool same = a->rows == b->rows && a->terms == b->terms && a->updates == b->updates && a->totals == b->totals && x->rank == y->rank;
  for (int d = 0; d < x->rank && same; d++) same = x->extent[d] == y->extent[d];
  return same && spread_alike(x->spread, y->spread);
}

static void choose_by_cost(const Compilation *c, Candidates *candidates) {
  const double whole = candidates->len > 0 ? step_seconds(c, -1) : 0;
  for (int i = 0; i < candidates->len; i++) {
    Candidate *candidate = &candidates->at[i];
    int like = 0;
    while (!are_alike(c->model->train, &candidates->at[like], candidate)) like++;
    candidate->chosen = like < i ? candidates->at[like].chosen : step_seconds(c, candidate->gradient) < whole;
  }
}

// ---- the choice ----------------------------------------------------------------------------------------------------

const bool *sparse_choose(const Compilation *c, Arena *arena) {
  const Graph *train = c->model->train;
  bool *chosen = NEW_ARRAY(arena, bool, train->tensors.len);
  Candidates candidates = find_candidates(c, arena);
  // What a model says itself of its plan may be wrong, which is told when it is planned.
  if (c->machine != NULL && c->model->shards.len == 0) choose_by_cost(c, &candidates);
  for (int i = 0; i < candidates.len; i++) chosen[candidates.at[i].gradient] = candidates.at[i].chosen;
  return chosen;
}
