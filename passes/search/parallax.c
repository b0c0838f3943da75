// parallax: data parallelism that treats sparse and dense variables apart (Kim et al., "Parallax: Sparsity-aware Data Parallel Training of
// Deep Neural Networks", 2019).
//
// - The batch is divided over all ranks. Dense parameters are on every rank, and their gradients are all-reduced.
// - A table whose gradient has rows (passes/sparse.c) is divided by rows over P owners, each on a rank of its own: it looks up the rows
//   that it has for all ranks, serves them, gets the gradient's rows of all, and updates its own beside them.
// - P is found by sampling: from one owner on it is doubled while a step takes less, from an owner on every rank on it is halved, and as
//   long as a curve t(P) = b/P + a (P - 1) + c through the samples, by least squares, has its least at a P that was not tried, that is
//   tried, too: at most PARALLAX_MOST_SAMPLES in all, of which the best is taken. The paper begins at one end and goes the other way only where
//   the first doubling is for the worse; here times have a step where owners begin to share a node, and where every rank is one. A sample is
//   what the simulator says of a step, in the place of a short run; a plan that does not fit is one that takes for ever.
// - P is a product of some axes of the mesh, slow ones first, so that owners are on different nodes; the paper's P is any number, and its
//   owners are processes beside the workers. Where a table has fewer owners than there are ranks, the next one has others.
#include "parallax.h"

#include "../evaluate.h"
#include "../plan_weights.h"
#include "../row_update.h"
#include "../sharding.h"
#include "search.h"

#include <math.h>

enum { MOST_AXES = 6 }; // that are made of those of the mesh

typedef struct Sample {
  int parts;
  double seconds; // INFINITY: its plan does not fit
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

// The axes with so many ranks together, slow ones first; false: there are none.
static bool axes_of_parts(const Mesh *mesh, int parts, uint32_t *axes) {
  *axes = 0;
  for (int a = 0; a < mesh->n_axes; a++) {
    if (mesh->axis[a].size == 1 || parts % mesh->axis[a].size != 0) continue;
    parts /= mesh->axis[a].size;
    *axes |= 1u << a;
  }
  return parts == 1;
}

typedef struct Owners { // of a table
  const Mesh *mesh;
  uint32_t axes; // along which its rows are divided
  int rank;      // one of them
} Owners;

// Owners of the table with that number: those along the other axes take turns.
static Owners owners_of(const Mesh *mesh, uint32_t axes, int table) {
  const uint32_t others = ((1u << mesh->n_axes) - 1) & ~axes;
  return (Owners){mesh, axes, mesh_rank_at(mesh, others, table % mesh_parts(mesh, others))};
}

static void choose_owners(PlanLine *line, const Owners *owners, const char *rows) {
  for (int a = 0; a < owners->mesh->n_axes; a++)
    line->axis[a] = owners->axes >> a & 1 ? (PlanChoice){.kind = CHOICE_SPLIT, .dim = rows, .unit = 1}
                                          : (PlanChoice){.kind = CHOICE_PIN, .pin = mesh_coordinate(owners->mesh, owners->rank, 1u << a)};
}

// Whether the first dimension of a tensor is that of the samples of a batch.
static bool is_of_batch(const Graph *graph, int tensor);

typedef struct BatchSearch {
  const Graph *graph;
  const Op *op;
  bool found;
} BatchSearch;

static void search_batch(void *ctx, int tensor) {
  BatchSearch *s = ctx;
  s->found = s->found || (graph_tensor(s->graph, tensor)->rank > 0 && sharding_dim_of(s->graph, s->op, tensor, 0) == 0 && is_of_batch(s->graph, tensor));
}

static bool is_of_batch(const Graph *graph, int tensor) {
  const Tensor *t = graph_tensor(graph, tensor);
  if (t->role == ROLE_INPUT || t->producer < 0) return t->role == ROLE_INPUT;
  BatchSearch s = {graph, &graph->ops.at[t->producer], false};
  if (s.op->kind == OP_COMPUTE) op_visit_reads(s.op, search_batch, &s);
  return s.found;
}

typedef struct Reading {
  int tensor;
  bool found;
} Reading;

static void note_read(void *ctx, int tensor) {
  Reading *r = ctx;
  r->found |= tensor == r->tensor;
}

// Who reads what owners looked up has its own samples of it, however these lie at the owners.
static void add_readers(Arena *arena, Plan *plan, const Graph *graph, int looked_up) {
  for (int i = graph_tensor(graph, looked_up)->producer + 1; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    Reading r = {looked_up, false};
    op_visit_reads(op, note_read, &r);
    const int batch = r.found && op->kind == OP_COMPUTE && op->phase == PHASE_FORWARD ? sharding_dim_of(graph, op, looked_up, 0) : -1;
    if (batch < 0) continue;
    PlanLine line = {.subject = PLAN_OP, .graph = graph->name, .name = graph_tensor(graph, op->out)->name};
    for (int a = 0; a < plan->mesh.n_axes; a++) line.axis[a] = (PlanChoice){.kind = CHOICE_SPLIT, .dim = op->dims[batch].name, .unit = 1};
    vec_push(arena, &plan->lines, line);
  }
}

static void add_lookups(Arena *arena, Plan *plan, const Graph *graph, const char *table, const Owners *owners) {
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    PlanLine line = {.subject = PLAN_OP, .graph = graph->name, .name = graph_tensor(graph, op->out)->name};
    int looked_up;
    const int rows = lookup_rows(graph, op, &looked_up);
    if (rows < 0 || !str_eq(graph_tensor(graph, looked_up)->name, table)) continue;
    choose_owners(&line, owners, op->dims[rows].name);
    vec_push(arena, &plan->lines, line);
    if (is_of_batch(graph, op->out)) add_readers(arena, plan, graph, op->out);
  }
}

static Plan plan_of_owners(Arena *arena, const Model *model, const Mesh *mesh, const Tables *tables, int parts) {
  Plan plan = {.model = model->name, .mesh = *mesh};
  uint32_t axes;
  axes_of_parts(mesh, parts, &axes);
  plan_make_data(arena, model, &plan);
  for (int i = 0; i < tables->len; i++) {
    const Tensor *table = graph_tensor(model->train, tables->at[i]);
    const Owners owners = owners_of(mesh, axes, i);
    PlanLine line = {.subject = PLAN_STORE, .name = table->name};
    choose_owners(&line, &owners, table->dim[0]);
    vec_push(arena, &plan.lines, line);
    add_lookups(arena, &plan, model->train, table->name, &owners);
    add_lookups(arena, &plan, model->eval, table->name, &owners);
  }
  return plan;
}

// ---- how many owners -----------------------------------------------------------------------------------------------

// b/P + a (P - 1) + c through samples: the normal equations of the three terms, by elimination. False: they have no one solution.
static bool fit_curve(const Samples *samples, double curve[3]) {
  double m[3][4] = {{0}};
  int n = 0;
  for (int s = 0; s < samples->len; s++) {
    const double parts = samples->at[s].parts, term[4] = {1 / parts, parts - 1, 1, samples->at[s].seconds};
    if (samples->at[s].seconds == INFINITY) continue;
    n++;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 4; j++) m[i][j] += term[i] * term[j];
  }
  for (int i = 0; i < 3; i++) {
    if (n < 3 || fabs(m[i][i]) < 1e-12) return false;
    for (int k = 0; k < 3; k++) {
      const double factor = m[k][i] / m[i][i];
      for (int j = 0; j < 4 && k != i; j++) m[k][j] -= factor * m[i][j];
    }
  }
  for (int i = 0; i < 3; i++) curve[i] = m[i][3] / m[i][i];
  return true;
}

typedef struct Sampling {
  const Compilation *c;
  Mesh mesh;
  Tables tables;
  VEC(int) parts; // how many owners there can be, ascending
  Samples samples;
} Sampling;

static Mesh mesh_of_owners(const Compilation *c) { return c->mesh_given ? c->mesh : mesh_factors(c->arena, &c->mesh, MOST_AXES); }

static Sampling sampling_new(const Compilation *c) {
  Sampling s = {.c = c, .mesh = mesh_of_owners(c), .tables = find_tables(c->arena, c->model->train)};
  uint32_t axes;
  const int most = mesh_ranks(&s.mesh);
  for (int parts = 1; parts <= most; parts++)
    if (most % parts == 0 && axes_of_parts(&s.mesh, parts, &axes)) vec_push(c->arena, &s.parts, parts);
  return s;
}

static int find_sample(const Sampling *s, int parts) {
  int i = 0;
  while (i < s->samples.len && s->samples.at[i].parts != parts) i++;
  return i < s->samples.len ? i : -1;
}

static bool may_sample(const Sampling *s) { return s->samples.len < PARALLAX_MOST_SAMPLES; }

// What a step takes with so many owners: as the streams of the program overlap, where the devices do not do too many different things.
static double sample(Sampling *s, int parts) {
  const int known = find_sample(s, parts);
  if (known >= 0) return s->samples.at[known].seconds;
  const Plan plan = plan_of_owners(s->c->arena, s->c->model, &s->mesh, &s->tables, parts);
  const Evaluation found = evaluate_plan(s->c, &plan);
  const bool fits = found.refused == NULL && (double)found.arena_bytes <= s->c->machine->device.memory;
  const double seconds = s->c->by_sum || isnan(found.overlapped) ? found.cost.step : found.overlapped;
  vec_push(s->c->arena, &s->samples, ((Sample){parts, fits ? seconds : INFINITY}));
  return s->samples.at[s->samples.len - 1].seconds;
}

// At least twice as many owners, or at most half of them, as near to that as there can be; 0: there are none.
static int next_parts(const Sampling *s, int parts, bool more) {
  int next = 0;
  for (int i = 0; i < s->parts.len; i++) {
    if (more && next == 0 && s->parts.at[i] >= 2 * parts) next = s->parts.at[i];
    if (!more && 2 * s->parts.at[i] <= parts) next = s->parts.at[i];
  }
  return next;
}

static void sample_from(Sampling *s, int parts, bool more) {
  double before = sample(s, parts);
  for (int next = next_parts(s, parts, more); next > 0 && may_sample(s); next = next_parts(s, next, more)) {
    const double seconds = sample(s, next);
    if (seconds > before) return;
    before = seconds;
  }
}

// Where none fits, that with most owners.
static Sample best_sample(const Samples *samples) {
  Sample best = samples->at[0];
  for (int i = 1; i < samples->len; i++) {
    const Sample *other = &samples->at[i];
    if (other->seconds < best.seconds || (best.seconds == INFINITY && other->parts > best.parts)) best = *other;
  }
  return best;
}

// The number of owners at which the curve is least; 0: there is no curve.
static int best_by_curve(const Sampling *s) {
  double curve[3], least = INFINITY;
  int best = 0;
  if (!fit_curve(&s->samples, curve)) return 0;
  for (int i = 0; i < s->parts.len; i++) {
    const double parts = s->parts.at[i], seconds = curve[0] / parts + curve[1] * (parts - 1) + curve[2];
    if (seconds < least) least = seconds, best = s->parts.at[i];
  }
  return best;
}

static void sample_all(Sampling *s) {
  sample_from(s, s->parts.at[0], true);
  sample_from(s, s->parts.at[s->parts.len - 1], false);
  while (may_sample(s)) {
    const int parts = best_by_curve(s);
    if (parts == 0 || find_sample(s, parts) >= 0) return;
    sample(s, parts);
  }
}

bool parallax_plan(const Compilation *c, int parts, Plan *plan) {
  const Mesh mesh = mesh_of_owners(c);
  const Tables tables = find_tables(c->arena, c->model->train);
  uint32_t axes;
  if (!axes_of_parts(&mesh, parts, &axes)) return false;
  *plan = plan_of_owners(c->arena, c->model, &mesh, &tables, parts);
  return true;
}

static const char *count_text(Arena *arena, int n, const char *what) { return arena_printf(arena, "%d %s%s", n, what, n == 1 ? "" : "s"); }

static Plan plan_without_tables(Compilation *c) {
  Plan plan = {.model = c->model->name, .mesh = c->mesh};
  plan_make_data(c->arena, c->model, &plan);
  c->search = (Search){.done = true, .unit = SEARCH_SECONDS, .cost = pricing_once(c, &plan).seconds};
  c->search.how = "no table has a sparse gradient: all are dense";
  return plan;
}

Plan search_parallax(Compilation *c) {
  Sampling s = sampling_new(c);
  if (s.tables.len == 0) return plan_without_tables(c);
  sample_all(&s);
  const Sample best = best_sample(&s.samples);
  c->search = (Search){.done = true, .unit = SEARCH_SECONDS, .cost = best.seconds, .simulated = !c->by_sum};
  for (int i = 0; i < s.samples.len; i++) {
    const Samples tried = {.at = s.samples.at, .len = i + 1};
    vec_push(c->arena, &c->search.progress, ((SearchPoint){i + 1, best_sample(&tried).seconds}));
  }
  c->search.how = arena_printf(c->arena, "%s by rows on %s, by %s", count_text(c->arena, s.tables.len, "table"),
                               count_text(c->arena, best.parts, "owner"), count_text(c->arena, s.samples.len, "sample"));
  return plan_of_owners(c->arena, c->model, &s.mesh, &s.tables, best.parts);
}
