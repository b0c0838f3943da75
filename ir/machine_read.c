// Reads machine files, by hand, so that every mistake has its place and what stands behind it is read all the same.
//
//   file   = "machine" name "{" device { level } "}"
//   device = "device" name "{" { entry ";" } "}"
//   level  = "level" name "=" count unit "{" { entry ";" } "}"      the unit: the level before, or the device
//   entry  = word "=" number unit  |  "link" "=" name  |  "shared"
//
// Blanks and ends of lines separate, "#" begins a comment.
#include "machine.h"
#include "machine_units.h"
#include "suggest.h"
#include "tokens.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_WORDS = 8 };

typedef struct Reader {
  Tokens t;
  Machine machine;
  const char *unit; // what the next level joins; NULL after a mistake
  bool has_device, failed;
} Reader;

// The words of a block, and where each was used.
typedef struct Entries {
  const char *what, *name; // "level", its name
  Loc loc;
  const MachineEntry *entry; // the ones with a quantity, the first n
  void *into;
  int n, n_words;
  const char *word[MAX_WORDS];
  Loc seen[MAX_WORDS];
  bool failed; // an unknown word may have meant any
} Entries;

// ---- tokens --------------------------------------------------------------------------------------------------------

static char peek(const Tokens *r, const char *at) { return at < r->end ? *at : '\0'; }

static void skip_blanks(Tokens *r) {
  for (; r->at < r->end; r->at++) {
    if (*r->at == '#')
      while (r->at + 1 < r->end && r->at[1] != '\n') r->at++;
    else if (*r->at == '\n') r->line++, r->line_text = r->at + 1;
    else if (*r->at != ' ' && *r->at != '\t' && *r->at != '\r') return;
  }
}

// 9.3, 1e-6, -1
static const char *end_of_number(const Tokens *r, const char *at) {
  if (*at == '-') at++;
  while (is_digit(peek(r, at)) || peek(r, at) == '.') at++;
  if (peek(r, at) != 'e') return at;
  const char *digits = at + 1 + (peek(r, at + 1) == '-' || peek(r, at + 1) == '+');
  if (!is_digit(peek(r, digits))) return at;
  while (is_digit(peek(r, digits))) digits++;
  return digits;
}

static void take(Tokens *r, TokenKind kind, const char *start, const char *end) {
  const int col = (int)(start - r->line_text) + 1;
  r->token = (Token){
      kind, arena_strndup(r->arena, start, (size_t)(end - start)), 0, {r->file, r->line, col, col + (int)(end - start)}};
  r->at = end;
}

static void next(Tokens *r) {
  skip_blanks(r);
  const char *start = r->at, *end = start;
  if (start == r->end) {
    r->token = (Token){TOKEN_END, "the end of the file", 0, {r->file, r->line, (int)(start - r->line_text) + 1, 0}};
  } else if (is_letter(*start)) {
    while (is_letter(peek(r, end)) || is_digit(peek(r, end)) || peek(r, end) == '-') end++;
    take(r, TOKEN_NAME, start, end);
  } else if (is_digit(*start) || (*start == '-' && is_digit(peek(r, start + 1)))) {
    take(r, TOKEN_NUMBER, start, end_of_number(r, start));
  } else {
    take(r, strchr("{}=;", *start) != NULL && *start != '\0' ? TOKEN_SIGN : TOKEN_BAD, start, start + 1);
  }
}

// Lets the name at hand go on as a unit: GB/s.
static void widen_to_unit(Tokens *r) {
  if (r->token.kind != TOKEN_NAME) return;
  const char *start = r->line_text + r->token.loc.col - 1, *end = start;
  while (is_letter(peek(r, end)) || is_digit(peek(r, end)) || peek(r, end) == '/') end++;
  take(r, TOKEN_NAME, start, end);
}

// "; did you mean 'x'?" or "".
static const char *did_you_mean(Arena *arena, const char *word, const char *const *words, int n) {
  const char *nearest = suggest_nearest(word, words, n);
  return nearest != NULL ? arena_printf(arena, "; did you mean '%s'?", nearest) : "";
}

// ---- values --------------------------------------------------------------------------------------------------------

static const MachineUnit *unknown_unit(Reader *r) {
  const char **names = NEW_ARRAY(r->t.arena, const char *, machine_units_len);
  for (int i = 0; i < machine_units_len; i++) names[i] = machine_units[i].name;
  problem_add(r->t.problems, r->t.token.loc, "there is no unit %s%s", token_shown(&r->t),
              did_you_mean(r->t.arena, r->t.token.text, names, machine_units_len));
  return NULL;
}

static const MachineUnit *read_unit(Reader *r, Quantity quantity) {
  const QuantityInfo *info = &quantity_info[quantity];
  widen_to_unit(&r->t);
  if (r->t.token.kind != TOKEN_NAME) {
    expected(&r->t, arena_printf(r->t.arena, "the unit of %s, such as %s", info->name, info->unit));
    return NULL;
  }
  for (int i = 0; i < machine_units_len; i++) {
    const MachineUnit *unit = &machine_units[i];
    if (!str_eq(unit->name, r->t.token.text)) continue;
    if (unit->quantity != quantity) {
      problem_add(r->t.problems, r->t.token.loc, "'%s' is the unit of %s, expected that of %s, such as %s", unit->name,
                  quantity_info[unit->quantity].name, info->name, info->unit);
      return NULL;
    }
    next(&r->t);
    return unit;
  }
  return unknown_unit(r);
}

static bool read_value(Reader *r, Quantity quantity, double *out) {
  const QuantityInfo *info = &quantity_info[quantity];
  const Token number = r->t.token;
  if (number.kind != TOKEN_NUMBER)
    return expected(&r->t, arena_printf(r->t.arena, "%s, such as 1 %s", info->name, info->unit));
  char *end;
  const double read = strtod(number.text, &end);
  if (*end != '\0') return expected(&r->t, "a number");
  next(&r->t);
  const MachineUnit *unit = read_unit(r, quantity);
  if (unit == NULL) return false;
  const double value = machine_unit_value(unit, read);
  if (isfinite(value) && value >= info->least && value <= info->most) {
    *out = value;
    return true;
  }
  problem_add(r->t.problems, number.loc, "%.*s %s is not %s from %s to %s", TOKEN_SHOWN, number.text, unit->name, info->name,
              quantity_text(r->t.arena, quantity, info->least), quantity_text(r->t.arena, quantity, info->most));
  return true; // the text is in order
}

static bool read_count(Reader *r, int *count) {
  const Token number = r->t.token;
  if (number.kind != TOKEN_NUMBER) return expected(&r->t, "a number of members");
  char *end;
  const double read = strtod(number.text, &end);
  next(&r->t);
  *count = 1;
  if (*end == '\0' && read >= 1 && read <= MESH_MAX_RANKS && floor(read) == read) *count = (int)read;
  else
    problem_add(r->t.problems, number.loc, "expected a number of members from 1 to %d, found '%.*s'", MESH_MAX_RANKS,
                TOKEN_SHOWN, number.text);
  return true;
}

// ---- entries -------------------------------------------------------------------------------------------------------

// -1 after an error.
static int find_word(Reader *r, Entries *entries, const Token *word) {
  for (int i = 0; i < entries->n_words; i++) {
    if (!str_eq(entries->word[i], word->text)) continue;
    if (entries->seen[i].line == 0) return i;
    problem_add(r->t.problems, word->loc, "a second '%s'", word->text);
    problem_note(r->t.problems, entries->seen[i], "the first one stands here");
    return -1;
  }
  entries->failed = true;
  problem_add(r->t.problems, word->loc, "a %s has no '%.*s'%s", entries->what, TOKEN_SHOWN, word->text,
              did_you_mean(r->t.arena, word->text, entries->word, entries->n_words));
  return -1;
}

static bool read_entry(Reader *r, Entries *entries) {
  Token word, link;
  if (!take_token(&r->t, TOKEN_NAME, arena_printf(r->t.arena, "an entry of the %s, or '}'", entries->what), &word)) return false;
  const int i = find_word(r, entries, &word);
  if (i < 0) return false;
  entries->seen[i] = word.loc;
  if (str_eq(word.text, "shared")) {
    ((MachineLevel *)entries->into)->shared = true;
  } else if (!take_sign(&r->t, '=', "'=' and the value")) {
    return false;
  } else if (i < entries->n) {
    if (!read_value(r, entries->entry[i].quantity, (double *)((char *)entries->into + entries->entry[i].offset)))
      return false;
  } else {
    if (!take_token(&r->t, TOKEN_NAME, "what the link is, such as nvlink", &link)) return false;
    ((MachineLevel *)entries->into)->link = link.text;
  }
  return is_sign(&r->t, ';') || expected(&r->t, "';'") || r->t.token.kind == TOKEN_NAME; // the next entry
}

static bool is_optional(const char *word) { return str_eq(word, "shared"); }

static void check_complete(Reader *r, const Entries *entries) {
  Text missing = {.arena = r->t.arena};
  for (int i = 0; i < entries->n_words; i++)
    if (entries->seen[i].line == 0 && !is_optional(entries->word[i]))
      text_printf(&missing, "%s '%s'", missing.len > 0 ? "," : "", entries->word[i]);
  if (missing.len > 0 && !entries->failed)
    problem_add(r->t.problems, entries->loc, "the %s '%.*s' lacks%s", entries->what, TOKEN_SHOWN, entries->name,
                text_str(&missing));
}

// Behind a mistake: to the end of the entry.
static void skip_entry(Reader *r) {
  while (r->t.token.kind != TOKEN_END && !is_sign(&r->t, ';') && !is_sign(&r->t, '}')) next(&r->t);
}

static bool read_entries(Reader *r, Entries *entries) {
  if (!take_sign(&r->t, '{', arena_printf(r->t.arena, "'{' and the entries of the %s", entries->what))) return false;
  while (!is_sign(&r->t, '}') && !problems_are_many(r->t.problems)) {
    if (r->t.token.kind == TOKEN_END)
      return expected(&r->t, arena_printf(r->t.arena, "'}' behind the entries of the %s", entries->what));
    if (!read_entry(r, entries)) skip_entry(r);
    if (is_sign(&r->t, ';')) next(&r->t);
  }
  check_complete(r, entries);
  next(&r->t);
  return true;
}

static Entries entries_of(const char *what, const Token *name, const MachineEntry *entry, int n, void *into) {
  Entries entries = {
      .what = what, .name = name->text, .loc = name->loc, .entry = entry, .n = n, .n_words = n, .into = into};
  for (int i = 0; i < n; i++) entries.word[i] = entry[i].word;
  return entries;
}

// ---- devices and levels --------------------------------------------------------------------------------------------

// The name of a device or a level can become that of an axis of a mesh.
static void check_name(Reader *r, const Token *name) {
  Mesh mesh = {0};
  const char *wrong = mesh_add_axis(r->t.arena, &mesh, name->text, 1);
  if (wrong == NULL && strchr(name->text, '-') != NULL)
    wrong = "the name becomes that of an axis: letters, digits and '_'";
  bool taken = r->machine.device.name != NULL && str_eq(name->text, r->machine.device.name);
  for (int l = 0; l < r->machine.n_levels; l++) taken = taken || str_eq(name->text, r->machine.level[l].name);
  if (taken) problem_add(r->t.problems, name->loc, "a second device or level '%.*s'", TOKEN_SHOWN, name->text);
  else if (wrong != NULL) problem_add(r->t.problems, name->loc, "%.200s", wrong);
}

static bool read_device(Reader *r) {
  Token name;
  const Loc loc = r->t.token.loc;
  const bool is_second = r->has_device;
  r->has_device = true;
  r->unit = NULL;
  next(&r->t);
  if (is_second) problem_add(r->t.problems, loc, "a second device: all devices of a machine are of one kind");
  if (!take_token(&r->t, TOKEN_NAME, "the name of the device", &name)) return false;
  check_name(r, &name);
  MachineDevice device = {.name = name.text};
  Entries entries = entries_of("device", &name, machine_device_entries, MACHINE_DEVICE_ENTRIES, &device);
  if (!read_entries(r, &entries)) return false;
  r->unit = name.text;
  r->machine.device = device;
  return true;
}

static bool read_unit_name(Reader *r) {
  Token unit;
  if (!take_token(&r->t, TOKEN_NAME, "what the level joins: the device or the level before it", &unit)) return false;
  if (r->unit != NULL && !str_eq(unit.text, r->unit))
    problem_add(r->t.problems, unit.loc, "a level joins what stands before it, '%.*s', not '%.*s'", TOKEN_SHOWN, r->unit, TOKEN_SHOWN,
                unit.text);
  r->unit = NULL;
  return true;
}

static void add_level(Reader *r, const MachineLevel *level, const Token *count, const Entries *entries) {
  Machine *m = &r->machine;
  if (level->shared && m->n_levels == 0)
    problem_add(r->t.problems, entries->seen[entries->n_words - 1],
                "a link is shared by the devices of a unit, and here the units are devices");
  if ((int64_t)machine_devices(m) * level->count > MESH_MAX_RANKS) {
    problem_add(r->t.problems, count->loc, "the machine has more than %d devices", MESH_MAX_RANKS);
    return;
  }
  m->level[m->n_levels++] = *level;
}

static bool read_level(Reader *r) {
  Token name;
  const Loc loc = r->t.token.loc;
  next(&r->t);
  if (!take_token(&r->t, TOKEN_NAME, "the name of the level", &name)) return false;
  check_name(r, &name);
  if (!take_sign(&r->t, '=', "'=' and what the level joins, such as 4 gpu")) return false;
  const Token count = r->t.token;
  MachineLevel level = {.name = name.text};
  if (!read_count(r, &level.count) || !read_unit_name(r)) return false;
  Entries entries = entries_of("level", &name, machine_level_entries, MACHINE_LEVEL_ENTRIES, &level);
  entries.word[entries.n_words++] = "link";
  entries.word[entries.n_words++] = "shared";
  if (!read_entries(r, &entries)) return false;
  r->unit = name.text;
  if (r->machine.n_levels < MACHINE_MAX_LEVELS) add_level(r, &level, &count, &entries);
  else problem_add(r->t.problems, loc, "more than %d levels", MACHINE_MAX_LEVELS);
  return true;
}

// Behind a mistake in the head of a block: to the end of the block.
static void skip_block(Reader *r) {
  while (r->t.token.kind != TOKEN_END && !is_sign(&r->t, '}')) next(&r->t);
  if (is_sign(&r->t, '}')) next(&r->t);
  r->unit = NULL;
  r->failed = true;
}

static bool read_block(Reader *r) {
  static const char *const words[] = {"device", "level"};
  if (is_word(&r->t, "device")) return read_device(r);
  if (is_word(&r->t, "level")) {
    if (r->has_device) return read_level(r);
    problem_add(r->t.problems, r->t.token.loc, "the device stands before the levels");
    return false;
  }
  problem_add(r->t.problems, r->t.token.loc, "expected 'device', 'level' or '}', found %s%s", token_shown(&r->t),
              r->t.token.kind == TOKEN_NAME ? did_you_mean(r->t.arena, r->t.token.text, words, 2) : "");
  return false;
}

static void read_machine(Reader *r) {
  Token name;
  if (!is_word(&r->t, "machine")) {
    expected(&r->t, "'machine' and its name");
    return;
  }
  next(&r->t);
  if (!take_token(&r->t, TOKEN_NAME, "the name of the machine", &name)) return;
  r->machine.name = name.text;
  if (!take_sign(&r->t, '{', "'{' and the device of the machine")) return;
  while (!is_sign(&r->t, '}') && r->t.token.kind != TOKEN_END && !problems_are_many(r->t.problems))
    if (!read_block(r)) skip_block(r);
  if (r->failed || problems_are_many(r->t.problems)) return; // the end of the machine may have been skipped
  if (!r->has_device) problem_add(r->t.problems, name.loc, "the machine '%.*s' has no device", TOKEN_SHOWN, name.text);
  else if (take_sign(&r->t, '}', "'}' behind the machine") && r->t.token.kind != TOKEN_END)
    expected(&r->t, "the end of the file");
}

Machine machine_read(const char *name, const char *text, size_t len, Problems *problems) {
  Reader r = {.t = {.arena = problems->arena, .problems = problems, .file = name, .next = next}};
  r.t.at = r.t.line_text = text;
  r.t.end = text + len;
  r.t.line = 1;
  next(&r.t);
  read_machine(&r);
  return r.machine;
}
