// Profiles as text: read line by line, so that every mistake has its place.
#include "profile.h"

#include <math.h>
#include <stdlib.h>

#include "machine_units.h"
#include "profile_key.h"

static const double LONGEST = 1e6; // seconds

typedef struct Reader {
  Problems *problems;
  Profile profile;
  const char *file;
  const char *line, *at, *end; // of the line at hand, without its comment
  int number;
  bool begun, is_profile;
  VEC(Loc) places; // by number of what is measured
} Reader;

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static void skip_blanks(Reader *r) {
  while (r->at < r->end && is_blank(*r->at)) r->at++;
}

static Loc place_of(const Reader *r, const char *from, const char *to) {
  return (Loc){.file = r->file, .line = r->number, .col = (int)(from - r->line) + 1, .end_col = (int)(to - r->line) + 1};
}

// The word at hand: up to a blank. Blanks behind it are skipped.
static const char *take_word(Reader *r, Loc *loc) {
  const char *from = r->at;
  while (r->at < r->end && !is_blank(*r->at)) r->at++;
  const char *word = arena_strndup(r->problems->arena, from, (size_t)(r->at - from));
  *loc = place_of(r, from, r->at > from ? r->at : from + 1);
  skip_blanks(r);
  return word;
}

static const MachineUnit *find_unit(const char *name) {
  for (int i = 0; i < machine_units_len; i++)
    if (machine_units[i].quantity == QUANTITY_TIME && str_eq(machine_units[i].name, name)) return &machine_units[i];
  return NULL;
}

// "12.5 us"
static bool take_time(Reader *r, double *seconds) {
  Loc of_number, of_unit;
  char *end;
  const char *number = take_word(r, &of_number), *name = take_word(r, &of_unit);
  const double value = strtod(number, &end);
  const MachineUnit *unit = find_unit(name);
  if (number[0] < '0' || number[0] > '9' || strspn(number, "0123456789.eE+-") < strlen(number) || *end != '\0' || !isfinite(value)) {
    problem_add(r->problems, of_number, "expected a time, such as 12.5 us, and what takes it");
    return false;
  }
  if (unit == NULL) {
    problem_add(r->problems, of_unit, "expected the unit of the time: s, ms, us or ns");
    return false;
  }
  *seconds = machine_unit_value(unit, value);
  if (*seconds > 0 && *seconds <= LONGEST) return true;
  problem_add(r->problems, of_number, "a time is more than 0 and at most %.0f s", LONGEST);
  return false;
}

// The rest of the line, with single blanks.
static const char *take_what(Reader *r, Loc *loc) {
  Text text = {.arena = r->problems->arena};
  const char *from = r->at, *wrong, *what;
  const char *rest = arena_strndup(text.arena, from, (size_t)(r->end - from));
  ProfileLink link;
  const bool right = profile_link_begins(rest) ? profile_link_read(rest, &link, &wrong, &what) : profile_key_right(rest, &wrong, &what);
  if (!right || wrong < rest + (r->end - from)) {
    const char *at = from + (wrong - rest), *stop = at + 1;
    while (stop < r->end && !is_blank(*stop)) stop++;
    problem_add(r->problems, place_of(r, at, stop), "expected %s", what);
    return NULL;
  }
  while (r->at < r->end) {
    Loc of_word;
    text_printf(&text, "%s%s", text.len > 0 ? " " : "", take_word(r, &of_word));
  }
  *loc = place_of(r, from, r->end);
  return text_str(&text);
}

static void read_head(Reader *r) {
  Loc loc, of_version;
  const char *word = take_word(r, &loc), *version = take_word(r, &of_version);
  r->begun = true;
  if (!str_eq(word, "profile")) problem_add(r->problems, loc, "a profile begins with 'profile %d'", PROFILE_VERSION);
  else if (!str_eq(version, "1") || r->at < r->end) problem_add(r->problems, of_version, "expected version %d of profiles", PROFILE_VERSION);
  else r->is_profile = true;
}

static void read_entry(Reader *r) {
  double seconds;
  Loc loc;
  const char *what = take_time(r, &seconds) ? take_what(r, &loc) : NULL;
  if (what == NULL) return;
  const int before = names_get(&r->profile.numbers, what);
  if (before >= 0) {
    problem_add(r->problems, loc, "this is measured twice");
    problem_note(r->problems, r->places.at[before], "the first time is here");
    return;
  }
  names_set(&r->profile.numbers, what, r->profile.seconds.len);
  vec_push(r->problems->arena, &r->profile.seconds, seconds);
  ProfileLink link;
  const char *at, *expected;
  if (profile_link_read(what, &link, &at, &expected)) profile_links_add(r->problems->arena, &r->profile.links, &link, seconds);
  vec_push(r->problems->arena, &r->places, loc);
}

Profile profile_read(const char *name, const char *text, size_t len, Problems *problems) {
  Arena *arena = problems->arena;
  Reader r = {.problems = problems, .file = name, .profile = {.numbers = {.arena = arena}}};
  const char *at = text, *end = text + len;
  while (at < end && !problems_are_many(problems)) {
    const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline != NULL ? newline : end;
    const char *comment = memchr(at, '#', (size_t)(stop - at));
    r.number++;
    r.line = r.at = at;
    r.end = comment != NULL ? comment : stop;
    while (r.end > r.line && is_blank(r.end[-1])) r.end--;
    skip_blanks(&r);
    if (r.at < r.end && !r.begun) read_head(&r);
    else if (r.at < r.end) read_entry(&r);
    if (problems->list.len > 0 && !r.is_profile) break; // it is something else
    at = newline != NULL ? newline + 1 : end;
  }
  if (!r.begun) problem_add(problems, (Loc){.file = name, .line = 1, .col = 1}, "a profile begins with 'profile %d'", PROFILE_VERSION);
  return r.profile;
}

double profile_seconds(const Profile *profile, const char *what) {
  const int number = names_get(&profile->numbers, what);
  return number >= 0 ? profile->seconds.at[number] : -1;
}

void profile_print_line(Text *out, double seconds, const char *what) {
  text_printf(out, "%s  %s\n", quantity_text(out->arena, QUANTITY_TIME, seconds), what);
}
