#include "emit_kernel.h"

#include <math.h>

#include "../ir/print.h"
#include "names.h"

enum { MAX_GRID = 4, SMALL_EXTENT = 16, MAX_POINTERS = 256, WIDTH = 118 };

typedef enum ValueKind { VALUE_NONE, VALUE_POINT, VALUE_ROW } ValueKind;

typedef struct Value { // a result that is at hand in a variable
  ValueKind kind;
  int stage; // VALUE_POINT: the stage it is valid in
  const char *name;
} Value;

typedef struct Param { // a number handed to the kernel
  const char *name, *type, *value; // value: the argument in the launch
} Param;

typedef struct Emitter {
  const Program *p;
  const Kernel *k;
  Arena *arena;
  bool generic; // names that do not depend on the model, to compare kernels
  Names taken;
  const char *var[IR_MAX_DIMS];    // loop variables
  const char *first_lane;          // KERNEL_LANES: where the lanes of a thread begin along the last row dim
  const char *len[IR_MAX_DIMS];    // their extents: a parameter or a literal
  const char **pointer;            // by kernel tensor; those that share a buffer share a name
  const char *(*extent)[IR_MAX_RANK]; // by kernel tensor: names of extents, made when first needed
  Value *value;                    // by kernel tensor
  bool *pointer_used;              // by kernel tensor: the text reads or writes memory through it
  VEC(Param) params;
  int stage;
  int indent;
  size_t block[2], last_block; // where open blocks begin in the text, and the one closed last
  int n_blocks;
  Text *body;
  size_t lane_start, lane_end; // where the text declares the lane's column
} Emitter;

// ---- names -------------------------------------------------------------------------------------------------------

static const char *fresh(Emitter *e, const char *nice, const char *plain) {
  return name_unique(e->arena, &e->taken, e->generic ? plain : nice);
}

static int find_tensor(const Emitter *e, int tensor) {
  for (int t = 0; t < e->k->tensors.len; t++)
    if (e->k->tensors.at[t].tensor == tensor) return t;
  fatal("codegen: kernel %s uses a tensor it does not list", e->k->name);
}

static const ProgTensor *tensor_at(const Emitter *e, int t) { return &e->p->tensors.at[e->k->tensors.at[t].tensor]; }

// "conv1.y" gives "y".
static const char *short_name(const Emitter *e, int t) {
  const char *name = tensor_at(e, t)->name, *dot = strrchr(name, '.');
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
static const char *number_param(Emitter *e, const char *nice, const char *plain, const char *type, const char *value) {
  const bool shares = !str_eq(type, "long"); // equal lengths stay apart: kernels are shared between shapes
  for (int i = 0; i < e->params.len && shares; i++)
    if (same_extent_param(&e->params.at[i], type, value)) return e->params.at[i].name;
  const char *name = fresh(e, nice, plain);
  vec_push(e->arena, &e->params, (Param){name, type, value});
  return name;
}

static const char *length_name(Emitter *e, const char *var) {
  if (strlen(var) <= 2 && !str_eq(var, "i")) return name_upper(e->arena, var);
  return arena_printf(e->arena, "len_%s", var);
}

static const char *lo_param(Emitter *e, int block) {
  const char *name = name_identifier(e->arena, e->p->blocks.at[block].name);
  const char *value = arena_printf(e->arena, "%s.lo", name);
  for (int i = 0; i < e->params.len; i++)
    if (same_extent_param(&e->params.at[i], "long", value)) return e->params.at[i].name;
  const char *param = fresh(e, arena_printf(e->arena, "%s_lo", name), "lo");
  vec_push(e->arena, &e->params, (Param){param, "long", value});
  return param;
}

// Dimension names joined by '_' give "nchw"; what is too long to read gives "d".
static const char *joined_name(const Emitter *e, const char *name) {
  Text joined = {.arena = e->arena};
  for (const char *c = name; *c != '\0'; c++)
    if (*c != '_') text_printf(&joined, "%c", *c);
  return joined.len <= 8 ? text_str(&joined) : "d";
}

static bool literal_extent(const Emitter *e, int d) {
  return e->k->kind == KERNEL_LANES && d >= e->k->n_grid && e->k->dims[d].extent.block < 0 &&
         e->k->dims[d].extent.fixed <= SMALL_EXTENT;
}

static void name_dims(Emitter *e) {
  for (int d = 0; d < e->k->n_dims; d++) {
    const LoopDim *dim = &e->k->dims[d];
    const bool flat = e->k->kind == KERNEL_FLAT;
    e->var[d] = flat ? "i" : fresh(e, joined_name(e, dim->name), "d");
    if (e->k->kind == KERNEL_LANES && d == e->k->n_grid - 1) e->first_lane = fresh(e, arena_printf(e->arena, "%s0", e->var[d]), "d0");
    const char *value = name_extent(e->arena, e->p, dim->extent);
    if (literal_extent(e, d)) e->len[d] = value;
    else if (flat) {
      e->len[d] = "count";
      vec_push(e->arena, &e->params, (Param){"count", "long", value});
    } else e->len[d] = number_param(e, length_name(e, e->var[d]), "N", "long", value);
  }
}

static void name_pointers(Emitter *e) {
  e->pointer = NEW_ARRAY(e->arena, const char *, e->k->tensors.len);
  e->extent = arena_alloc(e->arena, sizeof *e->extent * (size_t)e->k->tensors.len);
  e->value = NEW_ARRAY(e->arena, Value, e->k->tensors.len);
  e->pointer_used = NEW_ARRAY(e->arena, bool, e->k->tensors.len);
  for (int t = 0; t < e->k->tensors.len; t++) {
    for (int u = 0; u < t; u++)
      if (prog_tensors_share(tensor_at(e, u), tensor_at(e, t))) e->pointer[t] = e->pointer[u];
    if (e->pointer[t] == NULL) e->pointer[t] = fresh(e, short_name(e, t), "x");
  }
}

// ---- indices and accesses ----------------------------------------------------------------------------------------

// The sum of the loop variables in an index, each counted from the start of this rank's block.
static const char *local_sum(Emitter *e, const Index *index) {
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
    text_printf(&text, " %c %lld", index->base < 0 ? '-' : '+', (long long)(index->base < 0 ? -index->base : index->base));
  return text_str(&text);
}

static void add_start(Emitter *e, Text *text, int64_t factor, int block) {
  text_printf(text, factor < 0 ? " - " : " + ");
  if (factor != 1 && factor != -1) text_printf(text, "%lld * ", (long long)(factor < 0 ? -factor : factor));
  text_printf(text, "%s", lo_param(e, block));
}

// The index counted from the start of `from` (a tensor's extent; NULL: from 0, the global index): loop variables count
// from the starts of their blocks. Where both start together nothing is left to add.
static const char *index_from(Emitter *e, const Index *index, const Extent *from) {
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

static const char *global_index(Emitter *e, const Index *index) { return index_from(e, index, NULL); }

static bool is_atom(const char *text) {
  for (; *text != '\0'; text++)
    if (*text == ' ' || *text == '-') return false;
  return true;
}

static const char *in_parens(Emitter *e, const char *text) {
  return is_atom(text) ? text : arena_printf(e->arena, "(%s)", text);
}

static const char *extent_name(Emitter *e, int t, int i, const Index *index) {
  const KernelTensor *tensor = &e->k->tensors.at[t];
  const int plain = index_plain_dim(index);
  if (plain >= 0 && extent_equal(e->k->dims[plain].extent, tensor->extent[i])) return e->len[plain];
  if (e->extent[t][i] == NULL) {
    e->extent[t][i] = number_param(e, length_name(e, joined_name(e, tensor->dim[i])), "N", "long",
                                   name_extent(e->arena, e->p, tensor->extent[i]));
  }
  return e->extent[t][i];
}

// The extent over all ranks, which guards are about.
static const char *global_extent_name(Emitter *e, int t, int i, const Index *index) {
  const KernelTensor *tensor = &e->k->tensors.at[t];
  const int block = tensor->extent[i].block;
  if (block < 0 || mesh_parts(&e->p->mesh, e->p->blocks.at[block].axes) == 1) return extent_name(e, t, i, index);
  return number_param(e, arena_printf(e->arena, "all_%s", joined_name(e, tensor->dim[i])), "N", "long",
                      arena_printf(e->arena, "%lld", (long long)tensor->global[i]));
}

// A global position of a dimension as one of this rank's part.
static const char *after_start(Emitter *e, const char *position, Extent extent) {
  if (extent.block < 0) return position;
  Text text = {.arena = e->arena};
  text_printf(&text, "%s", position);
  add_start(e, &text, -extent.fixed, extent.block);
  return text_str(&text);
}

// The element's offset by Horner's rule; position[i] are the local indices.
static const char *offset_text(Emitter *e, int t, int rank, const Index *index, const char *const *position) {
  if (rank == 0) return "0";
  const char *text = in_parens(e, position[0]);
  for (int i = 1; i < rank; i++) {
    text = str_eq(text, "0") ? in_parens(e, position[i])
                             : arena_printf(e->arena, "%s * %s + %s", in_parens(e, text),
                                            in_parens(e, extent_name(e, t, i, &index[i])), in_parens(e, position[i]));
  }
  return text;
}

static void line(Emitter *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line(Emitter *e, const char *format, ...) {
  va_list args;
  va_start(args, format);
  text_printf(e->body, "%*s%s\n", e->indent, "", arena_vprintf(e->arena, format, args));
  va_end(args);
}

static const char *read_tensor(Emitter *e, const Expr *access) {
  const int t = find_tensor(e, access->access.tensor), rank = access->access.rank;
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
    const char *name = fresh(e, joined_name(e, tensor->dim[i]), "at");
    line(e, "const long %s = %s;", name, global_index(e, index));
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
  const char *element = arena_printf(e->arena, "%s[%s]", e->pointer[t], offset_text(e, t, rank, access->access.index, position));
  if (guard.len == 0) return element;
  return arena_printf(e->arena, "(%s ? %s : %s)", text_str(&guard), element,
                      name_number(e->arena, access->access.outside, access->type, e->p->model->f64));
}

// ---- expressions -------------------------------------------------------------------------------------------------

static const char *expr_text(Emitter *e, const Expr *x);

static const char *spelling(const Emitter *e, Fn fn) {
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
static const char *fill(const Emitter *e, const char *format, const char *const *arg) {
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

static const char *call_text(Emitter *e, const Expr *x) {
  const char *arg[3] = {"", "", ""};
  if (x->call.fn == FN_one) return name_number(e->arena, 1, TYPE_REAL, e->p->model->f64);
  for (int i = 0; i < fn_arity(x->call.fn); i++) {
    const Expr *a = x->call.arg[i];
    arg[i] = expr_text(e, a);
    const bool condition = x->call.fn == FN_select && i == 0;
    if (x->type == TYPE_REAL && a->type != TYPE_REAL && !condition)
      arg[i] = arena_printf(e->arena, "(%s)%s", name_type(e->p, TYPE_REAL), in_parens(e, arg[i]));
  }
  if (x->type != TYPE_REAL && x->call.fn == FN_max) return fill(e, "parcc_maxi(%s, %s)", arg);
  if (x->type != TYPE_REAL && x->call.fn == FN_min) return fill(e, "parcc_mini(%s, %s)", arg);
  return fill(e, spelling(e, x->call.fn), arg);
}

static const char *random_text(Emitter *e, const Expr *x) {
  const char *seed = number_param(e, "seed", "seed", "unsigned long long", "parcc.seed");
  const char *step = number_param(e, "step", "step", "unsigned long long", "(unsigned long long)parcc.step");
  // The stream is an argument, so that kernels that differ in it only are shared.
  const char *stream = fresh(e, "stream", "stream");
  vec_push(e->arena, &e->params, (Param){stream, "unsigned", arena_printf(e->arena, "%d", x->random.stream)});
  return arena_printf(e->arena, "parcc_%s%s(%s, %s, %s, (unsigned long long)(%s))", x->random.normal ? "normal" : "uniform",
                      e->p->model->f64 ? "" : "f", seed, stream, step, global_index(e, &x->random.element));
}

static const char *run_text(Emitter *e, RunScalar run) {
  const char *type = name_type(e->p, TYPE_REAL), *name = run_scalar_name(run);
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

static const char *const_text(Emitter *e, const Expr *x) {
  const char *text = name_number(e->arena, x->value, x->type, e->p->model->f64);
  if (x->type != TYPE_REAL || !comes_from_extents(x->value)) return text;
  return number_param(e, "factor", "c", name_type(e->p, TYPE_REAL), text);
}

static const char *expr_text(Emitter *e, const Expr *x) {
  switch (x->kind) {
  case EXPR_CONST: return const_text(e, x);
  case EXPR_INDEX: {
    const char *text = in_parens(e, global_index(e, &x->index));
    return x->index.div == 1 ? text : arena_printf(e->arena, "(%s / %lld)", text, (long long)x->index.div);
  }
  case EXPR_ACCESS: return read_tensor(e, x);
  case EXPR_RANDOM: return random_text(e, x);
  case EXPR_RUN: return run_text(e, x->run);
  case EXPR_CALL: return call_text(e, x);
  }
  return "";
}

// The expression as a statement's right-hand side: without parentheses around the whole.
static const char *value_text(Emitter *e, const Expr *x) {
  const char *text = expr_text(e, x);
  const size_t len = strlen(text);
  if (text[0] != '(') return text;
  int depth = 0;
  for (size_t i = 0; i < len; i++) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (depth == 0 && i + 1 < len) return text; // the first one closes before the end
  }
  return arena_strndup(e->arena, text + 1, len - 2);
}

// ---- statements --------------------------------------------------------------------------------------------------

static const char *result_element(Emitter *e, const Statement *s) {
  const int t = find_tensor(e, s->out);
  e->pointer_used[t] = true;
  Index index[IR_MAX_RANK];
  const char *position[IR_MAX_RANK];
  for (int i = 0; i < s->out_rank; i++) {
    index[i] = index_dim(s->out_dim[i]);
    position[i] = e->var[s->out_dim[i]];
  }
  return arena_printf(e->arena, "%s[%s]", e->pointer[t], offset_text(e, t, s->out_rank, index, position));
}

static const char *value_type(const Emitter *e, const Statement *s) {
  return name_type(e->p, e->p->tensors.at[s->out].type);
}

static bool is_lanes(const Emitter *e) { return e->k->kind == KERNEL_LANES; }

static void open_lane(Emitter *e) {
  const int last = e->k->n_grid - 1;
  line(e, "LANE(l, lanes) {");
  e->indent += 2;
  e->lane_start = e->body->len;
  line(e, "const long %s = %s + l;", e->var[last], e->first_lane);
  e->lane_end = e->body->len;
}

static bool is_word(char c) { return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'); }

static bool mentions(const char *text, const char *name) {
  const size_t len = strlen(name);
  for (const char *at = text; (at = strstr(at, name)) != NULL; at++)
    if (!is_word(at[len]) && (at == text || !is_word(at[-1]))) return true;
  return false;
}

// Ends the loop over lanes; its column goes undeclared where nothing mentions it.
static void close_lane(Emitter *e) {
  Text *body = e->body;
  if (!mentions(body->at + e->lane_end, e->var[e->k->n_grid - 1])) {
    memmove(body->at + e->lane_start, body->at + e->lane_end, body->len - e->lane_end + 1);
    body->len -= e->lane_end - e->lane_start;
  }
  e->indent -= 2;
  line(e, "}");
}

static void open_block(Emitter *e, const char *head) {
  e->block[e->n_blocks++] = e->body->len;
  line(e, "%s {", head);
  e->indent += 2;
}

// Goes two columns to the left.
static const char *outdented(const Emitter *e, const char *text) {
  Text out = {.arena = e->arena};
  for (const char *c = text; *c != '\0'; c++) {
    text_printf(&out, "%c", *c);
    if (*c == '\n' && strncmp(c + 1, "  ", 2) == 0) c += 2;
  }
  return text_str(&out);
}

// A block of a single statement needs no braces: a loop follows its head in the same line, any other where there is room.
static void close(Emitter *e) {
  Text *body = e->body;
  const size_t block = e->block[--e->n_blocks], content = block + strcspn(body->at + block, "\n") + 1;
  const bool loop = e->last_block == content;
  e->indent -= 2;
  e->last_block = block;
  if (!loop && content + strcspn(body->at + content, "\n") + 1 != body->len) {
    line(e, "}");
    return;
  }
  const char *head = arena_strndup(e->arena, body->at + block, content - block - 3);
  const char *text = arena_strdup(e->arena, body->at + content), *statement = text + strspn(text, " ");
  body->len = block;
  const bool fits = strlen(head) + strlen(statement) <= WIDTH;
  if (loop) text_printf(body, "%s %s", head, outdented(e, statement));
  else text_printf(body, fits ? "%s %s" : "%s\n%s", head, fits ? statement : text);
}

static void close_inner(Emitter *e, const Stage *stage) {
  if (!is_lanes(e)) {
    close(e);
    return;
  }
  close_lane(e);
  e->indent -= 2 * stage->n_inner;
}

static void set_value(Emitter *e, const Statement *s, ValueKind kind, const char *name) {
  e->value[find_tensor(e, s->out)] = (Value){kind, e->stage, name};
}

// A statement at one point: its value in a variable.
static void emit_point(Emitter *e, const Statement *s) {
  const char *text = value_text(e, s->body);
  const char *name = fresh(e, arena_printf(e->arena, "%s_", short_name(e, find_tensor(e, s->out))), "v");
  line(e, "const %s %s = %s;", value_type(e, s), name, text);
  set_value(e, s, VALUE_POINT, name);
}

typedef struct Accumulator {
  const char *name, *place; // place: argmax only
} Accumulator;

static void emit_accumulate(Emitter *e, const Statement *s, const Accumulator *acc) {
  const char *text = value_text(e, s->body), *lane = is_lanes(e) ? "[l]" : "";
  const char *real = name_type(e->p, TYPE_REAL);
  switch (s->reduce) {
  case REDUCE_SUM: line(e, "%s%s += %s;", acc->name, lane, text); return;
  case REDUCE_PROD: line(e, "%s%s *= %s;", acc->name, lane, text); return;
  case REDUCE_MAX:
  case REDUCE_MIN: {
    const char *v = fresh(e, "v", "v");
    line(e, "const %s %s = %s;", value_type(e, s), v, text);
    line(e, "%s%s = %s %c %s%s ? %s : %s%s;", acc->name, lane, v, s->reduce == REDUCE_MAX ? '>' : '<', acc->name, lane, v,
         acc->name, lane);
    return;
  }
  case REDUCE_ARGMAX: {
    const char *v = fresh(e, "v", "v");
    line(e, "const %s %s = %s;", real, v, text);
    line(e, "if (%s > %s%s) {", v, acc->name, lane);
    line(e, "  %s%s = %s;", acc->name, lane, v);
    line(e, "  %s%s = %s;", acc->place, lane, expr_text(e, s->place));
    line(e, "}");
    return;
  }
  case REDUCE_NONE: return;
  }
}

static Accumulator declare_accumulator(Emitter *e, const Statement *s) {
  Accumulator acc = {fresh(e, arena_printf(e->arena, "%s_", short_name(e, find_tensor(e, s->out))), "v"), NULL};
  const char *type = s->reduce == REDUCE_ARGMAX ? name_type(e->p, TYPE_REAL) : value_type(e, s);
  const char *start = name_number(e->arena, reduce_identity(s->reduce), TYPE_REAL, e->p->model->f64);
  if (s->reduce == REDUCE_ARGMAX) acc.place = fresh(e, arena_printf(e->arena, "%sat", acc.name), "at");
  if (is_lanes(e)) {
    line(e, "%s %s[LANES];", type, acc.name);
    line(e, "LANE(l, lanes) %s[l] = %s;", acc.name, start);
    if (acc.place == NULL) return acc;
    line(e, "long %s[LANES];", acc.place);
    line(e, "LANE(l, lanes) %s[l] = 0;", acc.place);
  } else {
    line(e, "%s %s = %s;", type, acc.name, start);
    if (acc.place != NULL) line(e, "long %s = 0;", acc.place);
  }
  return acc;
}

static void finish_accumulator(Emitter *e, const Statement *s, const Accumulator *acc) {
  static const char *const block[] = {[REDUCE_SUM] = "SUM", [REDUCE_MAX] = "MAX", [REDUCE_MIN] = "MIN", [REDUCE_PROD] = "PROD"};
  const char *result = acc->place != NULL ? arena_printf(e->arena, "(int)%s", acc->place) : acc->name;
  if (is_lanes(e)) {
    result = acc->place != NULL ? arena_printf(e->arena, "(int)%s[l]", acc->place) : arena_printf(e->arena, "%s[l]", acc->name);
    set_value(e, s, VALUE_ROW, result);
    if (!s->store) return;
    open_lane(e);
    line(e, "%s = %s;", result_element(e, s), result);
    close_lane(e);
    return;
  }
  if (acc->place != NULL) line(e, "BLOCK_ARGMAX(%s, %s);", acc->name, acc->place);
  else line(e, "%s = BLOCK_%s(%s);", acc->name, block[s->reduce], acc->name);
  set_value(e, s, VALUE_ROW, result);
  if (s->store) line(e, "ONCE %s = %s;", result_element(e, s), result);
}

// ---- stages ------------------------------------------------------------------------------------------------------

static void open_inner(Emitter *e, const Stage *stage) {
  if (is_lanes(e)) {
    for (int i = 0; i < stage->n_inner; i++) {
      const int d = stage->inner[i];
      line(e, "for (long %s = 0; %s < %s; %s++)", e->var[d], e->var[d], e->len[d], e->var[d]);
      e->indent += 2;
    }
    open_lane(e);
    return;
  }
  Text head = {.arena = e->arena};
  const int extra = stage->n_inner > MAX_GRID ? stage->n_inner - MAX_GRID : 0;
  for (int i = 0; i < extra; i++) {
    const int d = stage->inner[i];
    text_printf(&head, "for (long %s = 0; %s < %s; %s++) ", e->var[d], e->var[d], e->len[d], e->var[d]);
  }
  text_printf(&head, "BLOCK");
  if (stage->n_inner - extra > 1) text_printf(&head, "%d", stage->n_inner - extra);
  for (int i = extra; i < stage->n_inner; i++)
    text_printf(&head, "%s%s, %s", i == extra ? "(" : ", ", e->var[stage->inner[i]], e->len[stage->inner[i]]);
  text_printf(&head, ")");
  open_block(e, text_str(&head));
}

// The last statement of a stage is its only one that stores elements: nothing reads the value but the store.
static bool stores_last(const Stage *stage) {
  for (int i = 0; i < stage->statements.len; i++) {
    const Statement *s = &stage->statements.at[i];
    const bool stores = s->store && (s->reduce == REDUCE_NONE || stage->n_inner == 0);
    if (stores != (i == stage->statements.len - 1)) return false;
  }
  return true;
}

static void emit_last_store(Emitter *e, const Stage *stage) {
  const Statement *s = &stage->statements.at[stage->statements.len - 1];
  const char *text = value_text(e, s->body);
  line(e, "%s = %s;", result_element(e, s), text);
}

// Results are stored once all statements of the stage have read what they need.
static void emit_stores(Emitter *e, const Stage *stage) {
  const bool once = stage->n_inner == 0 && e->k->kind == KERNEL_GRID;
  for (int i = 0; i < stage->statements.len; i++) {
    const Statement *s = &stage->statements.at[i];
    if (s->store && (s->reduce == REDUCE_NONE || stage->n_inner == 0))
      line(e, "%s%s = %s;", once ? "ONCE " : "", result_element(e, s), e->value[find_tensor(e, s->out)].name);
  }
}

// A maximum alone over one dim has a loop of its own in the runtime, which vectorises.
static bool emit_extreme(Emitter *e, const Stage *stage) {
  const Statement *s = &stage->statements.at[0];
  if (e->k->kind != KERNEL_GRID || stage->statements.len != 1 || stage->n_inner != 1 || s->body->type != TYPE_REAL) return false;
  if (s->reduce != REDUCE_MAX && s->reduce != REDUCE_MIN) return false;
  const size_t before = e->body->len;
  const Accumulator acc = declare_accumulator(e, s);
  const size_t declared = e->body->len;
  const char *text = expr_text(e, s->body);
  if (e->body->len != declared) { // it needs lines of its own
    e->body->len = before;
    e->body->at[before] = '\0';
    return false;
  }
  line(e, "BLOCK_%s_OF(%s, %s, %s, %s);", s->reduce == REDUCE_MAX ? "MAX" : "MIN", acc.name, e->var[stage->inner[0]],
       e->len[stage->inner[0]], text);
  finish_accumulator(e, s, &acc);
  return true;
}

static void emit_inner_stage(Emitter *e, const Stage *stage) {
  if (emit_extreme(e, stage)) return;
  Accumulator *acc = NEW_ARRAY(e->arena, Accumulator, stage->statements.len);
  for (int i = 0; i < stage->statements.len; i++)
    if (stage->statements.at[i].reduce != REDUCE_NONE) acc[i] = declare_accumulator(e, &stage->statements.at[i]);
  open_inner(e, stage);
  const bool last = stores_last(stage);
  for (int i = 0; i < stage->statements.len - last; i++) {
    const Statement *s = &stage->statements.at[i];
    if (s->reduce == REDUCE_NONE) emit_point(e, s);
    else emit_accumulate(e, s, &acc[i]);
  }
  if (last) emit_last_store(e, stage);
  else emit_stores(e, stage);
  close_inner(e, stage);
  for (int i = 0; i < stage->statements.len; i++)
    if (stage->statements.at[i].reduce != REDUCE_NONE) finish_accumulator(e, &stage->statements.at[i], &acc[i]);
}

// Values of the row itself.
static void emit_row_stage(Emitter *e, const Stage *stage) {
  if (!is_lanes(e)) {
    const bool last = e->k->kind == KERNEL_FLAT && e->stage == e->k->stages.len - 1 && stores_last(stage);
    for (int i = 0; i < stage->statements.len - last; i++) {
      const Statement *s = &stage->statements.at[i];
      emit_point(e, s);
      e->value[find_tensor(e, s->out)].kind = VALUE_ROW;
    }
    if (last) emit_last_store(e, stage);
    else emit_stores(e, stage);
    return;
  }
  const char **array = NEW_ARRAY(e->arena, const char *, stage->statements.len);
  for (int i = 0; i < stage->statements.len; i++) {
    const Statement *s = &stage->statements.at[i];
    array[i] = fresh(e, arena_printf(e->arena, "%s_", short_name(e, find_tensor(e, s->out))), "v");
    line(e, "%s %s[LANES];", value_type(e, s), array[i]);
  }
  open_lane(e);
  for (int i = 0; i < stage->statements.len; i++) {
    const Statement *s = &stage->statements.at[i];
    const char *name = arena_printf(e->arena, "%s[l]", array[i]);
    line(e, "%s = %s;", name, value_text(e, s->body));
    set_value(e, s, VALUE_ROW, name);
  }
  emit_stores(e, stage);
  close_lane(e);
}

// ---- the kernel --------------------------------------------------------------------------------------------------

// The head of the loop over rows: GRID3(n, N, c, C, h, H), FLAT(i, count), GRID2_LANES(n, N, c0, lanes, C).
static void open_rows(Emitter *e) {
  const Kernel *k = e->k;
  if (k->kind == KERNEL_FLAT) {
    open_block(e, arena_printf(e->arena, "FLAT(i, %s)", k->n_dims == 0 ? "1" : e->len[0]));
    return;
  }
  Text head = {.arena = e->arena};
  const int n = k->n_grid, extra = n > MAX_GRID ? n - MAX_GRID : 0;
  for (int d = 0; d < extra; d++)
    text_printf(&head, "for (long %s = 0; %s < %s; %s++) ", e->var[d], e->var[d], e->len[d], e->var[d]);
  text_printf(&head, "GRID");
  if (n - extra > 1) text_printf(&head, "%d", n - extra);
  text_printf(&head, "%s(", is_lanes(e) ? "_LANES" : "");
  for (int d = extra; d < n; d++) {
    const bool last = is_lanes(e) && d == n - 1;
    text_printf(&head, "%s%s%s, %s", d == extra ? "" : ", ", last ? e->first_lane : e->var[d], last ? ", lanes" : "", e->len[d]);
  }
  if (n == 0) text_printf(&head, "row, 1");
  text_printf(&head, ")");
  open_block(e, text_str(&head));
  if (n == 0) line(e, "(void)row;");
}

static void emit_body(Emitter *e) {
  const Kernel *k = e->k;
  open_rows(e);
  for (e->stage = 0; e->stage < k->stages.len; e->stage++) {
    const Stage *stage = &k->stages.at[e->stage];
    if (stage->sync_before && k->kind == KERNEL_GRID) line(e, "BLOCK_SYNC();");
    if (stage->n_inner > 0) emit_inner_stage(e, stage);
    else emit_row_stage(e, stage);
  }
  close(e);
}

static bool is_written(const Emitter *e, int t) {
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
static int pointer_params(const Emitter *e, PointerParam *params) {
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

static void prepare(Emitter *e, Arena *arena, const Program *p, const Kernel *k, bool generic, Text *body) {
  *e = (Emitter){.p = p, .k = k, .arena = arena, .generic = generic, .body = body, .indent = 2, .last_block = SIZE_MAX};
  e->taken.arena = arena;
  name_pointers(e);
  name_dims(e);
  emit_body(e);
}

static void print_signature(Emitter *e, const char *name, Text *out) {
  PointerParam pointers[MAX_POINTERS];
  const int n = pointer_params(e, pointers);
  text_printf(out, "__global__ void %s(", name);
  bool any = false;
  for (int i = 0; i < n; i++) {
    text_printf(out, "%s%s%s *__restrict__ %s", any ? ", " : "", pointers[i].written ? "" : "const ",
                name_type(e->p, tensor_at(e, pointers[i].tensor)->type), e->pointer[pointers[i].tensor]);
    any = true;
  }
  for (int i = 0; i < e->params.len; i++) {
    text_printf(out, "%s%s %s", any ? ", " : "", e->params.at[i].type, e->params.at[i].name);
    any = true;
  }
  text_printf(out, ") {\n%s}\n", text_str(e->body));
}

static void print_comment(const Step *step, Text *out) {
  text_printf(out, "\n// %s%s%s", name_in_comment(out->arena, step->layer), step->layer[0] != '\0' ? ": " : "",
              name_in_comment(out->arena, step->kernel.name));
  if (step->loc.line > 0) text_printf(out, " (%s:%d)", name_in_comment(out->arena, step->loc.file), step->loc.line);
  text_printf(out, "\n");
}

// Prints the kernel's definition unless an equal one stands already; its C name. `generic`: the prepared emitter.
static const char *define_kernel(KernelBook *book, const Step *step, Emitter *generic) {
  Arena *arena = book->program->arena;
  Text key = {.arena = book->scratch};
  print_signature(generic, "", &key);
  const int known = names_get(&book->by_text, text_str(&key));
  if (known >= 0) return book->names.at[known];
  const char *name = name_unique(arena, &book->taken, arena_printf(arena, "k_%s", step->kernel.name));
  names_set(&book->by_text, arena_strdup(arena, text_str(&key)), book->names.len);
  vec_push(arena, &book->names, name);
  Text body = {.arena = book->scratch};
  Emitter e;
  prepare(&e, book->scratch, book->program, &step->kernel, false, &body);
  print_comment(step, book->out);
  print_signature(&e, name, book->out);
  return name;
}

// The number of blocks, threads or columns to launch.
static const char *work_text(Arena *arena, const Program *p, const Kernel *k) {
  Extent work = extent_fixed(1);
  const int n = k->kind == KERNEL_FLAT ? k->n_dims : k->n_grid;
  for (int d = n > MAX_GRID ? n - MAX_GRID : 0; d < n; d++) work = extent_mul(work, k->dims[d].extent);
  return name_extent(arena, p, work);
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

void emit_launch(KernelBook *book, const Step *step, const char *loop, int indent, Text *out) {
  static const char *const macro[] = {"LAUNCH_FLAT", "LAUNCH_ROWS", "LAUNCH_LANES"};
  const Program *p = book->program;
  const Kernel *k = &step->kernel;
  arena_reset(book->scratch);
  Text body = {.arena = book->scratch};
  Emitter e;
  prepare(&e, book->scratch, p, k, true, &body);
  const char *name = define_kernel(book, step, &e);
  text_printf(out, "%*s%s(%s, %s", indent, "", is_map(k) ? "LAUNCH_MAP" : macro[k->kind], name, work_text(book->scratch, p, k));
  if (is_map(k)) text_printf(out, ", %s", row_text(book->scratch, p, k));
  PointerParam pointers[MAX_POINTERS];
  const int n = pointer_params(&e, pointers);
  for (int i = 0; i < n; i++) {
    const int t = pointers[i].tensor;
    text_printf(out, ", t.%s", tensor_at(&e, t)->c_name);
    const Extent stride = k->tensors.at[t].loop_stride;
    if (loop != NULL && stride.fixed != 0) text_printf(out, " + %s * %s", loop, name_extent(book->scratch, p, stride));
  }
  for (int i = 0; i < e.params.len; i++) text_printf(out, ", %s", e.params.at[i].value);
  text_printf(out, ");\n");
}
