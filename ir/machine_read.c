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

#include <math.h>
#include <stdlib.h>

enum { SHOWN = 60, MAX_WORDS = 8 };

typedef enum TokenKind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_SIGN, TOKEN_BAD } TokenKind;

typedef struct Token {
  TokenKind kind;
  const char *text; // NUL-terminated; "the end of the file" at the end
  Loc loc;
} Token;

typedef struct Reader {
  Arena *arena;
  Problems *problems;
  const char *file;
  const char *at, *end, *line_text;
  int line;
  Token token; // the next one
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

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static char peek(const Reader *r, const char *at) { return at < r->end ? *at : '\0'; }

static void skip_blanks(Reader *r) {
  for (; r->at < r->end; r->at++) {
    if (*r->at == '#')
      while (r->at + 1 < r->end && r->at[1] != '\n') r->at++;
    else if (*r->at == '\n') r->line++, r->line_text = r->at + 1;
    else if (*r->at != ' ' && *r->at != '\t' && *r->at != '\r') return;
  }
}

// 9.3, 1e-6, -1
static const char *end_of_number(const Reader *r, const char *at) {
  if (*at == '-') at++;
  while (is_digit(peek(r, at)) || peek(r, at) == '.') at++;
  if (peek(r, at) != 'e') return at;
  const char *digits = at + 1 + (peek(r, at + 1) == '-' || peek(r, at + 1) == '+');
  if (!is_digit(peek(r, digits))) return at;
  while (is_digit(peek(r, digits))) digits++;
  return digits;
}

static void take(Reader *r, TokenKind kind, const char *start, const char *end) {
  const int col = (int)(start - r->line_text) + 1;
  r->token = (Token){
      kind, arena_strndup(r->arena, start, (size_t)(end - start)), {r->file, r->line, col, col + (int)(end - start)}};
  r->at = end;
}

static void next(Reader *r) {
  skip_blanks(r);
  const char *start = r->at, *end = start;
  if (start == r->end) {
    r->token = (Token){TOKEN_END, "the end of the file", {r->file, r->line, (int)(start - r->line_text) + 1, 0}};
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
static void widen_to_unit(Reader *r) {
  if (r->token.kind != TOKEN_NAME) return;
  const char *start = r->line_text + r->token.loc.col - 1, *end = start;
  while (is_letter(peek(r, end)) || is_digit(peek(r, end)) || peek(r, end) == '/') end++;
  take(r, TOKEN_NAME, start, end);
}

static bool is_sign(const Reader *r, char sign) { return r->token.kind == TOKEN_SIGN && r->token.text[0] == sign; }
static bool is_word(const Reader *r, const char *word) {
  return r->token.kind == TOKEN_NAME && str_eq(r->token.text, word);
}

static const char *shown(const Reader *r) {
  const unsigned char c = (unsigned char)r->token.text[0];
  if (r->token.kind == TOKEN_END) return r->token.text;
  if (r->token.kind == TOKEN_BAD && (c < 32 || c > 126)) return arena_printf(r->arena, "the byte 0x%02x", c);
  return arena_printf(r->arena, "'%.*s'", SHOWN, r->token.text);
}

static bool expected(Reader *r, const char *what) {
  problem_add(r->problems, r->token.loc, "expected %s, found %s", what, shown(r));
  return false;
}

static bool take_name(Reader *r, const char *what, Token *out) {
  if (r->token.kind != TOKEN_NAME) return expected(r, what);
  *out = r->token;
  next(r);
  return true;
}

static bool take_sign(Reader *r, char sign, const char *what) {
  if (!is_sign(r, sign)) return expected(r, what);
  next(r);
  return true;
}

// "; did you mean 'x'?" or "".
static const char *did_you_mean(Arena *arena, const char *word, const char *const *words, int n) {
  const char *nearest = suggest_nearest(word, words, n);
  return nearest != NULL ? arena_printf(arena, "; did you mean '%s'?", nearest) : "";
}

// ---- values --------------------------------------------------------------------------------------------------------

static const MachineUnit *unknown_unit(Reader *r) {
  const char **names = NEW_ARRAY(r->arena, const char *, machine_units_len);
  for (int i = 0; i < machine_units_len; i++) names[i] = machine_units[i].name;
  problem_add(r->problems, r->token.loc, "there is no unit %s%s", shown(r),
              did_you_mean(r->arena, r->token.text, names, machine_units_len));
  return NULL;
}

static const MachineUnit *read_unit(Reader *r, Quantity quantity) {
  const QuantityInfo *info = &quantity_info[quantity];
  widen_to_unit(r);
  if (r->token.kind != TOKEN_NAME) {
    expected(r, arena_printf(r->arena, "the unit of %s, such as %s", info->name, info->unit));
    return NULL;
  }
  for (int i = 0; i < machine_units_len; i++) {
    const MachineUnit *unit = &machine_units[i];
    if (!str_eq(unit->name, r->token.text)) continue;
    if (unit->quantity != quantity) {
      problem_add(r->problems, r->token.loc, "'%s' is the unit of %s, expected that of %s, such as %s", unit->name,
                  quantity_info[unit->quantity].name, info->name, info->unit);
      return NULL;
    }
    next(r);
    return unit;
  }
  return unknown_unit(r);
}

static bool read_value(Reader *r, Quantity quantity, double *out) {
  const QuantityInfo *info = &quantity_info[quantity];
  const Token number = r->token;
  if (number.kind != TOKEN_NUMBER)
    return expected(r, arena_printf(r->arena, "%s, such as 1 %s", info->name, info->unit));
  char *end;
  const double read = strtod(number.text, &end);
  if (*end != '\0') return expected(r, "a number");
  next(r);
  const MachineUnit *unit = read_unit(r, quantity);
  if (unit == NULL) return false;
  const double value = machine_unit_value(unit, read);
  if (isfinite(value) && value >= info->least && value <= info->most) {
    *out = value;
    return true;
  }
  problem_add(r->problems, number.loc, "%.*s %s is not %s from %s to %s", SHOWN, number.text, unit->name, info->name,
              quantity_text(r->arena, quantity, info->least), quantity_text(r->arena, quantity, info->most));
  return true; // the text is in order
}

static bool read_count(Reader *r, int *count) {
  const Token number = r->token;
  if (number.kind != TOKEN_NUMBER) return expected(r, "a number of members");
  char *end;
  const double read = strtod(number.text, &end);
  next(r);
  *count = 1;
  if (*end == '\0' && read >= 1 && read <= MESH_MAX_RANKS && floor(read) == read) *count = (int)read;
  else
    problem_add(r->problems, number.loc, "expected a number of members from 1 to %d, found '%.*s'", MESH_MAX_RANKS,
                SHOWN, number.text);
  return true;
}

// ---- entries -------------------------------------------------------------------------------------------------------

// -1 after an error.
static int find_word(Reader *r, Entries *entries, const Token *word) {
  for (int i = 0; i < entries->n_words; i++) {
    if (!str_eq(entries->word[i], word->text)) continue;
    if (entries->seen[i].line == 0) return i;
    problem_add(r->problems, word->loc, "a second '%s'", word->text);
    problem_note(r->problems, entries->seen[i], "the first one stands here");
    return -1;
  }
  entries->failed = true;
  problem_add(r->problems, word->loc, "a %s has no '%.*s'%s", entries->what, SHOWN, word->text,
              did_you_mean(r->arena, word->text, entries->word, entries->n_words));
  return -1;
}

static bool read_entry(Reader *r, Entries *entries) {
  Token word, link;
  if (!take_name(r, arena_printf(r->arena, "an entry of the %s, or '}'", entries->what), &word)) return false;
  const int i = find_word(r, entries, &word);
  if (i < 0) return false;
  entries->seen[i] = word.loc;
  if (str_eq(word.text, "shared")) {
    ((MachineLevel *)entries->into)->shared = true;
  } else if (!take_sign(r, '=', "'=' and the value")) {
    return false;
  } else if (i < entries->n) {
    if (!read_value(r, entries->entry[i].quantity, (double *)((char *)entries->into + entries->entry[i].offset)))
      return false;
  } else {
    if (!take_name(r, "what the link is, such as nvlink", &link)) return false;
    ((MachineLevel *)entries->into)->link = link.text;
  }
  return is_sign(r, ';') || expected(r, "';'") || r->token.kind == TOKEN_NAME; // the next entry
}

static bool is_optional(const char *word) { return str_eq(word, "shared"); }

static void check_complete(Reader *r, const Entries *entries) {
  Text missing = {.arena = r->arena};
  for (int i = 0; i < entries->n_words; i++)
    if (entries->seen[i].line == 0 && !is_optional(entries->word[i]))
      text_printf(&missing, "%s '%s'", missing.len > 0 ? "," : "", entries->word[i]);
  if (missing.len > 0 && !entries->failed)
    problem_add(r->problems, entries->loc, "the %s '%.*s' lacks%s", entries->what, SHOWN, entries->name,
                text_str(&missing));
}

// Behind a mistake: to the end of the entry.
static void skip_entry(Reader *r) {
  while (r->token.kind != TOKEN_END && !is_sign(r, ';') && !is_sign(r, '}')) next(r);
}

static bool read_entries(Reader *r, Entries *entries) {
  if (!take_sign(r, '{', arena_printf(r->arena, "'{' and the entries of the %s", entries->what))) return false;
  while (!is_sign(r, '}') && !problems_are_many(r->problems)) {
    if (r->token.kind == TOKEN_END)
      return expected(r, arena_printf(r->arena, "'}' behind the entries of the %s", entries->what));
    if (!read_entry(r, entries)) skip_entry(r);
    if (is_sign(r, ';')) next(r);
  }
  check_complete(r, entries);
  next(r);
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
  const char *wrong = mesh_add_axis(r->arena, &mesh, name->text, 1);
  if (wrong == NULL && strchr(name->text, '-') != NULL)
    wrong = "the name becomes that of an axis: letters, digits and '_'";
  bool taken = r->machine.device.name != NULL && str_eq(name->text, r->machine.device.name);
  for (int l = 0; l < r->machine.n_levels; l++) taken = taken || str_eq(name->text, r->machine.level[l].name);
  if (taken) problem_add(r->problems, name->loc, "a second device or level '%.*s'", SHOWN, name->text);
  else if (wrong != NULL) problem_add(r->problems, name->loc, "%.200s", wrong);
}

static bool read_device(Reader *r) {
  Token name;
  const Loc loc = r->token.loc;
  const bool is_second = r->has_device;
  r->has_device = true;
  r->unit = NULL;
  next(r);
  if (is_second) problem_add(r->problems, loc, "a second device: all devices of a machine are of one kind");
  if (!take_name(r, "the name of the device", &name)) return false;
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
  if (!take_name(r, "what the level joins: the device or the level before it", &unit)) return false;
  if (r->unit != NULL && !str_eq(unit.text, r->unit))
    problem_add(r->problems, unit.loc, "a level joins what stands before it, '%.*s', not '%.*s'", SHOWN, r->unit, SHOWN,
                unit.text);
  r->unit = NULL;
  return true;
}

static void add_level(Reader *r, const MachineLevel *level, const Token *count, const Entries *entries) {
  Machine *m = &r->machine;
  if (level->shared && m->n_levels == 0)
    problem_add(r->problems, entries->seen[entries->n_words - 1],
                "a link is shared by the devices of a unit, and here the units are devices");
  if ((int64_t)machine_devices(m) * level->count > MESH_MAX_RANKS) {
    problem_add(r->problems, count->loc, "the machine has more than %d devices", MESH_MAX_RANKS);
    return;
  }
  m->level[m->n_levels++] = *level;
}

static bool read_level(Reader *r) {
  Token name;
  const Loc loc = r->token.loc;
  next(r);
  if (!take_name(r, "the name of the level", &name)) return false;
  check_name(r, &name);
  if (!take_sign(r, '=', "'=' and what the level joins, such as 4 gpu")) return false;
  const Token count = r->token;
  MachineLevel level = {.name = name.text};
  if (!read_count(r, &level.count) || !read_unit_name(r)) return false;
  Entries entries = entries_of("level", &name, machine_level_entries, MACHINE_LEVEL_ENTRIES, &level);
  entries.word[entries.n_words++] = "link";
  entries.word[entries.n_words++] = "shared";
  if (!read_entries(r, &entries)) return false;
  r->unit = name.text;
  if (r->machine.n_levels < MACHINE_MAX_LEVELS) add_level(r, &level, &count, &entries);
  else problem_add(r->problems, loc, "more than %d levels", MACHINE_MAX_LEVELS);
  return true;
}

// Behind a mistake in the head of a block: to the end of the block.
static void skip_block(Reader *r) {
  while (r->token.kind != TOKEN_END && !is_sign(r, '}')) next(r);
  if (is_sign(r, '}')) next(r);
  r->unit = NULL;
  r->failed = true;
}

static bool read_block(Reader *r) {
  static const char *const words[] = {"device", "level"};
  if (is_word(r, "device")) return read_device(r);
  if (is_word(r, "level")) {
    if (r->has_device) return read_level(r);
    problem_add(r->problems, r->token.loc, "the device stands before the levels");
    return false;
  }
  problem_add(r->problems, r->token.loc, "expected 'device', 'level' or '}', found %s%s", shown(r),
              r->token.kind == TOKEN_NAME ? did_you_mean(r->arena, r->token.text, words, 2) : "");
  return false;
}

static void read_machine(Reader *r) {
  Token name;
  if (!is_word(r, "machine")) {
    expected(r, "'machine' and its name");
    return;
  }
  next(r);
  if (!take_name(r, "the name of the machine", &name)) return;
  r->machine.name = name.text;
  if (!take_sign(r, '{', "'{' and the device of the machine")) return;
  while (!is_sign(r, '}') && r->token.kind != TOKEN_END && !problems_are_many(r->problems))
    if (!read_block(r)) skip_block(r);
  if (r->failed || problems_are_many(r->problems)) return; // the end of the machine may have been skipped
  if (!r->has_device) problem_add(r->problems, name.loc, "the machine '%.*s' has no device", SHOWN, name.text);
  else if (take_sign(r, '}', "'}' behind the machine") && r->token.kind != TOKEN_END)
    expected(r, "the end of the file");
}

Machine machine_read(const char *name, const char *text, size_t len, Problems *problems) {
  Reader r = {.arena = problems->arena,
              .problems = problems,
              .file = name,
              .at = text,
              .end = text + len,
              .line_text = text,
              .line = 1};
  next(&r);
  read_machine(&r);
  return r.machine;
}
