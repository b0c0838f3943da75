// Each dimension of an operator's iteration space is a way to divide it: over two ranks, here, of which each has the blocks of its
// operands that its half of the dimension reads (sharding.h), and a block of the result or terms of it.
//
//     forward  conv1 conv2d: conv1.conv2d[n=64, co=6, p=28, q=28] = sum(ci=1, r=5, s=5) (image[n, ci, r + p - 2, ...
//
//     split  image                     conv1.w  conv1.conv2d
//     n      n                         whole    n
//     co     whole                     co       co
//     p      h, 2 before and 2 behind  whole    p               a block of rows, and two from each neighbour
//     ci     ci                        ci       sum             terms, which are reduced
//     7 ways, 3 of them with a reduction of the result
#include "strategies.h"

#include "../ir/print.h"
#include "../ir/table.h"
#include "planning.h"
#include "sharding.h"

enum { MAX_OPERANDS = TABLE_MAX_COLUMNS - 4 };

typedef struct Strategies {
  Arena *arena;
  const Graph *graph;
  const Op *op;
  int operand[MAX_OPERANDS], n_operands; // tensors, each once
  bool some_are_left_out;
  Table table;
} Strategies;

static const Mesh two = {.n_axes = 1, .axis = {{"", 2}}};

// ---- cells ---------------------------------------------------------------------------------------------------------

// Elements beyond a block in units of the cut, in those of the tensor.
static int64_t beyond(int64_t reach, int64_t div) { return reach <= 0 ? 0 : (reach + div - 1) / div; }

static const char *layout_cell(const Strategies *s, int tensor, const Layout *layout) {
  const Tensor *t = graph_tensor(s->graph, tensor);
  const AxisLayout *axis = &layout->axis[0];
  if (axis_is_sum(axis)) return reduce_name((Reduce)axis->reduce);
  if (axis->kind != LAYOUT_SHARD) return "whole";
  const Cut *cut = &layout->cut[axis->dim];
  const int64_t before = beyond(cut->before, cut->div), behind = beyond(cut->after - (cut->scale - 1), cut->div);
  Text text = {.arena = s->arena};
  text_printf(&text, "%s", t->dim[axis->dim]);
  if (before > 0) text_printf(&text, ", %lld before", (long long)before);
  if (behind > 0) text_printf(&text, "%s %lld behind", before > 0 ? " and" : ",", (long long)behind);
  return text_str(&text);
}

static const char *operand_cell(const Strategies *s, const Op *op, int tensor) {
  if (op->kind != OP_OPAQUE) {
    const Layout layout = sharding_operand(s->graph, op, tensor, &two);
    return layout_cell(s, tensor, &layout);
  }
  int a = 0;
  while (op->opaque->args[a].tensor != tensor || op->opaque->args[a].written) a++;
  const Layout layout = sharding_argument(op, &op->opaque->args[a], &two);
  return layout_cell(s, tensor, &layout);
}

// ---- one operator --------------------------------------------------------------------------------------------------

static void list_operand(void *ctx, int tensor) {
  Strategies *s = ctx;
  for (int i = 0; i < s->n_operands; i++)
    if (s->operand[i] == tensor) return;
  if (s->n_operands < MAX_OPERANDS) s->operand[s->n_operands++] = tensor;
  else s->some_are_left_out = true;
}

// Returns whether the result is reduced.
static bool add_way(Strategies *s, int dim) {
  Op op = *s->op;
  TableRow row = {{op.dims[dim].name}};
  int n = 1;
  bool reduced = false;
  op.sharding = sharding_replicate();
  plan_split(&op.sharding, 0, dim, 1, &two);
  for (int i = 0; i < s->n_operands; i++) row.cell[n++] = operand_cell(s, &op, s->operand[i]);
  for (int r = 0; r < op_results(&op) && n < TABLE_MAX_COLUMNS; r++) {
    const Layout layout = sharding_result(s->graph, &op, r, &two);
    row.cell[n++] = layout_cell(s, op_result(&op, r), &layout);
    reduced |= axis_is_sum(&layout.axis[0]);
  }
  vec_push(s->arena, &s->table.rows, row);
  return reduced;
}

static void print_ways(Arena *arena, const Graph *graph, const Op *op, Text *out) {
  Strategies s = {.arena = arena, .graph = graph, .op = op, .table = {.arena = arena}};
  const Space space = plan_space_of_op(op);
  int ways = 0, reduced = 0;
  print_op(graph, op, out);
  text_printf(out, "\n\n");
  op_visit_reads(op, list_operand, &s);
  table_add_column(&s.table, "split", false);
  for (int i = 0; i < s.n_operands; i++) table_add_column(&s.table, graph_tensor(graph, s.operand[i])->name, false);
  for (int r = 0; r < op_results(op) && s.table.n_columns < TABLE_MAX_COLUMNS; r++)
    table_add_column(&s.table, graph_tensor(graph, op_result(op, r))->name, false);
  for (int d = 0; d < op->n_dims; d++) {
    if (space.fixed[d] != NULL || op->dims[d].extent == 1) continue;
    ways++;
    reduced += add_way(&s, d);
  }
  if (ways > 0) table_print(&s.table, out);
  for (int d = 0; d < op->n_dims; d++)
    if (space.fixed[d] != NULL) text_printf(out, "not %s: %s\n", op->dims[d].name, space.fixed[d]);
  text_printf(out, "%d %s, %d of them with a reduction of the result%s\n\n", ways, ways == 1 ? "way" : "ways", reduced,
              s.some_are_left_out ? "; not all operands are shown" : "");
}

// ---- which operators -----------------------------------------------------------------------------------------------

static bool is_shown(const Op *op) { return op->kind != OP_VIEW && (op->phase == PHASE_FORWARD || op->phase == PHASE_BACKWARD); }

// What one use of a definition consists of; a layer's statements stand in one place.
static bool is_of_use(const Op *op, const Op *first) {
  return str_eq(op->name, first->name) && str_eq(op->layer, first->layer) && op->loc.line == first->loc.line && op->loc.col == first->loc.col;
}

static bool is_called(const Graph *graph, const Op *op, const char *name) {
  for (int r = 0; r < op_results(op); r++)
    if (str_eq(graph_tensor(graph, op_result(op, r))->name, name)) return true;
  return false;
}

static void print_use(const Graph *train, int first, Text *out) {
  for (int i = first; i < train->ops.len; i++)
    if (is_shown(&train->ops.at[i]) && is_of_use(&train->ops.at[i], &train->ops.at[first])) print_ways(out->arena, train, &train->ops.at[i], out);
}

bool strategies_print(const Graph *train, const char *name, Text *out) {
  const bool all = str_eq(name, "all");
  Names seen = {.arena = out->arena};
  bool any = false;
  for (int i = 0; i < train->ops.len; i++) {
    const Op *op = &train->ops.at[i];
    if (!is_shown(op) || op->phase != PHASE_FORWARD || (!all && !str_eq(op->name, name)) || names_get(&seen, op->name) >= 0) continue;
    names_set(&seen, op->name, i);
    print_use(train, i, out);
    any = true;
  }
  for (int i = 0; i < train->ops.len && !any; i++) {
    any = is_shown(&train->ops.at[i]) && is_called(train, &train->ops.at[i], name);
    if (any) print_ways(out->arena, train, &train->ops.at[i], out);
  }
  return any;
}
