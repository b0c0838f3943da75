// Diagnostics: keeps the texts of the files, prints messages with the line they are about.
#include "diag.h"

#include <stdlib.h>
#include <unistd.h>

#include "../ir/utf8.h"

enum { MAX_ERRORS = 20, MAX_WIDTH = 160, TAB = 8 };

typedef struct Source {
  const char *name, *text;
  size_t len;
} Source;
typedef struct Said {
  Loc loc;
  const char *text;
} Said;

static struct {
  Arena *arena;
  VEC(Source) sources;
  VEC(Said) said; // errors and warnings that were printed: each is printed once
  int errors;
  bool gave_up;
  bool mute; // the last error or warning was a repetition, or is held: neither are its notes printed
  bool holds;
  int errors_before; // it held
  const char *held;  // the first error since
} diag;

static Arena *diag_arena(void) {
  if (!diag.arena) diag.arena = arena_new();
  return diag.arena;
}

void diag_add_source(const char *name, const char *text, size_t len) {
  vec_push(diag_arena(), &diag.sources, (Source){arena_strdup(diag_arena(), name), text, len});
}

void diag_reset(void) {
  if (diag.arena) arena_free(diag.arena);
  memset(&diag, 0, sizeof diag);
}

int diag_errors(void) { return diag.errors; }
bool diag_gave_up(void) { return diag.gave_up; }

void diag_hold(void) {
  diag.holds = true;
  diag.errors_before = diag.errors;
  diag.held = NULL;
}

const char *diag_release(void) {
  diag.holds = false;
  diag.errors = diag.errors_before;
  diag.gave_up = false;
  return diag.held;
}

static void hold_error(const char *text) {
  diag.mute = true;
  if (diag.held == NULL) diag.held = text;
  diag.gave_up = ++diag.errors - diag.errors_before >= MAX_ERRORS;
}

static bool use_colour(void) {
  const char *no = getenv("NO_COLOR");
  return (!no || !*no) && isatty(STDERR_FILENO);
}

// The line of a place, without its end; false where the text is not known.
static bool find_line(Loc loc, const char **line, size_t *len) {
  for (int i = diag.sources.len - 1; i >= 0; i--) {
    const Source *s = &diag.sources.at[i];
    if (!str_eq(s->name, loc.file)) continue;
    const char *at = s->text, *end = s->text + s->len;
    for (int n = 1; n < loc.line && at; n++) {
      at = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
      if (at) at++;
    }
    if (!at) return false;
    const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    *line = at;
    *len = (size_t)((newline ? newline : end) - at);
    if (*len && at[*len - 1] == '\r') --*len;
    return true;
  }
  return false;
}

// The line and the caret under it. Tabs become spaces; of a long line a part around the caret is shown.
static void print_excerpt(Loc loc, const char *colour, const char *off) {
  const char *line;
  size_t len;
  if (!loc.line || !loc.file || !find_line(loc, &line, &len)) return;
  size_t col = loc.col > 0 ? (size_t)loc.col - 1 : 0; // bytes before the caret
  if (col > len) col = len;
  size_t tail = loc.end_col > loc.col ? (size_t)(loc.end_col - 1) : col + 1;
  size_t from = 0, to = len;
  if (len > MAX_WIDTH) {
    from = col > MAX_WIDTH / 2 ? col - MAX_WIDTH / 2 : 0;
    for (int k = 0; k < 3 && from > 0 && utf8_is_continuation((unsigned char)line[from]); k++) from--;
    to = from + MAX_WIDTH < len ? from + MAX_WIDTH : len;
    for (int k = 0; k < 3 && to < len && utf8_is_continuation((unsigned char)line[to]); k++) to++;
  }
  if (tail > to) tail = to;

  fprintf(stderr, "%5d | %s", loc.line, from ? "..." : "");
  // Where the columns of the screen begin for every byte of the excerpt.
  int width = 0, *screen = NEW_ARRAY(diag_arena(), int, to - from + 1);
  for (size_t i = from; i < to;) {
    size_t n = utf8_shown(line + i, to - i);
    screen[i - from] = width;
    for (size_t k = 1; k < n; k++) screen[i - from + k] = -1;
    if (line[i] == '\t') {
      do fputc(' ', stderr);
      while (++width % TAB);
    } else {
      if (n) fwrite(line + i, 1, n, stderr);
      else fputc('?', stderr);
      width++;
    }
    i += n ? n : 1;
  }
  screen[to - from] = width;
  fprintf(stderr, "%s\n      | %s", to < len ? "..." : "", from ? "   " : "");

  while (col > from && screen[col - from] < 0) col--;
  while (tail < to && screen[tail - from] < 0) tail++;
  for (int i = 0; i < screen[col - from]; i++) fputc(' ', stderr);
  fprintf(stderr, "%s^", colour);
  for (int i = screen[col - from] + 1; tail > col && i < screen[tail - from]; i++) fputc('~', stderr);
  fprintf(stderr, "%s\n", off);
}

static void print_message(Loc loc, const char *kind, const char *ansi, const char *text) {
  bool colour = use_colour();
  const char *bold = colour ? "\033[1m" : "", *tint = colour ? ansi : "", *off = colour ? "\033[0m" : "";
  fputs(bold, stderr);
  if (loc.file && loc.line) fprintf(stderr, "%s:%d:%d: ", loc.file, loc.line, loc.col);
  else fprintf(stderr, "%s: ", loc.file ? loc.file : "parcc");
  fprintf(stderr, "%s%s:%s%s ", tint, kind, off, bold);
  for (size_t len = strlen(text); len;) {
    size_t n = utf8_shown(text, len);
    if (n) fwrite(text, 1, n, stderr);
    else fputc('?', stderr);
    text += n ? n : 1;
    len -= n ? n : 1;
  }
  fprintf(stderr, "%s\n", off);
  print_excerpt(loc, tint, off);
}

static bool said_before(Loc loc, const char *text) {
  for (int i = 0; i < diag.said.len; i++) {
    const Said *s = &diag.said.at[i];
    bool same_file = s->loc.file && loc.file ? str_eq(s->loc.file, loc.file) : s->loc.file == loc.file;
    if (same_file && s->loc.line == loc.line && s->loc.col == loc.col && str_eq(s->text, text)) return true;
  }
  Loc kept = loc;
  if (loc.file) kept.file = arena_strdup(diag_arena(), loc.file);
  vec_push(diag_arena(), &diag.said, (Said){kept, text});
  return false;
}

void diag_error(Loc loc, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *text = arena_vprintf(diag_arena(), format, args);
  va_end(args);
  if (diag.holds) {
    hold_error(text);
    return;
  }
  diag.mute = diag.gave_up || said_before(loc, text);
  if (diag.mute) return;
  if (diag.errors == MAX_ERRORS) {
    fprintf(stderr, "parcc: too many errors: stopped after %d\n", MAX_ERRORS);
    diag.gave_up = diag.mute = true;
    return;
  }
  diag.errors++;
  print_message(loc, "error", "\033[31m", text);
}

void diag_warning(Loc loc, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *text = arena_vprintf(diag_arena(), format, args);
  va_end(args);
  diag.mute = diag.gave_up || said_before(loc, text);
  if (!diag.mute) print_message(loc, "warning", "\033[35m", text);
}

void diag_note(Loc loc, const char *format, ...) {
  if (diag.mute) return;
  va_list args;
  va_start(args, format);
  const char *text = arena_vprintf(diag_arena(), format, args);
  va_end(args);
  print_message(loc, "note", "\033[36m", text);
}

bool diag_problems(const Problems *problems) {
  for (int i = 0; i < problems->list.len; i++) {
    const Problem *problem = &problems->list.at[i];
    (problem->is_note ? diag_note : diag_error)(problem->loc, "%s", problem->text);
  }
  return problems->list.len > 0;
}
