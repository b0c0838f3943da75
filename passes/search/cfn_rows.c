// The minimum over the classes of a variable of sums of rows, one row from each function. The rows are laid out once; what functions of the
// first neighbours come to is added up once for all classes of the others.
#include "cfn_message.h"

typedef struct Term { // a function with x: rows over x's classes, one row for each class of its neighbours
  double *rows;
  int last; // of its neighbours; -1: none
  int n;
  int *neighbour;   // [n] ascending
  int64_t **offset; // [n][classes of the neighbour in the joint]
} Term;

static int local_of(const Joint *joint, int y) {
  int j = 0;
  while (joint->var[j] != y) j++;
  return j;
}

static Term term_of(const Maker *maker, const Joint *joint, int x, const NetFn *f) {
  Arena *arena = maker->net->scratch;
  const int width = joint->own->map->classes;
  Term term = {
      .last = -1, .neighbour = NEW_ARRAY(arena, int, f->arity), .offset = NEW_ARRAY(arena, int64_t *, f->arity)};
  int64_t rows = 1, stride = 1, own_stride = 1;
  int64_t *from = NEW_ARRAY(arena, int64_t, f->arity); // of the neighbours' axes in f's table
  int *dim = NEW_ARRAY(arena, int, f->arity), *index = NEW_ARRAY(arena, int, f->arity), own = 0;
  for (int k = f->arity - 1; k >= 0; k--) {
    if (f->var[k] == x) own = k, own_stride = stride;
    else {
      const int j = local_of(joint, f->var[k]);
      const NetClasses *classes = joint->classes[j];
      int64_t *offset = NEW_ARRAY(arena, int64_t, classes->map->classes);
      for (int c = 0; c < classes->map->classes; c++) offset[c] = f->map[k]->of[classes->first[c]] * rows * width;
      term.neighbour[term.n] = j;
      term.offset[term.n] = offset;
      from[term.n] = stride;
      dim[term.n++] = f->table->dim[k];
      rows *= f->table->dim[k];
      term.last = j > term.last ? j : term.last;
    }
    stride *= f->table->dim[k];
  }
  int64_t *column = NEW_ARRAY(arena, int64_t, width);
  for (int c = 0; c < width; c++) column[c] = f->map[own]->of[joint->own->first[c]] * own_stride;
  term.rows = NEW_ARRAY(arena, double, rows *width);
  for (int64_t row = 0; row < rows; row++) {
    int64_t base = 0;
    for (int k = 0; k < term.n; k++) base += index[k] * from[k];
    for (int c = 0; c < width; c++) term.rows[row * width + c] = f->table->at[base + column[c]];
    for (int k = 0; k < term.n && ++index[k] == dim[k]; k++) index[k] = 0; // the first neighbour is the innermost
  }
  return term;
}

// The row for these classes of the first neighbours, up to number `upto`.
static const double *term_row(const Term *term, const int *index, int upto) {
  const double *row = term->rows;
  for (int k = 0; k < term->n; k++)
    if (term->neighbour[k] < upto) row += term->offset[k][index[term->neighbour[k]]];
  return row;
}

static const int64_t *term_offset(const Term *term, int neighbour) {
  int k = 0;
  while (term->neighbour[k] != neighbour) k++;
  return term->offset[k];
}

static double row_min(const double *a, int n) {
  double least = INFINITY;
  for (int c = 0; c < n; c++) least = a[c] < least ? a[c] : least;
  return least;
}

static double row_min_sum(const double *restrict a, const double *restrict b, int n) {
  double l0 = INFINITY, l1 = INFINITY, l2 = INFINITY, l3 = INFINITY;
  int c = 0;
  for (; c + 4 <= n; c += 4) {
    const double s0 = a[c] + b[c], s1 = a[c + 1] + b[c + 1], s2 = a[c + 2] + b[c + 2], s3 = a[c + 3] + b[c + 3];
    l0 = s0 < l0 ? s0 : l0, l1 = s1 < l1 ? s1 : l1, l2 = s2 < l2 ? s2 : l2, l3 = s3 < l3 ? s3 : l3;
  }
  for (; c < n; c++) l0 = a[c] + b[c] < l0 ? a[c] + b[c] : l0;
  l0 = l1 < l0 ? l1 : l0, l2 = l3 < l2 ? l3 : l2;
  return l2 < l0 ? l2 : l0;
}

// Sorts by the last neighbour; start[d + 1]: how many end before neighbour d.
static void stable_by_last(Term *term, int n, const int *start, Arena *arena) {
  Term *sorted = NEW_ARRAY(arena, Term, n);
  int most = 0;
  for (int i = 0; i < n; i++) most = term[i].last > most ? term[i].last : most;
  int *next = NEW_ARRAY(arena, int, most + 2);
  for (int d = 0; d <= most + 1; d++) next[d] = start[d];
  for (int i = 0; i < n; i++) sorted[next[term[i].last + 1]++] = term[i];
  memcpy(term, sorted, sizeof *term * (size_t)n);
}

// The entries for all classes of the last neighbour. before: the sum of the other functions; here: those with that neighbour.
static void fill_last(const double *before, const Term *here, int n_here, const int *index, int last, int classes,
                      int width, double *room, const double **base, double *out) {
  for (int i = 0; i < n_here; i++) base[i] = term_row(&here[i], index, last);
  for (int c = 0; c < classes; c++) {
    const double *sum = before;
    for (int i = 0; i < n_here - 1; i++) {
      const double *row = base[i] + term_offset(&here[i], last)[c];
      for (int v = 0; v < width; v++) room[v] = sum[v] + row[v];
      sum = room;
    }
    out[c] = row_min_sum(sum, base[n_here - 1] + term_offset(&here[n_here - 1], last)[c], width);
  }
}

// sum[d]: of the functions that know only of the first d neighbours.
void rows_fill(const Maker *maker, const Joint *joint, int x, const int *fns, int n_fns, const double *cost, double *out) {
  Arena *arena = maker->net->scratch;
  const int width = joint->own->map->classes, m = joint->m;
  Term *term = NEW_ARRAY(arena, Term, n_fns);
  for (int i = 0; i < n_fns; i++) term[i] = term_of(maker, joint, x, &maker->of->fns.at[fns[i]]);
  const double **sum = NEW_ARRAY(arena, const double *, m + 1), **base = NEW_ARRAY(arena, const double *, n_fns);
  double **room = NEW_ARRAY(arena, double *, m + 1);
  int *index = NEW_ARRAY(arena, int, m), *start = NEW_ARRAY(arena, int, m + 2), from = 0;
  for (int depth = 0; depth <= m; depth++) room[depth] = NEW_ARRAY(arena, double, width);
  for (int i = 0; i < n_fns; i++) start[term[i].last + 2]++;
  for (int depth = 0; depth <= m; depth++) start[depth + 1] += start[depth];
  stable_by_last(term, n_fns, start, arena);
  for (bool more = true; more;) {
    for (int depth = from; depth < m || depth == 0; depth++) {
      sum[depth] = depth == 0 ? cost : sum[depth - 1];
      for (int i = start[depth]; i < start[depth + 1]; i++) {
        const double *row = term_row(&term[i], index, m);
        for (int v = 0; v < width; v++) room[depth][v] = sum[depth][v] + row[v];
        sum[depth] = room[depth];
      }
    }
    if (m == 0) break;
    const int classes = joint->classes[m - 1]->map->classes;
    fill_last(sum[m - 1], &term[start[m]], start[m + 1] - start[m], index, m - 1, classes, width, room[m], base, out);
    out += classes;
    int j = m - 2;
    for (; j >= 0 && ++index[j] == joint->classes[j]->map->classes; j--) index[j] = 0;
    from = j + 1;
    more = j >= 0;
  }
  if (m == 0) out[0] = row_min(sum[0], width);
}
