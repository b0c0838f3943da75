// The emitted file, from top to bottom.
#include "codegen.h"

#include <math.h>

#include "../ir/print.h"
#include "emit_call.h"
#include "emit_step.h"
#include "names.h"

enum { FUNCTION_STEPS = 24 }; // a longer procedure is divided into functions, by layers

typedef struct Codegen {
  const Program *p;
  Arena *arena;
  KernelBook book;
  Text kernels, functions;
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
    if (step->kind != STEP_COLLECTIVE || reshard_how(step->collective.kind) == RESHARD_LOCAL) continue;
    traffic.collectives++;
    traffic.bytes += step->collective.bytes;
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
  text_printf(out, "\n//   plan        %s\n", name_in_comment(g->arena, p->plan_text));
  text_printf(out, "//   parameters  %lld\n", (long long)parameters(p));
  text_printf(out, "//   memory      %lld bytes on each device, in one arena (largest sum of live tensors: %lld)\n",
              (long long)p->arena_bytes, (long long)p->lower_bound);
  static const ProcedureKind kinds[] = {PROC_FORWARD, PROC_BACKWARD, PROC_REPORT, PROC_UPDATE};
  text_printf(out, "//   moved by the busiest rank in a step:");
  bool any = false;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const Traffic traffic = traffic_of(p, kinds[i]);
    if (traffic.collectives == 0) continue;
    text_printf(out, "%s %s %d collective%s, %.0f bytes", any ? ";" : "", procedure_name(kinds[i]), traffic.collectives,
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
    f->one |= steps[i]->gemm.alpha == 1 || steps[i]->gemm.accumulate;
    f->zero |= !steps[i]->gemm.accumulate;
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
  text_printf(out, " };\n");
  print_factors(p, out);
  text_printf(out, "\n");
  for (int b = 0; b < p->blocks.len; b++) {
    const RankBlock *block = &p->blocks.at[b];
    const char *window = "";
    if (!cut_is_plain(&block->cut, block->extent))
      window = arena_printf(g->arena, "what of %lld is needed for ", (long long)block->extent);
    text_printf(out, "static Interval %s; // %sthis rank's part of %lld, over %s\n", name_identifier(g->arena, block->name), window,
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
    if (!tensor->shown) continue;
    text_printf(out, "  %s *%s; // %s ", name_type(p, tensor->type), tensor->c_name, name_in_comment(g->arena, tensor->name));
    print_shape(p, tensor, out);
    text_printf(out, "\n");
  }
  text_printf(out, "} t;\n");
}

// ---- procedures --------------------------------------------------------------------------------------------------

static const char *top_layer(const Codegen *g, const Step *step) {
  const char *dot = strchr(step->layer, '.');
  if (step->layer[0] == '\0') return step->name;
  return dot == NULL ? step->layer : arena_strndup(g->arena, step->layer, (size_t)(dot - step->layer));
}

static void print_place(const Codegen *g, const Step *step, const Step *before, Text *out) {
  if (!step_works(step)) return;
  const bool same = before != NULL && str_eq(before->layer, step->layer) && str_eq(before->name, step->name) &&
                    before->loc.line == step->loc.line;
  if (same) return;
  const char *label = step->layer[0] != '\0' ? arena_printf(g->arena, "%s %s", step->layer, step->name) : step->name;
  text_printf(out, "\n  AT(\"%s\", \"%s:%d\");\n", name_in_string(g->arena, label),
              name_in_string(g->arena, step->loc.file != NULL ? step->loc.file : g->p->model->source), step->loc.line);
}

// The condition under which this rank runs the step; NULL: always.
static const char *pin_condition(const Codegen *g, const Step *step) {
  const Program *p = g->p;
  Text text = {.arena = g->arena};
  for (int a = 0; a < mesh_axes(p); a++) {
    if (step->pin[a] < 0 || p->mesh.axis[a].size == 1) continue;
    text_printf(&text, "%sparcc.rank / %d %% %s == %d", text.len > 0 ? " && " : "", mesh_stride(&p->mesh, a), axis_constant(p, a),
                step->pin[a]);
  }
  return text.len > 0 ? text_str(&text) : NULL;
}

static void print_step(Codegen *g, const Step *step, Text *out) {
  const char *pin = pin_condition(g, step);
  if (pin != NULL) text_printf(out, "  if (%s) {\n", pin);
  emit_step(&g->book, step, NULL, pin != NULL ? 4 : 2, out);
  if (pin != NULL) text_printf(out, "  }\n");
}

static void print_function(Codegen *g, const char *name, const char *what, Step *const *steps, int n) {
  Text body = {.arena = g->arena};
  const Step *before = NULL;
  for (int i = 0; i < n; i++) {
    print_place(g, steps[i], before, &body);
    if (step_works(steps[i])) before = steps[i];
    print_step(g, steps[i], &body);
  }
  const char *text = text_str(&body);
  text_printf(&g->functions, "\n// %s\nstatic void %s(void) {\n%s}\n", what, name, text[0] == '\n' ? text + 1 : text);
}

// Ends where a new layer begins, once the function is long enough.
static int function_end(const Codegen *g, const Procedure *procedure, int start) {
  int end = start + 1;
  while (end < procedure->steps.len) {
    const Step *step = procedure->steps.at[end], *before = procedure->steps.at[end - 1];
    const bool boundary = step_works(step) && !str_eq(top_layer(g, step), top_layer(g, before));
    if (end - start >= FUNCTION_STEPS && boundary) break;
    if (end - start >= 3 * FUNCTION_STEPS) break;
    end++;
  }
  return end;
}

static void print_procedure(Codegen *g, ProcedureKind kind) {
  const Procedure *procedure = &g->p->procedure[kind];
  static const char *const what[] = {
      [PROC_INIT] = "Initial values of parameters and states.",
      [PROC_FORWARD] = "The losses of the batch.",
      [PROC_BACKWARD] = "The gradients of all parameters.",
      [PROC_REPORT] = "What is only reported: metrics and the gradients' norm.",
      [PROC_UPDATE] = "The optimizer.",
      [PROC_EVALUATE] = "Losses and metrics of a batch of the test split.",
  };
  const char *name = procedure_name(kind);
  if (procedure->steps.len <= 3 * FUNCTION_STEPS) {
    print_function(g, name, what[kind], procedure->steps.at, procedure->steps.len);
    return;
  }
  Text calls = {.arena = g->arena};
  for (int start = 0; start < procedure->steps.len;) {
    const int end = function_end(g, procedure, start);
    const char *layer = top_layer(g, procedure->steps.at[start]);
    const char *part = name_unique(g->arena, &g->book.taken, arena_printf(g->arena, "%s_%s", name, layer));
    print_function(g, part, arena_printf(g->arena, "%s: from %s on", name, name_in_comment(g->arena, layer)),
                   procedure->steps.at + start, end - start);
    text_printf(&calls, "  %s();\n", part);
    start = end;
  }
  text_printf(&g->functions, "\n// %s\nstatic void %s(void) {\n%s}\n", what[kind], name, text_str(&calls));
}

// ---- what the runtime is told ------------------------------------------------------------------------------------

static void print_inputs(const Codegen *g, Text *out) {
  const Program *p = g->p;
  text_printf(out, "\nstatic const ParccInput inputs[] = { // name, type, extents of the whole batch, range, files, scale, offset\n");
  for (int i = 0; i < p->inputs.len; i++) {
    const Input *input = &p->model->inputs.at[i];
    const Tensor *tensor = graph_tensor(p->model->train, names_get(&p->model->train->tensor_names, input->name));
    text_printf(out, "    {\"%s\", %s, %d, {", name_in_string(g->arena, input->name),
                tensor->type != TYPE_REAL ? "PARCC_INT" : p->model->f64 ? "PARCC_DOUBLE" : "PARCC_FLOAT", tensor->rank);
    for (int d = 0; d < tensor->rank; d++) text_printf(out, "%s%lld", d > 0 ? ", " : "", (long long)tensor->extent[d]);
    text_printf(out, "}, %lld, {", (long long)tensor->range);
    const char *files[3] = {input->source.kind, input->source.train_file, input->source.test_file};
    for (int f = 0; f < 3; f++) {
      if (input->source.kind == NULL || files[f] == NULL) text_printf(out, "NULL, ");
      else text_printf(out, "\"%s\", ", name_in_string(g->arena, files[f]));
    }
    const double scale = input->source.kind == NULL ? 1 : input->source.scale;
    text_printf(out, "%s, %s}},\n", name_number(g->arena, scale, TYPE_REAL, true),
                name_number(g->arena, input->source.offset, TYPE_REAL, true));
  }
  text_printf(out, "};\n");
}

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
  if (p->whole_batches == NULL) text_printf(out, "    .whole_batches = NULL, // the last batch of an evaluation may be smaller\n};\n");
  else text_printf(out, "    .whole_batches = \"%s\", // puts samples of a batch together\n};\n", name_in_string(g->arena, p->whole_batches));
}

// ---- main --------------------------------------------------------------------------------------------------------

static void print_places(const Codegen *g, Text *out) {
  const Program *p = g->p;
  text_printf(out, "\nstatic void place_tensors(void) {\n  char *const arena = parcc_arena(%lld);\n", (long long)p->arena_bytes);
  for (int t = 0; t < p->tensors.len; t++) {
    const ProgTensor *tensor = &p->tensors.at[t];
    if (!tensor->shown) continue;
    text_printf(out, "  t.%s = (%s *)(arena + %lld);\n", tensor->c_name, name_type(p, tensor->type),
                (long long)(p->buffers.at[tensor->buffer].offset + tensor->offset));
  }
  text_printf(out, "}\n");
}

// What this rank holds of a dimension, as an Interval.
static const char *interval_text(const Codegen *g, Extent extent) {
  if (extent.block < 0) return arena_printf(g->arena, "{0, %lld}", (long long)extent.fixed);
  const char *block = name_identifier(g->arena, g->p->blocks.at[extent.block].name);
  if (extent.fixed == 1) return block;
  return arena_printf(g->arena, "{%lld * %s.lo, %lld * %s.len}", (long long)extent.fixed, block, (long long)extent.fixed, block);
}

// A tensor that is pinned is empty on all other ranks.
static void print_elsewhere(const Codegen *g, const ProgTensor *t, int n, Text *out) {
  for (int a = 0; a < mesh_axes(g->p); a++)
    if (t->pin[a] >= 0)
      text_printf(out, "    if (parcc.rank / %d %% %s != %d) stored[%d].own[0].len = 0;\n", mesh_stride(&g->p->mesh, a),
                  axis_constant(g->p, a), t->pin[a], n);
}

static void print_stored(const Codegen *g, Text *out) {
  const Program *p = g->p;
  text_printf(out, "\n// What --save writes and --load reads.\nstatic ParccTensor stored[%d];\n\nstatic void list_stored(void) {\n",
              p->stored.len > 0 ? p->stored.len : 1);
  int n = 0;
  for (int i = 0; i < p->stored.len; i++) {
    const ProgTensor *t = &p->tensors.at[p->stored.at[i]];
    if (!t->shown) continue;
    const char *type = t->type != TYPE_REAL ? "PARCC_INT" : p->model->f64 ? "PARCC_DOUBLE" : "PARCC_FLOAT";
    text_printf(out, "  {\n    const ParccTensor tensor = {\"%s\", %s, %d, {", name_in_string(g->arena, t->name), type, t->rank);
    for (int d = 0; d < t->rank; d++) text_printf(out, "%s%lld", d > 0 ? ", " : "", (long long)t->global[d]);
    if (t->rank == 0) text_printf(out, "1");
    text_printf(out, "}, {");
    for (int d = 0; d < t->rank; d++) text_printf(out, "%s%s", d > 0 ? ", " : "", interval_text(g, t->extent[d]));
    if (t->rank == 0) text_printf(out, "{0, 1}");
    const char *kind = t->role == ROLE_PARAM ? "PARCC_PARAM" : t->of_optimizer ? "PARCC_OPTIMIZER" : "PARCC_STATE";
    text_printf(out, "}, t.%s, %s};\n    stored[%d] = tensor;\n", t->c_name, kind, n);
    print_elsewhere(g, t, n++, out);
    text_printf(out, "  }\n");
  }
  text_printf(out, "  parcc_stored(stored, %d);\n}\n", n);
}

static void print_batches(const Codegen *g, bool train, Text *out) {
  const Program *p = g->p;
  for (int i = 0; i < p->inputs.len; i++) {
    const int tensor = train ? p->inputs.at[i].train : p->inputs.at[i].eval;
    if (tensor < 0 || !p->tensors.at[tensor].shown) continue;
    const ProgTensor *t = &p->tensors.at[tensor];
    text_printf(out, "    LOAD_BATCH(%d, t.%s", i, t->c_name);
    for (int d = 0; d < t->rank; d++) {
      text_printf(out, ", %s", interval_text(g, t->extent[d]));
    }
    text_printf(out, ");\n");
  }
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
    if (count != NULL && !of_batch) continue;
    const char *units = count != NULL && of_batch ? count : arena_printf(g->arena, "%lld", (long long)block->cut.units);
    const char *name = name_identifier(g->arena, block->name);
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

static void print_main(const Codegen *g, Text *out) {
  const Program *p = g->p;
  text_printf(out, "\nint main(int argc, char **argv) {\n  parcc_start(argc, argv, &model);\n");
  for (int i = 0; i < g->book.communicators.len; i++) print_communicator(p, g->book.communicators.at[i], out);
  if (p->n_events > 0) text_printf(out, "  parcc_events(event, %d);\n", p->n_events);
  text_printf(out, "  place_tensors();\n");
  print_blocks(g, "  ", NULL, out);
  text_printf(out, "  list_stored();\n  init();\n  parcc_load();\n\n  while (parcc_next_step()) {\n");
  print_batches(g, true, out);
  text_printf(out, "    forward();\n    backward();\n    if (parcc_reports()) report();\n    update();\n");
  text_printf(out, "    END_STEP(%s", p->gradient_norm >= 0 ? arena_printf(g->arena, "t.%s", p->tensors.at[p->gradient_norm].c_name) : "NULL");
  print_scalar_args(g, true, out);
  text_printf(out, ");\n  }\n\n  for (long count; (count = parcc_next_eval()) > 0;) {\n");
  if (g->book.divisions.len > 0) text_printf(out, "    samples = count;\n");
  print_blocks(g, "    ", "count", out);
  print_batches(g, false, out);
  text_printf(out, "    evaluate();\n    END_EVAL(count");
  print_scalar_args(g, false, out);
  text_printf(out, ");\n  }\n  return parcc_finish();\n}\n");
}

static void print_banner(const char *title, Text *out) {
  const int width = 112 - (int)strlen(title);
  text_printf(out, "\n// ---- %s ", title);
  for (int i = 0; i < width; i++) text_printf(out, "-");
  text_printf(out, "\n");
}

const char *codegen_print(const Program *program) {
  Codegen generator = {.p = program, .arena = program->arena}, *g = &generator;
  Text out = {.arena = program->arena};
  g->kernels.arena = g->functions.arena = program->arena;
  g->book = (KernelBook){.program = program, .by_text.arena = program->arena, .taken.arena = program->arena, .out = &g->kernels};
  g->book.division_of.arena = program->arena;
  g->book.scratch = arena_new();
  Text prototypes = {.arena = program->arena};
  emit_prototypes(program, &g->book.taken, &prototypes);
  for (int k = 0; k < PROCEDURES; k++) print_procedure(g, k);
  arena_free(g->book.scratch);
  print_header(g, &out);
  text_printf(&out, "%s", text_str(&prototypes));
  print_mesh(g, &out);
  print_tensors(g, &out);
  print_banner("kernels", &out);
  text_printf(&out, "%s", text_str(&g->kernels));
  print_banner("one step", &out);
  text_printf(&out, "%s", text_str(&g->functions));
  print_banner("the run", &out);
  print_inputs(g, &out);
  print_model(g, &out);
  print_places(g, &out);
  print_stored(g, &out);
  print_main(g, &out);
  return text_str(&out);
}
