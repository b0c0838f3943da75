// Profiles as text: read line by line, so that every mistake has its place.
#include "profile.h"

#include <math.h>
#include <stdlib.h>

#include "machine_units.h"
#include "profile_key.h"
#include "words.h"

static const double LONGEST = 1e6; // seconds

typedef struct Reader {
  Words words;
  Profile profile;
  VEC(Loc) places; // by number of what is measured
} Reader;

static const MachineUnit *find_unit(const char *name) {
  for (int i = 0; i < machine_units_len; i++)
    if (machine_units[i].quantity == QUANTITY_TIME && str_eq(machine_units[i].name, name)) return &machine_units[i];
  return NULL;
}

// "12.5 us"
static bool take_time(Words *w, double *seconds) {
  Loc of_number, of_unit;
  char *end;
  const char *number = words_take(w, &of_number), *name = words_take(w, &of_unit);
  const double value = strtod(number, &end);
  const MachineUnit *unit = find_unit(name);
  if (number[0] < '0' || number[0] > '9' || strspn(number, "0123456789.eE+-") < strlen(number) || *end != '\0' || !isfinite(value)) {
    problem_add(w->problems, of_number, "expected a time, such as 12.5 us, and what takes it");
    return false;
  }
  if (unit == NULL) {
    problem_add(w->problems, of_unit, "expected the unit of the time: s, ms, us or ns");
    return false;
  }
  *seconds = machine_unit_value(unit, value);
  if (*seconds > 0 && *seconds <= LONGEST) return true;
  problem_add(w->problems, of_number, "a time is more than 0 and at most %.0f s", LONGEST);
  return false;
}

// The rest of the line, with single blanks.
static const char *take_what(Words *w, Loc *loc) {
  Text text = {.arena = w->problems->arena};
  const char *from = w->at, *wrong, *what;
  const char *rest = arena_strndup(text.arena, from, (size_t)(w->end - from));
  ProfileLink link;
  const bool right = profile_link_begins(rest) ? profile_link_read(rest, &link, &wrong, &what) : profile_key_right(rest, &wrong, &what);
  if (!right || wrong < rest + (w->end - from)) {
    const char *at = from + (wrong - rest), *stop = at + 1;
    while (stop < w->end && !word_is_blank(*stop)) stop++;
    problem_add(w->problems, words_place(w, at, stop), "expected %s", what);
    return NULL;
  }
  while (w->at < w->end) {
    Loc of_word;
    text_printf(&text, "%s%s", text.len > 0 ? " " : "", words_take(w, &of_word));
  }
  *loc = words_place(w, from, w->end);
  return text_str(&text);
}

static void read_entry(Reader *r) {
  double seconds;
  Loc loc;
  const char *what = take_time(&r->words, &seconds) ? take_what(&r->words, &loc) : NULL;
  if (what == NULL) return;
  const int before = names_get(&r->profile.numbers, what);
  if (before >= 0) {
    problem_add(r->words.problems, loc, "this is measured twice");
    problem_note(r->words.problems, r->places.at[before], "the first time is here");
    return;
  }
  names_set(&r->profile.numbers, what, r->profile.seconds.len);
  vec_push(r->words.problems->arena, &r->profile.seconds, seconds);
  ProfileLink link;
  const char *at, *expected;
  if (profile_link_read(what, &link, &at, &expected)) profile_links_add(r->words.problems->arena, &r->profile.links, &link, seconds);
  vec_push(r->words.problems->arena, &r->places, loc);
}

Profile profile_read(const char *name, const char *text, size_t len, Problems *problems) {
  static const char kind[] = "profile", begins[] = "a profile begins";
  Reader r = {.words = words_new(name, text, len, problems), .profile = {.numbers = {.arena = problems->arena}}};
  const bool any = words_next_line(&r.words);
  if (!any) words_miss_head(&r.words, kind, PROFILE_VERSION, begins);
  if (!any || !words_take_head(&r.words, kind, PROFILE_VERSION, begins)) return r.profile;
  while (words_next_line(&r.words)) read_entry(&r);
  return r.profile;
}

double profile_seconds(const Profile *profile, const char *what) {
  const int number = names_get(&profile->numbers, what);
  return number >= 0 ? profile->seconds.at[number] : -1;
}

void profile_print_line(Text *out, double seconds, const char *what) {
  text_printf(out, "%s  %s\n", quantity_text(out->arena, QUANTITY_TIME, seconds), what);
}
