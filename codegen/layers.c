#include "layers.h"

#include "repeats.h"

enum { REPEAT_WORTH = 20, NAMES_IN_PATH = 3 };
enum { LINE_WIDTH = 180, WORTH = 60, PLACE_WIDTH = 9, NAMES_IN_LINE = 4, FRAME = 5, RECORD_FRAME = 20 };

Layers layers_new(const Program *program) {
  Arena *arena = program->arena;
  Layers l = {.arena = arena, .scratch = arena_new(), .program = program};
  l.kind_of.arena = l.class_of.arena = l.paths.arena = arena;
  return l;
}

// ---- grouping ----------------------------------------------------------------------------------------------------

// The length of the first n components of a path; 0 if it has fewer.
static size_t prefix_length(const char *path, int n) {
  const char *end = path;
  if (*path == '\0') return 0;
  for (int i = 0; i < n; i++) {
    if (i > 0 && *end++ != '.') return 0;
    end += strcspn(end, ".");
  }
  return (size_t)(end - path);
}

static bool in_layer(const Printed *step, const char *prefix, size_t len) {
  return strncmp(step->scope, prefix, len) == 0 && (step->scope[len] == '.' || step->scope[len] == '\0');
}

// The length of the kind's name in a component of so many characters.
static size_t kind_length(const char *component, size_t len) {
  while (len > 1 && component[len - 1] >= '0' && component[len - 1] <= '9') len--;
  return len;
}

const char *layers_kind_name(Arena *arena, const char *component) {
  return arena_strndup(arena, component, kind_length(component, strlen(component)));
}

int layers_kind_of(const Layers *l, const char *kind) { return names_get(&l->kind_of, kind); }

static int kind_of_path(Layers *l, const char *path) {
  const char *dot = strrchr(path, '.'), *kind = layers_kind_name(l->arena, dot != NULL ? dot + 1 : path);
  int known = names_get(&l->kind_of, kind);
  if (known >= 0) return known;
  known = l->kinds.len;
  names_set(&l->kind_of, kind, known);
  vec_push(l->arena, &l->kinds, (LayerKind){.name = kind});
  return known;
}

const char *layers_rest(const char *layer, const char *path) {
  const size_t len = strlen(path);
  if (strncmp(layer, path, len) != 0 || (layer[len] != '.' && layer[len] != '\0')) return layer;
  return layer[len] == '.' ? layer + len + 1 : "";
}

const char *layers_path_kind(Arena *arena, const char *path) {
  Text kind = {.arena = arena};
  for (const char *at = path; *at != '\0';) {
    const size_t len = strcspn(at, ".");
    if (at > path) text_char(&kind, '.');
    text_append(&kind, at, kind_length(at, len));
    at += len + (at[len] == '.');
  }
  return text_str(&kind);
}

bool layers_is_repeat(const Layers *l, const LayerRun *run) { return l->kinds.at[run->kind].repeat; }

// What is the same in parts that share code, as text. Inside a repeat the numbers of layers differ.
static void describe_part(const Layers *l, const LayerPart *part, const LayerRun *run, Text *key) {
  const Printed *step = part->step;
  const bool repeat = run == NULL || layers_is_repeat(l, run);
  if (part->run != NULL && (repeat || layers_is_repeat(l, part->run))) text_printf(key, "|%d", part->run->class);
  else if (part->run != NULL) text_printf(key, "|%d %s", part->run->class, strrchr(part->run->path, '.') + 1);
  else
    text_printf(key, "|%d%c%s %s", step->skeleton, step->where != NULL ? '@' : ' ',
                repeat ? layers_path_kind(l->scratch, step->layer) : layers_rest(step->layer, run->path), step->name);
}

static int class_of_run(Layers *l, LayerRun *run) {
  Text key = {.arena = l->scratch};
  text_printf(&key, "%d %d", l->lists.len,
              run->kind); // procedures share no code: the names of functions say when they run
  for (int i = 0; i < run->parts.len; i++) describe_part(l, &run->parts.at[i], run, &key);
  int known = names_get(&l->class_of, text_str(&key));
  if (known < 0) {
    known = l->classes.len;
    names_set(&l->class_of, arena_strdup(l->arena, text_str(&key)), known);
    vec_push(l->arena, &l->classes, (LayerClass){.kind = run->kind});
  }
  LayerClass *class = &l->classes.at[known];
  for (int r = 0; r < class->runs.len; r++) run->again += str_eq(class->runs.at[r]->path, run->path);
  vec_push(l->arena, &class->runs, run);
  return known;
}

// ---- repeats -----------------------------------------------------------------------------------------------------

// Of the layer that a part belongs to, the component that tells it from its neighbours; NULL: it belongs to none.
static const char *component_of(const Layers *l, const LayerPart *part, size_t prefix) {
  const char *path = part->run != NULL ? part->run->path : part->step->layer;
  if (part->run != NULL && layers_is_repeat(l, part->run)) return NULL;
  if (strlen(path) <= prefix) return NULL;
  const size_t len = prefix + (prefix > 0) + strcspn(path + prefix + (prefix > 0), ".");
  return arena_strndup(l->arena, path, len);
}

typedef VEC(const char *) Components;

static Components components_of(const Layers *l, const LayerPart *parts, int n, size_t prefix) {
  Components all = {NULL, 0, 0};
  Names seen = {.arena = l->scratch};
  for (int i = 0; i < n; i++) {
    const char *component = component_of(l, &parts[i], prefix);
    if (component == NULL || names_get(&seen, component) >= 0) continue;
    names_set(&seen, component, 1);
    vec_push(l->arena, &all, component);
  }
  return all;
}

// The row of the kind with which it has most layers in common, -1: none.
static int row_in_common(const Layers *l, const LayerKind *kind, const Components *components) {
  int *votes = NEW_ARRAY(l->scratch, int, kind->rows.len + 1), most = 0;
  for (int i = 0; i < components->len; i++) {
    const int row = names_get(&kind->row_of, components->at[i]);
    if (row >= 0) votes[row]++;
  }
  for (int r = 1; r < kind->rows.len; r++)
    if (votes[r] > votes[most]) most = r;
  return votes[most] > 0 ? most : -1;
}

// "multihead3, dense5, dense6"
static const char *path_of_repeat(const Layers *l, const LayerKind *kind, const Components *components) {
  Text path = {.arena = l->arena};
  if (components->len == 0) text_printf(&path, "repeat %d", kind->rows.len + 1);
  for (int i = 0; i < components->len && i < NAMES_IN_PATH; i++)
    text_printf(&path, "%s%s", i > 0 ? ", " : "", components->at[i]);
  return text_str(&path);
}

// Whether each of the repeats has a row of its own in the kind, which most of them have already.
static bool fits_kind(const Layers *l, const LayerKind *kind, const Components *repeats, int n) {
  bool *taken = NEW_ARRAY(l->scratch, bool, kind->rows.len + 1);
  int known = 0;
  for (int i = 0; i < n; i++) {
    const int row = row_in_common(l, kind, &repeats[i]);
    if (row < 0) continue;
    if (taken[row]) return false;
    taken[row] = true;
    known++;
  }
  return 2 * known > n;
}

static int kind_of_repeats(Layers *l, const Components *repeats, int n) {
  for (int k = 0; k < l->kinds.len; k++)
    if (l->kinds.at[k].repeat && fits_kind(l, &l->kinds.at[k], repeats, n)) return k;
  vec_push(l->arena, &l->kinds, (LayerKind){.name = "block", .repeat = true, .row_of.arena = l->arena});
  return l->kinds.len - 1;
}

static void enter_row(Layers *l, LayerRun *run, const Components *components) {
  LayerKind *kind = &l->kinds.at[run->kind];
  int row = row_in_common(l, kind, components);
  if (row < 0) {
    row = kind->rows.len;
    vec_push(l->arena, &kind->rows, path_of_repeat(l, kind, components));
  }
  for (int i = 0; i < components->len; i++)
    if (names_get(&kind->row_of, components->at[i]) < 0) names_set(&kind->row_of, components->at[i], row);
  run->path = kind->rows.at[row];
}

static void push_repeats(Layers *l, const LayerParts *parts, Repeat found, size_t prefix, LayerParts *out) {
  Components *components = NEW_ARRAY(l->arena, Components, found.times);
  for (int i = 0; i < found.times; i++)
    components[i] = components_of(l, parts->at + found.start + i * found.period, found.period, prefix);
  const int kind = kind_of_repeats(l, components, found.times);
  for (int i = 0; i < found.times; i++) {
    LayerRun *run = NEW(l->arena, LayerRun);
    run->kind = kind;
    enter_row(l, run, &components[i]);
    for (int k = 0; k < found.period; k++)
      vec_push(l->arena, &run->parts, parts->at[found.start + i * found.period + k]);
    run->class = class_of_run(l, run);
    vec_push(l->arena, out, (LayerPart){NULL, run});
  }
}

static int lines_of(const LayerParts *parts);

typedef struct Keys {
  int *key, *lines; // by part
  bool *call;
} Keys;

static Keys keys_of(const Layers *l, const LayerParts *parts) {
  Names known = {.arena = l->scratch};
  Keys keys = {NEW_ARRAY(l->scratch, int, parts->len), NEW_ARRAY(l->scratch, int, parts->len),
               NEW_ARRAY(l->scratch, bool, parts->len)};
  for (int i = 0; i < parts->len; i++) {
    const LayerPart *part = &parts->at[i];
    Text text = {.arena = l->scratch};
    describe_part(l, part, NULL, &text);
    const int like = names_get(&known, text_str(&text));
    if (like < 0) names_set(&known, text_str(&text), i);
    keys.key[i] = like < 0 ? i : like;
    keys.call[i] = part->run != NULL;
    keys.lines[i] = part->run != NULL ? lines_of(&part->run->parts) : part->step->lines + (part->step->where != NULL);
  }
  return keys;
}

static void fold_range(Layers *l, const LayerParts *parts, const Keys *keys, int from, int to, size_t prefix,
                       LayerParts *out) {
  const Repeat found = repeats_find(l->scratch, keys->key, keys->lines, keys->call, from, to, REPEAT_WORTH);
  if (found.times == 0) {
    for (int i = from; i < to; i++) vec_push(l->arena, out, parts->at[i]);
    return;
  }
  fold_range(l, parts, keys, from, found.start, prefix, out);
  push_repeats(l, parts, found, prefix, out);
  fold_range(l, parts, keys, found.start + found.times * found.period, to, prefix, out);
}

static void fold(Layers *l, LayerParts *parts, size_t prefix) {
  const Keys keys = keys_of(l, parts);
  LayerParts folded = {NULL, 0, 0};
  fold_range(l, parts, &keys, 0, parts->len, prefix, &folded);
  *parts = folded;
  arena_reset(l->scratch);
}

// ---- layers ------------------------------------------------------------------------------------------------------

static void group(Layers *l, const Printed *steps, int n, int depth, LayerParts *parts) {
  for (int i = 0; i < n;) {
    const size_t len = prefix_length(steps[i].scope, depth + 1);
    if (len == 0) {
      vec_push(l->arena, parts, (LayerPart){&steps[i++], NULL});
      continue;
    }
    int end = i + 1;
    while (end < n && in_layer(&steps[end], steps[i].scope, len)) end++;
    LayerRun *run = NEW(l->arena, LayerRun);
    run->path = arena_strndup(l->arena, steps[i].scope, len);
    names_set(&l->paths, run->path, 1);
    run->kind = kind_of_path(l, run->path);
    group(l, steps + i, end - i, depth + 1, &run->parts);
    run->class = class_of_run(l, run);
    vec_push(l->arena, parts, (LayerPart){NULL, run});
    i = end;
  }
  fold(l, parts, n > 0 ? prefix_length(steps[0].scope, depth) : 0);
}

const LayerParts *layers_add(Layers *l, const PrintedList *steps) {
  LayerParts *parts = NEW(l->arena, LayerParts);
  group(l, steps->at, steps->len, 0, parts);
  vec_push(l->arena, &l->lists, parts);
  return parts;
}

// ---- deciding ----------------------------------------------------------------------------------------------------

// A layer in the name of a tensor.
typedef struct Owner {
  int kind;
  size_t end; // where what follows it begins
  int rest;   // number of the text that follows
} Owner;

typedef struct Owners {
  int n, name; // name: number of the whole one
  Owner *at;
} Owners;

// Texts, each counted once in an estimate.
typedef struct Counted {
  int len, cap;
  int *last; // by number: the estimate that has counted it last
} Counted;

typedef struct Estimate { // lines of the program, with the kinds that are shared now
  Layers *l;
  Numbers texts;
  Owners *owners; // by tensor
  int round;      // which estimate it is, from 1
  int lines;
  int last;         // class of the call that the last line is, -1: it is none
  Counted *members; // by kind: what its records hold
  Counted *inside;  // by kind: the layers inside whose records they point to
  Counted outside;  // tensors that no record has: a line each
  int *path_seen;   // by number of a path: the estimate and kind in which it was counted last
} Estimate;

static Owners owners_of(Estimate *e, const char *name) {
  const Layers *l = e->l;
  const size_t len = strlen(name);
  Owners owners = {.name = numbers_of(&e->texts, name, len)};
  int dots = 0;
  for (const char *c = name; *c != '\0'; c++) dots += *c == '.';
  owners.at = NEW_ARRAY(l->scratch, Owner, dots);
  for (const char *at = name, *dot; (dot = strchr(at, '.')) != NULL; at = dot + 1) {
    const int kind = names_get_len(&l->kind_of, at, kind_length(at, (size_t)(dot - at)));
    const size_t end = (size_t)(dot + 1 - name);
    if (kind >= 0) owners.at[owners.n++] = (Owner){kind, end, numbers_of(&e->texts, dot + 1, len - end)};
  }
  return owners;
}

static Estimate estimate_new(Layers *l) {
  Estimate e = {.l = l, .texts.arena = l->scratch};
  e.members = NEW_ARRAY(l->scratch, Counted, l->kinds.len);
  e.inside = NEW_ARRAY(l->scratch, Counted, l->kinds.len);
  e.owners = NEW_ARRAY(l->scratch, Owners, l->program->tensors.len);
  for (int t = 0; t < l->program->tensors.len; t++) e.owners[t] = owners_of(&e, l->program->tensors.at[t].name);
  Numbers paths = {.arena = l->scratch};
  for (int c = 0; c < l->classes.len; c++)
    for (int r = 0; r < l->classes.at[c].runs.len; r++) {
      LayerRun *run = l->classes.at[c].runs.at[r];
      run->number = numbers_of(&paths, run->path, strlen(run->path));
    }
  e.path_seen = NEW_ARRAY(l->scratch, int, paths.len);
  return e;
}

static void count(const Estimate *e, Counted *counted, int text) {
  if (text >= counted->cap) {
    int *last = NEW_ARRAY(e->l->scratch, int, 2 * e->texts.len);
    if (counted->cap > 0) memcpy(last, counted->last, sizeof *last * (size_t)counted->cap);
    counted->last = last;
    counted->cap = 2 * e->texts.len;
  }
  if (counted->last[text] == e->round) return;
  counted->last[text] = e->round;
  counted->len++;
}

// The kind in whose records a tensor is: that of the innermost shared layer in its name, else that of the function at hand.
static void count_tensor(Estimate *e, int tensor, int kind) {
  const Owners *owners = &e->owners[tensor];
  const Owner *innermost = NULL;
  size_t own = 0; // where what follows the layer of the function at hand begins
  for (int i = 0; i < owners->n; i++) {
    if (!e->l->kinds.at[owners->at[i].kind].shared) continue;
    innermost = &owners->at[i];
    if (innermost->kind == kind) own = innermost->end;
  }
  if (innermost == NULL) {
    count(e, kind < 0 ? &e->outside : &e->members[kind], owners->name);
    return;
  }
  count(e, &e->members[innermost->kind], innermost->rest);
  if (kind < 0 || innermost->kind == kind) return;
  const char *name = e->l->program->tensors.at[tensor].name;
  count(e, &e->inside[kind], numbers_of(&e->texts, name + own, innermost->end - own));
}

static void count_tensors(Estimate *e, const Printed *step, int kind) {
  for (int i = 0; i < step->pieces.len; i++)
    if (step->pieces.at[i].kind == PIECE_TENSOR) count_tensor(e, step->pieces.at[i].tensor, kind);
}

// A layer that does nothing but call those inside is no function: its calls can be a loop over neighbours.
static bool is_hollow(const Layers *l, const LayerParts *parts) {
  for (int i = 0; i < parts->len; i++)
    if (parts->at[i].run == NULL || !layers_is_function(l, parts->at[i].run)) return false;
  return true;
}

static bool is_function(const Layers *l, const LayerClass *class) {
  const LayerKind *kind = &l->kinds.at[class->kind];
  return kind->shared && class->runs.len > 1 && (kind->repeat || !is_hollow(l, &class->runs.at[0]->parts));
}

static void estimate_parts(Estimate *e, const LayerParts *parts, int around) {
  for (int i = 0; i < parts->len; i++) {
    const LayerPart *part = &parts->at[i];
    if (part->run == NULL) {
      e->lines += part->step->lines + (part->step->where != NULL);
      e->last = -1;
      count_tensors(e, part->step, around);
      continue;
    }
    LayerClass *class = &e->l->classes.at[part->run->class];
    const bool shared = is_function(e->l, class);
    if (shared) {
      e->lines += around >= 0 || e->last != part->run->class; // a loop over neighbours is one line
      e->last = part->run->class;
      if (class->uses++ > 0) continue;
    }
    estimate_parts(e, &part->run->parts, shared ? class->kind : around);
    if (shared) e->last = part->run->class;
  }
}

bool layers_is_function(const Layers *l, const LayerRun *run) { return is_function(l, &l->classes.at[run->class]); }

// Functions, and the records of their instances.
static int overhead(const Estimate *e) {
  const Layers *l = e->l;
  int lines = 0;
  for (int k = 0; k < l->kinds.len; k++) {
    if (!l->kinds.at[k].shared) continue;
    const int now = e->round * l->kinds.len + k;
    int paths = 0;
    for (int c = 0; c < l->classes.len; c++) {
      const LayerClass *class = &l->classes.at[c];
      if (class->kind != k || !is_function(l, class)) continue;
      lines += FRAME;
      for (int r = 0; r < class->runs.len; r++) {
        int *seen = &e->path_seen[class->runs.at[r]->number];
        paths += *seen != now;
        *seen = now;
      }
    }
    if (paths == 0) continue;
    const int width = 40 + PLACE_WIDTH * e->members[k].len;
    lines += RECORD_FRAME + e->members[k].len / NAMES_IN_LINE + paths * (1 + width / LINE_WIDTH);
    lines += 2 * e->inside[k].len;
  }
  return lines;
}

static int estimate(Estimate *e) {
  const Layers *l = e->l;
  e->round++;
  e->lines = e->outside.len = 0;
  e->last = -1;
  for (int k = 0; k < l->kinds.len; k++) e->members[k].len = e->inside[k].len = 0;
  for (int c = 0; c < l->classes.len; c++) l->classes.at[c].uses = 0;
  for (int i = 0; i < l->lists.len; i++, e->last = -1) estimate_parts(e, l->lists.at[i], -1);
  return e->lines + e->outside.len + overhead(e);
}

static int lines_of(const LayerParts *parts) {
  int lines = 0;
  for (int i = 0; i < parts->len; i++)
    lines += parts->at[i].run != NULL ? lines_of(&parts->at[i].run->parts) : parts->at[i].step->lines;
  return lines;
}

// One kind after the other, those with the most lines first: a kind is shared if that saves lines worth a function to look
// up, and stays shared if it still does beside those that came after it. Ties are broken by the order of the model.
void layers_decide(Layers *l) {
  int *lines = NEW_ARRAY(l->scratch, int, l->kinds.len), *order = NEW_ARRAY(l->scratch, int, l->kinds.len);
  for (int c = 0; c < l->classes.len; c++)
    for (int r = 0; r < l->classes.at[c].runs.len; r++)
      lines[l->classes.at[c].kind] += lines_of(&l->classes.at[c].runs.at[r]->parts);
  Estimate e = estimate_new(l);
  int now = estimate(&e);
  for (int round = 0; round < l->kinds.len; round++) {
    int most = 0;
    for (int k = 1; k < l->kinds.len; k++)
      if (lines[k] > lines[most]) most = k;
    lines[most] = -1;
    order[round] = most;
    l->kinds.at[most].shared = true;
    const int then = estimate(&e);
    if (then + WORTH > now) l->kinds.at[most].shared = false;
    else now = then;
  }
  for (int round = 0; round < l->kinds.len; round++) {
    LayerKind *kind = &l->kinds.at[order[round]];
    if (!kind->shared) continue;
    kind->shared = false;
    const int without = estimate(&e);
    if (now + WORTH > without) now = without;
    else kind->shared = true;
  }
  estimate(&e); // the uses that stand
  arena_free(l->scratch);
}
