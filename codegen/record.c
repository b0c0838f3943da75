#include "record.h"

#include <ctype.h>

#include "names.h"

enum { LARGEST_UNIT = 256, LINE_WIDTH = 118, TABLE_WIDTH = 180 };

// "conv_norm" gives "ConvNorm".
static const char *type_name(Arena *arena, const char *kind) {
  char *name = arena_strdup(arena, kind), *to = name;
  for (const char *from = kind; *from != '\0'; from++) {
    const bool starts = from == kind || from[-1] == '_';
    if (*from != '_') *to++ = starts ? (char)toupper((unsigned char)*from) : *from;
  }
  *to = '\0';
  return *name != '\0' ? name : "Layer";
}

Record *record_new(const Program *p, const Names *tensors, Names *taken, const char *kind, bool named) {
  Record *r = NEW(p->arena, Record);
  r->named = named;
  r->program = p;
  r->tensors = tensors;
  r->kind = kind;
  const char *type = type_name(p->arena, kind);
  r->type = name_unique(p->arena, taken, type);
  r->size_type = name_unique(p->arena, taken, arena_printf(p->arena, "%sSize", type));
  r->array = name_unique(p->arena, taken, kind);
  r->place = name_unique(p->arena, taken, arena_printf(p->arena, "place_%s", kind));
  r->row_of.arena = r->names.arena = p->arena;
  if (named) names_set(&r->names, "name", 1);
  names_set(&r->names, "sizes", 1);
  names_set(&r->names, "place", 1);
  return r;
}

int record_row(Record *r, const char *path, int again) {
  const char *key = again == 0 ? path : arena_printf(r->program->arena, "%s#%d", path, again);
  const int known = names_get(&r->row_of, key);
  if (known >= 0) return known;
  names_set(&r->row_of, key, r->rows.len);
  vec_push(r->program->arena, &r->rows, path);
  vec_push(r->program->arena, &r->keys, key);
  return r->rows.len - 1;
}

// ---- members -----------------------------------------------------------------------------------------------------

// Whether the values fit where the member holds others or nothing yet; those that are there already count.
static bool fits(const Member *m, const char *const *values, const int *rows, int n, bool same_name) {
  int equal = 0;
  for (int i = 0; i < n; i++) {
    const char *held = m->value[rows[i]];
    if (held != NULL && held != values[i]) return false;
    equal += held != NULL;
  }
  return equal > 0 || same_name;
}

static const char *unique_name(Record *r, const char *name) {
  const size_t len = strlen(name);
  const bool numbered = len > 0 && name[len - 1] >= '0' && name[len - 1] <= '9';
  const char *id = name;
  for (int n = 2; names_get(&r->names, id) >= 0; n++)
    id = arena_printf(r->program->arena, numbered ? "%s_%d" : "%s%d", name, n);
  names_set(&r->names, id, 1);
  return id;
}

const char *record_member(Record *r, const Member *wish, const char *const *values, const int *rows, int n) {
  Arena *arena = r->program->arena;
  const size_t len = strlen(wish->name);
  Member *found = NULL;
  for (int i = 0; i < r->members.len && found == NULL; i++) {
    Member *m = &r->members.at[i];
    if (m->type != wish->type || m->scalar != wish->scalar || m->other != wish->other) continue;
    const bool same_name =
        strncmp(m->name, wish->name, len) == 0 && strspn(m->name + len, "0123456789_") == strlen(m->name + len);
    if (fits(m, values, rows, n, same_name)) found = m;
  }
  if (found == NULL) {
    Member fresh = *wish;
    fresh.name = unique_name(r, wish->name);
    fresh.value = NEW_ARRAY(arena, const char *, r->rows.len);
    vec_push(arena, &r->members, fresh);
    found = &r->members.at[r->members.len - 1];
  }
  for (int i = 0; i < n; i++) found->value[rows[i]] = values[i];
  return found->name;
}

const char *record_find(const Record *r, int row, const char *value) {
  for (int i = 0; i < r->members.len; i++)
    if (r->members.at[i].type == MEMBER_POINTER && r->members.at[i].value[row] == value) return r->members.at[i].name;
  return NULL;
}

static bool has(const Record *r, MemberType type) {
  for (int i = 0; i < r->members.len; i++)
    if (r->members.at[i].type == type) return true;
  return false;
}

static bool has_size(const Record *r) { return has(r, MEMBER_SIZE) || has(r, MEMBER_FACTOR); }

// ---- the type ----------------------------------------------------------------------------------------------------

static void declare(const Record *r, MemberType type, ScalarType scalar, const char *open, const char *star,
                    Text *out) {
  List list = {out, open, ", ", ";\n", 4, LINE_WIDTH, 0, 0};
  for (int i = 0; i < r->members.len; i++) {
    const Member *m = &r->members.at[i];
    if (m->type == type && m->scalar == scalar) list_add(&list, arena_printf(out->arena, "%s%s", star, m->name));
  }
  list_end(&list);
}

void record_print_type(const Record *r, Text *out) {
  const char *real = name_type(r->program, TYPE_REAL);
  if (r->named) text_printf(out, "\n// Layers %s: what their code differs in.\n", name_in_comment(out->arena, r->kind));
  else text_printf(out, "\n// What is done several times in a row: what each time differs in.\n");
  if (has_size(r)) {
    text_printf(out, "typedef struct %s {\n", r->size_type);
    declare(r, MEMBER_SIZE, TYPE_REAL, "  long ", "", out);
    declare(r, MEMBER_FACTOR, TYPE_REAL, arena_printf(out->arena, "  %s ", real), "", out);
    text_printf(out, "} %s;\n", r->size_type);
  }
  text_printf(out, "typedef struct %s {\n%s", r->type, r->named ? "  const char *name;\n" : "");
  if (has_size(r)) text_printf(out, "  const %s *sizes;\n", r->size_type);
  for (int i = 0; i < r->members.len; i++)
    if (r->members.at[i].type == MEMBER_RECORD)
      text_printf(out, "  const struct %s *%s;\n", r->members.at[i].other->type, r->members.at[i].name);
  declare(r, MEMBER_TEXT, TYPE_REAL, "  const char ", "*", out);
  declare(r, MEMBER_OWN, TYPE_REAL, "  long ", "", out);
  declare(r, MEMBER_POINTER, TYPE_REAL, arena_printf(out->arena, "  %s ", real), "*", out);
  declare(r, MEMBER_POINTER, TYPE_INT, "  int ", "*", out);
  text_printf(out, "} %s;\nstatic %s %s[%d];\n", r->type, r->type, r->array, r->rows.len);
}

// ---- rows --------------------------------------------------------------------------------------------------------

// Layers of one size: what one of them does not use another may fill in.
typedef struct Size {
  const char **value; // by member
} Size;

static bool join_size(const Record *r, Size *size, int row) {
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < r->members.len; i++) {
      const Member *m = &r->members.at[i];
      if ((m->type != MEMBER_SIZE && m->type != MEMBER_FACTOR) || m->value[row] == NULL) continue;
      if (pass == 1) size->value[i] = m->value[row];
      else if (size->value[i] != NULL && size->value[i] != m->value[row]) return false;
    }
  return true;
}

static int print_sizes(const Record *r, int *size_of_row, Text *out) {
  Arena *arena = out->arena;
  VEC(Size) sizes = {NULL, 0, 0};
  for (int row = 0; row < r->rows.len; row++) {
    int s = 0;
    while (s < sizes.len && !join_size(r, &sizes.at[s], row)) s++;
    size_of_row[row] = s;
    if (s < sizes.len) continue;
    vec_push(arena, &sizes, (Size){NEW_ARRAY(arena, const char *, r->members.len)});
    join_size(r, &sizes.at[s], row);
  }
  text_printf(out, "  static const %s sizes[] = {\n", r->size_type);
  for (int s = 0; s < sizes.len; s++) {
    List list = {out, "      {", ", ", "},\n", 7, TABLE_WIDTH, 0, 0};
    for (int type = MEMBER_SIZE; type <= MEMBER_FACTOR; type++)
      for (int i = 0; i < r->members.len; i++)
        if (r->members.at[i].type == (MemberType)type)
          list_add(&list, sizes.at[s].value[i] != NULL ? sizes.at[s].value[i] : "0");
    list_end(&list);
  }
  text_printf(out, "  };\n");
  return sizes.len;
}

int64_t record_place(const Program *p, int tensor) {
  const ProgTensor *t = &p->tensors.at[tensor];
  return p->buffers.at[t->buffer].offset + t->offset;
}

int64_t record_place_unit(const Program *p) {
  int64_t unit = LARGEST_UNIT;
  for (int t = 0; t < p->tensors.len; t++)
    while (p->tensors.at[t].shown && record_place(p, t) % unit != 0) unit /= 2;
  return unit;
}

static const char *place_of(const Record *r, const char *tensor, int64_t unit) {
  if (tensor == NULL) return "-1";
  return arena_printf(r->program->arena, "%lld",
                      (long long)(record_place(r->program, names_get(r->tensors, tensor)) / unit));
}

static void print_row(const Record *r, int row, int size, int64_t unit, Text *out) {
  Arena *arena = out->arena;
  List list = {out, "      {", ", ", "", 7, TABLE_WIDTH, 0, 0};
  if (r->named) list_add(&list, arena_printf(arena, "\"%s\"", name_in_string(arena, r->rows.at[row])));
  if (size >= 0) list_add(&list, arena_printf(arena, "%d", size));
  for (int type = MEMBER_RECORD; type <= MEMBER_OWN; type++)
    for (int i = 0; i < r->members.len; i++) {
      const Member *m = &r->members.at[i];
      if (m->type != (MemberType)type) continue;
      const char *value = m->value[row];
      if (type == MEMBER_RECORD)
        list_add(&list, arena_printf(arena, "%d", value != NULL ? names_get(&m->other->row_of, value) : 0));
      else if (type == MEMBER_TEXT)
        list_add(&list, value != NULL ? arena_printf(arena, "\"%s\"", name_in_string(arena, value)) : "NULL");
      else list_add(&list, value != NULL ? value : "0");
    }
  const char *brace = "{";
  for (int scalar = 0; scalar < 2; scalar++)
    for (int i = 0; i < r->members.len; i++) {
      const Member *m = &r->members.at[i];
      if (m->type != MEMBER_POINTER || (m->scalar != TYPE_REAL) != (scalar == 1)) continue;
      list_add(&list, arena_printf(arena, "%s%s", brace, place_of(r, m->value[row], unit)));
      brace = "";
    }
  text_printf(out, "%s},", *brace == '\0' ? "}" : "");
  if (!r->named) text_printf(out, " // %s", name_in_comment(arena, r->rows.at[row]));
  text_printf(out, "\n");
}

static const Member *first_pointer(const Record *r) {
  const Member *first = NULL;
  for (int i = r->members.len - 1; i >= 0; i--)
    if (r->members.at[i].type == MEMBER_POINTER &&
        (first == NULL || first->scalar != TYPE_REAL || r->members.at[i].scalar == TYPE_REAL))
      first = &r->members.at[i];
  return first;
}

static int n_pointers(const Record *r) {
  int n = 0;
  for (int i = 0; i < r->members.len; i++) n += r->members.at[i].type == MEMBER_POINTER;
  return n;
}

void record_print_places(const Record *r, int64_t unit, Text *out) {
  int *size_of_row = NEW_ARRAY(out->arena, int, r->rows.len);
  const int pointers = n_pointers(r);
  text_printf(out, "\nstatic void %s(char *arena) {\n", r->place);
  if (has_size(r)) print_sizes(r, size_of_row, out);
  text_printf(out, "  static const struct {\n%s", r->named ? "    const char *name;\n" : "");
  if (has_size(r)) text_printf(out, "    int sizes;\n");
  declare(r, MEMBER_RECORD, TYPE_REAL, "    int ", "", out);
  declare(r, MEMBER_TEXT, TYPE_REAL, "    const char ", "*", out);
  declare(r, MEMBER_OWN, TYPE_REAL, "    long ", "", out);
  if (pointers > 0)
    text_printf(out, "    long place[%d]; // in the order of %s, in units of %lld bytes\n", pointers, r->type,
                (long long)unit);
  text_printf(out, "  } row[] = {\n");
  for (int row = 0; row < r->rows.len; row++) print_row(r, row, has_size(r) ? size_of_row[row] : -1, unit, out);
  text_printf(out, "  };\n  for (long i = 0; i < %d; i++) {\n    %s *const layer = &%s[i];\n", r->rows.len, r->type,
              r->array);
  if (r->named) text_printf(out, "    layer->name = row[i].name;\n");
  if (has_size(r)) text_printf(out, "    layer->sizes = &sizes[row[i].sizes];\n");
  for (int i = 0; i < r->members.len; i++) {
    const Member *m = &r->members.at[i];
    if (m->type == MEMBER_RECORD)
      text_printf(out, "    layer->%s = &%s[row[i].%s];\n", m->name, m->other->array, m->name);
    if (m->type == MEMBER_TEXT || m->type == MEMBER_OWN)
      text_printf(out, "    layer->%s = row[i].%s;\n", m->name, m->name);
  }
  if (pointers > 0)
    text_printf(out, "    parcc_place_record(arena, %lld, row[i].place, %d, &layer->%s);\n", (long long)unit, pointers,
                first_pointer(r)->name);
  else text_printf(out, "    (void)arena;\n");
  text_printf(out, "  }\n}\n");
}
