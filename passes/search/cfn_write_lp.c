// A linear program in CPLEX's LP format, as cbc and glpsol read it: the local polytope (Schlesinger, 1976; Werner, 2007) with classes.
//
//   \ x0: conv1.y
//   Minimize
//    cost: 1 constant + 1.5 x0_0 + 0.25 x0_1 + 1.5 f0_1 + ...
//   Subject To
//    x0_0 + x0_1 + x0_2 = 1                a variable has one of its values
//    y2_0 - x0_0 - x0_2 = 0                a view has the class of that value
//    y2_0 - f0_0 - f0_1 = 0                and the function is at an entry of that class
//    3000 x0_0 + 2000 x0_1 + ... <= 8000   a limit on weights
//   Bounds
//    constant = 1
//   Binaries
//    x0_0 x0_1 ...
//   End
//
// What is forbidden is left out, or is 0. Views and entries are fractions that whole values make whole.
#include <math.h>

#include "cfn_views.h"

enum { TERMS = 8 }; // on a line, which may have 255 characters

typedef struct Writer {
  FILE *out;
  const CfnViews *views;
  double scale;
  int terms; // of the row so far
} Writer;

static void begin_row(Writer *w) { w->terms = 0; }

// A term of a row, but for the name of its variable.
static void put_factor(Writer *w, double factor) {
  if (w->terms > 0 && w->terms % TERMS == 0) fputc('\n', w->out);
  fprintf(w->out, factor < 0 ? " - " : w->terms > 0 ? " + " : " ");
  if (fabs(factor) != 1) fprintf(w->out, "%.15g ", fabs(factor));
  w->terms++;
}

static void put_view(Writer *w, double factor, int view, int value) {
  put_factor(w, factor);
  fprintf(w->out, "%c%d_%d", w->views->list.at[view].class_of == NULL ? 'x' : 'y', view, value);
}

static void put_entry(Writer *w, double factor, int function, int64_t entry) {
  put_factor(w, factor);
  fprintf(w->out, "f%d_%lld", function, (long long)entry);
}

static void end_row(Writer *w, const char *relation, double right) { fprintf(w->out, " %s %.15g\n", relation, right); }

// ---- costs ---------------------------------------------------------------------------------------------------------

static bool costs(double cost) { return cost > 0 && cost < INFINITY; }

static void write_costs(Writer *w) {
  const Cfn *cfn = w->views->cfn;
  int value[CFN_MAX_ARITY];
  fputs("Minimize\n cost:", w->out);
  begin_row(w);
  put_factor(w, cfn->constant * w->scale);
  fputs("constant", w->out);
  for (int x = 0; x < cfn->variables.len; x++)
    for (int k = 0; k < cfn->variables.at[x].n_values; k++)
      if (costs(cfn->variables.at[x].cost[k])) put_view(w, cfn->variables.at[x].cost[k] * w->scale, x, k);
  for (int i = 0; i < cfn->functions.len; i++)
    for (int64_t entry = 0; entry < cfn_views_size(w->views, i); entry++) {
      cfn_views_values(w->views, i, entry, value);
      const double cost = cfn_views_cost(w->views, i, value);
      if (costs(cost)) put_entry(w, cost * w->scale, i, entry);
    }
  fputc('\n', w->out);
}

// ---- rows ----------------------------------------------------------------------------------------------------------

static void write_variable(Writer *w, int x) {
  const CfnVariable *variable = &w->views->cfn->variables.at[x];
  begin_row(w);
  for (int k = 0; k < variable->n_values; k++) put_view(w, 1, x, k);
  end_row(w, "=", 1);
  for (int k = 0; k < variable->n_values; k++) {
    if (variable->cost[k] < INFINITY) continue;
    begin_row(w);
    put_view(w, 1, x, k);
    end_row(w, "=", 0);
  }
}

static void write_view(Writer *w, int number) {
  const CfnView *view = &w->views->list.at[number];
  for (int c = 0; c < view->n; c++) {
    begin_row(w);
    put_view(w, 1, number, c);
    for (int k = 0; k < w->views->list.at[view->var].n; k++)
      if (view->class_of[k] == c) put_view(w, -1, view->var, k);
    end_row(w, "=", 0);
  }
}

// A function of no variable is at its one entry.
static void write_scalar(Writer *w, int function) {
  begin_row(w);
  put_factor(w, 1);
  fputs("constant", w->out);
  if (w->views->cfn->functions.at[function].cost[0] < INFINITY) put_entry(w, -1, function, 0);
  end_row(w, "=", 0);
}

// One argument's view has a value where one of the entries with that value is chosen.
static void write_marginals(Writer *w, int function, int arg) {
  const int view = w->views->of.at[function][arg];
  int value[CFN_MAX_ARITY];
  for (int c = 0; c < w->views->list.at[view].n; c++) {
    begin_row(w);
    put_view(w, 1, view, c);
    for (int64_t entry = 0; entry < cfn_views_size(w->views, function); entry++) {
      cfn_views_values(w->views, function, entry, value);
      if (value[arg] == c && cfn_views_cost(w->views, function, value) < INFINITY) put_entry(w, -1, function, entry);
    }
    end_row(w, "=", 0);
  }
}

static void write_limit(Writer *w, int limit) {
  const Cfn *cfn = w->views->cfn;
  begin_row(w);
  put_factor(w, 0);
  fputs("constant", w->out);
  for (int x = 0; x < cfn->variables.len; x++)
    for (int k = 0; cfn->variables.at[x].weight[limit] != NULL && k < cfn->variables.at[x].n_values; k++)
      if (cfn->variables.at[x].weight[limit][k] > 0) put_view(w, cfn->variables.at[x].weight[limit][k], x, k);
  end_row(w, "<=", cfn->limit[limit]);
}

static void write_binaries(Writer *w) {
  const Cfn *cfn = w->views->cfn;
  fputs("Binaries\n", w->out);
  for (int x = 0; x < cfn->variables.len; x++) {
    for (int k = 0; k < cfn->variables.at[x].n_values; k++)
      fprintf(w->out, "%sx%d_%d", k == 0 ? " " : k % TERMS == 0 ? "\n " : " ", x, k);
    fputc('\n', w->out);
  }
}

// Which variable is which, as comments.
static void write_names(Writer *w, const char *name) {
  const Cfn *cfn = w->views->cfn;
  fputs("\\ ", w->out);
  cfn_write_name(w->out, name);
  for (int x = 0; x < cfn->variables.len; x++) {
    fprintf(w->out, "\n\\ x%d: ", x);
    cfn_write_name(w->out, cfn->variables.at[x].name);
  }
  fputc('\n', w->out);
}

void cfn_write_lp(FILE *out, const CfnViews *views, const char *name, double scale) {
  const Cfn *cfn = views->cfn;
  Writer w = {out, views, scale, 0};
  write_names(&w, name);
  write_costs(&w);
  fputs("Subject To\n", out);
  for (int x = 0; x < cfn->variables.len; x++) write_variable(&w, x);
  for (int v = cfn->variables.len; v < views->list.len; v++) write_view(&w, v);
  for (int i = 0; i < cfn->functions.len; i++) {
    if (cfn->functions.at[i].arity == 0) write_scalar(&w, i);
    for (int arg = 0; arg < cfn->functions.at[i].arity; arg++) write_marginals(&w, i, arg);
  }
  for (int l = 0; l < cfn->n_limits; l++) write_limit(&w, l);
  fputs("Bounds\n constant = 1\n", out);
  write_binaries(&w);
  fputs("End\n", out);
}
