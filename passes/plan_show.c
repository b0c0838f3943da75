// A plan as a table for people.
#include "plan_show.h"

#include "../ir/table.h"
#include "planning.h"

enum { KIND, NAME, DIMS, FIRST_AXIS, WIDEST = 60 }; // what a rank has stands behind the axes

typedef struct Shown {
  Arena *arena;
  Mesh mesh; // without the batch
  Table table;
  Names names; // of the rows of operators
} Shown;

// ---- cells ---------------------------------------------------------------------------------------------------------

// n=64 co=6 | ci=3 r=5: what is reduced stands behind the bar.
static const char *dims_cell(Arena *arena, const Space *space, int n_out) {
  Text text = {.arena = arena};
  for (int d = 0; d < space->n_dims; d++)
    text_printf(&text, "%s%s%s=%lld", d > 0 ? " " : "", d == n_out ? "| " : "", space->dims[d].name,
                (long long)space->dims[d].extent);
  return text_str(&text);
}

static const char *axis_cell(Arena *arena, const Space *space, const OpSharding *s, int axis) {
  if (s->pin[axis] >= 0) return arena_printf(arena, "at %d", s->pin[axis]);
  if (s->dim[axis] < 0) return "-";
  const char *dim = space->dims[s->dim[axis]].name;
  return s->unit[axis] > 1 ? arena_printf(arena, "%s*%lld", dim, (long long)s->unit[axis]) : dim;
}

// The largest block of every dimension that is split: "n=32 co=3".
static const char *block_cell(const Shown *t, const Space *space, const OpSharding *s) {
  Text text = {.arena = t->arena};
  for (int d = 0; d < space->n_dims; d++) {
    int parts = 1;
    int64_t unit = 1;
    for (int a = 0; a < t->mesh.n_axes; a++) {
      if (s->dim[a] != d) continue;
      parts *= t->mesh.axis[a].size;
      unit = s->unit[a];
    }
    if (parts > 1)
      text_printf(&text, "%s%s=%lld", text.len > 0 ? " " : "", space->dims[d].name,
                  (long long)block_of(space->dims[d].extent, unit, parts, 0).len);
  }
  return text_str(&text);
}

static TableRow row_of(const Shown *t, const char *kind, const char *name, const Space *space, int n_out,
                  const OpSharding *s) {
  TableRow row = {{kind, name, dims_cell(t->arena, space, n_out)}};
  for (int a = 0; a < t->mesh.n_axes; a++) row.cell[FIRST_AXIS + a] = axis_cell(t->arena, space, s, a);
  row.cell[FIRST_AXIS + t->mesh.n_axes] = block_cell(t, space, s);
  return row;
}

// ---- rows ----------------------------------------------------------------------------------------------------------

static void add_tensors(Shown *t, const Planner *p, Role role, const char *kind) {
  const Graph *graph = p->model->train;
  for (int i = 0; i < graph->tensors.len; i++) {
    const Tensor *tensor = graph_tensor(graph, i);
    if (tensor->role != role) continue;
    const Space space = plan_space_of_tensor(tensor);
    const OpSharding s = plan_stored(p, tensor->name);
    vec_push(t->arena, &t->table.rows, row_of(t, kind, tensor->name, &space, tensor->rank, &s));
  }
}

static bool same_row(const Shown *t, const TableRow *a, const TableRow *b) {
  bool same = true;
  for (int c = NAME; c < t->table.n_columns; c++) same = same && str_eq(a->cell[c], b->cell[c]);
  return same;
}

static void add_ops(Shown *t, const Graph *graph, const char *kind) {
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    if (!plan_has_choice(graph, op)) continue;
    const Space space = plan_space_of_op(op);
    const char *name = graph_tensor(graph, op->out)->name;
    const TableRow row = row_of(t, kind != NULL ? kind : phase_name(op->phase), name, &space, op->n_out, &op->sharding);
    const int before = names_get(&t->names, name);
    if (before >= 0 && same_row(t, &row, &t->table.rows.at[before])) continue;
    if (before < 0) names_set(&t->names, name, t->table.rows.len);
    vec_push(t->arena, &t->table.rows, row);
  }
}

const char *plan_show(const Compilation *c) {
  Planner p = planner_new(c->arena, c->model, &c->plan, &c->mesh);
  plan_resolve_stored(&p);
  Shown t = {.arena = c->arena, .mesh = c->mesh, .names = {.arena = c->arena}};
  t.mesh.n_axes--; // the batch
  t.table = (Table){.arena = c->arena, .n_columns = FIRST_AXIS + t.mesh.n_axes + 1, .widest = {[DIMS] = WIDEST}};
  TableRow head = {{"", "", "dimensions"}};
  for (int a = 0; a < t.mesh.n_axes; a++) head.cell[FIRST_AXIS + a] = t.mesh.axis[a].name;
  head.cell[FIRST_AXIS + t.mesh.n_axes] = "block";
  vec_push(c->arena, &t.table.rows, head);
  add_tensors(&t, &p, ROLE_INPUT, "input");
  add_tensors(&t, &p, ROLE_PARAM, "param");
  add_tensors(&t, &p, ROLE_STATE, "state");
  add_ops(&t, c->model->train, NULL);
  add_ops(&t, c->model->eval, "eval");
  Text text = {.arena = c->arena};
  text_printf(&text, "%s on %d ranks, mesh %s", c->model->name, mesh_ranks(&t.mesh), mesh_text(c->arena, &t.mesh));
  if (c->plan.microbatches > 1) text_printf(&text, ", %d microbatches", c->plan.microbatches);
  for (int i = 0; i < c->plan.recompute.len; i++)
    text_printf(&text, "%s%s", i == 0 ? ", made again: " : ", ", c->plan.recompute.at[i].name);
  text_printf(&text, "\n");
  table_print(&t.table, &text);
  return text_str(&text);
}
