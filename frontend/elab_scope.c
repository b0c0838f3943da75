// Definitions, frames and names; errors with the calls that led to them; the limits on work.
#include <math.h>

#include "elab.h"
#include "../ir/suggest.h"

enum { MAX_CALL_NOTES = 4 };

// ---- errors

static bool in_prelude(const Frame *frame) { return frame->def != NULL && frame->def->prelude; }

// Notes on the calls written in the model file that `frame` runs in, the innermost first.
static void note_calls(const Frame *frame) {
  int notes = 0;
  for (; frame != NULL && frame->up != NULL && notes < MAX_CALL_NOTES; frame = frame->up) {
    if (in_prelude(frame->up) || frame->call.line == 0) continue;
    diag_note(frame->call, "in this use of '%s'", frame->def->ast->name);
    notes++;
  }
}

static void report(Elab *e, const Frame *frame, Loc loc, const char *format, va_list args) {
  diag_error(loc, "%s", arena_vprintf(e->arena, format, args));
  note_calls(frame);
  e->stopped |= diag_gave_up() || ++e->errors >= MAX_MISTAKES;
}

void elab_error(Elab *e, Loc loc, const char *format, ...) {
  va_list args;
  va_start(args, format);
  report(e, e->frame, loc, format, args);
  va_end(args);
}

void elab_error_at_call(Elab *e, Loc loc, const char *format, ...) {
  va_list args;
  va_start(args, format);
  report(e, e->frame != NULL ? e->frame->up : NULL, loc, format, args);
  va_end(args);
}

void elab_warning(Elab *e, Loc loc, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (e->warnings++ < MAX_WARNINGS) diag_warning(loc, "%s", arena_vprintf(e->arena, format, args));
  va_end(args);
}

// Layers and the model say where an operator stands; what is inside of an op only says how it is computed.
Loc elab_site(const Elab *e, Loc loc) {
  if (e->frame == NULL) return loc;
  const AstDefKind kind = e->frame->def->ast->kind;
  const bool inside = kind == AST_OP || kind == AST_OPAQUE || kind == AST_FN || kind == AST_OPTIMIZER;
  return inside || in_prelude(e->frame) ? e->frame->site : loc;
}

bool elab_work(Elab *e, Loc loc, int64_t amount) {
  if (e->stopped) return false;
  e->work += amount;
  if (e->work <= MAX_WORK) return true;
  elab_error(e, loc, "the model takes too long to elaborate: more than %d expressions, elements of lists and calls",
             MAX_WORK);
  e->stopped = true;
  return false;
}

bool elab_step(Elab *e, Loc loc) {
  if (e->stopped) return false;
  if (++e->steps <= MAX_STEPS) return true;
  elab_error(e, loc, "the model takes too long to elaborate: more than %d statements were executed", MAX_STEPS);
  e->stopped = true;
  return false;
}

// ---- definitions

Def *elab_find_def(Elab *e, const char *name) {
  const bool prelude_only = e->frame != NULL && in_prelude(e->frame);
  int id = prelude_only ? -1 : names_get(&e->file_defs, name);
  if (id < 0) id = names_get(&e->prelude_defs, name);
  return id < 0 ? NULL : &e->defs.at[id];
}

// ---- frames

Frame *elab_push(Elab *e, const Def *def, Loc call) {
  Frame *frame = e->spare;
  if (frame == NULL) frame = NEW(e->arena, Frame);
  else e->spare = frame->up;
  const Frame old = *frame; // its arrays are used again
  *frame = (Frame){.serial = e->n_frames++, .up = e->frame, .def = def, .call = call, .layer = "", .prefix = ""};
  memcpy(&frame->vars, &old.vars, sizeof old.vars);
  memcpy(&frame->dims, &old.dims, sizeof old.dims);
  memcpy(&frame->tied, &old.tied, sizeof old.tied);
  frame->vars.len = frame->dims.len = frame->tied.len = 0;
  if (e->frame != NULL) {
    frame->site = elab_site(e, call);
    frame->layer = e->frame->layer;
    frame->prefix = e->frame->prefix;
    frame->shard = e->frame->shard;
  }
  e->frame = frame;
  return frame;
}

void elab_pop(Elab *e) {
  Frame *frame = e->frame;
  e->frame = frame->up;
  frame->up = e->spare;
  e->spare = frame;
}

// ---- names

// Most names differ in their first letter: looking at it first makes the search of a frame quick.
static bool same(const char *a, const char *b) { return a[0] == b[0] && str_eq(a, b); }

Var *elab_find_var(Frame *frame, const char *name) {
  for (int i = frame->vars.len - 1; i >= 0; i--)
    if (same(frame->vars.at[i].name, name)) return &frame->vars.at[i];
  return NULL;
}

DimVar *elab_find_dim(Frame *frame, const char *name, bool pack) {
  for (int i = 0; i < frame->dims.len; i++)
    if (frame->dims.at[i].pack == pack && same(frame->dims.at[i].name, name)) return &frame->dims.at[i];
  return NULL;
}

void elab_set(Elab *e, const char *name, Value value, Loc loc) {
  Var *var = elab_find_var(e->frame, name);
  if (var != NULL) *var = (Var){.name = name, .value = value, .loc = loc};
  else vec_push(e->arena, &e->frame->vars, (Var){.name = name, .value = value, .loc = loc});
}

void elab_set_dim(Elab *e, DimVar dim) { vec_push(e->arena, &e->frame->dims, dim); }

static bool constant(const Elab *e, const char *name, Value *out) {
  if (str_eq(name, "true")) *out = value_bool(true);
  else if (str_eq(name, "false")) *out = value_bool(false);
  else if (str_eq(name, "training")) *out = value_bool(e->training);
  else if (str_eq(name, "inf")) *out = value_real(INFINITY);
  else if (str_eq(name, "pi")) *out = value_real(3.14159265358979323846);
  else return false;
  return true;
}

static bool run_scalar(Elab *e, const char *name, Value *out) {
  for (int i = 0; i < RUN_NAMED; i++) {
    if (e->init != NULL || !str_eq(run_scalar_name((RunScalar)i), name) || !(i == RUN_LR ? e->run_lr : e->run_step))
      continue;
    *out = (Value){.kind = VALUE_RUN, .run = {expr_run(e->arena, (RunScalar)i), 1}};
    return true;
  }
  return false;
}

static Value default_value(Elab *e, const char *name, Loc loc) {
  Var *var = elab_find_var(e->frame, name);
  if (var->busy) {
    elab_error(e, loc, "the default of '%s' depends on itself", name);
    return value_error();
  }
  var->busy = true;
  const Value value = elab_expr(e, var->pending);
  var = elab_find_var(e->frame, name);
  var->pending = NULL;
  var->busy = false;
  return var->value = value;
}

static Value pack_value(Elab *e, const DimVar *dim) {
  Value *item = NEW_ARRAY(e->arena, Value, dim->n);
  for (int i = 0; i < dim->n; i++) item[i] = value_int(dim->dim[i].extent);
  return (Value){.kind = VALUE_LIST, .list = {item, dim->n}};
}

static const char *kind_name(AstDefKind kind) {
  static const char *const name[] = {"an op",     "a layer",         "an optimizer", "a function",
                                     "the model", "the train block", "an opaque op"};
  return name[kind];
}

// Whether a value exists only while the program runs.
static bool is_later(Value v) {
  if (v.kind == VALUE_TENSOR || v.kind == VALUE_RUN) return true;
  for (int i = 0; v.kind == VALUE_LIST && i < v.list.len; i++)
    if (is_later(v.list.at[i])) return true;
  return false;
}

static Value var_value(Elab *e, const char *name, Loc loc) {
  const Var *var = elab_find_var(e->frame, name);
  const Value value = var->pending != NULL ? default_value(e, name, loc) : var->value;
  if (e->init != e->frame || !is_later(value)) return value;
  elab_error(e, loc, "'%s' %s, which an initialiser cannot read: parameters and states are made before the first step",
             name, value.kind == VALUE_RUN ? "is known only at run time" : "holds a tensor");
  return value_error();
}

bool elab_is_known(Elab *e, const char *name) {
  Value value;
  return elab_find_var(e->frame, name) != NULL || elab_find_dim(e->frame, name, false) != NULL ||
         elab_find_dim(e->frame, name, true) != NULL || constant(e, name, &value) || run_scalar(e, name, &value) ||
         elab_find_def(e, name) != NULL;
}

Value elab_name(Elab *e, const char *name, Loc loc) {
  Value value;
  if (elab_find_var(e->frame, name) != NULL) return var_value(e, name, loc);
  const DimVar *dim = elab_find_dim(e->frame, name, false);
  if (dim != NULL) return value_int(dim->dim[0].extent);
  dim = elab_find_dim(e->frame, name, true);
  if (dim != NULL) return pack_value(e, dim);
  if (constant(e, name, &value) || run_scalar(e, name, &value)) return value;
  const Def *def = elab_find_def(e, name);
  if (def != NULL) {
    elab_error(e, loc, "'%s' is %s, which is used as a value here: a call is written %s(...)", name,
               kind_name(def->ast->kind), name);
    if (!def->prelude) diag_note(def->ast->loc, "'%s' is defined here", name);
  } else {
    elab_error(e, loc, "unknown name '%s'%s", name, elab_suggest(e, name));
  }
  return value_error();
}

// ---- suggestions

const char *elab_suggest_among(Elab *e, const char *word, const char *const *candidates, int n) {
  const char *nearest = suggest_nearest(word, candidates, n);
  return nearest != NULL ? arena_printf(e->arena, "; did you mean '%s'?", nearest) : "";
}

static const char *const always[] = {"true", "false",  "training", "inf",     "pi",    "view", "len",
                                     "list", "range",  "rank",     "extent",  "floor", "str",  "idx",
                                     "npy",  "text",   "tokens", "lines",   "select", "stop",     "uniform", "normal"};

const char *elab_suggest(Elab *e, const char *name) {
  VEC(const char *) all = {0};
  const bool prelude_only = in_prelude(e->frame);
  for (int i = 0; i < e->frame->vars.len; i++) vec_push(e->arena, &all, e->frame->vars.at[i].name);
  for (int i = 0; i < e->frame->dims.len; i++) vec_push(e->arena, &all, e->frame->dims.at[i].name);
  for (int i = 0; i < e->defs.len; i++) {
    const Def *def = &e->defs.at[i];
    if (def->ast->name == NULL || (prelude_only && !def->prelude) || def->ast->kind == AST_MODEL) continue;
    vec_push(e->arena, &all, def->ast->name);
  }
  for (size_t i = 0; i < sizeof always / sizeof *always; i++) vec_push(e->arena, &all, always[i]);
  for (int fn = 0; fn < FN_COUNT; fn++)
    if (elab_scalar_fn(e, fn_name((Fn)fn)) >= 0) vec_push(e->arena, &all, fn_name((Fn)fn));
  return elab_suggest_among(e, name, all.at, all.len);
}
