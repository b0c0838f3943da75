// Counts of lookups as text: read line by line, so that every mistake has its place.
#include "data_stats.h"

#include <math.h>
#include <stdlib.h>

static const double MOST_ROWS = INT32_MAX, MOST_PLACES = 1e18;

typedef struct Reader {
  Problems *problems;
  DataStats stats;
  const char *file;
  const char *line, *at, *end; // of the line at hand, without its comment
  int number;
  bool begun, is_stats;
  VEC(SpreadClass) classes; // of the table at hand, with places in place of shares
  double rows, places;      // of these
} Reader;

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static Loc place_of(const Reader *r, const char *from, const char *to) {
  return (Loc){.file = r->file, .line = r->number, .col = (int)(from - r->line) + 1, .end_col = (int)(to - r->line) + 1};
}

// The word at hand: up to a blank. Blanks behind it are skipped.
static const char *take_word(Reader *r, Loc *loc) {
  const char *from = r->at;
  while (r->at < r->end && !is_blank(*r->at)) r->at++;
  *loc = place_of(r, from, r->at > from ? r->at : from + 1);
  const char *word = arena_strndup(r->problems->arena, from, (size_t)(r->at - from));
  while (r->at < r->end && is_blank(*r->at)) r->at++;
  return word;
}

static bool take_keyword(Reader *r, const char *keyword) {
  Loc loc;
  if (str_eq(take_word(r, &loc), keyword)) return true;
  problem_add(r->problems, loc, "expected '%s'", keyword);
  return false;
}

// A whole number from 1 on.
static bool take_count(Reader *r, const char *of, double most, double *count, Loc *loc) {
  const char *word = take_word(r, loc);
  char *end;
  *count = strtod(word, &end);
  if (word[0] != '\0' && word[strspn(word, "0123456789")] == '\0' && *end == '\0' && *count >= 1 && *count <= most) return true;
  problem_add(r->problems, *loc, "expected a number of %s, from 1 to %.0f", of, most);
  return false;
}

static bool ends(Reader *r) {
  Loc loc;
  if (r->at == r->end) return true;
  take_word(r, &loc);
  problem_add(r->problems, loc, "expected the end of the line");
  return false;
}

static void read_head(Reader *r) {
  Loc loc, of_version;
  const char *word = take_word(r, &loc), *version = take_word(r, &of_version);
  r->begun = true;
  if (!str_eq(word, "data-stats")) problem_add(r->problems, loc, "counts of lookups begin with 'data-stats %d'", DATA_STATS_VERSION);
  else if (!str_eq(version, "1") || r->at < r->end) problem_add(r->problems, of_version, "expected version %d of data-stats", DATA_STATS_VERSION);
  else r->is_stats = true;
}

// The table that the lines before were about is complete.
static void end_table(Reader *r) {
  if (r->stats.tables.len == 0) return;
  TableStats *table = &r->stats.tables.at[r->stats.tables.len - 1];
  for (int i = 0; i < r->classes.len; i++) r->classes.at[i].share /= r->places;
  table->spread = (Spread){r->classes.at, r->classes.len};
  if (r->classes.len == 0 && table->rows < INFINITY) problem_add(r->problems, table->loc, "no row of the table '%s' is looked up", table->name);
  memset(&r->classes, 0, sizeof r->classes);
  r->rows = r->places = 0;
}

// table NAME N rows
static void read_table(Reader *r) {
  Loc of_word, of_rows;
  TableStats table = {0};
  end_table(r);
  take_word(r, &of_word);
  table.name = take_word(r, &table.loc);
  bool right = table.name[0] != '\0';
  if (!right) problem_add(r->problems, table.loc, "expected the name of a table");
  right = right && take_count(r, "rows", MOST_ROWS, &table.rows, &of_rows) && take_keyword(r, "rows") && ends(r);
  if (!right) table.rows = INFINITY; // any number may be meant
  const int before = names_get(&r->stats.numbers, table.name);
  if (before >= 0) {
    problem_add(r->problems, table.loc, "the table '%s' is counted twice", table.name);
    problem_note(r->problems, r->stats.tables.at[before].loc, "the first time is here");
  } else {
    names_set(&r->stats.numbers, table.name, r->stats.tables.len);
  }
  vec_push(r->problems->arena, &r->stats.tables, table);
}

// N rows M places
static void read_class(Reader *r) {
  Loc of_rows, of_places;
  SpreadClass class;
  if (!take_count(r, "rows, or 'table'", MOST_ROWS, &class.rows, &of_rows) || !take_keyword(r, "rows")) return;
  if (!take_count(r, "places", MOST_PLACES, &class.share, &of_places) || !take_keyword(r, "places") || !ends(r)) return;
  if (r->stats.tables.len == 0) {
    problem_add(r->problems, of_rows, "rows of which table? Expected 'table NAME N rows' before");
    return;
  }
  const TableStats *table = &r->stats.tables.at[r->stats.tables.len - 1];
  if (class.share < class.rows) problem_add(r->problems, of_places, "each of these rows is looked up at least once: expected %.0f places or more", class.rows);
  r->rows += class.rows;
  r->places += class.share;
  if (r->rows > table->rows) problem_add(r->problems, of_rows, "these are more rows than the table '%s' has", table->name);
  vec_push(r->problems->arena, &r->classes, class);
}

static void read_line(Reader *r) {
  static const char keyword[] = "table";
  const size_t n = sizeof keyword - 1, rest = (size_t)(r->end - r->at);
  if (!r->begun) read_head(r);
  else if (rest >= n && memcmp(r->at, keyword, n) == 0 && (rest == n || is_blank(r->at[n]))) read_table(r);
  else read_class(r);
}

DataStats data_stats_read(const char *name, const char *text, size_t len, Problems *problems) {
  Reader r = {.problems = problems, .file = name, .stats = {.numbers = {.arena = problems->arena}}};
  const char *at = text, *end = text + len;
  while (at < end && !problems_are_many(problems)) {
    const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline != NULL ? newline : end;
    const char *comment = memchr(at, '#', (size_t)(stop - at));
    r.number++;
    r.line = r.at = at;
    r.end = comment != NULL ? comment : stop;
    while (r.end > r.line && is_blank(r.end[-1])) r.end--;
    while (r.at < r.end && is_blank(*r.at)) r.at++;
    if (r.at < r.end) read_line(&r);
    if (problems->list.len > 0 && !r.is_stats) break; // it is something else
    at = newline != NULL ? newline + 1 : end;
  }
  if (!r.begun) problem_add(problems, (Loc){.file = name, .line = 1, .col = 1}, "counts of lookups begin with 'data-stats %d'", DATA_STATS_VERSION);
  end_table(&r);
  return r.stats;
}
