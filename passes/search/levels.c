#include "levels.h"

#include <math.h>
#include <stdlib.h>

// A function that reaches a variable: which of its variables that is.
typedef struct Touch { int function, place; } Touch;
typedef VEC(Touch) Touches;

typedef struct Step { // the states behind one variable
  int n;
  double *cost;        // until the next one is taken
  int *before, *value; // the state that each is made from, and the value of the variable
} Step;

typedef struct Levels {
  const Cfn *cfn;
  Arena *arena;       // for the steps
  Arena *now, *next;  // for what states are, behind the last variable and the next
  Touches *touches;   // by variable
  int *left;          // by function: variables without a value
  bool *changed;      // by variable: some of its functions were open before the one that is taken, and are not behind it
  VEC(int) open;      // variables that have values, and functions with variables that have none
  int *place;         // by variable that is open: its place among them
  int *state;         // [n * open.len]: a value for each of them, the first of those that their open functions see alike
  Step step;
  int64_t operations;
} Levels;

// ---- the order -----------------------------------------------------------------------------------------------------

static void list_touches(Levels *l) {
  const Cfn *cfn = l->cfn;
  l->touches = NEW_ARRAY(l->arena, Touches, cfn->variables.len);
  for (int f = 0; f < cfn->functions.len; f++)
    for (int i = 0; i < cfn->functions.at[f].arity; i++) vec_push(l->arena, &l->touches[cfn->functions.at[f].var[i]], (Touch){f, i});
}

static int *breadth_first(const Levels *l) {
  const Cfn *cfn = l->cfn;
  const int n = cfn->variables.len;
  int *order = NEW_ARRAY(l->arena, int, n), len = 0;
  bool *seen = NEW_ARRAY(l->arena, bool, n);
  for (int first = 0, at = 0; first < n; first++) {
    if (!seen[first]) order[len++] = first;
    seen[first] = true;
    for (; at < len; at++) {
      const Touches *touches = &l->touches[order[at]];
      for (int t = 0; t < touches->len; t++) {
        const CfnFunction *f = &cfn->functions.at[touches->at[t].function];
        for (int i = 0; i < f->arity; i++) {
          if (!seen[f->var[i]]) order[len++] = f->var[i];
          seen[f->var[i]] = true;
        }
      }
    }
  }
  return order;
}

// All that it has a function with are in the order.
static bool is_enclosed(const Levels *l, const bool *taken, int variable) {
  const Touches *touches = &l->touches[variable];
  for (int t = 0; t < touches->len; t++) {
    const CfnFunction *f = &l->cfn->functions.at[touches->at[t].function];
    for (int i = 0; i < f->arity; i++)
      if (f->var[i] != variable && !taken[f->var[i]]) return false;
  }
  return true;
}

// Level by level; but one that no further level depends on follows what it depends on: a parameter its operator.
static int *order_of(const Levels *l) {
  const int n = l->cfn->variables.len, *breadth = breadth_first(l);
  int *order = NEW_ARRAY(l->arena, int, n), len = 0;
  bool *taken = NEW_ARRAY(l->arena, bool, n);
  for (int i = 0; i < n; i++) {
    const Touches *touches = &l->touches[breadth[i]];
    if (taken[breadth[i]]) continue;
    taken[order[len++] = breadth[i]] = true;
    for (int t = 0; t < touches->len; t++) {
      const CfnFunction *f = &l->cfn->functions.at[touches->at[t].function];
      for (int k = 0; k < f->arity; k++)
        if (!taken[f->var[k]] && is_enclosed(l, taken, f->var[k])) taken[order[len++] = f->var[k]] = true;
    }
  }
  return order;
}

// ---- one variable --------------------------------------------------------------------------------------------------

static bool same_classes(const Cfn *cfn, const Touches *touches, int x, int y) {
  for (int t = 0; t < touches->len; t++) {
    const int *class_of = cfn->functions.at[touches->at[t].function].class_of[touches->at[t].place];
    if (class_of[x] != class_of[y]) return false;
  }
  return true;
}

// The cheapest value of those that all functions see alike, the first of equally cheap ones. Returns how many there are.
static int list_values(const Levels *l, int variable, int *values) {
  const CfnVariable *v = &l->cfn->variables.at[variable];
  int n = 0;
  for (int x = 0; x < v->n_values; x++) {
    int i = 0;
    while (i < n && !same_classes(l->cfn, &l->touches[variable], values[i], x)) i++;
    if (i == n) values[n++] = x;
    else if (v->cost[x] < v->cost[values[i]]) values[i] = x;
  }
  return n;
}

// A table from states to their numbers.
typedef struct StateSet {
  int *slot; // number + 1, or 0
  int cap, width;
} StateSet;

static uint64_t hash_of(const int *state, int width) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (int i = 0; i < width; i++) hash = (hash ^ (uint32_t)state[i]) * 0x100000001B3u;
  return hash ^ hash >> 29;
}

static int *find_slot(const StateSet *set, const int *states, const int *state) {
  const size_t size = sizeof *state * (size_t)set->width;
  uint64_t i = hash_of(state, set->width);
  for (;; i++) {
    int *slot = &set->slot[i & (uint64_t)(set->cap - 1)];
    if (*slot == 0 || memcmp(&states[(*slot - 1) * set->width], state, size) == 0) return slot;
  }
}

// What a variable does to states.
typedef struct Taking {
  int variable;
  int n_values, *values; // those that are tried
  double *own;           // what each of them costs by itself
  double **pair;         // by place of an open variable: what the functions of the two cost, [its value][value tried]; or NULL
  VEC(int) larger;       // functions of three and more that get their last value
  VEC(int) open;         // variables that are open behind it
  int **alike;           // by place behind it: for each value the first one that open functions see alike; NULL: itself
} Taking;

static Touches open_touches(const Levels *l, int variable) {
  Touches open = {0};
  for (int t = 0; t < l->touches[variable].len; t++)
    if (l->left[l->touches[variable].at[t].function] > 0) vec_push(l->next, &open, l->touches[variable].at[t]);
  return open;
}

static int *values_alike(const Levels *l, int variable, const Touches *open) {
  int *first = NEW_ARRAY(l->next, int, l->cfn->variables.at[variable].n_values);
  for (int x = 0; x < l->cfn->variables.at[variable].n_values; x++)
    while (first[x] < x && (first[first[x]] != first[x] || !same_classes(l->cfn, open, first[x], x))) first[x]++;
  return first;
}

static void add_pair(Levels *l, Taking *t, const CfnFunction *f, int place) {
  const int other = f->var[1 - place], n_other = l->cfn->variables.at[other].n_values;
  double **pair = &t->pair[l->place[other]];
  if (*pair == NULL) *pair = NEW_ARRAY(l->next, double, n_other * t->n_values);
  for (int y = 0; y < n_other; y++)
    for (int x = 0; x < t->n_values; x++) {
      const int mine = f->class_of[place][t->values[x]], its = f->class_of[1 - place][y];
      (*pair)[y * t->n_values + x] += f->cost[place == 0 ? mine * f->n_classes[1] + its : its * f->n_classes[1] + mine];
    }
}

static void close_functions(Levels *l, Taking *t) {
  const Touches *touches = &l->touches[t->variable];
  for (int i = 0; i < touches->len; i++) {
    const CfnFunction *f = &l->cfn->functions.at[touches->at[i].function];
    if (--l->left[touches->at[i].function] > 0) continue;
    for (int k = 0; k < f->arity; k++) l->changed[f->var[k]] = true;
    if (f->arity == 2) add_pair(l, t, f, touches->at[i].place);
    else if (f->arity > 2) vec_push(l->next, &t->larger, touches->at[i].function);
    for (int x = 0; f->arity == 1 && x < t->n_values; x++) t->own[x] += f->cost[f->class_of[0][t->values[x]]];
  }
}

static Taking begin(Levels *l, int variable) {
  Taking t = {.variable = variable, .pair = NEW_ARRAY(l->next, double *, l->open.len), .alike = NEW_ARRAY(l->next, int *, l->open.len + 1)};
  t.values = NEW_ARRAY(l->next, int, l->cfn->variables.at[variable].n_values);
  t.n_values = list_values(l, variable, t.values);
  t.own = NEW_ARRAY(l->next, double, t.n_values);
  for (int x = 0; x < t.n_values; x++) t.own[x] = l->cfn->variables.at[variable].cost[t.values[x]];
  close_functions(l, &t);
  for (int i = 0; i <= l->open.len; i++) {
    const int v = i < l->open.len ? l->open.at[i] : variable;
    const Touches open = open_touches(l, v);
    if (open.len == 0) continue;
    if (l->changed[v] || v == variable) t.alike[t.open.len] = values_alike(l, v, &open);
    l->changed[v] = false;
    vec_push(l->next, &t.open, v);
  }
  return t;
}

static double larger_cost(const Levels *l, const Taking *t, const int *state, int value) {
  double cost = 0;
  for (int i = 0; i < t->larger.len; i++) {
    const CfnFunction *f = &l->cfn->functions.at[t->larger.at[i]];
    int64_t entry = 0;
    for (int k = 0; k < f->arity; k++)
      entry = entry * f->n_classes[k] + f->class_of[k][f->var[k] == t->variable ? value : state[l->place[f->var[k]]]];
    cost += f->cost[entry];
  }
  return cost;
}

static double cost_with(const Levels *l, const Taking *t, int s, int x) {
  const int *state = &l->state[s * l->open.len];
  double cost = l->step.cost[s] + t->own[x];
  for (int i = 0; i < l->open.len; i++)
    if (t->pair[i] != NULL) cost += t->pair[i][state[i] * t->n_values + x];
  return cost + larger_cost(l, t, state, t->values[x]);
}

static void write_state(const Levels *l, const Taking *t, int s, int value, int *written) {
  for (int i = 0; i < t->open.len; i++) {
    const int v = t->open.at[i];
    const int its = v == t->variable ? value : l->state[s * l->open.len + l->place[v]];
    written[i] = t->alike[i] != NULL ? t->alike[i][its] : its;
  }
}

static int power_of_two(int64_t n) {
  int64_t power = 16;
  while (power < n) power *= 2;
  if (power > INT32_MAX) fatal("plan: too many states of a level");
  return (int)power;
}

static void extend(Levels *l, const Taking *t) {
  const int width = t->open.len, most = l->step.n * t->n_values;
  int *states = NEW_ARRAY(l->next, int, most * width + 1);
  StateSet set = {NULL, power_of_two(2 * (int64_t)most), width};
  set.slot = NEW_ARRAY(l->next, int, set.cap);
  Step step = {0, NEW_ARRAY(l->next, double, most), NEW_ARRAY(l->next, int, most), NEW_ARRAY(l->next, int, most)};
  for (int s = 0; s < l->step.n; s++)
    for (int x = 0; x < t->n_values; x++) {
      int *state = &states[step.n * width];
      const double cost = cost_with(l, t, s, x);
      if (!isfinite(cost)) continue;
      write_state(l, t, s, t->values[x], state);
      int *slot = find_slot(&set, states, state);
      const int number = *slot == 0 ? step.n : *slot - 1;
      if (*slot != 0 && step.cost[number] <= cost) continue;
      if (*slot == 0) *slot = ++step.n;
      step.cost[number] = cost;
      step.before[number] = s;
      step.value[number] = t->values[x];
    }
  step.before = arena_copy(l->arena, step.before, sizeof *step.before * (size_t)step.n);
  step.value = arena_copy(l->arena, step.value, sizeof *step.value * (size_t)step.n);
  l->operations += most;
  l->state = states;
  l->step = step;
}

// ---- all of them ---------------------------------------------------------------------------------------------------

static void take(Levels *l, int variable) {
  const Taking t = begin(l, variable);
  extend(l, &t);
  l->open.len = 0;
  for (int i = 0; i < t.open.len; i++) {
    l->place[t.open.at[i]] = i;
    vec_push(l->arena, &l->open, t.open.at[i]);
  }
  Arena *done = l->now;
  l->now = l->next;
  l->next = done;
  arena_reset(l->next);
}

static void begin_levels(Levels *l) {
  const Cfn *cfn = l->cfn;
  list_touches(l);
  l->left = NEW_ARRAY(l->arena, int, cfn->functions.len);
  l->place = NEW_ARRAY(l->arena, int, cfn->variables.len);
  l->changed = NEW_ARRAY(l->arena, bool, cfn->variables.len);
  for (int f = 0; f < cfn->functions.len; f++) l->left[f] = cfn->functions.at[f].arity;
  l->step = (Step){1, NEW_ARRAY(l->arena, double, 1), NULL, NULL};
}

CfnSolution levels_solve(Arena *arena, const Cfn *cfn, int max_states) {
  if (cfn->n_limits > 0) fatal("plan: levels know no limits");
  const int n = cfn->variables.len;
  Levels levels = {.cfn = cfn, .arena = arena_new(), .now = arena_new(), .next = arena_new()}, *l = &levels;
  CfnSolution solution = {.cost = INFINITY, .bound = 0};
  begin_levels(l);
  const int *order = order_of(l);
  Step *steps = NEW_ARRAY(l->arena, Step, n);
  int taken = 0;
  for (; taken < n && l->step.n <= max_states; taken++) {
    take(l, order[taken]);
    steps[taken] = l->step;
  }
  solution.operations = l->operations;
  solution.feasible = taken == n && l->step.n > 0;
  if (solution.feasible) {
    solution.value = NEW_ARRAY(arena, int, n);
    for (int i = n - 1, s = 0; i >= 0; s = steps[i--].before[s]) solution.value[order[i]] = steps[i].value[s];
    solution.cost = solution.bound = cfn_cost(cfn, solution.value);
    solution.eliminated = n;
  }
  arena_free(l->arena);
  arena_free(l->now);
  arena_free(l->next);
  return solution;
}
