// Reads plan files: a line at a time, by hand, so that every mistake has its place.
//
//   file    = { [ line ] [ "#" comment ] "\n" }
//   line    = "plan" version model  |  "mesh" axis "=" size { "," axis "=" size }  |  "microbatches" "=" number  |  "recompute" ":" name
//             |  subject choices
//   subject = [ "init" | "train" | "eval" ] [ "op" | "layer" | "input" | "store" | "update" ] name
//             a name may have a "*" in it, for any characters but "."
//   choices = { dimension [ "*" unit ] "/" axes  |  "pin" axis "=" coordinate { "," axis "=" coordinate }
//               |  "replicate" [ axes ]  |  "pending" axes  |  "follow" }
//   axes    = axis { "," axis }
#include "plan.h"
#include "suggest.h"
#include "tokens.h"

enum { MAX_LINES = 400000 };

typedef struct Reader {
  Tokens t;
  Plan plan;
  Names seen;  // lines by what they speak of
  bool has_plan, has_mesh, failed;
} Reader;

// ---- tokens --------------------------------------------------------------------------------------------------------

static const char *end_of_name(const char *at, const char *end) {
  while (at < end &&
         (is_letter(*at) || is_digit(*at) || (*at == '.' && at + 1 < end && (is_letter(at[1]) || is_digit(at[1])))))
    at++;
  return at;
}

// Up to 2^40, which no extent that fits a machine exceeds.
static int64_t number_of(const char *at, const char *end) {
  int64_t number = 0;
  for (; at < end && number < (int64_t)1 << 40; at++) number = number * 10 + (*at - '0');
  return number;
}

static void next(Tokens *r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')) r->at++;
  const char *start = r->at, *end = start;
  TokenKind kind = TOKEN_SIGN;
  if (start == r->end || *start == '#') {
    kind = TOKEN_END;
    r->at = r->end;
  } else if (is_letter(*start)) {
    kind = TOKEN_NAME;
    end = end_of_name(start, r->end);
  } else if (is_digit(*start)) {
    kind = TOKEN_NUMBER;
    while (end < r->end && is_digit(*end)) end++;
  } else {
    end = start + 1;
    if (strchr("/*=,:", *start) == NULL || *start == '\0') kind = TOKEN_BAD;
  }
  const int col = (int)(start - r->line_text) + 1;
  r->token = (Token){kind,
                     kind == TOKEN_END ? "the end of the line" : arena_strndup(r->arena, start, (size_t)(end - start)),
                     kind == TOKEN_NUMBER ? number_of(start, end) : 0,
                     {r->file, r->line, col, col + (int)(end - start)}};
  if (kind != TOKEN_END) r->at = end;
}

// Lets the token at hand go on as the name of a subject, in which "*" stands for any characters.
static void widen(Tokens *r) {
  const char *start = r->line_text + r->token.loc.col - 1, *end = start;
  if (r->token.kind != TOKEN_NAME && !(r->token.kind == TOKEN_SIGN && *start == '*')) return;
  while (end < r->end && (is_letter(*end) || is_digit(*end) || *end == '*' ||
                          (*end == '.' && end + 1 < r->end && (is_letter(end[1]) || is_digit(end[1]) || end[1] == '*'))))
    end++;
  r->token.kind = TOKEN_NAME;
  r->token.text = arena_strndup(r->arena, start, (size_t)(end - start));
  r->token.loc.end_col = r->token.loc.col + (int)(end - start);
  r->at = end;
}

static void next_of_subject(Tokens *r) {
  next(r);
  widen(r);
}

static bool take_end(Reader *r) { return r->t.token.kind == TOKEN_END || expected(&r->t, "the end of the line"); }

// ---- the header ----------------------------------------------------------------------------------------------------

static bool read_plan(Reader *r) {
  Token version, model;
  if (r->has_plan) {
    problem_add(r->t.problems, r->t.token.loc, "a second line 'plan'");
    return false;
  }
  next(&r->t);
  if (!take_token(&r->t, TOKEN_NUMBER, "the version of the format", &version)) return false;
  if (version.number != PLAN_VERSION) {
    problem_add(r->t.problems, version.loc, "the plan is of version %lld, this compiler reads version %d",
                (long long)version.number, PLAN_VERSION);
    r->failed = true;
    return false;
  }
  if (!take_token(&r->t, TOKEN_NAME, "the name of the model", &model)) return false;
  r->plan.model = model.text;
  r->plan.model_loc = model.loc;
  r->has_plan = true;
  return take_end(r);
}

static bool add_axis(Reader *r, const Token *axis, const Token *size) {
  const char *wrong = mesh_add_axis(r->t.arena, &r->plan.mesh, axis->text, size->number);
  if (strchr(axis->text, '.') != NULL) wrong = "the name of an axis has no '.'";
  if (wrong != NULL) problem_add(r->t.problems, axis->loc, "%.200s", wrong);
  return wrong == NULL;
}

static bool read_mesh(Reader *r) {
  if (r->has_mesh) {
    problem_add(r->t.problems, r->t.token.loc, "a second line 'mesh'");
    return false;
  }
  r->plan.mesh_loc = r->t.token.loc;
  r->has_mesh = true;
  do {
    Token axis, size;
    next(&r->t);
    if (!take_token(&r->t, TOKEN_NAME, "the name of an axis", &axis) || !take_sign(&r->t, '=', "'=' and the size of the axis")) return false;
    if (!take_token(&r->t, TOKEN_NUMBER, "the size of the axis", &size) || !add_axis(r, &axis, &size)) return false;
  } while (is_sign(&r->t, ','));
  return take_end(r);
}

static bool read_microbatches(Reader *r) {
  Token number;
  if (r->plan.microbatches > 0) {
    problem_add(r->t.problems, r->t.token.loc, "a second line 'microbatches'");
    problem_note(r->t.problems, r->plan.microbatches_loc, "the first one stands here");
    return false;
  }
  next(&r->t);
  if (!take_sign(&r->t, '=', "'=' and the number of microbatches")) return false;
  if (!take_token(&r->t, TOKEN_NUMBER, "the number of microbatches", &number)) return false;
  if (number.number < 1 || number.number > PLAN_MAX_MICROBATCHES) {
    problem_add(r->t.problems, number.loc, "a batch comes in 1 to %d microbatches", PLAN_MAX_MICROBATCHES);
    return false;
  }
  r->plan.microbatches = (int)number.number;
  r->plan.microbatches_loc = number.loc;
  return take_end(r);
}

static bool read_recompute(Reader *r) {
  Token name;
  next(&r->t);
  if (!is_sign(&r->t, ':')) return expected(&r->t, "':' and the name of a layer");
  next_of_subject(&r->t);
  if (!take_token(&r->t, TOKEN_NAME, "the name of a layer", &name)) return false;
  for (int i = 0; i < r->plan.recompute.len; i++) {
    if (!str_eq(r->plan.recompute.at[i].name, name.text)) continue;
    problem_add(r->t.problems, name.loc, "a second line 'recompute' for '%.*s'", TOKEN_SHOWN, name.text);
    problem_note(r->t.problems, r->plan.recompute.at[i].loc, "the first one stands here");
    return false;
  }
  vec_push(r->t.arena, &r->plan.recompute, ((PlanAgain){name.text, name.loc}));
  return take_end(r);
}

// ---- choices -------------------------------------------------------------------------------------------------------

static bool read_axis(Reader *r, int *axis, Loc *loc) {
  Token name;
  if (!take_token(&r->t, TOKEN_NAME, "the name of an axis", &name)) return false;
  *loc = name.loc;
  *axis = mesh_find(&r->plan.mesh, name.text);
  if (*axis >= 0) return true;
  const char *names[MESH_MAX_AXES];
  for (int a = 0; a < r->plan.mesh.n_axes; a++) names[a] = r->plan.mesh.axis[a].name;
  const char *nearest = suggest_nearest(name.text, names, r->plan.mesh.n_axes);
  problem_add(r->t.problems, name.loc, "the mesh %s has no axis '%.*s'%s%s%s", mesh_text(r->t.arena, &r->plan.mesh), TOKEN_SHOWN,
              name.text, nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
              nearest != NULL ? "'?" : "");
  return false;
}

static const char *choice_text(Arena *arena, const PlanChoice *choice, const char *axis) {
  if (choice->kind == CHOICE_PIN) return arena_printf(arena, "pins it to %s=%d", axis, choice->pin);
  if (choice->kind == CHOICE_PENDING) return arena_printf(arena, "leaves sums pending over '%s'", axis);
  if (choice->kind == CHOICE_REPLICATE || choice->dim == NULL)
    return arena_printf(arena, "replicates it over '%s'", axis);
  return arena_printf(arena, "splits '%.*s' over '%s'", TOKEN_SHOWN, choice->dim, axis);
}

static bool choose(Reader *r, PlanLine *line, int axis, Loc loc, PlanChoice choice) {
  const PlanChoice *before = &line->axis[axis];
  if (before->kind != CHOICE_FOLLOW) {
    problem_add(r->t.problems, loc, "the axis '%s' is used twice: this %s, what stands before %s",
                r->plan.mesh.axis[axis].name, choice_text(r->t.arena, &choice, r->plan.mesh.axis[axis].name),
                choice_text(r->t.arena, before, r->plan.mesh.axis[axis].name));
    return false;
  }
  for (int a = 0; a < r->plan.mesh.n_axes && choice.kind == CHOICE_SPLIT; a++) {
    const PlanChoice *other = &line->axis[a];
    if (other->kind != CHOICE_SPLIT || !str_eq(other->dim, choice.dim) || other->unit == choice.unit) continue;
    problem_add(r->t.problems, choice.loc, "'%.*s' is split in units of %lld here, but of %lld before", TOKEN_SHOWN, choice.dim,
                (long long)choice.unit, (long long)other->unit);
    return false;
  }
  line->axis[axis] = choice;
  return true;
}

static bool read_axes(Reader *r, PlanLine *line, PlanChoice choice) {
  for (;; next(&r->t)) {
    int axis;
    Loc loc;
    if (!read_axis(r, &axis, &loc) || !choose(r, line, axis, loc, choice)) return false;
    if (!is_sign(&r->t, ',')) return true;
  }
}

// What stands behind a dimension: n/data, h*64/data,tensor.
static bool read_split(Reader *r, PlanLine *line, const Token *dim) {
  PlanChoice choice = {.kind = CHOICE_SPLIT, .dim = dim->text, .unit = 1, .loc = dim->loc};
  Token unit;
  if (strchr(dim->text, '.') != NULL) {
    problem_add(r->t.problems, dim->loc, "the name of a dimension has no '.'");
    return false;
  }
  if (is_sign(&r->t, '*')) {
    next(&r->t);
    if (!take_token(&r->t, TOKEN_NUMBER, "the unit of the split", &unit)) return false;
    if (unit.number < 1) {
      problem_add(r->t.problems, unit.loc, "a unit is at least 1");
      return false;
    }
    choice.unit = unit.number;
  }
  return take_sign(&r->t, '/', "'/' and the axes that the dimension is split over") && read_axes(r, line, choice);
}

static bool read_pin(Reader *r, PlanLine *line) {
  for (;; next(&r->t)) {
    PlanChoice choice = {.kind = CHOICE_PIN};
    Token pin;
    int axis;
    if (!read_axis(r, &axis, &choice.loc) || !take_sign(&r->t, '=', "'=' and a coordinate")) return false;
    if (!take_token(&r->t, TOKEN_NUMBER, "a coordinate", &pin)) return false;
    if (pin.number >= r->plan.mesh.axis[axis].size) {
      problem_add(r->t.problems, pin.loc, "the coordinates of the axis '%s' are 0 to %d", r->plan.mesh.axis[axis].name,
                  r->plan.mesh.axis[axis].size - 1);
      return false;
    }
    choice.pin = (int)pin.number;
    if (r->plan.mesh.axis[axis].size == 1) choice.kind = CHOICE_REPLICATE;
    if (!choose(r, line, axis, choice.loc, choice)) return false;
    if (!is_sign(&r->t, ',')) return true;
  }
}

// Over the axes that are named, or, at the end of the line, over all that nothing else is said of.
static bool read_replicate(Reader *r, PlanLine *line, Loc loc) {
  const PlanChoice choice = {.kind = CHOICE_REPLICATE, .loc = loc};
  if (r->t.token.kind != TOKEN_END) return read_axes(r, line, choice);
  for (int a = 0; a < r->plan.mesh.n_axes; a++)
    if (line->axis[a].kind == CHOICE_FOLLOW) line->axis[a] = choice;
  return true;
}

static bool read_choices(Reader *r, PlanLine *line) {
  if (r->t.token.kind == TOKEN_END) return expected(&r->t, "what is chosen, such as n/axis, pin axis=0, replicate, pending axis or follow");
  while (r->t.token.kind != TOKEN_END) {
    Token word;
    if (!take_token(&r->t, TOKEN_NAME, "a dimension, 'pin', 'replicate', 'pending' or 'follow'", &word)) return false;
    const bool is_dim = is_sign(&r->t, '/') || is_sign(&r->t, '*');
    bool fine;
    if (!is_dim && str_eq(word.text, "pin")) fine = read_pin(r, line);
    else if (!is_dim && str_eq(word.text, "replicate")) fine = read_replicate(r, line, word.loc);
    else if (!is_dim && str_eq(word.text, "pending")) fine = read_axes(r, line, (PlanChoice){.kind = CHOICE_PENDING, .loc = word.loc});
    else if (!is_dim && str_eq(word.text, "follow")) fine = take_end(r);
    else fine = read_split(r, line, &word);
    if (!fine) return false;
  }
  return true;
}

// ---- lines ---------------------------------------------------------------------------------------------------------

static bool is_graph(const char *word) { return str_eq(word, "init") || str_eq(word, "train") || str_eq(word, "eval"); }

static PlanSubject subject_of(const char *word) {
  PlanSubject subject = PLAN_OP;
  while (subject < PLAN_SUBJECTS && !str_eq(plan_subject_word(subject), word)) subject++;
  return subject < PLAN_SUBJECTS ? subject : PLAN_NAME;
}

static bool read_subject(Reader *r, PlanLine *line) {
  Token name;
  if (r->t.token.kind == TOKEN_NAME && is_graph(r->t.token.text)) {
    line->graph = r->t.token.text;
    next_of_subject(&r->t);
  }
  if (r->t.token.kind == TOKEN_NAME) line->subject = subject_of(r->t.token.text);
  if (line->subject != PLAN_NAME) next_of_subject(&r->t);
  if (line->graph != NULL && line->subject > PLAN_LAYER) {
    problem_add(r->t.problems, line->loc, "'%s' lines hold for all graphs", plan_subject_word(line->subject));
    return false;
  }
  if (!take_token(&r->t, TOKEN_NAME, line->subject == PLAN_NAME ? "the name of an operator or a layer" : "a name", &name)) return false;
  line->name = name.text;
  line->loc = name.loc;
  return true;
}

static bool is_new(Reader *r, const PlanLine *line) {
  const char *key = arena_printf(r->t.arena, "%s %s %s", line->graph != NULL ? line->graph : "",
                                 plan_subject_word(line->subject), line->name);
  const int before = names_get(&r->seen, key);
  if (before < 0) {
    names_set(&r->seen, key, r->plan.lines.len);
    return true;
  }
  problem_add(r->t.problems, line->loc, "a second line for '%.*s'", TOKEN_SHOWN, line->name);
  problem_note(r->t.problems, r->plan.lines.at[before].loc, "the first one stands here");
  return false;
}

static void read_line(Reader *r) {
  PlanLine line = {.loc = r->t.token.loc};
  widen(&r->t);
  if (is_word(&r->t, "plan")) {
    read_plan(r);
  } else if (!r->has_plan) {
    problem_add(r->t.problems, r->t.token.loc, "a plan begins with 'plan %d MODEL', found %s", PLAN_VERSION, token_shown(&r->t));
    r->failed = true;
  } else if (is_word(&r->t, "mesh")) {
    read_mesh(r);
  } else if (!r->has_mesh) {
    problem_add(r->t.problems, r->t.token.loc, "expected the line 'mesh AXIS=N,...' before the first choice, found %s",
                token_shown(&r->t));
    r->failed = true;
  } else if (is_word(&r->t, "microbatches")) {
    read_microbatches(r);
  } else if (is_word(&r->t, "recompute")) {
    read_recompute(r);
  } else if (r->plan.lines.len == MAX_LINES) {
    problem_add(r->t.problems, r->t.token.loc, "more than %d lines", MAX_LINES);
    r->failed = true;
  } else if (read_subject(r, &line) && read_choices(r, &line) && is_new(r, &line)) {
    vec_push(r->t.arena, &r->plan.lines, line);
  }
}

Plan plan_read(const char *name, const char *text, size_t len, Problems *problems) {
  Reader r = {.t = {.arena = problems->arena, .problems = problems, .file = name, .next = next}, .seen = {.arena = problems->arena}};
  const char *at = text, *end = text + len;
  while (at < end && !r.failed && !problems_are_many(problems)) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    r.t.at = r.t.line_text = at;
    r.t.end = newline != NULL ? newline : end;
    r.t.line++;
    next(&r.t);
    if (r.t.token.kind != TOKEN_END) read_line(&r);
    at = r.t.end + (newline != NULL);
  }
  if (problems->list.len == 0 && !r.has_mesh)
    problem_add(problems, (Loc){name, r.t.line > 0 ? r.t.line : 1, 1, 0}, "the plan has no line '%s'",
                r.has_plan ? "mesh" : "plan");
  return r.plan;
}
