#include "emit_step.h"

#include "emit_call.h"
#include "names.h"

static const char *tensor(const Program *p, int t) { return arena_printf(p->arena, "t.%s", p->tensors.at[t].c_name); }

static const char *nccl_type(const Program *p, int t) {
  if (p->tensors.at[t].type != TYPE_REAL) return "ncclInt";
  return p->model->f64 ? "ncclDouble" : "ncclFloat";
}

const char *axis_communicator(const Program *p, int axis) {
  return arena_printf(p->arena, "over_%s", name_identifier(p->arena, p->mesh.axis[axis].name));
}

const char *axis_constant(const Program *p, int axis) {
  return name_upper(p->arena, name_identifier(p->arena, p->mesh.axis[axis].name));
}

// Leading dimensions may not be 0, even of empty matrices.
static const char *leading(const Program *p, Extent ld) {
  const char *text = name_extent(p->arena, p, ld);
  return ld.block < 0 ? text : arena_printf(p->arena, "(%s > 0 ? %s : 1)", text, text);
}

static const char *operand(const Program *p, int t, Extent stride, const char *loop) {
  if (loop == NULL || stride.fixed == 0) return tensor(p, t);
  return arena_printf(p->arena, "%s + %s * %s", tensor(p, t), loop, name_extent(p->arena, p, stride));
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
  text_printf(out, "%sCHECK_CUBLAS(cublas%cgemm%s(parcc.cublas, CUBLAS_OP_%c, CUBLAS_OP_%c, %s, %s, %s, %s,\n", pad,
              p->model->f64 ? 'D' : 'S', batched ? "StridedBatched" : "", g->b_transposed ? 'T' : 'N',
              g->a_transposed ? 'T' : 'N', name_extent(p->arena, p, g->n), name_extent(p->arena, p, g->m), name_extent(p->arena, p, g->k), alpha);
  text_printf(out, "%s    %s, %s, ", pad, operand(p, g->b, g->loop_b, loop), leading(p, g->ldb));
  if (batched) text_printf(out, "%s, ", name_extent(p->arena, p, g->batch_b));
  text_printf(out, "%s, %s, ", operand(p, g->a, g->loop_a, loop), leading(p, g->lda));
  if (batched) text_printf(out, "%s, ", name_extent(p->arena, p, g->batch_a));
  text_printf(out, "%s, %s, %s", g->accumulate ? "&one" : "&zero", operand(p, g->c, g->loop_c, loop), leading(p, g->ldc));
  if (batched) text_printf(out, ", %s, %s", name_extent(p->arena, p, g->batch_c), name_extent(p->arena, p, g->batch));
  text_printf(out, "));\n");
  if (g->alpha != 1) text_printf(out, "%*s}\n", indent, "");
}

static const char *count_of(const Program *p, int t) {
  Extent count = extent_fixed(1);
  for (int i = 0; i < p->tensors.at[t].rank; i++) count = extent_mul(count, p->tensors.at[t].extent[i]);
  return name_extent(p->arena, p, count);
}

bool step_gathers_batch(const Program *p, const Step *step) {
  return step->kind == STEP_COLLECTIVE && step->collective.kind == RESHARD_all_gather &&
         p->blocks.at[step->collective.block].extent == p->model->batch;
}

// The batch is divided anew where it is smaller: see print_blocks in codegen.c.
static void emit_all_gather(const Program *p, const Collective *c, const char *pad, Text *out) {
  const RankBlock *block = &p->blocks.at[c->block];
  const char *inner = name_extent(p->arena, p, c->inner), *name = name_identifier(p->arena, block->name);
  const char *axis = axis_constant(p, c->axis);
  text_printf(out, "%sCHECK_NCCL(ncclGroupStart());\n", pad);
  text_printf(out, "%sfor (int root = 0; root < %s; root++) {\n", pad, axis);
  const char *extent = arena_printf(p->arena, "%lld", (long long)block->extent);
  if (block->extent == p->model->batch) extent = "samples";
  text_printf(out, "%s  const Interval of = parcc_block(%s, %s, root);\n", pad, extent, axis);
  text_printf(out, "%s  for (long row = 0; row < %s; row++)\n", pad, name_extent(p->arena, p, c->outer));
  text_printf(out,
              "%s    CHECK_NCCL(ncclBroadcast(%s + row * %s.len * %s, %s + (row * %lld + of.lo) * %s, of.len * %s, %s, root, "
              "%s, parcc.comm));\n",
              pad, tensor(p, c->tensor), name, inner, tensor(p, c->dst), (long long)block->extent, inner, inner,
              nccl_type(p, c->tensor), axis_communicator(p, c->axis));
  text_printf(out, "%s}\n%sCHECK_NCCL(ncclGroupEnd());\n", pad, pad);
}

static void emit_slice(const Program *p, const Collective *c, const char *pad, Text *out) {
  const RankBlock *block = &p->blocks.at[c->block];
  const char *name = name_identifier(p->arena, block->name), *inner = name_extent(p->arena, p, c->inner);
  const char *type = name_type(p, p->tensors.at[c->tensor].type);
  text_printf(out,
              "%sCHECK_CUDA(cudaMemcpy2DAsync(%s, %s.len * %s * sizeof(%s), %s + %s.lo * %s, %lld * %s * sizeof(%s), %s.len * "
              "%s * sizeof(%s), %s, cudaMemcpyDeviceToDevice, parcc.compute));\n",
              pad, tensor(p, c->dst), name, inner, type, tensor(p, c->tensor), name, inner, (long long)block->extent, inner,
              type, name, inner, type, name_extent(p->arena, p, c->outer));
}

static void emit_collective(const Program *p, const Collective *c, const char *pad, Text *out) {
  static const char *const op[] = {[REDUCE_SUM] = "ncclSum", [REDUCE_MAX] = "ncclMax", [REDUCE_MIN] = "ncclMin",
                                   [REDUCE_PROD] = "ncclProd"};
  switch (c->kind) {
  case RESHARD_all_reduce:
    text_printf(out, "%sCHECK_NCCL(ncclAllReduce(%s, %s, %s, %s, %s, %s, parcc.comm));\n", pad, tensor(p, c->tensor),
                tensor(p, c->tensor), name_extent(p->arena, p, c->count), nccl_type(p, c->tensor), op[c->reduce],
                axis_communicator(p, c->axis));
    return;
  case RESHARD_all_gather: emit_all_gather(p, c, pad, out); return;
  case RESHARD_slice: emit_slice(p, c, pad, out); return;
  case RESHARD_KINDS: return;
  }
}

void emit_step(KernelBook *book, const Step *step, const char *loop, int indent, Text *out) {
  const Program *p = book->program;
  const char *pad = arena_printf(p->arena, "%*s", indent, "");
  switch (step->kind) {
  case STEP_KERNEL: emit_launch(book, step, loop, indent, out); return;
  case STEP_GEMM: emit_gemm(p, &step->gemm, loop, indent, out); return;
  case STEP_LOOP:
    text_printf(out, "%sfor (long %s = 0; %s < %s; %s++) {\n", pad, step->loop.var, step->loop.var,
                name_extent(p->arena, p, step->loop.extent), step->loop.var);
    for (int i = 0; i < step->loop.body.len; i++) emit_step(book, step->loop.body.at[i], step->loop.var, indent + 2, out);
    text_printf(out, "%s}\n", pad);
    return;
  case STEP_COLLECTIVE: emit_collective(p, &step->collective, pad, out); return;
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
    text_printf(out, "%sCHECK_CUDA(cudaStreamWaitEvent(parcc.%s, event[%d], 0));\n", pad,
                step->sync.stream == STREAM_COMM ? "comm" : "compute", step->sync.event);
    return;
  }
}
