// Depth first over the classes of the neighbours, with a row of sums over the classes of the variable: what functions of the first
// neighbours come to is added up once for all classes of the others, and the least of what follows is handed back row by row. Costs are whole
// numbers, so that the order in which they are added does not matter. What is outside and more than the slack is passed over: near an optimum
// that is most of it.
#include "cfn_outward.h"

typedef struct Term { // a function: rows over the variable's classes, one for each class of its neighbours
  int n, last;        // neighbours, and the last of them; 0: it has none
  int *neighbour;     // [n]
  int64_t **row_of;   // [n] by its class
  int64_t n_rows;
  int64_t *entry;     // [n_rows] where it begins in the table
  int64_t *column;    // [width] where each class lies from there; NULL: the function does not have the variable
  double *at;         // [n_rows * width]
  double *least;      // [n_rows * width] of the sums with each of them; NULL: it is no message
  int64_t row;        // at hand
} Term;

typedef struct Walk {
  const Joined *joined;
  int width; // classes of the variable
  int n;     // functions with it
  Term *term, outside;
  const double *beyond;  // what is outside; NULL: nothing
  int *class;            // by neighbour
  double **sum, **least; // [width] by the last neighbour whose class is chosen
} Walk;

// ---- rows ----------------------------------------------------------------------------------------------------------

static int local_of(const Joined *j, int x) {
  int v = 0;
  while (j->var[v] != x) v++;
  return v;
}

static void list_entries(Term *term, const NetFn *fn, int own, Arena *arena) {
  term->entry = NEW_ARRAY(arena, int64_t, term->n_rows);
  for (int64_t row = 0; row < term->n_rows; row++) {
    int64_t rest = row, stride = 1;
    for (int k = fn->arity - 1; k >= 0; stride *= fn->table->dim[k--]) {
      if (fn->var[k] == own) continue;
      term->entry[row] += rest % fn->table->dim[k] * stride;
      rest /= fn->table->dim[k];
    }
  }
}

// Rows stand in the order of the table without the variable's axis.
static Term term_of(const Joined *j, const NetFn *fn, Arena *arena) {
  Term term = {.n_rows = 1, .neighbour = NEW_ARRAY(arena, int, fn->arity), .row_of = NEW_ARRAY(arena, int64_t *, fn->arity)};
  int64_t stride = 1;
  for (int k = fn->arity - 1; k >= 0; stride *= fn->table->dim[k--]) {
    const int v = local_of(j, fn->var[k]);
    const NetClasses *classes = j->classes[v];
    int64_t *of = NEW_ARRAY(arena, int64_t, classes->map->classes);
    for (int c = 0; c < classes->map->classes; c++) of[c] = fn->map[k]->of[classes->first[c]] * (v == 0 ? stride : term.n_rows);
    if (v == 0) {
      term.column = of;
      continue;
    }
    term.neighbour[term.n] = v;
    term.row_of[term.n++] = of;
    term.n_rows *= fn->table->dim[k];
    term.last = v > term.last ? v : term.last;
  }
  return term;
}

static Term filled_term(const Joined *j, const NetFn *fn, bool message, Arena *arena) {
  Term term = term_of(j, fn, arena);
  const int width = j->classes[0]->map->classes;
  const int64_t size = term.n_rows * width;
  list_entries(&term, fn, j->var[0], arena);
  term.at = NEW_ARRAY(arena, double, size);
  for (int64_t row = 0; row < term.n_rows; row++)
    for (int c = 0; c < width; c++) term.at[row * width + c] = fn->table->at[term.entry[row] + term.column[c]];
  if (message) term.least = NEW_ARRAY(arena, double, size);
  for (int64_t i = 0; i < size && message; i++) term.least[i] = INFINITY;
  return term;
}

static int64_t row_at_hand(const Walk *w, const Term *term) {
  int64_t row = 0;
  for (int k = 0; k < term->n; k++) row += term->row_of[k][w->class[term->neighbour[k]]];
  return row;
}

// ---- the walk ------------------------------------------------------------------------------------------------------

static void add_row(double *restrict sum, const double *restrict row, int n) {
  for (int c = 0; c < n; c++) sum[c] += row[c];
}

static void lower(double *restrict least, const double *restrict row, int n) {
  for (int c = 0; c < n; c++) least[c] = row[c] < least[c] ? row[c] : least[c];
}

// Adds what is known once the class of neighbour v is. False: that is more than the slack.
static bool add_known(Walk *w, int v, const double *before) {
  const double beyond = w->beyond != NULL && w->outside.last == v ? w->beyond[row_at_hand(w, &w->outside)] : 0;
  if (beyond == INFINITY) return false;
  for (int c = 0; c < w->width; c++) w->sum[v][c] = before[c] + beyond;
  for (int i = 0; i < w->n; i++) {
    Term *term = &w->term[i];
    if (term->last != v) continue;
    term->row = row_at_hand(w, term) * w->width;
    add_row(w->sum[v], &term->at[term->row], w->width);
  }
  return true;
}

// The least of all sums with the classes that neighbours up to v have, by class of the variable; before: of what is known without that of
// v. NULL: none is within the slack.
static const double *descend(Walk *w, int v, const double *before) {
  const double *least = w->sum[v];
  if (!add_known(w, v, before)) return NULL;
  if (v + 1 < w->joined->n) {
    double *all = w->least[v];
    least = all;
    for (int c = 0; c < w->width; c++) all[c] = INFINITY;
    for (int class = 0; class < w->joined->classes[v + 1]->map->classes; class++) {
      w->class[v + 1] = class;
      const double *next = descend(w, v + 1, w->sum[v]);
      if (next != NULL) lower(all, next, w->width);
    }
  }
  for (int i = 0; i < w->n; i++)
    if (w->term[i].last == v && w->term[i].least != NULL) lower(&w->term[i].least[w->term[i].row], least, w->width);
  return least;
}

static Walk walk_of(const Part *part, const Joined *j, Arena *arena) {
  Walk w = {.joined = j, .width = j->classes[0]->map->classes, .n = part->n, .term = NEW_ARRAY(arena, Term, part->n), .class = NEW_ARRAY(arena, int, j->n)};
  for (int i = 0; i < part->n; i++) w.term[i] = filled_term(j, part->fns[i], part->message[i], arena);
  if (part->outside != NULL) {
    w.outside = term_of(j, part->outside, arena);
    w.beyond = part->outside->table->at;
  }
  w.sum = NEW_ARRAY(arena, double *, j->n);
  w.least = NEW_ARRAY(arena, double *, j->n);
  for (int v = 0; v < j->n; v++) {
    w.sum[v] = NEW_ARRAY(arena, double, w.width);
    w.least[v] = NEW_ARRAY(arena, double, w.width);
  }
  return w;
}

// ---- what comes of it ----------------------------------------------------------------------------------------------

static double least_of(const double *at, int64_t n) {
  double least = INFINITY;
  for (int64_t i = 0; i < n; i++) least = at[i] < least ? at[i] : least;
  return least;
}

static void subtract(double *at, int64_t n, double less) {
  for (int64_t i = 0; i < n && less < INFINITY; i++) at[i] -= less;
}

static double *own_costs(const Net *net, const Part *part, const Joined *j) {
  const NetMap *map = j->classes[0]->map;
  double *own = NEW_ARRAY(net->scratch, double, map->classes);
  for (int c = 0; c < map->classes; c++) own[c] = INFINITY;
  for (int v = 0; v < map->n; v++) {
    const double cost = part->cost == NULL ? 0 : part->cost->at[v];
    own[map->of[v]] = cost < own[map->of[v]] ? cost : own[map->of[v]];
  }
  return own;
}

// What is outside of a message: the sums without it, of those that are within `most`.
static const NetTable *outside_of(Net *net, const NetFn *fn, const Term *term, int width, double most) {
  const NetTable *table = fn->table;
  double *out = NEW_ARRAY(net->scratch, double, table->size);
  for (int64_t i = 0; i < table->size; i++) out[i] = INFINITY;
  for (int64_t row = 0; row < term->n_rows; row++)
    for (int c = 0; c < width; c++) {
      double *to = &out[term->entry[row] + term->column[c]];
      const int64_t i = row * width + c;
      const double rest = term->least[i] < INFINITY && term->least[i] <= most ? term->least[i] - term->at[i] : INFINITY;
      *to = rest < *to ? rest : *to;
    }
  subtract(out, table->size, least_of(out, table->size));
  return net_table(net, table->arity, table->dim, out);
}

const Outward *outward_of(Net *net, const Part *part, const Joined *j, double slack) {
  Walk w = walk_of(part, j, net->scratch);
  Outward *made = NEW(net->arena, Outward);
  const double *all = descend(&w, 0, own_costs(net, part, j)), best = least_of(all, w.width);
  double *marginal = arena_copy(net->arena, all, sizeof *all * (size_t)w.width);
  subtract(marginal, w.width, best);
  *made = (Outward){marginal, j->classes[0], NEW_ARRAY(net->arena, const NetTable *, part->n)};
  for (int i = 0; i < part->n; i++)
    if (part->message[i]) made->out[i] = outside_of(net, part->fns[i], &w.term[i], w.width, best + slack);
  return made;
}
