// The formulas. A step takes the sum of what its operators and its changes of layout take, in every microbatch what is of one;
// nothing is taken to overlap.
//
//   operator      as measured, if a profile says so, but for updates of single rows; else
//                 max(operations / (rate * efficiency), bytes / bandwidth of the memory), at least the launch of a kernel; of a table
//                 that places choose rows of, the bytes of the different rows that they are expected to choose (ir/spread.h)
//   ring          launch + rounds * sum over levels (hops * latency) + bytes * seconds a byte of the slowest level
//   tree          the same with twice the depth in place of hops, and bytes that no rank keeps back; the cheaper one of both
//   messages      the same with what a rank sends out of each unit, and as many latencies as messages that do not go at once
//                 each of these as measured, if a profile says so
//   rows          messages, and the launches of what copies rows and lists, for which the host waits
//   local change  nothing where a rank keeps what it has; else as measured, or launch + what it reads and writes / bandwidth of the memory
//   packing       what does not lie in one run is copied before or behind: as long as a local change of so many bytes, where that is measured
#include "cost.h"

#include "../ir/pin.h"
#include "contraction.h"
#include "profile.h"
#include "rewrite.h"
#include "route.h"
#include "sharding.h"

#include <math.h>

// A product of matrices runs in tiles, of which the last ones are partly empty, and begins and ends each of them with work that
// k does not grow: half of the rate at 16 rows, 16 columns or a depth of 32, smoothly more for more.
static const double EDGE = 16, DEPTH = 32;
// Messages between pairs of ranks that are on their way at the same time.
static const double MESSAGES_AT_ONCE = 8;
// Of rows that move one by one: three copies of rows, four of lists and indices, and the wait (runtime/common/rows.c).
static const double LAUNCHES_OF_ROWS = 8;
enum { MAX_READS = 64 }; // of an operator that are told apart

int cost_element(const CostModel *model, ScalarType type) { return type == TYPE_REAL && model->f64 ? 8 : 4; }

double cost_bytes(const CostModel *model, const Tensor *tensor, const Layout *layout) {
  const Shape shape = shape_of(tensor);
  return (double)layout_elements(model->mesh, &shape, layout) * cost_element(model, tensor->type);
}

CostModel cost_model(Arena *arena, const Machine *machine, const Mesh *mesh, bool f64) {
  AxisLinks *links = NEW_ARRAY(arena, AxisLinks, 1 << mesh->n_axes);
  for (uint32_t axes = 0; axes < 1u << mesh->n_axes; axes++) {
    uint32_t real = axes; // an axis of size 1 joins nothing
    for (int a = 0; a < mesh->n_axes; a++)
      if (mesh->axis[a].size == 1) real &= ~(1u << a);
    links[axes] = real == axes ? cost_links(machine, mesh, axes) : links[real];
  }
  return (CostModel){machine, mesh, f64, links};
}

// ---- changes of layout ---------------------------------------------------------------------------------------------

typedef struct Transfer {
  double latency, bandwidth;
  int level;
} Transfer; // seconds of both, the level with most of the second

static Transfer over_ring(const CostModel *model, const AxisLinks *links, double bytes, int rounds, bool tree) {
  Transfer t = {0, 0, 0};
  for (int l = 0; l < model->machine->n_levels; l++) {
    const LevelLinks *at = &links->level[l];
    if (!at->used) continue;
    t.latency += (tree ? 2 * at->depth : rounds * at->hops) * model->machine->level[l].latency;
    if (bytes * at->ring >= t.bandwidth) t.bandwidth = bytes * at->ring, t.level = l;
  }
  return t;
}

// Ring or tree. In a tree a rank keeps no share of its own back: as many bytes as there were if the ring never ended.
static Transfer all_reduced(const CostModel *model, const AxisLinks *links, double bytes, int rounds) {
  const Transfer ring = over_ring(model, links, bytes, rounds, false);
  const Transfer tree = over_ring(model, links, bytes * links->ranks / fmax(links->ranks - 1, 1), rounds, true);
  return tree.latency + tree.bandwidth < ring.latency + ring.bandwidth ? tree : ring;
}

static Transfer by_messages(const CostModel *model, const AxisLinks *links, double bytes, ReshardPattern pattern) {
  Transfer t = {0, 0, 0};
  const Machine *machine = model->machine;
  for (int l = 0; l < machine->n_levels; l++) {
    const LevelLinks *at = &links->level[l];
    if (!at->used) continue;
    const double out = links->ranks > 1 ? (double)(links->ranks - at->most) / (links->ranks - 1) : 0;
    const double each = pattern == RESHARD_PAIRS ? at->all : pattern == RESHARD_ROOT ? at->own * out : at->own;
    const int beyond = l + 1 < machine->n_levels ? links->level[l + 1].most : links->ranks;
    const double messages = pattern == RESHARD_NEIGHBOUR ? 1 : fmax(1, (beyond - at->most) / MESSAGES_AT_ONCE);
    if (pattern != RESHARD_NEIGHBOUR) t.latency += messages * machine->level[l].latency;
    else t.latency = fmax(t.latency, machine->level[l].latency);
    if (bytes * each >= t.bandwidth) t.bandwidth = bytes * each, t.level = l;
  }
  return t;
}

// The bytes that a rank copies as blocks do not lie in one run where they are sent from or received to, and those that it keeps of what it
// exchanges with others.
static double packed(const CostModel *model, const Shape *shape, const Layout *from, const Layout *to, Reshard step, int element, double moved) {
  const Mesh *mesh = model->mesh;
  const bool gathers = step.kind == RESHARD_all_gather;
  if (reshard_how(step.kind) == RESHARD_MESSAGES) {
    const double kept = (double)layout_elements(mesh, shape, to) * element - moved;
    if (reshard_moves_rows(step.kind)) return 2 * moved + fmax(kept, 0);
    return (double)reshard_staged(mesh, shape, from, to) * element + fmax(kept, 0);
  }
  if (!gathers && step.kind != RESHARD_reduce_scatter) return 0;
  const Layout *whole = gathers ? to : from, *parts = gathers ? from : to;
  const bool in_order = reshard_blocks(mesh, shape, whole, parts, step.axes).in_order;
  return in_order ? 0 : (double)layout_elements(mesh, shape, whole) * element;
}

// Copies within a rank, as slices were measured; negative: they were not.
static double copy_seconds(const AxisLinks *links, double bytes) {
  const LinkCurve *measured = links->measured[RESHARD_slice];
  return measured != NULL ? link_curve_seconds(measured, bytes * links->ranks) : -1;
}

static double local_seconds(const CostModel *model, const AxisLinks *links, const Shape *shape, const Layout *to, int element) {
  const double bytes = (double)layout_elements(model->mesh, shape, to) * element, measured = copy_seconds(links, bytes);
  return measured >= 0 ? measured : model->machine->device.launch + 2 * bytes / model->machine->device.bandwidth; // read and written
}

StepCost cost_of_step(const CostModel *model, const Shape *shape, const Layout *from, const Layout *to, Reshard step,
                      int element) {
  return cost_of_moving(model, shape, from, to, step, element, reshard_cost(model->mesh, shape, from, to, step, element));
}

StepCost cost_of_moving(const CostModel *model, const Shape *shape, const Layout *from, const Layout *to, Reshard step, int element,
                        double bytes) {
  const ReshardPattern pattern = reshard_pattern(step.kind);
  if (reshard_how(step.kind) == RESHARD_NOTHING) return (StepCost){0, 0, MACHINE_MAX_LEVELS};
  AxisLinks found;
  const AxisLinks *links = model->links != NULL ? &model->links[step.axes] : &found;
  if (model->links == NULL) found = cost_links(model->machine, model->mesh, step.axes);
  const LinkCurve *measured = links->measured[step.kind];
  if (pattern == RESHARD_NONE) return (StepCost){local_seconds(model, links, shape, to, element), 0, MACHINE_MAX_LEVELS};
  const int rounds = reshard_rounds(step.kind);
  const Transfer t = step.kind == RESHARD_all_reduce ? all_reduced(model, links, bytes, rounds)
                     : pattern == RESHARD_RING       ? over_ring(model, links, bytes, rounds, false)
                                                     : by_messages(model, links, bytes, pattern);
  const double launches = reshard_moves_rows(step.kind) ? 1 + LAUNCHES_OF_ROWS : 1;
  // The table's bytes grow with those of the tensor, which is what was measured.
  const double seconds = measured != NULL ? link_curve_seconds(measured, bytes / reshard_bytes(step.kind, 1, links->ranks, 0))
                                          : launches * model->machine->device.launch + t.latency + t.bandwidth;
  const double packing = links->measured[RESHARD_slice] != NULL ? packed(model, shape, from, to, step, element, bytes) : 0;
  return (StepCost){packing > 0 ? seconds + copy_seconds(links, packing) : seconds, bytes, t.level};
}

double cost_of_message(const CostModel *model, int level, int messages, double bytes) {
  const MachineLevel *at = &model->machine->level[level];
  return (model->machine->device.launch + fmax(1, messages / MESSAGES_AT_ONCE) * at->latency) / messages + bytes / at->bandwidth;
}

double cost_of_reshard(const CostModel *model, const Shape *shape, const Layout *from, const Layout *to, Reshard step,
                       int element) {
  return cost_of_step(model, shape, from, to, step, element).seconds;
}

// ---- operators -----------------------------------------------------------------------------------------------------

// The first one, of every axis the larger part.
void cost_block(const CostModel *model, const Op *op, double *extent) {
  for (int d = 0; d < op->n_dims; d++) {
    int64_t unit = 1, units = op->dims[d].extent;
    for (int a = 0; a < model->mesh->n_axes; a++) {
      if (op->sharding.dim[a] != d) continue;
      if (unit == 1) units /= unit = op->sharding.unit[a];
      units = (units + model->mesh->axis[a].size - 1) / model->mesh->axis[a].size;
    }
    extent[d] = (double)(units * unit);
  }
}

static bool access_uses(const Expr *access, int dim) {
  for (int i = 0; i < access->access.rank; i++)
    if (index_uses(&access->access.index[i], dim)) return true;
  return false;
}

// Seconds of a product of two matrices, or of several side by side.
static double product_seconds(const CostModel *model, const Op *op, const Contraction *c, const double *extent) {
  double m = 1, n = 1, k = 1, points = 1;
  for (int d = 0; d < op->n_dims; d++) {
    const bool in_a = access_uses(c->a, d), in_b = access_uses(c->b, d);
    points *= extent[d];
    if (d >= op->n_out) k *= extent[d];
    else if (in_a && !in_b) m *= extent[d];
    else if (in_b && !in_a) n *= extent[d];
  }
  const double rate = model->f64 ? model->machine->device.f64 : model->machine->device.f32;
  return 2 * points / (rate * (m / (m + EDGE)) * (n / (n + EDGE)) * (k / (k + DEPTH)));
}

// A sum of products for the library, each a call; false: one of them is none.
static bool products_seconds(const CostModel *model, const Graph *graph, const Op *op, const Expr *body,
                             const double *extent, double *seconds) {
  if (body->kind == EXPR_CALL && body->call.fn == FN_add)
    return products_seconds(model, graph, op, body->call.arg[0], extent, seconds) &&
           products_seconds(model, graph, op, body->call.arg[1], extent, seconds);
  Op term = *op;
  Contraction c;
  term.body = body;
  if (!contraction_match(graph, &term, &c) || !contraction_is_large(&term, &c)) return false;
  if (!access_is_plain(graph, &term, c.a) || !access_is_plain(graph, &term, c.b)) return false;
  *seconds += product_seconds(model, &term, &c, extent);
  return true;
}

typedef struct Reads { // of one operator
  int tensor[MAX_READS], count[MAX_READS];
  int n, accesses;
} Reads;

static void count_read(void *ctx, int tensor) {
  Reads *reads = ctx;
  int i = 0;
  reads->accesses++;
  while (i < reads->n && reads->tensor[i] != tensor) i++;
  if (i == MAX_READS) return;
  if (i == reads->n) {
    reads->tensor[reads->n] = tensor;
    reads->count[reads->n++] = 0;
  }
  reads->count[i]++;
}

bool cost_scatters_in_place(const CostModel *model, const Graph *graph, const Op *op) {
  for (int a = 0; a < model->mesh->n_axes; a++)
    if (model->mesh->axis[a].size > 1 && op->sharding.dim[a] >= op->n_out) return false;
  return op->kind == OP_COMPUTE && op->reduce == REDUCE_SUM && graph_tensor(graph, op->out)->inlined;
}

bool cost_is_done(const CostModel *model, const Graph *graph, const Op *op) {
  Reads reads = {.n = 0};
  if (op->kind != OP_COMPUTE || op->phase != PHASE_UPDATE) return false;
  op_visit_reads(op, count_read, &reads);
  for (int i = 0; i < reads.n; i++) {
    const int producer = graph_tensor(graph, reads.tensor[i])->producer;
    if (producer >= 0 && cost_scatters_in_place(model, graph, &graph->ops.at[producer])) return true;
  }
  return false;
}

// most: elements.
static double bytes_of(const CostModel *model, const Graph *graph, int tensor, const Layout *layout, double most) {
  const Tensor *t = graph_tensor(graph, tensor);
  return fmin(cost_bytes(model, t, layout), most * cost_element(model, t->type));
}

// The elements of a table of which places choose rows, here of the part that a rank has: those of each different row (ir/spread.h).
// Negative: it is none, or nothing is known of it.
static double chosen_elements(const CostModel *model, const Graph *graph, const Op *op, int tensor, double points) {
  const Tensor *t = graph_tensor(graph, tensor);
  const int row = t->spread == NULL || t->rank == 0 ? -1 : tensor == op->out ? 0 : sharding_dim_of(graph, op, tensor, 0);
  Pin pin[IR_MAX_DIMS];
  double extent[IR_MAX_DIMS], places = 1;
  int p = op_pins(op, pin) - 1;
  while (p >= 0 && (row < 0 || pin[p].dim != row)) p--;
  if (p < 0) return -1;
  cost_block(model, op, extent);
  for (int d = 0; d < op->n_dims; d++)
    if (expr_uses_dim(pin[p].at, d)) places *= extent[d];
  const double rows = (double)t->extent[0];
  return places > 0 ? spread_distinct(t->spread, rows, places) * extent[row] / rows * points / places : 0;
}

// Of a call all arguments, of anything else what it reads, no more than once for every point where it does something, and its
// result. What is inlined stays in registers, but a sum is added to what is there.
static double op_bytes(const CostModel *model, const Graph *graph, const Op *op, const Reads *reads, double points) {
  double bytes = 0;
  for (int i = 0; i < reads->n; i++) {
    if (graph_tensor(graph, reads->tensor[i])->inlined) continue;
    const Layout layout = sharding_operand(graph, op, reads->tensor[i], model->mesh);
    const double chosen = chosen_elements(model, graph, op, reads->tensor[i], points);
    bytes += bytes_of(model, graph, reads->tensor[i], &layout, (chosen >= 0 ? chosen : points) * reads->count[i]);
  }
  const Layout result = sharding_result(graph, op, 0, model->mesh);
  if (cost_scatters_in_place(model, graph, op)) {
    const double chosen = chosen_elements(model, graph, op, op->out, points);
    return bytes + 2 * (chosen >= 0 ? chosen : points) * cost_element(model, graph_tensor(graph, op->out)->type);
  }
  return graph_tensor(graph, op->out)->inlined ? bytes : bytes + bytes_of(model, graph, op->out, &result, INFINITY);
}

static double call_bytes(const CostModel *model, const Graph *graph, const Op *op) {
  double bytes = 0;
  for (int a = 0; a < op->opaque->n_args; a++) {
    const OpaqueArg *arg = &op->opaque->args[a];
    if (arg->tensor < 0) continue;
    const Layout layout = sharding_argument(op, arg, model->mesh);
    bytes += bytes_of(model, graph, arg->tensor, &layout, INFINITY);
  }
  return bytes;
}

StepCost cost_of_change(const CostModel *model, const Graph *graph, const Op *op, Reshard *step) {
  const Tensor *in = graph_tensor(graph, op->in), *out = graph_tensor(graph, op->out);
  const Shape shape = shape_of(in);
  if (!reshard_find(model->mesh, &shape, in->layout, out->layout, step))
    fatal("a change of layout that is not one step");
  return cost_of_step(model, &shape, in->layout, out->layout, *step, cost_element(model, in->type));
}

double cost_by_formulas(const CostModel *model, const Graph *graph, const Op *op) {
  const MachineDevice *device = &model->machine->device;
  if (cost_is_done(model, graph, op)) return 0;
  if (op->kind == OP_OPAQUE) return fmax(device->launch, call_bytes(model, graph, op) / device->bandwidth);
  double extent[IR_MAX_DIMS], points = 1, seconds = 0;
  cost_block(model, op, extent);
  Pin pin[IR_MAX_DIMS];
  const int n_pins = op_pins(op, pin);
  for (int i = 0; i < n_pins; i++) extent[pin[i].dim] = 1; // one place only: a gather, or a scatter into zeros
  for (int d = 0; d < op->n_dims; d++) points *= extent[d];
  Reads reads = {.n = 0};
  op_visit_reads(op, count_read, &reads);
  // Anything but a product for the library takes two operations for every element it reads.
  if (op->reduce != REDUCE_SUM || n_pins > 0 || !products_seconds(model, graph, op, op->body, extent, &seconds))
    seconds = 2 * points * reads.accesses / (model->f64 ? device->f64 : device->f32);
  seconds = fmax(seconds, op_bytes(model, graph, op, &reads, points) / device->bandwidth);
  return graph_tensor(graph, op->out)->inlined ? seconds
                                               : fmax(seconds, device->launch); // else its reader is the kernel
}

double cost_of_op(const CostModel *model, const Graph *graph, const Op *op) {
  if (op->kind == OP_VIEW) return 0;
  Reshard change;
  if (op->kind == OP_RESHARD) return cost_of_change(model, graph, op, &change).seconds;
  const double measured = model->machine->profile != NULL ? profile_of_op(model, graph, op) : -1;
  return measured > 0 ? measured : cost_by_formulas(model, graph, op);
}

double cost_of_makings(const CostModel *model, const Graph *graph, const Op *op) {
  return (graph_tensor(graph, op->out)->again ? 2 : 1) * cost_of_op(model, graph, op);
}

Cost cost_of_graph(const CostModel *model, const Graph *train) { return cost_of_graph_by_op(model, train, NULL); }

Cost cost_of_graph_by_op(const CostModel *model, const Graph *train, double *makings) {
  Cost cost = {0};
  for (int i = 0; i < train->ops.len; i++) {
    const Op *op = &train->ops.at[i];
    const double times = phase_times(train, op->phase);
    if (!phase_is_of_step(op->phase)) continue;
    if (op->kind == OP_RESHARD) {
      Reshard change;
      const StepCost step = cost_of_change(model, train, op, &change);
      cost.communication[step.level] += times * step.seconds;
      cost.bytes += times * step.bytes;
      cost.step += times * step.seconds;
      continue;
    }
    const double making = cost_of_makings(model, train, op), seconds = times * making;
    if (makings != NULL) makings[i] = making;
    *(op->phase == PHASE_UPDATE ? &cost.update : &cost.compute) += seconds;
    cost.step += seconds;
  }
  return cost;
}
