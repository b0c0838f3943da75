#include "stats.h"

#include "contraction.h"

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

static void add_traffic(Traffic *traffic, const Procedure *procedure) {
  for (int i = 0; i < procedure->steps.len; i++) {
    const Step *step = procedure->steps.at[i];
    if (step->kind != STEP_COLLECTIVE || reshard_how(step->collective.kind) == RESHARD_LOCAL) continue;
    traffic->count[step->collective.kind]++;
    traffic->bytes[step->collective.kind] += step->collective.bytes;
  }
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
  s.multiply_adds = multiply_adds(c->model->train) / (double)c->model->batch;
  for (int i = 0; i < c->model->train->ops.len; i++) s.step_flops += op_flops(&c->model->train->ops.at[i]);
  for (int b = 0; b < p->buffers.len; b++) {
    const Buffer *buffer = &p->buffers.at[b];
    const int backward = p->starts[PROC_BACKWARD];
    if (!buffer->persistent && buffer->first >= p->starts[PROC_FORWARD] && buffer->first < backward &&
        buffer->last > backward && buffer->last < p->starts[PROC_EVALUATE])
      s.activations += buffer->bytes;
  }
  add_traffic(&s.step, &p->procedure[PROC_FORWARD]);
  add_traffic(&s.step, &p->procedure[PROC_BACKWARD]);
  add_traffic(&s.step, &p->procedure[PROC_UPDATE]);
  add_traffic(&s.report, &p->procedure[PROC_REPORT]);
  return s;
}

// {"all_reduce": {"count": 8, "bytes": 5357408}}
static const char *traffic_json(Arena *arena, const Traffic *traffic) {
  Text text = {.arena = arena};
  for (int kind = 0; kind < RESHARD_KINDS; kind++)
    if (traffic->count[kind] > 0)
      text_printf(&text, "%s\"%s\": {\"count\": %d, \"bytes\": %.0f}", text.len > 0 ? ", " : "",
                  reshard_name((ReshardKind)kind), traffic->count[kind], traffic->bytes[kind]);
  return text_str(&text);
}

static const char *traffic_rows(Arena *arena, const char *of, const Traffic *traffic) {
  Text text = {.arena = arena};
  for (int kind = 0; kind < RESHARD_KINDS; kind++)
    if (traffic->count[kind] > 0)
      text_printf(&text, "%-34s  %-14s %4d times, %.0f bytes of the busiest rank\n", text.len > 0 ? "" : of,
                  reshard_name((ReshardKind)kind), traffic->count[kind], traffic->bytes[kind]);
  return text_str(&text);
}

// What a training step is predicted to take: nothing where no machine is known.
static const char *predicted(const Compilation *c, bool json) {
  if (c->cost == NULL) return "";
  const Cost *cost = &c->predicted;
  Text text = {.arena = c->arena};
  text_printf(&text,
              json ? ", \"predicted\": {\"step_seconds\": %.6g, \"compute_seconds\": %.6g, \"update_seconds\": %.6g, "
                     "\"communication_bytes\": %.0f, \"communication_seconds\": {"
                   : "predicted training step (seconds)   %.6g\n  operators                         %.6g\n"
                     "  update                            %.6g\n  bytes of the busiest rank         %.0f\n",
              cost->step, cost->compute, cost->update, cost->bytes);
  for (int l = 0; l <= MACHINE_MAX_LEVELS; l++) {
    if (l >= c->machine->n_levels && l < MACHINE_MAX_LEVELS) continue;
    const char *name = l < MACHINE_MAX_LEVELS ? c->machine->level[l].name : "local";
    text_printf(&text, json ? "%s\"%s\": %.6g" : "%s  changes of layout, %-14s %.6g\n", json && l > 0 ? ", " : "", name,
                cost->communication[l]);
  }
  if (json) text_printf(&text, "}}");
  return text_str(&text);
}

const char *stats_print(const Compilation *c, bool json) {
  const Stats s = collect(c);
  const char *format =
      json ? "{\"model\": \"%s\", \"ranks\": %d, \"batch\": %lld, \"parameters\": %lld, \"state_elements\": %lld, "
             "\"forward_multiply_adds_per_sample\": %.0f, \"step_flops\": %.0f, \"activation_bytes\": %lld, "
             "\"peak_bytes\": %lld, \"peak_lower_bound_bytes\": %lld, "
             "\"step_communication\": {%s}, \"report_communication\": {%s}%s}\n"
           : "model                               %s on %d ranks, batch %lld\n"
             "parameters                          %lld\n"
             "state (elements)                    %lld\n"
             "forward multiply-adds per sample    %.0f\n"
             "operations of a training step       %.0f\n"
             "activations per rank (bytes)        %lld\n"
             "peak memory per rank (bytes)        %lld\n"
             "  largest sum of live tensors       %lld\n"
             "%s%s%s";
  const char *step =
      json ? traffic_json(c->arena, &s.step) : traffic_rows(c->arena, "communication of a training step", &s.step);
  const char *report =
      json ? traffic_json(c->arena, &s.report) : traffic_rows(c->arena, "  and of a report on it", &s.report);
  return arena_printf(c->arena, format, c->model->name, mesh_ranks(&c->mesh), (long long)c->model->batch,
                      (long long)s.parameters, (long long)s.states, s.multiply_adds, s.step_flops,
                      (long long)s.activations, (long long)s.peak, (long long)s.lower_bound, step, report,
                      predicted(c, json));
}
