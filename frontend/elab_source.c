// Data sources of train blocks: idx("train.gz", test = "test.gz"), text("book.txt", test = 0.1, shift = 1), ...
#include <math.h>
#include <stddef.h>

#include "elab.h"

enum { // bits: forms of sources
  ARRAY = 1 << FORM_ARRAY,
  WINDOWS = 1 << FORM_WINDOWS,
  LINES = 1 << FORM_LINES,
  ALL = ARRAY | WINDOWS | LINES
};

static const struct {
  const char *name;
  SourceForm form;
} kinds[] = {
    {"idx", FORM_ARRAY}, {"npy", FORM_ARRAY}, {"text", FORM_WINDOWS}, {"tokens", FORM_WINDOWS}, {"lines", FORM_LINES}};

typedef struct Setter {
  const char *name;
  unsigned forms; // that take it
  bool (*set)(Elab *e, const AstExpr *call, Loc loc, Value v, DataSource *source);
  // without `set`, a whole number: its member of DataSource, what it is called, the least it may be
  size_t member;
  const char *what;
  int64_t least;
} Setter;

static bool wants(Elab *e, const AstExpr *call, Loc loc, const char *what, Value v) {
  if (!is_error(v)) elab_error(e, loc, "'%s' takes %s, found %s", call->text, what, value_describe(e, v));
  return false;
}

static bool set_train(Elab *e, const AstExpr *call, Loc loc, Value v, DataSource *source) {
  if (v.kind != VALUE_STRING || v.string[0] == '\0') return wants(e, call, loc, "the name of a file", v);
  source->train_file = v.string;
  return true;
}

static bool set_test(Elab *e, const AstExpr *call, Loc loc, Value v, DataSource *source) {
  if (v.kind == VALUE_STRING && v.string[0] != '\0') {
    source->test_file = v.string;
    return true;
  }
  if (source->form == FORM_ARRAY) return wants(e, call, loc, "the name of a file", v);
  if (v.kind != VALUE_NUMBER || !(v.number > 0 && v.number < 1))
    return wants(e, call, loc,
                 "for 'test' the name of a file, or a number between 0 and 1, the part of the file to hold out", v);
  source->held_out = v.number;
  return true;
}

static bool set_vocabulary(Elab *e, const AstExpr *call, Loc loc, Value v, DataSource *source) {
  if (str_eq(call->text, "text")) {
    elab_error(e, loc, "the tokens of a text are its bytes: only 'tokens' and 'lines' take a vocabulary");
    return false;
  }
  if (v.kind != VALUE_STRING || v.string[0] == '\0') return wants(e, call, loc, "the name of a file", v);
  source->vocabulary = v.string;
  return true;
}

static const Setter setters[] = {
    {"train", ALL, set_train, 0, NULL, 0}, // these two may also stand without a name
    {"test", ALL, set_test, 0, NULL, 0},
    {"shift", WINDOWS, NULL, offsetof(DataSource, shift), "the shift of the windows", 0},
    {"stride", WINDOWS, NULL, offsetof(DataSource, stride), "the stride of the windows", 1},
    {"vocabulary", WINDOWS | LINES, set_vocabulary, 0, NULL, 0},
    {"begin", LINES, NULL, offsetof(DataSource, begin), "a token", 0},
    {"end", LINES, NULL, offsetof(DataSource, end), "a token", 0},
    {"pad", LINES, NULL, offsetof(DataSource, pad), "a token", 0},
    {"unknown", LINES, NULL, offsetof(DataSource, unknown), "a token", 0},
};
enum { N_SETTERS = sizeof setters / sizeof *setters, N_PLACES = 2 };

static bool set(Elab *e, const AstExpr *call, const Setter *setter, const AstArg *arg, DataSource *source) {
  const Loc loc = arg->value->loc;
  const Value v = elab_expr(e, arg->value);
  if (setter->set != NULL) return setter->set(e, call, loc, v, source);
  return value_whole(e, loc, v, setter->what, NULL, setter->least, (int64_t *)((char *)source + setter->member));
}

static int find_form(const char *name) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (str_eq(kinds[i].name, name)) return (int)kinds[i].form;
  return -1;
}

// "'train', 'test'"
static const char *names_of_arguments(Elab *e, int form) {
  const char *names = "";
  for (int s = 0; s < N_SETTERS; s++)
    if (setters[s].forms >> form & 1)
      names = arena_printf(e->arena, "%s%s'%s'", names, names[0] == '\0' ? "" : ", ", setters[s].name);
  return names;
}

static int find_setter(Elab *e, const AstExpr *call, int place, int form) {
  const AstArg *arg = &call->args.at[place];
  if (arg->name == NULL && place < N_PLACES) return place;
  if (arg->name == NULL) {
    elab_error(e, arg->value->loc, "'%s' takes %d arguments without a name, found more; its arguments are %s",
               call->text, N_PLACES, names_of_arguments(e, form));
    return -1;
  }
  for (int s = 0; s < N_SETTERS; s++)
    if (str_eq(setters[s].name, arg->name) && setters[s].forms >> form & 1) return s;
  elab_error(e, arg->loc, "'%s' has no argument named '%s'; its arguments are %s", call->text, arg->name,
             names_of_arguments(e, form));
  return -1;
}

bool elab_is_source(const char *name) { return find_form(name) >= 0; }

Value elab_source(Elab *e, const AstExpr *call) {
  const int form = find_form(call->text);
  bool given[N_SETTERS] = {false};
  if (!elab_in_train_block(e)) {
    elab_error(e, call->loc, "'%s' stands only in train { data NAME = %s(...); }", call->text, call->text);
    return value_error();
  }
  DataSource *source = NEW(e->arena, DataSource);
  *source =
      (DataSource){.kind = call->text, .scale = 1, .form = (SourceForm)form, .begin = -1, .end = -1, .unknown = -1};
  for (int i = 0; i < call->args.len; i++) {
    const AstArg *arg = &call->args.at[i];
    const int s = find_setter(e, call, i, form);
    if (s < 0) return value_error();
    if (given[s]) {
      elab_error(e, arg->name != NULL ? arg->loc : arg->value->loc, "the argument '%s' is given twice",
                 setters[s].name);
      return value_error();
    }
    given[s] = true;
    if (!set(e, call, &setters[s], arg, source)) return value_error();
  }
  if (!given[0]) {
    elab_error(e, call->loc, "'%s' needs the name of a file: %s(\"train\", test = \"test\")", call->text, call->text);
    return value_error();
  }
  return (Value){.kind = VALUE_SOURCE, .source = source};
}

static Value mismatch(Elab *e, Loc loc, AstOp op, Value a, Value b) {
  elab_error(e, loc, "'%s' does not work between %s and %s", op_symbol(op), value_describe(e, a), value_describe(e, b));
  return value_error();
}

// value = raw * scale + offset.
Value elab_source_binary(Elab *e, Loc loc, AstOp op, Value a, Value b) {
  const bool left = a.kind == VALUE_SOURCE;
  const Value other = left ? b : a;
  if (other.kind != VALUE_NUMBER || isinf(other.number)) return mismatch(e, loc, op, a, b);
  DataSource *source = NEW(e->arena, DataSource);
  *source = *(left ? a.source : b.source);
  const double x = other.number;
  if (op == AST_ADD) {
    source->offset += x;
  } else if (op == AST_SUB) {
    if (!left) source->scale = -source->scale;
    source->offset = left ? source->offset - x : x - source->offset;
  } else if (op == AST_MUL || (op == AST_DIV && left)) {
    if (op == AST_DIV && x == 0) {
      elab_error(e, loc, "division by zero");
      return value_error();
    }
    source->scale = op == AST_MUL ? source->scale * x : source->scale / x;
    source->offset = op == AST_MUL ? source->offset * x : source->offset / x;
  } else {
    return mismatch(e, loc, op, a, b);
  }
  return (Value){.kind = VALUE_SOURCE, .source = source};
}
