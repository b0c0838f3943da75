// The options of reports: --sweep, and what reports go with.
#include <errno.h>
#include <stdlib.h>

#include "options.h"

enum { MAX_VALUE = 1 << 30, MAX_VALUES = 1000 };

// A number up to one of the signs, or up to "..". Returns NULL, or what is wrong.
static const char *take_number(Arena *arena, const char **at, const char *signs, int64_t *number) {
  const char *from = *at, *range = strstr(from, "..");
  size_t len = strcspn(from, signs);
  if (range != NULL && (size_t)(range - from) < len) len = (size_t)(range - from);
  const char *text = arena_strndup(arena, from, len);
  errno = 0;
  *number = strtoll(text, NULL, 10);
  *at += len;
  const bool whole = len > 0 && strspn(text, "0123456789") == len;
  if (whole && errno == 0 && *number >= 1 && *number <= MAX_VALUE) return NULL;
  return arena_printf(arena, "expected a whole number from 1 to %d, found '%s'", MAX_VALUE, text);
}

// N, A..B or A..B+STEP. The same.
static const char *take_values(Arena *arena, const char **at, Sweep *sweep) {
  int64_t first, last, step = 0;
  const char *wrong = take_number(arena, at, ",", &first);
  last = first;
  if (wrong == NULL && strncmp(*at, "..", 2) == 0) {
    *at += 2;
    wrong = take_number(arena, at, ",+", &last);
    if (wrong == NULL && last < first)
      wrong = arena_printf(arena, "a range grows, and %lld is less than %lld", (long long)last, (long long)first);
    if (wrong == NULL && **at == '+') ++*at, wrong = take_number(arena, at, ",", &step);
  }
  if (wrong == NULL && **at != ',' && **at != '\0') wrong = arena_printf(arena, "expected ',' between values, found '%s'", *at);
  if (wrong != NULL) return wrong;
  for (int64_t v = first; v <= last && sweep->values.len <= MAX_VALUES; v += step > 0 ? step : v) vec_push(arena, &sweep->values, v);
  return NULL;
}

int options_take_sweep(Arena *arena, const char *value, Sweep *sweep) {
  const char *at = strchr(value, '=');
  if (at == NULL || at == value)
    return misuse("--sweep %s: expected devices=VALUES or PARAMETER=VALUES, and as VALUES numbers and ranges such as 1,2,8..64", value);
  sweep->parameter = arena_strndup(arena, value, (size_t)(at - value));
  sweep->of_devices = str_eq(sweep->parameter, "devices");
  do {
    at++;
    const char *wrong = take_values(arena, &at, sweep);
    if (wrong != NULL) return misuse("--sweep %s: %s", value, wrong);
  } while (*at == ',');
  return sweep->values.len <= MAX_VALUES ? -1 : misuse("--sweep %s: more than %d values", value, MAX_VALUES);
}

// What else would be printed or written, or NULL.
static const char *other_output(const Options *o) {
  return o->out != NULL && !o->measure && !o->count ? "-o"
         : o->plan_out != NULL       ? "--plan-out"
         : o->profile_out != NULL    ? "--profile-out"
         : o->dot != NULL            ? "--dot"
         : o->report != NULL         ? "--report"
         : o->trace != NULL          ? "--trace"
         : o->emit_problem != NULL   ? "--emit-problem"
         : o->show_plan              ? "--show-plan"
         : o->stats                  ? "--stats"
         : o->dump_after.len > 0     ? "--dump-after"
         : o->dump_dir != NULL       ? "--dump-dir"
         : o->stop_after != NULL     ? "--stop-after"
                                     : NULL;
}

// The reports that are asked for.
static int list_reports(const Options *o, const char **report) {
  int n = 0;
  if (o->measure) report[n++] = "parcc profile";
  if (o->count) report[n++] = "parcc data-stats";
  if (o->compare) report[n++] = "--compare";
  if (o->explain != NULL) report[n++] = "--explain";
  if (o->sweep.parameter != NULL) report[n++] = "--sweep";
  if (o->strategies != NULL) report[n++] = "--show-strategies";
  return n;
}

int options_check_reports(const Options *o) {
  const char *report[6], *other = other_output(o);
  const int n = list_reports(o, report);
  const bool several = o->measure || o->compare || o->sweep.parameter != NULL;
  if (o->candidates && o->explain == NULL) return misuse("--candidates goes with --explain");
  if (o->json && !o->stats && (o->measure || (!several && o->explain == NULL))) return misuse("--json goes with --stats, --compare, --explain or --sweep");
  if (o->searches.len > 1 && !several) return misuse("--search: several planners go with --compare, --sweep or parcc profile");
  if (n == 0) return -1;
  if (n > 1) return misuse("%s and %s are two reports", report[0], report[1]);
  if (o->machine == NULL && o->strategies == NULL && !o->count)
    return misuse("%s needs --machine: what a plan costs depends on it (--machine=list prints those that are known)", report[0]);
  if (o->measure && o->out == NULL) return misuse("parcc profile needs -o: where the program that measures is written to");
  if (o->count && o->out == NULL) return misuse("parcc data-stats needs -o: where the program that counts is written to");
  if (other == NULL && several) other = o->plan_in != NULL && !o->measure ? "--plan-in" : o->plan.kind == PLAN_RANDOM ? "--plan=random" : NULL;
  if (other != NULL) return misuse("%s prints or writes what it is for and nothing else: it does not go with %s", report[0], other);
  if (o->sweep.of_devices && (o->mesh_given || o->ranks > 0 || o->devices > 0))
    return misuse("--sweep=devices says how many devices there are, and so do --devices, --ranks and --mesh");
  return -1;
}
