#include "../ir/print.h"
#include "kernel_text.h"
#include "names.h"

#include <math.h>

enum { SMALL_EXTENT = 16 };

// ---- names -------------------------------------------------------------------------------------------------------

const char *kernel_text_fresh(KernelText *e, const char *nice, const char *plain) {
  return name_unique(e->arena, &e->taken, e->generic ? plain : nice);
}

int kernel_text_find(const KernelText *e, int tensor) {
  const int t = kernel_find_tensor(e->k, tensor);
  if (t < 0) fatal("codegen: kernel %s uses a tensor it does not list", e->k->name);
  return t;
}

const ProgTensor *kernel_text_tensor(const KernelText *e, int t) {
  return &e->p->tensors.at[e->k->tensors.at[t].tensor];
}

// "conv1.y" gives "y".
const char *kernel_text_short_name(const KernelText *e, int t) {
  const char *name = kernel_text_tensor(e, t)->name, *dot = strrchr(name, '.');
  if (dot != NULL && dot[1] >= '0' && dot[1] <= '9') { // "y.2": the number is no name
    const char *start = dot;
    while (start > name && start[-1] != '.') start--;
    return arena_strndup(e->arena, start, (size_t)(dot - start));
  }
  return dot != NULL ? dot + 1 : name;
}

static bool same_extent_param(const Param *param, const char *type, const char *value) {
  return str_eq(param->type, type) && str_eq(param->value, value);
}

// A parameter of the kernel with that argument; each argument is handed over once.
static const char *number_param(KernelText *e, const char *nice, const char *plain, const char *type,
                                const char *value) {
  const bool shares = !str_eq(type, "long"); // equal lengths stay apart: kernels are shared between shapes
  for (int i = 0; i < e->params.len && shares; i++)
    if (same_extent_param(&e->params.at[i], type, value)) return e->params.at[i].name;
  const char *name = kernel_text_fresh(e, nice, plain);
  vec_push(e->arena, &e->params, (Param){name, type, value});
  return name;
}

static const char *length_name(KernelText *e, const char *var) {
  if (strlen(var) <= 2 && !str_eq(var, "i")) return name_upper(e->arena, var);
  return arena_printf(e->arena, "len_%s", var);
}

static const char *lo_param(KernelText *e, int block) {
  const char *name = e->p->blocks.at[block].c_name;
  const char *value = arena_printf(e->arena, "%s.lo", name);
  for (int i = 0; i < e->params.len; i++)
    if (same_extent_param(&e->params.at[i], "long", value)) return e->params.at[i].name;
  const char *param = kernel_text_fresh(e, arena_printf(e->arena, "%s_lo", name), "lo");
  vec_push(e->arena, &e->params, (Param){param, "long", value});
  return param;
}

// Dimension names joined by '_' give "nchw"; what is too long to read gives "d".
static const char *joined_name(const KernelText *e, const char *name) {
  Text joined = {.arena = e->arena};
  for (const char *c = name; *c != '\0'; c++)
    if (*c != '_') text_printf(&joined, "%c", *c);
  return joined.len <= 8 ? text_str(&joined) : "d";
}

static bool literal_extent(const KernelText *e, int d) {
  return e->k->kind == KERNEL_LANES && d >= e->k->n_grid && e->k->dims[d].extent.block < 0 &&
         e->k->dims[d].extent.fixed <= SMALL_EXTENT;
}

void kernel_text_name_dims(KernelText *e) {
  if (e->k->scatters) e->part = kernel_text_fresh(e, "part", "part");
  for (int d = 0; d < e->k->n_dims; d++) {
    const LoopDim *dim = &e->k->dims[d];
    const bool flat = e->k->kind == KERNEL_FLAT;
    e->var[d] = flat ? "i" : kernel_text_fresh(e, joined_name(e, dim->name), "d");
    if (e->k->kind == KERNEL_LANES && d == e->k->n_grid - 1)
      e->first_lane = kernel_text_fresh(e, arena_printf(e->arena, "%s0", e->var[d]), "d0");
    const char *value = name_extent(e->arena, e->p, dim->extent);
    if (literal_extent(e, d)) e->len[d] = value;
    else if (flat) {
      e->len[d] = "count";
      vec_push(e->arena, &e->params, (Param){"count", "long", value});
    } else e->len[d] = number_param(e, length_name(e, e->var[d]), "N", "long", value);
  }
}

void kernel_text_name_pointers(KernelText *e) {
  e->pointer = NEW_ARRAY(e->arena, const char *, e->k->tensors.len);
  e->extent = arena_alloc(e->arena, sizeof *e->extent * (size_t)e->k->tensors.len);
  e->whole_of = arena_alloc(e->arena, sizeof *e->whole_of * (size_t)e->k->tensors.len);
  memset(e->whole_of, -1, sizeof *e->whole_of * (size_t)e->k->tensors.len);
  e->value = NEW_ARRAY(e->arena, Value, e->k->tensors.len);
  e->pointer_used = NEW_ARRAY(e->arena, bool, e->k->tensors.len);
  for (int t = 0; t < e->k->tensors.len; t++) {
    for (int u = 0; u < t; u++)
      if (prog_tensors_share(kernel_text_tensor(e, u), kernel_text_tensor(e, t))) e->pointer[t] = e->pointer[u];
    if (e->pointer[t] == NULL) e->pointer[t] = kernel_text_fresh(e, kernel_text_short_name(e, t), "x");
  }
}

// ---- indices and accesses ----------------------------------------------------------------------------------------

// The sum of the loop variables in an index, each counted from the start of this rank's block.
static const char *local_sum(KernelText *e, const Index *index) {
  Text text = {.arena = e->arena};
  int terms = 0;
  for (int d = 0; d < e->k->n_dims; d++) {
    const long long coef = (long long)index->coef[d];
    if (coef == 0) continue;
    text_printf(&text, terms == 0 ? (coef < 0 ? "-" : "") : coef < 0 ? " - " : " + ");
    if (coef != 1 && coef != -1) text_printf(&text, "%lld * ", coef < 0 ? -coef : coef);
    text_printf(&text, "%s", e->var[d]);
    terms++;
  }
  if (terms == 0) return arena_printf(e->arena, "%lld", (long long)index->base);
  if (index->base != 0)
    text_printf(&text, " %c %lld", index->base < 0 ? '-' : '+',
                (long long)(index->base < 0 ? -index->base : index->base));
  return text_str(&text);
}

static void add_start(KernelText *e, Text *text, int64_t factor, int block) {
  if (e->p->blocks.at[block].reach >= 0) return; // begins at 0
  text_printf(text, factor < 0 ? " - " : " + ");
  if (factor != 1 && factor != -1) text_printf(text, "%lld * ", (long long)(factor < 0 ? -factor : factor));
  text_printf(text, "%s", lo_param(e, block));
}

// The index counted from the start of `from` (a tensor's extent; NULL: from 0, the global index): loop variables count
// from the starts of their blocks. Where both start together nothing is left to add.
static const char *index_from(KernelText *e, const Index *index, const Extent *from) {
  Text text = {.arena = e->arena};
  text_printf(&text, "%s", local_sum(e, index));
  int64_t rest = from != NULL && from->block >= 0 ? -from->fixed : 0; // of the tensor's own start
  for (int d = 0; d < e->k->n_dims; d++) {
    const Extent extent = e->k->dims[d].extent;
    if (index->coef[d] == 0 || extent.block < 0) continue;
    const int64_t factor = index->coef[d] * extent.fixed;
    if (from != NULL && extent.block == from->block) rest += factor;
    else add_start(e, &text, factor, extent.block);
  }
  if (rest != 0) add_start(e, &text, rest, from->block);
  return text_str(&text);
}

static const char *global_index(KernelText *e, const Index *index) { return index_from(e, index, NULL); }

const char *kernel_text_position(KernelText *e, int t, int i, const Index *index) {
  return index_from(e, index, &e->k->tensors.at[t].extent[i]);
}

static bool is_atom(const char *text) {
  for (; *text != '\0'; text++)
    if (*text == ' ' || *text == '-') return false;
  return true;
}

static const char *in_parens(KernelText *e, const char *text) {
  return is_atom(text) ? text : arena_printf(e->arena, "(%s)", text);
}

static const char *extent_name(KernelText *e, int t, int i, const Index *index) {
  const KernelTensor *tensor = &e->k->tensors.at[t];
  const int plain = index_plain_dim(index);
  if (plain >= 0 && extent_equal(e->k->dims[plain].extent, tensor->extent[i])) return e->len[plain];
  const Extent walk = plain >= 0 ? e->k->dims[plain].extent : extent_fixed(1);
  if (walk.block >= 0 && e->p->blocks.at[walk.block].strip) { // one length for all that is there as a whole
    for (int u = 0; u < e->k->tensors.len; u++)
      for (int k = 0; k < e->k->tensors.at[u].rank; k++)
        if (e->extent[u][k] != NULL && e->whole_of[u][k] == plain && extent_equal(e->k->tensors.at[u].extent[k], tensor->extent[i]))
          return e->extent[u][k];
    e->whole_of[t][i] = plain;
  }
  if (e->extent[t][i] == NULL) {
    e->extent[t][i] = number_param(e, length_name(e, joined_name(e, tensor->dim[i])), "N", "long",
                                   name_extent(e->arena, e->p, tensor->extent[i]));
  }
  return e->extent[t][i];
}

// The extent over all ranks, which guards are about.
static const char *global_extent_name(KernelText *e, int t, int i, const Index *index) {
  const KernelTensor *tensor = &e->k->tensors.at[t];
  const int block = tensor->extent[i].block;
  if (block < 0 || mesh_parts(&e->p->mesh, e->p->blocks.at[block].axes) == 1) return extent_name(e, t, i, index);
  return number_param(e, arena_printf(e->arena, "all_%s", joined_name(e, tensor->dim[i])), "N", "long",
                      arena_printf(e->arena, "%lld", (long long)tensor->global[i]));
}

// A global position of a dimension as one of this rank's part.
static const char *after_start(KernelText *e, const char *position, Extent extent) {
  if (extent.block < 0) return position;
  Text text = {.arena = e->arena};
  text_printf(&text, "%s", position);
  add_start(e, &text, -extent.fixed, extent.block);
  return text_str(&text);
}

const char *kernel_text_place(KernelText *e, int d, const Expr *position) {
  return after_start(e, kernel_text_value(e, position), e->k->dims[d].extent);
}

// The element's offset by Horner's rule; position[i] are the local indices.
const char *kernel_text_offset(KernelText *e, int t, int rank, const Index *index, const char *const *position) {
  if (rank == 0) return "0";
  const char *text = in_parens(e, position[0]);
  for (int i = 1; i < rank; i++) {
    text = str_eq(text, "0") ? in_parens(e, position[i])
                             : arena_printf(e->arena, "%s * %s + %s", in_parens(e, text),
                                            in_parens(e, extent_name(e, t, i, &index[i])), in_parens(e, position[i]));
  }
  return text;
}

void kernel_text_line(KernelText *e, const char *format, ...) {
  va_list args;
  va_start(args, format);
  text_printf(e->body, "%*s%s\n", e->indent, "", arena_vprintf(e->arena, format, args));
  va_end(args);
}

static const char *read_tensor(KernelText *e, const Expr *access) {
  const int t = kernel_text_find(e, access->access.tensor), rank = access->access.rank;
  const Value *value = &e->value[t];
  if (value->kind == VALUE_ROW || (value->kind == VALUE_POINT && value->stage == e->stage)) return value->name;
  const KernelTensor *tensor = &e->k->tensors.at[t];
  int64_t extent[IR_MAX_DIMS], lo, hi;
  for (int d = 0; d < e->k->n_dims; d++) extent[d] = e->k->dims[d].global;
  const char *position[IR_MAX_RANK];
  Text guard = {.arena = e->arena};
#define GUARD(...) (guard.len > 0 ? text_printf(&guard, " && ") : (void)0, text_printf(&guard, __VA_ARGS__))
  for (int i = 0; i < rank; i++) {
    const Index *index = &access->access.index[i];
    index_range(index, extent, e->k->n_dims, &lo, &hi);
    const bool below = lo < 0, above = hi >= tensor->global[i] * index->div;
    if (!below && !above && index->div == 1) {
      position[i] = index_from(e, index, &tensor->extent[i]);
      continue;
    }
    const char *name = kernel_text_fresh(e, joined_name(e, tensor->dim[i]), "at");
    kernel_text_line(e, "const long %s = %s;", name, global_index(e, index));
    position[i] = name;
    if (below) GUARD("%s >= 0", name);
    if (index->div != 1) {
      GUARD("%s %% %lld == 0", name, (long long)index->div);
      position[i] = arena_printf(e->arena, "%s / %lld", name, (long long)index->div);
    }
    if (above) GUARD("%s < %s", position[i], global_extent_name(e, t, i, index));
    position[i] = after_start(e, position[i], tensor->extent[i]);
  }
#undef GUARD
  e->pointer_used[t] = true;
  const char *element =
      arena_printf(e->arena, "%s[%s]", e->pointer[t], kernel_text_offset(e, t, rank, access->access.index, position));
  if (guard.len == 0) return element;
  return arena_printf(e->arena, "(%s ? %s : %s)", text_str(&guard), element,
                      name_number(e->arena, access->access.outside, access->type, e->p->model->f64));
}

// ---- expressions -------------------------------------------------------------------------------------------------

static const char *spelling(const KernelText *e, Fn fn) {
  static const char *const table[FN_COUNT] = {
#define FN(name, arity, spelling, type, flops) [FN_##name] = spelling,
#include "../ir/functions.def"
#undef FN
  };
  Text text = {.arena = e->arena};
  for (const char *c = table[fn]; *c != '\0'; c++)
    if (*c != '$') text_printf(&text, "%c", *c);
    else if (!e->p->model->f64) text_printf(&text, "f");
  return text_str(&text);
}

// Replaces the %s of the spelling, one after the other.
static const char *fill(const KernelText *e, const char *format, const char *const *arg) {
  Text text = {.arena = e->arena};
  for (int n = 0; *format != '\0'; format++) {
    if (format[0] == '%' && format[1] == 's') {
      text_printf(&text, "%s", arg[n++]);
      format++;
    } else {
      text_printf(&text, "%c", *format);
    }
  }
  return text_str(&text);
}

static const char *call_text(KernelText *e, const Expr *x) {
  const char *arg[3] = {"", "", ""};
  if (x->call.fn == FN_one) return name_number(e->arena, 1, TYPE_REAL, e->p->model->f64);
  for (int i = 0; i < fn_arity(x->call.fn); i++) {
    const Expr *a = x->call.arg[i];
    arg[i] = kernel_text_expr(e, a);
    const bool condition = x->call.fn == FN_select && i == 0;
    if (x->type == TYPE_REAL && a->type != TYPE_REAL && !condition)
      arg[i] = arena_printf(e->arena, "(%s)%s", name_type(e->p, TYPE_REAL), in_parens(e, arg[i]));
  }
  if (x->type != TYPE_REAL && x->call.fn == FN_max) return fill(e, "parcc_maxi(%s, %s)", arg);
  if (x->type != TYPE_REAL && x->call.fn == FN_min) return fill(e, "parcc_mini(%s, %s)", arg);
  return fill(e, spelling(e, x->call.fn), arg);
}

static const char *random_text(KernelText *e, const Expr *x) {
  const char *seed = number_param(e, "seed", "seed", "unsigned long long", "parcc.seed");
  const char *step = number_param(e, "step", "step", "unsigned long long", "(unsigned long long)parcc.step");
  // The stream is an argument, so that kernels that differ in it only are shared.
  const char *stream = kernel_text_fresh(e, "stream", "stream");
  vec_push(e->arena, &e->params, (Param){stream, "unsigned", arena_printf(e->arena, "%d", x->random.stream)});
  const char *element = global_index(e, x->random.element);
  if (x->random.apart != 0) {
    const char *before = arena_printf(e->arena, "%lld * (long)micro", (long long)x->random.apart);
    element = arena_printf(e->arena, "%s + %s", number_param(e, "before", "before", "long", before), element);
  }
  return arena_printf(e->arena, "parcc_%s%s(%s, %s, %s, (unsigned long long)(%s))",
                      x->random.normal ? "normal" : "uniform", e->p->model->f64 ? "" : "f", seed, stream, step, element);
}

static const char *run_text(KernelText *e, RunScalar run) {
  const char *type = name_type(e->p, TYPE_REAL), *name = run_scalar_name(run);
  if (run == RUN_MICRO) return number_param(e, name, name, "int", name);
  return number_param(e, name, name, type, arena_printf(e->arena, "(%s)parcc.%s", type, name));
}

// Numbers that come from extents (counts, their inverses) differ from layer to layer: as arguments they leave kernels equal.
static bool comes_from_extents(double value) {
  if (!isfinite(value) || value == 0) return false;
  if (value == floor(value)) return fabs(value) >= 16;
  int exponent;
  if (fabs(frexp(value, &exponent)) == 0.5) return exponent < -1; // 1/8, 1/16, ...
  char text[32];
  double back;
  snprintf(text, sizeof text, "%.6g", value);
  return sscanf(text, "%lf", &back) == 1 && back != value;
}

static const char *const_text(KernelText *e, const Expr *x) {
  const char *text = name_number(e->arena, x->value, x->type, e->p->model->f64);
  if (x->type != TYPE_REAL || !comes_from_extents(x->value)) return text;
  return number_param(e, "factor", "c", name_type(e->p, TYPE_REAL), text);
}

const char *kernel_text_expr(KernelText *e, const Expr *x) {
  switch (x->kind) {
  case EXPR_CONST: return const_text(e, x);
  case EXPR_INDEX: {
    const char *text = in_parens(e, global_index(e, x->index));
    return x->index->div == 1 ? text : arena_printf(e->arena, "(%s / %lld)", text, (long long)x->index->div);
  }
  case EXPR_ACCESS: return read_tensor(e, x);
  case EXPR_RANDOM: return random_text(e, x);
  case EXPR_RUN: return run_text(e, x->run);
  case EXPR_CALL: return call_text(e, x);
  }
  return "";
}

const char *kernel_text_value(KernelText *e, const Expr *x) {
  const char *text = kernel_text_expr(e, x);
  const size_t len = strlen(text);
  if (text[0] != '(') return text;
  int depth = 0;
  for (size_t i = 0; i < len; i++) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (depth == 0 && i + 1 < len) return text; // the first one closes before the end
  }
  return arena_strndup(e->arena, text + 1, len - 2);
}
