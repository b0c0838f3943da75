#include "words.h"

bool word_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

Words words_new(const char *file, const char *text, size_t len, Problems *problems) {
  return (Words){.problems = problems, .file = file, .next = text, .stop = text + len};
}

static void skip_blanks(Words *w) {
  while (w->at < w->end && word_is_blank(*w->at)) w->at++;
}

bool words_next_line(Words *w) {
  while (w->next < w->stop && !problems_are_many(w->problems)) {
    const char *newline = memchr(w->next, '\n', (size_t)(w->stop - w->next)), *end = newline != NULL ? newline : w->stop;
    const char *comment = memchr(w->next, '#', (size_t)(end - w->next));
    w->number++;
    w->line = w->at = w->next;
    w->end = comment != NULL ? comment : end;
    w->next = newline != NULL ? newline + 1 : w->stop;
    while (w->end > w->line && word_is_blank(w->end[-1])) w->end--;
    skip_blanks(w);
    if (w->at < w->end) return true;
  }
  return false;
}

Loc words_place(const Words *w, const char *from, const char *to) {
  return (Loc){.file = w->file, .line = w->number, .col = (int)(from - w->line) + 1, .end_col = (int)(to - w->line) + 1};
}

const char *words_take(Words *w, Loc *loc) {
  const char *from = w->at;
  while (w->at < w->end && !word_is_blank(*w->at)) w->at++;
  *loc = words_place(w, from, w->at > from ? w->at : from + 1);
  const char *word = arena_strndup(w->problems->arena, from, (size_t)(w->at - from));
  skip_blanks(w);
  return word;
}

bool words_take_head(Words *w, const char *kind, int version, const char *begins) {
  Loc of_kind, of_version;
  const char *word = words_take(w, &of_kind), *number = words_take(w, &of_version);
  if (!str_eq(word, kind)) problem_add(w->problems, of_kind, "%s with '%s %d'", begins, kind, version);
  else if (!str_eq(number, arena_printf(w->problems->arena, "%d", version)) || w->at < w->end)
    problem_add(w->problems, of_version, "expected version %d of %s", version, kind);
  else return true;
  return false;
}

void words_miss_head(const Words *w, const char *kind, int version, const char *begins) {
  problem_add(w->problems, (Loc){.file = w->file, .line = 1, .col = 1}, "%s with '%s %d'", begins, kind, version);
}
