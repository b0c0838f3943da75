// The emitted file, from top to bottom.
#include "codegen.h"

#include <math.h>

#include "../ir/print.h"
#include "emit_call.h"
#include "emit_inputs.h"
#include "emit_predicted.h"
#include "emit_procedure.h"
#include "emit_step.h"
#include "names.h"

typedef struct Codegen {
  const Program *p;
  Arena *arena;
  Arena *step; // of the step that is printed
  KernelBook book;
  ProcedureWriter writer;
  ProcedureText procedure[PROCEDURES + 1]; // the last one lists what is stored
  Text kernels;
  int n_predicted; // numbers of predicted_at
} Codegen;

// ---- header ------------------------------------------------------------------------------------------------------

typedef struct Traffic {
  int collectives;
  double bytes;
} Traffic;

// The axes that ranks are counted along: the last one is the batch.
static int mesh_axes(const Program *p) { return p->mesh.n_axes - 1; }

static Traffic traffic_of(const Program *p, ProcedureKind kind) {
  Traffic traffic = {0, 0};
  for (int i = 0; i < p->procedure[kind].steps.len; i++) {
    const Step *step = p->procedure[kind].steps.at[i];
    if (step->kind != STEP_COLLECTIVE || reshard_how(step->collective->kind) == RESHARD_LOCAL) continue;
    traffic.collectives += procedure_times(p, kind);
    traffic.bytes += procedure_times(p, kind) * step->collective->bytes;
  }
  return traffic;
}

static int64_t parameters(const Program *p) {
  int64_t n = 0;
  for (int i = 0; i < p->stored.len; i++) {
    const ProgTensor *t = &p->tensors.at[p->stored.at[i]];
    int64_t elements = t->role == ROLE_PARAM;
    for (int d = 0; d < t->rank; d++) elements *= t->global[d];
    n += elements;
  }
  return n;
}

static void print_header(const Codegen *g, Text *out) {
  const Program *p = g->p;
  const char *name = name_in_comment(g->arena, p->model->name);
  const int ranks = mesh_ranks(&p->mesh);
  text_printf(out, "// %s on %d rank%s. Written by parcc from %s; edit freely, or run parcc again.\n//\n", name, ranks,
              ranks == 1 ? "" : "s", name_in_comment(g->arena, p->model->source));
  text_printf(out, "//   mesh        ");
  for (int a = 0; a < mesh_axes(p); a++) text_printf(out, "%s%s=%d", a > 0 ? " " : "", p->mesh.axis[a].name, p->mesh.axis[a].size);
  text_printf(out, "\n");
  if (p->machine_text != NULL) text_printf(out, "//   machine     %s\n", name_in_comment(g->arena, p->machine_text));
  text_printf(out, "//   plan        %s\n", name_in_comment(g->arena, p->plan_text));
  if (p->microbatches > 1)
    text_printf(out, "//   batch       %lld samples, in %d microbatches\n", (long long)p->model->batch, p->microbatches);
  if (p->predicted_text != NULL) text_printf(out, "//   predicted   %s\n", name_in_comment(g->arena, p->predicted_text));
  text_printf(out, "//   parameters  %lld\n", (long long)parameters(p));
  text_printf(out, "//   memory      %lld bytes on each device, in one arena (largest sum of live tensors: %lld)\n",
              (long long)p->arena_bytes, (long long)p->lower_bound);
  text_printf(out, "//   moved by the busiest rank in a step:");
  bool any = false;
  for (int kind = PROC_BEGIN; kind <= PROC_UPDATE; kind++) {
    const Traffic traffic = traffic_of(p, kind);
    if (traffic.collectives == 0) continue;
    text_printf(out, "%s %s %d collective%s, %.0f bytes", any ? ";" : "", procedure_name(kind), traffic.collectives,
                traffic.collectives == 1 ? "" : "s", traffic.bytes);
    any = true;
  }
  text_printf(out, "%s\n//\n", any ? "" : " nothing");
  text_printf(out, "//   parcc-cc THIS.cu -o PROG && mpiexec -n %d PROG --data DIR\n\n", ranks);
  text_printf(out, "#include \"parcc.h\"\n\n");
}

typedef struct Factors { // constants that calls of cuBLAS point to
  bool one, zero;
} Factors;

static void find_factors(Step *const *steps, int n, Factors *f) {
  for (int i = 0; i < n; i++) {
    if (steps[i]->kind == STEP_LOOP) find_factors(steps[i]->loop.body.at, steps[i]->loop.body.len, f);
    if (steps[i]->kind != STEP_GEMM) continue;
    f->one |= steps[i]->gemm->alpha == 1 || steps[i]->gemm->accumulate;
    f->zero |= !steps[i]->gemm->accumulate;
  }
}

static void print_factors(const Program *p, Text *out) {
  Factors f = {false, false};
  for (int k = 0; k < PROCEDURES; k++) find_factors(p->procedure[k].steps.at, p->procedure[k].steps.len, &f);
  if (!f.one && !f.zero) return;
  text_printf(out, "static const %s%s%s%s;\n", name_type(p, TYPE_REAL), f.one ? " one = 1" : "", f.one && f.zero ? "," : "",
              f.zero ? " zero = 0" : "");
}

static const char *axes_text(const Program *p, uint32_t axes) {
  Text text = {.arena = p->arena};
  for (int a = 0; a < mesh_axes(p); a++)
    if (axes >> a & 1) text_printf(&text, "%s%s", text.len > 0 ? ", " : "", p->mesh.axis[a].name);
  return text.len > 0 ? text_str(&text) : "no axis";
}

static void print_mesh(const Codegen *g, Text *out) {
  const Program *p = g->p;
  text_printf(out, "enum { RANKS = %d", mesh_ranks(&p->mesh));
  for (int a = 0; a < mesh_axes(p); a++) text_printf(out, ", %s = %d", axis_constant(p, a), p->mesh.axis[a].size);
  if (p->microbatches > 1) text_printf(out, ", MICROBATCHES = %d", p->microbatches);
  text_printf(out, " };\n");
  if (p->microbatches > 1) text_printf(out, "static int micro; // the microbatch at hand\n");
  print_factors(p, out);
  text_printf(out, "\n");
  for (int b = 0; b < p->blocks.len; b++) {
    const RankBlock *block = &p->blocks.at[b];
    if (block->strip) continue;
    const char *window = "";
    if (!cut_is_plain(&block->cut, block->extent))
      window = arena_printf(g->arena, "what of %lld is needed for ", (long long)block->extent);
    text_printf(out, "static Interval %s; // %sthis rank's part of %lld, over %s\n", block->c_name, window,
                (long long)block->cut.units, axes_text(p, block->axes));
  }
  for (int i = 0; i < g->book.communicators.len; i++)
    text_printf(out, "static ncclComm_t %s;\n", communicator_name(p, g->book.communicators.at[i]));
  if (p->n_events > 0) text_printf(out, "static cudaEvent_t event[%d];\n", p->n_events);
  if (g->book.divisions.len == 0) return;
  text_printf(out, "static long samples = %lld; // in the batch at hand\n", (long long)p->model->batch);
  text_printf(out, "\n// How tensors are divided: extent, units, scale, before, after, div and axes of each dimension; stride, size and place of\n"
                   "// each axis (-1: replicated, -2: divided, else the coordinate that holds the tensor).\n");
  text_printf(out, "static const ParccDivision division[] = {\n");
  for (int i = 0; i < g->book.divisions.len; i++) text_printf(out, "    %s,\n", g->book.divisions.at[i]);
  text_printf(out, "};\n");
}

static void print_shape(const Program *p, const ProgTensor *t, Text *out) {
  text_printf(out, "[");
  for (int i = 0; i < t->rank; i++)
    text_printf(out, "%s%s", i > 0 ? ", " : "", name_extent(p->arena, p, t->extent[i]));
  text_printf(out, "]");
}

static void print_tensors(const Codegen *g, Text *out) {
  const Program *p = g->p;
  text_printf(out, "\n// Tensors of this rank: places in one arena, shared by those whose lifetimes do not overlap.\n"
                   "// LIFETIME_END tells the checking mode which bytes are free for others.\n");
  text_printf(out, "static struct {\n");
  for (int t = 0; t < p->tensors.len; t++) {
    const ProgTensor *tensor = &p->tensors.at[t];
    if (!g->writer.used[t]) continue;
    text_printf(out, "  %s *%s; // %s ", name_type(p, tensor->type), tensor->c_name, name_in_comment(g->arena, tensor->name));
    print_shape(p, tensor, out);
    text_printf(out, "\n");
  }
  text_printf(out, "} t;\n");
}

// What this rank holds of a dimension, as an Interval.
static const char *interval_text(const Codegen *g, Extent extent) {
  if (extent.block < 0) return arena_printf(g->arena, "{0, %lld}", (long long)extent.fixed);
  const char *block = g->p->blocks.at[extent.block].c_name;
  if (extent.fixed == 1) return block;
  return arena_printf(g->arena, "{%lld * %s.lo, %lld * %s.len}", (long long)extent.fixed, block, (long long)extent.fixed, block);
}

// The same with so many elements, as text, before it.
static const char *interval_behind(const Codegen *g, Extent extent, const char *before) {
  if (extent.block < 0) return arena_printf(g->arena, "{%s, %lld}", before, (long long)extent.fixed);
  const char *block = g->p->blocks.at[extent.block].c_name;
  const char *times = extent.fixed == 1 ? "" : arena_printf(g->arena, "%lld * ", (long long)extent.fixed);
  return arena_printf(g->arena, "{%s + %s%s.lo, %s%s.len}", before, times, block, times, block);
}

// ---- procedures --------------------------------------------------------------------------------------------------

// The condition under which this rank has the coordinates; NULL: always.
static const char *pin_condition(const Codegen *g, Arena *arena, const int *pin) {
  const Program *p = g->p;
  Text text = {.arena = arena};
  for (int a = 0; a < mesh_axes(p); a++) {
    if (pin[a] < 0 || p->mesh.axis[a].size == 1) continue;
    text_printf(&text, "%sparcc.rank / %d %% %s == %d", text.len > 0 ? " && " : "", mesh_stride(&p->mesh, a), axis_constant(p, a),
                pin[a]);
  }
  return text.len > 0 ? text_str(&text) : NULL;
}

static void print_step(Codegen *g, const Step *step, Text *out) {
  const char *pin = pin_condition(g, g->step, step->pin);
  if (pin != NULL) text_printf(out, "  if (%s) {\n", pin);
  emit_step(&g->book, step, NULL, pin != NULL ? 4 : 2, out);
  if (pin != NULL) text_printf(out, "  }\n");
}

static const char *place_of(Codegen *g, const Step *step) {
  if (!step_works(step)) return NULL;
  const char *where = arena_printf(g->step, "%s:%d", step->loc.file != NULL ? step->loc.file : g->p->model->source, step->loc.line);
  return printer_text(&g->writer.printer, where, strlen(where));
}

// Of a program that measures, behind the last step of a layer: what it took.
static void print_lap(const Codegen *g, const Procedure *procedure, int i, Text *out) {
  const char *layer = procedure->steps.at[i]->layer;
  const bool last = i + 1 == procedure->steps.len || !str_eq(procedure->steps.at[i + 1]->layer, layer);
  if (g->p->measured.len == 0 || !last || layer[0] == '\0') return;
  text_printf(out, "  parcc_lap(%s);\n", layer[0] == 'm' ? layer + 1 : "PARCC_LAP_BEGIN");
}

static void read_procedure(Codegen *g, ProcedureKind kind) {
  const char *const what[] = {
      [PROC_INIT] = "Initial values of parameters and states.",
      [PROC_BEGIN] = "Before the first microbatch: what is known of the whole batch, and where sums begin.",
      [PROC_FORWARD] = g->p->microbatches > 1 ? "The losses of a microbatch." : "The losses of the batch.",
      [PROC_BACKWARD] = "The gradients of all parameters.",
      [PROC_COMBINE] = "Behind the last microbatch: what is made of the sums over the whole batch.",
      [PROC_REPORT] = "What is only reported: metrics and the gradients' norm.",
      [PROC_UPDATE] = "The optimizer.",
      [PROC_EVALUATE] = "Losses and metrics of a batch of the test split.",
  };
  const Procedure *procedure = &g->p->procedure[kind];
  g->procedure[kind] = (ProcedureText){.name = procedure_name(kind), .what = what[kind]};
  for (int i = 0; i < procedure->steps.len; i++) {
    const Step *step = procedure->steps.at[i];
    Text text = {.arena = g->step};
    const bool ordered = i + 1 < procedure->steps.len && emit_order(step, procedure->steps.at[i + 1], &text);
    if (ordered) i++;
    else print_step(g, step, &text);
    if (kind == PROC_FORWARD) print_lap(g, procedure, i, &text);
    Printed printed = printer_read(&g->writer.printer, step->scope, arena_strndup(g->arena, text_str(&text), text.len), &g->kernels);
    printed.layer = step->layer;
    printed.name = step->name;
    printed.where = place_of(g, step);
    printed.stream = step_stream(step);
    printed.waits = ordered || step->kind == STEP_WAIT;
    printed.step = step;
    printed.placed = NEW(g->arena, bool);
    vec_push_own(g->arena, &g->procedure[kind].steps, printed);
    arena_reset(g->step);
  }
}

// The layer that a stored tensor is named after.
static const char *layer_of_name(const Names *layers, Arena *arena, const char *name) {
  for (const char *end = strrchr(name, '.'); end != NULL;) {
    const char *layer = arena_strndup(arena, name, (size_t)(end - name));
    if (names_get(layers, layer) >= 0) return layer;
    end = strrchr(layer, '.');
    name = layer;
  }
  return "";
}

static void read_stored(Codegen *g) {
  const Program *p = g->p;
  Names layers = {.arena = g->arena};
  for (int k = 0; k < PROCEDURES; k++)
    for (int i = 0; i < p->procedure[k].steps.len; i++) names_set(&layers, p->procedure[k].steps.at[i]->layer, 1);
  ProcedureText *list = &g->procedure[PROCEDURES];
  *list = (ProcedureText){.name = "list_stored", .what = "What --save writes and --load reads."};
  for (int i = 0; i < p->stored.len; i++) {
    const ProgTensor *t = &p->tensors.at[p->stored.at[i]];
    if (!t->shown) continue;
    const char *type = t->type != TYPE_REAL ? "PARCC_INT" : p->model->f64 ? "PARCC_DOUBLE" : "PARCC_FLOAT";
    const char *pin = pin_condition(g, g->arena, t->pin);
    Text text = {.arena = g->arena};
    const char *kind = t->role == ROLE_PARAM ? "PARCC_PARAM" : t->of_optimizer ? "PARCC_OPTIMIZER" : "PARCC_STATE";
    text_printf(&text, "  %c%s%c, %s, %s, ", NAME_MARK, t->name, NAME_MARK, kind, type);
    if (pin != NULL) text_printf(&text, "%s ? t.%s : NULL", pin, t->c_name);
    else text_printf(&text, "t.%s", t->c_name);
    for (int d = 0; d < t->rank; d++) {
      if (t->extent[d].block < 0) text_printf(&text, ", WHOLE(%lld)", (long long)t->global[d]);
      else text_printf(&text, ", PART(%lld, %s)", (long long)t->global[d], interval_text(g, t->extent[d]));
    }
    text_printf(&text, "%s);\n", t->rank == 0 ? ", SCALAR" : "");
    const char *layer = layer_of_name(&layers, g->arena, t->name);
    vec_push(g->arena, &list->steps, printer_read(&g->writer.printer, layer, text_str(&text), &g->kernels));
  }
}

// ---- what the runtime is told ------------------------------------------------------------------------------------

static const char *rate_text(const Codegen *g, const Expr *e) {
  static const char *const spelling[FN_COUNT] = {
#define FN(name, arity, spelling, type, flops) [FN_##name] = spelling,
#include "../ir/functions.def"
#undef FN
  };
  if (e->kind == EXPR_CONST) return name_number(g->arena, e->value, TYPE_REAL, true);
  if (e->kind == EXPR_RUN) return run_scalar_name(e->run);
  if (e->kind != EXPR_CALL) fatal("codegen: a learning rate that is no number");
  const char *arg[3] = {"", "", ""};
  for (int i = 0; i < fn_arity(e->call.fn); i++) arg[i] = rate_text(g, e->call.arg[i]);
  Text text = {.arena = g->arena};
  int n = 0;
  for (const char *c = spelling[e->call.fn]; *c != '\0'; c++) {
    if (c[0] == '%' && c[1] == 's') text_printf(&text, "%s", arg[n++]), c++;
    else if (*c != '$') text_printf(&text, "%c", *c);
  }
  return text_str(&text);
}

static void print_model(const Codegen *g, Text *out) {
  const Program *p = g->p;
  const Model *m = p->model;
  text_printf(out, "\nstatic const char *const scalars[] = {");
  for (int i = 0; i < p->scalars.len; i++)
    text_printf(out, "%s\"%s\"", i > 0 ? ", " : "", name_in_string(g->arena, p->scalars.at[i].name));
  text_printf(out, "};\n\nstatic double learning_rate(double step, double steps) {\n");
  text_printf(out, "  (void)step;\n  (void)steps;\n  return %s;\n}\n",
              m->learning_rate != NULL ? rate_text(g, m->learning_rate) : "0.0");
  text_printf(out, "\nstatic const ParccModel model = {\n");
  text_printf(out, "    .name = \"%s\",\n    .source = \"%s\",\n", name_in_string(g->arena, m->name),
              name_in_string(g->arena, m->source));
  text_printf(out, "    .ranks = RANKS,\n    .batch = %lld,\n    .real = %s,\n", (long long)m->batch,
              m->f64 ? "PARCC_DOUBLE" : "PARCC_FLOAT");
  text_printf(out, "    .inputs = inputs,\n    .n_inputs = %d,\n", p->inputs.len);
  text_printf(out, "    .scalars = scalars,\n    .n_scalars = %d,\n", p->scalars.len);
  text_printf(out, "    .steps = %lld,\n    .epochs = %lld,\n    .learning_rate = learning_rate,\n", (long long)m->steps,
              (long long)m->epochs);
  if (p->whole_batches == NULL) text_printf(out, "    .whole_batches = NULL, // the last batch of an evaluation may be smaller\n");
  else text_printf(out, "    .whole_batches = \"%s\", // puts samples of a batch together\n", name_in_string(g->arena, p->whole_batches));
  int sampled = -1;
  for (int i = 0; i < m->inputs.len && m->sampled_input != NULL; i++)
    if (str_eq(m->inputs.at[i].name, m->sampled_input)) sampled = i;
  if (sampled < 0) text_printf(out, "    .sampled = -1, // no text can be generated\n");
  else text_printf(out, "    .sampled = %d, // %s: its next value is drawn from what evaluate makes\n", sampled, name_in_comment(g->arena, m->sampled_input));
  if (p->measured.len == 0) text_printf(out, "    .measures = false, // it trains\n");
  else text_printf(out, "    .measures = true, // prints a profile, and nothing else\n");
  text_printf(out, "};\n");
}

// ---- main --------------------------------------------------------------------------------------------------------

// The places are those of the members of t, in their order.
static void print_places(const Codegen *g, Text *out) {
  const Program *p = g->p;
  const int64_t unit = record_place_unit(p);
  for (int k = 0; k < g->writer.layers.kinds.len; k++)
    if (g->writer.record[k] != NULL) record_print_places(g->writer.record[k], unit, out);
  text_printf(out, "\nstatic void place_tensors(void) {\n  char *const arena = parcc_arena(%lld);\n", (long long)p->arena_bytes);
  List list = {.out = out, .open = "  static const long place[] = {", .between = ", ", .close = "};\n", .indent = 6, .width = 180};
  for (int t = 0; t < p->tensors.len; t++)
    if (g->writer.used[t]) list_add(&list, arena_printf(g->arena, "%lld", (long long)(record_place(p, t) / unit)));
  list_end(&list);
  if (list.n > 0) text_printf(out, "  parcc_place_record(arena, %lld, place, %d, &t); // in units of so many bytes\n", (long long)unit, list.n);
  for (int k = 0; k < g->writer.layers.kinds.len; k++)
    if (g->writer.record[k] != NULL) text_printf(out, "  %s(arena);\n", g->writer.record[k]->place);
  text_printf(out, "}\n");
}

// before: the number of the batch's samples before those that are loaded, as text; NULL: it begins with them.
static void print_load(const Codegen *g, int input, int tensor, const char *pad, const char *before, Text *out) {
  const Program *p = g->p;
  if (tensor < 0 || !p->tensors.at[tensor].shown) return;
  const ProgTensor *t = &p->tensors.at[tensor];
  text_printf(out, "%sLOAD_BATCH(%d, t.%s", pad, input, t->c_name);
  for (int d = 0; d < t->rank; d++) {
    if (d > 0 || before == NULL) text_printf(out, ", %s", interval_text(g, t->extent[d]));
    else text_printf(out, ", %s", interval_behind(g, t->extent[d], before));
  }
  text_printf(out, ");\n");
}

static void print_batches(const Codegen *g, bool train, Text *out) {
  const Program *p = g->p;
  const char *pad = "    ", *before = NULL;
  if (train && p->microbatches > 1) {
    pad = "      ";
    before = arena_printf(g->arena, "micro * %lld", (long long)(p->model->batch / p->microbatches));
  }
  for (int i = 0; i < p->inputs.len; i++)
    print_load(g, i, train ? p->inputs.at[i].train : p->inputs.at[i].eval, pad, before, out);
}

// The whole of a training step, but for its end.
static void print_training_step(const Codegen *g, Text *out) {
  const Program *p = g->p;
  if (p->microbatches == 1) {
    print_batches(g, true, out);
    if (p->measured.len > 0) text_printf(out, "    parcc_lap(PARCC_LAP_BEGIN);\n    parcc_lap(PARCC_LAP_EMPTY);\n");
    text_printf(out, "    forward();\n    backward();\n    if (parcc_reports()) report();\n    update();\n");
    return;
  }
  for (int i = 0; i < p->inputs.len; i++) print_load(g, i, p->inputs.at[i].whole, "    ", NULL, out);
  const bool divides = g->book.divisions.len > 0;
  if (divides) text_printf(out, "    samples = %lld;\n", (long long)p->model->batch);
  text_printf(out, "    begin();\n");
  if (divides) text_printf(out, "    samples = %lld;\n", (long long)(p->model->batch / p->microbatches));
  text_printf(out, "    for (micro = 0; micro < MICROBATCHES; micro++) {\n");
  print_batches(g, true, out);
  text_printf(out, "      forward();\n      backward();\n    }\n    combine();\n    if (parcc_reports()) report();\n    update();\n");
}

// This rank's combined coordinate on a set of axes.
static const char *coordinate_text(const Program *p, uint32_t axes) {
  const char *text = NULL;
  for (int a = 0; a < mesh_axes(p); a++) {
    if (!(axes >> a & 1)) continue;
    const char *own = arena_printf(p->arena, "parcc.rank / %d %% %s", mesh_stride(&p->mesh, a), axis_constant(p, a));
    text = text == NULL ? own : arena_printf(p->arena, "(%s) * %s + %s", text, axis_constant(p, a), own);
  }
  return text != NULL ? text : "0";
}

// count: the number of samples in the batch where it is not the whole one; then only what is cut along the batch changes.
static void print_blocks(const Codegen *g, const char *pad, const char *count, Text *out) {
  const Program *p = g->p;
  for (int b = 0; b < p->blocks.len; b++) {
    const RankBlock *block = &p->blocks.at[b];
    const bool of_batch = block->axes >> mesh_axes(p) & 1;
    if (block->strip) continue;
    if (count != NULL && !of_batch) continue;
    const char *units = count != NULL && of_batch ? count : arena_printf(g->arena, "%lld", (long long)block->cut.units);
    const char *name = block->c_name;
    uint32_t first = 0; // of the axes, the slowest; blocks over it are divided over the others
    for (int a = 0; a < mesh_axes(p) && first == 0; a++) first = block->axes & 1u << a;
    text_printf(out, "%s%s = parcc_block(%s, %d, %s);\n", pad, name, units, mesh_parts(&p->mesh, first), coordinate_text(p, first));
    for (int a = 0; a < mesh_axes(p); a++)
      if ((block->axes & ~first) >> a & 1)
        text_printf(out, "%s%s = parcc_block_in(%s, %d, %s);\n", pad, name, name, p->mesh.axis[a].size, coordinate_text(p, 1u << a));
    if (cut_is_plain(&block->cut, block->extent)) continue;
    text_printf(out, "%s%s = parcc_window(%s, %lld, %lld, %lld, %lld, %lld);\n", pad, name, name, (long long)block->cut.scale,
                (long long)block->cut.before, (long long)block->cut.after, (long long)block->cut.div, (long long)block->extent);
  }
}

// The ranks along a set of axes: those of axes that are neighbours in the mesh are regular.
static void print_communicator(const Program *p, uint32_t axes, Text *out) {
  uint32_t others = 0;
  int first = mesh_axes(p), last = 0, size = 1;
  for (int a = 0; a < mesh_axes(p); a++) {
    if (!(axes >> a & 1)) continue;
    if (a < first) first = a;
    last = a;
  }
  for (int a = 0; a < mesh_axes(p); a++)
    if (!(axes >> a & 1)) others |= 1u << a;
  for (int a = first; a <= last; a++) size *= p->mesh.axis[a].size;
  const char *name = communicator_name(p, axes);
  if (size != mesh_parts(&p->mesh, axes))
    text_printf(out, "  %s = parcc_line(%s, %s);\n", name, coordinate_text(p, others), coordinate_text(p, axes));
  else
    text_printf(out, "  %s = parcc_axis(%d, %s);\n", name, mesh_stride(&p->mesh, last),
                size == mesh_ranks(&p->mesh) && first != last ? "RANKS"
                : first == last                               ? axis_constant(p, first)
                                                              : arena_printf(p->arena, "%d", size));
}

static void print_scalar_args(const Codegen *g, bool train, Text *out) {
  const Program *p = g->p;
  for (int i = 0; i < p->scalars.len; i++) {
    const int t = train ? p->scalars.at[i].train : p->scalars.at[i].eval;
    if (t >= 0) text_printf(out, ", t.%s", p->tensors.at[t].c_name);
    else text_printf(out, ", NULL");
  }
}

// Runs the evaluation graph on the next batch, which has `count` samples.
static void print_evaluation(const Codegen *g, const char *next, Text *out) {
  text_printf(out, "\n  for (long count; (count = %s()) > 0;) {\n", next);
  if (g->book.divisions.len > 0) text_printf(out, "    samples = count;\n");
  print_blocks(g, "    ", "count", out);
  print_batches(g, false, out);
  text_printf(out, "    evaluate();\n");
}

static void print_main(const Codegen *g, Text *out) {
  const Program *p = g->p;
  text_printf(out, "\nint main(int argc, char **argv) {\n  parcc_start(argc, argv, &model);\n");
  if (p->machine_name != NULL && mesh_ranks(&p->mesh) > 1 && p->measured.len == 0)
    text_printf(out, "  parcc_machine(\"%s\", %d, %lld); // ranks on each node, bytes of device memory\n", name_in_string(g->arena, p->machine_name), p->on_node, (long long)p->arena_bytes);
  for (int i = 0; i < g->book.communicators.len; i++) print_communicator(p, g->book.communicators.at[i], out);
  if (p->n_events > 0) text_printf(out, "  parcc_events(event, %d);\n", p->n_events);
  if (g->n_predicted > 0 && p->measured.len == 0) text_printf(out, "  parcc_predicted(predicted, predicted_at, %d);\n", g->n_predicted);
  text_printf(out, "  place_tensors();\n");
  print_blocks(g, "  ", NULL, out);
  text_printf(out, "  list_stored();\n  init();\n  parcc_load();\n\n  while (parcc_next_step()) {\n");
  print_training_step(g, out);
  text_printf(out, "    END_STEP(%s", p->gradient_norm >= 0 ? arena_printf(g->arena, "t.%s", p->tensors.at[p->gradient_norm].c_name) : "NULL");
  print_scalar_args(g, true, out);
  text_printf(out, ");\n  }\n");
  print_evaluation(g, "parcc_next_eval", out);
  text_printf(out, "    END_EVAL(count");
  print_scalar_args(g, false, out);
  text_printf(out, ");\n  }\n");
  if (p->sampled >= 0) {
    print_evaluation(g, "parcc_next_token", out);
    text_printf(out, "    parcc_end_token(t.%s);\n  }\n", p->tensors.at[p->sampled].c_name);
  }
  if (p->measured.len > 0) text_printf(out, "  parcc_laps(predicted, predicted_at, %d);\n", g->n_predicted);
  text_printf(out, "  return parcc_finish();\n}\n");
}

static void print_banner(const char *title, Text *out) {
  const int width = 112 - (int)strlen(title);
  text_printf(out, "\n// ---- %s ", title);
  for (int i = 0; i < width; i++) text_printf(out, "-");
  text_printf(out, "\n");
}

// The names of other globals.
static void enter_names(Codegen *g) {
  const Program *p = g->p;
  for (int b = 0; b < p->blocks.len; b++) names_set(&g->book.taken, p->blocks.at[b].c_name, 1);
  for (int i = 0; i < g->book.communicators.len; i++) names_set(&g->book.taken, communicator_name(p, g->book.communicators.at[i]), 1);
}

// Tensors that main names.
static void use(Codegen *g, int tensor) {
  if (tensor >= 0) g->writer.used[tensor] = g->p->tensors.at[tensor].shown;
}

static void use_in_main(Codegen *g) {
  const Program *p = g->p;
  for (int i = 0; i < p->inputs.len; i++) {
    use(g, p->inputs.at[i].train);
    use(g, p->inputs.at[i].eval);
    use(g, p->inputs.at[i].whole);
  }
  for (int i = 0; i < p->scalars.len; i++) {
    use(g, p->scalars.at[i].train);
    use(g, p->scalars.at[i].eval);
  }
  use(g, p->gradient_norm);
  use(g, p->sampled);
}

static void print_functions(Codegen *g) {
  for (int k = 0; k < PROCEDURES; k++)
    if (procedure_runs(g->p, k)) read_procedure(g, k);
  read_stored(g);
  enter_names(g);
  procedure_writer_decide(&g->writer, g->procedure, PROCEDURES + 1);
  for (int k = 0; k < PROCEDURES; k++)
    if (procedure_runs(g->p, k)) emit_procedure(&g->writer, &g->procedure[k]);
}

static void print_records(const Codegen *g, Text *out) {
  for (int k = 0; k < g->writer.layers.kinds.len; k++)
    if (g->writer.record[k] != NULL) record_print_type(g->writer.record[k], out);
}

const char *codegen_print(const Program *program) {
  Codegen generator = {.p = program, .arena = program->arena, .step = arena_new()}, *g = &generator;
  Program at_hand = *program;
  at_hand.arena = g->step;
  Text out = {.arena = program->arena};
  g->kernels.arena = program->arena;
  g->book = (KernelBook){.program = &at_hand, .arena = program->arena, .by_text.arena = program->arena, .taken.arena = program->arena, .out = &g->kernels};
  g->book.division_of.arena = g->book.keys.arena = program->arena;
  g->book.scratch = arena_new();
  g->writer = procedure_writer_new(program, &g->book.taken);
  Text prototypes = {.arena = program->arena};
  emit_prototypes(program, &g->book.taken, &prototypes);
  use_in_main(g);
  print_functions(g);
  arena_free(g->book.scratch);
  arena_free(g->step);
  const Text steps = g->writer.functions;
  g->writer.functions = (Text){.arena = program->arena};
  emit_procedure(&g->writer, &g->procedure[PROCEDURES]);
  print_header(g, &out);
  text_printf(&out, "%s", text_str(&prototypes));
  print_mesh(g, &out);
  print_tensors(g, &out);
  print_records(g, &out);
  print_banner("kernels", &out);
  text_printf(&out, "%s", text_str(&g->kernels));
  print_banner("one step", &out);
  text_printf(&out, "%s", text_str(&steps));
  print_banner("the run", &out);
  emit_inputs(program->model, &out);
  print_model(g, &out);
  if (program->measured.len > 0) g->n_predicted = emit_measured(program, &out);
  else if (program->predicted_text != NULL) g->n_predicted = emit_predicted(program, g->procedure, &out);
  print_places(g, &out);
  text_printf(&out, "%s", text_str(&g->writer.functions));
  print_main(g, &out);
  return text_str(&out);
}
