#include "names.h"

#include <ctype.h>
#include <math.h>

#include "../ir/c_names.h"

const char *name_identifier(Arena *arena, const char *name) { return c_safe_identifier(arena, name); }

const char *name_unique(Arena *arena, Names *taken, const char *name) {
  const char *base = name_identifier(arena, name), *id = base;
  for (int n = 2; names_get(taken, id) >= 0; n++) id = arena_printf(arena, "%s%d", base, n);
  names_set(taken, id, 1);
  return id;
}

const char *name_upper(Arena *arena, const char *name) {
  char *id = arena_strdup(arena, name);
  for (char *c = id; *c != '\0'; c++) *c = (char)toupper((unsigned char)*c);
  return id;
}

const char *name_in_string(Arena *arena, const char *text) {
  Text out = {.arena = arena};
  for (; *text != '\0'; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c < 32 || c > 126) {
      text_printf(&out, "\\%03o", c);
      continue;
    }
    if (c == '"' || c == '\\' || c == '?') text_char(&out, '\\');
    text_char(&out, (char)c);
  }
  return text_str(&out);
}

const char *name_in_comment(Arena *arena, const char *text) {
  char *safe = arena_strdup(arena, text);
  for (char *c = safe; *c != '\0'; c++)
    if ((unsigned char)*c < 32 || (unsigned char)*c > 126 || *c == '\\' || *c == '?') *c = '_';
  return safe;
}

const char *name_number(Arena *arena, double value, ScalarType type, bool f64) {
  if (type != TYPE_REAL) return arena_printf(arena, "%.0f", value);
  if (!f64) value = (double)(float)value; // what f32 cannot hold is 0 or infinite
  if (isinf(value)) return value < 0 ? "-INFINITY" : "INFINITY";
  if (isnan(value)) return "NAN";
  char *text = NULL;
  for (int digits = 1; digits <= 17; digits++) { // the shortest text that reads back as the same number
    text = arena_printf(arena, "%.*g", digits, value);
    double back;
    sscanf(text, "%lf", &back);
    if (f64 ? back == value : (float)back == (float)value) break;
  }
  const bool has_point = strpbrk(text, ".e") != NULL;
  return arena_printf(arena, "%s%s%s", text, has_point ? "" : ".", f64 ? (has_point ? "" : "0") : has_point ? "f" : "0f");
}

const char *name_extent(Arena *arena, const Program *p, Extent e) {
  Text text = {.arena = arena};
  if (e.block < 0 || e.fixed != 1) text_printf(&text, "%lld%s", (long long)e.fixed, e.block >= 0 ? " * " : "");
  if (e.block >= 0) text_printf(&text, "%s.len", p->blocks.at[e.block].c_name);
  for (int i = 0; i < e.n_more; i++) text_printf(&text, " * %s.len", p->blocks.at[e.more[i]].c_name);
  return text_str(&text);
}

const char *name_tensor(Arena *arena, const Program *p, int tensor) {
  const ProgTensor *t = &p->tensors.at[tensor];
  if (!t->is_part) return arena_printf(arena, "t.%s", t->c_name);
  return arena_printf(arena, "t.%s + %s", p->tensors.at[t->whole].c_name, name_extent(arena, p, t->start));
}

const char *name_type(const Program *p, ScalarType type) {
  if (type != TYPE_REAL) return "int";
  return p->model->f64 ? "double" : "float";
}

void list_add(List *l, const char *item) {
  if (l->n++ == 0) {
    l->start = l->out->len;
    text_printf(l->out, "%s%s", l->open, item);
    return;
  }
  const size_t len = strlen(item) + strlen(l->between) + 2;
  if (l->out->len - l->start + len > l->width) {
    text_printf(l->out, ",\n");
    l->start = l->out->len;
    text_printf(l->out, "%*s%s", l->indent, "", item);
  } else {
    text_printf(l->out, "%s%s", l->between, item);
  }
}

void list_end(const List *l) {
  if (l->n > 0) text_printf(l->out, "%s", l->close);
}
