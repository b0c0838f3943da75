#include "emit_kernel.h"

#include "kernel_key.h"
#include "kernel_text.h"
#include "names.h"

enum { MAX_POINTERS = 256 };

// ---- the definition ------------------------------------------------------------------------------------------------

static bool is_written(const KernelText *e, int t) {
  for (int s = 0; s < e->k->stages.len; s++)
    for (int i = 0; i < e->k->stages.at[s].statements.len; i++) {
      const Statement *statement = &e->k->stages.at[s].statements.at[i];
      if (statement->out == e->k->tensors.at[t].tensor && statement->store) return true;
    }
  return false;
}

typedef struct PointerParam {
  int tensor; // of the kernel
  bool written;
} PointerParam;

// Results first, then operands, each buffer once; only those that the text uses.
static int pointer_params(const KernelText *e, PointerParam *params) {
  int n = 0;
  if (e->k->tensors.len > MAX_POINTERS) fatal("codegen: kernel %s has too many tensors", e->k->name);
  for (int written = 1; written >= 0; written--)
    for (int t = 0; t < e->k->tensors.len; t++) {
      if (!e->pointer_used[t] || is_written(e, t) != (written == 1)) continue;
      bool known = false;
      for (int i = 0; i < n; i++) known |= e->pointer[params[i].tensor] == e->pointer[t];
      if (!known) params[n++] = (PointerParam){t, written == 1};
    }
  return n;
}

static void prepare(KernelText *e, Arena *arena, const Program *p, const Kernel *k, bool generic, Text *body) {
  *e = (KernelText){
      .p = p, .k = k, .arena = arena, .generic = generic, .body = body, .indent = 2, .last_block = SIZE_MAX};
  e->taken.arena = arena;
  kernel_text_name_pointers(e);
  kernel_text_name_dims(e);
  kernel_text_body(e);
}

static void print_signature(KernelText *e, const char *name, Text *out) {
  PointerParam pointers[MAX_POINTERS];
  const int n = pointer_params(e, pointers);
  text_printf(out, "__global__ void %s(", name);
  bool any = false;
  for (int i = 0; i < n; i++) {
    text_printf(out, "%s%s%s *__restrict__ %s", any ? ", " : "", pointers[i].written ? "" : "const ",
                name_type(e->p, kernel_text_tensor(e, pointers[i].tensor)->type), e->pointer[pointers[i].tensor]);
    any = true;
  }
  for (int i = 0; i < e->params.len; i++) {
    text_printf(out, "%s%s %s", any ? ", " : "", e->params.at[i].type, e->params.at[i].name);
    any = true;
  }
  text_printf(out, ") {\n%s}\n", text_str(e->body));
}

static void print_comment(Arena *arena, const Step *step, Text *out) {
  text_printf(out, "\n// %s%s%s", name_in_comment(arena, step->layer), step->layer[0] != '\0' ? ": " : "",
              name_in_comment(arena, step->kernel->name));
  if (step->loc.line > 0) text_printf(out, " (%s:%d)", name_in_comment(arena, step->loc.file), step->loc.line);
  text_printf(out, "\n");
}

// Prints the kernel's definition unless an equal one stands already; its C name. `generic`: the prepared emitter.
static const char *define_kernel(KernelBook *book, const Step *step, KernelText *generic) {
  Arena *arena = book->arena;
  Text key = {.arena = book->scratch};
  print_signature(generic, "", &key);
  const int known = names_get(&book->by_text, text_str(&key));
  if (known >= 0) return book->names.at[known];
  const char *name = name_unique(arena, &book->taken, arena_printf(book->scratch, "k_%s", step->kernel->name));
  names_set(&book->by_text, arena_strdup(arena, text_str(&key)), book->names.len);
  vec_push(arena, &book->names, name);
  Text body = {.arena = book->scratch};
  KernelText e;
  prepare(&e, book->scratch, book->program, step->kernel, false, &body);
  print_comment(book->scratch, step, book->out);
  print_signature(&e, name, book->out);
  return name;
}

// ---- the launch ----------------------------------------------------------------------------------------------------

// The number of blocks, threads or columns to launch.
static const char *work_text(Arena *arena, const Program *p, const Kernel *k) {
  Extent work = extent_fixed(1);
  const int n = k->kind == KERNEL_FLAT ? k->n_dims : k->n_grid;
  for (int d = k->kind == KERNEL_FLAT ? 0 : kernel_text_extra_rows(k); d < n; d++) work = extent_mul(work, k->dims[d].extent);
  const char *text = name_extent(arena, p, work);
  return k->scatters ? arena_printf(arena, "PARTS * %s", text) : text;
}

// Every element is computed on its own: rows can share a block of threads.
static bool is_map(const Kernel *k) {
  for (int s = 0; s < k->stages.len; s++) {
    const Stage *stage = &k->stages.at[s];
    if (stage->n_inner == 0 || stage->sync_before) return false;
    for (int i = 0; i < stage->statements.len; i++)
      if (stage->statements.at[i].reduce != REDUCE_NONE) return false;
  }
  return k->kind == KERNEL_GRID && k->n_grid > 0;
}

// The elements of a row.
static const char *row_text(Arena *arena, const Program *p, const Kernel *k) {
  Extent row = extent_fixed(1);
  for (int d = k->n_grid; d < k->n_dims; d++) row = extent_mul(row, k->dims[d].extent);
  return name_extent(arena, p, row);
}

static Launch *launch_new(KernelBook *book, const Step *step) {
  Arena *arena = book->arena;
  Text body = {.arena = book->scratch};
  KernelText e;
  prepare(&e, book->scratch, book->program, step->kernel, true, &body);
  Launch *launch = NEW(arena, Launch);
  launch->kernel = define_kernel(book, step, &e);
  PointerParam pointers[MAX_POINTERS];
  const int n = pointer_params(&e, pointers);
  for (int i = 0; i < n; i++) vec_push(arena, &launch->pointers, pointers[i].tensor);
  for (int i = 0; i < e.params.len; i++) vec_push(arena, &launch->numbers, arena_strdup(arena, e.params.at[i].value));
  return launch;
}

// That of a kernel of the same key, or a new one.
static const Launch *find_launch(KernelBook *book, const Step *step) {
  const KernelKey key = kernel_key(book->scratch, book->program, step->kernel);
  const int known = numbers_of(&book->keys, key.at, sizeof *key.at * (size_t)key.len);
  if (known == book->launches.len) vec_push(book->arena, &book->launches, launch_new(book, step));
  return book->launches.at[known];
}

void emit_launch(KernelBook *book, const Step *step, const char *loop, int indent, Text *out) {
  static const char *const macro[] = {"LAUNCH_FLAT", "LAUNCH_ROWS", "LAUNCH_LANES"};
  const Program *p = book->program;
  const Kernel *k = step->kernel;
  arena_reset(book->scratch);
  const Launch *launch = find_launch(book, step);
  text_printf(out, "%*s%s(%s, %s", indent, "", is_map(k) ? "LAUNCH_MAP" : macro[k->kind], launch->kernel,
              work_text(book->scratch, p, k));
  if (is_map(k)) text_printf(out, ", %s", row_text(book->scratch, p, k));
  for (int i = 0; i < launch->pointers.len; i++) {
    const KernelTensor *tensor = &k->tensors.at[launch->pointers.at[i]];
    text_printf(out, ", %s", name_tensor(book->scratch, p, tensor->tensor));
    if (loop != NULL && tensor->loop_stride.fixed != 0)
      text_printf(out, " + %s * %s", loop, name_extent(book->scratch, p, tensor->loop_stride));
  }
  for (int i = 0; i < launch->numbers.len; i++) text_printf(out, ", %s", launch->numbers.at[i]);
  text_printf(out, ");\n");
}
