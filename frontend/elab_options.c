// The parameters of the model: their defaults, and what -D NAME=VALUE says instead.
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "elab.h"

enum { MAX_LIST_DEPTH = 20 };

// ---- reading values

typedef struct Reader {
  Elab *e;
  const char *at;
  int depth;
} Reader;

static bool read_value(Reader *r, Value *out);

static void skip_spaces(Reader *r) {
  while (isspace((unsigned char)*r->at)) r->at++;
}

static bool read_number(Reader *r, Value *out) {
  const char *c = r->at + (*r->at == '-' || *r->at == '+');
  if (!isdigit((unsigned char)*c)) return false;
  while (isdigit((unsigned char)*c)) c++;
  const bool is_int = *c != '.' && *c != 'e' && *c != 'E';
  char *end;
  const double number = strtod(r->at, &end);
  if (!isfinite(number) || (is_int && fabs(number) > MAX_INTEGER) || (is_int && end != c)) return false;
  r->at = end;
  *out = (Value){.kind = VALUE_NUMBER, .is_int = is_int, .number = number};
  return true;
}

static bool read_list(Reader *r, Value *out) {
  VEC(Value) items = {0};
  if (++r->depth > MAX_LIST_DEPTH) return false;
  r->at++;
  for (skip_spaces(r); *r->at != ']'; skip_spaces(r)) {
    Value item;
    if (!read_value(r, &item)) return false;
    vec_push(r->e->arena, &items, item);
    skip_spaces(r);
    if (*r->at == ',') r->at++;
    else if (*r->at != ']') return false;
  }
  r->at++;
  r->depth--;
  *out = (Value){.kind = VALUE_LIST, .list = {items.at, items.len}};
  return true;
}

// A string in quotes, or a word.
static bool read_string(Reader *r, Value *out) {
  const char quote = *r->at == '\'' || *r->at == '"' ? *r->at++ : '\0';
  const char *start = r->at;
  if (quote != '\0') r->at = strchr(start, quote);
  else
    while (isalnum((unsigned char)*r->at) || (*r->at != '\0' && strchr("_-./", *r->at) != NULL)) r->at++;
  if (r->at == NULL || (quote == '\0' && r->at == start)) {
    r->at = start;
    return false;
  }
  *out = value_string(arena_strndup(r->e->arena, start, (size_t)(r->at - start)));
  r->at += quote != '\0';
  if (quote == '\0' && (str_eq(out->string, "true") || str_eq(out->string, "false")))
    *out = value_bool(str_eq(out->string, "true"));
  return true;
}

static bool read_value(Reader *r, Value *out) {
  skip_spaces(r);
  if (*r->at == '[') return read_list(r, out);
  if (isdigit((unsigned char)*r->at) || *r->at == '-' || *r->at == '+') return read_number(r, out);
  return read_string(r, out);
}

// ---- overriding

static const char *type_word(Value v) {
  switch (v.kind) {
  case VALUE_NUMBER: return v.is_int ? "a whole number" : "a number";
  case VALUE_BOOL: return "true or false";
  case VALUE_STRING: return "a string";
  default: return "a list";
  }
}

static bool fits(Value value, Value by_default) {
  if (by_default.kind == VALUE_RANGE) return value.kind == VALUE_LIST;
  if (value.kind != by_default.kind) return false;
  return value.kind != VALUE_NUMBER || value.is_int || !by_default.is_int;
}

static Value read_define(Elab *e, const AstDecl *param, const Define *define, const Value *by_default) {
  Reader r = {.e = e, .at = define->value};
  Value value;
  const char *expected = by_default != NULL ? type_word(*by_default) : "a number, true, false, a string or a list";
  if (by_default != NULL && by_default->kind == VALUE_STRING && strpbrk(define->value, "'\"") == NULL)
    return value_string(define->value);
  const bool read = read_value(&r, &value);
  skip_spaces(&r);
  if (read && *r.at == '\0' && (by_default == NULL || fits(value, *by_default))) return value;
  diag_error((Loc){0}, "-D %s=%s: expected %s", define->name, define->value, expected);
  if (by_default != NULL)
    diag_note(param->loc, "'%s' is declared here; its default is %s", param->name, value_describe(e, *by_default));
  e->errors++;
  return value_error();
}

static const Define *find_define(const Elab *e, const char *name) {
  for (int i = e->options->defines.len - 1; i >= 0; i--) // the last one counts
    if (str_eq(e->options->defines.at[i].name, name)) return &e->options->defines.at[i];
  return NULL;
}

static bool check_names(Elab *e, const AstDef *model) {
  VEC(const char *) all = {0};
  bool sound = true;
  for (int i = 0; i < model->params.len; i++) vec_push(e->arena, &all, model->params.at[i].name);
  for (int i = 0; i < e->options->defines.len; i++) {
    const Define *define = &e->options->defines.at[i];
    bool known = false;
    for (int p = 0; p < all.len; p++) known = known || str_eq(all.at[p], define->name);
    if (known) continue;
    diag_error((Loc){0}, "-D %s=%s: the model '%s' has no parameter '%s'%s", define->name, define->value, model->name,
               define->name, elab_suggest_among(e, define->name, all.at, all.len));
    diag_note(model->loc, "the model is defined here");
    sound = false;
  }
  return sound;
}

bool elab_model_params(Elab *e, const AstDef *model) {
  bool sound = check_names(e, model);
  e->params.len = 0;
  for (int i = 0; i < model->params.len; i++) {
    const AstDecl *param = &model->params.at[i];
    const Define *define = find_define(e, param->name);
    Value value = value_error();
    if (param->has_dims) {
      elab_error(e, param->loc, "a parameter of the model is no tensor: tensors come in by 'input'");
    } else if (param->value != NULL) {
      value = elab_expr(e, param->value);
      if (define != NULL && !is_error(value)) value = read_define(e, param, define, &value);
    } else if (define != NULL) {
      value = read_define(e, param, define, NULL);
    } else {
      elab_error(e, param->loc, "the parameter '%s' of the model has no default: give it by -D %s=VALUE", param->name,
                 param->name);
    }
    sound &= !is_error(value);
    elab_set(e, param->name, value, param->loc);
    vec_push(e->arena, &e->params, value);
  }
  return sound;
}
