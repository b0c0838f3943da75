#include "lookups.h"

#include "../ir/pin.h"
#include "rewrite.h"

typedef struct Finder {
  Arena *arena;
  const Graph *graph;
  const Op *op;
  const Pin *pin;
  Lookups lookups;
} Finder;

// The input that integers are read from, through slices and views, and where. False: they are computed.
static bool trace_input(const Graph *graph, const Expr *read, Lookup *lookup) {
  for (;;) {
    if (read->kind != EXPR_ACCESS) return false;
    bool all = true;
    for (int d = 0; d < IR_MAX_RANK; d++) {
      const bool one = d < read->access.rank && index_is_const(&read->access.index[d]);
      lookup->at[d] = one ? read->access.index[d].base : -1;
      all &= !one;
    }
    const Tensor *t = graph_tensor(graph, lookup->input = read->access.tensor);
    while (all && t->producer >= 0 && graph->ops.at[t->producer].kind == OP_VIEW)
      t = graph_tensor(graph, lookup->input = graph->ops.at[t->producer].in);
    if (t->role == ROLE_INPUT) return lookup->at[0] < 0;
    if (!all || t->producer < 0) return false;
    const Op *op = &graph->ops.at[t->producer];
    if (op->kind != OP_COMPUTE || op->reduce != REDUCE_NONE) return false;
    read = op->body;
  }
}

static double places_of(const Op *op, const Expr *at) {
  double places = 1;
  for (int d = 0; d < op->n_dims; d++)
    if (expr_uses_dim(at, d)) places *= (double)op->dims[d].extent;
  return places;
}

static void note_table(void *ctx, const Expr *e) {
  Finder *f = ctx;
  if (e->kind != EXPR_ACCESS || e->access.rank == 0 || graph_tensor(f->graph, e->access.tensor)->role != ROLE_PARAM) return;
  if (access_full_dim(f->graph, f->op, e, 0) != f->pin->dim) return;
  Lookup lookup = {.out = f->op->out, .table = e->access.tensor, .places = places_of(f->op, f->pin->at)};
  if (!trace_input(f->graph, f->pin->at, &lookup)) lookup.input = -1;
  vec_push(f->arena, &f->lookups, lookup);
}

Lookups lookups_find(Arena *arena, const Graph *graph) {
  Finder f = {.arena = arena, .graph = graph};
  for (int i = 0; i < graph->ops.len; i++) {
    Pin pin[IR_MAX_DIMS];
    f.op = &graph->ops.at[i];
    const int n = op_pins(f.op, pin);
    for (int p = 0; p < n; p++) {
      f.pin = &pin[p];
      if (f.pin->dim >= f.op->n_out) expr_visit(f.op->body, note_table, &f);
    }
  }
  return f.lookups;
}

// ---- spreads -------------------------------------------------------------------------------------------------------

typedef struct Giving {
  Graph *graph;
  const Lookups *lookups;
  const DataStats *stats;
} Giving;

// What is known of the places of a lookup; of those in a table that was counted, the same of all that read an input.
static const Spread *known_spread(const Giving *g, const Lookup *lookup) {
  if (lookup->input < 0) return NULL;
  const int counted = g->stats != NULL ? names_get(&g->stats->numbers, graph_tensor(g->graph, lookup->table)->name) : -1;
  return counted >= 0 ? &g->stats->tables.at[counted].spread : graph_tensor(g->graph, lookup->input)->spread;
}

typedef struct Part { const Spread *known; double places; } Part; // of the lookups of a table
typedef VEC(Part) Parts;

static void add_part(Arena *arena, Parts *parts, const Spread *known, double places) {
  int i = 0;
  while (i < parts->len && parts->at[i].known != known) i++;
  if (i == parts->len) vec_push(arena, parts, ((Part){known, 0}));
  parts->at[i].places += places;
}

// Of all lookups of a table together, so many places. NULL: nothing is known of any.
static const Spread *table_spread(const Giving *g, int table, double *all_places) {
  Arena *arena = g->graph->arena;
  Parts parts = {0};
  Spread mixed = {0};
  double places = 0;
  bool any = false;
  for (int i = 0; i < g->lookups->len; i++)
    if (g->lookups->at[i].table == table) add_part(arena, &parts, known_spread(g, &g->lookups->at[i]), g->lookups->at[i].places);
  for (int i = 0; i < parts.len; i++) {
    const Part *part = &parts.at[i];
    const Spread unknown = {0};
    mixed = spread_mix(arena, &mixed, places / (places + part->places), part->known != NULL ? part->known : &unknown);
    places += part->places;
    any |= part->known != NULL;
  }
  *all_places = places;
  return any ? arena_copy(arena, &mixed, sizeof mixed) : NULL;
}

static void check_tables(const Giving *g, Problems *problems) {
  for (int i = 0; g->stats != NULL && i < g->stats->tables.len; i++) {
    const TableStats *counted = &g->stats->tables.at[i];
    bool found = false;
    for (int k = 0; k < g->lookups->len && !found; k++) found = str_eq(graph_tensor(g->graph, g->lookups->at[k].table)->name, counted->name);
    const int table = names_get(&g->graph->tensor_names, counted->name);
    if (!found) problem_add(problems, counted->loc, "the model looks up no table '%s'", counted->name);
    else if ((double)graph_tensor(g->graph, table)->extent[0] != counted->rows)
      problem_add(problems, counted->loc, "the table '%s' of the model has %lld rows, the one that was counted %.0f", counted->name,
                  (long long)graph_tensor(g->graph, table)->extent[0], counted->rows);
  }
}

void lookups_give_spreads(Model *model, const Lookups *lookups, const DataStats *stats, Problems *problems) {
  Arena *arena = model->train->arena;
  const Giving g = {model->train, lookups, stats};
  bool *given = NEW_ARRAY(arena, bool, model->train->tensors.len);
  check_tables(&g, problems);
  for (int i = 0; i < lookups->len; i++) {
    const int id = lookups->at[i].table;
    Tensor *table = graph_tensor(model->train, id);
    TableUse use = {.name = table->name, .rows = (double)table->extent[0]};
    graph_tensor(model->train, lookups->at[i].out)->looked_up = known_spread(&g, &lookups->at[i]);
    if (given[id]) continue;
    given[id] = true;
    table->spread = table_spread(&g, id, &use.places);
    use.distinct = spread_distinct(table->spread, use.rows, use.places);
    if (table->spread != NULL) vec_push(arena, &model->tables, use);
  }
}

// ---- counting ------------------------------------------------------------------------------------------------------

Model lookups_model(Arena *arena, const Model *model, const Lookups *lookups, int *inputs) {
  Model counted = *model;
  memset(&counted.inputs, 0, sizeof counted.inputs);
  counted.train = graph_copy(arena, model->train);
  for (int t = 0; t < model->train->tensors.len; t++) inputs[t] = -1;
  for (int i = 0; i < lookups->len; i++)
    if (lookups->at[i].input >= 0) inputs[lookups->at[i].input] = 0;
  for (int i = 0; i < model->inputs.len; i++) {
    const Input *input = &model->inputs.at[i];
    const int tensor = names_get(&model->train->tensor_names, input->name);
    if (inputs[tensor] < 0) continue;
    inputs[tensor] = counted.inputs.len;
    if (input->source.form != FORM_LINES) graph_tensor(counted.train, tensor)->range = 0;
    vec_push(arena, &counted.inputs, *input);
  }
  return counted;
}
