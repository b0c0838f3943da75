// Built-in functions that are no scalar functions: len, list, range, rank, extent, str.
#include "elab.h"

typedef struct Builtin {
  const char *name;
  int least, most; // arguments
  const char *arg[2];
  Value (*call)(Elab *e, const AstExpr *call, const Value *args, int n);
} Builtin;

static Value wants(Elab *e, Loc loc, const char *name, const char *what, Value v) {
  if (!is_error(v)) elab_error(e, loc, "'%s' takes %s, found %s", name, what, value_describe(e, v));
  return value_error();
}

static Value call_len(Elab *e, const AstExpr *call, const Value *args, int n) {
  (void)n;
  if (args[0].kind == VALUE_STRING) return value_int((int64_t)strlen(args[0].string));
  if (value_len(args[0]) >= 0) return value_int(value_len(args[0]));
  return wants(e, call->args.at[0].loc, "len", "a list, a range or a string", args[0]);
}

static Value call_range(Elab *e, const AstExpr *call, const Value *args, int n) {
  const int64_t least = -(int64_t)MAX_INTEGER;
  Value range = {.kind = VALUE_RANGE};
  int64_t *first = n == 2 ? &range.range.lo : &range.range.hi;
  if (!value_whole(e, call->args.at[0].loc, args[0], "the argument of 'range'", NULL, least, first))
    return value_error();
  if (n == 2 && !value_whole(e, call->args.at[1].loc, args[1], "the argument of 'range'", NULL, least, &range.range.hi))
    return value_error();
  return range;
}

// list(v, n): a list as it is, of n elements; anything else n times.
static Value call_list(Elab *e, const AstExpr *call, const Value *args, int n) {
  int64_t len;
  (void)n;
  if (!value_whole(e, call->args.at[1].loc, args[1], "the length of a list", NULL, 0, &len)) return value_error();
  if (value_len(args[0]) >= 0) {
    if (value_len(args[0]) == len) return args[0];
    elab_error(e, call->loc, "expected a number or a list of %lld elements, found %s", (long long)len,
               value_describe(e, args[0]));
    return value_error();
  }
  if (!elab_work(e, call->loc, len)) return value_error();
  Value *at = NEW_ARRAY(e->arena, Value, len);
  for (int64_t i = 0; i < len; i++) at[i] = args[0];
  return (Value){.kind = VALUE_LIST, .list = {at, (int)len}};
}

// The rank of a tensor; that of a number is 0.
static Value call_rank(Elab *e, const AstExpr *call, const Value *args, int n) {
  (void)n;
  if (args[0].kind == VALUE_NUMBER || args[0].kind == VALUE_BOOL) return value_int(0);
  if (args[0].kind != VALUE_TENSOR) return wants(e, call->args.at[0].loc, "rank", "a tensor", args[0]);
  return value_int(graph_tensor(e->graph, args[0].tensor)->rank);
}

static Value call_extent(Elab *e, const AstExpr *call, const Value *args, int n) {
  (void)n;
  int64_t i;
  if (args[0].kind != VALUE_TENSOR) return wants(e, call->args.at[0].loc, "extent", "a tensor", args[0]);
  const Tensor *t = graph_tensor(e->graph, args[0].tensor);
  const Loc loc = call->args.at[1].loc;
  if (!value_whole(e, loc, args[1], "the dimension", NULL, -(int64_t)MAX_INTEGER, &i)) return value_error();
  if (i >= -t->rank && i < t->rank) return value_int(t->extent[i < 0 ? i + t->rank : i]);
  elab_error(e, loc, "dimension %lld is out of range: the tensor %s has %d, counted from 0 (or from the end: -1)",
             (long long)i, shape_text(e, args[0].tensor), t->rank);
  return value_error();
}

static Value call_str(Elab *e, const AstExpr *call, const Value *args, int n) {
  (void)n;
  if (args[0].kind == VALUE_NUMBER || args[0].kind == VALUE_BOOL || args[0].kind == VALUE_STRING)
    return value_string(value_text(e, args[0]));
  return wants(e, call->args.at[0].loc, "str", "a number, true, false or a string", args[0]);
}

static Value call_random(Elab *e, const AstExpr *call, const Value *args, int n) {
  (void)args, (void)n;
  elab_error(e, call->loc, "'%s' varies by element: it stands only in index statements and initialisers", call->text);
  return value_error();
}

static const Builtin builtins[] = {
    {"view", 0, 0, {NULL, NULL}, NULL},
    {"len", 1, 1, {"list", NULL}, call_len},
    {"list", 2, 2, {"value", "length"}, call_list},
    {"range", 1, 2, {"from", "to"}, call_range},
    {"rank", 1, 1, {"x", NULL}, call_rank},
    {"extent", 2, 2, {"x", "dim"}, call_extent},
    {"str", 1, 1, {"value", NULL}, call_str},
    {"uniform", 0, 2, {NULL, NULL}, call_random},
    {"normal", 0, 2, {NULL, NULL}, call_random},
};

static const Builtin *find(const char *name) {
  for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
    if (str_eq(builtins[i].name, name)) return &builtins[i];
  return NULL;
}

bool elab_is_builtin(const char *name) { return find(name) != NULL || elab_is_source(name); }

Value elab_builtin(Elab *e, const AstExpr *call) {
  if (elab_is_source(call->text)) return elab_source(e, call);
  const Builtin *b = find(call->text);
  const int n = call->args.len;
  Value args[2] = {{0}, {0}};
  if (b->call == NULL) return elab_view(e, call);
  if (b->call == call_random) return call_random(e, call, args, n);
  if (n < b->least || n > b->most) {
    const char *range = b->least == b->most ? arena_printf(e->arena, "%d", b->least)
                                            : arena_printf(e->arena, "%d or %d", b->least, b->most);
    elab_error(e, call->loc, "'%s' takes %s argument%s, found %d", b->name, range, b->most == 1 ? "" : "s", n);
    return value_error();
  }
  for (int i = 0; i < n; i++) {
    const AstArg *arg = &call->args.at[i];
    if (arg->name != NULL && (b->arg[i] == NULL || !str_eq(arg->name, b->arg[i]))) {
      elab_error(e, arg->loc, "'%s' has no argument named '%s' here; its arguments are '%s'%s%s%s", b->name, arg->name,
                 b->arg[0], b->most > 1 ? " and '" : "", b->most > 1 ? b->arg[1] : "", b->most > 1 ? "'" : "");
      return value_error();
    }
    args[i] = elab_expr(e, arg->value);
    if (is_error(args[i])) return value_error();
  }
  return b->call(e, call, args, n);
}
