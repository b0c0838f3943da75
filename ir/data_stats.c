// Counts of lookups as text: read line by line, so that every mistake has its place.
#include "data_stats.h"

#include <math.h>
#include <stdlib.h>

#include "words.h"

static const double MOST_ROWS = INT32_MAX, MOST_PLACES = 1e18;

typedef struct Reader {
  Words words;
  DataStats stats;
  VEC(SpreadClass) classes; // of the table at hand, with places in place of shares
  double rows, places;      // of these
} Reader;

static bool take_keyword(Words *w, const char *keyword) {
  Loc loc;
  if (str_eq(words_take(w, &loc), keyword)) return true;
  problem_add(w->problems, loc, "expected '%s'", keyword);
  return false;
}

// A whole number from 1 on.
static bool take_count(Words *w, const char *of, double most, double *count, Loc *loc) {
  const char *word = words_take(w, loc);
  char *end;
  *count = strtod(word, &end);
  if (word[0] != '\0' && word[strspn(word, "0123456789")] == '\0' && *end == '\0' && *count >= 1 && *count <= most) return true;
  problem_add(w->problems, *loc, "expected a number of %s, from 1 to %.0f", of, most);
  return false;
}

static bool ends(Words *w) {
  Loc loc;
  if (w->at == w->end) return true;
  words_take(w, &loc);
  problem_add(w->problems, loc, "expected the end of the line");
  return false;
}

// The table that the lines before were about is complete.
static void end_table(Reader *r) {
  if (r->stats.tables.len == 0) return;
  TableStats *table = &r->stats.tables.at[r->stats.tables.len - 1];
  for (int i = 0; i < r->classes.len; i++) r->classes.at[i].share /= r->places;
  table->spread = (Spread){r->classes.at, r->classes.len};
  if (r->classes.len == 0 && table->rows < INFINITY) problem_add(r->words.problems, table->loc, "no row of the table '%s' is looked up", table->name);
  memset(&r->classes, 0, sizeof r->classes);
  r->rows = r->places = 0;
}

// table NAME N rows
static void read_table(Reader *r) {
  Words *w = &r->words;
  Loc of_word, of_rows;
  TableStats table = {0};
  end_table(r);
  words_take(w, &of_word);
  table.name = words_take(w, &table.loc);
  bool right = table.name[0] != '\0';
  if (!right) problem_add(r->words.problems, table.loc, "expected the name of a table");
  right = right && take_count(w, "rows", MOST_ROWS, &table.rows, &of_rows) && take_keyword(w, "rows") && ends(w);
  if (!right) table.rows = INFINITY; // any number may be meant
  const int before = names_get(&r->stats.numbers, table.name);
  if (before >= 0) {
    problem_add(r->words.problems, table.loc, "the table '%s' is counted twice", table.name);
    problem_note(r->words.problems, r->stats.tables.at[before].loc, "the first time is here");
  } else {
    names_set(&r->stats.numbers, table.name, r->stats.tables.len);
  }
  vec_push(r->words.problems->arena, &r->stats.tables, table);
}

// N rows M places
static void read_class(Reader *r) {
  Words *w = &r->words;
  Loc of_rows, of_places;
  SpreadClass class;
  if (!take_count(w, "rows, or 'table'", MOST_ROWS, &class.rows, &of_rows) || !take_keyword(w, "rows")) return;
  if (!take_count(w, "places", MOST_PLACES, &class.share, &of_places) || !take_keyword(w, "places") || !ends(w)) return;
  if (r->stats.tables.len == 0) {
    problem_add(w->problems, of_rows, "rows of which table? Expected 'table NAME N rows' before");
    return;
  }
  const TableStats *table = &r->stats.tables.at[r->stats.tables.len - 1];
  if (class.share < class.rows) problem_add(w->problems, of_places, "each of these rows is looked up at least once: expected %.0f places or more", class.rows);
  r->rows += class.rows;
  r->places += class.share;
  if (r->rows > table->rows) problem_add(w->problems, of_rows, "these are more rows than the table '%s' has", table->name);
  vec_push(r->words.problems->arena, &r->classes, class);
}

static void read_line(Reader *r) {
  static const char keyword[] = "table";
  const size_t n = sizeof keyword - 1, rest = (size_t)(r->words.end - r->words.at);
  if (rest >= n && memcmp(r->words.at, keyword, n) == 0 && (rest == n || word_is_blank(r->words.at[n]))) read_table(r);
  else read_class(r);
}

DataStats data_stats_read(const char *name, const char *text, size_t len, Problems *problems) {
  static const char kind[] = "data-stats", begins[] = "counts of lookups begin";
  Reader r = {.words = words_new(name, text, len, problems), .stats = {.numbers = {.arena = problems->arena}}};
  const bool any = words_next_line(&r.words);
  if (!any) words_miss_head(&r.words, kind, DATA_STATS_VERSION, begins);
  if (!any || !words_take_head(&r.words, kind, DATA_STATS_VERSION, begins)) return r.stats;
  while (words_next_line(&r.words)) read_line(&r);
  end_table(&r);
  return r.stats;
}
