#include "emit_procedure.h"

#include "names.h"

enum { FUNCTION_STEPS = 24 }; // a longer procedure is divided into functions, by layers

// A step, or a call of a function that layers share.
typedef struct Entry {
  const Printed *step;
  const LayerRun *call; // or NULL
  int n;                // calls of neighbours, from this one on
  bool down;            // towards the front of the array
} Entry;
typedef VEC(Entry) Entries;

// The function at hand that layers share: its steps, of every layer.
typedef struct Sharing {
  const LayerClass *class;
  const ProcedureText *procedure;
  Record *record;
  Entries *of_run; // by run
  int *row;
  int at; // position in the entries
} Sharing;

ProcedureWriter procedure_writer_new(const Program *p, Names *taken) {
  ProcedureWriter w = {.program = p, .arena = p->arena, .taken = taken};
  w.layers = layers_new(p);
  w.printer = printer_new(p);
  w.functions.arena = p->arena;
  w.used = NEW_ARRAY(p->arena, bool, p->tensors.len);
  w.stands_for = NEW_ARRAY(p->arena, const char *, p->tensors.len);
  Names first = {.arena = p->arena};
  for (int t = 0; t < p->tensors.len; t++) {
    const ProgTensor *tensor = &p->tensors.at[t];
    if (!tensor->shown) continue;
    const char *place =
        arena_printf(p->arena, "%d %lld %d", tensor->buffer, (long long)tensor->offset, tensor->type == TYPE_REAL);
    if (names_get(&first, place) < 0) names_set(&first, place, t);
    w.stands_for[t] = p->tensors.at[names_get(&first, place)].c_name;
  }
  return w;
}

// ---- entries -----------------------------------------------------------------------------------------------------

static void flatten(const ProcedureWriter *w, const LayerParts *parts, Entries *entries) {
  for (int i = 0; i < parts->len; i++) {
    const LayerPart *part = &parts->at[i];
    if (part->run != NULL && !layers_is_function(&w->layers, part->run)) flatten(w, &part->run->parts, entries);
    else vec_push(w->arena, entries, (Entry){part->step, part->run, 1, false});
  }
}

// Rows in the order in which the program comes to the layers.
static void make_rows(ProcedureWriter *w, const LayerParts *parts) {
  for (int i = 0; i < parts->len; i++) {
    const LayerRun *run = parts->at[i].run;
    if (run == NULL) continue;
    if (layers_is_function(&w->layers, run)) {
      Record **record = &w->record[run->kind];
      if (*record == NULL)
        *record = record_new(w->program, &w->printer.tensors, w->taken, w->layers.kinds.at[run->kind].name,
                             !layers_is_repeat(&w->layers, run));
      record_row(*record, run->path, run->again);
    }
    make_rows(w, &run->parts);
  }
}

// ---- pieces ------------------------------------------------------------------------------------------------------

// A dotted name without the layers it begins with.
static const char *without_layers(const ProcedureWriter *w, const char *name, size_t len) {
  const char *text = arena_strndup(w->arena, name, len), *rest = text;
  for (const char *dot = strchr(text, '.'); dot != NULL; dot = strchr(dot + 1, '.'))
    if (names_get_len(&w->layers.paths, text, (size_t)(dot - text)) >= 0) rest = dot + 1;
  return rest;
}

static bool is_word(char c) {
  return c == '_' || c == '.' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

// The number of a value is an affair of the layer it belongs to: "relu.2.pack" gives "relu.pack".
static const char *without_numbers(const ProcedureWriter *w, const char *name) {
  Text text = {.arena = w->arena};
  for (const char *part = name; *part != '\0';) {
    const size_t len = strcspn(part, ".");
    if (strspn(part, "0123456789") < len) text_printf(&text, "%s%.*s", text.len > 0 ? "." : "", (int)len, part);
    part += len + (part[len] == '.');
  }
  return text.len > 0 ? text_str(&text) : name;
}

// "multihead3.dense1.w" gives "multihead.dense1.w": in a repeat the number of a layer is that of the row.
static const char *without_first_number(const ProcedureWriter *w, const char *name) {
  const size_t len = strcspn(name, ".");
  const char *layer = arena_strndup(w->arena, name, len);
  if (names_get(&w->layers.paths, layer) < 0) return name;
  return arena_printf(w->arena, "%s%s", layers_kind_name(w->arena, layer), name + len);
}

static bool is_repeat(const ProcedureWriter *w, const Sharing *s) {
  return layers_is_repeat(&w->layers, s->class->runs.at[0]);
}

static void print_comment(const ProcedureWriter *w, const Sharing *s, const char *comment, Text *out) {
  for (const char *c = comment; *c != '\0';) {
    const char *end = c;
    while (is_word(*end)) end++;
    if (end == c) end++;
    const char *word = arena_strndup(w->arena, c, (size_t)(end - c));
    if (is_repeat(w, s)) word = without_numbers(w, without_first_number(w, word));
    else if (is_word(*c)) word = without_layers(w, word, strlen(word));
    text_printf(out, "%s", word);
    c = end;
  }
}

static const char *member_name(const ProcedureWriter *w, const Sharing *s, int run, int tensor) {
  const char *name = w->program->tensors.at[tensor].name, *path = s->class->runs.at[run]->path;
  const size_t len = strlen(path);
  if (is_repeat(w, s)) return name_identifier(w->arena, without_numbers(w, without_first_number(w, name)));
  const bool own = strncmp(name, path, len) == 0 && name[len] == '.';
  const char *rest = own ? name + len + 1 : without_numbers(w, without_layers(w, name, strlen(name)));
  return name_identifier(w->arena, rest);
}

// The name that most layers would give.
static const char *common_name(const ProcedureWriter *w, const Sharing *s, const int *tensors) {
  const int n = s->class->runs.len;
  Names votes = {.arena = w->arena};
  const char *best = NULL;
  int most = 0;
  for (int r = 0; r < n; r++) {
    const char *name = member_name(w, s, r, tensors[r]);
    const int count = names_get(&votes, name) < 0 ? 1 : names_get(&votes, name) + 1;
    names_set(&votes, name, count);
    if (count > most) most = count, best = name;
  }
  return best;
}

static const Piece *piece_of(const Sharing *s, int run, int piece) {
  return &s->of_run[run].at[s->at].step->pieces.at[piece];
}

static bool all_equal(const char *const *values, int n) {
  for (int i = 1; i < n; i++)
    if (values[i] != values[0]) return false;
  return true;
}

// A tensor in the record of the layer it belongs to.
typedef struct Home {
  const Record *record;
  int row;
  size_t path; // length of the layer's path, with which the tensor's name begins
} Home;

static bool home_of(const ProcedureWriter *w, int tensor, Home *home) {
  const char *name = w->program->tensors.at[tensor].name;
  for (const char *end = strrchr(name, '.'); end != NULL;) {
    const char *path = arena_strndup(w->arena, name, (size_t)(end - name)), *dot = strrchr(path, '.');
    const char *last = dot != NULL ? dot + 1 : path;
    const int kind = names_get(&w->layers.kind_of, layers_kind_name(w->arena, last));
    home->record = kind >= 0 ? w->record[kind] : NULL;
    home->row = home->record != NULL ? names_get(&home->record->row_of, path) : -1;
    home->path = strlen(path);
    if (home->row >= 0) return true;
    end = dot != NULL ? name + (dot - path) : NULL;
  }
  return false;
}

// Tensors that belong to a layer inside are members of its record: "layer->conv_norm1->mean". NULL: they do not.
static const char *tensor_inside(ProcedureWriter *w, const Sharing *s, const int *tensors, const char *const *values) {
  const int n = s->class->runs.len;
  const bool repeat = is_repeat(w, s);
  const char *inside = NULL, **keys = NEW_ARRAY(w->arena, const char *, n);
  int *rows = NEW_ARRAY(w->arena, int, n);
  Home home = {NULL, 0, 0};
  for (int r = 0; r < n; r++) {
    const char *path = s->class->runs.at[r]->path, *name = w->program->tensors.at[tensors[r]].name;
    const size_t len = repeat ? 0 : strlen(path) + 1;
    const Record *before = home.record;
    if (!home_of(w, tensors[r], &home)) return NULL;
    if (!repeat && (home.path < len || strncmp(name, path, len - 1) != 0 || name[len - 1] != '.')) return NULL;
    const char *layer = arena_strndup(w->arena, name + len, home.path - len);
    if (repeat) layer = without_first_number(w, layer);
    if (r > 0 && (home.record != before || !str_eq(layer, inside))) return NULL;
    inside = layer;
    rows[r] = home.row;
    keys[r] = home.record->keys.at[home.row];
  }
  const ProgTensor *last = &w->program->tensors.at[tensors[n - 1]];
  const Member tensor = {.name = name_identifier(w->arena, last->name + home.path + 1),
                         .type = MEMBER_POINTER,
                         .scalar = last->type == TYPE_REAL ? TYPE_REAL : TYPE_INT};
  const Member record = {.name = name_identifier(w->arena, inside), .type = MEMBER_RECORD, .other = home.record};
  const char *member =
      record_member(w->record[layers_kind_of(&w->layers, home.record->kind)], &tensor, values, rows, n);
  return arena_printf(w->arena, "layer->%s->%s", record_member(s->record, &record, keys, s->row, n), member);
}

static const char *shared_tensor(ProcedureWriter *w, const Sharing *s, int piece) {
  const int n = s->class->runs.len;
  const char **values = NEW_ARRAY(w->arena, const char *, n);
  int *tensors = NEW_ARRAY(w->arena, int, n);
  for (int r = 0; r < n; r++) {
    tensors[r] = piece_of(s, r, piece)->tensor;
    values[r] = w->stands_for[tensors[r]];
  }
  if (all_equal(values, n)) return NULL;
  const char *inside = tensor_inside(w, s, tensors, values);
  if (inside != NULL) return inside;
  const bool real = w->program->tensors.at[tensors[0]].type == TYPE_REAL;
  const Member wish = {
      .name = common_name(w, s, tensors), .type = MEMBER_POINTER, .scalar = real ? TYPE_REAL : TYPE_INT};
  return arena_printf(w->arena, "layer->%s", record_member(s->record, &wish, values, s->row, n));
}

// Outside of what is shared: "conv_norm[3].mean". NULL: no record has it.
static const char *tensor_at_home(const ProcedureWriter *w, int tensor) {
  Home home;
  if (!home_of(w, tensor, &home)) return NULL;
  const char *member = record_find(home.record, home.row, w->stands_for[tensor]);
  return member != NULL ? arena_printf(w->arena, "%s[%d].%s", home.record->array, home.row, member) : NULL;
}

static bool is_own(const char *role) {
  return str_eq(role, "event") || str_eq(role, "stream") || str_eq(role, "division");
}

static const char *shared_number(ProcedureWriter *w, const Sharing *s, int piece) {
  const int n = s->class->runs.len;
  const char **values = NEW_ARRAY(w->arena, const char *, n);
  for (int r = 0; r < n; r++) values[r] = piece_of(s, r, piece)->text;
  if (all_equal(values, n)) return NULL;
  const Piece *first = piece_of(s, 0, piece);
  const char *role = printer_role(&w->printer, first);
  const MemberType type = first->kind == PIECE_REAL ? MEMBER_FACTOR : is_own(role) ? MEMBER_OWN : MEMBER_SIZE;
  const Member wish = {.name = str_eq(role, "event") ? role : name_identifier(w->arena, role), .type = type};
  const char *name = record_member(s->record, &wish, values, s->row, n);
  return arena_printf(w->arena, "%s->%s", type == MEMBER_OWN ? "layer" : "sizes", name);
}

// The layer of the step at hand, as of one of those that share: that of the function itself or, in a repeat, its own.
static const char *shared_scope(const ProcedureWriter *w, const Sharing *s, bool whole, int run) {
  const Printed *step = s->of_run[run].at[s->at].step;
  return !is_repeat(w, s) ? s->class->runs.at[run]->path : whole ? step->scope : step->layer;
}

// Its name, as an expression.
static const char *shared_layer(ProcedureWriter *w, const Sharing *s, bool whole) {
  const int n = s->class->runs.len;
  if (!is_repeat(w, s)) return "layer->name";
  const char **values = NEW_ARRAY(w->arena, const char *, n), **keys = NEW_ARRAY(w->arena, const char *, n);
  const Record *other = NULL;
  for (int r = 0; r < n; r++) {
    const char *path = shared_scope(w, s, whole, r), *dot = strrchr(path, '.');
    const int kind = layers_kind_of(&w->layers, layers_kind_name(w->arena, dot != NULL ? dot + 1 : path));
    const Record *record = kind >= 0 ? w->record[kind] : NULL;
    const int row = record != NULL ? names_get(&record->row_of, path) : -1;
    other = row >= 0 && (r == 0 || other == record) ? record : NULL;
    keys[r] = other != NULL ? record->keys.at[row] : NULL;
    values[r] = printer_text(&w->printer, path, strlen(path));
  }
  const char *first = values[0];
  if (all_equal(values, n)) return arena_printf(w->arena, "\"%s\"", name_in_string(w->arena, first));
  const char *name = name_identifier(w->arena, without_first_number(w, first));
  if (other != NULL) {
    const Member record = {.name = name, .type = MEMBER_RECORD, .other = other};
    return arena_printf(w->arena, "layer->%s->name", record_member(s->record, &record, keys, s->row, n));
  }
  const Member text = {.name = arena_printf(w->arena, "in_%s", name), .type = MEMBER_TEXT};
  return arena_printf(w->arena, "layer->%s", record_member(s->record, &text, values, s->row, n));
}

static void print_pieces(ProcedureWriter *w, const Sharing *s, const Printed *step, Text *out) {
  for (int i = 0; i < step->pieces.len; i++) {
    const Piece *piece = &step->pieces.at[i];
    const char *shared = NULL;
    switch (piece->kind) {
    case PIECE_TEXT: break;
    case PIECE_COMMENT:
      if (s == NULL) break;
      print_comment(w, s, piece->text, out);
      continue;
    case PIECE_TENSOR:
      shared = s != NULL ? shared_tensor(w, s, i) : tensor_at_home(w, piece->tensor);
      if (shared == NULL) w->used[piece->tensor] = true;
      break;
    case PIECE_INTEGER:
    case PIECE_REAL:
      if (s != NULL) shared = shared_number(w, s, i);
      break;
    case PIECE_NAME:
      if (s == NULL) shared = arena_printf(w->arena, "STORE(\"%s\"", name_in_string(w->arena, piece->text));
      else
        shared = arena_printf(w->arena, "STORE_OF(%s, \"%s\"", shared_layer(w, s, true),
                              name_in_string(w->arena, piece->text + strlen(shared_scope(w, s, true, 0)) + 1));
      break;
    }
    text_printf(out, "%s", shared != NULL ? shared : piece->text);
  }
}

// ---- places in the source ----------------------------------------------------------------------------------------

static const char *label_of(const ProcedureWriter *w, const Printed *step, const char *layer) {
  return layer[0] != '\0' ? arena_printf(w->arena, "%s %s", layer, step->name) : step->name;
}

static const char *shared_where(ProcedureWriter *w, const Sharing *s) {
  const int n = s->class->runs.len;
  const char **values = NEW_ARRAY(w->arena, const char *, n);
  for (int r = 0; r < n; r++) values[r] = s->of_run[r].at[s->at].step->where;
  if (all_equal(values, n)) return NULL;
  const Member wish = {.name = "where", .type = MEMBER_TEXT};
  return arena_printf(w->arena, "layer->%s", record_member(s->record, &wish, values, s->row, n));
}

// Of the step, and of those that share its code.
static void note_place(const Sharing *s, const Printed *step) {
  *step->placed = true;
  for (int r = 0; s != NULL && r < s->class->runs.len; r++) *s->of_run[r].at[s->at].step->placed = true;
}

// What works behind a wait has its place again, so that measured times are without the wait.
static void print_place(ProcedureWriter *w, const Sharing *s, const Printed *step, const Printed *before, bool waited, Text *out) {
  if (step->where == NULL) return;
  if (!waited && before != NULL && str_eq(before->layer, step->layer) && str_eq(before->name, step->name) &&
      str_eq(before->where, step->where) && before->stream == step->stream)
    return;
  note_place(s, step);
  const char *where = arena_printf(w->arena, "\"%s\"", name_in_string(w->arena, step->where));
  const char *at = step->stream == STREAM_COMM ? "AT_COMM" : "AT";
  if (before == NULL || !str_eq(before->layer, step->layer)) text_printf(out, "\n"); // a layer is a paragraph
  if (s == NULL) {
    text_printf(out, "  %s(\"%s\", %s);\n", at, name_in_string(w->arena, label_of(w, step, step->layer)), where);
    return;
  }
  const char *shared = shared_where(w, s);
  if (shared != NULL) where = shared;
  if (is_repeat(w, s) && step->layer[0] == '\0') {
    text_printf(out, "  %s(\"%s\", %s);\n", at, name_in_string(w->arena, step->name), where);
    return;
  }
  const char *layer = is_repeat(w, s) ? "" : layers_rest(step->layer, s->class->runs.at[0]->path);
  text_printf(out, "  %s_LAYER(%s, \"%s\", %s);\n", at, shared_layer(w, s, false),
              name_in_string(w->arena, label_of(w, step, layer)), where);
}

// ---- calls of what is shared -------------------------------------------------------------------------------------

static void define_function(ProcedureWriter *w, const ProcedureText *procedure, int class);

static const char *function_of(ProcedureWriter *w, const ProcedureText *procedure, const LayerRun *run) {
  if (w->layers.classes.at[run->class].function == NULL) define_function(w, procedure, run->class);
  return w->layers.classes.at[run->class].function;
}

// Before procedures are printed: these name tensors as members of records.
static void define_functions(ProcedureWriter *w, const ProcedureText *procedure, const LayerParts *parts) {
  for (int i = 0; i < parts->len; i++) {
    const LayerRun *run = parts->at[i].run;
    if (run != NULL && layers_is_function(&w->layers, run)) function_of(w, procedure, run);
    else if (run != NULL) define_functions(w, procedure, &run->parts);
  }
}

static int row_of_run(const ProcedureWriter *w, const LayerRun *run) {
  return record_row(w->record[run->kind], run->path, run->again);
}

// Calls of layers that are neighbours in their array become one entry.
static void join_calls(const ProcedureWriter *w, Entries *entries) {
  int n = 0;
  for (int i = 0; i < entries->len; i++) {
    const Entry next = entries->at[i];
    Entry *last = n > 0 ? &entries->at[n - 1] : NULL;
    if (last != NULL && last->call != NULL && next.call != NULL && last->call->class == next.call->class) {
      const int distance = row_of_run(w, next.call) - row_of_run(w, last->call);
      if ((distance == last->n && !last->down) || (distance == -last->n && (last->n == 1 || last->down))) {
        last->down = distance < 0;
        last->n++;
        continue;
      }
    }
    entries->at[n++] = next;
  }
  entries->len = n;
}

static void print_calls(ProcedureWriter *w, const ProcedureText *procedure, const Entry *entry, Text *out) {
  const char *function = function_of(w, procedure, entry->call), *array = w->record[entry->call->kind]->array;
  const int row = row_of_run(w, entry->call);
  if (entry->n == 1) text_printf(out, "  %s(&%s[%d]);\n", function, array, row);
  else if (entry->down)
    text_printf(out, "  for (long i = %d; i >= %d; i--) %s(&%s[i]);\n", row, row - entry->n + 1, function, array);
  else text_printf(out, "  for (long i = %d; i <= %d; i++) %s(&%s[i]);\n", row, row + entry->n - 1, function, array);
}

static void print_inner_call(ProcedureWriter *w, const Sharing *s, const LayerRun *run, Text *out) {
  const int n = s->class->runs.len;
  const char *function = function_of(w, s->procedure, run);
  const Record *other = w->record[run->kind];
  const char **values = NEW_ARRAY(w->arena, const char *, n);
  for (int r = 0; r < n; r++) { // the key of the row
    const LayerRun *inner = s->of_run[r].at[s->at].call;
    values[r] = other->keys.at[row_of_run(w, inner)];
  }
  const char *name =
      is_repeat(w, s) ? without_first_number(w, run->path) : run->path + strlen(s->class->runs.at[0]->path) + 1;
  if (layers_is_repeat(&w->layers, run)) name = w->layers.kinds.at[run->kind].name;
  const Member wish = {.name = name_identifier(w->arena, name), .type = MEMBER_RECORD, .other = other};
  text_printf(out, "  %s(layer->%s);\n", function, record_member(s->record, &wish, values, s->row, n));
}

static void print_entries(ProcedureWriter *w, const ProcedureText *procedure, Sharing *s, const Entry *entries, int n,
                          Text *out) {
  const Printed *before = NULL;
  bool waited = false; // since the last place
  for (int i = 0; i < n; i++) {
    const Entry *entry = &entries[i];
    if (s != NULL) s->at = i;
    if (entry->call == NULL) {
      print_place(w, s, entry->step, before, waited, out);
      if (entry->step->where != NULL) before = entry->step;
      waited = entry->step->waits || (waited && entry->step->where == NULL);
      print_pieces(w, s, entry->step, out);
      continue;
    }
    if (before != NULL) text_printf(out, "\n");
    before = NULL;
    if (s == NULL) print_calls(w, procedure, entry, out);
    else print_inner_call(w, s, entry->call, out);
  }
}

static void open_sharing(ProcedureWriter *w, Sharing *s) {
  const int n = s->class->runs.len;
  s->of_run = NEW_ARRAY(w->arena, Entries, n);
  s->row = NEW_ARRAY(w->arena, int, n);
  for (int r = 0; r < n; r++) {
    flatten(w, &s->class->runs.at[r]->parts, &s->of_run[r]);
    s->row[r] = row_of_run(w, s->class->runs.at[r]);
  }
}

static const char *without_first_line(const Text *body) {
  const char *text = text_str(body);
  return text[0] == '\n' ? text + 1 : text;
}

static void define_function(ProcedureWriter *w, const ProcedureText *procedure, int class) {
  LayerClass *c = &w->layers.classes.at[class];
  Sharing s = {.class = c, .procedure = procedure, .record = w->record[c->kind]};
  open_sharing(w, &s);
  Text body = {.arena = w->arena};
  print_entries(w, procedure, &s, s.of_run[0].at, s.of_run[0].len, &body);
  const char *text = without_first_line(&body), *kind = w->layers.kinds.at[c->kind].name;
  c->function = name_unique(w->arena, w->taken, arena_printf(w->arena, "%s_%s", procedure->name, kind));
  const char *like = name_in_comment(w->arena, c->runs.at[0]->path);
  if (is_repeat(w, &s))
    text_printf(&w->functions, "\n// %s: %d times in a row, the first time for %s\n", procedure->name, c->runs.len,
                like);
  else
    text_printf(&w->functions, "\n// %s: %d layers %s, like %s\n", procedure->name, c->runs.len,
                name_in_comment(w->arena, kind), like);
  text_printf(&w->functions, "static void %s(const %s *layer) {\n", c->function, s.record->type);
  if (strstr(text, "sizes->") != NULL)
    text_printf(&w->functions, "  const %s *const sizes = layer->sizes;\n", s.record->size_type);
  if (strstr(text, "layer->") == NULL) text_printf(&w->functions, "  (void)layer;\n");
  text_printf(&w->functions, "%s}\n", text);
}

void procedure_writer_decide(ProcedureWriter *w, ProcedureText *procedures, int n) {
  for (int i = 0; i < n; i++) procedures[i].parts = layers_add(&w->layers, &procedures[i].steps);
  layers_decide(&w->layers);
  w->record = NEW_ARRAY(w->arena, Record *, w->layers.kinds.len);
  for (int i = 0; i < n; i++) make_rows(w, procedures[i].parts);
  for (int i = 0; i < n; i++) define_functions(w, &procedures[i], procedures[i].parts);
}

// ---- procedures --------------------------------------------------------------------------------------------------

static const char *top_layer(const ProcedureWriter *w, const Entry *entry) {
  if (entry->call != NULL && layers_is_repeat(&w->layers, entry->call))
    return w->layers.kinds.at[entry->call->kind].name;
  const char *layer = entry->call != NULL ? entry->call->path : entry->step->scope;
  if (layer[0] == '\0') return entry->step->name;
  return arena_strndup(w->arena, layer, strcspn(layer, "."));
}

static void print_function(ProcedureWriter *w, const ProcedureText *procedure, const char *name, const char *what,
                           const Entry *entries, int n) {
  Text body = {.arena = w->arena};
  print_entries(w, procedure, NULL, entries, n, &body);
  text_printf(&w->functions, "\n// %s\nstatic void %s(void) {\n%s}\n", what, name, without_first_line(&body));
}

// Ends where a new layer begins, once the function is long enough.
static int function_end(const ProcedureWriter *w, const Entries *entries, int start) {
  int end = start + 1;
  while (end < entries->len) {
    const Entry *entry = &entries->at[end];
    const bool place = entry->call != NULL || entry->step->where != NULL;
    const bool boundary = place && !str_eq(top_layer(w, entry), top_layer(w, entry - 1));
    if (end - start >= FUNCTION_STEPS && boundary) break;
    if (end - start >= 3 * FUNCTION_STEPS) break;
    end++;
  }
  return end;
}

void emit_procedure(ProcedureWriter *w, const ProcedureText *procedure) {
  Entries entries = {NULL, 0, 0};
  flatten(w, procedure->parts, &entries);
  join_calls(w, &entries);
  if (entries.len <= 3 * FUNCTION_STEPS) {
    print_function(w, procedure, procedure->name, procedure->what, entries.at, entries.len);
    return;
  }
  Text calls = {.arena = w->arena};
  for (int start = 0; start < entries.len;) {
    const int end = function_end(w, &entries, start);
    const char *layer = top_layer(w, &entries.at[start]);
    const char *part = name_unique(w->arena, w->taken, arena_printf(w->arena, "%s_%s", procedure->name, layer));
    print_function(w, procedure, part,
                   arena_printf(w->arena, "%s: from %s on", procedure->name, name_in_comment(w->arena, layer)),
                   entries.at + start, end - start);
    text_printf(&calls, "  %s();\n", part);
    start = end;
  }
  text_printf(&w->functions, "\n// %s\nstatic void %s(void) {\n%s}\n", procedure->what, procedure->name,
              text_str(&calls));
}
