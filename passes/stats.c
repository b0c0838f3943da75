#include "stats.h"

#include "contraction.h"
#include "outcome.h"

typedef struct Traffic { // by kind of collective
  int count[RESHARD_KINDS];
  double bytes[RESHARD_KINDS]; // that the busiest rank of each sends or receives
} Traffic;

typedef struct Stats {
  int64_t parameters, states; // elements
  double multiply_adds;       // forward, per sample
  double step_flops;          // forward, backward and update, whole batch
  int64_t activations;        // bytes kept from forward to backward, per rank
  int64_t peak, lower_bound;  // bytes, per rank
  Traffic step, report;       // communication of a training step without and of a report on it
} Stats;

static double points(const Op *op) {
  double n = 1;
  for (int d = 0; d < op->n_dims; d++) n *= (double)op->dims[d].extent;
  return n;
}

static double multiply_adds(const Graph *graph) {
  double n = 0;
  Contraction c;
  for (int i = 0; i < graph->ops.len; i++)
    if (graph->ops.at[i].phase == PHASE_FORWARD && contraction_match(graph, &graph->ops.at[i], &c))
      n += points(&graph->ops.at[i]);
  return n;
}

static void add_traffic(Traffic *traffic, const Procedure *procedure, int times) {
  for (int i = 0; i < procedure->steps.len; i++) {
    const Step *step = procedure->steps.at[i];
    if (step->kind != STEP_COLLECTIVE || reshard_how(step->collective->kind) == RESHARD_LOCAL) continue;
    traffic->count[step->collective->kind] += times;
    traffic->bytes[step->collective->kind] += times * step->collective->bytes;
  }
}

static Traffic traffic_of_step(const Program *p) {
  Traffic traffic = {0};
  for (int k = PROC_BEGIN; k <= PROC_UPDATE; k++)
    if (k != PROC_REPORT) add_traffic(&traffic, &p->procedure[k], procedure_times(p, k));
  return traffic;
}

static Stats collect(const Compilation *c) {
  const Program *p = c->program;
  Stats s = {.peak = p->arena_bytes, .lower_bound = p->lower_bound};
  for (int i = 0; i < p->stored.len; i++) {
    const ProgTensor *t = &p->tensors.at[p->stored.at[i]];
    int64_t elements = 1;
    for (int d = 0; d < t->rank; d++) elements *= t->global[d];
    *(t->role == ROLE_PARAM ? &s.parameters : &s.states) += elements;
  }
  s.multiply_adds = multiply_adds(c->model->train) * c->model->train->microbatches / (double)c->model->batch;
  for (int i = 0; i < c->model->train->ops.len; i++) {
    const Op *op = &c->model->train->ops.at[i];
    s.step_flops += phase_times(c->model->train, op->phase) * op_flops(op);
  }
  for (int b = 0; b < p->buffers.len; b++) {
    const Buffer *buffer = &p->buffers.at[b];
    const int backward = p->starts[PROC_BACKWARD];
    if (!buffer->persistent && buffer->first >= p->starts[PROC_FORWARD] && buffer->first < backward &&
        buffer->last > backward && buffer->last < p->starts[PROC_EVALUATE])
      s.activations += buffer->bytes;
  }
  s.step = traffic_of_step(p);
  add_traffic(&s.report, &p->procedure[PROC_REPORT], procedure_times(p, PROC_REPORT));
  return s;
}

// ---- as JSON -------------------------------------------------------------------------------------------------------

static void json_traffic(Json *json, const char *key, const Traffic *traffic) {
  json_open_object(json, key);
  for (int kind = 0; kind < RESHARD_KINDS; kind++) {
    if (traffic->count[kind] == 0) continue;
    json_open_object(json, reshard_name((ReshardKind)kind));
    json_count(json, "count", traffic->count[kind]);
    json_count(json, "bytes", traffic->bytes[kind]);
    json_close_object(json);
  }
  json_close_object(json);
}

static void json_tables(Json *json, const Model *model) {
  if (model->tables.len == 0) return;
  json_open_object(json, "tables");
  for (int i = 0; i < model->tables.len; i++) {
    const TableUse *t = &model->tables.at[i];
    json_open_object(json, t->name);
    json_count(json, "rows", t->rows);
    json_count(json, "lookups", t->places);
    json_real(json, "distinct_rows", t->distinct);
    json_close_object(json);
  }
  json_close_object(json);
}

void json_step_communication(Json *json, const Program *p) {
  const Traffic traffic = traffic_of_step(p);
  json_traffic(json, "step_communication", &traffic);
}

static const char *print_json(const Compilation *c, const Stats *s) {
  Json json = json_new(c->arena);
  json_open_object(&json, NULL);
  json_string(&json, "model", c->model->name);
  json_count(&json, "ranks", mesh_ranks(&c->mesh));
  json_count(&json, "batch", (double)c->model->batch);
  json_count(&json, "parameters", (double)s->parameters);
  json_count(&json, "state_elements", (double)s->states);
  json_count(&json, "forward_multiply_adds_per_sample", s->multiply_adds);
  json_count(&json, "step_flops", s->step_flops);
  json_count(&json, "activation_bytes", (double)s->activations);
  json_count(&json, "peak_bytes", (double)s->peak);
  json_count(&json, "peak_lower_bound_bytes", (double)s->lower_bound);
  json_tables(&json, c->model);
  json_step_communication(&json, c->program);
  json_traffic(&json, "report_communication", &s->report);
  if (c->cost != NULL) {
    json_open_object(&json, "predicted");
    json_cost(&json, &c->predicted, c->machine);
    json_close_object(&json);
  }
  json_close_object(&json);
  return json_end(&json);
}

// ---- for people ----------------------------------------------------------------------------------------------------

static void print_traffic(Text *text, const char *of, const Traffic *traffic) {
  bool first = true;
  for (int kind = 0; kind < RESHARD_KINDS; kind++) {
    if (traffic->count[kind] == 0) continue;
    text_printf(text, "%-34s  %-14s %4d times, %.0f bytes of the busiest rank\n", first ? of : "", reshard_name((ReshardKind)kind),
                traffic->count[kind], traffic->bytes[kind]);
    first = false;
  }
}

static void print_tables(Text *text, const Model *model) {
  for (int i = 0; i < model->tables.len; i++) {
    const TableUse *t = &model->tables.at[i];
    text_printf(text, "%-34s  %s: %.0f of %.0f (%.3g %%), by %.0f lookups\n", i == 0 ? "rows that a step looks up" : "", t->name, t->distinct, t->rows,
                100 * t->distinct / t->rows, t->places);
  }
}

static void print_predicted(Text *text, const Cost *cost, const Machine *machine) {
  text_printf(text, "predicted training step (seconds)   %.6g\n", cost->step);
  text_printf(text, "  operators                         %.6g\n", cost->compute);
  text_printf(text, "  update                            %.6g\n", cost->update);
  text_printf(text, "  bytes of the busiest rank         %.0f\n", cost->bytes);
  for (int l = 0; l <= machine->n_levels; l++) {
    const bool local = l == machine->n_levels;
    text_printf(text, "  changes of layout, %-14s %.6g\n", local ? "local" : machine->level[l].name,
                cost->communication[local ? MACHINE_MAX_LEVELS : l]);
  }
}

static const char *print_text(const Compilation *c, const Stats *s) {
  Text text = {.arena = c->arena};
  text_printf(&text, "model                               %s on %d ranks, batch %lld\n", c->model->name, mesh_ranks(&c->mesh),
              (long long)c->model->batch);
  text_printf(&text, "parameters                          %lld\n", (long long)s->parameters);
  text_printf(&text, "state (elements)                    %lld\n", (long long)s->states);
  text_printf(&text, "forward multiply-adds per sample    %.0f\n", s->multiply_adds);
  text_printf(&text, "operations of a training step       %.0f\n", s->step_flops);
  text_printf(&text, "activations per rank (bytes)        %lld\n", (long long)s->activations);
  text_printf(&text, "peak memory per rank (bytes)        %lld\n", (long long)s->peak);
  text_printf(&text, "  largest sum of live tensors       %lld\n", (long long)s->lower_bound);
  print_tables(&text, c->model);
  print_traffic(&text, "communication of a training step", &s->step);
  print_traffic(&text, "  and of a report on it", &s->report);
  if (c->cost != NULL) print_predicted(&text, &c->predicted, c->machine);
  return text_str(&text);
}

const char *stats_print(const Compilation *c, bool json) {
  const Stats s = collect(c);
  return json ? print_json(c, &s) : print_text(c, &s);
}
