#include "layers.h"

#include <stdlib.h>

enum { LINE_WIDTH = 180, WORTH = 100, PLACE_WIDTH = 9, NAMES_IN_LINE = 4, FRAME = 5, RECORD_FRAME = 20 };

Layers layers_new(const Program *program) {
  Arena *arena = program->arena;
  Layers l = {.arena = arena, .program = program};
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

const char *layers_kind_name(Arena *arena, const char *component) {
  size_t len = strlen(component);
  while (len > 1 && component[len - 1] >= '0' && component[len - 1] <= '9') len--;
  return arena_strndup(arena, component, len);
}

int layers_kind_of(const Layers *l, const char *kind) { return names_get(&l->kind_of, kind); }

static int kind_of_path(Layers *l, const char *path) {
  const char *dot = strrchr(path, '.'), *kind = layers_kind_name(l->arena, dot != NULL ? dot + 1 : path);
  int known = names_get(&l->kind_of, kind);
  if (known >= 0) return known;
  known = l->kinds.len;
  names_set(&l->kind_of, kind, known);
  vec_push(l->arena, &l->kinds, (LayerKind){kind, false});
  return known;
}

const char *layers_rest(const char *layer, const char *path) {
  const size_t len = strlen(path);
  if (strncmp(layer, path, len) != 0 || (layer[len] != '.' && layer[len] != '\0')) return layer;
  return layer[len] == '.' ? layer + len + 1 : "";
}

static int class_of_run(Layers *l, LayerRun *run) {
  Text key = {.arena = l->arena};
  text_printf(&key, "%d %d", l->lists.len,
              run->kind); // procedures share no code: the names of functions say when they run
  for (int i = 0; i < run->parts.len; i++) {
    const LayerPart *part = &run->parts.at[i];
    if (part->run != NULL) text_printf(&key, "|%d %s", part->run->class, strrchr(part->run->path, '.') + 1);
    else
      text_printf(&key, "|%d%c%s %s", part->step->skeleton, part->step->where != NULL ? '@' : ' ',
                  layers_rest(part->step->layer, run->path), part->step->name);
  }
  int known = names_get(&l->class_of, text_str(&key));
  if (known < 0) {
    known = l->classes.len;
    names_set(&l->class_of, text_str(&key), known);
    vec_push(l->arena, &l->classes, (LayerClass){.kind = run->kind});
  }
  LayerClass *class = &l->classes.at[known];
  for (int r = 0; r < class->runs.len; r++) run->again += str_eq(class->runs.at[r]->path, run->path);
  vec_push(l->arena, &class->runs, run);
  return known;
}

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
}

const LayerParts *layers_add(Layers *l, const PrintedList *steps) {
  LayerParts *parts = NEW(l->arena, LayerParts);
  group(l, steps->at, steps->len, 0, parts);
  vec_push(l->arena, &l->lists, parts);
  return parts;
}

// ---- deciding ----------------------------------------------------------------------------------------------------

typedef struct Estimate { // lines of the program, with the kinds that are shared now
  Layers *l;
  int lines;
  Names *members; // by kind: what its records hold
} Estimate;

// The kind in whose records a tensor is: that of the innermost shared layer in its name, else that of the function at hand.
static void count_tensor(const Estimate *e, const char *name, int kind) {
  const char *rest = name;
  for (const char *at = name, *dot; (dot = strchr(at, '.')) != NULL; at = dot + 1) {
    const int owner =
        names_get(&e->l->kind_of, layers_kind_name(e->l->arena, arena_strndup(e->l->arena, at, (size_t)(dot - at))));
    if (owner < 0 || !e->l->kinds.at[owner].shared) continue;
    kind = owner;
    rest = dot + 1;
  }
  names_set(&e->members[kind], rest, 1);
}

static void count_tensors(const Estimate *e, const Printed *step, int kind) {
  for (int i = 0; i < step->pieces.len && kind >= 0; i++)
    if (step->pieces.at[i].kind == PIECE_TENSOR)
      count_tensor(e, e->l->program->tensors.at[step->pieces.at[i].tensor].name, kind);
}

// A layer that does nothing but call those inside is no function: its calls can be a loop over neighbours.
static bool is_hollow(const Layers *l, const LayerParts *parts) {
  for (int i = 0; i < parts->len; i++)
    if (parts->at[i].run == NULL || !layers_is_function(l, parts->at[i].run)) return false;
  return true;
}

static bool is_function(const Layers *l, const LayerClass *class) {
  return l->kinds.at[class->kind].shared && class->runs.len > 1 && !is_hollow(l, &class->runs.at[0]->parts);
}

static void estimate_parts(Estimate *e, const LayerParts *parts, int around) {
  const LayerRun *before = NULL;
  for (int i = 0; i < parts->len; i++) {
    const LayerPart *part = &parts->at[i];
    const LayerRun *last = before;
    before = part->run;
    if (part->run == NULL) {
      e->lines += part->step->lines + (part->step->where != NULL);
      count_tensors(e, part->step, around);
      continue;
    }
    LayerClass *class = &e->l->classes.at[part->run->class];
    const bool shared = is_function(e->l, class);
    if (shared && class->uses++ > 0) {
      e->lines += last == NULL || last->class != part->run->class; // a loop over neighbours is one line
      continue;
    }
    estimate_parts(e, &part->run->parts, shared ? class->kind : around);
  }
}

bool layers_is_function(const Layers *l, const LayerRun *run) { return is_function(l, &l->classes.at[run->class]); }

// Functions, and the records of their instances.
static int overhead(const Estimate *e) {
  const Layers *l = e->l;
  int lines = 0;
  for (int k = 0; k < l->kinds.len; k++) {
    if (!l->kinds.at[k].shared) continue;
    Names paths = {.arena = l->arena};
    for (int c = 0; c < l->classes.len; c++) {
      const LayerClass *class = &l->classes.at[c];
      if (class->kind != k || !is_function(l, class)) continue;
      lines += FRAME;
      for (int r = 0; r < class->runs.len; r++) names_set(&paths, class->runs.at[r]->path, 1);
    }
    if (paths.len == 0) continue;
    const int width = 40 + PLACE_WIDTH * e->members[k].len;
    lines += RECORD_FRAME + e->members[k].len / NAMES_IN_LINE + paths.len * (1 + width / LINE_WIDTH);
  }
  return lines;
}

static int estimate(Layers *l) {
  Estimate e = {l, 0, NEW_ARRAY(l->arena, Names, l->kinds.len)};
  for (int k = 0; k < l->kinds.len; k++) e.members[k].arena = l->arena;
  for (int c = 0; c < l->classes.len; c++) l->classes.at[c].uses = 0;
  for (int i = 0; i < l->lists.len; i++) estimate_parts(&e, l->lists.at[i], -1);
  return e.lines + overhead(&e);
}

static int lines_of(const LayerParts *parts) {
  int lines = 0;
  for (int i = 0; i < parts->len; i++)
    lines += parts->at[i].run != NULL ? lines_of(&parts->at[i].run->parts) : parts->at[i].step->lines;
  return lines;
}

// One kind after the other, those with the most lines first: a kind is shared if that saves lines worth a function to look
// up. Ties are broken by the order of the model.
void layers_decide(Layers *l) {
  int *lines = NEW_ARRAY(l->arena, int, l->kinds.len);
  for (int c = 0; c < l->classes.len; c++)
    for (int r = 0; r < l->classes.at[c].runs.len; r++)
      lines[l->classes.at[c].kind] += lines_of(&l->classes.at[c].runs.at[r]->parts);
  int now = estimate(l);
  for (int round = 0; round < l->kinds.len; round++) {
    int most = 0;
    for (int k = 1; k < l->kinds.len; k++)
      if (lines[k] > lines[most]) most = k;
    lines[most] = -1;
    l->kinds.at[most].shared = true;
    const int then = estimate(l);
    if (then + WORTH > now) l->kinds.at[most].shared = false;
    else now = then;
  }
  estimate(l); // the uses that stand
}
