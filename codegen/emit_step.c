#include "emit_step.h"

#include "emit_call.h"
#include "names.h"

static const char *tensor(const Program *p, int t) { return name_tensor(p->arena, p, t); }

static const char *nccl_type(const Program *p, int t) {
  if (p->tensors.at[t].type != TYPE_REAL) return "ncclInt";
  return p->model->f64 ? "ncclDouble" : "ncclFloat";
}

static uint32_t all_axes(const Program *p) {
  uint32_t axes = 0;
  for (int a = 0; a < p->mesh.n_axes; a++)
    if (p->mesh.axis[a].size > 1) axes |= 1u << a;
  return axes;
}

const char *communicator_name(const Program *p, uint32_t axes) {
  const bool single = (axes & (axes - 1)) == 0;
  Text text = {.arena = p->arena};
  if (!single && axes == all_axes(p)) return "everybody";
  text_printf(&text, "over");
  for (int a = 0; a < p->mesh.n_axes; a++) // two axes cannot be taken for one whose name is theirs
    if (axes >> a & 1) text_printf(&text, "%s_%s", single || text.len == 4 ? "" : "_and", name_identifier(p->arena, p->mesh.axis[a].name));
  return text_str(&text);
}

// A communicator that the program then makes.
static const char *communicator(KernelBook *book, uint32_t axes) {
  int i = 0;
  while (i < book->communicators.len && book->communicators.at[i] != axes) i++;
  if (i == book->communicators.len) vec_push(book->arena, &book->communicators, axes);
  return communicator_name(book->program, axes);
}

const char *axis_constant(const Program *p, int axis) {
  return name_upper(p->arena, name_identifier(p->arena, p->mesh.axis[axis].name));
}

// The division as an initialiser: extents, how each is cut over which axes, what each axis of the mesh does.
static const char *division_text(const Program *p, const Collective *c, const Layout *layout) {
  Text text = {.arena = p->arena};
  text_printf(&text, "{%d, {", c->rank);
  for (int i = 0; i < c->rank; i++) {
    const Cut *cut = &layout->cut[i];
    const uint32_t axes = layout_axes_of(layout, p->mesh.n_axes, i);
    if (axes == 0) text_printf(&text, "%s{%lld, 0, 1, 0, 0, 1, 0}", i > 0 ? ", " : "", (long long)c->extent[i]);
    else
      text_printf(&text, "%s{%lld, %lld, %lld, %lld, %lld, %lld, %u}", i > 0 ? ", " : "", (long long)c->extent[i], (long long)cut->units,
                  (long long)cut->scale, (long long)cut->before, (long long)cut->after, (long long)cut->div, axes);
  }
  text_printf(&text, "%s}, %d, {", c->rank == 0 ? "{1, 0, 1, 0, 0, 1, 0}" : "", p->mesh.n_axes);
  for (int a = 0; a < p->mesh.n_axes; a++) {
    const AxisLayout *axis = &layout->axis[a];
    const int place = axis->kind == LAYOUT_SHARD ? -2 : axis->kind == LAYOUT_PINNED ? axis->pin : -1;
    text_printf(&text, "%s{%d, %d, %d}", a > 0 ? ", " : "", mesh_stride(&p->mesh, a), p->mesh.axis[a].size, place);
  }
  text_printf(&text, "}}");
  return text_str(&text);
}

// Its place in the program's table of divisions.
static int division_number(KernelBook *book, const Collective *c, const Layout *layout) {
  const char *text = division_text(book->program, c, layout);
  int number = names_get(&book->division_of, text);
  if (number >= 0) return number;
  number = book->divisions.len;
  text = arena_strdup(book->arena, text);
  names_set(&book->division_of, text, number);
  vec_push(book->arena, &book->divisions, text);
  return number;
}

// Nothing of a rank's part; intervals of strips are never empty.
static bool may_be_empty(const Program *p, Extent e) {
  bool any = e.block >= 0 && !p->blocks.at[e.block].strip;
  for (int i = 0; i < e.n_more; i++) any |= !p->blocks.at[e.more[i]].strip;
  return any;
}

// Leading dimensions may not be 0, even where there is nothing to sum.
static const char *leading(const Program *p, Extent ld) {
  const char *text = name_extent(p->arena, p, ld);
  return !may_be_empty(p, ld) ? text : arena_printf(p->arena, "(%s > 0 ? %s : 1)", text, text);
}

// A result that is empty on some rank, with a leading dimension that is then 0, is no call for a library. NULL: never so.
static const char *gemm_condition(const Program *p, const Gemm *g) {
  if (!may_be_empty(p, g->lda) && !may_be_empty(p, g->ldb) && !may_be_empty(p, g->ldc)) return NULL;
  const Extent size = extent_mul(extent_mul(g->m, g->n), g->batch);
  return !may_be_empty(p, size) ? NULL : name_extent(p->arena, p, size);
}

static void print_start(const Program *p, int64_t factor, int block, Text *out) {
  if (factor != 1) text_printf(out, "%lld * ", (long long)factor);
  text_printf(out, "%s.lo", p->blocks.at[block].c_name);
}

static const char *operand(const Program *p, int t, Extent stride, const Shifts *shifts, const char *loop) {
  Text text = {.arena = p->arena};
  text_printf(&text, "%s", tensor(p, t));
  for (int i = 0; i < shifts->len; i++) {
    const Shift *shift = &shifts->at[i];
    const bool inner = shift->part.block >= 0;
    text_printf(&text, inner ? " + (" : " + ");
    print_start(p, shift->scale, shift->strip, &text);
    if (inner) text_printf(&text, " - "), print_start(p, shift->part.fixed, shift->part.block, &text);
    text_printf(&text, inner ? ")" : "");
    if (shift->stride.fixed != 1 || shift->stride.block >= 0) text_printf(&text, " * %s", name_extent(p->arena, p, shift->stride));
  }
  if (loop != NULL && stride.fixed != 0) text_printf(&text, " + %s * %s", loop, name_extent(p->arena, p, stride));
  return text_str(&text);
}

// cuBLAS counts in columns: row-major c = a b is column-major c' = b' a'.
static void emit_gemm(const Program *p, const Gemm *g, const char *loop, int indent, Text *out) {
  const char *alpha = "&one", *pad = arena_printf(p->arena, "%*s", indent, "");
  text_printf(out, "%s// %s\n", pad, name_in_comment(p->arena, g->text));
  if (g->alpha != 1) {
    alpha = "&alpha";
    text_printf(out, "%s{\n%s  const %s alpha = %s;\n", pad, pad, name_type(p, TYPE_REAL),
                name_number(p->arena, g->alpha, TYPE_REAL, p->model->f64));
    pad = arena_printf(p->arena, "%*s", indent + 2, "");
  }
  const bool batched = g->batch.block >= 0 || g->batch.fixed != 1;
  const char *condition = gemm_condition(p, g);
  if (condition != NULL) text_printf(out, "%sif (%s > 0)\n  ", pad, condition);
  text_printf(out, "%sCHECK_CUBLAS(cublas%cgemm%s(parcc.cublas, CUBLAS_OP_%c, CUBLAS_OP_%c, %s, %s, %s, %s,\n", pad,
              p->model->f64 ? 'D' : 'S', batched ? "StridedBatched" : "", g->b_transposed ? 'T' : 'N',
              g->a_transposed ? 'T' : 'N', name_extent(p->arena, p, g->n), name_extent(p->arena, p, g->m), name_extent(p->arena, p, g->k), alpha);
  text_printf(out, "%s    %s, %s, ", pad, operand(p, g->b, g->loop_b, &g->shift_b, loop), leading(p, g->ldb));
  if (batched) text_printf(out, "%s, ", name_extent(p->arena, p, g->batch_b));
  text_printf(out, "%s, %s, ", operand(p, g->a, g->loop_a, &g->shift_a, loop), leading(p, g->lda));
  if (batched) text_printf(out, "%s, ", name_extent(p->arena, p, g->batch_a));
  text_printf(out, "%s, %s, %s", g->accumulate ? "&one" : "&zero", operand(p, g->c, g->loop_c, &g->shift_c, loop), leading(p, g->ldc));
  if (batched) text_printf(out, ", %s, %s", name_extent(p->arena, p, g->batch_c), name_extent(p->arena, p, g->batch));
  text_printf(out, "));\n");
  if (g->alpha != 1) text_printf(out, "%*s}\n", indent, "");
}

static const char *count_of(const Program *p, int t) {
  Extent count = extent_fixed(1);
  for (int i = 0; i < p->tensors.at[t].rank; i++) count = extent_mul(count, p->tensors.at[t].extent[i]);
  return name_extent(p->arena, p, count);
}

// ---- changes of layout ---------------------------------------------------------------------------------------------

// "[n/data, c], a sum over gpu, on node 1"; '+': a window that reaches over the block.
static const char *layout_text(const Program *p, const Collective *c, const Layout *layout) {
  const int n_axes = p->mesh.n_axes - 1; // the last is the batch
  Text text = {.arena = p->arena};
  text_printf(&text, "[");
  for (int i = 0; i < c->rank; i++) {
    text_printf(&text, "%s%s", i > 0 ? ", " : "", p->tensors.at[c->tensor].dim[i]);
    for (int a = 0; a < n_axes; a++)
      if (layout->axis[a].kind == LAYOUT_SHARD && layout->axis[a].dim == i) text_printf(&text, "/%s", p->mesh.axis[a].name);
    if (layout_axes_of(layout, n_axes, i) != 0 && !cut_is_plain(&layout->cut[i], c->extent[i])) text_printf(&text, "+");
  }
  text_printf(&text, "]");
  for (int a = 0; a < n_axes; a++) {
    if (layout->axis[a].kind == LAYOUT_PARTIAL)
      text_printf(&text, ", a %s over %s", reduce_name(layout->axis[a].reduce), p->mesh.axis[a].name);
    if (layout->axis[a].kind == LAYOUT_OWNED) text_printf(&text, ", by owners over %s", p->mesh.axis[a].name);
    if (layout->axis[a].kind == LAYOUT_PINNED) text_printf(&text, ", on %s %d", p->mesh.axis[a].name, layout->axis[a].pin);
  }
  return text_str(&text);
}

static const char *type_word(const Program *p, int t) {
  return p->tensors.at[t].type != TYPE_REAL ? "PARCC_INT" : p->model->f64 ? "PARCC_DOUBLE" : "PARCC_FLOAT";
}

// What all calls of the runtime begin with: both tensors and how they are divided.
static const char *both_sides(KernelBook *book, const Collective *c) {
  const Program *p = book->program;
  const int from = division_number(book, c, c->from), to = division_number(book, c, c->to);
  return arena_printf(p->arena, "%s, &division[%d], %s, &division[%d]", tensor(p, c->tensor), from, tensor(p, c->dst), to);
}

static void emit_collective(KernelBook *book, const Collective *c, const char *pad, Text *out) {
  static const char *const op[] = {[REDUCE_SUM] = "ncclSum", [REDUCE_MAX] = "ncclMax", [REDUCE_MIN] = "ncclMin",
                                   [REDUCE_PROD] = "ncclProd"};
  const Program *p = book->program;
  const char *src = tensor(p, c->tensor), *dst = tensor(p, c->dst), *type = nccl_type(p, c->tensor);
  const char *count = name_extent(p->arena, p, c->count), *stage = c->stage >= 0 ? tensor(p, c->stage) : "NULL";
  const char *what = c->purpose != NULL ? arena_printf(p->arena, "%s %s", reshard_name(c->kind), c->purpose)
                                        : arena_printf(p->arena, "%s %s: %s -> %s", reshard_name(c->kind), p->tensors.at[c->tensor].name,
                                                       layout_text(p, c, c->from), layout_text(p, c, c->to));
  text_printf(out, "%s// %s\n", pad, name_in_comment(p->arena, what));
  if (reshard_how(c->kind) == RESHARD_LOCAL)
    text_printf(out, "%sparcc_slice(%s, %s, samples);\n", pad, both_sides(book, c), type_word(p, c->tensor));
  else if (reshard_moves_rows(c->kind))
    text_printf(out, "%sSERVE_ROWS(%s, %s, %s, %d, %lld, %u, %s, samples, %s);\n", pad, name_type(p, TYPE_REAL), both_sides(book, c),
                tensor(p, c->owners.index), c->owners.dims, (long long)c->owners.rows, c->axes, stage, communicator(book, all_axes(p)));
  else if (reshard_how(c->kind) == RESHARD_MESSAGES)
    text_printf(out, "%sparcc_exchange(%s, %s, %s, samples, %s);\n", pad, both_sides(book, c), stage, type_word(p, c->tensor),
                communicator(book, all_axes(p)));
  else if (c->kind == RESHARD_all_reduce)
    text_printf(out, "%sCHECK_NCCL(ncclAllReduce(%s, %s, %s, %s, %s, %s, parcc.comm));\n", pad, src, dst, count, type,
                op[c->reduce], communicator(book, c->axes));
  else if (c->kind == RESHARD_reduce)
    text_printf(out, "%sCHECK_NCCL(ncclReduce(%s, %s, %s, %s, %s, %d, %s, parcc.comm));\n", pad, src, dst, count, type,
                op[c->reduce], c->root, communicator(book, c->axes));
  else if (c->kind == RESHARD_broadcast)
    text_printf(out, "%sCHECK_NCCL(ncclBroadcast(%s, %s, %s, %s, %d, %s, parcc.comm));\n", pad, src, dst, count, type, c->root,
                communicator(book, c->axes));
  else if (c->kind == RESHARD_reduce_scatter && c->direct)
    text_printf(out, "%sCHECK_NCCL(ncclReduceScatter(%s, %s, %s, %s, %s, %s, parcc.comm));\n", pad, src, dst, count, type,
                op[c->reduce], communicator(book, c->axes));
  else if (c->kind == RESHARD_reduce_scatter)
    text_printf(out, "%sparcc_reduce_scatter(%s, %s, %s, %s, samples, %u, %s);\n", pad, both_sides(book, c), stage,
                type_word(p, c->tensor), op[c->reduce], c->axes, communicator(book, c->axes));
  else if (c->direct)
    text_printf(out, "%sCHECK_NCCL(ncclAllGather(%s, %s, %s, %s, %s, parcc.comm));\n", pad, src, dst, count, type,
                communicator(book, c->axes));
  else
    text_printf(out, "%sparcc_all_gather(%s, %s, %s, samples, %u, %s);\n", pad, both_sides(book, c), stage,
                type_word(p, c->tensor), c->axes, communicator(book, c->axes));
}

// Items in lines of at most WIDTH characters.
static void emit_end(const Program *p, const Step *step, const char *pad, Text *out) {
  enum { WIDTH = 118 };
  size_t start = out->len;
  text_printf(out, "%sLIFETIME_END(", pad);
  for (int i = 0; i < step->ended.len; i++) {
    const int t = step->ended.at[i];
    const char *item = arena_printf(p->arena, "{%s, %lld}", tensor(p, t), (long long)p->buffers.at[p->tensors.at[t].buffer].bytes);
    if (i > 0 && out->len - start + strlen(item) + 4 > WIDTH) {
      text_printf(out, ",\n");
      start = out->len;
      text_printf(out, "%s    %s", pad, item);
    } else {
      text_printf(out, "%s%s", i > 0 ? ", " : "", item);
    }
  }
  text_printf(out, ");\n");
}

// A loop over intervals of what this rank has of a dimension.
static void emit_strips(KernelBook *book, const Step *step, int indent, Text *out) {
  const Program *p = book->program;
  const RankBlock *strip = &p->blocks.at[step->loop.strip];
  Text from = {.arena = p->arena};
  if (strip->of.block >= 0) print_start(p, strip->of.fixed, strip->of.block, &from);
  text_printf(out, "%*sSTRIPS(%s, %s, %s, %lld) {\n", indent, "", strip->c_name, from.len > 0 ? text_str(&from) : "0",
              name_extent(p->arena, p, strip->of), (long long)strip->extent);
  if (step->loop.reach >= 0)
    text_printf(out, "%*sconst Interval %s = {0, %s.lo + %s.len}; // what lies behind counts for nothing\n", indent + 2, "",
                p->blocks.at[step->loop.reach].c_name, strip->c_name, strip->c_name);
  for (int i = 0; i < step->loop.body.len; i++) emit_step(book, step->loop.body.at[i], NULL, indent + 2, out);
  text_printf(out, "%*s}\n", indent, "");
}

void emit_step(KernelBook *book, const Step *step, const char *loop, int indent, Text *out) {
  const Program *p = book->program;
  const char *pad = arena_printf(p->arena, "%*s", indent, "");
  switch (step->kind) {
  case STEP_KERNEL: emit_launch(book, step, loop, indent, out); return;
  case STEP_GEMM: emit_gemm(p, step->gemm, loop, indent, out); return;
  case STEP_LOOP:
    if (step->loop.strip >= 0) {
      emit_strips(book, step, indent, out);
      return;
    }
    text_printf(out, "%sfor (long %s = 0; %s < %s; %s++) {\n", pad, step->loop.var, step->loop.var,
                name_extent(p->arena, p, step->loop.extent), step->loop.var);
    for (int i = 0; i < step->loop.body.len; i++) emit_step(book, step->loop.body.at[i], step->loop.var, indent + 2, out);
    text_printf(out, "%s}\n", pad);
    return;
  case STEP_COLLECTIVE: emit_collective(book, step->collective, pad, out); return;
  case STEP_CALL: emit_call(p, &step->call, indent, out); return;
  case STEP_ZERO:
    text_printf(out, "%sCHECK_CUDA(cudaMemsetAsync(%s, 0, %s * sizeof(%s), parcc.compute));\n", pad, tensor(p, step->zero),
                count_of(p, step->zero), name_type(p, p->tensors.at[step->zero].type));
    return;
  case STEP_COPY:
    text_printf(out, "%sCHECK_CUDA(cudaMemcpyAsync(%s, %s, %s * sizeof(%s), cudaMemcpyDeviceToDevice, parcc.compute));\n",
                pad, tensor(p, step->copy.dst), tensor(p, step->copy.src), count_of(p, step->copy.dst),
                name_type(p, p->tensors.at[step->copy.dst].type));
    return;
  case STEP_RECORD:
    text_printf(out, "%sCHECK_CUDA(cudaEventRecord(event[%d], parcc.%s));\n", pad, step->sync.event,
                step->sync.stream == STREAM_COMM ? "comm" : "compute");
    return;
  case STEP_WAIT:
    text_printf(out, "%sWAIT(parcc.%s, event[%d]);\n", pad,
                step->sync.stream == STREAM_COMM ? "comm" : "compute", step->sync.event);
    return;
  case STEP_END: emit_end(p, step, pad, out); return;
  }
}

bool emit_order(const Step *record, const Step *wait, Text *out) {
  if (record->kind != STEP_RECORD || wait->kind != STEP_WAIT || record->sync.event != wait->sync.event) return false;
  if (record->sync.stream == wait->sync.stream) return false;
  static const char *const name[] = {[STREAM_COMPUTE] = "compute", [STREAM_COMM] = "comm"};
  text_printf(out, "  WAIT_FOR(parcc.%s, parcc.%s, event[%d]);\n", name[wait->sync.stream], name[record->sync.stream], record->sync.event);
  return true;
}
