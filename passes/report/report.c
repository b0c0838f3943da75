#include "report.h"

#include <math.h>

#include "../../ir/profile.h"
#include "../plan_write.h"
#include "../sim/streams.h"
#include "../stats.h"
#include "occupancy.h"
#include "traffic.h"

enum { POINTS = 1000, ROWS = 8 }; // of memory over a step; ranks whose time line is shown

// ---- looking at the graphs -----------------------------------------------------------------------------------------

// What the profile says of an operator or change of layout, and by which name; -1: nothing.
static double measured_of(const Compilation *c, const Op *op, const char **name) {
  const Graph *graph = c->model->train;
  if (op->kind != OP_RESHARD) {
    *name = profile_name(c->arena, c->cost, graph, op);
    return *name != NULL ? profile_seconds(c->machine->profile, *name) : -1;
  }
  Reshard step;
  const double seconds = cost_of_change(c->cost, graph, op, &step).seconds;
  *name = profile_change_name(c->arena, c->cost, graph, op);
  return *name != NULL && c->cost->links[step.axes].measured[step.kind] != NULL ? seconds : -1;
}

static void list_operators(Report *report, const Compilation *c) {
  const Graph *graph = c->model->train;
  Machine formulas = *c->machine;
  Names number = {.arena = c->arena};
  formulas.profile = NULL;
  const CostModel by_formulas = cost_model(c->arena, &formulas, &c->mesh, c->model->f64);
  for (int i = 0; i < graph->ops.len; i++) {
    const Op *op = &graph->ops.at[i];
    const char *name;
    if (!phase_is_of_step(op->phase)) continue;
    const double measured = measured_of(c, op, &name);
    if (measured <= 0) continue;
    const int known = names_get(&number, name);
    const int times = phase_times(graph, op->phase);
    if (known >= 0) report->operators.at[known].count += times;
    if (known >= 0) continue;
    names_set(&number, name, report->operators.len);
    vec_push(c->arena, &report->operators, (ReportOperator){name, op->kind == OP_RESHARD, times, cost_of_op(&by_formulas, graph, op), measured});
  }
}

void report_take_plan(Report *report, const Compilation *c) {
  Text text = {.arena = c->arena};
  const Plan plan = plan_write(c);
  plan_print(&plan, &text);
  report->plan = text_str(&text);
}

void report_look(Report *report, const Compilation *c) {
  Network *network = network_of(c);
  network_fold(network);
  report->network = network;
  if (c->machine->profile == NULL) return;
  report->profile = profile_use(c);
  list_operators(report, c);
}

// ---- the machine and the plan --------------------------------------------------------------------------------------

static void json_machine(Json *json, const Machine *machine) {
  json_open_object(json, "machine");
  json_string(json, "name", machine->name);
  json_string(json, "device", machine->device.name);
  json_real(json, "memory_bytes", machine->device.memory);
  json_open_array(json, "levels");
  for (int l = 0; l < machine->n_levels; l++) {
    const MachineLevel *level = &machine->level[l];
    json_open_object(json, NULL);
    json_string(json, "name", level->name);
    json_string(json, "link", level->link);
    json_count(json, "count", level->count);
    json_real(json, "bytes_per_second", level->bandwidth);
    json_real(json, "latency_seconds", level->latency);
    json_bool(json, "shared", level->shared);
    json_close_object(json);
  }
  json_close_array(json);
  json_close_object(json);
}

static void json_mesh(Json *json, const Mesh *mesh) {
  json_open_array(json, "mesh");
  for (int a = 0; a < mesh->n_axes; a++) {
    json_open_object(json, NULL);
    json_string(json, "name", mesh->axis[a].name);
    json_count(json, "size", mesh->axis[a].size);
    json_close_object(json);
  }
  json_close_array(json);
}

static void json_planners(Json *json, const Report *report) {
  const Comparison *c = &report->planners;
  json_open_array(json, "planners");
  for (int i = 0; i < c->outcomes.len; i++) {
    json_open_object(json, NULL);
    json_outcome(json, &c->outcomes.at[i], report->c->machine);
    json_real(json, "speedup_over_data", compare_speed_up(c, &c->outcomes.at[i]));
    json_close_object(json);
  }
  json_close_array(json);
}

// ---- the network ---------------------------------------------------------------------------------------------------

static void json_changes(Json *json, const char *key, const NetworkChanges *changes) {
  json_open_array(json, key);
  for (int i = 0; i < changes->len; i++) {
    const NetworkChange *change = &changes->at[i];
    json_open_object(json, NULL);
    json_string(json, "kind", change->kind);
    json_string(json, "tensor", change->tensor);
    json_string(json, "axes", change->axes);
    json_string(json, "level", change->level);
    json_real(json, "bytes", change->bytes);
    json_real(json, "seconds", change->seconds);
    json_close_object(json);
  }
  json_close_array(json);
}

static void json_dims(Json *json, const Network *network, const NetworkNode *node) {
  json_open_array(json, "dims");
  for (int d = 0; d < node->space.n_dims; d++) {
    json_open_object(json, NULL);
    json_string(json, "name", node->space.dims[d].name);
    json_count(json, "extent", (double)node->space.dims[d].extent);
    json_bool(json, "reduced", d >= node->n_out);
    json_open_array(json, "axes");
    for (int a = 0; a < network->mesh.n_axes; a++)
      if (node->sharding.dim[a] == d) json_count(json, NULL, a);
    json_close_array(json);
    json_close_object(json);
  }
  json_close_array(json);
}

static void json_node(Json *json, const Network *network, const NetworkNode *node, const char *boxes) {
  json_open_object(json, NULL);
  json_string(json, "name", network_node_name(node));
  json_string(json, "op", node->op);
  json_string(json, "boxes", boxes);
  json_string(json, "split", network_split_text(network, node));
  json_dims(json, network, node);
  json_open_array(json, "ways");
  for (int a = 0; a < network->mesh.n_axes; a++) json_count(json, NULL, network_way(network, node, a));
  json_close_array(json);
  json_open_array(json, "pins");
  for (int a = 0; a < network->mesh.n_axes; a++) json_count(json, NULL, node->sharding.pin[a]);
  json_close_array(json);
  json_count(json, "times", node->times);
  json_real(json, "parameter_bytes", node->stored);
  json_real(json, "held_bytes", node->held);
  json_real(json, "forward", node->seconds[PHASE_FORWARD]);
  json_real(json, "backward", node->seconds[PHASE_BACKWARD]);
  json_real(json, "update", node->seconds[PHASE_UPDATE]);
  json_real(json, "changes", node->change_seconds);
  json_real(json, "change_bytes", node->change_bytes);
  json_changes(json, "own", &node->own);
  json_open_array(json, "in");
  for (int i = 0; i < node->in.len; i++) {
    json_open_object(json, NULL);
    json_count(json, "from", node->in.at[i].from);
    json_string(json, "tensor", node->in.at[i].tensor);
    json_changes(json, "changes", &node->in.at[i].changes);
    json_close_object(json);
  }
  json_close_array(json);
  json_close_object(json);
}

static void json_network(Json *json, const Network *network) {
  const char **boxes = network_boxes(network);
  json_open_object(json, "network");
  json_open_array(json, "ways");
  for (int way = 0; way < NETWORK_WAYS; way++) json_string(json, NULL, network_way_text((NetworkWay)way));
  json_close_array(json);
  json_open_array(json, "repeats");
  for (int r = 0; r < network->repeats.len; r++) {
    json_open_object(json, NULL);
    json_count(json, "nodes", network->repeats.at[r].n);
    json_count(json, "times", network->repeats.at[r].times);
    json_close_object(json);
  }
  json_close_array(json);
  json_open_array(json, "nodes");
  for (int i = 0; i < network->nodes.len; i++) json_node(json, network, &network->nodes.at[i], boxes[i]);
  json_close_array(json);
  json_real(json, "other", network->other_seconds);
  json_close_object(json);
}

// ---- memory and communication --------------------------------------------------------------------------------------

// Of several positions that become one point, the one with most.
static void json_passing(Json *json, const Occupancy *o) {
  const int each = (o->n + POINTS - 1) / POINTS;
  json_count(json, "steps", o->n);
  json_count(json, "steps_of_a_point", each);
  json_open_array(json, "passing");
  for (int i = 0; i < o->n; i += each) {
    double most = 0;
    for (int k = i; k < i + each && k < o->n; k++) most = fmax(most, o->passing[k]);
    json_count(json, NULL, most);
  }
  json_close_array(json);
}

static void json_memory(Json *json, const Program *program) {
  const Occupancy o = occupancy_of_program(program->arena, program);
  json_open_object(json, "memory");
  json_count(json, "planned", (double)program->arena_bytes);
  json_count(json, "parameters", o.parameters);
  json_count(json, "states", o.states);
  json_count(json, "inputs", o.inputs);
  json_passing(json, &o);
  json_open_array(json, "phases");
  for (int k = 0; k < PROCEDURES; k++) {
    if (o.starts[k] < 0) continue;
    json_open_object(json, NULL);
    json_string(json, "name", procedure_name((ProcedureKind)k));
    json_count(json, "start", o.starts[k]);
    json_close_object(json);
  }
  json_close_array(json);
  json_count(json, "most_at", o.most);
  json_open_array(json, "largest");
  for (int i = 0; i < o.largest.len; i++) {
    json_open_object(json, NULL);
    json_string(json, "name", o.largest.at[i].name);
    json_count(json, "bytes", o.largest.at[i].bytes);
    json_close_object(json);
  }
  json_close_array(json);
  json_close_object(json);
}

static void json_communication(Json *json, const Compilation *c) {
  const double *bytes = traffic_of_program(c->arena, c->program);
  const int ranks = mesh_ranks(&c->mesh);
  json_open_object(json, "communication");
  json_count(json, "ranks_shown_at_most", TRAFFIC_MAX_RANKS);
  json_open_array(json, "bytes");
  for (int sender = 0; bytes != NULL && sender < ranks; sender++) {
    json_open_array(json, NULL);
    for (int receiver = 0; receiver < ranks; receiver++) json_count(json, NULL, bytes[sender * ranks + receiver]);
    json_close_array(json);
  }
  json_close_array(json);
  json_step_communication(json, c->program);
  json_close_object(json);
}

// ---- the time line -------------------------------------------------------------------------------------------------

// What a span is drawn as; what is around a loop over microbatches goes with the pass beside it.
static int kind_of(const StreamSpan *span) {
  enum { FORWARD, BACKWARD, UPDATE, CHANGE };
  if (span->step->kind == STEP_COLLECTIVE) return CHANGE;
  if (span->procedure <= PROC_FORWARD) return FORWARD;
  return span->procedure <= PROC_COMBINE ? BACKWARD : UPDATE;
}

// Spans are arrays of whole numbers: the name, the kind, nanoseconds from the beginning of the step, nanoseconds.
static void json_spans(Json *json, const StreamSpans *spans, Names *names, const char **name_at) {
  json_open_array(json, "spans");
  for (int i = 0; i < spans->len; i++) {
    const StreamSpan *span = &spans->at[i];
    const Step *step = span->step;
    const char *name = step->layer[0] != '\0' ? arena_printf(names->arena, "%s %s", step->layer, step->name) : step->name;
    int number = names_get(names, name);
    if (number < 0) {
      number = names->len;
      names_set(names, name, number);
      name_at[number] = name;
    }
    json_open_array(json, NULL);
    json_count(json, NULL, number);
    json_count(json, NULL, kind_of(span));
    json_count(json, NULL, span->start * 1e9);
    json_count(json, NULL, span->seconds * 1e9);
    json_close_array(json);
  }
  json_close_array(json);
}

static void json_streams(Json *json, const Compilation *c) {
  static const char *const stream_name[] = {[STREAM_COMPUTE] = "computing", [STREAM_COMM] = "communicating"};
  const Streams streams = streams_of_program(c->arena, c->program);
  Names names = {.arena = c->arena};
  int most = 0;
  for (int i = 0; i < streams.ranks.len; i++)
    for (int s = 0; s < 2; s++) most += streams.ranks.at[i].spans[s].len;
  const char **name_at = NEW_ARRAY(c->arena, const char *, most + 1);
  json_open_object(json, "streams");
  json_real(json, "seconds", streams.ranks.len > 0 ? streams.seconds : NAN);
  json_count(json, "ranks", streams.ranks.len);
  json_open_array(json, "rows");
  for (int i = 0; i < streams.ranks.len && i < ROWS; i++)
    for (int s = 0; s < 2; s++) {
      json_open_object(json, NULL);
      json_count(json, "rank", streams.ranks.at[i].rank);
      json_string(json, "stream", stream_name[s]);
      json_spans(json, &streams.ranks.at[i].spans[s], &names, name_at);
      json_close_object(json);
    }
  json_close_array(json);
  json_open_array(json, "names");
  for (int i = 0; i < names.len; i++) json_string(json, NULL, name_at[i]);
  json_close_array(json);
  json_close_object(json);
}

static void json_operators(Json *json, const Report *report) {
  json_open_array(json, "operators");
  for (int i = 0; i < report->operators.len; i++) {
    const ReportOperator *op = &report->operators.at[i];
    json_open_object(json, NULL);
    json_string(json, "name", op->name);
    json_bool(json, "is_change", op->is_change);
    json_count(json, "count", op->count);
    json_real(json, "predicted", op->predicted);
    json_real(json, "measured", op->measured);
    json_close_object(json);
  }
  json_close_array(json);
}

const char *report_json(const Report *report) {
  const Compilation *c = report->c;
  Json json = json_new(c->arena);
  json_open_object(&json, NULL);
  json_string(&json, "model", c->model->name);
  json_string(&json, "type", c->model->f64 ? "f64" : "f32");
  json_count(&json, "batch", (double)c->model->batch);
  json_count(&json, "ranks", mesh_ranks(&c->mesh));
  json_string(&json, "plan", report->plan);
  json_string(&json, "planner", plan_source_text(c->arena, &c->plan_source));
  json_open_object(&json, "predicted");
  json_cost(&json, &c->predicted, c->machine);
  json_close_object(&json);
  json_machine(&json, c->machine);
  json_mesh(&json, &report->network->mesh);
  json_planners(&json, report);
  json_network(&json, report->network);
  json_streams(&json, c);
  json_memory(&json, c->program);
  json_communication(&json, c);
  json_operators(&json, report);
  json_close_object(&json);
  return json_end(&json);
}
