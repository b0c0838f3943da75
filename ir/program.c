#include "program.h"

const char *procedure_name(ProcedureKind kind) {
  static const char *const name[] = {"init", "begin", "forward", "backward", "combine", "report", "update", "evaluate"};
  return name[kind];
}

bool procedure_runs(const Program *program, ProcedureKind kind) {
  return program->microbatches > 1 || (kind != PROC_BEGIN && kind != PROC_COMBINE);
}

int procedure_times(const Program *program, ProcedureKind kind) {
  return kind == PROC_FORWARD || kind == PROC_BACKWARD ? program->microbatches : 1;
}

Extent extent_fixed(int64_t n) { return (Extent){.fixed = n, .block = -1}; }

static int extent_blocks(const Extent *e, int *blocks) {
  if (e->block < 0) return 0;
  blocks[0] = e->block;
  memcpy(blocks + 1, e->more, sizeof *blocks * (size_t)e->n_more);
  return 1 + e->n_more;
}

Extent extent_mul(Extent a, Extent b) {
  int blocks[2 * (EXTENT_MAX_MORE + 1)];
  int n = extent_blocks(&a, blocks);
  n += extent_blocks(&b, blocks + n);
  if (n > EXTENT_MAX_MORE + 1) fatal("a product of more than %d split extents", EXTENT_MAX_MORE + 1);
  for (int i = 1; i < n; i++)
    for (int k = i; k > 0 && blocks[k - 1] > blocks[k]; k--) {
      const int swap = blocks[k];
      blocks[k] = blocks[k - 1];
      blocks[k - 1] = swap;
    }
  Extent product = extent_fixed(a.fixed * b.fixed);
  if (n == 0) return product;
  product.block = blocks[0];
  product.n_more = n - 1;
  memcpy(product.more, blocks + 1, sizeof *blocks * (size_t)(n - 1));
  return product;
}

bool extent_equal(Extent a, Extent b) {
  return a.fixed == b.fixed && a.block == b.block && a.n_more == b.n_more &&
         memcmp(a.more, b.more, sizeof *a.more * (size_t)a.n_more) == 0;
}

bool extent_add(Extent a, Extent b, Extent *sum) {
  if (a.fixed == 0 || b.fixed == 0) {
    *sum = a.fixed == 0 ? b : a;
    return true;
  }
  *sum = a;
  sum->fixed = b.fixed;
  if (!extent_equal(*sum, b)) return false;
  sum->fixed = a.fixed + b.fixed;
  return true;
}

static void own_stage(Arena *arena, Stage *stage) {
  vec_own(arena, &stage->statements);
  for (int i = 0; i < stage->n_inner; i++)
    if (stage->at[i] != NULL) stage->at[i] = expr_copy(arena, stage->at[i]);
  for (int i = 0; i < stage->statements.len; i++) {
    Statement *s = &stage->statements.at[i];
    s->body = expr_copy(arena, s->body);
    if (s->place != NULL) s->place = expr_copy(arena, s->place);
  }
}

static void own_tensor(Arena *arena, KernelTensor *t) {
  t->extent = arena_copy(arena, t->extent, sizeof *t->extent * (size_t)t->rank);
  t->global = arena_copy(arena, t->global, sizeof *t->global * (size_t)t->rank);
  t->dim = arena_copy(arena, t->dim, sizeof *t->dim * (size_t)t->rank);
  for (int i = 0; i < t->rank; i++) t->dim[i] = arena_strdup(arena, t->dim[i]);
}

Kernel *kernel_copy(Arena *arena, const Kernel *kernel) {
  Kernel *copy = arena_copy(arena, kernel, sizeof *kernel);
  copy->name = arena_strdup(arena, kernel->name);
  copy->dims = arena_copy(arena, kernel->dims, sizeof *kernel->dims * (size_t)kernel->n_dims);
  for (int d = 0; d < kernel->n_dims; d++) copy->dims[d].name = arena_strdup(arena, kernel->dims[d].name);
  vec_own(arena, &copy->stages);
  for (int s = 0; s < copy->stages.len; s++) own_stage(arena, &copy->stages.at[s]);
  vec_own(arena, &copy->tensors);
  for (int t = 0; t < copy->tensors.len; t++) own_tensor(arena, &copy->tensors.at[t]);
  return copy;
}

int kernel_find_tensor(const Kernel *kernel, int tensor) {
  for (int i = 0; i < kernel->tensors.len; i++)
    if (kernel->tensors.at[i].tensor == tensor) return i;
  return -1;
}

void program_list_tensors(const Program *program, int *tensor_in, int *next_tensor) {
  for (int b = 0; b < program->buffers.len; b++) tensor_in[b] = -1;
  for (int t = 0; t < program->tensors.len; t++) {
    const int buffer = program->tensors.at[t].buffer;
    if (buffer < 0) continue;
    next_tensor[t] = tensor_in[buffer];
    tensor_in[buffer] = t;
  }
}

bool prog_tensors_share(const ProgTensor *a, const ProgTensor *b) {
  if (a->buffer != b->buffer || a->offset != b->offset) return false;
  const Extent zero = extent_fixed(0);
  return extent_equal(a->is_part ? a->start : zero, b->is_part ? b->start : zero);
}

const char *layer_common(Arena *arena, const char *a, const char *b) {
  size_t common = 0, i = 0;
  for (;; i++) {
    const bool a_ends = a[i] == '.' || a[i] == '\0', b_ends = b[i] == '.' || b[i] == '\0';
    if (a_ends && b_ends) common = i;
    if (a[i] != b[i] || a[i] == '\0') break;
  }
  return a[common] == '\0' ? a : arena_strndup(arena, a, common);
}

bool layer_same_outer(const char *a, const char *b) {
  const size_t len = strcspn(a, ".");
  return len > 0 && len == strcspn(b, ".") && strncmp(a, b, len) == 0;
}

int64_t extent_of_rank(const Program *program, Extent e, int rank) {
  int blocks[EXTENT_MAX_MORE + 1];
  const int n = extent_blocks(&e, blocks);
  int64_t length = e.fixed;
  for (int i = 0; i < n; i++) {
    const RankBlock *block = &program->blocks.at[blocks[i]];
    length *= cut_block(&program->mesh, rank, block->axes, &block->cut, block->extent).len;
  }
  return length;
}

int program_add_block(Program *program, RankBlock block) {
  const Mesh *mesh = &program->mesh;
  block.least = INT64_MAX;
  block.most = 0;
  for (int part = 0; part < mesh_parts(mesh, block.axes); part++) {
    const int64_t len = cut_block(mesh, mesh_rank_at(mesh, block.axes, part), block.axes, &block.cut, block.extent).len;
    block.least = min_i64(block.least, len);
    block.most = max_i64(block.most, len);
  }
  vec_push(program->arena, &program->blocks, block);
  return program->blocks.len - 1;
}

// Where no axis divides two of the blocks, some rank has most of each.
int64_t extent_max(const Program *program, Extent e) {
  int blocks[EXTENT_MAX_MORE + 1];
  const int n = extent_blocks(&e, blocks);
  int64_t most = e.fixed, largest = 0;
  uint32_t axes = 0;
  bool apart = true;
  for (int i = 0; i < n; i++) {
    const RankBlock *block = &program->blocks.at[blocks[i]];
    apart = apart && (axes & block->axes) == 0;
    axes |= block->axes;
    most *= block->most;
  }
  if (apart) return most;
  for (int part = 0; part < mesh_parts(&program->mesh, axes); part++)
    largest = max_i64(largest, extent_of_rank(program, e, mesh_rank_at(&program->mesh, axes, part)));
  return largest;
}

bool step_works(const Step *step) {
  return step->kind != STEP_RECORD && step->kind != STEP_WAIT && step->kind != STEP_END;
}

void step_visit_tensors(const Step *step, void (*visit)(void *ctx, int tensor, bool written), void *ctx) {
  switch (step->kind) {
  case STEP_KERNEL: {
    const Kernel *k = step->kernel;
    for (int t = 0; t < k->tensors.len; t++)
      if (k->tensors.at[t].used) visit(ctx, k->tensors.at[t].tensor, k->tensors.at[t].written);
    return;
  }
  case STEP_GEMM:
    visit(ctx, step->gemm->a, false);
    visit(ctx, step->gemm->b, false);
    visit(ctx, step->gemm->c, true);
    return;
  case STEP_LOOP:
    for (int i = 0; i < step->loop.body.len; i++) step_visit_tensors(step->loop.body.at[i], visit, ctx);
    return;
  case STEP_COLLECTIVE:
    for (int i = 0; i < step->collective->members.len; i++) visit(ctx, step->collective->members.at[i], true);
    if (step->collective->members.len > 0) return;
    visit(ctx, step->collective->tensor, step->collective->dst == step->collective->tensor);
    if (step->collective->dst != step->collective->tensor) visit(ctx, step->collective->dst, true);
    if (step->collective->stage >= 0) visit(ctx, step->collective->stage, true);
    if (reshard_moves_rows(step->collective->kind)) visit(ctx, step->collective->owners.index, false);
    return;
  case STEP_CALL:
    for (int i = 0; i < step->call.args.len; i++)
      if (step->call.args.at[i].tensor >= 0) visit(ctx, step->call.args.at[i].tensor, step->call.args.at[i].written);
    return;
  case STEP_ZERO: visit(ctx, step->zero, true); return;
  case STEP_COPY:
    visit(ctx, step->copy.src, false);
    visit(ctx, step->copy.dst, true);
    return;
  case STEP_WAIT:
    if (step->sync.collective != NULL) step_visit_tensors(step->sync.collective, visit, ctx);
    return;
  case STEP_END:
    for (int i = 0; i < step->ended.len; i++) visit(ctx, step->ended.at[i], true);
    return;
  case STEP_RECORD: return;
  }
}

static void print_extent(const Program *p, Extent e, Text *out) {
  if (e.block < 0 || e.fixed != 1) text_printf(out, "%lld%s", (long long)e.fixed, e.block >= 0 ? "*" : "");
  if (e.block >= 0) text_printf(out, "%s", p->blocks.at[e.block].name);
  for (int i = 0; i < e.n_more; i++) text_printf(out, "*%s", p->blocks.at[e.more[i]].name);
}

static void print_kernel(const Program *p, const Kernel *k, Text *out) {
  static const char *const kind[] = {"flat", "grid", "lanes"};
  text_printf(out, "kernel %s %s(", k->name, kind[k->kind]);
  for (int d = 0; d < k->n_dims; d++) {
    text_printf(out, "%s%s=", d == 0 ? "" : d == k->n_grid ? " | " : ", ", k->dims[d].name);
    print_extent(p, k->dims[d].extent, out);
  }
  text_printf(out, ")");
  for (int s = 0; s < k->stages.len; s++) {
    text_printf(out, "%s", s > 0 ? ";" : "");
    for (int i = 0; i < k->stages.at[s].statements.len; i++) {
      const Statement *statement = &k->stages.at[s].statements.at[i];
      text_printf(out, " %s%s", p->tensors.at[statement->out].name, statement->store ? "" : "~");
    }
  }
}

static void print_call(const Program *p, const Call *c, Text *out) {
  text_printf(out, "call %s(", c->function);
  for (int i = 0; i < c->args.len; i++) {
    const CallArg *arg = &c->args.at[i];
    text_printf(out, "%s%s%s", i > 0 ? ", " : "", arg->written ? "out " : "",
                arg->tensor >= 0 ? p->tensors.at[arg->tensor].name : "null");
  }
  for (int i = 0; i < c->starts.len; i++) {
    const Extent start = c->starts.at[i];
    text_printf(out, i == 0 ? "; from " : ", ");
    if (start.block < 0) text_printf(out, "0");
    else if (start.fixed == 1) text_printf(out, "%s.lo", p->blocks.at[start.block].name);
    else text_printf(out, "%lld*%s.lo", (long long)start.fixed, p->blocks.at[start.block].name);
  }
  for (int i = 0; i < c->attrs.len; i++) text_printf(out, "%s%s=%.17g", i == 0 ? "; " : ", ", c->attrs.at[i].name, c->attrs.at[i].value);
  text_printf(out, ")");
}

static void print_step(const Program *p, const Step *step, int depth, Text *out) {
  text_printf(out, "%*s", 2 + 2 * depth, "");
  switch (step->kind) {
  case STEP_KERNEL: print_kernel(p, step->kernel, out); break;
  case STEP_GEMM:
    text_printf(out, "gemm m=");
    print_extent(p, step->gemm->m, out);
    text_printf(out, " n=");
    print_extent(p, step->gemm->n, out);
    text_printf(out, " k=");
    print_extent(p, step->gemm->k, out);
    text_printf(out, " batch=");
    print_extent(p, step->gemm->batch, out);
    text_printf(out, "%s  %s", step->gemm->accumulate ? " accumulate" : "", step->gemm->text);
    break;
  case STEP_LOOP:
    if (step->loop.strip >= 0) text_printf(out, "strips %s of %lld through ", p->blocks.at[step->loop.strip].name, (long long)p->blocks.at[step->loop.strip].extent);
    else text_printf(out, "loop %s < ", step->loop.var);
    print_extent(p, step->loop.extent, out);
    if (step->loop.reach >= 0) text_printf(out, ", %s", p->blocks.at[step->loop.reach].name);
    text_printf(out, "\n");
    for (int i = 0; i < step->loop.body.len; i++) print_step(p, step->loop.body.at[i], depth + 1, out);
    return;
  case STEP_COLLECTIVE:
    text_printf(out, "%s %s", reshard_name(step->collective->kind), p->tensors.at[step->collective->tensor].name);
    for (int i = 1; i < step->collective->members.len; i++) text_printf(out, ", %s", p->tensors.at[step->collective->members.at[i]].name);
    for (int a = 0, n = 0; a < p->mesh.n_axes; a++)
      if (step->collective->axes >> a & 1) text_printf(out, "%s%s", n++ == 0 ? " over " : ", ", p->mesh.axis[a].name);
    break;
  case STEP_CALL: print_call(p, &step->call, out); break;
  case STEP_ZERO: text_printf(out, "zero %s", p->tensors.at[step->zero].name); break;
  case STEP_COPY:
    text_printf(out, "copy %s <- %s", p->tensors.at[step->copy.dst].name, p->tensors.at[step->copy.src].name);
    break;
  case STEP_RECORD:
  case STEP_WAIT:
    text_printf(out, "%s event %d on %s", step->kind == STEP_RECORD ? "record" : "wait", step->sync.event,
                step->sync.stream == STREAM_COMM ? "comm" : "compute");
    break;
  case STEP_END:
    text_printf(out, "end");
    for (int i = 0; i < step->ended.len; i++) text_printf(out, " %s", p->tensors.at[step->ended.at[i]].name);
    break;
  }
  text_printf(out, "\n");
}

void program_print(const Program *p, Text *out) {
  text_printf(out, "program %s ranks %d\n", p->model->name, mesh_ranks(&p->mesh));
  for (int b = 0; b < p->blocks.len; b++) {
    const RankBlock *block = &p->blocks.at[b];
    if (block->strip) continue;
    text_printf(out, "block %s of %lld over", block->name, (long long)block->extent);
    for (int a = 0; a < p->mesh.n_axes; a++)
      if (block->axes >> a & 1) text_printf(out, " %s", p->mesh.axis[a].name);
    text_printf(out, "\n");
  }
  for (int k = 0; k < PROCEDURES; k++) {
    if (!procedure_runs(p, k)) continue;
    text_printf(out, "%s {\n", procedure_name(k));
    for (int i = 0; i < p->procedure[k].steps.len; i++) print_step(p, p->procedure[k].steps.at[i], 0, out);
    text_printf(out, "}\n");
  }
  if (p->arena_bytes == 0) return;
  for (int b = 0; b < p->buffers.len; b++) {
    const Buffer *buffer = &p->buffers.at[b];
    if (buffer->bytes == 0) continue;
    text_printf(out, "buffer %d: %lld bytes at %lld, steps %d to %d%s:", b, (long long)buffer->bytes,
                (long long)buffer->offset, buffer->first, buffer->last, buffer->persistent ? ", persistent" : "");
    for (int t = 0; t < p->tensors.len; t++)
      if (p->tensors.at[t].buffer == b && p->tensors.at[t].steps > 0) text_printf(out, " %s", p->tensors.at[t].name);
    text_printf(out, "\n");
  }
  text_printf(out, "arena %lld bytes, lower bound %lld\n", (long long)p->arena_bytes, (long long)p->lower_bound);
}
