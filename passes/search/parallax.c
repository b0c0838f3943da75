// parallax: data parallelism that treats sparse and dense variables apart (Kim et al., "Parallax: Sparsity-aware Data Parallel Training of
// Deep Neural Networks", 2019).
//
// - The batch is divided over all ranks. Dense parameters are on every rank, and their gradients are all-reduced.
// - A table whose gradient has rows (passes/sparse.c) is divided by rows over P owners, each on a rank of its own: it looks up the rows
//   that it has for all ranks, gets the gradient's rows of all, and updates its own beside them. As changes of layout go along whole
//   tensors, owners get all rows and take theirs.
// - P is found by sampling: it is doubled while a step takes less, and then a curve t(P) = b/P + a (P - 1) + c through the samples, by
//   least squares, tells the best P (with fewer than three samples the best of these does). A sample is what the cost model says of a step,
//   in the place of a short run. P is a product of the first axes of the mesh, slow ones first, so that owners are on different nodes; the
//   paper's P is any number, and its owners are processes beside the workers.
#include "../plan_weights.h"
#include "../pricing.h"
#include "../row_update.h"
#include "search.h"

#include <math.h>

enum { PARALLAX_MOST = 6 }; // axes

typedef struct Sample {
  double parts, seconds;
} Sample;

typedef VEC(Sample) Samples;
typedef VEC(int) Tables;

// The parameters that are updated by rows.
static Tables find_tables(Arena *arena, const Graph *train) {
  Tables tables = {0};
  RowUpdate update;
  for (int i = 0; i < train->ops.len; i++) {
    if (!row_update_match(train, &train->ops.at[i], &update)) continue;
    const int stored = update.stored->access.tensor;
    if (graph_tensor(train, stored)->role == ROLE_PARAM) vec_push(arena, &tables, stored);
  }
  return tables;
}

// ---- the plan of some owners ---------------------------------------------------------------------------------------

// Rows along the first axes, on the first rank along the others.
static void choose_owners(PlanLine *line, const Mesh *mesh, int n_axes, const char *rows) {
  for (int a = 0; a < mesh->n_axes; a++)
    line->axis[a] = a < n_axes ? (PlanChoice){.kind = CHOICE_SPLIT, .dim = rows, .unit = 1} : (PlanChoice){.kind = CHOICE_PIN, .pin = 0};
}

static void add_lookups(Arena *arena, Plan *plan, const Graph *graph, const char *table, int n_axes) {
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    PlanLine line = {.subject = PLAN_OP, .graph = graph->name, .name = graph_tensor(graph, op->out)->name};
    int looked_up;
    const int rows = lookup_rows(graph, op, &looked_up);
    if (rows < 0 || !str_eq(graph_tensor(graph, looked_up)->name, table)) continue;
    choose_owners(&line, &plan->mesh, n_axes, op->dims[rows].name);
    vec_push(arena, &plan->lines, line);
  }
}

static Plan plan_of_owners(Arena *arena, const Model *model, const Mesh *mesh, const Tables *tables, int n_axes) {
  Plan plan = {.model = model->name, .mesh = *mesh};
  plan_make_data(arena, model, &plan);
  for (int i = 0; i < tables->len; i++) {
    const Tensor *table = graph_tensor(model->train, tables->at[i]);
    PlanLine line = {.subject = PLAN_STORE, .name = table->name};
    choose_owners(&line, mesh, n_axes, table->dim[0]);
    vec_push(arena, &plan.lines, line);
    add_lookups(arena, &plan, model->train, table->name, n_axes);
    add_lookups(arena, &plan, model->eval, table->name, n_axes);
  }
  return plan;
}

// ---- how many owners -----------------------------------------------------------------------------------------------

// b/P + a (P - 1) + c through samples: the normal equations of the three terms, by elimination. False: they have no one solution.
static bool fit_curve(const Samples *samples, double curve[3]) {
  double m[3][4] = {{0}};
  for (int s = 0; s < samples->len; s++) {
    const double term[4] = {1 / samples->at[s].parts, samples->at[s].parts - 1, 1, samples->at[s].seconds};
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 4; j++) m[i][j] += term[i] * term[j];
  }
  for (int i = 0; i < 3; i++) {
    if (fabs(m[i][i]) < 1e-12) return false;
    for (int k = 0; k < 3; k++) {
      const double factor = m[k][i] / m[i][i];
      for (int j = 0; j < 4 && k != i; j++) m[k][j] -= factor * m[i][j];
    }
  }
  for (int i = 0; i < 3; i++) curve[i] = m[i][3] / m[i][i];
  return true;
}

static int parts_along(const Mesh *mesh, int n_axes) {
  int parts = 1;
  for (int a = 0; a < n_axes; a++) parts *= mesh->axis[a].size;
  return parts;
}

static int best_sample(const Samples *samples) {
  int best = 0;
  for (int s = 1; s < samples->len; s++)
    if (samples->at[s].seconds < samples->at[best].seconds) best = s;
  return best;
}

// By the curve; sample s is of the first s axes.
static int best_by_curve(const Samples *samples, const Mesh *mesh) {
  double curve[3], least = INFINITY;
  int best = best_sample(samples);
  if (samples->len < 3 || !fit_curve(samples, curve)) return best;
  for (int n = 0; n < samples->len; n++) {
    const double parts = parts_along(mesh, n), seconds = curve[0] / parts + curve[1] * (parts - 1) + curve[2];
    if (seconds < least) least = seconds, best = n;
  }
  return best;
}

Plan search_parallax(Compilation *c) {
  const Mesh mesh = c->mesh_given ? c->mesh : mesh_factors(c->arena, &c->mesh, PARALLAX_MOST);
  const Tables tables = find_tables(c->arena, c->model->train);
  Pricing *pricing = pricing_new(c);
  Samples samples = {0};
  for (int n = 0; n <= mesh.n_axes; n++) {
    const Plan plan = plan_of_owners(c->arena, c->model, &mesh, &tables, n);
    const double seconds = pricing_of(pricing, &plan, INFINITY).seconds;
    vec_push(c->arena, &samples, ((Sample){parts_along(&mesh, n), seconds}));
    if (n > 0 && seconds > samples.at[n - 1].seconds) break;
    if (tables.len == 0) break;
  }
  const int best = best_by_curve(&samples, &mesh);
  c->search = (Search){.done = true, .unit = SEARCH_SECONDS, .cost = samples.at[best].seconds};
  c->search.how = tables.len == 0 ? "no table has a sparse gradient: all are dense"
                                  : arena_printf(c->arena, "%d table%s by rows on %d owner%s, by %d samples", tables.len, tables.len == 1 ? "" : "s",
                                                 parts_along(&mesh, best), parts_along(&mesh, best) == 1 ? "" : "s", samples.len);
  return plan_of_owners(c->arena, c->model, &mesh, &tables, best);
}
